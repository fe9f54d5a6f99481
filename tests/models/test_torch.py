"""Modules of PyTorch: stored exports are costed everywhere; where torch is installed, they are made anew."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tolcost
from tolcost.apps.torch.command import read_inputs
from tolcost.cli import run
from tools import readme

EXPORTED = Path(__file__).parent / "exported"


def test_stored_exports_cost_what_a_hand_calculation_says() -> None:
    decoder = tolcost.load_model(EXPORTED / "decoder.onnx")
    width, words, heads = 32, 100, 4
    for batch, seq, past in ((1, 1, 7), (2, 5, 3)):
        layer = 4 * width * width + 2 * (past + seq) * width
        assert decoder(batch=batch, seq=seq, past=past).macs == batch * seq * (2 * layer + width * words)
    assert decoder.inputs[1].type[0].shape[3] == heads
    images = tolcost.load_model(EXPORTED / "convolutional.onnx")
    assert images(batch=2, h=9, w=11).macs == 2 * (4 * 5 * 8 * 27 + 80)


OTHERS = {"m.pt": "tolcost torch", "m.keras": 'format="onnx"', "m.pb": "tf2onnx", "m.mlir": "jax2onnx"}


@pytest.mark.parametrize("name, said", OTHERS.items())
def test_files_of_others_are_told_what_to_type(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(tolcost.Rejected) as caught:
        tolcost.load_model(tmp_path / name)
    assert said in (caught.value.hint or "")


def test_objects_of_others_are_told_what_to_type() -> None:
    for package, said in (("keras.src.models", "Keras"), ("torch.nn", "from_torch"), ("jaxlib", "jax2onnx")):
        subject = type("Model", (), {"__module__": package})()
        with pytest.raises(tolcost.Rejected) as caught:
            tolcost.from_onnx(subject)
        assert said in (caught.value.hint or "")
    with pytest.raises(tolcost.Rejected, match="`int` is not an ONNX model"):
        tolcost.from_onnx(3)  # type: ignore[arg-type]


def test_what_inputs_are_is_read() -> None:
    assert read_inputs(["x = [batch, 3]", "ids:int64=batch,seq"]) == {
        "x": ("float32", ("batch", 3)),
        "ids": ("int64", ("batch", "seq")),
    }
    assert read_inputs(["scale="]) == {"scale": ("float32", ())}
    for wrong in ("x", "x:text=3", "x=2*n", "=3"):
        assert run(["torch", "m:f", "--shape", wrong]) == 2


# ---- with torch ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["convolutional", "decoder", "experts"])
def test_exports_are_what_is_stored(name: str) -> None:
    pytest.importorskip("torch")
    from tools.models.torch_modules import export

    stored, fresh = tolcost.load_model(EXPORTED / f"{name}.onnx"), tolcost.from_onnx(export(name))
    assert (fresh.eops, fresh.macs, fresh.params) == (stored.eops, stored.macs, stored.params)


def test_a_module_without_weights_costs_the_same() -> None:
    torch = pytest.importorskip("torch")
    from tools.models.torch_modules import Decoder

    inputs = {"ids": (4, 8), "cache": (2, 2, 4, 4, 16, 8)}
    open_ = {"ids": {0: "batch", 1: "seq"}, "cache": {2: "batch", 4: "past"}}
    with torch.device("meta"):
        module = Decoder().eval()
        given = {"ids": torch.zeros(inputs["ids"], dtype=torch.int64), "cache": torch.zeros(inputs["cache"])}
    cost = tolcost.from_torch(module, kwargs=given, dynamic_shapes=open_)
    stored = tolcost.load_model(EXPORTED / "decoder.onnx")
    assert (cost.macs, cost.coverage.missing) == (stored.macs, ())


def test_the_command_costs_a_module(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    saved = tmp_path / "kept.onnx"
    shape, rest = ["--shape", "x=batch,3,h,w"], ["--save", str(saved), "--format", "json", "--dim", "batch=2"]
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", "torch", "tools.models.torch_modules:Convolutional", *shape, *rest],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    stored = tolcost.load_model(EXPORTED / "convolutional.onnx", {"batch": 2})
    assert json.loads(done.stdout)["totals"]["macs"] == json.loads(stored.to_json())["totals"]["macs"]
    assert tolcost.load_model(saved, {"batch": 2}).macs == stored.macs
    assert run(["torch", "tools.models.torch_modules:Nothing", *shape]) == 2
    assert run(["torch", "tools.models.torch_modules:Convolutional", "--shape", "x=batch,3"]) == 2


@pytest.mark.parametrize(
    "module, shape, said",
    [
        ("Narrow", "input=n,5", "RuntimeError: a and b must have same reduction dim"),
        ("Narrow", "input=n,5", "hint: a length of --shape does not fit"),
        ("Positions", "ids=n", "hint: indices are integers: --shape INPUT:int64"),
        ("Positions", "ids:int64=n,seq", "hint: a length has a limit: --assume 'NAME <= 16'"),
        ("Branching", "x=n", "hint: data decides a branch"),
        ("needing", "x=n", "hint: write a function without arguments"),
        ("Narrow", "y=n,4", "TypeError: missing a required argument: 'input'"),
        ("Narrow", "y=n,4", "the arguments are forward(input: "),
        ("Branching", "x=n", "Could not guard on data-dependent expression"),
        ("Unmade", "x=n", "fails when it is called without arguments: RuntimeError: no luck"),
        ("needing", "x=n", "fails when it is called without arguments: TypeError: needing() missing 1"),
        ("NUMBER", "x=n", "is no torch.nn.Module, but int"),
    ],
)
def test_what_is_wrong_with_a_module_is_told(
    module: str, shape: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    assert run(["torch", f"tests.models.torch_mistakes:{module}", "--shape", shape]) == 2
    out, err = capfd.readouterr()
    assert said in err
    assert "Traceback" not in out + err


def test_lengths_to_trace_with_are_within_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    """A slice of 16 learned positions does not fit longer ones; an image has a multiple of 8 pixels."""
    pytest.importorskip("torch")
    target = "tests.models.torch_mistakes:Positions"
    shape = ["--shape", "ids:int64=batch,seq", "--assume", "seq <= 16"]
    assert run(["torch", target, *shape]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Positions  {target}\n")
    assert "seq <= 16" in said
    assert "seq = 16" in said
    assert run(["torch", "tests.models.torch_mistakes:Narrow", "--shape", "input=8*h,4"]) == 0
    assert "float32 [8*h, 3]" in capsys.readouterr().out


def test_a_module_in_training_mode_is_told() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))
    for training in (True, False):
        cost = tolcost.from_torch(module.train(training), (torch.zeros(2, 4),))
        assert ("training mode" in str(cost)) is training


@pytest.mark.parametrize("text", ["def f(:", "raise ValueError('no')", "import sys\nsys.exit(0)"])
def test_a_file_that_cannot_be_imported_is_told(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "unread.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "unread", raising=False)
    assert run(["torch", "unread:f", "--shape", "x=n"]) == 2
    assert "`unread` cannot be imported: " in capsys.readouterr().err


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    env = {**os.environ, "PYTHONPATH": str(readme.ROOT)}
    for command in readme.run_by(readme.TORCH):
        subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=tmp_path, env=env, check=True)


def test_attention_is_one_operator_unless_an_older_opset_is_asked_for() -> None:
    """torch's own choice of opset writes the scores to memory: 14 times the bytes of a language model."""
    torch = pytest.importorskip("torch")
    from tests.models.torch_mistakes import Attending

    inputs = (torch.zeros(2, 4, 8, 16),) * 3
    open_ = ({0: "batch", 2: "seq"},) * 3
    whole = tolcost.from_torch(Attending(), inputs, open_)
    parts = tolcost.from_torch(Attending(), inputs, open_, opset=20)
    assert "Attention" in whole.to_json()
    assert "several operators" not in whole.to_json()
    noted = {one["about"]: one["value"] for one in json.loads(parts.to_json())["notes"]}
    assert noted["attention"] == "1 call is written as several operators"
    assert whole(batch=1, seq=512).bytes * 4 < parts(batch=1, seq=512).bytes
    with pytest.raises(tolcost.Rejected, match="no opset 7"):
        tolcost.from_torch(Attending(), inputs, open_, opset=7)


def test_options_are_checked_before_anything_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    target = "tests.models.torch_mistakes:Unmade"
    for wrong in (["--fromat", "json"], ["--by", "colour"]):
        assert run(["torch", target, "--shape", "x=n", *wrong]) == 2
        assert "no luck" not in capsys.readouterr().err


def test_the_parameters_of_the_module_stand_beside_those_of_the_file() -> None:
    """An exporter merges equal tensors, and folds a norm: the file has fewer parameters than the module."""
    torch = pytest.importorskip("torch")

    class Norms(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = torch.nn.LayerNorm(8), torch.nn.LayerNorm(8)
            self.convolution, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)

        def forward(self, x, y):
            return self.other(self.one(x)), self.norm(self.convolution(y))

    cost = tolcost.from_torch(Norms().eval(), (torch.zeros(2, 8), torch.zeros(1, 3, 8, 8)))
    noted = {one["about"]: one for one in json.loads(cost.to_json())["notes"]}
    assert cost.params == 128
    assert noted["module"]["value"] == "152 parameters of its own, and 9 elements of buffers"
    assert noted["module"]["note"].startswith("the file holds 128: exporters merge equal tensors")
    assert noted["shared"]["value"] == "2 tensors of 16 parameters"


def test_a_softmax_in_another_type_is_kept_in_that_type() -> None:
    """The exporter computes it in the type of its input, and autograd keeps the result, of 32 bits."""
    torch = pytest.importorskip("torch")

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.rand(8, 64, dtype=torch.bfloat16))
            self.v = torch.nn.Parameter(torch.rand(64, 8, dtype=torch.bfloat16))

        def forward(self, x):
            y = torch.softmax(x @ self.w, -1, dtype=torch.float32).to(x.dtype)
            return torch.log_softmax(y @ self.v, -1, torch.float32)

    module, x = Scores(), torch.rand(32, 8, dtype=torch.bfloat16)
    saved: dict[int, int] = {}

    def note(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = module(x)
    for held in (x, *module.parameters()):
        saved.pop(held.untyped_storage().data_ptr(), None)
    step = tolcost.from_torch(module.train(), (x,), ({0: "n"},)).training("sgd")(n=32)
    result = y.numel() * y.element_size()  # a result of the model, which backward reads
    assert step.kept in (sum(saved.values()), sum(saved.values()) - result)
    assert sum(saved.values()) == 32 * 64 * (4 + 2) + result
