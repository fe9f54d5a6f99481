"""The most steps of a range that data decides, inside of maps and loops: forward is run once to find them.

A gradient keeps what a loop computes at every step in an array, so it needs the largest of all lengths first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tolcost.algebra import Symbol, const
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Bindings, blocks, children, defined_length, inner_nodes, numeric_type
from tolcost.atoms.nodes import Block, Node, Program, Var

_WHOLE = numeric_type("Z")


def longest(program: Program, length: Symbol) -> Node:
    """Return a number of a program: the largest value that a length has anywhere in it."""
    results = tuple([output.node for output in program.outputs])
    place = next(n for n in (*(node for _, node in program.bindings), *results) if _defines((n,), length))
    return _most(place, length)


def needed_bindings(program: Program, nodes: Iterable[Node | None]) -> Bindings:
    """Return the bindings of a program that nodes refer to, directly or through others."""
    found: list[tuple[Var, Node]] = []
    tops = [node for node in nodes if node is not None]
    for var, node in reversed(program.bindings) if tops else ():
        if any(isinstance(one, ir.Ref) and one.var is var for one in inner_nodes(tops)):
            found.append((var, node))
            tops.append(node)
    return tuple(found[::-1])


def _defines(nodes: Iterable[Node], length: Symbol) -> bool:
    return any(defined_length(node) is length for node in inner_nodes(nodes))


def _most(node: Node, length: Symbol) -> Node:
    """Return the largest value of a length in a node, which stands in the place of the node."""
    if isinstance(node, ir.Length) and node.length is length:
        return node.value
    if isinstance(node, ir.Fold) and node.ends is length:
        return _carrying(node, _counted)
    operand = next((child for child in children(node) if _defines((child,), length)), None)
    if operand is not None:
        return _most(operand, length)
    inside = [_most_in(block, length) for block in blocks(node)]
    if isinstance(node, ir.Select):
        return ir.Select(node.condition, inside[0], inside[1], _WHOLE, node.span)
    (block,) = inside
    if isinstance(node, ir.Fold):
        return _carrying(node, lambda sofar, _: _applied("max", sofar, block.result))
    assert isinstance(node, ir.Build)
    sofar = Var("most", _WHOLE)
    body = Block(block.bindings, _applied("max", ir.Ref(sofar, _WHOLE), block.result))
    return ir.Fold(node.coords, node.extents, sofar, _number(0), body, _WHOLE, node.span)


def _most_in(block: Block, length: Symbol) -> Block:
    """Return a block that gives the largest value of a length inside of a block."""
    for k, (_, node) in enumerate(block.bindings):
        if _defines((node,), length):
            return Block(block.bindings[:k], _most(node, length))
    there = _defines((block.result,), length)
    return Block(block.bindings if there else (), _most(block.result, length) if there else _number(0))


def _counted(sofar: Node, going: Node) -> Node:
    """Return one turn more: by data, as a number that is known at every turn would leave the loop out."""
    one = ir.Where(going, _number(1), _number(0), "Z", _WHOLE)
    return _applied("add", sofar, one)


def _carrying(node: ir.Fold, further: Callable[[Node, Node], Node]) -> Node:
    """Return what a fold gives that also carries a whole number, from 0.

    What is next is made of the number and of the first component of the state.
    """
    types = (*node.accumulator.type, *_WHOLE)
    both = Var("a", types)
    whole = ir.Ref(both, types)
    parts = [ir.Component(whole, k + 1, (part,)) for k, part in enumerate(types)]
    made = Var("next", node.body.result.type)
    bindings = (
        (node.accumulator, ir.Pack(tuple(parts[:-1]), node.accumulator.type)),
        *node.body.bindings,
        (made, node.body.result),
    )
    result = ir.Pack((ir.Ref(made, made.type), further(parts[-1], parts[0])), (*made.type, *_WHOLE))
    start = ir.Pack((node.start, _number(0)), (*node.start.type, *_WHOLE))
    fold = ir.Fold(
        node.coords, node.extents, both, start, Block(bindings, result), (*node.type, *_WHOLE), node.span,
        ends=node.ends,
    )  # fmt: skip
    return ir.Component(fold, len(types), _WHOLE)


def _applied(function: str, one: Node, other: Node) -> Node:
    return ir.Lambda(function, (one, other), "Z", _WHOLE)


def _number(value: int) -> Node:
    return ir.Number(const(value), _WHOLE)
