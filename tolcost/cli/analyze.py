"""``tolcost analyze``: count costs of programs; other commands read and lower files with this module, too."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import click
from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.catalogue.specs import open_library
from tolcost.cli import options
from tolcost.cli.options import read_attrs, read_shapes
from tolcost.cli.output import deliver, each_file, may_colour, screen
from tolcost.cost import Weights
from tolcost.cost.device import Device
from tolcost.diagnostics import Diagnostic, Source, render_all
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import PlainShapes, arguments
from tolcost.literals import Literal
from tolcost.pipeline import Parsed, analyze_parsed, lower_for_author, read_program
from tolcost.platform import with_deep_stack
from tolcost.result.program import program_source, program_study
from tolcost.result.study import Located, locate_study
from tolcost.result.view import FORMATS, CostView, written
from tolcost.syntax import read_source

# === From a file and the options about its inputs to a lowered program, as several commands need it.


class Request(Struct, frozen=True, eq=False):
    """The options about the inputs of programs: shapes, attributes, and folders of operators."""

    shapes: PlainShapes = field(default_factory=dict)
    attrs: Mapping[str, Literal] = field(default_factory=dict)
    specs: tuple[str, ...] = ()

    @staticmethod
    def read(shapes: Iterable[str], attrs: Iterable[str], specs: tuple[str, ...]) -> Request:
        """Read the options ``--shape``, ``--attr`` and ``--specs``."""
        found = {name: all_[0] if len(all_) == 1 else all_ for name, all_ in read_shapes(shapes).items()}
        return Request(found, read_attrs(attrs), specs)


def source_of(file: str) -> Source:
    """Read a program; ``-`` is standard input."""
    return replace(read_source("/dev/stdin"), name="<stdin>") if file == "-" else program_source(file)


def parsed_file(file: str, request: Request) -> Parsed:
    """Read a program, with the operators in the folders of a request."""
    return read_program(source_of(file), open_library(request.specs) if request.specs else None)


def lowered(file: str, request: Request) -> Elaborated:
    """Read a program, and lower it with the shapes and attributes of a request."""
    return lowered_with(parsed_file(file, request), request)


def lowered_with(parsed: Parsed, request: Request) -> Elaborated:
    """Lower a program that has been read already."""
    return lower_for_author(parsed, arguments(parsed.program, request.shapes, request.attrs))


def name_of(file: str) -> str:
    """Return the name of a file in results."""
    return "<stdin>" if file == "-" else file


def warn(warnings: Sequence[Diagnostic]) -> None:
    """Write the warnings about a program to standard error."""
    if warnings:
        click.echo(render_all(warnings, colour=may_colour(sys.stderr)) + "\n", err=True)


# === The command.


@click.command(
    cls=options.Command,
    examples=(
        "tolcost analyze matmul.tol --symbolic",
        "tolcost analyze matmul.tol --dim n=64 --dim k=32 --dim m=16",
        "tolcost analyze softmax.tol --shape x=batch,1000 --attr axis=2 --format json",
        "tolcost analyze matmul.tol --dim k=64 --dim m=64 --sweep n=64..1024",
        "tolcost analyze matmul.tol --weights energy-45nm --metric eops,bytes",
        "tolcost analyze matmul.tol --dim n=4096 --dim k=64 --device h200",
        "tolcost analyze matmul.tol --format html --output matmul.html",
        "tolcost analyze matmul.tol --symbolic --engine sympy",
    ),
)
@options.files_argument("FILE.tol...")
@click.option("--symbolic", is_flag=True, help="Show closed forms, beside numbers at given lengths.")
@options.dim_option
@options.assume_option
@options.input_options
@options.metric_option("program")
@options.sweep_option
@options.weights_option
@options.device_option
@click.option("--engine", type=click.Choice(["tolcost", "sympy"]), default="tolcost",
              help="Let sympy derive the closed forms, as a second opinion.")  # fmt: skip
@options.format_option((*FORMATS, "html"))
@options.output_option
def command(
    files: tuple[str, ...],
    symbolic: bool,
    dims: tuple[str, ...],
    assume: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    metrics: tuple[str, ...] | None,
    sweeps: tuple[str, ...],
    models: tuple[str, ...],
    device: str | None,
    engine: str,
    form: str,
    output: str | None,
) -> int:
    """Count what programs cost.

    Figures are exact integers if --dim gives every length.  Otherwise they are closed forms in the
    lengths; --symbolic shows both.
    """
    request = Request.read(shapes, attrs, specs)
    if engine == "sympy":
        if form == "html":
            raise click.UsageError("--engine sympy has no --format html")
        if not symbolic or dims or models or device or sweeps:
            raise click.UsageError(
                "--engine sympy derives closed forms: --symbolic, no --dim, --sweep, --weights, --device"
            )
        return _second_opinion(files, request, form, output)
    if sweeps and len(files) > 1:
        raise click.UsageError("--sweep is for a single program")
    if form == "html" and (len(files) > 1 or metrics is not None):
        raise click.UsageError("--format html is for a single program, with all metrics")
    numbers, equal = options.equated(dims)
    lengths, weights = options.read_dims(numbers), options.read_weights(models)
    on = options.read_device(device)
    costs, failed = each_file(
        files, lambda file: _cost(file, request, lengths, (*equal, *assume), weights, on)
    )
    if not failed:
        options.check_lengths([cost.study for cost in costs], lengths)
    if costs:
        grown = options.grown(costs[0], sweeps, metrics)
        view = CostView(None if metrics is None else frozenset(metrics), symbolic, growths=grown)
        page = form == "html"
        deliver(
            _page(costs[0], view) if page else written(costs, form, view, *screen(form, output)), output, form
        )
    return 2 if failed else 0


def _page(cost: Located, view: CostView) -> str:
    from tolcost.result.page import cost_page

    return with_deep_stack(lambda: cost_page(cost, [grown.name for grown in view.growths]))


def _second_opinion(files: Sequence[str], request: Request, form: str, output: str | None) -> int:
    """Let sympy compute the sums; the exit code reports any disagreement, whichever side is wrong."""
    from tolcost.cost.second_opinion import second_opinion  # sympy takes a second to load
    from tolcost.result.derivation import write_opinions

    found, failed = each_file(
        files, lambda file: (name_of(file), second_opinion(lowered(file, request).program))
    )
    if found:
        deliver(write_opinions(found, form, *screen(form, output)), output, form)
    wrong = any(opinion.verdict == "ours is wrong" for _, opinions in found for opinion in opinions)
    return 2 if failed else int(wrong)


def _cost(
    file: str,
    request: Request,
    dims: Mapping[str, int],
    assume: Sequence[str],
    weights: tuple[Weights, ...],
    device: Device | None,
) -> Located:
    parsed = parsed_file(file, request)
    given = arguments(parsed.program, request.shapes, request.attrs)
    analysis, warnings = analyze_parsed(parsed, given, name_of(file))
    warn(warnings)
    study = program_study(analysis).assuming(assume)
    return locate_study(Located, study, dims, weights, device=device)
