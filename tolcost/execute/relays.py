"""Counting copies of values whose shape may vary over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tolcost.algebra import Symbol
from tolcost.atoms.nodes import Part
from tolcost.execute.counts import relay
from tolcost.execute.dtypes import Array
from tolcost.execute.grid import Grid, total_over
from tolcost.execute.statics import poly_on_grid


def count_relay(
    part: Part, own: Sequence[int], grid: Grid, env: Mapping[Symbol, int]
) -> tuple[int, int, int]:
    """Give the members, joins and embeds that copy a component at all points of a grid.

    ``own`` is its shape as found, which holds wherever the declared one does not vary.
    """
    if all(length.free.isdisjoint(grid.places) for length in part.shape):
        member, join, embed = relay(own)
        return member * grid.points, join * grid.points, embed * grid.points
    lengths = [
        size if length.free.isdisjoint(grid.places) else np.maximum(poly_on_grid(length, grid, env), 0)
        for length, size in zip(part.shape, own, strict=True)
    ]
    return _ragged(lengths, grid)


def count_volume(part: Part, own: Sequence[int], grid: Grid, env: Mapping[Symbol, int]) -> int:
    """Give the number of elements of a component over all points of a grid."""
    return count_relay(part, own, grid, env)[0] if part.shape else grid.points


def _ragged(lengths: Sequence[int | Array], grid: Grid) -> tuple[int, int, int]:
    embeds: int | Array = 0
    suffix: int | Array = 1
    for length in reversed(lengths[1:]):
        suffix = suffix * length
        embeds = embeds + suffix
    volume = suffix * lengths[0]
    return total_over(grid, volume), total_over(grid, np.maximum(volume - 1, 0)), total_over(grid, embeds)
