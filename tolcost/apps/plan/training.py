"""A step of training of a planned model: what is held, what forward keeps for backward, and what it takes.

Backward is derived from what each call computes, by reverse mode, and reads only what that derivative reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache

from msgspec import Struct, field

from tolcost.algebra import ZERO, AlgebraBudget, Poly, Symbol, const, evaluate, product_of
from tolcost.apps.plan.calls import CallKind
from tolcost.apps.plan.figures import ModelRun, ServedModel, called_of, volume
from tolcost.apps.plan.time import rate_of
from tolcost.apps.plan.trace import CallResult, CallResults, Happening, Happenings, happenings
from tolcost.atoms.nodes import Input, Node
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Library
from tolcost.cost import count
from tolcost.cost.device import Device
from tolcost.diagnostics import Diagnostic, Rejected, Span, quoted, refuse
from tolcost.elaborate import Tensor
from tolcost.gradient import GradientRequest, derive
from tolcost.pipeline import Parsed, read_shipped
from tolcost.platform import read_spec, with_deep_stack
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.passes import derived_pass, pass_written
from tolcost.training.programs import ShapedProgram, optimizer
from tolcost.training.timeline import Timeline
from tolcost.training.written import DefinedNode, WrittenPass, has_gradients, lower_written, written_file

CallPassKey = tuple[CallKind, tuple[str, ...], tuple[str, ...]]
"""A kind of calls, the operands that have a gradient, and the results that it goes back from."""
FORWARD, AGAIN, BACKWARD = "forward", "computed again", "backward"


class Precisions(Struct, frozen=True):
    """Bytes of a number of a parameter, of its copy in 32 bits, and the space of what an optimiser keeps."""

    master: int
    state: str


PRECISIONS: Mapping[str, Precisions] = {
    "bf16-mixed": Precisions(4, "float32"),
    "bf16": Precisions(0, "bfloat16"),
}
"""Parameters, their gradients and activations have 16 bits; mixed, the optimiser works on copies in 32."""
WIDTH = 2


class StepAsked(Struct, frozen=True):
    """How a model is trained: the optimiser, how wide its numbers are, and whether layers are done again."""

    optimizer: str
    precision: str = "bf16-mixed"
    recompute: bool = False
    """Whether forward keeps what layers begin with alone, and computes the rest again."""


class ParameterUse(Struct, frozen=True):
    """An input that is trained: the shape of the parts in which calls take it, and its size."""

    shape: tuple[int, ...]
    elements: int


class TrainedStep(Struct, frozen=True, eq=False, dict=True):
    """A step of training: the calls of forward in their order, and the derivative of each."""

    served: ServedModel
    asked: StepAsked

    @property
    def reading(self) -> ServedModel:
        """The model as it gives the logits of all tokens."""
        return _derived(self.served).reading

    def point(self, batch: int, tokens: int, made: int) -> dict[Symbol, int]:
        """Return a number for each length: of texts of so many tokens, of which an encoder's have others."""
        source = self.served.model.family.source
        return self.reading.point(ModelRun(batch, made, 0, tokens) if source else ModelRun(batch, tokens))

    @cached_property
    def forward(self) -> Happenings:
        """The calls of forward in their order; how many there are goes by the layers alone."""
        return happenings(self.reading.called, self.point(1, 2, 2))

    @cached_property
    def followed(self) -> FollowedStep:
        """The step with its buffers."""
        return with_deep_stack(lambda: _Following(self).run())

    @property
    def trained(self) -> int:
        """The number of parameters that have a gradient."""
        return sum(use.elements for use in self.followed.parameters.values())

    @property
    def held(self) -> dict[str, int]:
        """Bytes that are there throughout a step, and those of gradients."""
        precision, served = PRECISIONS[self.asked.precision], self.served
        return {
            "parameters": served.parameter_count * WIDTH,
            "gradients": self.trained * WIDTH,
            "copies": self.trained * precision.master,
            "optimiser": self._state(precision.state),
        }

    def _state(self, space: str) -> int:
        """Return the bytes that the optimiser keeps."""
        rules = optimizer(self.asked.optimizer)
        total = 0
        for use in self.followed.parameters.values():
            shape = _rule_shape(rules, use.shape)
            form = rules[len(shape)].held(tuple(map(const, shape)), ("p", "g"), space)
            total += use.elements // _volume(shape) * evaluate(form, {})
        return total


class DerivedModel(Struct, frozen=True, eq=False):
    """A model as it gives the logits of all tokens, and the backward passes of its calls so far."""

    reading: ServedModel
    passes: dict[CallPassKey, BackwardPass | None] = field(default_factory=dict)


@lru_cache(maxsize=4)
def _derived(served: ServedModel) -> DerivedModel:
    """Return what steps of training of a model have in common, however they are asked for."""
    model = served.model
    family, program = model.family, read_shipped(read_spec("serving", model.family.program)).program
    names = {getattr(one, "name", "") for one in program.statements}
    own = dict.fromkeys(names & {"all_logits", "causal"}, True)
    attrs = {**model.attrs, **family.reading, **own}
    return DerivedModel(ServedModel(model, called_of(model, attrs, served.called.kinds)))


class PlannedStep(Struct, frozen=True, eq=False, dict=True):
    """A step of training with so many texts of so many tokens, on a device."""

    step: TrainedStep
    batch: int
    tokens: int
    device: Device | None = None
    made: int = 0
    """The tokens that a decoder makes of a text, where an encoder reads ``tokens``."""

    @cached_property
    def point(self) -> dict[Symbol, int]:
        """A number for each length."""
        return self.step.point(self.batch, self.tokens, self.made)

    @cached_property
    def macs(self) -> dict[str, int]:
        """The multiply-accumulates of the parts of the step."""
        products = self.step.followed.products
        return {part: _evaluated(forms, self.point) for part, forms in products.items()}

    @cached_property
    def model_macs(self) -> int:
        """The multiply-accumulates of values and gradients, if nothing is computed again."""
        derived = self.step.followed.derived.items()
        return sum(times * evaluate(_together(*one), self.point) for one, times in derived)

    @property
    def kept(self) -> int:
        """The bytes of the results that forward keeps for backward."""
        return _evaluated(self.step.followed.kept, self.point)

    @cached_property
    def peak(self) -> StepPeak:
        """The most bytes at once."""
        held, known = self.step.held, dict[Poly, int]()

        def number(form: Poly) -> int:
            if form not in known:
                known[form] = evaluate(form, self.point)
            return known[form]

        followed = self.step.followed
        besides = held["parameters"] + held["copies"] + held["optimiser"]
        most, at = followed.line.peak_at(number, besides)
        return StepPeak(most, followed.spans[at], followed.line.moments[at].part)

    @property
    def fits(self) -> bool | None:
        """Whether the device holds what is needed at once; None without a device."""
        memory = None if self.device is None else self.device.memory
        return None if memory is None else self.peak.bytes <= memory

    @property
    def bound(self) -> tuple[Fraction, str] | None:
        """A time that no step goes below, in microseconds, and what it comes from; None without a device.

        What is held is read once and written once, and so are gradients; of products, those count that would
        be left if backward kept all that it reads, and layers that are asked to be computed again.
        """
        if self.device is None:
            return None
        moved = Fraction(2 * sum(self.step.held.values())) / self.device.bytes
        rate = rate_of(self.device)
        products = Fraction(0) if rate is None else (self.model_macs + self.macs[AGAIN]) / rate
        return max((moved, "bytes"), (products, "operations"))


class StepPeak(Struct, frozen=True):
    """The most bytes at once in a step, and the call and the part of the step at which that is."""

    bytes: int
    span: Span
    part: str


def step_of(served: ServedModel, asked: StepAsked) -> TrainedStep:
    """Return a step of training of a model; refuse one that is not known."""
    if asked.precision not in PRECISIONS:
        hint = f"there are {', '.join(PRECISIONS)}"
        refuse("T0924", f"{quoted(asked.precision)} is no precision for training", hint=hint)
    optimizer(asked.optimizer)
    return TrainedStep(served, asked)


# ---- the derivatives of calls ---------------------------------------------------------------------


def _evaluated(forms: Mapping[Poly, int], point: Mapping[Symbol, int]) -> int:
    return sum(times * evaluate(form, point) for form, times in forms.items())


def _volume(shape: Iterable[int]) -> int:
    found = 1
    for d in shape:
        found *= d
    return found


def _rule_shape(rules: Mapping[int, ShapedProgram], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths that an optimiser takes for a parameter: the last two of a stack of matrices."""
    if 2 not in rules or len(shape) < 2:
        return (_volume(shape),)
    return _volume(shape[:-1]), shape[-1]


def _backward(
    kind: CallKind, wanted: tuple[str, ...], of: tuple[str, ...], specs: Library
) -> BackwardPass | None:
    """Return the backward pass of a call: a written one, as frameworks run it, or else its derivative."""
    parsed = None if kind.spec is None else written_file(kind.spec.domain, kind.name)
    if parsed is not None and kind.spec is not None:
        made = _written(kind, parsed, wanted, of, specs)
        if made is not None:
            return pass_written(made)
    found = derived_pass(kind.program, kind.name, wanted, of)
    if isinstance(found, Diagnostic):
        raise Rejected(found)
    return found


def _written(
    kind: CallKind, parsed: Parsed, wanted: tuple[str, ...], of: tuple[str, ...], specs: Library
) -> WrittenPass | None:
    """Return the written backward pass of an operator; None where it does not fit."""
    assert kind.spec is not None
    settings = {name: value for name, value in kind.settings.items() if not isinstance(value, Tensor)}
    node = GraphNode(kind.name, kind.spec.domain, "", (), (), settings)  # known values
    definition = DefinedNode(specs, node, kind.spec)
    there = has_gradients(parsed)
    if not set(wanted) <= there:
        return None
    try:
        return lower_written(parsed, definition, kind.program, wanted, of)
    except (Rejected, AlgebraBudget, RecursionError):  # the derivative is there for these
        return None


def _together(kind: CallKind, wanted: tuple[str, ...], of: tuple[str, ...]) -> Poly:
    """Return the multiply-accumulates of values and gradients of a call, where nothing is computed twice."""
    return count(derive(kind.program, GradientRequest(wanted, of, values=True, nonzero=True)).program).macs


# ---- the buffers of a step ------------------------------------------------------------------------


class FollowedStep(Struct, frozen=True, eq=False):
    """A step with its buffers: what is alive when, what is kept, and the work of its parts."""

    line: Timeline
    spans: tuple[Span, ...]
    kept: Mapping[Poly, int]
    products: Mapping[str, Mapping[Poly, int]]
    parameters: Mapping[str, ParameterUse]
    derived: Mapping[CallPassKey, int]


class _Reversed(Struct, frozen=True, eq=False):
    """A call in backward: its pass, the tensors that it reads, and the results that it goes back from."""

    call: Happening
    found: BackwardPass
    reads: CallResults
    of: Mapping[str, CallResult]


class _Following(Struct, eq=False, dict=True):
    """Follows the buffers of a step."""

    step: TrainedStep
    line: Timeline = field(default_factory=Timeline)
    spans: list[Span] = field(default_factory=list)
    derived: Counter[CallPassKey] = field(default_factory=Counter)
    names: dict[CallResult, str] = field(default_factory=dict)
    makers: dict[CallResult, Happening] = field(default_factory=dict)
    adjoints: dict[CallResult, str] = field(default_factory=dict)
    own: set[CallResult] = field(default_factory=set)
    """CallResults whose adjoints have buffers that are theirs alone."""
    parameters: dict[str, ParameterUse] = field(default_factory=dict)
    again: dict[tuple[int, ...], dict[CallResult, str]] = field(default_factory=dict)
    """For each layer that is computed again, the buffers of its tensors."""
    products: dict[str, Counter[Poly]] = field(default_factory=dict)

    def run(self) -> FollowedStep:
        """Return the step with its buffers."""
        forward = self.step.forward
        self.products = {part: Counter() for part in (FORWARD, AGAIN, BACKWARD)}
        for one in forward.calls:
            for tensor in one.made:
                self.makers[tensor], self.names[tensor] = one, f"f{len(self.names)}"
        order = tuple(self.reversed())
        for one in forward.calls:
            self.computed(one, FORWARD, self.names)
        seeds = {f"g{self.names[tensor]}": tensor.bytes for tensor in forward.result}
        self.adjoints = {tensor: f"g{self.names[tensor]}" for tensor in forward.result}
        self.own = set(forward.result)
        self.moment("the start of backward", seeds, (), BACKWARD, forward.calls[-1].call.span)
        for passed in order:
            self.back(passed, order)
        there = [name for tensor in forward.result for name in (self.names[tensor], f"g{self.names[tensor]}")]
        self.moment("the end of backward", {}, there, BACKWARD, forward.calls[0].call.span)
        ends = [name for name in self.line.sizes if name.startswith("p")]
        self.moment("the optimiser", {}, ends, self.step.asked.optimizer, forward.calls[-1].call.span)
        kept = Counter(tensor.bytes for tensor in self.kept(order))
        return FollowedStep(self.line, tuple(self.spans), kept, self.products, self.parameters, self.derived)

    def moment(
        self, title: str, makes: Mapping[str, Poly], reads: Iterable[str], part: str, span: Span
    ) -> None:
        """Add a moment with its place."""
        self.line.add(title, makes, reads, part)
        self.spans.append(span)

    def computed(self, one: Happening, part: str, names: Mapping[CallResult, str]) -> None:
        """Note a call of forward, or one that is computed again."""
        makes = {names[tensor]: tensor.bytes for tensor in one.made}
        reads = [names.get(tensor, self.names[tensor]) for tensors in one.given for tensor in tensors]
        self.moment(one.call.kind.name, makes, reads, part, one.call.span)
        self.products[part][one.call.kind.analysis.counts.macs] += 1

    # ---- what is derived -------------------------------------------------------------------------

    def is_parameter(self, names: Iterable[str]) -> bool:
        """Whether an operand is made of parameters."""
        return bool(names) and self.trainable.keys() >= set(names)

    @cached_property
    def trainable(self) -> Mapping[str, Input]:
        """All parameters by name."""
        return {one.name: one for one in self.step.served.parameters}

    @cached_property
    def active(self) -> frozenset[CallResult]:
        """The results that depend on parameters."""
        found: set[CallResult] = set()
        for one in self.step.forward.calls:
            trained = any(
                not found.isdisjoint(tensors) or (not tensors and self.is_parameter(names))
                for tensors, names in zip(one.given, one.call.reads, strict=True)
            )
            found.update(tensor for tensor in one.made if trained and tensor.real)
        return frozenset(found)

    def wanted(self, one: Happening) -> tuple[str, ...]:
        """Return the operands of a call that have a gradient."""
        kind, there = one.call.kind, {given.name for given in one.call.kind.program.inputs}
        rows = zip(kind.operands, kind.inputs, one.given, one.call.reads, strict=True)
        return tuple(
            name
            for name, types, tensors, names in rows
            if name in there
            and types[0].space == "R"
            and (not self.active.isdisjoint(tensors) or (not tensors and self.is_parameter(names)))
        )

    def reversed(self) -> Iterator[_Reversed]:
        """Yield the calls of backward in their order."""
        specs = read_shipped(read_spec("serving", self.step.served.model.family.program)).specs
        passes = _derived(self.step.served).passes
        reached = set(self.step.forward.result)
        for one in reversed(self.step.forward.calls):
            kind = one.call.kind
            titles = dict(zip([out.name for out in kind.program.outputs], one.made, strict=True))
            of = {title: tensor for title, tensor in titles.items() if tensor in reached & self.active}
            wanted = self.wanted(one)
            key = (kind, wanted, tuple(of))
            if not of or not wanted:
                continue
            if key not in passes:
                passes[key] = _backward(*key, specs)
            found = passes[key]
            if found is None:
                continue
            given = dict(zip(kind.operands, one.given, strict=True))
            known = {**given, **{title: frozenset({tensor}) for title, tensor in titles.items()}}
            reads = frozenset[CallResult]().union(*(known.get(name, frozenset()) for name in found.reads))
            reached.update(*(given[name] & self.active for name in found.gradients))
            if kind.analysis.counts.macs != ZERO:
                self.derived[key] += 1
                self.products[BACKWARD][found.cost.counts.macs] += 1
            yield _Reversed(one, found, reads, of)

    # ---- what is kept, and what is computed again -------------------------------------------------

    def region(self, one: Happening) -> tuple[int, ...] | None:
        """Return the layer of a call, if layers are computed again."""
        return one.place[:2] if self.step.asked.recompute and one.place else None

    def needed_again(
        self, region: tuple[int, ...], order: Iterable[_Reversed]
    ) -> tuple[list[Happening], CallResults]:
        """Return the calls that a layer computes again, and what they and its backward read from outside."""
        pending = [t for one in order if self.region(one.call) == region for t in one.reads]
        calls, outside = dict[Happening, None](), set[CallResult]()
        while pending:
            tensor = pending.pop()
            maker = self.makers[tensor]
            if self.region(maker) != region:
                outside.add(tensor)
            elif maker not in calls:
                calls[maker] = None
                pending += [t for tensors in maker.given for t in tensors]
        return [one for one in self.step.forward.calls if one in calls], frozenset(outside)

    def kept(self, order: tuple[_Reversed, ...]) -> CallResults:
        """Return the results that forward keeps for backward."""
        regions = dict.fromkeys(self.region(one.call) for one in order)
        plain = (tensor for one in order if self.region(one.call) is None for tensor in one.reads)
        own = (self.needed_again(region, order)[1] for region in regions if region is not None)
        return frozenset(plain).union(*own)

    def compute_again(self, region: tuple[int, ...], order: tuple[_Reversed, ...]) -> dict[CallResult, str]:
        """Compute a layer again, before its backward, and return the buffers of its tensors."""
        calls, _ = self.needed_again(region, order)
        names = {tensor: f"r{self.names[tensor]}" for one in calls for tensor in one.made}
        for one in calls:
            self.computed(one, AGAIN, names)
        return names

    # ---- backward --------------------------------------------------------------------------------

    def back(self, passed: _Reversed, order: tuple[_Reversed, ...]) -> None:
        """Follow the buffers of a call in backward."""
        one, region = passed.call, self.region(passed.call)
        names: Mapping[CallResult, str] = {}
        if region is not None:
            if region not in self.again:
                self.again[region] = self.compute_again(region, order)
            names = self.again[region]
        reads = [names.get(tensor, self.names[tensor]) for tensor in passed.reads]
        reads += [self.adjoints[tensor] for tensor in passed.of.values()]
        makes: dict[str, Poly] = {}
        rows = zip(one.call.kind.operands, one.given, one.call.node.args, one.call.reads, strict=True)
        for n, (name, tensors, node, inputs) in enumerate(rows):
            if name not in passed.found.gradients:
                continue
            if not tensors:
                self.gradient(one, node, inputs[0], makes)
                continue
            title = passed.found.gradients[name]
            source = None if title is None else self.adjoints[passed.of[title]]
            for tensor in tensors & self.active:
                self.contribute(tensor, source, f"t{self.names[tensor]}.{len(self.spans)}.{n}", makes, reads)
        self.moment(one.call.kind.name, makes, reads, BACKWARD, one.call.span)

    def contribute(
        self, tensor: CallResult, source: str | None, name: str, makes: dict[str, Poly], reads: list[str]
    ) -> None:
        """Add to the adjoint of a tensor; ``source`` is the adjoint that is passed on, if one is."""
        before = self.adjoints.get(tensor)
        if before is None:
            self.adjoints[tensor] = source or f"g{self.names[tensor]}"
            if source is None:
                makes[self.adjoints[tensor]] = tensor.bytes
                self.own.add(tensor)
            return
        reads.append(before)
        if source is None:
            makes[name] = tensor.bytes
        if tensor not in self.own:
            self.adjoints[tensor] = f"{name}.sum"
            makes[f"{name}.sum"] = tensor.bytes
            self.own.add(tensor)

    def gradient(self, one: Happening, node: Node, name: str, makes: dict[str, Poly]) -> None:
        """Note the gradient of a parameter, which stays until the optimiser takes it.

        Each layer has its share of a parameter, unless it takes all of it.
        """
        part, whole = node.type[0].shape, self.trainable[name].type[0].shape
        point = self.step.point(1, 2, 2)
        total = volume(whole, point)
        is_shared = not one.place or product_of(part) == product_of(whole)
        places = {()} if is_shared else self.places[name]
        shape = whole if not one.place else part
        self.parameters.setdefault(name, ParameterUse(tuple(evaluate(d, point) for d in shape), total))
        key = f"p{name}{() if is_shared else one.place}"
        if key in self.line.sizes or key in makes:  # another gradient is added to it
            key = f"t{key}.{len(self.spans)}"
        makes[key] = const(total * WIDTH // len(places))

    @cached_property
    def places(self) -> Mapping[str, set[tuple[int, ...]]]:
        """Where in loops each parameter is used."""
        found: dict[str, set[tuple[int, ...]]] = {}
        for one in self.step.forward.calls:
            for names in one.call.reads:
                for name in names:
                    found.setdefault(name, set()).add(one.place)
        return found
