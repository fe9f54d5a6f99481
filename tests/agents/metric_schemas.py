"""Where the schemas of documents list metrics, and what they say of one that is new in the table."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, TypeAlias

from tolcost.result.metrics import Metric, Place, metrics_in

Schema: TypeAlias = dict[str, Any]
_FORM, _NUMBER = {"$ref": "#/$defs/form"}, {"$ref": "#/$defs/number"}
_WHOLE: tuple[Place, ...] = ("model", "runs")
_LISTED: dict[str, tuple[tuple[str, tuple[Place, ...], Schema], ...]] = {
    "analysis": (
        ("$defs/program", ("program",), _FORM),
        ("$defs/program/properties/at", ("program",), _NUMBER),
        ("$defs/program/properties/partly", ("program",), _NUMBER),
    ),
    "model": (
        ("properties/totals", _WHOLE, _FORM),
        ("properties/at", _WHOLE, _NUMBER),
        ("properties/partly", _WHOLE, _NUMBER),
        *(
            (f"properties/{part}/items{at}", ("groups",), content)
            for part in ("by_op", "by_scope", "nodes")
            for at, content in (("", _FORM), ("/properties/at", _NUMBER))
        ),
    ),
    "models": (
        ("properties/models/items/anyOf/1/properties/totals", ("fleet",), {"type": "string"}),
        ("properties/models/items/anyOf/1/properties/at", ("fleet",), _NUMBER),
    ),
    "fleet": (("", ("fleet",), {"type": ["string", "null"]}),),
}
"""By kind of document: where metrics are properties, which ones, and what each is."""


def with_metrics(kind: str, stored: Schema) -> Schema:
    """Give a schema in which every metric of the table stands that documents of the kind have."""
    schema = deepcopy(stored)
    for pointer, places, content in _LISTED.get(kind, ()):
        at = _inside(schema, pointer)
        for metric in dict.fromkeys(metric for place in places for metric in metrics_in(place)):
            for key, said in _properties(kind, pointer, metric, content):
                if key not in at["properties"]:
                    at["properties"][key] = {**said, "description": metric.about}
                    if "eops" in at.get("required", ()):
                        at["required"].append(key)
    return schema


def _properties(kind: str, pointer: str, metric: Metric, content: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the properties of a metric: a row of a fleet has numbers beside forms, of what adds up."""
    if kind == "models" and pointer.endswith("at") and metric.of is None:
        return
    yield metric.key, content
    if kind == "fleet" and metric.of is not None:
        yield f"{metric.key}_at", {"type": ["integer", "null"]}


def _inside(schema: Schema, pointer: str) -> Schema:
    found: Any = schema
    for step in filter(None, pointer.split("/")):
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found
