"""All reports from what is known: every file under ``reports/`` as text, by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tolcost.audit.catalogue import (
    beyond_table,
    catalogue_table,
    forms_table,
    primitives_table,
    representative,
    standing_counts,
)
from tolcost.audit.charts import growth_chart, ratio_chart, scatter_chart
from tolcost.audit.four_columns import four_column_tables
from tolcost.audit.general_table import evidence_table, verified_with_forms
from tolcost.audit.hardware import gpu_charts, gpu_table
from tolcost.audit.judge import Judged, judge
from tolcost.audit.league import league_table, who_counts_table
from tolcost.audit.models_table import models_tables
from tolcost.audit.paper_table import definition_command, paper_table
from tolcost.audit.peers import (
    PEERS_MADE,
    answer_table,
    operators_table,
    peers_table,
    points,
    read_conformance,
    read_general,
    read_peers,
    read_reasons,
)
from tolcost.audit.polybench import polybench_table
from tolcost.audit.readings import errata_table, paper_rows
from tolcost.audit.summary import conclusion, key_figures, paper_figures, summary_text
from tolcost.audit.theorem import theorem_table
from tolcost.catalogue.cases import Case, load_cases
from tolcost.catalogue.listing import Entry, entries
from tolcost.catalogue.specs import FOLDER_OF_DOMAIN, Library, open_library
from tolcost.dataclass import dataclass
from tolcost.result.conformance import Conformance
from tolcost.show.document import ReportTable
from tolcost.show.html import Chart, LiveForm, ReportPage, html_page
from tolcost.show.latex import latex
from tolcost.show.tables import csv_text, markdown

TITLE = "EOPs and FLOPs: the paper's tables, derived again"
_COMMAND = "tolcost report"


@dataclass(frozen=True, slots=True)
class Reports:
    """The files by name, relative to ``reports/``, the figures for the README, and the main ones of them."""

    files: dict[str, str]
    summary: str
    figures: Sequence[tuple[str, str]]


def build_reports(folder: Path, library: Library | None = None) -> Reports:
    """Make every report; ``folder`` is where the evidence is read from (``data/`` in it)."""
    specs = library or open_library()
    conformance, peers, reasons = read_conformance(folder), read_peers(folder), read_reasons(folder)
    general = read_general(folder)
    listed = tuple(entry for entry in entries(specs) if entry.domain in FOLDER_OF_DOMAIN)
    judged = judge_all(specs)
    found = points(peers, specs)
    tables = (
        *four_column_tables(judged, listed, general, conformance, found, specs),
        paper_table(judged),
        evidence_table(listed, general, conformance),
        answer_table(found),
        operators_table(found, reasons),
        peers_table(found),
        catalogue_table(listed, conformance),
        primitives_table(listed, specs, conformance),
        beyond_table(listed, conformance),
        theorem_table(listed, specs, conformance),
        polybench_table(folder, specs),
        *gpu_table(folder),
        *league_table(folder),
        errata_table(),
    )
    charts = (
        Chart(
            "ratios",
            "EOPs over XLA's compiled count, for the operators where they differ.",
            PEERS_MADE,
            ratio_chart(found),
        ),
        Chart("scatter", "EOPs against XLA's compiled count.", PEERS_MADE, scatter_chart(found)),
        Chart("growth", "How EOPs grow with one length n.", _COMMAND, growth_chart(specs)),
    )
    standing = standing_counts(listed, conformance)
    _, with_forms = verified_with_forms(listed, general, conformance)
    figures = paper_figures(judged, standing, len(with_forms), _tests(conformance), found)
    summary = summary_text(figures)
    page = ReportPage(
        title=TITLE,
        conclusion=conclusion(figures),
        command=_COMMAND,
        figures=key_figures(figures),
        tables=(*tables, *who_counts_table(folder)),
        charts=(*charts, *gpu_charts(folder)),
        forms=tuple(_forms(judged, listed, conformance)),
    )
    files = dict(_files(tables, forms_table(conformance), charts, page, summary))
    return Reports(files, summary, page.figures)


def judge_all(library: Library) -> tuple[Judged, ...]:
    """Judge the paper's 60 rows."""
    rows = paper_rows()
    cases: dict[str, list[Case]] = {row.operator: [] for row in rows}
    for case in load_cases(cases):
        if not case.node.domain:
            cases[case.node.op].append(case)
    return tuple(judge(row, cases[row.operator], library) for row in rows)


def _tests(conformance: Conformance) -> tuple[int, int]:
    judged = [case for case in conformance.cases if case.status != "outside"]
    return sum(case.status == "pass" for case in judged), len(judged)


def _forms(judged: Sequence[Judged], listed: Sequence[Entry], conformance: Conformance) -> Iterator[LiveForm]:
    """The verified forms of the paper's rows, then one of every operator."""
    for found in judged:
        analysis = found.verified
        name = f"{found.row.operator} (paper's signature, verified)"
        yield LiveForm(name, analysis.eops, analysis.macs, definition_command(found))
    for entry in listed:
        stands = representative(conformance.of(entry.name))
        if stands is not None:
            name = f"{entry.name}, {stands.case.case.removeprefix('test_')}"
            yield LiveForm(name, stands.eops, stands.macs, f"tolcost ops {entry.name}")


def _files(
    tables: Sequence[ReportTable], forms: ReportTable, charts: Sequence[Chart], page: ReportPage, summary: str
) -> Iterator[tuple[str, str]]:
    for table in (*tables, forms):
        yield f"{table.name}.csv", csv_text(table)
        yield f"{table.name}.tex", latex((table,))
        yield f"{table.name}.md", markdown((table,))
    for chart in charts:
        yield f"{chart.name}.svg", chart.svg
    models, programs = models_tables()
    yield f"{models.name}.csv", csv_text(programs)
    yield f"{models.name}.md", markdown((models, programs))
    yield "summary.md", f"# Summary\n\n{summary}\nMade by `{_COMMAND}`.\n"
    yield "README.md", _index(tables, forms, charts)
    yield "report.html", html_page(page)


def _index(tables: Sequence[ReportTable], forms: ReportTable, charts: Sequence[Chart]) -> str:
    lines = [
        "# Reports",
        "",
        "Written by `tolcost report` (`make report`); do not edit. `data/` holds what takes long to make or "
        "needs other tools, and is read back: `conformance.json`, `general.json`, `peers.csv`, and "
        "`reasons.toml` and `polybench.toml`, which are written by hand.",
        "",
        "- [report.html](report.html): everything on one page, with sorting, filtering and live closed forms",
        "- [summary.md](summary.md): the figures and the conclusion",
        "- [hardware.md](hardware.md): EOPs against a GPU, written by `make hardware`",
        "- [models_of_computation.md](models_of_computation.md): the paper's Table 1 as programs that run",
        "",
        "| table | Markdown | CSV | LaTeX | made by |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {table.title} | [md]({table.name}.md) | [csv]({table.name}.csv) | [tex]({table.name}.tex) | "
        f"`{table.command}` |"
        for table in (*tables, forms)
    ]
    lines += ["", *(f"![{chart.caption}]({chart.name}.svg)\n" for chart in charts)]
    return "\n".join(lines)
