"""What is shown, as data: headings, facts, figures, tables and lines, for each format to write its own way.

Cells keep what they are: text, code, closed forms, numbers.  The same document always gives the same
bytes, and no cell can become markup, a formula of a spreadsheet or a command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from tolcost.dataclass import dataclass
from tolcost.show.forms import Form, Formula, text_of

CellKind: TypeAlias = Literal["text", "code", "form", "number"]
LONGEST = 160
"""A longer closed form is cut in what people read; the CSV has all of it."""
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A piece of a program or a command line; lines are kept apart."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Bar:
    """How much something is of the most there is, on a logarithmic scale."""

    value: int | None
    most: int | None


class Verdict(str):
    """A word that is good news, bad news, or (None) neither; formats that have colours show it."""

    good: bool | None

    def __new__(cls, text: str, good: bool | None = None) -> Verdict:
        """A verdict is its text; what kind of news it is comes along."""
        made = super().__new__(cls, text)
        made.good = good
        return made


Cell: TypeAlias = str | Code | Bar | Form | None


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column: its key in data, its title for people, and what it holds."""

    key: str
    title: str
    kind: CellKind = "text"
    shown: bool = True
    """Whether people see it; the CSV has every column."""
    printed: bool = True
    """Whether it is set in LaTeX, where a page is only so wide."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportTable:
    """A table, perhaps under a title, with what it is about and the command that makes its figures."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    name: str = ""
    title: str = ""
    about: str = ""
    command: str = ""

    @property
    def shown(self) -> tuple[tuple[int, Column], ...]:
        """The columns that people see, with their places."""
        return tuple((n, column) for n, column in enumerate(self.columns) if column.shown)


@dataclass(frozen=True, slots=True, eq=False)
class Heading:
    """What a document is about, and the file it comes from."""

    text: str
    remark: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """Something said under a label; one without a value is a heading for those a level further in."""

    label: str
    value: str | Code = ""
    remark: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Facts that stand together."""

    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FigureRow:
    """A figure: its closed form, and its value at the point; ``headed`` is False for a mere heading."""

    label: str
    form: Form | None
    value: Form | None = None
    unit: str = ""
    level: int = 0
    strong: bool = False
    headed: bool = True
    general: bool = False
    """Whether it is only about the closed form."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureList:
    """Figures: in closed form if ``forms``, and at the point that ``at`` names, if there is one.

    ``column`` names the point where there is little room.
    """

    title: str
    rows: tuple[FigureRow, ...]
    forms: bool
    at: str | None = None
    column: str = ""
    wrapped: bool = False
    """Whether long closed forms are broken, and very long ones cut."""

    @property
    def titles(self) -> list[str]:
        """What the columns of a table of them are called."""
        return [*(["closed form"] if self.forms else []), *([self.column] if self.at is not None else [])]

    def cells(self, row: FigureRow) -> list[Form | None]:
        """What stands in these columns."""
        return [*([row.form] if self.forms else []), *([row.value] if self.at is not None else [])]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Sentences, one a line."""

    rows: tuple[str, ...]


Section: TypeAlias = Heading | Facts | FigureList | ReportTable | Lines
Document: TypeAlias = tuple[Section, ...]


def plain(cell: Cell) -> str:
    """Give a cell as bare text.

    >>> plain(Fraction(3, 2)), plain(None), plain(Code("map(t,exp)"))
    ('1.5', '', 'map(t,exp)')
    """
    match cell:
        case None | Bar():
            return ""
        case str():
            return cell
        case Code(text=text):
            return text
        case _:
            return text_of(cell)


def cell_text(
    cell: Cell,
    text: Callable[[str], str],
    code: Callable[[str], str],
    form: Callable[[Formula], str],
    grouped: bool = True,
) -> str:
    """Give a cell by how a format writes text, code and formulas; numbers are the same in all of them."""
    match cell:
        case None | Bar():
            return ""
        case str():
            return text(cell)
        case Code(text=written):
            return code(written)
        case Fraction():
            return rounded(cell)
        case int():
            return text_of(cell, grouped)
        case _:
            return form(cell)


def rounded(value: Fraction, digits: int = 4) -> str:
    """Give a number to a few significant digits, marked where that is not all of it.

    >>> rounded(Fraction(1, 3)), rounded(Fraction(5, 4)), rounded(Fraction(123456, 7))
    ('0.3333', '1.25', '17640')
    """
    if value.denominator == 1:
        return str(value.numerator)
    if abs(value) >= 10**digits:
        return str(round(value, digits - 1 - len(str(int(abs(value)))) + 1).numerator)
    return f"{float(value):.{digits}g}"


def cut(text: str, longest: int = LONGEST) -> str:
    """Shorten what is too long to be read, visibly.

    >>> cut("n + 1"), len(cut("n*" * 100, 72))
    ('n + 1', 72)
    """
    return text if len(text) <= longest else text[: longest - 2] + " …"
