"""Trials of the programs on graphs, against networkx."""

from __future__ import annotations

from itertools import combinations
from math import prod

import networkx as nx
import numpy as np

from tools.textbook.holding import Array, Trial

Rng = np.random.Generator


def warshall(rng: Rng, size: int) -> Trial:
    edge = rng.random((size, size)) < 0.3
    closure = nx.transitive_closure(nx.from_numpy_array(edge, create_using=nx.DiGraph), reflexive=False)
    return Trial({"edge": edge}, (nx.to_numpy_array(closure) > 0,))


def floyd(rng: Rng, size: int) -> Trial:
    length = np.where(rng.random((size, size)) < 0.5, rng.random((size, size)), np.inf)
    np.fill_diagonal(length, 0)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from((i, j, length[i, j]) for i, j in np.argwhere(np.isfinite(length)))
    found = dict(nx.all_pairs_dijkstra_path_length(graph))
    return Trial({"length": length}, ([[found[i].get(j, np.inf) for j in range(size)] for i in range(size)],))


def triangles(rng: Rng, size: int) -> Trial:
    edge = _symmetric(rng.random((size, size))) < 0.6
    graph = nx.from_numpy_array(edge & ~np.eye(size, dtype=bool))
    return Trial({"edge": edge}, (sum(nx.triangles(graph).values()) // 3,))


def _symmetric(a: Array) -> Array:
    return np.maximum(a, a.T)


def spanning_trees(rng: Rng, size: int) -> Trial:
    """All sets of so many edges that are trees, one by one."""
    n = min(size, 4)
    weight = _symmetric(rng.integers(1, 4, (n + 1, n + 1)))
    pairs = list(combinations(range(n + 1), 2))
    trees = sum(prod(int(weight[e]) for e in edges) for edges in combinations(pairs, n) if _spans(edges))
    return Trial({"weight": weight.astype(float)}, (trees,))


def _spans(edges: tuple[tuple[int, int], ...]) -> bool:
    graph = nx.Graph(edges)
    return bool(nx.is_connected(graph)) and len(graph) == len(edges) + 1


def longest_path(rng: Rng, size: int) -> Trial:
    """The longest of all simple paths that end there, one by one; none is shorter than nothing."""
    length = np.where(rng.random((size, size)) < 0.6, rng.normal(size=(size, size)), -np.inf)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from(
        (i, j, length[i, j]) for i in range(size) for j in range(i + 1, size) if np.isfinite(length[i, j])
    )
    longest = [
        max(
            [0.0]
            + [
                nx.path_weight(graph, path, "weight")
                for i in range(j)
                for path in nx.all_simple_paths(graph, i, j)
            ]
        )
        for j in range(size)
    ]
    return Trial({"length": length}, (longest,))


def prim(rng: Rng, size: int) -> Trial:
    n = size + 1
    weight = _symmetric(rng.random((n, n)))
    tree = nx.minimum_spanning_tree(nx.from_numpy_array(weight))
    return Trial({"weight": weight}, (tree.size("weight"),))


def degrees(rng: Rng, size: int) -> Trial:
    m, n = size, 4
    ends = rng.integers(1, n + 1, (2, m))
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(1, n + 1))
    graph.add_edges_from(ends.T)
    return Trial({"from": ends[0], "to": ends[1]}, ([graph.degree(v) for v in range(1, n + 1)],), {"n": n})


def subtree_sizes(rng: Rng, size: int) -> Trial:
    parent = np.array([rng.integers(1, i + 2) for i in range(size)])
    graph = nx.DiGraph()
    graph.add_nodes_from(range(1, size + 2))
    graph.add_edges_from((p, i + 2) for i, p in enumerate(parent))
    sizes = [len(nx.descendants(graph, v)) + 1 for v in range(1, size + 2)]
    return Trial({"parent": parent}, (sizes,))


def breadth_first(rng: Rng, size: int) -> Trial:
    edge = rng.random((size, size)) < 1.5 / size
    graph = nx.from_numpy_array(edge, create_using=nx.DiGraph)
    source = int(rng.integers(size))
    found = nx.single_source_shortest_path_length(graph, source)
    distances = [found.get(v, -1) for v in range(size)]
    return Trial(_lists(edge), (distances,), {"n": size, "source": source + 1})


def dijkstra(rng: Rng, size: int) -> Trial:
    edge = rng.random((size, size)) < 1.5 / size
    length = rng.integers(0, 5, (size, size)) / 2
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from((i, j, length[i, j]) for i, j in np.argwhere(edge))
    source = int(rng.integers(size))
    found = nx.single_source_dijkstra_path_length(graph, source)
    distances = [found.get(v, np.inf) for v in range(size)]
    inputs = {**_lists(edge), "length": length[edge]}
    return Trial(inputs, (distances,), {"n": size, "source": source + 1})


def _lists(edge: Array) -> dict[str, Array]:
    """The neighbours of all vertices one after the other, and where those of each begin."""
    return {"ptr": np.append(0, edge.sum(1).cumsum()), "neighbour": np.nonzero(edge)[1] + 1}
