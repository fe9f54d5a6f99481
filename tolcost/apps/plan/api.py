"""``tolcost.plan``: the plan of a language model, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tolcost.apps.plan.door import model_in, model_named
from tolcost.apps.plan.figures import served
from tolcost.apps.plan.plan import Plan, check, question_of
from tolcost.apps.plan.precision import precision_of
from tolcost.cost.device import load_device
from tolcost.cost.engine import engine_of


def plan(
    config: str | Path | Mapping[str, Any],
    batch: int = 1,
    prompt: int | None = None,
    answer: int | None = None,
    device: str | Path | None = None,
    weights: str | None = None,
    cache: str = "bf16",
    engine: str = "transformers",
    reserve: float = 0.9,
    chunk: int | None = None,
    block: int = 1,
    ignore: Iterable[str] = (),
    like: str | None = None,
) -> Plan:
    """Return the plan of a language model: memory, and time on a device.

    ``config`` is a ``config.json``, a folder with one, its content, or the name of a model that comes with
    tolcost.  ``prompt`` tokens of each of ``batch`` texts are read, and ``answer`` tokens made.

    >>> found = plan("llama3-8b", batch=8, device="h200")
    >>> found.served.parameter_count, int(found.cache), found.fits
    (8030261248, 2621440000, True)
    >>> round(found.decode.graph)  # microseconds
    7169
    """
    if isinstance(config, Mapping):
        model = model_in(dict(config), "config", ignore, like)
    else:
        model = model_named(config, ignore, like)
    question = question_of(model, batch, prompt, answer, Fraction(str(reserve)), chunk, block)
    where = None if device is None else load_device(device)
    found = Plan(
        served(model),
        question,
        precision_of(weights or model.weights or "bf16", cache),
        engine_of(engine),
        where,
    )
    check(found)
    return found
