"""The catalogue: every operator with its definition and its forms, and what general forms were held to.

Forms use names of the definition, and hold for every rank unless they state otherwise; for an operator
without one, the form of one test is shown and marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from tolcost.algebra import Poly
from tolcost.apps.paper.catalogue import representative, status_of
from tolcost.apps.paper.peers import CONFORMANCE_MADE, by_operator
from tolcost.catalogue.conformance import Report, Result
from tolcost.catalogue.general.record import GeneralForms, GeneralRow, shown
from tolcost.catalogue.listing import Entry, attributes
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Source
from tolcost.result.operators import length_along_one
from tolcost.result.other_counts import COMPILED, ONNX_TOOL, Measured
from tolcost.show.document import Cell, Code, Column, Link, ReportTable, Verdict, rounded
from tolcost.show.tables import broken

# ---- general forms ---------------------------------------------------------------------------


GENERAL_MADE = "make general report"

COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain", printed=False),
    Column("when", "holds where"),
    Column("eops", "EOPs", "code", group="EOPs"),
    Column("flops", "FLOPs", "code", group="EOPs"),
    Column("tests", "node tests held to", "number", group="held to"),
    Column("instances", "instances in all", "number", group="held to"),
    Column("proved", "proved at all lengths of", "number", group="held to"),
    Column("general", "general"),
    Column("command", "shown by", "code", printed=False),
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
            yield f"{name} {' to '.join(times)}"


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
        f"{len(general)} of {len(verified)} verified operators have a general form. It holds for every"
        " rank unless a row says otherwise, and uses the names of the definition: vol(X) is the "
        "volume of a tensor, prod(k) the product of a vector, |X|[a] a length, rows(X) the product of"
        " all lengths but the last, and #max the number of applications of max along one dimension. "
        "Each form was found from ONNX's tests and from cases near them (other lengths, attributes "
        f"and inputs). It gives the counts of all {held:,} node tests of these operators when their "
        f"lengths and attributes are put in; `data/general.json` has the values. In {proved:,} of "
        f"{cases:,} instances the form is proved equal to the count for all lengths of the instance; "
        "in the others it was checked at points. At ranks and attributes that no instance has, it is "
        "not checked."
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


# ---- the catalogue ---------------------------------------------------------------------------


_FORM, _FLOPS, _MOST_LINES = 56, 18, 8
"""The longest line of a form, that of FLOPs, and the most lines of a cell; the CSV has all of them."""
CATALOGUE_COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain"),
    Column("since", "since", shown=False),
    Column("status", "status"),
    Column("passed", "tests passed", "number", shown=False),
    Column("tests", "tests", "number", shown=False),
    Column("of", "tests"),
    Column("signature", "parameters", "code", printed=False),
    Column("general", "EOPs, at every rank", "code", width=_FORM),
    Column("flops", "FLOPs by weights", "code", width=_FLOPS),
    Column("others", "others over ours", "code", width=24),
    Column("case", "representative test", printed=False),
    Column("eops", "EOPs of that test", "form", printed=False),
    Column("macs", "MACs of that test", "form", printed=False),
    Column("certainty", "count is", printed=False),
    Column("numbers", "lengths that had to be numbers", shown=False),
    Column("reason", "remark", printed=False),
    Column("definition", "definition", printed=False),
    Column("cases", "EOPs in every case", "code", shown=False),
    Column("flops_cases", "FLOPs in every case", "code", shown=False),
    Column("command", "shown by", "code", printed=False),
)


def catalogue_table(
    listed: Sequence[Entry],
    forms: GeneralForms,
    record: Report,
    recorded: Report,
    points: Sequence[Measured],
    library: Library,
) -> ReportTable:
    """Make a table with one line for each operator; ``recorded`` has the cases of a domain beyond ONNX."""
    measured = by_operator(points)
    about = (
        f"Every operator of onnx {record.onnx} in all its domains, and of com.microsoft, the domain of"
        " onnxruntime. A name leads to the definition. *Verified* means two things: the definition "
        "gives the values, the shapes and the counts of all of ONNX's node tests for the operator, "
        "and the closed form, derived with a symbol for every length of a test, gives the count of "
        "the run. Operators of com.microsoft are checked against cases recorded from onnxruntime "
        "(`tolcost verify --domain com.microsoft`). EOPs hold for every rank and use the names of the"
        " definition (vol(X), prod(k), |X|[a]); [general.md](general.md) says how they were checked. "
        "An operator without a general form has that of one test here; [forms.md](forms.md) has all "
        "of them. FLOPs by weights count comparisons and choices as 0. *Others over ours* is XLA's "
        "count over EOPs, and onnx-tool's over MACs, or over EOPs where there are no MACs."
    )
    rows = tuple(
        _catalogue_row(
            entry, forms, recorded if entry.domain == recorded.domain else record, measured, library
        )
        for entry in sorted(listed, key=lambda entry: entry.domain)
    )
    title = "The whole catalogue"
    return ReportTable(CATALOGUE_COLUMNS, rows, "catalogue", title, about, CONFORMANCE_MADE, by="domain")


def _catalogue_row(
    entry: Entry,
    forms: GeneralForms,
    record: Report,
    measured: Mapping[str, Sequence[Measured]],
    library: Library,
) -> tuple[Cell, ...]:
    cases = record.of(entry.name)
    stands = representative(cases)
    passed = sum(case.status == "pass" for case in cases)
    tests = sum(case.status != "outside" for case in cases)
    file = entry.spec.source.name if entry.spec else ""
    general, flops = _general_cells(entry, forms, record, library)
    return (
        Link(entry.name, f"../{file}") if file else entry.name,
        entry.domain or "ai.onnx",
        ", ".join(map(str, entry.since)),
        status_of(entry, cases),
        passed,
        tests,
        f"{passed} of {tests}" if tests else "",
        Code(parameters(entry.spec)) if entry.spec else None,
        Code(_fitted(general, _FORM)),
        Code(_fitted(flops, _FLOPS)),
        Code("\n".join(witnesses(measured.get(entry.title, ())))),
        stands.case.name.removeprefix("test_") if stands else "",
        stands.eops if stands else None,
        stands.macs if stands else None,
        stands.case.certainty or "" if stands else "",
        ", ".join(stands.case.concrete) if stands else "",
        _remark(entry, cases),
        file,
        Code(general),
        Code(flops),
        Code(f"tolcost ops {entry.title}"),
    )


def _fitted(form: str, width: int) -> str:
    """Leave out the cases that a cell has no room for."""
    lines = form.split("\n")
    ends = list(accumulate(len(broken(line, width)) for line in lines))
    if ends[-1] <= _MOST_LINES:
        return form
    fits = sum(end < _MOST_LINES for end in ends)
    return "\n".join((*lines[:fits], f"{len(lines) - fits} more: general.md"))


def _remark(entry: Entry, cases: Sequence[Result]) -> str:
    if entry.standing == "outside":
        return entry.about
    failing = next((case for case in cases if case.status == "fail"), None)
    if failing is not None and entry.standing == "defined":
        return f"{failing.name.removeprefix('test_')}: {failing.cause}"[:300]
    outside = sum(case.status == "outside" for case in cases)
    return f"{outside} tests outside the model" if outside else ""


def _general_cells(entry: Entry, forms: GeneralForms, record: Report, library: Library) -> tuple[str, str]:
    """Return EOPs and FLOPs of an operator at every rank, else those of one test."""
    rows, spec = _rows(entry, forms), entry.spec
    if not rows or spec is None:
        return ("" if spec is None else _of_one_test(entry, record)), ""
    window = length_along_one(spec, library, record.of(entry.name))
    eops = [*(_told(row.eops, row) for row in rows), *([f"with {window}"] if window else [])]
    flops = list(dict.fromkeys(shown(row.flops) for row in rows))
    same = all(row.eops == row.flops for row in rows)
    return "\n".join(eops), "= EOPs" if same else " or\n".join(flops)


def body_of(source: Source) -> str:
    r"""Return a program as the paper shows one: without comments, declarations and libraries.

    >>> body_of(Source("a", "# why: x\ntol t: R [n]\nattr p: Z\nresult := map(t, exp)\n"))
    'result := map(t, exp)'
    """
    left_out = r"#|tol \w+\??(\.\.\.)?: |attr |static |use |operator "
    return "\n".join(line for line in source.text.splitlines() if line and not re.match(left_out, line))
