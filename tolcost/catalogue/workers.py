"""Distribute work over processes that share loaded data, with a time limit for each piece.

A child is a fork of this process, so only the number of its next piece of work is sent to it.  A child that
dies or takes too long is replaced, and its piece gets a stand-in result: a crash costs one piece of work,
never the suite.  A child does consecutive pieces while many are left: they are often alike, and the cache of
one helps the next.
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
"""Multiple of the time limit after which a child ends itself, in case its parent is gone."""
_RUNS = 8
"""Runs per child into which the remaining pieces are divided: fewer share more, more balance better."""


class _Child(Struct, Generic[T], eq=False):
    """A process, its pipe, its current piece, the next ones, and the start time of the current one."""

    process: BaseProcess
    pipe: Connection
    doing: int
    next: Iterator[int]
    since: float
    died: int = 0
    """Processes that died earlier on the current piece."""


def _runs(pieces: int, jobs: int) -> Iterator[Iterator[int]]:
    """Divide the pieces into runs, one child each, that get shorter towards the end."""
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
    """Yield the results of ``work(0) .. work(pieces-1)`` as they arrive; ``instead`` replaces lost ones.

    A piece whose process died is retried up to ``again`` times.  ``apart``: never run in this process.
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
"""Called after each piece with the number done, the number of all, and the name of the piece."""


def gathered(
    work: Callable[[int], T],
    names: Sequence[str],
    instead: Callable[[int, str], T],
    jobs: int | None,
    seconds: float,
    told: WorkProgress | None,
) -> tuple[T, ...]:
    """Return the results of a piece of work for each name, in order; all cores unless ``jobs`` is given."""
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
    """Start another child."""
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
    """Do pieces of work until told to stop, or until the parent is gone.

    Copies of the parent's pipe ends are closed: while one is open, the end of the parent goes unnoticed.
    """
    for copy in inherited:
        copy.close()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    gc.freeze()  # data that the parent loaded stays; garbage of pieces is collected rarely
    gc.set_threshold(1_000_000, 20, 100)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        with_deep_stack(lambda: _answer(work, pipe, seconds))


def _answer(work: Callable[[int], T], pipe: Connection, seconds: float) -> None:
    while (piece := pipe.recv()) is not None:
        signal.setitimer(signal.ITIMER_REAL, _ORPHANED * seconds)  # ends the child if its parent is gone
        pipe.send(work(piece))


def _ready(children: list[_Child[T]], seconds: float) -> list[_Child[T]]:
    """Return the children that have finished, died, or exceeded their time."""
    while True:
        answered = wait([child.pipe for child in children], timeout=0.5)
        now = time.monotonic()
        found = [c for c in children if c.pipe in answered or now - c.since > seconds]
        if found:
            return found


class _Lost(Struct, frozen=True):
    """The reason why there is no result, and whether the process died by itself."""

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
    """Return a child its next piece, or replace it, or let it go."""
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
