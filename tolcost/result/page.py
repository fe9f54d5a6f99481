"""A model's cost as one HTML page whose closed forms are live: change a length, and all figures follow.

Every condition goes along: where one fails, the page says so and shows no figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tolcost.algebra import And, Cond, Eq, Ge, Not, Or, Poly, Symbol, to_text
from tolcost.result.study import Located
from tolcost.result.time_view import time_blocks
from tolcost.result.view import CostView, growth_blocks
from tolcost.show import write
from tolcost.show.document import Document
from tolcost.show.html import embedded, render
from tolcost.show.json import Json

_MOST_NODES = 5_000
_GUESSES = (128, 64, 32, 16, 8, 4, 2, 1)


def model_page(cost: Located, view: CostView) -> str:
    """The page of a model."""
    study = cost.study
    return render(
        "model",
        study=study,
        status=cost.status,
        types=list(study.types(cost.value)),
        remarks=[f"{fact.label}: {fact.value}" for fact in study.remarks()],
        conditions=[(one.text, one.reason, one.node) for one in study.requirements],
        growth=write((*time_blocks(cost, view.table.by), *_grown(view)), "text"),
        data=embedded(_data(cost, view.table.by)),
    )


def _grown(view: CostView) -> Document:
    return tuple(block for grown in view.growths for block in growth_blocks(grown))


def _data(cost: Located, by: str) -> dict[str, Json]:
    lengths = [symbol for symbol in cost.study.symbols if symbol.kind == "length"]
    figures: list[Json] = [
        {"label": one.label, "unit": one.unit, "form": None if one.form is None else str(one.form)}
        for one in cost.measures
    ]
    groups: list[Json] = [
        {
            "title": group.title,
            "nodes": group.nodes,
            "eops": to_text(group.figures.eops),
            "macs": to_text(group.figures.macs),
        }
        for group in cost.groups(by)[:_MOST_NODES]
    ]
    start = _start(cost, lengths)
    return {
        "symbols": [
            {"name": s.name, "value": start[s], "low": _end(s.lo), "high": _end(s.hi)} for s in lengths
        ],
        "requires": [{"text": one.text, "test": _test(one.condition)} for one in cost.study.requirements],
        "figures": figures,
        "groups": groups,
        "by": by,
    }


def _start(cost: Located, lengths: Sequence[Symbol]) -> Mapping[Symbol, int]:
    """Lengths to start with: those given; for the others the largest of a few that conditions allow."""
    for guess in _GUESSES:
        start = {symbol: cost.point.values.get(symbol, guess) for symbol in lengths}
        values = {**cost.point.values, **start}
        if all(one.holds(values) for one in cost.study.requirements):
            return start
    return {symbol: cost.point.values.get(symbol, 1) for symbol in lengths}


def _end(bound: Poly | None) -> Json:
    return None if bound is None else to_text(bound)


def _test(condition: Cond) -> Json:
    """A condition for the browser: a comparison of a form with 0, or several of them."""
    match condition:
        case Ge(p=p):
            return [">=", to_text(p)]
        case Eq(p=p):
            return ["==", to_text(p)]
        case Not(part=part):
            return ["not", _test(part)]
        case And(parts=parts):
            return ["and", *map(_test, parts)]
        case Or(parts=parts):
            return ["or", *map(_test, parts)]
        case _:
            return condition.value
