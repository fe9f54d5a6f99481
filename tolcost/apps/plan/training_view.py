"""A step of training as a document, for people, and as JSON, for programs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from tolcost.apps.plan.plan import Plan
from tolcost.apps.plan.questions import Fit, StepUse
from tolcost.apps.plan.training import AGAIN, BACKWARD, FORWARD, PlannedStep
from tolcost.apps.plan.view import amount, digits, duration, program_name, size
from tolcost.cost.device import Device, load_device
from tolcost.diagnostics import place
from tolcost.platform import device_names
from tolcost.show.document import (
    Column,
    Document,
    Fact,
    Facts,
    Heading,
    Json,
    Lines,
    ReportTable,
    Section,
    number,
)

_HELD = {
    "parameters": "",
    "gradients": "of all parameters",
    "copies": "of parameters, which the optimiser works on",
    "optimiser": "what it keeps from step to step",
}


class StepAnswers(Struct, frozen=True, eq=False):
    """Answers to what was asked besides."""

    fit: Fit | None = None
    used: StepUse | None = None
    devices: tuple[Device, ...] = ()


def step_view(plan: Plan, step: PlannedStep, asked: StepAnswers) -> Document:
    """Return the document of a step of training."""
    model, program = plan.served.model, program_name(plan)
    sections: list[Section] = [Heading(model.name, f"{model.family.name}, specs/serving/{program}")]
    sections.append(Facts(tuple(_step(plan, step))))
    answers = tuple(_answers(step, asked))
    if answers:
        sections.append(Facts(answers))
    if asked.devices or step.device is None:
        named = asked.devices or tuple(map(load_device, device_names()))
        sections.append(_devices([replace(step, device=one) for one in named]))
    else:
        sections.append(_devices([step]))
    told = "activations are what backward reads at least: kernels in several parts keep more"
    return (*sections, Lines((*model.notes, told)))


def _step(plan: Plan, step: PlannedStep) -> Iterator[Fact]:
    asked, program, peak = step.step.asked, program_name(plan), step.peak
    texts = f"{step.batch:,} text{'s' if step.batch > 1 else ''} of {step.tokens:,} tokens"
    texts += f", {step.made:,} made" if step.made else ""
    again = ", layers computed again" if asked.recompute else ""
    yield Fact("parameters", f"{plan.served.parameter_count:,}")
    macs = step.macs
    parts = [f"{amount(macs[FORWARD])} forward", f"{amount(macs[BACKWARD])} backward"]
    parts += [f"{amount(macs[AGAIN])} computed again"] if macs[AGAIN] else []
    yield Fact("MACs", ", ".join(parts))
    yield Fact("a step", "", f"{asked.optimizer}, {asked.precision}, {texts}{again}")
    for name, value in step.step.held.items():
        if value:
            yield Fact(name, size(value), _HELD[name], level=1)
    yield Fact("activations", size(step.kept), "results of forward that backward reads", level=1)
    where = f"{program}, line {place(peak.span).line}, {peak.part}"
    yield Fact("at once", size(peak.bytes), f"the most, in {where}", level=1)
    if step.fits is not None and step.device is not None and step.device.memory is not None:
        yield Fact("fits", "yes" if step.fits else "no", f"into {size(step.device.memory)}", level=1)


def _answers(step: PlannedStep, asked: StepAnswers) -> Iterator[Fact]:
    if asked.fit is not None:
        fit, how = asked.fit, "more needs no less, by proof" if asked.fit.proved else "as far as was looked"
        yield Fact(f"fits into {size(fit.memory)}", "", how)
        yield Fact("batch", f"{fit.batch:,}", f"of {step.tokens:,} tokens each", level=1)
        yield Fact("tokens", f"{fit.context:,}", f"at batch {step.batch:,}", level=1)
    used = asked.used
    if used is not None and step.device is not None:
        yield Fact(f"{duration(used.time)} per step", "", f"on {step.device.name}")
        if used.of_model is None or used.of_computed is None:
            yield Fact("products", "", "of which its data sheet has no peak", level=1)
            return
        peak = f"of {digits(_peak(step.device) * 2 / 10**6)} TFLOP/s"
        causal = "attention to what is seen alone"
        yield Fact("of the model", _percent(used.of_model),
                   f"{amount(2 * used.model)}FLOP of values and gradients, nothing twice, {causal}, {peak}",
                   level=1)  # fmt: skip
        yield Fact("as computed", _percent(used.of_computed),
                   f"{amount(2 * used.computed)}FLOP with what is computed again, {peak}",
                   level=1)  # fmt: skip


def _peak(device: Device) -> Fraction:
    from tolcost.apps.plan.time import rate_of

    return rate_of(device) or Fraction(0)


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.3g} %"


def _devices(steps: list[PlannedStep]) -> ReportTable:
    columns = (
        Column("device", "device"),
        Column("memory", "memory", "number"),
        Column("fits", "fits"),
        Column("bound", "a step ≥", "number"),
        Column("limit", "bound by"),
        Column("rate", "tokens/s ≤", "number"),
    )
    rows = []
    for one in sorted(steps, key=lambda one: (one.device.memory or 0) if one.device else 0):
        if one.device is None or one.bound is None or one.device.memory is None:
            continue
        time, limit = one.bound
        rate = digits(Fraction(one.batch * (one.tokens + one.made) * 10**6) / time)
        fits = "yes" if one.fits else "no"
        rows.append((one.device.name, size(one.device.memory), fits, duration(time), limit, rate))
    return ReportTable(columns, tuple(rows))


def step_record(step: PlannedStep, asked: StepAnswers) -> dict[str, Json]:
    """Return a step of training as JSON; times are in microseconds."""
    wanted, peak, macs = step.step.asked, step.peak, step.macs
    held: dict[str, Json] = {name: number(value) for name, value in step.step.held.items()}
    found: dict[str, Json] = {
        "optimizer": wanted.optimizer,
        "precision": wanted.precision,
        "recompute": wanted.recompute,
        "batch": number(step.batch),
        "tokens": number(step.tokens),
        **({"made": number(step.made)} if step.made else {}),
        "held": held,
        "activations": number(step.kept),
        "peak": {"bytes": number(peak.bytes), "line": number(place(peak.span).line), "part": peak.part},
        "macs": {"forward": number(macs[FORWARD]), "again": number(macs[AGAIN]),
                 "backward": number(macs[BACKWARD])},
    }  # fmt: skip
    if step.device is not None and step.bound is not None:
        time, limit = step.bound
        found["time"] = {"device": step.device.name, "fits": step.fits, "bound": number(round(time, 3)),
                         "limit": limit}  # fmt: skip
    if asked.fit is not None:
        one = asked.fit
        found["fit"] = {"memory": number(one.memory), "batch": one.batch, "tokens": one.context,
                        "proved": one.proved}  # fmt: skip
    if asked.used is not None:
        use = asked.used
        found["used"] = {
            "time": number(use.time), "model_macs": number(use.model), "computed_macs": number(use.computed),
            "of_model": None if use.of_model is None else number(round(use.of_model, 6)),
            "of_computed": None if use.of_computed is None else number(round(use.of_computed, 6)),
        }  # fmt: skip
    return found
