"""Sums over nested ranges under conditions, in closed form where there is one.

Guards are split into signed conjunctions and coordinates into groups that have nothing to do
with each other; ``eliminate`` does each group.  What it cannot do stays an unevaluated sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tolcost.algebra.alike import Solved, known_result
from tolcost.algebra.cases import Atoms, signed_cases
from tolcost.algebra.clips import relu
from tolcost.algebra.conditions import Cond, Ge, conj, indicator, map_cond, symbols_of_cond
from tolcost.algebra.eliminate import eliminate
from tolcost.algebra.errors import AlgebraBudget
from tolcost.algebra.faulhaber import opaque_sum
from tolcost.algebra.gates import gated, tidied
from tolcost.algebra.poly import (
    Monomial,
    Poly,
    Terms,
    as_poly,
    atom,
    multiply,
    poly,
    scale,
    total_of,
)
from tolcost.algebra.problem import NoClosedForm, Problem, Range, Work
from tolcost.algebra.substitute import substitute
from tolcost.algebra.symbols import Generator, Symbol, symbol_of

_STANDARD = "#"
_MANY_TERMS = 3


def total(
    body: Poly | int,
    over: Sequence[tuple[Symbol, Poly | int, Poly | int]],
    guards: Sequence[Cond] = (),
    facts: Sequence[Cond] = (),
) -> Poly:
    """Sum over nested ranges, inner ones last, where all guards hold; an empty range gives 0.

    Facts are about what is not summed over; a condition on a coordinate is a guard.

    >>> from tolcost.algebra.poly import coordinate, length, the_symbol
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", i)
    >>> total(1, [(the_symbol(i), 1, n), (the_symbol(j), 1, i)])
    n*(n + 1)/2
    """
    summed = {symbol for symbol, _, _ in over}
    known = tuple(fact for fact in facts if not symbols_of_cond(fact) & summed)
    return _total(*_standard(as_poly(body), over, conj(*guards), known), known)


@lru_cache(maxsize=1 << 12)
def _total(body: Poly, ranges: tuple[Range, ...], guard: Cond, facts: tuple[Cond, ...]) -> Poly:
    parts = []
    for atoms, times in signed_cases(guard).items():
        ordered = tuple(sorted(atoms, key=lambda a: (isinstance(a, Ge), a.p.key)))
        parts.append(scale(_by_components(Problem(body, ranges, ordered, facts)), times))
    return tidied(total_of(parts), facts)


def sum_over(body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over one range."""
    return total(body, [(symbol, lo, hi)])


def _standard(
    body: Poly,
    over: Sequence[tuple[Symbol, Poly | int, Poly | int]],
    guard: Cond,
    facts: tuple[Cond, ...],
) -> tuple[Poly, tuple[Range, ...], Cond]:
    """Rename the coordinates to standard ones: sums that differ in names only are done once.

    A standard coordinate carries the range it runs over as its own bounds, which proofs rely on.
    """
    used = body.free.union(symbols_of_cond(guard), *(symbols_of_cond(fact) for fact in facts))
    used = used.union(*(as_poly(end).free for _, lo, hi in over for end in (lo, hi)))
    taken = [symbol.serial for symbol in used if symbol.name == _STANDARD]
    turn = min(0, *taken) if taken else 0
    renamed: dict[Symbol, Poly | int] = {}
    ranges = []
    for symbol, low, high in over:
        lo, hi = substitute(as_poly(low), renamed), substitute(as_poly(high), renamed)
        turn -= 1
        own = symbol_of(_STANDARD, turn, "coord", lo, hi)
        renamed[symbol] = atom(own)
        ranges.append(Range(own, lo, hi))
    body, guard = substitute(body, renamed), map_cond(guard, lambda p: substitute(p, renamed))
    return body, tuple(ranges), guard


def _by_components(problem: Problem) -> Poly:
    """Remove one group of connected coordinates after another."""
    body, left, atoms = problem.body, problem.ranges, problem.atoms
    solved: Solved = []
    while left:
        group = _connected(left, atoms, body)
        mine = tuple(a for a in atoms if a.p.free & group)
        atoms = tuple(a for a in atoms if not a.p.free & group)
        inner = tuple(r for r in left if r.symbol in group)
        left = tuple(r for r in left if r.symbol not in group)
        body = _removed(Problem(body, inner, mine, problem.facts), solved)
    return gated(body, atoms, problem.facts)


def _connected(ranges: tuple[Range, ...], atoms: Atoms, body: Poly) -> frozenset[Symbol]:
    """Give the coordinates linked to the innermost one by bounds, conditions, floors or clips."""
    symbols = frozenset(r.symbol for r in ranges)
    links = [a.p.free & symbols for a in atoms]
    links += [((r.lo.free | r.hi.free) & symbols) | {r.symbol} for r in ranges]
    links += [g.free & symbols for mono in body.terms for g in mono if not isinstance(g, Symbol)]
    group = frozenset((ranges[-1].symbol,))
    while True:
        grown = group.union(*(link for link in links if link & group))
        if grown == group:
            return group
        group = grown


def _removed(problem: Problem, solved: Solved) -> Poly:
    """Remove all coordinates; parts of the summand without a closed form stay sums."""
    symbols = frozenset(r.symbol for r in problem.ranges)
    by_part = _coefficients(problem.body, symbols)
    if len(problem.body.terms) > max(_MANY_TERMS, 2 * len(by_part)):
        sums = {part: _removed(_with_body(problem, Poly({part: 1})), solved) for part in by_part}
        return total_of(multiply(factor, sums[part]) for part, factor in by_part.items())
    result = known_result(problem, solved)
    if result is not None:
        return result
    try:
        result = eliminate(problem, Work())
        solved.append((problem, result))
        return result
    except (NoClosedForm, AlgebraBudget, ZeroDivisionError):  # a divisor may vanish at an end of a range
        pass
    rows: dict[frozenset[Generator], Terms] = {}
    for mono, coef in problem.body.terms.items():
        hard = frozenset(g for g in mono if not isinstance(g, Symbol) and g.free & symbols)
        rows.setdefault(hard, {})[mono] = coef
    if len(rows) < 2:
        return _unevaluated(problem)
    apart = (_with_body(problem, poly(terms, problem.body.den)) for terms in rows.values())
    return total_of(_removed(part, solved) for part in apart)


def _with_body(problem: Problem, body: Poly) -> Problem:
    return Problem(body, problem.ranges, problem.atoms, problem.facts)


def _coefficients(body: Poly, symbols: frozenset[Symbol]) -> dict[Monomial, Poly]:
    """Give what each product of summed things is multiplied by."""
    rows: dict[Monomial, Terms] = {}
    for mono, coef in body.terms.items():
        part = tuple(g for g in mono if g.free & symbols)
        rest = tuple(g for g in mono if not g.free & symbols)
        rows.setdefault(part, {})[rest] = coef
    return {part: poly(terms, body.den) for part, terms in rows.items()}


def _unevaluated(problem: Problem) -> Poly:
    """Leave everything as sums inside sums, with the conditions in the summand."""
    body = problem.body
    for a in problem.atoms:
        body = multiply(body, indicator(a, problem.facts))
    body = tidied(body, problem.facts)
    for r in reversed(problem.ranges):
        body = opaque_sum(body, r.symbol, r.lo, r.hi) if r.symbol in body.free else _repeated(body, r)
    return body


def _repeated(body: Poly, r: Range) -> Poly:
    return multiply(body, relu(r.hi - r.lo + 1))
