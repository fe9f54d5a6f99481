"""Work done again and again: expressions in a body that do not depend on its coordinates.

Such an expression is counted at every visit, because that is what the program says; naming it
outside of the body makes it count once.  The author is told where.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import blocks, children, own_symbols, roots, schedules
from tolcost.atoms.nodes import Block, Node, Program
from tolcost.diagnostics import NOWHERE, Diagnostic, Span

Needs = frozenset[object]
_MOST = 20


def repeated_work(program: Program) -> tuple[Diagnostic, ...]:
    """A warning for each expression that a body computes anew though it never changes."""
    finder = _Finder()
    for plan in schedules(program):
        for node in plan.nodes:
            if node not in finder.needs:
                finder.needs[node], finder.works[node] = finder.facts(node)
    return tuple(finder.warnings.values())[:_MOST]


@dataclass(slots=True, eq=False)
class _Finder:
    needs: dict[Node, Needs] = field(default_factory=dict)
    works: dict[Node, bool] = field(default_factory=dict)
    warnings: dict[tuple[int, int], Diagnostic] = field(default_factory=dict)

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
        if span is NOWHERE or span == around.span:
            return
        what = "map" if isinstance(around, ir.Build) else "reduce"
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
    return not changing.isdisjoint(needs) or any(isinstance(need, ir.Lambda) for need in needs)


def _own_needs(node: Node) -> frozenset[object]:
    """The coordinates and variables a node mentions itself; a random number is a new one each time."""
    if isinstance(node, ir.Ref):
        return frozenset((node.var,))
    if isinstance(node, ir.Lambda) and node.function == "rand":
        return frozenset((node,))
    return frozenset(own_symbols(node))
