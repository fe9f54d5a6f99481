"""Elimination of the coordinates of a sum, one at a time, innermost first.

Conditions on a coordinate become bounds. Where several bounds compete, or a range may be empty, the question
moves outward as a condition on the remaining coordinates, so that only what depends on lengths alone ends up
as a clip. Clips in the summand split the range. Short constant ranges are written out. If none of this leads
to a closed form, ``NoClosedForm`` is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import comb, gcd, lcm

from msgspec import Struct

from tolcost.algebra.conditions import (
    FALSE,
    Cond,
    Constraints,
    Eq,
    Ge,
    Truth,
    conj,
    conjuncts,
    eq,
    ge,
    map_cond,
    negate,
)
from tolcost.algebra.piecewise import (
    PROVED,
    floordiv,
    indicator,
    maximum,
    minimum,
    mod,
    normalise_clips,
    relu,
    sign,
    zero_unless,
)
from tolcost.algebra.poly import (
    ONE,
    ZERO,
    Exponential,
    Floor,
    Generator,
    Poly,
    Relu,
    Sum,
    Symbol,
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
    spend,
    the_symbol,
    total_of,
)
from tolcost.algebra.powers import powers
from tolcost.algebra.prove import is_nonnegative, prove
from tolcost.algebra.rebuild import Rules, generators_in, opaque_sum, rebuild, replace_generator, size_of

# === A pending sum: its ranges and conditions, how to transform it, and which bound of a range is tightest.
#
# Conditions on a summation variable become bounds; where several compete, there is a case for each that may
# be the tightest.


_MAX_WORK = 12_000
"""The effort for one sum, in terms of the problems that it is split into."""
_MAX_TERMS = 400
"""The most terms of a summand; longer ones make every step slow."""


class SummedRange(Struct, frozen=True):
    """A coordinate and the inclusive ends of its range."""

    symbol: Symbol
    lo: Poly
    hi: Poly


class Problem(Struct, frozen=True, eq=False):
    """A pending sum: the summand, the ranges (innermost last), conditions on coordinates, and known facts."""

    body: Poly
    ranges: tuple[SummedRange, ...]
    constraints: Constraints
    facts: tuple[Cond, ...]


class NoClosedForm(Exception):
    """The coordinates cannot all be eliminated, or not at a reasonable size."""


class Work(Struct, eq=False):
    """The rules to rebuild summands, and the effort left for one sum, in terms."""

    rules: Rules
    left: int = _MAX_WORK

    def step(self, body: Poly) -> None:
        """Pay for a problem with this summand; raise ``NoClosedForm`` if not enough is left."""
        amount = 1 + len(body.terms) * (1 + body.height)
        spend(amount)
        self.left -= amount
        if self.left < 0 or len(body.terms) > _MAX_TERMS:
            raise NoClosedForm


def make_problem(
    body: Poly, ranges: tuple[SummedRange, ...], conds: Sequence[Cond], facts: tuple[Cond, ...]
) -> Problem:
    """Make a problem under conditions some of which may be decided already."""
    if any(isinstance(c, Truth) and not c.value for c in conds):
        body = ZERO
    return Problem(body, ranges, tuple(dict.fromkeys(c for c in conds if isinstance(c, (Ge, Eq)))), facts)


def with_conditions(problem: Problem, body: Poly, *conds: Cond) -> Problem:
    """Return the problem with another summand and further conditions."""
    return make_problem(body, problem.ranges, (*problem.constraints, *conds), problem.facts)


def substitute_range(
    problem: Problem, x: Symbol, value: Poly, rules: Rules, extra: tuple[Cond, ...] = ()
) -> Problem:
    """Replace a coordinate by an expression everywhere, and drop its range.

    Coordinates whose ranges change are renamed, so that each symbol carries its own bounds.
    """
    values: dict[Symbol, Poly | int] = {x: value}
    ranges = []
    for r in problem.ranges:
        if r.symbol is x:
            continue
        lo, hi = rebuild(r.lo, values, rules), rebuild(r.hi, values, rules)
        symbol = r.symbol
        if lo != r.lo or hi != r.hi:
            values[symbol] = new = coordinate(symbol.name, hi, lo)
            symbol = the_symbol(new)
        ranges.append(SummedRange(symbol, lo, hi))
    conds = [map_cond(c, lambda p: rebuild(p, values, rules)) for c in (*extra, *problem.constraints)]
    return make_problem(rebuild(problem.body, values, rules), tuple(ranges), conds, problem.facts)


def drop_proved(problem: Problem) -> Problem | None:
    """Drop conditions that always hold; ``None`` if one never holds or nothing is summed."""
    joined = _combine_congruences(problem.constraints, [r.symbol for r in problem.ranges])
    if joined is None or not problem.body.terms:
        return None
    constraints = list(joined)
    for one in joined:
        others = tuple(a for a in constraints if a != one)
        verdict = prove(one, problem.facts + others)
        if verdict is False:
            return None
        if verdict:
            constraints.remove(one)
    return Problem(problem.body, problem.ranges, tuple(constraints), problem.facts)


# === Congruences: several congruences of one coordinate are combined into one.


class Congruence(Struct, frozen=True):
    """The statement that a number leaves a residue, which may be symbolic; modulus 0 means that none does."""

    modulus: int
    residue: Poly


_NEVER = Congruence(0, ZERO)


def _combine_congruences(constraints: Constraints, coordinates: Sequence[Symbol]) -> Constraints | None:
    """Combine the congruences of each coordinate; None if they never hold together."""
    for x in coordinates:
        found = _congruences_of(x, constraints, coordinates)
        joint = _combine(found.values())
        if _NEVER in joint:
            return None
        if len(joint) < len(found):
            whole = conj(*[eq(mod(atom(x) - one.residue, one.modulus)) for one in joint])
            if whole is FALSE:  # no number of the coordinate's range leaves this residue
                return None
            kept = (a for a in constraints if a not in found)
            constraints = (*kept, *(a for a in conjuncts([whole]) if isinstance(a, (Ge, Eq))))
    return constraints


def _congruences_of(
    x: Symbol, constraints: Constraints, coordinates: Sequence[Symbol]
) -> dict[Cond, Congruence]:
    """Return the congruences of x whose residue does not depend on any coordinate, by their conditions."""
    asked = ((a, _congruence(a.p, x)) for a in constraints if isinstance(a, Eq) and x in a.p.free)
    return {a: one for a, one in asked if one is not None and one.residue.free.isdisjoint(coordinates)}


def _congruence(p: Poly, x: Symbol) -> Congruence | None:
    """Read ``p == 0`` as a congruence of x; None if it is not one.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> forms = (n - 3 * (n // 3) - 1, 2 * n + m - 5 * ((2 * n + m) // 5) - 1, n - n // 2)
    >>> [_congruence(p, the_symbol(n)) for p in forms]
    [Congruence(modulus=3, residue=-2), Congruence(modulus=5, residue=-3*m - 2), None]
    """
    floors = [mono[0] for mono in p.terms if len(mono) == 1 and isinstance(mono[0], Floor)]
    if len(floors) != 1:
        return None
    (floor,) = floors
    modulus, parts = floor.q.constant, affine_parts(floor.p, x)
    slope = None if parts is None else parts[0].constant
    if modulus is None or parts is None or slope is None:
        return None
    times, odd = divmod(-p.terms[floor,], modulus)
    rest = (p + atom(floor) * (times * modulus) - floor.p * times).constant  # a multiple of the residue
    if odd or rest is None:
        return None
    residue, odd = divmod(-rest, times)
    if odd or not 0 <= residue < modulus:
        return _NEVER
    return _solve_congruence(slope, residue - parts[1], modulus)


def _solve_congruence(slope: int, residue: Poly, modulus: int) -> Congruence | None:
    """Solve ``slope * x == residue`` modulo ``modulus``; None if symbols decide whether there is a solution.

    The residue of the solution is normalised to at most 0, whatever its symbols are, so that the number of
    steps from it to a positive start is not negative.
    """
    common = gcd(slope, modulus)
    step = modulus // common
    uneven = {mono for mono, coef in residue.terms.items() if coef % common}
    if residue.den > 1 or uneven - {()}:
        return None
    if uneven:
        return _NEVER
    inverse = pow(slope // common, -1, step)
    turned = {mono: -(-coef // common * inverse % step) for mono, coef in residue.terms.items()}
    return Congruence(step, poly(turned))


def _combine(congruences: Iterable[Congruence]) -> list[Congruence]:
    """Combine congruences that fit each other."""
    joint: list[Congruence] = []
    for one in congruences:
        both = ((at, _combine_two(other, one)) for at, other in enumerate(joint))
        at, found = next(((at, found) for at, found in both if found is not None), (len(joint), one))
        joint[at : at + 1] = [found]
    return joint


def _combine_two(one: Congruence, other: Congruence) -> Congruence | None:
    """Return the conjunction of two congruences; None if symbols decide whether they fit.

    >>> def residues(*pairs: tuple[int, int]) -> list[Congruence]:
    ...     return [Congruence(modulus, as_poly(residue)) for modulus, residue in pairs]
    >>> _combine_two(*residues((4, 1), (6, 3))), _combine_two(*residues((4, 1), (6, 2)))
    (Congruence(modulus=12, residue=-3), Congruence(modulus=0, residue=0))
    """
    if _NEVER in (one, other):
        return _NEVER
    turns = _solve_congruence(one.modulus, other.residue - one.residue, other.modulus)
    if turns is None or turns == _NEVER:
        return turns
    return Congruence(one.modulus * turns.modulus, one.residue + turns.residue * one.modulus)


class Found(Struct, frozen=True, eq=False):
    """The lower and upper bounds of a variable, and the conditions that are not bounds."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    unused: Constraints


class Competing(Struct, frozen=True, eq=False):
    """One case: the bounds left in it, and the conditions that select it."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    conds: tuple[Cond, ...]


def bounds_on(x: Symbol, lo: Poly, hi: Poly, constraints: Constraints, facts: tuple[Cond, ...]) -> Found:
    """Read affine conditions on x as bounds; bounds that others imply are dropped."""
    lows, highs, unused = [lo], [hi], []
    for a in constraints:
        parts = affine_parts(a.p, x) if isinstance(a, Ge) else None
        way = None if parts is None else sign(parts[0], facts)
        if parts is None or not way:
            unused.append(a)
        elif way > 0:
            lows.append(-floordiv(parts[1], _divisor(parts[0])))
        else:
            highs.append(floordiv(parts[1], _divisor(-parts[0])))
    tight_lows = _undominated(tuple(lows), facts, 1)
    return Found(tight_lows, _undominated(tuple(highs), facts, -1), tuple(unused))


def _divisor(slope: Poly) -> Poly:
    """Return a slope to divide by, made positive also where the conditions that imply it do not hold."""
    return slope if prove(ge(slope - 1)) is True else maximum(slope, 1)


def _undominated(bounds: tuple[Poly, ...], facts: tuple[Cond, ...], way: int) -> tuple[Poly, ...]:
    """Drop every bound that another bound implies."""
    kept: list[Poly] = []
    for bound in dict.fromkeys(bounds):
        if any(prove(ge((other - bound) * way), facts) for other in kept):
            continue
        kept = [other for other in kept if not prove(ge((bound - other) * way), facts)]
        kept.append(bound)
    return tuple(kept)


def cases_of_tightest(found: Found, remaining: frozenset[Symbol], facts: tuple[Cond, ...]) -> list[Competing]:
    """Split into cases by which bound is tightest, if that depends on remaining coordinates."""
    lows = _winners(_merge_fixed(found.lows, remaining, facts, 1), 1)
    highs = _winners(_merge_fixed(found.highs, remaining, facts, -1), -1)
    return [Competing((low,), (high,), a + b) for (low, a), (high, b) in product(lows, highs)]


def _merge_fixed(
    bounds: tuple[Poly, ...], remaining: frozenset[Symbol], facts: tuple[Cond, ...], way: int
) -> tuple[Poly, ...]:
    """Merge the bounds that depend on no remaining coordinate into one, with a clip."""
    fixed = [b for b in bounds if not b.free & remaining]
    moving = tuple(b for b in bounds if b.free & remaining)
    return (*moving, reduce(lambda a, b: tighter_bound(a, b, facts, way), fixed)) if fixed else moving


def tighter_bound(a: Poly, b: Poly, facts: tuple[Cond, ...], way: int) -> Poly:
    """Return the larger of two lower bounds (way 1), or the smaller of two upper bounds (way -1)."""
    return maximum(a, b, facts) if way > 0 else minimum(a, b, facts)


def _winners(bounds: tuple[Poly, ...], way: int) -> list[tuple[Poly, tuple[Cond, ...]]]:
    """Return each bound with the conditions under which it is the tightest; ties go to the first."""
    return [
        (mine, tuple(ge((mine - other) * way - (j < k)) for j, other in enumerate(bounds) if j != k))
        for k, mine in enumerate(bounds)
    ]


# === Sums of one variable over one range whose length is known to be non-negative.
#
# Powers of the variable are summed by Faulhaber's formula; a floor whose argument moves by 1 by whole blocks
# and a rest, also for a symbolic divisor; floors by numbers by residue classes. ``sums`` takes care of clips
# and conditions; a summand that none of this covers becomes an unevaluated ``Sum``.


MAX_PERIOD = 64
"""The longest period whose residue classes are summed one by one: the closed form has a part for each."""


@lru_cache(maxsize=256)
def power_sum(exponent: int) -> tuple[tuple[int, ...], int]:
    """Return ``1**k + 2**k + ... + n**k`` as coefficients in n, lowest first, and their denominator.

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
    """Sum a polynomial in x from 1 to ``at``, as a polynomial identity (valid also below 0)."""
    parts = powers_of(body, x)
    return total_of(multiply(coef, _power_sum_at(k, at)) for k, coef in parts.items())


def sum_range(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over a range with ``hi >= lo - 1``; a part without a closed form stays a ``Sum``."""
    if x not in body.free:
        return multiply(body, hi - lo + 1)
    if not body.height:
        return _polynomial_sum(body, x, lo, hi)
    return total_of(_group_sum(part, hard, x, lo, hi) for hard, part in _groups(body, x).items())


def _polynomial_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    whole = antidifference(body, x, hi)
    return whole if lo == 1 else whole - antidifference(body, x, lo - 1)


def _groups(body: Poly, x: Symbol) -> dict[frozenset[Generator], Poly]:
    """Group the terms by the floors, clips and sums in them that depend on x."""
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
    """Sum powers of numbers whose exponents are linear in x, each times a polynomial in x."""
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
        factors = _antidifference_factors(powers_of(poly(terms, body.den), x), ratio)
        last = multiply(at_last, total_of(multiply(q, hi**k) for k, q in factors.items()))
        first = multiply(at_first, total_of(multiply(q, (lo - 1) ** k) for k, q in factors.items()))
        sums.append(last - first)
    return total_of(sums)


def _ratio(part: tuple[Exponential, ...], x: Symbol) -> Fraction | None:
    """Return the factor by which a product of powers grows when x grows by 1."""
    ratio = Fraction(1)
    for generator in part:
        parts = affine_parts(generator.p, x)
        slope = None if parts is None else parts[0].constant
        if slope is None or abs(slope) > MAX_PERIOD:
            return None
        ratio *= Fraction(generator.base) ** slope
    return ratio


def _power_at(part: tuple[Exponential, ...], x: Symbol, at: Poly) -> Poly | None:
    """Return a product of powers at an end of a range; None if an exponent may be negative there."""
    found = []
    for generator in part:
        exponent = rebuild(generator.p, {x: at}, PROVED)
        if exponent.constant is None and not is_nonnegative(exponent):
            return None
        found.append(powers(generator.base, exponent))
    return product_of(found)


def _antidifference_factors(coefficients: Mapping[int, Poly], ratio: Fraction) -> dict[int, Poly]:
    """Return ``q`` with ``q(x)*r**x - q(x - 1)*r**(x - 1) == p(x)*r**x``, as coefficients of powers of x."""
    found: dict[int, Poly] = {}
    back = 1 / ratio
    for k in range(max(coefficients), -1, -1):
        rest = [(q, back * comb(j, k) * (-1) ** (j - k)) for j, q in found.items()]
        parts = (scale(q, by.numerator, by.denominator) for q, by in rest)
        right, factor = total_of((coefficients.get(k, ZERO), *parts)), 1 / (1 - back)
        found[k] = scale(right, factor.numerator, factor.denominator)
    return found


def _by_blocks(body: Poly, floor: Floor, x: Symbol, lo: Poly, hi: Poly) -> Poly | None:
    """Sum over a floor whose argument moves by 1 or -1 with x: whole blocks of q, and a partial block."""
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
        before = antidifference(whole, block, blocks - 1) + _value_at_zero(whole, block)
        tail = antidifference(in_y, y, end - 1) - antidifference(in_y, y, start - 1)
        return before + replace_generator(tail, block, blocks, PROVED)

    found = up_to(last + 1) - up_to(first)
    if first != ONE:
        return found
    at_zero = _value_at_zero(replace_generator(in_y, block, ZERO, PROVED), y)  # where every floor is 0
    return min(found, up_to(last + 1) - at_zero, key=size_of)


def _value_at_zero(p: Poly, generator: Generator) -> Poly:
    """Return the value at 0, which a sum that starts at 1 leaves out."""
    return powers_of(p, generator).get(0, ZERO)


def common_period(generators: frozenset[Generator] | set[Generator], x: Symbol) -> int | None:
    """Return a step of x after which all floors by numbers repeat, or ``None`` if no small step does."""
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
                period = common_period(inner, x)
                return None if period is None else divisor * period
            parts = affine_parts(p, x)
            slope = None if parts is None else parts[0].constant
            return divisor // gcd(divisor, slope) if slope else divisor
        case _:
            return None


def _by_residues(body: Poly, period: int, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over each residue class; within one, the floors are polynomials."""
    parts = []
    for residue in range(period):
        last = floordiv(hi - lo - residue, period)
        turn = coordinate("t", last, 0)
        there = rebuild(body, {x: turn * period + lo + residue}, PROVED)
        t = the_symbol(turn)
        if any(t in g.free and g is not t for mono in there.terms for g in mono):
            return opaque_sum(body, x, lo, hi)
        parts.append(antidifference(there, t, last) + _value_at_zero(there, t))
    return total_of(parts)


# === Eliminating coordinates.


_MAX_ENUMERATED = 64
"""The longest constant range that is written out term by term."""
_MAX_POWERS = 2_000
"""The most terms that powers of the bounds, or a summand after one coordinate, may have."""


def eliminate(problem: Problem, work: Work) -> Poly:
    """Eliminate all coordinates, or raise ``NoClosedForm``."""
    work.step(problem.body)
    left = drop_proved(problem)
    if left is None:
        return ZERO
    if not left.ranges:
        return zero_unless(left.body, left.constraints, left.facts)
    short = _range_to_write_out(left)
    if short is not None:
        return _write_out(left, short, work)
    chosen = _choose_range(left)
    for way in (_by_equality, _by_congruence, _by_symbolic_congruence, _by_condition_residues, _by_clip):
        done = way(left, chosen, work)
        if done is not None:
            return done
    return _by_bounds(left, chosen, work)


def _parts_over(p: Poly, x: Symbol) -> set[Generator]:
    """Return the floors, clips and sums at the outer level that depend on x."""
    return {g for mono in p.terms for g in mono if g is not x and x in g.free}


def _range_to_write_out(problem: Problem) -> SummedRange | None:
    """Return the shortest constant range that a condition ties to others, or that a floor or clip uses."""
    best: tuple[int, SummedRange] | None = None
    symbols = frozenset(r.symbol for r in problem.ranges)
    for r in problem.ranges:
        span = (r.hi - r.lo).constant
        if span is None or span >= _MAX_ENUMERATED or (best is not None and best[0] <= span):
            continue
        tied = any(r.symbol in a.p.free and (a.p.free & symbols != {r.symbol}) for a in problem.constraints)
        if tied or any(_parts_over(p, r.symbol) for p in (problem.body, *(a.p for a in problem.constraints))):
            best = (span, r)
    return best[1] if best else None


def _write_out(problem: Problem, r: SummedRange, work: Work) -> Poly:
    span = (r.hi - r.lo).constant or 0
    parts = []
    for k in range(span + 1):
        parts.append(eliminate(substitute_range(problem, r.symbol, r.lo + k, work.rules), work))
    return total_of(parts)


def _choose_range(problem: Problem) -> SummedRange:
    """Choose a coordinate that no other range depends on: one that an equality fixes, else the simplest."""
    bounding = frozenset[Symbol]().union(*(r.lo.free | r.hi.free for r in problem.ranges))
    open_ = [(k, r) for k, r in enumerate(problem.ranges) if r.symbol not in bounding]
    return min(open_, key=lambda kr: (_difficulty(problem, kr[1].symbol), -kr[0]))[1]


def _difficulty(problem: Problem, x: Symbol) -> int:
    score = 0
    for a in problem.constraints:
        if x in a.p.free:
            parts = affine_parts(a.p, x)
            slope = None if parts is None else parts[0].constant
            if isinstance(a, Eq) and slope in (1, -1):
                return -1
            score += 0 if slope in (1, -1) else 1 if slope is not None else 2
    return score


def _by_equality(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Use an equality to fix the coordinate; its range becomes a condition on the others."""
    x = r.symbol
    for a in problem.constraints:
        parts = affine_parts(a.p, x) if isinstance(a, Eq) and x in a.p.free else None
        slope = None if parts is None else parts[0].constant
        if parts is None or not slope:
            continue
        value = floordiv(-parts[1], slope)
        fits = eq(mod(parts[1], abs(slope)))
        extra = (fits, ge(value - r.lo), ge(r.hi - value))
        others = tuple(o for o in problem.constraints if o != a)
        left = Problem(problem.body, problem.ranges, others, problem.facts)
        if _divides(left, x):  # outside the range the value is gated away, but no divisor may vanish there
            value = r.lo + relu(value - r.lo)
        return eliminate(substitute_range(left, x, value, work.rules, extra), work)
    return None


def _divides(problem: Problem, x: Symbol) -> bool:
    """Whether some divisor depends on x."""
    pending = [problem.body, *(a.p for a in problem.constraints)]
    while pending:
        for generator in {g for mono in pending.pop().terms for g in mono if x in g.free}:
            if isinstance(generator, Floor) and x in generator.q.free:
                return True
            pending += generator.parts
    return False


def _by_congruence(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Visit only the coordinates that a congruence admits: every step-th one from the first on."""
    x, start = r.symbol, r.lo.constant
    found = _congruences_of(x, problem.constraints, [other.symbol for other in problem.ranges])
    if not found:
        return None
    cond, let_through = next(iter(found.items()))
    step, residue = let_through.modulus, let_through.residue
    known = residue.constant
    first = residue if start is None or known is None else as_poly(start + (known - start) % step)
    return _by_steps(problem, r, work, cond, as_poly(step), first)


def _by_steps(
    problem: Problem, r: SummedRange, work: Work, cond: Cond, step: Poly, first: Poly, *fits: Cond
) -> Poly:
    """Visit every step-th coordinate, counted from a first one, instead of asking a condition of each."""
    low = floordiv(r.lo - first + step - 1, step)
    high = floordiv(r.hi - first, step)
    turn = coordinate("t", high, low)
    others = tuple(a for a in problem.constraints if a != cond)
    left = Problem(problem.body, problem.ranges, others, problem.facts)
    there = substitute_range(left, r.symbol, turn * step + first, work.rules, fits)
    ranges = (*there.ranges, SummedRange(the_symbol(turn), low, high))
    return eliminate(Problem(there.body, ranges, there.constraints, there.facts), work)


def _by_symbolic_congruence(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Visit only the coordinates that leave a residue of a division by an expression."""
    for cond in problem.constraints:
        found = _symbolic_congruence(cond, r.symbol) if r.symbol in cond.p.free else None
        if found is not None:
            step, residue, first = found
            return _by_steps(problem, r, work, cond, step, first, ge(residue), ge(step - residue - 1))
    return None


def _symbolic_congruence(cond: Ge | Eq, x: Symbol) -> tuple[Poly, Poly, Poly] | None:
    """Read a condition as ``u % step == residue`` where u moves with x: step, residue, and some such x.

    A divisor is at least 1. That a remainder is at most 0 says that it is 0.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n, m = length("n"), length("m"); i = coordinate("i", n)
    >>> _symbolic_congruence(Eq(mod(i + 1, m) - 3), the_symbol(i))
    (m, 3, 2)
    >>> _symbolic_congruence(Ge(-mod(i - 1, m)), the_symbol(i))
    (m, 0, 1)
    """
    floors = [g for mono in cond.p.terms for g in mono if isinstance(g, Floor)]
    for floor in dict.fromkeys(floors):
        parts = affine_parts(floor.p, x)
        slope = None if parts is None else parts[0].constant
        if parts is None or slope not in (1, -1) or x in floor.q.free or floor.q.constant is not None:
            continue
        remainder = floor.p - floor.q * atom(floor)
        for way in (-1, 1) if isinstance(cond, Eq) else (-1,):
            residue = scale(cond.p - scale(remainder, way), -way)
            if x not in residue.free and (isinstance(cond, Eq) or residue == 0):
                return floor.q, residue, scale(residue - parts[1], slope)
    return None


def _by_condition_residues(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Sum over residue classes if a condition contains floors of the coordinate."""
    hard = {g for a in problem.constraints for g in _parts_over(a.p, r.symbol)}
    floors: set[Generator] = {g for g in hard if isinstance(g, Floor)}
    period = common_period(floors, r.symbol) if floors else None
    if period is None or period == 1:
        return None
    parts = []
    for residue in range(period):
        last = floordiv(r.hi - r.lo - residue, period)
        turn = coordinate("t", last, 0)
        there = substitute_range(problem, r.symbol, turn * period + r.lo + residue, work.rules)
        ranges = (*there.ranges, SummedRange(the_symbol(turn), ZERO, last))
        parts.append(eliminate(Problem(there.body, ranges, there.constraints, there.facts), work))
    return total_of(parts)


def _by_clip(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Split the range at the point where a clip in the summand becomes positive."""
    clip = _innermost_clip(problem.body, r.symbol)
    if clip is None:
        return None
    active = _activity_condition(clip, r, problem.facts)
    if not isinstance(active, Ge) or affine_parts(active.p, r.symbol) is None:
        return None
    outer = {mono: coef for mono, coef in problem.body.terms.items() if clip in mono}
    inside = poly(outer, problem.body.den)
    rest = problem.body - inside
    if any(clip in _nested_clips(g) for mono in problem.body.terms for g in mono if g is not clip):
        idle = with_conditions(
            problem, replace_generator(problem.body, clip, ZERO, work.rules), negate(active)
        )
        busy = with_conditions(problem, replace_generator(problem.body, clip, clip.p, work.rules), active)
        return eliminate(idle, work) + eliminate(busy, work)
    busy = with_conditions(problem, replace_generator(inside, clip, clip.p, work.rules), active)
    return eliminate(with_conditions(problem, rest), work) + eliminate(busy, work)


def _activity_condition(clip: Relu, r: SummedRange, facts: tuple[Cond, ...]) -> Cond:
    """Return the condition under which a clip counts: argument at least 1, or at least 0 if that is simpler.

    It is simpler if the argument is 0 at one end of the range only. The last of several blocks may be
    shorter: it is where ``k*b >= n``, while ``k*b > n`` may hold nowhere.
    """
    times, rest = affine_parts(clip.p, r.symbol) or (ONE, ZERO)
    way = None if times in (ONE, -ONE) else sign(times, facts)
    if way:
        steps = floordiv(rest, _divisor(times * way))
        if prove(eq(r.hi + steps if way > 0 else r.lo - steps), facts):
            return ge(clip.p)
    return ge(clip.p - 1)


def _innermost_clip(p: Poly, x: Symbol) -> Relu | None:
    clips = {c for c in generators_in(p) if isinstance(c, Relu) and x in c.free} if p.height else ()
    usable = [c for c in clips if all(d is c or x not in d.free for d in _nested_clips(c))]
    return min(usable, key=lambda c: (c.height, c.key), default=None)


def _nested_clips(generator: Generator) -> set[Relu]:
    return {g for g in generators_in(atom(generator)) if isinstance(g, Relu)}


def _by_bounds(problem: Problem, r: SummedRange, work: Work) -> Poly:
    """Turn the conditions on the coordinate into bounds, and sum."""
    x = r.symbol
    mine = tuple(a for a in problem.constraints if x in a.p.free)
    others = tuple(a for a in problem.constraints if x not in a.p.free)
    found = bounds_on(x, r.lo, r.hi, mine, problem.facts + others)
    body = problem.body
    for a in found.unused:
        body = body * indicator(a, problem.facts + others)
    left = tuple(o for o in problem.ranges if o is not r)
    outer = Problem(body, left, others, problem.facts)
    remaining = frozenset(o.symbol for o in left)
    if remaining and found.unused:
        raise NoClosedForm
    known = problem.facts + others
    whole = Competing(found.lows, found.highs, ())
    if remaining and not _parts_over(body, x) and prove(ge(_count(*_tightest(whole, known))), known):
        return _between(outer, x, whole, work)  # the range is never empty, so clips express it without cases
    pieces = cases_of_tightest(found, remaining, known)
    return total_of(_between(outer, x, piece, work) for piece in pieces)


def _tightest(piece: Competing, known: tuple[Cond, ...]) -> tuple[Poly, Poly]:
    """Return the largest lower and the smallest upper bound."""
    lo = reduce(lambda a, b: tighter_bound(a, b, known, 1), piece.lows)
    return lo, reduce(lambda a, b: tighter_bound(a, b, known, -1), piece.highs)


def _count(lo: Poly, hi: Poly) -> Poly:
    return hi - lo + 1


def _between(outer: Problem, x: Symbol, piece: Competing, work: Work) -> Poly:
    """Sum between bounds that no longer compete in the remaining coordinates."""
    there = drop_proved(with_conditions(outer, outer.body, *piece.conds))
    if there is None:
        return ZERO
    known = there.facts + there.constraints
    lo, hi = _tightest(piece, known)
    count = _count(lo, hi)
    verdict = prove(ge(count), known)
    if verdict is False:
        return ZERO
    remaining = frozenset(r.symbol for r in there.ranges)
    _check_size(there.body, x, lo, hi)
    if verdict and count.height and prove(eq(count - 1), known):
        summed = rebuild(there.body, {x: hi}, PROVED)
    elif verdict or count.free & remaining:
        summed = sum_range(there.body, x, lo, hi)
    else:
        summed = _clipped_sum(there.body, x, lo, hi, known)
    if len(summed.terms) > _MAX_POWERS:
        raise NoClosedForm
    if any(isinstance(g, Sum) and g.free & remaining for mono in summed.terms for g in mono):
        raise NoClosedForm
    bound = (ge(count),) if not verdict and count.free & remaining else ()
    return eliminate(with_conditions(there, normalise_clips(summed, known), *bound), work)


def _clipped_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly, facts: tuple[Cond, ...]) -> Poly:
    """Sum over a range that may be empty, by clipping its length at 0."""
    clipped = relu(hi - lo + 1, facts)
    return sum_range(body, x, lo, lo + clipped - 1) if clipped.terms else ZERO


def _check_size(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> None:
    """Give up if powers of the bounds alone would have too many terms."""
    degree = 1 + max((mono.count(x) for mono in body.terms), default=0)
    if max(comb(len(end.terms) + degree, degree) for end in (lo, hi)) > _MAX_POWERS:
        raise NoClosedForm
