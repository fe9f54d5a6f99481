"""The grammar: its parse table, the precedence of operators, and the nodes that its rules build.

Lark builds the parse table from ``grammar.lark``. Importing Lark and building an LALR table take longer than
reading a small program, so the table is stored as ``parse_table.json`` and loaded without Lark. It records a
digest of its grammar: after an edit of the grammar the stored table is out of date, and Lark builds a fresh
table in memory. ``python -m tolcost.syntax.grammar`` stores it again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct, field

from tolcost.diagnostics import Diagnostic, Fix, InternalError, Label, Source, Span, quoted
from tolcost.syntax import tree
from tolcost.syntax.tree import MAX_DIGITS, Expr, Infix, Power, RangeExpr, Unary

if TYPE_CHECKING:
    from logging import LogRecord


GRAMMAR = Path(__file__).with_name("grammar.lark")
STORED = Path(__file__).with_name("parse_table.json")
END = "$END"


class Production(NamedTuple):
    """A reduction: pop ``size`` values, combine them by ``action``, and continue as ``symbol``."""

    action: str | None
    size: int
    symbol: str


class ParseTable(Struct, frozen=True, eq=False):
    """An LALR(1) automaton.

    The first state is 0. ``moves[state][symbol]`` is the next state if it is non-negative, else ``~index`` of
    a production to reduce by. ``terminals`` holds (name, pattern) in the order in which a contextual lexer
    must try them.
    """

    terminals: tuple[tuple[str, str], ...]
    productions: tuple[Production, ...]
    moves: tuple[dict[str, int], ...]
    final: int


@cache
def parse_table() -> ParseTable:
    """Load the stored table, or build one if the stored table is missing or out of date."""
    grammar = GRAMMAR.read_text("utf-8")
    try:
        stored = json.loads(STORED.read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    return _decode(stored if stored.get("grammar") == fingerprint(grammar) else encode(grammar))


def fingerprint(grammar: str) -> str:
    """Return the digest that ties a stored table to its grammar."""
    return hashlib.sha256(grammar.encode()).hexdigest()


def encode(grammar: str) -> dict[str, Any]:
    """Build the table of a grammar with Lark, as plain data; a conflict in the grammar is an error."""
    from lark import Lark

    with _no_conflicts():
        lark = Lark(grammar, parser="lalr", lexer="contextual", start="statement", keep_all_tokens=True)
    table = lark.parser.parser._parse_table
    rules = sorted(lark.rules, key=str)
    order = {rule: ~index for index, rule in enumerate(rules)}
    states = _number_states(table.states, table.start_states["statement"])
    return {
        "grammar": fingerprint(grammar),
        "terminals": [[t.name, t.pattern.to_regexp()] for t in sorted(lark.terminals, key=_trial_order)],
        "productions": [[rule.alias, len(rule.expansion), rule.origin.name] for rule in rules],
        "moves": [
            {name: states.get(arg, order.get(arg)) for name, (_, arg) in _by_name(table.states[state])}
            for state in states
        ],
        "final": states[table.end_states["statement"]],
    }


@contextmanager
def _no_conflicts() -> Iterator[None]:
    """Turn shift/reduce conflicts into errors: Lark resolves them by itself and only logs them."""
    import logging

    from lark import logger

    def refuse(record: LogRecord) -> bool:
        raise InternalError(f"the grammar is not LALR(1): {record.getMessage()}")

    level = logger.level
    logger.addFilter(refuse)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeFilter(refuse)
        logger.setLevel(level)


def _by_name(actions: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(actions.items(), key=lambda item: item[0])


def _number_states(states: dict[int, dict[str, Any]], start: int) -> dict[int, int]:
    """Number the states in the order in which they are reached; Lark's numbers differ from run to run."""
    numbers = {start: 0}
    for state in (waiting := [start]):
        for _, (_, target) in _by_name(states[state]):
            if isinstance(target, int) and target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
    return numbers


def _trial_order(terminal: Any) -> tuple[int, int, int, str]:
    """Return a sort key for Lark's own order: by priority, then longer patterns first."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), terminal.name


def _decode(data: dict[str, Any]) -> ParseTable:
    return ParseTable(
        terminals=tuple((name, pattern) for name, pattern in data["terminals"]),
        productions=tuple(Production(*parts) for parts in data["productions"]),
        moves=tuple(data["moves"]),
        final=data["final"],
    )


def store() -> None:
    """Write the table of the current grammar beside it."""
    data = encode(GRAMMAR.read_text("utf-8"))
    STORED.write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=True) + "\n", "utf-8")


if __name__ == "__main__":
    store()


# === The precedence of infix and prefix operators: one table for the parser and the formatter.
#
# The grammar reads a row of operators and operands; ``group`` turns it into a tree. It keeps its own stack,
# so neither a sum of 100,000 terms nor 100,000 minus signs in a row overflow Python's.


LAMBDA, OR, AND, NOT, COMPARE, RANGE, SUM, PRODUCT, SIGN, POWER, POSTFIX = range(11)

BINARY_LEVELS = {
    "or": OR, "xor": OR, "and": AND,
    "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
    "..": RANGE, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "^": POWER,
}  # fmt: skip
PREFIX_LEVELS = {"not": NOT, "-": SIGN, "+": SIGN}


class Sign(Struct, frozen=True):
    """An operator in a row, with its place in the source."""

    op: str
    span: Span
    prefix: bool = False


Misuse: TypeAlias = Callable[[Sign, Sign], None]


class _Open(Struct, eq=False):
    """An operator that waits for its right operand; ``first`` is None for a prefix operator."""

    level: int
    sign: Sign
    first: Expr | None = None
    rest: list[tuple[str, Expr]] = field(default_factory=list)

    def close(self, last: Expr) -> Expr:
        """Build the expression, now that its last operand is complete."""
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
    """Build the tree of a row of operands, prefix operators and infix operators.

    ``misuse`` is called with two operators of a level that does not associate, as in ``a < b < c``.
    """
    waiting: list[_Open] = []
    operand: Expr | None = None
    for item in row:
        if not isinstance(item, Sign):
            operand = item
        elif item.prefix:
            waiting.append(_Open(PREFIX_LEVELS[item.op], item))
        elif operand is not None:
            _push_infix(item, operand, waiting, misuse)
    assert operand is not None
    return _close(waiting, operand, LAMBDA)


def _push_infix(sign: Sign, operand: Expr, waiting: list[_Open], misuse: Misuse) -> None:
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
    """Complete the waiting operators that bind tighter than ``level``."""
    while waiting and waiting[-1].level > level:
        operand = waiting.pop().close(operand)
    return operand


# === Rule actions: the nodes of the tree.
#
# An alias of ``grammar.lark`` is an entry of ``_LISTS``, or of ``_NODES`` if the rule's values are a node's
# fields, or else a method of ``Builder``. Each gets the values of the rule's symbols (for a token, its text)
# and the offsets at which the rule's text starts and ends. Nothing here recurses: the parser calls an action
# when the parts of its rule are complete, and rows and lists are built flat.


RuleValues: TypeAlias = list[Any]
RuleAction: TypeAlias = "Callable[[Builder, RuleValues, int, int], Any]"

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


class _Paren(Struct, frozen=True, eq=False):
    """``(e)``, which may turn out to be the parameters of a lambda; ``value`` is None for ``()``."""

    value: tree.Expr | None
    span: Span


class _Named(Struct, frozen=True, eq=False):
    name: str
    value: tree.Expr
    span: Span


class _OperatorRow(Struct, frozen=True, eq=False):
    """Operands and operators in source order, not grouped yet."""

    items: list[tree.Expr | Sign]


class _Prefixed(Struct, frozen=True, eq=False):
    """An operand and the prefix operators before it, innermost first."""

    items: list[tree.Expr | Sign]


class _Links(Struct, eq=False):
    """A composition that later links may extend."""

    functions: list[tree.Expr]
    span: Span


class _Declared(Struct, frozen=True, eq=False):
    """The name of an input with its mark: ``?`` for optional, ``...`` for variadic."""

    name: str
    mark: str = ""


_UNFINISHED = {_Paren, _OperatorRow, _Prefixed, _Links}
"""Types of intermediate operands, which must be converted before they can enter the tree."""


def _extend(row: RuleValues, more: RuleValues) -> RuleValues:
    row.extend(more)
    return row


_LISTS: dict[str, RuleAction] = {
    "one": lambda _, v, *__: v,
    "pair": lambda _, v, *__: [v[0], v[2]],
    "more": lambda _, v, *__: _extend(v[0], [v[2]]),
    "joined": lambda _, v, *__: _extend(v[0], v[2]),
    "inner": lambda _, v, *__: v[1],
    "nothing": lambda _, v, *__: [],
}
"""Actions of rules that make lists, which grow in place, and of rules that unwrap brackets."""

_NODES: dict[str, Callable[[RuleValues, Span], object]] = {
    "use": lambda v, at: tree.Use(tuple(v[1]), at),
    "space": lambda v, at: (
        tree.SpaceDecl(v[1], v[3], span=at) if len(v) == 4 else tree.SpaceDecl(v[1], v[3], v[5], v[7], at)
    ),
    "list": lambda v, at: tree.ListDecl(v[1], tuple(v[3]), at),
    "declared": lambda v, at: _Declared(*v),
    "ellipsis": lambda v, at: tree.Ellipsis(at),
    "variadic_output": lambda v, at: tree.Define(v[0], None, v[3], True, True, at),
    "infix": lambda v, at: Sign(v[0], at),
    "prefix": lambda v, at: Sign(v[0], at, prefix=True),
    "named": lambda v, at: _Named(v[0], v[2], at),
    "name": lambda v, at: tree.Name(v[0], at),
    "star": lambda v, at: tree.Star(at),
    "operator_name": lambda v, at: tree.OperatorName(v[0], at),
    "bracket": lambda v, at: tree.Bracket(tuple(v[1]) if len(v) > 2 else (), at),
    "no_params": lambda v, at: _Paren(None, at),
    "paren": lambda v, at: _Paren(v[1], at),
    "tuple": lambda v, at: tree.Tuple(tuple(v[1]), at),
    "shape": lambda v, at: tree.ShapeOf(v[1], at),
    "capacity": lambda v, at: tree.CapacityOf(v[1], at),
    "zero_tol": lambda v, at: tree.ZeroTol(tuple(v[2]) if len(v) > 3 else (), at),
}
"""Actions of rules whose values are the fields of a node."""


class Builder:
    """Builds the nodes of one source and collects the mistakes found on the way."""

    def __init__(self, source: Source) -> None:
        """Start without diagnostics."""
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    # ---- helpers

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def _report(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str | None = None,
        labels: tuple[Label, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        if len(self.diagnostics) < tree.MAX_ERRORS:  # one statement can have thousands of mistakes
            self.diagnostics.append(Diagnostic(code, message, span, labels, hint, fix=fix))

    def _plain(self, value: Any) -> tree.Expr:
        """Convert an intermediate operand into a node."""
        if type(value) not in _UNFINISHED:
            return cast(tree.Expr, value)
        if isinstance(value, _Links):
            return tree.Compose(tuple(value.functions), value.span)
        if not isinstance(value, _Paren):
            return cast(tree.Expr, value)
        if value.value is None:
            hint = "write `() => …` for a function without parameters"
            self._report("T0105", "`()` is not a value", value.span, hint)
            return tree.Tuple((), value.span)
        return value.value

    def _refuse_chain(self, first: Sign, second: Sign) -> None:
        span, here = second.span, (Label(first.span, "the first one is here"),)
        if first.op == "..":
            hint = "put one of the ranges in parentheses"
            self._report("T0107", "a range has two ends", span, hint, here)
        else:
            hint = "compare two at a time: `a < b and b < c`"
            self._report("T0106", "comparisons cannot be chained", span, hint, here)

    # ---- expressions

    def finish(self, values: RuleValues, start: int, end: int) -> tree.Expr:
        """Build a whole expression by grouping its row of operators."""
        value = values[0]
        if type(value) not in _UNFINISHED:  # most operands are nodes already
            return cast(tree.Expr, value)
        if isinstance(value, _Prefixed):
            return group(value.items[::-1], self._refuse_chain)
        return (
            group(value.items, self._refuse_chain) if isinstance(value, _OperatorRow) else self._plain(value)
        )

    def row(self, values: RuleValues, start: int, end: int) -> _OperatorRow:
        """Append an operator and an operand to the row."""
        left, sign, right = values
        if not isinstance(left, _OperatorRow):
            first, left = left, _OperatorRow([])
            self._append(left, first)
        left.items.append(sign)
        self._append(left, right)
        return left

    def _append(self, row: _OperatorRow, operand: Any) -> None:
        if isinstance(operand, _Prefixed):
            row.items.extend(reversed(operand.items))
        else:
            row.items.append(self._plain(operand))

    def prefixed(self, values: RuleValues, start: int, end: int) -> _Prefixed:
        """Put a prefix operator before an operand."""
        sign, operand = values
        if not isinstance(operand, _Prefixed):
            operand = _Prefixed([self._plain(operand)])
        operand.items.append(sign)
        return operand

    def lambda_(self, values: RuleValues, start: int, end: int) -> tree.Arrow:
        """``(a, e) => body``."""
        params = self._params(values[0], start)
        return tree.Arrow(params, values[2], self._span(start, end))

    def _params(self, value: Any, start: int) -> tuple[str, ...]:
        match value:
            case _Paren(None):
                return ()
            case _Paren(tree.Name(name)):
                return (name,)
            case tree.Tuple(items) if (names := _names_of(items)) is not None:
                return names
        span = self._span(start, start + 1) if isinstance(value, (_OperatorRow, _Prefixed)) else value.span
        hint = "parameters are names in parentheses: `(a, e) => a + e`"
        fix = (
            Fix(f"Write `({value.name})`", span, f"({value.name})") if isinstance(value, tree.Name) else None
        )
        self._report("T0112", "these are not parameters", span, hint, fix=fix)
        return ()

    def index(self, values: RuleValues, start: int, end: int) -> tree.Subscript:
        """``x[i, j]``."""
        return tree.Subscript(self._plain(values[0]), tuple(values[2]), self._span(start, end))

    def list_index(self, values: RuleValues, start: int, end: int) -> tree.ListSubscript:
        """``x[j]'``."""
        items, span = values[2], self._span(start, end)
        if len(items) > 1:
            hint = "the components of a list are numbered from 1"
            self._report("T0113", "a list has one index", items[1].span, hint)
        return tree.ListSubscript(self._plain(values[0]), items[0], span)

    def call(self, values: RuleValues, start: int, end: int) -> tree.Call:
        """``f(x, axis: 2)``."""
        args = values[2] if len(values) > 3 else []
        named = [arg for arg in args if isinstance(arg, _Named)]
        span = self._span(start, end)
        if not named:
            return tree.Call(self._plain(values[0]), tuple(args), (), span)
        self._check_named(args)
        positional = tuple(arg for arg in args if not isinstance(arg, _Named))
        return tree.Call(self._plain(values[0]), positional, tuple((n.name, n.value) for n in named), span)

    def _check_named(self, args: RuleValues) -> None:
        seen: dict[str, Span] = {}
        for arg in args:
            if not isinstance(arg, _Named):
                if seen:
                    hint = "write the arguments without a name first"
                    self._report("T0114", "this argument follows a named one", arg.span, hint)
            elif arg.name in seen:
                first = (Label(seen[arg.name], "the first one is here"),)
                self._report("T0115", f"{quoted(arg.name)} is given twice", arg.span, labels=first)
            else:
                seen[arg.name] = arg.span

    def compose(self, values: RuleValues, start: int, end: int) -> _Links:
        """``f.g``."""
        before, _, after = values
        span = self._span(start, end)
        if isinstance(before, _Links):
            before.functions.append(after)
            before.span = span
            return before
        return _Links([self._plain(before), after], span)

    def number(self, values: RuleValues, start: int, end: int) -> tree.Numeral:
        """A literal number."""
        text = values[0]
        if len(text) > MAX_DIGITS:
            message = f"a number of {len(text):,} digits; {MAX_DIGITS:,} are the most"
            self._report("T0513", message, self._span(start, end))
            text = "0"
        return tree.Numeral(text, self._span(start, end))

    def text(self, values: RuleValues, start: int, end: int) -> tree.Text:
        """Build a string literal."""
        value = values[0][1:-1]
        return tree.Text(self._unescape(value, start + 1) if "\\" in value else value, self._span(start, end))

    def _unescape(self, text: str, start: int) -> str:
        def replace(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                span = self._span(start + match.start(), start + match.end())
                self._report("T0116", "there is no such escape", span, r"the escapes are \\ \" \' \n \t")
            return _ESCAPES.get(match[1], "")

        return _ESCAPE.sub(replace, text)

    def splice(self, values: RuleValues, start: int, end: int) -> tree.Splice:
        """``*v`` in a list."""
        return tree.Splice(self._plain(values[1]), self._span(start, end))

    def block(self, values: RuleValues, start: int, end: int) -> tree.BlockExpr:
        """``{ s = …; result }``."""
        *lines, last = values[1]
        for line in lines:
            if not isinstance(line, (tree.Define, tree.Unpack)):
                hint = "name it, or remove it: only the last line of a block is its value"
                self._report("T0117", "this value is not used", line.span, hint)
        defined = (*(line for line in lines if isinstance(line, (tree.Define, tree.Unpack))),)
        for line in (*defined, last):
            if isinstance(line, tree.Define) and line.output:
                hint = "write `=` here, and `:=` outside of the block"
                self._report("T0118", "an output inside a block", line.span, hint)
        if isinstance(last, (tree.Define, tree.Unpack)):
            hint = "end the block with the expression that is its value"
            self._report("T0119", "a block ends with its value", last.span, hint)
            last = last.value
        return tree.BlockExpr(defined, last, self._span(start, end))

    # ---- statements

    def operator(self, values: RuleValues, start: int, end: int) -> tree.Operator:
        """``operator Name 13``."""
        since = values[2] if len(values) > 2 else None
        if since is not None and not (since.isdecimal() and len(since) < 10):
            self._report("T0108", "a version is a whole number", self._span(end - len(since), end))
            since = None
        return tree.Operator(values[1], int(since) if since else None, self._span(start, end))

    def declare(
        self, values: RuleValues, start: int, end: int, default: tree.Expr | None = None
    ) -> tree.InputDecl:
        """``tol x: R [n]``."""
        kind = cast(Literal["tol", "static", "attr"], values[0])
        name, mark = values[1].name, values[1].mark
        shape = tuple(values[4]) if len(values) > 4 else ()
        span = self._span(start, end)
        for again in [entry for entry in shape if isinstance(entry, tree.Ellipsis)][1:]:
            hint = "how many lengths each of two stands for could not be told: name the lengths on one side"
            self._report("T0130", "`...` stands once in a shape", again.span, hint)
        return tree.InputDecl(kind, name, values[3], shape, mark == "?", mark == "...", default, span)

    def declare_default(self, values: RuleValues, start: int, end: int) -> tree.InputDecl:
        """``attr x: R = 1``."""
        return self.declare(values[:-2], start, end, default=values[-1])

    def zeros(self, values: RuleValues, start: int, end: int) -> tree.ZerosDecl:
        """``tol x = [n, m]``."""
        kind, declared, _, shape = values
        if kind != "tol" or declared.mark:
            hint = f"write `{kind} {declared.name}{declared.mark}: R` and then the shape or the default"
            self._report("T0104", "an input needs a space", self._span(start, shape.span.start), hint)
        return tree.ZerosDecl(declared.name, shape, self._span(start, end))

    def zeros_filled(self, values: RuleValues, start: int, end: int) -> tree.ZerosDecl:
        """``tol x := e``, which is neither a declaration nor an output."""
        kind, declared, _, shape = values
        hint = f"drop `{kind}` to define an output, or write `=` and a shape to declare zeros"
        span = self._span(start, start + len(kind))
        self._report("T0109", f"`{kind}` cannot stand before `:=`", span, hint)
        return tree.ZerosDecl(declared.name, shape, self._span(start, end))

    def output(self, values: RuleValues, start: int, end: int) -> tree.Statement:
        """``y := e``."""
        return self.define(values, start, end, output=True)

    def define(self, values: RuleValues, start: int, end: int, output: bool = False) -> tree.Statement:
        """``x = e``, ``f(i) = e``, ``(a, b) = e``."""
        span = self._span(start, end)
        target, value = values[0], values[2]
        match target:
            case tree.Name(name):
                return tree.Define(name, None, value, output, False, span)
            case tree.Call(tree.Name(name), args, ()) if (params := _names_of(args)) is not None:
                return tree.Define(name, params, value, output, False, span)
            case tree.Tuple(items) if (names := _names_of(items)) is not None:
                if output:
                    hint = "name the outputs one by one"
                    self._report("T0110", "a list of names cannot be an output", target.span, hint)
                return tree.Unpack(names, value, span)
        self._report("T0111", "this cannot be defined", target.span, _definition_hint(target))
        return tree.Define("", None, value, output, False, span)


def action(alias: str) -> RuleAction:
    """Return the action of a rule, by its alias in the grammar."""
    node = _NODES.get(alias)
    if node is None:
        return _LISTS.get(alias) or cast(RuleAction, getattr(Builder, alias))
    return lambda builder, values, start, end: node(values, Span(builder.source, start, end))


def _names_of(items: tuple[tree.Expr, ...]) -> tuple[str, ...] | None:
    """Return the names in ``items``, or None unless every item is a plain name."""
    names = [item.name for item in items if isinstance(item, tree.Name)]
    return (*names,) if len(names) == len(items) else None


def _definition_hint(target: tree.Expr) -> str:
    match target:
        case tree.Subscript(tree.Name(name)):
            return f"define the whole of `{name}`: `{name} = map(…, …, [i])`"
        case tree.Call():
            return "the parameters of a function are names: `f(i, j) = …`"
        case _:
            return "a definition starts with a name: `x = …`, `f(i) = …` or `(a, b) = …`"
