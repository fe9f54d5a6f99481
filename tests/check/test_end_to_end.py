"""The gate in real repositories: what it says, to the letter, and its exit code."""

from __future__ import annotations

import pytest

import tolcost.check.entries
from tests.check.support import Project, lock_line
from tests.check.texts import APART, BROKEN, SIXTY_FOUR, SQUARE, SUM, SUM_OF_EXP, SUM_RENAMED, TOGETHER
from tolcost.check.records import RESTORE

LISTED = 'metrics = ["eops", "flops", "macs", "bytes"]\n'
"""Settings under which the lines of a lock file have the same numbers, whatever metrics there are."""

COSTLIER = """\
costlier: 1 costlier, 1 unchanged (2 programs against {against})

sum.tol
  metric  verdict                   old  new  difference
  eops    costlier (never cheaper)  n    2*n  n
  flops   costlier (never cheaper)  n    2*n  n
    eops at n=1024: 1,024 before, 2,048 now (+100.0 %)
    sum.tol:2: exp:R was 0, is n
      | y := reduce(map(x, exp(*)), add, 0)
    flops at n=1024: 1,024 before, 2,048 now (+100.0 %)

to agree to it: tolcost accept sum.tol -m "why"{base}
"""


def test_nothing_changed(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    said = project.check()
    assert said.out == "ok: 2 unchanged (2 programs against tolcost.lock)\n"
    assert (said.code, said.err) == (0, "")


def test_costlier(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=SUM_OF_EXP)
    said = project.check()
    assert said.out == COSTLIER.format(against="tolcost.lock", base="")
    assert (said.code, said.err) == (1, "")


def test_costlier_than_a_revision(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=SUM_OF_EXP)
    project.check("--update")
    assert project.check().code == 0
    said = project.check("--base HEAD")
    assert said.out == COSTLIER.format(against="git HEAD", base=" --base HEAD")
    assert (said.code, said.err) == (1, "")


def test_the_line_is_named_without_a_repository_as_well(project: Project) -> None:
    project.write(sum=SUM)
    project.check("--update")  # not committed: no old version to compare lines with
    project.write(sum=SUM_OF_EXP)
    said = project.check()
    assert said.code == 1
    assert "    sum.tol:2: exp:R is n, the most of all\n" in said.out


def test_cheaper(project: Project) -> None:
    project.locked(sum=SUM_OF_EXP)
    project.write(sum=SUM)
    said = project.check()
    assert said.out == (
        "ok: 1 cheaper, 0 unchanged (1 program against tolcost.lock)\n\n"
        "sum.tol\n"
        "  metric  verdict                   old  new  difference\n"
        "  eops    cheaper (never costlier)  2*n  n    -n\n"
        "  flops   cheaper (never costlier)  2*n  n    -n\n"
        "    eops at n=1024: 2,048 before, 1,024 now (-50.0 %)\n"
        "    flops at n=1024: 2,048 before, 1,024 now (-50.0 %)\n\n"
        "to keep what is new: tolcost check --update\n"
    )
    assert said.code == 0
    assert project.check("--strict").code == 1


def test_crossing(project: Project) -> None:
    project.locked(loop=SIXTY_FOUR)
    project.write(loop=SQUARE)
    said = project.check()
    assert said.out == (
        "costlier: 1 crosses, 0 unchanged (1 program against tolcost.lock)\n\n"
        "loop.tol\n"
        "  metric  verdict                  old        new   difference\n"
        "  bytes   costlier only if s > 64  4*s + 256  8*s   4*s - 256\n"
        "  eops    costlier only if s > 64  64*s       s**2  s*(s - 64)\n"
        "  flops   costlier only if s > 64  64*s       s**2  s*(s - 64)\n"
        "    bytes at s=1024: 4,352 before, 8,192 now (+88.2 %)\n"
        "    bytes at s=63: 508 before, 504 now (-0.8 %)\n"
        "    eops at s=1024: 65,536 before, 1,048,576 now (+1,500.0 %)\n"
        "    eops at s=63: 4,032 before, 3,969 now (-1.6 %)\n"
        "    loop.tol:3: add:R was 64*s, is s**2\n"
        "      | y := map(tol[s], reduce(x, add, 0), [i])\n"
        "    flops at s=1024: 65,536 before, 1,048,576 now (+1,500.0 %)\n"
        "    flops at s=63: 4,032 before, 3,969 now (-1.6 %)\n\n"
        'to agree to it: tolcost accept loop.tol -m "why"\n'
    )
    assert said.code == 1


def test_the_edited_line_is_named_beside_the_costlier_one(project: Project) -> None:
    project.locked(loop="tol x: R [n]\nk = 2\ny := map(tol[k], reduce(x, add, 0), [i])\n")
    project.write(loop="tol x: R [n]\nk = 20\ny := map(tol[k], reduce(x, add, 0), [i])\n")
    said = project.check()
    assert "    loop.tol:3: add:R was 2*n, is 20*n; edited: line 2, k = 20\n" in said.out


def test_each_metric_names_the_line_that_it_grew_by(project: Project) -> None:
    """Four real functions are more than a complex product, and fewer FLOPs."""
    project.file("tolcost.toml", 'metrics = ["eops", "flops"]\n')
    program = "tol x: R [n]\ntol c: C [n]\ny := map(x, {})\nz := map(c, {})\n"
    project.locked(two=program.format("*", "*"))
    project.write(two=program.format("exp(exp(exp(exp(*))))", "* * c[1]"))
    said = project.check()
    assert "    two.tol:3: exp:R was 0, is 4*n\n" in said.out
    assert "    two.tol:4: mul:C was 0, is 6*n\n" in said.out


def test_a_costlier_change_is_shown_at_the_size_of_its_budget(project: Project) -> None:
    project.file("tolcost.toml", '[budgets]\n"sum.tol" = "n=4096: eops <= 1000000"\n')
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    assert "    eops at n=4096: 4,096 before, 8,192 now (+100.0 %)\n" in project.check().out


def test_a_case_may_assume_something_of_lengths(project: Project) -> None:
    project.file("tolcost.toml", '[cases."sum.tol".short]\nassume = ["n = 4*k", "n <= 64"]\n')
    project.locked(sum=SUM)
    assert "4*k" in project.lock
    assert '[["k", "<=", "16"]]' in project.lock
    assert project.check().code == 0
    project.file("tolcost.toml", '[cases."sum.tol".short]\nassume = ["m <= 64"]\n')
    said = project.check()
    assert (said.code, "there is no length `m`" in said.err) == (2, True)


RENAMED = (
    "{word}: 1 renamed, 0 unchanged (1 program against {against})\n\ntotal.tol\n  renamed from sum.tol\n"
)


def test_renamed(project: Project) -> None:
    project.locked(sum=SUM)
    (project.root / "sum.tol").rename(project.root / "total.tol")
    said = project.check()
    hint = "\nto keep what is new: tolcost check --update\n"
    assert (said.code, said.out) == (0, RENAMED.format(word="ok", against="tolcost.lock", base="") + hint)
    said = project.check("--base HEAD")
    assert (said.code, said.out) == (0, RENAMED.format(word="ok", against="git HEAD", base=" --base HEAD"))
    project.check("--update")
    assert "sum.tol" not in project.lock
    assert project.check().out == "ok: 1 unchanged (1 program against tolcost.lock)\n"


def test_what_is_left_out_was_not_renamed(project: Project) -> None:
    """A program that settings do not name any more, beside a new one alike: its file is still there."""
    project.locked(loop=SQUARE)
    project.write(sum=SUM)
    project.file("tolcost.toml", 'paths = ["sum.tol"]\n')
    said = project.check()
    assert said.code == 1
    assert "renamed" not in said.out
    assert "loop.tol\n  no longer checked" in said.out


def test_renamed_and_costlier(project: Project) -> None:
    long = "# one\n# two\n# three\n# four\n# five\n# six\n"
    project.locked(sum=long + SUM)
    (project.root / "sum.tol").unlink()
    project.write(total=long + SUM_OF_EXP)
    said = project.check("--base HEAD")
    assert said.code == 1
    assert said.out.startswith(
        "costlier: 1 costlier, 0 unchanged (1 program against git HEAD)\n\ntotal.tol\n"
    )
    assert "  renamed from sum.tol\n" in said.out
    assert "    total.tol:8: exp:R was 0, is n\n" in said.out
    assert project.check().code == 1  # to the lock file it is a new program, which nobody agreed to


def test_a_length_that_is_renamed(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_RENAMED)
    said = project.check()
    assert (said.code, said.out) == (0, "ok: 1 unchanged (1 program against tolcost.lock)\n")


def test_deleted(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    (project.root / "sum.tol").unlink()
    said = project.check()
    assert said.out == (
        "ok: 1 gone, 1 unchanged (1 program against tolcost.lock)\n\nsum.tol\n  gone\n\n"
        "to keep what is new: tolcost check --update --prune\n"
    )
    assert said.code == 0
    project.check("--update")
    assert "sum.tol" in project.lock
    said = project.check("--update --prune")
    assert said.out == (
        "tolcost.lock written: 1 gone, 1 unchanged (1 program against tolcost.lock)\n\n"
        "sum.tol\n  gone, and dropped\n"
    )
    assert "sum.tol" not in project.lock


def test_new(project: Project) -> None:
    project.locked(sum=SUM)
    project.write(loop=SQUARE)
    said = project.check()
    assert said.out == (
        "out of date: 1 new, 1 unchanged (2 programs against tolcost.lock)\n\n"
        "loop.tol\n  not in tolcost.lock\n\n"
        "to keep what is new: tolcost check --update\n"
    )
    assert said.code == 1
    said = project.check("--base HEAD")
    assert said.out == (
        "ok: 1 new, 1 unchanged (2 programs against git HEAD)\n\nloop.tol\n  not in git HEAD\n"
    )
    assert said.code == 0


def test_only_what_is_asked_for_is_compared_with_a_revision(project: Project) -> None:
    project.locked(a=SUM, b=SUM, c=SUM)
    project.write(b=SUM_OF_EXP)
    (project.root / "c.tol").unlink()
    said = project.check("--base HEAD a.tol")
    assert (said.code, said.out) == (0, "ok: 1 unchanged (1 program against git HEAD)\n")


def test_a_budget_of_what_did_not_change(project: Project) -> None:
    project.file("tolcost.toml", '[budgets]\n"sum.tol" = "eops <= n"\n')
    project.locked(sum=SUM)
    said = project.check("--base HEAD")
    assert (said.code, said.out) == (0, "ok: 1 unchanged (1 program against git HEAD)\n")


def test_undecided(project: Project) -> None:
    project.locked(pool=TOGETHER)
    project.write(pool=APART)
    said = project.check()
    assert said.out == (
        "undecided: 1 undecided, 0 unchanged (1 program against tolcost.lock)\n\n"
        "pool.tol\n"
        "  metric  verdict    old                 new                 difference\n"
        "  bytes   undecided  4*floor(m*n/k) + 4  4*n*floor(m/k) + 4  4*n*floor(m/k) - 4*floor(m*n/k)\n"
        "  eops    undecided  floor(m*n/k)        n*floor(m/k)        n*floor(m/k) - floor(m*n/k)\n"
        "  flops   undecided  floor(m*n/k)        n*floor(m/k)        n*floor(m/k) - floor(m*n/k)\n"
        "    bytes at k=1025, m=1024, n=1024: 4,096 before, 4 now (-99.9 %)\n"
        "    not costlier at 222 shapes tried, and not proved\n"
        "    tried: k from 1 to 4,096, m from 1 to 4,096, n from 1 to 4,096\n"
        "    the old figure is only an upper bound\n"
        "    the new figure is only an upper bound\n"
        "    eops at k=1025, m=1024, n=1024: 1,023 before, 0 now (-100.0 %)\n"
        "    flops at k=1025, m=1024, n=1024: 1,023 before, 0 now (-100.0 %)\n\n"
        'to agree to it: tolcost accept pool.tol -m "why"\n'
    )
    assert (said.code, said.err) == (3, "")


def test_a_broken_file(project: Project) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=BROKEN, loop=SIXTY_FOUR)
    said = project.check()
    assert said.out.startswith(
        "not readable: 1 broken, 1 crosses, 0 unchanged (2 programs against tolcost.lock)\n"
    )
    assert "\nsum.tol\n  cannot be read\n\n" in said.out
    assert said.err.startswith("error[T0102]: `(` is never closed\n  --> sum.tol:2:12\n")
    assert said.code == 2
    before = project.lock
    project.check("--update sum.tol")
    assert project.lock == before


def test_a_file_that_was_broken_before(project: Project) -> None:
    project.write(sum=BROKEN)
    project.commit()
    project.write(sum=SUM)
    said = project.check("--base HEAD")
    assert said.out == (
        "undecided: 1 undecided, 0 unchanged (1 program against git HEAD)\n\n"
        "sum.tol\n  undecided\n    git HEAD: it could not be read: `(` is never closed\n\n"
        'to agree to it: tolcost accept sum.tol -m "why" --base HEAD\n'
    )
    assert said.code == 3  # whether it costs more than what was meant, nobody can tell
    assert project.run("accept", "sum.tol", "-m", "it is whole again", "--base", "HEAD").code == 0
    assert project.check("--base HEAD").code == 0
    lines = project.lock.splitlines(keepends=True)
    project.file("tolcost.lock", "".join(line for line in lines if '"flops", "accepted"' not in line))
    assert project.check("--base HEAD").code == 3  # a program was accepted only if all its figures were


def test_a_corrupted_lock(project: Project) -> None:
    project.file("tolcost.toml", LISTED)
    project.locked(sum=SUM)
    line = lock_line("sum.tol", "eops", "exact", "n")
    project.file("tolcost.lock", project.lock.replace(line, lock_line("sum.tol", "eops", "exact")))
    said = project.check()
    assert said.err == (
        "error[T0703]: this line is not [NAME, METRIC, STATUS, FORM]\n"
        "  --> tolcost.lock:6:1\n"
        "   |\n"
        ' 6 | ["sum.tol", "eops", "exact"]\n'
        "   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        f"   = hint: {RESTORE}\n"
    )
    assert (said.code, said.out) == (2, "")


def test_a_lock_that_an_editor_marked_as_unicode(project: Project) -> None:
    project.locked(sum=SUM)
    project.file("tolcost.lock", f"\ufeff{project.lock}")
    assert project.check().code == 0


def test_what_to_do_is_no_part_of_a_list(project: Project) -> None:
    """In Markdown a line that follows a list at once belongs to its last point."""
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    lines = project.check("--format md").out.splitlines()
    assert lines[-2] == ""
    assert lines[-1].startswith("to agree to it")


def test_a_conflict_in_the_lock(project: Project) -> None:
    project.file("tolcost.toml", LISTED)
    project.locked(sum=SUM, loop=SQUARE)
    project.git("checkout", "-q", "-b", "theirs")
    project.locked(sum=SUM_OF_EXP)
    project.git("checkout", "-q", "main")
    project.locked(sum="tol x: R [n]\ny := reduce(map(x, exp(*) + 1), add, 0)\n")
    assert "CONFLICT (content): Merge conflict in tolcost.lock" in project.git("merge", "theirs", code=1)
    project.write(sum=SUM_OF_EXP)
    said = project.check()
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error[T0704]: a merge left a conflict in the lock file\n"
        "   --> tolcost.lock:13:1\n"
        "    |\n"
        " 13 | <<<<<<< HEAD\n"
        "    | ^^^^^^^^^^^^\n"
        "    = hint: `tolcost check --update` computes every figure anew and settles the conflict\n"
    )
    assert project.check("--update").code == 0
    assert "<<<<" not in project.lock
    assert lock_line("sum.tol", "eops", "exact", "2*n") in project.lock
    assert project.check().code == 0


def test_changes_to_neighbours_merge(project: Project) -> None:
    project.locked(a=SUM, b=SUM, c=SUM)
    project.git("checkout", "-q", "-b", "theirs")
    project.locked(b=SUM_OF_EXP)
    project.git("checkout", "-q", "main")
    project.locked(a=SUM_OF_EXP)
    project.git("merge", "--quiet", "--no-edit", "theirs")
    assert project.check().out == "ok: 3 unchanged (3 programs against tolcost.lock)\n"


def test_no_lock(project: Project) -> None:
    project.write(sum=SUM)
    said = project.check()
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error[T0701]: there is no tolcost.lock to compare with\n"
        "   = hint: `tolcost check --update` writes one; `--base REVISION` compares with git instead\n"
    )


def test_a_revision_that_is_not_there(project: Project) -> None:
    project.locked(sum=SUM)
    told = {"nonsense": "there is no revision `nonsense`", "--output=x": "is not a revision", "": "is not a"}
    for revision, words in told.items():
        said = project.run("check", f"--base={revision}")
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("error[T0720]: ")
        assert words in said.err


def test_a_folder_without_a_repository(project: Project) -> None:
    project.locked(sum=SUM)
    (project.root / ".git").rename(project.root.parent / "gone.git")
    said = project.check("--base HEAD")
    assert (said.code, said.err) == (2, "error[T0720]: this is not in a git repository\n")
    assert project.check().code == 0


def test_a_bug_is_70(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)

    def broken(*_: object, **__: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(tolcost.check.entries, "analyze_program", broken)
    said = project.check()
    assert (said.code, said.out) == (70, "")
    assert said.err.startswith("internal error: InternalError: sum.tol: KeyError: 'oops'\n")
