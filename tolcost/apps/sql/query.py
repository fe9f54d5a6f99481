"""Read a query: convert sqlglot's tree to the parts that a program is written from.

Anything outside the subset is refused here or in ``expressions``, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError, TokenError

from tolcost.apps.sql.tables import SqlColumn, SqlTable
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, quoted, refuse

_DIALECT = "duckdb"
AGGREGATES = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg)
_LONGEST = 100_000
_OUTSIDE = {
    "with_": "WITH",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "offset": "OFFSET",
    "laterals": "LATERAL",
    "pivots": "PIVOT",
    "sample": "a sample",
    "into": "INTO",
    "locks": "FOR",
}

_READ: Mapping[type[exp.Expression], str] = {
    exp.Select: "expressions from_ from joins where group having distinct order limit",
    exp.Table: "this alias db catalog",
    exp.TableAlias: "this",
    exp.Case: "this ifs default",
    exp.If: "this true",
    exp.Between: "this low high",
    exp.Group: "expressions",
    exp.Limit: "expression",
    exp.Star: "",
    **dict.fromkeys((*AGGREGATES, exp.Floor, exp.Ceil), "this"),
}
"""The parts of each piece of a query that are read, for pieces that may have others."""


class TableUse(Struct, frozen=True, eq=False):
    """A table where a query names it; one table may be used several times."""

    alias: str
    table: SqlTable


class SelectItem(Struct, frozen=True, eq=False):
    """A column of the result."""

    name: str
    value: exp.Expression


class SortKey(Struct, frozen=True, eq=False):
    """An expression that rows are sorted by."""

    value: exp.Expression
    descending: bool


class SqlQuery(Struct, frozen=True, eq=False):
    """A query, in its parts; ``conditions`` is a conjunction of all conditions in the query."""

    source: Source
    uses: tuple[TableUse, ...]
    conditions: tuple[exp.Expression, ...]
    items: tuple[SelectItem, ...]
    distinct: bool
    group: tuple[exp.Expression, ...]
    having: exp.Expression | None
    order: tuple[SortKey, ...]
    limit: int | None

    @property
    def aggregates(self) -> bool:
        """Whether rows are grouped or aggregated."""
        values = (*(item.value for item in self.items), *(key.value for key in self.order))
        return bool(self.group) or any(value.find(*AGGREGATES) for value in values)

    def column(self, node: exp.Expression) -> tuple[int, SqlColumn]:
        """Return the table of a column, by its index among the uses, and the column."""
        name, table = node.name.lower(), node.text("table").lower()
        near = [n for n, use in enumerate(self.uses) if table in ("", use.alias)]
        if not near:
            known = ", ".join(use.alias for use in self.uses)
            raise refused(
                self.source, node, f"there is no table {quoted(table)} here", f"there are {known}", "T0803"
            )
        found = [n for n in near if name in self.uses[n].table.columns]
        if len(found) == 1:
            return found[0], self.uses[found[0]].table.columns[name]
        if found:
            hint = f"write {self.uses[found[0]].alias}.{name}"
            raise refused(self.source, node, f"several tables have a column {quoted(name)}", hint, "T0803")
        known_columns = [column for n in near for column in self.uses[n].table.columns]
        raise refused(
            self.source, node, f"there is no column {quoted(name)}", nearest(name, known_columns), "T0803"
        )


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
    select = _parsed(source)
    inner = next((node for node in select.find_all(exp.Select) if node is not select), None)
    if inner is not None:
        raise refused(source, inner, "a subquery is outside of what is translated", "join the tables instead")
    for part, words in _OUTSIDE.items():
        if select.args.get(part):
            place = _first(select.args[part], select)
            raise refused(source, place, f"{words} is outside of what is translated")
    uses, conditions = _sources(source, select, tables)
    where, having, group = (select.args.get(part) for part in ("where", "having", "group"))
    conditions += tuple(_conjuncts(where.this)) if where else ()
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise refused(source, distinct, "DISTINCT ON is outside of what is translated")
    draft = SqlQuery(
        source,
        uses,
        conditions,
        (),
        distinct is not None,
        tuple(group.expressions) if group else (),
        having.this if having else None,
        (),
        _limit(source, select),
    )
    _refuse_unread(source, select)
    items = tuple(_items(draft, select))
    order = tuple(_order(draft, select, items))
    group_by = tuple(_meant(draft, node, items, by_column=True) for node in draft.group)
    if having is not None:
        _refuse_hidden_columns(source, having.this, items, group_by)
    return replace(draft, items=items, group=group_by, order=order)


def _refuse_unread(source: Source, select: exp.Select) -> None:
    """Refuse clauses that would not be read: without them, the cost would be that of another query."""
    for node in select.find_all(*_READ):
        read = _READ[type(node)].split()
        for part in (part for part, found in node.args.items() if found and part not in (*read, "big_int")):
            found = _first(node.args[part], node)
            piece = found if isinstance(node, (exp.Select, exp.Table)) else node
            what = quoted(piece.sql(dialect=_DIALECT).strip())
            raise refused(source, piece, f"{what} is outside of what is translated")


def _parsed(source: Source) -> exp.Select:
    whole = Span(source, 0, len(source.text))
    if len(source.text) > _LONGEST:
        refuse("T0800", f"a query has at most {_LONGEST:,} characters")
    try:
        found = parse(source.text, read=_DIALECT)
    except RecursionError:
        raise Rejected(Diagnostic("T0800", "the query nests too deeply", whole)) from None
    except TokenError as error:
        raise Rejected(Diagnostic("T0800", str(error), whole)) from None
    except SqlglotError as error:
        raise _misread(source, error) from None
    if len(found) != 1 or not isinstance(found[0], exp.Select):
        hint = "one SELECT is translated; no UNION, no subquery, nothing that changes tables"
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


def _sources(
    source: Source, select: exp.Select, tables: Mapping[str, SqlTable]
) -> tuple[tuple[TableUse, ...], tuple[exp.Expression, ...]]:
    """Return the tables of FROM and JOIN, and the conditions of the joins."""
    start = select.args.get("from_") or select.args.get("from")
    if start is None:
        raise refused(source, select, "a query needs a table", "FROM is missing")
    uses = [_use(source, start.this, tables)]
    conditions: list[exp.Expression] = []
    for join in select.args.get("joins") or ():
        plain = join.args.get("kind") in (None, "", "INNER", "CROSS")
        if not plain or any(join.args.get(part) for part in ("side", "using", "method")):
            hint = "JOIN ... ON and CROSS JOIN are inside"
            raise refused(source, join.this, "this join is outside of what is translated", hint)
        uses.append(_use(source, join.this, tables))
        if join.args.get("on"):
            _refuse_later_tables(source, tuple(uses), join.args["on"])
            conditions += _conjuncts(join.args["on"])
    return tuple(uses), tuple(conditions)


def _refuse_later_tables(source: Source, uses: tuple[TableUse, ...], condition: exp.Expression) -> None:
    """Refuse a condition of a join that mentions a table named after it."""
    so_far = SqlQuery(source, uses, (), (), False, (), None, (), None)
    for column in condition.find_all(exp.Column):
        so_far.column(column)


def _use(source: Source, node: exp.Expression, tables: Mapping[str, SqlTable]) -> TableUse:
    if not isinstance(node, exp.Table) or node.args.get("joins"):
        raise refused(source, node, "only tables can be queried here", "no subqueries in FROM")
    name = node.name.lower()
    if name not in tables:
        raise refused(source, node, f"there is no table {quoted(name)}", nearest(name, tables), "T0803")
    return TableUse(node.alias_or_name.lower(), tables[name])


def _conjuncts(node: exp.Expression) -> Iterator[exp.Expression]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _limit(source: Source, select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.args.get("expression")
    if not isinstance(count, exp.Literal) or not count.this.isdigit() or int(count.this) < 1:
        raise refused(source, limit, "LIMIT takes a number from 1 on")
    return int(count.this)


def _items(query: SqlQuery, select: exp.Select) -> Iterator[SelectItem]:
    for node in select.expressions:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            table = node.text("table").lower()
            near = [use for use in query.uses if table in ("", use.alias)]
            if not near:
                known = ", ".join(use.alias for use in query.uses)
                message = f"there is no table {quoted(table)} here"
                raise refused(query.source, node, message, f"there are {known}", "T0803")
            for use in near:
                for name in use.table.columns:
                    yield SelectItem(name, exp.column(name, table=use.alias))
        else:
            value = node.this if isinstance(node, exp.Alias) else node
            named = isinstance(node, (exp.Alias, exp.Column))
            yield SelectItem(node.alias_or_name.lower() if named else node.key, value)


def _order(query: SqlQuery, select: exp.Select, items: tuple[SelectItem, ...]) -> Iterator[SortKey]:
    order = select.args.get("order")
    for node in order.expressions if order else ():
        constant = node.this.unnest()
        constant = constant.this.unnest() if isinstance(constant, exp.Neg) else constant
        if isinstance(constant, (exp.Literal, exp.Boolean)) and _place(query, node.this) is None:
            raise refused(query.source, node.this, "rows are not sorted by a constant", "name a column")
        yield SortKey(_meant(query, node.this, items), bool(node.args.get("desc")))


def _meant(
    query: SqlQuery, node: exp.Expression, items: tuple[SelectItem, ...], by_column: bool = False
) -> exp.Expression:
    """Resolve an entry of ORDER BY or GROUP BY: a position among the items, a name, or an expression.

    A name that both an item and a column have means the item in ORDER BY, and the column in GROUP BY.
    """
    place = _place(query, node)
    if place is not None:
        if not 1 <= place <= len(items):
            raise refused(query.source, node, f"there is no item {place}", f"there are {len(items)}")
        return items[place - 1].value
    name = node.unnest()
    if isinstance(name, exp.Column) and not name.text("table"):
        named = [item.value for item in items if item.name == name.name.lower()]
        is_column = any(name.name.lower() in use.table.columns for use in query.uses)
        if named and not (is_column and by_column):
            if any(value != named[0] for value in named):
                message = f"several items are called {quoted(name.name)}"
                raise refused(query.source, node, message, "give its place")
            return named[0]
    return node


def _refuse_hidden_columns(
    source: Source, having: exp.Expression, items: tuple[SelectItem, ...], group: tuple[exp.Expression, ...]
) -> None:
    """Refuse a name in HAVING that both an item and a column have, unless the column is a key."""
    for node in having.find_all(exp.Column):
        hidden = not node.text("table") and node.find_ancestor(*AGGREGATES) is None
        named = [item for item in items if item.name == node.name.lower() and item.value != node]
        if (
            hidden
            and named
            and not any(isinstance(key, exp.Column) and key.name == node.name for key in group)
        ):
            message = f"{quoted(node.name)} may be a column here, or an item"
            raise refused(source, node, message, "give the table of the column, or the item another name")


def _place(query: SqlQuery, node: exp.Expression) -> int | None:
    """Return the position of an item, in parentheses or with a minus; with a plus it is a plain number."""
    found, sign = node.unnest(), 1
    if isinstance(found, exp.Neg):
        found, sign = found.this.unnest(), -1
    if not isinstance(found, exp.Literal) or not found.this.isdigit():
        return None
    start = (found.meta or {}).get("start", 0)
    is_plus = query.source.text[:start].rstrip(" \t\r\n(").endswith("+")
    return None if is_plus else sign * int(found.this)
