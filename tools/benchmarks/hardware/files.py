"""The two files that the analysis hands on: weights for ``--weights h200``, and the device."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from . import predict
from .recorded import Work
from .study import Study
from .weights import by_function


def weight_file(study: Study) -> str:
    """``tolcost/cost/weights/h200.toml``."""
    held = study.operations("held out", "weighted EOPs")
    parts = [
        'name = "h200"',
        'unit = "fp32 op"',
        'description = """',
        "Single-precision operations that PyTorch's kernels execute on an NVIDIA H200 for one application",
        "of a function, a fused multiply-add being two: medians over half of the recorded operators.  On the",
        f"operators held out the weighed count is off by {held.median:.0%} at the median, and "
        "within 10 % for",
        f"{held.within_10:.0%} of them (reports/hardware.md).",
        "Integers and truth values take no fp32 operation.  A function that was not measured has no weight",
        'here, and a program that applies one is refused rather than undercounted."""',
        'default = "error"',
        "",
        "[[rule]]",
        'functions = "*"',
        'families = ["B", "Z", "S"]',
        "weight = 0",
        'source = "executed on integer and logic units"',
    ]
    for function, weight in by_function(study.weights).items():
        seen = ", ".join(weight.operators[:4]) + (", ..." if len(weight.operators) > 4 else "")
        spread = f"; single operators put it between {weight.low:g} and {weight.high:g}"
        note = (
            f"recorded for {seen}{spread}" if weight.operators else "assumed: no recorded operator shows it"
        )
        if not weight.value and not weight.operators:
            note = "recorded: executed on the conversion unit, without fp32 operations"
        rule = ["", "[[rule]]", f'functions = ["{function}"]', 'families = ["R"]']
        parts += [*rule, f"weight = {weight.value:g}", f'source = "{note}"']
    return "\n".join([*parts, ""])


VIEWS = ("Dropout", "Flatten", "Identity", "Reshape", "Shape", "Size", "Squeeze", "Unsqueeze")
"""Operators that launch nothing in PyTorch: what they give is a view of what they take."""
MOVED = ("Expand", "Slice", "Split", "Transpose")
"""Operators that were recorded as copies, and are views where they stand in a model."""
JOINED = {
    "MatMul": 'unless = ["bias after"], otherwise = { pattern = "affine" }',
    "Add": 'unless = ["onto a product"], otherwise = { kernels = 0 }',
}
"""How a product with a bias and its addition run: in one kernel of PyTorch, as a ``Gemm`` does."""
SPACES = {"float32": ("R", "float32"), "bfloat16": ("float16", "bfloat16")}
"""The spaces that go by what was recorded for a type."""


def device_file(study: Study, facts: Mapping[str, Any]) -> str:
    """``specs/devices/h200.toml``: peaks, what is fitted, and where both come from."""
    device, card = study.device, facts["idle"]
    whole = median(models.median for _, models, _ in study.other_halves)
    parts = [
        'name = "h200"',
        f'description = "{card["name"]}, driver {card["driver_version"]}; PyTorch {facts["torch"]}, eager"',
        f'recorded = "{facts["date"]}"',
        "",
        "[peak]  # per microsecond; by the data sheet, or lanes times the highest clock",
        f"bytes = {predict.PEAK_BANDWIDTH:.0f}",
        f"cache = {predict.L2}",
        f"memory = {predict.MEMORY}",
        "",
        "[peak.macs]",
        *(f"{space} = {predict.peak(type_):.0f}" for type_, spaces in SPACES.items() for space in spaces),
        "",
        "[peak.operations]",
        *(f"{space} = {predict.peak('float32'):.0f}" for space in SPACES["float32"]),
        "",
        "[fitted]  # on half of the operators; microseconds, and amounts per microsecond",
        f"bandwidth = {device.bandwidth:.0f}",
        f"gap = {device.gap:.3g}",
        f"prologue = {predict.PROLOGUE}",
        f"error_models = {whole:.3f}",
        *_groups(study),
        "",
        "[fitted.operators]  # how PyTorch computes them, as recorded",
        *_operators(study),
    ]
    return "\n".join([*parts, ""])


def _groups(study: Study) -> Iterator[str]:
    """Groups with the error on operators they were not fitted on, over 50 halves, from 10 µs on."""
    for name, group in study.device.groups.items():
        type_ = next((type_ for type_ in SPACES if name.endswith(f" {type_}")), "")
        pattern = name.removesuffix(f" {type_}")
        if pattern.endswith(predict.UNALIGNED) or pattern == predict.SERIAL:
            continue
        yield from ("", "[[fitted.group]]", f'pattern = "{pattern}"')
        if type_:
            yield f"spaces = {json.dumps(SPACES[type_])}"
        kinds = {"bytes": predict.BYTES, "macs": predict.PRODUCTS}
        quantity = next((kind for kind, patterns in kinds.items() if pattern in patterns), "elements")
        yield from (f'quantity = "{quantity}"', f"start = {group.start:g}", f"rate = {group.rate:.0f}")
        if group.term:
            yield f"term = {group.term:g}"
        if group.split:
            yield f"split = {group.split}"
        if name in study.by_group:
            found = study.by_group[name]
            yield f"error = {found.median:.3f}"
            yield f"within_half = {found.within_50:.3f}"
            yield f"points = {found.count}"


def _habit(work: Work) -> str:
    return f'pattern = "{work.case.pattern}", kernels = {work.kernels}, passes = {work.passes}'


def _operators(study: Study) -> Iterator[str]:
    """Of each operator its first recorded variant, in float32 where there is one."""
    first: dict[str, Work] = {}
    for point in study.points:
        first.setdefault(point.work.case.op, point.work)
    for op, work in sorted(first.items()):
        if op not in VIEWS:
            habit = _habit(work)
            own = next((p.work for p in study.points if p.work.case.op == op and p.work.case.unless), None)
            if own is not None:  # what PyTorch takes by itself, and otherwise the first
                note = f'note = "{own.case.note}", unless = {json.dumps(list(own.case.unless))}'
                habit = f"{_habit(own)}, {note}, otherwise = {{ {habit} }}"
            joined = f", {JOINED[op]}" if op in JOINED else ""
            yield f"{op} = {{ {habit}{', view = true' if op in MOVED else ''}{joined} }}"
    yield from (f"{op} = {{ kernels = 0 }}" for op in VIEWS)
