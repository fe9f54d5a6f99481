"""``tolcost diff``: how two programs, or two models, differ in cost for all lengths."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import deliver
from tolcost.cost.device import Device
from tolcost.dataclass import dataclass, replace
from tolcost.platform import with_deep_stack
from tolcost.result.compare import compare
from tolcost.result.comparison import CostComparison
from tolcost.result.study import Located

COSTLIER, UNDECIDED = 1, 3


@click.command(
    cls=options.Command,
    examples=(
        "tolcost diff old.tol new.tol",
        "tolcost diff old.onnx new.onnx",
        "tolcost diff old.onnx new.onnx --dim batch=1 --assume 'seq <= 512'",
        "tolcost diff old.onnx new.onnx --format html --output diff.html",
        "tolcost diff old.onnx new.onnx --device h200",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.dim_option
@options.assume_option
@click.option(
    "--shape", "shapes", metavar="NAME=LENGTHS", multiple=True, help="The shape of an input of both."
)
@click.option(
    "--attr", "attrs", metavar="NAME=VALUE", multiple=True, help="The value of an attribute of both programs."
)
@click.option("--specs", metavar="DIR", multiple=True, help="A folder of operators, searched first.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "md", "html"]),
    default="text",
    help="How to write it.",
)
@options.device_option
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
) -> int:
    """Compare what two programs or models cost, for all lengths: a proof, or a point that shows it.

    Exits with 1 where the new one has more EOPs for some lengths, and with 3 where that is not
    decided, or something is not costed.
    """
    kinds = {Path(file).suffix == ".onnx" for file in (old, new)}
    if len(kinds) > 1:
        raise click.UsageError("a program cannot be compared with a model")
    numbers, equal = options.equated(dims)
    said = _Said(numbers, (*equal, *assume), shapes, attrs, specs, options.read_device(device))
    found, *both = _models(old, new, said) if kinds == {True} else _programs(old, new, said)
    live = form == "html" and kinds == {True}
    deliver(_page(found, *both) if live else found.written(form), output)
    if found.whole.claim.more:
        return COSTLIER
    if not found.complete:
        click.echo("warning: something is not costed, so the comparison is incomplete", err=True)
        return UNDECIDED
    return 0 if found.whole.claim.more is False else UNDECIDED


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """What is said of both sides."""

    dims: tuple[str, ...]
    assume: tuple[str, ...]
    shapes: tuple[str, ...]
    attrs: tuple[str, ...]
    specs: tuple[str, ...]
    device: Device | None


def _page(found: CostComparison, before: Located, after: Located) -> str:
    from tolcost.result.page import Older, model_page

    return with_deep_stack(lambda: model_page(after, older=Older(before, found)))


def _models(old: str, new: str, said: _Said) -> tuple[CostComparison, Located, Located]:
    from tolcost.catalogue.specs import open_library
    from tolcost.cli.model import read_dims, read_shapes
    from tolcost.models.walking import Session
    from tolcost.result.model import Wanted, file_cost

    session = Session(open_library(said.specs))
    wanted = Wanted(read_dims(said.dims), read_shapes(said.shapes), assume=said.assume)

    def found() -> tuple[CostComparison, Located, Located]:
        costs = (file_cost(Path(file), session, wanted) for file in (old, new))
        before, after = (replace(cost, device=said.device) for cost in costs)
        return compare(before, after, _identical(old, new)), before, after

    return with_deep_stack(found)


def _programs(old: str, new: str, said: _Said) -> tuple[CostComparison, Located, Located]:
    from tolcost.cli.analyze import Request, lowered
    from tolcost.pipeline import analyze_lowered
    from tolcost.result.program import program_study
    from tolcost.result.study import locate_study

    request, dims = Request.read(said.shapes, said.attrs, said.specs), options.read_dims(said.dims)
    studies = [
        program_study(analyze_lowered(lowered(file, request), file)).assuming(said.assume)
        for file in (old, new)
    ]
    options.check_lengths(studies, dims)
    before, after = (locate_study(Located, study, dims, device=said.device) for study in studies)
    return compare(before, after, _identical(old, new)), before, after


def _identical(old: str, new: str) -> bool:
    """Whether both files hold the same bytes; standard input is read only once."""
    return "-" not in (old, new) and Path(old).read_bytes() == Path(new).read_bytes()
