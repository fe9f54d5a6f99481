"""``tolcost check`` and ``tolcost accept``: the gate, and the agreement to a costlier program."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tolcost import __version__
from tolcost.check.baseline import GateTask
from tolcost.check.config import Config, GivenShape, find_config
from tolcost.check.gate import (
    Checked,
    accepted,
    against_lock,
    against_revision,
    notes_on,
    updated,
    write_merged,
)
from tolcost.check.lockfile import LOCK_NAME, OUTDATED, Lock, costs_version, load_lock
from tolcost.check.records import GateReport
from tolcost.check.targets import Computing, Costed, Costing, Target, files_below, programs, refuse_links_out
from tolcost.check.text import GATE_FORMATS, gate_text
from tolcost.cli import options
from tolcost.cli.output import ProgressLine, deliver, exit_code, refuse_over, screen, show, write_whole
from tolcost.diagnostics import Rejected, Source, Span, quoted, refuse, visible
from tolcost.platform import with_deep_stack

if TYPE_CHECKING:
    from tolcost.catalogue.specs import Library
    from tolcost.models.walking import Session
    from tolcost.result.model import Wanted


_ALSO = {"markdown": "md"}
"""Formats under the names that people try first."""


def _also(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Read every ``FORMAT=FILE``."""
    named = tuple(text.partition("=")[::2] for text in value)
    pairs = tuple((_ALSO.get(form, form), file) for form, file in named)
    for form, file in pairs:
        if form not in GATE_FORMATS or not file:
            raise click.BadParameter(f"FORMAT=FILE, with one of {', '.join(GATE_FORMATS)}, not {form[:40]!r}")
    return pairs


@click.command(
    cls=options.Command,
    examples=(
        "tolcost check",
        "tolcost check --update --prune",
        "tolcost check ops/softmax.tol --base origin/main",
        "tolcost check --format sarif --output tolcost.sarif",
    ),
)
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Write the current costs to the lock file.")
@click.option("--prune", is_flag=True, help="With --update: remove programs that are gone.")
@click.option("--base", metavar="REVISION", help="Compare with a git revision instead of the lock file.")
@click.option("--strict", is_flag=True, help="Also fail if the lock file could be updated.")
@click.option("--watch", is_flag=True, help="Check again whenever a program or a setting changes.")
@click.option("--fresh", is_flag=True, help="Analyse unchanged programs again, too.")
@options.jobs_option
@click.option("--specs", metavar="DIR", multiple=True,
              help="Search this folder for operators, before those of tolcost.toml.")  # fmt: skip
@options.format_option(GATE_FORMATS)
@click.option("--also", metavar="FORMAT=FILE", multiple=True, callback=_also,
              help="Also write a file in another format; repeatable.")  # fmt: skip
@options.output_option
def command(
    paths: tuple[Path, ...],
    update: bool,
    prune: bool,
    base: str | None,
    strict: bool,
    watch: bool,
    fresh: bool,
    jobs: int | None,
    specs: tuple[str, ...],
    form: str,
    also: tuple[tuple[str, str], ...],
    output: str | None,
) -> int:
    """Compare programs with the lock file and with their budgets.

    Exit codes: 0 if nothing is costlier; 1 if something is costlier, not locked or over budget; 2 if
    something cannot be read; 3 if something is undecided.
    """
    if prune and not update:
        raise click.UsageError("--prune goes with --update")
    if update and base is not None:
        raise click.UsageError("--update writes what programs cost now; it does not go with --base")

    def once() -> int:
        config = with_specs(find_config(Path.cwd()), specs)
        written = [file for file in (output, *(file for _, file in also)) if file and Path(file).is_file()]
        if written:
            refuse_over(written, (config.root / target.file for target in programs(config)))
        with closing(ProgressLine()) as progress:
            gate = GateTask(config, Computing(costing_for(), jobs, progress.tell), paths, strict, fresh)
            report = _updated(gate, prune) if update else _compared(gate, base)
            if config.formulas and not paths:
                report = _with_applications(report, config)
        for name, file in ((form, output), *also):
            deliver(_written(report, name, file), file, name)
        return report.exit_code

    if not watch:
        return once()
    return watch_project(once, find_config(Path.cwd()).root)


def _written(report: GateReport, form: str, file: str | None) -> str:
    """Write the report in a format; text for a terminal is in colour, and diagnostics stand above it."""
    if form == "text":
        return gate_text(report, *screen(form, file), reasons=file is not None)
    from tolcost.check.formats import write_report  # these are not needed for text

    return write_report(report, form)


def _compared(gate: GateTask, base: str | None) -> GateReport:
    checked = checked_against(gate, base, load_lock(gate.config.root / LOCK_NAME))
    _tell(checked)
    return checked.report


def _updated(gate: GateTask, prune: bool) -> GateReport:
    """Compare with the lock file, then write a new one; entries of unreadable programs stay as they were."""
    lock = load_lock(gate.config.root / LOCK_NAME, merging=True) or Lock()
    if lock.outdated and gate.asked:  # entries of other programs would be lost
        refuse("T0705", f"{LOCK_NAME} is of a former format, and is written as a whole", hint=OUTDATED)
    checked = against_lock(gate, lock)
    _tell(checked)
    new = updated(gate.config, lock, checked, prune, __version__)
    write_merged(gate.config.root, lock, new, write_whole)
    return replace(checked.report, written=LOCK_NAME, pruned=prune)


def _with_applications(report: GateReport, config: Config) -> GateReport:
    """Add the checks of applications that the settings ask for, such as the check of typed cost formulas."""
    apps = import_module("tolcost.apps")
    for setting, (module, function) in apps.GATE.items():
        if not getattr(config, setting):
            continue
        if not apps.is_there(module):
            refuse("T0680", f"the application that checks `{setting}` is not installed")
        check = getattr(apps.load(module), function)
        report = replace(report, budgets=(*report.budgets, *with_deep_stack(partial(check, config))))
    return report


def _tell(checked: Checked) -> None:
    """Show the diagnostics of programs that cannot be analysed."""
    if checked.problems:
        show(Rejected(*checked.problems))


# ---- agreeing ----------------------------------------------------------------------------------


_LONGEST = 2_000


@click.command(
    cls=options.Command,
    examples=(
        'tolcost accept ops/softmax.tol -m "subtracts the largest entry first, so that exp cannot overflow"',
        'tolcost accept "ops/*" -m "float32 accumulators" --base origin/main',
    ),
)
@click.argument("name", metavar="NAME")
@click.option("--message", "-m", "why", required=True, metavar="TEXT", help="Why the cost is accepted.")
@click.option("--base", metavar="REVISION", help="Compare with a git revision instead of the lock file.")
def accept(name: str, why: str, base: str | None) -> int:
    """Accept that a program costs more now, and record why.

    NAME is a program as `tolcost check` shows it, or a pattern.  The reason is kept in the lock file and
    shown beside the difference, until the program costs more again.
    """
    reason = " ".join(why.split())
    if not reason or len(reason) > _LONGEST:
        raise click.UsageError(f"--message needs a reason of at most {_LONGEST:,} characters")
    config = with_specs(find_config(Path.cwd()), ())
    lock = load_lock(config.root / LOCK_NAME)
    checked = checked_against(GateTask(config, Computing(costing_for())), base, lock)
    new, names = accepted(lock or Lock({}, __version__, costs_version()), checked, name, reason)
    write_merged(config.root, lock, new, write_whole)
    for found in names:
        click.echo(f"accepted {visible(found)}: {visible(reason)}")
    return 0


# ---- a project and the analysis of its programs; sealed programs need none of these imports --------


def with_specs(config: Config, folders: Sequence[str]) -> Config:
    """Add folders of operators to a project, relative to the current folder and searched first.

    The folders that the settings name have to exist, too.  This is checked here because sealed programs are
    not analysed, so that a missing folder would go unnoticed.
    """
    refuse_links_out(config, LOCK_NAME)
    if not folders and not config.specs:
        return config
    from tolcost.catalogue.specs import existing

    existing(config.libraries)
    found = (folder.resolve() for folder in existing(folders))
    root = config.root.resolve()
    inside = (str(path.relative_to(root) if path.is_relative_to(root) else path) for path in found)
    return replace(config, first_specs=tuple(inside))


def costing_for() -> Costing:
    """Return the function that analyses one program, in the folder of a project or in a copy of it."""

    @cache
    def library(folders: tuple[Path, ...]) -> Library:
        from tolcost.catalogue.specs import new_library

        return new_library(folders)

    def session(folders: tuple[Path, ...]) -> Session:
        """Make a session for one model alone.

        Data-dependent lengths are named after nodes; in a shared session these could be another model's.
        """
        from tolcost.models.walking import Session

        return Session(library(folders))

    made: dict[tuple[Path, str], bytes] = {}

    def model(config: Config, target: Target) -> bytes | None:
        """Return a declared model, made once; None if the target is a file."""
        if not target.setting:
            return None
        key = config.root, target.name
        if key not in made:
            made[key] = declared_model(config, target)
        return made[key]

    def cost(config: Config, target: Target) -> Costed:
        folders = config.libraries
        try:
            if (other := elsewhere(target)) is not None:
                return other(config, target)
            if target.is_model:
                raw = model(config, target)
                return _cost_model(config.root, target, session(folders), config.metrics, raw)
            return _cost_program(config.root, target, library(folders), config.metrics)
        except Exception as error:
            from tolcost.pipeline import as_rejected

            found = as_rejected(error)
            if isinstance(found, Rejected):  # a diagnostic without a place names at least the file
                declared = config.span_of(target.setting, target.file, target.case.label)
                found = found.at(declared if target.setting else Span(Source(target.file, ""), 0, 0))
            raise found from error

    return cost


def elsewhere(target: Target) -> Costing | None:
    """Return the function of an application that costs a file in another form; None for any other target."""
    apps = import_module("tolcost.apps")
    module, function = apps.ENTRIES.get(Path(target.file).suffix.lower(), ("", ""))
    if not module or target.setting or not apps.is_there(module):
        return None
    found: Costing = getattr(apps.load(module), function)
    return found


def declared_model(config: Config, target: Target) -> bytes:
    """Return the model that settings declare, as the bytes of an ONNX file, from the application for it."""
    apps = import_module("tolcost.apps")
    module, function = apps.TARGETS[target.setting]
    if not apps.is_there(module):
        refuse("T0680", f"the application that reads `{target.setting}` is not installed")
    made: bytes = getattr(apps.load(module), function)(config, target)
    return made


def _cost_program(root: Path, target: Target, specs: Library, metrics: tuple[str, ...]) -> Costed:
    from tolcost.check.entries import costed_program, program_rules
    from tolcost.elaborate.inputs import arguments
    from tolcost.pipeline import lower, read_program
    from tolcost.syntax import read_source

    if target.case.train:
        refuse("T0711", "`train` is of a model: a program has no step of training", hint="tolcost grad")
    source = replace(read_source(root / target.file), name=target.file)
    parsed = read_program(source, specs)
    given = arguments(parsed.program, target.case.shapes, target.case.attrs)
    assume = target.case.assume
    found = with_deep_stack(
        lambda: costed_program(target.name, lower(parsed, given).program, metrics, assume)
    )
    rules = program_rules(target.case, metrics, specs.behind(source))
    return replace(found, entry=replace(found.entry, rules=rules))


def _cost_model(
    root: Path, target: Target, session: Session, metrics: tuple[str, ...], raw: bytes | None
) -> Costed:
    """Analyse a model: that of a file, or the given one, whose case was used when it was made."""
    from tolcost.catalogue.reading import model_in
    from tolcost.check.entries import costed_model, model_rules
    from tolcost.result.model import Wanted, model_cost, of_model, study_file

    wanted = Wanted(assume=target.case.assume) if raw is not None else _wanted(target)

    def cost() -> Costed:
        if raw is None:
            study = study_file(root / target.file, session, wanted)
        else:
            study = of_model(
                model_cost(model_in(raw, target.file, target.file), target.file, session, wanted)
            )
        train = dict(target.case.train)
        step = study.trained(str(train.pop("optimizer")), train) if train else None
        found = costed_model(target.name, study, metrics, step)
        rules = model_rules(target.case, metrics, study, step)
        source = "" if raw is None else sha256(raw).hexdigest()[:32]
        return replace(found, entry=replace(found.entry, rules=rules, source=source))

    return with_deep_stack(cost)


def _wanted(target: Target) -> Wanted:
    """Return the lengths and shapes of the case of a model."""
    from tolcost.result.model import Wanted

    dims = {name: value for name, value in target.case.attrs.items() if isinstance(value, int)}
    others = target.case.attrs.keys() - dims.keys()
    if others:
        message = (
            f"{quoted(min(others))} is not a length: the attributes of a model's case are lengths by name"
        )
        refuse("T0711", message)
    shapes = {name: _lengths(name, shape) for name, shape in target.case.shapes.items()}
    return Wanted(dims, shapes, assume=target.case.assume)


def _lengths(name: str, shape: GivenShape) -> tuple[int | str, ...]:
    lengths = tuple(length for length in shape if isinstance(length, int | str))
    if len(lengths) != len(shape):
        message = f"the shape of {quoted(name)} is a list of lengths: an input of a model is one tensor"
        refuse("T0711", message)
    return lengths


def checked_against(gate: GateTask, base: str | None, lock: Lock | None) -> Checked:
    """Compare with a revision if one is given, else with the lock file, which has to exist."""
    if base is not None:
        return against_revision(gate, base, lock or Lock())
    if lock is None:
        hint = "`tolcost check --update` writes one; `--base REVISION` compares with git instead"
        refuse("T0701", f"there is no {LOCK_NAME} to compare with", hint=hint)
    return against_lock(gate, lock, tuple(notes_on(lock, __version__, costs_version())))


# ---- checking again whenever a file changes --------------------------------------------------------


_WATCHED = (".tol", ".onnx", ".toml", ".lock", ".py")
"""Code, too, since settings may declare models by it."""
_PAUSE = 0.5

FileMarks = dict[str, tuple[int, int]]


def watch_project(
    once: Callable[[], int], root: Path, pause: float = _PAUSE, rounds: int | None = None
) -> int:
    """Run now, and after every change below a folder, until interrupted or ``rounds`` times."""
    done, code = 0, 0
    before: FileMarks | None = None
    while True:
        now = _seen(root)
        if now != before:
            before, code = now, _told(once)
            done += 1
            if rounds is not None and done >= rounds:
                return code
        time.sleep(pause)


def _told(once: Callable[[], int]) -> int:
    """Run once; an error is shown and does not end the watch, since a file may be half written."""
    click.echo(f"--- {time.strftime('%H:%M:%S')}", err=True)
    try:
        return once()
    except Exception as error:
        return exit_code(error)


def _seen(root: Path) -> FileMarks:
    """Return the time and size of each watched file, links followed; files deleted meanwhile are skipped."""
    found: FileMarks = {}
    for file in files_below(root):
        if file.lower().endswith(_WATCHED):
            with suppress(OSError):
                status = (root / file).stat()
                found[file] = status.st_mtime_ns, status.st_size
    return found
