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
FRAME_WORDS = 1 << 18
"""Room for the frames of functions, which Python keeps beside that stack, in pieces of 16 kB.

It asks the system for a piece when the last one is full, and gives it back when it is empty: recursion that
goes up and down across the end of a piece does both all the time.  A function that says it needs so much
itself gets a piece of twice that, and what it calls has the other half.
"""

_here = threading.local()
"""Whether this thread has the deep stack already."""


class _Settings:
    """The recursion limit and how often garbage is looked for: of the whole process, so not of one thread.

    Whoever comes first changes them, and whoever leaves last puts back what was there before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._limit = 0
        self._young = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._limit, self._young = sys.getrecursionlimit(), gc.get_threshold()
                first, *others = self._young
                sys.setrecursionlimit(max(self._limit, RECURSION))
                gc.set_threshold(first and max(first, YOUNG), *others)  # 0 is: not at all

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if self._working == 0:
                sys.setrecursionlimit(self._limit)
                gc.set_threshold(*self._young)


_settings = _Settings()


def _started(run: Callable[[int], None]) -> threading.Thread | None:
    """A thread with as deep a stack as there is address space for, which is told what part of it that is.

    None where there is no room for any, or where there are no threads at all, as in a browser.
    """
    for part in (1, 4, 16):
        try:
            before = threading.stack_size(STACK_BYTES // part)
        except (RuntimeError, ValueError):  # a system whose threads have the stack they have
            return None
        try:
            thread = threading.Thread(target=run, args=(part,), daemon=True)  # so that an interrupt ends it
            thread.start()
        except RuntimeError:  # what Python says when the system has no room for the stack
            continue
        finally:
            threading.stack_size(before)
        return thread
    return None


def _with_room(work: Callable[[], T]) -> T:
    """Do the work where the frames of the functions it calls lie in one piece of memory."""
    return work()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=FRAME_WORDS)


def with_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack that fits the deepest nesting the parser lets through."""
    if getattr(_here, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run(part: int) -> None:
        _here.deep = True
        with _settings:
            if part > 1:  # less room is for less recursion
                sys.setrecursionlimit(RECURSION // part)
            try:
                outcome.append(_with_room(work))
            except BaseException as error:  # handed to the caller below, whatever it is
                failure.append(error)

    thread = _started(run)
    if thread is None:
        return work()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
