"""``tolcost fleet``: what many models cost, as one table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from tolcost.apps.fleet.engines import Engine, on_dask, on_this_machine, studied
from tolcost.apps.fleet.journal import check_installed, parquet
from tolcost.apps.fleet.sources import models_at
from tolcost.apps.fleet.table import Summary, check_lengths, many_written
from tolcost.apps.fleet.task import SECONDS, Task
from tolcost.cli import options
from tolcost.cli.model import read_dims, read_shapes
from tolcost.cli.output import INCOMPLETE, ProgressLine, deliver, deliver_bytes, screen
from tolcost.result.model import Wanted

FORMATS = ("text", "json", "md", "csv", "parquet")
ENGINES = ("processes", "dask")


class _Command(options.Command):
    """A command whose limits apply to each model, and not to all together."""

    def limits(self, ctx: click.Context) -> options.Limits:
        """Return no limits for the fleet as a whole."""
        return options.Limits()


@click.command(
    cls=_Command,
    examples=(
        "tolcost fleet models/ --format csv --output costs.csv",
        "tolcost fleet bert.onnx gpt2.onnx --dim batch=8",
        "tolcost fleet 's3://zoo/*/*.onnx' --format parquet --output zoo.parquet --timeout 60",
    ),
)
@options.files_argument("FILE.onnx...")
@click.option("--dim", "dims", metavar="NAME=N", multiple=True,
              help="A length, by its name or as INPUT[AXIS]; models without it keep "
              "their own.")  # fmt: skip
@click.option("--shape", "shapes", metavar="INPUT=LENGTHS", multiple=True,
              help="The shape of an input, of names, numbers and forms: x=n,3,32*w.")  # fmt: skip
@options.assume_option
@click.option("--specs", metavar="DIR", multiple=True,
              help="Search this folder first for operators: DIR/my.domain/MyOp.tol.")  # fmt: skip
@click.option("--allow-uncosted", is_flag=True, help="Exit with 0 even if something is not costed.")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="Number of processes.")
@click.option("--engine", type=click.Choice(ENGINES), default="processes",
              help="Analyse models in processes here, or in workers of dask.")  # fmt: skip
@click.option("--scheduler", metavar="ADDRESS", help="The scheduler of dask; without it, one starts here.")
@options.format_option(FORMATS)
@options.output_option
def command(
    files: tuple[str, ...],
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    assume: tuple[str, ...],
    specs: tuple[str, ...],
    allow_uncosted: bool,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
    form: str,
    output: str | None,
) -> int:
    """Count what many models cost, as one table.

    FILE may also be a folder, a pattern, an address that fsspec reads, or @LIST, a file of these.  The
    limits of time and memory apply to each model.  Models that cannot be read are named.
    """
    numbers, equal = options.equated(dims)
    wanted = Wanted(read_dims(numbers), read_shapes(shapes), assume=(*equal, *assume))
    run_on = engine_of(engine, jobs, scheduler)
    return studied_all(files, task(wanted, specs), run_on, allow_uncosted, form, output)


def task(wanted: Wanted, specs: tuple[str, ...]) -> Task:
    """Return the task for each model, with the limits of each."""
    limits = options.given_limits(click.get_current_context())
    return Task(wanted, specs, limits.seconds or SECONDS, limits.memory)


def engine_of(name: str, jobs: int | None, scheduler: str | None) -> Engine:
    """Return the engine that analyses models."""
    if name == "dask":
        return on_dask(scheduler, jobs)
    if scheduler is not None:
        raise click.UsageError("--scheduler is for --engine dask")
    return on_this_machine(jobs)


def studied_all(
    files: Sequence[str], task: Task, engine: Engine, allowed: bool, form: str, output: str | None
) -> int:
    """Study all models, write the table, and return the exit code."""
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
        deliver(many_written(found, form, *screen(form, output)), output, form)
    else:
        deliver_bytes(parquet(found), output)
        kept.unlink()
        fresh = [summary for summary in found if summary.file in studied_now]
        click.echo(_told(found, fresh, time.monotonic() - began), err=True)
    if any(summary.problem for summary in found):
        return 2
    return INCOMPLETE if any(summary.uncosted for summary in found) and not allowed else 0


def _told(found: Sequence[Summary], fresh: Sequence[Summary], seconds: float) -> str:
    """Summarise a fleet: the content of the table, and the work done for it now."""
    problems, nodes = sum(bool(one.problem) for one in found), sum(one.nodes for one in found)
    before = f", {len(found) - len(fresh):,} of them from before" if len(fresh) < len(found) else ""
    done = sum(one.nodes for one in fresh)
    rate = f"{len(fresh) / seconds:,.1f} models and {done / seconds:,.0f} nodes per second"
    table = f"{len(found):,} models{before}, {problems:,} with a problem, {nodes:,} nodes"
    return f"{table}; {seconds:,.1f} s: {rate}"
