"""Random queries in SQL: each gives DuckDB's rows, or is refused.

``python -m tools.sql_queries 10000 --start 1`` draws tables and queries: aliases that hide columns, places
and constants that only look like one, decimals, NaN and infinities, tables and results without rows, groups
of expressions, and queries that DuckDB refuses, which have to be refused here.  Every other group of seeds
has NULL in its tables, and queries inside of queries, outer joins, WITH, windows and set operations.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import duckdb
from msgspec.structs import replace

from tolcost.apps.sql import SqlColumn, SqlTable, read_query, translated
from tolcost.apps.sql.answers import execute_query, result_rows
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.derivation import compare_counts
from tools.specs.library_programs import possibly_empty

PER_TABLES = 40
"""So many queries are about the same tables."""
COUNTED = 13
"""The closed forms of every so many queries are derived and compared with the run."""
TEXTS = ("blue", "green", "red")
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "t": {"k": "Z", "a": "Z", "b": "R", "c": "text", "f": "B"},
    "u": {"k": "Z", "d": "Z", "e": "text", "g": "R"},
    "w": {"a": "Z", "h": "R", "p": "B"},
}
_KINDS = {"Z": "bigint", "R": "double", "N*": "varchar", "B": "boolean"}
_ALIASES = ("a", "k", "b", "d", "f", "z", "y", "s", "A")

# === Tables.


def draw_tables(seed: int) -> dict[str, SqlTable]:
    """Tables of few rows, or none, and few different numbers; NaN and infinities in some."""
    draw = random.Random(seed)
    wide = is_wide(seed)
    reals = [-1.5, -1.0, 0.0, 0.5, 1.0, 2.5, 3.0]
    if seed % 2:
        reals += [math.nan, math.nan, math.inf, -math.inf, -0.0]
    found = {}
    for name, columns in COLUMNS.items():
        size = draw.choice((0, 1, 2, 4, 5, 6) if seed % 3 == 0 else (1, 2, 4, 5, 6))
        made = {column: _drawn_column(draw, column, kind, size, reals) for column, kind in columns.items()}
        if wide:
            made = {name: _with_nulls(draw, column) for name, column in made.items()}
        found[name] = SqlTable(name, made)
    return found


def is_wide(group: int) -> bool:
    """Whether the tables of a group of seeds have NULL, and its queries more than the first select."""
    return group % 2 == 1


def _with_nulls(draw: random.Random, column: SqlColumn) -> SqlColumn:
    """The column, perhaps with NULL at some places."""
    if draw.random() < 0.5:
        return column
    values = column.values or ()
    nulls = tuple(draw.random() < 0.3 for _ in values)
    if column.space == "B":
        values = tuple(bool(value) and not missing for value, missing in zip(values, nulls, strict=True))
    return replace(column, nullable=True, nulls=nulls, values=values)


def _drawn_column(draw: random.Random, name: str, kind: str, size: int, reals: Sequence[float]) -> SqlColumn:
    match kind:
        case "Z":
            return SqlColumn(name, "Z", values=tuple(draw.randint(-3, 5) for _ in range(size)))
        case "R":
            return SqlColumn(name, "R", values=tuple(draw.choice(reals) for _ in range(size)))
        case "B":
            return SqlColumn(name, "B", values=tuple(draw.random() < 0.5 for _ in range(size)))
        case _:
            return SqlColumn(name, "N*", TEXTS, tuple(draw.randint(1, len(TEXTS)) for _ in range(size)))


def store(tables: Mapping[str, SqlTable]) -> duckdb.DuckDBPyConnection:
    """The same tables in DuckDB."""
    connection = duckdb.connect()
    for table in tables.values():
        columns = table.columns.values()
        typed = ", ".join(f"{column.name} {_KINDS[column.space]}" for column in columns)
        connection.execute(f"create table {table.name} ({typed})")
        values = [_told(column) for column in columns]
        for row in zip(*values, strict=True):
            marks = ", ".join("?" for _ in row)
            connection.execute(f"insert into {table.name} values ({marks})", list(row))
    return connection


def _told(column: SqlColumn) -> list[Any]:
    """The values of a column as DuckDB takes them."""
    values = column.values or ()
    plain = [column.texts[int(v) - 1] for v in values] if column.texts else list(values)
    nulls = column.nulls or (False,) * len(plain)
    return [None if missing else value for missing, value in zip(nulls, plain, strict=True)]


# === Queries.


@dataclass(frozen=True, slots=True)
class Query:
    """A query; its rows are in a settled order if it ``sorts`` by all of its columns."""

    sql: str
    sorts: bool
    unlimited: str | None = None
    """The query without its LIMIT, where that may take any rows."""


@dataclass(slots=True)
class _Drawing:
    """A query in the making: the tables that it names, by their aliases."""

    draw: random.Random
    names: list[tuple[str, str]] = field(default_factory=list)

    def flip(self, chance: float) -> bool:
        return self.draw.random() < chance

    # ---- columns and expressions

    def column(self, kind: str, names: Sequence[tuple[str, str]] | None = None) -> str | None:
        """A column of a kind, mostly with its table."""
        near = [
            (alias, column)
            for alias, table in names or self.names
            for column, of in COLUMNS[table].items()
            if of == kind
        ]
        if not near:
            return None
        alias, column = self.draw.choice(near)
        alone = sum(column in COLUMNS[table] for _, table in self.names) == 1
        return column if self.flip(0.5 if alone else 0.02) else f"{alias}.{column}"

    def number(self, depth: int = 1) -> str:
        """A number: a column, a literal, or a function of others."""
        if depth == 0 or self.flip(0.3):
            kinds = ["Z", "Z", "R"]
            column = self.column(self.draw.choice(kinds))
            if column is None or self.flip(0.15):
                return self.literal()
            return column
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.draw.choice(
            (
                f"{one} + {other}",
                f"{one} - {other}",
                f"({one}) * {self.literal()}",
                f"({one}) * ({other})",
                f"({one}) % {self.draw.choice(('2', '3', '0.3', '1.5', '2e0', '4'))}",
                f"({one}) / {self.draw.choice(('4', '2', '0.5', f'({other})'))}",
                f"-({one})",
                f"abs({one})",
                f"{self.draw.choice(('floor', 'ceil'))}({one})",
                f"{self.draw.choice(('sqrt', 'ln'))}({one})",
                f"case when {self.truth(depth - 1)} then {one} else {other} end",
            )
        )

    def literal(self) -> str:
        """A whole number, a decimal or a number with an exponent."""
        return self.draw.choice(
            ("0", "1", "2", "3", "5", "0.1", "0.3", "0.25", "1.5", "2.0", "0.10", "-1", ".5", "1e-1")
        )

    def truth(self, depth: int = 1) -> str:
        """A condition."""
        one, other = self.number(depth), self.number(max(depth - 1, 0))
        sign = self.draw.choice(("=", "<>", "<", "<=", ">", ">="))
        plain = [
            f"{one} {sign} {other}",
            f"{one} {sign} {self.literal()}",
            f"{one} between {self.literal()} and {other}",
            f"{one} in ({self.literal()}, {self.literal()}, {other})",
        ]
        column, text = self.column("B"), self.column("text")
        if column:
            plain += [column, f"{column} {sign} {self.draw.choice(('true', 'false'))}"]
        if text:
            plain += [f"{text} {sign} '{self.draw.choice(TEXTS)}'"]
        if depth:
            first, second = self.truth(depth - 1), self.truth(depth - 1)
            plain += [f"not ({first})", f"({first} or {second})", f"({first}) and {second}"]
        return self.draw.choice(plain)

    def value(self) -> str:
        """What may be selected or grouped by."""
        kind = self.draw.random()
        if kind < 0.15 and (text := self.column("text")):
            return text
        if kind < 0.35:
            return self.truth()
        return self.number(self.draw.choice((0, 1, 1, 2)))

    def aggregate(self) -> str:
        if self.flip(0.15):
            return self.draw.choice(("count(*)", f"count({self.value()})"))
        if self.flip(0.12):
            name = self.draw.choice(("min", "max", "sum"))
            value = self.column("text") if name != "sum" and self.flip(0.5) else self.truth()
            return f"{name}({value or self.truth()})"
        name = self.draw.choice(("sum", "avg", "min", "max"))
        return f"{name}({self.number(self.draw.choice((0, 1, 2)))})"

    def aggregated(self) -> str:
        """An aggregate, or a number made of them."""
        one = self.aggregate()
        if self.flip(0.2):
            return (
                f"{one} {self.draw.choice(('+', '*', '-'))} {self.draw.choice((self.literal(), 'count(*)'))}"
            )
        return one

    # ---- queries

    def tables(self) -> str:
        """FROM and JOIN; a condition may be about a table that comes later."""
        drawn = [self.draw.choice(sorted(COLUMNS)) for _ in range(self.draw.choice((1, 1, 1, 2, 2, 3)))]
        names = [
            (name if drawn.index(name) == n and self.flip(0.7) else f"{name}{n}", name)
            for n, name in enumerate(drawn)
        ]
        text = ""
        for n, (alias, table) in enumerate(names):
            named = table if alias == table else f"{table} {alias}"
            self.names = names if self.flip(0.03) else names[: n + 1]
            if n == 0:
                text = f"from {named}"
            elif self.flip(0.6):
                text += f" join {named} on {self.joining(alias)}"
            else:
                text += f", {named}" if self.flip(0.5) else f" cross join {named}"
        self.names = names
        return text

    def joining(self, alias: str) -> str:
        last = [pair for pair in self.names if pair[0] == alias]
        one, other = self.column("Z"), self.column("Z", last)
        return f"{one} = {other}" if self.flip(0.7) else self.truth()

    def item(self, value: str) -> str:
        return f"{value} as {self.draw.choice(_ALIASES)}" if self.flip(0.6) else value

    def query(self) -> Query:
        text = self.tables()
        tests = [self.truth(self.draw.choice((0, 1))) for _ in range(self.draw.choice((0, 0, 1, 2)))]
        if self.flip(0.08):
            tests.append(f"{self.number(0)} > 100")
        text += f" where {' and '.join(f'({test})' for test in tests)}" if tests else ""
        kind = self.draw.random()
        if kind < 0.2:
            items = [self.item(self.aggregated()) for _ in range(self.draw.randint(1, 3))]
            return Query(f"select {', '.join(items)} {text}", True)
        return self.groups(text) if kind < 0.6 else self.rows(text)

    def groups(self, text: str) -> Query:
        values = [self.value() for _ in range(self.draw.randint(1, 2))]
        items = [self.item(value) for value in values]
        keys = [self.key(n, value, item) for n, (value, item) in enumerate(zip(values, items, strict=True))]
        if self.flip(0.2):
            keys.append(self.value())
        items += [self.item(self.aggregated()) for _ in range(self.draw.randint(0, 2))]
        if self.flip(0.1):
            items.append(self.item(f"({values[0]}) + 1"))
        having = f" having {self.having(keys)}" if self.flip(0.25) else ""
        rest = f"{text} group by {', '.join(keys)}{having}"
        return self.sorted(items, rest, [*values, self.aggregate()])

    def key(self, n: int, value: str, item: str) -> str:
        """What an item is grouped by: its expression, its place or its alias."""
        alias = item.rpartition(" as ")[2]
        way = self.draw.random()
        if way < 0.25 and " as " in item:
            return alias
        if way < 0.45:
            return self.draw.choice((f"{n + 1}", f"({n + 1})"))
        return f"({value})" if way < 0.6 else value

    def having(self, keys: Sequence[str]) -> str:
        """A condition on groups."""
        key = next((key for key in keys if not key.strip("()").isdigit()), "count(*)")
        return self.draw.choice(
            (
                f"count(*) > {self.draw.randint(0, 2)}",
                f"{self.aggregate()} >= {self.literal()}",
                f"{key} > 0",
            )
        )

    def rows(self, text: str) -> Query:
        items = [self.item(self.value()) for _ in range(self.draw.randint(1, 3))]
        if self.flip(0.05):
            items = ["*"]
        return self.sorted(items, text, [self.value()], "distinct " if self.flip(0.35) else "")

    def sorted(self, items: Sequence[str], rest: str, others: Sequence[str], distinct: str = "") -> Query:
        """A query with an order that is settled, one that is not, or none."""
        plain = f"select {distinct}{', '.join(items)} {rest}"
        limit = f" limit {self.draw.randint(1, 4)}" if self.flip(0.3) else ""
        if self.flip(0.4):
            return Query(plain + limit, False, plain if limit else None)
        keys = []
        if self.flip(0.6):
            aliases = [item.rpartition(" as ")[2] for item in items if " as " in item]
            keys += [self.draw.choice((*others, *aliases, *aliases, *(f"-({alias})" for alias in aliases)))]
        if self.flip(0.1):
            keys += [self.draw.choice(("1 + 0", "-1", "0", "9", "1.5", "'x'", "true", "(1)", "-(1)", "+1"))]
        settled = bool(limit) or self.flip(0.7)
        if settled and items != ["*"]:
            places = [str(n) for n in range(1, len(items) + 1)]
            self.draw.shuffle(places)
            keys += [f"({place})" if self.flip(0.3) else place for place in places]
        elif not keys:
            return Query(plain, False)
        ways = ", ".join(key + self.draw.choice(("", "", " asc", " desc")) for key in keys)
        is_settled = settled and items != ["*"]
        return Query(
            f"{plain} order by {ways}{limit}", is_settled, None if is_settled or not limit else plain
        )


class _Wide(_Drawing):
    """A query with NULL, queries inside, outer joins, WITH, windows or set operations."""

    inside: int = 0

    def number(self, depth: int = 1) -> str:
        if depth and self.flip(0.2):
            one = super().number(depth - 1)
            return self.draw.choice(
                (f"coalesce({one}, {self.literal()})", f"nullif({one}, {self.literal()})", self.scalar())
            )
        return super().number(depth)

    def truth(self, depth: int = 1) -> str:
        if not self.flip(0.35):
            return super().truth(depth)
        one, other = super().number(0), super().number(0)
        return self.draw.choice(
            (
                f"{one} is {self.draw.choice(('', 'not '))}null",
                f"{one} is distinct from {other}",
                f"({super().truth(0)}) is {self.draw.choice(('true', 'not true', 'false', 'not false'))}",
                self.member(one),
                self.exists(),
                f"{one} {self.draw.choice(('<', '>=', '='))} {self.scalar()}",
            )
        )

    def inner(self) -> tuple[str, str, str]:
        """A table for a query inside, a condition that may be about the rows around it, and a column of Z."""
        if self.inside > 1:
            return "t q9", "true", "q9.a"
        alias, table = f"q{self.inside}", self.draw.choice(sorted(COLUMNS))
        column = self.draw.choice([name for name, kind in COLUMNS[table].items() if kind == "Z"])
        around = self.column("Z") if self.flip(0.5) else None
        test = f"{alias}.{column} {self.draw.choice(('=', '=', '<', '<>'))} {around or self.literal()}"
        return f"{table} {alias}", test if self.flip(0.7) else "true", f"{alias}.{column}"

    def scalar(self) -> str:
        """A query that gives one value."""
        named, test, column = self.inner()
        aggregate = self.draw.choice(("max({})", "min({})", "sum({})", "count({})", "count(*)", "avg({})"))
        return f"(select {aggregate.format(column)} from {named} where {test})"

    def member(self, one: str) -> str:
        named, test, column = self.inner()
        way = self.draw.choice(("in", "not in", "= any", "> all", "<> all", "< any"))
        return f"{one} {way} (select {column} from {named} where {test})"

    def exists(self) -> str:
        named, test, _ = self.inner()
        return f"{self.draw.choice(('', 'not '))}exists (select 1 from {named} where {test})"

    def joining(self, alias: str) -> str:
        last = [pair for pair in self.names if pair[0] == alias]
        return f"{self.column('Z', self.names[:1])} = {self.column('Z', last)}"

    def tables(self) -> str:
        text = super().tables()
        ways = ("join", "left join", "right join", "full join", "left join")
        return re.sub(r"(?<!cross )\bjoin\b", lambda _: self.draw.choice(ways), text)

    def window(self) -> str:
        """A function of the rows around a row, which does not hang on how equal rows are ordered."""
        name = self.draw.choice(("rank()", "dense_rank()", "percent_rank()", "cume_dist()", "count(*)"))
        if self.flip(0.5):
            name = f"{self.draw.choice(('sum', 'min', 'max', 'avg', 'count'))}({self.column('Z') or '1'})"
        by = f"partition by {self.number(0)} " if self.flip(0.5) else ""
        ranks = name.endswith("()")
        order = self.draw.choice(("", " desc", " nulls first", " desc nulls last"))
        ordered = f"order by {super().number(0)}{order}" if ranks or self.flip(0.6) else ""
        return f"{name} over ({by}{ordered})"

    def value(self) -> str:
        return self.window() if not self.inside and self.flip(0.15) else super().value()

    def query(self) -> Query:
        way = self.draw.random()
        if way < 0.12:
            return self.set_operation()
        if way < 0.24:
            return self.named()
        return super().query()

    def set_operation(self) -> Query:
        """Two queries of two numbers, as one."""
        word = self.draw.choice(("union", "union all", "intersect", "except", "except all", "intersect all"))
        one, other = (_Wide(self.draw).pair() for _ in range(2))
        order = " order by 1, 2" if self.flip(0.5) else ""
        return Query(f"{one} {word} {other}{order}", bool(order))

    def pair(self) -> str:
        """A query of two whole numbers without order, perhaps grouped."""
        text = self.tables()
        one, other = self.column("Z"), self.column("Z")
        test = f" where {self.truth(0)}" if self.flip(0.6) else ""
        if self.flip(0.3):
            return f"select {one} as i, count(*) as j {text}{test} group by {one}"
        return f"select {one} as i, {other} as j {text}{test}"

    def named(self) -> Query:
        """A query of one that WITH names, or that stands in FROM."""
        inner, key = _Wide(self.draw).pair(), self.draw.choice(("i", "j"))
        test = self.draw.choice(("", " where i > 0", " where j is not null", f" where {key} <> 1"))
        if self.flip(0.5):
            items, rest = f"{key}, count(*), sum(i)", f" group by {key} order by 1, 2, 3"
        else:
            items, rest = "i, j", " order by 1, 2"
        if self.flip(0.5):
            return Query(f"with c as ({inner}) select {items} from c{test}{rest}", True)
        return Query(f"select {items} from ({inner}) c{test}{rest}", True)


_BROKEN = (
    (r"count\(\*\)", "count(zzz)"),
    (r"count\(\*\)", "count(sum(k))"),
    (r"sum\(", "sum(1 + max("),
    (r"where ", "where count(*) > 1 and "),
    (r"avg\(.", "avg(true or "),
    (r"group by ", "group by 0, "),
    (r"group by ", "group by -1, "),
    (r"order by ", "order by -1, "),
    (r"order by ", "order by 1.0, "),
    (r"as [a-z]\b", "as zz, zz9"),
    (r" on ", " on t9.k = 1 and "),
)


def draw_query(seed: int) -> Query:
    """A query; one in twenty is broken on purpose."""
    draw = random.Random(seed)
    found = (_Wide if is_wide(seed // PER_TABLES) else _Drawing)(draw).query()
    if draw.random() < 0.05:
        pattern, text = draw.choice(_BROKEN)
        sql = re.sub(pattern, text, found.sql, count=1)
        return Query(sql, found.sorts, None if found.unlimited is None else sql.rpartition(" limit ")[0])
    return found


# === Answers.


@dataclass(slots=True)
class Outcome:
    """How many queries came to which end, what was refused and why, and the first that differ."""

    ends: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """How many gave DuckDB's rows."""
        return self.ends["same rows"] + self.ends["same, no rows"]


def answer(sql: str, tables: Mapping[str, SqlTable], counted: bool) -> list[tuple[Any, ...]]:
    """The rows of a query by its program."""
    found = translated(read_query(Source("<sql>", sql), tables))
    parsed = read_program(found.source)
    lowered = lower(parsed)
    if not all(column.values for column in found.inputs.values()):
        lowered = lower(parsed, possibly_empty(lowered.program))
    execution = execute_query(found, lowered)
    if counted:
        text, agree = compare_counts(execution.counts, execution.bindings, analyze_lowered(lowered, "<sql>"))
        assert agree, f"{sql}\n{text}"
    return result_rows(found, execution)


def duckdb_rows(sql: str, connection: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """DuckDB's rows; a time at midnight is a date."""
    return [tuple(_plain(value) for value in row) for row in connection.execute(sql).fetchall()]


def _plain(value: Any) -> Any:
    return value.date() if isinstance(value, datetime) else value


def hold(
    seed: int, tables: Mapping[str, SqlTable], connection: duckdb.DuckDBPyConnection, to: Outcome
) -> None:
    """Ask both sides one query."""
    query = draw_query(seed)
    expected: list[tuple[Any, ...]] | None = None
    stopped = ""
    try:
        expected = duckdb_rows(query.sql, connection)
    except duckdb.Error as error:
        stopped = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        found = answer(query.sql, tables, seed % COUNTED == 0)
    except Rejected as refused:
        end = "refused by both" if expected is None else "refused"
        to.ends[end] += 1
        to.reasons[f"{end}: {re.sub(r'`[^`]*`', '`…`', refused.diagnostics[0].message)}"] += 1
        return
    if expected is None:
        # a constant that DuckDB computes, such as -(-(0)), is a place for it
        is_run = stopped.startswith(("OutOfRange", "Conversion", "InvalidInput")) or "out of range" in stopped
        to.ends["DuckDB stops, with rows here" if is_run else "refused by DuckDB alone"] += 1
        if not is_run:
            to.differing.append(f"{seed}: {query.sql}\n  {stopped}, but there are rows here: {found[:4]}")
        return
    if not _agree(query, found, expected, connection):
        with store(tables) as afresh:  # DuckDB was seen to leave out a group, and not to when asked again
            again = duckdb_rows(query.sql, afresh)
        if not same_rows(again, expected) and _agree(query, found, again, connection):
            to.ends["DuckDB says otherwise when it is asked again"] += 1
            return
        to.ends["different"] += 1
        to.differing.append(f"{seed}: {query.sql}\n  {found[:6]} is not DuckDB's {expected[:6]}")
        return
    to.ends["same rows" if expected else "same, no rows"] += 1


def _agree(
    query: Query,
    found: Sequence[tuple[Any, ...]],
    expected: Sequence[tuple[Any, ...]],
    connection: duckdb.DuckDBPyConnection,
) -> bool:
    if query.sorts:
        return rows_agree(found, expected)
    if query.unlimited is None:
        return same_rows(found, expected)
    whole = _in_order(duckdb_rows(query.unlimited, connection))
    return len(found) == len(expected) and all(
        any(rows_agree([row], [one]) for one in whole) for row in found
    )


def same_rows(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> bool:
    """Whether rows are the same, in any order."""
    return rows_agree(_in_order(found), _in_order(expected))


def _in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows in an order of their own, in which NULL and NaN have a place, and nearly equal numbers too."""
    return sorted(rows, key=lambda row: [_rank(value) for value in row])


def _rank(value: Any) -> tuple[int, float | str]:
    if value is None:
        return (2, 0.0)
    if isinstance(value, (str, date)):
        return (0, str(value))
    return (1, 0.0) if math.isnan(value) else (0, float(f"{value:.9g}"))


def rows_agree(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> bool:
    """Whether rows are the same, in their order."""
    if len(found) != len(expected):
        return False
    pairs = (
        (a, b) for one, other in zip(found, expected, strict=True) for a, b in zip(one, other, strict=True)
    )
    return all(_near(a, b) for a, b in pairs)


def _near(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, (str, date)) or isinstance(other, (str, date)):
        return bool(one == other)
    a, b = float(one), float(other)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))


def campaign(seeds: Iterable[int]) -> Outcome:
    """Ask all queries of some seeds."""
    outcome = Outcome()
    for tables, connection, group in _by_tables(seeds):
        for seed in group:
            hold(seed, tables, connection, outcome)
    return outcome


def _by_tables(
    seeds: Iterable[int],
) -> Iterator[tuple[dict[str, SqlTable], duckdb.DuckDBPyConnection, list[int]]]:
    groups: dict[int, list[int]] = {}
    for seed in seeds:
        groups.setdefault(seed // PER_TABLES, []).append(seed)
    for number, group in groups.items():
        tables = draw_tables(number)
        with store(tables) as connection:
            yield tables, connection, group


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask as many queries as there are to be, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    given = parser.parse_args(arguments)
    begun = time.monotonic()
    outcome = campaign(range(given.start, given.start + given.count))
    for text in outcome.differing:
        print(text)
    print(f"{given.count} queries from {given.start} on, {time.monotonic() - begun:.0f} s")
    for end, times in outcome.ends.most_common():
        print(f"{times:7} {end}")
    for reason, times in outcome.reasons.most_common(25):
        print(f"{times:9} {reason}")
    return 1 if outcome.differing else 0


if __name__ == "__main__":
    sys.exit(main())
