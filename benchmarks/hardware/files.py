"""The two files that the analysis hands on: weights for ``--weights h200``, and the device."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from . import predict
from .study import Study


def weight_file(study: Study) -> str:
    """``tolcost/cost/weights/h200.toml``."""
    held = study.operations("held out", weighted=True)
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
    for function, weight in study.weights.items():
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


def device_file(study: Study, facts: Mapping[str, Any]) -> str:
    """``devices/h200.toml``: peaks, what is fitted, and where both come from."""
    device, card = study.device, facts["idle"]
    tried = [times for times, _, _ in study.other_halves]
    parts = [
        'name = "h200"',
        f'description = "{card["name"]}, driver {card["driver_version"]}; PyTorch {facts["torch"]}, eager"',
        f'recorded = "{facts["date"]}"',
        "",
        "[peak]  # per microsecond; by the data sheet, or lanes times the highest clock",
        f"bytes = {predict.PEAK_BANDWIDTH:.4g}",
        f"macs_float32 = {predict.peak('float32'):.5g}",
        f"macs_bfloat16 = {predict.peak('bfloat16'):.5g}",
        f"l2_bytes = {predict.L2}",
        f"multiprocessors = {predict.MULTIPROCESSORS}",
        "",
        "[fitted]  # on half of the operators; microseconds, and bytes per microsecond",
        f"gap = {device.gap:.3g}",
        f"bandwidth = {device.bandwidth:.4g}",
        "# on the other half, times of at least 10 microseconds; medians over 50 ways of splitting",
        f"error_median = {median(e.median for e in tried):.3f}",
        f"share_within_half = {median(e.within_50 for e in tried):.3f}",
    ]
    for name, group in device.groups.items():
        parts += ["", f'[fitted.group."{name}"]', f"start = {group.start:g}", f"rate = {group.rate:.4g}"]
    return "\n".join([*parts, ""])
