"""Which programs a check is about: files below the given paths, and the cases a project names.

The name of a program is its path from the project's folder, with ``#case`` where it has cases.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tolcost.check.config import Config, ProgramCase
from tolcost.diagnostics import Diagnostic, Rejected, quoted

SUFFIXES = (".tol", ".onnx")
_SKIPPED = ("__pycache__", "node_modules")


@dataclass(frozen=True, slots=True)
class Target:
    """One program to check: its name, its file from the project's folder, what is said of its inputs."""

    name: str
    file: str
    case: ProgramCase = field(default_factory=ProgramCase)


def targets(config: Config, asked: Sequence[Path] = ()) -> tuple[Target, ...]:
    """The programs of a project, or those below some paths, sorted by name."""
    _cases_exist(config)
    if asked:
        files = {file for path in asked for file in _below(config, path)}
    else:
        files = {
            file for pattern in config.paths for file in _matching(config, pattern)
        } | config.cases.keys()
    kept = [file for file in files if not any(fnmatchcase(file, pattern) for pattern in config.exclude)]
    found = (target for file in kept for target in _cases(config, file))
    return tuple(sorted(found, key=lambda target: target.name))


def covers(asked: Iterable[Path], config: Config, name: str) -> bool:
    """Whether an entry of a lock file is among what was asked for; all are where nothing was."""
    file = PurePosixPath(name.partition("#")[0])
    prefixes = [PurePosixPath(_relative(config, path)) for path in asked]
    return not prefixes or any(file == prefix or prefix in file.parents for prefix in prefixes)


def _cases(config: Config, file: str) -> Iterator[Target]:
    cases = config.cases.get(file, ())
    if not cases:
        yield Target(file, file)
    for case in cases:
        yield Target(f"{file}#{case.label}", file, case)


def _cases_exist(config: Config) -> None:
    """A case of a program that is not there would never be checked."""
    missing = [file for file in config.cases if not (config.root / file).is_file()]
    if missing:
        raise Rejected(
            *(Diagnostic("T0713", f"cases of {quoted(file)}, which is not there") for file in missing)
        )


def _below(config: Config, path: Path) -> Iterator[str]:
    """The programs that a path given by a user stands for."""
    name = _relative(config, path)
    if path.is_dir():
        yield from _walk(config.root, name)
    elif path.is_file():
        yield name
    else:
        raise Rejected(Diagnostic("T0721", f"there is no {quoted(str(path))}"))


def _relative(config: Config, path: Path) -> str:
    try:
        return Path(os.path.abspath(path)).relative_to(config.root).as_posix()
    except ValueError:
        message = f"{quoted(str(path))} is outside of the project, {quoted(str(config.root))}"
        raise Rejected(Diagnostic("T0721", message)) from None


def _matching(config: Config, pattern: str) -> list[str]:
    """The programs that a path or a pattern of the settings stands for; at least one."""
    if (config.root / pattern).is_dir():
        found = list(_walk(config.root, PurePosixPath(pattern).as_posix()))
    elif (config.root / pattern).is_file():
        return [PurePosixPath(pattern).as_posix()]
    else:
        found = [file for file in _walk(config.root, ".") if fnmatchcase(file, pattern)]
    if not found and config.paths != (".",):
        raise Rejected(Diagnostic("T0713", f"`paths` names {quoted(pattern)}, where there is no program"))
    return found


def _walk(root: Path, folder: str) -> Iterator[str]:
    """Programs below a folder; hidden folders and links to folders are passed by."""
    for place, folders, files in os.walk(root / folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        for file in files:
            if file.endswith(SUFFIXES) and not file.startswith("."):
                yield (Path(place) / file).relative_to(root).as_posix()
