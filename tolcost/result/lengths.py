"""Match the lengths of two costs: axes of one input are one length, whatever their names.

Inputs are paired by name or by position.  If an old axis is a single length, the form at that axis now
replaces it.  Any other axis gives an equation of two forms, which determines a length that nothing else
determines, or restricts lengths that were free.  Both ``diff`` and the gate match lengths here, for analyses
and for entries of a lock file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, eq, only_symbol, prove, substitute

if TYPE_CHECKING:  # checking a lock file must not load the analysis of programs
    from tolcost.cost.record import NamedType

InputShape: TypeAlias = tuple[Poly, ...]


class ShapedInput(Struct, frozen=True):
    """An input by its name, with the shapes of its components."""

    name: str
    shapes: tuple[InputShape, ...]


InputPair: TypeAlias = tuple[ShapedInput, ShapedInput]


class AxisEquation(Struct, frozen=True):
    """An axis that an old input and a new one share: both forms are one length."""

    old: Poly
    new: Poly

    def gap(self, symbols: Mapping[Symbol, Poly]) -> Poly:
        """Return the form that must be 0, with forms substituted for old symbols."""
        return substitute(self.old, symbols) - self.new


class MatchedLengths(Struct, frozen=True):
    """The forms that replace old lengths, and the equations that make inputs equal.

    Each of the ``telling`` equations determines another length.  Those that are ``open`` contain old lengths
    that are not an axis by themselves.  The ``binding`` ones restrict free lengths, each with its inputs.
    """

    symbols: Mapping[Symbol, Poly]
    telling: tuple[AxisEquation, ...]
    open: tuple[AxisEquation, ...]
    binding: tuple[tuple[InputPair, AxisEquation], ...]


def shaped(inputs: Iterable[NamedType]) -> tuple[ShapedInput, ...]:
    """Return the inputs of an analysis with their shapes."""
    return tuple(ShapedInput(one.name, tuple(part.shape for part in one.type)) for one in inputs)


def pairs_by_name(old: Sequence[ShapedInput], new: Sequence[ShapedInput]) -> tuple[InputPair, ...]:
    """Pair inputs that share a name, and the others in their order."""
    named = {one.name: one for one in new}
    shared = {one.name for one in old} & named.keys()
    others = ([one for one in side if one.name not in shared] for side in (old, new))
    return (
        *((one, named[one.name]) for one in old if one.name in shared),
        *zip(*others, strict=False),
    )


def pairs_by_place(old: Sequence[ShapedInput], new: Sequence[ShapedInput]) -> tuple[InputPair, ...]:
    """Pair inputs in their order."""
    return tuple(zip(old, new, strict=False))


def match_lengths(pairs: Sequence[InputPair]) -> MatchedLengths:
    """Match the lengths of pairs of inputs.

    >>> from tolcost.algebra import length
    >>> n, m, k = map(length, "nmk")
    >>> old, new = ShapedInput("x", ((n, n),)), ShapedInput("x", ((m, k),))
    >>> found = match_lengths([(old, new)])
    >>> found.symbols, found.telling
    ({n: m}, (AxisEquation(old=n, new=k),))
    """
    values: dict[Symbol, list[Poly]] = {}
    for form, value in (axis for pair in pairs for axis in shared_axes(*pair)):
        symbol = only_symbol(form)
        if symbol is not None:
            values.setdefault(symbol, []).append(value)
    symbols = {symbol: _meant(symbol, several) for symbol, several in values.items()}
    equations = _Equations(symbols)
    for pair in pairs:
        for old, new in shared_axes(*pair):
            equations.take(pair, AxisEquation(old, new))
    return MatchedLengths(symbols, tuple(equations.telling), tuple(equations.open), tuple(equations.binding))


def shared_axes(old: ShapedInput, new: ShapedInput) -> Iterator[tuple[Poly, Poly]]:
    """Yield the axes of components whose ranks agree."""
    for before, after in zip(old.shapes, new.shapes, strict=False):
        if len(before) == len(after):
            yield from zip(before, after, strict=True)


def _meant(symbol: Symbol, values: Sequence[Poly]) -> Poly:
    """Choose the form that replaces a length: the length of its own name if present, else the first form."""
    named = (value for value in values if (now := only_symbol(value)) and now.name == symbol.name)
    return next(named, values[0])


class _Equations:
    """Sorts equations by what each adds to those before it."""

    def __init__(self, symbols: Mapping[Symbol, Poly]) -> None:
        self.symbols = symbols
        self.telling: list[AxisEquation] = []
        self.open: list[AxisEquation] = []
        self.binding: list[tuple[InputPair, AxisEquation]] = []
        self._old = set(symbols)
        self._new = {symbol for form in symbols.values() for symbol in form.free}

    def take(self, pair: InputPair, equation: AxisEquation) -> None:
        """Sort an equation by the lengths that it determines, or drop it if it follows from others."""
        stands = equation.old.free <= self.symbols.keys()
        gap = equation.gap(self.symbols) if stands else equation.old - equation.new
        if stands and gap == 0:
            return
        more = gap.free if stands else equation.new.free
        if not (more <= self._new and equation.old.free <= self._old):
            self._old |= equation.old.free
            self._new |= more
            (self.telling if stands else self.open).append(equation)
        elif equation not in self.open and prove(eq(gap), self._known()) is not True:
            self.binding.append((pair, equation))

    def _known(self) -> tuple[Cond, ...]:
        return tuple(eq(equation.gap(self.symbols)) for equation in self.telling)
