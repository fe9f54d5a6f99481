"""``tolcost fmt``: bring programs into the canonical layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def programs_in(places: Iterable[str]) -> Iterator[str]:
    """List files as they are given, and the programs below each folder; a folder without any gives a warning.

    Hidden places are skipped, and so is what a link leads to outside of the repository.
    """
    for place in places:
        if not Path(place).is_dir():
            yield place
            continue
        found = [str(Path(place, file)) for file in _below(Path(place))]
        if not found:
            click.echo(f"warning: there is no .tol file below {visible(place)}", err=True)
        yield from found


def _below(folder: Path) -> Iterator[str]:
    from tolcost.check.targets import SKIPPED, files_below, repository_of  # a single file needs none of this

    top = repository_of(folder)
    for file in sorted(files_below(folder, SKIPPED)):
        path = folder / file
        is_program = file.lower().endswith(".tol") and not path.name.startswith(".") and path.is_file()
        if is_program and path.resolve().is_relative_to(top):
            yield file


@click.command(
    cls=options.Command,
    examples=(
        "tolcost fmt matmul.tol softmax.tol",
        "tolcost fmt --check .",
        "tolcost fmt - < matmul.tol",
    ),
)
@options.files_argument("FILE.tol|FOLDER...")
@click.option(
    "--check", is_flag=True, help="Only list the files that would change; exit with 1 if there are any."
)
def command(files: tuple[str, ...], check: bool) -> int:
    """Put programs into the canonical layout.

    A folder means all .tol files below it, without hidden ones and without links to other places.  A program
    from standard input, which is -, is printed.
    """

    def formatted(file: str) -> bool:
        changed = _format_stdin(check) if file == "-" else format_file(Path(file), check)
        if changed and (check or file != "-"):
            click.echo(f"{'would change' if check else 'changed'} {visible(name_of(file))}")
        return changed

    found, failed = each_file(programs_in(files), formatted)
    return 2 if failed else int(check and any(found))
