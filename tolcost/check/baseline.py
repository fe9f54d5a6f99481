"""What a check compares with: the entries of a lock file, or the programs of a git revision.

Both give entries by the names that programs have now, so that renamed files are followed.  The
parts of an old program, for naming the line that grew, are found when asked for: a revision has
them, and for a lock file they are those of the commit at which the program cost what is locked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tolcost.check import git
from tolcost.check.config import Config
from tolcost.check.costing import Analysed, Computing, Contribution
from tolcost.check.lockfile import LOCK_NAME
from tolcost.check.records import LockEntry
from tolcost.check.targets import SUFFIXES, Target, targets
from tolcost.diagnostics import Rejected

Contributions = Callable[[Target, LockEntry], "Sequence[Contribution] | None"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Old entries by the present names of their programs, and which of them had another name."""

    label: str
    entries: Mapping[str, LockEntry]
    parts: Contributions
    renamed: Mapping[str, str] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    """Programs that cannot differ: neither they nor anything they may use has changed."""


# ---- the lock file --------------------------------------------------------------------------------


def locked(
    config: Config, entries: Mapping[str, LockEntry], present: Mapping[str, LockEntry], computing: Computing
) -> Baseline:
    """The entries of a lock file; one that only changed its name is found by all its figures."""
    renamed = _renames(entries, present)
    old = {now: entries[was] for now, was in renamed.items()}
    kept = {name: entry for name, entry in entries.items() if name not in renamed.values()}
    return Baseline(LOCK_NAME, {**kept, **old}, _History(config, computing).parts, renamed)


def _renames(entries: Mapping[str, LockEntry], present: Mapping[str, LockEntry]) -> dict[str, str]:
    """Old names by new ones, where one program left and an equal one came; none where that is not clear."""
    gone: dict[LockEntry, list[str]] = {}
    for name, entry in entries.items():
        if name not in present:
            gone.setdefault(entry.plain(""), []).append(name)
    found: dict[str, str] = {}
    for name, entry in present.items():
        candidates = gone.get(entry.plain(""), []) if name not in entries else []
        alike = [old for old in candidates if Path(old).name == Path(name).name] or candidates
        if len(alike) == 1 and alike[0] not in found.values():
            found[name] = alike[0]
    return found


@dataclass(frozen=True, slots=True)
class _History:
    """Looks up old versions of programs in git."""

    config: Config
    computing: Computing

    def parts(self, target: Target, locked: LockEntry) -> Sequence[Contribution] | None:
        """The parts of the version that cost what is locked; None where no such version is found."""
        root = self.config.root
        commits = dict.fromkeys(("HEAD", git.last_change(root, LOCK_NAME)))
        for commit in commits:
            text = None if commit is None else git.file_at(root, commit, target.file)
            found = None if text is None else self._cost(text, target)
            if found is not None and found[0].figures == locked.figures:
                return found[1]
        return None

    def _cost(self, text: bytes, target: Target) -> tuple[LockEntry, Sequence[Contribution]] | None:
        with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
            file = Path(folder) / target.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
            try:
                costed = self.computing.one(Path(folder), target)
            except Rejected:
                return None
        return costed.entry, costed.parts


# ---- a revision -----------------------------------------------------------------------------------


@contextmanager
def at_revision(
    config: Config,
    revision: str,
    now: Sequence[Target],
    computing: Computing,
) -> Iterator[Baseline]:
    """The programs of a revision, analysed by this very tolcost."""
    commit = git.resolve(config.root, revision)
    files = git.files_at(config.root, commit)
    changes = git.differences(config.root, commit)
    with tempfile.TemporaryDirectory(prefix="tolcost-") as name:
        folder = Path(name)
        needed = {path: blob for path, blob in files.items() if _is_needed(path, config, changes)}
        git.check_out(config.root, needed.items(), folder)
        then = {target.name: target for target in _targets_then(config, folder)}
        former = {t.name: _former(t, changes.renamed) for t in now}
        settled = frozenset(t.name for t in now if t.file in files and _is_settled(t, config, changes))
        asked = [then[was] for was in dict.fromkeys(former.values()) if was in then and was not in settled]
        gone = [t for t in then.values() if t.name not in former.values()]
        found = computing.entries(folder, asked)
        old = {now_: found[was] for now_, was in former.items() if was in found}
        yield Baseline(
            label=f"git {revision}",
            entries={**_entries(old), **{t.name: LockEntry(t.name) for t in gone}},
            parts=_Revision(folder, then, former, computing).parts,
            renamed={now_: was for now_, was in former.items() if now_ != was and was in found},
            broken=frozenset(name for name, outcome in old.items() if outcome.entry is None),
            settled=settled,
        )


def _entries(outcomes: Mapping[str, Analysed]) -> dict[str, LockEntry]:
    return {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}


def _is_needed(path: str, config: Config, changes: git.Differences) -> bool:
    """Programs are small; of models, only those that changed are worth their size."""
    library = any(_is_below(path, folder) for folder in config.specs)
    return path.endswith(".tol") or library or (path.endswith(SUFFIXES) and path in changes.changed)


def _is_below(path: str, folder: str) -> bool:
    plain = Path(folder).as_posix()
    return plain == "." or path.startswith(f"{plain}/")


def _targets_then(config: Config, folder: Path) -> Sequence[Target]:
    """What the settings of today would have checked in an older tree."""
    cases = {file: cases for file, cases in config.cases.items() if (folder / file).is_file()}
    paths = tuple(path for path in config.paths if (folder / path).exists() or "*" in path)
    old = Config(folder, paths, config.exclude, config.metrics, config.specs, cases=cases)
    try:
        return targets(old) if paths else ()
    except Rejected:  # a pattern that matched nothing then
        return ()


def _former(target: Target, renamed: Mapping[str, str]) -> str:
    return target.name.replace(target.file, renamed.get(target.file, target.file), 1)


def _is_settled(target: Target, config: Config, changes: git.Differences) -> bool:
    """Whether neither a program nor a folder that it may take something from has changed."""
    library = any(_is_below(path, folder) for folder in config.specs for path in changes.changed)
    return target.file not in changes.changed and not library


@dataclass(frozen=True, slots=True)
class _Revision:
    """The parts of programs as they were at a revision."""

    folder: Path
    then: Mapping[str, Target]
    former: Mapping[str, str]
    computing: Computing

    def parts(self, target: Target, entry: LockEntry) -> Sequence[Contribution] | None:
        """The parts of the former version of a program."""
        old = self.then.get(self.former.get(target.name, ""))
        try:
            return None if old is None else self.computing.one(self.folder, old).parts
        except Rejected:
            return None
