"""How long a step of training takes to analyse, over the model itself; exit code 1 if over twice as long.

    python tools/benchmarks/bench_training.py [RUNS] [MODEL.onnx ...]

Each figure is the processor time of a whole process, its start included; the processes take turns, and the
median of the ratios counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
MODELS = ("examples/bert.onnx",)
MOST = 2


def seconds(*arguments: str) -> float:
    """Return the processor time of a command of tolcost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tolcost", "model", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Measure each model, and print the figures."""
    runs = int(sys.argv[1]) if sys.argv[1:] else 5
    late = False
    for model in sys.argv[2:] or MODELS:
        pairs = [(seconds(model), seconds(model, "--train", "adamw")) for _ in range(runs)]
        ratio = median(step / forward for forward, step in pairs)
        forward, step = (median(column) for column in zip(*pairs, strict=True))
        print(f"{model}: model {forward:.2f} s, step of training {step:.2f} s, ratio {ratio:.2f}")
        late |= ratio > MOST
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
