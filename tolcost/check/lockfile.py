"""The lock file: what every program of a project cost when someone last agreed to it.

    # what the programs of this project cost; written by `tolcost check --update`
    tolcost-lock 2
    tool 0.1.0
    costs 5e2b90c1

    ops/matmul.tol bytes exact 4*k*m + 4*k*n + 4*m*n
    ops/matmul.tol eops exact 2*k*m*n
    ops/matmul.tol eops accepted "a stable sum" exact 3*k*m*n
    ops/matmul.tol inputs a R[n, k]; b R[k, m]
    ops/matmul.tol sealed 8c1f0d62a95b7e43d1c08a6f5e29b374
    ops/matmul.tol uses lib/blocks 70bf33f2a33c58c1; onnx/MatMul own 0e233768166bd692

What figures rest on besides the program stands in `given` (its case in the settings), `uses` and, where it is
not what the head says, `costs`; `given ?` where nobody wrote it down.  Sorted, one line for each figure, an
empty line between programs so that changes to neighbours merge.  The text comes from anywhere: it is read by
patterns that look at each line once, forms stay text until they are compared, and sizes are limited.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import quoted as quoted_name
from tolcost.algebra.parse import unquoted
from tolcost.check.config import FILE, Config
from tolcost.check.records import (
    RESTORE,
    STATUSES,
    UNKNOWN,
    Accepted,
    AgreedRules,
    CostRules,
    FigureStatus,
    LockedFigure,
    LockEntry,
    UsedDefinition,
    is_metric,
)
from tolcost.check.targets import Target, files_below, outside
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, refuse
from tolcost.platform import locate_specs

LOCK_NAME = "tolcost.lock"
FORMAT = 2
"""Those of format 1 do not say what figures rest on."""
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
_USED = re.compile(r"([A-Za-z0-9_.@/-]+) (own )?([0-9a-f]{16})")
_RULES = re.compile(rf"accepted {_TEXT} ([0-9a-f]{{16}})")
_MOST_MISTAKES = 5
_TABLE = re.compile(r"[0-9A-Za-z.+-]{1,64}")
_START = "a lock file starts with `tolcost-lock` and the number of its format"
_NEWER = "a newer tolcost wrote it: install that one"


class Lock(Struct, frozen=True):
    """The entries of a lock file by name, and by what it was written."""

    entries: Mapping[str, LockEntry] = field(default_factory=dict)
    tool: str = ""
    costs: str = ""
    seals: Mapping[str, str] = field(default_factory=dict)
    conflicted: bool = False
    agreed: Mapping[str, AgreedRules] = field(default_factory=dict)
    """Other rules that someone agreed to, by what they are the rules of: a program, or the settings."""


class _Building(Struct):
    """One entry while its lines are read."""

    inputs: str = ""
    where: str = ""
    source: str = ""
    sealed: str = ""
    given: str = ""
    uses: str = ""
    costs: str = ""
    rules: AgreedRules | None = None
    figures: dict[str, LockedFigure] = field(default_factory=dict)
    accepted: dict[str, Accepted] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    """Metrics whose acceptance says itself what its names mean."""

    def entry(self, name: str, costs: str | None) -> LockEntry:
        """The entry that the lines make, where the head names these tables; None: it knows no rules."""
        own = self.inputs, self.where, self.source
        agreed = {
            metric: found if metric in self.apart else Accepted(found.why, found.figure, *own)
            for metric, found in self.accepted.items()
        }
        figures = tuple(sorted(self.figures.items()))
        accepted = tuple(sorted(agreed.items()))
        rules = None if costs is None or self.given == UNKNOWN else self._rules(costs)
        return LockEntry(name, self.inputs, self.where, figures, accepted, self.source, rules)

    def _rules(self, costs: str) -> CostRules:
        uses = (_USED.fullmatch(one) for one in self.uses.split("; ") if one)
        found = tuple(UsedDefinition(match[1], match[3], bool(match[2])) for match in uses if match)
        return CostRules(self.given, found, self.costs or costs)

    @property
    def is_entry(self) -> bool:
        """Whether there is more than rules that someone agreed to."""
        others = (self.inputs, self.where, self.source, self.sealed, self.given, self.uses, self.costs)
        return bool(self.figures or self.accepted or any(others))


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
        return read_lock(Source(path.name, data.decode("utf-8-sig")), merging)
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at offset {error.start:,} is not UTF-8"
        raise Rejected(_whole(path.name, message)) from None


def _whole(name: str, message: str) -> Diagnostic:
    return Diagnostic("T0702", message, Span(Source(name, ""), 0, 0), hint=RESTORE)


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
        *others, last = reader.mistakes
        raise Rejected(*others, replace(last, hint=reader.helps))
    if not reader.started and not merging:
        refuse("T0703", _START, Span(Source(source.name, ""), 0, 0), RESTORE)
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
        self.helps = RESTORE
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
        head = self._head
        costs = None if head.get("tolcost-lock") == "1" else head.get("costs", "")
        found = self._found.items()
        entries = {name: building.entry(name, costs) for name, building in found if building.is_entry}
        seals = {name: building.sealed for name, building in found if building.sealed}
        agreed = {name: building.rules for name, building in found if building.rules is not None}
        return Lock(entries, head.get("tool", ""), head.get("costs", ""), seals, self.conflicted, agreed)

    def _header(self, line: str) -> tuple[str, str] | None:
        word, _, value = line.partition(" ")
        if word != "tolcost-lock" or not re.fullmatch(r"[1-9][0-9]{0,5}", value):
            return "T0703", _START
        if int(value) > FORMAT:
            self.helps = _NEWER
            return "T0705", f"the lock file has format {value}; this tolcost knows formats up to {FORMAT}"
        self._head[word] = value
        return None

    def _body(self, line: str) -> tuple[str, str] | None:
        word, _, value = line.partition(" ")
        if word in ("tool", "costs") and _TABLE.fullmatch(value):
            self._head[word] = value
            return None
        match = _LINE.fullmatch(line)
        if match is None:
            return "T0703", "this line is not NAME METRIC STATUS FORM"
        building = self._found.setdefault(_unquoted(match["name"]), _Building())
        return self._figure(building, match["word"], match["rest"])

    def _figure(self, building: _Building, word: str, rest: str) -> tuple[str, str] | None:
        again = "T0703", f"a second line for the same program and `{word}`"
        if word in _WORDS:
            problem = _malformed(word, rest)
            if problem is not None:
                return "T0703", problem
            if getattr(building, word) and not self.conflicted:
                return again
            setattr(building, word, _agreed_rules(rest) if word == "rules" else rest)
            return None
        if not is_metric(word):
            others = ", ".join(f"`{one}`" for one in _WORDS)
            return "T0703", f"`{word[:40]}` is neither a metric nor one of {others}"
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


_WORDS = ("inputs", "where", "source", "sealed", "given", "uses", "costs", "rules")
"""What a line may say besides a figure."""


def _malformed(word: str, rest: str) -> str | None:
    """What is wrong with a line that is not a figure, if anything."""
    if word in ("sealed", "source") and not _SEAL.fullmatch(rest):
        return "a seal and a source are 32 hexadecimal digits"
    if word == "uses" and not all(map(_USED.fullmatch, rest.split("; "))):
        return "what a program uses are names, each with 16 hexadecimal digits"
    if word == "costs" and not _TABLE.fullmatch(rest):
        return "the name of a cost model is of letters and digits"
    if word == "rules" and _agreed_rules(rest) is None:
        return 'rules that were accepted are `accepted "why"` and 16 hexadecimal digits'
    return None


def _agreed_rules(rest: str) -> AgreedRules | None:
    match = _RULES.fullmatch(rest)
    why = _reason(match[1]) if match else None
    return None if match is None or why is None else AgreedRules(why, match[2])


def _reason(text: str) -> str | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _unquoted(name: str) -> str:
    return unquoted(name) if name.startswith("`") else name


# ---- writing -------------------------------------------------------------------------------------


def write_lock(lock: Lock) -> str:
    """The text of a lock file; equal locks have equal texts."""
    head = f"{_HEAD}\ntolcost-lock {FORMAT}\ntool {lock.tool}\ncosts {lock.costs}\n"
    blocks = ("\n".join(_block(lock, name)) for name in sorted(lock.entries.keys() | lock.agreed.keys()))
    return "\n".join((head, *(f"{block}\n" for block in blocks)))


def _block(lock: Lock, name: str) -> list[str]:
    entry, seal, agreed = lock.entries.get(name), lock.seals.get(name), lock.agreed.get(name)
    lines = [] if entry is None else entry_lines(entry, lock.costs)
    lines += [f"{shown_name(name)} sealed {seal}"] if seal and entry is not None else []
    lines += [f"{shown_name(name)} rules accepted {_shown(agreed.why)} {agreed.digest}"] if agreed else []
    return sorted(lines)


def entry_lines(entry: LockEntry, costs: str = "") -> list[str]:
    """The lines of one program, in a file whose head names these tables."""
    name = shown_name(entry.name)
    lines = [f"{name} inputs {entry.inputs}"] if entry.inputs else []
    lines += [f"{name} where {entry.where}"] if entry.where else []
    lines += [f"{name} source {entry.source}"] if entry.source else []
    lines += [f"{name} {metric} {figure.status} {figure.form}" for metric, figure in entry.figures]
    lines += [f"{name} {metric} {_agreed(accepted, entry)}" for metric, accepted in entry.accepted]
    lines += [f"{name} {line}" for line in _rule_lines(entry.rules, costs)]
    return sorted(lines)


def _rule_lines(rules: CostRules | None, costs: str) -> Iterator[str]:
    if rules is None:
        yield f"given {UNKNOWN}"
        return
    if rules.given:
        yield f"given {rules.given}"
    if rules.uses:
        yield f"uses {'; '.join(map(_shown_use, rules.uses))}"
    if rules.costs not in ("", costs):
        yield f"costs {rules.costs}"


def _shown_use(used: UsedDefinition) -> str:
    return " ".join((used.name, "own", used.digest) if used.own else (used.name, used.digest))


def rules_digest(rules: CostRules | None) -> str:
    """A digest of rules, for who agrees to them."""
    return _digest(*_rule_lines(rules, ""))[:_SHORT]


def words_digest(words: Iterable[str]) -> str:
    """A digest of what is said of settings, for who agrees to it."""
    return _digest(*words)[:_SHORT]


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
    return printable(json.dumps(text, ensure_ascii=False))


def printable(text: str) -> str:
    """Characters that do not show become escapes that JSON reads back."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


# === What decides the figures of a program, as a digest; and seals, which let a check believe a lock file.
#
# The source of a program is its text, what is said of its inputs, and every file that it could take
# something from; together with the code of tolcost and the metrics it is the origin of an entry.
# Programs of equal origin have equal figures.
#
# A seal is a digest of an origin and of the entry.  While it fits, this tolcost has derived these
# figures from this program, on whichever machine that was.  One that does not fit means analysing, and
# is no mistake: figures that were changed by hand, a merge of two locks, another tolcost.  A seal
# guards against accident, not against somebody who computes one: ``--fresh`` believes none.


_CODE = (".py", ".toml", ".json", ".tol", ".lark")
_TABLES = ("weights/flops.toml", "widths.toml")
"""What figures rest on besides the program: the weights of FLOPs, the widths of elements."""

_DIGITS = 32
"""Of a digest: 128 bits are more than anybody will find two of."""
_SHORT = 16
"""Of the digest of a definition: a text that has a given one is not found either."""

_REMARK = re.compile(rb"^[ \t]*#[^\n]*\n?|[ \t\r]+$", re.MULTILINE)
"""What means nothing in a program: lines that are a comment, and blanks that end a line."""


class Origins(Struct, frozen=True, dict=True):
    """What decides the entries of a project; ``apart`` are folders that tolcost's own digest covers.

    The first of these is its package.
    """

    config: Config
    apart: tuple[Path, ...] = ()

    @cached_property
    def libraries(self) -> str | None:
        """A digest of the files that programs may use; None where one of them cannot be read."""
        try:
            return digest_of_folders(f for f in self.config.libraries if not self._is_apart(f))
        except OSError:
            return None

    def _is_apart(self, folder: Path) -> bool:
        """Whether a folder is one of those apart, or the one whose copy tolcost is installed with."""
        if folder.resolve() in self.apart or not self.apart:
            return folder.resolve() in self.apart
        shipped = locate_specs(self.apart[0])
        return isinstance(shipped, Path) and _hold_the_same(folder, shipped)

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


def program_text(content: bytes, file: str) -> str:
    """A digest of a program without its remarks, or of a model."""
    return sha256(_REMARK.sub(b"", content) if file.lower().endswith(".tol") else content).hexdigest()


def text_digest(*texts: str) -> str:
    r"""A digest of a definition without its remarks, and of what it leads to.

    >>> text_digest("# on\nf(x) = x\n") == text_digest("f(x) = x  \n")
    True
    """
    told = (_REMARK.sub(b"", text.encode("utf-8", "surrogatepass")) for text in texts)
    return _digest(*(sha256(text).hexdigest() for text in told))[:_SHORT]


@cache
def own_folders() -> tuple[Path, ...]:
    """The folders of this tolcost: its package, and ``specs/`` where that lies beside it."""
    package = Path(__file__).resolve().parents[1]
    specs = locate_specs(package)
    if not isinstance(specs, Path) or package in specs.parents:
        return (package,)
    return (package, specs.resolve())


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


def _hold_the_same(folder: Path, other: Path) -> bool:
    """Whether two folders hold the same files, as far as these could matter."""
    if not folder.is_dir() or _file_names(folder) != _file_names(other):
        return False
    return digest_of_folders((folder,)) == digest_of_folders((other,))


def _file_names(folder: Path) -> list[str]:
    return sorted(path for path in files_below(folder) if _may_matter(path))


def _may_matter(path: str) -> bool:
    """Whether a file below a folder may decide costs; the settings of a project that begins there do not."""
    return path.lower().endswith(_CODE) and path != FILE


def digest_of_folders(folders: Iterable[Path]) -> str:
    """A digest of the names and contents of all files that could matter."""
    digest = sha256()
    for folder in folders:
        digest.update(b"\0folder\0")
        for path in sorted(files_below(folder)) if folder.exists() else ():
            if _may_matter(path) or not (folder / path).is_file():  # a link that leads nowhere
                digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
                digest.update(sha256((folder / path).read_bytes()).digest())
    return digest.hexdigest()


@cache
def costs_version() -> str:
    """A name for the cost model: another one where any of its tables says anything else."""
    folder = Path(__file__).parents[1] / "cost"
    text = "\0".join((folder / table).read_text(encoding="utf-8") for table in _TABLES)
    return sha256(text.encode("utf-8")).hexdigest()[:8]
