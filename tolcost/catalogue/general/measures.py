"""What the general form of an operator may speak of: norms of the names in its definition.

A form that holds for every rank cannot mention the lengths of a tensor one by one.  It speaks of what the
definition has a name for: the volume of a tensor, the product of a vector of lengths, a length, a number.
These are formulas in the lengths of whatever instance is looked at, whatever its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tolcost.algebra import Poly, const, product_of, total_of
from tolcost.catalogue.specs import Spec
from tolcost.elaborate import Elaborated
from tolcost.elaborate.values import Cast, Data, Seq, Value, Vec, View

Shape = tuple[Poly, ...]


def measures(lowered: Elaborated) -> dict[str, Poly]:
    """The measures of an operator lowered for some inputs, by what they are called."""
    found: dict[str, Poly] = {}
    for name, value in lowered.named.items():
        for title, form in _of(name, value):
            found.setdefault(title, form)
    return found


def _of(name: str, value: Value) -> Iterator[tuple[str, Poly]]:
    match value:
        case Cast(value=inner):
            yield from _of(name, inner)
        case Poly():
            yield name, value
        case Seq(items=items):
            yield f"len({name})", const(len(items))
            shapes = [shape for item in items if (shape := shape_of(item)) is not None]
            if len(shapes) == len(items):
                yield f"vol({name})", total_of([product_of(shape) for shape in shapes])
        case Vec(items=items, shape=(count,)) if _is_lengths(items):
            yield f"prod({name})", product_of([item for item in items if isinstance(item, Poly)])
            yield f"len({name})", const(count)
        case _:
            shape = shape_of(value)
            if shape is not None:
                yield f"vol({name})", product_of(shape)
                yield from ((f"|{name}|[{n}]", d) for n, d in enumerate(shape, start=1))


def _is_lengths(items: tuple[Value, ...]) -> bool:
    return all(isinstance(item, Poly) for item in items)


def shape_of(value: Value) -> Shape | None:
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


def preference(spec: Spec) -> Callable[[str], tuple[int, int, str]]:
    """The order in which measures are preferred: outputs, inputs, lengths, then what the definition names."""
    outputs = {f"vol({s.name})" for s in spec.outputs}
    inputs = {f"vol({s.name})" for s in spec.inputs}
    attributes = {s.name for s in spec.attributes}

    def rank(title: str) -> tuple[int, int, str]:
        match title:
            case _ if title in outputs:
                place = 0
            case _ if title in inputs:
                place = 1
            case _ if title.isidentifier():
                place = 2 if title not in attributes else 5
            case _:
                place = {"v": 3, "p": 3, "|": 4}.get(title[0], 6)
        return place, len(title), title

    return rank
