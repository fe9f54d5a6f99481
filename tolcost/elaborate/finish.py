"""The last pass over a lowered program: drop what nobody uses, tell coordinates from values.

A function of numerics whose result is only ever used as a coordinate is charged as ``index``.
Anything a value depends on is charged as ``data``, and so is every map and reduce: a sort is
work even if its result only says where to look.  Lengths found equal are written in one way.

An expression in a body that does not depend on its coordinates is counted at every visit, because that is
what the program says; naming it outside of the body makes it count once.  The author is told where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tolcost.algebra import Cond, Poly, Symbol, substitute, substitute_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Bindings,
    blocks,
    children,
    constant_symbols,
    own_symbols,
    rebuild,
    restate,
    restated_type,
    roots,
    schedules,
    static_parts,
    type_symbols,
)
from tolcost.atoms.nodes import Block, Charge, Input, JointWork, Node, Output, Program, Type, Var
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import NOWHERE, Diagnostic, Source, Span
from tolcost.elaborate.context import Context


def finish(context: Context, program: Program) -> Program:
    """The program ready to be counted and run."""
    pass_ = _Finish(context.notes.equal, filtered=context.names > 0)
    outputs = tuple(Output(o.name, pass_.node(o.node, "data"), o.span) for o in program.outputs)
    bindings = pass_.bindings(program.bindings)
    inputs = tuple(pass_.input(i) for i in program.inputs)
    return replace(program, inputs=inputs, bindings=bindings, outputs=outputs)


@dataclass(slots=True, eq=False)
class _Finish:
    """Rewrites nodes from their uses back to their definitions."""

    equal: Mapping[Symbol, Poly]
    filtered: bool
    """Whether there are filters at all: most programs have none, and need not know what they mention."""
    seen: dict[tuple[Node, Charge], Node] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    vars: dict[Var, Var] = field(default_factory=dict)
    valued: set[Var] = field(default_factory=set)
    used: set[Var] = field(default_factory=set)
    works: set[JointWork | None] = field(default_factory=set)
    stated: dict[Poly, Poly] = field(default_factory=dict)
    mentioned: set[Symbol] = field(default_factory=set)
    """Symbols in what stays: the filters that define lengths among them have to stay too."""

    def node(self, node: Node, use: Charge) -> Node:
        """The node as it is used: for its value (``data``) or as a coordinate (``index``)."""
        found = self.seen.get((node, use))
        if found is None:
            found = self.seen[node, use] = self._rewrite(node, use)
        return found

    def _rewrite(self, node: Node, use: Charge) -> Node:
        stated = self._stated(node) if self.equal or self.filtered else node
        if isinstance(stated, ir.Ref):  # as most are
            return self._ref(stated, use)
        if isinstance(stated, Input):
            return self.input(stated)
        kind = type(stated)
        fields = _CHANGES[kind](self, stated, use) if kind in _CHANGES else {}
        operands = children(stated)
        used = _USES[kind](len(operands)) if kind in _USES else [use] * len(operands)
        fresh = tuple(map(self.node, operands, used))
        return rebuild(stated, fresh, **fields) if fields or fresh != operands else stated

    def _ref(self, node: ir.Ref, use: Charge) -> ir.Ref:
        self.used.add(node.var)
        if node.var.work is not None:
            self.works.add(node.var.work)
        if use == "data":
            self.valued.add(node.var)
        var = self.var(node.var)
        return node if var is node.var else ir.Ref(var, node.type)

    def _build(self, node: ir.Build, use: Charge) -> dict[str, Any]:
        return {"body": self.block(node.body, "data")}

    def _fold(self, node: ir.Fold, use: Charge) -> dict[str, Any]:
        return {"body": self.block(node.body, "data"), "accumulator": self.var(node.accumulator)}

    def _select(self, node: ir.Select, use: Charge) -> dict[str, Any]:
        return {"then": self.block(node.then, use), "other": self.block(node.other, use)}

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
            told = isinstance(node, ir.Filter) and node.length in self.mentioned
            if var in self.used or var.work in self.works or told:
                use: Charge = "data" if var.work is not None or var in self.valued else "index"
                kept.append((self.var(var), self.node(node, use)))
        return tuple(reversed(kept))

    def input(self, node: Input) -> Input:
        """One object for each input."""
        found = self.inputs.get(node.name)
        if found is None:
            kind = self._type(node.type)
            found = node if kind is node.type else Input(node.name, kind, node.within)
            self.inputs[node.name] = found
        return found

    def var(self, var: Var) -> Var:
        """One object for each variable."""
        found = self.vars.get(var)
        if found is None:
            kind = self._type(var.type)
            found = self.vars[var] = var if kind is var.type else Var(var.name, kind, var.work)
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
        if self.filtered:
            self.mentioned.update(type_symbols(types))
        return types

    def _poly(self, p: Poly) -> Poly:
        if self.filtered:
            self.mentioned.update(p.free)
        if self.equal.keys().isdisjoint(p.free):
            return p
        found = self.stated.get(p)
        if found is None:
            found = self.stated[p] = self._poly(substitute(p, self.equal))
        return found

    def _cond(self, c: Cond) -> Cond:
        if self.filtered:
            self.mentioned.update(constant_symbols(c))
        return substitute_cond(c, self.equal)


_CHANGES: Mapping[type, Callable[[_Finish, Any, Charge], dict[str, Any]]] = {
    ir.Lambda: lambda _, node, use: {} if node.charge in ("static", use) else {"charge": use},
    ir.Where: lambda _, node, use: {} if node.charge == use else {"charge": use},
    ir.Build: _Finish._build,
    ir.Fold: _Finish._fold,
    ir.Select: _Finish._select,
}
"""What changes of a node besides its operands: names, blocks inside it, what is charged."""


_DATA: list[Charge] = ["data"]
_INDEX: list[Charge] = ["index"]
_USES: Mapping[type, Callable[[int], list[Charge]]] = {
    ir.Member: lambda operands: _DATA + _INDEX * (operands - 1),
    ir.Put: lambda operands: _DATA + _INDEX * (operands - 2) + _DATA,
    **dict.fromkeys((ir.Join, ir.Reshape, ir.Filter, ir.Fold), lambda operands: _DATA * operands),
}
"""How nodes use operands: coordinates are charged apart, whole ToLs as values; others as they are used."""


# ---- work done again and again ---------------------------------------------------------------


Needs = frozenset[object]
_MOST = 20


def repeated_work(program: Program, source: Source) -> tuple[Diagnostic, ...]:
    """A warning for each expression of a source that a body computes anew though it never changes."""
    finder = _Finder()
    for plan in schedules(program):
        for node in plan.nodes:
            if node not in finder.needs:
                finder.needs[node], finder.works[node] = finder.facts(node)
    own = sorted((span for span in finder.repeated if span.source == source), key=lambda s: (s.start, -s.end))
    largest = [span for n, span in enumerate(own) if all(span.end > other.end for other in own[:n])]
    return tuple(_again(span, finder.repeated[span]) for span in largest[:_MOST])


def _again(span: Span, what: str) -> Diagnostic:
    return Diagnostic(
        "T0420",
        f"this is computed again at every step of the {what} around it, and never changes",
        span,
        hint="give it a name outside, and it counts once",
        severity="warning",
    )


@dataclass(slots=True, eq=False)
class _Finder:
    needs: dict[Node, Needs] = field(default_factory=dict)
    works: dict[Node, bool] = field(default_factory=dict)
    repeated: dict[Span, str] = field(default_factory=dict)
    """What is computed again and again, and by what."""

    def facts(self, node: Node) -> tuple[Needs, bool]:
        """What a node needs, and whether it works on data, given the same of what is in it."""
        needs = set(_own_needs(node))
        works = isinstance(node, (ir.Lambda, ir.Where)) and node.charge == "data"
        for child in children(node):
            needs |= self.needs[child]
            works |= self.works[child]
        for block in blocks(node):
            inside = {need for root in roots(block) for need in self.needs[root]}
            works |= any(self.works[root] for root in roots(block))
            needs |= inside - {var for var, _ in block.bindings}
        if isinstance(node, (ir.Build, ir.Fold)):
            own = {*node.coords, *((node.accumulator,) if isinstance(node, ir.Fold) else ())}
            if any(extent != 1 for extent in node.extents):
                self._look(node, node.body, own)
            needs -= own
        return frozenset(needs), works

    def _look(self, around: ir.Build | ir.Fold, body: Block, own: set[object]) -> None:
        """Report the largest pieces of a body that need nothing of its own."""
        changing = set(own)
        for var, node in body.bindings:
            if _changes(self.needs[node], changing):
                changing.add(var)
        pending = list(roots(body))
        while pending:
            node = pending.pop()
            if not self.works[node]:
                continue
            if not _changes(self.needs[node], changing):
                self._report(node, around)
            elif not isinstance(node, (ir.Build, ir.Fold, ir.Select)):
                pending.extend(children(node))

    def _report(self, node: Node, around: ir.Build | ir.Fold) -> None:
        span: Span = getattr(node, "span", NOWHERE)
        if span is not NOWHERE and span != around.span:
            self.repeated.setdefault(span, "map" if isinstance(around, ir.Build) else "reduce")


def _changes(needs: Needs, changing: set[object]) -> bool:
    """Whether something is different at each visit; a random number always is."""
    return not changing.isdisjoint(needs) or any(isinstance(need, ir.Lambda) for need in needs)


def _own_needs(node: Node) -> frozenset[object]:
    """The coordinates and variables a node mentions itself; a random number is a new one each time."""
    if isinstance(node, ir.Ref):
        return frozenset((node.var,))
    if isinstance(node, ir.Lambda) and node.function == "rand":
        return frozenset((node,))
    return frozenset(own_symbols(node))
