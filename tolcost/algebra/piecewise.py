"""Piecewise values without case distinctions: maxima, indicators and gated values.

Everything reduces to one generator, ``Relu``. Here a proof decides which clips and which floors by an
expression can be removed. If a value vanishes at the edge of its condition, as a sum over an empty range
does, one clip is enough: ``[p >= 0] * p * q == relu(p) * q``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import TypeAlias

from tolcost.algebra.conditions import (
    Cond,
    Constraints,
    Eq,
    Ge,
    Logic,
    negate,
    symbols_of_cond,
)
from tolcost.algebra.floors import canonical_relu, exact_quotient, known_quotient, quick_floordiv, range_of
from tolcost.algebra.poly import (
    ONE,
    ZERO,
    Floor,
    Generator,
    Monomial,
    Poly,
    Relu,
    Symbol,
    Terms,
    affine_parts,
    as_poly,
    atom,
    const,
    define_floordiv,
    multiply,
    poly,
    powers_of,
    product_of,
    scale,
    total_of,
)
from tolcost.algebra.prove import is_nonnegative, prove
from tolcost.algebra.rebuild import Rules, generators_in, map_generators, opaque_sum, rebuild

Decided: TypeAlias = dict[tuple[Relu, Relu], bool]
"""Pairs of clips already compared: whether the first is proved to be at most the second."""

_MOST_TERMS = 120
_MOST_CLIPS = 8
"""Clips are removed only from forms with at most this many terms and clips: each removal takes divisions."""
_FEW_TERMS = 4
"""Longer forms are not compared beside each other."""
_FEW_BELOW = 4
"""A form with more possible values below 0 than this is not checked value by value."""
_FEW_PLACES = 12
"""A form of one symbol with floors may be negative at fewer of its first values than this."""
_MOST_DECIDED = 16
"""If two branches have more generators together, ``either`` removes no clips: each removal takes a proof."""


def floordiv(p: Poly | int, q: Poly | int) -> Poly:
    """Floor of ``p / q``, with floors by an expression removed where a proof finds their value.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n)
    >>> floordiv(floordiv(n + 1, 2) + 1, 2), floordiv(i + n - 1, n)
    (floor((n + 3)/4), 1)
    """
    plain = quick_floordiv(p, q)
    return map_generators(plain, _decide_floor) if plain.height else plain


define_floordiv(floordiv)


def _decide_floor(generator: Generator) -> Poly | None:
    """Return the value of a floor by an expression if a proof finds it."""
    if not isinstance(generator, Floor) or generator.q.constant is not None:
        return None
    known = known_quotient(generator.p, generator.q, is_nonnegative)
    return None if known is None else const(known)


def mod(p: Poly | int, q: Poly | int) -> Poly:
    """Remainder of the floor division: ``p - q * floor(p / q)``."""
    return as_poly(p) - floordiv(p, q) * q


def ceildiv(p: Poly | int, q: Poly | int) -> Poly:
    """Ceiling of ``p / q``."""
    return floordiv(as_poly(p) + q - 1, q)


def relu(p: Poly | int, facts: tuple[Cond, ...] = ()) -> Poly:
    """Return the larger of ``p`` and 0; a proof may decide which it is.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> relu(n - 1), relu(3 - n) - relu(n - 3)
    (n - 1, 3 - n)
    """
    value = as_poly(p)
    known = value.constant
    return _clip(value, facts) if known is None else as_poly(max(known, 0))


@lru_cache(maxsize=1 << 12)  # similar programs build equal clips
def _clip(value: Poly, facts: tuple[Cond, ...]) -> Poly:
    if is_nonnegative(value, facts):
        return value
    if is_nonnegative(-value, facts):
        return ZERO
    flat = _drop_inner_clip(value, facts)
    return canonical_relu(value) if flat is None else relu(flat, facts)


def _drop_inner_clip(p: Poly, facts: tuple[Cond, ...]) -> Poly | None:
    """Drop an inner clip that the outer clip makes redundant; ``None`` if there is none."""
    for mono, coef in p.terms.items():
        if len(mono) == 1 and isinstance(mono[0], Relu) and coef > 0:
            inactive = p - scale(atom(mono[0]), coef, p.den)
            active = inactive + scale(mono[0].p, coef, p.den)
            if is_nonnegative(-inactive, facts):
                return active
            if is_nonnegative(-active, facts):
                return inactive
    return None


def maximum(p: Poly | int, q: Poly | int, facts: tuple[Cond, ...] = ()) -> Poly:
    """Return the larger of two polynomials."""
    return as_poly(q) + relu(as_poly(p) - q, facts)


def minimum(p: Poly | int, q: Poly | int, facts: tuple[Cond, ...] = ()) -> Poly:
    """Return the smaller of two polynomials."""
    return as_poly(p) - relu(as_poly(p) - q, facts)


def sign(p: Poly | int, facts: tuple[Cond, ...] = ()) -> int | None:
    """Return 1, 0 or -1 if the sign is proved to be the same for all admissible values, else ``None``."""
    value = as_poly(p)
    if is_nonnegative(value - 1, facts):
        return 1
    if is_nonnegative(-value - 1, facts):
        return -1
    return 0 if is_nonnegative(value, facts) and is_nonnegative(-value, facts) else None


def indicator(cond: Cond, facts: tuple[Cond, ...] = ()) -> Poly:
    """Return 1 where the condition holds and 0 elsewhere, as a polynomial in clips.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> indicator(ge(length("n") - 3))
    Max(n - 2, 0) - Max(n - 3, 0)
    """

    def ge_0(p: Poly) -> Poly:
        return relu(p + 1, facts) - relu(p, facts)

    def eq_0(p: Poly) -> Poly:
        return relu(p + 1, facts) - 2 * relu(p, facts) + relu(p - 1, facts)

    def some(parts: Iterable[Poly]) -> Poly:
        return 1 - product_of(1 - part for part in parts)

    return Logic(
        ge_0, eq_0, lambda p: 1 - eq_0(p), lambda value: ONE if value else ZERO, product_of, some
    ).of(cond, lambda p: p)


def either(cond: Cond, a: Poly, b: Poly) -> Poly:
    """Return ``a`` where the condition holds, and ``b`` elsewhere.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> either(ge(n - 3), n - 1, as_poly(1)) == 1 + relu(n - 2)
    True
    """
    if len(generators_in(a) | generators_in(b)) > _MOST_DECIDED:
        return b + indicator(cond) * (a - b)
    b = simplify(b, (negate(cond),))
    gap = simplify(a - b, (cond,))
    return b + (zero_unless(gap, (cond,), ()) if isinstance(cond, (Ge, Eq)) else indicator(cond) * gap)


def zero_unless(body: Poly, constraints: Constraints, facts: tuple[Cond, ...]) -> Poly:
    """Return the body where all conditions hold, and 0 elsewhere."""
    for a in constraints:
        verdict = prove(a, facts)
        if verdict is False:
            return ZERO
        if verdict is None:
            body = _gate(body, a, facts)
    return body


def _gate(body: Poly, a: Cond, facts: tuple[Cond, ...]) -> Poly:
    if isinstance(a, Ge):
        for edge in (a.p, a.p + 1):
            quotient = exact_quotient(body, edge)
            if quotient is not None:
                return multiply(relu(edge, facts), quotient)
    return multiply(body, indicator(a, facts))


def normalise_clips(p: Poly, facts: tuple[Cond, ...] = ()) -> Poly:
    """Replace one of two clips in a product by its argument if the other clip being non-zero implies it."""
    return _normalise_clips(p, facts, {})


def _normalise_clips(p: Poly, facts: tuple[Cond, ...], decided: Decided) -> Poly:
    kept: Terms = {}
    better = []
    for mono, coef in p.terms.items():
        clips = [(k, g) for k, g in enumerate(mono) if isinstance(g, Relu)]
        found = _drop_implied_clip(mono, clips, facts, decided) if len(clips) > 1 else None
        if found is None:
            kept[mono] = coef
        else:
            better.append(scale(found, coef, p.den))
    if not better:
        return p
    result = total_of((poly(kept, p.den), *better))
    return result if result == p else _normalise_clips(result, facts, decided)


def _drop_implied_clip(
    mono: Monomial, clips: list[tuple[int, Relu]], facts: tuple[Cond, ...], decided: Decided
) -> Poly | None:
    """Rewrite ``relu(a) * relu(b)`` as ``relu(a) * b`` if ``b >= a``: then b is positive wherever a is."""
    for k, small in clips:
        for j, large in clips:
            if j != k and _decides(small, large, facts, decided):
                return multiply(Poly({mono[:j] + mono[j + 1 :]: 1}), large.p)
    return None


def _decides(small: Relu, large: Relu, facts: tuple[Cond, ...], decided: Decided) -> bool:
    """Whether one clip is proved never to exceed another; each pair is decided once."""
    if (small, large) not in decided:
        decided[small, large] = small is large or _is_proved_below(small, large, facts)
    return decided[small, large]


def _is_proved_below(small: Relu, large: Relu, facts: tuple[Cond, ...]) -> bool:
    """Whether a proof shows it.

    Without common symbols or facts, either clip can be the larger, so none is tried.
    """
    return bool(facts or small.free & large.free) and is_nonnegative(large.p - small.p, facts)


def clips_in(p: Poly) -> set[Relu]:
    """Return the clips that are factors of terms; a product has only clips of its factors."""
    return {g for mono in p.terms for g in mono if isinstance(g, Relu)} if p.height else set()


def fewer_clips(p: Poly, facts: tuple[Cond, ...] = ()) -> Poly:
    """Remove clips that change nothing where their factors are non-zero, and merge neighbouring clips.

    >>> from tolcost.algebra.poly import length
    >>> n, k = length("n"), length("k")
    >>> fewer_clips((n - 1) * relu(n - 2)), fewer_clips((k - n) * relu(k - n + 1) + relu(k - n))
    (n**2 - 3*n + 2, Max(k - n, 0)*(k - n + 2))
    """
    clips = clips_in(p)
    if not clips or len(p.terms) > _MOST_TERMS or len(clips) > _MOST_CLIPS:
        return p
    ordered = sorted(clips, key=lambda g: g.key)
    for clip in ordered:
        parts = powers_of(p, clip)
        if set(parts) - {0, 1}:
            continue
        instead = _remove_clip(clip, parts[1], ordered, facts)
        if instead is not None:
            return fewer_clips(normalise_clips(total_of((parts.get(0, ZERO), instead))), facts)
    return p


def _remove_clip(clip: Relu, factor: Poly, clips: list[Relu], facts: tuple[Cond, ...]) -> Poly | None:
    """Rewrite a clip times a factor without the clip, or with another clip; None if neither is possible."""
    if _vanishes_below(clip.p, factor):
        return multiply(factor, clip.p)
    decided = _decided_beside(clip, factor, facts)
    if decided is not None:
        return decided
    for other in clips:
        gap = (clip.p - other.p).constant
        if gap in (1, -1):  # the factor is 0 where only one of the two clips is positive
            share = exact_quotient(factor, other.p if gap == 1 else clip.p + 1)
            if share is not None:
                return multiply(multiply(share, clip.p), atom(other))
    return None


def _decided_beside(clip: Relu, factor: Poly, facts: tuple[Cond, ...]) -> Poly | None:
    """Return a clip times a factor where facts give the clip one value wherever the factor is not 0.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> fewer_clips((m - n) * relu(n - m + 1), (ge(m - n),))
    0
    """
    if not clip.free <= factor.free or len(factor.terms) > _FEW_TERMS or len(clip.p.terms) > _FEW_TERMS:
        return None
    if not any(factor.free & symbols_of_cond(fact) for fact in facts):
        return None
    times = Poly(factor.terms)
    sides = tuple((*facts, Ge(scale(times, way) - 1)) for way in (1, -1))
    if all(is_nonnegative(-clip.p, side) for side in sides):
        return ZERO
    return multiply(factor, clip.p) if all(is_nonnegative(clip.p, side) for side in sides) else None


def _vanishes_below(p: Poly, factor: Poly) -> bool:
    """Whether a factor is 0 wherever a form is negative, which must be at only a few of its values.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> fewer_clips(relu(n // 3 - 1) * (n - 1) * (n - 2))
    (n - 2)*(n - 1)*(floor(n/3) - 1)
    """
    for values in _places_below(p):
        try:
            return not any(rebuild(factor, value, PROVED).terms for value in values)
        except ZeroDivisionError:  # it divides by an expression that is 0 there
            return False
    return False


def _places_below(p: Poly) -> Iterator[list[dict[Symbol, Poly]]]:
    """Yield the few values of one symbol where a form is negative, once if they are known."""
    least = range_of(p)[0]
    if least is None or least < -_FEW_BELOW:
        return
    for symbol in sorted(p.free, key=lambda s: s.key):
        parts = affine_parts(p, symbol)
        slope = None if parts is None else parts[0].constant
        if parts is not None and slope in (1, -1):
            yield [{symbol: (n - parts[1]) * slope} for n in range(least, 0)]
            return
    if len(p.free) != 1:
        return
    (symbol,) = p.free
    lowest = None if symbol.lo is None else symbol.lo.constant
    if lowest is None:
        return
    places = [{symbol: const(lowest + n)} for n in range(_FEW_PLACES)]
    below = list(takewhile(lambda place: not is_nonnegative(rebuild(p, place, PROVED)), places))
    if len(below) < len(places) and is_nonnegative(p, (Ge(atom(symbol) - lowest - len(below)),)):
        yield below


PROVED = Rules(floordiv, relu, opaque_sum)
"""Rules that use proofs for floors and clips; sums stay unevaluated."""


def simplify(p: Poly, facts: tuple[Cond, ...]) -> Poly:
    """Remove the clips that facts decide.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> simplify(relu(n - 3) + n, (ge(n - 3),))
    2*n - 3
    """
    if not p.height or not facts:
        return p
    unchanged = {s: atom(s) for fact in facts for s in symbols_of_cond(fact)}
    return rebuild(p, unchanged, Rules(floordiv, lambda inside: relu(inside, facts), opaque_sum))
