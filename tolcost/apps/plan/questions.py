"""Questions in reverse: what fits, which batch keeps a speed, which device, how well a machine is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import Poly, atom, is_nonnegative, substitute
from tolcost.apps.plan.figures import SPACE
from tolcost.apps.plan.plan import Plan, first
from tolcost.cost.device import Device
from tolcost.diagnostics import quoted, refuse
from tolcost.literals import NoLiteralError, read_memory

if TYPE_CHECKING:
    from tolcost.apps.plan.training import PlannedStep

_MOST = 1 << 24
"""Batches and contexts are looked for up to this."""
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*tokens/s(?: per (?:user|text))?")
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|ms|us|µs) per (token|prompt|step)")
_UNITS = {"s": 10**6, "ms": 10**3, "us": 1, "µs": 1}


def size_of(text: str) -> int:
    """Read an amount of memory.

    >>> size_of("80GB"), size_of("1.5 GiB")
    (80000000000, 1610612736)
    """
    try:
        return read_memory(text)
    except NoLiteralError:
        refuse("T0926", f"{quoted(text)} is no amount of memory", hint="such as 80GB or 24GiB")


def rate_in(text: str) -> Fraction:
    """Read how many tokens a second each text is to get.

    >>> rate_in("50 tokens/s per user")
    Fraction(50, 1)
    """
    match = _RATE.fullmatch(text.strip())
    if match is None or not Fraction(match[1]):
        refuse("T0926", f"{quoted(text)} is no speed", hint="such as '50 tokens/s per user'")
    return Fraction(match[1])


class Fit(Struct, frozen=True):
    """What fits into some memory: the largest batch at the context, and the largest context at the batch."""

    memory: Fraction
    batch: int
    context: int
    proved: bool
    """Whether more texts and longer ones are proved to need no less."""


def fit(plan: Plan, memory: Fraction) -> Fit:
    """Find what fits into some memory; 0 where nothing does."""
    question = plan.question

    def too_many(batch: int) -> bool:
        return replace(plan, question=replace(question, batch=batch)).needed > memory

    def too_long(context: int) -> bool:
        made = min(question.answer, context - 1)
        other = replace(question, prompt=context - made, answer=made)
        return replace(plan, question=other).needed > memory

    longest = plan.served.model.lengths.get("p", _MOST)
    forms = [plan.cache_form, *(one.bytes for told in plan.served.moments for one in told)]
    return Fit(memory, _last(too_many), _last(too_long, longest), all(map(grows, forms)))


def _last(over: Callable[[int], bool], most: int = _MOST) -> int:
    """Return the last number that is not over, at most the largest that is looked at."""
    found = first(over, most)
    return most if found is None else found - 1


def grows(form: Poly) -> bool:
    """Prove that a form is nowhere less when a length in it is more by 1."""
    return all(
        is_nonnegative(substitute(form, {symbol: atom(symbol) + 1}) - form) for symbol in form.free
    )  # fmt: skip


class Reached(Struct, frozen=True):
    """The largest batch at which each text gets its tokens in time."""

    rate: Fraction
    batch: int
    total: Fraction
    """Tokens a second of all texts together."""
    as_bound: bool
    """Whether times are bounds, so that no more than this is possible."""


def reach(plan: Plan, rate: Fraction) -> Reached:
    """Find the largest batch that keeps a speed, and fits into the memory of the device."""
    longest = 10**6 / rate

    def too_slow(batch: int) -> bool:
        other = replace(plan, question=replace(plan.question, batch=batch))
        return other.fits is False or _time(other) > longest

    batch = _last(too_slow)
    at = replace(plan, question=replace(plan.question, batch=max(batch, 1)))
    total = batch * 10**6 / _time(at) if batch else Fraction(0)
    return Reached(rate, batch, total, plan.device is not None and plan.device.fitted is None)


def _time(plan: Plan) -> Fraction:
    """The time of one token: as predicted, or else its bound."""
    found = plan.decode
    if plan.device is None:
        refuse("T0926", "a speed needs a device", hint="--device h200")
    if found is None:
        refuse("T0926", "nothing is answered that could be fast", hint="--answer 500, where a model answers")
    return found.bound if found.graph is None else found.graph


class DeviceUse(Struct, frozen=True):
    """How much of a device some time uses: products and bytes of the model, over its peaks."""

    what: str
    time: Fraction
    macs: int
    bytes: Fraction
    of_products: Fraction | None
    of_memory: Fraction


def _measured(text: str) -> tuple[Fraction, str]:
    """Read a time in microseconds, and of what it is."""
    match = _TIME.fullmatch(text.strip())
    if match is None or not Fraction(match[1]):
        hint = "such as '12 ms per token', '1.9 s per prompt' or '1.9 s per step'"
        refuse("T0926", f"{quoted(text)} is no time that was measured", hint=hint)
    return Fraction(match[1]) * _UNITS[match[2]], match[3]


def _with_device(device: Device | None) -> Device:
    if device is None:
        refuse("T0926", "how well a machine is used needs a device", hint="--device h200")
    return device


def used(plan: Plan, text: str) -> DeviceUse:
    """Return how much of the device a measured time uses."""
    time, what = _measured(text)
    device, question = _with_device(plan.device), plan.question
    if what == "step":
        refuse("T0926", "a step is one of training", hint="--train adamw")
    if what == "token" and not question.answer:
        refuse("T0926", "nothing is answered that has a time per token", hint="such as '1.9 s per prompt'")
    run = plan.made(question.batch) if what == "token" else plan.read
    calls = plan.served.work(run, plan.precision)
    macs = sum(call.times * call.macs for call in calls)
    moved = sum((call.times * call.reached for call in calls), Fraction(0))
    peak = device.macs.get(SPACE)
    share = None if peak is None else macs / (time * peak)
    return DeviceUse(what, time, macs, moved, share, moved / (time * device.bytes))


class StepUse(Struct, frozen=True):
    """How much of a device a step of training uses: products of the model, and those that are computed."""

    time: Fraction
    model: int
    computed: int
    of_model: Fraction | None
    of_computed: Fraction | None


def step_used(step: PlannedStep, text: str) -> StepUse:
    """Return how much of the device a measured step uses."""
    time, what = _measured(text)
    peak = _with_device(step.device).macs.get(SPACE)
    if what != "step":
        refuse("T0926", "with --train, a time is one of a step", hint="such as '1.9 s per step'")
    model, computed = step.model_macs, sum(step.macs.values())
    shares = [None if peak is None else macs / (time * peak) for macs in (model, computed)]
    return StepUse(time, model, computed, *shares)


def step_fit(step: PlannedStep, memory: Fraction) -> Fit:
    """Find the most texts, and the longest ones, with which a step fits into some memory."""
    longest = step.step.served.model.lengths.get("p", _MOST)
    batch = _last(lambda n: replace(step, batch=n).peak.bytes > memory)
    context = _last(lambda n: replace(step, tokens=n).peak.bytes > memory, longest)
    sizes = set(step.step.followed.line.sizes.values())
    return Fit(memory, batch, context, all(map(grows, sizes)))
