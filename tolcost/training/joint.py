"""Reverse mode over the graph of a model: the backward pass of each node that the loss depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, const, product_of, substituting
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Spec
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import Diagnostic, quoted, refuse, visible
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import name_around
from tolcost.models.analysis import GraphCost
from tolcost.models.facts import as_tensor
from tolcost.models.lowered import Applied, Lowered, Uncosted
from tolcost.spaces import kind_of
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.passes import Passes, lengths_of
from tolcost.training.request import TrainingRequest
from tolcost.training.written import DefinedNode

_NONE = Applied((), ())


class ForwardNode(Struct, frozen=True, eq=False):
    """A node of forward: its operator, and its tensors by their names in the operator's program."""

    place: int
    node: GraphNode
    lowered: Lowered | None
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    spec: Spec | None = None
    why: Diagnostic | None = None
    """Why it is not known what the node does."""


class BackwardNode(Struct, frozen=True, eq=False):
    """What a node does in backward.

    ``reads`` are tensors of forward, ``takes`` those whose adjoints it reads.  ``gives`` has for each tensor,
    once for each time that the node reads it, the one whose adjoint is passed on to it, or None.
    """

    step: ForwardNode
    found: BackwardPass
    reads: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[tuple[str, str | None], ...]


class StoredTensors(Struct, frozen=True):
    """The tensors of real numbers that a graph stores, by name: those that can be trained, and others.

    ``noted`` tells that the exporter noted which are parameters.
    """

    parameters: Mapping[str, Tensor]
    others: Mapping[str, Tensor]
    noted: bool


class JointGraph(Struct, frozen=True, eq=False):
    """Forward and backward of a model.

    ``order`` are the nodes of backward, in that order.  ``backward`` is the cost of each node of the graph in
    backward.  ``trained`` are the parameters by name, ``seeds`` the outputs whose adjoints are given.
    """

    cost: GraphCost
    steps: tuple[ForwardNode, ...]
    stored: StoredTensors
    trained: Mapping[str, Tensor]
    frozen: Mapping[str, Tensor]
    seeds: tuple[str, ...]
    order: tuple[BackwardNode, ...]
    backward: GraphCost
    extra: Mapping[str, tuple[ForwardNode, Poly | None]]
    missing: tuple[tuple[ForwardNode, Diagnostic], ...]


def steps_of(cost: GraphCost) -> tuple[ForwardNode, ...]:
    """Return the nodes of a model, with the names of their tensors."""
    library, opsets = cost.session.library, cost.model.opsets
    specs: dict[tuple[str, str], Spec | None] = {}
    found = []
    for place, (node, applied) in enumerate(cost.steps):
        key = (node.domain, node.op)
        if key not in specs:
            specs[key] = library.find(*key, opsets.get(node.domain))
        found.append(_step(place, node, applied, specs[key]))
    return tuple(found)


def _step(place: int, node: GraphNode, applied: Applied, spec: Spec | None) -> ForwardNode:
    why = applied.uncosted[0].why if applied.uncosted else None
    lowered = applied.parts[0][0] if len(applied.parts) == 1 and not applied.uncosted else None
    if node.held is not None:
        return ForwardNode(place, node, None, {}, {})
    if lowered is None or spec is None:
        told = Diagnostic("T0900", "a function of the model has no derivative yet")
        return ForwardNode(place, node, None, {}, {}, spec, why or told)

    inputs = dict(zip(input_names(spec, len(node.inputs)), node.inputs, strict=False))
    outputs = dict(zip(lowered.titles, node.outputs, strict=False))
    inputs |= {name_around(name): name for name in node.free}
    given = {name: tensor for name, tensor in inputs.items() if tensor}
    made = {title: name for title, name in outputs.items() if name}
    return ForwardNode(place, node, lowered, given, made, spec)


# ---- what is trained -----------------------------------------------------------------------------


def stored_in(cost: GraphCost) -> StoredTensors:
    """Return what a graph stores.

    An initialiser can be trained if it has a shape, unless its exporter notes that it is no parameter.
    Constants of nodes can in a graph that stores nothing else.
    """
    graph = cost.model.graph
    real = {name: one for name, one in graph.weights.items() if kind_of(one.space) == "R"}
    inner = {
        node.outputs[0]: node.held
        for node in graph.nodes
        if node.held is not None and node.outputs and kind_of(node.held.space) == "R"
    }
    there = [name for name, one in real.items() if one.trained or (one.shape and one.trained is None)]
    trained = frozenset(there or (inner if not any(one.shape for one in real.values()) else ()))
    every = {
        name: Tensor(tuple(map(const, one.shape)), one.space)
        for name, one in (*real.items(), *inner.items())
        if one.shape or one.trained
    }
    return StoredTensors(
        {name: tensor for name, tensor in every.items() if name in trained},
        {name: tensor for name, tensor in every.items() if name not in trained},
        any(one.trained is not None for one in real.values()),
    )


def is_frozen(name: str, scopes: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether a parameter is meant by a pattern: by its name, or by a scope that uses it."""
    return any(fnmatchcase(one, pattern) for pattern in patterns for one in (name, *scopes))


# ---- backward ------------------------------------------------------------------------------------


def joint_of(cost: GraphCost, asked: TrainingRequest, passes: Passes) -> JointGraph:
    """Derive the backward pass of every node that the loss depends on, from the last node to the first."""
    steps = steps_of(cost)
    stored = stored_in(cost)
    given = stored.parameters
    scopes = _scopes(steps, given)
    frozen = {name for name in given if is_frozen(name, scopes[name], asked.freeze)}
    for pattern in asked.freeze:
        if not any(is_frozen(name, scopes[name], (pattern,)) for name in given):
            refuse("T0912", f"no parameter and no scope is like {quoted(pattern)}", hint=_some(given, scopes))
    active = _active(cost, steps, given.keys() - frozen)
    seeds = _seeds(cost, active, asked.loss)
    work = _Reversing(cost, passes, active, dict.fromkeys(seeds, 1))
    for step in reversed(steps):
        work.visit(step)
    trained = {name: given[name] for name in given if name in work.contributions and name not in frozen}
    if not trained and not work.missing:
        what = "the outputs" if asked.loss is None else quoted(asked.loss)
        refuse("T0901", f"there is nothing to differentiate: no parameter leads to {what}")
    nodes = tuple([work.applied.get(place, _NONE) for place in range(len(steps))])
    still = {name: given[name] for name in given if name in frozen}
    backward = replace(cost, nodes=nodes)
    return JointGraph(
        cost,
        steps,
        stored,
        trained,
        still,
        seeds,
        tuple(work.order),
        backward,
        work.extra,
        tuple(work.missing),
    )


def _some(given: Mapping[str, Tensor], scopes: Mapping[str, Sequence[str]]) -> str:
    """Name some parameters and scopes."""
    names = [*dict.fromkeys([*(one for some in scopes.values() for one in some[:1]), *given])]
    return (
        f"there are {', '.join(visible(name) for name in names[:6])}{' and others' if len(names) > 6 else ''}"
    )


def _scopes(steps: Iterable[ForwardNode], given: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Return for each parameter the scopes of the nodes that read it, those inside of others last."""
    found: dict[str, dict[str, None]] = {name: {} for name in given}
    for step in steps:
        for name in step.inputs.values():
            if name in found:
                path = step.node.path
                found[name].update((".".join(path[: n + 1]), None) for n in range(len(path)))
    return {name: list(some) for name, some in found.items()}


def _active(cost: GraphCost, steps: Iterable[ForwardNode], trained: Iterable[str]) -> set[str]:
    """Return the real tensors that depend on what is trained."""
    active = set(trained)
    for step in steps:
        read = step.inputs.values() if step.lowered is not None else (*step.node.inputs, *step.node.free)
        if not active.isdisjoint(read):
            active.update(name for name in step.node.outputs if name and is_real(cost, name))
    return active


def is_real(cost: GraphCost, name: str) -> bool:
    """Whether a tensor of a graph has real elements, as far as is known."""
    known = cost.known(name)
    tensor = None if known is None else as_tensor(known)
    return not isinstance(tensor, Tensor) or kind_of(tensor.space) == "R"


def _seeds(cost: GraphCost, active: set[str], loss: str | None) -> tuple[str, ...]:
    """Return the outputs to differentiate: the loss, or without one all that depend on parameters."""
    outputs = cost.model.graph.outputs
    if loss is None:
        real = tuple([name for name in dict.fromkeys(outputs) if name in active])
        single = [name for name in real if _elements(cost, name) == 1]
        return tuple(single) if len(single) == 1 else real
    if loss not in outputs:
        hint = f"it gives {', '.join(visible(name) for name in outputs[:8])}"
        refuse("T0911", f"the model gives nothing named {quoted(loss)}", hint=hint)
    elements = _elements(cost, loss)
    if elements is not None and elements != 1:
        hint = "without --loss, the adjoints of all outputs are taken as given"
        refuse("T0911", f"the loss {quoted(loss)} is no scalar: it has {elements} elements", hint=hint)
    if loss not in active:
        refuse("T0901", f"there is nothing to differentiate: {quoted(loss)} depends on no trained parameter")
    return (loss,)


def _elements(cost: GraphCost, name: str) -> Poly | None:
    known = cost.known(name)
    tensor = None if known is None else as_tensor(known)
    return cost.settled(product_of(tensor.shape)) if isinstance(tensor, Tensor) else None


class _Reversing(Struct, eq=False):
    """The adjoints so far: how often each tensor got a contribution."""

    cost: GraphCost
    passes: Passes
    active: set[str]
    contributions: dict[str, int]
    order: list[BackwardNode] = field(default_factory=list)
    applied: dict[int, Applied] = field(default_factory=dict)
    missing: list[tuple[ForwardNode, Diagnostic]] = field(default_factory=list)
    shared: dict[tuple[object, ...], Applied] = field(default_factory=dict)
    extra: dict[str, tuple[ForwardNode, Poly | None]] = field(default_factory=dict)

    def visit(self, step: ForwardNode) -> None:
        """Pass the adjoints of a node's outputs on to its inputs."""
        if step.lowered is None:
            reached = any(name in self.contributions and name in self.active for name in step.node.outputs)
            reads = any(name in self.active for name in (*step.node.inputs, *step.node.free))
            if step.why is not None and reached and reads:
                self.miss(step, step.why)
            return
        of = tuple([title for title, name in step.outputs.items() if self.is_reached(name)])
        if not of or self.active.isdisjoint(step.inputs.values()):
            return
        wanted = tuple([name for name, tensor in step.inputs.items() if tensor in self.active])
        there = self.passes.inputs(step.lowered)
        wanted = tuple([name for name in wanted if name in there])
        if not wanted:
            return
        assert step.spec is not None
        definition = DefinedNode(self.cost.session.library, step.node, step.spec)
        found = self.passes.backward(definition, step.lowered, wanted, of)
        if isinstance(found, Diagnostic):
            self.miss(step, found)
        elif found is not None:
            self.passed(step, found, of)

    def is_reached(self, name: str) -> bool:
        """Whether a tensor has an adjoint."""
        return name in self.contributions and name in self.active

    def miss(self, step: ForwardNode, why: Diagnostic) -> None:
        """Note a node whose backward pass is not known."""
        self.missing.append((step, why))
        self.applied[step.place] = Applied((), (), (Uncosted(f"{step.node.title} backward", 1, why),))

    def passed(self, step: ForwardNode, found: BackwardPass, of: tuple[str, ...]) -> None:
        """Note what a node does in backward."""
        lowered = step.lowered
        assert lowered is not None
        names = {**step.outputs, **step.inputs, **self.kept_for(step, lowered, found)}
        reads = tuple([names[name] for name in found.reads if name in names])
        takes = tuple([step.outputs[title] for title in of])
        gives = []
        sums: list[str] = []
        for name, passed in found.gradients.items():
            tensor = step.inputs[name]
            gives.append((tensor, None if passed is None else step.outputs[passed]))
            self.contributions[tensor] = self.contributions.get(tensor, 0) + 1
            if self.contributions[tensor] > 1:
                sums.append(tensor)
        self.order.append(BackwardNode(step, found, reads, takes, tuple(gives)))
        placed = self.passes.placed_at(lowered, found, f"{lowered.op} backward")
        added = [one for one in map(self.sum_of, sums) if one is not None]
        key = (id(placed), *map(id, added))
        if key not in self.shared:
            parts = {placed: 1}
            for one in added:
                parts[one] = parts.get(one, 0) + 1
            self.shared[key] = Applied((), tuple(parts.items()))
        self.applied[step.place] = self.shared[key]

    def kept_for(self, step: ForwardNode, lowered: Lowered, found: BackwardPass) -> dict[str, str]:
        """Note the tensors that forward keeps for a backward pass alone, and return their names."""
        names = {}
        put = substituting(lengths_of(lowered))
        for name, (shape, space) in found.extra.items():
            names[name] = f"{next(iter(step.outputs.values()))}.{name}"
            size = bytes_of(tuple(map(put, shape)), space)
            self.extra[names[name]] = (step, None if size is None else self.cost.settled(size))
        return names

    def sum_of(self, name: str) -> Lowered | None:
        """Return the addition of one more contribution to the adjoint of a tensor."""
        known = self.cost.known(name)
        tensor = None if known is None else as_tensor(known)
        if not isinstance(tensor, Tensor):
            return None
        return self.passes.addition(product_of(tensor.shape), tensor.space)
