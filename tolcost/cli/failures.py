"""How a command ends when it cannot do what was asked: the words and the exit code.

A user's mistake is a diagnostic and exit code 2.  What is too large is one as well.  Anything
else that gets here is a bug of tolcost: exit code 70, and how to report it.
"""

from __future__ import annotations

import os
import sys

import click

from tolcost.cli.output import colour_on_stderr

USAGE, INTERRUPTED, BROKEN_PIPE, INTERNAL = 2, 130, 141, 70


def exit_code(error: BaseException) -> int:
    """Tell the user about a failure, and give the exit code for it."""
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
    """Whoever read our output has stopped: say nothing, not even when Python flushes at its end."""
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
        click.echo(render_all(rejected.diagnostics, colour=colour_on_stderr()), err=True)


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
