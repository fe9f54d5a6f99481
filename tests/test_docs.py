"""The documentation keeps up with the code."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shlex
from pathlib import Path

import onnx.defs
import pytest

from tolcost.cli import run

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "docs" / "tour.md"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
TYPO = "tol x: R [n]\ny := map(x, exq(*)) + z\n"


def blocks(text: str, kind: str) -> list[str]:
    """What stands between fences of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tour, in a folder with the files it talks about."""
    text = TOUR.read_text("utf-8")
    (tmp_path / "prefix.tol").write_text(blocks(text, "tol")[0], "utf-8")
    (tmp_path / "typo.tol").write_text(TYPO, "utf-8")
    monkeypatch.chdir(tmp_path)
    return text


def answered(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The commands of a block, each with all that it says; what goes wrong is part of it."""
    said = []
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "cat":
            print(Path(arguments[0]).read_text("utf-8"), end="")
        else:
            run(arguments)
        shown = capsys.readouterr()
        said.append(f"$ {command}\n{shown.out}{shown.err}")
    return "".join(said)


def test_the_tour_shows_what_the_commands_say(tour: str, capsys: pytest.CaptureFixture[str]) -> None:
    written = tour
    for block in blocks(tour, "console"):
        written = written.replace(f"```console\n{block}```", f"```console\n{answered(block, capsys)}```")
    if os.environ.get("TOLCOST_ACCEPT"):
        TOUR.write_text(written, "utf-8")
    else:
        assert tour == written


def test_the_tour_shows_what_python_says(tour: str) -> None:
    session = doctest.DocTestParser().get_doctest("\n".join(blocks(tour, "pycon")), {}, "tour", None, 0)
    assert session.examples
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(session, out=told.append)
    assert not told, "".join(told)


def test_files_that_are_named_exist() -> None:
    """In the pages that lead through the code: a path from the top or from ``tolcost/``, or a file's name."""
    modules = {path.name for path in (ROOT / "tolcost").rglob("*.*")}
    for page in (TOUR, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        for name in re.findall(r"`((?:[\w.-]+/)*\w+\.(?:py|md|toml|lark))`", page.read_text("utf-8")):
            there = (ROOT / name).exists() or (ROOT / "tolcost" / name).exists() or name in modules
            assert there, f"{page.name} names {name}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_helper_file_is_listed() -> None:
    text = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8").partition("## The helpers")[2]
    listed = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| `([^`]*)` \|$", text, re.MULTILINE))
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "specs" / "lib").glob("*.tol")}
    assert listed.keys() == files.keys()
    for name, helpers in listed.items():
        for helper in helpers.split():
            assert re.search(rf"^{helper}(\(|\s*=)", files[name], re.MULTILINE), f"{name} has no {helper}"


NAMED = {"catalogue/graph.py": {"Constant"}}
"""Where Python goes by an operator's name: docs/architecture.md says why."""


def test_no_other_python_knows_an_operator() -> None:
    operators = {schema.name for schema in onnx.defs.get_all_schemas()}
    for file in sorted((ROOT / "tolcost").rglob("*.py")):
        where = file.relative_to(ROOT / "tolcost").as_posix()
        texts = {n.value for n in ast.walk(ast.parse(file.read_bytes())) if isinstance(n, ast.Constant)}
        known = {text for text in texts if isinstance(text, str)} & operators
        if not where.startswith("algebra/"):  # Max, Min and Sum are words of formulas, too
            assert known <= NAMED.get(where, set()), where
