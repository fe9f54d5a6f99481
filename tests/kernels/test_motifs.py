"""The eight data motifs: every program against its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels import motifs
from tests.kernels.holding import SPECS, Change, Inputs, hold

Rng = np.random.Generator
POWERS = [{"n": 2**p, "p": p} for p in (0, 1, 2, 3)]
SAMPLES = [{"n": n} for n in (1, 2, 3, 7)]


def definite(given: Inputs, rng: Rng) -> Inputs:
    a = given["A"]
    return {**given, "A": a @ a.T + len(a) * np.eye(len(a))}


def positive(given: Inputs, rng: Rng) -> Inputs:
    return {key: np.abs(value) for key, value in given.items()}


def words(given: Inputs, rng: Rng) -> Inputs:
    return {key: rng.integers(0, 2**32, value.shape).astype(np.uint32) for key, value in given.items()}


def uniform(given: Inputs, rng: Rng) -> Inputs:
    return {**given, "u": rng.random(given["u"].shape)}


def complex_(given: Inputs, rng: Rng) -> Inputs:
    return {"x": rng.normal(size=given["x"].shape) + 1j * rng.normal(size=given["x"].shape)}


def roads(given: Inputs, rng: Rng) -> Inputs:
    length = rng.random(given["length"].shape)
    return {"length": np.where(rng.random(length.shape) < 0.6, length, 1e300)}


def thin(given: Inputs, rng: Rng) -> Inputs:
    return {key: rng.random(value.shape) < 0.4 for key, value in given.items()}


def nodes(n: int) -> Change:
    """Edges between any of n nodes; some weights are negative, but on no cycle all together."""

    def edges(given: Inputs, rng: Rng) -> Inputs:
        ends = {key: rng.integers(1, n + 1, given[key].shape) for key in ("from", "to")}
        height = rng.normal(size=n + 1)
        weight = rng.random(ends["to"].shape) + height[ends["from"]] - height[ends["to"]]
        return {**given, **ends} | ({"weight": weight} if "weight" in given else {})

    return edges


def pipes(given: Inputs, rng: Rng) -> Inputs:
    shape = given["capacity"].shape
    capacity = rng.integers(0, 5, shape) * (rng.random(shape) < 0.7)
    np.fill_diagonal(capacity, 0)
    return {"capacity": capacity.astype(float)}


def padded(given: Inputs, rng: Rng) -> Inputs:
    """A random message that takes as many blocks as there are; that of no bytes takes one."""
    blocks = len(given["message"])
    least = max(64 * blocks - 72, 0)
    size = least if rng.random() < 0.1 else int(rng.integers(least, 64 * blocks - 8))
    data = rng.bytes(size) + b"\x80" + bytes(64 * blocks - size - 9) + (8 * size).to_bytes(8, "big")
    return {"message": np.frombuffer(data, ">u4").astype(np.uint32).reshape(blocks, 16)}


def octets(given: Inputs, rng: Rng) -> Inputs:
    return {"bytes": rng.integers(0, 256, given["bytes"].shape).astype(np.uint32)}


def sets(given: Inputs, rng: Rng) -> Inputs:
    """Different elements, some of them shared."""
    return {key: rng.permutation(8)[: len(value)] for key, value in given.items()}


def keys(given: Inputs, rng: Rng) -> Inputs:
    return {"x": rng.integers(1, 4, given["x"].shape)}


def ends(given: Inputs, rng: Rng) -> Inputs:
    return {**given, "low": np.array(-1.0), "high": np.array(1.5)}


HOW: dict[str, dict[str, Any]] = {
    "matrix/strassen": {"at": [{"n": n, "n_share": n // 2} for n in (2, 4, 6, 2)], "none": {"n": 0}},
    "matrix/conjugate_gradient": {"change": definite, "fixed": {"rounds": 6}, "rtol": 1e-6},
    "matrix/power_iteration": {"change": positive},
    "sampling/philox": {"change": words},
    "sampling/monte_carlo_pi": {"change": words, "longest": 40},
    "sampling/shuffle": {"change": uniform},
    "sampling/reservoir": {"change": uniform},
    "transform/fft": {"change": complex_, "at": POWERS, "refused": True},
    "transform/walsh_hadamard": {"at": POWERS, "refused": True},
    "transform/dct": {"refused": True},
    "transform/convolution": {"refused": True},
    "graph/dijkstra": {"change": roads, "attrs": {"source": 1}, "longest": 6, "refused": True},
    "graph/bfs": {"change": thin, "attrs": {"source": 1}, "refused": True},
    "graph/bellman_ford": {"change": nodes(3), "attrs": {"source": 1}, "fixed": {"n": 3}, "longest": 6},
    "graph/pagerank": {"change": thin, "refused": True},
    "graph/max_flow": {"change": pipes, "fixed": {"paths": 8}, "refused": True},
    "logic/sha256": {"change": padded, "at": [{"b": 1}, {"b": 2}], "batch": 50, "refused": True},
    "logic/crc32": {"change": octets},
    "set/union": {"change": sets, "one_by_one": True},
    "set/intersection": {"change": sets, "one_by_one": True},
    "set/difference": {"change": sets, "one_by_one": True},
    "set/distinct": {"one_by_one": True},
    "set/union_find": {"change": nodes(3), "fixed": {"n": 3}},
    "sort/bitonic": {"at": POWERS},
    "sort/merge": {"fixed": {"p": 3}, "longest": 8},
    "sort/counting": {"change": keys, "fixed": {"m": 3}},
    "statistics/moments": {"at": SAMPLES, "refused": True},
    "statistics/histogram": {"change": ends},
    "statistics/correlation": {"at": SAMPLES, "refused": True},
    # there are many lines through one point
    "statistics/regression": {"at": [{"n": n} for n in (2, 3, 4, 7)], "rtol": 1e-6, "refused": True},
    "statistics/kmeans": {"none": {"k": 2, "d": 2}},
    "statistics/quantiles": {"refused": True},
}
PROGRAMS = sorted(
    str(path.relative_to(SPECS / "motifs")).removesuffix(".tol") for path in (SPECS / "motifs").rglob("*.tol")
)


def test_every_motif_has_three_programs() -> None:
    found = [name.split("/")[0] for name in PROGRAMS]
    assert len(set(found)) == 8
    assert all(found.count(motif) >= 3 for motif in found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_counts(name: str) -> None:
    motif, short = name.split("/")
    twin = motifs.sorted_ if motif == "sort" else getattr(motifs, short)
    hold(f"motifs/{name}", twin, **HOW.get(name, {}))


@pytest.mark.parametrize("name", ["graph/bellman_ford", "set/union_find"])
def test_graphs_of_one_node(name: str) -> None:
    how = {**HOW[name], "change": nodes(1), "fixed": {"n": 1}}
    hold(f"motifs/{name}", getattr(motifs, name.split("/")[1]), **how)


def test_kmeans_converges() -> None:
    """After enough rounds the centres are where no round moves them."""
    enough = {"n": 6, "k": 2, "d": 2, "rounds": 6}
    hold("motifs/statistics/kmeans", motifs.kmeans_at_rest, at=[enough], batch=100, none={**enough, "n": 0})


def test_philox_gives_the_published_words() -> None:
    """The known answers of Random123 for 4x32-10."""
    assert [f"{w:08x}" for w in motifs.philox([0] * 4, [0] * 2)] == [
        "6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"
    ]  # fmt: skip
    digits = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    assert [f"{w:08x}" for w in motifs.philox(digits, [0xA4093822, 0x299F31D0])] == [
        "d16cfe09", "94fdcceb", "5001e420", "24126ea1"
    ]  # fmt: skip
