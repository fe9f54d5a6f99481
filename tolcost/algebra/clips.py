"""Maximum, minimum and clipping at 0, all by way of one generator, ``Relu``.

The argument of a ``Relu`` has integer coefficients without a common divisor and a positive
leading one, since ``relu(-p) = relu(p) - p``.  So ``max(a, b) + min(a, b) == a + b`` holds by
plain equality.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from tolcost.algebra.intervals import range_of
from tolcost.algebra.poly import ZERO, Monomial, Poly, as_poly, atom, scale
from tolcost.algebra.symbols import Relu, relu_of

if TYPE_CHECKING:
    from tolcost.algebra.conditions import Cond


def relu(p: Poly | int, facts: tuple[Cond, ...] = ()) -> Poly:
    """Give the larger of ``p`` and 0.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> relu(n - 1), relu(3 - n) - relu(n - 3)
    (n - 1, 3 - n)
    """
    from tolcost.algebra.prove import is_nonnegative

    value = as_poly(p)
    known = value.constant
    if known is not None:
        return as_poly(max(known, 0))
    if is_nonnegative(value, facts):
        return value
    if is_nonnegative(-value, facts):
        return ZERO
    flat = _flattened(value, facts)
    return _canonical(value) if flat is None else relu(flat, facts)


def quick_relu(p: Poly) -> Poly:
    """Clip with a look at numeric ranges only: for use inside proofs, which must not start others."""
    low, high = range_of(p)
    if low is not None and low >= 0:
        return p
    return ZERO if high is not None and high <= 0 else _canonical(p)


def _canonical(p: Poly) -> Poly:
    content = gcd(*p.terms.values())
    if p.terms[min(p.terms, key=_display_grade)] < 0:
        content = -content
    primitive = Poly({mono: coef // content for mono, coef in p.terms.items()})
    clipped = scale(atom(relu_of(primitive)), abs(content), p.den)
    return clipped if content > 0 else clipped + p


def _display_grade(mono: Monomial) -> tuple[int, tuple[object, ...]]:
    return (-len(mono), tuple(g.key for g in mono))


def _flattened(p: Poly, facts: tuple[Cond, ...]) -> Poly | None:
    """Drop an inner clip that the outer one makes needless: the same after clipping, or ``None``."""
    from tolcost.algebra.prove import is_nonnegative

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
    """Give the larger of two."""
    return as_poly(q) + relu(as_poly(p) - q, facts)


def minimum(p: Poly | int, q: Poly | int, facts: tuple[Cond, ...] = ()) -> Poly:
    """Give the smaller of two."""
    return as_poly(p) - relu(as_poly(p) - q, facts)


def sign(p: Poly | int, facts: tuple[Cond, ...] = ()) -> int | None:
    """Give 1, 0 or -1 where it is the same for all admissible values and proved, else ``None``."""
    from tolcost.algebra.prove import is_nonnegative

    value = as_poly(p)
    if is_nonnegative(value - 1, facts):
        return 1
    if is_nonnegative(-value - 1, facts):
        return -1
    return 0 if is_nonnegative(value, facts) and is_nonnegative(-value, facts) else None
