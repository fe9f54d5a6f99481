"""``--version``: for whoever reads a report of a mistake."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from tolcost.cli import run


def test_version_names_the_installed_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tolcost {version('tolcost')}\n"


def test_the_changelog_begins_with_this_version() -> None:
    """To tag it, a date takes the place of what stands behind its number."""
    root = Path(__file__).parents[2]
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    newest = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == declared
