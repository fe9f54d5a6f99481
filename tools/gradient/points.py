"""An operator and its derivative at inputs, with what differences of its values say there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tolcost.atoms.nodes import Program
from tolcost.catalogue.cases import Case, Item, arrays_by_name, arrays_in, placed
from tolcost.catalogue.conformance import count_difference
from tolcost.catalogue.specs import Spec
from tolcost.cost import count
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.execute.inputs import lengths_by_name, value_of
from tolcost.spaces import kind_of
from tools.gradient.products import Arrays, bound, is_coarse, parts_of

FEW = 20000
"""Runs of so many operations are repeated by the other interpreter."""
NEAR, STEP, KINK = 1e-6, 1e-3, 1e-5
"""The error allowed, relative to the largest number; the step of differences, and what a kink shows by."""
COARSE = 1e-2
"""The same for an operator that rounds to 32 bits inside, where a step has to be larger."""


Told = Callable[[Case, Spec, Program, Execution], Collection[str] | None]


class Point(Struct, frozen=True, eq=False):
    """An operator at some inputs, and its derivative there for random adjoints."""

    case: Case
    spec: Spec
    program: Program
    arrays: Arrays
    plain: Execution
    adjoints: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    counted: str | None


def changed(case: Case, spec: Spec, change: Callable[[np.ndarray], np.ndarray]) -> Case:
    """Return a case with its tensors changed, but those that decide lengths or ranks."""
    items: list[Item] = list(case.inputs)
    for n, (statement, _, item) in enumerate(placed(case, spec)):
        if statement.kind != "static" and item is not None:
            items[n] = tuple(map(change, item)) if isinstance(item, tuple) else change(item)
    return replace(case, inputs=tuple(items))


def widened(array: np.ndarray) -> np.ndarray:
    is_narrow = array.dtype in (np.float32, np.float16) or array.dtype.name == "bfloat16"
    return array.astype(np.float64) if is_narrow else array


def moved(array: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(array.size)
    return array + rng.uniform(0.01, 0.06, array.shape) if array.dtype == np.float64 else array


def rounded(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.round(array)) if array.dtype == np.float64 else array


def at_other_lengths(case: Case, spec: Spec) -> Iterator[Case]:
    """Yield a case at other lengths: all of them, or one wherever it stands, one more or twice as many."""
    tensors = [a for s, _, item in placed(case, spec) if s.kind != "static" for a in arrays_in(item)]
    if case.node.domain and any(a.dtype.kind in "iu" for a in tensors):
        return  # offsets and lengths of sequences, which a longer tensor would break
    lengths = sorted({n for a in tensors for n in a.shape if n > 1})
    for chosen in (lengths, *([n] for n in lengths)):
        for longer in (lambda n: n + 1, lambda n: 2 * n):
            to = {n: longer(n) for n in chosen}
            if to and sum(np.prod([to.get(n, n) for n in a.shape]) for a in tensors) < 3000:
                yield changed(case, spec, lambda a, to=to: np.resize(a, [to.get(n, n) for n in a.shape]))


def point_at(case: Case, spec: Spec, program: Program, made: Program, outputs: Told | None = None) -> Point:
    """Run an operator and its derivative; ``outputs`` tells which outputs have a share in the gradients."""
    rng = np.random.default_rng(0)
    by_name = arrays_by_name(case, spec)
    arrays: Arrays = {one.name: _tuple(by_name[one.name]) for one in program.inputs}
    lengths = dict(lengths_by_name(program, arrays, {}))
    values = run_vectorised(program, arrays, lengths)
    own = len(program.inputs)
    adjoints = {}
    for needed in made.inputs[own:]:
        shape = tuple(value_of(bound(length, values.bindings), {}) for length in needed.type[0].shape)
        adjoints[needed.name] = rng.uniform(-1, 1, shape)
    given_there = outputs and outputs(case, spec, program, values)
    if given_there is not None:
        told = {adjoint_name(name) for name in given_there}
        adjoints = {name: a if name in told else 0 * a for name, a in adjoints.items()}
    given = {one.name: arrays[old.name] for old, one in zip(program.inputs, made.inputs, strict=False)}
    given |= {name: (adjoint,) for name, adjoint in adjoints.items()}
    names = {symbol.name for symbol in made.symbols}
    there = {name: value for name, value in lengths.items() if name in names}
    result = run_vectorised(made, given, there)
    problem = count_difference(count(made), result)
    few = sum(result.counts.histogram.values()) < FEW
    if problem is None and few and run_reference(made, given, there).counts != result.counts:
        problem = "the interpreters count differently"
    gradients = {
        name: np.asarray(parts_of(result.outputs[output.name])[0])
        for name, output in zip(real_inputs(program), made.outputs, strict=True)
    }
    return Point(case, spec, program, arrays, values, adjoints, gradients, problem)


def _tuple(item: Any) -> tuple[np.ndarray, ...]:
    return item if isinstance(item, tuple) else (item,)


def adjoint_of(adjoints: Mapping[str, np.ndarray], output: str) -> np.ndarray | None:
    return adjoints.get(adjoint_name(output))


def adjoint_name(output: str) -> str:
    return f"d_{output.replace('.', '_')}"


def real_inputs(program: Program) -> list[str]:
    """Return the inputs that have gradients."""
    return [one.name for one in program.inputs if kind_of(one.type[0].space) == "R"]


def near_of(program: Program) -> float:
    """Return the error allowed beside PyTorch."""
    return 1e-4 if is_coarse(program) else NEAR


def error_of(here: np.ndarray, there: np.ndarray) -> float:
    """Return the largest difference, relative to the largest number if that is above 1."""
    if here.shape != there.shape or not np.array_equal(np.isfinite(here), np.isfinite(there)):
        return float("inf")
    finite = np.isfinite(here)
    if not finite.any():
        return 0.0
    a, b = here[finite].astype(np.float64), there[finite].astype(np.float64)
    return float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))


# ---- differences -------------------------------------------------------------------------------


def difference_errors(point: Point, directions: int = 3) -> tuple[list[float], int]:
    """Return how far products with directions are from central differences, and how many met a kink."""
    rng = np.random.default_rng(5)
    errors, kinks = [], 0
    step, kink = (3e-2, COARSE) if is_coarse(point.program) else (STEP, KINK)
    for _ in range(directions):
        along = {
            name: rng.uniform(-1, 1, g.shape)
            for name, g in point.gradients.items()
            if point.arrays[name][0].dtype == np.float64
        }
        product = sum(float(np.sum(point.gradients[name] * v)) for name, v in along.items())
        wide, narrow = (_slope(point, along, h) for h in (step, step / 2))
        size = max(1.0, abs(narrow), abs(product))
        if not np.isfinite([wide, narrow]).all() or abs(wide - narrow) > kink * size:
            kinks += 1
            continue
        better = (4 * narrow - wide) / 3
        errors.append(abs(better - product) / size if np.isfinite(product) else float("inf"))
    return errors, kinks


def _slope(point: Point, along: dict[str, np.ndarray], step: float) -> float:
    ends = []
    for signed in (step, -step):
        arrays = dict(point.arrays)
        arrays |= {name: (arrays[name][0] + signed * v,) for name, v in along.items()}
        run = run_vectorised(point.program, arrays, lengths_by_name(point.program, arrays, {}))
        values = {name: np.asarray(parts_of(value)[0]) for name, value in run.outputs.items()}
        pairs = [(v, a) for name, v in values.items() if (a := adjoint_of(point.adjoints, name)) is not None]
        if any(value.shape != adjoint.shape for value, adjoint in pairs):
            return float("nan")  # how many numbers there are changes between the ends
        ends.append(sum(float(np.sum(value * adjoint)) for value, adjoint in pairs))
    return (ends[0] - ends[1]) / (2 * step)
