"""specs/paper says what the paper says: all of it, to the letter, with every addition marked."""

import csv
import re
from pathlib import Path

import pytest

from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program

PAPER = Path(__file__).parents[2] / "specs" / "paper"
ROWS = list(csv.DictReader((PAPER / "tables.csv").read_text(encoding="utf-8").splitlines()))
PROGRAMS = sorted(PAPER.glob("*/*.tol"))
SECTION5 = ("avgpool1d", "conv2d", "dijkstra", "kmeans", "matmul", "resnet_block")


def letters(text: str) -> str:
    return re.sub(r"\s+", "", text)


def as_printed(text: str) -> str:
    """The program without comments and without the additions that its comments mark."""
    kept, declared, named = [], set[str](), ""
    for line in text.splitlines():
        if line.startswith("# declared here: "):
            declared = set(line.removeprefix("# declared here: ").split(", "))
        elif line.startswith("# named here: "):
            named = line.removeprefix("# named here: ") + " = "
        elif line.startswith("#") or (defined := name_of(line)) in declared:
            declared.discard("" if line.startswith("#") else defined)
        else:
            kept.append(line.removeprefix(named))
            named = ""
    return "\n".join(kept)


def name_of(line: str) -> str:
    found = re.match(r"(?:(?:tol|attr) )?(\w+)", line)
    return found[1] if found else ""


def header(path: Path) -> dict[str, str]:
    pairs = re.findall(r"^# ([a-z -]+): (.*)$", path.read_text(encoding="utf-8"), re.M)
    return dict(pairs)


def test_the_tables_are_whole() -> None:
    assert [sum(row["part"] == part for row in ROWS) for part in "12"] == [28, 32]
    assert len({row["operator"] for row in ROWS}) == 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["operator"])
def test_a_row_is_printed_to_the_letter(row: dict[str, str]) -> None:
    readable = PAPER / "onnx" / f"{row['operator']}.printed.tol"
    text = PAPER / "onnx" / f"{row['operator']}.printed.txt"
    assert readable.exists() != text.exists()
    program = as_printed(readable.read_text("utf-8")) if readable.exists() else text.read_text("utf-8")
    assert letters(program) == letters(row["representation"].replace("\\n", "\n"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["operator"])
def test_a_row_is_quoted_in_every_file(row: dict[str, str]) -> None:
    for path in PAPER.glob(f"onnx/{row['operator']}.*.tol"):
        found = header(path)
        assert found["paper"] == f"ONNX table, part {row['part']} of 2, row {row['operator']}"
        assert (found["printed flops"], found["printed eops"]) == (row["flops"], row["eops"])
        assert "verdict" not in path.read_text("utf-8"), "verdicts are made by running, not written down"


@pytest.mark.parametrize("name", SECTION5)
def test_section_5_is_there(name: str) -> None:
    assert header(PAPER / "section5" / f"{name}.printed.tol")["paper"].startswith("section 5.")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_parses_and_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_program(parse(Source(path.name, text))) == text


def test_a_correction_says_what_it_changed_and_nothing_else_is_missing() -> None:
    for path in PAPER.glob("*/*.corrected.tol"):
        assert "changed" in header(path), path.name
    for path in PAPER.glob("*/*.printed.*"):
        corrected = path.with_name(path.name.split(".")[0] + ".corrected.tol")
        assert corrected.exists() or path.suffix == ".tol", path.name
    for path in PAPER.glob("*/*.reading.tol"):
        assert "reading" in header(path), path.name


def test_the_readme_lists_every_file() -> None:
    listed = set(re.findall(r"\]\((\w+/[\w.]+)\)", (PAPER / "README.md").read_text(encoding="utf-8")))
    assert listed == {f"{path.parent.name}/{path.name}" for path in PAPER.glob("*/*")}
