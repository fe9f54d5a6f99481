"""Study the models that a fleet's journal lacks: in processes of this machine, or on workers of dask.

A model that crashes, hangs or takes too much memory costs a process, and is one row.  After the death of a
process, its model is tried once more, since the model may not be the cause.  A worker of dask starts its own
process for a few models at a time, which does the same there; if the worker is lost, dask gives these models
to another one, and each result is used once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tolcost.apps.fleet.journal import Journal, as_line, from_line
from tolcost.apps.fleet.table import Summary
from tolcost.apps.fleet.task import Task, library
from tolcost.catalogue.workers import WorkProgress, spread
from tolcost.diagnostics import Diagnostic, Rejected

Note = Callable[[Summary], None]
Engine = Callable[[Task, Sequence[str], Note], None]
_AT_ONCE = 16
"""Limit on the models in one piece of work for dask, which is repeated if its worker is lost."""
_LOST_WORKERS = 5
"""Lost workers after which their common models are assumed to be the cause."""


def studied(
    task: Task, sources: Sequence[str], engine: Engine, tell: WorkProgress, journal: Path | None = None
) -> tuple[Summary, ...]:
    """Return summaries of models, in the order of the sources; those in the journal are reused."""
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


def on_this_machine(jobs: int | None) -> Engine:
    """Make an engine with a number of processes; None uses all cores."""
    cores = jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)

    def engine(task: Task, sources: Sequence[str], note: Note) -> None:
        library(task.specs)  # before processes start, so that they share it

        def instead(n: int, why: str) -> Summary:
            return task.lost(sources[n], why)

        def work(n: int) -> Summary:
            return task.summary(sources[n])

        workers = min(cores, len(sources))
        for _, row in spread(work, len(sources), instead, workers, task.seconds, again=1, apart=True):
            note(row)

    return engine


# ---- dask ---------------------------------------------------------------------------------------


def on_dask(address: str | None, workers: int | None = None) -> Engine:
    """Make an engine on the workers of a scheduler; without an address, on a cluster on this machine."""
    try:
        import distributed
    except ModuleNotFoundError:
        message = "--engine dask needs dask.distributed, which is not installed"
        raise Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[dask]'")) from None

    client_of: Any = distributed.Client  # it has no types

    def engine(task: Task, sources: Sequence[str], note: Note) -> None:
        here = {} if address else {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        with client_of(address, **here) as client:
            _on_client(distributed, client, task, sources, note)

    return engine


def _on_client(distributed: Any, client: Any, task: Task, sources: Sequence[str], note: Note) -> None:
    client.run_on_scheduler(_patient)
    size = max(1, min(_AT_ONCE, len(sources) // (2 * max(1, len(client.ncores())))))
    batches = {}
    for start in range(0, len(sources), size):
        batch = tuple(sources[start : start + size])
        batches[client.submit(remote, task.as_json(), batch, pure=False)] = batch
    for future in distributed.as_completed(batches):
        lost = future.exception() is not None
        for line in () if lost else future.result():
            note(from_line(line))
        for source in batches[future] if lost else ():
            note(task.lost(source, "the workers that ran it were lost"))


def _patient(dask_scheduler: Any) -> None:
    """Set how often a piece of work may be started again on other workers."""
    dask_scheduler.allowed_failures = _LOST_WORKERS


def remote(task: dict[str, Any], sources: Sequence[str]) -> list[str]:
    """Return rows of models; this runs on a worker, in a subprocess whose crash the worker survives."""
    command = [sys.executable, "-m", "tolcost.apps.fleet.engines", str(os.getpid())]
    given = json.dumps({"task": task, "sources": list(sources)})
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def serve(parent: int) -> None:
    """Read a task and write rows, in that subprocess; stop when the worker is gone."""
    given = json.load(sys.stdin)

    def note(row: Summary) -> None:
        if os.getppid() != parent:
            sys.exit(1)
        print(as_line(row), flush=True)

    on_this_machine(1)(Task.from_json(given["task"]), given["sources"], note)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
