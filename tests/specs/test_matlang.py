"""MATLANG in ToLang held to NumPy, on random matrices of one row and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.specs.library_programs import Array, ready
from tolcost.catalogue.libraries import read_library

TRIALS = 100
COUNTED = 4
Draw = Callable[..., Array]


def real(draw: np.random.Generator, *shape: int) -> Array:
    return draw.uniform(-2, 2, shape)


def square(draw: np.random.Generator, n: int) -> dict[str, Array]:
    return {"a": real(draw, n, n)}


def regular(draw: np.random.Generator, n: int) -> dict[str, Array]:
    """Far enough from singular, with all leading minors, too."""
    return {"a": real(draw, n, n) + 5 * np.eye(n) * draw.choice([-1, 1])}


def graph(draw: np.random.Generator, n: int) -> dict[str, Array]:
    return {"a": (draw.uniform(size=(n, n)) < 0.3).astype(float)}


def matrices(*names: str) -> Callable[[np.random.Generator, int], dict[str, Array]]:
    def drawn(draw: np.random.Generator, n: int) -> dict[str, Array]:
        m = int(draw.integers(1, 5))
        return {name: real(draw, n, m) for name in names}

    return drawn


def factors(draw: np.random.Generator, n: int) -> dict[str, Array]:
    k, m = map(int, draw.integers(1, 5, 2))
    return {"a": real(draw, n, k), "b": real(draw, k, m)}


def closure(a: Array) -> Array:
    """Whether there is a path, by squaring."""
    reach = a > 0
    for _ in range(len(a)):
        reach = reach | (reach @ reach)
    return reach.astype(float)


CASES: dict[str, tuple[Callable[..., dict[str, Array]], Callable[..., Any]]] = {
    "Variable": (matrices("a"), lambda a: a),
    "Transpose": (matrices("a"), lambda a: a.T),
    "OneVector": (matrices("a"), lambda a: np.ones((len(a), 1))),
    "Diag": (lambda draw, n: {"v": real(draw, n, 1)}, lambda v: np.diag(v[:, 0])),
    "Product": (factors, lambda a, b: a @ b),
    "Sum": (matrices("a", "b"), lambda a, b: a + b),
    "Scale": (lambda draw, n: {"c": real(draw, 1, 1), "a": real(draw, n, 3)}, lambda c, a: c * a),
    "Apply": (matrices("a", "b"), lambda a, b: a / (1 + b * b)),
    "Identity": (square, lambda a: np.eye(len(a))),
    "Trace": (square, lambda a: np.trace(a).reshape(1, 1)),
    "Power": (square, lambda a: np.linalg.matrix_power(a, len(a))),
    "TransitiveClosure": (graph, closure),
    "Determinant": (regular, lambda a: np.linalg.det(a).reshape(1, 1)),
    "Inverse": (regular, np.linalg.inv),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    drawn, expected = CASES[name]
    program, draw = ready("matlang", name), np.random.default_rng(7)
    for trial in range(TRIALS):
        given = drawn(draw, 1 if trial < 5 else int(draw.integers(1, 4)))
        found = program.result(given, counted=trial < COUNTED)
        np.testing.assert_allclose(found, expected(**given), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_matrices_without_rows(name: str) -> None:
    drawn, expected = CASES[name]
    given = drawn(np.random.default_rng(9), 0)
    found = ready("matlang", name, empty=True).result(given, counted=True)
    np.testing.assert_allclose(found, expected(**given), rtol=1e-8)


def test_lu_multiplies_back_to_the_matrix() -> None:
    program, draw = ready("matlang", "LU"), np.random.default_rng(8)
    for trial in range(TRIALS):
        given = regular(draw, 1 if trial < 5 else int(draw.integers(1, 5)))
        found = program.run(given, counted=trial < COUNTED)
        lower, upper = found["l"], found["u"]
        np.testing.assert_allclose(lower @ upper, given["a"], atol=1e-9)
        np.testing.assert_allclose(lower, np.tril(lower), atol=1e-9)
        np.testing.assert_allclose(upper, np.triu(upper), atol=1e-9)
        np.testing.assert_array_equal(np.diag(lower), 1)


def test_every_program_is_tested() -> None:
    assert {program.name for program in read_library("matlang").programs} == {*CASES, "LU"}
