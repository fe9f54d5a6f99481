"""What an execution counts, and the price of copying a value member by member.

The keys are those of the cost pass, so that a closed form at concrete lengths can be compared
with a run entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tolcost.algebra import Symbol
from tolcost.atoms.nodes import Charge
from tolcost.execute.dtypes import Array

ATOMS = ("lambda", "norm", "member", "join", "embed")
Histogram: TypeAlias = dict[tuple[str, str], int]
Output: TypeAlias = Array | tuple[Array, ...]
"""A ToL of capacity 1 is an array; a list is one array per component."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each function was applied to data, and to coordinates, and each atom done."""

    histogram: Histogram
    index: Histogram
    atoms: dict[str, int]

    @property
    def eops(self) -> int:
        """The number of elementary functions applied to data."""
        return sum(self.histogram.values())


@dataclass(frozen=True, slots=True)
class Execution:
    """The values of the outputs, what was counted, and what every symbol stood for."""

    outputs: dict[str, Output]
    counts: Counts
    bindings: dict[Symbol, int]


class Tally:
    """Counts in the making."""

    __slots__ = ("atoms", "histogram", "index")

    def __init__(self) -> None:
        """Start from nothing."""
        self.histogram: Histogram = {}
        self.index: Histogram = {}
        self.atoms: dict[str, int] = dict.fromkeys(ATOMS, 0)

    def apply(self, function: str, space: str, charge: Charge, times: int) -> None:
        """Count applications of a function."""
        if times == 0:
            return
        key = (function, space)
        if charge == "data":
            self.histogram[key] = self.histogram.get(key, 0) + times
            self.atoms["lambda"] += times
        elif charge == "index":
            self.index[key] = self.index.get(key, 0) + times

    def relay(self, shape: Sequence[int], times: int, kept: int = 0) -> None:
        """Count taking a value apart and putting it together; ``kept`` members are not taken."""
        if shape:
            member, join, embed = relay(shape)
            self.atoms["member"] += (member - kept) * times
            self.atoms["join"] += join * times
            self.atoms["embed"] += embed * times

    def assemble(self, shape: Sequence[int], times: int) -> None:
        """Count putting numerics together into a ToL."""
        _, join, embed = relay(shape)
        self.atoms["join"] += join * times
        self.atoms["embed"] += embed * times

    def snapshot(self) -> tuple[Histogram, Histogram, dict[str, int]]:
        """Remember the state, to come back to it."""
        return dict(self.histogram), dict(self.index), dict(self.atoms)

    def restore(self, saved: tuple[Histogram, Histogram, dict[str, int]]) -> None:
        """Forget what was counted since the snapshot."""
        histogram, index, atoms = saved
        self.histogram, self.index, self.atoms = dict(histogram), dict(index), dict(atoms)

    def counts(self) -> Counts:
        """Give the result."""
        return Counts(dict(self.histogram), dict(self.index), dict(self.atoms))


def relay(shape: Sequence[int]) -> tuple[int, int, int]:
    """Give the members, joins and embeds that copy a ToL of a shape; none for a numeric.

    >>> relay([2, 3]), relay([]), relay([0, 4])
    ((6, 5, 3), (0, 0, 0), (0, 0, 4))
    """
    if not shape:
        return 0, 0, 0
    embeds, suffix = 0, 1
    for length in reversed(shape[1:]):
        suffix *= length
        embeds += suffix
    volume = suffix * shape[0]
    return volume, max(volume - 1, 0), embeds


def as_output(parts: Sequence[Any]) -> Output:
    """Give the value of an output: an array, or one array per component."""
    return parts[0] if len(parts) == 1 else tuple(parts)
