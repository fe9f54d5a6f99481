"""Nodes that hold or depend on parameters alone: an engine computes them once, when it loads a model.

A node stays in the run if its results take more memory than what it reads: engines keep compressed weights.
So does a node whose results may differ from run to run, or that holds graphs.
"""

from __future__ import annotations

from collections.abc import Iterable

from tolcost.algebra import total_known
from tolcost.catalogue.graph import GraphNode
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied

_RANDOM = "rand"
"""The elementary function whose values differ from visit to visit."""


def done_at_loading(cost: GraphCost) -> frozenset[int]:
    """Return the places of nodes that are computed when a model is loaded."""
    known = set(cost.model.graph.weights) - {given.name for given in cost.model.graph.inputs}
    found: set[int] = set()
    for n, (step, applied) in enumerate(cost.steps):
        if step.held is not None:
            known.update(step.outputs)
            found.add(n)
        elif known.issuperset(filter(None, step.inputs)) and _is_foldable(cost, step, applied):
            known.update(filter(None, step.outputs))
            found.add(n)
    return frozenset(found)


def _is_foldable(cost: GraphCost, step: GraphNode, applied: Applied) -> bool:
    if step.graphs or applied.uncosted or _is_random(applied):
        return False
    read, written = _bytes(cost, step.inputs), _bytes(cost, step.outputs)
    return read is not None and written is not None and written <= read


def _is_random(applied: Applied) -> bool:
    counts = (lowered.counts for lowered, _ in applied.parts)
    return any(function == _RANDOM for one in counts for function, _ in (*one.histogram, *one.index))


def _bytes(cost: GraphCost, names: Iterable[str]) -> int | None:
    """Return the bytes of some values, if they are a number."""
    total = total_known(cost.bytes(name) for name in names if name)
    return None if total is None else total.constant
