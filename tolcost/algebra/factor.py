"""Writing a polynomial as a product: number, generators, linear factors, and what is left.

Factors are found by trial: roots at a few points suggest a linear factor, exact division
confirms it.  Nothing here is needed for computing, only for showing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from math import gcd

from tolcost.algebra.floors import exact_quotient
from tolcost.algebra.poly import UNIT, Monomial, Poly, atom
from tolcost.algebra.symbols import Generator

_MAX_TERMS = 80
_MAX_DEGREE = 8
_MAX_OTHERS = 3
_MAX_TRIALS = 60


@dataclass(frozen=True, slots=True)
class Factored:
    """``number / den`` times a monomial times primitive factors with their powers."""

    number: int
    den: int
    monomial: Monomial
    factors: tuple[tuple[Poly, int], ...]


@lru_cache(maxsize=4096)
def factored(p: Poly) -> Factored:
    """Factor as far as trial goes; the zero polynomial has number 0.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> factored(n * n - n).factors
    ((n - 1, 1),)
    """
    if not p.terms:
        return Factored(0, 1, UNIT, ())
    number = gcd(*p.terms.values())
    shared = _shared_monomial(list(p.terms))
    if leading_sign(p) < 0:
        number = -number
    rest = Poly({_remove(mono, shared): coef // number for mono, coef in p.terms.items()})
    found: dict[Poly, int] = {}
    while rest.constant is None and len(rest.terms) <= _MAX_TERMS:
        step = _linear_factor(rest)
        if step is None:
            break
        factor, rest = step
        found[factor] = found.get(factor, 0) + 1
    if rest != 1:
        found[rest] = found.get(rest, 0) + 1
    return Factored(number, p.den, shared, tuple(sorted(found.items(), key=lambda fp: _reading_key(fp[0]))))


def is_product(split: Factored) -> bool:
    """Whether there is more than one factor, the number in front aside."""
    return bool(split.monomial) or sum(times for _, times in split.factors) > 1


def for_reading(split: Factored) -> Factored:
    """The same product with signs as a person sets them.

    Factors with more minuses than pluses are turned around where that leaves no minus in front, and
    a minus in front goes into a factor that has terms of both signs.

    >>> from tolcost.algebra.poly import length
    >>> k, n, m = length("k"), length("n"), length("m")
    >>> for_reading(factored((k - n - 1) * (k - m - 1))).factors
    ((m - k + 1, 1), (n - k + 1, 1))
    """
    number, factors = split.number, list(split.factors)
    around = [k for k, (factor, _) in enumerate(factors) if _mostly_minus(factor)]
    odd = sum(factors[k][1] for k in around) % 2 == 1
    if not odd or number < 0:
        for k in around:
            factors[k] = (-factors[k][0], factors[k][1])
        number = -number if odd else number
    mixed = (k for k, (f, times) in enumerate(factors) if times % 2 and min(f.terms.values()) < 0)
    for one in islice(mixed, 1 if number < 0 else 0):
        factors[one], number = (-factors[one][0], factors[one][1]), -number
    return Factored(number, split.den, split.monomial, tuple(factors))


def _mostly_minus(p: Poly) -> bool:
    return 2 * sum(coef < 0 for coef in p.terms.values()) > len(p.terms)


@lru_cache(maxsize=4096)
def product_and_rest(p: Poly) -> tuple[Factored, Poly] | None:
    """A sum as a product and a term or two: ``9*(n - 1)*(m - 1) + 2*n*m``.

    The terms of a product of differences have equal numbers in front, up to signs.  So the few that
    do not are taken away, or made equal, and what is left is tried.
    """
    usual = Counter(map(abs, p.terms.values())).most_common(1)[0][0] if p.terms else 0
    odd = [(mono, coef) for mono, coef in p.terms.items() if abs(coef) != usual]
    if p.den != 1 or len(p.terms) < 5 or not 1 <= len(odd) <= 2:
        return None
    for coefs in product(*((0, usual, -usual) for _ in odd)):
        rest = Poly({mono: coef - c for (mono, coef), c in zip(odd, coefs, strict=True)})
        split = factored(p - rest)
        if sum(times for _, times in split.factors) > 1:
            return split, rest
    return None


def display_order(p: Poly) -> list[Monomial]:
    """Sort terms for reading: high degree first, then by name."""
    return sorted(p.terms, key=lambda mono: (-len(mono), tuple(g.key for g in mono)))


def reading_order(p: Poly) -> list[Monomial]:
    """The same, but beginning with something positive where there is something."""
    order = display_order(p)
    first = next((mono for mono in order if p.terms[mono] > 0), None)
    return order if first is None else [first, *(mono for mono in order if mono is not first)]


def _reading_key(p: Poly) -> list[tuple[int, tuple[object, ...], int]]:
    return [(-len(mono), tuple(g.key for g in mono), p.terms[mono]) for mono in display_order(p)]


def leading_sign(p: Poly) -> int:
    """Give the sign of the first term in display order."""
    return 1 if p.terms[display_order(p)[0]] > 0 else -1


def _shared_monomial(monos: list[Monomial]) -> Monomial:
    """Give the greatest monomial that divides all."""
    shared: Monomial = monos[0]
    for mono in monos[1:]:
        left = list(mono)
        both = []
        for generator in shared:
            if generator in left:
                left.remove(generator)
                both.append(generator)
        shared = tuple(both)
    return shared


def _remove(mono: Monomial, part: Monomial) -> Monomial:
    left = list(mono)
    for generator in part:
        left.remove(generator)
    return tuple(left)


def _linear_factor(p: Poly) -> tuple[Poly, Poly] | None:
    """Give a linear factor with a positive first term, and the quotient."""
    generators = sorted({g for mono in p.terms for g in mono}, key=lambda g: g.key)
    if len(generators) > _MAX_OTHERS + 1 or max(map(len, p.terms)) < 2:
        return None
    for main in generators:
        if max(mono.count(main) for mono in p.terms) <= _MAX_DEGREE:
            for candidate in _candidates(p, main, [g for g in generators if g is not main]):
                quotient = exact_quotient(p, candidate)
                if quotient is not None:
                    return candidate, quotient
    return None


def _candidates(p: Poly, main: Generator, others: list[Generator]) -> list[Poly]:
    """Guess linear factors from where p vanishes at a point and beside it."""
    base = dict(zip(others, (17, 29, 41), strict=False))
    here = _integer_roots(p, main, base)
    if not here:
        return []
    beside = [_integer_roots(p, main, {**base, g: base[g] + 1}) for g in others]
    guesses: list[Poly] = []
    for root, *next_roots in product(here, *beside):
        slopes = [other - root for other in next_roots]
        if all(abs(slope) <= 3 for slope in slopes) and len(guesses) < _MAX_TRIALS:
            offset = root - sum(slope * base[g] for g, slope in zip(others, slopes, strict=True))
            guess = atom(main) - offset
            for g, slope in zip(others, slopes, strict=True):
                guess = guess - atom(g) * slope
            guesses.append(guess if leading_sign(guess) > 0 else -guess)
    return guesses


def _integer_roots(p: Poly, main: Generator, point: dict[Generator, int]) -> list[int]:
    """Give the small integers, and those near the point's values, at which p vanishes."""
    row: dict[int, int] = {}
    for mono, coef in p.terms.items():
        for generator in mono:
            coef *= point.get(generator, 1)
        times = mono.count(main)
        row[times] = row.get(times, 0) + coef
    near = {v * s for v in (0, *point.values(), sum(point.values())) for s in (-2, -1, 1, 2)}
    tries = sorted({v + d for v in near for d in range(-6, 7)}, key=lambda v: (abs(v), v))
    return [v for v in tries if not sum(coef * v**k for k, coef in row.items())]
