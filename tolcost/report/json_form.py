"""An analysis as JSON: a contract with scripts, version 1.

Closed forms are text.  A number that a double cannot hold exactly is text too, and what is not
known is null: never 0, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from tolcost.algebra import Poly, Symbol, to_text
from tolcost.cost.record import Analysis, NamedType
from tolcost.report.study import Study
from tolcost.result.conditions import Given, given_conditions
from tolcost.result.forms import Form, form_at, text_of
from tolcost.show.json import Json, document, number

Show: TypeAlias = Callable[[Form | None], Json]


def json_report(studies: Sequence[Study]) -> str:
    """Give the document of an ``analyze``."""
    return document("analysis", {"programs": [_program(study) for study in studies]})


def _text(form: Form | None) -> Json:
    return None if form is None else text_of(form)


def _program(study: Study) -> dict[str, Json]:
    analysis, point = study.analysis, study.point
    entry: dict[str, Json] = {
        "name": analysis.name,
        "file": analysis.file,
        "inputs": [_tensor(tensor) for tensor in analysis.inputs],
        "outputs": [_tensor(tensor) for tensor in analysis.outputs],
        "symbols": [_symbol(symbol) for symbol in analysis.symbols],
        **_figures(study, _text),
        "status": analysis.status,
        "conditions": _conditions(given_conditions(analysis.conditions, analysis.file)),
        "unproved": _conditions(given_conditions(analysis.unproved, analysis.file)),
    }
    if point.complete or point.dims:
        dims: dict[str, Json] = {name: number(value) for name, value in sorted(point.dims.items())}

        def show(form: Form | None) -> Json:
            found = None if form is None else form_at(form, point.values)
            if isinstance(found, int | Fraction):
                return number(found)
            return None if point.complete else _text(found)

        entry["at" if point.complete else "partly"] = {"dims": dims, **_figures(study, show)}
    return entry


def _tensor(tensor: NamedType) -> dict[str, Json]:
    """A ToL has a space and a shape; a list of several components has them one by one."""
    parts: list[Json] = [
        {"space": part.space, "shape": [to_text(d) for d in part.shape]} for part in tensor.type
    ]
    first = parts[0] if len(parts) == 1 else None
    return {"name": tensor.name, **(first if isinstance(first, dict) else {"components": parts})}


def _symbol(symbol: Symbol) -> dict[str, Json]:
    ends = (None if end is None else to_text(end) for end in (symbol.lo, symbol.hi))
    return {"name": symbol.name, "kind": symbol.kind, **dict(zip(("low", "high"), ends, strict=True))}


def _conditions(conditions: Iterable[Given]) -> list[Json]:
    return [{"condition": c.text, "reason": c.reason, "line": c.line} for c in conditions]


def _figures(study: Study, show: Show) -> dict[str, Json]:
    """The figures asked for; the same keys for closed forms and for numbers."""
    analysis, wanted = study.analysis, study.metrics
    groups: dict[str, Callable[[], dict[str, Json]]] = {
        "eops": lambda: {"eops": show(analysis.eops), "histogram": _by_function(analysis.histogram, show)},
        "flops": lambda: {"flops": show(analysis.flops)},
        "macs": lambda: {"macs": show(analysis.macs)},
        "bytes": lambda: _bytes(analysis, show),
        "span": lambda: _span(analysis, show),
        "index": lambda: {"index": _by_function(analysis.index, show)},
        "atoms": lambda: {"atoms": {name: show(form) for name, form in analysis.atoms.items()}},
    }
    found: dict[str, Json] = {}
    for metric, group in groups.items():
        found.update(group() if metric in wanted else {})
    if study.weighed:
        found["weighed"] = {
            name: {"value": show(weighed), "unit": weighed.unit} for name, weighed in study.weighed
        }
    return found


def _by_function(counts: Mapping[tuple[str, str], Poly], show: Show) -> dict[str, Json]:
    return {f"{name}:{space}": show(form) for (name, space), form in sorted(counts.items())}


def _bytes(analysis: Analysis, show: Show) -> dict[str, Json]:
    moved = analysis.traffic
    return {
        "bytes": show(moved.total),
        "traffic": {
            "read": {space: show(form) for space, form in moved.read.items()},
            "written": {space: show(form) for space, form in moved.written.items()},
        },
        "intensity": show(analysis.intensity),
    }


def _span(analysis: Analysis, show: Show) -> dict[str, Json]:
    depth = analysis.span
    return {
        "span": show(None if depth is None else depth.chain),
        "span_tree": show(None if depth is None else depth.tree),
        "span_exact": depth is not None and depth.chain.exact,
        "parallelism": show(analysis.parallelism),
        "parallelism_tree": show(analysis.parallelism_tree),
    }
