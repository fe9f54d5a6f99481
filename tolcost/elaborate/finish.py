"""The last pass over a lowered program: drop what nobody uses, tell coordinates from values.

A function of numerics whose result is only ever used as a coordinate is charged as ``index``.
Anything a value depends on is charged as ``data``, and so is every map and reduce: a sort is
work even if its result only says where to look.  Lengths found equal are written in one way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tolcost.algebra import Cond, Poly, Symbol, substitute, substitute_cond, symbols_of, symbols_of_cond
from tolcost.atoms.nodes import (
    Block,
    Build,
    Charge,
    Component,
    Constant,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Output,
    Pack,
    Part,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.elaborate.context import Context


def finish(context: Context, program: Program) -> Program:
    """The program ready to be counted and run."""
    pass_ = _Finish(context)
    outputs = tuple(Output(o.name, pass_.node(o.node, "data"), o.span) for o in program.outputs)
    bindings = pass_.bindings(program.bindings)
    inputs = tuple(pass_.input(i) for i in program.inputs)
    return Program(
        program.name, inputs, bindings, outputs, program.conditions, program.symbols, program.unproved
    )


@dataclass(slots=True)
class _Finish:
    """Rewrites nodes from their uses back to their definitions."""

    context: Context
    seen: dict[tuple[int, str], Node] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    vars: dict[int, Var] = field(default_factory=dict)
    valued: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    keep: list[object] = field(default_factory=list)
    lengths: set[Symbol] = field(default_factory=set)

    def node(self, node: Node, use: Charge) -> Node:
        """The node as it is used: for its value (``data``) or as a coordinate (``index``)."""
        key = (id(node), use)
        found = self.seen.get(key)
        if found is None:
            found = self._rewrite(node, use)
            self.seen[key] = found
            self.keep.append(node)
        return found

    def poly(self, p: Poly) -> Poly:
        """A length in the terms that are left after equal ones were merged."""
        self.lengths.update(s for s in p.free if s.kind == "data")
        equal = self.context.notes.equal
        while equal and not equal.keys().isdisjoint(symbols_of(p)):
            p = substitute(p, equal)
        return p

    def cond(self, c: Cond) -> Cond:
        """A condition in the same terms."""
        self.lengths.update(s for s in symbols_of_cond(c) if s.kind == "data")
        return substitute_cond(c, self.context.notes.equal) if self.context.notes.equal else c

    def type(self, parts: Type) -> Type:
        """A type in the same terms."""
        if not self.context.notes.equal:
            self.lengths.update(s for p in parts for d in p.shape for s in d.free if s.kind == "data")
            return parts
        return tuple(Part(tuple(self.poly(d) for d in p.shape), p.space) for p in parts)

    def input(self, node: Input) -> Input:
        """One object for each input."""
        if node.name not in self.inputs:
            self.inputs[node.name] = Input(node.name, self.type(node.type))
        return self.inputs[node.name]

    def var(self, var: Var) -> Var:
        """One object for each variable."""
        if id(var) not in self.vars:
            self.vars[id(var)] = Var(var.name, self.type(var.type))
            self.keep.append(var)
        return self.vars[id(var)]

    def block(self, block: Block, use: Charge) -> Block:
        """A block: its result first, then the bindings that turned out to be needed, last first."""
        result = self.node(block.result, use)
        return Block(self.bindings(block.bindings), result)

    def bindings(self, bindings: tuple[tuple[Var, Node], ...]) -> tuple[tuple[Var, Node], ...]:
        """The bindings somebody uses."""
        kept: list[tuple[Var, Node]] = []
        for var, node in reversed(bindings):
            if id(var) in self.used or (isinstance(node, Filter) and node.length in self.lengths):
                kept.append((self.var(var), self.node(node, "data" if id(var) in self.valued else "index")))
        return tuple(reversed(kept))

    def index(self, at: tuple[Poly | Node, ...]) -> tuple[Poly | Node, ...]:
        """Coordinates: whatever computes them is charged apart."""
        return tuple(self.poly(a) if isinstance(a, Poly) else self.node(a, "index") for a in at)

    def _rewrite(self, node: Node, use: Charge) -> Node:
        kind = self.type(node.type)
        match node:
            case Input():
                return self.input(node)
            case Number(value=value):
                return Number(self._constant(value), kind)
            case Table(values=values):
                return Table(tuple(self._constant(v) for v in values), kind)
            case Ref(var=var):
                self.used.add(id(var))
                if use == "data":
                    self.valued.add(id(var))
                return Ref(self.var(var), kind)
            case Lambda(function=f, args=args, space=space, charge=charge, span=span):
                charged: Charge = charge if charge == "static" else use
                return Lambda(f, tuple(self.node(a, use) for a in args), space, kind, charged, span)
            case Where(condition=c, then=a, other=b, space=space, span=span):
                return Where(self.node(c, use), self.node(a, use), self.node(b, use), space, kind, use, span)
            case Member(tol=tol, at=at, span=span):
                return Member(self.node(tol, "data"), self.index(at), kind, span)
            case Component(value=value, j=j):
                return Component(self.node(value, use), j, kind)
            case Pack(items=items):
                return Pack(tuple(self.node(i, use) for i in items), kind)
            case Join(left=a, right=b, d=d):
                return Join(self.node(a, "data"), self.node(b, "data"), d, kind)
            case _:
                return self._rewrite_rest(node, use, kind)

    def _constant(self, value: Constant) -> Constant:
        if isinstance(value, Poly):
            return self.poly(value)
        return self.cond(value) if isinstance(value, Cond) else value

    def _rewrite_rest(self, node: Node, use: Charge, kind: Type) -> Node:
        match node:
            case Embed(value=value):
                return Embed(self.node(value, use), kind)
            case Build(coords=coords, extents=extents, body=body, span=span):
                return Build(
                    coords, tuple(self.poly(d) for d in extents), self.block(body, "data"), kind, span
                )
            case Fold():
                return self._fold(node, kind)
            case Select(condition=c, then=a, other=b, span=span):
                condition = self.cond(c) if isinstance(c, Cond) else self.node(c, use)
                return Select(condition, self.block(a, use), self.block(b, use), kind, span)
            case Reshape(value=value):
                return Reshape(self.node(value, "data"), kind)
            case Convert(value=value, bits=bits):
                return Convert(self.node(value, use), kind, bits)
            case Put(tol=tol, at=at, value=value, span=span):
                return Put(self.node(tol, "data"), self.index(at), self.node(value, "data"), kind, span)
            case Filter(tol=tol, mask=mask, length=symbol, span=span):
                return Filter(self.node(tol, "data"), self.node(mask, "data"), symbol, kind, span)
            case _:
                raise AssertionError(type(node))

    def _fold(self, node: Fold, kind: Type) -> Node:
        body = self.block(node.body, "data")
        start = self.node(node.start, "data")
        extents = tuple(self.poly(d) for d in node.extents)
        return Fold(node.coords, extents, self.var(node.accumulator), start, body, kind, node.span)
