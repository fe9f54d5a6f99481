"""What a node test gives its operator, as plain data: shapes with the symbols of its closed form, and values.

Kept beside the outcome of a test, so that a closed form can be read without the test at hand.
Values that are large, or not plain numbers and texts, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tolcost.algebra import Poly, Truth
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.cases import Case, Item
from tolcost.catalogue.deriving import placed
from tolcost.catalogue.specs import Spec
from tolcost.catalogue.types import Array, static_value
from tolcost.elaborate.values import Cast, Vec

Json: TypeAlias = "int | float | bool | str | list[Json]"

_MOST_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """The version of the definition that a case meets, the shapes of its tensors, and its values."""

    since: int
    shapes: dict[str, Json]
    values: dict[str, Json]


def settings(case: Case, spec: Spec, concrete: tuple[str, ...]) -> Settings:
    """Describe a case; ``concrete`` names the lengths that are numbers in its closed form."""
    shapes: dict[str, Json] = {}
    values: dict[str, Json] = dict(_values(case, spec))
    for statement, base, item in placed(case, spec):
        if item is None or statement.kind == "static":
            continue
        shape = _shape(base, item, concrete)
        if statement.variadic:
            several = shapes.setdefault(statement.name, [])
            assert isinstance(several, list)
            several.append(shape)
        else:
            shapes[statement.name] = shape
    return Settings(spec.since, shapes, values)


def _shape(base: str, item: Item, concrete: tuple[str, ...]) -> Json:
    if isinstance(item, tuple):
        return [_lengths(f"{base}{k}", array, concrete) for k, array in enumerate(item, start=1)]
    return [] if item is None else _lengths(base, item, concrete)


def _lengths(base: str, array: Array, concrete: tuple[str, ...]) -> Json:
    names = ((f"{base}_{d}", n) for d, n in enumerate(array.shape, start=1))
    return [n if n == 1 or name in concrete else name for name, n in names]


def _values(case: Case, spec: Spec) -> Iterator[tuple[str, Json]]:
    """The attributes and static inputs that are plain and small."""
    found = attribute_values(case.node)
    for statement, _, item in placed(case, spec):
        if statement.kind == "static" and item is not None and not isinstance(item, tuple):
            if item.size > _MOST_ENTRIES:
                continue
            found[statement.name] = static_value(item)
    for name, value in found.items():
        known = plain(value)
        if known is not None:
            yield name, known


def plain(value: object) -> Json | None:
    """Give a value known while compiling as JSON can hold it; None where it cannot.

    >>> plain(Vec((2, 1), (Fraction(1, 2), "a")))
    [[0.5], ['a']]
    """
    match value:
        case Cast(value=inner):
            return plain(inner)
        case Poly():
            return value.constant
        case Truth(value=known):
            return known
        case Fraction():
            return value.numerator if value.denominator == 1 else float(value)
        case str():
            return value
        case Vec(shape=shape, items=items) if len(items) <= _MOST_ENTRIES:
            flat = [plain(item) for item in items]
            return None if None in flat else _nested(flat, shape)
        case _:
            return None


def _nested(items: list[Json | None], shape: tuple[int, ...]) -> Json:
    if len(shape) == 1:
        return [item for item in items if item is not None]
    size = math.prod(shape[1:])
    return [_nested(items[n * size : (n + 1) * size], shape[1:]) for n in range(shape[0])]
