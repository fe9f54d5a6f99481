"""Gradients of programs with lengths that data decides: filters, and ranges whose ends are data."""

from pathlib import Path

import numpy as np
import pytest

from tests.gradient.test_products import SPECS, arrays_of, program_of, written
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tolcost.gradient import derivative, derive
from tools.gradient.products import check, derived

PROGRAMS = {
    "what a filter keeps": "kept = filter(x, map(x, * > 0.5))\ny := map(kept, sqrt(*) * w[1])\n",
    "a sum of it": "kept = filter(x, map(x, * > 0.5))\ny := reduce(kept, (a, e) => a + e * e, 0)\n",
    "its mean": "kept = filter(x, map(x, * > 0.5))\ny := reduce(kept, add, 0) / |kept|[1]\n",
    "how much it keeps": "kept = filter(x, map(x, * > 0.5))\ny := map(w, * * |kept|[1])\n",
    "rows": "y := map(filter(v, map(k, * > 1)), sin(*))\n",
    "a filter of a filter": (
        "kept = filter(x, map(x, * > 0.5))\nagain = filter(kept, map(kept, sqr(*) > 0.8))\n"
        "y := map(again, exp(*) * |again|[1])\n"
    ),
    "repeated": "y := map(repeat(x, map(k, * % 3), 2), sqr(*))\n",
    "a state over what is kept": (
        "kept = filter(x, map(x, * > 0.5))\ny := reduce(kept, (a, e) => tanh(a * e + w[1]), 0.3)\n"
    ),
    "a sum over a range": "y := reduce(1..k[2], (a, e) => a + w[e % m + 1] * e, 0)\n",
    "a state over a range": "y := reduce(1..k[2], (a, e) => tanh(a + w[e % m + 1] * e), 0.2)\n",
    "a map over a range": "y := map(map(1..k[2], w[* % m + 1]), sin(*))\n",
    "a sum for each number": (
        "y := map(tol[n], sin(reduce(1..k[i], (a, e) => a + tanh(w[e % m + 1] * x[i]), 0)), [i])\n"
    ),
    "a maximum for each number": (
        "y := map(tol[n], reduce(1..k[i], (a, e) => max(a, w[e % m + 1] * x[i]), 0.1), [i])\n"
    ),
    "a state for each number": (
        "y := map(tol[n], reduce(2..k[i], (a, e) => sin(a * w[e % m + 1]), x[i]), [i])\n"
    ),
    "a range of ranges": (
        "inner(i) = reduce(1..k[1], (b, q) => b * w[q % m + 1], x[i])\n"
        "y := map(tol[n], reduce(1..k[i], (a, e) => a + inner(i), 0), [i])\n"
    ),
    "ranges in a loop": (
        "inner(t, i) = reduce(1..k[i], (a, e) => sin(a * w[e % m + 1]), t + x[i])\n"
        "y := reduce(tol[n], (t, z) => inner(t, i), 0.5, [i])\n"
    ),
    "ranges in a choice in a loop": (
        "y := reduce(tol[n], (t, z) => choose(t > 0.4, reduce(1..k[i], (a, e) => sin(a * w[e % m + 1]), t),"
        " t + x[i]), 0.5, [i])\n"
    ),
    "a loop that data ends": "y := while((z) => z > 0.1 * x[1], (z) => z * z * w[1], 0.9)\n",
    "a loop that data ends, of rows": (
        "y := while((z) => reduce(z, add, 0) > 0.1 * x[1], (z, t) => map(z, sqr(*) * w[i] / t, [i]), w)\n"
    ),
    "a loop that data ends for each number": (
        "y := map(x, (a) => while((z) => abs(z * z - a) > 0.001, (z) => (z + a / z) / 2, a))\n"
    ),
    "so many turns at most": (
        "turn(s, i) = (s[1]' * w[1], s[2]' + s[1]' * x[i])\n"
        "y := map(tol[n], while((s) => s[1]' > 0.001, (s) => turn(s, i), (x[i], 0.1), i)[2]', [i])\n"
    ),
    "a loop that data ends in a loop": (
        "y := reduce(tol[n], (t, z) => t + while((z) => z > x[i], (z) => z * w[1] / 2, t + 2), 0.5, [i])\n"
    ),
    "members put in a range": (
        "next(u, i, e) = put(u, [k[e % n + 1] % m + 1], sin(u[e % m + 1] * x[i]))\n"
        "inner(t, i) = reduce(1..k[i], (u, e) => next(u, i, e), t)\n"
        "y := reduce(tol[n], (t, z) => inner(t, i), w, [i])\n"
    ),
    "members put in a loop that data ends": (
        "step(s) = (put(s[1]', [k[s[2]'] % m + 1], sqr(s[1]'[1]) * x[s[2]']), s[2]' + 1)\n"
        "y := while((s) => s[1]'[1] > 0.1 and s[2]' <= n, (s) => step(s), (w, 1))[1]'\n"
    ),
    "a sum in a choice": (
        "y := map(x, choose(* > 0.5, reduce(1..k[i], (a, e) => a * w[e % m + 1], *), sqr(*)), [i])\n"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lengths_by_data(tmp_path: Path, name: str) -> None:
    declared = "tol x: R [n]\ntol w: R [m]\ntol v: R [n, m]\ntol k: Z [n]\n"
    program = written(tmp_path, declared + PROGRAMS[name])
    made = derived(program)
    for n, m in ((3, 2), (5, 3)):
        rng = np.random.default_rng(n)
        arrays = {
            "x": (np.array([0.4, 0.7, 1.5, 1.1, 0.2])[:n],),
            "w": (rng.uniform(0.3, 1, m),),
            "v": (rng.uniform(0.3, 1, (n, m)),),
            "k": (np.array([2, 3, 5, 0, 1])[:n],),
        }
        there = {given.name: arrays[given.name] for given in program.inputs}
        known = {symbol.name for symbol in program.symbols}
        dims = {name: length for name, length in (("n", n), ("m", m)) if name in known}
        assert check(program, there, dims, made=made).problem is None


def test_a_sparse_product() -> None:
    """Rows have any number of entries: backward goes over the longest, and leaves out what is past an end."""
    program = program_of(SPECS / "examples" / "sparse_matvec.tol")
    arrays = {
        "ptr": (np.array([0, 3, 3, 4]),),
        "col": (np.array([1, 3, 4, 2]),),
        "val": (np.array([0.5, 0.7, 1.1, 0.4]),),
        "x": (np.array([0.3, 0.9, 0.8, 0.6]),),
    }
    assert check(program, arrays).problem is None


def test_what_a_filter_costs_backward() -> None:
    """One function for each entry that is kept, besides the mask: nothing for the others."""
    program = program_of(SPECS / "examples" / "positive.tol")
    made = derive(program).program
    (kept,) = (symbol for symbol in made.symbols if symbol.kind == "data")
    assert {str(form).replace(kept.name, "kept") for form in count(made).histogram.values()} == {"n", "kept"}
    assert check(program, arrays_of(program, {"n": 4})).problem is None


@pytest.mark.parametrize(
    "text,said",
    [
        ("y := map(tol[n], reduce(filter(x, map(x, * > x[i])), add, 0), [i])\n", "inside of a map or a loop"),
        ("y := map(tol[n], reduce(1..k[i], (a, e) => a + k[i] * x[i], 0) / |1..k[i]|[1], [i])\n", "length"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    program = written(tmp_path, f"tol x: R [n]\ntol k: Z [n]\n{text}")
    with pytest.raises(Rejected, match=said):
        derivative(program)
