"""The figures that sum the reports up, in words: for the summary, the README and the page's head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tolcost.audit.judge import Judged
from tolcost.audit.paper_table import form_counts, value_counts
from tolcost.audit.peers import WRITTEN, Measured, Spread, by_operator, several_functions, spread
from tolcost.dataclass import dataclass

START, END = "<!-- figures: start -->", "<!-- figures: end -->"
"""What stands between these in the README is written by ``tolcost report``."""


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The counts that everything below is made of."""

    forms: Mapping[str, int]
    values: Mapping[str, int]
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


def paper_figures(
    judged: Sequence[Judged],
    standing: Mapping[str, int],
    general: int,
    tests: tuple[int, int],
    points: Sequence[Measured],
) -> AuditFigures:
    """Count everything that the summary says."""
    outcomes = [outcome for found in judged for outcome in found.trials.on_tests]
    return AuditFigures(
        forms=form_counts(judged),
        values=value_counts(judged),
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
        tests_passed=tests[0],
        tests=tests[1],
        compiled=spread(points),
        telling=spread(several_functions(points)),
        written=spread(several_functions(points), WRITTEN),
        operators_counted=len(by_operator(points)),
    )


def conclusion(figures: AuditFigures) -> str:
    """The answer in as many sentences as it has parts: form, value, count, and EOPs beside FLOPs."""
    accepted, telling = figures.with_own, figures.telling
    return (
        f"Of the paper's 60 rows, {accepted} are programs, {figures.values['right on all']} of them right on "
        f"every node test that their signature admits, and {figures.hold_up} of these cost what is printed. "
        f"The printed count is that of a definition that passes ONNX's tests in {figures.equal_verified} "
        "rows. Where more than one function is applied to an element, EOPs equal XLA's compiled count in "
        f"{telling.equal} of {telling.points} points and lie within 5 % of it in {telling.within_5}."
    )


def key_figures(figures: AuditFigures) -> tuple[tuple[str, str], ...]:
    """The figures for the head of the page, each with what it counts."""
    telling = figures.telling
    return (
        ("of the paper's 60 rows are programs", f"{figures.with_own:,}"),
        ("are right on every test", f"{figures.values['right on all']:,}"),
        ("are so at the printed cost", f"{figures.hold_up:,}"),
        ("print the verified definition's count", f"{figures.equal_verified:,}"),
        ("operators verified", f"{figures.standing.get('verified', 0):,}"),
        ("node tests pass", f"{figures.tests_passed:,} of {figures.tests:,}"),
        ("telling points equal to XLA's count", f"{telling.equal:,} of {telling.points:,}"),
        ("telling points within 5 % of it", f"{telling.within_5:,} of {telling.points:,}"),
    )


def summary_text(figures: AuditFigures) -> str:
    """The figures and the conclusion, as Markdown."""
    forms, values = figures.forms, figures.values
    compiled, telling, written = figures.compiled, figures.telling, figures.written
    verified = figures.standing.get("verified", 0)
    trivial_points, trivial_equal = compiled.points - telling.points, compiled.equal - telling.equal
    lines = [
        f"- **Form**: of the 60 rows of the paper's ONNX tables, {forms['as printed']} programs are accepted "
        f"as printed, {forms['under a reading']} under a reading that the paper's own words allow, "
        f"{forms['refused']} are refused and {forms['not ToLang']} cannot be read.",
        f"- **Value**: run on every node test of ONNX that its signature admits, {values['right on all']} "
        f"rows are right on all, {values['right on some']} on some, {values['wrong']} on none, "
        f"{values['stops']} stop with an error on all, and for {values['no test fits']} there is no such "
        f"test ({figures.tests_right} of {figures.tests_run} runs are right).",
        f"- **Count**: the printed EOPs follow from the printed program in {figures.equal_own} of the "
        f"{figures.with_own} rows whose program is accepted; they are the cost of the corrected program "
        f"in {figures.equal_corrected} of 60 rows, and that of the verified definition in "
        f"{figures.equal_verified}. {figures.formulas_broken} of the printed formulas are themselves "
        "ill-formed.",
        f"- **{figures.hold_up} of the 60 rows** hold up in all three: accepted, right on every test, at the "
        "printed cost.",
        f"- {verified} operators of ONNX are verified by their own tests ({figures.tests_passed:,} of "
        f"{figures.tests:,} node tests pass in value, shape and count), with closed forms for all of them; "
        f"{figures.general} have a general one, which gives the counts of all their tests.",
        f"- Against XLA's compiled count, EOPs of {figures.operators_counted} operators were compared at "
        f"{compiled.points} points. At {trivial_points} of these the operator applies no function, or one "
        f"function once to each element, where two counts can hardly differ ({trivial_equal} are equal). Of "
        f"the other {telling.points}, {telling.equal} are equal, {telling.within_5} within 5 % and "
        f"{telling.within_25} within 25 %; before XLA's own rewriting {written.within_5} are within 5 %.",
        "",
        conclusion(figures),
    ]
    return "\n".join(lines) + "\n"


def with_figures(readme: str, text: str) -> str:
    """A README with the figures between its two marks; unchanged where it has no marks."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n{text}{end}{after}" if start and end else readme
