"""Functions of texts: looked up in a static vector, as the texts that may stand in a column are known."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.query import refused, unnested
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.values import WHOLE, SqlType, SqlValue, every, known_truth, looked_up, negation
from tolcost.diagnostics import quoted

WrittenBy = Callable[[exp.Expression, SqlScope], SqlValue]
_MOST_PAIRS = 10_000
"""Limit on the texts that two columns of text make together."""
_HINT = "texts are compared, and LIKE, SUBSTRING, UPPER, LOWER, TRIM, LENGTH and || are translated"


def text_literal(text: str) -> SqlValue:
    """Write a text: the only one that may stand there."""
    return SqlValue("1", SqlType("text", texts=(text,)), static=True)


def is_text(node: exp.Expression) -> bool:
    """Whether an expression is a text between quotes."""
    return isinstance(node, exp.Literal) and bool(node.is_string)


def mapped(value: SqlValue, change: Callable[[str], str], scope: SqlScope) -> SqlValue:
    """Change every text that may stand there."""
    made = [change(text) for text in value.type.texts]
    texts = tuple(sorted(set(made)))
    entries = [bisect_left(texts, text) + 1 for text in made]
    found = looked_up(value, entries, scope.context.writer.table)
    return replace(value, text=found, type=SqlType("text", texts=texts))


def measured(value: SqlValue, measure: Callable[[str], int], scope: SqlScope) -> SqlValue:
    """Look up a whole number for every text."""
    entries = [measure(text) for text in value.type.texts]
    return replace(value, text=looked_up(value, entries, scope.context.writer.table), type=WHOLE)


def text_written(node: exp.Expression, scope: SqlScope, written: WrittenBy) -> SqlValue:
    """Write an expression that has to be a text."""
    value = written(node, scope)
    if value.type.kind != "text":
        raise refused(scope.source, node, "a text is needed here")
    return value


def like(node: exp.Expression, escape: str | None, scope: SqlScope, written: WrittenBy) -> SqlValue:
    """Write whether a text is like a pattern, in which % is any text and _ any letter."""
    pattern = unnested(node.expression)
    if not is_text(pattern):
        raise refused(scope.source, node.expression, "LIKE takes a pattern between quotes")
    value = text_written(node.this, scope, written)
    flags = re.DOTALL | (re.IGNORECASE if isinstance(node, exp.ILike) else 0)
    matcher = re.compile(_pattern(str(pattern.this), escape), flags)
    entries = [matcher.fullmatch(text) is not None for text in value.type.texts]
    test = looked_up(value, entries, scope.context.writer.table)
    found = known_truth(test, value.known, static=value.static)
    return negation(found) if node.args.get("negate") else found


def _pattern(text: str, escape: str | None) -> str:
    found, rest = "", iter(text)
    for letter in rest:
        if letter == escape:
            found += re.escape(next(rest, ""))
        else:
            found += {"%": ".*", "_": "."}.get(letter, re.escape(letter))
    return found


def text_function(node: exp.Expression, scope: SqlScope, written: WrittenBy) -> SqlValue | None:
    """Write a function of a text, if the expression is one."""
    match node:
        case exp.Substring() | exp.Left() | exp.Right():
            start, length = _cut(node, scope)
            return mapped(
                text_written(node.this, scope, written), lambda text: _part(text, start, length), scope
            )
        case exp.Upper() | exp.Lower():
            change = str.upper if isinstance(node, exp.Upper) else str.lower
            return mapped(text_written(node.this, scope, written), change, scope)
        case exp.Trim() if not any(node.args.get(part) for part in ("expression", "position", "collation")):
            return mapped(text_written(node.this, scope, written), lambda text: text.strip(" "), scope)
        case exp.Length():
            return measured(text_written(node.this, scope, written), len, scope)
        case exp.DPipe():
            one, other = (text_written(side, scope, written) for side in (node.this, node.expression))
            return _joined(node, one, other, scope)
        case _:
            return None


def _cut(node: exp.Expression, scope: SqlScope) -> tuple[int, int | None]:
    """Return where a part of a text begins, and how long it is."""
    if isinstance(node, (exp.Left, exp.Right)):
        count = _number(node.expression, scope)
        return (1, count) if isinstance(node, exp.Left) else (-count, None) if count else (1, 0)
    length = node.args.get("length")
    start = node.args.get("start")
    return 1 if start is None else _number(start, scope), None if length is None else _number(length, scope)


def _number(node: exp.Expression, scope: SqlScope) -> int:
    if not isinstance(node, exp.Literal) or not str(node.this).isdigit():
        raise refused(scope.source, node, "a whole number is needed here")
    return int(node.this)


def _part(text: str, start: int, length: int | None) -> str:
    begin = len(text) + start if start < 0 else start - 1
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _joined(node: exp.Expression, one: SqlValue, other: SqlValue, scope: SqlScope) -> SqlValue:
    """Join two texts: every pair of texts that may stand there has a place."""
    firsts, seconds = one.type.texts, other.type.texts
    if len(firsts) * len(seconds) > _MOST_PAIRS:
        raise refused(scope.source, node, f"these may be more than {_MOST_PAIRS:,} texts")
    made = [first + second for first in firsts for second in seconds]
    if len(firsts) == len(seconds) == 1:
        return text_literal(made[0])
    place = one.text if len(seconds) == 1 else f"({one.text} - 1) * {len(seconds)} + {other.text}"
    pair = SqlValue(other.text if len(firsts) == 1 else place, SqlType("text", texts=tuple(made)))
    found = mapped(pair, lambda text: text, scope)
    return replace(found, known=every((one.known, other.known)), static=one.static and other.static)


def compared_to_text(value: SqlValue, sign: str, text: str) -> SqlValue:
    """Compare a text to one that is given, which may be none of those that may stand there."""
    texts = value.type.texts
    place = bisect_left(texts, text)
    number = place + 1
    if text not in texts:
        if sign in ("==", "!="):
            number = 0
        else:
            number, sign = place, "<=" if sign in ("<", "<=") else ">"
    return known_truth(f"({value.text} {sign} {number})", value.known, static=value.static)


def cast_text(value: SqlValue, node: exp.Expression, scope: SqlScope) -> SqlValue:
    """Convert texts that are whole numbers."""
    try:
        numbers = [int(text) for text in value.type.texts]
    except ValueError:
        wrong = next(text for text in value.type.texts if not text.strip().lstrip("+-").isdigit())
        raise refused(scope.source, node, f"{quoted(wrong)} may stand here, and is no whole number") from None
    table = dict(zip(value.type.texts, numbers, strict=True))
    return measured(value, table.__getitem__, scope)
