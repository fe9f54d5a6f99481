"""Finding the definition of an operator: folders of ``.tol`` files, by domain, name and version.

``Name.tol`` holds the newest meaning of an operator and ``Name@9.tol`` one that applies from version 9 on;
the header of a file states the version at which its meaning starts (1 by default).  Folders given by a user
are searched before the shipped one, and may also hold library files, in ``lib/``.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct, field

from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted, refuse
from tolcost.platform import specs_root

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from tolcost.elaborate import Argument, Elaborated
    from tolcost.syntax import tree
    from tolcost.syntax.parser import Definitions

# === The stored schemes of operators: ``specs/schemes.tsv``.
#
# Sorted lines of a name, a text and a digest of both, with tabs between them; only the lines that a node
# needs are decoded and checked.  A line with the name of an operator is about its definitions: it has a
# digest of every file of ``specs/`` that the schemes were made from, and if one of them differs, nothing is
# used.  The other lines have the name of an operator and a pattern; ``models.stored_schemes`` decodes them.


FILE = "schemes.tsv"
FORMAT = 9
"""The version of the stored format: a file of another version is made again, not read."""

_MOST_BYTES = 1 << 24
"""Bytes of the stored schemes; the shipped ones are far fewer."""


class NamedText(NamedTuple):
    """A definition by name, as ``lib/axes``: its texts, whether it is a user's, and the shipped text."""

    name: str
    texts: tuple[str, ...]
    own: bool
    shipped: str | None = None


class Formal(NamedTuple):
    """An input as an operator declares it; ``maybe_data``: a static one may be data, too."""

    name: str
    kind: str
    variadic: bool
    maybe_data: bool


class Head(NamedTuple):
    """The facts needed before a definition is read: its inputs, and whether it chooses between graphs."""

    takes: tuple[Formal, ...]
    branches: bool


class StoredTexts:
    """Texts by name, in the order of the names; lookups copy nothing of the file, which may be large."""

    def __init__(self, raw: bytes, first: int = 0) -> None:
        """Wrap lines that each follow a newline, starting with the newline at position ``first``."""
        self._raw, self._first = raw, first

    def __bool__(self) -> bool:
        """Whether there are any texts."""
        return len(self._raw) > self._first + 1

    def get(self, name: str) -> str | None:
        r"""Return the text of a name; None if there is none.

        >>> lines = StoredTexts(b"\na\t1\nb\t2\nc\t3\n")
        >>> [lines.get(name) for name in "abcd"]
        ['1', '2', '3', None]
        """
        raw, sought = self._raw, name.encode()
        low, high = self._first + 1, len(raw)
        while low < high:  # both are starts of lines
            start = raw.rfind(b"\n", low - 1, (low + high) // 2) + 1
            end = raw.index(b"\t", start)
            found = raw[start:end]
            if found == sought:
                return raw[end + 1 : raw.index(b"\n", end)].decode()
            if found < sought:
                low = raw.index(b"\n", end) + 1
            else:
                high = start
        return None


class CheckedTexts(StoredTexts):
    """Texts whose lines each end with a digest; a text with a wrong digest is ignored."""

    def get(self, name: str) -> str | None:
        """Return the text of a name; None if there is none, or if its digest is wrong."""
        try:
            text, _, line_digest = (super().get(name) or "").rpartition("\t")
        except ValueError:  # the file is damaged
            return None
        return text if line_digest == line_digest_of(name, text) else None


def line_digest_of(name: str, text: str) -> str:
    """Return the digest at the end of a stored line."""
    return digest_of(f"{name}\t{text}".encode())


class Stored(NamedTuple):
    """Stored data of an operator: heads of its definitions by version, and texts of schemes by pattern."""

    heads: Mapping[int, Head]
    texts: CheckedTexts
    operator: str
    any_scheme: bool

    def scheme(self, pattern: str) -> str | None:
        """Return the text of the scheme of a pattern; None if there is none."""
        return self.texts.get(f"{self.operator} {pattern}")


NOTHING_STORED = Stored({}, CheckedTexts(b""), "", any_scheme=False)


def stored_texts(root: Traversable, file: str = FILE, format_: int = FORMAT) -> CheckedTexts:
    """Read all that a file stores; there is nothing if it is of another version."""
    try:
        raw = root.joinpath(file).read_bytes()
    except OSError:
        return NOTHING_STORED.texts
    end = raw.find(b"\n")
    known = len(raw) <= _MOST_BYTES and raw[:end] == f"format {format_}".encode()
    return CheckedTexts(raw, end) if known else NOTHING_STORED.texts


def stored_at(
    root: Traversable, texts: CheckedTexts, operator: str, digests: dict[str, str | None]
) -> Stored:
    """Return the stored data of an operator, if it was made from the current definitions."""
    try:
        about = json.loads(texts.get(operator) or "")
        if any(_digest(root, file, digests) != digest for file, digest in about["from"].items()):
            return NOTHING_STORED
        heads = {
            int(since): Head(tuple(Formal(*formal) for formal in takes), branches)
            for since, (takes, branches) in about["heads"].items()
        }
        return Stored(heads, texts, operator, about["schemes"] > 0)
    except (ValueError, KeyError, TypeError, AttributeError):
        return NOTHING_STORED  # the definition is read instead


def digest_of(raw: bytes) -> str:
    """Return a digest of bytes."""
    return blake2b(raw, digest_size=16).hexdigest()


def _digest(root: Traversable, file: str, known: dict[str, str | None]) -> str | None:
    if file not in known:
        try:
            known[file] = digest_of(root.joinpath(*file.split("/")).read_bytes())
        except OSError:
            known[file] = None
    return known[file]


# === Definitions.


FOLDER_OF_DOMAIN = {
    "": "onnx",
    "ai.onnx": "onnx",
    "ai.onnx.ml": "onnx.ml",
    "ai.onnx.preview": "onnx.preview",
    "ai.onnx.preview.training": "onnx.preview.training",
}
"""The folder of the operators of a domain of ONNX; any other domain has a folder of its own name."""

FURTHER_DOMAINS = ("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc")
"""Shipped domains beyond those of ONNX; onnx has neither schemas nor tests for them."""

_FILE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:@([0-9]{1,4}))?\.tol")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_HEADER = re.compile(r"^operator[ \t]+([A-Za-z_][A-Za-z0-9_]*)(?:[ \t]+([0-9]{1,4}))?[ \t]*$", re.MULTILINE)
_MAX_FILE = 1 << 20
"""Bytes of a definition; the shipped ones are far smaller."""
_LAST = "\U0010ffff"
"""Sorts after every character of a name."""


_Parsed: TypeAlias = "tuple[tree.Module, tuple[tree.Module, ...]]"


class Spec(Struct, frozen=True, eq=False, dict=True):
    """One meaning of an operator: its program, and the library files it uses, parsed on first use.

    ``shipped`` is whether it comes with tolcost, rather than from a user's folder.
    """

    domain: str
    name: str
    since: int
    source: Source
    parse: Callable[[], _Parsed]
    shipped: bool = True
    stored: Head | None = None
    library_texts: Callable[[], frozenset[str]] = frozenset
    """The texts of all library files that it depends on, also of those whose definitions it does not use."""

    @cached_property
    def _parsed(self) -> _Parsed:
        return self.parse()

    @property
    def program(self) -> tree.Module:
        """The program of the definition."""
        return self._parsed[0]

    @property
    def library(self) -> tuple[tree.Module, ...]:
        """The library files that it uses."""
        return self._parsed[1]

    @cached_property
    def head(self) -> Head:
        """The part needed before the definition is read: stored if possible, else read from it."""
        return self.stored or _head_of(self)

    @cached_property
    def inputs(self) -> tuple[tree.InputDecl, ...]:
        """Its inputs, in the order of a node's."""
        from tolcost.syntax import tree

        return tuple(s for s in self.program.statements if isinstance(s, tree.InputDecl) and s.kind != "attr")

    @cached_property
    def attributes(self) -> tuple[tree.InputDecl, ...]:
        """Its attributes."""
        from tolcost.syntax import tree

        return tuple(s for s in self.program.statements if isinstance(s, tree.InputDecl) and s.kind == "attr")

    @cached_property
    def outputs(self) -> tuple[tree.Define, ...]:
        """Its outputs, in the order of a node's."""
        from tolcost.syntax import tree

        return tuple(s for s in self.program.statements if isinstance(s, tree.Define) and s.output)

    @property
    def branches(self) -> bool:
        """Whether it runs one of several graphs, chosen by its first input."""
        return self.head.branches


def _head_of(spec: Spec) -> Head:
    from tolcost.elaborate.expressions import names_asked_known  # loads the compiler only where needed

    asked = names_asked_known(spec.program)
    takes = tuple(Formal(s.name, s.kind, s.variadic, s.name in asked) for s in spec.inputs)
    return Head(takes, sum(s.space == "G" for s in spec.attributes) > 1)


class _File(NamedTuple):
    """A file that defines an operator; ``since`` if its name contains the version."""

    folder: str
    name: str
    since: int | None
    root: Traversable
    shipped: bool

    @property
    def path(self) -> Traversable:
        """The location of the file."""
        return self.root.joinpath(self.folder, self.name)

    @property
    def shown(self) -> str:
        """The name of the file in messages."""
        return f"{_shown(self.root)}/{self.folder}/{self.name}"


class Library(Struct, frozen=True, eq=False, dict=True):
    """All operators that can be found; each is read on first use."""

    roots: tuple[Traversable, ...]
    _files: dict[str, dict[str, list[_File]]] = field(default_factory=dict)
    _names: dict[str, list[tuple[Traversable, list[str]]]] = field(default_factory=dict)
    _specs: dict[tuple[str, str], tuple[Spec, ...]] = field(default_factory=dict)
    _stored: dict[str, Stored] = field(default_factory=dict)
    _digests: dict[str, str | None] = field(default_factory=dict)
    _outside: dict[str, dict[str, str]] = field(default_factory=dict)

    def find(self, domain: str, name: str, opset: int | None = None) -> Spec | None:
        """Return the newest meaning that is not newer than the opset; without an opset, the newest."""
        known = self.versions(domain, name)
        fitting = [spec for spec in known if opset is None or spec.since <= opset]
        return fitting[-1] if fitting else None

    def versions(self, domain: str, name: str) -> tuple[Spec, ...]:
        """Return every meaning of an operator, oldest first.

        A folder's ``Name.tol`` is the newest meaning: newer ones in later folders are ignored.
        """
        key = (domain, name)
        if key not in self._specs:
            found: dict[int, Spec] = {}
            newest: tuple[Traversable, int] | None = None
            for file in self._files_of(domain, name):
                spec = self._read(domain, name, file)
                if newest is None or newest[0] is file.root or spec.since <= newest[1]:
                    found.setdefault(spec.since, spec)
                if newest is None and file.since is None:
                    newest = file.root, spec.since
            self._specs[key] = tuple(found[since] for since in sorted(found))
        return self._specs[key]

    def stored(self, domain: str, name: str) -> Stored:
        """Return the shipped stored data of an operator; with a user's own folders there is none."""
        if len(self.roots) > 1:
            return NOTHING_STORED
        operator = f"{folder_of(domain)}/{name}"
        if operator not in self._stored:
            self._stored[operator] = stored_at(self.roots[0], self._schemes, operator, self._digests)
        return self._stored[operator]

    def digest(self, file: str) -> str | None:
        """Return the digest of a shipped file, named from ``specs/`` on; None if there is none."""
        return _digest(self.roots[-1], file, self._digests)

    @cached_property
    def _schemes(self) -> CheckedTexts:
        return stored_texts(self.roots[0])

    def domains(self) -> tuple[str, ...]:
        """Return every domain that has a folder: the shipped ones, then those of a user, sorted."""
        shipped = (*(domain for domain in FOLDER_OF_DOMAIN if domain != "ai.onnx"), *FURTHER_DOMAINS)
        return (*shipped, *(domain for domain in self._own_domains if domain not in shipped))

    @cached_property
    def _own_domains(self) -> tuple[str, ...]:
        """The domains that only a user's folders have."""
        found = {entry.name for root in self.roots[:-1] if root.is_dir() for entry in root.iterdir()}
        others = sorted(found - {"lib", *FOLDER_OF_DOMAIN.values(), *FOLDER_OF_DOMAIN})
        return tuple(name for name in others if _PLAIN.fullmatch(name) and self._listing(name))

    def callable_domain(self, name: str) -> str | None:
        """Return the domain of an operator that a program calls: ai.onnx, else one of the user's own."""
        return self._callable.get(name)

    def callable_names(self) -> tuple[str, ...]:
        """Return every operator that a program may call."""
        return tuple(sorted(self._callable))

    @cached_property
    def _callable(self) -> dict[str, str]:
        """The domain of every operator that a program may call: the first with an operator of its name."""
        domains = reversed(("", *self._own_domains))
        return {name: domain for domain in domains for name in self._listing(domain)}

    def names(self, domain: str) -> tuple[str, ...]:
        """Return the operators of a domain that have a definition."""
        return tuple(sorted(self._listing(domain)))

    def outside(self, domain: str) -> Mapping[str, str]:
        """Return a domain's operators that are not ToL computations, with reasons, from ``outside.toml``."""
        folder = folder_of(domain)
        if folder not in self._outside:
            self._outside[folder] = self._read_outside(folder)
        return self._outside[folder]

    def _read_outside(self, folder: str) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for root in reversed(self.roots):
            file = root.joinpath(folder, "outside.toml")
            if file.is_file():
                reasons |= _reasons(file, "outside")
        return reasons

    def operators(self) -> Mapping[str, Spec]:
        """Return the operators that a program may call, by name, read on first use."""
        return _Operators(self)

    def _library_source(self, name: str, asked: tree.Use | None) -> Source:
        for root in self.roots if _PLAIN.fullmatch(name) else ():
            file = root.joinpath("lib", f"{name}.tol")
            if file.is_file():
                return _source(file, f"{_shown(root)}/lib/{name}.tol")
        problem = f"there is no library file called {quoted(name)}"
        raise Rejected(Diagnostic("T0211", problem, asked.span) if asked else Diagnostic("T0211", problem))

    def _listing(self, domain: str) -> dict[str, list[_File]]:
        folder = folder_of(domain)
        if folder not in self._files:
            found: dict[str, list[_File]] = {}
            for name, file in self._matching(folder, ""):
                found.setdefault(name, []).append(file)
            self._files[folder] = found
        return self._files[folder]

    def _files_of(self, domain: str, name: str) -> list[_File]:
        """Return the files of one operator; files of other operators in its folder are not touched."""
        return [file for found, file in self._matching(folder_of(domain), name) if found == name]

    def _matching(self, folder: str, start: str) -> Iterator[tuple[str, _File]]:
        """Yield the operators whose name has a prefix, with their files, in order."""
        if folder not in self._names:
            places = ((root, root.joinpath(folder)) for root in self.roots)
            self._names[folder] = [(root, sorted(_names(place))) for root, place in places if place.is_dir()]
        for root, names in self._names[folder]:
            first, end = (bisect_left(names, text) for text in (start, f"{start}{_LAST}"))
            for match in filter(None, map(_FILE.fullmatch, names[first:end])):
                since = int(match[2]) if match[2] else None
                yield match[1], _File(folder, match[0], since, root, root == self.roots[-1])

    def _read(self, domain: str, name: str, file: _File) -> Spec:
        raw = _bytes(file.path, file.shown)
        source = _decoded(raw, file.shown)
        if len(self.roots) == 1:  # stored data is checked against this digest
            self._digests.setdefault(f"{file.folder}/{file.name}", digest_of(raw))
        header = _HEADER.search(source.text) if file.shipped else None
        since = int(header[2] or 1) if header is not None and header[1] == name else None
        if since is not None and file.since in (None, since):  # tests have read the shipped definitions
            head = self.stored(domain, name).heads.get(since)

            def parsed() -> _Parsed:
                reading = self._definitions
                return reading.parsed(name, source)[1:] if head is None else reading.stored(source)

            return Spec(domain, name, since, source, parsed, True, head, lambda: self._texts(source))
        spec = self.definition(domain, name, source, file.shipped)
        if file.since is not None and file.since != spec.since:
            problem = f"the file is named for version {file.since}, but its header says {spec.since}"
            refuse("T0652", problem, self._definitions.parsed(name, source)[0].span)
        return spec

    def definition(self, domain: str, name: str, source: Source, shipped: bool = True) -> Spec:
        """Make a definition of an operator from its text; nodes do not find it unless a file holds it."""
        header, program, library = self._definitions.parsed(name, source)
        since, texts = header.since or 1, lambda: self._texts(source)
        return Spec(domain, name, since, source, lambda: (program, library), shipped, None, texts)

    def _texts(self, source: Source) -> frozenset[str]:
        return frozenset(file.text for file in self._definitions.files(source))

    def used(self, name: str, asked: tree.Use | None = None) -> tree.Module:
        """Return a library file together with everything it uses."""
        return self._definitions.used(name, asked)

    def tested(self, source: Source) -> tuple[tree.Module, tuple[tree.Module, ...]]:
        """Return a shipped program, whose names tests check, and the parts of libraries that it reaches."""
        return self._definitions.stored(source)

    def lowered(self, spec: Spec, given: Mapping[str, Argument], outputs: int | None) -> Elaborated:
        """Lower the definition of an operator for given inputs and a number of outputs."""
        from tolcost.elaborate import elaborate

        operators = self.operators()
        return elaborate(
            spec.program, given, name=spec.name, library=spec.library, operators=operators, outputs=outputs
        )

    def check_names(self, program: tree.Module, library: Sequence[tree.Module]) -> None:
        """Refuse a program with names that neither it, its library files nor an operator defines."""
        self._definitions.check_names(program, library)

    def behind(self, source: Source) -> tuple[NamedText, ...]:
        """Return the library files and operators that a definition or program depends on, sorted by name."""
        found: dict[str, NamedText] = {}
        waiting = [source]
        while waiting:
            used, called = self._definitions.needs(waiting.pop())
            files = [(f"lib/{name}", self._library_source(name, None)) for name in used]
            files += [(self._callable_name(name), self._callable_source(name)) for name in called]
            for name, text in files:
                if name not in found:
                    found[name] = self._named_text(name, text)
                    waiting += [] if name.startswith("lib/") else [text]
        return tuple(found[name] for name in sorted(found))

    def operator_text(self, domain: str, name: str, opset: int | None) -> NamedText | None:
        """Return the definition of an operator of a model, with the texts of its dependencies."""
        spec = self.find(domain, name, opset)
        if spec is None:
            return None
        texts = (text for each in self.behind(spec.source) for text in each.texts)
        return NamedText(f"{folder_of(domain)}/{name}", (spec.source.text, *texts), not spec.shipped)

    def _callable_name(self, name: str) -> str:
        file = self._listing(self.callable_domain(name) or "")[name][0]
        return f"{file.folder}/{file.name.removesuffix('.tol')}"

    def _named_text(self, name: str, source: Source) -> NamedText:
        files = [root.joinpath(*f"{name}.tol".split("/")) for root in self.roots]
        shipped = _source(files[-1], name).text if files[-1].is_file() else None
        return NamedText(name, (source.text,), any(file.is_file() for file in files[:-1]), shipped)

    def made_from(self, domain: str, name: str) -> tuple[str, ...]:
        """Return the files of all versions of an operator's definition, such as ``onnx/Conv.tol``."""
        return self._files_from([(domain, name)], {})

    def used_by(self, program: Source) -> tuple[str, ...]:
        """Return the files that a program is lowered with: of libraries, and of operators that it calls."""
        used, called = self._definitions.needs(program)
        waiting = [(self.callable_domain(each) or "", each) for each in called]
        return self._files_from(waiting, dict.fromkeys(f"lib/{each}.tol" for each in used))

    def _files_from(self, waiting: list[tuple[str, str]], found: dict[str, None]) -> tuple[str, ...]:
        while waiting:
            domain, name = waiting.pop()
            for file in self._files_of(domain, name):
                shown = f"{file.folder}/{file.name}"
                if shown not in found:
                    used, called = self._definitions.needs(_source(file.path, file.shown))
                    found |= dict.fromkeys((shown, *(f"lib/{each}.tol" for each in used)))
                    waiting += [(self.callable_domain(each) or "", each) for each in called]
        return tuple(sorted(found))

    @cached_property
    def _definitions(self) -> Definitions:
        """The reader of definitions, loaded when the first one must be read."""
        from tolcost.syntax.parser import Definitions

        return Definitions(lambda: self._callable, self._callable_source, self._library_source)

    def _callable_source(self, name: str) -> Source:
        file = self._listing(self.callable_domain(name) or "")[name][0]
        return _source(file.path, file.shown)


class _Operators(Mapping[str, Spec]):
    """Operators by name, read when they are called."""

    def __init__(self, library: Library) -> None:
        """Look up operators in a library."""
        self._library = library

    def __getitem__(self, name: str) -> Spec:
        """Return the newest meaning of an operator."""
        domain = self._library.callable_domain(name)
        spec = None if domain is None else self._library.find(domain, name)
        if spec is None:
            raise KeyError(name)
        return spec

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the operators."""
        return iter(self._library.callable_names())

    def __len__(self) -> int:
        """Return the number of operators."""
        return len(self._library.callable_names())

    def __contains__(self, name: object) -> bool:
        """Whether there is such an operator; this reads no file."""
        return isinstance(name, str) and self._library.callable_domain(name) is not None


def open_library(folders: str | Path | Iterable[str | Path] = ()) -> Library:
    """Open the operators in a user's folders, or in a single one, then the shipped ones.

    The shipped operators alone are read once per process, by all callers.

    >>> open_library().find("", "Softmax", 13).since
    13
    """
    own = existing((folders,) if isinstance(folders, str | Path) else folders)
    return new_library(own) if own else _shipped()


def existing(folders: Iterable[str | Path]) -> tuple[Path, ...]:
    """Check the folders that a user names; without a missing one, other definitions would silently apply."""
    found = tuple(map(Path, folders))
    for folder in found:
        if not folder.is_dir():
            refuse("T0668", f"there is no folder {quoted(str(folder))} with operators")
    return found


def new_library(folders: Iterable[Path]) -> Library:
    """Open a library that reads everything again, for callers that watch changing files."""
    return Library((*folders, specs_root()))


@cache
def _shipped() -> Library:
    return new_library(())


def _names(folder: Traversable) -> Iterable[str]:
    """List the names in a folder; on a disk, without an object for each."""
    return os.listdir(folder) if isinstance(folder, Path) else [entry.name for entry in folder.iterdir()]


def _reasons(file: Traversable, table: str) -> dict[str, str]:
    """Read a table of an ``outside.toml``: names, each with a reason."""
    found = tomllib.loads(file.read_text(encoding="utf-8")).get(table, {})
    return {str(name): str(reason) for name, reason in found.items()}


@cache
def hints(domain: str) -> frozenset[str]:
    """Return the attributes of a domain that do not affect the computation, from its ``outside.toml``.

    >>> sorted(hints(""))
    ['consumed_inputs']
    """
    file = specs_root().joinpath(folder_of(domain), "outside.toml")
    return frozenset(_reasons(file, "hints") if file.is_file() else ())


def opening(text: str) -> str:
    """Return the comment at the start of a definition or a program, as one text."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in lines)


def folder_of(domain: str) -> str:
    """Return the folder of the operators of a domain."""
    folder = FOLDER_OF_DOMAIN.get(domain, domain)
    if not _PLAIN.fullmatch(folder):
        refuse("T0653", f"{quoted(domain)} is not the name of a domain")
    return folder


def _shown(root: Traversable) -> str:
    """Name the folder of a file in messages: ours is ``specs``, a user's is as the user wrote it."""
    return "specs" if root == specs_root() else str(root)


def _source(file: Traversable, shown: str) -> Source:
    return _decoded(_bytes(file, shown), shown)


def _bytes(file: Traversable, shown: str) -> bytes:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise Rejected(Diagnostic("T0654", f"{shown} cannot be read: {error}")) from None
    if len(raw) > _MAX_FILE:
        refuse("T0654", f"{shown} is larger than {_MAX_FILE} bytes")
    return raw


def _decoded(raw: bytes, shown: str) -> Source:
    try:
        return Source(shown, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Rejected(Diagnostic("T0654", f"{shown} cannot be read: {error}")) from None
