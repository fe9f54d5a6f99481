"""Running a model through the definitions: every node by the program of its operator, on arrays.

This is for checking definitions against models, not for speed.  Weights are needed here, so they
must be inside of the file; graphs inside of nodes are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from tolcost.algebra import const
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import GraphNode, Model, ModelFunction, met
from tolcost.catalogue.specs import Library, Spec
from tolcost.catalogue.types import Array, space_of_dtype, static_value
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast, frozen
from tolcost.execute import run_vectorised
from tolcost.models.facts import Known
from tolcost.models.functions import Functions
from tolcost.models.lowered import Given, Lowered, Setting
from tolcost.models.lowering import lower

STEPS = 20_000_000_000
Values = dict[str, "Array | None"]


class Runner(Struct):
    """Runs the nodes of one model; cases that occur again are lowered once."""

    library: Library
    opsets: Mapping[str, int]
    functions: Functions
    seen: Callable[[GraphNode, Sequence[Array]], None] | None = None
    eops: int = 0
    _lowered: dict[object, Lowered] = field(default_factory=dict)

    def run(self, steps: Sequence[GraphNode], values: Values) -> None:
        """Run nodes in their order; what they give is added to the values."""
        for node in steps:
            given = [values[name] if name else None for name in node.inputs]
            found = self._node(node, given)
            values.update((name, array) for name, array in zip(node.outputs, found, strict=False) if name)
            if self.seen is not None:
                self.seen(node, [array for array in found if array is not None])

    def _node(self, node: GraphNode, given: Sequence[Array | None]) -> Sequence[Array | None]:
        function = self.functions.called(node)
        if function is not None:
            return self._function(node, function, given)
        if node.held is not None:
            return [node.held.array()]
        spec = self.library.find(node.domain, node.op, self.opsets.get(node.domain))
        if spec is None or node.free:
            raise Rejected(Diagnostic("T0678", f"{node.op} {quoted(node.name)} cannot be run"))
        return self._operator(node, spec, given)

    def _operator(self, node: GraphNode, spec: Spec, given: Sequence[Array | None]) -> Sequence[Array | None]:
        lowered = self._lower(node, spec, given)
        arrays = _by_name(spec, given)
        used = {needed.name: arrays[needed.name] for needed in lowered.program.inputs}
        execution = run_vectorised(lowered.program, used, max_steps=STEPS)
        self.eops += execution.counts.eops
        outputs = (execution.outputs.get(title) for title in lowered.titles)
        return [found if not isinstance(found, tuple) else found[0] for found in outputs]

    def _lower(self, node: GraphNode, spec: Spec, given: Sequence[Array | None]) -> Lowered:
        declared = met(spec.inputs, len(given))
        known = tuple(
            None if array is None else _known(array, n < len(declared) and declared[n].kind == "static")
            for n, array in enumerate(given)
        )
        key = (node.op, node.domain, node.asked, node.key, tuple(map(frozen, known)))
        if key not in self._lowered:
            setting = Setting(self.library, self.opsets)
            found = lower(setting, node, spec, Given(known, node.inputs))
            if isinstance(found, Rejected):
                raise found
            self._lowered[key] = found
        return self._lowered[key]

    def _function(
        self, node: GraphNode, function: ModelFunction, given: Sequence[Array | None]
    ) -> Sequence[Array | None]:
        opsets = {**self.opsets, **function.opsets}
        inner = Runner(self.library, opsets, self.functions, None, 0, self._lowered)
        padded = (*given, *[None] * len(function.inputs))
        values: Values = dict(zip(function.inputs, padded, strict=False))
        inner.run(self.functions.nodes(function, node), values)
        self.eops += inner.eops
        return [values[name] for name in function.outputs]


def _known(array: Array, static: bool) -> Known:
    space = space_of_dtype(array.dtype)
    return Cast(static_value(array), space) if static else Tensor(tuple(map(const, array.shape)), space)


def _by_name(spec: Spec, given: Sequence[Array | None]) -> dict[str, Array]:
    """Arrays under the names that a lowered program has for its inputs."""
    pairs = zip(input_names(spec, len(given)), given, strict=False)
    return {name: array for name, array in pairs if array is not None}


def run_model(
    model: Model,
    inputs: Mapping[str, Array],
    library: Library,
    seen: Callable[[GraphNode, Sequence[Array]], None] | None = None,
) -> tuple[dict[str, Array], int]:
    """The outputs of a model on arrays, and how many elementary functions computing them took."""
    runner = Runner(library, model.opsets, Functions(model.functions, model.opsets), seen)
    values: Values = {name: weight.array() for name, weight in model.graph.weights.items()}
    values.update(inputs)
    runner.run(model.graph.nodes, values)
    found = {name: values[name] for name in model.graph.outputs}
    return {name: array for name, array in found.items() if array is not None}, runner.eops
