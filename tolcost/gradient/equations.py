"""A program as equations: arrays of numbers, each defined by an expression at every coordinate of its domain.

Atoms have blocks, lists and ToLs of ToLs. Here a value is taken apart until only arrays of numbers are left,
and what an array costs is one elementary function, or one reduction, for each coordinate:

    p[i, j, u] = mul(a[i, u], b[u, j])
    y[i, j]    = reduction of p[i, j, u] over u by add, from 0

In this form the derivative of a program is a rule for one function at a time, and the adjoint of a read is an
equation in coordinates that can be solved. ``flatten`` makes equations of atoms, ``emit`` atoms of equations.

A domain may be ragged, that is later extents may depend on earlier coordinates, and ``guards`` restrict it
further. Expressions are trees: no part of one is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ONE,
    TRUE,
    Cond,
    Poly,
    Symbol,
    atom,
    conj,
    coordinate,
    negate,
    prove,
    substitute,
    substitute_cond,
    the_symbol,
)
from tolcost.algebra.conditions import conjuncts, symbols_of_cond
from tolcost.atoms.kit import constant_symbols
from tolcost.atoms.nodes import Charge, Constant, Node
from tolcost.diagnostics import NOWHERE, Span
from tolcost.spaces import Bounds

Subscripts: TypeAlias = "tuple[Poly | Expression, ...]"
Values: TypeAlias = Mapping[Symbol, Poly]


class Nest(Struct, frozen=True):
    """Coordinates with their extents, outermost first, and conditions that hold at all of its places."""

    coords: tuple[Symbol, ...] = ()
    extents: tuple[Poly, ...] = ()
    guards: tuple[Cond, ...] = ()

    def over(self, coords: Iterable[Symbol], extents: Iterable[Poly]) -> Nest:
        """Return the domain with further coordinates inside."""
        return Nest((*self.coords, *coords), (*self.extents, *extents), self.guards)

    def where(self, *conditions: Cond) -> Nest:
        """Return the part of the domain in which conditions hold, too."""
        more = [c for c in conditions if c is not TRUE and c not in self.guards]
        return replace(self, guards=(*self.guards, *more))

    def first(self, count: int) -> Nest:
        """Return the domain of the first coordinates alone."""
        rest = self.coords[count:]
        guards = tuple([guard for guard in self.guards if symbols_of_cond(guard).isdisjoint(rest)])
        return Nest(self.coords[:count], self.extents[:count], guards)

    @property
    def at(self) -> tuple[Poly, ...]:
        """The coordinates as indices."""
        return tuple(map(atom, self.coords))

    def fresh(self, values: Values | None = None) -> tuple[Nest, dict[Symbol, Poly]]:
        """Return the domain with new coordinates, and by what to replace the old ones.

        The bounds of a symbol are part of it, so a change of an extent makes another symbol.
        """
        renamed = dict(values or {})
        coords, extents = [], []
        for symbol, extent in zip(self.coords, self.extents, strict=True):
            there = substitute(extent, renamed)
            made = coordinate(symbol.name, there)
            renamed[symbol] = made
            coords.append(the_symbol(made))
            extents.append(there)
        guards = tuple([substitute_cond(guard, renamed) for guard in self.guards])
        return Nest(tuple(coords), tuple(extents), guards), renamed


class Loop(Struct, eq=False):
    """A loop that carries a state: its arrays have a coordinate for the step, and read earlier ones.

    ``time`` says which of their coordinates it is.  The adjoint of a loop is a loop that goes from the last
    step to the first (``is_backward``).
    """

    time: int
    outer: Loop | None = None
    is_backward: bool = False

    @property
    def around(self) -> tuple[Loop, ...]:
        """The loop and those around it, outermost first."""
        return (*(() if self.outer is None else self.outer.around), self)


class Equation(Struct, eq=False):
    """Numbers at the coordinates of a domain: computed by an expression, or given by a node."""

    name: str
    space: str
    domain: Nest
    value: Expression | Scattered | None = None
    given: Node | None = None
    component: int | None = None
    """Which component of a given list it is; None for a value that is no list."""
    span: Span = NOWHERE
    loop: Loop | None = None
    """The innermost loop whose steps compute it."""
    is_state: bool = False
    """Whether it is what the loop carries from step to step."""
    measured: LengthByData | None = None
    """How data decides its length, if it has the places that a filter keeps, or is a length itself."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops whose steps compute it, outermost first."""
        return () if self.loop is None else self.loop.around

    @property
    def lengths(self) -> set[Symbol]:
        """The lengths, and coordinates, in its domain and its definition."""
        forms: list[Constant] = [*self.domain.extents, *self.domain.guards]
        for part in walk(self.value) if self.value is not None else ():
            match part:
                case Static(value=value):
                    forms.append(value)
                case ReadAt():
                    forms += [index for index in part.at if isinstance(index, Poly)]
                case Choice(condition=condition) if isinstance(condition, Cond):
                    forms.append(condition)
                case Reduction(domain=domain):
                    forms += [*domain.extents, *domain.guards]
                case Scattered(domain=domain):
                    forms += [*domain.extents, *domain.guards]
                    forms += [index for index in part.at if isinstance(index, Poly)]
                case _:
                    pass
        return {symbol for form in forms for symbol in constant_symbols(form)}

    @property
    def places(self) -> Nest:
        """The places at which its definition is computed."""
        value = self.value
        if not isinstance(value, Scattered):
            return self.domain
        inner = self.domain.first(value.around).over(value.domain.coords, value.domain.extents)
        return inner.where(*value.domain.guards)


class LengthByData(Struct, frozen=True, eq=False):
    """A length that data decides: how many places a mask keeps, or a number.

    ``repeats`` is as in a filter, and None for a number.
    """

    length: Symbol
    of: ReadAt
    repeats: bool | None = None


class Static(Struct, frozen=True, eq=False):
    """A static number."""

    value: Constant
    space: str
    span: Span = NOWHERE


class ReadAt(Struct, frozen=True, eq=False):
    """The number of an array at a coordinate; an index is static, or computed from data."""

    array: Equation
    at: Subscripts
    span: Span = NOWHERE
    is_once: bool = False
    """Whether it is known that its domain reads every number at most once."""

    @property
    def space(self) -> str:
        """The space of the array."""
        return self.array.space


class Apply(Struct, frozen=True, eq=False):
    """An elementary function that computes in ``within`` and gives a number of ``space``."""

    function: str
    args: tuple[Expression, ...]
    within: str
    space: str
    charge: Charge = "data"
    span: Span = NOWHERE


class Choice(Struct, frozen=True, eq=False):
    """One of two numbers by a condition on lengths and coordinates, or by a truth value that data decides.

    Only the number that is chosen is computed.
    """

    condition: Cond | Expression
    then: Expression
    other: Expression

    @property
    def space(self) -> str:
        """The space of both."""
        return self.then.space


class InSpace(Struct, frozen=True, eq=False):
    """A number, or its bits, in another space."""

    value: Expression
    space: str
    bits: bool = False
    within: tuple[Bounds, ...] = ()
    span: Span = NOWHERE


class Reduction(Struct, frozen=True, eq=False):
    """The numbers of a domain combined by a function, one after the other, from a start."""

    function: str
    domain: Nest
    start: Expression
    body: Expression
    within: str
    space: str
    span: Span = NOWHERE


class Local(Struct, eq=False):
    """A number that is computed once at a place and read several times below."""

    name: str
    space: str


class Let(Struct, frozen=True, eq=False):
    """An expression in which a number has a name."""

    local: Local
    value: Expression
    body: Expression

    @property
    def space(self) -> str:
        """The space of the result."""
        return self.body.space


class LetName(Struct, frozen=True, eq=False):
    """The number that a ``Let`` around it has named."""

    local: Local

    @property
    def space(self) -> str:
        """The space of the number."""
        return self.local.space


class Scattered(Struct, frozen=True, eq=False):
    """A whole array: ``start``, with the numbers of a domain put at places, one after the other.

    Each is added to what is there, or takes its place.  The first coordinates of the array, as many as
    ``around``, are around all this: for each of their values there is an array of the others.
    """

    domain: Nest
    start: ReadAt | None
    at: Subscripts
    body: Expression
    within: str
    span: Span = NOWHERE
    adds: bool = True
    around: int = 0


Expression: TypeAlias = Static | ReadAt | Apply | Choice | InSpace | Reduction | Let | LetName


def parts(expr: Expression | Scattered) -> tuple[Expression, ...]:
    """Return the expressions directly inside of one."""
    match expr:
        case ReadAt():
            return tuple([index for index in expr.at if not isinstance(index, Poly)])
        case Apply():
            return expr.args
        case Choice(condition=condition):
            by_data = () if isinstance(condition, Cond) else (condition,)
            return (*by_data, expr.then, expr.other)
        case InSpace():
            return (expr.value,)
        case Reduction():
            return expr.start, expr.body
        case Let():
            return expr.value, expr.body
        case Scattered():
            indices = [index for index in expr.at if not isinstance(index, Poly)]
            start = () if expr.start is None else (expr.start,)
            return (*start, *indices, expr.body)
        case _:
            return ()


def walk(expr: Expression | Scattered) -> Iterator[Expression | Scattered]:
    """Yield an expression and all expressions inside of it."""
    pending = [expr]
    while pending:
        one = pending.pop()
        yield one
        pending += parts(one)


def reads(array: Equation) -> Iterator[ReadAt]:
    """Yield what the definition of an array reads."""
    if array.measured is not None:
        return iter((array.measured.of,))
    return (part for part in walk(array.value) if isinstance(part, ReadAt)) if array.value else iter(())


def rebuilt(expr: Expression, change: Callable[[Expression], Expression], values: Values) -> Expression:
    """Return an expression with its parts changed, and with other values for coordinates."""

    def index(one: Poly | Expression) -> Poly | Expression:
        return substitute(one, values) if isinstance(one, Poly) else change(one)

    match expr:
        case ReadAt():
            return replace(expr, at=tuple(map(index, expr.at)))
        case Apply():
            return replace(expr, args=tuple(map(change, expr.args)))
        case Choice(condition=condition):
            sides = change(expr.then), change(expr.other)
            if isinstance(condition, Cond):
                return Choice(substitute_cond(condition, values), *sides)
            return Choice(change(condition), *sides)
        case InSpace():
            return replace(expr, value=change(expr.value))
        case Let():
            return Let(expr.local, change(expr.value), change(expr.body))
        case Static(value=Poly() as form):
            return replace(expr, value=substitute(form, values))
        case Static(value=bool() | float() | complex() | str()):
            return expr
        case Static(value=held) if isinstance(held, Struct):
            return replace(expr, value=substitute_cond(held, values))
        case _:
            return expr


def restated(expr: Expression, values: Values) -> Expression:
    """Return an expression with other values for coordinates; those bound inside become new ones."""
    if not isinstance(expr, Reduction):
        return rebuilt(expr, lambda part: restated(part, values), values)
    domain, renamed = expr.domain.fresh(values)
    start = restated(expr.start, values)
    return replace(expr, domain=domain, start=start, body=restated(expr.body, renamed))


def restated_scatter(value: Scattered, values: Values) -> Scattered:
    """Return what is put at places with other values for the coordinates around it."""
    domain, renamed = value.domain.fresh(values)
    start = None if value.start is None else replace(value.start, at=_indices(value.start.at, values))
    return replace(
        value, domain=domain, start=start, at=_indices(value.at, renamed), body=restated(value.body, renamed)
    )


def _indices(at: Subscripts, values: Values) -> Subscripts:
    return tuple([restated_index(index, values) for index in at])


def restated_index(index: Poly | Expression, values: Values) -> Poly | Expression:
    """Return an index with other values for coordinates."""
    return substitute(index, values) if isinstance(index, Poly) else restated(index, values)


def zero_of(space: str) -> Static:
    """Return the 0 of a space, which of truth values is false."""
    return Static(False if space == "B" else ONE * 0, space)


def where_chosen(value: Expression, sides: Iterable[tuple[Expression, bool]]) -> Expression:
    """Return a number where data makes some choices, each for its first or its other side; elsewhere 0."""
    zero = zero_of(value.space)
    for condition, is_first in sides:
        value = Choice(condition, value, zero) if is_first else Choice(condition, zero, value)
    return value


def is_static(expr: Expression) -> bool:
    """Whether an expression can be computed without data."""
    return all(isinstance(part, (Static, Apply, Choice, InSpace)) for part in walk(expr))


def is_free(expr: Expression) -> bool:
    """Whether an expression costs nothing: it applies no function to data."""
    return not any(
        isinstance(part, (Reduction, Let)) or (isinstance(part, Apply) and part.charge == "data")
        for part in walk(expr)
    )


def holds(condition: Cond, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition is proved."""
    return condition is TRUE or prove(condition, facts) is True


def unproved(conditions: Iterable[Cond], facts: tuple[Cond, ...] = ()) -> tuple[Cond, ...]:
    """Return the conditions that are not proved, each once."""
    left: dict[Cond, None] = {}
    for condition in conditions:
        if not holds(condition, (*facts, *left)):
            left[condition] = None
    return tuple(left)


def all_of(conditions: Iterable[Cond]) -> Cond:
    """Return the conjunction of conditions."""
    return conj(*conditions)


ReadTruths: TypeAlias = Mapping["tuple[Equation, Subscripts]", bool]
"""Truth values that data decides, by where they are read."""


def settled(
    expr: Expression, facts: tuple[Cond, ...], decided: ReadTruths = MappingProxyType({})
) -> Expression:
    """Return an expression without the choices that facts, or choices around them, decide."""

    def part_settled(part: Expression) -> Expression:
        return settled(part, facts, decided)

    match expr:
        case Reduction():
            inner = (*facts, *expr.domain.guards)
            return replace(expr, start=part_settled(expr.start), body=settled(expr.body, inner, decided))
        case Choice(condition=ReadAt(array=array, at=at)):
            if (array, at) in decided:
                return part_settled(expr.then if decided[array, at] else expr.other)
            sides = [
                settled(side, facts, {**decided, (array, at): is_first})
                for side, is_first in ((expr.then, True), (expr.other, False))
            ]
            return Choice(part_settled(cast(ReadAt, expr.condition)), *sides)
        case Choice(condition=condition) if isinstance(condition, Cond):
            opposite = negate(condition)
            if holds(condition, facts):
                return part_settled(expr.then)
            if holds(opposite, facts):
                return part_settled(expr.other)
            condition = conj(*unproved(conjuncts([condition]), facts))
            then = settled(expr.then, (*facts, condition), decided)
            return Choice(condition, then, settled(expr.other, (*facts, opposite), decided))
        case _:
            return rebuilt(expr, part_settled, {})
