"""Expressions as plain trees with their own evaluation, to hold the algebra against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import add, floordiv, mod, mul, sub

from hypothesis import strategies as st

from tolcost.algebra import (
    Cond,
    Poly,
    Symbol,
    as_poly,
    ceildiv,
    const,
    evaluate,
    evaluate_cond,
    length,
    maximum,
    minimum,
    the_symbol,
)

Tree = int | str | tuple["str", "Tree", "Tree"]
Point = Mapping[str, int]


_SHARED = {"+": add, "-": sub, "*": mul, "//": floordiv, "mod": mod}
_OF_ALGEBRA = {**_SHARED, "ceil": ceildiv, "max": maximum, "min": minimum}
_OF_PYTHON = {**_SHARED, "ceil": lambda a, b: -(-a // b), "max": max, "min": min}


def build(tree: Tree, names: Mapping[str, Poly]) -> Poly:
    """Build the expression with the algebra."""
    if isinstance(tree, int):
        return const(tree)
    if isinstance(tree, str):
        return names[tree]
    return _OF_ALGEBRA[tree[0]](build(tree[1], names), build(tree[2], names))


def value(tree: Tree, point: Point) -> int:
    """Compute the expression with Python's integers."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return point[tree]
    return _OF_PYTHON[tree[0]](value(tree[1], point), value(tree[2], point))


def trees(names: Sequence[str], positive: Sequence[str] = (), leaves: int = 6) -> st.SearchStrategy[Tree]:
    """Give random trees; divisors are small numbers or names that are always positive."""
    leaf: st.SearchStrategy[Tree] = st.integers(-4, 6) | st.sampled_from(list(names))
    divisor: st.SearchStrategy[Tree] = st.sampled_from([2, 3, 4, 6, *positive])

    def grow(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        both = st.tuples(st.sampled_from(["+", "-", "+", "*", "max", "min"]), inner, inner)
        return both | st.tuples(st.sampled_from(["//", "mod", "ceil"]), inner, divisor)

    return st.recursive(leaf, grow, max_leaves=leaves)


def at(names: Mapping[str, Poly], point: Point) -> dict[Symbol, int]:
    """Give a point of the algebra for a point by name."""
    return {the_symbol(names[name]): number for name, number in point.items()}


def lengths(names: str, lo: int = 1) -> dict[str, Poly]:
    return {name: length(name, lo) for name in names}


def grid(names: Sequence[str], values: range) -> Iterator[dict[str, int]]:
    for numbers in product(values, repeat=len(names)):
        yield dict(zip(names, numbers, strict=True))


Over = Sequence[tuple[Symbol, Poly | int, Poly | int]]


def brute_sum(body: Poly | int, over: Over, guards: Sequence[Cond], point: Mapping[Symbol, int]) -> int:
    """Add up one by one."""
    if not over:
        return evaluate(body, point) if all(evaluate_cond(guard, point) for guard in guards) else 0
    symbol, lo, hi = over[0]
    first, last = evaluate(as_poly(lo), point), evaluate(as_poly(hi), point)
    return sum(brute_sum(body, over[1:], guards, {**point, symbol: v}) for v in range(first, last + 1))


def admissible(symbols: Sequence[Symbol], reach: int) -> Iterator[dict[Symbol, int]]:
    """Give all points within a distance of the lower bounds; bounds may mention earlier symbols."""

    def extend(k: int, point: dict[Symbol, int]) -> Iterator[dict[Symbol, int]]:
        if k == len(symbols):
            yield dict(point)
            return
        symbol = symbols[k]
        low = -reach if symbol.lo is None else evaluate(symbol.lo, point)
        high = low + reach if symbol.hi is None else min(evaluate(symbol.hi, point), low + reach)
        for number in range(low, high + 1):
            yield from extend(k + 1, {**point, symbol: number})

    yield from extend(0, {})
