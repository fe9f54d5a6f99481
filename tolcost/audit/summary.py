"""The figures that sum the reports up, in words: for the summary, the README and the page's head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tolcost.audit.judge import Judged
from tolcost.audit.paper_table import verdict_counts
from tolcost.audit.peers import WRITTEN, Measured, Spread, by_operator, spread

START, END = "<!-- figures: start -->", "<!-- figures: end -->"
"""What stands between these in the README is written by ``tolcost report``."""


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The counts that everything below is made of."""

    verdicts: Mapping[str, int]
    in_part: int
    lenient: int
    formulas_broken: int
    equal_own: int
    with_own: int
    equal_corrected: int
    equal_verified: int
    standing: Mapping[str, int]
    tests_passed: int
    tests: int
    compiled: Spread
    written: Spread
    operators_counted: int


def paper_figures(
    judged: Sequence[Judged],
    standing: Mapping[str, int],
    tests: tuple[int, int],
    points: Sequence[Measured],
) -> AuditFigures:
    """Count everything that the summary says."""
    return AuditFigures(
        verdicts=verdict_counts(judged),
        in_part=sum(found.in_part for found in judged),
        lenient=sum(found.program.lenient and found.verdict == "same" for found in judged),
        formulas_broken=sum(found.reading.problem is not None for found in judged),
        equal_own=sum(found.own is not None and found.own.equal for found in judged),
        with_own=sum(found.own is not None for found in judged),
        equal_corrected=sum(found.corrected.equal for found in judged),
        equal_verified=sum(found.by_definition is not None and found.by_definition.equal for found in judged),
        standing=standing,
        tests_passed=tests[0],
        tests=tests[1],
        compiled=spread(points),
        written=spread(points, WRITTEN),
        operators_counted=len(by_operator(points)),
    )


def conclusion(figures: AuditFigures) -> str:
    """The answer in one sentence."""
    verdicts, compiled = figures.verdicts, figures.compiled
    return (
        f"Of the paper's 60 rows, {verdicts['same']} hold up as printed, while EOPs themselves, derived from "
        f"definitions that pass ONNX's tests, equal XLA's compiled count in {compiled.equal} of "
        f"{compiled.points} measured points and lie within 5 % of it in {compiled.within_5}: EOPs "
        "agree with FLOPs where one function is one instruction, but the paper's tables do not show it."
    )


_VERDICTS = {
    "same": "of the paper's rows hold up",
    "differs": "at another cost",
    "computes something else": "compute something else",
    "ill-formed": "are ill-formed",
}


def key_figures(figures: AuditFigures) -> tuple[tuple[str, str], ...]:
    """The figures for the head of the page, each with what it counts."""
    compiled = figures.compiled
    return (
        *((words, f"{figures.verdicts[verdict]:,}") for verdict, words in _VERDICTS.items()),
        ("operators verified", f"{figures.standing.get('verified', 0):,}"),
        ("node tests pass", f"{figures.tests_passed:,} of {figures.tests:,}"),
        ("points equal to XLA's count", f"{compiled.equal:,} of {compiled.points:,}"),
        ("points within 5 % of it", f"{compiled.within_5:,} of {compiled.points:,}"),
    )


def summary_text(figures: AuditFigures) -> str:
    """The figures and the conclusion, as Markdown."""
    verdicts, compiled, written = figures.verdicts, figures.compiled, figures.written
    verified = figures.standing.get("verified", 0)
    lines = [
        f"- **{verdicts['same']} of the 60 rows** of the paper's ONNX tables hold up: the printed program is "
        f"accepted, computes its operator on ONNX's test vectors, and costs what is printed "
        f"({figures.lenient} of them once `=` is read as `:=`, {figures.in_part} for part of the operator's "
        "inputs only). "
        f"{verdicts['differs']} compute their operator at another cost, "
        f"{verdicts['computes something else']} compute something else, and {verdicts['ill-formed']} are "
        "ill-formed.",
        f"- The printed EOPs follow from the printed program in {figures.equal_own} of the "
        f"{figures.with_own} rows whose program is accepted; they equal the cost of the corrected program "
        f"in {figures.equal_corrected} of 60 rows, and that of the verified definition in "
        f"{figures.equal_verified}. {figures.formulas_broken} of the printed formulas are themselves "
        "ill-formed.",
        f"- {verified} operators of ONNX are verified by their own tests ({figures.tests_passed:,} of "
        f"{figures.tests:,} node tests pass in value, shape and count), with closed forms for all of them.",
        f"- Against XLA's compiled count, EOPs of {figures.operators_counted} operators are equal in "
        f"{compiled.equal} of {compiled.points} points, within 5 % in {compiled.within_5} and within 25 % in "
        f"{compiled.within_25}; before XLA's own rewriting within 5 % in {written.within_5}.",
        "",
        conclusion(figures),
    ]
    return "\n".join(lines) + "\n"


def with_figures(readme: str, text: str) -> str:
    """A README with the figures between its two marks; unchanged where it has no marks."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n{text}{end}{after}" if start and end else readme
