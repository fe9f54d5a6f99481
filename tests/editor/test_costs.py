"""What an editor says of the cost of lines, values and pieces is what they cost, or nothing."""

import pytest

from tolcost.algebra import to_text, total_of
from tolcost.apps.editor.features import hover_at, lenses
from tolcost.apps.editor.reading import Reading, line_costs, read
from tolcost.diagnostics import Source

X = "tol x: R [n]\n"
CHOICE = "y := choose(x[1] > 0, map(x, exp(*)), map(x, log(*)))\n"


def reading_of(text: str) -> Reading:
    found = read(Source("text.tol", text))
    assert found.analysis is not None, found.diagnostics
    return found


def hover(text: str, words: str) -> str:
    found = hover_at(reading_of(text), text.index(words))
    assert found is not None
    return found.markdown


LINES = {
    "an operator is on the line that applies it": (
        "y := Softmax(x)\n",
        {2: "5*n"},
    ),
    "a name of an operator is none of the program": (
        "s = map(x, exp)\ny := s + Softmax(x)\n",
        {2: "n", 3: "6*n"},
    ),
    "a value is where it is defined, not used": (
        "t = Softmax(x)\ny := t + t\nz := map(t, exp)\n",
        {2: "5*n", 3: "n", 4: "n"},
    ),
    "in any order": (
        "y := map(z, exp)\nz = Exp(x)\n",
        {2: "n", 3: "n"},
    ),
    "a name for another is not where it comes from": (
        "y := t\nz := t + t\nt = Softmax(x)\n",
        {3: "n", 4: "5*n"},
    ),
    "several names": (
        "(u, v) = (Softmax(x), Exp(x))\ny := u + v\nz := map(u, exp)\n",
        {2: "6*n", 3: "n", 4: "n"},
    ),
    "a sequence": (
        "s = seq(Softmax(x), Exp(x))\ny := s[1] + s[2]\nz := map(s[1], exp)\n",
        {2: "6*n", 3: "n", 4: "n"},
    ),
    "a function that applies an operator": (
        "f(v) = Softmax(v)\ny := f(f(x))\n",
        {3: "10*n"},
    ),
    "a choice is as dear as its dearer side": (
        CHOICE,
        {2: "n + 1"},
    ),
}


@pytest.mark.parametrize("text, expected", LINES.values(), ids=LINES)
def test_lines_are_those_that_cost_it(text: str, expected: dict[int, str]) -> None:
    reading = reading_of(X + text)
    found = line_costs(reading)
    assert {one.line: to_text(one.eops) for one in found} == expected
    assert reading.analysis is not None
    assert total_of(one.eops for one in found) == reading.analysis.eops


def test_a_value_costs_all_that_is_computed_for_it() -> None:
    text = X + "y := map(x, Relu(*)) + Softmax(x)\nz := map(x, exp(*)) * 2 + y\n"
    assert [(one.name, eops) for one, eops in lenses(reading_of(text))] == [("y", "7*n"), ("z", "3*n")]
    assert "**7*n** EOPs" in hover(text, "y :=")


def test_a_name_inside_is_not_the_one_outside() -> None:
    text = X + "s = map(x, exp)\ny := map(x, { s = log(*); s + s }) + s\n"
    inside = hover(text, "s = log")
    assert "R [n]" not in inside
    assert "**n** EOPs in all" in inside
    assert [one.name for one, _ in lenses(reading_of(text))] == ["s", "y"]


def test_what_is_at_most_says_so() -> None:
    text = X + "t = map(x, exp)\n" + CHOICE.replace("log(*)", "log(*) + t[1]")
    assert "at most **" in hover(text, "y :=")
    assert "at most" not in hover(text, "t =")
    assert [(one.line, one.text) for one in line_costs(reading_of(text))] == [
        (2, "n"),
        (3, "at most 2*n + 1"),
    ]
    assert [eops.startswith("at most ") for _, eops in lenses(reading_of(text))] == [False, True]


def test_what_is_not_known_is_not_zero() -> None:
    text = X + "f(v) = exp(v)\ny := choose(x[1] > 0, map(x, f), map(x, log))\n"
    assert "EOPs" not in hover(text, "f(v)")
    assert "EOPs" not in hover(X + "g(v) = exp(v)\ny := map(x, log)\n", "g(v)")


def test_a_piece_says_what_it_leaves_out() -> None:
    text = X + "f(v) = exp(v)\ny := map(x, f(*)) + Softmax(map(x, log))\n"
    assert "**2*n** EOPs in all, besides what `f`, `Softmax` costs" in hover(text, "+ Soft")


def test_a_hover_says_where_it_holds_and_what_data_decides() -> None:
    assert "where `n >= m`" in hover(X + "tol z: R [m]\ny := map(tol[m], x[i] * z[i], [i])\n", "y :=")
    kept = hover(X + "m = filter(x, map(x, * > 0))\ny := map(m, exp)\n", "y :=")
    assert "data decides `z1`" in kept
