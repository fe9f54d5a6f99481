"""How long the command line takes from a cold start, as ratios to something everyone has.

    python tools/benchmarks/bench_startup.py [RUNS]

Commands are run in turns, so that whatever else the machine does falls on all of them, and the
fastest run of each counts.  Bytecode is kept, as it is for anyone who installs tolcost; here in a
folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
MATMUL = "specs/paper/section5/matmul.printed.tol"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "tolcost --help": ["-m", "tolcost", "--help"],
    'python -c "import sympy"': ["-c", "import sympy"],
    "tolcost analyze matmul.tol --symbolic": ["-m", "tolcost", "analyze", MATMUL, "--symbolic"],
}
RATIOS = (
    ("tolcost --help", "python -c pass", 8.0),
    ("tolcost analyze matmul.tol --symbolic", 'python -c "import sympy"', 1.5),
)


def seconds(arguments: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, float]:
    best = dict.fromkeys(COMMANDS, float("inf"))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as folder:
        env = {**kept, "PYTHONPYCACHEPREFIX": folder}
        for _ in range(runs + 1):  # the first turn compiles
            for name, arguments in COMMANDS.items():
                best[name] = min(best[name], seconds(arguments, env))
    return best


def main() -> int:
    best = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    for name, found in best.items():
        print(f"{name:<40} {found * 1000:8.0f} ms")
    print()
    late = 0
    for name, other, most in RATIOS:
        ratio = best[name] / best[other]
        late += ratio > most
        print(f"{name:<40} {ratio:8.2f} x {other:<26} (at most {most})")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
