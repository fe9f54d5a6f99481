"""A project to check, for every test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.support import Project, project_in


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return project_in(tmp_path, monkeypatch, capsys)
