"""The nodes of a page and its memory: those of a model, or those of a step of training, as they run."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import const
from tolcost.diagnostics import visible
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied
from tolcost.models.memory import lifetimes
from tolcost.result.metrics import HELD
from tolcost.result.model import ModelStudy
from tolcost.result.page_forms import PageForms
from tolcost.result.rows import TableRow
from tolcost.result.study import Study
from tolcost.result.time import TimedNodes
from tolcost.result.totals import APART, Adder, node_rows, steps_by_node
from tolcost.show.document import Json


class PageNode(Struct, frozen=True, eq=False):
    """A node of a page: what it does, how often, its row, its scopes, and its work if times are wanted."""

    applied: Applied
    row: TableRow
    path: tuple[str, ...]
    work: tuple[TimedNodes, ...] | None
    times: int = 1


def model_of(study: Study) -> ModelStudy:
    """Return the model that a page is about, or of which it shows a step of training."""
    found = getattr(study, "inner", study)
    assert isinstance(found, ModelStudy)
    return found


def page_nodes(study: Study, timed: bool) -> tuple[PageNode, ...]:
    """Return the nodes of a page, in the order in which they run; none for a program."""
    if study.report == "training":
        from tolcost.result.training_page import nodes_of_step  # derivatives take time to load

        return nodes_of_step(study, timed)
    if not isinstance(study, ModelStudy):
        return ()
    return tuple(nodes_of(study.cost, study.adder, timed, *((study.loaded, study.joined) if timed else ())))


def page_memory(study: Study, forms: PageForms) -> Iterator[Json]:
    """Yield the values that take memory: bytes, the first and last node with them, a name, and if given."""
    if study.report == "training":
        from tolcost.result.training_page import memory_of_step

        yield from memory_of_step(study, forms)
        return
    for one in lifetimes(model_of(study).cost):
        yield [forms.number(one.bytes), one.first, one.last, visible(one.name), one.given]


def page_parts(study: Study, forms: PageForms) -> Iterator[Json]:
    """Yield the figures of the parts of a step of training."""
    if study.report == "training":
        from tolcost.result.training_page import parts_of_step

        yield from parts_of_step(study, forms)


def nodes_of(
    cost: GraphCost,
    adder: Adder,
    timed: bool,
    loaded: Container[int] = frozenset(),
    joined: Mapping[int, str] = APART,
) -> Iterator[PageNode]:
    """Yield the nodes of a graph; costs of nodes may be those of another part of a step.

    ``loaded`` are places of nodes without work in a run.
    """
    works: Sequence[tuple[TimedNodes, ...] | None] = [None] * len(cost.nodes)
    if timed:
        works = [*steps_by_node(cost, adder, loaded, joined)]
    for (step, applied), row, work in zip(cost.steps, node_rows(cost, adder), works, strict=False):
        yield PageNode(applied, row, step.path, work)


def inside_of(part: str, node: PageNode, end: str, times: int) -> PageNode:
    """Return a node as one of a part of a step, done so many times."""
    row, held = node.row, node.row.amounts[HELD]
    if times > 1:
        row = row.map_forms(lambda form: form * times)
    if end:
        row, held = replace(row, title=f"{row.title}{end}", op=f"{row.op}{end}", type="", shape=""), const(0)
    row = replace(row, amounts={**row.amounts, HELD: held})
    work = node.work
    if work is not None and times > 1:
        work = tuple([replace(one, nodes=one.nodes * times) for one in work])
    return PageNode(node.applied, row, (part, *node.path), work, times)
