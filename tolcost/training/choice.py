"""Which scopes to compute again, so that a step fits in some memory at least work.

What a scope saves at the moment of the peak is at most what forward keeps in it for nodes in it.  So a
knapsack bounds the work of every choice that fits from below.  Its timeline shows whether a choice fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from msgspec import Struct, field

from tolcost.algebra import Poly, Symbol, evaluate
from tolcost.diagnostics import refuse, visible
from tolcost.training.joint import JointGraph
from tolcost.training.knapsack import ChoiceFront, ScopeChoice, ScopeSaving, front_of, least_work
from tolcost.training.memory import Following, KeptTensor, Recomputed
from tolcost.training.regions import scopes_to_choose

_MOST_TRIED = 48
"""Choices of which the timeline is followed, at first; as many again to come closer."""


class MemoryLimit(Struct, frozen=True):
    """The memory that a step may take, at lengths; ``inputs`` are the bytes of the inputs of the model."""

    bytes: int
    values: Mapping[Symbol, int]
    inputs: Poly | None


class ChosenScopes(Struct, frozen=True, eq=False):
    """Scopes that are computed again: their work in EOPs, and the least that any choice that fits has."""

    regions: tuple[Recomputed, ...]
    memory: int
    work: int
    least: int


def chosen_scopes(
    joint: JointGraph,
    following: Callable[[Sequence[Recomputed]], Following],
    throughout: Poly,
    limit: MemoryLimit,
) -> ChosenScopes:
    """Choose the scopes to compute again with which a step fits at least work."""
    return _Choosing(joint, following, throughout, limit).choose()


class _Choosing(Struct, eq=False):
    joint: JointGraph
    following: Callable[[Sequence[Recomputed]], Following]
    throughout: Poly
    limit: MemoryLimit
    regions: tuple[Recomputed, ...] = ()
    numbers: dict[Poly, int] = field(default_factory=dict)
    works: dict[int, int] = field(default_factory=dict)
    least_peak: int | None = None

    def choose(self) -> ChosenScopes:
        """Choose among layers, and scopes inside of them."""
        if self.limit.inputs is None:
            refuse("T0913", "the sizes of the inputs of the model are not known")
        held = self.number(self.throughout) + self.number(self.limit.inputs)
        plain = self.following(())
        kept = plain.run().kept
        if plain.line.unsized:
            refuse("T0913", "the sizes of some tensors are not known, and so not what a step takes")
        peak, moment = plain.line.peak_at(self.number, held)
        if peak <= self.limit.bytes:
            return ChosenScopes((), self.limit.bytes, 0, 0)
        self.regions = scopes_to_choose(self.joint)
        items = self.items(kept, plain, moment)
        front = front_of(items)
        needed = peak - self.limit.bytes
        enough = [one for one in front.options if one.saved >= needed]
        found = self.first_that_fits(enough, held)
        if found is None:
            self.refuse(held, peak)
        least = self.least(front, items, needed, found)
        return ChosenScopes(self.taken(found), self.limit.bytes, found.work, least)

    def least(self, front: ChoiceFront, items: Sequence[ScopeSaving], needed: int, found: ScopeChoice) -> int:
        """Return the least work of any choice that fits."""
        if front.whole:
            return next(one.work for one in front.options if one.saved >= needed)
        bound = least_work(items, needed)
        return found.work if bound is None else min(bound, found.work)

    def refuse(self, held: int, peak: int) -> NoReturn:
        """Say that no choice was found."""
        memory = f"{self.limit.bytes:,} bytes"
        if held > self.limit.bytes:
            said = (
                f"parameters, what the optimiser holds and inputs alone take {held:,} bytes, and not {memory}"
            )
            refuse("T0913", said)
        if not self.regions:
            refuse("T0913", f"a step takes {peak:,} bytes, and there are no scopes to compute again")
        least = min(peak, peak if self.least_peak is None else self.least_peak)
        hint = f"the least found is {least:,} bytes"
        refuse("T0913", f"no choice of scopes was found with which a step fits in {memory}", hint=hint)

    # ---- scopes as items of a knapsack ---------------------------------------------------------

    def items(self, kept: Sequence[KeptTensor], plain: Following, moment: int) -> list[ScopeSaving]:
        """Return scopes with what each saves at a moment, at most, and the work of its nodes."""
        probe = self.following(self.regions)
        probe.run()
        start = {passed.step.place: n for n, passed in reversed([*enumerate(self.joint.order)])}
        ahead = len(self.joint.steps) + 1  # moments of forward, and the start of backward
        ends, flat = plain.line.ends(), []
        for n, region in enumerate(self.regions):
            places = [start[place] for place in region.places if place in start]
            if not places or ahead + min(places) <= moment:
                continue
            inside = [
                one
                for one in kept
                if one.maker.place in region.places
                and all(reader.place in region.places for reader in one.readers)
                and one.maker.place <= moment <= ends[f"f:{one.name}"]
            ]
            saved = sum(self.number(one.bytes) for one in inside if one.bytes is not None)
            if saved <= 0:
                continue
            work = sum(self.work_at(step.place) for step in probe.needed_again(n)[0])
            flat.append(ScopeSaving(n, saved, work))
        return self.nested(flat)

    def work_at(self, place: int) -> int:
        """Return the EOPs of a node."""
        if place not in self.works:
            parts = self.joint.cost.nodes[place].parts
            self.works[place] = sum(self.number(part.counts.eops) * times for part, times in parts)
        return self.works[place]

    def nested(self, flat: Iterable[ScopeSaving]) -> list[ScopeSaving]:
        """Put items inside of those whose nodes have theirs among them."""
        order = sorted(flat, key=lambda item: len(self.regions[item.key].places))
        open_items: list[ScopeSaving] = []
        for item in order:
            places = self.regions[item.key].places
            inside = tuple([one for one in open_items if self.regions[one.key].places <= places])
            keys = {one.key for one in inside}
            made = ScopeSaving(
                item.key, item.saved, item.work, tuple(sorted(inside, key=lambda one: one.key))
            )
            open_items = [*(one for one in open_items if one.key not in keys), made]
        return sorted(open_items, key=lambda one: min(self.regions[one.key].places))

    # ---- choices on their own timelines --------------------------------------------------------

    def first_that_fits(self, options: Sequence[ScopeChoice], held: int) -> ScopeChoice | None:
        """Return the option of least work that fits, of those that are tried."""
        if not options:
            return None
        last = len(options) - 1
        tries = min(last, _MOST_TRIED)
        places = dict.fromkeys(round(n * last / tries) for n in range(tries + 1)) if tries else {0: None}
        before = -1
        for place in places:
            if self.fits(options[place], held):
                break
            before = place
        else:
            return None
        while place - before > 1:  # of what lies between, by halves
            middle = (before + place) // 2
            if self.fits(options[middle], held):
                place = middle
            else:
                before = middle
        return options[place]

    def fits(self, option: ScopeChoice, held: int) -> bool:
        """Whether a step fits with the scopes of an option."""
        followed = self.following(self.taken(option))
        followed.run()
        peak, _ = followed.line.peak_at(self.number, held)
        self.least_peak = peak if self.least_peak is None else min(peak, self.least_peak)
        return peak <= self.limit.bytes

    def taken(self, option: ScopeChoice) -> tuple[Recomputed, ...]:
        """Return the scopes of an option."""
        return tuple([self.regions[key] for key in option.keys])

    def number(self, form: Poly) -> int:
        """Return a form at the lengths of the limit."""
        if form not in self.numbers:
            open_ = [symbol.name for symbol in form.free if symbol not in self.limit.values]
            if open_:
                names = ", ".join(visible(name) for name in sorted(open_))
                refuse("T0910", f"what fits depends on {names}", hint=f"--dim {sorted(open_)[0]}=N gives it")
            self.numbers[form] = evaluate(form, self.limit.values)
        return self.numbers[form]
