"""How far a text can be read: tree, names, atoms, costs, and the diagnostics that ``analyze`` gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tolcost.algebra import Poly, total_of
from tolcost.atoms.nodes import Program, Type
from tolcost.cost import Analysis
from tolcost.cost.count import ProgramCounter
from tolcost.cost.derive import Derivation, derive
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, place
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import PlainShape, arguments
from tolcost.pipeline import Parsed, analyze_lowered, as_rejected, lower, lower_for_author, read_program
from tolcost.platform import with_deep_stack
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


# === What lines and pieces of a program cost: the terms of an analysis, by where they stand.


@dataclass(frozen=True, slots=True)
class LineCost:
    """The EOPs that a line of the text accounts for, lines counted from 1.

    What a library or an operator does for a value is counted on the line that defines the value.
    """

    line: int
    eops: Poly


def line_costs(reading: Reading) -> tuple[LineCost, ...]:
    """The lines that cost something, from top to bottom; they add up to the program's EOPs."""
    if reading.lowered is None or reading.analysis is None or reading.program is None:
        return ()
    program, home = reading.lowered.program, _lines_of_names(reading.program)
    counts = with_deep_stack(lambda: _by_line(program, reading.source, home))
    found = ((line, total_of(forms)) for line, forms in sorted(counts.items()))
    return tuple(LineCost(line, eops) for line, eops in found if eops != 0)


def _by_line(program: Program, source: Source, home: Mapping[str, int]) -> dict[int, list[Poly]]:
    """The counts of every value of a program, by the lines they come from."""
    counter = ProgramCounter(program, functions_only=True)
    values = [(var.name, node) for var, node in program.bindings]
    values += [(out.name, out.node) for out in program.outputs]
    found: dict[int, list[Poly]] = {}
    for name, node in values:
        for key, form in counter.data_terms(node).items():
            span = key[0].span
            own = span.source.name == source.name and span.source.text == source.text
            line = place(span).line if own else home.get(name.partition(".")[0], 1)
            found.setdefault(line, []).append(counter.closed({key: form}))
    return found


def _lines_of_names(program: tree.Module) -> dict[str, int]:
    """For each name at the top of a program the line that gives its value."""
    found: dict[str, int] = {}
    for statement in program.statements:
        match statement:
            case tree.Define(name=name):
                found[name] = place(statement.span).line
            case tree.Unpack(names=names):
                found |= dict.fromkeys(names, place(statement.span).line)
            case tree.ZerosDecl(name=name):
                found.setdefault(name, place(statement.span).line)
            case _:
                pass
    return found


def cost_inside(reading: Reading, span: Span) -> Poly | None:
    """The EOPs of all that is written in a span; None where nothing is known."""
    if reading.analysis is None:
        return None
    inside = (
        term.count
        for term in reading.analysis.counts.terms
        if term.kind == "data"
        and term.span.source is span.source
        and span.start <= term.span.start
        and term.span.end <= span.end
    )
    return total_of(inside)


def types_of(reading: Reading) -> dict[str, Type]:
    """Spaces and shapes of the inputs, of the outputs, and of what is named at the top."""
    if reading.lowered is None:
        return {}
    program = reading.lowered.program
    found = {var.name: var.type for var, _ in program.bindings}
    found |= {given.name: given.type for given in program.inputs}
    return found | {out.name: out.node.type for out in program.outputs}


def derivation_of(reading: Reading) -> Derivation | None:
    """How the cost comes about; None where there is none."""
    if reading.lowered is None or reading.analysis is None:
        return None
    program = reading.lowered.program
    try:
        return with_deep_stack(lambda: derive(program))
    except Rejected:
        return None


def named_costs(derivation: Derivation | None) -> dict[str, Poly]:
    """The cost of each value that has one of its own."""
    chains: Iterable[tuple[str, Poly]] = ((c.name, c.total) for c in derivation.chains) if derivation else ()
    return {name: total for name, total in chains if name}
