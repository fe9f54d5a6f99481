"""What may differ in shape: whatever is done with it is refused, or right when it is run.

Who looks at the first component of a list alone, or at the first member of a ToL, takes others for its like.
"""

from itertools import product

import numpy as np
import pytest

from tolcost.algebra import evaluate
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.arguments import arguments
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program

INPUTS = "tol x: R [n, 2]\ntol u: R [m, 2]\ntol v: R [m]\ntol w: R [n]\ntol b: B [n]\ntol c: B\n"
LISTS = (
    "u",
    "(x, u)",
    "(w, v)",
    "filter((x, w), b)",
    "choose(c, (x, u), (x, u))",
    "reduce(w, (s, e) => (s[1]' + e, s[2]'), (0, u))",
    "map(w, (e) => (e, v))",
    "w",
)
OF_ONE = (
    "part({0}, [1], [1])", "part({0}, [1, 1], [1, 2])", "swap({0}, 1, [1])", "reshape({0}, [2, n])",
    "reshape({0}, [-1])", "tile({0})", "embed({0})", "map({0}, (e) => e)", "filter({0}, b)", "{0}[1]",
    "repeat({0}, b, 2)", "{0}[1, 1]", "{0}[2]'", "exp({0})", "reduce({0}, (s, e) => e, {0})",
    "map(w, (e) => {0})",
)  # fmt: skip
OF_TWO = (
    "join({0}, {1}, 1)", "join({0}, {1}, 2)", "[{0}, {1}]", "[*({0}), *({1})]", "where(c, {0}, {1})",
    "choose(c, {0}, {1})", "where(n > 2, {0}, {1})", "put({0}, [1, 1], {1})", "put({0}, [1], {1})",
    "{0} + {1}", "filter({0}, {1})", "repeat({0}, {1}, 2)", "reduce({0}, (s, e) => s, {1})",
    "reduce(w, (s, e) => {0}, {1})", "reduce([1, 2, 3], (s, e) => join(s, {0}, 1), {1})",
    "map(w, (e) => join({0}, {1}, 1))",
    "where([true, false], {0}, {1})", "map([true, false], (t) => where(t, {0}, {1}))",
)  # fmt: skip
SIZES = ((3, 2), (2, 3), (2, 2))


@pytest.mark.parametrize("form", OF_ONE)
def test_of_one_list(form: str) -> None:
    for one in LISTS:
        hold(form.format(one))


@pytest.mark.parametrize("form", OF_TWO)
def test_of_two_lists(form: str) -> None:
    for one, other in product(LISTS, LISTS):
        hold(form.format(one, other))


def hold(expression: str) -> None:
    """Lower an expression, and run it at lengths that agree and at others."""
    parsed = read_program(Source("lists.tol", f"{INPUTS}y := {expression}\n"))
    try:
        program = lower(parsed, arguments(parsed.program)).program
    except Rejected:
        return
    counts = count(program)
    for n, m in SIZES:
        shapes = {"x": (n, 2), "u": (m, 2), "v": (m,), "w": (n,)}
        given = {name: np.ones(shape) for name, shape in shapes.items()}
        given |= {"b": np.arange(n) != 1, "c": np.array(True)}
        for run in (run_reference, run_vectorised):
            try:
                done = run(program, given)
            except Rejected:
                continue
            if counts.status == "exact":
                at = {symbol: {"n": n, "m": m}[symbol.name] for symbol in counts.eops.free}
                assert done.counts.eops == evaluate(counts.eops, at), (expression, n, m)
