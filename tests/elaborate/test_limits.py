"""What the compiler bounds: a program at each limit, and one beyond it, refused soon (docs/limits.md)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_source

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "limits.md").read_text("utf-8")
SECONDS = 10
"""Of processor time, which nothing may take more of; a busy machine counts twice what a calm one does."""

LISTED = ", ".join


def product_of_sums(n: int) -> str:
    """A formula of so many terms, or of up to 199 more."""
    sums = [[f"{side}{i}" for i in range(many)] for side, many in (("a", 200), ("b", -(-n // 200)))]
    given = "".join(f"tol x_{name}: R [{name}]\n" for side in sums for name in side)
    return f"{given}y := x_a0[1] + ({' + '.join(sums[0])}) * ({' + '.join(sums[1])})\n"


def calls(n: int) -> str:
    """So many functions, each of which calls the next."""
    functions = "".join(f"f{i}(a) = f{i + 1}(a)\n" for i in range(n - 1))
    return f"tol x: R\n{functions}f{n - 1}(a) = a + 1\ny := f0(x)\n"


BOTH_SIDES = {
    "statements": (lambda n: "use axes\n" * (n - 2) + "tol x: R\ny := x + 1\n", 50_000, "T0512"),
    "rank of an input": (lambda n: f"tol x: R [{LISTED(['1'] * n)}]\ny := map(x, * + 1)\n", 256, "T0502"),
    "rank of zeros": (lambda n: f"tol x: R\ny := x + vol(tol[*map(1..{n}, 1)])\n", 256, "T0502"),
    "rank of a reshape": (lambda n: f"tol x: R [1]\ny := reshape(x, map(1..{n}, 1))\n", 256, "T0502"),
    "entries of a bracket": (lambda n: f"tol x: R\ny := x + [*(1..{n})][1]\n", 100_000, "T0502"),
    "a static input": (lambda n: f"static v: Z [{n}]\ntol x: R\ny := x + v[1]\n", 100_000, "T0502"),
    "maps in maps": (
        lambda n: (
            "tol x: R\nt = map(1..12, map(1..4000, i), i)\n"
            f"u = map(1..{n - 12 * 4_001}, 1)\ny := x + t[1, 1] + u[1]\n"
        ),
        50_000,
        "T0502",
    ),
    "brackets": (lambda n: f"tol x: R\ny := {'(' * n}x + 1{')' * n}\n", 200, "T0511"),
    "digits": (lambda n: f"tol x: R\ny := x + {'1' * n}\n", 1_000, "T0513"),
    "bits of a number": (
        lambda n: f"tol x: R\ny := x + reduce(1..{(n - 1) // 60}, (a, e) => a * 2^60, 2^{(n - 1) % 60})\n",
        14_000,
        "T0507",
    ),
    "choices that stay open": (
        lambda n: (
            "tol x: R [n]\ny := "
            + "".join(f"where(n > {i + 2}, " for i in range(n))
            + "x[1]"
            + ", x[1])" * n
            + "\n"
        ),
        40,
        "T0508",
    ),
    "functions that call one another": (calls, 400, "T0503"),
    "terms of a formula": (product_of_sums, 20_000, "T0504"),
    "components": (lambda n: f"tol x: R\ny := ({LISTED(['x'] * n)})[1]'\n", 1_024, "T0502"),
}
FAR_BEYOND = {
    "16 million steps": (
        "tol x: R\n"
        "y := x + reduce(1..4000, (a, e) => reduce(1..4000, (b, f) => (b * 3 + f * e) % 101, a), 0)\n",
        "T0501",
    ),
    "a formula of 10^6 terms": (product_of_sums(1_000_000), "T0504"),
    "a splice of 10^8": ("y := [*(1..100000000)][1]\n", "T0502"),
    "a static of 10^9": ("static v: Z [1000000000]\ny := v[1]\n", "T0502"),
    "a rank of 10^5": ("y := tol[*tol[100000]]\n", "T0502"),
    "maps of 4,000 in maps of 4,000": ("y := map(1..4000, map(1..4000, i, j), i)\n", "T0502"),
    "a static of 10^300 and of nothing": ("y := tol[1e300, 0] + 1\n", None),
    "a fold over 10^9": (
        "tol x: R\ny := x + reduce(1..1000000000, (a, e) => where(e % 3 == 0, a + e, a * 2 % 1000003), 0)\n",
        None,
    ),
    "choices in the conditions of choices": (
        "tol x: R [n]\ny := x[1] + "
        + "".join("where(" for _ in range(12))
        + "n"
        + "".join(f" > {i + 2}, {i + 1}, n)" for i in range(12))
        + "\n",
        None,
    ),
    "10,000 declarations": (
        "".join(f"tol x{i}: R [n{i}]\n" for i in range(10_000)) + "y := x0[1] + 1\n",
        None,
    ),
    "a library file used 40,000 times": ("use axes\n" * 40_000 + "tol x: R\ny := x + 1\n", None),
    "10,000 definitions, last first": (
        "tol x: R\n" + "".join(f"v{i} = v{i + 1} + 1\n" for i in range(10_000)) + "v10000 = x\ny := v0\n",
        None,
    ),
}


def answer(text: str) -> str | None:
    """The code of the diagnostic, or None where there is none."""
    try:
        analyze_source(Source("limit.tol", text))
    except Rejected as rejected:
        return rejected.diagnostics[0].code
    return None


@pytest.mark.parametrize("name", BOTH_SIDES)
def test_at_the_limit_and_beyond(name: str) -> None:
    written, most, code = BOTH_SIDES[name]
    assert f"{most:,}" in DOCUMENTED
    assert answer(written(most)) is None
    assert answer(written(most + 1)) == code


@pytest.mark.parametrize("name", FAR_BEYOND)
def test_far_beyond_is_answered_soon(name: str) -> None:
    text, code = FAR_BEYOND[name]
    began = time.process_time()
    assert answer(text) == code
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("kilobytes", [400_000, 1_000_000])
def test_little_address_space_is_enough(kilobytes: int) -> None:
    program = "import resource, sys; most = int(sys.argv[1]) * 1024\n"
    program += "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
    program += "from tolcost.diagnostics import Source; from tolcost.pipeline import analyze_source\n"
    program += "print(analyze_source(Source('a.tol', 'tol x: R [n]\\ny := map(x, * + 1)\\n')).eops)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(kilobytes)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "n\n", done.stderr[-300:]


def test_a_length_of_ours_is_no_length_of_the_program() -> None:
    text = "tol x: R [n]\ntol z: R [n_share]\ny := map(tol[exact(n, 4)], x[1] + 1)\nu := map(z, * + 1)\n"
    found = analyze_source(Source("a.tol", text))
    assert len({symbol.name for symbol in found.eops.free}) == len(found.eops.free) == 2
