"""A plan as JSON, for programs; times are in microseconds."""

from __future__ import annotations

from fractions import Fraction

from tolcost.algebra import to_text
from tolcost.apps.plan.lines import line_of, lines_of, logits_line
from tolcost.apps.plan.plan import Holding, Plan, notes
from tolcost.apps.plan.questions import fit
from tolcost.apps.plan.time import RunTime
from tolcost.apps.plan.view import PlanAnswers
from tolcost.diagnostics import place
from tolcost.show.document import Json, number

_PARTS = 1000
"""Times are rounded down to a nanosecond."""


def record(plan: Plan, asked: PlanAnswers) -> dict[str, Json]:
    """Return the content of the document of a plan."""
    model, question, served = plan.served.model, plan.question, plan.served
    made = plan.macs(plan.served.step(question.batch, question.prompt, 1)) if question.answer else 0
    lengths: dict[str, Json] = {name: number(value) for name, value in sorted(model.lengths.items())}
    attributes: dict[str, Json] = dict(sorted(model.attrs.items()))
    return {
        "model": model.name,
        "type": model.family.name,
        "program": f"specs/serving/{model.family.program}.tol",
        "lengths": lengths,
        "attributes": attributes,
        "batch": number(question.batch),
        "prompt": number(question.prompt),
        "answer": number(question.answer),
        "precision": plan.precision.name,
        "parameters": number(served.parameter_count),
        "cache": to_text(plan.cache_form),
        "macs": {"prefill": number(plan.macs(plan.read)), "decode": number(made)},
        "memory": _memory(plan),
        "inputs": [_input(plan, one) for one in plan.holdings()],
        "notes": list(notes(plan)),
        **({} if plan.device is None else {"time": _time(plan)}),
        **_answers(asked),
    }


def _memory(plan: Plan) -> dict[str, Json]:
    most, moment = plan.activations
    return {
        "parameters": _whole(plan.weights),
        "cache": _whole(plan.cache),
        "activations": number(most),
        "line": number(place(moment.span).line),
        "logits": number(plan.logits),
        "logits_line": number(logits_line(plan.served.called)),
        "needed": _whole(plan.needed),
        "reserved": None if plan.reserved is None else _whole(plan.reserved),
        "fits": plan.fits,
    }


def _input(plan: Plan, one: Holding) -> Json:
    return {
        "name": one.given.name,
        "kind": "parameter" if one.parameter else "cache",
        "shape": [to_text(d) for d in one.given.type[0].shape],
        "elements": number(one.elements),
        "bytes": _whole(one.bytes),
        "line": line_of(plan, one.given.name),
    }


def _time(plan: Plan) -> dict[str, Json]:
    found: dict[str, Json] = {"device": "" if plan.device is None else plan.device.name}
    found["engine"] = plan.engine.name
    for name, run in (("prefill", plan.prefill), ("decode", plan.decode)):
        if run is not None:
            found[name] = _run(plan, run)
    found["turns"] = plan.turns
    return found


def _run(plan: Plan, run: RunTime) -> dict[str, Json]:
    lines = lines_of(plan)
    parts: list[Json] = [
        {
            "name": part.name,
            "calls": part.calls,
            "bytes": _whole(part.bytes),
            "macs": number(part.macs),
            "graph": _rounded(part.time),
            "lines": [number(line) for line in sorted(lines[part.name])],
        }
        for part in run.parts
    ]
    return {
        "bound": _rounded(run.bound),
        "graph": _rounded(run.graph),
        "eager": _rounded(run.eager),
        "kernels": run.kernels,
        "limit": run.limit,
        "parts": parts,
    }


def _answers(asked: PlanAnswers) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if asked.fit is not None:
        one = asked.fit
        found["fit"] = {
            "memory": _whole(one.memory), "batch": one.batch, "context": one.context, "proved": one.proved
        }  # fmt: skip
    if asked.reached is not None:
        at = asked.reached
        found["target"] = {"rate": number(at.rate), "batch": at.batch, "total": _rounded(at.total),
                           "bound": at.as_bound}  # fmt: skip
    if asked.used is not None:
        use = asked.used
        found["used"] = {
            "of": use.what, "time": number(use.time), "macs": number(use.macs), "bytes": _whole(use.bytes),
            "products": _rounded(use.of_products), "memory": _rounded(use.of_memory),
        }  # fmt: skip
    if asked.others:
        found["devices"] = [_on_device(plan) for plan in asked.others]
    return found


def _on_device(plan: Plan) -> Json:
    batch = None if plan.reserved is None else fit(plan, plan.reserved).batch
    memory = _memory(plan)
    return {"memory": memory, "largest_batch": batch, "time": _time(plan)}


def _whole(value: Fraction) -> Json:
    """Return bytes, rounded up."""
    return number(-(-value.numerator // value.denominator))


def _rounded(value: Fraction | None) -> Json:
    return None if value is None else number(Fraction(int(value * _PARTS), _PARTS))
