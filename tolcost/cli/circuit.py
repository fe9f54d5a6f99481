"""``tolcost circuit``: what `tolcost lower --circuit json` wrote, as a program again, or held to another."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import deliver
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.circuit import Circuit
from tolcost.result.circuit_files import circuit_program, read_circuit
from tolcost.result.circuit_identity import Identity, same_polynomials

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
              help="Whether both are the same polynomials, by random points of a field.")  # fmt: skip
@click.option("--trials", type=click.IntRange(1, 1000), default=8, show_default=True, help="How many points.")
@click.option("--seed", type=int, default=0, show_default=True, help="Where the random points start.")
@options.output_option
def command(file: str, other: str | None, trials: int, seed: int, output: str | None) -> int:
    """Write a circuit as a program that costs the same, or compare it with another."""
    circuit = _read(file)
    if other is None:
        deliver(circuit_program(circuit), output)
        return 0
    found = same_polynomials(circuit, _read(other), trials, seed)
    deliver(_told(found) + "\n", output)
    return 0 if found.differs is None else 1


def _read(file: str) -> Circuit:
    try:
        if Path(file).stat().st_size > MOST_BYTES:
            raise Rejected(Diagnostic("T0685", f"{file} is larger than any circuit that is read"))
        return read_circuit(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise Rejected(Diagnostic("T0685", f"{file} cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise Rejected(Diagnostic("T0685", f"{file} is not UTF-8")) from None


def _told(found: Identity) -> str:
    if found.differs is not None:
        return f"not the same: {found.differs} differs"
    chance = f"{float(found.error):.1e}" if found.error else "0"
    return (
        f"the same at {found.trials} random points of a field of 2^61 - 1 elements "
        f"(degree at most {found.degree:,}: different ones would agree with probability {chance} at most)"
    )
