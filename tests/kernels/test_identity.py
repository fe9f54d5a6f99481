"""Circuits are the same, or not: in either order, for all inputs, conversions and constants."""

from __future__ import annotations

import pytest

from tolcost.apps.circuits.circuit import Circuit, circuit_of
from tolcost.apps.circuits.identity import Identity, same_polynomials
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import lower, read_program
from tools.circuit_pairs import campaign

SEED = 5


def circuit(text: str, **dims: int) -> Circuit:
    return circuit_of(lower(read_program(Source("p.tol", text))).program, dims)


def compared(one: str, other: str, inputs: str = "tol x: Z [2]") -> tuple[Identity, Identity]:
    first, second = (circuit(f"{inputs}\ny := {text}\n") for text in (one, other))
    return same_polynomials(first, second, seed=SEED), same_polynomials(second, first, seed=SEED)


@pytest.mark.parametrize("start", [1, 100_000])
def test_pairs_that_differ_in_one_thing_are_told_apart(start: int) -> None:
    outcome = campaign(24, start)
    assert not outcome.failures, outcome.failures[0]
    assert not any("refused" in end for end in outcome.ends)


@pytest.mark.parametrize(
    "one, other, inputs",
    [
        ("x[1] * 2", "x[1] * 2 + x[2]", "tol x: Z [2]"),  # inputs that only one reads were 0
        ("convert(convert(x[1], B), R) * 1", "x[1] * 1", "tol x: R [2]"),
        ("convert(convert(x[1], float16), R) * 1", "x[1] * 1", "tol x: R [2]"),
        ("convert(convert(x[1], float32), R) * 1", "convert(convert(x[1], float16), R) * 1", "tol x: R [2]"),
        ("convert(convert(x[1], int8), Z) * 1", "x[1] * 1", "tol x: Z [2]"),
        ("x[1] * 2305843009213693951", "x[1] * 0", "tol x: Z [2]"),  # the prime that there was
        ("x[1] + 2305843009213693951 * x[2]", "x[1] + 0 * x[2]", "tol x: Z [2]"),
        ("x[1] * 0.1", "x[1] * 0.1000000000000001", "tol x: R [2]"),
    ],
)
def test_what_was_the_same_is_not(one: str, other: str, inputs: str) -> None:
    for found in compared(one, other, inputs):
        assert found.differs == "y, element 1"
        assert found.witness is not None


@pytest.mark.parametrize(
    "one, other, inputs",
    [
        ("sqr(x[1] + x[2])", "x[1] * x[1] + 2 * x[2] * x[1] + sqr(x[2])", "tol x: R [2]"),
        ("convert(x[1], R) * 2", "x[1] + x[1]", "tol x: R [2]"),
        ("x[1] / x[2] + 1", "(x[1] + x[2]) / x[2]", "tol x: R [2]"),
        (
            "convert(convert(x[1] + x[2], float16), R) + x[1]",
            "x[1] + convert(convert(x[2] + x[1], float16), R)",
            "tol x: R [2]",
        ),
        ("x[1] * x[2]", "x[2] * x[1]", "tol x: float32 [2]"),
    ],
)
def test_what_is_the_same(one: str, other: str, inputs: str) -> None:
    for found in compared(one, other, inputs):
        assert found.differs is None
        assert found.error < 1e-100


def test_no_point_and_no_proof_is_refused() -> None:
    """Rounding twice gives what rounding once gives, which is not known here."""
    with pytest.raises(Rejected, match="may differ, but no point was found"):
        compared(
            "convert(convert(convert(x[1], float16), float32), R) * 1",
            "convert(convert(x[1], float16), R) * 1",
            "tol x: R [2]",
        )


def test_outputs_are_compared_by_name() -> None:
    one = circuit("tol x: R [2]\ny := x[1] * 2\nz := x[2] * 3\n")
    turned = circuit("tol x: R [2]\nz := x[2] + 2 * x[2]\ny := x[1] + x[1]\n")
    assert same_polynomials(one, turned).differs is None
    renamed = circuit("tol x: R [2]\nz := x[1] * 2\ny := x[2] * 3\n")
    assert same_polynomials(one, renamed, seed=SEED).differs == "y, element 1"
    with pytest.raises(Rejected, match="do not have the same outputs: `y`, `z`, and `y`, `w`"):
        same_polynomials(one, circuit("tol x: R [2]\ny := x[1] * 2\nw := x[2] * 3\n"))
    alone, other = (circuit(f"tol x: R [2]\n{name} := x[1] * 2\n") for name in "yw")
    assert same_polynomials(alone, other).renamed == ("y", "w")


def test_inputs_of_another_space_are_other_inputs() -> None:
    one, other = (circuit(f"tol x: {space} [2]\ny := x[1] * 2\n") for space in "ZR")
    with pytest.raises(Rejected, match="do not have the same inputs"):
        same_polynomials(one, other)


def test_a_bound_that_says_nothing_is_refused() -> None:
    """The degree is 2^70, more than there are numbers in a field."""
    text = "tol x: R\ny := reduce(tol[70], (s, z) => s * s, x)\n"
    with pytest.raises(Rejected, match="too large to be compared"):
        same_polynomials(circuit(text), circuit(text))
