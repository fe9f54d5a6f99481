"""``tolcost verify``: run ONNX's own node tests against the definitions."""

from __future__ import annotations

import json
from contextlib import closing

import click

from tolcost.atoms.unroll import MAX_ATOMS
from tolcost.catalogue.conformance import FEW_ATOMS, as_record, verify
from tolcost.catalogue.general.record import GeneralForms, general_forms
from tolcost.catalogue.general.record import as_record as general_record
from tolcost.cli import options
from tolcost.cli.output import ProgressLine, deliver
from tolcost.result.conformance import general_text, verify_text

UNTESTED = 3


@click.command(
    cls=options.Command,
    examples=(
        "tolcost verify",
        "tolcost verify Softmax Conv --verbose",
        "tolcost verify --domain com.microsoft",
        "tolcost verify --general MaxPool",
        "tolcost verify --format json --output verify.json",
    ),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--domain", metavar="DOMAIN", help="Use the recorded cases of a domain, such as com.microsoft.")
@options.jobs_option
@click.option("--thorough", is_flag=True, help="Also repeat long runs element by element.")
@click.option("--atoms", metavar="N", type=click.IntRange(0, MAX_ATOMS), default=FEW_ATOMS, show_default=True,
              help="Run tests of at most N atoms atom by atom.")  # fmt: skip
@click.option("--general", is_flag=True, help="Derive general forms, and check them against the tests.")
@click.option(
    "--verbose", "-v", is_flag=True, help="Show every operator and form, and all details of a failure."
)
@options.specs_option
@options.format_option(("text", "json"))
@options.output_option
def command(
    names: tuple[str, ...],
    domain: str | None,
    jobs: int | None,
    thorough: bool,
    atoms: int,
    general: bool,
    verbose: bool,
    specs: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Run ONNX's node tests through the definitions: value, shape and count.

    NAME is an operator or a test; without names, every operator is tested.  Operators of a runtime are
    compared with its recorded results.  The exit code is 1 if a test fails, and 3 if an operator
    that is named has no test.

    A general form holds for tensors of any rank.  With --general, such forms are derived from the tests
    and from cases near them, and checked against every test.
    """
    if general and (domain is not None or thorough):
        raise click.UsageError("--general is held to ONNX's own tests: no --domain, no --thorough")
    if general:
        found = _general(names, jobs, specs)
        told = _json(general_record(found)) if form == "json" else general_text(found)
        deliver(told, output, form)
        return 1 if any(one.problems for one in found.operators) else 0
    with closing(ProgressLine()) as progress:
        recorded = verbose or form == "json"
        report = verify(names, jobs, progress.tell, specs, thorough, domain, atoms, recorded)
    told = _json(as_record(report)) if form == "json" else verify_text(report, verbose or bool(names))
    deliver(told, output, form)
    tested = {known for r in report.results for known in (r.op, r.name)}
    untested = [name for name in names if name.rpartition(".")[2] not in tested]
    for name in untested:
        whose = "onnx has no test" if domain is None else f"{domain} has no recorded case"
        click.echo(f"warning: {whose} of {name}, so nothing is said about it", err=True)
    return 1 if report.failures else UNTESTED if untested else 0


def _json(record: dict[str, object]) -> str:
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def _general(names: tuple[str, ...], jobs: int | None, specs: tuple[str, ...]) -> GeneralForms:
    with closing(ProgressLine()) as progress:
        return general_forms(names, jobs, progress.tell, specs)
