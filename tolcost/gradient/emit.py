"""From equations back to atoms: each array becomes a Build of its own.

A domain that is ragged is laid out over the largest extents, and a choice by coordinates leaves out what lies
outside, so that nothing is computed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from typing import cast

from msgspec import Struct, field

from tolcost.algebra import ONE, TRUE, Cond, Poly, Symbol, atom, coordinate, ge, substitute, the_symbol
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import numeric_type
from tolcost.atoms.nodes import Block, Node, Part, Type, Var
from tolcost.diagnostics import InternalError, refuse
from tolcost.gradient.equations import (
    Apply,
    Array,
    Cast,
    Choice,
    Domain,
    Expr,
    Let,
    Local,
    Named,
    Read,
    Reduction,
    Scatter,
    Static,
    Values,
    all_of,
    reads,
    restated,
    restated_index,
    settled,
    unproved,
)
from tolcost.gradient.inversion import largest

Bindings = list[tuple[Var, Node]]


class Emitted(Struct, frozen=True, eq=False):
    """Bindings of arrays, and the nodes that read whole arrays."""

    bindings: tuple[tuple[Var, Node], ...]
    nodes: Mapping[Array, Node]


def emit(groups: Sequence[Sequence[Array]], outputs: Iterable[Array]) -> Emitted:
    """Make atoms of arrays, which come in an order of evaluation; those of a loop come together."""
    work = _Emitting()
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


class _Emitting(Struct, eq=False):
    bindings: Bindings = field(default_factory=list)
    nodes: dict[Array, Node] = field(default_factory=dict)
    tables: dict[Node, Node] = field(default_factory=dict)
    locals: dict[Local, Node] = field(default_factory=dict)
    times: dict[Array, int] = field(default_factory=dict)
    """For an array that a loop has filled, its coordinate for the step, which comes first there."""
    now: dict[Array, tuple[Poly, Node]] = field(default_factory=dict)
    """Inside of a loop, the arrays computed in this step: at which step, and their members at it."""

    def array(self, array: Array) -> None:
        """Bind the node of an array."""
        if array.given is not None:
            self.nodes[array] = self.given(array, array.given)
            return
        if isinstance(array.value, Scatter):
            node = self.scatter(array, array.value)
        else:
            node = self.laid_out(array)
        self.nodes[array] = self.bound(array.name, node)

    def bound(self, name: str, node: Node) -> Node:
        """Bind a node to a name, and return the reference."""
        var = Var(name, node.type)
        self.bindings.append((var, node))
        return ir.Ref(var, node.type)

    def given(self, array: Array, node: Node) -> Node:
        """Return the node of what is given: an input or a table, or a component of one."""
        if isinstance(node, ir.Table):
            found = self.tables.get(node)
            if found is None:
                found = self.tables[node] = self.bound(array.name, node)
            node = found
        if array.component is None:
            return node
        part = node.type[array.component - 1]
        return ir.Component(node, array.component, (part,))

    def laid_out(self, array: Array) -> Node:
        """Return a Build of an array, or the number of one without coordinates."""
        domain, values = rectangular(array.domain)
        assert array.value is not None and not isinstance(array.value, Scatter)
        inner: Bindings = []
        value = settled(restated(array.value, values), domain.guards)
        kind = numeric_type(array.space)
        if not domain.coords:
            body = self.node(value, self.bindings)
            return self.kept(body, array.space)
        condition = all_of(domain.guards)
        if condition is TRUE:
            body = self.node(value, inner)
        else:
            zero = Block((), self.kept(ir.Number(ONE * 0, kind), array.space))
            body = ir.Select(condition, self.block(value), zero, kind, array.span)
        kept = self.kept(body, array.space)
        type_ = (Part(domain.extents, array.space),)
        return ir.Build(domain.coords, domain.extents, Block(tuple(inner), kept), type_, array.span)

    def kept(self, node: Node, space: str) -> Node:
        """Return a number in a space."""
        if node.type[0].space == space:
            return node
        if isinstance(node, ir.Number):
            return ir.Number(node.value, numeric_type(space), node.span)
        return ir.Convert(node, numeric_type(space))

    def scatter(self, array: Array, value: Scatter) -> Node:
        """Return a Fold that adds numbers to members of an array, one after the other."""
        type_ = (Part(array.domain.extents, array.space),)
        kind = numeric_type(array.space)
        if value.start is None:
            zeros, _ = array.domain.fresh()
            body = Block((), ir.Number(ONE * 0, kind))
            start: Node = ir.Build(zeros.coords, zeros.extents, body, type_)
        else:
            start = self.nodes[value.start.array]
        domain, values = value.domain.fresh()
        accumulator = Var("t", type_)
        inner: Bindings = []
        at: list[Poly | Node] = []
        for index in value.at:
            moved = restated_index(index, values)
            if isinstance(moved, Poly):
                at.append(moved)
                continue
            node = self.node(moved, inner)
            var = Var("at", node.type)
            inner.append((var, node))
            at.append(ir.Ref(var, node.type))
        carried = ir.Ref(accumulator, type_)
        old = ir.Member(carried, tuple(at), kind, value.span)
        term = self.node(restated(value.body, values), inner)
        summed = ir.Lambda("add", (old, term), value.within, kind, "data", value.span)
        put: Node = ir.Put(carried, tuple(at), self.kept(summed, array.space), type_, value.span)
        block = Block(tuple(inner), put)
        condition = all_of(unproved(domain.guards))
        if condition is not TRUE:
            unchanged = Block((), ir.Ref(accumulator, type_))
            block = Block((), ir.Select(condition, block, unchanged, type_, value.span))
        return ir.Fold(domain.coords, domain.extents, accumulator, start, block, type_, value.span)

    # ---- expressions ---------------------------------------------------------------------------

    def block(self, expr: Expr) -> Block:
        """Return a block that computes an expression."""
        bindings: Bindings = []
        result = self.node(expr, bindings)
        return Block(tuple(bindings), result)

    def node(self, expr: Expr, bindings: Bindings) -> Node:
        """Return the node of an expression; names that it needs are bound before."""
        kind = numeric_type(expr.space)
        match expr:
            case Static():
                return ir.Number(expr.value, kind, expr.span)
            case Read():
                return self.member(expr, bindings, kind)
            case Apply(function="where"):
                sides = [self.node(arg, bindings) for arg in expr.args]
                return ir.Where(*sides, expr.within, kind, expr.charge, expr.span)
            case Apply():
                args = tuple([self.node(arg, bindings) for arg in expr.args])
                return ir.Lambda(expr.function, args, expr.within, kind, expr.charge, expr.span)
            case Choice():
                then, other = self.block(expr.then), self.block(expr.other)
                return ir.Select(expr.condition, then, other, kind)
            case Cast():
                value = self.node(expr.value, bindings)
                return ir.Convert(value, kind, expr.bits, expr.within, expr.span)
            case Reduction():
                return self.reduction(expr, self.node(expr.start, bindings), kind)
            case Let():
                value = self.node(expr.value, bindings)
                var = Var(expr.local.name, value.type)
                bindings.append((var, value))
                self.locals[expr.local] = ir.Ref(var, value.type)
                return self.node(expr.body, bindings)
            case Named():
                return self.locals[expr.local]
        raise InternalError(f"an expression of an unknown kind: {expr}")

    def member(self, expr: Read, bindings: Bindings, kind: Type) -> Node:
        """Return the number that an expression reads."""
        array, at = expr.array, expr.at
        current = self.now.get(array)
        if current is not None and at[array.time] == current[0]:
            tol, at = current[1], (*at[: array.time], *at[array.time + 1 :])
        else:
            tol = self.nodes[array]
            if array in self.times:
                at = (at[array.time], *at[: array.time], *at[array.time + 1 :])
        if not at:
            return tol
        indices = tuple([i if isinstance(i, Poly) else self.node(i, bindings) for i in at])
        return ir.Member(tol, indices, kind, expr.span)

    def reduction(self, expr: Reduction, start: Node, kind: Type) -> Node:
        """Return a Fold; where the guards do not hold, the accumulator stays as it is."""
        accumulator = Var("a", kind)
        carried = ir.Ref(accumulator, kind)
        inner: Bindings = []
        term = self.node(expr.body, inner)
        result = self.kept(
            ir.Lambda(expr.function, (carried, term), expr.within, kind, "data", expr.span), kind[0].space
        )
        block = Block(tuple(inner), result)
        condition = all_of(expr.domain.guards)
        if condition is not TRUE:
            unchanged = Block((), ir.Ref(accumulator, kind))
            block = Block((), ir.Select(condition, block, unchanged, kind, expr.span))
        first = self.kept(start, kind[0].space)
        return ir.Fold(
            expr.domain.coords, expr.domain.extents, accumulator, first, block, kind, expr.span
        )


def rectangular(domain: Domain) -> tuple[Domain, Values]:
    """Return the smallest box around a domain, with new coordinates, and guards for what is outside."""
    extents: list[Poly] = []
    coords: list[Symbol] = []
    values: dict[Symbol, Poly] = {}
    guards: list[Cond] = []
    sizes: dict[Symbol, Poly] = {}
    for symbol, extent in zip(domain.coords, domain.extents, strict=True):
        size = largest(extent, sizes)
        made = coordinate(symbol.name, size)
        if size is not extent:
            guards.append(ge(substitute(extent, values) - made))
        sizes[symbol] = size
        values[symbol] = made
        coords.append(the_symbol(made))
        extents.append(size)
    held = [*(_in(guard, values) for guard in domain.guards), *guards]
    return Domain(tuple(coords), tuple(extents), unproved(held)), values


def _in(condition: Cond, values: Values) -> Cond:
    from tolcost.algebra import substitute_cond

    return substitute_cond(condition, values)


class _LoopEmitting(Struct, eq=False):
    """Makes one Fold of the arrays of a loop, which carries those that are read later, as far as they are known.

    At step ``p`` every array is computed at one value of its own step, ``place``, which differs by a number.
    """

    work: _Emitting
    group: list[Array]
    reads: list[tuple[Read, Array]]
    """What reads the arrays of the group, and in the definition of which array."""
    kept: set[Array]
    lag: dict[Array, int] = field(default_factory=dict)

    def emit(self) -> None:
        """Bind the Fold, and note where its arrays are."""
        work, group = self.work, self.group
        states = [array for array in group if array.is_state]
        if not states or any(array.loop is not states[0].loop for array in group):
            refuse("T0900", "loops that need one another have no derivative yet", group[0].span)
        first = states[0]
        steps = first.domain.extents[first.time]
        step = coordinate("p", steps)
        sign = -1 if first.loop is not None and first.loop.is_backward else 1
        self.set_lags(states, sign)
        place = {a: step - self.lag[a] if sign > 0 else steps + 1 - step + self.lag[a] for a in group}
        order = self.ordered(place)
        carried = [a for a in order if not self.is_local(a, place)]
        boxes = {array: _box(array) for array in order}
        types = tuple([Part((_extent(a), *boxes[a].values()), a.space) for a in carried])
        accumulator = Var("a", types)
        inner: Bindings = []
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
        body = Block(tuple(inner), _packed(results))
        fold = ir.Fold((the_symbol(step),), (steps,), accumulator, _packed(start), body, types, first.span)
        work.nodes = before
        for array in order:
            del work.now[array]
        filled = work.bound(first.name, fold)
        for k, array in enumerate(carried):
            work.nodes[array] = filled if len(carried) == 1 else ir.Component(filled, k + 1, (types[k],))

    def set_lags(self, states: Sequence[Array], sign: int) -> None:
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

    def ordered(self, place: Mapping[Array, Poly]) -> list[Array]:
        """Return the arrays in an order of evaluation within one step."""
        order: dict[Array, None] = {}
        entered: set[Array] = set()

        def enter(array: Array) -> None:
            if array in entered:
                return
            entered.add(array)
            for read in reads(array):
                if read.array in place and self.is_now(read, array, place):
                    enter(read.array)
            order[array] = None

        for array in self.group:
            enter(array)
        return list(order)

    def is_now(self, read: Read, reader: Array, place: Mapping[Array, Poly]) -> bool:
        """Whether what is read is computed in the same step."""
        own = atom(reader.domain.coords[reader.time])
        here = place[reader] - own + cast(Poly, read.at[read.array.time])
        return here == place[read.array]

    def is_local(self, array: Array, place: Mapping[Array, Poly]) -> bool:
        """Whether an array is read in the step in which it is computed, and nowhere else."""
        return array not in self.kept and all(
            reader in place and self.is_now(read, reader, place)
            for read, reader in self.reads
            if read.array is array
        )

    def slice(self, array: Array, place: Poly, box: Mapping[Symbol, Poly], inner: Bindings) -> Node:
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
        guards = [ge(place - 1), *ends, *(_in(guard, values) for guard in domain.guards)]
        condition = all_of(unproved(guards))
        assert array.value is not None and not isinstance(array.value, Scatter)
        kind = numeric_type(array.space)
        value = settled(restated(array.value, values), tuple(guards))
        own: Bindings = []
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


def _extent(array: Array) -> Poly:
    return array.domain.extents[array.time]


def _box(array: Array) -> dict[Symbol, Poly]:
    """Return the largest extents of the coordinates of an array, except for the step."""
    sizes: dict[Symbol, Poly] = {}
    for symbol, extent in zip(array.domain.coords, array.domain.extents, strict=True):
        sizes[symbol] = largest(extent, sizes)
    del sizes[array.domain.coords[array.time]]
    return sizes


def _difference(read: Read, reader: Array) -> int:
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


def _packed(nodes: Sequence[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    return ir.Pack(tuple(nodes), tuple([part for node in nodes for part in node.type]))
