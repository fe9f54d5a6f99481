"""``tolcost diff``: how two programs, or two models, differ in cost for all lengths."""

from __future__ import annotations

from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.output import deliver
from tolcost.deep import with_deep_stack
from tolcost.models.difference import Change, changes, facts_of, model_changes, verdict_of

UNDECIDED = 3


@click.command(
    cls=options.Command,
    examples=(
        "tolcost diff old.tol new.tol",
        "tolcost diff old.onnx new.onnx",
        "tolcost diff old.onnx new.onnx --format json",
    ),
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--shape", "shapes", metavar="NAME=LENGTHS", multiple=True, help="The shape of an input of both."
)
@click.option(
    "--attr", "attrs", metavar="NAME=VALUE", multiple=True, help="The value of an attribute of both programs."
)
@click.option("--specs", metavar="DIR", multiple=True, help="A folder of operators, searched first.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "md"]), default="text", help="How to write it."
)
@options.output_option
def command(
    old: str,
    new: str,
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Compare what two programs or models cost, for all lengths: a proof, or a point that shows it.

    Exits with 1 where the new one has more EOPs for some lengths, and with 3 where that is not
    decided, or something is not costed.
    """
    kinds = {Path(file).suffix == ".onnx" for file in (old, new)}
    if len(kinds) > 1:
        raise click.UsageError("a program cannot be compared with a model")
    if kinds == {True}:
        rows, complete = with_deep_stack(lambda: _models(old, new, shapes, specs))
    else:
        rows, complete = _programs(old, new, shapes, attrs, specs), True
    deliver(written(old, new, rows, form), output)
    if not complete:
        click.echo("warning: something is not costed, so the comparison is incomplete", err=True)
        return UNDECIDED
    return {"same": 0, "cheaper": 0, "undecided": UNDECIDED}.get(verdict_of(rows), 1)


def written(old: str, new: str, rows: tuple[Change, ...], form: str) -> str:
    """The difference in one of the formats."""
    from tolcost.report import model_diff

    writers = {"json": model_diff.diff_json, "md": model_diff.diff_markdown}
    return writers.get(form, model_diff.diff_text)(old, new, rows)


def _models(
    old: str, new: str, shapes: tuple[str, ...], specs: tuple[str, ...]
) -> tuple[tuple[Change, ...], bool]:
    from tolcost.catalogue.specs import open_library
    from tolcost.cli.model import read_shapes
    from tolcost.models.study import Wanted, study_file
    from tolcost.models.walking import Session

    session, wanted = Session(open_library(specs)), Wanted(shapes=read_shapes(shapes))
    before, after = (study_file(Path(file), session, wanted) for file in (old, new))
    return model_changes(before, after), not before.coverage.missing and not after.coverage.missing


def _programs(
    old: str, new: str, shapes: tuple[str, ...], attrs: tuple[str, ...], specs: tuple[str, ...]
) -> tuple[Change, ...]:
    from tolcost.cli.programs import Request, lowered
    from tolcost.pipeline import analyze_lowered

    request = Request.read(shapes, attrs, specs)
    before, after = (analyze_lowered(lowered(file, request), file) for file in (old, new))
    facts = facts_of(c.condition for c in (*before.conditions, *after.conditions))
    figures = [
        {"eops": a.eops, "flops": a.flops, "macs": a.macs, **({} if a.bytes is None else {"bytes": a.bytes})}
        for a in (before, after)
    ]
    parts = [
        {f"{name}:{space}": form for (name, space), form in a.histogram.items()} for a in (before, after)
    ]
    whole = changes(figures[0], figures[1], "", facts)
    return (*whole, *changes(parts[0], parts[1], "histogram", facts))
