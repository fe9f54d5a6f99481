"""Names of a graph and what is known of each by now, while lengths turn out to be equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tolcost.algebra import Poly, Symbol, atom, substitute
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.models.known import NOTHING, UNKNOWN, Known, Table, replaced


@dataclass(slots=True)
class Names:
    """The numbers of what is known of names; ``unknown`` are names of which nothing is.

    When two lengths become one, numbers are redirected, not names: work is in what mentions the
    length that goes away.
    """

    table: Table
    numbers: dict[str, int] = field(default_factory=lambda: {"": NOTHING})
    unknown: set[str] = field(default_factory=set)
    equal: dict[Symbol, Poly] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    _mentions: dict[Symbol, set[int]] = field(default_factory=dict)
    _met: set[int] = field(default_factory=set)

    def meet(self, name: str, number: int) -> None:
        """Say what is known of a name; each name only once."""
        if not name:
            return
        if name in self.numbers or name in self.unknown:
            message = f"{quoted(name)} is given by two nodes, inputs or initializers"
            raise Rejected(Diagnostic("T0675", message))
        if number == UNKNOWN:
            self.unknown.add(name)
            return
        self.numbers[name] = number
        if number not in self._met:
            self._index(number)

    def _index(self, number: int) -> None:
        self._met.add(number)
        for symbol in self.table.symbols[number]:
            self._mentions.setdefault(symbol, set()).add(number)

    def number_of(self, name: str) -> int:
        """The number of what is known of a name by now."""
        return self.now(self.numbers.get(name, UNKNOWN))

    def known(self, name: str) -> Known | None:
        """What is known of a name by now."""
        number = self.number_of(name)
        return None if number == UNKNOWN else self.table.things[number]

    def now(self, number: int) -> int:
        """The number that a number has become."""
        while number in self.moved:
            number = self.moved[number]
        return number

    def adopt(self, equal: Mapping[Symbol, Poly]) -> None:
        """Two lengths that a node makes equal are one from then on, everywhere."""
        for old, other in equal.items():
            symbol, value = _length_last(old, substitute(other, self.equal))
            if symbol in value.free or symbol in self.equal:
                continue
            one = {symbol: value}
            self.equal = {s: substitute(p, one) for s, p in self.equal.items()}
            self.equal[symbol] = value
            for number in self._mentions.pop(symbol, ()):
                self._move(number, one)

    def _move(self, number: int, one: Mapping[Symbol, Poly]) -> None:
        thing = self.table.things[number]
        if number in self.moved or thing is None:
            return
        to = self.table.number(replaced(thing, one))
        if to != number:
            self.moved[number] = to
            if to not in self._met:
                self._index(to)


def _length_last(symbol: Symbol, value: Poly) -> tuple[Symbol, Poly]:
    """Of a length and something that data decides, the length stays."""
    only = next(iter(value.free)) if len(value.free) == 1 else None
    if symbol.kind == "length" and only is not None and only.kind == "data" and value == atom(only):
        return only, atom(symbol)
    return symbol, value
