"""The paper's Table 1 made to run: for each model of computation what shows it here, and at what cost.

The rows are the paper's (``specs/paper/models.toml``); libraries of programs say which of them they show.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from tolcost.catalogue.libraries import ProgramLibrary, library_names, read_library
from tolcost.platform import specs_root
from tolcost.result.catalogue_page import CostedProgram, costed
from tolcost.show.document import Cell, Code, Column, ReportTable

NAME = "models_of_computation"
_COMMAND = "tolcost report"

_MODELS = (
    Column("model", "model"),
    Column("language", "language"),
    Column("data", "data"),
    Column("atoms", "atomic computations"),
    Column("domain", "domain"),
    Column("here", "here"),
    Column("programs", "programs", "number"),
    Column("lines", "lines of ToLang", "number"),
    Column("agreed", "agreed with"),
)

_PROGRAMS = (
    Column("library", "library"),
    Column("program", "program"),
    Column("role", "operator"),
    Column("lines", "lines", "number"),
    Column("eops", "EOPs", "form"),
    Column("status", "count is"),
    Column("agreed", "agreed with"),
    Column("command", "shown by", "code", shown=False, printed=False),
)


def models_tables() -> tuple[ReportTable, ReportTable]:
    """The models of the paper with what shows them, and every program of the libraries."""
    libraries = tuple(map(read_library, library_names()))
    return _models(libraries), _programs(libraries)


def _models(libraries: Sequence[ProgramLibrary]) -> ReportTable:
    text = specs_root().joinpath("paper", "models.toml").read_text(encoding="utf-8")
    stated: list[dict[str, Any]] = tomllib.loads(text)["models"]
    rows = [_model(row, [one for one in libraries if one.model == row["model"]]) for row in stated]
    known = {row["model"] for row in stated}
    rows += [
        _model({"model": "-", "domain": one.title}, [one])
        for one in libraries
        if one.agreed and one.model not in known
    ]
    about = (
        "The models of the paper's Table 1, and the programs in ToLang that show them: how many there are, "
        "how long they are, and which engine or library gave the same results on random inputs. "
        "Libraries that belong to none of the models follow. ToLang is total: a program that need not end is "
        "given its number of steps."
    )
    return ReportTable(_MODELS, tuple(rows), NAME, "Models of computation", about, _COMMAND)


def _model(row: dict[str, Any], shown: Sequence[ProgramLibrary]) -> tuple[Cell, ...]:
    programs = [program for library in shown for program in library.programs]
    here = ", ".join(f"specs/{library.name}" for library in shown) or row.get("here", "not shown")
    return (
        row["model"],
        row.get("language", ""),
        row.get("data", ""),
        ", ".join(row.get("atoms", ())),
        row["domain"],
        here,
        len(programs) or None,
        sum(program.lines for program in programs) or None,
        ", ".join(dict.fromkeys(name for one in programs for name in one.agreed.split(", ") if name)),
    )


def _programs(libraries: Sequence[ProgramLibrary]) -> ReportTable:
    rows = [_program(library, costed(one)) for library in libraries for one in library.programs]
    about = (
        "Every program of the libraries, with all lengths symbols. A count that depends on data is in terms "
        "of lengths that only a run tells: how many rows a filter keeps."
    )
    return ReportTable(_PROGRAMS, tuple(rows), NAME, "Their programs", about, _COMMAND)


def _program(library: ProgramLibrary, one: CostedProgram) -> tuple[Cell, ...]:
    program = one.program
    return (
        library.name,
        program.name,
        program.role,
        program.lines,
        one.eops,
        one.certainty,
        one.agreement,
        Code(f"tolcost ops --library {library.name} {program.name}"),
    )
