"""From equations back to atoms: a Build for each array, and a Fold for each loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from tolcost.algebra import TRUE, Cond, Poly, atom, coordinate, ge, substitute, the_symbol
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import numeric_type
from tolcost.atoms.nodes import Block, Node, Part, Var
from tolcost.diagnostics import refuse
from tolcost.gradient.emit_arrays import Bound, Emitting, LaidOut, largest_extents, substituted, zeros
from tolcost.gradient.equations import (
    Equation,
    Loop,
    ReadAt,
    Scattered,
    Values,
    all_of,
    reads,
    restated,
    settled,
    unproved,
    zero_of,
)
from tolcost.gradient.fusion import ReadsOf
from tolcost.gradient.fusion import groups as evaluation_groups

UNKNOWN = "T0900"


class Emitted(Struct, frozen=True, eq=False):
    """Bound of arrays, and the nodes that read whole arrays."""

    bindings: tuple[tuple[Var, Node], ...]
    nodes: Mapping[Equation, Node]


def emit(
    groups: Sequence[Sequence[Equation]], outputs: Iterable[Equation], granted: tuple[Cond, ...] = ()
) -> Emitted:
    """Make atoms of arrays, which come in an order of evaluation; those of a loop come together.

    The conditions that the program relies on are ``granted``.
    """
    work, kept = Emitting(granted), set(outputs)
    all_reads = [(read, array) for group in groups for array in group for read in reads(array)]
    for group in groups:
        if not _is_loop(group, reads):
            work.array(group[0])
            continue
        inside = set(group)
        read_elsewhere = {read.array for read, reader in all_reads if reader not in inside}
        own = [(read, reader) for read, reader in all_reads if reader in inside and read.array in inside]
        loop = _planned(work, list(group), own, inside & (read_elsewhere | kept), {})
        loop.emit(work.bindings)
        work.nodes.update((array, work.stored[array][-1].node) for array in inside & kept)
    return Emitted(tuple(work.bindings), work.nodes)


def _is_loop(group: Sequence[Equation], reads_of: ReadsOf) -> bool:
    """Whether arrays that come together read one another."""
    return len(group) > 1 or any(read.array is group[0] for read in reads_of(group[0]))


_Reads = list[tuple[ReadAt, Equation]]
_Fixed = Mapping[Equation, Mapping[int, Poly]]


class _LoopEmitting(Struct, eq=False):
    """Makes one Fold of the arrays of a loop, which carries those that are read later or outside.

    At step ``p`` every array is computed at one value of its own step, its place, which differs by a number.
    A loop inside is one more Fold in the step, of its arrays at these places.
    """

    work: Emitting
    loop: Loop
    group: list[Equation]
    reads: _Reads
    """The reads of the group's arrays in it, each with the array whose definition contains it."""
    kept: set[Equation]
    """The arrays that are read elsewhere."""
    fixed: _Fixed
    """The places of arrays in the steps of loops around."""
    steps: Poly
    step: Poly
    place: dict[Equation, Poly]
    order: list[Equation | _LoopEmitting] = field(default_factory=list)
    """What a step computes, in this order."""
    inside: dict[Equation, _LoopEmitting] = field(default_factory=dict)
    """The loops inside of this one, by array."""

    def plan(self) -> None:
        """Find out what a step computes, and in which order."""
        now: dict[Equation, list[ReadAt]] = {}
        for read, reader in self.reads:
            if self.is_now(read, reader):
                now.setdefault(reader, []).append(read)

        def reads_now(array: Equation) -> list[ReadAt]:
            return now.get(array, [])

        for unit in evaluation_groups(self.group, reads_now):
            if not _is_loop(unit, reads_now):
                self.order.append(unit[0])
                continue
            there = set(unit)
            own = [(read, array) for array in unit for read in reads_now(array) if read.array in there]
            known = {id(read) for read, _ in own}
            kept = {read.array for read, _ in self.reads if id(read) not in known}
            fixed = {array: self.places(array) for array in unit}
            found = _planned(self.work, unit, own, there & (kept | self.kept), fixed)
            self.order.append(found)
            self.inside.update(dict.fromkeys(unit, found))

    def emit(self, bindings: Bound) -> None:
        """Bind the Fold, and note where its arrays are."""
        work, inner = self.work, Bound()
        computed = [a for one in self.order for a in (one.group if isinstance(one, _LoopEmitting) else [one])]
        carried = [array for array in computed if not self.is_local(array)]
        types = tuple(map(self.part, carried))
        accumulator = Var("a", types)
        whole: Node = ir.Ref(accumulator, types)
        marks = {array: len(work.stored.setdefault(array, [])) for array in computed}
        before = _components(whole, len(carried))
        for array, node in zip(carried, before, strict=True):
            self.store(array, node)
        for one in self.order:
            if isinstance(one, _LoopEmitting):
                one.emit(inner)
            else:
                self.bind_slice(one, inner)
        results = []
        for array, old in zip(carried, before, strict=True):
            there, now = self.place[array], work.stored[array][-1].node
            put: Node = ir.Put(old, (there,), now, old.type, array.span)
            guards = unproved([ge(there - 1), ge(self.extent(array) - there)])
            if guards:
                put = ir.Select(all_of(guards), Block((), put), Block((), old), old.type, array.span)
            results.append(put)
        for array, mark in marks.items():
            del work.stored[array][mark:]
        body = Block(tuple(inner), packed(results))
        start = packed([zeros((part,)) for part in types])
        span, coords = self.group[0].span, (the_symbol(self.step),)
        fold = ir.Fold(coords, (self.steps,), accumulator, start, body, types, span)
        var = Var(self.name, types)
        bindings.append((var, fold))
        for array, node in zip(carried, _components(ir.Ref(var, types), len(carried)), strict=True):
            self.store(array, node)

    @property
    def name(self) -> str:
        """The name of what the loop carries."""
        return next(array.name for array in self.group if array.is_state and array.loop is self.loop)

    def store(self, array: Equation, node: Node) -> None:
        """Note a node that has an array at all steps."""
        self.work.stored.setdefault(array, []).append(LaidOut(node, self.layout(array), self.outer(array)))

    def outer(self, array: Equation) -> Mapping[int, Poly]:
        """Return the places of an array in the steps of loops around."""
        return self.fixed.get(array, {})

    def places(self, array: Equation) -> Mapping[int, Poly]:
        """Return the places of an array in the steps of this loop and those around."""
        return {**self.outer(array), self.loop.time: self.place[array]}

    def layout(self, array: Equation) -> tuple[int, ...]:
        """Return which coordinates the dimensions of an array are: that of the step comes first."""
        loop = self.inside.get(array)
        return (self.loop.time, *(self.rest(array) if loop is None else loop.layout(array)))

    def rest(self, array: Equation) -> tuple[int, ...]:
        """Return the coordinates of an array that no loop fixes."""
        fixed = self.places(array)
        return tuple([k for k in range(len(array.domain.coords)) if k not in fixed])

    def part(self, array: Equation) -> Part:
        """Return the type of an array that is carried."""
        sizes = largest_extents(array.domain)
        return Part(tuple([sizes[k] for k in self.layout(array)]), array.space)

    def extent(self, array: Equation) -> Poly:
        """Return the most steps of an array: how many there are may depend on coordinates around the loop."""
        return largest_extents(array.domain)[self.loop.time]

    def is_now(self, read: ReadAt, reader: Equation) -> bool:
        """Whether what is read is computed in the same step."""
        own = atom(reader.domain.coords[self.loop.time])
        here = self.place[reader] - own + cast(Poly, read.at[self.loop.time])
        return here == self.place[read.array]

    def is_local(self, array: Equation) -> bool:
        """Whether an array is read in the step in which it is computed, and nowhere else."""
        return array not in self.kept and all(
            self.is_now(read, reader) for read, reader in self.reads if read.array is array
        )

    def bind_slice(self, array: Equation, inner: Bound) -> None:
        """Bind the members of an array at one step."""
        places, coords = self.places(array), array.domain.coords
        values = {coords[k]: place for k, place in places.items()}
        if isinstance(array.value, Scattered):
            node = self.work.scattered(array, values, inner)
        else:
            node = self.slice(array, values, inner)
        var = Var(array.name, node.type)
        inner.append((var, node))
        self.work.stored.setdefault(array, []).append(
            LaidOut(ir.Ref(var, node.type), self.rest(array), places)
        )

    def slice(self, array: Equation, fixed: Values, inner: Bound) -> Node:
        """Return the members of an array at fixed places of some coordinates."""
        work, domain, values = self.work, array.domain, dict(fixed)
        coords, extents = [], []
        for symbol, size in zip(domain.coords, largest_extents(domain), strict=True):
            if symbol not in fixed:
                values[symbol] = made = coordinate(symbol.name, size)
                coords.append(the_symbol(made))
                extents.append(size)
        ranges = zip(domain.coords, domain.extents, strict=True)
        # a condition is made of what stands here: the bounds of the symbol itself would decide it
        ends = [ge(substitute(extent, values) - values[symbol]) for symbol, extent in ranges]
        starts = [ge(place - 1) for place in fixed.values()]
        guards = [*starts, *ends, *(substituted(guard, values) for guard in domain.guards)]
        condition = all_of(unproved(guards))
        assert array.value is not None
        assert not isinstance(array.value, Scattered)
        kind = numeric_type(array.space)
        value = settled(restated(array.value, values), tuple(guards))
        own = Bound() if coords else inner
        if condition is TRUE:
            body = work.node(value, own)
        else:
            zero = Block((), work.node(zero_of(array.space), own))
            body = ir.Select(condition, work.block(value), zero, kind, array.span)
        body = work.kept(body, array.space)
        if not coords:
            return body
        type_ = (Part(tuple(extents), array.space),)
        return ir.Build(tuple(coords), tuple(extents), Block(tuple(own), body), type_, array.span)


def _planned(
    work: Emitting, group: list[Equation], inside: _Reads, kept: set[Equation], fixed: _Fixed
) -> _LoopEmitting:
    """Return how a loop is emitted: the outermost one that carries a state here."""
    loops = [array.loop for array in group if array.is_state and array.loop is not None]
    loop = min(loops, key=lambda one: len(one.around), default=None)
    if loop is None or any(loop not in array.loops for array in group):
        refuse(UNKNOWN, "loops that need one another have no derivative yet", group[0].span)
    states = [array for array in group if array.is_state and array.loop is loop]
    steps = largest_extents(states[0].domain)[loop.time]
    step = coordinate("p", steps)
    lags = _lags(loop, group, states, inside)
    place = {a: steps + 1 - step + lags[a] if loop.is_backward else step - lags[a] for a in group}
    made = _LoopEmitting(work, loop, group, inside, kept, fixed, steps, step, place)
    made.plan()
    return made


def _lags(
    loop: Loop, group: Iterable[Equation], states: Iterable[Equation], inside: _Reads
) -> dict[Equation, int]:
    """Return by how many steps arrays are behind, so that each is computed when it is read first."""
    lags = dict.fromkeys(states, 0)
    sign = -1 if loop.is_backward else 1
    by_reader: dict[Equation, list[ReadAt]] = {}
    for read, reader in inside:
        by_reader.setdefault(reader, []).append(read)
    pending = list(lags)
    while pending:
        reader = pending.pop()
        for read in by_reader.get(reader, ()):
            lag = lags[reader] - sign * _difference(read, reader, loop)
            before = lags.get(read.array)
            if before is None or (lag < before and not (read.array.is_state and read.array.loop is loop)):
                lags[read.array] = lag
                pending.append(read.array)
            elif lag < before or lag < -_MOST_BEHIND:
                message = "a loop that reads what it has not computed has no derivative yet"
                refuse(UNKNOWN, message, read.span)
    return {array: lags.get(array, 0) for array in group}


_MOST_BEHIND = 1000
"""More steps than a program reads ahead; without a limit, arrays that need one another would go on."""


def _difference(read: ReadAt, reader: Equation, loop: Loop) -> int:
    """Return by how many steps a read is after its reader."""
    index = read.at[loop.time]
    own = atom(reader.domain.coords[loop.time])
    away = (index - own).constant if isinstance(index, Poly) else None
    if away is None:
        refuse(UNKNOWN, "a loop that reads any step of itself has no derivative yet", read.span)
    return away


def _components(node: Node, count: int) -> list[Node]:
    """Return the components of a list of so many."""
    if count == 1:
        return [node]
    return [ir.Component(node, k + 1, (node.type[k],)) for k in range(count)]


def packed(nodes: Sequence[Node]) -> Node:
    """Return one value of several."""
    if len(nodes) == 1:
        return nodes[0]
    return ir.Pack(tuple(nodes), tuple([part for node in nodes for part in node.type]))
