"""The corpus: what tolcost says of exports of small models stays what it is, and agrees with onnxruntime.

See ``corpus.py``.  TOLCOST_ACCEPT=1 writes what is said anew: a figure that was exact and is not any more is
a regression, whatever else the change is good for.
"""

from __future__ import annotations

import pytest

from tests.models import corpus
from tests.syntax import cases

CASES = cases.read(corpus.FOLDER)
FEWEST, MOST_BYTES = 60, 4_000_000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_said_of_a_model(case: cases.Case) -> None:
    found, points = corpus.study(case.name), corpus.observed()[case.name]
    cases.compare(case, corpus.facts(found, points))
    head = dict(line.split(": ", 1) for line in case.program.splitlines())
    for seen in (seen for seen in points if seen.shapes):
        assert corpus.wrong_shapes(corpus.located(found, seen.dims), seen) == []
        if (of := head.get("macs of")) is not None and not found.coverage.missing:
            assert corpus.macs(found, seen) == corpus.macs(corpus.study(of), seen)


def test_there_is_a_case_for_each_model() -> None:
    names = [case.name for case in CASES]
    assert {f"{name}.onnx" for name in names} | {corpus.OBSERVED} == corpus.files().keys()
    assert len(set(names)) == len(names) >= FEWEST
    assert corpus.ARCHIVE.stat().st_size <= MOST_BYTES
