"""Build all reports: every file under ``reports/`` as text, by its name; figures in words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct

from tolcost.algebra import Cond, Poly, display_names, evaluate
from tolcost.apps.paper.catalogue import (
    beyond_table,
    forms_table,
    primitives_table,
    representative,
    standing_counts,
    theorem_table,
)
from tolcost.apps.paper.evidence import (
    FLOP_COUNTER,
    agreement_chart,
    agreement_table,
    evidence_of_rows,
    gather,
    read_words,
)
from tolcost.apps.paper.evidence import MADE as EVIDENCE_MADE
from tolcost.apps.paper.general_table import catalogue_table, evidence_table, verified_with_forms
from tolcost.apps.paper.judge import Judged, judge
from tolcost.apps.paper.paper_table import definition_command, paper_table
from tolcost.apps.paper.peers import (
    PEERS_MADE,
    answer_table,
    by_operator,
    operators_table,
    peers_table,
    read_conformance,
    read_general,
    read_peers,
    read_reasons,
    read_recorded,
)
from tolcost.apps.paper.readings import errata_table, paper_rows
from tolcost.apps.paper.recorded import gpu_charts, gpu_table, league_table, polybench_table, who_counts_table
from tolcost.apps.paper.starts import STARTS
from tolcost.apps.paper.starts_table import FIRST, judge_under, starts_table, totals_table
from tolcost.apps.paper.story import (
    AuditFigures,
    conclusion,
    index,
    key_figures,
    paper_figures,
    summary_text,
)
from tolcost.apps.paper.tables_3_and_4 import paper_tables
from tolcost.catalogue.cases import Case, load_cases
from tolcost.catalogue.conformance import Report
from tolcost.catalogue.listing import Entry, ProgramLibrary, entries, library_names, read_library
from tolcost.catalogue.specs import FOLDER_OF_DOMAIN, Library
from tolcost.catalogue.workers import WorkProgress
from tolcost.platform import specs_root
from tolcost.result.catalogue_page import CostedProgram, costed
from tolcost.result.example import fitted
from tolcost.result.instances import OperatorInstance, analyse_instance
from tolcost.result.lengths import ShapedInput, shaped
from tolcost.result.other_counts import COMPILED, Measured, points
from tolcost.result.typical import typical_lengths
from tolcost.show.document import Cell, Code, Column, ReportTable
from tolcost.show.html import Chart, LiveForm, html_page
from tolcost.show.svg import Dot, Scale, curves, scatter, strip
from tolcost.show.tables import csv_text, markdown

TITLE = "EOPs and FLOPs: the paper's tables, derived again"
_COMMAND = "tolcost report"


class Reports(Struct, frozen=True):
    """The files by name, relative to ``reports/``, the conclusion for the README, and the main figures."""

    files: dict[str, str]
    conclusion: str
    figures: Sequence[tuple[str, str]]


_ROWS = 60
"""The rows of the paper's tables: judging one is the unit of progress."""
_AFTER = {"counts of other programs": 9, "sums": 7, "evidence": 15, "tables": 12, "models": 30, "pages": 6}
"""What follows the rows, each as long as judging so many of them."""


def _silent(done: int, of: int, name: str) -> None:
    """Tell nobody."""


def build_reports(folder: Path, library: Library, tell: WorkProgress = _silent) -> Reports:
    """Make every report; ``folder`` has the evidence in ``data/``."""
    done, of = _ROWS, _ROWS + sum(_AFTER.values())

    def did(stage: str) -> None:
        nonlocal done
        done += _AFTER[stage]
        tell(done, of, stage)

    conformance, peers, reasons = read_conformance(folder), read_peers(folder), read_reasons(folder)
    general, recorded = read_general(folder), read_recorded(folder)
    known = entries(library)
    listed = tuple(entry for entry in known if entry.domain in FOLDER_OF_DOMAIN)
    further = tuple(entry for entry in known if entry.domain == recorded.domain)
    tell(0, of, "")
    judged = judge_all(library, lambda n, name: tell(n, of, name))
    found = points(peers, library)
    torch = points(read_peers(folder, FLOP_COUNTER, "make flop-counter"), library)
    did("counts of other programs")
    under = {start: judge_under(start, judged, library) for start in STARTS}
    did("sums")
    evidence = gather(judged, folder, found, torch, library)
    did("evidence")
    tables = (
        *paper_tables(judged, under[FIRST]),
        starts_table(judged, under),
        evidence_of_rows(judged, evidence, read_words(folder)),
        agreement_table(evidence),
        paper_table(judged),
        evidence_table(listed, general, conformance),
        answer_table(found),
        operators_table(found, reasons),
        peers_table(found),
        catalogue_table((*listed, *further), general, conformance, recorded, found, library),
        primitives_table(listed, library, conformance),
        beyond_table(listed, conformance),
        theorem_table(listed, library, conformance),
        polybench_table(folder, library),
        *gpu_table(folder),
        *league_table(folder),
        errata_table(),
    )
    did("tables")
    models, programs = models_tables()
    did("models")
    charts = (
        Chart(
            "agreement",
            "Independent counts over EOPs, row by row of the paper.",
            EVIDENCE_MADE,
            agreement_chart(evidence),
        ),
        Chart(
            "ratios",
            "EOPs over XLA's compiled count, for the operators where they differ.",
            PEERS_MADE,
            ratio_chart(found),
        ),
        Chart("scatter", "EOPs against XLA's compiled count.", PEERS_MADE, scatter_chart(found)),
        Chart("growth", "How EOPs grow with one length n.", _COMMAND, growth_chart(library)),
    )
    standing = standing_counts(listed, conformance)
    _, with_forms = verified_with_forms(listed, general, conformance)
    figures = paper_figures(judged, standing, len(with_forms), conformance, found, evidence, under[FIRST])
    summary = summary_text(figures)
    shown = key_figures(figures)
    page = html_page(
        title=TITLE,
        conclusion=conclusion(figures),
        command=_COMMAND,
        figures=shown,
        tables=(*tables, *who_counts_table(folder)),
        charts=(*charts, *gpu_charts(folder)),
        forms=tuple(_forms(judged, listed, conformance)),
    )
    files = dict(_files(figures, tables, forms_table(conformance), charts, page, summary))
    files[f"{models.name}.csv"] = csv_text(programs)
    files[f"{models.name}.md"] = markdown((models, programs))
    files["starts.md"] = markdown((totals_table(judged, under), starts_table(judged, under)))
    did("pages")
    return Reports(files, f"{conclusion(figures)}\n", shown)


def judge_all(
    library: Library, judged: Callable[[int, str], None] = lambda n, name: None
) -> tuple[Judged, ...]:
    """Judge the paper's 60 rows; ``judged`` is called with how many are, and the operator of the last."""
    rows = paper_rows()
    cases: dict[str, list[Case]] = {row.operator: [] for row in rows}
    for case in load_cases(cases):
        if not case.node.domain:
            cases[case.node.op].append(case)
    found: list[Judged] = []
    for row in rows:
        found.append(judge(row, cases[row.operator], library))
        judged(len(found), row.operator)
    return tuple(found)


def _forms(judged: Sequence[Judged], listed: Sequence[Entry], conformance: Report) -> Iterator[LiveForm]:
    """Yield the verified forms of the paper's rows, then a form of every operator."""
    for found in judged:
        analysis = found.verified
        name = f"{found.row.operator} (paper's signature, verified)"
        needed = tuple(one.condition for one in analysis.conditions)
        forms, shapes = (analysis.eops, analysis.counts.macs), shaped(analysis.inputs)
        start = _start(*forms, needed, shapes)
        yield LiveForm(name, *forms, definition_command(found), needed, start)
    for entry in listed:
        stands = representative(conformance.of(entry.name))
        if stands is not None:
            name = f"{entry.name}, {stands.case.name.removeprefix('test_')}"
            start = _start(stands.eops, stands.macs)
            yield LiveForm(name, stands.eops, stands.macs, f"tolcost ops {entry.name}", start=start)


def _start(
    eops: Poly, macs: Poly, needed: Sequence[Cond] = (), inputs: Sequence[ShapedInput] = ()
) -> dict[str, int]:
    """Return typical lengths of a form, or those nearest to them that are right."""
    symbols = eops.free | macs.free
    wanted = typical_lengths(symbols, inputs, needed)
    names = display_names(symbols)
    found = wanted | (fitted(wanted, needed) or {})
    return {names[symbol]: found[symbol] for symbol in symbols}


def _files(
    figures: AuditFigures,
    tables: Sequence[ReportTable],
    forms: ReportTable,
    charts: Sequence[Chart],
    page: str,
    summary: str,
) -> Iterator[tuple[str, str]]:
    for table in (*tables, forms):
        yield f"{table.name}.csv", csv_text(table)
        yield f"{table.name}.md", markdown((table,))
    for chart in charts:
        yield f"charts/{chart.name}.svg", chart.svg
    yield "summary.md", f"# Summary\n\n{summary}\nMade by `{_COMMAND}`.\n"
    yield "README.md", index(figures, tables, forms, charts)
    yield "report.html", page


START, END = "<!-- figures: start -->", "<!-- figures: end -->"
"""``tolcost report`` replaces the text between these marks in the README."""


def with_figures(readme: str, text: str) -> str:
    """Replace the figures between the marks of a README; without marks it stays unchanged."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n{text}{end}{after}" if start and end else readme


# === The charts of the reports: ratios by operator, EOPs against FLOPs, and how costs grow.


_SIZES = tuple(2**k for k in range(2, 13))


def ratio_chart(found: Sequence[Measured]) -> str:
    """Draw EOPs over XLA's compiled count, a line for each operator that is not always equal.

    Where EOPs are 0 and XLA counts something, the ratio is 0, which has no place on the axis.
    """
    rows = []
    for op, group in by_operator(found).items():
        ratios = [ratio for point in group if (ratio := point.ratio()) is not None]
        if all(ratios) and any(ratio != 1 for ratio in ratios):
            rows.append((op, group[0].kind, sorted(map(float, ratios))))
    rows.sort(key=lambda row: (row[1], row[2][0], row[0]))
    low = min((values[0] for _, _, values in rows), default=0.1)
    axis = Scale("EOPs / XLA's compiled count; 1 is equal", min(low / 1.2, 0.05), 2.0)
    return strip(rows, axis, "Ratio of EOPs to FLOPs by operator")


def scatter_chart(found: Sequence[Measured]) -> str:
    """Draw EOPs against XLA's count, a dot for each operator and shape; equal counts are on the diagonal."""
    marks = []
    for point in found:
        total = point.total(COMPILED)
        if total and point.eops:
            label = f"{point.op}: EOPs {point.eops}, XLA {_plain(total)}"
            marks.append(Dot(float(total), float(point.eops), point.kind, label))
    low = min(min(mark.x, mark.y) for mark in marks) / 1.5
    high = max(max(mark.x, mark.y) for mark in marks) * 1.5
    across, up = Scale("XLA flops + transcendentals", low, high), Scale("EOPs", low, high)
    return scatter(marks, across, up, "EOPs against FLOPs")


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def growth_chart(library: Library) -> str:
    """Draw how the costs of a few operators grow with one length n."""
    listed = tomllib.loads(specs_root().joinpath("paper", "growth.toml").read_text(encoding="utf-8"))
    lines = []
    for op, at in listed.items():
        instance = OperatorInstance(op, at["shapes"], {}, at.get("outputs"))
        form = analyse_instance(instance, library).eops
        costs = [evaluate(form, dict.fromkeys(form.free, n)) for n in _SIZES]
        lines.append((instance.op, list(zip(map(float, _SIZES), map(float, costs), strict=True))))
    top = max(y for _, points in lines for _, y in points)
    across, up = Scale("n", float(_SIZES[0]), float(_SIZES[-1])), Scale("EOPs", 1.0, top)
    return curves(lines, across, up, "Growth of EOPs with a length n")


# === The paper's Table 1, executable: for each model of computation its programs here, and their costs.
#
# The rows are the paper's (``specs/paper/models.toml``); libraries of programs name the row they show.


NAME = "models_of_computation"

_MODELS = (
    Column("model", "model", group="model"),
    Column("language", "language", group="model"),
    Column("data", "data"),
    Column("atoms", "atomic computations"),
    Column("domain", "domain"),
    Column("here", "here"),
    Column("programs", "programs", "number", group="programs"),
    Column("lines", "lines of ToLang", "number", group="programs"),
    Column("agreed", "agreed with"),
)

_PROGRAMS = (
    Column("library", "library"),
    Column("program", "program"),
    Column("role", "operator"),
    Column("lines", "lines", "number"),
    Column("eops", "EOPs", "form"),
    Column("status", "count is"),
    Column("agreed", "agreed with"),
    Column("command", "shown by", "code", shown=False, printed=False),
)


def models_tables() -> tuple[ReportTable, ReportTable]:
    """Return the table of the paper's models with their libraries, and the table of all library programs."""
    libraries = tuple(map(read_library, library_names()))
    return _models(libraries), _programs(libraries)


def _models(libraries: Sequence[ProgramLibrary]) -> ReportTable:
    text = specs_root().joinpath("paper", "models.toml").read_text(encoding="utf-8")
    stated: list[dict[str, Any]] = tomllib.loads(text)["models"]
    names = [row["language"] if row["model"] == "-" else row["model"] for row in stated]
    rows = [
        _model(row, [one for one in libraries if one.model == name])
        for row, name in zip(stated, names, strict=True)
    ]
    rows += [
        _model({"model": "-", "domain": one.title}, [one])
        for one in libraries
        if one.agreed and one.model not in names
    ]
    about = (
        "The models of the paper's Table 1, and programs in ToLang that show them. The table says how"
        " many programs there are, how long they are, and which engine or library gave the same "
        "results on random inputs. Libraries that belong to none of the models follow. ToL's row "
        "claims all domains. Here this means all that loops, ranges and recursion compute, whether "
        "lengths or data decide how far they go; costs are formulas in lengths, and in symbols for "
        "numbers that only a run determines. Not included are operations on texts other than "
        "comparisons, whole numbers beyond 64 bits, and lists that shrink in a loop, which are "
        "written as arrays with a position of the end. There is no formula for recursion on parts "
        "other than halves, for recursion that data splits, or for expected costs. docs/limits.md "
        "describes each with its way around it."
    )
    return ReportTable(_MODELS, tuple(rows), NAME, "Models of computation", about, _COMMAND)


def _model(row: dict[str, Any], shown: Sequence[ProgramLibrary]) -> tuple[Cell, ...]:
    programs = [program for library in shown for program in library.programs]
    here = ", ".join(
        [*(f"specs/{library.name}" for library in shown), *([row["also"]] if "also" in row else [])]
    )
    here = here or row.get("here", "not shown")
    return (
        row["model"],
        row.get("language", ""),
        row.get("data", ""),
        ", ".join(row.get("atoms", ())),
        row["domain"],
        here,
        len(programs) or None,
        sum(program.lines for program in programs) or None,
        ", ".join(dict.fromkeys(name for one in programs for name in one.agreed.split(", ") if name)),
    )


def _programs(libraries: Sequence[ProgramLibrary]) -> ReportTable:
    rows = [_program(library, costed(one)) for library in libraries for one in library.programs]
    about = (
        "Every program of the libraries; all lengths are symbols. A count that depends on data has "
        "symbols for lengths that only a run determines, such as the number of rows that a filter "
        "keeps."
    )
    return ReportTable(_PROGRAMS, tuple(rows), NAME, "Their programs", about, _COMMAND)


def _program(library: ProgramLibrary, one: CostedProgram) -> tuple[Cell, ...]:
    program = one.program
    return (
        library.name,
        program.name,
        program.role,
        program.lines,
        one.eops,
        one.certainty,
        one.agreement,
        Code(f"tolcost ops --library {library.name} {program.name}"),
    )
