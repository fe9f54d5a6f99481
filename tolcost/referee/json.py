"""Verdicts for machines: docs/schemas/referee.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tolcost.referee.judge import FormulaWitness, Judgement
from tolcost.referee.subjects import command_for, title_of
from tolcost.referee.table import forgets_text
from tolcost.show.forms import text_of
from tolcost.show.json import Json, document


def verdicts_json(found: Sequence[Judgement]) -> str:
    """All verdicts, and how many there are of each."""
    told = Counter(one.verdict for one in found)
    counted: dict[str, Json] = {str(verdict): number for verdict, number in told.items()}
    return document("referee", {"verdicts": counted, "formulas": [_formula(one) for one in found]})


def _formula(one: Judgement) -> dict[str, Json]:
    formula = one.formula
    shown: tuple[Json, ...] = tuple(map(_witness, one.witnesses))
    return {
        "name": formula.name,
        "source": formula.source,
        "about": formula.about,
        "subject": title_of(formula.subject),
        "counts": formula.counts,
        "times": formula.times,
        "where": dict(formula.where),
        "published": text_of(one.theirs),
        "verified": text_of(one.ours),
        "verdict": one.verdict,
        "expected": one.expected,
        "leading": one.leading,
        "products": one.products,
        "too_low_where": one.low_where or None,
        "too_high_where": one.high_where or None,
        "holds_where": list(one.holds_where),
        "witness": next(iter(shown), None),
        "witnesses": list(shown),
        "forgets": forgets_text(one) or None,
        "command": command_for(formula.subject) or None,
    }


def _witness(witness: FormulaWitness) -> dict[str, Json]:
    return {
        "dims": dict(witness.point),
        "published": witness.theirs,
        "verified": witness.ours,
        "executed": witness.executed,
    }
