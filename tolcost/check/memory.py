"""Entries remembered from earlier checks, so that a program that has not changed is not analysed again.

What is remembered is found by a digest of everything that decides an entry: the text of the
program, what is said of its inputs, the metrics, every file that the program could take something
from, and the code of tolcost itself.  A digest that is not known means analysing.  Nothing is
remembered of programs that were rejected, and a memory that cannot be read is an empty one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path

from tolcost.check.config import Config
from tolcost.check.records import STATUSES, Entry, Figure
from tolcost.check.targets import Target
from tolcost.library import locate_specs

FORMAT = 1
_CODE = (".py", ".toml", ".json", ".tol", ".lark")
_MOST_ENTRIES = 20_000
_MAX_BYTES = 64 << 20


@dataclass(slots=True)
class Memory:
    """What is remembered in one file; ``save`` writes what was added."""

    path: Path
    tool: str
    _known: dict[str, object] = field(default_factory=dict)
    _used: dict[str, object] = field(default_factory=dict)
    _libraries: dict[Path, str] = field(default_factory=dict)

    def key(self, root: Path, target: Target, config: Config) -> str | None:
        """The digest of everything that decides the entry of a program; None where it cannot be read."""
        if root not in self._libraries:
            self._libraries[root] = _digest_of_folders(root / folder for folder in config.specs)
        try:
            with (root / target.file).open("rb") as file:
                text = file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        said = (self.tool, self._libraries[root], config.metrics, target.case.shapes, target.case.attrs)
        return sha256(repr((Path(target.file).suffix, text, *said)).encode()).hexdigest()

    def recall(self, key: str, name: str) -> Entry | None:
        """The entry that is remembered under a digest."""
        found = _entry(name, self._known.get(key))
        if found is not None:
            self._used[key] = self._known[key]
        return found

    def remember(self, key: str, entry: Entry) -> None:
        """Keep an entry under its digest."""
        figures = [[metric, figure.status, figure.form] for metric, figure in entry.figures]
        self._used[key] = [entry.inputs, entry.where, figures]

    def save(self) -> None:
        """Write what is new; a memory that cannot be written is no reason to fail."""
        if self._used.keys() <= self._known.keys():
            return
        kept = {**self._known, **self._used} if len(self._known) < _MOST_ENTRIES else self._used
        text = json.dumps({"format": FORMAT, "tool": self.tool, "entries": kept})
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)


def open_memory(config: Config) -> Memory:
    """The memory of a project, in the user's folder for such things."""
    tool = _tool_digest()
    name = sha256(os.fsencode(config.root)).hexdigest()[:16]
    path = _folder() / f"check-{name}.json"
    return Memory(path, tool, _read(path, tool))


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "tolcost"


def _read(path: Path, tool: str) -> dict[str, object]:
    """What is in a file, if this very tolcost wrote it."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return {}
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or (content.get("format"), content.get("tool")) != (FORMAT, tool):
        return {}
    entries = content.get("entries")
    return entries if isinstance(entries, dict) else {}


def _entry(name: str, kept: object) -> Entry | None:
    match kept:
        case [str(inputs), str(where), list(rows)]:
            figures = [_figure(row) for row in rows]
            if None in figures:
                return None
            return Entry(name, inputs, where, tuple(figure for figure in figures if figure is not None))
        case _:
            return None


def _figure(row: object) -> tuple[str, Figure] | None:
    match row:
        case [str(metric), str(status), str(form)]:
            known = next((s for s in STATUSES if s == status), None)
            return None if known is None else (metric, Figure(known, form))
        case _:
            return None


# ---- digests --------------------------------------------------------------------------------------


def _tool_digest() -> str:
    """A digest of this tolcost: its code, its tables, the programs that come with it, what reads models."""
    package = Path(__file__).parents[1]
    specs = locate_specs(package)
    folders = [package, *([specs] if isinstance(specs, Path) and package not in specs.parents else [])]
    parts = (sys.version, version("onnx"), _digest_of_folders(folders))
    return sha256("\0".join(parts).encode()).hexdigest()


def _digest_of_folders(folders: Iterable[Path]) -> str:
    """A digest of the names and contents of all files that could matter."""
    digest = sha256()
    for folder in folders:
        for place, below, files in os.walk(folder):
            below[:] = sorted(name for name in below if name != "__pycache__")
            for file in sorted(files):
                if file.endswith(_CODE):
                    path = os.path.join(place, file)
                    digest.update(os.fsencode(os.path.relpath(path, folder)) + b"\0")
                    digest.update(sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()
