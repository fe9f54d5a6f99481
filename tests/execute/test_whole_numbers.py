"""Whole numbers without end: every run gives what Python's integers give, or says that it cannot hold it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_unrolled, run_vectorised
from tolcost.execute.inputs import nested_array
from tolcost.pipeline import lower, read_program

RUNS = (run_vectorised, run_reference, run_unrolled)
MOST = 2**63 - 1
EDGES = [0, 1, -1, -3, 63, 3037000499, 3037000500, 2**53 + 1, 2**62, MOST, -MOST - 1]


def outcomes(text: str, **given: object) -> list[object]:
    """What each interpreter gives as the first output: nested lists, or the codes of what it refuses."""
    program = lower(read_program(Source("whole.tol", text))).program
    arrays = {name: np.asarray(value) for name, value in given.items()}
    return [_outcome(run, program, arrays) for run in RUNS]


def _outcome(run, program, arrays) -> object:
    try:
        return next(iter(run(program, arrays).outputs.values())).tolist()
    except Rejected as refused:
        return {one.code for one in refused.diagnostics}


def held(number: int | None) -> object:
    if number is None:
        return {"T0349"}
    return number if -MOST - 1 <= number <= MOST else {"T0522"}


def _power(x: int, y: int) -> int | None:
    if y < 0:
        return {1: 1, -1: 1 - 2 * (y % 2)}.get(x)
    return x**y if abs(x) < 2 or y < 200 else 2**100


BINARY = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x ^ y": _power,
    "x % y": lambda x, y: x % y if y else None,
    "fmod(x, y)": lambda x, y: (abs(x) % abs(y)) * (-1 if x < 0 else 1) if y else None,
    "shl(x, y)": lambda x, y: None if y < 0 else x * 2 ** min(y, 100),
    "shr(x, y)": lambda x, y: None if y < 0 else x // 2 ** min(y, 100),
    "max(x, y)": max,
    "x xor y": lambda x, y: x ^ y,
    "-x + 0 * y": lambda x, y: -x if x != -MOST - 1 else 2**63,
    "abs(x) + 0 * y": lambda x, y: abs(x),
    "sqr(x) + 0 * y": lambda x, y: x * x,
}


@pytest.mark.parametrize("written", BINARY)
def test_functions_near_the_end(written: str) -> None:
    text = f"tol x: Z []\ntol y: Z []\nz := {written}"
    program = lower(read_program(Source("whole.tol", text))).program
    for x in EDGES:
        for y in EDGES:
            given = {"x": np.asarray(x), "y": np.asarray(y)}
            expected = held(BINARY[written](x, y))
            assert [_outcome(run, program, given) for run in RUNS] == [expected] * 3, (x, y)


def folded(numbers: list[int], step, start: int) -> object:
    """A fold from the left: it may not leave 64 bits on its way either."""
    for number in numbers:
        start = step(start, number)
        if not -MOST - 1 <= start <= MOST:
            return {"T0522"}
    return start


FOLDS = {
    "reduce(x, add, 0)": (lambda s, e: s + e, 0),
    "reduce(x, sub, 5)": (lambda s, e: s - e, 5),
    "reduce(x, mul, 3)": (lambda s, e: s * e, 3),
    "reduce(x, (s, e) => s + e * 1000, 1)": (lambda s, e: s + e * 1000, 1),
    "reduce(x, (s, e) => put(s, [1], s[1] + e), convert(tol[2], Z))[1]": (lambda s, e: s + e, 0),
    "reduce(x, (s, e) => put(s, [1], s[1] * e), map(tol[2], 1))[1]": (lambda s, e: s * e, 1),
}


@pytest.mark.parametrize("written", FOLDS)
def test_folds_near_the_end(written: str) -> None:
    step, start = FOLDS[written]
    draw = np.random.default_rng(7)
    program = lower(read_program(Source("whole.tol", f"tol x: Z [n]\ny := {written}"))).program
    told = set()
    for size in (1, 4, 20):
        for bits in (3, 20, 58, 63):
            numbers = draw.integers(-(2**bits), 2**bits - 1, size)
            expected = folded(numbers.tolist(), step, start)
            told.add(str(expected) == "{'T0522'}")
            assert [_outcome(run, program, {"x": numbers}) for run in RUNS] == [expected] * 3
    assert told == {True, False}


def test_products_of_matrices() -> None:
    products = "reduce(tol[k], (s, e) => s + a[i, l] * b[l, j], 0, [l])"
    text = f"tol a: Z [n, k]\ntol b: Z [k, m]\nc := map(tol[n, m], {products}, [i, j])"
    a, b = [[2**40, 3, -5], [1, 2, 3]], [[2**22, 1], [7, 1], [2**60, 1]]
    columns = list(zip(*b, strict=True))
    exact = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a]
    assert outcomes(text, a=a, b=b) == [exact] * 3
    assert outcomes(text, a=a, b=[[2**23, 1], *b[1:]]) == [{"T0522"}] * 3


def test_what_is_not_taken_may_be_too_large() -> None:
    text = "tol x: Z [n]\ny := map(x, where(* > 100, 0, * ^ 9))"
    assert outcomes(text, x=[2**60, 3]) == [[0, 3**9]] * 3
    ragged = "tol x: Z [n]\ny := map(tol[n], reduce(tol[i], (s, z) => s * x[j], 1, [j]), [i])"
    assert outcomes(ragged, x=[2**40, 2**20, 5]) == [[2**40, 2**60, 5 * 2**60]] * 3
    assert outcomes(ragged, x=[2**40, 2**20, 8]) == [{"T0522"}] * 3


@pytest.mark.parametrize(
    "number, expected",
    [(2.0**63, {"T0522"}), (-(2.0**63), -(2**63)), (2.0**62, 2**62), (1e300, {"T0522"}), (2.5, 2)]
    + [(number, {"T0349"}) for number in (np.nan, np.inf, -np.inf)],
)
def test_reals_that_become_whole(number: float, expected: object) -> None:
    for rounded in ("convert(x, Z)", "convert(floor(x), Z)" if number != 2.5 else "convert(x, Z)"):
        assert outcomes(f"tol x: R []\ny := {rounded}", x=number) == [expected] * 3
    assert not isinstance(outcomes("tol x: R []\ny := convert(x, int64)", x=number)[0], set)


def test_other_numbers_and_texts_that_become_whole() -> None:
    unsigned = "tol x: uint64 []\ny := convert(x, Z)"
    assert outcomes(unsigned, x=np.uint64(2**63)) == [{"T0522"}] * 3
    assert outcomes(unsigned, x=np.uint64(2**63 - 1)) == [2**63 - 1] * 3
    text = "tol x: S []\ny := convert(x, Z)"
    assert outcomes(text, x=np.array("9007199254740993", object)) == [9007199254740993] * 3
    assert outcomes(text, x=np.array("1e30", object)) == [{"T0522"}] * 3
    assert outcomes(text, x=np.array("nan", object)) == [{"T0349"}] * 3


def test_machine_types_wrap_as_ever() -> None:
    assert outcomes("tol x: int64 [n]\ny := map(x, * * *)", x=[2**62, 3]) == [[0, 9]] * 3
    assert outcomes("tol x: int8 [n]\ny := reduce(x, add, 0)", x=[127, 1]) == [-128] * 3
    assert outcomes("tol x: int64 [n]\ny := map(x, * % 0)", x=[5]) == [[0]] * 3


def test_inputs_beyond_64_bits() -> None:
    whole, real = "tol x: Z [n]\ny := x", "tol x: R [n]\ny := x"
    for numbers in ([2**63], [2**63, -1], [2**70, 1]):
        given = nested_array(tuple(numbers), "x")
        assert outcomes(whole, x=given) == [{"T0522"}] * 3
        assert outcomes(real, x=given) == [list(map(float, numbers))] * 3
    assert outcomes(whole, x=np.array([1e30])) == [{"T0522"}] * 3
    assert outcomes(whole, x=np.array([np.nan])) == [{"T0349"}] * 3
    assert outcomes(real, x=nested_array((2**70, 0.5), "x")) == [[2.0**70, 0.5]] * 3
    assert outcomes("tol x: uint64 [n]\ny := x", x=nested_array((2**64 - 1, 1), "x")) == [[2**64 - 1, 1]] * 3


def test_a_place_far_outside_is_outside() -> None:
    text = "tol x: R [n]\ntol i: R []\ny := x[i]"
    for place in (2.0**64 + 4096, -(2.0**70), np.inf, np.nan):
        assert outcomes(text, x=np.arange(9000.0), i=place) == [{"T0346"}] * 3


@pytest.mark.parametrize("run", [run_vectorised, run_reference])
@pytest.mark.parametrize(
    "line", ["map(x, * + 2^70)", "map(x, * + n^99)", "map(tol[n], 2^(61 + i), [i])", "[1, 2^70]"]
)
def test_a_static_number_has_a_place(line: str, run) -> None:
    program = lower(read_program(Source("whole.tol", f"tol x: Z [n]\ny := {line}"))).program
    with pytest.raises(Rejected) as refused:
        run(program, {"x": np.array([1, 2, 3])})
    assert (refused.value.code, refused.value.place.split(":")[1]) == ("T0522", "2")


# ---- quotients ----------------------------------------------------------------------------------

ROUNDED = {"floor": math.floor, "ceil": math.ceil, "round": round, "trunc": math.trunc}
SIZES = [0, 1, 3, 2**52 + 1, 2**53 + 1, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1]
LIMITS = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}


def wrapped(number: int, space: str) -> int:
    low, _ = LIMITS[space]
    return (number - low) % 2**64 + low


@pytest.mark.parametrize("space", LIMITS)
@pytest.mark.parametrize("rounding", ROUNDED)
def test_rounded_quotients_are_exact(rounding: str, space: str) -> None:
    low, high = LIMITS[space]
    numbers = [n for n in (*SIZES, *(-n for n in SIZES[1:])) if low <= n <= high]
    pairs = [(x, y) for x in numbers for y in numbers]
    x, y = (np.array(side, space) for side in zip(*pairs, strict=True))
    text = f"tol x: {space} [n]\ntol y: {space} [n]\n"
    every = f"z := convert(map(x, {rounding}(x[i] / y[i]), [i]), {space})"
    exact = [wrapped(ROUNDED[rounding](Fraction(a, b)), space) if b else 0 for a, b in pairs]
    assert outcomes(text + every, x=x, y=y) == [exact] * 3
    thirds = f"z := convert(map(x, {rounding}(* / 3)), {space})"
    exact = [wrapped(ROUNDED[rounding](Fraction(a, 3)), space) for a, _ in pairs]
    assert outcomes(f"tol x: {space} [n]\n{thirds}", x=x) == [exact] * 3


LARGE = 2**62 + 1


@pytest.mark.parametrize(
    "written, expected",
    [
        ("convert(x / y, int64)", [LARGE, 1, 4]),
        ("convert(map(y, trunc(4611686018427387905 / *)), int64)", [LARGE, LARGE // 5, LARGE // 2]),
        ("convert(floor(floor(x / y) / 1), int64)", [LARGE, 1, 3]),
        ("convert(map(x, where(y[i] > 2, 0, floor(x[i] / y[i])), [i]), int64)", [LARGE, 0, 3]),
        ("convert(map(x, choose(y[i] > 2, 0, floor(x[i] / y[i])), [i]), int64)", [LARGE, 0, 3]),
        ("convert(put(map(x, 0.5), 2, floor(x[1] / y[1])), int64)", [0, LARGE, 0]),
        ("convert(reduce(x, (t, e) => put(t, 2, max(e, 5) / y[1]), tol[3]), int64)", [0, 7, 0]),
        ("convert(join(floor(x / y), map(tol[1], 0.5), 1), int64)", [LARGE, 1, 3, 0]),
        ("convert(filter(floor(x / y), y < 2), int64)", [LARGE]),
        ("convert(map(x, (floor(* / 1), 1))[1]', int64)[1]", LARGE),
        ("convert(trunc(div(reduce(x, add, 0), n)), int64)", (LARGE + 14) // 3),
        ("convert(reshape(floor(x / y), [3, 1]), int64)", [[LARGE], [1], [3]]),
        ("convert(floor(x / y), R) * 0.5", [2.0**61, 0.5, 1.5]),
        (
            "convert(map(y, where(* > 9, 0.5, 4611686018427387905 / i), [i]), int64)",
            [LARGE, 2**61, LARGE // 3],
        ),
        ("convert(map(y, where(* > 9, 0.5, 4611686018427387904 + convert(1, R))), int64)", [LARGE] * 3),
        ("x / y", [2.0**62, 1.4, 3.5]),
        ("convert(trunc(x / map(y, where(* == 5, 0.5, *))), int64)", [LARGE, 14, 3]),
        ("convert(trunc(x / map(y, convert(*, int4))), int64)", [LARGE, 1, 3]),
        ("convert(x / y, S)", ["4.611686018427388e+18", "1.4", "3.5"]),
        ("map(tol[3], x[floor(x[1] / 4611686018427387905)])", [LARGE] * 3),
    ],
)
def test_quotients_stay_exact_until_they_are_rounded(written: str, expected: object) -> None:
    text = f"tol x: int64 [n]\ntol y: int64 [n]\nz := {written}"
    assert outcomes(text, x=[LARGE, 7, 7], y=[1, 5, 2]) == [expected] * 3


def test_what_a_division_by_zero_gives_is_as_with_small_numbers() -> None:
    text = "tol x: int64 [n]\ntol y: int64 [n]\nz := "
    for large in (1, 2**62 + 1):
        given = {"x": np.array([large, large, -large, 0]), "y": np.array([1, 0, 0, 0])}
        for found in outcomes(text + "floor(x / y)", **given):
            np.testing.assert_array_equal(found, [float(large), np.inf, -np.inf, np.nan])
        assert outcomes(text + "convert(floor(x / y), int64)", **given) == [[large, 0, 0, 0]] * 3


def test_a_quotient_that_is_no_whole_number_of_64_bits_is_a_fault_where_it_is_used() -> None:
    text = "tol x: uint64 [n]\nz := "
    given = np.array([2**64 - 1, 4], np.uint64)
    assert outcomes(text + "convert(floor(x / 1), Z)", x=given) == [{"T0522"}] * 3
    assert outcomes(text + "convert(floor(x / 2), Z)", x=given) == [[2**63 - 1, 2]] * 3
    assert outcomes(text + "convert(floor(x / 1), Z)[2]", x=given) == [4] * 3
    assert outcomes("tol x: Z [n]\nz := convert(floor(x / 0), Z)", x=[2**60]) == [{"T0349"}] * 3


def test_only_quotients_of_whole_numbers_of_64_bits_are_kept_exactly() -> None:
    """No other would end: what is kept may not grow from step to step."""
    text = "tol x: int64 [n]\ny := reduce(x, (a, e) => e / a, 1)"
    steps = [2**62 + 1, 2**62 + 3] * 600
    exact = 1.0
    for step in steps:
        exact = step / exact
    assert outcomes(text, x=steps) == [exact] * 3
    huge = "tol x: int64 [n]\ny := map(x, 10^400 / *)\nz := map(x, floor(* / 10^400))"
    assert outcomes(huge, x=[2**62 + 1, -1]) == [[math.inf, -math.inf]] * 3


@pytest.mark.parametrize("space", ["Z", "R", "B", "float32", "int8"])
def test_an_imaginary_part_is_in_no_space_of_other_numbers(space: str) -> None:
    """It was left out without a word, and the run was of other numbers."""
    text = f"tol x: {space} [n]\ny := x"
    assert outcomes(text, x=[1 + 2j]) == [{"T0349"}] * 3
    assert outcomes(text, x=[1 + 0j]) == [[1]] * 3


@pytest.mark.parametrize(
    "static", ["10^30 / i", "max(i - 10^30, 0)", "10^30 * i / 7", "i / 10^30", "i % 10^25", "(i * 10^30) % 7"]
)
def test_static_numbers_of_any_size_meet_coordinates(static: str) -> None:
    """A quotient of what 64 bits cannot hold, by a coordinate, ended in an overflow."""
    whole, by_one, written_out = outcomes(
        f"tol x: R [n]\ny := map(x, * * ({static}), [i])", x=[1.0, 2.0, 3.0]
    )
    assert whole == by_one == written_out
