"""Gradients of loops inside of loops, and of reads and writes at places that data decides inside of them."""

from pathlib import Path

import numpy as np
import pytest

from tests.gradient.test_products import SPECS, arrays_of, program_of, written
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tolcost.gradient import derivative, emit
from tools.gradient.products import check, derived

LOOPS = {
    "one loop inside of another": (
        "y := reduce(tol[n], (t, z) => reduce(tol[m], (u, z) => map(u, tanh(* * w[j] + x[i, j])), t, [j]),"
        " map(w, *), [i])\n"
    ),
    "a loop for each element of a state": (
        "row(a, t) = reduce(tol[m], (u, z) => tanh(u * w[j] + t[j] * x[a, j]), 0.5, [j])\n"
        "y := reduce(tol[n], (t, z) => map(t, sin(* + row(i, t))), map(w, *), [i])\n"
    ),
    "loops for each element of a map": (
        "row(a, t) = reduce(tol[m], (u, z) => tanh(u * w[j] + t * x[a, j]), 0.5, [j])\n"
        "y := map(tol[n], reduce(tol[m], (t, z) => row(i, t) + t * w[j], 0.3, [j]), [i])\n"
    ),
    "three loops": (
        "in(t, i, j) = reduce(tol[2], (v, z) => tanh(v * w[j] + x[i, j] * v * v), t, [q])\n"
        "y := reduce(tol[n], (t, z) => reduce(tol[m], (u, z) => in(u, i, j), t, [j]), 0.4, [i])\n"
    ),
    "two loops in a step": (
        "y := reduce(tol[n], (t, z) => reduce(tol[m], (u, z) => sin(u * w[j]), t, [j])"
        " * reduce(tol[m], (u, z) => cos(u * x[i, j]), t, [j]), 0.4, [i])\n"
    ),
    "loops over two coordinates": (
        "y := reduce(tol[n, m], (t, z) => reduce(tol[2, m], (u, z) => tanh(u * w[q] + x[i, j]), t, [p, q]),"
        " 0.4, [i, j])\n"
    ),
    "a loop that does not read the state": (
        "y := reduce(tol[n], (t, z) => sin(t + reduce(tol[m], (u, z) => tanh(u * w[j] + x[i, j]), 0.2, [j])),"
        " 0.4, [i])\n"
    ),
    "a loop that is longer at every step": (
        "y := reduce(tol[n], (t, z) => reduce(tol[i], (u, z) => sin(u + x[j, 1] * u), t, [j]) * w[1],"
        " 0.4, [i])\n"
    ),
    "a state that grows": (
        "y := reduce(tol[n], (t, z) => reduce(tol[m], (u, z) => [*u, tanh(u[|u|[1]] * w[j])],"
        " [t * x[i, 1]], [j])[m + 1], 0.3, [i])\n"
    ),
    "a member put in a map": "y := map(tol[n], put(map(w, sqr(*)), [k[1] % m + 1], sqr(x[i, 1])), [i])\n",
    "members put in a map, the last of a place stays": (
        "y := map(tol[n], reduce(tol[m], (t, z) => put(t, [k[j] % m + 1], sin(x[i, j])), map(w, sqr(*)),"
        " [j]), [i])\n"
    ),
    "members added in a map": (
        "y := map(tol[n], reduce(tol[m], (t, z) => put(t, [k[j] % m + 1], t[k[j] % m + 1] + sin(x[i, j])),"
        " map(w, sqr(*) * x[i, 1]), [j]), [i])\n"
    ),
    "members read in a loop": (
        "y := reduce(tol[n], (t, z) => map(t, sin(* + t[k[j] % m + 1] * x[i, j]), [j]), map(w, *), [i])\n"
    ),
    "members put in a loop over two coordinates": (
        "y := reduce(tol[n, m], (t, z) => map(reduce(tol[m], (u, z) => put(u, [k[j] % m + 1], t[j] * x[i, q])"
        ", t, [j]), sin(*)), map(w, *), [i, q])\n"
    ),
    "members read in a loop inside of a loop": (
        "next(u, t, i) = map(u, sin(* + u[k[j] % m + 1] * t[k[j] % m + 1] * x[i, j]), [j])\n"
        "y := reduce(tol[n], (t, z) => reduce(tol[2], (u, z) => next(u, t, i), t, [q]), map(w, *), [i])\n"
    ),
    "members read in a loop, if they are there": (
        "y := reduce(tol[n], (t, z) => map(t, where(* > 0.4 and k[j] < m, t[k[j] + 1] * x[i, j], sin(*)),"
        " [j]), map(w, *), [i])\n"
    ),
    "a loop that hands on": (
        "r = map(tol[m], w[m + 1 - j], [j])\n"
        "y := reduce(tol[n], (t, z) => [t[2], r[k[1] % m + 1]], [x[1, 1], x[n, 1]])\n"
    ),
}


def problem_of(tmp_path: Path, text: str, n: int, m: int) -> str | None:
    program = written(tmp_path, f"tol x: R [n, m]\ntol w: R [m]\ntol k: Z [m]\n{text}")
    dims = {"n": n, "m": m}
    arrays = arrays_of(program, dims) | {"k": (np.arange(3, 3 + m) ** 2 % 7,)}
    there = {given.name: arrays[given.name] for given in program.inputs}
    return check(program, there, dims).problem


@pytest.mark.parametrize("name", LOOPS)
def test_loops(tmp_path: Path, name: str) -> None:
    assert problem_of(tmp_path, LOOPS[name], 3, 4) is None
    assert problem_of(tmp_path, LOOPS[name], 1, 2) is None


def test_a_step_too_early_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays of a loop inside of another are computed in the step in which they are read."""
    lags = emit._lags
    monkeypatch.setattr(
        emit, "_lags", lambda *args: {a: lag + (not a.is_state) for a, lag in lags(*args).items()}
    )
    try:
        found = problem_of(tmp_path, LOOPS["one loop inside of another"], 3, 4)
    except Rejected as rejected:
        found = str(rejected)
    assert found is not None


def test_a_recurrent_language_model() -> None:
    """Layers of cells: each product of matrices is there twice backward, and again in forward."""
    program = program_of(SPECS / "families" / "lstm.tol")
    dims = {"s": 2, "b": 1, "v": 3, "d": 2, "l": 2}
    arrays = arrays_of(program, dims) | {"ids": (np.array([[2], [0]]),)}
    assert check(program, arrays, dims, made=derived(program)).problem is None
    assert str(count(derivative(program)).macs) == "2*b*d*s*(12*d*l + v)"
