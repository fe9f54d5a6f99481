"""Changes that an editor offers: fixes of diagnostics, the canonical layout; and what can be explained."""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.algebra import to_text
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Fix, Rejected, Source, Span
from tolcost.editor.costs import derivation_of, named_costs
from tolcost.editor.names import diagnostics_here, names_of
from tolcost.editor.reading import Reading
from tolcost.result.derivation import derivation_text
from tolcost.syntax import parse
from tolcost.syntax.format import format_program


@dataclass(frozen=True, slots=True)
class Action:
    """A fix, and the diagnostic it is for."""

    diagnostic: Diagnostic
    fix: Fix


def actions_in(reading: Reading, start: int, end: int) -> tuple[Action, ...]:
    """The certain fixes of the diagnostics that touch a piece of the text."""
    touching = (d for d in diagnostics_here(reading) if d.span.start <= end and start <= d.span.end)
    return tuple(Action(d, d.fix) for d in touching if d.fix is not None)


def fixed(text: str, fix: Fix) -> str:
    """A text with a fix in it."""
    return text[: fix.span.start] + fix.text + text[fix.span.end :]


def formatted(source: Source) -> str | None:
    """The canonical layout of a text; None where it cannot be read."""
    try:
        return format_program(parse(source))
    except Rejected:
        return None


@dataclass(frozen=True, slots=True)
class Lens:
    """A value whose cost can be explained: its name, where that stands, and its closed form."""

    name: str
    span: Span
    eops: str


def lenses(reading: Reading) -> Iterator[Lens]:
    """Every value of the program that costs something."""
    costs = named_costs(derivation_of(reading))
    for one in names_of(reading):
        if one.sort == "value" and one.name in costs and costs[one.name] != 0:
            yield Lens(one.name, one.place, to_text(costs[one.name]))


def explained(reading: Reading) -> str:
    """The derivation, as ``tolcost explain`` writes it; empty where there is none."""
    found = derivation_of(reading)
    name = reading.lowered.program.name if reading.lowered else ""
    return "" if found is None else derivation_text(found, name, reading.source.name)
