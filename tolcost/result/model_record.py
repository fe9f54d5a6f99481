"""What machines read of a model's cost: figures, groups and nodes as a document, and notes for its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.algebra import to_text
from tolcost.diagnostics import visible
from tolcost.models.applied import Applied
from tolcost.result.point import Requirement
from tolcost.result.records import Show, at_json, form_json, functions_json, symbol_json, value_json
from tolcost.result.scopes import path_of
from tolcost.result.study import Figures, Group, Located, is_asked
from tolcost.show.forms import text_of
from tolcost.show.json import Json

if TYPE_CHECKING:
    from tolcost.result.model import ModelStudy


def model_record(study: ModelStudy, cost: Located, metrics: frozenset[str] | None = None) -> dict[str, Json]:
    """What the document of ``model`` holds; ``metrics`` are the figures asked for."""
    types: dict[str, list[Json]] = {"input": [], "output": []}
    for way, name, kind in study.types(cost.value):
        types[way].append({"name": name, "type": kind})

    def totals(show: Show) -> dict[str, Json]:
        found: dict[str, Json] = {
            m.key: show(m.form) for m in cost.measures if m.key not in ("weights", "time")
        }
        found["bytes_exact"] = not study.total.traffic.open
        found["histogram"] = functions_json(study.total.histogram, show)
        found["atoms"] = {name: show(form) for name, form in study.total.atoms.items()}
        weighed: dict[str, Json] = {
            model.name: {"value": show(one := study.weighed(model)), "unit": one.unit}
            for model in cost.weights
        }
        more: dict[str, Json] = {"weighed": weighed} if weighed else {}
        return {**_asked(found, metrics), **more}

    return {
        "name": study.name,
        "file": study.file,
        "opsets": {domain or "ai.onnx": n for domain, n in sorted(study.model.opsets.items())},
        "inputs": types["input"],
        "outputs": types["output"],
        "symbols": [symbol_json(symbol) for symbol in study.symbols],
        "totals": totals(form_json),
        "leading": text_of(study.leading),
        "status": cost.status,
        "coverage": _coverage_json(study),
        "conditions": list(map(_condition_json, study.needed)),
        "unproved": list(map(_condition_json, study.checked)),
        "equal": dict(study.merged),
        **({"assumptions": list(study.assumed.texts)} if study.assumed.texts else {}),
        "by_data": [symbol.name for symbol in study.symbols if symbol.kind == "data"],
        **at_json(cost, totals),
        "by_op": [group_json(cost, group, "op", metrics) for group in cost.groups("op")],
        "by_scope": [group_json(cost, group, "scope", metrics) for group in cost.groups("scope")],
        "nodes": _nodes_json(study, cost, metrics),
    }


def _condition_json(one: Requirement) -> Json:
    return {"condition": one.text, "reason": visible(one.reason), "node": visible(one.node)}


def _asked(figures: dict[str, Json], metrics: frozenset[str] | None) -> dict[str, Json]:
    return {key: value for key, value in figures.items() if is_asked(key, metrics)}


def _coverage_json(study: ModelStudy) -> dict[str, Json]:
    found = study.coverage
    return {
        "nodes": found.nodes,
        "costed": found.costed,
        "uncosted": [item.name for item in found.missing],
        "operators": dict(found.operators),
        "reasons": [{"node": m.name, "op": m.op, "reason": m.why, "behind": m.behind} for m in found.missing],
        "declared": list(study.cost.assumed),
    }


def _nodes_json(study: ModelStudy, cost: Located, metrics: frozenset[str] | None) -> list[Json]:
    """Every node; nodes of one kind share their figures, which are written out once."""
    cache: dict[Applied, dict[str, Json]] = {}
    found: list[Json] = []
    for step, applied in zip(study.model.graph.nodes, study.cost.nodes, strict=True):
        if applied not in cache:
            figures = study.adder.node(applied)
            shown = _asked(_figures_json(figures, form_json), metrics)
            record: dict[str, Json] = {**shown, "status": figures.status}
            if cost.point.complete:
                record["at"] = _asked(_figures_json(figures, value_json(cost)), metrics)
            if applied.uncosted:
                record["problem"] = applied.uncosted[0].why.message
            cache[applied] = record
        named: dict[str, Json] = {
            "name": step.name,
            "op": step.title,
            "scope": "/".join(path_of(step)),
            "outputs": list(step.outputs),
        }
        found.append({**named, **cache[applied]})
    return found


def _figures_json(figures: Figures, show: Show) -> dict[str, Json]:
    return {
        "eops": show(figures.eops),
        "flops": show(figures.flops),
        "macs": show(figures.macs),
        "index": show(figures.index_ops),
        "bytes": show(figures.bytes),
    }


def group_json(
    cost: Located, group: Group, by: str, metrics: frozenset[str] | None = None
) -> dict[str, Json]:
    """A group, in closed forms, and in numbers where every length is known."""
    figures = _figures_json(group.figures, form_json)
    figures["histogram"] = functions_json(group.figures.histogram, form_json)
    named: dict[str, Json] = {by: group.title, "nodes": group.nodes}
    found = {**named, **_asked(figures, metrics), "status": group.figures.status}
    if cost.point.complete:
        part = cost.share(group.figures)
        found["at"] = _asked(_figures_json(group.figures, value_json(cost)), metrics)
        found["share"] = None if part is None else f"{float(part):.6f}"
    return found


def node_notes(study: ModelStudy, cost: Located) -> tuple[list[dict[str, str]], dict[str, str]]:
    """What is noted at every node, and on the whole model: numbers where every length is known."""

    def notes(figures: Figures) -> dict[str, str]:
        forms = {"eops": figures.eops, "flops": figures.flops, "macs": figures.macs, "bytes": figures.bytes}
        known = cost.point.complete
        found = {
            name: to_text(form) if not known or (n := cost.number(form)) is None else str(n)
            for name, form in forms.items()
            if form is not None
        }
        return {**found, "status": figures.status}

    covered = f"{study.coverage.costed} of {study.coverage.nodes} nodes"
    nodes = [notes(study.adder.node(applied)) for applied in study.cost.nodes]
    return nodes, {**notes(cost.total), "coverage": covered}
