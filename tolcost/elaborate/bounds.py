"""Values in their spaces: what is known while compiling is checked, what depends on lengths is a condition.

What only data decides is checked during a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tolcost.algebra import Poly, eq, ge, negate, to_text
from tolcost.diagnostics import Span, quoted
from tolcost.elaborate.context import Env, Lazy, fail
from tolcost.elaborate.evaluate import evaluate
from tolcost.elaborate.shapes import require
from tolcost.elaborate.values import Spaces, Value, Vec, plain
from tolcost.spaces import Bounds, bounded_text, bounds_of, narrowed
from tolcost.syntax import tree

CODE = "T0349"


def declared_spaces(env: Env, program: tree.Module) -> dict[str, Lazy | Value]:
    """Spaces and lists that a program declares, each standing for the spaces it is made of."""
    spaces: dict[str, Lazy | Value] = {}
    for statement in program.statements:
        match statement:
            case tree.SpaceDecl(name=name, space=space):
                found = _made_of(spaces, (space,))
                spaces[name] = Spaces(
                    found.names, tuple(_with_bounds(env, statement, b) for b in found.within)
                )
            case tree.ListDecl(name=name, spaces=names):
                spaces[name] = _made_of(spaces, names)
            case _:
                pass
    return spaces


def _made_of(known: Mapping[str, Lazy | Value], names: tuple[str, ...]) -> Spaces:
    found = [known.get(name, Spaces((name,), (bounds_of(name),))) for name in names]
    lists = [one for one in found if isinstance(one, Spaces)]
    return Spaces(
        tuple(name for one in lists for name in one.names), tuple(b for one in lists for b in one.within)
    )


def _with_bounds(env: Env, statement: tree.SpaceDecl, base: Bounds) -> Bounds:
    if statement.low is None or statement.high is None:
        return base
    low, high = (_number(env, end) for end in (statement.low, statement.high))
    if low > high or low not in base or high not in base:
        message = f"{quoted(statement.name)} has no bounds in {statement.space}: {low} and {high}"
        fail(CODE, message, statement.span, hint=f"a lower and an upper one, {base}")
    return narrowed(base, Bounds(low, high))


def _number(env: Env, expr: tree.Expr) -> int | float | Fraction:
    match plain(evaluate(env, expr)):
        case Poly(constant=int(number)):
            return number
        case Fraction() | float() as number:
            return number
        case _:
            pass
    fail(CODE, "a bound of a space is a number", expr.span, hint="space pixel: N [0, 255]")


def check_within(env: Env, value: Value, space: str, bounds: Bounds, span: Span) -> None:
    """A static value lies in its space: told if not, and a condition of the result where lengths decide."""
    match plain(value):
        case Vec(items=items):
            for item in items:
                check_within(env, item, space, bounds, span)
        case Poly(constant=None) as form:
            _require(env, form, space, bounds, span)
        case Poly(constant=number) if number is not None and number not in bounds:
            _outside(number, space, bounds, span)
        case Fraction() | float() as number if number not in bounds:
            _outside(number, space, bounds, span)
        case _:
            pass


def _outside(number: int | float | Fraction, space: str, bounds: Bounds, span: Span) -> None:
    shown = number if not isinstance(number, Fraction) else float(number)
    text = f"{shown} is not in {bounded_text(space, bounds)}"
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
