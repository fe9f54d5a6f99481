"""A fleet run straight; with a worker killed, killed itself and begun again; by dask with a worker killed.

    python -m tools.fleet.campaign COUNT [--seconds LIMIT]

All tables have to be the same, byte for byte.  Prints how many models and nodes were done per second, by one
process and by two.  ``make fleet``.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pyarrow.parquet import read_table

from tools.fleet.models import exported, poison, variants, write_fleet
from tools.models.rewritings import node_tests

MEMORY = "500M"
Process = subprocess.Popen[str]


def command(folder: Path, output: Path, seconds: float, *options: str) -> Process:
    """The command as a user types it, with its messages in a pipe."""
    limits = [
        "--timeout",
        str(seconds),
        "--max-memory",
        MEMORY,
        "--format",
        "parquet",
        "--output",
        str(output),
    ]
    arguments = [sys.executable, "-m", "tolcost", "model", str(folder), *limits, *options]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def finished(process: Process) -> str:
    """What a fleet said at its end."""
    _, said = process.communicate()
    if process.returncode != 2:  # there is poison in it
        raise SystemExit(f"exit code {process.returncode}: {said}")
    return said.strip().splitlines()[-1]


def rows(output: Path) -> int:
    """How many rows a journal has."""
    with suppress(FileNotFoundError):
        return max(0, Path(f"{output}.journal").read_bytes().count(b"\n") - 1)
    return 0


def wait_for(number: int, output: Path, process: Process) -> None:
    """Wait until a journal has so many rows."""
    while rows(output) < number:
        if process.poll() is not None:
            raise SystemExit(f"it ended before it had {number} rows")
        time.sleep(0.02)


def children(process: int) -> list[int]:
    """The processes that a process started."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text(encoding="ascii").split()]


def disturbed(folder: Path, output: Path, seconds: float, number: int) -> str:
    """A worker is killed after a quarter, the command after a half; then it is typed again."""
    process = command(folder, output, seconds, "--jobs", "2")
    wait_for(number // 4, output, process)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    wait_for(number // 2, output, process)
    process.kill()
    process.communicate()
    kept = rows(output)
    said = finished(command(folder, output, seconds, "--jobs", "2"))
    return f"{kept} rows were kept; {said}"


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[Process]]]:
    """A scheduler and two workers, each a process of its own; its address, and the workers."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = "import sys; from distributed.cli.dask_%s import main; sys.argv[0] = 'dask'; main()"
    dask = [sys.executable, "-c", start % "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    worker = [sys.executable, "-c", start % "worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    common = ["--scheduler-file", str(file)]
    started = [subprocess.Popen([*dask, *common], **quiet)]
    while not file.exists():
        time.sleep(0.05)
    started += [subprocess.Popen([*worker, *common], **quiet, cwd=folder) for _ in range(2)]
    address = re.search(r'"address": "([^"]+)"', file.read_text(encoding="utf-8"))
    assert address is not None
    try:
        yield address[1], started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def on_dask(folder: Path, output: Path, seconds: float, number: int) -> str:
    """A fleet on workers of dask, of which one is killed after a third."""
    with TemporaryDirectory() as place, cluster(Path(place)) as (address, workers):
        process = command(folder, output, seconds, "--engine", "dask", "--scheduler", address)
        wait_for(number // 3, output, process)
        workers[0].kill()
        return finished(process)


def campaign(number: int, seconds: float) -> Iterator[tuple[str, str]]:
    """What was done, and what it said."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "fleet"
        models = [*exported(), *node_tests()]
        write_fleet(folder, variants(models), number - 3)
        poison(folder)
        straight, other = Path(place) / "straight.parquet", Path(place) / "other.parquet"
        yield "one process", finished(command(folder, straight, seconds, "--jobs", "1"))
        yield "two processes", finished(command(folder, other, seconds, "--jobs", "2"))
        same(straight, other)
        for name, run in (("killed and begun again", disturbed), ("dask, a worker killed", on_dask)):
            other.unlink()
            yield name, run(folder, other, seconds, number)
            same(straight, other)


def same(one: Path, other: Path) -> None:
    """Refuse tables that differ in a byte."""
    if one.read_bytes() != other.read_bytes():
        pairs = zip(read_table(one).to_pylist(), read_table(other).to_pylist(), strict=False)
        raise SystemExit(f"{other} is not {one}: {[pair for pair in pairs if pair[0] != pair[1]][:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long a model may take")
    given = parser.parse_args()
    for name, said in campaign(given.count, given.seconds):
        print(f"{name}: {said}", flush=True)
    print("all tables are the same bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
