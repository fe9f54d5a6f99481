"""Sums by sympy alone: a second derivation that shares only the question with ``sums``.

Static integers and conditions are converted from our types; from there on everything is sympy's own: ``Sum``,
``Piecewise``, ``floor``, ``Max``, and its assumptions about symbols. A sum that sympy cannot evaluate stays a
``Sum``. Known traps are avoided only where sympy would answer a different question: it defines a sum over an
empty range as the negative of the reversed sum, so such ranges are made to end where they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import sympy
from msgspec import Struct, field

from tolcost.algebra.conditions import Cond, Eq, Ge, Logic, conjuncts
from tolcost.algebra.poly import Floor, Poly, Relu, Sum, Symbol
from tolcost.algebra.sympy_form import IN_SYMPY, InSympy, SympyExpr, sympy_symbols
from tolcost.algebra.walk import Rule, RuleTable

SumScope: TypeAlias = tuple[Symbol, Poly] | Cond
"""A coordinate with its extent (it runs from 1), or a condition."""

_WRITTEN_OUT_TERMS = 20
"""The most terms of a sum that is written out."""


def _symbol(walk: _WithSympysFunctions | SympySums, symbol: Symbol) -> sympy.Symbol:
    """Return the sympy symbol of a symbol; a coordinate, which is at least 1, gets it when first met."""
    if symbol not in walk.symbols:
        walk.symbols[symbol] = sympy.Dummy(symbol.name, integer=True, positive=True)
    return walk.symbols[symbol]


def _sum(walk: _WithSympysFunctions, generator: Sum) -> SympyExpr:
    binder = walk.symbols[generator.symbol] = sympy.Dummy(generator.symbol.name, integer=True)
    first, last = walk.form(generator.lo), walk.form(generator.hi)
    return sympy.Sum(walk.form(generator.body), (binder, first, sympy.Max(last, first - 1)))


PLAIN_SYMPY: RuleTable[Rule[SympyExpr]] = RuleTable(
    "sympy's own functions",
    {
        **IN_SYMPY,
        Symbol: _symbol,
        Floor: lambda walk, floor: sympy.floor(walk.form(floor.p) / walk.form(floor.q)),
        Relu: lambda walk, clip: sympy.Max(walk.form(clip.p), 0),
        Sum: _sum,
    },
)


class _WithSympysFunctions(InSympy):
    rules = PLAIN_SYMPY


_IN_SYMPY: Logic[SympyExpr, sympy.Basic] = Logic(
    lambda form: sympy.Ge(form, 0),
    lambda form: sympy.Eq(form, 0),
    lambda form: sympy.Not(sympy.Eq(form, 0)),
    lambda value: sympy.true if value else sympy.false,
    lambda parts: sympy.And(*parts),
    lambda parts: sympy.Or(*parts),
)


class SympySums(Struct):
    """The sums of one program; equal sums are evaluated once."""

    symbols: dict[Symbol, sympy.Symbol]
    _facts: list[SympyExpr] = field(default_factory=list)
    _taken: dict[tuple[SumScope, ...], SympyExpr] = field(default_factory=dict)

    @classmethod
    def over(cls, lengths: Iterable[Symbol], conditions: Iterable[Cond] = ()) -> SympySums:
        """Start with symbols for lengths, their known signs as assumptions, and with known conditions."""
        sums = cls(sympy_symbols(lengths))
        sums._facts += [sums.poly(fact.p) for fact in conjuncts(conditions) if isinstance(fact, Ge)]
        return sums

    def total(self, scopes: Sequence[SumScope], weight: SympyExpr = sympy.S.One) -> SympyExpr:
        """Sum a weight over coordinates where conditions hold; scopes are given outermost first."""
        key = tuple(scopes) if weight == 1 else ()
        if key and key in self._taken:
            return self._taken[key]
        expr, known = weight, len(self._facts)
        pending: list[Cond] = []
        self._facts += [
            self.poly(scope[1]) - self._symbol(scope[0]) for scope in scopes if isinstance(scope, tuple)
        ]
        for scope in reversed(scopes):
            if not isinstance(scope, tuple):
                pending.extend(conjuncts((scope,)))
                continue
            self._facts.pop()  # a fact about a coordinate holds only inside its range
            symbol, extent = self._symbol(scope[0]), self.poly(scope[1])
            inside = [cond for cond in pending if self.cond(cond).has(symbol)]
            pending = [cond for cond in pending if cond not in inside]
            expr = self._sum_one(expr, symbol, extent, inside)
        assert len(self._facts) == known
        result = _where(expr, [self.cond(cond) for cond in pending])
        if key:
            self._taken[key] = result
        return result

    def _sum_one(
        self, expr: SympyExpr, x: sympy.Symbol, extent: SympyExpr, conditions: Sequence[Cond]
    ) -> SympyExpr:
        """Sum over one coordinate: conditions on it alone become bounds, others a Piecewise."""
        low, high, left = [sympy.S.One], [extent], []
        for condition in conditions:
            bounds = self._bounds(condition, x)
            if bounds is None:
                left.append(self.cond(condition))
            else:
                low.extend(bounds[0])
                high.extend(bounds[1])
        first = low[0] if len(low) == 1 else sympy.Max(*low)
        last = high[0] if len(high) == 1 else sympy.Min(*high)
        steps = self._clip_length(last - first + 1)
        # Factors stay outside: sympy moves a condition out of a sum that is part of a product.
        factor, inner = _where(expr, left).as_independent(x, as_Add=False)
        if inner == 1:
            return factor * steps
        over = (x, first, first + steps - 1)
        # power by power, since sympy tries to telescope a sum of several terms first
        if inner.is_polynomial(x):
            powers = sympy.Add.make_args(sympy.expand(inner))
            return factor * sympy.Add(*(sympy.Sum(power, over).doit() for power in powers))
        few = steps.is_Integer and steps <= _WRITTEN_OUT_TERMS
        return factor * (sympy.Sum(inner, over).doit() if few else sympy.Sum(inner, over))

    def _clip_length(self, length: SympyExpr) -> SympyExpr:
        """Return the number of steps of a range, at least 0."""
        return length if self._is_known(length) else sympy.Max(length, 0)

    def _is_known(self, form: SympyExpr) -> bool:
        """Whether sympy's assumptions, or a known condition, show that an integer is non-negative."""
        if form.is_nonnegative:
            return True
        inside, rest = form.as_independent(sympy.floor, as_Add=True)[::-1]
        if isinstance(inside, sympy.floor) and rest.is_Integer:  # floor(t) + c is floor(t + c)
            top, bottom = sympy.fraction(sympy.together(inside.args[0] + rest))
            return (bottom.is_positive or self._is_known(bottom - 1)) and self._is_known(top)
        return any(sympy.expand(form - fact).is_nonnegative for fact in self._facts)

    def _bounds(self, condition: Cond, x: sympy.Symbol) -> tuple[list[SympyExpr], list[SympyExpr]] | None:
        """Return the bounds that a linear condition puts on a coordinate; None for any other condition."""
        if not isinstance(condition, (Ge, Eq)):
            return None
        form = sympy.expand(self.poly(condition.p))
        slope = form.coeff(x, 1)
        rest = sympy.expand(form - slope * x)
        if not slope.is_Integer or slope == 0 or rest.has(x):
            return None
        if isinstance(condition, Eq):
            value = -rest / slope
            return ([value], [value]) if abs(slope) == 1 else None
        if slope > 0:
            return [sympy.ceiling(-rest / slope)], []
        return [], [sympy.floor(rest / -slope)]

    # ---- what is static ------------------------------------------------------------------------

    def poly(self, p: Poly) -> SympyExpr:
        """Convert a static integer, with sympy's own floor and Max."""
        return _WithSympysFunctions(self.symbols).form(p)

    def _symbol(self, symbol: Symbol) -> sympy.Symbol:
        return _symbol(self, symbol)

    def cond(self, condition: Cond) -> sympy.Basic:
        """Convert a condition."""
        return _IN_SYMPY.of(condition, self.poly)

    def at(self, expr: SympyExpr, values: Mapping[Symbol, int]) -> int | str:
        """Evaluate at a point, all symbols simultaneously.

        If the result is not an integer, describe it instead.
        """
        known = {self.symbols[s]: sympy.Integer(value) for s, value in values.items() if s in self.symbols}
        found = _write_out(expr.xreplace(known))
        if found.is_Integer:
            return int(found)
        return "a variable left its sum" if found.free_symbols else "no integer"


def larger(left: SympyExpr, right: SympyExpr) -> SympyExpr:
    """Return the larger of two expressions."""
    return sympy.Max(left, right)


def same(left: SympyExpr, right: SympyExpr) -> bool:
    """Whether expansion alone shows sympy that two expressions are equal."""
    return bool(sympy.expand(left - right) == 0)


def is_closed(expr: SympyExpr) -> bool:
    """Whether no sum is left."""
    return not expr.has(sympy.Sum)


def _write_out(expr: SympyExpr) -> SympyExpr:
    """Write out sums between numbers, outermost first: sympy starts inside, at bounds still symbolic."""
    if isinstance(expr, sympy.Sum):
        *inner, (x, first, last) = expr.limits
        rest = sympy.Sum(expr.function, *inner) if inner else expr.function
        steps = (rest.xreplace({x: sympy.Integer(k)}) for k in range(int(first), int(last) + 1))
        return sympy.Add(*map(_write_out, steps))
    return expr.func(*map(_write_out, expr.args)) if expr.has(sympy.Sum) else expr


def _where(expr: SympyExpr, conditions: Sequence[sympy.Basic]) -> SympyExpr:
    return sympy.Piecewise((expr, sympy.And(*conditions)), (0, True)) if conditions else expr
