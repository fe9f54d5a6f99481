"""The catalogue as a list: every operator of the installed onnx, with its definition or the lack of one.

Operators are found by name in all domains: those of ONNX, and those of a user's folders.  A name may include
its domain, as in ``ai.onnx.ml.Scaler``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from onnx import defs

from tolcost.catalogue.operand_types import recorded_schemas
from tolcost.catalogue.specs import Library, Spec, opening
from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted
from tolcost.platform import specs_root
from tolcost.syntax import tree

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Standing = Literal["defined", "outside", "missing"]

_MOST_NEAR = 3


class Entry(Struct, frozen=True, eq=False):
    """One operator.  ``about`` is the opening comment of its definition, or the reason why it has none."""

    name: str
    standing: Standing
    since: tuple[int, ...] = ()
    signature: str = ""
    about: str = ""
    spec: Spec | None = None
    domain: str = ""

    @property
    def title(self) -> str:
        """Its name, with its domain unless that is ai.onnx."""
        return f"{self.domain}.{self.name}" if self.domain else self.name


def live_operators(domain: str) -> tuple[str, ...]:
    """Return every operator of a domain of ONNX that is not deprecated, sorted."""
    schemas = defs.get_all_schemas()
    return tuple(sorted({s.name for s in schemas if s.domain == domain and not s.deprecated}))


def known_operators(library: Library) -> tuple[tuple[str, str], ...]:
    """Return domain and name of every operator that ONNX has, a folder defines, or a runtime recorded."""
    return tuple(
        (domain, name)
        for domain in library.domains()
        for name in sorted({*live_operators(domain), *recorded_schemas(domain), *library.names(domain)})
    )


def entries(library: Library, names: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Return the requested operators, or all of them, including those of a user's folders."""
    known = known_operators(library)
    if not names:
        return tuple(_entry(library, domain, name) for domain, name in known)
    found = {asked: _asked(asked, known) for asked in names}
    unknown = [asked for asked, pairs in found.items() if not pairs]
    if unknown:
        raise Rejected(*(_unknown(asked, known) for asked in unknown))
    return tuple(_entry(library, *pair) for pairs in found.values() for pair in pairs)


def _asked(asked: str, known: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Find the operators of a name: with a domain that one, else preferably that of ai.onnx."""
    if ("", asked) in known:
        return [("", asked)]
    return [(domain, name) for domain, name in known if asked in (name, f"{domain or 'ai.onnx'}.{name}")]


def _unknown(asked: str, known: Sequence[tuple[str, str]]) -> Diagnostic:
    """Report an unknown operator, and suggest similar names."""
    by_letters = {name.lower(): name for _, name in known}
    near = get_close_matches(asked.lower()[:60], by_letters, n=_MOST_NEAR)
    meant = " or ".join(quoted(by_letters[letters]) for letters in near)
    hint = f"did you mean {meant}?" if meant else "`tolcost ops` lists them"
    return Diagnostic("T0663", f"there is no operator {quoted(asked)}", hint=hint)


def _entry(library: Library, domain: str, name: str) -> Entry:
    versions = library.versions(domain, name)
    if not versions:
        reason = library.outside(domain).get(name)
        return Entry(name, "missing" if reason is None else "outside", about=reason or "", domain=domain)
    spec = versions[-1]
    since = tuple(version.since for version in versions)
    return Entry(name, "defined", since, signature(spec), opening(spec.source.text), spec, domain)


def signature(spec: Spec) -> str:
    """Format inputs and outputs, as in ``Gemm(A [m, k], B [k, n], C?) -> Y``."""
    inputs = ", ".join(map(_declared, spec.inputs))
    outputs = ", ".join(s.name + "..." * s.variadic for s in spec.outputs)
    return f"{spec.name}({inputs}) -> {outputs}"


def attributes(spec: Spec) -> tuple[str, ...]:
    """Format the attributes, as in ``axis = -1``, ``pads?`` or ``to``."""
    return tuple(
        f"{s.name}{'?' if s.optional else ''}" + (f" = {_text(s.default)}" if s.default is not None else "")
        for s in spec.attributes
    )


def _declared(statement: tree.InputDecl) -> str:
    mark = "?" if statement.optional else "..." if statement.variadic else ""
    shape = ", ".join(map(_text, statement.shape))
    return f"{statement.name}{mark} [{shape}]" if statement.shape else f"{statement.name}{mark}"


def _text(expression: tree.Expr | tree.Ellipsis) -> str:
    return expression.span.text


# === Libraries of programs: the folders of ``specs/`` with a ``library.toml`` that describes them.
#
#     title = "Relational algebra"           # its usual name
#     about = "A relation is ..."            # a sentence or two
#     model = "Relation algebra"             # the row of the paper's Table 1 that it shows, if any
#     agreed = "DuckDB, SQLite"              # the engine or library that its programs are checked against
#     tests = "tests/specs/test_x.py"        # the tests that check them
#     inputs = 120                           # on how many random inputs
#
#     [programs.HashJoin]                    # settings of one program, or those needed to cost it
#     role = "join"                          # the operator of the model that it implements
#     agreed = "DuckDB"
#     inputs = 200
#     shapes = { r = ["n", "c"] }
#     attrs = { axis = 1 }
#
# Programs are the ``.tol`` files of the folder and its subfolders.


_FACTS = "library.toml"


class LibraryProgram(Struct, frozen=True, eq=False):
    """A program of a library, with its description; ``name`` is its path in the folder."""

    name: str
    source: Source
    role: str
    agreed: str
    tests: str
    inputs: int | None
    shapes: Mapping[str, Any]
    attrs: Mapping[str, Any]

    @property
    def about(self) -> str:
        """The comment at the start of the program, as one text."""
        return opening(self.source.text)

    @property
    def lines(self) -> int:
        """The number of lines of ToLang, without comments and empty lines."""
        stripped = (line.strip() for line in self.source.text.splitlines())
        return sum(bool(line) and not line.startswith(("#", "//")) for line in stripped)


class ProgramLibrary(Struct, frozen=True, eq=False):
    """A folder of related programs; ``model`` is a row of the paper's Table 1, or nothing."""

    name: str
    title: str
    about: str
    model: str
    agreed: str
    programs: tuple[LibraryProgram, ...]

    def find(self, name: str) -> LibraryProgram:
        """Find a program, by its path in the folder or by the last part of it."""
        for program in self.programs:
            if name in (program.name, program.name.rsplit("/", 1)[-1]):
                return program
        raise Rejected(
            _not_there(f"program {quoted(name)} in {self.name}", name, [p.name for p in self.programs])
        )


def library_names() -> tuple[str, ...]:
    """Return the libraries that come with tolcost, sorted.

    >>> "relational" in library_names()
    True
    """
    folders = specs_root().iterdir()
    return tuple(sorted(folder.name for folder in folders if folder.joinpath(_FACTS).is_file()))


def read_library(name: str) -> ProgramLibrary:
    """Read a library by the name of its folder; an unknown name is a diagnostic."""
    if name not in library_names():
        raise Rejected(_not_there(f"library {quoted(name)}", name, library_names()))
    folder = specs_root().joinpath(name)
    facts = tomllib.loads(folder.joinpath(_FACTS).read_text(encoding="utf-8"))
    own = facts.get("programs", {})
    programs = tuple(_program(f"specs/{name}", path, file, facts, own) for path, file in _files(folder))
    return ProgramLibrary(
        name, facts["title"], facts["about"], facts.get("model", ""), facts.get("agreed", ""), programs
    )


def _program(
    shown: str, path: str, file: Traversable, facts: Mapping[str, Any], own: Mapping[str, Any]
) -> LibraryProgram:
    said = {**facts, **own.get(path, {})}
    source = Source(f"{shown}/{path}.tol", file.read_text(encoding="utf-8"))
    return LibraryProgram(
        path,
        source,
        said.get("role", ""),
        said.get("agreed", ""),
        said.get("tests", ""),
        said.get("inputs"),
        said.get("shapes", {}),
        said.get("attrs", {}),
    )


def _files(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the programs in a folder and then in its subfolders, each with its path."""
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".tol"):
            yield before + entry.name.removesuffix(".tol"), entry
    for entry in entries:
        if entry.is_dir():
            yield from _files(entry, f"{before}{entry.name}/")


def _not_there(what: str, name: str, known: tuple[str, ...] | list[str]) -> Diagnostic:
    near = get_close_matches(name[:60], known, n=1)
    hint = f"did you mean {quoted(near[0])}?" if near else f"there are {', '.join(known)}"
    return Diagnostic("T0665", f"there is no {what}", hint=hint)
