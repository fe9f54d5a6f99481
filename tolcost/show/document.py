"""Documents as data: headings, facts, figures, tables and lines, which each format writes in its own way.

Cells keep their types: text, code, closed forms, numbers.  Equal documents give equal bytes, and no cell can
become markup, a formula of a spreadsheet or a command.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Literal, Self, TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ONE,
    ZERO,
    AlgebraBudget,
    Generator,
    Poly,
    Symbol,
    UnboundSymbol,
    atom,
    display_names,
    evaluate,
    factored,
    product_of,
    substitute,
    to_latex,
    to_mathml,
    to_text,
)
from tolcost.algebra.printers import Factored, mathml_fraction
from tolcost.cost.device import Duration, added
from tolcost.cost.record import FormRatio
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed

# === The values of a report: closed forms and numbers, at a point, as text and as LaTeX.
#
# A form is exact.  A quotient is shown in lowest terms, as far as factors are easily found, and a
# number is shown as a decimal only if that is exact.


Formula: TypeAlias = Poly | Depth | FormRatio | Weighed | Duration
Form: TypeAlias = Formula | int | Fraction
Valuation: TypeAlias = Mapping[Symbol, int]

_MOST_BITS = 12_000
"""Python refuses to write integers with more than 4,300 digits; these are 3,613."""
_MOST_PLACES = 9
"""The most decimal places of an exact decimal; a number that needs more is shown as a quotient."""
_SUM = re.compile(r" [+-] |/")
_WORD = re.compile(r"[A-Za-z0-9_]+\Z")
_QUOTED = re.compile(r"`(?:\\.|[^`\\])*`")


def form_at(form: Form, values: Valuation) -> Form | None:
    """Evaluate a form at a point: a number if every symbol has a value; None if a denominator is 0.

    >>> from tolcost.algebra import length, the_symbol
    >>> n, m = length("n"), length("m")
    >>> form_at(n * m + 1, {the_symbol(n): 3}), form_at(n * n, {the_symbol(n): 3})
    (3*m + 1, 9)
    """
    if isinstance(form, int | Fraction):
        return form
    try:
        return evaluate(form, values) if isinstance(form, Poly) else form.at(values)
    except UnboundSymbol:
        return _partly(form, values)


def _partly(form: Formula, values: Valuation) -> Form:
    """Substitute the numbers of the point, where some symbols have none."""
    found = form_in(form, values)
    known = found.constant if isinstance(found, Poly) else None
    return found if known is None else known  # the rest cancelled


def form_in(form: Form, values: Mapping[Symbol, int] | Mapping[Symbol, Poly]) -> Form:
    """Substitute numbers or forms for symbols of a form.

    >>> from tolcost.algebra import length, the_symbol
    >>> n, m = length("n"), length("m")
    >>> text_of(form_in(FormRatio(n + m, n), {the_symbol(n): 2 * m}))
    '3/2'
    """
    match form:
        case Poly():
            return substitute(form, values)
        case Depth():
            return _depth(form, values)
        case FormRatio(numerator=top, denominator=bottom):
            below = _depth(bottom, values) if isinstance(bottom, Depth) else substitute(bottom, values)
            return FormRatio(substitute(top, values), below)
        case Weighed():
            return _weighed(form, values)
        case Duration(constant=constant, terms=terms):
            put = [(n, [_weighed(one, values) for one in candidates]) for n, candidates in terms]
            return added(constant, put)
        case _:
            return form


def _weighed(form: Weighed, values: Mapping[Symbol, int] | Mapping[Symbol, Poly]) -> Weighed:
    return replace(form, numerator=substitute(form.numerator, values))


def _depth(form: Depth, values: Mapping[Symbol, int] | Mapping[Symbol, Poly]) -> Depth:
    return Depth(tuple(substitute(candidate, values) for candidate in form.candidates), form.exact)


def symbols_in(form: Form | None) -> frozenset[Symbol]:
    """Return the symbols in a form."""
    match form:
        case Poly():
            return form.free
        case Depth(candidates=candidates):
            return frozenset().union(*(one.free for one in candidates))
        case FormRatio(numerator=top, denominator=bottom):
            return top.free | symbols_in(bottom)
        case Weighed(numerator=top):
            return top.free
        case Duration(terms=terms):
            return frozenset().union(*(one.numerator.free for _, candidates in terms for one in candidates))
        case _:
            return frozenset()


def text_of(form: Form, grouped: bool = False) -> str:
    """Write a form as text; ``grouped`` puts commas between the thousands of a number.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> text_of(FormRatio(8 * n * n, 4 * n * n + 4 * n)), text_of(10**6, grouped=True)
    ('2*n/(n + 1)', '1,000,000')
    >>> text_of(Fraction(64, 3)), text_of(Fraction(-37, 10))
    ('64/3', '-3.7')
    """
    match form:
        case int():
            return _digits(form, grouped)
        case Fraction():
            return _fraction(form, grouped)
        case Poly():
            known = form.constant
            return to_text(form) if known is None else _digits(known, grouped)
        case Depth() if grouped and str(form).isdecimal():
            return f"{int(str(form)):,}"
        case Depth() | Duration():
            return str(form)
        case Weighed():
            return to_text(form.poly)
        case FormRatio():
            return _ratio_text(form, grouped)


def _digits(value: int, grouped: bool) -> str:
    if value.bit_length() > _MOST_BITS:
        raise AlgebraBudget(f"a number has {value.bit_length():,} bits")
    return f"{value:,}" if grouped else str(value)


def _ratio_text(ratio: FormRatio, grouped: bool) -> str:
    top, bottom = lowest(ratio)
    over = text_of(top, grouped)
    if isinstance(bottom, Poly) and bottom == 1:
        return over
    under = text_of(bottom, grouped)
    return f"{_bracketed(over)}/{under if _is_one_thing(under) else f'({under})'}"


def _is_one_thing(text: str) -> bool:
    """Whether a text is a word, a number, or a single call, and so needs no brackets as a denominator.

    >>> _is_one_thing("1,000,001"), _is_one_thing("Max(m, n)"), _is_one_thing("n + 1")
    (True, True, False)
    """
    called = text.endswith(")") and _WORD.match(_outside(text))
    return bool(called or _WORD.match(text.replace(",", "")))


def _outside(text: str) -> str:
    """Remove bracketed parts from a text; quoted names go first, because they may contain brackets."""
    text = _QUOTED.sub("x", text)
    while (inner := re.sub(r"\([^()]*\)", "", text)) != text:
        text = inner
    return text


def _bracketed(text: str) -> str:
    """Put brackets around a sum or a quotient, unless it has brackets already."""
    return f"({text})" if _SUM.search(_outside(text)) else text


def lowest(ratio: FormRatio) -> tuple[Poly, Poly | Depth]:
    """Cancel the factors that the two sides of a quotient visibly share: numbers, lengths and polynomials.

    Where a cancelled factor is 0, both sides are 0 and the quotient has no value; ``FormRatio.at``, which
    uses the original sides, returns None there.

    >>> from tolcost.algebra import length
    >>> a, n = length("a"), length("n")
    >>> lowest(FormRatio(10 * n - a, 14 * n + 2)), lowest(FormRatio((n - a) * n, (n - a) * a))
    ((10*n - a, 14*n + 2), (n, a))
    """
    below = _only(ratio.denominator)
    if ratio.numerator == 0:
        return ZERO, ONE
    if below is None or below == 0:
        return ratio.numerator, ratio.denominator
    top, bottom = factored(ratio.numerator), factored(below)
    number = Fraction(top.number * bottom.den, top.den * bottom.number)
    shared = Counter(top.monomial) & Counter(bottom.monomial)
    common = Counter(dict(top.factors)) & Counter(dict(bottom.factors))
    over = _rest(top, shared, common) * (abs(number.numerator) if top.number > 0 else -abs(number.numerator))
    under = _rest(bottom, shared, common) * (number.denominator if bottom.number > 0 else -number.denominator)
    turned = max(under.terms.values()) < 0  # a cancelled factor was negative
    return (-over, -under) if turned else (over, under)


def _only(form: Poly | Depth) -> Poly | None:
    """Return a form as a single polynomial, if it is one."""
    if isinstance(form, Poly):
        return form
    return form.candidates[0] if len(form.candidates) == 1 else None


def _rest(split: Factored, shared: Counter[Generator], common: Counter[Poly]) -> Poly:
    generators = Counter(split.monomial)
    generators.subtract(shared)
    factors = Counter(dict(split.factors))
    factors.subtract(common)
    powers = (factor**times for factor, times in factors.items())
    return product_of((*(atom(g) ** times for g, times in generators.items()), *powers))


def _fraction(value: Fraction, grouped: bool) -> str:
    """Write a number as an exact decimal, or as a quotient if no short decimal is exact."""
    places = next((n for n in range(_MOST_PLACES + 1) if 10**n % value.denominator == 0), None)
    if places is None:
        return f"{_digits(value.numerator, grouped)}/{_digits(value.denominator, grouped)}"
    whole, rest = divmod(abs(value.numerator) * 10**places // value.denominator, 10**places)
    minus = "-" if value < 0 else ""
    return f"{minus}{_digits(whole, grouped)}" + (f".{rest:0{places}}" if places else "")


def latex_of(form: Form) -> str:
    r"""Write a form as LaTeX for math mode.

    >>> from tolcost.algebra import length
    >>> print(latex_of(FormRatio(length("n"), length("m"))))
    \frac{n}{m}
    """
    match form:
        case int():
            return to_latex(form)
        case Fraction(numerator=top, denominator=bottom):
            text = text_of(form)
            return text if "/" not in text else rf"\frac{{{top}}}{{{bottom}}}"
        case Poly():
            return to_latex(form)
        case Weighed():
            return to_latex(form.poly)
        case Depth():
            return _largest_latex(form.candidates)
        case Duration(constant=constant, terms=terms):
            parts = [_times_latex(n, [one.poly for one in candidates]) for n, candidates in terms]
            return " + ".join([*([latex_of(constant)] if constant or not parts else []), *parts])
        case FormRatio():
            top_poly, below = lowest(form)
            if isinstance(below, Poly) and below == 1:
                return to_latex(top_poly)
            return rf"\frac{{{to_latex(top_poly)}}}{{{latex_of(below)}}}"


def _times_latex(times: int, candidates: Sequence[Poly]) -> str:
    """Write a multiple of the largest of some forms, with a dot or brackets to separate two numbers."""
    largest = _largest_latex(candidates)
    if times == 1:
        return largest
    return rf"{times} \cdot {largest}" if len(candidates) > 1 else rf"{times} \left({largest}\right)"


def _largest_latex(candidates: Sequence[Poly]) -> str:
    texts = [to_latex(candidate) for candidate in candidates]
    return texts[0] if len(texts) == 1 else rf"\max\left({', '.join(texts)}\right)"


def has_mathml(form: Form) -> TypeGuard[Poly | Depth | FormRatio]:
    """Whether a form can be written as MathML: the largest of several forms cannot."""
    below = form.denominator if isinstance(form, FormRatio) else form
    return isinstance(below, Poly | Depth) and _only(below) is not None


def mathml_of(form: Poly | Depth | FormRatio) -> str:
    """Write a form as a ``math`` element, for browsers.

    >>> from tolcost.algebra import length
    >>> print(mathml_of(2 * length("n")))
    <math><mn>2</mn><mo>&#x2062;</mo><mi>n</mi></math>
    """
    single = form if isinstance(form, FormRatio) else _only(form)
    if isinstance(single, Poly):
        return f"<math>{to_mathml(single)}</math>"
    top, bottom = (None, None) if single is None else lowest(single)
    if top is None or not isinstance(bottom, Poly):
        raise TypeError("the largest of several forms has no MathML")
    names = display_names(top.free | bottom.free)
    if bottom == 1:
        return f"<math>{to_mathml(top, names)}</math>"
    return f"<math>{mathml_fraction(to_mathml(top, names), to_mathml(bottom, names))}</math>"


# === Documents.


CellKind: TypeAlias = Literal["text", "code", "form", "number"]
LONGEST = 160
"""The longest closed form in characters: people see a longer form cut, and the CSV has all of it."""
UNKNOWN = "not known"


class Code(Struct, frozen=True, eq=False):
    """A piece of a program or a command line; line breaks are kept."""

    text: str


class Link(Struct, frozen=True, eq=False):
    """A text that leads to a file, by its path relative to the file that shows it."""

    text: str
    to: str


class Bar(Struct, frozen=True, eq=False):
    """A bar for a value in relation to the largest value, on a logarithmic scale."""

    value: int | None
    most: int | None


class ShortForm(Code, frozen=True, eq=False):
    """A closed form as code at its usual length; text for a terminal writes as much of ``form`` as fits."""

    form: Formula | str


class Verdict(str):
    """A word that is good news, bad news, or neither (None); formats with colours show the difference.

    Text for a terminal draws a bar for ``share``, a number of at most 1.
    """

    good: bool | None
    share: float | None

    def __new__(cls, text: str, good: bool | None = None, share: float | None = None) -> Self:
        """Make a text that also carries the kind of news."""
        made = super().__new__(cls, text)
        made.good = good
        made.share = share
        return made


class Caution(Verdict):
    """A word that something is a bound, undecided or not known, and so no exact figure."""


class Remark(str):
    """A remark after a figure; if there is little room, only the part ``kept`` is shown."""

    kept: str

    def __new__(cls, text: str, kept: str) -> Remark:
        """Make a text that also carries its short form."""
        made = super().__new__(cls, text)
        made.kept = kept
        return made


Cell: TypeAlias = str | Code | Link | Bar | Form | None


class Column(Struct, frozen=True, eq=False):
    """A column: its key in data, its title for people, and the kind of its cells."""

    key: str
    title: str
    kind: CellKind = "text"
    shown: bool = True
    """Whether people see the column; the CSV has every column."""
    printed: bool = True
    """Whether Markdown has the column, where the width of a page is limited."""
    width: int | None = None
    """The longest line of code in Markdown: a longer one is broken."""
    group: str = ""
    """The title of the column of Markdown that has the cells of all columns with this group below each other.

    Each is labelled with its own title, less that of the group.
    """
    drop: int = 0
    """Which column is left out where a terminal is too narrow: 1 is the first, 0 never."""
    is_name: bool = False
    """Whether its cells are names, which are shortened from their beginnings; first columns always are."""


class ReportTable(Struct, frozen=True, eq=False):
    """A table, with an optional title, a text about it, and the command that produces its figures.

    Markdown gives each value of the column ``by`` a part of its own; ``notes`` are numbered below the table.
    """

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    name: str = ""
    title: str = ""
    about: str = ""
    command: str = ""
    by: str = ""
    entries: bool = False
    """Whether Markdown has an entry for each row instead of a table, because the cells are long."""
    notes: tuple[tuple[Cell, ...], ...] = ()

    @property
    def shown(self) -> tuple[tuple[int, Column], ...]:
        """The columns that people see, with their places."""
        return tuple((n, column) for n, column in enumerate(self.columns) if column.shown)


class Heading(Struct, frozen=True, eq=False):
    """The title of a document, with the file that it comes from as a remark."""

    text: str
    remark: str = ""


class Fact(Struct, frozen=True, eq=False):
    """A label with a value; without a value, the label is a heading for the facts one level deeper."""

    label: str
    value: str | Code = ""
    remark: str = ""
    level: int = 0


class Facts(Struct, frozen=True, eq=False):
    """A group of facts, which formats show together."""

    rows: tuple[Fact, ...]


class FigureRow(Struct, frozen=True, eq=False):
    """A figure: its closed form, and its value at the point; ``headed`` is False for a mere label."""

    label: str
    form: Form | None
    value: Form | None = None
    unit: str = ""
    level: int = 0
    strong: bool = False
    headed: bool = True
    general: bool = False
    """Whether the row is about the closed form only; then only text shows it, and not at a point."""


class FigureList(Struct, frozen=True, eq=False):
    """Figures: as closed forms if ``forms`` is set, and at the point that ``at`` names, if there is one.

    ``column`` is a short name of the point, for the title of a column.
    """

    title: str
    rows: tuple[FigureRow, ...]
    forms: bool
    at: str | None = None
    column: str = ""
    wrapped: bool = False
    """Whether long closed forms are broken into lines, and very long ones cut."""

    @property
    def titles(self) -> list[str]:
        """The titles of the columns with figures."""
        return [*(["closed form"] if self.forms else []), *([self.column] if self.at is not None else [])]

    def cells(self, row: FigureRow) -> list[Form | None]:
        """Return the cells of a row in these columns."""
        return [*([row.form] if self.forms else []), *([row.value] if self.at is not None else [])]


class Lines(Struct, frozen=True, eq=False):
    """Sentences, one per line."""

    rows: tuple[str, ...]


class MoreNote(Lines, frozen=True, eq=False):
    """Sentences, the last of which says where to find the rest of what was shortened.

    Text shows ``always``, and ``note`` if something was shortened: more or less may fit a terminal.
    """

    always: tuple[str, ...] = ()
    note: str = ""


Section: TypeAlias = Heading | Facts | FigureList | ReportTable | Lines
Document: TypeAlias = tuple[Section, ...]


def plain(cell: Cell) -> str:
    """Return a cell as bare text.

    >>> plain(Fraction(3, 2)), plain(None), plain(Code("map(t,exp)"))
    ('1.5', '', 'map(t,exp)')
    """
    match cell:
        case None | Bar():
            return ""
        case str():
            return cell
        case Code(text=text) | Link(text=text):
            return text
        case _:
            return text_of(cell)


def cell_text(
    cell: Cell,
    text: Callable[[str], str],
    code: Callable[[str], str],
    form: Callable[[Formula], str],
    grouped: bool = True,
    link: Callable[[Link], str] = lambda link: link.text,
) -> str:
    """Write a cell with a format's functions for text, code and formulas; all formats share numbers."""
    match cell:
        case None | Bar():
            return ""
        case str():
            return text(cell)
        case Code(text=written):
            return code(written)
        case Link():
            return link(cell)
        case Fraction():
            return rounded(cell)
        case int():
            return text_of(cell, grouped)
        case _:
            return form(cell)


def rounded(value: Fraction, digits: int = 4) -> str:
    """Round a number to a few significant digits; integers stay exact.

    >>> rounded(Fraction(1, 3)), rounded(Fraction(5, 4)), rounded(Fraction(123456, 7))
    ('0.3333', '1.25', '17640')
    """
    if value.denominator == 1:
        return str(value.numerator)
    if abs(value) >= 10**digits:
        return str(round(value, digits - 1 - len(str(int(abs(value)))) + 1).numerator)
    return f"{float(value):.{digits}g}"


def lengths_text(lengths: Iterable[tuple[str | Symbol, int]]) -> str:
    """Write lengths as people read them.

    >>> lengths_text([("n", 4096), ("m", 2)])
    'n = 4,096, m = 2'
    """
    named = ((one.name if isinstance(one, Symbol) else one, value) for one, value in lengths)
    return ", ".join(f"{name} = {value:,}" for name, value in named)


def cut(text: str, longest: int = LONGEST, mark: str = " …") -> str:
    """Shorten a text that is too long to be read, with a mark where it is cut.

    >>> cut("n + 1"), len(cut("n*" * 100, 72))
    ('n + 1', 72)
    """
    return text if len(text) <= longest else text[: longest - len(mark)] + mark


# --- Formats

WRITERS = {
    "text": "tolcost.show.text:text",
    "md": "tolcost.show.tables:markdown",
    "latex": "tolcost.show.latex:latex",
    "fragment": "tolcost.show.fragment:fragment",
}
"""The function that writes a document in each format; ``analyze`` and ``model`` offer every row."""
_INNER = ("fragment",)
"""Formats that are parts of others, and that no option offers."""


def document_formats() -> tuple[str, ...]:
    """The formats that an option may offer, in the order of the table."""
    return tuple(form for form in WRITERS if form not in _INNER)


def write(document: Document, form: str, colour: bool = False, width: int | None = None) -> str:
    """Write a document in a format, text at most ``width`` columns wide; only that writer is loaded."""
    module, _, name = WRITERS[form].partition(":")
    writer: Callable[..., str] = getattr(import_module(module), name)
    return writer(document, colour, width) if form == "text" else writer(document)


# === JSON, the contract with scripts: version 1.
#
# Closed forms are text.  A number that a double cannot hold exactly is text, too, and an unknown value is
# null: never 0, never NaN.


VERSION = 1
LARGEST_EXACT = 2**53
"""Up to this magnitude a double holds every integer."""

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


def document(kind: str, content: Mapping[str, Json]) -> str:
    """Write a JSON document of the contract: its version, its kind, its content."""
    return json.dumps({"tolcost": VERSION, "kind": kind, **content}, indent=2, allow_nan=False) + "\n"


def number(value: int | Fraction) -> Json:
    """Return an exact number for JSON: as a number if a double holds it exactly, else as text.

    >>> number(2**53), number(2**53 + 1), number(Fraction(1, 4))
    (9007199254740992, '9007199254740993', '0.25')
    """
    if isinstance(value, Fraction):
        return number(value.numerator) if value.denominator == 1 else text_of(value)
    return value if abs(value) <= LARGEST_EXACT else text_of(value)
