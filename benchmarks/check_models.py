"""Models from anywhere, held to what onnxruntime observes: the shape of every value, at two sets of lengths.

    python benchmarks/check_models.py FOLDER [--output REPORT.md]

Models are run on random input with all their values as outputs.  The report has a line for each model:
coverage, closed forms, and how many shapes agree.  Needs onnxruntime, which tolcost does not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from tolcost.algebra import evaluate
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.known import shape_of
from tolcost.models.study import ModelStudy, Wanted, study_file
from tolcost.models.walking import Session
from tolcost.pipeline import with_deep_stack

LENGTHS = (512, 320, 64, 96, 128, 48, 160, 32, 24, 16, 8, 5, 4, 3, 2, 1)
KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
}


@dataclass
class Outcome:
    """What became of a model."""

    name: str
    nodes: int = 0
    costed: int = 0
    opset: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    seconds: float = 0.0
    uncosted: tuple[str, ...] = ()
    agreed: list[int] = field(default_factory=list)
    lengths: list[dict[str, int]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    problem: str = ""


def everything(path: Path) -> ort.InferenceSession:
    """The model with all its values as outputs."""
    proto = onnx.load(path)
    names = {o.name for o in proto.graph.output}
    more = [name for node in proto.graph.node for name in node.output if name and name not in names]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in more)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def candidates(study: ModelStudy) -> Iterator[dict[str, int]]:
    """Lengths to try: that of the first axis is small, the others are all alike."""
    first = {str(g.shape[0] or f"{g.name}[0]") for g in study.model.graph.inputs if g.shape}
    names = [name for name, form in study.cost.dimensions.items() if form.constant is None]
    lengths = LENGTHS if any(name not in first for name in names) else (1,)
    for length in lengths:
        yield from ({name: batch if name in first else length for name in names} for batch in (1, 2))
    yield from (dict.fromkeys(names, length) for length in reversed(LENGTHS))


def feeds(runtime: ort.InferenceSession, study: ModelStudy, dims: Mapping[str, int]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    found: dict[str, np.ndarray] = {}
    for given in runtime.get_inputs():
        declared = next(g for g in study.model.graph.inputs if g.name == given.name)
        shape = [_length(given.name, n, d, dims) for n, d in enumerate(declared.shape or ())]
        kind = KINDS[given.type]
        floats = np.issubdtype(kind, np.floating)
        found[given.name] = (random.random(shape) if floats else random.integers(0, 2, shape)).astype(kind)
        if given.name == "sr":  # a sampling rate: only two values mean anything
            found[given.name] = np.full(shape, 16000, kind)
    return found


def _length(name: str, axis: int, declared: int | str | None, dims: Mapping[str, int]) -> int:
    return declared if isinstance(declared, int) else dims[declared or f"{name}[{axis}]"]


def compare(study: ModelStudy, arrays: Mapping[str, object], outcome: Outcome) -> None:
    agreed = 0
    for name, array in arrays.items():
        shape = shape_of(study.cost.known(name))
        if shape is None or not isinstance(array, np.ndarray):
            continue
        if any(not d.free <= study.place.values.keys() for d in shape):
            agreed += len(shape) == array.ndim  # a length that only data decides
            continue
        ours = tuple(evaluate(d, study.place.values) for d in shape)
        if ours == array.shape:
            agreed += 1
        else:
            outcome.wrong.append(f"{name}: {list(ours)}, observed {list(array.shape)}")
    outcome.agreed.append(agreed)


def check(path: Path, session: Session) -> Outcome:
    outcome = Outcome(f"{path.parent.name}/{path.name}")
    start = time.perf_counter()
    try:
        study = with_deep_stack(lambda: study_file(path, session))
        total = study.total
    except Rejected as rejected:
        outcome.problem = str(rejected)
        return outcome
    outcome.seconds = time.perf_counter() - start
    describe(outcome, study)
    outcome.eops, outcome.macs = str(total.eops), str(total.macs)
    try:
        runtime = everything(path)
    except Exception as error:
        outcome.problem = f"onnxruntime: {str(error)[:120]}"
        return outcome
    names = [o.name for o in runtime.get_outputs()]
    for dims in candidates(study):
        if len(outcome.lengths) == 2:
            break
        try:
            at = with_deep_stack(lambda d=dims: study_file(path, session, Wanted(d)))
            arrays = dict(zip(names, runtime.run(names, feeds(runtime, at, dims)), strict=True))
        except Exception:
            continue
        if len(at.coverage.missing) < len(study.coverage.missing):
            describe(outcome, at)
        outcome.lengths.append(dims)
        compare(at, arrays, outcome)
    return outcome


def describe(outcome: Outcome, study: ModelStudy) -> None:
    outcome.nodes, outcome.costed = study.coverage.nodes, study.coverage.costed
    outcome.opset = study.model.opsets.get("", 0)
    outcome.params, outcome.status = str(study.holdings.parameters), study.total.status
    outcome.uncosted = tuple(study.coverage.operators)


def short(text: str) -> str:
    return text if len(text) <= 70 else f"{text[:69]}…"


def report(outcomes: list[Outcome]) -> str:
    rows = [
        "| model | opset | nodes | costed | EOPs | parameters | status | shapes that agree | lengths |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for o in outcomes:
        agreed = ", ".join(map(str, o.agreed)) + (f", {len(o.wrong)} WRONG" if o.wrong else "")
        dims = "; ".join(", ".join(f"{k}={v}" for k, v in d.items()) or "fixed" for d in o.lengths)
        status = o.problem or (o.status + (f" ({', '.join(o.uncosted)})" if o.uncosted else ""))
        cells = (
            o.name,
            o.opset,
            o.nodes,
            o.costed,
            f"`{short(o.eops)}`",
            f"`{short(o.params)}`",
            status,
            agreed,
            dims,
        )
        rows.append(f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    session = Session(open_library())
    outcomes: list[Outcome] = []
    for path in sorted(Path(sys.argv[1]).rglob("*.onnx")):
        outcome = check(path, session)
        outcomes.append(outcome)
        print(
            outcome.name,
            f"{outcome.costed}/{outcome.nodes}",
            outcome.agreed,
            outcome.wrong[:3],
            outcome.problem,
            flush=True,
        )
    text = report(outcomes)
    if "--output" in sys.argv:
        Path(sys.argv[sys.argv.index("--output") + 1]).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 1 if any(o.wrong for o in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
