"""A step of training on a page: its nodes as they run, its parts, and what is in memory at each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tolcost.algebra import Poly, const
from tolcost.diagnostics import visible
from tolcost.models.lowered import Applied
from tolcost.result.metrics import COLUMNS, HELD, LEADING
from tolcost.result.page_forms import PageForms
from tolcost.result.page_nodes import PageNode, inside_of, nodes_of
from tolcost.result.rows import TableRow
from tolcost.result.study import Study
from tolcost.result.training import TrainingStudy
from tolcost.show.document import Json

_PARTS = {"forward": "", "computed again": " again", "backward": " backward"}
_ON_CARDS = (LEADING, "macs")
"""What is shown of each part of a step."""


def step_of(study: Study) -> TrainingStudy:
    """Return a study that is of a step of training."""
    assert isinstance(study, TrainingStudy)
    return study


def nodes_of_step(study: Study, timed: bool) -> tuple[PageNode, ...]:
    """Return a node for each moment of a step."""
    step = step_of(study)
    adder, training = step.inner.adder, step.training
    of_part = {title: [*nodes_of(cost, adder, timed)] for title, cost in training.runs}
    k = training.asked.accumulate
    found = []
    for moment in training.memory.timeline.moments:
        if moment.place is not None:
            node = of_part[moment.part][moment.place]
            found.append(inside_of(moment.part, node, _PARTS[moment.part], k))
        else:
            update = moment.part == training.asked.optimizer
            applied = Applied((), tuple(training.update.items()) if update else ())
            found.append(_of_no_place(step, applied, moment.title, moment.part))
    return tuple(found)


def _of_no_place(study: TrainingStudy, applied: Applied, title: str, part: str) -> PageNode:
    """Return a moment that belongs to no node of the model: the ends of backward, and the optimiser."""
    figures = study.inner.adder.node(applied)
    amounts: Mapping[str, Poly | None] = MappingProxyType({**figures.amounts, HELD: const(0)})
    row = TableRow(title, 1, amounts, part if applied.parts else "")
    return PageNode(applied, row, (part,), () if not applied.parts else None)


def memory_of_step(study: Study, forms: PageForms) -> Iterator[Json]:
    """Yield what is in memory in a step: bytes, the first and last moment, a name, and if throughout."""
    step = step_of(study)
    training, settle = step.training, step.inner.adder.settle
    line, held, given = training.memory.timeline, training.held, step.holdings.input_bytes
    last = len(line.moments) - 1
    always: dict[str, Poly | None] = {
        "parameters": held.parameters + held.frozen,
        "what the optimiser holds": held.state + held.master,
        "inputs": given,
        "sums of gradients": held.gradients if training.asked.accumulate > 1 else const(0),
    }
    for name, size in always.items():
        if size is None or size.terms:
            yield [forms.number(None if size is None else settle(size)), 0, last, name, True]
    ends = line.ends()
    for n, moment in enumerate(line.moments):
        for name in moment.makes:
            size = None if line.unsized and not line.sizes[name].terms else settle(line.sizes[name])
            yield [forms.number(size), n, ends[name], visible(_named(name)), False]


def _named(buffer: str) -> str:
    """Return the name of a buffer: that of its tensor, and what it is of it."""
    kind, _, name = buffer.partition(":")
    ends = {"f": "", "r": " again", "g": ", its gradient", "t": ", a gradient to add"}
    return f"{name}{ends[kind]}"


def parts_of_step(study: Study, forms: PageForms) -> Iterator[Json]:
    """Yield the figures of the parts of a step, as those of a page."""
    for part in step_of(study).parts:
        for metric in COLUMNS:
            if metric.key not in _ON_CARDS or metric.of is None:
                continue
            yield {
                "key": f"{part.title}:{metric.key}",
                "label": visible(f"{part.title}: {metric.label}"),
                "unit": "",
                "bytes": False,
                "form": forms.any(metric.of(part.figures)),
            }
