"""From a lowered program to what the gate keeps of it: only the counts that its metrics need."""

from __future__ import annotations

from collections.abc import Iterable

from tolcost.atoms.nodes import Program
from tolcost.check.costed import Costed, Part
from tolcost.check.entries import entry_of
from tolcost.cost import Term, count, shipped
from tolcost.cost.weights import weight_of


def costed_program(name: str, program: Program, metrics: Iterable[str]) -> Costed:
    """Count a lowered program."""
    counts = count(program)
    parts = (_part(term) for term in counts.terms if term.kind == "data")
    return Costed(entry_of(name, program, counts, metrics), tuple(parts))


def _part(term: Term) -> Part:
    weight = weight_of(shipped("flops"), term.function, term.space)
    counts = {"eops": term.count}
    if weight is not None and weight.denominator == 1:
        counts["flops"] = term.count * weight.numerator
    return Part(f"{term.function}:{term.space}", counts, term.span)
