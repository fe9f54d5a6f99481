"""What other programs read: every format holds what it promises, whatever a name says."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from tests.check.support import Project
from tests.check.texts import BROKEN, SIXTY_FOUR, SQUARE, SUM, SUM_OF_EXP
from tolcost.check.formats import write_report
from tolcost.check.records import (
    BlamedLine,
    ChangeKind,
    CostChange,
    CostlierRegion,
    Example,
    GateReport,
    HeldBudget,
)
from tolcost.check.text import GATE_FORMATS, LIMIT

SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0-subset.json").read_text("utf-8"))
KINDS: tuple[ChangeKind, ...] = (
    "broken", "costlier", "crosses", "rules", "undecided", "new", "cheaper", "renamed", "gone", "excluded",
)  # fmt: skip
NASTY = "a\n::error::x%<b>&\"'`|\x1b[2J\u202e]]>,:=\0\ud800.tol"


def change(kind: ChangeKind, name: str = "ops/sum.tol") -> CostChange:
    return CostChange(
        name,
        kind,
        metric="" if kind in ("broken", "rules", "new", "renamed", "gone", "excluded") else "eops",
        file=name.partition("#")[0],
        old="n",
        new="2*n",
        difference="n",
        region=CostlierRegion("n > 64") if kind == "crosses" else None,
        example=Example((("n", 10**400),), 10**400, 2 * 10**400),
        place=BlamedLine(name, 2, "y := x", "exp:R was 0, is n"),
        notes=(name,),
    )


def report(*changes: CostChange, name: str = "ops/sum.tol") -> GateReport:
    budget = HeldBudget(name, "exceeded", "eops <= 6*vol(x)", "eops", actual="7*n", limit="6*n")
    return GateReport("tolcost.lock", (name, "ok.tol"), changes, (budget,), notes=(name,))


EVERYTHING = report(*map(change, KINDS), replace(change("costlier", "b.tol"), why="it is right now"))
HOSTILE = report(
    *(change(kind, NASTY) for kind in KINDS), replace(change("costlier", NASTY), why=NASTY), name=NASTY
)


@pytest.mark.parametrize("what", [EVERYTHING, HOSTILE, GateReport("tolcost.lock", ())])
def test_sarif_is_valid(what: GateReport) -> None:
    text = write_report(what, "sarif")
    log = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    text.encode("utf-8")


def test_the_schema_refuses_what_it_should() -> None:
    log = json.loads(write_report(EVERYTHING, "sarif"))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SCHEMA)


def test_sarif_says_where_and_why() -> None:
    (run,) = json.loads(write_report(EVERYTHING, "sarif"))["runs"]
    assert run["tool"]["driver"]["name"] == "tolcost"
    costlier = run["results"][1]
    assert (costlier["ruleId"], costlier["level"]) == ("costlier", "error")
    assert run["tool"]["driver"]["rules"][costlier["ruleIndex"]]["id"] == "costlier"
    (place,) = costlier["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "ops/sum.tol"},
        "region": {"startLine": 2},
    }
    accepted = [result for result in run["results"] if "suppressions" in result]
    assert [result["level"] for result in accepted] == ["note"]
    assert accepted[0]["suppressions"] == [{"kind": "external", "justification": "it is right now"}]


@pytest.mark.parametrize("what", [EVERYTHING, HOSTILE, GateReport("tolcost.lock", ())])
def test_junit_is_read_back(what: GateReport) -> None:
    text = write_report(what, "junit")
    (suite,) = ElementTree.fromstring(text.encode("utf-8"))
    cases = suite.findall("testcase")
    assert suite.tag == "testsuite"
    assert int(suite.attrib["tests"]) == len(cases)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
    assert all(case.attrib["name"] for case in cases)


def test_junit_of_a_real_check(project: Project) -> None:
    project.locked(sum=SUM, loop=SIXTY_FOUR, fine=SQUARE, bad=SUM)
    project.write(sum=SUM_OF_EXP, loop=SQUARE, bad=BROKEN)
    said = project.check("--format junit")
    (suite,) = ElementTree.fromstring(said.out)
    found = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert found == {"sum.tol": ["failure"], "loop.tol": ["failure"], "fine.tol": [], "bad.tol": ["error"]}
    assert said.code == 2


def test_junit_is_read_by_a_reader_of_junit(project: Project) -> None:
    junitparser = pytest.importorskip("junitparser")
    project.locked(sum=SUM, fine=SQUARE)
    project.write(sum=SUM_OF_EXP)
    project.check("--format junit --output out.xml")
    (suite,) = junitparser.JUnitXml.fromfile(str(project.root / "out.xml"))
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)
    failed = [case for case in suite if case.result]
    assert failed[0].name == "sum.tol"
    assert failed[0].result[0].message.startswith("costlier (never cheaper); was n, is 2*n; at n=1024: ")


def test_github_has_at_most_ten_annotations() -> None:
    many = report(*(change("costlier", f"p{n}.tol") for n in range(50)))
    lines = write_report(many, "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 10
    assert commands[-1] == "::error title=tolcost::42 more findings"
    assert commands[0].startswith("::error file=p0.tol,line=2,title=p0.tol eops::costlier")


def test_github_cannot_be_given_commands() -> None:
    for line in write_report(HOSTILE, "github").splitlines():
        assert not line.startswith("::error::")
        assert "::error::x" not in line or line.startswith("::")
        assert "\x1b" not in line
    properties = write_report(HOSTILE, "github").splitlines()[0].split("::")[1]
    assert properties.count(",") == 2


def test_gitlab_is_a_code_quality_report() -> None:
    issues = json.loads(write_report(EVERYTHING, "gitlab"))
    assert {frozenset(issue) for issue in issues} == {
        frozenset(("description", "check_name", "fingerprint", "severity", "location"))
    }
    assert {issue["severity"] for issue in issues} == {"major", "minor", "info"}
    assert issues[0]["location"] == {"path": "ops/sum.tol", "lines": {"begin": 2}}
    fingerprints = [issue["fingerprint"] for issue in issues]
    assert len(set(fingerprints)) == len(fingerprints)


def test_markdown_fits_and_shows_the_largest_first() -> None:
    grown = [
        replace(change("costlier", f"p{n}.tol"), example=Example((("n", 1),), 10, 10 + n), old="n" * 300)
        for n in range(1000)
    ]
    text = write_report(report(*grown), "md")
    assert len(text.encode()) <= LIMIT
    assert text.index("p999.tol") < text.index("p998.tol")
    assert "more are not shown here" in text
    assert text.startswith("<!-- tolcost check -->\n## tolcost: costlier\n\n1,000 costlier")


def test_json_is_the_contract() -> None:
    content = json.loads(write_report(EVERYTHING, "json"))
    assert (content["tolcost"], content["kind"], content["exit"]) == (1, "check", 2)
    crossing = next(c for c in content["changes"] if c["kind"] == "crosses")
    assert crossing["region"] == {"text": "n > 64", "exact": True}
    assert crossing["example"]["old"] == str(10**400)  # beyond what a double holds
    assert content["unchanged"] == ["ok.tol"]


def test_badges_say_the_outcome() -> None:
    kept = GateReport("tolcost.lock", ("a.tol", "b.tol"))
    over = HeldBudget("a.tol", "exceeded", "eops <= 1", "eops")
    for what, told in (
        (kept, "ok, 2 programs"),
        (replace(kept, budgets=(over,)), "over budget, 1 of 2 programs"),
        (replace(kept, changes=(change("costlier", "a.tol"),)), "costlier, 1 of 2 programs"),
    ):
        badge = json.loads(write_report(what, "badge"))
        assert (badge["schemaVersion"], badge["message"]) == (1, told)
        drawn = ElementTree.fromstring(write_report(what, "svg"))
        texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert texts == ["cost", told]


@pytest.mark.parametrize("form", GATE_FORMATS)
def test_nothing_that_acts_on_a_screen_gets_out(form: str) -> None:
    text = write_report(HOSTILE, form)
    assert text.endswith("\n")
    assert not {"\x1b", "\u202e", "\0"} & set(text)
    text.encode("utf-8")


def test_formats_of_one_check_agree(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    assert {project.check(f"--format {form}").code for form in GATE_FORMATS} == {1}


def test_output_goes_to_a_file(project: Project) -> None:
    project.locked(sum=SUM)
    said = project.check("--format json --output out.json")
    assert (said.code, said.out) == (0, "")
    assert json.loads((project.root / "out.json").read_text())["exit"] == 0
