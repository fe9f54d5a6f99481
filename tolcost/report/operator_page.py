"""Everything about one operator: its standing, its closed forms by rank, a derivation, its definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tolcost.algebra import to_text
from tolcost.catalogue.listing import attributes
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Derivation, derive
from tolcost.diagnostics import visible
from tolcost.report.by_rank import NoForm, RankForm, forms_by_rank, is_rank_generic
from tolcost.report.catalogue_list import Listed, Record, eops_of, figures_json, form_json, record_json
from tolcost.report.derivation import derivation_text
from tolcost.report.outputs_named import in_output_lengths
from tolcost.show.escape import markdown_code, markdown_text
from tolcost.show.json import Json, document

_DERIVED_RANK = 2
_MOST_TESTS = 6


@dataclass(frozen=True, slots=True, eq=False)
class OperatorPage:
    """An operator with its forms, and the derivation of one of them."""

    listed: Listed
    forms: tuple[RankForm | NoForm, ...] = ()
    explained: RankForm | None = None
    derivation: Derivation | None = None


def page_of(listed: Listed, library: Library) -> OperatorPage:
    """Work out what a page shows."""
    spec = listed.entry.spec
    if spec is None:
        return OperatorPage(listed)
    forms = forms_by_rank(spec, library, listed.cases)
    derived = [form for form in forms if isinstance(form, RankForm) and form.lowered is not None]
    preferred = [form for form in derived if form.rank in (None, _DERIVED_RANK)]
    for form in (*preferred, *reversed(derived)):
        if form.lowered is not None:
            return OperatorPage(listed, forms, form, derive(form.lowered.program))
    return OperatorPage(listed, forms)


# ---- text --------------------------------------------------------------------------------


def pages_text(pages: Sequence[OperatorPage], record: Record) -> str:
    """Give the pages one after another."""
    return "\n".join("\n".join(_page(page, record)) + "\n" for page in pages)


def _page(page: OperatorPage, record: Record) -> Iterator[str]:
    entry, spec = page.listed.entry, page.listed.entry.spec
    since = f", since version {', '.join(map(str, entry.since))}" if entry.since else ""
    yield f"{visible(entry.name)}  {visible(entry.domain or 'ai.onnx')}{since}"
    yield from (f"  {line}" for line in _wrapped(visible(entry.about)))
    yield ""
    if spec is not None:
        yield f"  {visible(entry.signature)}"
        yield from _attributes(spec)
    yield f"  {_standing(page.listed)}"
    known = page.listed.cases or record.found is None
    yield f"  {record.source if known else 'no test of ONNX is about it'}"
    if spec is not None:
        yield from ("", *_forms(page, spec))
        yield from _derivation(page, spec)
        yield from ("", f"Definition, {visible(spec.source.name)}", "")
        yield from (f"  {visible(line)}".rstrip() for line in spec.source.text.splitlines())


def _wrapped(text: str) -> list[str]:
    from textwrap import wrap

    return wrap(text, 100)


def _attributes(spec: Spec) -> Iterator[str]:
    found = ", ".join(map(visible, attributes(spec)))
    if found:
        first, *rest = _wrapped(f"attributes {found}")
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
    failing = [case.case for case in one.judged if case.status == "fail"][:_MOST_TESTS]
    return text + (f"; not {', '.join(failing)}" if failing else "")


def _forms(page: OperatorPage, spec: Spec) -> Iterator[str]:
    if is_rank_generic(spec):
        yield "Closed forms, by how many lengths `...` stands for"
    else:
        yield "Closed form"
    yield "  every length a symbol, attributes at their defaults, optional inputs left out"
    for form in page.forms:
        yield ""
        yield from _form(form, spec)


def _form(form: RankForm | NoForm, spec: Spec) -> Iterator[str]:
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


def _derivation(page: OperatorPage, spec: Spec) -> Iterator[str]:
    if page.derivation is None or page.explained is None:
        return
    rank = "" if page.explained.rank is None else f", `...` of rank {page.explained.rank}"
    yield ""
    yield f"Derivation{rank}"
    _, _, *lines = derivation_text(page.derivation, spec.name, spec.source.name).rstrip().splitlines()
    yield ""
    yield from (f"  {line}".rstrip() for line in lines)


# ---- data --------------------------------------------------------------------------------


def pages_json(pages: Sequence[OperatorPage], record: Record) -> str:
    """Give the document of ``ops`` for some operators."""
    return document("ops", {**figures_json(record), "operators": list(map(_record, pages))})


def _record(page: OperatorPage) -> Json:
    spec = page.listed.entry.spec
    forms: list[Json] = [
        form_json(form) if isinstance(form, RankForm) else {"rank": form.rank, "none": form.reason}
        for form in page.forms
    ]
    return {
        **record_json(page.listed),
        "attributes": [] if spec is None else list(attributes(spec)),
        "forms": forms,
        "derivation": None if page.derivation is None else _steps(page),
        "definition": None if spec is None else spec.source.text,
        "cases": [
            {"name": case.case, "status": case.status, "eops": case.eops} for case in page.listed.cases
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


def pages_markdown(pages: Sequence[OperatorPage], record: Record) -> str:
    """Give the pages as Markdown: what they say, and the definition as code."""
    return "\n".join("\n".join(_markdown(page, record)) + "\n" for page in pages)


def _markdown(page: OperatorPage, record: Record) -> Iterator[str]:
    entry, spec = page.listed.entry, page.listed.entry.spec
    yield from (f"## {markdown_text(entry.title)}", "", markdown_text(entry.about), "")
    yield from (f"{markdown_text(_standing(page.listed))}. {markdown_text(record.source)}.", "")
    if spec is None:
        return
    yield from (markdown_code(entry.signature), "")
    yield from ("| rank | inputs | EOPs | remark |", "| --- | --- | --- | --- |")
    for form in page.forms:
        rank = "" if form.rank is None else form.rank
        if isinstance(form, NoForm):
            yield f"| {rank} | | | {markdown_text(form.reason)} |"
        else:
            cells = (markdown_code(", ".join(form.inputs)), markdown_code(eops_of(form).text))
            yield f"| {rank} | {cells[0]} | {cells[1]} | {markdown_text('; '.join(_remarks(form, spec)))} |"
    yield from ("", *(f"    {visible(line)}".rstrip() for line in spec.source.text.splitlines()))
