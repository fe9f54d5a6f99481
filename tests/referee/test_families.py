"""Families of models: they compute what real models do, and their parts make up what is derived."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.algebra import evaluate, total_of
from tolcost.algebra.parse import parse_text
from tolcost.apps.referee.formulas import shipped_formulas
from tolcost.apps.referee.parts import parts_of, parts_of_step
from tolcost.apps.referee.subjects import ModelProgram, lower_subject, step_of
from tolcost.catalogue.listing import read_library
from tolcost.catalogue.specs import open_library
from tolcost.cost import Analysis, analyze_program
from tolcost.execute import run_vectorised
from tools.referee.family_inputs import inputs_of
from tools.referee.windows import REPORT, report

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "reports" / "data" / "families.json").read_text("utf-8")
)
FAMILIES = RECORDED["families"]
LIBRARY = open_library()


def test_all_families_were_recorded() -> None:
    assert sorted(FAMILIES) == [program.name for program in read_library("families").programs]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family(name: str) -> None:
    """The logits of a real model with the same weights, the counts of a run, and the parts."""
    recorded = FAMILIES[name]
    program = lower_subject(ModelProgram(f"families/{name}"), LIBRARY)
    found = analyze_program(program, name)
    run = run_vectorised(program, inputs_of(name, recorded["lengths"]), recorded["lengths"])
    np.testing.assert_allclose(np.ravel(run.outputs["logits"]), recorded["logits"], atol=1e-6)
    point = {symbol: recorded["lengths"][symbol.name] for symbol in found.symbols}
    assert found.status == "exact"
    assert run.counts.eops == evaluate(found.eops, point)
    parts = parts_of(f"families/{name}")
    assert found.flops == total_of(part.form for part in parts)
    assert_products(name, found)


def assert_products(name: str, found: Analysis) -> None:
    """Parts that are called products are twice the multiply-adds, with exceptions that are known."""
    products = total_of(part.form for part in parts_of(f"families/{name}") if part.product)
    besides = {
        "bert": "2*b*s*h*e",  # a norm adds up what an activation multiplied
        "mixtral": "2*b*s*l*d*k",  # the experts' results by their shares
        "mamba": "2*b*s*l*n*w",  # what the scan tells of its state
    }
    assert found.counts.macs * 2 - products == parse_text(besides.get(name, "0"))


BESIDES = {
    "gpt2": "2*b*h*s*(2*e*l + l*s + e)",
    "llama": "2*b*s*(4*c*g*l*r + g*l*r*s + 4*c*g*l + 4*d*l + d)",
    "mixer": "b*d*x*y*(4*l + 3)",
}
"""The multiply-adds of a step that are no products of matrices: in gradients of softmax, norms and turns."""


@pytest.mark.parametrize("name", BESIDES)
def test_a_step_has_each_product_three_times(name: str) -> None:
    """Once forward and twice backward, as the derivative says; what else is a multiply-add there is named."""
    program = lower_subject(ModelProgram(f"families/{name}"), LIBRARY)
    forward, step = (analyze_program(one, name, depth=False) for one in (program, step_of(program)))
    assert step.status == "exact"
    assert step.counts.macs == forward.counts.macs * 3 + parse_text(BESIDES[name])
    assert step.flops == total_of(part.form for part in parts_of_step(f"families/{name}", 3, step.flops))


@pytest.mark.parametrize("source, key", [("torch_models", "flop_counter"), ("huggingface", "trainer")])
def test_what_two_projects_say_is_what_they_answer(source: str, key: str) -> None:
    """Formulas in our notation against what the projects' own code gave at a size."""
    formulas = shipped_formulas()[source]
    for formula in formulas:
        assert isinstance(formula.subject, ModelProgram)
        recorded = FAMILIES[formula.subject.path.partition("/")[2]]
        names = {name: parse_text(str(value)) for name, value in recorded["lengths"].items()}
        for name, text in formula.where.items():
            names[name] = parse_text(text, names)
        assert parse_text(formula.text, names) == recorded[key], formula.name


def test_the_report_on_windows() -> None:
    """A window of 512 at 2,048 tokens: 448.125 keys, from a closed form that a run agrees with."""
    text = REPORT.read_text("utf-8")
    assert text == report()
    assert "| 512 | 2,048 | 448.125 |" in text
