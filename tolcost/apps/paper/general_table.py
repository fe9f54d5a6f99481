"""Tables in the paper's layout: its own rows, and general forms of the catalogue with their evidence.

A row is an operator: its parameters, its definition, FLOPs by weights and by other tools, and EOPs.  Forms
use names of the definition, and hold for every rank unless they state otherwise; for an operator without one,
the form of one node test is shown and marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tolcost.algebra import Poly
from tolcost.apps.paper.catalogue import representative, status_of
from tolcost.apps.paper.judge import Judged
from tolcost.apps.paper.peers import by_operator
from tolcost.catalogue.conformance import Report
from tolcost.catalogue.general.record import GeneralForms, GeneralRow, shown
from tolcost.catalogue.listing import Entry, attributes
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Analysis
from tolcost.diagnostics import Source
from tolcost.result.operators import length_along_one
from tolcost.result.other_counts import COMPILED, ONNX_TOOL, Measured
from tolcost.show.document import Cell, Code, Column, ReportTable, Verdict, rounded

# ---- general forms ---------------------------------------------------------------------------


GENERAL_MADE = "make general report"

COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain"),
    Column("when", "holds where"),
    Column("eops", "EOPs", "code"),
    Column("flops", "FLOPs", "code"),
    Column("tests", "node tests held to", "number"),
    Column("instances", "instances in all", "number"),
    Column("proved", "proved at all lengths of", "number"),
    Column("general", "general"),
    Column("command", "shown by", "code", printed=False),
)


def catalogue_row(
    entry: Entry,
    spec: Spec,
    body: str,
    forms: GeneralForms,
    record: Report,
    points: Sequence[Measured],
    library: Library,
) -> tuple[Cell, ...]:
    """Make the row of an operator in the paper's four columns."""
    rows = _rows(entry, forms)
    if rows:
        window = length_along_one(spec, library, record.of(entry.name))
        eops = [*(_told(row.eops, row) for row in rows), *([f"with {window}"] if window else [])]
        flops = ["= EOPs"] if all(r.eops == r.flops for r in rows) else [_told(r.flops, r) for r in rows]
    else:
        eops, flops = [_of_one_test(entry, record)], []
    return (
        Code(parameters(spec)),
        Code(body),
        Code("\n".join((*flops, *witnesses(points)))),
        Code("\n".join(eops)),
    )


def parameters(spec: Spec) -> str:
    """Format an operator's signature with its attributes: ``Elu(X; alpha = 1.0) -> Y``."""
    inputs = ", ".join(s.name + "?" * s.optional + "..." * s.variadic for s in spec.inputs)
    outputs = ", ".join(s.name + "..." * s.variadic for s in spec.outputs)
    named = ", ".join(attributes(spec))
    return f"{spec.name}({'; '.join(filter(None, (inputs, named)))}) -> {outputs}"


def _rows(entry: Entry, forms: GeneralForms) -> tuple[GeneralRow, ...]:
    found = forms.of(entry.domain, entry.name)
    return found.rows if found is not None and found.is_general else ()


def _told(form: Poly, row: GeneralRow) -> str:
    return f"{shown(form)} where {row.when}" if row.when else shown(form)


def _of_one_test(entry: Entry, record: Report) -> str:
    stands = representative(record.of(entry.name))
    if stands is None:
        return "no test tells"
    return f"{shown(stands.eops)} in {stands.case.name}"


def witnesses(points: Sequence[Measured]) -> Iterator[str]:
    """Yield the counts of other tools for an operator, compared with EOPs."""
    for tool, name in ((COMPILED, "XLA"), (ONNX_TOOL, "onnx-tool")):
        found = [point for point in points if tool in point.counts]
        ratios = [
            ratio
            for point in found
            if (ratio := point.ratio_macs if tool == ONNX_TOOL else point.ratio(tool)) is not None and ratio
        ]
        if ratios:
            times = sorted({rounded(1 / ratio) for ratio in (max(ratios), min(ratios))}, key=float)
            yield f"{name}: {' to '.join(times)} times ours at {len(ratios)} shapes"


def verified_with_forms(
    listed: Sequence[Entry], forms: GeneralForms, record: Report
) -> tuple[list[Entry], list[Entry]]:
    """Return the operators that are verified, and those of them that have a general form."""
    verified = [e for e in listed if status_of(e, record.of(e.name)) == "verified"]
    return verified, [entry for entry in verified if _rows(entry, forms)]


def evidence_table(listed: Sequence[Entry], forms: GeneralForms, record: Report) -> ReportTable:
    """Make a table of every general form with its condition and evidence, or the reason why there is none."""
    verified, general = verified_with_forms(listed, forms, record)
    rows = tuple(row for entry in verified for row in _evidence(entry, forms))
    found = [row for entry in verified for row in _rows(entry, forms)]
    held, cases, proved = (
        sum(numbers)
        for numbers in zip(*((len(row.tests), row.instances, row.proved) for row in found), strict=True)
    )
    about = (
        f"{len(general)} of {len(verified)} verified operators have a general form, for every rank unless a "
        "row says otherwise, in norms of what the definition names: vol(X) is the volume of a tensor, "
        "prod(k) the product of a vector, |X|[a] a length, rows(X) the product of all lengths but the "
        "last, #max how often max is applied along one dimension by itself. Each was found from ONNX's "
        "tests and from cases near them (other lengths, attributes and inputs), and gives the counts of"
        f" all {held:,} node tests of these operators when their lengths and attributes are put in; "
        f"`data/general.json` has the values. In {proved:,} of {cases:,} instances a form is the count "
        "as a formula, so that it holds at all of their lengths; in the others it was checked at "
        "points. At ranks and attributes that no instance has it is not checked at all."
    )
    return ReportTable(COLUMNS, rows, "general", "General forms", about, GENERAL_MADE)


def _evidence(entry: Entry, forms: GeneralForms) -> Iterator[tuple[Cell, ...]]:
    command = Code(f"tolcost verify --general {entry.name}")
    found = forms.of(entry.domain, entry.name)
    domain = entry.domain or "ai.onnx"
    if found is None or not found.is_general:
        reason = "not looked for" if found is None else found.reason or "not for all of its tests"
        yield entry.name, domain, reason, None, None, 0, 0, 0, Verdict("no", False), command
        return
    for row in found.rows:
        yield (
            entry.name,
            domain,
            row.when,
            Code(shown(row.eops)),
            Code(shown(row.flops)),
            len(row.tests),
            row.instances,
            row.proved,
            Verdict("yes", True),
            command,
        )


# ---- the paper's two tables as its reader expects them: operator, definition, FLOPs, EOPs ------

# First the rows of the paper.  Their definition is a correct one: the printed program if it is
# right on every node test, else its correction; both counts are derived from it.  Then the operators of
# the catalogue between the same letters, with general forms.  Evidence and verdicts are in other tables.

FOUR_COLUMNS = (
    Column("operator", "Operator", "code"),
    Column("representation", "Representation", "code"),
    Column("flops", "FLOPs", "form"),
    Column("eops", "EOPs", "form"),
)
_NUMBER_OF_PART = {1: 3, 2: 4}
"""Part 1 of the paper's table of operators is its Table 3, part 2 its Table 4."""


def four_column_tables(
    judged: Sequence[Judged],
    listed: Sequence[Entry],
    forms: GeneralForms,
    record: Report,
    points: Sequence[Measured],
    library: Library,
) -> tuple[ReportTable, ...]:
    """Make Tables 3 and 4, each with the paper's rows in its order, and then the catalogue's."""
    measured = by_operator(points)
    first = min(one.row.operator for one in judged if one.row.part == 2)
    rows: dict[int, list[tuple[Cell, ...]]] = {part: [] for part in _NUMBER_OF_PART}
    for entry in listed:
        spec = entry.spec
        if spec is not None and status_of(entry, record.of(entry.name)) == "verified":
            body, others = body_of(spec.source), measured.get(entry.name, ())
            row = catalogue_row(entry, spec, body, forms, record, others, library)
            rows[1 if entry.name < first else 2].append(row)
    return tuple(
        _four_columns(part, [one for one in judged if one.row.part == part], more)
        for part, more in rows.items()
    )


def _four_columns(part: int, judged: Sequence[Judged], catalogue: Sequence[tuple[Cell, ...]]) -> ReportTable:
    number = _NUMBER_OF_PART[part]
    about = (
        f"The rows of the paper's Table {number}, with programs that compute their operators: as printed "
        "where that is right on all of ONNX's node tests that the signature admits, corrected elsewhere. "
        "FLOPs weigh arithmetic and elementary functions with 1, comparisons and choices with 0; EOPs count "
        "every function. What is wrong with a print, and what was run, is in the table of verdicts. Then "
        "every verified operator of ONNX, under its full name and with its attributes: its forms hold for "
        "every rank, and speak of what the definition names (vol(X), prod(k), |X|[a]); what they were held "
        "to is in the table of general forms. Below FLOPs by weights stands what other tools count, as a "
        "multiple of EOPs (of MACs, for onnx-tool)."
    )
    title = f"Table {number}: ONNX operators in ToLang, part {part} of 2"
    rows = (*map(_paper_row, judged), *catalogue)
    return ReportTable(FOUR_COLUMNS, rows, f"table{number}", title, about, "tolcost report")


def _paper_row(found: Judged) -> tuple[Cell, ...]:
    source, analysis = _holding(found)
    return Code(found.row.signature), Code(body_of(source)), analysis.flops, analysis.eops


def _holding(found: Judged) -> tuple[Source, Analysis]:
    """Return the correct program of a row, and its cost."""
    program = found.program
    if found.holds_up and program.source is not None and program.analysis is not None:
        return program.source, program.analysis
    return found.row.right, found.right


def body_of(source: Source) -> str:
    r"""Return a program as the paper shows one: without comments, declarations and libraries.

    >>> body_of(Source("a", "# why: x\ntol t: R [n]\nattr p: Z\nresult := map(t, exp)\n"))
    'result := map(t, exp)'
    """
    left_out = r"#|tol \w+\??(\.\.\.)?: |attr |static |use |operator "
    return "\n".join(line for line in source.text.splitlines() if line and not re.match(left_out, line))
