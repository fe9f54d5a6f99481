"""Random loops that end by a condition: known ones beside Python, those of data beside runs."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from tolcost.algebra import LARGEST_LENGTH, to_text
from tolcost.atoms.kit import defined_length, program_nodes
from tolcost.diagnostics import Source
from tolcost.elaborate import elaborate
from tolcost.syntax import parse
from tools.programs.road import check

CONDITIONS = (
    "{a} < {b}", "{a} > {b}", "{a} <= {c}", "{a} == {b}", "{a} + {b} < {c}", "{a} * {b} < {c}",
    "{a} - {b} > {c}",
    "{a} < {c} and {b} < {d}", "{a} < {c} or {b} < {d}", "k < {a}", "{a} % 2 == {b} % 2",
    "max({a}, {b}) < {c}",
)  # fmt: skip
STEPS = (
    "{v} + 1",
    "{v} - 1",
    "{v} + {w}",
    "{w}",
    "{v} * 2",
    "{v} - {w}",
    "{v} + 3",
    "{v}",
    "{v} * {w}",
    "{v} + k",
)
LIMIT = 20
LARGEST = 2**40
SHAPES = {
    "one by one": ("s[2]", "s[3]", "{0}, {1}"),
    "a list": ("s[2][1]'", "s[2][2]'", "({0}, {1})"),
    "a vector": ("s[2][1]", "s[2][2]", "[{0}, {1}]"),
}


def random_loop(rng: Random) -> tuple[str, str, str, tuple[int, int]]:
    """A condition, what becomes of two values at a turn, and what they start as."""
    names = {"c": rng.randint(-2, 20), "d": rng.randint(-2, 20)}
    condition = rng.choice(CONDITIONS).format(a="{a}", b="{b}", **names)
    one, two = rng.choice(STEPS), rng.choice(STEPS)
    starts = rng.randint(-3, 8), rng.randint(-3, 8)
    return condition, one.format(v="{a}", w="{b}"), two.format(v="{b}", w="{a}"), starts


def turns_of(condition: str, one: str, two: str, starts: tuple[int, int]) -> int | None:
    """The turns as Python takes them; None where numbers become too large."""
    a, b = map(Fraction, starts)
    for k in range(1, LIMIT + 1):
        known = {"a": a, "b": b, "k": k, "max": max, "floor": math.floor}
        holds, a, b = (eval(text.format(a="a", b="b"), {}, known) for text in (condition, one, two))  # noqa: S307
        if max(abs(a), abs(b)) > LARGEST:
            return None
        if not holds:
            return k
    return LIMIT


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(25))
def test_a_loop_of_two_known_values_takes_as_many_turns_as_in_python(seed: int, shape: str) -> None:
    condition, one, two, starts = random_loop(Random(seed))
    expected = turns_of(condition, one, two, starts)
    a, b, together = SHAPES[shape]
    condition, one, two = (text.format(a=a, b=b) for text in (condition, one, two))
    text = (
        f"tol x: R [n]\n(t, exactly) = trips(tol[{LIMIT}], (s, z) => "
        f"seq({condition}, {together.format(one, two)}), seq(true, {together.format(*starts)}), [k])\n"
        "y := map(tol[where(exactly, t, 7777)], x[1], i)"
    )
    if expected is not None:
        (found,) = elaborate(parse(Source("test", text))).program.outputs[0].node.type[0].shape
        assert to_text(found) == str(expected)


OF_DATA = ("x[1]", "x[k]", "c", "reduce(x, add, {a})", "exp({a}) * {b}", "map(x, * * {a})[k]")


@pytest.mark.parametrize("seed", range(60))
def test_a_loop_that_data_ends_costs_what_is_counted(seed: int) -> None:
    """Both interpreters find the turns, and count as the closed forms say."""
    rng = Random(seed)
    condition, one, two, starts = random_loop(rng)
    a, b, together = SHAPES[rng.choice(["one by one", "a list"])]
    data = [f"{rng.choice(OF_DATA)} {rng.choice('+*-')} " if rng.random() < 0.6 else "" for _ in range(2)]
    other = f"{rng.choice(OF_DATA)} {rng.choice('<>')} {rng.randint(-3, 9)}"
    ends = f"({condition}) {rng.choice(['and', 'or'])} {other}"
    texts = [text.format(a=a, b=b) for text in (ends, f"{data[0]}({one})", f"{data[1]}({two})")]
    go = rng.choice(["true", "c > 0", "n > 2"])
    text = (
        f"tol x: R [n]\ntol c: R\nt = trips(tol[n], (s, z) => "
        f"seq({texts[0]}, {together.format(*texts[1:])}), seq({go}, {together.format(*starts)}), [k])\n"
        "y := map(tol[t[1]'], exp(x[i]), [i])\n"
        "z := reduce(tol[t[1]'], (a, e) => a * c, 1)\n"
    )
    check(text, [{"n": n} for n in (1, 2, 5)], seed)


@pytest.mark.parametrize(
    "holds, step, start, most",
    [
        ("s[1]' > 0 and s[2]'", "s[1]' - 1", "n", "n"),
        ("s[1]' < n and s[2]'", "s[1]' + 2", "0", "floor((n + 1)/2)"),
        ("s[2]' and (s[1]' > 0 and c > 0)", "s[1]' - 3", "n", "floor((n + 2)/3)"),
        ("s[1]' > 0 or s[2]'", "s[1]' - 1", "n", str(LARGEST_LENGTH)),
    ],
)
def test_a_known_part_of_a_condition_bounds_the_turns(holds: str, step: str, start: str, most: str) -> None:
    text = (
        "tol x: R [n]\ntol c: R\n"
        f"y := while((s) => {holds}, (s, k) => ({step}, x[min(k, n)] > c), ({start}, true))[1]'\n"
    )
    program = elaborate(parse(Source("test", text))).program
    (turns,) = {defined_length(node) for node in program_nodes(program)} - {None}
    assert turns is not None
    assert turns.hi is not None
    assert to_text(turns.hi) == most
