"""What decides the figures of a program, as a digest; and seals, which let a check believe a lock file.

The source of a program is its text, what is said of its inputs, and every file that it could take
something from; together with the code of tolcost and the metrics it is the origin of an entry.
Programs of equal origin have equal figures.

A seal is a digest of an origin and of the entry.  While it fits, this tolcost has derived these
figures from this program, on whichever machine that was.  One that does not fit means analysing, and
is no mistake: figures that were changed by hand, a merge of two locks, another tolcost.  A seal
guards against accident, not against somebody who computes one: ``--fresh`` believes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path

from tolcost.check.config import Config
from tolcost.check.lockfile import Lock, entry_lines
from tolcost.check.records import LockEntry
from tolcost.check.targets import Target, files_below, outside
from tolcost.dataclass import dataclass, replace
from tolcost.platform import locate_devices, locate_specs

_CODE = (".py", ".toml", ".json", ".tol", ".lark")
_TABLES = ("weights/flops.toml", "widths.toml")
"""What figures rest on besides the program: the weights of FLOPs, the widths of elements."""

_DIGITS = 32
"""Of a digest: 128 bits are more than anybody will find two of."""

_REMARK = re.compile(rb"^[ \t]*#[^\n]*\n?|[ \t\r]+$", re.MULTILINE)
"""What means nothing in a program: lines that are a comment, and blanks that end a line."""


@dataclass(frozen=True)
class Origins:
    """What decides the entries of a project; ``apart`` are folders that tolcost's own digest covers."""

    config: Config
    apart: tuple[Path, ...] = ()

    @cached_property
    def libraries(self) -> str | None:
        """A digest of the files that programs may use; None where one of them cannot be read."""
        folders = (folder for folder in self.config.libraries if folder.resolve() not in self.apart)
        try:
            return digest_of_folders(folders)
        except OSError:
            return None

    def source(self, target: Target, plain: bool = True) -> str | None:
        """A digest of a program, if ``plain`` without remarks, and of all it could use; None: unreadable."""
        try:
            text = _content(self.config.root / target.file, target.is_model)
        except OSError:
            return None
        if self.libraries is None:
            return None
        told = _REMARK.sub(b"", text) if plain and not target.is_model else text
        said = repr((dict(target.case.shapes), dict(target.case.attrs), *target.case.assume))
        kind = target.file.lower().rpartition(".")[2]
        return _digest(self.libraries, kind, sha256(told).hexdigest(), said)

    def of(self, targets: Sequence[Target]) -> dict[str, str]:
        """What decides the entries of programs, everything, by name; those of which it can be told."""
        away = outside(self.config.root, targets)
        found = {target.name: self._origin(target) for target in targets if target.file not in away}
        return {name: origin for name, origin in found.items() if origin is not None}

    def _origin(self, target: Target) -> str | None:
        source = self.source(target, plain=False)
        reader = version("onnx") if target.is_model else ""
        return None if source is None else _digest(_tool_digest(), source, reader, repr(self.config.metrics))

    def marked(self, target: Target, entry: LockEntry) -> LockEntry:
        """An entry with the digest of its source, where its figures do not tell all."""
        told = all(figure.status == "exact" for _, figure in entry.figures)
        return entry if told else replace(entry, source=(self.source(target) or "")[:_DIGITS])


def intact(lock: Lock, origins: Mapping[str, str]) -> dict[str, LockEntry]:
    """The entries of a lock file whose seals fit the programs as they are, by name."""
    return {
        name: lock.entries[name].plain()
        for name, origin in origins.items()
        if name in lock.entries and lock.seals.get(name) == seal_of(origin, lock.entries[name])
    }


def new_seals(
    before: Mapping[str, str], config: Config, targets: Sequence[Target], entries: Mapping[str, LockEntry]
) -> dict[str, str]:
    """Seals for entries that were just found, of programs that did not change meanwhile."""
    now = Origins(config, own_folders()).of([target for target in targets if target.name in entries])
    return {
        name: seal_of(origin, entries[name]) for name, origin in now.items() if before.get(name) == origin
    }


def seal_of(origin: str, entry: LockEntry) -> str:
    """The seal of an entry whose program has this origin; reasons for accepting it do not matter."""
    return _digest(origin, *entry_lines(entry.plain()))[:_DIGITS]


# ---- digests --------------------------------------------------------------------------------------


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def own_folders() -> tuple[Path, ...]:
    """The folders of this tolcost: its package, and the programs and devices that come with it."""
    package = Path(__file__).resolve().parents[1]
    others = [path for path in (locate_specs(package), locate_devices(package)) if isinstance(path, Path)]
    return (package, *(path.resolve() for path in others if package not in path.parents))


@cache
def _tool_digest() -> str:
    """A digest of this tolcost: its code, its tables, and the programs that come with it."""
    return digest_of_folders(own_folders())


def _content(path: Path, is_large: bool) -> bytes:
    """What a file holds; of a large one, a digest."""
    if not is_large:
        return path.read_bytes()
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def digest_of_folders(folders: Iterable[Path]) -> str:
    """A digest of the names and contents of all files that could matter."""
    digest = sha256()
    for folder in folders:
        digest.update(b"\0folder\0")
        for path in sorted(files_below(folder)) if folder.exists() else ():
            if path.lower().endswith(_CODE) or not (folder / path).is_file():  # a link that leads nowhere
                digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
                digest.update(sha256((folder / path).read_bytes()).digest())
    return digest.hexdigest()


@cache
def costs_version() -> str:
    """A name for the cost model: another one where any of its tables says anything else."""
    folder = Path(__file__).parents[1] / "cost"
    text = "\0".join((folder / table).read_text(encoding="utf-8") for table in _TABLES)
    return sha256(text.encode("utf-8")).hexdigest()[:8]
