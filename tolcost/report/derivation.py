"""A derivation as text: a chain of equalities for every name, each with its line and reason."""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.algebra import to_text
from tolcost.cost.derive import Derivation, DerivationStep, ValueDerivation
from tolcost.diagnostics import NOWHERE, place, visible

_WIDEST = 72
"""A longer formula does not push the reasons beside the others further right."""


def derivation_text(derivation: Derivation, name: str, file: str) -> str:
    """Give the chains of all named values, and their sum."""
    chains = _worth_showing(derivation)
    lines = [f"{visible(name)}  {visible(file)}", ""]
    for chain in chains:
        lines += [*_chain(chain, file), ""]
    costly = [chain for chain in chains if chain.total != 0]
    if len(costly) != 1:
        parts = " + ".join(map(_title, costly)) or "EOPs of the whole program"
        lines += [f"{parts} = {to_text(derivation.total)}", ""]
    return "\n".join(lines)


def _worth_showing(derivation: Derivation) -> tuple[ValueDerivation, ...]:
    """Leave out outputs that are but another mention of a value derived already."""
    named = {chain.name for chain in derivation.chains if chain.total != 0}
    kept = [chain for chain in derivation.chains if chain.total != 0 or chain.name not in named]
    return tuple(kept)


def _chain(chain: ValueDerivation, file: str) -> Iterator[str]:
    shown = chain.steps if chain.name else chain.steps[1:]
    steps = [(visible(step.text_after), _line(step, file), visible(step.reason)) for step in shown]
    width = max((len(text) for text, _, _ in steps if len(text) <= _WIDEST), default=0)
    place_width = max((len(where) for _, where, _ in steps), default=0)
    yield _title(chain)
    for text, where, reason in steps:
        yield f"  = {text.ljust(width)}  {where.ljust(place_width)}  {reason}".rstrip()


def _title(chain: ValueDerivation) -> str:
    """What is derived: a name, or the source of a value that has none."""
    return f"EOPs({visible(chain.name)})" if chain.name or not chain.steps else chain.steps[0].text_after


def _line(step: DerivationStep, file: str) -> str:
    if step.span.source is NOWHERE.source:
        return ""
    name = step.span.source.name
    number = place(step.span).line
    return f"line {number}" if name == file else f"{visible(name)}:{number}"
