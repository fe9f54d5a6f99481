"""Models that settings declare as modules of PyTorch, with no file; most tests need torch (`make torch`)."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.check.support import Project, lock_line
from tests.check.texts import SUM
from tolcost.apps.torch.gate import _is_of, _then

ROOT = Path(__file__).parents[2]
NAME = "nets.models:Net"
DECLARED = f'[modules."{NAME}"]\nshapes = {{ input = ["batch", 4] }}\n'
NET = "from torch import nn\nfrom nets.parts import middle\ndef Net():\n    return nn.Sequential({})\n"
ONE, TWO = "nn.Linear(4, 3)", "nn.Linear(4, 3), middle(), nn.Linear(3, 5)"
PARTS = "from torch import nn\nmiddle = nn.{}\n"


def declared(project: Project, net: str = ONE, part: str = "ReLU", settings: str = DECLARED) -> None:
    project.file("nets/models.py", NET.format(net))
    project.file("nets/parts.py", PARTS.format(part))
    project.file("tolcost.toml", settings)


@pytest.fixture(name="locked")
def _locked(project: Project) -> Project:
    """A project whose lock file has a declared model, as if torch had been there."""
    declared(project)
    project.file(
        "tolcost.lock",
        "\n".join(
            [
                lock_line("tolcost-lock", 3), lock_line("tool", ""), lock_line("costs", ""), "",
                lock_line(NAME, "eops", "exact", "24*batch"),
                lock_line(NAME, "given", {"shapes": {"x": ["batch", 4]}}),
                lock_line(NAME, "inputs", ["x", [["float32", ["batch", "4"]]]]),
            ]
        ),
    )  # fmt: skip
    return project


# ---- without torch -------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_it_is_refused_where_it_is_declared(locked: Project) -> None:
    for line in ("", NAME, "--update"):
        said = locked.check(line)
        assert said.code == 2
        assert said.err == (
            "error[T0006]: modules are read with torch's own exporter, and torch is not installed\n"
            "  --> tolcost.toml:1:11\n"
            "   |\n"
            f' 1 | [modules."{NAME}"]\n'
            "   |           ^^^^^^^^^^^^^^^\n"
            "   = hint: pip install 'tolcost[torch]'\n"
        )
    assert lock_line(NAME, "eops", "exact", "24*batch") in locked.lock  # what was agreed to stays


def test_without_the_application_it_is_refused(locked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tolcost.apps.is_there", lambda module: False)
    said = locked.check()
    assert (said.code, said.err.split("\n")[0]) == (
        2, "error[T0680]: the application that reads `modules` is not installed",
    )  # fmt: skip


@pytest.mark.parametrize(
    "settings, note",
    [
        ("", "`modules` does not name it (tolcost.toml)"),
        (f'exclude = ["nets.*"]\n{DECLARED}', "`exclude` names `nets.*` (tolcost.toml)"),
        (
            DECLARED.replace("]\n", ".wide]\n", 1).replace('"batch"', '"batch", 2'),
            "`modules` names other cases of it (tolcost.toml)",
        ),
    ],
)  # fmt: skip
def test_who_drops_a_declaration_is_told(locked: Project, settings: str, note: str) -> None:
    """Its code may be anywhere, so it is never taken to be gone."""
    locked.write(other=SUM)
    locked.file("tolcost.toml", settings)
    said = locked.check()
    assert said.code in (1, 2)
    assert f"{NAME}\n  no longer checked\n    {note}\n" in said.out


def test_paths_select_files_and_a_name_selects_a_model(locked: Project) -> None:
    locked.write(other=SUM)
    said = locked.check(".")
    assert (said.code, NAME in said.out, "other.tol" in said.out) == (1, False, True)
    said = locked.check("other:Net")
    assert (said.code, said.err) == (2, "error[T0721]: there is no `other:Net`\n")


@pytest.mark.parametrize(
    "text, said",
    [
        ("modules = 3", "`modules` has a table for each module:function"),
        ('[modules]\n"a:b" = 3', "`modules` has a table for each module:function"),
        ('[modules."a.b"]\nshapes = { x = [1] }', "`a.b` does not name a module as module:function"),
        ('[modules."a/b:c"]\nshapes = { x = [1] }', "`a/b:c` does not name a module as module:function"),
        ('[modules."a:b.tol"]\nshapes = { x = [1] }', "`a:b.tol` does not name a module"),
        ('[modules."a:b"]', "`shapes` has an entry for each argument of `forward` of `a:b`"),
        ('[modules."a:b"]\nshape = { x = [1] }', "there is no setting `shape` of `a:b`"),
        ('[modules."a:b"]\nshapes = { x = 1 }', "the shape of `x` of `a:b` is a list of names and numbers"),
        ('[modules."a:b"]\nshapes = { x = [1] }\nopset = "new"', "`opset` is a number of `a:b`"),
        ('[modules."a:b"]\nshapes = { x = [1] }\nweights = 3', "`weights` is true or false"),
        ('[modules."a:b"]\nshapes = { x = [1] }\ntrain = 3', "`train` is an optimiser"),
        (
            '[modules."a:b".one]\nshapes.x = [1]\nshape = 3',
            "there is no setting `shape` in the case `one` of `a:b`",
        ),
        ('[modules."a:b"."o e"]\nshapes = { x = [1] }', "`o e` is not the name of a case"),
    ],
)
def test_mistakes_in_declarations(project: Project, text: str, said: str) -> None:
    project.file("tolcost.toml", text)
    found = project.check()
    assert found.code == 2
    assert said in found.err
    assert found.err.startswith("error[T0711]: ")


@pytest.mark.parametrize("shape", ['"x:text" = [1]', '"x y" = [1]', 'x = ["n/2"]', "x = [-1]", "x = [[1]]"])
def test_shapes_that_are_none_are_told_before_anything_runs(project: Project, shape: str) -> None:
    project.file("tolcost.toml", f'[modules."a:b"]\nshapes = {{ {shape} }}\n')
    found = project.check("--update")
    assert (found.code, found.err.startswith("error[T0711]: ")) == (2, True)
    assert "  --> tolcost.toml:1:11\n" in found.err


def test_folders_of_the_working_tree_become_those_of_the_copy(tmp_path: Path) -> None:
    for folder in ("repo/src", "repo/.venv/lib/site-packages", "copy/src"):
        (tmp_path / folder).mkdir(parents=True)
    working, top = str(tmp_path / "repo"), str(tmp_path / "copy")
    found = {one: _then(str(tmp_path / one), working, top) for one in ("repo", "repo/src", "copy/src")}
    assert found == {"repo": top, "repo/src": f"{top}/src", "copy/src": f"{top}/src"}
    packages = str(tmp_path / "repo/.venv/lib/site-packages")
    assert _then(packages, working, top) == packages
    assert _is_of(f"{working}/src/nets.py", working, top)
    assert not _is_of(f"{packages}/nets.py", working, top)
    assert not _is_of(f"{top}/src/nets.py", working, top)


# ---- with torch ----------------------------------------------------------------------------------


def test_a_module_is_a_target(project: Project) -> None:
    pytest.importorskip("torch")
    declared(project, settings=f'metrics = ["eops", "macs"]\n{DECLARED}')
    assert project.check("--update").code == 0
    assert lock_line(NAME, "macs", "exact", "12*batch") in project.lock
    assert lock_line(NAME, "given", {"shapes": {"input": ["batch", 4]}}) in project.lock
    assert '"sealed"' not in project.lock  # its code may use any file


def test_a_step_of_training_of_a_module(project: Project) -> None:
    """It is exported in training mode, and its optimiser is among what figures rest on."""
    pytest.importorskip("torch")
    declared(project, settings=f'metrics = ["macs", "state_bytes"]\n{DECLARED}train = "adamw"\n')
    assert project.check("--update").code == 0
    assert lock_line(NAME, "state_bytes", "exact", "120") in project.lock
    assert "optimizers/adamw.tol" in project.lock


def test_it_is_compared_with_that_of_a_revision(project: Project) -> None:
    """The change is in a file that the module imports; everything else is as it was."""
    pytest.importorskip("torch")
    budget = f'[budgets]\n"{NAME}" = "batch=1000: eops < 59 k"\n'
    declared(project, TWO, "Identity", settings=budget + DECLARED)
    project.commit()
    declared(project, TWO, "ReLU", settings=budget + DECLARED)
    said = project.check(f"{NAME} --also github=out.txt --base HEAD")
    assert said.code == 1
    assert "  eops    costlier (never cheaper)  54*batch " in said.out
    assert "    tolcost.toml:3: Relu was 0, is 3*batch\n" in said.out
    assert "budget batch=1000: eops < 59 k" not in said.out
    lines = (project.root / "out.txt").read_text().splitlines()
    assert lines[0].startswith(f"::error file=tolcost.toml,line=3,title={NAME.replace(':', '%3A')} ")


def test_code_of_the_working_tree_is_not_taken_for_that_of_a_revision(project: Project) -> None:
    """An editable installation, here a hook of Python's import, leads every revision to the working tree."""
    pytest.importorskip("torch")
    declared(project)
    hook = (
        "import sys, importlib.util\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        file = {str(project.root)!r} + '/nets/' + name.rpartition('.')[2] + '.py'\n"
        "        return importlib.util.spec_from_file_location(name, file) if 'nets.' in name else None\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    project.file("nets/__init__.py", hook)
    project.commit()
    declared(project, TWO)
    said = project.check("--base HEAD")
    assert said.code == 3
    assert "is imported from the working tree, not from the revision" in said.out


@pytest.mark.parametrize(
    "net, said",
    [
        ("nn.Linear(5, 3)", "torch cannot export this: RuntimeError: "),
        ("nn.Nothing()", "`nets.models:Net` fails when it is called without arguments: AttributeError: "),
        ("__import__('os')._exit(0)", "the process that exports `nets.models:Net` wrote no model"),
        ("__import__('os').abort()", "the process that exports `nets.models:Net` was killed by signal 6"),
    ],
)
def test_an_export_that_fails_is_told_in_the_settings(project: Project, net: str, said: str) -> None:
    pytest.importorskip("torch")
    declared(project, net)
    found = project.check("--update")
    assert found.code == 2
    assert found.err.startswith(f"error[T0682]: {said}")
    assert "  --> tolcost.toml:1:11\n" in found.err


def test_cases_and_options_of_a_module(project: Project) -> None:
    pytest.importorskip("torch")
    cases = f'[modules."{NAME}".one]\nshapes = {{ "input:float16" = [1, 4] }}\nweights = false\n'
    cases += (
        f'[modules."{NAME}".many]\nshapes = {{ input = ["rows", 4] }}\nopset = 20\nassume = ["rows >= 2"]\n'
    )
    declared(project, "nn.Identity(), nn.ReLU()", settings=cases)
    assert project.check("--update").code == 0
    assert lock_line(f"{NAME}#one", "inputs", ["input", [["float16", ["1", "4"]]]]) in project.lock
    assert lock_line(f"{NAME}#many", "eops", "exact", "4*rows") in project.lock
    given = {"assume": ["rows >= 2"], "attrs": {"opset": 20}, "shapes": {"input": ["rows", 4]}}
    assert lock_line(f"{NAME}#many", "given", given) in project.lock


def test_what_code_prints_and_changes_stays_in_its_process(project: Project) -> None:
    pytest.importorskip("torch")
    declared(project)
    project.file(
        "nets/__init__.py", "import os, sys\nprint('hello')\nsys.stderr.write('there')\nos.chdir('/')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tolcost", "check", "--update"]
    done = subprocess.run(command, cwd=project.root, env=env, capture_output=True, text=True, check=True)
    assert "hello" not in done.stdout
    assert "there" not in done.stderr
