"""Branches: bounded by the side that is dearer as a whole, each looked at once however deep they nest."""

from __future__ import annotations

from collections import Counter

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost import Cost
from tolcost.catalogue import subgraphs
from tolcost.cost import count
from tolcost.cost.derive import derive
from tolcost.diagnostics import Source
from tolcost.models import lowering
from tolcost.pipeline import lower, read_program

HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '


def cost_of(text: str) -> Cost:
    return tolcost.from_onnx(parse_model(HEAD + text))


def branch(then: str, other: str, name: str = "y", kind: str = "float[n]") -> str:
    """A node that takes one of two graphs; each gives ``t`` or ``e`` with its name behind."""
    return (
        f"{name} = If <then_branch = yes () => ({kind} t{name}) {{ {then} }}, "
        f"else_branch = no () => ({kind} e{name}) {{ {other} }}> (p)"
    )


def test_the_dearer_side_counts_as_a_whole() -> None:
    """Neither side applies every function more often: 3 or 4 functions are applied, never 6."""
    then = "a = Exp(x) b = Exp(a) ty = Sin(b)"
    other = "a = Cos(x) b = Tanh(a) c = Tanh(b) ey = Sin(c)"
    cost = cost_of(f"(float[n] x, bool p) => (float[n] y) {{ {branch(then, other)} }}")
    assert cost.status == "upper bound"
    assert str(cost.eops) == "4*n"
    bound = {name: str(form) for (name, _), form in cost.histogram.items()}
    assert bound == {"cos": "n", "exp": "2*n", "sin": "n", "tanh": "2*n"}  # each by itself


def test_the_derivation_ends_in_the_dearer_side() -> None:
    text = "tol x: R [n]\ny := map(x, choose(* > 0, exp(sin(*)), cos(*)))"
    program = lower(read_program(Source("one.tol", text))).program
    assert str(derive(program).total) == str(count(program).eops) == "3*n"


def test_lengths_may_decide_which_side_is_dearer() -> None:
    axes = "one = Constant <value = int64[1] {1}> ()"
    then = "m = MatMul(x, w) ty = ReduceSum <keepdims = 0> (m, one)"
    other = "a = Exp(x) b = Exp(a) ey = ReduceMax <keepdims = 0> (b, one)"
    text = f"(float[n, k] x, float[k, n] w, bool p) => (float[n] y) {{ {axes} {branch(then, other)} }}"
    cost = cost_of(text)
    for n, k in ((1, 1), (1, 5), (2, 1), (7, 3)):
        assert cost(n=n, k=k).eops == max(2 * n * k * n + n * n, 3 * n * k)


def test_a_branch_in_a_loop_and_a_loop_in_a_branch() -> None:
    turns = "at = Constant <value = int64 {0}> () s = Shape(x) m = Gather(s, at)"
    body = "b (int64 i, bool c, float[n] v) => (bool d, float[n] z) {{ d = Identity(c) {} }}"
    loop = f"Loop <body = {body}> (m, , r)"
    start = f"(float[k, n] x, bool p) => (float[n] y) {{ {turns} r = Gather(x, at) "
    inside = branch("tz = Exp(v)", "w = Gather(x, i) a = Add(w, v) ez = Sin(a)", "z")
    assert str(cost_of(f"{start} y = {loop.format(inside)} }}").eops) == "2*k*n"
    around = branch(f"ty = {loop.format('w = Gather(x, i) z = Add(v, w)')}", "ey = Sin(r)")
    assert str(cost_of(f"{start} {around} }}").eops) == "k*n"


def test_a_branch_that_fits_only_where_data_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch in it makes a matrix of a vector where anything is kept, and no vector follows a matrix."""
    tried: list[str] = []
    attempt, apply = lowering._attempt, subgraphs._apply_one
    monkeypatch.setattr(lowering, "_attempt", lambda *args: (tried.append(args[2].op), attempt(*args))[1])
    monkeypatch.setattr(subgraphs, "_apply_one", lambda *args: (tried.append(args[1].op), apply(*args))[1])
    held = "none = Constant <value = int64 {0}> () axis = Constant <value = int64[1] {0}> ()"
    kept = "m = Cast <to = 9> (x) k = Compress (x, m) s = Size(k) p2 = Greater(s, none)"
    inner = branch("tw = Unsqueeze(x, axis)", "ew = Identity(x)", "w", "float[n]").replace("(p)", "(p2)")
    other = f"{held} {kept} {inner} j = Concat <axis = 0> (w, x) e = Exp(j) ey = Slice(e, axis, l)"
    text = f"(float[n] x, bool p) => (float[n] y) {{ l = Shape(x) {branch('ty = Identity(x)', other)} }}"
    cost = cost_of(text)
    assert cost.status == "upper bound"
    assert cost.conditions == ("z1 <= 0",)
    assert {name: str(form) for (name, _), form in cost.histogram.items()}["exp"] == "2*n"
    times = Counter(tried)
    assert times["If"] == 3, "the one around, and the one in it both ways"
    assert (times["Compress"], times["Concat"], times["Exp"]) == (1, 2, 1), "only what follows is tried again"


def nested(depth: int, of: str = "x") -> str:
    """A branch in a branch, so deep."""
    name = f"y{depth}" if of != "x" else "y"
    if not depth:
        return f"{name} = Exp({of})"
    inner = f"a{depth} = Sin({of}) {nested(depth - 1, f'a{depth}')} t{name} = Identity(y{depth - 1})"
    return branch(inner, f"e{name} = Cos({of})", name)


@pytest.mark.parametrize("depth", [1, 4, 8])
def test_every_branch_is_looked_at_once(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []
    apply_all = subgraphs._apply_all
    monkeypatch.setattr(
        subgraphs, "_apply_all", lambda env, *rest: (walked.append(1), apply_all(env, *rest))[1]
    )
    cost = cost_of(f"(float[n] x, bool p) => (float[n] y) {{ {nested(depth)} }}")
    assert str(cost.eops) == f"{depth + 1}*n"
    assert len(walked) == 2 * depth


# ---- what a graph inside holds -------------------------------------------------------------------


W = "w = Constant <value = float[3] {1.0, 2.0, 3.0}> ()"
OTHER = "else_branch = no () => (float[n, 3] e) { e = Identity(x) }"
HOLDING = {
    "around a branch": f"""{W} y = If <then_branch = yes () => (float[n, 3] t)
        {{ t = Mul(x, w) }}, {OTHER}> (p)""",
    "in a branch": f"y = If <then_branch = yes () => (float[n, 3] t) {{ {W} t = Mul(x, w) }}, {OTHER}> (p)",
    "as an initializer": f"""y = If <then_branch = yes () => (float[n, 3] t) <float[3] w = {{1.0, 2.0, 3.0}}>
        {{ t = Mul(x, w) }}, {OTHER}> (p)""",
    "in a branch of a branch": f"""y = If <then_branch = yes () => (float[n, 3] t)
        {{ {W} so = Constant <value = bool {{1}}> ()
        t = If <then_branch = yes () => (float[n, 3] t2) {{ t2 = Mul(x, w) }},
        else_branch = no () => (float[n, 3] e2) {{ e2 = Identity(x) }}> (so) }}, {OTHER}> (p)""",
    "as input of a function": f"""y = If <then_branch = yes () => (float[n, 3] t)
        {{ {W} t = own.Scaled(x, w) }}, {OTHER}> (p)""",
}
SCALED = '<domain: "own", opset_import: ["" : 18]> Scaled (a, b) => (c) { c = Mul(a, b) }'


@pytest.mark.parametrize("text", HOLDING.values(), ids=HOLDING)
def test_small_tensors_that_graphs_inside_read_are_read(text: str) -> None:
    """As by a node of the model's graph; the condition is one byte more."""
    head = (
        '<ir_version: 10, opset_import: ["" : 18, "own" : 1]> g (float[n, 3] x, bool p) => (float[n, 3] y) '
    )
    flat = tolcost.from_onnx(parse_model(f"{head} {{ {W} y = Mul(x, w) }}"))
    cost = tolcost.from_onnx(parse_model(f"{head} {{ {text} }} {SCALED}"))
    assert str(flat.bytes) == "24*n + 12"
    assert (str(cost.bytes), cost.eops) == ("24*n + 13", flat.eops)


def test_small_tensors_in_loops_are_data_as_anywhere() -> None:
    """Nodes that only see constants are free; one that sees data applies its functions to both."""
    held = "a = Constant <value = float[2] {1.0, 2.0}> () b = Constant <value = float[2] {3.0, 4.0}> ()"
    nodes = f"{held} m = Mul(a, b) s = BatchNormalization(x, a, b, a, b) t = Mul(s, m)"
    flat = cost_of(f"(float[n, 2] x) => (float[n, 2] t) {{ {nodes} }}")
    scan = cost_of(f"""(float[1, n, 2] z) => (float[1, n, 2] y) {{ y = Scan <num_scan_inputs = 1, body = f
        (float[n, 2] x) => (float[n, 2] t) {{ {nodes} }}> (z) }}""")
    assert str(scan.eops) == str(flat.eops)


def test_a_function_is_tried_with_the_branch_for_one_length() -> None:
    """What follows fits the squeezed vector only, wherever the nodes stand."""
    squeeze = """zero = Constant <value = int64[1] {0}> () one = Constant <value = int64 {1}> ()
        s = Shape(x) d = Gather(s, zero) u = Squeeze(d) c = Equal(u, one)
        q = If <then_branch = yes () => (float[k] t) { t = Squeeze(x, zero) },
        else_branch = no () => (float[n, k] e) { e = Identity(x) }> (c)
        y = MatMul(q, w)"""
    flat = cost_of(f"(float[n, 3] x, float[3] w) => (float y) {{ {squeeze} p = Transpose <perm = [0]> (q) }}")
    body = f"{{ {squeeze} p = Transpose <perm = [0]> (q) }}"
    function = f'<domain: "own", opset_import: ["" : 18]> Whole (x, w) => (y) {body}'
    head = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]> g (float[n, 3] x, float[3] w) => (float y)'
    inside = tolcost.from_onnx(parse_model(f"{head} {{ y = own.Whole(x, w) }} {function}"))
    assert flat.study.coverage.missing == inside.study.coverage.missing == ()
    assert str(flat.eops) == str(inside.eops)


def test_a_branch_for_short_inputs_is_taken_where_only_it_fits() -> None:
    """A convolution requires a window, so "one window" became a bound from above, which was never assumed."""
    cost = cost_of("""(float[1, 1, n] x, float[1, 1, 3] w) => (float[a, b] y) {
        h = Conv <strides = [4]> (x, w) s = Shape(h) two = Constant <value = int64 {2}> () d = Gather(s, two)
        one = Constant <value = int64 {1}> () c = Equal(d, one) axes = Constant <value = int64[1] {2}> ()
        r = If <then_branch = yes () => (float[a, b] t) { t = Squeeze(h, axes) },
        else_branch = no () => (float[a, b, d] e) { e = Identity(h) }> (c)
        y = Exp(r) }""")
    assert (cost.status, cost.coverage.missing) == ("exact", ())
    assert cost.conditions == ("n >= 3", "n <= 6")
    assert cost.eops == 7
