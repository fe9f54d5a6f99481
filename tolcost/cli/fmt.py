"""``tolcost fmt``: bring programs into the canonical layout."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.analyze import name_of, source_of
from tolcost.cli.output import deliver, each_file, write_whole
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, visible
from tolcost.syntax import parse, read_source
from tolcost.syntax.format import format_program


def format_file(path: Path, check: bool = False) -> bool:
    """Format a file, and return whether its layout differs; with ``check`` the file is not written."""
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


def _format_stdin(check: bool) -> bool:
    """Format standard input, and return whether its layout differs; with ``check`` nothing is printed."""
    source = source_of("-")
    text = format_program(parse(source))
    if not check:
        deliver(text, None, "tol")
    return text != source.text


@click.command(
    cls=options.Command,
    examples=(
        "tolcost fmt matmul.tol softmax.tol",
        "tolcost fmt --check *.tol",
        "tolcost fmt - < matmul.tol",
    ),
)
@options.files_argument("FILE.tol...")
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if something would change.")
def command(files: tuple[str, ...], check: bool) -> int:
    """Put programs into the canonical layout; that of standard input, which is -, is printed."""

    def formatted(file: str) -> bool:
        changed = _format_stdin(check) if file == "-" else format_file(Path(file), check)
        if changed and (check or file != "-"):
            click.echo(f"{'would change' if check else 'changed'} {visible(name_of(file))}")
        return changed

    found, failed = each_file(files, formatted)
    return 2 if failed else int(check and any(found))
