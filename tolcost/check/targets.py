"""Find the programs of a check: files below the given paths, and the cases that the settings name.

The name of a program is its path from the project's folder, followed by ``#case`` if it has cases.  Links
are followed as long as they stay in the repository.  A model may also be declared by the settings alone, as
``module:function``; then that is its name, and an application makes the model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.check.config import Config, ProgramCase, is_module
from tolcost.check.records import LockEntry, file_of
from tolcost.diagnostics import NOWHERE, Diagnostic, InternalError, Rejected, Span, quoted, refuse

if TYPE_CHECKING:
    from tolcost.catalogue.workers import WorkProgress

SUFFIXES = (".tol", ".onnx")
SKIPPED = ("__pycache__", "node_modules")
"""Folders that hold no programs of a project."""
_MOST_FOLDERS = 100_000
"""Links can make a tree of folders grow exponentially although none of them is a cycle."""


class Target(Struct, frozen=True):
    """One program to check: its name, its file relative to the project, and the case of its inputs.

    ``setting`` is the table of the settings that declares a model which is no file, as ``file``.
    """

    name: str
    file: str
    case: ProgramCase = field(default_factory=ProgramCase)
    setting: str = ""

    @property
    def is_model(self) -> bool:
        """Whether the target is an ONNX model, and not a program of the language."""
        return self.file.lower().endswith(".onnx") or bool(self.setting)


def targets(config: Config, asked: Sequence[Path] = ()) -> tuple[Target, ...]:
    """Return the programs of a project, or those below the given paths, sorted by name."""
    missing = [file for file in config.cases if not (config.root / file).is_file()]
    idle = [] if asked or config.paths == (".",) else [p for p in config.paths if not _matching(config, p)]
    if missing or idle:  # cases of a missing program would silently never be checked
        cases = (Diagnostic("T0713", f"cases of {quoted(file)}, which is not there") for file in missing)
        paths = (Diagnostic("T0713", f"`paths` names {quoted(p)}, where there is no program") for p in idle)
        raise Rejected(*cases, *paths)
    if asked:
        modules = [name for name in config.modules if Path(name) in asked]
        files = (file for path in asked if str(path) not in modules for file in _below(config, path))
        return _named(config, files, modules)
    return programs(config)


def programs(config: Config) -> tuple[Target, ...]:
    """Return the programs that the settings name; here, a path that matches nothing is not an error."""
    listed = (file for pattern in config.paths for file in _matching(config, pattern))
    cases = (file for file in config.cases if (config.root / file).is_file())
    return _named(config, (*listed, *cases), config.modules)


def _named(config: Config, files: Iterable[str], modules: Iterable[str]) -> tuple[Target, ...]:
    kept = (file for file in set(files) if excluded_by(config, file) is None)
    found = [target for file in kept for target in _cases(config, file)]
    found += [t for name in modules if excluded_by(config, name) is None for t in _declared(config, name)]
    return tuple(sorted(found, key=lambda target: target.name))


def excluded_by(config: Config, file: str) -> str | None:
    """Return the pattern that excludes a file from a check, if one does."""
    return next((pattern for pattern in config.exclude if fnmatchcase(file, pattern)), None)


def covers(asked: Sequence[Path], config: Config, name: str) -> bool:
    """Whether an entry of a lock file is below the requested paths; without paths, every entry is.

    A model that only settings declare is below no path; it is asked for by its name.
    """
    file = PurePosixPath(file_of(name))
    if is_module(file_of(name)) and not (config.root / file).is_file():
        return not asked or any(str(path) == str(file) for path in asked)
    prefixes = [PurePosixPath(_relative(config, path)) for path in asked]
    return not prefixes or any(file == prefix or prefix in file.parents for prefix in prefixes)


def _cases(config: Config, file: str) -> Iterator[Target]:
    cases = config.cases.get(file, ())
    if not cases:
        yield Target(file, file)
    for case in cases:
        yield Target(f"{file}#{case.label}", file, case)


def _declared(config: Config, name: str) -> Iterator[Target]:
    for case in config.modules[name]:
        yield Target(f"{name}#{case.label}" if case.label else name, name, case, "modules")


def _below(config: Config, path: Path) -> Iterator[str]:
    """List the programs below a path on the command line."""
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
    """List the programs below a path, or that match a pattern, of the settings."""
    if (config.root / pattern).is_dir():
        return list(_programs_below(config, PurePosixPath(pattern).as_posix()))
    if (config.root / pattern).is_file():
        return [PurePosixPath(pattern).as_posix()]
    return [file for file in _programs_below(config, ".") if fnmatchcase(file, pattern)]


def _programs_below(config: Config, folder: str) -> Iterator[str]:
    for file in files_below(config.root / folder, SKIPPED):
        name = PurePosixPath(file).name
        if name.lower().endswith(SUFFIXES) and not name.startswith("."):
            yield (PurePosixPath(folder) / file).as_posix()


# ---- links ----------------------------------------------------------------------------------------


def repository_of(root: Path) -> Path:
    """Return the folder of the repository that a project belongs to, or its own folder without one."""
    real = Path(os.path.realpath(root))
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)


def outside(root: Path, asked: Iterable[Target]) -> frozenset[str]:
    """Return the files that are outside of the repository once links are resolved."""
    top = os.path.join(repository_of(root), "")
    files = {target.file for target in asked}
    real = {file: os.path.join(os.path.realpath(os.path.join(root, file)), "") for file in files}
    return frozenset(file for file in files if not real[file].startswith(top))


def refuse_links_out(config: Config, lock: str) -> None:
    """Refuse settings, a lock file or definitions that are links out of the repository.

    A review of the repository does not show changes of their targets.
    """
    own = (f"{folder}/{file}" for folder in config.specs for file in _definitions_below(config.root / folder))
    files = (file for file in (config.source.name, lock, *config.specs, *own) if file)
    for file in sorted(outside(config.root, (Target(file, file) for file in files))):
        refuse("T0721", f"{quoted(file)} is a link that leads out of the repository")


def _definitions_below(folder: Path) -> Iterator[str]:
    """List the files of definitions below a folder, and links out of the repository to folders with some."""
    for path in files_below(folder) if folder.is_dir() else ():
        file = folder / path
        if any(file.glob("*.tol")) if file.is_dir() else path.endswith((".tol", ".toml")):
            yield path


def astray(root: Path, file: str) -> str:
    """Explain why a former program cannot be found, if it is behind a link that leads out or nowhere."""
    if outside(root, [Target(file, file)]):
        return f"{quoted(file)} is behind a link that leads out of the repository"
    above = (root / folder for folder in PurePosixPath(file).parents)
    lost = any(folder.is_symlink() and not folder.exists() for folder in above)
    return f"{quoted(file)} is behind a link that leads nowhere" if lost else ""


def files_below(folder: Path, skipped: Sequence[str] = ()) -> Iterator[str]:
    """List the files below a folder, relative to it, through links; hidden folders are skipped.

    A link to a folder outside of the repository is not followed: it is listed like a file.
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
            continue  # a link to a folder above itself: a cycle
        for entry in sorted(os.scandir(folder / place), key=lambda entry: entry.name):
            path = f"{place}/{entry.name}" if place else entry.name
            inside = not entry.is_symlink() or os.path.realpath(entry.path).startswith(top)
            if not entry.is_dir() or not inside:
                yield path
            elif not entry.name.startswith(".") and entry.name not in skipped:
                todo.append((path, (*above, real)))


# === Analysis of the programs of a check: known entries are reused, many programs use several processes.
#
# The gate itself does not know how programs are read: its caller passes a ``Costing``.  A program that is
# rejected is an outcome like any other.  An internal error ends the check, because the gate must neither
# pass nor fail because of a bug.


class Contribution(Struct, frozen=True):
    """The contribution of one place in a source, or of one operator or node of a model, by metric.

    ``nodes`` gives those of an operator's nodes, each under its name, where there are some to tell.
    """

    what: str
    counts: Mapping[str, Poly]
    span: Span = NOWHERE
    nodes: Callable[[], Sequence[Contribution]] = tuple


class Costed(Struct, frozen=True):
    """The entry of an analysed program, and the contributions of its parts."""

    entry: LockEntry
    parts: tuple[Contribution, ...] = ()


Costing: TypeAlias = Callable[[Config, Target], Costed]
"""A function that analyses a program of a project under its settings, or raises ``Rejected``."""

_SECONDS = 600.0
_FEW = 24
"""Up to this number, analysing the programs takes less time than starting processes."""


class Analysed(Struct, frozen=True):
    """The entry of a program, or the reasons why there is none."""

    entry: LockEntry | None
    problems: tuple[Diagnostic, ...] = ()
    bug: str = ""


class Computing(Struct, frozen=True):
    """The function that analyses programs, the number of processes, and a callback for progress."""

    costing: Costing
    jobs: int | None = None
    told: WorkProgress | None = None

    def entries(
        self, config: Config, targets: Sequence[Target], known: Mapping[str, LockEntry] | None = None
    ) -> dict[str, Analysed]:
        """Return the outcome of each program by name; programs with known entries are not analysed."""
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
    except Exception as error:  # an exception does not cross from a child process
        return Analysed(None, bug=f"{type(error).__name__}: {error}"[:300])
