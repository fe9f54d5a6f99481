"""How long the command line takes to start, as a ratio to Python doing nothing.

Prints one JSON object: seconds of processor time, which other work on the machine disturbs less than
the time on the clock, for ``python -c pass``, ``tolcost --help``, and the formatting of a small program.
The runs take turns, and the best of each counts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUNDS = 10
PROGRAM = (
    "tol a: R [n, k]\ntol b: R [k, m]\ny := map(tol[n, m], reduce(map(a[i], * * b[*, j]), add, 0), [i, j])\n"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.tol"
        program.write_text(PROGRAM, "utf-8")
        commands = (("-c", "pass"), ("-m", "tolcost", "--help"), ("-m", "tolcost", "fmt", str(program)))
        rounds = [[_seconds(*command) for command in commands] for _ in range(ROUNDS)]
    nothing, usage, formatting = map(min, zip(*rounds, strict=True))
    figures = {
        "python_seconds": round(nothing, 4),
        "help_seconds": round(usage, 4),
        "help_to_python": round(usage / nothing, 2),
        "fmt_seconds": round(formatting, 4),
        "fmt_to_python": round(formatting / nothing, 2),
    }
    print(json.dumps(figures, indent=2))


def _seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
