"""``tolcost referee``: check cost formulas typed by hand against the operators' definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from tolcost.apps.referee.formulas import (
    METRICS,
    RIGHT_VERDICTS,
    STEPS,
    CountedFigure,
    PublishedFormula,
    read_file,
    shipped_formulas,
)
from tolcost.apps.referee.judge import Judgement, judge_formulas
from tolcost.apps.referee.subjects import ModelProgram, Subject, plain_shapes
from tolcost.apps.referee.table import (
    ON_COMMAND_LINE,
    gather,
    in_full,
    summary_line,
    verdict_table,
    verdicts_json,
    witnesses_table,
)
from tolcost.catalogue.specs import Library, open_library
from tolcost.cli import options
from tolcost.cli.output import deliver, screen, with_progress
from tolcost.diagnostics import refuse
from tolcost.elaborate.inputs import PlainShapes
from tolcost.platform import with_deep_stack
from tolcost.result.instances import OperatorInstance
from tolcost.show.document import ReportTable, write
from tolcost.show.tables import csv_text

NEWS, UNDECIDED = 1, 3
FORMATS = ("text", "md", "csv", "json")


@click.command(
    cls=options.Command,
    examples=(
        "tolcost referee",
        "tolcost referee torch/mm",
        "tolcost referee mine.toml",
        "tolcost referee --op LayerNormalization --formula '5*m*n' --shape X=m,n --shape Scale=n --shape B=n",
        "tolcost referee --op LayerNormalization --formula '5*M*N' --where M=X_1 --where N=X_2",
        "tolcost referee --op MatMul --shape A=m,k --shape B=k,n --formula '2mnk - mn'",
        "tolcost referee --program families/gpt2 --formula '6*N*b*s' --where 'N=12*l*(h*e)**2' --train step",
        "tolcost referee --op MatMul --shape A=m,k --shape B=k,n --formula '2n^3' --assume m=n --assume k=n",
        "tolcost referee --program families/gpt2 --formula '24Bsh^2(1 + s/(6h))' --let B=b --let 'h=h*e'",
        "tolcost referee --format csv -o referee.csv",
    ),
)
@click.argument("names", metavar="[NAME|FILE...]", nargs=-1)
@click.option("--op", "operator", metavar="OPERATOR", help="The operator that --formula is about.")
@click.option("--program", metavar="PROGRAM", help="The program that it is about: families/llama, mine.tol.")
@click.option("--formula", metavar="FORMULA", help="A formula as it is printed, in the lengths of --shape.")
@click.option(
    "--where",
    "meanings",
    metavar="NAME=FORM",
    multiple=True,
    help="What a name in --formula, or a length, is.",
)
@click.option(
    "--let",
    "letters",
    metavar="NAME=FORM",
    multiple=True,
    help="What a letter of the paper is in our lengths.",
)
@options.assume_option
@click.option(
    "--train",
    type=click.Choice([name for name in STEPS if name]),
    help="--formula counts a step of training: forward and backward, or with forward done twice.",
)
@click.option("--counts", type=click.Choice(METRICS), show_default="flops", help="What --formula counts.")
@click.option("--shape", "shapes", metavar="NAME=LENGTHS", multiple=True, help="The shape of an input.")
@click.option("--attr", "attrs", metavar="NAME=VALUE", multiple=True, help="The value of an attribute.")
@options.specs_option
@click.option("--witnesses", metavar="DIR", help="Show which tools count each operator, as recorded.")
@options.format_option(FORMATS)
@options.output_option
def command(
    names: tuple[str, ...],
    operator: str | None,
    program: str | None,
    formula: str | None,
    meanings: tuple[str, ...],
    letters: tuple[str, ...],
    train: str | None,
    assume: tuple[str, ...],
    counts: CountedFigure | None,
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    witnesses: str | None,
    form: str,
    output: str | None,
) -> int:
    """Judge cost formulas: right, right by another convention, too high or too low, where, and why.

    NAME, or the beginning of a name, selects formulas that come with tolcost; without one, all are
    judged.  FILE has formulas of your own.  The exit code is 1 if --formula is wrong by every convention,
    or a verdict of a file is not the expected one (equal, unless the file expects another), and 3 if a
    verdict is undecided.
    """
    if (formula is None) != (operator is None and program is None) or (operator and program):
        raise click.UsageError("--formula goes together with --op or with --program")
    if formula is not None and names:
        raise click.UsageError("--formula is judged by itself: leave out names and files")
    about = {
        "where": meanings,
        "let": letters,
        "train": train,
        "assume": assume,
        "counts": counts,
        "shape": shapes,
        "attr": attrs,
    }
    for option in (option for option, given in about.items() if given and formula is None):
        raise click.UsageError(f"--{option} is for --formula")
    if witnesses is not None and (names or formula is not None or form == "json"):
        raise click.UsageError("--witnesses stands alone, as text, md or csv")
    library = open_library(specs)
    if witnesses is not None:
        deliver(_table(_witnesses(witnesses, library), form, *screen(form, output)), output, form)
        return 0
    if formula is not None:
        subject = _subject(operator, program, shapes, attrs, library)
        where = dict(options.read_pairs("--where", meanings))
        let = dict(options.read_pairs("--let", letters))
        counted = counts or "flops"
        mine = PublishedFormula(
            ON_COMMAND_LINE,
            "",
            subject,
            counted,
            formula,
            where=where,
            train=train or "",
            let=let,
            assume=assume,
        )
        chosen: Sequence[PublishedFormula] = (mine,)
    else:
        chosen = _chosen(names)
    found = with_deep_stack(lambda: _judged(chosen, library))
    deliver(_written(found, form, *screen(form, output)), output, form)
    return _exit_code(found)


def _subject(
    operator: str | None,
    program: str | None,
    shapes: Sequence[str],
    attrs: Sequence[str],
    library: Library,
) -> Subject:
    several = options.read_shapes(shapes)
    single: PlainShapes = {name: lists[0] if len(lists) == 1 else lists for name, lists in several.items()}
    values = options.read_attrs(attrs)
    if operator is None:
        return ModelProgram(program or "", single, values)
    return OperatorInstance(operator, single or plain_shapes(operator, library), values, 1)


def _judged(chosen: Sequence[PublishedFormula], library: Library) -> list[Judgement]:
    return with_progress(judge_formulas(chosen, library), len(chosen), lambda one: one.formula.name)


def _chosen(names: Sequence[str]) -> tuple[PublishedFormula, ...]:
    by_file = shipped_formulas()
    shipped = tuple(chain.from_iterable(by_file.values()))
    if not names:
        return shipped
    found: list[PublishedFormula] = []
    for name in names:
        if name.endswith(".toml"):
            found += read_file(Path(name))
            continue
        matching = [formula for formula in shipped if formula.name == name or formula.name.startswith(name)]
        if not matching:
            refuse("T0733", f"there is no formula {name!r}", hint=f"there are: {', '.join(by_file)}")
        found += matching
    return tuple(found)


def _witnesses(folder: str, library: Library) -> ReportTable:
    shipped = chain.from_iterable(shipped_formulas().values())
    return with_deep_stack(lambda: witnesses_table(gather(Path(folder), shipped, library)))


def _table(table: ReportTable, form: str, colour: bool = False, width: int | None = None) -> str:
    return csv_text(table) if form == "csv" else write((table,), form, colour, width)


def _written(found: Sequence[Judgement], form: str, colour: bool, width: int | None) -> str:
    if form == "json":
        return verdicts_json(found)
    if form in ("csv", "md"):
        return _table(verdict_table(found), form)
    sections = [section for one in found if len(found) <= 12 for section in in_full(one)]
    if len(found) > 12:
        sections.append(verdict_table(found))
    return write((*sections, summary_line(found)), "text", colour, width)


def _exit_code(found: Sequence[Judgement]) -> int:
    if any(map(_is_news, found)):
        return NEWS
    return UNDECIDED if any(one.verdict == "undecided" for one in found) else 0


def _is_news(one: Judgement) -> bool:
    """Whether a formula is not what its users expect; one on the command line is to be right somehow."""
    if one.formula.name == ON_COMMAND_LINE:
        return one.verdict not in RIGHT_VERDICTS and one.verdict != "undecided"
    return not one.expected and one.verdict != "undecided"
