"""What a node of a graph comes to: operators it applies, what it gives, and what is not costed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tolcost.algebra import ZERO, Poly, Symbol, const
from tolcost.atoms.nodes import ATOMS, Program
from tolcost.cost import Counts, Traffic
from tolcost.diagnostics import Diagnostic
from tolcost.elaborate import Tensor
from tolcost.models.known import UNKNOWN, Known
from tolcost.models.lowering import Lowered
from tolcost.models.model import Step, Weight
from tolcost.models.reading import weight_of

HELD = Lowered(
    op="Constant",
    domain="",
    counts=Counts({}, {}, dict.fromkeys(ATOMS, ZERO), ZERO, (), "exact"),
    traffic=Traffic({}, {}),
    outputs=(),
    conditions=(),
    equal={},
    data=frozenset(),
    program=Program("Constant", (), (), ()),
)
"""A node that only holds a tensor: nothing is computed, and nothing moves that is no parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncosted:
    """An operator that could not be costed, how often it is applied, why, and whether it has a definition."""

    op: str
    times: int
    why: Diagnostic
    defined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What a node comes to: operators with how often each is applied, and numbers of what it gives.

    ``equal`` are lengths that it makes equal; ``data`` tells whether only data decides something.
    """

    outputs: tuple[int, ...]
    parts: tuple[tuple[Lowered, int], ...]
    uncosted: tuple[Uncosted, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    data: bool = False


def title_of(step: Step) -> str:
    """The operator of a node, with its domain where that is not ONNX's own."""
    return f"{step.domain}.{step.op}" if step.domain else step.op


def known_weight(weight: Weight) -> Known:
    """What is known of a tensor that the model holds."""
    if weight.value is not None:
        return weight.value  # type: ignore[return-value]  # a value of the elaborator, kept opaque there
    return Tensor(tuple(map(const, weight.shape)), weight.space)


def held_tensor(step: Step) -> Weight | None:
    """The tensor of a node that does nothing but hold one; it may be as large as any weight."""
    if step.op != "Constant" or step.domain or len(step.proto.attribute) != 1:
        return None
    attribute = step.proto.attribute[0]
    return weight_of(attribute.t) if attribute.name == "value" and attribute.HasField("t") else None


def not_costed(step: Step, why: Diagnostic, defined: bool = True) -> Applied:
    """A node of which nothing is known."""
    return Applied((UNKNOWN,) * len(step.outputs), (), (Uncosted(title_of(step), 1, why, defined),))


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
