"""What an operator of a graph is lowered to, what it is given, and where it stands.

How it is lowered is in ``lowering``.
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
from tolcost.cost.count import OutputSources, Passing, count_macs, passing
from tolcost.diagnostics import Diagnostic
from tolcost.elaborate import Inputs, Tensor
from tolcost.elaborate.values import Missing
from tolcost.models.facts import UNKNOWN, Known, as_tensor, is_value, replaced


class Passes(NamedTuple):
    """The inputs that a program adds up, those that its outputs are, and the outputs that have products."""

    added: frozenset[str]
    outputs: Mapping[str, frozenset[str]]
    products: frozenset[str]


class Made(Protocol):
    """What an operator costs, and what is known of its outputs: told, or made when it is asked for."""

    @property
    def counts(self) -> Counts:
        """What is counted."""

    @property
    def traffic(self) -> Traffic:
        """What moves."""

    @property
    def outputs(self) -> tuple[Known, ...]:
        """What is known of its outputs."""


class Told(NamedTuple):
    """What an operator costs, and what is known of its outputs."""

    counts: Counts
    traffic: Traffic
    outputs: tuple[Known, ...]


class Lowered(Struct, frozen=True, eq=False):
    """An operator lowered for certain inputs: what it costs, and what is known of its outputs.

    ``equal`` are lengths that it makes equal; ``data`` the symbols that only data decides.
    """

    op: str
    domain: str
    made: Made
    conditions: tuple[Condition, ...]
    equal: Mapping[Symbol, Poly]
    data: frozenset[Symbol]
    lowered: Program | Callable[[], Program]
    titles: tuple[str, ...] = ()
    """What the outputs are called in the program, place by place."""
    choices: tuple[Cond, ...] = ()
    """Equations between lengths that decide a branch and were not taken to hold, in order."""
    inside: Inside = field(default_factory=dict)
    """The shapes of the values in graphs inside."""
    forgets: bool = False
    """Whether an output that is static is known by its shape only."""
    open: tuple[Cond, ...] = ()
    """Conditions on lengths that were asked for and could not be decided."""
    lengths: Mapping[Symbol, Poly] = field(default_factory=dict)
    """What stands for lengths in the program, where that is a general one: see ``schemes``."""
    point: Mapping[Symbol, int] = field(default_factory=dict)
    """The same where all of them are numbers."""
    chain: tuple[Poly, ...] = ()
    """The depth of the program, where that is stored: the largest of these."""
    level: int | None = None
    """The depth, where that is known and all lengths are numbers."""
    passes: Passes | None = None
    """What it sums and passes on, where that is stored."""
    unproved: tuple[Condition, ...] = ()
    """What must hold at every coordinate, and only a run tells; of a scheme that is used, nothing."""
    unlisted: tuple[str, ...] = ()
    """Inputs in types that ONNX does not list for the operator, or for those in graphs inside."""

    @property
    def is_instance(self) -> bool:
        """Whether its program is that of a scheme, with symbols for its lengths."""
        return bool(self.lengths or self.point)

    def put(self, form: Poly) -> Poly:
        """Put what its lengths are into a form of its program."""
        return substitute(form, {**self.lengths, **self.point}) if self.is_instance else form

    @property
    def counts(self) -> Counts:
        """What is counted."""
        return self.made.counts

    @property
    def traffic(self) -> Traffic:
        """What moves."""
        return self.made.traffic

    @property
    def outputs(self) -> tuple[Known, ...]:
        """What is known of its outputs."""
        return self.made.outputs

    @property
    def program(self) -> Program:
        """What it is lowered to; where only the cost is stored, it is lowered now."""
        return self.lowered if isinstance(self.lowered, Program) else self.lowered()


class Given(Struct, frozen=True):
    """What an operator is applied to: by place, by name for graphs inside; and names to tell of."""

    inputs: tuple[Known | None, ...]
    names: tuple[str, ...]
    around: Mapping[str, Known] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether the first input is known before running."""
        return bool(self.inputs) and is_value(self.inputs[0])


class Setting(Struct, frozen=True, eq=False):
    """Where an operator is applied: definitions and their versions.

    ``body_of`` says what graphs inside of it node; ``assumed`` are equations between lengths that are taken
    to hold where they decide a branch.
    """

    library: Library
    opsets: Mapping[str, int]
    body_of: Callable[[GraphNode], Body | None] = no_function
    assumed: frozenset[Cond] = frozenset()


# ---- what a definition is given -----------------------------------------------------------


def arguments(spec: Spec, given: Given, graphs: bool) -> list[Known | None]:
    """Inputs as a definition wants them: by value where it must know them, or where they are small."""
    declared = met(spec.head.takes, len(given.inputs))
    together = all(known is None or is_value(known) for known in given.inputs)
    found: list[Known | None] = []
    for n, known in enumerate(given.inputs):
        if known is None or isinstance(known, Missing):
            found.append(None)
        elif n < len(declared) and declared[n].kind == "static":
            told = None if declared[n].late else decided_by_data(known, given.names[n])
            found.append(told or known)
        else:
            found.append(known if graphs or is_handed(known, together) else as_tensor(known))
    return found


def shapes_of(outputs: Sequence[Known]) -> Iterator[tuple[Poly, ...]]:
    """The shapes of the tensors among outputs, those in sequences included."""
    for known in outputs:
        if isinstance(known, Tensor):
            yield known.shape
        elif isinstance(known, Inputs):
            yield from shapes_of(known.items)


def renamed(lowered: Lowered, by: Mapping[Symbol, Poly]) -> Lowered:
    """Put symbols in place of others, wherever the cost or an output mentions them."""
    put = substituting(by)
    made = Told(
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


# === What a node of a model comes to: operators that are applied, and what could not be costed.


HELD = Lowered(
    op=HOLDS_A_TENSOR[1],
    domain=HOLDS_A_TENSOR[0],
    made=Told(Counts({}, {}, dict.fromkeys(ATOMS, ZERO), ZERO, (), "exact"), Traffic({}, {}), ()),
    conditions=(),
    equal={},
    data=frozenset(),
    lowered=Program(HOLDS_A_TENSOR[1], (), (), ()),
)
"""A node that only holds a tensor: nothing is computed, and nothing moves that is no parameter."""


Impossible = Literal["types", "shapes"]
"""Whether the types of a node contradict its operator, or the shapes do."""


class Uncosted(Struct, frozen=True, eq=False):
    """An operator that could not be costed, how often it is applied, why, and whether it has a definition.

    ``waits`` is its input of which nothing is known, where that is the reason; ``impossible`` says of what no
    length can make the node right.
    """

    op: str
    times: int
    why: Diagnostic
    defined: bool = True
    waits: str = ""
    impossible: Impossible | None = None


class Applied(Struct, frozen=True, eq=False):
    """What a node comes to: operators with how often each is applied, and numbers of what it gives.

    ``equal`` are lengths that it makes equal, and those that it needs to be larger, as lengths that are;
    ``data`` tells whether only data decides something.
    """

    outputs: tuple[int, ...]
    parts: tuple[tuple[Lowered, int], ...]
    uncosted: tuple[Uncosted, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    data: bool = False


def not_costed(
    node: GraphNode, why: Diagnostic, defined: bool = True, impossible: Impossible | None = None
) -> Applied:
    """A node of which nothing is known."""
    lacking = Uncosted(node.title, 1, why, defined, impossible=impossible)
    return Applied((UNKNOWN,) * len(node.outputs), (), (lacking,))


def is_anybodys(applied: Applied) -> bool:
    """Whether a node came to what it does for no reason that has the name of something in its model."""
    return not (applied.uncosted or applied.data) and not any(
        part.conditions or part.equal or part.choices or part.inside for part, _ in applied.parts
    )


def gathered(found: Iterable[Applied], outputs: tuple[int, ...], equal: Mapping[Symbol, Poly]) -> Applied:
    """Several nodes as one."""
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


# === Products that one node computes and another adds up are multiply–accumulates, as if one node did both.
#
# Which values of a graph are summed is found from its end: those that a fold of a node adds up directly, and
# those that only pass through nodes on the way there.


Find = Callable[[GraphNode], Spec | None]
"""The definition of a node's operator."""


class Sums(Struct):
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
            macs = lowered.put(count_macs(lowered.program, products))
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


# === A tensor that a node is given at several places is read once.


def read_once(lowered: Lowered, program: Program, values: Mapping[str, str]) -> Lowered:
    """What a node comes to, by its program, where it need not read twice what it is given twice.

    ``values`` are the names of what it is given, by what its program calls them.
    """
    first: dict[str, str] = {}
    names = {given.name: values.get(given.name) or given.name for given in program.inputs}
    same = {name: first[value] for name, value in names.items() if first.setdefault(value, name) != name}
    if not same:
        return lowered
    moved = traffic(program, tuple(noted.condition for noted in program.conditions), same)
    return replace(lowered, made=Told(lowered.counts, moved, lowered.outputs))
