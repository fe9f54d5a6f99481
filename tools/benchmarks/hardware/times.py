"""The part of the report on time: the bound, the prediction, whole models."""

from __future__ import annotations

import statistics

from . import predict
from .study import Study, compulsory, errors, flops
from .table import HERE
from .tables import Cells, error_table, table


def limits(study: Study) -> list[str]:
    """The speed of light."""
    above = study.above_bound()
    shares: dict[str, list[float]] = {}
    for p in study.as_defined:
        if p.us >= predict.SHORT and predict.bound(p.work):
            shares.setdefault(p.work.case.kind, []).append(p.us / predict.bound(p.work))
    return [
        "## Speed of light",
        "",
        "The bound is `max((read + max(0, written - L2)) / 4.8 TB/s, MACs / peak)`. Where indices choose the "
        "elements, it counts only those that are read for any indices. Measured over bound, from 10 µs on:",
        "",
        *table(
            ("class", "points", "smallest", "median"),
            ((kind, len(g), f"{min(g):.2f}", f"{statistics.median(g):.2f}") for kind, g in shares.items()),
        ),
        f"The bound exceeds {len(above)} of {len(study.as_defined)} measured times" + (":" if above else "."),
        "",
        *(f"- {p.name}, {p.size}: {p.us:.1f} µs, bound {predict.bound(p.work):.1f} µs" for p in above),
        "",
        "DFT is left out: a fast transform takes fewer products than are defined, and less time.",
        "",
        "Attention in float32 runs on tensor cores, whose peak the bound does not use. Still no recorded "
        "time is below it.",
        "",
    ]


def prediction(study: Study) -> list[str]:
    """Predicted against measured."""
    guesses = {
        "the prediction": study.device.predict,
        "a roofline (start, bandwidth, products)": study.roofline,
        "bytes alone": study.alone(compulsory),
        "EOPs alone": study.alone(lambda work: float(work.eops)),
        "FLOPs alone": study.alone(flops),
        "the bound": predict.bound,
    }
    found = {
        f"{name}, {side}": study.times(side, True, guess)
        for name, guess in guesses.items()
        for side in study.sides
    }
    short = {
        f"the prediction, {side}": study.times(side, False, study.device.predict) for side in study.sides
    }
    held = [p for p in study.of("held out") if p.us >= predict.SHORT]
    off: dict[tuple[str, str], list[float]] = {}
    for p in held:
        off.setdefault((p.name, p.work.type), []).append(study.device.predict(p.work) / p.us)
    bad = {key: g for key, g in off.items() if max(abs(r - 1) for r in g) > 0.5}
    groups = study.device.groups
    numbers = 1 + sum(2 + bool(g.term) + bool(g.split) for g in groups.values())
    return [
        "## Time",
        "",
        (HERE / "method.md").read_text(encoding="utf-8"),
        f"{numbers} numbers are fitted, on {len(study.of('fitted'))} points of "
        f"{len(study.sides['fitted'])} operators; {len(study.sides['held out'])} operators are held out.",
        "",
        *table(
            ("pattern", "start, µs", "done in 1 µs", "a term of a sum, µs", "in one piece"),
            (
                (name, f"{g.start:g}", f"{g.rate:.3g}", f"{g.term:g}" if g.term else "", f"{g.split or ''}")
                for name, g in groups.items()
            ),
        ),
        *error_table("times of at least 10 µs, by", found),
        *error_table("times below 10 µs, by", short),
        "![predicted against measured](charts/hardware-times.svg)",
        "",
        "Held out and off by more than 50 % at some size (predicted / measured, size by size):",
        "",
        *(f"- {name}, {type_}: {', '.join(f'{r:.2f}' for r in g)}" for (name, type_), g in bad.items()),
        "",
        "![roofline](charts/hardware-roofline.svg)",
        "",
        "Left out of the roofline is DFT, which a fast transform computes with a 500th of its EOPs, so that "
        "it would lie far above the roof.",
        "",
    ]


def whole_models(study: Study) -> list[str]:
    """Whole models, which nothing was fitted on."""
    lines: list[Cells] = []
    for m in study.models:
        guess, least = study.device.whole(m), study.whole_bound(m)
        eops = sum(n * w.eops for n, w in m.nodes)
        figures = (
            f"{eops:.3g}",
            f"{m.us:,.0f}",
            f"{guess:,.0f}",
            f"{guess / m.us:.2f}",
            f"{m.us / least:.1f}",
        )
        lines.append((m.name, m.type, m.size, *figures))
    found = {
        "all": errors((study.device.whole(m), m.us) for m in study.models),
        **{
            type_: errors((study.device.whole(m), m.us) for m in study.models if m.type == type_)
            for type_ in ("float32", "bfloat16")
        },
    }
    return [
        "## Whole models",
        "",
        "The nodes of a model, each predicted by itself, one after the other; times are those of "
        "a CUDA graph, so that "
        "the host's launches do not count. Nothing is fitted on models.",
        "",
        *error_table("models", found),
        *table(("model", "type", "size", "EOPs", "µs", "predicted", "ratio", "measured / bound"), lines),
    ]
