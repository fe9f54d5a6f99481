"""A model costs the same however it is written; ``python -m tools.models.rewritings`` holds more to it."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from tests.models.test_light import LIGHT, MACS
from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tools.generate.valid_models import valid_model
from tools.models.rewritings import REWRITINGS, at_point, differences, row_sums, studied, with_numbers
from tools.readme import ROOT

BATCH, BATCHES = 6, 4


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_models_cost_the_same_however_they_are_written(number: int, session: Session) -> None:
    seeds = range(number * BATCH, (number + 1) * BATCH)
    found = {seed: list(differences(valid_model(seed).proto, session)) for seed in seeds}
    assert {seed: told for seed, told in found.items() if told} == {}


DECIDED = {
    "a diagonal": "float[4, 5] x, int64 k) => (float[a, b] y) { y = Trilu(x, k) }",
    "a shape": "float[4, 5] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }",
    "axes": "float[4, 5] x, int64[1] s) => (float[a, b] y) { y = ReduceSum<keepdims = 1>(x, s) }",
    "a shape, and data": "int64[4, 5] x, int64[2] s) => (int64[a, b] y, int64[2] z)"
    " { y = Expand(x, s) z = Mul(s, s) }",
    "a shape that is computed": "float[4, 5] x, int64[2] s) => (float[a, b] y) { t = Mul(s, s)"
    " y = Expand(x, t) }",
    "positions": "float[n] x) => (float[n] y) { zero = Constant<value_int = 0>()"
    " one = Constant<value_int = 1>() all = Shape(x) n = Squeeze(all) at = Range(zero, n, one)"
    " p = Cast<to = 1>(at) y = Mul(x, p) }",
    "the same twice": "float[4, 5] x, int64[2] s) => (float[a, b] y) { t = Reshape(x, s) u = Reshape(x, s)"
    " y = Add(t, u) }",
}


@pytest.mark.parametrize("text", DECIDED.values(), ids=DECIDED)
def test_what_only_data_decides_costs_the_same_in_branches_and_functions(text: str, session: Session) -> None:
    """A tensor that an operator must know is known by its numbers there, too, one symbol each."""
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]>\nmain ({text}')
    assert studied(proto, session) is not None
    assert list(differences(proto, session)) == []


@pytest.mark.parametrize("start", [0, 100])
def test_lengths_in_the_file_are_a_point_of_open_ones(start: int, session: Session) -> None:
    """But for functions and bytes of what is computed from them: that is a constant of the model then."""
    compared = 0
    for seed in range(start, start + 25):
        made = valid_model(seed)
        told = at_point(made.proto, made.dims, session)
        held = at_point(with_numbers(made.proto, made.dims), {}, session)
        if told is not None and held is not None:
            assert told == held, seed
            compared += 1
    assert compared > 15


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_light_models_cost_the_same_however_they_are_written(name: str, session: Session) -> None:
    proto = onnx.load(LIGHT / f"light_{name}.onnx")
    chosen = [one for one in REWRITINGS if one.name != "newest"]  # its nodes are others
    assert list(differences(proto, session, chosen)) == []


@pytest.mark.parametrize("name", MACS)
def test_rows_add_up_to_the_total(name: str, session: Session) -> None:
    study = studied(onnx.load(LIGHT / f"light_{name}.onnx"), session)
    assert study is not None
    assert list(row_sums(study)) == []


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_rows_of_examples_add_up_to_the_total(name: str, session: Session) -> None:
    file = ROOT / "examples" / f"{name}.onnx"
    study = studied(onnx.load(file, load_external_data=False), session)
    assert study is not None
    assert list(row_sums(study)) == []


def test_a_sequence_is_seen_from_inside_of_a_branch(session: Session) -> None:
    """Its tensors are those of the graph around."""
    text = """<ir_version: 8, opset_import: ["": 18]>
        main (float[6, n] x, bool c) => (float[a, b] y) {
            two = Constant<value_int = 2>() one = Constant<value_int = 1>()
            s = SplitToSequence(x, two)
            y = If(c) <
                then_branch = kept () => (float[a, b] p) { q = SequenceAt(s, one) p = Exp(q) },
                else_branch = other () => (float[a, b] r) { u = SequenceAt(s, two) r = Log(u) }>
        }"""
    study = studied(onnx.parser.parse_model(text), session)
    assert study is not None
    assert str(study.total.eops) == "2*n"
    assert study.total.status == "upper bound"
