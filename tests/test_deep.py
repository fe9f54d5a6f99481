"""The deep stack: what it changes in the process is put back, whoever leaves last."""

from __future__ import annotations

import gc
import sys
from threading import Event, Thread

import pytest

from tolcost.platform import RECURSION, YOUNG, with_deep_stack


def settings() -> tuple[int, int]:
    return sys.getrecursionlimit(), gc.get_threshold()[0]


def test_threads_that_overlap_leave_the_process_as_it_was() -> None:
    before = settings()
    inside, leave = [Event(), Event()], [Event(), Event()]

    def stay(number: int) -> None:
        inside[number].set()
        leave[number].wait(10)

    threads = [Thread(target=with_deep_stack, args=(lambda n=n: stay(n),)) for n in range(2)]
    for thread, there in zip(threads, inside, strict=True):
        thread.start()
        assert there.wait(10)
    leave[0].set()
    threads[0].join(10)
    assert settings() == (max(before[0], RECURSION), max(before[1], YOUNG))  # the other still works
    leave[1].set()
    threads[1].join(10)
    assert settings() == before


def test_a_failure_puts_them_back_too() -> None:
    before = settings()
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 // 0)
    assert settings() == before


def test_without_threads_the_work_is_done_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", none)
    before = settings()
    assert with_deep_stack(lambda: 6 * 7) == 42
    assert settings() == before


def test_recursion_up_and_down_asks_the_system_for_no_memory() -> None:
    resource = pytest.importorskip("resource", reason="pages are counted by POSIX systems")

    def down(levels: int) -> int:
        return 1 + down(levels - 1) if levels else 0

    def new_pages() -> int:
        down(400)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for levels in range(400):
            for _ in range(20):
                down(levels)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert with_deep_stack(new_pages) < 1000
