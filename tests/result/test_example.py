"""Example lengths: typical values by role, at which all conditions hold; batches are 1."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.models import corpus
from tests.syntax import cases
from tolcost.algebra import Symbol, const, eq, floordiv, ge, length, the_symbol
from tolcost.algebra.points import in_ranges
from tolcost.api import analyze
from tolcost.diagnostics import Rejected
from tolcost.result.example import fitted, nearest_where
from tolcost.result.lengths import ShapedInput
from tolcost.result.study import Located, Study, at_example
from tolcost.result.typical import typical_lengths

SPECS = Path(__file__).parents[2] / "specs"
PROGRAMS = sorted(SPECS.glob("**/*.tol"))
EVERY = 1 if os.environ.get("TOLCOST_SOAK") else 3
MODELS = [case.name for case in cases.read(corpus.FOLDER)][::EVERY]
"""The corpus; a third of it unless more is asked for, as each model is analysed anew."""


def _holds(study: Study) -> dict[str, int]:
    """The example of a study, which fulfils all conditions."""
    there = at_example(Located(study, study.locate({})))
    assert there is not None
    assert there.point.complete
    assert not there.point.problems
    assert all(one.holds(there.point.values) for one in study.needed)
    assert in_ranges({s: n for s, n in there.point.values.items() if s.kind == "length"})
    return {s.name: n for s, n in there.point.values.items() if s.kind == "length"}


@pytest.mark.parametrize("name", MODELS)
def test_the_example_of_a_model_fulfils_its_conditions(name: str) -> None:
    study = corpus.study(name)
    at = _holds(study)
    assert at.get("batch", 1) == 1
    assert at.get("x[0]", 1) == 1
    if "past" in at:
        learned = any("past + seq <= 1024" in one.text for one in study.needed)
        assert (at["past"], at["seq"]) == (1023 if learned else 1024, 1)
    assert {at.get(side, 224) for side in ("height", "width")} == {224}


@pytest.mark.parametrize("folder", sorted({file.relative_to(SPECS).parts[0] for file in PROGRAMS}))
def test_the_examples_of_programs_fulfil_their_conditions(folder: str) -> None:
    for file in (file for file in PROGRAMS if file.relative_to(SPECS).parts[0] == folder):
        try:
            found = analyze(file)
        except Rejected:  # operators need shapes, and libraries have no output
            continue
        at = _holds(found.study)
        batch = {
            s.name for one in found.study.inputs for p in one.type if p.shape[1:] for s in p.shape[0].free
        }
        assert "b" not in batch or at["b"] == 1, file


def symbols(*names: str) -> list[Symbol]:
    return [the_symbol(length(name)) for name in names]


def example(shapes: dict[str, str], *facts: object, model: bool = True) -> dict[str, int]:
    """The example of inputs with shapes such as `batch seq 768`, under some facts."""
    inputs = [
        ShapedInput(name, (tuple(const(int(d)) if d.isdigit() else length(d) for d in shape.split()),))
        for name, shape in shapes.items()
    ]
    free = {s for one in inputs for form in one.shapes[0] for s in form.free}
    wanted = typical_lengths(free, inputs, facts, model)  # type: ignore[arg-type]
    found = fitted(wanted, facts)  # type: ignore[arg-type]
    assert found is not None
    return {symbol.name: value for symbol, value in found.items()}


n, h, w, seq, past, whole = map(length, ("n", "height", "width", "seq", "past_len", "total"))


@pytest.mark.parametrize(
    "shapes, facts, at",
    [
        ({"ids": "batch seq"}, (), {"batch": 1, "seq": 1024}),
        ({"ids": "batch seq"}, (ge(512 - seq),), {"batch": 1, "seq": 512}),
        ({"ids": "batch seq"}, (ge(seq - 5000),), {"batch": 1, "seq": 5000}),
        ({"x": "batch"}, (), {"batch": 1}),
        ({"x": "x[0] 16"}, (), {"x[0]": 1}),
        ({"ids": "N L"}, (), {"N": 1, "L": 1024}),
        ({"input_ids": "input_ids[0] input_ids[1]"}, (), {"input_ids[0]": 1, "input_ids[1]": 1024}),
        ({"x": "x[0] x[1] 768"}, (), {"x[0]": 1, "x[1]": 1024}),
        ({"x": "x[0] 3 x[2] x[3]"}, (), {"x[0]": 1, "x[2]": 224, "x[3]": 224}),
        ({"x": "x[0] x[1] x[2] 3"}, (), {"x[0]": 1, "x[1]": 224, "x[2]": 224}),
        ({"x": "batch samples"}, (), {"batch": 1, "samples": 16_000}),
        ({"x": "batch_size num_features"}, (), {"batch_size": 1, "num_features": 16}),
        (
            {"ids": "batch seq", "past.0.key": "batch 4 past_len 64"},
            (),
            {"batch": 1, "seq": 1, "past_len": 1024},
        ),
        (
            {"ids": "batch seq", "past": "batch past_len", "mask": "batch total"},
            (eq(whole - past - seq),),
            {"batch": 1, "seq": 1, "past_len": 1024},
        ),
        (
            {"ids": "batch seq", "past": "batch past_len"},
            (ge(512 - past - seq),),
            {"batch": 1, "seq": 1, "past_len": 511},
        ),
        (
            {"image": "batch 3 height width"},
            (eq(h - 64 * floordiv(h, const(64))), eq(w - 32 * floordiv(w, const(32)))),
            {"batch": 1, "height": 192, "width": 224},
        ),
    ],
)
def test_typical_lengths_of_models(
    shapes: dict[str, str], facts: tuple[object, ...], at: dict[str, int]
) -> None:
    assert example(shapes, *facts) == at


@pytest.mark.parametrize(
    "shapes, at",
    [
        ({"a": "n k", "b": "k m"}, {"n": 1024, "k": 1024, "m": 1024}),
        ({"q": "s d", "k": "t d", "v": "t w"}, {"s": 1024, "t": 1024, "d": 64, "w": 64}),
        ({"x": "n c h w"}, {"n": 1, "c": 16, "h": 224, "w": 224}),
        ({"ids": "b s"}, {"b": 1, "s": 1024}),
    ],
)
def test_typical_lengths_of_programs(shapes: dict[str, str], at: dict[str, int]) -> None:
    assert example(shapes, model=False) == at


@pytest.mark.parametrize(
    "file, at",
    [
        ("examples/conv2d_dense.tol", {"s": 1, "p": 0, "kh": 3, "h": 224}),
        ("paper/section5/avgpool1d.corrected.tol", {"s": 1, "p": 0, "k": 3, "n": 1024}),
        ("motifs/sampling/reservoir.tol", {"k": 16}),  # no window
    ],
)
def test_settings_of_windows_are_typical(file: str, at: dict[str, int]) -> None:
    assert at.items() <= _holds(analyze(SPECS / file).study).items()


def test_lengths_that_conditions_exclude_have_no_example() -> None:
    (one,) = symbols("n")
    assert fitted({one: 16}, (eq(n * n - 2),)) is None


def test_a_verdict_turns_at_the_nearest_length() -> None:
    one, two = symbols("n", "m")
    found = nearest_where(lambda at: at[one] * at[one] > 4000 * at[two], {one: 1024, two: 1024}, ())
    assert found == {one: 2024, two: 1024}
