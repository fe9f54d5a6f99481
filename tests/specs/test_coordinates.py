"""Operators that look where data says: what they cost does not depend on lengths being the same by chance."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

import tolcost

GRID = '<mode = "{}", padding_mode = "{}"> (x, p)'
CASES = {
    "GatherND": ("float[{0}] x, int64[6, 2] p", "GatherND(x, p)"),
    "ScatterND": ("float[{0}] x, int64[6, 2] p, float[6] u", "ScatterND(x, p, u)"),
    "DeformConv": (
        "float[1, 1, {0}] x, float[1, 1, 1, 1] w, float[1, 2, {0}] p",
        "DeformConv <pads = [0, 0, 0, 0]> (x, w, p)",
    ),
    **{
        f"GridSample {mode} {padding}": (
            "float[1, 3, {0}] x, float[1, 5, 6, 2] p",
            f"GridSample {GRID.format(mode, padding)}",
        )
        for mode in ("nearest", "linear", "cubic")
        for padding in ("zeros", "border", "reflection")
    },
}


def figures(inputs: str, node: str, lengths: str, **dims: int) -> tuple[object, ...]:
    given = inputs.format(lengths)
    text = f'<ir_version: 9, opset_import: ["": 20]> g ({given}) => (float[] y) {{ y = {node} }}'
    found = tolcost.from_onnx(parse_model(text))(dims)
    return found.eops, sum(found.index.values()), found.bytes


@pytest.mark.parametrize("inputs, node", CASES.values(), ids=CASES)
def test_a_square_costs_what_it_does_among_all_rectangles(inputs: str, node: str) -> None:
    assert figures(inputs, node, "4, 4") == figures(inputs, node, "h, w", h=4, w=4)
    assert figures(inputs, node, "h, h", h=4) == figures(inputs, node, "h, w", h=4, w=4)


def test_one_dimension_is_looked_up_as_two_are() -> None:
    one = figures("float[4] x, int64[6, 1] p", "GatherND(x, p)", "")
    two = figures("float[4, 5] x, int64[6, 2] p", "GatherND(x, p)", "")
    assert (one[:2], two[:2]) == ((0, 12), (0, 24))
