"""Forms under conditions: simplify a form by what its conditions imply.

A condition on one symbol that amounts to a bound narrows the symbol's range. The form is rebuilt over the
narrower range, which decides clips and floors without a search, and then expressed in the original symbol
again. Conditions on several symbols are left to proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Truth, eq, ge, map_cond, polys_of, symbols_of_cond
from tolcost.algebra.evaluate import prepared
from tolcost.algebra.floors import divided, generator_range, known_quotient
from tolcost.algebra.piecewise import PROVED, floordiv, relu
from tolcost.algebra.poly import (
    LARGEST_LENGTH,
    UNIT,
    ZERO,
    AlgebraBudget,
    Floor,
    Generator,
    NotInteger,
    Poly,
    Relu,
    Symbol,
    affine_parts,
    atom,
    const,
    scale,
    symbol_of,
    the_symbol,
)
from tolcost.algebra.prove import is_nonnegative, is_symbolic
from tolcost.algebra.quick_checks import direction
from tolcost.algebra.rebuild import (
    QUICK,
    Rules,
    generators_in,
    has_sum,
    map_generators,
    opaque_sum,
    rebuild,
    rebuilder,
)
from tolcost.algebra.substitute import substitute

_MOST_TRIED = 512
"""The most values of a symbol that are tried for the least one that satisfies a condition."""


def without_data(form: Poly, facts: Iterable[Cond]) -> Poly | None:
    """Return the largest value of a form at any data, where facts hold; None if some number has no end.

    >>> from tolcost.algebra.poly import data_symbol, length
    >>> n, turns, kept = length("n"), data_symbol("turns", 0, length("n")), data_symbol("kept", 0)
    >>> without_data(3 * turns + kept, (ge(2 * n - kept),))
    5*n
    >>> without_data(turns - kept, ())
    n
    >>> without_data(kept * 2, ()) is None
    True
    """
    known = tuple(facts)
    while symbols := [s for s in form.free if s.kind == "data"]:
        last = max(symbols, key=lambda s: (s.depth, s.key))
        way = direction(form, last)
        end = None if way is None else _end(last, way, known)
        if end is None:
            return None
        form = substitute(form, {last: end})
    return form


def _end(symbol: Symbol, way: int, facts: Iterable[Cond]) -> Poly | None:
    """Return the largest value of a symbol in symbols before it, or the smallest if ``way`` is -1."""
    told = [fact.p for fact in facts if isinstance(fact, Ge) and symbol in fact.p.free]
    for p in told:
        times, rest = affine_parts(p, symbol) or (ZERO, ZERO)
        by = times.constant
        if by and by * way < 0 and not any(s.kind == "data" and s.depth >= symbol.depth for s in rest.free):
            return floordiv(rest, -by) if way > 0 else -floordiv(rest, by)
    end = symbol.hi if way > 0 else symbol.lo
    return None if end is None or (end.constant or 0) >= LARGEST_LENGTH else end


def plain_bounds(cond: Cond) -> tuple[Cond, ...]:
    """Split a condition into plain bounds, if they are equivalent to it.

    >>> from tolcost.algebra.conditions import eq
    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> plain_bounds(eq((n + 3) // 4 - 2))
    (Ge(p=n - 5), Ge(p=8 - n))
    >>> plain_bounds(ge(n + 2 * relu(n // 4 - 1) - 2 * relu(n // 4 - 3) - 14))
    (Ge(p=n - 12),)
    """
    match cond:
        case And(parts=parts):
            return tuple(one for part in parts for one in plain_bounds(part))
        case Ge(p=p) if p.height and len(p.free) == 1:
            bound = _equivalent_bound(p)
            return (cond,) if bound is None else (bound,)
        case Eq(p=p) if p.height:
            apart = _solve_clip_distance(p)
            ends = (ge(p), ge(-p)) if apart is None else (apart,)
            plain = not any(form.height for end in ends for form in polys_of(end))
            return ends if plain else (cond,)
        case _:
            return (cond,)


def _solve_clip_distance(p: Poly) -> Cond | None:
    """Solve an equation on the distance of two clips: ``relu(x + d) - relu(x)`` is d exactly if ``x >= 0``.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> [_solve_clip_distance(relu(n - m + 2) - relu(n - m) - k) for k in (0, 1, 2)]
    [Ge(p=m - n - 2), Eq(p=m - n - 1), Ge(p=n - m)]
    """
    clips = {mono[0]: coef for mono, coef in p.terms.items() if len(mono) == 1}
    found = {coef: clip.p for clip, coef in clips.items() if isinstance(clip, Relu)}
    if p.den != 1 or found.keys() != {1, -1}:
        return None
    up, down = found[1], found[-1]
    rest = p - relu(up) + relu(down)
    if (up + down).constant is not None:  # relu(-x) is relu(x) - x
        rest, down = rest - down, -down
    most, number = (up - down).constant, rest.constant
    if most is None or number is None or most == 0:
        return None
    if most < 0:
        up, down, most, number = down, up, -most, -number
    if number in (0, -most):
        return ge(down if number else -up)
    return eq(up + number) if -most < number < 0 else None


@lru_cache(maxsize=256)
def _equivalent_bound(p: Poly) -> Cond | None:
    """Return the bound equivalent to ``p >= 0``: smaller values fail, and all others provably satisfy it."""
    (symbol,) = p.free
    least = generator_range(symbol)[0]
    if least is None or symbol.kind == "coord" or has_sum(p):
        return None
    value = prepared(p)
    try:
        first = next((x for x in range(least, least + _MOST_TRIED) if value({symbol: x}) >= 0), None)
    except (AlgebraBudget, NotInteger, ZeroDivisionError):
        return None
    if first is None or is_symbolic(symbol.lo):
        return None
    beyond = rebuild(p, {symbol: _narrow(symbol, first, None)}, PROVED)
    return ge(atom(symbol) - first) if is_nonnegative(beyond) else None


def restricting(facts: tuple[Cond, ...]) -> Callable[[Poly], Poly]:
    """Return a function that removes the clips and floors that the facts decide.

    Values are equal where they hold.

    Generators that several forms share are simplified once.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> restricting((ge(n - 5), ge(8 - n)))(relu(n - 3) + (n + 3) // 4)
    n - 1
    """
    narrow, others = _narrow_symbols(facts)
    values = {s: atom(s) for fact in others for s in symbols_of_cond(fact)} | narrow
    settle = rebuilder(values, _rules(others))
    as_before = rebuilder({the_symbol(new): atom(old) for old, new in narrow.items()}, QUICK)

    def restricted(p: Poly) -> Poly:
        found = as_before(settle(p)) if p.height else p
        return p if found is p or _length(found) >= _length(p) else found

    return restricted


def _length(p: Poly) -> tuple[int, int]:
    """Measure the length of a form: its floors, clips and other calls, then all its terms."""
    made = [generator for generator in generators_in(p) if not isinstance(generator, Symbol)]
    return len(made), sum(
        len(mono) + 1 for form in (p, *(f for g in made for f in g.parts)) for mono in form.terms
    )


@lru_cache(maxsize=256)
def _narrow_symbols(facts: tuple[Cond, ...]) -> tuple[dict[Symbol, Poly], tuple[Cond, ...]]:
    """Return the symbols with the ranges that facts leave them, and the other facts over these symbols."""
    parts = tuple(part for fact in facts for part in plain_bounds(fact))
    narrow = _narrowed_ranges(parts)
    others = (map_cond(part, lambda form: rebuild(form, narrow, QUICK)) for part in parts)
    return narrow, tuple(other for other in others if not isinstance(other, Truth))


def _narrowed_ranges(facts: Iterable[Cond]) -> dict[Symbol, Poly]:
    """Return the symbols that facts bound by numbers, each with the narrowed range.

    If a range is empty, return none of them.
    """
    ranges: dict[Symbol, tuple[int | None, int | None]] = {}
    for symbol, least, most in (bound for fact in facts for bound in _numeric_bounds(fact)):
        low, high = ranges.get(symbol, generator_range(symbol))
        low = least if low is None else low if least is None else max(low, least)
        high = most if high is None else high if most is None else min(high, most)
        ranges[symbol] = low, high
    if any(low is not None and high is not None and low > high for low, high in ranges.values()):
        return {}
    return {symbol: _narrow(symbol, *ends) for symbol, ends in ranges.items()}


def _numeric_bounds(fact: Cond) -> Iterator[tuple[Symbol, int | None, int | None]]:
    """Yield the symbol that a fact bounds by numbers, with its lower and upper bound."""
    if not isinstance(fact, (Ge, Eq)) or fact.p.height or len(fact.p.free) != 1:
        return
    (symbol,) = fact.p.free
    low, high = (
        (atom(symbol) - fact.p).constant,
        (atom(symbol) + fact.p).constant,
    )  # conditions are already divided by their content
    if isinstance(fact, Ge):
        yield symbol, low, high
    else:
        yield from ((symbol, value, value) for value in (low, high) if value is not None)


def _narrow(symbol: Symbol, low: int | None, high: int | None) -> Poly:
    """Return the symbol with a narrower range; a symbolic bound stays."""
    lo = symbol.lo if low is None or is_symbolic(symbol.lo) else const(low)
    hi = symbol.hi if high is None or is_symbolic(symbol.hi) else const(high)
    return atom(symbol_of(symbol.name, symbol.serial, symbol.role, lo, hi, symbol.base))


def _rules(facts: tuple[Cond, ...]) -> Rules:
    """Return rules that rebuild floors and clips using the facts."""

    def settled(generator: Generator) -> Poly | None:
        if not isinstance(generator, Floor) or generator.q.constant is not None:
            return None
        known = known_quotient(generator.p, generator.q, lambda form: is_nonnegative(form, facts))
        return None if known is None else const(known)

    def floor(top: Poly, bottom: Poly) -> Poly:
        plain = floordiv(top, bottom)
        return map_generators(plain, settled) if facts and plain.height else plain

    def clip(inside: Poly) -> Poly:
        same_sign = without_factors(inside)
        if same_sign is not inside:
            if is_nonnegative(same_sign, facts):
                return inside
            if is_nonnegative(-same_sign, facts):
                return ZERO
        return relu(inside, facts)

    return Rules(floor, clip, opaque_sum)


def without_factors(p: Poly) -> Poly:
    """Divide by the positive factors that all terms share: the quotient has the same sign."""
    if len(p.terms) < 2 or UNIT in p.terms:
        return p
    shared = frozenset.intersection(*map(frozenset, p.terms))
    for generator in sorted(shared, key=lambda g: g.key):
        if (generator_range(generator)[0] or 0) >= 1:
            p = divided(scale(p, p.den), generator)
    return p
