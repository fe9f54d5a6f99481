"""From equations back to atoms: a Build for each array, and a Fold for each loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct, field

from tolcost.algebra import ONE, TRUE, Cond, Poly, Symbol, atom, coordinate, ge, substitute, the_symbol
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import numeric_type, parts_first
from tolcost.atoms.nodes import Block, Node, Part, Var
from tolcost.diagnostics import refuse
from tolcost.gradient.emit_arrays import Bound, Emitting, substituted
from tolcost.gradient.equations import (
    Equation,
    ReadAt,
    Scattered,
    all_of,
    reads,
    restated,
    settled,
    unproved,
)
from tolcost.gradient.inversion import largest


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
    work = Emitting(granted)
    all_reads = [(read, array) for group in groups for array in group for read in reads(array)]
    for group in groups:
        if len(group) > 1 or any(read.array is group[0] for read in reads(group[0])):
            inside = set(group)
            found = [(read, reader) for read, reader in all_reads if read.array in inside]
            kept = inside.intersection(outputs)
            _LoopEmitting(work, list(group), found, kept).emit()
        else:
            work.array(group[0])
    return Emitted(tuple(work.bindings), work.nodes)


class _LoopEmitting(Struct, eq=False):
    """Makes one Fold of the arrays of a loop, which carries those that are read later or outside.

    At step ``p`` every array is computed at one value of its own step, ``place``, which differs by a number.
    """

    work: Emitting
    group: list[Equation]
    reads: list[tuple[ReadAt, Equation]]
    """The reads of the group's arrays, each with the array whose definition contains it."""
    kept: set[Equation]
    lag: dict[Equation, int] = field(default_factory=dict)

    def emit(self) -> None:
        """Bind the Fold, and note where its arrays are."""
        work, group = self.work, self.group
        states = [array for array in group if array.is_state]
        if not states or any(array.loop is not states[0].loop for array in group):
            refuse("T0900", "loops that need one another have no derivative yet", group[0].span)
        first = states[0]
        steps = _extent(first)
        step = coordinate("p", steps)
        sign = -1 if first.loop is not None and first.loop.is_backward else 1
        self.set_lags(states, sign)
        place = {a: step - self.lag[a] if sign > 0 else steps + 1 - step + self.lag[a] for a in group}
        order = self.ordered(place)
        carried = [a for a in order if not self.is_local(a, place)]
        boxes = {array: _box(array) for array in order}
        types = tuple([Part((_extent(a), *boxes[a].values()), a.space) for a in carried])
        accumulator = Var("a", types)
        inner: Bound = []
        results: list[Node] = []
        before = dict(work.nodes)
        for k, array in enumerate(carried):
            whole: Node = ir.Ref(accumulator, types)
            work.nodes[array] = whole if len(carried) == 1 else ir.Component(whole, k + 1, (types[k],))
            work.times[array] = array.time
        for array in order:
            work.now[array] = (place[array], self.slice(array, place[array], boxes[array], inner))
        for k, array in enumerate(carried):
            there = place[array]
            old = work.nodes[array]
            put: Node = ir.Put(old, (there,), work.now[array][1], (types[k],), array.span)
            guards = unproved([ge(there - 1), ge(_extent(array) - there)])
            if guards:
                same = Block((), old)
                put = ir.Select(all_of(guards), Block((), put), same, (types[k],), array.span)
            results.append(put)
        start = [_zeros(part) for part in types]
        body = Block(tuple(inner), packed(results))
        fold = ir.Fold((the_symbol(step),), (steps,), accumulator, packed(start), body, types, first.span)
        work.nodes = before
        for array in order:
            del work.now[array]
        filled = work.bound(first.name, fold)
        for k, array in enumerate(carried):
            work.nodes[array] = filled if len(carried) == 1 else ir.Component(filled, k + 1, (types[k],))

    def set_lags(self, states: Sequence[Equation], sign: int) -> None:
        """Let every array be computed in the step in which it is read first."""
        self.lag = dict.fromkeys(states, 0)
        pending = list(states)
        while pending:
            reader = pending.pop()
            for read in reads(reader):
                array = read.array
                if array in self.group and array not in self.lag:
                    away = _difference(read, reader)
                    self.lag[array] = self.lag[reader] - sign * away
                    pending.append(array)
        self.lag.update((array, 0) for array in self.group if array not in self.lag)

    def ordered(self, place: Mapping[Equation, Poly]) -> list[Equation]:
        """Return the arrays in an order of evaluation within one step."""

        def now(array: Equation) -> Iterator[Equation]:
            read_here = (read for read in reads(array) if read.array in place)
            return (read.array for read in read_here if self.is_now(read, array, place))

        return list(parts_first(self.group, now))

    def is_now(self, read: ReadAt, reader: Equation, place: Mapping[Equation, Poly]) -> bool:
        """Whether what is read is computed in the same step."""
        own = atom(reader.domain.coords[reader.time])
        here = place[reader] - own + cast(Poly, read.at[read.array.time])
        return here == place[read.array]

    def is_local(self, array: Equation, place: Mapping[Equation, Poly]) -> bool:
        """Whether an array is read in the step in which it is computed, and nowhere else."""
        return array not in self.kept and all(
            reader in place and self.is_now(read, reader, place)
            for read, reader in self.reads
            if read.array is array
        )

    def slice(self, array: Equation, place: Poly, box: Mapping[Symbol, Poly], inner: Bound) -> Node:
        """Bind the members of an array at one step."""
        work = self.work
        domain = array.domain
        values: dict[Symbol, Poly] = {domain.coords[array.time]: place}
        coords = []
        for symbol, size in box.items():
            made = coordinate(symbol.name, size)
            values[symbol] = made
            coords.append(the_symbol(made))
        ranges = zip(domain.coords, domain.extents, strict=True)
        # a condition is made of what stands here: the bounds of the symbol itself would decide it
        ends = [ge(substitute(extent, values) - values[symbol]) for symbol, extent in ranges]
        guards = [ge(place - 1), *ends, *(substituted(guard, values) for guard in domain.guards)]
        condition = all_of(unproved(guards))
        assert array.value is not None
        assert not isinstance(array.value, Scattered)
        kind = numeric_type(array.space)
        value = settled(restated(array.value, values), tuple(guards))
        own: Bound = []
        if condition is TRUE:
            body = work.node(value, own)
        else:
            zero = Block((), work.kept(ir.Number(ONE * 0, kind), array.space))
            body = ir.Select(condition, work.block(value), zero, kind, array.span)
        body = work.kept(body, array.space)
        node: Node = body
        if coords:
            extents = tuple(box.values())
            type_ = (Part(extents, array.space),)
            node = ir.Build(tuple(coords), extents, Block(tuple(own), body), type_, array.span)
        else:
            inner += own
        var = Var(array.name, node.type)
        inner.append((var, node))
        return ir.Ref(var, node.type)


def _extent(array: Equation) -> Poly:
    """Return the most steps of an array: how many there are may depend on coordinates around the loop."""
    domain, time = array.domain, array.time
    around: dict[Symbol, Poly] = {}
    for symbol, extent in zip(domain.coords[:time], domain.extents[:time], strict=True):
        around[symbol] = largest(extent, around)
    return largest(domain.extents[time], around)


def _box(array: Equation) -> dict[Symbol, Poly]:
    """Return the largest extents of the coordinates of an array, except for the step."""
    sizes: dict[Symbol, Poly] = {}
    for symbol, extent in zip(array.domain.coords, array.domain.extents, strict=True):
        sizes[symbol] = largest(extent, sizes)
    del sizes[array.domain.coords[array.time]]
    return sizes


def _difference(read: ReadAt, reader: Equation) -> int:
    """Return by how many steps a read is after its reader."""
    index = read.at[read.array.time]
    own = atom(reader.domain.coords[reader.time])
    away = (index - own).constant if isinstance(index, Poly) else None
    if away is None:
        refuse("T0900", "a loop that reads any step of itself has no derivative yet", read.span)
    return away


def _zeros(part: Part) -> Node:
    coords = tuple([the_symbol(coordinate("i", extent)) for extent in part.shape])
    zero = ir.Number(ONE * 0, numeric_type(part.space))
    return ir.Build(coords, part.shape, Block((), zero), (part,))


def packed(nodes: Sequence[Node]) -> Node:
    """Return one value of several."""
    if len(nodes) == 1:
        return nodes[0]
    return ir.Pack(tuple(nodes), tuple([part for node in nodes for part in node.type]))
