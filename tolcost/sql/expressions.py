"""Expressions of SQL as expressions of ToLang.

What a column or an aggregate is called depends on where an expression stands: an ``ExpressionScope`` knows.
There is no NULL: every column has a value in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tolcost.dataclass import dataclass
from tolcost.diagnostics import quoted
from tolcost.sql.query import AGGREGATES, SqlQuery, refused

_INFIX: Mapping[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.And: "and",
    exp.Or: "or",
}
_COMPARED: Mapping[type[exp.Expression], str] = {
    exp.EQ: "==",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_CALLED: Mapping[type[exp.Expression], str] = {
    exp.Div: "div",
    exp.Mod: "fmod",
    exp.Abs: "abs",
    exp.Sqrt: "sqrt",
    exp.Exp: "exp",
    exp.Ln: "ln",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}
_HINT = (
    "arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, CASE, abs, sqrt, exp, ln, floor, ceil, "
    "sum, count, min, max and avg are translated"
)


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionScope:
    """Where an expression stands: the text for a column, and for an aggregate."""

    query: SqlQuery
    column: Callable[[exp.Expression], str]
    aggregate: Callable[[exp.Expression], str] | None = None


def written(node: exp.Expression, scope: ExpressionScope) -> str:
    """The text of an expression in ToLang."""
    kind = type(node)
    if isinstance(node, AGGREGATES):
        if scope.aggregate is None:
            raise refused(scope.query.source, node, "an aggregate cannot stand here", "HAVING is for those")
        return scope.aggregate(node)
    if kind in _COMPARED:
        return _comparison(node, _COMPARED[kind], scope)
    if kind in _INFIX:
        left, right = (number_written(side, scope) for side in (node.this, node.expression))
        return f"({left} {_INFIX[kind]} {right})"
    if kind in _CALLED:
        sides = (side for side in (node.this, node.args.get("expression")) if side is not None)
        return f"{_CALLED[kind]}({', '.join(number_written(side, scope) for side in sides)})"
    return _other(node, scope)


def _other(node: exp.Expression, scope: ExpressionScope) -> str:
    match node:
        case exp.Column():
            return scope.column(node)
        case exp.Literal(is_string=False):
            return str(node.this)
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Paren():
            return written(node.this, scope)
        case exp.Neg():
            return f"(-{number_written(node.this, scope)})"
        case exp.Not():
            return f"not({written(node.this, scope)})"
        case exp.Between():
            low = _comparison(exp.GTE(this=node.this, expression=node.args["low"]), ">=", scope)
            high = _comparison(exp.LTE(this=node.this, expression=node.args["high"]), "<=", scope)
            return f"({low} and {high})"
        case exp.In() if node.expressions:
            each = (_comparison(exp.EQ(this=node.this, expression=e), "==", scope) for e in node.expressions)
            return f"({' or '.join(each)})"
        case exp.Case() if node.this is None and node.args.get("default") is not None:
            return _case(node, scope)
        case _:
            what = quoted(node.sql(dialect="duckdb"))
            raise refused(scope.query.source, node, f"{what} is outside of what is translated", _HINT)


def _case(node: exp.Case, scope: ExpressionScope) -> str:
    text = written(node.args["default"], scope)
    for branch in reversed(node.args["ifs"]):
        condition, value = written(branch.this, scope), written(branch.args["true"], scope)
        text = f"where({condition}, {value}, {text})"
    return text


def texts_of(node: exp.Expression, query: SqlQuery) -> tuple[str, ...]:
    """The texts that the numbers of an expression stand for; none where they are just numbers."""
    while isinstance(node, (exp.Paren, exp.Min, exp.Max)):
        node = node.this
    return query.column(node)[1].texts if isinstance(node, exp.Column) else ()


def number_written(node: exp.Expression, scope: ExpressionScope) -> str:
    """An operand of arithmetic: not a text."""
    if texts_of(node, scope.query):
        raise refused(scope.query.source, node, "text cannot be calculated with")
    return written(node, scope)


def _comparison(node: exp.Expression, sign: str, scope: ExpressionScope) -> str:
    """Numbers are compared, or texts of one column's with each other or with a text."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Literal) and left.is_string:
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        return _comparison(exp.EQ(this=right, expression=left), turned, scope)
    texts = texts_of(left, scope.query)
    if isinstance(right, exp.Literal) and right.is_string:
        return f"({written(left, scope)} {sign} {_code(node, right, texts, sign, scope)})"
    if texts != texts_of(right, scope.query):
        hint = "columns of text are comparable if the same texts may stand in them"
        raise refused(scope.query.source, node, "these cannot be compared", hint)
    return f"({written(left, scope)} {sign} {written(right, scope)})"


def _code(
    node: exp.Expression, literal: exp.Literal, texts: tuple[str, ...], sign: str, scope: ExpressionScope
) -> str:
    """The number of a text; 0, which no text has, where it can only be told that it is not there."""
    text = str(literal.this)
    if text in texts:
        return str(texts.index(text) + 1)
    if texts and sign in ("==", "!="):
        return "0"
    hint = f"texts are {', '.join(texts[:6])}" if texts else "only columns of text are compared with texts"
    raise refused(scope.query.source, literal, f"{quoted(text)} is no text of that column", hint)
