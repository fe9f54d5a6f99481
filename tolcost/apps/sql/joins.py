"""FROM and WHERE: filter the tables of a query, and join them.

Conditions on one table filter its rows; others filter the pairs of the first join at which all their tables
are there, which looks at all pairs.  Conditions with a query inside filter the rows that the others leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from sqlglot import exp

from tolcost.apps.sql.expressions import compare_values, truth_written
from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader, as_value
from tolcost.apps.sql.query import conjuncts, nearest, refused
from tolcost.apps.sql.scopes import SqlContext, SqlScope, free_columns, has_query, matching, one_column
from tolcost.apps.sql.values import SqlValue, default
from tolcost.diagnostics import quoted

QueryRows = Callable[[exp.Expression, SqlContext], Frame]


class SqlCondition(Struct, frozen=True, eq=False):
    """A condition, and the tables that it is about; one with a ``query`` inside is looked at last."""

    node: exp.Expression
    needed: frozenset[int]
    query: bool


class _Join(Struct, frozen=True, eq=False):
    side: str
    on: tuple[SqlCondition, ...]
    using: tuple[str, ...]
    node: exp.Expression


class _From(Struct, eq=False):
    context: SqlContext
    frames: list[Frame]
    joins: list[_Join]
    conditions: list[SqlCondition]

    @property
    def writer(self) -> ProgramWriter:
        return self.context.writer


def joined(select: exp.Select, context: SqlContext, query: QueryRows) -> Frame:
    """Filter every table of a query, and join them one after another.

    Conditions that are about a query around are left out.
    """
    frames, joins = _sources(select, context, query)
    where = select.args.get("where")
    conditions = []
    for node in conjuncts(where.this) if where else ():
        found = _needed(node, frames, context)
        if found is not None:
            conditions.append(SqlCondition(node, found, has_query(node)))
    state = _From(context, frames, joins, conditions)
    return _outer(state) if any(join.side for join in joins) else _inner(state)


def outer_conditions(select: exp.Expression, frame: Frame, context: SqlContext) -> list[exp.Expression]:
    """Return the conditions of WHERE that are about rows around a query, too."""
    where = select.args.get("where")
    nodes = conjuncts(where.this) if where else ()
    return [n for n in nodes if not all(matching(frame, column) for column in free_columns(n, context))]


def _sources(select: exp.Select, context: SqlContext, query: QueryRows) -> tuple[list[Frame], list[_Join]]:
    start = select.args.get("from_")
    if start is None:
        raise refused(context.source, select, "a query needs a table", "FROM is missing")
    frames = [_source(start.this, context, query)]
    joins: list[_Join] = []
    listed = False
    for node in select.args.get("joins") or ():
        frames.append(_source(node.this, context, query))
        joins.append(_join(node, frames, context))
        listed = listed or _is_comma(node)
        if listed and joins[-1].side in ("RIGHT", "FULL"):  # its left side begins after the comma
            hint = "CROSS JOIN in place of the comma, if all tables before are meant"
            raise refused(context.source, node.this, "this join comes after a comma", hint)
    return frames, joins


def _is_comma(node: exp.Join) -> bool:
    """Whether two tables are only listed, which binds less than any JOIN does."""
    return not any(node.args.get(part) for part in ("side", "kind", "method", "on", "using"))


def _source(node: exp.Expression, context: SqlContext, query: QueryRows) -> Frame:
    """Return the rows of a table, of a query in FROM, or of one that WITH names."""
    alias = node.args.get("alias")
    names = [column.name.lower() for column in (alias.args.get("columns") or ())] if alias else []
    if isinstance(node, exp.Subquery):
        found = query(node.this, context)
    elif not isinstance(node, exp.Table) or node.args.get("joins"):
        hint = "a table, a query in parentheses, or a name from WITH can stand there"
        raise refused(context.source, node, "this cannot stand in FROM", hint)
    elif node.name.lower() in context.named:
        found = context.named[node.name.lower()]
    elif node.name.lower() in context.tables:
        table = context.tables[node.name.lower()]
        found = context.writer.scan(table, node.alias_or_name.lower())
    else:
        name = node.name.lower()
        hint = nearest(name, [*context.tables, *context.named])
        raise refused(context.source, node, f"there is no table {quoted(name)}", hint, "T0803")
    if len(names) > len(found.columns):
        raise refused(context.source, node, f"there are only {len(found.columns)} columns")
    return found.named(node.alias_or_name.lower(), names)


def _join(node: exp.Join, frames: Sequence[Frame], context: SqlContext) -> _Join:
    side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
    if (
        kind not in ("", "INNER", "CROSS", "OUTER")
        or method not in ("", "NATURAL")
        or side not in ("", "LEFT", "RIGHT", "FULL")
    ):
        hint = "JOIN, LEFT, RIGHT and FULL JOIN with ON or USING, CROSS JOIN and NATURAL JOIN are inside"
        raise refused(context.source, node.this, "this join is outside of what is translated", hint)
    using = [name.name.lower() for name in node.args.get("using") or ()]
    if method:
        mine = {column.name for column in frames[-1].columns}
        using = [c.name for frame in frames[:-1] for c in frame.columns if c.name in mine]
    on: list[SqlCondition] = []
    for part in conjuncts(node.args["on"]) if node.args.get("on") else ():
        needed = _needed(part, frames, context)
        if needed is None:
            for column in free_columns(part, context):
                one_column(_all(frames), column, context.source)
        on.append(SqlCondition(part, needed or frozenset(), has_query(part)))
    return _Join(side, tuple(on), tuple(dict.fromkeys(using)), node.this)


def _all(frames: Iterable[Frame]) -> Frame:
    return Frame("1", tuple(column for frame in frames for column in frame.columns))


def _needed(node: exp.Expression, frames: Sequence[Frame], context: SqlContext) -> frozenset[int] | None:
    """Return the tables that a condition is about; None if it is about a query around, too."""
    found = set()
    for column in free_columns(node, context):
        near = [n for n, frame in enumerate(frames) if matching(frame, column)]
        if not near:
            return None
        found.update(near[:1] if len(near) == 1 or column.text("table") else near)
    return frozenset(found)


# === Rows.


def filtered(
    context: SqlContext, frame: Frame, nodes: Sequence[exp.Expression], number: int | None = None
) -> Frame:
    """Return the rows for which conditions hold; those with a query inside come last."""
    for group in ([n for n in nodes if not has_query(n)], [n for n in nodes if has_query(n)]):
        if group:
            scope = SqlScope(context, frame, "i", frame.count)
            frame = kept(context.writer, frame, [truth_written(node, scope) for node in group], number)
    return frame


def kept(writer: ProgramWriter, frame: Frame, tests: Sequence[SqlValue], number: int | None = None) -> Frame:
    """Return the rows at which tests hold, which are written for row ``i``."""
    texts = [test.text for test in tests]
    name = writer.fresh("rows", number)
    if all(test.static for test in tests) and not {"true", "false"} >= set(texts):
        keep = f"where({' and '.join(texts)}, {frame.count}, 0)"
        writer.define(name, f"part(1..{frame.count}, [1], [{keep}])")
    else:
        writer.define(name, f"where_true(map(tol[{frame.count}], {' and '.join(texts)}, [i]))")
    return frame.take(f"len({name})", lambda at: f"{name}[{at}]")


def _base(state: _From, n: int, conditions: Iterable[SqlCondition]) -> Frame:
    return filtered(state.context, state.frames[n], [one.node for one in conditions], n + 1)


def _inner(state: _From) -> Frame:
    """Join tables that need no NULL: next comes the first that a condition ties to those before."""
    conditions = [*state.conditions, *(one for join in state.joins for one in join.on)]
    using = {n: join for n, join in enumerate(state.joins, start=1) if join.using}
    left = list(range(len(state.frames)))
    joined_: set[int] = set()
    frame: Frame | None = None
    for _ in range(len(left)):
        n = left[0] if frame is None or using else _tied(left, joined_, conditions)
        left.remove(n)
        own = _base(
            state, n, [one for one in conditions if one.needed <= {n} and (one.needed or not joined_)]
        )
        joined_.add(n)
        if frame is None:
            frame = own
            continue
        new = [one for one in conditions if n in one.needed and len(one.needed) > 1 and one.needed <= joined_]
        plain = [one.node for one in new if not one.query]
        frame = _paired(state, n, frame, own, plain, using.get(n))
        frame = filtered(state.context, frame, [one.node for one in new if one.query])
    assert frame is not None
    return _in_order(frame, state.frames)


def _tied(left: Sequence[int], joined_: set[int], conditions: Sequence[SqlCondition]) -> int:
    for n in left:
        if any(
            n in one.needed and one.needed - {n} and one.needed <= joined_ | {n} and not one.query
            for one in conditions
        ):
            return n
    return left[0]


def _in_order(frame: Frame, frames: Sequence[Frame]) -> Frame:
    """Return the columns in the order in which tables are named."""
    place = {(c.table, c.name): n for n, c in enumerate(column for one in frames for column in one.columns)}
    columns = sorted(frame.columns, key=lambda column: place.get((column.table, column.name), -1))
    return Frame(frame.count, tuple(columns), frame.alone)


def _pairs(left: Frame, right: Frame) -> Frame:
    """Return the columns of two frames, at rows ``i`` and ``j``."""
    columns = [FrameColumn(c.table, c.name, _at(c.read, "i"), c.hidden) for c in left.columns]
    columns += [FrameColumn(c.table, c.name, _at(c.read, "j"), c.hidden) for c in right.columns]
    return Frame(f"{left.count} * {right.count}", tuple(columns))


def _at(read: ValueReader, place: str) -> ValueReader:
    return lambda at: read(place)


def _tests(
    state: _From, left: Frame, right: Frame, nodes: Sequence[exp.Expression], using: _Join | None
) -> list[SqlValue]:
    scope = SqlScope(state.context, _pairs(left, right), "i", left.count, fixed=True)
    found = []
    for name in using.using if using else ():
        column = exp.column(name)
        one, other = (
            one_column(side, column, state.context.source).read(at)
            for side, at in ((left, "i"), (right, "j"))
        )
        assert using is not None
        found.append(compare_values(using.node, one, "==", other, scope))
    return [*found, *(truth_written(node, scope) for node in nodes)]


def _paired(
    state: _From, n: int, left: Frame, right: Frame, nodes: Sequence[exp.Expression], using: _Join | None
) -> Frame:
    """Join the current rows with those of another table."""
    name = state.writer.fresh("pairs", n + 1)
    size = f"{left.count} * {right.count}"
    pairs = f"reshape(map(tol[{left.count}, {right.count}], [i, j], [i, j]), [{size}, 2])"
    tests = _tests(state, left, right, nodes, using)
    if tests:
        test = " and ".join(test.text for test in tests)
        mask = f"reshape(map(tol[{left.count}, {right.count}], {test}, [i, j]), [{size}])"
        pairs = f"filter({pairs}, {mask})"
    state.writer.define(name, pairs)
    count = f"len({name})"
    one = left.take(count, lambda at: f"{name}[{at}, 1]")
    other = right.take(count, lambda at: f"{name}[{at}, 2]")
    return _merged(count, one, other, using, "")


def _merged(count: str, left: Frame, right: Frame, using: _Join | None, side: str) -> Frame:
    """Put columns side by side; those of USING become one, and are hidden under their own names."""
    names = using.using if using else ()
    made = []
    for name in names:
        one, other = (
            next(c for c in part.columns if c.name == name and not c.hidden) for part in (left, right)
        )
        made.append(FrameColumn("", name, _either(one.read, other.read, side)))
    rest = [
        FrameColumn(c.table, c.name, c.read, c.hidden or c.name in names)
        for c in (*left.columns, *right.columns)
        if c.table or c.name not in names
    ]
    return Frame(count, (*made, *rest))


def _either(one: ValueReader, other: ValueReader, side: str) -> ValueReader:
    """Return how to read a column of USING: of the side that is always there, or of that which is."""
    if side == "RIGHT":
        return other
    if side != "FULL":
        return one

    def read(at: str) -> SqlValue:
        first, second = one(at), other(at)
        text = f"where({first.known}, {first.text}, {second.text})"
        known = f"({first.known} or {second.known})"
        return as_value(text, first.type, known)

    return read


# === Outer joins.


def _outer(state: _From) -> Frame:
    """Join tables in the order of the text, where some sides are NULL for want of a partner."""
    joins = state.joins
    last = max((n for n, join in enumerate(joins, start=1) if join.side in ("RIGHT", "FULL")), default=0)
    missing = {n for n, join in enumerate(joins, start=1) if join.side in ("LEFT", "FULL")} | set(range(last))
    waiting = [
        one for one in state.conditions if not one.needed or len(one.needed) > 1 or one.needed & missing
    ]
    frame = _base(state, 0, [one for one in state.conditions if one not in waiting and 0 in one.needed])
    for n, join in enumerate(joins, start=1):
        alone = [one for one in state.conditions if one not in waiting and one.needed == {n}]
        if join.side in ("", "LEFT"):
            alone += [one for one in join.on if one.needed == {n}]
        own = _base(state, n, alone)
        on = [one.node for one in join.on if one not in alone]
        if join.side:
            frame = _outer_paired(state, n, frame, own, on, join)
        else:
            frame = _paired(state, n, frame, own, on, join)
        if n >= last:
            ready = [one for one in waiting if max(one.needed, default=0) <= n]
            frame = filtered(state.context, frame, [one.node for one in ready])
            waiting = [one for one in waiting if one not in ready]
    return frame


def _outer_paired(
    state: _From, n: int, left: Frame, right: Frame, nodes: Sequence[exp.Expression], join: _Join
) -> Frame:
    """Join rows, and keep those without a partner; row 1 of a side is then the one that is missing."""
    writer, side = state.writer, join.side
    tests = _tests(state, left, right, nodes, join)
    if all(test.static for test in tests):
        raise refused(
            state.context.source, join.node, "an outer join needs a condition on columns of both sides"
        )
    hits, name = writer.fresh("hits", n + 1), writer.fresh("pairs", n + 1)
    size = f"{left.count} * {right.count}"
    writer.define(
        hits, f"map(tol[{left.count}, {right.count}], {' and '.join(t.text for t in tests)}, [i, j])"
    )
    first = "i + 1" if side in ("RIGHT", "FULL") else "i"
    second = "j + 1" if side in ("LEFT", "FULL") else "j"
    both = f"reshape(map(tol[{left.count}, {right.count}], [{first}, {second}], [i, j]), [{size}, 2])"
    pairs = f"filter({both}, reshape({hits}, [{size}]))"
    if side in ("LEFT", "FULL"):
        alone = _lonely(writer, hits, (left.count, "i"), (right.count, "j"))
        pairs = f"join({pairs}, map({alone}, (i) => [{first}, 1]), 1)"
    if side in ("RIGHT", "FULL"):
        alone = _lonely(writer, hits, (right.count, "j"), (left.count, "i"))
        pairs = f"join({pairs}, map({alone}, (j) => [1, {second}]), 1)"
    writer.define(name, pairs)
    count = f"len({name})"
    sides = (
        padded(writer, left) if side != "LEFT" else left,
        padded(writer, right) if side != "RIGHT" else right,
    )
    one, other = (
        Frame(count, tuple(_through(c, name, k) for c in part.columns))
        for k, part in enumerate(sides, start=1)
    )
    return _merged(count, one, other, join, side)


def _lonely(writer: ProgramWriter, hits: str, mine: tuple[str, str], other: tuple[str, str]) -> str:
    """Define the rows of one side that have no partner on the other."""
    name = writer.fresh("lonely")
    found = f"reduce(tol[{other[0]}], (a, z) => a or {hits}[i, j], false, [{other[1]}])"
    writer.define(name, f"where_true(map(tol[{mine[0]}], not({found}), [{mine[1]}]))")
    return name


def _through(column: FrameColumn, name: str, side: int) -> FrameColumn:
    return FrameColumn(
        column.table, column.name, lambda at: column.read(f"{name}[{at}, {side}]"), column.hidden
    )


def padded(writer: ProgramWriter, frame: Frame) -> Frame:
    """Return the rows after one in which all columns are NULL."""
    columns = tuple(
        FrameColumn(c.table, c.name, _padded(writer, frame.count, c.read), c.hidden) for c in frame.columns
    )
    return Frame(f"({frame.count} + 1)", columns)


def _padded(writer: ProgramWriter, count: str, at: ValueReader) -> ValueReader:
    made: list[tuple[str, SqlValue]] = []

    def read(place: str) -> SqlValue:
        if not made:
            value = at("q")
            name = writer.fresh("outer")
            rows = f"map(tol[{count}], {value.text}, [q])"
            writer.define(name, f"join([{default(value.type)}], {rows}, 1)")
            if value.known is not None:
                rows = f"map(tol[{count}], {value.known}, [q])"
                writer.define(f"{name}_known", f"join([false], {rows}, 1)")
            made.append((name, value))
        name, value = made[0]
        known = f"({place} > 1)" if value.known is None else f"{name}_known[{place}]"
        return as_value(f"{name}[{place}]", value.type, known)

    return read
