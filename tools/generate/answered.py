"""Random texts before the compiler: each is analysed, or told what is wrong with it; nothing else happens.

``python -m tools.generate.answered static 100000`` tries as many static expressions as asked, ``programs``
instead as many programs with changes, ``calls`` programs of one call each, and prints those that broke
something, took long or much memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from os import cpu_count

from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_source
from tolcost.platform import with_deep_stack
from tools.generate.calls import one_call
from tools.generate.sources import mutated_program
from tools.generate.static_expressions import static_program

SLOW = 10.0
"""Seconds; nothing may take longer."""
MEMORY = 2**30
"""Bytes beyond what a process has reserved when it begins; nothing may take more."""
WRITERS = {"static": static_program, "programs": mutated_program, "calls": one_call}


def answer(text: str) -> tuple[str, str]:
    """``analysed`` or ``refused``; or ``broken`` and what happened."""
    try:
        with_deep_stack(lambda: analyze_source(Source("random.tol", text)))
    except Rejected:
        return "refused", ""
    except Exception:  # what we look for, whatever it is
        return "broken", f"{text}{traceback.format_exc(limit=-2)}"
    return "analysed", ""


def answer_at(kind: str, seed: int) -> tuple[str, str]:
    """The same of the text of a seed; one that takes long is broken too."""
    text = WRITERS[kind](seed)
    start = time.process_time()
    found, what = answer(text)
    taken = time.process_time() - start
    if taken > SLOW:
        found, what = "broken", f"{text}took {taken:.0f} s"
    return found, f"seed {seed}\n{what}"


def _limited() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        reserved = int(file.read().split()[0]) * resource.getpagesize()
    stack = 2**29  # of the thread that recursion goes on in
    resource.setrlimit(resource.RLIMIT_AS, (reserved + stack + MEMORY,) * 2)


def main(arguments: list[str]) -> int:
    """Try many; the exit code tells whether all were answered."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate.answered", description=__doc__)
    parser.add_argument("kind", choices=sorted(WRITERS), help="what to write")
    parser.add_argument("many", type=int, help="how many texts")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=cpu_count(), help="processes")
    asked = parser.parse_args(arguments)
    seeds, found = range(asked.start, asked.start + asked.many), Counter[str]()
    with ProcessPoolExecutor(asked.jobs, initializer=_limited) as pool:
        for how, what in pool.map(partial(answer_at, asked.kind), seeds, chunksize=200):
            found[how] += 1
            if how == "broken":
                print(what, flush=True)
    print(f"{asked.kind}, seeds {seeds.start} to {seeds.stop - 1}: {dict(found)}")
    return int(found["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
