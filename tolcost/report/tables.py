"""An analysis as Markdown, CSV and LaTeX: one table of figures each, with names escaped.

Names of files and programs come from outside.  In each format they are shown as themselves and
can neither end a cell nor start anything: no markup, no formula, no command.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tolcost.diagnostics import visible
from tolcost.report.study import Study, figures
from tolcost.report.text import UNKNOWN, at_point, type_text
from tolcost.result.conditions import given_conditions
from tolcost.result.forms import Form, latex_of, text_of
from tolcost.show.escape import csv_cell, latex_text, markdown_code, markdown_text

CSV_HEADER = ("program", "file", "metric", "item", "space", "form", "value")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: a figure or a part of one, in closed form and at the point."""

    metric: str
    label: str
    item: str
    space: str
    form: Form | None
    value: Form | None
    unit: str = ""
    heading: bool = False


def lines(study: Study) -> Iterable[Line]:
    """Give every figure and part asked for."""
    at = at_point(study.point)
    for figure in figures(study):
        if figure.headed:
            value = None if figure.form is None else at(figure.form)
            yield Line(figure.metric, figure.label, "", "", figure.form, value, figure.unit)
        else:
            yield Line(figure.metric, figure.label, "", "", None, None, heading=True)
        for part in figure.parts:
            yield Line(figure.metric, figure.label, part.name, part.space, part.form, at(part.form))


def _cells(study: Study, line: Line) -> list[Form | None]:
    shown = [line.form] if study.forms_shown else []
    return shown + ([line.value] if study.point_shown else [])


def _nothing(line: Line) -> str:
    return "" if line.heading else UNKNOWN


def _titles(study: Study) -> list[str]:
    dims = ", ".join(f"{name} = {value}" for name, value in sorted(study.point.dims.items()))
    shown = ["closed form"] if study.forms_shown else []
    return shown + ([f"at {dims}" if dims else "number"] if study.point_shown else [])


# ---- Markdown ----------------------------------------------------------------------------


def markdown_report(studies: Sequence[Study]) -> str:
    """Give a section with a table for each program."""
    return "\n".join(_markdown(study) for study in studies)


def _markdown(study: Study) -> str:
    analysis = study.analysis
    titles = ["figure", *map(markdown_text, _titles(study))]
    rows = [f"## {markdown_text(analysis.name)}", ""]
    for way, tensors in (("input", analysis.inputs), ("output", analysis.outputs)):
        rows += [f"- {way} {markdown_code(f'{t.name}: {type_text(t, lambda form: form)}')}" for t in tensors]
    rows += [f"- status: {analysis.status}", "", _markdown_row(titles), _markdown_row(["---"] * len(titles))]
    for line in lines(study):
        label = f"{line.item} {markdown_code(line.space)}" if line.space else line.item or line.label
        indent = "&emsp;" if line.item else ""
        unit = f" {markdown_text(line.unit)}" if line.unit else ""
        cells = [
            markdown_code(text_of(c)) + unit if c is not None else _nothing(line) for c in _cells(study, line)
        ]
        rows.append(_markdown_row([indent + label, *cells]))
    conditions = given_conditions(analysis.conditions, analysis.file)
    rows += ["", "Holds where:", ""] if conditions else []
    rows += [f"- {markdown_code(c.text)}: {markdown_text(c.reason)}" for c in conditions]
    return "\n".join(rows) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# ---- CSV ---------------------------------------------------------------------------------


def csv_report(studies: Sequence[Study]) -> str:
    """Give one line per figure and part, in the columns of ``CSV_HEADER``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for study in studies:
        name, file = study.analysis.name, study.analysis.file
        shown = study.point.complete or bool(study.point.dims)
        for line in (line for line in lines(study) if not line.heading):
            value = line.value if shown else None
            row = (name, file, _metric(line), line.item, line.space, _plain(line.form), _plain(value))
            writer.writerow([csv_cell(cell) for cell in row])
    return out.getvalue()


def _metric(line: Line) -> str:
    return line.label if line.metric == "weights" else line.metric


def _plain(form: Form | None) -> str:
    return "" if form is None else text_of(form)


# ---- LaTeX -------------------------------------------------------------------------------


def latex_report(studies: Sequence[Study]) -> str:
    """Give a ``tabular`` for each program; needs no package."""
    return "\n".join(_latex(study) for study in studies)


def _latex(study: Study) -> str:
    titles = ["", *map(latex_text, _titles(study))]
    rows = [
        f"% {visible(study.analysis.name)}",
        rf"\begin{{tabular}}{{l{'l' * (len(titles) - 1)}}}",
        r"\hline",
        " & ".join([rf"\textbf{{{latex_text(study.analysis.name)}}}", *titles[1:]]) + r" \\",
        r"\hline",
    ]
    for line in lines(study):
        label = latex_text(f"{line.item} {line.space}".rstrip() if line.item else line.label)
        indent = r"\quad " if line.item else ""
        unit = rf"~{latex_text(line.unit)}" if line.unit else ""
        cells = [_nothing(line) if c is None else f"${latex_of(c)}${unit}" for c in _cells(study, line)]
        rows.append(" & ".join([indent + label, *cells]) + r" \\")
    return "\n".join([*rows, r"\hline", r"\end{tabular}", ""])
