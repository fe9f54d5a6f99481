"""Graphs as our own types: the content of an ONNX file, validated, with nothing computed yet.

Protobuf is confined to the reader.  Elements of tensors stay in the file until they are needed; only tensors
small enough to decide a shape are read.
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
"""The largest rank of a tensor; larger ones are refused."""

MOST_NESTED_GRAPHS = 8
"""Limit on the nesting of graphs: the work of each level is repeated several times."""


class Declared(Struct, frozen=True):
    """A value as the model declares it: lengths as numbers, as names, or undeclared (None).

    ``shape`` is None if not even the rank is declared.  Files do not state the number of ``entries`` of a
    sequence: it is 1 unless the user says otherwise.  An ``optional`` value is assumed to be present.
    """

    name: str
    space: str
    shape: tuple[int | str | None, ...] | None
    sequence: bool = False
    entries: int = 1
    optional: bool = False


class Weight(Struct, frozen=True, eq=False):
    """A stored tensor: its shape and space, and its value if that is small.

    ``key`` identifies it among the stored tensors of nested graphs and of functions.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    array: Callable[[], Array]
    """Reads the elements."""
    value: Value | None = None
    nonzero: int | None = None
    """The number of stored elements, for a sparse tensor."""
    key: str = ""
    trained: bool | None = None
    """Whether it is a parameter of the exported module, if the exporter noted that."""


class Reference(Struct, frozen=True):
    """An attribute whose value is an argument of the surrounding function."""

    name: str


Attribute = Value | Weight | Reference
"""The value of a node's attribute, other than a graph."""

EMPTY_LIST = "list"


def attribute_kind(value: Attribute) -> str:
    """Return the kind of an attribute, as schemas name kinds; nothing where they have no name for it.

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
    """An operator applied in a graph.  An empty input or output name is an omitted one.

    Equal attributes have equal keys.  ``asked`` is the number of outputs that are used; ``free`` are the
    names that nested graphs take from outside.  ``held`` is the tensor of a node that only holds one.
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
    """The modules that the node comes from, if the exporter noted them."""

    @property
    def title(self) -> str:
        """The operator, with its domain unless that is ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    @property
    def path(self) -> tuple[str, ...]:
        """The scopes around the node: those that its exporter noted, else the first parts of its name.

        A name is split at ``/`` or, without any, at ``.``; a node without a name takes that of its first
        output.
        """
        if self.scope:
            return self.scope
        name = self.name or next((one for one in self.outputs if one), "")
        return tuple(part for part in name.split("/" if "/" in name else ".") if part)[:-1]

    @property
    def shown(self) -> str:
        """The node in a message."""
        return f"{self.op} {quoted(self.name)}" if self.name else self.op

    @property
    def label(self) -> str:
        """The prefix of the node's symbols: its name, or that of its first output.

        >>> GraphNode("Loop", "", "/decoder/Loop_1", (), (), {}).label
        'decoder_Loop_1'
        """
        return re.sub(r"\W+", "_", self.name or first_output(self.outputs) or self.op).strip("_")[-40:]

    def weights(self) -> Iterator[Weight]:
        """Yield the tensors stored in nested graphs, except scalars, which are parts of formulas."""
        for graph in self.graphs.values():
            yield from (weight for weight in graph.weights.values() if weight.shape)
            for node in graph.nodes:
                yield from node.held_weights()

    def held_weights(self) -> Iterator[Weight]:
        """Yield the tensor that the node itself holds, and those stored in nested graphs."""
        if self.held is not None and self.held.shape:
            yield self.held
        yield from self.weights()


HOLDS_A_TENSOR = ("", "Constant", "value")
"""The node that only holds a tensor, and the attribute for it.

It is named here because its tensor is a weight like any other: too large to be passed to a definition as a
value.
"""


def held_in(domain: str, op: str, attributes: Mapping[str, Attribute]) -> Weight | None:
    """Return the tensor of a node that only holds one."""
    if len(attributes) != 1 or (domain, op, *attributes) != HOLDS_A_TENSOR:
        return None
    (held,) = attributes.values()
    return held if isinstance(held, Weight) else None


def free_names(graphs: Mapping[str, Graph]) -> tuple[str, ...]:
    """Return the names that graphs take from outside."""
    return tuple(dict.fromkeys(name for graph in graphs.values() for name in graph.free))


class _Declaration(Protocol):
    """A declaration of one operand, or of all remaining ones."""

    @property
    def variadic(self) -> bool: ...


_D = TypeVar("_D", bound=_Declaration)


def met(declared: Iterable[_D], count: int) -> list[_D]:
    """Return the declaration for each of ``count`` operands; a variadic one covers all that remain."""
    found: list[_D] = []
    for one in declared:
        found.extend([one] * (count - len(found)) if one.variadic else [one])
    return found[:count]


# === Sorting nodes: each after those that compute its inputs.


def sort_nodes(nodes: Sequence[GraphNode], given: Collection[str] = ()) -> tuple[int, ...]:
    """Return node indices in an order in which all can run; nothing if they are in such an order already.

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
    """Append a node to an order, after everything it needs."""
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
    """Iterate over the nodes that compute a node's inputs, each once; the iterator keeps its position."""
    return iter(dict.fromkeys(maker[name] for name in (*node.inputs, *node.free) if name in maker))


def first_output(names: tuple[str, ...]) -> str:
    """Return the name that identifies a node: no other node of its graph computes a value of that name."""
    return next(filter(None, names), "")


class Graph(Struct, frozen=True, eq=False):
    """A graph: its inputs, stored tensors, nodes in order, and outputs.

    ``declared`` has the file's declarations of intermediate values; it is used only where nothing else is
    known. ``order`` is the position of each node in the file, if the file does not have them sorted.
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
        """The names that the graph uses and does not define: they belong to enclosing graphs."""
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
    """A function of nodes: names of its inputs and outputs, and default values of its attributes."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    graphs: Mapping[str, Graph]
    nodes: tuple[GraphNode, ...]
    opsets: Mapping[str, int]
    order: tuple[int, ...] = ()
    """The position of each node in the file, if the file does not have them sorted."""


class ModuleSize(NamedTuple):
    """The module that a model was exported from: the elements of its parameters and of its buffers.

    ``unfused`` counts the calls of an attention function that the exporter wrote as several operators;
    ``trains`` is 1 for a module in training mode.
    """

    parameters: int
    buffers: int
    unfused: int = 0
    trains: int = 0


class Model(Struct, frozen=True, eq=False):
    """A model: its graph, the versions of the operators it uses, and its own functions."""

    name: str
    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, ModelFunction] = field(default_factory=dict)
    module: ModuleSize | None = None

    @property
    def unsorted(self) -> Iterator[Graph | ModelFunction]:
        """Yield the graphs, nested ones too, and functions whose nodes the file has in another order."""
        bodies: list[Graph | ModelFunction] = [self.graph, *self.functions.values()]
        while bodies:
            body = bodies.pop(0)
            bodies += (graph for node in body.nodes for graph in node.graphs.values())
            if body.order:
                yield body


class Body(NamedTuple):
    """The body of a function that a graph calls; it sees nothing of its caller."""

    inputs: tuple[str, ...]
    nodes: tuple[GraphNode, ...]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]


Inside = dict[tuple[str, ...], tuple[Poly, ...]]
"""Shapes of values in nested graphs, by the names of graph and value.

For deeper nesting, the first output of the node that holds the graph comes between.
"""


def no_function(_: GraphNode) -> None:
    """Treat no node as a call of a function."""
    return None
