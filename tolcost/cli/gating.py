"""What ``check`` and ``accept`` share: finding a project, and analysing its programs for the gate.

What reads programs is loaded when the first one has to be analysed: a check of programs that have
not changed needs none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tolcost import __version__
from tolcost.check.baseline import Gate
from tolcost.check.config import Config
from tolcost.check.costing import Computing, Costed, Costing, Told
from tolcost.check.gate import Checked, against_lock, against_revision
from tolcost.check.lockfile import LOCK_NAME, Lock, load_lock
from tolcost.check.seals import costs_version
from tolcost.check.targets import Target
from tolcost.check.updating import notes_on
from tolcost.cli.failures import as_rejected
from tolcost.diagnostics import Diagnostic, Rejected, quoted

if TYPE_CHECKING:
    from tolcost.catalogue.specs import Library
    from tolcost.models.walking import Session


def computing_for(jobs: int | None = None, told: Told | None = None) -> Computing:
    """How programs are analysed."""
    return Computing(costing_for(), jobs, told)


def with_specs(config: Config, folders: Sequence[str]) -> Config:
    """A project whose operators are looked up in some folders first; they are relative to where we are."""
    found = (Path(folder).resolve() for folder in folders)
    root = config.root.resolve()
    inside = (str(path.relative_to(root) if path.is_relative_to(root) else path) for path in found)
    return replace(config, specs=(*inside, *config.specs))


def costing_for() -> Costing:
    """How one program is analysed, in the folder of a project or in a copy of it."""

    @cache
    def library(folders: tuple[Path, ...]) -> Library:
        from tolcost.catalogue.specs import open_library

        return open_library(folders)

    @cache
    def session(folders: tuple[Path, ...]) -> Session:
        from tolcost.models.walking import Session

        return Session(library(folders))

    def cost(config: Config, target: Target) -> Costed:
        folders = tuple(config.root / folder for folder in config.specs)
        try:
            if target.is_model:
                return _cost_model(config.root, target, session(folders), config.metrics)
            return _cost_program(config.root, target, library(folders), config.metrics)
        except Exception as error:
            raise as_rejected(error) from error

    return cost


def _cost_program(root: Path, target: Target, specs: Library, metrics: tuple[str, ...]) -> Costed:
    from tolcost.check.entries import costed_program
    from tolcost.deep import with_deep_stack
    from tolcost.elaborate.arguments import arguments
    from tolcost.pipeline import lower, read_program
    from tolcost.syntax import read_source

    source = replace(read_source(root / target.file), name=target.file)
    parsed = read_program(source, specs)
    given = arguments(parsed.program, target.case.shapes, target.case.attrs)
    return with_deep_stack(lambda: costed_program(target.name, lower(parsed, given).program, metrics))


def _cost_model(root: Path, target: Target, session: Session, metrics: tuple[str, ...]) -> Costed:
    from tolcost.check.entries import costed_model
    from tolcost.deep import with_deep_stack
    from tolcost.result.model import Wanted, study_file

    dims = {name: value for name, value in target.case.attrs.items() if isinstance(value, int)}
    others = target.case.attrs.keys() - dims.keys()
    if others:
        message = (
            f"{quoted(min(others))} is not a length: the attributes of a model's case are lengths by name"
        )
        raise Rejected(Diagnostic("T0711", message))
    shapes = {
        name: tuple(d for d in shape if isinstance(d, int | str))
        for name, shape in target.case.shapes.items()
    }
    wanted = Wanted(dims, shapes)
    return with_deep_stack(
        lambda: costed_model(target.name, study_file(root / target.file, session, wanted), metrics)
    )


def checked_against(gate: Gate, base: str | None, lock: Lock | None) -> Checked:
    """Compare with a revision if one is given, else with the lock file, which has to be there."""
    if base is not None:
        return against_revision(gate, base, lock or Lock())
    if lock is None:
        hint = "`tolcost check --update` writes one; `--base REVISION` compares with git instead"
        raise Rejected(Diagnostic("T0701", f"there is no {LOCK_NAME} to compare with", hint=hint))
    return against_lock(gate, lock, tuple(notes_on(lock, __version__, costs_version())))


def read_lock_of(config: Config, merging: bool = False) -> Lock | None:
    """The lock file of a project."""
    return load_lock(config.root / LOCK_NAME, merging)
