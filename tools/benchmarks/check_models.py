"""Models from anywhere, held to what onnxruntime observes: the shape of every value, at two sets of lengths.

    python tools/benchmarks/check_models.py FOLDER... [--keep FOLDER] [--seconds N] [--output reports/models]

A folder is searched for models; ``light`` is that of the graphs that come with onnx.  Each model is looked at
in a process of its own, and one that takes too long or too much is a row that says so.  A model is run on
random input with all values of its graph as outputs, and again with its branches as part of the graph, both
sides of those that data decides, and a turn of its loops.  A model whose lengths are all fixed is run once:
there is nothing else to try.  With ``--output`` the findings go to a Markdown and a CSV file of that name;
with ``--keep`` they stay in a folder as well, and what is there already is not looked at again.  After
``--seconds`` no other model is begun; those that are left are counted as such.
Needs onnxruntime, which tolcost does not.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import onnx
from model_branches import Observed, Place
from model_outcomes import Outcome, Seen, Tally, cells, shown
from model_report import markdown, summary, table
from model_runs import CORRECTIONS, Model, Run, corrected, name_of, open_lengths

from tolcost.algebra import Poly, evaluate, to_text
from tolcost.catalogue.specs import open_library
from tolcost.check.lockfile import digest_of_folders, own_folders
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.cost import Cost
from tolcost.result.model import ModelStudy, of_model, study_file
from tolcost.result.study import locate_study
from tolcost.show.document import text_of

MOST_RUNS = 24
"""Lengths to try until each side of each branch was seen at two of them."""

MOST_SECONDS, MOST_BYTES = 120, 12 << 30
"""What looking at a model may take, all of its runs together: of processor time, and of memory."""

LONGEST_WAIT = 900
"""Seconds until a model that neither works nor ends is given up."""

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


def tabled(value: object) -> object:
    """Maps with the same keys as the table of their values, which is what they are for us."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return np.array([list(row.values()) for row in value])
    return value


def count(tally: Tally, cost: Cost, name: str, shape: Shape | None, value: object) -> None:
    value = tabled(value)
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


@cache
def state() -> str:
    """Tolcost as it is now, with its definitions."""
    return digest_of_folders(own_folders())


def named(path: Path) -> Outcome:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Outcome(path.stem.replace("__", ": "), digest, state())


def check(path: Path, session: Session, folder: Path) -> Iterator[Outcome]:
    """What becomes of a model, told before each step that may end the process."""
    outcome = named(path)
    if name_of(path) in CORRECTIONS:
        outcome.notes.append(str(CORRECTIONS[name_of(path)]))
    path = corrected(path, folder)
    start = time.process_time()
    try:
        study = with_deep_stack(lambda: study_file(path, session))
        describe(outcome, study)
    except Rejected as rejected:
        outcome.notes.append(f"refused: {rejected}")
        yield outcome
        return
    outcome.seconds = time.process_time() - start
    outcome.notes += [f"{m.op} {m.name}: {m.why}" for m in study.coverage.missing[:1]]
    yield outcome
    try:
        model = Model(path, study)
    except Exception as error:
        outcome.notes.append(f"onnxruntime: {str(error)[:120]}")
        yield outcome
        return
    outcome.values = len(model.names)
    outcome.fixed = not open_lengths(study)[0]
    for run in islice(model.runs(), MOST_RUNS):
        look(outcome, model, run)
        yield outcome
        if len(outcome.seen) >= outcome.wanted and outcome.twice:
            break
    if not outcome.seen:
        outcome.notes.append(f"onnxruntime runs it at no lengths tried: {model.refused}")
    yield outcome


def look(outcome: Outcome, model: Model, run: Run) -> None:
    """Compare a run with what is said at its lengths; a run after the first two only if it shows more."""
    try:
        cost = with_deep_stack(lambda: locate_study(Cost, model.study, run.dims))
    except Rejected as rejected:
        outcome.notes.append(f"refused at {shown(run.dims)}, where it runs: {rejected}")
        return
    inside = of_model(cost).cost.inside()
    try:
        observed = model.inside(run, {place[:-1] for place in inside})
    except Exception as error:  # onnxruntime does not take what was made of the model to look inside
        outcome.notes.append(f"not looked inside of its nodes: {str(error)[:120]}")
        observed = Observed()
    failed = frozenset(observed.failed)
    if len(outcome.seen) >= outcome.wanted and failed >= outcome.seen[0].failed | outcome.seen[1].failed:
        return
    inner = compare_inner(cost, inside, observed)
    outcome.seen.append(Seen(run.dims, compare(cost, run), inner, frozenset(observed.sides), failed))


def describe(outcome: Outcome, study: ModelStudy) -> None:
    outcome.nodes, outcome.costed = study.coverage.nodes, study.coverage.costed
    opsets = study.model.opsets
    outcome.opset = str(opsets.get("", next(iter(opsets.values()), "")))
    texts = {
        m.label: text_of(m.form) for m in study.measures(()) if m.form is not None and m.key != "intensity"
    }
    outcome.eops, outcome.macs, outcome.params = (texts[label] for label in ("EOPs", "MACs", "parameters"))
    outcome.longest = max(texts, key=lambda label: len(texts[label]))
    outcome.characters = len(texts[outcome.longest])
    outcome.form, outcome.status = study.total.macs, study.total.status
    outcome.uncosted = tuple(study.coverage.operators)


# ---- all of them -------------------------------------------------------------------------


def models(folder: str) -> list[Path]:
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    where = light if folder == "light" else Path(folder)
    return [where] if where.is_file() else sorted(where.rglob("*.onnx"))


def apart(path: Path, session: Session, folder: Path) -> Outcome:
    """Look at a model in a process of its own; what it told last counts, whatever ends it."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def work(sending: Connection) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
        for outcome in check(path, session, folder):
            sending.send(outcome)
        sending.send(None)

    process = context.Process(target=work, args=(sending,))
    process.start()
    sending.close()
    told, ends = named(path), time.monotonic() + LONGEST_WAIT
    try:
        while receiving.poll(max(ends - time.monotonic(), 0)):
            outcome: Outcome | None = receiving.recv()
            if outcome is None:
                return told
            told = outcome
        told.notes.append(f"stopped: it did not end within {LONGEST_WAIT} s")
    except EOFError:
        process.join()
        told.notes.append(ended(told, process.exitcode))
    finally:
        process.kill()
        process.join()
    return told


def ended(told: Outcome, code: int | None) -> str:
    """Say what ended a process, and that a model without figures took all the time there was."""
    if code == -signal.SIGXCPU:
        told.seconds = told.seconds or MOST_SECONDS
        return f"stopped after {MOST_SECONDS} s of processor time"
    why = signal.Signals(-code).name if code and code < 0 else f"exit code {code}"
    return f"{'onnxruntime' if told.analysed else 'tolcost'} ends with {why}"


def kept(folder: Path | None, digest: str) -> Outcome | None:
    """What was found before of a model."""
    if folder is None or not (folder / digest).exists():
        return None
    found: Outcome = pickle.loads((folder / digest).read_bytes())  # noqa: S301  # a file of our own
    return found


def keep(folder: Path | None, outcome: Outcome) -> None:
    """Keep what was found, whole or not at all, whoever else looks at models at the same time."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{outcome.digest}.{os.getpid()}"
    part.write_bytes(pickle.dumps(outcome))
    part.replace(folder / outcome.digest)


def line(outcome: Outcome) -> str:
    row = cells(outcome)
    told = (outcome.name, f"{outcome.costed}/{outcome.nodes}", f"{outcome.seconds:.2f} s", outcome.status)
    rest = ("characters", "shapes that agree", "those that agree", "lengths", "notes")
    return " | ".join((*told, *(str(row[column]) for column in rest)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--output", type=Path)
    wanted = parser.parse_args()
    session = Session(open_library())
    outcomes: list[Outcome] = []
    ends = time.monotonic() + wanted.seconds
    with tempfile.TemporaryDirectory() as copies:
        for path in (path for folder in wanted.folder for path in models(folder)):
            name = named(path)
            found = kept(wanted.keep, name.digest)
            if found is None and time.monotonic() < ends:
                found = apart(path, session, Path(copies))
                print(line(found), flush=True)
                keep(wanted.keep, found)
            outcomes.append(replace(found or name, name=name.name))
    if not outcomes:
        print("no models there", file=sys.stderr)
        return 2
    print(*summary(outcomes), sep="\n")
    if wanted.output:
        wanted.output.with_suffix(".md").write_text(markdown(outcomes, state()), encoding="utf-8")
        wanted.output.with_suffix(".csv").write_text(table(outcomes), encoding="utf-8")
    return 1 if any(o.wrong for o in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
