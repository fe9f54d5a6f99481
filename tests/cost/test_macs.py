"""Multiply–accumulates: closed forms beside products that are followed through a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cost.brute_macs import hold_macs
from tolcost.diagnostics import Rejected
from tools.generate.loops import loop_program
from tools.generate.programs import Case, generate
from tools.programs.road import lengths_of, lowered

PROGRAMS = 120
"""A slice; those of ``specs/`` are held in ``test_second_opinion.py``."""


@pytest.mark.parametrize("make", [generate, loop_program])
def test_random_programs(make: Callable[[int], Case]) -> None:
    found = []
    for seed in range(PROGRAMS):
        case = make(seed)
        try:
            program = lowered(case.text).program
        except Rejected:
            continue
        point = case.points[-1]
        found.append(hold_macs(program, {symbol: point[symbol.name] for symbol in lengths_of(program)}))
    assert found.count(True) >= 5
    assert len(found) - found.count(None) > 0.7 * PROGRAMS
