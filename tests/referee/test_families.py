"""Families of models: their parts make up what is derived, and runs count what the closed forms say."""

import pytest

from tolcost.algebra import evaluate, total_of
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.libraries import read_library
from tolcost.catalogue.specs import open_library
from tolcost.cost import Analysis, analyze_program
from tolcost.referee.parts import parts_of
from tolcost.referee.subjects import ModelProgram, lower_subject, run_subject

LIBRARY = open_library()
FAMILIES = [program.name for program in read_library("families").programs]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family(name: str) -> None:
    subject = ModelProgram(f"families/{name}")
    program = lower_subject(subject, LIBRARY)
    found = analyze_program(program, name)
    assert found.status == "exact"
    assert found.flops == total_of(part.form for part in parts_of(subject.path))
    assert_products(name, found)
    lengths = {symbol: 1 + (place % 2) for place, symbol in enumerate(found.symbols)}
    point = {symbol.name: value for symbol, value in lengths.items()}
    if name in ("gpt2", "bert"):
        point["p"] = 2
    counts = run_subject(subject, program, point, LIBRARY)
    assert counts.eops == evaluate(found.eops, {s: point[s.name] for s in found.symbols})


def assert_products(name: str, found: Analysis) -> None:
    """Parts that are called products are twice the multiply-adds, with exceptions that are known."""
    products = total_of(part.form for part in parts_of(f"families/{name}") if part.product)
    besides = {
        "bert": "2*b*s*h*e",  # a norm adds up what an activation multiplied
        "mixtral": "2*b*s*l*d*k",  # the experts' results by their shares
        "mamba": "2*b*s*l*n*w",  # what the scan tells of its state
    }
    assert found.macs * 2 - products == parse_text(besides.get(name, "0"))
