r"""Write documents as LaTeX that a paper takes in by ``\input``: no preamble, and no packages are needed.

Names of files and programs are untrusted: what has a meaning in LaTeX is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tolcost.diagnostics import visible
from tolcost.show.document import (
    UNKNOWN,
    Cell,
    Code,
    Document,
    Fact,
    Facts,
    FigureList,
    Formula,
    Heading,
    Lines,
    ReportTable,
    Section,
    ShortForm,
    cell_text,
    latex_of,
)

_MEANS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_QUOTED = {sign: f"\\{sign}" for sign in "{}$&#%_"}
_SIGNS = {
    "…": r"\ldots{}",
    "→": r"$\rightarrow$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "µ": r"$\mu$",
}
_MATHS = {"<": "$<$", ">": "$>$", "|": "$|$", '"': "''"}
_ESCAPED = str.maketrans(_MEANS | _QUOTED | _SIGNS | _MATHS)


def latex(document: Document) -> str:
    r"""Write the blocks of a document, one after another.

    >>> print(latex((Heading("a_b"), Lines(("50 %",)))))
    \subsection*{a\_b}
    <BLANKLINE>
    50 \%
    <BLANKLINE>
    """
    return "\n".join(text for block in document if (text := "\n".join(_block(block)) + "\n") != "\n")


def _block(block: Section) -> Iterable[str]:
    match block:
        case Heading(text=text):
            return [f"\\subsection*{{{latex_text(text)}}}"]
        case Facts(rows=rows):
            return _facts(rows)
        case FigureList():
            return _figures(block)
        case Lines(rows=rows):
            return [latex_text(row) + (r"\\" if n < len(rows) else "") for n, row in enumerate(rows, 1)]
        case ReportTable():
            return _table(block)


def _facts(rows: Sequence[Fact]) -> Iterator[str]:
    for n, fact in enumerate(rows, 1):
        value = fact.value if isinstance(fact.value, Code) else latex_text(fact.value)
        parts = [latex_text(fact.label), value if isinstance(value, str) else _code(value.text)]
        said = f"({latex_text(fact.remark)})" if fact.remark else ""
        indent = r"\quad " * fact.level
        yield f"{indent}{' '.join(filter(None, (*parts, said)))}" + (r"\\" if n < len(rows) else "")


def _figures(found: FigureList) -> Iterator[str]:
    rows = []
    for row in (row for row in found.rows if not row.general):
        nothing = UNKNOWN if row.headed else ""
        cells = [nothing if cell is None else _cell(cell) for cell in found.cells(row)]
        rows.append([r"\quad " * row.level + latex_text(row.label), *cells, latex_text(row.unit)])
    titles = ["figure", *map(latex_text, found.titles), ""]
    kinds = ["l", *(["l"] if found.forms else []), *(["r"] if found.at is not None else []), "l"]
    yield from _tabular("".join(kinds), titles, rows)


def _table(table: ReportTable) -> Iterator[str]:
    if table.title:
        yield from (f"\\subsection*{{{latex_text(table.title)}}}", "")
    kinds = "".join("r" if column.kind == "number" else "l" for _, column in table.shown)
    titles = [latex_text(column.title) for _, column in table.shown]
    yield from _tabular(kinds, titles, ([_cell(row[n]) for n, _ in table.shown] for row in table.rows))
    for n, note in enumerate(table.notes, 1):
        yield f"\n{n}. {' '.join(map(_cell, note))}"


def _tabular(kinds: str, titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"\\begin{{tabular}}{{{kinds}}}"
    yield f"{' & '.join(titles)} \\\\ \\hline"
    yield from (f"{' & '.join(row)} \\\\" for row in rows)
    yield r"\end{tabular}"


def _cell(cell: Cell) -> str:
    if isinstance(cell, ShortForm) and not isinstance(cell.form, str):
        return _math(cell.form)
    return cell_text(cell, latex_text, _code, _math, link=lambda link: latex_text(link.text))


def _math(form: Formula) -> str:
    return f"${latex_of(form)}$"


def _code(text: str) -> str:
    return r" \newline ".join(f"\\texttt{{{latex_text(line)}}}" for line in text.split("\n")) if text else ""


def latex_text(text: str) -> str:
    r"""Escape a text.

    >>> print(latex_text(r"50 % of a_b & \input{x}"))
    50 \% of a\_b \& \textbackslash{}input\{x\}
    """
    return visible(text).replace("<=", "≤").replace(">=", "≥").replace("->", "→").translate(_ESCAPED)
