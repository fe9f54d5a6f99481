"""``tolcost alternatives``: other algorithms for operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from tolcost.apps.referee.alternatives import (
    NodeTests,
    algorithms_table,
    alternatives,
    alternatives_json,
    compare_alternatives,
    hold_to_tests,
    in_full,
    operators_with_alternatives,
    tables,
)
from tolcost.catalogue.cases import load_cases
from tolcost.catalogue.listing import entries
from tolcost.catalogue.specs import Library, open_library
from tolcost.cli import options
from tolcost.cli.output import deliver, screen, with_progress
from tolcost.diagnostics import quoted, refuse
from tolcost.platform import with_deep_stack
from tolcost.show.document import document
from tolcost.show.tables import csv_text, markdown
from tolcost.show.text import text


@click.command(
    cls=options.Command,
    examples=("tolcost alternatives", "tolcost alternatives Softmax", "tolcost alternatives MatMul --verify"),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--verify", "is_verified", is_flag=True, help="Run ONNX's tests through each algorithm.")
@options.specs_option
@options.format_option(("text", "json", "md", "csv"))
@options.output_option
def command(
    names: tuple[str, ...], is_verified: bool, specs: tuple[str, ...], form: str, output: str | None
) -> int:
    """Compare algorithms for an operator, and show for which lengths each is cheaper."""
    seen = screen(form, output)
    written, is_right = with_deep_stack(lambda: _alternatives(names, is_verified, specs, form, seen))
    deliver(written, output, form)
    return 0 if is_right else 1


def _alternatives(
    names: tuple[str, ...],
    is_verified: bool,
    specs: tuple[str, ...],
    form: str,
    seen: tuple[bool, int | None],
) -> tuple[str, bool]:
    """Compare the algorithms of operators, or of all that have several; and return whether no test fails."""
    library, known = open_library(specs), operators_with_alternatives()
    unknown = [entry.name for entry in entries(library, names) if names and entry.name not in known]
    if unknown:
        hint = "`tolcost alternatives` shows those there are"
        refuse("T0666", f"{quoted(unknown[0])} has no alternatives that come with tolcost", hint=hint)
    wanted = names or known
    found = [one for name in wanted for one in compare_alternatives(name, library)]
    tests = _tested(wanted, library) if is_verified else {}
    writers: dict[str, Callable[[], str]] = {
        "csv": lambda: csv_text(algorithms_table(found, tests)),
        "json": lambda: document("alternatives", alternatives_json(found, tests)),
        "md": lambda: markdown(tables(found, tests)),
        "text": lambda: text(tuple(in_full(found, tests)), *seen),
    }
    return writers[form](), not any(said.failures for said in tests.values())


def _tested(operators: Sequence[str], library: Library) -> dict[tuple[str, str], NodeTests]:
    """Return the results of the node tests for every alternative."""
    cases = load_cases(operators)
    every = [one for operator in operators for one in alternatives(operator, library)]
    tested = (((one.operator, one.name), hold_to_tests(one, cases, library)) for one in every)
    return dict(with_progress(tested, len(every), lambda pair: pair[0][0]))
