"""Random programs that read by what a fold carries along: it grows, doubles, does both, or neither.

Closed forms are what a run counts, and a run that stops because an index leaves its dimension was foretold:
the point breaks a condition, or the index is ``checked when run``.  Values are those of a plain loop.

    python -m tools.programs.carried_indices 0 2000
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tolcost.algebra import evaluate
from tolcost.algebra.points import hold_at
from tolcost.atoms.nodes import Program
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_vectorised
from tolcost.execute.values import Execution
from tolcost.pipeline import lower, read_program
from tools.programs.road import lengths_of

Array = np.ndarray[Any, Any]
Run = Callable[..., Execution]
Step = Callable[[Any, int], Any]

OUTSIDE = {"T0302", "T0346"}
STEPS = (
    "{m}",
    "{m} + 1",
    "{m} + 2",
    "{m} + n",
    "{m} * 2",
    "{m} * 3",
    "2 * {m} + 1",
    "{m} + s",
    "{m} * s",
    "n - {m}",
    "{m} - 1",
)
STEPS_TWO = (*STEPS, "{other}", "{m} + {other}")
PLACES = (
    "{m}",
    "{m} + 1",
    "min({m}, n)",
    "max(min({m}, n), 1)",
    "{m} + s - 1",
    "{m} / 2 + 1",
    "n + 1 - {m}",
    "({m} - 1) % n + 1",
)
STARTS = ("1", "2", "3", "n", "0", "n - 1", "k")


def made(seed: int) -> str:
    """The text of a program: a fold of data and one or two indices, alone, in a map, or in another fold."""
    rng = random.Random(seed)
    starts = [rng.choice(STARTS) for _ in range(rng.choice((1, 1, 2)))]
    names = [f"a[{j}]'" for j in range(2, len(starts) + 2)]
    steps = [
        rng.choice(STEPS if len(names) == 1 else STEPS_TWO).format(m=m, other=names[-1 - j])
        for j, m in enumerate(names)
    ]
    places = [rng.choice(PLACES).format(m=rng.choice(names)) for _ in range(rng.choice((1, 2)))]
    reads = " + ".join(f"x[{place}]" for place in places)
    turns = rng.choice(("p", "p", "p", "3", "k", "p - 1 + 1"))
    first = rng.choice(("0", "0", "x[1]", "1.5"))
    step = f"(a[1]' + {reads}, {', '.join(steps)})"
    fold = f"reduce(tol[{turns}], (a, e) => {step}, ({first}, {', '.join(starts)}), [s])[1]'"
    alone = f"reduce(tol[{turns}], (m, e) => {rng.choice(STEPS).format(m='m')}, {rng.choice(STARTS)}, [s])"
    ways = {
        f"k = 2\ny := {fold}": 6,
        f"y := map(tol[3], {fold}, [k])": 2,
        f"y := reduce(1..2, (b, k) => b + {fold}, 0)": 1,
        f"k = 2\ny := x[{alone}]": 3,
        f"k = 2\nt = map(tol[n], i * i, [i])\ny := x[1] + t[{alone}]": 1,
    }
    (way,) = rng.choices(list(ways), list(ways.values()))
    return f"tol x: R [n]\nattr p: N\n{way}\n"


def faults(seed: int, counts: Counter[str]) -> Iterator[str]:
    """Where what is said of a program is not what a run does."""
    text = made(seed)
    try:
        program = lower(read_program(Source("carried.tol", text))).program
    except Rejected as rejected:
        counts["refused " + rejected.code] += 1
        return
    cost = count(program)
    by_name = {symbol.name: symbol for symbol in lengths_of(program)}
    for n, p in ((1, 0), (1, 2), (2, 1), (4, 3), (7, 2), (8, 3), (9, 4), (40, 5)):
        point = {by_name[name]: value for name, value in {"n": n, "p": p}.items() if name in by_name}
        given = {"x": np.arange(1.0, n + 1) ** 2}
        holds = hold_at([noted.condition for noted in program.conditions], point)
        outcomes = [_outcome(run, program, given, p) for run in (run_vectorised, run_reference)]
        stops = [one for one in outcomes if isinstance(one, str)]
        wanted = _plain(text, n, p)
        where = f"seed {seed} at n = {n}, p = {p}\n{text}"
        if not holds:
            counts["broken" if wanted is None else "narrow"] += 1
            continue
        if stops:
            counts["stopped"] += 1
            if len(stops) < 2 or stops[0] != stops[1] or stops[0] not in OUTSIDE or wanted is not None:
                yield f"{stops} but {wanted}: {where}"
            elif not program.unproved:
                yield f"stops, and nothing was said: {where}"
            continue
        counts["ran"] += 1
        for one in outcomes:
            assert not isinstance(one, str)
            if wanted is None or not np.allclose(one.outputs["y"], wanted):
                yield f"{one.outputs['y']} and not {wanted}: {where}"
            if evaluate(cost.eops, point) != one.counts.eops:
                yield f"{one.counts.eops} counted, {cost.eops} said: {where}"


def _outcome(run: Run, program: Program, given: Mapping[str, Array], p: int) -> Execution | str:
    dims = {"p": p} if any(symbol.name == "p" for symbol in program.symbols) else {}
    try:
        return run(program, given, dims)
    except Rejected as rejected:
        return rejected.code


class _Outside(Exception):
    pass


def _plain(text: str, n: int, p: int) -> Any:
    """What a program comes to, by a loop in Python; None where it looks outside."""
    body = text.splitlines()[-1].removeprefix("y := ")
    x = [float(i * i) for i in range(1, n + 1)]

    def at(values: list[float]) -> Callable[[int], float]:
        def get(i: int) -> float:
            if not 1 <= i <= len(values):
                raise _Outside
            return values[i - 1]

        return get

    names = {
        "n": n,
        "p": p,
        "k": 2,
        "x": at(x),
        "t": at([i * i for i in range(1, n + 1)]),
        "min": min,
        "max": max,
    }
    names |= {"fold": _fold, "alone": _alone}
    for name in ("x", "t"):
        body = _calls(body, name)
    body = body.replace(" / ", " // ")
    body = body.replace("a[1]'", "a[0]").replace("a[2]'", "a[1]").replace("a[3]'", "a[2]")
    try:
        return eval(_python(body), names)  # noqa: S307 - our own text
    except _Outside:
        return None


def _calls(text: str, name: str) -> str:
    """Subscripts of a ToL as calls, which tell when they are outside."""
    found, rest = "", text
    while f"{name}[" in rest:
        before, _, rest = rest.partition(f"{name}[")
        if before and (before[-1].isalnum()):
            found += before + f"{name}["
            continue
        depth, end = 1, 0
        while depth:
            depth += {"[": 1, "]": -1}.get(rest[end], 0)
            end += 1
        found += f"{before}{name}({_calls(rest[: end - 1], name)})"
        rest = rest[end:]
    return found + rest


def _python(text: str) -> str:
    """The folds of these programs, as calls of functions in Python."""
    if text.startswith("map(tol[3], "):
        inner = text.removeprefix("map(tol[3], ").removesuffix(", [k])")
        return f"[{_python(inner)} for k in (1, 2, 3)]"
    if text.startswith("reduce(1..2"):
        inner = text.removeprefix("reduce(1..2, (b, k) => b + ").removesuffix(", 0)")
        return f"sum({_python(inner)} for k in (1, 2))"
    before, _, fold = text.partition("reduce(tol[")
    turns, _, rest = fold.partition("], (")
    params, _, rest = rest.partition(") => ")
    body, _, after = rest.rpartition(", [s])")
    depth, cut = 0, 0
    for place, character in enumerate(body):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            cut = place
    step, start = body[:cut], body[cut + 1 :]
    taken = after.removeprefix("[1]'")
    name = params.split(",")[0]
    call = f"{'fold' if name == 'a' else 'alone'}({turns}, lambda {name}, s: {step}, {start.strip()})"
    return before + call + taken


def _fold(turns: int, step: Step, start: tuple[float, ...]) -> float:
    for s in range(1, turns + 1):
        start = step(start, s)
    return start[0]


def _alone(turns: int, step: Step, start: int) -> int:
    for s in range(1, turns + 1):
        start = step(start, s)
    return start


if __name__ == "__main__":
    counted, wrong = Counter[str](), 0
    for number in range(*map(int, sys.argv[1:3])):
        for fault in faults(number, counted):
            wrong += 1
            print(fault)
    print(dict(counted), "wrong:", wrong)
    sys.exit(bool(wrong))
