"""Random programs, as many as asked: ``python -m tools.programs.soak 100000``.

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

from msgspec import Struct

from tolcost.platform import with_deep_stack
from tools.generate.loops import loop_program
from tools.generate.programs import Case, generate
from tools.generate.spaces import space_program
from tools.programs.shrink import Points, shrink
from tools.programs.verdict import Verdict, judge

KEPT = Path(__file__).parents[2] / "tests" / "cases" / "mismatches"
BATCH = 100
MOST_KEPT = 2
"""Of programs that fail alike, so many are kept."""


class Soaked(Struct, frozen=True):
    """What is tried: programs of any kind, or ``loops`` or ``spaces`` only, which are always read ``twice``.

    Every other program of loops has branches: what they leave out is not counted.
    """

    twice: bool = False
    loops: bool = False
    spaces: bool = False

    def case(self, seed: int) -> Case:
        if self.spaces:
            return space_program(seed)
        return loop_program(seed, branches=seed % 2 == 1) if self.loops else generate(seed)

    def verdict(self, text: str, points: Points, seed: int) -> Verdict:
        plain = self.spaces or (self.loops and seed % 2 == 0)
        return judge(text, points, seed, self.twice or self.loops or self.spaces, plain)


ANY = Soaked()


def batch(start: int, size: int, soaked: Soaked = ANY) -> list[tuple[int, Verdict]]:
    """The verdicts on some seeds."""
    cases = map(soaked.case, range(start, start + size))
    return with_deep_stack(
        lambda: [(case.seed, soaked.verdict(case.text, case.points, case.seed)) for case in cases]
    )


def smaller(seed: int, verdict: Verdict, soaked: Soaked) -> tuple[str, Points]:
    """The case made small, failing in the same way."""
    case = soaked.case(seed)

    def fails(text: str, points: Points) -> bool:
        again = soaked.verdict(text, points, seed)
        return again.kind == verdict.kind and again.what == verdict.what

    return shrink(case.text, case.points, fails)


def keep(seed: int, verdict: Verdict, soaked: Soaked) -> Path:
    """Write a failing program down, made small, with the points it fails at."""
    text, points = smaller(seed, verdict, soaked)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{'loop' if soaked.loops or soaked.spaces else 'seed'}_{seed}.tol"
    told = [f"# {verdict.kind}: {verdict.what}"]
    told += ["# at " + ", ".join(f"{name}={value}" for name, value in point.items()) for point in points]
    path.write_text("\n".join([*told, f"# seed {seed}", text]), encoding="utf-8")
    return path


def verdicts(start: int, many: int, jobs: int, soaked: Soaked) -> Iterator[tuple[int, Verdict]]:
    """The verdicts on many seeds, from several processes."""
    sizes = [(at, min(BATCH, start + many - at)) for at in range(start, start + many, BATCH)]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = iter(sizes)
        running = [pool.submit(batch, *one, soaked) for one in islice(waiting, 4 * jobs)]
        while running:
            yield from running.pop(0).result()
            running += [pool.submit(batch, *one, soaked) for one in islice(waiting, 1)]


def main(arguments: list[str]) -> int:
    """Soak; the exit code tells whether every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs.soak", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--twice", action="store_true", help="read each program beside the oracle too")
    parser.add_argument("--loops", action="store_true", help="folds inside of folds, beside the oracle")
    parser.add_argument("--spaces", action="store_true", help="folds that change spaces, beside the oracle")
    asked = parser.parse_args(arguments)
    soaked = Soaked(asked.twice, asked.loops, asked.spaces)
    tally: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    began = time.monotonic()
    for seed, verdict in verdicts(asked.start, asked.many, asked.jobs, soaked):
        tally[verdict.kind] += 1
        refused[verdict.what] += verdict.kind == "refused"
        done = sum(tally.values())
        seen[verdict.what] += verdict.bad
        if verdict.bad and seen[verdict.what] <= MOST_KEPT:
            print(
                f"{verdict.kind} at seed {seed}: {verdict.what}; kept as {keep(seed, verdict, soaked)}",
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
