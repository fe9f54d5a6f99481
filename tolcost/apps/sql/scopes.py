"""Where an expression stands: which columns it may name, at which row, and what computes its aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader, names_of
from tolcost.apps.sql.query import nearest, refused
from tolcost.apps.sql.tables import SqlTable
from tolcost.apps.sql.values import SqlValue
from tolcost.diagnostics import Rejected, Source, quoted

Handler = Callable[[exp.Expression], ValueReader]
"""Returns how to read an aggregate, or a window function, at a row of the scope."""


class SqlContext(Struct, frozen=True, eq=False):
    """What all expressions of a query share: the program, the tables, and the queries that WITH names."""

    writer: ProgramWriter
    tables: Mapping[str, SqlTable]
    subquery: Callable[[exp.Expression, SqlScope], SqlValue]
    named: Mapping[str, Frame] = {}

    @property
    def source(self) -> Source:
        """The text of the query."""
        return self.writer.source


class GroupKeys(Struct, frozen=True, eq=False):
    """The expressions that a query groups by, and the scope of single rows, in which they are compared."""

    plain: SqlScope
    keys: frozenset[SqlValue]
    written: Callable[[exp.Expression, SqlScope], SqlValue]
    known: dict[int, SqlValue | None] = field(default_factory=dict)

    def has(self, node: exp.Expression) -> bool:
        """Whether an expression is one of the keys."""
        if id(node) not in self.known:
            try:
                self.known[id(node)] = self.written(node, self.plain)
            except Rejected:  # it has no text by itself, or contains an aggregate
                self.known[id(node)] = None
        return self.known[id(node)] in self.keys


class SqlScope(Struct, frozen=True, eq=False):
    """The context of an expression: a frame, and the row ``at`` which its columns are read.

    In a ``keyed`` scope, that of groups, columns may occur only in the grouping expressions; ``place`` gives
    the first row of a group.  A scope that is ``fixed`` has a row that cannot be moved to others.
    """

    context: SqlContext
    frame: Frame
    at: str
    count: str
    parent: SqlScope | None = None
    aggregate: Handler | None = None
    window: Handler | None = None
    keyed: GroupKeys | None = None
    place: Callable[[str], str] | None = None
    fixed: bool = False
    columns_refused: str | None = None

    @property
    def source(self) -> Source:
        """The text of the query."""
        return self.context.source

    def moved(self, at: str) -> SqlScope:
        """Return the same scope at another row."""
        return replace(self, at=at)

    @property
    def depth(self) -> int:
        """How many queries this one stands in."""
        return 0 if self.parent is None else self.parent.depth + 1

    def variable(self, letter: str) -> str:
        """Return the name of a coordinate that no scope around has."""
        return letter if self.depth < 2 else f"{letter}{self.depth}"

    def column(self, node: exp.Column) -> SqlValue:
        """Return the value of a column at the row, or at that of a query around."""
        found = matching(self.frame, node)
        if not found and self.parent is not None:
            scope: SqlScope | None = self.parent
            while scope is not None:
                if matching(scope.frame, node):
                    return scope.column(node)
                scope = scope.parent
        column = self.only(node, found)
        if self.columns_refused is not None:
            raise refused(self.source, node, self.columns_refused, "group by it")
        if self.keyed is not None and not self.keyed.has(node):
            raise refused(self.source, node, "this column is not grouped by", "aggregate it, or group by it")
        return column.read(self.at if self.place is None else self.place(self.at))

    def only(self, node: exp.Column, found: list[FrameColumn]) -> FrameColumn:
        """Return the one column that is meant, or refuse."""
        if len(found) == 1:
            return found[0]
        return one_column(self.frame, node, self.source)


def one_column(frame: Frame, node: exp.Expression, source: Source) -> FrameColumn:
    """Return the column of a frame that a name means, or refuse it."""
    name, table = node.name.lower(), node.text("table").lower()
    found = matching(frame, node)
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"write {found[0].table}.{name}" if found[0].table else "give one of them another name"
        raise refused(source, node, f"several tables have a column {quoted(name)}", hint, "T0803")
    near = [column for column in frame.columns if table in ("", column.table)]
    if not near:
        known = ", ".join(dict.fromkeys(column.table for column in frame.columns if column.table))
        message = f"there is no table {quoted(table)} here"
        raise refused(source, node, message, f"there are {known}" if known else None, "T0803")
    message = f"there is no column {quoted(name)}"
    raise refused(source, node, message, nearest(name, names_of(near)), "T0803")


def matching(frame: Frame, node: exp.Expression) -> list[FrameColumn]:
    """Return the columns of a frame that a name may mean."""
    name, table = node.name.lower(), node.text("table").lower()
    if table:
        return [column for column in frame.columns if column.name == name and column.table == table]
    return [column for column in frame.columns if column.name == name and not column.hidden]


# === Which columns of an expression are its own.


def own_nodes(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the nodes of an expression, without those of queries inside of it."""
    if isinstance(node, (exp.Query, exp.Subquery)):
        return
    yield node
    for child in node.iter_expressions():
        yield from own_nodes(child)


def has_query(node: exp.Expression) -> bool:
    """Whether there is a query inside of an expression."""
    return node.find(exp.Query) is not None


def free_columns(node: exp.Expression, context: SqlContext) -> Iterator[exp.Column]:
    """Yield the columns that an expression takes from around it, also those that queries inside take."""
    named = {name: names_of(frame.columns) for name, frame in context.named.items()}
    yield from _free(node, context, named)


_Named = Mapping[str, list[str]]


def _free(node: exp.Expression, context: SqlContext, named: _Named) -> Iterator[exp.Column]:
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        yield node
        return
    if isinstance(node, exp.Select):
        within = {**named, **_with_names(node, context, named)}
        sources = dict(_sources(node, context, within))
        for child in node.iter_expressions():
            for column in _free(child, context, within):
                if not _is_bound(column, sources) and not _is_alias(column, node):
                    yield column
        return
    if isinstance(node, exp.Query):
        named = {**named, **_with_names(node, context, named)}
    for part in node.iter_expressions():
        if not (isinstance(node, exp.SetOperation) and part.arg_key == "order"):
            yield from _free(part, context, named)


def _is_alias(column: exp.Column, select: exp.Select) -> bool:
    """Whether a column without a table is the name of an item, in ORDER BY, GROUP BY or HAVING."""
    if column.text("table") or column.find_ancestor(exp.Order, exp.Group, exp.Having) is None:
        return False
    return any(item.alias.lower() == column.name.lower() for item in select.expressions)


def _is_bound(column: exp.Column, sources: Mapping[str, list[str]]) -> bool:
    name, table = column.name.lower(), column.text("table").lower()
    return name in sources.get(table, ()) if table else any(name in names for names in sources.values())


def _with_names(query: exp.Expression, context: SqlContext, named: _Named) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with_ = query.args.get("with_")
    for each in with_.expressions if with_ else ():
        found[each.alias.lower()] = _output_names(
            each.this, context, {**named, **found}, each.args.get("alias")
        )
    return found


def _sources(select: exp.Expression, context: SqlContext, named: _Named) -> Iterator[tuple[str, list[str]]]:
    start = select.args.get("from_")
    nodes = ([start.this] if start else []) + [join.this for join in select.args.get("joins") or ()]
    for node in nodes:
        alias = node.alias_or_name.lower()
        if isinstance(node, exp.Table):
            name = node.name.lower()
            table = context.tables.get(name)
            known = named[name] if name in named else list(table.columns) if table else []
            yield alias, _renamed(known, node.args.get("alias"))
        elif isinstance(node, exp.Subquery):
            yield alias, _output_names(node.this, context, named, node.args.get("alias"))


def _renamed(names: list[str], alias: exp.Expression | None) -> list[str]:
    given = [column.name.lower() for column in (alias.args.get("columns") or ())] if alias else []
    return [*given, *names[len(given) :]]


def _output_names(
    query: exp.Expression, context: SqlContext, named: _Named, alias: exp.Expression | None = None
) -> list[str]:
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    within = {**named, **_with_names(query, context, named)}
    names: list[str] = []
    for item in query.expressions if isinstance(query, exp.Select) else ():
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            table = item.text("table").lower()
            for source, columns in _sources(query, context, within):
                names += columns if table in ("", source) else []
        else:
            names.append(item.alias_or_name.lower())
    return _renamed(names, alias)
