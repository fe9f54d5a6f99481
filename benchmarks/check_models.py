"""Models from anywhere, held to what onnxruntime observes: the shape of every value, at two sets of lengths.

    python benchmarks/check_models.py FOLDER... [--output reports/models]

A folder is searched for models; ``light`` is that of the graphs that come with onnx.  A model is run on
random input with all values of its graph as outputs; those of graphs inside of nodes are not seen.  A model
whose lengths are all fixed is run once: there is nothing else to try.  With ``--output`` the findings go to
a Markdown and a CSV file of that name.  Needs onnxruntime, which tolcost does not.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

import tolcost
from tolcost.algebra import evaluate, to_text
from tolcost.catalogue.specs import open_library
from tolcost.deep import with_deep_stack
from tolcost.diagnostics import Rejected
from tolcost.models.known import shape_of
from tolcost.models.study import ModelStudy, Wanted, study_file
from tolcost.models.walking import Session

LENGTHS = (512, 320, 64, 96, 128, 48, 160, 32, 24, 16, 8, 5, 4, 3, 2, 1)
BATCHES = (1, 2, 3)
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
NOTES = {
    "logreg_iris": "The file contradicts itself: 12 coefficients and 3 intercepts are for 4 features, "
    "its input has 2; with `--dim 'float_input[1]=4'` all but ZipMap, which computes nothing, is costed."
}
"""What has to be said of a model beyond what is found."""

Dims = dict[str, int]


@dataclass
class Seen:
    """How the shapes of all values compare at one set of lengths.

    ``by_data`` are values some of whose lengths only data decides, ``declared`` those where only the file
    says a length, behind an operator without a definition; all their other lengths agree.  ``unknown`` are
    those of which no shape is known, ``others`` sequences and maps, which have none.
    """

    dims: Dims
    agree: int = 0
    by_data: int = 0
    declared: int = 0
    unknown: int = 0
    others: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether every shape is known, and is what was observed."""
        return not (self.by_data or self.declared or self.unknown or self.wrong)

    def __str__(self) -> str:
        more = (
            (self.by_data, "up to lengths that data decides"),
            (self.declared, "up to lengths that only the file declares"),
            (self.unknown, "not known"),
            (self.others, "no tensor"),
            (len(self.wrong), "WRONG"),
        )
        return ", ".join([str(self.agree), *(f"{count} {what}" for count, what in more if count)])


@dataclass
class Outcome:
    """What became of a model."""

    name: str
    digest: str = ""
    opset: str = ""
    nodes: int = 0
    costed: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    seconds: float = 0.0
    uncosted: tuple[str, ...] = ()
    values: int = 0
    fixed: bool = False
    seen: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def analysed(self) -> bool:
        """Whether the model was not refused."""
        return self.nodes > 0

    @property
    def agrees(self) -> bool:
        """Whether every shape agrees, wherever there is to look."""
        return len(self.seen) == (1 if self.fixed else 2) and all(s.full for s in self.seen)


# ---- running -----------------------------------------------------------------------------


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


def open_lengths(study: ModelStudy) -> tuple[list[str], set[str]]:
    """The lengths of a model's inputs that are open, and which of them are those of first axes."""
    places = [
        (str(d or f"{given.name}[{n}]"), n)
        for given in study.model.graph.inputs
        for n, d in enumerate(given.shape or ())
        if not isinstance(d, int)
    ]
    return list(dict.fromkeys(name for name, _ in places)), {name for name, axis in places if axis == 0}


def candidates(study: ModelStudy) -> Iterator[Dims]:
    """Lengths to try: those of first axes are small, the others all alike; then everything alike."""
    names, first = open_lengths(study)
    equal = {n for n in names if study.cost.dimensions[n].free & study.cost.equal.keys()}
    others = set(names) - first - equal
    for length in LENGTHS if others else (1,):
        yield from (equalled(study, {n: length if n in others else b for n in names}) for b in BATCHES)
    yield from (dict.fromkeys(names, length) for length in reversed(LENGTHS))


def equalled(study: ModelStudy, dims: Dims) -> Dims:
    """Lengths that the model makes equal are equal."""
    symbols = {next(iter(study.cost.dimensions[name].free)): name for name in dims}
    given = {s: dims[name] for s, name in symbols.items() if s not in study.cost.equal}
    known = {s: p for s, p in study.cost.equal.items() if s in symbols and p.free <= given.keys()}
    return {**dims, **{symbols[s]: evaluate(p, given) for s, p in known.items()}}


def feeds(runtime: ort.InferenceSession, study: ModelStudy, dims: Dims) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    found: dict[str, np.ndarray] = {}
    for given in runtime.get_inputs():
        declared = next(g for g in study.model.graph.inputs if g.name == given.name)
        shape = [
            d if isinstance(d, int) else dims[d or f"{given.name}[{n}]"]
            for n, d in enumerate(declared.shape or ())
        ]
        kind = KINDS[given.type]
        floats = np.issubdtype(kind, np.floating)
        found[given.name] = (random.random(shape) if floats else random.integers(0, 2, shape)).astype(kind)
        if given.name == "sr":  # a sampling rate: only two values mean anything
            found[given.name] = np.full(shape, 16000, kind)
    return found


def runs(runtime: ort.InferenceSession, study: ModelStudy) -> Iterator[tuple[Dims, dict[str, object]]]:
    """Two sets of lengths at which the runtime takes the model, as different as may be, with all values."""
    names = [output.name for output in runtime.get_outputs()]
    first: Dims | None = None
    for dims in candidates(study):
        try:
            arrays = runtime.run(names, feeds(runtime, study, dims))
        except Exception:
            continue
        yield dims, dict(zip(names, arrays, strict=True))
        first = dims
        break
    others = [d for d in candidates(study) if first and d != first]
    for dims in sorted(others, key=lambda d: -sum(first[k] != v for k, v in d.items()) if first else 0):
        try:
            arrays = runtime.run(names, feeds(runtime, study, dims))
        except Exception:
            continue
        yield dims, dict(zip(names, arrays, strict=True))
        return


# ---- comparing ---------------------------------------------------------------------------


def compare(study: ModelStudy, arrays: Mapping[str, object], dims: Dims) -> Seen:
    seen = Seen(dims)
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            seen.others += 1
            continue
        shape = shape_of(study.cost.known(name))
        if shape is None:
            seen.unknown += 1
            continue
        open_ = [not d.free <= study.place.values.keys() for d in shape]
        ours = [None if o else evaluate(d, study.place.values) for d, o in zip(shape, open_, strict=True)]
        if len(ours) != array.ndim or any(a not in (None, b) for a, b in zip(ours, array.shape, strict=True)):
            shown = [to_text(d) if a is None else a for a, d in zip(ours, shape, strict=True)]
            seen.wrong.append(f"{name}: {shown}, observed {list(array.shape)}")
        elif any(s.kind == "data" for d, o in zip(shape, open_, strict=True) if o for s in d.free):
            seen.by_data += 1
        elif any(open_):
            seen.declared += 1
        else:
            seen.agree += 1
    return seen


def check(path: Path, session: Session) -> Outcome:
    outcome = Outcome(path.stem.replace("__", ": "), hashlib.sha256(path.read_bytes()).hexdigest())
    start = time.perf_counter()
    try:
        study = with_deep_stack(lambda: study_file(path, session))
        describe(outcome, study)
    except Rejected as rejected:
        outcome.notes.append(f"refused: {rejected}")
        return outcome
    outcome.seconds = time.perf_counter() - start
    outcome.notes += [f"{m.op} {m.name}: {m.why}" for m in study.coverage.missing[:1]]
    try:
        runtime = everything(path)
    except Exception as error:
        outcome.notes.append(f"onnxruntime: {str(error)[:120]}")
        return outcome
    outcome.values = len(runtime.get_outputs())
    outcome.fixed = not open_lengths(study)[0]
    for dims, arrays in runs(runtime, study):
        try:
            at = with_deep_stack(lambda d=dims: study_file(path, session, Wanted(d)))
        except Rejected as rejected:
            outcome.notes.append(f"refused at {shown(dims)}, where it runs: {rejected}")
            continue
        outcome.seen.append(compare(at, arrays, dims))
    return outcome


def describe(outcome: Outcome, study: ModelStudy) -> None:
    outcome.nodes, outcome.costed = study.coverage.nodes, study.coverage.costed
    opsets = study.model.opsets
    outcome.opset = str(opsets.get("", next(iter(opsets.values()), "")))
    outcome.eops, outcome.macs = to_text(study.total.eops), to_text(study.total.macs)
    outcome.params, outcome.status = to_text(study.holdings.parameters), study.total.status
    outcome.uncosted = tuple(study.coverage.operators)


# ---- telling -----------------------------------------------------------------------------


def shown(dims: Dims) -> str:
    return ", ".join(f"{name}={value}" for name, value in dims.items()) or "fixed"


def short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def cells(o: Outcome) -> dict[str, object]:
    status = o.status + (f" ({', '.join(o.uncosted)})" if o.uncosted else "")
    return {
        "model": o.name,
        "opset": o.opset,
        "nodes": o.nodes,
        "costed": o.costed,
        "EOPs": o.eops,
        "MACs": o.macs,
        "parameters": o.params,
        "status": status or "refused",
        "values": o.values,
        "shapes that agree": "; ".join(map(str, o.seen)) or "not run",
        "lengths": "; ".join(shown(s.dims) for s in o.seen),
        "notes": ". ".join([*o.notes, *(w for s in o.seen for w in s.wrong[:2]), *_said(o.name)]),
    }


def _said(name: str) -> list[str]:
    return [NOTES[name]] if name in NOTES else []


def summary(outcomes: list[Outcome]) -> list[str]:
    whole = sum(o.analysed and o.costed == o.nodes for o in outcomes)
    wrong = sum(any(s.wrong for s in o.seen) for o in outcomes)
    agree = Counter(o.fixed for o in outcomes if o.agrees)
    rest = [o.name for o in outcomes if not o.agrees]
    different = len({o.digest for o in outcomes})
    return [
        f"- {sum(o.analysed for o in outcomes)} of {len(outcomes)} models ({different} different files) are "
        f"analysed without failure; in {whole} of them every node is costed, the others say what is missing.",
        f"- {agree[False]} models with open lengths agree with onnxruntime in the shape of every value, at "
        f"two sets of lengths; {agree[True]} whose lengths are all fixed agree at the one there is.",
        f"- In {wrong} models a shape is wrong. Short of full agreement: {', '.join(rest) or 'none'}.",
    ]


def markdown(outcomes: list[Outcome], command: str) -> str:
    versions = f"tolcost {tolcost.__version__}, onnx {onnx.__version__}, onnxruntime {ort.__version__}"
    wide = [c for c in cells(outcomes[0]) if c not in ("MACs", "notes")]
    lines = [
        "# Models from packages and exporters",
        "",
        "Real models that packages carry (speech, OCR, detection, wake word and others), and BERT, GPT-2 and "
        "Llama as torch exports them (`benchmarks/export_torch.py`); each with what `tolcost model` says of "
        "it, and the shapes of its values held to those onnxruntime observes on random input. Values of "
        "graphs inside of nodes are not observed.",
        "",
        f"Made by `{command}` with {versions}, Python {platform.python_version()}. The models are not part "
        "of the repository.",
        "",
        *summary(outcomes),
        "",
        f"| {' | '.join(wide)} |",
        f"| {' | '.join('---' for _ in wide)} |",
    ]
    for o in outcomes:
        row = cells(o)
        row["EOPs"], row["parameters"] = f"`` {short(o.eops)} ``", f"`` {short(o.params)} ``"
        lines.append(f"| {' | '.join(str(row[c]).replace('|', '/') for c in wide)} |")
    noted = [o for o in outcomes if cells(o)["notes"]]
    if noted:
        lines += ["", "## Notes", "", *(f"- {o.name}: {cells(o)['notes']}" for o in noted)]
    return "\n".join(lines) + "\n"


def table(outcomes: list[Outcome]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(cells(outcomes[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, outcomes))
    return text.getvalue()


def models(folder: str) -> list[Path]:
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return sorted((light if folder == "light" else Path(folder)).rglob("*.onnx"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--output", type=Path)
    wanted = parser.parse_args()
    session = Session(open_library())
    outcomes: list[Outcome] = []
    for path in (path for folder in wanted.folder for path in models(folder)):
        outcome = check(path, session)
        outcomes.append(outcome)
        row = cells(outcome)
        told = (f"{outcome.costed}/{outcome.nodes}", f"{outcome.seconds:.2f} s", outcome.status)
        print(
            outcome.name, *told, row["shapes that agree"], row["lengths"], row["notes"], sep=" | ", flush=True
        )
    if not outcomes:
        print("no models there", file=sys.stderr)
        return 2
    print(*summary(outcomes), sep="\n")
    if wanted.output:
        folders = " ".join("light" if folder == "light" else "FOLDER" for folder in wanted.folder)
        command = f"python benchmarks/check_models.py {folders} --output reports/{wanted.output.name}"
        wanted.output.with_suffix(".md").write_text(markdown(outcomes, command), encoding="utf-8")
        wanted.output.with_suffix(".csv").write_text(table(outcomes), encoding="utf-8")
    return 1 if any(s.wrong for o in outcomes for s in o.seen) else 0


if __name__ == "__main__":
    raise SystemExit(main())
