"""Elements read: the closed form against walking every coordinate, backwards from the outputs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from random import Random

import pytest

from tolcost.algebra import evaluate, to_text
from tolcost.cost.indices import ReadAnalysis
from tolcost.cost.traffic import elements_read, traffic
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import lower, read_program
from tolcost.platform import read_spec
from tools.cost.brute_traffic import can_be_walked, numbers, walked
from tools.cost.programs import SYMBOLS
from tools.cost.random_indices import faults
from tools.cost.random_programs import random_program
from tools.generate.loops import loop_program
from tools.programs.road import lengths_of, lowered

N, M, K = SYMBOLS
POINTS = [{N: a, M: b, K: c} for a, b, c in ((1, 1, 1), (2, 3, 1), (3, 2, 2))]


@pytest.mark.parametrize("seed", range(0, 160, 3))
def test_no_element_is_forgotten_and_what_is_told_apart_is_exact(seed):
    held_to_the_walk(random_program(seed), POINTS)


@pytest.mark.parametrize("seed", range(30))
def test_no_element_is_forgotten_in_folds_inside_of_folds(seed):
    case = loop_program(seed)
    made = lowered(case.text).program
    points = [{symbol: point[symbol.name] for symbol in lengths_of(made)} for point in case.points]
    held_to_the_walk(made, points)


@pytest.mark.parametrize("seed", range(0, 90, 3))
def test_folds_that_may_take_no_turn_read_what_a_walk_reads(seed):
    """Of what they begin with, a part: a fold of no turns is its start."""
    draw, text = Random(seed), loop_program(seed, branches=seed % 2 == 1).text
    text = re.sub(r"reduce\(tol\[n\]", lambda found: draw.choice((found[0], "reduce(tol[m]")), text)
    text = re.sub(r"v := (.*)", r"r = \1\nv := part(r, [1], [min(n, 2)])", f"attr m: N\n{text}")
    made = lowered(text).program
    if can_be_walked(made):
        points = [{"n": 3, "m": 0}, {"n": 4, "m": 1}, {"n": 1, "m": 0}, {"n": 1, "m": 1}]
        held_to_the_walk(
            made, [{symbol: point[symbol.name] for symbol in lengths_of(made)} for point in points]
        )


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("step, gap", [(1, 1), (2, 1), (3, 1), (5, 1), (3, 2), (5, 2)])
@pytest.mark.parametrize("before", [0, 1])
def test_windows_of_any_step_are_those_walked(width, step, gap, before):
    """With and without something before the first element, of which nothing is read."""
    place = f"{step} * (i - 1) + {gap} * (j - 1) + 1 - {before}"
    count = f"(n + {before} - {gap * (width - 1) + 1}) / {step} + 1"
    added = f"where({place} >= 1, a + x[{place}], a)"
    text = f"tol x: R [n]\ny := map(tol[{count}], reduce(tol[{width}], (a, z) => {added}, 0, [j]), [i])\n"
    made = lowered(text).program
    (n,) = lengths_of(made)
    held_to_the_walk(made, [{n: size} for size in range(max(gap * (width - 1) + 1 - before, 1), 14)])


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_what_random_indices_read_is_what_a_walk_reads(start):
    counts = Counter()
    assert [fault for seed in range(start, start + 40) for fault in faults(seed, counts, most=10)] == []
    assert counts["exact"] > counts["bound"] / 2


def held_to_the_walk(made, points):
    found = elements_read(made, analysis := ReadAnalysis())
    for values in points:
        full = all(evaluate(form, values) >= 0 for form in analysis.full)
        needed = walked(made, values)
        for given in made.inputs:
            there = sum(name == given.name for name, _ in needed)
            volume = [len(list(product(*map(range, numbers(part.shape, values))))) for part in given.type]
            counted = [evaluate(form, values) for _, form in found.get(given.name, ())]
            assert there <= sum(counted) <= sum(volume)
            if full and not analysis.inexact:
                assert sum(counted) == there


@pytest.mark.parametrize(
    "name, shapes, attrs, read",
    [
        ("EyeLike", {"input": ["n", "m"]}, {}, {}),
        ("Mul", {"A": [2, 0], "B": [2, 0]}, {}, {}),
        ("Mul", {"A": [2, 0], "B": []}, {}, {}),
        ("Slice", {"data": [100, "m"]}, {"starts": [10], "ends": [40]}, {"data": "30*m"}),
        ("Slice", {"data": [100, "m"]}, {"starts": [10], "ends": [40], "steps": [3]}, {"data": "10*m"}),
        ("Trilu", {"input": ["n", "n"]}, {}, {"input": "n*(n + 1)/2"}),
        ("CenterCropPad", {"input_data": [100, 80]}, {"shape": [50, 60]}, {"input_data": "3000"}),
        ("Conv", {"X": ["n", 3, 9, 9], "W": [8, 3, 1, 1]}, {"strides": [2, 2]}, {"X": "75*n", "W": "24"}),
        ("Conv", {"X": ["n", 3, 9, 9], "W": [8, 3, 3, 3]}, {"strides": [2, 2]}, {"X": "243*n", "W": "216"}),
        ("MaxPool", {"X": ["n", 1, 9, 9]}, {"kernel_shape": [2, 2], "strides": [2, 2]}, {"X": "64*n"}),
        ("MaxPool", {"X": ["n", 1, 20]}, {"kernel_shape": [3], "strides": [2]}, {"X": "19*n"}),
        ("Gather", {"data": [9, "m"], "indices": [4]}, {}, {"data": "4*m", "indices": "4"}),
        ("Gather", {"data": [9, "m"], "indices": [40]}, {}, {"data": "9*m", "indices": "40"}),
        (
            "NegativeLogLikelihoodLoss",
            {"input": ["n", "c"], "target": ["n"]},
            {},
            {"input": "n", "target": "n"},
        ),
        (
            "ScatterND",
            {"data": [9, "m"], "indices": [4, 1], "updates": [4, "m"]},
            {},
            {"data": "5*m", "indices": "4", "updates": "4*m"},
        ),
        ("Concat", {"inputs": [["n", 2], ["n", 3]]}, {"axis": 1}, {"inputs.1": "2*n", "inputs.2": "3*n"}),
    ],
)
def test_elements_that_operators_read(name, shapes, attrs, read):
    parsed = read_program(read_spec("onnx", name))
    program = lower(parsed, arguments(parsed.program, shapes, attrs)).program
    found = {given: to_text(form) for given, ((_, form),) in elements_read(program).items()}
    assert found == read


@pytest.mark.parametrize(
    "new, read", [("w[i]", "0"), ("s[n + 1 - i] + 1", "n"), ("reduce(s, add, 0)", "n"), ("s[i] * w[i]", "n")]
)
def test_a_fold_reads_what_it_starts_from_unless_it_only_replaces_it(new, read):
    text = f"tol x: R [n]\ntol w: R [n]\ny := reduce(tol[n], (s, z) => put(s, [i], {new}), x, [i])"
    program = lower(read_program(Source("replaced.tol", text))).program
    (_, form), *_ = elements_read(program)["x"]
    assert to_text(form) == read


@pytest.mark.parametrize(
    "body, read",
    [
        ("x[i] + where(i <= m, x[i], 0)", "30"),  # the second is read by the first
        ("x[i] + x[i + 40]", "60"),
        ("x[i] * x[i]", "30"),
    ],
)
def test_elements_that_are_read_twice(body, read):
    text = f"tol x: R [100]\ntol w: R [m]\ny := map(tol[30], {body} + w[1], [i])"
    program = lower(read_program(Source("twice.tol", text))).program
    (_, form), *_ = elements_read(program)["x"]
    assert to_text(form) == read


@pytest.mark.parametrize(
    "name, shapes, attrs, read",
    [
        ("Gather", {"data": ["r", "w"], "indices": ["k"]}, {}, {"R": "4*w", "Z": "8*k"}),
        ("Gather", {"data": ["r", "w"], "indices": ["k"]}, {"axis": 1}, {"R": "4*r", "Z": "8*k"}),
        ("GatherElements", {"data": ["r", "w"], "indices": ["r", "w"]}, {}, {"R": "4*w", "Z": "8*r*w"}),
        ("NegativeLogLikelihoodLoss", {"input": ["n", "c"], "target": ["n"]}, {}, {"R": "4*n", "Z": "8*n"}),
        ("Softmax", {"input": ["n", "c"]}, {}, {"R": "4*c*n"}),
    ],
)
def test_what_is_read_for_certain_does_not_take_indices_to_differ(name, shapes, attrs, read):
    parsed = read_program(read_spec("onnx", name))
    program = lower(parsed, arguments(parsed.program, shapes, attrs)).program
    assert {space: to_text(form) for space, form in traffic(program).certain.items()} == read


@pytest.mark.parametrize("name, given", [("Gather", {"indices": ["k"]}), ("Softmax", {})])
def test_traffic_with_every_form_changed(name, given):
    shapes = {"data" if given else "input": ["r", "w"], **given}
    parsed = read_program(read_spec("onnx", name))
    found = traffic(lower(parsed, arguments(parsed.program, shapes, {})).program)
    twice = found.map_forms(lambda form: 2 * form)
    for changed, form in (
        (twice.read, found.read),
        (twice.written, found.written),
        (twice.certain, found.certain),
    ):
        assert changed == {space: 2 * count for space, count in form.items()}
