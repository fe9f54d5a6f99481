"""What the general form of an operator may speak of: norms of the names in its definition.

A form that holds for every rank cannot mention the lengths of a tensor one by one.  It speaks of what the
definition has a name for: the volume of a tensor, the product of a vector of lengths, a length, a number.
These are formulas in the lengths of whatever instance is looked at, whatever its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tolcost.algebra import Poly, const, product_of, total_of
from tolcost.catalogue.general.sections import is_of_section
from tolcost.catalogue.specs import Spec
from tolcost.elaborate import Elaborated
from tolcost.elaborate.values import Cast, Data, Seq, Value, Vec, View


def measures(lowered: Elaborated, inputs: Iterable[str] = (), defined: Iterable[str] = ()) -> dict[str, Poly]:
    """The measures of an operator lowered for some inputs, by what they are called.

    Of its inputs there are more: the volume of a member, and the lengths along axes that it has names for.
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
    """The numbers that a value is, which may be those of axes."""
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
    """The lengths of a shape at some places, and those at all others."""
    if all(1 <= place <= len(shape) for place in places) and len(set(places)) == len(places):
        yield f"prod({title}[{axis}])", product_of([shape[place - 1] for place in places])
        others = (d for place, d in enumerate(shape, start=1) if place not in places)
        yield f"prod(without({title}, {axis}))", product_of(list(others))


def _of(name: str, value: Value) -> Iterator[tuple[str, Poly]]:
    match value:
        case Cast(value=inner):
            yield from _of(name, inner)
        case Poly() if [symbol.name for symbol in value.free] != [name]:  # else nothing says what it is
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
    """The lengths of a tensor; None for anything else."""
    match value:
        case Cast(value=inner):
            return shape_of(inner)
        case Data(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case Vec(shape=shape):
            return tuple(map(const, shape))
        case _:
            return None


def is_by_place(title: str) -> bool:
    """Whether a measure is a length at some place of a tensor, whatever that is the length of.

    >>> is_by_place("|X|[2]"), is_by_place("prod(|X|[a])")
    (True, False)
    """
    return title.endswith("]") and title[-2].isdigit()


def preference(spec: Spec) -> Callable[[str], tuple[int, int, str]]:
    """The order in which measures are preferred: outputs, lengths, inputs, then what the definition names."""
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
