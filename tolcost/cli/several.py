"""``tolcost model`` for several models: who works them out, the table, and the exit code."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import INCOMPLETE, ProgressLine, deliver, write_whole
from tolcost.fleet.engines import Engine, on_dask, on_this_machine, studied
from tolcost.fleet.journal import check_installed, parquet
from tolcost.fleet.sources import models_at
from tolcost.fleet.task import SECONDS, Task
from tolcost.result.many import Summary, check_lengths, many_written
from tolcost.result.model import Wanted


def task(wanted: Wanted, specs: tuple[str, ...]) -> Task:
    """What is done with each model, within the limits of each."""
    limits = options.given_limits(click.get_current_context())
    return Task(wanted, specs, limits.seconds or SECONDS, limits.memory)


def engine_of(name: str, jobs: int | None, scheduler: str | None) -> Engine:
    """Who works models out."""
    if name == "dask":
        return on_dask(scheduler, jobs)
    if scheduler is not None:
        raise click.UsageError("--scheduler is for --engine dask")
    return on_this_machine(jobs)


def studied_all(
    files: Sequence[str], task: Task, engine: Engine, allowed: bool, form: str, output: str | None
) -> int:
    """Study all models, write the table, and give the exit code."""
    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs --output FILE")
    kept = Path(f"{output}.journal") if form == "parquet" else None
    if kept is not None:
        check_installed()
    sources, began = models_at(files), time.monotonic()
    studied_now: set[str] = set()
    with closing(ProgressLine()) as progress:

        def tell(done: int, of: int, name: str) -> None:
            studied_now.add(name)
            progress.tell(done, of, name)

        found = studied(task, sources, engine, tell, kept)
    check_lengths(found, task.wanted)
    if kept is None or output is None:
        deliver(many_written(found, form), output, form)
    else:
        write_whole(Path(output), parquet(found))
        kept.unlink()
        fresh = [summary for summary in found if summary.file in studied_now]
        click.echo(_told(found, fresh, time.monotonic() - began), err=True)
    if any(summary.problem for summary in found):
        return 2
    return INCOMPLETE if any(summary.uncosted for summary in found) and not allowed else 0


def _told(found: Sequence[Summary], fresh: Sequence[Summary], seconds: float) -> str:
    """How a fleet went: what is in the table, and what was done for it now."""
    problems, nodes = sum(bool(one.problem) for one in found), sum(one.nodes for one in found)
    before = f", {len(found) - len(fresh):,} of them from before" if len(fresh) < len(found) else ""
    done = sum(one.nodes for one in fresh)
    rate = f"{len(fresh) / seconds:,.1f} models and {done / seconds:,.0f} nodes per second"
    table = f"{len(found):,} models{before}, {problems:,} with a problem, {nodes:,} nodes"
    return f"{table}; {seconds:,.1f} s: {rate}"
