"""UNION, INTERSECT and EXCEPT: the rows of two queries, each once or as often as they come up."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tolcost.apps.sql.frames import Frame, FrameColumn, ProgramWriter, ValueReader, as_value
from tolcost.apps.sql.query import refused
from tolcost.apps.sql.results import common_columns, firsts, same_at
from tolcost.apps.sql.scopes import SqlContext
from tolcost.apps.sql.values import SqlValue, every, same


def combined(node: exp.SetOperation, left: Frame, right: Frame, context: SqlContext) -> Frame:
    """Combine the rows of two queries, whose columns go by their places."""
    writer = context.writer
    pairs = common_columns(writer, left, right, lambda why: refused(context.source, node, why))
    ones = [writer.lazily("value", left.count, one) for one, _, _ in pairs]
    others = [writer.lazily("value", right.count, other) for _, other, _ in pairs]
    names = [column.name for column in left.columns]
    if isinstance(node, exp.Union):
        both = _both(writer, left.count, right.count, ones, others, names)
        return _distinct(writer, both) if node.args.get("distinct") else both
    whole = Frame(left.count, tuple(FrameColumn("", n, r) for n, r in zip(names, ones, strict=True)))
    return _held(writer, node, whole, right.count, others)


def _both(
    writer: ProgramWriter,
    left: str,
    right: str,
    ones: Sequence[ValueReader],
    others: Sequence[ValueReader],
    names: Sequence[str],
) -> Frame:
    count = f"({left} + {right})"
    columns = (
        FrameColumn("", name, _one_after_another(writer, left, right, one, other))
        for name, one, other in zip(names, ones, others, strict=True)
    )
    return Frame(count, tuple(columns))


def _one_after_another(
    writer: ProgramWriter, left: str, right: str, one: ValueReader, other: ValueReader
) -> ValueReader:
    made: list[ValueReader] = []

    def read(at: str) -> SqlValue:
        if not made:
            first, second = one("q"), other("q")
            name = writer.fresh("value")
            writer.define(name, f"join({_rows(left, first.text)}, {_rows(right, second.text)}, 1)")
            known = None
            if first.known is not None or second.known is not None:
                known = f"{name}_known"
                sides = (_rows(left, first.known or "true"), _rows(right, second.known or "true"))
                writer.define(known, f"join({sides[0]}, {sides[1]}, 1)")
            made.append(
                lambda at: as_value(f"{name}[{at}]", first.type, None if known is None else f"{known}[{at}]")
            )
        return made[0](at)

    return read


def _rows(count: str, text: str) -> str:
    return f"map(tol[{count}], {text}, [q])"


def _distinct(writer: ProgramWriter, frame: Frame) -> Frame:
    name = writer.word("single")
    alike = every(same_at(column.read) for column in frame.columns) or "true"
    writer.define(name, firsts(frame.count, alike))
    return frame.take(f"len({name})", lambda at: f"{name}[{at}]")


def _held(
    writer: ProgramWriter, node: exp.SetOperation, frame: Frame, count: str, others: Sequence[ValueReader]
) -> Frame:
    """Keep the rows that come up on the other side, or that do not; ALL goes by how often."""
    name = writer.fresh("rows")
    inside = " and ".join(
        same(column.read("q"), other("r")) for column, other in zip(frame.columns, others, strict=True)
    )
    alike = every(same_at(column.read) for column in frame.columns) or "true"
    is_in = isinstance(node, exp.Intersect)
    if node.args.get("distinct"):
        seen = f"reduce(tol[q - 1], (a, z) => a or {alike}, false, [r])"
        found = f"reduce(tol[{count}], (a, z) => a or {inside}, false, [r])"
        test = f"not({seen}) and {found if is_in else f'not({found})'}"
    else:
        times = f"reduce(tol[q - 1], (a, z) => a + ({alike}), 1, [r])"
        there = f"reduce(tol[{count}], (a, z) => a + ({inside}), 0, [r])"
        test = f"{times} {'<=' if is_in else '>'} {there}"
    writer.define(name, f"where_true(map(tol[{frame.count}], {test}, [q]))")
    return frame.take(f"len({name})", lambda at: f"{name}[{at}]")
