"""Small programs, run in all three ways, beside values that were worked out by hand or by NumPy."""

import numpy as np
import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_unrolled, run_vectorised
from tolcost.pipeline import lower, read_program

RUNS = (run_vectorised, run_reference, run_unrolled)
X = np.array([1.5, -2.0, 0.25, 8.0])
ROWS = np.arange(6.0).reshape(3, 2)

GCD = {"a": np.array(84), "b": np.array(36)}
EACH = "tol x: R [n]\ny := map(x, (v) =>"
ENDS = np.array([1, 4])

DOUBLED = "tol x: R [n]\ntol v: R [k]\ny := x[max(min(reduce(tol[k], (a, e) => a * 2, {start}), n), 1)]"

VALUES = [
    # what is not 0 holds, however little it is
    ("tol x: R [n]\ny := filter(x, x)", {"x": np.array([0.4, 0, np.nan, -3])}, [0.4, np.nan, -3]),
    ("tol x: R [n]\ny := map(x, choose(*, 1, 2))", {"x": np.array([0.4, 0, np.nan])}, [1, 2, 1]),
    # rows equally often, whatever the length
    ("tol x: R [n]\ny := repeat(x, map(tol[n], 2), 2)", {"x": X}, np.repeat(X, 2)),
    ("tol x: R [n]\ny := repeat(x, 3, 3)", {"x": X}, np.repeat(X, 3)),
    ("tol x: R [4]\ny := repeat(x, 3, 3)", {"x": X}, np.repeat(X, 3)),
    ("tol x: R [n]\ny := repeat(x, 0, 3)", {"x": X}, []),
    ("tol x: R [n, m]\ny := repeat(x, map(tol[n], m), m)", {"x": ROWS}, np.repeat(ROWS, 2, axis=0)),
    ("tol x: R [n]\ny := repeat(1..n, 2, 2)", {"x": X}, np.repeat(np.arange(1, 5), 2)),
    ("tol x: R [n]\ny := repeat((x, x), 2, 2)[2]'", {"x": X}, np.repeat(X, 2)),
    # what doubles in a machine type wraps as its bits do, and is 0 after as many steps as it has
    (DOUBLED.format(start="convert(1, int32)"), {"x": X, "v": np.zeros(40)}, X[0]),
    (DOUBLED.format(start="1"), {"x": X, "v": np.zeros(40)}, X[3]),
    (DOUBLED.format(start="convert(1, uint8)"), {"x": X, "v": np.zeros(9)}, X[0]),
    (DOUBLED.format(start="convert(1, int32)"), {"x": X, "v": np.zeros(1)}, X[1]),
    # a sequence of whole numbers that the first step makes reals
    (
        "tol v: R [n]\nx = [0.5, 1.25]\n"
        "y := reduce(tol[2], (s, e) => seq(map(s[1], * + x[k])), seq([0, 0]), [k])[1]",
        {"v": X},
        [1.75, 1.75],
    ),
    # loops that run until a condition fails, one for each entry, in one another, and with a limit
    ("tol x: R [n]\ny := map(x, (v) => while((z) => z > 1, (z) => z / 2, v))", {"x": X}, [0.75, -2, 0.25, 1]),
    (
        "tol x: R [n]\ny := map(x, (v) => while((z) => z > 1, (z) => z / 2, v, 2))",
        {"x": X},
        [0.75, -2, 0.25, 2],
    ),
    ("tol x: R [n]\ny := while((v) => reduce(v, max, 0) > 2, (v, k) => map(v, * - k), x)", {"x": X}, X - 6),
    (
        f"{EACH} while((z) => z > 1, (z) => while((w) => w > 1, (w) => w - 3, z), v))",
        {"x": X},
        [-1.5, -2, 0.25, -1],
    ),
    ("tol a: N\ntol b: N\ny := while((s) => s[2] > 0, (s) => [s[2], s[1] % s[2]], [a, b])[1]", GCD, 12),
    # ranges whose ends data decides
    ("tol a: N\ntol b: N\ny := b..a", GCD, range(36, 85)),
    ("tol a: N\ntol b: N\ny := reduce(a..b, add, 0)", GCD, 0),
    ("tol x: R [n]\ntol b: N\ny := part(x, b - 34, 3)", {"x": X, "b": np.array(36)}, X[1:3]),
    (
        "tol x: R [n]\ntol b: N [2]\ny := map(b, (k) => reduce(part(x, k, n), add, 0))",
        {"x": X, "b": ENDS},
        [7.75, 8],
    ),
    # a number that counts the steps over a matrix, which go by rows
    (
        "tol w: R [2, 3]\ntol x: R [6]\n"
        "y := reduce(w, (a, e) => (a[1]' + 1, a[2]' + x[a[1]'] * e), (1, 0))[2]'",
        {"w": 10.0 ** ROWS.reshape(2, 3), "x": np.arange(1.0, 7)},
        654321,
    ),
    (
        "tol w: R [n, m]\ny := reduce(w, (a, e) => (a[1]' + 1, a[2]' + a[1]' * e), (1, 0))[2]'",
        {"w": 10.0**ROWS},
        654321,
    ),
    # what data decides at each place is another number at each
    ("tol x: R [n]\ny := map(tol[n], |filter(x, x > x[i])|[1], [i])", {"x": X}, [1, 3, 2, 0]),
    (
        "tol x: R [n]\ny := map(x, while((s) => s[1]' > 1, (s) => (s[1]' / 2, s[2]' + 1), (*, 0))[2]')",
        {"x": X},
        [1, 0, 0, 3],
    ),
    # a case that holds everywhere, though nothing says so
    (
        "tol x: R [n]\ntol v: R [k]\ny := map(v, where(i * i - 5 * i + n + 3 >= 0, 2 * i, [1, 2][0]), [i])",
        {"x": X, "v": X},
        [2, 4, 6, 8],
    ),
]


@pytest.mark.parametrize("text, given, expected", VALUES, ids=[text for text, _, _ in VALUES])
def test_values(text: str, given: dict, expected: object) -> None:
    program = lower(read_program(Source("small.tol", text))).program
    found = [run(program, given) for run in RUNS]
    for one in found:
        np.testing.assert_array_equal(one.outputs["y"], expected)
        assert one.counts.histogram == found[0].counts.histogram


FAR = "tol x: R [n]\ntol v: R [k]\n"

REFUSED = [
    (
        "tol x: R [n]\ntol c: Z [n]\ny := repeat(x, c, 3)",
        {"x": X[:2], "c": np.array([2**62, 2**62])},
        "T0346",
    ),
    ("tol x: R [n]\ntol c: Z [n]\ny := repeat(x, c, 3)", {"x": X[:2], "c": np.array([-1, 2])}, "T0346"),
    # an index that grows as no form of ours does
    (
        FAR + "y := reduce(v, (a, e) => (a[1]' + x[a[2]'], a[2]' * 2 + 1), (0, 1))[1]'",
        {"x": X, "v": X[:3]},
        "T0346",
    ),
    # an entry of numbers that have a formula, outside of them
    (
        FAR + "t = map(tol[k], i * i, [i])\ny := map(x, t[i * i - 5 * i + k], [i])",
        {"x": X, "v": X[:3]},
        "T0346",
    ),
    # a case that is taken to hold everywhere, and a run shows that it does not: data, numbers, ToLs
    (FAR + "y := map(x, where(i * i - 5 * i + k >= 0, exp(x[i]), x[0]), [i])", {"x": X, "v": X[:3]}, "T0346"),
    (
        FAR + "y := map(x, where(i * i - 5 * i + k >= 0, 2 * i, [1, 2][0]), [i])",
        {"x": X, "v": X[:3]},
        "T0346",
    ),
    (FAR + "y := map(x, where(i * i - 5 * i + k >= 0, v, map(v, x[0])), [i])", {"x": X, "v": X[:3]}, "T0346"),
]


@pytest.mark.parametrize("text, given, code", REFUSED)
def test_refusals(text: str, given: dict, code: str) -> None:
    program = lower(read_program(Source("small.tol", text))).program
    for run in RUNS:
        with pytest.raises(Rejected) as caught:
            run(program, given)
        assert [one.code for one in caught.value.diagnostics] == [code]
