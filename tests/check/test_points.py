"""Figures at the project's own points, and the Markdown of a pull request, which shows them."""

from __future__ import annotations

import json

import pytest

from tests.check.support import Project
from tests.check.test_models import LINEAR, RELU, model
from tests.check.texts import BROKEN, SIXTY_FOUR, SQUARE, SUM, SUM_OF_EXP

POINTS = '[points]\n"loop.tol" = ["s=16", "s=4096"]\n"*" = "n=1000000000000"\n'


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, without its two lines of titles."""
    table = text.partition("\n\n|")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.split("\n")][2:]


@pytest.fixture(name="changed")
def _changed(project: Project) -> Project:
    """Costlier at some shapes, cheaper, new, gone and over budget."""
    project.file("tolcost.toml", POINTS + '[budgets]\n"loop.tol" = "eops <= 64*s"\n')
    project.locked(loop=SIXTY_FOUR, sum=SUM_OF_EXP, old=SUM)
    project.write(loop=SQUARE, sum=SUM, more="tol x: R [n, k]\ny := map(x, exp(*))\n")
    (project.root / "old.tol").unlink()
    return project


def test_the_table_says_what_changed_by_how_much_and_why(changed: Project) -> None:
    text = changed.check("--format md").out
    shown = rows(text)
    found = {(row[0], row[1]): row[2:] for row in shown if row[0]}
    line = r"`loop.tol:3` add:R was 64\*s, is s\*\*2<br>`y := map(tol[s], reduce(x, add, 0), [i])`"
    at = [row[:2] for row in shown].index(["`loop.tol`", "eops, flops"])
    verdict = r"**costlier only if s \> 64**"
    assert shown[at : at + 2] == [
        ["`loop.tol`", "eops, flops", verdict, "s=16", "1,024", "256", r"\-75.0&nbsp;%", line],
        ["", "", "", "s=4096", "262,144", "16.8&nbsp;M", r"\+6,300.0&nbsp;%", ""],
    ]
    assert found["`sum.tol`", "eops, flops"][:5] == [
        r"cheaper \(never costlier\)", "n=1000000000000", "2.00&nbsp;T", "1.00&nbsp;T", r"\-50.0&nbsp;%",
    ]  # fmt: skip
    assert found["`more.tol`", "eops, flops"] == [
        "**not in tolcost.lock**", "k=1024, n=1000000000000", "", "1.02&nbsp;P", "", "",
    ]  # fmt: skip
    assert found["`old.tol`", ""][0] == "gone"
    assert (
        "- `eops <= 64*s` of `loop.tol`: **exceeded only if s \\> 64**; at s=1024: 1,048,576, allowed 65,536"
        in text
    )
    assert "| `loop.tol` | eops | `64*s` | `s**2` | `s*(s - 64)` |" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_numbers_that_look_the_same_are_written_in_full(project: Project) -> None:
    project.file("tolcost.toml", '[points]\n"*" = "n=1000000000000"\n')
    project.locked(sum=SUM)
    project.write(sum="tol x: R [n]\ny := reduce(x, add, 0) + 1\n")
    (found,) = rows(project.check("--format md").out)
    assert found[1] == "eops, flops"
    numbers = ["1,000,000,000,000", "1,000,000,000,001"]
    assert found[3:7] == ["n=1000000000000", *numbers, "under&nbsp;0.1&nbsp;%"]


def test_an_operator_of_a_model_is_a_reason(project: Project) -> None:
    model(project, LINEAR)
    project.file("tolcost.toml", '[points]\n"*.onnx" = "batch=8"\n')
    project.locked()
    model(project, LINEAR, RELU)
    (found,) = [row for row in rows(project.check("--format md").out) if row[1].startswith("eops")]
    assert found[3:] == ["batch=8", "192", "216", r"\+12.5&nbsp;%", r"Relu was 0, is 3\*batch"]


def test_a_bound_of_a_new_program_is_said_to_be_one(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(bound="tol x: R [n]\ny := map(x, choose(* > 0, exp(exp(*)), *))\n")
    found = {row[1]: row for row in rows(project.check("--format md").out) if row[0] == "`bound.tol`"}
    assert found["eops"][5] == "3,072"
    assert found["eops"][7] == "the new figure is only an upper bound"


def test_what_is_accepted_and_what_is_broken(project: Project) -> None:
    project.locked(sum=SUM, bad=SUM)
    project.write(sum=SUM_OF_EXP, bad=BROKEN)
    project.run("accept", "sum.tol", "-m", "right | now")
    found = {row[0]: row for row in rows(project.check("--also markdown=out.md --format md").out)}
    assert found["`bad.tol`"][2] == "**cannot be read**"
    assert found["`bad.tol`"][7].startswith("T0")
    assert found["`sum.tol`"][2] == r"costlier \(never cheaper\), accepted"
    assert found["`sum.tol`"][7].startswith(r"right \| now<br>`sum.tol:2` ")


def test_nothing_changed_says_so_in_a_line_that_is_not_shown(project: Project) -> None:
    project.locked(sum=SUM)
    assert project.check("--also markdown=out.md").code == 0
    assert (project.root / "out.md").read_text() == (
        "<!-- tolcost check -->\n<!-- nothing changed -->\n"
        "## tolcost: ok\n\n1 unchanged \\(1 program against tolcost.lock\\)\n"
    )


def test_budgets_have_points_where_settings_have_none(project: Project) -> None:
    project.file("tolcost.toml", '[budgets]\n"*" = "n=4096: eops <= 9 k"\n')
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    said = json.loads(project.check("--format json").out)
    assert said["changes"][0]["points"] == [{"dims": {"n": 4096}, "old": 4096, "new": 8192}]


def test_a_point_that_is_no_shape_of_a_program_is_told(project: Project) -> None:
    project.file("tolcost.toml", '[points]\n"*" = "n=3"\n')
    project.locked(sum=SUM)
    project.write(sum="tol x: R [n]\ny := reduce(map(x, exp(*)), add, 0) + x[4]\n")
    assert (
        "    there are no figures at n=3: a condition fails there, or it takes too much algebra\n"
        in project.check().out
    )


@pytest.mark.parametrize(
    "text, code, said",
    [
        ('"*" = "n"', "T0712", "the point `n` cannot be read"),
        ('"*" = "n=1, n=2"', "T0712", "the point `n=1, n=2` cannot be read"),
        ('"*" = ["n=1", "n=-1"]', "T0712", "the point `n=-1` cannot be read"),
        ('"*" = 3', "T0711", "the point of `*` is a text, or a list of texts"),
        ('"other.tol" = "n=1"', "T0713", "the point of `other.tol` is for no program that is checked"),
        ('"*" = "batch=1"', "T0714", "the point `batch=1` is for a length `batch` that no program has"),
    ],
)
def test_points_that_are_none(project: Project, text: str, code: str, said: str) -> None:
    project.locked(sum=SUM)
    project.file("tolcost.toml", f"[points]\n{text}\n")
    found = project.check()
    assert found.code == 2
    assert found.err.startswith(f"error[{code}]: {said}")
