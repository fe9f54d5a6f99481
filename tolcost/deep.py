"""A stack that fits the deepest nesting that the parser lets through, for whoever recurses over a program."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STACK_BYTES = 512 * 1024 * 1024
RECURSION = 60_000
YOUNG = 50_000
"""New objects until garbage is looked for: most of what is made while compiling is kept until its end."""

_here = threading.local()
"""Whether this thread has the deep stack already."""


def with_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack that fits the deepest nesting the parser lets through."""
    if getattr(_here, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        limit, young = sys.getrecursionlimit(), gc.get_threshold()
        sys.setrecursionlimit(max(limit, RECURSION))
        gc.set_threshold(young[0] and max(young[0], YOUNG), *young[1:])
        _here.deep = True
        try:
            outcome.append(work())
        except BaseException as error:  # handed to the caller below, whatever it is
            failure.append(error)
        finally:
            sys.setrecursionlimit(limit)
            gc.set_threshold(*young)

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run, daemon=True)  # so that an interrupt ends it
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
