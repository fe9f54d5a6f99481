"""Random functions that apply themselves: ``python -m tools.programs.recursions 2000 --start 0``.

Each is drawn as a text and as a function of Python that counts what it does. The text is lowered for all
lengths, and for each length alone, where its applications are written out; both are run. Values, executed
counts and closed forms have to be what Python finds, at every length.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tolcost.algebra import evaluate
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program
from tolcost.platform import with_deep_stack

Array: TypeAlias = np.ndarray[Any, Any]
Names: TypeAlias = dict[str, Any]


class Ran(Counter[str]):
    """How often each function was applied."""

    def apply(self, name: str, *args: Any) -> Any:
        """Apply a function to numbers or vectors."""
        result = {"+": np.add, "-": np.subtract, "max": np.maximum}[name](*args)
        self[name] += np.size(result)
        return result


class Expr(NamedTuple):
    """An expression as text, and what it gives for the values of names."""

    text: str
    value: Callable[[Names, Ran], Any]


def named(name: str) -> Expr:
    """A name."""
    return Expr(name, lambda names, ran: names[name])


def applied(rng: Random, one: Expr, other: Expr) -> Expr:
    """A function of two numbers or vectors."""
    name = rng.choice(["+", "-", "max"])
    text = f"max({one.text}, {other.text})" if name == "max" else f"({one.text} {name} {other.text})"
    return Expr(text, lambda names, ran: ran.apply(name, one.value(names, ran), other.value(names, ran)))


def mixed(rng: Random, items: list[Expr], most: int) -> Expr:
    """A few functions of some expressions."""
    found = rng.choice(items)
    for _ in range(rng.randint(0, most)):
        found = applied(rng, found, rng.choice(items))
    return found


def piece(rng: Random, by: int) -> Expr:
    """A share of a vector: a block of it, or every so many of its numbers."""
    c = rng.randrange(by)
    if rng.random() < 0.5:
        text = f"part(v, [{c} * h + 1], [{c} * h + h])"
        return Expr(text, lambda names, ran: np.split(names["v"], by)[c])
    return Expr(f"map(tol[h], v[{by} * (i - 1) + {c + 1}], [i])", lambda names, ran: names["v"][c::by])


def joined(items: list[Expr]) -> Expr:
    """Vectors one after the other."""
    text = items[0].text
    for item in items[1:]:
        text = f"join({text}, {item.text}, 1)"
    return Expr(text, lambda names, ran: np.concatenate([item.value(names, ran) for item in items]))


class Drawn(NamedTuple):
    """A function that applies itself: its text, and a function of Python that does the same."""

    text: str
    run: Callable[[Array, Ran], Any]
    by: int
    """What a length is divided by at each level; 1 if it gets shorter by 1."""


def draw(seed: int) -> Drawn:
    """Draw a function that applies itself."""
    rng = Random(seed)
    return _shorter(rng) if rng.random() < 0.25 else _divided(rng)


def _shorter(rng: Random) -> Drawn:
    """A function of what is left of a vector without its first or its last number."""
    last = rng.random() < 0.5
    rest = Expr("part(v, [1], [n - 1])" if last else "part(v, [2], [n])",
                lambda names, ran: names["v"][:-1] if last else names["v"][1:])  # fmt: skip
    one = Expr("v[n]" if last else "v[1]", lambda names, ran: names["v"][-1 if last else 0])
    if rng.random() < 0.5:
        return _function(rng, 1, [rest], Expr("v[1]", lambda names, ran: names["v"][0]),
                         mixed(rng, [named("r0"), one], 3))  # fmt: skip
    entry = mixed(rng, [Expr("r0[1]", lambda names, ran: names["r0"][0]), one], 2)
    grown = Expr(f"[*r0, {entry.text}]",
                 lambda names, ran: np.append(names["r0"], entry.value(names, ran)))  # fmt: skip
    return _function(rng, 1, [rest], named("v"), grown)


def _divided(rng: Random) -> Drawn:
    """A function of shares of a vector."""
    by, many = rng.choice([2, 2, 3]), rng.randint(1, 3)
    pieces = [piece(rng, by) for _ in range(3)]
    given = [mixed(rng, pieces, rng.choice([0, 0, 1])) for _ in range(many)]
    results = [named(f"r{k}") for k in range(many)]
    kind = rng.choice(["number", "vector", "tree"])
    first = Expr("v[1]", lambda names, ran: names["v"][0])
    if kind == "number":
        seen = [*results, first] if rng.random() < 0.3 else results
        base = rng.choice(
            [first, Expr("(v[1] + v[1])", lambda names, ran: ran.apply("+", names["v"][0], names["v"][0]))]
        )
        return _function(rng, by, given, base, mixed(rng, seen, 3))
    if kind == "vector":
        seen = [*results, *pieces] if rng.random() < 0.3 else results
        return _function(rng, by, given, named("v"), joined([mixed(rng, seen, 2) for _ in range(by)]))
    tops = [Expr(f"r{k}[1]", lambda names, ran, k=k: names[f"r{k}"][0]) for k in range(many)]
    top = mixed(rng, tops, 2)
    top = Expr(f"[{top.text}]", lambda names, ran, top=top: np.array([top.value(names, ran)]))
    return _function(rng, by, given, named("v"), joined([top, *results]))


def _function(rng: Random, by: int, given: list[Expr], base: Expr, result: Expr) -> Drawn:
    lines = [f"    r{k} = f({arg.text})" for k, arg in enumerate(given)]
    half = [f"  h = n / {by}"] if by > 1 else []
    block = [f"  where(n == 1, {base.text}, {{", *lines, f"    {result.text}", "  })"]
    shape = f"{by}^p" if by > 1 else "n"
    attr = ["attr p: N"] if by > 1 else []
    text = "\n".join(
        [f"tol x: R [{shape}]", *attr, "f(v) = {", "  n = |v|[1]", *half, *block, "}", "y := f(x)\n"]
    )
    used = [k for k in range(len(given)) if f"r{k}" in result.text]

    def run(v: Array, ran: Ran) -> Any:
        if len(v) == 1:
            return base.value({"v": v}, ran)
        names: Names = {"v": v}
        for k in used:  # a value that nobody uses is not computed
            names[f"r{k}"] = run(given[k].value(names, ran), ran)
        return result.value(names, ran)

    return Drawn(text, run, by)


# === The verdict.


def judge(seed: int) -> str:
    """Say whether all readings of a drawn function agree: agree, written out only, or what differs."""
    drawn = draw(seed)
    parsed, values = read_program(Source(f"seed {seed}", drawn.text)), np.random.default_rng(seed)
    try:
        whole = lower(parsed).program
        eops = count(whole).eops
    except Rejected as rejected:
        if [d.code for d in rejected.diagnostics] != ["T0425"]:
            return f"refused: {rejected.diagnostics[0].message}"
        whole = None
    for level in range(4 if drawn.by < 3 else 3):
        n = drawn.by**level if drawn.by > 1 else level + 1
        x = values.integers(-9, 9, n).astype(float)
        ran = Ran()
        expected, done = drawn.run(x, ran), []
        alone = lower(parsed, {**arguments(parsed.program, {"x": [n]})}).program
        if count(alone).eops != ran.total():
            return f"differs: written out at {n}"
        done.append(run_reference(alone, {"x": x}))
        if whole is not None:
            name = "p" if drawn.by > 1 else "n"
            size = level if drawn.by > 1 else n
            (symbol,) = [s for s in whole.symbols if s.name == name]
            if evaluate(eops, {symbol: size}) != ran.total():
                return f"differs: closed form at {n}"
            done += [run(whole, {"x": x}, {name: size}) for run in (run_reference, run_vectorised)]
        for one in done:
            if one.counts.eops != ran.total() or not np.array_equal(one.outputs["y"], expected):
                return f"differs: a run at {n}"
    return "written out only" if whole is None else "agree"


def verdicts(start: int, many: int) -> Iterator[tuple[int, str]]:
    """The verdicts on many seeds."""
    for seed in range(start, start + many):
        yield seed, with_deep_stack(lambda seed=seed: judge(seed))


def main(asked: list[str]) -> int:
    """Judge as many as asked; the exit code tells whether all agree."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs.recursions", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=1000, help="how many functions")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    options = parser.parse_args(asked)
    tally: Counter[str] = Counter()
    for seed, verdict in verdicts(options.start, options.many):
        tally[verdict.partition(" at ")[0]] += 1
        if tally.total() % 500 == 0:
            print(dict(tally), flush=True)
        if verdict not in ("agree", "written out only"):
            print(f"seed {seed}: {verdict}\n{draw(seed).text}", flush=True)
    print(f"{options.many} functions from seed {options.start}: {dict(tally)}")
    return 1 if any(verdict.startswith("differs") for verdict in tally) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
