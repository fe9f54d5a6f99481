"""A sum still to do, and the ways to restate it without changing its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tolcost.algebra.cases import Atoms
from tolcost.algebra.conditions import Cond, Eq, Ge, Truth, map_cond
from tolcost.algebra.poly import ZERO, Poly, coordinate, the_symbol
from tolcost.algebra.prove import prove
from tolcost.algebra.substitute import substitute
from tolcost.algebra.symbols import Symbol

_MAX_WORK = 12_000
_MAX_TERMS = 400


@dataclass(frozen=True, slots=True)
class Range:
    """A coordinate and the inclusive ends it runs between."""

    symbol: Symbol
    lo: Poly
    hi: Poly


@dataclass(frozen=True, slots=True)
class Problem:
    """A sum still to do: the summand, ranges with inner ones last, conditions, and what is known."""

    body: Poly
    ranges: tuple[Range, ...]
    atoms: Atoms
    facts: tuple[Cond, ...]


class NoClosedForm(Exception):
    """The coordinates cannot all be removed, or not at a reasonable size."""


@dataclass(slots=True)
class Work:
    """How much may still be done for one sum, counted in terms looked at."""

    left: int = _MAX_WORK

    def step(self, body: Poly) -> None:
        """Take up a problem with this summand."""
        self.left -= 1 + len(body.terms) * (1 + body.height)
        if self.left < 0 or len(body.terms) > _MAX_TERMS:
            raise NoClosedForm


def posed(body: Poly, ranges: tuple[Range, ...], conds: Sequence[Cond], facts: tuple[Cond, ...]) -> Problem:
    """Pose a problem under conditions some of which may be decided already."""
    if any(isinstance(c, Truth) and not c.value for c in conds):
        body = ZERO
    return Problem(body, ranges, tuple(dict.fromkeys(c for c in conds if isinstance(c, (Ge, Eq)))), facts)


def extended(problem: Problem, body: Poly, *conds: Cond) -> Problem:
    """Give the same problem with another summand and further conditions."""
    return posed(body, problem.ranges, (*problem.atoms, *conds), problem.facts)


def put(problem: Problem, x: Symbol, value: Poly, extra: tuple[Cond, ...] = ()) -> Problem:
    """Replace a coordinate by an expression everywhere, and drop its range.

    Coordinates whose ends change on the way are renamed, so that they carry their own bounds.
    """
    values: dict[Symbol, Poly | int] = {x: value}
    ranges = []
    for r in problem.ranges:
        if r.symbol is x:
            continue
        lo, hi = substitute(r.lo, values), substitute(r.hi, values)
        symbol = r.symbol
        if lo != r.lo or hi != r.hi:
            values[symbol] = new = coordinate(symbol.name, hi, lo)
            symbol = the_symbol(new)
        ranges.append(Range(symbol, lo, hi))
    conds = [map_cond(c, lambda p: substitute(p, values)) for c in (*extra, *problem.atoms)]
    return posed(substitute(problem.body, values), tuple(ranges), conds, problem.facts)


def pruned(problem: Problem) -> Problem | None:
    """Drop conditions that always hold; ``None`` if one never does or nothing is summed."""
    if not problem.body.terms:
        return None
    atoms = list(problem.atoms)
    for atom_ in problem.atoms:
        others = tuple(a for a in atoms if a != atom_)
        verdict = prove(atom_, problem.facts + others)
        if verdict is False:
            return None
        if verdict:
            atoms.remove(atom_)
    return Problem(problem.body, problem.ranges, tuple(atoms), problem.facts)
