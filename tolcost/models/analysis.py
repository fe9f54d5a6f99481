"""The cost of a whole graph: every node by the definition of its operator.

Walking the nodes in order, each is lowered with what is known of its inputs: a shape and a
space, or a value where that is static.  Shapes and static values of its outputs come from the
same definition, so that every later shape is a formula in the dimensions of the model's
inputs.  Equal nodes of equal shapes are lowered once, also across models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tolcost.algebra import AlgebraBudget, Poly, Symbol, const, length, substitute, symbols_of
from tolcost.atoms.nodes import Condition
from tolcost.catalogue.binding import Argument, bind, formals
from tolcost.catalogue.graphs import Surroundings, free_names, graph_functions
from tolcost.catalogue.nodes import Node, node_of
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Counts, Traffic, count, traffic
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Elaborated, Inputs, Tensor, elaborate
from tolcost.elaborate.values import Cast, Data, Missing, Seq, Value, Vec, View, is_static
from tolcost.models.reading import Declared, Function, Model, Weight

Known = Tensor | Inputs | Value
"""What is known of a value in a graph: a shape and a space, or the value itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """An operator lowered for certain inputs: its cost, and what is known of its outputs."""

    counts: Counts
    traffic: Traffic
    outputs: tuple[Known, ...]
    conditions: tuple[Condition, ...]
    equal: Mapping[Symbol, Poly]


@dataclass(frozen=True, slots=True, eq=False)
class NodeCost:
    """What one node costs; ``problem`` says why where that is not known."""

    node: Node
    lowered: Lowered | None
    problem: Diagnostic | None = None
    inside: tuple[NodeCost, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GraphCost:
    """What the nodes of a graph cost, one by one, and what is known of all its values."""

    nodes: tuple[NodeCost, ...]
    values: Mapping[str, Known]
    equal: Mapping[Symbol, Poly]
    dimensions: Mapping[str, Poly]


@dataclass(slots=True)
class Cache:
    """Operators lowered so far, by operator, attributes and what is known of the inputs."""

    lowered: dict[object, Lowered | Diagnostic] = field(default_factory=dict)


@dataclass(slots=True)
class Walk:
    """The state of walking one graph."""

    model: Model
    library: Library
    cache: Cache
    values: dict[str, Known] = field(default_factory=dict)
    equal: dict[Symbol, Poly] = field(default_factory=dict)
    dimensions: dict[str, Poly] = field(default_factory=dict)


def analyze_graph(
    model: Model, library: Library, cache: Cache, dims: Mapping[str, int] | None = None
) -> GraphCost:
    """Walk a model's graph."""
    walk = Walk(model, library, cache)
    for declared in model.graph.inputs:
        walk.values[declared.name] = _input(walk, declared, dims or {})
    walk.values.update((w.name, _weight(w)) for w in model.graph.weights.values())
    nodes = tuple(_node(walk, node) for node in model.graph.nodes)
    return GraphCost(nodes, walk.values, walk.equal, walk.dimensions)


# ---- what is known at the start ----------------------------------------------------------


def _input(walk: Walk, declared: Declared, dims: Mapping[str, int]) -> Known:
    if declared.shape is None:
        message = f"the model does not say the rank of its input {quoted(declared.name)}"
        raise Rejected(Diagnostic("T0677", message, hint="say its shape: --shape NAME=..."))
    shape = tuple(_dimension(walk, declared.name, n, d, dims) for n, d in enumerate(declared.shape))
    tensor = Tensor(shape, declared.space)
    return Inputs((tensor,)) if declared.sequence else tensor


def _dimension(walk: Walk, name: str, axis: int, declared: int | str | None, dims: Mapping[str, int]) -> Poly:
    if isinstance(declared, int):
        return const(declared)
    title = declared or f"{name}[{axis}]"
    given = dims.get(title, dims.get(f"{name}[{axis}]"))
    found = const(given) if given is not None else length(title)
    return walk.dimensions.setdefault(title, found)


def _weight(weight: Weight) -> Known:
    if weight.value is not None:
        return weight.value
    return Tensor(tuple(const(d) for d in weight.shape), weight.space)


# ---- nodes -------------------------------------------------------------------------------


def _node(walk: Walk, node: Node) -> NodeCost:
    """What a node costs; its outputs join what is known."""
    function = walk.model.functions.get((node.domain, node.op))
    if function is not None:
        return _function(walk, node, function)
    spec = walk.library.find(node.domain, node.op, walk.model.opsets.get(node.domain))
    if spec is None:
        reason = walk.library.outside(node.domain).get(node.op, "it has no definition")
        return NodeCost(node, None, Diagnostic("T0678", f"{node.op} is not costed: {reason}"))
    missing = [name for name in _needed(node) if name not in walk.values]
    if missing:
        return NodeCost(
            node, None, Diagnostic("T0679", f"nothing is known of its input {quoted(missing[0])}")
        )
    return _apply(walk, node, spec)


def _needed(node: Node) -> Iterable[str]:
    yield from (name for name in node.inputs if name)
    for graph in node.graphs.values():
        yield from free_names(graph)


def _apply(walk: Walk, node: Node, spec: Spec) -> NodeCost:
    given = [walk.values[name] if name else None for name in node.inputs]
    around = {name: walk.values[name] for graph in node.graphs.values() for name in free_names(graph)}
    found = _lowered(walk, node, spec, given, around)
    if isinstance(found, Diagnostic):
        return NodeCost(node, None, found)
    _adopt(walk, found.equal)
    for name, value in zip(node.outputs, found.outputs, strict=False):
        if name:
            walk.values[name] = value
    return NodeCost(node, found)


def _lowered(
    walk: Walk, node: Node, spec: Spec, given: Sequence[Known | None], around: Mapping[str, Known]
) -> Lowered | Diagnostic:
    key = (
        None
        if node.graphs
        else (
            spec.domain,
            spec.name,
            spec.since,
            node.asked,
            _frozen_attributes(node),
            tuple(map(frozen, given)),
        )
    )
    if key is not None and key in walk.cache.lowered:
        return walk.cache.lowered[key]
    found = _lower(walk, node, spec, given, around)
    if key is not None and not (isinstance(found, Lowered) and _mentions_data(found)):
        walk.cache.lowered[key] = found
    return found


def _lower(
    walk: Walk, node: Node, spec: Spec, given: Sequence[Known | None], around: Mapping[str, Known]
) -> Lowered | Diagnostic:
    try:
        surroundings = Surroundings(walk.library, walk.model.opsets)
        arguments = _arguments(spec, given)
        bound = bind(node, spec, arguments, graph_functions(node, surroundings))
        lowered = elaborate(
            spec.program,
            bound,
            name=spec.name,
            library=spec.library,
            operators=walk.library.operators(),
            outputs=node.asked,
            around={k: v for k, v in around.items() if not isinstance(v, Inputs)},
        )
        return Lowered(
            count(lowered.program),
            traffic(lowered.program),
            _outputs(lowered, spec),
            lowered.program.conditions,
            lowered.equal,
        )
    except Rejected as rejected:
        return rejected.diagnostics[0]
    except AlgebraBudget as budget:
        return Diagnostic("T0504", str(budget))


def _arguments(spec: Spec, given: Sequence[Known | None]) -> list[Argument | None]:
    """Inputs as a definition wants them: text has no place in a ToL, all else goes as it is."""
    return [
        None if isinstance(value, Missing) else value for value in given[: len(formals(spec, len(given)))]
    ]


def _outputs(lowered: Elaborated, spec: Spec) -> tuple[Known, ...]:
    variadic = {s.name for s in spec.outputs if s.variadic}
    nodes = {output.name: output.node for output in lowered.program.outputs}
    found: list[Known] = []
    for name, value in lowered.values:
        if isinstance(value, Seq) and name in variadic:
            found.extend(_known(f"{name}.{n}", item, nodes) for n, item in enumerate(value.items, start=1))
        else:
            found.append(_known(name, value, nodes))
    return tuple(found)


def _known(name: str, value: Value, nodes: Mapping[str, object]) -> Known:
    """What later nodes may know of an output: its value where that is static, else its shape and space."""
    match value:
        case Seq(items=items):
            return Inputs(tuple(_known(f"{name}.{n}", item, nodes) for n, item in enumerate(items, start=1)))
        case Missing() | str():
            return value
        case _:
            pass
    part = nodes[name].type[0]  # type: ignore[attr-defined]
    if is_static(value) and isinstance(value, Cast | Vec | Poly) and _portable(value):
        return value if isinstance(value, Cast) else Cast(value, part.space)
    return Tensor(part.shape, part.space)


def _portable(value: Value) -> bool:
    """Whether a static value means the same outside of the program it comes from."""
    match value:
        case Cast(value=inner):
            return _portable(inner)
        case Vec(items=items):
            return all(_portable(item) for item in items)
        case Data() | View():
            return False
        case _:
            return type(value).__name__ != "Opaque"


# ---- functions of the model --------------------------------------------------------------


def _function(walk: Walk, node: Node, function: Function) -> NodeCost:
    """A function that the model defines: the nodes of its body, in its own names."""
    inner = Walk(
        Model(
            walk.model.name, walk.model.graph, {**walk.model.opsets, **function.opsets}, walk.model.functions
        ),
        walk.library,
        walk.cache,
        equal=walk.equal,
    )
    for name, given in zip(function.inputs, node.inputs, strict=False):
        if given and given in walk.values:
            inner.values[name] = walk.values[given]
    nodes = tuple(_node(inner, _with_attributes(proto, node)) for proto in function.nodes)
    for name, made in zip(node.outputs, function.outputs, strict=False):
        if name and made in inner.values:
            walk.values[name] = inner.values[made]
    return NodeCost(node, None, None, nodes)


def _with_attributes(proto: object, caller: Node) -> Node:
    """A node of a function's body, with the attributes it takes from whoever applies the function."""
    node = node_of(proto)  # type: ignore[arg-type]
    referred = {
        a.name: caller.attributes[a.ref_attr_name]
        for a in proto.attribute  # type: ignore[attr-defined]
        if a.ref_attr_name and a.ref_attr_name in caller.attributes
    }
    own = {k: v for k, v in node.attributes.items() if k not in referred}
    return Node(node.op, node.domain, node.name, node.inputs, node.outputs, {**own, **referred}, node.graphs)


# ---- equal lengths, keys -----------------------------------------------------------------


def _adopt(walk: Walk, equal: Mapping[Symbol, Poly]) -> None:
    """Two lengths that a node makes equal are one from then on, everywhere."""
    fresh = {s: p for s, p in equal.items() if s not in walk.equal}
    if not fresh:
        return
    walk.equal.update(fresh)
    for name, value in walk.values.items():
        if isinstance(value, Tensor) and any(not fresh.keys().isdisjoint(symbols_of(d)) for d in value.shape):
            walk.values[name] = Tensor(tuple(substitute(d, fresh) for d in value.shape), value.space)


def _mentions_data(lowered: Lowered) -> bool:
    shapes = (d for v in lowered.outputs if isinstance(v, Tensor) for d in v.shape)
    polys = (*shapes, *lowered.counts.atoms.values())
    return any(s.kind == "data" for p in polys for s in symbols_of(p))


def _frozen_attributes(node: Node) -> tuple[object, ...]:
    return tuple((name, frozen(node.attributes[name])) for name in sorted(node.attributes))


def frozen(value: object) -> object:
    """Something known of an input, as a key: equal keys are lowered alike."""
    match value:
        case Tensor(shape=shape, space=space):
            return ("tensor", shape, space)
        case Inputs(items=items) | Seq(items=items):
            return ("several", tuple(frozen(item) for item in items))
        case Cast(value=inner, space=space):
            return ("cast", frozen(inner), space)
        case Vec(shape=shape, items=items):
            return ("vec", shape, tuple(frozen(item) for item in items))
        case Data():
            return object()  # equal to nothing: large constants are not compared
        case float():
            return ("float", repr(value))
        case _:
            return value
