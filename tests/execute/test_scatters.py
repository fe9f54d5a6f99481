"""Folds that scatter: done at once by the vectorised interpreter, with the values and counts of the steps."""

import numpy as np
import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program

PROGRAMS = {
    "sum": "reduce(tol[n], (t, z) => put(t, [k[i]], t[k[i]] + v[i]), convert(tol[5], Z), [i])",
    "product of what is named": "reduce(k, (t, e) => put(t, [e], v[i] * t[e]), map(tol[5], 1), [i])",
    "least": "reduce(k, (t, e) => put(t, [e], min(t[e], v[i])), map(tol[5], 99), [i])",
    "most, at a computed place": "reduce(v, (t, e) => put(t, [e % 5 + 1], max(t[e % 5 + 1], e)), tol[5])",
    "the last one stays": "reduce(k, (t, e) => put(t, [e], v[i]), convert(tol[5], Z), [i])",
    "where it stands": "reduce(k, (t, e) => put(t, [e], i), convert(tol[5], Z), [i])",
    "two places": "reduce(k, (t, e) => put(t, [e, i], t[e, i] + v[i]), convert(tol[5, n], Z), [i])",
    "two coordinates": "reduce(tol[n, n], (t, z) => put(t, [k[i]], t[k[i]] + v[j]), tol[5], [i, j])",
    "a triangle": "map(k, (e) => reduce(tol[i], (t, z) => put(t, [k[j]], t[k[j]] + e), tol[5], [j]), [i])",
    "another place is read": "reduce(k, (t, e) => put(t, [e], t[6 - e] + v[i]), convert(tol[5], Z), [i])",
    "a choice": "reduce(k, (t, e) => put(t, [e], t[e] + where(v[i] > 3, v[i], 0)), convert(tol[5], Z), [i])",
    "whole rows": "reduce(k, (t, e) => put(t, [e], v), convert(tol[5, n], Z), [i])",
    "in halves": "reduce(k, (t, e) => put(t, [e], t[e] + v[i]), convert(tol[5], int8), [i])",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_interpreters_agree(name: str) -> None:
    text = f"tol k: N [n]\ntol v: Z [n]\ny := {PROGRAMS[name]}\n"
    program = lower(read_program(Source("scatter.tol", text))).program
    for size in (1, 2, 17):
        draw = np.random.default_rng(size)
        given = {"k": draw.integers(1, 6, size), "v": draw.integers(-50, 50, size)}
        one, other = run_reference(program, given), run_vectorised(program, given)
        np.testing.assert_array_equal(one.outputs["y"], other.outputs["y"])
        assert one.counts == other.counts


def test_a_place_outside_is_told() -> None:
    text = f"tol k: N [n]\ntol v: Z [n]\ny := {PROGRAMS['sum']}\n"
    program = lower(read_program(Source("scatter.tol", text))).program
    with pytest.raises(Rejected, match="out of range"):
        run_vectorised(program, {"k": np.array([1, 6]), "v": np.array([1, 1])})
