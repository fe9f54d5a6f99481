"""Who changes what figures are counted by, in the change that is judged, is told so and does not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import tolcost.check.entries
from tests.check.support import Project, lock_line
from tests.check.test_models import LINEAR, RELU, model
from tests.check.texts import SUM, SUM_OF_EXP

TIMES = "tol x: R [n]\nattr times: Z\ny := map(tol[times], reduce(x, add, 0), [i])\n"  # times*n
TWICE = TIMES.replace("reduce(x, add, 0)", "reduce(map(x, exp(*)), add, 0)")  # 2*times*n
FREE_RELU = "operator Relu 14\ntol X: R [...]\nY := X\n"
SQUARE_OF = "tol x: R [n]\ny := map(tol[n], reduce(x, add, 0), [i])\n"  # n**2
AGAINST = ["", "--base HEAD"]


def settings(project: Project, case: str, name: str = "a.tol") -> None:
    project.file("tolcost.toml", f'[cases."{name}".c]\n{case}\n')


def told(project: Project, against: str, text: str) -> None:
    """The rules changed, which fails; agreed to, it passes."""
    said = project.check(against)
    assert (said.code, "the rules changed" in said.out, text in said.out) == (1, True, True), said.out


# ---- what the settings say of inputs --------------------------------------------------------------


@pytest.mark.parametrize("against", AGAINST)
def test_attributes_that_change_while_a_program_grows(project: Project, against: str) -> None:
    settings(project, "attrs = { times = 8 }")
    project.locked(a=TIMES)
    settings(project, "attrs = { times = 2 }")
    project.write(a=TWICE)
    told(project, against, 'the settings said {"attrs": {"times": 8}} of its inputs')


@pytest.mark.parametrize("against", AGAINST)
def test_shapes_that_change_while_a_program_grows(project: Project, against: str) -> None:
    any_rank = SUM.replace("[n]", "[...]")
    settings(project, 'shapes = { x = ["n"] }')
    project.locked(a=any_rank)
    settings(project, "shapes = { x = [1] }")
    project.write(a="tol x: R [...]\ny := map(tol[|x|[1]], reduce(x, add, 0), [i])\n")
    told(project, against, "of its inputs and say")


@pytest.mark.parametrize("against", AGAINST)
def test_assumptions_that_come_while_a_program_grows(project: Project, against: str) -> None:
    settings(project, 'assume = ["n <= 512"]')
    project.locked(a=SUM)
    settings(project, 'assume = ["n <= 1"]')
    project.write(a=SQUARE_OF)
    told(project, against, '"n <= 1"')


def test_only_the_words_of_settings_change(project: Project) -> None:
    settings(project, 'attrs = { times = 8 }\nshapes = { x = ["n"] }')
    project.locked(a=TIMES)
    settings(project, '# a remark\nshapes = { x = ["n"] }\nattrs = {times=8}')
    assert [project.check(against).code for against in AGAINST] == [0, 0]


# ---- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("against", AGAINST)
def test_a_cheaper_definition_of_an_operator(project: Project, against: str) -> None:
    project.file("tolcost.toml", 'paths = ["net.onnx"]\n')
    model(project, LINEAR, RELU)
    project.locked()
    assert '["net.onnx", "uses", "onnx/MatMul", ' in project.lock
    model(project, LINEAR, RELU, ("Relu", ("z",), "u"))
    project.file("tolcost.toml", 'paths = ["net.onnx"]\nspecs = ["mine"]\n')
    project.file("mine/onnx/Relu.tol", FREE_RELU)
    told(project, against, "`onnx/Relu` was tolcost's and is the project's own")
    assert "MatMul` is another" not in project.check(against).out


@pytest.mark.parametrize("against", AGAINST)
def test_a_definition_of_the_project_that_becomes_cheaper(project: Project, against: str) -> None:
    project.file("tolcost.toml", 'paths = ["net.onnx"]\nspecs = ["mine"]\n')
    project.file("mine/onnx/Relu.tol", FREE_RELU.replace("Y := X", "Y := map(X, max(*, 0))"))
    model(project, LINEAR, RELU)
    project.locked()
    project.file("mine/onnx/Relu.tol", "# a remark\n" + FREE_RELU.replace("Y := X", "Y := map(X, max(*, 0))"))
    assert project.check(against).code == 0
    project.file("mine/onnx/Relu.tol", FREE_RELU)
    told(project, against, "`onnx/Relu` is another")


@pytest.mark.parametrize("against", AGAINST)
def test_a_cheaper_definition_behind_an_operator(project: Project, against: str) -> None:
    """Operators rest on library files; a project's own takes the place of tolcost's in all of them."""
    project.file("tolcost.toml", 'paths = ["net.onnx"]\n')
    model(project, LINEAR)
    project.locked()
    project.file("tolcost.toml", 'paths = ["net.onnx"]\nspecs = ["mine"]\n')
    specs = Path(__file__).parents[2] / "specs"
    used = (specs / "onnx/MatMul.tol").read_text("utf-8")
    name = next(path.stem for path in specs.glob("lib/*.tol") if f"use {path.stem}" in used)
    text = (specs / f"lib/{name}.tol").read_text("utf-8")
    project.file(f"mine/lib/{name}.tol", text + "\nnobody_needs(x) = x\n")
    told(project, against, "`onnx/MatMul` is another")


@pytest.mark.parametrize("against", AGAINST)
def test_a_cheaper_library_in_place_of_one_of_tolcost(project: Project, against: str) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\n')
    project.locked(**{"ops/a": "use activations\ntol x: R [n]\ny := map(x, sigmoid(*))\n"})
    project.write(**{"ops/a": "use activations\ntol x: R [n]\ny := map(x, sigmoid(*) + 1)\n"})
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["mine"]\n')
    project.file("mine/lib/activations.tol", "sigmoid(x) = x\n")
    told(project, against, "`lib/activations` was tolcost's and is the project's own")


def test_a_library_of_the_project_is_a_part_of_its_programs(project: Project) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["mine"]\n')
    project.file("mine/lib/double.tol", "double(x) = x + x\n")
    project.locked(**{"ops/a": "use double\ntol x: R [n]\ny := map(x, double(*))\n"})
    assert '"uses"' not in project.lock
    project.file("mine/lib/double.tol", "double(x) = x\n")
    assert [project.check(against).code for against in AGAINST] == [0, 0]


# ---- tables ---------------------------------------------------------------------------------------


def test_weights_and_devices(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.file("tolcost.toml", 'metrics = ["flops", "arithmetic_bound_h200"]\nseal = false\n')
    project.locked(a=SUM)
    assert '["a.tol", "uses", "devices/h200", ' in project.lock
    with monkeypatch.context() as patch:
        patch.setattr(tolcost.check.entries, "costs_version", lambda: "12345678")
        told(project, "", " and is 12345678")
    with monkeypatch.context() as patch:
        real = tolcost.check.entries.read_device
        patch.setattr(tolcost.check.entries, "read_device", lambda name: f"{real(name)}faster = true\n")
        told(project, "", "`devices/h200` is another")


def test_a_part_that_is_updated_leaves_the_tables_of_the_rest(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.file("tolcost.toml", "seal = false\n")
    project.locked(a=SUM, b=SUM)
    for module in (tolcost.check.entries, tolcost.check.gate):
        monkeypatch.setattr(module, "costs_version", lambda: "12345678")
    assert project.check("--update a.tol").code == 0
    assert project.lock.count('"costs", ') == 2
    said = project.check()
    assert (said.code, said.out.count("the rules changed")) == (1, 1)


# ---- agreeing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", AGAINST)
def test_other_rules_are_agreed_to(project: Project, against: str) -> None:
    settings(project, "attrs = { times = 8 }")
    project.locked(a=TIMES)
    settings(project, "attrs = { times = 2 }")
    assert project.check(against).code == 1
    base = ["--base", "HEAD"] if against else []
    assert project.run("accept", "a.tol#c", "-m", "two will do", *base).code == 0
    said = project.check(against)
    assert (said.code, "accepted: two will do" in said.out) == (0, True)
    settings(project, "attrs = { times = 1 }")
    assert project.check(against).code == 1
    settings(project, "attrs = { times = 2 }")
    assert project.check("--update").code == 0
    assert project.check().out == "ok: 1 unchanged (1 program against tolcost.lock)\n"
    assert project.check("--base HEAD").code == 0  # the reason is in the lock file
    project.commit()
    assert project.check("--base HEAD").out == "ok: 1 unchanged (1 program against git HEAD)\n"


@pytest.mark.parametrize(
    "narrower, name", [('exclude = ["a.tol"]\n', "a.tol"), ('metrics = ["bytes"]\n', "tolcost.toml")]
)
def test_that_less_is_checked_is_agreed_to(project: Project, narrower: str, name: str) -> None:
    project.locked(a=SUM, b=SUM)
    project.file("tolcost.toml", narrower)
    assert project.check("--base HEAD").code == project.check().code == 1
    assert project.run("accept", name, "-m", "not ours", "--base", "HEAD").code == 0
    assert project.check("--base HEAD").code == 0
    assert project.run("accept", name, "-m", "not ours").code == 0
    assert project.check().code == 0
    assert project.check("--update --prune").code == 0
    assert "not ours" not in project.lock
    assert project.check().out.startswith("ok: ")


def test_a_lock_file_that_knows_no_rules(project: Project) -> None:
    settings(project, "attrs = { times = 8 }")
    project.locked(a=TIMES)
    line = lock_line("a.tol#c", "given", {"attrs": {"times": 8}})
    assert line in project.lock
    project.file("tolcost.lock", project.lock.replace(line, lock_line("a.tol#c", "given", None)))
    said = project.check()
    assert (said.code, "what 1 of the programs rest on is not in tolcost.lock" in said.out) == (0, True)
    assert project.check("--update").code == 0
    assert line in project.lock


# ---- links ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("there", [True, False])
def test_a_folder_of_programs_that_becomes_a_link_out(
    project: Project, tmp_path: Path, against: str, there: bool
) -> None:
    project.file("tolcost.toml", 'paths = ["ops", "more"]\n')
    project.locked(**{"ops/deep/a": SUM, "ops/c": SUM, "more/b": SUM})
    (project.root / "ops" / "deep").rename(tmp_path / "deep")
    (tmp_path / "deep" / "a.tol").write_text(SUM_OF_EXP)
    (project.root / "ops" / "deep").symlink_to(tmp_path / ("deep" if there else "nowhere"))
    said = project.check(against)
    assert (said.code, "is behind a link that leads out of the repository" in said.err) == (2, True)


@pytest.mark.parametrize("against", AGAINST)
def test_a_folder_of_programs_that_becomes_a_link_to_nowhere(project: Project, against: str) -> None:
    project.locked(**{"ops/a": SUM, "more/b": SUM})
    (project.root / "ops" / "a.tol").unlink()
    (project.root / "ops").rmdir()
    (project.root / "ops").symlink_to("made-later")
    said = project.check(against)
    assert (said.code, "is behind a link that leads nowhere" in said.err) == (2, True)


@pytest.mark.parametrize("what", ["tolcost.toml", "tolcost.lock", "mine", "mine/lib", "mine/lib/double.tol"])
def test_what_decides_is_in_the_repository(project: Project, tmp_path: Path, what: str) -> None:
    project.file("tolcost.toml", 'paths = ["ops"]\nspecs = ["mine"]\n')
    project.file("mine/lib/double.tol", "double(x) = x + x\n")
    project.locked(**{"ops/a": "use double\ntol x: R [n]\ny := map(x, double(*))\n"})
    (project.root / what).rename(tmp_path / "elsewhere")
    (project.root / what).symlink_to(tmp_path / "elsewhere")
    for line in ("", "--base HEAD", "--update"):
        said = project.check(line)
        assert (said.code, f"`{what}` is a link that leads out of the repository" in said.err) == (2, True)


@pytest.mark.parametrize("real", ["a.tol", "tolcost.lock", "tolcost.toml", "B.TOL", "real/c.txt"])
@pytest.mark.parametrize("option", ["--also json=out.json", "--format json --output out.json"])
def test_a_result_is_not_written_through_a_link(project: Project, real: str, option: str) -> None:
    project.file("tolcost.toml", "")
    project.file("B.TOL", SUM)
    project.file("real/c.txt", SUM)
    (project.root / "c.tol").symlink_to("real/c.txt")
    project.locked(a=SUM)
    before = (project.root / real).read_bytes()
    (project.root / "out.json").symlink_to(real)
    said = project.check(option)
    assert (said.code, (project.root / real).read_bytes()) == (2, before)


# ---- which is which -----------------------------------------------------------------------------------

OTHER_SUM = "tol x: R [n]\nother := reduce(map(x, exp(*)), add, 0)\n"  # as SUM_OF_EXP, with another text


@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("name", ["c", "moved/b"])
def test_a_program_that_moves_and_grows_while_another_one_is_deleted(
    project: Project, against: str, name: str
) -> None:
    """It costs what the deleted one did, and may be called so, but is no other."""
    project.locked(a=SUM, b=SUM_OF_EXP)
    for old in "ab":
        (project.root / f"{old}.tol").unlink()
    project.write(**{name: OTHER_SUM})
    said = project.check(against)
    assert (said.code, "it may be what became of `a.tol`" in said.out) == (3, True)
    base = ["--base", "HEAD"] if against else []
    assert project.run("accept", f"{name}.tol", "-m", "it is b", *base).code == 0
    assert project.check(against).code == 0


@pytest.mark.parametrize("against", AGAINST)
def test_a_program_that_moves_as_it_is_while_another_one_is_deleted(project: Project, against: str) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    for old in "ab":
        (project.root / f"{old}.tol").unlink()
    project.write(c=f"# a remark\n{SUM_OF_EXP}")
    said = project.check(against)
    assert (said.code, "renamed from b.tol" in said.out) == (0, True)


@pytest.mark.parametrize("against", AGAINST)
def test_a_program_that_costs_no_more_than_any_that_is_gone(project: Project, against: str) -> None:
    project.locked(a=SUM_OF_EXP, b=SUM)
    for old in "ab":
        (project.root / f"{old}.tol").unlink()
    project.write(c="tol x: R [n]\nother := reduce(x, add, 0)\n")
    assert project.check(against).code == 0
