"""Published calculators for language models, held to what the programs of models come to.

``specs/serving/calculators.toml`` has their formulas, over the keys of a configuration, and the readings by
which a formula that differs is right all the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import log
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import const, evaluate, the_symbol
from tolcost.algebra.parse import FormQuotient
from tolcost.algebra.printed import parse_printed
from tolcost.apps.plan.expressions import value_of
from tolcost.apps.plan.figures import ServedModel
from tolcost.apps.plan.readings import TOKENS, CalculatorReading, counts_of, readings_of
from tolcost.platform import specs_root

CalculatedFigure: TypeAlias = Literal["cache", "parameters", "flops"]
CalculatorVerdict: TypeAlias = Literal[
    "equal", "another convention", "too low", "too high", "too low and too high", "no answer"
]
_LONGEST = 8192
"""The longest text that is looked at where a configuration does not say how long one may be."""
_PER_CHANGE = 0.05
"""The logarithm of the factor that each change of a reading has to be worth."""


class CalculatorFormula(Struct, frozen=True, eq=False):
    """What a calculator computes: for each kind of models a formula, and what its letters are."""

    calculator: str
    counts: CalculatedFigure
    source: str
    cases: tuple[tuple[str, str, Mapping[str, str]], ...]
    let: Mapping[str, str]
    types: frozenset[str] | None
    times: int


class CalculatorJudgement(Struct, frozen=True, eq=False):
    """A formula for a model: the verdict, and the text for which it differs most from the nearest reading."""

    formula: CalculatorFormula
    model: str
    verdict: CalculatorVerdict
    text: str = ""
    """The formula that the calculator takes for this model."""
    changes: tuple[str, ...] = ()
    """What the reading that is right, or nearest, does otherwise than the program."""
    tokens: int = 0
    """The tokens of the text for which the formula is furthest off."""
    published: Fraction = Fraction(0)
    counted: int = 0
    """What this reading comes to, for that text."""
    own: int = 0
    """What the program itself comes to, for that text."""


@cache
def calculators_file() -> Mapping[str, Any]:
    """Return the file of calculators as it is."""
    return tomllib.loads(specs_root().joinpath("serving", "calculators.toml").read_text(encoding="utf-8"))


def calculator_formulas() -> tuple[CalculatorFormula, ...]:
    """Return all formulas, as the file has them."""
    file = calculators_file()
    return tuple(
        CalculatorFormula(
            one["calculator"], one["counts"], one["source"],
            tuple((case[0], case[1], case[2] if len(case) > 2 else {}) for case in one["cases"]),
            {**file["let"], **one.get("let", {})},
            frozenset(one["types"]) if "types" in one else None, one.get("times", 1),
        )
        for one in file["formula"]
    )  # fmt: skip


def judge_calculators(
    served: ServedModel, formulas: Sequence[CalculatorFormula]
) -> Iterator[CalculatorJudgement]:
    """Judge formulas for a model."""
    file = calculators_file()
    counts = counts_of(served, file)
    of: dict[CalculatedFigure, _Readings] = {}
    for formula in formulas:
        if formula.counts not in of:
            own = tuple(readings_of(formula.counts, counts, file))
            of[formula.counts] = _Readings(own, _points(served), {})
        found = _published(formula, served.model.config, counts.numbers(file))
        if found is None:
            yield CalculatorJudgement(formula, served.model.name, "no answer")
        else:
            yield _judged(formula, served.model.name, *found, of[formula.counts])


class _Readings(Struct, frozen=True, eq=False):
    """The readings of a quantity, and what each comes to at some lengths of texts."""

    readings: tuple[CalculatorReading, ...]
    points: tuple[int, ...]
    known: dict[int, list[int]]

    def values(self, reading: CalculatorReading, times: int) -> list[int]:
        return [times * value for value in reading.values(self.points, self.known)]


def _points(served: ServedModel) -> tuple[int, ...]:
    """Return the lengths of texts that are looked at: powers of 2, the longest, and those around a window."""
    longest = served.model.longest or served.model.lengths.get("p") or _LONGEST
    window = served.model.lengths.get("window", 1)
    powers = (1 << n for n in range(longest.bit_length()))
    found = {*powers, longest, *range(window - 1, window + 2), 3, 100}
    return tuple(sorted(n for n in found if 1 <= n <= longest))


def _judged(
    formula: CalculatorFormula, model: str, text: str, form: FormQuotient, of: _Readings
) -> CalculatorJudgement:
    values = [_at(form, n) for n in of.points]
    every = [(one, of.values(one, formula.times)) for one in of.readings]
    own = every[0][1]

    def judged(
        verdict: CalculatorVerdict, at: int, reading: CalculatorReading, ours: Sequence[int]
    ) -> CalculatorJudgement:
        said = formula, model, verdict, text, reading.changes, of.points[at], values[at]
        return CalculatorJudgement(*said, ours[at], own[at])

    for reading, ours in every:
        if ours == values and reading.proves(form, formula.times):
            verdict: CalculatorVerdict = "another convention" if reading.changes else "equal"
            return judged(verdict, -1, reading, ours)

    def distance(one: tuple[CalculatorReading, list[int]]) -> tuple[int, float]:
        off = max(_factor(a, b) for a, b in zip(values, one[1], strict=True))
        return one[0].left(form, formula.times), log(off) + _PER_CHANGE * len(one[0].changes)

    nearest, ours = min(every, key=distance) if any(values) else every[0]
    low = any(a < b for a, b in zip(values, ours, strict=True))
    high = any(a > b for a, b in zip(values, ours, strict=True))
    side: CalculatorVerdict = "too low and too high" if low and high else "too low" if low else "too high"
    return judged(side, _furthest(values, ours), nearest, ours)


def _furthest(values: Sequence[Fraction], counted: Sequence[int]) -> int:
    """Return where values are off by the largest factor, and the longest of such texts."""
    off = [_factor(a, b) for a, b in zip(values, counted, strict=True)]
    return max(range(len(off)), key=lambda n: (off[n], n))


def _factor(value: Fraction, counted: int) -> float:
    """Return by which factor a value is off; what ought to be 0 is off by any factor."""
    if value == counted:
        return 1.0
    low, high = sorted((value, Fraction(counted)))
    return float(high / low) if low > 0 else float("inf")


def _published(
    formula: CalculatorFormula, config: Mapping[str, Any], numbers: Mapping[str, int]
) -> tuple[str, FormQuotient] | None:
    """Return the formula for a configuration, as a text and as a form; None where there is no answer."""
    if formula.types is not None and config.get("model_type") not in formula.types:
        return None
    for condition, text, more in formula.cases:
        if condition and not value_of(condition, config):
            continue
        names = {"T": FormQuotient(TOKENS), "b": FormQuotient(const(1))}
        names |= {name: FormQuotient(const(number)) for name, number in numbers.items()}
        letters = parse_letters(text)
        for name, expression in {**formula.let, **more}.items():
            if name not in letters:
                continue
            value = value_of(expression, config)
            if isinstance(value, bool) or not isinstance(value, Fraction):
                return None
            names[name] = FormQuotient(const(value.numerator), const(value.denominator))
        return text, parse_printed(text, names, formula.calculator).value
    return None


def parse_letters(text: str) -> frozenset[str]:
    """Return the names and numbers in a formula.

    >>> sorted(parse_letters("2*L*min(T, W)"))
    ['2', 'L', 'T', 'W', 'min']
    """
    return frozenset("".join(one if one.isalnum() else " " for one in text).split())


def _at(form: FormQuotient, tokens: int) -> Fraction:
    point = {the_symbol(TOKENS): tokens}
    return Fraction(evaluate(form.top, point), evaluate(form.bottom, point))
