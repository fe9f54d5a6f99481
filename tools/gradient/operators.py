"""Hold the gradients of ONNX's operators to PyTorch, or to differences, and record what came of each.

    python -m tools.gradient.operators reports/data/gradients.json      (needs torch; minutes)
    python -m tools.gradient.operators FILE --operators Conv,Pad        these only; others stay as they are

Inputs are those of ONNX's node tests, in float64: moved a little, away from kinks; at other lengths, with the
same derived program; and rounded to whole numbers, where there are ties and boundaries.  A function of
PyTorch counts for a case if its value is that of the definition.  Other cases are held to differences.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import Struct, field

from tolcost.atoms.nodes import Program
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.cases import (
    Case,
    arrays_in,
    derive,
    load_cases,
    plain,
    recorded_cases,
)
from tolcost.catalogue.graph import met
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tolcost.execute import Execution
from tools.gradient.keeping import kept_here, kept_there
from tools.gradient.own_cases import own_cases
from tools.gradient.points import (
    COARSE,
    NEAR,
    Point,
    adjoint_of,
    at_other_lengths,
    changed,
    difference_errors,
    error_of,
    moved,
    near_of,
    point_at,
    real_inputs,
    rounded,
    widened,
)
from tools.gradient.products import derived, is_coarse, is_narrow, parts_of
from tools.gradient.torch_further import FURTHER
from tools.gradient.torch_operators import FUNCTIONS
from tools.gradient.torch_rarer import RARER

SECONDS_EACH, MOST_CASES = 15, 5
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft")


class Record(Struct):
    """What came of an operator: cases held to PyTorch, to differences, or to nothing."""

    operator: str
    torch: int = 0
    differences: int = 0
    shapes: int = 0
    ties: int = 0
    other_at_ties: int = 0
    kinks: int = 0
    counted: int = 0
    error: float = 0.0
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    kept: dict[str, Any] | None = None

    def held(self, how: str, error: float, where: str, near: float) -> None:
        """Note a case: a larger error than allowed is wrong."""
        if not error <= near:
            self.wrong.append(f"{where}: off by {error:.2g} from {how}")
            return
        self.error = max(self.error, error)
        setattr(self, how, getattr(self, how) + 1)


# ---- PyTorch -----------------------------------------------------------------------------------


class Given(Struct, frozen=True, eq=False):
    """What PyTorch computes for an operator: outputs by their names, from inputs by theirs."""

    outputs: dict[str, torch.Tensor]
    inputs: dict[str, torch.Tensor]


def as_torch(case: Case, spec: Spec, program: Program, values: Execution) -> Given | None:
    """Return what PyTorch computes; None if there is no function, or it gives other values."""
    run = FUNCTIONS.get(case.node.op) or FURTHER.get(case.node.op) or RARER.get(case.node.op)
    if run is None:
        return None
    real = real_inputs(program)
    leaves: dict[str, torch.Tensor] = {}
    given: list[Any] = []
    attributes = {name: plain(value) for name, value in attribute_values(case.node).items()}
    attributes |= case.node.graphs
    try:
        declared = met(spec.inputs, len(case.inputs))
        for n, (statement, item) in enumerate(zip(declared, case.inputs, strict=False)):
            place = n + 2 - len(spec.inputs)
            base = f"{statement.name}.{place}" if statement.variadic else statement.name
            names = [f"{base}.{k}" for k in range(1, len(item) + 1)] if isinstance(item, tuple) else [base]
            arrays = arrays_in(item)
            tensors = [_tensor(a, name in real) for a, name in zip(arrays, names, strict=False)]
            leaves |= dict(zip(names, tensors, strict=False))
            given.append(None if item is None else tensors if isinstance(item, tuple) else tensors[0])
        found = run(*given, **attributes)
    except Exception:  # a case that the function does not know is held to differences
        return None
    results = list(found) if isinstance(found, list | tuple) else [found]
    outputs = {one.name: result for one, result in zip(program.outputs, results, strict=False)}
    for name, result in outputs.items():
        value = np.asarray(parts_of(values.outputs[name])[0])
        if error_of(result.detach().numpy(), value) > near_of(program):
            return None
    return Given(outputs, leaves)


def outputs_there(case: Case, spec: Spec, program: Program, values: Execution) -> Collection[str] | None:
    """Return the outputs that PyTorch computes."""
    found = as_torch(case, spec, program, values)
    return None if found is None else found.outputs


def _tensor(array: Any, real: bool) -> torch.Tensor:
    given = np.asarray(array)
    if given.dtype.kind not in "fiub":
        raise NotImplementedError
    tensor = torch.tensor(given)
    is_whole = not tensor.is_floating_point() and tensor.dtype != torch.bool
    tensor = tensor.long() if is_whole and not tensor.is_complex() else tensor
    return tensor.requires_grad_() if real else tensor


def torch_error(point: Point) -> float | None:
    """Return how far the gradients are from PyTorch's; None if it does not compute the operator."""
    found = as_torch(point.case, point.spec, point.program, point.plain)
    if found is None:
        return None
    leaves = found.inputs
    pairs = [
        (result, torch.tensor(adjoint))
        for name, result in found.outputs.items()
        if (adjoint := adjoint_of(point.adjoints, name)) is not None and result.requires_grad
    ]
    if not pairs:
        return None
    wanted = list(point.gradients)
    got = torch.autograd.grad(
        [r for r, _ in pairs], [leaves[n] for n in wanted], [a for _, a in pairs], allow_unused=True
    )
    errors = [
        error_of(point.gradients[name], np.zeros(leaves[name].shape) if g is None else g.numpy())
        for name, g in zip(wanted, got, strict=True)
    ]
    return max(errors, default=0.0)


# ---- operators ---------------------------------------------------------------------------------


def record_case(record: Record, case: Case, spec: Spec, library: Library) -> set[object]:
    """Hold one node test at its own and at other lengths, and with ties; return the shapes that were held."""
    wide = changed(case, spec, lambda a: moved(widened(a)))
    program = derive(wide, spec, library).lowered.program
    made, _ = derived(program)
    points = [point_at(wide, spec, program, made, outputs_there)]
    for other in at_other_lengths(wide, spec):
        try:
            points.append(point_at(other, spec, program, made, outputs_there))
            break
        except (Rejected, ValueError, IndexError):
            continue
    shapes = set()
    for point in points:
        if hold(record, point):
            shapes.add(tuple(a.shape for arrays in point.arrays.values() for a in arrays))
        if point.counted is not None:
            record.wrong.append(f"{case.name}: counts: {point.counted}")
        else:
            record.counted += 1
    if as_torch(wide, spec, program, points[0].plain) is not None:
        hold_ties(record, changed(wide, spec, rounded), spec, program, made)
        if record.kept is None and all(a.size for arrays in points[0].arrays.values() for a in arrays):
            record.kept = keeping(points[0], library)
    return shapes


def hold(record: Record, point: Point) -> bool:
    """Compare the gradients at a point with PyTorch, or with differences."""
    error = torch_error(point)
    if error is not None:
        record.held("torch", error, point.case.name, near_of(point.program))
        return True
    if is_narrow(point.program) or any(name == "round" for name, _ in count(point.program).histogram):
        record.refused.append("it rounds to whole numbers or 8 bits, where differences are no measure")
        return False
    errors, kinks = difference_errors(point)
    record.kinks += kinks
    if errors:
        near = COARSE if is_coarse(point.program) else NEAR
        record.held("differences", max(errors), point.case.name, near)
    return bool(errors)


def hold_ties(record: Record, case: Case, spec: Spec, program: Program, made: Program) -> None:
    """Compare with PyTorch at whole numbers, where values are finite."""
    try:
        point = point_at(case, spec, program, made, outputs_there)
    except (Rejected, ValueError, IndexError):
        return
    values = [np.asarray(p) for v in point.plain.outputs.values() for p in parts_of(v)]
    if not all(np.isfinite(v).all() for v in values if v.dtype.kind == "f"):
        return
    error = torch_error(point)
    if error is not None:
        record.ties += error <= near_of(program)
        record.other_at_ties += not error <= near_of(program)


def keeping(point: Point, library: Library) -> dict[str, Any] | None:
    """Return the bytes that the backward pass reads of forward here, and that PyTorch saves."""

    def run() -> Given | None:
        return as_torch(point.case, point.spec, point.program, point.plain)

    found = run()
    if found is None:
        return None
    arrays = {name: a[0] for name, a in point.arrays.items()}
    arrays |= {name: np.asarray(parts_of(v)[0]) for name, v in point.plain.outputs.items()}
    here = kept_here(point.case, point.spec, library, point.program, tuple(found.outputs), arrays)
    return None if here is None else {"here": here, "torch": kept_there(lambda: saved_by(run))}


def saved_by(run: Callable[[], Given | None]) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Run the function of PyTorch again; return inputs and outputs."""
    found = run()
    assert found is not None
    return found.inputs, found.outputs


def record_operator(title: str, spec: Spec, cases: list[Case], library: Library) -> Record:
    """Record what comes of the tests of an operator, the small ones first."""
    record, shapes = Record(title), set[object]()
    ordered = sorted(cases, key=lambda case: sum(a.size for item in case.inputs for a in arrays_in(item)))
    several = [case for case in ordered if any(a.ndim for item in case.inputs for a in arrays_in(item))]
    tried, start = 0, time.monotonic()
    for case in several or ordered:
        enough = tried >= MOST_CASES and (len(shapes) > 1 or not shapes)
        if enough or time.monotonic() - start > 2 * SECONDS_EACH:
            break
        signal.alarm(SECONDS_EACH)
        try:
            found = record_case(record, case, spec, library)
            tried, shapes = tried + bool(found), shapes | found
        except Rejected as rejected:
            told = rejected.diagnostics[0]
            tried += told.code != "T0901"
            record.refused.append(f"{told.code}: {told.message}"[:160])
        except TimeoutError:
            record.refused.append("too slow")
        except Exception as error:
            record.refused.append(f"crash {case.name}: {type(error).__name__}: {error}"[:160])
        signal.alarm(0)
    record.shapes = len(shapes)
    record.refused = list(dict.fromkeys(record.refused))
    return record


def _expired(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Record the operators asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--operators", default="", help="names, separated by commas")
    asked = parser.parse_args()
    file: Path = asked.file
    known = json.loads(file.read_text("utf-8"))["operators"] if file.exists() else {}
    wanted = [name for name in asked.operators.split(",") if name]
    library = open_library()
    by_title: dict[str, list[Case]] = {}
    for case in (*load_cases(), *recorded_cases(library), *own_cases()):
        by_title.setdefault(case.node.title, []).append(case)
    signal.signal(signal.SIGALRM, _expired)
    every = [(domain, op) for domain in DOMAINS for op in sorted(library.names(domain))]
    for domain, op in every:
        title = f"{domain}.{op}" if domain else op
        if wanted and title not in wanted:
            continue
        newest = library.versions(domain, op)[-1]
        there = [case for case in by_title.get(title, []) if library.find(domain, op, case.opset) is newest]
        record = record_operator(title, newest, there, library)
        known[title] = {
            key: value
            for key in record.__struct_fields__
            if (value := getattr(record, key)) or key == "error"
        }
        print(title, known[title], flush=True)
        ordered = {name: known[name] for name in sorted(known)}
        data = {"torch": torch.__version__, "operators": ordered}
        file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
