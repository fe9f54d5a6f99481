"""Trials of the data structures that are kept in arrays."""

from __future__ import annotations

import networkx as nx
import numpy as np

from tools.textbook.holding import Trial

Rng = np.random.Generator


def prefix_sums(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size + 1)
    return Trial({"x": x}, (x.cumsum(),))


def summed_areas(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=(size, 3))
    return Trial({"x": x}, (np.pad(x.cumsum(0).cumsum(1), ((1, 0), (1, 0))),))


def segment_tree(rng: Rng, size: int) -> Trial:
    """Each node has the sum of all leaves that it is above."""
    x = rng.normal(size=size)
    tree = np.zeros(2 * size)
    for leaf in range(size, 2 * size):
        node = leaf
        while node:
            tree[node] += x[leaf - size]
            node //= 2
    return Trial({"x": x}, (tree,))


def fenwick_tree(rng: Rng, size: int) -> Trial:
    """Entry i has the sum of as many numbers up to it as its lowest bit says."""
    p = size // 2
    x = rng.normal(size=2**p)
    return Trial({"x": x}, ([x[i - (i & -i) : i].sum() for i in range(1, 2**p + 1)],), {"p": p})


def sparse_table(rng: Rng, size: int) -> Trial:
    p = size // 2
    x = rng.normal(size=2**p)
    table = [x]
    for k in range(1, p + 1):
        whole = range(2**p - 2**k + 1)
        table.append(np.array([x[i : i + 2**k].min() if i in whole else table[-1][i] for i in range(2**p)]))
    return Trial({"x": x}, (table,), {"p": p})


def heap(rng: Rng, size: int) -> Trial:
    """As it is built where a number that has come to rest is left alone."""
    p = (size + 1) // 2
    x = rng.integers(0, 9, 2**p - 1).astype(float)
    a = [0.0, *x]
    for k in range(2 ** (p - 1) - 1, 0, -1):
        i = k
        while 2 * i < 2**p:
            c = 2 * i + (a[2 * i] < a[2 * i + 1])
            if a[i] >= a[c]:
                break
            a[i], a[c], i = a[c], a[i], c
    return Trial({"x": x}, (a[1:],), {"p": p})


def range_updates(rng: Rng, size: int) -> Trial:
    n = 5
    ends, by = np.sort(rng.integers(1, n + 1, (2, size)), axis=0), rng.normal(size=size)
    y = np.zeros(n)
    for begin, end, amount in zip(*ends, by, strict=True):
        y[begin - 1 : end] += amount
    return Trial({"from": ends[0], "to": ends[1], "by": by}, (y,), {"n": n})


def brackets(rng: Rng, size: int) -> Trial:
    opens = rng.random(2 * ((size + 1) // 2)) < 0.5
    text = "".join("(" if e else ")" for e in opens)
    while "()" in text:
        text = text.replace("()", "")
    return Trial({"opens": opens}, (not text,))


def bloom_filter(rng: Rng, size: int) -> Trial:
    m, k = 6, 2
    place, asked = rng.integers(1, m + 1, (size, k)), rng.integers(1, m + 1, (3, k))
    held = set(place.ravel())
    return Trial({"place": place, "asked": asked}, ([set(row) <= held for row in asked],), {"m": m})


def inverse_permutation(rng: Rng, size: int) -> Trial:
    p = rng.permutation(size) + 1
    return Trial({"p": p}, (np.argsort(p) + 1, (p == np.arange(1, size + 1)).sum()))


def linear_probing(rng: Rng, size: int) -> Trial:
    cap = size + int(rng.integers(3))
    keys = rng.choice(np.arange(1, 4 * cap), size, replace=False)
    table = [0] * cap
    for key in keys:
        place = key % cap
        while table[place]:
            place = (place + 1) % cap
        table[place] = int(key)
    return Trial({"key": keys}, (table,), {"cap": cap})


def union_find(rng: Rng, size: int) -> Trial:
    """Vertices are in one set if a path leads from one to the other; a root is told by its number."""
    n = size + 1
    one, other = rng.integers(1, n + 1, (2, size))
    parent, members = list(range(n + 1)), [1] * (n + 1)
    for a, b in zip(one, other, strict=True):
        a, b = _root(parent, int(a)), _root(parent, int(b))
        if a != b:
            low, top = (a, b) if members[a] < members[b] else (b, a)
            parent[low] = top
            members[top] += members[low]
    graph = nx.Graph(zip(one.tolist(), other.tolist(), strict=True))
    roots = [_root(parent, v) for v in range(1, n + 1)]
    assert all((roots[a - 1] == roots[b - 1]) == nx.has_path(graph, a, b) for a in graph for b in graph)
    return Trial({"one": one, "other": other}, (roots,), {"n": n})


def _root(parent: list[int], v: int) -> int:
    while parent[v] != v:
        v = parent[v]
    return v
