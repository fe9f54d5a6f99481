"""The part of the report on operations and bytes: executed against counted."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Mapping
from typing import get_args

from . import predict, weights
from .recorded import DATA, Measured
from .study import Count, Study, counted
from .tables import Cells, error_table, table

OFF = 0.05
SHOWN: Mapping[Count, str] = {
    "EOPs": "EOPs",
    "weighted EOPs": "EOPs weighted by function (--weights h200)",
    "by place": "EOPs weighted by function and place",
}


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


def operations(study: Study) -> list[str]:
    """Executed against counted, by class and by case."""
    why = reasons(study)
    by_class: dict[str, list[float]] = {}
    lines: list[Cells] = []
    for p in study.counted:
        got = ratio(p)
        assert p.counters is not None
        if got is None:
            continue
        by_class.setdefault(p.work.case.kind, []).append(got)
        found = weights.row(p)
        guess = counted(p.work, "by place", study.weights) if found else None
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
        "Every executed fp32 instruction counts as one operation, and a fused multiply-add as two. Cases in "
        "which both EOPs and executed operations are 0 are not listed; of the other "
        f"{total}, {within} are within 5 %.",
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
        "![executed against counted](charts/hardware-operations.svg)",
        "",
        *error_table(
            "executed fp32 operations predicted by",
            {
                f"{SHOWN[how]}, {side}": study.operations(side, how)
                for side in study.sides
                for how in get_args(Count)
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
