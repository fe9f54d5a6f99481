"""A MAC is a product that is added up, whoever adds it: the definition in docs/cost.md."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost import Cost

OPSETS = '"" : 18, "com.microsoft" : 1, "own" : 1'
HEAD = f"<ir_version: 10, opset_import: [{OPSETS}]> g "
ROWS = "(float[n, k] a, float[k, m] b) => (float[n, m] y)"
SLICES = "(float[n, m] s, float[k, n, 1] a, float[k, 1, m] b) => (float[n, m] y)"
AXES = "one = Constant <value = int64[1] {1}> () two = Constant <value = int64[1] {2}> ()"
EACH = f"{AXES} c = Unsqueeze(a, two) p = Mul(c, b)"
STEP = "p = Mul(x, w) t1 = Add(t, p)"


def cost_of(text: str) -> Cost:
    return tolcost.from_onnx(parse_model(HEAD + text))


PRODUCTS = {
    "MatMul": f"{ROWS} {{ y = MatMul(a, b) }}",
    "Gemm": f"{ROWS} {{ y = Gemm(a, b) }}",
    "FusedMatMul": f"{ROWS} {{ y = com.microsoft.FusedMatMul <alpha = 0.5> (a, b) }}",
    "Einsum": f'{ROWS} {{ y = Einsum <equation = "ik,kj->ij"> (a, b) }}',
    "Mul, ReduceSum": f"{ROWS} {{ {EACH} y = ReduceSum <keepdims = 0> (p, one) }}",
    "Mul, moved, ReduceMean": f"""{ROWS} {{ {EACH} q = Cast <to = 11> (p) r = Transpose <perm = [0, 2, 1]> (q)
        z = ReduceMean <keepdims = 0> (r, two) y = Cast <to = 1> (z) }}""",
    "Mul, Concat, ReduceSum": f"""{ROWS} {{ {EACH} q = Concat <axis = 1> (p, p)
        y = ReduceSum <keepdims = 0> (q, one) }}""",
    "Scan": f"""{SLICES} {{ y = Scan <num_scan_inputs = 2, body = f
        (float[n, m] t, float[n, 1] x, float[1, m] w) => (float[n, m] t1) {{ {STEP} }}> (s, a, b) }}""",
    "Loop": f"""{SLICES} {{ at = Constant <value = int64 {{0}}> () d = Shape(a) often = Gather(d, at)
        y = Loop <body = f (int64 i, bool c, float[n, m] t) => (bool e, float[n, m] t1)
        {{ e = Identity(c) x = Gather(a, i) w = Gather(b, i) {STEP} }}> (often, , s) }}""",
    "in a function": f"""{ROWS} {{ y = own.product(a, b) }}
        <domain: "own", opset_import: ["" : 18]> product (a, b) => (y)
        {{ {EACH} y = ReduceSum <keepdims = 0> (p, one) }}""",
}


@pytest.mark.parametrize("text", PRODUCTS.values(), ids=PRODUCTS.keys())
def test_a_matrix_product_however_it_is_written(text: str) -> None:
    assert str(cost_of(text).macs) == "k*m*n"


def test_products_count_where_they_are_summed_and_nowhere_else() -> None:
    """Of two equal nodes, one is summed; lengths that are numbers share one scheme."""
    text = """(float[n, 8] a, float[n, 8] b, float[n, 9] c) => (float[n] y, float[n, 8] z, float[n] u) {
        one = Constant <value = int64[1] {1}> ()
        p = Mul(a, b) y = ReduceSum <keepdims = 0> (p, one)
        z = Mul(a, b)
        q = Mul(c, c) r = Mul(c, q) u = ReduceSum <keepdims = 0> (r, one) }"""
    cost = cost_of(text)
    assert str(cost.macs) == "17*n"
    by = cost.by("node")
    assert [str(form) for form in by["macs"]][1:4] == ["8*n", "0", "0"]


def test_products_of_nodes_at_numbers_are_numbers() -> None:
    """Nodes alike but for their lengths, all of them numbers, share a scheme; their MACs are numbers, too."""
    text = """(float[3, 5] a, float[3, 5] b, float[4, 7] c, float[4, 7] d) => (float[3] y, float[4] z) {
        one = Constant <value = int64[1] {1}> ()
        p = Mul(a, b) y = ReduceSum <keepdims = 0> (p, one)
        q = Mul(c, d) z = ReduceSum <keepdims = 0> (q, one) }"""
    assert cost_of(text).macs == 3 * 5 + 4 * 7


NONE = {
    "a square": "p = Mul(a, a) y = ReduceSum <keepdims = 0> (p, one)",
    "a power": "p = Pow(a, e) y = ReduceSum <keepdims = 0> (p, one)",
    "a sum of squares": "y = ReduceSumSquare <keepdims = 0> (a, one)",
    "a function of a product": "p = Mul(a, b) q = Exp(p) y = ReduceSum <keepdims = 0> (q, one)",
    "a scale": "p = Mul(a, e) y = ReduceSum <keepdims = 0> (p, one)",
    "a maximum": "p = Mul(a, b) y = ReduceMax <keepdims = 0> (p, one)",
    "a sum that is added up": "p = Mul(a, b) q = Add(p, a) y = ReduceSum <keepdims = 0> (q, one)",
    "added once": "p = Mul(a, b) q = Add(p, a) y = ReduceMax <keepdims = 0> (q, one)",
}


@pytest.mark.parametrize("nodes", NONE.values(), ids=NONE.keys())
def test_what_is_no_mac(nodes: str) -> None:
    held = "one = Constant <value = int64[1] {1}> () e = Constant <value = float {2.0}> ()"
    assert cost_of(f"(float[n, k] a, float[n, k] b) => (float[n] y) {{ {held} {nodes} }}").macs == 0


@pytest.mark.parametrize("nodes", NONE.values(), ids=NONE.keys())
def test_what_is_no_mac_is_none_in_a_branch(nodes: str) -> None:
    held = "one = Constant <value = int64[1] {1}> () e = Constant <value = float {2.0}> ()"
    inside = f"{held} {nodes}".replace("y =", "t =")
    other = f"{held} t = ReduceMax <keepdims = 0> (a, one)"
    then, other = (f"f () => (float[n] t) {{ {graph} }}" for graph in (inside, other))
    branch = f"y = If <then_branch = {then}, else_branch = {other}> (c)"
    assert cost_of(f"(float[n, k] a, float[n, k] b, bool c) => (float[n] y) {{ {branch} }}").macs == 0


def test_the_largest_of_products_is_no_sum() -> None:
    """A maximum pools what a gate lets through."""
    nodes = "s = Sigmoid(x) p = Mul(x, s) y = MaxPool <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (p)"
    assert cost_of(f"(float[n, c, h, w] x) => (float[n, c, i, j] y) {{ {nodes} }}").macs == 0


@pytest.mark.parametrize("mode, macs", [("nearest", "0"), ("linear", "12*c*h*n*w"), ("cubic", "24*c*h*n*w")])
def test_interpolation_has_them(mode: str, macs: str) -> None:
    """Twice as wide and high: 2 or 4 weights for each of 2*h*w elements, then for each of 4*h*w."""
    nodes = f's = Constant <value = float[4] {{1., 1., 2., 2.}}> () y = Resize <mode = "{mode}"> (x, , s)'
    assert str(cost_of(f"(float[n, c, h, w] x) => (float[n, c, i, j] y) {{ {nodes} }}").macs) == macs
