"""``tolcost analyze``: what programs cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import click

from tolcost.cli import options
from tolcost.cli.failures import as_rejected, colour_on_stdout, show
from tolcost.cli.output import deliver
from tolcost.cli.programs import Request, lowered, name_of, warn
from tolcost.cost import Weights, load_weights
from tolcost.diagnostics import Rejected, quoted
from tolcost.pipeline import analyze_lowered
from tolcost.result.program import METRICS, program_study
from tolcost.result.study import Located, locate_study
from tolcost.result.view import FORMATS, View, written


def _metrics(context: click.Context, parameter: click.Parameter, value: str | None) -> frozenset[str]:
    if value is None:
        return frozenset(METRICS)
    asked = [name.strip() for name in value.split(",")]
    unknown = [name for name in asked if name not in METRICS]
    if unknown:
        raise click.BadParameter(f"{unknown[0][:40]!r} is none of {', '.join(METRICS)}")
    return frozenset(asked)


@click.command(
    cls=options.Command,
    examples=(
        "tolcost analyze matmul.tol --symbolic",
        "tolcost analyze matmul.tol --dim n=64 --dim k=32 --dim m=16",
        "tolcost analyze softmax.tol --shape x=batch,1000 --attr axis=2 --format json",
        "tolcost analyze matmul.tol --weights energy-45nm --metric eops,bytes",
    ),
)
@options.files_argument
@click.option("--symbolic", is_flag=True, help="Closed forms, beside numbers where lengths are given.")
@options.dim_option
@options.input_options
@click.option("--metric", "metrics", metavar="NAMES", callback=_metrics,
              help=f"Only these, separated by commas: {', '.join(METRICS)}.")  # fmt: skip
@click.option("--weights", "models", metavar="FILE|NAME", multiple=True,
              help="A cost model: a weight file, or the name of a shipped one; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", help="How to write it.")
@options.output_option
def command(
    files: tuple[str, ...],
    symbolic: bool,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    metrics: frozenset[str],
    models: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Count what programs cost.

    With every length given by --dim, the figures are exact integers; otherwise, and with
    --symbolic, they are closed forms in the lengths.
    """
    lengths, weights = options.read_dims(dims), tuple(load_weights(model) for model in models)
    costs, failed = _all_costs(files, Request.read(shapes, attrs, specs), lengths, weights)
    if not failed:
        _check_names(costs, lengths)
    if costs:
        colour = form == "text" and output is None and colour_on_stdout()
        deliver(written(costs, form, View(metrics, symbolic), colour), output)
    return 2 if failed else 0


def _all_costs(
    files: Sequence[str], request: Request, dims: Mapping[str, int], weights: tuple[Weights, ...]
) -> tuple[list[Located], bool]:
    """Analyse every file; one that is rejected is told about, and the others go on."""
    costs: list[Located] = []
    failed = False
    for file in files:
        try:
            costs.append(_cost(file, request, dims, weights))
        except Exception as error:
            rejected = as_rejected(error)
            if not isinstance(rejected, Rejected):
                raise
            show(rejected)
            failed = True
    return costs, failed


def _cost(file: str, request: Request, dims: Mapping[str, int], weights: tuple[Weights, ...]) -> Located:
    program = lowered(file, request)
    warn(program)
    study = program_study(analyze_lowered(program, name_of(file)))
    return locate_study(Located, study, dims, weights)


def _check_names(costs: Iterable[Located], dims: Mapping[str, int]) -> None:
    """Refuse a length that no program has: it is a mistake, and would be ignored."""
    known = {symbol.name: None for cost in costs for symbol in cost.study.symbols}
    for name in dims:
        if name not in known:
            others = ", ".join(known) or "none"
            raise click.UsageError(
                f"--dim: there is no length {quoted(name)}; known: {others}. An attribute is given by --attr."
            )
