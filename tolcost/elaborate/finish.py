"""The last pass over a lowered program: drop what nobody uses, tell coordinates from values.

A function of numerics whose result is only ever used as a coordinate is charged as ``index``.
Anything a value depends on is charged as ``data``, and so is every map and reduce: a sort is
work even if its result only says where to look.  Lengths found equal are written in one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tolcost.algebra import Cond, Poly, Symbol, substitute, substitute_cond, symbols_of
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Bindings,
    children,
    constant_symbols,
    rebuild,
    restate,
    restated_type,
    static_parts,
    type_symbols,
)
from tolcost.atoms.nodes import Block, Charge, Input, Node, Output, Program, Type, Var
from tolcost.elaborate.context import Context


def finish(context: Context, program: Program) -> Program:
    """The program ready to be counted and run."""
    pass_ = _Finish(context.notes.equal)
    outputs = tuple(Output(o.name, pass_.node(o.node, "data"), o.span) for o in program.outputs)
    bindings = pass_.bindings(program.bindings)
    inputs = tuple(pass_.input(i) for i in program.inputs)
    return replace(program, inputs=inputs, bindings=bindings, outputs=outputs)


@dataclass(slots=True, eq=False)
class _Finish:
    """Rewrites nodes from their uses back to their definitions."""

    equal: Mapping[Symbol, Poly]
    seen: dict[tuple[Node, Charge], Node] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    vars: dict[Var, Var] = field(default_factory=dict)
    valued: set[Var] = field(default_factory=set)
    used: set[Var] = field(default_factory=set)
    mentioned: set[Symbol] = field(default_factory=set)
    """Symbols in what stays: the filters that define lengths among them have to stay too."""

    def node(self, node: Node, use: Charge) -> Node:
        """The node as it is used: for its value (``data``) or as a coordinate (``index``)."""
        found = self.seen.get((node, use))
        if found is None:
            found = self.seen[node, use] = self._rewrite(node, use)
        return found

    def _rewrite(self, node: Node, use: Charge) -> Node:
        stated = self._stated(node)
        if isinstance(stated, Input):
            return self.input(stated)
        fields = self._fields(stated, use)
        operands = children(stated)
        fresh = tuple(map(self.node, operands, _uses(stated, use, len(operands))))
        return rebuild(stated, fresh, **fields)

    def _fields(self, node: Node, use: Charge) -> dict[str, Any]:
        """What changes of a node besides its operands: names, blocks inside it, what is charged."""
        match node:
            case ir.Ref(var=var):
                self.used.add(var)
                if use == "data":
                    self.valued.add(var)
                return {"var": self.var(var)}
            case ir.Lambda(charge=charge):
                return {"charge": charge if charge == "static" else use}
            case ir.Where():
                return {"charge": use}
            case ir.Build(body=body):
                return {"body": self.block(body, "data")}
            case ir.Fold(body=body, accumulator=var):
                return {"body": self.block(body, "data"), "accumulator": self.var(var)}
            case ir.Select(then=then, other=other):
                return {"then": self.block(then, use), "other": self.block(other, use)}
            case _:
                return {}

    def block(self, block: Block, use: Charge) -> Block:
        """A block: its result first, then the bindings that turned out to be needed, last first."""
        result = self.node(block.result, use)
        bindings = self.bindings(block.bindings)
        same = result is block.result and bindings == block.bindings
        return block if same else Block(bindings, result)

    def bindings(self, bindings: Bindings) -> Bindings:
        """The bindings somebody uses."""
        kept: list[tuple[Var, Node]] = []
        for var, node in reversed(bindings):
            if var in self.used or (isinstance(node, ir.Filter) and node.length in self.mentioned):
                kept.append((self.var(var), self.node(node, "data" if var in self.valued else "index")))
        return tuple(reversed(kept))

    def input(self, node: Input) -> Input:
        """One object for each input."""
        return self.inputs.setdefault(node.name, Input(node.name, self._type(node.type)))

    def var(self, var: Var) -> Var:
        """One object for each variable."""
        found = self.vars.get(var)
        if found is None:
            kind = self._type(var.type)
            found = self.vars[var] = var if kind is var.type else Var(var.name, kind)
        return found

    # ---- lengths found equal -----------------------------------------------------------------

    def _stated(self, node: Node) -> Node:
        """The node in the lengths that are left after equal ones were merged."""
        if self.equal:
            return restate(node, self._poly, self._cond)
        self.mentioned.update(type_symbols(node.type))
        for part in static_parts(node):
            self.mentioned.update(constant_symbols(part))
        return node

    def _type(self, types: Type) -> Type:
        if self.equal:
            return restated_type(types, self._poly)
        self.mentioned.update(type_symbols(types))
        return types

    def _poly(self, p: Poly) -> Poly:
        self.mentioned.update(p.free)
        while not self.equal.keys().isdisjoint(symbols_of(p)):
            p = substitute(p, self.equal)
        return p

    def _cond(self, c: Cond) -> Cond:
        self.mentioned.update(constant_symbols(c))
        return substitute_cond(c, self.equal)


def _uses(node: Node, use: Charge, operands: int) -> list[Charge]:
    """How a node uses each of its operands: coordinates are charged apart, whole ToLs as values."""
    match node:
        case ir.Member():
            return ["data", *_INDEX * (operands - 1)]
        case ir.Put():
            return ["data", *_INDEX * (operands - 2), "data"]
        case ir.Join() | ir.Reshape() | ir.Filter() | ir.Fold():
            return _DATA * operands
        case _:
            return [use] * operands


_DATA: list[Charge] = ["data"]
_INDEX: list[Charge] = ["index"]
