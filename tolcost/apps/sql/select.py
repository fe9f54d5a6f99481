"""One SELECT: rows, groups, windows and items."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.aggregates import AggregateDomain, Aggregation
from tolcost.apps.sql.expressions import is_aggregate, truth_written, written
from tolcost.apps.sql.frames import Frame, FrameColumn, ValueReader, entries
from tolcost.apps.sql.joins import QueryRows, joined, kept, outer_conditions
from tolcost.apps.sql.query import refused
from tolcost.apps.sql.results import (
    QueryResult,
    ResultItem,
    SortKey,
    arranged,
    firsts,
    refuse_constants,
    same_at,
)
from tolcost.apps.sql.scopes import GroupKeys, SqlContext, SqlScope, free_columns, one_column, own_nodes
from tolcost.apps.sql.values import SqlValue, every
from tolcost.apps.sql.windows import WindowFunctions
from tolcost.diagnostics import quoted


class SelectNames(Struct, frozen=True, eq=False):
    """The items of a SELECT, and what it groups and sorts by, with names and places resolved."""

    items: tuple[ResultItem, ...]
    group: tuple[exp.Expression, ...]
    order: tuple[SortKey, ...]
    having: exp.Expression | None
    qualify: exp.Expression | None

    @property
    def aggregates(self) -> bool:
        """Whether rows are grouped or aggregated."""
        values = [*(item.value for item in self.items), *(key.value for key in self.order)]
        values += [node for node in (self.having, self.qualify) if node is not None]
        return bool(self.group) or self.having is not None or any(map(_aggregates, values))


def _aggregates(node: exp.Expression) -> bool:
    """Whether an expression contains an aggregate of its own, which is no window function."""
    for one in own_nodes(node):
        if is_aggregate(one):
            over = one.parent
            if not (isinstance(over, exp.Window) and over.this is one):
                return True
    return False


def selected(select: exp.Select, context: SqlContext, query: QueryRows) -> QueryResult:
    """Write a SELECT that is about no query around."""
    frame = joined(select, context, query)
    for node in outer_conditions(select, frame, context):  # no query is around that could have the column
        for column in free_columns(node, context):
            one_column(frame, column, context.source)
    names = names_of_select(select, frame, context)
    scope = SqlScope(context, frame, "q", frame.count)
    if names.aggregates:
        scope = _grouped(names, scope) if names.group else single(names, scope)
    scope = _windowed(select, scope)
    if names.qualify is not None:
        scope = _kept(scope, truth_written(names.qualify, scope.moved("i")))
    return arranged(select, names.items, names.order, scope)


# === SelectNames.


def names_of_select(select: exp.Select, frame: Frame, context: SqlContext) -> SelectNames:
    """Resolve the items of a SELECT, and names and places in GROUP BY, ORDER BY and HAVING."""
    items = tuple(_items(select, frame, context))
    having, group, qualify = (select.args.get(part) for part in ("having", "group", "qualify"))
    keys = tuple(group.expressions) if group else ()
    order = sort_keys(select, frame, items, context)
    group_by = tuple(meant(context, frame, node, items, by_column=True) for node in keys)
    if having is not None:
        _refuse_hidden_columns(context, having.this, items, group_by)
    having_ = None if having is None else _without_names(having.this, frame, items)
    qualify_ = None if qualify is None else _without_names(qualify.this, frame, items)
    return SelectNames(items, group_by, order, having_, qualify_)


def _items(select: exp.Select, frame: Frame, context: SqlContext) -> Iterator[ResultItem]:
    for node in select.expressions:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            table = node.text("table").lower()
            near = [c for c in frame.columns if (c.table == table if table else not c.hidden)]
            if not near:
                known = ", ".join(dict.fromkeys(column.table for column in frame.columns if column.table))
                message = f"there is no table {quoted(table)} here"
                raise refused(context.source, node, message, f"there are {known}", "T0803")
            for column in near:
                yield ResultItem(column.name, exp.column(column.name, table=column.table or None))
        else:
            value = node.this if isinstance(node, exp.Alias) else node
            named = isinstance(node, (exp.Alias, exp.Column))
            yield ResultItem(node.alias_or_name.lower() if named else node.key, value)


def sort_keys(
    query: exp.Expression, frame: Frame, items: tuple[ResultItem, ...], context: SqlContext
) -> tuple[SortKey, ...]:
    """Return what ORDER BY sorts by."""
    return tuple(_sort_keys(query, frame, items, context))


def _sort_keys(
    query: exp.Expression, frame: Frame, items: tuple[ResultItem, ...], context: SqlContext
) -> Iterator[SortKey]:
    order = query.args.get("order")
    for node in order.expressions if order else ():
        constant = node.this.unnest()
        constant = constant.this.unnest() if isinstance(constant, exp.Neg) else constant
        if isinstance(constant, (exp.Literal, exp.Boolean, exp.Null)) and _place(context, node.this) is None:
            raise refused(context.source, node.this, "rows are not sorted by a constant", "name a column")
        value = meant(context, frame, node.this, items)
        yield SortKey(value, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def meant(
    context: SqlContext,
    frame: Frame,
    node: exp.Expression,
    items: tuple[ResultItem, ...],
    by_column: bool = False,
) -> exp.Expression:
    """Resolve an entry of ORDER BY or GROUP BY: a position among the items, a name, or an expression.

    A name that both an item and a column have means the item in ORDER BY, and the column in GROUP BY.
    """
    place = _place(context, node)
    if place is not None:
        if not 1 <= place <= len(items):
            raise refused(context.source, node, f"there is no item {place}", f"there are {len(items)}")
        return items[place - 1].value
    name = node.unnest()
    if isinstance(name, exp.Column) and not name.text("table"):
        named = [item.value for item in items if item.name == name.name.lower()]
        is_column = any(name.name.lower() == column.name for column in frame.columns)
        if named and not (is_column and by_column):
            if any(value != named[0] for value in named):
                message = f"several items are called {quoted(name.name)}"
                raise refused(context.source, node, message, "give its place")
            return named[0]
    return node


def _without_names(node: exp.Expression, frame: Frame, items: tuple[ResultItem, ...]) -> exp.Expression:
    """Put the values of items for their names, where no column has the name."""
    columns = {column.name for column in frame.columns}

    def value(one: exp.Expression) -> exp.Expression:
        if isinstance(one, exp.Column) and not one.text("table") and one.name.lower() not in columns:
            named = [item.value for item in items if item.name == one.name.lower()]
            if named:
                return exp.Paren(this=named[0].copy())
        return one

    return node.transform(value)


def _refuse_hidden_columns(
    context: SqlContext,
    having: exp.Expression,
    items: tuple[ResultItem, ...],
    group: tuple[exp.Expression, ...],
) -> None:
    """Refuse a name in HAVING that both an item and a column have, unless the column is a key."""
    for node in own_nodes(having):
        if not isinstance(node, exp.Column):
            continue
        hidden = not node.text("table") and not any(is_aggregate(one) for one in _around(node))
        named = [item for item in items if item.name == node.name.lower() and item.value != node]
        keyed = any(isinstance(key, exp.Column) and key.name == node.name for key in group)
        if hidden and named and not keyed:
            message = f"{quoted(node.name)} may be a column here, or an item"
            raise refused(
                context.source, node, message, "give the table of the column, or the item another name"
            )


def _around(node: exp.Expression) -> Iterator[exp.Expression]:
    above = node.parent
    while isinstance(above, exp.Expression):
        yield above
        above = above.parent


def _place(context: SqlContext, node: exp.Expression) -> int | None:
    """Return the position of an item, in parentheses or with a minus; with a plus it is a plain number."""
    found, sign = node.unnest(), 1
    if isinstance(found, exp.Neg):
        found, sign = found.this.unnest(), -1
    if not isinstance(found, exp.Literal) or found.is_string or not found.this.isdigit():
        return None
    start = (found.meta or {}).get("start", 0)
    is_plus = context.source.text[:start].rstrip(" \t\r\n(").endswith("+")
    return None if is_plus else sign * int(found.this)


# === Groups.


def _grouped(names: SelectNames, scope: SqlScope) -> SqlScope:
    """Write groups: the number of the first row of each, and aggregates of all of its rows."""
    writer, count = scope.context.writer, scope.count
    keys = [written(node, scope) for node in names.group]
    refuse_constants(scope.source, names.group, keys, "grouped by")
    readers = [writer.column(writer.fresh("key", n), count, key) for n, key in enumerate(keys, start=1)]
    alike, groups = writer.word("alike"), writer.word("groups")
    writer.define(f"{alike}(q, r)", every(same_at(read) for read in readers) or "true")
    writer.define(groups, firsts(count, f"{alike}(q, r)"))
    domain = AggregateDomain(
        lambda fold: f"map({groups}, (g) => {fold})",
        lambda name, at: f"{name}[{at}]",
        lambda row: f"{alike}(g, {row})",
        f"len({groups})",
        first="g",
        equal=lambda row: f"{alike}(q, {row})",
    )
    aggregation = Aggregation(writer, count, scope.moved, domain)
    grouped = replace(
        scope,
        count=f"len({groups})",
        aggregate=aggregation.aggregate,
        keyed=GroupKeys(scope, frozenset(keys), written),
        place=lambda at: f"{groups}[{at}]",
    )
    if names.having is None:
        return grouped
    test = truth_written(names.having, grouped)
    name = writer.word("kept")
    if test.static and test.text not in ("true", "false"):
        raise refused(scope.source, names.having, "HAVING takes a condition on groups")
    writer.define(name, f"where_true(map(tol[len({groups})], {test.text}, [q]))")
    return _taken(grouped, name)


def _taken(scope: SqlScope, name: str) -> SqlScope:
    """Return the scope of some rows of another, whose numbers a vector has."""
    aggregate, window, place = scope.aggregate, scope.window, scope.place
    return replace(
        scope,
        count=f"len({name})",
        aggregate=None if aggregate is None else lambda node: _through(aggregate(node), name),
        window=None if window is None else lambda node: _through(window(node), name),
        place=(lambda at: f"{name}[{at}]") if place is None else (lambda at: place(f"{name}[{at}]")),
    )


def _through(read: ValueReader, name: str) -> ValueReader:
    return lambda at: read(f"{name}[{at}]")


def single(names: SelectNames, scope: SqlScope) -> SqlScope:
    """Write aggregates over all rows: one row, which is there even if no row is left."""
    domain = AggregateDomain(lambda fold: fold, lambda name, at: name, lambda row: None, "1")
    aggregation = Aggregation(scope.context.writer, scope.count, scope.moved, domain)
    message = "a column stands beside aggregates of all rows"
    one = replace(
        scope,
        at="1",
        count="1",
        aggregate=aggregation.aggregate,
        columns_refused=message,
        frame=Frame("1", scope.frame.columns, alone=True),
    )
    if names.having is None:
        return one
    return _kept(one, truth_written(names.having, one))


def _kept(scope: SqlScope, test: SqlValue) -> SqlScope:
    """Return the rows of a scope at which a test holds."""
    writer = scope.context.writer
    rows = kept(writer, Frame(scope.count, (FrameColumn("", "", entries("q", test.type)),)), [test])
    name = rows.count.removeprefix("len(").removesuffix(")")
    return replace(_taken(scope, name), frame=Frame(rows.count, scope.frame.columns))


def _windowed(select: exp.Select, scope: SqlScope) -> SqlScope:
    named = {node.this.name.lower(): node for node in select.args.get("windows") or ()}
    return replace(scope, window=WindowFunctions(scope, named).window)
