"""A slice of the campaign on models with changed structure; ``make soak`` runs more."""

from pathlib import Path

import onnx
import pytest

from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tools.models.mutations import attempts, outcome

CASES = Path(__file__).parent.parent / "cases" / "models"


@pytest.mark.node_cases
def test_changed_models_are_costed_or_told() -> None:
    session = Session(open_library())
    found = {outcome(proto, session) for _, proto in attempts(120, seed=0)}
    assert found == {"costed", "in part", "refused"}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.onnx")), ids=lambda path: path.stem)
def test_models_that_broke_something_once(path: Path) -> None:
    assert outcome(onnx.load(path, load_external_data=False), Session(open_library())) != "costed"
