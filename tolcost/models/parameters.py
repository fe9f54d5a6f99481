"""Which tensors of a model hold parameters, and which node is the first to use each.

A parameter is an element of a tensor that does not depend on the inputs: one that the file holds, in a
graph, a node or a function, or one that a node makes of indices and single numbers alone.  What is made of
parameters is no other parameter.  Indices, masks, single numbers of no dimension, what only decides shapes
and what nothing uses are none.  Functions and graphs inside of nodes are looked into in the same way: it does
not matter where nodes stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from tolcost.algebra import const
from tolcost.catalogue.graph import Graph, GraphNode, ModelFunction, Weight, first_output
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.facts import Known, Names, as_tensor, is_value
from tolcost.models.functions import Inner
from tolcost.models.walking import MOST_NESTED, Walk, walk_of

_NEVER = ("int64", "bool", "string")
"""Tensors of these are indices, masks and texts, not parameters."""

Root = tuple[object, str]
"""What holds parameters: a value, by where it stands and its name.  Equal tensors are different ones."""

Roots = frozenset[Root]
_NONE: Roots = frozenset()


class Parameters(Struct, frozen=True):
    """Tensors that hold parameters; by place those that a node of the graph is the first to use on data."""

    by_node: Mapping[int, tuple[Tensor, ...]]
    given: tuple[Tensor, ...]
    """What the model gives as it is, and no node uses."""
    shared: tuple[Tensor, ...] = ()
    """Tensors that the file holds once, and several nodes of the graph use."""

    @property
    def tensors(self) -> Iterable[Tensor]:
        """All of them."""
        return (*(tensor for some in self.by_node.values() for tensor in some), *self.given)


def parameters_of(cost: GraphCost) -> Parameters:
    """What a model holds."""
    graph = cost.model.graph
    finder = _Finder(cost)
    place = _Place((), (), cost.names, cost.model.opsets)
    finder.hold(graph, place)
    for n, step in enumerate(graph.nodes):
        finder.node = n
        finder.look_at(step, place)
    return finder.found(place.made_of(graph.outputs))


class _Place(Struct):
    """A graph or a function that is looked at: ``home`` for what it holds, ``owner`` for what it makes.

    ``fixed`` are the names of values that do not depend on inputs, ``carried`` what holds the parameters that
    a value is made of.  ``deciding`` are names of what only decides shapes; None where what is known tells.
    """

    home: object
    owner: object
    names: Names
    opsets: Mapping[str, int]
    fixed: set[str] = field(default_factory=lambda: {""})
    carried: dict[str, Roots] = field(default_factory=dict)
    deciding: frozenset[str] | None = None
    walk: Walk | None = None
    callers: tuple[int, ...] = ()

    def made_of(self, names: Iterable[str]) -> Roots:
        """What holds the parameters that values are made of."""
        return _NONE.union(*(self.carried.get(name, _NONE) for name in names))


class _Finder:
    """Goes through the nodes of a model in order."""

    def __init__(self, cost: GraphCost) -> None:
        """Start with nothing found."""
        self.node = 0
        self._session = cost.session
        self._functions = cost.functions
        self._inner = Inner(self._functions, cost.session.library)
        self._sizes: dict[Root, Tensor] = {}
        self._first: dict[Root, int] = {}
        self._again: dict[Root, None] = {}
        """What a second node of the graph uses."""
        self._held: set[Root] = set()
        """What the file holds."""
        self._called: dict[object, tuple[tuple[Roots, bool], ...]] = {}

    def found(self, given: Roots) -> Parameters:
        """All that nodes use on data or the model gives; the rest decides shapes, or nothing at all."""
        by_node: dict[int, list[Tensor]] = {}
        for root, n in self._first.items():
            by_node.setdefault(n, []).append(self._sizes[root])
        others = [tensor for root, tensor in self._sizes.items() if root in given and root not in self._first]
        shared = [self._sizes[root] for root in self._again if root in self._held]
        return Parameters({n: tuple(some) for n, some in by_node.items()}, tuple(others), tuple(shared))

    def hold(self, graph: Graph, place: _Place) -> None:
        """Know what a graph holds."""
        for name, weight in graph.weights.items():
            place.fixed.add(name)
            place.carried[name] = self._holding((place.home, name), weight)

    def look_at(self, node: GraphNode, place: _Place) -> None:
        """See what a node uses, makes and passes on."""
        if node.held is not None:
            held = self._holding((place.home, first_output(node.outputs)), node.held)
            self._give(place, node.outputs[:1], held, fixed=True)
            return
        function = self._functions.called(node)
        if function is not None:
            self._call(node, function, place)
            return
        fixed = place.fixed.issuperset(node.inputs) and place.fixed.issuperset(node.free)
        if fixed and place.walk is not None:
            place.walk.follow(node)
        static = self._inner.demanded(node, place.opsets)
        used = place.made_of(name for name, must in zip(node.inputs, static, strict=False) if not must)
        for name, graph in node.graphs.items():
            used |= self._inside(graph, (first_output(node.outputs), name), place)
        if fixed:
            self._give(place, node.outputs, used, fixed=True)
            if not used:
                self._made(node, place)
        elif self._is_known(node, place):
            self._give(place, node.outputs, used, fixed=False)
        elif place.deciding is None or place.deciding.isdisjoint(node.outputs):
            self._use(used)

    # ---- what holds parameters ----

    def _holding(self, root: Root, weight: Weight) -> Roots:
        shape = weight.shape if weight.nonzero is None else (weight.nonzero,)
        tensor = Tensor(tuple(map(const, shape)), weight.space)
        self._held.add(root)
        return self._root(root, tensor)

    def _made(self, node: GraphNode, place: _Place) -> None:
        """What is made of indices and single numbers alone."""
        for name in filter(None, node.outputs):
            tensor = _tensor(place.names.known(name))
            if tensor is not None:
                place.carried[name] = self._root((place.owner, name), tensor)

    def _root(self, root: Root, tensor: Tensor) -> Roots:
        if tensor.space in _NEVER or not tensor.shape:
            return _NONE
        self._sizes.setdefault(root, tensor)
        return frozenset((root,))

    def _give(self, place: _Place, names: Iterable[str], carried: Roots, fixed: bool) -> None:
        for name in filter(None, names):
            place.carried[name] = carried
            if fixed:
                place.fixed.add(name)

    def _use(self, roots: Roots) -> None:
        for root in roots:
            if self._first.setdefault(root, self.node) != self.node:
                self._again[root] = None

    def _is_known(self, node: GraphNode, place: _Place) -> bool:
        """Whether all that a node gives is known before the model runs: it decides shapes, if anything."""
        return place.deciding is None and all(is_value(place.names.known(o)) for o in node.outputs if o)

    # ---- graphs inside of nodes, and functions ----

    def _inside(self, graph: Graph, at: tuple[str, str], around: _Place) -> Roots:
        """What a graph inside of a node gives of parameters; what it uses by itself is used."""
        walk = walk_of(self._session, around.opsets, self._functions, around.callers)
        deciding = self._inner.deciding(graph.nodes, graph.outputs, around.opsets)
        home, owner = (around.home, *at), (around.owner, *at)
        place = _Place(home, owner, walk.names, around.opsets, deciding=deciding, walk=walk)
        place.callers = around.callers
        place.fixed, place.carried = set(around.fixed), dict(around.carried)
        for name in graph.free:
            if name in around.fixed:
                walk.names.meet(name, around.names.number_of(name))
        for given in graph.inputs:
            place.fixed.discard(given.name)
            place.carried.pop(given.name, None)
        for weight in graph.weights.values():
            walk.hold(weight)
        self.hold(graph, place)
        for node in graph.nodes:
            self.look_at(node, place)
        passed = place.made_of(graph.outputs)
        self._use(passed)
        return passed

    def _call(self, node: GraphNode, function: ModelFunction, around: _Place) -> None:
        body = self._functions.nodes(function, node)
        if id(function) in around.callers or len(around.callers) >= MOST_NESTED:
            self._use(around.made_of(node.inputs))
            return
        named = dict(zip(function.inputs, (*node.inputs, *[""] * len(function.inputs)), strict=False))
        given = tuple((around.carried.get(name, _NONE), name in around.fixed) for name in named.values())
        numbers = tuple(around.names.number_of(name) for name in named.values())
        key = (id(body), given, numbers, around.deciding is None)
        if key not in self._called:
            self._called[key] = self._looked_into(function, body, named, given, around)
        for name, (carried, fixed) in zip(node.outputs, self._called[key], strict=False):
            self._give(around, (name,), carried, fixed)

    def _looked_into(
        self,
        function: ModelFunction,
        body: Sequence[GraphNode],
        named: Mapping[str, str],
        given: tuple[tuple[Roots, bool], ...],
        around: _Place,
    ) -> tuple[tuple[Roots, bool], ...]:
        """What the outputs of a function are made of, and whether they depend on nothing that it is given."""
        opsets = {**around.opsets, **function.opsets}
        walk = self._walked(function, body, named, around) if around.deciding is None else None
        names = walk.names if walk else around.names
        place = _Place(id(function), (id(body), given), names, opsets)
        place.callers = (*around.callers, id(function))
        place.fixed |= {name for name, (_, fixed) in zip(named, given, strict=True) if fixed}
        place.carried = {name: carried for name, (carried, _) in zip(named, given, strict=True)}
        if walk is None:
            place.walk = walk_of(self._session, opsets, self._functions, place.callers)
            place.names, place.deciding = (
                place.walk.names,
                self._inner.deciding(body, function.outputs, opsets),
            )
            for name in place.fixed.intersection(named):
                place.names.meet(name, around.names.number_of(named[name]))
        for node in body:
            self.look_at(node, place)
        return tuple((place.carried.get(name, _NONE), name in place.fixed) for name in function.outputs)

    def _walked(
        self, function: ModelFunction, body: Sequence[GraphNode], named: Mapping[str, str], around: _Place
    ) -> Walk | None:
        """What is known of the values in a function; None where it cannot be walked."""
        callers = (*around.callers, id(function))
        walk = walk_of(self._session, {**around.opsets, **function.opsets}, self._functions, callers)
        for name, outside in named.items():
            walk.names.meet(name, around.names.number_of(outside))
        try:
            walk.run(body)
        except Rejected:  # why is told where the function is called
            return None
        return walk


def _tensor(known: Known | None) -> Tensor | None:
    found = None if known is None else as_tensor(known)
    return found if isinstance(found, Tensor) else None
