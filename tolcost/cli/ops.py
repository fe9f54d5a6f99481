"""``tolcost ops``: the operator catalogue."""

from __future__ import annotations

import click

from tolcost.catalogue.listing import Entry, entries
from tolcost.catalogue.specs import open_library
from tolcost.cli import options
from tolcost.cli.output import deliver
from tolcost.cli.verify import run_suite
from tolcost.report.operators import ops_detail, ops_json, ops_markdown, ops_text


@click.command(
    cls=options.Command,
    examples=(
        "tolcost ops",
        "tolcost ops Conv",
        "tolcost ops --verify --format json",
    ),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option(
    "--verify", "is_verified", is_flag=True, help="Closed forms and conformance, by running the tests."
)
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="How many processes; all cores if not said.")
@click.option("--specs", metavar="DIR", multiple=True, help="A folder of operators, searched first.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "md"]), default="text", help="How to write it."
)
@options.output_option
def command(
    names: tuple[str, ...],
    is_verified: bool,
    jobs: int | None,
    specs: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """List the operators, or show some: signature, closed forms, conformance and definition.

    Closed forms and conformance come from ONNX's node tests, which take a while: for operators
    that are named they are always run, for the whole list with --verify.
    """
    library = open_library(specs)
    named = entries(library, names)  # wrong names are told before the tests start
    wanted = tuple(entry.name for entry in named if entry.standing == "defined") if names else ()
    results = run_suite(wanted, jobs, specs).results if is_verified or wanted else ()
    found = entries(library, names, results)
    deliver(_written(found, form, bool(names)), output)
    return 0


def _written(found: tuple[Entry, ...], form: str, detailed: bool) -> str:
    if form == "json":
        return ops_json(found)
    if form == "md":
        return ops_markdown(found)
    return "\n".join(map(ops_detail, found)) if detailed else ops_text(found)
