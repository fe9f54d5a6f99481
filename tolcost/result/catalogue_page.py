"""The catalogue for display: operators as a list and as pages, and libraries of programs.

Each operator has its status, its tests and its closed form.
Results of ONNX's tests are read from a file unless they have just been run.  A definition from a
user's own folder has no recorded results, and never gets those of the operator that it replaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from tolcost.algebra import Poly, to_text
from tolcost.catalogue.conformance import Report, Result
from tolcost.catalogue.general.record import OperatorForms
from tolcost.catalogue.listing import Entry, LibraryProgram, ProgramLibrary, attributes
from tolcost.catalogue.specs import FOLDER_OF_DOMAIN, Library, Spec
from tolcost.certainty import Certainty
from tolcost.cost import count
from tolcost.cost.derive import Derivation, derive
from tolcost.diagnostics import visible
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import lower, read_program
from tolcost.result.conformance import (
    eops_text,
    operator_json,
    operator_lines,
    stored_forms,
)
from tolcost.result.derivation import chain_lines
from tolcost.result.operators import (
    Named,
    NoForm,
    RankForm,
    forms_by_rank,
    in_output_lengths,
    is_rank_generic,
    length_along_one,
)
from tolcost.show.document import (
    Cell,
    Code,
    Column,
    Document,
    Fact,
    Facts,
    Heading,
    Json,
    Lines,
    ReportTable,
    Verdict,
    document,
)
from tolcost.show.fit import BOLD, GREEN, RED, break_words, paint
from tolcost.show.shorten import short_form
from tolcost.show.tables import markdown_code, markdown_text
from tolcost.show.text import hanging, text

ListStatus = Literal["verified", "failing", "untested", "outside", "missing"]

_WIDEST_FORM = 56
_LISTED_RANK = 2
"""The list shows the form for this rank; another one only if this rank has none."""
_WORDS: dict[ListStatus, str] = {
    "verified": "verified by ONNX's tests",
    "failing": "failing some of them",
    "untested": "without a test",
    "outside": "outside the model",
    "missing": "without a definition",
}


class RecordedTests(Struct, frozen=True):
    """Results of ONNX's node tests; ``fresh`` if they have just been run."""

    found: Report | None = None
    fresh: bool = False

    def of(self, entry: Entry) -> tuple[Result, ...]:
        """Return the test results of an operator, if they apply to its definition."""
        if self.found is None or entry.domain not in FOLDER_OF_DOMAIN:
            return ()
        ours = entry.spec is None or entry.spec.shipped
        return self.found.of(entry.name) if ours or self.fresh else ()

    @property
    def source(self) -> str:
        """Where the results come from, in words."""
        if self.found is None:
            return "ONNX's tests: not run; --verify runs them"
        if self.fresh:
            return f"ONNX's tests: those of onnx {self.found.onnx}, run just now"
        return (
            f"ONNX's tests: those of onnx {self.found.onnx}, as stored with tolcost by `make conformance`; "
            "--verify runs them now"
        )


class Listed(Struct, frozen=True, eq=False):
    """An operator in the list; ``form`` is its cost at the rank shown."""

    entry: Entry
    cases: tuple[Result, ...]
    form: RankForm | None

    @property
    def status(self) -> ListStatus:
        """Whether tests verify the operator, or why they do not."""
        if self.entry.standing != "defined":
            return "outside" if self.entry.standing == "outside" else "missing"
        if not self.judged:
            return "outside" if self.cases else "untested"
        return "failing" if any(case.status == "fail" for case in self.judged) else "verified"

    @property
    def judged(self) -> tuple[Result, ...]:
        """The tests that lie within the model."""
        return tuple(case for case in self.cases if case.status != "outside")

    @property
    def passed(self) -> int:
        """The number of tests that pass."""
        return sum(case.status == "pass" for case in self.judged)


def listed(entry: Entry, library: Library, record: RecordedTests) -> Listed:
    """Collect the tests and the closed form of an operator for the list."""
    cases = record.of(entry)
    if entry.spec is None:
        return Listed(entry, cases, None)
    first = forms_by_rank(entry.spec, library, cases, (_LISTED_RANK,))
    others = () if _usable(first) else forms_by_rank(entry.spec, library, cases)
    return Listed(entry, cases, next(iter((*_usable(first), *reversed(_usable(others)))), None))


def _usable(forms: Sequence[object]) -> tuple[RankForm, ...]:
    return tuple(form for form in forms if isinstance(form, RankForm))


def eops_of(form: RankForm) -> Named:
    """Return the EOPs of a form, in the lengths of its output where that is shorter."""
    return in_output_lengths(form.eops, form.output, form.lengths)


# ---- text --------------------------------------------------------------------------------


def list_written(
    operators: Sequence[Listed],
    record: RecordedTests,
    form: str,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """Write the list in one of the formats."""
    if form == "json":
        found: list[Json] = [record_json(one) for one in operators]
        return document("ops", {**figures_json(record), "operators": found})
    if form == "md":
        return _list_markdown(operators, record)
    return _list_text(operators, record, colour, width)


_LIST = (
    Column("operator", "operator"),
    Column("status", "status", drop=2),
    Column("tests", "tests", "number"),
    Column("eops", "EOPs", "form"),
    Column("mark", ""),
    Column("signature", "signature", drop=1),
)
_GOOD: dict[ListStatus, bool] = {"verified": True, "failing": False}


def _list_text(operators: Sequence[Listed], record: RecordedTests, colour: bool, width: int | None) -> str:
    """Write one line for each operator, by domain, and the totals at the end."""
    rows: list[tuple[Cell, ...]] = []
    for domain, group in groupby(operators, key=lambda one: one.entry.domain):
        rows += [("",) * len(_LIST), (domain or "ai.onnx", *[""] * (len(_LIST) - 1)), *map(_list_row, group)]
    notes = Lines(tuple(_notes(operators, record)))
    return text((ReportTable(_LIST, rows), notes), colour, width)


def _list_row(one: Listed) -> tuple[Cell, ...]:
    form: Cell = "-" if one.form is None else short_form(eops_of(one.form).form, _WIDEST_FORM)
    marked = one.form is not None and (one.form.assumed or one.form.rank not in (None, _LISTED_RANK))
    status = Verdict(one.status, _GOOD.get(one.status))
    return Code(one.entry.name), status, _figure(one), form, "†" if marked else "", Code(_last(one))


def _notes(operators: Sequence[Listed], record: RecordedTests) -> Iterator[str]:
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


def _last(one: Listed) -> str:
    return visible(one.entry.signature if one.entry.standing == "defined" else one.entry.about)


# ---- data --------------------------------------------------------------------------------


def figures_json(record: RecordedTests) -> dict[str, Json]:
    """Return the version of onnx and the origin of the test results."""
    source = "none" if record.found is None else "run" if record.fresh else "stored"
    return {"onnx": None if record.found is None else record.found.onnx, "tests": source}


def record_json(one: Listed) -> dict[str, Json]:
    """Return the row of an operator as data."""
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
    """Return a closed form and its setting; expressions are plain text in the lengths of inputs."""
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


def _list_markdown(operators: Sequence[Listed], record: RecordedTests) -> str:
    """Write the list as a Markdown table."""
    rows = ["| operator | status | tests | EOPs | signature or reason |", "| --- | --- | --- | --- | --- |"]
    for one in operators:
        entry = one.entry
        form = "" if one.form is None else markdown_code(eops_of(one.form).text)
        last = markdown_code(entry.signature) if entry.signature else markdown_text(entry.about)
        rows.append(f"| {markdown_text(entry.title)} | {one.status} | {_figure(one)} | {form} | {last} |")
    notes = (f"{markdown_text(note)}  " for note in _notes(operators, record))
    return "\n".join((*rows, "", *notes)) + "\n"


_DERIVED_RANK = 2
"""A page derives the form for this rank; another one only if this rank cannot be derived."""
_MOST_TESTS = 6
"""At most this many failing tests are named."""


class OperatorPage(Struct, frozen=True, eq=False):
    """An operator with its closed forms, and the derivation of one of them."""

    listed: Listed
    forms: tuple[RankForm | NoForm, ...] = ()
    explained: RankForm | None = None
    derivation: Derivation | None = None
    general: OperatorForms | None = None
    window: str | None = None


def page_of(listed: Listed, library: Library) -> OperatorPage:
    """Compute the closed forms of an operator, and derive one of them."""
    spec = listed.entry.spec
    if spec is None:
        return OperatorPage(listed)
    forms = forms_by_rank(spec, library, listed.cases)
    derived = [form for form in forms if isinstance(form, RankForm) and form.lowered is not None]
    preferred = [form for form in derived if form.rank in (None, _DERIVED_RANK)]
    explained = next((form for form in (*preferred, *reversed(derived))), None)
    lowered = None if explained is None else explained.lowered
    return OperatorPage(
        listed,
        forms,
        explained,
        None if lowered is None else derive(lowered.program),
        stored_forms(spec),
        length_along_one(spec, library, listed.cases),
    )


# ---- text --------------------------------------------------------------------------------


def pages_written(
    pages: Sequence[OperatorPage],
    record: RecordedTests,
    form: str,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """Write the pages one after another, in one of the formats."""
    if form == "json":
        return document("ops", {**figures_json(record), "operators": list(map(_page_json, pages))})
    if form == "md":
        return "\n".join("\n".join(_markdown(page, record)) + "\n" for page in pages)
    return "\n".join(_page(page, record, colour, width) for page in pages)


def _page(page: OperatorPage, record: RecordedTests, colour: bool, width: int | None) -> str:
    """Write a page; only the definition may be wider than the terminal, since it is quoted as it is."""

    def fitted(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            yield from [line] if width is None else hanging(line, width)

    def heading(title: str) -> tuple[str, ...]:
        return "", paint(title, BOLD * colour)

    entry, spec = page.listed.entry, page.listed.entry.spec
    since = f", since version {', '.join(map(str, entry.since))}" if entry.since else ""
    title = Heading(visible(entry.name), f"{visible(entry.domain or 'ai.onnx')}{since}")
    lines = [*text((title,), colour, width).splitlines()]
    lines += (f"  {line}" for line in _wrapped(visible(entry.about), width))
    lines.append("")
    if spec is not None:
        lines += fitted([f"  {visible(entry.signature)}"])
        lines += _attributes(spec, width)
    good = _GOOD.get(page.listed.status)
    style = "" if good is None or not colour else GREEN if good else RED
    lines += (paint(line, style) for line in fitted([f"  {_standing(page.listed)}"]))
    known = page.listed.cases or record.found is None
    lines += fitted([f"  {record.source if known else 'no test of ONNX is about it'}"])
    if spec is not None:
        if page.general is not None and page.general.is_general:
            lines += (*heading("General form"), *fitted(map(visible, operator_lines(page.general))))
            lines += fitted([f"  with {visible(page.window)} for one dimension"] if page.window else [])
        first, *forms = _form_lines(page, spec)
        lines += (*heading(first), *fitted(forms))
        lines += _derivation(page, spec, colour, width)
        lines += (*heading(f"Definition, {visible(spec.source.name)}"), "")
        lines += (f"  {visible(line)}".rstrip() for line in spec.source.text.splitlines())
    return "\n".join(lines) + "\n"


def _wrapped(said: str, width: int | None) -> list[str]:
    return break_words(said, 100 if width is None else width - 4)


def _attributes(spec: Spec, width: int | None) -> Iterator[str]:
    found = ", ".join(map(visible, attributes(spec)))
    if found:
        first, *rest = _wrapped(f"attributes {found}", width)
        yield f"  {first}"
        yield from (f"    {line}" for line in rest)


def _standing(one: Listed) -> str:
    if one.status == "outside":
        return "outside the model: it is no ToL computation, and has no cost here"
    if one.status == "missing":
        return "without a definition"
    if not one.judged:
        return "defined"
    text = f"{one.status}: {one.passed} of {len(one.judged)} node tests pass in value, shape and count"
    failing = [case.name for case in one.judged if case.status == "fail"][:_MOST_TESTS]
    return text + (f"; not {', '.join(failing)}" if failing else "")


def _form_lines(page: OperatorPage, spec: Spec) -> Iterator[str]:
    if is_rank_generic(spec):
        yield "Closed forms, by how many lengths `...` stands for"
    else:
        yield "Closed form"
    yield "  every length a symbol, attributes at their defaults, optional inputs left out"
    for form in page.forms:
        yield ""
        yield from _form_text(form, spec)


def _form_text(form: RankForm | NoForm, spec: Spec) -> Iterator[str]:
    label = "" if form.rank is None else f"{form.rank}  "
    space = " " * len(label)
    if isinstance(form, NoForm):
        yield f"  {label}none: {visible(form.reason)}"
        return
    inputs = ", ".join(form.inputs) or "no tensors"
    lengths = f" -> {form.output} [{', '.join(map(to_text, form.lengths))}]" if form.output else ""
    eops, macs = eops_of(form), in_output_lengths(form.macs, form.output, form.lengths)
    yield f"  {label}{visible(inputs)}{visible(lengths)}"
    yield f"  {space}EOPs  {visible(eops.text)}"
    if macs.form != 0:
        yield f"  {space}MACs  {visible(to_text(macs.form))}"
    yield from (f"  {space}{visible(note)}" for note in _remarks(form, spec))


def _remarks(form: RankForm, spec: Spec) -> Iterator[str]:
    if form.status != "exact":
        yield f"the count is {form.status}" if form.status == "upper bound" else f"the count {form.status}"
    if form.assumed:
        yield form.assumed
    if len(spec.outputs) > 1:
        yield f"for the output {form.output or spec.outputs[0].name} alone"
    if form.test is None and form.rank is not None and spec.shipped:
        yield "no node test has this rank"


def _derivation(page: OperatorPage, spec: Spec, colour: bool, width: int | None) -> Iterator[str]:
    if page.derivation is None or page.explained is None:
        return
    rank = "" if page.explained.rank is None else f", `...` of rank {page.explained.rank}"
    yield ""
    yield paint(f"Derivation{rank}", BOLD * colour)
    narrow = None if width is None else width - 2
    yield ""
    lines = chain_lines(page.derivation, spec.source.name, colour, narrow)
    while lines and not lines[-1]:
        lines.pop()
    yield from (f"  {line}".rstrip() for line in lines)


# ---- data --------------------------------------------------------------------------------


def _page_json(page: OperatorPage) -> Json:
    spec = page.listed.entry.spec
    forms: list[Json] = [
        form_json(form) if isinstance(form, RankForm) else {"rank": form.rank, "none": form.reason}
        for form in page.forms
    ]
    return {
        **record_json(page.listed),
        "attributes": [] if spec is None else list(attributes(spec)),
        "general": operator_json(page.general),
        "window": page.window,
        "forms": forms,
        "derivation": None if page.derivation is None else _steps(page),
        "definition": None if spec is None else spec.source.text,
        "cases": [
            {"name": case.name, "status": case.status, "eops": case.eops} for case in page.listed.cases
        ],
    }


def _steps(page: OperatorPage) -> Json:
    assert page.derivation is not None
    chains: list[Json] = [
        {
            "name": chain.name,
            "eops": to_text(chain.total),
            "steps": [{"text": step.text_after, "reason": step.reason} for step in chain.steps],
        }
        for chain in page.derivation.chains
    ]
    return {"rank": page.explained.rank if page.explained else None, "chains": chains}


def _markdown(page: OperatorPage, record: RecordedTests) -> Iterator[str]:
    entry, spec = page.listed.entry, page.listed.entry.spec
    yield from (f"## {markdown_text(entry.title)}", "", markdown_text(entry.about), "")
    yield from (f"{markdown_text(_standing(page.listed))}. {markdown_text(record.source)}.", "")
    if spec is None:
        return
    yield from (markdown_code(entry.signature), "")
    if page.general is not None and page.general.is_general:
        every = (markdown_code(eops_text(row)) for row in page.general.rows)
        yield from (f"For every rank: {'; '.join(every)}.", "")
    yield from ("| rank | inputs | EOPs | remark |", "| --- | --- | --- | --- |")
    for form in page.forms:
        rank = "" if form.rank is None else form.rank
        if isinstance(form, NoForm):
            yield f"| {rank} | | | {markdown_text(form.reason)} |"
        else:
            cells = (markdown_code(", ".join(form.inputs)), markdown_code(eops_of(form).text))
            yield f"| {rank} | {cells[0]} | {cells[1]} | {markdown_text('; '.join(_remarks(form, spec)))} |"
    yield from ("", *(f"    {visible(line)}".rstrip() for line in spec.source.text.splitlines()))


# === Libraries of programs as lists and pages: each program with its lines, its cost and its checks.


class CostedProgram(Struct, frozen=True, eq=False):
    """A program of a library with its cost in symbolic lengths; data decides the lengths in ``by_data``."""

    program: LibraryProgram
    eops: Poly
    status: Certainty
    by_data: tuple[str, ...]

    @property
    def certainty(self) -> str:
        """The status of its counts, with the names of the data-dependent lengths."""
        return f"{self.status}: {', '.join(self.by_data)}" if self.by_data else self.status

    @property
    def agreement(self) -> str:
        """The reference that it was checked against, and the number of inputs."""
        said = self.program
        return f"{said.agreed}, {said.inputs} inputs" if said.inputs else said.agreed


def costed(program: LibraryProgram) -> CostedProgram:
    """Count a program with the shapes and attributes that its library gives for it."""
    parsed = read_program(program.source)
    counts = count(lower(parsed, arguments(parsed.program, program.shapes, program.attrs)).program)
    forms = (*counts.histogram.values(), *counts.index.values(), *counts.atoms.values())
    found = {symbol.name for form in forms for symbol in form.free if symbol.kind == "data"}
    return CostedProgram(
        program, counts.eops, counts.status, tuple(sorted(found, key=lambda name: (len(name), name)))
    )


# ---- for people ------------------------------------------------------------------------------


def libraries_document(libraries: Sequence[ProgramLibrary]) -> Document:
    """Return a table with one line for each library."""
    columns = (
        Column("library", "library"),
        Column("programs", "programs", "number"),
        Column("title", "title"),
    )
    rows = tuple((one.name, len(one.programs), one.title) for one in libraries)
    return (ReportTable(columns, rows),)


def library_document(library: ProgramLibrary, programs: Sequence[CostedProgram]) -> Document:
    """Return a table with one line for each program, under a description of the library."""
    columns = (
        Column("program", "program"),
        Column("lines", "lines", "number"),
        Column("eops", "EOPs", "form"),
        Column("status", "count is"),
        Column("about", "about"),
    )
    rows = tuple(
        (one.program.name, one.program.lines, one.eops, one.certainty, one.program.about) for one in programs
    )
    said = (library.about, *([f"Held to {library.agreed}."] if library.agreed else []))
    return Heading(library.title, f"specs/{library.name}"), Lines(said), ReportTable(columns, rows)


def program_document(one: CostedProgram) -> Document:
    """Return the cost, the checks and the text of a program."""
    program = one.program
    facts = [Fact("EOPs", Code(to_text(one.eops))), Fact("status", one.certainty)]
    if program.agreed:
        facts.append(Fact("held to", f"{one.agreement}: {program.tests}"))
    text = tuple(program.source.text.splitlines())
    return Heading(program.name, program.source.name), Facts(tuple(facts)), Lines(text)


# ---- for scripts -----------------------------------------------------------------------------


def libraries_json(libraries: Sequence[ProgramLibrary]) -> str:
    """Write the document of ``ops --library all``."""
    found: list[Json] = [
        {"name": one.name, "title": one.title, "about": one.about, "programs": len(one.programs)}
        for one in libraries
    ]
    return document("libraries", {"libraries": found})


def library_json(library: ProgramLibrary, programs: Sequence[CostedProgram]) -> str:
    """Write the document of ``ops --library``."""
    found: list[Json] = [program_json(one) for one in programs]
    return document("library", {"name": library.name, "title": library.title, "programs": found})


def program_json(one: CostedProgram) -> dict[str, Json]:
    """Return the description, the cost and the checks of a program as data."""
    said = one.program
    return {
        "name": said.name,
        "file": said.source.name,
        "role": said.role or None,
        "about": said.about,
        "lines": said.lines,
        "eops": to_text(one.eops),
        "count": one.status,
        "agreed": said.agreed or None,
        "inputs": said.inputs,
        "tests": said.tests or None,
    }
