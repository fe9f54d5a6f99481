"""Processor time of ``tolcost verify`` beside that of ONNX's reference evaluator on the same cases.

    python benchmarks/bench_verify.py [OPERATOR ...]

One process verifies the cases as the command does, another runs them through
``onnx.reference.ReferenceEvaluator``; each is measured with its children.  Both import the same, load the
same cases and spread them over two processes in the same way.  The evaluator runs before and after, because
a busy machine is not equally fast all the time, and the mean of its two runs counts.

Verifying means deriving the closed form, running the definition, comparing values, shapes and counts, and
repeating small runs by the reference interpreter.  The target is a ratio of at most 4 of what
is left of both without loading, which is not running; that of the two as a whole is shown as well.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

JOBS = 2
TARGET = 4


class Run(NamedTuple):
    """Processor seconds as a whole, and of loading; how many cases there were, and how many went well."""

    whole: float
    loading: float
    cases: int
    well: int

    @property
    def rest(self) -> float:
        """Without loading."""
        return self.whole - self.loading


def main(names: list[str]) -> int:
    before, ours, after = (measured(work, names) for work in (reference, verify, reference))
    theirs = Run(*(sum(pair) / 2 for pair in zip(before[:2], after[:2], strict=True)), *after[2:])
    print(f"| what, on {JOBS} processes | cases | processor seconds | of which loading | the rest |")
    print("|---|---|---|---|---|")
    for name, word, run in (("tolcost verify", "pass", ours), ("onnx.reference", "run", theirs)):
        figures = f"{run.whole:.1f} | {run.loading:.1f} | {run.rest:.1f}"
        print(f"| {name} | {run.cases:,}, {run.well:,} {word} | {figures} |")
    ratio = ours.rest / theirs.rest
    print(f"\nratio {ratio:.2f}, target at most {TARGET}; with loading {ours.whole / theirs.whole:.2f}")
    return 0 if ratio <= TARGET else 1


def measured(work: Callable[[list[str]], tuple[float, int, int]], names: list[str]) -> Run:
    """Do something in a process of its own: its processor time, with that of its children."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    before = used()
    process = context.Process(target=lambda: theirs.send(work(names)))
    process.start()
    theirs.close()  # so that a process that dies is noticed
    found = ours.recv()
    process.join()
    return Run(used() - before, *found)


def used() -> float:
    """Processor time of all processes that have ended below this one."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def loaded(names: list[str]) -> tuple[dict[str, Any], float]:
    """The cases of operators inside the model, by name, and the processor time it took to get there."""
    import onnx.reference  # noqa: F401

    import tolcost.catalogue.suite  # noqa: F401
    from tolcost.catalogue.cases import load_cases
    from tolcost.catalogue.specs import open_library

    library = open_library()
    found = [case for case in load_cases(names) if case.node.op not in library.outside(case.node.domain)]
    return {case.name: case for case in found}, time.process_time()


def verify(names: list[str]) -> tuple[float, int, int]:
    cases, loading = loaded(names)
    from tolcost.catalogue.suite import verify as run

    return loading, len(cases), run(names, JOBS).figures()["pass"]


def reference(names: list[str]) -> tuple[float, int, int]:
    """Run the models of the cases; what the evaluator cannot run still takes its time."""
    cases, loading = loaded(names)
    from onnx.backend.test.loader import load_node_model_tests

    from tolcost.catalogue.workers import spread

    tests = [test for test in load_node_model_tests() if test.name in cases]

    def evaluated(n: int) -> bool:
        return _evaluated(tests[n].model, cases[tests[n].name])

    ran = sum(ran for _, ran in spread(evaluated, len(tests), lambda n, why: False, JOBS, 600.0))
    return loading, len(tests), ran


def _evaluated(model: Any, case: Any) -> bool:
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    present = [list(item) if isinstance(item, tuple) else item for item in case.inputs if item is not None]
    names = [given.name for given in model.graph.input]
    try:
        with np.errstate(all="ignore"):
            ReferenceEvaluator(model).run(None, dict(zip(names, present, strict=False)))
        return True
    except Exception:
        return False


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
