"""Random projects and edits put before the gate, and its answers before an oracle.

Any change after which a program takes more operations somewhere must end in another exit code than 0, or
be shown as left out, by which setting.  What is costlier, the reference interpreter says.

    python -m tools.check.adversary.campaign 100000 --start 0 --jobs 2
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tolcost.check.baseline import GateTask
from tolcost.check.config import find_config
from tolcost.check.gate import Checked, accepted, against_lock, against_revision, updated
from tolcost.check.lockfile import Lock, read_lock, write_lock
from tolcost.check.records import BAD_INPUT, FAILING, FINE, GateReport
from tolcost.check.targets import Computing, Costing
from tolcost.cli.check import costing_for
from tolcost.diagnostics import Rejected, Source
from tolcost.platform import with_deep_stack
from tools.check.adversary.programs import LIBRARIES, Program, always_costlier, costlier, executed, resized
from tools.check.adversary.trees import (
    BEFORE,
    CASED,
    NEUTRAL,
    OUTSIDE,
    Edit,
    Placed,
    Tree,
    random_edits,
    random_tree,
)

BATCH = 50
_ABSENT = "0123456789" * 4
_MEMORY = Path("/dev/shm")  # thousands of small files, none of which is to be kept


class Case(Struct, frozen=True):
    """What was there, what was agreed to in between if anything, and what is there now."""

    seed: int
    before: Tree
    between: Tree | None
    now: Tree
    by_revision: bool
    revision: str
    is_neutral: bool


class Answer(Struct, frozen=True):
    """The exit code of a case, what kind of case it was, and what is wrong with the answer, if anything."""

    seed: int
    code: int
    kind: str
    problem: str = ""


def random_case(seed: int) -> Case:
    """The case of a seed."""
    draw = random.Random(seed)
    before = random_tree(draw)
    edits, more = random_edits(draw), random_edits(draw)
    now = before
    for edit in edits:
        now = edit(now, draw)
    by_revision, between = draw.random() < 0.5, None
    revision = f"c{seed}"
    if not by_revision and draw.random() < 0.3:
        between = now
        for edit in more:
            now = edit(now, draw)
    elif draw.random() < 0.06:
        before = draw.choice(BEFORE)(before, draw)
    elif draw.random() < 0.03:
        before = replace(before, settings={**before.settings, "broken": True})
    elif draw.random() < 0.1:
        before = replace(before, is_absent=before.is_submodule)
    elif draw.random() < 0.01:
        revision = "nowhere"
    is_neutral = (
        all(edit in NEUTRAL for edit in edits)
        and between is None
        and before.placed.keys() == now.placed.keys()
    )
    return Case(seed, before, between, now, by_revision, revision, is_neutral)


# ---- repositories ------------------------------------------------------------------------------------


def _import(repository: Path, commits: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Make a repository with a branch for each tree; ``=> COMMIT`` is a submodule."""
    stream = bytearray()
    for branch, files in commits:
        stream += f"commit refs/heads/{branch}\ncommitter A <a@example.org> 0 +0000\ndata 0\n".encode()
        for path, text in files.items():
            if text.startswith("=> "):
                stream += f"M 160000 {text[3:]} {path}\n".encode()
                continue
            data = text.removeprefix("-> ").encode("latin-1")
            mode = "120000" if text.startswith("-> ") else "100644"
            stream += f"M {mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    command = ["git", "-C", str(repository), "fast-import", "--quiet", "--force"]
    subprocess.run(command, input=bytes(stream), check=True)


def _libraries(folder: Path) -> tuple[Path, list[str]]:
    """A repository with every library, for submodules, and its commits."""
    repository = folder / "libraries"
    _import(repository, ((f"v{n}", {"lib/double.tol": text}) for n, text in enumerate(LIBRARIES)))
    names = [f"v{n}" for n in range(len(LIBRARIES))]
    said = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", *names], check=True, capture_output=True, text=True
    )
    return repository, said.stdout.split()


def _committed(tree: Tree, commits: list[str]) -> dict[str, str]:
    files = tree.files()
    if tree.is_submodule and tree.library is not None:
        files["mine"] = f"=> {_ABSENT if tree.is_absent else commits[tree.library]}"
    return files


def _write(tree: Tree, root: Path, repository: Path | None, libraries: Path) -> None:
    """Put a tree into a folder in place of what was there."""
    for folder in (root, root / OUTSIDE):
        shutil.rmtree(os.path.normpath(folder), ignore_errors=True)
    root.mkdir()
    files = tree.files()
    if repository is not None:
        files[".git"] = f"gitdir: {repository / '.git'}\n"
    if tree.is_submodule and tree.library is not None:
        files["mine/lib/double.tol"] = tree.library_text
        if repository is not None:
            files["mine/.git"] = f"gitdir: {libraries / '.git'}\n"
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            file.symlink_to(text[3:])
        else:
            file.write_bytes(text.encode("latin-1"))


# ---- the gate ------------------------------------------------------------------------------------------


@cache
def _costing() -> Costing:
    return costing_for()


def _gate(root: Path) -> GateTask:
    """A gate as a new process would have it: what it knows of a project's own library is not kept."""
    config = find_config(root)
    return GateTask(config, Computing(costing_for() if config.specs else _costing(), jobs=1))


def _saved(lock: Lock) -> Lock:
    return read_lock(Source("tolcost.lock", write_lock(lock)))


def _checked(case: Case, root: Path, repository: Path, libraries: Path) -> Checked:
    if case.by_revision:
        _write(case.now, root, repository, libraries)
        return against_revision(_gate(root), case.revision, Lock())
    _write(case.before, root, None, libraries)
    gate = _gate(root)
    lock = _saved(updated(gate.config, Lock(), against_lock(gate, Lock()), False, "0"))
    if case.between is not None:
        _write(case.between, root, None, libraries)
        lock = _agreed(root, lock)
    _write(case.now, root, None, libraries)
    return against_lock(_gate(root), lock)


def _agreed(root: Path, lock: Lock) -> Lock:
    try:
        found, _ = accepted(lock, against_lock(_gate(root), lock), "*", "it has to be")
    except Rejected:  # there was nothing to agree to
        return lock
    return _saved(found)


def answer(case: Case, root: Path, repository: Path, libraries: Path) -> Answer:
    """Put a case before the gate, and its answer before the oracle."""
    kind = "revision" if case.by_revision else "lock" if case.between is None else "accepted"
    try:
        report = _checked(case, root, repository, libraries).report
    except Rejected:
        return Answer(case.seed, BAD_INPUT, kind)
    except Exception as error:
        return Answer(case.seed, 70, kind, f"{type(error).__name__}: {error}")
    problem = _passed_wrongly(case, report) if report.exit_code == FINE else _said_wrongly(case, report)
    if report.exit_code != FAILING and _only_resized(case):
        problem = "a program with other sizes costs more at all of them, and that is not told"
    return Answer(case.seed, report.exit_code, kind, problem)


# ---- the oracle ----------------------------------------------------------------------------------------


def _passed_wrongly(case: Case, report: GateReport) -> str:
    was_model, model = case.before.model, case.now.model
    if was_model is not None and model is not None and model[0] > was_model[0]:
        agreed = case.between is not None and (case.between.model or (0,))[0] >= model[0]
        if not agreed and not _is_left_out(case.before.model_at, case.now.model_at, case.now, report):
            return f"{case.before.model_at} is costlier as {case.now.model_at}, and passed"
    if _case_grew(case):
        return f"{CASED} is costlier, and passed"
    if case.by_revision and (case.before.settings.get("broken") or case.revision == "nowhere"):
        return "passed against what cannot be read"
    for number, was in case.before.placed.items():
        now = case.now.placed.get(number)
        if now is None or _is_left_out(was.path, now.path, case.now, report):
            continue
        renamed = {change.name for change in report.changes if change.kind == "renamed"}
        if was.is_broken and (case.by_revision or now.path in {*report.programs} - renamed):
            return f"{was.path} could not be read before, and passed"
        if case.by_revision and case.before.is_absent and was.program.uses_library:
            return f"{was.path} uses a library that was not there, and passed"
        if was.is_broken:  # a lock file has no figure of it
            continue
        if _grew(case.before, was, case.now, now) and not _is_agreed(case, number, now):
            return f"{was.path} is costlier as {now.path}, and passed"
    return ""


def _case_grew(case: Case) -> bool:
    """Whether a program takes more for what the settings said of it, or for more that they say now."""
    was, now = case.before.cased, case.now.cased
    if was is None or now is None or (now[0] <= was[0] and now[1] <= was[1]):
        return False
    between = None if case.between is None else case.between.cased
    return between is None or now[0] > between[0] or now[1] > between[1]


def _grew(before: Tree, was: Placed, after: Tree, now: Placed) -> bool:
    return costlier(was.program, now.program, before.library_text, after.library_text)


def _is_agreed(case: Case, number: int, now: Placed) -> bool:
    between = None if case.between is None else case.between.placed.get(number)
    return (
        between is not None and case.between is not None and not _grew(case.between, between, case.now, now)
    )


def _is_left_out(was: str, now: str, tree: Tree, report: GateReport) -> bool:
    """Whether a report says that a program, or what it costs, is not checked any more, and who agreed."""
    metrics = tree.settings.get("metrics", ("eops",))
    for change in report.changes:
        agreed = change.kind == "excluded" and change.why is not None
        if agreed and change.name == "tolcost.toml" and "eops" not in metrics:  # type: ignore[operator]
            return True
        left = agreed or (change.kind == "gone" and now not in report.programs)
        if left and change.name == was:
            return True
    return False


def _said_wrongly(case: Case, report: GateReport) -> str:
    """What is claimed beyond the truth: a cost that no run has, or a growth where nothing changed."""
    by_path = {one.path: one for one in case.now.placed.values()}
    for change in report.changes:
        if case.is_neutral and change.kind in ("costlier", "crosses"):
            return f"{change.name} is said to be costlier, and nothing but names changed"
        one, example = by_path.get(change.name), change.example
        if one is None or example is None or change.metric != "eops" or not one.program.is_exact:
            continue
        dims = dict(example.dims)
        if any(value > 8 for value in dims.values()) or not set(one.program.lengths) >= set(dims):
            continue
        values = [dims.get(length, 1) for length in one.program.lengths]
        shapes = tuple(
            (name, tuple(axis.at(values) for axis in axes))
            for name, axes in zip(one.program.inputs, one.program.axes, strict=True)
        )
        count = executed(one.program.text(case.now.library_text), shapes, 0)
        if count is not None and count != example.new:
            return f"{change.name} is said to cost {example.new} at {example.at}, and costs {count}"
    return ""


def _only_resized(case: Case) -> bool:
    """Whether nothing changed but numbers among the axes of a program, and that takes more, always."""
    same = replace(case.now, placed=case.before.placed) == case.before and case.between is None
    pairs = [(one, case.now.placed.get(number)) for number, one in case.before.placed.items()]
    programs = [
        (was.program, now.program) for was, now in pairs if now and replace(was, program=now.program) == now
    ]
    other = [(was, now) for was, now in programs if was != now]
    is_known = not (case.before.settings.get("broken") or case.before.is_absent or case.revision == "nowhere")
    is_read = not any(one.is_broken for one in case.before.placed.values())
    known = same and is_known and is_read and len(programs) == len(pairs) and len(other) == 1
    return known and _only_grew(*other[0], case.now.library_text)


def _only_grew(was: Program, now: Program, library: str) -> bool:
    return was.is_exact and resized(was, now) and always_costlier(was, now, library)


# ---- many ----------------------------------------------------------------------------------------------


def answers(start: int, many: int) -> list[Answer]:
    """The answers to some seeds."""
    return answers_to([random_case(seed) for seed in range(start, start + many)])


def attacks(edit: Edit, many: int) -> Iterator[Case]:
    """Cases of one edit alone, of projects that it does something to."""
    seeds = (seed for seed in range(1_000_000) if (draw := random.Random(seed)) and _applies(edit, draw))
    for seed in islice(seeds, many):
        draw = random.Random(seed)
        before = random_tree(draw)
        yield Case(seed, before, None, edit(before, draw), bool(seed % 2), f"c{seed}", False)


def _applies(edit: Edit, draw: random.Random) -> bool:
    tree = random_tree(draw)
    return edit(tree, draw) != tree


def answers_to(cases: Sequence[Case]) -> list[Answer]:
    """The answers to some cases."""
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    os.environ.update(nothing)
    os.environ.pop("GIT_INDEX_FILE", None)
    with tempfile.TemporaryDirectory(prefix="adversary-", dir=_MEMORY if _MEMORY.is_dir() else None) as name:
        folder = Path(name)
        libraries, commits = _libraries(folder)
        repository = folder / "repository"
        asked = [case for case in cases if case.by_revision]
        _import(repository, ((f"c{case.seed}", _committed(case.before, commits)) for case in asked))
        return with_deep_stack(
            lambda: [answer(case, folder / "work", repository, libraries) for case in cases]
        )


def campaign(start: int, many: int, jobs: int) -> Iterator[Answer]:
    """The answers to many seeds, from several processes."""
    starts = range(start, start + many, BATCH)
    sizes = [min(BATCH, start + many - at) for at in starts]
    if jobs == 1:
        for at, size in zip(starts, sizes, strict=True):
            yield from answers(at, size)
        return
    with ProcessPoolExecutor(jobs, max_tasks_per_child=None) as pool:
        for found in pool.map(answers, starts, sizes):
            yield from found


def main(arguments: list[str]) -> int:
    """Run a campaign; the exit code tells whether every answer was right."""
    parser = argparse.ArgumentParser(prog="python -m tools.check.adversary.campaign", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=2000, help="how many cases")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args(arguments)
    tally: Counter[tuple[str, int]] = Counter()
    wrong, began = 0, time.monotonic()
    for done, found in enumerate(campaign(asked.start, asked.many, asked.jobs), start=1):
        tally[found.kind, found.code] += 1
        if found.problem:
            wrong += 1
            print(f"seed {found.seed} ({found.kind}): {found.problem}", flush=True)
        if done % 1000 == 0:
            print(f"{done:,} cases, {wrong} wrong, {time.monotonic() - began:.0f} s", flush=True)
    codes = ", ".join(f"{kind} {code}: {n:,}" for (kind, code), n in sorted(tally.items()))
    print(f"{asked.many:,} cases from seed {asked.start:,} on, {wrong} wrong; by exit code: {codes}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
