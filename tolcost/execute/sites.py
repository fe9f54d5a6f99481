"""Numbering the calls of ``rand``, so that each draws from a stream of its own."""

from __future__ import annotations

from tolcost.atoms.nodes import Lambda, Program
from tolcost.atoms.walk import inner_nodes


def rand_sites(program: Program) -> dict[Lambda, int]:
    """Give every call of ``rand`` a number that depends only on its place in the program."""
    roots = [*(node for _, node in program.bindings), *(output.node for output in program.outputs)]
    calls = (node for node in inner_nodes(roots) if isinstance(node, Lambda) and node.function == "rand")
    return {node: number for number, node in enumerate(calls, 1)}
