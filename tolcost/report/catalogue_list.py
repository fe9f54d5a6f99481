"""The operator catalogue as a list: each operator with its standing, its tests and its closed form.

What ONNX's tests said is read back, unless they were run for the occasion; a definition from a
user's own folder has no such record, and is never given that of the operator it replaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tolcost.algebra import to_text
from tolcost.catalogue.listing import Entry
from tolcost.catalogue.specs import FOLDER_OF_DOMAIN, Library
from tolcost.diagnostics import visible
from tolcost.report.by_rank import RankForm, forms_by_rank
from tolcost.report.outputs_named import Named, in_output_lengths
from tolcost.result.conformance import Conformance, Tested
from tolcost.show.escape import markdown_code, markdown_text
from tolcost.show.json import Json, document

Status = Literal["verified", "failing", "untested", "outside", "missing"]

_WIDEST_FORM = 56
_LISTED_RANK = 2
_WORDS: dict[Status, str] = {
    "verified": "verified by ONNX's tests",
    "failing": "failing some of them",
    "untested": "without a test",
    "outside": "outside the model",
    "missing": "without a definition",
}


@dataclass(frozen=True, slots=True)
class Record:
    """What ONNX's tests said; ``fresh`` where they were run just now."""

    found: Conformance | None = None
    fresh: bool = False

    def of(self, entry: Entry) -> tuple[Tested, ...]:
        """The tests of an operator, as far as they are about its definition."""
        if self.found is None or entry.domain not in FOLDER_OF_DOMAIN:
            return ()
        ours = entry.spec is None or entry.spec.shipped
        return self.found.of(entry.name) if ours or self.fresh else ()

    @property
    def source(self) -> str:
        """Where the figures come from."""
        if self.found is None:
            return "ONNX's tests: not run; --verify runs them"
        if self.fresh:
            return f"ONNX's tests: those of onnx {self.found.onnx}, run just now"
        return (
            f"ONNX's tests: those of onnx {self.found.onnx}, as stored with tolcost by `make conformance`; "
            "--verify runs them now"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """An operator of the list; ``form`` is what it costs at the rank shown."""

    entry: Entry
    cases: tuple[Tested, ...]
    form: RankForm | None

    @property
    def status(self) -> Status:
        """How it stands."""
        if self.entry.standing != "defined":
            return "outside" if self.entry.standing == "outside" else "missing"
        if not self.judged:
            return "outside" if self.cases else "untested"
        return "failing" if any(case.status == "fail" for case in self.judged) else "verified"

    @property
    def judged(self) -> tuple[Tested, ...]:
        """The tests that are not outside the model."""
        return tuple(case for case in self.cases if case.status != "outside")

    @property
    def passed(self) -> int:
        """How many tests pass."""
        return sum(case.status == "pass" for case in self.judged)


def listed(entry: Entry, library: Library, record: Record) -> Listed:
    """Put together what the list says of an operator."""
    cases = record.of(entry)
    if entry.spec is None:
        return Listed(entry, cases, None)
    first = forms_by_rank(entry.spec, library, cases, (_LISTED_RANK,))
    others = () if _usable(first) else forms_by_rank(entry.spec, library, cases)
    return Listed(entry, cases, next(iter((*_usable(first), *reversed(_usable(others)))), None))


def _usable(forms: Sequence[object]) -> tuple[RankForm, ...]:
    return tuple(form for form in forms if isinstance(form, RankForm))


def eops_of(form: RankForm) -> Named:
    """The EOPs of a form, in the lengths of its output where that is shorter."""
    return in_output_lengths(form.eops, form.output, form.lengths)


# ---- text --------------------------------------------------------------------------------


def list_text(operators: Sequence[Listed], record: Record) -> str:
    """One line for each operator, by domain, and the figures at the end."""
    rows = [(one.entry.name, one.status, _figure(one), _form(one), _last(one)) for one in operators]
    heads = ("operator", "status", "tests", "EOPs", "signature")
    widths = [max(len(row[n]) for row in (heads, *rows)) for n in range(4)]
    lines = [_line(heads, widths)]
    together = zip(operators, rows, strict=True)
    for domain, group in groupby(together, key=lambda pair: pair[0].entry.domain):
        lines += ["", visible(domain or "ai.onnx"), *(_line(row, widths) for _, row in group)]
    return "\n".join((*lines, "", *_notes(operators, record))) + "\n"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True))
    return "  ".join((*cells, row[4])).rstrip()


def _notes(operators: Sequence[Listed], record: Record) -> Iterator[str]:
    counts = Counter(one.status for one in operators)
    figures = ", ".join(f"{counts[status]} {words}" for status, words in _WORDS.items() if counts[status])
    passed, judged = sum(one.passed for one in operators), sum(len(one.judged) for one in operators)
    yield f"{len(operators)} operators: {figures}; {passed:,} of {judged:,} tests pass"
    yield record.source
    yield (
        "EOPs: every length a symbol (that of an output is named after it), `...` of rank 2, attributes at "
        "their defaults, optional inputs left out."
    )
    yield "† marks values or a rank taken from a test; `tolcost ops NAME` says which, and shows more."


def _figure(one: Listed) -> str:
    return f"{one.passed}/{len(one.judged)}" if one.judged else "-"


def _form(one: Listed) -> str:
    if one.form is None:
        return "-"
    text = to_text(eops_of(one.form).form)
    short = text if len(text) <= _WIDEST_FORM else f"{text[: _WIDEST_FORM - 1]}…"
    return visible(short) + (" †" if one.form.assumed or one.form.rank not in (None, _LISTED_RANK) else "")


def _last(one: Listed) -> str:
    return visible(one.entry.signature if one.entry.standing == "defined" else one.entry.about)


# ---- data --------------------------------------------------------------------------------


def list_json(operators: Sequence[Listed], record: Record) -> str:
    """Give the document of ``ops``."""
    return document("ops", {**figures_json(record), "operators": [record_json(one) for one in operators]})


def figures_json(record: Record) -> dict[str, Json]:
    """Say where the figures of the tests come from."""
    source = "none" if record.found is None else "run" if record.fresh else "stored"
    return {"onnx": None if record.found is None else record.found.onnx, "tests": source}


def record_json(one: Listed) -> dict[str, Json]:
    """Give what the list says of an operator."""
    entry = one.entry
    return {
        "name": entry.name,
        "domain": entry.domain or "ai.onnx",
        "standing": entry.standing,
        "status": one.status,
        "since": list(entry.since),
        "signature": entry.signature,
        "about": entry.about,
        "spec": None if entry.spec is None else entry.spec.source.name,
        "tests": {"cases": len(one.judged), "pass": one.passed, "outside": len(one.cases) - len(one.judged)},
        "form": None if one.form is None else form_json(one.form),
    }


def form_json(form: RankForm) -> dict[str, Json]:
    """Give a closed form with what it is for; expressions are plain text in the lengths of inputs."""
    return {
        "rank": form.rank,
        "inputs": list(form.inputs),
        "output": f"{form.output} [{', '.join(map(to_text, form.lengths))}]" if form.output else None,
        "eops": to_text(form.eops),
        "macs": to_text(form.macs),
        "count": form.status,
        "assumed": form.assumed or None,
        "test": form.test,
    }


def list_markdown(operators: Sequence[Listed], record: Record) -> str:
    """Give the catalogue as a table."""
    rows = ["| operator | status | tests | EOPs | signature or reason |", "| --- | --- | --- | --- | --- |"]
    for one in operators:
        entry = one.entry
        form = "" if one.form is None else markdown_code(eops_of(one.form).text)
        last = markdown_code(entry.signature) if entry.signature else markdown_text(entry.about)
        rows.append(f"| {markdown_text(entry.title)} | {one.status} | {_figure(one)} | {form} | {last} |")
    notes = (f"{markdown_text(note)}  " for note in _notes(operators, record))
    return "\n".join((*rows, "", *notes)) + "\n"
