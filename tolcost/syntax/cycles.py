"""Definitions that need themselves."""

from __future__ import annotations

from collections.abc import Iterable

from tolcost.diagnostics import Diagnostic, Label, quoted
from tolcost.syntax.scopes import Definition

_MOST_STEPS = 6


def cycles(definitions: Iterable[Definition]) -> list[Diagnostic]:
    """One diagnostic for each cycle met; walks without recursion."""
    done: set[Definition] = set()
    found = []
    for definition in definitions:
        path = [definition] if definition not in done else []
        open_ = {definition: 0}
        rest = [iter(definition.needs)]
        while path:
            needed = next((d for d in rest[-1] if d not in done), None)
            if needed is None:
                done.add(path[-1])
                del open_[path.pop()]
                rest.pop()
            elif needed in open_:
                found.append(_told(path[open_[needed] :]))
                done.update(path[open_[needed] :])
            else:
                open_[needed] = len(path)
                path.append(needed)
                rest.append(iter(needed.needs))
    return found


def _told(cycle: list[Definition]) -> Diagnostic:
    first = cycle[0]
    following = [*cycle[1:], first]
    steps = [*cycle[:_MOST_STEPS], *cycle[-1:]] if len(cycle) > _MOST_STEPS else cycle
    way = " → ".join(quoted(d.name) for d in [*steps, first])
    labels = tuple(
        Label(d.needs[after], f"{quoted(d.name)} needs {quoted(after.name)}")
        for d, after in list(zip(cycle, following, strict=True))[1:_MOST_STEPS]
    )
    message = f"{quoted(first.name)} is defined in terms of itself"
    message += f": {way}" if len(cycle) > 1 else ""
    hint = "there is no recursion; a repeated step is written with `reduce`"
    return Diagnostic("T0204", message, first.needs[following[0]], labels, hint)
