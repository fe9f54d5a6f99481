"""Parser of the text form of expressions: a tokenizer and recursive descent; nothing is ever executed.

Text may come from anywhere, so its length, depth, numbers and exponents are limited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from msgspec import Struct, field

from tolcost.algebra.floors import ceil_log2
from tolcost.algebra.piecewise import ceildiv, floordiv, maximum, minimum
from tolcost.algebra.poly import ONE, Poly, const, coordinate, length, scale, the_symbol
from tolcost.algebra.powers import powers
from tolcost.algebra.printers import RESERVED
from tolcost.algebra.sums import total
from tolcost.diagnostics import Source, Span, refuse

MAX_LENGTH = 1_000_000
MAX_DEPTH = 60
MAX_DIGITS = 1_000
MAX_EXPONENT = 64
"""Limits on the text: they bound the time that hostile input can take."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<quoted>`(?:[^`\\]|\\.)*`)|(?P<sign>\*\*|[-+*/(),]))"
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))", re.DOTALL)


class _Token(Struct, frozen=True):
    kind: str
    text: str
    at: int


class _Ratio(Struct, frozen=True):
    """A quotient while reading: a divisor that is not a number is allowed only inside ``floor``."""

    top: Poly
    bottom: Poly = ONE


class _Reader(Struct):
    source: Source
    tokens: tuple[_Token, ...]
    names: dict[str, Poly] = field(default_factory=dict)
    at: int = 0
    depth: int = 0

    def peek(self) -> str:
        """Return the text of the next token; an empty text for a quoted name."""
        token = self.tokens[self.at]
        return "" if token.kind == "quoted" else token.text

    def take(self) -> _Token:
        """Return the next token and advance."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        """Consume a sign that must come next."""
        if self.peek() != text:
            self.fail(f"expected `{text}`")
        self.at += 1

    def fail(self, message: str) -> NoReturn:
        """Reject the text at the next token."""
        token = self.tokens[min(self.at, len(self.tokens) - 1)]
        _reject(message, self.source, token.at, token.at + max(len(token.text), 1))


def parse_text(text: str, symbols: Mapping[str, Poly] | None = None) -> Poly:
    """Parse an expression; names that are not given are lengths.

    >>> parse_text("n*(n + 1)/2") == parse_text("n**2/2 + n/2")
    True
    """
    source = Source("<expression>", text)
    if len(text) > MAX_LENGTH:
        _reject(f"an expression is longer than {MAX_LENGTH} characters", source, 0, 0)
    reader = _Reader(source, _tokens(source), dict(symbols or {}))
    value = _sum(reader)
    if reader.peek() or reader.tokens[reader.at].kind != "end":
        reader.fail("something is left over")
    return _whole(reader, value)


def _reject(message: str, source: Source, start: int, end: int) -> NoReturn:
    refuse("T0141", message, Span(source, start, end))


def _tokens(source: Source) -> tuple[_Token, ...]:
    tokens, at, text = [], 0, source.text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            _reject("this is not part of an expression", source, at, at + 1)
        kind = match.lastgroup
        if kind == "number" and len(match[kind]) > MAX_DIGITS:
            _reject(f"a number has more than {MAX_DIGITS} digits", source, match.start(kind), match.end())
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return (*tokens, _Token("end", "", len(text)))


def _whole(reader: _Reader, value: _Ratio) -> Poly:
    """Convert a quotient into a polynomial; its divisor must be a number."""
    divisor = value.bottom.constant
    if divisor is None or divisor == 0:
        reader.fail("division by something that is not a number, outside `floor`")
    return scale(value.top, 1 if divisor > 0 else -1, abs(divisor))


def _sum(reader: _Reader) -> _Ratio:
    reader.depth += 1
    if reader.depth > MAX_DEPTH:
        reader.fail(f"nested more than {MAX_DEPTH} levels deep")
    negative = reader.peek() == "-"
    if negative:
        reader.at += 1
    value = _product(reader)
    parts = [_Ratio(-value.top, value.bottom) if negative else value]
    while reader.peek() in ("+", "-"):
        minus = reader.take().text == "-"
        value = _product(reader)
        parts.append(_Ratio(-value.top, value.bottom) if minus else value)
    reader.depth -= 1
    return _add_in_halves(parts)


def _add_in_halves(parts: list[_Ratio]) -> _Ratio:
    """Add in halves, so that a long sum does not copy its growing prefix for every term."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    a, b = _add_in_halves(parts[:middle]), _add_in_halves(parts[middle:])
    if a.bottom == b.bottom:
        return _Ratio(a.top + b.top, a.bottom)
    return _Ratio(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom)


def _product(reader: _Reader) -> _Ratio:
    value = _power(reader)
    while reader.peek() in ("*", "/"):
        divides = reader.take().text == "/"
        other = _power(reader)
        if divides:
            other = _Ratio(other.bottom, other.top)
            if other.bottom == 0:
                reader.fail("division by 0")
        value = _Ratio(value.top * other.top, value.bottom * other.bottom)
    return value


def _power(reader: _Reader) -> _Ratio:
    value = _item(reader)
    if reader.peek() != "**":
        return value
    reader.at += 1
    base = value.top.constant if value.bottom == 1 else None
    if base is not None and base > 1 and reader.tokens[reader.at].kind != "number":
        return _Ratio(powers(base, _whole(reader, _item(reader))))
    token = reader.take()
    if token.kind != "number" or len(token.text) > 4 or int(token.text) > MAX_EXPONENT:
        reader.at -= 1
        reader.fail(f"an exponent is a number up to {MAX_EXPONENT}")
    exponent = int(token.text)
    return _Ratio(value.top**exponent, value.bottom**exponent)


def _item(reader: _Reader) -> _Ratio:
    token = reader.take()
    match token.kind:
        case "number":
            return _Ratio(const(int(token.text)))
        case "quoted":
            return _Ratio(_length_named(reader, unquoted(token.text)))
        case "name" if token.text in RESERVED:
            return _call(reader, token.text)
        case "name":
            return _Ratio(_length_named(reader, token.text))
        case "sign" if token.text == "(":
            value = _sum(reader)
            reader.expect(")")
            return value
        case _:
            reader.at -= 1
            reader.fail("expected a number, a name or `(`")


def _length_named(reader: _Reader, name: str) -> Poly:
    if name not in reader.names:
        reader.names[name] = length(name)
    return reader.names[name]


def unquoted(text: str) -> str:
    """Return the name inside backquotes."""
    return _ESCAPE.sub(lambda m: chr(min(int(m[1], 16), 0x10FFFF)) if m[1] else m[2], text[1:-1])


def _call(reader: _Reader, function: str) -> _Ratio:
    if function == "Sum":
        return _Ratio(_read_sum(reader))
    reader.expect("(")
    if function == "ceiling" and _is_logarithm(reader):
        return _Ratio(_logarithm(reader))
    arguments = [_sum(reader)]
    while reader.peek() == ",":
        reader.at += 1
        arguments.append(_sum(reader))
    reader.expect(")")
    if function in ("floor", "ceiling") and len(arguments) == 1:
        return _Ratio(_round(reader, function, arguments[0]))
    if function in ("Max", "Min"):
        result = _whole(reader, arguments[0])
        for other in arguments[1:]:
            result = (maximum if function == "Max" else minimum)(result, _whole(reader, other))
        return _Ratio(result)
    reader.fail(f"`{function}` cannot be used like this")


def _is_logarithm(reader: _Reader) -> bool:
    """Whether ``log(`` follows; a name is never followed by a bracket."""
    return reader.peek() == "log" and reader.tokens[reader.at + 1].text == "("


def _logarithm(reader: _Reader) -> Poly:
    """Parse the rest of ``ceiling(log(p, 2))``."""
    reader.at += 2
    inside = _whole(reader, _sum(reader))
    for sign in (",", "2", ")", ")"):
        reader.expect(sign)
    return ceil_log2(inside)


def _round(reader: _Reader, function: str, value: _Ratio) -> Poly:
    if value.bottom.constant == 0:
        reader.fail("division by 0")
    return (floordiv if function == "floor" else ceildiv)(value.top, value.bottom)


def _read_sum(reader: _Reader) -> Poly:
    """Parse ``Sum(body, (name, lo, hi))``: the range comes last but is needed first."""
    reader.expect("(")
    start = reader.at
    _skip_argument(reader)
    reader.expect(",")
    reader.expect("(")
    token = reader.take()
    if token.kind not in ("name", "quoted") or token.text in RESERVED:
        reader.at -= 1
        reader.fail("expected a name to sum over")
    name = token.text if token.kind == "name" else unquoted(token.text)
    reader.expect(",")
    lo = _whole(reader, _sum(reader))
    reader.expect(",")
    hi = _whole(reader, _sum(reader))
    reader.expect(")")
    reader.expect(")")
    end, reader.at = reader.at, start
    binder = coordinate(name, hi, lo)
    outer, reader.names = reader.names, {**reader.names, name: binder}
    body = _whole(reader, _sum(reader))
    reader.names, reader.at = outer, end
    return total(body, [(the_symbol(binder), lo, hi)])


def _skip_argument(reader: _Reader) -> None:
    """Advance to the comma that ends an argument."""
    depth = 0
    while depth or reader.peek() != ",":
        token = reader.take()
        if token.kind == "end" or (token.kind == "sign" and token.text == ")" and not depth):
            reader.at -= 1
            reader.fail("expected `,`")
        if token.kind == "sign":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
