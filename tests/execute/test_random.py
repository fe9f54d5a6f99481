"""Random programs: the fast interpreter agrees with the plain one, in values and all counts."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execute.compare import assert_same
from tests.execute.random_ir import Gen
from tolcost.diagnostics import Rejected
from tolcost.execute import run_reference, run_vectorised


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, m, k = (int(v) for v in rng.integers(1, 5, size=3))
    return {
        "x": rng.integers(-4, 5, size=(n, m)) / 4,
        "z": rng.integers(-5, 9, size=n),
        "s": rng.integers(-128, 128, size=(m, n)).astype(np.int8),
        "b": rng.integers(0, 2, size=m).astype(bool),
        "at": rng.integers(-3, 9, size=k),
        "f": (rng.integers(-4, 5, size=(k, n)) / 4).astype(np.float32),
    }


def outcome(run, program, values):
    try:
        return run(program, values, max_steps=200_000)
    except Rejected as error:
        return {d.code for d in error.diagnostics}


def agree(seed: int, faults: bool) -> str:
    program = Gen(Random(seed), faults).program()
    values = inputs(seed)
    slow = outcome(run_reference, program, values)
    if slow == {"T0520"}:
        return "large"
    fast = outcome(run_vectorised, program, values)
    if isinstance(slow, set) or isinstance(fast, set):
        assert slow == fast
        return "rejected"
    assert fast.counts == slow.counts
    for name, expected in slow.outputs.items():
        assert_close(fast.outputs[name], expected)
    return "ran"


def assert_close(found, expected):
    if expected.dtype.kind != "f":
        assert_same(found, expected, 0)
        return
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    single = expected.dtype == np.float32
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    np.testing.assert_allclose(
        found, expected, rtol=1e-3 if single else 1e-9, atol=scale * (1e-4 if single else 1e-9)
    )


@given(st.integers(0, 2**40))
@settings(max_examples=180)
def test_interpreters_agree(seed):
    agree(seed, faults=False)


@given(st.integers(0, 2**40))
@settings(max_examples=120)
def test_interpreters_agree_on_faults(seed):
    agree(seed, faults=True)


def test_most_random_programs_run():
    results = [agree(seed, faults=False) for seed in range(40)]
    assert results.count("ran") > 30
