"""An operator for given inputs with symbolic lengths: its traits, measures, costs and sample points.

Traits decide how an operator works, and are not lengths: which inputs are given, attributes that are words,
and kinds of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from random import Random
from typing import TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    Cond,
    NotInteger,
    Poly,
    Symbol,
    Truth,
    UnboundSymbol,
    const,
    equations_in,
    evaluate_cond,
    evaluate_each,
    solve,
    substitute,
    symbols_of_cond,
)
from tolcost.catalogue.cases import Case, Derived, Item, arrays_by_name, arrays_in, attempt, derive, placed
from tolcost.catalogue.general.measures import has_dimensions, is_of_section, measures, section_measures
from tolcost.catalogue.graph import Attribute, Weight
from tolcost.catalogue.specs import Library, Spec
from tolcost.catalogue.types import Array
from tolcost.cost import Counts, shipped, weigh
from tolcost.cost.weights import weight_of
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.inputs import kind_of_declared
from tolcost.elaborate.values import Cast, Missing, Value, Vec, is_data
from tolcost.execute import run_vectorised
from tolcost.execute.inputs import arrays_of, bind_lengths
from tolcost.spaces import kind_of
from tolcost.syntax import tree

# === Cases near a node test: other lengths, other integers, optional inputs left out.
#
# A test fixes values by accident: one channel, one group, a stride of two.  A general form must hold
# beside the tests as well, so it is also found at their neighbours.  A case that the definition refuses
# is not a neighbour; nothing here is specific to any operator.


T = TypeVar("T")

_ENTRIES = (1, 2, 3, 4, 6)
"""Lengths tried for a vector that no test gives: one or two entries for each dimension."""


def grown(case: Case, spec: Spec) -> Iterator[Case]:
    """Enlarge lengths of 1 in a case: all of them, or those of one input, or of one dimension."""
    every = {(n, d) for n, item in enumerate(case.inputs) for d in _dimensions(item)}
    yield _shaped(case, spec, every, 1, 2)
    for only in sorted({n for n, _ in every}):
        yield _shaped(case, spec, {(n, d) for n, d in every if n == only}, 1, 2)
    for only in sorted({d for _, d in every}):
        yield _shaped(case, spec, {(n, d) for n, d in every if d == only}, 1, 2)


def shrunk(case: Case, spec: Spec) -> Iterator[Case]:
    """Shrink all lengths of one input of a case to 1, which may broadcast."""
    for n, item in enumerate(case.inputs):
        yield _shaped(case, spec, {(n, d) for d in _dimensions(item)}, None, 1)


def without(case: Case, spec: Spec) -> Iterator[Case]:
    """Leave out an optional input of a case."""
    for n, (statement, _, item) in enumerate(placed(case, spec)):
        if statement.optional and item is not None:
            names = case.node.inputs
            node = case.node._replace(inputs=(*names[:n], "", *names[n + 1 :]))
            yield replace(case, node=node, inputs=(*case.inputs[:n], None, *case.inputs[n + 1 :]))


def stepped(case: Case, spec: Spec) -> Iterator[Case]:
    """Change integers among the attributes and static inputs of a case."""
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
    """Double the entries of vectors among a case's attributes: of all, or of those of one length."""
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
    """Change words among a case's attributes to those of other tests."""
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
    """Yield the next number; or a vector with all entries increased, and one with the first increased."""
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
    """Yield values for an attribute that a test does not give."""
    if statement.shape:
        yield from (Vec((count,), (const(2),) * count) for count in _ENTRIES)
    else:
        yield const(2)


def _shaped(case: Case, spec: Spec, places: set[tuple[int, int]], old: int | None, new: int) -> Case:
    """Change the lengths of a case at some places: all lengths there, or only those equal to ``old``."""
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
    """Yield from several iterators in turn, until all are exhausted.

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


def _dimensions(item: Item) -> range:
    return range(max((array.ndim for array in arrays_in(item)), default=0))


# === Instances.


_MOST_NEIGHBOURS = 8
"""Neighbours of a test."""
_MOST_IN_ALL = 90
"""Neighbours of all tests of an operator, which bounds the time for operators with many tests."""
_TRIES = 30
"""Draws per point in search of lengths that satisfy all conditions."""
_REACHES = (3, 6, 12, 30)
"""Ranges of drawn lengths: small ones meet corner cases, large ones separate forms."""
OTHER = "not 0, 1 or 2"


CountedPlace = tuple[Span, str, Fraction]
"""A place in a definition, the function applied there, and its weight in FLOPs."""


class Sample(Struct, eq=False):
    """The values of measures, EOPs and FLOPs at a point; those of places on demand."""

    point: Mapping[Symbol, int]
    values: Mapping[str, int]
    counts: tuple[int, int]
    at_places: Mapping[CountedPlace, int] | None = None


class GeneralInstance(Struct, eq=False):
    """An operator for given inputs.  ``test`` names the node test that it is, "" for a neighbour of a test.

    A test and its neighbours are a ``family``.

    ``divided`` is whether its cost can be analysed dimension by dimension, ``broad`` the number of symbolic
    lengths of its outputs.  ``places`` has the number of applications at each place of the definition.
    ``rows`` has the values of measures, EOPs and FLOPs, point by point, the test's own first.
    """

    family: int
    test: str
    traits: Mapping[str, str]
    measures: dict[str, Poly]
    divided: bool
    broad: int
    counts: tuple[Poly, Poly]
    conditions: tuple[Cond, ...]
    places: Mapping[CountedPlace, Poly] = field(default_factory=dict)
    own: Mapping[Symbol, int] | None = None
    rows: list[Sample] = field(default_factory=list)
    exhausted: bool = False

    def sampled(self, count: int, chance: Random) -> None:
        """Sample up to ``count`` points, the test's own first."""
        if self.own is not None and not self.rows:
            with suppress(UnboundSymbol):
                self.look(self.own)
        if len(self.rows) >= count or self.exhausted:
            return
        drawn = Drawn.of((*self.counts, *self.measures.values()), self.conditions)
        for _ in range(_TRIES * count):
            with suppress(AlgebraBudget, NotInteger, UnboundSymbol, ZeroDivisionError):
                point = drawn.point(chance)
                if all(evaluate_cond(c, point) for c in self.conditions):
                    self.look(point)
            if len(self.rows) >= count or (self.rows and not drawn.symbols):
                break
        self.exhausted = len(self.rows) < count

    @property
    def tells(self) -> bool:
        """Whether any function is applied at a sampled point: otherwise any form that is 0 there fits."""
        return bool(self.rows) and (not self.counts[0].terms or any(row.counts[0] for row in self.rows))

    def look(self, point: Mapping[Symbol, int]) -> None:
        """Evaluate and store all values at a point."""
        found = evaluate_each((*self.measures.values(), *self.counts), point)
        values = dict(zip(self.measures, found, strict=False))
        self.rows.append(Sample(point, values, (found[-2], found[-1])))

    def at_places(self) -> Iterator[Mapping[CountedPlace, int]]:
        """Yield the number of applications at each place, row by row."""
        for row in self.rows:
            if row.at_places is None:
                found = evaluate_each(self.places.values(), row.point)
                row.at_places = dict(zip(self.places, found, strict=True))
            yield row.at_places


class Drawn(Struct, frozen=True):
    """A source of random lengths that satisfy equations."""

    symbols: tuple[Symbol, ...]
    equations: tuple[Poly, ...]
    tied: frozenset[Symbol]
    """The symbols that an equation determines from the others: these are drawn last."""

    @classmethod
    def of(cls, forms: Iterable[Poly], conditions: Iterable[Cond]) -> Drawn:
        """Prepare drawing all symbols of forms and conditions."""
        conditions = tuple(conditions)
        symbols = {s for form in forms for s in form.free}.union(*map(symbols_of_cond, conditions))
        equations = tuple(equations_in(conditions))
        tied = {s for p in equations for s in p.free if abs(p.terms.get((s,), 0)) == 1}
        return cls(tuple(sorted(symbols, key=lambda s: s.key)), equations, frozenset(tied))

    def point(self, chance: Random) -> dict[Symbol, int]:
        """Draw a number for each symbol."""
        order = chance.sample(self.symbols, len(self.symbols))
        order.sort(key=lambda symbol: symbol in self.tied)
        reach = chance.choice(_REACHES)
        point: dict[Symbol, int] = {}
        for n, symbol in enumerate(order):
            if symbol not in point:
                least = max(1, (None if symbol.lo is None else symbol.lo.constant) or 0)
                point[symbol] = chance.randint(least, least + reach)
                if self.equations and (symbol in self.tied or n + 1 == len(order) - len(self.tied)):
                    point = dict(solve(self.equations, point)[0])
        return point


def instances(cases: tuple[Case, ...], library: Library) -> tuple[GeneralInstance, ...]:
    """Yield every case of an operator, and neighbours of cases that differ in more than their values.

    A function that an instance does not apply counts as applied 0 times along every dimension.
    """
    found = tuple(_instances(cases, library))
    sections = {name for instance in found for name in instance.measures if is_of_section(name)}
    for instance in found:
        if instance.divided:
            instance.measures.update((name, ZERO) for name in sections - instance.measures.keys())
    return found


def _instances(cases: tuple[Case, ...], library: Library) -> Iterator[GeneralInstance]:
    seen: set[object] = set()
    most = max(2, min(_MOST_NEIGHBOURS, _MOST_IN_ALL // len(cases)))
    found = [library.find(case.node.domain, case.node.op, case.opset) for case in cases]
    apart = any(spec and has_dimensions(case, spec) for case, spec in zip(cases, found, strict=True))
    for family, (case, spec) in enumerate(zip(cases, found, strict=True)):
        if spec is None:
            continue
        derived = derive(case, spec, library)
        own = _instance(case, spec, library, derived, family, apart)
        own.test = case.name
        own.own = _own_point(case, spec, derived)
        yield own
        looks = (frozenset(own.traits.items()), _shapes(case))
        if looks not in seen:
            seen.add(looks)
            yield from islice(_neighbours(own, case, cases, spec, library), most)


def _own_point(case: Case, spec: Spec, derived: Derived) -> dict[Symbol, int]:
    """Return the lengths of a test; a run determines those that depend on data."""
    program, arrays = derived.lowered.program, arrays_by_name(case, spec)
    used = arrays_of(program, {needed.name: arrays[needed.name] for needed in program.inputs})
    point = bind_lengths(program, used, None)
    forms = (derived.counts.eops, *measures(derived.lowered).values())
    if all(form.free <= point.keys() for form in forms):
        return point
    return dict(run_vectorised(program, {name: arrays[name] for name in used}).bindings)


def _neighbours(
    own: GeneralInstance, case: Case, tests: Sequence[Case], spec: Spec, library: Library
) -> Iterator[GeneralInstance]:
    looked = {_shapes(case)}

    def lowered(near: Iterable[Case]) -> Iterator[tuple[Case, GeneralInstance]]:
        found = _lowered(near, spec, library, own)
        return (one for one in found if one[1].divided or not own.divided)

    first = next(lowered(near for near in grown(case, spec) if _shapes(near) not in looked), None)
    base = case if first is None else first[0]
    # it broadcasts: any other result is merely a smaller case
    smaller = (one for _, one in lowered(shrunk(case, spec)) if one.broad == own.broad > 0)
    worded = (
        one for other in crossed(base, tests) for _, one in islice(lowered([other, *grown(other, spec)]), 1)
    )
    more = (without(base, spec), repeated(base, spec), stepped(base, spec))
    yield from () if first is None else (first[1],)
    yield from alternately(smaller, worded, *((one for _, one in lowered(near)) for near in more))


def _lowered(
    near: Iterable[Case], spec: Spec, library: Library, own: GeneralInstance
) -> Iterator[tuple[Case, GeneralInstance]]:
    for case in near:
        with suppress(Rejected, AlgebraBudget):
            derived = attempt(case, spec, library, ())
            yield case, _instance(case, spec, library, derived, own.family, own.divided)


def _shapes(case: Case) -> tuple[object, ...]:
    return tuple(tuple(array.shape for array in arrays_in(item)) for item in case.inputs)


def _instance(
    case: Case, spec: Spec, library: Library, derived: Derived, family: int, apart: bool
) -> GeneralInstance:
    counts = derived.counts
    sections = section_measures(case, spec, library) if apart else None
    inputs = [statement.name for statement in spec.inputs]
    defined = [s.name for s in spec.program.statements if isinstance(s, tree.Define)]
    by_name = {**measures(derived.lowered, inputs, defined), **(sections or {})}
    equal = derived.lowered.equal
    known = {name: substitute(form, equal) for name, form in by_name.items()}
    return GeneralInstance(
        family,
        "",
        dict(_traits(case, spec, derived)),
        known,
        sections is not None,
        sum(
            d.constant is None
            for output in derived.lowered.program.outputs
            for d in output.node.type[0].shape
        ),
        (substitute(counts.eops, equal), substitute(weigh(counts, shipped("flops")).numerator, equal)),
        tuple(c.condition for c in derived.lowered.program.conditions),
        dict(_places(counts)),
    )


def _places(counts: Counts) -> Iterator[tuple[CountedPlace, Poly]]:
    """Yield the number of applications at each place, merging those with equal function and weight."""
    found: dict[CountedPlace, Poly] = {}
    for term in counts.terms:
        if term.kind == "data":
            place = (
                term.span,
                term.function,
                weight_of(shipped("flops"), term.function, term.space) or Fraction(0),
            )
            found[place] = found.get(place, ZERO) + term.count
    yield from found.items()


# ---- traits ------------------------------------------------------------------------------


VALUE = "value("
SINGLE, RANK = "single(", "dim("
FINE = (RANK, "space(", "since", SINGLE, VALUE)
"""Prefixes of traits that forms should not depend on, if possible."""


def _traits(case: Case, spec: Spec, derived: Derived) -> Iterator[tuple[str, str]]:
    met = {statement.name: item for statement, _, item in placed(case, spec)}
    for statement in spec.inputs:
        item = met.get(statement.name)
        if statement.optional:
            yield f"given({statement.name})", _truth(item is not None)
        yield from _of_item(statement.name, item)
    for output in derived.lowered.program.outputs:
        space = output.node.type[0].space
        yield f"kind({output.name})", kind_of(space)
        yield f"space({output.name})", space
    for statement in spec.attributes:
        value = derived.lowered.named.get(statement.name)
        yield f"{VALUE}{statement.name})" if isinstance(value, Poly) else statement.name, _said(value)
    for name, value in derived.lowered.named.items():
        if isinstance(value, Vec) and len(value.shape) == 1:
            yield f"len({name})", "0" if value.shape == (0,) else "more than 0"
        if is_data(value) and name not in met:
            yield f"kind({name})", kind_of(value.node.type[0].space)
    yield "inputs", "1" if len(case.inputs) == 1 else "more than 1"
    yield "outputs", str(case.node.asked)
    yield "since", str(spec.since)


def _of_item(name: str, item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item, np.ndarray):
        space = "string" if item.dtype.kind in "OUST" else item.dtype.name
        yield f"kind({name})", kind_of(space)
        yield f"{RANK}{name})", str(item.ndim)
        yield f"space({name})", space
        yield f"{SINGLE}{name})", _truth(item.size == 1)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _said(value: Value | None) -> str:
    """Describe an attribute as far as it can decide between forms: of numbers only 0, 1 and 2."""
    match value:
        case Cast(value=inner):
            return _said(inner)
        case str():
            return f'"{value}"'
        case Truth(value=known):
            return _truth(known)
        case Poly() | Fraction():
            return str(value) if value in (0, 1, 2) else OTHER
        case Missing() | None:
            return "left out"
        case _:
            return "given"
