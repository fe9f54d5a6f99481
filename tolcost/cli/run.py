"""``tolcost run``: execute a program, and hold what it counts to its closed form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.literals import Literal, read_literal
from tolcost.cli.output import write_whole
from tolcost.cli.programs import Request, lowered_with, source_of, warn
from tolcost.diagnostics import Diagnostic, Rejected, quoted, visible
from tolcost.elaborate import Elaborated
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.execute.dtypes import Array
from tolcost.execute.files import (
    array_bytes,
    load_array,
    nested_array,
    plain_values,
    random_arrays,
    show_output,
)
from tolcost.pipeline import Parsed, analyze_lowered, read_program, with_deep_stack
from tolcost.report.comparison import compare_counts
from tolcost.syntax.tree import Ellipsis, Input

_ENGINES = {"numpy": run_vectorised, "reference": run_reference}


@dataclass(frozen=True, slots=True)
class _Given:
    """What was given for the inputs: arrays for ToLs, values for what must be known while compiling."""

    arrays: Mapping[str, tuple[Array, ...]]
    request: Request


@click.command()
@click.argument("file", metavar="FILE.tol")
@click.option("--input", "inputs", metavar="NAME=VALUE", multiple=True,
              help="A .npy file or a value such as [[1,2],[3,4]]; repeat for others.")  # fmt: skip
@click.option("--random", "is_random", is_flag=True, help="Random values for inputs not given.")
@click.option("--seed", type=int, default=0, show_default=True, help="Where --random starts.")
@options.dim_option
@options.input_options
@click.option("--engine", type=click.Choice(list(_ENGINES)), default="numpy", show_default=True,
              help="Whole arrays at once, or one element at a time.")  # fmt: skip
@click.option("--count", is_flag=True, help="What was counted, beside the closed form at these lengths.")
@click.option("--output", "-o", metavar="DIR", type=click.Path(file_okay=False),
              help="Write outputs there as .npy files instead of showing them.")  # fmt: skip
def command(
    file: str,
    inputs: tuple[str, ...],
    is_random: bool,
    seed: int,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    engine: str,
    count: bool,
    output: str | None,
) -> int:
    """Execute a program.

    \b
    tolcost run matmul.tol --input a=[[1,2],[3,4]] --input b=b.npy
    tolcost run matmul.tol --random --dim n=2 --dim k=3 --dim m=4 --count
    """
    lengths = options.read_dims(dims)
    parsed = read_program(source_of(file))
    given = _read_inputs(parsed, inputs, Request.read(shapes, attrs))
    program = lowered_with(parsed, given.request)
    warn(program)
    arrays = {name: values for name, values in _by_input(program, given.arrays)}
    if is_random:
        known = {name: value for name, value in arrays.items()}
        arrays |= random_arrays(program.program, known, lengths, seed)
    execution = with_deep_stack(
        lambda: _ENGINES[engine](program.program, _single(arrays), lengths)
    )
    _deliver(execution, program, output)
    return _compare(execution, program, file) if count else 0
