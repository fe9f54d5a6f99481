"""Options that several commands share, and reading what is given to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from tolcost.cli.literals import Literal, read_literal

F = TypeVar("F", bound=Callable[..., Any])  # click passes options by name, of any type

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_LONGEST_LENGTH = 30


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **kwargs: Any) -> None:
        """Take what click's own class takes, and the examples."""
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on a line of its own."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def files_argument(function: F) -> F:
    """Add the files to work on."""
    return click.argument("files", metavar="FILE.tol...", nargs=-1, required=True)(function)


def dim_option(function: F) -> F:
    """Add ``--dim``."""
    text = "A length, or an integer attribute; repeat for others."
    return click.option("--dim", "dims", metavar="NAME=N", multiple=True, help=text)(function)


def input_options(function: F) -> F:
    """Add what can be said of a program's inputs."""
    shape = "The shape of an input declared with [...], in names and numbers: x=n,4."
    attr = "The value of an attribute or static input: k=3, axes=[1,2], mode=linear."
    specs = "A folder of operators and library files, searched before those of tolcost."
    function = click.option("--specs", metavar="DIR", multiple=True, help=specs)(function)
    function = click.option("--attr", "attrs", metavar="NAME=VALUE", multiple=True, help=attr)(function)
    return click.option("--shape", "shapes", metavar="NAME=LENGTHS", multiple=True, help=shape)(function)


def output_option(function: F) -> F:
    """Add ``--output``."""
    text = "Write there instead of standard output."
    return click.option("--output", "-o", metavar="FILE", type=click.Path(dir_okay=False), help=text)(
        function
    )


def read_pairs(option: str, texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Split each ``NAME=VALUE``."""
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise click.UsageError(f"{option} needs NAME=VALUE, not {text[:60]!r}")
        yield name.strip(), value.strip()


def read_dims(texts: Iterable[str]) -> dict[str, int]:
    """Read ``--dim``; thousands may be grouped by underscores.

    >>> read_dims(["n=1_024"])
    {'n': 1024}
    """
    dims: dict[str, int] = {}
    for name, value in read_pairs("--dim", texts):
        if not re.fullmatch(r"-?[0-9]+(_[0-9]+)*", value) or len(value) > _LONGEST_LENGTH:
            raise click.UsageError(f"--dim {name} needs an integer, not {value[:60]!r}")
        if dims.setdefault(name, int(value)) != int(value):
            raise click.UsageError(f"--dim {name} is given twice")
    return dims


def read_shapes(texts: Iterable[str]) -> dict[str, list[list[int | str]]]:
    """Read ``--shape``; a name may come several times, for a variadic input.

    >>> read_shapes(["x=n,4"])
    {'x': [['n', 4]]}
    """
    shapes: dict[str, list[list[int | str]]] = {}
    for name, value in read_pairs("--shape", texts):
        inside = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        entries = [entry.strip() for entry in inside.split(",")] if inside.strip() else []
        shapes.setdefault(name, []).append([_length(name, entry) for entry in entries])
    return shapes


def _length(name: str, entry: str) -> int | str:
    if re.fullmatch(r"[0-9]{1,30}", entry):
        return int(entry)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", entry):
        return entry
    raise click.UsageError(f"--shape {name}: {entry[:60]!r} is neither a number nor a name")


def read_attrs(texts: Iterable[str]) -> dict[str, Literal]:
    """Read ``--attr``.

    >>> read_attrs(["axes=[1,2]"])
    {'axes': (1, 2)}
    """
    attrs: dict[str, Literal] = {}
    for name, value in read_pairs("--attr", texts):
        if name in attrs:
            raise click.UsageError(f"--attr {name} is given twice")
        attrs[name] = read_literal(value)
    return attrs
