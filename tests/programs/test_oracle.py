"""Random programs, read twice: the compiler's values and shapes are those of the oracle."""

from __future__ import annotations

import pytest

from tests.generate.programs import generate
from tests.programs.oracle_values import Unknown
from tests.programs.road import Mismatch
from tests.programs.second import read_twice
from tolcost.diagnostics import Rejected

BATCH = 100
BATCHES = 4
"""A slice: ``make soak`` reads all of its programs twice."""
FIRST = 1_000_000


@pytest.mark.parametrize("number", range(BATCHES))
def test_both_readings_agree(number: int) -> None:
    same, done = 0, 0
    for seed in range(FIRST + number * BATCH, FIRST + (number + 1) * BATCH):
        case = generate(seed)
        try:
            same += read_twice(case.text, case.points[0], seed)
        except (Rejected, Unknown):
            continue
        except Mismatch as broken:
            raise Mismatch(f"seed {seed}: {broken}") from None
        done += 1
    assert done >= 0.85 * BATCH
    assert same >= 0.75 * done
