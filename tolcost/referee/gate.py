"""A project's own cost formulas in the gate: each held to its definition, as a budget is to a program."""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.catalogue.specs import open_library
from tolcost.check.config import Config
from tolcost.check.records import BudgetKind, CostlierRegion, Example, HeldBudget
from tolcost.referee.formulas import read_file
from tolcost.referee.judge import Judgement, RefereeVerdict, judge_formulas
from tolcost.show.document import text_of

_KINDS: Mapping[RefereeVerdict, BudgetKind] = {
    "equal": "within",
    "too low": "exceeded",
    "too high": "overstated",
    "too low and too high": "crosses",
    "undecided": "undecided",
}


def held_formulas(config: Config) -> tuple[HeldBudget, ...]:
    """Judge the formulas that a project's settings name; a file that cannot be read raises ``Rejected``."""
    if not config.formulas:
        return ()
    library = open_library(tuple(map(str, config.libraries)))
    files = {file: read_file(config.root / file) for file in config.formulas}
    return tuple(_held(one, file) for file, read in files.items() for one in judge_formulas(read, library))


def _held(one: Judgement, file: str) -> HeldBudget:
    where = one.low_where or one.high_where
    return HeldBudget(
        name=one.formula.name,
        kind="within" if one.expected else _KINDS[one.verdict],
        budget=f"{one.formula.counts} = {one.formula.text}",
        metric=one.formula.counts,
        file=file,
        actual=text_of(one.ours),
        limit=text_of(one.theirs),
        region=CostlierRegion(where) if where else None,
        example=_example(one),
    )


def _example(one: Judgement) -> Example | None:
    if one.witness is None:
        return None
    return Example(one.witness.point, one.witness.theirs, one.witness.ours)
