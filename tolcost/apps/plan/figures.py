"""Sizes and work of a model at a point: all of it comes from the calls and inputs of its program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, evaluate, evaluate_cond, symbols_of_cond
from tolcost.apps.plan.activations import WIDTHS, CallMoment, moments
from tolcost.apps.plan.calls import CalledProgram, CallKind, ProgramCall, Scopes, called_program
from tolcost.apps.plan.door import PlannedModel
from tolcost.apps.plan.precision import Precision
from tolcost.atoms.nodes import Input
from tolcost.cost.traffic import bits_of
from tolcost.pipeline import read_shipped
from tolcost.platform import read_spec, with_deep_stack
from tolcost.syntax import tree

BATCH, NEW, PAST, NEAR = "b", "s", "t", "u"
"""Lengths of every program: texts, new tokens of each, tokens before them, and those that a window keeps."""
SOURCE = "x"
"""The length of what an encoder reads, where the prompt is that."""
FUNCTIONS = frozenset(
    {
        "affine",
        "onto_rows",
        "attended",
        "attended_latents",
        "chosen",
        "scanned",
        "scanned_heads",
        "recalled",
        "remembered",
    }
)
"""Functions of library files that one kernel computes, or a product with what stands around it."""
SPACE, WIDTH = "bfloat16", 2
"""In which numbers are computed, and the bytes of one."""


class ModelRun(Struct, frozen=True):
    """A run of the model: texts, new tokens of each, tokens before them, and those an encoder has read."""

    batch: int
    new: int
    past: int = 0
    source: int = 0

    @property
    def first(self) -> bool:
        """Whether it reads a prompt."""
        return self.new > 1 or self.past == 0


class CallAt(Struct, frozen=True, eq=False):
    """Calls that are alike at a point: how many there are, and what each of them does."""

    call: ProgramCall
    times: int
    macs: int
    read: Fraction
    """Bytes, with parameters as wide as they are kept."""
    certain: Fraction
    written: int
    largest: int
    kept: Fraction
    """Bytes of parameters and of what earlier runs kept, as far as they are read whatever the data."""
    reached: Fraction
    """The same where tokens choose as many experts as they may."""

    @property
    def name(self) -> str:
        """What is called."""
        return self.call.kind.name


class ServedModel(Struct, frozen=True, eq=False, dict=True):
    """A model with the calls of its program."""

    model: PlannedModel
    called: CalledProgram
    """Its program, as it makes a token."""

    @cached_property
    def reading(self) -> CalledProgram:
        """Its program, as it reads a prompt."""
        own = self.model.family.reading
        attrs = {**self.model.attrs, **own}
        return called_of(self.model, attrs, self.called.kinds) if own else self.called

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """All lengths that some form mentions."""
        forms: list[Poly] = [d for given in self.inputs for d in given.type[0].shape]
        found: set[Symbol] = set()
        calls = self.called.calls
        for call in calls if self.reading is self.called else (*calls, *self.reading.calls):
            moved, counts = call.kind.analysis.traffic, call.kind.analysis.counts
            least = moved.certain
            forms += [counts.macs, *moved.read.values(), *moved.written.values(), *least.values()]
            forms += [d for types in (call.kind.inputs, call.kind.outputs) for t in types for d in t[0].shape]
            for scope in call.scopes:
                if isinstance(scope, tuple):
                    forms.append(scope[1])
                else:
                    found |= symbols_of_cond(scope)
        forms += [one.bytes for told in self.moments for one in told]
        return frozenset(found.union(*(form.free for form in forms)))

    def point(self, run: ModelRun) -> dict[Symbol, int]:
        """Return a number for each length."""
        told = {**self.model.lengths, BATCH: run.batch, NEW: run.new, PAST: run.past}
        told[NEAR] = min(run.past, max(told.get("window", 1) - 1, 0))
        if self.model.family.source:
            told[SOURCE] = run.source
        return {symbol: told[symbol.name] for symbol in self.symbols if symbol.kind == "length"}

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """All inputs that something is computed from, when a prompt is read or a token made."""
        found = {one.name: one for called in (self.reading, self.called) for one in called.inputs}
        return tuple(found.values())

    @cached_property
    def parameters(self) -> tuple[Input, ...]:
        """The inputs that no run changes: reals without a length of a run in their shape."""
        own = {BATCH, NEW, PAST, NEAR, *((SOURCE,) if self.model.family.source else ())}
        return tuple(one for one in _reals(self.inputs) if not own & _names(one))

    @cached_property
    def state(self) -> tuple[Input, ...]:
        """The inputs that a run keeps for the next: reals for each text."""
        return tuple(one for one in _reals(self.called.inputs) if BATCH in _names(one))

    def elements(self, inputs: Iterable[Input], run: ModelRun) -> dict[str, int]:
        """Return how many numbers each input has."""
        point = self.point(run)
        return {one.name: volume(one.type[0].shape, point) for one in inputs}

    @cached_property
    def parameter_elements(self) -> dict[str, int]:
        """How many numbers each parameter has, in any run."""
        return self.elements(self.parameters, ModelRun(1, 1))

    @cached_property
    def parameter_count(self) -> int:
        """The number of parameters."""
        return sum(self.parameter_elements.values())

    def weight_bytes(self, precision: Precision) -> Fraction:
        """Return the bytes of the parameters."""
        found = self.parameter_elements.items()
        return sum((number * precision.bytes_of(name) for name, number in found), Fraction(0))

    def step(self, batch: int, prompt: int, made: int) -> ModelRun:
        """Return the run that makes a token of each text after some others; the first reads the prompt."""
        if self.model.family.source:
            return ModelRun(batch, 1, made, prompt)
        return ModelRun(batch, 1, prompt + made) if made else ModelRun(batch, prompt)

    def kept_at(self, batch: int, context: int, source: int = 0) -> dict[Symbol, int]:
        """Return a number for each length, of what is kept for texts of a length."""
        point = self.point(ModelRun(batch, 1, context, source))
        near = min(context, self.model.lengths.get("window", 1))
        return point | {symbol: near for symbol in point if symbol.name == NEAR}

    def cache_bytes(self, batch: int, context: int, precision: Precision, source: int = 0) -> Fraction:
        """Return the bytes that are kept for texts of a length; a window keeps as many places as it has."""
        point = self.kept_at(batch, context, source)
        sizes = ((volume(one.type[0].shape, point), precision.width(one.name)) for one in self.state)
        return sum((number * wide for number, wide in sizes), Fraction(0))

    @cached_property
    def moments(self) -> tuple[tuple[CallMoment, ...], tuple[CallMoment, ...]]:
        """What is in memory at each call: when a prompt is read, and when a token is made."""
        first = moments(self.reading)
        return first, first if self.reading is self.called else moments(self.called)

    def fullest(self, run: ModelRun) -> tuple[int, CallMoment]:
        """Return the bytes of results that are there at once, at most, and the moment at which they are."""
        point = self.point(run)
        told = [one for one in self.moments[0 if run.first else 1] if called_times(one.scopes, point)]
        sizes = [evaluate(one.bytes, point) for one in told]
        most = max(range(len(told)), key=sizes.__getitem__)
        return sizes[most], told[most]

    def work(self, run: ModelRun, precision: Precision) -> tuple[CallAt, ...]:
        """Return the work of a run, call by call."""
        point = self.point(run)
        known: dict[Scopes, int] = {}
        found = []
        called = self.reading if run.first else self.called
        for call in called.calls:
            if call.scopes not in known:
                known[call.scopes] = called_times(call.scopes, point)
            if known[call.scopes]:
                found.append(_at(call, known[call.scopes], point, precision))
        return tuple(found)


def served(model: PlannedModel) -> ServedModel:
    """Read the program of a model down to its calls."""
    return ServedModel(model, called_of(model, model.attrs))


def called_of(
    model: PlannedModel, chosen: Mapping[str, object], known: Mapping[object, CallKind] | None = None
) -> CalledProgram:
    """Read the program of a model down to its calls, with some attributes."""
    parsed = read_shipped(read_spec("serving", model.family.program))
    attrs: dict[str, object] = dict(chosen)
    for one in parsed.program.statements:
        if isinstance(one, tree.InputDecl) and one.kind == "attr" and one.space in ("N", "N*"):
            number = model.lengths.get(one.name)
            least = "" if one.space == "N*" else ">=0"
            if number == 0:
                attrs[one.name] = 0
            elif number is not None or one.name in (PAST, NEAR):
                attrs[one.name] = f"{one.name}{least}"
    return with_deep_stack(lambda: called_program(parsed, attrs, FUNCTIONS, SPACE, known or {}))


def _reals(inputs: Iterable[Input]) -> Iterator[Input]:
    return (one for one in inputs if one.type[0].space == "R")


def _names(given: Input) -> set[str]:
    return {symbol.name for d in given.type[0].shape for symbol in d.free}


def volume(shape: Iterable[Poly], point: Mapping[Symbol, int]) -> int:
    """Return the number of elements of a shape."""
    found = 1
    for d in shape:
        found *= evaluate(d, point)
    return found


def called_times(scopes: Scopes, point: Mapping[Symbol, int]) -> int:
    """Return at how many coordinates a call happens."""
    around: list[tuple[Symbol, int]] = []
    conditions: list[Cond] = []
    product = 1
    for scope in scopes:
        if isinstance(scope, tuple):
            around.append((scope[0], evaluate(scope[1], point)))
            product *= around[-1][1]
        else:
            conditions.append(scope)
    if not conditions:
        return product
    (symbol, extent) = around[0]
    if len(around) > 1:
        raise AssertionError("conditions on several coordinates")
    here = dict(point)
    found = 0
    for k in range(1, extent + 1):
        here[symbol] = k
        found += all(evaluate_cond(one, here) for one in conditions)
    return found


def _at(call: ProgramCall, times: int, point: Mapping[Symbol, int], precision: Precision) -> CallAt:
    kind = call.kind
    moved = kind.analysis.traffic
    read = Fraction(sum(evaluate(form, point) for form in moved.read.values()))
    certain = Fraction(sum(evaluate(form, point) for form in moved.certain.values()))
    written = sum(evaluate(form, point) for form in moved.written.values())
    sizes = [volume(t[0].shape, point) * _width(t[0].space) for t in kind.inputs]
    held: list[tuple[int, Fraction]] = []
    others = 0
    for names, size in zip(call.reads, sizes, strict=True):
        each = {precision.width(name) for name in names}
        if len(each) == 1:
            held.append((size, each.pop() / WIDTH))
        else:
            others += size
    change, reached = _held(read, held, others)
    less, kept = _held(certain, held, others)
    return CallAt(
        call, times, evaluate(kind.analysis.counts.macs, point), read + change,
        max(certain + less, Fraction(0)), written, max(sizes, default=0), kept, reached,
    )  # fmt: skip


def _width(space: str) -> int:
    """Return the bytes of a number of an operand; reals are those of machines."""
    return WIDTHS.get(space) or (bits_of(space) or 8 * WIDTH) // 8


def _held(read: Fraction, held: Sequence[tuple[int, Fraction]], others: int) -> tuple[Fraction, Fraction]:
    """Return by how much bytes that are read change with the widths of what is held, and its own bytes.

    Where not all of what is held is read, such as experts of which some are chosen, at least that is of it
    which is not of other operands.
    """
    if not held:
        return Fraction(0), Fraction(0)
    if sum(size for size, _ in held) <= read:
        found = sum((size * share for size, share in held), Fraction(0))
        return found - sum(size for size, _ in held), found
    rest, share = max(read - others, Fraction(0)), min(share for _, share in held)
    return rest * (share - 1), rest * share
