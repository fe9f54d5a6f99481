"""Parser of the text form of expressions: a tokenizer and recursive descent; nothing is ever executed.

This is what tolcost writes; ``printed`` reads, besides, what papers print.  Text may come from anywhere, so
its length, depth, numbers and exponents are limited.
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


class FormToken(Struct, frozen=True):
    """A piece of a text, and where it starts."""

    kind: str
    text: str
    at: int


class FormQuotient(Struct, frozen=True):
    """A quotient while reading: a divisor that is not a number is allowed only inside ``floor``."""

    top: Poly
    bottom: Poly = ONE


class FormReader(Struct):
    """The tokens of a text, and how far they are read; ``printed`` overrides how some are understood."""

    source: Source
    tokens: tuple[FormToken, ...]
    names: dict[str, Poly | FormQuotient] = field(default_factory=dict)
    at: int = 0
    depth: int = 0

    def peek(self) -> str:
        """Return the text of the next token; an empty text for a quoted name."""
        token = self.tokens[self.at]
        return "" if token.kind == "quoted" else token.text

    def take(self) -> FormToken:
        """Return the next token and advance."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        """Consume a sign that must come next."""
        if self.peek() != text:
            self.fail(f"expected `{text}`")
        self.at += 1

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Reject the text at the next token."""
        token = self.tokens[min(self.at, len(self.tokens) - 1)]
        reject(message, self.source, token.at, token.at + max(len(token.text), 1), hint)

    def deeper(self) -> None:
        """Go one level down; too many levels would exhaust the stack."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep")

    def number(self, text: str) -> FormQuotient:
        """Return the value of a number."""
        return FormQuotient(const(int(text)))

    def named(self, name: str) -> FormQuotient:
        """Return the meaning of a name; one without a meaning is a length."""
        if name not in self.names:
            self.names[name] = length(name)
        found = self.names[name]
        return found if isinstance(found, FormQuotient) else FormQuotient(found)

    def is_called(self, name: str) -> bool:
        """Whether a name is that of a function."""
        return name in RESERVED

    def call(self, function: str) -> FormQuotient:
        """Read the arguments of a function, and apply it."""
        return call(self, function)

    def exponent(self, value: FormQuotient) -> FormQuotient:
        """Read an exponent, and raise to it."""
        base = value.top.constant if value.bottom == 1 else None
        if base is not None and base > 1 and self.tokens[self.at].kind != "number":
            return FormQuotient(powers(base, whole(self, _item(self))))
        token = self.take()
        if token.kind != "number" or len(token.text) > 4 or int(token.text) > MAX_EXPONENT:
            self.at -= 1
            self.fail(f"an exponent is a number up to {MAX_EXPONENT}")
        exponent = int(token.text)
        return FormQuotient(value.top**exponent, value.bottom**exponent)

    def multiplies(self, value: FormQuotient, divided: bool) -> bool:
        """Whether a factor follows without a sign, after a product in which something may be divided."""
        return False


def parse_text(text: str, symbols: Mapping[str, Poly] | None = None) -> Poly:
    """Parse an expression; names that are not given are lengths.

    >>> parse_text("n*(n + 1)/2") == parse_text("n**2/2 + n/2")
    True
    """
    source = Source("<expression>", text)
    if len(text) > MAX_LENGTH:
        reject(f"an expression is longer than {MAX_LENGTH} characters", source, 0, 0)
    reader = FormReader(source, _tokens(source), dict(symbols or {}))
    return whole(reader, read_all(reader))


def read_all(reader: FormReader) -> FormQuotient:
    """Read an expression that takes up all tokens."""
    value = read_sum(reader)
    if reader.peek() or reader.tokens[reader.at].kind != "end":
        reader.fail("something is left over")
    return value


def reject(message: str, source: Source, start: int, end: int, hint: str | None = None) -> NoReturn:
    """Reject a text, or a part of it."""
    refuse("T0141", message, Span(source, start, end), hint=hint)


def _tokens(source: Source) -> tuple[FormToken, ...]:
    tokens, at, text = [], 0, source.text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            hint = "`**` is a power" if text[at] == "^" else None
            reject("this is not part of an expression", source, at, at + 1, hint)
        kind = match.lastgroup
        if kind == "number" and len(match[kind]) > MAX_DIGITS:
            reject(f"a number has more than {MAX_DIGITS} digits", source, match.start(kind), match.end())
        tokens.append(FormToken(kind, match[kind], match.start(kind)))
        at = match.end()
    return (*tokens, FormToken("end", "", len(text)))


def whole(reader: FormReader, value: FormQuotient) -> Poly:
    """Convert a quotient into a polynomial; its divisor must be a number."""
    if value.bottom == 1:
        return value.top
    divisor = value.bottom.constant
    if divisor is None or divisor == 0:
        reader.fail("division by something that is not a number, outside `floor`")
    return scale(value.top, 1 if divisor > 0 else -1, abs(divisor))


def read_sum(reader: FormReader) -> FormQuotient:
    """Read a sum of products."""
    reader.deeper()
    negative = reader.peek() == "-"
    if negative:
        reader.at += 1
    value = _product(reader)
    parts = [FormQuotient(-value.top, value.bottom) if negative else value]
    while reader.peek() in ("+", "-"):
        minus = reader.take().text == "-"
        value = _product(reader)
        parts.append(FormQuotient(-value.top, value.bottom) if minus else value)
    reader.depth -= 1
    return _add_in_halves(parts)


def _add_in_halves(parts: list[FormQuotient]) -> FormQuotient:
    """Add in halves, so that a long sum does not copy its growing prefix for every term."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    a, b = _add_in_halves(parts[:middle]), _add_in_halves(parts[middle:])
    if a.bottom == b.bottom:
        return FormQuotient(a.top + b.top, a.bottom)
    return FormQuotient(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom)


def _product(reader: FormReader) -> FormQuotient:
    value = read_power(reader)
    divided = False
    while (signed := reader.peek() in ("*", "/")) or reader.multiplies(value, divided):
        divides = signed and reader.take().text == "/"
        divided = divided or divides
        other = read_power(reader)
        if divides:
            other = FormQuotient(other.bottom, other.top)
            if other.bottom == 0:
                reader.fail("division by 0")
        value = FormQuotient(value.top * other.top, value.bottom * other.bottom)
    return value


def read_power(reader: FormReader) -> FormQuotient:
    """Read a number, a name, a call or a bracket, raised to a power or not."""
    value = _item(reader)
    if reader.peek() != "**":
        return value
    reader.at += 1
    return reader.exponent(value)


def _item(reader: FormReader) -> FormQuotient:
    token = reader.take()
    match token.kind:
        case "number":
            return reader.number(token.text)
        case "quoted":
            return reader.named(unquoted(token.text))
        case "name" if reader.is_called(token.text):
            return reader.call(token.text)
        case "name":
            return reader.named(token.text)
        case "sign" if token.text == "(":
            value = read_sum(reader)
            reader.expect(")")
            return value
        case _:
            reader.at -= 1
            reader.fail("expected a number, a name or `(`")


def unquoted(text: str) -> str:
    """Return the name inside backquotes."""
    return _ESCAPE.sub(lambda m: chr(min(int(m[1], 16), 0x10FFFF)) if m[1] else m[2], text[1:-1])


def call(reader: FormReader, function: str) -> FormQuotient:
    """Read the arguments of a function that tolcost writes, and apply it."""
    if function == "Sum":
        return FormQuotient(_read_sum(reader))
    reader.expect("(")
    if function == "ceiling" and _is_logarithm(reader):
        return FormQuotient(_logarithm(reader))
    arguments = [read_sum(reader)]
    while reader.peek() == ",":
        reader.at += 1
        arguments.append(read_sum(reader))
    reader.expect(")")
    if function in ("floor", "ceiling") and len(arguments) == 1:
        return FormQuotient(_round(reader, function, arguments[0]))
    if function in ("Max", "Min"):
        result = whole(reader, arguments[0])
        for other in arguments[1:]:
            result = (maximum if function == "Max" else minimum)(result, whole(reader, other))
        return FormQuotient(result)
    reader.fail(f"`{function}` cannot be used like this")


def _is_logarithm(reader: FormReader) -> bool:
    """Whether ``log(`` follows; a name is never followed by a bracket."""
    return reader.peek() == "log" and reader.tokens[reader.at + 1].text == "("


def _logarithm(reader: FormReader) -> Poly:
    """Parse the rest of ``ceiling(log(p, 2))``."""
    reader.at += 2
    inside = whole(reader, read_sum(reader))
    for sign in (",", "2", ")", ")"):
        reader.expect(sign)
    return ceil_log2(inside)


def _round(reader: FormReader, function: str, value: FormQuotient) -> Poly:
    if value.bottom.constant == 0:
        reader.fail("division by 0")
    return (floordiv if function == "floor" else ceildiv)(value.top, value.bottom)


def _read_sum(reader: FormReader) -> Poly:
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
    lo = whole(reader, read_sum(reader))
    reader.expect(",")
    hi = whole(reader, read_sum(reader))
    reader.expect(")")
    reader.expect(")")
    end, reader.at = reader.at, start
    binder = coordinate(name, hi, lo)
    outer, reader.names = reader.names, {**reader.names, name: binder}
    body = whole(reader, read_sum(reader))
    reader.names, reader.at = outer, end
    return total(body, [(the_symbol(binder), lo, hi)])


def _skip_argument(reader: FormReader) -> None:
    """Advance to the comma that ends an argument."""
    depth = 0
    while depth or reader.peek() != ",":
        token = reader.take()
        if token.kind == "end" or (token.kind == "sign" and token.text == ")" and not depth):
            reader.at -= 1
            reader.fail("expected `,`")
        if token.kind == "sign":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
