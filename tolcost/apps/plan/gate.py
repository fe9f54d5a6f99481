"""A ``config.json`` in the gate: parameters, memory and products of a language model, in batch and context.

The peak is what the model needs for ``batch`` texts of ``context`` tokens: parameters, cache, logits, and the
results that are there at once while all of them are read, or one more token is made of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from tolcost.algebra import (
    Poly,
    Symbol,
    const,
    is_nonnegative,
    length,
    maximum,
    minimum,
    substitute,
    total_of,
)
from tolcost.apps.plan.door import model_at
from tolcost.apps.plan.figures import (
    BATCH,
    NEAR,
    NEW,
    PAST,
    SOURCE,
    ModelRun,
    ServedModel,
    called_times,
    served,
)
from tolcost.apps.plan.plan import LOGIT
from tolcost.apps.plan.precision import precision_of
from tolcost.check.config import Config
from tolcost.check.entries import entry_from, files_rules
from tolcost.check.targets import Costed, Target
from tolcost.diagnostics import refuse
from tolcost.platform import read_spec, specs_root

_ATTRS = ("weights", "cache")
_Numbers = Mapping[Symbol, Poly]


def costed_config(config: Config, target: Target) -> Costed:
    """Return the entry of a configuration; a case may say how parameters and cache are kept."""
    given = {key: str(value) for key, value in target.case.attrs.items()}
    strange = [key for key in given if key not in _ATTRS] or list(target.case.shapes)
    if strange:
        refuse(
            "T0924", f"a case of a configuration has no `{strange[0]}`", hint=f"it has {', '.join(_ATTRS)}"
        )
    model = served(model_at(config.root / target.file))
    weights = given.get("weights") or model.model.weights or "bf16"
    forms = _forms(model, weights, given.get("cache", "bf16"))
    figures = {key: ("exact", forms[key]()) for key in config.metrics if key in forms}
    program = f"{model.model.family.program}.tol"
    texts = {
        f"serving/{program}": read_spec("serving", model.model.family.program).text,
        "serving/types.toml": specs_root().joinpath("serving", "types.toml").read_text(encoding="utf-8"),
    }
    entry = entry_from(target.name, (), (), figures)  # type: ignore[arg-type]  # every figure is exact
    return Costed(files_rules(entry, target.case, texts))


def _forms(model: ServedModel, weights: str, cache: str) -> Mapping[str, Callable[[], Poly]]:
    """Return how each metric is found, as a form in batch and context."""
    precision = precision_of(weights, cache)
    batch, context = length("batch"), length("context")
    apart = model.model.family.source
    past = _lengths(model, batch, const(1), const(1) if apart else context)
    first = _lengths(model, batch, const(1) if apart else context, const(0))
    held = _up(model.weight_bytes(precision))

    def peak() -> Poly:
        sizes = ((_volume(one.type[0].shape, past), precision.width(one.name)) for one in model.state)
        kept = total_of(number * int(wide) for number, wide in sizes)
        reading, making = model.moments
        rows = [(one, first) for one in reading]
        if model.model.family.answers:
            rows += [(one, past) for one in making]
        point = model.point(ModelRun(1, 1, 1, 1))
        told = [substitute(one.bytes, at) for one, at in rows if called_times(one.scopes, point)]
        places = batch if model.model.family.answers else batch * context
        logits = places * (model.model.lengths["v"] * LOGIT)
        return kept + _largest(told) + logits + held

    def macs() -> Poly:
        answers = model.model.family.answers
        called, at = (model.called, past) if answers else (model.reading, first)
        point = model.point(ModelRun(1, 1, 1, 1))
        each = ((called_times(call.scopes, point), call.kind.analysis.counts.macs) for call in called.calls)
        return total_of(substitute(form, at) * times for times, form in each if times)

    return {
        "params": lambda: const(model.parameter_count),
        "param_bytes": lambda: const(held),
        "peak_bytes": peak,
        "macs": macs,
    }


def _lengths(model: ServedModel, batch: Poly, new: Poly, past: Poly) -> _Numbers:
    """Return a form for each length of the program."""
    window = const(model.model.lengths.get("window", 1))
    own = {BATCH: batch, NEW: new, PAST: past, NEAR: minimum(past, window)}
    if model.model.family.source:
        own[SOURCE] = length("context")
    point = model.point(ModelRun(1, 1, 1, 1))
    return {symbol: own.get(symbol.name, const(number)) for symbol, number in point.items()}


def _volume(shape: Iterable[Poly], at: _Numbers) -> Poly:
    found = const(1)
    for d in shape:
        found = found * substitute(d, at)
    return found


def _largest(forms: Iterable[Poly]) -> Poly:
    """Return the largest of several forms, without those that are nowhere larger than another one."""
    kept: list[Poly] = []
    for form in dict.fromkeys(forms):
        if any(is_nonnegative(one - form) for one in kept):
            continue
        kept = [one for one in kept if not is_nonnegative(form - one)]
        kept.append(form)
    found = kept[0]
    for form in kept[1:]:
        found = maximum(found, form)
    return found


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
