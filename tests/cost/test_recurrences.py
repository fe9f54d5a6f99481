"""Recursion on halves of any length: forms for all lengths, held to what is counted with each written out."""

import pytest

from tolcost.algebra import to_text
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_parsed, read_program
from tools.programs.halves import LENGTHS, differs, judge

HALVES = "f(part(v, [1], [h])) {} f(part(v, [h + 1], [n]))"
LOG, POWER = "ceiling(log(n, 2))", "2**(ceiling(log(n, 2)))"
FLOOR = "ceiling(log(n + 1, 2)) - 1"

CASES = [
    # what f does above size 1, its EOPs, at least, and its depth
    (HALVES.format("+"), "n - 1", None, LOG),
    (HALVES.format("+") + " + 1", "2*n - 2", None, f"2*{LOG}"),
    # every level adds up all n numbers; the sizes above 1 add up to n*L - 2**L + n
    (HALVES.format("+") + " + reduce(v, add, 0)", f"{LOG}*n - {POWER} + 3*n - 2", None, None),
    # one half alone, rounded down, and up: as many steps as n is halved
    ("f(part(v, [1], [h])) * 2", FLOOR, None, LOG),
    ("f(part(v, [h + 1], [n])) * 2", LOG, None, LOG),
    # both halves rounded down: 2**floor(log2 n) - 1 of them
    ("f(part(v, [1], [h])) + f(part(v, [h + 1], [2 * h]))", "(2**(ceiling(log(n + 1, 2))) - 2)/2", None, LOG),
    # n more at each size, of one half: between the powers of 2 around n
    (
        "f(part(v, [1], [h])) + reduce(v, add, 0)",
        f"2*{POWER} + {LOG} - 2",
        "2**(ceiling(log(n + 1, 2))) + ceiling(log(n + 1, 2)) - 3",
        None,
    ),
]


def program(body: str) -> Source:
    """A program that applies f to a vector of any length."""
    return Source(
        "f.tol",
        f"""
tol x: R [n]
f(v) = {{ n = |v|[1]; h = floor(n / 2); where(n == 1, v[1], {body}) }}
y := f(x)
""",
    )


@pytest.mark.parametrize("body, eops, least, depth", CASES)
def test_what_any_length_costs(body: str, eops: str, least: str | None, depth: str | None) -> None:
    parsed = read_program(program(body))
    found, _ = analyze_parsed(parsed)
    assert to_text(found.eops) == eops
    assert (None if found.least is None else to_text(found.least)) == least
    assert found.status == ("exact" if least is None else "upper bound")
    if depth is not None:
        assert found.span is not None
        assert str(found.span.chain) == depth
    assert not any(differs(parsed, found, n) for n in LENGTHS)


@pytest.mark.parametrize("seed", [1, 5, 8, 35, 57])
def test_random_functions(seed: int) -> None:
    """`python -m tools.programs.halves` judges as many as one likes."""
    assert not judge(seed).startswith("differs")


@pytest.mark.parametrize(
    "body",
    [
        "f(part(v, [1], [n - 1])) + f(part(v, [1], [h]))",  # parts of different kinds
        "f(part(v, [1], [1])) + f(part(v, [h + 1], [n]))",  # 1 does not halve a power of 2
        "reduce(tol[2], (s, z) => s + f(part(v, [1], [h])), 0)",  # in a loop
    ],
)
def test_others_are_still_refused(body: str) -> None:
    with pytest.raises(Rejected, match="how often `f` applies itself depends on `n`"):
        analyze_parsed(read_program(program(body)))
