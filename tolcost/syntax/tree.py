"""The syntax tree of ToLang: a program before anything about its values is known.

Every node is frozen and carries the span it was read from. Spans do not take part in equality, so two trees
are equal when they mean the same. Nodes have no behaviour; ``children`` and ``deepest`` walk them.

    module     = statement*
    statement  = Operator | Use | SpaceDecl | ListDecl | InputDecl | ZerosDecl | Define | Unpack
    expression = Numeral | Text | Name | Star | OperatorName | Splice | Bracket | Tuple
               | Subscript | ListSubscript | ShapeOf | CapacityOf | Call | Compose | Unary | Infix
               | Power | Arrow | BlockExpr | RangeExpr | ZeroTol
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from tolcost.diagnostics import NOWHERE, Diagnostic, Fix, Rejected, Source, Span, refuse
from tolcost.records import Record

# === From a file to a ``Source``: text that cannot be a program is rejected here.
#
# The text is kept as written; the parser skips a byte order mark and CRLF line ends. The limits of the front
# end are here, too: a program beyond them is rejected with a diagnostic.


MAX_BYTES = 4 * 1024 * 1024
"""The size of the largest file that is read; it bounds the time and memory that hostile input can take."""

MAX_STATEMENTS = 50_000
"""The largest number of statements in a program."""

MAX_DEPTH = 200
"""How deep brackets and the tree may nest: comparing two trees takes four Python frames per level."""

MAX_DIGITS = 1000
"""The largest number of digits in a literal: Python refuses to print an integer of more than 4,300 digits."""

MAX_ERRORS = 20
"""After this many syntax errors the rest of a file is not parsed: later ones are often consequences."""

MAX_NAME_ERRORS = 100
"""The largest number of mistakes in names that are reported."""

_DECEPTIVE = re.compile("[\0\u202a-\u202e\u2066-\u2069]")
"""A NUL, and the characters that make text display in another order than it is read."""


def read_source(path: str | Path) -> Source:
    """Read the text of a file; raise ``Rejected`` if it cannot be read or cannot be a program."""
    name = str(path)
    data = _read(Path(path), name)
    if b"\0" in data:
        at = data.index(b"\0")
        message = f"a NUL byte at offset {at:,}: this is not a text file"
        refuse("T0003", message, _location(name, data, at))
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at offset {error.start:,} is not UTF-8"
        hint = "save the file in UTF-8"
        raise Rejected(Diagnostic("T0002", message, _location(name, data, error.start), hint=hint)) from None


def check_text(source: Source) -> None:
    """Reject a text that is too long or contains characters that deceive a reader."""
    if len(source.text) > MAX_BYTES:
        raise Rejected(_too_large(source.name))
    match = _DECEPTIVE.search(source.text)
    if match is None:
        return
    span = Span(source, match.start(), match.end())
    if match[0] == "\0":
        refuse("T0003", "a NUL character: this is not a text", span)
    named = f"U+{ord(match[0]):04X} {unicodedata.name(match[0])}"
    hint = "remove it; in a text, write what should be shown"
    fix = Fix("Remove the character", span, "")
    message = f"a character that hides what is written: {named}"
    raise Rejected(Diagnostic("T0005", message, span, hint=hint, fix=fix))


def _read(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name cannot be used"
        span = Span(Source(name, ""), 0, 0)
        raise Rejected(Diagnostic("T0001", f"cannot read the file: {reason.lower()}", span)) from None
    if len(data) > MAX_BYTES:
        raise Rejected(_too_large(name))
    return data


def _too_large(name: str) -> Diagnostic:
    message = f"the program is larger than {MAX_BYTES // 2**20} MiB"
    return Diagnostic("T0512", message, Span(Source(name, ""), 0, 0))


def _location(name: str, data: bytes, at: int) -> Span:
    """Return a place in bytes that are not valid text, shown as well as possible."""
    start = data.rfind(b"\n", 0, at) + 1
    before = data[max(start, at - 100) : at].decode("utf-8", "replace")
    lines = "\n" * data.count(b"\n", 0, at)
    return Span(Source(name, lines + before + "\ufffd"), len(lines + before), len(lines + before) + 1)


# === The tree.


# ---- expressions -------------------------------------------------------------------------


class Numeral(Record, frozen=True):
    """A literal, as written: ``2``, ``0.5``, ``1e-5``."""

    text: str
    span: Span = NOWHERE


class Text(Record, frozen=True):
    """A string literal; ``value`` is the text between the quotes, unescaped."""

    value: str
    span: Span = NOWHERE


class Name(Record, frozen=True):
    """A name; ``part'`` is a name, too."""

    name: str
    span: Span = NOWHERE


class Star(Record, frozen=True):
    """``*`` as an operand: the current element, or its coordinates inside an index list."""

    span: Span = NOWHERE


class OperatorName(Record, frozen=True):
    """An infix operator standing for its function, as in ``reduce(m, +, 0)``."""

    op: str
    span: Span = NOWHERE


class Splice(Record, frozen=True):
    """``*v`` inside a list or an argument list: the entries of ``v`` one by one."""

    value: Expr
    span: Span = NOWHERE


class Bracket(Record, frozen=True):
    """``[a, b, c]``."""

    items: tuple[Expr, ...]
    span: Span = NOWHERE


class Tuple(Record, frozen=True):
    """``(a, b)``: a list of capacity two or more."""

    items: tuple[Expr, ...]
    span: Span = NOWHERE


class Subscript(Record, frozen=True):
    """``x[i, j]``."""

    base: Expr
    items: tuple[Expr, ...]
    span: Span = NOWHERE


class ListSubscript(Record, frozen=True):
    """``x[j]'``: a component of the list."""

    base: Expr
    item: Expr
    span: Span = NOWHERE


class ShapeOf(Record, frozen=True):
    """``|x|``; ``||x||`` is the shape of the shape."""

    value: Expr
    span: Span = NOWHERE


class CapacityOf(Record, frozen=True):
    """``|x|'``."""

    value: Expr
    span: Span = NOWHERE


class Call(Record, frozen=True):
    """``f(x, y, axis: 2)``; the function is any expression in call position."""

    function: Expr
    args: tuple[Expr, ...]
    named: tuple[tuple[str, Expr], ...] = ()
    span: Span = NOWHERE


class Compose(Record, frozen=True):
    """``f.g.h``: apply ``f`` first."""

    functions: tuple[Expr, ...]
    span: Span = NOWHERE


class Unary(Record, frozen=True):
    """``-x``, ``+x``, ``not x``."""

    op: Literal["-", "+", "not"]
    value: Expr
    span: Span = NOWHERE


class Infix(Record, frozen=True):
    """Infix operators of one level, applied from the left.

    Flat, so that a sum of 100,000 terms is not a tree 100,000 deep.  Levels, loosest first:
    ``or xor``; ``and``; ``== != < <= > >=`` (at most one); ``+ -``; ``* / %``.
    """

    first: Expr
    rest: tuple[tuple[str, Expr], ...]
    span: Span = NOWHERE


class Power(Record, frozen=True):
    """``a ^ b``, from the right."""

    base: Expr
    exponent: Expr
    span: Span = NOWHERE


class Arrow(Record, frozen=True):
    """``(a, e) => body``."""

    params: tuple[str, ...]
    body: Expr
    span: Span = NOWHERE


class BlockExpr(Record, frozen=True):
    """``{ s = ...; f(x) = ...; result }``."""

    statements: tuple[Define | Unpack, ...]
    result: Expr
    span: Span = NOWHERE


class RangeExpr(Record, frozen=True):
    """``a..b``, both ends included."""

    low: Expr
    high: Expr
    span: Span = NOWHERE


class ZeroTol(Record, frozen=True):
    """``tol[d1, d2]``: zeros of that shape, or just a domain to iterate over."""

    items: tuple[Expr, ...]
    span: Span = NOWHERE


Expr: TypeAlias = (
    Numeral
    | Text
    | Name
    | Star
    | OperatorName
    | Splice
    | Bracket
    | Tuple
    | Subscript
    | ListSubscript
    | ShapeOf
    | CapacityOf
    | Call
    | Compose
    | Unary
    | Infix
    | Power
    | Arrow
    | BlockExpr
    | RangeExpr
    | ZeroTol
)


# ---- statements --------------------------------------------------------------------------


class Operator(Record, frozen=True):
    """``operator Softmax 13``: the header of a program that others can call."""

    name: str
    since: int | None = None
    span: Span = NOWHERE


class Use(Record, frozen=True):
    """``use axes, windows``: the definitions of library files."""

    names: tuple[str, ...]
    span: Span = NOWHERE


class SpaceDecl(Record, frozen=True):
    """``space pixel: N [0, 255]``; the bounds come together or not at all."""

    name: str
    space: str
    low: Expr | None = None
    high: Expr | None = None
    span: Span = NOWHERE


class ListDecl(Record, frozen=True):
    """``list point: [R, R], B``: ``spaces`` is flat, here ``("R", "R", "B")``."""

    name: str
    spaces: tuple[str, ...]
    span: Span = NOWHERE


class Ellipsis(Record, frozen=True):
    """``...`` in a declared shape: any number of further lengths."""

    span: Span = NOWHERE


class InputDecl(Record, frozen=True):
    """``tol x?: R [n, ...]``, ``static axes: Z [k]``, ``attr axis: Z = -1``, ``tol xs...: R [...]``.

    ``shape`` is ``()`` for a numeric.
    """

    kind: Literal["tol", "static", "attr"]
    name: str
    space: str
    shape: tuple[Expr | Ellipsis, ...] = ()
    optional: bool = False
    variadic: bool = False
    default: Expr | None = None
    span: Span = NOWHERE

    @property
    def any_rank(self) -> bool:
        """Whether ``...`` in the declared shape allows any number of dimensions."""
        return Ellipsis in map(type, self.shape)


class ZerosDecl(Record, frozen=True):
    """``tol result = [n, m]``: declares a ToL of that shape, which ``:=`` may fill later.

    ``shape`` is the expression right of ``=``, usually a ``Bracket``.
    """

    name: str
    shape: Expr
    span: Span = NOWHERE


class Define(Record, frozen=True):
    """``x = e``, ``f(i, j) = e``, ``y := e`` (an output), ``ys... := e`` (a variadic output).

    ``params`` is None for a value and a tuple, perhaps empty, for a function.
    """

    name: str
    params: tuple[str, ...] | None
    value: Expr
    output: bool = False
    variadic: bool = False
    span: Span = NOWHERE


class Unpack(Record, frozen=True):
    """``(h, c) = state``: names for the components of a list."""

    names: tuple[str, ...]
    value: Expr
    span: Span = NOWHERE


Statement: TypeAlias = Operator | Use | SpaceDecl | ListDecl | InputDecl | ZerosDecl | Define | Unpack


class Comment(Record, frozen=True):
    """A comment, with its marker. Only its span tells where it belongs."""

    text: str
    span: Span = NOWHERE


class Module(Record, frozen=True):
    """A whole file.  Comments do not take part in equality."""

    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = ()
    ignored: ClassVar = frozenset({"comments", "span"})
    span: Span = NOWHERE


# ---- walking the tree without recursion --------------------------------------------------


def deepest(statement: Statement, limit: int) -> Statement | Expr | None:
    """Return a node that is nested deeper than ``limit`` in a statement, or None."""
    level: list[Any] = [statement]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
        if not level:
            return None
    return level[0] if level else None


def inner_nodes(top: Any) -> Iterator[Any]:
    """Yield a node and all nodes below it, in source order."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) is not Name:  # most nodes are names, which have no children
            waiting.extend(reversed(children(node)))


def children(node: Any) -> list[Any]:
    """Return the nodes directly below a node, in source order."""
    found: list[Any] = []
    _collect([getattr(node, name) for name in _parts(node.__class__)], found)
    return found


def _collect(values: Iterable[Any], found: list[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind is tuple:
            _collect(value, found)
        elif kind not in _PLAIN:
            found.append(value)


_PLAIN = {str, int, bool, type(None)}
"""The types of field values other than nodes and tuples of nodes."""


@cache
def _parts(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name != "span")
