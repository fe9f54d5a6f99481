"""Expressions as streams of words and possible line ends: the canonical spelling of the tree.

Parentheses come from the same table of precedences that the parser uses.  Nothing recurses: parts not
spelled yet wait on a stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tolcost.syntax.layout import Aside, Mark, Stream
from tolcost.syntax.precedence import (
    BINARY_LEVELS,
    LAMBDA,
    POSTFIX,
    POWER,
    PREFIX_LEVELS,
    RANGE,
    SUM,
)
from tolcost.syntax.tree import (
    Block,
    Bracket,
    Call,
    Capacity,
    Chain,
    Compose,
    Define,
    Expr,
    Index,
    Lambda,
    ListIndex,
    Name,
    Number,
    OperatorName,
    Power,
    Range,
    Shape,
    Splice,
    Star,
    Text,
    Tuple,
    Unary,
    Unpack,
    ZeroTol,
)

_WORDS = frozenset({"and", "or", "xor", "not"})
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an expression: how tightly it has to bind, and whether a comma or bracket follows."""

    expr: Expr
    level: int = LAMBDA
    item: bool = False


Part: TypeAlias = "str | Mark | Aside | Slot | Block"
Blocks: TypeAlias = Callable[[Block], "list[Part] | None"]


def spell(first: Iterable[Part], blocks: Blocks) -> Stream:
    """The stream of some parts.  ``blocks`` spells those blocks that take several lines, and no others."""
    stream: Stream = []
    waiting: list[Part] = list(first)[::-1]
    while waiting:
        part = waiting.pop()
        match part:
            case Slot():
                waiting.extend(reversed(_parts(part)))
            case Block():
                waiting.extend(reversed(blocks(part) or _block(part)))
            case _:
                stream.append(part)
    return stream


def definition(statement: Define | Unpack) -> list[Part]:
    """``x = e``, ``f(i) = e``, ``y := e``, ``(a, b) = e``."""
    if isinstance(statement, Unpack):
        return [f"({', '.join(statement.names)}) = ", Slot(statement.value)]
    params = "" if statement.params is None else f"({', '.join(statement.params)})"
    sign = ":=" if statement.output else "="
    return [f"{statement.name}{params}{'...' * statement.variadic} {sign} ", Slot(statement.value)]


def separated(parts: Iterable[list[Part]]) -> list[Part]:
    """Parts with commas between them, where lines may end."""
    row: list[Part] = []
    for part in parts:
        if row:
            row += [",", Mark.SOFT]
        row += part
    return row


def _parts(slot: Slot) -> list[Part]:
    expr = slot.expr
    if _level(expr) < slot.level or _fragile(expr, slot):
        return ["(", Mark.OPEN, Slot(expr, item=True), Mark.CLOSE, ")"]
    return _bare(expr)


def _level(expr: Expr) -> int:
    match expr:
        case Lambda():
            return LAMBDA
        case Chain(rest=rest):
            return BINARY_LEVELS[rest[0][0]]
        case Unary(op=op):
            return PREFIX_LEVELS[op]
        case Range():
            return RANGE
        case Power():
            return POWER
        case _:
            return POSTFIX


def _fragile(expr: Expr, slot: Slot) -> bool:
    """Names that would be read as something else unless a comma or bracket follows."""
    match expr:
        case Name(name=name):
            return not slot.item and (name in _WORDS or name[-1] in "*+-")
        case _:
            return False


def _bare(expr: Expr) -> list[Part]:
    """An expression without parentheses around it."""
    match expr:
        case Number(text=text):
            return [text]
        case Text(value=value):
            return [f'"{value.translate(_ESCAPES)}"']
        case Name(name=name):
            return [name]
        case Star():
            return ["*"]
        case OperatorName(op=op):
            return [op]
        case Splice(value=value):
            return ["*", Slot(value, POSTFIX if _spliceable(value) else POSTFIX + 1)]
        case Bracket(items=items):
            return _listed("[", items, "]")
        case Tuple(items=items):
            return _listed("(", items, ")")
        case ZeroTol(items=items):
            return _listed("tol[", items, "]")
        case Block():
            return [expr]
        case _:
            return _postfix(expr)


def _postfix(expr: Expr) -> list[Part]:
    match expr:
        case Index(base=base, items=items):
            return [*_base(base), *_listed("[", items, "]")]
        case ListIndex(base=base, item=item):
            return [*_base(base), *_listed("[", (item,), "]'")]
        case Call(function=function, args=args, named=named):
            row: list[list[Part]] = [[Slot(a, item=True)] for a in args]
            row += [[f"{name}: ", Slot(value, item=True)] for name, value in named]
            return [*_called(function), "(", Mark.OPEN, *separated(row), Mark.CLOSE, ")"]
        case Compose(functions=functions):
            links = [part for f in functions[1:] for part in _link(f)]
            return [*_base(functions[0], links=True), *links]
        case Shape(value=value):
            return ["|", Slot(value), "|"]
        case Capacity(value=value):
            return ["|", Slot(value), "|'"]
        case _:
            return _infix(expr)


def _infix(expr: Expr) -> list[Part]:
    match expr:
        case Unary(op=sign, value=value):
            return [f"{sign} " if sign == "not" else sign, Slot(value, PREFIX_LEVELS[sign])]
        case Chain(first=first, rest=rest):
            level = _level(expr) + 1
            row: list[Part] = [Mark.OPEN, Slot(first, level)]
            for op, operand in rest:
                row += [f" {op}", Mark.SOFT, Slot(operand, level)]
            return [*row, Mark.CLOSE]
        case Power(base=base, exponent=exponent):
            return [*_base(base), "^", Slot(exponent, POWER)]
        case Range(low=low, high=high):
            # `3...n` would be read as `3` and an ellipsis
            in_dot = isinstance(low, Number) and low.text.endswith(".")
            return [Slot(low, POSTFIX + in_dot), "..", Slot(high, SUM + 1)]
        case Lambda(params=params, body=body):
            return [Mark.OPEN, f"({', '.join(params)}) =>", Mark.SOFT, Slot(body), Mark.CLOSE]
        case _:
            raise AssertionError(expr)


def _listed(opening: str, items: tuple[Expr, ...], closing: str) -> list[Part]:
    return [opening, Mark.OPEN, *separated([Slot(i, item=True)] for i in items), Mark.CLOSE, closing]


def _base(expr: Expr, links: bool = False) -> list[Part]:
    """What an index, a dot or a power follows.  ``tol[`` would be read as a ToL of zeros."""
    if expr == Name("tol") or (links and isinstance(expr, (Compose, Number))):
        return ["(", Slot(expr, item=True), ")"]
    return [Slot(expr, POSTFIX)]


def _spliceable(expr: Expr) -> bool:
    """Whether an expression starts with what can follow the ``*`` of a splice."""
    while isinstance(expr, (Index, ListIndex, Call, Compose)):
        if isinstance(expr, Compose):
            expr = expr.functions[0]
        else:
            expr = expr.function if isinstance(expr, Call) else expr.base
    match expr:
        case Name(name=name):
            return name not in _WORDS
        case Number() | Text() | Star() | Bracket() | Block():
            return False
        case _:
            return True


def _called(function: Expr) -> list[Part]:
    """What arguments follow.  ``*(`` would be read as a splice."""
    if isinstance(function, Name) and function.name in _WORDS:
        return [function.name]
    return ["(*)"] if isinstance(function, Star) else [Slot(function, POSTFIX)]


def _link(function: Expr) -> list[Part]:
    if isinstance(function, Name) and not _fragile(function, Slot(function)):
        return [".", function.name]
    return [".(", Slot(function, item=True), ")"]


def _block(block: Block) -> list[Part]:
    """A block on one line."""
    row: list[Part] = ["{ ", Mark.OPEN]
    for statement in block.statements:
        row += [*definition(statement), "; "]
    return [*row, Slot(block.result), Mark.CLOSE, " }"]
