"""Expressions as streams of words and possible line ends: the canonical spelling of the tree, and its lines.

Parentheses come from the same table of precedences that the parser uses.  Nothing recurses: parts not
spelled yet wait on a stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, TypeAlias

from tolcost.dataclass import dataclass
from tolcost.syntax import tree
from tolcost.syntax.precedence import BINARY_LEVELS, LAMBDA, POSTFIX, POWER, PREFIX_LEVELS, RANGE, SUM

# ---- breaking lines --------------------------------------------------------------------------

# A flat stream of words and places where a line may end becomes text.  A line breaks only where what
# follows, up to the next such place at the same level, does not fit; so outer levels break before inner
# ones, and short things stay together.  Two passes over the stream, no recursion, linear time.

WIDTH = 110
STEP = 2


class LinePlace(Enum):
    """A place in the stream."""

    OPEN = auto()
    """What follows is one level deeper."""
    HOLD = auto()
    """What follows is as deep as the present line."""
    CLOSE = auto()
    """Back to the level before."""
    SOFT = auto()
    """A space, or the end of a line."""
    HARD = auto()
    """The end of a line."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A comment at the end of a line; it does not count for the width."""

    text: str


Stream: TypeAlias = list["str | LinePlace | Aside"]


def lay_out(stream: Stream) -> str:
    """The text of a stream.

    >>> lay_out(["f(", LinePlace.OPEN, "a,", LinePlace.SOFT, "b", LinePlace.CLOSE, ")"])
    'f(a, b)'
    """
    needs = _needs(stream)
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


def _needs(stream: Stream) -> list[int]:
    """For each soft break the columns up to the next chance to break at its level, or after its level."""
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


@dataclass(frozen=True, slots=True)
class ExprSlot:
    """A place for an expression: how tightly it has to bind, and whether a comma or bracket follows."""

    expr: tree.Expr
    level: int = LAMBDA
    item: bool = False


Fragment: TypeAlias = str | LinePlace | Aside | ExprSlot | tree.BlockExpr
Blocks: TypeAlias = Callable[[tree.BlockExpr], "list[Fragment] | None"]


def spell(first: Iterable[Fragment], blocks: Blocks) -> Stream:
    """The stream of some parts.  ``blocks`` spells those blocks that take several lines, and no others."""
    stream: Stream = []
    waiting: list[Fragment] = list(first)[::-1]
    while waiting:
        part = waiting.pop()
        match part:
            case ExprSlot():
                waiting.extend(reversed(_parts(part)))
            case tree.BlockExpr():
                waiting.extend(reversed(blocks(part) or _block(part)))
            case _:
                stream.append(part)
    return stream


def definition(statement: tree.Define | tree.Unpack) -> list[Fragment]:
    """``x = e``, ``f(i) = e``, ``y := e``, ``(a, b) = e``."""
    if isinstance(statement, tree.Unpack):
        return [f"({', '.join(statement.names)}) = ", ExprSlot(statement.value)]
    params = "" if statement.params is None else f"({', '.join(statement.params)})"
    sign = ":=" if statement.output else "="
    return [f"{statement.name}{params}{'...' * statement.variadic} {sign} ", ExprSlot(statement.value)]


def separated(parts: Iterable[list[Fragment]]) -> list[Fragment]:
    """Parts with commas between them, where lines may end."""
    row: list[Fragment] = []
    for part in parts:
        if row:
            row += [",", LinePlace.SOFT]
        row += part
    return row


def _parts(slot: ExprSlot) -> list[Fragment]:
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
    """Names that would be read as something else unless a comma or bracket follows."""
    return isinstance(expr, tree.Name) and not slot.item and (expr.name in _WORDS or expr.name[-1] in "*+-")


def _listed(opening: str, items: tuple[tree.Expr, ...], closing: str) -> list[Fragment]:
    return [
        opening,
        LinePlace.OPEN,
        *separated([ExprSlot(i, item=True)] for i in items),
        LinePlace.CLOSE,
        closing,
    ]


def _base(expr: tree.Expr, links: bool = False) -> list[Fragment]:
    """What an index, a dot or a power follows.  ``tol[`` would be read as a ToL of zeros."""
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


def _called(function: tree.Expr) -> list[Fragment]:
    """What arguments follow.  ``*(`` would be read as a splice."""
    if isinstance(function, tree.Name) and function.name in _WORDS:
        return [function.name]
    return ["(*)"] if isinstance(function, tree.Star) else [ExprSlot(function, POSTFIX)]


def _link(function: tree.Expr) -> list[Fragment]:
    if isinstance(function, tree.Name) and not _fragile(function, ExprSlot(function)):
        return [".", function.name]
    return [".(", ExprSlot(function, item=True), ")"]


def _block(block: tree.BlockExpr) -> list[Fragment]:
    """A block on one line."""
    row: list[Fragment] = ["{ ", LinePlace.OPEN]
    for statement in block.statements:
        row += [*definition(statement), "; "]
    return [*row, ExprSlot(block.result), LinePlace.CLOSE, " }"]


def _call(call: tree.Call) -> list[Fragment]:
    row: list[list[Fragment]] = [[ExprSlot(a, item=True)] for a in call.args]
    row += [[f"{name}: ", ExprSlot(value, item=True)] for name, value in call.named]
    return [*_called(call.function), "(", LinePlace.OPEN, *separated(row), LinePlace.CLOSE, ")"]


def _compose(expr: tree.Compose) -> list[Fragment]:
    first, *others = expr.functions
    return [*_base(first, links=True), *(part for f in others for part in _link(f))]


def _infix(expr: tree.Infix) -> list[Fragment]:
    level = _level(expr) + 1
    row: list[Fragment] = [LinePlace.OPEN, ExprSlot(expr.first, level)]
    for op, operand in expr.rest:
        row += [f" {op}", LinePlace.SOFT, ExprSlot(operand, level)]
    return [*row, LinePlace.CLOSE]


def _range(expr: tree.RangeExpr) -> list[Fragment]:
    # `3...n` would be read as `3` and an ellipsis
    in_dot = isinstance(expr.low, tree.Numeral) and expr.low.text.endswith(".")
    return [ExprSlot(expr.low, POSTFIX + in_dot), "..", ExprSlot(expr.high, SUM + 1)]


def _arrow(expr: tree.Arrow) -> list[Fragment]:
    params = f"({', '.join(expr.params)}) =>"
    return [LinePlace.OPEN, params, LinePlace.SOFT, ExprSlot(expr.body), LinePlace.CLOSE]


_SPELLINGS: dict[type, Callable[[Any], list[Fragment]]] = {
    tree.Numeral: lambda e: [e.text],
    tree.Text: lambda e: [f'"{e.value.translate(_ESCAPES)}"'],
    tree.Name: lambda e: [e.name],
    tree.Star: lambda e: ["*"],
    tree.OperatorName: lambda e: [e.op],
    tree.Splice: lambda e: ["*", ExprSlot(e.value, POSTFIX if _spliceable(e.value) else POSTFIX + 1)],
    tree.Bracket: lambda e: _listed("[", e.items, "]"),
    tree.Tuple: lambda e: _listed("(", e.items, ")"),
    tree.ZeroTol: lambda e: _listed("tol[", e.items, "]"),
    tree.Subscript: lambda e: [*_base(e.base), *_listed("[", e.items, "]")],
    tree.ListSubscript: lambda e: [*_base(e.base), *_listed("[", (e.item,), "]'")],
    tree.ShapeOf: lambda e: ["|", ExprSlot(e.value), "|"],
    tree.CapacityOf: lambda e: ["|", ExprSlot(e.value), "|'"],
    tree.Unary: lambda e: [f"{e.op} " if e.op == "not" else e.op, ExprSlot(e.value, PREFIX_LEVELS[e.op])],
    tree.Power: lambda e: [*_base(e.base), "^", ExprSlot(e.exponent, POWER)],
    tree.BlockExpr: lambda e: [e],
    tree.Call: _call,
    tree.Compose: _compose,
    tree.Infix: _infix,
    tree.RangeExpr: _range,
    tree.Arrow: _arrow,
}
"""Each kind of expression without parentheses around it."""
