"""From a model that was walked to what the gate keeps of it: totals, and what each operator adds to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tolcost.algebra import Poly, substitute
from tolcost.atoms.nodes import Part as TypePart
from tolcost.check.costed import Costed, Part
from tolcost.check.entries import entry_from
from tolcost.check.records import FigureStatus
from tolcost.cost import Tensor
from tolcost.cost.depth import Depth
from tolcost.elaborate import Inputs
from tolcost.elaborate import Tensor as Shaped
from tolcost.models.difference import facts_of
from tolcost.models.known import Known
from tolcost.models.study import ModelStudy

_STATUS: Mapping[str, FigureStatus] = {
    "exact": "exact",
    "upper bound": "at-most",
    "depends on data": "data",
    "lower bound": "incomplete",
}


def costed_model(name: str, study: ModelStudy, metrics: Iterable[str]) -> Costed:
    """What the gate keeps of a model; a total that lacks a node says that it is incomplete."""
    status = _STATUS[study.total.status]
    figures = {metric: (status, _form(study, metric)) for metric in metrics}
    conditions = facts_of(relied.condition for relied in study.conditions)
    entry = entry_from(name, tuple(_inputs(study)), conditions, figures)
    return Costed(entry, tuple(_parts(study)))


def _form(study: ModelStudy, metric: str) -> Poly | Depth | None:
    total = study.total
    match metric:
        case "eops":
            return total.eops
        case "flops":
            return total.flops
        case "macs":
            return total.macs
        case "bytes":
            return total.bytes
        case "params":
            return study.holdings.parameters
        case _:
            return study.depth


def _inputs(study: ModelStudy) -> Iterator[Tensor]:
    """The inputs of the model, in terms of the lengths that remain."""
    for declared in study.model.graph.inputs:
        parts = tuple(_shapes(study.cost.known(declared.name), study))
        if parts:
            yield Tensor(declared.name, parts)


def _shapes(known: Known | None, study: ModelStudy) -> Iterator[TypePart]:
    match known:
        case Shaped(shape=shape, space=space):
            yield TypePart(tuple(substitute(d, study.cost.equal) for d in shape), space)
        case Inputs(items=items):
            for item in items:
                yield from _shapes(item, study)
        case _:
            return


def _parts(study: ModelStudy) -> Iterator[Part]:
    for group in study.operators:
        figures = group.figures
        counts = {"eops": figures.eops, "flops": figures.flops, "macs": figures.macs}
        if figures.bytes is not None:
            counts["bytes"] = figures.bytes
        yield Part(group.title, counts)
