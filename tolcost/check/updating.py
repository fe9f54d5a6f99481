"""What is written to a lock file after a check; two who write at once lose nothing of each other's.

Whoever writes holds a lock on the folder, reads the file again, and changes only what it found itself.
An entry that somebody else has written meanwhile stays: the next check tells if it does not fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from tolcost.check.config import Config
from tolcost.check.gate import Checked
from tolcost.check.lockfile import LOCK_NAME, Lock, load_lock, write_lock
from tolcost.check.records import Accepted, LockEntry, severity
from tolcost.check.seals import costs_version, new_seals
from tolcost.diagnostics import quoted, refuse

T = TypeVar("T")
Write = Callable[[Path, bytes], None]


def write_merged(root: Path, read: Lock | None, new: Lock, write: Write) -> None:
    """Write a lock file that was made from one that was read, with what others have written meanwhile."""
    path = root / LOCK_NAME
    with _alone(root):
        now = load_lock(path, merging=True)
        merged = new if now is None or now.conflicted else _merged(read or Lock(), now, new)
        data = write_lock(merged).encode("utf-8")
        if not path.exists() or path.read_bytes() != data:
            write(path, data)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until nobody else writes the lock file of a folder, where the system can tell."""
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
    """The new lock, but for entries that are not what they were when it was read."""
    names = now.entries.keys() | read.entries.keys()
    theirs = {name for name in names if now.entries.get(name) != read.entries.get(name)}
    return replace(
        new,
        entries=_with_theirs(new.entries, now.entries, theirs),
        seals=_with_theirs(new.seals, now.seals, theirs),
    )


def _with_theirs(ours: Mapping[str, T], now: Mapping[str, T], theirs: set[str]) -> dict[str, T]:
    kept = {name: value for name, value in ours.items() if name not in theirs}
    return kept | {name: now[name] for name in theirs if name in now}


def updated(config: Config, lock: Lock, checked: Checked, prune: bool, tool: str) -> Lock:
    """The lock file with the figures of today; what was not computed stays, and what is gone if asked to."""
    entries = dict(lock.entries)
    renamed = {c.name: c.old for c in checked.report.changes if c.kind == "renamed"}
    for name in (*renamed.values(), *(checked.gone if prune else ())):
        entries.pop(name, None)
    for name, entry in checked.entries.items():
        before = lock.entries.get(name, lock.entries.get(renamed.get(name, "")))
        entries[name] = replace(entry, accepted=_still_agreed(before, entry))
    found = new_seals(checked.origins, config, checked.asked, checked.entries)
    seals = {n: seal for n, seal in {**lock.seals, **found}.items() if n in entries and config.seal}
    return Lock(entries, tool, costs_version(), seals)


def _still_agreed(old: LockEntry | None, new: LockEntry) -> tuple[tuple[str, Accepted], ...]:
    """Reasons for figures that still stand, of names that mean what they meant."""
    before = () if old is None else old.accepted
    meaning = (new.inputs, new.where, new.source)
    return tuple(
        (metric, agreed)
        for metric, agreed in before
        if new.figure(metric) == agreed.figure and (agreed.inputs, agreed.where, agreed.source) == meaning
    )


def accepted(lock: Lock, checked: Checked, pattern: str, why: str) -> tuple[Lock, tuple[str, ...]]:
    """The lock file with a reason for every costlier figure of the programs that a pattern matches."""
    names = [name for name in checked.entries if name == pattern or fnmatchcase(name, pattern)]
    asked = {
        (change.name, metric): None
        for change in checked.report.changes
        if change.name in names and severity(replace(change, why=None), new_fails=False)
        for metric in ([change.metric] if change.metric else dict(checked.entries[change.name].figures))
    }
    if not asked:
        message = (
            f"{quoted(pattern)} matches no program" if not names else f"{quoted(pattern)} is not costlier"
        )
        refuse("T0722", message, hint="the names are those that `tolcost check` shows")
    entries = dict(lock.entries)
    for name, metric in asked:
        now = checked.entries[name]
        entry, figure = entries.get(name, now), now.figure(metric)
        if figure is not None:
            agreed = Accepted(why, figure, now.inputs, now.where, now.source)
            others = (item for item in entry.accepted if item[0] != metric)
            kept = sorted((*others, (metric, agreed)), key=lambda item: item[0])
            entries[name] = replace(entry, accepted=tuple(kept))
    return replace(lock, entries=entries), tuple(dict.fromkeys(name for name, _ in asked))


def notes_on(lock: Lock, tool: str, costs: str) -> Iterator[str]:
    """What to say of a lock file that another tolcost has written."""
    if lock.tool != tool:
        yield f"{LOCK_NAME} was written by tolcost {lock.tool or '(unknown)'}, this is {tool}"
    if lock.costs != costs:
        yield f"{LOCK_NAME} was written with cost model {lock.costs or '(unknown)'}, this is {costs}"
