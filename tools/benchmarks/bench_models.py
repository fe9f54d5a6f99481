"""How long whole models take, warm, as ratios to reading the same file with onnx.

    python tools/benchmarks/bench_models.py [RUNS]

Warm means that operators of the same shapes were met before in the process.  Both sides are measured in
turns and in processor time, so that whatever else the machine does falls on both or on neither, and the
fastest run of each counts.  onnx-tool is measured where it is installed (``pip install tolcost[peers]``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tolcost.result.model import study_file

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
HIDDEN, INNER, HEADS, LAYERS = 768, 3072, 12, 12


def encoder(path: Path) -> int:
    """Write a 12-layer encoder with symbolic batch and seq; weights are beside it, and not there."""
    initial: dict[str, TensorProto] = {}
    nodes: list[NodeProto] = []

    def weight(*shape: int) -> str:
        name = f"w{len(initial)}"
        initial[name] = TensorProto(name=name, data_type=1, dims=shape, data_location=TensorProto.EXTERNAL)
        initial[name].external_data.add(key="location", value="weights.bin")
        return name

    def held(name: str, value: np.ndarray) -> str:
        initial.setdefault(name, numpy_helper.from_array(value, name))
        return name

    def node(op: str, *inputs: str, **attributes: object) -> str:
        out = f"/{op}_{len(nodes)}_output_0"
        nodes.append(helper.make_node(op, list(inputs), [out], name=f"/{op}_{len(nodes)}", **attributes))
        return out

    def heads(x: str, perm: list[int]) -> str:
        split = node("Reshape", x, held("heads", np.array([0, 0, HEADS, HIDDEN // HEADS])))
        return node("Transpose", split, perm=perm)

    def linear(x: str, n: int, m: int) -> str:
        return node("Add", node("MatMul", x, weight(n, m)), weight(m))

    def norm(x: str) -> str:
        return node("LayerNormalization", x, weight(HIDDEN), weight(HIDDEN), axis=-1)

    x = "x"
    for _ in range(LAYERS):
        q = heads(linear(x, HIDDEN, HIDDEN), [0, 2, 1, 3])
        k = heads(linear(x, HIDDEN, HIDDEN), [0, 2, 3, 1])
        v = heads(linear(x, HIDDEN, HIDDEN), [0, 2, 1, 3])
        scores = node("Div", node("MatMul", q, k), held("scale", np.array(8, np.float32)))
        mixed = node("MatMul", node("Softmax", scores, axis=-1), v)
        back = node(
            "Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), held("back", np.array([0, 0, HIDDEN]))
        )
        x = norm(node("Add", linear(back, HIDDEN, HIDDEN), x))
        up = linear(x, HIDDEN, INNER)
        x = norm(node("Add", linear(node("Relu", up), INNER, HIDDEN), x))
    graph = helper.make_graph(
        nodes, "encoder",
        [helper.make_tensor_value_info("x", 1, ["batch", "seq", HIDDEN])],
        [helper.make_tensor_value_info(x, 1, ["batch", "seq", HIDDEN])],
        list(initial.values()),
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return len(nodes)


def chain(path: Path, count: int) -> None:
    """Write a long chain of small nodes."""
    nodes, last = [], "x"
    for n in range(count):
        out = f"/layer.{n // 10}/value_{n}"
        op, more, attributes = (("Relu", [], {}), ("Add", ["x"], {}), ("Softmax", [], {"axis": -1}))[n % 3]
        name = f"/layer.{n // 10}/{op}_{n}"
        nodes.append(helper.make_node(op, [last, *more], [out], name=name, **attributes))
        last = out
    shape = ["batch", "seq"]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info(last, 1, shape)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def best(runs: int, *works: Callable[[], object]) -> list[float]:
    """The fastest run of each piece of work, done in turns."""
    found = [float("inf")] * len(works)
    for _ in range(runs + 1):
        for n, work in enumerate(works):
            start = time.process_time()
            work()
            found[n] = min(found[n], time.process_time() - start)
    return found


def load_and_walk(path: Path) -> int:
    total = 0
    for node in onnx.load(path, load_external_data=False).graph.node:
        total += len(node.op_type) + len(list(node.input)) + len(list(node.output)) + len(node.attribute)
    return total


def analysed(path: Path, session: Session) -> object:
    return study_file(path, session).total.eops


def tell(what: str, ours: float, theirs: float, name: str, most: float) -> bool:
    ratio = f"{ours / theirs:6.2f} x {name} ({theirs * 1e3:.1f} ms)"
    print(f"{what:<36} {ours * 1e3:9.1f} ms  {ratio}, at most {most}")
    return ours <= most * theirs


def peers(session: Session, runs: int) -> bool:
    try:
        import onnx_tool
    except ImportError:
        print("onnx-tool is not installed: not compared")
        return True
    fine = True
    for name, shape in (("resnet50", (1, 3, 224, 224)), ("densenet121", (1, 3, 224, 224))):
        path = LIGHT / f"light_{name}.onnx"

        def theirs(path: Path = path, shape: tuple[int, ...] = shape) -> None:
            graph = onnx_tool.Model(str(path)).graph
            graph.shape_infer({graph.input[0]: np.zeros(shape, np.float32)})
            graph.profile()

        def ours(path: Path = path) -> None:
            analysed(path, session)

        fine &= tell(name, *best(runs, ours, theirs), "onnx-tool", 1.0)
    return fine


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    session = Session(open_library())
    fine = True
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.onnx"
        count = encoder(path)
        times = best(runs, lambda: analysed(path, session), lambda: load_and_walk(path))
        fine &= tell(f"encoder of {count} nodes, symbolic", *times, "onnx.load and a walk", 8.0)
        for size in (1_000, 10_000, 100_000):
            longer = Path(folder) / f"chain{size}.onnx"
            chain(longer, size)
            few = max(3, runs // (size // 1_000))
            times = best(few, lambda p=longer: analysed(p, session), lambda p=longer: onnx.load(p))
            fine &= tell(f"chain of {size:,} nodes", *times, "onnx.load", 5.0)
    fine &= peers(session, runs)
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
