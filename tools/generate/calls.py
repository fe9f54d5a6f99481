"""Programs of one call: any function, primitive or form, of ToLs, lists, numbers and functions."""

from __future__ import annotations

from tolcost.elaborate.environment import FORMS, PRIMITIVES
from tolcost.elementary import FUNCTIONS
from tools.generate.draw import Draw

HEADER = "tol r: Z [n]\ntol q: Z [n, n]\ntol x: R\ntol k: R [3]\n"
ARGUMENTS = (
    "r",
    "q",
    "x",
    "k[1]",
    "1",
    "true",
    "[1, 2]",
    "(1, 2)",
    "(x, x)",
    "(r, r)",
    "filter(r, r)",
    "map(r, (a) => (a, 1))",
    "map((r, r), (a) => (a[1]', a[2]'))",
    "(e) => e",
)


def one_call(seed: int) -> str:
    """A program that calls something of one to four arguments; most of them do not fit."""
    draw = Draw(seed)
    called = draw.pick(sorted({*FUNCTIONS, *PRIMITIVES, *FORMS}))
    arguments = [draw.pick(ARGUMENTS) for _ in range(draw.pick((1, 2, 2, 3, 3, 4)))]
    return f"{HEADER}y := {called}({', '.join(arguments)})\n"
