"""Programs that ask for too much, and a child process to try them in.

``python -m tests.programs.limits`` reads a program, analyses it and prints one line: ``counted``
with the number of EOPs, or ``refused`` with the code of the diagnostic.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from tolcost.algebra import to_text
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_source

MEMORY = 3 * 1024**3
SECONDS = 60
"""Of processor time; on a busy machine that can take longer."""
ROOT = Path(__file__).parents[2]


def outcome(text: str) -> str:
    """What becomes of a program, in a process that may not grow or run for ever."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.programs.limits"],
        input=text,
        capture_output=True,
        text=True,
        timeout=10 * SECONDS,
        cwd=ROOT,
        preexec_fn=_bounded,
    )
    return child.stdout.strip() or f"exit {child.returncode}: {child.stderr.strip()[-300:]}"


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def main() -> None:
    """Analyse the program on standard input."""
    try:
        found = analyze_source(Source("limit.tol", sys.stdin.read()))
        print("counted", to_text(found.eops)[:200])
    except Rejected as rejected:
        print("refused", rejected.diagnostics[0].code, rejected.diagnostics[0].message[:160])


# ---- programs ----------------------------------------------------------------------------


def chain(many: int, step: str = "v{0} = v{1} + 1") -> str:
    """Definitions that each need the one before."""
    rows = "\n".join(step.format(n, n - 1) for n in range(1, many + 1))
    return f"tol x: R [n]\nv0 = x[1]\n{rows}\ny := v{many}\n"


def nested(opening: str, body: str, closing: str, many: int, head: str = "tol x: R [n]\n") -> str:
    """A body inside the same thing, many times over."""
    inside = "".join(opening.format(n, n - 1) for n in range(1, many + 1))
    return f"{head}y := {inside}{body}{closing * many}\n"


def long_sum(many: int, term: str = "x", op: str = "+") -> str:
    return f"tol x: R\ny := {f' {op} '.join([term] * many)}\n"


def doubling(many: int, step: str, first: str = "f0(a) = a + 1", last: str = "f{0}(x)") -> str:
    """Each level uses the one before twice."""
    rows = "\n".join(step.format(n, n - 1) for n in range(1, many + 1))
    return f"tol x: R\n{first}\n{rows}\ny := {last.format(many)}\n"


if __name__ == "__main__":
    main()
