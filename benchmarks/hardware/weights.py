"""Operations per elementary function, fitted on half of the operators: the weight file ``h200``.

The fit minimises the sum of relative errors, one weight after the other: with the others held, the best
weight is a weighted median, so that nothing but sorting is needed and the result is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .recorded import Measured

ROUNDS = 60
SHARE = 0.02
"""A function says something about an operator if it is at least this share of its EOPs."""
UNSEEN = 5.0
"""What a function takes that no operator says anything about: a root, since these are inverse roots."""
EQUAL = 1e-12
Row = tuple[Mapping[str, int], float]
"""Functions on numbers with how often, and the operations that were executed."""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a function takes, the range in which the operators that have it put it, and these operators."""

    value: float
    low: float
    high: float
    operators: tuple[str, ...]


def reals(histogram: Mapping[str, int]) -> dict[str, int]:
    """How often each function is applied to real numbers; integers and truth values take no fp32 units."""
    counts: dict[str, int] = {}
    for key, n in histogram.items():
        function, space = key.split(":")
        if space in ("R", "float32"):
            counts[function] = counts.get(function, 0) + n
    return counts


def executed(counters: Mapping[str, int]) -> int:
    """Executed fp32 operations: every fp32 instruction is one, a fused multiply-add two."""
    return counters["fp32"] + counters["ffma"]


def row(point: Measured) -> Row | None:
    """Functions and executed fp32 operations of a point."""
    if point.counters is None or point.work.type != "float32" or not executed(point.counters):
        return None
    return reals(point.work.histogram), executed(point.counters)


def predicted(counts: Mapping[str, int], weights: Mapping[str, float]) -> float | None:
    """Operations by the weights; None if a function has none."""
    if any(function not in weights for function, n in counts.items() if n):
        return None
    return sum(weights[function] * n for function, n in counts.items() if n)


def fit(points: Iterable[Measured]) -> dict[str, Weight]:
    """Weights from the largest recorded size of each case."""
    largest = [p for p in points if p.index == 3]
    chosen = [(p.work.case.op, r) for p in largest if (r := row(p)) is not None]
    data = [(op, counts, got) for op, (counts, got) in chosen if any(counts.values())]
    weights = {function: 1.0 for _, counts, _ in data for function, n in counts.items() if n}
    nothing = dict.fromkeys(_elsewhere(largest), 0.0)
    weights |= nothing
    for _ in range(ROUNDS):
        for function in sorted(weights.keys() - nothing.keys()):
            votes = _votes(function, [(counts, got) for _, counts, got in data], weights)
            weights[function] = max(0.0, _median(votes)) if votes else UNSEEN
    return {function: _weight(function, data, weights) for function in sorted(weights)}


def _elsewhere(points: Iterable[Measured]) -> Iterator[str]:
    """Functions that an operator has alone and executes without any fp32 operation: on other units."""
    for point in points:
        counts = reals(point.work.histogram)
        if len(counts) == 1 and point.counters is not None and not executed(point.counters):
            yield from counts


def _votes(function: str, data: Sequence[Row], weights: Mapping[str, float]) -> list[tuple[float, float]]:
    """For each row with the function: the weight that would explain it, and the row's say."""
    votes = []
    for counts, got in data:
        n = counts.get(function, 0)
        if n > SHARE * sum(counts.values()):
            others = sum(weights[f] * m for f, m in counts.items() if m and f != function)
            votes.append(((got - others) / n, n / got))
    return votes


def _median(votes: list[tuple[float, float]]) -> float:
    half, so_far = sum(say for _, say in votes) / 2, 0.0
    for value, say in sorted(votes):
        so_far += say
        if so_far >= half - EQUAL:
            return value
    raise AssertionError("a function of no row has no weight")


def _weight(
    function: str, data: Sequence[tuple[str, Mapping[str, int], float]], weights: Mapping[str, float]
) -> Weight:
    having = [(op, votes[0][0]) for op, c, got in data if (votes := _votes(function, [(c, got)], weights))]
    values = sorted(max(0.0, vote) for _, vote in having) or [weights[function]]
    names = tuple(sorted({op for op, _ in having}))
    return Weight(round(weights[function], 2), round(values[0], 2), round(values[-1], 2), names)
