"""An empty vector of known elements stays known: shapes that it becomes part of are exact.

Exporters write such vectors: TorchScript for `pad`, `unflatten` and `chunk`, both for lengths before or
behind those that a layer changes.
"""

from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g (float[n, m] x) => (float[a, b] z) '
NONE = "int64[1] zero = {0}, int64[1] two = {2}, int64[1] far = {9}, int64[0] none = {}, int64 one = {1}"

EMPTY = {
    "a slice that ends where it starts": "part = Slice(lengths, zero, zero)",
    "a slice from behind the last": "part = Slice(lengths, two, far)",
    "a constant of an empty shape": "part = ConstantOfShape <value = int64[1] {1}> (zero)",
    "a constant of an empty shape that is computed": (
        "rank = Shape(lengths) left = Sub(rank, rank) part = ConstantOfShape <value = int64[1] {1}> (left)"
    ),
    "an expansion to nothing": "part = Expand(one, zero)",
    "a tile of nothing": "part = Tile(lengths, zero)",
    "a gather of nothing": "part = Gather(lengths, none)",
    "arithmetic": "part = Mul(none, one)",
    "a negation": "part = Neg(none)",
    "a range": "from = Constant <value_int = 3> () part = Range(from, from, one)",
    "a transpose": "part = Transpose(none)",
    "a choice": "flags = Cast <to = 9> (none) part = Where(flags, one, one)",
    "two dimensions, one of them empty": (
        "wide = Constant <value_ints = [0, 2]> () table = ConstantOfShape <value = int64[1] {1}> (wide) "
        "turned = Transpose <perm = [1, 0]> (table) part = Reshape <allowzero = 1> (turned, zero)"
    ),
    "the places of what is not 0": (
        "places = NonZero(none) open = Constant <value_ints = [-1]> () part = Reshape(places, open)"
    ),
}


def load(folder: Path, text: str) -> tolcost.Cost:
    file = folder / "m.onnx"
    file.write_bytes(parse_model(HEAD + text).SerializeToString())
    return tolcost.load_model(file)


@pytest.mark.parametrize("made", EMPTY.values(), ids=list(EMPTY))
@pytest.mark.parametrize("order", ["part, lengths", "lengths, part"])
def test_a_concat_with_an_empty_vector_is_exact(tmp_path: Path, made: str, order: str) -> None:
    nodes = f"lengths = Shape(x) {made} whole = Concat <axis = 0> ({order}) z = Expand(x, whole)"
    cost = load(tmp_path, f"<{NONE}> {{ {nodes} }}")
    assert cost.status == "exact"
    assert set(cost.symbols) == {"n", "m"}


def test_the_pads_that_torchscript_writes_are_exact(tmp_path: Path) -> None:
    """It appends as many zeros as there are dimensions that are not padded: none of two."""
    text = """<int64[4] pads = {0, 1, 2, 3}, int64[1] zero = {0}, int64[2] pairs = {-1, 2},
        int64[1] last = {-1}, int64[1] least = {-9223372036854775807}> {
        zeros = ConstantOfShape <value = int64[1] {0}> (zero)
        all = Concat <axis = 0> (pads, zeros)
        rows = Reshape(all, pairs)
        back = Slice(rows, last, least, zero, last)
        columns = Transpose <perm = [1, 0]> (back)
        flat = Reshape(columns, last)
        told = Cast <to = 7> (flat)
        z = Pad(x, told)
    }"""
    cost = load(tmp_path, text)
    assert cost.status == "exact"
    assert cost({"n": 10, "m": 20}).model_bytes == 4 * (10 * 20 + 15 * 21)
