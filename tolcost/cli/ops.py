"""``tolcost ops``: the operator catalogue."""

from __future__ import annotations

import json
from contextlib import closing

import click

from tolcost.catalogue.conformance import as_record, verify
from tolcost.catalogue.listing import Entry, entries, library_names, read_library
from tolcost.catalogue.specs import Library, open_library
from tolcost.cli import options
from tolcost.cli.output import ProgressLine, deliver, screen, with_progress
from tolcost.platform import stored_conformance, with_deep_stack
from tolcost.result.catalogue_page import (
    Listed,
    RecordedTests,
    costed,
    libraries_document,
    libraries_json,
    library_document,
    library_json,
    list_written,
    listed,
    page_of,
    pages_written,
    program_document,
)
from tolcost.result.conformance import conformance_of
from tolcost.show.document import Document, write


@click.command(
    cls=options.Command,
    examples=(
        "tolcost ops",
        "tolcost ops Conv",
        "tolcost ops Conv Gemm --verify",
        "tolcost ops Softmax --grad",
        "tolcost ops --format json",
        "tolcost ops --library relational",
        "tolcost ops --library relational HashJoin",
    ),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option(
    "--verify", "is_verified", is_flag=True, help="Run ONNX's tests now, instead of reading stored results."
)
@click.option(
    "--grad", "is_gradient", is_flag=True, help="Show the gradients: derived, written, and what they keep."
)
@options.jobs_option
@options.specs_option
@click.option("--library", metavar="NAME", help="Show the programs of a library; all lists the libraries.")
@options.format_option(("text", "json", "md"))
@options.output_option
def command(
    names: tuple[str, ...],
    is_verified: bool,
    is_gradient: bool,
    jobs: int | None,
    specs: tuple[str, ...],
    library: str | None,
    form: str,
    output: str | None,
) -> int:
    """List the operators, or show some with their closed forms, a derivation, and the definition.

    Closed forms are derived from the definitions each time.  The results of ONNX's node tests are
    stored with tolcost; --verify runs the tests again.
    """
    if library is not None and is_verified:
        raise click.UsageError("--verify is for operators: `make test` holds the programs of libraries")
    if library is not None:
        seen = screen(form, output)
        deliver(with_deep_stack(lambda: _of_library(library, names, form, *seen)), output, form)
        return 0
    if is_gradient and (is_verified or not names or form != "text"):
        raise click.UsageError("--grad is for the names of operators, as text, without --verify")
    operators = open_library(specs)
    found = entries(operators, names)  # unknown names are refused before the tests start
    record = _fresh(found, names, jobs, specs) if is_verified else _stored()
    listing = with_deep_stack(lambda: _listing(found, operators, record))
    if is_gradient:
        from tolcost.result.gradient_page import gradients_of  # derivatives take time to load

        texts = with_deep_stack(lambda: [gradients_of(one, operators) for one in listing])
        deliver("\n".join(texts), output, "tol")
        return 0
    seen = screen(form, output)
    if names:
        pages = with_deep_stack(lambda: [page_of(one, operators) for one in listing])
        deliver(with_deep_stack(lambda: pages_written(pages, record, form, *seen)), output, form)
    else:
        deliver(list_written(listing, record, form, *seen), output, form)
    return 0


def _of_library(name: str, names: tuple[str, ...], form: str, colour: bool, width: int | None) -> str:
    """Write the list of libraries, the programs of a library, or details of the named programs."""

    def written(document: Document) -> str:
        return write(document, form, colour, width)

    if name == "all":
        libraries = [read_library(known) for known in library_names()]
        return libraries_json(libraries) if form == "json" else written(libraries_document(libraries))
    library = read_library(name)
    programs = [costed(one) for one in (map(library.find, names) if names else library.programs)]
    if form == "json":
        return library_json(library, programs)
    if names:
        return written(tuple(section for one in programs for section in program_document(one)))
    return written(library_document(library, programs))


def _stored() -> RecordedTests:
    stored = stored_conformance()
    return RecordedTests(None if stored is None else conformance_of(stored))


def _fresh(
    found: tuple[Entry, ...], names: tuple[str, ...], jobs: int | None, specs: tuple[str, ...]
) -> RecordedTests:
    """Run the tests of the named operators, or of all."""
    wanted = tuple(entry.name for entry in found if entry.standing == "defined") if names else ()
    with closing(ProgressLine()) as progress:
        report = verify(wanted, jobs, progress.tell, specs, recorded=True)
    return RecordedTests(conformance_of(json.dumps(as_record(report))), fresh=True)


def _listing(found: tuple[Entry, ...], library: Library, record: RecordedTests) -> list[Listed]:
    each = (listed(entry, library, record) for entry in found)
    return with_progress(each, len(found), lambda one: one.entry.name)
