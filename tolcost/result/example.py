"""Example lengths: the point that a report shows where lengths are open, with typical values if these may be.

Lengths that follow from others are not chosen.  Where typical values break a condition, the nearest value
that fulfils it is taken, one length after another; where that does not help, all become smaller together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log

from msgspec import Struct, field

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Eq,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    atom,
    evaluate_cond,
    ge,
    solve,
    substitute,
    symbols_of_cond,
)
from tolcost.algebra.points import Assignment, in_ranges
from tolcost.algebra.poly import affine_parts

_SMALLER = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""Lengths to try for all at once, where no single length can be moved."""
_FAR = 2048
"""A length is moved at most this far from its typical value, or from a bound: seq <= 512 is met at once."""
_MOST_MOVES = 24
"""At most this many lengths are moved: each move may take thousands of evaluations."""
_MOST_DOUBLINGS = 24
"""A length is doubled or halved at most this often, in search of the point at which a verdict turns."""
_MOST_WORK = 20_000
"""At most this many facts are held against points while lengths are moved: about half a second."""
_MOST_FULL = 64
"""At most this many values of a length are held against all conditions, not only the one that broke."""


def fitted(
    wanted: Mapping[Symbol, int], facts: Iterable[Cond], known: Mapping[Symbol, int] | None = None
) -> Assignment | None:
    """Return values for lengths near those that are wanted, at which all facts hold; None if none are found.

    Lengths are chosen in the order given.  Those that follow from ``known`` ones, or from others, are not in
    the result.  A fact about symbols that have no value is not looked at.

    >>> from tolcost.algebra import eq, length
    >>> batch, seq, h, k = map(length, ("batch", "seq", "h", "k"))
    >>> wanted = {next(iter(one.free)): value for one, value in ((batch, 1), (seq, 1024), (h, 224), (k, 16))}
    >>> fitted(wanted, [ge(500 - seq), eq(h - 48 * k)])
    {batch: 1, seq: 500, h: 240}
    """
    search = _Search(dict(wanted), (*facts, *_ranges(wanted)), dict(known or {}))
    try:
        return search.fitted()
    except AlgebraBudget:
        return None


def nearest_where(
    test: Callable[[Assignment], bool],
    wanted: Mapping[Symbol, int],
    facts: Iterable[Cond],
    known: Mapping[Symbol, int] | None = None,
) -> Assignment | None:
    """Return the typical point if it passes a test; else the nearest that does and differs in one length.

    That is where a verdict turns as one length grows or shrinks.  None if no such point is found.

    >>> from tolcost.algebra import length, the_symbol
    >>> n, m = the_symbol(length("n")), the_symbol(length("m"))
    >>> nearest_where(lambda at: at[n] > 9 * at[m], {n: 16, m: 64}, ())
    {n: 577, m: 64}
    """
    search = _Search(dict(wanted), (*facts, *_ranges(wanted)), dict(known or {}))
    try:
        base = search.fitted()
        if base is None:
            return None
        turns = (search.turn(test, base, symbol, up) for symbol in base for up in (False, True))
        there = (
            search.passing(test, base)
            or min((turn for turn in turns if turn is not None), key=lambda turn: turn[0], default=(0, None))[
                1
            ]
        )
    except AlgebraBudget:
        return None
    return there


def _ranges(symbols: Iterable[Symbol]) -> Iterator[Cond]:
    for symbol in symbols:
        if symbol.lo is not None:
            yield ge(atom(symbol) - symbol.lo)
        if symbol.hi is not None:
            yield ge(symbol.hi - atom(symbol))


class _Search(Struct):
    """The lengths that are wanted, in order, and the facts and numbers that they are held to."""

    wanted: dict[Symbol, int]
    facts: tuple[Cond, ...]
    known: dict[Symbol, int]
    equations: dict[Poly, Cond] = field(default_factory=dict)
    work: int = 0
    """The facts that were held against points while lengths were moved."""

    def __post_init__(self) -> None:
        """Find the equations, which determine lengths."""
        self.equations = {fact.p: fact for fact in self.facts if isinstance(fact, Eq)}

    def fitted(self) -> Assignment | None:
        """Return the values of the lengths that determine the others; None if none are found."""
        chosen = self.chosen()
        found = self.moved(chosen)
        return self.smaller(chosen) if found is None else found

    def passing(self, test: Callable[[Assignment], bool], chosen: Assignment) -> Assignment | None:
        """Return all values at a point that fulfils all facts and passes a test."""
        if self.broken(chosen):
            return None
        values = self._solved(chosen)[0]
        try:
            return values if test(values) else None
        except (AlgebraBudget, NotInteger, UnboundSymbol, KeyError):
            return None

    def turn(
        self, test: Callable[[Assignment], bool], base: Assignment, symbol: Symbol, up: bool
    ) -> tuple[float, Assignment] | None:
        """Return the nearest point above or below in one length that passes a test, with its distance."""
        low, high = _range(symbol)
        fails = start = base[symbol]
        found = None
        for _ in range(_MOST_DOUBLINGS):
            value = min(2 * fails, high or 2 * fails) if up else max(fails // 2, low)
            if value == fails:
                return None
            found = self.passing(test, {**base, symbol: value})
            if found is not None:
                break
            fails = value
        if found is None:
            return None
        while abs(value - fails) > 1:
            middle = (value + fails) // 2
            there = self.passing(test, {**base, symbol: middle})
            found, value, fails = (found, value, middle) if there is None else (there, middle, fails)
        return abs(log(max(value, 1) / max(start, 1))), found

    def _solved(self, chosen: Mapping[Symbol, int]) -> tuple[Assignment, tuple[Poly, ...]]:
        values = {**self.known, **chosen}
        return solve(tuple(self.equations), values) if self.equations else (values, ())

    def chosen(self) -> Assignment:
        """Return the wanted values of lengths that determine the others."""
        found: Assignment = {}
        values, impossible = self._solved({})
        for symbol, value in self.wanted.items():
            if symbol not in values:
                found[symbol] = value
                values, impossible = self._tied(symbol, found, len(impossible))
        return found

    def _tied(self, symbol: Symbol, chosen: Assignment, most: int) -> tuple[Assignment, tuple[Poly, ...]]:
        """Move a length to the nearest value from which equations determine others in whole numbers."""
        start = self._solved(chosen)
        for value in _around(chosen[symbol], *_range(symbol)) if len(start[1]) > most else ():
            there = self._solved({**chosen, symbol: value})
            if len(there[1]) <= most and in_ranges(there[0]):
                chosen[symbol] = value
                return there
        return start

    def broken(self, chosen: Mapping[Symbol, int], facts: Iterable[Cond] | None = None) -> list[Cond]:
        """Return the facts that do not hold, of those given or of all."""
        try:
            values, impossible = self._solved(chosen)
        except AlgebraBudget:  # a power of a length is too large to say
            return [*self.facts]
        found = [self.equations[p] for p in impossible]
        for fact in self.facts if facts is None else facts:
            if symbols_of_cond(fact) <= values.keys() and not _holds(fact, values):
                found.append(fact)
        return found

    def moved(self, start: Assignment) -> Assignment | None:
        """Move one length after another to the nearest value that breaks less; None if that is not enough."""
        chosen = dict(start)
        broken = self.broken(chosen)
        for _ in range(_MOST_MOVES):
            if not broken:
                return chosen
            moves = next(filter(None, (list(self._moves(chosen, broken, one)) for one in broken)), None)
            if moves is None:
                return None
            _, symbol, value = min(moves, key=lambda move: move[0])
            chosen[symbol] = value
            broken = self.broken(chosen)
        return None

    def smaller(self, start: Assignment) -> Assignment | None:
        """Make all lengths smaller together until nothing is broken: batches last."""
        for most in _SMALLER:
            found = {symbol: min(value, most) for symbol, value in start.items()}
            if not self.broken(found):
                return found
        return next((one for n in _SMALLER if not self.broken(one := dict.fromkeys(start, n))), None)

    def _moves(
        self, chosen: Assignment, broken: Sequence[Cond], fact: Cond
    ) -> Iterator[tuple[float, Symbol, int]]:
        """Yield the nearest value of each length that mends a fact and breaks no other, with its distance."""
        for symbol in self._deciding(fact, chosen):
            value = self._nearest(symbol, chosen, broken, fact)
            if value is not None:
                yield abs(log(max(value, 1) / max(self.wanted[symbol], 1))), symbol, value

    def _deciding(self, fact: Cond, chosen: Assignment) -> list[Symbol]:
        """Return the chosen lengths on which a fact depends, by itself or through equations."""
        free = set(symbols_of_cond(fact))
        size = 0
        while len(free) > size:
            size = len(free)
            free.update(*(p.free for p in self.equations if p.free & free))
        return [symbol for symbol in chosen if symbol in free]

    def _nearest(self, symbol: Symbol, chosen: Assignment, broken: Sequence[Cond], fact: Cond) -> int | None:
        full = 0
        for value in _around(self.wanted[symbol], *self._bounds(symbol, chosen, fact)):
            there = {**chosen, symbol: value}
            self.work += 1
            if self.work > _MOST_WORK:
                return None
            if self.broken(there, (fact,)):
                continue
            self.work += len(self.facts)
            still = self.broken(there)
            if len(still) < len(broken) and set(still) <= set(broken):
                return value
            full += 1
            if full >= _MOST_FULL:
                return None
        return None

    def _bounds(self, symbol: Symbol, chosen: Assignment, fact: Cond) -> tuple[int, int | None]:
        """Return the range of a length, as narrow as a linear fact makes it; an equation leaves one value."""
        low, high = _range(symbol)
        others = {s: n for s, n in {**self.known, **chosen}.items() if s is not symbol}
        parts = affine_parts(substitute(fact.p, others), symbol) if isinstance(fact, Ge | Eq) else None
        slope, rest = (None, None) if parts is None else (parts[0].constant, parts[1].constant)
        if not slope or rest is None:
            return low, high
        if slope > 0 or isinstance(fact, Eq):
            low = max(low, -(rest // slope))
        if slope < 0 or isinstance(fact, Eq):
            most = -rest // slope if slope > 0 else rest // -slope
            high = most if high is None else min(high, most)
        return low, high


def _range(symbol: Symbol) -> tuple[int, int | None]:
    low = 1 if symbol.lo is None or symbol.lo.constant is None else symbol.lo.constant
    return low, None if symbol.hi is None else symbol.hi.constant


def _around(start: int, low: int, high: int | None) -> Iterator[int]:
    """Yield the numbers of a range by their distance from a start, or from the end nearest to it."""
    middle = max(start, low) if high is None else min(max(start, low), high)
    for distance in range(_FAR + 1):
        for value in dict.fromkeys((middle - distance, middle + distance)):
            if value >= low and (high is None or value <= high):
                yield value


def _holds(fact: Cond, values: Mapping[Symbol, int]) -> bool:
    try:
        return evaluate_cond(fact, values)
    except (AlgebraBudget, NotInteger, UnboundSymbol, ZeroDivisionError):
        return False
