"""Arrays from and to the outside: ``.npy`` files, nested lists, random ones, and text to show.

Files come from anywhere: nothing in them is ever unpickled.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tolcost.algebra import Eq, Symbol, cond_text, substitute, symbols_of_cond
from tolcost.algebra.equations import solve
from tolcost.atoms.nodes import Input, Part, Program
from tolcost.diagnostics import Diagnostic, Rejected, quoted, visible
from tolcost.execute.counts import Output
from tolcost.execute.dtypes import Array, convert, dtype_of
from tolcost.execute.inputs import value_of
from tolcost.execute.values import check_size
from tolcost.spaces import SPACES

Plain: TypeAlias = "int | float | bool | str | Fraction | tuple[Plain, ...]"
Arrays: TypeAlias = Mapping[str, tuple[Array, ...]]
"""For each input the arrays of its components."""
Nested: TypeAlias = "int | float | bool | str | Fraction | Sequence[Nested]"

_MAGIC = b"\x93NUMPY"
_FEW = 8
"""Random integers are this small, so that they can be looked at."""


def load_array(path: Path) -> Array:
    """Read a ``.npy`` file; anything else under that name is a diagnostic."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError("it is no .npy file")
            file.seek(0)
            loaded = np.load(file, allow_pickle=False)
    except OSError as error:
        raise Rejected(_unreadable(path, (error.strerror or str(error)).lower())) from None
    except (ValueError, EOFError, SyntaxError, TypeError, KeyError, OverflowError) as error:
        text = " ".join(str(error).split())[:120]
        hint = "a .npy file holds one array of numbers; numpy.save writes one"
        raise Rejected(_unreadable(path, text or "it holds nothing", hint)) from None
    return np.asarray(loaded)


def _unreadable(path: Path, reason: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic("T0348", f"cannot read an array from {quoted(str(path))}: {reason}", hint=hint)


def array_bytes(array: Array) -> bytes:
    """Give the content of a ``.npy`` file; types of other packages are written in the next wider one."""
    plain = array if array.dtype.kind in "biufc" else _widened(array)
    out = io.BytesIO()
    np.save(out, plain, allow_pickle=False)
    return out.getvalue()


def _widened(array: Array) -> Array:
    if array.dtype == np.object_:
        return array.astype(np.str_)
    return array.astype(np.float32 if array.dtype.name.startswith(("float", "bfloat")) else np.int64)


def nested_array(values: Nested, name: str) -> Array:
    """Give nested sequences as an array.

    >>> nested_array(((1, 2), (3, 4)), "a").shape
    (2, 2)
    """
    try:
        found = np.array(_plain(values))
    except ValueError:
        raise Rejected(Diagnostic("T0341", f"the rows of {quoted(name)} differ in length")) from None
    except OverflowError:
        raise Rejected(
            Diagnostic("T0522", f"a number of {quoted(name)} is too large to execute with")
        ) from None
    return found.astype(np.object_) if found.dtype.kind == "U" else found


def _plain(values: Nested) -> object:
    if isinstance(values, Fraction):
        return float(values)
    return values if isinstance(values, int | float | str) else [_plain(value) for value in values]


def plain_values(array: Array) -> Plain:
    """Give an array as nested tuples of Python's numbers, exactly."""
    if array.ndim:
        return tuple(plain_values(row) for row in array)
    value = array.item()
    if isinstance(value, float) and isfinite(value):
        return Fraction(value)
    return value if isinstance(value, bool | int | float) else str(value)


def lengths_by_name(program: Program, given: Arrays, dims: Mapping[str, int]) -> dict[str, int]:
    """Give every length that options, the shapes of arrays and the program's conditions decide."""
    values = {s: dims[s.name] for s in _symbols(program) if s.name in dims}
    equations = [c.condition.p for c in program.conditions if isinstance(c.condition, Eq)]
    for needed in program.inputs:
        for part, array in zip(needed.type, given.get(needed.name, ()), strict=False):
            pairs = zip(part.shape, array.shape, strict=False)
            equations += [declared - actual for declared, actual in pairs if declared.constant is None]
    found, impossible = solve(equations, values)
    if impossible:
        texts = (cond_text(Eq(substitute(equation, dict(values)))) for equation in impossible)
        raise Rejected(*(Diagnostic("T0342", f"no length makes {text}") for text in texts))
    return {symbol.name: value for symbol, value in found.items()}


def _symbols(program: Program) -> Iterable[Symbol]:
    shapes = (part.shape for needed in program.inputs for part in needed.type)
    conditions = (s for c in program.conditions for s in symbols_of_cond(c.condition))
    return (*program.symbols, *conditions, *(s for shape in shapes for d in shape for s in d.free))


def random_arrays(program: Program, given: Arrays, dims: Mapping[str, int], seed: int) -> Arrays:
    """Give arrays for the inputs that have none: the same for the same seed."""
    known = {symbol: dims[symbol.name] for symbol in _symbols(program) if symbol.name in dims}
    rng = np.random.default_rng(seed)
    return {
        needed.name: tuple(_random(part, known, rng, needed) for part in needed.type)
        for needed in program.inputs
        if needed.name not in given
    }


def _random(part: Part, known: Mapping[Symbol, int], rng: np.random.Generator, needed: Input) -> Array:
    shape = tuple(value_of(length, known) for length in part.shape)
    check_size(shape)
    space = SPACES[part.space]
    match space.kind:
        case "B":
            return rng.integers(0, 2, shape).astype(np.bool_)
        case "Z":
            first, last = max(-_FEW, _end(space.lo, -_FEW)), min(_FEW, _end(space.hi, _FEW))
            return convert(np.asarray(rng.integers(int(first), int(last) + 1, shape)), part.space)
        case "R":
            low, high = -1.0 * (part.space[-1] != "+"), 1.0 * (part.space[-1] != "-")
            return convert(np.asarray(rng.uniform(low, high, shape)), part.space)
        case "C":
            return np.asarray(
                rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape), dtype_of(part.space)
            )
        case "S":
            raise Rejected(Diagnostic("T0340", f"no value was given for the texts {quoted(needed.name)}"))


def _end(bound: float | None, otherwise: int) -> float:
    return otherwise if bound is None else bound


def show_output(name: str, value: Output, spaces: tuple[str, ...]) -> str:
    """Give an output as text, its components one after the other; large arrays are cut."""
    parts = value if isinstance(value, tuple) else (value,)
    types = (f"{space} {list(p.shape)}" if p.shape else space for space, p in zip(spaces, parts, strict=True))
    arrays = (np.array2string(part, threshold=1000, max_line_width=100) for part in parts)
    return "\n".join((f"{visible(name)}: {', '.join(types)}", *arrays))
