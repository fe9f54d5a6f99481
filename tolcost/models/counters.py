"""Values that a loop carries and that are known at every turn: they stay as they are, or only advance.

How much a value advances is guessed from the first turn.  That the guess holds is proved at a turn which is
a symbol: from its values at one turn, the body gives those of the next.  So the values are known at all.
Integers that go through reals are taken to come out as they went in: none is too large for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from onnx import GraphProto

from tolcost.algebra import FALSE, LARGEST_LENGTH, TRUE, Cond, Poly, const, data_symbol
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, Value, Vec
from tolcost.models.cuts import assignments, cut_of
from tolcost.models.known import Known, elements, frozen, is_value
from tolcost.models.lowering import Given, Lowered
from tolcost.models.slices import graph_of, slice_of
from tolcost.spaces import kind_of

MOST_COUNTED = 16
"""A value with more elements is no counter."""

Apply = Callable[[GraphProto, Mapping[str, Known]], "Lowered | Rejected"]
"""What a graph without inputs gives, where names from outside are known."""

TURN = data_symbol("turn", 0, LARGEST_LENGTH)
"""How many turns came before one that may be any."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A carried value: what it starts as, and by how much each entry advances a turn, if it does."""

    start: Known
    advance: tuple[Poly, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether it is not the same at every turn."""
        return any(by.terms for by in self.advance)

    def after(self, turns: Poly) -> Known:
        """The value after some turns."""
        if not self.moves:
            return self.start
        assert isinstance(self.start, Cast)
        entries = _entries(self.start)
        assert entries is not None
        moved = tuple(entry + by * turns for entry, by in zip(entries, self.advance, strict=True))
        return Cast(_like(self.start.value, moved), self.start.space)


def advance_of(counter: Counter) -> Known:
    """By how much a value advances, as a value of the same shape."""
    assert isinstance(counter.start, Cast)
    return Cast(_like(counter.start.value, counter.advance), "int64")


@dataclass(frozen=True, slots=True)
class Turning:
    """A loop at a turn that may be any: its carried values that are known there, by place, and its condition.

    The condition is that after the turn; None where nothing is known of it.  Where it is not the ``whole``
    condition, data decides the rest.
    """

    counters: Mapping[int, Counter]
    condition: Cond | None
    whole: bool = True


def turning(body: GraphProto, given: Given, apply: Apply) -> Turning:
    """Find the carried values that are known at every turn."""
    carried = given.inputs[2:]
    kept = {
        j: Counter(v) for j, v in enumerate(carried) if isinstance(v, Tensor | Cast) and _passed_on(body, j)
    }
    guesses = {j: v for j, v in enumerate(carried) if j not in kept and _may_count(v)}
    while True:
        found = _closed(body, guesses, kept, given)
        test = _Test(body, given, apply, kept, found)
        proved = test.proved()
        if proved.keys() == found.keys():
            return test.turning({**kept, **proved})
        guesses = {j: found[j] for j in proved}


def _passed_on(body: GraphProto, j: int) -> bool:
    return bool(body.output[j + 1].name == body.input[j + 2].name)


def _may_count(value: Known | None) -> bool:
    """Whether a value may be known at every turn: a few integers, or truths, that are known at first."""
    if not isinstance(value, Cast) or elements(value) > MOST_COUNTED:
        return False
    return kind_of(value.space) == "B" or _entries(value) is not None


def _entries(value: Known) -> tuple[Poly, ...] | None:
    """The entries of a value of integers."""
    if not isinstance(value, Cast) or kind_of(value.space) != "Z":
        return None
    items = value.value.items if isinstance(value.value, Vec) else (value.value,)
    found = tuple(item for item in items if isinstance(item, Poly))
    return found if len(found) == len(items) else None


def _like(value: Value, entries: tuple[Poly, ...]) -> Value:
    return Vec(value.shape, entries) if isinstance(value, Vec) else entries[0]


def _closed(
    body: GraphProto, guesses: Mapping[int, Known | None], kept: Iterable[int], given: Given
) -> dict[int, Known]:
    """Those of some carried values that depend on one another only, on the turn, and on what stays."""
    found = {j: value for j, value in guesses.items() if value is not None}
    while True:
        known = _names(body, (*found, *kept), given)
        left = {j: v for j, v in found.items() if slice_of(body, [body.output[j + 1].name]).outside <= known}
        if left.keys() == found.keys():
            return left
        found = left


def _names(body: GraphProto, places: Iterable[int], given: Given) -> set[str]:
    """What is known at every turn: the turn, that it is taken, carried values, and what is around."""
    around = given.around.keys() - {place.name for place in body.input}
    return around | {place.name for place in (*body.input[:2], *(body.input[j + 2] for j in places))}


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """Carried values put to the test: what the body makes of them at the first turn, and at any."""

    body: GraphProto
    given: Given
    apply: Apply
    kept: Mapping[int, Counter]
    start: Mapping[int, Known]

    def proved(self) -> dict[int, Counter]:
        """Those that advance by a fixed amount; if the body cannot be looked at, none."""
        if not self.start:
            return {}
        wanted = [self.body.output[j + 1].name for j in self.start]
        after = self.outputs(wanted, {j: Counter(v) for j, v in self.start.items()}, const(0))
        guessed = {
            j: counter
            for (j, start), now in zip(self.start.items(), after, strict=True)
            if (counter := _advancing(start, now)) is not None
        }
        if guessed.keys() != self.start.keys():
            return guessed
        found = self.outputs(wanted, guessed, TURN)
        return {
            j: counter
            for (j, counter), now in zip(guessed.items(), found, strict=True)
            if now is not None and frozen(now) == frozen(counter.after(TURN + 1))
        }

    def outputs(
        self,
        wanted: list[str],
        counters: Mapping[int, Counter],
        turn: Poly,
        truths: Mapping[str, bool] | None = None,
    ) -> tuple[Known | None, ...]:
        """What values of the body are at a turn; nothing of them where that relies on anything."""
        decided = truths or {}
        around = dict(self.given.around)
        around.update((name, Cast(TRUE if true else FALSE, "bool")) for name, true in decided.items())
        around[self.body.input[0].name] = Cast(turn, "int64")
        around[self.body.input[1].name] = Cast(TRUE, "bool")
        for j, counter in {**self.kept, **counters}.items():
            around[self.body.input[j + 2].name] = counter.after(turn)
        found = self.apply(graph_of(self.body, wanted, decided), around)
        if isinstance(found, Rejected) or found.conditions or found.equal:
            return (None,) * len(wanted)
        return found.outputs

    def turning(self, counters: Mapping[int, Counter]) -> Turning:
        """The loop at any turn, with its condition as far as that depends on nothing else."""
        name, known = self.body.output[0].name, _names(self.body, counters, self.given)
        if slice_of(self.body, [name]).outside <= known:
            return Turning(counters, truth_in(self.outputs([name], counters, TURN)[0]))
        moving = [self.body.input[0].name]
        moving += [self.body.input[j + 2].name for j, counter in counters.items() if counter.moves]
        cut = cut_of(self.body, name, known, moving)
        cases = [truth_in(self.outputs([name], counters, TURN, case)[0]) for case in assignments(cut) if case]
        hopeful = {case for case in cases if case != FALSE}
        return Turning(counters, hopeful.pop() if len(hopeful) == 1 else None, whole=False)


def truth_in(known: Known | None) -> Cond | None:
    """The condition that a value of one entry is; None where it is none, or not known."""
    inner = known.value if isinstance(known, Cast) else None
    if isinstance(inner, Vec) and len(inner.items) == 1:
        inner = inner.items[0]
    return inner if isinstance(inner, Cond) else None


def _advancing(start: Known, now: Known | None) -> Counter | None:
    """A counter by its first two values."""
    if now is None or not is_value(now):
        return None
    before, after = _entries(start), _entries(now)
    if before is None or after is None:
        return Counter(start) if frozen(now) == frozen(start) else None
    advance = tuple(b - a for a, b in zip(before, after, strict=False))
    found = Counter(start, advance)
    return found if frozen(found.after(const(1))) == frozen(now) else None
