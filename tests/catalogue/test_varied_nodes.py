"""A slice of the campaign that varies ONNX's node tests; its own command runs more."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tools.catalogue.variations import Varied, node_tests, varied
from tools.catalogue.varied_nodes import Answers, answered, evaluated, feeds

OPERATORS = frozenset({"Add", "ReduceSum", "MaxPool", "Conv", "Hardmax", "Slice", "Gemm", "Concat"})


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def by_the_evaluator(one: Varied, proto: ModelProto) -> Answers:
    """What onnx gives, in this process: of these seeds none ends it."""
    try:
        return {"evaluator": tuple(np.asarray(item) for item in evaluated(proto, feeds(one)))}
    except Exception as error:  # whatever it is, it has no answer
        return {"evaluator": str(error)}


def test_node_tests_at_other_lengths(session: Session) -> None:
    found = {
        (test.test, seed): answered(one, by_the_evaluator, session)
        for test in node_tests(OPERATORS)[::3]
        for seed in range(2)
        if (one := varied(test, f"{test.test} {seed}")) is not None
    }
    assert sum(kind.startswith("fine") for kind, _ in found.values()) > 0.4 * len(found)
    refused = {key: told for key, told in found.items() if told[1] and not told[0].startswith("refused")}
    assert refused == {}


def pooled(*lengths: int, **attributes: object) -> Varied:
    node = helper.make_node("MaxPool", ["x"], ["y"], **attributes)
    return Varied("own", node, 22, (np.arange(np.prod(lengths), dtype=np.float32).reshape(lengths),))


@pytest.mark.parametrize("length", [4, 7, 9])
def test_windows_with_gaps_read_the_same_with_numbers(length: int, session: Session) -> None:
    """All of it was said to be read, exactly, where the length was open."""
    for attributes in ({"dilations": [2]}, {"pads": [1, 1]}, {}):
        one = pooled(1, 2, length, kernel_shape=[2], strides=[5], **attributes)
        kind, problem = answered(one, by_the_evaluator, session)
        assert (kind.startswith("fine"), problem) == (True, "")
