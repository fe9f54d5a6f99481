"""Programs that cost the same and allow fewer lengths: told, and a failure where the lock is to be kept."""

from __future__ import annotations

import pytest

from tests.check.notation import entry
from tests.check.support import Project
from tolcost.check.verdicts import narrowed

CASES = {
    "nothing changed": ("x R[n]", "n >= 3", "x R[n]", "n >= 3", ()),
    "more is allowed": ("x R[n]", "n >= 3", "x R[n]", "", ()),
    "it was needed before": ("x R[n]", "n >= 3; n <= 9", "x R[n]", "n >= 2", ()),
    "another name": ("x R[n]", "n >= 3", "x R[k]", "k >= 3", ()),
    "no more than another name": ("x R[n]; y R[m]", "", "x R[a]; y R[b]", "", ()),
    "what equality was is still": ("x R[n]; y R[n]", "n == m", "x R[k]; y R[k]", "k == p", ()),
    "a longer input": ("x R[n]", "", "x R[n]", "n >= 3", ("it needs n >= 3: n=1 was right before",)),
    "longer than before": (
        "x R[n]",
        "n >= 3",
        "x R[k]",
        "k >= 4",
        ("it needs k >= 4: k=3 was right before",),
    ),
    "two are one": ("x R[n]; y R[m]", "", "x R[k]; y R[k]", "", ("the lengths `m` and `n` are one now",)),
    "a number": ("x R[n, m]", "", "x R[n, 4]", "", ("the length `m` is now `4`",)),
    "parts": ("x R[n]", "", "x R[2*n_share]", "n == 2*n_share", ("the length `n` is now `2*n_share`",)),
    "a choice": (
        "x R[n]; y R[k]",
        "",
        "x R[n]; y R[k]",
        "k == n or k <= 1",
        ("it needs k == n or k <= 1: k=2, n=1 was right before",),
    ),
    "a choice of which one is left": ("x R[n]; y R[k]", "k == n", "x R[n]; y R[k]", "k == n or k <= 1", ()),
    "one of a choice": (
        "x R[n]; y R[k]",
        "k == n or k <= 1",
        "x R[n]; y R[k]",
        "k == n",
        ("it needs k == n: k=1, n=2 was right before",),
    ),
    "a name that says or": ("x R[n]; `a or b` R[k]", "", "x R[n]; `a or b` R[k]", "", ()),
    "between two inputs": (
        "x R[n]; y R[m]",
        "",
        "x R[n]; y R[m]",
        "m >= n",
        ("it needs m >= n: m=1, n=2 was right before",),
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_what_is_needed_now(title: str) -> None:
    inputs, where, inputs_now, where_now, expected = CASES[title]
    old, new = entry("p", inputs, where), entry("p", inputs_now, where_now)
    assert narrowed(old, new) == expected


def test_fewer_lengths_are_told_and_fail_where_the_lock_is_to_be_kept(project: Project) -> None:
    project.locked(a="tol x: R [n]\ny := map(x, exp(*))\n")
    project.write(a="tol x: R [n]\ny := map(tol[n], exp(x[i + 0 * |part(x, [1], [240])|[1]]), [i])\n")
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert said.code == 0
        assert "a.tol\n  allows fewer lengths\n    it needs n >= 240: n=1 was right before\n" in said.out
        assert project.check(f"{against} --strict").code == 1
    assert project.check("--update").code == 0
    assert project.check("--strict").code == 0


def test_figures_are_not_compared_where_a_choice_is_refused(project: Project) -> None:
    """Where `k` is neither 1 nor `n` nothing is read of it, before or now."""
    text = "use broadcast\ntol x: R [n]\ntol w: R [k]\nv = {}\ny := map(x, * + bget(v, i), i)\n"
    project.locked(a=text.format("w"))
    project.write(a=text.format("fitted(w, |x|)"))
    said = project.check("")
    assert said.code == 0, said.out
    assert "it needs k == n or k <= 1" in said.out
    assert "costlier" not in said.out


@pytest.mark.parametrize(
    "was, now, where",
    [
        ("n, 1", "n, n", "n <= 1"),
        ("n, n", "n, 2*n", ""),
        ("n, 8", "n, n", "n == 8"),
        ("n + 1, n", "n, n", ""),
    ],
)
def test_inputs_that_are_alike_at_few_lengths_only_prove_nothing(
    was: str, now: str, where: str, project: Project
) -> None:
    """A column that became a square costs n**2 where it cost n, and the same where n is 1."""
    text = "tol w: R [n]\ntol x: R [{}]\ny := map(x, exp(*) + w[1])\n"
    project.locked(a=text.format(was))
    project.write(a=text.format(now))
    said = project.check("")
    assert said.code == 3
    told = (f"only where {where}", "no shape was found", "each is costed with its own size")
    assert any(words in said.out for words in told)


@pytest.mark.parametrize("was, now", [("n, 1", "n, m"), ("n, n", "n, m")])
def test_several_inputs_that_may_be_larger_in_the_same_way_are_judged(
    was: str, now: str, project: Project
) -> None:
    text = "tol x: R [{0}]\ntol w: R [{0}]\ny := map(x, exp(*) + w[1, 1])\n"
    project.locked(a=text.format(was))
    project.write(a=text.format(now))
    assert project.check("").code == 0


def test_an_input_that_may_be_larger_is_held_to_what_it_was(project: Project) -> None:
    project.locked(a="tol x: R [n, 1]\ny := map(x, exp(*))\n")
    project.write(a="tol x: R [n, m]\ny := map(x, exp(*))\n")
    assert project.check("").code == 0
    project.write(a="tol x: R [n, m]\ny := map(x, exp(exp(*)))\n")
    assert project.check("").code == 1
