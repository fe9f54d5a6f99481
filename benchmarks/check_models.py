"""Models from anywhere, held to what onnxruntime observes: the shape of every value, at two sets of lengths.

    python benchmarks/check_models.py FOLDER... [--output reports/models]

A folder is searched for models; ``light`` is that of the graphs that come with onnx.  A model is run on
random input with all values of its graph as outputs, and again with its branches as part of the graph, both
sides of those that data decides, and a turn of its loops.  A model whose lengths are all fixed is run once:
there is nothing else to try.  With ``--output`` the findings go to a Markdown and a CSV file of that name.
Needs onnxruntime, which tolcost does not.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
from model_branches import Observed, Place
from model_outcomes import Outcome, Seen, Tally, cells, markdown, shown, summary, table
from model_runs import CORRECTIONS, Model, Run, corrected, open_lengths

from tolcost.algebra import Poly, evaluate, to_text
from tolcost.catalogue.specs import open_library
from tolcost.deep import with_deep_stack
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.model import ModelStudy, Wanted, file_cost, of_model, study_file

MOST_RUNS = 24
"""Lengths to try until each side of each branch was seen at two of them."""

Shape = tuple[Poly, ...]


# ---- comparing ---------------------------------------------------------------------------


def compare(cost: Cost, run: Run) -> Tally:
    """Hold the values of the graph to what is known of them."""
    tally = Tally()
    for name, value in run.values.items():
        count(tally, cost, name, shape_of(of_model(cost).cost.known(name)), value)
    return tally


def compare_inner(cost: Cost, inside: Mapping[Place, Shape], observed: Observed) -> Tally:
    """Hold the values inside of branches and loops to what is known of them."""
    tally = Tally(unseen=len(inside.keys() - observed.values.keys()))
    for place, value in observed.values.items():
        count(tally, cost, " / ".join(place), inside.get(place), value)
    tally.agree, tally.single = tally.agree - len(observed.single), len(observed.single)
    tally.wrong += [f"{' / '.join(place)}: not the same at each turn" for place in sorted(observed.changing)]
    return tally


def count(tally: Tally, cost: Cost, name: str, shape: Shape | None, value: object) -> None:
    if not isinstance(value, np.ndarray):
        tally.others += 1
        return
    if shape is None:
        tally.unknown += 1
        return
    known = cost.point.values
    ours = [evaluate(d, known) if d.free <= known.keys() else None for d in shape]
    open_ = [d for a, d in zip(ours, shape, strict=True) if a is None]
    if len(ours) != value.ndim or any(a not in (None, b) for a, b in zip(ours, value.shape, strict=True)):
        told = [to_text(d) if a is None else a for a, d in zip(ours, shape, strict=True)]
        tally.wrong.append(f"{name}: {told}, observed {list(value.shape)}")
    elif any(symbol.kind == "data" for d in open_ for symbol in d.free):
        tally.by_data += 1
    elif open_:
        tally.declared += 1
    else:
        tally.agree += 1


def check(path: Path, session: Session, folder: Path) -> Outcome:
    outcome = Outcome(path.stem.replace("__", ": "), hashlib.sha256(path.read_bytes()).hexdigest())
    if path.stem in CORRECTIONS:
        outcome.notes.append(str(CORRECTIONS[path.stem]))
    path = corrected(path, folder)
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
        model = Model(path, study)
    except Exception as error:
        outcome.notes.append(f"onnxruntime: {str(error)[:120]}")
        return outcome
    outcome.values = len(model.names)
    outcome.fixed = not open_lengths(study)[0]
    for run in islice(model.runs(), MOST_RUNS):
        look(outcome, model, run, path, session)
        if len(outcome.seen) >= outcome.wanted and outcome.twice:
            break
    return outcome


def look(outcome: Outcome, model: Model, run: Run, path: Path, session: Session) -> None:
    """Compare a run with what is said at its lengths; a run after the first two only if it shows more."""
    try:
        cost = with_deep_stack(lambda: file_cost(path, session, Wanted(run.dims)))
    except Rejected as rejected:
        outcome.notes.append(f"refused at {shown(run.dims)}, where it runs: {rejected}")
        return
    inside = of_model(cost).cost.inside()
    observed = model.inside(run, {place[:-1] for place in inside})
    failed = frozenset(observed.failed)
    if len(outcome.seen) >= outcome.wanted and failed >= outcome.seen[0].failed | outcome.seen[1].failed:
        return
    inner = compare_inner(cost, inside, observed)
    outcome.seen.append(Seen(run.dims, compare(cost, run), inner, frozenset(observed.sides), failed))


def describe(outcome: Outcome, study: ModelStudy) -> None:
    outcome.nodes, outcome.costed = study.coverage.nodes, study.coverage.costed
    opsets = study.model.opsets
    outcome.opset = str(opsets.get("", next(iter(opsets.values()), "")))
    outcome.eops, outcome.macs = to_text(study.total.eops), to_text(study.total.macs)
    outcome.params, outcome.status = to_text(study.holdings.parameters), study.total.status
    outcome.uncosted = tuple(study.coverage.operators)


# ---- all of them -------------------------------------------------------------------------


def models(folder: str) -> list[Path]:
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return sorted((light if folder == "light" else Path(folder)).rglob("*.onnx"))


def line(outcome: Outcome) -> str:
    row = cells(outcome)
    told = (outcome.name, f"{outcome.costed}/{outcome.nodes}", f"{outcome.seconds:.2f} s", outcome.status)
    rest = ("shapes that agree", "those that agree", "lengths", "notes")
    return " | ".join((*told, *(str(row[column]) for column in rest)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--output", type=Path)
    wanted = parser.parse_args()
    session = Session(open_library())
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as copies:
        for path in (path for folder in wanted.folder for path in models(folder)):
            outcomes.append(check(path, session, Path(copies)))
            print(line(outcomes[-1]), flush=True)
    if not outcomes:
        print("no models there", file=sys.stderr)
        return 2
    print(*summary(outcomes), sep="\n")
    if wanted.output:
        folders = " ".join("light" if folder == "light" else "FOLDER" for folder in wanted.folder)
        command = f"python benchmarks/check_models.py {folders} --output reports/{wanted.output.name}"
        wanted.output.with_suffix(".md").write_text(markdown(outcomes, command), encoding="utf-8")
        wanted.output.with_suffix(".csv").write_text(table(outcomes), encoding="utf-8")
    return 1 if any(o.wrong for o in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
