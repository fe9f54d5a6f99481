"""Engines: how the calls of a model become kernels.

A device says how each operator was run when it was recorded. An engine of ``specs/engines.toml`` says it of
the calls that it runs otherwise, such as attention in parts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from tolcost.cost.device import Device, Habit
from tolcost.diagnostics import quoted, refuse
from tolcost.platform import specs_root


class KernelEngine(Struct, frozen=True, eq=False):
    """How calls become kernels, and what the host takes to start one; None if nothing is known of it."""

    name: str
    about: str
    calls: Mapping[str, Habit]
    host: Fraction | None

    @property
    def assumed(self) -> str:
        """The kernels that a prediction assumes, in words."""
        return f"as {self.name}: {self.about}"


@cache
def engines() -> Mapping[str, KernelEngine]:
    """Return all engines by name.

    >>> ", ".join(engines())
    'pytorch, parts, transformers, fused'
    >>> engines()["transformers"].calls["RMSNormalization"].kernels
    8
    """
    raw = tomllib.loads(specs_root().joinpath("engines.toml").read_text(encoding="utf-8"))
    return {name: _engine(name, raw[name]) for name in raw}


def engine_of(name: str) -> KernelEngine:
    """Return an engine by its name."""
    known = engines()
    if name not in known:
        refuse("T0616", f"there is no engine {quoted(name)}", hint=f"known by name: {', '.join(known)}")
    return known[name]


def _engine(name: str, said: Mapping[str, object]) -> KernelEngine:
    calls, host = said["calls"], said.get("host")
    assert isinstance(calls, Mapping)
    habits = {call: Habit(**habit) for call, habit in calls.items()}
    return KernelEngine(name, str(said["about"]), habits, None if host is None else Fraction(str(host)))


def not_fitted(engine: KernelEngine, device: Device) -> list[str]:
    """Return the patterns of an engine's calls that nothing was recorded of, where other things were."""
    known = {group.pattern for group in device.fitted.groups} if device.fitted else None
    wanted = dict.fromkeys(habit.pattern for habit in engine.calls.values())
    return [] if known is None else [pattern for pattern in wanted if pattern not in known]


def run_by(engine: KernelEngine, device: Device) -> Device:
    """Return a device on which an engine runs the calls."""
    missing = not_fitted(engine, device)
    if missing:
        lacking = f"{device.name} has no [[fitted.group]] with the pattern {quoted(missing[0])}"
        refuse("T0617", f"{lacking}, which calls of the engine {engine.name} have")
    fitted = None if device.fitted is None else replace(device.fitted, calls=engine.calls)
    return replace(device, engine=engine.name, fitted=fitted)
