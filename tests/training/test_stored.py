"""Backward passes that come with tolcost: the same as those derived anew, and nothing rests on them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import tolcost
from tolcost.catalogue.reading import load_model
from tolcost.catalogue.specs import folder_of, open_library
from tolcost.models.walking import Session
from tolcost.platform import specs_root
from tolcost.result.model import walked
from tolcost.result.training import requested, training_study
from tolcost.training import passes
from tolcost.training.stored import StoredPasses, fits
from tools.models.store_backward import Operator, about, stored_before, text_anew

SPECS = Path(str(specs_root()))
BERT = Path(__file__).parents[2] / "examples" / "bert.onnx"
ASKED = stored_before(SPECS)
TEXTS = StoredPasses(open_library())


def text_of(operator: Operator, pattern: str = "") -> str | None:
    TEXTS.pattern("", "Add", "")  # reads the file, whichever test asks first
    assert TEXTS.texts is not None
    return TEXTS.texts.get(f"{folder_of(operator[0])}/{operator[1]} {pattern}".rstrip())


def test_what_is_stored_fits_the_definitions() -> None:
    """Where this fails, a definition or the table of derivatives was changed: run ``make schemes``."""
    assert [operator for operator in ASKED if not fits(open_library(), text_of(operator))] == []


def _sample() -> list[tuple[Operator, str]]:
    """A few patterns; all of them in ``make soak``."""
    every = [(operator, pattern) for operator in sorted(ASKED) for pattern in sorted(ASKED[operator])]
    return every if "TOLCOST_SOAK" in os.environ else random.Random(51).sample(every, 6)


def test_every_pass_is_what_deriving_gives_now() -> None:
    library = open_library()
    for operator, pattern in _sample():
        text = text_of(operator, pattern)
        assert text_anew(library, operator, pattern, sorted(ASKED[operator][pattern])) == text
        assert about(library, operator) == text_of(operator)


def test_nothing_is_derived_for_a_common_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work counted, not timed: a step of BERT takes what is stored."""

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(passes, "derived_pass", refused)
    monkeypatch.setattr(passes, "written_pass", refused)
    step = tolcost.load_model(BERT).training("adamw")
    assert step.status == "exact"
    assert step.macs


def test_figures_are_the_same_without(monkeypatch: pytest.MonkeyPatch) -> None:
    study = walked("bert", load_model(BERT), Session(open_library()))
    steps = []
    for _ in range(2):
        steps.append(training_study(study, requested("sgd", {})))
        monkeypatch.setattr(StoredPasses, "pattern", lambda *_: None)
    stored, derived = steps
    assert [str(m.form) for m in stored.measures(())] == [str(m.form) for m in derived.measures(())]
    assert stored.total.histogram == derived.total.histogram
    assert stored.total.atoms == derived.total.atoms
    assert stored.training.memory.kept_bytes == derived.training.memory.kept_bytes
    assert str(stored.train_peak) == str(derived.train_peak)


def test_a_written_pass_is_none_that_was_derived() -> None:
    """``--backward derived`` takes no written pass, be it stored."""
    operator = ("", "LayerNormalization")
    stored = [TEXTS.pattern(*operator, pattern) for pattern in ASKED[operator]]
    keys = [(found, key) for found in stored if found is not None for key in found.passes]
    assert keys
    assert all(found.has(key, written=True) for found, key in keys)
    assert not any(found.has(key, written=False) for found, key in keys)


def test_another_table_of_derivatives_makes_what_is_stored_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tolcost.training.stored.rules_digest", lambda: "another")
    found = StoredPasses(open_library())
    assert {found.pattern("", "Add", pattern) for pattern in ASKED["", "Add"]} == {None}
