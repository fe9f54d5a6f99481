"""Values while a program runs, and faults: elements that do not exist.

Reading or replacing a member that is out of range does not stop the run, because the result
may turn out not to be needed.  It leaves a *fault*: the number of the place that caused it,
kept beside the element.  Functions of faults are faults, and a fault in an output is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tolcost.diagnostics import Diagnostic, Rejected, Span
from tolcost.execute.dtypes import Array

MAX_ELEMENTS = 2**28
"""No single value may be larger: memory has to stay bounded."""


class Piece(NamedTuple):
    """One component of a value: its elements, and the fault of each (``None``: no faults).

    A fault is a positive number, the place in ``Faults``; 0 is a sound element.
    """

    data: Array
    fault: Array | None = None


Value: TypeAlias = tuple[Piece, ...]


class Faults:
    """The places where something went out of range, numbered from 1."""

    __slots__ = ("_numbers", "_places")

    def __init__(self) -> None:
        """Start with no places."""
        self._places: list[tuple[Span, str]] = []
        self._numbers: dict[tuple[Span, str], int] = {}

    def number(self, span: Span, what: str) -> int:
        """Give the number of a place; equal places share one."""
        key = (span, what)
        if key not in self._numbers:
            self._places.append(key)
            self._numbers[key] = len(self._places)
        return self._numbers[key]

    def diagnostic(self, number: int) -> Diagnostic:
        """Say what went wrong at a place."""
        span, what = self._places[number - 1]
        return Diagnostic("T0346", what, span)

    def check(self, pieces: Iterable[Piece]) -> None:
        """Stop if any element is a fault."""
        numbers: set[int] = set()
        for piece in pieces:
            if piece.fault is not None:
                numbers.update(np.unique(piece.fault).tolist())
        if numbers - {0}:
            raise Rejected(*(self.diagnostic(k) for k in sorted(numbers - {0})))


def first_fault(faults: Sequence[Array | None]) -> Array | None:
    """Combine the faults of several values: of each element the first that has one."""
    known = [fault for fault in faults if fault is not None]
    if not known:
        return None
    result = known[0]
    for fault in known[1:]:
        result = np.where(result != 0, result, fault)
    return result


def tidy(fault: Array | None) -> Array | None:
    """Forget an array of faults in which there are none."""
    return None if fault is None or not fault.any() else fault


def check_size(shape: Sequence[int]) -> None:
    """Stop before making a value that would not fit."""
    volume = 1
    for length in shape:
        volume *= max(length, 1)
    if volume > MAX_ELEMENTS:
        text = f"a value of {volume} elements is too large to execute with (the limit is {MAX_ELEMENTS})"
        raise Rejected(Diagnostic("T0520", text, hint="try smaller lengths"))
