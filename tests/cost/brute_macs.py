"""The multiplications that folds add up, found by following every product through a run, one by one.

A place that multiplies counts with all that it does if some of its products are added up.  What a fold gives
is its own, a sum that was made before is no product, and neither is a square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count, product
from typing import Any

import numpy as np
from msgspec import Struct, field

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond
from tolcost.atoms.kit import inner_nodes, program_nodes, roots
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.cost import count as count_program
from tools.programs.points import meets

Lengths = Mapping[Symbol, int]
Names = Mapping[Var, "Traced"]
Traced = tuple[Any, ...]
"""An array of elements for each component of a list."""


class Element(Struct, frozen=True):
    """The products that a number is the sum of, whatever else it is; and the accumulators.

    Those that are scaled take part where no other does; the product that scales them is none then.
    """

    products: frozenset[int] = frozenset()
    accumulators: frozenset[int] = frozenset()
    is_sum: bool = False
    scaled: frozenset[int] = frozenset()
    scales: frozenset[int] = frozenset()

    @property
    def settled(self) -> Element:
        """The same later, or as an element of a ToL: a sum is done with, and no product any more."""
        return Element(accumulators=self.accumulators) if self.is_sum else self


NOTHING = Element()


def can_be_followed(program: Program) -> bool:
    """Whether lengths and coordinates alone say what is computed, of which elements."""
    nodes = list(inner_nodes(roots(program)))
    places = (index for node in nodes if isinstance(node, Member | Put) for index in node.at)
    chosen = (node.condition for node in nodes if isinstance(node, Select))
    return not any(isinstance(node, Filter) for node in nodes) and not any(
        isinstance(one, Node) for one in (*places, *chosen)
    )


def brute_macs(program: Program, lengths: Lengths) -> int:
    """How many multiplications a run does at places whose products folds add up."""
    walk = _Walk()
    names = walk.bound(program.bindings, lengths, {})
    for out in program.outputs:
        walk.of(out.node, lengths, names)
    return sum(walk.done[node] for node in {walk.places[one] for one in walk.added})


def hold_macs(program: Program, lengths: Lengths, most: int = 2_000) -> bool | None:
    """Hold the closed form to a run of few functions; None where there is none, else whether it has MACs.

    A product that a choice by lengths leaves unused here may be one at other lengths.
    """
    counts = count_program(program)
    if counts.status != "exact" or program.unproved or not can_be_followed(program):
        return None
    if not meets(program, lengths) or evaluate(counts.eops, lengths) > most:
        return None
    ours, theirs = evaluate(counts.macs, lengths), brute_macs(program, lengths)
    assert ours == theirs or (ours > theirs and any(isinstance(n, Select) for n in program_nodes(program)))
    return ours > 0


class _Walk(Struct):
    added: set[int] = field(default_factory=set)
    done: Counter[Node] = field(default_factory=Counter)
    places: dict[int, Node] = field(default_factory=dict)
    named: dict[Var, Node] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    inside: frozenset[Symbol] = frozenset()
    """Coordinates of what the step of a fold builds."""

    def bound(self, bindings: tuple[tuple[Var, Node], ...], lengths: Lengths, names: Names) -> Names:
        inner = dict(names)
        self.named.update(bindings)
        for var, node in bindings:
            inner[var] = (
                self.of(node, lengths, inner) if var.work is None else self.step(var, node, lengths, inner)
            )
        return inner

    def step(self, var: Var, node: Node, lengths: Lengths, names: Names) -> Traced:
        """A part of a work: others of it that it uses are accumulators of a fold, taken step by step."""
        mark = Element(accumulators=frozenset([next(self.numbers)]))
        others = {other: _all_of(found, mark) for other, found in names.items() if other.work is var.work}
        found = self.of(node, lengths, {**names, **others})
        self.reached(found, mark)
        return found

    def block(self, block: Block, lengths: Lengths, names: Names) -> Traced:
        return self.of(block.result, lengths, self.bound(block.bindings, lengths, names))

    def of(self, node: Node, lengths: Lengths, names: Names) -> Traced:  # noqa: C901 - one case per node
        match node:
            case Ref(var=var):
                return names[var]
            case Input(type=type_) | Number(type=type_) | Table(type=type_):
                return self.plain(type_, lengths)
            case Lambda(args=args):
                return (_single(self.function(node, [self.number(arg, lengths, names) for arg in args])),)
            case Where(condition=condition, then=then, other=other, type=type_):
                for one in (condition, then, other):
                    self.of(one, lengths, names)
                return self.plain(type_, lengths)
            case Member(tol=tol, at=at):
                place = tuple(_at(at, lengths))
                return tuple(_single(one[place].settled) for one in self.of(tol, lengths, names))
            case Component(value=value, j=j):
                return (self.of(value, lengths, names)[j - 1],)
            case Pack(items=items):
                return tuple(one for item in items for one in self.of(item, lengths, names))
            case Join(left=left, right=right, d=d):
                sides = zip(self.of(left, lengths, names), self.of(right, lengths, names), strict=True)
                return tuple(np.concatenate(pair, axis=d - 1) for pair in sides)
            case Embed(value=value):
                return tuple(one[..., None] for one in self.of(value, lengths, names))
            case Reshape(value=value, type=type_):
                found = self.of(value, lengths, names)
                shapes = (tuple(evaluate(d, lengths) for d in part.shape) for part in type_)
                return tuple(one.reshape(shape) for one, shape in zip(found, shapes, strict=True))
            case Convert(value=value):
                return self.of(value, lengths, names)
            case Put(tol=tol, at=at, value=value):
                place = tuple(_at(at, lengths))
                old, new = self.of(tol, lengths, names), self.of(value, lengths, names)
                return tuple(_replaced(a, place, b) for a, b in zip(old, new, strict=True))
            case Build():
                return self.build(node, lengths, names)
            case Fold():
                return self.fold(node, lengths, names)
            case Select(condition=condition, then=then, other=other):
                assert not isinstance(condition, Node)
                return self.block(then if evaluate_cond(condition, lengths) else other, lengths, names)
        raise TypeError(type(node))

    def number(self, node: Node, lengths: Lengths, names: Names) -> Element:
        (found,) = self.of(node, lengths, names)
        element: Element = found[()]
        return element

    def function(self, node: Lambda, args: list[Element]) -> Element:
        if node.charge != "data":
            return NOTHING
        if node.function == "mul":
            return self.multiplied(node, args)
        if node.function in ("add", "sub"):
            return _sum(*args)
        return NOTHING

    def multiplied(self, node: Lambda, args: list[Element]) -> Element:
        one, other = (self.spelled(arg) for arg in node.args)
        if one == other:
            return NOTHING
        number = next(self.numbers)
        self.places[number] = node
        self.done[node] += 1
        product = frozenset([number])
        carried = [arg.accumulators for arg in args if arg.accumulators and not arg.is_sum]
        factors = [arg for arg, element in zip(node.args, args, strict=True) if not element.accumulators]
        if len(carried) == len(factors) == 1 and not self.inside & self.symbols(factors[0]):
            return Element(product, scaled=carried[0], scales=product)
        return Element(product)

    def symbols(self, node: Node) -> set[Symbol]:
        """The symbols of the static numbers and indices that a value is computed from."""
        found: set[Symbol] = set()
        for one in inner_nodes((node,), self.named):
            forms = one.at if isinstance(one, Member) else (one.value,) if isinstance(one, Number) else ()
            found.update(symbol for form in forms if isinstance(form, Poly) for symbol in form.free)
        return found

    def spelled(self, node: Node | Poly) -> object:
        """A value as it is written, with what names stand for."""
        match node:
            case Ref(var=var) if var in self.named:
                return self.spelled(self.named[var])
            case Ref(var=var):
                return var
            case Input(name=name):
                return name
            case Number(value=value):
                return ("number", value)
            case Member(tol=tol, at=at):
                return ("member", self.spelled(tol), *map(self.spelled, at))
            case Component(value=value, j=j):
                return ("component", j, self.spelled(value))
            case Lambda(function=function, space=space, args=args):
                return (function, space, *map(self.spelled, args))
        return node

    def plain(self, type_: Type, lengths: Lengths) -> Traced:
        shapes = (tuple(evaluate(d, lengths) for d in part.shape) for part in type_)
        return tuple(np.full(shape, NOTHING, object) for shape in shapes)

    def build(self, node: Build, lengths: Lengths, names: Names) -> Traced:
        extents = tuple(evaluate(d, lengths) for d in node.extents)
        around, self.inside = self.inside, self.inside | set(node.coords)
        found = [self.block(node.body, inner, names) for inner in _steps(node, lengths)]
        self.inside = around
        if not found:
            return self.plain(node.type, lengths)
        return tuple(_stacked(extents, column) for column in zip(*found, strict=True))

    def fold(self, node: Fold, lengths: Lengths, names: Names) -> Traced:
        carried = self.of(node.start, lengths, names)
        outside = {var: tuple(map(_settled, found)) for var, found in names.items()}
        around, self.inside = self.inside, frozenset()
        for inner in _steps(node, lengths):
            mark = Element(accumulators=frozenset([next(self.numbers)]))
            carried = self.block(node.body, inner, {**outside, node.accumulator: _all_of(carried, mark)})
            self.reached(carried, mark)
        self.inside = around
        return _all_of(carried, NOTHING)

    def reached(self, found: Traced, mark: Element) -> None:
        """Take the products that are added to what is marked."""
        elements = [element for one in found for element in one.flat]
        plain = (e.products for e in elements if e.accumulators & mark.accumulators)
        scaled = (e.products - e.scales for e in elements if e.is_sum and e.scaled & mark.accumulators)
        self.added.update(*plain, *scaled)


def _sum(one: Element, other: Element) -> Element:
    products = one.products | other.products
    accumulators = one.accumulators | other.accumulators
    if accumulators:
        return Element(products, accumulators, True)
    return Element(products, is_sum=True, scaled=one.scaled | other.scaled, scales=one.scales | other.scales)


def _settled(array: Any) -> Any:
    found = np.empty(array.shape, object)
    for at in np.ndindex(*array.shape):
        found[at] = array[at].settled
    return found


def _all_of(arrays: Traced, element: Element) -> Traced:
    return tuple(np.full(one.shape, element, object) for one in arrays)


def _single(element: Element) -> Any:
    found = np.empty((), object)
    found[()] = element
    return found


def _stacked(extents: tuple[int, ...], items: tuple[Any, ...]) -> Any:
    found = np.empty((len(items), *items[0].shape), object)
    for n, item in enumerate(items):
        found[n] = item if item.shape else item[()]
    return found.reshape(*extents, *items[0].shape)


def _replaced(array: Any, place: tuple[int, ...], value: Any) -> Any:
    found = array.copy()
    found[place] = value if value.shape else value[()]
    return found


def _at(places: tuple[Poly | Node, ...], lengths: Lengths) -> Iterator[int]:
    return (evaluate(place, lengths) - 1 for place in places)  # type: ignore[arg-type]


def _steps(node: Build | Fold, lengths: Lengths) -> Iterator[dict[Symbol, int]]:
    ranges = [range(1, evaluate(extent, lengths) + 1) for extent in node.extents]
    return ({**lengths, **dict(zip(node.coords, at, strict=True))} for at in product(*ranges))
