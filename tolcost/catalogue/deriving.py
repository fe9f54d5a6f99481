"""The closed form behind a case: its operator lowered with every length a symbol of its own.

A length of 1 stays 1, because it may broadcast, and static inputs keep their values.  Where an
operator cannot be lowered like that (a length decides a rank, or how many entries a sequence has),
as few lengths as possible take the values of the case, and the result names them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

from tolcost.algebra import Poly, Truth, const, length
from tolcost.catalogue.binding import attribute_values, bind
from tolcost.catalogue.cases import Case, Item, arrays_in
from tolcost.catalogue.graph import met
from tolcost.catalogue.specs import Library, Spec
from tolcost.catalogue.subgraphs import Surroundings, graph_functions
from tolcost.catalogue.types import Array, space_of_dtype, static_value
from tolcost.cost import Counts, count
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Elaborated, Inputs, Tensor, elaborate
from tolcost.elaborate.values import Argument, Cast, Vec, frozen
from tolcost.syntax import tree


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """An operator lowered for a case: the program, its counts, and the lengths that are numbers."""

    spec: Spec
    lowered: Elaborated
    counts: Counts
    concrete: tuple[str, ...] = ()


def derive(case: Case, spec: Spec, library: Library) -> Derived:
    """Lower the operator of a case with as many symbolic lengths as it allows."""
    try:
        return attempt(case, spec, library, ())
    except Rejected:
        axes = tuple(_axes(case, spec))
        if not axes:
            raise
        fallback = attempt(case, spec, library, axes)
        for fewer in _smaller(axes):
            try:
                return attempt(case, spec, library, fewer)
            except Rejected:
                continue
        return fallback


def attempt(case: Case, spec: Spec, library: Library, concrete: tuple[str, ...]) -> Derived:
    """Lower the operator of a case with a symbol for every length but those that are to be numbers."""
    surroundings = Surroundings(library, {case.node.domain: case.opset}, repeats=not spec.branches)
    given = bind(
        case.node,
        spec,
        _arguments(case, spec, frozenset(concrete)),
        graph_functions(case.node, surroundings),
    )
    key = tuple((name, frozen(argument)) for name, argument in given.items())
    lowered, counts = _lowered(_Question(spec, library, case.node.asked, key, given))
    return Derived(spec, lowered, counts, concrete)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is to be lowered: all that lowering sees of a case, and ``key`` is what is given, to compare."""

    spec: Spec
    library: Library
    asked: int
    key: tuple[object, ...]
    given: Mapping[str, Argument] = field(compare=False)


@lru_cache(maxsize=256)  # cases that differ only in elements, or in lengths, follow one another
def _lowered(question: _Question) -> tuple[Elaborated, Counts]:
    spec = question.spec
    lowered = elaborate(
        spec.program,
        question.given,
        name=spec.name,
        library=spec.library,
        operators=question.library.operators(),
        outputs=question.asked,
    )
    return lowered, count(lowered.program)


def _smaller(axes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Sets of lengths to try as numbers, small ones first: one length, then one input."""
    for axis in reversed(axes):
        yield (axis,)
    for _, group in groupby(axes, key=lambda axis: axis.rpartition("_")[0]):
        yield tuple(group)


def _axes(case: Case, spec: Spec) -> Iterator[str]:
    """The names of all lengths that a case leaves open."""
    for statement, base, item in placed(case, spec):
        several = isinstance(item, tuple)
        for k, array in enumerate(arrays_in(item) if statement.kind != "static" else (), start=1):
            name = f"{base}{k}" if several else base
            yield from (f"{name}_{d}" for d, n in enumerate(array.shape, start=1) if n != 1)


def arrays_by_name(case: Case, spec: Spec) -> dict[str, Array]:
    """The arrays of a case under the names that its lowered program has for its inputs."""
    found: dict[str, Array] = {}
    for n, (statement, item) in enumerate(zip(met(spec.inputs, len(case.inputs)), case.inputs, strict=False)):
        name = f"{statement.name}.{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        if isinstance(item, tuple):
            found.update({f"{name}.{k}": array for k, array in enumerate(item, start=1)})
        elif item is not None:
            found[name] = item
    return found


def placed(case: Case, spec: Spec) -> Iterator[tuple[tree.InputDecl, str, Item]]:
    """What meets each declaration, with the name that its lengths start with."""
    for n, (statement, item) in enumerate(zip(met(spec.inputs, len(case.inputs)), case.inputs, strict=False)):
        base = f"{statement.name}{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        yield statement, base, item


def _arguments(case: Case, spec: Spec, concrete: frozenset[str]) -> list[Argument | None]:
    found = [_argument(statement, base, item, concrete) for statement, base, item in placed(case, spec)]
    # inputs beyond those declared are for the binder to complain about
    beyond = [None if item is None else Inputs(()) for item in case.inputs[len(found) :]]
    return [*found, *beyond]


def _argument(statement: tree.InputDecl, base: str, item: Item, concrete: frozenset[str]) -> Argument | None:
    if item is None:
        return None
    if isinstance(item, tuple):
        return Inputs(tuple(_tensor(f"{base}{k}", array, concrete) for k, array in enumerate(item, start=1)))
    if statement.kind == "static":
        return Cast(static_value(item), space_of_dtype(item.dtype))
    return _tensor(base, item, concrete)


def _tensor(base: str, array: Array, concrete: frozenset[str]) -> Tensor:
    lengths = (_length(f"{base}_{d}", n, concrete) for d, n in enumerate(array.shape, start=1))
    return Tensor(tuple(lengths), space_of_dtype(array.dtype))


def _length(name: str, actual: int, concrete: frozenset[str]) -> Poly:
    if actual == 1 or name in concrete:
        return const(actual)
    return length(name, min(actual, 1))


StoredValue: TypeAlias = "int | float | bool | str | list[StoredValue]"

_MOST_ENTRIES = 64


def settings(
    case: Case, spec: Spec, concrete: tuple[str, ...]
) -> tuple[dict[str, StoredValue], dict[str, StoredValue]]:
    """The shapes of a case's tensors, with names for lengths that are not ``concrete``, and its values."""
    shapes: dict[str, StoredValue] = {}
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
    return shapes, dict(_values(case, spec))


def _shape(base: str, item: Item, concrete: tuple[str, ...]) -> StoredValue:
    if isinstance(item, tuple):
        return [_lengths(f"{base}{k}", array, concrete) for k, array in enumerate(item, start=1)]
    return [] if item is None else _lengths(base, item, concrete)


def _lengths(base: str, array: Array, concrete: tuple[str, ...]) -> StoredValue:
    names = ((f"{base}_{d}", n) for d, n in enumerate(array.shape, start=1))
    return [n if n == 1 or name in concrete else name for name, n in names]


def _values(case: Case, spec: Spec) -> Iterator[tuple[str, StoredValue]]:
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


def plain(value: object) -> StoredValue | None:
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


def _nested(items: list[StoredValue | None], shape: tuple[int, ...]) -> StoredValue:
    if len(shape) == 1:
        return [item for item in items if item is not None]
    size = math.prod(shape[1:])
    return [_nested(items[n * size : (n + 1) * size], shape[1:]) for n in range(shape[0])]
