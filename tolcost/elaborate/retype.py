"""Giving a body's accumulator other spaces after the fact, without elaborating the body again.

Only spaces change: shapes and structure stay.  Elaborating again at every level of nested folds
would take time exponential in their depth; this is linear in the size of the body.  A body that would be
another program in other spaces is not changed, and has to be elaborated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import compress
from typing import Any

from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import children, inner_nodes, is_ref, rebuild, regions, roots
from tolcost.atoms.nodes import Block, Node, Part, Type, Var, numeric_type
from tolcost.dataclass import dataclass, field, replace
from tolcost.elaborate.apply import result_space, takes, widened
from tolcost.elaborate.layout import in_spaces, with_spaces
from tolcost.spaces import join_spaces, kind_of

Operands = tuple[Node, ...]


_MOVING = (ir.Component, ir.Convert, ir.Reshape, ir.Member, ir.Embed, ir.Join, ir.Pack, ir.Put)
"""Kinds that are as late as what they are made of."""

Components = AbstractSet[tuple[Var, int]]
"""Components of accumulators, by number."""


def leans_on(block: Block, var: Var, free: Components) -> bool:
    """Whether something static in a block depends on a variable: as data it would be another program.

    ``free`` are the components of accumulators that are static.
    """
    inside = tuple(inner_nodes(roots(block)))
    static = [node for node in inside if type(node) in _STATIC and _STATIC[type(node)](node)]
    static += [part for node in inside if isinstance(node, ir.Fold) for part in _free_parts(node, free)]
    if not static:
        return False
    bound = dict(block.bindings)
    for node in inside:
        for region in regions(node):
            bound.update(region.block.bindings)
            if region.accumulator is not None:  # it is what its fold starts from, and comes to
                bound[region.accumulator] = node
    return any(is_ref(node, var) for node in inner_nodes(static, bound))


def _free_parts(fold: ir.Fold, free: Components) -> Iterator[Node]:
    """What the static components of an accumulator start as, and what a step makes of them."""
    chosen = [(fold.accumulator, j) in free for j, _ in enumerate(fold.type, start=1)]
    if any(chosen):
        for whole in (fold.start, fold.body.result):
            apart = whole.items if isinstance(whole, ir.Pack) else ()
            yield from compress(apart, chosen) if len(apart) == len(chosen) else (whole,)


def _rounds(node: ir.Convert) -> bool:
    """Whether what is static is converted as it is, and data would be rounded first."""
    pairs = zip(node.value.type, node.type, strict=True)
    return node.is_written and any(kind_of(p.space) + kind_of(q.space) == "RZ" for p, q in pairs)


_STATIC: Mapping[type, Callable[[Any], bool]] = {
    **dict.fromkeys((ir.Lambda, ir.Where), lambda node: node.charge == "static"),
    ir.Convert: _rounds,
    ir.Select: lambda node: bool(children(node)),
}
"""Whether a node is static, for the kinds that may be."""


def _is_number(node: Node) -> bool:
    """Whether a node is a static number that is known: it is in the space of the function it is given to."""
    if isinstance(node, ir.Lambda):  # a quotient
        return node.function == "div" and node.charge == "static" and all(map(_is_number, node.args))
    return isinstance(node, ir.Number)


class _Differs(Exception):
    """A node that would be another over an operand in another space: a conversion may have to round."""


def retyped(block: Block, old: Var, new: Var, free: Components) -> Block | None:
    """The block with a variable's spaces changed, and whatever follows from that; None if that is not all.

    ``free`` are the components of it, and of accumulators around, that are static.
    """
    try:
        return _Retype({old: new}, free).block(block)
    except _Differs:
        return None


@dataclass(slots=True)
class _Retype:
    """What variables and nodes became; what nothing happened to stays the same object."""

    vars: dict[Var, Var]
    free: Components
    static: set[Var] = field(default_factory=set)
    done: dict[Node, Node] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        bindings = []
        for var, node in block.bindings:
            fresh = self.node(node)
            if fresh is not node:
                self.vars[var] = Var(var.name, fresh.type, var.work)
            bound = self.vars.get(var, var)
            if self.is_static(fresh):
                self.static.add(bound)
            bindings.append((bound, fresh))
        result = self.node(block.result)
        same = result is block.result and tuple(bindings) == block.bindings
        return block if same else Block(tuple(bindings), result)

    def node(self, node: Node) -> Node:
        found = self.done.get(node)
        if found is None:
            change = _CHANGES.get(type(node))
            found = self.done[node] = self._over_others(node) if change is None else change(self, node)
        return found

    def _over_others(self, node: Node) -> Node:
        operands = children(node)
        args = tuple(map(self.node, operands))
        if args == operands:
            return node
        return self._lambda(node, args) if isinstance(node, ir.Lambda) else _over(node, args)

    def _lambda(self, node: ir.Lambda, args: Operands) -> Node:
        domain = _domain(node.function, args, [self.is_static(arg) for arg in args])
        if not takes(node.function, domain):
            raise _Differs
        ready = [in_spaces(arg, (domain,)) if _is_number(arg) else arg for arg in args]
        return rebuild(node, ready, space=domain, type=numeric_type(result_space(node.function, domain)))

    def is_static(self, node: Node) -> bool:
        """Whether a node stands for something static, as far as that is seen from here."""
        match node:
            case ir.Component(value=ir.Ref(var=var), j=j):
                return (var, j) in self.free or var in self.static
            case ir.Ref(var=var):
                return (var, 1) in self.free or var in self.static
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
        """Whether what a body comes to is static; of a fold, where its accumulator is."""
        inside = _Retype(self.vars, self.free, {*self.static, *static})
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
        return replace(node, body=body, type=_spaced(node.type, body.result.type))

    def _select(self, node: ir.Select) -> Node:
        chosen = tuple(self.node(child) for child in children(node))
        _keep(chosen, children(node))
        then, other = self.block(node.then), self.block(node.other)
        spaces = _joined(then.result.type, other.result.type)
        then, other = (Block(side.bindings, in_spaces(side.result, spaces)) for side in (then, other))
        return rebuild(node, chosen, then=then, other=other, type=with_spaces(node.type, spaces))

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
        spaces = tuple(part.space for part in wide)
        body = Block(body.bindings, in_spaces(body.result, spaces))
        kind = with_spaces(node.type, spaces)
        return rebuild(node, (in_spaces(start, spaces),), accumulator=var, body=body, type=kind)


_CHANGES: Mapping[type, Callable[[_Retype, Any], Node]] = {
    ir.Ref: _Retype._ref,
    ir.Build: _Retype._build,
    ir.Fold: _Retype._fold,
    ir.Select: _Retype._select,
}
"""What becomes of nodes that have names or blocks; the others follow from their operands."""


# ---- spaces that follow from those of operands -------------------------------------------------


def _over(node: Node, args: Operands) -> Node:
    """A node over other operands; as a rule it has the spaces of the first, and the others say where."""
    rule = _RULES.get(type(node))
    if rule:
        return rule(node, args)
    _keep(args[1:], children(node)[1:])
    return rebuild(node, args, type=_spaced(node.type, args[0].type))


def _keep(args: Operands, before: Operands) -> None:
    """Conditions and indices stay in their spaces: in others they might not be any."""
    if any(arg.type != was.type for arg, was in zip(args, before, strict=True)):
        raise _Differs


def _where(node: ir.Where, args: Operands) -> Node:
    condition, then, other = args
    _keep((condition,), children(node)[:1])
    spaces = _joined(then.type, other.type)
    ready = (condition, in_spaces(then, spaces), in_spaces(other, spaces))
    return rebuild(node, ready, space=spaces[0], type=with_spaces(node.type, spaces))


def _component(node: ir.Component, args: Operands) -> Node:
    return rebuild(node, args, type=(Part(node.type[0].shape, args[0].type[node.j - 1].space),))


def _pack(node: ir.Pack, args: Operands) -> Node:
    return rebuild(node, args, type=tuple(part for item in args for part in item.type))


def _join(node: ir.Join, args: Operands) -> Node:
    return rebuild(node, args, type=with_spaces(node.type, _joined(args[0].type, args[1].type)))


def _convert(node: ir.Convert, args: Operands) -> Node:
    """What nobody wrote brings together what is in different spaces; what someone wrote may round now."""
    if node.is_written:
        raise _Differs
    return in_spaces(args[0], _joined(node.type, args[0].type))


def _put(node: ir.Put, args: Operands) -> Node:
    _keep(args[1:-1], children(node)[1:-1])
    spaces = _joined(args[0].type, args[-1].type)
    ready = (in_spaces(args[0], spaces), *args[1:-1], in_spaces(args[-1], spaces))
    return rebuild(node, ready, type=with_spaces(node.type, spaces))


_RULES: Mapping[type, Callable[[Any, Operands], Node]] = {
    ir.Where: _where,
    ir.Component: _component,
    ir.Pack: _pack,
    ir.Join: _join,
    ir.Convert: _convert,
    ir.Put: _put,
}


def _domain(function: str, args: Operands, static: list[bool]) -> str:
    """The space of the data, as wide as numbers need; those that are written have that of their function."""
    spaces = [arg.type[0].space for arg in args]
    data = [space for space, free in zip(spaces, static, strict=True) if not free]
    told = [space for arg, space in zip(args, spaces, strict=True) if not isinstance(arg, ir.Number)]
    domain = reduce(join_spaces, data or told or spaces[:1])
    numbers = [
        space
        for arg, space, free in zip(args, spaces, static, strict=True)
        if free and (kind_of(space) in "RC" or not isinstance(arg, ir.Number))
    ]
    return widened(function, domain, numbers)


def _joined(left: Type, right: Type) -> tuple[str, ...]:
    return tuple(join_spaces(a.space, b.space) for a, b in zip(left, right, strict=True))


def _joined_type(left: Type, right: Type) -> Type:
    return with_spaces(left, _joined(left, right))


def _spaced(parts: Type, like: Type) -> Type:
    return with_spaces(parts, tuple([q.space for q in like]))
