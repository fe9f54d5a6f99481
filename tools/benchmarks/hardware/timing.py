"""Times on the GPU: CUDA events around one call, the L2 cache emptied before, the median of many."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

FLUSHED = 512 * 2**20
"""Bytes read before each call: several times the L2 cache; read rather than written, so that no call has
to write back what another has written."""
AHEAD = 200_000
"""Cycles for which the GPU waits, while the host queues what is measured."""


@dataclass(frozen=True, slots=True)
class Time:
    """Microseconds: the median, the tenth and the ninetieth percentile, and of how many."""

    median: float
    low: float
    high: float
    runs: int


class Stopwatch:
    """Measures calls; holds the memory that empties the cache."""

    def __init__(self) -> None:
        self._memory = torch.zeros(FLUSHED // 4, device="cuda")
        self._sink = torch.zeros((), device="cuda")

    def measure(self, call: Callable[[], Any], runs: int = 30, most: float = 0.2) -> Time:
        """Time a call ``runs`` times, or as often as fits into ``most`` seconds, at least 5 times."""
        for _ in range(3):
            call()
        rough = self._once(call)
        torch.cuda.synchronize()
        count = max(5, min(runs, int(most / (rough.elapsed() / 1e6 + 3e-4))))
        pending = [self._once(call) for _ in range(count)]
        torch.cuda.synchronize()
        times = sorted(one.elapsed() for one in pending)
        return Time(
            statistics.median(times), times[len(times) // 10], times[-1 - len(times) // 10], len(times)
        )

    def _once(self, call: Callable[[], Any]) -> _Pending:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.amax(self._memory, 0, out=self._sink)
        torch.cuda._sleep(AHEAD)
        start.record()
        call()
        end.record()
        return _Pending(start, end)


@dataclass(frozen=True, slots=True)
class _Pending:
    start: Any
    end: Any

    def elapsed(self) -> float:
        return float(self.start.elapsed_time(self.end)) * 1e3


def as_graph(call: Callable[[], Any]) -> Callable[[], Any]:
    """The same as a CUDA graph: what the GPU does, without the host's time to launch it."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay
