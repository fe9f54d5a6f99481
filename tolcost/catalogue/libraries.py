"""Libraries of programs: the folders of ``specs/`` that say in a ``library.toml`` what they are.

    title = "Relational algebra"           # what people call it
    about = "A relation is ..."            # a sentence or two
    model = "Relation algebra"             # the row of the paper's Table 1 that it shows, if any
    agreed = "DuckDB, SQLite"              # the engine or library that its programs are held to
    tests = "tests/specs/test_x.py"        # where that is done
    inputs = 120                           # on how many random inputs

    [programs.HashJoin]                    # what differs for one program, or is needed to cost it
    role = "join"                          # which operator of the model it is
    agreed = "DuckDB"
    inputs = 200
    shapes = { r = ["n", "c"] }
    attrs = { axis = 1 }

Programs are the ``.tol`` files of the folder and of the folders in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tolcost.catalogue.specs import opening
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted
from tolcost.platform import specs_root

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_FACTS = "library.toml"


@dataclass(frozen=True, slots=True, eq=False)
class LibraryProgram:
    """A program of a library, and what is said of it; ``name`` is its path in the folder."""

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
        """The comment that it opens with, as one text."""
        return opening(self.source.text)

    @property
    def lines(self) -> int:
        """How many lines of ToLang it is: without comments and empty ones."""
        stripped = (line.strip() for line in self.source.text.splitlines())
        return sum(bool(line) and not line.startswith(("#", "//")) for line in stripped)


@dataclass(frozen=True, slots=True, eq=False)
class ProgramLibrary:
    """A folder of programs that belong together; ``model`` is a row of the paper's Table 1, or nothing."""

    name: str
    title: str
    about: str
    model: str
    agreed: str
    programs: tuple[LibraryProgram, ...]

    def find(self, name: str) -> LibraryProgram:
        """One of its programs, by its path in the folder or by the last part of it."""
        for program in self.programs:
            if name in (program.name, program.name.rsplit("/", 1)[-1]):
                return program
        raise Rejected(
            _unknown(f"program {quoted(name)} in {self.name}", name, [p.name for p in self.programs])
        )


def library_names() -> tuple[str, ...]:
    """The libraries that come with tolcost, sorted.

    >>> "relational" in library_names()
    True
    """
    folders = specs_root().iterdir()
    return tuple(sorted(folder.name for folder in folders if folder.joinpath(_FACTS).is_file()))


def read_library(name: str) -> ProgramLibrary:
    """A library by the name of its folder; a name that there is not is a diagnostic."""
    if name not in library_names():
        raise Rejected(_unknown(f"library {quoted(name)}", name, library_names()))
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
    """The programs in a folder and then in those inside it, each with its path."""
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".tol"):
            yield before + entry.name.removesuffix(".tol"), entry
    for entry in entries:
        if entry.is_dir():
            yield from _files(entry, f"{before}{entry.name}/")


def _unknown(what: str, name: str, known: tuple[str, ...] | list[str]) -> Diagnostic:
    near = get_close_matches(name[:60], known, n=1)
    hint = f"did you mean {quoted(near[0])}?" if near else f"there are {', '.join(known)}"
    return Diagnostic("T0665", f"there is no {what}", hint=hint)
