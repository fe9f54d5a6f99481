"""How two costs differ for all lengths: cheaper, the same, costlier, or one here and one there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tolcost.algebra import ZERO, AlgebraBudget, Cond, Ge, Poly, Witness, compare
from tolcost.models.study import ModelStudy
from tolcost.models.totals import Figures

Verdict = Literal["same", "cheaper", "costlier", "crosses", "undecided"]
_WORDS: dict[str, Verdict] = {
    "equal": "same",
    "less_or_equal": "cheaper",
    "greater_or_equal": "costlier",
    "crosses": "crosses",
}
_MOST_FACTS = 12


@dataclass(frozen=True, slots=True)
class Change:
    """One figure before and after; points where it is less and where it is more, if there are any."""

    metric: str
    part: str
    old: Poly
    new: Poly
    verdict: Verdict
    less: Witness | None = None
    more: Witness | None = None


def change(metric: str, part: str, old: Poly, new: Poly, facts: tuple[Cond, ...] = ()) -> Change:
    """Compare a figure for all lengths that fulfil ``facts``.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> change("eops", "", 8 * n, n * n).verdict
    'crosses'
    """
    try:
        found = compare(new, old, facts)
    except AlgebraBudget:
        return Change(metric, part, old, new, "undecided")
    return Change(metric, part, old, new, _WORDS.get(found.verdict, "undecided"), found.below, found.above)


def changes(
    old: Mapping[str, Poly], new: Mapping[str, Poly], part: str = "", facts: tuple[Cond, ...] = ()
) -> tuple[Change, ...]:
    """Compare figures by name; one that is missing is 0."""
    names = dict.fromkeys((*old, *new))
    return tuple(change(n, part, old.get(n, ZERO), new.get(n, ZERO), facts) for n in names)


def model_changes(old: ModelStudy, new: ModelStudy) -> tuple[Change, ...]:
    """Compare two models: their totals, then operator by operator."""
    facts = facts_of((*(r.condition for r in old.conditions), *(r.condition for r in new.conditions)))
    whole = changes(_totals(old), _totals(new), "", facts)
    before = {group.title: group.figures for group in old.operators}
    after = {group.title: group.figures for group in new.operators}
    parts = [
        row
        for title in dict.fromkeys((*before, *after))
        for row in changes(_figures(before.get(title)), _figures(after.get(title)), title, facts)
    ]
    return (*whole, *parts)


def facts_of(conditions: Iterable[Cond]) -> tuple[Cond, ...]:
    """The conditions that are of use in a proof: not too many, and simple ones."""
    found = dict.fromkeys(c for c in conditions if isinstance(c, Ge) and len(c.p.free) <= 3)
    return tuple(found)[:_MOST_FACTS]


def _totals(study: ModelStudy) -> dict[str, Poly]:
    found = {**_figures(study.total), "params": study.holdings.parameters}
    if study.total.bytes is not None:
        found["bytes"] = study.total.bytes
    return found


def _figures(figures: Figures | None) -> dict[str, Poly]:
    if figures is None:
        return {"eops": ZERO, "macs": ZERO}
    return {"eops": figures.eops, "macs": figures.macs}


def verdict_of(rows: Sequence[Change], metric: str = "eops") -> Verdict:
    """What is said of the whole: the verdict on one of its totals."""
    return next(row.verdict for row in rows if row.metric == metric and not row.part)
