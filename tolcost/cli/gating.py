"""What ``check`` and ``accept`` share: finding a project, and analysing its programs for the gate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from tolcost.catalogue.specs import Library, open_library
from tolcost.check.config import Config
from tolcost.check.costed import Costed, Costing, costed_program
from tolcost.check.gate import Checked, Gate, against_lock, against_revision, notes_on
from tolcost.check.lockfile import LOCK_NAME, Lock, load_lock
from tolcost.check.targets import Target
from tolcost.check.versions import costs_version, tool_version
from tolcost.cli.failures import as_rejected
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.elaborate.given import arguments
from tolcost.pipeline import lower, read_program, shipped_specs, with_deep_stack
from tolcost.syntax import read_source


def costing_for(config: Config) -> Costing:
    """How the programs of a project are analysed, in its folder or in a copy of it."""

    @cache
    def library(root: Path) -> Library:
        return open_library(tuple(root / folder for folder in config.specs))

    def cost(root: Path, target: Target) -> Costed:
        try:
            specs = library(root) if config.specs else shipped_specs()
            return _cost_program(root, target, specs, config.metrics)
        except Exception as error:
            raise as_rejected(error) from error

    return cost


def _cost_program(root: Path, target: Target, specs: Library, metrics: tuple[str, ...]) -> Costed:
    source = replace(read_source(root / target.file), name=target.file)
    parsed = read_program(source, specs)
    given = arguments(parsed.program, target.case.shapes, target.case.attrs)
    lowered = lower(parsed, given)
    return with_deep_stack(lambda: costed_program(target.name, lowered.program, metrics))


def checked_against(gate: Gate, base: str | None, lock: Lock | None) -> Checked:
    """Compare with a revision if one is given, else with the lock file, which has to be there."""
    if base is not None:
        return against_revision(gate, base, lock or Lock())
    if lock is None:
        hint = "`tolcost check --update` writes one; `--base REVISION` compares with git instead"
        raise Rejected(Diagnostic("T0701", f"there is no {LOCK_NAME} to compare with", hint=hint))
    return against_lock(gate, lock, tuple(notes_on(lock, tool_version(), costs_version())))


def read_lock_of(config: Config, merging: bool = False) -> Lock | None:
    """The lock file of a project."""
    return load_lock(config.root / LOCK_NAME, merging)
