"""Every program that is shipped, analysed as it stands: a result or a diagnostic, never a failure of ours."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tolcost.diagnostics import Rejected
from tolcost.pipeline import analyze_lowered, lower_for_author, read_program
from tolcost.syntax import read_source

SPECS = Path(__file__).parents[2] / "specs"
FOLDERS = sorted({path.parent for path in SPECS.rglob("*.tol")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(SPECS).as_posix())
def test_no_program_breaks_the_compiler(folder: Path) -> None:
    for path in sorted(folder.glob("*.tol")):
        with suppress(Rejected):
            lowered = lower_for_author(read_program(read_source(path)))
            analyze_lowered(lowered, path.name)
