"""Formulas read back as a person reads them: text, LaTeX and MathML, each by a small reader of its own.

The readers share nothing with what writes.  Each gives the value of a formula where names have numbers, as
an exact fraction.  LaTeX and MathML are read as they look on paper: digits beside digits are one number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from xml.etree.ElementTree import Element, fromstring
from zlib import crc32

Values = Mapping[str, int]
Meaning = Callable[[dict[str, Fraction]], Fraction]
Truth = Callable[[dict[str, Fraction]], bool]


class Unreadable(ValueError):
    """Something that is no formula, or means two things."""


class Undefined(ValueError):
    """A formula without a value: it divides by 0, or takes the logarithm of nothing."""


# ---- what all have in common -------------------------------------------------------------------


def _number(value: Fraction) -> Meaning:
    return lambda at: value


def _name(text: str) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        if text not in at:
            raise Unreadable(f"nothing is named {text!r}")
        return at[text]

    return meaning


def _sum(parts: list[tuple[int, Meaning]]) -> Meaning:
    return parts[0][1] if len(parts) == 1 and parts[0][0] == 1 else lambda at: sum(
        (sign * part(at) for sign, part in parts), Fraction(0)
    )  # fmt: skip


def _product(parts: list[Meaning]) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        found = Fraction(1)
        for part in parts:
            found *= part(at)
        return found

    return parts[0] if len(parts) == 1 else meaning


def _quotient(top: Meaning, bottom: Meaning) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        under = bottom(at)
        if under == 0:
            raise Undefined("a division by 0")
        return top(at) / under

    return meaning


def _power(base: Meaning, exponent: Meaning) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        times = exponent(at)
        if times.denominator != 1 or times < 0:
            raise Undefined(f"a power of {times}")
        return base(at) ** times.numerator

    return meaning


def _floor(inside: Meaning) -> Meaning:
    return lambda at: Fraction(inside(at).__floor__())


def _log2_up(inside: Meaning) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        value = inside(at)
        if value.denominator != 1 or value < 1:
            raise Undefined(f"a logarithm of {value}")
        return Fraction((value.numerator - 1).bit_length())

    return meaning


def _largest(parts: list[Meaning]) -> Meaning:
    return lambda at: max(part(at) for part in parts)


def _least(parts: list[Meaning]) -> Meaning:
    return lambda at: min(part(at) for part in parts)


def _sum_over(body: Meaning, name: str, low: Meaning, high: Meaning) -> Meaning:
    def meaning(at: dict[str, Fraction]) -> Fraction:
        first, last = low(at), high(at)
        if first.denominator != 1 or last.denominator != 1:
            raise Unreadable("a sum from or to what is no integer")
        inside = range(first.numerator, last.numerator + 1)
        return sum((body({**at, name: Fraction(n)}) for n in inside), Fraction(0))

    return meaning


def _at(meaning: Meaning, values: Values) -> Fraction:
    return meaning({name: Fraction(value) for name, value in values.items()})


# ---- text --------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?![\d])|\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|`(?P<quoted>(?:\\.|[^`\\])*)`|(?P<sign>\*\*|>=|<=|==|!=|[-+*/(),<>]))"
)


class _Text:
    """Arithmetic as Python and sympy write it, and conditions of it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise Unreadable(f"{text[place : place + 20]!r} in {text[:80]!r}")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()
        self.place = 0

    def peek(self) -> str:
        kind, text = self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")
        return text if kind in ("sign", "name") else ""

    def take(self, sign: str) -> bool:
        if self.place < len(self.tokens) and self.tokens[self.place] in (("sign", sign), ("name", sign)):
            self.place += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise Unreadable(f"no {sign!r} at {self.tokens[self.place : self.place + 5]}")

    def total(self) -> Meaning:
        parts = [(-1 if self.take("-") else 1, self.product())]
        while self.peek() in ("+", "-") and self.peek():
            sign = 1 if self.take("+") else -(1 if self.take("-") else 0)
            parts.append((sign, self.product()))
        return _sum(parts)

    def product(self) -> Meaning:
        found = self.power()
        while self.peek() in ("*", "/") and self.peek():
            times = self.take("*")
            times or self.need("/")
            other = self.power()
            found = _product([found, other]) if times else _quotient(found, other)
        return found

    def power(self) -> Meaning:
        base = self.operand()
        if self.take("**"):
            minus = self.take("-")
            exponent = self.power()
            return _power(base, _sum([(-1, exponent)]) if minus else exponent)
        return base

    def operand(self) -> Meaning:
        if self.take("("):
            found = self.total()
            self.need(")")
            return found
        if self.place >= len(self.tokens):
            raise Unreadable("it ends too early")
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return _number(Fraction(text.replace(",", "")))
        if kind == "quoted":
            plain = re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), text)
            return _name(re.sub(r"\\(.)", r"\1", plain))
        if kind != "name":
            raise Unreadable(f"{text!r} where a number or a name is due")
        return self.call(text) if self.take("(") else _name(text)

    def call(self, function: str) -> Meaning:
        if function == "Sum":
            body = self.total()
            while self.take(","):  # the innermost comes first
                self.need("(")
                _, binder = self.tokens[self.place]
                self.place += 1
                self.need(",")
                low = self.total()
                self.need(",")
                high = self.total()
                self.need(")")
                body = _sum_over(body, binder, low, high)
            self.need(")")
            return body
        if function == "ceiling" and self.take("log"):
            self.need("(")
            inside = self.total()
            self.need(",")
            if self.tokens[self.place] != ("number", "2"):
                raise Unreadable("a logarithm to another base")
            self.place += 1
            self.need(")")
            self.need(")")
            return _log2_up(inside)
        if function == "Piecewise":
            return self.pieces()
        parts = [self.total()]
        while self.take(","):
            parts.append(self.total())
        self.need(")")
        match function, parts:
            case "floor", [inside]:
                return _floor(inside)
            case "ceiling", [inside]:
                return _sum([(-1, _floor(_sum([(-1, inside)])))])
            case "Max", _:
                return _largest(parts)
            case "Min", _:
                return _least(parts)
        raise Unreadable(f"a function {function}")

    def pieces(self) -> Meaning:
        found: list[tuple[Meaning, Truth]] = []
        while True:
            self.need("(")
            value = self.total()
            self.need(",")
            found.append((value, (lambda at: True) if self.take("True") else self.condition()))
            self.need(")")
            if not self.take(","):
                break
        self.need(")")

        def meaning(at: dict[str, Fraction]) -> Fraction:
            for value, condition in found:
                if condition(at):
                    return value(at)
            raise Undefined("no piece fits")

        return meaning

    def condition(self) -> Truth:
        found = [self.conjunction()]
        while self.take("or"):
            found.append(self.conjunction())
        return found[0] if len(found) == 1 else lambda at: any(part(at) for part in found)

    def conjunction(self) -> Truth:
        found = [self.comparison()]
        while self.take("and"):
            found.append(self.comparison())
        return found[0] if len(found) == 1 else lambda at: all(part(at) for part in found)

    def comparison(self) -> Truth:
        if self.take("not"):
            self.need("(")
            inside = self.condition()
            self.need(")")
            return lambda at: not inside(at)
        start = self.place
        if self.take("("):  # conditions in brackets, or a formula that begins with one
            try:
                whole = self.condition()
                self.need(")")
                if self.peek() not in ("*", "/", "+", "-", "**", ">=", "<=", "==", "!="):
                    return whole
            except (Unreadable, IndexError):
                pass
            self.place = start
        left = self.total()
        sign = self.peek()
        self.place += 1
        right = self.total()
        compared: dict[str, Callable[[Fraction, Fraction], bool]] = {
            ">=": lambda a, b: a >= b,
            "<=": lambda a, b: a <= b,
            "==": lambda a, b: a == b,
            "!=": lambda a, b: a != b,
        }
        if sign not in compared:
            raise Unreadable(f"a comparison by {sign!r}")
        return lambda at: compared[sign](left(at), right(at))

    def end(self) -> None:
        if self.place != len(self.tokens):
            raise Unreadable(f"{self.tokens[self.place :][:5]} is left")


def of_text(text: str, values: Values) -> Fraction:
    """The value of a formula in text; commas between thousands are none.

    >>> of_text("n*(n + 1)/2 + floor(n/4)", {"n": 9}), of_text("Sum(i**2, (i, 1, n))", {"n": 3})
    (Fraction(47, 1), Fraction(14, 1))
    """
    reader = _Text(text)
    found = reader.total()
    reader.end()
    return _at(found, values)


def holds(text: str, values: Values) -> bool:
    """Whether a condition in text holds.

    >>> holds("n >= 5 or (n == 2 and m <= 1)", {"n": 2, "m": 1})
    True
    """
    reader = _Text(text)
    found = reader.condition()
    reader.end()
    try:
        return found({name: Fraction(value) for name, value in values.items()})
    except Undefined:
        return False


# ---- LaTeX -------------------------------------------------------------------------------------

_LATEX_TOKEN = re.compile(r"(\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|[-+(){}^_,=/])")


class _Latex:
    """Mathematics as LaTeX sets it: spaces are nothing, and what stands side by side is multiplied."""

    def __init__(self, text: str, names: list[str]) -> None:
        self.names: dict[str, list[str]] = {}
        for name in names:
            self.names.setdefault(_plain_name(name), []).append(name)
        self.rest = re.sub(r"\\(left|right|allowbreak)(?![A-Za-z])", "", text)

    def _skip(self) -> None:
        self.rest = self.rest.lstrip(" ")

    def take(self, token: str) -> bool:
        self._skip()
        if self.rest.startswith(token) and not (
            token[-1:].isalpha() and token[0] == "\\" and self.rest[len(token) : len(token) + 1].isalpha()
        ):
            self.rest = self.rest[len(token) :]
            return True
        return False

    def need(self, token: str) -> None:
        if not self.take(token):
            raise Unreadable(f"no {token!r} before {self.rest[:40]!r}")

    def total(self) -> Meaning:
        parts = [(-1 if self.take("-") else 1, self.product())]
        while True:
            if self.take("+"):
                parts.append((1, self.product()))
            elif self.take("-"):
                parts.append((-1, self.product()))
            else:
                return _sum(parts)

    def product(self) -> Meaning:
        parts = [self.power()]
        while True:
            self._skip()
            if self.take(r"\cdot"):
                parts.append(self.power())
            elif self.take(r"\,"):
                continue
            elif (
                self.rest
                and self.rest[0] not in "+-)},=&"
                and not self.rest.startswith((r"\rfloor", r"\rceil"))
            ):
                parts.append(self.power())
            else:
                return _product(parts)

    def power(self) -> Meaning:
        base = self.operand()
        if self.take("^"):
            self.need("{")
            exponent = self.total()
            self.need("}")
            return _power(base, exponent)
        return base

    def group(self) -> Meaning:
        self.need("{")
        found = self.total()
        self.need("}")
        return found

    def operand(self) -> Meaning:
        self._skip()
        digits = re.match(r"[\d ]*\d(?:\.\d+)?", self.rest)
        if digits is not None:  # what looks like one number is one
            self.rest = self.rest[digits.end() :]
            return _number(Fraction(digits[0].replace(" ", "")))
        if self.take(r"\frac"):
            top = self.group()
            return _quotient(top, self.group())
        if self.take("("):
            found = self.total()
            self.need(")")
            return found
        if self.take(r"\lfloor"):
            found = self.total()
            self.need(r"\rfloor")
            return _floor(found)
        if self.take(r"\lceil"):
            self.need(r"\log_2")
            self.need("(")
            found = self.total()
            self.need(")")
            self.need(r"\rceil")
            return _log2_up(found)
        for name, extreme in (("max", _largest), ("min", _least)):
            if self.take(rf"\{name}"):
                self.need("(")
                parts = [self.total()]
                while self.take(","):
                    parts.append(self.total())
                self.need(")")
                return extreme(parts)
        if self.take(r"\sum"):
            self.need("_")
            self.need("{")
            binder = re.match(r"[A-Za-z]|\\mathrm\{\w+\}", self.rest)
            if binder is None:
                raise Unreadable(f"no name at {self.rest[:20]!r}")
            self.rest = self.rest[binder.end() :]
            self.need("=")
            low = self.total()
            self.need("}")
            self.need("^")
            high = self.group()
            self.names.setdefault(binder[0], []).append(binder[0])
            body = self.power()  # in brackets
            self.names[binder[0]].pop()
            return _sum_over(body, binder[0], low, high)
        return self.name()

    def name(self) -> Meaning:
        found = re.match(
            r"[A-Za-z](?:_\{\d+\})?|\\(?:mathrm|mbox)\{((?:\\[{}_%$#&]|\\text\w+\{\}|[^{}\\])*)\}", self.rest
        )
        if found is None:
            raise Unreadable(f"no name at {self.rest[:40]!r}")
        self.rest = self.rest[found.end() :]
        meant = self.names.get(found[0], [])
        if len(meant) != 1:
            raise Unreadable(f"{found[0]!r} may be any of {meant}")
        return _name(meant[0])


def _plain_name(name: str) -> str:
    """How a name looks in mathematics, as one would set it by hand."""
    single = re.fullmatch(r"([A-Za-z])(?:_(\d+))?", name)
    if single is not None:
        return single[1] if single[2] is None else f"{single[1]}_{{{single[2]}}}"
    marks = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    shown = name if len(name) <= 60 else f"{name[:60]}...{crc32(name.encode()):x}"
    safe = "".join(marks.get(c, "\\" + c if c in "{}_%$#&" else c) for c in shown)
    return rf"\mathrm{{{safe}}}" if safe.isascii() else rf"\mbox{{{safe}}}"


def of_latex(text: str, values: Values) -> Fraction:
    r"""The value of a formula in LaTeX.

    >>> of_latex(r"\frac{n \left(n + 1\right)}{2}", {"n": 9}), of_latex("3 2^{n}", {"n": 1})
    (Fraction(45, 1), Fraction(32, 1))
    """
    reader = _Latex(text, list(values))
    found = reader.total()
    reader._skip()
    if reader.rest:
        raise Unreadable(f"{reader.rest[:40]!r} is left")
    return _at(found, values)


# ---- MathML ------------------------------------------------------------------------------------

_TIMES, _MINUS = "\u2062", "\u2212"


class _MathML:
    """Mathematics as a browser sets it: a sign that is not seen does not part two numbers."""

    def __init__(self, children: list[Element]) -> None:
        self.children, self.place = children, 0

    def sign(self) -> str:
        one = self.children[self.place] if self.place < len(self.children) else None
        return (one.text or "") if one is not None and one.tag == "mo" else ""

    def take(self, sign: str) -> bool:
        if self.sign() == sign:
            self.place += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise Unreadable(f"no {sign!r} in a row")

    def total(self) -> Meaning:
        parts = [(-1 if self.take(_MINUS) else 1, self.product())]
        while self.sign() in ("+", _MINUS) and self.sign():
            sign = 1 if self.take("+") else -1
            sign == 1 or self.need(_MINUS)
            parts.append((sign, self.product()))
        return _sum(parts)

    def product(self) -> Meaning:
        parts = [self.operand()]
        while True:
            if self.take(_TIMES):
                before, after = self.children[self.place - 2], self.children[self.place]
                if _ends_in_digit(before) and _begins_with_digit(after):
                    raise Unreadable("two numbers side by side look like one")
            elif not (self.take("\u22c5") or self.take("\u00d7")):
                return _product(parts)
            parts.append(self.operand())

    def operand(self) -> Meaning:
        if self.place >= len(self.children):
            raise Unreadable("a row ends too early")
        if self.take("("):
            found = self.total()
            self.need(")")
            return found
        one = self.children[self.place]
        self.place += 1
        return _element(one)


def _ends_in_digit(one: Element) -> bool:
    return one.tag == "mn"


def _begins_with_digit(one: Element) -> bool:
    return one.tag == "mn" or (
        one.tag in ("msup", "mrow", "msub") and len(one) > 0 and _begins_with_digit(one[0])
    )


def _row(children: list[Element]) -> Meaning:
    reader = _MathML(children)
    found = reader.total()
    if reader.place != len(children):
        raise Unreadable(f"{children[reader.place].tag} is left in a row")
    return found


def _element(one: Element) -> Meaning:
    parts = list(one)
    match one.tag:
        case "mn":
            return _number(Fraction(one.text or ""))
        case "mi":
            return _name(one.text or "")
        case "msub":
            return _name(f"{parts[0].text}_{parts[1].text}")
        case "mfrac":
            return _quotient(_row(list(parts[0])), _row(list(parts[1])))
        case "msup":
            return _power(_element(parts[0]), _element(parts[1]))
        case "mrow":
            return _mrow(parts)
    raise Unreadable(f"an element {one.tag}")


def _mrow(parts: list[Element]) -> Meaning:
    first, last = parts[0], parts[-1]
    if first.tag == "mo" and first.text == "\u230a" and last.text == "\u230b":
        return _floor(_row(parts[1:-1]))
    if first.tag == "mo" and first.text == "\u2308" and last.text == "\u2309":
        log = parts[1]
        if log.tag != "msub" or [one.text for one in log] != ["log", "2"]:
            raise Unreadable("something else than a logarithm is rounded up")
        return _log2_up(_row(parts[2:-1]))
    if first.tag == "mi" and first.text in ("max", "min") and len(parts) > 2 and parts[1].text == "(":
        inside = [_row(part) for part in _split(parts[2:-1])]
        return _largest(inside) if first.text == "max" else _least(inside)
    if first.tag == "munderover":
        start = list(first[1])
        binder = start[0].text or ""
        return _sum_over(_element(parts[1]), binder, _row(start[2:]), _row(list(first[2])))
    return _row(parts)


def _split(parts: list[Element]) -> Iterator[list[Element]]:
    """What stands between commas."""
    found: list[Element] = []
    for part in parts:
        if part.tag == "mo" and part.text == ",":
            yield found
            found = []
        else:
            found.append(part)
    yield found


def of_mathml(text: str, values: Values) -> Fraction:
    """The value of a ``math`` element.

    >>> of_mathml("<math><mn>2</mn><mo>&#x2062;</mo><mi>n</mi></math>", {"n": 4})
    Fraction(8, 1)
    """
    root = fromstring(text)
    if root.tag != "math":
        raise Unreadable(f"an element {root.tag}")
    return _at(_row(list(root)), values)
