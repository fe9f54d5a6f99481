"""How long it takes from a keystroke to the diagnostics, over the protocol, in the largest programs.

    python benchmarks/bench_editor.py [KEYSTROKES]

A server of its own gets a program letter by letter at random places; the clock runs from the change to the
diagnostics.  Ends with 1 if the median is above 100 ms in any program.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.editor.client import Editor, editor  # noqa: E402

TARGET = 0.1
PROGRAMS = (
    "onnx/Resize",  # the longest one
    "com.microsoft/DynamicQuantizeLSTM",
    "onnx/RoiAlign",  # the longest one that is analysed to its end
    "paper/section5/resnet_block.corrected",  # the slowest one
    "examples/matmul",
)


def measured(session: Editor, name: str, keystrokes: int) -> list[float]:
    text = (ROOT / "specs" / f"{name}.tol").read_text("utf-8")
    uri, draw = f"file:///texts/{name.replace('/', '-')}.tol", random.Random(1)
    session.open(uri, text)
    session.diagnostics(uri)
    found = []
    for _ in range(keystrokes):
        at = draw.randint(0, len(text))
        changed = text[:at] + draw.choice("ax1 (,") + text[at:]
        for version in (changed, text + " " * draw.randint(1, 99)):
            began = time.perf_counter()
            session.change(uri, version)
            session.diagnostics(uri)
            found.append(time.perf_counter() - began)
    return found


def main() -> int:
    keystrokes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    late = False
    with tempfile.TemporaryDirectory() as folder, editor(Path(folder)) as session:
        for name in PROGRAMS:
            times = measured(session, name, keystrokes)
            median, worst = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            late = late or median > TARGET
            print(f"{name}: median {1000 * median:.0f} ms, 95 % within {1000 * worst:.0f} ms (target 100 ms)")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
