"""Expressions of SQL as expressions of ToLang, each with its type.

Numbers are those of SQL: a literal with a point is a decimal, which is exact, and stays a decimal through
sums, differences, products and remainders with whole numbers and other decimals.  In ToLang it is a whole
number, its value times a power of ten.  Quotients, roots, columns of R and literals with an exponent are
real.

NaN equals itself and exceeds every other number; expressions that may be NaN need a longer comparison. There
is no NULL: every column has a value in every row.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.query import AGGREGATES, SqlQuery, refused
from tolcost.apps.sql.tables import SqlColumn
from tolcost.diagnostics import Rejected, quoted
from tolcost.spaces import kind_of

_ARITHMETIC: Mapping[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_LOGIC: Mapping[type[exp.Expression], str] = {exp.And: "and", exp.Or: "or"}
_COMPARED: Mapping[type[exp.Expression], str] = {
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_ROUNDED: Mapping[type[exp.Expression], str] = {exp.Floor: "floor", exp.Ceil: "ceil"}
_REAL: Mapping[type[exp.Expression], str] = {exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXTS_COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_NULLS = (exp.Null, exp.Is, exp.Coalesce, exp.Nullif, exp.NullSafeEQ, exp.NullSafeNEQ)
_NO_NULL = "there is no NULL: every column has a value in every row, and a CASE needs an ELSE"
_HINT = (
    "arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, CASE, abs, sqrt, exp, ln, floor, ceil, "
    "sum, count, min, max and avg are translated"
)
_MOST_DIGITS = 38
"""Limit on the digits of a decimal, including those behind the point."""
_EXACT = re.compile(r"(\d*)\.?(\d*)")

ValueKind: TypeAlias = Literal["truth", "exact", "real", "text"]


class SqlType(Struct, frozen=True):
    """The type of an expression.

    ``exact`` numbers have ``scale`` digits behind the point; for text, ``texts`` has the texts that its
    numbers represent; ``may_be_nan`` and ``may_be_infinite`` apply to real numbers.
    """

    kind: ValueKind
    scale: int = 0
    texts: tuple[str, ...] = ()
    may_be_nan: bool = False
    may_be_infinite: bool = False


TRUTH = SqlType("truth")
WHOLE = SqlType("exact")


class SqlValue(Struct, frozen=True):
    """An expression in ToLang and its type; ``literal`` is its number, if it is a literal."""

    text: str
    type: SqlType
    literal: str | None = None

    @property
    def real(self) -> str:
        """The number itself, where a decimal is a number times a power of ten."""
        if self.type.scale == 0:
            return self.text
        if self.literal is None:
            return f"div({self.text}, {10**self.type.scale})"
        return f"({self.literal})" if self.literal.startswith("-") else self.literal

    def at_scale(self, scale: int) -> str:
        """Multiply an exact number by the power of ten for a scale."""
        more = scale - self.type.scale
        if not more:
            return self.text
        return str(int(self.text) * 10**more) if self.text.isdigit() else f"({self.text} * {10**more})"


class ExpressionScope(Struct, frozen=True, eq=False):
    """The context of an expression: how columns and aggregates are written.

    In a ``keyed`` scope, that of groups, columns may occur only in the grouping expressions.
    """

    query: SqlQuery
    column: Callable[[exp.Expression], str]
    aggregate: Callable[[exp.Expression], SqlValue] | None = None
    keyed: GroupKeys | None = None


class GroupKeys(Struct, frozen=True, eq=False):
    """The expressions that a query groups by, and the scope of single rows, in which they are compared."""

    plain: ExpressionScope
    keys: frozenset[SqlValue]
    known: dict[int, SqlValue | None] = field(default_factory=dict)

    def has(self, node: exp.Expression) -> bool:
        """Whether an expression is one of the keys."""
        if id(node) not in self.known:
            try:
                self.known[id(node)] = written(node, self.plain)
            except Rejected:  # it has no text by itself, or contains an aggregate
                self.known[id(node)] = None
        return self.known[id(node)] in self.keys


def column_type(column: SqlColumn) -> SqlType:
    """Return the type of a column: values of R may be non-finite only if the file has such values."""
    if column.texts:
        return SqlType("text", texts=column.texts)
    match kind_of(column.space):
        case "B":
            return TRUTH
        case "Z":
            return WHOLE
        case _:
            values = column.values or ()
            nan = any(math.isnan(value) for value in values)
            return SqlType("real", may_be_nan=nan, may_be_infinite=any(map(math.isinf, values)))


def written(node: exp.Expression, scope: ExpressionScope) -> SqlValue:
    """Write an expression in ToLang."""
    kind = type(node)
    if scope.keyed is not None and scope.keyed.has(node):
        return written(node, replace(scope, keyed=None))
    if isinstance(node, AGGREGATES):
        if scope.aggregate is None:
            raise refused(scope.query.source, node, "an aggregate cannot stand here", "HAVING is for those")
        return scope.aggregate(node)
    if kind in _COMPARED:
        return _comparison(node, node.this, node.expression, _COMPARED[kind], scope)
    if kind in _LOGIC:
        left, right = (condition_written(side, scope) for side in (node.this, node.expression))
        return SqlValue(f"({left} {_LOGIC[kind]} {right})", TRUTH)
    if kind in _ARITHMETIC or kind in (exp.Mod, exp.Div):
        left_value, right_value = (number_written(side, scope) for side in (node.this, node.expression))
        return _arithmetic(node, left_value, right_value, scope)
    if kind in _ROUNDED or kind in _REAL or kind in (exp.Abs, exp.Neg):
        return _function(node, number_written(node.this, scope))
    return _other(node, scope)


def _other(node: exp.Expression, scope: ExpressionScope) -> SqlValue:
    match node:
        case exp.Column():
            if scope.keyed is not None:
                hint = "aggregate it, or group by it"
                raise refused(scope.query.source, node, "this column is not grouped by", hint)
            return SqlValue(scope.column(node), column_type(scope.query.column(node)[1]))
        case exp.Literal(is_string=False):
            return _literal(node, scope)
        case exp.Boolean():
            return SqlValue("true" if node.this else "false", TRUTH)
        case exp.Paren():
            return written(node.this, scope)
        case exp.Not():
            return SqlValue(f"not({condition_written(node.this, scope)})", TRUTH)
        case exp.Between():
            low = _comparison(node, node.this, node.args["low"], ">=", scope)
            high = _comparison(node, node.this, node.args["high"], "<=", scope)
            return SqlValue(f"({low.text} and {high.text})", TRUTH)
        case exp.In() if node.expressions:
            each = (_comparison(node, node.this, one, "==", scope).text for one in node.expressions)
            return SqlValue(f"({' or '.join(each)})", TRUTH)
        case exp.Case() if node.this is None and node.args.get("default") is not None:
            return _case(node, scope)
        case _:
            what = quoted(node.sql(dialect="duckdb"))
            hint = _NO_NULL if _is_about_null(node) else _HINT
            raise refused(scope.query.source, node, f"{what} is outside of what is translated", hint)


def _is_about_null(node: exp.Expression) -> bool:
    """Whether an expression tests for NULL or may give it, as a CASE without ELSE does."""
    no_else = isinstance(node, exp.Case) and node.args.get("default") is None
    return no_else or isinstance(node, _NULLS)


def number_written(node: exp.Expression, scope: ExpressionScope, or_truth: bool = False) -> SqlValue:
    """Write an operand of arithmetic: not text, and no truth value unless ``or_truth``."""
    value = written(node, scope)
    if value.type.kind == "text":
        raise refused(scope.query.source, node, "text cannot be calculated with")
    if value.type.kind == "truth" and not or_truth:
        hint = "CASE WHEN ... THEN 1 ELSE 0 END is a number"
        raise refused(scope.query.source, node, "a truth value cannot be calculated with", hint)
    return value


def condition_written(node: exp.Expression, scope: ExpressionScope) -> str:
    """Write an operand of logic, or a filter: no number, whose bits would be combined, and no text."""
    value = written(node, scope)
    if value.type.kind != "truth":
        hint = "compare it: a number with `<> 0`"
        raise refused(scope.query.source, node, "a condition is needed here", hint)
    return value.text


# === Numbers.


def _literal(node: exp.Expression, scope: ExpressionScope) -> SqlValue:
    """Write a number; one with a point and without an exponent is a decimal."""
    text, source = str(node.this), scope.query.source
    place = (node.meta or {}).get("end")
    if place is not None and re.match(r"\w", source.text[place + 1 : place + 2]):
        raise refused(source, node, "a number ends where a name begins", "a space belongs between them")
    exact = _EXACT.fullmatch(text)
    if exact is None:
        return SqlValue(text, SqlType("real"))
    digits, behind = exact.groups()
    if len(digits + behind) > _MOST_DIGITS:
        raise refused(source, node, f"a number has at most {_MOST_DIGITS} digits")
    number = int(digits + behind)
    literal = f"{int(digits or '0')}.{behind}" if behind else str(number)
    return SqlValue(str(number), SqlType("exact", len(behind)), literal)


def _is_zero(value: SqlValue) -> bool | None:
    """Whether a number is 0; None if it is not a literal."""
    return None if value.literal is None else float(value.literal) == 0


def _arithmetic(node: exp.Expression, left: SqlValue, right: SqlValue, scope: ExpressionScope) -> SqlValue:
    one, other = left.type, right.type
    if isinstance(node, exp.Div) or "real" in (one.kind, other.kind):
        return SqlValue(_real_text(node, left.real, right.real), _real_type(node, left, right))
    if isinstance(node, exp.Mul):
        scale = one.scale + other.scale
        if scale > _MOST_DIGITS:
            message = f"a decimal has at most {_MOST_DIGITS} digits behind the point"
            raise refused(scope.query.source, node, message)
        return SqlValue(f"({left.text} * {right.text})", SqlType("exact", scale))
    scale = max(one.scale, other.scale)
    return SqlValue(_real_text(node, left.at_scale(scale), right.at_scale(scale)), SqlType("exact", scale))


def _real_text(node: exp.Expression, left: str, right: str) -> str:
    match node:
        case exp.Div():
            return f"div({left}, {right})"
        case exp.Mod():
            return f"fmod({left}, {right})"
        case _:
            return f"({left} {_ARITHMETIC[type(node)]} {right})"


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


def _function(node: exp.Expression, value: SqlValue) -> SqlValue:
    """Apply a function of one number."""
    kind, type_ = type(node), value.type
    if isinstance(node, exp.Neg):
        return SqlValue(f"(-{value.text})", type_, _negated(value.literal))
    if isinstance(node, exp.Abs):
        return SqlValue(f"abs({value.text})", type_)
    if kind in _ROUNDED:
        text = f"{_ROUNDED[kind]}({value.real})"
        if type_.scale:
            return SqlValue(f"convert({text}, Z)", WHOLE)
        return SqlValue(text, replace(type_, kind="real"))
    nan = type_.may_be_nan or not isinstance(node, exp.Exp)
    infinite = type_.may_be_infinite or not isinstance(node, exp.Sqrt)
    return SqlValue(f"{_REAL[kind]}({value.real})", SqlType("real", may_be_nan=nan, may_be_infinite=infinite))


def _negated(literal: str | None) -> str | None:
    if literal is None:
        return None
    return literal[1:] if literal.startswith("-") else f"-{literal}"


def _case(node: exp.Case, scope: ExpressionScope) -> SqlValue:
    """Write a CASE: the first branch whose condition holds; all are truth values, or numbers of one type."""
    tests = [condition_written(branch.this, scope) for branch in node.args["ifs"]]
    nodes = [*(branch.args["true"] for branch in node.args["ifs"]), node.args["default"]]
    values = [written(one, scope) for one in nodes]
    if any(value.type.kind != "truth" for value in values):
        values = [number_written(one, scope) for one in nodes]
    joined = common_type(value.type for value in values)
    texts = [in_type(value, joined) for value in values]
    text = texts.pop()
    for test, branch in reversed(list(zip(tests, texts, strict=True))):
        text = f"where({test}, {branch}, {text})"
    return SqlValue(text, joined)


def common_type(types: Iterable[SqlType]) -> SqlType:
    """Return the common type of numbers, or of truth values."""
    found = list(types)
    if all(one.kind == "truth" for one in found):
        return TRUTH
    if all(one.kind == "exact" for one in found):
        return SqlType("exact", max(one.scale for one in found))
    nan, infinite = any(one.may_be_nan for one in found), any(one.may_be_infinite for one in found)
    return SqlType("real", may_be_nan=nan, may_be_infinite=infinite)


def in_type(value: SqlValue, wanted: SqlType) -> str:
    """Write a value in a common type."""
    match wanted.kind:
        case "exact":
            return value.at_scale(wanted.scale)
        case "real":
            return value.real
        case _:
            return value.text


# === Comparisons.


def _comparison(
    node: exp.Expression, one: exp.Expression, other: exp.Expression, sign: str, scope: ExpressionScope
) -> SqlValue:
    """Compare numbers, truth values, texts of one column, or a text column with a literal text."""
    left, right = unnested(one), unnested(other)
    if _is_text(left) and _is_text(right):
        return SqlValue("true" if _TEXTS_COMPARED[sign](str(left.this), str(right.this)) else "false", TRUTH)
    if _is_text(left):
        return _comparison(node, right, left, _TURNED.get(sign, sign), scope)
    value = written(left, scope)
    if isinstance(right, exp.Literal) and _is_text(right):
        return SqlValue(f"({value.text} {sign} {_code(right, value.type.texts, sign, scope)})", TRUTH)
    second = written(right, scope)
    if _compared_as(value.type) != _compared_as(second.type):
        hint = "columns of text are comparable if the same texts may stand in them"
        if "text" not in (value.type.kind, second.type.kind):
            hint = "a truth value is no number"
        raise refused(scope.query.source, node, "these cannot be compared", hint)
    return SqlValue(f"({compared(value, sign, second)})", TRUTH)


def _compared_as(type_: SqlType) -> tuple[object, ...]:
    """Return the part of a type that must agree for a comparison: all numbers are comparable."""
    return ("number",) if type_.kind in ("exact", "real") else (type_.kind, type_.texts)


def compared(left: SqlValue, sign: str, right: SqlValue) -> str:
    """Compare two values of comparable types; NaN equals itself and exceeds every other number."""
    if left.type.kind in ("text", "truth"):
        return f"{left.text} {sign} {right.text}"
    if sign in (">", ">="):
        return compared(right, _TURNED[sign], left) if _has_nan(left, right) else _plainly(left, sign, right)
    if not _has_nan(left, right):
        return _plainly(left, sign, right)
    one, other = left.real, right.real
    both = left.type.may_be_nan and right.type.may_be_nan
    match sign:
        case "==":
            return f"same_number({one}, {other})" if both else f"{one} == {other}"
        case "!=":
            return f"not(same_number({one}, {other}))" if both else f"{one} != {other}"
        case "<" if both:
            return f"less_number({one}, {other})"
        case "<=" if both:
            return f"not(less_number({other}, {one}))"
        case _ if right.type.may_be_nan:  # a number is less than NaN, so negate the opposite comparison
            return f"not({one} {'>=' if sign == '<' else '>'} {other})"
        case _:
            return f"{one} {sign} {other}"


def _has_nan(left: SqlValue, right: SqlValue) -> bool:
    return left.type.may_be_nan or right.type.may_be_nan


def _plainly(left: SqlValue, sign: str, right: SqlValue) -> str:
    joined = common_type((left.type, right.type))
    return f"{in_type(left, joined)} {sign} {in_type(right, joined)}"


def unnested(node: exp.Expression) -> exp.Expression:
    """Remove the parentheses around an expression."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _code(literal: exp.Literal, texts: tuple[str, ...], sign: str, scope: ExpressionScope) -> str:
    """Return the number of a text; 0, which no text has, if an equality with a missing text suffices."""
    text = str(literal.this)
    if text in texts:
        return str(texts.index(text) + 1)
    if texts and sign in ("==", "!="):
        return "0"
    hint = f"texts are {', '.join(texts[:6])}" if texts else "only columns of text are compared with texts"
    raise refused(scope.query.source, literal, f"{quoted(text)} is no text of that column", hint)
