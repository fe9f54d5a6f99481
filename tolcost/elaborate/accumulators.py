"""Folds in the IR: the type of an accumulator that may grow, and which of its components are static.

Both are guessed first. The step is elaborated with the guess, and again until its result agrees with the
guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache, reduce
from itertools import compress, zip_longest
from operator import and_, attrgetter, gt
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    Poly,
    Sum,
    const,
    coordinate,
    data_symbol,
    eq,
    exact_div,
    ge,
    generators_in,
    powers,
    product_of,
    prove,
    scale,
    step_of,
    substitute,
    sum_over,
    the_symbol,
    to_text,
)
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Bindings,
    children,
    inner_nodes,
    is_numeric,
    is_ref,
    numeric_type,
    regions,
    roots,
    with_operands,
)
from tolcost.atoms.nodes import Block, Component, Fold, Node, Pack, Part, Ref, Type, Var
from tolcost.diagnostics import Rejected
from tolcost.elaborate.again import SubprogramCopy
from tolcost.elaborate.apply import result_space, takes, widen_space
from tolcost.elaborate.environment import Env
from tolcost.elaborate.faults import NeedsUnrolling, OutOfRange, RankMismatch, fail
from tolcost.elaborate.layout import (
    as_static,
    emit,
    in_spaces,
    joined_spaces,
    make_build,
    pack,
    spaces_of,
    with_spaces,
)
from tolcost.elaborate.maps import Step, fresh_coordinates, position
from tolcost.elaborate.outlook import guess_growth
from tolcost.elaborate.shapes import component, facts_here, shape_text, substitute_equal_lengths, unify
from tolcost.elaborate.values import NodeValue, Value, ValueList, is_static
from tolcost.spaces import join_spaces, kind_of

# === Retyping: change the spaces of a body's accumulator without elaborating the body again.
#
# Only spaces change; shapes and structure stay. Elaborating again at every level of nested folds would take
# time exponential in their depth; retyping is linear in the size of the body. A body that would be a
# different program in other spaces is not changed, and must be elaborated again.


Operands = tuple[Node, ...]


_LEAVES = {ir.Input, ir.Number, ir.Table}
_MOVING = (ir.Component, ir.Convert, ir.Reshape, ir.Member, ir.Embed, ir.Join, ir.Pack, ir.Put)
"""Kinds of nodes that are static if all their operands are."""

Components = AbstractSet[tuple[Var, int]]
"""Components of accumulators, by number."""

Flags = tuple[bool, ...]
"""For each component of an accumulator, or each operand: whether it is static, or whether it becomes data."""


def depends_statically_on(block: Block, var: Var, static_components: Components) -> bool:
    """Whether a static part of a block depends on a variable, so that the block would differ with data.

    ``static_components`` are the components of accumulators that are static.
    """
    inside = tuple(inner_nodes(roots(block)))
    static = [node for node in inside if type(node) in _STATIC and _STATIC[type(node)](node)]
    static += [
        part
        for node in inside
        if isinstance(node, ir.Fold)
        for part in _static_parts(node, static_components)
    ]
    if not static:
        return False
    bound = dict(block.bindings)
    for node in inside:
        for region in regions(node):
            bound.update(region.block.bindings)
            # it depends on the start of its fold and on the result of its body
            if region.accumulator is not None:
                bound[region.accumulator] = node
    return any(is_ref(node, var) for node in inner_nodes(static, bound))


def _static_parts(fold: ir.Fold, static_components: Components) -> Iterator[Node]:
    """Yield the static components of an accumulator's start, and of the result of a step."""
    chosen = [(fold.accumulator, j) in static_components for j, _ in enumerate(fold.type, start=1)]
    if any(chosen):
        for whole in (fold.start, fold.body.result):
            apart = whole.items if isinstance(whole, ir.Pack) else ()
            yield from compress(apart, chosen) if len(apart) == len(chosen) else (whole,)


def _may_round(node: ir.Convert) -> bool:
    """Whether a conversion rounds data, while it leaves a static value as it is."""
    pairs = zip(node.value.type, node.type, strict=True)
    return node.is_written and any(kind_of(p.space) + kind_of(q.space) == "RZ" for p, q in pairs)


_STATIC: Mapping[type, Callable[[Any], bool]] = {
    **dict.fromkeys((ir.Lambda, ir.Where), lambda node: node.charge == "static"),
    ir.Convert: _may_round,
    ir.Select: lambda node: bool(children(node)),
}
"""Whether a node is static, for the kinds of nodes that may be."""


def _is_number(node: Node) -> bool:
    """Whether a node is a known static number; it takes the space of the function that is applied to it."""
    if isinstance(node, ir.Lambda):  # a quotient of integers
        return node.function == "div" and node.charge == "static" and all(map(_is_number, node.args))
    return isinstance(node, ir.Number)


class _WouldDiffer(Exception):
    """Raised for a node that differs if an operand is in another space: a conversion may have to round."""


def retype(block: Block, old: Var, new: Var, static_components: Components) -> Block | None:
    """Change the spaces of a variable, and all spaces that follow; None if more than spaces would change.

    ``static_components`` are the static components of the variable, and of accumulators around it.
    """
    try:
        return _Retype({old: new}, static_components).block(block)
    except _WouldDiffer:
        return None


class _Retype(Struct):
    """The new variables and nodes by the old ones; unaffected nodes stay the same objects."""

    vars: dict[Var, Var]
    static_components: Components
    static: set[Var] = field(default_factory=set)
    done: dict[Node, Node] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        bindings = []
        for var, node in block.bindings:
            new = self.node(node)
            if new is not node:
                self.vars[var] = Var(var.name, new.type, var.work)
            bound = self.vars.get(var, var)
            if self.is_static(new):
                self.static.add(bound)
            bindings.append((bound, new))
        result = self.node(block.result)
        same = result is block.result and tuple(bindings) == block.bindings
        return block if same else Block(tuple(bindings), result)

    def node(self, node: Node) -> Node:
        if type(node) in _LEAVES:
            return node
        found = self.done.get(node)
        if found is None:
            change = _CHANGES.get(type(node))
            found = self.done[node] = self._rebuild_children(node) if change is None else change(self, node)
        return found

    def _rebuild_children(self, node: Node) -> Node:
        operands = children(node)
        args = tuple(map(self.node, operands))
        if args == operands:
            return node
        return self._lambda(node, args) if isinstance(node, ir.Lambda) else _rebuild_over(node, args)

    def _lambda(self, node: ir.Lambda, args: Operands) -> Node:
        spaces = tuple([arg.type[0].space for arg in args])
        written = tuple([isinstance(arg, ir.Number) for arg in args])
        domain = _domain(node.function, spaces, tuple(map(self.is_static, args)), written)
        if not takes(node.function, domain):
            raise _WouldDiffer
        ready = tuple([in_spaces(arg, (domain,)) if _is_number(arg) else arg for arg in args])
        kind = numeric_type(result_space(node.function, domain))
        return ir.Lambda(node.function, ready, domain, kind, node.charge, node.span, node.of)

    def is_static(self, node: Node) -> bool:
        """Whether a node has a static value, as far as the parts visited so far show."""
        match node:
            case ir.Component(value=ir.Ref(var=var), j=j):
                return (var, j) in self.static_components or var in self.static
            case ir.Ref(var=var):
                return (var, 1) in self.static_components or var in self.static
            case ir.Lambda(charge=charge) | ir.Where(charge=charge):
                return charge == "static"
            case ir.Fold(start=start, accumulator=accumulator, body=body):
                return self.is_static(start) and self._is_static_inside(body, accumulator)
            case ir.Build(body=body):
                return self._is_static_inside(body)
            case _:
                return isinstance(node, (ir.Number, ir.Table)) or (
                    isinstance(node, _MOVING) and all(map(self.is_static, children(node)))
                )

    def _is_static_inside(self, body: Block, *static: Var) -> bool:
        """Whether the result of a body is static, given static variables such as a fold's accumulator."""
        inside = _Retype(self.vars, self.static_components, {*self.static, *static})
        for var, node in body.bindings:
            if inside.is_static(node):
                inside.static.add(var)
        return inside.is_static(body.result)

    def _ref(self, node: ir.Ref) -> Node:
        var = self.vars.get(node.var)
        return node if var is None else ir.Ref(var, var.type)

    def _build(self, node: ir.Build) -> Node:
        body = self.block(node.body)
        if body is node.body:
            return node
        return replace(node, body=body, type=_with_spaces_of(node.type, body.result.type))

    def _select(self, node: ir.Select) -> Node:
        chosen = tuple(self.node(child) for child in children(node))
        _require_unchanged(chosen, children(node))
        then, other = self.block(node.then), self.block(node.other)
        spaces = joined_spaces(then.result.type, other.result.type)
        then, other = (Block(side.bindings, in_spaces(side.result, spaces)) for side in (then, other))
        return with_operands(node, chosen, then=then, other=other, type=with_spaces(node.type, spaces))

    def _fold(self, node: ir.Fold) -> Node:
        start, body = self.node(node.start), self.block(node.body)
        if start is node.start and body is node.body:
            return node
        var = node.accumulator
        wide = _joined_type(_joined_type(var.type, start.type), body.result.type)
        while wide != var.type:
            var = self.vars[node.accumulator] = Var(var.name, wide)
            self.done.clear()
            body = self.block(node.body)
            wide = _joined_type(wide, body.result.type)
        spaces = spaces_of(wide)
        body = Block(body.bindings, in_spaces(body.result, spaces))
        kind = with_spaces(node.type, spaces)
        return with_operands(node, (in_spaces(start, spaces),), accumulator=var, body=body, type=kind)


_CHANGES: Mapping[type, Callable[[_Retype, Any], Node]] = {
    ir.Ref: _Retype._ref,
    ir.Build: _Retype._build,
    ir.Fold: _Retype._fold,
    ir.Select: _Retype._select,
}
"""The rules for nodes that have names or blocks; other nodes follow from their operands."""


# ---- spaces that follow from those of operands -------------------------------------------------


def _rebuild_over(node: Node, args: Operands) -> Node:
    """Rebuild a node over other operands.

    By default it takes the spaces of the first, the others being indices.
    """
    rule = _RULES.get(type(node))
    if rule:
        return rule(node, args)
    _require_unchanged(args[1:], children(node)[1:])
    return with_operands(node, args, type=_with_spaces_of(node.type, args[0].type))


def _require_unchanged(args: Operands, before: Operands) -> None:
    """Require conditions and indices to keep their spaces: in another space they might be invalid."""
    if any(arg.type != was.type for arg, was in zip(args, before, strict=True)):
        raise _WouldDiffer


def _where(node: ir.Where, args: Operands) -> Node:
    condition, then, other = args
    _require_unchanged((condition,), children(node)[:1])
    spaces = joined_spaces(then.type, other.type)
    ready = (condition, in_spaces(then, spaces), in_spaces(other, spaces))
    return with_operands(node, ready, space=spaces[0], type=with_spaces(node.type, spaces))


def _component(node: ir.Component, args: Operands) -> Node:
    return with_operands(node, args, type=(Part(node.type[0].shape, args[0].type[node.j - 1].space),))


def _convert(node: ir.Convert, args: Operands) -> Node:
    """Join spaces in a conversion that the compiler inserted; one that the program asks for may round now."""
    if node.is_written:
        raise _WouldDiffer
    return in_spaces(args[0], joined_spaces(node.type, args[0].type))


def _put(node: ir.Put, args: Operands) -> Node:
    _require_unchanged(args[1:-1], children(node)[1:-1])
    spaces = joined_spaces(args[0].type, args[-1].type)
    ready = (in_spaces(args[0], spaces), *args[1:-1], in_spaces(args[-1], spaces))
    return with_operands(node, ready, type=with_spaces(node.type, spaces))


_RULES: Mapping[type, Callable[[Any, Operands], Node]] = {
    ir.Where: _where,
    ir.Component: _component,
    ir.Pack: lambda node, args: with_operands(node, args, type=tuple(p for item in args for p in item.type)),
    ir.Join: lambda node, args: with_operands(
        node, args, type=with_spaces(node.type, joined_spaces(args[0].type, args[1].type))
    ),
    ir.Convert: _convert,
    ir.Put: _put,
}


@lru_cache(maxsize=1 << 10)
def _domain(function: str, spaces: tuple[str, ...], static: Flags, written: Flags) -> str:
    """Return the space of the data, widened to hold static numbers; integer literals do not widen it."""
    every = list(zip(spaces, static, written, strict=True))
    data = [space for space, known, _ in every if not known]
    told = [space for space, _, number in every if not number]
    numbers = [space for space, known, number in every if known and (kind_of(space) in "RC" or not number)]
    return widen_space(function, reduce(join_spaces, data or told or spaces[:1]), numbers)


def _joined_type(left: Type, right: Type) -> Type:
    return with_spaces(left, joined_spaces(left, right))


def _with_spaces_of(parts: Type, like: Type) -> Type:
    return with_spaces(parts, spaces_of(like))


# === Folds and their accumulators.


_MOST_PASSES = 8
"""The most elaborations of a step, besides one for each component that may become data."""
_MOST_GUESSES = 5
"""The most of them after which a length is guessed to grow by what the number of the step tells."""
_shape = attrgetter("shape")
_STEPS = data_symbol("steps")
"""The number of completed steps of a fold, as it occurs in the lengths of its accumulator."""

_HINT = (
    "each step may add to a length what its number tells or multiply it, or build one that its number tells: "
    "`reduce(t, (a, z) => map(tol[2^s * n], ...), x, [s])`; "
    "a few steps may stand one after the other: `f(f(x))`"
)

Longer = tuple[tuple[int, ...], ...]
"""The growth of every length of every component of an accumulator per step."""


class _Growth(Struct, frozen=True, eq=False):
    """An accumulator's type: its parts at the start, and the growth of each length after ``_STEPS``."""

    parts: Type
    by: tuple[tuple[Poly, ...], ...]

    def of(self, chosen: Flags) -> _Growth:
        """Restrict the growth to the chosen components."""
        return _Growth(tuple(compress(self.parts, chosen)), tuple(compress(self.by, chosen)))

    def after(self, steps: Callable[[], Poly]) -> Type:
        """Return the type after some steps.

        Their number is computed only if something grows, which is rare.
        """
        if not any(self.by) or not any(grows.terms for row in self.by for grows in row):
            return self.parts
        done = steps()
        return tuple([_part_after(p, row, done) for p, row in zip(self.parts, self.by, strict=True)])


def _part_after(part: Part, by: tuple[Poly, ...], steps: Poly) -> Part:
    if not any(grows.terms for grows in by):
        return part
    return Part(tuple([d + _after(g, steps) for d, g in zip(part.shape, by, strict=True)]), part.space)


def _after(grows: Poly, steps: Poly) -> Poly:
    return substitute(grows, {the_symbol(_STEPS): steps}) if grows.terms else grows


def fold_under_coordinates(
    env: Env,
    step: Step,
    start: Value,
    shape: tuple[Poly, ...],
    maybe_static: bool,
    longer: Longer | None = None,
) -> Value:
    """Build the Fold of a step; ``longer`` guesses how much longer lengths are after one step.

    Components of the accumulator have separate binding times: components that may be static are assumed to be
    static until a step makes one of them data; then the step is elaborated again. Components that the step's
    syntax shows to become data are assumed to be data at once, and the elaborated step must confirm it.
    """
    begin = emit(env, start, step.span)
    static = _initially_static(start, len(begin.type)) if maybe_static else (False,) * len(begin.type)
    steady = tuple([(const(0),) * len(p.shape) for p in begin.type])
    listed = isinstance(start, ValueList)
    made_data: Flags = ()
    if any(static) and (listed or begin.type[0].shape):
        seems = guess_growth(step, len(static))
        if seems is not None:
            made_data = tuple(map(and_, static, seems[0]))
            pairs = zip(seems[1], steady, strict=True)
            longer = tuple([(more, *[0] * (len(row) - 1)) if row else () for more, row in pairs])
    fits = longer and tuple(map(len, longer)) == tuple(map(len, steady))
    if longer and fits and (any(made_data) or any(map(any, longer))):
        by = tuple(tuple(more * _STEPS for more in row) for row in longer)
        try:
            grown = _Growth(begin.type, by)
            return _elaborate_fold(env, step, begin, shape, grown, listed, static, made_data)
        except (Rejected, NeedsUnrolling, _NeedNotBeData):
            pass
    return _elaborate_fold(env, step, begin, shape, _Growth(begin.type, steady), listed, static)


class _NeedNotBeData(Exception):
    """A component was assumed to be data, but it need not be."""


def _elaborate_fold(
    env: Env,
    step: Step,
    begin: Node,
    shape: tuple[Poly, ...],
    growth: _Growth,
    listed: bool,
    static: Flags,
    made_data: Flags = (),
) -> Value:
    """Build the Fold by elaborating the step until its accumulator agrees with the assumptions.

    ``made_data`` components are assumed to be data before a step made them so.
    """
    first, static = static, tuple(map(gt, static, made_data)) if made_data else static
    for passes in range(_MOST_PASSES + len(static)):
        body = _Pass(env, step, shape, growth, listed, static, made_data)
        try:
            with env.context.notes.attempt(body.inner.scope) as trial:
                result = body.run()
                settled = body.settle(passes)
                if any(made_data) and (body.has_asked or not body.makes_data(first, made_data)):
                    raise _NeedNotBeData
                left = _static_after_step(result, body.accumulator, static)
                # This component is static only if one that just became data was static; re-elaborate with the
                # smaller set.
                fewer = left != static and (
                    any(left)
                    or body.has_asked
                    or depends_statically_on(body.block, body.var, env.context.static_components)
                )
                if not fewer and settled.by == growth.by and _same_shapes(settled.parts, growth.parts):
                    if body.widen(settled, left, again=left != static):
                        step.confirm()
                        trial.keep()
                        return body.value(begin, settled, left)
                    fewer = True
            # Decisions that depended on spaces are made anew if the spaces have changed.
            anew = body.has_asked and settled.parts != growth.parts
            static, growth = (left if fewer and not anew else static), settled
        except OutOfRange as refused:
            if not env.scope.checked:
                raise
            unchecked = env.building(env.scope.same(checked=False))
            growth = _lengthen(_Pass(unchecked, step, shape, growth, listed, static), refused)
    fail("T0326", "the accumulator's shape does not settle", step.span, hint=_HINT)


def _initially_static(start: Value, size: int) -> Flags:
    if isinstance(start, ValueList) and len(start.items) == size:
        return tuple(map(is_static, start.items))
    return (is_static(start),) * size


def _static_after_step(result: Value, accumulator: Value, static: Flags) -> Flags:
    """Return which components of an accumulator are still static after a step."""
    if isinstance(result, ValueList) and len(result.items) == len(static):
        left = tuple(f and is_static(item) for f, item in zip(static, result.items, strict=True))
        return _propagate_data(result, accumulator, left) if isinstance(accumulator, ValueList) else left
    return static if is_static(result) else (False,) * len(static)


def _propagate_data(result: ValueList, accumulator: ValueList, static: Flags) -> Flags:
    """Propagate data through components that a step copies from others, without another trial."""
    data = {id(item) for item, f in zip(accumulator.items, static, strict=True) if not f}
    left = tuple(f and id(item) not in data for f, item in zip(static, result.items, strict=True))
    return static if left == static else _propagate_data(result, accumulator, left)


def _lengthen(body: _Pass, refused: OutOfRange) -> _Growth:
    """Improve the guess of an accumulator that is too short for an access in a step."""
    try:
        with body.env.context.notes.attempt(body.inner.scope):
            body.run()
            settled = body.settle()
    except Rejected:
        raise refused from None
    if settled.by == body.growth.by:
        raise refused
    return settled


class _Sources(Struct, eq=False):
    """Finds the components of an accumulator that nodes are computed from.

    The result is {0} once other data is involved.

    ``bound`` maps variables to their nodes, including those of blocks inside; ``found`` caches the
    results for variables.
    """

    accumulator: Var
    bound: dict[Var, Node]
    static_components: Components
    found: dict[Var, set[int]] = field(default_factory=dict)

    def of(self, top: Node) -> set[int]:
        """Return the source components of a node."""
        sources: set[int] = set()
        seen: set[Node] = set()
        pending = [top]
        while pending:
            node = pending.pop()
            if node in seen or type(node) is ir.Number:
                continue
            seen.add(node)
            part = node.value if isinstance(node, Component) else node
            if isinstance(part, Ref):
                places = (node.j,) if isinstance(node, Component) else range(1, len(part.type) + 1)
                sources |= self._of_variable(part.var, places)
            elif isinstance(node, ir.Input) and not is_numeric(node.type):  # a number may be static
                return {0}
            elif not (isinstance(node, ir.Lambda) and node.charge == "static"):
                pending.extend(children(node))
                for region in regions(node):
                    self.bound.update(region.block.bindings)
                    pending.append(region.block.result)
                    if region.accumulator is not None:  # its start and its body are visited instead
                        self.found[region.accumulator] = set()
            if 0 in sources:
                return {0}
        return sources

    def _of_variable(self, var: Var, places: Iterable[int]) -> set[int]:
        if var is self.accumulator:
            return {*places}
        if var not in self.found:
            if var not in self.bound:  # the accumulator of a surrounding fold
                return {0} if any((var, j) not in self.static_components for j in places) else set()
            self.found[var] = self.of(self.bound[var])
        return self.found[var]


def _same_shapes(left: Type, right: Type) -> bool:
    return [*map(_shape, left)] == [*map(_shape, right)]


def _component_keys(var: Var, chosen: Flags) -> set[tuple[Var, int]]:
    """Return the chosen components of an accumulator."""
    return {(var, j) for j, one in enumerate(chosen, start=1) if one}


class _Pass:
    """One elaboration of a step under coordinates, with a guess of the accumulator's type."""

    def __init__(
        self,
        env: Env,
        step: Step,
        shape: tuple[Poly, ...],
        growth: _Growth,
        listed: bool,
        static: Flags,
        made_data: Flags = (),
    ) -> None:
        self.env, self.step, self.shape, self.growth = env, step, shape, growth
        self.coords, self.inner = fresh_coordinates(env, step.pattern, shape)
        self.var = Var("accumulator", growth.after(lambda: position(self.coords, shape)))
        env.context.static_components |= _component_keys(self.var, static)
        self.accumulator = _as_value(self.inner, Ref(self.var, self.var.type), listed, static, made_data)
        self.block: Block
        self.has_asked = False

    def run(self) -> Value:
        """Elaborate the step and keep it as the body; return its result."""
        asked = self.env.context.asked
        result = self.step.at(self.inner, self.accumulator, self.coords)
        self.has_asked = self.env.context.asked > asked
        self.block = self.inner.scope.block(emit(self.inner, result, self.step.span))
        return result

    def settle(self, passes: int = 0) -> _Growth:
        """Return the accumulator's type that the result of the step suggests, after so many passes."""
        node, coords, shape = self.block.result, self.coords, self.shape
        steps = product_of(shape) if passes < _MOST_GUESSES else None
        return _growth_of_step(self.inner, self.growth, node, coords, shape, self.step, steps)

    def makes_data(self, static: Flags, made_data: Flags) -> bool:
        """Whether a step makes the ``made_data`` components data only because other components are data."""
        bound = {var: node for scope in self.inner.scope.around() for var, node in scope.bindings}
        result, around = self.block.result, self.env.context.static_components
        items = result.items if isinstance(result, Pack) and len(result.items) == len(static) else (result,)
        sources = _Sources(self.var, bound, around)
        needed = {j: sources.of(item) for j, item in enumerate(items, start=1) if made_data[j - 1]}
        data = {0, *[j for j, f in enumerate(static, start=1) if not f]}
        while more := {j for j, found in needed.items() if found & data} - data:
            data |= more
        return needed.keys() <= data

    def value(self, begin: Node, growth: _Growth, static: Flags) -> Value:
        """Return the finished fold; its static components come from a separate fold without the others."""
        fold = self._fold(self.var, self.block, begin, growth)
        if not any(static):
            return NodeValue(fold)
        whole = self.env.scope.bind(fold)
        if all(static):
            return _as_value(self.env, whole, True, static)
        alone = iter(self._fold_static_alone(begin, growth, static))
        parts = (next(alone) if f else NodeValue(component(whole, j + 1)) for j, f in enumerate(static))
        return ValueList(tuple(parts))

    def _fold_static_alone(self, begin: Node, growth: _Growth, static: Flags) -> tuple[Value, ...]:
        """Fold the static components of a list without the others, on which they cannot depend."""
        own = (True,) * sum(static)
        var = Var(self.var.name, tuple(compress(self.var.type, static)))
        self.env.context.static_components |= _component_keys(var, own)
        body = restrict_to_components(self.block, self.var, var, static)
        start = pack(tuple(component(begin, j + 1) for j, f in enumerate(static) if f))
        fold = self.env.scope.bind(self._fold(var, body, start, growth.of(static)))
        found = _as_value(self.env, fold, True, own)
        return found.items if isinstance(found, ValueList) else (found,)

    def widen(self, growth: _Growth, static: Flags, again: bool) -> bool:
        """Widen spaces without elaborating the step again; return False if the result would differ.

        If an accumulator turned out to be data, its space counts where the space of a static number did not:
        then ``again`` forces a check.
        """
        spaces, old = spaces_of(growth.parts), spaces_of(self.var.type)
        while again or old != spaces:
            spaces = _propagate_spaces(spaces, self.block.result, self.var)
            wider = Var(self.var.name, with_spaces(self.var.type, spaces))
            around = self.env.context.static_components
            around -= _component_keys(self.var, (True,) * len(static))
            around |= _component_keys(self.var, static) | _component_keys(wider, static)
            differs = self.has_asked and old != spaces
            body = None if differs else retype(self.block, self.var, wider, around)
            if body is None:
                return False
            old, again = spaces, False
            spaces = tuple(map(join_spaces, spaces, spaces_of(body.result.type)))
            self.var, self.block = wider, body
        return True

    def _fold(self, var: Var, block: Block, begin: Node, growth: _Growth) -> Node:
        """Build the Fold in the spaces of its accumulator."""
        spaces = spaces_of(var.type)
        body = Block(block.bindings, in_spaces(block.result, spaces))
        kind = with_spaces(growth.after(lambda: product_of(self.shape)), spaces)
        start = in_spaces(_broadcast_scalars(begin, growth.parts, self.env, self.step), spaces)
        symbols = tuple(map(the_symbol, self.coords))
        return Fold(symbols, self.shape, var, start, body, kind, self.step.span, self.env.context.node)


class _RestrictedCopy(SubprogramCopy):
    """A copy of a body restricted to some components; variables bound around it stay."""

    accumulator: Var
    parts: Mapping[int, Node]
    """The replacements of the accumulator's components."""

    def bindings(self, bindings: Bindings) -> Bindings:
        """Copy the bindings of a block; a component that becomes the whole accumulator has a name already."""
        kept = []
        for var, node in bindings:
            new = self.node(node)
            if isinstance(new, Ref):
                self.vars[var] = new
            else:
                kept.append((self.bound(var), new))
        return tuple(kept)

    def fresh(self, node: Node) -> Node:
        """Copy a node that is not copied yet."""
        match node:
            case Component(value=Ref(var=var), j=j) if var is self.accumulator:
                return self.parts[j]
            case Ref(var=var) if var not in self.vars:
                return node
            case _:
                return SubprogramCopy.fresh(self, node)


def restrict_to_components(block: Block, old: Var, new: Var, chosen: Flags) -> Block:
    """Restrict a body to chosen components, which must not depend on the others."""
    assert isinstance(block.result, Pack)
    results = tuple(compress(block.result.items, chosen))
    reached = {node.var for node in inner_nodes(results, dict(block.bindings)) if isinstance(node, Ref)}
    needed = Block(tuple([(var, node) for var, node in block.bindings if var in reached]), pack(results))
    whole = Ref(new, new.type)
    places = [j for j, f in enumerate(chosen, start=1) if f]
    parts = (
        {j: component(whole, k) for k, j in enumerate(places, start=1)}
        if len(places) > 1
        else {places[0]: whole}
    )
    return _RestrictedCopy({}, {}, {}, old, parts).block(needed)


def _propagate_spaces(spaces: tuple[str, ...], result: Node, accumulator: Var) -> tuple[str, ...]:
    """Widen the spaces of components that a step copies from other components."""
    items = result.items if isinstance(result, Pack) and len(result.items) == len(spaces) else ()
    found = list(spaces)
    for k, item in enumerate(items):
        if isinstance(item, Component) and is_ref(item.value, accumulator):
            found[k] = join_spaces(found[k], found[item.j - 1])
    wider = tuple(found)
    return wider if wider == spaces else _propagate_spaces(wider, result, accumulator)


def _as_value(env: Env, node: Node, listed: bool, static: Flags, made_data: Flags = ()) -> Value:
    """Return an accumulator as the step sees it: lists stay lists, and static components stay static.

    A ToL among the ``made_data`` components is read from the list once, as if it were static.
    """
    if len(node.type) > 1 and (listed or any(static)):
        parts = [component(node, j + 1) for j in range(len(static))]
        parts = [env.scope.bind(p) if m and p.type[0].shape else p for p, m in zip_longest(parts, made_data)]
        known = zip(parts, static, strict=True)
        return ValueList(tuple(as_static(env, p) if is_known else NodeValue(p) for p, is_known in known))
    return as_static(env, node) if static[0] else NodeValue(node)


def _growth_of_step(
    env: Env,
    growth: _Growth,
    node: Node,
    coords: tuple[Poly, ...],
    shape: tuple[Poly, ...],
    step: Step,
    steps: Poly | None,
) -> _Growth:
    """Return the accumulator's type that the step's result suggests.

    ``steps`` is how many there are, for lengths that each may add something else to; None if no such guess
    is to be made any more.
    """
    if len(node.type) != len(growth.parts):
        fail(
            "T0327",
            f"the accumulator is a list of {len(growth.parts)}, but a step gives {len(node.type)}",
            step.span,
            kind=RankMismatch,
        )
    parts, by = [], []
    before = growth.after(lambda: position(coords, shape))
    expected = growth.after(lambda: position(coords, shape) + 1)
    rows = zip(growth.parts, before, expected, growth.by, node.type, strict=True)
    for was, given, want, grows, now in rows:
        space = join_spaces(was.space, now.space)
        if len(was.shape) != len(now.shape):
            if was.shape:
                fail(
                    "T0327",
                    f"the accumulator has shape {shape_text(was.shape)}, but a step gives "
                    f"{shape_text(now.shape)}",
                    step.span,
                    kind=RankMismatch,
                )
            _check_steady(now.shape, coords, step)
            parts.append(Part(now.shape, space))
            by.append(tuple(const(0) for _ in now.shape))
            continue
        parts.append(was if space == was.space else Part(was.shape, space))
        grown = []
        for d, w, n, g, first in zip(given.shape, want.shape, now.shape, grows, was.shape, strict=True):
            by_factor = _growth_by_factor(first, d, n, g, coords)
            grown.append(_grow(env, (d, w, n), g, coords, steps, step) if by_factor is None else by_factor)
        by.append(tuple(grown))
    return _Growth(tuple(parts), tuple(by))


def _check_steady(shape: tuple[Poly, ...], coords: tuple[Poly, ...], step: Step) -> None:
    """Require the lengths that a number becomes in a step to be equal at every step."""
    own = {the_symbol(coord) for coord in coords}
    for length in shape:
        if not own.isdisjoint(length.free):
            message = (
                f"a step makes a ToL of length {to_text(length)} of the accumulator, another at every step"
            )
            fail("T0326", message, step.span, hint=_HINT)


def _grow(
    env: Env,
    lengths: tuple[Poly, Poly, Poly],
    grows: Poly,
    coords: tuple[Poly, ...],
    steps: Poly | None,
    step: Step,
) -> Poly:
    before, want, now = lengths
    difference = substitute_equal_lengths(env.context, now) - substitute_equal_lengths(env.context, want)
    if difference == const(0):
        return grows
    verdict = prove(eq(difference), facts_here(env))
    own = set(map(the_symbol, coords))  # coordinates of loops around this one stay the same in it
    steady = all(s.kind == "length" or (s.kind == "coord" and s not in own) for s in difference.free)
    if steady and (verdict is False or prove(ge(difference - 1)) is True) and grows == const(0):
        return difference * _STEPS
    if verdict is not True and not steady:
        added = now - before
        by_form = _growth_by_formula(added, coords) if grows == const(0) else None
        if by_form is not None:
            return by_form
        summed = None if steps is None else _growth_by_sum(added, coords, steps)
        if summed is not None and summed != grows:
            return summed
        if grows.terms and len(own) == 1:  # the lengths so far are guesses; those of the first step are not
            (place,) = own
            want, now = substitute(want, {place: const(0)}), substitute(now, {place: const(1)})
        fail(
            "T0326",
            f"the accumulator's length {to_text(want)} becomes {to_text(now)}: "
            "it grows neither by what the number of the step tells nor by a whole factor",
            step.span,
            hint=_HINT,
        )
    if verdict is not True:
        unify(env, now, want, "each step must keep the accumulator's shape", step.span)
    return grows


def _growth_by_formula(difference: Poly, coords: tuple[Poly, ...]) -> Poly | None:
    """Return how much longer a length is after ``_STEPS``, if its growth up to a coordinate shows it.

    The step at coordinate s is the s-th: from a length of ``2^(p - s)`` after it follows one of ``2^p`` at
    the start.
    """
    if len(coords) != 1:
        return None
    grown = substitute(difference, {the_symbol(coords[0]): _STEPS})
    try:
        return grown if _after(grown, const(0)) == const(0) else None
    except ZeroDivisionError:  # n / s has no value before the first step
        return None


def _growth_by_sum(added: Poly, coords: tuple[Poly, ...], steps: Poly) -> Poly | None:
    """Return how much longer a length is after ``_STEPS``, each of which adds what its number tells.

    A guess like the others: the step is elaborated again with it, and refused if it does otherwise.
    """
    if len(coords) != 1:
        return None
    done = data_symbol("done", 0, steps)
    turn = coordinate("turn", done)
    added = substitute(added, {the_symbol(coords[0]): turn})
    total = sum_over(added, the_symbol(turn), const(1), done)
    if any(isinstance(generator, Sum) for generator in generators_in(total)):
        return None
    return substitute(total, {the_symbol(done): _STEPS})


def _growth_by_factor(
    first: Poly, before: Poly, now: Poly, grows: Poly, coords: tuple[Poly, ...]
) -> Poly | None:
    """Return how much longer a length is after ``_STEPS`` that make ``f*d + c`` of every length d.

    That it is so shows once a length is assumed to grow by a fixed amount, and to be ``d + k*s`` before a
    step: one that doubles it makes ``2*d + 2*k*s`` of that.
    """
    if len(coords) != 1 or not grows.terms:
        return None
    place = the_symbol(coords[0])
    rise, change = step_of(before, place), step_of(now, place)
    ratio = exact_div(change, rise) if rise.terms else None
    factor = None if ratio is None else ratio.constant
    if factor is None or factor < 2:
        return None
    more = now - before * factor
    if place in more.free:
        return None
    return scale((first * (factor - 1) + more) * (powers(factor, _STEPS) - 1), 1, factor - 1)


def _broadcast_scalars(begin: Node, parts: Type, env: Env, step: Step) -> Node:
    """Broadcast the scalars of a start that become ToLs in a step."""
    if _same_shapes(begin.type, parts):  # the usual case
        return begin
    grown = [bool(part.shape) and not was.shape for was, part in zip(begin.type, parts, strict=True)]
    if not any(grown):
        return begin
    value = env.scope.bind(begin)
    if len(parts) == 1:
        return _broadcast_to(value, parts[0], env, step)
    items = [component(value, j + 1) for j in range(len(parts))]
    every = zip(items, parts, grown, strict=True)
    return pack(tuple(_broadcast_to(item, part, env, step) if grows else item for item, part, grows in every))


def _broadcast_to(value: Node, part: Part, env: Env, step: Step) -> Node:
    """Broadcast a number to a ToL."""
    coords, scope = env.scope.under([f"i{n + 1}" for n in range(len(part.shape))], part.shape)
    return make_build(coords, part.shape, scope.block(value), step.span)
