"""A second opinion: sympy sums a program's counts independently, and the results are compared with ours.

Both derivations start from the unsummed counts at every coordinate.  If sympy finds a closed form and proves
it equal to ours, they agree for all lengths.  Otherwise both are evaluated at a few points, and visiting
every coordinate there decides which is right.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from random import Random
from types import FrameType
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import ZERO, NotInteger, Poly, Symbol, equations_in, evaluate, evaluate_cond, solve
from tolcost.algebra.sympy_form import SympyExpr
from tolcost.algebra.sympy_sums import SympySums, is_closed, larger, same
from tolcost.atoms.kit import program_symbols
from tolcost.atoms.nodes import Program
from tolcost.cost.count import CountKey, count
from tolcost.cost.unsummed import Summand, TooManyCoordinates, lengths_in_loops, symbols_in, unsummed, walked

Agreement: TypeAlias = Literal[
    "for all lengths",
    "at points",
    "sympy is wrong",
    "sympy gives up",
    "too slow",
    "no exact count",
    "ours is wrong",
]
"""How far the two derivations are known to agree, best first."""

LengthPoint: TypeAlias = dict[Symbol, int]
_ANY: CountKey = ("", "")
_POINTS = 3
"""Points at which the derivations are compared."""
_TRIES = 300
"""Draws in search of points that satisfy all conditions."""
_FIRST_RANGE = 5
"""The range of the first draws; it grows slowly, in case the conditions need larger lengths."""
_MOST_COORDINATES = 30_000
"""Coordinates visited at a point, which bounds the time; points with more are skipped."""


class Opinion(Struct, frozen=True):
    """The comparison of one count, by function and space; ``theirs`` is None where sympy has no result."""

    function: CountKey
    ours: Poly
    theirs: SympyExpr | None
    verdict: Agreement
    reason: str = ""


class TooSlow(Exception):
    """A derivation exceeded its time limit."""


def second_opinion(program: Program, seconds: float = 10.0) -> tuple[Opinion, ...]:
    """Sum a program's counts again with sympy and compare; ``seconds`` is the limit per distinct count."""
    ours, given = count(program).histogram, unsummed(program)
    lengths = [symbol for symbol in program_symbols(program) if symbol.kind != "coord"]
    sums = SympySums.over(lengths, (c.condition for c in program.conditions))
    judge = _Judge(sums, cache(lambda: points(program)), lengths_in_loops(program), seconds)
    once = cache(judge.opinion)  # functions that are applied together have the same count
    keys = dict.fromkeys((*ours, *given))
    return tuple(replace(once(ours.get(key, ZERO), given.get(key, ())), function=key) for key in keys)


class _Judge(Struct, frozen=True):
    sums: SympySums
    points: Callable[[], tuple[LengthPoint, ...]]
    bounded: set[Symbol]
    seconds: float

    def opinion(self, ours: Poly, summands: tuple[Summand, ...]) -> Opinion:
        """Compare both derivations of one count, independently of its function."""
        if not self.bounded.isdisjoint(symbols_in(summands)):
            reason = "a length that data decides at every step of a loop: ours is by totals, or a bound"
            return Opinion(_ANY, ours, None, "no exact count", reason)
        theirs: SympyExpr | None = None
        try:
            with time_limit(self.seconds):
                theirs = self.total(summands)
                verdict, reason = self.verdict(ours, theirs, summands)
        except TooSlow:
            wrong = _find_miscount(ours, self.counted(summands))
            verdict, reason = wrong or ("too slow", f"more than {self.seconds:g} s; counting confirms ours")
        return Opinion(_ANY, ours, theirs, verdict, reason)

    def verdict(self, ours: Poly, theirs: SympyExpr, summands: tuple[Summand, ...]) -> tuple[Agreement, str]:
        """Compare the derivations as expressions, and at points if that does not decide."""
        if is_closed(theirs) and same(theirs, self.sums.poly(ours)):
            return "for all lengths", ""
        return self.at_points(ours, theirs, summands)

    def total(self, summands: tuple[Summand, ...]) -> SympyExpr:
        """Sum summands with sympy; enclosing coordinates remain symbols."""
        result: SympyExpr = self.sums.poly(ZERO)
        for summand in summands:
            if summand.of is None:
                part = self.sums.total(summand.scopes)
            else:
                weight = larger(self.total(summand.of.then), self.total(summand.of.other))
                part = self.sums.total(summand.scopes, weight)
            result = result + summand.weight * part
        return result

    def at_points(
        self, ours: Poly, theirs: SympyExpr, summands: tuple[Summand, ...]
    ) -> tuple[Agreement, str]:
        """Compare both derivations with direct counting at points: ours first, then sympy's."""
        counted = self.counted(summands)
        wrong = _find_miscount(ours, counted)
        if wrong is not None:
            return wrong
        for point, right in counted:
            found = self.sums.at(theirs, point)
            if found != right:
                return "sympy is wrong", f"at {_at(point)}: {found}, where counting, as ours, gives {right}"
        if not counted:
            return "sympy gives up", "no closed form, and no point small enough to count at"
        why = "equality not seen by expanding" if is_closed(theirs) else "sympy leaves a Sum"
        return "at points", f"{why}; the same at {len(counted)} points"

    def counted(self, summands: tuple[Summand, ...]) -> list[tuple[LengthPoint, int]]:
        """Count at points by visiting every coordinate; points with too many coordinates are skipped."""
        found: list[tuple[LengthPoint, int]] = []
        for point in self.points():
            with suppress(TooManyCoordinates):
                found.append((point, walked(summands, point, _MOST_COORDINATES)))
        return found


def _find_miscount(ours: Poly, counted: list[tuple[LengthPoint, int]]) -> tuple[Agreement, str] | None:
    """Return a point at which direct counting contradicts our count; None if there is none."""
    for point, right in counted:
        mine = evaluate(ours, {symbol: point[symbol] for symbol in ours.free})
        if mine != right:
            return "ours is wrong", f"at {_at(point)}: {mine}, where counting gives {right}"
    return None


def points(program: Program) -> tuple[LengthPoint, ...]:
    """Return a few small points that satisfy every condition of a program."""
    random = Random(0)
    symbols = sorted((s for s in program_symbols(program) if s.kind != "coord"), key=lambda s: s.key)
    equations = equations_in(c.condition for c in program.conditions)
    found: list[LengthPoint] = []
    for attempt in range(_TRIES):
        point = _draw_point(symbols, equations, random, _FIRST_RANGE + attempt // 20)
        if point not in found and _admissible(point, program):
            found.append(point)
        if len(found) == _POINTS:
            break
    return tuple(found)


def _draw_point(symbols: list[Symbol], equations: list[Poly], random: Random, many: int) -> LengthPoint:
    """Draw lengths one after another; each draw may determine further lengths through the equations."""
    known, _ = solve(equations, {})
    for symbol in symbols:
        if symbol not in known:
            least = 0 if symbol.lo is None or symbol.lo.constant is None else max(symbol.lo.constant, 0)
            known, _ = solve(equations, {**known, symbol: least + random.randrange(many)})
    return known


def _admissible(point: LengthPoint, program: Program) -> bool:
    try:
        bounded = all(
            (symbol.lo is None or evaluate(symbol.lo, point) <= value)
            and (symbol.hi is None or value <= evaluate(symbol.hi, point))
            for symbol, value in point.items()
        )
        return bounded and all(evaluate_cond(c.condition, point) for c in program.conditions)
    except (NotInteger, KeyError):
        return False


def _at(point: Mapping[Symbol, int]) -> str:
    return ", ".join(f"{symbol.name}={value}" for symbol, value in point.items())


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``TooSlow`` after a number of seconds; this works only in the main thread of a process."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
