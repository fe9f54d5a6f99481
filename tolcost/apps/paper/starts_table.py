"""The verdicts on the paper's rows under both conventions for the start of a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tolcost.apps.paper.judge import CountCheck, Judged, hold
from tolcost.apps.paper.starts import STARTS, Start, restarted
from tolcost.apps.paper.tables_3_and_4 import row_verdict, shown_program
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis, analyze_program
from tolcost.elaborate.inputs import arguments
from tolcost.result.instances import lower_instance, lower_source
from tolcost.show.document import Cell, Code, Column, ReportTable, text_of
from tolcost.syntax import parse

_MADE = "tolcost report"
NEUTRAL, FIRST = STARTS


def judge_under(start: Start, judged: Sequence[Judged], library: Library) -> tuple[Judged, ...]:
    """Judge the counts of all rows again, with every sum started in one way."""
    return tuple(_judge_under(start, found, library) for found in judged)


def _judge_under(start: Start, found: Judged, library: Library) -> Judged:
    def analysed(program: Program) -> Analysis:
        return analyze_program(restarted(program, start), depth=False, moved=False)

    row, printed = found.row, found.program
    right = analysed(lower_source(row.right, library, None).program)
    verified = analysed(lower_instance(row.verified, library).program)
    if printed.source is not None:
        given = arguments(parse(printed.source), row.shapes, {}) if row.shapes else None
        own = analysed(lower_source(printed.source, library, given).program)
        printed = replace(printed, analysis=own)
    return replace(
        found,
        program=printed,
        right=right,
        verified=verified,
        own=_held(found.own, printed.analysis),
        corrected=hold(right.eops, found.corrected.printed),
        by_definition=_held(found.by_definition, verified),
    )


def _held(before: CountCheck | None, analysis: Analysis | None) -> CountCheck | None:
    return None if before is None or analysis is None else hold(analysis.eops, before.printed)


# ---- tables ------------------------------------------------------------------------------

COLUMNS = (
    Column("operator", "operator"),
    Column("printed", "EOPs, printed", "code"),
    Column("program_neutral", "program: neutral", "code", group="program"),
    Column("program_first", "program: first", "code", group="program"),
    Column("written", "definition: written", "code", group="definition"),
    Column("neutral", "definition: neutral", "code", group="definition"),
    Column("first", "definition: first", "code", group="definition"),
    Column("verdict_neutral", "verdict: neutral", group="verdict"),
    Column("verdict_first", "verdict: first", group="verdict"),
    Column("is_written", "printed is the definition's, as written", printed=False),
    Column("is_neutral", "from the neutral", printed=False),
    Column("is_first", "from the first", printed=False),
)


def starts_table(judged: Sequence[Judged], under: Mapping[Start, Sequence[Judged]]) -> ReportTable:
    """Make a table of the rows whose count depends on where a sum starts."""
    about = (
        "A sum may start in two ways. From the neutral element (0, 1, an infinity), n terms take n "
        "applications; from the first term, n - 1. The paper's programs start at the neutral element."
        " So do our definitions, except Sum and Mean, which start at their first input. Both counts "
        "here are derived: the lowered program is rewritten so that every reduce of an associative "
        "function starts in one of the ways, and is counted again. Running sums (CumSum) and "
        "scattered sums (ConvTranspose) are no such reduces, and stay as they are. Rows whose count "
        "is the same in both ways are left out."
    )
    rows = [
        _row(found, neutral, first)
        for found, neutral, first in zip(judged, under[NEUTRAL], under[FIRST], strict=True)
        if _depends(found, neutral, first)
    ]
    title = "Where a sum starts"
    return ReportTable(COLUMNS, tuple(rows), "starts", title, about, _MADE)


def _depends(*found: Judged) -> bool:
    return any(len({pick(one) for one in found}) > 1 for pick in (_program, _definition))


def _program(found: Judged) -> str:
    return text_of(shown_program(found)[1].eops)


def _definition(found: Judged) -> str:
    return text_of(found.verified.eops)


def _row(*found: Judged) -> tuple[Cell, ...]:
    _, neutral, first = found
    return (
        neutral.row.operator,
        Code(neutral.row.eops),
        Code(_program(neutral)),
        Code(_program(first)),
        *(Code(_definition(one)) for one in found),
        row_verdict(neutral),
        row_verdict(first),
        *("yes" if one.by_definition is not None and one.by_definition.equal else "no" for one in found),
    )


TOTALS = (
    Column("starts", "sums start"),
    Column("hold", "rows hold", "number"),
    Column("own", "follow from the print", "number"),
    Column("corrected", "of a correct program", "number"),
    Column("definition", "the definition's", "number"),
)


def totals_table(judged: Sequence[Judged], under: Mapping[Start, Sequence[Judged]]) -> ReportTable:
    """Make a table of the totals under each convention."""
    about = "How many of the 60 rows hold, and whose printed EOPs are what is derived, under each convention."
    rows = [_totals("as written", judged)]
    rows += [_totals(start, under[start]) for start in STARTS]
    title = "Totals under both conventions"
    return ReportTable(TOTALS, tuple(rows), "starts", title, about, _MADE)


def _totals(name: str, judged: Sequence[Judged]) -> tuple[Cell, ...]:
    return name, *matches(judged)


def matches(judged: Sequence[Judged]) -> tuple[int, int, int, int]:
    """Count the rows that hold, and whose EOPs are those of the print, a correct program, the definition."""
    return (
        sum(found.holds_up for found in judged),
        sum(found.own is not None and found.own.equal for found in judged),
        sum(found.corrected.equal for found in judged),
        sum(found.by_definition is not None and found.by_definition.equal for found in judged),
    )
