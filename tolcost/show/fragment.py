"""Write documents as HTML fragments without scripts or style sheets, for results in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from html import escape

from tolcost.diagnostics import visible
from tolcost.show.document import (
    LONGEST,
    UNKNOWN,
    Cell,
    Document,
    Fact,
    FigureList,
    Formula,
    Heading,
    Lines,
    ReportTable,
    Section,
    cell_text,
    cut,
    has_mathml,
    mathml_of,
    plain,
)
from tolcost.show.document import Facts as FactList


def fragment(document: Document) -> str:
    """Write the blocks of a document, one after another, as one element.

    >>> fragment((Heading("a<b"), Lines(("one",))))
    '<div class="tolcost"><h4>a&lt;b</h4><p>one</p></div>'
    """
    return f'<div class="tolcost">{"".join(map(_block, document))}</div>'


def _block(block: Section) -> str:
    match block:
        case Heading(text=text, remark=remark):
            return f"<h4>{_text(text)}{f' <small>{_text(remark)}</small>' if remark else ''}</h4>"
        case FactList(rows=rows):
            return "".join(map(_fact, rows))
        case FigureList():
            return _figures(block)
        case Lines(rows=rows):
            return "".join(f"<p>{_text(row)}</p>" for row in rows)
        case ReportTable():
            columns = block.shown
            titles = (column.title for _, column in columns)
            right = frozenset(n for n, (_, column) in enumerate(columns) if column.kind == "number")
            return _table(titles, ([_cell(row[n]) for n, _ in columns] for row in block.rows), right)


def _fact(fact: Fact) -> str:
    value = _cell(fact.value) if fact.value else ""
    label = _code(fact.label) if fact.level else f"<b>{_text(fact.label)}</b>"
    return f"<div>{'&emsp;' * fact.level}{' '.join((label, value, _text(fact.remark))).rstrip()}</div>"


def _figures(found: FigureList) -> str:
    rows = []
    for row in (row for row in found.rows if not row.general):
        nothing = UNKNOWN if row.headed else ""
        cells = [nothing if cell is None else _cell(cell) for cell in found.cells(row)]
        rows.append(["&emsp;" * row.level + _text(row.label), *cells, _text(row.unit)])
    return _table(["", *found.titles, ""], rows)


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]], right: Collection[int] = ()) -> str:
    """Write a table; columns of numbers stand right, all others left, whatever a notebook's own style is."""

    def line(tag: str, cells: Iterable[str]) -> str:
        sided = ((text, "right" if n in right else "left") for n, text in enumerate(cells))
        return "".join(f'<{tag} style="text-align:{side}">{text}</{tag}>' for text, side in sided)

    head = line("th", map(_text, titles))
    lines = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(cell: Cell) -> str:
    return cell_text(cell, _text, _code, _formula)


def _formula(form: Formula) -> str:
    if has_mathml(form) and len(plain(form)) <= LONGEST:
        return mathml_of(form)
    return _code(cut(plain(form)))


def _text(text: str) -> str:
    return escape(visible(text))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"
