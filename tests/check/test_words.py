"""What the gate says, of every kind of finding: text, the list of findings and other formats, to the letter.

After a change that is meant, TOLCOST_ACCEPT=1 writes ``words.txt`` anew: read the difference first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tolcost.check.formats import write_report
from tolcost.check.records import BlamedLine, CostChange, CostlierRegion, Example, GateReport, HeldBudget
from tolcost.check.text import findings, gate_markdown, gate_text, growth

EXPECTED = Path(__file__).with_name("words.txt")
WHERE, SAMPLED = CostlierRegion("where n >= 5"), CostlierRegion("n >= 5", exact=False)


def at(old: int, new: int) -> Example:
    return Example((("n", 4),), old, new)


def change(kind: str, **given: object) -> CostChange:
    return CostChange("a.tol", kind, "eops", **{"file": "a.tol", **given})  # type: ignore[arg-type]


FIGURES = [
    change("costlier", old="n", new="n**2", example=at(100, 101)),
    change("costlier", old="n", new="2*n", difference="n", region=WHERE, example=at(8, 16), other=at(3, 2),
           place=BlamedLine("a.tol", 7, "y := x", "adds n"), notes=("one", "two")),
    change("costlier", place=BlamedLine("lib.tol", 9, "", "adds n"), example=at(1000, 1001)),
    change("costlier", example=at(0, 2**399 - 1), other=at(2**400, 2**401)),
    change("crosses", region=CostlierRegion("n >= 5"), place=BlamedLine("a.tol", 0, "", "is new")),
    change("crosses", region=SAMPLED, file="", place=BlamedLine("", 3, "text", "")),
    change("crosses", why="needed"),
    change("cheaper", example=at(0, 0)),
    change("undecided", tried=1200, example=at(3, 5)),
    change("undecided", tried=12, example=at(5, 5)),
    change("undecided", tried=12),
    change("undecided"),
    change("same"),
]  # fmt: skip
TIMES = [
    CostChange("a.tol", "costlier", "time_h200", "a.tol", old="10**15*n", new="10**15*n + 4*10**12",
               example=at(4_350 * 10**12, 4_354 * 10**12)),
    CostChange("a.tol", "cheaper", "time_h200", "a.tol", example=at(30 * 10**12, 5 * 10**11)),
]  # fmt: skip
WIDE = tuple((f"length_{k:03}", k) for k in range(20))
LONG = [
    CostChange("a" * 201, "costlier", "eops", "f" * 101, "n" * 41, "m" * 41, "k" * 41,
               example=Example(WIDE, 1, 2), place=BlamedLine("f" * 101, 7, "y := x", "r" * 241),
               why="w" * 301, notes=("o" * 201,)),
    CostChange("b" * 200, "costlier", "eops", "f" * 100, "n" * 40, "m" * 40, "k" * 40,
               place=BlamedLine("f" * 100, 7, "y := x", "r" * 240), why="w" * 300, notes=("o" * 200,)),
    CostChange("c.tol", "broken", new="e" * 201),
    CostChange("c.tol", "renamed", old="p" * 41),
    CostChange("d.tol", "costlier", "eops", old="n" * 201, new="n" * 200),
]  # fmt: skip
LONG_BUDGETS = [
    HeldBudget("a" * 201, "exceeded", "b" * 121, "eops", actual="n" * 41, limit="m" * 41,
               example=Example(WIDE, 1, 2)),
    HeldBudget("a" * 200, "exceeded", "b" * 201, "eops", actual="n" * 40, limit="m" * 40),
]  # fmt: skip
PROGRAMS = [
    CostChange("a.tol", "new"),
    CostChange("a.tol", "gone"),
    CostChange("b.tol", "renamed", old="a.tol"),
    CostChange("a.tol", "excluded"),
    CostChange("a.tol", "excluded", notes=("`exclude` names `a.tol`",), why="an example"),
    CostChange("a.tol", "rules", notes=("the cost model was abc and is def",)),
    CostChange("a.tol", "rules", notes=("`onnx/Relu` is another",), why="measured"),
    CostChange("a.tol", "broken", new="T0101: no"),
]
BUDGETS = [
    HeldBudget("a.tol", "within", "b", "eops"),
    HeldBudget("a.tol#x", "exceeded", "b", "eops", actual="2*n", limit="n", region=WHERE, example=at(3, 9)),
    HeldBudget("a.tol", "exceeded", "b", "eops", actual="n", limit="n"),
    HeldBudget("a.tol", "crosses", "b", "eops"),
    HeldBudget("a.tol", "crosses", "b", "eops", region=CostlierRegion("n >= 2")),
    HeldBudget("a.tol", "crosses", "b", "eops", region=SAMPLED),
    HeldBudget("a.tol", "overstated", "b", "eops", region=CostlierRegion("n > 1")),
    HeldBudget("a.tol", "overstated", "b", "eops"),
    HeldBudget("a.tol", "undecided", "b", "eops", tried=9),
    HeldBudget("a.tol", "undecided", "b", "eops"),
]


def reports() -> Iterator[GateReport]:
    two = ("a.tol", "ok.tol")
    yield GateReport("tolcost.lock", ("a.tol",))
    yield from (GateReport("tolcost.lock", two, (one,)) for one in (*FIGURES, *PROGRAMS, *TIMES))
    yield GateReport("tolcost.lock", two, (TIMES[0],), written="tolcost.lock")
    yield from (GateReport("tolcost.lock", two, (), (one,)) for one in BUDGETS)
    for one in PROGRAMS:
        yield GateReport("HEAD", two, (one,), new_fails=False)
        yield GateReport("tolcost.lock", two, (one,), strict=True)
        yield GateReport("tolcost.lock", two, (one,), written="tolcost.lock", pruned=True)
    yield GateReport("HEAD", two, (change("cheaper"),), strict=True, notes=("a note",))
    yield GateReport("HEAD", two, tuple(LONG), tuple(LONG_BUDGETS), notes=("t" * 301,))
    yield GateReport("HEAD", two, (*FIGURES[:3], PROGRAMS[0]), tuple(BUDGETS[:4]))


def shown(report: GateReport) -> Iterator[str]:
    yield gate_text(report)
    for found in findings(report):
        yield f"{found.level} {found.rule} {found.file}:{found.line} {found.title}: {found.message}\n"


def test_every_kind_of_finding() -> None:
    found = list(reports())
    texts = ["".join(shown(report)) for report in found]
    formats = [write_report(found[-1], form) for form in ("md", "github", "junit", "json")]
    actual = "\n----\n".join(
        [*texts, repr(gate_text(found[1], colour=True)), gate_markdown(found[-2]), *formats]
    )
    if os.environ.get("TOLCOST_ACCEPT"):
        EXPECTED.write_text(actual, encoding="utf-8")
    assert actual == EXPECTED.read_text(encoding="utf-8")


def test_the_largest_growth_comes_first() -> None:
    grown = [growth(one) for one in FIGURES[:3]]
    assert [str(one) for one in grown] == ["1/100", "1", "1/1000"]
    assert growth(change("costlier", example=at(0, 7))) == 7
    assert growth(change("costlier")) == 0
