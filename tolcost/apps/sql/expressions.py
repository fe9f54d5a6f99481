"""Expressions of SQL as expressions of ToLang, each with its type.

NaN equals itself and exceeds every other number; expressions that may be NaN need a longer comparison.  What
may be NULL has a second expression for where it is known, and conditions have three values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.dates import (
    PART_OF,
    date_arithmetic,
    date_literal,
    interval_of,
    part_of_date,
    shifted,
)
from tolcost.apps.sql.frames import as_value
from tolcost.apps.sql.numbers import ARITHMETIC, REAL, ROUNDED, arithmetic, cast_number, function, literal
from tolcost.apps.sql.query import AGGREGATES, DIALECT, refused, unnested
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.texts import cast_text, compared_to_text, is_text, like, text_function, text_literal
from tolcost.apps.sql.values import (
    TRUTH,
    TURNED,
    SqlType,
    SqlValue,
    common_type,
    comparison,
    conjunction,
    disjunction,
    in_type,
    negated,
    negation,
    null,
    same,
    truth,
)
from tolcost.diagnostics import quoted

SIGNS: Mapping[type[exp.Expression], str] = {
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_COMPUTED: Mapping[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_HINT = (
    "arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, CASE, COALESCE, NULLIF, EXTRACT, "
    "abs, sqrt, exp, ln, floor, ceil, sum, count, min, max and avg are translated"
)


def written(node: exp.Expression, scope: SqlScope) -> SqlValue:
    """Write an expression in ToLang."""
    kind = type(node)
    if scope.keyed is not None and scope.keyed.has(node):
        return written(node, replace(scope, keyed=None))
    if is_aggregate(node):
        if scope.aggregate is None:
            raise refused(scope.source, node, "an aggregate cannot stand here", "HAVING is for those")
        return scope.aggregate(node)(scope.at)
    if isinstance(node, exp.Window):
        if scope.window is None:
            hint = "a query around this one may use its value"
            raise refused(scope.source, node, "a window function cannot stand here", hint)
        return scope.window(node)(scope.at)
    if kind in SIGNS:
        if isinstance(unnested(node.expression), (exp.Any, exp.All)):
            return scope.context.subquery(node, scope)
        return _comparison(node, node.this, node.expression, SIGNS[kind], scope)
    if isinstance(node, (exp.And, exp.Or)):
        left, right = (truth_written(side, scope) for side in (node.this, node.expression))
        return (conjunction if isinstance(node, exp.And) else disjunction)(left, right)
    if kind in ARITHMETIC or kind in (exp.Mod, exp.Div):
        return _arithmetic(node, scope)
    if kind in ROUNDED or kind in REAL or kind in (exp.Abs, exp.Neg):
        return function(node, number_written(node.this, scope))
    if isinstance(node, (exp.Exists, exp.Subquery)) or (isinstance(node, exp.In) and node.args.get("query")):
        return scope.context.subquery(node, scope)
    return _other(node, scope)


def is_aggregate(node: exp.Expression) -> bool:
    """Whether an expression is an aggregate, perhaps with a FILTER."""
    return isinstance(node.this if isinstance(node, exp.Filter) else node, AGGREGATES)


def _other(node: exp.Expression, scope: SqlScope) -> SqlValue:
    match node:
        case exp.Column():
            return scope.column(node)
        case exp.Literal(is_string=False):
            return literal(node, scope.source)
        case exp.Literal():
            return text_literal(str(node.this))
        case exp.Boolean():
            return SqlValue("true" if node.this else "false", TRUTH, static=True)
        case exp.Null():
            return null()
        case exp.Paren():
            return written(node.this, scope)
        case exp.Not():
            return negation(truth_written(node.this, scope))
        case _:
            return _tested(node, scope)


def _tested(node: exp.Expression, scope: SqlScope) -> SqlValue:
    match node:
        case exp.Between():
            low = _comparison(node, node.this, node.args["low"], ">=", scope)
            high = _comparison(node, node.this, node.args["high"], "<=", scope)
            return conjunction(low, high)
        case exp.In() if node.expressions:
            return _one_of([_comparison(node, node.this, one, "==", scope) for one in node.expressions])
        case exp.Case():
            return _case(node, scope)
        case exp.Is():
            return _is(node, scope)
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            found = _same(node, scope)
            return found if isinstance(node, exp.NullSafeEQ) else negation(found)
        case exp.Coalesce():
            return _coalesce(node, [node.this, *node.expressions], scope)
        case exp.Nullif():
            return _nullif(node, scope)
        case exp.Greatest() | exp.Least():
            return _extreme(node, scope)
        case _:
            return _converted(node, scope)


def _converted(node: exp.Expression, scope: SqlScope) -> SqlValue:
    match node:
        case exp.Cast() if type(node) is exp.Cast:
            return _cast(node, scope)
        case exp.Extract():
            return part_of_date(node, node.this.name, written(node.expression, scope), scope)
        case exp.Year() | exp.Month() | exp.Day() | exp.Quarter():
            return part_of_date(node, PART_OF[type(node)], written(node.this, scope), scope)
        case exp.TsOrDsToDate():
            return written(node.this, scope)
        case exp.Like() | exp.ILike():
            return like(node, None, scope, written)
        case exp.Escape() if isinstance(node.this, (exp.Like, exp.ILike)):
            return like(node.this, str(node.expression.this), scope, written)
        case _:
            found = text_function(node, scope, written)
            if found is not None:
                return found
            what = quoted(node.sql(dialect=DIALECT))
            raise refused(scope.source, node, f"{what} is outside of what is translated", _HINT)


def number_written(node: exp.Expression, scope: SqlScope, or_truth: bool = False) -> SqlValue:
    """Write an operand of arithmetic: not text, and no truth value unless ``or_truth``."""
    return _number(node, written(node, scope), scope, or_truth)


def _number(node: exp.Expression, value: SqlValue, scope: SqlScope, or_truth: bool = False) -> SqlValue:
    if value.type.kind == "text":
        raise refused(scope.source, node, "text cannot be calculated with")
    if value.type.kind == "date":
        raise refused(scope.source, node, "a date cannot be calculated with like this")
    if value.type.kind == "truth" and not or_truth:
        hint = "CASE WHEN ... THEN 1 ELSE 0 END is a number"
        raise refused(scope.source, node, "a truth value cannot be calculated with", hint)
    return value


def truth_written(node: exp.Expression, scope: SqlScope) -> SqlValue:
    """Write an operand of logic, or a filter: no number, whose bits would be combined, and no text."""
    value = written(node, scope)
    if value.type.kind == "null":
        return truth("false", "false", static=True)
    if value.type.kind != "truth":
        hint = "compare it: a number with `<> 0`"
        raise refused(scope.source, node, "a condition is needed here", hint)
    return value


def _arithmetic(node: exp.Expression, scope: SqlScope) -> SqlValue:
    interval = interval_of(node)
    if interval is not None:
        value = written(node.this, scope)
        if value.type.kind != "date":
            raise refused(scope.source, node, "only a date takes an interval")
        return shifted(node, value, interval, -1 if isinstance(node, exp.Sub) else 1, scope)
    left, right = written(node.this, scope), written(node.expression, scope)
    if "date" in (left.type.kind, right.type.kind):
        return date_arithmetic(node, left, right, scope)
    left, right = _number(node.this, left, scope), _number(node.expression, right, scope)
    return arithmetic(node, left, right, scope)


# === Conditions.


def _comparison(
    node: exp.Expression, one: exp.Expression, other: exp.Expression, sign: str, scope: SqlScope
) -> SqlValue:
    """Compare numbers, truth values, dates or texts."""
    left, right = unnested(one), unnested(other)
    if is_text(left) and is_text(right):
        holds = _COMPUTED[sign](str(left.this), str(right.this))
        return SqlValue("true" if holds else "false", TRUTH, static=True)
    if is_text(left):
        return _comparison(node, right, left, TURNED.get(sign, sign), scope)
    value = written(left, scope)
    if is_text(right) and value.type.kind == "text":
        return compared_to_text(value, sign, str(right.this))
    if is_text(right) and value.type.kind == "date":
        return comparison(value, sign, date_literal(right, str(right.this), scope))
    if is_text(right) and value.type.kind != "null":
        message = f"{quoted(str(right.this))} is no text of that column"
        raise refused(scope.source, right, message, "only columns of text are compared with texts")
    return compare_values(node, value, sign, written(right, scope), scope)


def compare_values(
    node: exp.Expression, left: SqlValue, sign: str, right: SqlValue, scope: SqlScope
) -> SqlValue:
    """Compare two values, if they can be."""
    joined = common_type((left.type, right.type))
    if joined is None:
        hint = "a text is compared with texts, a date with dates, a number with numbers"
        raise refused(scope.source, node, "these cannot be compared", hint)
    if "null" in (left.type.kind, right.type.kind):
        return truth("false", "false", static=True)
    return comparison(_in(left, joined, scope), sign, _in(right, joined, scope))


def _in(value: SqlValue, wanted: SqlType, scope: SqlScope) -> SqlValue:
    """Return a text as one of those that two columns have together; others are compared as they are."""
    if wanted.kind != "text":
        return value
    return replace(value, text=in_type(value, wanted, scope.context.writer.table), type=wanted)


def _one_of(tests: Sequence[SqlValue]) -> SqlValue:
    found = tests[0]
    if all(test.known is None for test in tests):
        texts = " or ".join(test.text for test in tests)
        return SqlValue(f"({texts})", TRUTH, static=all(test.static for test in tests))
    for test in tests[1:]:
        found = disjunction(found, test)
    return found


def _is(node: exp.Is, scope: SqlScope) -> SqlValue:
    """Write IS NULL, IS TRUE or IS FALSE."""
    if isinstance(node.expression, exp.Null):
        value = written(node.this, scope)
        test = "false" if value.known is None else negated(value.known)
        return SqlValue(test, TRUTH, static=value.static or value.known is None)
    if isinstance(node.expression, exp.Boolean):
        value = truth_written(node.this, scope)
        return SqlValue(value.text if node.expression.this else value.fails, TRUTH, static=value.static)
    raise refused(scope.source, node, "IS takes NULL, TRUE or FALSE")


def _same(node: exp.Expression, scope: SqlScope) -> SqlValue:
    """Write IS NOT DISTINCT FROM, by which NULL is the same as NULL."""
    left, right = written(node.this, scope), written(node.expression, scope)
    for side, other in ((left, right), (right, left)):
        if side.type.kind == "null":
            test = "false" if other.known is None else negated(other.known)
            return SqlValue(test, TRUTH, static=other.static or other.known is None)
    joined = common_type((left.type, right.type))
    if joined is None:
        raise refused(scope.source, node, "these cannot be compared")
    test = same(_in(left, joined, scope), _in(right, joined, scope))
    return SqlValue(f"({test})", TRUTH, static=left.static and right.static)


# === Choices.


def _alike(
    node: exp.Expression, nodes: Sequence[exp.Expression], scope: SqlScope
) -> tuple[list[SqlValue], SqlType]:
    """Write expressions of which one is chosen, in their common type."""
    values = [written(one, scope) for one in nodes]
    joined = common_type(value.type for value in values)
    if joined is None:
        kinds = {value.type.kind for value in values} - {"null"}
        for one, value in zip(nodes, values, strict=True):
            if value.type.kind in ("text", "truth", "date"):
                number_written(one, scope)
        raise refused(scope.source, node, f"these are of different types: {', '.join(sorted(kinds))}")
    texts = [in_type(value, joined, scope.context.writer.table) for value in values]
    pairs = zip(values, texts, strict=True)
    return [as_value(text, joined, value.known, value.static) for value, text in pairs], joined


def _case(node: exp.Case, scope: SqlScope) -> SqlValue:
    """Write a CASE: the first branch whose condition holds; without ELSE, it may be NULL."""
    branches = node.args["ifs"]
    if node.this is None:
        tests = [truth_written(branch.this, scope) for branch in branches]
    else:
        tests = [_comparison(branch, node.this, branch.this, "==", scope) for branch in branches]
    last = node.args.get("default") or exp.Null()
    values, joined = _alike(node, [*(branch.args["true"] for branch in branches), last], scope)
    return chosen([test.text for test in tests], values, joined, all(test.static for test in tests))


def chosen(
    tests: Sequence[str], values: Sequence[SqlValue], joined: SqlType, static: bool = False
) -> SqlValue:
    """Write a choice: the first value whose test holds, or else the last one."""
    *firsts, last = values
    static = static and all(value.static for value in values)
    text, known = last.text, last.known or "true"
    may_be_null = any(value.known is not None for value in values)
    for test, value in reversed(list(zip(tests, firsts, strict=True))):
        text = f"where({test}, {value.text}, {text})" if value.text != text else text
        one = value.known or "true"
        known = known if one == known else _choice(test, one, known)
    return as_value(text, joined, known if may_be_null else None, static)


def _choice(test: str, one: str, other: str) -> str:
    """Write the choice between two conditions."""
    match one, other:
        case "true", _:
            return f"({test} or {other})" if other != "false" else test
        case "false", _:
            return f"({negated(test)} and {other})" if other != "true" else negated(test)
        case _, "false":
            return f"({test} and {one})"
        case _:
            return f"where({test}, {one}, {other})"


def _coalesce(node: exp.Expression, nodes: Sequence[exp.Expression], scope: SqlScope) -> SqlValue:
    """Write the first value that is not NULL."""
    values, joined = _alike(node, nodes, scope)
    until = next((n for n, value in enumerate(values) if value.known is None), len(values) - 1)
    values = values[: until + 1]
    return chosen([value.known or "true" for value in values[:-1]], values, joined)


def _nullif(node: exp.Nullif, scope: SqlScope) -> SqlValue:
    """Write a value that is NULL where it equals another."""
    value = written(node.this, scope)
    equal = _comparison(node, node.this, node.expression, "==", scope).text
    known = negated(equal) if value.known is None else f"({value.known} and {negated(equal)})"
    return as_value(value.text, value.type, known)


def _extreme(node: exp.Expression, scope: SqlScope) -> SqlValue:
    """Write the greatest or least of some values that are not NULL."""
    values, joined = _alike(node, [node.this, *node.expressions], scope)
    if any(value.known is not None for value in values) or joined.may_be_nan or joined.kind == "truth":
        raise refused(scope.source, node, "GREATEST and LEAST take values that cannot be NULL or NaN")
    name = "max" if isinstance(node, exp.Greatest) else "min"
    found = values[0]
    for value in values[1:]:
        found = SqlValue(f"{name}({found.text}, {value.text})", joined, static=found.static and value.static)
    return found


def _cast(node: exp.Cast, scope: SqlScope) -> SqlValue:
    """Convert a value, where nothing of it can be lost."""
    wanted = node.args["to"]
    inner = unnested(node.this)
    if is_text(inner) and wanted.this == exp.DType.DATE:
        return date_literal(inner, str(inner.this), scope)
    value = written(node.this, scope)
    kind = value.type.kind
    if kind == "null":
        return value
    if (kind, wanted.this) in (
        ("date", exp.DType.DATE),
        ("text", exp.DType.VARCHAR),
        ("truth", exp.DType.BOOLEAN),
    ):
        return value
    if kind == "text" and wanted.this in (exp.DType.INT, exp.DType.BIGINT):
        return cast_text(value, node, scope)
    found = cast_number(value, wanted) if kind in ("exact", "real") else None
    if found is None:
        what = f"{kind} as {wanted.sql(dialect=DIALECT)}"
        raise refused(scope.source, node, f"this conversion is outside of what is translated: {what}")
    return found
