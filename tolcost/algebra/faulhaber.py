"""Sums of one variable over one range, where the range is known not to be shorter than empty.

Powers by Faulhaber's formula; one floor of unit step by whole blocks and a rest, also for a
symbolic divisor; any floors by numbers through residues.  Clips and conditions are taken care
of by ``sums``; what none of this covers becomes an unevaluated ``Sum``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd, lcm

from tolcost.algebra.piecewise import PROVED, floordiv
from tolcost.algebra.poly import (
    ZERO,
    Poly,
    Terms,
    affine_parts,
    as_poly,
    atom,
    coordinate,
    data_symbol,
    multiply,
    poly,
    powers_of,
    product_of,
    scale,
    the_symbol,
    total_of,
)
from tolcost.algebra.powers import powers
from tolcost.algebra.prove import is_nonnegative
from tolcost.algebra.substitute import opaque_sum, rebuild, replace_generator
from tolcost.algebra.symbols import Exponential, Floor, Generator, Symbol

MAX_PERIOD = 64


@lru_cache(maxsize=256)
def power_sum(exponent: int) -> tuple[tuple[int, ...], int]:
    """Coefficients, lowest first, and denominator of ``1**k + 2**k + ... + n**k`` as a polynomial in n.

    >>> power_sum(1)
    ((0, 1, 1), 2)
    """
    if exponent == 0:
        return (0, 1), 1
    # (n+1)**(k+1) - 1 is the sum of (x+1)**(k+1) - x**(k+1), which is a combination of power sums.
    top = exponent + 1
    den = top
    lower = [(power_sum(j), comb(top, j)) for j in range(exponent)]
    for (_, other), _ in lower:
        den = lcm(den, other * top)
    row = [comb(top, j) * (den // top) for j in range(top + 1)]
    row[0] = 0
    for (coefs, other), times in lower:
        for j, coef in enumerate(coefs):
            row[j] -= times * coef * (den // (other * top))
    common = gcd(den, *row)
    return tuple(coef // common for coef in row), den // common


def _power_sum_at(exponent: int, n: Poly) -> Poly:
    coefs, den = power_sum(exponent)
    value = n.constant
    if value is not None:
        return as_poly(sum(coef * value**j for j, coef in enumerate(coefs)) // den)
    if len(n.terms) == 1 and n.den == 1 and len(next(iter(n.terms))) == 1 and not n.height:
        ((mono, factor),) = n.terms.items()
        return poly({mono * j: coef * factor**j for j, coef in enumerate(coefs) if coef}, den)
    result = ZERO
    for coef in reversed(coefs):
        result = multiply(result, n) + coef
    return scale(result, 1, den)


def antidifference(body: Poly, x: Symbol, at: Poly) -> Poly:
    """Sum of a polynomial in x from 1 to ``at``, as a polynomial identity (also below 0)."""
    parts = powers_of(body, x)
    return total_of(multiply(coef, _power_sum_at(k, at)) for k, coef in parts.items())


def sum_range(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over a range with ``hi >= lo - 1``; the part without a closed form stays a ``Sum``."""
    if x not in body.free:
        return multiply(body, hi - lo + 1)
    if not body.height:
        return _polynomial_sum(body, x, lo, hi)
    return total_of(_group_sum(part, hard, x, lo, hi) for hard, part in _groups(body, x).items())


def _polynomial_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    whole = antidifference(body, x, hi)
    return whole if lo == 1 else whole - antidifference(body, x, lo - 1)


def _groups(body: Poly, x: Symbol) -> dict[frozenset[Generator], Poly]:
    """Sort the terms by which floors, clips and sums that depend on x they contain."""
    rows: dict[frozenset[Generator], Terms] = {}
    for mono, coef in body.terms.items():
        hard = frozenset(g for g in mono if g is not x and x in g.free)
        rows.setdefault(hard, {})[mono] = coef
    return {hard: poly(terms, body.den) for hard, terms in rows.items()}


def _group_sum(body: Poly, hard: frozenset[Generator], x: Symbol, lo: Poly, hi: Poly) -> Poly:
    if not hard:
        return _polynomial_sum(body, x, lo, hi)
    if len(hard) == 1:
        (only,) = hard
        if isinstance(only, Floor):
            done = _by_blocks(body, only, x, lo, hi)
            if done is not None:
                return done
    if all(isinstance(generator, Exponential) for generator in hard):
        done = _geometric(body, x, lo, hi)
        if done is not None:
            return done
    period = common_period(hard, x)
    if period is not None:
        return _by_residues(body, period, x, lo, hi)
    return opaque_sum(body, x, lo, hi)


def _geometric(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly | None:
    """Powers of numbers whose exponents move evenly with x, each times a polynomial in x."""
    rows: dict[tuple[Exponential, ...], Terms] = {}
    for mono, coef in body.terms.items():
        part = tuple(g for g in mono if isinstance(g, Exponential) and x in g.free)
        rows.setdefault(part, {})[tuple(g for g in mono if g not in part)] = coef
    sums = []
    for part, terms in rows.items():
        ratio = _ratio(part, x)
        at_last, at_first = (_power_at(part, x, at) for at in (hi, lo - 1))
        if ratio is None or ratio == 1 or at_last is None or at_first is None:
            return None
        factors = _summed_factors(powers_of(poly(terms, body.den), x), ratio)
        last = multiply(at_last, total_of(multiply(q, hi**k) for k, q in factors.items()))
        first = multiply(at_first, total_of(multiply(q, (lo - 1) ** k) for k, q in factors.items()))
        sums.append(last - first)
    return total_of(sums)


def _ratio(part: tuple[Exponential, ...], x: Symbol) -> Fraction | None:
    """By what a product of powers is multiplied as x grows by 1."""
    ratio = Fraction(1)
    for generator in part:
        parts = affine_parts(generator.p, x)
        slope = None if parts is None else parts[0].constant
        if slope is None or abs(slope) > MAX_PERIOD:
            return None
        ratio *= Fraction(generator.base) ** slope
    return ratio


def _power_at(part: tuple[Exponential, ...], x: Symbol, at: Poly) -> Poly | None:
    """A product of powers at an end of a range; None where an exponent may be below 0 there."""
    found = []
    for generator in part:
        exponent = rebuild(generator.p, {x: at}, PROVED)
        if exponent.constant is None and not is_nonnegative(exponent):
            return None
        found.append(powers(generator.base, exponent))
    return product_of(found)


def _summed_factors(coefficients: Mapping[int, Poly], ratio: Fraction) -> dict[int, Poly]:
    """Give ``q`` with ``q(x)*r**x - q(x - 1)*r**(x - 1) == p(x)*r**x``, both by the powers of x in them."""
    found: dict[int, Poly] = {}
    back = 1 / ratio
    for k in range(max(coefficients), -1, -1):
        rest = [(q, back * comb(j, k) * (-1) ** (j - k)) for j, q in found.items()]
        parts = (scale(q, by.numerator, by.denominator) for q, by in rest)
        right, factor = total_of((coefficients.get(k, ZERO), *parts)), 1 / (1 - back)
        found[k] = scale(right, factor.numerator, factor.denominator)
    return found


def _by_blocks(body: Poly, floor: Floor, x: Symbol, lo: Poly, hi: Poly) -> Poly | None:
    """One floor whose argument moves by 1 or -1 with x: whole blocks of q, and the rest of one."""
    parts = affine_parts(floor.p, x)
    if parts is None or x in floor.q.free or parts[0].constant not in (1, -1):
        return None
    step, offset = parts[0].constant or 1, parts[1]
    y, block = the_symbol(data_symbol("y", None)), the_symbol(data_symbol("b", None))
    plain = replace_generator(body, floor, atom(block), PROVED)
    if x in replace_generator(plain, x, ZERO, PROVED).free:
        return None
    in_y = replace_generator(plain, x, (atom(y) - offset) * step, PROVED)
    first, last = (lo + offset, hi + offset) if step == 1 else (offset - hi, offset - lo)

    def up_to(end: Poly) -> Poly:
        """Sum for y below ``end``, where the floor is the number of the block."""
        blocks = floordiv(end, floor.q)
        start = atom(block) * floor.q
        whole = antidifference(in_y, y, start + floor.q - 1) - antidifference(in_y, y, start - 1)
        before = antidifference(whole, block, blocks - 1) + _zeroth(whole, block)
        tail = antidifference(in_y, y, end - 1) - antidifference(in_y, y, start - 1)
        return before + replace_generator(tail, block, blocks, PROVED)

    return up_to(last + 1) - up_to(first)


def _zeroth(p: Poly, generator: Generator) -> Poly:
    """Give the value at 0, which a sum that starts at 1 leaves out."""
    return powers_of(p, generator).get(0, ZERO)


def common_period(generators: frozenset[Generator] | set[Generator], x: Symbol) -> int | None:
    """Give a step of x after which all floors by numbers repeat, or ``None`` if none is small."""
    period = 1
    for generator in generators:
        steps = _period(generator, x)
        if steps is None:
            return None
        period = lcm(period, steps)
        if period > MAX_PERIOD:
            return None
    return period


def _period(generator: Generator, x: Symbol) -> int | None:
    match generator:
        case Floor(p=p, q=q):
            divisor = q.constant
            inner = {g for mono in p.terms for g in mono if g is not x and x in g.free}
            if divisor is None or divisor > MAX_PERIOD**2:
                return None
            if inner:
                return _times(divisor, common_period(inner, x))
            parts = affine_parts(p, x)
            slope = None if parts is None else parts[0].constant
            return divisor // gcd(divisor, slope) if slope else divisor
        case _:
            return None


def _times(a: int, b: int | None) -> int | None:
    return None if b is None else a * b


def _by_residues(body: Poly, period: int, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over each residue class, in which the floors are polynomials."""
    parts = []
    for residue in range(period):
        last = floordiv(hi - lo - residue, period)
        turn = coordinate("t", last, 0)
        there = rebuild(body, {x: turn * period + lo + residue}, PROVED)
        t = the_symbol(turn)
        if any(t in g.free and g is not t for mono in there.terms for g in mono):
            return opaque_sum(body, x, lo, hi)
        parts.append(antidifference(there, t, last) + _zeroth(there, t))
    return total_of(parts)
