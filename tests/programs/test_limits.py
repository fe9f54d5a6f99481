"""Programs that would blow up end: with the right count, or with a diagnostic.

How many terms and definitions there are: more than there may be levels of recursion, so that one level for
each would be too deep.  Both are few here; ``make soak`` takes more than the deepest stack has room for.
Work without end is stopped a tenth of the way to the limits, to which ``elaborate/test_limits.py`` and
``algebra/test_limits.py`` go.
"""

from __future__ import annotations

import os

import pytest

from tolcost.platform import RECURSION
from tools.programs.limits import chain, doubling, long_sum, nested, outcome

BIG = 2**63
SOAK = "TOLCOST_SOAK" in os.environ
LEVELS = RECURSION if SOAK else 1_500
TERMS = 100_000 if SOAK else 2_000
MANY = 10_000 if SOAK else 2_000

COUNTED = {
    "many definitions": (chain(MANY), str(MANY)),
    "many mapped definitions": (
        "tol x: R [n]\nv0 = x\n"
        + "\n".join(f"v{i} = map(v{i - 1}, * + 1)" for i in range(1, MANY + 1))
        + f"\ny := v{MANY}\n",
        f"{MANY}*n",
    ),
    "many unused definitions": (
        "tol x: R\n" + "\n".join(f"v{i} = x" for i in range(MANY)) + "\ny := x + 1\n",
        "1",
    ),
    "many shared values": (chain(MANY, "v{0} = v{1} + v{1}"), str(MANY)),
    "many outputs": ("tol x: R\n" + "\n".join(f"y{i} := x + {i}" for i in range(MANY)) + "\n", str(MANY)),
    "many inputs": (
        "\n".join(f"tol x{i}: R" for i in range(MANY)) + f"\ny := x0 + x{MANY - 1}\n",
        "1",
    ),
    "a sum of many terms": (long_sum(TERMS), str(TERMS - 1)),
    "a sum of many numbers": (long_sum(TERMS, "1"), "0"),
    "a sum of many elements": ("tol x: R [3]\ny := " + " + ".join(["x[2]"] * MANY) + "\n", str(MANY - 1)),
    "a product of many terms": (long_sum(MANY, op="*"), str(MANY - 1)),
    "a length of 2^63": (f"tol x: R [{BIG}]\ny := map(x, * + 1)\n", str(BIG)),
    "a matrix of 2^63 squared": (f"tol x: R [{BIG}, {BIG}]\ny := reduce(x, add, 0)\n", str(BIG * BIG)),
    "a fold over 2^63 zeros": (f"tol x: R\ny := x + reduce(tol[{BIG}], add, 0)\n", "1"),
    "the sum of 1..2^63": (f"tol x: R\ny := x + reduce(1..{BIG}, add, 0)\n", "1"),
    "a triangle of 2^63": (
        f"tol x: R\ny := map(tol[{BIG}], reduce(tol[i], (a, e) => a + x, 0), i)\n",
        str(BIG * (BIG + 1) // 2),
    ),
    "joins that double": (
        doubling(40, "v{0} = join(v{1}, v{1}, 1)", "v0 = map(tol[2], x * i, i)", "v{0}[1]"),
        "2",
    ),
    "50 nested maps": (nested("map(tol[n], ", "x[1] + 1", ")", 50), "n**50"),
    "a triangle of depth 12": (
        "tol x: R [n]\ny := map(tol[n], "
        + "".join(f"reduce(tol[i{k - 1}], (a{k}, e{k}) => a{k} + " for k in range(2, 13)).replace(
            "i1]", "i1]"
        )
        + "x[i1]"
        + "".join(f", 0, [i{k}])" for k in range(12, 1, -1))
        + ", [i1])\n",
        None,
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_large_programs_are_counted(name: str) -> None:
    text, eops = COUNTED[name]
    found = outcome(text, levels=LEVELS)
    assert found.startswith("counted "), found
    assert eops is None or found == f"counted {eops}"


ENDING = {
    "200 nested maps": nested("map(tol[n], ", "x[1]", ")", 200),
    "100 nested maps of literals": nested("map(tol[2], ", "x[1] + 1", ")", 100),
    "100 nested reduces": nested("reduce(x, (a{0}, e{0}) => a{0} + ", "1", ", 0)", 90),
    "190 nested blocks": nested("{{ t{0} = x[1] + 1; ", "t1", " }", 190),
    "190 nested choices": nested("where(n == {0}, {0}, ", "x[1]", ")", 190),
    "190 nested choices by data": nested("where(x[1] > {0}, {0}, ", "x[1]", ")", 190),
    "190 nested choices by length that cost": nested("where(n == {0}, x[1] * {0}, ", "x[1]", ")", 190),
    "1,000 choices in a chain": chain(1_000, "v{0} = where(n > {0}, v{1} + 1, v{1})"),
    "1,000 static choices in a chain": chain(1_000, "v{0} = where(n > {0}, v{1} + 1, v{1} * 2)").replace(
        "x[1]", "n"
    ),
    "many functions in a chain": doubling(MANY, "f{0}(a) = f{1}(a) + 1"),
    "2^40 calls": doubling(40, "f{0}(a) = f{1}(f{1}(a))"),
    "2^40 calls side by side": doubling(40, "f{0}(a) = f{1}(a) + f{1}(a)"),
    "2^40 static calls": doubling(40, "f{0}(a) = f{1}(a) + f{1}(a)", last="x + f{0}(1)"),
    "lists that double": doubling(40, "v{0} = (v{1}, v{1})", "v0 = (x, x)", "v{0}[1]'"),
    "brackets that double": doubling(40, "v{0} = [v{1}, v{1}]", "v0 = [x, x]", "v{0}"),
    "static joins that double": doubling(40, "v{0} = join(v{1}, v{1}, 1)", "v0 = [1, 2]", "x + v{0}[1]"),
    "splices that double": doubling(40, "v{0} = [*v{1}, *v{1}]", "v0 = [1, 2]", "x + v{0}[1]"),
    "numbers that square": doubling(40, "v{0} = v{1} * v{1}", "v0 = 3", "x + v{0}"),
    "polynomials that square": doubling(
        40, "v{0} = v{1} * v{1}", "tol z: R [n, m]\nv0 = n + m + 1", "map(tol[v{0}], x + 1)"
    ),
    "fractions that square": doubling(40, "v{0} = v{1} * v{1}", "v0 = 1.5", "x + v{0}"),
    "floors upon floors": doubling(
        40, "v{0} = (v{1} + {0}) / 7 * 3", "tol z: R [n]\nv0 = n", "map(tol[v{0}], x + 1)"
    ),
    "a tower of powers": "tol x: R\ny := x + 9 ^ 9 ^ 9\n",
    "a power of 2^63": f"tol x: R\ny := x + 2 ^ {BIG}\n",
    "a shift by 2^63": f"tol x: R\ny := x + shl(1, {BIG})\n",
    "the factorial of a million": "tol x: R\ny := x + reduce(1..1000000, mul, 1)\n",
    "a million entries": "tol x: R\ny := reduce(map(1..1000000, * * 2), (a, e) => a + e * x, 0)\n",
    "a billion entries": "tol x: R\ny := reduce(map(1..1000000000, * * 2), (a, e) => a + e * x, 0)\n",
    "a table of 10^10": "tol x: R\nt = map(tol[100000, 100000], (i * j) % 7, [i, j])\ny := x * t[3, 4]\n",
    "a table of 2^63 looked up by data": f"tol x: Z\nt = map(tol[{BIG}], i % 7, [i])\ny := t[x % 5 + 1]\n",
    "a function of itself": "tol x: R\nw(f) = f(f)\ny := x + w(w)\n",
    "functions in a circle": "tol x: R\nf(a) = g(a)\ng(a) = f(a)\ny := f(x)\n",
    "conditions that nest without end": "tol x: R [n]\n"
    "z = reduce(1..3000, (a, e) => (a and n > e) or n < e * 2, n > 4)\ny := where(z, x[1], 0)\n",
    "an accumulator that doubles": "tol x: R [n]\ny := reduce(x, (a, e) => join(a, a, 1), x)\n",
    "an accumulator that is multiplied": "tol x: R [n]\ny := reduce(x, (a, e) => reshape([a, a], [-1]), x)\n",
    "a maximum of 60 lengths": "\n".join(f"tol x{i}: R [n{i}]" for i in range(60))
    + "\ny := map(tol["
    + "".join(f"max(n{i}, " for i in range(59))
    + "n59"
    + ")" * 59
    + "], x1[1] + 1)\n",
    "60 conditions on coordinates": "tol x: R [n]\ny := map(tol["
    + ", ".join(["n"] * 20)
    + "], where("
    + " and ".join(f"i{k} <= i{k + 1}" for k in range(1, 20))
    + ", x[1] + 1, 0), ["
    + ", ".join(f"i{k}" for k in range(1, 21))
    + "])\n",
    "a rank of 2,000": f"tol x: R [{', '.join(['n'] * 2000)}]\ny := map(x, * + 1)\n",
    "halves of halves of a triangle": "tol x: R [n]\ny := map(tol[n], "
    + "".join(f"reduce(tol[i{k - 1} / {k}], (a{k}, e{k}) => a{k} + " for k in range(2, 8))
    + "x[1]"
    + "".join(f", 0, [i{k}])" for k in range(7, 1, -1))
    + ", [i1])\n",
    "a name of 100,000 letters": f"tol x: R\n{'v' * 100_000} = x + 1\ny := {'v' * 100_000}\n",
    "a number of 3,999 digits as a length": f"tol x: R [{'9' * 3999}]\ny := map(x, * + 1)\n",
    "permutations": "tol x: R [n]\n"
    + "\n".join(
        f"v{i} = swap({'x' if i == 1 else f'v{i - 1}'}, 1, map(tol[n], n + 1 - i, i))" for i in range(1, 301)
    )
    + "\ny := v300\n",
    "views of views": chain(400, "v{0} = part(v{1}, [1], [n])").replace("v0 = x[1]", "v0 = x"),
    "equations": "\n".join(f"tol x{i}: R [n{i}]" for i in range(300))
    + "\ny := "
    + " + ".join(f"x{i}" for i in range(300))
    + "\n",
}


@pytest.mark.parametrize("name", ENDING)
def test_programs_that_ask_too_much_end(name: str) -> None:
    found = outcome(ENDING[name], part=1 if SOAK else 10)
    assert found.startswith(("counted ", "refused T")), found
