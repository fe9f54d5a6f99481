"""How much time and memory a command may take: ``--timeout`` and ``--max-memory``.

A timer looks at both ten times a second, in the thread that waits for the work, and stops the command
from there; what a single allocation asks for beyond the limit, the system refuses.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

_OFTEN = 0.1
_SPARE = 1 << 30
"""Address space for stacks and libraries, which is not memory until it is used."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class LimitReached(click.ClickException):
    """The command took more than it was allowed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes; None: as many as there are."""

    seconds: float | None = None
    memory: int | None = None


def read_size(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Read ``500M`` or ``2G``."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,12})\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"a size such as 500M or 2G, not {text[:40]!r}")
    return int(match[1]) * _UNITS[match[2].upper()]


@contextmanager
def held_to(limits: Limits) -> Iterator[None]:
    """Stop what is done inside when it takes more than it may."""
    if limits == Limits():
        yield
        return
    if not hasattr(signal, "setitimer"):
        raise click.UsageError("--timeout and --max-memory are not known on this system")
    end = None if limits.seconds is None else time.monotonic() + limits.seconds

    def look(*_: object) -> None:
        if end is not None and time.monotonic() >= end:
            raise LimitReached(f"stopped: it took longer than --timeout {limits.seconds:g}")
        if limits.memory is not None and (used := memory_used()) > limits.memory:
            raise LimitReached(f"stopped: it took {used >> 20:,} MiB, more than --max-memory allows")

    look()
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, min(_OFTEN, limits.seconds or _OFTEN), _OFTEN)
    try:
        with _address_space(limits.memory):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _address_space(memory: int | None) -> Iterator[None]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = None if memory is None else _pages(os.getpid(), 0) + memory + _SPARE
    if wanted is None or (soft != resource.RLIM_INFINITY and soft <= wanted):
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def memory_used() -> int:
    """The bytes that this process and those it started have in memory."""
    own = os.getpid()
    started: list[str] = []
    with suppress(OSError):
        started = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()
    return sum(_pages(process, 1) for process in (own, *map(int, started)))


def _pages(process: int, column: int) -> int:
    """Bytes of a process: its addresses (column 0), or what is in memory (1); 0 where nothing tells."""
    with suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return int(words[column]) * os.sysconf("SC_PAGE_SIZE")
    return 0
