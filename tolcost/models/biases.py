"""Products to whose results a vector of parameters is added: frameworks compute both in one kernel."""

from __future__ import annotations

from collections import Counter

from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied

WITH_BIAS, ONTO_PRODUCT = "bias after", "onto a product"
"""Options of such a product, and of the addition, by which a device may tell them from others."""


def biased(cost: GraphCost) -> dict[int, str]:
    """Return the places of such products and of the additions, with the option of each."""
    graph = cost.model.graph
    if any(step.graphs for step in graph.nodes):  # whose readers are not all in sight
        return {}
    readers = Counter(name for step in graph.nodes for name in step.inputs)
    readers.update(given for given in graph.outputs)
    vectors = {name for name, weight in graph.weights.items() if len(weight.shape) == 1}
    products: dict[str, int] = {}
    found: dict[int, str] = {}
    for n, (step, applied) in enumerate(cost.steps):
        if _is_product(applied) and len(step.outputs) == 1:
            products[step.outputs[0]] = n
        elif _only_adds(applied) and len(step.inputs) == 2:
            for one, other in (step.inputs, step.inputs[::-1]):
                if one in products and other in vectors and readers[one] == 1:
                    found |= {products[one]: WITH_BIAS, n: ONTO_PRODUCT}
    return found


def _is_product(applied: Applied) -> bool:
    return len(applied.parts) == 1 and applied.parts[0][0].counts.macs != 0


def _only_adds(applied: Applied) -> bool:
    if len(applied.parts) != 1:
        return False
    return {function for function, _ in applied.parts[0][0].counts.histogram} == {"add"}
