"""The depth of additions into place: a tree for each member, of all that may meet there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tolcost.algebra.floors import log2_of_number
from tolcost.atoms.accumulation import accumulation
from tolcost.atoms.kit import bound_nodes, program_nodes, schedules
from tolcost.atoms.nodes import Fold, Program
from tolcost.cli.analyze import Request, lowered
from tolcost.cost import depths
from tolcost.gradient import derivative
from tools.cost.brute_depth import brute_depth

GATHER = Path(__file__).parents[2] / "specs" / "onnx" / "Gather.tol"
START = "tol x: R [n, k]\ntol at: Z [n]\ntol s: R [m, k]\n"


def program_of(tmp_path: Path, text: str) -> Program:
    path = tmp_path / "program.tol"
    path.write_text(text)
    return lowered(str(path), Request()).program


def is_into_place(program: Program) -> bool:
    bound = bound_nodes(program, schedules(program))
    folds = [node for node in program_nodes(program) if isinstance(node, Fold)]
    return any(accumulation(fold, bound) is not None for fold in folds)


def assert_walked(program: Program, tree: str) -> None:
    found = depths(program).tree
    assert str(found) == tree
    assert not found.exact
    for n in range(1, 6):
        values = {symbol: n + k for k, symbol in enumerate(program.symbols)}
        assert found.at(values) == brute_depth(program, values, True)


STEPS = {
    "rows": ("put(a, [at[i], j], a[at[i], j] + x[i, j])", "ceiling(log(n + 1, 2))"),
    "the other way around": ("put(a, [at[i], j], x[i, j] + a[at[i], j])", "ceiling(log(n + 1, 2))"),
    "one member": ("put(a, [at[i], 1], a[at[i], 1] + x[i, j])", "ceiling(log(k*n + 1, 2))"),
    "a term that is computed": (
        "put(a, [at[i], j], a[at[i], j] + exp(2 * x[i, j]))",
        "ceiling(log(n + 1, 2)) + 2",
    ),
    "largest": ("put(a, [at[i], j], max(a[at[i], j], x[i, j]))", "ceiling(log(n + 1, 2))"),
    "under a condition": (
        "where(i + j > 2, put(a, [at[i], j], a[at[i], j] + x[i, j]), a)",
        "ceiling(log(n + 1, 2))",
    ),
}


@pytest.mark.parametrize("step,tree", STEPS.values(), ids=STEPS)
def test_depth(tmp_path: Path, step: str, tree: str) -> None:
    program = program_of(tmp_path, f"{START}y := reduce(tol[n, k], (a, z) => {step}, s, [i, j])\n")
    assert_walked(program, tree)


@pytest.mark.parametrize(
    "step",
    [
        "put(a, [at[i], j], a[at[i], j] - x[i, j])",
        "put(a, [at[i], j], a[1, j] + x[i, j])",
        "put(a, [at[i], j], a[at[i], j] + a[1, j])",
        "put(a, [at[i], j], x[i, j])",
        "put(a, [where(a[1, 1] > 0, 1, 2), j], a[where(a[1, 1] > 0, 1, 2), j] + x[i, j])",
    ],
)
def test_what_waits_is_no_tree(tmp_path: Path, step: str) -> None:
    program = program_of(tmp_path, f"{START}y := reduce(tol[n, k], (a, z) => {step}, s, [i, j])\n")
    assert not is_into_place(program)
    found = depths(program)
    assert str(found.tree) == str(found.chain)


@pytest.mark.parametrize("indices", [[0, 1, 2, 3, 4], [2, 2, 2, 2, 2], [1, 3, 1, 3, 1]])
def test_the_gradient_of_a_gather(indices: list[int]) -> None:
    """However often an index is repeated, no member waits longer than for a tree of all."""
    shapes = {"data": ["v", "d"], "indices": [len(indices)]}
    program = derivative(lowered(str(GATHER), Request(shapes)).program)  # type: ignore[arg-type]
    assert is_into_place(program)
    values = dict.fromkeys(program.symbols, 6)
    deepest = max(log2_of_number(many + 1) for many in Counter(indices).values())
    assert deepest <= depths(program).tree.at(values) == log2_of_number(len(indices) + 1)
    assert np.unique(indices).size > 1 or deepest == depths(program).tree.at(values)
