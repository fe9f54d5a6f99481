"""One program down the whole road, held to its promises at concrete lengths.

The closed forms of the cost pass, evaluated at the lengths of a run, must be what the reference
interpreter counted: every function, every index operation, every atom.  Shapes too.  The fast
interpreter must agree with the plain one in values and counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from tolcost.algebra import Poly, Symbol, evaluate, to_text
from tolcost.algebra.points import bounds_first
from tolcost.atoms.kit import schedules
from tolcost.atoms.nodes import Part, Program
from tolcost.atoms.verify import verify
from tolcost.cost import Counts, count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import Argument, Elaborated, elaborate
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.syntax import parse
from tolcost.syntax.names import resolve
from tools.programs.oracle_spaces import Unknown

MAX_STEPS = 400_000
NEVER_RAN = 1_000_003


class Mismatch(AssertionError):
    """A promise that a program breaks."""


def lowered(text: str, given: Mapping[str, Argument] | None = None) -> Elaborated:
    """The program as atoms; mistakes in the text are rejected as the command line would."""
    program = parse(Source("case.tol", text))
    problems = [d for d in resolve(program) if d.severity == "error"]
    if problems:
        raise Rejected(*problems)
    done = elaborate(program, given, name="case")
    verify(done.program)
    return done


def arrays(part: Part, dims: Mapping[Symbol, int], rng: np.random.Generator) -> np.ndarray:
    """Small values that compute without rounding, of the right shape and space."""
    shape = tuple(evaluate(length, dims) for length in part.shape)
    if part.space in ("B", "bool"):
        return rng.integers(0, 2, shape).astype(bool)
    if part.space.startswith(("N", "uint")):
        return rng.integers(0, 5, shape)
    if part.space.startswith(("Z", "int")):
        return rng.integers(-3, 5, shape)
    return rng.integers(-8, 9, shape) / 4


def lengths_of(program: Program) -> tuple[Symbol, ...]:
    """Every length that has to be known: those the program names, and those its inputs mention."""
    declared = (d for needed in program.inputs for part in needed.type for d in part.shape)
    mentioned = (symbol for d in declared for symbol in sorted(d.free, key=lambda s: s.key))
    return tuple(dict.fromkeys((*program.symbols, *mentioned)))


def inputs_for(program: Program, dims: Mapping[str, int], seed: int) -> dict[str, object]:
    """Values for every input of a program at concrete lengths."""
    symbols = {symbol: dims[symbol.name] for symbol in lengths_of(program)}
    found: dict[str, object] = {}
    for needed in program.inputs:
        rng = np.random.default_rng((seed, zlib.crc32(needed.name.encode())))
        parts = tuple(arrays(part, symbols, rng) for part in needed.type)
        found[needed.name] = parts[0] if len(parts) == 1 else parts
    return found


# ---- the promises ------------------------------------------------------------------------


def check(text: str, points: Iterable[Mapping[str, int]], seed: int = 0) -> tuple[Program, list[Execution]]:
    """Lower a program and hold it to its promises at each point; Mismatch says what broke.

    Gives the program, and what running it at the points came to.
    """
    program = lowered(text).program
    return program, hold(program, points, seed)


def hold(
    program: Program,
    points: Iterable[Mapping[str, int]],
    seed: int = 0,
    counts: Counts | None = None,
    steps: int = MAX_STEPS,
) -> list[Execution]:
    """Hold a lowered program to its promises at each point; gives what running it there came to."""
    counts, runs = counts or count(program), []
    for dims in points:
        given = inputs_for(program, dims, seed)
        run = run_reference(program, given, dims, steps)  # type: ignore[arg-type]
        same_counts(counts, run, dims)
        within_ranges(run, dims)
        same_shapes(program, run, dims)
        same_runs(run, run_vectorised(program, given, dims), dims, rounds(program))  # type: ignore[arg-type]
        runs.append(run)
    return runs


def same_counts(counts: Counts, run: Execution, dims: Mapping[str, int]) -> None:
    """The closed forms at the lengths of a run against what it counted."""
    for what, forms, found in (
        ("function", counts.histogram, run.counts.histogram),
        ("index function", counts.index, run.counts.index),
        ("atom", counts.atoms, run.counts.atoms),
    ):
        for key in sorted({*forms, *found}, key=str):
            form = forms.get(key)  # type: ignore[call-overload]
            said = 0 if form is None else at(form, run)
            counted = found.get(key, 0)  # type: ignore[call-overload]
            wrong = counted > said if counts.status == "upper bound" else counted != said
            if wrong:
                shown = "nothing" if form is None else to_text(form)
                raise Mismatch(f"{what} {key}: {shown} is {said}, counted {counted} at {dict(dims)}")
    lambdas = sum(run.counts.histogram.values())
    if run.counts.atoms["lambda"] != lambdas:
        raise Mismatch(f"{run.counts.atoms['lambda']} lambdas for {lambdas} functions")


def within_ranges(run: Execution, dims: Mapping[str, int]) -> None:
    """What data decided against the ranges that forms rely on."""
    for symbol, value in run.bindings.items():
        most = symbol.hi if symbol.kind == "data" else None
        if most is None or any(one.kind == "coord" for one in most.free):  # another one at each coordinate
            continue
        if value > at(most, run):
            raise Mismatch(f"{symbol.name} is {value}, above {to_text(symbol.hi)}, at {dict(dims)}")


def at(form: Poly, run: Execution) -> int:
    """Evaluate a form at the lengths of a run, where the length of a filter that never ran must not matter.

    Such a length is the largest in its range: forms rely on the range, and say nothing outside of it.
    """
    values = dict(run.bindings)
    for symbol in bounds_first(form.free):
        if symbol.kind == "data" and symbol not in values:
            values[symbol] = NEVER_RAN if symbol.hi is None else max(evaluate(symbol.hi, values), 0)
    return evaluate(form, values)


def same_shapes(program: Program, run: Execution, dims: Mapping[str, int]) -> None:
    """The shapes in the types of the outputs against those of the arrays."""
    for output in program.outputs:
        value = run.outputs[output.name]
        pieces = value if isinstance(value, tuple) else (value,)
        for part, array in zip(output.node.type, pieces, strict=True):
            said = tuple(max(at(length, run), 0) for length in part.shape)
            if said != array.shape:
                shape = ", ".join(map(to_text, part.shape))
                raise Mismatch(
                    f"{output.name}: [{shape}] is {said}, the value has {array.shape} at {dict(dims)}"
                )


def rounds(program: Program) -> bool:
    """Whether reals of few bits are computed: at once they are rounded less often than one by one."""
    types = (part.space for plan in schedules(program) for node in plan.nodes for part in node.type)
    return not {"float16", "bfloat16"}.isdisjoint(types)


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    if any(isinstance(item, str) for item in a.flat):
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, 1e-4, 1e-4, equal_nan=True))


def same_runs(slow: Execution, fast: Execution, dims: Mapping[str, int], rounded: bool = False) -> None:
    """Both interpreters did the same and came to the same; nobody knows how much is ``rounded``."""
    if slow.counts != fast.counts:
        raise Mismatch(f"the interpreters count differently at {dict(dims)}: {slow.counts} {fast.counts}")
    for name, expected in slow.outputs.items():
        found = fast.outputs[name]
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else ((found, expected),)
        for a, b in pairs:
            if a.dtype != b.dtype or a.shape != b.shape or not _alike(a, b):
                if rounded and (a.dtype, a.shape) == (b.dtype, b.shape):
                    raise Unknown("how often it was rounded")
                raise Mismatch(f"{name} differs between the interpreters at {dict(dims)}: {a} and {b}")
