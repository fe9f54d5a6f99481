"""Gradients held to differences of values: <dy, J v> by runs of the program, <J^T dy, v> by its derivative.

The derivative is printed as ToLang and read again before it runs, and its counts are held to closed forms.
Nothing here knows how a derivative is made.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tolcost.algebra import Poly, substitute
from tolcost.atoms.kit import program_nodes
from tolcost.atoms.nodes import Input, Program
from tolcost.atoms.tolang import tolang
from tolcost.catalogue.conformance import count_difference
from tolcost.catalogue.specs import open_library
from tolcost.cost import count
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_reference, run_vectorised
from tolcost.execute.inputs import lengths_by_name, value_of
from tolcost.gradient import GradientRequest, derivative
from tolcost.pipeline import lower, read_program
from tolcost.platform import with_deep_stack
from tolcost.spaces import SPACES, kind_of

Arrays = Mapping[str, tuple[np.ndarray, ...]]
Sides = tuple[float, float]
"""The slopes before and after a point."""


class Outcome(Struct, frozen=True):
    """What a check found: a problem, or None, and the derivative with its counts."""

    problem: str | None
    eops: int = 0
    forward: int = 0
    text: str = ""


def again(text: str) -> Program:
    """Read a printed program."""
    parsed = read_program(Source("derivative.tol", text), open_library())
    return lower(parsed, arguments(parsed.program, {}, {})).program


def derived(program: Program, wanted: GradientRequest | None = None) -> tuple[Program, str]:
    """Return the derivative of a program as it is after printing and reading, with its text."""
    made = with_deep_stack(lambda: derivative(program, wanted))
    text = with_deep_stack(lambda: tolang(made))
    return with_deep_stack(lambda: again(text)), text


def check(
    program: Program,
    arrays: Arrays,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    wanted: GradientRequest | None = None,
    directions: int = 2,
    made: tuple[Program, str] | None = None,
) -> Outcome:
    """Compare the derivative of a program with differences of its values, at arrays."""
    rng = np.random.default_rng(seed)
    read, text = made or derived(program, wanted)
    known = dict(arrays)
    lengths = dict(lengths_by_name(program, known, dims or {}))
    plain = run_vectorised(program, known, lengths)
    outputs = [o.name for o in program.outputs]
    cotangents = {}
    own = len(program.inputs)
    for needed in read.inputs[own:]:
        shape = tuple(value_of(bound(length, plain.bindings), {}) for length in needed.type[0].shape)
        cotangents[needed.name] = (rng.uniform(-1, 1, shape),)
    given = {one.name: known[old.name] for old, one in zip(program.inputs, read.inputs, strict=False)}
    given |= cotangents
    names = {symbol.name for symbol in read.symbols}
    there = {name: value for name, value in lengths.items() if name in names}
    result = run_vectorised(read, given, there)
    counts = count(read)
    problem = count_difference(counts, result)
    if problem is not None:
        return Outcome(f"counts: {problem}", text=text)
    plainly = run_reference(read, given, there)
    if plainly.counts != result.counts:
        return Outcome("the interpreters count differently", text=text)
    eops = sum(result.counts.histogram.values())
    forward = sum(plain.counts.histogram.values())
    wanted_inputs = (wanted and wanted.inputs) or [
        one.name for one in program.inputs if any(kind_of(part.space) == "R" for part in one.type)
    ]
    gradients = {
        name: parts_of(result.outputs[output.name])
        for name, output in zip(wanted_inputs, read.outputs, strict=True)
    }
    for _ in range(directions):
        problem = _compare(program, known, lengths, gradients, cotangents, outputs, rng)
        if problem is not None:
            return Outcome(problem, eops, forward, text)
    return Outcome(None, eops, forward, text)


def bound(length: Poly, bindings: Mapping[object, int]) -> Poly:
    """Put what a run found for its lengths into a form."""
    by_name = {getattr(symbol, "name", ""): value for symbol, value in bindings.items()}
    return substitute(length, {symbol: by_name[symbol.name] for symbol in length.free})


def parts_of(value: object) -> tuple[np.ndarray, ...]:
    """Return the components of a value."""
    return value if isinstance(value, tuple) else (np.asarray(value),)


def _compare(
    program: Program,
    arrays: Arrays,
    lengths: Mapping[str, int],
    gradients: Mapping[str, tuple[np.ndarray, ...]],
    cotangents: Mapping[str, tuple[np.ndarray, ...]],
    outputs: list[str],
    rng: np.random.Generator,
) -> str | None:
    by_name = {needed.name: needed for needed in program.inputs}
    direction = {name: tuple(_directed(by_name[name], arrays[name], rng)) for name in gradients}
    pairs = [
        (np.asarray(g, np.float64), v)
        for name, parts in gradients.items()
        for g, v in zip(parts, _real(by_name[name], direction[name]), strict=True)
    ]
    if any(g.shape != v.shape for g, v in pairs):
        return "a gradient has another shape than its input"
    product = sum(float(np.sum(g * v)) for g, v in pairs)
    if is_narrow(program):
        return None  # steps are larger than any difference; the derivative of a conversion is 1
    coarse = is_coarse(program)
    steps = (3e-2, 1e-2) if coarse else (1e-4, 3e-5)
    found, sides = [], []
    for step in steps:
        ends = []
        for sign in (1, 0, -1):
            moved = dict(arrays)
            for name, parts in direction.items():
                moved[name] = tuple(
                    (np.asarray(a, np.float64) + sign * step * v).astype(a.dtype)
                    for a, v in zip(arrays[name], parts, strict=True)
                )
            run = run_vectorised(program, moved, lengths)
            total = 0.0
            for name in outputs:
                parts = parts_of(run.outputs[name])
                for k, part in enumerate(parts):
                    plain = name.replace(".", "_")
                    seed = cotangents.get(f"d_{plain}" if len(parts) == 1 else f"d_{plain}_{k + 1}")
                    if seed is not None:
                        total += float(np.sum(np.asarray(part, np.float64) * seed[0]))
            ends.append(total)
        found.append((ends[0] - ends[2]) / (2 * step))
        sides.append(((ends[1] - ends[2]) / step, (ends[0] - ends[1]) / step))
    if not np.isfinite(found).all():
        return None
    size = max(1.0, abs(found[0]), abs(product))
    near = 2e-2 if coarse else 1e-5
    if abs(found[0] - found[1]) > near * size:
        return None if np.isfinite(product) else "not finite"  # a kink lies between
    is_off = not np.isfinite(product) or abs(found[1] - product) > near * size
    if is_off and not _is_at_kink(sides[0], sides[1], product, near * size):
        return f"differences say {found[1]:.9g}, the derivative {product:.9g}"
    return None


def _is_at_kink(wide: Sides, narrow: Sides, product: float, near: float) -> bool:
    """Whether a kink is much nearer than the steps, and the product is a slope beside it, or in between.

    Central differences then agree with each other on the mean of both slopes.  Where a function is smooth,
    the slopes before and after a point differ in proportion to the step.
    """
    jump = abs(narrow[1] - narrow[0])
    is_kink = jump > near and jump > abs(wide[1] - wide[0]) / 2
    return is_kink and min(narrow) - near <= product <= max(narrow) + near


def _real(needed: Input, parts: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    return [p for p, part in zip(parts, needed.type, strict=True) if kind_of(part.space) == "R"]


def _directed(needed: Input, parts: tuple[np.ndarray, ...], rng: np.random.Generator) -> list[np.ndarray]:
    return [
        rng.uniform(-1, 1, np.shape(array)) if kind_of(part.space) == "R" else np.zeros(np.shape(array))
        for part, array in zip(needed.type, parts, strict=True)
    ]


_NARROW = frozenset(name for name, space in SPACES.items() if space.kind == "R" and (space.bits or 64) < 16)


def is_narrow(program: Program) -> bool:
    """Tell whether a program has numbers of fewer than 16 bits."""
    return any(part.space in _NARROW for node in program_nodes(program) for part in node.type)


def is_coarse(program: Program) -> bool:
    """Tell whether a program rounds to 32 bits or fewer somewhere."""
    return any(
        part.space in ("float32", "float16", "bfloat16")
        for node in program_nodes(program)
        for part in node.type
    )
