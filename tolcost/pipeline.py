"""The pipeline on one page: from ToLang text to atoms, counts and values.

Each stage is a function of the result of the one before; any result can be used by itself.

    text ──parse──▶ tree ──elaborate──▶ atoms ──┬─ analyze ─▶ counts, closed forms
                                               └─ run ─────▶ values and executed counts
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import AlgebraBudget
from tolcost.atoms.verify import verify
from tolcost.catalogue.specs import Library, open_library
from tolcost.cost import Analysis, analyze_program
from tolcost.cost.recurrence import analyze_recurrence
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Argument, Elaborated, elaborate
from tolcost.elaborate.faults import OpenRecursion
from tolcost.elaborate.programs import repeated_work
from tolcost.platform import with_deep_stack
from tolcost.syntax import parse
from tolcost.syntax.names import quotients_in_comments, rounded_quotients, unused
from tolcost.syntax.tree import Module, Use


class Parsed(Struct, frozen=True, eq=False):
    """A program with the library files it uses; its names are checked."""

    source: Source
    program: Module
    library: tuple[Module, ...]
    specs: Library


def read_program(source: Source, specs: Library | None = None) -> Parsed:
    """Parse a program and check its names; all mistakes found are reported together.

    ``specs`` is where library files and operators are looked up: those of tolcost if None.
    """
    program, specs = parse(source), specs or open_library()
    used = {name: use for use in program.statements if isinstance(use, Use) for name in use.names}
    library = tuple(specs.used(name, use) for name, use in used.items())
    specs.check_names(program, library)
    return Parsed(source, program, library, specs)


def read_shipped(source: Source, specs: Library | None = None) -> Parsed:
    """Parse a program that comes with tolcost; tests check its names, so they are not checked here."""
    specs = specs or open_library()
    program, library = specs.tested(source)
    return Parsed(source, program, library, specs)


def lower(
    parsed: Parsed,
    given: Mapping[str, Argument] | None = None,
    name: str | None = None,
    recurrences: bool = False,
) -> Elaborated:
    """Lower a program to atoms, for given inputs; with ``recurrences``, its cost may be all there is."""
    title = name or parsed.source.name.rsplit("/", 1)[-1].removesuffix(".tol")
    operators = parsed.specs.operators()
    elaborated = with_deep_stack(
        lambda: elaborate(
            parsed.program,
            given,
            name=title,
            library=parsed.library,
            operators=operators,
            recurrences=recurrences,
        )
    )
    if elaborated.recurrence is None:
        verify(elaborated.program)
    return elaborated


def lower_for_author(
    parsed: Parsed, given: Mapping[str, Argument] | None = None, recurrences: bool = False
) -> Elaborated:
    """Lower a program and add all warnings that its author might want to see."""
    found = lower(parsed, given, recurrences=recurrences)
    program = parsed.program
    read = (*quotients_in_comments(program), *rounded_quotients(program), *unused(program))
    return replace(found, warnings=(*read, *found.warnings, *repeated_work(found.program, parsed.source)))


def analyze_source(source: Source, given: Mapping[str, Argument] | None = None) -> Analysis:
    """Analyze the cost of a program."""
    return analyze_lowered(lower(read_program(source), given), source.name)


def analyze_parsed(
    parsed: Parsed, given: Mapping[str, Argument] | None = None, file: str = ""
) -> tuple[Analysis, tuple[Diagnostic, ...]]:
    """Analyze the cost of a program, also where recursion goes on to parts of any length; with warnings."""
    try:
        found = lower_for_author(parsed, given)
        return analyze_lowered(found, file), found.warnings
    except OpenRecursion:
        found = lower_for_author(parsed, given, recurrences=True)
        if found.recurrence is None:
            raise
        solved = with_deep_stack(partial(analyze_recurrence, found.program, found.recurrence, file))
        if solved is None:
            raise
        return solved, found.warnings


def analyze_lowered(lowered: Elaborated, file: str) -> Analysis:
    """Analyze the cost of a lowered program."""
    return with_deep_stack(lambda: analyze_program(lowered.program, file))


def as_rejected(error: BaseException) -> BaseException:
    """Convert a failure of size or depth to a diagnostic; return any other failure unchanged."""
    match error:
        case AlgebraBudget():
            hint = "give more of it as numbers: --dim, --shape, --attr"
            return Rejected(Diagnostic("T0504", f"this takes more algebra than allowed: {error}", hint=hint))
        case RecursionError():
            return Rejected(Diagnostic("T0505", "the program nests too deeply"))
        case MemoryError():
            return Rejected(Diagnostic("T0505", "the program needs more memory than there is"))
        case _:
            return error
