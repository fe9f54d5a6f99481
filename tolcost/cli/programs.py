"""From a file and what is said of its inputs to a lowered program: what every command starts with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import click

from tolcost.catalogue.specs import open_library
from tolcost.cli.options import Literal, read_attrs, read_shapes
from tolcost.cli.output import colour_on_stderr
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import Source, render_all
from tolcost.elaborate import Elaborated
from tolcost.elaborate.arguments import PlainShape, arguments
from tolcost.pipeline import Parsed, lower_for_author, read_program
from tolcost.result.program import program_source
from tolcost.syntax import read_source


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is said of the inputs of programs."""

    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] = field(default_factory=dict)
    attrs: Mapping[str, Literal] = field(default_factory=dict)
    specs: tuple[str, ...] = ()

    @staticmethod
    def read(shapes: Iterable[str], attrs: Iterable[str], specs: tuple[str, ...]) -> Request:
        """Read the options ``--shape``, ``--attr`` and ``--specs``."""
        found = {name: all_[0] if len(all_) == 1 else all_ for name, all_ in read_shapes(shapes).items()}
        return Request(found, read_attrs(attrs), specs)


def source_of(file: str) -> Source:
    """Read a program; ``-`` is standard input."""
    return replace(read_source("/dev/stdin"), name="<stdin>") if file == "-" else program_source(file)


def parsed_file(file: str, request: Request) -> Parsed:
    """Read a program, with the operators in the folders of a request."""
    return read_program(source_of(file), open_library(request.specs) if request.specs else None)


def lowered(file: str, request: Request) -> Elaborated:
    """Read a program, and lower it with what is said of its inputs."""
    return lowered_with(parsed_file(file, request), request)


def lowered_with(parsed: Parsed, request: Request) -> Elaborated:
    """Lower a program that is read already."""
    return lower_for_author(parsed, arguments(parsed.program, request.shapes, request.attrs))


def name_of(file: str) -> str:
    """Give the name that a file goes by in results."""
    return "<stdin>" if file == "-" else file


def warn(program: Elaborated) -> None:
    """Tell what the author of a program might want to know."""
    if program.warnings:
        click.echo(render_all(program.warnings, colour=colour_on_stderr()) + "\n", err=True)
