"""Measures the machine at hand by a few simple calls, and writes it as a device for ``--device``.

    PYTHONPATH=tools/benchmarks python3 -m hardware.card mine.toml [cpu|cuda]

It takes a minute, and needs PyTorch alone; ``record.py`` measures a CUDA card in full, operator by operator.
A rate is that of large calls, and a start what the smallest one takes.  On a card each call is recorded as a
CUDA graph, so that what the processor needs to start it is left out; the gap between kernels is what one more
small call in such a graph takes.  The peaks are the fastest calls that
were seen, and no data sheet: what is said to take at least so long by them, may take less where a call is
faster than all of these.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

SPACES = ("float32", "bfloat16")
PATTERNS: Mapping[str, str] = {
    "stream": "bytes",
    "normalise": "bytes",
    "product": "macs",
    "attention": "macs",
}
"""What each kind of call is measured in."""
GAPS = 200
"""The small calls that are recorded in a row to measure the gap between two."""
SECONDS = 0.4
"""For how long a call is repeated."""


class Measured(NamedTuple):
    """A call: its kind, its space if that matters, what it does, and the microseconds that it takes."""

    pattern: str
    space: str
    amount: int
    median: float
    fastest: float


class Fit(NamedTuple):
    """A start and a rate: microseconds, and an amount per microsecond."""

    start: float
    rate: float


def fit(calls: Sequence[Measured]) -> Fit:
    """Fit a start and a rate to calls of one kind: by the smallest at its fastest, and by the largest.

    >>> fit([Measured("stream", "", 10, 6.0, 5.5), Measured("stream", "", 1010, 105.5, 100.0)])
    Fit(start=4.5, rate=10.0)
    """
    small, large = min(calls, key=lambda one: one.amount), max(calls, key=lambda one: one.amount)
    rate = (large.amount - small.amount) / max(large.median - small.fastest, 1e-3)
    return Fit(max(small.fastest - small.amount / rate, 0.01), rate)


class Machine(NamedTuple):
    """What a machine is: a name, a description, its memory, and a cache that holds what was written."""

    name: str
    description: str
    memory: int
    cache: int


def device_text(machine: Machine, date: str, calls: Sequence[Measured], gap: float | None = None) -> str:
    """Write a device from calls that were measured; without a gap, one call begins when another has ended."""

    def some(pattern: str, space: str = "") -> list[Measured]:
        return [one for one in calls if one.pattern == pattern and space in ("", one.space)]

    fastest = {space: max(one.amount / one.fastest for one in some("product", space)) for space in SPACES}
    stream = fit(some("stream"))
    lines = [
        f'name = "{machine.name}"',
        f'description = "{machine.description}"',
        f'recorded = "{date}"',
        'source = "measured by hardware.card: the fastest of each kind of call, not a data sheet"',
        "",
        "[peak]  # per microsecond",
        f"bytes = {max(round(max(one.amount / one.fastest for one in some('stream'))), 1)}",
        f"cache = {machine.cache}",
        f"memory = {machine.memory}",
        "",
        "[peak.macs]",
        f"R = {round(fastest['float32'])}",
        *(f"{space} = {round(fastest[space])}" for space in SPACES),
        "",
        "[fitted]  # microseconds, and amounts per microsecond",
        f"bandwidth = {round(stream.rate)}",
        f"gap = {stream.start if gap is None else gap:.2f}",
        "prologue = 0",
    ]
    for pattern, quantity in PATTERNS.items():
        for space in SPACES if quantity == "macs" else ("",):
            found = fit(some(pattern, space))
            spaces = ["R", space] if space == "float32" else [space]
            lines += ["", "[[fitted.group]]", f'pattern = "{pattern}"']
            lines += [f"spaces = [{', '.join(map(repr, spaces))}]".replace("'", '"')] if space else []
            lines += [f'quantity = "{quantity}"', f"start = {found.start:.2f}", f"rate = {round(found.rate)}"]
    return "\n".join(lines) + "\n"


def durations(call: Callable[[], Any], kind: str) -> list[float]:
    """Repeat a call for a while; return the microseconds that each took."""
    import torch

    times, ends = [], time.perf_counter() + SECONDS
    for _ in range(3):
        call()
    while len(times) < 5 or time.perf_counter() < ends:
        if kind == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        if kind == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def captured(call: Callable[[], Any], many: int = 1) -> Callable[[], Any]:
    """Record a call, or many of them in a row, as a CUDA graph; return what runs it."""
    import torch

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        call()  # libraries allocate and choose when they are first called
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(many):
            call()
    return graph.replay


def gap_of(kind: str) -> float | None:
    """Measure what one more small call in a CUDA graph takes; None on a CPU, which has none."""
    import torch

    if kind != "cuda":
        return None
    x = torch.randn(64, device=kind)
    y = torch.empty_like(x)
    one, many = (
        min(durations(captured(lambda: torch.neg(x, out=y), often), kind)) for often in (1, 1 + GAPS)
    )
    return (many - one) / GAPS


def measured(kind: str) -> Iterator[Measured]:
    """Measure the calls on a CPU or a CUDA card."""
    import torch

    def timed(pattern: str, space: str, amount: int, call: Callable[[], Any]) -> Measured:
        times = durations(captured(call) if kind == "cuda" else call, kind)
        found = Measured(pattern, space, amount, statistics.median(times), min(times))
        print(f"{pattern:10} {space:9} {amount:>14,}  {found.median:12,.1f} us", flush=True)
        return found

    wide = 26 if kind == "cpu" else 29
    for power in (6, wide):
        x = torch.randn(1 << power, device=kind)
        y = torch.empty_like(x)
        yield timed("stream", "", 8 << power, lambda y=y, x=x: torch.neg(x, out=y))
    for rows in (1, 1 << (wide - 12)):
        x = torch.randn(rows, 1 << 11, device=kind)
        yield timed("normalise", "", rows * (8 << 11), lambda x=x: torch.softmax(x, -1))
    for space in SPACES:
        type_ = getattr(torch, space)
        for n in (16, 2048 if kind == "cpu" else 8192):
            a, b = (torch.randn(n, n, device=kind, dtype=type_) for _ in range(2))
            yield timed("product", space, n**3, lambda a=a, b=b: a @ b)
        for n in (16, 1024 if kind == "cpu" else 4096):
            q, k, v = (torch.randn(1, 16, n, 64, device=kind, dtype=type_) for _ in range(3))
            call = torch.nn.functional.scaled_dot_product_attention
            yield timed(
                "attention", space, 2 * 16 * n * n * 64, lambda q=q, k=k, v=v, call=call: call(q, k, v)
            )


def machine_of(kind: str) -> Machine:
    """Return what PyTorch and the system say of the machine."""
    import torch

    version = f"PyTorch {torch.__version__}"
    if kind == "cuda":
        card = torch.cuda.get_device_properties(0)
        name = "".join(letter if letter.isalnum() else "_" for letter in card.name.lower())
        return Machine(name, f"{card.name}; {version}", card.total_memory, card.L2_cache_size)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    told = Path("/proc/cpuinfo")
    lines = told.read_text("utf-8").splitlines() if told.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    model = next(names, platform.machine()).replace('"', "")
    return Machine("cpu", f"{model}, {torch.get_num_threads()} threads; {version}", memory, 1 << 25)


def main(file: str, kind: str = "cpu") -> None:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    text = device_text(machine_of(kind), date, list(measured(kind)), gap_of(kind))
    Path(file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
