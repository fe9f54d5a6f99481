"""From atoms to equations: values are taken apart into arrays of numbers.

A value is, for each of its components, a view: a shape, and the number at any index as an expression. What
only rearranges (members, joins, lists, reshapes, choices by lengths) changes views and makes no arrays; each
function that is applied to data makes one, over the coordinates around it. ``_RULES`` is the table of kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    TRUE,
    Cond,
    Poly,
    Symbol,
    atom,
    conj,
    coordinate,
    data_symbol,
    eq,
    ge,
    negate,
    only_symbol,
    product_of,
    substitute,
    substitute_cond,
    the_symbol,
)
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Bindings, is_fixed, numeric_type, schedule, static_condition
from tolcost.atoms.nodes import Block, Node, Program, Var
from tolcost.diagnostics import NOWHERE, Span, refuse
from tolcost.gradient.equations import (
    Apply,
    Choice,
    Equation,
    Expression,
    InSpace,
    LengthByData,
    Loop,
    Nest,
    ReadAt,
    Reduction,
    Scattered,
    Static,
    Subscripts,
    holds,
    is_static,
    rebuilt,
    restated,
    restated_scatter,
    where_chosen,
)
from tolcost.gradient.inversion import largest
from tolcost.gradient.longest import longest
from tolcost.gradient.places import digits, linear, reshaped
from tolcost.gradient.steps import FoldStep, PutStep, harmless, steps_of
from tolcost.spaces import ALL, bounds_of, join_spaces, kind_of

UNKNOWN = "T0900"
"""The code of a construct whose derivative is not known."""


class ElementView(Struct, eq=False):
    """One component of a value: its shape, its space, and its number at an index."""

    shape: tuple[Poly, ...]
    space: str
    element: Callable[[Subscripts], Expression]
    around: Nest
    laid_out: Equation | None = None


Views: TypeAlias = tuple[ElementView, ...]


class Flat(Struct, frozen=True, eq=False):
    """A program as equations, in an order in which every array comes after what it reads."""

    arrays: tuple[Equation, ...]
    inputs: Mapping[str, tuple[Equation, ...]]
    outputs: Mapping[str, tuple[Equation, ...]]
    lengths: tuple[Equation, ...] = ()
    """The arrays that define lengths by data, in order."""


def flatten(program: Program, names: Iterable[str]) -> Flat:
    """Make equations of the named outputs of a program."""
    work = _Flattening(program)
    for needed in program.inputs:
        work.given(needed)
    wanted = [output for output in program.outputs if output.name in set(names)]
    values = work.block(program.bindings, tuple(output.node for output in wanted), Nest())
    outputs = {
        output.name: tuple(work.output(view, output.name, output.span) for view in value)
        for output, value in zip(wanted, values, strict=True)
    }
    for array in work.arrays if work.longest else ():
        if not array.lengths.isdisjoint(work.longest):
            message = "a length by data has no derivative yet inside of a map, but as the end of a fold"
            refuse(UNKNOWN, message, array.span)
    lengths = tuple([array for array in work.arrays if array.measured is not None])
    return Flat(tuple(work.arrays), work.inputs, outputs, lengths)


class _Flattening(Struct, eq=False):
    """The arrays made so far, and the values of variables."""

    program: Program
    arrays: list[Equation] = field(default_factory=list)
    inputs: dict[str, tuple[Equation, ...]] = field(default_factory=dict)
    values: dict[Var, Views] = field(default_factory=dict)
    hint: str = ""
    chosen: tuple[tuple[Expression, bool, Nest], ...] = ()
    """The choices by data around, the innermost first: whether this is the first side, and where."""
    outputs: set[Equation] = field(default_factory=set)
    longest: dict[Symbol, tuple[Symbol, Var]] = field(default_factory=dict)
    """For a length that data decides at each place: the largest of them, and its number there."""

    # ---- blocks and arrays -----------------------------------------------------------------

    def block(self, bindings: Bindings, results: tuple[Node, ...], around: Nest) -> list[Views]:
        """Return the values of results, computed at every coordinate around."""
        plan = schedule(bindings, results)
        found: list[Views] = []
        for node, operands, _, binds in plan.steps:
            self.hint = binds[0].name.strip("_0123456789") and binds[0].name if binds else ""
            rule = _RULES[type(node)]
            value = rule(self, node, [found[k] for k in operands], around)
            found.append(value)
            self.values.update(dict.fromkeys(binds, value))
        return [found[k] for k in plan.roots[len(bindings) :]]

    def inside(self, block: ir.Block, around: Nest) -> Views:
        """Return the value of a block."""
        return self.block(block.bindings, (block.result,), around)[0]

    def array(
        self, name: str, domain: Nest, value: Expression | Scattered, space: str, span: Span = NOWHERE
    ) -> Equation:
        """Add an array that an expression defines."""
        if isinstance(value, Scattered):
            inner = domain.first(value.around).over(value.domain.coords, value.domain.extents)
            value = replace(value, body=self.where_taken(value.body, inner))
        else:
            value = self.where_taken(value, domain)
        made = Equation(name, family(space), domain, value, span=span)
        self.arrays.append(made)
        return made

    def given(self, needed: ir.Input) -> tuple[Equation, ...]:
        """Return the arrays of an input, one for each component."""
        found = self.inputs.get(needed.name)
        if found is None:
            found = self.inputs[needed.name] = self.source(needed, needed.name)
        return found

    def source(self, node: ir.Input | ir.Table, name: str) -> tuple[Equation, ...]:
        """Return the arrays of a node that is given."""
        made = []
        for k, part in enumerate(node.type):
            component = k + 1 if len(node.type) > 1 else None
            array = Equation(name, part.space, _range_over(part.shape), given=node, component=component)
            self.arrays.append(array)
            made.append(array)
        return tuple(made)

    def lay_out(self, view: ElementView, name: str, span: Span = NOWHERE) -> Equation:
        """Return an array of the numbers of a view, inside the coordinates around it."""
        if view.laid_out is None:
            own = _range_over(view.shape)
            value = view.element(own.at)
            domain = view.around.over(own.coords, own.extents)
            view.laid_out = self.array(name or "t", domain, value, view.space, span)
        return view.laid_out

    def output(self, view: ElementView, name: str, span: Span) -> Equation:
        """Return the array of an output; outputs of one value have arrays of their own."""
        found = self.lay_out(view, name, span)
        if found in self.outputs:
            found = self.array(name, found.domain, ReadAt(found, found.domain.at), found.space, span)
        self.outputs.add(found)
        return found

    def number(self, value: Views) -> Expression:
        """Return the expression of a numeric."""
        return value[0].element(())

    # ---- functions -------------------------------------------------------------------------

    def function(self, node: ir.Lambda, operands: Sequence[Views], around: Nest) -> Views:
        args = tuple(map(self.number, operands))
        return self.applied(node.function, args, node, node.type[0].space, around)

    def applied(
        self,
        function: str,
        args: tuple[Expression, ...],
        node: ir.Lambda | ir.Where,
        space: str,
        around: Nest,
    ) -> Views:
        """Return a function of numbers: an array of its own if it costs anything."""
        made = Apply(function, args, node.space, space, node.charge, node.span)
        if node.charge != "data":
            return (_number(made, space, around),)
        array = self.array(self.hint or "t", around, made, space, node.span)
        return (_number(ReadAt(array, around.at), space, around),)

    def where(self, node: ir.Where, operands: Sequence[Views], around: Nest) -> Views:
        condition, then, other = operands
        made: list[ElementView] = []
        for one, two, part in zip(then, other, node.type, strict=True):
            own = _range_over(part.shape)
            inner = around.over(own.coords, own.extents)
            sides = (self.number(condition), one.element(own.at), two.element(own.at))
            (view,) = self.applied("where", sides, node, part.space, inner)
            made.append(_inside(view, own, part.shape, around))
        return tuple(made)

    # ---- what only rearranges --------------------------------------------------------------

    def member(self, node: ir.Member, operands: Sequence[Views], around: Nest) -> Views:
        tol, *computed = operands
        at = self.index(node.at, computed)
        return tuple(
            _number(self.element(view, at, node.span), part.space, around)
            for view, part in zip(tol, node.type, strict=True)
        )

    def index(self, at: tuple[Any, ...], computed: Iterable[Views]) -> Subscripts:
        """Return an index list, given the values of the indices that are nodes."""
        fresh = iter(computed)
        return tuple(i if isinstance(i, Poly) else _static_index(self.number(next(fresh))) for i in at)

    def element(self, view: ElementView, at: Subscripts, span: Span) -> Expression:
        """Return the number of a view at an index that data may decide."""
        if all(isinstance(index, Poly) for index in at):
            found = view.element(at)
        else:
            found = ReadAt(self.lay_out(view, ""), (*view.around.at, *at))
        return replace(found, span=span) if isinstance(found, ReadAt) else found

    def join(self, node: ir.Join, operands: Sequence[Views], around: Nest) -> Views:
        made = []
        for left, right, part in zip(*operands, node.type, strict=True):
            d, first = node.d - 1, left.shape[node.d - 1]
            element = partial(_joined, left, right, d, first)
            made.append(ElementView(part.shape, part.space, element, around))
        return tuple(made)

    def reshape(self, node: ir.Reshape, operands: Sequence[Views], around: Nest) -> Views:
        def moved(view: ElementView, shape: tuple[Poly, ...]) -> ElementView:
            return ElementView(
                shape, view.space, lambda at: view.element(reshaped(at, shape, view.shape)), around
            )

        return tuple(moved(view, part.shape) for view, part in zip(operands[0], node.type, strict=True))

    def convert(self, node: ir.Convert, operands: Sequence[Views], around: Nest) -> Views:
        def cast_to(view: ElementView, part: ir.Part) -> ElementView:
            def element(at: Subscripts) -> Expression:
                return InSpace(view.element(at), part.space, node.bits, node.within, node.span)

            if view.space == part.space and not node.within:
                return view
            return ElementView(part.shape, part.space, element, around)

        return tuple(map(cast_to, operands[0], node.type))

    def table(self, node: ir.Table, operands: Sequence[Views], around: Nest) -> Views:
        if not is_fixed(node):
            return (ElementView(node.type[0].shape, node.type[0].space, lambda at: _entry(node, at), around),)
        return tuple(map(_whole, self.source(node, self.hint or "table")))

    def put(self, node: ir.Put, operands: Sequence[Views], around: Nest) -> Views:
        tol, *computed, value = operands
        if computed:
            places, once, span = self.index(node.at, computed), Nest(), node.span
            pairs = zip(tol, value, strict=True)
            return tuple([self.written(t, once, places, v, around, span, False, t.space) for t, v in pairs])
        at = cast("tuple[Poly, ...]", node.at)

        def replaced(old: ElementView, new: ElementView) -> ElementView:
            def element(here: Subscripts) -> Expression:
                same = conj(*[eq(cast(Poly, i) - j) for i, j in zip(here, at, strict=False)])
                return _choice(same, lambda: new.element(here[len(at) :]), lambda: old.element(here))

            return ElementView(old.shape, old.space, element, around)

        return tuple(map(replaced, tol, value))

    def select(self, node: ir.Select, operands: Sequence[Views], around: Nest) -> Views:
        condition = static_condition(node)
        if condition is None:
            return self.chosen_by_number(node, self.number(operands[0]), around)
        if holds(condition, around.guards):
            return self.inside(node.then, around)
        opposite = negate(condition)
        if holds(opposite, around.guards):
            return self.inside(node.other, around)
        then = self.inside(node.then, around.where(condition))
        other = self.inside(node.other, around.where(opposite))

        def chosen(one: ElementView, two: ElementView, part: ir.Part) -> ElementView:
            def element(at: Subscripts) -> Expression:
                return _choice(condition, lambda: one.element(at), lambda: two.element(at))

            return ElementView(part.shape, part.space, element, around)

        return tuple(map(chosen, then, other, node.type))

    def chosen_by_number(self, node: ir.Select, condition: Expression, around: Nest) -> Views:
        """Return a choice by a number: a ``where`` if it is static, if no polynomial."""
        if not is_static(condition):
            return self.chosen_by_data(node, condition, around)
        then, other = self.inside(node.then, around), self.inside(node.other, around)
        made: list[ElementView] = []
        for one, two, part in zip(then, other, node.type, strict=True):
            own = _range_over(part.shape)
            sides = (condition, one.element(own.at), two.element(own.at))
            charge: ir.Charge = "static" if all(map(is_static, sides)) else "data"
            stated = cast(Node, node.condition)
            where = ir.Where(stated, stated, stated, part.space, node.type, charge, node.span)
            inner = around.over(own.coords, own.extents)
            (view,) = self.applied("where", sides, where, part.space, inner)
            made.append(_inside(view, own, part.shape, around))
        return tuple(made)

    def chosen_by_data(self, node: ir.Select, condition: Expression, around: Nest) -> Views:
        """Return a choice of what to compute: the arrays of a side are 0 where it is not taken.

        What is not computed may not be a number, and 0 times it is not 0.
        """
        sides = []
        for block, is_first in ((node.then, True), (node.other, False)):
            self.chosen = ((condition, is_first, around), *self.chosen)
            sides.append(self.inside(block, around))
            self.chosen = self.chosen[1:]

        def picked(one: ElementView, two: ElementView, part: ir.Part) -> ElementView:
            def element(at: Subscripts) -> Expression:
                both = (_cast(view.element(at), part.space) for view in (one, two))
                return Choice(condition, *both)

            return ElementView(part.shape, part.space, element, around)

        return tuple(map(picked, *sides, node.type))

    def where_taken(self, value: Expression, domain: Nest) -> Expression:
        """Return a number of a domain where data takes the sides of choices that it is in."""
        inside = [
            (condition, is_first)
            for condition, is_first, around in self.chosen
            if domain.coords[: len(around.coords)] == around.coords
        ]
        return where_chosen(value, inside)

    # ---- ranges ----------------------------------------------------------------------------

    def build(self, node: ir.Build, operands: Sequence[Views], around: Nest) -> Views:
        own, name = Nest(node.coords, node.extents), self.hint
        inner = around.over(node.coords, node.extents)
        members = self.inside(node.body, inner)
        for view in members if name and not any(view.shape for view in members) else ():
            value = view.element(())
            if isinstance(value, ReadAt) and value.at == inner.at and value.array.name in _UNNAMED:
                value.array.name = name
        return tuple(
            _inside(view, own, part.shape, around) for view, part in zip(members, node.type, strict=True)
        )

    def fold(self, node: ir.Fold, operands: Sequence[Views], around: Nest) -> Views:
        node = self.over_longest(node)
        steps = steps_of(node)
        if steps is None:
            return self.loop(node, operands[0], around)
        inner = around.over(node.coords, node.extents)
        self.block(tuple((v, n) for v, n in node.body.bindings if n in harmless(node)), (), inner)
        return tuple(
            self.reduced(node, step, start, around) for step, start in zip(steps, operands[0], strict=True)
        )

    def measure(self, length: Symbol, number: Equation) -> None:
        """Note a number that is a length."""
        measured = LengthByData(length, ReadAt(number, ()))
        self.arrays.append(Equation("length", number.space, Nest(), span=number.span, measured=measured))

    def largest_of(self, length: Symbol, span: Span) -> Symbol:
        """Return the largest value of a length that data decides at many places."""
        most = the_symbol(data_symbol(f"{length.name}_most", 0, None))
        number = Equation("longest", "Z", Nest(), given=longest(self.program, length), span=span)
        self.arrays.append(number)
        self.measure(most, number)
        return most

    def over_longest(self, node: ir.Fold) -> ir.Fold:
        """Return a fold over a range by data as one over the longest of them: further steps do nothing.

        So is one that data ends: a step is taken as long as the first component of the state is true.
        """
        extents, taken = list(node.extents), list[Node]()
        carried = ir.Ref(node.accumulator, node.accumulator.type)

        def at_most(coord: Symbol, end: Node) -> Node:
            place = ir.Number(atom(coord), end.type, node.span)
            return ir.Lambda("le", (place, end), "Z", numeric_type("B"), "data", node.span)

        if node.ends is not None:
            extents = [atom(self.largest_of(node.ends, node.span))]
            taken.append(ir.Component(carried, 1, carried.type[:1]))
            most = node.ends.hi
            if most is not None and any(symbol.kind == "coord" for symbol in most.free):
                taken.append(at_most(node.coords[0], ir.Number(most, numeric_type("Z"), node.span)))
        for k, (coord, extent) in enumerate(zip(node.coords, node.extents, strict=True)):
            length = only_symbol(extent)
            if length is not None and length in self.longest:
                longest_of_all, var = self.longest[length]
                extents[k] = atom(longest_of_all)
                taken.append(at_most(coord, ir.Ref(var, var.type)))
        body, same = node.body, Block((), carried)
        for condition in taken:
            body = Block((), ir.Select(condition, body, same, carried.type, node.span))
        return replace(node, extents=tuple(extents), body=body, ends=None) if taken else node

    def loop(self, node: ir.Fold, start: Views, around: Nest) -> Views:
        """Return what a loop ends with that carries a state from step to step.

        Each component of the state becomes an array with a coordinate for the step: the state before each
        step, and after the last one.  Where later ranges depend on earlier coordinates, there is a step for
        each place of the box around them, and outside of the ranges the state stays what it is.
        """
        own, name = set(node.coords), self.hint or "state"
        loop = Loop(time := len(around.coords))
        sizes: dict[Symbol, Poly] = {}
        for symbol, extent in zip(node.coords, node.extents, strict=True):
            sizes[symbol] = largest(extent, sizes)
        box = tuple(sizes.values())
        count = product_of(box)
        step = the_symbol(coordinate("s", count + 1))
        before = around.over((step,), (count + 1,))
        inner = around.over(node.coords, node.extents)
        now = linear(inner.at[time:], box) + 1
        last = dict(zip(node.coords, digits(atom(step) - 2, box), strict=True))
        if len(node.coords) > 1 and any(
            not p.free.isdisjoint(own) for t in node.accumulator.type for p in t.shape
        ):
            refuse(UNKNOWN, "a state that grows over several coordinates has no derivative yet", node.span)
        states, rests = [], []
        for part in node.accumulator.type:
            shape = tuple([substitute(p, dict.fromkeys(own, atom(step))) for p in part.shape])
            rest = _range_over(shape)
            domain = before.over(rest.coords, rest.extents)
            state = Equation(name, family(part.space), domain, None, None, None, node.span, loop, True)
            self.arrays.append(state)
            states.append(state)
            rests.append(rest)

        def carried(state: Equation, part: ir.Part) -> ElementView:
            return ElementView(
                part.shape, part.space, lambda at: ReadAt(state, (*around.at, now, *at)), inner
            )

        self.values[node.accumulator] = tuple(map(carried, states, node.accumulator.type))
        first = len(self.arrays)
        found = self.inside(node.body, inner)
        made = [
            array for array in self.arrays[first:] if array.domain.coords[: len(inner.coords)] == inner.coords
        ]
        timed = dict.fromkeys(made, box)
        ranges = zip(node.coords, node.extents, box, strict=True)
        is_inside = conj(*[ge(substitute(e, last) - last[s]) for s, e, size in ranges if e is not size])
        for state, rest, one, view in zip(states, rests, start, found, strict=True):
            after = restated(_cast(view.element(rest.at), state.space), last)
            same = ReadAt(state, (*around.at, atom(step) - 1, *rest.at))
            kept = after if is_inside is TRUE else Choice(is_inside, after, same)
            value = Choice(eq(atom(step) - 1), _cast(one.element(rest.at), state.space), kept)
            state.value = self.where_taken(_retimed(value, timed, time), state.domain)
        for inside in {one for array in made for one in array.loops}:
            inside.time -= len(node.coords) - 1
            inside.outer = inside.outer or loop
        for array in made:
            if len(node.coords) > 1:
                _use_one_step(array, node, box, timed, time)
            array.loop = array.loop or loop

        def ended(state: Equation, part: ir.Part) -> ElementView:
            return ElementView(
                part.shape, part.space, lambda at: ReadAt(state, (*around.at, count + 1, *at)), around
            )

        return tuple(map(ended, states, node.type))

    def reduced(self, node: ir.Fold, step: FoldStep, start: ElementView, around: Nest) -> ElementView:
        """Return what a step adds up, or combines otherwise, element by element."""
        steps = Nest(node.coords, node.extents, step.guards)
        if isinstance(step, PutStep):
            return self.scattered(node, step, start, around)
        own = Nest() if step.build is None else Nest(step.build.coords, step.build.extents)
        guards = (*around.guards, *step.guards)
        inner = replace(around.over(own.coords, own.extents).over(node.coords, node.extents), guards=guards)
        self.block(step.bindings, (), inner)
        (term,) = self.block((), (step.term,), inner)
        body = self.number(term)
        outer = around.over(own.coords, own.extents)
        space = start.space if start.space == step.space else step.space
        value = Reduction(step.function, steps, start.element(own.at), body, step.within, space, node.span)
        array = self.array(self.hint or "t", outer, value, space, node.span)
        return _inside(_number(ReadAt(array, outer.at), space, around), own, start.shape, around)

    def scattered(self, node: ir.Fold, step: PutStep, start: ElementView, around: Nest) -> ElementView:
        """Return an array into which a step puts terms at places."""
        inner = replace(around.over(node.coords, node.extents), guards=(*around.guards, *step.guards))
        self.block(step.bindings, (), inner)
        values = self.block((), (*[i for i in step.at if not isinstance(i, Poly)], step.term), inner)
        at = self.index(step.at, values[:-1])
        steps = Nest(node.coords, node.extents, step.guards)
        adds = step.function == "add"
        return self.written(start, steps, at, values[-1][0], around, node.span, adds, step.within)

    def written(
        self,
        start: ElementView,
        steps: Nest,
        at: Subscripts,
        term: ElementView,
        around: Nest,
        span: Span,
        adds: bool,
        within: str,
    ) -> ElementView:
        """Return an array with the members of a term put at places; trailing dimensions may be omitted."""
        first = self.lay_out(start, "start")
        whole, rest = _range_over(start.shape), _range_over(term.shape)
        steps = steps.over(rest.coords, rest.extents)
        read, there = ReadAt(first, (*start.around.at, *whole.at)), (*at, *rest.at)
        value = Scattered(steps, read, there, term.element(rest.at), within, span, adds, len(around.coords))
        domain = around.over(whole.coords, whole.extents)
        made = self.array(self.hint or "t", domain, value, start.space, span)
        return ElementView(start.shape, made.space, lambda at: ReadAt(made, (*around.at, *at)), around, made)


_UNNAMED = frozenset(("", "t"))

# ---- views -------------------------------------------------------------------------------------


def _use_one_step(
    array: Equation,
    node: ir.Fold,
    box: tuple[Poly, ...],
    timed: Mapping[Equation, tuple[Poly, ...]],
    time: int,
) -> None:
    """Give an array of a loop over several coordinates one coordinate for the step instead."""
    count = product_of(box)
    step = the_symbol(coordinate("s", count))
    values = dict(zip(node.coords, digits(atom(step) - 1, box), strict=True))
    rest = time + len(node.coords)
    domain, ranges = array.domain, zip(node.coords, node.extents, box, strict=True)
    around = Nest(domain.coords[:time], domain.extents[:time])
    own, renamed = Nest(domain.coords[rest:], domain.extents[rest:]).fresh(values)
    inside = [ge(substitute(e, values) - values[s]) for s, e, size in ranges if e is not size]
    guards = (*(substitute_cond(guard, renamed) for guard in domain.guards), *inside)
    array.domain = replace(around.over((step,), (count,)).over(own.coords, own.extents), guards=guards)
    if isinstance(array.value, Scattered):
        moved = restated_scatter(array.value, renamed)
        fewer = len(node.coords) - 1
        array.value = replace(_retimed_scatter(moved, timed, time), around=moved.around - fewer)
    elif array.value is not None:
        array.value = _retimed(restated(array.value, renamed), timed, time)


def _retimed_scatter(value: Scattered, timed: Mapping[Equation, tuple[Poly, ...]], time: int) -> Scattered:
    """Return what is put at places by what reads the arrays of a loop by one coordinate for the step."""
    at = tuple([one if isinstance(one, Poly) else _retimed(one, timed, time) for one in value.at])
    start = None if value.start is None else cast(ReadAt, _retimed(value.start, timed, time))
    return replace(value, at=at, start=start, body=_retimed(value.body, timed, time))


def _retimed(expr: Expression, timed: Mapping[Equation, tuple[Poly, ...]], time: int) -> Expression:
    """Return an expression that reads the arrays of a loop by one coordinate for the step."""
    if isinstance(expr, Reduction):
        start, body = _retimed(expr.start, timed, time), _retimed(expr.body, timed, time)
        return replace(expr, start=start, body=body)
    changed = rebuilt(expr, lambda part: _retimed(part, timed, time), {})
    if isinstance(changed, ReadAt) and len(timed.get(changed.array, ())) > 1:
        extents = timed[changed.array]
        rest = time + len(extents)
        step = linear(cast("tuple[Poly, ...]", changed.at[time:rest]), extents) + 1
        return replace(changed, at=(*changed.at[:time], step, *changed.at[rest:]))
    return changed


def family(space: str) -> str:
    """Return a space without bounds: an adjoint has any sign, and is 0 where nothing is computed."""
    return space if bounds_of(space) is ALL else kind_of(space)


def _cast(value: Expression, space: str) -> Expression:
    if value.space == space:
        return value
    return replace(value, space=space) if isinstance(value, Static) else InSpace(value, space)


def _range_over(shape: tuple[Poly, ...]) -> Nest:
    """Return a domain of new coordinates over a shape."""
    names = "ijkluvwpqrst"
    coords = [the_symbol(coordinate(names[n % len(names)], extent)) for n, extent in enumerate(shape)]
    return Nest(tuple(coords), shape)


def _number(value: Expression, space: str, around: Nest) -> ElementView:
    return ElementView((), space, lambda at: value, around)


def _whole(array: Equation) -> ElementView:
    """Return the view of an array that no coordinates are around."""
    return ElementView(array.domain.extents, array.space, lambda at: ReadAt(array, at), Nest(), array)


def _inside(view: ElementView, own: Nest, shape: tuple[Poly, ...], around: Nest) -> ElementView:
    """Return the view of what has a view at the coordinates of a range."""
    rank = len(own.coords)

    def element(at: Subscripts) -> Expression:
        values = dict(zip(own.coords, cast("tuple[Poly, ...]", at[:rank]), strict=True))
        return restated(view.element(at[rank:]), values)

    return ElementView(shape, view.space, element, around)


def _static_index(value: Expression) -> Poly | Expression:
    """Return an index as a polynomial if it is one."""
    return value.value if isinstance(value, Static) and isinstance(value.value, Poly) else value


def _joined(left: ElementView, right: ElementView, d: int, first: Poly, at: Subscripts) -> Expression:
    here = cast(Poly, at[d])
    after = (*at[:d], here - first, *at[d + 1 :])
    return _choice(ge(first - here), lambda: left.element(at), lambda: right.element(after))


def _choice(condition: Cond, then: Callable[[], Expression], other: Callable[[], Expression]) -> Expression:
    if holds(condition, ()):
        return then()
    if holds(negate(condition), ()):
        return other()
    one, two = then(), other()
    space = join_spaces(one.space, two.space)
    return Choice(condition, _cast(one, space), _cast(two, space))


def _entry(node: ir.Table, at: Subscripts) -> Expression:
    """Return an entry of a table whose entries depend on coordinates."""
    place = 0
    for index, extent in zip(at, node.type[0].shape, strict=True):
        number = index.constant if isinstance(index, Poly) else None
        if number is None or extent.constant is None:
            return _chosen_entry(node, at)
        place = place * extent.constant + number - 1
    return Static(node.values[place], node.type[0].space, node.span)


def _chosen_entry(node: ir.Table, at: Subscripts) -> Expression:
    space = node.type[0].space
    if len(at) != 1 or not isinstance(at[0], Poly):
        refuse(UNKNOWN, "a table of coordinates has no derivative yet where data looks it up", node.span)
    found: Expression = Static(node.values[-1], space, node.span)
    for n in reversed(range(len(node.values) - 1)):
        found = Choice(eq(at[0] - (n + 1)), Static(node.values[n], space, node.span), found)
    return found


# ---- the table of kinds ------------------------------------------------------------------------

_Rule: TypeAlias = Callable[[_Flattening, Any, Sequence[Views], Nest], Views]


def _filter(work: _Flattening, node: ir.Filter, operands: Sequence[Views], around: Nest) -> Views:
    """Return what a filter keeps: a read at the places that the mask keeps."""
    what = "repeat" if node.repeats else "filter"
    if around.coords:
        message = f"a `{what}` by data has no derivative yet inside of a map or a loop"
        refuse(UNKNOWN, message, node.span)
    tol, (mask,) = operands
    marks = work.lay_out(mask, "mask", node.span)
    domain = _range_over((atom(node.length),))
    measured = LengthByData(node.length, ReadAt(marks, domain.at), node.repeats)
    places = Equation("places", "N", domain, span=node.span, measured=measured)
    work.arrays.append(places)

    def kept(view: ElementView, part: ir.Part) -> ElementView:
        def element(at: Subscripts) -> Expression:
            return work.element(view, (ReadAt(places, at[:1]), *at[1:]), node.span)

        return ElementView(part.shape, part.space, element, around)

    return tuple(map(kept, tol, node.type))


def _length(work: _Flattening, node: ir.Length, operands: Sequence[Views], around: Nest) -> Views:
    number = work.lay_out(operands[0][0], "length", node.span)
    here = _number(ReadAt(number, around.at), number.space, around)
    if around.coords:
        var = Var("length", node.type)
        work.values[var] = (here,)
        work.longest[node.length] = work.largest_of(node.length, node.span), var
    else:
        work.measure(node.length, number)
    return (here,)


def _embed(work: _Flattening, node: ir.Embed, operands: Sequence[Views], around: Nest) -> Views:
    def embedded(view: ElementView, part: ir.Part) -> ElementView:
        return ElementView(part.shape, part.space, lambda at: view.element(at[:-1]), around)

    return tuple(map(embedded, operands[0], node.type))


_RULES: Mapping[type, _Rule] = {
    ir.Input: lambda w, node, args, around: tuple(map(_whole, w.given(node))),
    ir.Number: lambda w, node, args, around: (
        _number(Static(node.value, node.type[0].space, node.span), node.type[0].space, around),
    ),
    ir.Table: _Flattening.table,
    ir.Ref: lambda w, node, args, around: w.values[node.var],
    ir.Lambda: _Flattening.function,
    ir.Where: _Flattening.where,
    ir.Member: _Flattening.member,
    ir.Component: lambda w, node, args, around: (args[0][node.j - 1],),
    ir.Pack: lambda w, node, args, around: tuple(view for value in args for view in value),
    ir.Join: _Flattening.join,
    ir.Embed: _embed,
    ir.Build: _Flattening.build,
    ir.Fold: _Flattening.fold,
    ir.Select: _Flattening.select,
    ir.Reshape: _Flattening.reshape,
    ir.Convert: _Flattening.convert,
    ir.Put: _Flattening.put,
    ir.Filter: _filter,
    ir.Length: _length,
}
"""What each kind of node does to views: the complete table of kinds."""
