"""Nodes of many inputs, outputs or parts: work that grows with their number, and a limit (docs/limits.md)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.models.test_hostile import costed
from tolcost.catalogue import protobuf
from tolcost.catalogue.specs import open_library
from tolcost.catalogue.types import SMALL
from tolcost.elaborate import layout
from tolcost.elaborate.values import MOST_IN_SEQUENCE
from tolcost.models import lowering, schemes, walking
from tolcost.models.facts import MOST_STATIC
from tolcost.models.walking import Session

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ROOT / "docs" / "limits.md").read_text("utf-8")
SECONDS, KILOBYTES = 5, 300_000
Y = helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def model(node: onnx.NodeProto, lengths: dict[str, int], parts: list[int] | int | None) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [n, 3]) for x, n in lengths.items()]
    given = [] if parts is None else [numpy_helper.from_array(np.array(parts, np.int64), "parts")]
    graph = helper.make_graph([node], "g", inputs, [Y], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def joined(op: str, n: int) -> onnx.ModelProto:
    names = [f"x{k}" for k in range(n)]
    axis = {"axis": 0} if op == "Concat" else {}
    return model(helper.make_node(op, names, ["y0"], **axis), dict.fromkeys(names, 2), None)


def split(n: int) -> onnx.ModelProto:
    node = helper.make_node("Split", ["x", "parts"], [f"y{k}" for k in range(n)])
    return model(node, {"x": 2 * n}, [1, 3] * (n // 2) + [2] * (n % 2))


def equal_split(n: int, asked: int) -> onnx.ModelProto:
    node = helper.make_node("Split", ["x"], [f"y{k}" for k in range(asked)], num_outputs=n)
    return model(node, {"x": 2 * n}, None)


def sequence(n: int, parts: list[int] | int | None) -> onnx.ModelProto:
    inputs = ["x"] if parts is None else ["x", "parts"]
    return model(helper.make_node("SplitToSequence", inputs, ["y0"]), {"x": n}, parts)


BOTH_SIDES = {
    "Concat": (lambda n: joined("Concat", n), MOST_IN_SEQUENCE),
    "Sum": (lambda n: joined("Sum", n), MOST_IN_SEQUENCE),
    "Split in equal parts": (lambda n: equal_split(n, n), MOST_IN_SEQUENCE),
    "SplitToSequence in slices": (lambda n: sequence(n, None), MOST_IN_SEQUENCE),
    "Split by lengths": (split, MOST_STATIC),
    "SplitToSequence by lengths": (lambda n: sequence(n, [1] * n), MOST_STATIC),
}
REASONS = {MOST_IN_SEQUENCE: "more than 256 entries", MOST_STATIC: "must be known while compiling"}
FAR_BEYOND = {
    "Concat": lambda: joined("Concat", 20_000),
    "Sum": lambda: joined("Sum", 5_000),
    "Split by lengths": lambda: split(20_000),
    "Split in 100,000": lambda: equal_split(100_000, 2),
    "Split in 10^8": lambda: equal_split(10**8, 2),
    "SplitToSequence by lengths": lambda: sequence(20_000, [1] * 20_000),
    "SplitToSequence by one length": lambda: sequence(10**8, 1),
    "SplitToSequence in slices": lambda: sequence(10**8, None),
}


@pytest.fixture
def fewer(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    """Limits of an eighth, for all of the sessions of a test: what it takes to get there grows with them."""
    monkeypatch.setattr(schemes, "_last", [])
    for part in (layout, walking):
        monkeypatch.setattr(part, "MOST_IN_SEQUENCE", MOST_IN_SEQUENCE // 8)
    monkeypatch.setattr(lowering, "MOST_STATIC", MOST_STATIC // 8)
    monkeypatch.setitem(protobuf._DECIDING, "int64", SMALL // 8)
    return lambda most: most // 8


@pytest.mark.parametrize("name", BOTH_SIDES)
def test_at_the_limit_and_beyond(name: str, fewer: Callable[[int], int]) -> None:
    made, most = BOTH_SIDES[name]
    assert f"{most:,}" in DOCUMENTED
    held_at(made, fewer(most), REASONS[most])


def test_at_the_limit_that_is_documented_and_beyond() -> None:
    held_at(BOTH_SIDES["Concat"][0], MOST_IN_SEQUENCE, "more than 2,048 entries")


def held_at(made: Callable[[int], onnx.ModelProto], most: int, reason: str) -> None:
    session = Session(open_library())
    assert costed(made(most), session).status == "exact"
    beyond = costed(made(most + 1), session)
    assert beyond.status == "lower bound"
    assert reason in beyond.to_text()


def test_far_beyond_is_refused_soon_and_takes_little_memory() -> None:
    """In a process of its own, which tells of each model what came of it and in what time."""
    program = "from tests.models.test_many import far_beyond\nfar_beyond()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["status"] == dict.fromkeys(FAR_BEYOND, "lower bound")
    assert {name for name, taken in found["seconds"].items() if taken >= SECONDS} == set()
    assert found["kilobytes"] < KILOBYTES


def far_beyond() -> None:
    """What the test above asks for; no memory where the system does not tell."""
    session, status, seconds = Session(open_library()), {}, {}
    for name, made in FAR_BEYOND.items():
        proto, began = made(), time.process_time()
        status[name] = costed(proto, session).status
        seconds[name] = time.process_time() - began
    told = Path("/proc/self/status")
    peak = re.search(r"VmHWM:\s*(\d+)", told.read_text()) if told.exists() else None
    kilobytes = int(peak[1]) if peak else 0
    print(json.dumps({"status": status, "seconds": seconds, "kilobytes": kilobytes}))


def test_work_grows_with_the_number_of_parts(session: Session) -> None:
    assert _seconds(split(500), session) < 8 * _seconds(split(125), session)


def _seconds(proto: onnx.ModelProto, session: Session) -> float:
    began = time.process_time()
    assert costed(proto, session).status == "exact"
    return time.process_time() - began
