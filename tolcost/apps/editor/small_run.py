"""Run a small program without NumPy: its five atoms one by one, in plain Python.

Numbers are truth values, whole numbers and doubles; ``tolcost run`` supports every space.  As in a run, a
missing number is represented by a diagnostic: functions of it give the same diagnostic, and an output that
contains one is an error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TypeAlias

from msgspec import Struct

from tolcost.algebra import Symbol, evaluate
from tolcost.atoms.lengths import given_lengths
from tolcost.atoms.nodes import Input, Program
from tolcost.atoms.unroll import Atom, AtomResult, CastOperand, Constants, InputOperand, Operand, unroll
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse
from tolcost.spaces import ALL, SPACES, Bounds, bounded_text, bounds_of, kind_of, narrowed

RunNumber: TypeAlias = int | float
RunEntry: TypeAlias = RunNumber | Diagnostic
"""A number, or the reason why there is none."""
Nested: TypeAlias = "RunNumber | Sequence[Nested]"
MOST_ATOMS = 20_000
_TOO_LARGE = 2**63


class NumberBlock(Struct, frozen=True):
    """Numbers in row-major order under a shape."""

    shape: tuple[int, ...]
    values: tuple[RunEntry, ...]

    def nested(self) -> Nested:
        """Return nested lists; refuse a missing number."""
        if not self.shape:
            (value,) = self.values
            if isinstance(value, Diagnostic):
                raise Rejected(value)
            return value
        rows, size = self.shape[0], math.prod(self.shape[1:])
        parts = (self.values[k * size : (k + 1) * size] for k in range(rows))
        return [NumberBlock(self.shape[1:], part).nested() for part in parts]


_Parts: TypeAlias = tuple[NumberBlock, ...]


class SmallRun(Struct, frozen=True):
    """The values of the outputs, and the number of applications of each function to data."""

    outputs: Mapping[str, _Parts]
    functions: Mapping[tuple[str, str], int]


def run_small(program: Program, inputs: Mapping[str, Nested], dims: Mapping[str, int]) -> SmallRun:
    """Run a program at lengths and inputs given by name."""
    for given in program.inputs:
        for part in given.type:
            _check_space(part.space)
    unrolled = unroll(program, dims, MOST_ATOMS)
    lengths = given_lengths(program, dims)
    blocks = {
        given.name: (_given(given, inputs[given.name], lengths),)
        for given in program.inputs
        if given.name in inputs
    }
    results: list[_Parts] = []
    for atom in unrolled.atoms:
        args = [_fetch(arg, results, blocks) for arg in atom.args]
        at = [i if isinstance(i, int) else _fetch(i, results, blocks)[0].values[0] for i in atom.index]
        results.append(_result(atom, args, at))
    outputs = {
        name: _shaped(_fetch(found, results, blocks), shapes) for name, found, shapes in unrolled.outputs
    }
    applied = [atom for atom in unrolled.atoms if atom.operation == "lambda" and atom.charge == "data"]
    return SmallRun(outputs, Counter((atom.function, atom.space) for atom in applied))


def _check_space(space: str) -> None:
    known = SPACES[space]
    if known.bits is not None or known.kind not in "BZR":
        message = f"numbers of {quoted(space)} are not computed here"
        refuse("T0520", message, hint="`tolcost run` computes in every space")


def _given(needed: Input, value: Nested, lengths: Mapping[Symbol, int]) -> NumberBlock:
    """Return the numbers given for an input, checked against its shape and space."""
    block = _block(value, needed.name)
    shape = tuple(evaluate(length, lengths) for length in needed.type[0].shape)
    if block.shape != shape and not (0 in block.shape and 0 in shape):  # empty lists lack a shape
        said = f"has shape {list(block.shape)}, not {list(shape)}"
        refuse("T0342", f"the input {quoted(needed.name)} {said}")
    space, declared = needed.type[0].space, (*needed.within, ALL)[0]
    bounds = Bounds(0, 1) if space == "B" else narrowed(bounds_of(space), declared)
    whole = kind_of(space) in "BZ"
    for number in block.values:
        if isinstance(number, Diagnostic) or (whole and number != _rounded(number)) or number not in bounds:
            where = bounded_text(space, declared)
            message = f"{number} is given for {quoted(needed.name)}, and is not in {where}"
            refuse("T0349", message)
    return block


def _block(value: Nested, name: str) -> NumberBlock:
    """Convert nested lists to a block; rows of different lengths are refused."""
    if isinstance(value, (int, float)):
        return NumberBlock((), (value,))
    rows = [_block(row, name) for row in value]
    shapes = {row.shape for row in rows}
    if len(shapes) > 1:
        refuse("T0341", f"the rows of {quoted(name)} differ in length")
    inner = next(iter(shapes), ())
    return NumberBlock((len(rows), *inner), tuple(number for row in rows for number in row.values))


def _shaped(parts: _Parts, shapes: Sequence[tuple[int, ...]]) -> _Parts:
    return tuple(NumberBlock(shape, part.values) for part, shape in zip(parts, shapes, strict=True))


def _fetch(operand: Operand, results: Sequence[_Parts], given: Mapping[str, _Parts]) -> _Parts:
    match operand:
        case AtomResult(place=place):
            return results[place]
        case InputOperand(name=name):
            if name not in given:
                refuse("T0340", f"no value was given for the input {quoted(name)}")
            return given[name]
        case CastOperand(value=value, spaces=spaces, within=within):
            parts = tuple(map(_cast, _fetch(value, results, given), spaces))
            return tuple(map(_bounded, parts, spaces, within)) or parts
        case Constants(values=values, shape=shape, space=space):
            numbers = tuple(v for v in values if isinstance(v, (int, float)))
            return (_cast(NumberBlock(shape, numbers), space),)


def _cast(part: NumberBlock, space: str) -> NumberBlock:
    values = (_in_space(value, space, "`convert` is given") for value in part.values)
    return NumberBlock(part.shape, tuple(values))


def _bounded(part: NumberBlock, space: str, bounds: Bounds) -> NumberBlock:
    """Replace the numbers outside declared bounds by a diagnostic."""
    wrong = Diagnostic("T0349", f"a value is not in {bounded_text(space, bounds)}")
    values = (v if isinstance(v, Diagnostic) or v in bounds else wrong for v in part.values)
    return NumberBlock(part.shape, tuple(values))


def _in_space(value: RunEntry, space: str, source: str) -> RunEntry:
    """Convert a number to a space, or to a diagnostic if it is not in it; ``source`` names its origin."""
    _check_space(space)
    if isinstance(value, Diagnostic):
        return value
    match kind_of(space):
        case "B":
            return int(bool(value))
        case "Z" if isinstance(value, float) and not math.isfinite(value):
            return Diagnostic("T0349", f"{source} a value that is not in {space}")
        case "Z":
            whole = round(value)
            large = not -_TOO_LARGE <= whole < _TOO_LARGE
            return Diagnostic("T0522", f"{source} a whole number of more than 64 bits") if large else whole
        case _:
            return float(value)


def _result(atom: Atom, args: list[_Parts], at: list[RunEntry]) -> _Parts:
    match atom.operation:
        case "lambda":
            return _applied(atom, args)
        case "norm":
            return (NumberBlock((len(args[0][0].shape),), args[0][0].shape),)
        case "member" if atom.component:
            return (args[0][atom.component - 1],)
        case "member":
            return tuple(_member(part, at) for part in args[0])
        case "join" if atom.d:
            pairs = zip(args[0], args[1], atom.spaces, strict=True)
            return tuple(_joined(_cast(a, space), _cast(b, space), atom.d) for a, b, space in pairs)
        case "join":
            return (*args[0], *args[1])
        case "embed":
            return tuple(NumberBlock(atom.shape, part.values) for part in args[0])


def _applied(atom: Atom, args: list[_Parts]) -> _Parts:
    source = f"`{atom.function}` gives"
    if atom.function == "where":
        condition = args[0][0].values[0]
        chosen = zip(args[1] if condition else args[2], atom.spaces, strict=True)
        parts = tuple(_cast(part, space) for part, space in chosen)
        if isinstance(condition, Diagnostic):
            return tuple(NumberBlock(part.shape, (condition,) * len(part.values)) for part in parts)
        return parts
    numbers = [_in_space(parts[0].values[0], atom.space, source) for parts in args]
    none = next((number for number in numbers if isinstance(number, Diagnostic)), None)
    found = none or _value(atom.function, kind_of(atom.space), numbers)  # type: ignore[arg-type]
    return (NumberBlock((), (_in_space(found, atom.spaces[0], source),)),)


def _member(part: NumberBlock, at: list[RunEntry]) -> NumberBlock:
    shape = part.shape or (1,) * len(at)
    offset = 0
    for k, size in zip(at, shape, strict=False):
        if isinstance(k, Diagnostic):
            return NumberBlock((), (k,))
        if not 1 <= k <= size:
            return NumberBlock((), (Diagnostic("T0346", "a member is read out of range"),))
        offset = offset * size + int(k) - 1
    return NumberBlock((), (part.values[offset],))


def _joined(left: NumberBlock, right: NumberBlock, d: int) -> NumberBlock:
    """Join along a dimension; a numeric stands for a vector of one entry."""
    a, b = (part if part.shape else NumberBlock((1,), part.values) for part in (left, right))
    outer = math.prod(a.shape[: d - 1])
    sizes = [math.prod(part.shape[d - 1 :]) for part in (a, b)]

    def rows() -> Iterator[RunEntry]:
        for k, (part, size) in product(range(outer), zip((a, b), sizes, strict=True)):
            yield from part.values[k * size : (k + 1) * size]

    return NumberBlock((*a.shape[: d - 1], a.shape[d - 1] + b.shape[d - 1], *a.shape[d:]), tuple(rows()))


# ---- elementary functions ----------------------------------------------------------------------


def _value(function: str, kind: str, args: Sequence[RunNumber]) -> RunNumber:
    """Apply a function to numbers of a kind; undefined results are NaN, and too large ones infinite."""
    rule = (_OF_WHOLE if kind == "Z" else _RULES).get(function) or _RULES.get(function)
    if rule is None:
        refuse("T0520", f"{quoted(function)} is not computed here", hint="see `tolcost run`")
    try:
        return rule(*args)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def _quotient(x: RunNumber, y: RunNumber) -> float:
    """Divide as machines do: division by 0 is infinite, with the sign of both, or NaN."""
    if y:
        return x / y
    return math.nan if not x or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)


def _logarithm(x: RunNumber, base: RunNumber = math.e) -> float:
    plain = math.log2 if base == 2 else math.log10 if base == 10 else math.log
    found = plain(x) if x else -math.inf
    return found if base in (2, 10, math.e) else _quotient(found, _logarithm(base))


def _power(x: float, y: float) -> float:
    is_odd = y % 2 == 1
    if not x and y < 0:
        return math.copysign(math.inf, x) if is_odd else math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and is_odd else math.inf


def _whole_power(x: int, y: int) -> RunNumber:
    """Raise a whole number to a power; a result that is too large is so with fewer factors, too."""
    if y >= 0:
        return int(x ** min(y, 64 + y % 2))
    return (x if y % 2 else 1) if x in (1, -1) else math.nan


def _rounded(x: RunNumber, how: Callable[[float], int] = round) -> RunNumber:
    """Round a number; NaN and infinities stay, and so does the sign of 0."""
    return x if isinstance(x, int) or not math.isfinite(x) else math.copysign(how(x), x)


def _extreme(better: Callable[[RunNumber, RunNumber], bool]) -> Callable[[RunNumber, RunNumber], RunNumber]:
    return lambda x, y: x if math.isnan(x) or better(x, y) else y


_RULES: dict[str, Callable[..., RunNumber]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": _quotient,
    "mod": lambda x, y: x % y, "fmod": math.fmod, "pow": _power, "log": _logarithm, "ln": _logarithm,
    "neg": lambda x: -x, "recip": lambda x: _quotient(1, x), "abs": abs, "sqr": lambda x: x * x,
    "exp": math.exp, "sqrt": math.sqrt, "rsqrt": lambda x: _quotient(1, math.sqrt(x)), "erf": math.erf,
    "sgn": lambda x: x if math.isnan(x) else (x > 0) - (x < 0),
    "max": _extreme(lambda x, y: x > y), "min": _extreme(lambda x, y: x < y),
    "lt": lambda x, y: x < y, "gt": lambda x, y: x > y, "le": lambda x, y: x <= y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "ineq": lambda x, y: x != y,
    "not": lambda x: not x, "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
    "shl": lambda x, by: x << min(by, 64), "shr": lambda x, by: x >> min(by, 64),
    "isnan": math.isnan, "isinf": math.isinf, "round": _rounded,
    **{name: partial(_rounded, how=getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    **{name: getattr(math, name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh", "asinh", "acosh")},
    "sinh": lambda x: math.sinh(x) if not abs(x) > 710 else math.copysign(math.inf, x),
    "atanh": lambda x: math.atanh(x) if abs(x) != 1 else math.copysign(math.inf, x),
}  # fmt: skip

_OF_WHOLE: dict[str, Callable[..., RunNumber]] = {
    "pow": _whole_power, "not": lambda x: ~x, "fmod": lambda x, y: abs(x) % abs(y) * (1 if x > 0 else -1),
}  # fmt: skip
"""Functions with another meaning on whole numbers."""
