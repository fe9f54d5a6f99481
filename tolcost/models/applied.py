"""What a node of a model comes to: operators that are applied, and what could not be costed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tolcost.algebra import ZERO, Poly, Symbol
from tolcost.atoms.nodes import ATOMS, Program
from tolcost.catalogue.graph import HOLDS_A_TENSOR, GraphNode
from tolcost.cost import Counts, Traffic
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import Diagnostic
from tolcost.models.facts import UNKNOWN
from tolcost.models.lowered import Lowered, Told

HELD = Lowered(
    op=HOLDS_A_TENSOR[1],
    domain=HOLDS_A_TENSOR[0],
    made=Told(Counts({}, {}, dict.fromkeys(ATOMS, ZERO), ZERO, (), "exact"), Traffic({}, {}), ()),
    conditions=(),
    equal={},
    data=frozenset(),
    lowered=Program(HOLDS_A_TENSOR[1], (), (), ()),
)
"""A node that only holds a tensor: nothing is computed, and nothing moves that is no parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncosted:
    """An operator that could not be costed, how often it is applied, why, and whether it has a definition.

    ``waits`` is its input of which nothing is known, where that is the reason.
    """

    op: str
    times: int
    why: Diagnostic
    defined: bool = True
    waits: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What a node comes to: operators with how often each is applied, and numbers of what it gives.

    ``equal`` are lengths that it makes equal, and those that it needs to be larger, as lengths that are;
    ``data`` tells whether only data decides something.
    """

    outputs: tuple[int, ...]
    parts: tuple[tuple[Lowered, int], ...]
    uncosted: tuple[Uncosted, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    data: bool = False


def not_costed(node: GraphNode, why: Diagnostic, defined: bool = True) -> Applied:
    """A node of which nothing is known."""
    return Applied((UNKNOWN,) * len(node.outputs), (), (Uncosted(node.title, 1, why, defined),))


def is_anybodys(applied: Applied) -> bool:
    """Whether a node came to what it does for no reason that has the name of something in its model."""
    return not (applied.uncosted or applied.data) and not any(
        part.conditions or part.equal or part.choices or part.inside for part, _ in applied.parts
    )


def gathered(found: Iterable[Applied], outputs: tuple[int, ...], equal: Mapping[Symbol, Poly]) -> Applied:
    """Several nodes as one."""
    parts: Counter[Lowered] = Counter()
    uncosted: dict[tuple[str, str], Uncosted] = {}
    for applied in found:
        for lowered, times in applied.parts:
            parts[lowered] += times
        for item in applied.uncosted:
            key = (item.op, item.why.message)
            before = uncosted.get(key)
            uncosted[key] = item if before is None else replace(before, times=before.times + item.times)
    data = any(lowered.data for lowered in parts)
    return Applied(outputs, tuple(parts.items()), tuple(uncosted.values()), equal, data)
