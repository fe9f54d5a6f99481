"""How much work sums and proofs take, in steps and not in seconds: the same on every machine.

What is counted is what the limits of the algebra are about, problems and goals taken up and their terms, and
how long the answers are in writing.  A search that looks at more than it did, gives up earlier or
finds another way shows here, even where the answers stay as they were.  The questions are the lines of the
files beside this one, and others drawn at random.  TOLCOST_ACCEPT=1 writes what comes out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import _lru_cache_wrapper
from itertools import count
from random import Random
from typing import Any

import pytest

from tests.algebra.pairs import CASES, Line, condition, given_facts, lines, poly, sides, symbols
from tests.algebra.support import Over, Tree, at, brute_sum, build
from tests.syntax import cases
from tolcost.algebra import (
    Cond,
    Poly,
    Sum,
    as_poly,
    bounds,
    ceil_log2,
    compare,
    cond_text,
    conj,
    coordinate,
    data_symbol,
    disj,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    generators_in,
    length,
    linear,
    mod,
    negate,
    powers,
    prove,
    relu,
    the_symbol,
    to_latex,
    to_mathml,
    to_text,
    total,
)
from tolcost.algebra.compare import _points
from tolcost.algebra.eliminate import Work
from tolcost.algebra.floors import range_of
from tolcost.algebra.poly import product_of
from tolcost.algebra.prove import Fuel
from tolcost.algebra.quick_checks import MANY, _numerator

Counts = Counter[str]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """What is counted, from a state in which nothing is remembered and no coordinate was made."""
    found = Counts()
    for limit, name, what in ((Work, "step", "problems"), (Fuel, "burn", "goals")):
        monkeypatch.setattr(limit, name, _counted(getattr(limit, name), what, found))
    monkeypatch.setattr(linear, "_add_row", _each(linear._add_row, "rows", found))
    monkeypatch.setattr("tolcost.algebra.poly._serials", count(1))
    for module in [module for name, module in sys.modules.items() if name.startswith("tolcost.algebra.")]:
        for remembered in vars(module).values():
            if isinstance(remembered, _lru_cache_wrapper):
                remembered.cache_clear()
    return found


def _each(work: Callable[..., None], what: str, counts: Counts) -> Callable[..., None]:
    def done(*given: object) -> None:
        counts[what] += 1
        work(*given)

    return done


def _counted(take: Callable[[Any, Poly], object], what: str, counts: Counts) -> Callable[..., object]:
    def taken(limit: Any, body: Poly) -> object:
        before = limit.left
        try:
            return take(limit, body)
        finally:
            counts[what] += 1
            counts[f"terms of {what}"] += before - limit.left

    return taken


@pytest.mark.parametrize("case", cases.read(CASES / "work"), ids=str)
def test_as_much_work_as_it_was(case: cases.Case, counts: Counts) -> None:
    kind, _, which = case.program.strip().partition(" ")
    _ASKED[kind](which, counts)
    cases.compare(case, "\n".join(f"{what}: {times}" for what, times in sorted(counts.items())))


def _sums_of(file: str, counts: Counts) -> None:
    for line in _lines("sums", file):
        names = symbols(line)
        over = [(the_symbol(names[name]), poly(lo, names), poly(hi, names)) for name, lo, hi in line.ranges]
        guards = [condition(line.guard, names)]
        _sum(poly(line.asked, names), over, guards, given_facts(line, names), counts)


def _claims_of(file: str, counts: Counts) -> None:
    for line in _lines("claims", file):
        names = symbols(line)
        facts = given_facts(line, names)
        _claim(condition(line.asked, names), facts, counts)
        found = sides(line.asked, names)
        if found is not None:
            left, _, right = found
            counts[compare(left, right, facts).verdict] += 1


def _lines(folder: str, file: str) -> list[Line]:
    return [line for line in lines(folder) if line.where.startswith(f"{file}:")]


def _sum(body: Poly, over: Over, guards: Sequence[Cond], facts: tuple[Cond, ...], counts: Counts) -> Poly:
    result = total(body, over, guards, facts)
    counts["letters of answers"] += len(to_text(result))
    counts["open"] += any(isinstance(g, Sum) for g in generators_in(result))
    return result


def _claim(cond: Cond, facts: tuple[Cond, ...], counts: Counts) -> None:
    counts["letters"] += len(cond_text(cond))
    counts[{True: "proved", False: "refuted", None: "open"}[prove(cond, facts)]] += 1


def _drawn_sums(times: str, counts: Counts) -> None:
    for seed in range(int(times)):
        rng = Random(seed)
        names = {name: length(name, rng.randint(0, 1)) for name in "nmk"}
        over = []
        for name in "xyz"[: rng.randint(1, 3)]:
            hi = _linear(rng, names)
            lo = _linear(rng, names) if rng.random() < 0.4 else as_poly(1)
            names[name] = coordinate(name, hi, lo)
            over.append((the_symbol(names[name]), lo, hi))
        guards = [ge(_linear(rng, names)) for _ in range(rng.randint(0, 3))]
        _sum(build(_tree(rng, "nmxx" if len(over) == 1 else "nxy", 4), names), over, guards, (), counts)


def _drawn_claims(times: str, counts: Counts) -> None:
    for seed in range(int(times)):
        rng = Random(seed)
        n, m = length("n"), length("m", rng.randint(0, 1))
        i = coordinate("i", rng.choice([n, n + m, n // 2]), 0)
        names = {"n": n, "m": m, "i": i, "j": coordinate("j", i)}
        goal = build(_tree(rng, "nmij", rng.randint(3, 7)), names)
        facts = tuple(ge(build(_tree(rng, "nmij", 2), names)) for _ in range(rng.randint(0, 2)))
        _claim(rng.choice([ge(goal), eq(goal), negate(eq(goal))]), facts, counts)


def _drawn_guards(times: str, counts: Counts) -> None:
    """Equalities, remainders, differences and either of two, under facts about the lengths."""
    for seed in range(int(times)):
        rng = Random(seed)
        names = {name: length(name, rng.randint(0, 1)) for name in "nmk"}
        facts = tuple(ge(_linear(rng, names)) for _ in range(rng.randint(0, 1)))
        ends = [names["n"], rng.choice([names["m"], names["n"] + 1, names["n"] // 2])]
        names |= {name: coordinate(name, end) for name, end in zip("xy", ends, strict=True)}
        over = [(the_symbol(names[name]), 1, end) for name, end in zip("xy", ends, strict=True)]
        guards = [_guard(rng, names) for _ in range(rng.randint(1, 2))]
        body = build(_tree(rng, "nxy", rng.randint(1, 3)), names)
        found = _sum(body, over, guards, facts, counts)
        for sizes in ((3, 2, 1), (4, 1, 2), (1, 5, 3)):
            there = at(names, dict(zip("nmk", sizes, strict=True)))
            if all(evaluate_cond(fact, there) for fact in facts):
                assert evaluate(found, there) == brute_sum(body, over, guards, there)


def _guard(rng: Random, names: dict[str, Poly]) -> Cond:
    a, b = _linear(rng, names), _linear(rng, names)
    rest = mod(names[rng.choice("xy")] + rng.randint(0, 2), rng.choice([2, 3]))
    return rng.choice([eq(a), negate(eq(a)), disj(ge(a), ge(b)), eq(rest), conj(ge(a), ge(rest - 1))])


def _drawn_facts(times: str, counts: Counts) -> None:
    """Claims about data, divisors that are lengths, logarithms and powers, where equations hold."""
    for seed in range(int(times)):
        rng = Random(seed)
        n = length("n")
        d = data_symbol("d", rng.choice([None, -2, 0]), rng.choice([None, 9, n - 2]))
        names = {"n": n, "d": d, "z": length("z", 0, 40), "q": d // n, "l": ceil_log2(n + 1)}
        names["p"] = powers(2, names["z"])
        goal = build(_tree(rng, "ndzqlp", rng.randint(2, 5)), names)
        drawn = [build(_tree(rng, "ndz", 2), names) for _ in range(rng.randint(1, 2))]
        facts = tuple(rng.choice([ge, eq])(one) for one in drawn)
        _claim(rng.choice([ge(goal), eq(goal), disj(ge(goal), eq(drawn[0]))]), facts, counts)
        for end in (*bounds(goal, facts), *range_of(goal)):
            counts["ends"] += end is not None
            counts["sum of ends"] += 0 if end is None or abs(end) > 10**6 else end


def _drawn_pairs(times: str, counts: Counts) -> None:
    """Comparisons, with the points that were found."""
    for seed in range(int(times)):
        rng = Random(seed)
        names = {name: length(name, rng.randint(0, 1)) for name in "nmk"}
        names["i"] = coordinate("i", names["n"] + 1, 0)
        letters = rng.choice(["n", "nm", "nmk", "ni"])
        left, right = (build(_tree(rng, letters, rng.randint(2, 5)), names) for _ in range(2))
        found = compare(left, right, tuple(ge(_linear(rng, names)) for _ in range(rng.randint(0, 1))))
        counts[found.verdict] += 1
        for witness in (found.below, found.above):
            counts["points"] += sum(size for _, size in witness.point) if witness else 0


def _drawn_forms(times: str, counts: Counts) -> None:
    """Products of sums, and what is added to them, in writing."""
    for seed in range(int(times)):
        rng = Random(seed)
        names = {name: length(name) for name in "nmkh"}
        factors = [_linear(rng, names) for _ in range(rng.randint(1, 3))]
        rest = rng.choice([0, names["n"], 3 * names["n"] * names["m"], names["m"] // 2, relu(names["k"] - 4)])
        form = product_of(factors) * rng.choice([1, 1, 6, -2]) + rest
        for write in (to_text, to_latex, to_mathml, lambda p: cond_text(ge(p))):
            counts["letters"] += len(text := write(form))
            counts["brackets"] += text.count("(")


def _points_tried(times: str, counts: Counts) -> None:
    """Where claims are refuted, and where forms are compared, each place with another weight."""
    for number in range(int(times)):
        for ends in ((None, None), (None, -3), (-3, None), (0, 3), (-4, 900), (1, 1000), (0, 1001)):
            d = data_symbol(f"d{number}", *ends)
            for index in range(MANY):
                counts["values"] += (index + 1) * (_numerator(d, index) or 0)
    symbols = [the_symbol(length(name, low)) for low, name in enumerate("nmkh")]
    for most in range(1, len(symbols) + 1):
        for point in _points(frozenset(symbols[:most]), ()):
            counts["points"] += 1
            counts["sizes"] += sum(index * size for index, size in enumerate(point.values(), start=1))


def _tree(rng: Random, names: str, leaves: int) -> Tree:
    if leaves == 1:
        return rng.choice([*names, rng.randint(-4, 6)])
    sign = rng.choice(["+", "-", "+", "*", "max", "min", "//", "mod"])
    if sign in ("//", "mod"):
        return sign, _tree(rng, names, leaves - 1), rng.choice([2, 3, 4, 6])
    left = rng.randint(1, leaves - 1)
    return sign, _tree(rng, names, left), _tree(rng, names, leaves - left)


def _linear(rng: Random, names: dict[str, Poly]) -> Poly:
    terms = (names[name] * rng.choice([1, 1, -1, 2]) for name in rng.sample(list(names), rng.randint(1, 2)))
    return sum(terms, start=as_poly(rng.randint(-2, 3)))


_ASKED = {
    "sums": _sums_of,
    "claims": _claims_of,
    "drawn-sums": _drawn_sums,
    "drawn-claims": _drawn_claims,
    "drawn-guards": _drawn_guards,
    "drawn-facts": _drawn_facts,
    "drawn-pairs": _drawn_pairs,
    "drawn-forms": _drawn_forms,
    "points": _points_tried,
}
