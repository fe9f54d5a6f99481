"""Processor time of ``tolcost verify`` beside that of ONNX's reference evaluator on the same cases.

    python tools/benchmarks/bench_verify.py [OPERATOR ...]

ONNX computes its cases when it is asked for them.  That is done once, before anything is measured: it is
neither verifying nor running.  Then a process of its own runs all of them through
``onnx.reference.ReferenceEvaluator`` and another verifies them as the command does, in turns, a few times;
of each the quickest counts, because a busy machine is not equally fast all the time.  Both spread their
cases over two processes in the same way, and are measured with their children.

Verifying means reading definitions, deriving closed forms, running the definition, comparing values, shapes
and counts, and repeating small runs by the reference interpreter.  The target is a ratio of at most 2.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

JOBS = 2
ROUNDS = 4
TARGET = 2


class Run(NamedTuple):
    """Processor seconds, how many cases there were, and how many went well."""

    seconds: float
    cases: int
    well: int


def main(names: list[str]) -> int:
    cases = loaded(names)
    runs = [(measured(reference, cases), measured(verify, cases)) for _ in range(ROUNDS)]
    theirs, ours = min(run for run, _ in runs), min(run for _, run in runs)
    print(f"| what, on {JOBS} processes | cases | processor seconds |")
    print("|---|---|---|")
    for name, word, run in (("tolcost verify", "pass", ours), ("onnx.reference", "run", theirs)):
        print(f"| {name} | {run.cases:,}, {run.well:,} {word} | {run.seconds:.1f} |")
    ratio = ours.seconds / theirs.seconds
    print(f"\nratio {ratio:.2f}, target at most {TARGET}")
    return 0 if ratio <= TARGET else 1


def measured(work: Callable[[list[Any]], int], cases: list[Any]) -> Run:
    """Do something in a process of its own: its processor time, with that of its children."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    before = used()
    process = context.Process(target=lambda: theirs.send(work(cases)))
    process.start()
    theirs.close()  # so that a process that dies is noticed
    well = ours.recv()
    process.join()
    return Run(used() - before, len(cases), well)


def used() -> float:
    """Processor time of all processes that have ended below this one."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def loaded(names: list[str]) -> list[Any]:
    """The cases of operators inside the model; what both sides need is imported, too."""
    import onnx.reference  # noqa: F401

    import tolcost.catalogue.conformance  # noqa: F401
    from tolcost.catalogue.cases import load_cases
    from tolcost.catalogue.specs import open_library

    library = open_library()
    return [case for case in load_cases(names) if case.node.op not in library.outside(case.node.domain)]


def verify(cases: list[Any]) -> int:
    from tolcost.catalogue.conformance import verify as run

    return run([case.name for case in cases], JOBS).figures()["pass"]


def reference(cases: list[Any]) -> int:
    """Run the models of the cases; what the evaluator cannot run still takes its time."""
    from onnx.backend.test.loader import load_node_model_tests

    from tolcost.catalogue.workers import spread

    models = {test.name: test.model for test in load_node_model_tests()}

    def evaluated(n: int) -> bool:
        return _evaluated(models[cases[n].name], cases[n])

    return sum(ran for _, ran in spread(evaluated, len(cases), lambda n, why: False, JOBS, 600.0))


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
