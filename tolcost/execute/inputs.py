"""Input of a run: the arrays that a program is given, and the lengths that follow from them.

A declared length that is one symbol is bound to the length found; an expression must agree with it. Bounds of
symbols and the program's conditions are checked once everything they mention is known. Arrays come from
``.npy`` files, nested lists or a random generator.  Files are untrusted: nothing in them is ever unpickled.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from tolcost.algebra import (
    Cond,
    Eq,
    Poly,
    Symbol,
    cond_text,
    equations_in,
    evaluate,
    only_symbol,
    solve,
    substitute,
)
from tolcost.atoms.kit import program_nodes
from tolcost.atoms.lengths import check_conditions, given_lengths, lengths_of, line_of, named, out_of_bounds
from tolcost.atoms.nodes import Input, Part, Program
from tolcost.atoms.totals import totals
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, visible
from tolcost.execute.dtypes import Array, Arrays, convert, dtype_of, shortened
from tolcost.execute.values import Execution, Lengths, OutputValue, Tally, as_output, beyond, check_size
from tolcost.execute.whole_numbers import ENDLESS, TOO_LARGE, unheld, verdict
from tolcost.spaces import ALL, SPACES, Bounds, Space, bounded_text, bounds_of, narrowed

# === Values of inputs: given ones are checked against their bounds, random ones are drawn within them.


_RANDOM_RANGE = 8
"""The limit of random integers, which are small so that people can check results by eye."""


def declared_bounds(needed: Input) -> tuple[Bounds, ...]:
    """Return the bounds that the program declares for the components of an input."""
    return needed.within or (ALL,) * len(needed.type)


def outside_of_space(needed: Input, arrays: tuple[Array, ...]) -> Diagnostic | None:
    """Describe a given number outside its space, or outside the bounds that the program declares."""
    for array, part, bounds in zip(arrays, needed.type, declared_bounds(needed), strict=True):
        large = _too_large(array, part.space)
        if large is not None:
            text = f"{shortened(large)} is given for {quoted(needed.name)}, and is too large to execute with"
            hint = "a run keeps whole numbers below 2^63; an input in R is rounded"
            return Diagnostic("T0522", text, hint=hint)
        wrong = _wrong(array, part.space, bounds)
        if wrong is not None and wrong.any():
            number = array[wrong][0]
            space = bounded_text(part.space, bounds)
            return Diagnostic("T0349", f"{number} is given for {quoted(needed.name)}, and is not in {space}")
    return None


def _too_large(array: Array, space: str) -> int | None:
    """Return a number that is in a space but that no array of it can hold."""
    if space not in ENDLESS:
        return None
    if array.dtype == np.object_:
        return next((number for number in array.reshape(-1).tolist() if verdict(number)), None)
    wrong = unheld(array)
    return None if wrong is None or TOO_LARGE not in wrong else int(array[wrong == TOO_LARGE].reshape(-1)[0])


def _wrong(array: Array, space: str, bounds: Bounds) -> Array | None:
    """Mark the elements that are not values of a space; None where every element is one."""
    known = SPACES[space]
    if array.dtype.kind == "c" and known.kind != "C":
        inside = _wrong(array.real, space, bounds)
        return np.asarray(array.imag != 0 if inside is None else inside | (array.imag != 0))
    if known.kind == "B" and array.dtype.kind in "iufO":
        return np.asarray((array != 0) & (array != 1))
    typed = known.finite and array.dtype == dtype_of(space) and bounds is ALL
    if typed or known.kind not in "ZR" or array.dtype.kind not in "biufO":
        return None
    own = Bounds(known.lo, known.hi) if known.finite and known.kind == "Z" else bounds_of(space)
    wrong = beyond(array, narrowed(own, bounds))
    if known.kind == "Z" and array.dtype.kind == "f":
        wrong = np.logical_or(wrong, ~np.isfinite(array) | (array != np.rint(array)))
    return wrong


def random_values(
    part: Part, shape: tuple[int, ...], bounds: Bounds, rng: np.random.Generator, name: str
) -> Array:
    """Draw values of a space within bounds."""
    check_size(shape)
    space = SPACES[part.space]
    limits = narrowed(Bounds(space.lo, space.hi, space.zero), bounds)
    match space.kind:
        case "B":
            return rng.integers(0, 2, shape).astype(np.bool_)
        case "Z":
            first, last = (int(end) for end in _ends(limits, _RANDOM_RANGE))
            drawn = np.asarray(rng.integers(first, last + 1, shape))
            return convert(drawn if limits.zero else np.where(drawn == 0, 1, drawn), part.space)
        case "R":
            return convert(np.asarray(rng.uniform(*_ends(limits, 1.0), shape)), part.space)
        case "C":
            return np.asarray(
                rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape), dtype_of(part.space)
            )
        case "S":
            refuse("T0340", f"no value was given for the texts {quoted(name)}")


def _ends(limits: Bounds, few: float) -> tuple[float, float]:
    """Return a range of small numbers around 0 if they are allowed, otherwise one next to a bound."""
    low = -few if limits.lo is None else max(-few, float(limits.lo))
    high = few if limits.hi is None else min(few, float(limits.hi))
    if low <= high:
        return low, high
    if limits.lo is not None and low > few:
        return low, low + few if limits.hi is None else min(low + few, float(limits.hi))
    return high - few if limits.lo is None else max(high - few, float(limits.lo)), high


# === Inputs for counting: any values will do that the program does not refuse.


def plain_arrays(program: Program, dims: Mapping[str, int], seed: int) -> Arrays:
    """Draw random reals and truth values; seeds other than 1 set some to 0, as data may require zeros.

    Texts are empty.  Whole numbers are all 0, or 1 where their space has no 0: they may be positions in a
    table, whose first entry always exists.  With an even seed some are one further from 0, as ends of
    ranges have to be.
    """
    spaces = {needed.name: SPACES[needed.type[0].space] for needed in program.inputs}
    lengths = {symbol: dims[symbol.name] for symbol in lengths_of(program)}

    def empty(part: Part) -> Array:
        return np.full([value_of(entry, lengths) for entry in part.shape], "", np.object_)

    texts = {
        needed.name: tuple(map(empty, needed.type))
        for needed in program.inputs
        if spaces[needed.name].kind == "S"
    }
    rng = np.random.default_rng(seed)
    share = 1.0 if seed == 1 else rng.random()

    def thinned(array: Array, space: Space) -> Array:
        first = np.full(array.shape, _first_of(space), array.dtype)
        if space.kind == "Z":
            further = (seed % 2 == 0) * rng.integers(2, size=array.shape)
            return np.asarray(first + np.where(first < 0, -further, further), array.dtype)
        return np.asarray(np.where(rng.random(array.shape) < share, array, first), array.dtype)

    drawn = random_arrays(program, texts, dims, seed)
    return texts | {
        name: tuple(thinned(part, spaces[name]) for part in parts) for name, parts in drawn.items()
    }


def _first_of(space: Space) -> int:
    """Return 0, or the whole number next to it in a space that leaves 0 out."""
    if space.hi is not None and space.hi < 0:
        return -1
    return 0 if space.zero and (space.lo is None or space.lo <= 0) else 1


# === Inputs of a run.


MAX_RANK = 32
"""NumPy allows at most 64 axes, and the fast interpreter needs some for itself."""

InputArrays: TypeAlias = Mapping[str, Array | tuple[Array, ...]]


DEFAULT_STEPS = 20_000_000
"""Evaluations of a node that a run may take, which bounds its time."""


class Met(NamedTuple):
    """The checked input of a program: its arrays, and the lengths bound by them.

    A caller that runs a program several times computes it once.
    """

    arrays: Arrays
    bindings: Mapping[Symbol, int]


class Interpreter(Protocol):
    """A run of a program, and its results when it has ended."""

    env: Lengths
    tally: Tally

    def outputs(self) -> dict[str, OutputValue]:
        """Evaluate the program and return the values of its outputs."""
        ...


def execute(
    program: Program,
    inputs: InputArrays | Met,
    dims: Mapping[str, int] | None,
    interpreter: Callable[[Arrays, Mapping[Symbol, int]], Interpreter],
) -> Execution:
    """Run a program with an interpreter that is made from the arrays and the bound lengths."""
    arrays, bindings = inputs if isinstance(inputs, Met) else meet(program, inputs, dims)
    machine = interpreter(arrays, bindings)
    with np.errstate(all="ignore"):
        try:
            outputs = machine.outputs()
        except RecursionError:
            raise Rejected(Diagnostic("T0521", "the program nests too deeply to be executed")) from None
        except MemoryError:
            raise Rejected(Diagnostic("T0520", "the run needs more memory than there is")) from None
        except (IndexError, ValueError, Rejected):  # arrays may not fit where data violates a condition
            check_conditions(program.conditions, _found_lengths(machine))
            raise
        except KeyError as missing:  # a length that equals another, data-dependent one
            if not isinstance(missing.args[0], Symbol):
                raise
            raise unknown_length(missing) from None
    final = _found_lengths(machine)
    check_conditions(program.conditions, final)
    for symbol, found in totals(program).items():
        final.update(found.values(machine.tally.lengths.get(symbol, {})))
    return Execution(_in_element_types(program, outputs), machine.tally.counts(), final)


def _in_element_types(program: Program, outputs: dict[str, OutputValue]) -> dict[str, OutputValue]:
    """Convert outputs to the element types of their spaces: during a run, reals may be exact fractions."""
    found = {}
    for output in program.outputs:
        value = outputs[output.name]
        parts = value if isinstance(value, tuple) else (value,)
        pairs = zip(parts, output.node.type, strict=True)
        found[output.name] = as_output([convert(part, space.space) for part, space in pairs])
    return found


def _found_lengths(machine: Interpreter) -> dict[Symbol, int]:
    """Return the values of lengths so far, data-dependent lengths included."""
    return {symbol: value for symbol, value in machine.env.all().items() if symbol.kind != "coord"}


def meet(program: Program, inputs: InputArrays, dims: Mapping[str, int] | None = None) -> Met:
    """Bind the input of a program, and check everything that can be checked before it runs."""
    arrays = arrays_of(program, inputs)
    bindings = bind_lengths(program, arrays, dims)
    check_conditions(program.conditions, bindings)
    return Met(arrays, Lengths(bindings, equations_in(c.condition for c in program.conditions)))


def arrays_of(program: Program, given: InputArrays) -> dict[str, tuple[Array, ...]]:
    """Return the arrays of every input, one per component, in the element types of its spaces."""
    _check_ranks(program)
    problems: list[Diagnostic] = []
    found: dict[str, tuple[Array, ...]] = {}
    for needed in program.inputs:
        if needed.name not in given:
            text = f"no value was given for the input {quoted(needed.name)}"
            hint = f"give --input {needed.name}=VALUE, or --random for values made up"
            problems.append(Diagnostic("T0340", text, hint=hint))
            continue
        value = given[needed.name]
        parts = value if isinstance(value, tuple) else (value,)
        arrays = tuple(np.asarray(part) for part in parts)
        problem = _mismatch(needed, arrays) or outside_of_space(needed, arrays)
        if problem is None:
            with np.errstate(over="ignore"):  # a narrow type has infinity for numbers that are too large
                found[needed.name] = tuple(map(_in_space, arrays, needed.type))
        else:
            problems.append(problem)
    if problems:
        raise Rejected(*problems)
    return found


@lru_cache(maxsize=8)
def _greatest_rank(program: Program) -> int:
    types = {id(node.type): node.type for node in program_nodes(program)}.values()
    return max((len(part.shape) for parts in types for part in parts), default=0)


def _check_ranks(program: Program) -> None:
    rank = _greatest_rank(program)
    if rank > MAX_RANK:
        text = f"a value of rank {rank} cannot be executed with (the limit is {MAX_RANK})"
        refuse("T0520", text)


def _mismatch(needed: Input, arrays: tuple[Array, ...]) -> Diagnostic | None:
    if len(arrays) != len(needed.type):
        components = "1 component" if len(needed.type) == 1 else f"{len(needed.type)} components"
        were = "1 was" if len(arrays) == 1 else f"{len(arrays)} were"
        text = f"the input {quoted(needed.name)} has {components}, but {were} given"
        hint = f"give --input {needed.name}=VALUE for each component, one after the other"
        return Diagnostic("T0341", text, hint=hint if len(needed.type) > 1 else None)
    for array, part in zip(arrays, needed.type, strict=True):
        if array.ndim != len(part.shape):
            text = (
                f"the input {quoted(needed.name)} has rank {len(part.shape)}, but the value has {array.ndim}"
            )
            return Diagnostic("T0341", text)
        if _is_text(array) != (dtype_of(part.space) == np.object_):
            return Diagnostic("T0341", f"the input {quoted(needed.name)} needs values of {part.space}")
    return None


def _is_text(array: Array) -> bool:
    """Whether an array has texts rather than numbers; integers of any size are objects, too."""
    if array.dtype == np.object_:
        return not (array.size and all(isinstance(entry, int) for entry in array.reshape(-1)))
    return array.dtype.kind in "UST"


def _in_space(array: Array, part: Part) -> Array:
    if array.dtype.kind in "UST":
        return array.astype(np.object_)
    return convert(array, part.space)


def bind_lengths(program: Program, arrays: Arrays, dims: Mapping[str, int] | None) -> dict[Symbol, int]:
    """Bind every length, and check that all declared shapes agree.

    ``dims`` has, by name, lengths that no input determines.
    """
    bindings: dict[Symbol, int] = {}
    problems: list[Diagnostic] = []
    pairs = list(_length_pairs(program, arrays))
    formulas = [pair for pair in pairs if not _bind(*pair, bindings, problems)]
    if dims:
        _bind_dims(program, pairs, dims, bindings, problems)
    equations = [declared - actual for _, declared, actual in formulas]
    equations += equations_in(c.condition for c in program.conditions)
    given = frozenset(bindings)
    bindings, _ = solve(equations, bindings)  # equations without a solution are disagreements, reported below
    problems.extend(_disagreements(formulas, bindings))
    problems.extend(_out_of_bounds(program, formulas, given, bindings))
    if problems:
        raise Rejected(*problems)
    return bindings


def _out_of_bounds(
    program: Program,
    formulas: list[tuple[str, Poly, int]],
    given: Set[Symbol],
    bindings: Mapping[Symbol, int],
) -> Iterable[Diagnostic]:
    """Report lengths outside their ranges, with the input or condition that a derived length follows from."""
    told: list[tuple[Cond, str]] = [
        (Eq(declared - actual), f" (the input {quoted(name)})") for name, declared, actual in formulas
    ]
    told += [(noted.condition, line_of(noted.span)) for noted in program.conditions]
    for symbol in bindings:
        yield from out_of_bounds(symbol, bindings, () if symbol in given else told)


def _length_pairs(program: Program, arrays: Arrays) -> Iterable[tuple[str, Poly, int]]:
    for needed in program.inputs:
        for part, array in zip(needed.type, arrays[needed.name], strict=True):
            for declared, actual in zip(part.shape, array.shape, strict=True):
                yield needed.name, declared, actual


def _bind(
    name: str, declared: Poly, actual: int, bindings: dict[Symbol, int], problems: list[Diagnostic]
) -> bool:
    """Bind a declared length if it is a single symbol; the result is whether it is."""
    symbol = only_symbol(declared)
    if symbol is None:
        return False
    known = bindings.setdefault(symbol, actual)
    if known != actual:
        text = f"{quoted(symbol.name)} is {known} elsewhere, but {actual} in the input {quoted(name)}"
        problems.append(Diagnostic("T0342", text))
    return True


def _bind_dims(
    program: Program,
    pairs: list[tuple[str, Poly, int]],
    dims: Mapping[str, int],
    bindings: dict[Symbol, int],
    problems: list[Diagnostic],
) -> None:
    mentioned = {symbol for _, declared, _ in pairs for symbol in declared.free}
    for symbol in sorted(mentioned.union(program.symbols), key=lambda s: s.key):
        if symbol.name not in dims or symbol.kind != "length":
            continue
        known = bindings.setdefault(symbol, dims[symbol.name])
        if known != dims[symbol.name]:
            text = f"{quoted(symbol.name)} was given as {dims[symbol.name]}, but the inputs say {known}"
            problems.append(Diagnostic("T0342", text))


def _disagreements(
    formulas: list[tuple[str, Poly, int]], bindings: Mapping[Symbol, int]
) -> Iterable[Diagnostic]:
    for name, declared, actual in formulas:
        if declared.free <= bindings.keys():
            expected = evaluate(declared, bindings)
            if expected != actual:
                said = f"{expected}" if declared.constant is not None else f"{declared} = {expected}"
                text = f"the input {quoted(name)} has length {actual:,} where {said} is declared"
                yield Diagnostic("T0342", text)


def length_of(poly: Poly, bindings: Mapping[Symbol, int]) -> int:
    """Evaluate a length at the current point; a negative range is empty."""
    return max(value_of(poly, bindings), 0)


def value_of(poly: Poly, bindings: Mapping[Symbol, int]) -> int:
    """Evaluate a static integer, or name the missing length."""
    try:
        return evaluate(poly, bindings)
    except KeyError as missing:
        raise unknown_length(missing) from None


def unknown_length(missing: KeyError) -> Rejected:
    """Make the diagnostic for a length without a value."""
    symbol = missing.args[0]
    name = symbol.name if isinstance(symbol, Symbol) else str(symbol)
    if isinstance(symbol, Symbol) and symbol.kind == "data":
        hint = "give a value for the input that has this length"
        return Rejected(Diagnostic("T0345", f"the length {name} is not known: data decides it", hint=hint))
    return Rejected(Diagnostic("T0345", f"the length {name} is not known", hint=f"give --dim {name}=N"))


PlainValues: TypeAlias = "int | float | bool | str | Fraction | tuple[PlainValues, ...]"
NestedValues: TypeAlias = "int | float | bool | str | Fraction | Sequence[NestedValues]"

_MAGIC = b"\x93NUMPY"


def load_array(path: Path) -> Array:
    """Read a ``.npy`` file; any other content is a diagnostic."""
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
    """Return the content of a ``.npy`` file; types from other packages are written in the next wider type."""
    plain = array if array.dtype.kind in "biufc" else _widened(array)
    out = io.BytesIO()
    np.save(out, plain, allow_pickle=False)
    return out.getvalue()


def _widened(array: Array) -> Array:
    if array.dtype == np.object_:
        return array.astype(np.str_)
    return array.astype(np.float32 if array.dtype.name.startswith(("float", "bfloat")) else np.int64)


def nested_array(values: NestedValues, name: str) -> Array:
    """Convert nested sequences to an array.

    >>> nested_array(((1, 2), (3, 4)), "a").shape
    (2, 2)
    """
    try:
        return _exact_array(_plain(values))
    except ValueError:
        raise Rejected(Diagnostic("T0341", f"the rows of {quoted(name)} differ in length")) from None
    except OverflowError:
        raise Rejected(
            Diagnostic("T0522", f"a number of {quoted(name)} is too large to execute with")
        ) from None


def _exact_array(plain: object) -> Array:
    """Make an array that keeps large integers exact, where NumPy would turn them into floats."""
    found = np.array(plain)
    if found.dtype.kind == "U":
        return found.astype(np.object_)
    if found.dtype.kind not in "Of":
        return found
    exact = np.array(plain, np.object_)
    whole = exact.size and all(isinstance(entry, int) for entry in exact.reshape(-1))
    return exact if whole else exact.astype(np.float64)


def _plain(values: NestedValues) -> object:
    if isinstance(values, Fraction):
        return float(values)
    return values if isinstance(values, int | float | str) else [_plain(value) for value in values]


def plain_values(array: Array) -> PlainValues:
    """Convert an array to nested tuples of Python's numbers, exactly."""
    if array.ndim:
        return tuple(plain_values(row) for row in array)
    value = array.item()
    if isinstance(value, float) and isfinite(value):
        return Fraction(value)
    return value if isinstance(value, bool | int | float) else str(value)


def lengths_by_name(program: Program, given: Arrays, dims: Mapping[str, int]) -> dict[str, int]:
    """Return every length that options, the shapes of arrays and the program's conditions determine."""
    values = named(program, dims)
    told = [
        (needed.name, declared, actual)
        for needed in program.inputs
        for part, array in zip(needed.type, given.get(needed.name, ()), strict=False)
        for declared, actual in zip(part.shape, array.shape, strict=False)
        if declared.constant is None
    ]
    equations = equations_in(c.condition for c in program.conditions)
    equations += [declared - actual for _, declared, actual in told]
    found, impossible = solve(equations, values)
    if impossible:
        texts = (cond_text(Eq(substitute(equation, dict(values)))) for equation in impossible)
        raise Rejected(*(Diagnostic("T0342", f"no length makes {text}") for text in texts))
    if problems := tuple(_out_of_bounds(program, told, values.keys(), found)):
        raise Rejected(*problems)
    return {symbol.name: value for symbol, value in found.items()}


def random_arrays(program: Program, given: Arrays, dims: Mapping[str, int], seed: int) -> Arrays:
    """Draw arrays for the inputs that have none; the same seed gives the same arrays."""
    known = given_lengths(program, dims)
    rng = np.random.default_rng(seed)
    return {
        needed.name: tuple(
            random_values(
                part, tuple(value_of(length, known) for length in part.shape), bounds, rng, needed.name
            )
            for part, bounds in zip(needed.type, declared_bounds(needed), strict=True)
        )
        for needed in program.inputs
        if needed.name not in given
    }


def show_output(name: str, value: OutputValue, spaces: tuple[str, ...]) -> str:
    """Format an output, its components one after another; large arrays are cut."""
    parts = value if isinstance(value, tuple) else (value,)
    types = (f"{space} {list(p.shape)}" if p.shape else space for space, p in zip(spaces, parts, strict=True))
    arrays = (np.array2string(part, threshold=1000, max_line_width=100) for part in parts)
    return "\n".join((f"{visible(name)}: {', '.join(types)}", *arrays))
