"""The check itself: the programs of a project against a baseline and budgets, and what to write.

against_lock       compare with the lock file
against_revision   compare with a git revision
updated, accepted  the lock file to write, after a comparison
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tolcost.check.baseline import Baseline, at_revision, locked
from tolcost.check.blame import blame
from tolcost.check.budgets import hold, matches, read_budgets
from tolcost.check.config import Config
from tolcost.check.costing import Analysed, Computing, Contribution
from tolcost.check.lockfile import LOCK_NAME, Lock
from tolcost.check.records import Accepted, BlamedLine, CostChange, GateReport, LockEntry, severity
from tolcost.check.seals import Sealing
from tolcost.check.targets import Target, covers, targets
from tolcost.check.verdicts import UNPROVED, judge
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, place, quoted

Contributions: TypeAlias = tuple[Sequence[Contribution], Sequence[Contribution] | None]
"""What a program is made of now, and what it was made of, if that is known."""

_ORDER = ("broken", "costlier", "crosses", "undecided", "new", "cheaper", "renamed", "gone", "same")


@dataclass(frozen=True, slots=True)
class Gate:
    """What is to be checked, and how programs are analysed."""

    config: Config
    computing: Computing
    asked: tuple[Path, ...] = ()
    strict: bool = False
    fresh: bool = False
    """Whether every program is analysed, sealed or not."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A report, and the entries, problems and seals behind it."""

    report: GateReport
    entries: Mapping[str, LockEntry]
    problems: tuple[Diagnostic, ...] = ()
    gone: tuple[str, ...] = ()
    seals: Mapping[str, str] = field(default_factory=dict)


def against_lock(gate: Gate, lock: Lock, notes: Sequence[str] = ()) -> Checked:
    """Compare the working tree with a lock file."""
    asked = targets(gate.config, gate.asked)
    _something(asked, lock.entries)
    sealing = Sealing(gate.config)
    origins = sealing.origins(asked)
    known = {} if gate.fresh or lock.conflicted else sealing.intact(lock, origins)
    outcomes = gate.computing.entries(gate.config.root, asked, known)
    held = {name: e for name, e in lock.entries.items() if covers(gate.asked, gate.config, name)}
    present = {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}
    old = {name: entry for name, entry in held.items() if name not in outcomes or name in present}
    base = locked(gate.config, old, present, gate.computing)
    checked = _checked(gate, asked, outcomes, base, lock, tuple(notes), new_fails=True)
    return replace(checked, seals=sealing.seals(origins, asked, present))


def against_revision(gate: Gate, revision: str, lock: Lock) -> Checked:
    """Compare the working tree with a git revision; the lock file only tells what was accepted."""
    asked = targets(gate.config, gate.asked)
    _something(asked, lock.entries)
    budgets = read_budgets(gate.config)
    with at_revision(gate.config, revision, asked, gate.computing) as base:
        limited = {t.name for t in asked if any(matches(t.name, b.pattern) for b in budgets)}
        needed = [t for t in asked if t.name not in base.settled or t.name in limited]
        sealing = Sealing(gate.config)
        known = {} if gate.fresh else sealing.intact(lock, sealing.origins(needed))
        outcomes = gate.computing.entries(gate.config.root, needed, known)
        return _checked(gate, asked, outcomes, base, lock, (), new_fails=False)


def _something(asked: Sequence[Target], locked_entries: Mapping[str, LockEntry]) -> None:
    if not asked and not locked_entries:
        raise Rejected(Diagnostic("T0721", "there is no program here: no file ends in .tol or .onnx"))


# ---- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comparing:
    """What every comparison of a check needs."""

    gate: Gate
    base: Baseline
    lock: Lock
    outcomes: Mapping[str, Analysed]
    metrics: tuple[str, ...] = field(default=())


def _checked(
    gate: Gate,
    asked: Sequence[Target],
    outcomes: Mapping[str, Analysed],
    base: Baseline,
    lock: Lock,
    notes: tuple[str, ...],
    new_fails: bool,
) -> Checked:
    comparing = _Comparing(gate, base, lock, outcomes, gate.config.metrics)
    by_target = {target.name: tuple(_changes(comparing, target)) for target in asked}
    entries = {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}
    gone = tuple(sorted(base.entries.keys() - by_target.keys()))
    changes = [c for found in by_target.values() for c in found if c.kind != "same"]
    changes += [CostChange(name, "gone", file=name.partition("#")[0]) for name in gone]
    known = [] if not gate.asked else [*lock.entries, *(t.name for t in targets(gate.config))]
    report = GateReport(
        against=base.label,
        programs=tuple(by_target),
        changes=tuple(sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.name, c.metric))),
        budgets=hold(read_budgets(gate.config), entries, [*known, *by_target]),
        notes=notes,
        new_fails=new_fails,
        strict=gate.strict,
    )
    problems = tuple(problem for outcome in outcomes.values() for problem in outcome.problems)
    return Checked(report, entries, problems, gone)


def _changes(comparing: _Comparing, target: Target) -> Iterator[CostChange]:
    """What became of every figure of a program; a single "same" where nothing did."""
    outcome = comparing.outcomes.get(target.name)
    base = comparing.base
    if outcome is None or target.name in base.settled:
        yield CostChange(target.name, "same")
        return
    if outcome.entry is None:
        yield _broken(target, outcome.problems)
        return
    old = base.entries.get(target.name)
    if old is None:
        note = ("it could not be read before",) if target.name in base.broken else ()
        yield CostChange(target.name, "new", file=target.file, notes=note)
        return
    if target.name in base.renamed:
        was = base.renamed[target.name]
        yield CostChange(target.name, "renamed", file=target.file, old=was, new=target.name)
    parts = cache(lambda: _parts(comparing, target, old))
    for metric, _ in outcome.entry.figures:
        if metric in comparing.metrics:
            change = replace(_judged(old, outcome.entry, metric, parts), file=target.file)
            agreed = comparing.lock.entries.get(target.name)
            yield replace(change, why=_why(agreed, outcome.entry, change))


def _broken(target: Target, problems: Sequence[Diagnostic]) -> CostChange:
    first = problems[0]
    at = None
    if first.span.source is not NOWHERE.source:
        at = BlamedLine(first.span.source.name, place(first.span).line if first.span.source.text else 1)
    return CostChange(target.name, "broken", file=target.file, new=f"{first.code} {first.message}", place=at)


def _parts(comparing: _Comparing, target: Target, old: LockEntry) -> Contributions:
    gate = comparing.gate
    now = gate.computing.one(gate.config.root, target).parts
    return now, comparing.base.parts(target, old)


def _judged(old: LockEntry, new: LockEntry, metric: str, parts: Callable[[], Contributions]) -> CostChange:
    """The verdict on a figure; where it is not good, with more effort, and with the line behind it."""
    change = judge(old, new, metric)
    if change.kind not in ("costlier", "crosses", "undecided"):
        return change
    now, was = parts()
    if UNPROVED in change.notes or change.kind == "undecided":
        counts = [part.counts[metric] for part in (*now, *(was or ())) if metric in part.counts]
        change = judge(old, new, metric, counts)
    if change.kind in ("costlier", "crosses") and change.example is not None:
        return replace(change, place=blame(was, now, metric, change.example))
    return change


def _why(entry: LockEntry | None, new: LockEntry, change: CostChange) -> str | None:
    """The reason that was given for a figure, if it is no more than what was accepted."""
    agreed = None if entry is None else entry.agreed(change.metric)
    if agreed is None or change.kind not in ("costlier", "crosses", "undecided"):
        return None
    before = replace(new, figures=((change.metric, agreed.figure),))
    return agreed.why if judge(before, new, change.metric).kind in ("same", "cheaper") else None


# ---- writing --------------------------------------------------------------------------------------


def updated(lock: Lock, checked: Checked, prune: bool, tool: str, costs: str) -> Lock:
    """The lock file with the figures of today; what was not computed stays, and what is gone if asked to."""
    entries = dict(lock.entries)
    for name in checked.gone if prune else ():
        entries.pop(name, None)
    for change in checked.report.changes:
        if change.kind == "renamed":
            entries.pop(change.old, None)
    for name, entry in checked.entries.items():
        entries[name] = replace(entry, accepted=_still_agreed(lock.entries.get(name), entry))
    seals = {name: seal for name, seal in {**lock.seals, **checked.seals}.items() if name in entries}
    return Lock(entries, tool, costs, seals)


def _still_agreed(old: LockEntry | None, new: LockEntry) -> tuple[tuple[str, Accepted], ...]:
    """Reasons for figures that still stand."""
    before = () if old is None else old.accepted
    return tuple((metric, agreed) for metric, agreed in before if new.figure(metric) == agreed.figure)


def accepted(lock: Lock, checked: Checked, pattern: str, why: str) -> tuple[Lock, tuple[str, ...]]:
    """The lock file with a reason for every costlier figure of the programs that a pattern matches."""
    names = [name for name in checked.entries if name == pattern or fnmatchcase(name, pattern)]
    metrics = {
        (change.name, change.metric): None
        for change in checked.report.changes
        if change.name in names and change.metric and severity(replace(change, why=None), new_fails=False)
    }
    if not metrics:
        message = (
            f"{quoted(pattern)} matches no program" if not names else f"{quoted(pattern)} is not costlier"
        )
        raise Rejected(Diagnostic("T0722", message, hint="the names are those that `tolcost check` shows"))
    entries = dict(lock.entries)
    for name, metric in metrics:
        now = checked.entries[name]
        figure = now.figure(metric)
        entry = entries.get(name, now)
        others = tuple(item for item in entry.accepted if item[0] != metric)
        if figure is not None:
            agreed = tuple(sorted((*others, (metric, Accepted(why, figure))), key=lambda item: item[0]))
            entries[name] = replace(entry, accepted=agreed)
    return replace(lock, entries=entries), tuple(dict.fromkeys(name for name, _ in metrics))


def notes_on(lock: Lock, tool: str, costs: str) -> Iterable[str]:
    """What to say of a lock file that another tolcost has written."""
    if lock.tool != tool:
        yield f"{LOCK_NAME} was written by tolcost {lock.tool or '(unknown)'}, this is {tool}"
    if lock.costs != costs:
        yield f"{LOCK_NAME} was written with cost model {lock.costs or '(unknown)'}, this is {costs}"
