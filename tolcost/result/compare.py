"""Compare two costs for all lengths, and state what is proved of their difference.

Closed forms are compared by proof, or by a point that shows a difference.  The conclusion about the costs
depends on whether the forms are exact, or bounds from above or below (``claims``).  Lengths of the two
are matched by their positions in the inputs, whatever their names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    Cond,
    Eq,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    Witness,
    atom,
    cond_text,
    data_symbol,
    eq,
    evaluate,
    map_cond,
    substitute,
    symbols_of_cond,
    to_words,
)
from tolcost.algebra.points import hold_at
from tolcost.certainty import INCOMPLETE, Certainty
from tolcost.cost.record import NamedType
from tolcost.diagnostics import quoted, refuse
from tolcost.result.claims import NOTHING, SAME, Claim
from tolcost.result.comparison import CostComparison, FigureDifference, shown_name
from tolcost.result.judgement import FormJudgement, judge_forms, telling, unmet
from tolcost.result.lengths import InputPair, ShapedInput, match_lengths, pairs_by_name, shaped
from tolcost.result.metrics import AMOUNTS, BASES, LEADING
from tolcost.result.point import MOST_FACTS, facts_of
from tolcost.result.regions import EVERYWHERE, essential, sure_from, try_shapes, where_positive
from tolcost.result.rows import TableRow, costs_nothing, gathered
from tolcost.result.study import ComparedFigure, Located, at_example

# ---- one figure -------------------------------------------------------------------------------


def difference(
    metric: str, part: str, old: Poly, new: Poly, facts: tuple[Cond, ...] = ()
) -> FigureDifference:
    """Compare the forms of a figure for all lengths that fulfil ``facts``.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> difference("eops", "", 8 * n, n * n).verdict
    'crosses'
    """
    try:
        found = judge_forms(old, new, facts)
    except AlgebraBudget:
        found = FormJudgement(NOTHING)
    return FigureDifference(metric, part, old, new, found)


# ---- matching lengths -------------------------------------------------------------------------


class Matching(Struct, frozen=True):
    """The forms of old symbols in the new cost, the forms that must be 0, and notes for the user.

    ``loose`` are the symbols of either side without a counterpart, with their names.
    """

    symbols: Mapping[Symbol, Poly]
    gaps: tuple[Poly, ...]
    loose: Mapping[Symbol, str]
    notes: tuple[str, ...]

    @property
    def facts(self) -> tuple[Cond, ...]:
        """The forms that must be 0, as equations."""
        return tuple(map(eq, self.gaps))


def match(old: Located, new: Located) -> Matching:
    """Match lengths by input and axis, and data-dependent lengths by the order in which they occur."""
    inputs = pairs_by_name(shaped(old.study.inputs), shaped(new.study.inputs))
    places = match_lengths(inputs)
    found = {symbol: atom(symbol) for symbol in _fresh(old) & _fresh(new)} | dict(places.symbols)
    taken = {symbol for form in found.values() for symbol in form.free}
    rest = [symbol for symbol in old.study.symbols if symbol not in found]
    left = [symbol for symbol in new.study.symbols if symbol not in taken]
    inside = _lengths(old.study.inputs) | _lengths(new.study.inputs)
    pairs = dict(_others([s for s in rest if s not in inside], [s for s in left if s not in inside]))
    found |= {before: atom(after) for before, after in pairs.items()}
    notes = [
        f"the length {quoted(before.name)} is now {quoted(to_words(form))}"
        for before, form in found.items()
        if to_words(form) != before.name and before.kind == "length"
    ]
    told = [equation.gap(places.symbols) for equation in places.telling]
    notes += map(_resized, dict.fromkeys(pair for pair, _ in places.binding))
    notes += [_shapes_told(pair, _OTHER_RANK) for pair in inputs if _ranks(pair[0]) != _ranks(pair[1])]
    notes += [f"compared where {cond_text(eq(gap))}" for gap in dict.fromkeys(told)]
    data = [quoted(before.name) for before in pairs if before.kind == "data"]
    notes += [f"taking {', '.join(data)} to mean the same before and now"] if data else []
    alone = [symbol for symbol in rest if symbol not in pairs]
    extra = [symbol for symbol in left if symbol not in pairs.values()]
    fresh = {symbol: data_symbol(f"{symbol.name} before", symbol.lo, symbol.hi) for symbol in alone}
    gaps = [equation.gap({**found, **fresh}) for equation in places.open]
    tied = {symbol for gap in gaps for symbol in gap.free}
    notes += [f"only the old one has {quoted(s.name)}" for s in alone if tied.isdisjoint(fresh[s].free)]
    notes += [f"only the new one has {quoted(symbol.name)}" for symbol in extra if symbol not in tied]
    loose = {symbol: symbol.name for symbol in extra}
    taken_names = set(loose.values())
    loose |= {
        symbol: symbol.name if before.name in taken_names else before.name
        for before, form in fresh.items()
        for symbol in form.free
    }
    loose = {symbol: name for symbol, name in loose.items() if symbol not in tied}
    return Matching({**found, **fresh}, (*told, *gaps), loose, tuple(notes))


def _resized(pair: InputPair) -> str:
    """Report that an input has another shape now, which would bind lengths that were free."""
    return _shapes_told(pair, "each is costed with its own")


_OTHER_RANK = "lengths are matched only where it has as many dimensions"


def _shapes_told(pair: InputPair, why: str) -> str:
    old, new = (", ".join(str(form) for shape in one.shapes for form in shape) for one in pair)
    return f"the input {quoted(pair[1].name)} was [{old}] and is [{new}]: {why}"


def _ranks(one: ShapedInput) -> tuple[int, ...]:
    return tuple(map(len, one.shapes))


def _fresh(cost: Located) -> set[Symbol]:
    """Return the symbols that assumptions introduced; one name is one length on both sides."""
    return {symbol for form in cost.study.assumed.put.values() for symbol in form.free}


def _lengths(inputs: Iterable[NamedType]) -> frozenset[Symbol]:
    """Return the symbols that occur in the shapes of inputs."""
    return frozenset(s for given in inputs for part in given.type for form in part.shape for s in form.free)


def _others(old: Sequence[Symbol], new: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
    """Pair symbols that no input has: lengths by name, data-dependent ones in order if there are as many."""
    named = {symbol.name: symbol for symbol in new if symbol.kind == "length"}
    for symbol in old:
        if symbol.kind == "length" and symbol.name in named:
            yield symbol, named[symbol.name]
    before = [symbol for symbol in old if symbol.kind == "data"]
    after = [symbol for symbol in new if symbol.kind == "data"]
    yield from zip(before, after, strict=True) if len(before) == len(after) else ()


# ---- two costs --------------------------------------------------------------------------------


class _Comparing(Struct, frozen=True):
    """Two costs, the matching of their lengths, the facts that hold, and a point at which to show figures."""

    old: Located
    new: Located
    matching: Matching
    facts: tuple[Cond, ...]
    at: Mapping[Symbol, int] | None
    identical: bool
    relied: tuple[Cond, ...] = ()
    """All conditions of both; ``facts`` are those that are of use in a proof."""
    empty: bool = False
    """Whether no lengths were found that fulfil the conditions of both."""

    def before(self, form: Poly) -> Poly:
        """Return an old form in terms of the new lengths, with the numbers given on either side."""
        put = {s: f for s, f in self.matching.symbols.items() if f != atom(s)}
        return self.after(substitute(form, {**put, **self.old.point.values}))

    def after(self, form: Poly) -> Poly:
        """Return a new form with the given numbers."""
        given = self.new.point.values
        return substitute(form, given) if given else form

    def meet(self, facts: Sequence[Cond]) -> bool:
        """Whether some lengths fulfil all facts; facts that contradict each other would prove everything."""
        if not facts or (self.at is not None and hold_at(facts, self.at)):
            return True
        was, now = self.before(self.old.total.eops), self.after(self.new.total.eops)
        return any(any(try_shapes(*forms, facts)) for forms in ((now, now), (was, now)))

    def difference(
        self, part: str, metric: str, old: ComparedFigure | None, new: ComparedFigure | None
    ) -> FigureDifference:
        """Compare one figure and judge the difference; a part that one of the two has not costs nothing."""
        was = ZERO if old is None or old.form is None else self.before(old.form)
        now = ZERO if new is None or new.form is None else self.after(new.form)
        row = self._at_allowed(difference(metric, part, was, now, self.facts))
        statuses = (
            self.old.certainty(metric) if old is None else old.certainty,
            self.new.certainty(metric) if new is None else new.certainty,
        )
        unknown = (old is not None and old.form is None, new is not None and new.form is None)
        at = self._values(was, now)
        return replace(_judged(row, statuses, self), sure=statuses, unknown=unknown, at=at)

    def _at_allowed(self, row: FigureDifference) -> FigureDifference:
        """Replace witnesses by telling ones; where none fulfils all conditions, the claim becomes unknown."""
        shown = self._telling(row)
        less, more = self._allowed(row, shown.less, -1), self._allowed(row, shown.more, 1)
        claim = Claim(
            row.claim.more and (True if more else None), row.claim.less and (True if less else None)
        )
        return replace(row, judged=FormJudgement(claim, more, less))

    def _telling(self, row: FigureDifference) -> FormJudgement:
        """Return the judgement with witnesses at the point that is shown, or nearest to it where it turns."""
        judged, values = row.judged, self._values(row.old, row.new)
        at = {s: n for s, n in (self.at or {}).items() if s in row.old.free | row.new.free}
        if values is not None and values[0] != values[1]:
            here, is_more = Witness(tuple(at.items()), values[1], values[0]), values[1] > values[0]
            if judged.claim.more is not True or judged.claim.less is not True:
                alone = judged.more if is_more else judged.less
                return judged if alone is None else FormJudgement(judged.claim, *_sides(here, is_more))
        typical = {**self.new.study.typical, **at}
        return telling(judged, row.old, row.new, self.facts, typical, self.new.point.values)

    def _allowed(self, row: FigureDifference, shown: Witness | None, sign: int) -> Witness | None:
        point = {} if shown is None else dict(shown.point)
        told = [one for one in self.relied if symbols_of_cond(one) <= point.keys()]
        if shown is None or hold_at(told, point):
            return shown
        shapes = (one for one in try_shapes(row.old, row.new, self.relied) if sign * (one.new - one.old) > 0)
        found = next(shapes, None)
        return None if found is None else Witness(tuple(found.point.items()), found.new, found.old)

    def layer(self, old: TableRow | None, new: TableRow | None) -> FigureDifference:
        """Compare the EOPs of a part that both have, or only one of them."""
        title = next(row.title if row.times == 1 else row.shown for row in (new, old) if row is not None)
        was, now = (None if row is None else _of_row(title, row) for row in (old, new))
        return self.difference(title, "eops", was, now)

    def _values(self, was: Poly, now: Poly) -> tuple[int, int] | None:
        try:
            return None if self.at is None else (evaluate(was, self.at), evaluate(now, self.at))
        except (UnboundSymbol, NotInteger, AlgebraBudget):
            return None


def _of_row(title: str, row: TableRow) -> ComparedFigure:
    form = row.amounts[LEADING]
    told = None if row.partly and form == 0 else form
    return ComparedFigure(title, LEADING, told, row.status)


def compare(old: Located, new: Located, identical: bool = False) -> CostComparison:
    """Compare the costs of two programs or two models, for all lengths that both allow.

    Lengths that are given are numbers, the others stay symbols.  If the two are one text (``identical``),
    even their bounds are equal.  A part that only one of them has costs nothing in the other; a figure of the
    whole that only one of them has is not known in the other.
    """
    if old.study.kind != new.study.kind:
        refuse("T0412", "a program cannot be compared with a model")
    matching = match(old, new)
    now = _Comparing(old, new, matching, (), None, identical)
    needed = [map_cond(one.condition, now.before) for one in old.study.needed]
    needed += [map_cond(one.condition, now.after) for one in new.study.needed]
    facts = (*matching.facts, *facts_of(needed))
    relied = (*matching.facts, *dict.fromkeys(needed))
    there = at_example(new, relied)
    values = None if there is None else there.point.values
    held = values if values is not None and _holds(old, matching, values) else None
    now = replace(now, facts=facts, relied=relied, at=held)
    now = replace(now, empty=not now.meet(facts))
    before = {(one.part, one.metric): one for one in old.compared()}
    after = {(one.part, one.metric): one for one in new.compared()}
    unknown = dict(_unknown(before, after))
    keys = [key for key in dict.fromkeys((*before, *after)) if key not in unknown]
    rows = [now.difference(p, m, before.get((p, m)), after.get((p, m))) for p, m in keys]
    pairs = paired(*folded_alike(_layers(old), _layers(new)))
    layers = [now.layer(a, b) for a, b in pairs]
    lacking = [f"not compared: {text}" for text in unknown.values()]
    notes = (*matching.notes, *lacking, *_needs(now), *renamed(pairs))
    complete = not old.coverage.missing and not new.coverage.missing
    lengths = None if held is None or there is None else _shown_at(there)
    settled = bool(new.point.values) and old.point.complete and new.point.complete
    files = (old.study.file, new.study.file)
    missing = (old.coverage.said, new.coverage.said)
    return CostComparison(*files, tuple(rows), notes, complete, tuple(layers), lengths, settled, missing)


def _unknown(
    before: Mapping[tuple[str, str], ComparedFigure], after: Mapping[tuple[str, str], ComparedFigure]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the figures of the whole that are not known of both, with a remark."""
    for key in dict.fromkeys((*before, *after)):
        part, metric = key
        sides = {"old": before.get(key), "new": after.get(key)}
        lacking = [side for side, one in sides.items() if one is None or one.form is None]
        if not part and lacking:
            which = "either" if len(lacking) == 2 else f"the {lacking[0]} one"
            yield key, f"{shown_name(metric)}, which is not known of {which}"


_NO_LENGTHS = "no lengths were found that both allow"


_MOST_NEEDS = 2
"""At most this many conditions are reported that only one side needs."""


def _needs(now: _Comparing) -> Iterator[str]:
    """Yield conditions that only one of the two needs: where they fail, it cannot be used at any cost."""
    was = tuple(map_cond(one.condition, now.before) for one in now.old.study.needed)
    needed = tuple(map_cond(one.condition, now.after) for one in now.new.study.needed)
    sides = (
        ("the old one needed", "the new one does not", was, needed),
        ("the new one needs", "the old one did not", needed, was),
    )
    for said, other, mine, theirs in sides:
        known = (*now.matching.facts, *facts_of(theirs), *(c for c in theirs if isinstance(c, Eq)))
        mine = tuple(c for c in dict.fromkeys(mine) if c not in theirs)[:MOST_FACTS]
        yield from (f"{said} {cond_text(c)}, {other}" for c in unmet(mine, known)[:_MOST_NEEDS])


_LEVELS = 3
"""The depth of the scopes whose EOPs a comparison of models lists."""


def _layers(cost: Located) -> tuple[TableRow, ...]:
    """Return the scopes of a model, ``_LEVELS`` levels down; none if there is only one."""
    if cost.study.kind == "program":
        return ()
    found = tuple(row for row in leaves(cost.study.rows("scope", _LEVELS)) if row.nodes)
    return found if len(found) > 1 else ()


def _holds(old: Located, matching: Matching, values: Mapping[Symbol, int]) -> bool:
    """Whether the old cost has figures at a point of the new one."""
    there = dict(old.point.values)
    for symbol, form in matching.symbols.items():
        if form.free <= values.keys():
            there[symbol] = evaluate(form, values)
    known = all(symbol in there for symbol in old.study.symbols if symbol.kind == "length")
    return known and all(one.holds(there) for one in old.study.needed)


def _sides(witness: Witness, is_more: bool) -> tuple[Witness | None, Witness | None]:
    return (witness, None) if is_more else (None, witness)


def _shown_at(there: Located) -> tuple[tuple[str, int], ...]:
    names = {symbol.name for symbol in there.study.symbols}
    return tuple(sorted((name, value) for name, value in there.point.dims.items() if name in names))


def _judged(
    row: FigureDifference, statuses: tuple[Certainty, Certainty], now: _Comparing
) -> FigureDifference:
    if now.identical:
        return FigureDifference(row.metric, row.part, row.old, row.new, FormJudgement(SAME))
    if now.empty:
        return replace(row, judged=FormJudgement(NOTHING), why=_NO_LENGTHS)
    free, forms = row.old.free | row.new.free, row.judged
    loose = sorted(name for symbol, name in now.matching.loose.items() if symbol in free)
    gap = row.new - row.old
    if loose:  # a witness pairs these lengths arbitrarily: claim only what holds everywhere
        more = forms.claim.more and (where_positive(gap, now.facts) == EVERYWHERE or None)
        less = forms.claim.less and (where_positive(-gap, now.facts) == EVERYWHERE or None)
        forms = forms.only(Claim(more, less))
    judged = forms.of_costs(*statuses)
    claim = judged.claim
    decided = None not in (claim.more, claim.less)
    less_where = where_positive(-gap, now.facts) if claim.less else ""
    more_where = where_positive(gap, now.facts) if claim.more else ""
    less_from, more_from = _line(less_where, -gap, now.facts), _line(more_where, gap, now.facts)
    return replace(
        row,
        judged=judged,
        less_where=less_where,
        more_where=more_where,
        less_from=less_from,
        more_from=more_from,
        turns=None if less_from or more_from or not decided else _turn(judged, gap, now),
        why="" if decided else _why(row.metric, row.claim, statuses, loose),
    )


_READABLE = 24
"""A region in several lengths is said by one of them, if one decides it, unless it has no more characters."""


def _turn(judged: FormJudgement, gap: Poly, now: _Comparing) -> tuple[Symbol, int] | None:
    """Return the length at which a verdict turns while others stay; None if one length decides it."""
    if (
        judged.less is None
        or judged.more is None
        or now.at is None
        or len(essential(gap, now.facts).free) < 2
    ):
        return None
    points = (judged.less.point, judged.more.point)
    moved = [(s, n) for point in points for s, n in point if s in now.at and now.at[s] != n]
    return moved[0] if len(moved) == 1 else None


def _line(where: str, gap: Poly, facts: tuple[Cond, ...]) -> tuple[Symbol, int] | None:
    return sure_from(gap, facts) if len(where) > _READABLE else None


_BY_DATA = ", as data decides; a run counts what it is"
_BY_LENGTHS = ": lengths may leave ranges empty, or tell apart what is read; --assume a bound may decide it"


_BY_CHAINS = ": the longest chains of its parts may not meet"
_BOUND_BY: Mapping[str, str] = {"bytes": _BY_LENGTHS, "depth": _BY_CHAINS}


def _why(metric: str, forms: Claim, statuses: tuple[Certainty, Certainty], loose: Sequence[str]) -> str:
    """Explain why a figure is undecided, and what would decide it."""
    if loose:
        names = ", ".join(quoted(name) for name in loose[:3])
        stand, is_ = ("stand", "they are") if len(loose) > 1 else ("stands", "it is")
        return f"{names} {stand} in one of the two only; --assume or --dim says what {is_}"
    for which, status in zip(("old", "new"), statuses, strict=True):
        if status in INCOMPLETE:
            return f"the {which} figure lacks nodes that are not costed; --specs defines their operators"
        if status == "upper bound" and None not in (forms.more, forms.less):
            return f"the {which} figure is an upper bound{_BOUND_BY.get(BASES.get(metric, ''), _BY_DATA)}"
    return "not proved for all lengths; --assume a bound, or --dim for some of them, may decide it"


# ---- pairing the parts of two models: by name, else by operators -----------------------------


_ALIKE = Fraction(1, 2)
"""Parts that share no more of their operators than this are not paired."""

Pair = tuple[TableRow | None, TableRow | None]


_Rows = Sequence[TableRow]


def folded_alike(old: _Rows, new: _Rows) -> tuple[_Rows, _Rows]:
    """Return the parts of two models with layers folded in the same groups on both sides.

    Equal layers share a row, and a model may have other equal ones than before.  Where the groups of a kind
    differ, all its layers are added up on both sides.

    >>> def rows(*titles: str) -> list[TableRow]:
    ...     return [TableRow(title, 1, dict.fromkeys(AMOUNTS, ZERO)) for title in titles]
    >>> before, after = folded_alike(rows("layer.*/fc"), rows("layer.*/fc", "layer.3/fc", "head2"))
    >>> [row.title for row in after]
    ['layer.*/fc', 'head2']
    """
    folded = {row.title for row in (*old, *new) if "*" in row.title}
    groups = sorted(folded, key=lambda title: (-title.count("*"), title))
    kinds = [(title, re.compile(re.escape(title).replace(r"\*", r"([0-9]+|\*)"))) for title in groups]
    sides = _by_kind(old, kinds), _by_kind(new, kinds)
    apart = {kind for kind in (*sides[0], *sides[1]) if _titles(sides[0], kind) != _titles(sides[1], kind)}
    first, second = (
        [row for kind, rows in side.items() for row in _folded(kind, rows, apart)] for side in sides
    )
    return first, second


def _by_kind(rows: _Rows, kinds: Sequence[tuple[str, re.Pattern[str]]]) -> dict[str, list[TableRow]]:
    """Group parts by the widest group of layers that has them, or else by their own titles."""
    found: dict[str, list[TableRow]] = {}
    for row in rows:
        kind = next((title for title, pattern in kinds if pattern.fullmatch(row.title)), row.title)
        found.setdefault(kind, []).append(row)
    return found


def _titles(side: Mapping[str, _Rows], kind: str) -> list[str]:
    return [row.title for row in side.get(kind, ())]


def _folded(kind: str, rows: _Rows, apart: set[str]) -> Iterator[TableRow]:
    if kind not in apart or "*" not in kind:
        yield from rows
        return
    ops: Counter[str] = Counter()
    for row in rows:
        ops.update(row.ops)
    yield replace(gathered(kind, rows), ops=ops, times=max(row.times for row in rows))


def paired(old: Sequence[TableRow], new: Sequence[TableRow]) -> tuple[Pair, ...]:
    """Pair the parts of two models, in the order of the new one; None where a part has no counterpart.

    Parts of one name are paired.  Each other new part is paired with the first of the old parts most like it,
    unless one of the two costs nothing.
    """
    named = dict(_numbered(old))
    fixed = {id(row): named.pop(key) for key, row in _numbered(new) if key in named}
    left = [row for row in named.values() if not costs_nothing(row, None)]
    found: list[Pair] = []
    for row in new:
        if id(row) in fixed:
            found.append((fixed[id(row)], row))
        elif not costs_nothing(row, None):
            like = max(left, key=lambda other: likeness(other.ops, row.ops), default=None)
            same = like is not None and likeness(like.ops, row.ops) > _ALIKE
            if like is not None and same:
                left.remove(like)
            found.append((like if same else None, row))
    return (*found, *((row, None) for row in left))


def _numbered(rows: Sequence[TableRow]) -> Iterator[tuple[tuple[str, int], TableRow]]:
    """Number the rows of each title, so that their order distinguishes rows of one title."""
    seen: Counter[str] = Counter()
    for row in rows:
        yield (row.title, seen[row.title]), row
        seen[row.title] += 1


def leaves(rows: Iterable[TableRow], above: str = "") -> Iterator[TableRow]:
    """Yield the innermost rows under their full titles, and the work of each scope outside its children."""
    for row in rows:
        title = f"{above}/{row.title}" if above else row.title
        if not row.children:
            yield replace(row, title=title)
            continue
        yield from leaves(row.children, title)
        inside = gathered("", row.children)
        pairs = {key: (row.amounts[key], inside.amounts[key]) for key in AMOUNTS}
        gap = {key: None if a is None or b is None else a - b for key, (a, b) in pairs.items()}
        beside = TableRow(f"{title} itself", row.nodes - inside.nodes, gap)
        yield from () if costs_nothing(beside, None) else (beside,)


def likeness(a: Mapping[str, int], b: Mapping[str, int]) -> Fraction:
    """Return the share of operators that two bags have in common.

    >>> likeness({"MatMul": 3, "Add": 1}, {"MatMul": 3, "Relu": 1})
    Fraction(3, 5)
    """
    both, either = Counter(a) & Counter(b), Counter(a) | Counter(b)
    return Fraction(both.total(), either.total()) if either else Fraction(0)


def renamed(pairs: Sequence[Pair]) -> Iterator[str]:
    """Report the parts that were paired by their operators and have another name now."""
    for before, after in pairs:
        if before is not None and after is not None and before.title != after.title:
            yield f"{before.title} is now {after.title}, going by its operators"
