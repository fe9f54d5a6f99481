"""A model's cost as Markdown and CSV; names come from the file, and are only ever text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from tolcost.models.growth import Growth
from tolcost.models.study import ModelStudy
from tolcost.report.model_view import (
    conditions,
    coverage_text,
    groups,
    inputs_of,
    lines,
    merged,
    outputs_of,
    percent,
    share,
    value_of,
)
from tolcost.result.forms import Form, text_of
from tolcost.show.escape import csv_cell, markdown_code, markdown_text

UNKNOWN = "not known"
_MOST_MISSING = 50


def model_markdown(study: ModelStudy, by: str = "op", growth: Growth | None = None) -> str:
    """A section with tables."""
    blocks = [
        f"## {markdown_text(study.model.name)}",
        "\n".join(_facts(study)),
        markdown_table(_figures(study)),
        markdown_table(_groups(study, by)),
    ]
    if growth is not None:
        blocks.append(markdown_table(_growth(growth)))
        blocks.append("\n".join(_crossings(growth)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _crossings(growth: Growth) -> Iterable[str]:
    for c in growth.crossings:
        where = f"{markdown_code(growth.name)} = {c.at}"
        yield f"- {markdown_code(c.later)} overtakes {markdown_code(c.earlier)} at {where}"


def _facts(study: ModelStudy) -> Iterable[str]:
    yield f"- coverage: {markdown_text(coverage_text(study))}"
    yield f"- status: {study.total.status}"
    yield from (f"- input {markdown_code(f'{name}: {kind}')}" for name, kind in inputs_of(study))
    yield from (f"- output {markdown_code(f'{name}: {kind}')}" for name, kind in outputs_of(study))
    yield from (f"- {markdown_code(name)} is {markdown_code(other)}" for name, other in merged(study))
    for text, why, node in conditions(study):
        yield f"- holds where {markdown_code(text)}: {markdown_text(why)} ({markdown_text(node)})"
    for item in study.coverage.missing[:_MOST_MISSING]:
        yield f"- not costed: {markdown_code(item.op)} {markdown_code(item.name)}: {markdown_text(item.why)}"


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A table; cells are Markdown already."""
    head, *body = rows
    listed = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in listed)


def _code(form: Form | None) -> str:
    return UNKNOWN if form is None else markdown_code(text_of(form))


def _figures(study: ModelStudy) -> list[list[str]]:
    known = bool(study.dims) or study.place.complete
    dims = ", ".join(f"{name} = {value}" for name, value in sorted(study.place.dims.items()))
    rows = [
        ["figure", "closed form", *([markdown_text(f"at {dims}" if dims else "number")] if known else [])]
    ]
    for line in lines(study):
        unit = f" {markdown_text(line.unit)}" if line.unit else ""
        rows.append([f"{line.label}{unit}", _code(line.form), *([_code(line.value)] if known else [])])
    return rows


def _groups(study: ModelStudy, by: str) -> list[list[str]]:
    known = study.place.complete
    rows = [[by, "nodes", "EOPs", "MACs", *(["share"] if known else [])]]
    for group in groups(study, by):
        forms = [value_of(study, f) if known else f for f in (group.figures.eops, group.figures.macs)]
        last = [percent(share(study, group.figures))] if known else []
        rows.append([markdown_code(group.title), str(group.nodes), *map(_code, forms), *last])
    return rows


def _growth(growth: Growth) -> list[list[str]]:
    rows = [[markdown_code(growth.name), "EOPs", "MACs", "bytes", "peak bytes"]]
    for row in growth.rows:
        cells = (row.value, row.eops, row.macs, row.bytes, row.peak)
        rows.append([UNKNOWN if cell is None else str(cell) for cell in cells])
    return rows


# ---- CSV ---------------------------------------------------------------------------------


def model_csv(study: ModelStudy, by: str = "op", growth: Growth | None = None) -> str:
    """A line per node, operator or scope; with a sweep, a line per length instead."""
    if growth is not None:
        names = ("eops", "macs", "bytes", "peak_bytes")
        rows = [
            [str(c if c is not None else "") for c in (r.value, r.eops, r.macs, r.bytes, r.peak)]
            for r in growth.rows
        ]
        return csv_text([[growth.name, *names], *rows])
    known = study.place.complete
    metrics = ("eops", "flops", "macs", "bytes")
    rows = [["model", by, "nodes", *metrics, *(f"{m}_at" for m in metrics if known), "status"]]
    for group in groups(study, by):
        figures = group.figures
        forms = (figures.eops, figures.flops, figures.macs, figures.bytes)
        values = [_plain(value_of(study, form)) for form in forms] if known else []
        rows.append(
            [study.model.name, group.title, str(group.nodes), *map(_plain, forms), *values, figures.status]
        )
    return csv_text(rows)


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV in which no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def _plain(form: Form | None) -> str:
    return "" if form is None else text_of(form)
