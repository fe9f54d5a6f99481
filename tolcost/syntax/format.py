"""Format a program: print its syntax tree as canonical text.

Comments keep their places: on lines of their own, or at the end of a line; a comment inside an expression
moves above its line. Several empty lines in a row become one. A block that the author spread over lines stays
spread; any other block is printed on one line unless its statement is too long. Formatting is idempotent and
does not change the meaning of the program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Any, TypeAlias

from msgspec import Struct

from tolcost.syntax import tree
from tolcost.syntax.grammar import BINARY_LEVELS, LAMBDA, POSTFIX, POWER, PREFIX_LEVELS, RANGE, SUM

# === Expressions: from the tree to a stream of words and possible line breaks, and from the stream to lines.
#
# Parentheses follow the precedence table that the parser uses. Nothing recurses: parts that are not spelled
# yet wait on a stack.


# ---- breaking lines --------------------------------------------------------------------------

# The printer turns a flat stream of words and possible line breaks into text. A possible break becomes a line
# end only if the words up to the next possible break at the same level do not fit; so outer levels break
# before inner ones, and short pieces stay together. Two passes over the stream, no recursion, linear time.

WIDTH = 110
STEP = 2


class LinePlace(Enum):
    """A layout instruction in the stream."""

    OPEN = auto()
    """Indent the following lines one level deeper."""
    HOLD = auto()
    """Indent the following lines as deep as the current one."""
    CLOSE = auto()
    """Return to the previous level."""
    SOFT = auto()
    """A space, or a line end where the following words do not fit."""
    HARD = auto()
    """A line end."""


class Aside(Struct, frozen=True):
    """A comment at the end of a line; it may stick out, so it does not count towards the line's width."""

    text: str


Stream: TypeAlias = list["str | LinePlace | Aside"]


def lay_out(stream: Stream) -> str:
    """Print a stream as text.

    >>> lay_out(["f(", LinePlace.OPEN, "a,", LinePlace.SOFT, "b", LinePlace.CLOSE, ")"])
    'f(a, b)'
    """
    needs = _break_needs(stream)
    lines: list[str] = []
    line: list[str] = []
    column = indent = 0
    indents = [0]
    for piece, need in zip(stream, needs, strict=True):
        match piece:
            case str():
                line.append(piece)
                column += len(piece)
            case Aside(text=text):
                line.append(f"  {text}")
            case LinePlace.OPEN:
                indents.append(indent + STEP)
            case LinePlace.HOLD:
                indents.append(indent)
            case LinePlace.CLOSE:
                indents.pop()
            case LinePlace.SOFT if column + need <= WIDTH:
                line.append(" ")
                column += 1
            case LinePlace.SOFT | LinePlace.HARD:
                lines.append("".join(line).rstrip())
                column = indent = indents[-1]
                line = [" " * indent]
    return "\n".join([*lines, "".join(line).rstrip()])


def _break_needs(stream: Stream) -> list[int]:
    """For each soft break, the columns up to the next possible break at its level, or to its level's end."""
    needs = [0] * len(stream)
    total = nearest = 0
    levels = [0]
    for index in range(len(stream) - 1, -1, -1):
        piece = stream[index]
        match piece:
            case str():
                total += len(piece)
            case LinePlace.CLOSE:
                levels.append(nearest)
            case LinePlace.OPEN | LinePlace.HOLD:
                levels.pop()
            case LinePlace.SOFT:
                total += 1
                needs[index] = total - levels[-1]
                levels[-1] = nearest = total
            case LinePlace.HARD:
                nearest = total
                levels[:] = [total] * len(levels)
            case Aside():
                pass
    return needs


# ---- spelling --------------------------------------------------------------------------------


_WORDS = frozenset({"and", "or", "xor", "not"})
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


class ExprSlot(Struct, frozen=True):
    """A place for an expression.

    ``level`` is the loosest precedence that needs no parentheses here; ``item`` says that a comma or
    bracket follows the expression.
    """

    expr: tree.Expr
    level: int = LAMBDA
    item: bool = False


Comments: TypeAlias = dict[int, list[tree.Comment]]
Fragment: TypeAlias = str | LinePlace | Aside | ExprSlot | tree.BlockExpr
Blocks: TypeAlias = Callable[[tree.BlockExpr], "list[Fragment] | None"]


def spell(first: Iterable[Fragment], blocks: Blocks) -> Stream:
    """Spell fragments as a stream.

    ``blocks`` spells the blocks that take several lines and returns None for others.
    """
    stream: Stream = []
    waiting: list[Fragment] = list(first)[::-1]
    while waiting:
        part = waiting.pop()
        match part:
            case ExprSlot():
                waiting.extend(reversed(_spell_slot(part)))
            case tree.BlockExpr():
                waiting.extend(reversed(blocks(part) or _spell_block_on_one_line(part)))
            case _:
                stream.append(part)
    return stream


def definition(statement: tree.Define | tree.Unpack) -> list[Fragment]:
    """Spell a definition: ``x = e``, ``f(i) = e``, ``y := e``, ``(a, b) = e``."""
    if isinstance(statement, tree.Unpack):
        return [f"({', '.join(statement.names)}) = ", ExprSlot(statement.value)]
    params = "" if statement.params is None else f"({', '.join(statement.params)})"
    sign = ":=" if statement.output else "="
    return [f"{statement.name}{params}{'...' * statement.variadic} {sign} ", ExprSlot(statement.value)]


def separated(parts: Iterable[list[Fragment]]) -> list[Fragment]:
    """Join the parts with commas, each followed by a possible line break."""
    row: list[Fragment] = []
    for part in parts:
        if row:
            row += [",", LinePlace.SOFT]
        row += part
    return row


def _spell_slot(slot: ExprSlot) -> list[Fragment]:
    expr = slot.expr
    if _level(expr) < slot.level or _fragile(expr, slot):
        return ["(", LinePlace.OPEN, ExprSlot(expr, item=True), LinePlace.CLOSE, ")"]
    return _SPELLINGS[type(expr)](expr)


def _level(expr: tree.Expr) -> int:
    match expr:
        case tree.Arrow():
            return LAMBDA
        case tree.Infix(rest=rest):
            return BINARY_LEVELS[rest[0][0]]
        case tree.Unary(op=op):
            return PREFIX_LEVELS[op]
        case tree.RangeExpr():
            return RANGE
        case tree.Power():
            return POWER
        case _:
            return POSTFIX


def _fragile(expr: tree.Expr, slot: ExprSlot) -> bool:
    """Whether a name would be read as an operator unless a comma or a bracket follows it."""
    return isinstance(expr, tree.Name) and not slot.item and (expr.name in _WORDS or expr.name[-1] in "*+-")


def _spell_list(opening: str, items: tuple[tree.Expr, ...], closing: str) -> list[Fragment]:
    return [
        opening,
        LinePlace.OPEN,
        *separated([ExprSlot(i, item=True)] for i in items),
        LinePlace.CLOSE,
        closing,
    ]


def _spell_base(expr: tree.Expr, links: bool = False) -> list[Fragment]:
    """Spell the operand of an index, a dot or a power.

    ``tol[`` would be read as a ToL of zeros, so ``tol`` gets parentheses; so do compositions and numbers
    before a dot.
    """
    if expr == tree.Name("tol") or (links and isinstance(expr, (tree.Compose, tree.Numeral))):
        return ["(", ExprSlot(expr, item=True), ")"]
    return [ExprSlot(expr, POSTFIX)]


def _spliceable(expr: tree.Expr) -> bool:
    """Whether an expression starts with what can follow the ``*`` of a splice."""
    while isinstance(expr, (tree.Subscript, tree.ListSubscript, tree.Call, tree.Compose)):
        if isinstance(expr, tree.Compose):
            expr = expr.functions[0]
        else:
            expr = expr.function if isinstance(expr, tree.Call) else expr.base
    match expr:
        case tree.Name(name=name):
            return name not in _WORDS
        case tree.Numeral() | tree.Text() | tree.Star() | tree.Bracket() | tree.BlockExpr():
            return False
        case _:
            return True


def _spell_callee(function: tree.Expr) -> list[Fragment]:
    """Spell the function of a call. ``*(`` would be read as a splice, so ``*`` gets parentheses."""
    if isinstance(function, tree.Name) and function.name in _WORDS:
        return [function.name]
    return ["(*)"] if isinstance(function, tree.Star) else [ExprSlot(function, POSTFIX)]


def _spell_link(function: tree.Expr) -> list[Fragment]:
    if isinstance(function, tree.Name) and not _fragile(function, ExprSlot(function)):
        return [".", function.name]
    return [".(", ExprSlot(function, item=True), ")"]


def _spell_block_on_one_line(block: tree.BlockExpr) -> list[Fragment]:
    """Spell a block on one line."""
    row: list[Fragment] = ["{ ", LinePlace.OPEN]
    for statement in block.statements:
        row += [*definition(statement), "; "]
    return [*row, ExprSlot(block.result), LinePlace.CLOSE, " }"]


def _spell_call(call: tree.Call) -> list[Fragment]:
    row: list[list[Fragment]] = [[ExprSlot(a, item=True)] for a in call.args]
    row += [[f"{name}: ", ExprSlot(value, item=True)] for name, value in call.named]
    return [*_spell_callee(call.function), "(", LinePlace.OPEN, *separated(row), LinePlace.CLOSE, ")"]


def _spell_composition(expr: tree.Compose) -> list[Fragment]:
    first, *others = expr.functions
    return [*_spell_base(first, links=True), *(part for f in others for part in _spell_link(f))]


def _spell_infix(expr: tree.Infix) -> list[Fragment]:
    level = _level(expr) + 1
    row: list[Fragment] = [LinePlace.OPEN, ExprSlot(expr.first, level)]
    for op, operand in expr.rest:
        row += [f" {op}", LinePlace.SOFT, ExprSlot(operand, level)]
    return [*row, LinePlace.CLOSE]


def _spell_range(expr: tree.RangeExpr) -> list[Fragment]:
    # `3...n` would be read as `3` and an ellipsis, so a number that ends in a dot gets parentheses
    in_dot = isinstance(expr.low, tree.Numeral) and expr.low.text.endswith(".")
    return [ExprSlot(expr.low, POSTFIX + in_dot), "..", ExprSlot(expr.high, SUM + 1)]


def _spell_arrow(expr: tree.Arrow) -> list[Fragment]:
    params = f"({', '.join(expr.params)}) =>"
    return [LinePlace.OPEN, params, LinePlace.SOFT, ExprSlot(expr.body), LinePlace.CLOSE]


_SPELLINGS: dict[type, Callable[[Any], list[Fragment]]] = {
    tree.Numeral: lambda e: [e.text],
    tree.Text: lambda e: [f'"{e.value.translate(_ESCAPES)}"'],
    tree.Name: lambda e: [e.name],
    tree.Star: lambda e: ["*"],
    tree.OperatorName: lambda e: [e.op],
    tree.Splice: lambda e: ["*", ExprSlot(e.value, POSTFIX if _spliceable(e.value) else POSTFIX + 1)],
    tree.Bracket: lambda e: _spell_list("[", e.items, "]"),
    tree.Tuple: lambda e: _spell_list("(", e.items, ")"),
    tree.ZeroTol: lambda e: _spell_list("tol[", e.items, "]"),
    tree.Subscript: lambda e: [*_spell_base(e.base), *_spell_list("[", e.items, "]")],
    tree.ListSubscript: lambda e: [*_spell_base(e.base), *_spell_list("[", (e.item,), "]'")],
    tree.ShapeOf: lambda e: ["|", ExprSlot(e.value), "|"],
    tree.CapacityOf: lambda e: ["|", ExprSlot(e.value), "|'"],
    tree.Unary: lambda e: [f"{e.op} " if e.op == "not" else e.op, ExprSlot(e.value, PREFIX_LEVELS[e.op])],
    tree.Power: lambda e: [*_spell_base(e.base), "^", ExprSlot(e.exponent, POWER)],
    tree.BlockExpr: lambda e: [e],
    tree.Call: _spell_call,
    tree.Compose: _spell_composition,
    tree.Infix: _spell_infix,
    tree.RangeExpr: _spell_range,
    tree.Arrow: _spell_arrow,
}
"""How to spell each kind of expression, without parentheses around it."""


# === Whole programs: statements, comments and blocks.


TOP = -1
"""The key of the program itself in the comments by block; blocks are keyed by their offset."""


def format_program(program: tree.Module) -> str:
    r"""Format a program.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> format_program(parse(Source("demo", "y:=map(x,mul(*,a [1]))  // twice")))
    'y := map(x, mul(*, a[1]))  // twice\n'
    """
    several = [block for statement in program.statements for block in _multiline_blocks(statement)]
    writer = _Arranger({id(block) for block in several}, *_assign_comments(program, several))
    text = lay_out(spell(writer.rows(TOP, program.statements), writer.block))
    return text + "\n" if text else ""


def _multiline_blocks(statement: tree.Statement) -> list[tree.BlockExpr]:
    """Return the blocks of a statement that take several lines.

    These are all of its blocks if the statement is too long for one line, else those that the author spread.
    """
    found = _blocks(statement) if _may_hold_block(statement) else []
    if not found:
        return []
    too_long = _width(spell(_spell_statement(statement), lambda _: None)) > WIDTH
    return found if too_long else [block for block in found if _is_spread(block)]


def _may_hold_block(statement: tree.Statement) -> bool:
    """Rule out statements without a block cheaply, by their text if they have one."""
    span = statement.span
    return not span.source.text or "{" in span.text


def _width(stream: Stream) -> int:
    return sum(len(piece) if isinstance(piece, str) else piece is LinePlace.SOFT for piece in stream)


class _Arranger(Struct, frozen=True):
    """Orders the lines of a program or block and its comments.

    ``between`` holds the comments between the lines of a block, by the offset of the block; ``inside`` holds
    the comments inside a line, by the offset of the line.
    """

    several: set[int]
    between: Comments
    inside: Comments

    def block(self, block: tree.BlockExpr) -> list[Fragment] | None:
        """Spell a block over several lines; return None for a block that takes a single line."""
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
        """Spell the lines of a block or program, with the comments between them."""
        row: list[Fragment] = []
        comments = list(reversed(self.between.get(key, [])))
        for item in items:
            while comments and comments[-1].span.start < item.span.start:
                self._own_line(row, comments.pop())
            self._item(row, item)
            text = item.span.source.text
            if comments and "\n" not in text[item.span.end : comments[-1].span.start]:
                row.append(Aside(comments.pop().text))
        for comment in reversed(comments):
            self._own_line(row, comment)
        return row

    def _own_line(self, row: list[Fragment], comment: tree.Comment) -> None:
        _new_line(row, comment)
        row.append(comment.text)

    def _item(self, row: list[Fragment], item: tree.Statement | tree.Expr) -> None:
        _new_line(row, item)
        for comment in self.inside.get(item.span.start, []):
            row += [comment.text, LinePlace.HARD]
        row += _spell_statement(item) if isinstance(item, tree.Statement) else [ExprSlot(item)]


def _new_line(row: list[Fragment], item: tree.Statement | tree.Expr | tree.Comment) -> None:
    """End the current line; keep one empty line if the source has any before the item."""
    if not row:
        return
    row.append(LinePlace.HARD)
    text, at, ends = item.span.source.text, item.span.start, 0
    while at > 0 and ends < 2 and text[at - 1].isspace():
        at -= 1
        ends += text[at] == "\n"
    if ends == 2:
        row.append(LinePlace.HARD)


def _spell_statement(statement: tree.Statement) -> list[Fragment]:
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
            return _spell_input(statement)


def _spell_input(statement: tree.InputDecl) -> list[Fragment]:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    row: list[Fragment] = [f"{statement.kind} {statement.name}{mark}: {statement.space}"]
    if statement.shape:
        lengths = [_spell_length(length) for length in statement.shape]
        row += [" [", LinePlace.OPEN, *separated(lengths), LinePlace.CLOSE, "]"]
    if statement.default is not None:
        row += [" = ", ExprSlot(statement.default)]
    return row


def _spell_length(length: tree.Expr | tree.Ellipsis) -> list[Fragment]:
    return ["..."] if isinstance(length, tree.Ellipsis) else [ExprSlot(length, item=True)]


# ---- which comment belongs to which line -------------------------------------------------
#
# A *line* is a statement of the program, or of a block that takes several lines, or the value of such a
# block.  A comment between lines stays between them; one inside of a line goes before it.


def _lines(block: tree.BlockExpr) -> tuple[tree.Define | tree.Unpack | tree.Expr, ...]:
    """The lines of a block."""
    return (*block.statements, block.result)


def _blocks(statement: tree.Statement) -> list[tree.BlockExpr]:
    """Return all blocks inside a statement."""
    return [node for node in tree.inner_nodes(statement) if isinstance(node, tree.BlockExpr)]


def _assign_comments(program: tree.Module, several: Iterable[tree.BlockExpr]) -> tuple[Comments, Comments]:
    """Assign each comment to a block or to a line; ``several`` are the blocks that take several lines."""
    # (start, -end, 0 for a line or 1 for a block): in this order a holder comes before what it contains
    holders = [(s.span.start, -s.span.end, 0) for s in program.statements]
    for block in several:
        holders.append((block.span.start, -block.span.end, 1))
        holders += [(line.span.start, -line.span.end, 0) for line in _lines(block)]
    holders.sort(reverse=True)
    between: Comments = defaultdict(list)
    inside: Comments = defaultdict(list)
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
        (between if is_block else inside)[start].append(comment)
    return between, inside


def _is_spread(block: tree.BlockExpr) -> bool:
    """Whether the author spread the block: some line of it starts on a new line of the text."""
    text = block.span.source.text
    at = block.span.start
    for line in _lines(block):
        if "\n" in text[at : line.span.start]:
            return True
        at = line.span.end
    return False
