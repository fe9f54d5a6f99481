"""Records everything that the analysis needs, on a machine with a GPU: one command.

    PYTHONPATH=tools/benchmarks \
        python3 -m hardware.record FOLDER [check] [time] [models] [count]

Without a list of parts all of them.  Writes into FOLDER what belongs into ``reports/data/h200``; counters
that are there already stay, and those that are missing are counted, as many as ten minutes allow.
"""

from __future__ import annotations

import csv
import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from .check import agrees, check_all
from .counting import counted, profile, read_log
from .points import Point, model_points, operator_points
from .pytorch import plain_float32
from .table import read_table
from .timing import Stopwatch, as_graph

SMI = (
    "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,"
    "power.draw,power.limit,temperature.gpu"
)
PARTS = ("check", "time", "models", "count")


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, names, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(listed)
    print(f"{file.name}: {len(listed)} rows", flush=True)


def smi() -> dict[str, str]:
    """What the driver says of the card at this moment."""
    command = ["nvidia-smi", f"--query-gpu={SMI}", "--format=csv,noheader,nounits"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    return dict(zip(SMI.split(","), (part.strip() for part in said.split(",")), strict=False))


def environment(watch: Stopwatch) -> dict[str, Any]:
    """Versions, the card, the date, and the ceilings measured by the simplest means."""
    ncu = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout
    card = torch.cuda.get_device_properties(0)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "ncu": ncu.strip().splitlines()[-1] if ncu else "",
        "multiprocessors": card.multi_processor_count,
        "l2_bytes": card.L2_cache_size,
        "idle": smi(),
        "ceilings": ceilings(watch),
    }


def ceilings(watch: Stopwatch) -> dict[str, float]:
    """Bytes and operations per second of the simplest large calls, and the time of the smallest."""
    return {**_memory(watch), **_product(watch, torch.float32), **_product(watch, torch.bfloat16)}


def _memory(watch: Stopwatch) -> dict[str, float]:
    big, other = (torch.randn(2**29, device="cuda") for _ in range(2))
    return {
        "empty_us": watch.measure(lambda: big[:1].add_(0.0)).median,
        "copy_bytes_per_s": 2 * 2**31 / watch.measure(lambda: other.copy_(big)).median * 1e6,
        "read_bytes_per_s": 2**31 / watch.measure(lambda: torch.amax(big)).median * 1e6,
        "write_bytes_per_s": 2**31 / watch.measure(lambda: other.fill_(1.0)).median * 1e6,
    }


def _product(watch: Stopwatch, type_: torch.dtype) -> dict[str, float]:
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=type_) for _ in range(2))
    taken = watch.measure(lambda: torch.matmul(a, b), 10).median
    return {f"matmul_{str(type_).removeprefix('torch.')}_per_s": 2 * 8192**3 / taken * 1e6}


def timed(points: Iterable[Point], watch: Stopwatch, rounds: int) -> Iterable[dict[str, Any]]:
    """A row for each point; models as they are called, and as a graph."""
    for point in points:
        row: dict[str, Any] = {
            "name": point.name,
            "class": point.kind,
            "type": point.type,
            "size": point.size,
        }
        try:
            call = point.build()
            for i in range(1, rounds + 1):
                taken = watch.measure(call)
                row |= {f"us_{i}": f"{taken.median:.3f}", f"low_{i}": f"{taken.low:.3f}"}
                row |= {f"high_{i}": f"{taken.high:.3f}", f"runs_{i}": taken.runs}
            if point.kind == "model":
                taken = watch.measure(as_graph(call))
                row |= {"graph_us": f"{taken.median:.3f}", "graph_low": f"{taken.low:.3f}"}
                row |= {"graph_high": f"{taken.high:.3f}"}
                row |= {"clock": smi().get("clocks.sm", "")}
        except RuntimeError as problem:
            row["error"] = str(problem).splitlines()[0][:200]
            print(row, flush=True)
        call = None
        gc.collect()
        yield row


def nodes(points: Iterable[Point]) -> Iterable[dict[str, Any]]:
    """What the models applied, each distinct application once, with how often."""
    for point in points:
        for net in point.net:
            for (case, shapes, attrs), count in net.nodes.items():
                head = {"model": point.name, "type": point.type, "size": point.size, "case": case}
                yield {**head, "shapes": shapes, "attrs": attrs, "count": count}
            net.weights.clear()


def record(folder: Path, parts: Iterable[str]) -> None:
    began = time.monotonic()
    plain_float32()
    watch = Stopwatch()
    facts = environment(watch)
    clocks = []
    if "check" in parts:
        table = read_table()
        errors = check_all("cuda")
        write(folder / "values.csv", [{"name": n, "error": f"{e:.3g}"} for n, e in errors.items()])
        print("not agreeing:", [name for name, e in errors.items() if not agrees(table[name], e)], flush=True)
    if "time" in parts:
        rows = []
        for i, row in enumerate(timed(operator_points(), watch, 2)):
            rows.append(row)
            if i % 50 == 0:
                clocks.append(smi())
        write(folder / "times.csv", rows)
        print(f"times after {time.monotonic() - began:.0f} s", flush=True)
    if "models" in parts:
        logged: list[dict[str, Any]] = []
        rows = []
        for point in model_points():
            rows += list(timed([point], watch, 1))
            logged += nodes([point])
            point.net.clear()
            torch.cuda.empty_cache()
            clocks.append(smi())
        write(folder / "models.csv", rows)
        write(folder / "nodes.csv", logged)
        print(f"models after {time.monotonic() - began:.0f} s", flush=True)
    facts |= {"after": smi(), "clocks": [one.get("clocks.sm", "") for one in clocks]}
    facts["power"] = [one.get("power.draw", "") for one in clocks]
    if "time" in parts:
        (folder / "environment.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    del watch
    torch.cuda.empty_cache()
    if "count" in parts:
        log, file = Path(tempfile.mkdtemp()) / "operators.log", folder / "counters.csv"
        print("ncu:", profile("operators", 520, log, file), flush=True)
        write(file, [*counted(file), *summed(read_log(log))])
        print(f"counters after {time.monotonic() - began:.0f} s", flush=True)


def summed(kernels: Iterable[Mapping[str, str]]) -> Iterable[dict[str, Any]]:
    """Kernels of the same name within a point as one row, with how many they were."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for kernel in kernels:
        key = tuple(kernel[name] for name in ("name", "type", "size", "kernel"))
        head = dict(zip(("name", "type", "size", "kernel"), key, strict=True))
        row = rows.setdefault(key, {**head, "launches": 0})
        row["launches"] += 1
        for name, value in kernel.items():
            if name not in head:
                row[name] = row.get(name, 0) + round(float(value.replace(",", "") or 0))
    return rows.values()


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        record(folder, sys.argv[2:] or PARTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
