"""Aggregates: folds over all rows, over groups, and over the rows that belong to another row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.expressions import number_written, truth_written, written
from tolcost.apps.sql.frames import ProgramWriter, ValueReader, as_value
from tolcost.apps.sql.query import refused
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.values import WHOLE, SqlType, SqlValue, compared, default, every

RowTest: TypeAlias = Callable[[str], str | None]


class AggregateDomain(Struct, frozen=True, eq=False):
    """For what aggregates are computed.

    ``wrap`` puts a fold into a vector with an entry for each, and ``entry`` reads it; ``member`` is whether
    a row, by its number, belongs to the entry at hand; None if all rows do.  ``first`` is the number of a row
    that belongs to the entry, if there always is one.  A domain that is not ``named`` defines nothing: its
    aggregates stand where they are used.  ``equal`` is whether two rows, ``q`` and another, belong to the
    same entry, where each row belongs to one.
    """

    wrap: Callable[[str], str]
    entry: Callable[[str, str], str]
    member: RowTest
    count: str
    first: str | None = None
    named: bool = True
    equal: RowTest | None = None


class Aggregation(Struct, eq=False):
    """The aggregates over some rows: ``row`` gives the scope of one of them."""

    writer: ProgramWriter
    rows: str
    row: Callable[[str], SqlScope]
    domain: AggregateDomain
    variable: str = "r"
    inline: bool = False
    folds: dict[str, ValueReader] = field(default_factory=dict)

    def aggregate(self, node: exp.Expression) -> ValueReader:
        """Return how to read an aggregate."""
        text = node.sql()
        if text not in self.folds:
            self.folds[text] = self._made(node)
        return self.folds[text]

    def _made(self, node: exp.Expression) -> ValueReader:
        test = None
        if isinstance(node, exp.Filter):
            test = node.expression.this
            node = node.this
        argument = node.this
        distinct = isinstance(argument, exp.Distinct)
        if distinct:
            if len(argument.expressions) != 1 or isinstance(node, (exp.LogicalAnd, exp.LogicalOr)):
                raise refused(self.row("q").source, node, "DISTINCT takes one value here")
            argument = argument.expressions[0]
        if isinstance(node, exp.Avg):
            return self._average(node, argument, distinct, test)
        return self._fold(type(node), node, argument, distinct, test)

    def _average(
        self, node: exp.Avg, argument: exp.Expression, distinct: bool, test: exp.Expression | None
    ) -> ValueReader:
        """Divide the sum of numbers by their count."""
        number_written(argument, self.row("q"))
        total, count = (self.aggregate(_like(kind, node, test)) for kind in (exp.Sum, exp.Count))
        plain = self.row("q")
        if not distinct and test is None and written(argument, plain).known is None:
            count = self.aggregate(exp.Count(this=exp.Star()))
        at = "q"
        one, other = total(at), count(at)
        type_ = SqlType("real", may_be_nan=one.type.may_be_nan, may_be_infinite=one.type.may_be_infinite)

        def value(place: str) -> str:
            return f"div({total(place).text}, {count(place).at_scale(one.type.scale)})"

        if not self.domain.named:
            return lambda place: SqlValue(value(place), type_, known=total(place).known)
        name = self.writer.fresh("aggregate")
        if self.domain.entry(name, at) == name:
            self.writer.define(name, f"div({one.text}, {other.at_scale(one.type.scale)})")
        else:
            self.writer.vector(name, self.domain.count, value(at))
        return lambda place: SqlValue(self.domain.entry(name, place), type_, known=total(place).known)

    def _fold(
        self,
        kind: type[exp.Expression],
        node: exp.Expression,
        argument: exp.Expression,
        distinct: bool,
        test: exp.Expression | None,
    ) -> ValueReader:
        star = isinstance(argument, exp.Star)
        value = None if star else self._argument(kind, node, argument)
        passes = self._passes(value, test, distinct and kind not in (exp.Min, exp.Max))
        if kind is exp.Count:
            return self._counted(passes)
        assert value is not None
        step, start, type_ = _step(kind, value(self.variable), self._start(value, passes))
        count = None
        if passes is not _ALWAYS or self.domain.first is None:
            count = self._counted(passes)
        text = self._folded(self._tested(passes), step, start)
        return self._entry(text, type_, count, kind in (exp.Min, exp.Max))

    def _argument(
        self, kind: type[exp.Expression], node: exp.Expression, argument: exp.Expression
    ) -> ValueReader:
        """Return how to read what is aggregated: a vector with an entry for each row."""

        def at(place: str) -> SqlValue:
            scope = self.row(place)
            if kind is exp.Sum:
                return number_written(argument, scope, or_truth=True)
            if kind in (exp.LogicalAnd, exp.LogicalOr):
                return truth_written(argument, scope)
            return written(argument, scope)

        if kind is exp.Sum and at("q").type.kind == "null":
            raise refused(self.row("q").source, node, "a sum takes numbers")
        return at if self.inline else self.writer.lazily("argument", self.rows, at, len(self.folds) + 1)

    def _passes(self, value: ValueReader | None, test: exp.Expression | None, distinct: bool) -> RowTest:
        """Return whether a row counts: its value is known, a FILTER holds, and DISTINCT has not seen it."""
        tested: ValueReader | None = None
        if test is not None:
            node = test
            tested = lambda at: truth_written(node, self.row(at))  # noqa: E731
            if not self.inline:
                tested = self.writer.lazily("argument", self.rows, tested)
        if tested is None and not distinct and (value is None or value("q").known is None):
            return _ALWAYS

        def passes(row: str) -> str | None:
            known = None if value is None else value(row).known
            return every((known, tested(row).text if tested else None))

        if not distinct or value is None:
            return passes
        return self._first_seen(value, passes)

    def _first_seen(self, value: ValueReader, passes: RowTest) -> RowTest:
        """Return whether a row counts, and none before it in its entry has the same value."""
        equal, writer = self.domain.equal, self.writer

        def seen(row: str, before: str, member: str | None) -> str:
            alike = compared(value(row), "==", value(before))
            test = every((member, passes(before), alike)) or "true"
            return f"reduce(tol[{row} - 1], (a, z) => a or {test}, false, [{before}])"

        if equal is None:
            inner = f"{self.variable}9"

            def nested(row: str) -> str | None:
                return every((passes(row), f"not({seen(row, inner, self.domain.member(inner))})"))

            return nested
        name = writer.fresh("fresh")
        writer.vector(name, self.rows, every((passes("q"), f"not({seen('q', 'r', equal('r'))})")) or "true")
        return lambda row: f"{name}[{row}]"

    def _start(self, value: ValueReader, passes: RowTest) -> Callable[[bool], str]:
        """Return the start of a least or greatest: the first value, or one beyond all others."""
        if passes is _ALWAYS and self.domain.first is not None:
            return lambda least: value(self.domain.first or "1").text

        def beyond(least: bool) -> str:
            type_ = value("q").type
            match type_.kind:
                case "truth":
                    return "true" if least else "false"
                case "text":
                    return str(max(len(type_.texts), 1)) if least else "1"
                case "real":
                    return ("NaN" if type_.may_be_nan else "Inf") if least else "-Inf"
                case _:
                    return "hi(int64)" if least else "lo(int64)"

        return beyond

    def _tested(self, passes: RowTest) -> str | None:
        return every((self.domain.member(self.variable), passes(self.variable)))

    def _folded(self, test: str | None, step: str, start: str) -> str:
        if test is not None:
            step = f"where({test}, {step}, a)"
        return self.domain.wrap(f"reduce(tol[{self.rows}], (a, z) => {step}, {start}, [{self.variable}])")

    def _counted(self, passes: RowTest) -> ValueReader:
        """Count rows; counting all rows needs no fold."""
        test = self._tested(passes)
        if test is None:
            return lambda at: SqlValue(self.rows, WHOLE, static=True)
        text = self.domain.wrap(f"reduce(tol[{self.rows}], (a, z) => a + {test}, 0, [{self.variable}])")
        key = f"count {text}"
        if key not in self.folds:
            self.folds[key] = self._entry(text, WHOLE, None, False)
        return self.folds[key]

    def _entry(self, text: str, type_: SqlType, count: ValueReader | None, extreme: bool) -> ValueReader:
        """Return how to read an aggregate, which is NULL where it has no rows."""
        named, entry = self.domain.named, self.domain.entry
        name = self.writer.fresh("aggregate", _next(self.folds)) if named else text
        if named:
            self.writer.define(name, text)

        def read(at: str) -> SqlValue:
            found = entry(name, at) if named else text
            if count is None:
                return SqlValue(found, type_)
            some = count(at)
            known = f"({some.text} > 0)"
            if extreme and type_.kind in ("exact", "date"):
                found = f"where({known}, {found}, {default(type_)})"
            return as_value(found, type_, known)

        return read


def _next(folds: dict[str, ValueReader]) -> int:
    return sum(not key.startswith("count ") for key in folds) + 1


_ALWAYS: RowTest = lambda row: None  # noqa: E731


def _like(kind: type[exp.Expression], node: exp.Expression, test: exp.Expression | None) -> exp.Expression:
    """Return an aggregate of another kind over the same values."""
    made = kind(this=node.this.copy())
    return made if test is None else exp.Filter(this=made, expression=exp.Where(this=test.copy()))


def _step(
    kind: type[exp.Expression], value: SqlValue, start: Callable[[bool], str]
) -> tuple[str, str, SqlType]:
    """Write the next value of an aggregate ``a``, its start and its type; NaN exceeds every number."""
    one = value.type
    if kind is exp.Sum:
        whole = WHOLE if one.kind == "truth" else one
        if one.kind == "real":
            whole = replace(one, may_be_nan=one.may_be_nan or one.may_be_infinite)
        return f"a + {value.text}", "0", whole
    if kind is exp.LogicalAnd or kind is exp.LogicalOr:
        word, begin = ("and", "true") if kind is exp.LogicalAnd else ("or", "false")
        return f"a {word} {value.text}", begin, one
    if kind is exp.Min and one.may_be_nan:
        return f"where({compared(value, '<', SqlValue('a', one))}, {value.text}, a)", start(True), one
    name = "min" if kind is exp.Min else "max"
    return f"{name}(a, {value.text})", start(kind is exp.Min), one
