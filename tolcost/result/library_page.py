"""Libraries of programs as lists and pages: each program with its lines, its cost and what it was held to."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import Poly, to_text
from tolcost.catalogue.libraries import LibraryProgram, ProgramLibrary
from tolcost.cost import CountStatus, count
from tolcost.dataclass import dataclass
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import lower, read_program
from tolcost.show.document import Code, Column, Document, Fact, Facts, Heading, Lines, ReportTable
from tolcost.show.json import Json, document


@dataclass(frozen=True, slots=True, eq=False)
class CostedProgram:
    """A program of a library with its cost, all lengths symbols; data decides those of ``by_data``."""

    program: LibraryProgram
    eops: Poly
    status: CountStatus
    by_data: tuple[str, ...]

    @property
    def certainty(self) -> str:
        """Whether its counts are exact, or what they depend on besides lengths that are given."""
        return f"{self.status}: {', '.join(self.by_data)}" if self.by_data else self.status

    @property
    def agreement(self) -> str:
        """What it was held to, and on how many inputs."""
        said = self.program
        return f"{said.agreed}, {said.inputs} inputs" if said.inputs else said.agreed


def costed(program: LibraryProgram) -> CostedProgram:
    """Count a program as its library says that it is used."""
    parsed = read_program(program.source)
    counts = count(lower(parsed, arguments(parsed.program, program.shapes, program.attrs)).program)
    forms = (*counts.histogram.values(), *counts.index.values(), *counts.atoms.values())
    found = {symbol.name for form in forms for symbol in form.free if symbol.kind == "data"}
    return CostedProgram(
        program, counts.eops, counts.status, tuple(sorted(found, key=lambda name: (len(name), name)))
    )


# ---- for people ------------------------------------------------------------------------------


def libraries_document(libraries: Sequence[ProgramLibrary]) -> Document:
    """One line for each library."""
    columns = (
        Column("library", "library"),
        Column("programs", "programs", "number"),
        Column("title", "title"),
    )
    rows = tuple((one.name, len(one.programs), one.title) for one in libraries)
    return (ReportTable(columns, rows),)


def library_document(library: ProgramLibrary, programs: Sequence[CostedProgram]) -> Document:
    """One line for each program, under what the library is about."""
    columns = (
        Column("program", "program"),
        Column("lines", "lines", "number"),
        Column("eops", "EOPs", "form"),
        Column("status", "count is"),
        Column("about", "about"),
    )
    rows = tuple(
        (one.program.name, one.program.lines, one.eops, one.certainty, one.program.about) for one in programs
    )
    said = (library.about, *([f"Held to {library.agreed}."] if library.agreed else []))
    return Heading(library.title, f"specs/{library.name}"), Lines(said), ReportTable(columns, rows)


def program_document(one: CostedProgram) -> Document:
    """What is known of a program, and its text."""
    program = one.program
    facts = [Fact("EOPs", Code(to_text(one.eops))), Fact("status", one.certainty)]
    if program.agreed:
        facts.append(Fact("held to", f"{one.agreement}: {program.tests}"))
    text = tuple(program.source.text.splitlines())
    return Heading(program.name, program.source.name), Facts(tuple(facts)), Lines(text)


# ---- for scripts -----------------------------------------------------------------------------


def libraries_json(libraries: Sequence[ProgramLibrary]) -> str:
    """Give the document of ``ops --library all``."""
    found: list[Json] = [
        {"name": one.name, "title": one.title, "about": one.about, "programs": len(one.programs)}
        for one in libraries
    ]
    return document("libraries", {"libraries": found})


def library_json(library: ProgramLibrary, programs: Sequence[CostedProgram]) -> str:
    """Give the document of ``ops --library``."""
    found: list[Json] = [program_json(one) for one in programs]
    return document("library", {"name": library.name, "title": library.title, "programs": found})


def program_json(one: CostedProgram) -> dict[str, Json]:
    """Give what is known of a program."""
    said = one.program
    return {
        "name": said.name,
        "file": said.source.name,
        "role": said.role or None,
        "about": said.about,
        "lines": said.lines,
        "eops": to_text(one.eops),
        "count": one.status,
        "agreed": said.agreed or None,
        "inputs": said.inputs,
        "tests": said.tests or None,
    }
