"""A cost is one, however it is asked for: at a point, part by part, in arrays, by sympy, under assumptions.

``python -m tools.programs.asked 1000`` asks for the costs of as many random programs as told.  Programs that
follow each other are compared, too: what ``diff`` says has to hold at points that both allow.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import NamedTuple

import tolcost
from tolcost import Cost, Rejected
from tools.generate.loops import loop_program
from tools.generate.programs import generate

Lengths = Mapping[str, int]
FIGURES = ("eops", "flops", "macs", "bytes", "depth")
POINTS = 5
compared: Counter[str] = Counter()
"""How often two figures were compared: two that are not known at a point are no comparison."""


def text_of(seed: int) -> str:
    """A random program; one of three is made of folds."""
    return (loop_program(seed) if seed % 3 == 0 else generate(seed)).text


def at(cost: Cost, point: Lengths) -> dict[str, object] | None:
    """The figures at a point; None where it is not allowed."""
    try:
        found = cost(point)
    except Rejected:
        return None
    return {name: found[name] for name in FIGURES}


def points(cost: Cost, random: Random) -> list[dict[str, int]]:
    return [{name: random.randint(1, 9) for name in cost.symbols} for _ in range(POINTS)]


def mismatches(text: str, seed: int) -> Iterator[str]:
    """What differs between two ways of asking for the same."""
    random, cost = Random(seed), tolcost.analyze(text)
    tried = points(cost, random) if cost.symbols else []
    allowed = [point for point in tried if at(cost, point) is not None]
    if not allowed:
        return
    compared["asked"] += 1
    point, numbers = allowed[0], at(cost, allowed[0])
    some = dict(list(point.items())[: len(point) // 2 + 1])
    rest = {name: value for name, value in point.items() if name not in some}
    if at(cost.subs(some), rest) != numbers:
        yield f"with {some} put in place first"
    if at(tolcost.analyze(text, dims=point), {}) != numbers:
        yield f"analysed at {point}"
    if _in_arrays(cost, allowed) != [cost(one).eops for one in allowed]:
        yield "at many points at once"
    form = cost.eops.subs({s: point[s.name] for s in cost.eops.free_symbols if s.name in point})
    if not form.free_symbols and form.doit() != cost(point).eops:
        yield f"by sympy at {point}: {form.doit()}"
    yield from _under_assumptions(cost, tried, random)


def _in_arrays(cost: Cost, allowed: list[dict[str, int]]) -> list[int]:
    found = cost({name: [point[name] for point in allowed] for name in cost.symbols})
    return [int(eops) for eops in found.eops]


class Supposed(NamedTuple):
    """An assumption about a length, what its new name is if it has one, and which lengths it allows."""

    text: str
    fresh: str | None
    step: int = 1
    rest: int = 0
    least: int = 1
    most: int = 1 << 30


def _under_assumptions(cost: Cost, tried: list[dict[str, int]], random: Random) -> Iterator[str]:
    name, step = random.choice(cost.symbols), random.randint(2, 3)
    rest = random.randrange(step)
    supposed = random.choice(
        [
            Supposed(f"{name} = {step}*fresh", "fresh", step),
            Supposed(f"{name} % {step} == {rest}", f"{name}_{step}", step, rest),
            Supposed(f"{name} >= {step}", None, least=step),
            Supposed(f"{name} <= {step + 2}", None, most=step + 2),
        ]
    )
    try:
        under = cost.assume(supposed.text)
    except Rejected:  # that length, or what is left of it, is none
        return
    for point in tried:
        long = point[name] * supposed.step + supposed.rest
        whole = {**point, name: long}
        given = {n: v for n, v in whole.items() if n != name or supposed.fresh is None}
        given |= {supposed.fresh: point[name]} if supposed.fresh in under.symbols else {}
        if supposed.fresh is not None and supposed.fresh not in under.symbols:
            continue  # the assumption leaves one length only
        wanted = at(cost, whole) if supposed.least <= long <= supposed.most else None
        compared["assumed"] += wanted is not None
        if at(under, given) != wanted:
            yield f"under {supposed.text} at {whole}"


_OTHER_RANK = "lengths are matched only where it has as many dimensions"
"""The end of what is noted of an input with more dimensions than before, or fewer."""


def untrue(old: Cost, new: Cost, seed: int) -> Iterator[str]:
    """What ``diff`` says of two costs and does not hold at a point that both allow."""
    found = tolcost.diff(old, new)
    notes = [note for note in found.notes if not note.endswith(_OTHER_RANK)]
    if notes or set(old.symbols) != set(new.symbols):
        return  # a length of the one is another of the other
    for point in points(new, Random(seed)):
        was, now = at(old, point), at(new, point)
        if was is None or now is None:
            continue
        compared["diff"] += 1
        more, less = now["eops"] > was["eops"], now["eops"] < was["eops"]  # type: ignore[operator]
        if (found.verdict in ("same", "cheaper", "not costlier") and more) or (
            found.verdict in ("same", "costlier") and less
        ):
            yield f"{found.verdict} at {point}: {was['eops']} and {now['eops']}"


def broken(seeds: range) -> list[str]:
    """What is found wrong with the programs of some seeds."""
    wrong, before = [], None
    for seed in seeds:
        text = text_of(seed)
        try:
            cost = tolcost.analyze(text)
        except Rejected:
            continue
        wrong += [f"seed {seed}: {said}" for said in mismatches(text, seed)]
        if before is not None:
            wrong += [f"seeds {seed - 1} and {seed}: {said}" for said in untrue(before, cost, seed)]
        before = cost
    return wrong


if __name__ == "__main__":
    many, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    told = broken(range(start, start + many))
    print(f"{many} programs", *told, sep="\n  ")
    sys.exit(1 if told else 0)
