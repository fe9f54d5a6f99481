"""Studying a fleet: what its journal has is not done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tolcost.fleet.engines import Engine
from tolcost.fleet.journal import Journal
from tolcost.fleet.task import Task
from tolcost.result.many import Summary

Tell = Callable[[int, int, str], None]


def studied(
    task: Task, sources: Sequence[str], engine: Engine, tell: Tell, journal: Path | None = None
) -> tuple[Summary, ...]:
    """Summaries of models, in the order of the sources; with a journal, those it has are not made again."""
    with Journal.of(journal, task) as kept:
        found = {source: row for source in sources if (row := kept.row(source)) is not None}

        def note(summary: Summary) -> None:
            if summary.file not in found:
                found[summary.file] = summary
                kept.add(summary)
                tell(len(found), len(sources), summary.file)

        left = [source for source in sources if source not in found]
        if left:
            engine(task, left, note)
    return tuple(found[source] for source in sources)
