"""Products that one node computes and another adds up are multiply–accumulates, as if one node did both.

Which values of a graph are summed is found from its end: those that a fold of a node adds up directly, and
those that only pass through nodes on the way there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tolcost.algebra import substitute
from tolcost.atoms.nodes import Node, Program
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.cost.count import OutputSources, Passing, count_macs, passing
from tolcost.dataclass import dataclass, field, replace
from tolcost.models.lowered import Applied, Lowered, Passes, Told

Find = Callable[[GraphNode], Spec | None]
"""The definition of a node's operator."""


@dataclass(slots=True)
class Sums:
    """What is known of programs, each looked at once, and nodes whose products are summed elsewhere."""

    passed: dict[Program, tuple[Passing, Passes]] = field(default_factory=dict)
    names: dict[tuple[Spec, int], list[str]] = field(default_factory=dict)
    counted: dict[tuple[Applied, frozenset[Node]], Applied] = field(default_factory=dict)

    def of(self, program: Program) -> tuple[Passing, Passes]:
        """What a program sums, and what it gives that may be summed: with products, and which have some."""
        if program not in self.passed:
            found = passing(program)
            self.passed[program] = (found, passes_of(found))
        return self.passed[program]

    def values(self, spec: Spec, node: GraphNode) -> dict[str, str]:
        """The names of a node's inputs, by what the program of its operator calls them."""
        key = (spec, len(node.inputs))
        if key not in self.names:
            self.names[key] = input_names(*key)
        return dict(zip(self.names[key], node.inputs, strict=False))

    def with_products(self, applied: Applied, lowered: Lowered, products: frozenset[Node]) -> Applied:
        """A node with the MACs that these of its products are."""
        key = (applied, products)
        if key not in self.counted:
            macs = substitute(count_macs(lowered.program, products), {**lowered.lengths, **lowered.point})
            counts = replace(lowered.counts, macs=macs)
            made = Told(counts, lowered.traffic, lowered.outputs)
            self.counted[key] = replace(applied, parts=((replace(lowered, made=made), 1),))
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
    if lowered is None:
        return applied
    passes = lowered.passes or sums.of(lowered.program)[1]
    if not passes.added and summed.isdisjoint(node.outputs):
        return applied
    spec = find(node)
    if spec is None:
        return applied
    values = sums.values(spec, node)
    summed.update([values[name] for name in passes.added if name in values])
    asked = [title for name, title in zip(node.outputs, lowered.titles, strict=False) if name in summed]
    passed = (name for title in asked for name in passes.outputs.get(title, ()))
    summed.update([values[name] for name in passed if name in values])
    if passes.products.isdisjoint(asked):
        return applied
    known = sums.of(lowered.program)[0].outputs
    given = [known[title] for title in asked if title in known]
    products = frozenset(node for one in given for node in _products(one, values))
    return sums.with_products(applied, lowered, products) if products else applied


def passes_of(found: Passing) -> Passes:
    """What a program sums and passes on, in names alone."""
    outputs = {title: frozenset(given.inputs) for title, given in found.outputs.items()}
    products = frozenset(title for title, given in found.outputs.items() if given.products)
    return Passes(frozenset(found.added), outputs, products)


def _products(given: OutputSources, values: Mapping[str, str]) -> Iterator[Node]:
    """Products of two values; one value times itself is a square, which is no MAC however it is written."""
    for node, factors in given.products.items():
        names = [{values.get(name, name) for name in one} for one in factors]
        if not (len(names[0]) == 1 and all(one == names[0] for one in names)):
            yield node
