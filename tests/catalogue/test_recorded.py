"""Operators that only a run-time has: cases recorded of it, and its schemas, against the definitions.

``tolcost verify --domain com.microsoft`` holds them to all that is recorded; here is a case of each.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.catalogue.recorded_schemas import recorded_schema
from tolcost.catalogue.cases import Case, recorded_cases
from tolcost.catalogue.conformance import check, verify
from tolcost.catalogue.listing import entries
from tolcost.catalogue.operand_types import recorded_schemas
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import FURTHER_DOMAINS, open_library
from tolcost.diagnostics import Rejected

DOMAIN = "com.microsoft"
LIBRARY = open_library()
SCHEMAS = recorded_schemas(DOMAIN)
DEFINED = LIBRARY.names(DOMAIN)
EVERY = [(domain, op) for domain in FURTHER_DOMAINS for op in LIBRARY.names(domain)]
FOLDER = Path(__file__).parents[2] / "specs" / DOMAIN
EACH = 1
"""How many cases of an operator every run of the tests looks at."""


@pytest.mark.parametrize("domain, op", [*EVERY, ("", "SimplifiedLayerNormalization")])
def test_cases_give_what_was_recorded(domain: str, op: str) -> None:
    cases = recorded_cases(LIBRARY, domain, [op])
    assert len(cases) >= 20
    for case in cases[:EACH]:
        result = check(case, LIBRARY)
        assert result.status == "pass", result.detail or f"{case.name}: {result.cause}"


def test_every_operator_of_the_run_time_is_defined_or_outside() -> None:
    outside = LIBRARY.outside(DOMAIN)
    assert set(DEFINED) | set(outside) == set(SCHEMAS)
    assert not set(DEFINED) & set(outside)
    assert {entry.name for entry in entries(LIBRARY) if entry.domain == DOMAIN} == set(SCHEMAS)


@pytest.mark.parametrize("op", DEFINED)
def test_a_definition_has_the_names_of_the_schema(op: str) -> None:
    spec, schema = LIBRARY.find(DOMAIN, op), recorded_schema(DOMAIN, op)
    assert spec is not None
    assert schema is not None
    assert [s.name for s in spec.inputs] == [i.name for i in schema.inputs]
    assert {s.name for s in spec.attributes} == set(schema.attributes)
    for mine, theirs in zip(spec.outputs, schema.outputs, strict=True):
        assert mine.name in (theirs.name, f"{theirs.name}_")
    optional = {i.name: i.option.name == "Optional" for i in schema.inputs}
    assert {s.name: s.optional for s in spec.inputs} == optional
    for statement in spec.attributes:
        required = statement.default is None and not statement.optional
        assert not required or schema.attributes[statement.name].required


def test_cases_are_found_by_operator_by_case_and_by_domain() -> None:
    assert {r.name for r in verify(["FusedMatMul-1"], jobs=1, domain=DOMAIN).results} == {"FusedMatMul-1"}
    named = recorded_cases(LIBRARY, None, ["com.microsoft.QuickGelu"])
    assert [case.node.op for case in named] == ["QuickGelu"] * len(named)
    assert {case.node.op for case in recorded_cases(LIBRARY, "")} == {"SimplifiedLayerNormalization"}


def test_a_domain_without_cases_passes_nothing() -> None:
    with pytest.raises(Rejected, match="no cases of the domain"):
        verify(jobs=1, domain="com.microsft")


def test_what_is_recorded_says_of_what() -> None:
    assert json.loads((FOLDER / "schemas.json").read_text("utf-8"))["onnxruntime"]
    assert {f.name.partition(".")[0] for f in (FOLDER / "recorded").iterdir()} <= set(DEFINED)
    assert sum(f.stat().st_size for f in (FOLDER / "recorded").iterdir()) < 3_000_000


def test_what_a_quantised_layer_costs() -> None:
    """As an LSTM, and: 8 for each element brought to 8 bits, 3 for each gate, the weights' zero points."""
    n, b, m, h = 3, 2, 5, 4
    weights = np.ones((1, m, 4 * h), np.int8), np.ones((1, h, 4 * h), np.int8)
    scale = np.ones(1, np.float32), np.zeros(1, np.int8)
    inputs = (np.ones((n, b, m), np.float32), *weights, *[None] * 5, *scale, *scale)
    names = ["" if array is None else f"i{k}" for k, array in enumerate(inputs)]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["Y", "h", "c"], domain=DOMAIN, hidden_size=h)
    sizes = (n, 1, b, h), (1, b, h), (1, b, h)
    outputs = tuple(np.ones(s, np.float32) for s in sizes)
    assert check(Case("costs", node_of(node), 1, inputs, outputs, 0, 9), LIBRARY).eops == (
        "8*R_2**2*X_1*X_2 + 8*R_2*W_2*X_1*X_2 + 38*R_2*X_1*X_2 + 8*W_2*X_1*X_2 + 4*R_2**2 + 4*R_2*W_2 "
        "+ 10*X_1 + 10"
    )
