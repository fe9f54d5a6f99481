"""The command line: a table of commands, whose modules are loaded when they are used.

Listing the commands loads nothing but click.  A new command is a line in ``COMMANDS`` and a click command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from types import MappingProxyType
from typing import NoReturn

import click

from tolcost import __version__

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "analyze": ("analyze", "Count what programs cost, as closed forms and as numbers."),
        "explain": ("explain", "Derive a cost step by step, or explain a diagnostic code."),
        "grad": ("grad", "Derive the program of gradients."),
        "lower": ("lower", "Show a program as its syntax tree or as atoms."),
        "run": ("execute", "Execute a program, and count while doing so."),
        "ops": ("ops", "List the operators of ONNX, with definitions and closed forms."),
        "model": ("model", "Count what an ONNX model costs, in its free dimensions."),
        "diff": ("diff", "Compare two programs or models, for all lengths."),
        "check": ("check", "Check programs against the lock file and budgets, as a CI gate."),
        "accept": ("check.accept", "Agree to a costlier program, and say why."),
        "verify": ("verify", "Run ONNX's own tests through the definitions."),
        "fmt": ("fmt", "Put programs into the canonical layout."),
    }
)
"""For each command a module, with the name of the function if that is not ``command``, and a description."""


def applications() -> Sequence[tuple[str, str, str]]:
    """Return the commands of applications: for each its name, its module and a description."""
    return tuple(import_module("tolcost.apps").commands())


class _Commands(click.Group):
    """A group that knows the names of all commands, and loads only the command that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the tables."""
        return [*COMMANDS, *(name for name, *_ in applications())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command by its name; None if there is no such command."""
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name][0].partition(".")
            command = getattr(import_module(f"tolcost.cli.{module}"), name or "command")
        else:
            where = next((module for name, module, _ in applications() if name == cmd_name), None)
            command = None if where is None else import_module(where).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or fail and suggest a similar name."""
        known = not args or args[0].startswith("-") or args[0] in COMMANDS
        if not known and args[0] not in self.list_commands(ctx):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            meant = f" Did you mean {near[0]}?" if near else " See tolcost --help."
            ctx.fail(f"There is no command {args[0][:60]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the tables, without loading the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])
        with formatter.section("Applications"):
            formatter.write_dl([(name, text) for name, _, text in applications()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 costlier or failing, 2 bad usage or input, 3 undecided, 70 internal error.",
)
@click.version_option(__version__, prog_name="tolcost", message="%(prog)s %(version)s")
def group() -> None:
    """Exact symbolic cost of tensor programs, such as tolcost analyze matmul.tol --symbolic."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code."""
    try:
        outcome = group.main(args=arguments, prog_name="tolcost", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # every kind of failure has an exit code and a message
        from tolcost.cli.output import exit_code

        return exit_code(error)
    return outcome if isinstance(outcome, int) else 0


def main() -> NoReturn:
    """Run the ``tolcost`` command, and exit with its code."""
    if sys.stdout is None or sys.stderr is None:  # the caller closed them, and wants only the exit code
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, TextIOWrapper):  # escape a character that the terminal's encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run())
