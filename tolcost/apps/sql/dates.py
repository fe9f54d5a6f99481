"""Dates of SQL: literals, intervals, and the year, month or day of a date."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from datetime import date, timedelta

from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.query import refused, unnested
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.tables import day_number
from tolcost.apps.sql.values import DATE, WHOLE, SqlValue, every
from tolcost.diagnostics import quoted

_DAYS = {"DAY": 1, "WEEK": 7}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120}
_PARTS: Mapping[str, str] = {
    "YEAR": "year_of",
    "MONTH": "month_of",
    "DAY": "day_of",
    "QUARTER": "quarter_of",
}
PART_OF: Mapping[type[exp.Expression], str] = {
    exp.Year: "YEAR",
    exp.Month: "MONTH",
    exp.Day: "DAY",
    exp.Quarter: "QUARTER",
}
_EPOCH = date(1970, 1, 1)


def date_literal(node: exp.Expression, text: str, scope: SqlScope) -> SqlValue:
    """Write a date that is given as text."""
    try:
        return SqlValue(str(day_number(text)), DATE, static=True)
    except ValueError:
        message = f"{quoted(text)} is no date"
        raise refused(scope.source, node, message, "a date is written as '1995-03-15'") from None


def shifted(
    node: exp.Expression, value: SqlValue, interval: exp.Interval, sign: int, scope: SqlScope
) -> SqlValue:
    """Write a date that is an interval later, or earlier."""
    amount = interval.this
    factor = sign
    if isinstance(amount, exp.Neg):
        amount, factor = amount.this, -sign
    unit = str(interval.args.get("unit") or "").upper().removesuffix("S")
    number = str(amount.this) if isinstance(amount, exp.Literal) else ""
    if not number.lstrip("-").isdigit() or unit not in (*_DAYS, *_MONTHS):
        hint = "an interval is a whole number of days, weeks, months, quarters or years"
        raise refused(scope.source, node, "this interval is outside of what is translated", hint)
    count = factor * int(number)
    if unit in _DAYS:
        return later(value, SqlValue(str(abs(count * _DAYS[unit])), WHOLE, static=True), count < 0)
    months = count * _MONTHS[unit]
    if value.text.lstrip("-").isdigit():
        return replace(value, text=str(_months_later(int(value.text), months)))
    return replace(value, text=f"months_later({value.text}, {months})")


def later(value: SqlValue, days: SqlValue, is_minus: bool = False) -> SqlValue:
    """Write a date that is some days later, or earlier."""
    known = every((value.known, days.known))
    if value.text.lstrip("-").isdigit() and days.text.isdigit():
        text = str(int(value.text) + (-1 if is_minus else 1) * int(days.text))
        return SqlValue(text, DATE, known=known, static=True)
    text = f"({value.text} {'-' if is_minus else '+'} {days.text})"
    return SqlValue(text, DATE, known=known, static=value.static and days.static)


def _months_later(days: int, months: int) -> int:
    start = _EPOCH + timedelta(days=days)
    year, month = divmod(12 * start.year + start.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return (date(year, month + 1, min(start.day, last)) - _EPOCH).days


def part_of_date(node: exp.Expression, name: str, value: SqlValue, scope: SqlScope) -> SqlValue:
    """Write the year, month, day or quarter of a date."""
    if name.upper() not in _PARTS:
        hint = "YEAR, MONTH, DAY and QUARTER are translated"
        raise refused(scope.source, node, f"{quoted(name)} of a date is outside of what is translated", hint)
    if value.type.kind == "null":
        return replace(value, type=WHOLE)
    if value.type.kind != "date":
        raise refused(scope.source, node, "only a date has a year, month or day")
    return replace(value, text=f"{_PARTS[name.upper()]}({value.text})", type=WHOLE)


def date_arithmetic(node: exp.Expression, left: SqlValue, right: SqlValue, scope: SqlScope) -> SqlValue:
    """Write the days between two dates, or a date some days later or earlier."""
    kinds = (left.type.kind, right.type.kind)
    if isinstance(node, exp.Sub) and kinds == ("date", "date"):
        known = every((left.known, right.known))
        return SqlValue(
            f"({left.text} - {right.text})", WHOLE, known=known, static=left.static and right.static
        )
    if isinstance(node, exp.Add) and kinds[0] != "date":
        left, right = right, left
    if isinstance(node, (exp.Add, exp.Sub)) and left.type.kind == "date" and right.type == WHOLE:
        return later(left, right, isinstance(node, exp.Sub))
    hint = "a date takes whole numbers of days, an INTERVAL, or another date to be subtracted"
    raise refused(scope.source, node, "dates cannot be calculated with like this", hint)


def interval_of(node: exp.Expression) -> exp.Interval | None:
    """Return the interval that a sum or difference adds, if it does."""
    right = unnested(node.expression)
    return right if isinstance(right, exp.Interval) and isinstance(node, (exp.Add, exp.Sub)) else None
