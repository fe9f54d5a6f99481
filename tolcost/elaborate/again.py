"""Repeated application of a program in one elaboration: copy the earlier result, over other values.

The body of a loop is elaborated several times until the loop-carried values reach a fixpoint, and its nodes
are often similar. The result of a program depends on its static inputs and on the types of its data inputs;
so the second time its atoms are copied. This is done only for programs that recorded no condition and
inspected nothing but their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress

from msgspec import Struct

from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Bindings, children, inner_nodes, with_operands
from tolcost.atoms.nodes import Block, JointWork, Node, Ref, Var
from tolcost.elaborate.environment import Env
from tolcost.elaborate.layout import pack
from tolcost.elaborate.shapes import component
from tolcost.elaborate.values import (
    Cast,
    Missing,
    NodeValue,
    Seq,
    Unknown,
    Value,
    Vec,
    View,
    frozen,
    is_data,
    is_static,
)


class EarlierResult(Struct, frozen=True, eq=False):
    """The result of a program: its data inputs, the bindings it made, and its results."""

    data: tuple[Node, ...]
    bindings: Bindings
    results: tuple[Value, ...]


Remembered = dict[object, EarlierResult | None]
"""The results of programs in one elaboration; None if a result does not depend on the inputs alone."""


def apply_or_copy(
    env: Env,
    known: Remembered,
    program: tuple[object, ...],
    inputs: Sequence[Value | None],
    apply: Callable[[], tuple[Value, ...]],
) -> tuple[Value, ...]:
    """Apply a program, or copy its earlier result; ``program`` identifies it apart from its inputs."""
    data = [value.node for value in inputs if value is not None and is_data(value)]
    places = list(map(_origin_of, data))
    kinds = [_input_key(value, places) for value in inputs]
    if None in kinds:
        return apply()
    context, scope = env.context, env.scope
    equal = tuple(context.notes.equal.items())
    place = (scope.depth, scope.facts, scope.tables, scope.checked, scope.naming)
    surrounding = (*place, env.in_index, equal, context.notes.data_equations)
    key = (program, *kinds, *surrounding)
    if key in known:
        before = known[key]
        found = None if before is None else _copy(env, before, data)
        return apply() if found is None else found
    start, looked = len(scope.bindings), (context.notes.looked, context.names)
    results = apply()
    alone = looked == (context.notes.looked, context.names)
    known[key] = None
    if alone and all(map(_can_copy, results)):
        known[key] = EarlierResult(tuple(data), tuple(scope.bindings[start:]), results)
    return results


def _origin_of(node: Node) -> object:
    """Identify the place that data comes from: a variable, one component of it, or an input."""
    match node:
        case ir.Ref(var=var):
            return var
        case ir.Component(value=ir.Ref(var=var), j=j):
            return var, j
        case _:
            return node


def _input_key(value: Value | None, places: list[object]) -> object:
    """Return a key of all that a program can inspect of an input, and of aliasing.

    Return None if it can inspect more.
    """
    match value:
        case None:
            return ()
        case NodeValue(node=(ir.Ref() | ir.Component(value=ir.Ref())) as node, static=False):
            return (type(node), places.index(_origin_of(node)), node.type)
        case NodeValue(node=ir.Input(within=()) as node, static=False):
            return (ir.Ref, places.index(_origin_of(node)), node.type)
        case NodeValue() | Seq() | Unknown() | View():
            return None
        case Missing():
            return ()
        case Cast(value=inner, space=space):
            found = _input_key(inner, places)
            return None if found is None else (space, found)
        case Vec(items=items):
            return None if any(isinstance(item, View | NodeValue | Vec) for item in items) else _static(value)
        case _:
            return _static(value)


def _static(value: Value) -> object:
    return ("static", frozen(value)) if is_static(value) else None


def _can_copy(value: Value) -> bool:
    """Whether a result can be copied with other atoms in it."""
    match value:
        case NodeValue(static=static):
            return not static
        case Cast(value=inner):
            return _can_copy(inner)
        case Vec(items=items):
            return all(map(_can_copy, items))
        case _:
            return is_static(value) and not isinstance(value, View | Seq)


def _copy(env: Env, before: EarlierResult, data: Sequence[Node]) -> tuple[Value, ...] | None:
    """Copy a result over other data; None if it depends on more than its inputs."""
    pairs = list(zip(before.data, data, strict=True))
    copy = SubprogramCopy(dict(pairs), {old.var: new for old, new in pairs if isinstance(old, Ref)}, {})
    try:
        bindings = copy.bindings(before.bindings)
        results = tuple(map(copy.value, before.results))
    except KeyError:
        return None
    env.scope.bindings.extend(bindings)
    return results


class SubprogramCopy(Struct):
    """A copy under construction: the new nodes and variables by the old ones."""

    done: dict[Node, Node]
    vars: dict[Var, Node]
    works: dict[JointWork, JointWork]

    def bindings(self, bindings: Bindings) -> Bindings:
        """Copy the bindings of a block, under new variables."""
        return tuple([(self.bound(var), self.node(node)) for var, node in bindings])

    def bound(self, var: Var) -> Var:
        """Make a new variable in place of the given one."""
        work = None if var.work is None else self.works.setdefault(var.work, JointWork())
        new = Var(var.name, var.type, work)
        self.vars[var] = Ref(new, new.type)
        return new

    def block(self, block: Block) -> Block:
        """Copy a block."""
        return Block(self.bindings(block.bindings), self.node(block.result))

    def node(self, node: Node) -> Node:
        """Copy a node; nodes that are shared stay shared."""
        found = self.done.get(node)
        if found is None:
            found = self.done[node] = self.fresh(node)
        return found

    def fresh(self, node: Node) -> Node:
        """Copy a node that is not copied yet."""
        match node:
            case ir.Ref(var=var):
                return self.vars[var]
            case ir.Build(body=body):
                return with_operands(node, (), body=self.block(body))
            case ir.Fold(start=start, accumulator=accumulator, body=body):
                begin = self.node(start)
                return with_operands(
                    node, (begin,), accumulator=self.bound(accumulator), body=self.block(body)
                )
            case ir.Select(then=then, other=other):
                condition = [self.node(child) for child in children(node)]
                return with_operands(node, condition, then=self.block(then), other=self.block(other))
            case _:
                return with_operands(node, [self.node(child) for child in children(node)])

    def value(self, value: Value) -> Value:
        """Copy a result."""
        match value:
            case NodeValue(node=node):
                return NodeValue(self.node(node))
            case Cast(value=inner, space=space):
                return Cast(self.value(inner), space)
            case Vec(shape=shape, items=items, loose=loose) if not is_static(value):
                return Vec(shape, tuple(map(self.value, items)), loose)
            case _:
                return value


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
            case ir.Component(value=Ref(var=var), j=j) if var is self.accumulator:
                return self.parts[j]
            case Ref(var=var) if var not in self.vars:
                return node
            case _:
                return SubprogramCopy.fresh(self, node)


def restrict_to_components(
    start: Node, old: Var, block: Block, chosen: Sequence[bool]
) -> tuple[Node, Var, Block]:
    """Restrict the start, the accumulator and the body of a fold to components that need no others."""
    assert isinstance(block.result, ir.Pack)
    new = Var(old.name, tuple(compress(old.type, chosen)))
    results = tuple(compress(block.result.items, chosen))
    reached = {node.var for node in inner_nodes(results, dict(block.bindings)) if isinstance(node, Ref)}
    needed = Block(tuple([(var, node) for var, node in block.bindings if var in reached]), pack(results))
    places = [j for j, f in enumerate(chosen, start=1) if f]
    whole = Ref(new, new.type)
    parts = [component(whole, k + 1) if len(places) > 1 else whole for k in range(len(places))]
    body = _RestrictedCopy({}, {}, {}, old, dict(zip(places, parts, strict=True))).block(needed)
    return pack(tuple([component(start, j) for j in places])), new, body
