"""Which lengths of two costs are one: the same axis of the same input, whatever they are called.

Inputs are paired by their names or by their places.  Where an axis is named by a length alone, that length
is what stands there now; where shapes say more than a name, both are equal, which tells a length that nothing
else tells, or binds lengths that were free.  ``diff`` and the gate ask this of analyses and of lock entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, eq, only_symbol, prove, substitute

if TYPE_CHECKING:  # a check of what is sealed does without what costs programs
    from tolcost.cost.record import NamedType

InputShape: TypeAlias = tuple[Poly, ...]


class ShapedInput(Struct, frozen=True):
    """An input by its name, with the shape of each of its components."""

    name: str
    shapes: tuple[InputShape, ...]


InputPair: TypeAlias = tuple[ShapedInput, ShapedInput]


class AxisEquation(Struct, frozen=True):
    """An axis that an old input and a new one share: both forms are one length."""

    old: Poly
    new: Poly

    def gap(self, symbols: Mapping[Symbol, Poly]) -> Poly:
        """Return what has to be 0, where old symbols are these forms."""
        return substitute(self.old, symbols) - self.new


class MatchedLengths(Struct, frozen=True):
    """What lengths of old inputs are in the new ones, and what has to hold for inputs to be the same.

    Each of the ``telling`` equations tells one length more; those that are ``open`` have old lengths that
    stand nowhere by themselves.  The ``binding`` ones tell none and do not follow, each with its inputs.
    """

    symbols: Mapping[Symbol, Poly]
    telling: tuple[AxisEquation, ...]
    open: tuple[AxisEquation, ...]
    binding: tuple[tuple[InputPair, AxisEquation], ...]


def shaped(inputs: Iterable[NamedType]) -> tuple[ShapedInput, ...]:
    """Return inputs of an analysis by their shapes."""
    return tuple(ShapedInput(one.name, tuple(part.shape for part in one.type)) for one in inputs)


def pairs_by_name(old: Sequence[ShapedInput], new: Sequence[ShapedInput]) -> tuple[InputPair, ...]:
    """Pair inputs that have one name in both, and the others in their order."""
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
    """Give the axes of components that have as many."""
    for before, after in zip(old.shapes, new.shapes, strict=False):
        if len(before) == len(after):
            yield from zip(before, after, strict=True)


def _meant(symbol: Symbol, values: Sequence[Poly]) -> Poly:
    """What a length is of what stands at its places now: where they differ, rather that of its name."""
    named = (value for value in values if (now := only_symbol(value)) and now.name == symbol.name)
    return next(named, values[0])


class _Equations:
    """Sorts equations by what each tells beside those before it."""

    def __init__(self, symbols: Mapping[Symbol, Poly]) -> None:
        self.symbols = symbols
        self.telling: list[AxisEquation] = []
        self.open: list[AxisEquation] = []
        self.binding: list[tuple[InputPair, AxisEquation]] = []
        self._old = set(symbols)
        self._new = {symbol for form in symbols.values() for symbol in form.free}

    def take(self, pair: InputPair, equation: AxisEquation) -> None:
        """Take an equation for what it tells."""
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
