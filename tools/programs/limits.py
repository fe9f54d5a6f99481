"""Programs that ask for too much, and a child process to try them in."""

from __future__ import annotations

import os
import resource
import traceback
from pathlib import Path

from tolcost import platform
from tolcost.algebra import poly, to_text
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import environment
from tolcost.pipeline import analyze_source

MEMORY = 3 * 1024**3
_STATM = Path("/proc/self/statm")
SECONDS = 60
"""Of processor time; on a busy machine that can take longer."""


def outcome(text: str, levels: int = platform.RECURSION, part: int = 1) -> str:
    """What becomes of a program, in a process that may neither grow nor run for ever.

    ``counted`` with the number of EOPs, ``refused`` with a code, or how the process ended.  It may recurse so
    many levels, and do this part of the work that is allowed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _bound()
            platform.RECURSION = levels
            environment.BUDGET //= part
            poly.MAX_PRODUCTS //= part
            poly.MAX_TERMS //= part
            os.write(writing, _analysed(text).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return said or f"ended by {status}"


def _bound() -> None:
    """Limit what this process may take from here on; memory where the system says how much it has taken."""
    if _STATM.exists():
        taken = int(_STATM.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def _analysed(text: str) -> str:
    try:
        found = analyze_source(Source("limit.tol", text))
    except Rejected as rejected:
        return f"refused {rejected.diagnostics[0].code} {rejected.diagnostics[0].message[:160]}"
    except BaseException:  # nobody is there to see it but the caller
        return traceback.format_exc()[-300:]
    return f"counted {to_text(found.eops)[:200]}"


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
