"""The result of each stage for a text: tree, names, atoms, costs, and the diagnostics of ``analyze``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, to_text, total_of
from tolcost.atoms.kit import inner_nodes
from tolcost.atoms.nodes import Node, Ref, Type, Var
from tolcost.catalogue.specs import Library, open_library
from tolcost.cost import Analysis
from tolcost.cost.count import ProgramCounter
from tolcost.cost.derive import Derivation, derive
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Source, Span, place
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import PlainShape, arguments
from tolcost.elaborate.values import NodeValue, Seq, ValueList
from tolcost.pipeline import Parsed, analyze_lowered, as_rejected, lower, lower_for_author, read_program
from tolcost.platform import with_deep_stack
from tolcost.syntax import parse, signatures, tree
from tolcost.syntax.names import KnownNames

_GUESSED_RANK = 2
ValueStatement: TypeAlias = tree.Define | tree.Unpack | tree.ZerosDecl


class Reading(Struct, frozen=True, eq=False):
    """The knowledge about a text; stages that could not be reached are None.

    ``guessed`` has the shapes assumed for inputs of any rank, so that there is something to show: diagnostics
    do not depend on them.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()
    program: tree.Module | None = None
    parsed: Parsed | None = None
    lowered: Elaborated | None = None
    analysis: Analysis | None = None
    guessed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    library: Library = field(default_factory=open_library)
    """The source of its operators and library files."""


@lru_cache(maxsize=32)
def read(source: Source, library: Library | None = None) -> Reading:
    """Analyse a text as far as possible, with the operators of a library: those of tolcost if None."""
    library = library or open_library()
    program: tree.Module | None = None
    parsed: Parsed | None = None
    lowered: Elaborated | None = None
    try:
        program = parse(source)
        parsed = read_program(source, library)
        lowered = lower_for_author(parsed)
        analysis = analyze_lowered(lowered, source.name)
    except Exception as error:
        failure = as_rejected(error)
        if not isinstance(failure, Rejected):
            raise
        warned = () if lowered is None else lowered.warnings
        return Reading(source, (*warned, *failure.diagnostics), program, parsed, lowered, library=library)
    return Reading(source, lowered.warnings, program, parsed, lowered, analysis, library=library)


@lru_cache(maxsize=32)
def read_supposing(source: Source, library: Library | None = None) -> Reading:
    """Analyse a text like ``read``, and guess the ranks of inputs of any rank if nothing else is missing.

    Diagnostics are those of the text itself.
    """
    found = read(source, library)
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
    return replace(found, lowered=lowered, analysis=analysis, guessed=tuple(shapes.items()))


def _is_open(statement: tree.InputDecl) -> bool:
    return statement.kind == "tol" and statement.any_rank and not (statement.optional or statement.variadic)


def _shape(statement: tree.InputDecl) -> tuple[str, ...]:
    """Guess a shape for an input of any rank: two new lengths, and those that it declares."""
    fresh = tuple(f"{statement.name}_{n}" for n in range(1, _GUESSED_RANK + 1))
    declared = [
        fresh
        if isinstance(entry, tree.Ellipsis)
        else (entry.name if isinstance(entry, tree.Name) else fresh[0],)
        for entry in statement.shape
    ]
    return tuple(name for names in declared for name in names)


def known_names(reading: Reading) -> KnownNames:
    """Return the names that the library files in use define."""
    library = reading.parsed.library if reading.parsed else ()
    return {name: found for file in library for name, found in signatures(file).items()}


# === The costs of lines and spans of a program: the terms of an analysis, by their place.


class LineCost(Struct, frozen=True):
    """The EOPs of a line of the text, lines counted from 1; an upper bound if ``bounded``.

    The work of a library or an operator is counted on the line of the value it computes.
    """

    line: int
    eops: Poly
    bounded: bool = False

    @property
    def text(self) -> str:
        """The cost as it is shown beside the line."""
        return f"{'at most ' if self.bounded else ''}{to_text(self.eops)}"


class StatementCost(Struct, frozen=True):
    """The EOPs of the value that a statement defines, and their distribution over lines.

    ``bounded`` marks an upper bound, where data decides.
    """

    eops: Poly
    lines: Mapping[int, Poly]
    bounded: bool = False


def line_costs(reading: Reading) -> tuple[LineCost, ...]:
    """Return the lines that cost something, from top to bottom; they add up to the program's EOPs."""
    found: dict[int, list[Poly]] = {}
    bounded: set[int] = set()
    for cost in statement_costs(reading).values():
        bounded |= {*cost.lines} if cost.bounded else set()
        for line, eops in cost.lines.items():
            found.setdefault(line, []).append(eops)
    totals = ((line, total_of(forms)) for line, forms in sorted(found.items()))
    return tuple(LineCost(line, eops, line in bounded) for line, eops in totals if eops != 0)


@lru_cache(maxsize=8)
def statement_costs(reading: Reading) -> Mapping[Span, StatementCost]:
    """Return the cost of each statement that defines a value, including called functions, without overlap."""
    if reading.lowered is None or reading.analysis is None or reading.program is None:
        return {}
    lowered, defining = reading.lowered, _defining(reading.program)
    bounded = reading.analysis.status == "upper bound"
    return with_deep_stack(lambda: _by_statement(lowered, reading.source, defining, bounded))


def _defining(program: tree.Module) -> dict[str, ValueStatement]:
    """Return the statement that defines each top-level value."""
    found: dict[str, ValueStatement] = {}
    for statement in program.statements:
        match statement:
            case tree.Define(name=name, params=None):
                found[name] = statement
            case tree.Unpack(names=names):
                found |= dict.fromkeys(names, statement)
            case tree.ZerosDecl(name=name):
                found.setdefault(name, statement)
            case _:
                pass
    return found


def _by_statement(
    lowered: Elaborated, source: Source, defining: Mapping[str, ValueStatement], some_bounded: bool
) -> dict[Span, StatementCost]:
    program = lowered.program
    counter = ProgramCounter(program, functions_only=not some_bounded)
    homes = _homes(lowered, source, defining)
    worked = [(homes[var], node) for var, node in program.bindings if var in homes]
    worked += [(defining[out.name].span, out.node) for out in program.outputs if out.name in defining]
    found: dict[Span, dict[int, list[Poly]]] = {}
    bounded: set[Span] = set()
    for home, node in worked:
        lines = found.setdefault(home, {})
        for line, eops in _by_line(counter, node, source, place(home).line):
            lines.setdefault(line, []).append(eops)
        if some_bounded and not counter.bounded.keys().isdisjoint(map(_span, inner_nodes((node,)))):
            bounded.add(home)
    return {
        home: StatementCost(
            total_of(eops for forms in lines.values() for eops in forms),
            {line: total_of(forms) for line, forms in lines.items()},
            home in bounded,
        )
        for home, lines in found.items()
    }


def _by_line(counter: ProgramCounter, node: Node, source: Source, home: int) -> Iterator[tuple[int, Poly]]:
    """Yield the functions that a value applies to data, by line; those written elsewhere are on its own line.

    At a data-dependent choice, the larger counts of both sides, function by function, may exceed the whole:
    then the whole is counted on one line.
    """
    terms = counter.data_terms(node)
    if counter.bounded and (whole := counter.closed(counter.whole_terms(node))) != counter.closed(terms):
        yield home, whole
        return
    for key, form in terms.items():
        span = key[0].span
        yield place(span).line if span.source == source else home, counter.closed({key: form})


def _homes(lowered: Elaborated, source: Source, defining: Mapping[str, ValueStatement]) -> dict[Var, Span]:
    """Return the statement that each value of a lowered program was computed for.

    The value is written there, or has a name of the program; intermediate values of an operator, a library
    file or a function belong to the first statement that uses them.
    """
    spans = sorted({statement.span for statement in defining.values()}, key=lambda span: span.start)
    found: dict[Var, Span] = {}
    for var, node in lowered.program.bindings:
        written = _span(node)
        around = (s for s in spans if s.start <= written.start and written.end <= s.end)
        if written.source == source and (home := next(around, None)) is not None:
            found[var] = home
    for name, value in lowered.named.items():
        statement = defining.get(name)
        if statement is not None and not (
            isinstance(statement, tree.Define) and isinstance(statement.value, tree.Name)
        ):
            for var in _variables(value):
                found.setdefault(var, statement.span)
    for out in lowered.program.outputs:
        if out.name in defining:
            _for_user(found, out.node, defining[out.name].span)
    for var, node in reversed(lowered.program.bindings):
        if var in found:
            _for_user(found, node, found[var])
    return found


def _for_user(found: dict[Var, Span], node: Node, home: Span) -> None:
    """Assign the values that a value uses to its statement, unless they have one."""
    for inner in inner_nodes((node,)):
        if isinstance(inner, Ref):
            found.setdefault(inner.var, home)


def _variables(value: object) -> Iterator[Var]:
    """Yield the variables that a value of the program consists of."""
    match value:
        case NodeValue(node=Ref(var=var)):
            yield var
        case ValueList(items=items) | Seq(items=items) | tuple(items):
            for item in items:
                yield from _variables(item)
        case _:
            pass


def _span(node: Node) -> Span:
    """Return where a value was written; ``NOWHERE`` for a value without a place."""
    found = getattr(node, "span", NOWHERE)
    return found if isinstance(found, Span) else NOWHERE


def cost_inside(reading: Reading, span: Span) -> Poly | None:
    """Return the EOPs of everything written in a span; None if nothing is known."""
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
    """Return spaces and shapes of inputs, outputs, and top-level names."""
    if reading.lowered is None:
        return {}
    program = reading.lowered.program
    found = {var.name: var.type for var, _ in program.bindings}
    found |= {given.name: given.type for given in program.inputs}
    return found | {out.name: out.node.type for out in program.outputs}


def derivation_of(reading: Reading) -> Derivation | None:
    """Return the derivation of the cost; None if there is none."""
    if reading.lowered is None or reading.analysis is None:
        return None
    program = reading.lowered.program
    try:
        return with_deep_stack(lambda: derive(program))
    except Rejected:
        return None
