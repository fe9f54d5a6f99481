"""``tolcost fmt``: bring programs into their canonical form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import colour_on_stderr, write_whole
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, render_all, visible
from tolcost.syntax import parse, read_source
from tolcost.syntax.format import format_program


@dataclass(frozen=True, slots=True)
class Formatted:
    """What became of one file."""

    path: Path
    changed: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def format_file(path: Path, check: bool = False) -> Formatted:
    """Format one file; with ``check`` only find out whether it would change."""
    try:
        source = read_source(path)
        text = format_program(parse(source))
        changed = text != source.text
        if changed and not check:
            _replace(path, text)
    except Rejected as rejected:
        return Formatted(path, diagnostics=rejected.diagnostics)
    return Formatted(path, changed)


def fmt(paths: Iterable[Path], check: bool, tell: Callable[[Formatted], None]) -> int:
    """Format files and tell of each; the exit code is 2 for bad input, 1 if ``check`` would change any."""
    results = []
    for path in paths:
        results.append(format_file(path, check))
        tell(results[-1])
    if any(result.diagnostics for result in results):
        return 2
    return int(check and any(result.changed for result in results))


def _replace(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise Rejected(_unwritable(path, error)) from None


def _unwritable(path: Path, error: OSError) -> Diagnostic:
    reason = (error.strerror or "unknown reason").lower()
    return Diagnostic("T0004", f"cannot write the file: {reason}", Span(Source(str(path), ""), 0, 0))


@click.command(
    cls=options.Command,
    examples=(
        "tolcost fmt matmul.tol softmax.tol",
        "tolcost fmt --check *.tol",
    ),
)
@options.files_argument("FILE.tol...")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if something would change.")
def command(files: tuple[str, ...], check: bool) -> int:
    """Put programs into the canonical layout."""

    def tell(result: Formatted) -> None:
        if result.diagnostics:
            click.echo(render_all(result.diagnostics, colour=colour_on_stderr()), err=True)
        elif result.changed:
            click.echo(f"{'would change' if check else 'changed'} {visible(str(result.path))}")

    return fmt(map(Path, files), check, tell)
