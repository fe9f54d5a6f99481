"""A formula as it is shown: a small tree made once from an expression, for all printers to walk.

A tree holds the sum in the order of degrees and names and, where there is one, the product of factors:
a printer takes which it likes.  Factors are found by trial: roots at a few points suggest a linear
factor, exact division confirms it.  Nothing here is needed for computing, only for showing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import groupby, islice, product
from math import gcd
from typing import TypeAlias

from tolcost.algebra.floors import exact_quotient, leading_coefficient
from tolcost.algebra.poly import UNIT, Monomial, Poly, atom
from tolcost.algebra.symbols import Exponential, Floor, Generator, Log2, Relu, Sum, Symbol
from tolcost.dataclass import dataclass, field

_MAX_TERMS = 80
_MAX_DEGREE = 8
_MAX_OTHERS = 3
_MAX_TRIALS = 60
_BINDERS = "ijklpqrstuvw"


@dataclass(frozen=True, slots=True, eq=False)
class ShownName:
    """The name of a symbol, different for different symbols."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class FloorCall:
    """The floor of a quotient."""

    top: ShownFormula
    bottom: ShownFormula


@dataclass(frozen=True, slots=True, eq=False)
class ClipCall:
    """The larger of something and 0."""

    inside: ShownFormula


@dataclass(frozen=True, slots=True, eq=False)
class LogCall:
    """A logarithm to base 2, rounded up."""

    inside: ShownFormula


@dataclass(frozen=True, slots=True, eq=False)
class PowerCall:
    """A number to the power of something."""

    base: int
    exponent: ShownFormula


@dataclass(frozen=True, slots=True, eq=False)
class SumCall:
    """A sum over a range, with the name of what runs over it."""

    body: ShownFormula
    binder: str
    lo: ShownFormula
    hi: ShownFormula


ShownOperand: TypeAlias = ShownName | FloorCall | ClipCall | LogCall | PowerCall | SumCall


@dataclass(frozen=True, slots=True, eq=False)
class SignedTerm:
    """An integer times powers."""

    number: int
    powers: tuple[tuple[ShownOperand, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A sum of terms, high degrees first, over an integer."""

    terms: tuple[SignedTerm, ...]
    den: int

    def for_reading(self) -> tuple[SignedTerm, ...]:
        """The terms, beginning with something positive where there is something."""
        first = next((term for term in self.terms if term.number > 0), None)
        return self.terms if first is None else (first, *(term for term in self.terms if term is not first))


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """An integer times powers, times powers of sums in brackets, over an integer; ``rest`` is added."""

    number: int
    powers: tuple[tuple[ShownOperand, int], ...]
    brackets: tuple[tuple[ShownFormula, int], ...]
    den: int
    rest: Total | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ShownFormula:
    """An expression as a sum and, where it is one, as a product."""

    total: Total
    product: Factors | None


def formula(p: Poly, names: Mapping[Symbol, str] | None = None) -> ShownFormula:
    """Give the tree of an expression."""
    return _Builder(display_names(p.free) if names is None else names).formula(p)


def product_formula(p: Poly) -> Factors:
    """Give the tree of an expression as a product, even if that is of one factor."""
    return _Builder(display_names(p.free)).factors(factored(p))


def display_names(
    symbols: Iterable[Symbol], written: Callable[[str], str] = lambda name: name
) -> dict[Symbol, str]:
    """Give each symbol a name to show, different for different symbols; ``written`` makes names plain.

    No symbol gets a name that another one has by itself.
    """
    used: set[str] = set()
    names: dict[Symbol, str] = {}
    ordered = sorted(symbols, key=lambda s: (written(s.name) != s.name, s.key))
    taken = {written(s.name) for s in ordered}
    for symbol in ordered:
        base = name = written(symbol.name)
        turn = 2
        while name in used or (turn > 2 and name in taken):
            name, turn = f"{base}_{turn}", turn + 1
        used.add(name)
        names[symbol] = name
    return names


@dataclass(frozen=True, slots=True, eq=False)
class _Builder:
    """The names to show, and the generators met so far: large results repeat them a lot."""

    names: Mapping[Symbol, str]
    done: dict[Generator, ShownOperand] = field(default_factory=dict)

    def formula(self, p: Poly) -> ShownFormula:
        """Give the tree of an expression."""
        return ShownFormula(self.total(p), self._product(p) if len(p.terms) > 1 else None)

    def _product(self, p: Poly) -> Factors | None:
        split = factored(p)
        if is_product(split):
            return self.factors(split)
        found = product_and_rest(p)
        return None if found is None else self.factors(found[0], self.total(found[1]))

    def total(self, p: Poly) -> Total:
        """Give the sum that an expression is."""
        terms = tuple(SignedTerm(p.terms[mono], self._powers(mono)) for mono in display_order(p))
        return Total(terms, p.den)

    def factors(self, split: Factored, rest: Total | None = None) -> Factors:
        """Give a product."""
        read = for_reading(split)
        brackets = tuple((self.formula(factor), times) for factor, times in read.factors)
        return Factors(read.number, self._powers(read.monomial), brackets, read.den, rest)

    def _powers(self, mono: Monomial) -> tuple[tuple[ShownOperand, int], ...]:
        return tuple(self._power(g, len(list(same))) for g, same in groupby(mono))

    def _power(self, generator: Generator, times: int) -> tuple[ShownOperand, int]:
        """A power of a power is one whose exponent is a multiple."""
        if isinstance(generator, Exponential) and times > 1:
            return PowerCall(generator.base, self.formula(generator.p * times)), 1
        return self._operand(generator), times

    def _operand(self, generator: Generator) -> ShownOperand:
        if generator not in self.done:
            self.done[generator] = self._made(generator)
        return self.done[generator]

    def _made(self, generator: Generator) -> ShownOperand:
        match generator:
            case Symbol():
                return ShownName(self.names.get(generator, generator.name))
            case Floor(p=p, q=q):
                return FloorCall(self.formula(p), self.formula(q))
            case Relu(p=p):
                return ClipCall(self.formula(p))
            case Log2(p=p):
                return LogCall(self.formula(p))
            case Exponential(base=base, p=p):
                return PowerCall(base, self.formula(p))
            case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
                binder = _binder_name(set(self.names.values()))
                inner = _Builder({**self.names, symbol: binder})
                return SumCall(inner.formula(body), binder, self.formula(lo), self.formula(hi))


def _binder_name(used: set[str]) -> str:
    """Give a short name for a summation variable that is not used yet."""
    for letter in _BINDERS:
        if letter not in used:
            return letter
    turn = 1
    while f"i{turn}" in used:
        turn += 1
    return f"i{turn}"


@dataclass(frozen=True, slots=True)
class Factored:
    """``number / den`` times a monomial times primitive factors with their powers."""

    number: int
    den: int
    monomial: Monomial
    factors: tuple[tuple[Poly, int], ...]


@lru_cache(maxsize=4096)
def factored(p: Poly) -> Factored:
    """Factor as far as trial goes; the zero polynomial has number 0.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> factored(n * n - n).factors
    ((n - 1, 1),)
    """
    if not p.terms:
        return Factored(0, 1, UNIT, ())
    number = gcd(*p.terms.values())
    shared = _shared_monomial(list(p.terms))
    if leading_coefficient(p) < 0:
        number = -number
    rest = Poly({_remove(mono, shared): coef // number for mono, coef in p.terms.items()})
    found: dict[Poly, int] = {}
    while rest.constant is None and len(rest.terms) <= _MAX_TERMS:
        step = _linear_factor(rest)
        if step is None:
            break
        factor, rest = step
        found[factor] = found.get(factor, 0) + 1
    if rest != 1:
        found[rest] = found.get(rest, 0) + 1
    return Factored(number, p.den, shared, tuple(sorted(found.items(), key=lambda fp: _reading_key(fp[0]))))


def is_product(split: Factored) -> bool:
    """Whether there is more than one factor, the number in front aside."""
    return bool(split.monomial) or sum(times for _, times in split.factors) > 1


def for_reading(split: Factored) -> Factored:
    """The same product with signs as a person sets them.

    Factors with more minuses than pluses are turned around where that leaves no minus in front, and
    a minus in front goes into a factor that has terms of both signs.

    >>> from tolcost.algebra.poly import length
    >>> k, n, m = length("k"), length("n"), length("m")
    >>> for_reading(factored((k - n - 1) * (k - m - 1))).factors
    ((m - k + 1, 1), (n - k + 1, 1))
    """
    number, factors = split.number, list(split.factors)
    around = [k for k, (factor, _) in enumerate(factors) if _mostly_minus(factor)]
    odd = sum(factors[k][1] for k in around) % 2 == 1
    if not odd or number < 0:
        for k in around:
            factors[k] = (-factors[k][0], factors[k][1])
        number = -number if odd else number
    mixed = (k for k, (f, times) in enumerate(factors) if times % 2 and min(f.terms.values()) < 0)
    for one in islice(mixed, 1 if number < 0 else 0):
        factors[one], number = (-factors[one][0], factors[one][1]), -number
    return Factored(number, split.den, split.monomial, tuple(factors))


def _mostly_minus(p: Poly) -> bool:
    return 2 * sum(coef < 0 for coef in p.terms.values()) > len(p.terms)


@lru_cache(maxsize=4096)
def product_and_rest(p: Poly) -> tuple[Factored, Poly] | None:
    """A sum as a product and a term or two: ``9*(n - 1)*(m - 1) + 2*n*m``.

    The terms of a product of differences have equal numbers in front, up to signs.  So the few that
    do not are taken away, or made equal, and what is left is tried.
    """
    usual = Counter(map(abs, p.terms.values())).most_common(1)[0][0] if p.terms else 0
    odd = [(mono, coef) for mono, coef in p.terms.items() if abs(coef) != usual]
    if p.den != 1 or len(p.terms) < 5 or not 1 <= len(odd) <= 2:
        return None
    for coefs in product(*((0, usual, -usual) for _ in odd)):
        rest = Poly({mono: coef - c for (mono, coef), c in zip(odd, coefs, strict=True)})
        split = factored(p - rest)
        if sum(times for _, times in split.factors) > 1:
            return split, rest
    return None


def display_order(p: Poly) -> list[Monomial]:
    """Sort terms for reading: high degree first, then by name."""
    return sorted(p.terms, key=lambda mono: (-len(mono), tuple(g.key for g in mono)))


def _reading_key(p: Poly) -> list[tuple[int, tuple[object, ...], int]]:
    return [(-len(mono), tuple(g.key for g in mono), p.terms[mono]) for mono in display_order(p)]


def _shared_monomial(monos: list[Monomial]) -> Monomial:
    """Give the greatest monomial that divides all."""
    shared: Monomial = monos[0]
    for mono in monos[1:]:
        left = list(mono)
        both = []
        for generator in shared:
            if generator in left:
                left.remove(generator)
                both.append(generator)
        shared = tuple(both)
    return shared


def _remove(mono: Monomial, part: Monomial) -> Monomial:
    left = list(mono)
    for generator in part:
        left.remove(generator)
    return tuple(left)


def _linear_factor(p: Poly) -> tuple[Poly, Poly] | None:
    """Give a linear factor with a positive first term, and the quotient."""
    generators = sorted({g for mono in p.terms for g in mono}, key=lambda g: g.key)
    if len(generators) > _MAX_OTHERS + 1 or max(map(len, p.terms)) < 2:
        return None
    for main in generators:
        if max(mono.count(main) for mono in p.terms) <= _MAX_DEGREE:
            for candidate in _candidates(p, main, [g for g in generators if g is not main]):
                quotient = exact_quotient(p, candidate)
                if quotient is not None:
                    return candidate, quotient
    return None


def _candidates(p: Poly, main: Generator, others: list[Generator]) -> list[Poly]:
    """Guess linear factors from where p vanishes at a point and beside it."""
    base = dict(zip(others, (17, 29, 41), strict=False))
    here = _integer_roots(p, main, base)
    if not here:
        return []
    beside = [_integer_roots(p, main, {**base, g: base[g] + 1}) for g in others]
    guesses: list[Poly] = []
    for root, *next_roots in product(here, *beside):
        slopes = [other - root for other in next_roots]
        if all(abs(slope) <= 3 for slope in slopes) and len(guesses) < _MAX_TRIALS:
            offset = root - sum(slope * base[g] for g, slope in zip(others, slopes, strict=True))
            guess = atom(main) - offset
            for g, slope in zip(others, slopes, strict=True):
                guess = guess - atom(g) * slope
            guesses.append(guess if leading_coefficient(guess) > 0 else -guess)
    return guesses


def _integer_roots(p: Poly, main: Generator, point: dict[Generator, int]) -> list[int]:
    """Give the small integers, and those near the point's values, at which p vanishes."""
    row: dict[int, int] = {}
    for mono, coef in p.terms.items():
        for generator in mono:
            coef *= point.get(generator, 1)
        times = mono.count(main)
        row[times] = row.get(times, 0) + coef
    near = {v * s for v in (0, *point.values(), sum(point.values())) for s in (-2, -1, 1, 2)}
    tries = sorted({v + d for v in near for d in range(-6, 7)}, key=lambda v: (abs(v), v))
    return [v for v in tries if not sum(coef * v**k for k, coef in row.items())]
