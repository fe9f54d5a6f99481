"""How long the nodes of real models take: milliseconds of processor time for each, by model.

    python tools/benchmarks/bench_nodes.py [FOLDER] [ROUNDS]

Every .onnx below the folder (``make models`` fetches some hundred) is costed in a process of its own, which
has imported what there is and knows nothing yet; the quicker of the rounds counts.  Nodes of graphs inside of
nodes and of a model's functions are counted with the others, each once.  The slowest are written to
``tools/benchmarks/nodes.md``.  The target is at most 2 ms for each node.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import tolcost.models.lowering  # noqa: F401  # so that loading it is not measured
from tolcost.catalogue.graph import GraphNode, Model
from tolcost.catalogue.specs import new_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import study_file

MOST, SHOWN, PATIENCE = 2.0, 20, 120.0
FETCHED = Path(__file__).parents[2] / "build" / "models" / "packages"


def work(path: Path, told: Connection) -> None:
    """Cost a model; tell how many nodes it has, and processor seconds."""

    def run() -> tuple[int, float]:
        start = time.process_time()
        try:
            study = study_file(path, Session(new_library(())))
        except Rejected:
            return 0, 0.0
        study.measures(())
        seconds = time.process_time() - start
        return many_nodes(study.model), seconds

    told.send(with_deep_stack(run))


def many_nodes(model: Model) -> int:
    """The nodes of a model: of its graph, of graphs inside of nodes, and of its functions."""
    functions = (node for function in model.functions.values() for node in function.nodes)
    return sum(map(_with_inner, (*model.graph.nodes, *functions)))


def _with_inner(node: GraphNode) -> int:
    return 1 + sum(_with_inner(inner) for graph in node.graphs.values() for inner in graph.nodes)


def once(path: Path) -> tuple[int, float]:
    """Nodes and seconds of one model, in a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(path, theirs))
    process.start()
    found = ours.recv() if ours.poll(PATIENCE) else (0, 0.0)
    process.kill()
    process.join()
    return found


def main() -> int:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    rows: list[tuple[float, str, int]] = []
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FETCHED
    for path in sorted(folder.rglob("*.onnx")):
        found = [once(path) for _ in range(rounds)]
        nodes = max(n for n, _ in found)
        if nodes:
            rows.append((min(s for n, s in found if n) * 1000 / nodes, path.stem, nodes))
            print(f"{rows[-1][0]:8.2f} ms  {nodes:6,} nodes  {path.stem}", flush=True)
    if not rows:
        print(f"no models in {folder}: `make models` fetches some hundred")
        return 1
    rows.sort(reverse=True)
    slow, middle = sum(each > MOST for each, _, _ in rows), median(each for each, _, _ in rows)
    lines = [
        "# Milliseconds for each node",
        "",
        f"{len(rows)} models; {middle:.2f} ms at the median, {slow} above {MOST:g} ms.",
        "Nodes inside of others, and of functions, are counted with the rest, each once.",
        "",
        "| model | nodes | ms for each |",
        "|---|---|---|",
        *(f"| {name} | {nodes:,} | {each:.2f} |" for each, name, nodes in rows[:SHOWN]),
    ]
    (Path(__file__).parent / "nodes.md").write_text("\n".join([*lines, ""]), "utf-8")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
