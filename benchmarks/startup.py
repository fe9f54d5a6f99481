"""How long the command line takes to start, as a ratio to Python doing nothing.

Prints one JSON object: seconds for ``python -c pass``, ``tolcost --help``, and the formatting of a small
program.  The best of several runs counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS = 10
PROGRAM = "tol a: R [n, k]\ntol b: R [k, m]\ny := map(tol[n, m], reduce(map(a[i], * * b[*, j]), add, 0), [i, j])\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.tol"
        program.write_text(PROGRAM, "utf-8")
        nothing = _best("-c", "pass")
        usage = _best("-m", "tolcost", "--help")
        formatting = _best("-m", "tolcost", "fmt", str(program))
    figures = {
        "python_seconds": round(nothing, 4),
        "help_seconds": round(usage, 4),
        "help_to_python": round(usage / nothing, 2),
        "fmt_seconds": round(formatting, 4),
        "fmt_to_python": round(formatting / nothing, 2),
    }
    print(json.dumps(figures, indent=2))


def _best(*arguments: str) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=ROOT)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
