"""Places in row-major order: of a coordinate, and the coordinate of a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tolcost.algebra import ZERO, Poly, floordiv, is_nonnegative, maximum, mod, product_of
from tolcost.gradient.equations import Subscripts


def reshaped(at: Subscripts, new: tuple[Poly, ...], old: tuple[Poly, ...]) -> Subscripts:
    """Return the index into ``old`` of the element at an index into ``new``, both in row-major order.

    Dimensions are taken in the smallest groups of equal volume, so that what a reshape keeps stays as it is.
    """
    here = cast("tuple[Poly, ...]", at)
    result: list[Poly] = []
    for (first, last), (start, end) in _groups(new, old):
        result += digits(linear(here[first:last], new[first:last]), old[start:end])
    return tuple(result)


def is_one_to_one(new: tuple[Poly, ...], old: tuple[Poly, ...]) -> bool:
    """Whether ``reshaped`` takes different indices to different ones: no dimension is left out."""
    return all(
        product_of(new[first:last]) == product_of(old[start:end]) or (first < last and start < end)
        for (first, last), (start, end) in _groups(new, old)
    )


def _groups(new: tuple[Poly, ...], old: tuple[Poly, ...]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return pairs of ranges of dimensions with the same volume, the smallest there are."""
    sides = [[product_of(shape[:k]) for k in range(len(shape) + 1)] for shape in (new, old)]
    found = []
    a = b = 0
    while a < len(new) or b < len(old):
        rest = [
            (k + m, k, m) for k in range(a, len(new) + 1) for m in range(b, len(old) + 1) if k + m > a + b
        ]
        equal = [(k, m) for _, k, m in sorted(rest) if sides[0][k] == sides[1][m]]
        k, m = equal[0] if equal else (len(new), len(old))
        found.append(((a, k), (b, m)))
        a, b = k, m
    last = found[-1] if found else None
    if last is not None and (a, b) != (len(new), len(old)):
        found[-1] = ((last[0][0], len(new)), (last[1][0], len(old)))
    return found


def linear(at: Sequence[Poly], shape: Sequence[Poly]) -> Poly:
    """Return the place in row-major order, from 0."""
    place = ZERO
    for index, extent in zip(at, shape, strict=True):
        place = place * extent + index - 1
    return place


def digits(place: Poly, shape: tuple[Poly, ...]) -> list[Poly]:
    """Return the coordinate of a place."""
    found: list[Poly] = []
    for extent in reversed(shape[1:]):
        base = extent if is_nonnegative(extent - 1) else maximum(extent, 1)  # an empty range has no places
        found.append(mod(place, base) + 1)
        place = floordiv(place, base)
    return [place + 1, *reversed(found)] if shape else []
