"""How long models take from a cold start, as ratios in one run to what others do with the same file.

    python tools/benchmarks/bench_cold.py [RUNS] [MODEL.onnx ...]

Every figure is of a process of its own, in processor time; the processes take turns, and the fastest run of
each counts.  *Whole* is the process from its start, *work* what it does after its imports, *warm* the same
work done a second time in one process.  Beside tolcost stand ``onnx.load`` and, where the variable
``TOLCOST_PEERS_PYTHON`` names an interpreter that has them, onnx-tool and the symbolic shape inference of
onnxruntime (up to 20,000 nodes: more take them minutes).  Two of onnx's light graphs, an example of ours, the
models given, and graphs of very many nodes that all differ in their lengths are taken.  The table is written
to ``tools/benchmarks/cold.md``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from onnx import NodeProto, helper

HERE = Path(__file__).parent
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PEERS = os.environ.get("TOLCOST_PEERS_PYTHON")
MOST_FOR_PEERS, MANY = 20_000, 5_000
OTHERS = ("onnx.load", "onnx-tool", "onnxruntime")
WARM = ("tolcost", "onnx.load")

_TOLCOST = """
from pathlib import Path
from tolcost.catalogue.specs import open_library
from tolcost.platform import with_deep_stack
from tolcost.models.walking import Session
from tolcost.result.model import study_file
def work():
    study = study_file(Path(file), Session(open_library()))
    return study.measures(()), study.operators
def run():
    return with_deep_stack(work)
"""
_LOAD = """
import onnx
def run():
    return onnx.load(file, load_external_data=False)
"""
_ONNX_TOOL = """
import numpy, onnx_tool
def run():
    graph = onnx_tool.Model(file).graph
    graph.shape_infer({graph.input[0]: numpy.zeros((1, 3, 224, 224), numpy.float32)})
    graph.profile()
"""
_SYMBOLIC = """
import onnx
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
def run():
    return SymbolicShapeInference.infer_shapes(onnx.load(file), auto_merge=True)
"""
_TIMED = """
import json, sys, time
file = sys.argv[1]
{setup}
for _ in sys.argv[2:]:
    run()
start = time.process_time()
run()
work = time.process_time() - start
with open("/proc/self/status") as status:
    most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([work, most / 1024]))
"""


def node_of(n: int) -> tuple[str, list[tuple[int, ...]], dict[str, object]]:
    """An operator, the shapes of its inputs, and its attributes: for no two numbers the same."""
    a, b, c = 2 + n % 97, 3 + n // 97, 5 + n % 13
    image = (1, a, b + 5, c + 5)
    kinds: tuple[tuple[str, list[tuple[int, ...]], dict[str, object]], ...] = (
        ("Relu", [(a, b, c)], {}),
        ("Add", [(a, b, c), (c,)], {}),
        ("MatMul", [(a, b), (b, c)], {}),
        ("Softmax", [(a, b, c)], {"axis": -1}),
        ("Conv", [image, (c, a, 3, 3)], {"pads": [1, 1, 1, 1]}),
        ("Transpose", [(a, b, c)], {"perm": [0, 2, 1]}),
        ("MaxPool", [image], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("LayerNormalization", [(a, b, c), (c,), (c,)], {"axis": -1}),
    )
    return kinds[n % len(kinds)]


def different(path: Path, count: int) -> None:
    """Write a graph of so many nodes of which no two have the same lengths."""
    inputs: list[object] = []
    nodes: list[NodeProto] = []
    for n in range(count):
        op, shapes, attributes = node_of(n)
        names = [f"x{n}.{k}" for k in range(len(shapes))]
        typed = zip(names, shapes, strict=True)
        inputs += [helper.make_tensor_value_info(name, 1, shape) for name, shape in typed]
        nodes.append(helper.make_node(op, names, [f"y{n}"], **attributes))
    outputs = [helper.make_tensor_value_info(f"y{n}", 1, None) for n in range(count)]
    graph = helper.make_graph(nodes, "different", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def once(python: str, setup: str, file: Path, *before: str) -> tuple[float, float, float] | None:
    """Whole time, time of the work and peak megabytes of one process; None where it fails.

    The work is done once before for everything that is said beyond the file.
    """
    earlier = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [python, "-c", _TIMED.format(setup=setup), str(file), *before],
        capture_output=True, text=True, cwd=HERE.parents[1], env=environment,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    work, memory = json.loads(done.stdout.splitlines()[-1])
    return after.ru_utime + after.ru_stime - earlier.ru_utime - earlier.ru_stime, work, memory


def measured(file: Path, runs: int, nodes: int) -> dict[str, list[float]]:
    """The best figures of each tool on one model, in turns."""
    tools = {"tolcost": (sys.executable, _TOLCOST), "onnx.load": (sys.executable, _LOAD)}
    if PEERS and nodes <= MOST_FOR_PEERS:
        tools |= {"onnx-tool": (PEERS, _ONNX_TOOL), "onnxruntime": (PEERS, _SYMBOLIC)}
    best: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, (python, setup) in tools.items():
            found = once(python, setup, file)
            if found is not None:
                again = once(python, setup, file, "again") if name in WARM else None
                found = (*found, found[1] if again is None else again[1])
                best[name] = [min(pair) for pair in zip(best.get(name, found), found, strict=True)]
    return best


def row(title: str, nodes: int, best: dict[str, list[float]]) -> str:
    whole, work, memory, warm = best["tolcost"]
    each = work * 1000 / nodes
    cells = [title, f"{nodes:,}", f"{whole:.2f} s", f"{work:.2f} s", f"{each:.2f} ms", f"{memory:.0f} MB"]
    cells.append(f"{warm / best['onnx.load'][3]:.1f}")
    for name in OTHERS:
        known = best.get(name)
        cells += ["", ""] if known is None else [f"{whole / known[0]:.1f}", f"{work / known[1]:.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with TemporaryDirectory() as folder:
        files = [LIGHT / "light_resnet50.onnx", LIGHT / "light_densenet121.onnx"]
        files += [HERE.parents[1] / "examples" / "bert.onnx", *map(Path, sys.argv[2:])]
        for count in (1_000, 10_000, 100_000):
            files.append(Path(folder) / f"different_{count}.onnx")
            different(files[-1], count)
        others = [f"{what} / {name}" for name in OTHERS for what in ("whole", "work")]
        head = ["model", "nodes", "whole", "work", "work per node", "memory", "warm / onnx.load", *others]
        lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for file in files:
            nodes = len(onnx.load(file, load_external_data=False).graph.node)
            best = measured(file, runs if nodes < MANY else 2, nodes)
            lines.append(row(file.stem, nodes, best))
            print(lines[-1], flush=True)
    (HERE / "cold.md").write_text("\n".join(["# From a cold start", "", *lines, ""]), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
