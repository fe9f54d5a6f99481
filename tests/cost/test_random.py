"""Random programs: every closed form, at several lengths, against walking every coordinate."""

from __future__ import annotations

import pytest

from tests.cost.brute import brute
from tests.cost.brute_depth import brute_depth
from tests.cost.programs import SYMBOLS
from tests.cost.random_programs import random_program
from tests.cost.test_count import at
from tolcost.cost import count, count_functions, depths
from tolcost.cost.derive import derive
from tolcost.diagnostics import Source
from tolcost.pipeline import lower, read_program

N, M, K = SYMBOLS
POINTS = [{N: a, M: b, K: c} for a, b, c in ((1, 1, 1), (2, 3, 1), (4, 2, 3), (5, 1, 4))]


@pytest.mark.parametrize("seed", range(300))
def test_counts_of_random_programs(seed):
    made = random_program(seed)
    counts = count(made)
    assert counts.status == "exact"
    for values in POINTS:
        assert at(counts, values) == dict(brute(made, values)), values


@pytest.mark.parametrize("seed", range(0, 300, 7))
def test_functions_alone_are_counted_alike(seed):
    made = random_program(seed)
    counts, alone = count(made), count_functions(made)
    assert (alone.histogram, alone.status) == (counts.histogram, counts.status)


@pytest.mark.parametrize("seed", range(300))
def test_depths_of_random_programs(seed):
    made = random_program(seed)
    found = depths(made)
    for values in POINTS:
        for depth, trees in ((found.chain, False), (found.tree, True)):
            walked = brute_depth(made, values, trees)
            if walked is None:
                continue
            assert depth.at(values) >= walked
            if depth.exact:
                assert depth.at(values) == walked


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
            assert walked is not None
            assert depth.at(values) == walked if depth.exact else depth.at(values) >= walked


@pytest.mark.parametrize("seed", range(60))
def test_derivations_end_at_the_count(seed):
    made = random_program(seed)
    derivation = derive(made)
    assert derivation.total == count(made).eops
    for chain in derivation.chains:
        for before, after in zip(chain.steps, chain.steps[1:], strict=False):
            assert before.text_after == after.text_before
