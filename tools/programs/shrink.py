"""Making a failing program small: the syntax tree loses a piece at a time while it still fails.

Nothing here knows about types: a variant that is no longer a program simply fails in another way,
and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tolcost.diagnostics import Rejected, Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program
from tolcost.syntax.tree import (
    BlockExpr,
    Bracket,
    Call,
    Define,
    Expr,
    Infix,
    Module,
    Name,
    Numeral,
    Statement,
    Unpack,
)

Points = tuple[Mapping[str, int], ...]
Fails = Callable[[str, Points], bool]
ONE = Numeral("1")


def shrink(text: str, points: Points, fails: Fails, tries: int = 4000) -> tuple[str, Points]:
    """The smallest program found that still fails, and the points it fails at."""
    points = _fewer_points(text, points, fails)
    program = parse(Source("case.tol", text))
    left = tries
    improved = True
    while improved and left > 0:
        improved = False
        for variant in variants(program):
            left -= 1
            if left <= 0:
                break
            smaller = format_program(variant)
            if len(smaller) < len(format_program(program)) and fails(smaller, points):
                program, improved = parse(Source("case.tol", smaller)), True
                break
    found = format_program(program)
    return (found, _fewer_points(found, points, fails)) if fails(found, points) else (text, points)


def _fewer_points(text: str, points: Points, fails: Fails) -> Points:
    """One point if one is enough, with lengths as small as they can be."""
    for point in points:
        if fails(text, (point,)):
            return (_smaller_point(text, point, fails),)
    return points


def _smaller_point(text: str, point: Mapping[str, int], fails: Fails) -> Mapping[str, int]:
    for name in point:
        for value in range(1, point[name]):
            if fails(text, ({**point, name: value},)):
                point = {**point, name: value}
                break
    return point


# ---- variants ----------------------------------------------------------------------------


def variants(program: Module) -> Iterator[Module]:
    """Programs with one thing less: statements first, then expressions from the outside in."""
    rows = program.statements
    for n in reversed(range(len(rows))):
        yield Module((*rows[:n], *rows[n + 1 :]))
    for n, row in enumerate(rows):
        for changed in _statement(row):
            yield Module((*rows[:n], changed, *rows[n + 1 :]))


def _statement(statement: Statement) -> Iterator[Statement]:
    match statement:
        case Define() | Unpack():
            for value in simpler(statement.value):
                yield replace(statement, value=value)
        case _:
            for name, value in _parts(statement):
                if isinstance(value, tuple):
                    yield from (replace(statement, **{name: v}) for v in _in_row(value))


def simpler(expr: Expr) -> Iterator[Expr]:
    """The expression replaced by one of its parts, by 1, or with one part simpler."""
    if expr != ONE and not isinstance(expr, Name):
        yield ONE
    yield from _children(expr)
    match expr:
        case Infix(first=first, rest=rest):
            yield from (
                replace(expr, rest=(*rest[:n], *rest[n + 1 :])) for n in range(len(rest)) if len(rest) > 1
            )
            yield from (value for _, value in rest)
            yield first
        case Bracket(items=items) if len(items) > 1:
            yield from (replace(expr, items=(*items[:n], *items[n + 1 :])) for n in range(len(items)))
        case BlockExpr(statements=rows):
            yield from (replace(expr, statements=(*rows[:n], *rows[n + 1 :])) for n in range(len(rows)))
        case Call(args=args) if len(args) == 4:
            yield replace(expr, args=args[:3])
        case _:
            pass
    for name, value in _parts(expr):
        if isinstance(value, tuple):
            yield from (replace(expr, **{name: v}) for v in _in_row(value))
        elif isinstance(value, Expr):
            yield from (replace(expr, **{name: v}) for v in simpler(value))


def _in_row(row: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """A tuple with one of its entries simpler."""
    for n, item in enumerate(row):
        if isinstance(item, Expr):
            changed: Iterator[object] = simpler(item)
        elif isinstance(item, Define | Unpack):
            changed = _statement(item)
        elif isinstance(item, tuple):
            changed = _in_row(item)
        else:
            continue
        yield from ((*row[:n], other, *row[n + 1 :]) for other in changed)


def _children(expr: Expr) -> Iterator[Expr]:
    for _, value in _parts(expr):
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Expr))


def _parts(node: object) -> Iterator[tuple[str, object]]:
    assert isinstance(node, Struct)
    yield from ((name, getattr(node, name)) for name in node.__struct_fields__ if name != "span")


def parses(text: str) -> bool:
    """Whether a text is a program at all."""
    try:
        parse(Source("case.tol", text))
    except Rejected:
        return False
    return True
