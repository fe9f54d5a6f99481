"""Plans for a notebook: frames of figures, of what is in memory, and of what runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

from tolcost.apps.plan.lines import line_of, lines_of, logits_line
from tolcost.diagnostics import place, quoted, refuse
from tolcost.result.frames import frame_in

if TYPE_CHECKING:
    from tolcost.apps.plan.plan import Plan
    from tolcost.result.frames import Frame


def plan_frame(plan: Plan) -> Frame:
    """Return a frame with a row for every figure: its value, its unit, and the lines that it comes from."""
    rows = list(_figures(plan))
    names = ("figure", "value", "unit", "lines")
    return frame_in({name: [row[n] for row in rows] for n, name in enumerate(names)})


def plan_frame_by(plan: Plan, what: str) -> Frame:
    """Return a frame with a row for every input that stays in memory, or for every kind of call."""
    if what not in _ROWS:
        refuse("T0924", f"a plan has no frame by {quoted(what)}", hint=f"it has {' and '.join(_ROWS)}")
    return _ROWS[what](plan)


def _figures(plan: Plan) -> Iterator[tuple[str, float | int | None, str, str]]:
    inputs, (most, moment) = list(plan.holdings()), plan.activations
    declared = {
        kind: _joined({line_of(plan, one.given.name) for one in inputs if one.parameter is kind})
        for kind in (True, False)
    }
    called = _joined(set().union(*lines_of(plan).values()))
    yield "parameters", plan.served.parameter_count, "numbers", declared[True]
    yield "parameters", ceil(plan.weights), "bytes", declared[True]
    yield "cache", ceil(plan.cache), "bytes", declared[False]
    yield "activations", most, "bytes", str(place(moment.span).line)
    yield "logits", plan.logits, "bytes", str(logits_line(plan.served.called))
    yield "needed", ceil(plan.needed), "bytes", ""
    yield "reserved", None if plan.reserved is None else ceil(plan.reserved), "bytes", ""
    runs = [("prefill", plan.read, plan.prefill)]
    if plan.question.answer:
        runs.append(("decode", plan.made(plan.question.batch), plan.decode))
    for name, step, time in runs:
        yield name, plan.macs(step), "MACs", called
        if time is not None:
            for how, value in (("at least", time.bound), ("one graph", time.graph), ("eager", time.eager)):
                yield f"{name}, {how}", _rounded(value), "µs", called


def _by_input(plan: Plan) -> Frame:
    found = list(plan.holdings())
    return frame_in({
        "input": [one.given.name for one in found],
        "kind": ["parameter" if one.parameter else "cache" for one in found],
        "elements": [one.elements for one in found],
        "bytes": [ceil(one.bytes) for one in found],
        "line": [line_of(plan, one.given.name) for one in found],
    })  # fmt: skip


def _by_call(plan: Plan) -> Frame:
    lines = lines_of(plan)
    runs = (("prefill", plan.prefill), ("decode", plan.decode))
    if plan.device is None:
        refuse("T0926", "times of calls need a device", hint='device="h200"')
    found = [(phase, part) for phase, run in runs if run is not None for part in run.parts]
    return frame_in({
        "phase": [phase for phase, _ in found],
        "call": [part.name for _, part in found],
        "calls": [part.calls for _, part in found],
        "bytes": [ceil(part.bytes) for _, part in found],
        "macs": [part.macs for _, part in found],
        "time": [_rounded(part.time) for _, part in found],
        "lines": [_joined(lines[part.name]) for _, part in found],
    })  # fmt: skip


_ROWS: Mapping[str, Callable[[Plan], Frame]] = MappingProxyType({"input": _by_input, "call": _by_call})


def _rounded(time: Fraction | None) -> float | None:
    return None if time is None else float(time)


def _joined(lines: set[int]) -> str:
    return ", ".join(map(str, sorted(lines)))
