"""``tolcost check``: the gate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tolcost import __version__
from tolcost.check.baseline import Gate
from tolcost.check.config import find_config
from tolcost.check.gate import Checked, against_lock
from tolcost.check.lockfile import LOCK_NAME, Lock
from tolcost.check.records import GateReport
from tolcost.check.seals import costs_version
from tolcost.check.text import gate_text
from tolcost.check.updating import updated, write_merged
from tolcost.check.words import GATE_FORMATS
from tolcost.cli import options
from tolcost.cli.failures import colour_on_stdout, show
from tolcost.cli.gating import checked_against, computing_for, read_lock_of, with_specs
from tolcost.cli.output import deliver, write_whole
from tolcost.cli.progress import Progress
from tolcost.diagnostics import Rejected


def _also(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Read every ``FORMAT=FILE``."""
    pairs = tuple(text.partition("=")[::2] for text in value)
    for form, file in pairs:
        if form not in GATE_FORMATS or not file:
            raise click.BadParameter(f"FORMAT=FILE, with one of {', '.join(GATE_FORMATS)}, not {form[:40]!r}")
    return pairs


@click.command(
    cls=options.Command,
    examples=(
        "tolcost check",
        "tolcost check --update --prune",
        "tolcost check ops/softmax.tol --base origin/main",
        "tolcost check --format sarif --output tolcost.sarif",
    ),
)
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Write what programs cost now to the lock file.")
@click.option("--prune", is_flag=True, help="With --update: drop programs that are gone.")
@click.option("--base", metavar="REVISION", help="Compare with a git revision, not with the lock file.")
@click.option("--strict", is_flag=True, help="Fail as well if the lock file could be updated.")
@click.option("--watch", is_flag=True, help="Check again whenever a program or a setting changes.")
@click.option("--fresh", is_flag=True, help="Analyse every program, whatever its seal says.")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="How many processes; all cores if not said.")
@click.option("--specs", metavar="DIR", multiple=True,
              help="A folder of operators, searched before those that tolcost.toml names.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(GATE_FORMATS), default="text", help="How to write it.")
@click.option("--also", metavar="FORMAT=FILE", multiple=True, callback=_also,
              help="Write it to a file in another format as well; repeatable.")  # fmt: skip
@options.output_option
def command(
    paths: tuple[Path, ...],
    update: bool,
    prune: bool,
    base: str | None,
    strict: bool,
    watch: bool,
    fresh: bool,
    jobs: int | None,
    specs: tuple[str, ...],
    form: str,
    also: tuple[tuple[str, str], ...],
    output: str | None,
) -> int:
    """Hold programs to what the lock file says they cost, and to their budgets.

    Exit codes: 0 nothing is costlier, 1 something is (or is not locked, or over budget), 2 something
    cannot be read, 3 something could not be decided.
    """
    if prune and not update:
        raise click.UsageError("--prune goes with --update")
    if update and base is not None:
        raise click.UsageError("--update writes what programs cost now; it does not go with --base")

    def once() -> int:
        config = with_specs(find_config(Path.cwd()), specs)
        progress = Progress()
        gate = Gate(config, computing_for(jobs, progress.tell), paths, strict, fresh)
        try:
            report = _updated(gate, prune) if update else _compared(gate, base)
        finally:
            progress.close()
        for name, file in ((form, output), *also):
            deliver(_written(report, name, file), file)
        return report.exit_code

    if not watch:
        return once()
    from tolcost.cli.watching import watch_project

    return watch_project(once, find_config(Path.cwd()).root)


def _written(report: GateReport, form: str, file: str | None) -> str:
    """The report in a format; in colour for a terminal."""
    if form == "text":
        return gate_text(report, file is None and colour_on_stdout())
    from tolcost.check.formats import write_report  # a plain check does without all these

    return write_report(report, form, __version__)


def _compared(gate: Gate, base: str | None) -> GateReport:
    checked = checked_against(gate, base, read_lock_of(gate.config))
    _tell(checked)
    return checked.report


def _updated(gate: Gate, prune: bool) -> GateReport:
    """Compare with the lock file there is, then write the new one; what cannot be read stays as it was."""
    lock = read_lock_of(gate.config, merging=True)
    checked = against_lock(gate, lock or Lock())
    _tell(checked)
    new = updated(lock or Lock(), checked, prune, __version__, costs_version())
    write_merged(gate.config.root, lock, new, gate.config.seal, write_whole)
    return replace(checked.report, written=LOCK_NAME, pruned=prune)


def _tell(checked: Checked) -> None:
    """Show what is wrong with the programs that cannot be read."""
    if checked.problems:
        show(Rejected(*checked.problems))
