"""``tolcost circuit``: a program as a circuit, a circuit as a program, and two circuits compared."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered, warn
from tolcost.cli.output import deliver
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, unreadable
from tolcost.platform import with_deep_stack

if TYPE_CHECKING:
    from tolcost.apps.circuits.circuit import Circuit
    from tolcost.apps.circuits.identity import Identity

MOST_BYTES = 256 * 2**20
_TRIALS = 8


@click.command(
    cls=options.Command,
    examples=(
        "tolcost circuit matmul.tol --dim n=2 --dim k=2 --dim m=2 --output product.json",
        "tolcost circuit horner.tol --dim n=3 --format dot",
        "tolcost circuit product.json --output product.tol",
        "tolcost circuit product.json --same strassen.json",
    ),
)
@click.argument("file", metavar="FILE.tol|FILE.json")
@click.option("--format", "form", type=click.Choice(["json", "dot", "tol"]),
              show_default="json of a program, tol of a circuit",
              help="JSON, a graph for Graphviz, or a program.")  # fmt: skip
@click.option("--same", "other", metavar="FILE",
              help="Test whether both compute the same polynomials.")  # fmt: skip
@click.option(
    "--trials", type=click.IntRange(1, 1000), show_default=str(_TRIALS), help="The number of random points."
)
@click.option("--seed", type=click.IntRange(0), show_default="another each time",
              help="The seed of the random points.")  # fmt: skip
@options.dim_option
@options.input_options
@options.output_option
def command(
    file: str,
    form: str | None,
    other: str | None,
    trials: int | None,
    seed: int | None,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    output: str | None,
) -> int:
    """Write a program as a circuit or a circuit as a program, or compare two.

    A circuit is a graph of functions, from elements of inputs to elements of outputs.  It is made from a
    program at the lengths given by --dim, or read from JSON that this command wrote.
    """
    if not any(map(_is_program, (file, other or file))):
        options.refuse(("dims", "shapes", "attrs", "specs"), "for programs: a file of JSON has its lengths")
    if other is None:
        options.refuse(("trials", "seed"), "for --same")
    else:
        options.refuse(("form",), "not for --same")
    lengths, request = options.read_dims(dims), Request.read(shapes, attrs, specs)
    first = _circuit(file, lengths, request)
    if other is None:
        form = form or ("json" if _is_program(file) else "tol")
        deliver(_written(first, form), output, form)
        return 0
    from tolcost.apps.circuits.identity import same_polynomials

    found = same_polynomials(first, _circuit(other, lengths, request), trials or _TRIALS, seed)
    deliver(_verdict(found) + "\n", output, "text")
    return 0 if found.differs is None else 1


def _is_program(file: str) -> bool:
    return file == "-" or file.endswith(".tol")


def _circuit(file: str, lengths: Mapping[str, int], request: Request) -> Circuit:
    """Read a circuit, or lower a program to one at the lengths."""
    if not _is_program(file):
        return _read(file)
    from tolcost.apps.circuits.circuit import circuit_of

    program = lowered(file, request)
    warn(program.warnings)
    return with_deep_stack(lambda: circuit_of(program.program, lengths))


def _read(file: str) -> Circuit:
    from tolcost.apps.circuits.files import read_circuit

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


def _written(circuit: Circuit, form: str) -> str:
    from tolcost.apps.circuits.files import circuit_dot, circuit_json, circuit_program

    return {"json": circuit_json, "dot": circuit_dot, "tol": circuit_program}[form](circuit)


def _verdict(found: Identity) -> str:
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
    """Return a power of ten that is no less: as a float, a small probability would be 0."""
    if chance == 0:
        return "0"
    digits = len(str(chance.denominator // chance.numerator)) - 1
    return f"1e-{digits}" if digits else "1"
