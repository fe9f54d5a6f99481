"""Recurrent networks, attention and loops where ONNX has no test of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from onnx import helper, parser

from tests.specs.holding import LIBRARY, Array, by_reference, held
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import Result, check
from tolcost.catalogue.reading import node_of

# ---- recurrent networks -----------------------------------------------------------------------

ALPHAS = ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
BETAS = ("Affine", "ScaledTanh", "HardSigmoid")
FUNCTIONS: dict[str, Callable[[Array, float, float], Array]] = {
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x >= 0, x, a * x),
    "ThresholdedRelu": lambda x, a, b: np.where(x >= a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x)),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
}
DEFAULTS = {
    "Affine": (1.0, 0.0),
    "LeakyRelu": (0.01, 0.0),
    "ThresholdedRelu": (1.0, 0.0),
    "ScaledTanh": (1.0, 1.0),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, 0.0),
}
"""Parameters that are not given are those of the operator of the same name."""
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class Layer(Struct):
    """One direction of a layer, step by step in NumPy; the functions take what they need of what is given."""

    op: str
    names: list[str]
    alphas: list[float]
    betas: list[float]
    options: dict[str, Any]

    def act(self, k: int, x: Array, clipped: bool = True) -> Array:
        bound = self.options.get("clip", np.inf) if clipped else np.inf
        return np.asarray(FUNCTIONS[self.names[k]](np.clip(x, -bound, bound), self.alphas[k], self.betas[k]))

    def step(self, x: Array, weights: list[Array], h: Array, c: Array) -> list[Array]:
        w, r, b, p = weights
        size = r.shape[-1]
        wb, rb = b[: len(b) // 2], b[len(b) // 2 :]
        given = x @ w.T + wb
        if self.op == "RNN":
            return [self.act(0, given + h @ r.T + rb), c]
        if self.op == "GRU":
            z, s = np.split(self.act(0, (given + h @ r.T + rb)[:, : 2 * size]), 2, 1)
            last, bias = r[2 * size :], rb[2 * size :]
            linear = self.options.get("linear_before_reset", 0)
            new = s * (h @ last.T + bias) if linear else (s * h) @ last.T + bias
            return [(1 - z) * self.act(1, given[:, 2 * size :] + new) + z * h, c]
        i, o, f, g = np.split(given + h @ r.T + rb, 4, 1)
        pi, po, pf = np.split(p, 3)
        i = self.act(0, i + pi * c)
        f = 1 - i if self.options.get("input_forget") else self.act(0, f + pf * c)
        now = f * c + i * self.act(1, g)
        return [self.act(0, o + po * now) * self.act(2, now, clipped=False), now]

    def run(self, x: Array, lens: Array, back: bool, weights: list[Array], h: Array, c: Array) -> list[Array]:
        y = np.zeros((len(x), *h.shape))
        for t in reversed(range(len(x))) if back else range(len(x)):
            going = (t < lens)[:, None]
            new, cell = self.step(x[t], weights, h, c)
            h, c = np.where(going, new, h), np.where(going, cell, c)
            y[t] = np.where(going, h, 0)
        return [y, h, c]


def expected(op: str, inputs: list[Array | None], options: dict[str, Any]) -> list[Array]:
    """What a layer gives: Y, Y_h and, of an LSTM, Y_c."""
    x, w, r, b, lens, h, c, p = [*inputs, None, None][:8]
    assert x is not None
    assert w is not None
    assert r is not None
    ways, size, count = len(w), r.shape[-1], len(USUAL[op])
    names = options.get("activations", USUAL[op] * ways)
    alphas, betas = iter(options.get("activation_alpha", ())), iter(options.get("activation_beta", ()))
    given_alphas = [next(alphas, DEFAULTS[name][0]) if name in ALPHAS else 0.0 for name in names]
    given_betas = [next(betas, DEFAULTS[name][1]) if name in BETAS else 0.0 for name in names]
    zeros = np.zeros((ways, x.shape[1], size))
    found = []
    for d in range(ways):
        part = slice(d * count, (d + 1) * count)
        layer = Layer(op, names[part], given_alphas[part], given_betas[part], options)
        weights = [w[d], r[d], np.zeros(2 * GATES[op] * size) if b is None else b[d]]
        weights.append(np.zeros(3 * size) if p is None else p[d])
        length = np.full(x.shape[1], len(x)) if lens is None else lens
        back = d == 1 or options["direction"] == "reverse"
        start = (zeros if h is None else h)[d], (zeros if c is None else c)[d]
        found.append(layer.run(x, length, back, weights, *start))
    y = np.stack([f[0] for f in found], 1)
    last = [np.stack([f[k] for f in found]) for k in (1, 2)]
    return [a.astype(np.float32) for a in (y, *last)][: 3 if op == "LSTM" else 2]


def layer_case(op: str, seed: int) -> tuple[list[Array | None], dict[str, Any]]:
    """Random weights, and random options."""
    random = np.random.default_rng(seed)
    n, b, m, h = (int(v) for v in random.integers(1, 4, 4))
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    d = 2 if direction == "bidirectional" else 1

    def floats(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    def perhaps(array: Array) -> Array | None:
        return array if random.random() < 0.5 else None

    g = GATES[op]
    inputs = [floats(n, b, m), floats(d, g * h, m), floats(d, g * h, h), perhaps(floats(d, 2 * g * h))]
    inputs += [perhaps(random.integers(1, n + 1, b).astype(np.int32)), perhaps(floats(d, b, h))]
    inputs += [perhaps(floats(d, b, h)), perhaps(floats(d, 3 * h))] if op == "LSTM" else []
    options: dict[str, Any] = {"hidden_size": h, "direction": direction}
    if random.random() < 0.7:
        names = [str(v) for v in random.choice(list(FUNCTIONS), len(USUAL[op]) * d)]
        options["activations"] = names
        for key, takers in (("activation_alpha", ALPHAS), ("activation_beta", BETAS)):
            values = [round(float(random.random()) + 0.1, 2) for name in names if name in takers]
            options |= {key: values} if values else {}
    for key, value in (("clip", 0.75), ("linear_before_reset", 1), ("input_forget", 1)):
        wanted = key == "clip" or (op == "GRU") == (key == "linear_before_reset")
        options |= {key: value} if op != "RNN" and wanted and random.random() < 0.4 else {}
    return inputs, options


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_layers_with_all_options(op: str, seed: int) -> None:
    inputs, options = layer_case(op, seed)
    result = held(op, 14, inputs, options, expected(op, inputs, options), rtol=1e-4)
    assert result.concrete == ()


@pytest.mark.parametrize("name", ALPHAS)
def test_parameters_of_functions_that_are_not_given(name: str) -> None:
    """A sum that is negative at first, and one that is positive, so that every part of a function is run."""
    x = np.array([[[0.75]], [[-1.5]], [[3.0]]], np.float32)
    for sign in (1, -1):
        inputs: list[Array | None] = [
            sign * x,
            np.ones((1, 1, 1), np.float32),
            np.ones((1, 1, 1), np.float32),
        ]
        inputs += [None, None, None]
        options = {"hidden_size": 1, "direction": "forward", "activations": [name]}
        held("RNN", 14, inputs, options, expected("RNN", inputs, options), rtol=1e-4)


@pytest.mark.parametrize(
    "op, form",
    [
        ("RNN", "R_2*X_1*X_2*(2*R_2 + 2*W_3 + 1)"),
        ("GRU", "2*R_3*X_1*X_2*(3*R_3 + 3*W_3 + 7)"),
        ("LSTM", "2*R_3*X_1*X_2*(4*R_3 + 4*W_3 + 9)"),
    ],
)
def test_what_a_layer_costs(op: str, form: str) -> None:
    g = GATES[op]
    inputs = [np.ones(s, np.float32) for s in ((2, 3, 4), (1, g * 5, 4), (1, g * 5, 5))]
    options = {"hidden_size": 5, "direction": "forward"}
    assert held(op, 7, inputs, options, expected(op, [*inputs, *[None] * 3], options)).eops == form


# ---- attention and n-grams --------------------------------------------------------------------


def test_a_key_for_each_query_head_costs_no_more_than_two_products_and_softmax() -> None:
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((2, 3, n, d)).astype(np.float32) for n, d in ((4, 8), (6, 8), (6, 5)))
    form = "K_1*K_2*K_3*Q_2_share*Q_3*(2*K_4 + 2*V_4 + 5)"
    assert held("Attention", 23, [q, k, v], {"scale": 1.0}).eops == form
    causal = held("Attention", 23, [q, k, v], {"scale": 1.0, "is_causal": 1})
    assert causal.eops == form  # a mask known before running costs nothing


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_scores_are_told_at_any_stage(mode: int) -> None:
    random = np.random.default_rng(2)
    q, k, v = (random.standard_normal((1, 2, n, 4)).astype(np.float32) for n in (3, 5, 5))
    mask = random.random((3, 5)) < 0.7
    options = {"softcap": 2.0, "qk_matmul_output_mode": mode}
    found = by_reference("Attention", 24, [q, k, v, mask], options, 4)
    if mode == 0:  # the product itself, which the reference implementation gives after capping
        found[3] = np.einsum("bhid,bhjd->bhij", q, k) / 2
    held("Attention", 24, [q, k, v, mask], options, found, rtol=1e-4)


@pytest.mark.parametrize(
    "mode, weights, row",
    [
        ("TF", None, [1, 1, 2]),
        ("IDF", None, [1, 1, 1]),
        ("IDF", [2.0, 3.0, 4.0], [3, 4, 2]),
        ("TFIDF", [2.0, 3.0, 4.0], [3, 4, 4]),
    ],
)
def test_weights_go_with_the_n_grams_of_the_pool(
    mode: str, weights: list[float] | None, row: list[int]
) -> None:
    options = {"mode": mode, "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0}
    options |= {"ngram_counts": [0], "ngram_indexes": [2, 0, 1], "pool_int64s": [5, 6, 7]}
    options |= {} if weights is None else {"weights": weights}
    held("TfIdfVectorizer", 9, [np.array([5, 6, 5, 7])], options, [np.array(row, np.float32)])


# ---- loops ------------------------------------------------------------------------------------

DOUBLING = """b (int64 i, bool c, float[N] y) => (bool c2, float[N] y2, float[N] s) {{
  two = Constant<value = float {{2.0}}>()
  limit = Constant<value = {limit}>()
  y2 = Mul(y, two)
  s = Identity(y2)
  {condition}
}}"""
BY_DATA = DOUBLING.format(
    limit="float {10.0}", condition="t = ReduceSum<keepdims = 0>(y2)\n  c2 = Less(t, limit)"
)
BY_TURN = DOUBLING.format(limit="int64 {3}", condition="c2 = Less(i, limit)")
ALWAYS = DOUBLING.format(limit="bool {1}", condition="c2 = Identity(limit)")


def looped(body: str, most: int, turns: int, go: bool = True) -> Result:
    """Hold a loop that doubles a vector to the number of turns it must take."""
    node = helper.make_node("Loop", ["m", "c", "y"], ["last", "all"], body=parser.parse_graph(body))
    start = np.array([1.0, 0.5], np.float32)
    steps = [start * 2**k for k in range(turns + 1)]
    outputs = (steps[-1], np.array(steps[1:], np.float32).reshape(turns, 2))
    case = Case("loop", node_of(node), 18, (np.array(most), np.array(go), start), outputs, 1e-5, 1e-7)
    result = check(case, LIBRARY)
    assert result.status == "pass", result.detail or result.cause
    return result


@pytest.mark.parametrize(
    "body, most, turns, form",
    [
        (ALWAYS, 10, 10, "10*v_initial1_1"),
        (ALWAYS, 0, 0, "0"),
        (BY_TURN, 10, 4, "4*v_initial1_1"),
        (BY_TURN, 2, 2, "2*v_initial1_1"),
        (BY_DATA, 10, 3, "20*v_initial1_1 + 20"),
        (BY_DATA, 2, 2, "4*v_initial1_1 + 4"),
    ],
)
def test_a_loop_ends_with_its_condition(body: str, most: int, turns: int, form: str) -> None:
    assert looped(body, most, turns).eops == form


def test_a_loop_that_must_not_start() -> None:
    looped(ALWAYS, 5, 0, go=False)
