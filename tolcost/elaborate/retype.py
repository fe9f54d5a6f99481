"""Retyping: change the spaces of a body's accumulator without elaborating the body again.

Only spaces change; shapes and structure stay. Elaborating again at every level of nested folds would take
time exponential in their depth; retyping is linear in the size of the body. A body that would be a
different program in other spaces is not changed, and must be elaborated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache, reduce
from itertools import compress
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import children, inner_nodes, is_ref, numeric_type, regions, roots, with_operands
from tolcost.atoms.nodes import Block, Node, Part, Type, Var
from tolcost.elaborate.apply import result_space, takes, widen_space
from tolcost.elaborate.layout import in_spaces, joined_spaces, spaces_of, with_spaces
from tolcost.spaces import join_spaces, kind_of

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
