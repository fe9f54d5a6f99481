"""From a file and what is said of its inputs to a lowered program: what every command starts with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import click

from tolcost.cli.literals import Literal
from tolcost.cli.options import read_attrs, read_shapes
from tolcost.cli.failures import colour_on_stderr
from tolcost.diagnostics import Source, render_all
from tolcost.elaborate import Elaborated
from tolcost.elaborate.given import Shape, arguments
from tolcost.pipeline import lower, read_program, warnings_of
from tolcost.syntax import read_source


@dataclass(frozen=True, slots=True)
class Request:
    """What is said of the inputs of programs."""

    shapes: Mapping[str, Shape | Sequence[Shape]] = field(default_factory=dict)
    attrs: Mapping[str, Literal] = field(default_factory=dict)

    @staticmethod
    def read(shapes: Iterable[str], attrs: Iterable[str]) -> Request:
        """Read the options ``--shape`` and ``--attr``."""
        found = {name: all_[0] if len(all_) == 1 else all_ for name, all_ in read_shapes(shapes).items()}
        return Request(found, read_attrs(attrs))


def source_of(file: str) -> Source:
    """Read a program; ``-`` is standard input."""
    return read_source("/dev/stdin") if file == "-" else read_source(file)


def lowered(file: str, request: Request) -> Elaborated:
    """Read a program, and lower it with what is said of its inputs."""
    parsed = read_program(source_of(file))
    return lower(parsed, arguments(parsed.program, request.shapes, request.attrs))


def warn(program: Elaborated) -> None:
    """Tell what the author of a program might want to know."""
    warnings = warnings_of(program)
    if warnings:
        click.echo(render_all(warnings, colour=colour_on_stderr()) + "\n", err=True)
