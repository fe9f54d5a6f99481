"""The vectorised interpreter: whole coordinate grids at a time, counting as it runs.

It gives the values of the reference interpreter (exactly on integers and truths, and up to the
order of additions on floats) and the same counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tolcost.atoms.nodes import Program
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.inputs import Given, arrays_of, bind_lengths, check_conditions
from tolcost.execute.machine import Machine
from tolcost.execute.values import Execution, Output, as_output, check_size

DEFAULT_STEPS = 20_000_000


def run_vectorised(
    program: Program,
    inputs: Given,
    dims: Mapping[str, int] | None = None,
    max_steps: int = DEFAULT_STEPS,
) -> Execution:
    """Run a program over whole arrays.

    ``dims`` gives lengths by name that no input decides.  A run that would take too long
    stops with a diagnostic once it has spent ``max_steps``.
    """
    arrays = arrays_of(program, inputs)
    bindings = bind_lengths(program, arrays, dims)
    check_conditions(program.conditions, bindings)
    machine = Machine(program, arrays, bindings, max_steps)
    with np.errstate(all="ignore"):
        try:
            outputs = _outputs(machine)
        except RecursionError:
            raise Rejected(Diagnostic("T0521", "the program nests too deeply to be executed")) from None
        except MemoryError:
            raise Rejected(Diagnostic("T0520", "the run needs more memory than there is")) from None
    final = {symbol: value for symbol, value in machine.env.items() if symbol.kind != "coord"}
    check_conditions(program.conditions, final)
    return Execution(outputs, machine.tally.counts(), final)


def _outputs(machine: Machine) -> dict[str, Output]:
    values = machine.outputs()
    for value in values:
        machine.faults.check(value.pieces)
        for piece in value.pieces:
            check_size(piece.data.shape)
    return {
        output.name: as_output([np.array(piece.data, order="C") for piece in value.pieces])
        for output, value in zip(machine.program.outputs, values, strict=True)
    }
