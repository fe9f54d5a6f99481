"""How long it takes from a keystroke to the diagnostics, over the protocol, in the largest programs.

    python tools/benchmarks/bench_editor.py [KEYSTROKES]

A server of its own gets a program with a letter at a random place, and without it again; the clock runs
from the change to the diagnostics.  Beside it is the processor time that the server took, which other work
on the machine does not change: ends with 1 if that is above 100 ms in any program.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.editor.client import Editor, editor  # noqa: E402

TARGET = 0.1
PROGRAMS = (
    "onnx/Resize",  # the longest one
    "com.microsoft/DynamicQuantizeLSTM",
    "onnx/RoiAlign",  # the longest one that is analysed to its end
    "paper/section5/resnet_block.corrected",  # the slowest one
    "examples/matmul",
)


def used(session: Editor) -> float:
    """The seconds of processor time that a server has taken so far."""
    words = Path(f"/proc/{session.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measured(session: Editor, name: str, keystrokes: int) -> tuple[list[float], float]:
    """The times of all changes, and the processor time of one of them."""
    text = (ROOT / "specs" / f"{name}.tol").read_text("utf-8")
    uri, draw = f"file:///texts/{name.replace('/', '-')}.tol", random.Random(1)
    session.open(uri, text)
    session.diagnostics(uri)
    found, began_at = [], used(session)
    for _ in range(keystrokes):
        at = draw.randint(0, len(text))
        changed = text[:at] + draw.choice("ax1 (,") + text[at:]
        for version in (changed, text + " " * draw.randint(1, 99)):
            began = time.perf_counter()
            session.change(uri, version)
            session.diagnostics(uri)
            found.append(time.perf_counter() - began)
    return found, (used(session) - began_at) / len(found)


def main() -> int:
    keystrokes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    late = False
    with tempfile.TemporaryDirectory() as folder, editor(Path(folder)) as session:
        for name in PROGRAMS:
            times, work = measured(session, name, keystrokes)
            median, worst = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            late = late or median > TARGET
            shown = (1000 * work, 1000 * median, 1000 * worst)
            print("{}: {:.0f} ms of work; median {:.0f} ms, 95 % within {:.0f} ms".format(name, *shown))
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
