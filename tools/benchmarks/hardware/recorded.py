"""What was recorded, joined with what tolcost counts: one ``Measured`` for each point."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any
from zlib import crc32

from .table import ROOT, Case, formula, read_table

DATA = ROOT / "reports" / "data" / "h200"
SUMMED = (
    "fadd", "fmul", "ffma", "fp32", "integer", "conversion", "special", "tensor_ops", "tensor_ops_tf32",
    "dram_read", "dram_written", "l2", "launches",
)  # fmt: skip
FULL_PASS = 0.25
"""A kernel goes over the whole tensor if it moves at least this share of the bytes of the busiest one."""
Row = Mapping[str, str]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Work:
    """What a call has to do, known without running it, but for how many kernels PyTorch makes of it."""

    case: Case
    type: str
    eops: int
    macs: int
    histogram: Mapping[str, int]
    span: int
    read: int
    certain: int
    written: int
    columns: int
    rows: int
    largest: int
    kernels: int
    passes: int

    @property
    def width(self) -> int:
        """Bytes of a floating-point element."""
        return 4 if self.type == "float32" else 2

    @property
    def outputs(self) -> int:
        """Floating-point elements written."""
        return self.written // self.width

    @property
    def reduced(self) -> int:
        """Rows that a reduction brings down to one element each; 0 for other patterns."""
        if self.case.pattern != "reduce":
            return 0
        return self.outputs if 2 * self.outputs <= self.largest else self.eops // max(1, self.span)


@dataclass(frozen=True, slots=True)
class Measured:
    """A recorded point: the work, microseconds with their spread, and the counters, if there are any."""

    work: Work
    size: str
    index: int
    us: float
    low: float
    high: float
    counters: Mapping[str, int] | None

    @property
    def name(self) -> str:
        """The case."""
        return self.work.case.name


def rows(file: str) -> list[dict[str, str]]:
    """The rows of a recorded table."""
    with (DATA / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def summed(kernels: Iterable[Row]) -> dict[Key, dict[str, int]]:
    """Counters of a point, all kernels together."""
    totals: dict[Key, dict[str, int]] = defaultdict(lambda: dict.fromkeys(SUMMED, 0))
    for kernel in kernels:
        for name in SUMMED:
            totals[kernel["name"], kernel["type"], kernel["size"]][name] += int(kernel[name])
    return dict(totals)


def launches(kernels: Iterable[Row]) -> dict[tuple[str, str], tuple[int, int]]:
    """Kernels of a call, and how many of them go over the whole tensor, at the largest recorded size."""
    at: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = defaultdict(dict)
    for kernel in kernels:
        count = int(kernel["launches"])
        one = (count, int(kernel["l2"]) / count)
        at[kernel["name"], kernel["type"]].setdefault(kernel["size"], []).append(one)
    found = {}
    for key, sizes in at.items():
        largest = max(sizes.values(), key=lambda group: sum(n * bytes_ for n, bytes_ in group))
        most = max(bytes_ for _, bytes_ in largest)
        passes = sum(n for n, bytes_ in largest if bytes_ >= FULL_PASS * most)
        found[key] = sum(n for n, _ in largest), passes
    return found


def _each(shapes: Mapping[str, Any]) -> Iterator[list[int]]:
    for given in shapes.values():
        yield from given if given and not isinstance(given[0], int) else [given]


def work(case: Case, row: Row, shapes: Mapping[str, Any], kernels: tuple[int, int]) -> Work:
    """The work of a row of counts; of attention, of whose outputs a call gives the first alone."""
    largest = max((prod(shape) for shape in _each(shapes)), default=0)
    alone = largest * (4 if row["type"] == "float32" else 2) if case.op == "Attention" else None
    return Work(
        case=case,
        type=row["type"],
        eops=int(row["eops"]),
        macs=int(row["macs"]),
        histogram=json.loads(row["histogram"]),
        span=int(row["span"]),
        read=int(row["read"]),
        certain=int(row["certain"]),
        written=int(row["written"]) if alone is None else alone,
        columns=formula(case.columns, shapes),
        rows=formula(case.rows, shapes),
        largest=largest,
        kernels=kernels[0],
        passes=kernels[1],
    )


def measured() -> list[Measured]:
    """Every recorded point of the table, in its order."""
    table, kernels = read_table(), rows("counters.csv")
    counters, made = summed(kernels), launches(kernels)
    times = {(row["name"], row["type"], row["size"]): row for row in rows("times.csv")}
    points: list[Measured] = []
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows("counts.csv"):
        case, key = table[row["name"]], (row["name"], row["type"], row["size"])
        at = {name: int(n) for name, n in (part.split("=") for part in row["size"].split())}
        job = work(case, row, case.shapes(at), made.get(key[:2], (1, 1)))
        time = times[key]
        us = (float(time["us_1"]) + float(time["us_2"])) / 2
        low = min(float(time["low_1"]), float(time["low_2"]))
        high = max(float(time["high_1"]), float(time["high_2"]))
        points.append(Measured(job, row["size"], seen[key[:2]], us, low, high, counters.get(key)))
        seen[key[:2]] += 1
    return points


@dataclass(frozen=True, slots=True)
class Model:
    """A whole model at a size: its nodes with how often each, and its time as a graph and as called."""

    name: str
    type: str
    size: str
    nodes: tuple[tuple[int, Work], ...]
    us: float
    eager_us: float


def models() -> list[Model]:
    """The recorded models."""
    table, made = read_table(), launches(rows("counters.csv"))
    nodes: dict[Key, list[tuple[int, Work]]] = defaultdict(list)
    for row in rows("node_counts.csv"):
        case = table[row["case"]]
        job = work(case, row, json.loads(row["shapes"]), made.get((case.name, row["type"]), (1, 1)))
        nodes[row["model"], row["type"], row["size"]].append((int(row["count"]), job))
    return [
        Model(*key, tuple(nodes[key]), float(row["graph_us"]), float(row["us_1"]))
        for row in rows("models.csv")
        for key in [(row["name"], row["type"], row["size"])]
    ]


def halves(points: Iterable[Measured], salt: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """Operators to fit on and to test on: all cases and sizes of an operator are on one side.

    The first operator that has some elementary function as its only one, or else that has it at all, is
    fitted on, since nothing else could say what the function takes; the others go to the two sides in turn,
    within each pattern, by name.  Another ``salt`` takes the others in another order.  Of two operators of a
    pattern, the one with more variants goes first: one variant says too little to be fitted on alone.
    """
    functions: dict[str, set[str]] = {}
    pattern: dict[str, str] = {}
    variants: dict[str, set[str]] = defaultdict(set)
    for point in points:
        variants[point.work.case.op].add(point.name)
        pattern.setdefault(point.work.case.op, point.work.case.pattern)
        used = {function.split(":")[0] for function in point.work.histogram}
        functions.setdefault(point.work.case.op, set()).update(used)
    fit = {
        min((op for op in functions if function in functions[op]), key=lambda op: (len(functions[op]), op))
        for function in sorted(set().union(*functions.values()))
    }
    test: set[str] = set()
    many = Counter(pattern.values())

    def turn(op: str) -> tuple[str, int, int, str]:
        first = -len(variants[op]) if many[pattern[op]] == 2 else 0
        return pattern[op], first, crc32(f"{salt}{op}".encode()) if salt else 0, op

    for op in sorted(pattern, key=turn):
        if op not in fit:
            sides = [sum(pattern[other] == pattern[op] for other in side) for side in (fit, test)]
            (fit if sides[0] <= sides[1] else test).add(op)
    return frozenset(fit), frozenset(test)
