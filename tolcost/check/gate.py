"""The check itself: compare the programs of a project with a lock file or a revision, and with budgets.

A program that cannot be read, found, matched or decided fails the check, with a reason.  Against a revision,
a program is "new" only if no missing program could be its predecessor.  A program is "gone" only if its file
is; if the settings leave it out, it is "excluded".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly
from tolcost.check.baseline import (
    Baseline,
    Contributions,
    GateTask,
    History,
    Pairs,
    at_revision,
    checked_out,
    entries_of,
    marked_entry,
    paired,
)
from tolcost.check.blame import blame
from tolcost.check.budgets import Budget, OwnPoint, check_points, hold, matches, read_budgets, read_points
from tolcost.check.config import Config, is_module
from tolcost.check.lockfile import (
    LOCK_NAME,
    Lock,
    Origins,
    costs_version,
    intact,
    load_lock,
    new_seals,
    own_folders,
    rules_digest,
    words_digest,
    write_lock,
)
from tolcost.check.records import (
    KINDS,
    Accepted,
    AgreedRules,
    BlamedLine,
    CostChange,
    GateReport,
    HeldBudget,
    LockEntry,
    file_of,
    severity,
)
from tolcost.check.rules import changed_rules
from tolcost.check.targets import Analysed, Target, astray, covers, excluded_by, outside, targets
from tolcost.check.verdicts import Sizes, at_points, judge, narrowed, new_figures
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, place, quoted, refuse


class Checked(Struct, frozen=True):
    """A report, with its entries and problems, and the digests that determine the entries."""

    report: GateReport
    asked: tuple[Target, ...]
    entries: Mapping[str, LockEntry]
    problems: tuple[Diagnostic, ...] = ()
    gone: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def against_lock(gate: GateTask, lock: Lock, notes: Sequence[str] = ()) -> Checked:
    """Compare the working tree with a lock file."""
    config = gate.config
    asked = targets(config, gate.asked)
    _something(asked, lock.entries)
    origins = Origins(config, own_folders())
    before = origins.of(asked)
    known = {} if gate.fresh or lock.conflicted else intact(lock, before)
    outcomes = _analysed(gate, asked, origins, known)
    held = {name: e for name, e in lock.entries.items() if covers(gate.asked, config, name)}
    metrics = sorted({m for e in held.values() for m, _ in e.figures if m not in config.metrics})
    left_out = tuple(f"`metrics` does not name {m}, which {LOCK_NAME} has" for m in metrics)
    history = History(gate, lock)
    base = Baseline(LOCK_NAME, held, history.parts, left_out=left_out, texts=history.texts)
    return replace(_checked(gate, asked, outcomes, base, lock, tuple(notes)), origins=before)


def against_revision(gate: GateTask, revision: str, lock: Lock) -> Checked:
    """Compare the working tree with a git revision; the lock file gives accepted figures and seals."""
    config = gate.config
    asked = targets(config, gate.asked)
    _something(asked, lock.entries)
    budgets = read_budgets(config)
    with checked_out(config.root, revision) as former:
        base = at_revision(gate, revision, former, asked)
        limited = {t.name for t in asked if any(matches(t.name, b.pattern) for b in budgets)}
        needed = [t for t in asked if t.name not in base.settled or t.name in limited]
        sealed = {} if gate.fresh else intact(lock, Origins(config, own_folders()).of(needed))
        outcomes = _analysed(gate, needed, Origins(config), sealed)
        return _checked(gate, asked, outcomes, base, lock, ())


def _something(asked: Sequence[Target], locked_entries: Mapping[str, LockEntry]) -> None:
    if not asked and not locked_entries:
        refuse("T0721", "there is no program here: no file ends in .tol or .onnx")


def _analysed(
    gate: GateTask, asked: Sequence[Target], origins: Origins, known: Mapping[str, LockEntry]
) -> dict[str, Analysed]:
    """Analyse the current programs; a file behind a link that leads out of the repository is not read."""
    away = outside(gate.config.root, asked)
    inside = [target for target in asked if target.file not in away]
    found = gate.computing.entries(gate.config, inside, known)
    marked = {t.name: marked_entry(found[t.name], t, origins) for t in inside}
    told = {file: f"{quoted(file)} is a link that leads out of the repository" for file in away}
    lost = {file: Analysed(None, (Diagnostic("T0721", message),)) for file, message in told.items()}
    return {t.name: lost[t.file] if t.file in away else marked[t.name] for t in asked}


# ---- comparing ------------------------------------------------------------------------------------


class _Comparing(Struct, frozen=True):
    """The inputs that all comparisons of a check share."""

    gate: GateTask
    base: Baseline
    lock: Lock
    outcomes: Mapping[str, Analysed]
    pairs: Pairs
    budgets: tuple[Budget, ...] = ()
    own_points: tuple[OwnPoint, ...] = ()

    def points(self, name: str, metric: str) -> tuple[Sizes, ...]:
        """Return the points at which the project wants to see a figure, at least one.

        Without any in the settings, these are the lengths of the program's first budget that has some,
        preferably one for the metric.
        """
        own = tuple(dict(point.dims) for point in self.own_points if matches(name, point.pattern))
        if own:
            return own
        held = [budget for budget in self.budgets if budget.dims and matches(name, budget.pattern)]
        chosen = [budget for budget in held if budget.metric == metric] or held
        return (dict(chosen[0].dims),) if chosen else ({},)


def _checked(
    gate: GateTask,
    asked: Sequence[Target],
    outcomes: Mapping[str, Analysed],
    base: Baseline,
    lock: Lock,
    notes: tuple[str, ...],
) -> Checked:
    entries = entries_of(outcomes)
    pairs = paired(base, asked, entries, gate.config.root)
    budgets = read_budgets(gate.config)
    own_points = read_points(gate.config)
    comparing = _Comparing(gate, base, lock, outcomes, pairs, budgets, own_points)
    by_target = {
        target.name: tuple(_located(gate.config, target, change) for change in _changes(comparing, target))
        for target in asked
    }
    changes = [c for found in by_target.values() for c in found if c.kind != "same"]
    lost = {name: said for name in pairs.gone if (said := _behind_a_link(gate.config, name)) is not None}
    missing = (_missing(gate.config, name, lost.get(name)) for name in pairs.gone)
    left_out = [*missing, *_of_settings(gate.config, base)]
    changes += [replace(c, why=_why_left_out(lock, c)) for c in left_out]
    known: Sequence[str] = [] if not gate.asked else [*lock.entries, *(t.name for t in targets(gate.config))]
    found, mistakes = _held(comparing, entries, [*known, *by_target])
    changes += [_mistaken(gate.config, mistake) for mistake in mistakes]
    check_points(own_points, entries, [*known, *by_target])
    report = GateReport(
        against=base.label,
        programs=tuple(by_target),
        changes=tuple(sorted(changes, key=lambda c: (KINDS.index(c.kind), c.name, c.metric))),
        budgets=tuple(_declared_budget(gate.config, asked, held) for held in found),
        notes=(*notes, *_not_costed(asked, entries)),
        new_fails=not base.is_revision,
        strict=gate.strict,
    )
    unread = (problem for outcome in outcomes.values() for problem in outcome.problems)
    problems = (*mistakes, *unread, *lost.values())
    return Checked(report, tuple(asked), entries, problems, pairs.gone)


_MOST_NAMED = 3
"""Models with nodes that are not costed, named in a note; others are counted."""


def _not_costed(asked: Sequence[Target], entries: Mapping[str, LockEntry]) -> Iterator[str]:
    """Say which models have nodes that no figure counts: a check of these may miss what grew."""
    models = [target for target in asked if target.is_model and target.name in entries]
    found = [target.name for target in models if _lacks_nodes(entries[target.name])]
    if found:
        others = len(found) - _MOST_NAMED
        named = ", ".join(found[:_MOST_NAMED]) + (f" and {others:,} more" if others > 0 else "")
        how = (
            f"`tolcost model {found[0]}` names them" if "#" not in found[0] else "`tolcost model` names them"
        )
        yield f"some nodes are not costed, and a change of them is not seen, in {named}; {how}"


def _lacks_nodes(entry: LockEntry) -> bool:
    """Whether a count of work lacks a node."""
    figures = (entry.figure(metric) for metric in ("eops", "flops", "macs"))
    return any(one is not None and one.status in ("incomplete", "unknown") for one in figures)


def _held(
    comparing: _Comparing, entries: Mapping[str, LockEntry], known: Sequence[str]
) -> tuple[list[HeldBudget], list[Diagnostic]]:
    """Check programs against budgets; one that fits no program is a mistake, and the others are checked."""
    config = comparing.gate.config
    found: list[HeldBudget] = []
    mistakes: list[Diagnostic] = []
    names = {was: name for name, was in comparing.pairs.renamed.items() if was != name}
    for budget in comparing.budgets:
        try:
            found += hold((budget,), entries, known)
        except Rejected as rejected:
            at = config.span_of("budgets", budget.pattern, budget.text)
            now = names.get(budget.pattern)
            hint = None if now is None else f"{quoted(budget.pattern)} is now {quoted(now)}"
            mistakes += [Diagnostic(d.code, d.message, at, hint=hint or d.hint) for d in rejected.diagnostics]
    return sorted(found, key=lambda held: held.name), mistakes


def _mistaken(config: Config, mistake: Diagnostic) -> CostChange:
    """Report a mistake in the settings, at its line."""
    name = _settings_name(config)
    return _unread(CostChange(name, "broken", file=name), mistake)


def _located(config: Config, target: Target, change: CostChange) -> CostChange:
    """Point from the change of a declared model to its declaration: it has no file."""
    if not target.setting:
        return change
    span = config.span_of(target.setting, target.file, target.case.label)
    line = place(span).line if span.source.text else 1
    where = replace(change.place or BlamedLine("", line), file=_settings_name(config), line=line)
    return replace(change, file=_settings_name(config), place=where)


def _declared_budget(config: Config, asked: Sequence[Target], held: HeldBudget) -> HeldBudget:
    declared = any(target.setting and target.name == held.name for target in asked)
    return replace(held, file=_settings_name(config)) if declared else held


def _behind_a_link(config: Config, name: str) -> Diagnostic | None:
    """Say that a missing program is behind a link that leads nowhere or out of the repository."""
    said = astray(config.root, file_of(name))
    return Diagnostic("T0721", said) if said else None


def _missing(config: Config, name: str, lost: Diagnostic | None) -> CostChange:
    """Report a program that is no longer checked: gone, left out by a setting, or behind a broken link."""
    file = file_of(name)
    if is_module(file) and not (config.root / file).is_file():  # what became of its code is not known
        pattern = excluded_by(config, file)
        says = f"`exclude` names {quoted(pattern)}" if pattern else "`modules` does not name it"
        says = "`modules` names other cases of it" if file in config.modules and not pattern else says
        note = f"{says} ({_settings_name(config)})"
        return CostChange(name, "excluded", file=_settings_name(config), notes=(note,))
    if lost is not None:
        return _unread(CostChange(name, "broken", file=file), lost)
    if not (config.root / file).is_file():
        return CostChange(name, "gone", file=file)
    pattern = excluded_by(config, file)
    says = f"`exclude` names {quoted(pattern)}" if pattern else "`paths` does not name it"
    says = "`cases` names other cases of it" if file in config.cases and not pattern else says
    return CostChange(name, "excluded", file=file, notes=(f"{says} ({_settings_name(config)})",))


def _why_left_out(lock: Lock, change: CostChange) -> str | None:
    """Return the accepted reason for a reduced check, if it was given for exactly this reduction."""
    agreed = lock.agreed.get(change.name)
    is_it = change.kind == "excluded" and agreed is not None and agreed.digest == words_digest(change.notes)
    return agreed.why if agreed is not None and is_it else None


def _of_settings(config: Config, base: Baseline) -> Iterator[CostChange]:
    name = _settings_name(config)
    if base.left_out:
        yield CostChange(name, "excluded", file=name, notes=base.left_out)
    if base.doubt:
        yield CostChange(name, "undecided", file=name, notes=(base.doubt,))


def _settings_name(config: Config) -> str:
    return config.source.name or "tolcost.toml"


def _changes(comparing: _Comparing, target: Target) -> Iterator[CostChange]:
    """Give a change for every figure of a program, or a single "same" if the program cannot differ."""
    base, outcome = comparing.base, comparing.outcomes.get(target.name)
    if outcome is None or target.name in base.settled:
        yield CostChange(target.name, "same")
        return
    if outcome.entry is None:
        yield _broken(target, outcome.problems)
        return
    was = comparing.pairs.renamed.get(target.name, target.name)
    old, agreed = (
        base.entries.get(was),
        comparing.lock.entries.get(target.name, comparing.lock.entries.get(was)),
    )
    if old is None:
        change = _unmatched(comparing, target)
        yield replace(change, why=_why(agreed, outcome.entry, change))
        return
    if was != target.name:
        yield CostChange(target.name, "renamed", file=target.file, old=was, new=target.name)
        doubt = _doubted(comparing, target, outcome.entry)
        if doubt is not None:
            yield replace(doubt, why=_why(agreed, outcome.entry, doubt))
    needs = narrowed(old, outcome.entry)
    if needs:
        yield CostChange(target.name, "narrower", file=target.file, notes=needs)
    yield from _of_rules(comparing, target, was, old, outcome.entry)
    gate = comparing.gate
    parts = cache(lambda: (gate.computing.costing(gate.config, target).parts, base.parts(was, target)))
    for metric, _ in outcome.entry.figures:
        points = comparing.points(target.name, metric)
        change = replace(_judged(old, outcome.entry, metric, parts, points[0]), file=target.file)
        if change.kind != "same":
            shown, notes = at_points(old, outcome.entry, metric, points)
            change = replace(change, points=shown, notes=(*change.notes, *notes))
        yield replace(change, why=_why(agreed, outcome.entry, change))


_MOST_OTHERS = 50
"""The most missing programs that a renamed one is compared with, since each comparison takes proofs.

If more are missing, all of them count as possible predecessors.
"""


def _doubted(comparing: _Comparing, target: Target, new: LockEntry) -> CostChange | None:
    """Report that a renamed program may be the successor of another, cheaper program; None if it is not."""
    base, others = comparing.base, comparing.pairs.others
    if not others or comparing.pairs.sure(target.name):
        return None
    less = others
    if len(others) <= _MOST_OTHERS:
        less = tuple(n for n in others if n in base.broken or _is_costlier(base.entries[n], new))
    note = f"it may be what became of {', '.join(map(quoted, less[:3]))}, which is not there any more"
    return CostChange(target.name, "undecided", file=target.file, notes=(note,)) if less else None


def _is_costlier(old: LockEntry, new: LockEntry) -> bool:
    """Whether some figure is not proved to be at most the old one."""
    changes = (judge(old, new, metric) for metric, _ in new.figures)
    return any(change.kind not in ("same", "cheaper") for change in changes)


def _of_rules(
    comparing: _Comparing, target: Target, was: str, old: LockEntry, new: LockEntry
) -> Iterator[CostChange]:
    """Report changed rules, with the reason if someone accepted exactly the current rules."""
    changed = tuple(changed_rules(old.rules, new.rules))
    if changed:
        agreed = comparing.lock.agreed
        found = agreed.get(target.name, agreed.get(was))
        why = found.why if found is not None and found.digest == rules_digest(new.rules) else None
        yield CostChange(target.name, "rules", file=target.file, notes=changed, why=why)


def _unmatched(comparing: _Comparing, target: Target) -> CostChange:
    """Report a program without an old entry: new, unless a missing program could be its predecessor."""
    base, unclear = comparing.base, comparing.pairs.unclear
    found = comparing.outcomes[target.name].entry
    figures = () if found is None else new_figures(found, partial(comparing.points, target.name))
    change = CostChange(target.name, "new", file=target.file, figures=figures)
    if target.name in base.broken:
        return replace(change, kind="undecided", notes=(f"{base.label}: {base.broken[target.name]}",))
    if unclear and base.is_revision:
        note = f"it may be what became of {', '.join(map(quoted, unclear[:3]))}, which is not there any more"
        return replace(change, kind="undecided", notes=(note,))
    return change


def _broken(target: Target, problems: Sequence[Diagnostic]) -> CostChange:
    return _unread(CostChange(target.name, "broken", file=target.file), *problems)


def _unread(change: CostChange, first: Diagnostic, *others: Diagnostic) -> CostChange:
    """Say what cannot be read: the first mistake with its place and hint, and the number of others."""
    at, notes = None, [] if first.hint is None else [f"hint: {first.hint}"]
    if first.span.source is not NOWHERE.source:
        at = BlamedLine(first.span.source.name, place(first.span).line if first.span.source.text else 1)
    notes += [f"and {len(others)} more mistake{'s' if len(others) > 1 else ''}"] if others else []
    return replace(change, new=f"{first.code} {first.message}", place=at, notes=tuple(notes))


def _judged(
    old: LockEntry,
    new: LockEntry,
    metric: str,
    parts: Callable[[], tuple[Contributions, Contributions | None]],
    sizes: Mapping[str, int],
) -> CostChange:
    """Judge a figure; if it is not good, judge again with its parts, and find the line behind it.

    Parts are known not to be negative, which helps proofs, but finding them takes another analysis.
    """
    change = judge(old, new, metric, sizes=sizes)
    if change.kind not in ("costlier", "crosses", "undecided"):
        return change
    now, was = parts()
    if change.kind == "undecided" or (change.kind == "costlier" and change.region is not None):
        change = judge(old, new, metric, _counts(was or (), metric), _counts(now, metric), sizes)
    if change.kind in ("costlier", "crosses") and change.example is not None:
        return replace(change, place=blame(was, now, metric, change.example))
    return change


def _counts(parts: Contributions, metric: str) -> list[Poly]:
    return [part.counts[metric] for part in parts if metric in part.counts]


def _why(entry: LockEntry | None, new: LockEntry, change: CostChange) -> str | None:
    """Return the reason for a figure, or for all of a program, unless one exceeds its accepted value."""
    if entry is None or change.kind not in ("costlier", "crosses", "undecided"):
        return None
    metrics = [change.metric] if change.metric else [metric for metric, _ in new.figures]
    reasons = [_reason(entry, new, metric) for metric in metrics]
    return reasons[0] if reasons and None not in reasons else None


def _reason(entry: LockEntry, new: LockEntry, metric: str) -> str | None:
    agreed, accepted = entry.agreed(metric), entry.as_agreed(metric)
    if agreed is None or accepted is None:
        return None
    return agreed.why if judge(accepted, new, metric).kind in ("same", "cheaper", "not costlier") else None


# === Updates of a lock file after a check; two processes that write at once keep each other's entries.
#
# A writer holds a lock on the folder, reads the file again, and changes only the entries that it computed.
# An entry that another process wrote meanwhile stays: the next check reports it if it is out of date.


T = TypeVar("T")
Write = Callable[[Path, bytes], None]


def write_merged(root: Path, read: Lock | None, new: Lock, write: Write) -> None:
    """Write a new lock file, merged with the changes that others made since the old one was read."""
    path = root / LOCK_NAME
    with _alone(root):
        now = load_lock(path, merging=True)
        merged = new if now is None or now.conflicted or now.outdated else _merged(read or Lock(), now, new)
        data = write_lock(merged).encode("utf-8")
        if not path.exists() or path.read_bytes() != data:
            write(path, data)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes the lock file of a folder, on systems that have ``flock``."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _merged(read: Lock, now: Lock, new: Lock) -> Lock:
    """Return the new lock, except for programs that others have changed meanwhile: theirs stay."""
    names = {name for lock in (read, now) for table in _tables(lock) for name in table}
    theirs = {name for name in names if _told(now, name) != _told(read, name)}
    return replace(
        new,
        entries=_with_theirs(new.entries, now.entries, theirs),
        seals=_with_theirs(new.seals, now.seals, theirs),
        agreed=_with_theirs(new.agreed, now.agreed, theirs),
    )


def _tables(lock: Lock) -> tuple[Mapping[str, object], ...]:
    return lock.entries, lock.seals, lock.agreed


def _told(lock: Lock, name: str) -> tuple[object, ...]:
    """Return everything that a lock records about a program."""
    return tuple(table.get(name) for table in _tables(lock))


def _with_theirs(ours: Mapping[str, T], now: Mapping[str, T], theirs: set[str]) -> dict[str, T]:
    kept = {name: value for name, value in ours.items() if name not in theirs}
    return kept | {name: now[name] for name in theirs if name in now}


def updated(config: Config, lock: Lock, checked: Checked, prune: bool, tool: str) -> Lock:
    """Return the lock file with the current figures.

    Entries that were not computed stay.  Entries of missing programs stay unless ``prune`` is set.
    """
    entries = dict(lock.entries)
    renamed = {c.name: c.old for c in checked.report.changes if c.kind == "renamed"}
    for name in (*renamed.values(), *(checked.gone if prune else ())):
        entries.pop(name, None)
    for name, entry in checked.entries.items():
        before = lock.entries.get(name, lock.entries.get(renamed.get(name, "")))
        entries[name] = replace(entry, accepted=_still_agreed(before, entry))
    found = new_seals(checked.origins, config, checked.asked, checked.entries)
    seals = {n: seal for n, seal in {**lock.seals, **found}.items() if n in entries and config.seal}
    return Lock(entries, tool, costs_version(), seals, agreed=_still_agreed_rules(lock, entries, prune))


def _still_agreed_rules(lock: Lock, entries: Mapping[str, LockEntry], prune: bool) -> dict[str, AgreedRules]:
    """Keep reasons for rules that are unchanged, and for reduced checks until they are pruned."""
    return {
        name: agreed
        for name, agreed in lock.agreed.items()
        if (agreed.digest == rules_digest(entries[name].rules) if name in entries else not prune)
    }


def _still_agreed(old: LockEntry | None, new: LockEntry) -> tuple[tuple[str, Accepted], ...]:
    """Keep reasons for figures that are unchanged, and whose names have the same meaning as before."""
    before = () if old is None else old.accepted
    meaning = (new.domain, new.source)
    return tuple(
        (metric, agreed)
        for metric, agreed in before
        if new.figure(metric) == agreed.figure and (agreed.domain, agreed.source) == meaning
    )


def accepted(lock: Lock, checked: Checked, pattern: str, why: str) -> tuple[Lock, tuple[str, ...]]:
    """Add a reason for each failure of the programs that a pattern matches to the lock file.

    The result is the new lock file, and the names of these programs.
    """
    costlier = [
        change
        for change in checked.report.changes
        if (change.name in checked.entries or change.kind == "excluded")
        and (change.name == pattern or fnmatchcase(change.name, pattern))
        and severity(replace(change, why=None), new_fails=False)
    ]
    if not costlier:
        known = [name for name in checked.entries if name == pattern or fnmatchcase(name, pattern)]
        message = f"{quoted(pattern)} {'is not costlier' if known else 'matches no program'}"
        refuse("T0722", message, hint="the names are those that `tolcost check` shows")
    rules = [change for change in costlier if change.is_of_rules]
    figures = [change for change in costlier if not change.is_of_rules]
    agreed = {change.name: AgreedRules(why, _agreed_digest(checked, change)) for change in rules}
    entries = dict(lock.entries)
    asked = {
        (change.name, metric): None
        for change in figures
        for metric in ([change.metric] if change.metric else dict(checked.entries[change.name].figures))
    }
    for name, metric in asked:
        now = checked.entries[name]
        entry, figure = entries.get(name, now), now.figure(metric)
        if figure is not None:
            one = Accepted(why, figure, now.domain, now.source)
            others = (item for item in entry.accepted if item[0] != metric)
            kept = sorted((*others, (metric, one)), key=lambda item: item[0])
            entries[name] = replace(entry, accepted=tuple(kept))
    new = replace(lock, entries=entries, agreed={**lock.agreed, **agreed})
    return new, tuple(dict.fromkeys(change.name for change in costlier))


def _agreed_digest(checked: Checked, change: CostChange) -> str:
    entry = checked.entries.get(change.name)
    return words_digest(change.notes) if entry is None else rules_digest(entry.rules)


def notes_on(lock: Lock, tool: str, costs: str) -> Iterator[str]:
    """Describe how a lock file differs from one that this version of tolcost would write."""
    if lock.tool != tool:
        yield f"{LOCK_NAME} was written by tolcost {lock.tool or '(unknown)'}, this is {tool}"
    if lock.costs != costs:
        yield f"{LOCK_NAME} was written with cost model {lock.costs or '(unknown)'}, this is {costs}"
    bare = sum(entry.rules is None for entry in lock.entries.values())
    if bare:
        yield f"what {bare:,} of the programs rest on is not in {LOCK_NAME}: `tolcost check --update` adds it"
