"""Random programs, as many as asked: ``python -m tests.programs.soak 100000``.

Prints progress, and writes every program that breaks a promise, made small, to
``tests/cases/mismatches``, where the ordinary tests replay it from then on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

from tests.generate.programs import Case, generate
from tests.programs.shrink import Points, shrink
from tests.programs.verdict import Verdict, judge
from tolcost.deep import with_deep_stack

KEPT = Path(__file__).parents[1] / "cases" / "mismatches"
BATCH = 100
MOST_KEPT = 2
"""Of programs that fail alike, so many are kept."""


def batch(start: int, size: int, twice: bool = False) -> list[tuple[int, Verdict]]:
    """The verdicts on some seeds."""
    cases = map(generate, range(start, start + size))
    return with_deep_stack(
        lambda: [(case.seed, judge(case.text, case.points, case.seed, twice)) for case in cases]
    )


def smaller(case: Case, verdict: Verdict, twice: bool) -> tuple[str, Points]:
    """The case made small, failing in the same way."""

    def fails(text: str, points: Points) -> bool:
        again = judge(text, points, case.seed, twice)
        return again.kind == verdict.kind and again.what == verdict.what

    return shrink(case.text, case.points, fails)


def keep(seed: int, verdict: Verdict, twice: bool) -> Path:
    """Write a failing program down, made small, with the points it fails at."""
    text, points = smaller(generate(seed), verdict, twice)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"seed_{seed}.tol"
    told = [f"# {verdict.kind}: {verdict.what}"]
    told += ["# at " + ", ".join(f"{name}={value}" for name, value in point.items()) for point in points]
    path.write_text("\n".join([*told, f"# seed {seed}", text]), encoding="utf-8")
    return path


def verdicts(start: int, many: int, jobs: int, twice: bool) -> Iterator[tuple[int, Verdict]]:
    """The verdicts on many seeds, from several processes."""
    sizes = [(at, min(BATCH, start + many - at)) for at in range(start, start + many, BATCH)]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = iter(sizes)
        running = [pool.submit(batch, *one, twice) for one in islice(waiting, 4 * jobs)]
        while running:
            yield from running.pop(0).result()
            running += [pool.submit(batch, *one, twice) for one in islice(waiting, 1)]


def main(arguments: list[str]) -> int:
    """Soak; the exit code tells whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.soak", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--twice", action="store_true", help="read each program beside the oracle too")
    asked = parser.parse_args(arguments)
    tally: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    began = time.monotonic()
    for seed, verdict in verdicts(asked.start, asked.many, asked.jobs, asked.twice):
        tally[verdict.kind] += 1
        refused[verdict.what] += verdict.kind == "refused"
        done = sum(tally.values())
        seen[verdict.what] += verdict.bad
        if verdict.bad and seen[verdict.what] <= MOST_KEPT:
            print(
                f"{verdict.kind} at seed {seed}: {verdict.what}; kept as {keep(seed, verdict, asked.twice)}",
                flush=True,
            )
        if done % 1000 == 0:
            print(f"{done} programs, {time.monotonic() - began:.0f} s: {dict(tally)}", flush=True)
    print(f"{asked.many} programs from seed {asked.start} in {time.monotonic() - began:.0f} s: {dict(tally)}")
    for what, times in refused.most_common(10):
        if times:
            print(f"  refused {times}: {what}")
    return 1 if tally["differs"] + tally["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
