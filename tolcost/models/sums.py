"""Products that one node computes and another adds up are multiply–accumulates, as if one node did both.

Which values of a graph are summed is found from its end: those that a fold of a node adds up directly, and
those that only pass through nodes on the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tolcost.algebra import substitute
from tolcost.atoms.nodes import Node, Program
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.cost.count import count_macs
from tolcost.cost.macs import Given, Passing, passing
from tolcost.dataclass import dataclass, field, replace
from tolcost.models.lowered import Lowered

if TYPE_CHECKING:
    from tolcost.models.walking import Applied

Find = Callable[[GraphNode], Spec | None]
"""The definition of a node's operator."""


@dataclass(slots=True)
class Sums:
    """What is known of programs, each looked at once, and nodes whose products are summed elsewhere."""

    passed: dict[Program, Passing] = field(default_factory=dict)
    counted: dict[tuple[Applied, frozenset[Node]], Applied] = field(default_factory=dict)

    def of(self, program: Program) -> Passing:
        """What a program sums, and what it gives that may be summed."""
        if program not in self.passed:
            self.passed[program] = passing(program)
        return self.passed[program]

    def with_products(self, applied: Applied, lowered: Lowered, products: frozenset[Node]) -> Applied:
        """A node with the MACs that these of its products are."""
        key = (applied, products)
        if key not in self.counted:
            macs = substitute(count_macs(lowered.program, products), {**lowered.lengths, **lowered.point})
            counts = replace(lowered.counts, macs=macs)
            self.counted[key] = replace(applied, parts=((replace(lowered, counts=counts), 1),))
        return self.counted[key]


def with_sums(steps: Sequence[GraphNode], found: Sequence[Applied], find: Find) -> list[Applied]:
    """What nodes come to, with products that other nodes sum among their MACs."""
    sums, summed = Sums(), set[str]()
    result: list[Applied] = []
    for node, applied in zip(reversed(steps), reversed(found), strict=True):
        result.append(_looked_at(sums, summed, node, applied, find))
    return result[::-1]


def _looked_at(sums: Sums, summed: set[str], node: GraphNode, applied: Applied, find: Find) -> Applied:
    lowered = applied.parts[0][0] if len(applied.parts) == 1 else None
    spec = None if lowered is None or not _gives(lowered) else find(node)
    if lowered is None or spec is None:
        return applied
    values = dict(zip(input_names(spec, len(node.inputs)), node.inputs, strict=False))
    titles = list(zip(node.outputs, lowered.titles, strict=False))
    stored = lowered.passes
    if stored is not None:
        summed.update(values[name] for name in stored.added if name in values)
        asked = [title for name, title in titles if name in summed]
        if stored.products.isdisjoint(asked):
            passed = (name for title in asked for name in stored.outputs.get(title, ()))
            summed.update(values[name] for name in passed if name in values)
            return applied
    known = sums.of(lowered.program)
    summed.update(values[name] for name in known.added if name in values)
    given = [known.outputs[title] for name, title in titles if name in summed and title in known.outputs]
    summed.update(values[name] for one in given for name in one.inputs if name in values)
    products = frozenset(node for one in given for node in _products(one, values))
    return sums.with_products(applied, lowered, products) if products else applied


def _gives(lowered: Lowered) -> bool:
    return lowered.passes is not None or bool(lowered.program.outputs)


def _products(given: Given, values: Mapping[str, str]) -> Iterator[Node]:
    """Products of two values; one value times itself is a square, which is no MAC however it is written."""
    for node, factors in given.products.items():
        names = [{values.get(name, name) for name in one} for one in factors]
        if not (len(names[0]) == 1 and all(one == names[0] for one in names)):
            yield node
