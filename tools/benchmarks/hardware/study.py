"""The analysis of what was recorded, as data: errors, shares, predictors, tables.  No GPU, no randomness."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from . import predict, weights
from .recorded import Measured, Model, Work, halves, measured, models

HALVES = 50
Count = Literal["EOPs", "weighted EOPs", "by place"]
"""What stands for executed operations: EOPs, plain, weighted as in the weight file, or weighted by place."""
FAST = ("DFT",)
"""Operators that PyTorch computes with fewer products than are defined, so that their bound is none there."""
NO_NUMBER = frozenset(
    ("lt", "gt", "eq", "le", "ge", "ineq", "isnan", "isinf", "and", "or", "xor", "not", "shl", "shr", "where")
)
"""Functions that FLOPs do not count."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors of a prediction: how many, their median, the shares within 10 %, 15 % and 50 %."""

    count: int
    median: float
    within_10: float
    within_15: float
    within_50: float


def errors(pairs: Iterable[tuple[float, float]]) -> Errors:
    """Errors of (predicted, observed)."""
    off = [abs(got / want - 1) for got, want in pairs]
    shares = [sum(e <= limit for e in off) / len(off) for limit in (0.10, 0.15, 0.50)]
    return Errors(len(off), statistics.median(off), *shares)


class Study:
    """Everything that the report says, computed when it is first asked for."""

    @cached_property
    def points(self) -> list[Measured]:
        """All recorded points."""
        return measured()

    @cached_property
    def models(self) -> list[Model]:
        """All recorded models."""
        return models()

    @cached_property
    def sides(self) -> dict[str, frozenset[str]]:
        """Operators fitted on, and held out."""
        fit, test = halves(self.points)
        return {"fitted": fit, "held out": test}

    def of(self, side: str) -> list[Measured]:
        """The points of a side."""
        return [p for p in self.points if p.work.case.op in self.sides[side]]

    @cached_property
    def counted(self) -> list[Measured]:
        """The largest float32 size of every case that has counters."""
        return [
            p
            for p in self.points
            if p.index == predict.LARGEST and p.work.type == "float32" and p.counters is not None
        ]

    @cached_property
    def weights(self) -> dict[str, weights.Weight]:
        """Operations per function by its place, from the fitted side."""
        return weights.fit(self.of("fitted"))

    @cached_property
    def device(self) -> predict.Device:
        """The parameters of the prediction, from the fitted side."""
        return predict.fit(self.of("fitted"))

    def operations(self, side: str, how: Count) -> Errors:
        """Executed fp32 operations against a count of ours; cases that execute none are left out."""
        return self._operations(self.sides[side], how, self.weights)

    def _operations(self, ops: frozenset[str], how: Count, fitted: Mapping[str, weights.Weight]) -> Errors:
        """Counted and executed operations; a case without a weight counts as 0."""
        chosen = [p for p in self.counted if p.work.case.op in ops]
        found = [(p.work, got[1]) for p in chosen if (got := weights.row(p)) is not None]
        return errors((counted(work, how, fitted) or 0.0, got) for work, got in found)

    def times(self, side: str, long: bool, guess: Callable[[Work], float]) -> Errors:
        """Predicted against measured times, of those of at least 10 µs or of the others."""
        chosen = [p for p in self.of(side) if (p.us >= predict.SHORT) == long]
        return errors((guess(p.work), p.us) for p in chosen)

    def alone(self, quantity: Callable[[Work], float]) -> Callable[[Work], float]:
        """A predictor from one figure: a start, and the rate of least median error on the fitted side."""
        start = self.device.groups["stream"].start
        fitted = [(quantity(p.work), p.us) for p in self.of("fitted") if p.us >= predict.SHORT]
        rates = sorted({float(f"{n / (us - start):.2g}") for n, us in fitted if n})

        def off(rate: float) -> float:
            return statistics.median(abs((start + n / rate) / us - 1) for n, us in fitted)

        best = min(rates, key=off)
        return lambda work: start + quantity(work) / best

    def roofline(self, work: Work) -> float:
        """The usual model: a start, and bytes or products at the rates that large calls reach."""
        groups = self.device.groups
        compute = work.macs / groups[f"product {work.type}"].rate
        return groups["stream"].start + max(compulsory(work) / self.device.bandwidth, compute)

    @cached_property
    def other_halves(self) -> list[tuple[Errors, Errors, Errors]]:
        """The same forms fitted and tested on other halves: times from 10 µs on, models, weighted EOPs."""
        return [self._tried(*fitted) for fitted in self._fits]

    @cached_property
    def _fits(self) -> list[tuple[frozenset[str], frozenset[str], predict.Device]]:
        """Other halves: the operators fitted on, those held out, and the device that comes of it."""
        found = []
        for salt in range(1, HALVES + 1):
            fit, test = halves(self.points, str(salt))
            found.append((fit, test, predict.fit(p for p in self.points if p.work.case.op in fit)))
        return found

    @cached_property
    def by_group(self) -> dict[str, Errors]:
        """Errors of the plain prediction, by group; times from 10 µs on.

        They are those of all other halves together, and of products, which are of few operators with many
        variants, those of each variant, fitted to the others.
        """
        pairs: dict[str, list[tuple[float, float]]] = {}
        for _, test, device in self._fits:
            for p in self.points:
                name = predict.aligned(p.work)
                known = name in device.groups and p.work.case.pattern not in predict.SUMMED
                if known and p.work.case.op in test and p.us >= predict.SHORT:
                    pairs.setdefault(name, []).append((device.plain(p.work), p.us))
        found = {name: errors(listed) for name, listed in pairs.items()}
        found = {name: replace(one, count=one.count // HALVES or 1) for name, one in found.items()}
        return found | {name: errors(listed) for name, listed in self._left_out()}

    def _left_out(self) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        """Yield for each group of products what its variants take, and what the others say."""
        members: dict[str, list[Measured]] = {}
        for p in self.points:
            if p.work.case.pattern in predict.SUMMED:
                members.setdefault(predict.aligned(p.work), []).append(p)
        for name, listed in members.items():
            pairs = []
            for variant in dict.fromkeys(p.name for p in listed):
                others = [p for p in listed if p.name != variant and predict.group(p.work) == name]
                if others:
                    own = self.device.with_products(name, others)
                    pairs += [(own.plain(p.work), p.us) for p in listed if p.name == variant]
            pairs = [(guess, us) for guess, us in pairs if us >= predict.SHORT]
            if pairs:
                yield name, pairs

    def _tried(
        self, fit: frozenset[str], test: frozenset[str], device: predict.Device
    ) -> tuple[Errors, Errors, Errors]:
        fitted = [p for p in self.points if p.work.case.op in fit]
        held = [p for p in self.points if p.work.case.op in test and p.us >= predict.SHORT]
        return (
            errors((device.predict(p.work), p.us) for p in held),
            errors((device.whole(m), m.us) for m in self.models),
            self._operations(test, "by place", weights.fit(fitted)),
        )

    def above_bound(self) -> list[Measured]:
        """Points whose bound is above even their quick runs."""
        return [p for p in self.as_defined if predict.bound(p.work) > p.low]

    @property
    def as_defined(self) -> list[Measured]:
        """All points but those of operators that PyTorch computes with fewer products than are defined."""
        return [p for p in self.points if p.work.case.op not in FAST]

    def whole_bound(self, model: Model) -> float:
        """The bound of a model: the sum over its nodes."""
        return sum(n * predict.bound(w) for n, w in model.nodes)


def counted(work: Work, how: Count, fitted: Mapping[str, weights.Weight]) -> float | None:
    """Operations that a count of ours says are executed; None where a function has no weight."""
    if how == "EOPs":
        return float(work.eops)
    known = fitted if how == "by place" else weights.by_function(fitted)
    amounts = weights.done(work) if how == "by place" else weights.reals(work.histogram)
    return weights.predicted(amounts, {key: weight.value for key, weight in known.items()})


def flops(work: Work) -> float:
    """Functions on real numbers that compute a number."""
    return sum(n for f, n in weights.reals(work.histogram).items() if f not in NO_NUMBER)


def compulsory(work: Work) -> float:
    """Bytes read and written at least."""
    return work.read + work.written
