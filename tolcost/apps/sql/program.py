"""Writing the program of a query: row numbers are filtered, joined, grouped and sorted; values are read last.

Conditions on one table filter its rows; others filter the pairs of the join at which all their tables are
there, which looks at all pairs.  Groups and duplicates are found by holding each row against those before it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct, field
from sqlglot import exp

from tolcost.apps.sql.query import AGGREGATES, SqlQuery, refused
from tolcost.apps.sql.tables import SqlColumn
from tolcost.diagnostics import Rejected, Source, quoted
from tolcost.platform import read_spec
from tolcost.syntax import parse, signatures
from tolcost.syntax.format import format_program
from tolcost.syntax.names import BUILTINS, CONSTANTS

# === Expressions of SQL as expressions of ToLang.
#
# What a column or an aggregate is called depends on where an expression stands: an ``ExpressionScope`` knows.
# There is no NULL: every column has a value in every row.


_INFIX: Mapping[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
}
_LOGIC: Mapping[type[exp.Expression], str] = {exp.And: "and", exp.Or: "or"}
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
_TEXTS_COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_NULLS = (exp.Null, exp.Is, exp.Coalesce, exp.Nullif, exp.NullSafeEQ, exp.NullSafeNEQ)
_NO_NULL = "there is no NULL: every column has a value in every row, and a CASE needs an ELSE"
_HINT = (
    "arithmetic, comparisons, AND, OR, NOT, IN, BETWEEN, CASE, abs, sqrt, exp, ln, floor, ceil, "
    "sum, count, min, max and avg are translated"
)


class ExpressionScope(Struct, frozen=True, eq=False):
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
    if kind in _LOGIC:
        left, right = (condition_written(side, scope) for side in (node.this, node.expression))
        return f"({left} {_LOGIC[kind]} {right})"
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
            return f"not({condition_written(node.this, scope)})"
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
            hint = _NO_NULL if _is_about_null(node) else _HINT
            raise refused(scope.query.source, node, f"{what} is outside of what is translated", hint)


def _is_about_null(node: exp.Expression) -> bool:
    """Whether something asks for NULL, or would give it: a CASE that says nothing of other rows."""
    no_else = isinstance(node, exp.Case) and node.args.get("default") is None
    return no_else or isinstance(node, _NULLS)


def _case(node: exp.Case, scope: ExpressionScope) -> str:
    text = number_written(node.args["default"], scope)
    for branch in reversed(node.args["ifs"]):
        condition = condition_written(branch.this, scope)
        text = f"where({condition}, {number_written(branch.args['true'], scope)}, {text})"
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


def condition_written(node: exp.Expression, scope: ExpressionScope) -> str:
    """An operand of logic, or what rows are kept by: no number, whose bits it would go by, and no text."""
    if _is_value(node, scope.query):
        hint = "compare it: a number with `<> 0`"
        raise refused(scope.query.source, node, "a condition is needed here", hint)
    return written(node, scope)


def _is_value(node: exp.Expression, query: SqlQuery) -> bool:
    """Whether an expression is a number or a text, and not a truth value."""
    match node:
        case exp.Paren() | exp.Min() | exp.Max():
            return _is_value(node.this, query)
        case exp.Column():
            return query.column(node)[1].space != "B"
        case exp.Case():
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            return any(_is_value(one, query) for one in (*branches, node.args.get("default")) if one)
        case _:
            return isinstance(node, (exp.Literal, exp.Neg, *AGGREGATES, *_INFIX, *_CALLED))


def _comparison(node: exp.Expression, sign: str, scope: ExpressionScope) -> str:
    """Numbers are compared, or texts of one column's with each other or with a text."""
    left, right = node.this.unnest(), node.expression.unnest()
    if _is_text(left) and _is_text(right):
        return "true" if _TEXTS_COMPARED[sign](str(left.this), str(right.this)) else "false"
    if _is_text(left):
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        return _comparison(exp.EQ(this=right, expression=left), turned, scope)
    texts = texts_of(left, scope.query)
    if isinstance(right, exp.Literal) and _is_text(right):
        return f"({written(left, scope)} {sign} {_code(node, right, texts, sign, scope)})"
    if texts != texts_of(right, scope.query):
        hint = "columns of text are comparable if the same texts may stand in them"
        raise refused(scope.query.source, node, "these cannot be compared", hint)
    return f"({written(left, scope)} {sign} {written(right, scope)})"


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


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


# === Programs.


_LIBRARIES = ("relations", "vectors")
_OURS = re.compile(r"(rows|pairs|key|argument|aggregate|column|sorting)\d+")
_FIXED = frozenset(("alike", "groups", "kept", "single", "before", "order", "picks", *"azijqrg"))
RowText = Callable[[int, str], str]
"""The number of the row of a table, given its place among the uses and a place in the rows so far."""


class Translated(Struct, frozen=True, eq=False):
    """The program of a query, and the column that each of its inputs holds."""

    source: Source
    inputs: Mapping[str, SqlColumn]


def translated(query: SqlQuery) -> Translated:
    """Write the program of a query."""
    writer = _Writer(query)
    text = format_program(parse(Source("<sql>", writer.text())))
    columns = {use.table.name: use.table.columns for use in query.uses}
    inputs = {name: columns[table][column.lower()] for (table, column), name in writer.inputs.items()}
    return Translated(Source("<sql>", text), inputs)


@cache
def _taken() -> frozenset[str]:
    """The names that a query's program may not give to something of its own."""
    defined = {name for file in _LIBRARIES for name in signatures(parse(read_spec("lib", file)))}
    return frozenset(defined | BUILTINS.keys() | CONSTANTS | _FIXED)


class _Final(Struct, frozen=True, eq=False):
    """The rows of the result before they are sorted: how many, and how to read an expression at one."""

    count: str
    scope: Callable[[str], ExpressionScope]


class _Writer(Struct, eq=False):
    query: SqlQuery
    lines: list[str] = field(default_factory=list)
    inputs: dict[tuple[str, str], str] = field(default_factory=dict)
    lengths: dict[str, str] = field(default_factory=dict)
    folds: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(_taken()))

    def text(self) -> str:
        """The whole program."""
        for use in self.query.uses:
            if use.table.name not in self.lengths:
                self.lengths[use.table.name] = self.name(use.table.name)
        count, rows = self.joined()
        if self.query.aggregates and not self.query.group:
            self.single(count, rows)
        else:
            self.outputs(self.grouped(count, rows) if self.query.aggregates else self.plain(count, rows))
        sql = " ".join(self.query.source.text.split())
        return "\n".join((f"# {sql}", *self.declared(), "use relations", *self.lines)) + "\n"

    # ---- names -------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """A name that nothing else has."""
        plain = re.sub(r"\W", "_", wanted.lower(), flags=re.ASCII) or "value"
        name = plain if plain[0].isalpha() else f"_{plain}"
        while name in self.taken or _OURS.fullmatch(name):
            name += "_"
        self.taken.add(name)
        return name

    def input(self, table: str, column: SqlColumn) -> str:
        """The input that holds a column."""
        key = (table, column.name)
        if key not in self.inputs:
            self.inputs[key] = self.name(f"{table}_{column.name}")
        return self.inputs[key]

    def declared(self) -> Iterator[str]:
        """The inputs: the columns that are used, and one at least of every table."""
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
        """A value for each of so many rows."""
        self.define(name, f"map(tol[{count}], {value}, [q])")
        return name

    # ---- rows --------------------------------------------------------------------------------

    def scope(
        self, place: Callable[[int], str], aggregate: Callable[[exp.Expression], str] | None = None
    ) -> ExpressionScope:
        """Read columns at the rows that ``place`` gives."""

        def column(node: exp.Expression) -> str:
            n, found = self.query.column(node)
            return f"{self.input(self.query.uses[n].table.name, found)}[{place(n)}]"

        return ExpressionScope(self.query, column, aggregate)

    def joined(self) -> tuple[str, RowText]:
        """Filter every table, and join one after the other."""
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
        """The rows of one table."""
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
        """The pairs of the rows so far with those of one more table."""
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

    # ---- what becomes of them ----------------------------------------------------------------

    def plain(self, count: str, rows: RowText) -> _Final:
        """No groups: a row of the result for each."""
        if self.query.having is not None:
            raise refused(self.query.source, self.query.having, "HAVING needs groups", "WHERE filters rows")
        return _Final(count, lambda at: self.scope(lambda n: rows(n, at)))

    def single(self, count: str, rows: RowText) -> None:
        """Aggregates over all rows: one row of the result, a number for each item."""
        query = self.query
        if query.having is not None:
            message = "HAVING without GROUP BY is outside of what is translated"
            raise refused(query.source, query.having, message)
        if query.order:
            raise refused(query.source, query.order[0].value, "one row needs no ORDER BY")

        def aggregate(node: exp.Expression) -> str:
            return self.folded(node, count, rows, None)

        def column(node: exp.Expression) -> str:
            raise refused(query.source, node, "a column stands beside aggregates of all rows", "group by it")

        for item in query.items:
            value = written(item.value, ExpressionScope(query, column, aggregate))
            self.lines.append(f"{self.name(item.name)} := {value}")

    def grouped(self, count: str, rows: RowText) -> _Final:
        """Groups: the number of the first row of each, and aggregates of all of its rows."""
        query = self.query
        self.refuse_constants(query.group, "grouped by")
        plain = self.scope(lambda n: rows(n, "q"))
        keys = [
            self.vector(f"key{n}", count, written(node, plain)) for n, node in enumerate(query.group, start=1)
        ]
        self.define("alike(q, r)", _all(f"{key}[q] == {key}[r]" for key in keys))
        self.define("groups", _firsts(count, "alike(q, r)"))

        def scope(at: str) -> ExpressionScope:
            inner = self.scope(lambda n: rows(n, f"groups[{at}]"), lambda node: f"{aggregate(node)}[{at}]")
            return ExpressionScope(query, lambda node: self.key_of(node, inner), inner.aggregate)

        def aggregate(node: exp.Expression) -> str:
            return self.folded(node, count, rows, "groups")

        if query.having is None:
            return _Final("len(groups)", scope)
        test = condition_written(query.having, scope("q"))
        self.define("kept", f"where_true(map(tol[len(groups)], {test}, [q]))")
        return _Final("len(kept)", lambda at: scope(f"kept[{at}]"))

    def refuse_constants(self, values: Sequence[exp.Expression], what: str) -> None:
        """How many rows differ in what has no column is no matter of data: 1, or none of no rows."""
        if not any(value.find(exp.Column, *AGGREGATES) for value in values):
            message = f"all rows are the same in what they are {what}"
            raise refused(self.query.source, values[0], message, "name a column")

    def key_of(self, node: exp.Expression, scope: ExpressionScope) -> str:
        """A column beside aggregates has to be one of what is grouped by, or stand in one of those."""
        plain = self.scope(str)
        grouped = {written(key, plain) for key in self.query.group}
        around: exp.Expression | None = node
        while around is not None and not isinstance(around, exp.Select):
            try:
                if written(around, plain) in grouped:
                    return scope.column(node)
            except Rejected:  # it has no text by itself, or there is an aggregate in it
                pass
            above = around.parent
            around = above if isinstance(above, exp.Expression) else None
        raise refused(
            self.query.source, node, "this column is not grouped by", "aggregate it, or group by it"
        )

    def folded(self, node: exp.Expression, count: str, rows: RowText, groups: str | None) -> str:
        """The name of an aggregate, for all rows or for each group."""
        text = node.sql()
        if text in self.folds:
            return self.folds[text]
        if isinstance(node, exp.Avg):
            total = self.folded(exp.Sum(this=node.this), count, rows, groups)
            number = self.folded(exp.Count(this=exp.Star()), count, rows, groups)
            value = f"div({total}[q], {number}[q])" if groups else f"div({total}, {number})"
        else:
            value = self.fold(node, count, rows, groups)
        name = f"aggregate{len(self.folds) + 1}"
        if isinstance(node, exp.Avg) and groups:
            self.vector(name, f"len({groups})", value)
        else:
            self.define(name, value)
        self.folds[text] = name
        return name

    def fold(self, node: exp.Expression, count: str, rows: RowText, groups: str | None) -> str:
        """A fold over the rows, those of a group if there are groups; how many there are needs none."""
        if isinstance(node, exp.Count):
            if isinstance(node.this, exp.Distinct):
                raise refused(self.query.source, node, "COUNT(DISTINCT ...) is outside of what is translated")
            if not groups:
                return count
            return f"map({groups}, (g) => reduce(tol[{count}], (a, z) => a + alike(g, r), 0, [r]))"
        argument = f"argument{len(self.folds) + 1}"
        is_sum = isinstance(node, exp.Sum)
        write = number_written if is_sum else written
        self.vector(argument, count, write(node.this, self.scope(lambda n: rows(n, "q"))))
        step = f"a + {argument}[r]" if is_sum else f"{node.key}(a, {argument}[r])"
        start = "0" if is_sum else f"{argument}[{'g' if groups else '1'}]"
        if not groups:
            return f"reduce(tol[{count}], (a, z) => {step}, {start}, [r])"
        step = f"where(alike(g, r), {step}, a)"
        return f"map({groups}, (g) => reduce(tol[{count}], (a, z) => {step}, {start}, [r]))"

    # ---- the result --------------------------------------------------------------------------

    def outputs(self, final: _Final) -> None:
        """Compute the items; drop duplicates, sort and cut where that is asked for."""
        query = self.query
        if not query.distinct and not query.order and query.limit is None:
            for item in query.items:
                value = written(item.value, final.scope("q"))
                self.lines.append(f"{self.name(item.name)} := map(tol[{final.count}], {value}, [q])")
            return
        columns = [
            self.vector(f"column{n}", final.count, written(item.value, final.scope("q")))
            for n, item in enumerate(query.items, start=1)
        ]
        count, place = final.count, "{}"
        if query.distinct:
            self.refuse_constants([item.value for item in query.items], "told apart by")
            self.define("single", _firsts(count, _all(f"{column}[q] == {column}[r]" for column in columns)))
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
            self.lines.append(f"{self.name(item.name)} := map(picks, (q) => {column}[{place.format('q')}])")

    def before(self, columns: Sequence[str], final: _Final, place: str) -> str:
        """Whether one row comes before another: by the first key in which they differ."""
        text = ""
        for n, key in reversed(list(enumerate(self.query.order, start=1))):
            same = [c for c, item in zip(columns, self.query.items, strict=True) if item.value == key.value]
            if not same and self.query.distinct:
                raise refused(
                    self.query.source, key.value, "with DISTINCT, rows are sorted by what is selected"
                )
            name = (
                same[0]
                if same
                else self.vector(f"sorting{n}", final.count, written(key.value, final.scope("q")))
            )
            one, other = (f"{name}[{place.format(at)}]" for at in ("i", "j"))
            first = f"{one} {'>' if key.descending else '<'} {other}"
            text = f"{first} or {one} == {other} and ({text})" if text else first
        return text


def _all(tests: Iterator[str]) -> str:
    return " and ".join(tests)


def _firsts(count: str, alike: str) -> str:
    """The numbers of the rows that no row before is like."""
    return f"where_true(map(tol[{count}], not(reduce(tol[q - 1], (a, z) => a or {alike}, false, [r])), [q]))"
