"""What may differ in shape: whatever is done with it is refused, or right when it is run.

Who looks at the first component of a list alone, or at the first member of a ToL, takes others for its like.
So what is done to a list is held to the same done to each of its components: where one of these is refused,
or breaks a condition, so does the list, and elsewhere the values are the same.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from os import environ

import numpy as np
import pytest

from tolcost.algebra import evaluate
from tolcost.atoms.nodes import Program
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import Execution, run_reference, run_vectorised
from tolcost.pipeline import lower, read_program
from tools.programs.road import same_counts, same_runs, same_shapes

SOAK = bool(environ.get("TOLCOST_SOAK"))
"""All lists and forms, some minutes; otherwise those that differ most."""

INPUTS = (
    "tol x: R [n, 2]\ntol u: R [m, 2]\ntol v: Z [m]\ntol w: R [n]\ntol b: B [n]\ntol g: R [2]\n"
    "tol c: B\ntol k: N\n"
)
SIZES = ((3, 2), (2, 3), (2, 2), *(((1, 2), (1, 1)) if SOAK else ()))
BROKEN = ("T0342", "T0343", "T0344", "T0345")
"""What a run says of lengths that no condition allows; any other fault is one that nobody was told of."""

LITERAL = (
    ("x", "u"), ("w", "x"), ("v", "1"), ("[1, 2]", "[1, 2, 3]"), ("tol[n]", "tol[m]"), ("1..n", "w", "v"),
)  # fmt: skip
MORE_LITERAL = (
    ("w", "v"), ("1", "v"), ("x", "w"), ("w", "2.5"), ("w", "b"), ("k", "g"), ("g", "v"), ("w", "tol[m]"),
    ("[1, 2]", "w"), ("[1, 2]", "tol[n]"), ("w", "1", "v"), ("x[1]", "w"), ("[w[1], 2]", "v"),
    ("part(w, [1], [n])", "v"), ("where(n > 2, w, -w)", "v"), ("1", "true"),
)  # fmt: skip
MADE = (
    "where(n > 2, (w, v), (-w, v))", "reduce(w, (s, e) => (s[1]' + e, s[2]' + 1), (w, v))",
    "map(w, (e) => (e, v))", "tile(x)", "(filter((w, x), b), v)",
)  # fmt: skip
MORE_MADE = (
    "choose(c, (x, u), (x, u))", "where(c, (w, v), (w, v))", "filter((w, x), b)",
    "reduce(w, (s, e) => (s[1]' + e, s[2]'), (0, u))", "map(w, (e) => (v, e))", "map(1..n, (e) => (e, v))",
    "map([1, 2], (e) => (e, v))", "map([], (e) => (e, 1))", "map([1, 2], (e) => (tol[2], e))",
    "convert((w, v), [R, int8])", "join((x, u), (x, u), 1)", "put((w, v), [1], (0, 1))",
    "part((w, v), [1], [1])", "embed((w, v))", "repeat((w, x), b, 2)", "reshape((x, u), [-1])",
    "swap((w, v), 1, [1])", "reduce([1, 2], (s, e) => (join(s[1]', w), s[2]'), (w, v))", "(tile(x), v)",
    "where([c, true], (w, v), (w, v))", "where([true, false], (x, u), (x, u))", "((t) => (t, v))(w)",
    "where(n > 2, seq((w, v), x), seq((w, v), -x))[1]", "choose(c, seq(x, (v, w)), seq(x, (v, w)))[2]",
)  # fmt: skip
FORMS = (
    "part({0}, [1, 1], [n, 2])", "swap({0}, 1, [2, 1])", "reshape({0}, [-1])", "reshape({0}, [2])",
    "map({0}, (e) => e)", "map({0}, neg)", "map(embed({0}), (e) => e)", "filter({0}, b)",
    "filter({0}, [true, false])", "filter({0}, map(1..n, false))", "repeat({0}, [2, 0], 2)", "{0}[n]",
    "convert({0}, int8)", "map(w, (e) => {0})", "where(c, {0}, {0})", "join({0}, {0}, 1)",
    "[*({0}), {0}[1]]", "reduce(w, (s, e) => s, {0})", "reduce([1, 2], (s, e) => join(s, {0}, 1), {0})",
    "put({0}, [1], {0}[1])", "embed(embed({0}))", "where(n > 2, seq(1, {0}), seq(2, {0}))[2]",
)  # fmt: skip
MORE_FORMS = (
    "embed({0})", "{0}[2]", "choose(c, {0}, {0})", "[{0}, {0}]", "map(seq({0}, {0}), (e) => e)[2]",
    "where(n > 2, {0}, {0})", "part({0}, [1, 1], [1, 2])", "part({0}, [1])", "swap({0}, 1, [1])",
    "swap({0}, 1, 1..n)", "swap({0}, 2, [2, 1])", "reshape({0}, [2, n])", "reshape({0}, [n, 1])",
    "reshape({0}, [1, -1])", "reshape({0}, [])", "map({0}, *)", "map({0}, exp)", "map({0}, * + 1)",
    "map({0}, (e, i) => e)", "filter({0}, [true])", "repeat({0}, b, 2)", "{0}[1]", "{0}[1, 1]",
    "{0}[m]", "convert({0}, R)", "map([1, 2], (e) => {0})", "map(g, (e, i) => {0}[i])",
    "map(w, (e, i) => {0}[i])", "join({0}, {0}, 2)", "[*({0}), *({0})]", "[{0}]",
    "reduce([1, 2], (s, e) => s, {0})", "reduce(w, (s, e) => join(s, {0}, 1), {0})",
    "reduce(tol[n], (s, e) => join(s, {0}, 1), {0})", "reduce({0}, (s, e) => s, {0}[1])",
    "reduce([1, 2, 3], (s, e, i) => {0}[i], {0}[1])", "put({0}, [k], {0}[1])", "((t) => t)({0})",
    "put({0}, [1, 1], {0}[1, 1])", "reduce(seq({0}, {0}), (s, e) => join(s, e, 1), {0})",
    "map({0}, (e) => map(e, (f) => f))", "map(map({0}, (e) => e), (e) => e)", "swap(embed({0}), 2, [1])",
)  # fmt: skip
OF_TWO = (
    "join({0}, {1}, 1)", "[{0}, {1}]", "where(c, {0}, {1})", "choose(c, {0}, {1})", "where(n > 2, {0}, {1})",
    "put({0}, [1], {1})", "{0} + {1}", "filter({0}, {1})", "reduce({0}, (s, e) => e, {1})",
    "reduce(w, (s, e) => {0}, {1})", "reduce([1, 2, 3], (s, e) => join(s, {0}, 1), {1})",
    "where([true, false], {0}, {1})", "map([true, false], (t) => where(t, {0}, {1}))",
)  # fmt: skip
PAIRED = ("u", "(x, u)", "(w, v)", "filter((x, w), b)", "reduce(w, (s, e) => (s[1]' + e, s[2]'), (0, u))")
MORE_PAIRED = ("w", "tile(x)", "(1, v)", "map(w, (e) => (e, v))", "choose(c, (x, u), (x, u))", "seq(w, v)")

FOLDS = (
    ("s * 2 + w[1]", "convert(0, float32)"), ("(s[1]' * 2 + w[1], s[2]' * 3)", "(convert(1, float32), 1)"),
    ("where(c, (s[1]' * 2, s[2]' * 2), (1, 2))", "(0, 0)"), ("[s[1] * 2 + w[1], s[2] * 3]", "[0, 0]"),
    ("map(s, * * 2 + w[1])", "[0, 0]"), ("put(s, [1], s[1] * 2 + w[1])", "[0, 0]"),
    ("map(s, (t) => (t[1]' * 2 + w[1], t[2]' * 2))", "([0, 0], [1, 1])"),
    ("seq(s[1] * 2 + w[1], s[2] * 2)", "seq(0, convert(0, int8))"),
)  # fmt: skip
"""Steps, and what they start from: static numbers that become data."""

Found = dict[tuple[int, int], tuple[np.ndarray, ...] | None]


def lists() -> list[tuple[str, tuple[str, ...]]]:
    """Lists, and the components of each."""
    literal, made = (LITERAL + MORE_LITERAL, MADE + MORE_MADE) if SOAK else (LITERAL, MADE)
    found = [(f"({', '.join(parts)})", tuple(f"({part})" for part in parts)) for parts in literal]
    return found + [(text, tuple(f"({text})[{j}]'" for j in range(1, capacity(text) + 1))) for text in made]


def capacity(text: str) -> int:
    """How many components a list has."""
    found = outcome(f"capacity({text})")
    assert isinstance(found, dict), (text, found)
    return int(next(values[0] for values in found.values() if values is not None))


@pytest.mark.parametrize("form", FORMS + MORE_FORMS if SOAK else FORMS)
def test_what_is_done_to_a_list_is_done_to_each_component(form: str) -> None:
    for text, parts in lists():
        whole, apart = outcome(form.format(text)), [outcome(form.format(part)) for part in parts]
        assert len(parts) > 1
        if isinstance(whole, str):
            continue  # a form may take no lists, or none of different ranks
        for size, values in whole.items():
            each = [None if isinstance(one, str) else one[size] for one in apart]
            assert values is None or None not in each, (form, text, size, apart)
            if values is not None:
                same(values, tuple(v for one in each if one is not None for v in one), (form, text, size))


@pytest.mark.parametrize("form", OF_TWO)
def test_of_two_lists(form: str) -> None:
    for one, other in product(PAIRED + MORE_PAIRED if SOAK else PAIRED, repeat=2):
        outcome(form.format(one, other))


@pytest.mark.parametrize(
    "expression",
    [
        "filter(where(n > 2, repeat(w, b, 2), repeat(w, b, 2)), b)",  # which length data decides, lengths do
        "reshape(map(v, (e) => (w, e)), [])",  # m is 1, so that n has to be
        "put((w, v), [k + 1], (1, 2))",
        "reshape(repeat(x, b, 2), [m, n])",
    ],
)
def test_what_does_not_fit_is_refused_when_run(expression: str) -> None:
    parsed = read_program(Source("lists.tol", f"{INPUTS}y := {expression}\n"))
    program = lower(parsed, arguments(parsed.program)).program
    every = inputs(3, 1)
    given = {needed.name: every[needed.name] for needed in program.inputs}
    for interpreter in (run_reference, run_vectorised):
        with pytest.raises(Rejected):
            interpreter(program, given, {"n": 3, "m": 1})


@pytest.mark.parametrize("step, start", FOLDS)
def test_an_accumulator_is_as_late_in_few_steps_as_in_any_number(step: str, start: str) -> None:
    few, many = (eops(f"reduce({over}, (s, e) => {step}, {start})") for over in ("[1, 2, 3]", "1..n"))
    assert few == many


def eops(expression: str) -> int:
    """What an expression takes where n is 3."""
    parsed = read_program(Source("lists.tol", f"{INPUTS}y := {expression}\n"))
    form = count(lower(parsed, arguments(parsed.program)).program).eops
    return evaluate(form, dict.fromkeys(form.free, 3))


def same(ours: tuple[np.ndarray, ...], theirs: tuple[np.ndarray, ...], where: object) -> None:
    """Two lists are of the same shapes, types and values."""
    assert [(a.shape, a.dtype) for a in ours] == [(a.shape, a.dtype) for a in theirs], where
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)), where


@cache
def outcome(expression: str) -> Found | str:
    """The values at each size, None where it breaks a condition; or how it is refused."""
    parsed = read_program(Source("lists.tol", f"{INPUTS}y := {expression}\n"))
    try:
        program = lower(parsed, arguments(parsed.program)).program
    except Rejected as rejected:
        return rejected.diagnostics[0].message
    counts, found = count(program), Found()
    for n, m in SIZES:
        every, dims = inputs(n, m), {"n": n, "m": m}
        given = {needed.name: every[needed.name] for needed in program.inputs}
        done = run(expression, program, given, dims)
        if done is None:
            found[n, m] = None
            continue
        if counts.status != "upper bound":  # lengths of a side that is not taken are nobody's
            same_counts(counts, done, dims)
            same_shapes(program, done, dims)
        same_runs(done, run_vectorised(program, given, dims), dims)
        found[n, m] = tuple(a for v in done.outputs.values() for a in (v if isinstance(v, tuple) else (v,)))
    return found


def run(
    expression: str, program: Program, given: dict[str, np.ndarray], dims: dict[str, int]
) -> Execution | None:
    """Run it; None where a condition is broken, of which the fast interpreter says so, too."""
    try:
        return run_reference(program, given, dims)
    except Rejected as rejected:
        told = rejected.diagnostics[0]
    with pytest.raises(Rejected):
        run_vectorised(program, given, dims)
    assert told.code in BROKEN, (expression, dims, told.message)
    return None


def inputs(n: int, m: int) -> dict[str, np.ndarray]:
    """A value for every input, all different."""
    shapes = {"x": (n, 2), "u": (m, 2), "w": (n,), "g": (2,)}
    named = enumerate(shapes.items(), start=1)
    found = {name: 0.5 + at * np.arange(np.prod(shape)).reshape(shape) for at, (name, shape) in named}
    return found | {"v": np.arange(m) + 1, "b": np.arange(n) != 1, "c": np.array(n > m), "k": np.array(1)}
