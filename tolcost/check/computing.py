"""Analysing the programs of a check: one after the other, or many over several processes.

A program that is rejected is an outcome like any other.  A failure of our own ends the check:
the gate must not pass, or fail, because of a bug.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tolcost.check.costed import Costing
from tolcost.check.records import Entry
from tolcost.check.targets import Target
from tolcost.diagnostics import Diagnostic, InternalError, Rejected

_SECONDS = 600.0
_FEW = 24
"""So few programs are sooner analysed than processes started."""

Told = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The entry of a program, or why there is none."""

    entry: Entry | None
    problems: tuple[Diagnostic, ...] = ()
    bug: str = ""


def compute(
    root: Path, targets: Sequence[Target], costing: Costing, jobs: int | None = None, told: Told | None = None
) -> dict[str, Outcome]:
    """The outcome of every program, by name."""
    from tolcost.catalogue.workers import spread

    workers = min(jobs or os.cpu_count() or 1, len(targets)) if len(targets) > _FEW else 1

    def work(n: int) -> Outcome:
        return _outcome(root, targets[n], costing)

    def lost(n: int, why: str) -> Outcome:
        return Outcome(None, (Diagnostic("T0505", f"{targets[n].name}: {why}"),))

    found: dict[int, Outcome] = {}
    for n, outcome in spread(work, len(targets), lost, workers, _SECONDS):
        if outcome.bug:
            raise InternalError(f"{targets[n].name}: {outcome.bug}")
        found[n] = outcome
        if told is not None:
            told(len(found), len(targets), targets[n].name)
    return {target.name: found[n] for n, target in enumerate(targets)}


def _outcome(root: Path, target: Target, costing: Costing) -> Outcome:
    try:
        return Outcome(costing(root, target).entry)
    except Rejected as rejected:
        return Outcome(None, rejected.diagnostics)
    except Exception as error:  # a child cannot raise into its parent
        return Outcome(None, bug=f"{type(error).__name__}: {error}"[:300])
