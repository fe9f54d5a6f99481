"""Running a program both ways and holding the results against each other."""

from __future__ import annotations

import numpy as np

from tolcost.atoms.nodes import Program
from tolcost.execute import Execution, run_reference, run_vectorised


def same_both_ways(
    program: Program, inputs: dict, dims: dict | None = None, rtol: float = 1e-12
) -> Execution:
    slow = run_reference(program, inputs, dims)
    fast = run_vectorised(program, inputs, dims)
    assert fast.counts == slow.counts
    assert fast.bindings == slow.bindings
    assert fast.outputs.keys() == slow.outputs.keys()
    for name, expected in slow.outputs.items():
        found = fast.outputs[name]
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in pairs:
            assert_same(a, b, rtol)
    return fast


def assert_same(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if found.dtype.kind in "biuO":
        assert np.array_equal(found, expected)
    elif found.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=rtol
        )
