"""How much memory there is to use: what the system gives to a process, and what it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SPARE = 1 << 30
"""Address space for stacks and libraries, which is not memory until it is used."""


@contextmanager
def address_space(memory: int | None) -> Iterator[None]:
    """Have the system refuse what is asked for beyond so many bytes more than there are now."""
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
