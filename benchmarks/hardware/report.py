"""Writes what the recording says: the report, its figures, the weights and the device.

    PYTHONPATH=benchmarks python -m hardware.report

From recorded data only; the same bytes every time.
"""

from __future__ import annotations

import json
import statistics
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import predict, weights
from .figures import scatter
from .files import device_file, weight_file
from .recorded import DATA, Measured, rows
from .study import HALVES, Errors, Study, compulsory, errors, flops
from .table import HERE, ROOT

OFF = 0.05
OUTSIDE = ("DFT", "NegativeLogLikelihoodLoss")
"""Cases far outside of the roofline's picture, which says so."""
Cells = Sequence[object]


def table(head: Cells, lines: Iterable[Cells]) -> list[str]:
    """A table in Markdown; columns after the first are figures."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return [f"| {' | '.join(map(str, line))} |" for line in (head, rule, *lines)] + [""]


def ratio(point: Measured) -> float | None:
    """Executed fp32 operations over EOPs; None where both are 0."""
    assert point.counters is not None
    done = weights.executed(point.counters)
    if not point.work.eops:
        return None if not done else float("inf")
    return done / point.work.eops


def reasons(study: Study) -> dict[str, list[str]]:
    """The reasons written by hand, held to the recording: every case that needs one, and no other."""
    written = tomllib.loads((DATA / "reasons.toml").read_text(encoding="utf-8"))
    needed = {p.name for p in study.counted if (r := ratio(p)) is not None and abs(r - 1) > OFF}
    given = set(written["cases"])
    used = {kind for kinds in written["cases"].values() for kind in kinds}
    problems = [*(needed - given), *(given - needed), *(used ^ set(written["kinds"]))]
    if problems:
        raise ValueError(f"reasons.toml does not fit the recording: {sorted(problems)}")
    return dict(written["cases"])


def environment() -> dict[str, Any]:
    """What was recorded of the machine."""
    facts: dict[str, Any] = json.loads((DATA / "environment.json").read_text(encoding="utf-8"))
    return facts


def provenance(study: Study, facts: dict[str, Any]) -> list[str]:
    card, top = facts["idle"], facts["ceilings"]
    spread = statistics.median((p.high - p.low) / p.us for p in study.points)
    ops = {p.work.case.op for p in study.points}
    worst = max(float(row["error"]) for row in rows("values.csv"))
    return [
        f"One {card['name']}, driver {card['driver_version']}, PyTorch {facts['torch']}, cuDNN "
        f"{facts['cudnn']}, "
        f"Nsight Compute {facts['ncu'].split()[1]}, {facts['date'][:10]}. {len(ops)} operators in "
        f"{len({p.name for p in study.points})} variants, four sizes each, {len(study.points)} "
        "points; counters for "
        f"{sum(p.counters is not None for p in study.points)} of them, times for all; five models "
        "at three sizes in "
        "two types. Every call gives the values of our definition at a small size (largest relative error "
        f"{worst:.1g}, of a bf16 call). The clock stood at {facts['clocks'][0]} MHz almost "
        "throughout; between the "
        f"tenth and the ninetieth percentile a time varies by {spread:.0%} at the median. A large copy moves "
        f"{top['copy_bytes_per_s'] / 1e12:.2f} TB/s, a product of 8192 × 8192 matrices runs at "
        f"{top['matmul_float32_per_s'] / 1e12:.0f} Tflop/s in float32 and "
        f"{top['matmul_bfloat16_per_s'] / 1e12:.0f} in bf16.",
        "",
    ]


def operations(study: Study) -> list[str]:
    """Executed against counted, by class and by case."""
    why = reasons(study)
    by_class: dict[str, list[float]] = {}
    lines: list[Cells] = []
    values = {function: w.value for function, w in study.weights.items()}
    for p in study.counted:
        got = ratio(p)
        assert p.counters is not None
        if got is None:
            continue
        by_class.setdefault(p.work.case.kind, []).append(got)
        found = weights.row(p)
        guess = weights.predicted(found[0], values) if found else None
        side = "fitted" if p.work.case.op in study.sides["fitted"] else "held out"
        shown = f"{guess / found[1]:.2f}" if found and guess is not None else ""
        per = "" if not p.work.eops else f"{p.counters['special'] / p.work.eops:.2f}"
        ints = "" if not p.work.eops else f"{p.counters['integer'] / p.work.eops:.2f}"
        name = ", ".join(why.get(p.name, []))
        lines.append((p.name, f"{p.work.eops:,}", f"{got:.3g}", per, ints, shown, side, name))
    within = sum(abs(r - 1) <= OFF for group in by_class.values() for r in group)
    total = sum(map(len, by_class.values()))
    kinds = tomllib.loads((DATA / "reasons.toml").read_text(encoding="utf-8"))["kinds"]
    return [
        "## Operations",
        "",
        "Executed is every fp32 instruction, a fused multiply-add counting as two. "
        f"{within} of the {total} cases that compute or count anything are within 5 %; where EOPs "
        "and executed "
        "operations are both 0 nothing is listed.",
        "",
        *table(
            ("class", "cases", "within 5 %", "smallest", "median", "largest"),
            (
                (
                    kind,
                    len(g),
                    sum(abs(r - 1) <= OFF for r in g),
                    *(f"{f(g):.3g}" for f in (min, statistics.median, max)),
                )
                for kind, g in by_class.items()
            ),
        ),
        "![executed against counted](hardware-operations.svg)",
        "",
        *_error_table(
            "executed fp32 operations predicted by",
            {
                f"{what}, {side}": study.operations(side, weighted)
                for side in study.sides
                for weighted, what in ((False, "EOPs"), (True, "weighted EOPs"))
            },
        ),
        "Reasons, inferred from counters and the names of kernels, not from disassembly:",
        "",
        *(f"- *{kind}*: {text}" for kind, text in kinds.items()),
        "",
        *table(
            (
                "case",
                "EOPs",
                "executed / EOPs",
                "special / EOP",
                "integer / EOP",
                "weighted / executed",
                "side",
                "why",
            ),
            lines,
        ),
    ]


def _error_table(what: str, found: dict[str, Errors]) -> list[str]:
    head = (what, "points", "median error", "within 10 %", "within 15 %", "within 50 %")
    return table(
        head,
        (
            (
                name,
                e.count,
                f"{e.median:.1%}",
                f"{e.within_10:.0%}",
                f"{e.within_15:.0%}",
                f"{e.within_50:.0%}",
            )
            for name, e in found.items()
        ),
    )


def traffic(study: Study) -> list[str]:
    """DRAM bytes against compulsory ones."""
    large = [p for p in study.counted if p.work.read > 4 * predict.L2 and p.counters is not None]
    shares = {p.name: p.counters["dram_read"] / p.work.read for p in large if p.counters is not None}
    more = sorted((s, n) for n, s in shares.items() if s > 1.1)
    less = sorted((s, n) for n, s in shares.items() if s < 0.9)
    near = sum(0.95 <= s <= 1.05 for s in shares.values())
    return [
        "## Bytes",
        "",
        f"Of the {len(shares)} cases that read more than four times the L2 cache, {near} read what "
        "is compulsory from "
        "DRAM, within 5 %. Of what is written some 25 MB are still in the cache when a kernel "
        "ends. Nsight Compute "
        "empties the cache before each kernel, so that a call of several kernels reads what lies "
        "between them.",
        "",
        f"Read more than once: {', '.join(f'{n} ({s:.1f})' for s, n in reversed(more))}.",
        "",
        f"Read less than is compulsory: {', '.join(f'{n} ({s:.2g})' for s, n in less) or 'nothing'}.",
        "",
    ]


def limits(study: Study) -> list[str]:
    """The speed of light."""
    above = study.above_bound()
    shares: dict[str, list[float]] = {}
    for p in study.points:
        if p.us >= predict.SHORT and predict.bound(p.work):
            shares.setdefault(p.work.case.kind, []).append(p.us / predict.bound(p.work))
    return [
        "## Speed of light",
        "",
        "`max((read + max(0, written - L2)) / 4.8 TB/s, MACs / peak)`. Measured over bound, from 10 µs on:",
        "",
        *table(
            ("class", "points", "smallest", "median"),
            ((kind, len(g), f"{min(g):.2f}", f"{statistics.median(g):.2f}") for kind, g in shares.items()),
        ),
        f"The bound is above {len(above)} of {len(study.points)} measured times" + (":" if above else "."),
        "",
        *(f"- {p.name}, {p.size}: {p.us:.1f} µs, bound {predict.bound(p.work):.1f} µs" for p in above),
        "",
        "Attention in float32 runs on tensor cores, whose peak the bound does not use; no recorded time is "
        "below it all the same.",
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
    return [
        "## Time",
        "",
        (HERE / "method.md").read_text(encoding="utf-8"),
        f"{2 * len(groups) + 1} numbers are fitted, on {len(study.of('fitted'))} points of "
        f"{len(study.sides['fitted'])} operators; {len(study.sides['held out'])} operators are held out.",
        "",
        *table(
            ("pattern", "start, µs", "done in 1 µs"),
            ((name, f"{g.start:g}", f"{g.rate:.3g}") for name, g in groups.items()),
        ),
        *_error_table("times of at least 10 µs, by", found),
        *_error_table("times below 10 µs, by", short),
        "![predicted against measured](hardware-times.svg)",
        "",
        "Held out and off by more than 50 % at some size (predicted / measured, size by size):",
        "",
        *(f"- {name}, {type_}: {', '.join(f'{r:.2f}' for r in g)}" for (name, type_), g in bad.items()),
        "",
        "![roofline](hardware-roofline.svg)",
        "",
        "Two cases are left out of the roofline: DFT, which a fast transform computes with a 500th of its "
        "EOPs, so that it would lie far above the roof, and NegativeLogLikelihoodLoss, with hardly an EOP "
        "per byte.",
        "",
    ]


def _over_halves(study: Study) -> tuple[list[float], list[float], list[float], list[float]]:
    """Over the other halves, sorted: errors of times and models, shares of times and operations."""
    times, whole, counts = zip(*study.other_halves, strict=True)
    return (
        sorted(e.median for e in times),
        sorted(e.median for e in whole),
        sorted(e.within_50 for e in times),
        sorted(e.within_10 for e in counts),
    )


def _range(values: list[float]) -> str:
    return f"{statistics.median(values):.1%} ({values[0]:.1%} to {values[-1]:.1%})"


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
        *_error_table("models", found),
        *table(("model", "type", "size", "EOPs", "µs", "predicted", "ratio", "measured / bound"), lines),
    ]


def closing(study: Study) -> str:
    """What is missing, and the claim judged."""
    plain = ("matrix product", "convolution")
    ratios = [ratio(p) or 0.0 for p in study.counted if p.work.case.kind in plain]
    text = (HERE / "closing.md").read_text(encoding="utf-8")
    return text.format(near=sum(abs(r - 1) <= OFF for r in ratios), all=len(ratios))


def figures(study: Study) -> dict[str, str]:
    """The three charts."""
    counted: dict[str, list[tuple[float, float]]] = {}
    for p in study.counted:
        assert p.counters is not None
        if p.work.eops and (done := weights.executed(p.counters)):
            counted.setdefault(p.work.case.kind, []).append((p.work.eops, done))
    times: dict[str, list[tuple[float, float]]] = {"fitted": [], "held out": []}
    for side, points in times.items():
        points += [(p.us, study.device.predict(p.work)) for p in study.of(side)]
    times["models"] = [(m.us, study.device.whole(m)) for m in study.models]
    roof: dict[str, list[tuple[float, float]]] = {}
    for p in study.points:
        if p.work.type == "float32" and p.work.eops and p.index == 3 and p.name not in OUTSIDE:
            place = (p.work.eops / compulsory(p.work), p.work.eops / p.us)
            roof.setdefault(p.work.case.kind, []).append(place)
    top, slope = 2 * predict.peak("float32"), predict.PEAK_BANDWIDTH
    return {
        "hardware-operations.svg": scatter(
            "Executed fp32 operations against EOPs, largest size",
            ("EOPs", "executed fp32 operations"),
            counted,
            {"equal": [(1e3, 1e3), (1e12, 1e12)]},
        ),
        "hardware-times.svg": scatter(
            "Predicted against measured time",
            ("measured, µs", "predicted, µs"),
            times,
            {"equal": [(1.0, 1.0), (1e6, 1e6)]},
        ),
        "hardware-roofline.svg": scatter(
            "EOPs per µs against EOPs per compulsory byte, float32",
            ("EOPs per byte", "EOPs per µs"),
            roof,
            {"roof": [(1e-3, 1e-3 * slope), (top / slope, top), (1e4, top)]},
        ),
    }


def document(study: Study) -> str:
    """The report."""
    facts = environment()
    long, raw = study.times("held out", True, study.device.predict), study.operations("held out", False)
    weighed = study.operations("held out", True)
    whole = errors((study.device.whole(m), m.us) for m in study.models)
    typical, typical_whole, half, tenth = _over_halves(study)
    lines = (
        ("executed fp32 operations within 10 %", "50 %", tenth, weighed.within_10, _mid(tenth) >= 0.5),
        ("time, median error", "15 %", typical, long.median, _mid(typical) <= 0.15),
        ("time, within 50 %", "90 %", half, long.within_50, _mid(half) >= 0.9),
        ("whole models, median error", "20 %", typical_whole, whole.median, _mid(typical_whole) <= 0.2),
    )
    above = len(study.above_bound())
    asked: list[Cells] = [
        *((what, aim, _range(over), f"{first:.1%}", _met(met)) for what, aim, over, first, met in lines),
        ("measured times below the bound", "none", above, above, _met(not above)),
    ]
    return "\n".join(
        [
            "# EOPs against a GPU",
            "",
            "Made by `make hardware`, from what was recorded.",
            "",
            *provenance(study, facts),
            "On operators that nothing was fitted on, the number of executed fp32 operations "
            "differs from EOPs "
            f"by {raw.median:.0%} at the median, from weighted EOPs by {weighed.median:.0%}. "
            "Predicted times of "
            f"10 µs and more are off by {_mid(typical):.0%} at the median, and those of whole models by "
            f"{_mid(typical_whole):.0%}; both are medians over {HALVES} ways of splitting the operators.",
            "",
            *table(("held out", "asked", f"reached, over {HALVES} halves", "first half", ""), asked),
            *operations(study),
            *traffic(study),
            *limits(study),
            *prediction(study),
            *whole_models(study),
            closing(study),
        ]
    )


def _mid(values: list[float]) -> float:
    return statistics.median(values)


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def outputs(study: Study) -> dict[Path, str]:
    """Every file that is written, with its text."""
    reports = ROOT / "reports"
    return {
        reports / "hardware.md": document(study),
        **{reports / name: text for name, text in figures(study).items()},
        ROOT / "devices" / "h200.toml": device_file(study, environment()),
        ROOT / "tolcost" / "cost" / "weights" / "h200.toml": weight_file(study),
    }


def main() -> int:
    for file, text in outputs(Study()).items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
