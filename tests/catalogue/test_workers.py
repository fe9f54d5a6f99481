"""Work is spread over processes, and a lost piece costs only itself."""

import os
import time

from tolcost.catalogue.workers import spread


def collect(work: object, pieces: int, jobs: int, seconds: float = 20.0) -> list[object]:
    found = dict(spread(work, pieces, lambda n, why: why, jobs, seconds))  # type: ignore[arg-type]
    return [found[n] for n in range(pieces)]


def test_all_results_come_back() -> None:
    assert collect(lambda n: n * n, 20, 3) == [n * n for n in range(20)]
    assert collect(lambda n: n * n, 3, 1) == [0, 1, 4]
    assert collect(lambda n: n, 0, 2) == []


def test_a_crash_costs_one_piece() -> None:
    def work(n: int) -> int:
        if n == 2:
            os._exit(11)
        return n

    assert collect(work, 6, 2) == [0, 1, "the process that ran it died", 3, 4, 5]


def test_a_hang_costs_one_piece() -> None:
    def work(n: int) -> int:
        time.sleep(60 if n == 1 else 0)
        return n

    assert collect(work, 4, 2, seconds=1.0) == [0, "took longer than 1 s", 2, 3]
