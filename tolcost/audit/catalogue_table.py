"""Every operator of ONNX: how it stands, its tests, and its closed forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tolcost.algebra import Poly, parse_text
from tolcost.audit.evidence import CONFORMANCE_MADE
from tolcost.catalogue.listing import Entry
from tolcost.result.conformance import Conformance, Tested
from tolcost.show.document import LONGEST, Cell, Code, Column, Table

_NAME = re.compile(r"[A-Za-z_]\w*")

COLUMNS = (
    Column("operator", "operator"),
    Column("domain", "domain"),
    Column("since", "since", printed=False),
    Column("status", "status"),
    Column("passed", "tests passed", "number"),
    Column("tests", "tests", "number"),
    Column("signature", "signature", "code", printed=False),
    Column("case", "representative test", printed=False),
    Column("eops", "EOPs", "form"),
    Column("macs", "MACs", "form"),
    Column("certainty", "count is"),
    Column("numbers", "lengths that had to be numbers", shown=False),
    Column("reason", "remark", printed=False),
    Column("command", "shown by", "code", printed=False),
)

FORM_COLUMNS = (
    Column("operator", "operator"),
    Column("case", "test"),
    Column("eops", "EOPs", "form"),
    Column("macs", "MACs", "form"),
    Column("certainty", "count is"),
    Column("numbers", "lengths that had to be numbers"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A case chosen to stand for an operator, with its closed forms."""

    case: Tested
    eops: Poly
    macs: Poly


def status_of(entry: Entry, cases: Sequence[Tested]) -> str:
    """How an operator stands: verified, failing, untested, outside the model, or missing."""
    if entry.standing != "defined":
        return "outside the model" if entry.standing == "outside" else "missing"
    judged = [case for case in cases if case.status != "outside"]
    if not judged:
        return "outside the model" if cases else "defined, without a test in onnx"
    failed = sum(case.status == "fail" for case in judged)
    return "verified" if not failed else "failing"


def representative(cases: Iterable[Tested]) -> Shown | None:
    """The passing case with the fewest lengths as numbers and the most telling form that can be read."""
    passed = [case for case in cases if case.status == "pass" and case.eops is not None]
    if not passed:
        return None

    def rank(case: Tested) -> tuple[int, bool, int, int, str]:
        text = case.eops or ""
        symbols = len(set(_NAME.findall(text)))
        return len(case.concrete), len(text) > LONGEST, -symbols, len(text), case.case

    return shown(min(passed, key=rank))


def shown(case: Tested) -> Shown:
    """Read the closed forms of a case back."""
    return Shown(case, parse_text(case.eops or "0"), parse_text(case.macs or "0"))


def catalogue_table(entries: Sequence[Entry], conformance: Conformance) -> Table:
    """One line for each operator."""
    about = (
        f"Every operator of onnx {conformance.onnx}, in all its domains. *Verified* means that the "
        "definition in `specs/onnx` gives the values, the shapes and the counts of all of ONNX's node tests "
        "for it, and that the closed form, derived with every length of a test a symbol, is what the run "
        "counted. The form shown is that of one representative test; `forms.csv` has all of them."
    )
    rows = tuple(_row(entry, conformance.of(entry.name)) for entry in entries)
    return Table(COLUMNS, rows, "catalogue", "The whole catalogue", about, CONFORMANCE_MADE)


def _row(entry: Entry, cases: Sequence[Tested]) -> tuple[Cell, ...]:
    stands = representative(cases)
    return (
        entry.name,
        entry.domain or "ai.onnx",
        ", ".join(map(str, entry.since)),
        status_of(entry, cases),
        sum(case.status == "pass" for case in cases),
        sum(case.status != "outside" for case in cases),
        Code(entry.signature) if entry.signature else None,
        stands.case.case.removeprefix("test_") if stands else "",
        stands.eops if stands else None,
        stands.macs if stands else None,
        stands.case.certainty if stands else "",
        ", ".join(stands.case.concrete) if stands else "",
        _remark(entry, cases),
        Code(f"tolcost ops {entry.name}"),
    )


def _remark(entry: Entry, cases: Sequence[Tested]) -> str:
    if entry.standing == "outside":
        return entry.about
    failing = next((case for case in cases if case.status == "fail"), None)
    if failing is not None and entry.standing == "defined":
        return f"{failing.case.removeprefix('test_')}: {failing.cause}"[:300]
    outside = sum(case.status == "outside" for case in cases)
    return f"{outside} tests outside the model" if outside else ""


def forms_table(conformance: Conformance) -> Table:
    """Every distinct closed form of every operator."""
    about = "Every distinct closed form behind the node tests that pass, with one test that has it."
    rows: dict[tuple[str, str, str], tuple[Cell, ...]] = {}
    for case in conformance.cases:
        if case.status == "pass" and case.eops is not None:
            key = (case.op, case.eops, case.macs or "")
            found = shown(case)
            rows.setdefault(key, _form_row(case, found))
    ordered = tuple(rows[key] for key in sorted(rows))
    return Table(FORM_COLUMNS, ordered, "forms", "Closed forms by test", about, CONFORMANCE_MADE)


def _form_row(case: Tested, found: Shown) -> tuple[Cell, ...]:
    name = case.case.removeprefix("test_")
    return (case.op, name, found.eops, found.macs, case.certainty, ", ".join(case.concrete))


def standing_counts(entries: Sequence[Entry], conformance: Conformance) -> dict[str, int]:
    """How many operators there are of each status."""
    found: dict[str, int] = {}
    for entry in entries:
        status = status_of(entry, conformance.of(entry.name))
        found[status] = found.get(status, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
