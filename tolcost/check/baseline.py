"""What a check compares with: the entries of a lock file, or the programs of a git revision.

A revision is read under its own settings, so that one which changed does not hide what they were.
Programs that have another name now are found by what they are: equal figures, or the only ones whose
inputs fit.  Where that is not clear nothing is guessed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tolcost.check.config import Config, config_of, narrowed
from tolcost.check.costing import Analysed, Computing, Contribution, Costed
from tolcost.check.lockfile import LOCK_NAME, Lock
from tolcost.check.matching import shapes
from tolcost.check.records import LockEntry, file_of
from tolcost.check.revision import Former, file_at, last_change
from tolcost.check.seals import Origins
from tolcost.check.targets import Target, covers, programs
from tolcost.dataclass import dataclass, field, replace
from tolcost.diagnostics import Rejected

Contributions: TypeAlias = Sequence[Contribution]


@dataclass(frozen=True, slots=True)
class GateTask:
    """What is to be checked, and how programs are analysed."""

    config: Config
    computing: Computing
    asked: tuple[Path, ...] = ()
    strict: bool = False
    fresh: bool = False
    """Whether every program is analysed, sealed or not."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a check compares with: old entries by their old names.

    ``broken`` says why there is no entry of a program that was there; ``settled`` are programs that
    cannot differ; ``left_out`` is what settings of now do not ask for, and ``doubt`` why that is not
    known.  The parts of an old program are found when they are asked for, to name the line that grew.
    """

    label: str
    entries: Mapping[str, LockEntry]
    parts: Callable[[str, Target], Contributions | None]
    broken: Mapping[str, str] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    doubt: str = ""
    is_revision: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """Looks up old versions of programs in git."""

    gate: GateTask
    lock: Lock

    def parts(self, name: str, target: Target) -> Contributions | None:
        """The parts of the version that cost what is locked; None where no such version is found."""
        root, file = self.gate.config.root, file_of(name)
        for commit in dict.fromkeys(("HEAD", last_change(root, LOCK_NAME))):
            text = None if commit is None else file_at(root, commit, file)
            found = None if text is None else self._cost(text, replace(target, file=file))
            if found is not None and found.entry.figures == self.lock.entries[name].figures:
                return found.parts
        return None

    def _cost(self, text: bytes, target: Target) -> Costed | None:
        config = self.gate.config
        libraries = tuple(map(str, config.libraries))
        with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
            file = Path(folder) / target.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
            try:
                return self.gate.computing.costing(
                    replace(config, root=Path(folder), first_specs=libraries, specs=()), target
                )
            except Rejected:  # without it, no line is named
                return None


def at_revision(gate: GateTask, revision: str, former: Former, asked: Sequence[Target]) -> Baseline:
    """The programs of a revision, under the settings of then, analysed by this very tolcost.

    What only the settings of now ask for is compared as well, if it was there.
    """
    config = gate.config
    before, left_out, doubt = _settings_then(gate, revision, former)
    today = replace(before, paths=config.paths, exclude=config.exclude, cases=config.cases)
    then = {target.name: target for target in (*programs(today), *programs(before))}
    was, now = Origins(before), Origins(config)
    sources = {t.name: now.source(t) for t in asked if t.name in then}
    settled = frozenset(n for n, source in sources.items() if source and source == was.source(then[n]))
    needed = [t for t in then.values() if t.name not in settled and covers(gate.asked, config, t.name)]
    found = gate.computing.entries(before, needed)
    marked = {target.name: marked_entry(found[target.name], target, was) for target in needed}
    lost = {t.name: why for t in asked if (why := _lost(former, t, was, now))}

    def parts(name: str, target: Target) -> Contributions | None:
        return gate.computing.costing(before, then[name]).parts if name in then else None

    return Baseline(
        label=f"git {revision}",
        entries={
            **{name: LockEntry(name) for name in settled},
            **{name: entry for name, entry in entries_of(marked).items() if name not in lost},
        },
        parts=parts,
        broken={
            **{n: f"it could not be read: {o.problems[0].message}" for n, o in found.items() if o.problems},
            **{name: why for name, why in lost.items() if name not in settled},
        },
        settled=settled,
        left_out=left_out,
        doubt=doubt,
        is_revision=True,
    )


def _lost(former: Former, target: Target, was: Origins, now: Origins) -> str | None:
    """Why what a program was cannot be told though it can be read: something that it used is not here."""
    if was.libraries is None and now.libraries is not None:
        return "a library of then cannot be read"
    folders = (*was.config.first_specs, *was.config.specs)
    return former.lacks(target.file, [Path(folder).as_posix() for folder in folders])


def _settings_then(gate: GateTask, revision: str, former: Former) -> tuple[Config, tuple[str, ...], str]:
    """The settings of a revision, what those of now leave out, and why nothing is known of that if so."""
    config = gate.config
    try:
        own, doubt = config_of(former.root), ""
    except Rejected as rejected:
        own = config
        doubt = f"the settings of {revision} cannot be read: {rejected.diagnostics[0].message}"
    before = replace(own, root=former.root, metrics=config.metrics, first_specs=config.first_specs)
    return before, tuple(narrowed(own, config)), doubt


def entries_of(outcomes: Mapping[str, Analysed]) -> dict[str, LockEntry]:
    """The entries of the programs that could be read."""
    return {name: outcome.entry for name, outcome in outcomes.items() if outcome.entry is not None}


# ---- which is which -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pairs:
    """Old names of programs that have another one now, and what is gone beside those that are new."""

    renamed: Mapping[str, str]
    gone: tuple[str, ...]
    unclear: tuple[str, ...]
    """Programs that are gone, and nothing says which of the new ones they became, if any."""


def paired(base: Baseline, asked: Sequence[Target], present: Mapping[str, LockEntry], root: Path) -> Pairs:
    """Find out which programs have another name: equal ones, then those that are the only ones alike.

    A program whose file is still there did not become another file: it is not checked any more.
    """
    names = {target.name for target in asked}
    come = {n: e for n, e in present.items() if n not in base.entries and n not in base.broken}
    files = {file_of(name) for name in come}
    lost = {n: e for n, e in base.entries.items() if n not in names}
    gone = {n: e for n, e in lost.items() if file_of(n) in files or not (root / file_of(n)).is_file()}
    found: dict[str, str] = {}
    for key, is_enough in _LIKENESS:
        news, olds = _grouped(come, key), _grouped(gone, key)
        for alike in news.keys() & olds.keys():
            if is_enough or len(news[alike]) == len(olds[alike]) == 1:
                found.update(zip(news[alike], olds[alike], strict=False))
        come = {name: entry for name, entry in come.items() if name not in found}
        gone = {name: entry for name, entry in gone.items() if name not in found.values()}
    left = tuple(sorted({*lost, *base.broken} - {*found.values()} - names))
    return Pairs(found, left, left if come else ())


def _grouped(entries: Mapping[str, LockEntry], key: Callable[[LockEntry], object]) -> dict[object, list[str]]:
    groups: dict[object, list[str]] = {}
    for name in sorted(entries):
        groups.setdefault(key(entries[name]), []).append(name)
    return groups


def _figures(entry: LockEntry) -> object:
    return entry.plain("")


def _ranks(entry: LockEntry) -> object:
    return tuple(tuple(len(part) for part in parts) for parts in shapes(entry).values())


def _file_name(entry: LockEntry) -> str:
    return entry.name.rpartition("/")[2]


_LIKENESS: tuple[tuple[Callable[[LockEntry], object], bool], ...] = (
    (lambda entry: (_figures(entry), _file_name(entry)), True),
    (_figures, True),
    (lambda entry: (_ranks(entry), _file_name(entry)), False),
    (_ranks, False),
)
"""By what programs with other names are taken for the same; and whether any of several will do."""


def marked_entry(outcome: Analysed, target: Target, origins: Origins) -> Analysed:
    """An outcome with the digest of its source, where that matters."""
    return outcome if outcome.entry is None else Analysed(origins.marked(target, outcome.entry))
