"""MATLANG in ToLang held to NumPy, on random matrices of one row and more, and of none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.holding import Change, Inputs, Twin, hold, unchanged
from tolcost.catalogue.listing import read_library
from tools.specs.library_programs import Array


def regular(given: Inputs, rng: np.random.Generator) -> Inputs:
    """Far enough from singular, with all leading minors, too."""
    a = np.clip(given["a"], -2, 2)
    return {"a": a + 5 * np.eye(len(a)) * rng.choice([-1, 1])}


def graph(given: Inputs, rng: np.random.Generator) -> Inputs:
    return {"a": (rng.uniform(size=given["a"].shape) < 0.3).astype(float)}


def closure(a: Array) -> Array:
    """Whether there is a path, by squaring."""
    reach = a > 0
    for _ in range(len(a)):
        reach = reach | (reach @ reach)
    return reach.astype(float)


def factors(a: Array) -> tuple[Array, Array]:
    """A unit lower triangle and an upper one, row by row."""
    lower, upper = np.eye(len(a)), a.copy()
    for k in range(len(a)):
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k]
        upper[k + 1 :] -= np.outer(lower[k + 1 :, k], upper[k])
    return lower, np.triu(upper)


CASES: dict[str, tuple[Twin, Change]] = {
    "Variable": (lambda a: a, unchanged),
    "Transpose": (lambda a: a.T, unchanged),
    "OneVector": (lambda a: np.ones((len(a), 1)), unchanged),
    "Diag": (lambda v: np.diag(v[:, 0]), unchanged),
    "Product": (lambda a, b: a @ b, unchanged),
    "Sum": (lambda a, b: a + b, unchanged),
    "Scale": (lambda c, a: c * a, unchanged),
    "Apply": (lambda a, b: a / (1 + b * b), unchanged),
    "Identity": (lambda a: np.eye(len(a)), unchanged),
    "Trace": (lambda a: np.trace(a).reshape(1, 1), unchanged),
    "Power": (lambda a: np.linalg.matrix_power(a, len(a)), unchanged),
    "TransitiveClosure": (closure, graph),
    "Determinant": (lambda a: np.linalg.det(a).reshape(1, 1), regular),
    "Inverse": (lambda a: np.linalg.inv(a), regular),
    "LU": (factors, regular),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    twin, change = CASES[name]
    hold(f"matlang/{name}", twin, change)


def test_lu_multiplies_back_to_the_matrix() -> None:
    lower, upper = factors(np.array([[2.0, 1.0], [6.0, 8.0]]))
    np.testing.assert_array_equal(lower @ upper, [[2, 1], [6, 8]])


def test_every_program_is_tested() -> None:
    assert {program.name for program in read_library("matlang").programs} == set(CASES)
