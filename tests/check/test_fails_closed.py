"""Whatever the gate cannot read, find, match or decide is a failure with a reason, never "new" or "none"."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.check.notation import entry
from tests.check.support import Project
from tests.check.test_models import LINEAR, model
from tests.check.texts import BROKEN, SQUARE, SUM, SUM_OF_EXP
from tolcost.check.baseline import Baseline, paired
from tolcost.check.records import LockedFigure
from tolcost.check.targets import Target

USES = "use double\ntol x: R [n]\ny := map(x, double(*))\n"
LINEAR_TOL = "tol x: R [s]\ny := map(tol[s], x[1] + 1, [i])\n"  # s
TWO = "tol a: R [n]\ntol b: R [m]\ny := reduce({}, add, 0)\n"


# ---- what is not checked out, or not matched by a pattern ----------------------------------------


def test_a_pattern_of_models_that_did_not_change(project: Project) -> None:
    project.file("tolcost.toml", 'paths = ["ops", "models/*.onnx"]\n')
    (project.root / "models").mkdir()
    model(project, LINEAR, name="models/net.onnx")
    project.write(**{"ops/a": LINEAR_TOL})
    project.commit()
    project.write(**{"ops/a": SQUARE.replace("tol w: R [64]\n", "")})
    for form in ("text", "json", "md", "github", "gitlab", "sarif", "junit"):
        said = project.check(f"--base HEAD --format {form}")
        assert said.code == 1
        assert "s**2" in said.out
    assert project.check("--base HEAD ops").code == 1


def test_a_pattern_that_matched_nothing_then(project: Project) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\n')
    project.write(**{"ops/a": SUM})
    project.commit()
    project.file("tolcost.toml", 'paths = ["ops", "more"]\n')
    project.write(**{"ops/a": SUM_OF_EXP, "more/b": SUM})
    said = project.check("--base HEAD")
    assert (said.code, "costlier: 1 costlier, 1 new" in said.out) == (1, True)


def test_a_model_under_a_library_that_changed(project: Project) -> None:
    project.file("tolcost.toml", 'specs = ["."]\npaths = ["net.onnx"]\n')
    model(project, LINEAR)
    relu = "operator Relu\nx: R [...]\nY := map(x, max(*, 0))\n"
    project.file("onnx/Unused.tol", relu)
    project.commit()
    project.file("onnx/Unused.tol", relu + "# changed\n")
    said = project.check("--base HEAD")
    assert (said.code, said.out) == (0, "ok: 1 unchanged (1 program against git HEAD)\n")


def test_a_revision_without_its_content(project: Project) -> None:
    project.write(sum=SUM)
    project.commit()
    blob = project.git("rev-parse", "HEAD:sum.tol").strip()
    project.write(sum=SUM_OF_EXP)
    (project.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    said = project.check("--base HEAD")
    assert (said.code, said.out) == (2, "")
    assert "git does not have what `sum.tol` was" in said.err


# ---- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", ["", "--base HEAD"])
@pytest.mark.parametrize("how", ["file", "folder", "below", "chain", "ending"])
def test_a_program_behind_a_link(project: Project, against: str, how: str) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\n')
    real = "real/a.txt" if how == "ending" else "real/a.tol"
    project.file(real, SUM)
    if how == "folder":
        (project.root / "ops").symlink_to("real")
    elif how == "below":
        (project.root / "ops").mkdir()
        (project.root / "ops" / "deep").symlink_to("../real")
    elif how == "ending":
        (project.root / "ops").mkdir()
        (project.root / "ops" / "a.tol").symlink_to(f"../{real}")
    else:
        (project.root / "ops").mkdir()
        (project.root / "via.tol").symlink_to("real/a.tol")
        (project.root / "ops" / "a.tol").symlink_to("../via.tol" if how == "chain" else "../real/a.tol")
    assert project.check("--update").code == 0
    project.commit()
    assert project.check(against).code == 0
    project.file(real, SUM_OF_EXP)
    said = project.check(against)
    name = "ops/deep/a.tol" if how == "below" else "ops/a.tol"
    assert (said.code, f"{name}\n" in said.out) == (1, True)


@pytest.mark.parametrize("against", ["", "--base HEAD"])
@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_library_behind_a_link(project: Project, against: str, how: str) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["mine"]\n')
    project.file("shared/double.tol", "double(x) = x + x\n")
    project.write(**{"ops/a": USES})
    (project.root / "mine").mkdir()
    if how == "folder":
        (project.root / "mine" / "lib").symlink_to("../shared")
    else:
        (project.root / "mine" / "lib").mkdir()
        (project.root / "mine" / "lib" / "double.tol").symlink_to("../../shared/double.tol")
    assert project.check("--update").code == 0
    project.commit()
    project.file("shared/double.tol", "double(x) = x + x + x\n")
    assert project.check(against).code == 1


@pytest.mark.parametrize("against", ["", "--base HEAD"])
def test_a_link_that_leads_elsewhere(project: Project, against: str) -> None:
    project.write(**{"real/a": SUM, "real/b": SUM_OF_EXP})
    project.file("tolcost.toml", 'paths = ["ops"]\n')
    (project.root / "ops").mkdir()
    link = project.root / "ops" / "a.tol"
    link.symlink_to("../real/a.tol")
    project.check("--update")
    project.commit()
    link.unlink()
    link.symlink_to("../real/b.tol")
    assert project.check(against).code == 1


def test_a_project_below_the_top_of_its_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(**{"shared/a": SUM})
    (project.root / "sub" / "ops").mkdir(parents=True)
    (project.root / "sub" / "ops" / "a.tol").symlink_to("../../shared/a.tol")
    project.file("sub/tolcost.toml", 'paths = ["ops"]\n')
    monkeypatch.chdir(project.root / "sub")
    assert project.check("--update").code == 0
    project.commit()
    assert project.check("--base HEAD").out == "ok: 1 unchanged (1 program against git HEAD)\n"
    project.write(**{"shared/a": SUM_OF_EXP})
    assert project.check("--base HEAD").code == project.check().code == 1


def test_links_out_of_the_repository_are_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.tol").write_text(SUM)
    project.write(b=SUM)
    (project.root / "data").symlink_to(tmp_path / "outside")
    assert project.check("--update").out.startswith("tolcost.lock written: 1 new, 0 unchanged (1 program ")
    (project.root / "a.tol").symlink_to(tmp_path / "outside" / "a.tol")
    said = project.check()
    assert (said.code, "`a.tol` is a link that leads out of the repository" in said.err) == (2, True)


def test_links_in_circles(project: Project) -> None:
    project.locked(a=SUM)
    (project.root / "deep").mkdir()
    (project.root / "deep" / "up").symlink_to("..")
    (project.root / "self.tol").symlink_to("self.tol")
    said = project.check()
    assert said.code == 2
    assert "self.tol" in said.err
    assert "deep/up" not in said.out


# ---- submodules and names --------------------------------------------------------------------------


def submodule(project: Project, tmp_path: Path) -> Project:
    """A library in a submodule of the project."""
    (tmp_path / "lib").mkdir()
    library = Project(tmp_path / "lib", project.capsys)
    library.git("init", "--quiet")
    library.file("lib/double.tol", "double(x) = x + x\n")
    library.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "mine")
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["mine"]\n')
    project.write(**{"ops/a": USES})
    project.commit()
    return Project(project.root / "mine", project.capsys)


def test_a_library_in_a_submodule(project: Project, tmp_path: Path) -> None:
    mine = submodule(project, tmp_path)
    assert project.check("--base HEAD").code == 0
    mine.file("lib/double.tol", "double(x) = x + x + x\n")
    assert project.check("--base HEAD").code == 1
    mine.commit()
    project.commit()
    assert project.check("--base HEAD").code == 0
    assert project.check("--base HEAD~1").code == 1


def test_a_program_in_a_submodule_that_is_not_here_any_more(project: Project, tmp_path: Path) -> None:
    mine = submodule(project, tmp_path)
    project.file("tolcost.toml", 'paths = ["mine/sum.tol"]\n')
    mine.write(sum=SUM)
    mine.commit()
    project.commit()
    mine.git("commit", "--quiet", "--amend", "--message", "other")
    mine.git("reflog", "expire", "--expire=now", "--all")
    mine.git("gc", "--quiet", "--prune=now")
    said = project.check("--base HEAD")
    assert (said.code, "the submodule `mine` of then is not here" in said.out) == (3, True)


@pytest.mark.parametrize("how", ["submodule", "link"])
def test_a_library_of_then_that_is_not_here(project: Project, tmp_path: Path, how: str) -> None:
    """Without it, tolcost's own of the same name would have been taken for it."""
    mine = submodule(project, tmp_path)
    mine.file("lib/activations.tol", "times(a, x) = x\n")
    mine.commit()
    project.write(**{"ops/a": "use activations\ntol x: R [n]\ny := map(x, times(3, *))\n"})
    if how == "link":
        (project.root / "by").mkdir()
        (project.root / "by" / "lib").symlink_to("../mine/lib")
        project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["by"]\n')
    project.commit()
    mine.file("lib/activations.tol", "times(a, x) = x * a\n")
    assert project.check("--base HEAD").code == 1
    mine.git("commit", "--quiet", "--amend", "--all", "--message", "other")
    mine.git("reflog", "expire", "--expire=now", "--all")
    mine.git("gc", "--quiet", "--prune=now")
    said = project.check("--base HEAD")
    assert (said.code, " of then " in said.out) == (3, True)


def test_endings_in_capitals(project: Project) -> None:
    project.locked(sum=SUM)
    (project.root / "sum.tol").unlink()
    project.file("sum.TOL", SUM_OF_EXP)
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert (said.code, "sum.TOL\n  renamed from sum.tol\n" in said.out) == (1, True)


def test_a_new_name_and_a_comment(project: Project) -> None:
    project.locked(sum=SUM)
    (project.root / "sum.tol").unlink()
    project.write(total="# a comment that is longer than the program itself\n" * 5 + SUM)
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert (said.code, "total.tol\n  renamed from sum.tol\n" in said.out) == (0, True)
    project.write(total="# a comment that is longer than the program itself\n" * 5 + SUM_OF_EXP)
    for against in ("", "--base HEAD"):
        assert project.check(against).code == 1


def test_what_came_and_what_went_and_nobody_can_tell(project: Project) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    for name in "ab":
        (project.root / f"{name}.tol").unlink()
    project.write(c="tol x: R [n]\ny := reduce(map(x, exp(*) + 1), add, 0)\n")
    said = project.check("--base HEAD")
    assert said.code == 3
    assert "it may be what became of `a.tol`, `b.tol`, which is not there any more" in said.out
    assert project.run("accept", "c.tol", "-m", "another one", "--base", "HEAD").code == 0
    assert project.check("--base HEAD").code == 0


def test_what_could_not_be_read_before(project: Project) -> None:
    project.write(sum=BROKEN)
    project.commit()
    project.write(sum=SUM)
    assert project.check("--base HEAD").code == 3


# ---- acceptances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [(), ("--base", "HEAD")])
def test_an_acceptance_is_of_lengths_not_of_names(project: Project, base: tuple[str, ...]) -> None:
    start = TWO.replace("tol b", "tol c: R [1]\ntol b").format("c")
    project.locked(sum=start)
    costlier = start.replace("reduce(c", "reduce(a")
    project.write(sum=costlier)
    assert project.run("accept", "sum.tol", "-m", "why", *base).code == 0
    assert project.check(" ".join(base)).code == 0
    swapped = costlier.replace("[n]", "[q]").replace("[m]", "[n]").replace("[q]", "[m]")
    project.write(sum=swapped)
    assert project.check(" ".join(base)).code == 0  # a costs as it did: only names changed
    project.write(sum=swapped.replace("reduce(a", "reduce(b"))
    assert project.check(" ".join(base)).code == 1


# ---- what data decides -----------------------------------------------------------------------------


CHOOSES = "tol x: R [n]\ny := map(x, choose(* > 0, exp(exp(*)), *))\n"  # at most 3*n
ALWAYS = "tol x: R [n]\ny := map(x, exp(exp(* + 1)))\n"  # 3*n, whatever the data


@pytest.mark.parametrize("against", ["", "--fresh", "--base HEAD"])
def test_no_more_than_a_bound_may_be_more_than_it_was(project: Project, against: str) -> None:
    project.file("tolcost.toml", 'metrics = ["eops"]\n')
    project.locked(a=CHOOSES)
    assert project.check(against).code == 0
    project.write(a=ALWAYS)
    said = project.check(against)
    assert (said.code, "the old figure is only an upper bound" in said.out) == (3, True)
    project.write(a=CHOOSES.replace("> 0", "> -9"))
    said = project.check(against)
    assert (said.code, "undecided: the upper bounds are equal" in said.out) == (3, True)


def test_bounds_and_data(project: Project) -> None:
    text = Path("specs/examples/positive.tol")
    program = (Path(__file__).parents[2] / text).read_text(encoding="utf-8")
    project.locked(positive=program)
    assert '"source"' in project.lock
    assert project.check().code == project.check("--fresh").code == project.check("--base HEAD").code == 0
    project.write(positive=f"# nothing but a remark\n{program}")
    assert project.check().code == project.check("--fresh").code == project.check("--base HEAD").code == 0
    other = program.replace("> 0", "> 1")
    assert other != program
    project.write(positive=other)
    for against in ("", "--fresh", "--base HEAD"):
        said = project.check(against)
        assert said.code == 3
        assert "need not be what it was" in said.out
    assert project.run("accept", "positive.tol", "-m", "fewer are kept").code == 0
    assert project.check().code == 0


# ---- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "narrower, said",
    [
        ('metrics = ["bytes"]\n', "`metrics` names eops no more"),
        ('exclude = ["a.tol"]\n', "`exclude` names `a.tol` (tolcost.toml)"),
        ('paths = ["b.tol"]\n', "`paths` does not name it (tolcost.toml)"),
        ('[budgets]\n"b.tol" = "eops <= 9*n"\n', "`budgets` holds `b.tol` to `eops <= n` no more"),
        ("", "`budgets` holds `b.tol` to `eops <= n` no more"),
    ],
)
def test_narrower_settings_are_told(project: Project, narrower: str, said: str) -> None:
    project.file("tolcost.toml", '[budgets]\n"b.tol" = "eops <= n"\n')
    project.locked(a=SUM, b=SUM)
    project.file("tolcost.toml", narrower)
    for form in ("text", "json", "md", "github", "gitlab", "sarif", "junit"):
        found = project.check(f"--base HEAD --format {form}")
        assert found.code == 1
        assert "no more" in found.out or "`exclude`" in found.out or "`paths`" in found.out
    assert said in project.check("--base HEAD").out
    assert project.check("--base HEAD --strict").code == 1
    if "budgets" not in said:
        found = project.check()
        assert (found.code, "no longer checked" in found.out) == (1, True)


def test_other_libraries_are_compared_under_the_settings_of_then(project: Project) -> None:
    project.file("one/lib/double.tol", "double(x) = x + x\n")
    project.file("two/lib/double.tol", "double(x) = x + x + x\n")
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["one"]\n')
    project.write(**{"ops/a": USES})
    project.commit()
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["two"]\n')
    assert project.check("--base HEAD").code == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_has_no_place_says_which_file_it_is(project: Project, jobs: int) -> None:
    """In another process as in this one."""
    for name in ("one.onnx", "two.onnx"):
        project.file(name, "no model")
    said = project.check(f"--update --jobs {jobs}")
    assert said.code == 2
    assert "is not an ONNX model\n  --> one.onnx" in said.err
    assert "is not an ONNX model\n  --> two.onnx" in said.err
    assert "nowhere" not in said.err


def test_a_folder_of_operators_that_is_not_there(project: Project) -> None:
    """Other definitions would take its place, and where all programs are sealed nobody would look for it."""
    project.locked(a=SUM)
    project.file("tolcost.toml", 'specs = ["mine"]\n')
    for arguments in ("", "--fresh", "--update", "--base HEAD"):
        found = project.check(arguments)
        assert (found.code, "T0668" in found.err) == (2, True)


def test_libraries_that_no_settings_name(project: Project) -> None:
    project.file("mine/lib/double.tol", "double(x) = x + x\n")
    project.file("tolcost.toml", 'paths = ["ops"]\n')
    project.write(**{"ops/a": USES})
    project.commit()
    assert project.check("--base HEAD --specs mine").code == 0
    project.file("mine/lib/double.tol", "double(x) = x + x + x\n")
    assert project.check("--base HEAD --specs mine").code == 1


def test_settings_of_then_that_cannot_be_read(project: Project) -> None:
    project.file("tolcost.toml", "nonsense\n")
    project.write(sum=SUM)
    project.commit()
    project.file("tolcost.toml", "")
    said = project.check("--base HEAD")
    assert (said.code, "the settings of HEAD cannot be read" in said.out) == (3, True)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_budget_where_the_program_does_not_go(project: Project, length: int) -> None:
    project.locked(sum="tol x: R [n]\ny := map(x, * + x[4])\n")
    project.file("tolcost.toml", f'[budgets]\n"sum.tol" = "n={length}: 1 GFLOP"\n')
    said = project.check()
    assert (said.code, said.out.startswith("not readable: ")) == (2, True)
    assert said.err.startswith("error[T0714]: the budget")
    project.file("tolcost.toml", '[budgets]\n"sum.tol" = "n=4: 1 GFLOP"\n')
    assert project.check().code == 0


# ---- two at once, and none to the end --------------------------------------------------------------

PROGRAM = "from tolcost.cli import run\nimport sys\nsys.exit(run(sys.argv[1:]))"
ROOT = Path(__file__).parents[2]


def start(project: Project, *arguments: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.Popen(
        command, cwd=project.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def test_two_updates_at_once_lose_nothing(project: Project) -> None:
    project.locked(**{f"p{n}": SUM for n in range(6)})
    project.write(**{f"p{n}": SUM_OF_EXP for n in range(6)})
    running = [start(project, "check", "--update", f"p{n}.tol") for n in range(6)]
    assert [process.wait() for process in running] == [0] * 6
    assert project.lock.count('"eops", "exact", "2*n"]\n') == 6


def test_an_update_that_is_killed_leaves_a_whole_file(project: Project) -> None:
    """Ten moments here; the campaign of two hundred is `make soak`'s."""
    times = int(os.environ.get("TOLCOST_KILLS", "6"))
    draw = random.Random(14)
    texts = []
    for program in (SUM, SUM_OF_EXP):
        project.write(**{f"p{n}": program for n in range(3)})
        begun = time.monotonic()
        assert start(project, "check", "--update", "--fresh").wait() == 0
        whole = time.monotonic() - begun
        texts.append(project.lock)
    for turn in range(times):
        project.write(**{f"p{n}": (SUM, SUM_OF_EXP)[turn % 2] for n in range(3)})
        process = start(project, "check", "--update", "--fresh")
        time.sleep(draw.uniform(0.3, 1.1) * whole)
        process.kill()
        process.wait()
        assert project.lock in texts


def test_a_thousand_new_names_are_found_in_time() -> None:
    figures = (("eops", LockedFigure("exact", "n")),)
    old = {f"old/p{n}.tol": entry(f"old/p{n}.tol", "x R[n]", "", figures) for n in range(1_000)}
    other = (("eops", LockedFigure("exact", "2*n")),)
    new = {f"new/q{n}.tol": entry(f"new/q{n}.tol", "x R[n]", "", other) for n in range(1_000)}
    start = time.process_time()
    found = paired(Baseline("then", old, lambda *_: None), [Target(n, n) for n in new], new, Path())
    assert time.process_time() - start < 2
    assert (found.renamed, len(found.unclear)) == ({}, 1_000)  # which is which, nobody can tell
