"""Running a model through the definitions: every node by the program of its operator, on arrays.

This is for checking definitions against models, not for speed.  Weights are needed here, so they
must be inside of the file; graphs inside of nodes are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnx import ModelProto

from tolcost.algebra import const
from tolcost.catalogue.binding import formals
from tolcost.catalogue.nodes import node_of
from tolcost.catalogue.specs import Library, Spec
from tolcost.catalogue.types import Array, array_of, space_of_dtype, static_value
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Cast
from tolcost.execute import run_vectorised
from tolcost.models.bodies import resolved_steps
from tolcost.models.known import Known, frozen
from tolcost.models.lowering import Given, Lowered, Setting, lower
from tolcost.models.model import Function, FunctionKey, Step
from tolcost.models.reading import model_of, parse_model, step_of

STEPS = 20_000_000_000
Values = dict[str, "Array | None"]


@dataclass(slots=True)
class Runner:
    """Runs the nodes of one model; cases that occur again are lowered once."""

    library: Library
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, Function] = field(default_factory=dict)
    seen: Callable[[Step, Sequence[Array]], None] | None = None
    eops: int = 0
    _lowered: dict[object, Lowered] = field(default_factory=dict)
    _steps: dict[tuple[object, ...], tuple[Step, ...]] = field(default_factory=dict)

    def run(self, steps: Sequence[Step], values: Values) -> None:
        """Run nodes in their order; what they give is added to the values."""
        for step in steps:
            given = [values[name] if name else None for name in step.inputs]
            found = self._node(step, given)
            values.update((name, array) for name, array in zip(step.outputs, found, strict=False) if name)
            if self.seen is not None:
                self.seen(step, [array for array in found if array is not None])

    def _node(self, step: Step, given: Sequence[Array | None]) -> Sequence[Array | None]:
        function = self.functions.get((step.domain, step.op, step.proto.overload))
        if function is not None:
            return self._function(step, function, given)
        if step.op == "Constant" and not step.domain and step.proto.attribute[0].name == "value":
            return [array_of(step.proto.attribute[0].t)]
        spec = self.library.find(step.domain, step.op, self.opsets.get(step.domain))
        if spec is None or step.free:
            raise Rejected(Diagnostic("T0678", f"{step.op} {quoted(step.name)} cannot be run"))
        return self._operator(step, spec, given)

    def _operator(self, step: Step, spec: Spec, given: Sequence[Array | None]) -> Sequence[Array | None]:
        lowered = self._lower(step, spec, given)
        arrays = _by_name(spec, given)
        used = {needed.name: arrays[needed.name] for needed in lowered.program.inputs}
        execution = run_vectorised(lowered.program, used, max_steps=STEPS)
        self.eops += execution.counts.eops
        outputs = (execution.outputs.get(title) for title in lowered.titles)
        return [found if not isinstance(found, tuple) else found[0] for found in outputs]

    def _lower(self, step: Step, spec: Spec, given: Sequence[Array | None]) -> Lowered:
        declared = formals(spec, len(given))
        known = tuple(
            None if array is None else _known(array, n < len(declared) and declared[n].kind == "static")
            for n, array in enumerate(given)
        )
        key = (step.op, step.domain, step.asked, step.attributes, tuple(map(frozen, known)))
        if key not in self._lowered:
            setting = Setting(self.library, self.opsets)
            found = lower(setting, node_of(step.proto), spec, Given(known, step.inputs))
            if isinstance(found, Rejected):
                raise found
            self._lowered[key] = found
        return self._lowered[key]

    def _function(
        self, step: Step, function: Function, given: Sequence[Array | None]
    ) -> Sequence[Array | None]:
        inner = Runner(
            self.library,
            {**self.opsets, **function.opsets},
            self.functions,
            None,
            0,
            self._lowered,
            self._steps,
        )
        padded = (*given, *[None] * len(function.inputs))
        values: Values = dict(zip(function.inputs, padded, strict=False))
        inner.run(resolved_steps(function, step, self._steps), values)
        self.eops += inner.eops
        return [values[name] for name in function.outputs]


def _known(array: Array, static: bool) -> Known:
    space = space_of_dtype(array.dtype)
    return Cast(static_value(array), space) if static else Tensor(tuple(map(const, array.shape)), space)


def _by_name(spec: Spec, given: Sequence[Array | None]) -> dict[str, Array]:
    """Arrays under the names that a lowered program has for its inputs."""
    found: dict[str, Array] = {}
    for n, (statement, array) in enumerate(zip(formals(spec, len(given)), given, strict=False)):
        name = f"{statement.name}.{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        if array is not None:
            found[name] = array
    return found


def run_model(
    proto: ModelProto,
    inputs: Mapping[str, Array],
    library: Library,
    seen: Callable[[Step, Sequence[Array]], None] | None = None,
) -> tuple[dict[str, Array], int]:
    """The outputs of a model on arrays, and how many elementary functions computing them took."""
    model = model_of(proto, proto.graph.name)
    runner = Runner(library, model.opsets, model.functions, seen)
    values: Values = {tensor.name: array_of(tensor) for tensor in proto.graph.initializer}
    values.update(inputs)
    runner.run([step_of(node) for node in proto.graph.node], values)
    found = {name: values[name] for name in model.graph.outputs}
    return {name: array for name, array in found.items() if array is not None}, runner.eops


def run_file(path: Path, inputs: Mapping[str, Array], library: Library) -> dict[str, Array]:
    """The outputs of a model file on arrays."""
    return run_model(parse_model(path.read_bytes(), path.name), inputs, library)[0]
