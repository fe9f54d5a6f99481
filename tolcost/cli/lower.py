"""``tolcost lower``: a program at the stages of the road."""

from __future__ import annotations

import click

from tolcost.atoms.nodes import Program
from tolcost.cli import options
from tolcost.cli.output import deliver
from tolcost.cli.programs import Request, lowered, source_of, warn
from tolcost.deep import with_deep_stack


@click.command(
    cls=options.Command,
    examples=(
        "tolcost lower matmul.tol",
        "tolcost lower matmul.tol --stage ast",
        "tolcost lower matmul.tol --unroll --dim n=2 --dim k=2 --dim m=2",
    ),
)
@click.argument("file", metavar="FILE.tol")
@click.option("--stage", type=click.Choice(["ast", "atoms"]), default="atoms", help="How far to go.")
@click.option("--unroll", is_flag=True, help="Nothing but the five atoms, at lengths given by --dim.")
@options.dim_option
@options.input_options
@options.output_option
def command(
    file: str,
    stage: str,
    unroll: bool,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    output: str | None,
) -> int:
    """Show what a program becomes: its syntax tree, its atoms, or its atoms unrolled."""
    lengths = options.read_dims(dims)
    if lengths and not unroll:
        raise click.UsageError("--dim needs --unroll: the other stages are the same for all lengths")
    if unroll and stage == "ast":
        raise click.UsageError("--unroll is about atoms, not about --stage ast")
    request = Request.read(shapes, attrs, specs)
    deliver(_tree(file) if stage == "ast" else _atoms(file, request, lengths if unroll else None), output)
    return 0


def _tree(file: str) -> str:
    from tolcost.cli.tree_text import tree_text
    from tolcost.syntax import parse

    return tree_text(parse(source_of(file)))


def _atoms(file: str, request: Request, dims: dict[str, int] | None) -> str:
    program = lowered(file, request)
    warn(program)
    if dims is not None:
        return _unrolled(program.program, dims)
    from tolcost.atoms.text import program_text

    return with_deep_stack(lambda: program_text(program.program))


def _unrolled(program: Program, dims: dict[str, int]) -> str:
    from tolcost.atoms.text import unrolled_text
    from tolcost.atoms.unroll import unroll

    return with_deep_stack(lambda: unrolled_text(unroll(program, dims)))
