"""Which symbols of the algebra a program mentions, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tolcost.algebra import Cond, Poly, Symbol, symbols_of_cond
from tolcost.atoms.nodes import (
    Build,
    Constant,
    Filter,
    Fold,
    Member,
    Node,
    Number,
    Program,
    Put,
    Select,
    Table,
    Type,
)
from tolcost.atoms.walk import inner_nodes


def program_symbols(program: Program) -> frozenset[Symbol]:
    """Give every symbol a program mentions."""
    found: set[Symbol] = set(program.symbols)
    for condition in program.conditions:
        found.update(symbols_of_cond(condition.condition))
    for needed in program.inputs:
        found.update(type_symbols(needed.type))
    roots = [*(node for _, node in program.bindings), *(output.node for output in program.outputs)]
    for node in inner_nodes(roots):
        found.update(type_symbols(node.type))
        found.update(own_symbols(node))
        if isinstance(node, Fold):
            found.update(type_symbols(node.accumulator.type))
    return frozenset(found)


def own_symbols(node: Node) -> Iterator[Symbol]:
    """Give the symbols that a node mentions itself, not in its type and not in its operands."""
    match node:
        case Number(value=value):
            yield from constant_symbols(value)
        case Table(values=values):
            for value in values:
                yield from constant_symbols(value)
        case Member(at=at) | Put(at=at):
            for index in at:
                if isinstance(index, Poly):
                    yield from index.free
        case Build(coords=coords, extents=extents) | Fold(coords=coords, extents=extents):
            yield from coords
            for extent in extents:
                yield from extent.free
        case Select(condition=condition) if isinstance(condition, Cond):
            yield from symbols_of_cond(condition)
        case Filter(length=length):
            yield length
        case _:
            pass


def is_fixed(table: Table) -> bool:
    """Tell whether the entries of a table are the same throughout a run."""
    return all(symbol.kind == "length" for symbol in own_symbols(table))


def constant_symbols(value: Constant) -> Iterable[Symbol]:
    """Give the symbols of a static numeric."""
    if isinstance(value, Poly):
        return value.free
    return symbols_of_cond(value) if isinstance(value, Cond) else ()


def type_symbols(types: Type) -> Iterator[Symbol]:
    """Give the symbols of the lengths in a type."""
    for part in types:
        for length in part.shape:
            yield from length.free
