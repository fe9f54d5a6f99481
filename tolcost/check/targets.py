"""Which programs a check is about: files below the given paths, and the cases a project names.

The name of a program is its path from the project's folder, with ``#case`` where it has cases.  Links
are followed to what they name, as long as that is in the repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.check.config import Config, ProgramCase
from tolcost.check.records import LockEntry, file_of
from tolcost.diagnostics import NOWHERE, Diagnostic, InternalError, Rejected, Span, quoted, refuse

if TYPE_CHECKING:
    from tolcost.catalogue.workers import WorkProgress

SUFFIXES = (".tol", ".onnx")
_SKIPPED = ("__pycache__", "node_modules")
_MOST_FOLDERS = 100_000


class Target(Struct, frozen=True):
    """One program to check: its name, its file from the project's folder, what is said of its inputs."""

    name: str
    file: str
    case: ProgramCase = field(default_factory=ProgramCase)

    @property
    def is_model(self) -> bool:
        """Whether it is a model of ONNX rather than a program of ours."""
        return self.file.lower().endswith(".onnx")


def targets(config: Config, asked: Sequence[Path] = ()) -> tuple[Target, ...]:
    """The programs of a project, or those below some paths, sorted by name."""
    missing = [file for file in config.cases if not (config.root / file).is_file()]
    idle = [] if asked or config.paths == (".",) else [p for p in config.paths if not _matching(config, p)]
    if missing or idle:  # what is said of a program that is not there would never be checked
        cases = (Diagnostic("T0713", f"cases of {quoted(file)}, which is not there") for file in missing)
        paths = (Diagnostic("T0713", f"`paths` names {quoted(p)}, where there is no program") for p in idle)
        raise Rejected(*cases, *paths)
    if asked:
        return _named(config, (file for path in asked for file in _below(config, path)))
    return programs(config)


def programs(config: Config) -> tuple[Target, ...]:
    """What the settings of a project name, whether or not each of them names something."""
    listed = (file for pattern in config.paths for file in _matching(config, pattern))
    cases = (file for file in config.cases if (config.root / file).is_file())
    return _named(config, (*listed, *cases))


def _named(config: Config, files: Iterable[str]) -> tuple[Target, ...]:
    kept = (file for file in set(files) if excluded_by(config, file) is None)
    return tuple(sorted((t for file in kept for t in _cases(config, file)), key=lambda target: target.name))


def excluded_by(config: Config, file: str) -> str | None:
    """The pattern that keeps a file out of a check, if one does."""
    return next((pattern for pattern in config.exclude if fnmatchcase(file, pattern)), None)


def covers(asked: Iterable[Path], config: Config, name: str) -> bool:
    """Whether an entry of a lock file is among what was asked for; all are where nothing was."""
    file = PurePosixPath(file_of(name))
    prefixes = [PurePosixPath(_relative(config, path)) for path in asked]
    return not prefixes or any(file == prefix or prefix in file.parents for prefix in prefixes)


def _cases(config: Config, file: str) -> Iterator[Target]:
    cases = config.cases.get(file, ())
    if not cases:
        yield Target(file, file)
    for case in cases:
        yield Target(f"{file}#{case.label}", file, case)


def _below(config: Config, path: Path) -> Iterator[str]:
    """The programs that a path given by a user stands for."""
    name = _relative(config, path)
    if path.is_dir():
        yield from _programs_below(config, name)
    elif path.is_file():
        yield name
    else:
        refuse("T0721", f"there is no {quoted(str(path))}")


def _relative(config: Config, path: Path) -> str:
    try:
        return Path(os.path.abspath(path)).relative_to(config.root).as_posix()
    except ValueError:
        message = f"{quoted(str(path))} is outside of the project, {quoted(str(config.root))}"
        raise Rejected(Diagnostic("T0721", message)) from None


def _matching(config: Config, pattern: str) -> list[str]:
    """The programs that a path or a pattern of the settings stands for."""
    if (config.root / pattern).is_dir():
        return list(_programs_below(config, PurePosixPath(pattern).as_posix()))
    if (config.root / pattern).is_file():
        return [PurePosixPath(pattern).as_posix()]
    return [file for file in _programs_below(config, ".") if fnmatchcase(file, pattern)]


def _programs_below(config: Config, folder: str) -> Iterator[str]:
    for file in files_below(config.root / folder, _SKIPPED):
        name = PurePosixPath(file).name
        if name.lower().endswith(SUFFIXES) and not name.startswith("."):
            yield (PurePosixPath(folder) / file).as_posix()


# ---- links ----------------------------------------------------------------------------------------


def repository_of(root: Path) -> Path:
    """The folder of the repository that a project belongs to; its own where there is none."""
    real = Path(os.path.realpath(root))
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)


def outside(root: Path, asked: Iterable[Target]) -> frozenset[str]:
    """The files that are links, or stand behind one, to something outside of the repository."""
    top = os.path.join(repository_of(root), "")
    files = {target.file for target in asked}
    real = {file: os.path.join(os.path.realpath(os.path.join(root, file)), "") for file in files}
    return frozenset(file for file in files if not real[file].startswith(top))


def refuse_links_out(config: Config, lock: str) -> None:
    """Refuse settings, a lock file or definitions that somebody outside of the repository decides on."""
    own = (f"{folder}/{file}" for folder in config.specs for file in _definitions_below(config.root / folder))
    files = (file for file in (config.source.name, lock, *config.specs, *own) if file)
    for file in sorted(outside(config.root, (Target(file, file) for file in files))):
        refuse("T0721", f"{quoted(file)} is a link that leads out of the repository")


def _definitions_below(folder: Path) -> Iterator[str]:
    """The files of definitions below a folder, and links to other places where there are some."""
    for path in files_below(folder) if folder.is_dir() else ():
        file = folder / path
        if any(file.glob("*.tol")) if file.is_dir() else path.endswith((".tol", ".toml")):
            yield path


def astray(root: Path, file: str) -> str:
    """Why a file that was a program cannot be found: it is behind a link that leads out, or nowhere."""
    if outside(root, [Target(file, file)]):
        return f"{quoted(file)} is behind a link that leads out of the repository"
    above = (root / folder for folder in PurePosixPath(file).parents)
    lost = any(folder.is_symlink() and not folder.exists() for folder in above)
    return f"{quoted(file)} is behind a link that leads nowhere" if lost else ""


def files_below(folder: Path, skipped: Sequence[str] = ()) -> Iterator[str]:
    """The files below a folder, from there, through links; hidden folders are passed by.

    A link to a folder outside of the repository is not followed: it counts as a file.
    """
    top = os.path.join(repository_of(folder), "")
    todo: list[tuple[str, tuple[str, ...]]] = [("", ())]
    seen = 0
    while todo:
        place, above = todo.pop()
        real = os.path.realpath(folder / place)
        seen += 1
        if seen > _MOST_FOLDERS:
            refuse("T0721", f"{quoted(str(folder))} has too many folders, or links to them")
        if real in above:
            continue  # a link to a folder that it stands in
        for entry in sorted(os.scandir(folder / place), key=lambda entry: entry.name):
            path = f"{place}/{entry.name}" if place else entry.name
            inside = not entry.is_symlink() or os.path.realpath(entry.path).startswith(top)
            if not entry.is_dir() or not inside:
                yield path
            elif not entry.name.startswith(".") and entry.name not in skipped:
                todo.append((path, (*above, real)))


# === Analysing the programs of a check: what is known is not analysed, many are spread over processes.
#
# The gate itself does not know how programs are read: a ``Costing`` is given to it.  A program that is
# rejected is an outcome like any other.  A failure of our own ends the check: the gate must not
# pass, or fail, because of a bug.


class Contribution(Struct, frozen=True):
    """What one place or one operator contributes, by metric."""

    what: str
    counts: Mapping[str, Poly]
    span: Span = NOWHERE


class Costed(Struct, frozen=True):
    """A program that was analysed."""

    entry: LockEntry
    parts: tuple[Contribution, ...] = ()


Costing: TypeAlias = Callable[[Config, Target], Costed]
"""Analyse a program of a project under its settings; ``Rejected`` where it cannot be."""

_SECONDS = 600.0
_FEW = 24
"""So few programs are sooner analysed than processes started."""


class Analysed(Struct, frozen=True):
    """The entry of a program, or why there is none."""

    entry: LockEntry | None
    problems: tuple[Diagnostic, ...] = ()
    bug: str = ""


class Computing(Struct, frozen=True):
    """How programs are analysed, over how many processes, and who is told how far it is."""

    costing: Costing
    jobs: int | None = None
    told: WorkProgress | None = None

    def entries(
        self, config: Config, targets: Sequence[Target], known: Mapping[str, LockEntry] | None = None
    ) -> dict[str, Analysed]:
        """The outcome of programs of a project, by name; those whose entries are known are not analysed."""
        known = known or {}
        analysed = self._analysed(config, [target for target in targets if target.name not in known])
        found = {target.name: outcome for target, outcome in analysed}
        return {t.name: Analysed(known[t.name]) if t.name in known else found[t.name] for t in targets}

    def _analysed(self, config: Config, targets: Sequence[Target]) -> Iterator[tuple[Target, Analysed]]:
        from tolcost.catalogue.workers import spread

        def work(n: int) -> Analysed:
            return _outcome(config, targets[n], self.costing)

        def lost(n: int, why: str) -> Analysed:
            return Analysed(None, (Diagnostic("T0505", f"{targets[n].name}: {why}"),))

        workers = min(self.jobs or os.cpu_count() or 1, len(targets)) if len(targets) > _FEW else 1
        for done, (n, outcome) in enumerate(spread(work, len(targets), lost, workers, _SECONDS), start=1):
            if outcome.bug:
                raise InternalError(f"{targets[n].name}: {outcome.bug}")
            if self.told is not None:
                self.told(done, len(targets), targets[n].name)
            yield targets[n], outcome


def _outcome(config: Config, target: Target, costing: Costing) -> Analysed:
    try:
        return Analysed(costing(config, target).entry)
    except Rejected as rejected:
        return Analysed(None, rejected.diagnostics)
    except Exception as error:  # a child cannot raise into its parent
        return Analysed(None, bug=f"{type(error).__name__}: {error}"[:300])
