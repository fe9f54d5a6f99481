"""Conditions on integers: comparisons with 0, and their conjunctions, disjunctions and negations.

The constructors decide conditions that need no proof, tighten the others by divisibility, and push negation
inward, so that ``Not`` only ever holds an ``Eq``. ``prove`` decides whether a condition always holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd, prod
from typing import Generic, Self, TypeAlias, TypeVar, assert_never

from msgspec import Struct

from tolcost.algebra.floors import divided, generator_range, leading_coefficient, numerator_range
from tolcost.algebra.poly import (
    MAX_PARTS,
    UNIT,
    AlgebraBudget,
    Exponential,
    Floor,
    Generator,
    Monomial,
    Poly,
    Relu,
    Symbol,
    as_poly,
    atom,
    const,
    scale,
)

_F = TypeVar("_F")
_R = TypeVar("_R")


class Truth(Struct, frozen=True, eq=False):
    """A decided condition: ``TRUE`` or ``FALSE``, the only two instances."""

    value: bool

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the value, so that the copy is one of the two instances."""
        return (truth, (self.value,))

    def __copy__(self) -> Self:
        """Return the object itself: there are only two."""
        return self


class Ge(Struct, frozen=True):
    """``p >= 0``."""

    p: Poly


class Eq(Struct, frozen=True):
    """``p == 0``."""

    p: Poly


class And(Struct, frozen=True):
    """A conjunction."""

    parts: tuple[Cond, ...]


class Or(Struct, frozen=True):
    """A disjunction."""

    parts: tuple[Cond, ...]


class Not(Struct, frozen=True):
    """The negation of an equality."""

    part: Eq


Cond: TypeAlias = Truth | Ge | Eq | And | Or | Not


class Logic(Struct, Generic[_F, _R], frozen=True):
    """The one walk over conditions: a pass says what it makes of forms compared with 0, and of joined parts.

    ``every`` and ``some`` get the parts one by one, and need not take all of them.
    """

    ge: Callable[[_F], _R]
    eq: Callable[[_F], _R]
    ne: Callable[[_F], _R]
    truth: Callable[[bool], _R]
    every: Callable[[Iterable[_R]], _R]
    some: Callable[[Iterable[_R]], _R]

    def of(self, cond: Cond, form: Callable[[Poly], _F]) -> _R:
        """Return what is made of a condition; ``form`` says what is made of its forms."""
        match cond:
            case Ge(p=p):
                return self.ge(form(p))
            case Eq(p=p):
                return self.eq(form(p))
            case Not(part=part):
                return self.ne(form(part.p))
            case And(parts=parts):
                return self.every(self.of(part, form) for part in parts)
            case Or(parts=parts):
                return self.some(self.of(part, form) for part in parts)
            case Truth(value=value):
                return self.truth(value)
        # any other type, such as a node of a program, would return None, which counts as false
        assert_never(cond)


TRUE = Truth(True)
FALSE = Truth(False)

Constraint: TypeAlias = Ge | Eq
Constraints: TypeAlias = tuple[Constraint, ...]
SignedCases: TypeAlias = dict[frozenset[Constraint], int]

_MAX_CASES = 512
"""The most conjunctions into which an indicator is split: their number may double with every alternative."""
_ALWAYS: SignedCases = {frozenset(): 1}


def truth(value: bool) -> Cond:
    """Return the decided condition of this value."""
    return TRUE if value else FALSE


def ge(p: Poly | int) -> Cond:
    """Build the condition ``p >= 0``.

    >>> from tolcost.algebra.poly import length
    >>> ge(2 * length("n") - 5)
    Ge(p=n - 3)
    """
    given = p if isinstance(p, Poly) else const(p)
    low, high = numerator_range(given)
    # most conditions on lengths are decided here, before the effort of tightening them
    if low is not None and low >= 0:
        return TRUE
    value = _tighten(given)
    if value is not given:
        low, high = numerator_range(value)
        if low is not None and low >= 0:
            return TRUE
    return FALSE if high is not None and high < 0 else Ge(value)


def _tighten(p: Poly) -> Poly:
    """Divide by the content, rounding the constant down; remove a lone floor or clip."""
    terms = p.terms
    common = gcd(*[coef for mono, coef in terms.items() if mono])
    if not common:
        return p
    if common > 1 or p.den > 1:
        p = Poly({mono: coef // common for mono, coef in terms.items() if coef // common})
    if UNIT not in p.terms:
        p = _divide_by_lengths(p)
    return _remove_clip(_remove_floor(_round_to_multiple(p))) if p.height else p


def _round_to_multiple(p: Poly) -> Poly:
    """Round the constant down to a multiple of the other terms' common divisor.

    A power is a multiple of its base if its exponent is at least 1.

    >>> from tolcost.algebra.poly import length
    >>> from tolcost.algebra.powers import powers
    >>> _round_to_multiple(2 * length("n") - powers(2, length("p")) - 1)
    2*n - 2**p - 2
    """
    number, common = p.terms.get(UNIT, 0), 0
    for mono, coef in p.terms.items() if number else ():
        common = gcd(common, coef * _divisor(mono)) if mono else common
        if common == 1:  # the usual case
            return p
    return p - number % common if number else p


def _divisor(mono: Monomial) -> int:
    """Return a number that divides a product: the bases of powers whose exponents are at least 1."""
    powers = [g for g in mono if isinstance(g, Exponential) and g.p.den == 1]
    return prod(g.base for g in powers if (numerator_range(g.p)[0] or 0) >= 1)


def _divide_by_lengths(p: Poly) -> Poly:
    """Divide by the positive lengths that occur in every term; they do not change the sign.

    A coordinate is kept: where it occurs, its range is not empty.

    >>> from tolcost.algebra.poly import length
    >>> n, k = length("n"), length("k")
    >>> _divide_by_lengths(k * n * n - 2 * n)
    k*n - 2
    """
    first, *others = p.terms
    shared = set(first).intersection(*others)
    for generator in filter(_is_positive_length, shared):
        return _divide_by_lengths(divided(p, generator))
    return p


def _is_positive_length(generator: Generator) -> bool:
    if not isinstance(generator, Symbol) or generator.kind != "length":
        return False
    return (generator_range(generator)[0] or 0) >= 1


def _remove_clip(p: Poly) -> Poly:
    """Rewrite ``relu(a) + r >= 0`` as ``a + r >= 0`` if r < 0, and the corresponding case with a minus sign.

    Since the clip of ``-a`` is the clip of a minus a, either form may be the one that loses its clip.
    """
    clips = [(g, coef) for mono, coef in p.terms.items() for g in mono if isinstance(g, Relu)]
    if len(clips) != 1 or (clips[0][0],) not in p.terms:
        return p
    clip, coef = clips[0]
    idle = p - scale(atom(clip), coef)
    active = idle + scale(clip.p, coef)
    for one, other in ((idle, active), (active, idle)):
        low, high = numerator_range(one)
        if (high is not None and high < 0) if coef > 0 else (low is not None and low >= 0):
            return _tighten(other)
    return p


def _remove_floor(p: Poly) -> Poly:
    """Rewrite ``floor(a/c) + r >= 0`` as ``a + c*r >= 0``, and the corresponding case with a minus sign."""
    floors = {g for mono in p.terms for g in mono if isinstance(g, Floor)}
    if len(floors) != 1:
        return p
    floor = floors.pop()
    coef = p.terms.get((floor,))
    if coef is None or abs(coef) != 1:
        return p
    rest = Poly({mono: times for mono, times in p.terms.items() if floor not in mono})
    if len(rest.terms) < len(p.terms) - 1:
        return p
    if coef == 1:
        return _tighten(floor.p + rest * floor.q)
    return _tighten((rest + 1) * floor.q - 1 - floor.p)


def eq(p: Poly | int) -> Cond:
    """Build the condition ``p == 0``."""
    value = as_poly(p)
    common = gcd(*(coef for mono, coef in value.terms.items() if mono))
    offset = value.terms.get(UNIT, 0)
    if not common:
        return truth(offset == 0)
    if offset % common:
        return FALSE
    if leading_coefficient(value) < 0:
        common = -common
    value = Poly({mono: coef // common for mono, coef in value.terms.items()})
    if not offset:
        value = _divide_by_lengths(value)
        if not value.free:
            return FALSE
    low, high = numerator_range(value)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return FALSE
    if low == 0 or high == 0:
        return ge(-value) if low == 0 else ge(value)
    clip = _clip_of_negative(value) if value.height else None
    return Eq(value) if clip is None else ge(clip)


def _clip_of_negative(p: Poly) -> Poly | None:
    """Return u if p is a multiple of ``relu(-u)``, which is written ``relu(u) - u``."""
    clips = [g for mono in p.terms for g in mono if isinstance(g, Relu)]
    coef = p.terms.get((clips[0],)) if len(clips) == 1 else None
    if coef is None or p - scale(atom(clips[0]) - clips[0].p, coef) != 0:
        return None
    return clips[0].p


def conj(*conds: Cond) -> Cond:
    """Build the conjunction."""
    return _join(conds, And, TRUE, FALSE)


def disj(*conds: Cond) -> Cond:
    """Build the disjunction."""
    return _join(conds, Or, FALSE, TRUE)


def by_case(cond: Cond, then: Cond, other: Cond) -> Cond:
    """Build the condition that is ``then`` where ``cond`` holds, and ``other`` elsewhere.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> by_case(ge(n - 3), TRUE, ge(n - 2)) == disj(ge(n - 3), conj(negate(ge(n - 3)), ge(n - 2)))
    True
    """
    return disj(conj(cond, then), conj(negate(cond), other))


def _join(conds: tuple[Cond, ...], kind: type[And] | type[Or], neutral: Cond, decisive: Cond) -> Cond:
    """Join conditions.

    ``decisive`` decides the result, as do two opposite parts, and ``neutral`` drops out.
    """
    parts: dict[Cond, None] = {}
    for cond in conds:
        if cond is decisive:
            return decisive
        if cond is not neutral:
            parts.update(dict.fromkeys(cond.parts if isinstance(cond, kind) else (cond,)))
    if _has_opposites(parts):
        return decisive
    return next(iter(parts), neutral) if len(parts) < 2 else kind(_check_size(tuple(parts)))


def conjuncts(conds: Iterable[Cond]) -> Iterator[Cond]:
    """Yield the parts of conditions that hold together; conjunctions are flattened."""
    for cond in conds:
        yield from cond.parts if isinstance(cond, And) else (cond,)


def _has_opposites(parts: dict[Cond, None]) -> bool:
    """Whether a part is the negation of another.

    Nested parts are not negated, because that takes exponential time. An inequality without floors is negated
    only if another inequality has the same symbols, because only that one can be its opposite.
    """
    if len(parts) < 2:
        return False
    about = [part.p.free for part in parts if isinstance(part, Ge)]
    for part in parts:
        if isinstance(part, Ge) and not part.p.height and about.count(part.p.free) < 2:
            continue
        if not isinstance(part, (And, Or)) and negate(part) in parts:
            return True
    return False


def exclude_each_other(a: Cond, b: Cond) -> bool:
    """Whether two conditions cannot hold together because a bound of each adds up to a negative number.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> exclude_each_other(eq(n - 3), eq(n - 4)), exclude_each_other(eq(n - 3), ge(n - 5))
    (True, True)
    >>> exclude_each_other(conj(ge(m), ge(m - n)), ge(n - m - 1)), exclude_each_other(eq(n - 3), ge(n - m))
    (True, False)
    """
    sums = (p + q for p in _nonnegative_forms(a) for q in _nonnegative_forms(b))
    return any(both.constant is not None and both.constant < 0 for both in sums)


def _nonnegative_forms(cond: Cond) -> tuple[Poly, ...]:
    """Return expressions that are non-negative where a condition holds, one for each of its bounds."""
    match cond:
        case Ge(p=p):
            return (p,)
        case Eq(p=p):
            return p, -p
        case And(parts=parts):
            return tuple(p for part in parts for p in _nonnegative_forms(part))
        case _:
            return ()


def _check_size(parts: tuple[Cond, ...]) -> tuple[Cond, ...]:
    """Refuse a condition with more than ``MAX_PARTS`` leaves."""
    if sum(map(_leaves, parts)) > MAX_PARTS:
        raise AlgebraBudget(f"a condition has more than {MAX_PARTS} parts")
    return parts


def _leaves(cond: Cond) -> int:
    return sum(map(_leaves, cond.parts)) if isinstance(cond, (And, Or)) else 1


def negate(cond: Cond) -> Cond:
    """Build the negation; over the integers, the negation of ``p >= 0`` is ``-p - 1 >= 0``."""
    match cond:
        case Truth(value=value):
            return truth(not value)
        case Ge(p=p):
            # a tight, undecided inequality has a tight, undecided negation
            return ge(-p - 1) if p.height else Ge(-p - 1)
        case Eq():
            return Not(cond)
        case Not(part=part):
            return part
        case And(parts=parts):
            return _negate_inequalities(parts, Or) or disj(*map(negate, parts))
        case Or(parts=parts):
            return _negate_inequalities(parts, And) or conj(*map(negate, parts))


def _negate_inequalities(parts: tuple[Cond, ...], kind: type[And] | type[Or]) -> Cond | None:
    """Negate joined inequalities directly: they do not contradict each other, nor do their negations."""
    if not all(isinstance(part, Ge) for part in parts):
        return None
    opposites = tuple(map(negate, parts))
    return kind(opposites) if all(isinstance(part, Ge) for part in opposites) else None


def weaker_bounds(conds: Iterable[Cond]) -> set[Cond]:
    """Return the bounds that other conditions imply, like ``n >= 3`` beside ``n >= 5``.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> weaker_bounds([ge(n - 5), ge(n - 3), ge(n - m)])
    {Ge(p=n - 3)}
    """
    offsets: dict[Poly, set[int]] = {}
    bounds = [(one, one.p.terms.get(UNIT, 0)) for one in conds if isinstance(one, Ge) and one.p.den == 1]
    for one, offset in bounds:
        offsets.setdefault(one.p - offset, set()).add(offset)
    return {one for one, offset in bounds if offset > min(offsets[one.p - offset])}


def map_cond(cond: Cond, change: Callable[[Poly], Poly]) -> Cond:
    """Rebuild a condition after changing every polynomial in it."""
    match cond:
        case Truth():
            return cond
        case Ge(p=p) | Eq(p=p):
            changed = change(p)
            if changed is p:  # most polynomials are unchanged, and so is their condition
                return cond
            return ge(changed) if isinstance(cond, Ge) else eq(changed)
        case Not(part=part):
            return negate(map_cond(part, change))
        case And(parts=parts):
            return conj(*(map_cond(part, change) for part in parts))
        case Or(parts=parts):
            return disj(*(map_cond(part, change) for part in parts))


def polys_of(cond: Cond) -> tuple[Poly, ...]:
    """Return the polynomials of a condition."""
    return _POLYS.of(cond, lambda p: (p,))


def asks_coordinates(cond: Cond) -> bool:
    """Whether a condition mentions coordinates: only a run decides whether it holds at all of them."""
    return any(symbol.kind == "coord" for symbol in symbols_of_cond(cond))


def symbols_of_cond(cond: Cond) -> frozenset[Symbol]:
    """Return the symbols that occur free in a condition."""
    return cond.p.free if isinstance(cond, (Ge, Eq)) else _SYMBOLS.of(cond, lambda p: p.free)


def _polys_of_all(parts: Iterable[tuple[Poly, ...]]) -> tuple[Poly, ...]:
    return tuple(p for part in parts for p in part)


def _symbols_of_all(parts: Iterable[frozenset[Symbol]]) -> frozenset[Symbol]:
    return frozenset[Symbol]().union(*parts)


_POLYS: Logic[tuple[Poly, ...], tuple[Poly, ...]] = Logic(
    tuple, tuple, tuple, lambda _: (), _polys_of_all, _polys_of_all
)
_SYMBOLS: Logic[frozenset[Symbol], frozenset[Symbol]] = Logic(
    frozenset, frozenset, frozenset, lambda _: frozenset(), _symbols_of_all, _symbols_of_all
)


def open_clips(cond: Cond) -> Cond:
    """Write a comparison with a clip of a coordinate as comparisons of its two sides.

    ``abs(i - j) <= w`` becomes ``i - j <= w and j - i <= w``, which are bounds of the coordinates.

    >>> from tolcost.algebra.piecewise import relu
    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n)
    >>> open_clips(Ge(n - 3 - relu(2 * i - n)))
    And(parts=(Ge(p=n - 3), Ge(p=n - i - 2)))
    """
    match cond:
        case Ge(p=p):
            return _open_clip(p) or cond
        case Eq(p=p):
            least, most = _open_clip(p), _open_clip(-p)
            return cond if least is None or most is None else conj(least, most)
        case And(parts=parts):
            return conj(*map(open_clips, parts))
        case Or(parts=parts):
            return disj(*map(open_clips, parts))
        case _:
            return cond


def _open_clip(p: Poly) -> Cond | None:
    """Write ``idle + times * relu(u) >= 0`` by its sides: the lesser one if ``times < 0``, else either."""
    clips = [g for mono in p.terms for g in mono if isinstance(g, Relu)] if p.height else []
    if len(clips) != 1 or (clips[0],) not in p.terms or not any(s.kind == "coord" for s in clips[0].free):
        return None
    (clip,) = clips
    times = p.terms[clip,]
    idle = p - scale(atom(clip), times, p.den)
    sides = ge(idle), ge(idle + scale(clip.p, times, p.den))
    return conj(*sides) if times < 0 else disj(*sides)


def signed_cases(cond: Cond) -> SignedCases:
    """Write the indicator of a condition as integer multiples of indicators of conjunctions.

    >>> from tolcost.algebra.poly import length
    >>> signed_cases(negate(eq(length("n") - 3)))
    {frozenset(): 1, frozenset({Eq(p=n - 3)}): -1}
    """
    return _SIGNED.of(cond, lambda p: p)


def _complement(cases: SignedCases) -> SignedCases:
    result = dict(_ALWAYS)
    for atoms, times in cases.items():
        result[atoms] = result.get(atoms, 0) - times
    return {atoms: times for atoms, times in result.items() if times}


def _product(factors: Iterable[SignedCases]) -> SignedCases:
    result = dict(_ALWAYS)
    for factor in factors:
        grown: SignedCases = {}
        for left, x in result.items():
            for right, y in factor.items():
                both = left | right
                grown[both] = grown.get(both, 0) + x * y
        result = {atoms: times for atoms, times in grown.items() if times}
        if len(result) > _MAX_CASES:
            raise AlgebraBudget(f"a condition splits into more than {_MAX_CASES} cases")
    return result


_SIGNED: Logic[Poly, SignedCases] = Logic(
    lambda p: {frozenset((Ge(p),)): 1},
    lambda p: {frozenset((Eq(p),)): 1},
    lambda p: _complement({frozenset((Eq(p),)): 1}),
    lambda value: dict(_ALWAYS) if value else {},
    _product,
    lambda parts: _complement(_product(map(_complement, parts))),
)
