"""Time on a device: the same in every format, in a comparison, in a budget, and from Python."""

import json
import re
from fractions import Fraction
from math import prod
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_tensor
from onnx.parser import parse_model

import tolcost
from tests.result.test_model_command import output
from tolcost.algebra import evaluate
from tolcost.cli import run
from tolcost.cost.device import load_device, parse_device
from tolcost.diagnostics import Rejected
from tolcost.platform import device_names
from tolcost.result.time import Times

MATMUL = Path(__file__).parents[1] / "cli" / "programs" / "matmul.tol"
PEAKS = 'name = "mine"\n[peak]\nbytes = 100\ncache = 1_000\n[peak.macs]\nR = 1_000\n'


def test_a_device_of_one_s_own_gives_a_bound(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(PEAKS, encoding="utf-8")
    text = output(capsys, "analyze", str(MATMUL), "--symbolic", "--device", str(tmp_path / "mine.toml"))
    form = "Max(k*(m + n)/25, (k*m + k*n + m*n - 250)/25, k*m*n/1000)"
    assert f"mine at least for this arithmetic  {form}  µs" in text
    assert "predicted" not in text


def test_what_binds_and_where_that_changes_is_exact(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(PEAKS, encoding="utf-8")
    there = ("--dim", "n=640", "--dim", "k=640", "--device", str(tmp_path / "mine.toml"))
    assert "matmul is bound by bytes below m = 46, by operations from there on" in output(
        capsys, "analyze", str(MATMUL), *there
    )
    for m, limit in ((45, "bytes"), (46, "operations")):
        assert f"bound by {limit} there" in output(capsys, "analyze", str(MATMUL), *there, "--dim", f"m={m}")


def test_what_bounds_a_node_may_change_twice_before_a_length_has_doubled() -> None:
    """By launches, by bytes and by operations, all between m = 4 and m = 8."""
    cost = tolcost.analyze(MATMUL).subs(n=76_000, k=64)
    times = cost.study.times(load_device("h200"))
    (symbol,), (step,) = cost.point.missing, times.steps
    there = [times.limit(step.work, {**cost.point.values, symbol: m}) for m in range(1, 64)]
    walked = [(m, there[m - 1]) for m in range(2, 64) if there[m - 1] != there[m - 2]]
    told = times.changes(cost.point.values, cost.point.missing, lambda _: True)
    assert [(change.at, change.after) for change in told if change.at < 64] == walked
    assert [after for _, after in walked] == ["bytes", "operations"]
    assert all(4 < m < 8 for m, _ in walked)


def test_formats_agree_on_a_program(capsys):
    there = ("analyze", str(MATMUL), "--dim", "n=512", "--dim", "k=512", "--dim", "m=512", "--device", "h200")
    found = json.loads(output(capsys, *there, "--format", "json"))["programs"][0]["time"]
    bound, predicted = found["at"]["arithmetic_bound"], found["at"]["predicted"]
    assert 0 < Fraction(str(bound)) < Fraction(str(predicted))
    assert found["groups"][0]["bound_by"] == {"operations": 1}
    for form in ("text", "md", "csv"):
        assert str(predicted) in output(capsys, *there, "--format", form)


def test_a_model_s_time_is_that_of_its_nodes(bert, capsys):
    there = ("model", str(bert), "--dim", "batch=2", "--dim", "seq=5", "--device", "h200")
    found = json.loads(output(capsys, *there, "--format", "json"))["time"]
    assert found["fused_arithmetic_bound"] is not None
    parts = sum(Fraction(str(group["at"]["arithmetic_bound"])) for group in found["groups"])
    bound, fused = (Fraction(str(found["at"][key])) for key in ("arithmetic_bound", "fused_arithmetic_bound"))
    assert abs(parts - bound) < Fraction(len(found["groups"]), 10**6)
    assert fused <= bound
    assert next(group for group in found["groups"] if group["op"] == "Reshape")["tested"] == "no kernel"
    assert "predicted_us" in output(capsys, *there, "--format", "csv").splitlines()[0]
    assert '"device":{"name":"h200"' in output(capsys, *there, "--format", "html")
    assert "on h200" in output(capsys, *there, "--by", "node")
    open_ = output(capsys, *there[:2], "--dim", "batch=2", "--device", "h200", "--format", "json")
    assert json.loads(open_)["time"]["arithmetic_bound"].count("seq")


def test_times_of_nodes_are_worked_out_once(bert, capsys, monkeypatch):
    """A table of n nodes made the times of all n for each of them: a BERT took 40 s."""
    made = []
    monkeypatch.setattr(Times, "by_title", lambda self: made.append(self) or {})
    there = ("--dim", "batch=2", "--dim", "seq=5", "--device", "h200", "--by", "node", "--format", "csv")
    output(capsys, "model", str(bert), *there)
    assert len(made) == 1


def test_python_has_it_as_sympy_expressions():
    cost = tolcost.analyze(MATMUL, dims={"n": 4096, "k": 4096, "m": 4096})
    time = cost.time("h200")
    assert float(time.arithmetic_bound) == pytest.approx(4096**3 / 33_454_080, rel=1e-6)
    assert float(time.predicted) > float(time.arithmetic_bound)
    assert time.limits == {"operations": 1}
    assert str(tolcost.analyze(MATMUL).time("h200").arithmetic_bound).startswith("Max(")


def test_python_says_what_times_are():
    """Nodes that are not costed took 0 µs, and what data may leave out at least so long, without a word."""
    assert tolcost.analyze(MATMUL).time("h200").status == "exact"
    chosen = "tol c: R\ntol a: R [n]\ny := choose(c > 0, map(a, exp(exp(*))), a)"
    assert tolcost.analyze(chosen).time("h200").status == "upper bound"
    text = (
        '<ir_version: 9, opset_import: ["" : 17, "my" : 1]> g (float[n] x) => (float[n] y) { y = my.Foo(x) }'
    )
    model = tolcost.from_onnx(parse_model(text))
    assert repr(model.time("h200")).endswith("lower bound>")
    assert "0/1 nodes" in repr(model)


def test_attoseconds_are_the_form_never_above_it():
    device = load_device("h200")
    study = tolcost.analyze(MATMUL).study
    for form in (study.times(device).bound, study.times(device).predicted):
        for n in (1, 77, 4096):
            values = dict.fromkeys(study.symbols, n)
            rough, exact = Fraction(evaluate(form.attoseconds, values), 10**12), form.at(values)
            assert rough <= exact + Fraction(1, 10**6)
            assert rough >= exact * Fraction(999, 1000)


def test_a_comparison_can_be_about_time(tmp_path, capsys):
    twice = tmp_path / "twice.tol"
    twice.write_text("tol x: R [n]\ny := map(x, exp(*))\nz := map(x, log(*))", encoding="utf-8")
    once = tmp_path / "once.tol"
    once.write_text("tol x: R [n]\ny := map(x, exp(*))", encoding="utf-8")
    assert run(["diff", str(once), str(twice), "--device", "h200", "--format", "json"]) == 1
    changes = {row["metric"]: row["verdict"] for row in json.loads(capsys.readouterr().out)["changes"]}
    assert changes["time_h200"] == "costlier"


@pytest.mark.parametrize(
    "text, told",
    [
        ("name = 3 = 4", "not a TOML file"),
        ('name = "x"', "[peak] is missing"),
        (PEAKS.replace("100", "-1"), "peak.bytes is a number, not below 0"),
        (PEAKS.replace("R =", "reals ="), "is no space"),
        (PEAKS + "[fitted]\nbandwidth = 1\nsped = 2", "unknown key `fitted.sped`"),
        (PEAKS + "[fitted]\nbandwidth = 1", "there is none with the pattern stream"),
    ],
)
def test_mistakes_in_a_device_are_told(text, told):
    with pytest.raises(Rejected) as caught:
        parse_device(text)
    assert any(told in diagnostic.message for diagnostic in caught.value.diagnostics)


def test_no_such_device(capsys):
    assert run(["analyze", str(MATMUL), "--device", "abacus"]) == 2
    said = capsys.readouterr().err
    assert "known by name: " in said
    assert "h200" in said


def test_devices_ship_with_the_package(tmp_path):
    inside = tmp_path / "tolcost" / "_specs" / "devices"
    inside.mkdir(parents=True)
    (inside / "mine.toml").write_text(PEAKS, encoding="utf-8")
    assert device_names(tmp_path / "tolcost") == ("mine",)


def test_how_long_texts_take_is_not_known() -> None:
    """Bytes of texts are not known, so neither time is: it was 0, of a model that of its other nodes."""
    text = "tol a: string [n]\ntol b: string [n]\ny := map(tol[n], eq(a[i], b[i]), [i])\n"
    program = tolcost.analyze(text).time("h200")
    head = '<ir_version: 10, opset_import: ["" : 20]> g (string[n] a, string[n] b, float[n] x) => (bool[n] e)'
    model = tolcost.from_onnx(parse_model(head + "{ e = Equal(a, b) z = Exp(x) }")).time("h200")
    assert [
        (one.arithmetic_bound, one.fused_arithmetic_bound, one.predicted) for one in (program, model)
    ] == [(None, None, None)] * 2


def test_all_runs_together_have_no_time() -> None:
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[past, 4] c, float[1, 4] x) => (float y)'
    body = "{ k = Concat <axis = 0> (c, x) s = ReduceSum <keepdims = 0> (k) y = Exp(s) }"
    runs = tolcost.generate(tolcost.from_onnx(parse_model(head + body)), "past: 0..n")
    with pytest.raises(Rejected, match="times are of one run"):
        runs.time("h200")


def test_a_bound_that_data_may_undercut_says_so(capsys, tmp_path):
    """Where data chooses, counts are at most what is said, and nothing is at least the time they take."""
    program = tmp_path / "chosen.tol"
    product = "reduce(a[i], (s, e) => s + e * a[u, j], 0, [u])"
    for body, said in ((product, False), (f"choose(c > 0, {product}, 0)", True)):
        program.write_text(
            f"tol c: R\ntol a: R [n, n]\ny := map(tol[n, n], {body}, [i, j])", encoding="utf-8"
        )
        text = output(capsys, "analyze", str(program), "--device", "h200", "--dim", "n=64")
        assert ("unless data chooses less work" in text) == ("if data chooses the dearest" in text) == said


def test_a_device_that_only_has_peaks_has_no_column_of_predictions(bert, tmp_path, capsys):
    (tmp_path / "mine.toml").write_text("\ufeff" + PEAKS, encoding="utf-8")
    there = (
        "model",
        str(bert),
        "--dim",
        "batch=2",
        "--dim",
        "seq=5",
        "--device",
        str(tmp_path / "mine.toml"),
    )
    text = output(capsys, *there)
    assert "on mine" in text
    assert not [word for word in ("predicted", "no kernel") if word in text]
    assert "mine has no peak for products in float32: bytes alone bound them" in text
    found = json.loads(output(capsys, *there, "--format", "json"))["time"]
    assert {group["tested"] for group in found["groups"]} == {"nothing was fitted"}


def test_what_binds_changes_only_at_lengths_that_the_model_allows(capsys, tmp_path):
    """Two of four products are alike; up to 1,024 rows all of them are bound by launches."""
    text = """<ir_version: 9, opset_import: ["" : 17]>
        g (float[n, 64] x, float[64, 64] a, float[64, 96] b, float[96, 64] c) => (float[n, 64] y) {
            u = MatMul(x, b) v = MatMul(u, c) w = MatMul(v, a) y = MatMul(w, a) }"""
    onnx.save(parse_model(text), tmp_path / "m.onnx")
    there = ("model", str(tmp_path / "m.onnx"), "--device", "h200")
    assert "2 of 4 MatMul are bound by launches below n = " in output(capsys, *there)
    bounded = output(capsys, *there, "--assume", "n <= 1024")
    assert "bound by launches below" not in bounded
    row = next(line for line in bounded.splitlines() if line.startswith("MatMul") and "median" in line)
    assert re.fullmatch(r"MatMul +4( +\d\S* [µm]s){2} +launches .*", row)  # numbers, at the example above


def test_the_gate_tells_times_in_microseconds(tmp_path, monkeypatch, capsys):
    """They were attoseconds without a unit, beside a budget in others; and settings may begin with a mark."""
    (tmp_path / "mm.tol").write_text(MATMUL.read_text(encoding="utf-8"), encoding="utf-8")
    budget = (
        '\ufeffmetrics = ["time_h200"]\n[budgets]\n"mm.tol" = ["time_h200 <= 1 us at n=64, k=64, m=64"]\n'
    )
    (tmp_path / "tolcost.toml").write_text(budget, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["check", "--update"]) == 1
    assert "at n=64, k=64, m=64: 6.97 µs, allowed 1.00 µs" in capsys.readouterr().out
    twice = "tol x: R [n]\ny := map(x, exp(*))\nz := map(x, log(*))"
    (tmp_path / "old.tol").write_text("tol x: R [n]\ny := map(x, exp(*))", encoding="utf-8")
    (tmp_path / "new.tol").write_text(twice, encoding="utf-8")
    run(["diff", "old.tol", "new.tol", "--device", "h200", "--dim", "n=1000000"])
    assert "6.20 µs -> " in (said := capsys.readouterr().out)  # 4.46 + 10**6/574500
    assert "closed forms of time_h200" in said


def test_a_bound_says_wherever_it_stands_that_it_is_for_this_arithmetic(bert, capsys):
    """A fast Fourier transform takes a 27th of what its definition takes *at least*."""
    there = ("model", str(bert), "--dim", "batch=2", "--dim", "seq=5", "--device", "h200")
    for form in ("text", "md", "html"):
        told = output(capsys, *there, "--format", form).replace("<br>", " ")
        assert "h200 at least for this arithmetic" in told
    assert re.search(r"^on h200 .*  at least for this arithmetic  ", output(capsys, *there), re.MULTILINE)
    assert "arithmetic_bound_us" in output(capsys, *there, "--format", "csv")
    found = json.loads(output(capsys, *there, "--format", "json"))["time"]
    assert "bound" not in (*found, *found["at"], *found["groups"][0], *found["groups"][0]["at"])


FLOYD_WARSHALL = """tol e: R [n, n]
relax(d, k) = map(tol[n, n], min(d[i, j], d[i, k] + d[k, j]), [i, j])
y := reduce(tol[n], (d, z) => relax(d, k), e, [k])
"""


def test_functions_that_are_no_products_take_time_too(capsys, tmp_path):
    """2n^3 additions and minima, each waiting for others, were "at least 14.85 µs", predicted as a stream."""
    time = tolcost.analyze(FLOYD_WARSHALL, dims={"n": 4096}).time("h200")
    assert float(time.arithmetic_bound) == pytest.approx(2 * 4096**3 / 33_454_080, rel=1e-6)
    assert time.predicted is None
    assert time.limits == {"operations": 1}
    (tmp_path / "fw.tol").write_text(FLOYD_WARSHALL, encoding="utf-8")
    said = output(capsys, "analyze", str(tmp_path / "fw.tol"), "--device", "h200")
    assert "h200 predicted  none: a fold carries a matrix from step to step; predictions are for one" in said


@pytest.mark.parametrize(
    "program, predicted",
    [
        ("tol x: R [n]\ny := reduce(x, add, 0)", True),
        ("tol x: R [n]\ny := reduce(x, (a, e) => a - e, 0)", True),
        ("tol x: R [m, n]\ny := reduce(x, add, tol[n])", True),
        ("tol x: R [n]\na := map(x, exp(*))\nb := map(x, sqrt(*))", True),
        ("tol x: R [n]\ny := reduce(x, (a, e) => sqrt(a) + e, 0)", False),
        ("tol x: R [n]\na = map(x, exp(*))\ny := reduce(a, add, 0)", False),
        ("tol x: R [n]\nattr t: N\ny := reduce(tol[t], (v, z) => map(v, * + v[1]), x)", False),
        ("tol x: R [n]\ny := map(tol[n], reduce(x, (a, e) => a * x[i] + e, 0), [i])", False),
    ],
)
def test_a_prediction_is_of_one_kernel(program, predicted):
    assert (tolcost.analyze(program).time("h200").predicted is not None) == predicted


def test_a_loop_of_a_model_is_not_predicted():
    body = "b (int64 i, bool c, float[4] v) => (bool d, float[4] w) { d = Identity(c) w = Sin(v) }"
    loop = "y = Loop <body = " + body + "> (t, c, x)"
    text = (
        '<ir_version: 9, opset_import: ["" : 17]> g (int64 t, bool c, float[4] x) => (float[4] y) { '
        + loop
        + " }"
    )
    time = tolcost.from_onnx(parse_model(text)).time("h200")
    assert time.arithmetic_bound is not None
    assert time.predicted is None


def test_pairs_of_functions_may_be_one_instruction(tmp_path):
    """A product and a sum, a comparison and a selection; of two spaces, neither waits for the other."""
    rates = "[peak.operations]\nR = 10\nfloat64 = 5\n"
    (tmp_path / "mine.toml").write_text(PEAKS.replace("100", "1_000_000") + rates, encoding="utf-8")
    for body, instructions in (
        ("* * 3 + 2", 1),
        ("where(* < 3, *, 2)", 1),
        ("exp(neg(*)) + 1", 2),
        ("convert(*, float64) + 1.0", 2),
        ("max(* - 1, 0) * 2", 2),
    ):
        program = f"tol x: R [n]\ny := map(x, {body})"
        found = tolcost.analyze(program, dims={"n": 10**6}).time(tmp_path / "mine.toml").arithmetic_bound
        assert float(found) == instructions * 10**5, body


@pytest.mark.parametrize(
    "nodes, weights, loaded",
    [
        ("t = Transpose(w) y = MatMul(x, t)", "float[32, 64] w", 1),
        ("s = Mul(w, c) t = Transpose(s) y = MatMul(x, t)", "float[32, 64] w, float[1] c", 2),
        (
            "c = Constant<value = float[1] c {2}>() s = Mul(w, c) t = Transpose(s) y = MatMul(x, t)",
            "float[32, 64] w",
            3,
        ),
        ("t = Cast<to=1>(w) y = MatMul(x, t)", "float16[64, 32] w", 0),  # it would take more memory
        ("s = RandomNormalLike(w) y = MatMul(x, s)", "float[64, 32] w", 0),  # another one in each run
        ("s = Transpose(x) t = MatMul(w, s) y = Transpose(t)", "float[32, 64] w", 0),
    ],
)
def test_what_is_made_of_parameters_alone_takes_no_time_in_a_run(nodes, weights, loaded):
    """As if the file held the result; what is counted is the file's own work as ever."""
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[n, 64] x) => (float[n, 32] y)'
    found = []
    for held, body in ((weights, nodes), ("float[64, 32] t", "y = MatMul(x, t)")):
        model = parse_model(f"{text} <{held}> {{ {body} }}")
        for info in model.graph.value_info:
            kind = info.type.tensor_type
            shape = [d.dim_value for d in kind.shape.dim]
            zeros = bytes(prod(shape) * (2 if kind.elem_type == TensorProto.FLOAT16 else 4))
            model.graph.initializer.append(make_tensor(info.name, kind.elem_type, shape, zeros, raw=True))
        del model.graph.value_info[:]
        found.append(tolcost.from_onnx(model))
    given, ready = found
    assert len(given.study.loaded) == loaded
    said = f"without {loaded} node{'s' * (loaded > 1)} of parameters alone, computed at loading"
    assert given.study.untimed == (said if loaded else "")
    if loaded:
        for name in ("bound", "predicted", "whole"):
            alike = [getattr(cost.study.times(load_device("h200")), name) for cost in (given, ready)]
            assert alike[0].attoseconds == alike[1].attoseconds, name
