"""A step of training of a whole model: its work, what it keeps, and its memory."""

from __future__ import annotations

from itertools import product
from math import prod

import onnx
import pytest
from onnx.inliner import inline_local_functions
from onnx.parser import parse_model

import tolcost
from tolcost.diagnostics import Rejected
from tolcost.result.training import TrainingStudy

HEAD = '<ir_version: 10, opset_import: ["" : 22]>'


def weights(*shapes: tuple[str, tuple[int, ...]]) -> str:
    """Write initializers of ones."""
    listed = (
        f"float[{', '.join(map(str, shape))}] {name} = {{{', '.join('1' for _ in range(prod(shape)))}}}"
        for name, shape in shapes
    )
    return f"<{', '.join(listed)}>"


def model(text: str, outputs: str, *shapes: tuple[str, tuple[int, ...]]) -> tolcost.Cost:
    return tolcost.from_onnx(
        parse_model(f"{HEAD} g (float[n, 8] x) => ({outputs}) {weights(*shapes)} {{ {text} }}")
    )


def perceptron() -> tolcost.Cost:
    text = "a = MatMul(x, W1) b = Add(a, b1) h = Tanh(b) y = MatMul(h, W2)"
    return model(text, "float[n, 4] y", ("W1", (8, 16)), ("b1", (16,)), ("W2", (16, 4)))


def study(cost: tolcost.Cost) -> TrainingStudy:
    assert isinstance(cost.study, TrainingStudy)
    return cost.study


def parts(cost: tolcost.Cost) -> dict[str, int]:
    return {part.title: int(str(cost.number(part.figures.macs))) for part in study(cost).parts}


def test_products() -> None:
    """The first layer needs no gradient of its input: 8·16 and 2·16·4 products for each row."""
    step = perceptron().training("sgd").subs(n=1)
    assert parts(step) == {"forward": 8 * 16 + 16 * 4, "backward": 8 * 16 + 2 * 16 * 4, "sgd": 0}


def test_kept_is_what_backward_reads() -> None:
    """Tanh keeps its output, which the last product reads as well; the input of a model is there anyway."""
    step = perceptron().training("sgd")
    assert [one.name for one in study(step).training.memory.kept] == ["h"]
    assert str(step.kept) == "64*n"


def test_peak_by_brute_force() -> None:
    """The peak of a step, by following its buffers by hand."""
    n, size = 5, 4
    fixed = (8 * 16 + 16 + 16 * 4) * size * 2 + n * 8 * size  # parameters, running sums, and the input
    a = b = h = n * 16 * size
    y = n * 4 * size
    w1, b1, w2 = 8 * 16 * size, 16 * size, 16 * 4 * size
    moments = [
        a,
        a + b,
        b + h,
        h + y,
        h + y + y,  # what is to come of y is given
        h + 2 * y + w2 + h,  # the last product: gradients of its weights and of h
        h + 2 * y + w2 + h + b,  # tanh
        2 * y + w2 + b + b1,  # the sum: its gradient is passed on
        2 * y + w2 + b + b1 + w1,
        w2 + b1 + w1,
    ]
    step = perceptron().training("momentum")(n=n)
    assert step.train_peak == fixed + max(moments)


def test_a_shared_parameter_adds_up() -> None:
    text = "a = MatMul(x, W) y = MatMul(a, W)"
    step = model(text, "float[n, 8] y", ("W", (8, 8))).training("sgd").subs(n=3)
    added = next(group for group in step.groups("op") if group.title == "sum of gradients")
    assert step.number(added.figures.eops) == 64
    assert study(step).training.held.trained == 64


def test_frozen_parameters_have_no_gradients() -> None:
    step = perceptron().training("adam", freeze=("W1", "b*")).subs(n=1)
    assert parts(step)["backward"] == 16 * 4
    assert (step.gradient_bytes, step.state_bytes) == (256, 512)


@pytest.mark.parametrize("precision", ["float32", "bf16-mixed", "fp16-mixed"])
def test_bytes_of_a_parameter(precision: str) -> None:
    """16 bytes for each parameter with Adam: in mixed precision 2 + 2 + 4 + 4 + 4."""
    step = perceptron().training("adam", precision=precision)
    held = study(step).training.held
    whole = held.parameters + held.gradients + held.master + held.state
    assert whole == 16 * (8 * 16 + 16 + 16 * 4)


def test_state_has_the_type_of_its_parameter() -> None:
    """As in PyTorch, whose AdamW keeps states of 16 bits for a module of 16 bits."""
    text = "g (bfloat16[n, 2] x) => (bfloat16[n, 2] y) <bfloat16[2, 2] W = {1, 1, 1, 1}> { y = MatMul(x, W) }"
    step = tolcost.from_onnx(parse_model(f"{HEAD} {text}")).training("adamw")
    held = study(step).training.held
    assert (held.parameters, held.gradients, held.master, held.state) == (8, 8, 0, 16)


def test_accumulated_runs() -> None:
    once, often = (perceptron().training("sgd", accumulate=k).subs(n=1) for k in (1, 4))
    assert parts(often) == {p: 4 * m for p, m in parts(once).items()}
    sums = {group.title: group.figures.eops for group in often.groups("op")}
    every = 8 * 16 + 16 + 16 * 4
    assert sums["sgd"] == 2 * every + 3 * every


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"optimizer": "adamx"}, "no optimiser"),
        ({"loss": "y"}, "no scalar"),
        ({"loss": "z"}, "gives nothing named"),
        ({"freeze": ("q*",)}, "no parameter and no scope"),
        ({"freeze": ("*",)}, "nothing to differentiate"),
        ({"recompute": "layer.*"}, "no scope"),
        ({"recompute": "every 2"}, "no layers"),
        ({"precision": "int8"}, "no precision"),
        ({"accumulate": 0}, "at least 1"),
        ({"losses": "y"}, "not asked of a step"),
    ],
)
def test_what_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(Rejected, match=said):
        perceptron().training(**{"optimizer": "sgd", **asked})  # type: ignore[arg-type]


def test_recomputed_layers() -> None:
    """Layers that are computed again keep their inputs alone, and cost their forward once more."""
    text = "h0 = MatMul(x, V) " + " ".join(
        f"a{k} = MatMul(h{k}, A{k}) t{k} = Tanh(a{k}) c{k} = MatMul(t{k}, C{k}) h{k + 1} = Tanh(c{k})"
        for k in range(4)
    )
    shapes = [("V", (8, 8)), *((f"{letter}{k}", (8, 8)) for k, letter in product(range(4), "AC"))]
    made = parse_model(f"{HEAD} g (float[n, 8] x) => (float[n, 8] h4) {weights(*shapes)} {{ {text} }}")
    for place, node in enumerate(made.graph.node):
        node.name = f"/net/layers.{(place - 1) // 4}/{node.op_type}_{place}" if place else "/net/first"
    assert isinstance(made, onnx.ModelProto)
    plain = tolcost.from_onnx(made)
    whole, again, pairs = (
        plain.training("sgd", **({"recompute": asked} if asked else {})).subs(n=10)
        for asked in (None, "layers.*", "every 2")
    )
    per = 10 * 8 * 4
    assert whole.kept == 9 * per  # h0 to h4, and t0 to t3
    assert again.kept == 5 * per - per  # the inputs of layers
    assert pairs.kept == 2 * per
    products = parts(again)
    assert products["computed again"] == 4 * 2 * 10 * 8 * 8  # Tanh reads its output, so both products


KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


def scaled(noted: dict[str, str], text: str = "a = MatMul(x, W) y = Mul(a, f)") -> tolcost.Cost:
    """A product whose result is scaled by a buffer ``f``, with what an exporter notes of stored tensors."""
    made = parse_model(
        f"{HEAD} g (float[n, 8] x) => (float[n, 8] y) {weights(('W', (8, 8)), ('f', (8,)))} {{ {text} }}"
    )
    for name, kind in noted.items():
        info = onnx.ValueInfoProto(name=name)
        info.metadata_props.add(key=KIND, value=kind)
        made.graph.value_info.append(info)
    return tolcost.from_onnx(made).training("sgd")


@pytest.mark.parametrize(
    "noted, trained",
    [
        ({}, ["W", "f"]),
        ({"W": "PARAMETER", "f": "BUFFER"}, ["W"]),
        ({"W": "PARAMETER", "f": "CONSTANT_TENSOR"}, ["W"]),
        ({"W": "PARAMETER", "f": "PARAMETER"}, ["W", "f"]),
        ({"W": "PARAMETER"}, ["W", "f"]),
        ({"f": "BUFFER"}, ["W"]),
    ],
)
def test_buffers_are_not_trained(noted: dict[str, str], trained: list[str]) -> None:
    """What the exporter notes as a buffer or a constant is held, and not trained."""
    step = scaled(noted)
    assert list(study(step).training.joint.trained) == trained
    assert study(step).training.held.frozen == (0 if "f" in trained else 32)
    told = study(step)._trained()[1]
    assert ("exporter notes" in told) == bool(noted)


def test_constants_of_nodes_are_not_trained() -> None:
    """A constant beside stored parameters is none, but a file may hold all its parameters as constants."""
    constant = "c = Constant <value = float[8] {1, 1, 1, 1, 1, 1, 1, 1}> ()"
    single = "<float q = {1}>"
    beside = scaled({}, f"{constant} a = MatMul(x, W) b = Mul(a, f) y = Mul(b, c)")
    assert list(study(beside).training.joint.trained) == ["W", "f"]
    text = (
        f"{HEAD} g (float[n, 8] x) => (float[n, 8] y) {single} {{ {constant} z = Mul(x, c) y = Mul(z, q) }}"
    )
    alone = tolcost.from_onnx(parse_model(text)).training("sgd")
    assert list(study(alone).training.joint.trained) == ["c"]


def test_steps_of_one_model_do_not_meddle() -> None:
    """What is asked of a model after other steps is what is asked of it first."""
    cost, first = perceptron(), {}
    for _ in range(6):
        for optimizer in ("sgd", "adamw", "lion"):
            step = cost.training(optimizer)
            figures = {group.title: str(group.figures.eops) for group in step.groups("op")}
            assert first.setdefault(optimizer, figures) == figures
            del step
    assert first["sgd"] == {
        group.title: str(group.figures.eops) for group in perceptron().training("sgd").groups("op")
    }


def test_steps_are_compared() -> None:
    """A wider network keeps more, and its optimiser holds more."""
    narrow = model("a = MatMul(x, W1) y = Tanh(a)", "float[n, 4] y", ("W1", (8, 4))).training("adamw")
    wide = model("a = MatMul(x, W1) y = Tanh(a)", "float[n, 6] y", ("W1", (8, 6))).training("adamw")
    found = {one.metric: one for one in tolcost.diff(narrow, wide).rows if not one.part}
    assert {"flops", "kept", "gradient_bytes", "state_bytes", "peak_bytes"} <= found.keys()
    assert (str(found["kept"].old), str(found["kept"].new)) == ("16*n", "24*n")
    assert all(one.claim.more for one in found.values())


def test_nodes_with_graphs_inside() -> None:
    """The weights that graphs take from around are trained, and backward computes what is inside again.

    Which side runs is up to data: the figures are those of the dearer one.
    """
    text = (
        "s = ReduceSum <keepdims = 0> (x) zero = Constant <value = float {0}> () c = Greater(s, zero) "
        "a = If (c) <then_branch = left () => (float[n, 4] t) { u = MatMul(x, W1) t = Tanh(u) }, "
        "else_branch = right () => (float[n, 4] e) { e = MatMul(x, W2) }> y = MatMul(a, W3)"
    )
    step = model(text, "float[n, 4] y", ("W1", (8, 4)), ("W2", (8, 4)), ("W3", (4, 4))).training("sgd")
    joint = study(step).training.joint
    assert not joint.missing
    assert set(joint.trained) == {"W1", "W2", "W3"}
    assert [one.name for one in study(step).training.memory.kept] == ["c", "a"]
    assert study(step).total.status == "upper bound"
    forward, backward = (part.figures.macs for part in study(step).parts[:2])
    assert (str(forward), str(backward)) == ("48*n", "128*n")


FUNCTIONS = """
<domain: "own", opset_import: ["" : 22, "own" : 1]>
Layer <alpha> (u, W, b) => (v) {
    p = MatMul(u, W) q = own.Shifted(p, b) v = LeakyRelu <alpha: float = @alpha> (q)
}
<domain: "own", opset_import: ["" : 22]>
Shifted (p, b) => (q) {
    s = ReduceSum <keepdims = 0> (p) zero = Constant <value = float {0}> () c = Greater(s, zero)
    q = If (c) <then_branch = left () => (float[k, 8] h) { h = Add(p, b) },
                else_branch = right () => (float[k, 8] h) { g = Mul(p, b) h = Tanh(g) }>
}
"""


def test_calls_of_functions_as_if_inlined() -> None:
    """Its nodes are differentiated like those of the model that onnx itself inlines."""
    text = "a = own.Layer <alpha = 0.1> (x, V, b) s = Sin(a) y = own.Layer <alpha = 0.2> (s, W, b)"
    stored = weights(("V", (8, 8)), ("W", (8, 8)), ("b", (8,)))
    head = HEAD.replace("22]", '22, "own" : 1]')
    made = parse_model(f"{head} g (float[n, 8] x) => (float[n, 8] y) {stored} {{ {text} }} {FUNCTIONS}")
    calling, plain = (tolcost.from_onnx(one).training("adam") for one in (made, inline_local_functions(made)))
    assert not study(calling).training.joint.missing
    assert parts(calling.subs(n=3)) == parts(plain.subs(n=3))
    assert list(study(calling).training.joint.trained) == ["V", "W", "b"]
    for figure in ("eops", "kept", "train_peak", "state_bytes"):
        assert str(getattr(calling, figure)) == str(getattr(plain, figure)), figure


def test_a_node_without_a_derivative_makes_a_bound() -> None:
    """What a function of another opset calls may mean something else in the graph: it is not inlined."""
    head = HEAD.replace("22]", '22, "own" : 1]')
    function = '<domain: "own", opset_import: ["" : 18]> Own (u) => (v) { v = Tanh(u) }'
    text = "a = MatMul(x, W) y = own.Own(a)"
    graph = f"g (float[n, 8] x) => (float[n, 8] y) {weights(('W', (8, 8)))} {{ {text} }}"
    step = tolcost.from_onnx(parse_model(f"{head} {graph} {function}")).training("sgd")
    assert [item.op for item in step.coverage.missing] == ["own.Own"]
    assert step.status == "lower bound"
