"""Numbering the calls of ``rand``, so that each draws from a stream of its own."""

from __future__ import annotations

from tolcost.atoms.nodes import Block, Lambda, Node, Program
from tolcost.atoms.walk import blocks, operands


def rand_sites(program: Program) -> dict[Lambda, int]:
    """Give every call of ``rand`` a number that depends only on its place in the program."""
    sites: dict[Lambda, int] = {}
    seen: set[Node] = set()
    pending = [node for _, node in program.bindings]
    pending.extend(output.node for output in program.outputs)
    pending.reverse()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Lambda) and node.function == "rand":
            sites[node] = len(sites) + 1
        inside = [child for block in blocks(node) for child in _block_nodes(block)]
        pending.extend(reversed([*operands(node), *inside]))
    return sites


def _block_nodes(block: Block) -> tuple[Node, ...]:
    return (*(node for _, node in block.bindings), block.result)
