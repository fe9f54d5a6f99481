"""A point to show where lengths are open: one that all conditions allow, and that is easily said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tolcost.algebra import AlgebraBudget, Symbol
from tolcost.result.study import L

_GUESSES = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""The largest that the conditions allow is taken."""


def at_example(cost: L) -> L | None:
    """A cost at a point where it has figures: its own where every length is given, else an example.

    Lengths that only come first in shapes are batches, and 1; the others are one power of two.  Where that
    cannot be, lengths that follow from others are left to follow.  None where no such point fulfils the
    conditions.
    """
    if cost.point.complete:
        return cost
    put = cost.study.assumed.put
    behind = {next(iter(form.free)): symbol for symbol, form in put.items() if len(form.free) == 1}
    open_ = [behind.get(symbol, symbol).name for symbol in cost.point.missing]
    try:
        return _fitting(cost, open_) or _fitting(cost, _leading(cost, open_))
    except AlgebraBudget:
        return None


def _leading(cost: L, names: Sequence[str]) -> list[str]:
    """The lengths that others follow from: the last come first, as a share is named before what it is of."""
    kept: dict[str, int] = {}
    for name in reversed(names):
        point = cost.study.locate({**cost.point.given, **kept})
        if any(symbol.name == name for symbol in point.missing):
            kept[name] = _GUESSES[0]
    return list(kept)


def _fitting(cost: L, names: Sequence[str]) -> L | None:
    """A cost at the first guess at some lengths that all conditions allow."""
    for lengths in _guesses(cost, names):
        point = cost.study.locate({**cost.point.given, **lengths})
        if point.complete and not point.problems:
            return replace(cost, point=point)
    return None


def _guesses(cost: L, open_: Sequence[str]) -> Iterator[Mapping[str, int]]:
    batches = _batches(cost) & set(open_)
    if batches and (len(batches) < len(open_) or cost.point.given):
        for guess in _GUESSES:
            yield {name: 1 if name in batches else guess for name in open_}
    for guess in _GUESSES:
        yield dict.fromkeys(open_, guess)


def _batches(cost: L) -> set[str]:
    """The lengths that stand nowhere but first in the shapes of inputs."""
    first: set[Symbol] = set()
    other: set[Symbol] = set()
    for given in cost.study.inputs:
        for part in given.type:
            for axis, form in enumerate(part.shape):
                (other if axis else first).update(form.free)
    return {symbol.name for symbol in first - other}
