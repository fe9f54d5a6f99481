"""Static integers and conditions on a whole grid at once, exactly.

Results are Python values where no coordinate of the grid is involved, else int64 arrays; where
a bound on the size shows that int64 could overflow, arrays of Python integers instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from tolcost.algebra import Cond, Poly, Symbol, evaluate
from tolcost.algebra.conditions import And, Eq, Ge, Not, Or, Truth
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum
from tolcost.atoms.nodes import Constant
from tolcost.execute.dtypes import Array, convert, number
from tolcost.execute.grid import Grid
from tolcost.execute.inputs import value_of

_SAFE = 2**62


def poly_on_grid(p: Poly, grid: Grid, env: Mapping[Symbol, int]) -> int | Array:
    """Give a static integer at every point of a grid."""
    if p.free.isdisjoint(grid.places):
        return value_of(p, env)
    return _poly(p, grid, env)


def _poly(p: Poly, grid: Grid, env: Mapping[Symbol, int]) -> int | Array:
    terms = [(coef, [_generator(g, grid, env) for g in mono]) for mono, coef in p.terms.items()]
    bound = sum(abs(coef) * prod(map(_magnitude, factors)) for coef, factors in terms)
    exact = bound < _SAFE
    total: int | Array = 0
    for coef, factors in terms:
        term: int | Array = coef
        for factor in factors:
            term = term * (factor if exact or isinstance(factor, int) else factor.astype(np.object_))
        total = total + term
    return total if p.den == 1 else total // p.den


def _magnitude(value: int | Array) -> int:
    if isinstance(value, int):
        return abs(value)
    return max(abs(int(value.max(initial=0))), abs(int(value.min(initial=0))))


def _generator(g: Generator, grid: Grid, env: Mapping[Symbol, int]) -> int | Array:
    match g:
        case Symbol():
            place = grid.places.get(g)
            if place is not None:
                return grid.coordinate(place)
            return env[g] if g in env else value_of(Poly({(g,): 1}), env)
        case Floor(p=p, q=q):
            return _quotient(poly_on_grid(p, grid, env), poly_on_grid(q, grid, env))
        case Relu(p=p):
            value = poly_on_grid(p, grid, env)
            return max(value, 0) if isinstance(value, int) else np.maximum(value, 0)
        case Sum():
            return _pointwise(g, grid, env)


def _quotient(p: int | Array, q: int | Array) -> int | Array:
    """Divide and round down; where a divisor is not positive the point is not there."""
    if isinstance(q, int):
        return p // max(q, 1)
    return p // np.maximum(q, 1)


def _pointwise(g: Generator, grid: Grid, env: Mapping[Symbol, int]) -> Array:
    """Evaluate point by point, over just the coordinates that matter."""
    places = [place for symbol, place in grid.places.items() if symbol in g.free]
    sizes = tuple(grid.axes[place].size for place in places)
    result = np.empty(sizes, np.object_)
    point = dict(env)
    for at in np.ndindex(*sizes):
        for place, k in zip(places, at, strict=True):
            point[grid.axes[place].symbol] = grid.axes[place].lo + k
        result[at] = evaluate(Poly({(g,): 1}), point)
    shape = [1] * grid.depth
    for place, size in zip(places, sizes, strict=True):
        shape[place] = size
    laid = np.transpose(result, np.argsort(places)).reshape(shape)
    return laid.astype(np.int64) if _magnitude(laid) < _SAFE else laid


def cond_on_grid(cond: Cond, grid: Grid, env: Mapping[Symbol, int]) -> bool | Array:
    """Decide a condition at every point of a grid."""
    match cond:
        case Truth(value=value):
            return value
        case Ge(p=p):
            return poly_on_grid(p, grid, env) >= 0
        case Eq(p=p):
            return poly_on_grid(p, grid, env) == 0
        case Not(part=part):
            inner = cond_on_grid(part, grid, env)
            return not inner if isinstance(inner, bool) else ~inner
        case And(parts=parts):
            return _all([cond_on_grid(part, grid, env) for part in parts])
        case Or(parts=parts):
            return _any([cond_on_grid(part, grid, env) for part in parts])


def constant_on_grid(value: Constant, space: str, grid: Grid, env: Mapping[Symbol, int]) -> Array:
    """Give a static numeric at every point, in a space; of rank 0 where it does not vary."""
    match value:
        case bool() | float() | complex() | Fraction() | str():
            return number(value, space)
        case Poly():
            found: int | Array = poly_on_grid(value, grid, env)
        case _:
            found = cond_on_grid(value, grid, env)
    if isinstance(found, int):
        return number(found, space)
    if found.dtype == np.object_ and grid.mask is not None:
        found = np.where(grid.mask, found, 0)
    return convert(found, space)


def _all(parts: list[bool | Array]) -> bool | Array:
    result: bool | Array = True
    for part in parts:
        if isinstance(part, bool):
            if not part:
                return False
        else:
            result = part if isinstance(result, bool) else result & part
    return result


def _any(parts: list[bool | Array]) -> bool | Array:
    result: bool | Array = False
    for part in parts:
        if isinstance(part, bool):
            if part:
                return True
        else:
            result = part if isinstance(result, bool) else result | part
    return result


@dataclass(frozen=True, slots=True)
class Affine:
    """An integer that is ``origin`` at the first point, and grows by a step along each axis."""

    origin: int
    steps: dict[int, int]

    def range_on(self, grid: Grid) -> tuple[int, int]:
        """Give the least and the greatest value on a grid."""
        low = high = self.origin
        for place, step in self.steps.items():
            reach = step * (grid.axes[place].size - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


def affine_on_grid(p: Poly, grid: Grid, env: Mapping[Symbol, int]) -> Affine | None:
    """Give a static integer as an affine function of the grid's coordinates, if it is one."""
    if p.free.isdisjoint(grid.places):
        return Affine(value_of(p, env), {})
    origin = 0
    steps: dict[int, int] = {}
    for mono, coef in p.terms.items():
        moving = [g for g in mono if not g.free.isdisjoint(grid.places)]
        fixed = Poly({tuple(g for g in mono if g.free.isdisjoint(grid.places)): 1})
        factor = coef * value_of(fixed, env)
        if not moving:
            origin += factor
            continue
        place = grid.places.get(moving[0]) if isinstance(moving[0], Symbol) else None
        if len(moving) > 1 or place is None:
            return None
        steps[place] = steps.get(place, 0) + factor
        origin += factor * grid.axes[place].lo
    if p.den != 1 and any(value % p.den for value in (origin, *steps.values())):
        return None
    return Affine(origin // p.den, {place: step // p.den for place, step in steps.items()})
