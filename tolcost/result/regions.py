"""Where a difference of two costs is positive: a readable inequality, exact wherever possible.

Factors that are positive at every shape are left out.  If the rest has a single length, it is solved
for that: a polynomial by its turning points, any other form if it only rises or only falls.  With
several lengths the inequality itself is the answer.  If neither is short enough to read, there is
no region to show.

Where nothing is proved, shapes are tried: small ones first, then larger ones, all of them
admissible.  Trying proves nothing; it finds shapes at which two forms differ.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TypeAlias

from msgspec import Struct

from tolcost.algebra import (
    ONE,
    AlgebraBudget,
    Cond,
    Exponential,
    NotInteger,
    Or,
    Poly,
    Symbol,
    Truth,
    atom,
    bounds,
    cond_text,
    evaluate,
    factored,
    ge,
    generators_in,
    is_nonnegative,
    product_of,
    quoted,
    step_of,
    symbols_of_cond,
)
from tolcost.algebra.points import Assignment, admissible, hold_at
from tolcost.algebra.poly import MAX_EXPONENT, scale

_LONGEST = 120
"""The description of a region is not shown if it has more characters."""
_MOST_DEGREE = 12
"""Polynomials of a higher degree are not solved."""
_MOST_RANGES = 4
"""A region of more stretches is not described by its stretches."""
_FEW = 64
"""A range with no more values than this is evaluated at each: that is exact for forms of any kind."""
_MOST_LOOKED_AT = 1024
"""The last values of a range, which are evaluated if a form is neither a polynomial nor monotone."""
EVERYWHERE = "for all lengths"

Stretch: TypeAlias = tuple[int, int]
"""The first and the last integer of a stretch."""


def region(difference: Poly, facts: tuple[Cond, ...] = ()) -> str | None:
    """Describe where a difference is positive; None if that takes too many words.

    >>> from tolcost.algebra import length
    >>> s, d = length("S"), length("D")
    >>> [region(p) for p in (s * d * (s - 64), s - 2 * d)]
    ['S > 64', 'S >= 2*D + 1']
    """
    try:
        rest = essential(difference, facts)
        text = _solved(rest, facts) or _inequality(rest)
    except AlgebraBudget:
        return None
    return None if text is None or len(text) > _LONGEST else text


def where_positive(difference: Poly, facts: tuple[Cond, ...] = ()) -> str:
    """Describe where a difference is positive: everywhere, from a length on, or where a condition holds.

    >>> from tolcost.algebra import length
    >>> h = length("h")
    >>> where_positive(h**3 - 9 * h**2), where_positive(9 * h**2 - h**3), where_positive(h * h)
    ('from h = 10 on', 'where h < 9', 'for all lengths')
    """
    try:
        if _positive(difference, facts):
            return EVERYWHERE
        found = _ranges(essential(difference, facts), facts)
        if found is not None:
            symbol, ranges, (low, high) = found
            if ranges == [(low, high)]:
                return EVERYWHERE
            if len(ranges) == 1 and ranges[0][1] >= high:
                return f"from {quoted(symbol.name)} = {ranges[0][0]:,} on"
    except AlgebraBudget:
        return ""
    text = region(difference, facts)
    return "" if text is None else f"where {text}"


def _inequality(p: Poly) -> str | None:
    condition = ge(p - 1)
    return None if isinstance(condition, Truth) else cond_text(condition)


def essential(difference: Poly, facts: tuple[Cond, ...] = ()) -> Poly:
    """Return a simpler expression of the same sign: the product without factors that are always positive."""
    split = factored(difference)
    kept = [atom(g) for g in split.monomial if not _positive(atom(g), facts)]
    for factor, times in split.factors:
        if _positive(-factor, facts):
            kept.append(ONE * (-1) ** times)
        elif not _positive(factor, facts):
            kept.append(factor**times)
    return scale(product_of(kept), 1 if split.number > 0 else -1)


def sign_of(difference: Poly, facts: tuple[Cond, ...] = ()) -> int | None:
    """Return 1 if a difference is never negative, -1 if it is never positive, going by its factors; or None.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> sign_of(2 * n * m - n * n - m * m)
    -1
    """
    split = factored(difference)
    sign = 1 if split.number > 0 else -1
    for factor, times in (*((atom(g), 1) for g in split.monomial), *split.factors):
        if times % 2 and is_nonnegative(-factor, facts):
            sign = -sign
        elif times % 2 and not is_nonnegative(factor, facts):
            return None
    return sign


def proportion(difference: Poly, count: Poly) -> int | None:
    """Return the sign of the ratio of a difference to a count; None if it is not a multiple of the count.

    A count is never negative at an admissible shape, whether or not that can be proved, so a positive
    multiple of it is not negative either.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> proportion(6 * m - 3 * n, n - 2 * m), proportion(n, m)
    (-1, None)
    """
    if not count.terms or difference.terms.keys() != count.terms.keys():
        return None
    first = next(iter(count.terms))
    a, b = difference.terms[first], count.terms[first]
    if any(difference.terms[mono] * b != coef * a for mono, coef in count.terms.items()):
        return None
    return 1 if a * b > 0 else -1


def _positive(p: Poly, facts: tuple[Cond, ...]) -> bool:
    return is_nonnegative(p - 1, facts)


# ---- one length ----------------------------------------------------------------------------------


def _solved(p: Poly, facts: tuple[Cond, ...]) -> str | None:
    """Describe the values of its only symbol for which an expression is positive; None if not known."""
    found = _ranges(p, facts)
    if found is None or not found[1] or len(found[1]) > _MOST_RANGES:
        return None
    symbol, ranges, (low, high) = found
    return " or ".join(_range_text(quoted(symbol.name), r, low, high) for r in ranges)


def _ranges(p: Poly, facts: tuple[Cond, ...]) -> tuple[Symbol, list[Stretch], Stretch] | None:
    """Return the only symbol of an expression, the stretches where that is positive, and the whole range."""
    if len(p.free) != 1:
        return None
    (symbol,) = p.free
    low, high = bounds(atom(symbol), facts)
    if low is None or high is None:
        return None
    if any(isinstance(generator, Exponential) for generator in generators_in(p)):
        high = min(high, MAX_EXPONENT // _MOST_DEGREE)  # larger powers may not be evaluated

    def value(n: int) -> int:
        return evaluate(p, {symbol: n})

    coefficients = _coefficients(p, symbol)
    try:
        if high - low < _FEW:
            own = [fact for fact in facts if symbols_of_cond(fact) <= {symbol}]
            admitted = [n for n in range(low, high + 1) if hold_at(own, {symbol: n})]
            if not admitted:
                return None
            low, high = admitted[0], admitted[-1]
            ranges = _stretches(value, [(n, n) for n in admitted])
        elif coefficients is not None:
            ranges = positive_ranges(coefficients, low, high)
        elif _monotone(p, symbol, low, high):
            ranges = _stretches(value, [(low, high)])
        else:
            return None
    except NotInteger:
        return None
    return symbol, ranges, (low, high)


def signs_of_one(
    difference: Poly, facts: tuple[Cond, ...] = ()
) -> Mapping[int, tuple[Assignment, ...]] | None:
    """Return the signs that a difference takes for all values of its only length, with points for 1 and -1.

    None where its sign cannot be decided for all values.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> signs_of_one(n * n - 2 * n)
    {1: ({n: 3}, {n: 2147483646}), -1: ({n: 1}, {n: 1}), 0: ()}
    >>> signs_of_one(n - length("m"))
    """
    try:
        rest = essential(difference, facts)
        above, below = _ranges(rest, facts), _ranges(-rest, facts)
    except AlgebraBudget:
        return None
    if above is None or below is None:
        return None
    low, high = above[2]
    covered = sum(last - first + 1 for first, last in (*above[1], *below[1]))
    sides = ((1, above[1]), (-1, below[1]))
    found = {sign: tuple({above[0]: n} for ends in side for n in ends) for sign, side in sides if side}
    return found | ({0: ()} if covered < high - low + 1 else {})


def positive_from(p: Poly, symbol: Symbol, low: int, high: int) -> int | None:
    """Return the least value from which an expression in one symbol is positive up to ``high``; or None.

    None if it is not positive at ``high``, or if the search for the value would take too long.

    >>> from tolcost.algebra import length, the_symbol
    >>> n = length("n")
    >>> forms = (n - 2) * (n - 5) * (n - 8), 60 * (n // 20) - 2 * n
    >>> [positive_from(form, the_symbol(n), 1, 90) for form in forms]
    [9, 40]
    """
    coefficients = _coefficients(p, symbol)
    if coefficients is not None:
        stretches = positive_ranges(coefficients, low, high)
    elif _monotone(p, symbol, low, high):
        stretches = _stretches(lambda n: evaluate(p, {symbol: n}), [(low, high)])
    else:  # the last value that is not positive is near the end, or is not searched for
        back = range(high, max(low, high - _MOST_LOOKED_AT) - 1, -1)
        last = next((n for n in back if evaluate(p, {symbol: n}) <= 0), None)
        stretches = [(low if last is None else last + 1, high)] if last != high else []
        if last is None and back[-1] > low:
            return None
    return stretches[-1][0] if stretches and stretches[-1][1] == high else None


def _monotone(p: Poly, symbol: Symbol, low: int, high: int) -> bool:
    """Whether an expression never falls, or never rises, as its symbol grows from ``low`` to ``high``.

    This must hold at every integer in between, so facts that only some of them fulfil are not used.

    >>> from tolcost.algebra import length, the_symbol
    >>> n = length("n")
    >>> [_monotone(n * n + n - 6 * (n // 2), the_symbol(n), low, 99) for low in (1, 2)]
    [False, True]
    """
    here = atom(symbol)
    within = (ge(here - low), ge(high - 1 - here))
    step = step_of(p, symbol)
    return is_nonnegative(step, within) or is_nonnegative(-step, within)


def _coefficients(p: Poly, symbol: Symbol) -> list[int] | None:
    """Return the coefficients of a polynomial in one symbol, constant first, up to a positive factor."""
    if p.height or any(g is not symbol for mono in p.terms for g in mono):
        return None
    degree = max(map(len, p.terms), default=0)
    if degree > _MOST_DEGREE:
        return None
    return [p.terms.get((symbol,) * power, 0) for power in range(degree + 1)]


def positive_ranges(coefficients: Sequence[int], low: int, high: int) -> list[Stretch]:
    """Return the stretches of integers from low to high at which a polynomial is positive, exactly.

    Between its turning points, the zeros of its derivative, a polynomial only rises or only falls, so that
    bisection finds each end of a stretch.

    >>> positive_ranges([-64, 1], 1, 10**9), positive_ranges([6, -5, 1], 0, 9)
    ([(65, 1000000000)], [(0, 1), (4, 9)])
    """
    return _stretches(_polynomial(coefficients), _pieces(coefficients, low, high))


def _polynomial(coefficients: Sequence[int]) -> Callable[[int], int]:
    def value(n: int) -> int:
        result = 0
        for coefficient in reversed(coefficients):
            result = result * n + coefficient
        return result

    return value


def _pieces(coefficients: Sequence[int], low: int, high: int) -> list[Stretch]:
    """Cut a range into pieces on whose integers a polynomial is monotone."""
    if len(coefficients) <= 2:
        return [(low, high)]
    slope = [power * c for power, c in enumerate(coefficients)][1:]
    cuts: set[int] = set()
    for first, last in _pieces(slope, low, high):
        at = _change(_polynomial(slope), first, last)
        cuts |= {first, last} if at is None else {first, at, last}
    pieces: list[Stretch] = []
    start = low
    for cut in sorted(cuts):  # the slope may change its sign between a cut and the next integer
        if start <= cut <= high:
            pieces.append((start, cut))
            start = cut + 1
    return [*pieces, (start, high)] if start <= high else pieces


def _change(value: Callable[[int], int], first: int, last: int) -> int | None:
    """Return the last integer before a monotone function changes between positive and not, or None."""
    is_positive = value(first) > 0
    if (value(last) > 0) == is_positive:
        return None
    changed = bisect_left(range(first + 1, last), True, key=lambda n: (value(n) > 0) != is_positive)
    return first + changed


def _stretches(value: Callable[[int], int], pieces: Iterable[Stretch]) -> list[Stretch]:
    """Join the positive parts of pieces on each of which a function is monotone."""
    found: list[Stretch] = []
    for first, last in pieces:
        at = _change(value, first, last)
        ends = [(first, last)] if at is None else [(first, at), (at + 1, last)]
        for start, end in ends:
            if value(start) > 0 and found and found[-1][1] == start - 1:
                found[-1] = (found[-1][0], end)
            elif value(start) > 0:
                found.append((start, end))
    return found


def _range_text(name: str, found: Stretch, low: int, high: int) -> str:
    first, last = found
    if first == last:
        return f"{name} = {first}"
    if last >= high:
        return f"{name} > {first - 1}"
    return f"{name} < {last + 1}" if first <= low else f"{first} <= {name} <= {last}"


_STEPS = (0, 1, 2, 3, 6, 7, 15, 31, 63, 127, 1023, 4095)
"""Offsets from the least lengths: from 1 they give small lengths and powers of two."""
MOST_TRIED = 400
"""At most this many points are evaluated where nothing is proved."""
_TELLING = (512, 128, 32, 8)
"""Lengths of shapes that show how forms grow; the largest that fits is taken."""


class Tried(Struct, frozen=True):
    """The values of two expressions at a shape."""

    point: Assignment
    old: int
    new: int


def try_shapes(old: Poly, new: Poly, facts: Sequence[Cond]) -> Iterator[Tried]:
    """Evaluate both expressions at shapes that fulfil the facts."""
    for point in islice(_admissible(old.free | new.free, facts), MOST_TRIED):
        try:
            yield Tried(point, evaluate(old, point), evaluate(new, point))
        except (AlgebraBudget, NotInteger):
            continue


def telling_shape(
    old: Poly, new: Poly, facts: Sequence[Cond], sizes: Mapping[str, int] | None = None
) -> Tried | None:
    """Return a shape at which the second form is larger, of a size that shows growth, or with given lengths.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> telling_shape(n * m, n * m + n, (), {"m": 64})
    Tried(point={m: 64, n: 512}, old=32768, new=33280)
    """
    return next((one for one in shapes_of_size(old, new, facts, sizes) if one.new > one.old), None)


def shapes_of_size(
    old: Poly, new: Poly, facts: Sequence[Cond], sizes: Mapping[str, int] | None = None
) -> Iterator[Tried]:
    """Evaluate both forms at shapes of usual sizes, the largest first, with given lengths."""
    points = admissible(old.free | new.free, facts)
    every = (*points.chosen, *points.others)
    known = {symbol: sizes[symbol.name] for symbol in every if sizes and symbol.name in sizes}
    for size in _TELLING:
        point = points.at((size - 1,) * len(points.chosen), size - 1, known, low=False)
        try:
            if point is not None:
                yield Tried(point, evaluate(old, point), evaluate(new, point))
        except (AlgebraBudget, NotInteger):
            continue


def _admissible(symbols: Iterable[Symbol], facts: Sequence[Cond]) -> Iterator[Assignment]:
    """Yield points that fulfil the facts; of alternatives first all first parts, then all second parts."""
    wanted = tuple(symbols)
    most = max((len(fact.parts) for fact in facts if isinstance(fact, Or)), default=0)
    chosen = [
        [fact.parts[min(at, len(fact.parts) - 1)] if isinstance(fact, Or) else fact for fact in facts]
        for at in range(most)
    ]
    seen = set[frozenset[tuple[Symbol, int]]]()
    for known in (facts, *chosen):
        for point in _grid(wanted, known):
            values = frozenset(point.items())
            if values not in seen:
                seen.add(values)
                yield point


def _grid(symbols: Iterable[Symbol], facts: Sequence[Cond]) -> Iterator[Assignment]:
    points = admissible(symbols, facts)
    many = len(points.chosen)
    steps = _STEPS if many <= 2 else _STEPS[::2] if many <= 4 else _STEPS[:6:2]
    diagonal = (((step,) * many, step) for step in _STEPS)
    grid = ((offsets, max(offsets, default=0)) for offsets in product(steps, repeat=many))
    for offsets, others in dict.fromkeys((*diagonal, *islice(grid, 4 * MOST_TRIED))):
        point = points.at(offsets, others, low=False)  # attributes are seldom below 0
        if point is not None:
            yield point
