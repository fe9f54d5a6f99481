"""The three charts of the report."""

from __future__ import annotations

from . import predict, weights
from .figures import scatter
from .study import Study, compulsory

OUTSIDE = ("DFT",)
"""Cases far outside of the roofline's picture, which says so."""


def charts(study: Study) -> dict[str, str]:
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
