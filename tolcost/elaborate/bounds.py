"""Static values in their spaces: what is known is checked, what depends on lengths is a condition.

What only data decides is checked during a run.
"""

from __future__ import annotations

from fractions import Fraction

from tolcost.algebra import Poly, eq, ge, negate, to_text
from tolcost.diagnostics import Span, quoted
from tolcost.elaborate.shapes import require
from tolcost.elaborate.values import Env, Value, Vec, fail, plain
from tolcost.spaces import ALL, Bounds, bounded_text

CODE = "T0349"


def check_within(
    env: Env, value: Value, space: str, bounds: Bounds, span: Span, name: str | None = None
) -> None:
    """A static value lies in its space: told if not, and a condition of the result where lengths decide.

    ``name`` is what it is given for.
    """
    if bounds is ALL:  # then nothing is asked of it
        return
    match plain(value):
        case Vec(items=items):
            for item in items:
                check_within(env, item, space, bounds, span, name)
        case Poly(constant=None) as form:
            _require(env, form, space, bounds, span)
        case Poly(constant=number) if number is not None and number not in bounds:
            _outside(number, space, bounds, span, name)
        case Fraction() | float() as number if number not in bounds:
            _outside(number, space, bounds, span, name)
        case _:
            pass


def _outside(
    number: int | float | Fraction, space: str, bounds: Bounds, span: Span, name: str | None
) -> None:
    shown = number if not isinstance(number, Fraction) else float(number)
    given = "" if name is None else f" given for {quoted(name)}, and is"
    text = f"{shown} is{given} not in {bounded_text(space, bounds)}"
    fail(CODE, text, span, hint=f"its values are {bounds}", definite=True)


def _require(env: Env, form: Poly, space: str, bounds: Bounds, span: Span) -> None:
    conditions = [
        *([ge(form - bounds.lo)] if isinstance(bounds.lo, int) else []),
        *([ge(bounds.hi - form)] if isinstance(bounds.hi, int) else []),
        *([] if bounds.zero else [negate(eq(form))]),
    ]
    for condition in conditions:
        where = bounded_text(space, bounds)
        message = f"{to_text(form)} is not in {where}, whose values are {bounds}"
        require(env, condition, f"the value lies in {where}", span, message, code=CODE)
