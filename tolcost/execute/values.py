"""Data of a run: values with their faults, and the tally of operations.

Reading or replacing a member that is out of range does not stop the run, because the result may turn out not
to be needed.  It leaves a *fault* beside the element: the number of the place that caused it. Functions of
faults are faults, and a fault in an output is an error.

The keys of a tally are those of the cost pass, so that a closed form at concrete lengths can be compared with
a run entry by entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from tolcost.algebra import Poly, Symbol, prepared, solve
from tolcost.atoms.nodes import ATOMS, Charge, Convert, Filter, Length, Part, Type
from tolcost.atoms.unroll import CastOperand
from tolcost.diagnostics import Diagnostic, Rejected, Span, refuse
from tolcost.execute.dtypes import KEPT, Array, as_places, same_bits
from tolcost.execute.whole_numbers import ENDLESS, in_space, is_held, unheld
from tolcost.spaces import Bounds, bounded_text

MAX_ELEMENTS = 2**28
"""Limit on the elements of a single value, which bounds memory."""

MOST_TOLD = 4
"""Distinct missing members reported for one place; further ones share one message."""


class Lengths(dict[Symbol, int]):
    """The lengths bound so far; a missing length may follow from the others.

    Of the two sides of a choice, only the evaluated one determines its data-dependent length; a condition
    makes the lengths of both sides equal.
    """

    def __init__(self, known: Mapping[Symbol, int], equations: Sequence[Poly] = ()) -> None:
        """Take over known lengths, and the equations between lengths."""
        super().__init__(known)
        self.equations: Sequence[Poly] = known.equations if isinstance(known, Lengths) else equations

    def __missing__(self, symbol: Symbol) -> int:
        """Derive a length from the equations; it is not stored, since it may differ the next time."""
        found = self.all() if self.equations else {}
        if symbol not in found:
            raise KeyError(symbol)
        return found[symbol]

    def all(self) -> dict[Symbol, int]:
        """Return every length that is known or follows from the equations."""
        return solve(self.equations, self)[0]


class Piece(NamedTuple):
    """One component of a value: its elements, and the fault of each (None: no faults).

    A fault is a positive number, an index in ``Faults``; 0 is a sound element.
    """

    data: Array
    fault: Array | None = None


RunValue: TypeAlias = tuple[Piece, ...]


class Faults:
    """The places of errors at run time, such as members out of range, numbered from 1."""

    __slots__ = ("_numbers", "_places", "_told")

    def __init__(self) -> None:
        """Start with no places."""
        self._places: list[tuple[Span, str, str]] = []
        self._numbers: dict[tuple[Span, str, str], int] = {}
        self._told: Counter[Span] = Counter()

    def number(self, span: Span, what: str, code: str = "T0346") -> int:
        """Return the number of a place; equal places share a number."""
        key = (span, what, code)
        if key not in self._numbers:
            self._places.append(key)
            self._numbers[key] = len(self._places)
        return self._numbers[key]

    def out_of_range(self, span: Span, done: str, index: int, length: int) -> int:
        """Return the fault number of a missing member; for the first few at one place, it names the index."""
        what = f"a member is {done} out of range: index {index} is outside 1..{length}"
        if (span, what, "T0346") not in self._numbers:
            self._told[span] += 1
        return self.number(
            span, what if self._told[span] <= MOST_TOLD else f"a member is {done} out of range"
        )

    def diagnostic(self, number: int) -> Diagnostic:
        """Return the diagnostic for a place."""
        span, what, code = self._places[number - 1]
        return Diagnostic(code, what, span, hint=KEPT if code == "T0522" else None)

    def of_numbers(self, wrong: Array, span: Span, source: str, space: str) -> Array:
        """Return the fault of each number that is too large or not whole; ``source`` names its origin."""
        large = self.number(span, f"{source} a whole number of more than 64 bits", "T0522")
        other = self.number(span, f"{source} a value that is not in {space}", "T0349")
        return np.choose(wrong, np.array([0, large, other], np.int32))

    def check(self, pieces: Iterable[Piece]) -> None:
        """Stop if any element is a fault."""
        numbers: set[int] = set()
        for piece in pieces:
            if piece.fault is not None:
                numbers.update(np.unique(piece.fault).tolist())
        if numbers - {0}:
            found = {
                (one.span, one.code): one for one in map(self.diagnostic, sorted(numbers - {0}, reverse=True))
            }
            raise Rejected(*reversed(found.values()))  # the first one at each place


def first_fault(faults: Sequence[Array | None]) -> Array | None:
    """Combine the faults of several values: for each element, the first one that is set."""
    known = [fault for fault in faults if fault is not None]
    if not known:
        return None
    result = known[0]
    for fault in known[1:]:
        result = np.where(result != 0, result, fault)
    return result


def tidy(fault: Array | None) -> Array | None:
    """Replace an array without faults by None."""
    return None if fault is None or not fault.any() else fault


def check_size(shape: Sequence[int]) -> None:
    """Refuse a shape whose elements exceed the limit."""
    volume = 1
    for length in shape:
        volume *= max(length, 1)
    if volume > MAX_ELEMENTS:
        text = f"a value of {volume} elements is too large to execute with (the limit is {MAX_ELEMENTS})"
        refuse("T0520", text, hint="try smaller lengths")


def beyond(data: Array, bounds: Bounds) -> Array:
    """Mark the elements outside bounds; NaN is never outside."""
    lo, hi = (end if end is None or isinstance(end, int) else float(end) for end in (bounds.lo, bounds.hi))
    found = np.zeros(data.shape, np.bool_)
    if lo is not None:
        found |= data < lo
    if hi is not None:
        found |= data > hi
    return found if bounds.zero else found | (data == 0)


def within(
    faults: Faults, cast: Convert | CastOperand, spaces: Sequence[str], given: RunValue, pieces: RunValue
) -> RunValue:
    """Mark the values that a conversion takes out of their spaces; ``given`` are the values before it."""
    if cast.bits or (not cast.within and ENDLESS.isdisjoint(spaces)):
        return pieces
    kept = tuple(map(partial(_whole, faults, cast.span), given, pieces, spaces))
    return tuple(map(partial(_marked, faults, cast.span), kept, cast.within, spaces)) or kept


def _whole(faults: Faults, span: Span, given: Piece, piece: Piece, space: str) -> Piece:
    wrong = unheld(np.asarray(given.data)) if space in ENDLESS else None
    if wrong is None:
        return piece
    fault = faults.of_numbers(wrong, span, "`convert` is given", space)
    return Piece(piece.data, first_fault([piece.fault, fault]))


def _marked(faults: Faults, span: Span, piece: Piece, bounds: Bounds, space: str) -> Piece:
    wrong = beyond(np.asarray(piece.data), bounds)
    if not wrong.any():
        return piece
    number = faults.number(span, f"a value is not in {bounded_text(space, bounds)}", "T0349")
    return Piece(piece.data, first_fault([piece.fault, np.where(wrong, np.int32(number), np.int32(0))]))


def in_spaces(value: RunValue, types: Type, bits: bool = False) -> RunValue:
    """Convert a value, or reinterpret its bits, to the spaces of a type; usually it is there already."""
    if not bits and all(is_held(piece.data, part.space) for piece, part in zip(value, types, strict=True)):
        return value
    change = same_bits if bits else in_space
    return tuple(
        Piece(change(piece.data, part.space), piece.fault) for piece, part in zip(value, types, strict=True)
    )


def all_fault(piece: Piece, fault: int) -> Piece:
    """Mark every element with a fault."""
    return Piece(piece.data, np.full(piece.data.shape, fault, np.int32))


def scalar(data: Array) -> Array:
    """Return a number without its array where possible, as scalars compute faster."""
    found: Any = data[()]
    return found if hasattr(found, "dtype") else data  # a text has no dtype


def element(piece: Piece, at: tuple[int, ...]) -> Piece:
    """Read one element."""
    found = piece.data[at] if at else piece.data
    data: Array = found if hasattr(found, "dtype") else np.asarray(found, piece.data.dtype)  # an object
    return Piece(data, None if piece.fault is None else tidy(np.asarray(piece.fault[at])))


def fault_array(piece: Piece) -> Array:
    """Return the fault of every element, 0 where there is none."""
    return np.zeros(piece.data.shape, np.int32) if piece.fault is None else piece.fault


def replaced(piece: Piece, at: tuple[int, ...], new: Piece) -> Piece:
    """Replace the element or member at a position."""
    data = np.array(piece.data, np.result_type(piece.data, new.data))
    data[at] = new.data[()]  # an object, where there are objects
    if piece.fault is None and new.fault is None:
        return Piece(data)
    fault = fault_array(piece).copy()
    fault[at] = fault_array(new)
    return Piece(data, tidy(fault))


def selected(piece: Piece, chosen: Array) -> Piece:
    """Keep chosen entries along the first dimension."""
    return Piece(piece.data[chosen], None if piece.fault is None else tidy(piece.fault[chosen]))


def kept_rows(
    faults: Faults, node: Filter, marks: Array, rows: Iterable[int], env: Mapping[Symbol, int]
) -> Array:
    """Return the positions of the entries that a mask keeps, or that counts repeat."""
    if any(size != marks.size for size in rows):
        raise Rejected(faults.diagnostic(faults.number(node.span, "there is not one mark for each entry")))
    if not node.repeats:
        return np.flatnonzero(marks)
    most = None if node.length.hi is None else prepared(node.length.hi)(env)
    counts = as_places(marks)
    total = sum(counts.tolist())
    if counts.min(initial=0) < 0 or (most is not None and total > most):
        wrong = faults.number(node.span, "entries are repeated a negative number of times, or too often")
        raise Rejected(faults.diagnostic(wrong))
    check_size([total])
    return np.repeat(np.arange(marks.size), counts)


def range_length(faults: Faults, node: Length, data: Array, env: Mapping[Symbol, int]) -> int:
    """Return the length of a range that data decides; it is not below 0, and not above its limit."""
    size = int(as_places(np.asarray(data).reshape(-1))[0])
    most = None if node.length.hi is None else prepared(node.length.hi)(env)
    if size < 0 or (most is not None and size > most):
        wrong = faults.number(node.span, f"a range of length {size} is not inside of what it is taken from")
        raise Rejected(faults.diagnostic(wrong))
    return size


def reshaped(piece: Piece, shape: tuple[int, ...]) -> Piece:
    """Reshape elements, in the same order."""
    return Piece(piece.data.reshape(shape), None if piece.fault is None else piece.fault.reshape(shape))


def joined(left: Piece, right: Piece, axis: int, part: Part) -> Piece:
    """Join two pieces along an axis."""
    check_size([left.data.size + right.data.size])
    data = np.concatenate([in_space(left.data, part.space), in_space(right.data, part.space)], axis)
    if left.fault is None and right.fault is None:
        return Piece(data)
    return Piece(data, np.concatenate([fault_array(left), fault_array(right)], axis))


def _stacked(members: list[Array]) -> Array:
    first = members[0]
    if first.shape or first.dtype.kind not in "biufc" or any(m.dtype is not first.dtype for m in members):
        return np.stack(members)
    return np.array(members, first.dtype)  # much faster for numbers


def stacked(members: Sequence[Piece], extents: tuple[int, ...]) -> Piece:
    """Lay out members in row-major order under their coordinates."""
    shape = (*extents, *members[0].data.shape)
    check_size(shape)
    if any(piece.data.shape != members[0].data.shape for piece in members):
        refuse("T0347", "the members of a ToL have different shapes")
    data = _stacked([piece.data for piece in members]).reshape(shape)
    if all(piece.fault is None for piece in members):
        return Piece(data)
    return Piece(data, np.stack([fault_array(piece) for piece in members]).reshape(shape))


Histogram: TypeAlias = dict[tuple[str, str], int]
OutputValue: TypeAlias = Array | tuple[Array, ...]
"""A ToL of capacity 1 is an array; a list is one array per component."""


class RunCounts(Struct, frozen=True):
    """The number of applications of each function to data, to coordinates, and of each atom."""

    histogram: Histogram
    index: Histogram
    atoms: dict[str, int]

    @property
    def eops(self) -> int:
        """The number of elementary functions applied to data."""
        return sum(self.histogram.values())


class Execution(Struct, frozen=True):
    """The values of the outputs, the counts, and the values of all lengths."""

    outputs: dict[str, OutputValue]
    counts: RunCounts
    bindings: dict[Symbol, int]


SeenLengths: TypeAlias = dict[Symbol, dict[int, int]]
"""How often each length that data decides had which value."""


class Tally:
    """Counts that a run accumulates."""

    __slots__ = ("atoms", "histogram", "index", "lengths")

    def __init__(self) -> None:
        """Start with zero counts."""
        self.histogram: Histogram = {}
        self.index: Histogram = {}
        self.atoms: dict[str, int] = dict.fromkeys(ATOMS, 0)
        self.lengths: SeenLengths = {}

    def define(self, symbol: Symbol, value: int, visits: int = 1) -> None:
        """Note the value that a length has at some visits of the node that defines it."""
        seen = self.lengths.get(symbol, {})
        self.lengths[symbol] = {**seen, value: seen.get(value, 0) + visits}

    def apply(self, function: str, space: str, charge: Charge, times: int) -> None:
        """Count applications of a function."""
        if times == 0:
            return
        key = (function, space)
        if charge == "data":
            self.histogram[key] = self.histogram.get(key, 0) + times
            self.atoms["lambda"] += times
        elif charge == "index":
            self.index[key] = self.index.get(key, 0) + times

    def reassemble(self, value: RunValue, times: int) -> None:
        """Count splitting a value, a list first into its components, and assembling it again."""
        for piece in value:
            self.copy(*atoms_to_copy(piece.data.shape), times)
        if any(piece.data.ndim for piece in value):
            self.split(len(value), len(value), times)

    def split(self, capacity: int, taken: int, times: int) -> None:
        """Count taking ``taken`` components out of lists, and packing a list of ``capacity`` components."""
        if capacity > 1:
            self.atoms["member"] += taken * times
            self.atoms["join"] += (capacity - 1) * times

    def assemble(self, shape: Sequence[int], times: int) -> None:
        """Count assembling numerics into a ToL."""
        _, join, embed = atoms_to_copy(shape)
        self.copy(0, join, embed, times)

    def copy(self, member: int, join: int, embed: int, times: int) -> None:
        """Add numbers of members, joins and embeds."""
        self.atoms["member"] += member * times
        self.atoms["join"] += join * times
        self.atoms["embed"] += embed * times

    def snapshot(self) -> tuple[Histogram, Histogram, dict[str, int], SeenLengths]:
        """Return a copy of the state for ``restore``."""
        return dict(self.histogram), dict(self.index), dict(self.atoms), dict(self.lengths)

    def restore(self, saved: tuple[Histogram, Histogram, dict[str, int], SeenLengths]) -> None:
        """Discard what was counted since a snapshot."""
        histogram, index, atoms, lengths = saved
        self.histogram, self.index, self.atoms = dict(histogram), dict(index), dict(atoms)
        self.lengths = dict(lengths)

    def counts(self) -> RunCounts:
        """Return the final counts."""
        return RunCounts(dict(self.histogram), dict(self.index), dict(self.atoms))


def atoms_to_copy(shape: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the members, joins and embeds that copy a ToL of a shape; none for a numeric.

    Lengths are integers, or arrays of them.

    >>> atoms_to_copy([2, 3]), atoms_to_copy([]), atoms_to_copy([0, 4])
    ((6, 5, 3), (0, 0, 0), (0, 0, 4))
    """
    if not shape:
        return 0, 0, 0
    embeds, suffix = 0, 1
    for length in reversed(shape[1:]):
        suffix = suffix * length
        embeds = embeds + suffix
    volume = suffix * shape[0]
    return volume, volume - (volume > 0), embeds


def as_output(parts: Sequence[Any]) -> OutputValue:
    """Return the value of an output: an array, or one array per component."""
    return parts[0] if len(parts) == 1 else tuple(parts)
