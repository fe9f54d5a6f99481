"""Effort limits: how much proofs and sums may look at, whoever starts them.

Effort counts goals, subproblems, rewritten forms and pairs of bounds, each with its terms. It does not count
time, so that every machine gives the same answer. Limits nest: an inner limit takes its effort from the
limits around it. When a limit runs out, the caller that set it reports the question as open.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tolcost.algebra.poly import AlgebraBudget


class OutOfEffort(AlgebraBudget):
    """A limit has run out; answers that were cut short must not be cached."""


class _Limits(threading.local):
    left: int | None = None


_LIMITS = _Limits()


@contextmanager
def limit_effort(most: int) -> Iterator[None]:
    """Limit the effort inside to ``most``, or to the rest of the surrounding limit if that is less.

    >>> with limit_effort(10):
    ...     spend(8)
    ...     with limit_effort(5):
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
    """Take effort from the surrounding limit, if there is one."""
    if _LIMITS.left is not None:
        _LIMITS.left -= amount
        if _LIMITS.left < 0:
            raise OutOfEffort("a search looked at more than it may")
