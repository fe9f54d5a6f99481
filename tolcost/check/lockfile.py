"""The lock file: the costs of every program of a project, as someone last agreed to them.

    ["tolcost-lock", 3]
    ["tool", "0.1.0"]
    ["costs", "5e2b90c1"]

    ["ops/matmul.tol", "bytes", "exact", "4*k*m + 4*k*n + 4*m*n"]
    ["ops/matmul.tol", "eops", "exact", "2*k*m*n"]
    ["ops/matmul.tol", "eops", "accepted", "exact", "3*k*m*n", "a stable sum"]
    ["ops/matmul.tol", "inputs", ["a", [["R", ["n", "k"]]]], ["b", [["R", ["k", "m"]]]]]
    ["ops/matmul.tol", "sealed", "8c1f0d62a95b7e43d1c08a6f5e29b374"]
    ["ops/matmul.tol", "uses", "lib/blocks", "70bf33f2a33c58c1", "shipped"]

Every line is JSON, and records one fact about one program.  Lines are sorted, and an empty line separates
programs, so that changes to neighbours merge.  The rules that figures rely on besides the program stand in
``given`` (its case in the settings), in ``uses`` and, if it differs from the head, in ``costs``.  A line with
``accepted`` carries the domain of its names if that differs from the domain of the entry.  The file is
untrusted input: its size is limited, every value is checked against its type, and forms stay text until they
are compared.
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
from typing import Annotated, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from tolcost.check.config import FILE, Config
from tolcost.check.records import (
    RESTORE,
    Accepted,
    AgreedRules,
    CostRules,
    Demand,
    Domain,
    FigureStatus,
    LockedFigure,
    LockedInput,
    LockEntry,
    SymbolBounds,
    UsedDefinition,
    is_metric,
)
from tolcost.check.targets import Target, files_below, outside
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, quoted, refuse
from tolcost.platform import locate_specs

LOCK_NAME = "tolcost.lock"
FORMAT = 3
"""The number in the first line; formats 1 and 2 were not JSON."""
MAX_BYTES = 32 << 20
MAX_LINES = 500_000
MAX_LINE = 1 << 20
"""Limits for untrusted input, in bytes, lines and characters, which no honest project reaches."""
_CONFLICT = re.compile(r"<{7}( |$)|={7}$|>{7}( |$)|\|{7}( |$)")
_FORMER = re.compile(r"tolcost-lock ([12])")
_MOST_MISTAKES = 5
_START = 'a lock file starts with `["tolcost-lock", N]`, where N is the number of its format'
_NEWER = "a newer tolcost wrote it: install that one"
OUTDATED = "`tolcost check --update` computes every figure anew and writes it in this format"

T = TypeVar("T")
Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
MaybeDigest: TypeAlias = Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?\Z")]
ShortDigest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
TableName: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9A-Za-z.+-]{0,64}\Z")]
Written: TypeAlias = Annotated[str, Meta(min_length=1)]
"""A text that is not empty, such as a closed form."""


class Lock(Struct, frozen=True):
    """The entries of a lock file by name, and the versions of the tool and the cost model that wrote it."""

    entries: Mapping[str, LockEntry] = field(default_factory=dict)
    tool: str = ""
    costs: str = ""
    seals: Mapping[str, str] = field(default_factory=dict)
    conflicted: bool = False
    agreed: Mapping[str, AgreedRules] = field(default_factory=dict)
    """Changed rules that someone agreed to, by the name of the program or of the settings they belong to."""
    outdated: bool = False
    """Whether the file has an earlier format; none of its entries are read then."""


# ---- the kinds of lines ----------------------------------------------------------------------------


class _Figure(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The rest of a line after ``NAME, METRIC``: the status of a closed form, and the form."""

    status: FigureStatus
    form: Written


class _Accepted(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An accepted figure, with its domain and source if these differ from those of the entry."""

    word: Literal["accepted"]
    status: FigureStatus
    form: Written
    why: str
    domain: Domain | None = None
    source: MaybeDigest = ""


class _AgreedRules(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Changed rules that were accepted."""

    word: Literal["accepted"]
    digest: ShortDigest
    why: str


class _Use(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A definition that figures rely on, and whether it is the project's own or comes with tolcost."""

    name: Written
    digest: ShortDigest
    whose: Literal["own", "shipped"]


class _Said(Struct):
    """Collects the lines read so far about one program."""

    domain: Domain = Domain()
    source: str = ""
    sealed: str = ""
    given: str | None = ""
    uses: dict[str, UsedDefinition] = field(default_factory=dict)
    costs: str = ""
    rules: AgreedRules | None = None
    figures: dict[str, LockedFigure] = field(default_factory=dict)
    accepted: dict[str, _Accepted] = field(default_factory=dict)
    words: set[tuple[str, str]] = field(default_factory=set)
    """The keys of the lines read so far, to detect a repeated line."""

    def entry(self, name: str, costs: str) -> LockEntry:
        """Return the entry; ``costs`` is the cost model that the head of the file names."""
        accepted = {metric: self._accepted(found) for metric, found in self.accepted.items()}
        uses = tuple(self.uses.values())
        rules = None if self.given is None else CostRules(self.given, uses, self.costs or costs)
        figures = tuple(sorted(self.figures.items()))
        return LockEntry(name, self.domain, figures, tuple(sorted(accepted.items())), self.source, rules)

    def _accepted(self, found: _Accepted) -> Accepted:
        figure = LockedFigure(found.status, found.form)
        if found.domain is None:
            return Accepted(found.why, figure, self.domain, self.source)
        return Accepted(found.why, figure, found.domain, found.source)

    @property
    def is_entry(self) -> bool:
        """Whether any line describes a program: a settings file, for example, only has accepted rules."""
        said = self.figures or self.accepted or self.uses or self.source or self.sealed or self.given
        return bool(said) or self.given is None or self.domain != Domain()


class _Mistaken(Exception):
    """The reason why a line cannot be read, and its diagnostic code."""

    def __init__(self, message: str, code: str = "T0703") -> None:
        super().__init__(message)
        self.code = code


def _value(kind: type[T], rest: object, expected: str) -> T:
    """Convert the rest of a line to a type, or reject the line with the expected pattern."""
    try:
        return convert(rest, kind)
    except (ValidationError, RecursionError):
        raise _Mistaken(expected) from None


def _figure(said: _Said, metric: str, rest: list[object]) -> None:
    if rest and rest[0] == "accepted":
        expected = "what was accepted is [NAME, METRIC, `accepted`, STATUS, FORM, WHY]"
        said.accepted[metric] = _value(_Accepted, rest, expected)
    else:
        found = _value(_Figure, rest, _NO_LINE)
        said.figures[metric] = LockedFigure(found.status, found.form)


def _inputs(said: _Said, rest: list[object]) -> None:
    found = _value(tuple[LockedInput, ...], rest, "an input is [NAME, [[SPACE, [LENGTH, ...]], ...]]")
    said.domain = replace(said.domain, inputs=found)


def _bounds(said: _Said, rest: list[object]) -> None:
    expected = "the bounds of a symbol are [NAME, `length` or `data`, LEAST, MOST]"
    said.domain = replace(said.domain, bounds=_value(tuple[SymbolBounds, ...], rest, expected))


def _where(said: _Said, rest: list[object]) -> None:
    expected = "a condition is [[FORM, `>=`, FORM], ...], of which one has to hold"
    said.domain = replace(said.domain, where=_value(tuple[Demand, ...], rest, expected))


def _source(said: _Said, rest: list[object]) -> None:
    (said.source,) = _value(tuple[Digest], rest, _NO_DIGEST)


def _sealed(said: _Said, rest: list[object]) -> None:
    (said.sealed,) = _value(tuple[Digest], rest, _NO_DIGEST)


def _given(said: _Said, rest: list[object]) -> None:
    if len(rest) != 1 or not isinstance(rest[0], dict | None):
        raise _Mistaken("what is given is an object, or null where nobody wrote it down")
    said.given = None if rest[0] is None else given_text(rest[0])


def _uses(said: _Said, rest: list[object]) -> None:
    expected = "what a program uses is [NAME, `uses`, DEFINITION, DIGEST, `own` or `shipped`]"
    found = _value(_Use, rest, expected)
    said.uses[found.name] = UsedDefinition(found.name, found.digest, found.whose == "own")


def _costs(said: _Said, rest: list[object]) -> None:
    (said.costs,) = _value(tuple[TableName], rest, "the name of a cost model is of letters and digits")


def _rules(said: _Said, rest: list[object]) -> None:
    found = _value(
        _AgreedRules, rest, "rules that were accepted are [NAME, `rules`, `accepted`, DIGEST, WHY]"
    )
    said.rules = AgreedRules(found.why, found.digest)


_HEAD = ("tool", "costs")
_NO_LINE = "this line is not [NAME, METRIC, STATUS, FORM]"
_NO_DIGEST = "a seal and a source are 32 hexadecimal digits"
_WORDS = {
    "inputs": _inputs,
    "bounds": _bounds,
    "where": _where,
    "source": _source,
    "sealed": _sealed,
    "given": _given,
    "uses": _uses,
    "costs": _costs,
    "rules": _rules,
}
"""The words that may follow a name in place of a metric, each with the function that reads the rest."""


# ---- reading -------------------------------------------------------------------------------------


def load_lock(path: Path, merging: bool = False) -> Lock | None:
    """Read a lock file, or return None if there is none."""
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
    """Read the text of a lock file.

    ``merging`` is for writers of a new file: both sides of a merge conflict are read, and a file of an
    earlier format is read as empty instead of being rejected.
    """
    reader = _LockReader(source)
    for number, (start, line) in enumerate(_lines(source.text)):
        if number >= MAX_LINES:
            raise Rejected(_whole(source.name, f"the lock file has more than {MAX_LINES:,} lines"))
        if len(line) > MAX_LINE:
            message = f"line {number + 1:,} of the lock file has more than {MAX_LINE:,} characters"
            raise Rejected(_whole(source.name, message))
        reader.read(start, line)
        if reader.outdated and merging:
            return Lock(outdated=True)
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
    """Reads a lock file line by line, and collects its mistakes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mistakes: list[Diagnostic] = []
        self.conflicted = False
        self.outdated = False
        self.started = False
        """Whether the first line of a lock file was read."""
        self.helps = RESTORE
        self._head: dict[str, str] = {}
        self._found: dict[str, _Said] = {}

    def read(self, start: int, line: str) -> None:
        """Read one line."""
        if _CONFLICT.match(line):
            self.conflicted = True
            return
        try:
            if self.started and line:
                self._body(_items(line))
            elif line and not line.startswith("#"):  # files of earlier formats may begin with comments
                self._header(line)
        except _Mistaken as mistaken:
            where = Span(self.source, start, start + len(line))
            self.mistakes.append(Diagnostic(mistaken.code, str(mistaken), where))

    def lock(self) -> Lock:
        """Return the lock file that was read."""
        tool, costs = (self._head.get(word, "") for word in _HEAD)
        found = self._found.items()
        entries = {name: said.entry(name, costs) for name, said in found if said.is_entry}
        seals = {name: said.sealed for name, said in found if said.sealed}
        agreed = {name: said.rules for name, said in found if said.rules is not None}
        return Lock(entries, tool, costs, seals, self.conflicted, agreed)

    def _header(self, line: str) -> None:
        former = _FORMER.fullmatch(line)
        if former is not None:
            self.helps, self.outdated = OUTDATED, True
            message = f"the lock file has format {former[1]}; this tolcost reads format {FORMAT}"
            raise _Mistaken(message, "T0705")
        match _items(line, _START):
            case ["tolcost-lock", int(number)] if number == FORMAT:
                self.started = True
            case ["tolcost-lock", int(number), *_] if number > FORMAT:
                self.helps = _NEWER
                message = f"the lock file has a later format; this tolcost reads format {FORMAT}"
                raise _Mistaken(message, "T0705")
            case _:
                raise _Mistaken(_START)

    def _body(self, items: list[object]) -> None:
        name, word = items[:2] if len(items) > 1 else (None, None)
        if not isinstance(name, str) or not isinstance(word, str) or not name:
            raise _Mistaken(_NO_LINE)
        if len(items) > 2:
            self._entry(self._found.setdefault(name, _Said()), word, items[2:])
        elif name in _HEAD:
            (self._head[name],) = _value(tuple[TableName], [word], f"`{name}` is of letters and digits")
        else:
            raise _Mistaken(_NO_LINE)

    def _entry(self, said: _Said, word: str, rest: list[object]) -> None:
        """Record one line about a program; in a conflict, the last side replaces the others."""
        is_more = rest[0] if word == "uses" or rest[0] == "accepted" else ""
        key = word, str(is_more)
        if key in said.words and not self.conflicted:
            raise _Mistaken(f"a second line for the same program and `{word}`")
        if word in _WORDS:
            _WORDS[word](said, rest)
        elif is_metric(word):
            _figure(said, word, rest)
        else:
            others = ", ".join(f"`{one}`" for one in _WORDS)
            raise _Mistaken(f"{quoted(word[:40])} is neither a metric nor one of {others}")
        said.words.add(key)


def _items(line: str, expected: str = _NO_LINE) -> list[object]:
    """Read a line, which has to be a JSON array."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise _Mistaken(expected) from None
    if not isinstance(found, list):
        raise _Mistaken(expected)
    return found


# ---- writing -------------------------------------------------------------------------------------


def write_lock(lock: Lock) -> str:
    """Write a lock file as text; equal lock files have equal texts."""
    head = (("tolcost-lock", FORMAT), *zip(_HEAD, (lock.tool, lock.costs), strict=True))
    blocks = (_block(lock, name) for name in sorted(lock.entries.keys() | lock.agreed.keys()))
    return "\n".join(f"{line}\n" for line in ("\n".join(map(_shown, head)), *map("\n".join, blocks)))


def _block(lock: Lock, name: str) -> list[str]:
    entry, seal, agreed = lock.entries.get(name), lock.seals.get(name), lock.agreed.get(name)
    lines = [] if entry is None else entry_lines(entry, lock.costs)
    lines += [_shown((name, "sealed", seal))] if seal and entry is not None else []
    lines += [_shown((name, "rules", "accepted", agreed.digest, agreed.why))] if agreed else []
    return sorted(lines)


def entry_lines(entry: LockEntry, costs: str = "") -> list[str]:
    """Return the lines of one program; ``costs`` is the cost model that the head of the file names."""
    domain = entry.domain
    said: list[tuple[object, ...]] = [
        (metric, figure.status, figure.form) for metric, figure in entry.figures
    ]
    said += [(metric, "accepted", *_agreed(accepted, entry)) for metric, accepted in entry.accepted]
    lists = (("inputs", domain.inputs), ("bounds", domain.bounds), ("where", domain.where))
    said += [(word, *to_builtins(items)) for word, items in lists if items]
    said += [("source", entry.source)] if entry.source else []
    lines = [_shown((entry.name, *facts)) for facts in said]
    return sorted((*lines, *_rule_lines(entry.name, entry.rules, costs)))


def _rule_lines(name: str, rules: CostRules | None, costs: str) -> Iterator[str]:
    if rules is None:
        yield _shown((name, "given", None))
        return
    if rules.given:
        yield _shown((name, "given", json.loads(rules.given)))
    for used in rules.uses:
        yield _shown((name, "uses", used.name, used.digest, "own" if used.own else "shipped"))
    if rules.costs not in ("", costs):
        yield _shown((name, "costs", rules.costs))


def rules_digest(rules: CostRules | None) -> str:
    """Return a digest of rules, by which an agreement to them is recorded."""
    return _digest(*_rule_lines("", rules, ""))[:_SHORT]


def words_digest(words: Iterable[str]) -> str:
    """Return a digest of the notes on changed settings, by which an agreement to them is recorded."""
    return _digest(*words)[:_SHORT]


def _agreed(accepted: Accepted, entry: LockEntry) -> tuple[object, ...]:
    """Return an accepted figure, with the domain and source of its names if the entry's differ."""
    figure = accepted.figure.status, accepted.figure.form, accepted.why
    if (accepted.domain, accepted.source) == (entry.domain, entry.source):
        return figure
    return (*figure, to_builtins(accepted.domain), accepted.source)


_LINE = json.JSONEncoder(ensure_ascii=False)
_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def _shown(items: Sequence[object]) -> str:
    return printable(_LINE.encode(items))


def given_text(given: Mapping[str, object]) -> str:
    """Return the settings for a program's inputs as JSON, or an empty text if there are none."""
    return printable(_SORTED.encode(given)) if given else ""


def printable(text: str) -> str:
    """Replace unprintable characters by escapes that JSON reads back."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


# === Digests of everything that determines a program's figures, and seals, with which a check trusts a lock.
#
# The source of a program is its text, the settings for its inputs, and every file that it could use.
# The source, the code of tolcost and the metrics together are the origin of an entry.  Programs of
# equal origin have equal figures.
#
# A seal is a digest of an origin and of the entry.  As long as it fits, this version of tolcost has derived
# these figures from this program, on some machine.  If it does not fit, the program is analysed again.  That
# is not an error: figures were changed by hand, two lock files were merged, or tolcost was updated.  A
# seal guards against accidents, but anybody can compute one, so ``--fresh`` ignores all seals.


_CODE = (".py", ".toml", ".json", ".tol", ".lark")
_TABLES = ("weights/flops.toml", "widths.toml")
"""The tables of the cost model: the weights of FLOPs, and the widths of elements."""

_DIGITS = 32
"""Digits of a digest: nobody finds two texts with the same 128 bits."""
_SHORT = 16
"""Digits of a definition's digest: 64 bits, since an attack needs a second text for a given digest."""

_REMARK = re.compile(rb"^[ \t]*#[^\n]*\n?|[ \t\r]+$", re.MULTILINE)
"""The parts of a program without meaning: comment lines, and blanks at the end of a line."""


class Origins(Struct, frozen=True, dict=True):
    """Computes the digests that determine the entries of a project.

    ``apart`` are the folders that the digest of tolcost itself covers, the first of them its package;
    libraries in these folders are left out of the digests of programs.
    """

    config: Config
    apart: tuple[Path, ...] = ()

    @cached_property
    def libraries(self) -> str | None:
        """Return a digest of the files that programs may use, or None if one of them cannot be read."""
        try:
            return digest_of_folders(f for f in self.config.libraries if not self._is_apart(f))
        except OSError:
            return None

    def _is_apart(self, folder: Path) -> bool:
        """Whether a folder is one of ``apart``, or has the same files as the operators of tolcost."""
        if folder.resolve() in self.apart or not self.apart:
            return folder.resolve() in self.apart
        shipped = locate_specs(self.apart[0])
        return isinstance(shipped, Path) and _hold_the_same(folder, shipped)

    def source(self, target: Target, plain: bool = True) -> str | None:
        """Return a digest of a program and of everything it could use, or None if a file is unreadable.

        ``plain`` leaves comments out of it.  What a declared model is made of is not known, so it has none.
        """
        if target.setting:
            return None
        try:
            text = _content(self.config.root / target.file, target.is_model)
        except OSError:
            return None
        if self.libraries is None:
            return None
        told = _REMARK.sub(b"", text) if plain and not target.is_model else text
        case = target.case
        said = repr((dict(case.shapes), dict(case.attrs), *case.assume, *sorted(case.train.items())))
        kind = target.file.lower().rpartition(".")[2]
        return _digest(self.libraries, kind, sha256(told).hexdigest(), said)

    def of(self, targets: Sequence[Target]) -> dict[str, str]:
        """Return the origins of programs by name.

        A program that cannot be read, or that a link takes out of the repository, has none.
        """
        away = outside(self.config.root, targets)
        found = {target.name: self._origin(target) for target in targets if target.file not in away}
        return {name: origin for name, origin in found.items() if origin is not None}

    def _origin(self, target: Target) -> str | None:
        source = self.source(target, plain=False)
        reader = version("onnx") if target.is_model else ""
        return None if source is None else _digest(_tool_digest(), source, reader, repr(self.config.metrics))

    def marked(self, target: Target, entry: LockEntry) -> LockEntry:
        """Add the digest of its source to an entry, unless all of its figures are exact."""
        told = all(figure.status == "exact" for _, figure in entry.figures)
        if target.setting:  # it brings the digest of the model that was made
            return replace(entry, source="") if told else entry
        return entry if told else replace(entry, source=(self.source(target) or "")[:_DIGITS])


def intact(lock: Lock, origins: Mapping[str, str]) -> dict[str, LockEntry]:
    """Return the entries of a lock file whose seals fit the current programs, by name."""
    return {
        name: lock.entries[name].plain()
        for name, origin in origins.items()
        if name in lock.entries and lock.seals.get(name) == seal_of(origin, lock.entries[name])
    }


def new_seals(
    before: Mapping[str, str], config: Config, targets: Sequence[Target], entries: Mapping[str, LockEntry]
) -> dict[str, str]:
    """Seal new entries, except those of programs that changed while they were analysed."""
    now = Origins(config, own_folders()).of([target for target in targets if target.name in entries])
    return {
        name: seal_of(origin, entries[name]) for name, origin in now.items() if before.get(name) == origin
    }


def seal_of(origin: str, entry: LockEntry) -> str:
    """Return the seal of an entry whose program has this origin; accepted figures are not sealed."""
    return _digest(origin, *entry_lines(entry.plain()))[:_DIGITS]


# ---- digests --------------------------------------------------------------------------------------


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def program_text(content: bytes, file: str) -> str:
    """Return a digest of a program without its comments, or of a model."""
    return sha256(_REMARK.sub(b"", content) if file.lower().endswith(".tol") else content).hexdigest()


def text_digest(*texts: str) -> str:
    r"""Return a digest of a definition, and of the definitions that it uses, without comments.

    >>> text_digest("# on\nf(x) = x\n") == text_digest("f(x) = x  \n")
    True
    """
    told = (_REMARK.sub(b"", text.encode("utf-8", "surrogatepass")) for text in texts)
    return _digest(*(sha256(text).hexdigest() for text in told))[:_SHORT]


@cache
def own_folders() -> tuple[Path, ...]:
    """Return the folders of the running tolcost: its package, and ``specs/`` if that lies outside of it."""
    package = Path(__file__).resolve().parents[1]
    specs = locate_specs(package)
    if not isinstance(specs, Path) or package in specs.parents:
        return (package,)
    return (package, specs.resolve())


@cache
def _tool_digest() -> str:
    """Return a digest of the running tolcost: its code, its tables, and the programs that come with it."""
    return digest_of_folders(own_folders())


def _content(path: Path, is_large: bool) -> bytes:
    """Return the content of a file, or for a large file a digest of it, so that it is not held in memory."""
    if not is_large:
        return path.read_bytes()
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def _hold_the_same(folder: Path, other: Path) -> bool:
    """Whether two folders hold the same relevant files."""
    if not folder.is_dir() or _file_names(folder) != _file_names(other):
        return False
    return digest_of_folders((folder,)) == digest_of_folders((other,))


def _file_names(folder: Path) -> list[str]:
    return sorted(path for path in files_below(folder) if _may_matter(path))


def _may_matter(path: str) -> bool:
    """Whether a file below a folder may affect costs; the settings in ``tolcost.toml`` at its top do not."""
    return path.lower().endswith(_CODE) and path != FILE


def digest_of_folders(folders: Iterable[Path]) -> str:
    """Return a digest of the names and contents of all relevant files."""
    digest = sha256()
    for folder in folders:
        digest.update(b"\0folder\0")
        for path in sorted(files_below(folder)) if folder.exists() else ():
            if _may_matter(path) or not (folder / path).is_file():  # a broken link: reading it fails
                digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
                digest.update(sha256((folder / path).read_bytes()).digest())
    return digest.hexdigest()


@cache
def costs_version() -> str:
    """Return a name for the cost model, which changes whenever one of its tables changes."""
    folder = Path(__file__).parents[1] / "cost"
    text = "\0".join((folder / table).read_text(encoding="utf-8") for table in _TABLES)
    return sha256(text.encode("utf-8")).hexdigest()[:8]
