"""Formulas in writing: text that ``parse`` reads back, LaTeX, MathML, and trees for a browser's script.

Each printer is a walk over the tree of ``display``.  Text takes the shorter of sum and product; LaTeX
and MathML take the product where there is one; a browser computes, so it takes the sum.  Names that are
not plain words are quoted in text with backquotes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.display import (
    ClipCall,
    Factors,
    FloorCall,
    LogCall,
    PowerCall,
    ShownFormula,
    ShownName,
    ShownOperand,
    SignedTerm,
    SumCall,
    Total,
    display_names,
    formula,
    product_formula,
)
from tolcost.algebra.poly import UNIT, Poly, as_poly, define_text, scale, the_symbol
from tolcost.algebra.symbols import AlgebraBudget, Symbol
from tolcost.diagnostics import visible

BrowserTree: TypeAlias = "bool | int | str | list[BrowserTree] | dict[str, BrowserTree] | None"
"""JSON that a script in a page evaluates; see ``to_browser``."""

RESERVED = frozenset(("floor", "ceiling", "Min", "Max", "Sum", "Piecewise", "and", "or", "not"))
MAX_DIGITS = 4_000
_MAX_NAME = 60
_LARGEST_EXACT = 2**53
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TIGHT = re.compile(r"[A-Za-z0-9_]+(\*\*[0-9]+)?")
_LETTER = re.compile(r"([A-Za-z])(?:_?([0-9]+))?")
_WORD = re.compile(r"([A-Za-z][A-Za-z]*)(?:_([0-9]+))?")
_MINUS = "<mo>&#x2212;</mo>"
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: "\\" + c for c in "{}_%$#&"},
}


def to_text(p: Poly | int, names: Mapping[Symbol, str] | None = None) -> str:
    """Give the text form: the shorter of sum and product.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> to_text(n * (n + 1) // 2), to_text(2 * n + 4), to_text((n + 1) // 2 - m)
    ('n*(n + 1)/2', '2*n + 4', 'floor((n + 1)/2) - m')
    """
    return _Text().formula(formula(as_poly(p), names))


define_text(to_text)


def to_words(p: Poly) -> str:
    """Give the text form for a message that quotes it: a symbol alone is its name, whatever that is.

    >>> from tolcost.algebra.poly import length
    >>> to_text(length("x[0]")), to_words(length("x[0]")), to_words(length("x[0]") + 1)
    ('`x[0]`', 'x[0]', '`x[0]` + 1')
    """
    try:
        return the_symbol(p).name
    except ValueError:
        return to_text(p)


def factor_text(p: Poly | int) -> str:
    """Give the text form as a product."""
    return _Text().factors(product_formula(as_poly(p)))


def to_latex(p: Poly | int) -> str:
    r"""Give LaTeX for math mode; only for reading.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> print(to_latex((n * n + n) // 2))
    \frac{n \left(n + 1\right)}{2}
    """
    return _Latex().formula(formula(as_poly(p)))


def to_mathml(p: Poly | int, names: Mapping[Symbol, str] | None = None) -> str:
    """Give the inside of a ``math`` element; only for reading.

    >>> from tolcost.algebra.poly import length
    >>> to_mathml(length("n") + 1)
    '<mi>n</mi><mo>+</mo><mn>1</mn>'
    """
    return _MathML().formula(formula(as_poly(p), names))


def to_browser(p: Poly | int) -> BrowserTree:
    """Give a small tree of JSON that a few lines of script evaluate exactly.

    number            3, or "3" where it is large
    symbol            {"v": "n"}
    sum, product      ["+", a, b, ...]    ["*", a, b, ...]
    exact quotient    ["/", a, 2]
    floor of a / b    ["f", a, b]
    larger of a and 0 ["m", a]
    logarithm         ["l", a]            to base 2, rounded up
    power             ["p", 2, a]         of a number
    sum over i        ["s", body, "i", low, high]

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> to_browser(2 * n), to_browser((n + 1) // 2)
    (['*', 2, {'v': 'n'}], ['f', ['+', {'v': 'n'}, 1], 2])
    """
    return _browser(formula(as_poly(p)))


def cond_text(cond: Cond, names: Mapping[Symbol, str] | None = None) -> str:
    """Give a condition for reading, with its constant on the right.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> cond_text(ge(length("n") - 5))
    'n >= 5'
    """
    match cond:
        case Truth(value=value):
            return "true" if value else "false"
        case Ge(p=p):
            return _comparison(p, ">=", "<=", names)
        case Eq(p=p):
            return _comparison(p, "==", "==", names)
        case Not(part=Eq(p=p)):
            return _comparison(p, "!=", "!=", names)
        case Not(part=part):
            return f"not ({cond_text(part, names)})"
        case And(parts=parts):
            return " and ".join(_bracketed(part, names) for part in parts)
        case Or(parts=parts):
            return " or ".join(_bracketed(part, names) for part in parts)


def _bracketed(cond: Cond, names: Mapping[Symbol, str] | None) -> str:
    text = cond_text(cond, names)
    return f"({text})" if isinstance(cond, (And, Or)) else text


def _comparison(p: Poly, sign: str, reverse: str, names: Mapping[Symbol, str] | None) -> str:
    """Keep positive terms on the left and move the others, so that no minus is shown."""
    given = display_names(p.free) if names is None else names
    value = scale(p, p.den)
    offset = value.terms.get(UNIT, 0)
    plus = Poly({mono: coef for mono, coef in value.terms.items() if mono and coef > 0})
    minus = Poly({mono: -coef for mono, coef in value.terms.items() if mono and coef < 0})
    if not plus.terms:
        return f"{to_text(minus, given)} {reverse} {_digits(offset)}"
    return f"{to_text(plus, given)} {sign} {to_text(minus - offset, given)}"


def quoted(name: str) -> str:
    """Write a name so that it reads back as itself."""
    if _PLAIN.match(name) and name not in RESERVED:
        return name
    return "`" + "".join(_escaped(c) for c in name) + "`"


def _escaped(character: str) -> str:
    if character in "\\`":
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{{{ord(character):x}}}"


def _digits(value: int) -> str:
    if value.bit_length() > 3 * MAX_DIGITS:
        raise AlgebraBudget(f"a number has more than {MAX_DIGITS} digits")
    return str(value)


class _Printer(ABC):
    """A walk over a tree; what differs between ways of writing is said by the classes below."""

    plus, minus, first_minus, times = " + ", " - ", "-", "*"

    def __init__(self) -> None:
        self._done: dict[ShownOperand, str] = {}

    def formula(self, shown: ShownFormula) -> str:
        """Write the product where there is one, else the sum."""
        return self.total(shown.total) if shown.product is None else self.factors(shown.product)

    def total(self, total: Total, text: str = "") -> str:
        """Write a sum, or go on with its terms."""
        for term in total.for_reading():
            if term.number < 0:
                text += self.minus if text else self.first_minus
            else:
                text += self.plus if text else ""
            parts = self._parts(abs(term.number), term.powers)
            text += self.times.join(parts or [self.digits(1)])
        return self.over(text or self.digits(0), total.den, len(total.terms))

    def factors(self, split: Factors) -> str:
        """Write a product, and what is added to it."""
        parts = self._parts(abs(split.number), split.powers)
        parts += [self.raised(self.bracket(self.formula(inside)), times) for inside, times in split.brackets]
        text = self.over(self.times.join(parts or [self.digits(1)]), split.den, 1)
        text = self.first_minus + text if split.number < 0 else text
        return text if split.rest is None else self.total(split.rest, text)

    def _parts(self, number: int, powers: tuple[tuple[ShownOperand, int], ...]) -> list[str]:
        parts = [self.digits(number)] if number != 1 else []
        for base, times in powers:
            if base not in self._done:
                self._done[base] = self.operand(base)
            text = self._done[base]
            if times > 1 and isinstance(base, SumCall):
                text = self.raisable(text)
            parts.append(self.raised(text, times))
        return parts

    def digits(self, value: int) -> str:
        """Write a number that is not negative."""
        return _digits(value)

    def bracket(self, text: str) -> str:
        """Put something in brackets."""
        return f"({text})"

    def raisable(self, text: str) -> str:
        """Write a sum over a range so that it can be raised to a power."""
        return text

    def raised(self, text: str, times: int) -> str:
        """Write a power."""
        return text if times == 1 else f"{text}**{times}"

    @abstractmethod
    def over(self, text: str, den: int, terms: int) -> str:
        """Write so many terms over a number."""

    @abstractmethod
    def operand(self, operand: ShownOperand) -> str:
        """Write a name or a call."""


class _Text(_Printer):
    def formula(self, shown: ShownFormula) -> str:
        """Write the shorter of sum and product."""
        flat = self.total(shown.total)
        product = flat if shown.product is None else self.factors(shown.product)
        return product if len(product) < len(flat) else flat

    def over(self, text: str, den: int, terms: int) -> str:
        """Write a stroke."""
        return text if den == 1 else (f"({text})" if terms > 1 else text) + f"/{_digits(den)}"

    def operand(self, operand: ShownOperand) -> str:
        """Write a call as in sympy."""
        match operand:
            case ShownName(text=name):
                return quoted(name)
            case FloorCall(top=top, bottom=bottom):
                over, under = self.formula(top), self.formula(bottom)
                under = under if _TIGHT.fullmatch(under) else f"({under})"
                return f"floor({over if ' ' not in over else f'({over})'}/{under})"
            case ClipCall(inside=inside):
                return f"Max({self.formula(inside)}, 0)"
            case LogCall(inside=inside):
                return f"ceiling(log({self.formula(inside)}, 2))"
            case PowerCall(base=base, exponent=exponent):
                raised = self.formula(exponent)
                return f"{base}**{raised if _PLAIN.match(raised) else f'({raised})'}"
            case SumCall(body=body, binder=binder, lo=lo, hi=hi):
                return f"Sum({self.formula(body)}, ({binder}, {self.formula(lo)}, {self.formula(hi)}))"


class _Latex(_Printer):
    times = " "

    def bracket(self, text: str) -> str:
        """Brackets that grow."""
        return rf"\left({text}\right)"

    raisable = bracket

    def raised(self, text: str, times: int) -> str:
        """Write an exponent."""
        return text if times == 1 else f"{text}^{{{times}}}"

    def over(self, text: str, den: int, terms: int) -> str:
        """Write a fraction, with the minus of a single term before it."""
        if den == 1:
            return text
        minus = "-" if text.startswith("-") and " " not in text else ""
        return rf"{minus}\frac{{{text[len(minus) :]}}}{{{_digits(den)}}}"

    def operand(self, operand: ShownOperand) -> str:
        """Write a call as one does by hand."""
        match operand:
            case ShownName(text=name):
                return name_latex(name)
            case FloorCall(top=top, bottom=bottom):
                return rf"\left\lfloor\frac{{{self.formula(top)}}}{{{self.formula(bottom)}}}\right\rfloor"
            case ClipCall(inside=inside):
                return rf"\max\left({self.formula(inside)}, 0\right)"
            case LogCall(inside=inside):
                return rf"\left\lceil\log_2\left({self.formula(inside)}\right)\right\rceil"
            case PowerCall(base=base, exponent=exponent):
                return f"{base}^{{{self.formula(exponent)}}}"
            case SumCall(body=body, binder=binder, lo=lo, hi=hi):
                ends = rf"\sum_{{{binder}={self.formula(lo)}}}^{{{self.formula(hi)}}}"
                return rf"{ends} \left({self.formula(body)}\right)"


def name_latex(name: str) -> str:
    r"""Set one letter, with a number as index, as a variable and anything else upright and escaped.

    >>> print(name_latex("n"), name_latex("n_2"), name_latex("batch_size"))
    n n_{2} \mathrm{batch\_size}
    >>> print(name_latex("größe"))  # mathematics has no such letters
    \mbox{größe}
    """
    simple = _LETTER.fullmatch(name)
    if simple:
        return simple[1] if simple[2] is None else f"{simple[1]}_{{{simple[2]}}}"
    shown = name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "..."
    safe = "".join(_LATEX_SPECIAL.get(c, c) if c.isprintable() else "?" for c in shown)
    return rf"\mathrm{{{safe}}}" if safe.isascii() else rf"\mbox{{{safe}}}"


class _MathML(_Printer):
    plus, minus, first_minus, times = "<mo>+</mo>", _MINUS, _MINUS, "<mo>&#x2062;</mo>"

    def digits(self, value: int) -> str:
        """Write a number."""
        return f"<mn>{_digits(value)}</mn>"

    def bracket(self, text: str) -> str:
        """Brackets around a row."""
        return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"

    def raised(self, text: str, times: int) -> str:
        """Write an exponent."""
        return text if times == 1 else f"<msup>{text}<mn>{times}</mn></msup>"

    def over(self, text: str, den: int, terms: int) -> str:
        """Write a fraction."""
        return text if den == 1 else mathml_fraction(text, self.digits(den))

    def operand(self, operand: ShownOperand) -> str:
        """Write a call as one does by hand."""
        match operand:
            case ShownName(text=name):
                return _mathml_name(name)
            case FloorCall(top=top, bottom=bottom):
                quotient = mathml_fraction(self.formula(top), self.formula(bottom))
                return f"<mrow><mo>&#x230A;</mo>{quotient}<mo>&#x230B;</mo></mrow>"
            case ClipCall(inside=inside):
                largest = f"{self.formula(inside)}<mo>,</mo><mn>0</mn>"
                return f"<mrow><mi>max</mi><mo>(</mo>{largest}<mo>)</mo></mrow>"
            case LogCall(inside=inside):
                log = f"<msub><mi>log</mi><mn>2</mn></msub><mo>(</mo>{self.formula(inside)}<mo>)</mo>"
                return f"<mrow><mo>&#x2308;</mo>{log}<mo>&#x2309;</mo></mrow>"
            case PowerCall(base=base, exponent=exponent):
                return f"<msup>{self.digits(base)}<mrow>{self.formula(exponent)}</mrow></msup>"
            case SumCall(body=body, binder=binder, lo=lo, hi=hi):
                start = f"<mrow><mi>{binder}</mi><mo>=</mo>{self.formula(lo)}</mrow>"
                ends = f"<munderover><mo>&#x2211;</mo>{start}<mrow>{self.formula(hi)}</mrow></munderover>"
                return f"<mrow>{ends}{self.bracket(self.formula(body))}</mrow>"


def mathml_fraction(top: str, bottom: str) -> str:
    """Give a fraction of two pieces of MathML."""
    return f"<mfrac><mrow>{top}</mrow><mrow>{bottom}</mrow></mfrac>"


def _mathml_name(name: str) -> str:
    simple = _WORD.fullmatch(name)
    if simple is None or simple[2] is None:
        from html import escape  # with all entities of HTML: loaded where MathML is written

        return f"<mi>{escape(visible(name))}</mi>"
    return f"<msub><mi>{simple[1]}</mi><mn>{simple[2]}</mn></msub>"


def _browser(shown: ShownFormula) -> BrowserTree:
    terms = [_browser_term(term) for term in shown.total.terms]
    total: BrowserTree = _browser_joined("+", terms) if terms else 0
    return total if shown.total.den == 1 else ["/", total, _browser_number(shown.total.den)]


def _browser_joined(sign: str, parts: list[BrowserTree]) -> BrowserTree:
    return parts[0] if len(parts) == 1 else [sign, *parts]


def _browser_term(term: SignedTerm) -> BrowserTree:
    factors: list[BrowserTree] = [_browser_number(term.number)] if term.number != 1 or not term.powers else []
    for base, times in term.powers:
        factors += [_browser_operand(base)] * times
    return _browser_joined("*", factors)


def _browser_number(value: int) -> BrowserTree:
    return value if abs(value) <= _LARGEST_EXACT else str(value)


def _browser_operand(operand: ShownOperand) -> BrowserTree:
    match operand:
        case ShownName(text=name):
            return {"v": name}
        case FloorCall(top=top, bottom=bottom):
            return ["f", _browser(top), _browser(bottom)]
        case ClipCall(inside=inside):
            return ["m", _browser(inside)]
        case SumCall(body=body, binder=binder, lo=lo, hi=hi):
            return ["s", _browser(body), binder, _browser(lo), _browser(hi)]
        case LogCall(inside=inside):
            return ["l", _browser(inside)]
        case PowerCall(base=base, exponent=exponent):
            return ["p", base, _browser(exponent)]
