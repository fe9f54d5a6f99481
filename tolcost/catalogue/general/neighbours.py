"""Cases near a node test: other lengths, other integers, optional inputs left out.

A test fixes what nobody means: one channel, one group, a stride of two.  A form that is to be the operator's
must hold beside the tests as well, so it is found at their neighbours too.  What a definition refuses is no
neighbour; nothing here knows any operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import numpy as np

from tolcost.algebra import Poly, const
from tolcost.catalogue.cases import Case, Item, arrays_in
from tolcost.catalogue.deriving import placed
from tolcost.catalogue.graph import Attribute, Weight
from tolcost.catalogue.specs import Spec
from tolcost.catalogue.types import Array
from tolcost.elaborate.inputs import kind_of_declared
from tolcost.elaborate.values import Cast, Value, Vec
from tolcost.syntax import tree

T = TypeVar("T")

_ENTRIES = (1, 2, 3, 4, 6)
"""How many entries a vector may have that no test gives: one or two for each dimension."""


def grown(case: Case, spec: Spec) -> Iterator[Case]:
    """The case with lengths of 1 that are not: all of them, or those of one input, or of one dimension."""
    every = {(n, d) for n, item in enumerate(case.inputs) for d in _places(item)}
    yield _shaped(case, spec, every, 1, 2)
    for only in sorted({n for n, _ in every}):
        yield _shaped(case, spec, {(n, d) for n, d in every if n == only}, 1, 2)
    for only in sorted({d for _, d in every}):
        yield _shaped(case, spec, {(n, d) for n, d in every if d == only}, 1, 2)


def shrunk(case: Case, spec: Spec) -> Iterator[Case]:
    """The case with an input whose lengths are all 1, which may broadcast."""
    for n, item in enumerate(case.inputs):
        yield _shaped(case, spec, {(n, d) for d in _places(item)}, None, 1)


def without(case: Case, spec: Spec) -> Iterator[Case]:
    """The case with an optional input left out."""
    for n, (statement, _, item) in enumerate(placed(case, spec)):
        if statement.optional and item is not None:
            names = case.node.inputs
            node = case.node._replace(inputs=(*names[:n], "", *names[n + 1 :]))
            yield replace(case, node=node, inputs=(*case.inputs[:n], None, *case.inputs[n + 1 :]))


def stepped(case: Case, spec: Spec) -> Iterator[Case]:
    """The case with other integers among its attributes and static inputs."""
    given = case.node.attributes
    for name, value in given.items():
        for other in _above(value) if isinstance(value, (Poly, Vec)) else ():
            yield _with(case, name, other)
    for statement in spec.attributes:
        if statement.name not in given and kind_of_declared(statement.space) == "Z":
            for other in _twos(statement):
                yield _with(case, statement.name, other)
    for n, (statement, _, item) in enumerate(placed(case, spec)):
        if statement.kind == "static" and isinstance(item, np.ndarray) and _is_whole(item):
            for array in _above_array(item):
                yield replace(case, inputs=(*case.inputs[:n], array, *case.inputs[n + 1 :]))


def repeated(case: Case, spec: Spec) -> Iterator[Case]:
    """The case with all entries given twice: of all vectors among attributes, or of those of one length."""
    given = case.node.attributes
    by: dict[str, dict[str, Attribute]] = {}
    for statement in spec.attributes:
        if len(statement.shape) == 1 and isinstance(statement.shape[0], tree.Name):
            twice = _twice(given.get(statement.name))
            if twice is not None:
                by.setdefault(statement.shape[0].name, {})[statement.name] = twice
    every = {name: value for more in by.values() for name, value in more.items()}
    for more in (every, *by.values()) if len(by) > 1 else by.values():
        yield replace(case, node=case.node._replace(attributes={**given, **more}))


def _twice(value: Attribute | None) -> Attribute | None:
    match value:
        case Weight(value=Cast(value=Vec(shape=(_,)) as inner, space=space)):
            return Cast(_twice_vector(inner), space)
        case Vec(shape=(_,)):
            return _twice_vector(value)
        case _:
            return None


def _twice_vector(value: Vec) -> Vec:
    return Vec((2 * value.shape[0],), value.items * 2)


def crossed(case: Case, tests: Iterable[Case]) -> Iterator[Case]:
    """The case with words among its attributes as other tests have them."""
    seen = {*_words(case)}
    for other in tests:
        for name, word in _words(other):
            if (name, word) not in seen:
                seen.add((name, word))
                yield _with(case, name, word)


def _words(case: Case) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in case.node.attributes.items() if isinstance(value, str))


def _with(case: Case, name: str, value: Value) -> Case:
    return replace(case, node=case.node._replace(attributes={**case.node.attributes, name: value}))


def _above(value: Value) -> Iterator[Value]:
    """A number and the next one; a vector with all entries one more, and with the first."""
    match value:
        case Poly():
            yield value + 1
        case Vec(shape=shape, items=items) if all(isinstance(item, Poly) for item in items):
            entries = [item for item in items if isinstance(item, Poly)]
            yield Vec(shape, tuple(entry + 1 for entry in entries))
            if len(entries) > 1:
                yield Vec(shape, (entries[0] + 1, *entries[1:]))
        case _:
            return


def _is_whole(array: Array) -> bool:
    return array.dtype.kind in "iu" or (array.dtype.kind == "f" and bool(np.all(array == np.round(array))))


def _above_array(array: Array) -> Iterator[Array]:
    yield array + 1
    if array.size > 1:
        first = array.copy()
        first.reshape(-1)[0] += 1
        yield first


def _twos(statement: tree.InputDecl) -> Iterator[Value]:
    """A value for an attribute that a test does not give."""
    if statement.shape:
        yield from (Vec((count,), (const(2),) * count) for count in _ENTRIES)
    else:
        yield const(2)


def _shaped(case: Case, spec: Spec, places: set[tuple[int, int]], old: int | None, new: int) -> Case:
    """The case with other lengths at some places: all that there are, or those of the old length."""
    items: list[Item] = list(case.inputs)
    for n, (statement, _, item) in enumerate(placed(case, spec)):
        if statement.kind == "static" or item is None:
            continue
        found = tuple(
            np.resize(array, [new if (n, d) in places and old in (None, size) else size for d, size in sizes])
            for array in arrays_in(item)
            for sizes in [list(enumerate(array.shape))]
        )
        items[n] = found if isinstance(item, tuple) else found[0]
    return replace(case, inputs=tuple(items))


def alternately(*several: Iterator[T]) -> Iterator[T]:
    """One of each in turn, as long as there are any.

    >>> "".join(alternately(iter("ace"), iter(""), iter("b")))
    'abce'
    """
    left = list(several)
    while left:
        more = []
        for one in left:
            for found in islice(one, 1):
                yield found
                more.append(one)
        left = more


def _places(item: Item) -> range:
    return range(max((array.ndim for array in arrays_in(item)), default=0))
