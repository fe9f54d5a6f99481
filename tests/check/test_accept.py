"""Agreeing to a costlier program: the reason is shown beside the difference until figures are updated."""

from __future__ import annotations

from tests.check.support import Project, lock_line
from tests.check.texts import SQUARE, SUM, SUM_OF_EXP

THREE = "tol x: R [n]\ny := reduce(map(x, exp(*) + 1), add, 0)\n"


def test_a_reason_is_recorded_and_shown(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=SUM_OF_EXP)
    said = project.run("accept", "sum.tol", "-m", "it has to be  positive")
    assert (said.code, said.out) == (0, "accepted sum.tol: it has to be positive\n")
    why = "it has to be positive"
    assert lock_line("sum.tol", "eops", "accepted", "exact", "2*n", why) in project.lock
    assert lock_line("sum.tol", "eops", "exact", "n") in project.lock
    said = project.check()
    assert said.out == (
        "ok: 1 accepted, 1 unchanged (2 programs against tolcost.lock)\n\n"
        "sum.tol\n"
        "  metric  verdict                   old  new  difference\n"
        "  eops    costlier (never cheaper)  n    2*n  n\n"
        "  flops   costlier (never cheaper)  n    2*n  n\n"
        "    eops at n=1024: 1,024 before, 2,048 now (+100.0 %)\n"
        "    sum.tol:2: exp:R was 0, is n\n"
        "      | y := reduce(map(x, exp(*)), add, 0)\n"
        "    accepted: it has to be positive\n"
        "    flops at n=1024: 1,024 before, 2,048 now (+100.0 %)\n"
    )
    assert said.code == 0


def test_more_than_was_accepted_fails(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    project.run("accept", "sum.tol", "-m", "why")
    project.write(sum=THREE)
    assert project.check().code == 1
    project.write(sum=SUM)
    assert project.check().out == "ok: 1 unchanged (1 program against tolcost.lock)\n"


def test_a_revision_honours_what_was_accepted(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    assert project.check("--base HEAD").code == 1
    project.run("accept", "sum.tol", "-m", "why", "--base", "HEAD")
    assert project.check("--base HEAD").code == 0
    project.check("--update")
    assert project.check("--base HEAD").code == 0  # the reason stays with the figure it is for
    project.write(sum=THREE)
    assert project.check("--base HEAD").code == 1


def test_updating_drops_reasons_for_figures_that_are_gone(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    project.run("accept", "sum.tol", "-m", "why")
    project.write(sum=THREE)
    project.check("--update")
    assert "accepted" not in project.lock


def test_patterns(project: Project) -> None:
    project.locked(a=SUM, b=SUM)
    project.write(a=SUM_OF_EXP, b=SUM_OF_EXP)
    said = project.run("accept", "*.tol", "-m", "both")
    assert said.out == "accepted a.tol: both\naccepted b.tol: both\n"
    assert project.check().code == 0


def test_nothing_to_accept(project: Project) -> None:
    project.locked(sum=SUM)
    for name, said in (("sum.tol", "is not costlier"), ("no.tol", "matches no program")):
        found = project.run("accept", name, "-m", "why")
        assert found.code == 2
        assert found.err.startswith(f"error[T0722]: `{name}` {said}\n")
    assert project.run("accept", "sum.tol", "-m", "  ").code == 2
    assert project.run("accept", "sum.tol").code == 2


def test_a_reason_may_say_anything(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    why = '"quoted" \\ back\x1b[2J \u202e exact 9*n\n<<<<<<< x'
    assert project.run("accept", "sum.tol", "-m", why).code == 0
    said = project.check()
    assert said.code == 0
    assert 'accepted: "quoted" \\ back\\u{1b}[2J \\u{202e} exact 9*n <<<<<<< x\n' in said.out
