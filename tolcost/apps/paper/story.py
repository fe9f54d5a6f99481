"""What the reports found, in words: the summary, the figures of the page, and the page to start from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.apps.paper.evidence import H200, TORCH, XLA, Evidence, RowsNear, agreement
from tolcost.apps.paper.judge import FormVerdict, Judged, ValueVerdict
from tolcost.apps.paper.peers import Spread, by_operator, several_functions, spread
from tolcost.apps.paper.readings import errata_table, paper_rows
from tolcost.apps.paper.starts_table import matches
from tolcost.apps.paper.tables_3_and_4 import RowVerdict, row_verdict
from tolcost.catalogue.conformance import Report
from tolcost.result.other_counts import WRITTEN, Measured
from tolcost.show.document import ReportTable
from tolcost.show.html import Chart


class AuditFigures(Struct, frozen=True):
    """The counts that the texts below consist of."""

    forms: Counter[FormVerdict]
    values: Counter[ValueVerdict]
    hold_up: int
    tests_run: int
    tests_right: int
    formulas_broken: int
    equal_own: int
    with_own: int
    equal_corrected: int
    equal_verified: int
    standing: Mapping[str, int]
    general: int
    tests_passed: int
    tests: int
    compiled: Spread
    telling: Spread
    written: Spread
    operators_counted: int
    derived: RowsNear
    printed: RowsNear
    executed: RowsNear
    torch: RowsNear
    verdicts: Counter[RowVerdict]
    from_first: tuple[int, int, int, int]
    """The counts of ``matches`` if every sum starts at its first term."""


def paper_figures(
    judged: Sequence[Judged],
    standing: Mapping[str, int],
    general: int,
    conformance: Report,
    points: Sequence[Measured],
    evidence: Mapping[str, Evidence],
    first: Sequence[Judged],
) -> AuditFigures:
    """Count everything that the summary mentions."""
    tests = conformance.figures()
    outcomes = [outcome for found in judged for outcome in found.trials.on_tests]
    return AuditFigures(
        forms=Counter(found.form for found in judged),
        values=Counter(found.value for found in judged),
        hold_up=sum(found.holds_up for found in judged),
        tests_run=len(outcomes),
        tests_right=sum(outcome.status == "same" for outcome in outcomes),
        formulas_broken=sum(found.reading.problem is not None for found in judged),
        equal_own=sum(found.own is not None and found.own.equal for found in judged),
        with_own=sum(found.own is not None for found in judged),
        equal_corrected=sum(found.corrected.equal for found in judged),
        equal_verified=sum(found.by_definition is not None and found.by_definition.equal for found in judged),
        standing=standing,
        general=general,
        tests_passed=tests["pass"],
        tests=tests["pass"] + tests["fail"],
        compiled=spread(points),
        telling=spread(several_functions(points)),
        written=spread(several_functions(points), WRITTEN),
        operators_counted=len(by_operator(points)),
        derived=agreement(evidence, XLA, "eops"),
        printed=agreement(evidence, XLA, "printed"),
        executed=agreement(evidence, H200, "eops"),
        torch=agreement(evidence, TORCH, "eops"),
        verdicts=Counter(map(row_verdict, judged)),
        from_first=matches(first),
    )


def conclusion(figures: AuditFigures) -> str:
    """Summarise the audit: form, value, count, and EOPs compared with independent counts, a sentence each."""
    derived, printed, executed = figures.derived, figures.printed, figures.executed
    return (
        f"Of the paper's 60 rows, {figures.with_own} are programs. Of these, "
        f"{figures.values['right on all']} are right on every node test that fits their signature, and "
        f"{figures.hold_up} of those cost what is printed. In {figures.equal_verified} rows the printed "
        "count is the cost of a definition that passes ONNX's tests. "
        f"XLA counts something for {derived.rows} rows. Derived EOPs are within 5 % of its compiled count at "
        f"every shape in {derived.within_5} of them, and within 25 % in {derived.within_25}. Printed EOPs "
        f"can be compared in {printed.rows} rows: they are within 5 % in {printed.within_5}, and within 25 % "
        f"in {printed.within_25}. A GPU executes a number of operations within 25 % of EOPs in "
        f"{executed.within_25} of {executed.rows} rows."
    )


def key_figures(figures: AuditFigures) -> tuple[tuple[str, str], ...]:
    """Return the figures for the head of the page, each with its meaning."""
    derived = figures.derived
    return (
        ("of the paper's 60 rows are programs", f"{figures.with_own:,}"),
        ("are right on every test", f"{figures.values['right on all']:,}"),
        ("of these cost what is printed", f"{figures.hold_up:,}"),
        ("print the verified definition's count", f"{figures.equal_verified:,}"),
        ("operators verified", f"{figures.standing.get('verified', 0):,}"),
        ("node tests pass", f"{figures.tests_passed:,} of {figures.tests:,}"),
        ("rows that XLA counts are within 5 % of it", f"{derived.within_5:,} of {derived.rows:,}"),
        ("are within 25 %", f"{derived.within_25:,} of {derived.rows:,}"),
    )


def summary_text(figures: AuditFigures) -> str:
    """Return the figures and the conclusion, as Markdown."""
    forms, values = figures.forms, figures.values
    compiled, telling, written = figures.compiled, figures.telling, figures.written
    derived, printed, executed, torch = figures.derived, figures.printed, figures.executed, figures.torch
    hold, own, corrected, definition = figures.from_first
    verified = figures.standing.get("verified", 0)
    trivial_points, trivial_equal = compiled.points - telling.points, compiled.equal - telling.equal
    lines = [
        f"- **Form**: of the 60 rows of the paper's ONNX tables, {forms['as printed']} programs are accepted "
        f"as printed, {forms['under a reading']} under a reading that the paper's own words allow, "
        f"{forms['refused']} are refused and {forms['not ToLang']} cannot be read.",
        "- **Value**: each row runs on every node test of ONNX that fits its signature. "
        f"{values['right on all']} rows are right on all of them, {values['right on some']} on some, "
        f"{values['wrong']} on none; {values['stops']} stop with an error on all, and no test fits "
        f"{values['no test fits']} ({figures.tests_right} of {figures.tests_run} runs are right).",
        f"- **Count**: in {figures.equal_own} of the {figures.with_own} rows whose program is accepted, the "
        "printed EOPs are the cost of the printed program. They are the cost of the corrected program in "
        f"{figures.equal_corrected} of 60 rows, and of the verified definition in {figures.equal_verified}. "
        f"{figures.formulas_broken} of the printed formulas are themselves ill-formed.",
        f"- **{figures.hold_up} of the 60 rows** hold up in all three: accepted, right on every test, at the "
        "printed cost.",
        "- **Starts**: here a sum of n terms starts at the neutral element and costs n, as in the paper's "
        f"programs. If every sum started at its first term, {hold} rows would hold up. The printed EOPs "
        f"would be the cost of the printed program in {own} rows, of the corrected program in {corrected}, "
        f"and of the verified definition in {definition}.",
        f"- {verified} operators of ONNX are verified by their own tests ({figures.tests_passed:,} of "
        f"{figures.tests:,} node tests pass in value, shape and count), with closed forms for all of them; "
        f"{figures.general} have a general one, which gives the counts of all their tests.",
        "- **Independent counts** are compared at the shape where they are farthest from EOPs. XLA counts "
        f"something for {derived.rows} rows: derived EOPs equal its compiled count in {derived.equal}, and "
        f"are within 5 % in {derived.within_5} and within 25 % in {derived.within_25}. Printed EOPs can be "
        f"compared in {printed.rows} rows: {printed.equal} are equal, {printed.within_5} within 5 %, and "
        f"{printed.within_25} within 25 %. PyTorch's FlopCounterMode has a rule for {torch.rows} rows, and "
        f"equals EOPs in {torch.equal}. Operations executed on an H200 are within 25 % of EOPs in "
        f"{executed.within_25} of {executed.rows} rows.",
        f"- **Beyond the paper's rows**, EOPs of {figures.operators_counted} operators were compared with "
        f"XLA's compiled count at {compiled.points} points. {trivial_points} of these are trivial: the "
        "operator applies no function, or one function once to each element, so that any two counts agree "
        f"({trivial_equal} are equal). Of the other {telling.points}, {telling.equal} are equal, "
        f"{telling.within_5} are within 5 % and {telling.within_25} within 25 %. Before XLA rewrites its "
        f"program, {written.within_5} are within 5 %.",
        "",
        conclusion(figures),
    ]
    return "\n".join(lines) + "\n"


# ---- the list of reports, with the story on top ------------------------------------------------


_OTHERS = (
    ("hardware", "EOPs against a GPU", "make hardware"),
    ("referee", "Published cost formulas, judged", "make referee"),
    ("windows", "Keys of a query in a sliding window", "make referee"),
    ("calculators", "Published calculators, judged", "make referee"),
    ("witnesses", "Who counts what", "make peers referee"),
    ("alternatives", "Other algorithms for operators", "make alternatives"),
    ("models", "Models of packages, exporters and converters", "make models"),
    ("sympy", "Closed forms derived again by sympy", "make sympy"),
    ("theorem_one", "Theorem One, searched", "make theorem"),
    ("tpch", "TPC-H beside DuckDB", "make tpch"),
    ("sql_tpch", "TPC-H in SQL, translated, beside DuckDB", "make sql"),
    ("haskell", "Operators of Haskell beside GHC", "make haskell"),
    ("frameworks", "Operators of PyTorch and TensorFlow", "make frameworks"),
    ("training", "Steps of training beside a GPU", "make training"),
    ("gradients", "Gradients of operators beside PyTorch", "make gradients"),
    ("mutants", "Definitions and code broken on purpose", "make mutants"),
    ("soak", "Random programs and other campaigns", "make soak"),
    ("fresh", "Installation in empty environments", "make fresh"),
    ("site", "The playground, timed", "make site-test"),
)
"""Reports that ``tolcost report`` does not write: the file, its subject, and the command."""


def index(
    figures: AuditFigures, tables: Sequence[ReportTable], forms: ReportTable, charts: Sequence[Chart]
) -> str:
    """Write the page that a reader starts from: the claim, the answer, the evidence, then every report."""
    first, *further = charts
    lines = [
        *_story(figures),
        "",
        f"![{first.caption}](charts/{first.name}.svg)",
        "",
        "## Every report",
        "",
        "Written by `tolcost report` (`make report`); do not edit. Every table is Markdown and CSV, and "
        "the pictures are in `charts/`. `data/` holds the evidence that takes long to make, needs other "
        "tools or is written by hand. [report.html](report.html) has all tables on one page, with sorting, "
        "filtering and live closed forms; [summary.md](summary.md) has the figures in full. "
        "[models_of_computation.md](models_of_computation.md) is the paper's Table 1 as programs that run.",
        "",
        "| table | CSV | made by |",
        "| --- | --- | --- |",
        *(
            f"| [{table.title}]({table.name}.md) | [csv]({table.name}.csv) | `{table.command}` |"
            for table in (*tables, forms)
        ),
        "",
        "Other commands write these:",
        "",
        "| report | made by |",
        "| --- | --- |",
        *(f"| [{about}]({name}.md) | `{command}` |" for name, about, command in _OTHERS),
        "",
        *(f"![{chart.caption}](charts/{chart.name}.svg)\n" for chart in further),
    ]
    return "\n".join(lines)


def _story(figures: AuditFigures) -> list[str]:
    derived, printed, executed, torch = figures.derived, figures.printed, figures.executed, figures.torch
    verdicts, held = figures.verdicts, figures.from_first
    filled = [row for row in paper_rows() if row.flops != "-"]
    same = sum(row.flops == row.eops for row in filled)
    return [
        "# Do EOPs agree with FLOPs?",
        "",
        "**The claim.** An elementary operation (EOP) is one application of a function, such as `add` or "
        "`exp`, to numbers. The ToL report (BenchCouncil, 2022) writes 60 operators of ONNX as programs, "
        'counts their EOPs, prints FLOPs beside them, and concludes that "EOPs are consistent with FLOPs '
        'within a minimal error range".',
        "",
        "**The answer.** EOPs are close to FLOPs, but not within a minimal error. XLA compiles and counts "
        f"its own program of each operator, and its count is above 0 for {derived.rows} of them. EOPs "
        "derived from verified definitions are within 25 % of that count for "
        f"{_share(derived.within_25, derived.rows)}, and within 5 % for "
        f"{_share(derived.within_5, derived.rows)}. The operations that a GPU executes differ more: they are "
        f"within 25 % of EOPs for {_share(executed.within_25, executed.rows)}. Of the paper's rows as they "
        f"are printed, {_share(figures.hold_up, 60)} hold up.",
        "",
        "| question | finding | shown in |",
        "| --- | --- | --- |",
        f"| Are the printed rows programs? | {figures.with_own} of 60; {figures.values['right on all']} are "
        "right on every test of ONNX that fits them | [verdicts](paper.md) |",
        f"| Do they have the printed cost? | {verdicts['holds']} rows hold; {verdicts['miswritten']} need "
        f"only a corrected program, {verdicts['miscounted']} only a corrected count, {verdicts['wrong']} "
        "both | [Table 3](table3.md), [Table 4](table4.md) |",
        f"| Does that depend on where a sum starts? | yes: if sums start from their first term, {held[0]} "
        f"rows hold instead of {figures.hold_up} | [starts](starts.md) |",
        f"| Are the printed FLOPs independent? | no: {len(filled)} rows print FLOPs, and {same} of them the "
        "same number as for EOPs | [errata](errata.md) |",
        f"| Do derived EOPs equal XLA's count? | of {derived.rows} rows that XLA counts, "
        f"{derived.equal} equal, {derived.within_5} within 5 %, {derived.within_25} within 25 % | "
        "[rows](evidence.md), [totals](agreement.md) |",
        f"| Do printed EOPs? | of {printed.rows} rows that can be compared, {printed.equal} equal, "
        f"{printed.within_5} within 5 %, {printed.within_25} within 25 % | [totals](agreement.md) |",
        f"| What does PyTorch count? | products and convolutions alone: equal in {torch.equal} of "
        f"{torch.rows} rows | [rows](evidence.md) |",
        f"| What does an H200 execute? | within 25 % of EOPs in {executed.within_25} of {executed.rows} "
        "rows: a function takes many instructions | [rows](evidence.md), [hardware](hardware.md) |",
        f"| What is wrong in the paper? | {len(errata_table().rows)} entries, each with a command that "
        "shows it | [errata](errata.md) |",
        f"| And the rest of ONNX? | {figures.standing.get('verified', 0)} operators verified by ONNX's own "
        "tests, with closed forms | [catalogue](catalogue.md) |",
    ]


def _share(part: int, whole: int) -> str:
    """Say how many of the whole a part is, in a word and in numbers.

    >>> _share(34, 43), _share(17, 43), _share(5, 43)
    ('most (34 of 43)', 'less than half (17 of 43)', 'few (5 of 43)')
    """
    share = Fraction(part, whole)
    word = "few" if share < Fraction(1, 4) else "less than half" if share < Fraction(1, 2) else "most"
    return f"{'all' if share == 1 else word} ({part} of {whole})"
