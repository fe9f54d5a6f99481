"""How much proofs and sums may look at, whoever asks: it is taken from what the limits around them leave.

Goals, problems, forms made again and pairs of bounds are counted, with their terms, and not time: an answer
is the same on every machine.  Where nothing is left, whoever set the limit says that the answer is open.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tolcost.algebra.poly import AlgebraBudget


class OutOfEffort(AlgebraBudget):
    """A limit has nothing left; nobody remembers an answer that was cut short."""


class _Limits(threading.local):
    left: int | None = None


_LIMITS = _Limits()


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Let what is inside look at so much, or at what a limit around it leaves, if that is less.

    >>> with limited(10):
    ...     spend(8)
    ...     with limited(5):
    ...         spend(3)
    Traceback (most recent call last):
    tolcost.algebra.effort.OutOfEffort: a search looked at more than it may
    """
    around = _LIMITS.left
    granted = _LIMITS.left = most if around is None else min(most, around)
    try:
        yield
    finally:
        _LIMITS.left = None if around is None else around - (granted - _LIMITS.left)


def spend(amount: int) -> None:
    """Take so much from the limits around, if there are any."""
    if _LIMITS.left is not None:
        _LIMITS.left -= amount
        if _LIMITS.left < 0:
            raise OutOfEffort("a search looked at more than it may")
