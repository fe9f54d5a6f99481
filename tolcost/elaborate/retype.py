"""Giving a body's accumulator other spaces after the fact, without elaborating the body again.

Only spaces change: shapes and structure stay.  Elaborating again at every level of nested folds
would take time exponential in their depth; this is linear in the size of the body.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tolcost.algebra import Poly
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
    Part,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.atoms.walk import blocks, operands
from tolcost.elaborate.apply import result_space, widened
from tolcost.elaborate.layout import in_spaces
from tolcost.spaces import join_spaces


def leans_on(block: Block, var: Var) -> bool:
    """Whether something static in a block depends on a variable: as data it would be another program."""
    dependent: dict[int, bool] = {}
    bound: set[int] = {id(var)}
    return _leans(block, dependent, bound)


def _leans(block: Block, dependent: dict[int, bool], bound: set[int]) -> bool:
    for owner, node in (*block.bindings, (None, block.result)):
        pending = [(node, False)]
        while pending:
            current, ready = pending.pop()
            if id(current) in dependent:
                continue
            if not ready:
                pending.append((current, True))
                pending.extend((child, False) for child in operands(current))
                continue
            if any(_leans(inner, dependent, bound) for inner in blocks(current)):
                return True
            depends = _depends(current, dependent, bound)
            if depends and _is_static(current):
                return True
            dependent[id(current)] = depends
        if owner is not None and dependent[id(node)]:
            bound.add(id(owner))
    return False


def _depends(node: Node, dependent: dict[int, bool], bound: set[int]) -> bool:
    if isinstance(node, Ref):
        return id(node.var) in bound
    inside = (n for b in blocks(node) for n in (*(x for _, x in b.bindings), b.result))
    return any(dependent.get(id(child), False) for child in (*operands(node), *inside))


def _is_static(node: Node) -> bool:
    if isinstance(node, (Lambda, Where)):
        return node.charge == "static"
    return isinstance(node, Select) and bool(operands(node))


def retyped(block: Block, old: Var, new: Var) -> Block:
    """The block with a variable's spaces changed, and whatever follows from that."""
    return _Retype({id(old): new}).block(block)


@dataclass(slots=True)
class _Retype:
    vars: dict[int, Var]
    done: dict[int, Node] = field(default_factory=dict)
    keep: list[Node] = field(default_factory=list)

    def block(self, block: Block) -> Block:
        bindings = []
        for var, node in block.bindings:
            fresh = self.node(node)
            if fresh is not node:
                self.vars[id(var)] = Var(var.name, fresh.type)
            bindings.append((self.vars.get(id(var), var), fresh))
        return Block(tuple(bindings), self.node(block.result))

    def node(self, node: Node) -> Node:
        if id(node) not in self.done:
            self.done[id(node)] = self._fresh(node)
            self.keep.append(node)
        return self.done[id(node)]

    def _fresh(self, node: Node) -> Node:
        """The node over fresh operands; the same object where nothing changed."""
        match node:
            case Ref(var=var):
                return Ref(self.vars[id(var)], self.vars[id(var)].type) if id(var) in self.vars else node
            case Input() | Number() | Table():
                return node
            case Build(coords=coords, extents=extents, body=body, span=span):
                fresh = self.block(body)
                return (
                    node
                    if fresh.result is body.result and fresh.bindings == body.bindings
                    else Build(coords, extents, fresh, _spaced(node.type, fresh.result.type), span)
                )
            case Fold():
                return self._fold(node)
            case Select(condition=condition, span=span):
                chosen = condition if not operands(node) else self.node(condition)  # type: ignore[arg-type]
                then, other = self.block(node.then), self.block(node.other)
                spaces = _joined(then.result.type, other.result.type)
                then = Block(then.bindings, in_spaces(then.result, spaces))
                other = Block(other.bindings, in_spaces(other.result, spaces))
                return Select(chosen, then, other, _with_spaces(node.type, spaces), span)
            case _:
                args = tuple(self.node(child) for child in operands(node))
                return (
                    node
                    if all(a is b for a, b in zip(args, operands(node), strict=True))
                    else _over(node, args)
                )

    def _fold(self, node: Fold) -> Node:
        start = self.node(node.start)
        body = self.block(node.body)
        if start is node.start and body.result is node.body.result and body.bindings == node.body.bindings:
            return node
        spaces = _joined(_joined_type(node.accumulator.type, start.type), body.result.type)
        var = Var(node.accumulator.name, _with_spaces(node.accumulator.type, spaces))
        if var.type != node.accumulator.type:
            self.vars[id(node.accumulator)] = var
            self.done.clear()
            body = self.block(node.body)
        else:
            var = node.accumulator
        body = Block(body.bindings, in_spaces(body.result, spaces))
        return Fold(
            node.coords,
            node.extents,
            var,
            in_spaces(start, spaces),
            body,
            _with_spaces(node.type, spaces),
            node.span,
        )


def _over(node: Node, args: tuple[Node, ...]) -> Node:
    """A node over other operands, its spaces following from theirs."""
    match node:
        case Lambda(function=f, charge=charge, span=span):
            domain = _domain(f, args)
            ready = tuple(in_spaces(a, (domain,)) if isinstance(a, Number) else a for a in args)
            return Lambda(f, ready, domain, (Part((), result_space(f, domain)),), charge, span)
        case Where(charge=charge, span=span):
            condition, then, other = args
            spaces = _joined(then.type, other.type)
            return Where(
                condition,
                in_spaces(then, spaces),
                in_spaces(other, spaces),
                spaces[0],
                _with_spaces(node.type, spaces),
                charge,
                span,
            )
        case Member(at=at, span=span):
            rest = iter(args[1:])
            fresh = tuple(a if isinstance(a, Poly) else next(rest) for a in at)
            return Member(args[0], fresh, _spaced(node.type, args[0].type), span)
        case Component(j=j):
            return Component(args[0], j, (Part(node.type[0].shape, args[0].type[j - 1].space),))
        case Pack():
            return Pack(args, tuple(part for item in args for part in item.type))
        case Join(d=d):
            return Join(args[0], args[1], d, _with_spaces(node.type, _joined(args[0].type, args[1].type)))
        case Embed():
            return Embed(args[0], _spaced(node.type, args[0].type))
        case Reshape():
            return Reshape(args[0], _spaced(node.type, args[0].type))
        case Convert(bits=bits):
            return Convert(args[0], node.type, bits)
        case Put(at=at, span=span):
            middle = iter(args[1:-1])
            fresh = tuple(a if isinstance(a, Poly) else next(middle) for a in at)
            spaces = _joined(args[0].type, args[-1].type)
            return Put(
                in_spaces(args[0], spaces),
                fresh,
                in_spaces(args[-1], spaces),
                _with_spaces(node.type, spaces),
                span,
            )
        case Filter(length=length, span=span):
            return Filter(args[0], args[1], length, _spaced(node.type, args[0].type), span)
        case _:
            raise AssertionError(type(node))


def _domain(function: str, args: tuple[Node, ...]) -> str:
    data = [a.type[0].space for a in args if not isinstance(a, Number)]
    numbers = [a.type[0].space for a in args if isinstance(a, Number)]
    domain = data[0] if data else numbers[0]
    for space in data[1:]:
        domain = join_spaces(domain, space)
    return widened(function, domain, [s for s in numbers if s in ("R", "C")])


def _joined(left: Type, right: Type) -> tuple[str, ...]:
    return tuple(join_spaces(a.space, b.space) for a, b in zip(left, right, strict=True))


def _joined_type(left: Type, right: Type) -> Type:
    return _with_spaces(left, _joined(left, right))


def _with_spaces(parts: Type, spaces: tuple[str, ...]) -> Type:
    return tuple(Part(p.shape, s) for p, s in zip(parts, spaces, strict=True))


def _spaced(parts: Type, like: Type) -> Type:
    return tuple(Part(p.shape, q.space) for p, q in zip(parts, like, strict=True))
