"""The gate without a project, as pairs of text (``cases/*.txt``): entries, and what is said of them.

    verdicts    an entry ``was`` and an entry ``now`` (``notation``): the change as it is shown
    budgets     an entry ``p``, and a line ``budget ...`` for each budget
    settings    a tolcost.toml: what it says, or what is wrong with it
    locks       a lock file: what is written again, or what is wrong with it
    blame       a program, ``...``, and what became of it: the line that is named, where n = 4 and m = 3

Verdicts on exact figures are held to numbers besides: Python alone evaluates both forms at all small shapes.
TOLCOST_ACCEPT=1 writes what comes out, to be reviewed like any change.
"""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest

from tests.algebra.pairs import number
from tests.check.notation import entries
from tests.syntax import cases
from tolcost.check.blame import blame
from tolcost.check.budgets import hold, read_budget
from tolcost.check.config import read_config
from tolcost.check.entries import costed_program
from tolcost.check.lockfile import read_lock, write_lock
from tolcost.check.records import CostChange, Example, GateReport, demand_text
from tolcost.check.targets import Contribution
from tolcost.check.text import gate_text
from tolcost.check.verdicts import judge
from tolcost.diagnostics import Rejected, Source, render_all
from tolcost.pipeline import lower, read_program

CASES = cases.read(Path(__file__).with_name("cases"))


def changed(text: str) -> CostChange:
    found = entries(text)
    return judge(found["was"], found["now"], "eops")


def verdicts(text: str) -> str:
    change = changed(text)
    if change.kind == "same":
        return "same"
    said = gate_text(GateReport("tolcost.lock", ("now",), (change,)))
    return "\n".join(said.splitlines()[3:]).partition("\n\n")[0]


def budgets(text: str) -> str:
    lines = text.splitlines(keepends=True)
    given = [read_budget("p", line[7:].rstrip("\n")) for line in lines if line.startswith("budget ")]
    found = entries("".join(line for line in lines if not line.startswith("budget ")))
    report = GateReport("tolcost.lock", ("p",), (), hold(given, found, ()))
    shown = gate_text(report).splitlines()[2:]
    return "\n".join(line for line in shown if line not in ("p", "")) or "kept"


def settings(text: str) -> str:
    source = Source("tolcost.toml", text)
    read = read_config(tomllib.loads(text), Path(), source)
    usual = read_config({}, Path(), Source("tolcost.toml", ""))
    said = [(name, getattr(read, name)) for name in read.__struct_fields__ if name != "source"]
    return "\n".join(f"{name}: {value}" for name, value in said if value != getattr(usual, name))


def locks(text: str) -> str:
    return write_lock(read_lock(Source("tolcost.lock", text))).rstrip("\n")


def blamed(text: str) -> str:
    before, _, after = text.rpartition("...\n")
    old = parts_of(before) if before else None
    found = blame(old, parts_of(after), "eops", Example((("n", 4), ("m", 3)), 1, 2))
    return "none" if found is None else f"{found.file}:{found.line}: {found.remark}\n| {found.text}"


def parts_of(text: str) -> tuple[Contribution, ...]:
    program = lower(read_program(Source("a.tol", text))).program
    return costed_program("a.tol", program, ("eops",)).parts


ANSWERS = {"verdicts": verdicts, "budgets": budgets, "settings": settings, "locks": locks, "blame": blamed}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said(case: cases.Case) -> None:
    try:
        said = ANSWERS[case.file.stem](case.program)
    except Rejected as rejected:
        said = render_all(rejected.diagnostics).rstrip("\n")
    cases.compare(case, said)


REACH = (1, 40, 8, 5, 3)
"""How far lengths go, by how many there are."""


def comparable(case: cases.Case) -> bool:
    """Whether figures are exact, and a name is the same length on both sides."""
    sides = [
        re.findall(rf"^{side} (inputs|where|eops) (.*)", case.program, re.MULTILINE)
        for side in ("was", "now")
    ]
    found = [dict(side) for side in sides]
    plain = not any(word in side.get("where", "") for side in found for word in (" in ", " from "))
    exact = all(side.get("eops", "").startswith("exact ") for side in found)
    return (
        exact and plain and found[0].get("inputs") == found[1].get("inputs") and "error" not in case.expected
    )


@pytest.mark.parametrize("case", [*filter(comparable, CASES)], ids=str)
def test_no_verdict_is_wrong_at_any_small_shape(case: cases.Case) -> None:
    found, change = entries(case.program), changed(case.program)
    shapes = " ".join(form for one in found["now"].domain.inputs for part in one.parts for form in part.shape)
    names = sorted(set(re.findall(r"\b[a-z]\b", shapes)))
    wheres = [demand_text(demand) for entry in found.values() for demand in entry.domain.where]
    reach = range(1, REACH[len(names)] + 1)
    points = [dict(zip(names, at, strict=True)) for at in product(reach, repeat=len(names))]
    points = [point for point in points if all(number(where, point) for where in wheres)]
    gaps = [number(change.new, point) - number(change.old, point) for point in points]
    if change.region is None and points:
        assert change.kind != "same" or not any(gaps)
        assert change.kind != "cheaper" or max(gaps) <= 0
        assert change.kind != "costlier" or min(gaps) >= 0
    elif change.region is not None and change.region.exact:
        where = change.region.text.replace(" = ", " == ")
        assert [gap > 0 for gap in gaps] == [bool(number(where, point)) for point in points]
    for example in filter(None, (change.example, change.other)):
        point = dict(example.dims)
        assert (number(change.old, point), number(change.new, point)) == (example.old, example.new)
