"""Random programs: every closed form, at several lengths, against walking every coordinate."""

from __future__ import annotations

import pytest

from tests.cost.brute import brute
from tests.cost.test_count import at
from tolcost.cost import count, count_functions, depths
from tolcost.cost.derive import derive
from tolcost.cost.unsummed import unsummed, walked
from tolcost.diagnostics import Source
from tolcost.pipeline import lower, read_program
from tolcost.result.derivation import derivation_text
from tools.cost.brute_depth import brute_depth
from tools.cost.programs import SYMBOLS
from tools.cost.random_programs import random_program

N, M, K = SYMBOLS
POINTS = [{N: a, M: b, K: c} for a, b, c in ((1, 1, 1), (2, 3, 1), (4, 2, 3), (5, 1, 4))]


@pytest.mark.parametrize("by_data", [False, True])
@pytest.mark.parametrize("start", range(0, 120, 10))
def test_random_programs(start, by_data):
    """What is counted and how deep it is, and where each count comes from, of ten programs."""
    for seed in range(start, start + 10):
        made = random_program(seed, by_data)
        counts, applied = count(made), unsummed(made)
        assert counts.status == "exact" or by_data, seed
        for values in POINTS:
            walked_all = brute(made, values)
            assert at(counts, values) == dict(walked_all), (seed, values)
            data = {key[1:]: many for key, many in walked_all.items() if key[0] == "data"}
            found = {key: walked(summands, values) for key, summands in applied.items()}
            assert {key: many for key, many in found.items() if many} == data, (seed, values)
        assert_depths(made, seed)
        if seed % 7 == 0:
            alone = count_functions(made)
            assert (alone.histogram, alone.status) == (counts.histogram, counts.status), seed
        if seed % 5 == 0:
            assert_derived(made, counts, seed)


def assert_depths(made, seed):
    found = depths(made)
    for values in POINTS:
        for depth, trees in ((found.chain, False), (found.tree, True)):
            deepest = brute_depth(made, values, trees)
            assert depth.at(values) >= deepest, (seed, values)
            assert not depth.is_exact(values) or depth.at(values) == deepest, (seed, values)


def assert_derived(made, counts, seed):
    """A derivation ends at the count, and each step starts where the one before ended."""
    derivation = derive(made)
    assert derivation.total == counts.eops, seed
    for chain in derivation.chains:
        for before, after in zip(chain.steps, chain.steps[1:], strict=False):
            assert before.text_after == after.text_before, seed
    assert derivation_text(derivation, "random", "random.tol").startswith("random  random.tol\n"), seed


def test_values_without_a_name_are_told_as_they_are_written():
    """It ended in an internal error: such values have no step but the one that counts them."""
    text = "tol d: R [3]\ny := reduce(1..2, (a, e) => a + map(tol[3], [4, 0][e], [i]), d - (d[1]))"
    told = derivation_text(derive(lower(read_program(Source("d.tol", text))).program), "d", "d.tol")
    assert "EOPs(d - (d[1]))" in told
    assert told.splitlines()[-1].endswith(" = 9")


@pytest.mark.parametrize("inner", ["i", "i + 2", "n + 1 - i"])
def test_depths_of_steps_that_differ(inner):
    """Steps of one fold that get longer or shorter: what is called exact is, and nothing is forgotten."""
    step = f"reduce(tol[{inner}], (t, w) => t * x[j], 1, [j])"
    text = f"tol x: R [m]\nn = |x|[1] - 2\ny := reduce(tol[n], (s, z) => s + {step}, 0, [i])"
    made = lower(read_program(Source("steps.tol", text))).program
    found = depths(made)
    for size in (3, 4, 7):
        values = {symbol: size for given in made.inputs for symbol in given.type[0].shape[0].free}
        for depth, trees in ((found.chain, False), (found.tree, True)):
            walked = brute_depth(made, values, trees)
            assert depth.at(values) == walked if depth.is_exact(values) else depth.at(values) >= walked
