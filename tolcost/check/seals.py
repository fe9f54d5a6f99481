"""Seals: what lets a check take a program's figures from the lock file without analysing it again.

A seal is a digest of everything that decides an entry (the text of the program, what is said of its
inputs, the metrics, every file that it could take something from, the code of tolcost itself) and
of the entry.  While it fits, this tolcost has derived these figures from this program, on
whichever machine that was.  One that does not fit means analysing, and is no mistake: figures
that were changed by hand, a merge of two locks, another tolcost.  A seal guards against accident, not
against somebody who computes one: ``--fresh`` believes none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path

from tolcost.check.config import Config
from tolcost.check.lockfile import Lock, entry_lines
from tolcost.check.records import LockEntry
from tolcost.check.targets import Target
from tolcost.library import locate_specs

_CODE = (".py", ".toml", ".json", ".tol", ".lark")
_DIGITS = 32
"""Of a digest: 128 bits are more than anybody will find two of."""


@dataclass(frozen=True)
class Sealing:
    """How the entries of a project are sealed."""

    config: Config

    @cached_property
    def _ground(self) -> str:
        """A digest of what decides every entry of the project."""
        libraries = digest_of_folders(self.config.root / folder for folder in self.config.specs)
        return _digest(_tool_digest(), libraries, repr(self.config.metrics))

    def origin(self, target: Target) -> str | None:
        """A digest of everything that decides the entry of a program; None where it cannot be read."""
        try:
            with (self.config.root / target.file).open("rb") as file:
                text = file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        reader = version("onnx") if target.file.endswith(".onnx") else ""
        said = repr((dict(target.case.shapes), dict(target.case.attrs)))
        return _digest(self._ground, Path(target.file).suffix, reader, text, said)

    def origins(self, targets: Iterable[Target]) -> dict[str, str]:
        """The digests of the programs that can be read, by name."""
        found = {target.name: self.origin(target) for target in targets}
        return {name: digest for name, digest in found.items() if digest is not None}

    def intact(self, lock: Lock, origins: Mapping[str, str]) -> dict[str, LockEntry]:
        """The entries of a lock file whose seals fit the programs as they are, by name."""
        return {
            name: lock.entries[name].plain()
            for name, origin in origins.items()
            if name in lock.entries and lock.seals.get(name) == seal_of(origin, lock.entries[name])
        }

    def seals(
        self, origins: Mapping[str, str], targets: Sequence[Target], entries: Mapping[str, LockEntry]
    ) -> dict[str, str]:
        """Seals for entries that were just found, of programs that did not change meanwhile."""
        return {
            name: seal_of(origin, entries[name])
            for name, origin in self.origins(t for t in targets if t.name in entries).items()
            if origins.get(name) == origin
        }


def seal_of(origin: str, entry: LockEntry) -> str:
    """The seal of an entry whose program has this digest; reasons for accepting it do not matter."""
    return _digest(origin, *entry_lines(entry.plain()))[:_DIGITS]


# ---- digests --------------------------------------------------------------------------------------


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _tool_digest() -> str:
    """A digest of this tolcost: its code, its tables, and the programs that come with it."""
    package = Path(__file__).parents[1]
    specs = locate_specs(package)
    folders = [package, *([specs] if isinstance(specs, Path) and package not in specs.parents else [])]
    return digest_of_folders(folders)


def digest_of_folders(folders: Iterable[Path]) -> str:
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


_TABLES = ("weights/flops.toml", "widths.toml")
"""What figures rest on besides the program: the weights of FLOPs, the widths of elements."""


@cache
def costs_version() -> str:
    """A name for the cost model: another one where any of its tables says anything else."""
    folder = Path(__file__).parents[1] / "cost"
    text = "\0".join((folder / table).read_text(encoding="utf-8") for table in _TABLES)
    return sha256(text.encode("utf-8")).hexdigest()[:8]
