"""Documents as LaTeX: facts as a list, figures as a ``tabular``, tables as a ``longtable`` in landscape.

Columns that hold commands or essays are left out: a paper has text for these, and the CSV has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from tolcost.diagnostics import visible
from tolcost.show.document import (
    LONGEST,
    UNKNOWN,
    Cell,
    Code,
    Column,
    Document,
    Fact,
    Facts,
    FigureList,
    Formula,
    Lines,
    ReportTable,
    Section,
    cell_text,
    cut,
    latex_of,
    plain,
    text_of,
)

_SIGNS = {
    "−": "$-$", "×": r"$\times$", "●": r"$\bullet$", "…": r"\ldots{}", "‖": r"$\|$", "∈": r"$\in$",
    "Ξ": r"$\Xi$", "Λ": r"$\Lambda$", "Π": r"$\Pi$", "⋈": r"$\bowtie$", "→": r"$\to$", "“": "``", "”": "''",
}  # fmt: skip
_ROMAN = {**_SIGNS, "<": "$<$", ">": "$>$", "|": "$|$"}
"""What the usual fonts have at these places is something else: ¡, ¿ and a dash."""
_COMPARED = {">=": r"$\ge$", "<=": r"$\le$", "==": "$=$", "!=": r"$\ne$"}
_SET = re.compile("|".join(map(re.escape, (*_COMPARED, *_ROMAN))))
_BREAKABLE = "(),*/+=._-]"
_ROOM = 240
"""The room for columns, in millimetres."""
_NARROW, _NUMBER, _FEWEST, _MOST = 5, 15, 8, 60
"""Millimetres for a mark and for a number, and how many characters a column is taken to hold."""


def latex(document: Document) -> str:
    """Give the figures and the tables of a document, and what is said of them, one after another."""
    return "\n".join(filter(None, map(_block, document)))


def _block(block: Section) -> str:
    match block:
        case FigureList():
            return _figures(block)
        case ReportTable():
            return _table(block)
        case Facts(rows=rows):
            return _items([_fact(fact) for fact in rows])
        case Lines(rows=rows):
            return _items([_words(row) for row in rows])
        case _:
            return ""


def _items(rows: Sequence[str]) -> str:
    if not rows:
        return ""
    return "\n".join([r"\begin{itemize}", *(rf"\item {row}" for row in rows), r"\end{itemize}", ""])


def _fact(fact: Fact) -> str:
    """A label with what is said under it; what stands further in is a condition or a name."""
    if fact.level:
        return rf"\texttt{{{_code(visible(fact.label))}}} {_words(fact.remark)}".rstrip()
    if isinstance(fact.value, Code):
        code = rf"\texttt{{{_code(visible(fact.value.text))}}}"
        return f"{_words(fact.label)} {code} {_words(fact.remark)}".rstrip()
    return f"{_words(fact.label)}: {_words(fact.value)} {_words(fact.remark)}".rstrip()


def _figures(found: FigureList) -> str:
    titles = [rf"\textbf{{{latex_text(found.title)}}}", *map(latex_text, found.titles)]
    rows = [
        f"% {visible(found.title)}",
        rf"\begin{{tabular}}{{l{'l' * len(found.titles)}}}",
        r"\hline",
        " & ".join(titles) + r" \\",
        r"\hline",
    ]
    for row in (row for row in found.rows if not row.general):
        unit = rf"~{latex_text(row.unit)}" if row.unit and not row.level else ""
        nothing = UNKNOWN if row.headed else ""
        cells = [nothing if c is None else f"${latex_of(c)}${unit}" for c in found.cells(row)]
        rows.append(" & ".join([(r"\quad " if row.level else "") + latex_text(row.label), *cells]) + r" \\")
    return "\n".join([*rows, r"\hline", r"\end{tabular}", ""])


def _table(table: ReportTable) -> str:
    """Give the table; its first lines say which packages it needs."""
    columns = [(n, c) for n, c in enumerate(table.columns) if c.shown and c.printed]
    cells = [[row[n] for n, _ in columns] for row in table.rows]
    marks = [_is_mark([row[k] for row in cells]) for k in range(len(columns))]
    titles = (_title(column, mark) for (_, column), mark in zip(columns, marks, strict=True))
    lines = [
        *([f"% {visible(table.command)}"] if table.command else []),
        r"% needs \usepackage{longtable,amssymb,graphicx}, and a landscape page",
        rf"\begin{{longtable}}{{{''.join(_alignments([c for _, c in columns], cells, marks))}}}",
        *([rf"\caption{{{latex_text(table.title)}}}\\"] if table.title else []),
        r"\hline",
        " & ".join(titles) + r" \\",
        r"\hline",
        r"\endhead",
    ]
    lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in cells]
    return "\n".join([*lines, r"\hline", r"\end{longtable}", ""])


def _is_mark(cells: Sequence[Cell]) -> bool:
    """Whether a column holds nothing but single signs."""
    return all(len(plain(cell)) <= 1 for cell in cells)


def _title(column: Column, mark: bool) -> str:
    text = rf"\textbf{{{latex_text(column.title)}}}"
    return rf"\rotatebox{{90}}{{{text}}}" if mark else text


def _alignments(
    columns: Sequence[Column], cells: Sequence[Sequence[Cell]], marks: Sequence[bool]
) -> list[str]:
    """Share the room out by what columns hold."""
    numbers = [column.kind == "number" for column in columns]
    room = _ROOM - sum(
        _NARROW if mark else _NUMBER if n else 0 for mark, n in zip(marks, numbers, strict=True)
    )
    held = [_held([row[k] for row in cells]) for k in range(len(columns))]
    shared = sum(h for h, mark, n in zip(held, marks, numbers, strict=True) if not mark and not n)
    return [
        "c" if mark else rf"p{{{_NUMBER}mm}}" if n else f"p{{{max(room * h // max(shared, 1), _NUMBER)}mm}}"
        for h, mark, n in zip(held, marks, numbers, strict=True)
    ]


def _held(cells: Sequence[Cell]) -> int:
    """How many characters a column holds, as a rule: nine in ten cells have no more."""
    sizes = sorted(min(max(map(len, plain(cell).split("\n"))), LONGEST) for cell in cells) or [0]
    return min(max(sizes[len(sizes) * 9 // 10], _FEWEST), _MOST)


def _latex_cell(cell: Cell) -> str:
    return cell_text(cell, _words, _code_lines, _latex_form, grouped=False)


def _code_lines(text: str) -> str:
    return r" \newline ".join(rf"\texttt{{{_code(line)}}}" for line in text.split("\n"))


def _words(text: str) -> str:
    """Text for LaTeX; signs that its fonts lack are set as mathematics."""
    return _SET.sub(lambda found: _COMPARED.get(found[0]) or _ROMAN[found[0]], latex_text(text))


def _code(text: str) -> str:
    """A piece of a program, which may go on in the next line after any sign."""
    return "".join(map(_sign, text))


@cache
def _sign(character: str) -> str:
    shown = "".join(_SIGNS.get(one, one) for one in latex_text(character))
    return shown + (r"\allowbreak{}" if character in _BREAKABLE else "")


def _latex_form(form: Formula) -> str:
    text = text_of(form)
    return f"${_product(latex_of(form))}$" if len(text) <= LONGEST else rf"\texttt{{{_code(cut(text))}}}"


def _product(formula: str) -> str:
    r"""A formula that may go on in the next line between two factors.

    Brackets that grow with what they hold make one box of it, so they are plain here.

    >>> print(_product("2 n m_{3}"))
    2 \allowbreak n \allowbreak m_{3}
    """
    open_ = formula.replace(r"\left(", "(").replace(r"\right)", ")")
    return re.sub(r"(?<=[\w})]) (?=[\w\\(])", r" \\allowbreak ", open_)


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: "\\" + c for c in "{}_%$#&"},
}


def latex_text(text: str) -> str:
    r"""Give text in which nothing is a command.

    >>> print(latex_text("50% of $x_1$"))
    50\% of \$x\_1\$
    """
    return "".join(_LATEX.get(c, c) for c in visible(text))
