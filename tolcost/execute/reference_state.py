"""What a run of the reference interpreter knows: variables, coordinates and lengths, faults, the tally.

Here are the values that no data decides: integers at the present coordinates, static numbers and tables,
shapes, and going through the coordinates of a quantifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from tolcost.algebra import Poly, Symbol, evaluate_cond, prepared
from tolcost.atoms.kit import constant_symbols, is_fixed
from tolcost.atoms.nodes import Constant, Number, Part, Table, Var
from tolcost.diagnostics import Rejected, Span
from tolcost.execute.dtypes import Array, beside, dtype_of, number
from tolcost.execute.inputs import length_of, unknown_length, value_of
from tolcost.execute.values import Faults, Lengths, Piece, RunValue, Tally, scalar

Run: TypeAlias = Callable[[list[RunValue], int], RunValue]
"""Evaluates a node, given the values of its block so far; counted so many times."""

Prepared: TypeAlias = Run | RunValue | Var
"""What a node became: a function, or the value that it always has, or the variable that it reads."""


_SMALL = range(128)
"""Integers that every type of NumPy's own holds as they are."""


def _number_at(span: Span, value: int | float | complex | Fraction | str, space: str) -> Array:
    """Give a number as an element of a space; where it is none, that is told with its place."""
    try:
        return number(value, space)
    except Rejected as rejected:
        raise rejected.at(span) from None


def _whole_in(space: str, span: Span) -> Callable[[int], Array]:
    """Give what makes an integer an element of a space; a small one, as most are, without a detour."""
    dtype = dtype_of(space)
    if dtype.kind not in "iuf" or dtype.isbuiltin != 1:
        return lambda value: scalar(_number_at(span, value, space))
    return lambda value: dtype.type(value) if value in _SMALL else scalar(_number_at(span, value, space))


class State:
    """The state of a run, as far as it does not depend on the program."""

    def __init__(self, bindings: Mapping[Symbol, int]) -> None:
        """Start where only lengths are known."""
        self.env = Lengths(bindings)
        self.coordinates: list[int] = []
        self.vars: dict[Var, RunValue] = {}
        self.tally = Tally()
        self.faults = Faults()

    # ---- static values ---------------------------------------------------------------------

    def integer(self, form: Poly) -> Callable[[], int]:
        """Give what works out a static integer at the present coordinates."""
        at, env = prepared(form), self.env

        def value() -> int:
            try:
                return at(env)
            except KeyError as missing:
                raise unknown_length(missing) from None

        return value

    def length(self, form: Poly) -> Callable[[], int]:
        """Give what works out a length; a range that would be negative is empty."""
        value = self.integer(form)
        return lambda: max(value(), 0)

    def number(self, node: Number) -> Prepared:
        """A static number; one without coordinates is worked out once."""
        form, space = node.value, node.type[0].space
        if all(symbol.kind == "length" for symbol in constant_symbols(form)):
            return (Piece(scalar(self.static_number(form, space, node.span))),)
        if isinstance(form, Poly):
            value, make = self.integer(form), _whole_in(space, node.span)
            return lambda values, times: (Piece(make(value())),)
        return lambda values, times: (Piece(self.static_number(form, space, node.span)),)

    def static_number(self, value: Constant, space: str, span: Span) -> Array:
        """Give a static number at the present coordinates."""
        match value:
            case Poly():
                return _number_at(span, value_of(value, self.env), space)
            case bool() | float() | complex() | Fraction() | str():
                return _number_at(span, value, space)
            case _:
                return _number_at(span, evaluate_cond(value, self.env), space)

    def table(self, node: Table) -> Prepared:
        """A table; one without coordinates is laid out once."""
        if is_fixed(node):
            return (self.laid_out(node),)
        return lambda values, times: (self.laid_out(node),)

    def laid_out(self, node: Table) -> Piece:
        """Give a table at the present coordinates."""
        part = node.type[0]
        entries = [self.static_number(value, part.space, node.span) for value in node.values]
        return Piece(beside(entries, part.space).reshape(self.shape_of(part)))

    def shape_of(self, part: Part) -> tuple[int, ...]:
        """Give a shape at the present coordinates."""
        return tuple(length_of(length, self.env) for length in part.shape)

    def empty_shape(self, part: Part) -> tuple[int, ...]:
        """Give the shape of a ToL without members; a length only its members would define is 0."""
        return tuple(
            length_of(length, self.env) if length.free <= self.env.keys() else 0 for length in part.shape
        )

    # ---- coordinates -----------------------------------------------------------------------

    def range_over(
        self, coords: tuple[Symbol, ...], extents: tuple[Poly, ...]
    ) -> Callable[[], Iterator[None]]:
        """Give what visits every coordinate in row-major order, bound in the environment meanwhile."""
        lengths = [self.length(extent) for extent in extents]
        return lambda: self.coordinates_over(coords, lengths, 0)

    def coordinates_over(
        self, coords: tuple[Symbol, ...], lengths: Sequence[Callable[[], int]], axis: int
    ) -> Iterator[None]:
        """Visit the coordinates from one axis on."""
        if axis == len(coords):
            yield
            return
        symbol, last = coords[axis], axis + 1 == len(coords)
        for k in range(1, lengths[axis]() + 1):
            self.env[symbol] = k
            self.coordinates.append(k)
            if last:
                yield
            else:
                yield from self.coordinates_over(coords, lengths, axis + 1)
            self.coordinates.pop()
