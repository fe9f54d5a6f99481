"""The canonical text of a program.

Comments stay where they stand: on lines of their own, or at the end of a line; one inside of an
expression moves above its line.  One empty line is kept where there were some.  A block stays spread
over lines, or on one line where its statement fits there.  Formatting twice changes nothing, and the
text formatted says what it said before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tolcost.dataclass import dataclass, field
from tolcost.syntax import tree
from tolcost.syntax.printing import (
    WIDTH,
    Aside,
    ExprSlot,
    Fragment,
    LinePlace,
    Stream,
    definition,
    lay_out,
    separated,
    spell,
)

TOP = -1
"""Where the program itself is kept among the blocks."""


def format_program(program: tree.Module) -> str:
    r"""The text of a program.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> format_program(parse(Source("demo", "y:=map(x,mul(*,a [1]))  // twice")))
    'y := map(x, mul(*, a[1]))  // twice\n'
    """
    several = [block for statement in program.statements for block in _broken(statement)]
    writer = _Arranger({id(block) for block in several}, _attach(program, several))
    text = lay_out(spell(writer.rows(TOP, program.statements), writer.block))
    return text + "\n" if text else ""


def _broken(statement: tree.Statement) -> list[tree.BlockExpr]:
    """The blocks of a statement that take several lines: all of them where it is too long for one."""
    found = _blocks(statement) if _may_hold_block(statement) else []
    if not found:
        return []
    return found if _width(spell(_statement(statement), lambda _: None)) > WIDTH else _spread(statement)


def _may_hold_block(statement: tree.Statement) -> bool:
    """A quick look at the text, where there is one."""
    span = statement.span
    return not span.source.text or "{" in span.text


def _width(stream: Stream) -> int:
    return sum(len(piece) if isinstance(piece, str) else piece is LinePlace.SOFT for piece in stream)


@dataclass(frozen=True, slots=True)
class _Arranger:
    """Puts lines and comments in order."""

    several: set[int]
    attached: _Attached

    def block(self, block: tree.BlockExpr) -> list[Fragment] | None:
        """A block on several lines, or None for one that takes a single line."""
        if id(block) not in self.several:
            return None
        inner = self.rows(block.span.start, _lines(block))
        return [
            LinePlace.HOLD,
            "{",
            LinePlace.OPEN,
            LinePlace.HARD,
            *inner,
            LinePlace.CLOSE,
            LinePlace.HARD,
            "}",
            LinePlace.CLOSE,
        ]

    def rows(self, key: int, items: Sequence[tree.Statement | tree.Expr]) -> list[Fragment]:
        """The lines of a block or program, and the comments between them."""
        row: list[Fragment] = []
        comments = list(reversed(self.attached.between.get(key, [])))
        for item in items:
            while comments and comments[-1].span.start < item.span.start:
                self._own_line(row, comments.pop())
            self._item(row, item)
            if comments and _same_line(item, comments[-1]):
                row.append(Aside(comments.pop().text))
        for comment in reversed(comments):
            self._own_line(row, comment)
        return row

    def _own_line(self, row: list[Fragment], comment: tree.Comment) -> None:
        _new_line(row, comment)
        row.append(comment.text)

    def _item(self, row: list[Fragment], item: tree.Statement | tree.Expr) -> None:
        _new_line(row, item)
        for comment in self.attached.inside.get(item.span.start, []):
            row += [comment.text, LinePlace.HARD]
        row += _statement(item) if isinstance(item, tree.Statement) else [ExprSlot(item)]


def _new_line(row: list[Fragment], item: tree.Statement | tree.Expr | tree.Comment) -> None:
    """End the line before an item, and keep one empty line where there were some."""
    if not row:
        return
    row.append(LinePlace.HARD)
    text, at, ends = item.span.source.text, item.span.start, 0
    while at > 0 and ends < 2 and text[at - 1].isspace():
        at -= 1
        ends += text[at] == "\n"
    if ends == 2:
        row.append(LinePlace.HARD)


def _same_line(item: tree.Statement | tree.Expr, comment: tree.Comment) -> bool:
    return "\n" not in comment.span.source.text[item.span.end : comment.span.start]


def _statement(statement: tree.Statement) -> list[Fragment]:
    match statement:
        case tree.Define() | tree.Unpack():
            return definition(statement)
        case tree.Operator(name=name, since=since):
            return [f"operator {name}" if since is None else f"operator {name} {since}"]
        case tree.Use(names=names):
            return [f"use {', '.join(names)}"]
        case tree.SpaceDecl(name=name, space=space, low=low, high=high):
            ends: list[list[Fragment]] = [
                [ExprSlot(end, item=True)] for end in (low, high) if end is not None
            ]
            return [f"space {name}: {space}", *([" [", *separated(ends), "]"] if ends else [])]
        case tree.ListDecl(name=name, spaces=spaces):
            return [f"list {name}: {', '.join(spaces)}"]
        case tree.ZerosDecl(name=name, shape=shape):
            return [f"tol {name} = ", ExprSlot(shape)]
        case tree.InputDecl():
            return _input(statement)


def _input(statement: tree.InputDecl) -> list[Fragment]:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    row: list[Fragment] = [f"{statement.kind} {statement.name}{mark}: {statement.space}"]
    if statement.shape:
        lengths = [_length(length) for length in statement.shape]
        row += [" [", LinePlace.OPEN, *separated(lengths), LinePlace.CLOSE, "]"]
    if statement.default is not None:
        row += [" = ", ExprSlot(statement.default)]
    return row


def _length(length: tree.Expr | tree.Ellipsis) -> list[Fragment]:
    return ["..."] if isinstance(length, tree.Ellipsis) else [ExprSlot(length, item=True)]


# ---- which comment belongs to which line -------------------------------------------------
#
# A *line* is a statement of the program, or of a block that takes several lines, or the value of such a
# block.  A comment between lines stays between them; one inside of a line goes before it.


@dataclass(slots=True)
class _Attached:
    """Comments by where a block starts, if between its lines, and by where a line starts, if inside it."""

    between: dict[int, list[tree.Comment]] = field(default_factory=lambda: defaultdict(list))
    inside: dict[int, list[tree.Comment]] = field(default_factory=lambda: defaultdict(list))


def _lines(block: tree.BlockExpr) -> tuple[tree.Define | tree.Unpack | tree.Expr, ...]:
    """The lines of a block."""
    return (*block.statements, block.result)


def _spread(statement: tree.Statement) -> list[tree.BlockExpr]:
    """The blocks of a statement whose lines are on several lines of the text."""
    return [block for block in _blocks(statement) if _is_spread(block)]


def _blocks(statement: tree.Statement) -> list[tree.BlockExpr]:
    """All blocks of a statement."""
    found = []
    waiting: list[tree.Statement | tree.Expr | tree.Ellipsis] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.BlockExpr):
            found.append(node)
        waiting.extend(tree.children(node))
    return found


def _attach(program: tree.Module, several: Iterable[tree.BlockExpr]) -> _Attached:
    """Find the place of each comment; ``several`` are the blocks that take several lines."""
    # (start, minus end, 0 for a line and 1 for a block): sorted so, what holds comes before what is held
    holders = [(s.span.start, -s.span.end, 0) for s in program.statements]
    for block in several:
        holders.append((block.span.start, -block.span.end, 1))
        holders += [(line.span.start, -line.span.end, 0) for line in _lines(block)]
    holders.sort(reverse=True)
    attached = _Attached()
    around: list[tuple[int, int, int]] = []
    for comment in program.comments:
        at = comment.span.start
        while holders and holders[-1][0] <= at:
            around.append(holders.pop())
            while len(around) > 1 and -around[-2][1] <= around[-1][0]:
                del around[-2]
        while around and -around[-1][1] <= at:
            around.pop()
        start, _, is_block = around[-1] if around else (TOP, 0, 1)
        (attached.between if is_block else attached.inside)[start].append(comment)
    return attached


def _is_spread(block: tree.BlockExpr) -> bool:
    text = block.span.source.text
    at = block.span.start
    for line in _lines(block):
        if "\n" in text[at : line.span.start]:
            return True
        at = line.span.end
    return False
