"""Work done again and again: expressions in a body that do not depend on its coordinates.

Such an expression is counted at every visit, because that is what the program says; naming it
outside of the body makes it count once.  The author is told where.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tolcost.algebra import Cond, Poly, symbols_of_cond
from tolcost.atoms.nodes import (
    Block,
    Build,
    Fold,
    Lambda,
    Member,
    Node,
    Number,
    Program,
    Put,
    Ref,
    Select,
    Where,
)
from tolcost.atoms.walk import blocks, operands
from tolcost.diagnostics import NOWHERE, Diagnostic, Span

Needs = frozenset[object]
_MOST = 20


def repeated_work(program: Program) -> tuple[Diagnostic, ...]:
    """A warning for each expression that a body computes anew though it never changes."""
    finder = _Finder()
    for node in (*(n for _, n in program.bindings), *(o.node for o in program.outputs)):
        finder.enter(node)
    return tuple(finder.warnings.values())[:_MOST]


@dataclass(slots=True)
class _Finder:
    needs: dict[int, Needs] = field(default_factory=dict)
    works: dict[int, bool] = field(default_factory=dict)
    warnings: dict[tuple[int, int], Diagnostic] = field(default_factory=dict)

    def enter(self, root: Node) -> None:
        """Visit what one block computes, operands first; bodies inside are entered as they come."""
        pending = [(root, False)]
        while pending:
            node, ready = pending.pop()
            if id(node) in self.needs:
                continue
            if ready:
                self.needs[id(node)], self.works[id(node)] = self._facts(node)
                continue
            pending.append((node, True))
            pending.extend((child, False) for child in operands(node))
            for block in blocks(node):
                pending.extend((child, False) for child in _roots(block))

    def _facts(self, node: Node) -> tuple[Needs, bool]:
        needs = set(_own_needs(node))
        works = isinstance(node, (Lambda, Where)) and node.charge == "data"
        for child in operands(node):
            needs |= self.needs[id(child)]
            works |= self.works[id(child)]
        for block in blocks(node):
            inside = {need for root in _roots(block) for need in self.needs[id(root)]}
            works |= any(self.works[id(root)] for root in _roots(block))
            needs |= inside - {var for var, _ in block.bindings}
        if isinstance(node, (Build, Fold)):
            own = {*node.coords, *((node.accumulator,) if isinstance(node, Fold) else ())}
            self._look(node, node.body, own)
            needs -= own
        return frozenset(needs), works

    def _look(self, around: Build | Fold, body: Block, own: set[object]) -> None:
        """Report the largest pieces of a body that need nothing of its own."""
        changing = set(own)
        for var, node in body.bindings:
            if _changes(self.needs[id(node)], changing):
                changing.add(var)
        pending = list(_roots(body))
        while pending:
            node = pending.pop()
            if not self.works[id(node)]:
                continue
            if not _changes(self.needs[id(node)], changing):
                self._report(node, around)
            elif not isinstance(node, (Build, Fold, Select)):
                pending.extend(operands(node))

    def _report(self, node: Node, around: Build | Fold) -> None:
        span: Span = getattr(node, "span", NOWHERE)
        if span is NOWHERE or span == around.span:
            return
        what = "map" if isinstance(around, Build) else "reduce"
        self.warnings.setdefault(
            (span.start, span.end),
            Diagnostic(
                "T0420",
                f"this is computed again at every step of the {what} around it, and never changes",
                span,
                hint="give it a name outside, and it counts once",
                severity="warning",
            ),
        )


def _changes(needs: Needs, changing: set[object]) -> bool:
    """Whether something is different at each visit; a random number always is."""
    return not changing.isdisjoint(needs) or any(isinstance(need, Lambda) for need in needs)


def _roots(block: Block) -> tuple[Node, ...]:
    return (*(node for _, node in block.bindings), block.result)


def _own_needs(node: Node) -> frozenset[object]:
    """The coordinates and variables a node mentions itself."""
    match node:
        case Ref(var=var):
            return frozenset((var,))
        case Number(value=Poly() as value):
            return frozenset(value.free)
        case Number(value=value) if isinstance(value, Cond):
            return frozenset(symbols_of_cond(value))
        case Member(at=at) | Put(at=at):
            return frozenset(s for a in at if isinstance(a, Poly) for s in a.free)
        case Build(extents=extents) | Fold(extents=extents):
            return frozenset(s for d in extents for s in d.free)
        case Select(condition=condition) if isinstance(condition, Cond):
            return frozenset(symbols_of_cond(condition))
        case _:
            return _random(node)


def _random(node: Node) -> frozenset[object]:
    """A random number is a new one each time."""
    fresh = isinstance(node, Lambda) and node.function == "rand"
    return frozenset((node,)) if fresh else frozenset()
