"""What a number that a loop carries is after any number of steps: a closed form in ``STEPS``.

A step may leave it as it is, add something to it, multiply it, or divide it and round it down. A form that is
found from one or two steps is a guess. Whoever makes it elaborates a step at any coordinate, which must make
the form after k + 1 steps of the form after k.

Folds that run over data ask for guesses (``induction``, ``accumulators``). A fold over what is known, whose
step is a formula in the number, takes all its steps at once (``after_all``, in ``reduce``).
"""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import (
    ZERO,
    Cond,
    Poly,
    Sum,
    Symbol,
    atom,
    const,
    coordinate,
    data_symbol,
    exact_div,
    floordiv,
    generators_in,
    powers,
    product_of,
    scale,
    step_of,
    substitute,
    sum_over,
    the_symbol,
    total,
)
from tolcost.elaborate.values import Items, Value, Vec, cast_of, plain, recast

STEPS = data_symbol("steps")
"""The number of completed steps of a fold, as it occurs in closed forms."""
_STEPS = the_symbol(STEPS)
_MOST_DIVISOR = 16
"""The largest number by which an entry is tried to be divided at each step."""


def changes(form: Poly) -> bool:
    """Whether a number is another one after some steps."""
    return _STEPS in form.free


def form_after(form: Poly, steps: Poly) -> Poly:
    """Return the number after some steps."""
    return substitute(form, {_STEPS: steps}) if changes(form) else form


def value_after(value: Value, steps: Poly) -> Value:
    """Return a value after some steps; the same object if it stays."""
    inner = plain(value)
    items = inner.items if isinstance(inner, Vec) else (inner,)
    if not any(isinstance(item, Poly) and changes(item) for item in items):
        return value
    moved = tuple([form_after(item, steps) if isinstance(item, Poly) else item for item in items])
    return recast(Vec(inner.shape, moved) if isinstance(inner, Vec) else moved[0], cast_of(value))


def geometric(first: Poly, factor: int, more: Poly, steps: Poly = STEPS) -> Poly:
    """Return a number after steps that make ``factor*d + more`` of every number d."""
    return first + scale((first * (factor - 1) + more) * (powers(factor, steps) - 1), 1, factor - 1)


# ---- guesses from the first step ---------------------------------------------------------------


def guesses(before: Items, after: Items, may_multiply: bool) -> list[Items]:
    """Guess what some entries are after any number of steps, from what they are before and after the first.

    Those that do not stay all grow by an amount, are multiplied, or are divided and rounded down.
    """
    ways = (_added, *((_multiplied,) if may_multiply else ()), _divided)
    pairs = list(zip(before, after, strict=True))
    found = [tuple([a if a == b else way(a, b) for a, b in pairs]) for way in ways]
    return [forms for forms in dict.fromkeys(found) if None not in forms]


def _added(before: Value, after: Value) -> Poly | None:
    if not isinstance(before, Poly) or not isinstance(after, Poly):
        return None
    return before + (after - before) * STEPS


def _multiplied(before: Value, after: Value) -> Poly | None:
    if not isinstance(before, Poly) or not isinstance(after, Poly) or not before.terms:
        return None
    ratio = exact_div(after, before)
    factor = None if ratio is None else ratio.constant
    return geometric(before, factor, ZERO) if factor is not None and factor > 1 else None


def _divided(before: Value, after: Value) -> Poly | None:
    if not isinstance(before, Poly) or not isinstance(after, Poly):
        return None
    divisors = (k for k in range(2, _MOST_DIVISOR + 1) if floordiv(before, k) == after)
    return next((floordiv(before, powers(k, STEPS)) for k in divisors), None)


# ---- guesses from a step at any coordinate -----------------------------------------------------


def multiplied_by_step(form: Poly, before: Poly, now: Poly, place: Symbol) -> Poly | None:
    """Guess a form from a step that makes ``factor*d + more`` of every number d.

    That it is so shows once the number is assumed to grow by a fixed amount, and to be ``d + k*s`` before a
    step: one that doubles it makes ``2*d + 2*k*s`` of that.
    """
    if not changes(form):
        return None
    rise, change = step_of(before, place), step_of(now, place)
    ratio = exact_div(change, rise) if rise.terms else None
    factor = None if ratio is None else ratio.constant
    if factor is None or factor < 2:
        return None
    more = now - before * factor
    return None if place in more.free else geometric(form_after(form, const(0)), factor, more)


def told_by_step(first: Poly, now: Poly, place: Symbol) -> Poly | None:
    """Guess a form from what a number is after the step at a coordinate.

    The step at coordinate s is the s-th: from ``2^(p - s)`` after it follows ``2^p`` at the start.
    """
    form = substitute(now, {place: STEPS})
    try:
        return form if form_after(form, const(0)) == first else None
    except ZeroDivisionError:  # n / s has no value before the first step
        return None


def added_by_step(first: Poly, added: Poly, place: Symbol, steps: Poly) -> Poly | None:
    """Guess a form from what the step at a coordinate adds; there are ``steps`` of them."""
    done = data_symbol("done", 0, steps)
    turn = coordinate("turn", done)
    summed = sum_over(substitute(added, {place: turn}), the_symbol(turn), const(1), done)
    if any(isinstance(generator, Sum) for generator in generators_in(summed)):
        return None
    return first + substitute(summed, {the_symbol(done): STEPS})


# ---- the form of a step that is known for every number -----------------------------------------


def after_all(
    first: Poly,
    number: Symbol,
    then: Poly,
    over: Sequence[tuple[Symbol, Poly, Poly]],
    facts: Sequence[Cond],
    may_multiply: bool,
) -> Poly | None:
    """Return a number after the steps over some ranges, each of which makes ``then`` of ``number``."""
    added, factor = then - atom(number), step_of(then, number).constant
    if number not in added.free:
        return first + total(added, over, facts=facts)
    if factor is None or factor < 1 or not may_multiply:
        return None
    more = then - atom(number) * factor
    if not more.free.isdisjoint([number, *[symbol for symbol, _, _ in over]]):
        return None
    steps = product_of([last for _, _, last in over])
    return geometric(first, factor, more, steps)
