"""``tolcost model``: the costs of whole ONNX models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from tolcost.catalogue.specs import open_library
from tolcost.cli import options
from tolcost.cli.output import INCOMPLETE, ProgressLine, deliver, screen, write_whole
from tolcost.cli.training import training_options
from tolcost.cost.device import PYTORCH
from tolcost.diagnostics import quoted, refuse
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result import view
from tolcost.result.cost import Cost
from tolcost.result.metrics import Place, metric_named
from tolcost.result.model import Wanted, file_cost, of_model
from tolcost.result.model_table import BY, COLUMNS, DEPTH, SORTS, TableView
from tolcost.result.study import Located
from tolcost.result.view import CostView, written

FORMATS = (*view.FORMATS, "html")
_LENGTH = re.compile(r"-?[0-9]{1,30}")  # a number that no length can have is refused later, with its range
_OF_TABLES = frozenset({"by", "depth", "columns", "sort", "top"})
_NOT_FOR = {
    "json": _OF_TABLES,
    "html": _OF_TABLES | {"metrics"},
    "csv": frozenset({"columns", "sort", "top", "metrics"}),
}
"""The parameters without effect in a format, which are refused there."""


class ShownFile(Struct, frozen=True):
    """The name under which a model is shown that another command made, if its file is not the user's."""

    title: str


@click.command(
    cls=options.Command,
    examples=(
        "tolcost model bert.onnx",
        "tolcost model bert.onnx --dim batch=8 --dim seq=512 --depth 3",
        "tolcost model bert.onnx --by node --sort bytes --top 10 --columns op,shape,bytes,share,cumulative",
        "tolcost model bert.onnx --dim 'input_ids[0]=8' --format json",
        "tolcost model detector.onnx --shape x=n,3,32*h,32*w --assume 'n <= 8'",
        "tolcost model gpt2.onnx --dim batch=1 --sweep seq=128,1024,8192",
        "tolcost model bert.onnx --dim batch=8 --device h200",
        "tolcost model bert.onnx --dim batch=8 --train adamw --recompute 'layer.*'",
        "tolcost model decoder.onnx --dim batch=1 --dim seq=1 --generate 'past: p..p+n' --prefill seq=p",
    ),
)
@options.files_argument("FILE.onnx")
@click.option("--dim", "dims", metavar="NAME=N", multiple=True,
              help="A length, by its name or as INPUT[AXIS]; repeat for others.")  # fmt: skip
@click.option("--shape", "shapes", metavar="INPUT=LENGTHS", multiple=True,
              help="The shape of an input, of names, numbers and forms: x=n,3,32*w.")  # fmt: skip
@options.assume_option
@click.option("--specs", metavar="DIR", multiple=True,
              help="Search this folder first for operators: DIR/my.domain/MyOp.tol.")  # fmt: skip
@click.option("--allow-uncosted", is_flag=True, help="Exit with 0 even if something is not costed.")
@click.option("--by", type=click.Choice(BY), help="Group the table by node, operator (the default) or scope.")
@click.option("--depth", type=click.IntRange(1, 64),
              help="Show scopes as a tree of this depth; equal ones share a row.")  # fmt: skip
@click.option("--columns", metavar="NAMES", callback=options.listed(COLUMNS),
              help=f"Columns of the table: {', '.join(COLUMNS)}.")  # fmt: skip
@click.option("--sort", type=click.Choice(SORTS), help="Sort rows, the largest first.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show N rows, and all others as one.")
@click.option("--exact", is_flag=True, help="Show every digit of integers, instead of 97.2 G.")
@click.option("--symbolic", is_flag=True, help="Show closed forms in full, beside numbers at given lengths.")
@options.metric_option("model", "runs", "training")
@options.weights_option
@options.sweep_option
@click.option("--generate", metavar="NAME:FIRST..END",
              help="Add up runs in which a length grows: 'past: 0..n' is n runs.")  # fmt: skip
@click.option("--prefill", metavar="[FILE.onnx:]NAME=LENGTH",
              help="Add a run before these, with another length or model.")  # fmt: skip
@training_options
@options.device_option
@options.engine_option(PYTORCH)
@click.option("--annotate", metavar="OUT.onnx", type=click.Path(dir_okay=False),
              help="Also write the model with the costs in its metadata.")  # fmt: skip
@options.format_option(FORMATS)
@options.output_option
def command(
    files: tuple[str, ...],
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    assume: tuple[str, ...],
    specs: tuple[str, ...],
    allow_uncosted: bool,
    by: str | None,
    depth: int | None,
    columns: tuple[str, ...] | None,
    sort: str | None,
    top: int | None,
    exact: bool,
    symbolic: bool,
    metrics: tuple[str, ...] | None,
    models: tuple[str, ...],
    sweeps: tuple[str, ...],
    generate: str | None,
    prefill: str | None,
    device: str | None,
    engine: str,
    annotate: str | None,
    train: tuple[str, Mapping[str, object]] | None,
    form: str,
    output: str | None,
) -> int:
    """Count what a model costs, in closed forms in its open lengths.

    Every node is costed by the definition of its operator.  If an operator has no definition, it is
    named, the total is at best a lower bound, and the exit code is 3.
    """
    path = _the_file(files)
    numbers, equal = options.equated(dims)
    wanted = Wanted(read_dims(numbers), read_shapes(shapes), assume=(*equal, *assume))
    options.refuse(_NOT_FOR.get(form, ()), f"not for --format {form}")
    if depth is not None and by not in (None, "scope"):
        raise click.UsageError(f"--depth is for --by scope, not for --by {by}")
    if generate is None and prefill is not None:
        raise click.UsageError("--prefill is for --generate")
    if generate is not None and (sweeps or annotate or form == "html"):
        raise click.UsageError("--sweep, --annotate and --format html are not for --generate")
    if metrics is not None:
        _refuse_other_figures(metrics, "training" if train else "runs" if generate else "model")
    if train is not None and (generate or annotate):
        raise click.UsageError("--generate and --annotate are not for --train")
    by = by or ("scope" if depth else "op")
    table = TableView(by, columns, sort, top, depth or DEPTH, exact, metrics=metrics or ())
    session, on = Session(open_library(specs)), options.read_device(device, engine)
    weights = options.read_weights(models)
    with closing(ProgressLine()) as progress:
        session.on_node = progress.tell
        if generate is None:
            cost = with_deep_stack(lambda: file_cost(path, session, wanted))
        else:
            from tolcost.result.generation import generated_file, timed_runs

            runs = generate  # a type checker knows that this name stays a text inside of the lambda
            cost = with_deep_stack(lambda: generated_file(path, session, wanted, runs, prefill))
            cost, on = cost if on is None else timed_runs(cost, on), None
        session.on_node = None
    given = click.get_current_context().obj
    if isinstance(given, ShownFile):
        cost = replace(cost, study=replace(cost.study, file=given.title))
    if train is not None:
        plain, step = cost, train  # a type checker knows their types inside of the lambda
        cost = with_deep_stack(lambda: trained(plain, step))
    cost = replace(cost, device=on, weights=weights)
    grown = with_deep_stack(lambda: options.grown(cost, sweeps, metrics))
    asked = None if metrics is None else frozenset(metrics)
    view = CostView(asked, symbolic, table, grown)
    seen = screen(form, output)
    deliver(with_deep_stack(lambda: _written(cost, view, form, *seen)), output, form)
    if annotate is not None:
        from tolcost.models.annotating import annotated
        from tolcost.result.model import node_notes

        study = of_model(cost)
        notes = node_notes(study, cost)
        write_whole(Path(annotate), annotated(path, *notes, study.model.graph.order))
    return _verdict(cost, allow_uncosted)


def trained(cost: Cost, train: tuple[str, Mapping[str, object]]) -> Cost:
    """Return the cost of a step of training of a model: with an optimiser, as asked."""
    return replace(cost, study=cost.study.trained(*train, cost.point))


def _refuse_other_figures(metrics: Iterable[str], place: Place) -> None:
    """Refuse figures that only reports of another kind have; those of a model stay out of the way."""
    for key in metrics:
        if metric_named(key, "model", place) is not None:
            continue
        if metric_named(key, "runs") is not None:
            raise click.UsageError(f"--metric {key} is a figure of all runs together: it needs --generate")
        raise click.UsageError(f"--metric {key} is a figure of a step of training: it needs --train")


def _the_file(files: tuple[str, ...]) -> Path:
    path = Path(files[0])
    if len(files) > 1 or path.is_dir():
        raise click.UsageError("this is for one model: tolcost fleet makes one table of several")
    return path


def _written(cost: Located, view: CostView, form: str, colour: bool, width: int | None) -> str:
    if form != "html":
        return written([cost], form, view, colour, width)
    from tolcost.result.page import cost_page

    return cost_page(cost, [grown.name for grown in view.growths])


def _verdict(cost: Located, allowed: bool) -> int:
    found = cost.coverage
    if not found.missing:
        return 0
    if found.invalid is not None:
        why = f"no lengths make its node {quoted(found.invalid.name)} right: {found.invalid.why}"
        refuse("T0664", f"the model is invalid: {why}")
    counted = ", ".join(f"{op} ({n})" for op, n in list(found.operators.items())[:8])
    click.echo(
        f"warning: {len(found.missing):,} of {found.nodes:,} nodes are not costed: {counted}", err=True
    )
    return 0 if allowed else INCOMPLETE


# ---- options about inputs ------------------------------------------------------------------


def read_dims(texts: Iterable[str]) -> dict[str, int]:
    """Read ``--dim``; names come from the model and may contain any characters.

    >>> read_dims(["batch size=8", "x[0]=1_024"])
    {'batch size': 8, 'x[0]': 1024}
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        number = value.strip().replace("_", "")
        if not equals or not name.strip():
            raise click.UsageError(f"--dim needs NAME=N, not {text[:60]!r}")
        if not _LENGTH.fullmatch(number):
            said = f"--dim {name.strip()[:60]} needs a whole number, not {value.strip()[:60]!r}"
            raise click.UsageError(said)
        if dims.setdefault(name.strip(), int(number)) != int(number):
            raise click.UsageError(f"--dim {name[:60]} is given twice")
    return dims


def read_shapes(texts: Iterable[str]) -> dict[str, tuple[int | str, ...]]:
    """Read ``--shape``.

    >>> read_shapes(["x=batch,3,224"])
    {'x': ('batch', 3, 224)}
    """
    shapes: dict[str, tuple[int | str, ...]] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        entries = [entry.strip() for entry in value.strip("[] ").split(",") if entry.strip()]
        if not equals or not name.strip() or name.strip() in shapes:
            raise click.UsageError(f"--shape needs INPUT=LENGTHS once for each input, not {text[:60]!r}")
        shapes[name.strip()] = tuple(int(e) if _LENGTH.fullmatch(e) else e for e in entries)
    return shapes
