"""Graphs as our own types: what stands in a file of ONNX, checked for sense, nothing computed yet.

Protobuf stops at the reader.  Elements of tensors stay where the file has them until somebody asks; only what
is small enough to decide a shape is looked into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.catalogue.types import Array
from tolcost.diagnostics import quoted, refuse
from tolcost.elaborate.values import Value, Vec

MOST_RANK = 64
"""A tensor with more dimensions is refused."""

MOST_NESTED_GRAPHS = 8
"""How deeply graphs may stand inside of one another: what each level does is looked at several times."""


class Declared(Struct, frozen=True):
    """A value as the model declares it: lengths by number, by name, or not at all (None).

    ``shape`` is None where not even the rank is declared.  No file says how many ``entries`` a sequence has:
    it is taken to have one, unless the user says otherwise.  What is ``optional`` is taken to be given.
    """

    name: str
    space: str
    shape: tuple[int | str | None, ...] | None
    sequence: bool = False
    entries: int = 1
    optional: bool = False


class Weight(Struct, frozen=True, eq=False):
    """A tensor that a file holds: its shape and space, and its value where that is small.

    ``key`` names it among all that the file holds in graphs inside of nodes, and in functions.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    array: Callable[[], Array]
    """Reads the elements."""
    value: Value | None = None
    nonzero: int | None = None
    """How many elements are stored, of a sparse tensor."""
    key: str = ""


class Reference(Struct, frozen=True):
    """An attribute that is what the function around it is given under a name."""

    name: str


Attribute = Value | Weight | Reference
"""What an attribute of a node is, other than a graph."""

EMPTY_LIST = "list"


def attribute_kind(value: Attribute) -> str:
    """The kind of an attribute, as schemas call kinds; nothing where they have no word for it.

    >>> from tolcost.algebra import const
    >>> attribute_kind(Vec((2,), (const(1), const(2)))), attribute_kind("SAME_UPPER")
    ('ints', 'string')
    """
    match value:
        case Poly():
            return "int"
        case Fraction() | float():
            return "float"
        case str():
            return "string"
        case Vec(items=items):
            kinds = {attribute_kind(item) for item in items}
            return f"{kinds.pop()}s" if len(kinds) == 1 else "" if kinds else EMPTY_LIST
        case Weight(nonzero=nonzero):
            return "tensor" if nonzero is None else "sparse_tensor"
        case _:
            return ""


class GraphNode(NamedTuple):
    """An operator applied in a graph.  An empty input or output name is one left out.

    Equal attributes have equal keys.  ``asked`` is how many outputs are asked for; ``free`` are the names
    that graphs inside of the node take from around it.  ``held`` is the tensor of a node that only holds one.
    """

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    key: bytes = b""
    asked: int = 1
    free: tuple[str, ...] = ()
    graphs: Mapping[str, Graph] = {}
    overload: str = ""
    held: Weight | None = None
    scope: tuple[str, ...] = ()
    """The modules that it comes from, where the exporter noted them."""

    @property
    def title(self) -> str:
        """The operator, with its domain where that is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    @property
    def shown(self) -> str:
        """The node in a message."""
        return f"{self.op} {quoted(self.name)}" if self.name else self.op

    @property
    def label(self) -> str:
        """What symbols of the node are called after: its name, or its first output's.

        >>> GraphNode("Loop", "", "/decoder/Loop_1", (), (), {}).label
        'decoder_Loop_1'
        """
        return re.sub(r"\W+", "_", self.name or first_output(self.outputs) or self.op).strip("_")[-40:]

    def weights(self) -> Iterator[Weight]:
        """The tensors that graphs inside of the node hold; a number of no dimension is part of a formula."""
        for graph in self.graphs.values():
            yield from (weight for weight in graph.weights.values() if weight.shape)
            for node in graph.nodes:
                yield from node.held_weights()

    def held_weights(self) -> Iterator[Weight]:
        """The tensor that the node itself holds, and those that graphs inside of it do."""
        if self.held is not None and self.held.shape:
            yield self.held
        yield from self.weights()


HOLDS_A_TENSOR = ("", "Constant", "value")
"""The node that only holds a tensor, and in which attribute.  It is named here because what it holds is a
weight like any other: one that is too large to be handed to a definition as a value."""


def held_in(domain: str, op: str, attributes: Mapping[str, Attribute]) -> Weight | None:
    """The tensor of a node that only holds one."""
    if len(attributes) != 1 or (domain, op, *attributes) != HOLDS_A_TENSOR:
        return None
    (held,) = attributes.values()
    return held if isinstance(held, Weight) else None


def free_names(graphs: Mapping[str, Graph]) -> tuple[str, ...]:
    """The names that graphs take from around them."""
    return tuple(dict.fromkeys(name for graph in graphs.values() for name in graph.free))


class _Declaration(Protocol):
    """What is declared of an operand, or of all that are left."""

    @property
    def variadic(self) -> bool: ...


_D = TypeVar("_D", bound=_Declaration)


def met(declared: Iterable[_D], count: int) -> list[_D]:
    """The declaration that each of so many operands meets; a variadic one takes all that are left."""
    found: list[_D] = []
    for one in declared:
        found.extend([one] * (count - len(found)) if one.variadic else [one])
    return found[:count]


# === Sorting nodes: each after those that compute its inputs.


def sort_nodes(nodes: Sequence[GraphNode], given: Collection[str] = ()) -> tuple[int, ...]:
    """Places of nodes in an order in which all can run; nothing where they are in one already.

    A node moves to directly before the first node that needs it, and the others keep their order.  ``given``
    are names that no node computes.

    >>> def node(given, gives):
    ...     return GraphNode("Relu", "", "", (given,), (gives,), {})
    >>> sort_nodes((node("x", "a"), node("c", "y"), node("a", "b"), node("a", "c")))
    (0, 3, 1, 2)
    """
    if _is_sorted(nodes):
        return ()
    computed = ((name, n) for n in reversed(range(len(nodes))) for name in nodes[n].outputs)
    maker = {name: n for name, n in computed if name and name not in given}
    order: dict[int, None] = {}
    for first in range(len(nodes)):
        _place_after_makers(nodes, maker, first, order)
    return () if all(n == place for place, n in enumerate(order)) else tuple(order)


def _is_sorted(nodes: Iterable[GraphNode]) -> bool:
    used: set[str] = set()
    for node in nodes:
        used.update(node.inputs)
        used.update(node.free)
        if not used.isdisjoint(filter(None, node.outputs)):
            return False
    return True


def _place_after_makers(
    nodes: Sequence[GraphNode], maker: Mapping[str, int], first: int, order: dict[int, None]
) -> None:
    """Add a node to an order, behind all that it needs."""
    waiting = {first: _makers(nodes[first], maker)}
    while waiting:
        here = next(reversed(waiting))
        needed = next((n for n in waiting[here] if n not in order), None)
        if here in order or needed is None:
            order[here] = None
            del waiting[here]
        elif needed in waiting:
            message = f"{nodes[here].shown} uses an output of {nodes[needed].shown}, which depends on its own"
            refuse("T0676", message, hint="no order of the nodes can run: they form a cycle")
        else:
            waiting[needed] = _makers(nodes[needed], maker)


def _makers(node: GraphNode, maker: Mapping[str, int]) -> Iterator[int]:
    """The nodes that compute what a node uses, each once; the iterator remembers which were looked at."""
    return iter(dict.fromkeys(maker[name] for name in (*node.inputs, *node.free) if name in maker))


def first_output(names: tuple[str, ...]) -> str:
    """What a node is known by: no other node of its graph gives a value of that name."""
    return next(filter(None, names), "")


class Graph(Struct, frozen=True, eq=False):
    """A graph: what it is given, what it holds, its nodes in order, what it gives.

    ``declared`` is what the file says of values in between; it is used only where nothing is known.
    ``order`` is the place of each node in the file, where the file does not have them sorted.
    """

    name: str
    inputs: tuple[Declared, ...]
    weights: Mapping[str, Weight]
    nodes: tuple[GraphNode, ...]
    outputs: tuple[str, ...]
    declared: Mapping[str, Declared] = field(default_factory=dict)
    order: tuple[int, ...] = ()

    @property
    def free(self) -> tuple[str, ...]:
        """The names that the graph uses and does not define: they belong to the graphs around it."""
        defined = {given.name for given in self.inputs} | set(self.weights)
        free: dict[str, None] = {}
        for node in self.nodes:
            used = (*node.inputs, *node.free)
            free.update(dict.fromkeys(name for name in used if name and name not in defined))
            defined.update(node.outputs)
        free.update(dict.fromkeys(name for name in self.outputs if name not in defined))
        return tuple(free)


FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


class ModelFunction(Struct, frozen=True, eq=False):
    """A function of nodes: names of what goes in and out, and the attributes it has by itself."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    graphs: Mapping[str, Graph]
    nodes: tuple[GraphNode, ...]
    opsets: Mapping[str, int]
    order: tuple[int, ...] = ()
    """The place of each node in the file, where the file does not have them sorted."""


class ModuleSize(NamedTuple):
    """The module that a model was exported from: elements of its parameters and of its buffers.

    ``unfused`` counts the calls of an attention function that the exporter wrote as several operators.
    """

    parameters: int
    buffers: int
    unfused: int = 0


class Model(Struct, frozen=True, eq=False):
    """A model: its graph, the versions of the operators it uses, and its own functions."""

    name: str
    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, ModelFunction] = field(default_factory=dict)
    module: ModuleSize | None = None

    @property
    def unsorted(self) -> Iterator[Graph | ModelFunction]:
        """Graphs, those inside of nodes too, and functions whose nodes are in another order in the file."""
        bodies: list[Graph | ModelFunction] = [self.graph, *self.functions.values()]
        while bodies:
            body = bodies.pop(0)
            bodies += (graph for node in body.nodes for graph in node.graphs.values())
            if body.order:
                yield body


class Body(NamedTuple):
    """The body of a function that a graph calls; it sees nothing of where it is called."""

    inputs: tuple[str, ...]
    nodes: tuple[GraphNode, ...]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]


Inside = dict[tuple[str, ...], tuple[Poly, ...]]
"""Shapes of values in graphs: by the name of the graph and of the value, for graphs inside of a node of the
graph with that node's first output between."""


def no_function(_: GraphNode) -> None:
    """No node calls a function."""
    return None
