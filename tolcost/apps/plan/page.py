"""A plan as a page: memory, time and roofline of a model, as a reader moves batch and context.

Every number of the page is computed here, at each batch and context that its sliders have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from tolcost.apps.plan.figures import SPACE, CallAt, ModelRun
from tolcost.apps.plan.lines import line_of, lines_of, logits_line
from tolcost.apps.plan.plan import Plan
from tolcost.apps.plan.precision import Precision, precision_of
from tolcost.apps.plan.time import run_time
from tolcost.cost.device import Device
from tolcost.diagnostics import place
from tolcost.platform import read_spec
from tolcost.show.document import Json
from tolcost.show.html import embedded, render

BATCHES = tuple(1 << n for n in range(9))
_CONTEXTS = tuple(1 << n for n in range(7, 18))
_SCHEMES = ("bf16", "fp8", "int4")
_MOST_PARTS = 4
"""Of each run, so many parts of its time are shown."""


def page(plan: Plan, devices: Sequence[Device]) -> str:
    """Write the page of a plan, with a choice of devices."""
    model = plan.served.model
    return render(
        "plan",
        title=f"{model.name} · tolcost",
        model=model.name,
        program=f"{model.family.program}.tol",
        parameters=f"{plan.served.parameter_count:,}",
        data=embedded(page_data(plan, devices)),
    )


def page_data(plan: Plan, devices: Sequence[Device]) -> dict[str, Json]:
    """Return the numbers of the page: bytes, and microseconds."""
    program = plan.served.model.family.program
    schemes = {one.name: one for one in (plan.precision, *map(precision_of, _SCHEMES))}
    asked = plan.question
    contexts = contexts_of(plan)
    batches = tuple(sorted({*BATCHES, asked.batch}))
    at = [[_at(plan, batch, context) for batch in batches] for context in contexts]
    return {
        "batches": list(batches),
        "contexts": list(contexts),
        "prompts": [row[0].question.prompt for row in at],
        "batch": batches.index(asked.batch),
        "context": contexts.index(asked.context),
        "reserve": [plan.question.reserve.numerator, plan.question.reserve.denominator],
        "answers": plan.question.answer > 0,
        "activations": [[one.activations[0] for one in row] for row in at],
        "lines": [[place(one.activations[1].span).line for one in row] for row in at],
        "logits": [[one.logits for one in row] for row in at],
        "declared": _declared(plan),
        "calls": [[name, _listed(lines)] for name, lines in lines_of(plan).items()],
        "program": [f"{program}.tol", *read_spec("serving", program).text.splitlines()],
        "devices": [_device(one) for one in devices],
        "schemes": [_scheme(one, at, devices) for one in schemes.values()],
    }


def _declared(plan: Plan) -> dict[str, Json]:
    """Return the lines behind what is in memory: where it is declared, or computed."""
    served = plan.served
    return {
        "parameters": _listed(line_of(plan, one.name) for one in served.parameters),
        "cache": _listed(line_of(plan, one.name) for one in served.state),
        "logits": [logits_line(plan.served.called)],
    }


def _listed(lines: Iterable[int]) -> Json:
    return [*sorted(lines)]


def contexts_of(plan: Plan) -> tuple[int, ...]:
    """Return the contexts of the page: powers of two as far as the model goes, and the one asked for."""
    known = [
        one for one in (plan.served.model.lengths.get("p"), plan.served.model.longest) if one is not None
    ]
    longest = min(known, default=_CONTEXTS[-1])
    return tuple(sorted({plan.question.context, *(one for one in _CONTEXTS if one <= longest)}))


def _at(plan: Plan, batch: int, context: int) -> Plan:
    """Return the plan that texts of a length are read, and a token made after each; or what is asked for."""
    asked = plan.question
    answer = min(asked.answer, 1)
    prompt, answer = (asked.prompt, asked.answer) if context == asked.context else (context - answer, answer)
    return replace(plan, question=replace(asked, batch=batch, prompt=prompt, answer=answer))


def _device(device: Device) -> Json:
    return {
        "name": device.name,
        "memory": device.memory,
        "bytes": _number(device.bytes),
        "macs": _number(device.macs.get(SPACE)),
        "measured": device.fitted is not None,
    }


def _scheme(precision: Precision, at: Sequence[Sequence[Plan]], devices: Sequence[Device]) -> Json:
    """Return the numbers in one precision: what is kept, and of each run its work and its times."""
    plans = [[replace(one, precision=precision) for one in row] for row in at]
    return {
        "name": precision.name,
        "weights": _up(plans[0][0].weights),
        "cache": [[_up(one.cache) for one in row] for row in plans],
        "read": [[_run(one, one.read, devices) for one in row] for row in plans],
        "made": [
            [_run(one, one.made(one.question.batch), devices) if one.question.answer else None for one in row]
            for row in plans
        ],
    }


def _run(plan: Plan, run: ModelRun, devices: Sequence[Device]) -> Json:
    """Return products, bytes of parameters and cache, and for each device its bound, time and parts."""
    calls: tuple[CallAt, ...] = plan.served.work(run, plan.precision)
    macs = sum(call.times * call.macs for call in calls)
    reached = sum((call.times * call.reached for call in calls), Fraction(0))
    times: list[Json] = []
    kinds = list(lines_of(plan))
    for device in devices:
        found = run_time(device, calls, plan.engine)
        parts: list[Json] = [
            [kinds.index(part.name), _number(part.time or part.bound)]
            for part in found.parts[:_MOST_PARTS]
            if part.time or part.bound
        ]
        times.append([_number(found.bound), _number(found.graph), parts])
    return [macs, _up(reached), times]


def _number(value: Fraction | int | None) -> Json:
    """Write a number as JSON's are: with a point, and as the nearest double."""
    found: Any = None if value is None else float(value)
    return found  # type: ignore[no-any-return]


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
