"""Components of an accumulator that are known at every step, and how many turns a loop takes."""

from collections.abc import Callable

import numpy as np
import pytest

from tolcost.algebra import evaluate, to_text
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import elaborate
from tolcost.execute import run_reference
from tolcost.syntax import parse, tree


def program(text: str) -> tree.Module:
    return parse(Source("test", text))


LISTS = [
    ("(a[1]' + e, a[2]' + 2)", "(0, 1)", "2*n + 1"),  # advances
    ("(a[1]' + e, a[2]')", "(0, 3)", "3"),  # stays
    ("(a[1]' + e, n - a[2]')", "(0, 0)", None),  # does neither
    ("(e, a[2]' + where(e > 0, 1, 0))", "(0, 0)", None),  # data decides
]


@pytest.mark.parametrize("step, start, length", LISTS)
def test_a_component_that_is_known_decides_lengths(step: str, start: str, length: str | None) -> None:
    text = f"tol x: R [n]\n(s, c) = reduce(x, (a, e) => {step}, {start})\n"
    if length is None:
        assert elaborate(program(text + "y := s + c")).program.outputs[0].node.type[0].shape == ()
        return
    lowered = elaborate(program(text + "y := map(tol[c], s + i[1], i)"))
    assert to_text(lowered.program.outputs[0].node.type[0].shape[0]) == length


FIRST_STEPS = [
    ("a[3]'", "n"),  # what the first step hands on, all do
    ("where(i == 1, a[3]', a[3]' * e)", "2*n - 1"),  # the others do not
    ("where(i == 1, a[3]', a[2]' * e)", "2*n - 1"),
    ("where(i == 2, a[3]', a[3]' * e)", "n + Max(n - 2, 0) + 1"),  # the first does not
]


@pytest.mark.parametrize("third, eops", FIRST_STEPS)
def test_what_the_first_step_hands_on_is_a_guess(third: str, eops: str) -> None:
    step = f"(a[1]' + e, a[2]' + 2, {third})"
    text = f"tol x: R [n]\n(s, c, h) = reduce(x, (a, e) => {step}, (0, 1, x[1]), [i])\ny := seq(s, h)"
    assert to_text(count(elaborate(program(text)).program).eops) == eops


CHOICES = [
    # data decide the choice from the second step on, and a number becomes a vector in the first
    ("true", "seq(s[1] and x[1] > k, map(x, * + k))", "seq(s[1], s[2])", "m*(m + n + 3)"),
    ("false", "seq(s[1], s[2])", "seq(s[1] or x[1] > k, map(x, * + k))", "m*(m + n + 3)"),
    ("1", "seq(where(x[1] > k, 1, 0), map(x, * + k))", "seq(s[1], s[2])", "m*(m + n + 3)"),
    ("n > 2", "seq(s[1] and x[1] > k, map(x, * + k))", "seq(s[1], s[2])", None),
    ("x[1] > 0", "seq(s[1] and x[1] > k, map(x, * + k))", "seq(s[1], s[2])", None),
]


def chosen(steps: str, start: str, then: str, other: str) -> tree.Module:
    """A fold that data may end, beside a number that is known in every step and decides a length."""
    return program(
        "tol x: R [n]\ntol u: R [m]\n"
        f"y := reduce({steps}, (s, e) => {{\n"
        f"  r = choose(s[1], {then}, {other})\n"
        "  few = map(tol[s[3] + 1], x[1] * i, [i])\n"
        "  seq(r[1], r[2], s[3] + 1, reduce(few, +, 0))\n"
        f"}}, seq({start}, 0, 0, 0), [k])"
    )


@pytest.mark.parametrize("start, then, other, eops", CHOICES)
def test_a_choice_that_only_the_first_step_knows(start: str, then: str, other: str, eops: str | None) -> None:
    if eops is None:
        with pytest.raises(Rejected, match="different ranks"):
            elaborate(chosen("tol[m]", start, then, other))
        return
    done = elaborate(chosen("tol[m]", start, then, other)).program
    counted = count(done)
    assert (to_text(counted.eops), counted.status) == (eops, "upper bound")
    runs = set()
    for size in (1, 3, 4):
        few = count(elaborate(chosen(f"tol[{size}]", start, then, other)).program).eops
        for high in (100.0, -100.0):
            given = {"x": np.full(2, high), "u": np.ones(size)}
            run = run_reference(done, given, {"n": 2, "m": size}).counts.eops
            most = evaluate(counted.eops, {s: {"n": 2, "m": size}[s.name] for s in counted.eops.free})
            assert most == evaluate(few, dict.fromkeys(few.free, 2))
            assert run <= most
            runs.add((size, run == most))
    assert runs == {(1, True), (3, True), (3, False), (4, True), (4, False)}


def test_a_side_that_the_first_step_takes_is_in_the_space_of_both() -> None:
    text = (
        "tol x: R [n]\ntol f: int8 [n]\ntol u: R [m]\n"
        "y := reduce(u, (s, e) => {t = choose(s[1]', f, s[2]'); (x[1] < e, map(t, * + t[1]), x[1])},"
        " (true, convert(2, float16), x[1]))"
    )
    found = count(elaborate(program(text)).program).histogram
    assert {key: to_text(form) for key, form in found.items()} == {
        ("add", "float16"): "m*n",
        ("lt", "R"): "m",
    }


TURNS = [
    ("s[2] + 3 < n", "s[2] + 3", "100", "Min(floor((n + 2)/3), 100)"),
    ("s[2] < 10", "s[2] + 1", "n", "Min(n, 11)"),
    ("k < 5", "s[2]", "100", "5"),
    ("true", "s[2]", "n", "n"),
    ("false", "s[2]", "n", "1"),
    ("s[2] != 4", "s[2] + 2", "100", "3"),  # 0, 2, 4: it fails for the first time, not for the last
]


@pytest.mark.parametrize("condition, following, most, turns", TURNS)
def test_how_many_turns_a_loop_takes(condition: str, following: str, most: str, turns: str) -> None:
    text = (
        "tol x: R [n]\n"
        f"(t, exactly) = trips(tol[{most}], (s, e) => seq({condition}, {following}), seq(true, 0), [k])\n"
        "y := map(tol[where(exactly, t, 7)], x[1], i)"
    )
    (found,) = elaborate(program(text)).program.outputs[0].node.type[0].shape
    assert to_text(found) == turns


AFFINE = [
    (2, "1", lambda m, i: 1),
    (3, "m", lambda m, i: m),
    (5, "2 * m - 1", lambda m, i: 2 * m - 1),
    (1, "i", lambda m, i: i),
]


@pytest.mark.parametrize("factor, text, more", AFFINE)
@pytest.mark.parametrize("first", [0, 7])
def test_a_number_that_every_step_multiplies_and_adds_to_is_a_formula(
    factor: int, text: str, more: Callable[[int, int], int], first: int
) -> None:
    """Held to the steps, one by one."""
    fold = f"reduce(tol[n], (a, z) => {factor} * a + {text}, m + {first}, [i])"
    found = elaborate(program(f"tol x: R [n]\ntol w: R [m]\ny := map(tol[{fold}], x[1], j)"))
    (length,) = found.program.outputs[0].node.type[0].shape
    assert {symbol.name for symbol in length.free} == {"n", "m"}
    for n, m in [(0, 1), (1, 3), (4, 1), (6, 7)]:
        number = m + first
        for i in range(1, n + 1):
            number = factor * number + more(m, i)
        assert evaluate(length, {symbol: {"n": n, "m": m}[symbol.name] for symbol in length.free}) == number
