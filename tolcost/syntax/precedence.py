"""The precedence of infix and prefix operators: one table for the parser and the formatter.

The grammar reads a row of operators and operands; ``group`` turns it into a tree.  It keeps its own
stack, so neither a sum of 100,000 terms nor 100,000 minus signs in a row exhaust Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, cast

from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Span
from tolcost.syntax.tree import Expr, Infix, Power, RangeExpr, Unary

LAMBDA, OR, AND, NOT, COMPARE, RANGE, SUM, PRODUCT, SIGN, POWER, POSTFIX = range(11)

BINARY_LEVELS = {
    "or": OR, "xor": OR, "and": AND,
    "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
    "..": RANGE, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "^": POWER,
}  # fmt: skip
PREFIX_LEVELS = {"not": NOT, "-": SIGN, "+": SIGN}


@dataclass(frozen=True, slots=True)
class Sign:
    """An operator in a row, and where it stands."""

    op: str
    span: Span
    prefix: bool = False


Misuse: TypeAlias = Callable[[Sign, Sign], None]


@dataclass(slots=True, eq=False)
class _Open:
    """An operator still waiting for its right operand; ``first`` is None for a prefix."""

    level: int
    sign: Sign
    first: Expr | None = None
    rest: list[tuple[str, Expr]] = field(default_factory=list)

    def close(self, last: Expr) -> Expr:
        """The finished expression, now that the last operand is known."""
        if self.first is None:
            op = cast(Literal["-", "+", "not"], self.sign.op)
            return Unary(op, last, Span(last.span.source, self.sign.span.start, last.span.end))
        span = Span(last.span.source, self.first.span.start, last.span.end)
        if self.level == POWER:
            return Power(self.first, last, span)
        if self.level == RANGE:
            return RangeExpr(self.first, last, span)
        self.rest.append((self.sign.op, last))
        return Infix(self.first, tuple(self.rest), span)


def group(row: Sequence[Expr | Sign], misuse: Misuse) -> Expr:
    """The tree of a row of operands, prefix and infix operators.

    ``misuse`` is told of two operators of a level that does not associate, as in ``a < b < c``.
    """
    waiting: list[_Open] = []
    operand: Expr | None = None
    for item in row:
        if not isinstance(item, Sign):
            operand = item
        elif item.prefix:
            waiting.append(_Open(PREFIX_LEVELS[item.op], item))
        elif operand is not None:
            _infix(item, operand, waiting, misuse)
    assert operand is not None
    return _close(waiting, operand, LAMBDA)


def _infix(sign: Sign, operand: Expr, waiting: list[_Open], misuse: Misuse) -> None:
    level = BINARY_LEVELS[sign.op]
    operand = _close(waiting, operand, level)
    top = waiting[-1] if waiting else None
    if top is None or top.level != level or top.first is None or level == POWER:
        waiting.append(_Open(level, sign, operand))
        return
    if level in (COMPARE, RANGE):
        misuse(top.sign, sign)
    top.rest.append((top.sign.op, operand))
    top.sign = sign


def _close(waiting: list[_Open], operand: Expr, level: int) -> Expr:
    """Finish what binds tighter than ``level``."""
    while waiting and waiting[-1].level > level:
        operand = waiting.pop().close(operand)
    return operand
