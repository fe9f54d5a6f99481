"""The verdict on one figure: cheaper, the same or costlier for every shape, or only for some.

What is proved is said of every admissible shape.  What is not proved is never said: a figure
that was costlier at some shape tried is costlier there, and one that was not is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tolcost.algebra import (
    AlgebraBudget,
    Comparison,
    Cond,
    Poly,
    Symbol,
    Witness,
    compare,
    display_names,
    parse_text,
    to_text,
)
from tolcost.check.domain import Joint, joint, renamed
from tolcost.check.records import (
    ChangeKind,
    CostChange,
    CostlierRegion,
    Dims,
    Example,
    LockedFigure,
    LockEntry,
)
from tolcost.check.regions import Tried, proportion, region, sign_of, try_shapes
from tolcost.diagnostics import Diagnostic, Rejected, quoted

_NOT_KNOWN = "the figure is not known any more"
UNPROVED = "not proved for every shape"
_NO_SHAPE = "no shape was found that is right before and now"


def judge(old: LockEntry, new: LockEntry, metric: str, counts: Sequence[Poly] = ()) -> CostChange:
    """What became of one figure of a program; ``counts`` are what parts of it contribute, old and new."""
    before, after = old.figure(metric), new.figure(metric)
    if after is None:
        return CostChange(new.name, "gone", metric, old=before.form if before else "")
    if before is None:
        return CostChange(new.name, "new", metric, new=after.form)
    found = CostChange(new.name, "same", metric, old=before.form, new=after.form)
    if before == after and (old.inputs, old.where) == (new.inputs, new.where):
        return found
    if "unknown" in (before.status, after.status):
        return _with_unknown(found, before, after)
    return _compared(found, before, after, _together(old, new), counts)


def _together(old: LockEntry, new: LockEntry) -> Joint:
    try:
        return joint(old, new)
    except (Rejected, AlgebraBudget, RecursionError) as error:
        raise _unreadable(old, "its inputs", error) from None


def _unreadable(entry: LockEntry, what: str, error: BaseException) -> Rejected:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    message = f"in the entry {quoted(entry.name)}, {what} cannot be read: {reason}"
    hint = "restore the lock file from version control, or delete it and run `tolcost check --update`"
    return Rejected(Diagnostic("T0706", message, hint=hint))


def _with_unknown(found: CostChange, before: LockedFigure, after: LockedFigure) -> CostChange:
    """A figure that is not known on one side: one that became known is no reason to fail."""
    if before == after:
        return found
    if after.status == "unknown":
        return replace(found, kind="undecided", notes=(_NOT_KNOWN,))
    return replace(found, kind="new")


def _compared(
    found: CostChange, before: LockedFigure, after: LockedFigure, both: Joint, counts: Sequence[Poly]
) -> CostChange:
    old = _form(found, before, both.old)
    new = _form(found, after, both.new)
    if both.empty or (both.differs and both.facts and not any(try_shapes(old, new, both.facts))):
        return replace(found, kind="undecided", notes=(*both.notes, _NO_SHAPE))
    known = (old, new, *(renamed(count, both.new) for count in counts))
    outcome = outcome_of(old, new, both.facts, known)
    change = replace(
        found,
        kind=outcome.kind,
        difference=_difference(old, new),
        region=outcome.region,
        example=outcome.example,
        other=outcome.other,
        tried=outcome.tried,
        notes=(*both.notes, *outcome.notes, *_data_notes(old, new)),
    )
    return _trusted(change, before, after)


def _form(found: CostChange, figure: LockedFigure, names: dict[str, Poly]) -> Poly:
    try:
        return parse_text(figure.form, names)
    except (Rejected, AlgebraBudget, RecursionError) as error:
        raise _unreadable(LockEntry(found.name), f"the figure {quoted(found.metric)}", error) from None


def _difference(old: Poly, new: Poly) -> str:
    return to_text(new - old, display_names(old.free | new.free))


def _data_notes(old: Poly, new: Poly) -> tuple[str, ...]:
    """What data decides is taken to be alike in both programs; that is a belief, so it is said."""
    names = sorted(s.name for s in old.free & new.free if s.kind == "data")
    return (f"taking {', '.join(map(quoted, names))} to mean the same before and now",) if names else ()


def _trusted(change: CostChange, before: LockedFigure, after: LockedFigure) -> CostChange:
    """Weaken a verdict that rests on figures which are only bounds, or lack something."""
    if after.status == "incomplete" and change.kind != "costlier":
        return replace(change, kind="undecided", notes=(*change.notes, "some nodes are not costed"))
    if before.status == "incomplete" and change.kind in ("costlier", "crosses"):
        note = "the old figure lacked some nodes"
        return replace(change, kind="undecided", notes=(*change.notes, note))
    if before.status != "at-most" and after.status == "at-most" and change.kind in ("costlier", "crosses"):
        note = "the new figure is only an upper bound"
        return replace(change, kind="undecided", notes=(*change.notes, note))
    if before.status == after.status == "at-most" and change.kind != "same":
        return replace(change, notes=(*change.notes, "both figures are upper bounds"))
    return change


# ---- two expressions -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compared:
    """What is proved of a new expression against an old one, and shapes that show it."""

    kind: ChangeKind
    region: CostlierRegion | None = None
    example: Example | None = None
    other: Example | None = None
    tried: int = 0
    notes: tuple[str, ...] = ()


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
    never = _proved(found, new - old, facts, counts)
    tried = tuple(try_shapes(old, new, facts))
    above = _example(found.above) or _first(t for t in tried if t.new > t.old)
    below = _example(found.below) or _first(t for t in tried if t.new < t.old)
    if never == "costlier" and above is None:  # a shape outweighs what a strange lock file implies
        return Compared("cheaper", example=below or _first(tried))
    if never == "cheaper" and below is None:
        return Compared("costlier", example=above or _first(tried))
    if above is not None and below is not None:
        return Compared("crosses", _where(old, new, facts, tried), above, below, len(tried))
    if above is not None:
        return Compared("costlier", _counted(tried), above, None, len(tried), (UNPROVED,))
    return Compared("undecided", None, below or _first(tried), None, len(tried), _ranges(tried))


def _proved(
    found: Comparison, difference: Poly, facts: tuple[Cond, ...], counts: Sequence[Poly]
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
    return region(new - old, facts) or _counted(tried)


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
