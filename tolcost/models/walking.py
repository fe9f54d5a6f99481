"""Walking a graph: every node by the definition of its operator, each distinct case lowered once.

What is known of a value has a number (``known``).  A node is its operator, its attributes and the
numbers of its inputs; a node seen before in this sense costs a lookup.  Lengths that a node makes
equal are one from there on.  Functions are walked once for each set of inputs, never inlined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tolcost.algebra import Poly, Symbol, data_symbol, length, substitute
from tolcost.algebra.poly import ZERO, atom, const
from tolcost.atoms.nodes import Program
from tolcost.catalogue.nodes import node_of
from tolcost.catalogue.specs import Library
from tolcost.cost import Counts, Traffic
from tolcost.cost.count import ATOMS
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Inputs, Tensor
from tolcost.models.bodies import body_of, resolved_steps
from tolcost.models.known import NOTHING, Known, Table, replaced
from tolcost.models.lowering import Given, Lowered, lower
from tolcost.models.model import Declared, Function, FunctionKey, Graph, Step, Weight
from tolcost.models.reading import weight_of
from tolcost.models.renaming import renamed

MOST_WALKED = 4_000_000
"""Nodes looked at, those in functions once for every set of inputs."""

MOST_NESTED = 60
"""How deeply functions of a model may call one another."""

UNKNOWN = -1
"""The number of an output of which nothing is known."""

Key = tuple[object, ...]

HELD = Lowered(
    op="Constant",
    domain="",
    counts=Counts({}, {}, dict.fromkeys(ATOMS, ZERO), ZERO, (), "exact"),
    traffic=Traffic({}, {}),
    outputs=(),
    conditions=(),
    equal={},
    data=frozenset(),
    program=Program("Constant", (), (), ()),
)
"""A node that only holds a tensor: nothing is computed, and nothing moves that is no parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncosted:
    """An operator that could not be costed, how often it is applied, and why."""

    op: str
    times: int
    why: Diagnostic


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What a node comes to: operators with how often each is applied, and numbers of what it gives."""

    outputs: tuple[int, ...]
    parts: tuple[tuple[Lowered, int], ...]
    uncosted: tuple[Uncosted, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)

    @property
    def data(self) -> bool:
        """Whether something in it only data decides."""
        return any(lowered.data for lowered, _ in self.parts)


@dataclass(slots=True)
class Session:
    """What lasts from model to model: definitions, and everything lowered so far."""

    library: Library
    table: Table = field(default_factory=Table)
    done: dict[Key, dict[Key, Applied]] = field(default_factory=dict)

    def seen(self, opsets: Mapping[str, int], functions: object) -> dict[Key, Applied]:
        """Nodes seen before under the same versions; a model's own functions are its own."""
        mine = (functions,) if functions else ()
        return self.done.setdefault((*sorted(opsets.items()), *mine), {})


class Functions:
    """The functions of one model; equal to nothing but itself, so that it can be part of a key."""

    def __init__(self, given: Mapping[FunctionKey, Function]) -> None:
        """Start with those of the model; bodies that ONNX defines come when they are needed."""
        self.given = given
        self.bodies: list[Function] = []
        self.steps: dict[Key, tuple[Step, ...]] = {}
        self.walked = 0


@dataclass(slots=True)
class Walk:
    """Walking one graph or one function."""

    session: Session
    opsets: Mapping[str, int]
    functions: Functions
    dims: Mapping[str, int] = field(default_factory=dict)
    callers: tuple[object, ...] = ()
    numbers: dict[str, int] = field(default_factory=lambda: {"": NOTHING})
    unknown: set[str] = field(default_factory=set)
    equal: dict[Symbol, Poly] = field(default_factory=dict)
    dimensions: dict[str, Poly] = field(default_factory=dict)
    declared: Mapping[str, Declared] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    _moved: dict[int, int] = field(default_factory=dict)
    _mentions: dict[Symbol, set[int]] = field(default_factory=dict)
    _met: set[int] = field(default_factory=set)
    _done: dict[Key, Applied] = field(default_factory=dict)
    _graph: Sequence[Step] = ()

    # ---- the start ----

    def enter(self, graph: Graph) -> None:
        """Know what a graph is given and what it holds."""
        self.declared = graph.declared
        for given in graph.inputs:
            self.meet(given.name, self.session.table.number(self._input(given)))
        for weight in graph.weights.values():
            self.meet(weight.name, self.session.table.number(known_weight(weight)))

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
        self._done = done = self.session.seen(self.opsets, self.functions if self.functions.given else None)
        self._budget(len(steps))
        numbers = self.numbers
        found: list[Applied] = []
        for step in steps:
            op, domain, _, inputs, outputs, attributes, asked, free, _ = step
            try:
                places = [numbers[name] for name in inputs]
                if free:
                    places += [numbers[name] for name in free]
                if self._moved:
                    places = list(map(self._now, places))
            except KeyError:
                found.append(self._stuck(step))
                continue
            key = (op, domain, asked, attributes, *places)
            applied = done.get(key)
            if applied is None:
                applied = self._new(step, key, places)
            elif applied.data:
                applied = self._again(step, applied)
            if applied.equal:
                self._adopt(applied.equal)
            found.append(applied)
            for name, number in zip(outputs, applied.outputs, strict=False):
                self.meet(name, number)
        return found

    def _budget(self, steps: int) -> None:
        self.functions.walked += steps
        if self.functions.walked > MOST_WALKED:
            raise Rejected(Diagnostic("T0506", f"the model has more than {MOST_WALKED:,} nodes to look at"))

    def meet(self, name: str, number: int) -> None:
        """A name gets what is known of it; each name only once."""
        if not name:
            return
        if name in self.numbers or name in self.unknown:
            raise Rejected(
                Diagnostic("T0675", f"{quoted(name)} is given by two nodes, inputs or initializers")
            )
        if number == UNKNOWN:
            number = self._as_declared(name)
            if number == UNKNOWN:
                self.unknown.add(name)
                return
        self.numbers[name] = number
        if number not in self._met:
            self._met.add(number)
            for symbol in self.session.table.symbols[number]:
                self._mentions.setdefault(symbol, set()).add(number)

    def _as_declared(self, name: str) -> int:
        """What the file says of a value of which nothing is known otherwise."""
        declared = self.declared.get(name)
        if declared is None or declared.shape is None or declared.sequence:
            return UNKNOWN
        self.assumed.append(name)
        return self.session.table.number(self._tensor(declared, declared.shape))

    def _stuck(self, step: Step) -> Applied:
        """A node with an input of which nothing is known; one that nobody gives is refused."""
        name = next(n for n in (*step.inputs, *step.free) if n not in self.numbers)
        if name not in self.unknown:
            self._refuse_unknown(step, name)
        why = Diagnostic("T0679", f"nothing is known of its input {quoted(name)}")
        for output in step.outputs:
            self.meet(output, UNKNOWN)
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
        given = Given(tuple(inputs), step.inputs, outside)
        try:
            call = node_of(step.proto)
        except (Rejected, ValueError, TypeError) as error:
            why = (
                error.diagnostics[0] if isinstance(error, Rejected) else Diagnostic("T0674", str(error)[:200])
            )
            return _not_costed(step, why)
        lowered = lower(self.session.library, self.opsets, call, spec, given)
        if isinstance(lowered, Diagnostic):
            return _not_costed(step, lowered)
        numbers = tuple(map(table.number, lowered.outputs))
        return Applied(numbers, ((lowered, 1),), (), lowered.equal)

    def _fallback(self, step: Step, places: Sequence[int]) -> Applied:
        """An operator without a definition: by the body that ONNX has for it, or not at all."""
        known = [self.session.table.things[n] for n in places[: len(step.inputs)]]
        function = body_of(step, self.opsets.get(step.domain), known)
        if function is not None:
            self.functions.bodies.append(function)  # what is kept about it goes by its identity
            return self._function(step, function, places)
        reason = self._outside(step)
        return _not_costed(step, Diagnostic("T0678", f"{title_of(step)} is not costed: {reason}"))

    def _outside(self, step: Step) -> str:
        try:
            return self.session.library.outside(step.domain).get(step.op, "it has no definition")
        except Rejected as rejected:  # the domain is no name of a folder
            return rejected.diagnostics[0].message

    def _again(self, step: Step, applied: Applied) -> Applied:
        """The same operator somewhere else: what data decides is decided anew."""
        ((lowered, _),) = applied.parts
        title = re.sub(r"\W", "_", step.name or step.op)[:40]
        fresh = {s: data_symbol(_fresh_name(s, title), s.lo, s.hi) for s in lowered.data}
        mine = renamed(lowered, fresh)
        return Applied(tuple(map(self.session.table.number, mine.outputs)), ((mine, 1),), (), mine.equal)

    # ---- functions ----

    def _function(self, step: Step, function: Function, places: Sequence[int]) -> Applied:
        if len(self.callers) >= MOST_NESTED or id(function) in self.callers:
            message = f"the function {quoted(function.name)} calls itself, or nests too deeply"
            return _not_costed(step, Diagnostic("T0682", message))
        inner = Walk(
            self.session,
            {**self.opsets, **function.opsets},
            self.functions,
            callers=(*self.callers, id(function)),
        )
        for name, number in zip(function.inputs, (*places, *[NOTHING] * len(function.inputs)), strict=False):
            inner.meet(name, number)
        try:
            found = inner.run(resolved_steps(function, step, self.functions.steps))
        except Rejected as rejected:
            return _not_costed(step, rejected.diagnostics[0])
        return gathered(found, tuple(inner.number_of(name) for name in function.outputs), inner.equal)

    # ---- equal lengths ----

    def number_of(self, name: str) -> int:
        """The number of what is known of a name by now."""
        return self._now(self.numbers.get(name, UNKNOWN))

    def known(self, name: str) -> Known | None:
        """What is known of a name by now."""
        number = self.number_of(name)
        return None if number == UNKNOWN else self.session.table.things[number]

    def _now(self, number: int) -> int:
        while number in self._moved:
            number = self._moved[number]
        return number

    def _adopt(self, equal: Mapping[Symbol, Poly]) -> None:
        """Two lengths that a node makes equal are one from then on, everywhere."""
        for symbol, value in equal.items():
            if symbol in self.equal:
                continue
            symbol, value = _length_last(symbol, substitute(value, self.equal))
            if symbol in value.free or symbol in self.equal:
                continue
            one = {symbol: value}
            self.equal = {s: substitute(p, one) for s, p in self.equal.items()}
            self.equal[symbol] = value
            for number in self._mentions.pop(symbol, ()):
                self._move(number, one)

    def _move(self, number: int, one: Mapping[Symbol, Poly]) -> None:
        if number in self._moved:
            return
        thing = self.session.table.things[number]
        if thing is None:
            return
        to = self.session.table.number(replaced(thing, one))
        self._moved[number] = to
        if to not in self._met:
            self._met.add(to)
            for symbol in self.session.table.symbols[to]:
                self._mentions.setdefault(symbol, set()).add(to)


def _length_last(symbol: Symbol, value: Poly) -> tuple[Symbol, Poly]:
    """Of a length and something that data decides, the length stays."""
    only = next(iter(value.free)) if len(value.free) == 1 else None
    if symbol.kind == "length" and only is not None and only.kind == "data" and value == atom(only):
        return only, atom(symbol)
    return symbol, value


def _fresh_name(symbol: Symbol, title: str) -> str:
    return symbol.name if symbol.name.startswith(title) else f"{title}_{symbol.name}"


def title_of(step: Step) -> str:
    """The operator of a node, with its domain where that is not ONNX's own."""
    return f"{step.domain}.{step.op}" if step.domain else step.op


def known_weight(weight: Weight) -> Known:
    """What is known of a tensor that the model holds."""
    if weight.value is not None:
        return weight.value  # type: ignore[return-value]  # a value of the elaborator, kept opaque there
    return Tensor(tuple(map(const, weight.shape)), weight.space)


def held_tensor(step: Step) -> Weight | None:
    """The tensor of a node that does nothing but hold one; it may be as large as any weight."""
    if step.op != "Constant" or step.domain or len(step.proto.attribute) != 1:
        return None
    attribute = step.proto.attribute[0]
    return weight_of(attribute.t) if attribute.name == "value" and attribute.HasField("t") else None


def _not_costed(step: Step, why: Diagnostic) -> Applied:
    return Applied((UNKNOWN,) * len(step.outputs), (), (Uncosted(title_of(step), 1, why),))


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
    return Applied(outputs, tuple(parts.items()), tuple(uncosted.values()), equal)
