"""From an equation back to atoms: an array becomes a Build.

A domain that is ragged is laid out over the largest extents, and a choice by coordinates leaves out what lies
outside, so that nothing is computed there.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    TRUE,
    Cond,
    Poly,
    Symbol,
    coordinate,
    eq,
    ge,
    maximum,
    product_of,
    substitute,
    substitute_cond,
    the_symbol,
)
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import numeric_type
from tolcost.atoms.nodes import Block, Node, Part, Type, Var
from tolcost.diagnostics import InternalError
from tolcost.gradient.equations import (
    Apply,
    Choice,
    Equation,
    Expression,
    InSpace,
    LengthByData,
    Let,
    LetName,
    Local,
    Nest,
    ReadAt,
    Reduction,
    Scattered,
    Static,
    Values,
    all_of,
    holds,
    restated,
    restated_index,
    restated_scatter,
    settled,
    unproved,
    zero_of,
)
from tolcost.gradient.inversion import largest
from tolcost.gradient.places import linear

Bound = list[tuple[Var, Node]]


class LaidOut(Struct, frozen=True, eq=False):
    """A node that has an array, or the part of it at fixed places of some coordinates.

    ``order`` says which coordinates of the array its dimensions are.
    """

    node: Node
    order: tuple[int, ...]
    fixed: Mapping[int, Poly]


class Emitting(Struct, eq=False):
    """The bindings made so far, and the nodes that arrays are read from."""

    granted: tuple[Cond, ...] = ()
    bindings: Bound = field(default_factory=list)
    nodes: dict[Equation, Node] = field(default_factory=dict)
    tables: dict[Node, Node] = field(default_factory=dict)
    locals: dict[Local, Node] = field(default_factory=dict)
    stored: dict[Equation, list[LaidOut]] = field(default_factory=dict)
    """For an array of a loop, the nodes that have it, or a part of it: the last one that fits is read."""

    def array(self, array: Equation) -> None:
        """Bind the node of an array."""
        if array.given is not None:
            self.nodes[array] = self.given(array, array.given)
            return
        if array.measured is not None:
            self.nodes[array] = self.bound(array.name, self.measured(array, array.measured))
            return
        is_put = isinstance(array.value, Scattered)
        node = self.scattered(array, {}, self.bindings) if is_put else self.laid_out(array)
        self.nodes[array] = self.bound(array.name, node)

    def bound(self, name: str, node: Node) -> Node:
        """Bind a node to a name, and return the reference."""
        var = Var(name, node.type)
        self.bindings.append((var, node))
        return ir.Ref(var, node.type)

    def given(self, array: Equation, node: Node) -> Node:
        """Return the node of what is given: an input or another node, or a component of one."""
        if not isinstance(node, ir.Input):
            found = self.tables.get(node)
            if found is None:
                found = self.tables[node] = self.bound(array.name, node)
            node = found
        if array.component is None:
            return node
        part = node.type[array.component - 1]
        return ir.Component(node, array.component, (part,))

    def measured(self, array: Equation, how: LengthByData) -> Node:
        """Return the node that defines a length by data: a filter of the places, or the length itself."""
        of = self.nodes[how.of.array]
        if how.repeats is None:
            return ir.Length(of, how.length, of.type, array.span)
        place = coordinate("i", of.type[0].shape[0])
        kind = numeric_type(array.space)
        every = (Part(of.type[0].shape, array.space),)
        count = ir.Build((the_symbol(place),), of.type[0].shape, Block((), ir.Number(place, kind)), every)
        type_ = (Part(array.domain.extents, array.space),)
        return ir.Filter(self.bound("every", count), of, how.length, type_, array.span, how.repeats)

    def laid_out(self, array: Equation) -> Node:
        """Return a Build of an array, or the number of one without coordinates."""
        domain, values = rectangular(array.domain, self.granted)
        assert array.value is not None
        assert not isinstance(array.value, Scattered)
        inner: Bound = []
        value = settled(restated(array.value, values), (*self.granted, *domain.guards))
        kind = numeric_type(array.space)
        if not domain.coords:
            body = self.node(value, self.bindings)
            return self.kept(body, array.space)
        condition = all_of(domain.guards)
        if condition is TRUE:
            if isinstance(value, ReadAt) and self.is_in_order(value, domain):
                part = Part(domain.extents, value.space)
                return self.kept_whole(ir.Reshape(self.nodes[value.array], (part,)), array.space)
            body = self.node(value, inner)
        else:
            zero = Block((), self.node(zero_of(array.space), inner))
            body = ir.Select(condition, self.block(value), zero, kind, array.span)
        kept = self.kept(body, array.space)
        type_ = (Part(domain.extents, array.space),)
        return ir.Build(domain.coords, domain.extents, Block(tuple(inner), kept), type_, array.span)

    def is_in_order(self, read: ReadAt, domain: Nest) -> bool:
        """Whether an array has the elements of another one in row-major order, under another shape."""
        array = read.array
        if self.stored.get(array) or len(self.nodes[array].type) > 1:
            return False
        before = self.nodes[array].type[0].shape
        at = [index for index in read.at if isinstance(index, Poly)]
        if before == domain.extents or len(at) < len(read.at) or not at or not domain.coords:
            return False
        sizes = [
            maximum(extent, 1) for extent in before
        ]  # as it is divided by: of no element, nothing is read
        if linear(domain.at, domain.extents) not in (linear(at, before), linear(at, sizes)):
            return False
        return holds(eq(product_of(before) - product_of(domain.extents)), self.granted)

    def kept_whole(self, node: Node, space: str) -> Node:
        """Return an array in a space."""
        part = node.type[0]
        return node if part.space == space else ir.Convert(node, (Part(part.shape, space),))

    def kept(self, node: Node, space: str) -> Node:
        """Return a number in a space."""
        if node.type[0].space == space:
            return node
        if isinstance(node, ir.Number):
            return ir.Number(node.value, numeric_type(space), node.span)
        return ir.Convert(node, numeric_type(space))

    def scattered(self, array: Equation, fixed: Values, bindings: Bound) -> Node:
        """Return an array into which numbers are put, at fixed places of some of its coordinates."""
        value, values = array.value, dict(fixed)
        assert isinstance(value, Scattered)
        sizes, lead = largest_extents(array.domain), array.domain.first(value.around)
        coords: dict[Symbol, Poly] = {}
        for symbol, size in zip(lead.coords, sizes, strict=False):
            if symbol not in fixed:
                values[symbol] = made = coordinate(symbol.name, size)
                coords[the_symbol(made)] = size
        ranges = zip(lead.coords, lead.extents, strict=True)
        ends = [ge(substitute(extent, values) - values[symbol]) for symbol, extent in ranges]
        starts = [ge(place - 1) for place in fixed.values()]
        guards = [*starts, *ends, *(substituted(guard, values) for guard in lead.guards)]
        condition = all_of(unproved(guards, self.granted))
        type_ = (Part(sizes[value.around :], array.space),)
        own = Bound() if coords or condition is not TRUE else bindings
        node = self.put_all(restated_scatter(value, values), type_, own)
        if condition is not TRUE:
            node = ir.Select(condition, Block(tuple(own), node), Block((), zeros(type_)), type_, array.span)
            own = Bound()
        if not coords:
            return node
        extents = tuple(coords.values())
        whole = (Part((*extents, *type_[0].shape), array.space),)
        return ir.Build(tuple(coords), extents, Block(tuple(own), node), whole, array.span)

    def put_all(self, value: Scattered, type_: Type, bindings: Bound) -> Node:
        """Return a Fold that puts numbers into an array, one after the other."""
        kind = numeric_type(type_[0].space)
        start = self.started(value, type_, bindings)
        domain, values = value.domain.fresh()
        accumulator = Var("t", type_)
        inner: Bound = []
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
        carried: Node = ir.Ref(accumulator, type_) if domain.coords else start
        term = self.node(settled(restated(value.body, values), ()), inner)
        if value.adds:
            old = ir.Member(carried, tuple(at), kind, value.span)
            term = ir.Lambda("add", (old, term), value.within, kind, "data", value.span)
        put: Node = ir.Put(carried, tuple(at), self.kept(term, type_[0].space), type_, value.span)
        if not domain.coords:
            bindings += inner
            return put
        block = Block(tuple(inner), put)
        condition = all_of(unproved(domain.guards))
        if condition is not TRUE:
            unchanged = Block((), ir.Ref(accumulator, type_))
            block = Block((), ir.Select(condition, block, unchanged, type_, value.span))
        return ir.Fold(domain.coords, domain.extents, accumulator, start, block, type_, value.span)

    def started(self, value: Scattered, type_: Type, bindings: Bound) -> Node:
        """Return the array into which numbers are put first."""
        if value.start is None:
            return zeros(type_)
        array, lead = value.start.array, value.start.at[: -len(type_[0].shape)]
        if not lead and not self.stored.get(array) and array.domain.extents == type_[0].shape:
            return self.nodes[array]
        rest = [coordinate("i", extent) for extent in type_[0].shape]
        inner: Bound = []
        there = replace(value.start, at=(*lead, *rest))
        body = self.kept(self.member(there, inner, numeric_type(array.space)), type_[0].space)
        made = ir.Build(
            tuple(map(the_symbol, rest)), type_[0].shape, Block(tuple(inner), body), type_, value.span
        )
        var = Var("start", type_)
        bindings.append((var, made))
        return ir.Ref(var, type_)

    # ---- expressions ---------------------------------------------------------------------------

    def block(self, expr: Expression) -> Block:
        """Return a block that computes an expression."""
        bindings: Bound = []
        result = self.node(expr, bindings)
        return Block(tuple(bindings), result)

    def node(self, expr: Expression, bindings: Bound) -> Node:
        """Return the node of an expression; names that it needs are bound before."""
        kind = numeric_type(expr.space)
        match expr:
            case Static():
                return ir.Number(expr.value, kind, expr.span)
            case ReadAt():
                return self.member(expr, bindings, kind)
            case Apply(function="where"):
                condition, then, other = [self.node(arg, bindings) for arg in expr.args]
                return ir.Where(condition, then, other, expr.within, kind, expr.charge, expr.span)
            case Apply():
                args = tuple([self.node(arg, bindings) for arg in expr.args])
                return ir.Lambda(expr.function, args, expr.within, kind, expr.charge, expr.span)
            case Choice(condition=condition):
                stated = condition if isinstance(condition, Cond) else self.node(condition, bindings)
                return ir.Select(stated, self.block(expr.then), self.block(expr.other), kind)
            case InSpace():
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
            case LetName():
                return self.locals[expr.local]
        raise InternalError(f"an expression of an unknown kind: {expr}")

    def member(self, expr: ReadAt, bindings: Bound, kind: Type) -> Node:
        """Return the number that an expression reads."""
        array, at = expr.array, expr.at
        for one in reversed(self.stored.get(array, ())):
            if all(at[k] == place for k, place in one.fixed.items()):
                tol, at = one.node, tuple([at[k] for k in one.order])
                break
        else:
            tol = self.nodes[array]
        if not at:
            return tol
        indices = tuple([i if isinstance(i, Poly) else self.node(i, bindings) for i in at])
        return ir.Member(tol, indices, kind, expr.span)

    def reduction(self, expr: Reduction, start: Node, kind: Type) -> Node:
        """Return a Fold; where the guards do not hold, the accumulator stays as it is."""
        accumulator = Var("a", kind)
        carried = ir.Ref(accumulator, kind)
        inner: Bound = []
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
        return ir.Fold(expr.domain.coords, expr.domain.extents, accumulator, first, block, kind, expr.span)


def rectangular(domain: Nest, facts: tuple[Cond, ...] = ()) -> tuple[Nest, Values]:
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
    held = [*(substituted(guard, values) for guard in domain.guards), *guards]
    return Nest(tuple(coords), tuple(extents), unproved(held, facts)), values


def largest_extents(domain: Nest) -> tuple[Poly, ...]:
    """Return the extents of the smallest box around a domain."""
    sizes: dict[Symbol, Poly] = {}
    for symbol, extent in zip(domain.coords, domain.extents, strict=True):
        sizes[symbol] = largest(extent, sizes)
    return tuple(sizes.values())


def zeros(type_: Type) -> Node:
    """Return an array of zeros."""
    (part,) = type_
    coords = tuple([the_symbol(coordinate("i", extent)) for extent in part.shape])
    zero = ir.Number(zero_of(part.space).value, numeric_type(part.space))
    return ir.Build(coords, part.shape, Block((), zero), type_)


def substituted(condition: Cond, values: Values) -> Cond:
    """Return a condition with other values for coordinates."""
    return substitute_cond(condition, values)
