"""Finding the definition of an operator: folders of ``.tol`` files, by domain, name and version.

``Name.tol`` holds the newest meaning of an operator and ``Name@9.tol`` one that held from version
9 on; the header of a file says the version its meaning starts at (1 where it says none).  A
folder given by a user is searched before the one that comes with tolcost, and may also hold
library files, in ``lib/``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path

from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted
from tolcost.library import specs_root
from tolcost.syntax import operator_signature, parse, resolve, signatures, tree
from tolcost.syntax.declarations import Signature

FOLDER_OF_DOMAIN = {
    "": "onnx",
    "ai.onnx": "onnx",
    "ai.onnx.ml": "onnx.ml",
    "ai.onnx.preview": "onnx.preview",
    "ai.onnx.preview.training": "onnx.preview.training",
}
"""Which folder holds the operators of a domain of ONNX; any other domain has a folder of its own name."""

FURTHER_DOMAINS = ("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc")
"""Domains beyond those of ONNX that definitions come with; onnx has neither schemas nor tests of them."""

_FILE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:@([0-9]{1,4}))?\.tol")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """One meaning of an operator: its program, and the library files it uses.

    ``shipped`` is whether it comes with tolcost, and not from a user's folder.
    """

    domain: str
    name: str
    since: int
    source: Source
    program: tree.Module
    library: tuple[tree.Module, ...]
    shipped: bool = True

    @property
    def inputs(self) -> tuple[tree.InputDecl, ...]:
        """Its inputs, in the order of a node's."""
        return tuple(s for s in self.program.statements if isinstance(s, tree.InputDecl) and s.kind != "attr")

    @property
    def attributes(self) -> tuple[tree.InputDecl, ...]:
        """Its attributes."""
        return tuple(s for s in self.program.statements if isinstance(s, tree.InputDecl) and s.kind == "attr")

    @property
    def outputs(self) -> tuple[tree.Define, ...]:
        """Its outputs, in the order of a node's."""
        return tuple(s for s in self.program.statements if isinstance(s, tree.Define) and s.output)

    @property
    def branches(self) -> bool:
        """Whether it runs one of several graphs, by its first input."""
        return sum(s.space == "G" for s in self.attributes) > 1


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """A file that defines an operator; ``since`` where its name says the version."""

    shown: str
    since: int | None
    path: Traversable
    shipped: bool


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All operators that can be found, read when first asked for."""

    roots: tuple[Traversable, ...]
    _files: dict[str, dict[str, list[_File]]] = field(default_factory=dict, repr=False)
    _specs: dict[tuple[str, str], tuple[Spec, ...]] = field(default_factory=dict, repr=False)
    _used: dict[str, tree.Module] = field(default_factory=dict, repr=False)
    _sources: dict[str, tree.Module] = field(default_factory=dict, repr=False)
    _own: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    _domain_of: dict[str, str] = field(default_factory=dict, repr=False)
    _signatures: dict[str, tuple[str, Signature] | None] = field(default_factory=dict, repr=False)

    def find(self, domain: str, name: str, opset: int | None = None) -> Spec | None:
        """The newest meaning that is not newer than the opset; the newest of all without one."""
        known = self.versions(domain, name)
        fitting = [spec for spec in known if opset is None or spec.since <= opset]
        return fitting[-1] if fitting else None

    def versions(self, domain: str, name: str) -> tuple[Spec, ...]:
        """Every meaning of an operator, oldest first."""
        key = (domain, name)
        if key not in self._specs:
            found: dict[int, Spec] = {}
            for file in self._listing(domain).get(name, []):
                spec = self._read(domain, name, file)
                found.setdefault(spec.since, spec)
            self._specs[key] = tuple(found[since] for since in sorted(found))
        return self._specs[key]

    def domains(self) -> tuple[str, ...]:
        """Every domain there is a folder for: those that come with tolcost, then those of a user, sorted."""
        shipped = (*(domain for domain in FOLDER_OF_DOMAIN if domain != "ai.onnx"), *FURTHER_DOMAINS)
        return (*shipped, *(domain for domain in self._own_domains() if domain not in shipped))

    def _own_domains(self) -> tuple[str, ...]:
        """The domains that only a user's folders have."""
        if "domains" not in self._own:
            found = {entry.name for root in self.roots[:-1] if root.is_dir() for entry in root.iterdir()}
            others = sorted(found - {"lib", *FOLDER_OF_DOMAIN.values(), *FOLDER_OF_DOMAIN})
            known = (name for name in others if _PLAIN.fullmatch(name) and self._listing(name))
            self._own["domains"] = tuple(known)
        return self._own["domains"]

    def callable_domain(self, name: str) -> str | None:
        """Where a program finds an operator that it calls: in ai.onnx, else in a domain of the user's own."""
        return self._callable().get(name)

    def callable_names(self) -> tuple[str, ...]:
        """Every operator that a program may call."""
        return tuple(sorted(self._callable()))

    def _callable(self) -> dict[str, str]:
        if not self._domain_of:
            for domain in reversed(("", *self._own_domains())):
                self._domain_of.update(dict.fromkeys(self._listing(domain), domain))
        return self._domain_of

    def _signature(self, name: str) -> tuple[str, Signature] | None:
        """How an operator is called; its file is read once."""
        if name not in self._signatures:
            file = self._listing(self.callable_domain(name) or "")[name][0]
            self._signatures[name] = operator_signature(parse(_source(file.path, file.shown)))
        return self._signatures[name]

    def names(self, domain: str) -> tuple[str, ...]:
        """The operators of a domain that have a definition."""
        return tuple(sorted(self._listing(domain)))

    def outside(self, domain: str) -> dict[str, str]:
        """The operators of a domain that are no ToL computation, and why: its ``outside.toml``."""
        reasons: dict[str, str] = {}
        for root in reversed(self.roots):
            file = root.joinpath(folder_of(domain), "outside.toml")
            if file.is_file():
                table = tomllib.loads(file.read_text(encoding="utf-8")).get("outside", {})
                reasons.update({str(name): str(reason) for name, reason in table.items()})
        return reasons

    def operators(self) -> Mapping[str, Spec]:
        """What a program may call: every operator of ONNX by name, and library files as ``use x``."""
        return _Operators(self)

    def used(self, name: str, asked: tree.Use | None = None) -> tree.Module:
        """A library file together with everything it uses itself."""
        if name not in self._used:
            order: dict[str, None] = {}
            self._gather(name, asked, order, ())
            statements = (s for file in order for s in self._sources[file].statements)
            self._used[name] = tree.Module(tuple(s for s in statements if not isinstance(s, tree.Use)))
        return self._used[name]

    def _gather(
        self, name: str, asked: tree.Use | None, order: dict[str, None], above: tuple[str, ...]
    ) -> None:
        """Put a library file after those it uses."""
        if name in order or name in above:
            return
        for statement in self._library_file(name, asked).statements:
            if isinstance(statement, tree.Use):
                for inner in statement.names:
                    self._gather(inner, statement, order, (*above, name))
        order[name] = None

    def _library_file(self, name: str, asked: tree.Use | None) -> tree.Module:
        if name not in self._sources:
            self._sources[name] = parse(self._library_source(name, asked))
        return self._sources[name]

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
            self._files[folder] = self._list(folder)
        return self._files[folder]

    def _list(self, folder: str) -> dict[str, list[_File]]:
        found: dict[str, list[_File]] = {}
        for root in self.roots:
            place, shipped = root.joinpath(folder), root == self.roots[-1]
            shown = f"{_shown(root)}/{folder}"
            for path in sorted(place.iterdir(), key=lambda p: p.name) if place.is_dir() else ():
                match = _FILE.fullmatch(path.name)
                if match is not None:
                    since = int(match[2]) if match[2] else None
                    file = _File(f"{shown}/{path.name}", since, path, shipped)
                    found.setdefault(match[1], []).append(file)
        return found

    def _read(self, domain: str, name: str, file: _File) -> Spec:
        spec = self.definition(domain, name, _source(file.path, file.shown), file.shipped)
        if file.since is not None and file.since != spec.since:
            problem = f"the file is named for version {file.since}, but its header says {spec.since}"
            header = next(s for s in spec.program.statements if isinstance(s, tree.Operator))
            raise Rejected(Diagnostic("T0652", problem, header.span))
        return spec

    def definition(self, domain: str, name: str, source: Source, shipped: bool = True) -> Spec:
        """A definition of an operator from its text; one that no node is given, unless a file holds it."""
        program = parse(source)
        header = next((s for s in program.statements if isinstance(s, tree.Operator)), None)
        if header is None or header.name != name:
            problem = f"{source.name} must start with `operator {name}`"
            raise Rejected(Diagnostic("T0652", problem, header.span if header else program.span))
        uses = [s for s in program.statements if isinstance(s, tree.Use)]
        library = tuple(self.used(n, s) for s in uses for n in s.names)
        self.check_names(program, library)
        return Spec(domain, name, header.since or 1, source, program, library, shipped)

    def check_names(self, program: tree.Module, library: Sequence[tree.Module]) -> None:
        """Refuse a program that mentions what neither it, its library files nor an operator defines."""
        known = {name: found for file in library for name, found in signatures(file).items()}
        for name in _called(program.span.source.text, self._callable()):
            found = self._signature(name)
            if found is not None:
                known.setdefault(*found)
        problems = [d for d in resolve(program, known, others=self._callable()) if d.severity == "error"]
        if problems:
            raise Rejected(*problems)


def _called(text: str, known: Iterable[str]) -> set[str]:
    return set(_WORD.findall(text)).intersection(known)


class _Operators(Mapping[str, Spec]):
    """Operators by name, read when they are called."""

    def __init__(self, library: Library) -> None:
        """Look them up in a library."""
        self._library = library

    def __getitem__(self, name: str) -> Spec:
        """The newest meaning of an operator."""
        domain = self._library.callable_domain(name)
        spec = None if domain is None else self._library.find(domain, name)
        if spec is None:
            raise KeyError(name)
        return spec

    def __iter__(self) -> Iterator[str]:
        """The names of the operators."""
        return iter(self._library.callable_names())

    def __len__(self) -> int:
        """How many operators there are."""
        return len(self._library.callable_names())

    def __contains__(self, name: object) -> bool:
        """Whether there is such an operator; nothing is read."""
        return isinstance(name, str) and self._library.callable_domain(name) is not None


def open_library(folders: Iterable[str | Path] = ()) -> Library:
    """The operators in a user's folders, then those that come with tolcost.

    Those that come with tolcost alone are read once in a process, however many ask for them.

    >>> open_library().find("", "Softmax", 13).since
    13
    """
    own = tuple(map(Path, folders))
    return new_library(own) if own else _shipped()


def new_library(folders: Iterable[Path]) -> Library:
    """The same, read anew: for whoever watches files that change."""
    return Library((*folders, specs_root()))


@cache
def _shipped() -> Library:
    return new_library(())


def folder_of(domain: str) -> str:
    """Which folder holds the operators of a domain."""
    folder = FOLDER_OF_DOMAIN.get(domain, domain)
    if not _PLAIN.fullmatch(folder):
        raise Rejected(Diagnostic("T0653", f"{quoted(domain)} is not the name of a domain"))
    return folder


def _shown(root: Traversable) -> str:
    """What the folder of a file is called in messages: ours is ``specs``, a user's what the user wrote."""
    return "specs" if root == specs_root() else str(root)


def _source(file: Traversable, shown: str) -> Source:
    try:
        raw = file.read_bytes()
        if len(raw) > _MAX_FILE:
            raise Rejected(Diagnostic("T0654", f"{shown} is larger than {_MAX_FILE} bytes"))
        return Source(shown, raw.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(Diagnostic("T0654", f"{shown} cannot be read: {error}")) from None
