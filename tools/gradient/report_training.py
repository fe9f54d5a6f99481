"""Writes reports/training.md: derived peaks beside those of a GPU, and the models of the corpus.

    python -m tools.gradient.report_training

From ``reports/data/training_peaks.json`` and ``training_models.json`` only; the same bytes every time.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT / "reports" / "data"
REPORT = ROOT / "reports" / "training.md"
RECORDED = ROOT / "tools" / "benchmarks" / "hardware" / "training_peaks.json"

HEAD = """# Training: derived beside measured

Made by `make training`; do not edit.

## The memory of a step

{modules} modules were trained on one {device} with PyTorch {torch}, in float32 and {narrow} of them in
bfloat16 as well: forward, backward from a gradient of ones, and AdamW. The allocator's peak stands beside
the derived one. A module is exported once, with open lengths, and its closed form is evaluated at the
recorded sizes; nothing is tuned on the recording. What the allocator already held before a step and is no
parameter, state, buffer or input is added to the derived figure: workspaces of libraries, {least:.0f} to
{most:.0f} MB. Recomputing is that of transformers' layers there, and `--recompute 'every 1'` here.

**Over {rows} rows the derived peak is off by {middle:.1f} % at the median, and by {worst:.1f} % at most**
({without:.1f} % and {without_worst:.1f} % without recomputing, {again:.1f} % and {again_worst:.1f} % with
it; {wide:.1f} % and {wide_worst:.1f} % in float32, {half:.1f} % and {half_worst:.1f} % in bfloat16). What
forward keeps is equal to the byte in {equal} of {kept} rows, and off by {kept_middle:.1f} % at the median.

| module | type, attention | batch × size | recompute | kept | measured | peak | measured | off |
|---|---|---:|---|---:|---:|---:|---:|---:|
"""

LEFT = """
Figures are in MB, of a million bytes, each derived one before the measured one. What is left:

- **SiLU and reciprocal roots** (Llama, Qwen, Phi-3). torch's exporter writes `silu` as a sigmoid and a
  product, and `rsqrt` as a root and a reciprocal; both keep their results, where autograd keeps the input
  of the one function. For Llama and Qwen2 this is all that `kept` has more, but for some hundred bytes a
  layer: 11 MiB + 8 KiB of each layer at 2 x 512. Phi-3 and GPT-NeoX (Pythia) keep two more tensors of the
  hidden size a layer; that was not taken apart further.
- **Batch normalisation and max pooling** (ResNet-50). PyTorch keeps the mean and the deviation of each
  channel and the indices of the maxima: 0.2 and 12.8 MB at batch 8, the whole difference. Here they are
  computed again.
- **Parameters without use.** The pooler of BERT is run there, and keeps the last states; it is not in the
  exported file, because nothing reads what it gives.
- **Eager attention with recomputing.** At the larger size the measured peak has about one tensor of scores
  more: 201 of the 213 MB that are missing of GPT-2, 268 of the 292 MB of Llama. Which operator holds it was
  not found out. Nor why GPT-2 takes 161 MB more at its smaller size.
- **A softmax of 32 bits in a module of 16** (eager attention of OPT, Pythia, Llama, Qwen). torch's exporter
  writes it in 16 bits; `tolcost torch` has it write what the module does. Without this, what is kept was up
  to 53 % too low.
- **Temporaries of operators** are not in the derived figure: it counts the tensors between them.
- **Rounding.** The allocator rounds every block up to 512 bytes.
- **Swin** stores 308,016 numbers more than the module has parameters: the exporter looks its tables of
  relative places up beforehand, 2,401 numbers for each head instead of 169, and these are trained here.
- **OPT** draws a number for each layer in training, and leaves the layer out where it is small. torch's
  exporter refuses that; with no layer left out, what it keeps with eager attention is equal to the byte.
{absent}
"""

MODELS = """
## The models of the corpus

`tolcost model --train` was asked for each of {models} models of the corpus: **{share:.2f} % of the nodes
that a gradient goes through have a derived backward pass** ({derived:,} of {every:,}). {refused} models
have nothing to train: their weights are whole numbers, or no gradient reaches any. The others:

| node | why | nodes |
|---|---|---:|
"""


def main() -> None:
    """Write the report."""
    REPORT.write_text(report(), encoding="utf-8")


def report() -> str:
    """Return the text of the report."""
    recorded = json.loads(RECORDED.read_text("utf-8"))
    rows = json.loads((DATA / "training_peaks.json").read_text("utf-8"))
    names = dict.fromkeys(row["model"] for row in recorded["rows"])
    absent = [name for name in names if name not in {row["model"] for row in rows}]
    there = {_key(row) for row in rows}
    left = [row for row in recorded["rows"] if "error" not in row and _key(row) not in there]
    kinds = [
        f"{sum(row['type'] == kind for row in left)} rows in {kind} (of {', '.join(_names(left, kind))})"
        for kind in ("float32", "bfloat16")
        if any(row["type"] == kind for row in left)
    ]
    later = f"- **Recorded, and not derived here**: {' and '.join(kinds)}.\n" if kinds else ""
    told = (
        f"- **Not compared**: {', '.join(absent)}, which torch's exporter refuses in training mode.\n"
        if absent
        else ""
    )
    return _peaks(recorded, rows) + LEFT.format(absent=told + later).rstrip() + "\n" + _models()


def _names(rows: list[dict[str, Any]], of_type: str) -> list[str]:
    """Return the modules of rows, with their attention where they have several."""
    chosen = [row for row in rows if row["type"] == of_type]
    return list(
        dict.fromkeys(
            row["model"] if row["attention"] == "none" else f"{row['model']} {row['attention']}"
            for row in chosen
        )
    )


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("model", "type", "attention", "recompute", "batch", "size"))


def _peaks(recorded: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    kept = [row for row in rows if row["recorded_kept"]]
    shares = [abs(row["kept"] / row["recorded_kept"] - 1) * 100 for row in kept]
    off = {again: [abs(r["off"]) * 100 for r in rows if r["recompute"] == again] for again in (False, True)}
    both = [*off[False], *off[True]]
    of = {kind: [abs(r["off"]) * 100 for r in rows if r["type"] == kind] for kind in ("float32", "bfloat16")}
    head = HEAD.format(
        modules=len({row["model"] for row in rows}),
        device=recorded["device"],
        torch=recorded["torch"],
        least=min(row["besides"] for row in rows) / 1e6,
        most=max(row["besides"] for row in rows) / 1e6,
        narrow=len({row["model"] for row in rows if row["type"] == "bfloat16"}),
        wide=median(of["float32"]),
        wide_worst=max(of["float32"]),
        half=median(of["bfloat16"]),
        half_worst=max(of["bfloat16"]),
        rows=len(rows),
        middle=median(both),
        worst=max(both),
        without=median(off[False]),
        without_worst=max(off[False]),
        again=median(off[True]),
        again_worst=max(off[True]),
        equal=sum(row["kept"] == row["recorded_kept"] for row in kept),
        kept=len(kept),
        kept_middle=median(shares),
    )
    return head + "".join(map(_row, rows))


def _row(row: dict[str, Any]) -> str:
    measured = "" if row["recorded_kept"] is None else f"{row['recorded_kept'] / 1e6:,.1f}"
    cells = (
        row["model"],
        row["type"] if row["attention"] == "none" else f"{row['type']}, {row['attention']}",
        f"{row['batch']} × {row['size']}",
        "every layer" if row["recompute"] else "",
        f"{row['kept'] / 1e6:,.1f}",
        measured,
        f"{(row['peak'] + row['besides']) / 1e6:,.1f}",
        f"{row['recorded_peak'] / 1e6:,.1f}",
        f"{row['off'] * 100:+.1f} %",
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _models() -> str:
    found = json.loads((DATA / "training_models.json").read_text("utf-8"))
    derived = sum(one.get("derived", 0) for one in found.values())
    reasons: Counter[str] = Counter()
    for one in found.values():
        reasons.update(one.get("missing", {}))
    every = derived + sum(reasons.values())
    head = MODELS.format(
        models=len(found),
        share=100 * derived / every,
        derived=derived,
        every=every,
        refused=sum("refused" in one for one in found.values()),
    )
    lines = (f"| {said.replace(': ', ' | ', 1)} | {many} |\n" for said, many in sorted(reasons.items()))
    return head + "".join(lines)


if __name__ == "__main__":
    main()
