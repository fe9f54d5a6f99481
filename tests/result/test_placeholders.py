"""A scheme's symbols for lengths (``#0``) stay inside: no format of any report has one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from msgspec.structs import replace

from tolcost.catalogue.reading import load_model, model_of
from tolcost.catalogue.specs import open_library
from tolcost.cost.device import load_device
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.model import Wanted, model_cost
from tolcost.result.model_table import TableView
from tolcost.result.page import cost_page
from tolcost.result.view import CostView, written
from tools.generate.valid_models import valid_model
from tools.models import graphs

ROOT = Path(__file__).parents[2]
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
STORED = (
    *sorted((ROOT / "examples").glob("*.onnx")),
    *sorted((ROOT / "tests" / "models" / "exported").glob("*.onnx")),
    LIGHT / "light_resnet50.onnx",
    LIGHT / "light_shufflenet.onnx",
)
PLACEHOLDER = re.compile(r"#\d+")
MODELS = 2_000 if "TOLCOST_SOAK" in os.environ else 20


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def reports(cost: Cost) -> Iterator[tuple[str, str]]:
    """Everything that is written of a model, by format."""
    for by, forms in (("op", ("json", "csv", "text", "md")), ("node", ("csv", "text"))):
        view = CostView(symbolic=True, table=TableView(by=by))
        yield from ((f"{form} by {by}", written([cost], form, view)) for form in forms)
    found = re.search(r'id="data">(.*?)</script>', cost_page(cost), re.DOTALL)
    assert found is not None
    yield "html", found[1].partition('"sources"')[0]  # after that are definitions, with their comments


def leaks(cost: Cost) -> list[str]:
    """The formats that have a placeholder, each with what stands around the first one."""
    timed = replace(cost, device=load_device("h200"))
    return [
        f"{form}: {text[max(found.start() - 80, 0) : found.end() + 40]}"
        for form, text in reports(timed)
        if (found := PLACEHOLDER.search(text))
    ]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_no_placeholder_leaves_a_stored_model(path: Path, session: Session) -> None:
    assert leaks(model_cost(load_model(path), path.stem, session, Wanted())) == []


@pytest.mark.parametrize("seq", ["seq", 8])
def test_no_placeholder_leaves_a_transformer(seq: str | int, session: Session) -> None:
    """With lengths that are open, and with numbers alone."""
    wanted = Wanted({}, {"input_ids": ("batch", seq), "attention_mask": ("batch", seq)})
    assert leaks(model_cost(model_of(graphs.bert(17, graphs.SMALL), "m"), "m", session, wanted)) == []


@pytest.mark.parametrize("number", range(4))
def test_no_placeholder_leaves_a_random_model(number: int, session: Session) -> None:
    for seed in range(number, MODELS, 4):
        try:
            cost = model_cost(model_of(valid_model(seed).proto, "m"), "m", session, Wanted())
        except Rejected:
            continue
        assert leaks(cost) == [], seed
