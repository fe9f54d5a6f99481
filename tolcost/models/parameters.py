"""What a model holds: parameters, however they are stored, and what goes in and out.

A parameter is an element of a tensor that does not depend on the inputs: an initializer (dense,
sparse or in a file beside the model), a constant of a node, or a tensor that a node makes from
constants alone (as ``ConstantOfShape`` does).  Indices, masks, single numbers of no dimension and what
only decides shapes are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tolcost.algebra import ZERO, Poly, const, product_of, total_of
from tolcost.catalogue.binding import formals
from tolcost.cost.traffic import bits_of, bytes_of
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.inner import inner_weights
from tolcost.models.known import Known, as_tensor, is_value, shape_of
from tolcost.models.model import Step

_NEVER = ("int64", "bool", "string")
"""Tensors of these are indices, masks and texts, not parameters."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Parameters, their bytes, and bytes of inputs and outputs; None where something has no size."""

    parameters: Poly
    parameter_bytes: Poly | None
    input_bytes: Poly | None
    output_bytes: Poly | None

    @property
    def bytes(self) -> Poly | None:
        """What a run must at least read and write: parameters and inputs, outputs."""
        if self.parameter_bytes is None or self.input_bytes is None or self.output_bytes is None:
            return None
        return self.parameter_bytes + self.input_bytes + self.output_bytes


def holdings(cost: GraphCost) -> Holdings:
    """What a model holds, is given and gives."""
    known = [*(cost.known(name) for name in _sources(cost)), *_inside(cost)]
    tensors = [t for item in known if (t := _tensor(item)) and t.space not in _NEVER]
    stored = [weight.nonzero for weight in cost.model.graph.weights.values() if weight.nonzero is not None]
    counts = total_of(product_of(t.shape) for t in tensors) if tensors else ZERO
    return Holdings(
        counts + sum(stored),
        _bytes(tensors),
        _bytes_of(cost, (given.name for given in cost.model.graph.inputs)),
        _bytes_of(cost, cost.model.graph.outputs),
    )


def _tensor(known: Known | None) -> Tensor | None:
    found = None if known is None else as_tensor(known)
    return found if isinstance(found, Tensor) else None


def _bytes(tensors: Iterable[Tensor]) -> Poly | None:
    sizes: list[Poly] = []
    for tensor in tensors:
        bits = bits_of(tensor.space)
        if bits is None:
            return None
        sizes.append(bytes_of(tensor.shape, bits))
    return total_of(sizes) if sizes else ZERO


def _bytes_of(cost: GraphCost, names: Iterable[str]) -> Poly | None:
    sizes = []
    for name in names:
        known = cost.known(name)
        tensor = _tensor(known)
        size = cost.bytes(name) if tensor is None else _bytes([tensor])
        if size is None:
            return None
        sizes.append(size)
    return total_of(sizes) if sizes else const(0)


# ---- which tensors hold parameters -------------------------------------------------------


def _sources(cost: GraphCost) -> Iterator[str]:
    """The names of tensors that hold parameters."""
    initial = [name for name, weight in cost.model.graph.weights.items() if weight.nonzero is None]
    found = [name for name in (*initial, *_made(cost)) if not _single(cost.known(name))]
    values = {name for name in found if is_value(cost.known(name))}
    used = _used_as_data(cost, values)
    yield from (name for name in found if name not in values or name in used)


def constant_names(cost: GraphCost) -> set[str]:
    """The values that do not depend on the inputs of the model."""
    found = {"", *cost.model.graph.weights}
    for step in cost.model.graph.steps:
        if found.issuperset(step.inputs) and found.issuperset(step.free):
            found.update(step.outputs)
    return found


def _inside(cost: GraphCost) -> Iterator[Known]:
    """What graphs inside of nodes hold."""
    for step in cost.model.graph.steps:
        if step.graphs:
            yield from (Tensor(tuple(map(const, w.shape)), w.space) for w in inner_weights(step.proto))


def _made(cost: GraphCost) -> Iterator[str]:
    """Outputs of nodes that hold a tensor themselves, or make one from nothing but known values."""
    constant = constant_names(cost)
    for step in cost.model.graph.steps:
        names = [name for name in (*step.inputs, *step.free) if name]
        if constant.issuperset(names) and all(is_value(cost.known(name)) for name in names):
            known = ((name, cost.known(name)) for name in step.outputs if name)
            yield from (name for name, item in known if is_value(item) or isinstance(item, Tensor))


def _single(known: Known | None) -> bool:
    """Whether something is a number of its own, of no dimension: a part of the formula, not a parameter."""
    return is_value(known) and not shape_of(known)


def _used_as_data(cost: GraphCost, names: set[str]) -> set[str]:
    """Those of some values that meet data somewhere: the others only decide shapes."""
    demanded: dict[tuple[str, str, int], tuple[bool, ...]] = {}
    used: set[str] = set()
    for step in cost.model.graph.steps:
        if names.isdisjoint(step.inputs) or all(is_value(cost.known(o)) for o in step.outputs if o):
            continue
        key = (step.op, step.domain, len(step.inputs))
        if key not in demanded:
            demanded[key] = _demanded(cost, step)
        used.update(name for name, static in zip(step.inputs, demanded[key], strict=True) if not static)
    return used & names


def _demanded(cost: GraphCost, step: Step) -> tuple[bool, ...]:
    """For each input of a node, whether its operator must know it while compiling."""
    count = len(step.inputs)
    spec = cost.session.library.find(step.domain, step.op, cost.model.opsets.get(step.domain))
    known = [statement.kind == "static" for statement in formals(spec, count)] if spec else []
    return (*known, *[False] * (count - len(known)))
