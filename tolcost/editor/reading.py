"""How far a text can be read: tree, names, atoms, costs, and the diagnostics that ``analyze`` gives."""

from __future__ import annotations

from functools import lru_cache

from tolcost.cost import Analysis
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import PlainShape, arguments
from tolcost.pipeline import Parsed, analyze_lowered, as_rejected, lower, lower_for_author, read_program
from tolcost.syntax import parse, signatures, tree
from tolcost.syntax.names import KnownNames

_GUESSED_RANK = 2


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What is known of a text; what could not be reached is None.

    ``guessed`` are the shapes that were made up for inputs of any rank, so that there is something to show:
    diagnostics know nothing of them.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()
    program: tree.Module | None = None
    parsed: Parsed | None = None
    lowered: Elaborated | None = None
    analysis: Analysis | None = None
    guessed: tuple[tuple[str, tuple[str, ...]], ...] = ()


@lru_cache(maxsize=32)
def read(source: Source) -> Reading:
    """Read a text as far as it goes."""
    program: tree.Module | None = None
    parsed: Parsed | None = None
    lowered: Elaborated | None = None
    try:
        program = parse(source)
        parsed = read_program(source)
        lowered = lower_for_author(parsed)
        analysis = analyze_lowered(lowered, source.name)
    except Exception as error:
        failure = as_rejected(error)
        if not isinstance(failure, Rejected):
            raise
        warned = () if lowered is None else lowered.warnings
        return Reading(source, (*warned, *failure.diagnostics), program, parsed, lowered)
    return Reading(source, lowered.warnings, program, parsed, lowered, analysis)


@lru_cache(maxsize=32)
def read_supposing(source: Source) -> Reading:
    """The same with a rank for inputs of any rank, if that is all that was missing: more can be shown.

    Diagnostics are those of the text as it is.
    """
    found = read(source)
    parsed = found.parsed
    if parsed is None or found.lowered is not None:
        return found
    shapes = {
        s.name: _shape(s) for s in parsed.program.statements if isinstance(s, tree.InputDecl) and _is_open(s)
    }
    if not shapes:
        return found
    try:
        given: dict[str, PlainShape] = {**shapes}
        lowered = lower(parsed, arguments(parsed.program, given))
        analysis = analyze_lowered(lowered, found.source.name)
    except Exception as error:
        if not isinstance(as_rejected(error), Rejected):
            raise
        return found
    guessed = tuple(shapes.items())
    return Reading(found.source, found.diagnostics, found.program, parsed, lowered, analysis, guessed)


def _is_open(statement: tree.InputDecl) -> bool:
    return statement.kind == "tol" and statement.any_rank and not (statement.optional or statement.variadic)


def _shape(statement: tree.InputDecl) -> tuple[str, ...]:
    """A shape for an input of any rank: two lengths of its own, and those that it has."""
    fresh = tuple(f"{statement.name}_{n}" for n in range(1, _GUESSED_RANK + 1))
    declared = [
        fresh
        if isinstance(entry, tree.Ellipsis)
        else (entry.name if isinstance(entry, tree.Name) else fresh[0],)
        for entry in statement.shape
    ]
    return tuple(name for names in declared for name in names)


def known_names(reading: Reading) -> KnownNames:
    """What the library files in use define."""
    library = reading.parsed.library if reading.parsed else ()
    return {name: found for file in library for name, found in signatures(file).items()}
