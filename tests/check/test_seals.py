"""What a seal lets pass without analysing is never out of date."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tolcost.check.lockfile
import tolcost.cli.check
from tests.check.support import Project
from tests.check.texts import SUM, SUM_OF_EXP

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="analysed")
def _analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the programs that were analysed."""
    names: list[str] = []
    real = tolcost.cli.check._cost_program

    def cost(root: Path, target: object, *rest: object) -> object:
        names.append(target.name)  # type: ignore[attr-defined]
        return real(root, target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(tolcost.cli.check, "_cost_program", cost)
    return names


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


def test_an_installed_copy_of_the_definitions_answers_as_the_checkout_does(tmp_path: Path) -> None:
    """A wheel brings a copy of the project's own definitions, and then every bound was undecided."""
    for name, place in (("tolcost", ""), ("specs", "_specs")):
        kept = shutil.ignore_patterns("__pycache__", "*.tsv", "*.gz", "tolcost.toml", "tolcost.lock")
        shutil.copytree(ROOT / name, tmp_path / "tolcost" / place, ignore=kept, dirs_exist_ok=True)
    command = [sys.executable, "-P", "-m", "tolcost", "check", "--strict", "--fresh"]

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "com.microsoft/BranchwiseRMSNorm.tol"],
            cwd=ROOT / "specs",
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert (done := checked()).returncode == 0, done.stdout + done.stderr
    with (tmp_path / "tolcost" / "_specs" / "onnx" / "Abs.tol").open("a", encoding="utf-8") as file:
        file.write("# another one\n")
    assert "undecided" in checked().stdout


def test_a_library_file_counts(project: Project, analysed: list[str]) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["."]\n')
    project.file("lib/double.tol", "double(x) = x + x\n")
    project.locked(**{"ops/a": "use double\ntol x: R [n]\ny := map(x, double(*))\n"})
    analysed.clear()
    project.file("lib/double.tol", "double(x) = x + x + x\n")
    assert project.check().code == 1
    assert analysed


def test_settings_beside_definitions_are_none(project: Project, analysed: list[str]) -> None:
    """A budget changes no cost: programs are not analysed again for it."""
    settings = 'paths = ["ops"]\nspecs = ["."]\n'
    project.file("tolcost.toml", settings)
    project.locked(**{"ops/a": SUM})
    analysed.clear()
    project.file("tolcost.toml", settings + '[budgets]\n"ops/a.tol" = "eops <= n"\n')
    assert project.check().code == 0
    assert analysed == []


def test_what_is_said_of_inputs_counts(project: Project, analysed: list[str]) -> None:
    project.write(a="tol x: R [...]\ny := map(x, exp(*))\n")
    project.file("tolcost.toml", '[cases."a.tol".c]\nshapes = { x = ["n"] }\n')
    project.check("--update")
    analysed.clear()
    project.file("tolcost.toml", '[cases."a.tol".c]\nshapes = { x = ["n", "m"] }\n')
    project.check()
    assert "a.tol#c" in analysed


def test_another_tolcost_believes_no_seal(
    project: Project, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.locked(a=SUM)
    analysed.clear()
    monkeypatch.setattr(tolcost.check.lockfile, "_tool_digest", lambda: "other")
    project.check()
    assert analysed == ["a.tol"]


def test_the_digest_covers_code_and_programs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = tolcost.check.lockfile.digest_of_folders([tmp_path])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.tol").write_text("1")
    after = tolcost.check.lockfile.digest_of_folders([tmp_path])
    (tmp_path / "b" / "c.tol").write_text("2")
    assert len({before, after, tolcost.check.lockfile.digest_of_folders([tmp_path])}) == 3


def test_figures_changed_by_hand_are_not_believed(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM)
    project.file("tolcost.lock", project.lock.replace('"eops", "exact", "n"', '"eops", "exact", "2*n"'))
    analysed.clear()
    said = project.check()
    assert analysed == ["a.tol"]
    assert "cheaper" in said.out


def test_a_seal_of_another_program_does_not_fit(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    seals = [line.split()[-1] for line in project.lock.splitlines() if '"sealed"' in line]
    swapped = project.lock.replace(seals[0], "x").replace(seals[1], seals[0]).replace("x\n", f"{seals[1]}\n")
    project.file("tolcost.lock", swapped)
    analysed.clear()
    assert project.check().code == 0
    assert analysed == ["a.tol", "b.tol"]


def test_a_fresh_clone_analyses_nothing(project: Project, analysed: list[str], tmp_path: Path) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    project.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    analysed.clear()
    clone = Project(tmp_path / "clone", project.capsys)
    with contextlib.chdir(clone.root):
        assert clone.check().code == 0
    assert analysed == []


def test_a_reason_does_not_break_a_seal(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM)
    project.write(a=SUM_OF_EXP)
    assert project.run("accept", "a.tol", "-m", "smooth").code == 0
    assert project.check("--update").code == 0
    assert '"smooth"' in project.lock
    analysed.clear()
    assert project.check().code == 0
    assert analysed == []


def test_a_project_without_seals(project: Project, analysed: list[str]) -> None:
    project.locked(a=SUM)
    assert '"sealed"' in project.lock
    project.file("tolcost.toml", "seal = false\n")
    assert project.check("--update").code == 0
    assert '"sealed"' not in project.lock
    analysed.clear()
    assert project.check().code == 0
    assert analysed == ["a.tol"]


def test_a_program_that_changes_while_it_is_analysed_is_not_sealed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tolcost.cli.check._cost_program

    def cost(root: Path, target: object, *rest: object) -> object:
        found = real(root, target, *rest)  # type: ignore[arg-type]
        project.write(a=SUM_OF_EXP)
        return found

    project.write(a=SUM)
    monkeypatch.setattr(tolcost.cli.check, "_cost_program", cost)
    assert project.check("--update").code == 0
    assert '"sealed"' not in project.lock


def test_nothing_is_sealed_of_what_is_rejected(project: Project, analysed: list[str]) -> None:
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
