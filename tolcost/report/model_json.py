"""A model's cost as JSON: the contract with scripts, version 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tolcost.algebra import Poly, to_text
from tolcost.models.growth import Growth
from tolcost.models.study import ModelStudy
from tolcost.models.totals import Figures, Group
from tolcost.report.model_view import by_data, conditions, groups, inputs_of, lines, merged, outputs_of, share
from tolcost.result.forms import Form, form_at, text_of
from tolcost.show.json import Json, document, number

Show = Callable[[Form | None], Json]


def model_json(study: ModelStudy, growth: Growth | None = None) -> str:
    """The document of a model."""
    return document("model", model_record(study, growth))


def model_record(study: ModelStudy, growth: Growth | None = None) -> dict[str, Json]:
    """What the document of a model holds, but for version and kind."""
    found: dict[str, Json] = {
        "name": study.model.name,
        "file": study.file,
        "opsets": {domain or "ai.onnx": version for domain, version in sorted(study.model.opsets.items())},
        "inputs": [{"name": name, "type": kind} for name, kind in inputs_of(study)],
        "outputs": [{"name": name, "type": kind} for name, kind in outputs_of(study)],
        "symbols": [
            {"name": s.name, "kind": s.kind, "low": _end(s.lo), "high": _end(s.hi)} for s in study.symbols
        ],
        "totals": _totals(study, _text),
        "leading": text_of(study.leading),
        "status": study.total.status,
        "coverage": _coverage(study),
        "conditions": [{"condition": c, "reason": why, "node": node} for c, why, node in conditions(study)],
        "equal": dict(merged(study)),
        "by_data": [symbol.name for symbol in by_data(study)],
    }
    if study.dims or study.place.complete:
        shown: dict[str, Json] = {name: number(v) for name, v in sorted(study.place.dims.items())}
        found["at" if study.place.complete else "partly"] = {"dims": shown, **_totals(study, _value(study))}
    found["by_op"] = [_group(study, group) for group in groups(study, "op")]
    found["by_scope"] = [_group(study, group, "scope") for group in groups(study, "scope")]
    found["nodes"] = _nodes(study)
    if growth is not None:
        found["sweep"] = _growth(growth)
    return found


def _end(bound: Poly | None) -> Json:
    return None if bound is None else to_text(bound)


def _text(form: Form | None) -> Json:
    return None if form is None else text_of(form)


def _value(study: ModelStudy) -> Show:
    """How forms are shown at the lengths of a study: as numbers; null where they have none."""

    def show(form: Form | None) -> Json:
        found = None if form is None else form_at(form, study.place.values)
        if isinstance(found, int | Fraction):
            return number(found)
        return None if study.place.complete else _text(found)

    return show


def _totals(study: ModelStudy, show: Show) -> dict[str, Json]:
    found: dict[str, Json] = {line.key: show(line.form) for line in lines(study)}
    return {**found, "histogram": _keyed(study.total.histogram, show), "atoms": _atoms(study.total, show)}


def _keyed(forms: Mapping[tuple[str, str], Poly], show: Show) -> dict[str, Json]:
    return {f"{name}:{space}": show(form) for (name, space), form in forms.items()}


def _atoms(figures: Figures, show: Show) -> dict[str, Json]:
    return {name: show(form) for name, form in figures.atoms.items()}


def _coverage(study: ModelStudy) -> dict[str, Json]:
    found = study.coverage
    return {
        "nodes": found.nodes,
        "costed": found.costed,
        "uncosted": [item.name for item in found.missing],
        "operators": dict(found.operators),
        "reasons": [{"node": m.name, "op": m.op, "reason": m.why} for m in found.missing],
        "declared": list(study.cost.assumed),
    }


def figures_record(figures: Figures, show: Show) -> dict[str, Json]:
    """The figures of a group or a node."""
    return {
        "eops": show(figures.eops),
        "flops": show(figures.flops),
        "macs": show(figures.macs),
        "index": show(figures.index_ops),
        "bytes": show(figures.bytes),
    }


def _group(study: ModelStudy, group: Group, by: str = "op") -> dict[str, Json]:
    found: dict[str, Json] = {
        by: group.title,
        "nodes": group.nodes,
        **figures_record(group.figures, _text),
        "histogram": _keyed(group.figures.histogram, _text),
        "status": group.figures.status,
    }
    if study.place.complete:
        part = share(study, group.figures)
        found["at"] = figures_record(group.figures, _value(study))
        found["share"] = None if part is None else f"{float(part):.6f}"
    return found


def _nodes(study: ModelStudy) -> list[Json]:
    """Every node; nodes of one kind share their figures, which are written out once."""
    cache: dict[int, dict[str, Json]] = {}
    found: list[Json] = []
    for step, applied in zip(study.model.graph.steps, study.cost.nodes, strict=True):
        if id(applied) not in cache:
            figures = study.adder.node(applied)
            record: dict[str, Json] = {**figures_record(figures, _text), "status": figures.status}
            if study.place.complete:
                record["at"] = figures_record(figures, _value(study))
            if applied.uncosted:
                record["problem"] = applied.uncosted[0].why.message
            cache[id(applied)] = record
        found.append(
            {"name": step.name, "op": step.title, "outputs": list(step.outputs), **cache[id(applied)]}
        )
    return found


def _growth(growth: Growth) -> dict[str, Json]:
    def value(found: int | None) -> Json:
        return None if found is None else number(found)

    rows: list[Json] = [
        {
            growth.name: row.value,
            "eops": value(row.eops),
            "macs": value(row.macs),
            "bytes": value(row.bytes),
            "peak_bytes": value(row.peak),
            "outside": row.broken or None,
        }
        for row in growth.rows
    ]
    crossed: list[Json] = [
        {"at": c.at, "overtakes": c.later, "overtaken": c.earlier} for c in growth.crossings
    ]
    return {"name": growth.name, "rows": rows, "crossings": crossed}
