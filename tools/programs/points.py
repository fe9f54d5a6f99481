"""Concrete lengths for a program: small numbers at which everything it relies on holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from random import Random

from tolcost.algebra import NotInteger, Symbol, evaluate, evaluate_cond, symbols_of_cond
from tolcost.atoms.nodes import Program
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tools.programs.road import hold, lengths_of

FEW_STEPS = 30_000
"""A run at small lengths takes fewer, or data keeps a loop from ending."""


def candidates(program: Program, largest: int, seed: int = 0) -> Iterator[dict[str, int]]:
    """Lengths by name that meet the program's conditions, in a fixed order."""
    random = Random(seed)
    least = {symbol: max(_least(symbol), 0) for symbol in lengths_of(program)}
    while True:
        dims = {symbol: random.randint(low, largest) for symbol, low in least.items()}
        if meets(program, dims):
            yield {symbol.name: value for symbol, value in dims.items()}
        else:
            yield {}


def meets(program: Program, dims: Mapping[Symbol, int]) -> bool:
    """Whether every condition that can be told holds; one that divides by 0 does not."""
    known = (c.condition for c in program.conditions if symbols_of_cond(c.condition) <= dims.keys())
    try:
        return all(evaluate_cond(condition, dims) for condition in known)
    except NotInteger:
        return False


def _least(symbol: Symbol) -> int:
    if symbol.lo is None or symbol.lo.free:
        return 1
    return max(evaluate(symbol.lo, {}), -1)


def held_at(program: Program, wanted: int, largest: int = 6, tries: int = 400) -> list[Mapping[str, int]]:
    """Hold a program to its promises at several points; points at which it may not run do not count.

    A program about indices that are data runs only where the data happens to be in range, so
    values are drawn anew each time.
    """
    found: list[Mapping[str, int]] = []
    counts, has_lengths = count(program), bool(lengths_of(program))
    for attempt, dims in enumerate(islice(candidates(program, largest), tries)):
        if len(found) == wanted:
            break
        if has_lengths and not dims:
            continue
        with suppress(Rejected):
            hold(program, [dims], attempt, counts, FEW_STEPS)
            found.append(dims)
    return found
