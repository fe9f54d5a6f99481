"""Times follow what PyTorch does by itself: which kernels run, what is a view, what is done once."""

import csv
import json
from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost
from tests.result.test_model_command import output
from tolcost.cli import run
from tolcost.cost.device import parse_device
from tolcost.diagnostics import Rejected

TIMES = Path(__file__).parents[2] / "reports" / "data" / "h200" / "times.csv"
RECORDED = [
    row
    for row in csv.DictReader(TIMES.read_text(encoding="utf-8").splitlines())
    if row["name"] in ("Attention flash", "Attention fused", "Attention causal")
]


def attention(type_: str, shape: str, options: str = "", outputs: str = "y", last: str = "") -> str:
    """Return a model of one Attention node on queries, keys and values of one shape."""
    given = ", ".join(f"{type_}[{shape}] {name}" for name in "qkv")
    return (
        f'<ir_version: 10, opset_import: ["" : 23]> g ({given}) => ({type_}[{shape}] y{last}) '
        f"{{ {outputs} = Attention {options} (q, k, v) }}"
    )


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['name']} {row['size']}")
def test_attention_goes_by_the_fused_kernel_that_pytorch_takes_by_itself(row):
    """It was predicted in parts, nineteen times the recorded time, which turned a comparison round."""
    at = dict(part.split("=") for part in row["size"].split())
    options = "<is_causal = 1>" if row["name"].endswith("causal") else ""
    shape = ", ".join(at[name] for name in "bgtd")
    cost = tolcost.from_onnx(parse_model(attention(row["type"].replace("float32", "float"), shape, options)))
    assert float(cost.time("h200").predicted) == pytest.approx(float(row["us_1"]), rel=0.75)


def test_attention_runs_in_parts_where_no_fused_kernel_does_it(tmp_path, capsys):
    def tested(text: str) -> str:
        (tmp_path / "a.onnx").write_bytes(parse_model(text).SerializeToString())
        return output(capsys, "model", str(tmp_path / "a.onnx"), "--device", "h200")

    shape = "2, 8, 4096, 64"
    last = ", bfloat16[2, 8, 4096, 4096] qk"
    for text in (
        attention("bfloat16", shape, "<softcap = 30.0>"),
        attention("bfloat16", shape, outputs="y, , , qk", last=last),
    ):
        assert "as attention in parts bfloat16, not tested on others" in tested(text)
    for text in (attention("bfloat16", shape), attention("bfloat16", shape, "<softcap = 0.0>")):
        said = tested(text)
        assert "as attention bfloat16 (fused, assumed), off by 18 % at the median" in said


def test_other_kernels_are_stated_alternatives(tmp_path, capsys):
    """With ``--engine parts`` attention takes what was recorded of it in parts; others are named."""
    (tmp_path / "a.onnx").write_bytes(
        parse_model(attention("bfloat16", "4, 12, 512, 64")).SerializeToString()
    )

    def said(*given: str) -> str:
        return output(capsys, "model", str(tmp_path / "a.onnx"), "--device", "h200", *given)

    plain, parts = said(), said("--engine", "parts")
    assert "as pytorch: PyTorch without a compiler, a kernel for each call, attention fused" in plain
    assert "as parts: PyTorch without a compiler, attention in parts" in parts
    taken = {
        name: float(tolcost.load_model(tmp_path / "a.onnx").time("h200", name).predicted)
        for name in ("pytorch", "parts", "transformers", "fused")
    }
    recorded = next(
        float(row["us_1"])
        for row in csv.DictReader(TIMES.read_text(encoding="utf-8").splitlines())
        if (row["name"], row["type"], row["size"]) == ("Attention math", "bfloat16", "b=4 g=12 t=512 d=64")
    )
    assert taken["parts"] == pytest.approx(recorded, rel=0.35)
    assert taken["pytorch"] == taken["transformers"] == taken["fused"] < taken["parts"] / 5
    assert f"with --engine parts {taken['parts']:.0f} µs" in plain
    assert f"with --engine pytorch {taken['pytorch']:.1f} µs" in parts
    told = json.loads(said("--engine", "fused", "--format", "json"))
    assert told["time"]["engine"] == "fused"


def test_an_engine_is_for_a_device_on_which_its_kernels_were_recorded(tmp_path, capsys):
    model = tmp_path / "a.onnx"
    model.write_bytes(parse_model(attention("float", "1, 1, 4, 4")).SerializeToString())
    (tmp_path / "d.toml").write_text(
        'name = "d"\n[peak]\nbytes = 1\n[peak.macs]\n[fitted]\nbandwidth = 1\n[[fitted.group]]\n'
        'pattern = "stream"\nquantity = "bytes"\nstart = 1\nrate = 1\n'
    )
    for given, why in (
        (["--engine", "parts"], "--engine is for --device"),
        (["--engine", "parts", "--device", "h100"], "h100 was not"),
        (["--engine", "parts", "--device", str(tmp_path / "d.toml")], "attention in parts"),
        (["--engine", "best", "--device", "h200"], "'best' is not one of"),
    ):
        assert run(["model", str(model), *given]) == 2
        assert why in capsys.readouterr().err
    with pytest.raises(Rejected, match="no engine"):
        tolcost.load_model(model).time("h200", "best")


@pytest.mark.parametrize(
    "text, kernels",
    [
        ("u = MatMul(x, w) y = Add(u, b)", 1),
        ("u = MatMul(x, w) y = Add(b, u)", 1),
        ("u = MatMul(x, w) v = Add(u, b) y = Mul(v, u)", 3),  # the product is read again
        ("u = MatMul(x, w) y = Add(u, c)", 2),  # not a vector of parameters
        ("u = MatMul(x, w) y = Mul(u, b)", 2),  # not a sum
        ("u = Exp(x) y = Add(u, b)", 2),  # not a product
    ],
)
def test_a_bias_is_added_by_the_kernel_of_the_product(text, kernels):
    """So torch.nn.Linear does it, which exporters write as a product and an addition."""
    head = (
        '<ir_version: 10, opset_import: ["" : 17]> g (float[n, 64] x, float[64, 64] w, float[n, 64] c)'
        " => (float[n, 64] y) <float[64] b = {" + ", ".join(["1"] * 64) + "}> { "
    )
    cost = tolcost.from_onnx(parse_model(head + text + " }"), dims={"n": 16})
    assert sum(cost.time("h200").limits.values()) == kernels


def test_mistakes_in_what_an_operator_does_otherwise_are_told():
    start = (
        'name = "d"\n[peak]\nbytes = 1\n[peak.macs]\n[fitted]\nbandwidth = 1\n[[fitted.group]]\n'
        'pattern = "stream"\nquantity = "bytes"\nstart = 1\nrate = 1\n[fitted.operators]\nA = '
    )
    for habit, said in (
        ('{ unless = "softcap", otherwise = { kernels = 2 } }', "unless is a list of inputs"),
        ('{ unless = ["softcap"] }', "otherwise is a table"),
        ('{ unless = ["softcap"], otherwise = { kernel = 2 } }', "fitted.operators.A.otherwise.kernel"),
    ):
        with pytest.raises(Rejected, match=said):
            parse_device(start + habit)
