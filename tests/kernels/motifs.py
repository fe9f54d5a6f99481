"""The programs of `specs/motifs` again in Python, NumPy and networkx."""

from __future__ import annotations

import math
import zlib
from hashlib import sha256 as hashed
from itertools import product

import networkx as nx
import numpy as np

MASK = 0xFFFFFFFF


# ---- matrix ------------------------------------------------------------------------------


def strassen(a, b):
    return a @ b


def conjugate_gradient(A, b):  # noqa: N803
    return np.linalg.solve(A, b)


def power_iteration(A, v, rounds):  # noqa: N803
    for _ in range(rounds):
        v = A @ v
        v = v / np.linalg.norm(v)
    return v, v @ A @ v


# ---- sampling ----------------------------------------------------------------------------


def philox_words(counter: list[int], key: list[int]) -> list[int]:
    c, k = [int(v) for v in counter], [int(v) for v in key]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & MASK, (p >> 32) ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def philox(counter, key):
    return np.array([philox_words(c, key) for c in counter])


def monte_carlo_pi(key, n):
    points = (philox_words([i] * 4, key) for i in range(1, n + 1))
    return 4 * sum((w[0] / 2**32) ** 2 + (w[1] / 2**32) ** 2 < 1 for w in points) / n


def shuffle(x, u):
    n = len(x)
    for i in range(n):
        k = n - i
        j = math.floor(u[i] * k)
        x[k - 1], x[j] = x[j], x[k - 1]
    return x


def reservoir(x, u, k):
    kept = [0.0] * k
    for i, e in enumerate(x, start=1):
        j = i if i <= k else math.floor(u[i - 1] * i) + 1
        if j <= k:
            kept[j - 1] = e
    return np.array(kept)


# ---- transform ---------------------------------------------------------------------------


def fft(x):
    return np.fft.fft(x)


def walsh_hadamard(x):
    matrix = np.ones((1, 1))
    while len(matrix) < len(x):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix @ x


def dct(x):
    n = len(x)
    return [2 * sum(x[j] * math.cos(math.pi * (2 * j + 1) * k / (2 * n)) for j in range(n)) for k in range(n)]


def convolution(x, h):
    return np.convolve(x, h)


# ---- graph -------------------------------------------------------------------------------


def lengths_from(graph: nx.DiGraph, n: int) -> list[float]:
    found = nx.single_source_dijkstra_path_length(graph, 0)
    return [found.get(i, math.inf) for i in range(n)]


def dijkstra(length):
    n = len(length)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (i, j, length[i, j]) for i, j in product(range(n), repeat=2) if np.isfinite(length[i, j])
    )
    return [min(v, 1e300) for v in lengths_from(graph, n)]


def bfs(edge):
    n = len(edge)
    graph = nx.from_numpy_array(edge.astype(int), create_using=nx.DiGraph)
    found = nx.single_source_shortest_path_length(graph, 0)
    return [found.get(i, -1) for i in range(n)]


def bellman_ford(**given):
    start, end, weight, n = given["from"], given["to"], given["weight"], given["n"]
    distance = [0.0] + [math.inf] * (n - 1)
    for _ in range(n - 1):
        for u, v, w in zip(start, end, weight, strict=True):
            distance[v - 1] = min(distance[v - 1], distance[u - 1] + w)
    return distance


def pagerank(link, rounds):
    n = len(link)
    rank = np.full(n, 1 / n)
    degree = link.sum(1)
    for _ in range(rounds):
        shares = np.where(degree > 0, rank / np.maximum(degree, 1), 0)
        rank = 0.15 / n + 0.85 * (shares @ link + rank[degree == 0].sum() / n)
    return rank


def max_flow(capacity):
    n = len(capacity)
    if n == 1:
        return 0.0
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(
        (i, j, {"capacity": capacity[i, j]}) for i, j in product(range(n), repeat=2) if capacity[i, j] > 0
    )
    return nx.maximum_flow_value(graph, 0, n - 1)


# ---- logic -------------------------------------------------------------------------------


def sha256(message, b):
    """The message is the padded one of what it holds: its length stands at its end."""
    data = message.astype(">u4").tobytes()
    size = int.from_bytes(data[-8:], "big") // 8
    digest = hashed(data[:size]).digest()
    return np.frombuffer(digest, ">u4").astype(np.uint32)


def crc32(**given):
    return zlib.crc32(given["bytes"].astype(np.uint8).tobytes())


def life(cells, generations):
    for _ in range(generations):
        near = sum(
            np.roll(cells, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        cells = (near == 3) | (cells & (near == 2))
    return cells


def adder(x, y):
    total = sum(int(v) << k for t in (x, y) for k, v in enumerate(t))
    return [total >> k & 1 for k in range(len(x) + 1)]


def edit_distance(a, b):
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + int(a[i - 1] != b[j - 1])
            )
    return table[len(a), len(b)]


# ---- set ---------------------------------------------------------------------------------


def union(a, b):
    return [*a, *(e for e in b if e not in set(a.tolist()))]


def intersection(a, b):
    return [e for e in a if e in set(b.tolist())]


def difference(a, b):
    return [e for e in a if e not in set(b.tolist())]


def distinct(a):
    return list(dict.fromkeys(a.tolist()))


def jaccard(a, b):
    both = {k for k, v in enumerate(a) if v}, {k for k, v in enumerate(b) if v}
    joint = both[0] | both[1]
    return len(both[0] & both[1]) / len(joint) if joint else 1


def union_find(**given):
    graph = nx.Graph()
    graph.add_nodes_from(range(1, given["n"] + 1))
    graph.add_edges_from(zip(given["from"].tolist(), given["to"].tolist(), strict=True))
    names = {node: min(part) for part in nx.connected_components(graph) for node in part}
    return [names[node] for node in range(1, given["n"] + 1)]


# ---- sort --------------------------------------------------------------------------------


def sorted_(x):
    return np.sort(x)


# ---- statistics --------------------------------------------------------------------------


def moments(x):
    mean, d = x.mean(), x - x.mean()
    v = (d**2).mean()
    return mean, v, (d**3).mean() / v**1.5, (d**4).mean() / v**2 - 3


def quantiles(x):
    return np.quantile(x, [0, 0.25, 0.5, 0.75, 1])


def histogram(x, low, high, k):
    return np.histogram(np.clip(x, low, high), bins=k, range=(float(low), float(high)))[0]


def correlation(x, y):
    return np.corrcoef(x, y)[0, 1]


def regression(x, y):
    return tuple(np.polyfit(x, y, 1))


def kmeans(x, centre, rounds):
    for _ in range(rounds):
        of = ((x[:, None, :] - centre[None]) ** 2).sum(2).argmin(1)
        centre = np.array([x[of == c].mean(0) if (of == c).any() else centre[c] for c in range(len(centre))])
    return centre
