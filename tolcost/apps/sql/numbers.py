"""Numbers of SQL: literals, arithmetic, functions and casts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.query import refused
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.values import MOST_DIGITS, WHOLE, SqlType, SqlValue, every
from tolcost.diagnostics import Source

ARITHMETIC: Mapping[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
ROUNDED: Mapping[type[exp.Expression], str] = {exp.Floor: "floor", exp.Ceil: "ceil"}
REAL: Mapping[type[exp.Expression], str] = {exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln"}
_EXACT = re.compile(r"(\d*)\.?(\d*)")


def literal(node: exp.Literal, source: Source) -> SqlValue:
    """Write a number; one with a point and without an exponent is a decimal."""
    text = str(node.this)
    place = (node.meta or {}).get("end")
    if place is not None and re.match(r"\w", source.text[place + 1 : place + 2]):
        raise refused(source, node, "a number ends where a name begins", "a space belongs between them")
    exact = _EXACT.fullmatch(text)
    if exact is None:
        return SqlValue(text, SqlType("real"), static=True)
    digits, behind = exact.groups()
    if len(digits + behind) > MOST_DIGITS:
        raise refused(source, node, f"a number has at most {MOST_DIGITS} digits")
    number = int(digits + behind)
    said = f"{int(digits or '0')}.{behind}" if behind else str(number)
    return SqlValue(str(number), SqlType("exact", len(behind)), said, static=True)


def _is_zero(value: SqlValue) -> bool | None:
    """Whether a number is 0; None if it is not a literal."""
    return None if value.literal is None else float(value.literal) == 0


def arithmetic(node: exp.Expression, left: SqlValue, right: SqlValue, scope: SqlScope) -> SqlValue:
    """Write a sum, difference, product, quotient or remainder; NULL if an operand is."""
    if "null" in (left.type.kind, right.type.kind):
        other = right.type if left.type.kind == "null" else left.type
        return SqlValue("0", WHOLE if other.kind == "null" else other, known="false", static=True)
    known, static = every((left.known, right.known)), left.static and right.static
    if isinstance(node, exp.Mod) and right.known is not None:
        right = replace(right, text=f"where({right.known}, {right.text}, 1)")
    found = _computed(node, left, right, scope)
    return replace(found, known=known, static=static)


def _computed(node: exp.Expression, left: SqlValue, right: SqlValue, scope: SqlScope) -> SqlValue:
    one, other = left.type, right.type
    if isinstance(node, exp.Div) or "real" in (one.kind, other.kind):
        return SqlValue(_text(node, left.real, right.real), _real_type(node, left, right))
    if isinstance(node, exp.Mul):
        scale = one.scale + other.scale
        if scale > MOST_DIGITS:
            message = f"a decimal has at most {MOST_DIGITS} digits behind the point"
            raise refused(scope.source, node, message)
        return SqlValue(f"({left.text} * {right.text})", SqlType("exact", scale))
    scale = max(one.scale, other.scale)
    return SqlValue(_text(node, left.at_scale(scale), right.at_scale(scale)), SqlType("exact", scale))


def _text(node: exp.Expression, left: str, right: str) -> str:
    match node:
        case exp.Div():
            return f"div({left}, {right})"
        case exp.Mod():
            return f"fmod({left}, {right})"
        case _:
            return f"({left} {ARITHMETIC[type(node)]} {right})"


def _real_type(node: exp.Expression, left: SqlValue, right: SqlValue) -> SqlType:
    """Return the type of a real result: infinities and zeros may give NaN.

    Sums and products of finite numbers are assumed to be finite, as R has no largest number.
    """
    one, other = left.type, right.type
    nan, infinite = one.may_be_nan or other.may_be_nan, one.may_be_infinite or other.may_be_infinite
    match node:
        case exp.Div():
            bounded = _is_zero(right) is False or (_is_zero(left) is False and not one.may_be_infinite)
            infinite = one.may_be_infinite or _is_zero(right) is not False
            return SqlType("real", may_be_nan=nan or not bounded, may_be_infinite=infinite)
        case exp.Mod():
            nan = nan or one.may_be_infinite or _is_zero(right) is not False
            return SqlType("real", may_be_nan=nan)
        case exp.Mul():
            nan = nan or infinite
        case _:
            nan = nan or (one.may_be_infinite and other.may_be_infinite)
    return SqlType("real", may_be_nan=nan, may_be_infinite=infinite)


def function(node: exp.Expression, value: SqlValue) -> SqlValue:
    """Apply a function of one number."""
    if value.type.kind == "null":
        return replace(value, type=WHOLE)
    return replace(_applied(node, value), known=value.known, static=value.static)


def _applied(node: exp.Expression, value: SqlValue) -> SqlValue:
    kind, type_ = type(node), value.type
    if isinstance(node, exp.Neg):
        return SqlValue(f"(-{value.text})", type_, _negated(value.literal))
    if isinstance(node, exp.Abs):
        return SqlValue(f"abs({value.text})", type_)
    if kind in ROUNDED:
        text = f"{ROUNDED[kind]}({value.real})"
        if type_.scale:
            return SqlValue(f"convert({text}, Z)", WHOLE)
        return SqlValue(text, replace(type_, kind="real"))
    nan = type_.may_be_nan or not isinstance(node, exp.Exp)
    infinite = type_.may_be_infinite or not isinstance(node, exp.Sqrt)
    return SqlValue(f"{REAL[kind]}({value.real})", SqlType("real", may_be_nan=nan, may_be_infinite=infinite))


def _negated(said: str | None) -> str | None:
    if said is None:
        return None
    return said[1:] if said.startswith("-") else f"-{said}"


def cast_number(value: SqlValue, wanted: exp.DataType) -> SqlValue | None:
    """Convert a number to another type, if nothing of it is lost; None if that is not sure."""
    match wanted.this:
        case exp.DType.DOUBLE:
            return replace(
                value, text=value.real, type=replace(value.type, kind="real", scale=0), literal=None
            )
        case exp.DType.BIGINT | exp.DType.INT if value.type.kind == "exact" and not value.type.scale:
            return value
        case exp.DType.DECIMAL if value.type.kind == "exact":
            told = [int(part.this.this) for part in wanted.expressions]
            scale = told[1] if len(told) > 1 else 0 if told else 3
            if scale >= value.type.scale:
                return replace(value, text=value.at_scale(scale), type=SqlType("exact", scale), literal=None)
    return None
