"""Read a query: parse it, and refuse clauses that would not be read.

What is read but cannot be translated is refused later, where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from msgspec import Struct
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError, TokenError

from tolcost.apps.sql.tables import SqlTable
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, quoted, refuse

DIALECT = "duckdb"
AGGREGATES = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg, exp.LogicalAnd, exp.LogicalOr)
_LONGEST = 100_000
_CLAUSES: tuple[type[exp.Expression], ...] = (exp.Select, exp.Union, exp.Intersect, exp.Except)
_OUTSIDE = {
    "laterals": "LATERAL",
    "pivots": "PIVOT",
    "sample": "a sample",
    "into": "INTO",
    "locks": "FOR",
}
_SET = "this expression distinct order limit offset with_"

_READ: Mapping[type[exp.Expression], str] = {
    exp.Select: f"expressions from_ joins where group having windows qualify {_SET}",
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
    exp.Subquery: "this alias",
    exp.Table: "this alias db catalog",
    exp.TableAlias: "this columns",
    exp.With: "expressions",
    exp.CTE: "this alias materialized",
    exp.Join: "this kind side on using method",
    exp.Distinct: "expressions on",
    exp.Case: "this ifs default",
    exp.If: "this true false",
    exp.Between: "this low high",
    exp.Group: "expressions",
    exp.Order: "expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.In: "this expressions query",
    exp.Exists: "this",
    exp.Filter: "this expression",
    exp.Window: "this partition_by order spec alias over",
    exp.WindowSpec: "kind start start_side end end_side",
    exp.Cast: "this to _type",
    exp.Extract: "this expression",
    exp.Interval: "this unit",
    exp.Like: "this expression negate",
    exp.ILike: "this expression negate",
    exp.Substring: "this start length",
    exp.Star: "",
    **dict.fromkeys((*AGGREGATES, exp.Floor, exp.Ceil), "this"),
}
"""The parts of each piece of a query that are read, for pieces that may have others."""


class SqlQuery(Struct, frozen=True, eq=False):
    """A query, and the tables that it may name."""

    source: Source
    tree: exp.Expression
    tables: Mapping[str, SqlTable]


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest a similar name, or list the known ones."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {quoted(near[0])}?" if near else f"there are {', '.join(names)}"


def refused(
    source: Source, node: exp.Expression, message: str, hint: str | None = None, code: str = "T0802"
) -> Rejected:
    """Reject a piece of a query that cannot be translated, with its place."""
    places = [
        (part.meta["start"], part.meta["end"] + 1) for part in node.walk() if "start" in (part.meta or {})
    ]
    whole = (0, len(source.text))
    start, end = (min(a for a, _ in places), max(b for _, b in places)) if places else whole
    return Rejected(Diagnostic(code, message, Span(source, start, end), hint=hint))


def read_query(source: Source, tables: Mapping[str, SqlTable]) -> SqlQuery:
    """Read a query about some tables."""
    tree = _parsed(source)
    for part, words in _OUTSIDE.items():
        for node in tree.find_all(*_CLAUSES):
            if node.args.get(part):
                place = _first(node.args[part], node)
                raise refused(source, place, f"{words} is outside of what is translated")
    for distinct in tree.find_all(exp.Distinct):
        if distinct.args.get("on"):
            raise refused(source, distinct, "DISTINCT ON is outside of what is translated")
    _refuse_unread(source, tree)
    return SqlQuery(source, tree, tables)


def _refuse_unread(source: Source, tree: exp.Expression) -> None:
    """Refuse clauses that would not be read: without them, the cost would be that of another query."""
    for node in tree.find_all(exp.Expression):
        if type(node) not in _READ:
            continue
        read = _READ[type(node)].split()
        for part in (part for part, found in node.args.items() if found and part not in (*read, "big_int")):
            found = _first(node.args[part], node)
            piece = found if isinstance(node, (exp.Query, exp.Table)) else node
            what = quoted(piece.sql(dialect=DIALECT).strip())
            raise refused(source, piece, f"{what} is outside of what is translated")


def _parsed(source: Source) -> exp.Expression:
    whole = Span(source, 0, len(source.text))
    if len(source.text) > _LONGEST:
        refuse("T0800", f"a query has at most {_LONGEST:,} characters")
    try:
        found = parse(source.text, read=DIALECT)
    except RecursionError:
        raise Rejected(Diagnostic("T0800", "the query nests too deeply", whole)) from None
    except TokenError as error:
        raise Rejected(Diagnostic("T0800", str(error), whole)) from None
    except SqlglotError as error:
        raise _misread(source, error) from None
    if len(found) != 1 or not isinstance(found[0], (exp.Select, exp.SetOperation, exp.Subquery)):
        hint = "one query is translated: a SELECT, or several with UNION, INTERSECT or EXCEPT"
        refuse("T0802", "this is not a SELECT", whole, hint=hint)
    return found[0]


def _misread(source: Source, error: SqlglotError) -> Rejected:
    errors = getattr(error, "errors", None) or [{}]
    told = errors[0]
    lines = source.text.splitlines(keepends=True)
    end = sum(map(len, lines[: told.get("line", 1) - 1])) + told.get("col", len(source.text))
    start = max(0, end - len(told.get("highlight", "")))
    said = str(told.get("description", error)).partition(" but got")[0]
    what = "something is missing here" if said.startswith("Required keyword") else said
    return Rejected(Diagnostic("T0800", what, Span(source, start, min(end, len(source.text)))))


def _first(found: object, default: exp.Expression) -> exp.Expression:
    one = found[0] if isinstance(found, list) else found
    return one if isinstance(one, exp.Expression) else default


def conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the conditions that AND joins."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    else:
        yield node


def whole_number(source: Source, node: exp.Expression | None, word: str, least: int) -> int | None:
    """Return the number of a LIMIT or an OFFSET."""
    if node is None:
        return None
    count = node.args.get("expression")
    if not isinstance(count, exp.Literal) or not count.this.isdigit() or int(count.this) < least:
        raise refused(source, node, f"{word} takes a number from {least} on")
    return int(count.this)


def unnested(node: exp.Expression) -> exp.Expression:
    """Remove the parentheses around an expression."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
