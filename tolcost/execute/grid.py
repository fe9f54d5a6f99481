"""Coordinate grids: many points of nested quantifiers at once.

A grid has one axis per enclosing coordinate.  A value under a grid of depth b is an array
whose first b axes are the grid's, each of full size or of size 1 where the value does not
depend on that coordinate; its own shape follows.  A mask says which points are really there:
those of ragged ranges and of guards that hold.  At the others values are arbitrary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import numpy as np

from tolcost.algebra import Symbol
from tolcost.execute.dtypes import Array

MAX_DEPTH = 30
"""NumPy has 64 axes at most; a value's own need room too (see ``inputs.MAX_RANK``)."""


class NeedsLoop(Exception):
    """Something cannot be done for all points of some coordinates at once."""

    def __init__(self, symbols: frozenset[Symbol]) -> None:
        """Say which coordinates have to be visited one by one."""
        super().__init__("not possible for a whole grid")
        self.symbols = symbols


@dataclass(frozen=True, slots=True)
class Axis:
    """The values ``lo, lo + 1, ...`` of a coordinate, ``size`` of them."""

    symbol: Symbol
    lo: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Axes, the place of each symbol among them, and the points that are there.

    ``mask`` has one axis per axis of the grid, of full size or 1; ``None`` is everywhere.
    """

    axes: tuple[Axis, ...]
    places: Mapping[Symbol, int]
    mask: Array | None
    points: int

    @property
    def depth(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def size(self) -> int:
        """The number of points, there or not."""
        return prod(axis.size for axis in self.axes)

    def coordinate(self, place: int) -> Array:
        """Give the values of a coordinate, laid out along its axis."""
        axis = self.axes[place]
        shape = [1] * len(self.axes)
        shape[place] = axis.size
        return np.arange(axis.lo, axis.lo + axis.size, dtype=np.int64).reshape(shape)


SINGLE = Grid((), MappingProxyType({}), None, 1)
"""The grid of one point, outside all quantifiers."""


def make_grid(axes: tuple[Axis, ...], mask: Array | None) -> Grid:
    """Make a grid, count its points, and drop a mask that holds everywhere."""
    if mask is not None and mask.all():
        mask = None
    size = prod(axis.size for axis in axes)
    points = size if mask is None else int(np.count_nonzero(mask)) * (size // mask.size if mask.size else 0)
    return Grid(axes, {axis.symbol: place for place, axis in enumerate(axes)}, mask, points)


def extend(grid: Grid, symbol: Symbol, extent: int | Array) -> Grid:
    """Add an axis of coordinates 1..extent; an extent that varies over the grid leaves a mask."""
    if grid.depth >= MAX_DEPTH:
        raise NeedsLoop(frozenset((symbol,)))
    size = largest(extent, grid)
    axes = (*grid.axes, Axis(symbol, 1, size))
    mask = None if grid.mask is None else grid.mask[..., np.newaxis]
    if not isinstance(extent, int) and size:
        inside = np.arange(1, size + 1) <= extent[..., np.newaxis]
        mask = inside if mask is None else mask & inside
    return make_grid(axes, mask)


def largest(extent: int | Array, grid: Grid) -> int:
    """Give the largest length over the points that are there, at least 0."""
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
    """Keep ``size`` values of one coordinate, from the one at 0-based position ``start`` on."""
    axis = grid.axes[place]
    axes = list(grid.axes)
    axes[place] = Axis(axis.symbol, axis.lo + start, size)
    mask = grid.mask
    if mask is not None and mask.shape[place] > 1:
        mask = mask[(slice(None),) * place + (slice(start, start + size),)]
    return make_grid(tuple(axes), mask)


def split(grid: Grid, first: int, limit: int) -> tuple[int, list[Grid]]:
    """Cut a grid along its longest axis from ``first`` on into parts of about ``limit`` points.

    Gives the axis that was cut, and the parts.  An axis of one point cannot be cut, so a part
    may still be larger than asked.
    """
    place = max(range(first, grid.depth), key=lambda a: grid.axes[a].size, default=-1)
    if place < 0 or grid.size <= limit:
        return place, [grid]
    length = grid.axes[place].size
    step = max(1, limit * length // grid.size)
    return place, [narrow(grid, place, start, min(step, length - start)) for start in range(0, length, step)]


def total_over(grid: Grid, values: int | Array) -> int:
    """Sum integers over the points that are there."""
    if isinstance(values, int):
        return values * grid.points
    shape = np.broadcast_shapes(values.shape, () if grid.mask is None else grid.mask.shape)
    chosen = values if grid.mask is None else np.where(grid.mask, values, 0)
    return int(chosen.sum()) * (grid.size // prod(shape))


def varying(shape: Sequence[int], grid: Grid) -> frozenset[Symbol]:
    """Give the coordinates along which an array with these leading axes varies."""
    return frozenset(axis.symbol for axis, size in zip(grid.axes, shape, strict=False) if size > 1)
