"""Processor time of ``tolcost verify`` beside that of ONNX's reference evaluator on the same cases.

    python benchmarks/bench_verify.py [OPERATOR ...]

Both run in this one process on one core, on cases that are already loaded.  Verifying means deriving the
closed form, running the definition, comparing values, shapes and counts, and repeating small runs by the
reference interpreter.  The target is a ratio of at most 4.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from onnx.backend.test.loader import load_node_model_tests
from onnx.reference import ReferenceEvaluator

from tolcost.catalogue.cases import load_cases
from tolcost.catalogue.conformance import check
from tolcost.catalogue.specs import open_library


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    cases = [
        case for case in load_cases(names) if not open_library().outside(case.node.domain).get(case.node.op)
    ]
    wanted = {case.name for case in cases}
    tests = [test for test in load_node_model_tests() if test.name in wanted]
    library = open_library()
    start = time.process_time()
    passed = sum(check(case, library).status == "pass" for case in cases)
    ours = time.process_time() - start
    theirs, ran = _reference(tests)
    print("| what | cases | seconds |\n|---|---|---|")
    print(f"| tolcost verify | {len(cases)} ({passed} pass) | {ours:.1f} |")
    print(f"| onnx.reference | {len(tests)} ({ran} run) | {theirs:.1f} |")
    print(f"\nratio {ours / theirs:.2f}, target at most 4")


def _reference(tests: list[object]) -> tuple[float, int]:
    ran = 0
    start = time.process_time()
    with np.errstate(all="ignore"):
        for test in tests:
            model = test.model  # type: ignore[attr-defined]
            inputs, _ = test.data_sets[0]  # type: ignore[attr-defined]
            try:
                evaluator = ReferenceEvaluator(model)
                names = [given.name for given in model.graph.input]
                evaluator.run(None, dict(zip(names, inputs, strict=False)))
                ran += 1
            except Exception:  # what the reference cannot run still took its time
                continue
    return time.process_time() - start, ran


if __name__ == "__main__":
    main(sys.argv[1:])
