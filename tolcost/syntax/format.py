"""The canonical text of a program.

Comments stay where they stand: on lines of their own, or at the end of a line; one inside of an
expression moves above its line.  One empty line is kept where there were some.  A block stays spread
over lines, or on one line where its statement fits there.  Formatting twice changes nothing, and the
text formatted says what it said before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tolcost.syntax.comments import TOP, Attached, attach, blocks, lines, spread
from tolcost.syntax.layout import WIDTH, Aside, Mark, Stream, lay_out
from tolcost.syntax.printing import Part, Slot, definition, separated, spell
from tolcost.syntax.tree import (
    Block,
    Comment,
    Define,
    Ellipsis,
    Expr,
    Input,
    ListDecl,
    Operator,
    Program,
    SpaceDecl,
    Statement,
    Unpack,
    Use,
    Zeros,
)


def format_program(program: Program) -> str:
    r"""The text of a program.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> format_program(parse(Source("demo", "y:=map(x,mul(*,a [1]))  // twice")))
    'y := map(x, mul(*, a[1]))  // twice\n'
    """
    several = [block for statement in program.statements for block in _broken(statement)]
    writer = _Writer({id(block) for block in several}, attach(program, several))
    text = lay_out(spell(writer.rows(TOP, program.statements), writer.block))
    return text + "\n" if text else ""


def _broken(statement: Statement) -> list[Block]:
    """The blocks of a statement that take several lines: all of them where it is too long for one."""
    found = blocks(statement) if _may_hold_block(statement) else []
    if not found:
        return []
    return found if _width(spell(_statement(statement), lambda _: None)) > WIDTH else spread(statement)


def _may_hold_block(statement: Statement) -> bool:
    """A quick look at the text, where there is one."""
    span = statement.span
    return not span.source.text or "{" in span.source.text[span.start : span.end]


def _width(stream: Stream) -> int:
    return sum(len(piece) if isinstance(piece, str) else piece is Mark.SOFT for piece in stream)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Puts lines and comments in order."""

    several: set[int]
    attached: Attached

    def block(self, block: Block) -> list[Part] | None:
        """A block on several lines, or None for one that takes a single line."""
        if id(block) not in self.several:
            return None
        inner = self.rows(block.span.start, lines(block))
        return [Mark.HOLD, "{", Mark.OPEN, Mark.HARD, *inner, Mark.CLOSE, Mark.HARD, "}", Mark.CLOSE]

    def rows(self, key: int, items: Sequence[Statement | Expr]) -> list[Part]:
        """The lines of a block or program, and the comments between them."""
        row: list[Part] = []
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

    def _own_line(self, row: list[Part], comment: Comment) -> None:
        _new_line(row, comment)
        row.append(comment.text)

    def _item(self, row: list[Part], item: Statement | Expr) -> None:
        _new_line(row, item)
        for comment in self.attached.inside.get(item.span.start, []):
            row += [comment.text, Mark.HARD]
        row += _statement(item) if isinstance(item, Statement) else [Slot(item)]


def _new_line(row: list[Part], item: Statement | Expr | Comment) -> None:
    """End the line before an item, and keep one empty line where there were some."""
    if not row:
        return
    row.append(Mark.HARD)
    text, at, ends = item.span.source.text, item.span.start, 0
    while at > 0 and ends < 2 and text[at - 1].isspace():
        at -= 1
        ends += text[at] == "\n"
    if ends == 2:
        row.append(Mark.HARD)


def _same_line(item: Statement | Expr, comment: Comment) -> bool:
    return "\n" not in comment.span.source.text[item.span.end : comment.span.start]


def _statement(statement: Statement) -> list[Part]:
    match statement:
        case Define() | Unpack():
            return definition(statement)
        case Operator(name=name, since=since):
            return [f"operator {name}" if since is None else f"operator {name} {since}"]
        case Use(names=names):
            return [f"use {', '.join(names)}"]
        case SpaceDecl(name=name, space=space, low=low, high=high):
            ends: list[list[Part]] = [[Slot(end, item=True)] for end in (low, high) if end is not None]
            return [f"space {name}: {space}", *([" [", *separated(ends), "]"] if ends else [])]
        case ListDecl(name=name, spaces=spaces):
            return [f"list {name}: {', '.join(spaces)}"]
        case Zeros(name=name, shape=shape):
            return [f"tol {name} = ", Slot(shape)]
        case Input():
            return _input(statement)


def _input(statement: Input) -> list[Part]:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    row: list[Part] = [f"{statement.kind} {statement.name}{mark}: {statement.space}"]
    if statement.shape:
        lengths = [_length(length) for length in statement.shape]
        row += [" [", Mark.OPEN, *separated(lengths), Mark.CLOSE, "]"]
    if statement.default is not None:
        row += [" = ", Slot(statement.default)]
    return row


def _length(length: Expr | Ellipsis) -> list[Part]:
    return ["..."] if isinstance(length, Ellipsis) else [Slot(length, item=True)]
