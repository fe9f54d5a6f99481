"""Two costs compared for all lengths, and what may be concluded from it.

Closed forms are compared by proof or by a point that shows it.  What that says of the costs themselves
depends on what the forms are: exact, or bounds from above or below (``claims``).  Lengths of the two
are matched by where they stand in the inputs; names are only names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    Cond,
    Ge,
    Poly,
    Symbol,
    Witness,
    atom,
    data_symbol,
    ge,
    substitute,
    substitute_cond,
    to_text,
)
from tolcost.algebra import compare as compare_forms
from tolcost.cost.record import NamedType
from tolcost.diagnostics import quoted
from tolcost.result.claims import NOTHING, SAME, Certainty, Claim, Relation, conclude
from tolcost.result.study import Located
from tolcost.show import write
from tolcost.show.document import Code, Column, Fact, Facts, Lines, ReportTable, Section
from tolcost.show.json import Json, document, number

_MOST_FACTS = 12


# ---- one figure -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure before and after; points where it is less and where it is more, if there are any."""

    metric: str
    part: str
    old: Poly
    new: Poly
    claim: Claim
    less: Witness | None = None
    more: Witness | None = None

    @property
    def verdict(self) -> Relation:
        """What is said of it in one word."""
        return self.claim.relation


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
        found = compare_forms(new, old, facts)
    except AlgebraBudget:
        return FigureDifference(metric, part, old, new, NOTHING)
    never_more = found.verdict in ("equal", "less_or_equal")
    never_less = found.verdict in ("equal", "greater_or_equal")
    more = False if never_more else True if found.above else None
    less = False if never_less else True if found.below else None
    return FigureDifference(metric, part, old, new, Claim(more, less), found.below, found.above)


# ---- which lengths are which ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Matching:
    """What the symbols of the old cost are in the new one, what has to be equal, and what is to be said.

    ``loose`` are symbols of either side without a counterpart.
    """

    symbols: Mapping[Symbol, Poly]
    facts: tuple[Cond, ...]
    loose: frozenset[Symbol]
    notes: tuple[str, ...]


def match(old: Located, new: Located) -> Matching:
    """Match lengths by input and axis, and what data decides by the order in which it comes up."""
    found, facts = _by_place(old.study.inputs, new.study.inputs)
    taken = {symbol for form in found.values() for symbol in form.free}
    rest = [symbol for symbol in old.study.symbols if symbol not in found]
    left = [symbol for symbol in new.study.symbols if symbol not in taken]
    inside = _lengths(old.study.inputs) | _lengths(new.study.inputs)
    pairs = dict(_others([s for s in rest if s not in inside], [s for s in left if s not in inside]))
    found |= {before: atom(after) for before, after in pairs.items()}
    notes = [
        f"the length {quoted(before.name)} is now {quoted(str(form))}"
        for before, form in found.items()
        if str(form) != before.name and before.kind == "length"
    ]
    data = [quoted(before.name) for before in pairs if before.kind == "data"]
    notes += [f"taking {', '.join(data)} to mean the same before and now"] if data else []
    alone = [symbol for symbol in rest if symbol not in pairs]
    extra = [symbol for symbol in left if symbol not in pairs.values()]
    fresh = {symbol: data_symbol(f"{symbol.name} before", symbol.lo, symbol.hi) for symbol in alone}
    notes += [f"only the old one has {quoted(symbol.name)}" for symbol in alone]
    notes += [f"only the new one has {quoted(symbol.name)}" for symbol in extra]
    loose = frozenset((*extra, *(symbol for form in fresh.values() for symbol in form.free)))
    return Matching({**found, **fresh}, facts, loose, tuple(notes))


def _by_place(
    old: Sequence[NamedType], new: Sequence[NamedType]
) -> tuple[dict[Symbol, Poly], tuple[Cond, ...]]:
    """What lengths of old inputs are, by where they stand; and what has to be equal besides."""
    found: dict[Symbol, Poly] = {}
    pairs = [pair for before, after in _paired(old, new) for pair in _axes(before, after)]
    for form, value in pairs:
        symbol = _only(form)
        if symbol is not None:
            found.setdefault(symbol, value)
    gaps = dict.fromkeys(
        substitute(form, found) - value for form, value in pairs if form.free <= found.keys()
    )
    return found, tuple(fact for gap in gaps if gap != 0 for fact in (ge(gap), ge(-gap)))


def _only(form: Poly) -> Symbol | None:
    """The symbol that a form just is."""
    symbol = next(iter(form.free), None)
    return symbol if symbol is not None and form == atom(symbol) else None


def _paired(old: Sequence[NamedType], new: Sequence[NamedType]) -> Iterator[tuple[NamedType, NamedType]]:
    """Inputs that belong together: of one name where both have it, else in their order."""
    named = {tensor.name: tensor for tensor in new}
    shared = {tensor.name for tensor in old} & named.keys()
    yield from ((tensor, named[tensor.name]) for tensor in old if tensor.name in shared)
    yield from zip(
        (tensor for tensor in old if tensor.name not in shared),
        (tensor for tensor in new if tensor.name not in shared),
        strict=False,
    )


def _axes(old: NamedType, new: NamedType) -> Iterator[tuple[Poly, Poly]]:
    for before, after in zip(old.type, new.type, strict=False):
        if len(before.shape) == len(after.shape):
            yield from zip(before.shape, after.shape, strict=True)


def _lengths(inputs: Iterable[NamedType]) -> frozenset[Symbol]:
    """The symbols that stand in the shapes of inputs."""
    return frozenset(s for given in inputs for part in given.type for form in part.shape for s in form.free)


def _others(old: Sequence[Symbol], new: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
    """Symbols that stand in no input: lengths of one name; what data decides, where as much comes up."""
    named = {symbol.name: symbol for symbol in new if symbol.kind == "length"}
    for symbol in old:
        if symbol.kind == "length" and symbol.name in named:
            yield symbol, named[symbol.name]
    before = [symbol for symbol in old if symbol.kind == "data"]
    after = [symbol for symbol in new if symbol.kind == "data"]
    yield from zip(before, after, strict=True) if len(before) == len(after) else ()


# ---- two costs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CostComparison:
    r"""Every figure of two costs beside each other, and what was believed to compare them.

    >>> import tolcost
    >>> found = tolcost.diff("tol x: R [n]\ny := map(x, exp(*))", "tol x: R [n]\ny := map(x, * * * + 1)")
    >>> found.whole.verdict, found.whole.old, found.whole.new
    ('costlier', n, 2*n)
    """

    old: str
    new: str
    rows: tuple[FigureDifference, ...]
    notes: tuple[str, ...] = ()
    complete: bool = True

    def written(self, form: str) -> str:
        """The comparison as ``text``, ``md`` or ``json``."""
        return _written(self, form)

    def __str__(self) -> str:
        """What ``tolcost diff`` prints."""
        return self.written("text")

    @property
    def whole(self) -> FigureDifference:
        """The EOPs of all of it."""
        return next(row for row in self.rows if row.metric == "eops" and not row.part)

    @property
    def verdict(self) -> Relation:
        """What is said of the whole."""
        return self.whole.verdict


def compare(old: Located, new: Located, identical: bool = False) -> CostComparison:
    """Compare what two programs or two models cost, for all lengths that both allow.

    ``identical`` where both are one and the same text: bounds are then of the same cost.
    """
    matching = match(old, new)
    put = {symbol: form for symbol, form in matching.symbols.items() if form != atom(symbol)}
    before = {(part, metric): substitute(form, put) for part, metric, form in old.compared()}
    after = {(part, metric): form for part, metric, form in new.compared()}
    relied = [substitute_cond(one.condition, put) for one in old.study.requirements]
    simple = facts_of((*relied, *(one.condition for one in new.study.requirements)))
    facts = (*matching.facts, *simple)
    rows = [
        _judged(
            difference(
                metric, part, before.get((part, metric), ZERO), after.get((part, metric), ZERO), facts
            ),
            (_certainty(old, metric), _certainty(new, metric)),
            matching,
            identical,
        )
        for part, metric in dict.fromkeys((*before, *after))
    ]
    complete = not old.coverage.missing and not new.coverage.missing
    names = (old.study.file, new.study.file)
    unit = (f"{' and '.join(new.durations)} are in attoseconds",) if new.durations else ()
    return CostComparison(*names, tuple(rows), (*matching.notes, *unit), complete)


def _certainty(cost: Located, metric: str) -> Certainty:
    """How sure a figure is: bytes, parameters and times are sure wherever every node is costed."""
    sized = (metric in ("bytes", "params") or metric in cost.durations) and cost.status != "lower bound"
    return "exact" if sized else cost.status


def _judged(
    row: FigureDifference, statuses: tuple[Certainty, Certainty], matching: Matching, identical: bool
) -> FigureDifference:
    if identical:
        return FigureDifference(row.metric, row.part, row.old, row.new, SAME)
    forms = row.claim
    if not matching.loose.isdisjoint(row.old.free | row.new.free):  # a point may pair lengths that differ
        forms = Claim(None if forms.more else forms.more, None if forms.less else forms.less)
    claim = conclude(*statuses, forms)
    less = row.less if claim.less else None
    more = row.more if claim.more else None
    return FigureDifference(row.metric, row.part, row.old, row.new, claim, less, more)


def facts_of(conditions: Iterable[Cond]) -> tuple[Cond, ...]:
    """The conditions that are of use in a proof: not too many, and simple ones."""
    found = dict.fromkeys(c for c in conditions if isinstance(c, Ge) and len(c.p.free) <= 3)
    return tuple(found)[:_MOST_FACTS]


# ---- two costs side by side ------------------------------------------------------------------


_DIFF_COLUMNS = (
    Column("part", "part", "code"),
    Column("metric", "metric"),
    Column("old", "old", "form"),
    Column("new", "new", "form"),
    Column("verdict", "verdict"),
)
_VERDICTS = {
    (False, False): "the same EOPs for all lengths",
    (False, True): "never more EOPs, sometimes fewer",
    (False, None): "never more EOPs",
    (True, False): "never fewer EOPs, sometimes more",
    (True, True): "fewer EOPs for some lengths, more for others",
    (True, None): "more EOPs for some lengths; elsewhere not decided",
    (None, False): "never fewer EOPs; whether more is not decided",
    (None, True): "fewer EOPs for some lengths; elsewhere not decided",
    (None, None): "not decided",
}


def _written(found: CostComparison, form: str) -> str:
    if form == "json":
        changes: list[Json] = [_record(row) for row in found.rows]
        notes: list[Json] = [*found.notes]
        content: dict[str, Json] = {
            "old": found.old,
            "new": found.new,
            "verdict": found.verdict,
            "changes": changes,
            "notes": notes,
        }
        return document("diff", content)
    return write(tuple(_blocks(found)), form)


def said_of(claim: Claim) -> str:
    """What is said of the EOPs of the whole."""
    return _VERDICTS[claim.more, claim.less]


def _blocks(found: CostComparison) -> Iterator[Section]:
    """The verdict, then what differs; what is the same is only counted."""
    differing = [row for row in found.rows if row.verdict != "same"]
    yield Lines((f"{found.old} -> {found.new}: {said_of(found.whole.claim)}",))
    if differing:
        rows = [(Code(r.part or "total"), r.metric, r.old, r.new, _explained(r)) for r in differing]
        yield ReportTable(_DIFF_COLUMNS, rows)
    same = len(found.rows) - len(differing)
    if same:
        yield Lines((f"{same} figures are the same" if differing else f"all {same} figures are the same",))
    if found.notes:
        yield Facts(tuple(Fact("note", note) for note in found.notes))


def _explained(row: FigureDifference) -> str:
    words = (("less", row.less), ("more", row.more))
    points = [f"{word} at {_point_text(witness)}" for word, witness in words if witness is not None]
    return f"{row.verdict} ({'; '.join(points)})" if points else row.verdict


def _point_text(witness: Witness) -> str:
    """A point as ``n = 8, m = 1``, and the values there: new, then old."""
    where = ", ".join(f"{s.name} = {v:,}" for s, v in witness.point)
    return f"{where or 'every length'}: {witness.left:,} against {witness.right:,}"


def _record(row: FigureDifference) -> Json:
    return {
        "metric": row.metric,
        "part": row.part,
        "old": to_text(row.old),
        "new": to_text(row.new),
        "verdict": row.verdict,
        "less_at": _point(row.less),
        "more_at": _point(row.more),
    }


def _point(witness: Witness | None) -> Json:
    if witness is None:
        return None
    dims: dict[str, Json] = {symbol.name: number(value) for symbol, value in witness.point}
    return {"dims": dims, "new": number(witness.left), "old": number(witness.right)}
