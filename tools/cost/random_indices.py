"""Programs that read one input at random indices, held to walking over every coordinate.

What is said to be exact is what is read, at every shape that conditions admit; a bound is never less.

    python -m tools.cost.random_indices 0 3000
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product

from tolcost.algebra import Symbol, evaluate
from tolcost.algebra.points import Assignment, hold_at
from tolcost.atoms.nodes import Program
from tolcost.cost.indices import ReadAnalysis
from tolcost.cost.traffic import elements_read
from tolcost.diagnostics import Rejected
from tools.cost.brute_traffic import walked
from tools.programs.road import lengths_of, lowered

LENGTHS = ("m", "n", "2", "3", "5")
DECLARED = ("tol w: R [n]\ntol v: R [m]\n", "attr n: N\nattr m: N\n")


def index(rng: random.Random, depth: int, coords: list[str]) -> str:
    """An index of nested steps: limits, quotients, rests, mirrors, and sums with other coordinates."""
    if depth == 0:
        return rng.choice(coords)
    inner, number = index(rng, depth - 1, coords), rng.choice(LENGTHS)
    ways = [
        f"min({inner}, {number})",
        f"max({inner}, {number})",
        f"({inner} + 1) / 2",
        f"({inner} + 2) / 3",
        f"({inner} + {rng.choice(('1', 'm'))})",
        rng.choice((f"(9 - {inner})", f"(m + 1 - {inner})")),
        f"({inner} + {rng.choice(coords)} - 1)",
        f"min({inner}, {index(rng, depth - 1, coords)})",
        rng.choice((f"2 * {inner}", f"({inner} - 1) * n / m + 1")),
        f"(({inner} - 1) % {rng.choice(('m', 'n', '3', 'k'))} + 1)",
        f"max(max({inner} - {number}, {number} + 2 - {inner}), 1)",
        f"({number} * ({inner} - 1) + {rng.choice(coords)})",
    ]
    return rng.choice(ways)


def body(rng: random.Random, coords: list[str]) -> str:
    """A read, two of them, or one under a condition on coordinates."""
    at, number = index(rng, rng.choice((1, 1, 2, 2, 3)), coords), rng.choice(("m", "n", "2"))
    if rng.random() < 0.7:
        return f"x[{at}]"
    ways = [
        f"where({coords[0]} <= {number}, x[{at}], 0)",
        f"where({coords[0]} >= {number}, x[{at}], 0)",
        f"where({at} >= 1 and {at} <= k, x[{at}], 0)",
        f"where({coords[-1]} % 2 == 0, x[{at}], x[{index(rng, 1, coords)}])",
        f"where({coords[0]} == {coords[-1]}, x[{at}], 0)",
        f"where({coords[0]} % 3 == 0, x[{at}], 2 * x[{at}])",
        f"x[{at}] + x[{at} + 1]",
        f"where(i + {coords[-1]} >= m and i <= n, x[{coords[-1]}], 0)",
        f"where((i + {coords[-1]}) % 2 == 0 and i >= {coords[-1]}, x[(i + {coords[-1]}) / 2], 0)",
    ]
    return rng.choice(ways)


def program_text(seed: int) -> str:
    """A map that reads ``x`` by one or two coordinates."""
    rng = random.Random(seed)
    coords = ["i", "j"][: rng.choice((1, 1, 1, 2))]
    extents = [rng.choice(("n", "m", "3", "n + 1", "2 * n", "m - 1")) for _ in coords]
    length = rng.choice(("k", "k", "n", "m", "9"))
    made = f"map(tol[{', '.join(extents)}], {body(rng, coords)}, [{', '.join(coords)}])"
    return f"{rng.choice(DECLARED)}tol x: R [{length}]\ny := {made}"


def points(program: Program, seed: int) -> Iterator[Assignment]:
    """Some shapes that bounds and conditions admit, small ones, none at all among them."""
    rng, symbols = random.Random(seed), lengths_of(program)
    every: list[dict[Symbol, int]] = [
        dict(zip(symbols, at, strict=True)) for at in product(range(5), repeat=len(symbols))
    ]
    every += [{symbol: rng.randrange(12) for symbol in symbols} for _ in range(100)]
    rng.shuffle(every)
    conditions = [noted.condition for noted in program.conditions]
    for point in every:
        inside = all(symbol.lo is None or evaluate(symbol.lo, point) <= point[symbol] for symbol in symbols)
        if inside and hold_at(conditions, point):
            yield point


def faults(seed: int, counts: Counter[str], most: int = 25) -> Iterator[str]:
    """Where what is said of the elements read is not what a walk reads."""
    text = program_text(seed)
    try:
        program = lowered(text).program
    except Rejected:
        return
    found = elements_read(program, analysis := ReadAnalysis()).get("x", ())
    given = next(one for one in program.inputs if one.name == "x")
    for point in points(program, seed):
        read = [at for name, at in walked(program, point) if name == "x"]
        length = evaluate(given.type[0].shape[0], point)
        if any(not 1 <= at[0] <= length for at in read):
            continue  # an index that is not reached, or refused only when run
        told = sum(evaluate(form, point) for _, form in found)
        exact = not analysis.inexact and all(evaluate(form, point) >= 0 for form in analysis.full)
        counts["exact" if exact else "bound"] += 1
        if told < len(read) or (exact and told != len(read)):
            yield f"seed {seed} at {point}: {len(read)} read, {told} said, exact: {exact}\n{text}"
        most -= 1
        if not most:
            return


if __name__ == "__main__":
    counted, wrong = Counter[str](), 0
    for number in range(*map(int, sys.argv[1:3])):
        for fault in faults(number, counted):
            wrong += 1
            print(fault)
    print(dict(counted), "wrong:", wrong)
    sys.exit(bool(wrong))
