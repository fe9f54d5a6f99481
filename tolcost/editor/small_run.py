"""Running a small program where there is no NumPy: its five atoms one after the other, in plain Python.

Numbers are truth values, whole numbers and doubles; ``tolcost run`` knows every space.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from tolcost.atoms.atomic import Atom, AtomResult, CastOperand, Constants, InputOperand, Operand, Unrolled
from tolcost.atoms.nodes import Program
from tolcost.atoms.unroll import unroll
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.spaces import SPACES, kind_of

RunNumber: TypeAlias = int | float
Nested: TypeAlias = "RunNumber | Sequence[Nested]"
MOST_ATOMS = 20_000


@dataclass(frozen=True, slots=True)
class NumberBlock:
    """Numbers in row-major order under a shape."""

    shape: tuple[int, ...]
    values: tuple[RunNumber, ...]

    def nested(self) -> Nested:
        """As nested lists."""
        if not self.shape:
            return self.values[0]
        rows, size = self.shape[0], math.prod(self.shape[1:])
        parts = (self.values[k * size : (k + 1) * size] for k in range(rows))
        return [NumberBlock(self.shape[1:], part).nested() for part in parts]


_Parts: TypeAlias = tuple[NumberBlock, ...]


@dataclass(frozen=True, slots=True)
class SmallRun:
    """What the outputs are, how often each function was applied to data, and how often each atom."""

    outputs: Mapping[str, _Parts]
    functions: Mapping[tuple[str, str], int]
    atoms: Mapping[str, int]


def run_small(program: Program, inputs: Mapping[str, Nested], dims: Mapping[str, int]) -> SmallRun:
    """Run a program at lengths and inputs that are given by name."""
    _check_spaces(program)
    unrolled = unroll(program, dims, MOST_ATOMS)
    given = {name: (_block(value, name),) for name, value in inputs.items()}
    results: list[_Parts] = []
    for atom in unrolled.atoms:
        args = [_fetch(arg, results, given) for arg in atom.args]
        at = [i if isinstance(i, int) else int(_fetch(i, results, given)[0].values[0]) for i in atom.index]
        results.append(_result(atom, args, at))
    outputs = {
        name: _shaped(_fetch(found, results, given), shapes) for name, found, shapes in unrolled.outputs
    }
    return SmallRun(outputs, *_counted(unrolled))


def _counted(unrolled: Unrolled) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    applied = [atom for atom in unrolled.atoms if atom.operation == "lambda"]
    functions = Counter((a.function, a.space or a.spaces[0]) for a in applied if a.charge == "data")
    atoms = Counter(a.operation for a in unrolled.atoms if a.charge == "data")
    return functions, Counter({str(name): count for name, count in atoms.items()})


def _check_spaces(program: Program) -> None:
    types = (part for given in (*program.inputs, *(o.node for o in program.outputs)) for part in given.type)
    for part in types:
        space = SPACES.get(part.space)
        if space is not None and (space.bits is not None or space.kind not in "BZR"):
            message = f"numbers of {quoted(part.space)} are not computed here"
            raise Rejected(Diagnostic("T0520", message, hint="`tolcost run` computes in every space"))


def _block(value: Nested, name: str) -> NumberBlock:
    """Nested lists as a block; rows that differ in length are refused."""
    if isinstance(value, (int, float)):
        return NumberBlock((), (value,))
    rows = [_block(row, name) for row in value]
    shapes = {row.shape for row in rows}
    if len(shapes) > 1:
        raise Rejected(Diagnostic("T0341", f"the rows of {quoted(name)} differ in length"))
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
                raise Rejected(Diagnostic("T0340", f"no value was given for the input {quoted(name)}"))
            return given[name]
        case CastOperand(value=value, spaces=spaces):
            parts = _fetch(value, results, given)
            return tuple(_cast(part, space) for part, space in zip(parts, spaces, strict=True))
        case Constants(values=values, shape=shape, space=space):
            return (
                _cast(NumberBlock(shape, tuple(v for v in values if isinstance(v, (int, float)))), space),
            )


def _cast(part: NumberBlock, space: str) -> NumberBlock:
    return NumberBlock(part.shape, tuple(_in_space(value, space) for value in part.values))


def _in_space(value: RunNumber, space: str) -> RunNumber:
    match kind_of(space):
        case "B":
            return int(bool(value))
        case "Z":
            return value if isinstance(value, int) or not math.isfinite(value) else round(value)
        case _:
            return float(value)


def _result(atom: Atom, args: list[_Parts], at: list[int]) -> _Parts:
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
    if atom.function == "where":
        chosen = args[1] if args[0][0].values[0] else args[2]
        return tuple(_cast(part, space) for part, space in zip(chosen, atom.spaces, strict=True))
    numbers = [_in_space(parts[0].values[0], atom.space) for parts in args]
    return (NumberBlock((), (_in_space(_value(atom.function, numbers), atom.spaces[0]),)),)


def _member(part: NumberBlock, at: list[int]) -> NumberBlock:
    shape = part.shape or (1,) * len(at)
    offset = 0
    for k, size in zip(at, shape, strict=False):
        if not 1 <= k <= size:
            raise Rejected(Diagnostic("T0346", "a member is read out of range"))
        offset = offset * size + k - 1
    rest = shape[len(at) :]
    size = math.prod(rest)
    return NumberBlock(rest, part.values[offset * size : (offset + 1) * size])


def _joined(left: NumberBlock, right: NumberBlock, d: int) -> NumberBlock:
    """Join along a dimension; a numeric stands for a vector of one entry."""
    a, b = (part if part.shape else NumberBlock((1,), part.values) for part in (left, right))
    outer = math.prod(a.shape[: d - 1])
    sizes = [math.prod(part.shape[d - 1 :]) for part in (a, b)]

    def rows() -> Iterator[RunNumber]:
        for k, (part, size) in product(range(outer), zip((a, b), sizes, strict=True)):
            yield from part.values[k * size : (k + 1) * size]

    return NumberBlock((*a.shape[: d - 1], a.shape[d - 1] + b.shape[d - 1], *a.shape[d:]), tuple(rows()))


# ---- elementary functions ----------------------------------------------------------------------


def _value(function: str, args: Sequence[RunNumber]) -> RunNumber:
    """A function of numbers: what has no value is not a number, and what is too large infinite."""
    rule = _RULES.get(function)
    if rule is None:
        raise Rejected(
            Diagnostic("T0520", f"{quoted(function)} is not computed here", hint="see `tolcost run`")
        )
    try:
        return rule(*args)
    except ZeroDivisionError:
        over = args[0] if function != "recip" else 1.0
        return math.nan if not over or math.isnan(over) else math.copysign(math.inf, over)
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf if function in ("ln", "log") and args[0] == 0 else math.nan


def _logic(bits: Callable[[int, int], int]) -> Callable[[RunNumber, RunNumber], RunNumber]:
    return lambda x, y: bits(int(x), int(y))


def _extreme(better: Callable[[RunNumber, RunNumber], bool]) -> Callable[[RunNumber, RunNumber], RunNumber]:
    return lambda x, y: x if math.isnan(x) or better(x, y) else y


_RULES: dict[str, Callable[..., RunNumber]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "mod": lambda x, y: x % y, "fmod": math.fmod, "pow": math.pow, "log": math.log, "ln": math.log,
    "neg": lambda x: -x, "recip": lambda x: 1 / x, "abs": abs, "sqr": lambda x: x * x, "exp": math.exp,
    "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x), "erf": math.erf,
    "sgn": lambda x: (x > 0) - (x < 0),
    "max": _extreme(lambda x, y: x >= y), "min": _extreme(lambda x, y: x <= y),
    "lt": lambda x, y: x < y, "gt": lambda x, y: x > y, "le": lambda x, y: x <= y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "ineq": lambda x, y: x != y, "not": lambda x: not x,
    "and": _logic(lambda x, y: x & y), "or": _logic(lambda x, y: x | y), "xor": _logic(lambda x, y: x ^ y),
    "shl": _logic(lambda x, y: x << y), "shr": _logic(lambda x, y: x >> y),
    "isnan": math.isnan, "isinf": math.isinf, "floor": math.floor, "ceil": math.ceil, "round": round,
    "trunc": math.trunc,
    **{name: getattr(math, name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
}  # fmt: skip
