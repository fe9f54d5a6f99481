"""``--version``: for whoever reads a report of a mistake."""

from importlib.metadata import version

import pytest

from tolcost import diagnostics
from tolcost.cli import run


def test_version_says_whether_parts_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    build = "" if str(diagnostics.__file__).endswith(".py") else ", compiled"
    assert capsys.readouterr().out == f"tolcost {version('tolcost')}{build}\n"
