"""Graphs inside nodes: the body of a loop or a branch, as a function that a definition can apply.

A graph becomes a function of its inputs whose result is the sequence of its outputs.  It is elaborated where
it is applied, node by node, each by the definition of its operator.  Names that it does not define are those
of the enclosing graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product, zip_longest

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import FALSE, TRUE, Cond, Eq, Ge, Not, bounds, cond_text, negate
from tolcost.atoms.nodes import Node
from tolcost.catalogue.binding import bind, constant_of, decided_by_data, is_handed
from tolcost.catalogue.graph import Body, Graph, GraphNode, Inside, Weight, first_output, met, no_function
from tolcost.catalogue.operand_types import check_node, output_spaces
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import NOWHERE, Rejected, quoted, refuse
from tolcost.elaborate.again import Remembered, apply_or_copy
from tolcost.elaborate.environment import Env
from tolcost.elaborate.faults import Misfit
from tolcost.elaborate.layout import emit
from tolcost.elaborate.programs import apply_program
from tolcost.elaborate.shapes import shape_of, space_of
from tolcost.elaborate.trip_count import truth
from tolcost.elaborate.values import (
    Cast,
    Missing,
    Native,
    NodeValue,
    Seq,
    Tensor,
    Unknown,
    Value,
    Vec,
    is_data,
    is_static,
    is_tol,
    plain,
    recast,
)

MOST_NESTED = 60
"""Limit on the nesting of calls of functions that graphs make."""

MOST_CALLS = 5_000
"""Limit on all calls of functions by the graphs of a node, since each call is elaborated again."""


MOST_CHOICES = 8
"""Limit on reversed choices of branches that lengths decide, since each repeats the elaboration."""

_MOST_UNKNOWN = 2
"""Up to this many unknown truth values, all combinations are tried."""


class Choices(Struct):
    """Decisions about branches that depend on open lengths: equations assumed to hold, and those left open.

    In general an open length does not satisfy an equation.  ``used`` has the equations that were assumed all
    the same, ``met`` those that were not.  ``written`` has equations to assume, as text: data-dependent
    symbols are different each time that a graph is elaborated, but their names stay.
    """

    assumed: frozenset[Cond] = frozenset()
    written: frozenset[str] = frozenset()
    used: dict[Cond, None] = field(default_factory=dict)
    met: dict[Cond, None] = field(default_factory=dict)
    failed: Rejected | None = None
    """The first misfit, if a choice was reversed."""

    def opens(self, condition: Value | None) -> bool:
        """Whether a branch stays open that could be chosen the other way."""
        trying = Choices(self.assumed, self.written)
        return condition is not None and bool(trying.decided(condition) and trying.met)

    def anew(self, before: Choices, failed: Rejected) -> bool:
        """Go back, and assume the equation that was left open last; False if none was since."""
        last = next(reversed(self.met), None)
        if last is None or last in before.met or len(self.written) + 1 >= MOST_CHOICES:
            return False
        self.failed = self.failed or failed
        self.written |= {cond_text(last)}
        self.used, self.met = dict(before.used), dict(before.met)
        return True

    def decided(self, condition: Value) -> Value:
        """Decide the condition of a branch if it is, or negates, an equation that is assumed."""
        match condition:
            case Cast(value=inner, space=space):
                return Cast(self.decided(inner), space)
            case Vec(shape=shape, items=(one,), loose=loose):
                return Vec(shape, (self.decided(one),), loose)
            case Eq() | Ge() | Not():
                return self._equation(condition)
            case _:
                return condition

    def _equation(self, condition: Cond) -> Cond:
        equation = next((side for side in (condition, negate(condition)) if _is_special(side)), None)
        if equation is None:
            return condition
        if equation not in self.assumed and cond_text(equation) not in self.written:
            self.met[equation] = None
            return condition
        self.used[equation] = None
        return TRUE if equation == condition else FALSE


def _is_special(condition: Cond) -> bool:
    """Whether a length in general does not fulfil a condition: an equation, or a bound from above.

    A bound at the end of a range leaves a single value, as an equation does; any other one leaves the smaller
    part of the range of a length, which grows to the largest that there is.
    """
    if not isinstance(condition, Ge):
        return isinstance(condition, Eq)
    low, high = bounds(condition.p)
    if low is None or high is None:
        return high == 0
    return high == 0 or (len(condition.p.free) == 1 and high < -low)


class Surroundings(Struct, frozen=True):
    """The context of a graph inside a node: definitions, their versions, functions, and outer values.

    ``inside`` collects shapes of values, those of the graph at ``place``; a graph applied again overwrites
    them.
    """

    library: Library
    opsets: Mapping[str, int]
    values: Mapping[str, Value] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    body_of: Callable[[GraphNode], Body | None] = no_function
    depth: int = 0
    calls: Iterator[int] = field(default_factory=count)
    inside: Inside = field(default_factory=dict)
    known: Remembered = field(default_factory=dict)
    place: tuple[str, ...] = ()
    resumes: bool = False
    """Whether all enclosing graphs are data-dependent branches: then only other choices can fix a misfit."""
    data: dict[str, Value] = field(default_factory=dict)
    """Known values as data, for nodes that need not know them."""
    asked: dict[Node, Value] = field(default_factory=dict)
    """Data-dependent tensors that some node has to know."""
    repeats: bool = False
    """Whether an enclosing graph may be applied several times."""
    unlisted: dict[str, None] = field(default_factory=dict)
    """Inputs of nodes in types that ONNX does not list for their operators."""


def graph_functions(node: GraphNode, around: Surroundings) -> dict[str, Value]:
    """Return the graphs of a node as functions, by the name of the attribute."""
    return {name: graph_function(name, graph, around) for name, graph in node.graphs.items()}


def graph_function(name: str, graph: Graph, around: Surroundings) -> Native:
    """Return a graph as a function of its inputs."""

    def run(env: Env, args: tuple[Value, ...]) -> Value:
        values: dict[str, Value] = dict(around.values)
        values.update((weight.name, _weight(env, weight)) for weight in graph.weights.values())
        values.update((given.name, value) for given, value in zip(graph.inputs, args, strict=True))
        data = {**around.data, **_held_data(env, graph.weights.values())}
        for given in graph.inputs:
            data.pop(given.name, None)
        _apply_all(env, graph.nodes, values, replace(around, place=(*around.place, name), data=data))
        return Seq(tuple(_value(env, values, output) for output in graph.outputs))

    return Native(name, len(graph.inputs), run)


def _weight(env: Env, weight: Weight) -> Value:
    """Return a tensor stored in a graph: outer data if the context has it, else a constant."""
    if weight.key in env.context.request.around:
        return env.context.request.around[weight.key]
    return constant_of(weight)


def _held_data(env: Env, weights: Iterable[Weight]) -> dict[str, Value]:
    """Return stored tensors with known values, as data."""
    known = env.context.request.as_data
    return {weight.name: known[weight.key] for weight in weights if weight.key in known}


def _apply_all(env: Env, nodes: Sequence[GraphNode], values: dict[str, Value], around: Surroundings) -> None:
    for place, node in enumerate(nodes):
        if around.resumes and node.graphs and _is_open_branch(env, node, values, around):
            _resume_branch(env, nodes[place:], values, around)
            return
        _apply_one(env, node, values, around)


def _is_open_branch(env: Env, node: GraphNode, values: Mapping[str, Value], around: Surroundings) -> bool:
    first = node.inputs[0] if node.inputs else ""
    branches = around.body_of(node) is None and _spec(node, around).branches
    return branches and bool(first) and around.choices.opens(_value(env, values, first))


def _resume_branch(
    env: Env, nodes: Sequence[GraphNode], values: dict[str, Value], around: Surroundings
) -> None:
    """Elaborate nodes from an open branch on; if they do not fit, repeat them with the other choice.

    Earlier nodes are not repeated, since their results would be equal.
    """
    choices, context = around.choices, env.context
    before, inside = replace(choices, used=dict(choices.used), met=dict(choices.met)), dict(around.inside)
    names = context.names
    block = env.building(env.scope.inner())
    try:
        with context.notes.attempt(block.scope) as trial:
            _apply_one(block, nodes[0], values, around)
            _apply_all(block, nodes[1:], values, around)
            trial.keep()
        env.scope.absorb(block.scope)
        return
    except Misfit as misfit:
        if not choices.anew(before, misfit):
            raise
    context.names = names
    around.inside.clear()
    around.inside.update(inside)
    _apply_all(env, nodes, values, around)


def _apply_one(env: Env, node: GraphNode, values: dict[str, Value], around: Surroundings) -> None:
    if node.held is not None:
        name = first_output(node.outputs)
        if name:
            values[name] = _weight(env, node.held)
        if name and node.held.key in env.context.request.as_data:
            around.data[name] = env.context.request.as_data[node.held.key]
        return
    body = around.body_of(node)
    apply = _apply if body is None else partial(_call, body)
    outputs = apply(env, node, values, around)
    given = {name: value for name, value in zip(node.outputs, outputs, strict=False) if name}
    values.update(given)
    around.inside.update(
        ((*around.place, name), shape_of(env, value, NOWHERE))
        for name, value in given.items()
        if not isinstance(value, Seq | Missing | Unknown)
    )


def _apply(env: Env, node: GraphNode, values: dict[str, Value], around: Surroundings) -> Sequence[Value]:
    spec = _spec(node, around)
    inputs = [_value(env, values, name) if name else None for name in node.inputs]
    inputs = [None if isinstance(value, Missing) else value for value in inputs]
    if any(
        isinstance(value, Unknown) for value in (*inputs, *(_value(env, values, name) for name in node.free))
    ):
        return _unknown(env, node, spec, inputs, values, around)
    inputs = list(_pass_inputs(env, node, spec, inputs, values, around))
    return _applied(env, node, spec, inputs, values, around)


def _pass_inputs(
    env: Env,
    node: GraphNode,
    spec: Spec,
    inputs: Sequence[Value | None],
    values: Mapping[str, Value],
    around: Surroundings,
) -> Iterator[Value | None]:
    """Yield the inputs of a node; known tensors become data where the node need not know them.

    A node with graphs passes its inputs on, and the graphs decide.
    """
    declared = met(spec.head.takes, len(inputs))
    together = all(value is None or is_static(value) for value in inputs)
    for n, (name, value) in enumerate(zip(node.inputs, inputs, strict=True)):
        needed = n < len(declared) and declared[n].kind == "static"
        if needed and value is not None and is_data(value) and not declared[n].maybe_data:
            yield _symbols_for(env, name, value, around)
        elif value is None or needed or node.graphs or _is_handed(value, together, around):
            yield value
        else:
            data = around.data if name in values else env.context.request.as_data
            yield data[name] if name in data else _as_data(env, value, around)


def _is_handed(value: Value, together: bool, around: Surroundings) -> bool:
    """Whether to pass a value computed in a graph as a compile-time value.

    The enclosing model knows no values with open lengths.  A graph that is applied repeatedly may be given
    coordinates, and values computed from them stay free.
    """
    return is_handed(value, together) and (around.repeats or not _has_no_entries(value))


def _has_no_entries(value: Value) -> bool:
    """Whether a value is a static ToL that is not known entry by entry."""
    return is_static(value) and is_tol(value) and not isinstance(plain(value), Vec)


def _as_data(env: Env, value: Value, around: Surroundings) -> Value:
    """Return a known value as data, as the enclosing model would have it."""
    tol = not around.repeats and is_static(value) and is_tol(value)
    return NodeValue(emit(env, value, NOWHERE)) if tol else value


def _symbols_for(env: Env, name: str, value: NodeValue, around: Surroundings) -> Value:
    """Return symbols for the numbers in a tensor that must be known, as for a node of the model.

    In a graph that is applied repeatedly, a computed number may differ each time, so it gets none.
    """
    node, seen = value.node, env.context.request.around.items()
    outside = next((given for given, one in seen if isinstance(one, NodeValue) and one.node is node), None)
    if outside is None and around.repeats:
        return value
    if node not in around.asked and len(node.type) == 1:
        tensor = Tensor(node.type[0].shape, node.type[0].space)
        around.asked[node] = decided_by_data(tensor, outside or name) or value
    return around.asked.get(node, value)


def _unknown(
    env: Env,
    node: GraphNode,
    spec: Spec,
    inputs: list[Value | None],
    values: dict[str, Value],
    around: Surroundings,
) -> Sequence[Value]:
    """Return the outputs of a node with an unknown input, as far as they can be determined."""
    places = [n for n, value in enumerate(inputs) if isinstance(value, Unknown)]
    if node.graphs or node.asked != 1 or len(places) > _MOST_UNKNOWN:
        return [Unknown() for _ in node.outputs]

    def output(put: Mapping[int, Value]) -> Value:
        given = [put.get(n, value) for n, value in enumerate(inputs)]
        (found,) = _applied(env, node, spec, given, values, around)
        return found

    return [_of_truths(spec, inputs, places, output) or _of_known(inputs, places, output) or Unknown()]


def _of_truths(
    spec: Spec, inputs: list[Value | None], places: list[int], output: Callable[[Mapping[int, Value]], Value]
) -> Unknown | None:
    """Find the condition under which the output can be true, if there is only one for all truth values."""
    declared = met(spec.inputs, len(inputs))
    if not all(n < len(declared) and declared[n].space == "B" for n in places):
        return None
    choices = product((Cast(TRUE, "bool"), Cast(FALSE, "bool")), repeat=len(places))
    hopeful = {truth(output(dict(zip(places, truths, strict=True)))) for truths in choices} - {FALSE}
    needs = next(iter(hopeful)) if len(hopeful) == 1 else TRUE
    return None if needs is None or needs is TRUE else Unknown(needs, Cast(FALSE, "bool"))


def _of_known(
    inputs: list[Value | None], places: list[int], output: Callable[[Mapping[int, Value]], Value]
) -> Unknown | None:
    """Return an output that is known wherever the single unknown input is."""
    unknown = inputs[places[0]] if len(places) == 1 else None
    if not isinstance(unknown, Unknown) or unknown.otherwise is None:
        return None
    found = output({places[0]: unknown.otherwise})
    return Unknown(unknown.needs, found) if is_static(found) else None


def is_open(condition: object) -> bool:
    """Whether a condition depends on lengths and is undecided."""
    return isinstance(condition, Cast | Vec | Cond) and truth(condition) not in (None, TRUE, FALSE)


def _applied(
    env: Env,
    node: GraphNode,
    spec: Spec,
    inputs: list[Value | None],
    values: dict[str, Value],
    around: Surroundings,
) -> Sequence[Value]:
    spaces = [None if value is None else space_of(value) for value in inputs]
    around.unlisted.update(dict.fromkeys(check_node(node, around.opsets.get(node.domain), spaces)))
    if spec.branches and inputs and inputs[0] is not None:
        inputs[0] = around.choices.decided(inputs[0])
    resumes = around.resumes and spec.branches and bool(inputs) and not is_open(inputs[0])
    place = (*around.place, first_output(node.outputs))
    repeats = around.repeats or not spec.branches
    within = replace(around, values=values, place=place, resumes=resumes, repeats=repeats)

    def apply() -> tuple[Value, ...]:
        given = bind(node, spec, inputs, graph_functions(node, within))
        return apply_program(env, spec.program, given, spec.library, node.asked)

    with env.context.at_node(node.label):
        program = (spec, node.key, node.asked)
        results = apply() if node.graphs else apply_or_copy(env, around.known, program, inputs, apply)
    if len(results) == 1 and isinstance(results[0], Seq) and spec.outputs[0].variadic:
        return results[0].items
    told = output_spaces(node, around.opsets.get(node.domain), spaces)
    return [_in_schema_space(value, space) for value, space in zip_longest(results, told[: len(results)])]


def _in_schema_space(value: Value, space: str | None) -> Value:
    """Convert a compile-time value to the space that its operator states, if its own is none of ONNX's."""
    if space is None or isinstance(value, Cast | Seq | str) or not is_static(value):
        return value
    return recast(value, space)


def _call(
    body: Body, env: Env, node: GraphNode, values: Mapping[str, Value], around: Surroundings
) -> Sequence[Value]:
    """Return the outputs of a function of the model, on values of the graph that calls it."""
    if around.depth >= MOST_NESTED:
        message = f"the function {quoted(node.op)} calls itself, or nests too deeply"
        refuse("T0692", message)
    if next(around.calls) >= MOST_CALLS:
        message = f"functions are called more than {MOST_CALLS:,} times by the graphs of a node"
        refuse("T0506", message)
    inside: dict[str, Value] = {name: Missing(name) for name in body.inputs}
    inside.update(
        (name, _value(env, values, given))
        for name, given in zip(body.inputs, node.inputs, strict=False)
        if given
    )
    opsets = {**around.opsets, **body.opsets}
    within = replace(around, opsets=opsets, values={}, depth=around.depth + 1, inside={}, resumes=False)
    within = replace(within, data=dict(_passed_data(body, env, node, values, around)))
    _apply_all(env, body.nodes, inside, within)
    return [_value(env, inside, name) for name in body.outputs]


def _passed_data(
    body: Body, env: Env, node: GraphNode, values: Mapping[str, Value], around: Surroundings
) -> Iterator[tuple[str, Value]]:
    """Yield the known inputs of a function, as data."""
    for name, given in zip(body.inputs, node.inputs, strict=False):
        data = around.data if given in values else env.context.request.as_data
        if given in data:
            yield name, data[given]


def _spec(node: GraphNode, around: Surroundings) -> Spec:
    spec = around.library.find(node.domain, node.op, around.opsets.get(node.domain))
    if spec is None:
        refuse("T0661", f"there is no definition of {quoted(node.op)}")
    return spec


def _value(env: Env, values: Mapping[str, Value], name: str) -> Value:
    if name in values:
        return values[name]
    if name in env.context.request.around:
        return env.context.request.around[name]
    refuse("T0662", f"a graph uses {quoted(name)}, which nothing around it defines")
