"""Work spread over processes that share what was loaded before, each piece with a time limit.

A child is a copy of this process (fork), so nothing is sent to it but the number of its next
piece of work.  One that dies or takes too long is replaced, and its piece gets a stand-in result:
a crash costs one piece of work, never the suite.  A child does pieces that follow one another, as long as
there are many left: they are often alike, and what one found out helps the next.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from tolcost.deep import with_deep_stack

T = TypeVar("T")

_RUNS = 8
"""Into how many runs of pieces, for each child, what is left is divided when one is given out."""


@dataclass(slots=True, eq=False)
class _Child(Generic[T]):
    """A process, the way to it, what it is doing, what is next for it, and since when."""

    process: BaseProcess
    pipe: Connection
    doing: int
    next: Iterator[int]
    since: float


class _Todo:
    """The pieces of work that nobody has yet, given out in runs that get shorter towards the end."""

    def __init__(self, pieces: int, jobs: int) -> None:
        self._start, self._pieces, self._jobs = 0, pieces, jobs

    def run(self) -> Iterator[int]:
        """The next pieces for one child."""
        first = self._start
        self._start += -(-(self._pieces - first) // (_RUNS * self._jobs))
        return iter(range(first, self._start))


def spread(
    work: Callable[[int], T], pieces: int, instead: Callable[[int, str], T], jobs: int, seconds: float
) -> Iterator[tuple[int, T]]:
    """Results of ``work(0) .. work(pieces-1)`` as they come; ``instead`` stands in for one lost."""
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from ((n, with_deep_stack(partial(work, n))) for n in range(pieces))
        return
    todo = _Todo(pieces, jobs)
    runs = [todo.run() for _ in range(min(jobs, pieces))]
    children = [_start(work, next(run), run) for run in runs]
    try:
        while children:
            for child in _ready(children, seconds):
                yield child.doing, _collect(child, instead, seconds)
                _next(children, child, work, todo)
    finally:
        for child in children:
            _end(child)


def _start(work: Callable[[int], T], first: int, others: Iterator[int]) -> _Child[T]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs), daemon=True)
    process.start()
    theirs.close()
    ours.send(first)
    return _Child(process, ours, first, others, time.monotonic())


def _serve(work: Callable[[int], T], pipe: Connection) -> None:
    """Do pieces of work until told to stop."""
    gc.freeze()  # what the parent loaded stays; what a piece of work leaves is looked through now and then
    gc.set_threshold(100_000, 20, 100)
    with_deep_stack(lambda: _answer(work, pipe))


def _answer(work: Callable[[int], T], pipe: Connection) -> None:
    while (piece := pipe.recv()) is not None:
        pipe.send(work(piece))


def _ready(children: list[_Child[T]], seconds: float) -> list[_Child[T]]:
    """The children that have finished, died, or had their time."""
    while True:
        answered = wait([child.pipe for child in children], timeout=0.5)
        now = time.monotonic()
        found = [c for c in children if c.pipe in answered or now - c.since > seconds]
        if found:
            return found


def _collect(child: _Child[T], instead: Callable[[int, str], T], seconds: float) -> T:
    try:
        if child.pipe.poll():
            result: T = child.pipe.recv()
            return result
        why = f"took longer than {seconds:g} s"
    except (EOFError, OSError):
        why = "the process that ran it died"
    _end(child)
    return instead(child.doing, why)


def _next(children: list[_Child[T]], child: _Child[T], work: Callable[[int], T], todo: _Todo) -> None:
    """Give a child its next piece, or replace it, or let it go."""
    piece = next(child.next, None)
    if piece is None:
        child.next = todo.run()
        piece = next(child.next, None)
    alive = child.process.is_alive()
    if piece is not None and alive:
        child.doing, child.since = piece, time.monotonic()
        child.pipe.send(piece)
        return
    children.remove(child)
    _end(child)
    if piece is not None:
        children.append(_start(work, piece, child.next))


def _end(child: _Child[T]) -> None:
    if child.process.is_alive():
        child.process.kill()
    child.process.join()
    child.pipe.close()
