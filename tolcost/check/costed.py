"""The cost of a program as the gate needs it: the entry to compare, and the parts that it is made of.

A part is what one place of the source contributes to a metric, or one operator of a model.  The
gate itself does not know how programs are read: a ``Costing`` is given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Program
from tolcost.check.entries import entry_of
from tolcost.check.records import Entry
from tolcost.check.targets import Target
from tolcost.cost import Term, count, shipped
from tolcost.cost.weights import weight_of
from tolcost.diagnostics import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Part:
    """What one place or one operator contributes, by metric."""

    what: str
    counts: Mapping[str, Poly]
    span: Span = field(default=NOWHERE, repr=False)


@dataclass(frozen=True, slots=True)
class Costed:
    """A program that was analysed."""

    entry: Entry
    parts: tuple[Part, ...] = ()


Costing: TypeAlias = Callable[[Path, Target], Costed]
"""Analyse a program of the tree below a folder; ``Rejected`` where it cannot be."""


def costed_program(name: str, program: Program, metrics: Iterable[str]) -> Costed:
    """Count a lowered program: only what the metrics need."""
    counts = count(program)
    parts = (_part(term) for term in counts.terms if term.kind == "data")
    return Costed(entry_of(name, program, counts, metrics), tuple(parts))


def _part(term: Term) -> Part:
    weight = weight_of(shipped("flops"), term.function, term.space)
    counts = {"eops": term.count}
    if weight is not None and weight.denominator == 1:
        counts["flops"] = term.count * weight.numerator
    return Part(f"{term.function}:{term.space}", counts, term.span)
