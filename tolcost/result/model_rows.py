"""What the nodes of a model come to, as rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from tolcost.algebra import ZERO, Poly, substitute, to_text, total_of
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.facts import as_tensor
from tolcost.models.memory import parameters_by_node
from tolcost.result.rows import TableRow
from tolcost.result.scopes import Scope, path_of, scope_tree
from tolcost.result.study import Figures, Group
from tolcost.result.totals import Adder, parts_of, title_of


def node_rows(cost: GraphCost, adder: Adder) -> tuple[TableRow, ...]:
    """Every node by itself, in the order of the file."""
    held = parameters_by_node(cost)
    found = []
    for n, step in enumerate(cost.model.graph.nodes):
        space, shape = _type(cost, next((name for name in step.outputs if name), ""))
        amounts = _amounts(adder.node(cost.nodes[n]), adder.settle(held[n]))
        found.append(TableRow(step.name or step.title, 1, amounts, step.title, space, shape))
    return tuple(found)


def operator_rows(cost: GraphCost, groups: Iterable[Group], adder: Adder) -> tuple[TableRow, ...]:
    """Operators, those inside of functions included; parameters go to what the node with them applies."""
    held: dict[str, list[Poly]] = {}
    for step, applied, own in zip(cost.model.graph.nodes, cost.nodes, parameters_by_node(cost), strict=True):
        title = title_of(applied.parts[0][0]) if applied.parts else step.title
        held.setdefault(title, []).append(own)
    return tuple(
        TableRow(g.title, g.nodes, _amounts(g.figures, adder.settle(_total(held.get(g.title, ())))), g.title)
        for g in groups
    )


def scope_rows(cost: GraphCost, adder: Adder, depth: int) -> tuple[TableRow, ...]:
    """Scopes so many levels down; those that are alike are one."""
    figures = [adder.node(applied) for applied in cost.nodes]
    kinds = [(f.eops, f.macs) if f.eops.terms or f.macs.terms else None for f in figures]
    held, steps = parameters_by_node(cost), cost.model.graph.nodes

    def row(scope: Scope, level: int) -> TableRow:
        inside = [cost.nodes[n] for n in scope.nodes]
        found = adder.add(parts_of(inside), any(one.uncosted for one in inside))
        own = adder.settle(_total([held[n] for n in scope.nodes]))
        below = tuple(row(child, level + 1) for child in scope.children) if level < depth else ()
        ops = Counter(steps[n].title for n in scope.nodes if kinds[n] is not None)
        amounts = _amounts(found, own)
        return TableRow(scope.title, len(scope.nodes), amounts, ops=ops, times=scope.times, children=below)

    return tuple(row(scope, 1) for scope in scope_tree(map(path_of, steps), kinds))


def _amounts(figures: Figures, parameters: Poly) -> MappingProxyType[str, Poly | None]:
    return MappingProxyType(
        {
            "eops": figures.eops,
            "flops": figures.flops,
            "macs": figures.macs,
            "bytes": figures.bytes,
            "parameters": parameters,
        }
    )


def _total(forms: Sequence[Poly]) -> Poly:
    return total_of(forms) if forms else ZERO


def _type(cost: GraphCost, name: str) -> tuple[str, str]:
    """The space and the shape of a value, as far as they are known."""
    known = cost.known(name) if name else None
    found = None if known is None else as_tensor(known)
    if not isinstance(found, Tensor):
        return "", ""
    return found.space, f"[{', '.join(to_text(substitute(d, cost.equal)) for d in found.shape)}]"
