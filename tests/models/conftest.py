"""What several tests of models begin with."""

from collections import Counter

import pytest

from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.diagnostics import Rejected
from tolcost.models.lowered import Given, Lowered, Setting
from tolcost.models.lowering import lower


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often operators are lowered for schemes, by name: work counted, not timed."""
    found: Counter[str] = Counter()

    def counted(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
        found[node.op] += 1
        return lower(setting, node, spec, given)

    monkeypatch.setattr("tolcost.models.schemes.lowered_alone", counted)
    return found
