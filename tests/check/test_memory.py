"""What is remembered between checks is never out of date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tolcost.check.memory
import tolcost.cli.gating
from tests.check.support import Project
from tests.check.texts import SUM, SUM_OF_EXP


@pytest.fixture(name="analysed")
def _analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the programs that were analysed."""
    names: list[str] = []
    real = tolcost.cli.gating._cost_program

    def cost(root: Path, target: object, *rest: object) -> object:
        names.append(target.name)  # type: ignore[attr-defined]
        return real(root, target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(tolcost.cli.gating, "_cost_program", cost)
    return names


def memory_file(project: Project) -> Path:
    (found,) = (project.root.parent / "cache" / "tolcost").iterdir()
    return found


def test_only_what_changed_is_analysed(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    analysed.clear()
    assert project.check().code == 0
    assert analysed == []
    project.write(a=SUM + "# comment\n")
    assert project.check().code == 0
    assert analysed == ["a.tol"]
    analysed.clear()
    assert project.check("--fresh").code == 0
    assert analysed == ["a.tol", "b.tol"]


def test_a_library_file_counts(project: Project, analysed: list[str]) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["."]\n')
    project.file("lib/double.tol", "double(x) = x + x\n")
    project.locked(**{"ops/a": "use double\ntol x: R [n]\ny := map(x, double(*))\n"})
    analysed.clear()
    project.file("lib/double.tol", "double(x) = x + x + x\n")
    assert project.check().code == 1
    assert analysed


def test_what_is_said_of_inputs_counts(project: Project, analysed: list[str]) -> None:
    project.write(a="tol x: R [...]\ny := map(x, exp(*))\n")
    project.file("tolcost.toml", '[cases."a.tol".c]\nshapes = { x = ["n"] }\n')
    project.check("--update")
    analysed.clear()
    project.file("tolcost.toml", '[cases."a.tol".c]\nshapes = { x = ["n", "m"] }\n')
    project.check()
    assert "a.tol#c" in analysed


def test_another_tolcost_remembers_nothing(
    project: Project, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.locked(a=SUM)
    analysed.clear()
    monkeypatch.setattr(tolcost.check.memory, "_tool_digest", lambda: "other")
    project.check()
    assert analysed == ["a.tol"]


def test_the_digest_covers_code_and_programs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = tolcost.check.memory._digest_of_folders([tmp_path])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.tol").write_text("1")
    after = tolcost.check.memory._digest_of_folders([tmp_path])
    (tmp_path / "b" / "c.tol").write_text("2")
    assert len({before, after, tolcost.check.memory._digest_of_folders([tmp_path])}) == 3


@pytest.mark.parametrize("data", ["", "{", "[]", '{"format": 1}', "[" * 100_000, "null", '{"entries": 3}'])
def test_a_broken_memory_is_an_empty_one(project: Project, analysed: list[str], data: str) -> None:
    project.locked(a=SUM)
    memory_file(project).write_text(data)
    analysed.clear()
    assert project.check().code == 0
    assert analysed == ["a.tol"]


@pytest.mark.parametrize("kept", [3, [], ["", ""], ["", "", [["eops"]]], ["", "", [["eops", "sure", "n"]]]])
def test_a_broken_entry_is_none(project: Project, analysed: list[str], kept: object) -> None:
    project.locked(a=SUM)
    content = json.loads(memory_file(project).read_text())
    content["entries"] = dict.fromkeys(content["entries"], kept)
    memory_file(project).write_text(json.dumps(content))
    analysed.clear()
    assert project.check().code == 0
    assert analysed == ["a.tol"]


def test_a_folder_that_cannot_be_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.locked(a=SUM)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root / "a.tol"))
    assert project.check("--fresh").code == project.check().code == 0


def test_nothing_is_remembered_of_what_is_rejected(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM)
    project.write(a="nonsense(")
    assert project.check().code == project.check().code == 2
    assert analysed == ["a.tol", "a.tol", "a.tol"]


def test_many_programs_over_several_processes(project: Project) -> None:
    project.locked(**{f"p{n:02}": f"# {n}\n{SUM}" for n in range(40)})
    project.write(p07=SUM_OF_EXP, p08="nonsense(")
    said = project.check("--fresh --jobs 2")
    assert said.code == 2
    assert said.out.startswith(
        "not readable: 1 broken, 1 costlier, 38 unchanged (40 programs against tolcost.lock)\n"
    )
