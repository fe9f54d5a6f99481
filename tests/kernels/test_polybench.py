"""PolyBench: every kernel against its twin, and what is recorded of DaCe against the closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels import polybench
from tests.kernels.holding import SPECS, Inputs, hold, unchanged
from tolcost.apps.paper.recorded import RECORDED, polybench_table
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected

KERNELS = sorted(path.stem for path in (SPECS / "polybench").glob("*.tol"))


def definite(given: Inputs, rng: np.random.Generator) -> Inputs:
    """Symmetric and positive definite."""
    a = given["A"]
    return {**given, "A": a @ a.T + np.eye(len(a))}


def dominant(given: Inputs, rng: np.random.Generator) -> Inputs:
    """A large diagonal, so that elimination needs no pivots."""
    name = "A" if "A" in given else "L"
    return {**given, name: given[name] + 5 * np.eye(len(given[name]))}


def small(given: Inputs, rng: np.random.Generator) -> Inputs:
    """A Toeplitz matrix that is close to the identity."""
    return {"r": given["r"] / 10}


def lengths(given: Inputs, rng: np.random.Generator) -> Inputs:
    return {"path": rng.integers(0, 50, given["path"].shape).astype(np.int32)}


def bases(given: Inputs, rng: np.random.Generator) -> Inputs:
    return {"seq": rng.integers(0, 4, given["seq"].shape).astype(np.int32)}


CHANGES = {
    "cholesky": definite,
    "lu": dominant,
    "ludcmp": dominant,
    "trisolv": dominant,
    "durbin": small,
    "floyd-warshall": lengths,
    "nussinov": bases,
}
HOW: dict[str, dict[str, Any]] = {
    # columns that are at least as long as there are of them
    "gramschmidt": {"at": [{"m": m, "n": n} for m, n in ((1, 1), (5, 2), (3, 3), (5, 4))]},
    # more than one sample
    "covariance": {"fixed": {"n": 3}},
    "correlation": {"none": {"n": 3}},
    # divides by the length; begins with an element
    "adi": {"refused": True},
    "durbin": {"refused": True},
}


def test_all_kernels_are_there() -> None:
    assert len(KERNELS) == 30


@pytest.mark.parametrize("name", KERNELS)
def test_values_and_counts(name: str) -> None:
    twin = getattr(polybench, ("k" + name if name[0].isdigit() else name).replace("-", "_"))
    hold(f"polybench/{name}", twin, CHANGES.get(name, unchanged), **HOW.get(name, {}))


def test_a_difference_without_a_reason_is_refused(tmp_path: Path) -> None:
    """What is recorded of one kernel, with its reason taken away, and with a pinned figure changed."""
    whole = (SPECS.parent / "reports" / RECORDED).read_text("utf-8")
    text = whole[: whole.index("[kernels.")] + whole[whole.index("[kernels.trmm]") :]
    (tmp_path / "data").mkdir()
    for old, new, said in (
        ('differs = { start = "-m*n" }', "", "trmm differs for no reason"),
        ("pinned = [1716, 15760, 2288]", "pinned = [1717, 15760, 2288]", "not as pinned"),
    ):
        assert old in text
        (tmp_path / RECORDED).write_text(text.replace(old, new), "utf-8")
        with pytest.raises(Rejected, match=said):
            polybench_table(tmp_path, open_library())
