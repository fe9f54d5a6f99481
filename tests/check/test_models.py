"""Whole models under the gate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import onnx
import pytest
from onnx import TensorProto, helper

from tests.check.support import Project, lock_line
from tests.check.texts import SUM
from tests.result.test_point import EXPORTED


def model(
    project: Project, *nodes: tuple[str, Sequence[str], str], name: str = "net.onnx", width: int = 4
) -> None:
    made = [helper.make_node(op, list(inputs), [output], name=output) for op, inputs, output in nodes]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", width])
    y = helper.make_tensor_value_info(nodes[-1][2], TensorProto.FLOAT, None)
    w = helper.make_tensor("w", TensorProto.FLOAT, [width, 3], [1.0] * (3 * width))
    graph = helper.make_graph(made, "net", [x], [y], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), project.root / name)


LINEAR = ("MatMul", ("x", "w"), "y")
RELU = ("Relu", ("y",), "z")
UNKNOWN = ("RandomNonsense", ("y",), "z")


def test_a_model_is_locked(project: Project) -> None:
    model(project, LINEAR)
    project.file("tolcost.toml", 'metrics = ["eops", "flops", "macs", "bytes", "params"]\n')
    assert project.check("--update").code == 0
    lines = project.lock.splitlines()
    assert lock_line("net.onnx", "eops", "exact", "24*batch") in lines
    assert lock_line("net.onnx", "inputs", ["x", [["float32", ["batch", "4"]]]]) in lines
    assert lock_line("net.onnx", "macs", "exact", "12*batch") in lines
    assert lock_line("net.onnx", "params", "exact", "12") in lines


def test_a_costlier_model_names_the_operator(project: Project) -> None:
    model(project, LINEAR)
    project.locked()
    model(project, LINEAR, RELU)
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert said.code == 1
        assert "  eops    costlier (never cheaper)  24*batch       27*batch       3*batch\n" in said.out
        assert "    Relu was 0, is 3*batch\n" in said.out


def chain(project: Project, widths: Sequence[int], names: str = "/layers.{}/MatMul") -> None:
    """A model of products, one after the other."""
    made = [
        helper.make_node("MatMul", [f"h{n}", f"w{n}"], [f"h{n + 1}"], name=names.format(n))
        for n in range(len(widths) - 1)
    ]
    weights = [
        helper.make_tensor(f"w{n}", TensorProto.FLOAT, pair, [0.0] * (pair[0] * pair[1]))
        for n, pair in enumerate(pairwise(widths))
    ]
    x = helper.make_tensor_value_info("h0", TensorProto.FLOAT, ["batch", widths[0]])
    y = helper.make_tensor_value_info(f"h{len(widths) - 1}", TensorProto.FLOAT, None)
    graph = helper.make_graph(made, "net", [x], [y], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), project.root / "net.onnx"
    )


@pytest.mark.parametrize(
    "widths, names, told",
    [
        (
            [4, 8, 16, 3],
            "/layers.{}/MatMul",
            "most in /layers.1/MatMul (was 128*batch, is 256*batch) and in 1 more",
        ),
        ([4, 8, 9, 3], "node_{}", "most in node_1 (was 128*batch, is 144*batch) and in 1 more"),
        ([4, 8, 8, 8, 3], "node_{}", "most in node_2 (new, 128*batch)"),  # names are others, nodes the same
    ],
)
def test_a_costlier_model_names_the_node(project: Project, widths: list[int], names: str, told: str) -> None:
    chain(project, [4, 8, 8, 3])
    project.locked()
    chain(project, widths, names)
    for against in ("", "--base HEAD"):
        assert f"; {told}" in project.check(against).out


def test_an_input_of_another_size_is_named(project: Project) -> None:
    chain(project, [4, 8, 3])
    project.locked()
    chain(project, [3, 8, 3])
    said = project.check()
    assert said.code == 3
    assert "the input `h0` was float32[batch, 4] and is float32[batch, 3]: each is costed" in said.out


def test_nodes_that_are_not_costed_are_told_though_nothing_changed(project: Project) -> None:
    model(project, LINEAR, UNKNOWN)
    project.locked()
    for _ in range(2):  # from a seal, too
        said = project.check()
        assert said.code == 0
        assert "note: some nodes are not costed, and a change of them is not seen, in net.onnx" in said.out


def test_a_model_that_is_not_costed_is_not_cheaper(project: Project) -> None:
    model(project, LINEAR, RELU)
    project.locked()
    model(project, LINEAR, UNKNOWN)
    said = project.check()
    assert said.code == 3
    assert "    some nodes are not costed\n" in said.out


def test_a_budget_for_a_model(project: Project) -> None:
    model(project, LINEAR)
    project.file("tolcost.toml", '[budgets]\n"*.onnx" = "batch=1000: 24 kFLOP"\n')
    project.locked()
    assert project.check().code == 0
    project.file("tolcost.toml", '[budgets]\n"*.onnx" = "batch=1000: 23.9 kFLOP"\n')
    assert project.check().code == 1


def test_a_budget_for_memory(project: Project) -> None:
    """While `z` is computed from `y`, both are there: 2 * 3 floats for each of the batch."""
    model(project, LINEAR, RELU)
    project.file("tolcost.toml", '[budgets]\n"*.onnx" = "peak <= 28 kB at batch=1000"\n')
    said = project.check("--update")
    assert said.code == 2
    assert 'in the settings: `metrics = ["bytes", "eops", "flops", "macs", "peak_bytes"]`' in said.err
    metrics = 'metrics = ["eops", "peak", "params", "param_bytes"]\n'
    weights = '"params <= 12", "param_bytes <= 48 B"'
    for limit, code in (("<= 28 kB", 0), ("< 28 kB", 1), ("<= 27.9 kB", 1)):
        budgets = f'[budgets]\n"*.onnx" = ["peak {limit} at batch=1000", {weights}]\n'
        project.file("tolcost.toml", metrics + budgets)
        assert project.check("--update").code == code
    assert lock_line("net.onnx", "peak_bytes", "exact", "28*batch") in project.lock
    assert lock_line("net.onnx", "param_bytes", "exact", "48") in project.lock


def test_a_peak_that_is_not_known_is_at_least_that(project: Project) -> None:
    model(project, LINEAR, UNKNOWN)
    project.file("tolcost.toml", 'metrics = ["peak"]\n')
    project.check("--update")
    assert '"peak_bytes", "incomplete", ' in project.lock


def test_cases_of_a_model(project: Project) -> None:
    model(project, LINEAR)
    project.file("tolcost.toml", '[cases."net.onnx".wide]\nshapes = { x = ["rows", 4] }\n')
    project.locked()
    assert lock_line("net.onnx#wide", "eops", "exact", "24*rows") in project.lock
    project.file("tolcost.toml", '[cases."net.onnx".wide]\nattrs = { mode = "x" }\n')
    assert project.check().code == 2


def test_broken_models_are_told(project: Project) -> None:
    model(project, LINEAR)
    project.write(sum=SUM)
    project.locked()
    project.file("net.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    said = project.check()
    assert said.code == 2
    assert said.out.startswith("not readable: 1 broken, 1 unchanged (2 programs against tolcost.lock)\n")


def test_a_renamed_model_is_followed(project: Project) -> None:
    model(project, LINEAR)
    project.locked()
    (project.root / "net.onnx").rename(project.root / "model.onnx")
    said = project.check("--base HEAD")
    assert (said.code, "  renamed from net.onnx\n" in said.out) == (0, True)


@pytest.mark.parametrize("where", ["batch=4, seq=3", "batch=1, seq=65", "seq=65"])
def test_a_budget_at_lengths_that_the_model_does_not_allow(where: str, project: Project) -> None:
    (project.root / "net.onnx").write_bytes(EXPORTED.read_bytes())
    project.locked()
    project.file("tolcost.toml", '[budgets]\n"net.onnx" = ["seq=64: 1 TFLOP"]\n')
    assert project.check().code == 0
    project.file("tolcost.toml", f'[budgets]\n"net.onnx" = ["{where}: 1 TFLOP"]\n')
    said = project.check()
    assert said.code != 0, said.out


STEP = """metrics = ["eops", "peak", "kept", "train_peak", "state_bytes", "gradient_bytes"]
[cases."net.onnx"]
run = {}
step = { train = "adamw" }
half = { train = { optimizer = "sgd", precision = "bf16-mixed" } }
[budgets]
"net.onnx#step" = ["train_peak <= 1 MB at batch=4"]
"""


def test_a_step_of_training(project: Project) -> None:
    """A case with `train` has the figures of a step, which fails when more is kept."""
    tanh = ("Tanh", ("y",), "z")
    model(project, LINEAR, tanh)
    project.file("tolcost.toml", STEP)
    assert project.check("--update").code == 0
    assert lock_line("net.onnx#step", "kept", "exact", "12*batch") in project.lock
    assert lock_line("net.onnx#step", "state_bytes", "exact", "96") in project.lock
    assert lock_line("net.onnx#half", "kept", "exact", "6*batch") in project.lock
    assert not [line for line in project.lock.splitlines() if '"net.onnx#run", "kept"' in line]
    assert not [line for line in project.lock.splitlines() if '"net.onnx#step", "peak_bytes"' in line]
    model(project, LINEAR, tanh, ("Exp", ("z",), "q"))
    said = project.check()
    assert said.code == 1
    assert "kept" in said.out
    project.file("tolcost.toml", STEP.replace("1 MB", "100 B"))
    assert "train_peak" in project.check().out
    rested = [line for line in project.lock.splitlines() if '"net.onnx#step","uses"' in line.replace(" ", "")]
    assert any("optimizers/adamw.tol" in line for line in rested)
    assert any("backward/sum.tol" in line for line in rested)


@pytest.mark.parametrize(
    "train, told",
    [
        ('"adamx"', "no optimiser"),
        ("3", "`train` is an optimiser"),
        ('{ optimizer = "sgd", accumulate = 0 }', "at least 1 run"),
        ('{ optimizer = "sgd", speed = 1 }', "speed"),
        ("{ accumulate = 2 }", "`train` is an optimiser"),
    ],
)
def test_no_step_of_training(train: str, told: str, project: Project) -> None:
    model(project, LINEAR)
    project.file("tolcost.toml", f'[cases."net.onnx"]\nstep = {{ train = {train} }}\n')
    said = project.check("--update")
    assert said.code == 2
    assert told in said.out + said.err
