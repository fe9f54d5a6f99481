"""How long the gate takes on a project of 1,000 programs, as a ratio to loading sympy.

    python tools/benchmarks/bench_check.py [RUNS]

Three checks: in a fresh copy of the project, where the seals of the lock file fit; after a change to ten
programs; and with ``--fresh``, which analyses every program, over all cores.  Commands are run in turns,
and the fastest run of each counts.  Ends with 1 if one of the first two takes more than three times as
long as loading sympy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PROGRAMS = 1_000
CHANGED = 10
MOST = 3.0
SYMPY = "import sympy"
SEALED, FEW, FRESH = f"{PROGRAMS:,} locked programs", f"{CHANGED} of them changed", "all of them analysed"


def fill(folder: Path) -> None:
    """Programs like those that people write: the examples, each text different from every other."""
    examples = sorted((ROOT / "specs" / "examples").glob("*.tol"))
    short = [path.read_text(encoding="utf-8") for path in examples if "conv2d" not in path.name]
    for n in range(PROGRAMS):
        (folder / f"p{n:04}.tol").write_text(f"# {n}\n{short[n % len(short)]}", encoding="utf-8")


def seconds(arguments: list[str], folder: Path, env: dict[str, str]) -> float:
    start = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def touch(folder: Path, turn: int) -> None:
    for n in range(CHANGED):
        path = folder / f"p{n:04}.tol"
        path.write_text(f"# turn {turn}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def measure(runs: int) -> dict[str, float]:
    best = dict.fromkeys((SYMPY, SEALED, FEW, FRESH), float("inf"))
    check = ["-m", "tolcost", "check"]
    with TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        fill(folder)
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        seconds([*check, "--update"], folder, env)
        for turn in range(runs):
            best[SYMPY] = min(best[SYMPY], seconds(["-c", SYMPY], folder, env))
            clone = Path(name) / f"clone{turn}"
            shutil.copytree(folder, clone)
            best[SEALED] = min(best[SEALED], seconds(check, clone, env))
            touch(clone, turn)
            best[FEW] = min(best[FEW], seconds(check, clone, env))
            best[FRESH] = min(best[FRESH], seconds([*check, "--fresh"], clone, env))
    return best


def main() -> int:
    best = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    for name, found in best.items():
        print(f"{name:<24} {found * 1000:8.0f} ms {found / best[SYMPY]:8.2f} x {SYMPY}")
    print(f"\nof the first two checks each at most {MOST} x {SYMPY}")
    return 0 if max(best[SEALED], best[FEW]) <= MOST * best[SYMPY] else 1


if __name__ == "__main__":
    sys.exit(main())
