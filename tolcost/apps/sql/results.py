"""The rows of a result: items, without duplicates, in an order, and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.expressions import written
from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader
from tolcost.apps.sql.query import refused, whole_number
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.values import SqlType, SqlValue, common_type, every, in_type, precedes, same
from tolcost.diagnostics import Source


class ResultItem(Struct, frozen=True, eq=False):
    """A column of the result."""

    name: str
    value: exp.Expression


class SortKey(Struct, frozen=True, eq=False):
    """An expression that rows are sorted by."""

    value: exp.Expression
    descending: bool
    nulls_first: bool


class QueryResult(Struct, frozen=True, eq=False):
    """The rows of a query.

    ``frame`` reads its columns as vectors, computed once; ``inline`` reads each by its expression, at the
    numbers of ``picks``, if those are given.
    """

    frame: Frame
    inline: tuple[ValueReader, ...]
    picks: str | None = None


def arranged(
    query: exp.Expression, items: Sequence[ResultItem], order: Sequence[SortKey], scope: SqlScope
) -> QueryResult:
    """Compute the items; remove duplicates, sort and cut where the query does."""
    writer, source = scope.context.writer, scope.source
    limit, offset = _cut(source, query)
    distinct = query.args.get("distinct") is not None and isinstance(query, exp.Select)
    reads = [_item(item, scope) for item in items]
    if not distinct and limit is None and offset is None and (not order or scope.frame.alone):
        for key in order:
            written(key.value, scope)
        columns = (
            FrameColumn("", item.name, _once(writer, scope, read))
            for item, read in zip(items, reads, strict=True)
        )
        return QueryResult(Frame(scope.count, tuple(columns), scope.frame.alone), tuple(reads))
    vectors = [writer.lazily("column", scope.count, read, n) for n, read in enumerate(reads, start=1)]
    for read in vectors:
        read("q")
    count, place = scope.count, "{}"
    if distinct:
        refuse_constants(
            source, [item.value for item in items], [read("q") for read in reads], "told apart by"
        )
        single = writer.word("single")
        writer.define(single, firsts(count, every(same_at(read) for read in vectors) or "true"))
        count, place = f"len({single})", f"{single}[{{}}]"
    known = [(item.value, read) for item, read in zip(items, vectors, strict=True)]
    picks = f"1..{count}"
    if order:
        keys = [_key(key, known, scope, n, distinct) for n, key in enumerate(order, start=1)]
        picks = ordered(writer, order, keys, count, place)
    picks = _limited(writer, picks, count, limit, offset)
    columns_ = (
        FrameColumn("", item.name, _placed(read, place, picks))
        for item, read in zip(items, vectors, strict=True)
    )
    inline = tuple(_placed(read, place, None) for read in vectors)
    return QueryResult(Frame(f"len({picks})", tuple(columns_)), inline, picks)


def _item(item: ResultItem, scope: SqlScope) -> ValueReader:
    return lambda at: written(item.value, scope.moved(at))


def _once(writer: ProgramWriter, scope: SqlScope, read: ValueReader) -> ValueReader:
    """Return how to read an item as a vector; a column is read where it is."""
    if not scope.frame.alone:
        vector = writer.lazily("value", scope.count, read)
        return lambda at: read(at) if _is_read(read("q").text) else vector(at)
    made: list[SqlValue] = []

    def one(at: str) -> SqlValue:
        if not made:
            value = read("1")
            name = writer.fresh("value")
            writer.define(name, value.text)
            known = value.known
            if known is not None:
                writer.define(f"{name}_known", known)
                known = f"{name}_known"
            no = None if value.no is None else f"({known} and not({name}))"
            made.append(replace(value, text=name, known=known, no=no, literal=None))
        return made[0]

    return one


def _is_read(text: str) -> bool:
    """Whether an expression only reads an entry: it has no operator and no call."""
    return text.endswith("]") and not any(sign in text for sign in "({ ")


def _placed(read: ValueReader, place: str, picks: str | None) -> ValueReader:
    if picks is None:
        return lambda at: read(place.format(at))
    return lambda at: read(place.format(f"{picks}[{at}]"))


def _key(
    key: SortKey, known: Sequence[tuple[exp.Expression, ValueReader]], scope: SqlScope, n: int, distinct: bool
) -> ValueReader:
    same_ = [read for value, read in known if value == key.value]
    if same_:
        return same_[0]
    if distinct:
        raise refused(scope.source, key.value, "with DISTINCT, rows are sorted by what is selected")
    read = scope.context.writer.lazily(
        "sorting", scope.count, lambda at: written(key.value, scope.moved(at)), n
    )
    read("q")
    return read


def ordered(
    writer: ProgramWriter,
    order: Sequence[SortKey],
    keys: Sequence[ValueReader],
    count: str,
    place: str = "{}",
) -> str:
    """Define the numbers of rows in an order, and return the name."""
    before, name = writer.word("before"), writer.word("order")
    text = ahead(order, keys, place.format("i"), place.format("j"))
    writer.define(f"{before}(i, j)", text)
    writer.define(name, f"ordered_by({count}, {before})")
    return name


def ahead(order: Sequence[SortKey], keys: Sequence[ValueReader], one: str, other: str) -> str:
    """Write whether one row precedes another: by the first key in which they differ."""
    text = ""
    for key, read in reversed(list(zip(order, keys, strict=True))):
        left, right = read(one), read(other)
        first = precedes(left, right, key.descending, key.nulls_first)
        text = f"{first} or {same(left, right)} and ({text})" if text else first
    return text


def _limited(writer: ProgramWriter, picks: str, count: str, limit: int | None, offset: int | None) -> str:
    if offset is not None:
        until = count if limit is None else f"min({count}, {offset + limit})"
        picks = f"part({picks}, [min({offset}, {count}) + 1], [max({until}, min({offset}, {count}))])"
    elif limit is not None:
        picks = f"limit({picks}, {limit})"
    name = writer.word("picks")
    writer.define(name, picks)
    return name


def _cut(source: Source, query: exp.Expression) -> tuple[int | None, int | None]:
    limit = whole_number(source, query.args.get("limit"), "LIMIT", 1)
    return limit, whole_number(source, query.args.get("offset"), "OFFSET", 0)


def refuse_constants(
    source: Source, nodes: Sequence[exp.Expression], values: Sequence[SqlValue], what: str
) -> None:
    """Refuse keys that do not depend on entries: the number of distinct rows would have no formula."""
    if all(value.static for value in values):
        message = f"all rows are the same in what they are {what}"
        raise refused(source, nodes[0], message, "name a column")


def same_at(read: ValueReader) -> str:
    """Write whether a value is the same at two rows."""
    return same(read("q"), read("r"))


def firsts(count: str, alike: str) -> str:
    """Write the numbers of the rows that differ from all earlier rows."""
    return f"where_true(map(tol[{count}], not(reduce(tol[q - 1], (a, z) => a or {alike}, false, [r])), [q]))"


def common_columns(
    writer: ProgramWriter, left: Frame, right: Frame, refuse: Callable[[str], Exception]
) -> list[tuple[ValueReader, ValueReader, SqlType]]:
    """Return how to read the columns of two frames in their common types."""
    if len(left.columns) != len(right.columns):
        raise refuse(f"one side has {len(left.columns)} columns, the other {len(right.columns)}")
    found = []
    for n, (one, other) in enumerate(zip(left.columns, right.columns, strict=True), start=1):
        joined = common_type((one.read("q").type, other.read("q").type))
        if joined is None:
            raise refuse(f"column {n} has different types on both sides")
        found.append((_as(writer, one.read, joined), _as(writer, other.read, joined), joined))
    return found


def _as(writer: ProgramWriter, read: ValueReader, wanted: SqlType) -> ValueReader:
    def converted(at: str) -> SqlValue:
        value = read(at)
        return replace(value, text=in_type(value, wanted, writer.table), type=wanted, literal=None)

    return converted
