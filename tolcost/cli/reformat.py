"""``tolcost fmt``: the command around ``tolcost.cli.fmt``."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.failures import colour_on_stderr
from tolcost.cli.fmt import Formatted, fmt
from tolcost.diagnostics import render_all, visible


@click.command(
    cls=options.Command,
    examples=(
        "tolcost fmt matmul.tol softmax.tol",
        "tolcost fmt --check *.tol",
    ),
)
@options.files_argument
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if something would change.")
def command(files: tuple[str, ...], check: bool) -> int:
    """Put programs into the canonical layout."""

    def tell(result: Formatted) -> None:
        if result.diagnostics:
            click.echo(render_all(result.diagnostics, colour=colour_on_stderr()), err=True)
        elif result.changed:
            click.echo(f"{'would change' if check else 'changed'} {visible(str(result.path))}")

    return fmt(map(Path, files), check, tell)
