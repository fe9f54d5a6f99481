"""Running what the paper prints: on the vectors of ONNX's own tests, or beside the verified definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tolcost.atoms.nodes import Program
from tolcost.catalogue.cases import Case
from tolcost.catalogue.compare import value_difference
from tolcost.catalogue.specs import Library
from tolcost.catalogue.types import Array
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Argument
from tolcost.elaborate.arguments import Plain, arguments
from tolcost.execute import run_reference
from tolcost.execute.inputs import nested_array
from tolcost.report.audit.instances import Instance, literal, lower_instance, lower_source
from tolcost.report.audit.readings import Trial
from tolcost.syntax import parse

Cases = Mapping[str, Case]
_RTOL, _ATOL = 1e-5, 1e-7


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial: whether the print gave what ONNX says, and how it did not."""

    on: str
    status: Literal["same", "differs", "stops"]
    detail: str = ""


def attempt(source: Source, op: str, trial: Trial, cases: Cases, library: Library) -> Outcome:
    """Run a printed program, and hold what it gives to what it should give."""
    on = trial.node or _values_text(trial)
    expected, rtol, atol = _expected(op, trial, cases, library)
    try:
        found = _run(source, trial, cases, library)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        return Outcome(on, "stops", f"{first.code} {first.message}")
    problem = _difference(found, expected, trial.exact_shape, rtol, atol)
    return Outcome(on, "same") if problem is None else Outcome(on, "differs", problem)


def _values_text(trial: Trial) -> str:
    pairs = {**trial.inputs, **trial.attrs}
    return ", ".join(f"{name} = {literal(value)}" for name, value in pairs.items())


def _expected(op: str, trial: Trial, cases: Cases, library: Library) -> tuple[Array, float, float]:
    if trial.node is not None:
        case = cases[trial.node]
        return _array(case.outputs[0], trial.node), case.rtol, case.atol
    arrays = {name: nested_array(_nested(value), name) for name, value in trial.operator_inputs.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    lowered = lower_instance(Instance(op, shapes, trial.operator_attrs, 1), library)
    return _only_output(lowered.program, arrays), _RTOL, _ATOL


def _nested(value: Plain) -> Plain:
    return tuple(map(_nested, value)) if isinstance(value, list | tuple) else value


def _run(source: Source, trial: Trial, cases: Cases, library: Library) -> Array:
    lowered = lower_source(source, library, _given(source, trial, cases))
    ranks = {needed.name: len(needed.type[0].shape) for needed in lowered.program.inputs}
    arrays = {name: _laid_out(trial, cases, name, ranks.get(name)) for name in trial.inputs}
    return _only_output(lowered.program, arrays)


def _given(source: Source, trial: Trial, cases: Cases) -> dict[str, Argument]:
    """Give the values known while compiling: written in the trial, or attributes of the node."""
    written = {name: value for name, value in trial.attrs.items() if not isinstance(value, str)}
    given = arguments(parse(source), {}, written)
    for name, attribute in trial.attrs.items():
        if isinstance(attribute, str) and trial.node is not None:
            given[name] = cases[trial.node].node.attributes[attribute]
    return given


def _laid_out(trial: Trial, cases: Cases, name: str, rank: int | None) -> Array:
    """Give an input in the rank that the print has for it; a vector may be any ToL laid flat."""
    value = trial.inputs[name]
    if trial.node is not None and isinstance(value, int):
        array = _array(cases[trial.node].inputs[value], trial.node)
    else:
        array = nested_array(_nested(value), name)
    if name in trial.shapes:
        return array.reshape(tuple(trial.shapes[name]))
    return array.reshape(-1) if rank == 1 else array


def _array(item: object, name: str) -> Array:
    if item is None or isinstance(item, tuple):
        raise Rejected(Diagnostic("T0341", f"{name} has no single tensor there"))
    return item  # type: ignore[return-value]  # an item that is neither is an array


def _only_output(program: Program, arrays: Mapping[str, Array]) -> Array:
    used = {needed.name: arrays[needed.name] for needed in program.inputs if needed.name in arrays}
    value = next(iter(run_reference(program, used).outputs.values()))
    return value[0] if isinstance(value, tuple) else value


def _difference(found: Array, expected: Array, exact_shape: bool, rtol: float, atol: float) -> str | None:
    if found.size != expected.size:
        return f"{found.size} elements, not {expected.size}"
    if exact_shape and found.shape != expected.shape:
        return f"shape {list(found.shape)}, not {list(expected.shape)}"
    alike = found.reshape(expected.shape).astype(expected.dtype)
    return value_difference(alike, expected, rtol, atol)
