"""The vocabulary of general forms: norms of the names in an operator's definition.

A form that holds for every rank cannot mention the lengths of a tensor one by one.  It uses quantities for
which the definition has a name: the volume of a tensor, the product of a vector of lengths, a length, a
number. These are formulas in the lengths of each instance, whatever its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np
from msgspec.structs import replace

from tolcost.algebra import ONE, ZERO, AlgebraBudget, Poly, const, length, product_of, substitute, total_of
from tolcost.catalogue.cases import Case, Item, attempt, placed
from tolcost.catalogue.graph import Attribute
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import kind_of_declared
from tolcost.elaborate.values import Cast, NodeValue, Seq, Value, Vec, View
from tolcost.syntax import tree


def measures(lowered: Elaborated, inputs: Iterable[str] = (), defined: Iterable[str] = ()) -> dict[str, Poly]:
    """Return the measures of an operator lowered for some inputs, by name.

    Inputs have further measures: the volume of a member, and the lengths along axes that have names.
    """
    found: dict[str, Poly] = {}
    for name, value in lowered.named.items():
        for title, form in _of(name, value):
            found.setdefault(title, form)
    axes = {name: places for name in defined if (places := _places(lowered.named.get(name)))}
    for name in inputs:
        shape = shape_of(lowered.named[name]) if name in lowered.named else None
        if shape:
            found[f"vol({name}[1])"] = product_of(shape[1:])
            for axis, places in axes.items():
                found.update(_along(f"|{name}|", shape, axis, places))
    return found


def _places(value: Value | None) -> tuple[int, ...]:
    """Return the numbers of a value that may be axes."""
    match value:
        case Cast(value=inner):
            return _places(inner)
        case Poly() if value.constant is not None:
            return (value.constant,)
        case Vec(shape=(_,), items=items):
            numbers = [item.constant for item in items if isinstance(item, Poly)]
            return tuple(n for n in numbers if n is not None) if len(numbers) == len(items) else ()
        case _:
            return ()


def _along(
    title: str, shape: tuple[Poly, ...], axis: str, places: tuple[int, ...]
) -> Iterator[tuple[str, Poly]]:
    """Yield the product of the lengths of a shape at some places, and that of all others."""
    if all(1 <= place <= len(shape) for place in places) and len(set(places)) == len(places):
        yield f"prod({title}[{axis}])", product_of([shape[place - 1] for place in places])
        others = (d for place, d in enumerate(shape, start=1) if place not in places)
        yield f"prod(without({title}, {axis}))", product_of(list(others))


def _of(name: str, value: Value) -> Iterator[tuple[str, Poly]]:
    match value:
        case Cast(value=inner):
            yield from _of(name, inner)
        case Poly() if [symbol.name for symbol in value.free] != [name]:  # a symbol alone has no meaning
            yield name, value
        case Seq(items=items):
            yield f"len({name})", const(len(items))
            shapes = [shape for item in items if (shape := shape_of(item)) is not None]
            if len(shapes) == len(items):
                yield f"vol({name})", total_of([product_of(shape) for shape in shapes])
        case Vec(items=items, shape=(count,)) if all(isinstance(item, Poly) for item in items):
            yield f"prod({name})", product_of([item for item in items if isinstance(item, Poly)])
            yield f"len({name})", const(count)
        case _:
            shape = shape_of(value)
            if shape is not None:
                yield f"vol({name})", product_of(shape)
                if shape:
                    yield f"rows({name})", product_of(shape[:-1])
                    yield f"last(|{name}|)", shape[-1]
                yield from ((f"|{name}|[{n}]", d) for n, d in enumerate(shape, start=1))


def shape_of(value: Value) -> tuple[Poly, ...] | None:
    """Return the lengths of a tensor; None for anything else."""
    match value:
        case Cast(value=inner):
            return shape_of(inner)
        case NodeValue(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case Vec(shape=shape):
            return tuple(map(const, shape))
        case _:
            return None


def is_by_place(title: str) -> bool:
    """Whether a measure is a length at a fixed place of a tensor, whatever it means there.

    >>> is_by_place("|X|[2]"), is_by_place("prod(|X|[a])")
    (True, False)
    """
    return title.endswith("]") and title[-2].isdigit()


def preference(spec: Spec) -> Callable[[str], tuple[int, int, str]]:
    """Return the sort key of measures: outputs, lengths, inputs, then other names of the definition."""
    outputs = {f"vol({s.name})" for s in spec.outputs}
    inputs = {f"vol({s.name})" for s in spec.inputs}
    attributes = {s.name for s in spec.attributes}

    def rank(title: str) -> tuple[int, int, str]:
        if title in outputs:
            place = 0
        elif title.isidentifier():
            place = 1 if title not in attributes else 5
        elif is_of_section(title):
            place = 1
        elif title in inputs:
            place = 2
        elif title.startswith("rows("):
            place = 5
        elif is_by_place(title):
            place = 6
        else:
            place = 4 if title.startswith("len(") else 3
        return place, len(title), title

    return rank


# === The work of an operator along a single dimension, for operators with several dimensions of one kind.
#
# A window slides along every dimension, and its part inside the input depends on each dimension alone:
# the number of applications of a function is then a product over the dimensions.  Its factors are the
# counts of the same definition with a single one of them, and every other length 1.


_TITLE = "prod(#"


def is_of_section(title: str) -> bool:
    """Whether a measure is such a product."""
    return title.startswith(_TITLE)


def has_dimensions(case: Case, spec: Spec) -> bool:
    """Whether there are several dimensions: for a single one, the product is the count itself."""
    return (_rank(case, spec) or 0) > 1


def section_measures(case: Case, spec: Spec, library: Library) -> dict[str, Poly] | None:
    """Return for every function the product over the dimensions of its applications along each.

    The result is None if the operator cannot be divided by dimensions.
    """
    rank = _rank(case, spec)
    if not rank or not any(_is_by_dimension(s) for s in spec.attributes):
        return None
    with suppress(Rejected, AlgebraBudget):
        each = [dict(_along_dimension(case, spec, library, d, rank)) for d in range(rank)]
        functions = {function for found in each for function in found}
        return {
            f"{_TITLE}{f})": product_of([found.get(f, ZERO) for found in each]) for f in sorted(functions)
        }
    return None


def _is_by_dimension(statement: tree.InputDecl) -> bool:
    """Whether an attribute has an entry for each of a number of dimensions."""
    return (
        kind_of_declared(statement.space) == "Z"
        and len(statement.shape) == 1
        and isinstance(statement.shape[0], tree.Name)
    )


def _rank(case: Case, spec: Spec) -> int | None:
    """Return the number of lengths that the `...` of the first tensor matches, or else of a static vector."""
    for statement, _, item in placed(case, spec):
        if isinstance(item, np.ndarray):
            if statement.any_rank:
                return item.ndim - len(statement.shape) + 1
            if statement.kind == "static" and _is_by_dimension(statement):
                return len(item)
    return None


def _along_dimension(
    case: Case, spec: Spec, library: Library, d: int, rank: int
) -> Iterator[tuple[str, Poly]]:
    """Yield the applications of each function along a dimension, in the lengths of the whole case."""
    counts = attempt(_section(case, spec, d, rank), spec, library, ()).counts
    found: dict[str, Poly] = {}
    for (function, _), form in counts.histogram.items():
        found[function] = found.get(function, ZERO) + form
    names = {
        f"{base}_{fixed + 1}": f"{base}_{fixed + 1 + d}"
        for statement, base, _ in placed(case, spec)
        if statement.any_rank and (fixed := len(statement.shape) - 1) >= 0
    }
    for function, form in found.items():
        by = {
            s: length(names[s.name], 0 if s.lo is None else s.lo.constant or 0)
            for s in form.free
            if s.name in names
        }
        yield function, substitute(form, by if names else dict.fromkeys(form.free, ONE))


def _section(case: Case, spec: Spec, d: int, rank: int) -> Case:
    """Restrict a case to one of the dimensions that `...` matches, with 1 for all named lengths.

    Without a `...`, lengths stay open: the values given for each dimension determine them.
    """
    anywhere = any(statement.any_rank for statement, _, _ in placed(case, spec))
    items: list[Item] = [
        _cut(statement, item, d, rank, anywhere) for statement, _, item in placed(case, spec)
    ]
    defaults = {s.name for s in spec.attributes if s.default is not None and kind_of_declared(s.space) == "Z"}
    attributes = {
        name: _entry(value, d, rank) for name, value in case.node.attributes.items() if name not in defaults
    }
    return replace(case, node=case.node._replace(attributes=attributes), inputs=tuple(items))


def _cut(statement: tree.InputDecl, item: Item, d: int, rank: int, anywhere: bool) -> Item:
    if not isinstance(item, np.ndarray):
        return item
    if statement.kind == "static":
        return item[d::rank] if _is_by_dimension(statement) and len(item) in (rank, 2 * rank) else item
    fixed = len(statement.shape) - 1
    if not statement.any_rank:
        return np.resize(item, [1] * item.ndim) if anywhere else item
    return np.resize(item, [*[1] * fixed, *item.shape[fixed + d : fixed + d + 1]])


def _entry(value: Attribute, d: int, rank: int) -> Attribute:
    """Restrict an attribute to one dimension, if it has an entry for each."""
    match value:
        case Cast(value=inner, space=space) if not isinstance(inner, Cast):
            found = _entry(inner, d, rank)
            return Cast(found, space) if isinstance(found, Vec) else value
        case Vec(shape=(count,), items=items) if rank > 1 and count in (rank, 2 * rank):
            return Vec((count // rank,), items[d::rank])
        case _:
            return value
