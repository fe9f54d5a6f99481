"""What a whole model costs: the walk over its graph, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tolcost.algebra import Poly, Symbol, substitute
from tolcost.atoms.nodes import Condition
from tolcost.models.known import Known, bytes_known, replaced
from tolcost.models.model import Model
from tolcost.models.walking import Applied, Functions, Session, Walk


@dataclass(frozen=True, slots=True, eq=False)
class GraphCost:
    """What the nodes of a model's graph come to, one by one, and what is known of all its values."""

    model: Model
    nodes: tuple[Applied, ...]
    walk: Walk
    equal: Mapping[Symbol, Poly]
    dimensions: Mapping[str, Poly]
    assumed: tuple[str, ...]
    """Values whose shape only the file tells."""

    def known(self, name: str) -> Known | None:
        """What is known of a value of the graph."""
        return self.walk.known(name)

    def bytes(self, name: str) -> Poly | None:
        """The bytes of a value while the model runs; None where they are not known."""
        known = self.walk.known(name)
        return None if known is None else bytes_known(known)


def analyze_graph(model: Model, session: Session, dims: Mapping[str, int] | None = None) -> GraphCost:
    """Walk a model's graph; lengths in ``dims`` are numbers from the start."""
    walk = Walk(session, model.opsets, Functions(model.functions), dims or {})
    walk.enter(model.graph)
    nodes = tuple(walk.run(model.graph.steps))
    return GraphCost(model, nodes, walk, walk.equal, walk.dimensions, tuple(walk.assumed))


def conditions_of(cost: GraphCost) -> tuple[Condition, ...]:
    """What the forms of a model rely on, each once, in terms of the lengths that remain."""
    from tolcost.models.conditions import gathered_conditions

    return gathered_conditions(cost)


__all__ = ["GraphCost", "analyze_graph", "replaced", "substitute"]
