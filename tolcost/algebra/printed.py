"""Formulas as papers and libraries print them: ``2n^3/3``, ``s/(6h)``, ``5 n log2 n``, ``0.5*m*n``.

The reader is that of ``parse``.  Here it also takes products without a sign, quotients by lengths, decimals,
roots, logarithms, and signs that are printed or written in LaTeX.  Nothing is rounded: a quotient stays one,
and a logarithm or root of a length is read where it is whole: the length is a power of 2 or a square there.
What has two readings is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import NoReturn

from msgspec import Struct, field

from tolcost.algebra.floors import ceil_log2, exact_quotient
from tolcost.algebra.parse import (
    MAX_DIGITS,
    MAX_EXPONENT,
    FormQuotient,
    FormReader,
    FormToken,
    call,
    read_all,
    read_power,
    read_sum,
    reject,
    whole,
)
from tolcost.algebra.poly import (
    LARGEST_LENGTH,
    ONE,
    ZERO,
    AlgebraBudget,
    Exponential,
    Generator,
    NotInteger,
    Poly,
    Symbol,
    atom,
    const,
    length,
    poly,
    product_of,
    scale,
    total_of,
)
from tolcost.algebra.powers import powers
from tolcost.algebra.printers import RESERVED, to_text
from tolcost.algebra.rebuild import generators_in
from tolcost.algebra.substitute import substitute
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, quoted

MAX_LENGTH = 20_000
"""A formula of a person has fewer characters."""
LARGEST_POWER = LARGEST_LENGTH.bit_length() - 1
"""The largest exponent of 2 that is a length."""
_LETTER = "A-Za-zΑ-Ωα-ω"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    rf"|(?P<name>\\[A-Za-z]+(?:_\{{?2\}}?)?|[{_LETTER}_][{_LETTER}0-9_]*(?:(?<=_)\{{[A-Za-z0-9,]+\}})?)"
    r"|(?P<quoted>`(?:[^`\\]|\\.)*`)|(?P<sign>\*\*|\\[,;:! ]|[-+*/^(),{}\[\]=≈⌈⌉⌊⌋√×·⋅∗÷−–²³½]))"
)
_SIGNS: Mapping[str, str] = {
    "^": "**", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "²": "** 2", "³": "** 3",
    "½": "( 1 / 2 )", "⌈": "ceiling (", "⌊": "floor (", "⌉": ")", "⌋": ")", "[": "(", "{": "(", "]": ")",
    "}": ")", "√": "sqrt", "≈": "=", r"\cdot": "*", r"\times": "*", r"\lceil": "ceiling (",
    r"\lfloor": "floor (", r"\rceil": ")", r"\rfloor": ")", r"\left": "", r"\right": "", r"\log": "log",
    r"\log_2": "log2", r"\lg": "lg", r"\sqrt": "sqrt", r"\frac": "frac", r"\min": "min", r"\max": "max",
}  # fmt: skip
"""What a printed sign stands for, as tokens."""
_CLOSES: Mapping[str, str] = {
    "(": ")", "[": "]", "{": "}", "⌈": "⌉", "⌊": "⌋", r"\lceil": r"\rceil", r"\lfloor": r"\rfloor",
}  # fmt: skip
_LOGARITHMS = ("log2", "log_2", "lg", "ld", "log")
_FUNCTIONS = frozenset((*_LOGARITHMS, "sqrt", "ceil", "max", "min", "frac"))
_NOT_WHOLE = frozenset(("ln", "log10", "log_10", "exp", "sin", "cos", "tanh"))
_MOST_LETTERS = 16
"""The longest run of letters that is taken apart into names."""


class UnknownName(Rejected):
    """A formula has a name without a meaning."""


class PrintedFormula(Struct, frozen=True):
    """A formula that was read.

    ``whole_where`` has lengths of which a logarithm or a root is taken, each as the power of 2 or the square
    that it is taken to be; ``remarks`` say what was understood by something that others may read otherwise.
    """

    value: FormQuotient
    whole_where: Mapping[Symbol, Poly]
    remarks: tuple[str, ...] = ()


def parse_printed(
    text: str, names: Mapping[str, FormQuotient], place: str = "<formula>", is_new: bool = False
) -> PrintedFormula:
    """Read a printed formula in the names given; with ``is_new``, other names are new lengths.

    >>> n, h = FormQuotient(length("n")), FormQuotient(length("h"))
    >>> parse_printed("2n^3/3 + n(n - 1)", {"n": n}).value.top
    n*(2*n**2 + 3*n - 3)/3
    >>> parse_printed("6nh^2(1 + n/(6h))", {"n": n, "h": h}).value.top
    h*n*(6*h + n)
    """
    source = Source(place, text)
    if len(text) > MAX_LENGTH:
        reject(f"a formula is longer than {MAX_LENGTH:,} characters", source, 0, 0)
    reader = _PrintedReader(source, _tokens(source, frozenset(names)), dict(names), is_new=is_new)
    try:
        value = _put(read_all(reader), reader.whole_where)
    except (AlgebraBudget, NotInteger) as error:
        reject(str(error), source, 0, len(text))
    remarks = tuple(reader.remarks)
    raised = {s for g in generators_in(value.top) if isinstance(g, Exponential) for s in g.free}
    fresh = {s.name for s in raised if s.name not in names and s.lo == 1}
    if is_new and fresh:  # a new name in an exponent may be 0, and keeps the power within a length
        powers_of_two = {name: FormQuotient(length(name, 0, LARGEST_POWER)) for name in fresh}
        return parse_printed(text, {**names, **powers_of_two}, place, is_new)
    return PrintedFormula(value, dict(reader.whole_where), remarks)


def _put(value: FormQuotient, whole_where: Mapping[Symbol, Poly]) -> FormQuotient:
    """Write lengths as the powers and squares that they are taken to be, and divide as far as possible."""
    changes = dict(whole_where)
    top, bottom = (substitute(side, changes) if changes else side for side in (value.top, value.bottom))
    return lowest_terms(FormQuotient(top, bottom))


def lowest_terms(value: FormQuotient) -> FormQuotient:
    """Divide exactly if possible, else by what both sides have in common.

    >>> n, h = length("n"), length("h")
    >>> lowest_terms(FormQuotient(n * h * 6 + h, h * h * 2))
    FormQuotient(top=6*n + 1, bottom=2*h)
    """
    top, bottom = scale(value.top, value.bottom.den), scale(value.bottom, value.bottom.den)
    found = exact_quotient(top, bottom)
    if found is not None:
        return FormQuotient(found)
    top, bottom = scale(top, top.den), scale(bottom, top.den)
    shared: Counter[Generator] | None = None
    for mono in (*top.terms, *bottom.terms):
        shared = Counter(mono) if shared is None else shared & Counter(mono)
    common = product_of(atom(generator) for generator in (shared or Counter()).elements())
    above, below = exact_quotient(top, common), exact_quotient(bottom, common)
    return FormQuotient(top, bottom) if above is None or below is None else FormQuotient(above, below)


# === Tokens.


def _tokens(source: Source, names: frozenset[str]) -> tuple[FormToken, ...]:
    tokens: list[FormToken] = []
    opened: list[tuple[str, int]] = []
    at, text = 0, source.text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            _unreadable(source, at + len(text[at:]) - len(text[at:].lstrip()))
        start = match.start(match.lastgroup)
        tokens += _printed(match.lastgroup, match[match.lastgroup], start, source, names)
        _check_brackets(opened, match[match.lastgroup], start, source)
        at = match.end()
    if opened:
        sign, start = opened[-1]
        reject(f"`{sign}` is not closed", source, start, start + len(sign))
    if len(tokens) > 2 and tokens[1].text == "=":  # FLOPs = 2*m*n: the left side only gives it a name
        tokens = tokens[2:]
    return (*tokens, FormToken("end", "", len(text)))


def _unreadable(source: Source, at: int) -> NoReturn:
    character = source.text[at]
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    hint = "a formula has numbers, names, + - * / ^, brackets, and max, min, ceil, floor, sqrt and log2"
    reject(f"{shown} is not part of a formula", source, at, at + 1, hint)


def _check_brackets(opened: list[tuple[str, int]], text: str, at: int, source: Source) -> None:
    if text in _CLOSES:
        opened.append((text, at))
    elif text in _CLOSES.values() and (not opened or _CLOSES[opened.pop()[0]] != text):
        reject(f"`{text}` closes nothing", source, at, at + len(text))


def _printed(kind: str, text: str, at: int, source: Source, names: frozenset[str]) -> list[FormToken]:
    """Return the tokens that a printed one stands for."""
    if kind == "number" and len(text) > MAX_DIGITS:
        reject(f"a number has more than {MAX_DIGITS} digits", source, at, at + len(text))
    plain = text.replace("{", "").replace("}", "") if kind == "name" else text
    if plain in _SIGNS or plain[:1] == "\\":
        if plain not in _SIGNS and plain[1:].isalpha():
            reject(f"{quoted(text)} is not known", source, at, at + len(text))
        return [FormToken(_kind(one), one, at) for one in _SIGNS.get(plain, "").split()]
    if kind == "name" and plain not in names:
        letters = _letters(plain, names)
        if len(letters) > 1:
            hint = " or ".join(" * ".join(one) for one in letters[:2])
            reject(f"{quoted(plain)} has several readings", source, at, at + len(text), f"is it {hint}?")
        if letters:
            starts = [at + sum(map(len, letters[0][:place])) for place in range(len(letters[0]))]
            return [FormToken("name", one, start) for one, start in zip(letters[0], starts, strict=True)]
    return [FormToken(kind, plain, at)]


def _kind(text: str) -> str:
    return "number" if text.isdigit() else "name" if text.isalpha() or text == "log2" else "sign"


def _letters(text: str, names: frozenset[str]) -> list[tuple[str, ...]]:
    """Return the ways to take a name apart into known ones: ``mnk`` is m times n times k.

    >>> _letters("mnk", frozenset("mnk")), _letters("log", frozenset("mnk"))
    ([('m', 'n', 'k')], [])
    """
    functions = _FUNCTIONS | _NOT_WHOLE | RESERVED
    if len(text) > _MOST_LETTERS or text in functions or text.startswith(("log", "sqrt")):
        return []
    ways: list[list[tuple[str, ...]]] = [[()]]
    for end in range(1, len(text) + 1):
        last = (start for start in range(end) if text[start:end] in names and ways[start])
        ways.append([(*way, text[start:end]) for start in last for way in ways[start]][:3])
    return ways[-1]


# === Meanings.


class _PrintedReader(FormReader):
    is_new: bool = False
    whole_where: dict[Symbol, Poly] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)

    def number(self, text: str) -> FormQuotient:
        """Return the value of a number, exactly as it is printed."""
        value = Fraction(text)
        return FormQuotient(const(value.numerator), const(value.denominator))

    def named(self, name: str) -> FormQuotient:
        """Return the meaning of a name, and refuse one that has none."""
        if name not in self.names and not self.is_new:
            self.at -= 1
            if name in _NOT_WHOLE:
                self.fail(f"`{name}` gives no whole numbers", "log2 and sqrt are read where they are whole")
            if name in ("O", "Θ", "Ω"):
                self.fail("an order of growth is no count: it leaves out a constant")
            token = self.tokens[self.at]
            span = Span(self.source, token.at, token.at + len(token.text))
            raise UnknownName(Diagnostic("T0141", f"there is no length {quoted(name)}", span))
        return super().named(name)

    def is_called(self, name: str) -> bool:
        """Whether a name is that of a function, and no length is called so."""
        return name not in self.names and (name in _FUNCTIONS or super().is_called(name))

    def multiplies(self, value: FormQuotient, divided: bool) -> bool:
        """Whether a factor follows without a sign; after a quotient it would have two readings."""
        token, last = self.tokens[self.at], self.tokens[self.at - 1]
        if token.kind not in ("name", "quoted") and token.text != "(":
            return False
        is_number = value.top.constant is not None and value.bottom.constant is not None
        if divided and not (is_number and token.at > last.at + len(last.text)):
            hint = "put brackets around what is divided, or around what it is divided by"
            self.fail("after `/`, a product without a sign has two readings", hint)
        return True

    def exponent(self, value: FormQuotient) -> FormQuotient:
        """Read an exponent: a number, a half of one, or any form above a base that is a number."""
        start, negative = self.at, self.peek() == "-"
        self.at += negative
        form = lowest_terms(read_power(self) if self.peek() in ("(", "frac") else _single(self))
        if form.bottom == 1 and len(form.top.terms) <= 1 and not form.top.free:
            raised = Fraction(next(iter(form.top.terms.values()), 0), form.top.den) * (-1 if negative else 1)
            if abs(raised) <= MAX_EXPONENT and raised.denominator <= 2:
                return self._raised(value, raised)
        base = value.top.constant if value.bottom == 1 else None
        if base is not None and base > 1 and not negative and form.top.free:
            return FormQuotient(powers(base, whole(self, form)))
        self.at = start
        self.fail(f"an exponent is a number up to {MAX_EXPONENT}, whole or half, or stands above a number")

    def _raised(self, value: FormQuotient, exponent: Fraction) -> FormQuotient:
        if exponent.denominator == 2:
            value = FormQuotient(self._root(value.top), self._root(value.bottom))
        if exponent < 0:
            value = self._divided(_ONE, value)
        many = abs(exponent.numerator)
        return FormQuotient(value.top**many, value.bottom**many)

    def _divided(self, top: FormQuotient, bottom: FormQuotient) -> FormQuotient:
        if bottom.top == ZERO:
            self.fail("division by 0")
        return FormQuotient(top.top * bottom.bottom, top.bottom * bottom.top)

    def call(self, function: str) -> FormQuotient:
        """Read a function with its arguments; a logarithm or root may stand before a single one."""
        self.deeper()
        found = self._called(function)
        self.depth -= 1
        return found

    def _called(self, function: str) -> FormQuotient:
        if function in _LOGARITHMS:
            return self._logarithm(function, self._argument(has_base=True))
        if function == "sqrt":
            inside = self._argument()
            return FormQuotient(self._root(inside.top), self._root(inside.bottom))
        if function == "frac":
            top, bottom = read_power(self), read_power(self)
            return self._divided(top, bottom)
        if function in ("ceil", "ceiling", "floor"):
            return self._rounded("floor" if function == "floor" else "ceiling")
        return call(self, {"max": "Max", "min": "Min"}.get(function, function))

    def _argument(self, has_base: bool = False) -> FormQuotient:
        """Read what stands in brackets, or a single factor: ``log n m`` has two readings."""
        if self.peek() == "(":
            self.at += 1
            value = read_sum(self)
            if has_base and self.peek() == ",":  # log(n, 2), as tolcost writes it
                self.at += 1
                self.expect("2")
            self.expect(")")
            return lowest_terms(value)
        value = read_power(self)
        if self.multiplies(value, False):
            self.fail("a function before a product without brackets has two readings", "write log2(2 n)")
        return lowest_terms(value)

    def _rounded(self, function: str) -> FormQuotient:
        """Read the rest of a floor or a ceiling; that of a logarithm is whole for any length."""
        start = self.at
        self.expect("(")
        name = self.peek()
        if name in _LOGARITHMS and self.is_called(name):
            self.at += 1
            inside = self._argument(has_base=True)
            if self.peek() == ")" and inside.bottom == 1 and inside.top.den == 1:
                self.at += 1
                self._remark(name)
                shift = 0 if function == "ceiling" else 1
                return FormQuotient(ceil_log2(inside.top + shift) - shift)
        self.at = start
        return call(self, function)

    def _logarithm(self, name: str, inside: FormQuotient) -> FormQuotient:
        self._remark(name)
        return FormQuotient(self._log2(inside.top) - self._log2(inside.bottom))

    def _remark(self, name: str) -> None:
        if name == "log":
            self.remarks["log is read as log2"] = None

    def _log2(self, p: Poly) -> Poly:
        """Return the logarithm of one term: a power of 2, lengths that are powers of 2, and quotients."""
        if len(p.terms) == 1:
            ((mono, number),) = p.terms.items()
            if number > 0 and number & (number - 1) == 0 == p.den & (p.den - 1):
                of_number = number.bit_length() - p.den.bit_length()
                return total_of((const(of_number), *(self._exponent_of(g) for g in mono)))
        self.at -= 1
        hint = "name the power: --where n=2**p" if p.free else None
        self.fail("this logarithm is read only of powers of 2, and of products of lengths", hint)

    def _exponent_of(self, generator: Generator) -> Poly:
        if isinstance(generator, Exponential) and generator.base == 2:
            return generator.p
        new = length(f"log2_{_name(generator)}", 0, LARGEST_POWER)
        self._restrict(generator, powers(2, new), "a power of 2")
        return new

    def _root(self, p: Poly) -> Poly:
        """Return the root of one term: a square, and lengths that are squares."""
        if len(p.terms) == 1:
            ((mono, number),) = p.terms.items()
            if number > 0 and isqrt(number) ** 2 == number and isqrt(p.den) ** 2 == p.den:
                roots = (self._root_of(g, many) for g, many in Counter(mono).items())
                return product_of((poly({(): isqrt(number)}, isqrt(p.den)), *roots))
        if p == ZERO:
            return ZERO
        self.at -= 1
        hint = "name the root: --where n=r**2" if p.free else None
        self.fail("this root is read only of squares, and of products of lengths", hint)

    def _root_of(self, generator: Generator, many: int) -> Poly:
        if many % 2 == 0:
            return atom(generator) ** (many // 2)
        new = length(f"sqrt_{_name(generator)}")
        self._restrict(generator, new * new, "a square")
        return new**many

    def _restrict(self, generator: Generator, form: Poly, kind: str) -> None:
        made = any(generator in other.free for other in self.whole_where.values())
        known = None if made or not isinstance(generator, Symbol) else generator
        if known is None or self.whole_where.setdefault(known, form) != form:
            self.at -= 1
            hint = "say what the length is: --where n=2**p, or n=r**2"
            self.fail("no length is known at which this is whole", hint)
        self.remarks[f"{quoted(_name(generator))} is {kind}: {to_text(form)}"] = None


_ONE = FormQuotient(ONE)


def _single(reader: FormReader) -> FormQuotient:
    """Read an exponent without brackets: one number or name, so that ``n^2m`` is ``n^2`` times m."""
    token = reader.take()
    if token.kind == "number":
        return reader.number(token.text)
    if token.kind in ("name", "quoted") and not reader.is_called(token.text):
        return reader.named(token.text)
    reader.at -= 1
    reader.fail("expected an exponent")


def _name(generator: Generator) -> str:
    return generator.name if isinstance(generator, Symbol) else ""
