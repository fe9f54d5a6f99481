"""Budgets and settings: what they hold programs to, and what they refuse."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from tests.check.support import Project, lock_line
from tests.check.texts import APART, SQUARE, SUM, SUM_OF_EXP
from tolcost.check.budgets import read_budget
from tolcost.check.records import devices_known
from tolcost.diagnostics import Rejected


def settings(project: Project, text: str) -> None:
    project.file("tolcost.toml", text)


def budget(project: Project, *texts: str, name: str = "sum.tol") -> None:
    listed = ", ".join(f"'{text}'" for text in texts)
    settings(project, f'[budgets]\n"{name}" = [{listed}]\n')


@pytest.mark.parametrize(
    "text, metric, limit",
    [
        ("2.5 GFLOP", "flops", 2_500_000_000),
        ("seq=4096: 2.5 GFLOPs", "flops", 2_500_000_000),
        ("1_000 MACs", "macs", 1000),
        ("0.1 kEOP", "eops", 100),
        ("3 KiB", "bytes", 3072),
        ("bytes <= 1.5 MiB", "bytes", 1_572_864),
        ("time_h200 <= 5 ms at batch=1, seq=512", "time_h200", 5 * 10**15),
        ("seq=512: arithmetic_bound_h200 <= 2.5 us", "arithmetic_bound_h200", 2_500_000_000_000),
        ("1.0000000000000000000001 TFLOP", "flops", 10**12),
        ("3 MMAC", "macs", 3 * 10**6),
        ("2 PFLOP", "flops", 2 * 10**15),
        ("5 GiB", "bytes", 5 * 2**30),
        ("5 TiB", "bytes", 5 * 2**40),
        ("time_h200 <= 7 ns", "time_h200", 7 * 10**9),
        ("time_h200 <= 7 s", "time_h200", 7 * 10**18),
        ("peak <= 80 GB", "peak_bytes", 80 * 10**9),
        ("peak_bytes <= 80GiB", "peak_bytes", 80 * 2**30),
        ("param_bytes <= 14 GB", "param_bytes", 14 * 10**9),
        ("params <= 7 B", "params", 7 * 10**9),
        ("parameters <= 350 M", "params", 350 * 10**6),
        ("macs <= 10 M", "macs", 10**7),
        ("eops <= 1e9", "eops", 10**9),
        ("eops < 1 GEOP", "eops", 10**9 - 1),
        ("eops < 2.5", "eops", 2),
        ("time_h200 < 3 ms", "time_h200", 3 * 10**15 - 1),
        ("depth <= 12", "span", 12),
    ],
)
def test_amounts_are_exact(text: str, metric: str, limit: int) -> None:
    found = read_budget("*", text)
    assert (found.metric, found.limit) == (metric, str(limit))


@pytest.mark.parametrize(
    "text",
    [
        "", "eops", "eops > n", "time <= n", "2.5 Gwhat", "n=: 1 kFLOP", "n=1, n=2: 1 kFLOP", "n: 1 kFLOP",
        "bytes <= 2 GFLOP", "-1 FLOP", "1e999 FLOP", "n=1" * 5000, "__import__('os')",
        "n=" + "9" * 99 + ": 1 B",
    ],
)  # fmt: skip
def test_budgets_that_are_none(text: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_budget("*", text)
    assert caught.value.diagnostics[0].code == "T0712"


@pytest.mark.parametrize(
    "text, hint",
    [
        ("eops < 1 GFLOP", "`eops < 1 GEOP`, or a budget of flops"),
        (
            "params <= 14 GB",
            "`params <= 14 G`, or a budget of bytes or param_bytes or gradient_bytes or state_bytes"
            " or kept or train_peak or peak_bytes",
        ),
        ("peak <= 80 gb", "did you mean `80 GB`?"),
        ("macs <= 10 m", "did you mean `10 M`?"),
        ("eops <= 3 zEOP", "a number alone, or with k M G T P or Ki Mi Gi Ti before EOP"),
        ("eops >= 3", "`eops <= LIMIT`, or `<`"),
        ("EOPs <= 3", "did you mean `eops`?"),
        ("time <= 3 ms", f"`time_DEVICE <= 3 ms`; {devices_known()}"),
        ("time_abacus <= 3 ms", f"`time_DEVICE <= 3 ms`; {devices_known()}"),
        ("time_h200 <= 3", "such as `3 ms`"),
    ],
)
def test_who_writes_a_budget_otherwise_is_told_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_budget("*", text)
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].hint) == ("T0712", hint)


def test_less_is_less(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    budget(project, "eops < 2*n + 1", "n=4096: flops < 8193")
    assert project.check().code == 0
    budget(project, "eops < 2*n")
    said = project.check()
    assert (said.code, "    eops 2*n, allowed 2*n - 1\n" in said.out) == (1, True)


def test_the_longest_budget_is_read_and_no_longer_one() -> None:
    assert read_budget("*", "n=1: eops <= 3".ljust(2_000)).dims == (("n", 1),)
    with pytest.raises(Rejected):
        read_budget("*", "n=1: eops <= 3".ljust(2_001))


def test_kept_for_every_shape(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    budget(project, "eops <= 6*vol(x)", "eops <= 2*n", "n=4096: 8.2 kFLOP", "bytes <= 4*n + 4")
    said = project.check()
    assert (said.code, said.out) == (0, "ok: 1 unchanged (1 program against tolcost.lock)\n")


def test_exceeded_for_every_shape(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    budget(project, "eops <= vol(x)")
    said = project.check()
    assert said.out == (
        "over budget: 1 budget not kept, 1 unchanged (1 program against tolcost.lock)\n\n"
        "sum.tol\n"
        "  budget eops <= vol(x): exceeded\n"
        "    eops 2*n, allowed n\n"
        "    at n=1024: 2,048, allowed 1,024\n"
    )
    assert said.code == 1


def test_exceeded_at_a_length(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    budget(project, "n=4096: 8.1 kFLOP")
    said = project.check()
    assert said.out.endswith(
        "  budget n=4096: 8.1 kFLOP: exceeded\n"
        "    flops 8192, allowed 8100\n"
        "    at n=4096: 8,192, allowed 8,100\n"
    )
    assert said.code == 1


def test_exceeded_only_from_some_length_on(project: Project) -> None:
    project.locked(loop=SQUARE)
    budget(project, "eops <= 64*vol(x)", name="loop.tol")
    said = project.check()
    assert "  budget eops <= 64*vol(x): exceeded only if s > 64\n" in said.out
    assert said.code == 1


def test_undecided(project: Project) -> None:
    project.locked(pool=APART)
    budget(project, "eops <= floor(m*n/k)", name="pool.tol")
    said = project.check()
    assert "  budget eops <= floor(m*n/k): undecided: kept at 222 shapes tried, and not proved\n" in said.out
    assert said.code == 3


def test_a_mistake_is_shown_where_it_is(project: Project) -> None:
    """The same text stands with another program before: that one was shown twice."""
    project.locked(a=SUM, b=SUM)
    settings(project, '[budgets]\n"a.tol" = ["3 zFLOP"]\n"b.tol" = ["3 zFLOP"]\n')
    said = project.check()
    assert [line.strip() for line in said.err.splitlines() if "-->" in line] == [
        "--> tolcost.toml:2:13",
        "--> tolcost.toml:3:13",
    ]


def test_patterns(project: Project) -> None:
    project.locked(a=SUM, b=SUM_OF_EXP)
    budget(project, "eops <= n", name="*.tol")
    said = project.check("--format json")
    assert said.code == 1
    assert said.out.count('"kind": "exceeded"') == 1
    assert project.check("a.tol").code == 0


@pytest.mark.parametrize(
    "name, text, code",
    [
        ("nothing.tol", "eops <= n", "T0713"),
        ("sum.tol", "eops <= m", "T0714"),
        ("sum.tol", "eops <= vol(q)", "T0714"),
        ("sum.tol", "m=4: 1 kFLOP", "T0714"),
        ("sum.tol", "span <= n", "T0714"),
        ("sum.tol", "eops <= n +", "T0712"),
        ("sum.tol", "eops <= " + "(" * 500 + "n", "T0712"),
        ("sum.tol", "eops <= 9**9**9", "T0712"),
    ],
)
def test_budgets_that_do_not_fit(project: Project, name: str, text: str, code: str) -> None:
    project.locked(sum=SUM)
    budget(project, text, name=name)
    said = project.check()
    assert said.code == 2
    assert said.err.startswith(f"error[{code}]: ")


def test_a_budget_that_does_not_fit_hides_no_other_finding(project: Project) -> None:
    """It stands at its line of the settings, in every format, beside what became costlier."""
    project.locked(sum=SUM, other=SUM)
    project.file("sum.tol", SUM_OF_EXP)
    project.file("tolcost.toml", '[budgets]\n"sum.tol" = "eops <= k"\n"other.tol" = "eops <= 0*n"\n')
    assert "T0714" not in project.check().out  # it is on standard error, and once is enough
    said = project.check("--format github")
    assert said.code == 2
    assert "error[T0714]" in said.err
    found = [line for line in said.out.splitlines() if line.startswith("::error")]
    assert [line.partition(",")[0] for line in found[:2]] == [
        "::error file=tolcost.toml",
        "::error file=sum.tol",
    ]
    assert "line=2" in found[0]
    assert "hint: it has n" in found[0]
    assert any("other.tol" in line and "budget" in line for line in found)
    for form in ("md", "junit"):
        assert "hint: it has n" in project.check(f"--format {form}").out


def test_the_budget_of_a_renamed_program_names_the_new_one(project: Project) -> None:
    project.file("tolcost.toml", '[budgets]\n"sum.tol" = "eops <= n"\n')
    project.locked(sum=SUM)
    (project.root / "sum.tol").rename(project.root / "total.tol")
    said = project.check()
    assert said.code == 2
    assert "`sum.tol` is now `total.tol`" in said.err
    assert "renamed from sum.tol" in said.out


@pytest.mark.parametrize("base", ["", "--base HEAD"])
def test_the_command_that_agrees_works_as_it_is_printed(project: Project, base: str) -> None:
    project.locked(sum=SUM)
    project.file("sum.tol", SUM_OF_EXP)
    said = project.check(base)
    line = next(line for line in said.out.splitlines() if line.startswith("to agree to it: "))
    command = shlex.split(line.partition(": tolcost ")[2])
    assert command == ["accept", "sum.tol", "-m", "why", *base.split()]
    assert project.run(*command).code == 0
    assert project.check(base).code == 0


def test_budgets_hold_against_a_revision_too(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    budget(project, "eops <= n")
    assert project.check("--base HEAD").code == 1
    assert project.check("--update").code == 1


# ---- settings -------------------------------------------------------------------------------------


def test_settings_in_pyproject(project: Project) -> None:
    project.locked(sum=SUM)
    project.file("pyproject.toml", '[tool.tolcost.budgets]\n"sum.tol" = "eops <= 0*n"\n')
    assert project.check().code == 1
    settings(project, "")
    said = project.check()
    assert (said.code, "settings stand in both" in said.err) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        'paths = ["../x"]', 'specs = ["/etc"]', 'paths = ["a\\u0000b"]',
        'path = ["ops"]', "paths = 3", 'paths = [""]', "paths = [1]", 'metrics = ["time"]', "metrics = []",
        "budgets = 3", '[budgets]\n"a" = 3', '[budgets]\n"a" = []', "cases = 3", '[cases."a"]\nb = 3',
        '[cases."a".b]\nshape = 3', '[cases."a".b]\nshapes = 3', '[cases."a".b]\nshapes.x = 3',
        '[cases."a".b]\nattrs.x = {}', '[cases."a"."b c"]', '[cases."a".b]\nshapes.x = [[["n"]]]',
    ],
)  # fmt: skip
def test_mistakes_in_settings(project: Project, text: str) -> None:
    project.locked(sum=SUM)
    settings(project, text)
    said = project.check()
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error[T0711]: ")


def test_an_unknown_key_is_pointed_at(project: Project) -> None:
    project.locked(sum=SUM)
    settings(project, 'metrics = ["eops"]\nbudget = 3\n')
    assert project.check().err == (
        "error[T0711]: there is no setting `budget`\n"
        "  --> tolcost.toml:2:1\n"
        "   |\n"
        " 2 | budget = 3\n"
        "   | ^^^^^^\n"
        "   = hint: did you mean `budgets`?\n"
    )


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = [" * 5000, "\0", "x" * (2 << 20), "a = 1\na = 2", "a = 1e999999999"],
)
def test_hostile_settings(project: Project, text: str) -> None:
    project.locked(sum=SUM)
    settings(project, text)
    start = time.process_time()
    said = project.check()
    assert time.process_time() - start < 5
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error[T071")


def test_a_huge_integer_in_settings(project: Project) -> None:
    project.locked(sum=SUM)
    settings(project, "a = " + "9" * 900_000)
    said = project.check()
    assert (said.code, said.err.startswith("error[T071")) == (2, True)


def test_paths_and_exclusions(project: Project) -> None:
    project.write(**{"ops/a": SUM, "ops/old/b": "nonsense(", "other/c": SUM})
    settings(project, 'paths = ["ops"]\nexclude = ["ops/old/*"]\n')
    assert project.check("--update").code == 0
    assert [line for line in project.lock.splitlines() if '"eops"' in line] == [
        lock_line("ops/a.tol", "eops", "exact", "n")
    ]
    settings(project, 'paths = ["op"]\n')
    assert project.check().err.startswith("error[T0713]: `paths` names `op`, where there is no program\n")


def test_cases(project: Project) -> None:
    project.write(any="tol x: R [...]\ny := map(x, exp(*))\n")
    settings(
        project,
        '[cases."any.tol"]\nmatrix = { shapes = { x = ["n", "m"] } }\nrow = { shapes = { x = [1, "m"] } }\n',
    )
    assert project.check("--update").code == 0
    found = [line for line in project.lock.splitlines() if '"eops"' in line]
    assert found == [
        lock_line("any.tol#matrix", "eops", "exact", "m*n"),
        lock_line("any.tol#row", "eops", "exact", "m"),
    ]
    settings(project, '[cases."none.tol".matrix]\n')
    assert project.check().err.startswith("error[T0713]: ")


def test_other_metrics(project: Project) -> None:
    project.write(sum=SUM)
    settings(project, 'metrics = ["span", "eops"]\n')
    assert project.check("--update").code == 0
    assert lock_line("sum.tol", "span", "exact", "n") in project.lock
    assert "flops" not in project.lock
    settings(project, "")
    said = project.check()
    assert (said.code, "flops not in tolcost.lock" in " ".join(said.out.split())) == (1, True)


def test_settings_are_found_from_below(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.locked(**{"ops/a": SUM, "b": SUM})
    project.write(**{"ops/a": SUM_OF_EXP})
    monkeypatch.chdir(project.root / "ops")
    said = project.check()
    assert (said.code, "\nops/a.tol\n" in said.out) == (1, True)
    assert project.check("a.tol").code == 1
    assert project.check("../b.tol").code == 0
    assert project.check("../..").err.startswith("error[T0721]: ")


def test_a_library_folder(project: Project) -> None:
    settings(project, 'paths = ["ops"]\nspecs = ["."]\n')
    project.file("lib/double.tol", "double(x) = x + x\n")
    program = "use double\ntol x: R [n]\ny := map(x, double(*))\n"
    project.locked(**{"ops/a": program})
    assert project.check("--base HEAD").code == 0
    project.file("lib/double.tol", "double(x) = x + x + x\n")
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert said.code == 1
        assert "  eops    costlier (never cheaper)  n    2*n  n\n" in said.out


def test_a_budget_can_be_a_time(project: Project) -> None:
    matmul = Path(__file__).parents[1] / "cli" / "programs" / "matmul.tol"
    project.file("matmul.tol", matmul.read_text(encoding="utf-8"))
    sizes = "n=1024, k=1024, m=1024"
    project.file(
        "tolcost.toml",
        'metrics = ["eops", "time_h200", "arithmetic_bound_h200"]\n[budgets]\n"matmul.tol" = ['
        f'"time_h200 <= 0.06 ms at {sizes}", "{sizes}: arithmetic_bound_h200 <= 33 us"]\n',
    )
    assert project.run("check", "--update").code == 0
    assert project.run("check").code == 0
    settings = (project.root / "tolcost.toml").read_text(encoding="utf-8")
    project.file("tolcost.toml", settings.replace("33 us", "32 us"))
    assert project.run("check").code == 1
