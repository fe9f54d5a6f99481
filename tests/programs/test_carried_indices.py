"""Indices that a fold carries along: what a run stops at was told of, and there is no silent wrong value."""

from collections import Counter

import pytest

from tools.programs.carried_indices import faults


@pytest.mark.parametrize("start", range(0, 60, 15))
def test_indices_that_a_fold_carries_along(start: int) -> None:
    counts = Counter[str]()
    assert [fault for seed in range(start, start + 15) for fault in faults(seed, counts)] == []
    assert min(counts["ran"], counts["stopped"], counts["broken"]) > 5
