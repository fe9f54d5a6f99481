"""Judge one figure: cheaper, the same or costlier for every shape, or costlier for some shapes only.

``result.judgement`` compares the two forms; this module turns its claims into verdicts of the gate.  If
nothing is proved, a figure that is costlier at a sampled shape is costlier there, and any other is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    Witness,
    atom,
    cond_text,
    display_names,
    negate,
    symbols_of_cond,
    to_text,
    total_of,
)
from tolcost.algebra.parse import parse_text
from tolcost.check.matching import Joint, alone, joints, renamed, shaped_inputs
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
    LockedInput,
    LockEntry,
)
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.result.claims import NOTHING, Claim, Relation
from tolcost.result.judgement import FormJudgement, at_typical, judge_forms, telling, unmet
from tolcost.result.regions import Tried, region, try_shapes
from tolcost.result.typical import typical_lengths

_UNPROVED = "not proved for every shape"
_NEVER_CHEAPER = "never cheaper; no shape was found at which it is costlier"
_NO_SHAPE = "no shape was found that is right before and now"
_RESIZED = "each is costed with its own size"
_BY_SIZE = "if it costs less now, the size alone may be why"
_ALIKE = "inputs are of one shape before and now only where"
_BELOW = "the cost may stay below its bound, by more or by less than before"
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
    """Judge the change of one figure of a program; counts are the contributions of its parts, old and new.

    The example of a change is at ``sizes``, or else at typical lengths, or at those nearest where it turns.
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
    ways = [
        _compared(found, before, after, (old, new), both, *counts, sizes, as_it_was)
        for both in _together(old, new)
    ]
    worst = min(ways, key=lambda change: KINDS.index(change.kind))
    note = "inputs changed places: by place and by name they are not the same"
    return worst if len(ways) == 1 else replace(worst, notes=(*worst.notes, note))


def typical_of(entry: LockEntry, both: Joint) -> Mapping[Symbol, int]:
    """Return the typical values of the lengths of an entry."""
    inputs = shaped_inputs(entry, both.new)
    shapes = (form for one in inputs for shape in one.shapes for form in shape)
    symbols = {symbol for form in (*both.new.values(), *shapes) for symbol in form.free}
    return typical_lengths(symbols, inputs, both.facts)


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
    entries: tuple[LockEntry, LockEntry],
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
        forms = outcome_of(old, new, both.facts, (old, new, *known), typical_of(entries[1], both), sizes)
    except AlgebraBudget as error:
        return replace(found, kind="undecided", notes=(*both.notes, f"it takes too much algebra: {error}"))
    # equal bounds of an unchanged source bound the same cost, however the entries name their lengths
    in_other_words = as_it_was and forms.kind == "same" and before.status == after.status
    outcome = forms if in_other_words else concluded(before.status, after.status, forms)
    outcome = _each_with_its_own(outcome, *entries) if both.resized else outcome
    if outcome.region is not None and (new - old).free & both.apart:  # its old and new values are unrelated
        outcome = undecided(*outcome.notes)
    return replace(
        found,
        kind=outcome.kind,
        difference=to_text(new - old, display_names(old.free | new.free)),
        region=outcome.region,
        example=outcome.example,
        other=outcome.other,
        tried=outcome.tried,
        notes=(*both.notes, *outcome.notes),
        equal_bounds=outcome.equal_bounds,
    )


def _each_with_its_own(outcome: Compared, old: LockEntry, new: LockEntry) -> Compared:
    """Weaken an outcome where a number in the shape of an input changed: each program has its own size.

    A costlier program stays costlier, with a note.  Any other outcome becomes undecided, because the size
    alone may be the reason why a program is cheaper.
    """
    pairs = zip(old.domain.inputs, new.domain.inputs, strict=False)
    told = [
        f"the input {quoted(now.name)} was {_parts_text(was)} and is {_parts_text(now)}"
        for was, now in pairs
        if was.parts != now.parts
    ]
    note = f"{'; '.join(told)}: {_RESIZED}" if told else f"inputs have other sizes: {_RESIZED}"
    if outcome.kind in ("costlier", "crosses"):
        return replace(outcome, notes=(*outcome.notes, note))
    return undecided(f"{note}; {_BY_SIZE}")


def _parts_text(one: LockedInput) -> str:
    return " & ".join(part.text for part in one.parts)


def _form(found: CostChange, figure: LockedFigure, names: dict[str, Poly]) -> Poly:
    try:
        return parse_text(figure.form, names)
    except (Rejected, AlgebraBudget, RecursionError) as error:
        raise _unreadable(LockEntry(found.name), f"the figure {quoted(found.metric)}", error) from None


def concluded(before: FigureStatus, after: FigureStatus, forms: Compared) -> Compared:
    """Conclude from a comparison of two forms to the costs, given how certain each form is."""
    sides = ((before, "old"), (after, "new"))
    caveats = [_CAVEATS[side] for side in sides if side in _CAVEATS]
    equal = before == after == "at-most" and forms.kind == "same"
    forms = replace(forms, notes=(*forms.notes, *([_BELOW] if equal else caveats)), equal_bounds=equal)
    judged = forms.judged.of_costs(CERTAINTY[before], CERTAINTY[after])
    if judged == forms.judged:
        return forms
    where = None
    if judged.claim.more and forms.example is not None:
        where = CostlierRegion(f"at {forms.example.at}", exact=False)
    other = forms.other if judged.claim.more is None else None
    return replace(forms, judged=judged, region=where, other=other)


# ---- figures at points ---------------------------------------------------------------------------


Sizes: TypeAlias = Mapping[str, int]
"""Lengths by name, where a project wants to see figures."""


def at_points(
    old: LockEntry, new: LockEntry, metric: str, points: Sequence[Sizes]
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Return an old and a new figure at some points, and remarks on points that are none for the program."""
    before, after = old.figure(metric), new.figure(metric)
    if before is None or after is None or "unknown" in (before.status, after.status):
        return (), ()
    both = _together(old, new)[0]
    found = CostChange(new.name, "same", metric)
    forms = _form(found, before, both.old), _form(found, after, both.new)
    return _at_points(*forms, both.facts, typical_of(new, both), points)


def new_figures(entry: LockEntry, points: Callable[[str], Sequence[Sizes]]) -> tuple[CostChange, ...]:
    """Return the figures of a new program, with their values at some points."""
    return tuple(_new_figure(entry, metric, points(metric)) for metric, _ in entry.figures)


def _new_figure(entry: LockEntry, metric: str, points: Sequence[Sizes]) -> CostChange:
    figure = entry.figure(metric)
    found = CostChange(entry.name, "new", metric, new=_text(figure))
    if figure is None or figure.status == "unknown":
        return found
    both = alone(entry)
    form = _form(found, figure, both.new)
    examples, notes = _at_points(ZERO, form, both.facts, typical_of(entry, both), points)
    caveat = _CAVEATS.get((figure.status, "new"))
    return replace(found, points=examples, notes=(*((caveat,) if caveat else ()), *notes))


def _at_points(
    old: Poly,
    new: Poly,
    facts: tuple[Cond, ...],
    typical: Mapping[Symbol, int],
    points: Sequence[Sizes],
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Evaluate forms at the points that name a length of theirs, or if there are none, at typical lengths."""
    examples: list[Example] = []
    notes: list[str] = []
    names = display_names(old.free | new.free)
    for sizes in [sizes for sizes in points if not sizes.keys().isdisjoint(names.values())] or [{}]:
        known = {symbol: sizes[name] for symbol, name in names.items() if name in sizes}
        shown = at_typical(old, new, facts, typical, known)
        if shown is not None:
            examples.append(Example(_dims(shown.point), shown.old, shown.new))
        elif sizes:
            text = ", ".join(f"{name}={value}" for name, value in sizes.items())
            notes.append(
                f"there are no figures at {text}: a condition fails there, or it takes too much algebra"
            )
    return tuple(dict.fromkeys(examples)), tuple(notes)


# ---- two expressions -----------------------------------------------------------------------------


class Compared(Struct, frozen=True):
    """The comparison of a new expression with an old one, as the gate reports it."""

    judged: FormJudgement
    region: CostlierRegion | None = None
    example: Example | None = None
    other: Example | None = None
    tried: int = 0
    notes: tuple[str, ...] = ()
    equal_bounds: bool = False
    """Whether both figures are upper bounds, and the same."""

    @property
    def kind(self) -> Relation:
        """The verdict in one word: costlier, if it is at some shape and not known to be cheaper at another.

        A gate must not pass a figure because nothing is known about other shapes.
        """
        claim = self.judged.claim
        return "costlier" if claim.more and claim.less is None else claim.relation


def undecided(*notes: str) -> Compared:
    """Return an undecided outcome, with the reasons."""
    return Compared(FormJudgement(NOTHING), notes=notes)


def outcome_of(
    old: Poly,
    new: Poly,
    facts: tuple[Cond, ...] = (),
    counts: Sequence[Poly] = (),
    typical: Mapping[Symbol, int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Compared:
    """Compare two expressions for every admissible shape; ``counts`` are never negative, which helps proofs.

    Examples are at ``sizes``, or at ``typical`` lengths, or at those nearest where the verdict turns.

    >>> n = parse_text("n")
    >>> found = outcome_of(64 * n, n * n)
    >>> found.kind, found.region.text, found.example.at
    ('crosses', 'n > 64', 'n=65')
    """
    judged = judge_forms(old, new, facts, counts)
    if judged.more or judged.less:
        names = display_names(old.free | new.free)
        known = {symbol: sizes[name] for symbol, name in names.items() if sizes and name in sizes}
        judged = telling(judged, old, new, facts, typical or {}, known)
    more, less = _example(judged.more), _example(judged.less)
    if judged.relation in ("same", "cheaper", "costlier"):
        return Compared(judged, example=more or less)
    tried = tuple(try_shapes(old, new, facts))
    match judged.claim:
        case Claim(more=False):
            return Compared(judged, example=_first(tried))
        case Claim(more=True, less=True):
            return Compared(judged, _where(old, new, facts, tried), more, less, len(tried))
        case Claim(more=True):
            where = _counted(tried) or CostlierRegion(f"at {more.at if more else ''}", exact=False)
            return Compared(judged, where, more, None, len(tried), (_UNPROVED,))
        case Claim(less=False):
            return Compared(judged, None, _first(tried), None, len(tried), (_NEVER_CHEAPER,))
        case _:
            return Compared(judged, None, less or _first(tried), None, len(tried), _ranges(tried))


def _where(old: Poly, new: Poly, facts: tuple[Cond, ...], tried: Sequence[Tried]) -> CostlierRegion | None:
    found = region(new - old, facts)
    return _counted(tried) if found is None else CostlierRegion(found)


def _counted(tried: Sequence[Tried]) -> CostlierRegion | None:
    costlier = sum(t.new > t.old for t in tried)
    return CostlierRegion(f"at {costlier:,} of {len(tried):,} shapes tried", exact=False) if tried else None


def _ranges(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Describe the ranges of lengths in the sampled shapes."""
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


# === Shapes that a program admitted before and no longer admits.
#
# A figure does not cover the shapes at which a program is refused.  A program that costs the same, but needs
# longer inputs than before, now fails at shapes where it used to run.


def narrowed(old: LockEntry, new: LockEntry) -> tuple[str, ...]:
    """Describe the new requirements of a program; there are none if it admits every former shape."""
    if old.domain == new.domain:
        return ()
    try:
        return min((tuple(_needs(one)) for one in joints(old, new)), key=len)
    except (Rejected, AlgebraBudget, RecursionError):  # the verdicts on its figures report these
        return ()


def _needs(both: Joint) -> Iterator[str]:
    yield from both.fixed
    asked = {condition: text for text, condition in both.asked}
    for condition in unmet(asked, both.known):
        shape = _refused(condition, both.known)
        said = f": {shape} was right before" if shape else ", for all that is proved"
        yield f"it needs {asked[condition]}{said}"


def _refused(condition: Cond, known: tuple[Cond, ...]) -> str | None:
    """Find a shape that was admitted before and no longer is."""
    mentioned = total_of(atom(symbol) for symbol in symbols_of_cond(condition))
    found = next(try_shapes(mentioned, mentioned, (*known, negate(condition))), None)
    return None if found is None else ", ".join(f"{s.name}={value}" for s, value in found.point.items())
