"""The operators of Haskell's base and vector against what GHC computes: ``reports/data/haskell.json``."""

from __future__ import annotations

import csv
from functools import cache
from typing import Any

import numpy as np
import pytest

from tolcost.catalogue.listing import read_library
from tolcost.cost import count
from tools.programs.road import same_counts
from tools.specs.record_haskell import CASES, read_programs
from tools.specs.report_haskell import REPORT, lowered, recorded, row_of, run_cases

PROGRAMS = sorted(program.name for program in read_library("haskell").programs)


@cache
def reported() -> dict[str, dict[str, str]]:
    """Read the rows of the report by the paths of their programs."""
    with REPORT.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {row["haskell"]: row for row in csv.DictReader(file)}


def same(found: Any, expected: Any) -> bool:
    """Compare a value with a recorded one; lists of no entries have no shape in the record."""
    one, other = (np.asarray(value, dtype=object).astype(np.int64) for value in (found, expected))
    return one.size == other.size == 0 or np.array_equal(one, other)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_ghc_and_counts_those_reported(name: str) -> None:
    runs = run_cases(name)
    for one in runs:
        outputs = list(one.run.outputs.values())
        wanted = one.case["outputs"] if len(outputs) > 1 else [one.case["outputs"]]
        assert len(outputs) == len(wanted)
        assert all(map(same, outputs, wanted)), (one.case, outputs)
        same_counts(count(lowered(name)), one.run, one.dims)
    row = reported()[recorded()[name]["haskell"]]
    form, ours, ghc = (row_of(name, runs)[at] for at in (3, 5, 6))
    assert (row["eops"], row["ours"], row["ghc"]) == (str(form), str(ours), str(ghc))


def test_the_record_has_every_program_with_its_expression() -> None:
    programs = {program.name: program for program in read_programs()}
    assert sorted(programs) == PROGRAMS == sorted(recorded())
    for name, program in programs.items():
        assert recorded()[name]["haskell"] == program.haskell
        assert len(recorded()[name]["cases"]) == CASES == read_library("haskell").find(name).inputs


def test_recorded_cases_tell_programs_apart() -> None:
    """A record proves little where all outputs are alike: nearly every program gives several."""
    outputs = {name: {str(case["outputs"]) for case in found["cases"]} for name, found in recorded().items()}
    assert all(len(different) > 1 for different in outputs.values())
    assert sum(len(different) >= 5 for different in outputs.values()) >= 90
