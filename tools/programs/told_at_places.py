"""Random programs that read how often a loop turned, or how many entries a filter kept, at each place.

    python -m tools.programs.told_at_places 1000 --start 0

Such numbers are known as soon as the loop ends, and are no data: they may stand in conditions, sums and
lengths.  At every place they are others, and the loop belongs to the place where its turns are read.  The
value of both interpreters has to be that of plain Python, and the closed forms what is executed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program
from tolcost.platform import with_deep_stack
from tools.programs.road import Mismatch, hold

X = (1.0, 2.0, 5.0, 0.5, 3.0)
_LOOP = "while((s) => s[1]' > 0.6, (s) => (s[1]' / 2, s[2]' + 1), ({}, 0))[2]'"
HEADER = f"tol x: R [n]\nturns(v) = {_LOOP.format('v')}\n"
REFUSED = {"T0310", "T0602"}
"""A length by data, and a loop in a case without a limit of its turns: what is said not to be counted."""


def turns(value: float) -> int:
    done = 0
    while value > 0.6:
        value, done = value / 2, done + 1
    return done


class Number(NamedTuple):
    """A number at place ``i``, as text, and by the place and its entry."""

    text: str
    value: Callable[[int, float], int]


def _count(draw: Random, depth: int = 0) -> Number:
    """A number of turns or of entries kept, or a sum of such."""
    kind = draw.randrange(6 if depth < 2 else 3)
    if kind == 0:
        return Number(_LOOP.format("x[i]"), lambda i, v: turns(v))
    if kind == 1:
        return Number("|filter(x, x > x[i])|[1]", lambda i, v: sum(other > v for other in X))
    if kind == 2:
        return Number("turns(x[i])", lambda i, v: turns(v))
    (a, f), (b, g) = _count(draw, depth + 1), _count(draw, depth + 1)
    if kind == 3:
        return Number(f"({a} + {b})", lambda i, v: f(i, v) + g(i, v))
    if kind == 4:
        return Number(f"max({a}, 2 * {b})", lambda i, v: max(f(i, v), 2 * g(i, v)))
    return Number(f"({a} - {b})", lambda i, v: f(i, v) - g(i, v))


def _number(draw: Random, depth: int = 0) -> Number:
    """A count, or a choice between two."""
    kind = draw.randrange(7 if depth < 2 else 1)
    if kind == 0:
        return _count(draw)
    (a, f), (b, g) = _number(draw, depth + 1), _number(draw, depth + 1)
    chosen = {1: "where(i > 2", 2: "where(x[i] > 1", 3: "choose(x[i] > 1"}
    if kind == 1:
        return Number(f"{chosen[kind]}, {a}, {b})", lambda i, v: f(i, v) if i > 2 else g(i, v))
    if kind in chosen:
        return Number(f"{chosen[kind]}, {a}, {b})", lambda i, v: f(i, v) if v > 1 else g(i, v))
    if kind == 4:
        return Number(f"({a} + i)", lambda i, v: f(i, v) + i)
    if kind == 5:
        return Number(f"where({a} > 2, {b}, i)", lambda i, v: g(i, v) if f(i, v) > 2 else i)
    return Number(f"{{ k = {a}\n k * k + {b} }}", lambda i, v: f(i, v) ** 2 + g(i, v))


def draw(seed: int) -> tuple[str, Any]:
    """A program, and its value at X."""
    random = Random(seed)
    text, value = _number(random)
    found = [value(i, v) for i, v in enumerate(X, start=1)]
    kind, lines, wanted = random.randrange(9), "", found
    if kind == 1:
        lines, wanted = f"y := reduce(tol[n], (a, z) => a + {text}, 0, [i])", sum(found)
    elif kind == 2:
        lines, wanted = f"y := map(tol[n], [{text}, i], [i])", [[k, i] for i, k in enumerate(found, 1)]
    elif kind == 3:
        lines = f"y := map(tol[n], ({text}, x[i]), [i])[1]'"
    elif kind == 4:
        lines = f"k = map(tol[n], {text}, [i])\ny := map(tol[n], k[i] + k[n + 1 - i], [i])"
        wanted = [a + b for a, b in zip(found, found[::-1], strict=True)]
    elif kind == 5:
        lines, wanted = f"y := map(tol[n, 2], {text} + j, [i, j])", [[k + 1, k + 2] for k in found]
    elif kind == 6:
        lines, wanted = f"y := map([1, 2, 3], {{ i = *\n {text} }})", found[:3]
    elif kind == 7:
        lines = f"f(i) = {text}\ny := map(tol[n], reduce(tol[2], (a, z) => a + f(i), 0), [i])"
        wanted = [2 * k for k in found]
    elif kind == 8:
        lines = f"y := map(tol[n], reduce(tol[max({text}, 0)], (a, z) => a + 1, 0), [i])"
        wanted = [max(k, 0) for k in found]
    return HEADER + (lines or f"y := map(tol[n], {text}, [i])") + "\n", wanted


def judge(seed: int) -> str:
    """Say whether all readings of a drawn program agree, or what differs."""
    text, wanted = draw(seed)
    try:
        program = lower(read_program(Source(f"seed {seed}", text))).program
        for run in (run_reference, run_vectorised):
            given = run(program, {"x": np.array(X)}, {}).outputs["y"]  # type: ignore[operator]
            if not np.array_equal(np.asarray(given), np.array(wanted)):
                return f"wrong: {given} instead of {wanted}"
        hold(program, [{"n": 3}, {"n": 5}], seed)
    except Rejected as rejected:
        code = rejected.diagnostics[0].code
        return "refused" if code in REFUSED else f"wrong: {code} {rejected.diagnostics[0].message}"
    except Mismatch as mismatch:
        return f"wrong: {mismatch}"
    return "agree"


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("many", type=int)
    asked.add_argument("--start", type=int, default=0)
    options = asked.parse_args()
    found = Counter[str]()
    for seed in range(options.start, options.start + options.many):
        said = judge(seed)
        found[said.partition(":")[0]] += 1
        if said.startswith("wrong"):
            print(f"seed {seed}: {said}\n{draw(seed)[0]}")
    print(dict(found))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(with_deep_stack(main))
