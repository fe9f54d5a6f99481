"""Random programs: a derivative is refused with its reason, or right at two points."""

import numpy as np
import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.execute.inputs import random_arrays
from tolcost.pipeline import lower, read_program
from tools.generate.programs import generate
from tools.gradient.products import Outcome, check, derived

SEEDS = 30


def outcome_of(seed: int) -> Outcome | None:
    """What a check of a random program finds; None where there is no derivative, or no point."""
    case = generate(seed)
    program = lower(read_program(Source(f"{seed}.tol", case.text))).program
    try:
        made = derived(program)
    except Rejected as rejected:
        is_known = rejected.diagnostics[0].code.startswith("T09")
        return None if is_known else Outcome(f"{rejected}: {case.text}")
    rng = np.random.default_rng(seed)
    found = None
    for lengths in case.points:
        dims = {symbol.name: lengths[symbol.name] for symbol in program.symbols if symbol.name in lengths}
        try:
            drawn = random_arrays(program, {}, dims, seed)
            arrays = {
                name: tuple(a + rng.uniform(0.1, 0.4, a.shape) if a.dtype.kind == "f" else a for a in values)
                for name, values in drawn.items()
            }
            found = check(program, arrays, dims, made=made)
        except Rejected:
            continue  # a length that the program does not admit
        if found.problem is not None:
            return found
    return found


@pytest.mark.parametrize("start", range(0, SEEDS, 10))
def test_random_programs(start: int) -> None:
    found = [outcome_of(seed) for seed in range(start, start + 10)]
    assert [one.problem for one in found if one is not None and one.problem] == []
    assert any(found)
