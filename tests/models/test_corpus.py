"""The corpus: what tolcost says of exports of small models stays what it is, and agrees with onnxruntime.

See ``corpus.py``.  TOLCOST_ACCEPT=1 writes what is said anew: a figure that was exact and is not any more is a
regression, whatever else the change is good for.
"""

from __future__ import annotations

import re

import pytest

from tests.models import corpus
from tests.syntax import cases
from tolcost.algebra import evaluate

CASES = cases.read(corpus.FOLDER)
MOST_BYTES = 4_000_000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_said_of_a_model(case: cases.Case) -> None:
    seen = corpus.observed()[case.name]
    cases.compare(case, corpus.facts(corpus.study(case.name), seen))
    for one in (one for one in seen if one.shapes):
        assert corpus.wrong_shapes(corpus.located(corpus.study(case.name), one.dims), one) == []


FORMS = [(case.name, found[1]) for case in CASES if (found := re.search("^macs of: (.*)", case.program, re.M))]


@pytest.mark.parametrize("name, of", FORMS)
def test_a_form_multiplies_what_the_exported_model_does(name: str, of: str) -> None:
    form, exported = corpus.study(name).total.macs, corpus.study(of).total.macs
    for one in corpus.observed()[name]:
        assert evaluate(form, {s: one.dims[s.name] for s in form.free}) == evaluate(
            exported, {s: one.dims[s.name] for s in exported.free}
        )


def test_there_is_a_case_for_each_model() -> None:
    names = [case.name for case in CASES]
    assert {f"{name}.onnx" for name in names} | {corpus.OBSERVED} == corpus.files().keys()
    assert len(set(names)) == len(names) >= 60
    assert corpus.ARCHIVE.stat().st_size <= MOST_BYTES
