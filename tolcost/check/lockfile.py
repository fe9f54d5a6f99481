"""The lock file: what every program of a project cost when someone last agreed to it.

    # what the programs of this project cost; written by `tolcost check --update`
    tolcost-lock 1
    tool 0.1.0
    costs 5e2b90c1

    ops/matmul.tol bytes exact 4*k*m + 4*k*n + 4*m*n
    ops/matmul.tol eops exact 2*k*m*n
    ops/matmul.tol eops accepted "a stable sum" exact 3*k*m*n
    ops/matmul.tol inputs a R[n, k]; b R[k, m]
    ops/matmul.tol sealed 8c1f0d62a95b7e43d1c08a6f5e29b374

Sorted, one line for each figure, an empty line between programs so that changes to neighbours
merge.  The text comes from anywhere: it is read by patterns that look at each line once, forms
stay text until they are compared, and sizes are limited.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from tolcost.algebra import quoted as quoted_name
from tolcost.check.records import STATUSES, Accepted, FigureStatus, LockedFigure, LockEntry, is_metric
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, refuse

LOCK_NAME = "tolcost.lock"
FORMAT = 1
MAX_BYTES = 32 << 20
MAX_LINES = 500_000
_HEAD = "# what the programs of this project cost; written by `tolcost check --update`"
_CONFLICT = re.compile(r"<{7}( |$)|={7}$|>{7}( |$)|\|{7}( |$)")
_LINE = re.compile(r"(?P<name>[^\s`\"]+|`(?:[^`\\]|\\.)*`) (?P<word>[a-z][a-z0-9_]*) (?P<rest>\S.*)")
_FIGURE = re.compile(rf"({'|'.join(STATUSES)}) (\S.*)")
_TEXT = r'("(?:[^"\\]|\\.)*")'
_ACCEPTED = re.compile(rf"accepted {_TEXT}(?: for {_TEXT} {_TEXT} {_TEXT})? ({'|'.join(STATUSES)}) (\S.*)")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./@+=-][A-Za-z0-9_./@#+=-]*")
_SEAL = re.compile(r"[0-9a-f]{32}")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))", re.DOTALL)
_MOST_MISTAKES = 5
_START = "a lock file starts with `tolcost-lock` and the number of its format"


@dataclass(frozen=True, slots=True)
class Lock:
    """The entries of a lock file by name, and by what it was written."""

    entries: Mapping[str, LockEntry] = field(default_factory=dict)
    tool: str = ""
    costs: str = ""
    seals: Mapping[str, str] = field(default_factory=dict)
    conflicted: bool = False


@dataclass(slots=True)
class _Building:
    """One entry while its lines are read."""

    inputs: str = ""
    where: str = ""
    source: str = ""
    sealed: str = ""
    figures: dict[str, LockedFigure] = field(default_factory=dict)
    accepted: dict[str, Accepted] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    """Metrics whose acceptance says itself what its names mean."""

    def entry(self, name: str) -> LockEntry:
        """The entry that the lines make."""
        own = self.inputs, self.where, self.source
        agreed = {
            metric: found if metric in self.apart else Accepted(found.why, found.figure, *own)
            for metric, found in self.accepted.items()
        }
        figures = tuple(sorted(self.figures.items()))
        return LockEntry(name, self.inputs, self.where, figures, tuple(sorted(agreed.items())), self.source)


# ---- reading -------------------------------------------------------------------------------------


def load_lock(path: Path, merging: bool = False) -> Lock | None:
    """Read a lock file; None where there is none."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise Rejected(_whole(path.name, f"the lock file is larger than {MAX_BYTES >> 20} MiB"))
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise Rejected(_whole(path.name, f"the lock file cannot be read: {reason}")) from None
    if len(data) > MAX_BYTES:
        raise Rejected(_whole(path.name, f"the lock file is larger than {MAX_BYTES >> 20} MiB"))
    try:
        return read_lock(Source(path.name, data.decode("utf-8")), merging)
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at offset {error.start:,} is not UTF-8"
        raise Rejected(_whole(path.name, message)) from None


def _whole(name: str, message: str) -> Diagnostic:
    return Diagnostic("T0702", message, Span(Source(name, ""), 0, 0))


def read_lock(source: Source, merging: bool = False) -> Lock:
    """Read the text of a lock file; ``merging`` reads both sides of conflicts that a merge left."""
    reader = _LockReader(source)
    for number, (start, line) in enumerate(_lines(source.text)):
        if number >= MAX_LINES:
            raise Rejected(_whole(source.name, f"the lock file has more than {MAX_LINES:,} lines"))
        reader.read(start, line)
        if reader.conflicted and not merging:
            hint = "`tolcost check --update` computes every figure anew and settles the conflict"
            where = Span(source, start, start + len(line))
            refuse("T0704", "a merge left a conflict in the lock file", where, hint)
        if len(reader.mistakes) >= (_MOST_MISTAKES if reader.started else 1):
            break
    if reader.mistakes:
        raise Rejected(*reader.mistakes)
    if not reader.started and not merging:
        refuse("T0703", _START, Span(Source(source.name, ""), 0, 0))
    return reader.lock()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end].removesuffix("\r")
        start = end + 1


class _LockReader:
    """Reads a lock file line by line, and keeps what is wrong with it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mistakes: list[Diagnostic] = []
        self.conflicted = False
        self._head: dict[str, str] = {}
        self._found: dict[str, _Building] = {}

    def read(self, start: int, line: str) -> None:
        """Read one line."""
        if _CONFLICT.match(line):
            self.conflicted = True
        elif line and not line.startswith("#"):
            problem = self._body(line) if self.started else self._header(line)
            if problem is not None:
                code, message = problem
                self.mistakes.append(Diagnostic(code, message, Span(self.source, start, start + len(line))))

    @property
    def started(self) -> bool:
        """Whether the first line of a lock file was read."""
        return "tolcost-lock" in self._head

    def lock(self) -> Lock:
        """What was read."""
        entries = {name: building.entry(name) for name, building in self._found.items()}
        seals = {name: building.sealed for name, building in self._found.items() if building.sealed}
        head = self._head
        return Lock(entries, head.get("tool", ""), head.get("costs", ""), seals, self.conflicted)

    def _header(self, line: str) -> tuple[str, str] | None:
        word, _, value = line.partition(" ")
        if word != "tolcost-lock" or not re.fullmatch(r"[1-9][0-9]{0,5}", value):
            return "T0703", _START
        if int(value) > FORMAT:
            return "T0705", f"the lock file has format {value}; this tolcost knows formats up to {FORMAT}"
        self._head[word] = value
        return None

    def _body(self, line: str) -> tuple[str, str] | None:
        word, _, value = line.partition(" ")
        if word in ("tool", "costs") and re.fullmatch(r"[0-9A-Za-z.+-]{1,64}", value):
            self._head[word] = value
            return None
        match = _LINE.fullmatch(line)
        if match is None:
            return "T0703", "this line is not NAME METRIC STATUS FORM"
        building = self._found.setdefault(_unquoted(match["name"]), _Building())
        return self._figure(building, match["word"], match["rest"])

    def _figure(self, building: _Building, word: str, rest: str) -> tuple[str, str] | None:
        again = "T0703", f"a second line for the same program and `{word}`"
        if word in ("sealed", "source") and not _SEAL.fullmatch(rest):
            return "T0703", "a seal and a source are 32 hexadecimal digits"
        if word in ("inputs", "where", "source", "sealed"):
            if getattr(building, word) and not self.conflicted:
                return again
            setattr(building, word, rest)
            return None
        if not is_metric(word):
            return "T0703", f"`{word[:40]}` is neither a metric nor `inputs`, `where`, `source` or `sealed`"
        figure, accepted = _FIGURE.fullmatch(rest), _ACCEPTED.fullmatch(rest)
        if figure is not None:
            return (
                None
                if self._keep(building.figures, word, LockedFigure(cast(FigureStatus, figure[1]), figure[2]))
                else again
            )
        texts = [_reason(text) for text in accepted.groups()[:4] if text] if accepted else []
        if accepted is None or None in texts:
            return "T0703", "this line is not NAME METRIC STATUS FORM"
        why, *meaning = (text or "" for text in texts)
        building.apart |= {word} if meaning else set()
        found = Accepted(why, LockedFigure(cast(FigureStatus, accepted[5]), accepted[6]), *meaning)
        return None if self._keep(building.accepted, word, found) else again

    def _keep(self, table: dict[str, LockedFigure] | dict[str, Accepted], word: str, value: object) -> bool:
        """Keep a figure; of the sides of a conflict the last stays."""
        if word in table and not self.conflicted:
            return False
        table[word] = value  # type: ignore[assignment]  # the caller gives what the table holds
        return True


def _reason(text: str) -> str | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _unquoted(name: str) -> str:
    if not name.startswith("`"):
        return name
    return _ESCAPE.sub(lambda m: chr(min(int(m[1], 16), 0x10FFFF)) if m[1] else m[2], name[1:-1])


# ---- writing -------------------------------------------------------------------------------------


def write_lock(lock: Lock) -> str:
    """The text of a lock file; equal locks have equal texts."""
    head = f"{_HEAD}\ntolcost-lock {FORMAT}\ntool {lock.tool}\ncosts {lock.costs}\n"
    blocks = ("\n".join(_block(lock, name)) for name in sorted(lock.entries))
    return "\n".join((head, *(f"{block}\n" for block in blocks)))


def _block(lock: Lock, name: str) -> list[str]:
    seal = lock.seals.get(name)
    return sorted(entry_lines(lock.entries[name]) + ([f"{shown_name(name)} sealed {seal}"] if seal else []))


def entry_lines(entry: LockEntry) -> list[str]:
    """The lines of one program."""
    name = shown_name(entry.name)
    lines = [f"{name} inputs {entry.inputs}"] if entry.inputs else []
    lines += [f"{name} where {entry.where}"] if entry.where else []
    lines += [f"{name} source {entry.source}"] if entry.source else []
    lines += [f"{name} {metric} {figure.status} {figure.form}" for metric, figure in entry.figures]
    lines += [f"{name} {metric} {_agreed(accepted, entry)}" for metric, accepted in entry.accepted]
    return sorted(lines)


def shown_name(name: str) -> str:
    """The name of a program as a lock file has it."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    shown = quoted_name(name)
    return shown if shown.startswith("`") else f"`{shown}`"


def _agreed(accepted: Accepted, entry: LockEntry) -> str:
    """What was accepted; with what its names meant, where that is not what they mean in the entry."""
    meaning = (accepted.inputs, accepted.where, accepted.source)
    apart = () if meaning == (entry.inputs, entry.where, entry.source) else ("for", *map(_shown, meaning))
    return " ".join(("accepted", _shown(accepted.why), *apart, accepted.figure.status, accepted.figure.form))


def _shown(text: str) -> str:
    return _printable(json.dumps(text, ensure_ascii=False))


def _printable(text: str) -> str:
    """Characters that do not show become escapes that JSON reads back."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
