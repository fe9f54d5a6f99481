"""Values on the command line: every value has one meaning, and nothing else gets through."""

import shlex
from contextlib import suppress
from fractions import Fraction

import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tolcost.cli import run
from tolcost.cli.options import read_dims, read_shapes
from tolcost.execute.inputs import nested_array
from tolcost.literals import Literal, NoLiteralError, literal_text, read_literal
from tolcost.result.instances import OperatorInstance, command_of


@pytest.mark.parametrize(
    "text, value",
    [
        ("3", 3),
        ("-3", -3),
        ("0.1", Fraction(1, 10)),
        ("1e-5", Fraction(1, 100000)),
        (".5", Fraction(1, 2)),
        ("true", True),
        ("false", False),
        ("linear", "linear"),
        ("align_corners", "align_corners"),
        ('"3"', "3"),
        ("'it\\'s'", "it's"),
        ("[]", ()),
        ("[1]", (1,)),
        (" [ 1 , [2, -3] ] ", (1, (2, -3))),
        ("inf", float("inf")),
        ("-Inf", float("-inf")),
    ],
)
def test_values(text: str, value: Literal) -> None:
    found = read_literal(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["-0.0", "-0.", "-0e3", "[-.0]"])
def test_a_zero_keeps_its_sign(text: str) -> None:
    assert np.signbit(nested_array(read_literal(text), "x")).all()


@pytest.mark.parametrize(
    "text",
    ["", "[", "]", "[1", "1]", "[1,]", "[,1]", "1 2", "[1 2]", "1..2", "0x10", "()", "{}", "a b", "1e99999",
     "'", "__import__('os')", "[" * 40 + "]" * 40, "9" * 2000, "1;2", "lambda: 1", "=1"],
)  # fmt: skip
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(NoLiteralError):
        read_literal(text)


scalars = st.one_of(st.booleans(), st.integers(), st.text(max_size=8))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=12)


@given(values)
def test_what_is_written_is_read_back(value: Literal) -> None:
    assert read_literal(literal_text(value)) == value


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with suppress(NoLiteralError):
        read_literal(text)


def test_dims_and_shapes() -> None:
    assert read_dims(["n=1_000", " k = 2"]) == {"n": 1000, "k": 2}
    assert read_shapes(["x=n, 4", "x=[m]", "y="]) == {"x": [["n", 4], ["m"]], "y": [[]]}
    for wrong in (["n=1.5"], ["=3"], ["n"], ["n=1", "n=2"], ["n=" + "9" * 40]):
        with pytest.raises(click.UsageError):
            read_dims(wrong)


def test_a_command_of_a_report_can_be_typed() -> None:
    """An equation was written without quotation marks, and could not be read."""
    instance = OperatorInstance("Einsum", {"Inputs": (("m", "k"), ("k", "n"))}, {"equation": "ij,jk->ik"})
    arguments = shlex.split(command_of(instance))
    assert run(arguments[1:]) == 0
