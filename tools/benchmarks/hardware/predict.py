"""Time from what is counted: a lower bound, and a prediction with a few fitted parameters.

The bound is the speed of light: what must be computed over the peak of the units that compute it, and what
must be read over the peak of the memory; what is written may still be in the L2 cache when a call ends.  The
prediction replaces peaks by what a pattern of access was seen to reach, and adds the start of a kernel;
``plain`` is the prediction as ``tolcost.cost.device`` has it in closed form.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .recorded import Measured, Model, Work

PEAK_BANDWIDTH = 4.8e6  # bytes per microsecond, by the data sheet
MULTIPROCESSORS, CLOCK = 132, 1980.0  # cycles per microsecond, the highest that the driver reports
L2 = 62_914_560
MEMORY = 141_000_000_000  # bytes, by the data sheet
MACS = {"float32": 128, "bfloat16": 2048}
"""Multiply-accumulates of a multiprocessor in a cycle: its fp32 lanes, and its tensor cores in bf16."""
LANES = 128
LARGEST = 3
"""The place of the largest of the recorded sizes."""
SHORT = 10.0
"""Microseconds under which a time is mostly the start of a kernel; such times are shown apart."""
UNALIGNED = " unaligned"
ALIGNED = 8
"""Elements to which rows of a bf16 matrix have to be aligned for the fast kernels."""


def peak(type_: str) -> float:
    """Multiply-accumulates per microsecond of the whole card."""
    return MACS[type_] * MULTIPROCESSORS * CLOCK


def bound(work: Work) -> float:
    """Microseconds that no implementation in this arithmetic goes below, with caches empty at the start."""
    memory = (work.certain + max(0, work.written - L2)) / PEAK_BANDWIDTH
    return max(memory, work.macs / peak(work.type))


def quantity(work: Work) -> float:
    """What the time of a pattern is proportional to: bytes, elements visited, or quantised products."""
    pattern = work.case.pattern
    if pattern in PRODUCTS:
        return products(work)
    if pattern == SERIAL:
        return work.span
    if pattern in BYTES:
        between = max(work.largest * work.width, work.written)
        moved = work.read + work.written + (work.passes - 1) * 2 * between
        return moved * (max(1.0, MULTIPROCESSORS / work.rows) if work.rows else 1.0)
    return work.passes * max(work.read, work.written) / work.width


BYTES = ("stream", "reduce", "normalise")
SUMMED = ("product", "affine", "convolution", "attention")
"""Products of one kernel, each result of which is a sum that goes term by term."""
PRODUCTS = (*SUMMED, "attention in parts", "recurrence")
SERIAL = "serial scan"
"""A scan along a slow dimension: a thread for each column, which waits for memory at every step."""
NARROW = 128
"""Elements of a row up to which those that reduce it are mostly idle, so that it takes a time of its own."""
PROLOGUE = 50
"""Steps of the inner dimension that starting and ending a tile of results takes."""


def products(work: Work) -> float:
    """Multiply-accumulates, with what each result takes besides."""
    return work.macs + PROLOGUE * work.outputs


def terms(work: Work) -> float:
    """The length of the sum that a result is; of attention, of keys and of values."""
    results = work.largest if work.case.pattern == "attention" else work.outputs
    return work.macs / max(1, results) if work.case.pattern in SUMMED else 0


def group(work: Work) -> str:
    """The parameters that a call goes by: its pattern, for products with the type and the alignment."""
    inner = work.macs // max(1, work.outputs)
    ragged = work.type == "bfloat16" and (work.columns % ALIGNED or inner % ALIGNED)
    return aligned(work) + (UNALIGNED if ragged and work.case.pattern in ("product", "convolution") else "")


def rows(work: Work) -> int:
    """Rows that a warp or a block of threads brings to one element, or to mean 0."""
    return work.reduced or (work.rows if work.case.pattern == "normalise" else 0)


def steps(work: Work) -> float:
    """Rows, each as often as it applies a function to every element."""
    return rows(work) * work.eops / max(1, work.largest)


def aligned(work: Work) -> str:
    """The parameters that a call goes by, lengths being multiples of what fast kernels need."""
    pattern = work.case.pattern
    return f"{pattern} {work.type}" if pattern in PRODUCTS else pattern


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of a group: microseconds to start, the quantity done in one, and what a step of a row takes.

    A term of a sum takes ``term`` besides, up to ``split`` terms, if that is not 0: longer sums are split.
    """

    start: float
    rate: float
    row: float = 0.0
    term: float = 0.0
    split: int = 0

    def summing(self, work: Work) -> float:
        """Microseconds that the sum of one result takes, which a call has to wait for."""
        return self.term * (min(terms(work), self.split) if self.split else terms(work))


@dataclass(frozen=True, slots=True)
class Device:
    """All that is fitted: by group, the bandwidth reached, and the time from one kernel to the next."""

    groups: Mapping[str, Parameters]
    bandwidth: float
    gap: float

    def own(self, work: Work) -> Parameters:
        """The parameters of a call; where its group was not fitted, of the nearest that was."""
        name = group(work)
        nearest = [name, name.removesuffix(UNALIGNED)]
        if work.case.pattern in PRODUCTS:
            nearest.append(f"product {work.type}")
        return next((self.groups[one] for one in nearest if one in self.groups), self.groups["stream"])

    def with_products(self, name: str, members: list[Measured]) -> Device:
        """This device, with a group of products fitted to some points."""
        return replace(self, groups={**self.groups, name: _summed(members, self.bandwidth, self.gap)})

    def inside(self, work: Work) -> float:
        """Microseconds of a call among others: its first kernel waits only for the one before."""
        return self.predict(work) - self.groups["stream"].start + self.gap

    def whole(self, model: Model) -> float:
        """Microseconds of a model: its nodes one after the other."""
        first = self.groups["stream"].start - self.gap
        return first + sum(n * self.inside(work) for n, work in model.nodes)

    def plain(self, work: Work) -> float:
        """Microseconds of a call as ``tolcost --device`` says, which knows neither rows nor alignment."""
        own = self.groups.get(aligned(work), self.groups["stream"])
        memory = (work.read + work.written) / self.bandwidth
        amount = quantity(replace(work, rows=0)) / own.rate + own.summing(work)
        return own.start + self.gap * (work.kernels - 1) + max(memory, amount)

    def predict(self, work: Work) -> float:
        """Microseconds of a call."""
        own = self.own(work)
        memory = (work.read + work.written) / self.bandwidth
        longest = max(memory, quantity(work) / own.rate + own.summing(work), steps(work) * own.row)
        return own.start + self.gap * (work.kernels - 1) + longest


def fit(points: Iterable[Measured]) -> Device:
    """Medians: of what long calls reach, and of what is left of short ones."""
    listed = list(points)
    gap = _gap(listed)
    stream = _parameters([p for p in listed if group(p.work) == "stream"], gap)
    groups = {}
    for name in sorted({group(p.work) for p in listed}):
        members = [p for p in listed if group(p.work) == name]
        waiting = [p for p in members if not _moves(p, stream) and not _narrow(p.work)]
        if name == "stream":
            groups[name] = stream
        elif members[0].work.case.pattern in SUMMED:
            groups[name] = _summed(members, stream.rate, gap)
        elif any(p.index == LARGEST for p in waiting):
            own = _parameters(waiting, gap)
            groups[name] = replace(own, row=_row([p for p in members if _narrow(p.work)], own.start))
    return Device(groups, stream.rate, gap)


STARTS = (4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 17.0, 20.0, 25.0)
FASTER = tuple(1.02**n for n in range(-10, 11))
TERMS = (0.0, *(0.001 * 1.2**n for n in range(24)))
ALIKE = 0.005
SPLITS = (0, 128, 256, 512, 1024, 2048)
"""What is tried for products: starts and terms in microseconds, rates by a median, and the longest sums."""


def _summed(members: list[Measured], bandwidth: float, gap: float) -> Parameters:
    """Of all that is tried, what is off least: by the mean of logarithms, where one point is one vote.

    Of lengths of sums that are off alike, the shortest counts: nothing shows that longer ones take longer.
    """
    left = np.array([max(1.0, p.us - gap * (p.work.kernels - 1)) for p in members])
    amount = np.array([quantity(p.work) for p in members])
    memory = np.array([(p.work.read + p.work.written) / bandwidth for p in members])
    rate = np.median(np.sort(amount / left)[-max(1, len(members) // 4) :])
    rates = rate * np.array(FASTER)
    found = []
    for split in SPLITS:
        length = np.array([min(terms(p.work), split or np.inf) for p in members])
        taken = amount / rates[None, :, None, None] + np.array(TERMS)[None, None, :, None] * length
        times = np.array(STARTS)[:, None, None, None] + np.maximum(taken, memory)
        off = np.abs(np.log(times / left)).mean(axis=-1)
        best = np.unravel_index(int(off.argmin()), off.shape)
        found.append((float(off[best]), split, best))
    least = min(found)[0]
    _, split, (start, faster, term) = min(
        (one for one in found if one[0] <= least + ALIKE), key=lambda one: one[1] or np.inf
    )
    own = Parameters(STARTS[start], float(f"{rates[faster]:.4g}"), 0.0, float(f"{TERMS[term]:.3g}"), split)
    return own if own.term else replace(own, split=0)


def _moves(point: Measured, stream: Parameters) -> bool:
    """Whether moving its bytes explains most of a time, which then says nothing about a slower unit."""
    bytes_ = point.work.read + point.work.written
    other = point.work.case.pattern not in BYTES
    return other and point.index > 0 and bytes_ / stream.rate > 0.6 * (point.us - stream.start)


def _narrow(work: Work) -> bool:
    """Whether rows are so short that they, not their bytes, take the time."""
    return bool(rows(work)) and work.largest <= NARROW * rows(work)


def _row(narrow: list[Measured], start: float) -> float:
    """Microseconds of a step of a short row, among many."""
    long = [(p.us - start) / steps(p.work) for p in narrow if p.index >= LARGEST - 1]
    return float(f"{statistics.median(long):.3g}") if long else 0.0


def _gap(points: list[Measured]) -> float:
    """From one kernel to the next: what each further kernel adds at the smallest size."""
    small = [p for p in points if p.index == 0 and p.work.case.pattern == "stream"]
    single = statistics.median(p.us for p in small if p.work.kernels == 1)
    return statistics.median((p.us - single) / (p.work.kernels - 1) for p in small if p.work.kernels > 1)


def _parameters(members: list[Measured], gap: float) -> Parameters:
    def left(p: Measured) -> float:
        return p.us - gap * (p.work.kernels - 1)

    rate = statistics.median(quantity(p.work) / left(p) for p in members if p.index == LARGEST)
    start = 0.0
    for _ in range(20):
        short = [left(p) - quantity(p.work) / rate for p in members if p.index == 0]
        start = max(1.0, statistics.median(short)) if short else start
        long = [p for p in members if left(p) > max(SHORT, 1.5 * start)]
        rate = statistics.median(quantity(p.work) / (left(p) - start) for p in long) if long else rate
    return Parameters(round(start, 2), float(f"{rate:.4g}"))
