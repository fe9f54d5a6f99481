"""From an equation back to atoms: an array becomes a Build.

A domain that is ragged is laid out over the largest extents, and a choice by coordinates leaves out what lies
outside, so that nothing is computed there.
"""

from __future__ import annotations

from msgspec import Struct, field

from tolcost.algebra import (
    ONE,
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
    settled,
    unproved,
)
from tolcost.gradient.inversion import largest
from tolcost.gradient.places import linear

Bound = list[tuple[Var, Node]]


class Emitting(Struct, eq=False):
    """The bindings made so far, and the nodes that arrays are read from."""

    granted: tuple[Cond, ...] = ()
    bindings: Bound = field(default_factory=list)
    nodes: dict[Equation, Node] = field(default_factory=dict)
    tables: dict[Node, Node] = field(default_factory=dict)
    locals: dict[Local, Node] = field(default_factory=dict)
    times: dict[Equation, int] = field(default_factory=dict)
    """For an array that a loop has filled, its coordinate for the step, which comes first there."""
    now: dict[Equation, tuple[Poly, Node]] = field(default_factory=dict)
    """Inside of a loop, the arrays computed in this step: at which step, and their members at it."""

    def array(self, array: Equation) -> None:
        """Bind the node of an array."""
        if array.given is not None:
            self.nodes[array] = self.given(array, array.given)
            return
        value = array.value
        node = self.scatter(array, value) if isinstance(value, Scattered) else self.laid_out(array)
        self.nodes[array] = self.bound(array.name, node)

    def bound(self, name: str, node: Node) -> Node:
        """Bind a node to a name, and return the reference."""
        var = Var(name, node.type)
        self.bindings.append((var, node))
        return ir.Ref(var, node.type)

    def given(self, array: Equation, node: Node) -> Node:
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
            zero = Block((), self.kept(ir.Number(ONE * 0, kind), array.space))
            body = ir.Select(condition, self.block(value), zero, kind, array.span)
        kept = self.kept(body, array.space)
        type_ = (Part(domain.extents, array.space),)
        return ir.Build(domain.coords, domain.extents, Block(tuple(inner), kept), type_, array.span)

    def is_in_order(self, read: ReadAt, domain: Nest) -> bool:
        """Whether an array has the elements of another one in row-major order, under another shape."""
        array = read.array
        if array in self.now or array in self.times or len(self.nodes[array].type) > 1:
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

    def scatter(self, array: Equation, value: Scattered) -> Node:
        """Return a Fold that puts numbers into an array, one after the other."""
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
        term = self.node(restated(value.body, values), inner)
        if value.adds:
            old = ir.Member(carried, tuple(at), kind, value.span)
            term = ir.Lambda("add", (old, term), value.within, kind, "data", value.span)
        put: Node = ir.Put(carried, tuple(at), self.kept(term, array.space), type_, value.span)
        if not domain.coords:
            self.bindings += inner
            return put
        block = Block(tuple(inner), put)
        condition = all_of(unproved(domain.guards))
        if condition is not TRUE:
            unchanged = Block((), ir.Ref(accumulator, type_))
            block = Block((), ir.Select(condition, block, unchanged, type_, value.span))
        return ir.Fold(domain.coords, domain.extents, accumulator, start, block, type_, value.span)

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
            case Choice():
                sides = self.block(expr.then), self.block(expr.other)
                return ir.Select(expr.condition, sides[0], sides[1], kind)
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


def substituted(condition: Cond, values: Values) -> Cond:
    """Return a condition with other values for coordinates."""
    return substitute_cond(condition, values)
