"""``tolcost fmt``: bring programs into their canonical form."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import each_file, write_whole
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, visible
from tolcost.syntax import parse, read_source
from tolcost.syntax.format import format_program


def format_file(path: Path, check: bool = False) -> bool:
    """Format one file, and tell whether that changes it; with ``check`` it is left as it is."""
    source = read_source(path)
    text = format_program(parse(source))
    if text == source.text:
        return False
    if not check:
        try:
            write_whole(path, text.encode("utf-8"))
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            where = Span(Source(str(path), ""), 0, 0)
            raise Rejected(Diagnostic("T0004", f"cannot write the file: {reason}", where)) from None
    return True


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

    def formatted(file: str) -> bool:
        changed = format_file(Path(file), check)
        if changed:
            click.echo(f"{'would change' if check else 'changed'} {visible(file)}")
        return changed

    found, failed = each_file(files, formatted)
    return 2 if failed else int(check and any(found))
