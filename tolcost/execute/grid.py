"""Coordinate grids: many points of nested quantifiers at once, and static integers on them.

A grid has one axis per enclosing coordinate.  A value under a grid of depth b is an array whose first b axes
are the grid's, each of full size, or of size 1 where the value does not depend on that coordinate; its own
shape follows.  A mask marks the points that exist, as for ragged ranges and guards.  At other points values
are arbitrary.

A static integer on a grid is a Python integer if it mentions no coordinate of the grid, else an int64 array;
where a bound on the size shows that int64 could overflow, it is an array of Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from tolcost.algebra import (
    Cond,
    Floor,
    Generator,
    Logic,
    Poly,
    Relu,
    Symbol,
    atom,
    evaluate,
)
from tolcost.algebra.poly import NotInteger
from tolcost.algebra.walk import FormWalk, Rule, RuleTable
from tolcost.atoms.nodes import Constant, Part
from tolcost.execute.dtypes import HELD, Array, convert, is_unbounded, number, numbers, whole_number
from tolcost.execute.inputs import value_of
from tolcost.execute.values import atoms_to_copy

MAX_DEPTH = 30
"""NumPy allows at most 64 axes, and values need room for their own (see ``inputs.MAX_RANK``)."""


class NeedsLoop(Exception):
    """A computation is not possible for all points of some coordinates at once."""

    def __init__(self, symbols: frozenset[Symbol]) -> None:
        """Name the coordinates that must be visited one by one."""
        super().__init__("not possible for a whole grid")
        self.symbols = symbols


class GridAxis(Struct, frozen=True):
    """The values ``lo, lo + 1, ...`` of a coordinate, ``size`` of them."""

    symbol: Symbol
    lo: int
    size: int


class Grid(Struct, frozen=True, eq=False):
    """The axes, the index of each symbol among them, and the points that exist.

    ``mask`` has one axis per axis of the grid, of full size or 1; None means that all points exist.
    """

    axes: tuple[GridAxis, ...]
    places: Mapping[Symbol, int]
    mask: Array | None
    points: int

    @property
    def depth(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def size(self) -> int:
        """The number of points, masked points included."""
        return prod(axis.size for axis in self.axes)

    def coordinate(self, place: int) -> Array:
        """Return the values of a coordinate, laid out along its axis."""
        axis = self.axes[place]
        shape = [1] * len(self.axes)
        shape[place] = axis.size
        return np.arange(axis.lo, axis.lo + axis.size, dtype=np.int64).reshape(shape)


SINGLE = Grid((), MappingProxyType({}), None, 1)
"""The grid of one point, outside all quantifiers."""


def make_grid(axes: tuple[GridAxis, ...], mask: Array | None) -> Grid:
    """Make a grid, count its points, and drop a mask that holds everywhere."""
    if mask is not None and mask.all():
        mask = None
    size = prod(axis.size for axis in axes)
    points = size if mask is None else int(np.count_nonzero(mask)) * (size // mask.size if mask.size else 0)
    return Grid(axes, {axis.symbol: place for place, axis in enumerate(axes)}, mask, points)


def extend(grid: Grid, symbol: Symbol, extent: int | Array) -> Grid:
    """Add an axis of coordinates 1..extent; an extent that varies over the grid makes a mask."""
    if grid.depth >= MAX_DEPTH:
        raise NeedsLoop(frozenset((symbol,)))
    size = largest(extent, grid)
    axes = (*grid.axes, GridAxis(symbol, 1, size))
    mask = None if grid.mask is None else grid.mask[..., np.newaxis]
    if not isinstance(extent, int) and size:
        inside = np.arange(1, size + 1) <= extent[..., np.newaxis]
        mask = inside if mask is None else mask & inside
    return make_grid(axes, mask)


def largest(extent: int | Array, grid: Grid) -> int:
    """Return the largest length over the points that exist, at least 0."""
    if isinstance(extent, int):
        return max(extent, 0)
    if grid.mask is not None:
        extent = np.where(grid.mask, extent, 0)
    return max(int(extent.max(initial=0)), 0)


def restrict(grid: Grid, condition: bool | Array) -> Grid:
    """Keep the points where a condition holds."""
    if isinstance(condition, bool):
        return grid if condition else Grid(grid.axes, grid.places, grid.mask, 0)
    mask = condition if grid.mask is None else grid.mask & condition
    return make_grid(grid.axes, mask)


def narrow(grid: Grid, place: int, start: int, size: int) -> Grid:
    """Keep ``size`` values of one coordinate, from the 0-based position ``start`` on."""
    axis = grid.axes[place]
    axes = list(grid.axes)
    axes[place] = GridAxis(axis.symbol, axis.lo + start, size)
    mask = grid.mask
    if mask is not None and mask.shape[place] > 1:
        mask = mask[(slice(None),) * place + (slice(start, start + size),)]
    return make_grid(tuple(axes), mask)


def split(grid: Grid, first: int, limit: int) -> tuple[int, list[Grid]]:
    """Cut a grid along its longest axis from ``first`` on into parts of about ``limit`` points.

    The result is the axis and the parts.  An axis of one point cannot be cut, so a part may still exceed the
    limit.
    """
    place = max(range(first, grid.depth), key=lambda a: grid.axes[a].size, default=-1)
    if place < 0 or grid.size <= limit:
        return place, [grid]
    length = grid.axes[place].size
    step = max(1, limit * length // grid.size)
    return place, [narrow(grid, place, start, min(step, length - start)) for start in range(0, length, step)]


def total_over(grid: Grid, values: int | Array) -> int:
    """Sum integers over the points that exist."""
    if isinstance(values, int):
        return values * grid.points
    shape = np.broadcast_shapes(values.shape, () if grid.mask is None else grid.mask.shape)
    chosen = values if grid.mask is None else np.where(grid.mask, values, 0)
    return int(chosen.sum()) * (grid.size // prod(shape))


def varying(shape: Sequence[int], grid: Grid) -> frozenset[Symbol]:
    """Return the coordinates along which an array with these leading axes varies."""
    return frozenset(axis.symbol for axis, size in zip(grid.axes, shape, strict=False) if size > 1)


_SAFE = 2**62
"""Below this bound, sums and differences of two integers fit int64."""


def poly_on_grid(p: Poly, grid: Grid, env: Mapping[Symbol, int]) -> int | Array:
    """Evaluate a static integer at every point of a grid."""
    if p.free.isdisjoint(grid.places):
        return value_of(p, env)
    return _OnGrid(grid, env).form(p)


def _magnitude(value: int | Array) -> int:
    if isinstance(value, int):
        return abs(value)
    return max(abs(int(value.max(initial=0))), abs(int(value.min(initial=0))))


def _symbol_on_grid(walk: _OnGrid, symbol: Symbol) -> int | Array:
    place = walk.grid.places.get(symbol)
    if place is not None:
        return walk.grid.coordinate(place)
    return walk.env[symbol] if symbol in walk.env else value_of(atom(symbol), walk.env)


def _floor_on_grid(walk: _OnGrid, floor: Floor) -> int | Array:
    """Divide and round down; points whose divisor is not positive do not exist, so any divisor serves."""
    p, q = walk.form(floor.p), walk.form(floor.q)
    divisor = max(q, 1) if isinstance(q, int) else np.maximum(q, 1)
    return _unbounded_beside(p, divisor) // _unbounded_beside(divisor, p)


def _clip_on_grid(walk: _OnGrid, clip: Relu) -> int | Array:
    value = walk.form(clip.p)
    return max(value, 0) if isinstance(value, int) else np.maximum(value, 0)


def _unbounded_beside(value: int | Array, other: int | Array) -> int | Array:
    """Convert an array to Python integers if its other operand exceeds 64 bits."""
    if isinstance(value, int) or not isinstance(other, int) or abs(other) < _SAFE:
        return value
    return value.astype(np.object_)


def _point_by_point(walk: _OnGrid, g: Generator) -> Array:
    """Evaluate point by point, over only the coordinates that occur."""
    grid, env = walk.grid, walk.env
    places = [place for symbol, place in grid.places.items() if symbol in g.free]
    sizes = tuple(grid.axes[place].size for place in places)
    result = np.empty(sizes, np.object_)
    point = dict(env)
    for at in np.ndindex(*sizes):
        for place, k in zip(places, at, strict=True):
            point[grid.axes[place].symbol] = grid.axes[place].lo + k
        try:
            result[at] = evaluate(atom(g), point)
        except NotInteger:  # a power at a point that does not exist, as in `_floor_on_grid`
            result[at] = 0
    shape = [1] * grid.depth
    for place, size in zip(places, sizes, strict=True):
        shape[place] = size
    laid = np.transpose(result, np.argsort(places)).reshape(shape)
    return laid.astype(np.int64) if _magnitude(laid) < _SAFE else laid


ON_GRID: RuleTable[Rule[int | Array]] = RuleTable(
    "values on a grid",
    {Symbol: _symbol_on_grid, Floor: _floor_on_grid, Relu: _clip_on_grid},
    otherwise=_point_by_point,
)


class _OnGrid(FormWalk[int | Array, int | Array]):
    """The values of static integers at every point of a grid."""

    rules = ON_GRID
    grid: Grid
    env: Mapping[Symbol, int]

    def form(self, p: Poly) -> int | Array:
        """Return the values of a form."""
        if p.free.isdisjoint(self.grid.places):
            return value_of(p, self.env)
        terms = [(coef, list(map(self.generator, mono))) for mono, coef in p.terms.items()]
        bound = sum(abs(coef) * prod(map(_magnitude, factors)) for coef, factors in terms)
        exact = bound < _SAFE
        total: int | Array = 0
        for coef, factors in terms:
            term: int | Array = coef
            for factor in factors:
                term = term * (factor if exact or isinstance(factor, int) else factor.astype(np.object_))
            total = total + term
        return total if p.den == 1 else _unbounded_beside(total, p.den) // p.den


def cond_on_grid(cond: Cond, grid: Grid, env: Mapping[Symbol, int]) -> bool | Array:
    """Evaluate a condition at every point of a grid."""
    return _TRUTHS_ON_GRID.of(cond, lambda p: poly_on_grid(p, grid, env))


def constant_on_grid(value: Constant, space: str, grid: Grid, env: Mapping[Symbol, int]) -> Array:
    """Evaluate a static numeric at every point, in a space; of rank 0 where it does not vary."""
    match value:
        case bool() | float() | complex() | Fraction() | str():
            return number(value, space)
        case Poly():
            found: int | Array = poly_on_grid(value, grid, env)
        case _:
            found = cond_on_grid(value, grid, env)
    if isinstance(found, int):
        return whole_number(found, space)
    if found.dtype == np.object_ and grid.mask is not None:
        found = np.where(grid.mask, found, 0)
    if is_unbounded(space) and found.dtype != np.bool_ and _magnitude(found) > HELD:
        return numbers(found.reshape(-1).tolist(), space).reshape(found.shape)
    return convert(found, space)


def _joint(parts: Iterable[bool | Array], decisive: bool) -> bool | Array:
    """Return the conjunction of conditions, or, if ``decisive``, their disjunction."""
    result: bool | Array = not decisive
    for part in parts:
        if isinstance(part, bool):
            if part is decisive:
                return decisive
        elif isinstance(result, bool):
            result = part
        else:
            result = result | part if decisive else result & part
    return result


class Affine(Struct, frozen=True):
    """An integer that is ``origin`` at the first point and grows by a constant step along each axis."""

    origin: int
    steps: dict[int, int]

    def range_on(self, grid: Grid) -> tuple[int, int]:
        """Return the smallest and the largest value on a grid."""
        low = high = self.origin
        for place, step in self.steps.items():
            reach = step * (grid.axes[place].size - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high


def affine_on_grid(p: Poly, grid: Grid, env: Mapping[Symbol, int]) -> Affine | None:
    """Return a static integer as an affine function of the grid's coordinates, if it is one."""
    if p.free.isdisjoint(grid.places):
        return Affine(value_of(p, env), {})
    origin = 0
    steps: dict[int, int] = {}
    for mono, factor in p.terms.items():
        moving: int | None = None
        for g in mono:
            place = grid.places.get(g) if isinstance(g, Symbol) else None
            if place is None and g.free.isdisjoint(grid.places):
                factor *= env[g] if g in env else value_of(Poly({(g,): 1}), env)  # type: ignore[index]
            elif place is None or moving is not None:
                return None
            else:
                moving = place
        if moving is None:
            origin += factor
        else:
            steps[moving] = steps.get(moving, 0) + factor
            origin += factor * grid.axes[moving].lo
    if p.den != 1 and any(value % p.den for value in (origin, *steps.values())):
        return None
    return Affine(origin // p.den, {place: step // p.den for place, step in steps.items()})


def count_copying(
    part: Part, own: Sequence[int], grid: Grid, env: Mapping[Symbol, int]
) -> tuple[int, int, int]:
    """Return the members, joins and embeds that copy a component at all points of a grid.

    ``own`` is its shape as found, which holds wherever the declared one does not vary.
    """
    if all(length.free.isdisjoint(grid.places) for length in part.shape):
        member, join, embed = atoms_to_copy(own)
        return member * grid.points, join * grid.points, embed * grid.points
    lengths = [
        size if length.free.isdisjoint(grid.places) else np.maximum(poly_on_grid(length, grid, env), 0)
        for length, size in zip(part.shape, own, strict=True)
    ]
    member, join, embed = (total_over(grid, values) for values in atoms_to_copy(lengths))
    return member, join, embed


def count_volume(part: Part, own: Sequence[int], grid: Grid, env: Mapping[Symbol, int]) -> int:
    """Return the number of elements of a component over all points of a grid."""
    return count_copying(part, own, grid, env)[0] if part.shape else grid.points


_TRUTHS_ON_GRID: Logic[int | Array, bool | Array] = Logic(
    lambda value: value >= 0,
    lambda value: value == 0,
    lambda value: value != 0,
    bool,
    partial(_joint, decisive=False),
    partial(_joint, decisive=True),
)
