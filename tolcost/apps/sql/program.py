"""Write the program of a query: filter, join, group and sort row numbers, and read values last.

Conditions on one table filter its rows; others filter the pairs of the first join at which all their tables
are available, which examines all pairs.  Groups and duplicates are found by comparing each row with earlier
rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.expressions import (
    WHOLE,
    ExpressionScope,
    GroupKeys,
    SqlType,
    SqlValue,
    compared,
    condition_written,
    number_written,
    written,
)
from tolcost.apps.sql.query import AGGREGATES, SqlQuery, refused
from tolcost.apps.sql.tables import SqlColumn
from tolcost.diagnostics import Source
from tolcost.platform import read_spec
from tolcost.syntax import parse, signatures
from tolcost.syntax.format import format_program
from tolcost.syntax.names import BUILTINS, CONSTANTS

_LIBRARIES = ("relations", "vectors", "total_order")
_ORDERS_NAN = ("same_number(", "less_number(")
_OURS = re.compile(r"(rows|pairs|key|argument|aggregate|column|sorting)\d+")
_FIXED = frozenset(
    ("aggregated", "alike", "groups", "kept", "single", "before", "order", "picks", *"azijqrg")
)
RowText = Callable[[int, str], str]
"""Returns the row number of a table, given its index among the uses and a position in the current rows."""


class Translated(Struct, frozen=True, eq=False):
    """The program of a query, and the column of each of its inputs.

    ``aggregated`` is the number of aggregated rows, in ToLang, for queries where SQL gives NULL if there is
    none.
    """

    source: Source
    inputs: Mapping[str, SqlColumn]
    aggregated: str | None = None

    @property
    def counting(self) -> Source:
        """The program with a further output, ``aggregated``: a run with 0 such rows is refused."""
        if self.aggregated is None:
            return self.source
        return Source("<sql>", f"{self.source.text}aggregated := {self.aggregated}\n")


def translated(query: SqlQuery) -> Translated:
    """Write the program of a query."""
    writer = _Writer(query)
    text = format_program(parse(Source("<sql>", writer.text())))
    columns = {use.table.name: use.table.columns for use in query.uses}
    inputs = {name: columns[table][column.lower()] for (table, column), name in writer.inputs.items()}
    return Translated(Source("<sql>", text), inputs, writer.aggregated)


@cache
def _taken() -> frozenset[str]:
    """Return the names that a query's program must not define."""
    defined = {name for file in _LIBRARIES for name in signatures(parse(read_spec("lib", file)))}
    return frozenset(defined | BUILTINS.keys() | CONSTANTS | _FIXED)


class _Final(Struct, frozen=True, eq=False):
    """The rows of the result before sorting: their number, and the scope for expressions at a row."""

    count: str
    scope: Callable[[str], ExpressionScope]


class _Writer(Struct, eq=False):
    query: SqlQuery
    lines: list[str] = field(default_factory=list)
    inputs: dict[tuple[str, str], str] = field(default_factory=dict)
    lengths: dict[str, str] = field(default_factory=dict)
    folds: dict[str, SqlValue] = field(default_factory=dict)
    aggregated: str | None = None
    taken: set[str] = field(default_factory=lambda: set(_taken()))

    def text(self) -> str:
        """Write the whole program."""
        for use in self.query.uses:
            if use.table.name not in self.lengths:
                self.lengths[use.table.name] = self.name(use.table.name)
        count, rows = self.joined()
        if self.query.aggregates and not self.query.group:
            self.single(count, rows)
        else:
            self.outputs(self.grouped(count, rows) if self.query.aggregates else self.plain(count, rows))
        sql = " ".join(self.query.source.text.split())
        used = ["use relations"]
        if any(name in line for line in self.lines for name in _ORDERS_NAN):
            used.append("use total_order")
        return "\n".join((f"# {sql}", *self.declared(), *used, *self.lines)) + "\n"

    # ---- names -------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """Return a new, unused name."""
        plain = re.sub(r"\W", "_", wanted.lower(), flags=re.ASCII) or "value"
        name = plain if plain[0].isalpha() else f"_{plain}"
        while name in self.taken or _OURS.fullmatch(name):
            name += "_"
        self.taken.add(name)
        return name

    def input(self, table: str, column: SqlColumn) -> str:
        """Return the input that holds a column."""
        key = (table, column.name)
        if key not in self.inputs:
            self.inputs[key] = self.name(f"{table}_{column.name}")
        return self.inputs[key]

    def declared(self) -> Iterator[str]:
        """Yield the inputs: the used columns, and at least one column of every table."""
        for use in self.query.uses:
            if not any(table == use.table.name for table, _ in self.inputs):
                self.input(use.table.name, next(iter(use.table.columns.values())))
        spaces = {
            (use.table.name, column.name): column.space
            for use in self.query.uses
            for column in use.table.columns.values()
        }
        for (table, column), name in self.inputs.items():
            yield f"tol {name}: {spaces[table, column]} [{self.lengths[table]}]"

    def define(self, name: str, value: str) -> None:
        self.lines.append(f"{name} = {value}")

    def vector(self, name: str, count: str, value: str) -> str:
        """Define a vector with a value for each row."""
        self.define(name, f"map(tol[{count}], {value}, [q])")
        return name

    # ---- rows --------------------------------------------------------------------------------

    def scope(
        self, place: Callable[[int], str], aggregate: Callable[[exp.Expression], SqlValue] | None = None
    ) -> ExpressionScope:
        """Return a scope that reads columns at the rows that ``place`` gives."""

        def column(node: exp.Expression) -> str:
            n, found = self.query.column(node)
            return f"{self.input(self.query.uses[n].table.name, found)}[{place(n)}]"

        return ExpressionScope(self.query, column, aggregate)

    def joined(self) -> tuple[str, RowText]:
        """Filter every table, and join them one after another."""
        needed = [(self.tables_of(node), node) for node in self.query.conditions]
        count, rows = self.base(0, [node for tables, node in needed if max(tables, default=0) == 0])
        for n in range(1, len(self.query.uses)):
            alone = [node for tables, node in needed if tables == {n}]
            together = [node for tables, node in needed if len(tables) > 1 and max(tables) == n]
            count, rows = self.join(n, count, rows, self.base(n, alone), together)
        return count, rows

    def tables_of(self, node: exp.Expression) -> set[int]:
        return {self.query.column(column)[0] for column in node.find_all(exp.Column)}

    def base(self, n: int, conditions: Sequence[exp.Expression]) -> tuple[str, RowText]:
        """Return the rows of one table."""
        length = self.lengths[self.query.uses[n].table.name]
        if not conditions:
            return length, lambda table, at: at
        test = _all(condition_written(node, self.scope(lambda table: "i")) for node in conditions)
        self.define(f"rows{n + 1}", f"where_true(map(tol[{length}], {test}, [i]))")
        return f"len(rows{n + 1})", lambda table, at: f"rows{n + 1}[{at}]"

    def join(
        self,
        n: int,
        count: str,
        rows: RowText,
        added: tuple[str, RowText],
        conditions: Sequence[exp.Expression],
    ) -> tuple[str, RowText]:
        """Join the current rows with those of another table."""
        more, own = added
        name = f"pairs{n + 1}"
        pairs = f"reshape(map(tol[{count}, {more}], [i, j], [i, j]), [{count} * {more}, 2])"
        if conditions:
            scope = self.scope(lambda table: own(table, "j") if table == n else rows(table, "i"))
            test = _all(condition_written(node, scope) for node in conditions)
            mask = f"reshape(map(tol[{count}, {more}], {test}, [i, j]), [{count} * {more}])"
            pairs = f"filter({pairs}, {mask})"
        self.define(name, pairs)

        def at(table: int, place: str) -> str:
            return own(table, f"{name}[{place}, 2]") if table == n else rows(table, f"{name}[{place}, 1]")

        return f"len({name})", at

    # ---- groups and aggregates ---------------------------------------------------------------

    def plain(self, count: str, rows: RowText) -> _Final:
        """Return the result without groups: a row for each row."""
        if self.query.having is not None:
            raise refused(self.query.source, self.query.having, "HAVING needs groups", "WHERE filters rows")
        return _Final(count, lambda at: self.scope(lambda n: rows(n, at)))

    def single(self, count: str, rows: RowText) -> None:
        """Write aggregates over all rows: one row of the result, a number for each item."""
        query = self.query
        if query.having is not None:
            message = "HAVING without GROUP BY is outside of what is translated"
            raise refused(query.source, query.having, message)
        if query.order:
            raise refused(query.source, query.order[0].value, "one row needs no ORDER BY")

        def aggregate(node: exp.Expression) -> SqlValue:
            if not isinstance(node, exp.Count):
                self.aggregated = count
            return self.folded(node, count, rows, None)

        def column(node: exp.Expression) -> str:
            raise refused(query.source, node, "a column stands beside aggregates of all rows", "group by it")

        for item in query.items:
            value = written(item.value, ExpressionScope(query, column, aggregate))
            self.lines.append(f"{self.name(item.name)} := {value.real}")

    def grouped(self, count: str, rows: RowText) -> _Final:
        """Write groups: the number of the first row of each, and aggregates of all of its rows."""
        query = self.query
        self.refuse_constants(query.group, "grouped by")
        plain = self.scope(lambda n: rows(n, "q"))
        keys = [written(node, plain) for node in query.group]
        names = [self.vector(f"key{n}", count, key.text) for n, key in enumerate(keys, start=1)]
        pairs = zip(names, keys, strict=True)
        self.define("alike(q, r)", _all(_same_at(name, key.type) for name, key in pairs))
        self.define("groups", _firsts(count, "alike(q, r)"))
        grouped = GroupKeys(plain, frozenset(keys))

        def scope(at: str) -> ExpressionScope:
            inner = self.scope(lambda n: rows(n, f"groups[{at}]"), lambda node: _entry(aggregate(node), at))
            return replace(inner, keyed=grouped)

        def aggregate(node: exp.Expression) -> SqlValue:
            return self.folded(node, count, rows, "groups")

        if query.having is None:
            return _Final("len(groups)", scope)
        test = condition_written(query.having, scope("q"))
        self.define("kept", f"where_true(map(tol[len(groups)], {test}, [q]))")
        return _Final("len(kept)", lambda at: scope(f"kept[{at}]"))

    def refuse_constants(self, values: Sequence[exp.Expression], what: str) -> None:
        """Refuse keys without columns: the number of distinct rows would not depend on data."""
        if not any(value.find(exp.Column, *AGGREGATES) for value in values):
            message = f"all rows are the same in what they are {what}"
            raise refused(self.query.source, values[0], message, "name a column")

    def folded(self, node: exp.Expression, count: str, rows: RowText, groups: str | None) -> SqlValue:
        """Return the name of an aggregate, for all rows or for each group, and its type."""
        text = node.sql()
        if text not in self.folds:
            if isinstance(node, exp.Avg):
                found = self.average(node, count, rows, groups)
            else:
                found = self.fold(node, count, rows, groups)
            name = f"aggregate{len(self.folds) + 1}"
            if isinstance(node, exp.Avg) and groups:
                self.vector(name, f"len({groups})", found.text)
            else:
                self.define(name, found.text)
            self.folds[text] = SqlValue(name, found.type)
        return self.folds[text]

    def average(self, node: exp.Expression, count: str, rows: RowText, groups: str | None) -> SqlValue:
        """Divide the sum of numbers by their count."""
        number_written(node.this, self.unread())
        total = self.folded(exp.Sum(this=node.this.copy()), count, rows, groups)
        number = self.folded(exp.Count(this=exp.Star()), count, rows, groups)
        of_one = (_entry(total, "q"), _entry(number, "q")) if groups else (total, number)
        nan = total.type.may_be_nan
        return SqlValue(
            f"div({of_one[0].text}, {of_one[1].at_scale(total.type.scale)})",
            SqlType("real", may_be_nan=nan, may_be_infinite=total.type.may_be_infinite),
        )

    def fold(self, node: exp.Expression, count: str, rows: RowText, groups: str | None) -> SqlValue:
        """Write a fold over the rows, of a group if there are groups; counting all rows needs no fold."""
        if isinstance(node, exp.Count):
            self.counted(node)
            if not groups:
                return SqlValue(count, WHOLE)
            step = f"map({groups}, (g) => reduce(tol[{count}], (a, z) => a + alike(g, r), 0, [r]))"
            return SqlValue(step, WHOLE)
        name = f"argument{len(self.folds) + 1}"
        scope = self.scope(lambda n: rows(n, "q"))
        is_sum = isinstance(node, exp.Sum)
        value = number_written(node.this, scope, or_truth=True) if is_sum else written(node.this, scope)
        self.vector(name, count, value.text)
        start = "0" if is_sum else f"{name}[{'g' if groups else '1'}]"
        step, type_ = _step(node, SqlValue(f"{name}[r]", value.type))
        if not groups:
            return SqlValue(f"reduce(tol[{count}], (a, z) => {step}, {start}, [r])", type_)
        step = f"where(alike(g, r), {step}, a)"
        return SqlValue(f"map({groups}, (g) => reduce(tol[{count}], (a, z) => {step}, {start}, [r]))", type_)

    def counted(self, node: exp.Count) -> None:
        """Refuse an invalid COUNT; the number of rows does not depend on the counted value."""
        if isinstance(node.this, exp.Distinct):
            raise refused(self.query.source, node, "COUNT(DISTINCT ...) is outside of what is translated")
        if not isinstance(node.this, exp.Star):
            written(node.this, self.unread())

    def unread(self) -> ExpressionScope:
        """Return a scope for expressions of which only the type matters: they need no input."""
        return ExpressionScope(self.query, lambda node: self.query.column(node)[1].name)

    # ---- the result --------------------------------------------------------------------------

    def outputs(self, final: _Final) -> None:
        """Compute the items; remove duplicates, sort and cut where the query does."""
        query = self.query
        if not query.distinct and not query.order and query.limit is None:
            for item in query.items:
                value = written(item.value, final.scope("q")).real
                self.lines.append(f"{self.name(item.name)} := map(tol[{final.count}], {value}, [q])")
            return
        columns = [
            self.column(f"column{n}", item.value, final) for n, item in enumerate(query.items, start=1)
        ]
        count, place = final.count, "{}"
        if query.distinct:
            self.refuse_constants([item.value for item in query.items], "told apart by")
            self.define("single", _firsts(count, _all(_same_at(each.text, each.type) for each in columns)))
            count, place = "len(single)", "single[{}]"
        picks = f"1..{count}"
        if query.order:
            self.define("before(i, j)", self.before(columns, final, place))
            self.define("order", f"ordered_by({count}, before)")
            picks = "order"
        if query.limit is not None:
            picks = f"limit({picks}, {query.limit})"
        self.define("picks", picks)
        for item, column in zip(query.items, columns, strict=True):
            value = _entry(column, place.format("q")).real
            self.lines.append(f"{self.name(item.name)} := map(picks, (q) => {value})")

    def column(self, name: str, node: exp.Expression, final: _Final) -> SqlValue:
        """Return the name of a vector of the values of an expression, and their type."""
        value = written(node, final.scope("q"))
        return SqlValue(self.vector(name, final.count, value.text), value.type)

    def before(self, columns: Sequence[SqlValue], final: _Final, place: str) -> str:
        """Write whether one row precedes another: by the first key in which they differ."""
        text = ""
        for n, key in reversed(list(enumerate(self.query.order, start=1))):
            same = [c for c, item in zip(columns, self.query.items, strict=True) if item.value == key.value]
            if not same and self.query.distinct:
                raise refused(
                    self.query.source, key.value, "with DISTINCT, rows are sorted by what is selected"
                )
            column = same[0] if same else self.column(f"sorting{n}", key.value, final)
            one, other = (_entry(column, place.format(at)) for at in ("i", "j"))
            first = compared(one, ">" if key.descending else "<", other)
            text = f"{first} or {compared(one, '==', other)} and ({text})" if text else first
        return text


def _all(tests: Iterator[str]) -> str:
    return " and ".join(tests)


def _entry(vector: SqlValue, at: str) -> SqlValue:
    """Return an entry of a vector of values."""
    return SqlValue(f"{vector.text}[{at}]", vector.type)


def _same_at(name: str, type_: SqlType) -> str:
    """Write whether a vector has equal values at two rows."""
    vector = SqlValue(name, type_)
    return compared(_entry(vector, "q"), "==", _entry(vector, "r"))


def _step(node: exp.Expression, value: SqlValue) -> tuple[str, SqlType]:
    """Write the next value of an aggregate ``a``, with the type of the result; NaN exceeds every number."""
    one = value.type
    if isinstance(node, exp.Sum):
        whole = WHOLE if one.kind == "truth" else one
        if one.kind == "real":
            whole = replace(one, may_be_nan=one.may_be_nan or one.may_be_infinite)
        return f"a + {value.text}", whole
    if isinstance(node, exp.Min) and one.may_be_nan:
        return f"where({compared(value, '<', SqlValue('a', one))}, {value.text}, a)", one
    return f"{node.key}(a, {value.text})", one


def _firsts(count: str, alike: str) -> str:
    """Write the numbers of the rows that differ from all earlier rows."""
    return f"where_true(map(tol[{count}], not(reduce(tol[q - 1], (a, z) => a or {alike}, false, [r])), [q]))"
