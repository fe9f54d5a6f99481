"""``--version``: for whoever reads a report of a mistake."""

from importlib.metadata import version

import pytest

from tolcost.cli import run


def test_version_names_the_installed_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tolcost {version('tolcost')}\n"
