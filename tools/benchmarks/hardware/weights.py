"""Operations per elementary function, by its place in a kernel, fitted on half of the operators.

What an operator has alone is what that operator executes.  The other weights minimise the sum of relative
errors, one after the other: with the others held, the best weight is a weighted median, so that nothing but
sorting is needed and the result is the same everywhere.  The weight file ``h200``, which knows functions but
no places, takes sums and signs for what they are inside of a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from .predict import LARGEST
from .recorded import Measured, Work

ROUNDS = 60
SHARE = 0.02
"""A function says something about an operator if it is at least this share of its EOPs."""
UNSEEN = 5.0
"""What a function takes that no operator says anything about: a root, since these are inverse roots."""
EQUAL = 1e-12
TREE = 32 * (3 + 5)
"""Further steps of a row that a warp reduces: its lanes hold four partial results each, and exchange them."""
ELEMENTWISE = ("stream", "indexed", "permuted")
SUMS_AND_SIGNS = {"add": "sum inside", "sub": "sum inside", "abs": "sign inside", "neg": "sign inside"}
INSIDE = SUMS_AND_SIGNS | {"gt": "gt inside", "where": "where inside"}
"""Functions that take something else among others than in a call of their own, where PyTorch's sum is
a + alpha * b, a sign is no mere modifier of an operand, and a comparison does not see to NaN."""
SCAN = "scan"
"""A scan in parallel takes more steps than one after the other, whatever its function."""
PLACES = {*INSIDE.values(), SCAN}
Row = tuple[Mapping[str, int], float]
"""What is done with how often, and the operations that were executed."""


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


def done(work: Work) -> dict[str, int]:
    """What a call does: functions by their place, with what combining partial results adds."""
    counts = {function: n for function, n in reals(work.histogram).items() if n}
    combining = {"add", "max", "min", "gt", "where"} | ({"mul"} if "add" not in counts else set())
    alone = work.case.pattern in ELEMENTWISE and work.kernels >= len(counts)
    found: dict[str, int] = {}
    for function, n in counts.items():
        key = function if alone else INSIDE.get(function, function)
        key = SCAN if work.case.pattern == SCAN else key
        found[key] = found.get(key, 0) + n + (TREE * work.reduced if function in combining else 0)
    return found


def row(point: Measured) -> Row | None:
    """What a point does, and its executed fp32 operations."""
    if point.counters is None or point.work.type != "float32" or not executed(point.counters):
        return None
    return done(point.work), executed(point.counters)


def predicted(counts: Mapping[str, int], weights: Mapping[str, float]) -> float | None:
    """Operations by the weights; None if there is none for what is done."""
    plain = {inside: function for function, inside in INSIDE.items()}
    known = [(key if key in weights else plain.get(key, key), n) for key, n in counts.items() if n]
    if any(key not in weights for key, _ in known):
        return None
    return sum(weights[key] * n for key, n in known)


def fit(points: Iterable[Measured]) -> dict[str, Weight]:
    """Weights from the largest recorded size of each case."""
    largest = [p for p in points if p.index == LARGEST]
    chosen = [(p.work.case.op, r) for p in largest if (r := row(p)) is not None]
    data = [(op, counts, got) for op, (counts, got) in chosen if counts]
    held = _alone(data) | dict.fromkeys(_elsewhere(largest), 0.0)
    weights = {key: 1.0 for _, counts, _ in data for key in counts} | held
    for _ in range(ROUNDS):
        for key in sorted(weights.keys() - held.keys()):
            votes = _votes(key, [(counts, got) for _, counts, got in data], weights)
            weights[key] = max(0.0, _median(votes)) if votes else UNSEEN
    return {key: _weight(key, data, weights) for key in sorted(weights)}


def by_function(weights: Mapping[str, Weight]) -> dict[str, Weight]:
    """Weights that know no places: sums and signs as they are inside of a kernel, the others alone."""
    plain = {key: weight for key, weight in weights.items() if key not in PLACES}
    inside = {f: weights[at] for f, at in SUMS_AND_SIGNS.items() if at in weights}
    return dict(sorted((plain | inside).items()))


def _alone(data: Iterable[tuple[str, Mapping[str, int], float]]) -> dict[str, float]:
    """What is the only thing that some call does takes what is executed there."""
    single: dict[str, list[float]] = {}
    for _, counts, got in data:
        if len(counts) == 1 and not counts.keys() & PLACES:
            ((key, n),) = counts.items()
            single.setdefault(key, []).append(got / n)
    return {key: median_low(found) for key, found in single.items()}


def _elsewhere(points: Iterable[Measured]) -> Iterator[str]:
    """What an operator does alone and executes without any fp32 operation: on other units."""
    for point in points:
        counts = done(point.work)
        if len(counts) == 1 and point.counters is not None and not executed(point.counters):
            yield from counts.keys() - PLACES


def _votes(function: str, data: Sequence[Row], weights: Mapping[str, float]) -> list[tuple[float, float]]:
    """For each row with the function: the weight that would explain it, and the row's say."""
    votes = []
    for counts, got in data:
        n = counts.get(function, 0)
        if n > SHARE * sum(counts.values()):
            others = sum(weights[f] * m for f, m in counts.items() if m and f != function)
            votes.append(((got - others) / n, n / max(got, sum(counts.values()))))
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
