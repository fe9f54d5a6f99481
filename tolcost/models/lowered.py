"""An operator lowered for given inputs, its context, and the results for a node.

``lowering`` has the lowering itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    Cond,
    Poly,
    Symbol,
    substitute,
    substitute_cond,
    substituting,
    the_symbol,
)
from tolcost.atoms.nodes import ATOMS, Condition, Node, Program
from tolcost.catalogue.binding import decided_by_data, input_names, is_handed
from tolcost.catalogue.graph import HOLDS_A_TENSOR, Body, GraphNode, Inside, met, no_function
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Counts, Traffic, traffic
from tolcost.cost.count import count_macs
from tolcost.cost.macs import MacFlow, OutputSources, find_mac_flow
from tolcost.diagnostics import Diagnostic
from tolcost.elaborate import Seq, Tensor
from tolcost.elaborate.values import Missing
from tolcost.models.facts import UNKNOWN, Known, as_tensor, is_value, replaced


class MacFlowNames(NamedTuple):
    """The flow of products, in names: inputs added up, inputs that outputs copy, outputs with products."""

    added: frozenset[str]
    outputs: Mapping[str, frozenset[str]]
    products: frozenset[str]


class LoweredCost(Protocol):
    """The cost of an operator and the facts about its outputs, stored or computed on demand."""

    @property
    def counts(self) -> Counts:
        """The counts of the operator."""

    @property
    def traffic(self) -> Traffic:
        """The bytes that the operator moves."""

    @property
    def outputs(self) -> tuple[Known, ...]:
        """The facts about its outputs."""


class ComputedCost(NamedTuple):
    """The computed cost of an operator and the facts about its outputs."""

    counts: Counts
    traffic: Traffic
    outputs: tuple[Known, ...]


class Lowered(Struct, frozen=True, eq=False):
    """An operator lowered for certain inputs: its cost, and the facts about its outputs.

    ``equal`` has the lengths that it makes equal; ``data`` the symbols that only data decides.
    """

    op: str
    domain: str
    made: LoweredCost
    conditions: tuple[Condition, ...]
    equal: Mapping[Symbol, Poly]
    data: frozenset[Symbol]
    lowered: Program | Callable[[], Program]
    titles: tuple[str, ...] = ()
    """The names of the outputs in the program, by position."""
    choices: tuple[Cond, ...] = ()
    """Equations between lengths that would decide a branch otherwise, and were not assumed, in order."""
    inside: Inside = field(default_factory=dict)
    """The shapes of values in nested graphs."""
    forgets: bool = False
    """Whether a static output is known by its shape only."""
    open: tuple[Cond | tuple[Poly, ...], ...] = ()
    """What was asked and lengths left open: conditions, and whether the lengths of a shape are numbers."""
    lengths: Mapping[Symbol, Poly] = field(default_factory=dict)
    """The values of the program's lengths, where the program is general: see ``schemes``."""
    point: Mapping[Symbol, int] = field(default_factory=dict)
    """The values of the program's lengths, where all of them are numbers."""
    chain: tuple[Poly, ...] = ()
    """The stored depth of the program, as a maximum of forms."""
    level: int | None = None
    """The depth, where all lengths are numbers and it is known."""
    mac_flow: MacFlowNames | None = None
    """The flow of products through the program, where it is stored."""
    unproved: tuple[Condition, ...] = ()
    """Conditions at every coordinate that only a run can check; empty for an instance of a scheme."""
    unlisted: tuple[str, ...] = ()
    """Seq, also those of nested nodes, in types that ONNX does not list for the operator."""
    options: frozenset[str] = frozenset()
    """The inputs and outputs that the node has, and its attributes that are not 0, by name."""

    @property
    def is_instance(self) -> bool:
        """Whether its program is that of a scheme, with symbols for its lengths."""
        return bool(self.lengths or self.point)

    def put(self, form: Poly) -> Poly:
        """Substitute its lengths into a form of its program."""
        return substitute(form, {**self.lengths, **self.point}) if self.is_instance else form

    @property
    def counts(self) -> Counts:
        """The counts of the operator."""
        return self.made.counts

    @property
    def traffic(self) -> Traffic:
        """The bytes that the operator moves."""
        return self.made.traffic

    @property
    def outputs(self) -> tuple[Known, ...]:
        """The facts about its outputs."""
        return self.made.outputs

    @property
    def program(self) -> Program:
        """The lowered program; if only the cost is stored, the operator is lowered now."""
        return self.lowered if isinstance(self.lowered, Program) else self.lowered()


class Given(Struct, frozen=True):
    """The inputs of an operator, by position, and by name for nested graphs; and names for messages."""

    inputs: tuple[Known | None, ...]
    names: tuple[str, ...]
    around: Mapping[str, Known] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether the first input is known at compile time."""
        return bool(self.inputs) and is_value(self.inputs[0])


class Setting(Struct, frozen=True, eq=False):
    """The context of an operator: definitions and their versions.

    ``body_of`` returns the body of a node in a nested graph; ``assumed`` are equations between lengths that
    are assumed where they decide a branch.
    """

    library: Library
    opsets: Mapping[str, int]
    body_of: Callable[[GraphNode], Body | None] = no_function
    assumed: frozenset[Cond] = frozenset()


# ---- inputs of a definition ---------------------------------------------------------------


def arguments(spec: Spec, given: Given, graphs: bool) -> list[Known | None]:
    """Return inputs as a definition needs them: by value if it must know them, or if they are small."""
    declared = met(spec.head.takes, len(given.inputs))
    together = all(known is None or is_value(known) for known in given.inputs)
    found: list[Known | None] = []
    for n, known in enumerate(given.inputs):
        if known is None or isinstance(known, Missing):
            found.append(None)
        elif n < len(declared) and declared[n].kind == "static":
            told = None if declared[n].maybe_data else decided_by_data(known, given.names[n])
            found.append(told or known)
        else:
            found.append(known if graphs or is_handed(known, together) else as_tensor(known))
    return found


def options_of(node: GraphNode, spec: Spec, titles: Sequence[str]) -> frozenset[str]:
    """Return the inputs and outputs that a node has, and its attributes that are not 0, by name."""
    inputs = (
        name for name, given in zip(input_names(spec, len(node.inputs)), node.inputs, strict=False) if given
    )
    outputs = (title for title, given in zip(titles, node.outputs, strict=False) if given)
    attributes = (name for name, value in node.attributes.items() if value not in (ZERO, 0))
    return frozenset((*inputs, *outputs, *attributes))


def shapes_of(outputs: Sequence[Known]) -> Iterator[tuple[Poly, ...]]:
    """Yield the shapes of the tensors among outputs, also in sequences."""
    for known in outputs:
        if isinstance(known, Tensor):
            yield known.shape
        elif isinstance(known, Seq):
            yield from shapes_of(known.items)


def renamed(lowered: Lowered, by: Mapping[Symbol, Poly]) -> Lowered:
    """Rename symbols wherever the cost or an output mentions them."""
    put = substituting(by)
    made = ComputedCost(
        lowered.counts.map_forms(put),
        lowered.traffic.map_forms(put),
        tuple(replaced(known, by) for known in lowered.outputs),
    )
    return replace(
        lowered,
        made=made,
        conditions=tuple(replace(c, condition=substitute_cond(c.condition, by)) for c in lowered.conditions),
        equal={s: substitute(p, by) for s, p in lowered.equal.items() if s not in by},
        data=frozenset(the_symbol(by[s]) for s in lowered.data),
        inside={at: tuple(substitute(d, by) for d in shape) for at, shape in lowered.inside.items()},
    )


# === Results for a node of a model: the operators it applies, and operators that could not be costed.


HELD = Lowered(
    op=HOLDS_A_TENSOR[1],
    domain=HOLDS_A_TENSOR[0],
    made=ComputedCost(Counts({}, {}, dict.fromkeys(ATOMS, ZERO), ZERO, (), "exact"), Traffic({}, {}), ()),
    conditions=(),
    equal={},
    data=frozenset(),
    lowered=Program(HOLDS_A_TENSOR[1], (), (), ()),
)
"""A node that only holds a tensor: it computes nothing, and moves only parameters."""


Impossible = Literal["types", "shapes"]
"""The contradiction in a node, whatever its lengths: its types, or its shapes."""


class Uncosted(Struct, frozen=True, eq=False):
    """An operator that could not be costed: how often it is applied, why, and whether it has a definition.

    ``waits`` names the unknown input, if that is the reason; ``impossible`` is the contradiction that no
    lengths resolve.
    """

    op: str
    times: int
    why: Diagnostic
    defined: bool = True
    waits: str = ""
    impossible: Impossible | None = None


class Applied(Struct, frozen=True, eq=False):
    """The result for a node: operators with their multiplicities, and the fact numbers of its outputs.

    ``equal`` has the lengths that it makes equal, and those whose range it narrows; ``data`` is whether data
    decides part of the cost.
    """

    outputs: tuple[int, ...]
    parts: tuple[tuple[Lowered, int], ...]
    uncosted: tuple[Uncosted, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    data: bool = False


def not_costed(
    node: GraphNode, why: Diagnostic, defined: bool = True, impossible: Impossible | None = None
) -> Applied:
    """Return the result for a node about which nothing is known."""
    lacking = Uncosted(node.title, 1, why, defined, impossible=impossible)
    return Applied((UNKNOWN,) * len(node.outputs), (), (lacking,))


def is_anybodys(applied: Applied) -> bool:
    """Whether the result for a node contains no names from its model, so that another model can share it."""
    return not (applied.uncosted or applied.data) and not any(
        part.conditions or part.equal or part.choices or part.inside for part, _ in applied.parts
    )


def gathered(found: Iterable[Applied], outputs: tuple[int, ...], equal: Mapping[Symbol, Poly]) -> Applied:
    """Combine the results of several nodes."""
    parts: Counter[Lowered] = Counter()
    uncosted: dict[tuple[str, str], Uncosted] = {}
    for applied in found:
        for lowered, times in applied.parts:
            parts[lowered] += times
        for item in applied.uncosted:
            key = (item.op, item.why.message)
            before = uncosted.get(key)
            uncosted[key] = item if before is None else replace(before, times=before.times + item.times)
    data = any(lowered.data for lowered in parts)
    return Applied(outputs, tuple(parts.items()), tuple(uncosted.values()), equal, data)


# === Products that one node computes and another adds up are MACs, as if one node did both.
#
# A traversal from the end of a graph finds the values that are summed: inputs that a fold of a node adds
# up directly, and values that only pass through nodes on the way to it.


Find = Callable[[GraphNode], Spec | None]
"""Returns the definition of a node's operator."""


class Sums(Struct):
    """A memo of the flow of products in programs, and of nodes whose products are added up elsewhere."""

    passed: dict[Program, tuple[MacFlow, MacFlowNames]] = field(default_factory=dict)
    names: dict[tuple[Spec, int], list[str]] = field(default_factory=dict)
    counted: dict[tuple[Applied, frozenset[Node]], Applied] = field(default_factory=dict)

    def of(self, program: Program) -> tuple[MacFlow, MacFlowNames]:
        """Return the flow of products through a program, with nodes and in names alone."""
        if program not in self.passed:
            found = find_mac_flow(program)
            self.passed[program] = (found, mac_flow_names(found))
        return self.passed[program]

    def values(self, spec: Spec, node: GraphNode) -> dict[str, str]:
        """Return the names of a node's inputs, by their names in the operator's program."""
        key = (spec, len(node.inputs))
        if key not in self.names:
            self.names[key] = input_names(*key)
        return dict(zip(self.names[key], node.inputs, strict=False))

    def with_products(self, applied: Applied, lowered: Lowered, products: frozenset[Node]) -> Applied:
        """Return the result for a node with these of its products as MACs."""
        key = (applied, products)
        if key not in self.counted:
            macs = lowered.put(count_macs(lowered.program, products))
            counts = replace(lowered.counts, macs=macs)
            made = ComputedCost(counts, lowered.traffic, lowered.outputs)
            self.counted[key] = replace(applied, parts=((replace(lowered, made=made), 1),))
        return self.counted[key]


def with_sums(steps: Sequence[GraphNode], found: Sequence[Applied], find: Find) -> list[Applied]:
    """Count products that other nodes add up among the MACs of the nodes that compute them."""
    sums, summed = Sums(), set[str]()
    result: list[Applied] = []
    for node, applied in zip(reversed(steps), reversed(found), strict=True):
        result.append(_add_macs(sums, summed, node, applied, find))
    return result[::-1]


def _add_macs(sums: Sums, summed: set[str], node: GraphNode, applied: Applied, find: Find) -> Applied:
    lowered = applied.parts[0][0] if len(applied.parts) == 1 else None
    if lowered is None:
        return applied
    mac_flow = lowered.mac_flow or sums.of(lowered.program)[1]
    if not mac_flow.added and summed.isdisjoint(node.outputs):
        return applied
    spec = find(node)
    if spec is None:
        return applied
    values = sums.values(spec, node)
    summed.update([values[name] for name in mac_flow.added if name in values])
    asked = [title for name, title in zip(node.outputs, lowered.titles, strict=False) if name in summed]
    passed = (name for title in asked for name in mac_flow.outputs.get(title, ()))
    summed.update([values[name] for name in passed if name in values])
    if mac_flow.products.isdisjoint(asked):
        return applied
    known = sums.of(lowered.program)[0].outputs
    given = [known[title] for title in asked if title in known]
    products = frozenset(node for one in given for node in _products(one, values))
    return sums.with_products(applied, lowered, products) if products else applied


def mac_flow_names(found: MacFlow) -> MacFlowNames:
    """Reduce the flow of products through a program to names."""
    outputs = {title: frozenset(given.inputs) for title, given in found.outputs.items()}
    products = frozenset(title for title, given in found.outputs.items() if given.products)
    return MacFlowNames(frozenset(found.added), outputs, products)


def _products(given: OutputSources, values: Mapping[str, str]) -> Iterator[Node]:
    """Yield products of two values; a value times itself is a square, which is not a MAC in any notation."""
    for node, factors in given.products.items():
        names = [{values.get(name, name) for name in one} for one in factors]
        if not (len(names[0]) == 1 and all(one == names[0] for one in names)):
            yield node


# === A tensor that a node takes several times is read once.


def read_once(lowered: Lowered, program: Program, values: Mapping[str, str]) -> Lowered:
    """Recompute the traffic of a node that takes a value several times, so that it is read once.

    ``values`` has the names of its inputs by their names in the program.
    """
    first: dict[str, str] = {}
    names = {given.name: values.get(given.name) or given.name for given in program.inputs}
    same = {name: first[value] for name, value in names.items() if first.setdefault(value, name) != name}
    if not same:
        return lowered
    moved = traffic(program, tuple(noted.condition for noted in program.conditions), same)
    return replace(lowered, made=ComputedCost(lowered.counts, moved, lowered.outputs))
