"""``tolcost report``: the paper's tables derived again, and all that goes with them, as files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shutil import which

import click

from tolcost.apps.paper.build import build_reports, with_figures
from tolcost.catalogue.specs import open_library
from tolcost.cli import options
from tolcost.cli.output import ProgressLine, write_whole
from tolcost.platform import with_deep_stack

NEXT = "tolcost model examples/bert.onnx --device h200 --format html --output bert.html"
"""A command to try after a report; the README shows it, so a test runs it."""


@click.command(
    cls=options.Command,
    examples=(
        "tolcost report",
        "tolcost report --check",
        "tolcost report --folder out/reports",
    ),
)
@click.option("--folder", default="reports", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="The folder of the reports, and of data/ with measurements.")  # fmt: skip
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if a file is out of date."
)
@options.specs_option
def command(folder: Path, only_check: bool, specs: tuple[str, ...]) -> int:
    """Write the reports on the paper: tables, charts, errata, and one HTML page with all of them.

    Results that take long or need other tools are read from data/ in the folder: those of
    `tolcost verify`, and the counts of other programs.  Marked figures in a README beside the folder
    are updated.
    """
    with closing(ProgressLine()) as progress:
        reports = with_deep_stack(lambda: build_reports(folder, open_library(specs), progress.tell))
    files = {folder / name: text for name, text in reports.files.items()}
    readme = folder.resolve().parent / "README.md"
    if readme.is_file():
        files[readme] = with_figures(readme.read_text(encoding="utf-8"), reports.conclusion)
    held = {path: path.read_bytes() for path in files if path.is_file()}
    stale = [path for path, text in files.items() if held.get(path) != text.encode("utf-8")]
    for path in stale:
        click.echo(f"{'out of date' if only_check else 'wrote'} {path}")
        if not only_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, files[path].encode("utf-8"))
    click.echo(f"{len(files)} files, {len(stale)} {'out of date' if only_check else 'changed'}")
    if not only_check:
        click.echo(seen(reports.figures, folder))
    return 1 if only_check and stale else 0


def seen(figures: Sequence[tuple[str, str]], folder: Path) -> str:
    """Return the main figures, the page to open, and a command to try next."""
    width = max(len(value) for _, value in figures)
    lines = [f"  {value.rjust(width)}  {name}" for name, value in figures]
    page = (folder / "report.html").resolve().as_uri()
    return "\n".join(("", *lines, "", f"open  {page}", f"next  {_reached()}{NEXT}"))


def _reached() -> str:
    """Return the prefix of a command that the shell would not find, where `make` installed it."""
    inside = Path(".venv/bin/tolcost")
    return f"{inside.parent}/" if inside.exists() and which("tolcost") is None else ""
