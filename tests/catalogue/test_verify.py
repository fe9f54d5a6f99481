"""All of ONNX's node tests, each time: what is stored of them is what they give."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tolcost.catalogue.conformance import as_record, verify

ROOT = Path(__file__).parents[2]
DATA = ROOT / "reports" / "data"
ROUNDING = {"test_dft_inverse", "test_dft_inverse_opset19"}
"""They expect the rounding noise of an FFT where the exact value is 0; ours depends on the processor."""


def described(record: dict[str, Any], run: set[str]) -> dict[str, Any]:
    """A record by case, without the words for differences that are noise, and the atoms of some."""
    return {
        c["name"]: {
            **c,
            "cause": None if c["name"] in ROUNDING else c["cause"],
            "unrolled": c["unrolled"] if c["name"] in run else None,
            "decided": c["decided"] if c["name"] in run else None,
        }
        for c in record["cases"]
    }


@pytest.mark.node_cases
def test_every_node_test_gives_what_is_stored() -> None:
    """What is stored was run atom by atom as far as it was not too large; here it is what is small."""
    found = json.loads(json.dumps(as_record(verify(jobs=1, recorded=True))))
    stored = json.loads((DATA / "conformance.json").read_text("utf-8"))
    small = {c["name"] for c in found["cases"] if c["unrolled"] is not None}
    assert len(small) > 500
    assert {c["name"] for c in found["cases"] if c["status"] == "fail"} == ROUNDING
    assert described(found, small) == described(stored, small), "if that is meant: make conformance"
    assert {k: v for k, v in found.items() if k != "cases"} == {
        k: v for k, v in stored.items() if k != "cases"
    }


def test_the_counts_of_other_tools_are_of_todays_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their operators, shapes and attributes; and of the versions that would be installed to count again."""
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "benchmarks"))
    try:
        from peers.cases import all_cases

        asked = {(c.op, c.kind, json.dumps(c.shapes), json.dumps(c.attrs)) for c in all_cases()}
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "peers"]:
            del sys.modules[name]
    with (DATA / "peers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(r["operator"], r["class"], r["shapes"], r["attrs"]) for r in rows} == asked, "make peers"
    pinned = dict(
        re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    )
    used = {(r["tool"].partition(" ")[0], r["version"]) for r in rows}
    assert used == {("XLA", pinned["jaxlib"]), ("onnx-tool", pinned["onnx-tool"])}, "make peers"
