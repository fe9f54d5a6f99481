"""What the JSON documents of programs and of models share; ``docs/schemas`` has the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from tolcost.algebra import Cond, Poly, Symbol, is_nonnegative, to_text
from tolcost.result.study import Located
from tolcost.show.document import Form, text_of
from tolcost.show.json import Json, number

Show: TypeAlias = Callable[[Form | None], Json]


def form_json(form: Form | None) -> Json:
    """A closed form as text; null where it is not known."""
    return None if form is None else text_of(form)


def value_json(cost: Located) -> Show:
    """How forms are shown at a point: as numbers; null where they have none."""

    def show(form: Form | None) -> Json:
        found = cost.value(form)
        if isinstance(found, int | Fraction):
            return number(found)
        return None if cost.point.complete else form_json(found)

    return show


def all_reached(full: Iterable[Poly], show: Show, facts: tuple[Cond, ...]) -> bool:
    """Whether all ranges are seen to have an element: there, none of these forms is negative."""
    return all(is_nonnegative(p, facts) or _is_no_less(show(p)) for p in full)


def _is_no_less(found: Json) -> bool:
    """Whether it is a number, large ones as text, that is not negative."""
    return (isinstance(found, int) and found >= 0) or (isinstance(found, str) and found.isdecimal())


def at_json(cost: Located, figures: Callable[[Show], dict[str, Json]]) -> dict[str, Json]:
    """The figures at a point, if there is one: ``at`` where every length is known, else ``partly``."""
    if not cost.located:
        return {}
    dims: dict[str, Json] = {name: number(value) for name, value in sorted(cost.point.dims.items())}
    return {"at" if cost.point.complete else "partly": {"dims": dims, **figures(value_json(cost))}}


def symbol_json(symbol: Symbol) -> dict[str, Json]:
    """A symbol with its range."""
    low, high = (None if end is None else to_text(end) for end in (symbol.lo, symbol.hi))
    return {"name": symbol.name, "kind": symbol.kind, "low": low, "high": high}


def functions_json(counts: Mapping[tuple[str, str], Poly], show: Show) -> dict[str, Json]:
    """Counts by function and space."""
    return {f"{name}:{space}": show(form) for (name, space), form in sorted(counts.items())}
