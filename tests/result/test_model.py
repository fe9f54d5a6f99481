"""Models from Python: sympy expressions, numbers, frames."""

import json
from pathlib import Path

import pytest

from tolcost.api import load_model
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.model import Wanted, model_cost
from tolcost.result.view import CostView, written
from tools.models import graphs

BERT = Path(__file__).parents[2] / "examples" / "bert.onnx"


@pytest.fixture(name="result", scope="module")
def _result() -> Cost:
    model = model_of(graphs.bert(17, graphs.SMALL), "m")
    return model_cost(model, "m.onnx", Session(open_library()), Wanted())


def test_closed_forms_are_sympy_expressions(result: Cost) -> None:
    batch, seq = sorted(result.macs.free_symbols, key=str)
    assert (str(batch), str(seq)) == ("batch", "seq")
    assert result.macs.expand().coeff(batch, 1).coeff(seq, 2) == 2 * 2 * 8
    assert result.peak_bytes is not None
    assert sum(result.by_op.values()).expand() == result.eops.expand()
    assert sum(result.histogram.values()).expand() == result.eops.expand()
    assert result._repr_latex_().startswith("$")
    assert "exact" in repr(result)


def test_numbers_are_exact(result: Cost) -> None:
    numbers = result.at(batch=2, seq=5)
    values = {s: {"batch": 2, "seq": 5}[str(s)] for s in result.eops.free_symbols}
    assert numbers["eops"] == result.eops.subs(values)
    with pytest.raises(Rejected):
        result.at(batch=2)
    with pytest.raises(Rejected):
        result.at(batch=2, seq=17)


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_a_bert_fits_a_screen(width: int) -> None:
    """What, how much, where, and under which conditions: on 80 columns, in 40 lines."""
    lines = written([load_model(BERT)], "text", CostView(symbolic=False), width=width).splitlines()
    assert len(lines) < (40 if width >= 80 else 54)
    assert max(map(len, lines)) <= width
    for word in ("input_ids: int64 [batch, seq]", "EOPs   ", "MatMul  ", "seq <= 512"):
        assert any(word in line for line in lines), word
    left_out = any(line.startswith("left out to fit") and "EOPs in closed form" in line for line in lines)
    assert left_out == (width < 100)
    (depth,) = (line for line in lines if line.startswith("depth"))
    assert depth.endswith("at most")  # a form is cut before what says that it is a bound


def test_documents_and_frames(result: Cost) -> None:
    assert json.loads(result.to_json())["kind"] == "model"
    assert str(result) == result.to_text()
    frame = result.to_frame("scope")
    assert list(frame.columns) == ["scope", "nodes", "eops", "flops", "macs", "bytes", "status"]
    assert frame["nodes"].sum() == result.coverage.nodes


def test_lengths_by_place_and_others_later() -> None:
    session = Session(open_library())
    cost = model_cost(model_of(graphs.bert(17, graphs.SMALL), "m"), "m.onnx", session, Wanted({"batch": 2}))
    assert cost(seq=4)["eops"] == cost({"input_ids[1]": 4})["eops"]
    assert cost(batch=3, seq=4)["eops"] == cost.subs(batch=3).subs(seq=4).eops
    with pytest.raises(Rejected, match="no length"):
        cost(width=3)
