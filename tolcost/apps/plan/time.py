"""How long a run takes on a device: a bound, and predictions by the kernels that an engine starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from msgspec import Struct

from tolcost.algebra import const
from tolcost.apps.plan.figures import SPACE, WIDTH, CallAt
from tolcost.cost.device import CallWork, Device, Fitted, bound, predicted
from tolcost.cost.engine import KernelEngine, run_by


class PartTime(Struct, frozen=True):
    """The time of calls with one name: predicted, at the peaks, and what their bytes and products are."""

    name: str
    calls: int
    time: Fraction | None
    bound: Fraction
    """What its parameters and cache, or its products, take at their peaks."""
    bytes: Fraction
    macs: int


class RunTime(Struct, frozen=True, eq=False):
    """The time of a run in microseconds; predictions are None where nothing was measured."""

    bound: Fraction
    """What memory and products take at their peaks, if everything else were free."""
    graph: Fraction | None
    """As one graph, which starts kernels without the host."""
    eager: Fraction | None
    """As the host starts them."""
    kernels: int
    parts: tuple[PartTime, ...]
    limit: str
    """What the bound comes from: bytes or operations."""


def run_time(device: Device, calls: Sequence[CallAt], engine: KernelEngine) -> RunTime:
    """Return the time of a run, given its calls."""
    fitted = run_by(engine, device).fitted
    rows: dict[str, list[tuple[CallAt, Fraction | None, int]]] = {}
    for call in calls:
        time, kernels = (None, 0) if fitted is None else _time(fitted, call)
        rows.setdefault(call.name, []).append((call, time, kernels))
    parts = tuple(_part(device, name, found) for name, found in rows.items())
    kernels = sum(call.times * number for found in rows.values() for call, _, number in found)
    least, limit = _least(device, calls)
    graph = eager = None
    if fitted is not None:
        graph = max(least, _wait(fitted) + sum((part.time or Fraction(0) for part in parts), Fraction(0)))
        eager = None if engine.host is None else max(graph, engine.host * kernels)
    return RunTime(least, graph, eager, kernels, _ordered(parts), limit)


def together(runs: Sequence[tuple[RunTime, int]]) -> RunTime:
    """Return the time of runs one after the other, each so many times."""
    rows: dict[str, list[tuple[PartTime, int]]] = {}
    for run, times in runs:
        for part in run.parts:
            rows.setdefault(part.name, []).append((part, times))
    parts = [
        PartTime(
            name,
            sum(part.calls * times for part, times in found),
            _added((part.time, times) for part, times in found),
            sum((part.bound * times for part, times in found), Fraction(0)),
            sum((part.bytes * times for part, times in found), Fraction(0)),
            sum(part.macs * times for part, times in found),
        )
        for name, found in rows.items()
    ]
    return RunTime(
        sum((run.bound * times for run, times in runs), Fraction(0)),
        _added((run.graph, times) for run, times in runs),
        _added((run.eager, times) for run, times in runs),
        sum(run.kernels * times for run, times in runs),
        _ordered(parts),
        max(runs, key=lambda row: row[0].bound * row[1])[0].limit,
    )


def _added(found: Iterable[tuple[Fraction | None, int]]) -> Fraction | None:
    listed = [(time, times) for time, times in found if time is not None]
    return sum((time * times for time, times in listed), Fraction(0)) if listed else None


def _ordered(parts: Iterable[PartTime]) -> tuple[PartTime, ...]:
    """Return parts by the time that they take, or else by the least, or by their bytes."""
    return tuple(sorted(parts, key=lambda part: (-(part.time or 0), -part.bound, -part.bytes)))


def _part(device: Device, name: str, found: Iterable[tuple[CallAt, Fraction | None, int]]) -> PartTime:
    listed = list(found)
    times = [call.times * time for call, time, _ in listed if time is not None]
    return PartTime(
        name,
        sum(call.times for call, _, _ in listed),
        sum(times, Fraction(0)) if times else None,
        _least(device, [call for call, _, _ in listed])[0],
        sum((call.times * (call.read + call.written) for call, _, _ in listed), Fraction(0)),
        sum(call.times * call.macs for call, _, _ in listed),
    )


def _wait(fitted: Fitted) -> Fraction:
    """What the first kernel of a run waits besides: every later one waits for the gap alone."""
    return fitted.stream.start - fitted.gap


def _time(fitted: Fitted, call: CallAt) -> tuple[Fraction, int]:
    """Return the time of one call among others, and the number of its kernels."""
    work = _work(call)
    start, candidates = predicted(fitted, work)
    if not candidates:
        return Fraction(0), 0
    longest = max(form.at({}) for _, form in candidates)
    return start - _wait(fitted) + longest, fitted.habit(work).kernels


def _work(call: CallAt) -> CallWork:
    analysis = call.call.kind.analysis
    products = {space for function, space in analysis.counts.histogram if function == "mul"}
    spaces = frozenset(products or {SPACE})
    return CallWork(
        call.name, const(ceil(call.read)), const(ceil(call.certain)), const(call.written),
        const(call.largest), const(call.macs), spaces, WIDTH, True,
    )  # fmt: skip


def _least(device: Device, calls: Sequence[CallAt]) -> tuple[Fraction, str]:
    """Return a time that no run goes below: parameters and what is kept are read, and products computed.

    What it is bound by goes by all experts that tokens may choose: one that is read for sure says little.
    """
    macs = sum(call.times * call.macs for call in calls)
    kept = sum((call.times * call.kept for call in calls), Fraction(0))
    reached = sum((call.times * call.reached for call in calls), Fraction(0))
    return max(_bounds(device, kept, macs))[0], max(_bounds(device, reached, macs))[1]


def _bounds(device: Device, moved: Fraction, macs: int) -> list[tuple[Fraction, str]]:
    work = CallWork(
        "", const(ceil(moved)), const(ceil(moved)), const(0), const(0), const(macs),
        frozenset({SPACE}), WIDTH,
    )  # fmt: skip
    return [(form.at({}), name) for name, form in bound(device, work)]


def rate_of(device: Device) -> Fraction | None:
    """Return the multiply-accumulates per microsecond of a device in the space of the programs."""
    found: Any = device.macs.get(SPACE)
    return None if found is None else Fraction(found)
