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


def philox(counter, key):
    """The published rounds, on all counters at once; the words are the last axis."""
    c, k = np.asarray(counter, np.uint64), np.asarray(key, np.uint64)
    for _ in range(10):
        p, q = c[..., 0] * 0xD2511F53, c[..., 2] * 0xCD9E8D57
        c = np.stack([(q >> 32) ^ c[..., 1] ^ k[0], q & MASK, (p >> 32) ^ c[..., 3] ^ k[1], p & MASK], -1)
        k = (k + np.array([0x9E3779B9, 0xBB67AE85], np.uint64)) & MASK
    return c


def monte_carlo_pi(key, n):
    words = philox(np.repeat(np.arange(1, n + 1)[:, None], 4, axis=1), key)
    return 4 * (np.hypot(*words[:, :2].T / 2**32) < 1).mean()


def shuffle(x, u):
    """The exchanges as permutation matrices."""
    n = len(x)
    for k in range(n, 0, -1):
        swap, j = np.eye(n), math.floor(u[n - k] * k)
        swap[[k - 1, j]] = swap[[j, k - 1]]
        x = swap @ x
    return x


def reservoir(x, u, k):
    """In each place is the last element that went there."""
    i = np.arange(1, len(x) + 1)
    place = np.where(i <= k, i, np.floor(u * i) + 1)
    last = [np.flatnonzero(place == j)[-1:] for j in range(1, k + 1)]
    return [x[at[0]] if len(at) else 0 for at in last]


# ---- transform ---------------------------------------------------------------------------


def fft(x):
    return np.fft.fft(x)


def walsh_hadamard(x):
    matrix = np.ones((1, 1))
    while len(matrix) < len(x):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix @ x


def dct(x):
    """By the Fourier transform of the numbers and their mirror image."""
    k = np.arange(len(x))
    return (np.fft.fft([*x, *x[::-1]])[: len(x)] * np.exp(-0.5j * np.pi * k / len(x))).real


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
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(1, given["n"] + 1))
    graph.add_weighted_edges_from(
        zip(given["from"].tolist(), given["to"].tolist(), given["weight"].tolist(), strict=True)
    )
    found = nx.single_source_bellman_ford_path_length(graph, 1)
    return [found.get(node, math.inf) for node in graph]


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
    places = 2 ** np.arange(len(x))
    return (x @ places + y @ places) >> np.arange(len(x) + 1) & 1


def edit_distance(a, b):
    """The shortest way through the table of all beginnings, a letter of one word or of both at a time."""
    n, m = len(a), len(b)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(((i, j), (i + 1, j), 1) for i in range(n) for j in range(m + 1))
    graph.add_weighted_edges_from(((i, j), (i, j + 1), 1) for i in range(n + 1) for j in range(m))
    graph.add_weighted_edges_from(
        ((i, j), (i + 1, j + 1), int(a[i] != b[j])) for i in range(n) for j in range(m)
    )
    return nx.dijkstra_path_length(graph, (0, 0), (n, m)) if n or m else 0


# ---- set ---------------------------------------------------------------------------------


def union(a, b):
    return np.concatenate([a, b[~np.isin(b, a)]])


def intersection(a, b):
    return a[np.isin(a, b)]


def difference(a, b):
    return a[~np.isin(a, b)]


def distinct(a):
    return a[np.sort(np.unique(a, return_index=True)[1])]


def jaccard(a, b):
    return (a & b).sum() / (a | b).sum() if (a | b).any() else 1


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


def kmeans_round(x, centre):
    of = ((x[:, None, :] - centre[None]) ** 2).sum(2).argmin(1)
    return np.array([x[of == c].mean(0) if (of == c).any() else centre[c] for c in range(len(centre))])


def kmeans(x, centre, rounds):
    for _ in range(rounds):
        centre = kmeans_round(x, centre)
    return centre


def kmeans_at_rest(x, centre):
    while not np.array_equal(after := kmeans_round(x, centre), centre):
        centre = after
    return centre
