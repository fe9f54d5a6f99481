"""Walking a graph: every node by the definition of its operator, each distinct case lowered once.

What is known of a value has a number (``known``).  A node is its operator, its attributes and the
numbers of its inputs; a node seen before in this sense costs a lookup.  Lengths that a node makes
equal are one from there on.  Functions are walked once for each set of inputs, never inlined.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tolcost.algebra import Cond, Poly, Symbol, atom, const, data_symbol, length
from tolcost.catalogue.nodes import node_of
from tolcost.catalogue.specs import Library
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Inputs, Tensor
from tolcost.models.applied import (
    HELD,
    Applied,
    Uncosted,
    gathered,
    held_tensor,
    known_weight,
    not_costed,
    title_of,
)
from tolcost.models.bodies import body_of, resolved_steps
from tolcost.models.functions import Functions
from tolcost.models.inner import without_weights
from tolcost.models.known import NOTHING, UNKNOWN, Known, Table
from tolcost.models.lowering import Given, Lowered, Setting, lower
from tolcost.models.model import Declared, Function, Graph, Step
from tolcost.models.names import Names
from tolcost.models.reading import check_text
from tolcost.models.renaming import renamed

MOST_WALKED = 4_000_000
"""Nodes looked at, those in functions once for every set of inputs."""

MOST_NESTED = 60
"""How deeply functions of a model may call one another."""

Key = tuple[object, ...]


@dataclass(slots=True)
class Session:
    """What lasts from model to model: definitions, and everything lowered so far."""

    library: Library
    table: Table = field(default_factory=Table)
    done: dict[Key, dict[Key, Applied]] = field(default_factory=dict)

    def seen(
        self, opsets: Mapping[str, int], functions: object, assumed: frozenset[Cond]
    ) -> dict[Key, Applied]:
        """Nodes seen before under the same versions; a model's own functions are its own."""
        mine = (functions,) if functions else ()
        return self.done.setdefault((*sorted(opsets.items()), *mine, *assumed), {})


@dataclass(slots=True)
class Walk:
    """Walking one graph or one function."""

    session: Session
    opsets: Mapping[str, int]
    functions: Functions
    names: Names
    dims: Mapping[str, int] = field(default_factory=dict)
    assumed: frozenset[Cond] = frozenset()
    callers: tuple[int, ...] = ()
    dimensions: dict[str, Poly] = field(default_factory=dict)
    declared: Mapping[str, Declared] = field(default_factory=dict)
    assumed_shapes: list[str] = field(default_factory=list)
    _done: dict[Key, Applied] = field(default_factory=dict)
    _graph: Sequence[Step] = ()

    # ---- the start ----

    def enter(self, graph: Graph) -> None:
        """Know what a graph is given and what it holds."""
        self.declared = graph.declared
        for given in graph.inputs:
            self.names.meet(given.name, self.session.table.number(self._input(given)))
        for weight in graph.weights.values():
            self.names.meet(weight.name, self.session.table.number(known_weight(weight)))

    def _input(self, given: Declared) -> Known:
        if given.shape is None:
            message = f"the model does not say the type and rank of its input {quoted(given.name)}"
            raise Rejected(Diagnostic("T0677", message, hint="say its shape: --shape NAME=..."))
        tensor = self._tensor(given, given.shape)
        return Inputs((tensor,)) if given.sequence else tensor

    def _tensor(self, given: Declared, shape: tuple[int | str | None, ...]) -> Tensor:
        return Tensor(tuple(self._dimension(given.name, n, d) for n, d in enumerate(shape)), given.space)

    def _dimension(self, name: str, axis: int, declared: int | str | None) -> Poly:
        if isinstance(declared, int):
            return const(declared)
        place = f"{name}[{axis}]"
        title = declared or place
        given = self.dims.get(title, self.dims.get(place))
        return self.dimensions.setdefault(title, const(given) if given is not None else length(title))

    # ---- nodes ----

    def run(self, steps: Sequence[Step]) -> list[Applied]:
        """Walk nodes in their order; what each gives is known to those after it."""
        self._graph = steps
        mine = self.functions if self.functions.given else None
        self._done = done = self.session.seen(self.opsets, mine, self.assumed)
        overloaded = self.functions.overloaded
        self._budget(len(steps))
        names, numbers = self.names, self.names.numbers
        found: list[Applied] = []
        for step in steps:
            op, domain, _, inputs, outputs, attributes, asked, free, _, _ = step
            try:
                places = [numbers[name] for name in inputs]
                if free:
                    places += [numbers[name] for name in free]
                if names.moved:
                    places = list(map(names.now, places))
            except KeyError:
                found.append(self._stuck(step))
                continue
            key = (op, domain, asked, attributes, *places)
            if overloaded:
                key = (*key, step.proto.overload)
            applied = done.get(key)
            if applied is None:
                applied = self._new(step, key, places)
            elif applied.data:
                applied = self._again(step, applied)
            if applied.equal:
                names.adopt(applied.equal)
            found.append(applied)
            for name, number in zip(outputs, applied.outputs, strict=False):
                names.meet(name, number if number != UNKNOWN else self._as_declared(name))
        return found

    def _budget(self, steps: int) -> None:
        self.functions.walked += steps
        if self.functions.walked > MOST_WALKED:
            raise Rejected(Diagnostic("T0506", f"the model has more than {MOST_WALKED:,} nodes to look at"))

    def _as_declared(self, name: str) -> int:
        """What the file says of a value of which nothing is known otherwise."""
        declared = self.declared.get(name)
        if declared is None or declared.shape is None or declared.sequence:
            return UNKNOWN
        self.assumed_shapes.append(name)
        return self.session.table.number(self._tensor(declared, declared.shape))

    def _stuck(self, step: Step) -> Applied:
        """A node with an input of which nothing is known; one that nobody gives is refused."""
        name = next(n for n in (*step.inputs, *step.free) if n not in self.names.numbers)
        if name not in self.names.unknown:
            self._refuse_unknown(step, name)
        why = Diagnostic("T0679", f"nothing is known of its input {quoted(name)}")
        for output in step.outputs:
            self.names.meet(output, self._as_declared(output))
        return Applied((), (), (Uncosted(title_of(step), 1, why),))

    def _refuse_unknown(self, step: Step, name: str) -> None:
        node = f"{step.op} {quoted(step.name)}" if step.name else step.op
        if any(name in other.outputs for other in self._graph):
            message = f"{node} uses {quoted(name)} before it is computed"
            raise Rejected(Diagnostic("T0676", message, hint="there is a cycle, or the nodes are not sorted"))
        raise Rejected(Diagnostic("T0662", f"{node} uses {quoted(name)}, which nothing defines"))

    # ---- a node not seen before ----

    def _new(self, step: Step, key: Key, places: Sequence[int]) -> Applied:
        function = self.functions.given.get((step.domain, step.op, step.proto.overload))
        if function is not None:
            applied = self._function(step, function, places)
        else:
            applied = self._operator(step, places)
        if not applied.data or len(applied.parts) == 1:
            self._done[key] = applied
        return applied

    def _operator(self, step: Step, places: Sequence[int]) -> Applied:
        table = self.session.table
        held = held_tensor(step)
        if held is not None:
            return Applied((table.number(known_weight(held)),), ((HELD, 1),))
        spec = self.session.library.find(step.domain, step.op, self.opsets.get(step.domain))
        if spec is None:
            return self._fallback(step, places)
        known = [table.things[n] for n in places]
        inputs, around = known[: len(step.inputs)], known[len(step.inputs) :]
        outside = {name: value for name, value in zip(step.free, around, strict=True) if value is not None}
        try:
            check_text(attribute.name for attribute in step.proto.attribute)
            lighter, weights = without_weights(step.proto) if step.graphs else (step.proto, {})
            if step.graphs:
                weights.update(self.functions.weights)
            outside.update((name, known_weight(weight)) for name, weight in weights.items())
            given = Given(tuple(inputs), step.inputs, outside)
            call = node_of(lighter)
        except Rejected as rejected:
            return not_costed(step, rejected.diagnostics[0])
        except (ValueError, TypeError) as error:
            return not_costed(step, Diagnostic("T0674", str(error)[:200]))
        setting = Setting(self.session.library, self.opsets, self.functions.body_of, self.assumed)
        lowered = lower(setting, call, spec, given)
        if isinstance(lowered, Rejected):
            return not_costed(step, lowered.diagnostics[0])
        lowered = _titled(step, lowered)
        numbers = tuple(map(table.number, lowered.outputs))
        return Applied(numbers, ((lowered, 1),), (), lowered.equal, bool(lowered.data))

    def _fallback(self, step: Step, places: Sequence[int]) -> Applied:
        """An operator without a definition: by the body that ONNX has for it, or not at all."""
        known = [self.session.table.things[n] for n in places[: len(step.inputs)]]
        function = body_of(step, self.opsets.get(step.domain), known)
        if function is not None:
            self.functions.bodies.append(function)  # what is kept about it goes by its identity
            return self._function(step, function, places)
        reason = self._outside(step)
        why = Diagnostic("T0678", f"{title_of(step)} is not costed: {reason}")
        return not_costed(step, why, defined=False)

    def _outside(self, step: Step) -> str:
        try:
            return self.session.library.outside(step.domain).get(step.op, "it has no definition")
        except Rejected as rejected:  # the domain is no name of a folder
            return rejected.diagnostics[0].message

    def _again(self, step: Step, applied: Applied) -> Applied:
        """The same operator somewhere else: what data decides is decided anew."""
        ((lowered, _),) = applied.parts
        fresh = {s: data_symbol(_fresh_name(s, _title(step)), s.lo, s.hi) for s in lowered.data}
        mine = renamed(lowered, fresh)
        numbers = tuple(map(self.session.table.number, mine.outputs))
        return Applied(numbers, ((mine, 1),), (), mine.equal, True)

    # ---- functions ----

    def _function(self, step: Step, function: Function, places: Sequence[int]) -> Applied:
        if len(self.callers) >= MOST_NESTED or id(function) in self.callers:
            message = f"the function {quoted(function.name)} calls itself, or nests too deeply"
            return not_costed(step, Diagnostic("T0692", message))
        inner = walk_of(
            self.session, {**self.opsets, **function.opsets}, self.functions, (*self.callers, id(function))
        )
        inner.assumed = self.assumed
        for name, number in zip(function.inputs, (*places, *[NOTHING] * len(function.inputs)), strict=False):
            inner.names.meet(name, number)
        try:
            found = inner.run(resolved_steps(function, step, self.functions.steps))
        except Rejected as rejected:
            return not_costed(step, rejected.diagnostics[0])
        return gathered(found, tuple(map(inner.names.number_of, function.outputs)), inner.names.equal)


def walk_of(
    session: Session, opsets: Mapping[str, int], functions: Functions, callers: tuple[int, ...] = ()
) -> Walk:
    """A walk that has not started."""
    return Walk(session, opsets, functions, Names(session.table), callers=callers)


def _title(step: Step) -> str:
    """What symbols of a node are called after: its name, or its first output's."""
    name = step.name or next((output for output in step.outputs if output), step.op)
    return re.sub(r"\W+", "_", name).strip("_")[-40:]


def _titled(step: Step, lowered: Lowered) -> Lowered:
    """Name what only data decides after the node, unless it has a name already."""
    bare = [s for s in lowered.data if re.fullmatch(r"z\d+", s.name)]
    if not bare:
        return lowered
    title = _title(step)
    by = {s: data_symbol(f"{title}_{s.name}", s.lo, s.hi) for s in bare}
    return renamed(lowered, {**{s: atom(s) for s in lowered.data}, **by})


def _fresh_name(symbol: Symbol, title: str) -> str:
    """The name of a symbol for another node: ``z1`` and ``turns`` go after that, what else there is too."""
    bare = re.search(r"_(z\d+|turns)$", symbol.name)
    if bare is not None:
        return f"{title}_{bare[1]}"
    return symbol.name if symbol.name.startswith(title) else f"{title}_{symbol.name}"
