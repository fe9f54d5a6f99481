"""Turning reads around, held to brute force: each place of a domain is found once, from what it reads."""

import random
from itertools import product

import pytest

from tolcost.algebra import (
    Poly,
    Symbol,
    const,
    coordinate,
    evaluate,
    evaluate_cond,
    floordiv,
    ge,
    length,
    maximum,
    minimum,
    mod,
    the_symbol,
)
from tolcost.gradient.equations import Nest
from tolcost.gradient.inversion import largest, preimage

N, M = length("n"), length("m")


def places(domain: Nest, point: dict[Symbol, int]) -> list[dict[Symbol, int]]:
    """All places of a domain at a point, by brute force."""
    found = [dict(point)]
    for symbol, extent in zip(domain.coords, domain.extents, strict=True):
        found = [{**one, symbol: k} for one in found for k in range(1, evaluate(extent, one) + 1)]
    return [one for one in found if all(evaluate_cond(guard, one) for guard in domain.guards)]


def check(domain: Nest, at: tuple[Poly, ...], shape: tuple[Poly, ...], point: dict[Symbol, int]) -> None:
    target = Nest(tuple(the_symbol(coordinate("s", extent)) for extent in shape), shape)
    found = preimage(domain, at, target)
    wanted: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for place in places(domain, point):
        element = tuple(evaluate(index, place) for index in at)
        wanted.setdefault(element, []).append(tuple(place[symbol] for symbol in domain.coords))
    for element in product(*(range(1, evaluate(extent, point) + 1) for extent in shape)):
        here = {**point, **dict(zip(target.coords, element, strict=True))}
        reached = [
            tuple(evaluate(found.values[symbol], place) for symbol in domain.coords)
            for place in places(found.domain, here)
        ]
        assert sorted(reached) == sorted(wanted.get(element, [])), element


def domain_of(*extents: Poly | int) -> tuple[Nest, list[Poly]]:
    made = [coordinate("ijk"[n], extent) for n, extent in enumerate(extents)]
    bounds = tuple(e if isinstance(e, Poly) else const(e) for e in extents)
    return Nest(tuple(map(the_symbol, made)), bounds), made


@pytest.mark.parametrize("n,m", [(1, 1), (4, 3), (5, 2)])
def test_indices_of_programs(n: int, m: int) -> None:
    point = {the_symbol(N): n, the_symbol(M): m}
    domain, (i, j) = domain_of(N, M)
    cases: list[tuple[tuple[Poly, ...], tuple[Poly, ...]]] = [
        ((i, j), (N, M)),
        ((j, i), (M, N)),
        ((i + j - 1,), (N + M - 1,)),
        ((2 * i + 3 * j - 4,), (2 * N + 3 * M - 4,)),
        (((i - 1) * M + j,), (N * M,)),
        (((j - 1) * N + i,), (N * M,)),
        ((floordiv(i - 1, 2) + 1, j), (N, M)),
        ((mod(i - 1, M) + 1, j), (M, M)),
        ((minimum(i, M), j), (M, M)),
        ((maximum(i - j, 0) + 1,), (N,)),
        ((i, const(1)), (N, M)),
        ((const(1),), (N,)),
        ((N + 1 - i,), (N,)),
        ((i, i), (N, N)),
        ((i * j,), (N * M,)),
    ]
    for at, shape in cases:
        check(domain, at, shape, point)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_ragged_domains(n: int) -> None:
    i = coordinate("i", N)
    j = coordinate("j", i)
    domain = Nest((the_symbol(i), the_symbol(j)), (N, i))
    point = {the_symbol(N): n}
    for at, shape in [((j,), (N,)), ((i - j + 1,), (N,)), ((i, j), (N, N)), ((i + j,), (2 * N,))]:
        check(domain, at, shape, point)
    assert largest(i + 1, {the_symbol(i): N}) == N + 1
    check(domain.where(ge(i - 2 * j)), (j,), (N,), point)


def test_random_indices() -> None:
    rng = random.Random(5)
    for _ in range(120):
        sizes = [rng.choice([N, M, const(1), const(2), const(3)]) for _ in range(3)]
        domain, coords = domain_of(*sizes)
        guard = sum((rng.randint(-1, 1) * c for c in coords), const(rng.randint(0, 3)))
        at = []
        for _ in range(rng.randint(1, 2)):
            index = sum((rng.choice([0, 0, 1, 1, 2, -1]) * c for c in coords), const(rng.randint(-1, 2)))
            at.append(floordiv(index, 2) if rng.random() < 0.15 else index)
        point = {the_symbol(N): rng.randint(1, 4), the_symbol(M): rng.randint(1, 3)}
        shape = tuple(const(6) for _ in at)
        check(domain.where(ge(guard)), tuple(at), shape, point)
