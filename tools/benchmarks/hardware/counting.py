"""Counters of the GPU, by Nsight Compute: the program that it follows, and the reading of what it wrote.

    ncu ... python3 -m hardware.counting operators|models SECONDS FILE

What FILE has already is not counted again, so that a recording in several pieces is one.  Every call is made
once before, so that libraries are loaded and algorithms chosen, and once more in an NVTX range that names it.
After SECONDS no further call begins: what was counted is then written in good order.
"""

from __future__ import annotations

import csv
import gc
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

METRICS = {
    "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "fp32": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "fp16": "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    "integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "conversion": "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
    "special": "smsp__thread_inst_executed_pipe_xu_pred_on.sum",
    "tensor_ops": "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    "tensor_ops_tf32": "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "gmma": "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "hmma": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_written": "dram__bytes_write.sum",
    "l2": "lts__t_bytes.sum",
    "time_ns": "gpu__time_duration.sum",
    "sm_cycles": "sm__cycles_elapsed.max",
}
SEPARATOR = "|"


def profile(what: str, seconds: int, log: Path, file: Path) -> int:
    """Run this program under Nsight Compute; clocks are left as they are."""
    command = [
        "ncu", "--metrics", ",".join(METRICS.values()), "--clock-control", "none", "--cache-control", "all",
        "--profile-from-start", "off", "--nvtx", "--csv", "--page", "raw", "--print-units", "base",
        "--log-file", str(log), "--target-processes", "application-only",
        sys.executable, "-m", "hardware.counting", what, str(seconds), str(file),
    ]  # fmt: skip
    return subprocess.run(command).returncode


def counted(file: Path) -> list[dict[str, str]]:
    """The rows that a file has, if there is one."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def follow(what: str, seconds: int, file: Path) -> None:
    """Make the calls that are counted."""
    import torch

    from .points import model_points, operator_points
    from .pytorch import plain_float32

    plain_float32()
    end = time.monotonic() + seconds
    known = {(row["name"], row["type"], row["size"]) for row in counted(file)}
    points = operator_points() if what == "operators" else model_points(slice(1, 2))
    left = [p for p in points if p.counters and (p.name, p.type, p.size) not in known]
    with torch.no_grad():
        for done, point in enumerate(left):
            if time.monotonic() > end:
                print(f"out of time after {done} of {len(left)}", flush=True)
                return
            try:
                call = point.build()
                call()
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_push(SEPARATOR.join((point.name, point.type, point.size)))
                torch.cuda.profiler.start()
                call()
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
                torch.cuda.nvtx.range_pop()
            except RuntimeError as problem:
                print(f"{point.name} {point.type} {point.size}: {problem}", flush=True)
            call = None
            gc.collect()
    print(f"counted {len(left)}", flush=True)


def read_log(log: Path) -> Iterator[dict[str, str]]:
    """One row per kernel: the point it belongs to, its name, and the counters."""
    with log.open(encoding="utf-8", newline="") as lines:
        table = csv.reader(line for line in lines if line.startswith('"'))
        header = next(table)
        next(table)  # units
        ranges = [i for i, name in enumerate(header) if "Push/Pop_Range" in name]
        kernel = header.index("Kernel Name")
        places = {short: header.index(long) for short, long in METRICS.items() if long in header}
        for row in table:
            name, type_, size = _point(row, ranges)
            counters = {short: row[place] for short, place in places.items()}
            yield {"name": name, "type": type_, "size": size, "kernel": row[kernel][:100], **counters}


def _point(row: Sequence[str], ranges: Sequence[int]) -> tuple[str, str, str]:
    for place in ranges:
        for part in row[place].split('"'):
            for piece in part.split(":"):
                if piece.count(SEPARATOR) == 2:
                    name, type_, size = piece.split(SEPARATOR)
                    return name, type_, size
    return "?", "?", "?"


if __name__ == "__main__":
    follow(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
