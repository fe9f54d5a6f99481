"""Reverse mode on equations: the adjoint of every array that the wanted inputs lead to.

The adjoint of an array is what the result changes by when a number of the array changes. It is the sum over
all places where the number is read: each is a contribution, a domain with the index that it reads at and the
value that it contributes. ``preimage`` turns contributions around: which places of the domain read ``s``?
Where data decides the index, the values are scattered instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import ONE, Cond, Poly, contradict, negate
from tolcost.atoms.kit import parts_first, reached
from tolcost.atoms.nodes import Constant, Input, Part
from tolcost.diagnostics import NOWHERE, Span, refuse
from tolcost.elementary import FUNCTIONS
from tolcost.gradient.equations import (
    Apply,
    Choice,
    Equation,
    Expression,
    InSpace,
    Loop,
    Nest,
    ReadAt,
    Reduction,
    Scattered,
    Static,
    Subscripts,
    all_of,
    is_static,
    reads,
    rebuilt,
    restated,
    restated_index,
    restated_scatter,
    walk,
    where_chosen,
)
from tolcost.gradient.flatten import UNKNOWN, Flat, family
from tolcost.gradient.inside import keep_inside
from tolcost.gradient.inversion import preimage
from tolcost.gradient.places import linear
from tolcost.gradient.rules import Adjoints, row_of
from tolcost.gradient.simplify import is_zero, simplified
from tolcost.spaces import join_spaces, kind_of


class AdjointTerm(Struct, frozen=True, eq=False):
    """The contribution of one read of an array to the array's adjoint, at each place of a domain."""

    domain: Nest
    at: Subscripts
    value: Expression
    span: Span


class Reversed(Struct, frozen=True, eq=False):
    """The cotangents of outputs, which are inputs of the derivative, and the gradients of inputs."""

    cotangents: tuple[Input, ...]
    gradients: Mapping[str, tuple[Equation | None, ...]]


def is_real(space: str) -> bool:
    """Whether a space has derivatives."""
    return kind_of(space) == "R"


def reverse(
    flat: Flat, wanted: Sequence[str], of: Mapping[str, Sequence[str]], named: Mapping[str, str]
) -> Reversed:
    """Return the gradients of the wanted inputs.

    ``of`` has the names of the cotangents by output, one for each component, and ``named`` the names of
    gradients.
    """
    keep_inside(flat.arrays)
    leaves = {array for name in wanted for array in flat.inputs[name] if is_real(array.space)}
    work = _Reversing(_active(flat.arrays, leaves), dict(named))
    inputs = []
    for name, cotangents in of.items():
        for array, called in zip(flat.outputs[name], cotangents, strict=True):
            if array in work.active:
                space = family(array.space)
                given = Input(called, (Part(array.domain.extents, space),))
                inputs.append(given)
                work.cotangents[array] = Equation(called, space, array.domain, given=given)
    for is_loop, arrays in reversed(_units(flat.arrays)):
        there = [array for array in arrays if array in work.active]
        if is_loop:
            work.visit_loop(there)
        else:
            for array in there:
                work.visit(array)
    gradients = {name: tuple([work.adjoints.get(array) for array in flat.inputs[name]]) for name in wanted}
    return Reversed(tuple(inputs), gradients)


def _active(arrays: Iterable[Equation], leaves: set[Equation]) -> set[Equation]:
    """Return the real arrays whose values depend on the wanted inputs."""
    active = set(leaves)
    size = 0
    while size != len(active):  # once, and again for each loop that an input enters late
        size = len(active)
        for array in arrays:
            is_open = array.value is not None and array not in active and _is_differentiable(array)
            if is_open and any(read.array in active for read in reads(array)):
                active.add(array)
    return active


def _units(arrays: Sequence[Equation]) -> list[tuple[bool, list[Equation]]]:
    """Return single arrays, and the arrays of each outermost loop, in an order of evaluation."""
    members: dict[Equation | Loop, list[Equation]] = {}

    def unit(array: Equation) -> Equation | Loop:
        return array.loops[0] if array.loops else array

    for array in arrays:
        members.setdefault(unit(array), []).append(array)

    def read_by(one: Equation | Loop) -> list[Equation | Loop]:
        found = dict.fromkeys([unit(read.array) for array in members[one] for read in reads(array)])
        return [other for other in found if other is not one]

    return [(isinstance(one, Loop), members[one]) for one in parts_first(members, read_by)]


def _is_differentiable(array: Equation) -> bool:
    if kind_of(array.space) == "C":
        return True  # refused where its adjoint is asked for
    return is_real(array.space)


class _Reversing(Struct, eq=False):
    active: set[Equation]
    named: dict[str, str]
    cotangents: dict[Equation, Equation] = field(default_factory=dict)
    contributions: dict[Equation, list[AdjointTerm]] = field(default_factory=dict)
    adjoints: dict[Equation, Equation] = field(default_factory=dict)
    signs: dict[Equation, Expression] = field(default_factory=dict)
    """For an array that negates, what it negates."""
    domain: Nest = field(default_factory=Nest)
    space: str = "R"
    span: Span = NOWHERE
    hint: str = "t"
    chosen: tuple[tuple[Expression, bool], ...] = ()
    """The choices by data around, the innermost first, with whether this is their first side."""
    loop: Loop | None = None
    """The loop whose adjoints are being made, if any."""
    backward: dict[Loop, Loop] = field(default_factory=dict)
    """For each loop of the values, that of the adjoints."""

    def visit(self, array: Equation) -> None:
        """Sum the adjoint of an array, and pass it on to what the array is computed from."""
        adjoint = self.adjoint(array)
        if adjoint is None:
            return
        if kind_of(array.space) == "C":
            refuse(UNKNOWN, "complex numbers have no derivative yet", array.span)
        self.adjoints[array] = adjoint
        self.pass_on(array, adjoint)

    def visit_loop(self, arrays: list[Equation]) -> None:
        """Sum the adjoints of the arrays of a loop, which need one another, and pass them on."""

        def carried(array: Equation) -> Iterator[Equation]:
            read_here = (read.array for read in reads(array))
            return (one for one in read_here if one in self.active and one in arrays)

        live = set(reached((array for array in arrays if array in self.contributions), carried))
        for array in live:
            if kind_of(array.space) == "C":
                refuse(UNKNOWN, "complex numbers have no derivative yet", array.span)
            domain, _ = array.domain.fresh()
            made = Equation(f"d_{array.name}", family(array.space), domain, span=array.span)
            made.loop, made.is_state = self.reversed_loop(array.loop), array.is_state
            self.adjoints[array] = made
        for array in reversed(arrays):
            if array in live:
                self.loop = self.reversed_loop(array.loop)
                self.pass_on(array, self.adjoints[array])
        for array in arrays:
            if array in live:
                adjoint = self.adjoints[array]
                self.loop = adjoint.loop
                found = self.total(array, adjoint.domain, adjoint.name)
                adjoint.value = Static(ONE * 0, adjoint.space) if found is None else found
        self.loop = None

    def reversed_loop(self, loop: Loop | None) -> Loop | None:
        """Return the loop of the adjoints of a loop's arrays."""
        if loop is not None and loop not in self.backward:
            self.backward[loop] = Loop(loop.time, self.reversed_loop(loop.outer), True)
        return None if loop is None else self.backward[loop]

    def pass_on(self, array: Equation, adjoint: Equation) -> None:
        """Pass the adjoint of an array on to what the array is computed from."""
        self.hint = f"d_{array.name}"
        if isinstance(array.value, Scattered):
            self.scattered(array, array.value, adjoint)
        elif array.value is not None:
            self.at(array.domain, array.span)
            self.spread(array.value, ReadAt(adjoint, array.domain.at), ReadAt(array, array.domain.at), array)

    def at(self, domain: Nest, span: Span) -> None:
        """Make further numbers at the coordinates of a domain."""
        self.domain, self.span = domain, span

    # ---- what a definition passes on -----------------------------------------------------------

    def spread(self, expr: Expression, dy: Expression, y: Expression, array: Equation) -> None:
        """Pass an adjoint on to the reads in an expression."""
        match expr:
            case ReadAt():
                self.contribute(expr, dy)
            case Choice():
                self.spread_choice(expr, dy, y, array)
            case InSpace():
                if not expr.bits and is_real(expr.space) and is_real(expr.value.space):
                    self.spread(expr.value, _cast(dy, family(expr.value.space)), y, array)
            case Apply() if self.is_active(expr):
                self.applied(expr, dy, y, array)
            case Reduction() if self.is_active(expr):
                self.reduced(expr, dy, y, array)

    def spread_choice(self, expr: Choice, dy: Expression, y: Expression, array: Equation) -> None:
        """Pass an adjoint on to the side that is chosen."""
        condition, domain, chosen = expr.condition, self.domain, self.chosen
        for side, is_first in ((expr.then, True), (expr.other, False)):
            if isinstance(condition, Cond):
                self.domain = domain.where(condition if is_first else negate(condition))
                self.spread(side, dy, y, array)
            elif self.is_active(side):
                self.chosen = ((condition, is_first), *chosen)
                self.spread(side, self.make(dy), y, array)
        self.domain, self.chosen = domain, chosen

    def is_active(self, expr: Expression | Scattered) -> bool:
        """Whether an expression depends on the wanted inputs."""
        return any(isinstance(part, ReadAt) and part.array in self.active for part in walk(expr))

    def contribute(self, read: ReadAt, value: Expression) -> None:
        """Note what a read adds to the adjoint of the array."""
        if read.array in self.active and is_real(read.array.space):
            one = AdjointTerm(self.domain, read.at, value, read.span)
            self.contributions.setdefault(read.array, []).append(one)
        elif read.array in self.active:
            refuse(UNKNOWN, "complex numbers have no derivative yet", self.span)

    def applied(self, expr: Apply, dy: Expression, y: Expression, array: Equation) -> None:
        """Pass an adjoint on to the arguments of a function, by its row."""
        self.space = family(expr.space)
        if expr.function == "where":
            condition, then, other = expr.args
            for side, values in ((then, (dy, self.zero())), (other, (self.zero(), dy))):
                if self.is_active(side):
                    self.spread(side, self.apply("where", (condition, *values)), y, array)
            return
        args = expr.args
        order = list(range(len(args)))
        if len(args) == 2 and is_static(args[0]) and FUNCTIONS[expr.function].commutative:
            order.reverse()
        given = tuple([args[n] for n in order])
        row = row_of(expr.function, len(args), len(args) == 2 and is_static(given[1]))
        if row is None:
            refuse(UNKNOWN, f"`{expr.function}` has no derivative", expr.span)
        adjoints = Adjoints(row, (*given, y, dy), self.apply, self.literal)
        for place, n in enumerate(order):
            if self.is_active(args[n]):
                found = adjoints.of_argument(place)
                if not is_zero(found):
                    self.spread(args[n], found, y, array)

    def reduced(self, expr: Reduction, dy: Expression, y: Expression, array: Equation) -> None:
        """Pass an adjoint on to the terms and the start of a reduction."""
        outer = self.domain
        inner = replace(
            outer.over(expr.domain.coords, expr.domain.extents), guards=(*outer.guards, *expr.domain.guards)
        )
        self.space = family(expr.space)
        if expr.function in ("add", "sub"):
            self.domain = inner
            self.spread(expr.body, dy if expr.function == "add" else self.apply("neg", (dy,)), y, array)
            self.domain = outer
            self.spread(expr.start, dy, y, array)
            return
        if expr.function not in ("max", "min"):
            message = f"a reduction by `{expr.function}` has no derivative yet"
            refuse(UNKNOWN, message, expr.span, "sums, `max` and `min` have one")
        share = self.shared(expr, dy, y)
        self.domain = inner
        self.spread(expr.body, self.where_equal(expr.body, y, share), y, array)
        self.domain = outer
        if self.is_active(expr.start):
            self.spread(expr.start, self.where_equal(expr.start, y, share), y, array)

    def shared(self, expr: Reduction, dy: Expression, y: Expression) -> Expression:
        """Return what each of the largest numbers gets: all of them the same."""
        steps, renamed = expr.domain.fresh()
        body = restated(expr.body, renamed)
        outer = self.domain
        self.domain = replace(outer.over(steps.coords, steps.extents), guards=(*outer.guards, *steps.guards))
        one = self.where_equal(body, y, self.literal(1))
        self.domain = outer
        start: Expression = self.zero()
        if not is_static(expr.start):
            start = self.where_equal(expr.start, y, self.literal(1))
        count = self.make(Reduction("add", steps, start, one, expr.within, expr.space, expr.span), "ties")
        return self.apply("div", (dy, count))

    def where_equal(self, value: Expression, y: Expression, then: Expression) -> Expression:
        """Return a number where a value is the result, and 0 elsewhere."""
        return self.apply("where", (self.apply("eq", (value, y)), then, self.zero()))

    def scattered(self, array: Equation, value: Scattered, adjoint: Equation) -> None:
        """Pass an adjoint on from an array into which numbers were put."""
        self.at(adjoint.domain, value.span)
        self.space = adjoint.space
        moved = dict(zip(array.domain.coords, adjoint.domain.at, strict=True))
        here = restated_scatter(value, moved)
        kept = ReadAt(adjoint, adjoint.domain.at)
        if value.start is not None and value.start.array in self.active:
            if not value.adds:  # what was replaced gets nothing
                kept = self.make(replace(here, start=kept, body=self.zero(), within=adjoint.space))
            self.contribute(cast(ReadAt, here.start), kept)
        there = ReadAt(adjoint, (*array.domain.at[: value.around], *value.at))
        dy: Expression = there
        if not value.adds and value.domain.coords and self.is_active(value.body):
            dy = self.where_last(array, value, adjoint, there)
        self.at(array.places, value.span)
        self.spread(value.body, dy, there, adjoint)

    def where_last(self, array: Equation, value: Scattered, adjoint: Equation, there: ReadAt) -> Expression:
        """Return an adjoint for numbers that took a place in turn: only the last one is still there."""
        domain = value.domain
        if any(not extent.free.isdisjoint(domain.coords) for extent in domain.extents):
            refuse(UNKNOWN, "`put` over a range that is no box has no derivative yet", value.span)
        number = Static(linear(domain.at, domain.extents) + 1, "Z")
        fresh, moved = array.domain.fresh()
        turns = restated_scatter(replace(value, start=None, body=number, within="Z"), moved)
        last = self.array("last", "Z", fresh, turns, value.span)
        self.at(array.places, value.span)
        self.space = adjoint.space
        same = self.apply("eq", (replace(there, array=last), number))
        return self.apply("where", (same, there, self.zero()))

    # ---- making numbers ------------------------------------------------------------------------

    def literal(self, value: int | Fraction | float) -> Expression:
        """Return a static number in the space at hand."""
        held: Constant = ONE * value if isinstance(value, int) else value
        return Static(held, self.space)

    def zero(self) -> Expression:
        return self.literal(0)

    def make(self, value: Expression | Scattered, name: str | None = None) -> ReadAt:
        """Return a new array at the domain at hand, read there."""
        space = value.within if isinstance(value, Scattered) else value.space
        if not isinstance(value, Scattered):
            value = where_chosen(value, self.chosen)
        array = self.array(name or self.hint, space, self.domain, value, self.span)
        return ReadAt(array, self.domain.at)

    def array(
        self, name: str, space: str, domain: Nest, value: Expression | Scattered, span: Span
    ) -> Equation:
        """Return a new array, of the loop at hand if there is one."""
        return Equation(name, space, domain, value, span=span, loop=self.loop)

    def apply(self, function: str, args: tuple[Expression, ...]) -> Expression:
        """Apply a function, and leave out what does nothing: a sum with 0, a product with 1 or 0."""
        simple = simplified(function, args)
        if simple is not None:
            return simple
        if function == "neg":
            found = self.negated(args[0])
            if found is not None:
                return found
        rule = FUNCTIONS[function].rule
        spaces = [arg.space for arg in args]
        if rule in ("compare", "test") or function in ("and", "or"):
            within = spaces[0]
            for other in spaces[1:]:
                within = join_spaces(within, other)
            space = "B"
        else:
            within = space = self.space
        if all(map(is_static, args)):
            return Apply(function, args, within, space, "static", self.span)
        made = self.make(Apply(function, args, within, space, "data", self.span))
        if function == "neg":
            self.signs[made.array] = args[0]
        return made

    def negated(self, expr: Expression) -> Expression | None:
        """Return what an expression is the negation of, if it is one."""
        return self.signs.get(expr.array) if isinstance(expr, ReadAt) else None

    # ---- sums of contributions -----------------------------------------------------------------

    def adjoint(self, array: Equation) -> Equation | None:
        """Return the adjoint of an array, the sum of all contributions; None if it is 0."""
        given = self.cotangents.get(array)
        if array not in self.contributions:
            return given
        name = self.named.get(array.name, f"d_{array.name}") if array.value is None else f"d_{array.name}"
        domain, _ = array.domain.fresh()
        value = self.total(array, domain, name)
        assert value is not None
        if isinstance(value, ReadAt) and value.at == domain.at and value.array.domain is domain:
            return value.array
        return Equation(name, family(array.space), domain, value, span=array.span)

    def total(self, array: Equation, domain: Nest, name: str) -> Expression | None:
        """Return the sum of all contributions to the adjoint of an array, at the places of a domain."""
        found = self.contributions.pop(array, [])
        given = self.cotangents.get(array)
        total = _Total(self, array, domain, name)
        if given is not None:
            total.term(ReadAt(given, domain.at), (), False)
        turned = [(one, total.turned(one)) for one in found if not _decided_by_data(one)]
        for one, term in sorted(turned, key=lambda pair: pair[1].rank):
            total.add(term, one)
        for one in found:
            if _decided_by_data(one):
                total.scatter(one)
        return total.sofar


def _decided_by_data(one: AdjointTerm) -> bool:
    return not all(isinstance(index, Poly) for index in one.at)


class _Term(Struct, frozen=True, eq=False):
    """A contribution turned around: a sum over what is left of its domain, wherever the guards hold."""

    domain: Nest
    value: Expression
    is_negative: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The order of adding: plain terms, then sums, which start from them; what is subtracted last."""
        return (self.is_negative, bool(self.domain.coords), len(self.domain.guards))


class _Total(Struct, eq=False):
    """A sum under construction: the numbers so far, as an array over the domain of the adjoint."""

    work: _Reversing
    array: Equation
    domain: Nest
    name: str
    sofar: Expression | None = None
    only: tuple[Cond, ...] = ()
    """The conditions without which the sum so far is 0."""

    @property
    def space(self) -> str:
        """The space of the sum."""
        return family(self.array.space)

    def turned(self, one: AdjointTerm) -> _Term:
        """Turn a contribution around."""
        value, negative = one.value, False
        inside = self.work.negated(value)
        if inside is not None:
            value, negative = inside, True
        found = preimage(one.domain, cast("tuple[Poly, ...]", one.at), self.domain)
        once = _marked(value, one.domain.at)
        return _Term(found.domain, _cast(restated(once, found.values), self.space), negative)

    def add(self, term: _Term, one: AdjointTerm) -> None:
        """Add a term."""
        if not term.domain.coords:
            self.term(term.value, term.domain.guards, term.is_negative)
            return
        within = join_spaces(term.value.space, self.space)
        space = self.space
        start = self.read() if self.sofar is not None and not term.is_negative else None
        first = start if start is not None else Static(ONE * 0, space)
        value = Reduction("add", term.domain, first, term.value, within, space, one.span)
        if term.is_negative:
            self.only = ()
            self.term(self.kept(value, "sum"), (), True)
        else:
            self.sofar, self.only = value, ()

    def term(self, value: Expression, guards: tuple[Cond, ...], is_negative: bool) -> None:
        """Add a number, where the guards hold."""
        space = self.space
        condition = all_of(guards)
        zero = Static(ONE * 0, space)
        if self.sofar is None:
            first = Apply("neg", (value,), space, space, "data", self.array.span) if is_negative else value
            self.sofar = Choice(condition, first, zero) if guards else first
            self.only = guards
            return
        if guards and self.only and contradict((*guards, *self.only)):
            first = Apply("neg", (value,), space, space, "data", self.array.span) if is_negative else value
            self.sofar = Choice(condition, first, self.sofar)
            self.only = (_either(self.only, guards),)
            return
        function = "sub" if is_negative else "add"
        if guards:
            before = self.read()
            again = ReadAt(before.array, before.at)
            more = Apply(function, (before, value), space, space, "data", self.array.span)
            self.sofar = Choice(condition, more, again)
        else:
            self.sofar = Apply(function, (self.sofar, value), space, space, "data", self.array.span)
        self.only = ()

    def scatter(self, one: AdjointTerm) -> None:
        """Add numbers at places that data decides, one after the other."""
        start = None if self.sofar is None else self.read()
        around = 0 if self.work.loop is None else self.work.loop.time + 1
        first = one.at[:around]
        if not all(isinstance(index, Poly) for index in first):
            message = "a loop that carries a state and reads a step that data decides has no derivative yet"
            refuse(UNKNOWN, message, one.span)
        domain, at, value = one.domain, one.at, one.value
        if around:
            found = preimage(domain, cast("tuple[Poly, ...]", first), self.domain.first(around))
            at = tuple([restated_index(index, found.values) for index in at[around:]])
            domain, value = found.domain, restated(value, found.values)
        body = _cast(value, self.space)
        scatter = Scattered(domain, start, at, body, self.space, one.span, True, around)
        array = self.work.array(self.name, self.space, self.domain, scatter, self.array.span)
        self.sofar, self.only = ReadAt(array, self.domain.at), ()

    def read(self) -> ReadAt:
        """Return the sum so far as a read of an array."""
        assert self.sofar is not None
        return self.kept(self.sofar, self.name)

    def kept(self, value: Expression, name: str) -> ReadAt:
        """Return a value as a read of an array over the domain of the adjoint."""
        if isinstance(value, ReadAt) and value.at == self.domain.at:
            return value
        array = self.work.array(name, self.space, self.domain, value, self.array.span)
        return ReadAt(array, self.domain.at)


def _marked(expr: Expression, at: Subscripts) -> Expression:
    """Mark the reads at each place of a domain: turned around, each place is met once at most."""
    if isinstance(expr, ReadAt) and expr.at == at:
        return replace(expr, is_once=True)
    return rebuilt(expr, lambda part: _marked(part, at), {})


def _either(one: tuple[Cond, ...], other: tuple[Cond, ...]) -> Cond:
    from tolcost.algebra import disj

    return disj(all_of(one), all_of(other))


def _cast(value: Expression, space: str) -> Expression:
    if value.space == space:
        return value
    if isinstance(value, Static):
        return replace(value, space=space)
    return InSpace(value, space, span=NOWHERE)
