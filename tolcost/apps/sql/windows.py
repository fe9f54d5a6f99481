"""Window functions: for each row, a fold over the rows of its partition, or of a frame in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from tolcost.apps.sql.aggregates import AggregateDomain, Aggregation
from tolcost.apps.sql.expressions import is_aggregate, written
from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader, as_value
from tolcost.apps.sql.joins import padded
from tolcost.apps.sql.query import DIALECT, refused
from tolcost.apps.sql.results import SortKey, ahead, same_at
from tolcost.apps.sql.scopes import SqlScope
from tolcost.apps.sql.values import WHOLE, SqlType, SqlValue, common_type, every, in_type
from tolcost.diagnostics import quoted

Between: TypeAlias = Callable[[str, str], str | None]
"""Returns whether a row, the second, has to do with another, the first; None if it always has."""


class WindowRows(Struct, eq=False):
    """The partition and the order of a window: relations between rows, and vectors of places."""

    writer: ProgramWriter
    count: str
    partition: tuple[ValueReader, ...]
    order: tuple[SortKey, ...]
    keys: tuple[ValueReader, ...]
    made: dict[str, str] = field(default_factory=dict)

    def near(self, one: str, other: str) -> str | None:
        """Write whether two rows are in one partition."""
        if not self.partition:
            return None
        if "near" not in self.made:
            self.made["near"] = self.writer.fresh("near")
            test = every(same_at(read) for read in self.partition) or "true"
            self.writer.define(f"{self.made['near']}(q, r)", test)
        return f"{self.made['near']}({one}, {other})"

    def ahead(self, one: str, other: str) -> str:
        """Write whether a row is sorted before another."""
        if not self.keys:
            return "false"
        if "ahead" not in self.made:
            self.made["ahead"] = self.writer.fresh("ahead")
            self.writer.define(f"{self.made['ahead']}(q, r)", ahead(self.order, self.keys, "q", "r"))
        return f"{self.made['ahead']}({one}, {other})"

    def place(self, at: str) -> str:
        """Write the number of a row in its partition, from 1; rows that are equal stay as they are."""
        earlier = every((self.near("q", "r"), f"not({self.ahead('q', 'r')})" if self.keys else None)) or "1"
        later = every((self.near("q", "q + r"), self.ahead("q + r", "q")))
        start = f"reduce(tol[{self.count} - q], (a, z) => a + {later}, 1, [r])" if self.keys else "1"
        return self._vector("place", f"reduce(tol[q - 1], (a, z) => a + {earlier}, {start}, [r])", at)

    def rank(self, at: str) -> str:
        """Write one more than how many rows of the partition come before a row."""
        test = every((self.near("q", "r"), self.ahead("r", "q")))
        return self._vector("rank", f"reduce(tol[{self.count}], (a, z) => a + {test}, 1, [r])", at)

    def dense(self, at: str) -> str:
        """Write one more than how many different rows of the partition come before a row."""
        peers = every((self.near("q", "r"), self.is_peer("q", "r"))) or "true"
        leads = self._vector("leads", f"not(reduce(tol[q - 1], (a, z) => a or {peers}, false, [r]))", "r")
        test = every((leads, self.near("q", "r"), self.ahead("r", "q")))
        return self._vector("dense", f"reduce(tol[{self.count}], (a, z) => a + {test}, 1, [r])", at)

    def size(self, at: str) -> str:
        """Write how many rows the partition of a row has."""
        test = self.near("q", "r")
        if test is None:
            return self.count
        return self._vector("size", f"reduce(tol[{self.count}], (a, z) => a + {test}, 0, [r])", at)

    def is_peer(self, one: str, other: str) -> str | None:
        """Write whether two rows are equal in the order."""
        return f"not({self.ahead(one, other)} or {self.ahead(other, one)})" if self.keys else None

    def _vector(self, kind: str, text: str, at: str) -> str:
        if kind not in self.made:
            self.made[kind] = self.writer.fresh("leads" if kind == "leads" else "place")
            self.writer.vector(self.made[kind], self.count, text)
        return f"{self.made[kind]}[{at}]"


class WindowFunctions(Struct, eq=False):
    """The window functions of a SELECT, over its rows as WHERE, GROUP BY and HAVING leave them."""

    scope: SqlScope
    named: Mapping[str, exp.Expression]
    rows: dict[str, WindowRows] = field(default_factory=dict)
    known: dict[str, ValueReader] = field(default_factory=dict)

    def window(self, node: exp.Expression) -> ValueReader:
        """Return how to read a window function."""
        text = node.sql()
        if text not in self.known:
            self.known[text] = self._made(node)
        return self.known[text]

    def _made(self, node: exp.Expression) -> ValueReader:
        scope, function = self.scope, node.this
        rows, spec = self._rows(node)
        writer, count = scope.context.writer, scope.count
        if is_aggregate(function):
            return self._aggregate(function, rows, self._framed(node, rows, spec))
        match function:
            case exp.RowNumber():
                return lambda at: SqlValue(rows.place(at), WHOLE)
            case exp.Rank() if not function.expressions:
                return lambda at: SqlValue(rows.rank(at), WHOLE)
            case exp.DenseRank() if not function.expressions:
                return lambda at: SqlValue(rows.dense(at), WHOLE)
            case exp.PercentRank() if not function.expressions:
                text = f"where({rows.size('q')} == 1, 0, div({rows.rank('q')} - 1, {rows.size('q')} - 1))"
                return writer.lazily("window", count, lambda at: SqlValue(text, SqlType("real")))
            case exp.CumeDist() if not function.expressions:
                test = (
                    every((rows.near("q", "r"), f"not({rows.ahead('q', 'r')})" if rows.keys else None)) or "1"
                )
                fold = f"reduce(tol[{count}], (a, z) => a + {test}, 0, [r])"
                text = f"div({fold}, {rows.size('q')})"
                return writer.lazily("window", count, lambda at: SqlValue(text, SqlType("real")))
            case exp.Ntile():
                return self._ntile(function, rows)
            case exp.Lag() | exp.Lead():
                return self._shifted(function, rows)
            case exp.FirstValue() | exp.LastValue() | exp.NthValue():
                return self._in_frame(function, rows, self._framed(node, rows, spec))
            case _:
                pass
        what = quoted(function.sql(dialect=DIALECT))
        hint = "ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, "
        raise refused(
            scope.source,
            node,
            f"{what} is no window function that is translated",
            f"{hint}LAST_VALUE, NTH_VALUE and aggregates are",
        )

    # ---- the window --------------------------------------------------------------------------

    def _rows(self, node: exp.Expression) -> tuple[WindowRows, exp.WindowSpec | None]:
        """Return the partition and order of a window, and its frame."""
        source = self.scope.source
        partition, order, spec = (node.args.get(part) for part in ("partition_by", "order", "spec"))
        name = node.args.get("alias")
        if name is not None:
            base = self.named.get(name.name.lower())
            if base is None:
                raise refused(source, node, f"there is no window {quoted(name.name)}")
            partition = partition or base.args.get("partition_by")
            order, spec = order or base.args.get("order"), spec or base.args.get("spec")
        partition = partition or []
        entries_ = order.expressions if order else []
        text = " ".join(one.sql() for one in (*partition, exp.Null(), *entries_))
        if text not in self.rows:
            self.rows[text] = WindowRows(
                self.scope.context.writer,
                self.scope.count,
                tuple(self._vector("part", one) for one in partition),
                tuple(
                    SortKey(one.this, bool(one.args.get("desc")), bool(one.args.get("nulls_first")))
                    for one in entries_
                ),
                tuple(self._vector("sorting", one.this) for one in entries_),
            )
        return self.rows[text], spec

    def _vector(self, kind: str, node: exp.Expression) -> ValueReader:
        inner = replace(self.scope, window=None)
        written(node, inner.moved("q"))
        return self.scope.context.writer.lazily(
            kind, self.scope.count, lambda at: written(node, inner.moved(at))
        )

    def _framed(self, node: exp.Expression, rows: WindowRows, spec: exp.WindowSpec | None) -> Between:
        """Return whether a row is in the frame of another."""
        if spec is None:
            ordered = bool(rows.keys)
            return lambda q, r: every((rows.near(q, r), f"not({rows.ahead(q, r)})" if ordered else None))
        low = self._bound(node, rows, spec, "start", -1)
        end = spec if spec.args.get("end") else exp.WindowSpec(kind=spec.args["kind"], end="CURRENT ROW")
        high = self._bound(node, rows, end, "end", 1)
        return lambda q, r: every((rows.near(q, r), low(q, r), high(q, r)))

    def _bound(
        self, node: exp.Expression, rows: WindowRows, spec: exp.WindowSpec, part: str, sign: int
    ) -> Between:
        """Return whether a row is not beyond one end of the frame: not before it, or not behind it."""
        bound, side = spec.args.get(part), str(spec.args.get(f"{part}_side") or "").upper()
        kind = str(spec.args.get("kind") or "RANGE").upper()
        ours = "PRECEDING" if sign < 0 else "FOLLOWING"
        if bound == "UNBOUNDED" and side == ours:
            return lambda q, r: None
        offset = "0"
        if bound != "CURRENT ROW":
            if not isinstance(bound, exp.Literal) or not str(bound.this).isdigit():
                raise refused(
                    self.scope.source,
                    node,
                    "a frame goes to UNBOUNDED, to CURRENT ROW, or a whole number of rows",
                )
            offset = f"{'-' if side == 'PRECEDING' else ''}{bound.this}"
        is_less = sign < 0
        if kind == "RANGE" and offset == "0" and bound == "CURRENT ROW":
            if not rows.keys:
                return lambda q, r: None
            return lambda q, r: f"not({rows.ahead(r, q) if is_less else rows.ahead(q, r)})"
        if kind == "RANGE":
            return self._in_range(node, rows, offset, is_less)
        number = rows.place if kind == "ROWS" else rows.dense
        at = f" + {offset}" if not offset.startswith("-") else f" - {offset[1:]}"
        at = "" if offset == "0" else at
        return lambda q, r: f"({number(r)} {'>=' if is_less else '<='} {number(q)}{at})"

    def _in_range(self, node: exp.Expression, rows: WindowRows, offset: str, is_less: bool) -> Between:
        """Return whether the key of a row is near enough to that of another."""
        one = rows.keys[0]("q") if len(rows.keys) == 1 else None
        if one is None or one.type.kind not in ("exact", "date") or one.known is not None:
            hint = "ROWS or GROUPS count rows"
            raise refused(self.scope.source, node, "RANGE with a number needs one key of exact numbers", hint)
        down = rows.order[0].descending
        amount = int(offset) * 10**one.type.scale * (-1 if down else 1)
        sign = "<=" if is_less == down else ">="
        shift = f" + {amount}" if amount >= 0 else f" - {-amount}"
        return lambda q, r: f"({rows.keys[0](r).text} {sign} {rows.keys[0](q).text}{shift})"

    # ---- functions ---------------------------------------------------------------------------

    def _aggregate(self, function: exp.Expression, rows: WindowRows, framed: Between) -> ValueReader:
        count = self.scope.count
        is_whole = framed("q", "r") is None
        domain = AggregateDomain(
            (lambda fold: fold) if is_whole else (lambda fold: f"map(tol[{count}], {fold}, [q])"),
            (lambda name, at: name) if is_whole else (lambda name, at: f"{name}[{at}]"),
            lambda row: framed("q", row),
            count,
        )
        inner = replace(self.scope, window=None)
        return Aggregation(self.scope.context.writer, count, inner.moved, domain).aggregate(function)

    def _ntile(self, function: exp.Expression, rows: WindowRows) -> ValueReader:
        """Number the rows of a partition by parts that differ in length by one at most."""
        if (
            not isinstance(function.this, exp.Literal)
            or not str(function.this.this).isdigit()
            or function.this.this == "0"
        ):
            raise refused(self.scope.source, function, "NTILE takes a whole number")
        parts, size, place = function.this.this, rows.size("q"), f"{rows.place('q')} - 1"
        text = (
            f"{{ s = convert(floor(div({size}, {parts})), Z)\n more = {size} - s * {parts}\n p = {place}\n"
            " where(p < more * (s + 1), convert(floor(div(p, s + 1)), Z),"
            " more + convert(floor(div(p - more * (s + 1), max(s, 1))), Z)) + 1 }"
        )
        return self.scope.context.writer.lazily("window", self.scope.count, lambda at: SqlValue(text, WHOLE))

    def _shifted(self, function: exp.Expression, rows: WindowRows) -> ValueReader:
        """Read the value of a row so many before or behind in the partition."""
        offset = function.args.get("offset")
        number = "1" if offset is None else str(offset.this) if isinstance(offset, exp.Literal) else ""
        if not number.isdigit():
            raise refused(self.scope.source, function, "LAG and LEAD take a whole number of rows")
        sign = "-" if isinstance(function, exp.Lag) else "+"
        found = self._found(
            rows.near, rows, lambda r: f"{rows.place(r)} == {rows.place('q')} {sign} {number}"
        )
        read = self._at(function.this, found)
        other = function.args.get("default")
        if other is None:
            return read
        value, inner = read("q"), replace(self.scope, window=None)
        joined = common_type((value.type, written(other, inner).type))
        if joined is None:
            raise refused(
                self.scope.source, function, "the value and what stands in for it are of different types"
            )
        table = self.scope.context.writer.table

        def either(at: str) -> SqlValue:
            one, instead = read(at), written(other, inner.moved(at))
            there = f"({found(at)} > 1)"
            text = f"where({there}, {in_type(one, joined, table)}, {in_type(instead, joined, table)})"
            known = None
            if one.known != there or instead.known is not None:
                known = f"where({there}, {one.known or 'true'}, {instead.known or 'true'})"
            return as_value(text, joined, known)

        return self.scope.context.writer.lazily("window", self.scope.count, either)

    def _in_frame(self, function: exp.Expression, rows: WindowRows, framed: Between) -> ValueReader:
        """Read the value of the first, last or n-th row of a frame."""
        writer, count = self.scope.context.writer, self.scope.count
        if isinstance(function, exp.NthValue):
            offset = function.args.get("offset")
            if not isinstance(offset, exp.Literal) or not str(offset.this).isdigit() or offset.this == "0":
                raise refused(self.scope.source, function, "NTH_VALUE takes a whole number")
            shift = f" + {int(offset.this) - 1}" if offset.this != "1" else ""
        else:
            shift = ""
        is_last = isinstance(function, exp.LastValue)
        test = framed("q", "r")
        step = f"max(a, {rows.place('r')})" if is_last else f"min(a, {rows.place('r')})"
        step = step if test is None else f"where({test}, {step}, a)"
        start = "0" if is_last else f"2 * {count} + 1"
        place = writer.fresh("place")
        writer.vector(place, count, f"reduce(tol[{count}], (a, z) => {step}, {start}, [r])")
        found = self._found(framed, rows, lambda r: f"{rows.place(r)} == {place}[q]{shift}")
        return self._at(function.this, found)

    def _found(self, among: Between, rows: WindowRows, test: Callable[[str], str]) -> Callable[[str], str]:
        """Define the number of the one row for which a test holds, plus 1; or 1 if there is none."""
        writer, count = self.scope.context.writer, self.scope.count
        name = writer.fresh("found")
        hit = every((among("q", "r"), f"({test('r')})"))
        writer.vector(name, count, f"reduce(tol[{count}], (a, z) => where({hit}, r + 1, a), 1, [r])")
        return lambda at: f"{name}[{at}]"

    def _at(self, node: exp.Expression, found: Callable[[str], str]) -> ValueReader:
        inner = replace(self.scope, window=None)
        column = FrameColumn("", "", lambda at: written(node, inner.moved(at)))
        read = padded(self.scope.context.writer, Frame(self.scope.count, (column,))).columns[0].read
        return lambda at: read(found(at))
