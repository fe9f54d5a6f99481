"""Fleets: thousands of models through one summary, each by itself, on one machine or on several.

``sources`` says which models, ``task`` what is done with one, ``engines`` where, ``journal`` what is done
already, and ``parquet`` writes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tolcost.fleet.engines import Engine, on_dask, on_this_machine
from tolcost.fleet.journal import Journal
from tolcost.fleet.sources import is_fleet, models_at
from tolcost.fleet.task import Task
from tolcost.result.many import Summary

__all__ = ["Engine", "Journal", "Task", "is_fleet", "models_at", "on_dask", "on_this_machine", "studied"]

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
