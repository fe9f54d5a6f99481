"""A plan: what a model needs and takes for some texts, on a device."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from tolcost.algebra import Poly, atom, const, minimum, product_of, substitute, total_of
from tolcost.algebra.poly import scale
from tolcost.apps.plan.activations import CallMoment
from tolcost.apps.plan.door import PlannedModel
from tolcost.apps.plan.figures import BATCH, NEAR, NEW, PAST, SOURCE, ModelRun, ServedModel, volume
from tolcost.apps.plan.precision import Precision
from tolcost.apps.plan.time import RunTime, run_time, together
from tolcost.atoms.nodes import Input
from tolcost.cost.device import Device
from tolcost.cost.engine import KernelEngine
from tolcost.diagnostics import refuse

if TYPE_CHECKING:
    from tolcost.apps.plan.training import PlannedStep
    from tolcost.result.frames import Frame

LOGIT = 2
"""Bytes of a logit."""


class Question(Struct, frozen=True):
    """What is asked: how many texts at once, tokens that are read, and tokens that are made of each."""

    batch: int = 1
    prompt: int = 2000
    answer: int = 500
    reserve: Fraction = Fraction(9, 10)
    """The share of the memory of a device that an engine takes for itself."""
    chunk: int | None = None
    """How many tokens of prompts are read at once; None for all of them."""
    block: int = 1
    """The places of a cache are given out in blocks of so many."""

    @property
    def context(self) -> int:
        """The tokens of a text in the end."""
        return self.prompt + self.answer


class Holding(Struct, frozen=True, eq=False):
    """An input of the program that stays in memory: its numbers and bytes, and whether it is a parameter."""

    given: Input
    elements: int
    bytes: Fraction
    parameter: bool


class Plan(Struct, frozen=True, eq=False, dict=True):
    """A model, what is asked of it, and where it runs."""

    served: ServedModel
    question: Question
    precision: Precision
    engine: KernelEngine
    device: Device | None = None

    @cached_property
    def weights(self) -> Fraction:
        """Bytes of the parameters."""
        return self.served.weight_bytes(self.precision)

    @cached_property
    def cache(self) -> Fraction:
        """Bytes that are kept for all texts, in the end."""
        return self.kept(self.question.batch, self.question.prompt, self.question.answer)

    def kept(self, batch: int, prompt: int, answer: int) -> Fraction:
        """Bytes that are kept for texts, after a prompt and an answer."""
        block = self.question.block
        if self.served.model.family.source:
            return self.served.cache_bytes(
                batch, _whole(answer, block), self.precision, _whole(prompt, block)
            )
        return self.served.cache_bytes(batch, _whole(prompt + answer, block), self.precision)

    def holdings(self) -> Iterator[Holding]:
        """Yield what each parameter, and each part of the cache, comes to in the end."""
        served, question = self.served, self.question
        found = served.elements(served.parameters, ModelRun(1, 1))
        for one in served.parameters:
            number = found[one.name]
            yield Holding(one, number, number * self.precision.bytes_of(one.name), True)
        places = _whole(question.context, question.block)
        if served.model.family.source:
            made = _whole(question.answer, question.block)
            point = served.kept_at(question.batch, made, _whole(question.prompt, question.block))
        else:
            point = served.kept_at(question.batch, places)
        for one in served.state:
            number = volume(one.type[0].shape, point)
            yield Holding(one, number, number * self.precision.width(one.name), False)

    @property
    def cache_form(self) -> Poly:
        """The bytes that are kept for b texts of t tokens (of x that an encoder read), as a form."""
        numbers = {s: const(n) for s, n in self.served.point(ModelRun(1, 1, 1)).items()}
        runs = (BATCH, NEW, PAST, NEAR, *((SOURCE,) if self.served.model.family.source else ()))
        kept = {s: form for s, form in numbers.items() if s.name not in runs}
        past = next((s for s in numbers if s.name == PAST), None)
        near = next((s for s in numbers if s.name == NEAR), None)
        if near is not None:
            window = const(self.served.model.lengths.get("window", 1))
            kept[near] = window if past is None else minimum(atom(past), window)
        sizes = ((product_of(one.type[0].shape), self.precision.width(one.name)) for one in self.served.state)
        return substitute(total_of(scale(n, wide.numerator, wide.denominator) for n, wide in sizes), kept)

    @property
    def logits(self) -> int:
        """Bytes of the logits of one run."""
        places = 1 if self.served.model.family.answers else self.question.prompt
        return self.question.batch * places * self.served.model.lengths["v"] * LOGIT

    @property
    def needed(self) -> Fraction:
        """Bytes of parameters, of what is kept, of results that are there at once, and of logits."""
        return self.weights + self.cache + self.activations[0] + self.logits

    @cached_property
    def activations(self) -> tuple[int, CallMoment]:
        """The most bytes of results at once, and when; what kernels hold inside is not known."""
        chunk, question = self.question.chunk, self.question
        read = self.read
        if chunk is not None and not self.served.model.family.whole:
            tokens = min(question.batch * question.prompt, chunk)
            read = ModelRun(1, tokens, max(question.prompt - chunk, 0))
        runs = [read, self.made(question.batch)] if question.answer else [read]
        return max((self.served.fullest(run) for run in runs), key=lambda found: found[0])

    @property
    def reserved(self) -> Fraction | None:
        """Bytes that an engine takes, whatever is needed."""
        memory = None if self.device is None else self.device.memory
        return None if memory is None else memory * self.question.reserve

    @property
    def fits(self) -> bool | None:
        """Whether what is needed fits into what an engine takes; None without a device."""
        return None if self.reserved is None else self.needed <= self.reserved

    @cached_property
    def prefill(self) -> RunTime | None:
        """The time to the first token."""
        if self.device is None:
            return None
        calls = [(self.served.work(run, self.precision), times) for run, times in self.pieces()]
        found = [(run_time(self.device, done, self.engine), times) for done, times in calls]
        return found[0][0] if found[1:] == [] and found[0][1] == 1 else together(found)

    def pieces(self) -> list[tuple[ModelRun, int]]:
        """Return the runs that read the prompts, and how often there is each of them."""
        question, chunk = self.question, self.question.chunk
        if chunk is None or self.served.model.family.whole or question.batch * question.prompt <= chunk:
            return [(self.read, 1)]
        if question.prompt <= chunk:
            many, rest = divmod(question.batch, chunk // question.prompt)
            whole = [(ModelRun(chunk // question.prompt, question.prompt), many)]
            return [*whole, (ModelRun(rest, question.prompt), 1)] if rest else whole
        starts = range(0, question.prompt, chunk)
        return [(ModelRun(1, min(chunk, question.prompt - k), k), question.batch) for k in starts]

    @property
    def read(self) -> ModelRun:
        """The run that reads the prompt."""
        return self.served.step(self.question.batch, self.question.prompt, 0)

    def made(self, batch: int) -> ModelRun:
        """The run that makes the token in the middle of the answer."""
        return self.served.step(batch, self.question.prompt, max(self.question.answer // 2, 1))

    @cached_property
    def decode(self) -> RunTime | None:
        """The time of one token, in the middle of the answer; None where there is no answer."""
        return self.run(self.made(self.question.batch)) if self.question.answer else None

    def run(self, step: ModelRun) -> RunTime | None:
        """Return the time of a run; None without a device."""
        if self.device is None:
            return None
        return run_time(self.device, self.served.work(step, self.precision), self.engine)

    def macs(self, step: ModelRun) -> int:
        """Return the multiply-accumulates of a run."""
        return sum(call.times * call.macs for call in self.served.work(step, self.precision))

    def training(self, optimizer: str, precision: str = "bf16-mixed", recompute: bool = False) -> PlannedStep:
        """Return a step of training: forward and backward of all texts, and what the optimiser does."""
        from tolcost.apps.plan.training import PlannedStep, StepAsked, step_of

        step, asked = step_of(self.served, StepAsked(optimizer, precision, recompute)), self.question
        made = asked.answer if self.served.model.family.source else 0
        return PlannedStep(step, asked.batch, asked.prompt, self.device, made)

    def to_frame(self) -> Frame:
        """Return a pandas frame with a row for every figure, and the lines of the program behind it."""
        from tolcost.apps.plan.frames import plan_frame

        return plan_frame(self)

    def by(self, what: str) -> Frame:
        """Return a pandas frame with a row for every ``"input"`` in memory, or every kind of ``"call"``.

        >>> from tolcost.apps.plan.api import plan
        >>> plan("llama3-8b").by("input").nlargest(1, "bytes")[["input", "bytes", "line"]].values.tolist()
        [['gate', 3758096384, 32]]
        """
        from tolcost.apps.plan.frames import plan_frame_by

        return plan_frame_by(self, what)

    @cached_property
    def turns(self) -> int | None:
        """The batch from which on decode is bound by operations; None if it is not below 65,536."""
        if self.device is None or not self.question.answer:
            return None

        def by_operations(batch: int) -> bool:
            found = self.run(self.made(batch))
            return found is not None and found.limit == "operations"

        return first(by_operations, 1 << 16)


def _whole(places: int, block: int) -> int:
    return -(-places // block) * block


def first(holds: object, most: int) -> int | None:
    """Return the least number from 1 on for which something holds that, once it holds, goes on to hold."""
    if not callable(holds) or not holds(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def check(plan: Plan) -> None:
    """Refuse what the model cannot do."""
    longest = plan.served.model.lengths.get("p")
    if longest is not None and plan.question.context > longest:
        message = (
            f"the model has places for {longest:,} tokens, and the question has {plan.question.context:,}"
        )
        refuse("T0925", message, hint="--prompt and --answer together are the context")


PROMPT, ANSWER = 2000, 500
"""What is asked where a question does not say it, if the model has so many places."""


def question_of(
    model: PlannedModel,
    batch: int,
    prompt: int | None,
    answer: int | None,
    reserve: Fraction,
    chunk: int | None = None,
    block: int = 1,
) -> Question:
    """Return the question to a model: where nothing is said, as many tokens as it has places for, at most."""
    made = (ANSWER if answer is None else answer) if model.family.answers else 0
    known = [number for number in (model.lengths.get("p"), model.longest) if number is not None]
    room = min(known, default=PROMPT + ANSWER)
    if answer is None and made >= room // 2:
        made = room // 5
    read = max(min(PROMPT, room - made), 1) if prompt is None else prompt
    return Question(batch, read, made, reserve, chunk, block)


def notes(plan: Plan) -> Iterator[str]:
    """Yield what a reader should know about the figures."""
    yield from plan.served.model.notes
    longest = plan.served.model.longest
    if longest is not None and plan.question.context > longest:
        yield f"the configuration says {longest:,} tokens at most"
