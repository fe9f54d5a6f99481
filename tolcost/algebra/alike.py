"""Sums that differ in names only: the rows and the columns of an image are summed over alike.

Two problems are walked through side by side.  Where they have the same form and a one-to-one pairing of
their symbols turns the first into the second, it turns the first result into the second result.
"""

from __future__ import annotations

from tolcost.algebra.clips import quick_relu
from tolcost.algebra.conditions import symbols_of_cond
from tolcost.algebra.poly import Poly, atom
from tolcost.algebra.problem import Problem
from tolcost.algebra.substitute import substitute
from tolcost.algebra.symbols import Floor, Generator, Relu, Symbol

Solved = list[tuple[Problem, Poly]]
"""Problems and what they came to."""


def known_result(problem: Problem, solved: Solved) -> Poly | None:
    """Give the result of a problem that differs from one already solved in the names of lengths only.

    >>> from tolcost.algebra.poly import ONE, coordinate, length, the_symbol
    >>> from tolcost.algebra.problem import Range
    >>> n, m = length("n"), length("m")
    >>> ranges = [Range(the_symbol(coordinate("i", d)), ONE, d) for d in (n, m)]
    >>> first, second = (Problem(ONE, (r,), (), ()) for r in ranges)
    >>> known_result(second, [(first, n)]), known_result(second, [])
    (m, None)
    """
    about = frozenset[Symbol]().union(*(symbols_of_cond(fact) for fact in problem.facts))
    for before, result in solved:
        pairs = _Pairs()
        if not pairs.problems(before, problem):
            continue
        summed = {r.symbol for r in before.ranges}
        other = {a: b for a, b in pairs.found.items() if a not in summed and a is not b}
        if about.isdisjoint(other) and all(_like(a, b) for a, b in other.items()):
            renamed = {a: atom(b) for a, b in other.items()}
            return substitute(result, renamed, quick_relu)  # the form it would have had
    return None


def _like(a: Symbol, b: Symbol) -> bool:
    """Whether what is known of one symbol is known of the other: bounds that are the same numbers."""
    return a.kind == b.kind and a.depth == b.depth == 0 and a.lo == b.lo and a.hi == b.hi


class _Pairs:
    """Which symbol of one problem stands where which of the other does, so far."""

    def __init__(self) -> None:
        self.found: dict[Symbol, Symbol] = {}
        self.taken: set[Symbol] = set()

    def problems(self, a: Problem, b: Problem) -> bool:
        """Whether two problems have the same form."""
        if len(a.ranges) != len(b.ranges) or len(a.atoms) != len(b.atoms):
            return False
        return (
            all(
                self.polys(r.lo, s.lo) and self.polys(r.hi, s.hi) and self.symbols(r.symbol, s.symbol)
                for r, s in zip(a.ranges, b.ranges, strict=True)
            )
            and all(
                isinstance(x, type(y)) and self.polys(x.p, y.p) for x, y in zip(a.atoms, b.atoms, strict=True)
            )
            and self.polys(a.body, b.body)
        )

    def polys(self, a: Poly, b: Poly) -> bool:
        """Whether two polynomials have the same form, term by term in the order they were made in."""
        if a.den != b.den or len(a.terms) != len(b.terms):
            return False
        for (mono, coef), (other, against) in zip(a.terms.items(), b.terms.items(), strict=True):
            if coef != against or len(mono) != len(other):
                return False
            if not all(self.generators(g, h) for g, h in zip(mono, other, strict=True)):
                return False
        return True

    def generators(self, a: Generator, b: Generator) -> bool:
        """Whether two generators have the same form."""
        if isinstance(a, Symbol) and isinstance(b, Symbol):
            return self.symbols(a, b)
        if isinstance(a, Floor) and isinstance(b, Floor):
            return self.polys(a.p, b.p) and self.polys(a.q, b.q)
        return isinstance(a, Relu) and isinstance(b, Relu) and self.polys(a.p, b.p)

    def symbols(self, a: Symbol, b: Symbol) -> bool:
        """Whether two symbols can be a pair, which they are from now on."""
        known = self.found.get(a)
        if known is not None or b in self.taken:
            return known is b
        self.found[a] = b
        self.taken.add(b)
        return True
