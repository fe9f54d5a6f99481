"""Derives the backward pass of every model of the corpus, and counts the nodes that have one.

    python -m tools.gradient.models reports/data/training_models.json

A node counts if the adjoint of one of its outputs is known to be needed and an input depends on what is
trained.  Without ``--loss``, all outputs are differentiated.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.models.corpus import FOLDER, files
from tolcost import from_onnx
from tolcost.diagnostics import Rejected
from tolcost.result.training import TrainingStudy

SECONDS_EACH = 60


def outcome(raw: bytes) -> dict[str, Any]:
    """What the derivation of a model gives: nodes with and without a backward pass, or why there is none."""
    began = time.perf_counter()
    cost = from_onnx(raw)
    forward = time.perf_counter() - began
    try:
        study = cost.training("sgd").study
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        return {"refused": f"{first.code} {first.message}"[:160]}
    assert isinstance(study, TrainingStudy)
    joint = study.training.joint
    missing = Counter(f"{step.node.title}: {why.message}"[:160] for step, why in joint.missing)
    return {
        "derived": len(joint.order),
        "missing": dict(sorted(missing.items())),
        "seconds": [round(forward, 2), round(time.perf_counter() - began - forward, 2)],
    }


def _expired(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Derive every model, and write what came of it."""
    signal.signal(signal.SIGALRM, _expired)
    done: dict[str, Any] = {}
    for name, raw in sorted(files().items()):
        if not name.endswith(".onnx"):
            continue
        signal.alarm(SECONDS_EACH)
        try:
            done[name] = outcome(raw)
        except TimeoutError:
            done[name] = {"refused": f"more than {SECONDS_EACH} s"}
        except Rejected as rejected:
            done[name] = {"not read": rejected.diagnostics[0].message[:160]}
        except Exception as error:
            done[name] = {"crash": f"{type(error).__name__}: {error}"[:160]}
        signal.alarm(0)
        if not done[name].get("derived") or done[name]["missing"]:
            print(name, done[name], flush=True)
    lines = ",\n ".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in done.items())
    Path(sys.argv[1]).write_text("{" + lines + "}\n", encoding="utf-8")
    derived = sum(found.get("derived", 0) for found in done.values())
    missing = sum(sum(found.get("missing", {}).values()) for found in done.values())
    print(f"{len(done)} models of {FOLDER.name}, {derived:,} nodes derived, {missing:,} not")


if __name__ == "__main__":
    main()
