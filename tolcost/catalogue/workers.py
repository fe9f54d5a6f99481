"""Work spread over processes that share what was loaded before, each piece with a time limit.

A child is a copy of this process (fork), so nothing is sent to it but the number of its next
piece of work.  One that dies or takes too long is replaced, and its piece gets a stand-in result:
a crash costs one piece of work, never the suite.  A child does pieces that follow one another, as long as
there are many left: they are often alike, and what one found out helps the next.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from msgspec import Struct

from tolcost.platform import with_deep_stack

T = TypeVar("T")

_ORPHANED = 2.0
"""Times the limit of a piece that a child lives with it, if it is not told to end before."""
_RUNS = 8
"""Into how many runs of pieces, for each child, what is left is divided when one is given out."""


class _Child(Struct, Generic[T], eq=False):
    """A process, the way to it, what it is doing, what is next for it, and since when."""

    process: BaseProcess
    pipe: Connection
    doing: int
    next: Iterator[int]
    since: float
    died: int = 0
    """How many processes died before with what it is doing."""


def _runs(pieces: int, jobs: int) -> Iterator[Iterator[int]]:
    """The pieces of work in runs, each for one child, that get shorter towards the end."""
    start = 0
    while start < pieces:
        end = start - (start - pieces) // (_RUNS * jobs)
        yield iter(range(start, end))
        start = end


def spread(
    work: Callable[[int], T],
    pieces: int,
    instead: Callable[[int, str], T],
    jobs: int,
    seconds: float,
    again: int = 0,
    apart: bool = False,
) -> Iterator[tuple[int, T]]:
    """Results of ``work(0) .. work(pieces-1)`` as they come; ``instead`` stands in for one lost.

    A piece whose process died is begun ``again`` so many times.  ``apart``: not in this process, ever.
    """
    if (jobs <= 1 and not apart) or "fork" not in multiprocessing.get_all_start_methods():
        yield from ((n, with_deep_stack(partial(work, n))) for n in range(pieces))
        return
    todo = _runs(pieces, jobs)
    children: list[_Child[T]] = []
    start = partial(_start, children, work, seconds)
    for run in list(islice(todo, jobs)):
        start(next(run), run)
    try:
        while children:
            for child in _ready(children, seconds):
                found = _collect(child, seconds)
                if isinstance(found, _Lost) and found.died and child.died < again:
                    children.remove(child)
                    start(child.doing, child.next, child.died + 1)
                    continue
                yield child.doing, instead(child.doing, found.why) if isinstance(found, _Lost) else found
                _next(children, child, start, todo)
    finally:
        for child in children:
            _end(child)


WorkProgress = Callable[[int, int, str], None]
"""Told after each piece: how many are done, of how many, and what it was called."""


def gathered(
    work: Callable[[int], T],
    names: Sequence[str],
    instead: Callable[[int, str], T],
    jobs: int | None,
    seconds: float,
    told: WorkProgress | None,
) -> tuple[T, ...]:
    """The results of a piece of work for each name, in their order, over all cores unless said otherwise."""
    found: dict[int, T] = {}
    workers = min(jobs or os.cpu_count() or 1, len(names))
    for n, result in spread(work, len(names), instead, workers, seconds):
        found[n] = result
        if told is not None:
            told(len(found), len(names), names[n])
    return tuple(found[n] for n in range(len(names)))


def _start(
    children: list[_Child[T]],
    work: Callable[[int], T],
    seconds: float,
    first: int,
    others: Iterator[int],
    died: int = 0,
) -> None:
    """One child more."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    inherited = [ours, *(child.pipe for child in children)]
    process = context.Process(target=_serve, args=(work, theirs, inherited, seconds), daemon=True)
    process.start()
    theirs.close()
    ours.send(first)
    children.append(_Child(process, ours, first, others, time.monotonic(), died))


def _serve(
    work: Callable[[int], T], pipe: Connection, inherited: Iterable[Connection], seconds: float
) -> None:
    """Do pieces of work until told to stop, or until nobody is there any more to tell it.

    Copies of the parent's ends of pipes are closed: while one is open, nobody sees that the parent is gone.
    """
    for copy in inherited:
        copy.close()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    gc.freeze()  # what the parent loaded stays; what a piece of work leaves is looked through now and then
    gc.set_threshold(1_000_000, 20, 100)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        with_deep_stack(lambda: _answer(work, pipe, seconds))


def _answer(work: Callable[[int], T], pipe: Connection, seconds: float) -> None:
    while (piece := pipe.recv()) is not None:
        signal.setitimer(signal.ITIMER_REAL, _ORPHANED * seconds)  # ends it if no parent does
        pipe.send(work(piece))


def _ready(children: list[_Child[T]], seconds: float) -> list[_Child[T]]:
    """The children that have finished, died, or had their time."""
    while True:
        answered = wait([child.pipe for child in children], timeout=0.5)
        now = time.monotonic()
        found = [c for c in children if c.pipe in answered or now - c.since > seconds]
        if found:
            return found


class _Lost(Struct, frozen=True):
    """Why there is no result, and whether the process is gone by itself."""

    why: str
    died: bool


def _collect(child: _Child[T], seconds: float) -> T | _Lost:
    try:
        if child.pipe.poll():
            result: T = child.pipe.recv()
            return result
        lost = _Lost(f"took longer than {seconds:g} s", died=False)
    except (EOFError, OSError):
        lost = _Lost("the process that ran it died", died=True)
    _end(child)
    return lost


def _next(
    children: list[_Child[T]], child: _Child[T], start: Callable[..., None], todo: Iterator[Iterator[int]]
) -> None:
    """Give a child its next piece, or replace it, or let it go."""
    piece = next(child.next, None)
    if piece is None:
        child.next = next(todo, iter(()))
        piece = next(child.next, None)
    alive = child.process.is_alive()
    if piece is not None and alive:
        child.doing, child.since, child.died = piece, time.monotonic(), 0
        child.pipe.send(piece)
        return
    children.remove(child)
    _end(child)
    if piece is not None:
        start(piece, child.next)


def _end(child: _Child[T]) -> None:
    if child.process.is_alive():
        child.process.kill()
    child.process.join()
    child.pipe.close()
