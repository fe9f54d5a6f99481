"""Parameters of a model: the tensors that hold them, and the node that is the first to use each.

A parameter is an element of a tensor that does not depend on the inputs: of a tensor stored in the file, in a
graph, a node or a function, or of one that a node computes from indices and single numbers alone.  A tensor
computed from parameters is not counted as another parameter.  Indices, masks, scalars without dimensions, and
tensors that only decide shapes or are not used are not parameters.  Functions and nested graphs are analysed
in the same way, since the position of a node does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from tolcost.algebra import const
from tolcost.catalogue.graph import Graph, GraphNode, ModelFunction, Weight, first_output
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.facts import Known, ValueTable, as_tensor, is_value
from tolcost.models.functions import Inner
from tolcost.models.walking import MOST_NESTED, Walk, walk_of

_NEVER = ("int64", "bool", "string")
"""Tensors in these spaces are indices, masks and texts, not parameters."""

Root = tuple[object, str]
"""A source of parameters: a value, by its place and name.  Equal tensors are different sources."""

Roots = frozenset[Root]
_NONE: Roots = frozenset()


class Parameters(Struct, frozen=True):
    """Tensors that hold parameters, by the index of the graph's node that first uses them as data."""

    by_node: Mapping[int, tuple[Tensor, ...]]
    given: tuple[Tensor, ...]
    """Tensors that the model outputs unchanged and that no node uses."""
    shared: tuple[Tensor, ...] = ()
    """Tensors that the file stores once and several nodes of the graph use."""

    @property
    def tensors(self) -> Iterable[Tensor]:
        """All tensors that hold parameters."""
        return (*(tensor for some in self.by_node.values() for tensor in some), *self.given)


def parameters_of(cost: GraphCost) -> Parameters:
    """Find the parameters of a model."""
    graph = cost.model.graph
    finder = _Finder(cost)
    place = _Place((), (), cost.names, cost.model.opsets)
    finder.hold(graph, place)
    for n, step in enumerate(graph.nodes):
        finder.node = n
        finder.analyse_node(step, place)
    return finder.found(place.made_of(graph.outputs))


class _Place(Struct):
    """A graph or function under analysis; ``home`` identifies stored tensors, ``owner`` computed ones.

    ``fixed`` has the names of values that do not depend on inputs; ``carried`` maps a value to the sources of
    the parameters it is computed from.  ``deciding`` has names that only decide shapes; None where known
    values show that.
    """

    home: object
    owner: object
    names: ValueTable
    opsets: Mapping[str, int]
    fixed: set[str] = field(default_factory=lambda: {""})
    carried: dict[str, Roots] = field(default_factory=dict)
    deciding: frozenset[str] | None = None
    walk: Walk | None = None
    callers: tuple[int, ...] = ()

    def made_of(self, names: Iterable[str]) -> Roots:
        """Return the sources of the parameters that values are computed from."""
        return _NONE.union(*(self.carried.get(name, _NONE) for name in names))


class _Finder:
    """Visits the nodes of a model in order."""

    def __init__(self, cost: GraphCost) -> None:
        """Start with an empty result."""
        self.node = 0
        self._session = cost.session
        self._functions = cost.functions
        self._inner = Inner(self._functions, cost.session.library)
        self._sizes: dict[Root, Tensor] = {}
        self._first: dict[Root, int] = {}
        self._again: dict[Root, None] = {}
        """Sources that a second node of the graph uses."""
        self._held: set[Root] = set()
        """Sources that the file stores."""
        self._called: dict[object, tuple[tuple[Roots, bool], ...]] = {}

    def found(self, given: Roots) -> Parameters:
        """Return the tensors that nodes use as data or the model outputs; others only decide shapes."""
        by_node: dict[int, list[Tensor]] = {}
        for root, n in self._first.items():
            by_node.setdefault(n, []).append(self._sizes[root])
        others = [tensor for root, tensor in self._sizes.items() if root in given and root not in self._first]
        shared = [self._sizes[root] for root in self._again if root in self._held]
        return Parameters({n: tuple(some) for n, some in by_node.items()}, tuple(others), tuple(shared))

    def hold(self, graph: Graph, place: _Place) -> None:
        """Record the tensors stored in a graph."""
        for name, weight in graph.weights.items():
            place.fixed.add(name)
            place.carried[name] = self._record_stored((place.home, name), weight)

    def analyse_node(self, node: GraphNode, place: _Place) -> None:
        """Record the tensors that a node uses, computes and passes on."""
        if node.held is not None:
            held = self._record_stored((place.home, first_output(node.outputs)), node.held)
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
                self._record_computed(node, place)
        elif self._is_known(node, place):
            self._give(place, node.outputs, used, fixed=False)
        elif place.deciding is None or place.deciding.isdisjoint(node.outputs):
            self._use(used)

    # ---- sources of parameters ----

    def _record_stored(self, root: Root, weight: Weight) -> Roots:
        shape = weight.shape if weight.nonzero is None else (weight.nonzero,)
        tensor = Tensor(tuple(map(const, shape)), weight.space)
        self._held.add(root)
        return self._root(root, tensor)

    def _record_computed(self, node: GraphNode, place: _Place) -> None:
        """Record a tensor that a node computes from indices and single numbers alone."""
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
        """Whether all outputs of a node are known at compile time; then they can only decide shapes."""
        return place.deciding is None and all(is_value(place.names.known(o)) for o in node.outputs if o)

    # ---- graphs inside of nodes, and functions ----

    def _inside(self, graph: Graph, at: tuple[str, str], around: _Place) -> Roots:
        """Return the sources in the outputs of a nested graph; the graph itself uses them."""
        walk = walk_of(self._session, around.opsets, self._functions, around.callers)
        deciding = self._inner.deciding(graph.nodes, graph.outputs, around.opsets)
        home, owner = (around.home, *at), (around.owner, *at)
        place = _Place(home, owner, walk.names, around.opsets, deciding=deciding, walk=walk)
        place.callers = around.callers
        place.fixed, place.carried = set(around.fixed), dict(around.carried)
        for name in graph.free:
            if name in around.fixed:
                walk.names.define(name, around.names.number_of(name))
        for given in graph.inputs:
            place.fixed.discard(given.name)
            place.carried.pop(given.name, None)
        for weight in graph.weights.values():
            walk.hold(weight)
        self.hold(graph, place)
        for node in graph.nodes:
            self.analyse_node(node, place)
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
            self._called[key] = self._analyse_function(function, body, named, given, around)
        for name, (carried, fixed) in zip(node.outputs, self._called[key], strict=False):
            self._give(around, (name,), carried, fixed)

    def _analyse_function(
        self,
        function: ModelFunction,
        body: Sequence[GraphNode],
        named: Mapping[str, str],
        given: tuple[tuple[Roots, bool], ...],
        around: _Place,
    ) -> tuple[tuple[Roots, bool], ...]:
        """Return the sources of a function's outputs, and whether these depend on none of its inputs."""
        opsets = {**around.opsets, **function.opsets}
        walk = self._traverse_function(function, body, named, around) if around.deciding is None else None
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
                place.names.define(name, around.names.number_of(named[name]))
        for node in body:
            self.analyse_node(node, place)
        return tuple((place.carried.get(name, _NONE), name in place.fixed) for name in function.outputs)

    def _traverse_function(
        self, function: ModelFunction, body: Sequence[GraphNode], named: Mapping[str, str], around: _Place
    ) -> Walk | None:
        """Traverse a function with the facts about its inputs; None where that fails."""
        callers = (*around.callers, id(function))
        walk = walk_of(self._session, {**around.opsets, **function.opsets}, self._functions, callers)
        for name, outside in named.items():
            walk.names.define(name, around.names.number_of(outside))
        try:
            walk.run(body)
        except Rejected:  # the call of the function reports the reason
            return None
        return walk


def _tensor(known: Known | None) -> Tensor | None:
    found = None if known is None else as_tensor(known)
    return found if isinstance(found, Tensor) else None
