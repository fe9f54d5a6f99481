"""The parts of a program on its page: its functions, and the lines of its source that cost something."""

from __future__ import annotations

from tolcost.algebra import to_mathml, to_text
from tolcost.cost.derive import DerivationStep, derive, typeset
from tolcost.diagnostics import Rejected, Source, place, visible
from tolcost.platform import with_deep_stack
from tolcost.result.metrics import LEADING, TITLES
from tolcost.result.page_forms import PageForms
from tolcost.result.program import ProgramStudy
from tolcost.show.document import Json

_BY_LINE = (LEADING, "flops")
"""What is counted by line: bytes and MACs belong to inputs, outputs and whole folds."""


def function_title(counted: str) -> str:
    """Return the title of a function in a space.

    >>> function_title("mul:R")
    'mul R'
    """
    return counted.replace(":", " ")


def program_parts(study: ProgramStudy, forms: PageForms) -> dict[str, Json]:
    """Return the functions and the lines of a program, as the operators and the nodes of its page."""
    kinds: list[Json] = []
    nodes: list[Json] = []
    derived: list[Json] = []
    sources, at = _sources(study), _steps(study)
    for group in study.groups("line"):
        file, line = _where(group.title, study.file)
        text = _text(sources, file, line)
        eops, flops = group.figures.eops, group.figures.flops
        amounts: dict[str, Json] = {LEADING: forms.number(eops), "flops": forms.number(flops)}
        markup: Json = [["text", "in all "], ["math", to_mathml(eops)]]
        where: tuple[Json, Json] = (file if file in sources else "", line)
        whole: Json = [to_text(eops), "the EOPs of this line", *where, markup]
        kinds.append({"op": "", "type": "", **amounts, "problem": None, "derived": [[len(derived), 1]]})
        nodes.append([visible(f"{line}: {text}" if text else group.title), len(kinds) - 1, []])
        steps = [*(typeset_step(step) for step in at.get((file, line), ())), whole]
        derived.append({"op": visible(group.title), "chains": [{"name": "", "steps": steps}]})
    return {
        "amounts": {key: TITLES.get(key, key) for key in _BY_LINE},
        "operators": [
            {"title": visible(f"{name} {space}"), LEADING: forms.number(form)}
            for (name, space), form in sorted(study.total.histogram.items())
        ],
        "memory": [],
        "device": None,
        "graph": None,
        "kinds": kinds,
        "nodes": nodes,
        "scopes": [],
        "derived": derived,
        "sources": {name: source.text for name, source in sources.items()},
    }


def _steps(study: ProgramStudy) -> dict[tuple[str, int], list[DerivationStep]]:
    """Return the steps of the derivation by file and line; of equal ones, one."""
    found: dict[tuple[str, int], dict[tuple[str, str], DerivationStep]] = {}
    program = study.analysis.program
    try:
        chains = () if program is None else with_deep_stack(lambda: derive(program)).chains
    except Rejected:  # too large to derive
        chains = ()
    for step in (step for chain in chains for step in chain.steps if step.becomes is not None):
        where = step.span.source.name, place(step.span).line
        found.setdefault(where, {}).setdefault(
            (step.term_before, step.text_after * (not step.term_before)), step
        )
    return {where: list(steps.values()) for where, steps in found.items()}


def typeset_step(step: DerivationStep) -> Json:
    """Return a step for a page: its equality in pieces of mathematics and program, and its reason."""
    pieces: list[Json] = []
    if step.term_before:
        pieces += [["code", visible(step.term_before)], ["text", " = "]]
    if step.becomes is not None:
        pieces += [[piece.kind, visible(piece.content)] for piece in typeset(step.becomes)]
    return [step.text_after, visible(step.reason), "", 0, pieces]


def _sources(study: ProgramStudy) -> dict[str, Source]:
    spans = (term.span for term in study.analysis.counts.terms if term.kind == "data")
    return {span.source.name: span.source for span in spans if place(span).line}


def _where(title: str, file: str) -> tuple[str, int]:
    """Return the file and the line of a group of ``ProgramStudy.groups``."""
    stem, _, number = title.rpartition(":" if ":" in title else " ")
    return (file if stem == "line" else stem), int(number)


def _text(sources: dict[str, Source], file: str, line: int) -> str:
    """Return a line of a source; empty if the source is not known."""
    lines = sources[file].text.split("\n") if file in sources else []
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
