"""``tolcost lower``: a program at the stages of the road; ``tolcost circuit``: the last one read back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from tolcost.atoms.nodes import Program
from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered, source_of, warn
from tolcost.cli.output import deliver
from tolcost.diagnostics import Diagnostic, Rejected, Span, place, quoted, refuse, unreadable, visible
from tolcost.platform import with_deep_stack
from tolcost.syntax.tree import Comment, Module

if TYPE_CHECKING:
    from tolcost.execute.circuit import Circuit
    from tolcost.result.identity import Identity


@click.command(
    cls=options.Command,
    examples=(
        "tolcost lower matmul.tol",
        "tolcost lower matmul.tol --stage ast",
        "tolcost lower matmul.tol --unroll --dim n=2 --dim k=2 --dim m=2",
        "tolcost lower matmul.tol --circuit dot --dim n=2 --dim k=2 --dim m=2",
    ),
)
@click.argument("file", metavar="FILE.tol")
@click.option("--stage", type=click.Choice(["ast", "atoms"]), default="atoms", help="How far to go.")
@click.option("--unroll", is_flag=True, help="Nothing but the five atoms, at lengths given by --dim.")
@click.option("--circuit", "form", type=click.Choice(["json", "dot"]),
              help="A graph of functions, at lengths given by --dim: JSON, or for Graphviz.")  # fmt: skip
@options.dim_option
@options.input_options
@options.output_option
def command(
    file: str,
    stage: str,
    unroll: bool,
    form: str | None,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    output: str | None,
) -> int:
    """Show what a program becomes: its syntax tree, its atoms, its atoms unrolled, or a circuit."""
    lengths = options.read_dims(dims)
    if lengths and not (unroll or form):
        raise click.UsageError("--dim needs --unroll or --circuit: other stages are the same for all lengths")
    if unroll and stage == "ast":
        raise click.UsageError("--unroll is about atoms, not about --stage ast")
    if form and (unroll or stage == "ast"):
        raise click.UsageError("--circuit is a stage of its own: leave out --unroll and --stage")
    request = Request.read(shapes, attrs, specs)
    if form:
        deliver(_circuit(file, request, lengths, form), output, form)
        return 0
    text = _tree(file) if stage == "ast" else _atoms(file, request, lengths if unroll else None)
    deliver(text, output, "text")
    return 0


def _tree(file: str) -> str:
    from tolcost.syntax import parse

    return tree_text(parse(source_of(file)))


def _atoms(file: str, request: Request, dims: dict[str, int] | None) -> str:
    program = lowered(file, request)
    warn(program)
    if dims is not None:
        return _unrolled(program.program, dims)
    from tolcost.atoms.text import program_text

    return with_deep_stack(lambda: program_text(program.program))


def _circuit(file: str, request: Request, dims: dict[str, int], form: str) -> str:
    from tolcost.execute.circuit import circuit_of
    from tolcost.result.circuits import circuit_dot, circuit_json

    program = lowered(file, request)
    warn(program)
    circuit = with_deep_stack(lambda: circuit_of(program.program, dims))
    return circuit_json(circuit) if form == "json" else circuit_dot(circuit)


def _unrolled(program: Program, dims: dict[str, int]) -> str:
    from tolcost.atoms.text import unrolled_text
    from tolcost.atoms.unroll import unroll

    return with_deep_stack(lambda: unrolled_text(unroll(program, dims)))


# ---- a syntax tree as an outline: one node a line, with what it holds below it -----------------


_LONGEST = 80


def tree_text(program: Module) -> str:
    """Give the outline of a program.  It goes as deep as the program does, without recursion."""
    lines: list[str] = []
    stack: list[tuple[int, str, object]] = [(0, "", s) for s in reversed(program.statements)]
    while stack:
        indent, role, node = stack.pop()
        scalars, children = _content(node)
        head = " ".join([type(node).__name__, *scalars])
        lines.append(f"{'  ' * indent}{role}{head}  {_where(node)}".rstrip())
        stack.extend((indent + 1, name, child) for name, child in reversed(children))
    return "\n".join(lines) + "\n"


def _content(node: object) -> tuple[list[str], list[tuple[str, object]]]:
    """Give the plain fields of a node as text, and its child nodes with their roles."""
    scalars: list[str] = []
    children: list[tuple[str, object]] = []
    for name in node.__struct_fields__ if isinstance(node, Struct) else ():
        if name not in ("span", "comments"):
            _sort_in(name, getattr(node, name), scalars, children)
    return scalars, children


def _sort_in(name: str, value: object, scalars: list[str], children: list[tuple[str, object]]) -> None:
    if isinstance(value, Struct) and not isinstance(value, Comment):
        children.append((f"{name}: ", value))
    elif isinstance(value, tuple) and any(isinstance(item, (Struct, tuple)) for item in value):
        for item in value:
            pair = item if isinstance(item, tuple) else (None, item)
            label = "" if pair[0] is None else f"{visible(str(pair[0]))} "
            children.append((f"{name}: {label}", pair[-1]))
    elif value not in (None, False, ()):
        scalars.append(_scalar(name, value))


def _scalar(name: str, value: object) -> str:
    if value is True:
        return name
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    shown = visible(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
    return f"{name}=({shown})" if isinstance(value, tuple) else f"{name}={shown}"


def _where(node: object) -> str:
    span = getattr(node, "span", None)
    if not isinstance(span, Span):
        return ""
    found = place(span)
    return f"@{found.line}:{found.column}"


# ---- a circuit as a program again, or held to another ----------------------------------------


MOST_BYTES = 256 * 2**20


@click.command(
    cls=options.Command,
    examples=(
        "tolcost circuit product.json --output product.tol",
        "tolcost circuit product.json --same strassen.json",
    ),
)
@click.argument("file", metavar="FILE.json")
@click.option("--same", "other", metavar="OTHER.json",
              help="Whether both are the same polynomials, by points modulo random primes.")  # fmt: skip
@click.option("--trials", type=click.IntRange(1, 1000), show_default="8", help="How many points.")
@click.option("--seed", type=click.IntRange(0), show_default="another each time",
              help="Where the random points start.")  # fmt: skip
@options.output_option
def circuit(file: str, other: str | None, trials: int | None, seed: int | None, output: str | None) -> int:
    """Write a circuit as a program that costs the same, or compare it with another."""
    from tolcost.result.circuits import circuit_program
    from tolcost.result.identity import same_polynomials

    if other is None and (trials is not None or seed is not None):
        raise click.UsageError("--trials and --seed are for --same")
    first = _read(file)
    if other is None:
        deliver(circuit_program(first), output, "tol")
        return 0
    found = same_polynomials(first, _read(other), trials or 8, seed)
    deliver(_told(found) + "\n", output, "text")
    return 0 if found.differs is None else 1


def _read(file: str) -> Circuit:
    from tolcost.result.circuits import read_circuit

    try:
        if Path(file).stat().st_size > MOST_BYTES:
            refuse("T0685", f"{file} is larger than any circuit that is read")
        text = Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Rejected(Diagnostic("T0685", f"{file} cannot be read: {unreadable(error)}")) from None
    except UnicodeDecodeError:
        raise Rejected(Diagnostic("T0685", f"{file} is not UTF-8")) from None
    try:
        return read_circuit(text)
    except Rejected as rejected:
        (found, *_) = rejected.diagnostics
        raise Rejected(replace(found, message=f"{file}: {found.message}")) from None


def _told(found: Identity) -> str:
    names = "" if found.renamed is None else " ({} beside {})".format(*map(quoted, found.renamed))
    if found.differs is not None:
        at = "modulo a random prime" if found.witness is None else f"at {found.witness}"
        return f"not the same: {found.differs} differs {at}{names}"
    chance = _power_of_ten(found.error)
    opaque = f", and {found.opaque:,} converted or rounded values by their arguments" if found.opaque else ""
    return (
        f"the same at {found.trials} random points, each modulo a random prime of 62 bits{opaque}{names}: "
        f"with degrees of at most {found.degree:,}, different ones would agree "
        f"with probability {chance} at most"
    )


def _power_of_ten(chance: Fraction) -> str:
    """A power of ten that is no less, as a float may be 0."""
    if chance == 0:
        return "0"
    digits = len(str(chance.denominator // chance.numerator)) - 1
    return f"1e-{digits}" if digits else "1"
