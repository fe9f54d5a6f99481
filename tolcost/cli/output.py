"""The output of commands: results, progress, and the messages and exit codes of failures.

A result goes to standard output, or to a file that is written completely or not at all.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, TypeVar

import click

_T = TypeVar("_T")

_NARROWEST = 40
"""Columns: no table makes sense in fewer, and a terminal may report 0."""
_KEPT = (".tol", ".onnx", ".toml", ".lock")
"""The kinds of files that a result never overwrites: programs, models, settings and lock files."""


def deliver(text: str, output: str | None, form: str) -> None:
    """Write a result to a file, or to standard output.

    Text is for people, and uses the encoding of their terminal.  Every other format is for programs, and is
    always UTF-8.
    """
    if output is None:
        if form != "text" and isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        sys.stdout.write(text)
        return
    deliver_bytes(text.encode("utf-8"), output)


def deliver_bytes(data: bytes, output: str | Path) -> None:
    """Write a result to a file, unless the file exists and is of a kind that people write."""
    path = Path(output)
    kinds = {path.suffix.lower(), path.resolve().suffix.lower()}  # writing to a link changes its target
    if path.is_file() and not kinds.isdisjoint(_KEPT):
        raise click.UsageError(f"{output} is there already, and a result is not written over such a file")
    write_whole(path, data)


def may_colour(stream: TextIO) -> bool:
    """Whether output to a stream may have colours: on a terminal, unless the environment decides.

    NO_COLOR forbids colours everywhere.  CLICOLOR_FORCE and FORCE_COLOR ask for them in a pipe, too.
    """
    asked = os.environ
    if asked.get("NO_COLOR") or asked.get("FORCE_COLOR") == "0":
        return False
    if asked.get("FORCE_COLOR") or asked.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return stream.isatty() and asked.get("TERM") != "dumb" and asked.get("CLICOLOR") != "0"


def screen(form: str, output: str | None) -> tuple[bool, int | None]:
    """Return whether a result may have colours, and its width, or None if it does not go to a terminal."""
    if form != "text" or output is not None:
        return False, None
    if not sys.stdout.isatty():
        return may_colour(sys.stdout), None
    from shutil import get_terminal_size  # imports every archive format, so it is loaded only for a terminal

    return may_colour(sys.stdout), max(get_terminal_size().columns, _NARROWEST)


def refuse_over(outputs: Iterable[str | Path], inputs: Iterable[str | Path]) -> None:
    """Refuse to write over a file that is read, even through another name of the file."""
    read = [path for path in map(Path, inputs) if path.is_file()]
    for output in map(Path, outputs):
        if output.is_file() and any(output.samefile(path) for path in read):
            raise click.UsageError(f"{output} is what is read: it is not written over")


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary file in the same folder, and move it into place once it is complete and on the disk.

    A link stays a link, and its target is replaced.  A device or a pipe is written to, never replaced.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _write_beside(path.resolve(), data)
    except OSError as error:  # name the requested file, not the temporary one
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write_beside(path: Path, data: bytes) -> None:
    from tempfile import mkstemp

    handle, name = mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the existing file, or those that a new file would get."""
    with suppress(OSError):
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


# ---- the progress of a long command ----------------------------------------------------------


_PATIENCE = 1.0
"""Seconds before progress is shown, so that a quick command shows none."""
_OFTEN = 0.1
"""Seconds between updates, so that writing to the terminal does not slow the work down."""
_WIDTH = 60


class ProgressLine:
    """Shows progress in one line of standard error, which is rewritten."""

    def __init__(self) -> None:
        """Start the clock."""
        self._on = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE
        self._before: int | None = None
        self._shown = False

    def tell(self, done: int, of: int, name: str) -> None:
        """Show the last finished item and the remaining time, unless the line was updated a moment ago.

        Work that tells of 0 items begins there: what came before says nothing about how long an item takes.
        """
        now = time.monotonic()
        if not done:
            self._began, self._before = now, 0
            return
        self._before = done - 1 if self._before is None else self._before
        if self._on and now >= self._next:
            self._next = now + _OFTEN
            self._shown = True
            left = (now - self._began) / (done - self._before) * (of - done)
            sys.stderr.write(f"\r\x1b[K{done:,}/{of:,}, about {_rough(left)} left: {name[-_WIDTH:]}")
            sys.stderr.flush()

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def with_progress(work: Iterable[_T], of: int, name: Callable[[_T], str]) -> list[_T]:
    """Collect the items that some work yields, and show its progress meanwhile."""
    found: list[_T] = []
    with closing(ProgressLine()) as progress:
        for one in work:
            found.append(one)
            progress.tell(len(found), of, name(one))
    return found


def _rough(seconds: float) -> str:
    """Write a duration roughly, as people say it.

    >>> _rough(7.4), _rough(100), _rough(9000)
    ('7 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---- failures: the message and the exit code -------------------------------------------------

# A user's mistake gives a diagnostic and exit code 2, and so does an input that is too large.  Any other
# exception is a bug of tolcost: it gives exit code 70, and instructions how to report it.

USAGE, INCOMPLETE, INTERRUPTED, BROKEN_PIPE, INTERNAL = 2, 3, 130, 141, 70


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import modules of an optional dependency, or report how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise click.UsageError(f"{error.name} is not installed: pip install 'tolcost[{name}]'") from error


def exit_code(error: BaseException) -> int:
    """Report a failure to the user, and return its exit code."""
    match error:
        case click.exceptions.Exit(exit_code=code):
            return int(code)
        case SystemExit(code=code):
            return code if isinstance(code, int) else USAGE
        case click.ClickException():
            error.show()
            return USAGE
        case click.Abort() | KeyboardInterrupt():
            click.echo("interrupted", err=True)
            return INTERRUPTED
        case BrokenPipeError():
            return _broken_pipe()
        case OSError():
            click.echo(f"error: {_system(error)}", err=True)
            return USAGE
        case _:
            return _rejected(error)


def _broken_pipe() -> int:
    """End silently when the reader of our output stopped, even when Python flushes its streams at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _system(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason


def _rejected(error: BaseException) -> int:
    from tolcost.diagnostics import Rejected
    from tolcost.pipeline import as_rejected

    found = as_rejected(error)
    if isinstance(found, Rejected):
        show(found)
        return USAGE
    return _internal(found)


def show(rejected: BaseException) -> None:
    """Write the diagnostics of a rejected input to standard error."""
    from tolcost.diagnostics import Rejected, render_all

    if isinstance(rejected, Rejected):
        click.echo(render_all(rejected.diagnostics, colour=may_colour(sys.stderr)), err=True)


def each_file(files: Iterable[str], work: Callable[[str], _T]) -> tuple[list[_T], bool]:
    """Process every file, and return the results, and whether any file was rejected and reported."""
    found: list[_T] = []
    failed = False
    for file in files:
        try:
            found.append(work(file))
        except Exception as error:
            from tolcost.diagnostics import Rejected
            from tolcost.pipeline import as_rejected

            rejected = as_rejected(error)
            if not isinstance(rejected, Rejected):
                raise
            show(rejected)
            failed = True
    return found, failed


def _internal(error: BaseException) -> int:
    if os.environ.get("TOLCOST_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    text = " ".join(str(error).split())[:200]
    click.echo(f"internal error: {type(error).__name__}: {text}", err=True)
    click.echo(
        "This is a bug in tolcost, not in your program. Please report it with the command line, the input,\n"
        "the output of `tolcost --version`, and what TOLCOST_TRACEBACK=1 adds to this message.",
        err=True,
    )
    return INTERNAL
