"""What lines and pieces of a program cost: the terms of an analysis, by where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tolcost.algebra import Poly, total_of
from tolcost.atoms.nodes import Program, Type
from tolcost.cost.count import ProgramCounter
from tolcost.cost.derive import Derivation, derive
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Rejected, Source, Span, place
from tolcost.editor.reading import Reading
from tolcost.platform import with_deep_stack
from tolcost.syntax import tree


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
