"""Random static expressions: any function of anything, much of it nonsense.

What is wrong with an expression must be said in a diagnostic; nothing may break
(``tools.generate.answered``).
"""

from __future__ import annotations

from collections.abc import Callable

from tolcost.elementary import INFIX
from tolcost.syntax.names import BUILTINS
from tools.generate.draw import Draw

HEADER = "tol x: R [n, m]\ntol w: float32 [3]\ntol b: B [n]\nstatic v: Z [3]\nattr p: Z\nattr q: R\n"
"""What every program declares: data of three spaces, a static vector, two attributes."""

NUMBERS = ("0", "1", "2", "3", "-1", "5", "64", "0.5", "1.5", "-0.5", "1e300", "2^63", "1e-320", "100000")
LENGTHS = ("n", "m", "p", "q", "n - 1", "n / 2", "n % 3", "q / 3", "outputs")
OTHERS = (
    "pi",
    "Inf",
    "NaN",
    "true",
    "false",
    '"a"',
    '""',
    '"text"',
    "R",
    "int8",
    "float16",
    "S",
    "C",
    "add",
    "exp",
)
VECTORS = ("[]", "[1, 2]", "[2, 1]", "[1, 2, 3]", "[0.5, 1]", "1..3", "1..n", "3..1", "v", "|v|", "|x|")
TOLS = (
    "tol[2]",
    "tol[n]",
    "tol[0]",
    "tol[2, 3]",
    "[[1, 2], [3, 4]]",
    "convert(v, int8)",
    "convert(2, float16)",
)
DATA = ("x", "w", "b", "x[1]", "x[1, 1]", "w[2]", "b[1]", "tol[n, 2]")
LISTS = (
    "(1, 2)",
    "(x, 1)",
    "(1, (2, 3))",
    "(w, w)",
    "seq()",
    "seq(1, x)",
    "seq([1, 2], 3)",
    "seq(seq(1), 2)",
    "map((w, w), (a) => (a[1]', a[2]'))",
    "map(w, (e) => (e, 1))",
    "filter((w, w), w)",
    "(w, x)",
    "(x, w, 1)",
    "(b, convert(v, int8))",
    "(filter((w, w), w), x)",
    "map(b, (e) => (e, w))",
    "reduce(w, (s, e) => (s[1]' + e, s[2]'), (0, x))",
    "where(n > 2, (w, b), (-w, b))",
    "tile([[1, 2], [3, 4]])",
    "seq((w, x), 1)",
)
LEAVES = (NUMBERS, NUMBERS, NUMBERS, LENGTHS, LENGTHS, OTHERS, VECTORS, VECTORS, TOLS, DATA, LISTS)
STEPS = ("add", "max", "sub", "and", "join", "(s, e) => {0}", "(s, e) => s + {0}", "(s, e, i) => join(s, i)")
BODIES = ("* + 1", "(e) => {0}", "{0}", "exp", "*[1]", "[*]")


def static_program(seed: int) -> str:
    """A program with one random expression as its output, and perhaps a name for a part of it."""
    draw = Draw(seed)
    named = f"k = {_expression(draw, draw.number(1, 2), ())}\n" if draw.chance(0.3) else ""
    output = _expression(draw, draw.number(1, 4), ("k",) if named else ())
    return f"{HEADER}{named}y := {output}\n"


def _expression(draw: Draw, depth: int, names: tuple[str, ...]) -> str:
    if depth == 0 or draw.chance(0.15):
        return draw.pick(names) if names and draw.chance(0.2) else draw.pick(draw.pick(LEAVES))
    inner = [_expression(draw, depth - 1, names) for _ in range(4)]
    return draw.pick(_SHAPES)(draw, inner)


def _call(draw: Draw, inner: list[str]) -> str:
    name = draw.pick(tuple(BUILTINS))
    low, high = BUILTINS[name].low, BUILTINS[name].high
    return f"{name}({', '.join(inner[: draw.number(low, 3 if high is None else high)])})"


_SHAPES: tuple[Callable[[Draw, list[str]], str], ...] = (
    *[lambda d, e: f"({e[0]} {d.pick(tuple(INFIX))} {e[1]})"] * 3,
    *[_call] * 8,
    lambda d, e: f"-({e[0]})",
    lambda d, e: f"({e[0]})^({e[1]})",
    lambda d, e: f"not({e[0]})",
    lambda d, e: f"where({e[0]}, {e[1]}, {e[2]})",
    lambda d, e: f"map({e[0]}, {d.pick(BODIES).format(e[1])}{d.pick(('', ', i', ', [i]', ', [i, *j]'))})",
    lambda d, e: f"reduce({e[0]}, {d.pick(STEPS).format(e[1])}, {e[2]})",
    lambda d, e: f"({e[0]})[{e[1]}]",
    lambda d, e: f"({e[0]})[{e[1]}, {e[2]}]",
    lambda d, e: f"({e[0]})[{e[1]}]'",
    lambda d, e: f"[{e[0]}, *({e[1]})]",
    lambda d, e: f"[{e[0]}, {e[1]}]",
    lambda d, e: f"({e[0]}, {e[1]})",
    lambda d, e: f"|{e[0]}|",
    lambda d, e: f"|{e[0]}|'",
    lambda d, e: f"({e[0]})..({e[1]})",
    lambda d, e: f"tol[{e[0]}, *({e[1]})]",
    lambda d, e: f"{{t = {e[0]}\nt + {e[1]}}}",
    lambda d, e: f"((t) => {e[0]})({e[1]})",
)
