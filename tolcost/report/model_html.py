"""A model's cost as one HTML page whose closed forms are live: change a length, and all figures follow.

The page needs nothing from outside.  Its data is JSON in a script element that is never run;
everything from the model's file goes into the page as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, select_autoescape

from tolcost.algebra import to_text
from tolcost.models.growth import Growth
from tolcost.models.study import ModelStudy
from tolcost.report.model_text import growth_text
from tolcost.report.model_view import conditions, coverage_text, groups, inputs_of, lines, merged, outputs_of
from tolcost.show.json import Json

_FOLDER = Path(__file__).parents[1] / "show" / "pages"
_MOST_NODES = 5_000


def model_html(study: ModelStudy, by: str = "op", growth: Growth | None = None) -> str:
    """The page of a model."""
    template = Environment(autoescape=select_autoescape(default=True)).from_string(_part("model.html"))
    return template.render(
        study=study,
        coverage=coverage_text(study),
        inputs=inputs_of(study),
        outputs=outputs_of(study),
        merged=merged(study),
        conditions=conditions(study),
        growth="" if growth is None else growth_text(growth),
        data=_embedded(_data(study, by)),
        script=_part("model.js"),
        style=_part("model.css"),
    )


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _embedded(data: Mapping[str, Json]) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(study: ModelStudy, by: str) -> dict[str, Json]:
    lengths = [symbol for symbol in study.symbols if symbol.kind == "length"]
    figures: list[Json] = [
        {"label": line.label, "unit": line.unit, "form": None if line.form is None else str(line.form)}
        for line in lines(study)
    ]
    return {
        "symbols": [{"name": s.name, "value": study.place.dims.get(s.name, 128)} for s in lengths],
        "figures": figures,
        "groups": [_group(group.title, group.nodes, to_text(group.figures.eops), to_text(group.figures.macs))
                   for group in groups(study, by)[:_MOST_NODES]],
        "by": by,
    }  # fmt: skip


def _group(title: str, nodes: int, eops: str, macs: str) -> dict[str, Json]:
    return {"title": title, "nodes": nodes, "eops": eops, "macs": macs}
