"""``tolcost diff``: compare the costs of two programs, or of two models, for all lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered
from tolcost.cli.output import deliver, screen
from tolcost.cli.training import training_options
from tolcost.pipeline import analyze_lowered
from tolcost.platform import with_deep_stack
from tolcost.result.compare import compare
from tolcost.result.comparison import CostComparison
from tolcost.result.program import program_study
from tolcost.result.study import Located, locate_study

COSTLIER, UNDECIDED = 1, 3


@click.command(
    cls=options.Command,
    examples=(
        "tolcost diff old.tol new.tol",
        "tolcost diff old.onnx new.onnx",
        "tolcost diff old.onnx new.onnx --dim batch=1 --assume 'seq <= 512'",
        "tolcost diff old.onnx new.onnx --format html --output diff.html",
        "tolcost diff old.onnx new.onnx --device h200",
        "tolcost diff old.onnx new.onnx --train adamw",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.dim_option
@options.assume_option
@click.option(
    "--shape",
    "shapes",
    metavar="NAME=LENGTHS",
    multiple=True,
    help="The shape of an input of both.",
)
@click.option(
    "--attr", "attrs", metavar="NAME=VALUE", multiple=True, help="The value of an attribute of both programs."
)
@options.specs_option
@options.format_option(("text", "json", "md", "html"))
@options.device_option
@training_options
@options.output_option
def command(
    old: str,
    new: str,
    dims: tuple[str, ...],
    assume: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    form: str,
    device: str | None,
    output: str | None,
    train: tuple[str, Mapping[str, object]] | None,
) -> int:
    """Compare what two programs or models cost, for all lengths.

    A verdict is proved, or shown by an example.  The exit code is 1 if the new one has more EOPs for
    some lengths, and 3 if this is undecided or something is not costed.
    """
    kinds = {Path(file).suffix == ".onnx" for file in (old, new)}
    if len(kinds) > 1:
        raise click.UsageError("a program cannot be compared with a model")
    if train is not None and kinds != {True}:
        raise click.UsageError("--train is for models: a program has no step of training, but tolcost grad")
    numbers, equal = options.equated(dims)
    said, on = (*equal, *assume), options.read_device(device)
    if kinds == {True}:
        costs = with_deep_stack(lambda: _models((old, new), numbers, said, shapes, specs, train))
    else:
        costs = _programs((old, new), numbers, said, Request.read(shapes, attrs, specs))
    before, after = (replace(cost, device=on) for cost in costs)
    found = with_deep_stack(lambda: compare(before, after, _identical(old, new)))
    text = _page(found, before, after) if form == "html" else found.written(form, *screen(form, output))
    deliver(text, output, form)
    if found.whole.claim.more:
        return COSTLIER
    if not found.complete:
        click.echo("warning: something is not costed, so the comparison is incomplete", err=True)
        return UNDECIDED
    return 0 if found.whole.claim.more is False else UNDECIDED


def _page(found: CostComparison, before: Located, after: Located) -> str:
    from tolcost.result.page import cost_page

    return with_deep_stack(lambda: cost_page(after, older=(before, found)))


def _models(
    files: Sequence[str],
    dims: Sequence[str],
    assume: tuple[str, ...],
    shapes: Sequence[str],
    specs: Sequence[str],
    train: tuple[str, Mapping[str, object]] | None,
) -> Sequence[Located]:
    from tolcost.catalogue.specs import open_library
    from tolcost.cli.model import read_dims, read_shapes, trained
    from tolcost.models.walking import Session
    from tolcost.result.model import Wanted, file_cost

    session = Session(open_library(specs))
    wanted = Wanted(read_dims(dims), read_shapes(shapes), assume=assume)
    costs = [file_cost(Path(file), session, wanted) for file in files]
    return costs if train is None else [trained(cost, train) for cost in costs]


def _programs(
    files: Sequence[str], dims: Sequence[str], assume: tuple[str, ...], request: Request
) -> Sequence[Located]:
    lengths = options.read_dims(dims)
    studies = [
        program_study(analyze_lowered(lowered(file, request), file)).assuming(assume) for file in files
    ]
    options.check_lengths(studies, lengths)
    return [locate_study(Located, study, lengths) for study in studies]


def _identical(old: str, new: str) -> bool:
    """Whether both files have the same bytes; never for standard input, which can be read only once."""
    return "-" not in (old, new) and Path(old).read_bytes() == Path(new).read_bytes()
