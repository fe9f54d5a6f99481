"""InnerQueries inside of queries: in FROM, in WITH, as values, and behind IN, EXISTS, ANY and ALL.

A query that is about no row around it is computed once.  One that is, is a fold over its rows for each row
around: those rows are its tables, joined and filtered by the conditions of its own; the others are looked at
for every pair.  So EXISTS and IN are semijoins, and an aggregate is one over the rows that belong to a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.aggregates import AggregateDomain, Aggregation
from tolcost.apps.sql.expressions import SIGNS, compare_values, truth_written, written
from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader
from tolcost.apps.sql.joins import joined, outer_conditions, padded
from tolcost.apps.sql.query import refused, unnested
from tolcost.apps.sql.results import QueryResult, ResultItem, arranged
from tolcost.apps.sql.scopes import SqlContext, SqlScope, free_columns, one_column
from tolcost.apps.sql.select import SelectNames, names_of_select, selected, sort_keys
from tolcost.apps.sql.sets import combined
from tolcost.apps.sql.tables import SqlTable
from tolcost.apps.sql.values import TRUTH, SqlValue, conjunction, every, negated, truth


class InnerQueries(Struct, frozen=True, eq=False):
    """What is written of the queries inside: values by their place and the rows around them."""

    known: dict[tuple[int, int, str], tuple[object, ValueReader]] = field(default_factory=dict)

    def context(self, writer: ProgramWriter, tables: Mapping[str, SqlTable]) -> SqlContext:
        """Return the context of a whole query."""
        return SqlContext(writer, tables, self.value)

    # ---- whole queries -----------------------------------------------------------------------

    def frame(self, query: exp.Expression, context: SqlContext) -> Frame:
        """Return the rows of a query that is about no row around it; columns nobody reads are right, too."""
        frame = self.result(query, context).frame
        for column in frame.columns:
            column.read("q")
        return frame

    def result(self, query: exp.Expression, context: SqlContext) -> QueryResult:
        """Write a query that is about no row around it."""
        while isinstance(query, exp.Subquery):
            query = query.this
        context = self.within(query, context)
        if isinstance(query, exp.Select):
            return selected(query, context, self.frame)
        if not isinstance(query, exp.SetOperation):
            raise refused(context.source, query, "this is not a SELECT")
        sides = [self.frame(side, context) for side in (query.this, query.expression)]
        frame = combined(query, sides[0], sides[1], context)
        items = tuple(ResultItem(column.name, exp.column(column.name)) for column in frame.columns)
        order = sort_keys(query, frame, items, context)
        if not order and query.args.get("limit") is None and query.args.get("offset") is None:
            return QueryResult(frame, tuple(column.read for column in frame.columns))
        for key in order:
            for column in free_columns(key.value, context):
                one_column(frame, column, context.source)
        numbered = [exp.column(f"column {n}") for n in range(len(items))]
        columns = [FrameColumn("", f"column {n}", c.read) for n, c in enumerate(frame.columns)]
        scope = SqlScope(context, Frame(frame.count, (*columns, *frame.columns)), "q", frame.count)
        named = [ResultItem(item.name, node) for item, node in zip(items, numbered, strict=True)]
        return arranged(query, named, order, scope)

    def within(self, query: exp.Expression, context: SqlContext) -> SqlContext:
        """Return the context in which the queries of WITH have names."""
        with_ = query.args.get("with_")
        for each in with_.expressions if with_ else ():
            alias = each.args["alias"]
            names = [column.name.lower() for column in alias.args.get("columns") or ()]
            frame = self.frame(each.this, context)
            if len(names) > len(frame.columns):
                raise refused(context.source, alias, f"there are only {len(frame.columns)} columns")
            name = each.alias.lower()
            context = replace(context, named={**context.named, name: frame.named(name, names)})
        return context

    # ---- values ------------------------------------------------------------------------------

    def value(self, node: exp.Expression, scope: SqlScope) -> SqlValue:
        """Write a query inside of an expression."""
        match node:
            case exp.Exists():
                return self.exists(_select(node.this), scope)
            case exp.In():
                return self.among(node, node.this, "==", _select(node.args["query"]), scope, any_=True)
            case exp.Subquery():
                return self.scalar(_select(node), scope)
            case _:
                chosen = unnested(node.expression)
                if not isinstance(chosen.this, (exp.Select, exp.SetOperation, exp.Subquery)):
                    raise refused(scope.source, node, "ANY and ALL take a query here")
                is_any = isinstance(chosen, exp.Any)
                return self.among(
                    node, node.this, SIGNS[type(node)], _select(chosen.this), scope, any_=is_any
                )

    def exists(self, query: exp.Expression, scope: SqlScope) -> SqlValue:
        """Write whether a query has rows."""
        if not _outer_columns(query, scope):
            frame = self.frame(query, scope.context)
            return SqlValue("true" if frame.alone else f"({frame.count} > 0)", TRUTH, static=True)
        inner, names = self.inner(query, scope)
        if names.aggregates and not names.group:
            return SqlValue("true", TRUTH, static=True)
        _refuse_groups(query, names, scope)
        return SqlValue(_some(inner, _member(query, inner)), TRUTH)

    def among(
        self,
        node: exp.Expression,
        left: exp.Expression,
        sign: str,
        query: exp.Expression,
        scope: SqlScope,
        any_: bool,
    ) -> SqlValue:
        """Write whether a comparison holds for some row of a query, or for all of them."""
        sides = unnested(left)
        lefts = list(sides.expressions) if isinstance(sides, exp.Tuple) else [sides]
        if len(lefts) > 1 and sign != "==":
            raise refused(scope.source, node, "several values are only compared by IN")
        member: str | None = None
        if not _outer_columns(query, scope):
            frame = self.frame(query, scope.context)
            inner = SqlScope(scope.context, frame, _variable(scope), frame.count, parent=scope)
            rights = [column.read(inner.at) for column in frame.columns]
        else:
            inner, names = self.inner(query, scope)
            _refuse_groups(query, names, scope)
            if names.aggregates:
                raise refused(scope.source, query, "an aggregate of a correlated query cannot stand here")
            member = _member(query, inner)
            rights = [written(item.value, inner) for item in names.items]
        if len(rights) != len(lefts):
            raise refused(scope.source, query, f"this query has {len(rights)} columns, not {len(lefts)}")
        found: SqlValue | None = None
        for one, right in zip(lefts, rights, strict=True):
            test = compare_values(node, written(one, scope), sign, right, scope)
            found = test if found is None else conjunction(found, test)
        assert found is not None
        if not any_:
            no = _some(inner, every((member, found.fails)))
            text = _each(inner, member, found.text)
            return SqlValue(text, TRUTH) if found.known is None else truth(text, no)
        text = _some(inner, every((member, found.text)))
        return (
            SqlValue(text, TRUTH) if found.known is None else truth(text, _each(inner, member, found.fails))
        )

    def scalar(self, query: exp.Expression, scope: SqlScope) -> SqlValue:
        """Write the value of a query that has one column and at most one row."""
        key = (id(query), id(scope.frame), scope.count)
        if scope.parent is None and not scope.fixed and key in self.known:
            return self.known[key][1](scope.at)
        if not _outer_columns(query, scope):
            read = self.alone(query, scope)
        else:
            read = self.for_each(query, scope)
            if scope.parent is not None or scope.fixed:
                return read(scope.at)
        self.known[key] = ((query, scope.frame), read)
        return read(scope.at)

    def alone(self, query: exp.Expression, scope: SqlScope) -> ValueReader:
        """Return how to read the value of a query that is about no row around it."""
        frame = self.frame(query, scope.context)
        _refuse_columns(query, len(frame.columns), scope)
        read = frame.columns[0].read
        if frame.alone:
            value = read("1")
            return lambda at: value
        one = padded(scope.context.writer, frame).columns[0].read(f"[1, 2][{frame.count} + 1]")
        if one.known == f"([1, 2][{frame.count} + 1] > 1)":
            one = replace(one, known=f"({frame.count} > 0)")
        return lambda at: one

    def for_each(self, query: exp.Expression, scope: SqlScope) -> ValueReader:
        """Return how to read the value of a query for each row around it."""
        is_vector = scope.parent is None and not scope.fixed
        around = scope.moved("q") if is_vector else scope
        inner, names = self.inner(query, around)
        _refuse_groups(query, names, scope)
        _refuse_columns(query, len(names.items), scope)
        member = _member(query, inner)
        if not names.aggregates:
            return _found(inner, names.items[0], member, scope, is_vector)
        count = scope.count

        def wrap(fold: str) -> str:
            return f"map(tol[{count}], {fold}, [q])" if is_vector else fold

        domain = AggregateDomain(
            wrap,
            lambda name, at: f"{name}[{at}]" if is_vector else name,
            lambda row: member if row == inner.at else _member(query, inner.moved(row)),
            count,
            named=is_vector,
        )
        rows = Aggregation(
            scope.context.writer, inner.count, inner.moved, domain, variable=inner.at, inline=True
        )
        message = "a column stands beside aggregates of all rows"

        def read(at: str) -> SqlValue:
            item = replace(
                inner, at=at, parent=scope.moved(at), aggregate=rows.aggregate, columns_refused=message
            )
            return written(names.items[0].value, item)

        return read

    def inner(self, query: exp.Expression, scope: SqlScope) -> tuple[SqlScope, SelectNames]:
        """Return the scope of the rows of a query that is about rows around it."""
        if not isinstance(query, exp.Select):
            message = "a correlated query with UNION, INTERSECT or EXCEPT is outside of what is translated"
            raise refused(scope.source, query, message)
        context = self.within(query, scope.context)
        frame = joined(query, context, self.frame)
        inner = SqlScope(context, frame, _variable(scope), frame.count, parent=scope)
        return inner, names_of_select(query, frame, context)


def _select(query: exp.Expression) -> exp.Expression:
    while isinstance(query, (exp.Subquery, exp.Paren)):
        query = query.this
    return query


def _variable(scope: SqlScope) -> str:
    return "r" if scope.parent is None else f"r{scope.depth + 1}"


def _outer_columns(query: exp.Expression, scope: SqlScope) -> bool:
    return any(True for _ in free_columns(query, scope.context))


def _member(query: exp.Expression, inner: SqlScope) -> str | None:
    """Write whether a row of a query belongs to the row around it."""
    nodes = outer_conditions(query, inner.frame, inner.context)
    return every(truth_written(node, inner).text for node in nodes)


def _some(inner: SqlScope, test: str | None) -> str:
    return f"reduce(tol[{inner.count}], (a, z) => a or {test or 'true'}, false, [{inner.at}])"


def _each(inner: SqlScope, member: str | None, test: str) -> str:
    text = test if member is None else f"({negated(member)} or {test})"
    return f"reduce(tol[{inner.count}], (a, z) => a and {text}, true, [{inner.at}])"


def _found(
    inner: SqlScope, item: ResultItem, member: str | None, scope: SqlScope, is_vector: bool
) -> ValueReader:
    """Return how to read the one row that belongs to a row around it; a run stops where there are more."""
    writer = inner.context.writer
    plain = SqlScope(inner.context, inner.frame, "q", inner.count)
    for column in free_columns(item.value, inner.context):
        one_column(inner.frame, column, scope.source)
    value = FrameColumn("", item.name, lambda at: written(item.value, plain.moved(at)))
    read = padded(writer, Frame(inner.count, (value,))).columns[0].read
    step = f"where({member or 'true'}, where(a == 1, {inner.at} + 1, 0), a)"
    fold = f"reduce(tol[{inner.count}], (a, z) => {step}, 1, [{inner.at}])"
    if not is_vector:
        return lambda at: read(fold)
    name = writer.fresh("found")
    writer.define(name, f"map(tol[{scope.count}], {fold}, [q])")
    return lambda at: read(f"{name}[{at}]")


def _refuse_columns(query: exp.Expression, count: int, scope: SqlScope) -> None:
    if count != 1:
        raise refused(scope.source, query, f"a query that stands for a value has one column, not {count}")


def _refuse_groups(query: exp.Expression, names: SelectNames, scope: SqlScope) -> None:
    """Refuse what cannot be told for each row around a query."""
    parts: dict[str, Callable[[], object]] = {
        "GROUP BY": lambda: names.group,
        "HAVING": lambda: names.having,
        "QUALIFY": lambda: names.qualify,
        "LIMIT": lambda: query.args.get("limit") or query.args.get("offset"),
    }
    for word, is_there in parts.items():
        if is_there():
            message = f"a correlated query with {word} is outside of what is translated"
            raise refused(scope.source, query, message, "join with a query in FROM instead")
