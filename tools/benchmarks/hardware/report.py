"""Writes what the recording says: the report, its figures, the weights and the device.

    PYTHONPATH=tools/benchmarks python -m hardware.report

From recorded data only; the same bytes every time.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from .charts import charts
from .files import device_file, weight_file
from .operations import OFF, operations, ratio, traffic
from .recorded import DATA, rows
from .study import HALVES, Count, Study, errors
from .table import HERE, ROOT
from .tables import Cells, table
from .times import limits, prediction, whole_models

REACHED = DATA / "reached.csv"
ASKED = ("held out", "asked", f"reached, over {HALVES} halves", "first half", "")


def digest() -> str:
    """A digest of everything that was recorded or counted, which the report is made from."""
    found = sha256()
    for file in sorted(DATA.iterdir()):
        if file != REACHED:
            found.update(f"{file.name}\0{sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


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


def closing(study: Study) -> str:
    """What is missing, and the claim judged."""
    plain = ("matrix product", "convolution")
    ratios = [ratio(p) or 0.0 for p in study.counted if p.work.case.kind in plain]
    text = (HERE / "closing.md").read_text(encoding="utf-8")
    return text.format(near=sum(abs(r - 1) <= OFF for r in ratios), all=len(ratios))


def reached(study: Study) -> list[Cells]:
    """What was asked of the analysis, and how far it got."""
    long, weighed = (
        study.times("held out", True, study.device.predict),
        study.operations("held out", "by place"),
    )
    whole = errors((study.device.whole(m), m.us) for m in study.models)
    typical, typical_whole, half, tenth = _over_halves(study)
    lines = (
        ("executed fp32 operations within 10 %", "50 %", tenth, weighed.within_10, _mid(tenth) >= 0.5),
        ("time, median error", "15 %", typical, long.median, _mid(typical) <= 0.15),
        ("time, within 50 %", "90 %", half, long.within_50, _mid(half) >= 0.9),
        ("whole models, median error", "20 %", typical_whole, whole.median, _mid(typical_whole) <= 0.2),
    )
    above = len(study.above_bound())
    return [
        *((what, aim, _range(over), f"{first:.1%}", _met(met)) for what, aim, over, first, met in lines),
        ("measured times below the bound", "none", above, above, _met(not above)),
    ]


def document(study: Study) -> str:
    """The report."""
    raw, weighed, placed = (study.operations("held out", how) for how in get_args(Count))
    typical, typical_whole, _, _ = _over_halves(study)
    return "\n".join(
        [
            "# EOPs against a GPU",
            "",
            "Made by `make hardware`, from what was recorded.",
            "",
            *provenance(study, environment()),
            "On operators that nothing was fitted on, the number of executed fp32 operations differs from "
            f"EOPs by {raw.median:.0%} at the median, from EOPs weighted by function by "
            f"{weighed.median:.0%}, and from EOPs weighted by function and place by {placed.median:.0%}. "
            f"Predicted times of 10 µs and more are off by {_mid(typical):.0%} at the median, and those of "
            f"whole models by {_mid(typical_whole):.0%}; both are medians over {HALVES} ways of splitting "
            "the operators.",
            "",
            *table(ASKED, reached(study)),
            *operations(study),
            *traffic(study),
            *limits(study),
            *prediction(study),
            *whole_models(study),
            closing(study),
            f"Made from data with the digest `{digest()}`.",
            "",
        ]
    )


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


def _mid(values: list[float]) -> float:
    return statistics.median(values)


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def outputs(study: Study) -> dict[Path, str]:
    """Every file that is written, with its text."""
    reports, listed = ROOT / "reports", io.StringIO()
    csv.writer(listed, lineterminator="\n").writerows([ASKED, *reached(study)])
    return {
        reports / "hardware.md": document(study),
        **{reports / "charts" / name: text for name, text in charts(study).items()},
        REACHED: listed.getvalue(),
        ROOT / "specs" / "devices" / "h200.toml": device_file(study, environment()),
        ROOT / "tolcost" / "cost" / "weights" / "h200.toml": weight_file(study),
    }


def main() -> int:
    for file, text in outputs(Study()).items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
