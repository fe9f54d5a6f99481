"""Judged calculators as tables: what each is right for, and how far it is off for each model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10

from tolcost.apps.plan.calculators import CalculatedFigure, CalculatorJudgement
from tolcost.show.document import Cell, Code, Column, Document, ReportTable

COMMAND = "tolcost plan --calculators"
_KINDS: dict[CalculatedFigure, str] = {"cache": "cache", "parameters": "parameters", "flops": "FLOPs"}
_ABOUT: dict[CalculatedFigure, str] = {
    "cache": "The bytes that are kept for a text, with 16 bits a number.",
    "parameters": "The parameters of the whole model.",
    "flops": "The FLOPs of reading a text or of training on it, two for each multiply-add of a product.",
}
_LEGEND = (
    "`=`: the answer is equal. `≈`: it is right by another convention, and the figure is its "
    "difference from the program's own count, for the longest text. A figure alone is an error, "
    "where it is largest. A cell is empty where a calculator has no answer."
)
_NO_ANSWER = "no answer"
_RIGHT = ("equal", "another convention")


def calculators_document(found: Sequence[CalculatorJudgement]) -> Document:
    """Return the page: a table of calculators, one of models for each quantity, and the formulas."""
    return (_overview(found), *(_models(found, kind) for kind in _KINDS), _formulas(found))


def calculators_table(found: Sequence[CalculatorJudgement]) -> ReportTable:
    """Return every judgement in full, for data."""
    keys = ("calculator", "counts", "model", "verdict", "reading", "tokens", "published", "counted", "own",
            "formula", "source")  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.formula.calculator, one.formula.counts, one.model, one.verdict, "; ".join(one.changes),
            one.tokens, *(Code(str(value)) for value in (one.published, one.counted, one.own)),
            Code(one.text), one.formula.source,
        )
        for one in found
    )  # fmt: skip
    return ReportTable(tuple(Column(key, key) for key in keys), rows, "calculators", command=COMMAND)


def _overview(found: Sequence[CalculatorJudgement]) -> ReportTable:
    models = len({one.model for one in found})
    answered = [one for one in found if one.verdict != _NO_ANSWER]
    right = sum(one.verdict in _RIGHT for one in answered)
    calculators = len({one.formula.calculator for one in found})
    told = sum(one.verdict == "another convention" for one in answered)
    about = (
        f"What {calculators} calculators say of {models} models, compared with what is derived from "
        f"the models' programs. Of {len(answered)} answers {right} are right, {told} of them by "
        "another convention, such as counting half of the square for causal attention. The other "
        "answers are right under no reading. Each is compared with the nearest reading, at the length"
        " of text where it is furthest off."
    )
    columns = (
        Column("calculator", "calculator"),
        Column("counts", "counts"),
        Column("equal", "equal", "number"),
        Column("reading", "by a convention", "number"),
        Column("wrong", "wrong", "number"),
        Column("none", "no answer", "number"),
        Column("worst", "furthest off"),
        Column("at", "for"),
    )
    groups: dict[tuple[str, CalculatedFigure], list[CalculatorJudgement]] = {}
    for one in found:
        groups.setdefault((one.formula.calculator, one.formula.counts), []).append(one)
    rows = tuple(_counted(calculator, kind, some) for (calculator, kind), some in groups.items())
    return ReportTable(columns, rows, "calculators", "Published calculators, judged", about, COMMAND)


def _counted(
    calculator: str, kind: CalculatedFigure, some: Sequence[CalculatorJudgement]
) -> tuple[Cell, ...]:
    wrong = [one for one in some if one.verdict not in (*_RIGHT, _NO_ANSWER)]
    worst = max(wrong, key=lambda one: _factor(one.published, one.counted), default=None)
    told = ("", "") if worst is None else (gap(worst.published, worst.counted), _text(worst))
    verdicts: list[str] = [one.verdict for one in some]
    return (
        calculator, _KINDS[kind], verdicts.count("equal"), verdicts.count("another convention"), len(wrong),
        verdicts.count(_NO_ANSWER), *told,
    )  # fmt: skip


def _text(one: CalculatorJudgement) -> str:
    if one.formula.counts == "parameters":
        return one.model
    return f"{one.model}, {one.tokens:,} token{'s' if one.tokens > 1 else ''}"


def _models(found: Sequence[CalculatorJudgement], kind: CalculatedFigure) -> ReportTable:
    own = [one for one in found if one.formula.counts == kind]
    calculators = tuple(dict.fromkeys(one.formula.calculator for one in own))
    cells = {(one.model, one.formula.calculator): _cell(one) for one in own}
    models = dict.fromkeys(one.model for one in own)
    rows = tuple((model, *(cells[model, name] for name in calculators)) for model in models)
    about = f"{_ABOUT[kind]} {_LEGEND}"
    columns = (Column("model", "model"), *(Column(name, name) for name in calculators))
    return ReportTable(columns, rows, f"calculators-{kind}", f"The {_KINDS[kind]} by model", about, COMMAND)


def _cell(one: CalculatorJudgement) -> str:
    if one.verdict == _NO_ANSWER:
        return ""
    if one.verdict == "equal":
        return "="
    if one.verdict == "another convention":
        return f"≈ {gap(one.published, one.own)}"
    return gap(one.published, one.counted)


def _factor(published: Fraction, counted: int) -> float:
    low, high = sorted((published, Fraction(counted)))
    return float(high / low) if low > 0 else float("inf") if high else 1.0


def gap(published: Fraction, counted: int) -> str:
    """Write by how much a figure is off.

    >>> gap(Fraction(150), 100), gap(Fraction(249), 10), gap(Fraction(99_997), 100_000), gap(Fraction(0), 7)
    ('+50 %', '× 24.9', '-0.0030 %', 'says 0')
    >>> gap(Fraction(7), 0), gap(Fraction(1), 5000)
    ('should be 0', '÷ 5,000')
    """
    if not published or not counted:
        return "should be 0" if published else "says 0" if counted else "="
    ratio = published / counted
    if ratio >= 10:
        return f"× {_three(ratio)}"
    if ratio <= Fraction(1, 10):
        return f"÷ {_three(1 / ratio)}"
    if ratio == 1:
        return "0 %"
    percent = float(100 * (ratio - 1))
    places = 0 if abs(percent) >= 10 else max(1 - floor(log10(abs(percent))), 1)
    return f"{percent:+.{min(places, 6)}f} %"


def _three(ratio: Fraction) -> str:
    return f"{float(ratio):,.0f}" if ratio >= 100 else f"{float(ratio):.3g}"


def _formulas(found: Sequence[CalculatorJudgement]) -> ReportTable:
    """Return each formula with the readings by which it is right, and its source."""
    told: dict[tuple[str, CalculatedFigure, str], list[CalculatorJudgement]] = {}
    for one in found:
        if one.text:
            told.setdefault((one.formula.calculator, one.formula.counts, one.text), []).append(one)
    columns = (
        Column("calculator", "calculator"),
        Column("counts", "counts"),
        Column("formula", "formula", "code", width=58),
        Column("right", "right if"),
    )
    rows = tuple(
        (calculator, _KINDS[kind], Code(text), _right_if(some))
        for (calculator, kind, text), some in told.items()
    )
    sources = dict.fromkeys((one.formula.calculator, one.formula.counts, one.formula.source) for one in found)
    notes = tuple((f"{name}, {_KINDS[kind]}: {source}",) for name, kind, source in sources)
    about = (
        "The formulas as the sources compute them on one device, for b texts of T tokens each. A "
        "model has L layers of width d, H heads of e numbers, G of them with keys, networks of width "
        "f, a vocabulary of v, and a window W. `specs/serving/calculators.toml` defines every letter,"
        " and says where it comes from."
    )
    return ReportTable(columns, rows, "calculators-formulas", "The formulas", about, COMMAND, notes=notes)


def _right_if(some: Sequence[CalculatorJudgement]) -> str:
    right = [one for one in some if one.verdict in _RIGHT]
    if not right:
        return "never"
    shortest = min(right, key=lambda one: len(one.changes))
    return "; ".join(shortest.changes) or "as it stands"
