"""``tolcost run``: execute a program, and compare the executed counts with its closed form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered_with, name_of, parsed_file, warn
from tolcost.cli.options import read_value
from tolcost.cli.output import deliver_bytes, refuse_over
from tolcost.diagnostics import quoted, refuse
from tolcost.elaborate import Elaborated
from tolcost.elaborate.faults import OpenRecursion
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.execute.dtypes import Array, Arrays
from tolcost.execute.inputs import (
    array_bytes,
    lengths_by_name,
    load_array,
    nested_array,
    plain_values,
    random_arrays,
    show_output,
)
from tolcost.literals import Literal
from tolcost.pipeline import Parsed, analyze_lowered
from tolcost.platform import with_deep_stack
from tolcost.result.derivation import compare_counts
from tolcost.syntax.tree import InputDecl

_ENGINES = {"numpy": run_vectorised, "reference": run_reference}


@click.command(
    cls=options.Command,
    examples=(
        "tolcost run matmul.tol --input a=[[1,2],[3,4]] --input b=b.npy",
        "tolcost run matmul.tol --random --dim n=2 --dim k=3 --dim m=4 --count",
    ),
)
@click.argument("file", metavar="FILE.tol")
@click.option("--input", "inputs", metavar="NAME=VALUE", multiple=True,
              help="An input, from a .npy file or as [[1,2],[3,4]]; repeat for others.")  # fmt: skip
@click.option("--random", "is_random", is_flag=True, help="Choose random values for all other inputs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The seed of --random.")
@options.dim_option
@options.input_options
@click.option("--engine", type=click.Choice(list(_ENGINES)), default="numpy", show_default=True,
              help="Compute whole arrays at once, or one element at a time.")  # fmt: skip
@click.option("--count", is_flag=True, help="Show the executed counts beside the closed forms.")
@click.option("--output", "-o", metavar="DIR", type=click.Path(file_okay=False),
              help="Write outputs into a folder as .npy files.")  # fmt: skip
def command(
    file: str,
    inputs: tuple[str, ...],
    is_random: bool,
    seed: int,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    engine: str,
    count: bool,
    output: str | None,
) -> int:
    """Execute a program."""
    if not is_random:
        options.refuse(("seed",), "for --random")
    lengths = options.read_dims(dims)
    request = Request.read(shapes, attrs, specs)
    parsed = parsed_file(file, request)
    given, told = _read_inputs(parsed, inputs, request)
    program = _lowered(parsed, told, given)
    warn(program.warnings)
    arrays = _by_input(parsed, given)
    known = lengths_by_name(program.program, arrays, lengths)
    if is_random:
        arrays |= random_arrays(program.program, arrays, known, seed)
    execution = with_deep_stack(lambda: _ENGINES[engine](program.program, arrays, known))
    deliver_outputs(execution, program, output, [text for _, text in options.read_pairs("--input", inputs)])
    return compare_executed(execution, program, file) if count else 0


def _read_inputs(
    parsed: Parsed, texts: Iterable[str], request: Request
) -> tuple[dict[str, tuple[Array, ...]], Request]:
    """Read the inputs into arrays, and a request with the static values and the shapes of arrays added."""
    declared = {s.name: s for s in parsed.program.statements if isinstance(s, InputDecl)}
    arrays: dict[str, tuple[Array, ...]] = {}
    attrs: dict[str, Literal] = dict(request.attrs)
    for name, text in options.read_pairs("--input", texts):
        if name not in declared:
            known = ", ".join(map(quoted, declared))
            refuse("T0412", f"there is no input called {quoted(name)}", hint=f"there are {known}")
        if declared[name].kind != "tol":
            attrs[name] = plain_values(load_array(Path(text))) if text.endswith(".npy") else read_value(text)
        else:
            array = nested_array(read_value(text), name) if _is_literal(text) else load_array(Path(text))
            arrays[name] = (*arrays.get(name, ()), array)
    shapes = {
        name: [list(a.shape) for a in found]
        for name, found in arrays.items()
        if (told := declared[name]).variadic or told.optional or told.any_rank
    }
    single = {name: all_ if declared[name].variadic else all_[0] for name, all_ in shapes.items()}
    return arrays, Request({**request.shapes, **single}, attrs, request.specs)


def _lowered(parsed: Parsed, request: Request, arrays: Mapping[str, tuple[Array, ...]]) -> Elaborated:
    """Lower a program; where its lengths have to be numbers, they are those of the arrays."""
    try:
        return lowered_with(parsed, request)
    except OpenRecursion:
        given = {name: list(found[0].shape) for name, found in arrays.items() if len(found) == 1}
        shapes = {**given, **request.shapes}
        if shapes == request.shapes:
            raise
        return lowered_with(parsed, Request(shapes, request.attrs, request.specs))


def _is_literal(text: str) -> bool:
    """Whether a text is a value, and not the name of a file."""
    begins = text[:1] in ("", *"[-+.'\"0123456789")  # an empty text is an unreadable value
    return not text.endswith(".npy") and (begins or text in ("true", "false"))


def _by_input(parsed: Parsed, arrays: Arrays) -> dict[str, tuple[Array, ...]]:
    """Name arrays as the lowered program does: each item of a variadic input is a separate input."""
    variadic = {s.name for s in parsed.program.statements if isinstance(s, InputDecl) and s.variadic}
    found: dict[str, tuple[Array, ...]] = {}
    for name, parts in arrays.items():
        if name in variadic:
            found |= {f"{name}.{n}": (part,) for n, part in enumerate(parts, start=1)}
        else:
            found[name] = parts
    return found


def deliver_outputs(
    execution: Execution, program: Elaborated, output: str | None = None, read: Sequence[str] = ()
) -> None:
    """Show the outputs, or write each component of an output to a separate file."""
    types = {out.name: out.node.type for out in program.program.outputs}
    if output is not None:
        Path(output).mkdir(parents=True, exist_ok=True)
    for name, value in execution.outputs.items():
        if output is None:
            click.echo(show_output(name, value, tuple(part.space for part in types[name])))
            continue
        parts = value if isinstance(value, tuple) else (value,)
        for n, part in enumerate(parts, start=1):
            file = f"{name}.npy" if len(parts) == 1 else f"{name}.{n}.npy"
            refuse_over([Path(output) / file], read)
            deliver_bytes(array_bytes(part), Path(output) / file)


def compare_executed(execution: Execution, program: Elaborated, file: str) -> int:
    """Show executed counts beside those of the closed form; a difference is a bug of tolcost."""
    text, agree = compare_counts(
        execution.counts, execution.bindings, analyze_lowered(program, name_of(file))
    )
    click.echo(f"\n{text}", nl=False)
    if not agree:
        click.echo("executed counts and closed forms differ: please report this, it is a bug", err=True)
    return 0 if agree else 1
