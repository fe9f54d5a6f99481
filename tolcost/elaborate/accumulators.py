"""What a fold carries from step to step, found by one fixpoint.

A component of an accumulator is known at every step, in a closed form, or static, or data (``Followed``,
``Carried``); what is not known has a space and lengths. The step is elaborated with what is taken to hold,
which is then joined with what the step makes of it, until nothing changes. It begins with what the start is,
or with a guess from the first step (``induction``) or from syntax (``outlook``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache, reduce
from itertools import compress, zip_longest
from operator import is_not
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, const, eq, ge, product_of, prove, substitute, the_symbol, to_text
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
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
from tolcost.elaborate.again import restrict_to_components
from tolcost.elaborate.apply import result_space, takes, widen_space
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import NeedsUnrolling, OutOfRange, RankMismatch, fail
from tolcost.elaborate.induction import Followed, as_list
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
from tolcost.elaborate.maps import Step, fresh_coordinates, steps_before
from tolcost.elaborate.outlook import guess_growth
from tolcost.elaborate.progress import (
    STEPS,
    added_by_step,
    changes,
    form_after,
    multiplied_by_step,
    told_by_step,
)
from tolcost.elaborate.shapes import (
    Shape,
    component,
    components,
    facts_here,
    is_told_by_data,
    pick_component,
    require_components,
    shape_text,
    substitute_equal_lengths,
    unify,
)
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


# === The fixpoint.


_MOST_PASSES = 8
"""The most elaborations of a step, besides one for each component that may become data."""
_MOST_GUESSES = 5
"""The most of them after which a length is guessed to grow by what the number of the step tells."""

_HINT = (
    "each step may add to a length what its number tells or multiply it, or build one that its number tells: "
    "`reduce(t, (a, z) => map(tol[2^s * n], ...), x, [s])`; "
    "a few steps may stand one after the other: `f(f(x))`"
)


class Carried(Struct, frozen=True):
    """What is taken to hold at every step of a component that is computed.

    The lengths of its part are forms in ``STEPS``. It is ``early`` data if it was static at the start, and no
    step has made it data yet.
    """

    part: Part
    is_static: bool
    is_early: bool = False


State = tuple[Carried, ...]
"""What is taken to hold of all components that are computed."""


class FoldToBuild(Struct, frozen=True, eq=False):
    """A fold to build: its step, its domain, and the start of what it computes.

    ``followed`` are all components of a list, and tell those that are known and so not computed; None if the
    accumulator is no list.
    """

    env: Env
    step: Step
    shape: tuple[Poly, ...]
    start: Value
    begin: Node
    followed: Followed | None


def fold_under_coordinates(
    env: Env,
    step: Step,
    start: Value,
    shape: tuple[Poly, ...],
    maybe_static: bool,
    followed: Followed | None = None,
) -> Value:
    """Build the Fold of a step, without the components of a list that are known at every step.

    Components that may be static are taken to be static until a step makes one of them data.
    """
    while True:
        begin = start if followed is None else as_list(followed.rest())
        fold = FoldToBuild(env, step, shape, begin, emit(env, begin, step.span), followed)
        if followed is None or fold.begin.type:
            found = _fold_computed(fold, maybe_static)
        else:
            found = _fold_nothing(fold, followed)
        if not isinstance(found, Followed):
            break
        followed = found
    if followed is None or not followed.ways:
        return found
    bound = bind_data(env, found)
    places = range(1, len(followed.rest()) + 1)
    parts = tuple([pick_component(env, bound, j, step.span) for j in places])
    return followed.whole(parts, product_of(shape))


def _fold_nothing(fold: FoldToBuild, followed: Followed) -> Value | Followed:
    """Take a step of which everything is known; return what is known, if it refutes some of it."""
    coords, inner = fresh_coordinates(fold.env, fold.step.pattern, fold.shape)
    with fold.env.context.notes.attempt(inner.scope) as trial:
        _, kept = followed.take(inner, fold.step, fold.start, coords, steps_before(coords, fold.shape))
        less = followed.without(kept)
        if less is None:
            trial.keep()
    return less or fold.start


def _fold_computed(fold: FoldToBuild, maybe_static: bool) -> Value | Followed:
    """Build the Fold of what is not known; or return what is known, if a step refutes some of it."""
    size = len(fold.begin.type)
    static = _initially_static(fold.start, size) if maybe_static else (False,) * size
    first = tuple(map(Carried, fold.begin.type, static))
    guess = _guessed(fold, first)
    if any(map(is_not, guess, first)):
        try:
            found = _fixpoint(fold, first, guess)
        except (Rejected, NeedsUnrolling):
            found = None
        if found is not None:
            return found
    found = _fixpoint(fold, first, first)
    assert found is not None
    return found


def _guessed(fold: FoldToBuild, first: State) -> State:
    """Guess from syntax, or from the first step of a list, what becomes data and by how much lengths grow."""
    told: list[tuple[bool, tuple[int, ...]]] = []
    if fold.followed is not None:
        told = [(False, row) for j, row in enumerate(fold.followed.longer) if j not in fold.followed.ways]
    elif any(statics(first)) and (isinstance(fold.start, ValueList) or first[0].part.shape):
        seems = guess_growth(fold.step, len(first)) or ((), ())
        told = [(is_data, (more,)) for is_data, more in zip(*seems, strict=True)]
    return first if len(told) != len(first) else tuple(map(_guess, first, *zip(*told, strict=True)))


def _guess(c: Carried, is_data: bool, longer: tuple[int, ...]) -> Carried:
    part, early = c.part, c.is_static and is_data
    if any(longer) and part.shape:
        rows = zip_longest(part.shape, longer, fillvalue=0)
        part = Part(tuple([d + more * STEPS for d, more in rows]), part.space)
    return Carried(part, c.is_static and not early, early) if early or part is not c.part else c


def _fixpoint(fold: FoldToBuild, first: State, state: State) -> Value | Followed | None:
    """Build the Fold by elaborating its step until the state is what the step makes of it.

    Return None if a component that is data early need not be data.
    """
    context = fold.env.context
    early = tuple([c.is_early for c in state])
    for passes in range(_MOST_PASSES + len(state)):
        body = _Pass(fold, state)
        try:
            with context.notes.attempt(body.inner.scope) as trial:
                after = body.run(passes)
                if any(early) and (body.has_asked or not body.makes_data(statics(first), early)):
                    return None
                less = statics(after) != statics(state)
                # This component is static only if one that just became data was static: elaborate again.
                fewer = less and (
                    any(statics(after))
                    or body.has_asked
                    or depends_statically_on(body.block, body.var, context.static_components)
                )
                if not fewer and _shapes(after) == _shapes(state):
                    if body.widen(after, again=less):
                        if body.refuted is not None:
                            return body.refuted
                        trial.keep()
                        return body.value(after)
                    fewer = True
            # Decisions that depended on spaces are made anew if the spaces have changed.
            anew = body.has_asked and _kinds(after) != _kinds(state)
            state = after if fewer and not anew else _with_parts_of(after, state)
        except OutOfRange as refused:
            state = _lengthened(fold, state, refused)
    fail("T0326", "the accumulator's shape does not settle", fold.step.span, hint=_HINT)


def statics(state: State) -> Flags:
    """Return which components are static."""
    return tuple([c.is_static for c in state])


def _shapes(state: State) -> list[Shape]:
    return [c.part.shape for c in state]


def _kinds(state: State) -> list[tuple[str, int]]:
    return [(c.part.space, len(c.part.shape)) for c in state]


def _with_parts_of(after: State, before: State) -> State:
    return tuple([Carried(a.part, c.is_static, c.is_early) for a, c in zip(after, before, strict=True)])


def _type_after(state: Iterable[Carried], steps: Callable[[], Poly]) -> Type:
    """Return the type after some steps.

    Their number is computed only if something grows, which is rare.
    """
    parts = tuple([c.part for c in state])
    if not any(changes(d) for part in parts for d in part.shape):
        return parts
    done = steps()
    return tuple([Part(tuple([form_after(d, done) for d in p.shape]), p.space) for p in parts])


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


def _lengthened(fold: FoldToBuild, state: State, refused: OutOfRange) -> State:
    """Improve the guess of an accumulator that is too short for an access in a step."""
    if not fold.env.scope.checked:
        raise refused
    unchecked = fold.env.building(fold.env.scope.same(checked=False))
    body = _Pass(replace(fold, env=unchecked), state)
    try:
        with fold.env.context.notes.attempt(body.inner.scope):
            after = body.run()
    except Rejected:
        raise refused from None
    if _shapes(after) == _shapes(state):
        raise refused
    return _with_parts_of(after, state)


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


def _component_keys(var: Var, chosen: Flags) -> set[tuple[Var, int]]:
    """Return the chosen components of an accumulator."""
    return {(var, j) for j, one in enumerate(chosen, start=1) if one}


class _Pass:
    """One elaboration of a step under coordinates, with what is taken to hold of the accumulator."""

    def __init__(self, fold: FoldToBuild, state: State) -> None:
        self.fold, self.state, self.env = fold, state, fold.env
        self.coords, self.inner = fresh_coordinates(self.env, fold.step.pattern, fold.shape)
        self.var = Var("accumulator", _type_after(state, self.done))
        static = statics(state)
        self.env.context.static_components |= _component_keys(self.var, static)
        early = tuple([c.is_early for c in state])
        whole = Ref(self.var, self.var.type)
        self.accumulator = _as_value(self.inner, whole, isinstance(fold.start, ValueList), static, early)
        self.block: Block
        self.refuted: Followed | None = None  # what remains known, if the step refutes some of it
        self.has_asked = False

    def done(self) -> Poly:
        """Return the number of steps before this one."""
        return steps_before(self.coords, self.fold.shape)

    def run(self, passes: int = 0) -> State:
        """Elaborate the step, and join what is taken to hold with what the step makes of it."""
        fold, asked = self.fold, self.env.context.asked
        if fold.followed is None:
            result = fold.step.at(self.inner, self.accumulator, self.coords)
        else:
            result, kept = fold.followed.take(
                self.inner, fold.step, self.accumulator, self.coords, self.done()
            )
            self.refuted = fold.followed.without(kept)
        self.has_asked = self.env.context.asked > asked
        node = emit(self.inner, result, fold.step.span)
        self.block = self.inner.scope.block(node)
        require_components(len(node.type), len(self.state), fold.step.span)
        static = _static_after_step(result, self.accumulator, statics(self.state))
        if any(static):
            parts = components(self.inner, result, fold.step.span)
            told = [is_told_by_data(self.inner.scope, part) for part in parts]
            static = tuple([known and not t for known, t in zip(static, told, strict=True)])
        now = _type_after(self.state, lambda: self.done() + 1)
        rows = zip(self.state, self.var.type, now, node.type, static, strict=True)
        steps = product_of(fold.shape) if passes < _MOST_GUESSES else None
        return tuple([self._joined(*row, steps) for row in rows])

    def _joined(
        self, was: Carried, before: Part, want: Part, now: Part, is_still_static: bool, steps: Poly | None
    ) -> Carried:
        """Join a component with what the step makes of it: lengths between them become forms.

        ``steps`` is how many there are, for lengths that each may add something else to; None if no such
        guess is to be made any more.
        """
        space = join_spaces(was.part.space, now.space)
        shape = was.part.shape
        if len(shape) == len(now.shape):
            rows = zip(shape, before.shape, want.shape, now.shape, strict=True)
            shape = tuple([self._length(*row, steps) for row in rows])
        elif shape:
            message = (
                f"the accumulator has shape {shape_text(shape)}, but a step gives {shape_text(now.shape)}"
            )
            fail("T0327", message, self.fold.step.span, kind=RankMismatch)
        else:
            shape = self._steady(now.shape)
        return Carried(Part(shape, space), is_still_static, was.is_early)

    def _steady(self, shape: Shape) -> Shape:
        """Return the lengths that a number becomes in a step; they must be equal at every step."""
        own = set(map(the_symbol, self.coords))
        for length in shape:
            if not own.isdisjoint(length.free):
                made = f"a step makes a ToL of length {to_text(length)} of the accumulator"
                fail("T0326", f"{made}, another at every step", self.fold.step.span, hint=_HINT)
        return shape

    def _length(self, form: Poly, before: Poly, want: Poly, now: Poly, steps: Poly | None) -> Poly:
        """Return the form of a length that is ``now`` after a step, where ``want`` was expected."""
        if now == want and not changes(form):  # the usual case
            return form
        own = list(map(the_symbol, self.coords))
        place = own[0] if len(own) == 1 else None
        if place is not None:
            by_factor = multiplied_by_step(form, before, now, place)
            if by_factor is not None:
                return by_factor
        context, span = self.env.context, self.fold.step.span
        difference = substitute_equal_lengths(context, now) - substitute_equal_lengths(context, want)
        if difference == const(0):
            return form
        verdict = prove(eq(difference), facts_here(self.inner))
        # coordinates of loops around this one stay the same in it
        steady = all(s.kind == "length" or (s.kind == "coord" and s not in own) for s in difference.free)
        if steady and not changes(form) and (verdict is False or prove(ge(difference - 1)) is True):
            return form + difference * STEPS
        if verdict is True:
            return form
        if steady:
            unify(self.inner, now, want, "each step must keep the accumulator's shape", span)
            return form
        first = form_after(form, const(0))
        told = None
        if place is not None and not changes(form):
            told = told_by_step(first, now, place)
        if told is None and place is not None and steps is not None:
            told = added_by_step(first, now - before, place, steps)
        if told is not None and told != form:
            return told
        if place is not None and changes(form):  # a guess, unlike the lengths of the first step
            want, now = substitute(want, {place: const(0)}), substitute(now, {place: const(1)})
        fail(
            "T0326",
            f"the accumulator's length {to_text(want)} becomes {to_text(now)}: "
            "it grows neither by what the number of the step tells nor by a whole factor",
            span,
            hint=_HINT,
        )

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

    def value(self, after: State) -> Value:
        """Return the finished fold; its static components come from a separate fold without the others."""
        static, begin = statics(after), self.fold.begin
        fold = self._fold(self.var, self.block, begin, after)
        if not any(static):
            return NodeValue(fold)
        whole = self.env.scope.bind(fold)
        if all(static):
            return _as_value(self.env, whole, True, static)
        alone = iter(self._fold_static_alone(begin, after))
        parts = (next(alone) if f else NodeValue(component(whole, j + 1)) for j, f in enumerate(static))
        return ValueList(tuple(parts))

    def _fold_static_alone(self, begin: Node, after: State) -> tuple[Value, ...]:
        """Fold the static components of a list without the others, on which they cannot depend."""
        static = statics(after)
        own = (True,) * sum(static)
        start, var, body = restrict_to_components(begin, self.var, self.block, static)
        self.env.context.static_components |= _component_keys(var, own)
        fold = self.env.scope.bind(self._fold(var, body, start, tuple(compress(after, static))))
        found = _as_value(self.env, fold, True, own)
        return found.items if isinstance(found, ValueList) else (found,)

    def widen(self, after: State, again: bool) -> bool:
        """Widen spaces without elaborating the step again; return False if the result would differ.

        If an accumulator turned out to be data, its space counts where the space of a static number did not:
        then ``again`` forces a check.
        """
        static = statics(after)
        spaces, old = tuple([c.part.space for c in after]), spaces_of(self.var.type)
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

    def _fold(self, var: Var, block: Block, begin: Node, after: State) -> Node:
        """Build the Fold in the spaces of its accumulator."""
        spaces, shape, step = spaces_of(var.type), self.fold.shape, self.fold.step
        body = Block(block.bindings, in_spaces(block.result, spaces))
        kind = with_spaces(_type_after(after, lambda: product_of(shape)), spaces)
        parts = _type_after(after, lambda: const(0))
        start = in_spaces(_broadcast_scalars(begin, parts, self.env, step), spaces)
        symbols = tuple(map(the_symbol, self.coords))
        return Fold(symbols, shape, var, start, body, kind, step.span, self.env.context.node)


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


def _broadcast_scalars(begin: Node, parts: Type, env: Env, step: Step) -> Node:
    """Broadcast the scalars of a start that become ToLs in a step."""
    grown = [bool(part.shape) and not was.shape for was, part in zip(begin.type, parts, strict=True)]
    if not any(grown):
        return begin
    value = env.scope.bind(begin)
    items = [component(value, j + 1) for j in range(len(parts))] if len(parts) > 1 else [value]
    every = zip(items, parts, grown, strict=True)
    return pack(tuple([_broadcast_to(item, p, env, step) if grows else item for item, p, grows in every]))


def _broadcast_to(value: Node, part: Part, env: Env, step: Step) -> Node:
    """Broadcast a number to a ToL."""
    coords, scope = env.scope.under([f"i{n + 1}" for n in range(len(part.shape))], part.shape)
    return make_build(coords, part.shape, scope.block(value), step.span)
