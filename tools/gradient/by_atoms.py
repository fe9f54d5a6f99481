"""Hold the gradients of the programs of ``specs`` to torch.autograd, through the five atoms.

    python -m tools.gradient.by_atoms reports/data/gradients_programs.json [FOLDER ...]   (torch; minutes)

A program is unrolled at given lengths, and its atoms are computed by PyTorch, one number after the other, so
that PyTorch differentiates the same program by rules of its own.  Nothing of ``tolcost.gradient`` is used.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import Struct

from tolcost.algebra import AlgebraBudget, Symbol, evaluate, total_of
from tolcost.atoms.kit import program_symbols
from tolcost.atoms.lengths import check_conditions
from tolcost.atoms.nodes import Program
from tolcost.atoms.unroll import (
    Atom,
    AtomResult,
    CastOperand,
    Constants,
    InputOperand,
    Operand,
    unroll,
)
from tolcost.catalogue.conformance import count_difference
from tolcost.cli.analyze import Request, lowered
from tolcost.cost import Counts, count
from tolcost.diagnostics import Rejected
from tolcost.execute import Execution, run_vectorised
from tolcost.execute.functions import apply_checked
from tolcost.execute.inputs import lengths_by_name, value_of
from tolcost.platform import with_deep_stack
from tolcost.spaces import kind_of
from tools.gradient.campaign import random_inputs
from tools.gradient.points import error_of, real_inputs
from tools.gradient.products import bound, derived, is_coarse, parts_of

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "examples", "circuits", "families", "matlang", "motifs", "optimizers", "paper/section5", "polybench",
    "tensors", "textbook", "haskell", "relational",
)  # fmt: skip
LENGTHS = ([3] * 30, [2, 3, 4, 5] * 8, [4] * 30, [5, 4, 3, 2] * 8, [2] * 30, [8, 4, 2] * 10)
"""Lengths that are tried first, until a program admits two of them."""
DRAWN, TRIED = 3000, 40
"""How many lengths are drawn after that, and how many of them are tried, the smallest first."""
SECONDS_EACH = 90
"""What the derivation may take, and then each point."""
MOST_ATOMS, MOST_RUN = 30_000, 1_000_000
"""The most atoms that PyTorch computes, and the most that a run of gradients does."""
NEAR = 1e-6

Value = tuple[np.ndarray, ...]
"""Components: arrays of ``Real`` where PyTorch computes them, and of numbers elsewhere."""


Gradients = Mapping[str, Value]


class Real(Struct, frozen=True, eq=False):
    """A number of PyTorch, which an array of NumPy would otherwise take apart."""

    of: torch.Tensor


FUNCTIONS = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg,
    "max": torch.maximum, "min": torch.minimum, "abs": torch.abs, "sgn": torch.sign, "pow": torch.pow,
    "mod": torch.remainder, "fmod": torch.fmod, "sqr": torch.square, "recip": torch.reciprocal,
    "exp": torch.exp, "ln": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "erf": torch.erf,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
    "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh,
    "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "floor": torch.floor,
    "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc,
    "log": lambda x, base=None: torch.log(x) if base is None else torch.log(x) / torch.log(base),
}  # fmt: skip


class TorchAtoms:
    """The atoms computed so far, and their results."""

    def __init__(self, given: Mapping[str, Value]) -> None:
        """Start before the first atom."""
        self.given = given
        self.results: list[Value] = []

    def look(self, atoms: Sequence[Atom], operand: Operand) -> list[int]:
        """Compute the remaining atoms, and return a value as whole numbers."""
        for atom in atoms[len(self.results) :]:
            self.results.append(self.result(atom))
        return [int(_plain(v)) for v in self.fetch(operand)[0].reshape(-1)]

    def fetch(self, operand: Operand) -> Value:
        match operand:
            case AtomResult(place=place):
                return self.results[place]
            case InputOperand(name=name):
                return self.given[name]
            case Constants(values=values, shape=shape, space=space):
                made = np.empty(len(values), object)
                made[:] = [float(v) if kind_of(space) == "R" else v for v in values]
                return (made.reshape(shape),)
            case CastOperand(value=value, spaces=spaces, bits=bits):
                if bits:
                    raise NotImplementedError("the bits of a number")
                pairs = zip(self.fetch(value), spaces, strict=True)
                return tuple(_converted(one, kind_of(space)) for one, space in pairs)

    def result(self, atom: Atom) -> Value:
        args = [self.fetch(operand) for operand in atom.args]
        match atom.operation:
            case "lambda":
                return self.applied(atom, args)
            case "norm":
                return (np.array(args[0][0].shape),)
            case "member" if atom.component:
                return (args[0][atom.component - 1],)
            case "member":
                at = tuple(
                    (i if isinstance(i, int) else int(_plain(self.fetch(i)[0].item()))) - 1
                    for i in atom.index
                )
                shape = args[0][0].shape or (1,) * len(at)
                if any(not 0 <= k < n for k, n in zip(at, shape, strict=True)):
                    return tuple(_boxed(math.nan) for _ in args[0])  # a fault, if anything reads it
                return tuple(_boxed(part.reshape(shape)[at]) for part in args[0])
            case "join" if atom.d:
                pairs = zip(*args, strict=True)
                return tuple(np.concatenate([_vector(a), _vector(b)], atom.d - 1) for a, b in pairs)
            case "join":
                return (*args[0], *args[1])
            case _:
                return tuple(part.reshape(atom.shape) for part in args[0])

    def applied(self, atom: Atom, args: list[Value]) -> Value:
        if atom.function == "where":
            return args[1] if bool(_plain(args[0][0].item())) else args[2]
        given = [value[0].item() for value in args]
        real = kind_of(atom.spaces[0]) == "R"
        if real and any(isinstance(one, Real) for one in given):
            if atom.function not in FUNCTIONS:
                raise NotImplementedError(f"PyTorch has no `{atom.function}` in the table")
            return (_boxed(Real(FUNCTIONS[atom.function](*map(_number, given)))),)
        if atom.function == "rand":
            raise NotImplementedError("random numbers")
        plain = [np.asarray(_plain(one)) for one in given]
        found, _ = apply_checked(atom.function, atom.space, atom.spaces[0], plain)
        return (_boxed(found.item()),)


def _boxed(value: Any) -> np.ndarray:
    made = np.empty((), object)
    made[()] = value
    return made


def _vector(part: np.ndarray) -> np.ndarray:
    return part if part.ndim else part.reshape(1)


def _plain(value: Any) -> Any:
    return value.of.item() if isinstance(value, Real) else value


def _number(value: Any) -> torch.Tensor:
    return value.of if isinstance(value, Real) else torch.tensor(float(value), dtype=torch.float64)


def _converted(part: np.ndarray, kind: str) -> np.ndarray:
    def one(value: Any) -> Any:
        if kind == "R":
            return value if isinstance(value, Real) else float(value)
        plain = _plain(value)
        return bool(plain) if kind == "B" else int(plain) if kind in "ZN" else plain

    made = np.empty(part.size, object)
    made[:] = [one(v) for v in part.reshape(-1)]
    return made.reshape(part.shape)


class Found(Struct, frozen=True):
    """What came of a program at some lengths: how far its gradients are from PyTorch's."""

    error: float
    counts: str | None


def _small(array: np.ndarray, first: int) -> np.ndarray:
    """Bring whole numbers into two values, which are places of most arrays, counted from 0 or from 1."""
    return first + array % 2 if array.dtype.kind == "i" else array


def _first_run(program: Program, drawn: Mapping[str, Value], dims: Mapping[str, int]) -> tuple[Any, ...]:
    """Return inputs at which a program runs, as drawn or with small numbers; its lengths; and the run."""
    for first in (None, 1, 0):
        arrays = dict(drawn)
        if first is not None:  # as drawn, whole numbers are places of nothing
            arrays = {name: tuple(_small(part, first) for part in parts) for name, parts in drawn.items()}
        lengths = dict(lengths_by_name(program, arrays, dims))
        try:
            return arrays, lengths, run_vectorised(program, arrays, lengths)
        except Rejected:
            if first == 0:
                raise
    raise AssertionError


def compared(program: Program, made: Program, counts: Counts, dims: Mapping[str, int]) -> Found:
    """Compare the gradients of a program at random inputs with those of PyTorch."""
    known = {symbol.name for symbol in program_symbols(program)}
    drawn = random_inputs(program, {name: n for name, n in dims.items() if name in known})
    arrays, lengths, plain = _first_run(program, drawn, dims)
    rng = np.random.default_rng(0)
    adjoints = {
        needed.name: rng.uniform(
            -1, 1, tuple(value_of(bound(n, plain.bindings), {}) for n in needed.type[0].shape)
        )
        for needed in made.inputs[len(program.inputs) :]
    }
    given = {one.name: arrays[old.name] for old, one in zip(program.inputs, made.inputs, strict=False)}
    given |= {name: (adjoint,) for name, adjoint in adjoints.items()}
    names = {symbol.name for symbol in made.symbols}
    here = run_vectorised(made, given, {name: n for name, n in lengths.items() if name in names})
    theirs, error = _theirs(program, arrays, plain, adjoints, lengths)
    ours = {
        name: parts_of(here.outputs[output.name])
        for name, output in zip(real_inputs(program), made.outputs, strict=True)
    }
    error = max(error, _largest(ours, theirs))
    if error > NEAR:
        nearby = {name: tuple(map(_moved, parts)) for name, parts in arrays.items()}
        there = run_vectorised(program, nearby, lengths)
        again, _ = _theirs(program, nearby, there, adjoints, lengths)
        if _largest(again, theirs) > NEAR:
            raise Unsteady
    return Found(error, count_difference(counts, here))


class Unsteady(Exception):
    """Raised where PyTorch's own gradients jump: a quotient of rounding errors, say."""


def _moved(array: np.ndarray) -> np.ndarray:
    return array * (1 + 1e-13) if array.dtype.kind == "f" else array


def _largest(ours: Gradients, theirs: Gradients) -> float:
    pairs = [pair for name in ours for pair in zip(ours[name], theirs[name], strict=True)]
    return max((error_of(np.asarray(a), np.asarray(b)) for a, b in pairs), default=0.0)


def _theirs(
    program: Program,
    arrays: Mapping[str, Value],
    plain: Execution,
    adjoints: Mapping[str, np.ndarray],
    lengths: Mapping[str, int],
) -> tuple[dict[str, Value], float]:
    """Return the gradients by PyTorch, and how far its values are from those of a run."""
    leaves, tensors = _leaves(program, arrays)
    work = TorchAtoms(leaves)
    unrolled = unroll(program, lengths, MOST_ATOMS, work.look)
    for atom in unrolled.atoms[len(work.results) :]:
        work.results.append(work.result(atom))
    total, error = torch.zeros((), dtype=torch.float64), 0.0
    for name, operand, shapes in unrolled.outputs:
        parts = work.fetch(operand)
        for part, value in zip(parts, parts_of(plain.outputs[name]), strict=True):
            if value.dtype.kind == "f":  # the same program, or its gradients say nothing
                same = np.array([float(_plain(v)) for v in part.reshape(-1)])
                error = max(error, error_of(same, np.asarray(value).reshape(-1)))
        for k, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
            seed = adjoints.get(f"d_{name}" if len(parts) == 1 else f"d_{name}_{k + 1}")
            if seed is not None:
                for number, by in zip(part.reshape(shape).reshape(-1), seed.reshape(-1), strict=True):
                    if isinstance(number, Real):
                        total = total + number.of * by
    flat = [t for parts in tensors.values() for part in parts for t in part]
    found = torch.autograd.grad(total, flat, allow_unused=True) if total.requires_grad else [None] * len(flat)
    grads = iter(found)
    gradients: dict[str, Value] = {}
    for name, listed in tensors.items():
        pairs = zip(listed, arrays[name], strict=True)
        gradients[name] = tuple(
            np.array([0.0 if (g := next(grads)) is None else float(g) for _ in part]).reshape(np.shape(given))
            for part, given in pairs
        )
    return gradients, error


def _leaves(
    program: Program, arrays: Mapping[str, Value]
) -> tuple[dict[str, Value], dict[str, list[list[torch.Tensor]]]]:
    """Return the inputs with numbers of PyTorch, and those that are differentiated by."""
    leaves: dict[str, Value] = {}
    tensors: dict[str, list[list[torch.Tensor]]] = {}
    for needed in program.inputs:
        parts = []
        for array, part in zip(arrays[needed.name], needed.type, strict=True):
            values = np.asarray(array).reshape(-1).tolist()
            made = np.empty(len(values), object)
            if kind_of(part.space) == "R":
                made_of = [torch.tensor(float(v), dtype=torch.float64, requires_grad=True) for v in values]
                tensors.setdefault(needed.name, []).append(made_of)
                values = list(map(Real, made_of))
            made[:] = values
            parts.append(made.reshape(np.shape(array)))
        leaves[needed.name] = tuple(parts)
    return leaves, {name: tensors[name] for name in real_inputs(program)}


def held(path: Path) -> dict[str, Any]:
    """Return what came of a program: at how many lengths it is held, and why at no others."""
    program = lowered(str(path), Request()).program
    made, _ = derived(program)
    counts = count(made)
    near = 1e-4 if is_coarse(program) else NEAR
    row: dict[str, Any] = {"shapes": 0, "error": 0.0}
    row |= {} if _open_lengths(program) else {"fixed": True}
    for dims in lengths_for(program):
        if _is_large(counts, dims):
            row.setdefault("refused", "too slow")
            continue
        signal.alarm(SECONDS_EACH)
        try:
            found = with_deep_stack(lambda dims=dims: compared(program, made, counts, dims))
        except TimeoutError:
            row.setdefault("refused", "too slow")
            continue
        except Unsteady:
            row.setdefault("refused", "PyTorch's own gradients jump there")
            continue
        except Rejected as rejected:  # lengths that the program does not admit, or that are too many
            row.setdefault("refused", f"{rejected.diagnostics[0].message}"[:120])
            continue
        if found.counts or not found.error <= near:
            row["wrong"] = found.counts or f"off by {found.error:.2g} at {dims}"
            return row
        row["error"] = max(row["error"], found.error)
        row["shapes"] += 1
        if row["shapes"] == 2:
            break
    if row["shapes"]:
        row.pop("refused", None)
    return row


def lengths_for(program: Program) -> Iterator[dict[str, int]]:
    """Yield lengths to try: patterns, and then small ones at which the conditions of the program hold."""
    symbols = _open_lengths(program)
    if not symbols:
        yield {}
        return
    for lengths in LENGTHS:
        yield {symbol.name: n for symbol, n in zip(program.symbols, lengths, strict=False)}
    rng, names = np.random.default_rng(0), [symbol.name for symbol in symbols]
    drawn = {tuple(map(int, rng.integers(1, 2 + k % 4, len(symbols)))) for k in range(DRAWN)}
    fitting = (one for one in sorted(drawn, key=lambda one: (sum(one), one)) if _fits(program, symbols, one))
    for lengths in islice(fitting, TRIED):
        yield dict(zip(names, lengths, strict=True))


def _is_large(counts: Counts, dims: Mapping[str, int]) -> bool:
    """Tell whether a run takes too long at lengths, as far as these decide it."""
    total = total_of(counts.atoms.values())
    known = {symbol: dims[symbol.name] for symbol in total.free if symbol.name in dims}
    try:
        return known.keys() == total.free and evaluate(total, known) > MOST_RUN
    except AlgebraBudget:
        return True


def _open_lengths(program: Program) -> list[Symbol]:
    return [symbol for symbol in program_symbols(program) if symbol.kind not in ("coord", "data")]


def _fits(program: Program, symbols: Sequence[Symbol], lengths: Sequence[int]) -> bool:
    """Tell whether the conditions of a program hold at lengths, as far as these decide them."""
    try:
        check_conditions(program.conditions, dict(zip(symbols, lengths, strict=True)))
    except Rejected:
        return False
    return True


def _expired(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Record the programs of all folders, or of those asked for."""
    file, folders = Path(sys.argv[1]), sys.argv[2:] or FOLDERS
    known = json.loads(file.read_text("utf-8"))["programs"] if file.exists() else {}
    signal.signal(signal.SIGALRM, _expired)
    for folder in folders:
        asked = ROOT / "specs" / folder
        for path in [asked] if asked.is_file() else sorted(asked.rglob("*.tol")):
            name = path.relative_to(ROOT / "specs").with_suffix("").as_posix()
            signal.alarm(SECONDS_EACH)
            try:
                known[name] = held(path)
            except Rejected as rejected:
                told = rejected.diagnostics[0]
                known[name] = {"refused": f"{told.code}: {told.message}"[:160]}
            except TimeoutError:
                known[name] = {"refused": "too slow"}
            except NotImplementedError as problem:
                known[name] = {"refused": str(problem)}
            except Exception as problem:
                known[name] = {"refused": f"crash: {type(problem).__name__}: {problem}"[:160]}
            signal.alarm(0)
            print(name, known[name], flush=True)
        rows = ",\n ".join(f"{json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known))
        text = f'{{"torch": {json.dumps(torch.__version__)}, "programs": {{\n {rows}\n}}}}\n'
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
