"""Options that several commands share, with the reading of their values, and the limits of a command."""

from __future__ import annotations

import re
import signal
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from tolcost.cli.output import refuse_over
from tolcost.cost.device import PYTORCH, Device, load_device
from tolcost.cost.engine import engine_of, engines, run_by
from tolcost.cost.weights import Weights, lacking, load_weights
from tolcost.diagnostics import quoted
from tolcost.elementary import FUNCTIONS
from tolcost.literals import Literal, NoLiteralError, read_literal
from tolcost.platform import address_space, memory_used
from tolcost.result.assumptions import equation
from tolcost.result.metrics import Place, asked_by, metric_named, not_there

if TYPE_CHECKING:
    from tolcost.result.study import Growth, Located, Study

F = TypeVar("F", bound=Callable[..., Any])  # click passes options by name, of any type

_NAME = re.compile(r"(`?)([^\W\d][\w\u0300-\u036f.]*)\1")
_FORM = re.compile(r"(?=.*(?<![0-9A-Za-z_])[A-Za-z_`])[A-Za-z0-9_`.*+ ()-]+")
_LONGEST_LENGTH = 30


_INPUTS = ("files", "file", "old", "new", "subject", "models", "inputs")
_OUTPUTS = ("output", "annotate")


class Command(click.Command):
    """A command with examples in its help, with limits, and that never writes over a file that it reads."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **kwargs: Any) -> None:
        """Take the arguments of click's class, and the examples."""
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += [
            click.Option(["--timeout"], type=click.FloatRange(0, min_open=True), metavar="SECONDS",
                         help="Stop after this time.", expose_value=False, callback=_keep),
            click.Option(["--max-memory"], type=_read_size, expose_value=False, callback=_keep,
                         metavar="SIZE", help="Stop at this much memory, such as 500M or 2G."),
        ]  # fmt: skip

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command within its limits."""
        refuse_over(_files(ctx.params, _OUTPUTS), _files(ctx.params, _INPUTS))
        with held_to(self.limits(ctx)):
            return super().invoke(ctx)

    def limits(self, ctx: click.Context) -> Limits:
        """Return the limits for the command as a whole."""
        return given_limits(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one per line."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def given_limits(ctx: click.Context) -> Limits:
    """Return the limits that ``--timeout`` and ``--max-memory`` set."""
    return Limits(ctx.meta.get("timeout"), ctx.meta.get("max_memory"))


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    context.meta[str(parameter.name)] = value
    return value


def _files(values: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Give the files that parameters name: each text, and the second half of ``NAME=FILE``."""
    for name in names:
        value = values.get(name)
        for text in (value,) if isinstance(value, str) else value or ():
            if isinstance(text, str):
                yield from (text, text.partition("=")[2])


def refuse(names: Container[str], why: str) -> None:
    """Refuse options that would have no effect in this command line, by the names of their parameters."""
    context = click.get_current_context()
    for one in context.command.params:
        given = one.name in names and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
        if given:
            raise click.UsageError(f"{one.opts[0]} is {why}")


def files_argument(metavar: str) -> Callable[[F], F]:
    """Add the argument for the files to process."""
    return click.argument("files", metavar=metavar, nargs=-1, required=True, callback=_no_lengths)


def _no_lengths(context: click.Context, _: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a length without its option among the files, as in ``--dim n=2 k=3``."""
    stray = next((one for one in files if "=" in one and "/" not in one and not Path(one).exists()), None)
    if stray is not None:
        message = f"there is no file {quoted(stray)}; for a length, --dim stands before each: --dim {stray}"
        raise click.UsageError(message, context)
    return files


dim_option = click.option("--dim", "dims", metavar="NAME=N", multiple=True,
                          help="A length, or an integer attribute; repeat for others.")  # fmt: skip
assume_option = click.option(
    "--assume",
    metavar="TEXT",
    multiple=True,
    help="Assume h = 32*k, h % 32 == 0 or seq <= 512; --dim w=h is short for w = h.",
)


def equated(texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split ``--dim`` into numbers, and assumptions that a length equals another length or a form.

    >>> equated(["n=8", "w=h"])
    (('n=8',), ('w == h',))
    """
    numbers: list[str] = []
    others: list[str] = []
    for text in texts:
        name, equals, value = text.rpartition("=")
        named = bool(equals and name.strip() and _FORM.fullmatch(value.strip()))
        (others if named else numbers).append(
            equation(name.strip(), value.strip(), fresh=False) if named else text
        )
    return tuple(numbers), tuple(others)


def input_options(function: F) -> F:
    """Add the options about a program's inputs."""
    shape = "The shape of an input declared with [...]: x=n,4."
    attr = "The value of an attribute: k=3, axes=[1,2], mode=linear."
    specs = "Search this folder first for operators and library files."
    function = click.option("--specs", metavar="DIR", multiple=True, help=specs)(function)
    function = click.option("--attr", "attrs", metavar="NAME=VALUE", multiple=True, help=attr)(function)
    return click.option("--shape", "shapes", metavar="NAME=LENGTHS", multiple=True, help=shape)(function)


def listed(known: Sequence[str]) -> Callable[..., tuple[str, ...] | None]:
    """Make a reader of names separated by commas, each of which has to be known."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
        asked = None if value is None else tuple(name.strip() for name in value.split(","))
        unknown = [name for name in asked or () if name not in known]
        if unknown:
            raise click.BadParameter(f"{unknown[0][:40]!r} is none of {', '.join(known)}")
        return asked

    return read


def metric_option(*places: Place) -> Callable[[F], F]:
    """Add ``--metric``, which selects figures of reports of these kinds; without it, all are shown."""
    known = asked_by(*places)

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
        asked = None if value is None else [name.strip() for name in value.split(",")]
        found = [] if asked is None else [metric_named(name, *places) for name in asked]
        for name, metric in zip(asked or (), found, strict=True):
            if metric is None:
                raise click.BadParameter(f"{quoted(name[:40])} {not_there(name, known)}")
        return None if asked is None else tuple(name for name in found if name is not None)

    text = f"Show only these figures: {', '.join(known)}."
    return click.option("--metric", "metrics", metavar="NAMES", callback=read, help=text)


sweep_option = click.option(
    "--sweep", "sweeps", metavar="NAME=VALUES", multiple=True,
    help="Tabulate several lengths: seq=128..8192 doubles, seq=1,1024 is a list.",
)  # fmt: skip
weights_option = click.option(
    "--weights", "models", metavar="FILE|NAME", multiple=True,
    help="Add a cost model, by its name or file; repeatable.",
)  # fmt: skip


def grown(cost: Located, sweeps: Sequence[str], metrics: Collection[str] | None) -> tuple[Growth, ...]:
    """Read ``--sweep``, and evaluate how a cost grows, in the figures of ``--metric`` if it is given."""
    if not sweeps:
        return ()
    from tolcost.result.growth import growths, read_sweep  # imports models, which take time to load

    asked = frozenset(metrics) if metrics else None
    return growths(cost, [read_sweep(sweep) for sweep in sweeps], asked)


def read_weights(given: Iterable[str]) -> tuple[Weights, ...]:
    """Read ``--weights``, and warn of functions without a weight before any analysis starts."""
    found = tuple(load_weights(model) for model in given)
    for twice in (name for name, times in Counter(model.name for model in found).items() if times > 1):
        raise click.UsageError(f"--weights: two cost models are called {twice}")
    for model in found:
        missing = lacking(model)
        if missing:
            known = [name for name in FUNCTIONS if name not in missing]
            few = len(known) < len(missing)
            says = f"weighs only {', '.join(known)}" if few else f"has no weight for {', '.join(missing)}"
            which = "another function" if few else "one of them"
            then = "has only a lower bound" if model.partial else "is refused"
            told = f"warning: the cost model {model.name} {says}: what applies {which} {then}"
            click.echo(told, err=True)
    return found


device_option = click.option(
    "--device",
    metavar="NAME|FILE",
    help="Predict the time on a device, by its name or file.",
)


def read_device(given: str | None, engine: str = PYTORCH) -> Device | None:
    """Read ``--device`` and ``--engine``."""
    if given is None:
        refuse(("engine",), "for --device")
        return None
    found = load_device(given)
    if found.fitted is None:
        refuse(("engine",), f"for a device that was measured, and {found.name} was not")
    return run_by(engine_of(engine), found)


def engine_option(default: str) -> Callable[[F], F]:
    """Make the option for the kernels that a prediction on a device assumes."""
    known = click.Choice(list(engines()))
    return click.option("--engine", type=known, default=default, help="The kernels that compute it.")


output_option = click.option("--output", "-o", metavar="FILE", type=click.Path(dir_okay=False),
                             help="Write to a file instead of standard output.")  # fmt: skip
specs_option = click.option(
    "--specs", metavar="DIR", multiple=True, help="Search this folder first for operators."
)
jobs_option = click.option("--jobs", "-j", type=click.IntRange(1, 256),
                           help="Number of processes; without it, one for each core.")  # fmt: skip


def format_option(known: Sequence[str], more: str = "") -> Callable[[F], F]:
    """Add ``--format`` with the default ``text``; ``more`` is added to its help."""
    text = f"Output format{more}."
    return click.option("--format", "form", type=click.Choice(known), default="text", help=text)


def read_pairs(option: str, texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Split each ``NAME=VALUE``; a name may use any alphabet, and may be quoted as in results.

    >>> list(read_pairs("--dim", ["n=1", "λ=2", "`λ`=3"]))
    [('n', '1'), ('λ', '2'), ('λ', '3')]
    """
    for text in texts:
        name, equals, value = text.partition("=")
        found = _NAME.fullmatch(name.strip())
        if not equals or found is None:
            raise click.UsageError(f"{option} needs NAME=VALUE, not {text[:60]!r}")
        yield unicodedata.normalize("NFC", found[2]), value.strip()


def read_dims(texts: Iterable[str]) -> dict[str, int]:
    """Read ``--dim``; underscores may group digits.

    >>> read_dims(["n=1_024"])
    {'n': 1024}
    """
    dims: dict[str, int] = {}
    for name, value in read_pairs("--dim", texts):
        if not re.fullmatch(r"-?[0-9]+(_[0-9]+)*", value):
            raise click.UsageError(f"--dim {name} needs an integer, not {value[:60]!r}")
        if len(value) > _LONGEST_LENGTH:
            raise click.UsageError(f"--dim {name}: {value[:60]} is more than a length can be")
        if dims.setdefault(name, int(value)) != int(value):
            raise click.UsageError(f"--dim {name} is given twice")
    return dims


def check_lengths(studies: Iterable[Study], dims: Iterable[str]) -> None:
    """Refuse a length that no program has, since it would be ignored silently."""
    known = {s.name: None for study in studies for s in study.may_be_given}
    for name in dims:
        if name not in known:
            others = ", ".join(known) or "none"
            raise click.UsageError(
                f"--dim: there is no length {quoted(name)}; known: {others}. An attribute is given by --attr."
            )


def read_shapes(texts: Iterable[str]) -> dict[str, list[list[int | str]]]:
    """Read ``--shape``; the name of a variadic input may be repeated, and a length may be an expression.

    >>> read_shapes(["x=n,4,2*n"])
    {'x': [['n', 4, '2*n']]}
    """
    shapes: dict[str, list[list[int | str]]] = {}
    for name, value in read_pairs("--shape", texts):
        inside = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        entries = [entry.strip() for entry in inside.split(",")] if inside.strip() else []
        shapes.setdefault(name, []).append([_length(name, entry) for entry in entries])
    return shapes


def _length(name: str, entry: str) -> int | str:
    if re.fullmatch(r"[0-9]{1,30}", entry):
        return int(entry)
    if re.fullmatch(r"[A-Za-z0-9_ +*()-]+", entry) and re.search("[A-Za-z_]", entry):
        return entry
    raise click.UsageError(
        f"--shape {name}: {entry[:60]!r} is neither a number, a name, nor an expression such as 4*h"
    )


def read_attrs(texts: Iterable[str]) -> dict[str, Literal]:
    """Read ``--attr``.

    >>> read_attrs(["axes=[1,2]"])
    {'axes': (1, 2)}
    """
    attrs: dict[str, Literal] = {}
    for name, value in read_pairs("--attr", texts):
        if name in attrs:
            raise click.UsageError(f"--attr {name} is given twice")
        attrs[name] = read_value(value)
    return attrs


def read_value(text: str) -> Literal:
    """Read one value; a mistake in it is reported as wrong usage."""
    try:
        return read_literal(text)
    except NoLiteralError as error:
        raise click.UsageError(str(error)) from None


# ---- --timeout and --max-memory ----------------------------------------------------------------
#
# A timer signal checks both ten times a second, in the main thread, and stops the command from there.  A
# single large allocation may exceed the limit between two checks, so the system refuses it.

_OFTEN = 0.1
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class LimitReached(click.ClickException):
    """The command exceeded ``--timeout`` or ``--max-memory``."""


class Limits(Struct, frozen=True):
    """Limits in seconds and bytes; None means unlimited."""

    seconds: float | None = None
    memory: int | None = None


def _read_size(text: str) -> int:
    """Read a size such as ``500M`` or ``2G`` in bytes."""
    match = re.fullmatch(r"([0-9]{1,12})\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"a size such as 500M or 2G, not {text[:40]!r}")
    return int(match[1]) * _UNITS[match[2].upper()]


@contextmanager
def held_to(limits: Limits) -> Iterator[None]:
    """Stop the enclosed work when it exceeds its limits."""
    if limits == Limits():
        yield
        return
    if not hasattr(signal, "setitimer"):
        raise click.UsageError("--timeout and --max-memory are not known on this system")
    end = None if limits.seconds is None else time.monotonic() + limits.seconds

    def look(*_: object) -> None:
        if end is not None and time.monotonic() >= end:
            reached(f"stopped: it took longer than --timeout {limits.seconds:g}")
        if limits.memory is not None and (used := memory_used()) > limits.memory:
            reached(f"stopped: it took {used >> 20:,} MiB, more than --max-memory allows")

    def reached(message: str) -> NoReturn:
        # stop the timer first, so that this is raised once, even just before or after the work
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise LimitReached(message)

    look()
    before = signal.signal(signal.SIGALRM, look)
    try:
        signal.setitimer(signal.ITIMER_REAL, min(_OFTEN, limits.seconds or _OFTEN), _OFTEN)
        with address_space(limits.memory):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
