"""The verdict on one figure: cheaper, the same or costlier for every shape, or only for some.

What is proved is said of every admissible shape.  What is not proved is never said: a figure
that was costlier at some shape tried is costlier there, and one that was not is undecided.  Figures
that are only bounds enter as what they are (``result.claims``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Ge,
    Order,
    Poly,
    Symbol,
    Witness,
    atom,
    compare,
    cond_text,
    display_names,
    evaluate,
    generators_in,
    is_nonnegative,
    negate,
    prove,
    substitute,
    symbols_of_cond,
    to_text,
    total_of,
    witness_at,
)
from tolcost.algebra.parse import parse_text
from tolcost.algebra.points import Assignment, hold_at
from tolcost.algebra.poly import Relu, data_symbol
from tolcost.check.matching import Joint, joints, renamed
from tolcost.check.records import (
    CERTAINTY,
    KINDS,
    RESTORE,
    ChangeKind,
    CostChange,
    CostlierRegion,
    Dims,
    Example,
    FigureStatus,
    LockedFigure,
    LockEntry,
)
from tolcost.diagnostics import Diagnostic, InternalError, Rejected, quoted
from tolcost.result.claims import NOTHING, SAME, Claim, conclude
from tolcost.result.regions import Tried, proportion, region, sign_of, signs_of_one, telling_shape, try_shapes

_UNPROVED = "not proved for every shape"
_NEVER_CHEAPER = "never cheaper; no shape was found at which it is costlier"
_NO_SHAPE = "no shape was found that is right before and now"
_RESIZED = "inputs have other sizes: each is costed with its own"
_ALIKE = "inputs are of one shape before and now only where"
_CAVEATS = {
    ("at-most", "old"): "the old figure is only an upper bound",
    ("at-most", "new"): "the new figure is only an upper bound",
    ("incomplete", "old"): "the old figure lacked some nodes",
    ("incomplete", "new"): "some nodes are not costed",
}


def judge(
    old: LockEntry,
    new: LockEntry,
    metric: str,
    old_counts: Sequence[Poly] = (),
    new_counts: Sequence[Poly] = (),
    sizes: Mapping[str, int] | None = None,
) -> CostChange:
    """What became of one figure of a program; counts are what parts of it contribute, old and new.

    A change that is not good is shown at ``sizes``, or else at some that show how it grows.
    """
    before, after = old.figure(metric), new.figure(metric)
    if before is None or after is None:
        kind: ChangeKind = "new" if before is None else "gone"
        return CostChange(new.name, kind, metric, old=_text(before), new=_text(after))
    found = CostChange(new.name, "same", metric, old=before.form, new=after.form)
    asked_alike = old.domain == new.domain
    as_it_was = asked_alike and bool(new.source) and old.source == new.source
    if before == after and asked_alike and (before.status == "exact" or as_it_was):
        return found
    if "unknown" in (before.status, after.status):
        when = "any more" if after.status == "unknown" else "before"
        return replace(found, kind="undecided", notes=(f"the figure is not known {when}",))
    counts = old_counts, new_counts
    ways = [_compared(found, before, after, both, *counts, sizes, as_it_was) for both in _together(old, new)]
    worst = min(ways, key=lambda change: KINDS.index(change.kind))
    note = "inputs changed places: by place and by name they are not the same"
    return worst if len(ways) == 1 else replace(worst, notes=(*worst.notes, note))


def _text(figure: LockedFigure | None) -> str:
    return "" if figure is None else figure.form


def _together(old: LockEntry, new: LockEntry) -> tuple[Joint, ...]:
    try:
        return joints(old, new)
    except (Rejected, AlgebraBudget, RecursionError) as error:
        raise _unreadable(old, "its inputs", error) from None


def _unreadable(entry: LockEntry, what: str, error: BaseException) -> Rejected:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    reason = error.message if isinstance(error, Rejected) else reason
    message = f"in the entry {quoted(entry.name)}, {what} cannot be read: {reason}"
    return Rejected(Diagnostic("T0706", message, hint=RESTORE))


def _compared(
    found: CostChange,
    before: LockedFigure,
    after: LockedFigure,
    both: Joint,
    old_counts: Sequence[Poly],
    new_counts: Sequence[Poly],
    sizes: Mapping[str, int] | None,
    as_it_was: bool,
) -> CostChange:
    old, new = _form(found, before, both.old), _form(found, after, both.new)
    known = [renamed(c, both.old) for c in old_counts] + [renamed(c, both.new) for c in new_counts]
    try:
        if both.binding:
            told = " and ".join(cond_text(one) for one in both.binding)
            return replace(found, kind="undecided", notes=(*both.notes, f"{_ALIKE} {told}"))
        if both.empty or (both.differs and both.facts and not any(try_shapes(old, new, both.facts))):
            return replace(found, kind="undecided", notes=(*both.notes, _NO_SHAPE))
        forms = outcome_of(old, new, both.facts, (old, new, *known))
    except AlgebraBudget as error:
        return replace(found, kind="undecided", notes=(*both.notes, f"it takes too much algebra: {error}"))
    # a bound on the same text is the same one, in whatever words
    in_other_words = as_it_was and forms.kind == "same" and before.status == after.status
    outcome = forms if in_other_words else concluded(before.status, after.status, forms)
    outcome = _each_with_its_own(outcome) if both.resized else outcome
    if outcome.region is not None and (new - old).free & both.apart:  # no proof, and no run shows it
        outcome = Compared("undecided", notes=outcome.notes)
    if outcome.kind in ("costlier", "crosses") and (outcome.region is None or outcome.region.exact):
        shown = telling_shape(old, new, both.facts, sizes)
        outcome = outcome if shown is None else replace(outcome, example=_first((shown,)))
    return replace(
        found,
        kind=outcome.kind,
        difference=to_text(new - old, display_names(old.free | new.free)),
        region=outcome.region,
        example=outcome.example,
        other=outcome.other,
        tried=outcome.tried,
        notes=(*both.notes, *outcome.notes),
    )


def _each_with_its_own(outcome: Compared) -> Compared:
    """What holds where an input has another size: that a program costs more with its own, and nothing else.

    That it costs less may be for the size alone.
    """
    if outcome.kind in ("costlier", "crosses"):
        return replace(outcome, notes=(*outcome.notes, _RESIZED))
    return Compared("undecided", notes=(_NO_SHAPE,))


def _form(found: CostChange, figure: LockedFigure, names: dict[str, Poly]) -> Poly:
    try:
        return parse_text(figure.form, names)
    except (Rejected, AlgebraBudget, RecursionError) as error:
        raise _unreadable(LockEntry(found.name), f"the figure {quoted(found.metric)}", error) from None


def concluded(before: FigureStatus, after: FigureStatus, forms: Compared) -> Compared:
    """What a comparison of two forms tells of the costs they are forms of."""
    sides = ((before, "old"), (after, "new"))
    caveats = [_CAVEATS[side] for side in sides if side in _CAVEATS]
    forms = replace(forms, notes=(*forms.notes, *caveats))
    match conclude(CERTAINTY[before], CERTAINTY[after], forms.claim):
        case claim if claim == forms.claim:
            return forms
        case Claim(more=False, less=less):
            return replace(forms, kind="cheaper" if less else "not costlier", region=None, other=None)
        case Claim(more=True) if forms.example is not None:
            where = CostlierRegion(f"at {forms.example.at}", exact=False)
            return replace(forms, kind="costlier", region=where, other=None)
        case _:
            return replace(forms, kind="undecided", region=None)


# ---- two expressions -----------------------------------------------------------------------------


class Compared(Struct, frozen=True):
    """What is proved of a new expression against an old one, and shapes that show it."""

    kind: ChangeKind
    region: CostlierRegion | None = None
    example: Example | None = None
    other: Example | None = None
    tried: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse to call a cost cheaper or costlier without a shape at which it is."""
        gaps = [shape.new - shape.old for shape in (self.example, self.other) if shape is not None]
        costlier, cheaper = any(gap > 0 for gap in gaps), any(gap < 0 for gap in gaps)
        needed = {"cheaper": cheaper, "costlier": costlier, "crosses": costlier and cheaper}
        if not needed.get(self.kind, True):
            raise InternalError(f"a cost is called {self.kind} without a shape that shows it")

    @property
    def claim(self) -> Claim:
        """Whether the new expression is more than the old one somewhere, and whether it is less."""
        match self.kind:
            case "same":
                return SAME
            case "cheaper":
                return Claim(more=False, less=True)
            case "not costlier":
                return Claim(more=False, less=None)
            case "costlier":  # shapes tried prove nothing
                return Claim(more=True, less=False if self.region is None else None)
            case "crosses":
                return Claim(more=True, less=True)
            case _:
                return NOTHING


def outcome_of(old: Poly, new: Poly, facts: tuple[Cond, ...] = (), counts: Sequence[Poly] = ()) -> Compared:
    """Compare two expressions for every admissible shape; ``counts`` are known never to be negative.

    >>> n = parse_text("n")
    >>> found = outcome_of(64 * n, n * n)
    >>> found.kind, found.region.text, found.example.at
    ('crosses', 'n > 64', 'n=100')
    """
    found = compare(new, old, facts)
    if found.verdict == "equal":
        return Compared("same")
    if found.verdict == "less":
        return Compared("cheaper", example=_example(found.below))
    if found.verdict == "greater":
        return Compared("costlier", example=_example(found.above))
    never = _proved(found, new - old, facts, counts)
    tried = tuple(try_shapes(old, new, facts))
    above = _example(found.above) or _first(t for t in tried if t.new > t.old)
    below = _example(found.below) or _first(t for t in tried if t.new < t.old)
    if never == "costlier" and above is None:  # a shape outweighs what a strange lock file implies
        return Compared("cheaper" if below else "not costlier", example=below or _first(tried))
    if never == "cheaper" and below is None:
        if above is None:
            return Compared("undecided", None, _first(tried), None, len(tried), (_NEVER_CHEAPER,))
        return Compared("costlier", example=above)
    if above is not None and below is not None:
        return Compared("crosses", _where(old, new, facts, tried), above, below, len(tried))
    if above is not None:
        where = _counted(tried) or CostlierRegion(f"at {above.at}", exact=False)
        return Compared("costlier", where, above, None, len(tried), (_UNPROVED,))
    return Compared("undecided", None, below or _first(tried), None, len(tried), _ranges(tried))


def _proved(
    found: Order, difference: Poly, facts: tuple[Cond, ...], counts: Sequence[Poly]
) -> Literal["costlier", "cheaper"] | None:
    """What a new figure is proved never to be."""
    match found.verdict:
        case "less_or_equal":
            return "costlier"
        case "greater_or_equal":
            return "cheaper"
        case "unknown":
            multiples = (proportion(difference, count) for count in counts)
            sign = next((sign for sign in multiples if sign is not None), sign_of(difference, facts))
            return None if sign is None else "cheaper" if sign > 0 else "costlier"
        case _:
            return None


def _where(old: Poly, new: Poly, facts: tuple[Cond, ...], tried: Sequence[Tried]) -> CostlierRegion | None:
    found = region(new - old, facts)
    return _counted(tried) if found is None else CostlierRegion(found)


def _counted(tried: Sequence[Tried]) -> CostlierRegion | None:
    costlier = sum(t.new > t.old for t in tried)
    return CostlierRegion(f"at {costlier:,} of {len(tried):,} shapes tried", exact=False) if tried else None


def _ranges(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Which lengths the shapes had that were tried."""
    values: dict[str, list[int]] = {}
    for one in tried:
        for name, value in _dims(one.point):
            values.setdefault(name, []).append(value)
    ranges = (f"{name} from {min(found):,} to {max(found):,}" for name, found in sorted(values.items()))
    return (f"tried: {', '.join(ranges)}",) if values else ()


def _example(witness: Witness | None) -> Example | None:
    if witness is None:
        return None
    return Example(_dims(dict(witness.point)), old=witness.right, new=witness.left)


def _first(tried: Iterable[Tried]) -> Example | None:
    found = next(iter(tried), None)
    return None if found is None else Example(_dims(found.point), found.old, found.new)


def _dims(point: Mapping[Symbol, int]) -> Dims:
    names = display_names(point)
    return tuple(sorted((names[symbol], value) for symbol, value in point.items()))


# === Which of two costs is the larger, for all shapes: a proof, shapes that show both, or neither.
#
# Where a proof of the whole difference fails, shapes with one or two large lengths are looked at, and then
# the difference is written anew: in its factors, in lengths counted from their least, in both cases of a
# clip.


def ordering(a: Poly, b: Poly, facts: tuple[Cond, ...] = ()) -> Order:
    """Compare two costs for all shapes.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> ordering(2 * n * m, n * n + m * m).verdict
    'less'
    """
    found = compare(a, b, facts)
    if found.verdict != "unknown":
        return found
    gap = b - a
    every = signs_of_one(gap, facts)
    shapes = (shape for shapes in (every or {}).values() for shape in shapes)
    below, above = found.below, found.above
    for point in chain(shapes, _shapes(gap, facts)):
        if below and above:
            break
        shown = witness_at(a, b, point, facts)
        if shown is not None and shown.left < shown.right:
            below = below or shown
        elif shown is not None:
            above = above or shown
    above_is_excluded = every is not None and -1 not in every
    below_is_excluded = every is not None and 1 not in every
    never_above = above is None and (above_is_excluded or _never_negative(gap, facts))
    never_below = below is None and (below_is_excluded or _never_negative(-gap, facts))
    return Order(never_above, never_below, below, above)


def _shapes(gap: Poly, facts: Sequence[Cond]) -> Iterator[Assignment]:
    """Give shapes of many kinds."""
    yield from (tried.point for tried in try_shapes(gap, gap, facts))
    yield from _skewed(gap, facts)


def _skewed(gap: Poly, facts: Sequence[Cond]) -> Iterator[Assignment]:
    """Shapes at which one or two lengths are large and the others small, or the other way round."""
    start = next(try_shapes(gap, gap, facts), None)
    symbols = sorted(start.point, key=lambda symbol: symbol.name) if start else []
    for low, high in ((1, 1000), (1000, 1), (2, 30), (30, 2)):
        for few in (1, 2):
            for chosen in combinations(symbols, few):
                point = {symbol: high if symbol in chosen else low for symbol in symbols}
                if hold_at(facts, point) and all(_allowed(symbol, point) for symbol in symbols):
                    yield point


def _allowed(symbol: Symbol, point: Assignment) -> bool:
    low = symbol.lo is None or evaluate(symbol.lo, point) <= point[symbol]
    return low and (symbol.hi is None or point[symbol] <= evaluate(symbol.hi, point))


def _never_negative(gap: Poly, facts: tuple[Cond, ...]) -> bool:
    if sign_of(gap, facts) == 1 or is_nonnegative(_from_least(gap, facts)):
        return True
    cases = _cases(gap)
    return bool(cases) and all(_never_negative(case, facts) for case in cases)


def _from_least(gap: Poly, facts: Sequence[Cond]) -> Poly:
    """A difference in lengths counted from their least: where `w >= k - 1`, w is k - 1 and some more."""
    for fact in facts:
        if isinstance(fact, Ge) and not fact.p.height:
            for symbol in sorted(fact.p.free, key=lambda symbol: symbol.name):
                rest = fact.p - atom(symbol)
                if symbol in gap.free and symbol not in rest.free:
                    more = data_symbol(f"{symbol.name}_more", 0, None)
                    gap = substitute(gap, {symbol: more - rest})
                    break
    return gap


def _cases(gap: Poly) -> tuple[Poly, ...]:
    """A difference without its clip of two lengths: where the first is the larger one, and the second."""
    for clip in generators_in(gap):
        if isinstance(clip, Relu) and len(clip.p.free) == 2 and not clip.p.height:
            first, second = sorted(clip.p.free, key=lambda symbol: -clip.p.terms.get((symbol,), 0))
            if clip.p == atom(first) - atom(second):
                more = data_symbol(f"{first.name}_more", 0, None)
                larger = substitute(gap, {first: atom(second) + more})
                return larger, substitute(gap, {second: atom(first) + more})
    return ()


# === Which shapes a program admitted before and admits no longer.
#
# A figure says nothing of the shapes at which a program is refused: one that costs the same, but needs
# longer inputs than before, fails where it did not.


def narrowed(old: LockEntry, new: LockEntry) -> tuple[str, ...]:
    """What a program needs now and did not need before, each in words; nothing where it admits as much."""
    if old.domain == new.domain:
        return ()
    try:
        return min((tuple(_needs(one)) for one in joints(old, new)), key=len)
    except (Rejected, AlgebraBudget, RecursionError):  # of which the verdicts tell
        return ()


def _needs(both: Joint) -> Iterator[str]:
    yield from both.fixed
    for text, condition in both.asked:
        if not prove(condition, both.known):
            shape = _refused(condition, both.known)
            yield f"it needs {text}" + (
                f": {shape} was right before" if shape else ", for all that is proved"
            )


def _refused(condition: Cond, known: tuple[Cond, ...]) -> str | None:
    """A shape that was admitted and is not any more, if one is found."""
    mentioned = total_of(atom(symbol) for symbol in symbols_of_cond(condition))
    found = next(try_shapes(mentioned, mentioned, (*known, negate(condition))), None)
    return None if found is None else ", ".join(f"{s.name}={value}" for s, value in found.point.items())
