"""Analysing the programs of a check: what is known is not analysed, many are spread over processes.

The gate itself does not know how programs are read: a ``Costing`` is given to it.  A program that is
rejected is an outcome like any other.  A failure of our own ends the check: the gate must not
pass, or fail, because of a bug.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tolcost.algebra import Poly
from tolcost.check.config import Config
from tolcost.check.records import LockEntry
from tolcost.check.targets import Target
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import NOWHERE, Diagnostic, InternalError, Rejected, Span

if TYPE_CHECKING:
    from tolcost.catalogue.workers import WorkProgress


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one place or one operator contributes, by metric."""

    what: str
    counts: Mapping[str, Poly]
    span: Span = field(default=NOWHERE, repr=False)


@dataclass(frozen=True, slots=True)
class Costed:
    """A program that was analysed."""

    entry: LockEntry
    parts: tuple[Contribution, ...] = ()


Costing: TypeAlias = Callable[[Config, Target], Costed]
"""Analyse a program of a project under its settings; ``Rejected`` where it cannot be."""

_SECONDS = 600.0
_FEW = 24
"""So few programs are sooner analysed than processes started."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """The entry of a program, or why there is none."""

    entry: LockEntry | None
    problems: tuple[Diagnostic, ...] = ()
    bug: str = ""


@dataclass(frozen=True, slots=True)
class Computing:
    """How programs are analysed, over how many processes, and who is told how far it is."""

    costing: Costing
    jobs: int | None = None
    told: WorkProgress | None = None

    def entries(
        self, config: Config, targets: Sequence[Target], known: Mapping[str, LockEntry] | None = None
    ) -> dict[str, Analysed]:
        """The outcome of programs of a project, by name; those whose entries are known are not analysed."""
        known = known or {}
        analysed = self._analysed(config, [target for target in targets if target.name not in known])
        found = {target.name: outcome for target, outcome in analysed}
        return {t.name: Analysed(known[t.name]) if t.name in known else found[t.name] for t in targets}

    def _analysed(self, config: Config, targets: Sequence[Target]) -> Iterator[tuple[Target, Analysed]]:
        from tolcost.catalogue.workers import spread

        def work(n: int) -> Analysed:
            return _outcome(config, targets[n], self.costing)

        def lost(n: int, why: str) -> Analysed:
            return Analysed(None, (Diagnostic("T0505", f"{targets[n].name}: {why}"),))

        workers = min(self.jobs or os.cpu_count() or 1, len(targets)) if len(targets) > _FEW else 1
        for done, (n, outcome) in enumerate(spread(work, len(targets), lost, workers, _SECONDS), start=1):
            if outcome.bug:
                raise InternalError(f"{targets[n].name}: {outcome.bug}")
            if self.told is not None:
                self.told(done, len(targets), targets[n].name)
            yield targets[n], outcome


def _outcome(config: Config, target: Target, costing: Costing) -> Analysed:
    try:
        return Analysed(costing(config, target).entry)
    except Rejected as rejected:
        return Analysed(None, rejected.diagnostics)
    except Exception as error:  # a child cannot raise into its parent
        return Analysed(None, bug=f"{type(error).__name__}: {error}"[:300])
