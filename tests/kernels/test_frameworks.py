"""Operators of PyTorch and TensorFlow against what both compute: ``reports/data/frameworks.json``."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.kernels.holding import outputs_of
from tolcost.cost import count
from tolcost.execute import run_vectorised
from tolcost.pipeline import lower, read_program
from tolcost.show.tables import csv_text, markdown
from tolcost.syntax import read_source
from tools.programs.road import lengths_of, same_counts
from tools.specs.record_frameworks import CASES, PROGRAMS, RECORD, called, calls, drawn_cases, program_texts
from tools.specs.report_frameworks import REPORT, tables

TEXTS = dict(program_texts())
FRAMEWORKS = ("torch", "tensorflow")


@cache
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_values_are_those_of_the_frameworks(name: str) -> None:
    program = lower(read_program(read_source(PROGRAMS / f"{name}.tol"))).program
    counts = count(program)
    symbols = {symbol.name for symbol in lengths_of(program)}
    for case in recorded()["programs"][name]:
        given = case["inputs"]
        dims = {key: value for key, value in given.items() if key in symbols}
        arrays = {needed.name: np.array(given[needed.name]) for needed in program.inputs}
        run = run_vectorised(program, arrays, dims)
        same_counts(counts, run, {key: value for key, value in dims.items() if key in symbols})
        outputs = outputs_of(run)
        for framework in FRAMEWORKS:
            if framework in case:
                rtol, atol = tolerances(name, framework)
                wanted = case[framework] if len(outputs) > 1 else [case[framework]]
                for found, expected in zip(outputs, wanted, strict=True):
                    one, other = (np.asarray(value, dtype=float) for value in (found, expected))
                    np.testing.assert_allclose(one, other, rtol, atol)


def tolerances(name: str, framework: str) -> tuple[float, float]:
    """How near values are: TensorFlow has some operators, and all attributes, in float32 alone."""
    if framework == "torch":
        return 1e-8, 1e-9
    single = any("f32" in call for call in calls(TEXTS[name], framework))
    return (2e-5, 1e-6) if single else (1e-7, 1e-8)


def test_the_record_is_of_these_programs_and_their_calls() -> None:
    """The inputs are drawn again; each program has a result of each framework that it names."""
    programs = recorded()["programs"]
    assert sorted(programs) == sorted(TEXTS)
    for name, text in TEXTS.items():
        assert json.dumps([case["inputs"] for case in programs[name]]) == json.dumps(drawn_cases(name, text))
        assert len(programs[name]) == CASES
        for framework in FRAMEWORKS:
            assert all((framework in case) == bool(calls(text, framework)) for case in programs[name]), name
        assert calls(text, "torch") or calls(text, "tensorflow")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_calls_name_operators_that_there_are(framework: str) -> None:
    known = recorded()["operators"][framework]
    for name, text in TEXTS.items():
        for call in calls(text, framework):
            assert called(call), name
            assert set(called(call)) <= set(known), call


def test_the_report_is_that_of_the_record() -> None:
    page, everything = tables()
    assert REPORT.read_text("utf-8") == markdown(page)
    assert REPORT.with_suffix(".csv").read_text("utf-8") == csv_text(everything)
