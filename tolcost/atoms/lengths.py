"""What decides the atoms of a program: its lengths, and what only data tells."""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.algebra import Symbol, atom, equations_in, solve
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import index_nodes, inner_nodes, roots
from tolcost.atoms.nodes import Node, Program


def given_lengths(program: Program, dims: Mapping[str, int]) -> dict[Symbol, int]:
    """Find what the lengths given by name are, and those that follow from them."""
    declared = (length for needed in program.inputs for part in needed.type for length in part.shape)
    equations = equations_in(each.condition for each in program.conditions)
    mentioned = {symbol for length in (*declared, *equations) for symbol in length.free}
    given = {s: dims[s.name] for s in mentioned.union(program.symbols) if s.name in dims}
    return solve(equations, given)[0]


def norms_of(program: Program) -> dict[Symbol, tuple[str, int]]:
    """Say of which input each length is a length, and which of them."""
    found: dict[Symbol, tuple[str, int]] = {}
    for needed in program.inputs:
        for axis, form in enumerate(needed.type[0].shape, start=1):
            for symbol in form.free:
                if form == atom(symbol):
                    found.setdefault(symbol, (needed.name, axis))
    return found


def decided_by_data(program: Program) -> tuple[str, ...]:
    """Say what data decides about a program's atoms: lengths, choices, and places where members go."""
    found: set[str] = set()
    for node in inner_nodes(roots(program)):
        match node:
            case ir.Filter():
                found.add("length")
            case ir.Select(condition=condition) if isinstance(condition, Node):
                found.add("choice")
            case ir.Put(at=at) if index_nodes(at):
                found.add("place")
    return tuple(sorted(found))
