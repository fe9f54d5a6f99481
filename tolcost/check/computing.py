"""Analysing the programs of a check: what is remembered is not analysed, many are spread over processes.

A program that is rejected is an outcome like any other.  A failure of our own ends the check:
the gate must not pass, or fail, because of a bug.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tolcost.check.config import Config
from tolcost.check.costed import Costed, Costing
from tolcost.check.memory import Memory
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


@dataclass(frozen=True, slots=True)
class Computing:
    """How programs are analysed, over how many processes, and who is told how far it is."""

    config: Config
    costing: Costing
    jobs: int | None = None
    told: Told | None = None
    memory: Memory | None = None

    def entries(self, root: Path, targets: Sequence[Target]) -> dict[str, Outcome]:
        """The outcome of every program of a tree, by name."""
        keys = {t.name: self._key(root, t) for t in targets}
        found = {t.name: self._recalled(t, keys[t.name]) for t in targets}
        todo = [target for target in targets if found[target.name] is None]
        for target, outcome in self._analysed(root, todo):
            found[target.name] = outcome
            key = keys[target.name]
            if self.memory is not None and key is not None and outcome.entry is not None:
                self.memory.remember(key, outcome.entry)
        return {name: outcome for name, outcome in found.items() if outcome is not None}

    def one(self, root: Path, target: Target) -> Costed:
        """One program with its parts."""
        return self.costing(root, target)

    def _key(self, root: Path, target: Target) -> str | None:
        return None if self.memory is None else self.memory.key(root, target, self.config)

    def _recalled(self, target: Target, key: str | None) -> Outcome | None:
        entry = None if key is None or self.memory is None else self.memory.recall(key, target.name)
        return None if entry is None else Outcome(entry)

    def _analysed(self, root: Path, targets: Sequence[Target]) -> Iterator[tuple[Target, Outcome]]:
        from tolcost.catalogue.workers import spread

        def work(n: int) -> Outcome:
            return _outcome(root, targets[n], self.costing)

        def lost(n: int, why: str) -> Outcome:
            return Outcome(None, (Diagnostic("T0505", f"{targets[n].name}: {why}"),))

        workers = min(self.jobs or os.cpu_count() or 1, len(targets)) if len(targets) > _FEW else 1
        for done, (n, outcome) in enumerate(spread(work, len(targets), lost, workers, _SECONDS), start=1):
            if outcome.bug:
                raise InternalError(f"{targets[n].name}: {outcome.bug}")
            if self.told is not None:
                self.told(done, len(targets), targets[n].name)
            yield targets[n], outcome


def _outcome(root: Path, target: Target, costing: Costing) -> Outcome:
    try:
        return Outcome(costing(root, target).entry)
    except Rejected as rejected:
        return Outcome(None, rejected.diagnostics)
    except Exception as error:  # a child cannot raise into its parent
        return Outcome(None, bug=f"{type(error).__name__}: {error}"[:300])
