"""Records how long steps of training take: one command, on a machine with a GPU.

    PYTHONPATH=tools/benchmarks python3 -m hardware.training_times FILE.json [NAME ...]

Modules, sizes and steps are those of ``training_peaks``, in bfloat16 with fused attention, and one size more
at which starting kernels is not most of a step.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import torch

from .training_peaks import MODELS, Model, step

STEPS = 12
"""Steps of each row; the first two are left out."""
LARGEST = (32, 1024)


def rows(model: Model) -> list[dict[str, Any]]:
    """Return the median and the least time of a step at each size, in microseconds."""
    found = []
    for again in (False, True):
        with torch.device("cuda"):
            module, inputs = model.build("sdpa")
        module = module.to(torch.bfloat16).train()
        if again:
            module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        optimiser = torch.optim.AdamW(module.parameters(), fused=True)
        for batch, size in (*model.sizes, LARGEST):
            given, times = inputs(batch, size), []
            for _ in range(STEPS):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in "se")
                start.record()
                step(module, given, optimiser)
                end.record()
                torch.cuda.synchronize()
                times.append(start.elapsed_time(end) * 1000)
            row = {"model": model.name, "recompute": again, "batch": batch, "size": size}
            found.append(row | {"us": statistics.median(times[2:]), "low_us": min(times[2:])})
        del module, optimiser, inputs
        gc.collect()
        torch.cuda.empty_cache()
    return found


def record(file: Path, names: list[str]) -> None:
    """Write the file."""
    chosen = [one for one in MODELS if "sdpa" in one.attention and (not names or one.name in names)]
    text = ",\n  ".join(json.dumps(row) for model in chosen for row in rows(model))
    head = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__}
    file.write_text(json.dumps(head)[:-1] + f', "rows": [\n  {text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2:])
