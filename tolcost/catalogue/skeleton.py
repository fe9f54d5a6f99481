"""The start of a definition, for an operator that has none: what its node says, as declarations.

Names of inputs, outputs and attributes are those of a recorded schema, where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tolcost.catalogue.graph import Attribute, GraphNode
from tolcost.catalogue.operand_types import recorded_types
from tolcost.elaborate.values import Vec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def skeleton(node: GraphNode, ranks: Sequence[int | None]) -> str | None:
    """The first lines of a definition for a node whose inputs have the ranks given, as far as they are known.

    None for a name that no definition can have.
    """
    if not _NAME.fullmatch(node.op):
        return None
    schema = recorded_types(node.op, node.domain)
    inputs = [p.name for p in schema.inputs] if schema else []
    outputs = [p.name for p in schema.outputs] if schema else []
    return "\n".join(
        [
            f"operator {node.op}",
            *_inputs(node, ranks, inputs),
            *_attributes(node),
            *(f"{_named(outputs, n, 'y')} := ..." for n in range(len(node.outputs))),
        ]
    )


def _inputs(node: GraphNode, ranks: Sequence[int | None], names: Sequence[str]) -> Iterator[str]:
    for n, given in enumerate(node.inputs):
        name, rank = _named(names, n, "x"), ranks[n] if n < len(ranks) else None
        lengths = ["..."] if rank is None else [f"{name}_{axis}" for axis in range(1, rank + 1)]
        yield f"tol {name}{'' if given else '?'}: R" + (f" [{', '.join(lengths)}]" if lengths else "")


def _attributes(node: GraphNode) -> Iterator[str]:
    for name, value in node.attributes.items():
        if _NAME.fullmatch(name):
            yield f"attr {name}: {_space(value)}{' [k]' if isinstance(value, Vec) else ''}"
    yield from (f"attr {name}: G" for name in node.graphs if _NAME.fullmatch(name))


def _space(value: Attribute) -> str:
    one = value.items[0] if isinstance(value, Vec) and value.items else value
    if isinstance(one, str):
        return "S"
    return "R" if isinstance(one, Fraction | float) else "Z"


def _named(names: Sequence[str], place: int, letter: str) -> str:
    known = names[place] if place < len(names) else ""
    return known if _NAME.fullmatch(known) else f"{letter}{place + 1}"
