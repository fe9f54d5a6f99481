"""What the grammar's rules for expressions make of their parts.

The method of an alias in ``grammar.lark`` has its name, and gets the values of the rule's symbols (for
a token, its text) and where the rule's text starts and ends.  Nothing here recurses: the parser calls
a method when its parts are complete, and rows and lists are built flat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from tolcost.diagnostics import Diagnostic, Label, Source, Span, quoted
from tolcost.syntax.limits import MAX_DIGITS
from tolcost.syntax.precedence import Sign, group
from tolcost.syntax.tree import (
    Block,
    Bracket,
    Call,
    Capacity,
    Compose,
    Define,
    Expr,
    Index,
    Lambda,
    ListIndex,
    Name,
    Number,
    OperatorName,
    Shape,
    Splice,
    Star,
    Text,
    Tuple,
    Unpack,
    ZeroTol,
)

Values: TypeAlias = list[Any]

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class _Paren:
    """``(e)``: an operand whose parentheses still matter to what may follow; None for ``()``."""

    value: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class _Row:
    """Operands and operators in the order in which they stand, not grouped yet."""

    items: list[Expr | Sign]


@dataclass(frozen=True, slots=True)
class _Prefixed:
    """An operand and the prefix operators before it, from the inside out."""

    items: list[Expr | Sign]


@dataclass(slots=True)
class _Links:
    """A composition that may still go on."""

    functions: list[Expr]
    span: Span


class ExpressionBuilder:
    """Makes the expressions of one source and collects the mistakes found on the way."""

    def __init__(self, source: Source) -> None:
        """Start with nothing."""
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    # ---- helpers

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def _complain(
        self, code: str, message: str, span: Span, hint: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, labels, hint))

    def _plain(self, value: Any) -> Expr:
        """An operand as a node."""
        if isinstance(value, _Links):
            return Compose(tuple(value.functions), value.span)
        if not isinstance(value, _Paren):
            return cast(Expr, value)
        if value.value is None:
            hint = "write `() => …` for a function without parameters"
            self._complain("T0105", "`()` is not a value", value.span, hint)
            return Tuple((), value.span)
        return value.value

    def _chained(self, first: Sign, second: Sign) -> None:
        span = self._span(second.start, second.end)
        here = (Label(self._span(first.start, first.end), "the first one is here"),)
        if first.op == "..":
            hint = "put one of the ranges in parentheses"
            self._complain("T0107", "a range has two ends", span, hint, here)
        else:
            hint = "compare two at a time: `a < b and b < c`"
            self._complain("T0106", "comparisons cannot be chained", span, hint, here)

    # ---- lists

    def one(self, values: Values, start: int, end: int) -> Values:
        """The first entry of a list."""
        return values

    def more(self, values: Values, start: int, end: int) -> Values:
        """One more entry, after a separator."""
        row: Values = values[0]
        row.append(values[2])
        return row

    def pair(self, values: Values, start: int, end: int) -> Values:
        """The first two entries."""
        return [values[0], values[2]]

    def joined(self, values: Values, start: int, end: int) -> Values:
        """One more group of entries."""
        row: Values = values[0]
        row.extend(values[2])
        return row

    def inner(self, values: Values, start: int, end: int) -> Any:
        """What stands between two brackets."""
        return values[1]

    def nothing(self, values: Values, start: int, end: int) -> Values:
        """Two brackets with nothing in between."""
        return []

    # ---- expressions

    def finish(self, values: Values, start: int, end: int) -> Expr:
        """A whole expression: its row of operators grouped."""
        value = values[0]
        if isinstance(value, _Prefixed):
            return group(value.items[::-1], self._chained)
        return group(value.items, self._chained) if isinstance(value, _Row) else self._plain(value)

    def row(self, values: Values, start: int, end: int) -> _Row:
        """One more operator and operand."""
        left, sign, right = values
        if not isinstance(left, _Row):
            first, left = left, _Row([])
            self._append(left, first)
        left.items.append(sign)
        self._append(left, right)
        return left

    def _append(self, row: _Row, operand: Any) -> None:
        if isinstance(operand, _Prefixed):
            row.items.extend(reversed(operand.items))
        else:
            row.items.append(self._plain(operand))

    def infix(self, values: Values, start: int, end: int) -> Sign:
        """An operator between two operands."""
        return Sign(values[0], start, end)

    def prefix(self, values: Values, start: int, end: int) -> Sign:
        """An operator before its operand."""
        return Sign(values[0], start, end, prefix=True)

    def prefixed(self, values: Values, start: int, end: int) -> _Prefixed:
        """An operand with an operator before it."""
        sign, operand = values
        if not isinstance(operand, _Prefixed):
            operand = _Prefixed([self._plain(operand)])
        operand.items.append(sign)
        return operand

    def lambda_(self, values: Values, start: int, end: int) -> Lambda:
        """``(a, e) => body``."""
        params = self._params(values[0], start)
        return Lambda(params, values[2], self._span(start, end))

    def _params(self, value: Any, start: int) -> tuple[str, ...]:
        match value:
            case _Paren(None):
                return ()
            case _Paren(Name(name)):
                return (name,)
            case Tuple(items) if (names := names_of(items)) is not None:
                return names
        span = self._span(start, start + 1) if isinstance(value, (_Row, _Prefixed)) else value.span
        hint = "parameters are names in parentheses: `(a, e) => a + e`"
        self._complain("T0112", "these are not parameters", span, hint)
        return ()

    def index(self, values: Values, start: int, end: int) -> Index:
        """``x[i, j]``."""
        return Index(self._plain(values[0]), tuple(values[2]), self._span(start, end))

    def list_index(self, values: Values, start: int, end: int) -> ListIndex:
        """``x[j]'``."""
        items, span = values[2], self._span(start, end)
        if len(items) > 1:
            hint = "the components of a list are numbered from 1"
            self._complain("T0113", "a list has one index", items[1].span, hint)
        return ListIndex(self._plain(values[0]), items[0], span)

    def call(self, values: Values, start: int, end: int) -> Call:
        """``f(x, axis: 2)``."""
        args = values[2] if len(values) > 3 else []
        named = [arg for arg in args if isinstance(arg, _Named)]
        span = self._span(start, end)
        if not named:
            return Call(self._plain(values[0]), tuple(args), (), span)
        self._check_named(args)
        positional = tuple(arg for arg in args if not isinstance(arg, _Named))
        return Call(self._plain(values[0]), positional, tuple((n.name, n.value) for n in named), span)

    def _check_named(self, args: Values) -> None:
        seen: dict[str, Span] = {}
        for arg in args:
            if not isinstance(arg, _Named):
                if seen:
                    hint = "write the arguments without a name first"
                    self._complain("T0114", "this argument follows a named one", arg.span, hint)
            elif arg.name in seen:
                first = (Label(seen[arg.name], "the first one is here"),)
                self._complain("T0115", f"{quoted(arg.name)} is given twice", arg.span, labels=first)
            else:
                seen[arg.name] = arg.span

    def named(self, values: Values, start: int, end: int) -> _Named:
        """``axis: 2`` among arguments."""
        return _Named(values[0], values[2], self._span(start, end))

    def compose(self, values: Values, start: int, end: int) -> _Links:
        """``f.g``."""
        before, _, after = values
        span = self._span(start, end)
        if isinstance(before, _Links):
            before.functions.append(after)
            before.span = span
            return before
        return _Links([self._plain(before), after], span)

    def number(self, values: Values, start: int, end: int) -> Number:
        """A literal number."""
        text = values[0]
        if len(text) > MAX_DIGITS:
            message = f"a number of {len(text):,} digits; {MAX_DIGITS:,} are the most"
            self._complain("T0513", message, self._span(start, end))
            text = "0"
        return Number(text, self._span(start, end))

    def text(self, values: Values, start: int, end: int) -> Text:
        """A string literal."""
        value = values[0][1:-1]
        return Text(self._unescaped(value, start + 1) if "\\" in value else value, self._span(start, end))

    def _unescaped(self, text: str, start: int) -> str:
        def replace(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                span = self._span(start + match.start(), start + match.end())
                self._complain("T0116", "there is no such escape", span, r"the escapes are \\ \" \' \n \t")
            return _ESCAPES.get(match[1], "")

        return _ESCAPE.sub(replace, text)

    def name(self, values: Values, start: int, end: int) -> Name:
        """A name."""
        return Name(values[0], self._span(start, end))

    def star(self, values: Values, start: int, end: int) -> Star:
        """``*`` as an operand."""
        return Star(self._span(start, end))

    def operator_name(self, values: Values, start: int, end: int) -> OperatorName:
        """``+`` alone as an argument."""
        return OperatorName(values[0], self._span(start, end))

    def splice(self, values: Values, start: int, end: int) -> Splice:
        """``*v`` in a list."""
        return Splice(self._plain(values[1]), self._span(start, end))

    def bracket(self, values: Values, start: int, end: int) -> Bracket:
        """``[a, b]``."""
        return Bracket(tuple(values[1]) if len(values) > 2 else (), self._span(start, end))

    def no_params(self, values: Values, start: int, end: int) -> _Paren:
        """``()``."""
        return _Paren(None, self._span(start, end))

    def paren(self, values: Values, start: int, end: int) -> _Paren:
        """``(e)``."""
        return _Paren(values[1], self._span(start, end))

    def tuple(self, values: Values, start: int, end: int) -> Tuple:
        """``(a, b)``."""
        return Tuple((*values[1],), self._span(start, end))

    def shape(self, values: Values, start: int, end: int) -> Shape:
        """``|x|``."""
        return Shape(values[1], self._span(start, end))

    def capacity(self, values: Values, start: int, end: int) -> Capacity:
        """``|x|'``."""
        return Capacity(values[1], self._span(start, end))

    def zero_tol(self, values: Values, start: int, end: int) -> ZeroTol:
        """``tol[n]``."""
        return ZeroTol((*values[2],) if len(values) > 3 else (), self._span(start, end))

    def block(self, values: Values, start: int, end: int) -> Block:
        """``{ s = …; result }``."""
        *lines, last = values[1]
        for line in lines:
            if not isinstance(line, (Define, Unpack)):
                hint = "name it, or remove it: only the last line of a block is its value"
                self._complain("T0117", "this value is not used", line.span, hint)
        defined = (*(line for line in lines if isinstance(line, (Define, Unpack))),)
        for line in (*defined, last):
            if isinstance(line, Define) and line.output:
                hint = "write `=` here, and `:=` outside of the block"
                self._complain("T0118", "an output inside a block", line.span, hint)
        if isinstance(last, (Define, Unpack)):
            hint = "end the block with the expression that is its value"
            self._complain("T0119", "a block ends with its value", last.span, hint)
            last = last.value
        return Block(defined, last, self._span(start, end))


def names_of(items: tuple[Expr, ...]) -> tuple[str, ...] | None:
    """The names that some expressions are, if all of them are names."""
    names = [item.name for item in items if isinstance(item, Name)]
    return (*names,) if len(names) == len(items) else None
