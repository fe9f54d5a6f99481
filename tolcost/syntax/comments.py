"""Which comment belongs to which line of the formatted text.

A *line* is a statement of the program, or of a block that takes several lines, or the value of such a
block.  A comment between lines stays between them; one inside of a line goes before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tolcost.syntax.depth import children
from tolcost.syntax.tree import Block, Comment, Define, Ellipsis, Expr, Program, Statement, Unpack

TOP = -1
"""Where the program itself is kept among the blocks."""


@dataclass(slots=True)
class Attached:
    """Comments by where a block starts, if between its lines, and by where a line starts, if inside it."""

    between: dict[int, list[Comment]] = field(default_factory=lambda: defaultdict(list))
    inside: dict[int, list[Comment]] = field(default_factory=lambda: defaultdict(list))


def lines(block: Block) -> tuple[Define | Unpack | Expr, ...]:
    """The lines of a block."""
    return (*block.statements, block.result)


def spread(statement: Statement) -> list[Block]:
    """The blocks of a statement whose lines are on several lines of the text."""
    return [block for block in blocks(statement) if _is_spread(block)]


def blocks(statement: Statement) -> list[Block]:
    """All blocks of a statement."""
    found = []
    waiting: list[Statement | Expr | Ellipsis] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Block):
            found.append(node)
        waiting.extend(children(node))
    return found


def attach(program: Program, several: Iterable[Block]) -> Attached:
    """Find the place of each comment; ``several`` are the blocks that take several lines."""
    # (start, minus end, 0 for a line and 1 for a block): sorted so, what holds comes before what is held
    holders = [(s.span.start, -s.span.end, 0) for s in program.statements]
    for block in several:
        holders.append((block.span.start, -block.span.end, 1))
        holders += [(line.span.start, -line.span.end, 0) for line in lines(block)]
    holders.sort(reverse=True)
    attached = Attached()
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


def _is_spread(block: Block) -> bool:
    text = block.span.source.text
    at = block.span.start
    for line in lines(block):
        if "\n" in text[at : line.span.start]:
            return True
        at = line.span.end
    return False
