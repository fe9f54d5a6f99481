"""The catalogue as data: every operator of ONNX, with its standing, its figures and its closed form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from onnx import defs

from tolcost.algebra.parse import parse_text
from tolcost.cli import ops, run

Operators = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def listed() -> Operators:
    with pytest.MonkeyPatch.context() as patch:
        texts: list[str] = []
        patch.setattr(ops, "deliver", lambda text, *_: texts.append(text))
        assert run(("ops", "--format", "json")) == 0
    record = json.loads(texts[0])
    assert (record["tolcost"], record["kind"], record["tests"]) == (1, "ops", "stored")
    return {f"{one['domain']}.{one['name']}": one for one in record["operators"]}


def test_every_live_operator_is_there(listed: Operators) -> None:
    live = {f"{s.domain or 'ai.onnx'}.{s.name}" for s in defs.get_all_schemas() if not s.deprecated}
    assert live <= listed.keys()
    assert not [name for name in live if listed[name]["status"] == "missing"]


def test_what_is_outside_says_why_and_the_rest_is_defined(listed: Operators) -> None:
    for one in listed.values():
        assert one["about"]
        if one["status"] == "outside":
            assert one["form"] is None
        else:
            assert one["signature"].startswith(f"{one['name']}(")
    core = [one for one in listed.values() if one["domain"] == "ai.onnx"]
    assert sum(one["status"] == "outside" for one in core) < 15


def test_figures_are_of_the_tests(listed: Operators) -> None:
    for one in listed.values():
        tests = one["tests"]
        assert 0 <= tests["pass"] <= tests["cases"]
        if one["status"] == "verified":
            assert tests["pass"] == tests["cases"] > 0
    assert sum(one["tests"]["cases"] for one in listed.values()) > 1_300


def test_nearly_every_definition_has_a_form(listed: Operators) -> None:
    """Those without need a graph or a table that only a model has, and no test of ONNX gives one.

    Operators of other domains have a form where the shapes that they declare are enough for one.
    """
    defined = [one for one in listed.values() if one["standing"] == "defined"]
    without = [one for one in defined if one["form"] is None]
    own = [one["name"] for one in without if one["domain"].startswith("ai.onnx")]
    assert len(own) < 15, own
    assert len(without) < 40
    for one in defined:
        if one["form"] is not None:
            parse_text(one["form"]["eops"])
            parse_text(one["form"]["macs"])


@pytest.mark.parametrize(
    "name, eops",
    [
        ("MatMul", "2*A_1*A_2*B_2"),
        ("Softmax", "5*input_1*input_2"),
        ("ReduceSum", "data_1*data_2"),
        ("ArgMax", "2*data_1*data_2"),
        ("Gemm", "2*a1*a2*b2"),
        ("Conv", "2*n*m*X_2*W_3*W_4*(X_3 - W_3 + 1)*(X_4 - W_4 + 1)"),
        (
            "MaxPool",
            "n*c*kernel_shape_1*kernel_shape_2*(X_3 - kernel_shape_1 + 1)*(X_4 - kernel_shape_2 + 1)",
        ),
    ],
)
def test_forms_of_the_list(listed: Operators, name: str, eops: str) -> None:
    form = listed[f"ai.onnx.{name}"]["form"]
    assert parse_text(form["eops"]) == parse_text(eops)
    assert form["assumed"] is None


def test_a_page_has_the_derivation_and_the_definition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", "Conv", "--format", "json")) == 0
    (one,) = json.loads(capsys.readouterr().out)["operators"]
    assert [form["rank"] for form in one["forms"]] == [1, 2, 3]
    assert one["derivation"]["chains"][-1]["steps"][-1]["reason"] == "in closed form"
    assert one["definition"].startswith("#")
    assert {case["status"] for case in one["cases"]} == {"pass"}


def test_names_in_other_letters_are_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", "matmul")) == 2
    assert "did you mean `MatMul`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "../Conv", "a" * 10_000, "\x1b[31m", "Conv\n", "ai.onnx."])
def test_hostile_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", name)) == 2
    assert "\x1b" not in capsys.readouterr().err
