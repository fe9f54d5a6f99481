"""``tolcost accept``: agree to a costlier program, and say why."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost import __version__
from tolcost.check.baseline import Gate
from tolcost.check.config import find_config
from tolcost.check.lockfile import Lock
from tolcost.check.seals import costs_version
from tolcost.check.updating import accepted, write_merged
from tolcost.cli import options
from tolcost.cli.gating import checked_against, computing_for, read_lock_of
from tolcost.cli.output import write_whole
from tolcost.diagnostics import visible

_LONGEST = 2_000


@click.command(
    cls=options.Command,
    examples=(
        'tolcost accept ops/softmax.tol -m "subtracts the largest entry first, so that exp cannot overflow"',
        'tolcost accept "ops/*" -m "float32 accumulators" --base origin/main',
    ),
)
@click.argument("name", metavar="NAME")
@click.option("--message", "-m", "why", required=True, metavar="TEXT", help="Why it may cost more.")
@click.option("--base", metavar="REVISION", help="Costlier than at a git revision, not than the lock file.")
def command(name: str, why: str, base: str | None) -> int:
    """Agree to what a program costs now; reports show the reason beside the difference.

    NAME is a program as `tolcost check` shows it, or a pattern. The reason goes to the lock file, and
    holds until the program costs more again.
    """
    reason = " ".join(why.split())
    if not reason or len(reason) > _LONGEST:
        raise click.UsageError(f"--message needs a reason of at most {_LONGEST:,} characters")
    config = find_config(Path.cwd())
    lock = read_lock_of(config)
    checked = checked_against(Gate(config, computing_for()), base, lock)
    new, names = accepted(lock or Lock({}, __version__, costs_version()), checked, name, reason)
    write_merged(config.root, lock, new, True, write_whole)
    for found in names:
        click.echo(f"accepted {visible(found)}: {visible(reason)}")
    return 0
