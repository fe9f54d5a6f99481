"""``tolcost sql``: translate a query in SQL into a program in ToLang, and count its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tolcost.cli import options
from tolcost.cli.analyze import warn
from tolcost.cli.execute import compare_executed
from tolcost.cli.output import deliver, extra, screen
from tolcost.diagnostics import Source
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.program import program_study
from tolcost.result.study import Located, locate_study
from tolcost.result.view import FORMATS, CostView, written
from tolcost.syntax.tree import read_source

if TYPE_CHECKING:
    from tolcost.apps.sql import Translated


@click.command(
    cls=options.Command,
    examples=(
        'tolcost sql "select a, sum(b) from t where a > 3 group by a" --tables schema.toml',
        'tolcost sql "select * from t join u on t.k = u.k" --tables t.csv --tables u.csv --program',
        'tolcost sql "select count(*) from t where a > 3" --tables t.csv --run',
        "tolcost sql query.sql --tables schema.toml --dim orders=1000000",
    ),
)
@click.argument("query", metavar="QUERY|FILE.sql")
@click.option("--tables", "files", metavar="FILE", multiple=True, required=True,
              help="The tables: a .toml file of columns, or a .csv file for each.")  # fmt: skip
@click.option("--program", "is_shown", is_flag=True, help="Print the program instead of what it costs.")
@click.option("--run", "is_run", is_flag=True,
              help="Run the program on the rows of the .csv files, and count.")  # fmt: skip
@options.dim_option
@options.metric_option("program")
@options.format_option(FORMATS)
@options.output_option
def command(
    query: str,
    files: tuple[str, ...],
    is_shown: bool,
    is_run: bool,
    dims: tuple[str, ...],
    metrics: tuple[str, ...] | None,
    form: str,
    output: str | None,
) -> int:
    """Translate a query into a program, and count what it costs.

    The number of rows of a table is a length, called like the table.  z1, z2, ... are the numbers of rows
    that conditions keep, in the order of the program (--program).  A text is replaced by its rank among
    the sorted texts of its column.

    Needs the extra `sql`: pip install 'tolcost[sql]'.
    """
    with extra("sql"):
        from tolcost.apps.sql import read_query, read_tables, translated
    source = read_source(query) if query.endswith(".sql") else Source("<sql>", query)
    found = translated(read_query(source, read_tables(files)))
    if is_shown:
        options.refuse(("is_run", "dims", "metrics", "form"), "not for --program")
        deliver(found.source.text, output, "tol")
        return 0
    if is_run:
        options.refuse(("dims", "metrics", "form", "output"), "not for --run")
        return _run(found)
    program = lower(read_program(found.source), name="query")
    warn(program.warnings)
    study = program_study(analyze_lowered(program, "<sql>"))
    cost = locate_study(Located, study, options.read_dims(dims))
    view = CostView(None if metrics is None else frozenset(metrics), not dims)
    deliver(written([cost], form, view, *screen(form, output)), output, form)
    return 0


def _run(found: Translated) -> int:
    """Run the program on the rows of the files, and show the result beside the counts."""
    from tolcost.apps.sql.answers import execute_query, result_rows, rows_text

    missing = [name for name, column in found.inputs.items() if column.values is None]
    if missing:
        raise click.UsageError(f"--run needs rows: {missing[0]} is not from a .csv file")
    program = lower(read_program(found.source), name="query")
    warn(program.warnings)
    execution = execute_query(found, program)
    click.echo(rows_text([one.name for one in found.outputs], result_rows(found, execution)), nl=False)
    return compare_executed(execution, program, "<sql>")
