"""Printers of formulas: text that ``parse`` reads back, LaTeX, MathML, and trees for a browser's script.

Each printer walks a small tree that is built from an expression once. Text takes the shorter of sum and
product; LaTeX and MathML take the product if there is one; a browser computes, so it takes the sum. In text,
names that are not plain words are quoted with backquotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, reduce
from itertools import chain, groupby, islice, product
from math import gcd, prod
from typing import Literal, TypeAlias
from zlib import crc32

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.floors import (
    divide,
    exact_quotient,
    leading_coefficient,
    mirrored_floor,
    shared_monomial,
    without,
)
from tolcost.algebra.piecewise import clips_in
from tolcost.algebra.poly import (
    UNIT,
    ZERO,
    AlgebraBudget,
    Composite,
    Exponential,
    Floor,
    Generator,
    Log2,
    Monomial,
    Poly,
    Relu,
    Sum,
    Symbol,
    as_poly,
    atom,
    define_text,
    length,
    multiply,
    only_symbol,
    powers_of,
    scale,
    the_symbol,
    total_of,
)
from tolcost.algebra.walk import FormWalk, Rule, RuleTable
from tolcost.diagnostics import InternalError, visible

# === The tree of a formula for display: built once from an expression, and walked by all printers.
#
# A tree holds the sum in the order of degrees and names and, if one was found, the product of factors; each
# printer takes the form it prefers. Factors are found by trial: roots at a few points suggest a linear
# factor, and exact division confirms it. A clip becomes a minimum or maximum if that is shorter. All of this
# serves display, not computation.


_MAX_TERMS = 80
"""Longer sums are not searched for linear factors, minima and maxima."""
_MAX_DEGREE = 8
"""The highest degree in one symbol for which a linear factor is searched."""
_MAX_OTHERS = 3
"""The most other symbols in a linear factor: their roots are combined with one another."""
_MAX_TRIALS = 60
"""The most candidates that are divided by."""
_MOST_TRIED = 2_000
"""The most terms times clips for which minima and maxima are tried: each trial rebuilds all terms."""
_MAX_CLIPS = 12
"""With more clips, only these many of the most nested are tried."""
_SHARE_OF_LENGTH = 0.75
"""A sum is written with a factor before brackets if that leaves at most this share of its characters."""
_MAX_SPLIT = 600
"""Longer sums are not searched for factors at all."""
_MOST_SHARED = 4
"""The most sums that a long sum is divided by, to write it as a product and a rest."""
_SMALL_DIVISOR = 100
"""A common divisor up to this size may be a coincidence."""
_BINDERS = "ijklpqrstuvw"


class ShownName(Struct, frozen=True, eq=False):
    """The name of a symbol, different for different symbols."""

    text: str


class Min:
    """The kind of a call that is the least of its operands; the parser reads it as binary calls."""


class Max:
    """The kind of a call that is the largest of its operands; the parser reads it as binary calls."""


class ShownCall(Struct, frozen=True, eq=False):
    """A generator or an extreme: its kind, and what its templates put in order."""

    kind: type[Composite | Min | Max]
    arguments: tuple[ShownFormula | ShownName | int, ...]


ShownOperand: TypeAlias = ShownName | ShownCall


class SignedTerm(Struct, frozen=True, eq=False):
    """An integer times powers."""

    number: int
    powers: tuple[tuple[ShownOperand, int], ...]


class Total(Struct, frozen=True, eq=False):
    """A sum of terms, high degrees first, over an integer."""

    terms: tuple[SignedTerm, ...]
    den: int

    def for_reading(self) -> tuple[SignedTerm, ...]:
        """The terms, starting with a positive one if there is one."""
        first = next((term for term in self.terms if term.number > 0), None)
        return self.terms if first is None else (first, *(term for term in self.terms if term is not first))


class Factors(Struct, frozen=True, eq=False):
    """An integer times powers, times powers of sums in brackets, over an integer.

    A sum is added to it, which stands before it or after it.
    """

    number: int
    powers: tuple[tuple[ShownOperand, int], ...]
    brackets: tuple[tuple[ShownFormula, int], ...]
    den: int
    before: ShownFormula | None = None
    after: ShownFormula | None = None


class ShownFormula(Struct, frozen=True, eq=False):
    """An expression as a sum and, if it factors, as a product."""

    total: Total
    product: Factors | None


def formula(p: Poly, names: Mapping[Symbol, str] | None = None) -> ShownFormula:
    """Return the tree of an expression."""
    return _Builder(display_names(p.free) if names is None else names).form(p)


def display_names(
    symbols: Iterable[Symbol], written: Callable[[str], str] = lambda name: name
) -> dict[Symbol, str]:
    """Return a unique display name for each symbol; ``written`` converts names to plain ones.

    No symbol gets the name of another symbol.
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


def _shown_sum(builder: _Builder, generator: Sum) -> ShownOperand:
    binder = _binder_name(set(builder.names.values()))
    inner = _Builder({**builder.names, generator.symbol: binder})
    body, lo, hi = inner.form(generator.body), builder.form(generator.lo), builder.form(generator.hi)
    return ShownCall(Sum, (body, ShownName(binder), lo, hi))


SHOWN: RuleTable[Rule[ShownOperand]] = RuleTable(
    "tree for display",
    {
        Symbol: lambda builder, symbol: ShownName(builder.names.get(symbol, symbol.name)),
        Exponential: lambda builder, power: ShownCall(Exponential, (power.base, builder.form(power.p))),
        Sum: _shown_sum,
    },
    otherwise=lambda builder, generator: ShownCall(
        type(generator), tuple(map(builder.form, generator.parts))
    ),
)


class _Builder(FormWalk[ShownFormula, ShownOperand]):
    """The display names, and trees built so far: large results repeat their parts at many depths."""

    rules = SHOWN
    names: Mapping[Symbol, str]
    trees: dict[Poly, ShownFormula] = field(default_factory=dict)
    shown: dict[Poly, Poly] = field(default_factory=dict)
    extremes: dict[Relu, tuple[Poly, ...]] = field(default_factory=dict)
    printer: _Printer = field(default_factory=lambda: _Printer(TEXT))

    def form(self, p: Poly) -> ShownFormula:
        """Return the tree of an expression."""
        return self._tree(self._displayed_form(p))

    def _displayed_form(self, p: Poly) -> Poly:
        """Return the form of an expression that is displayed, found once."""
        if not p.height:
            return p
        if p not in self.shown:
            self.shown[p] = self._replace_clips(_mirror_floors(p))
        return self.shown[p]

    def _tree(self, shown: Poly) -> ShownFormula:
        if shown not in self.trees:
            product = self._product(shown) if len(shown.terms) > 1 else None
            self.trees[shown] = ShownFormula(self.total(shown), product)
        return self.trees[shown]

    def _product(self, p: Poly) -> Factors | None:
        split = factored(p)
        if is_product(split):
            return self.factors(for_reading(split))
        found = product_and_rest(p)
        if found is not None:
            return self._with_rest(*found)
        return self._collected(p)

    def _collected(self, p: Poly) -> Factors | None:
        """Write a sum of calls as a product plus the rest, if that is much shorter.

        >>> from tolcost.algebra.piecewise import relu
        >>> n, w, h = length("n"), length("w"), length("h")
        >>> print(to_text(n * n - n * relu(n - w) + w * relu(n - w) + relu(n - w)))
        n**2 - Max(n - w, 0)*(n - w - 1)
        >>> print(to_text((relu(n - 2) + 1) * (relu(w - 2) + 1) + h * n * w))
        (Max(n - 2, 0) + 1)*(Max(w - 2, 0) + 1) + h*n*w
        """
        times = Counter(g for mono in p.terms for g in set(mono) if _is_call(g))
        if not times or len(p.terms) > _MAX_SPLIT:
            return None
        found = []
        several = sorted((g for g, many in times.items() if many > 1), key=lambda g: g.key)
        for generator in several[:_MAX_CLIPS] if len(p.terms) <= _MAX_TERMS else ():
            parts = powers_of(p, generator)
            if parts.keys() == {0, 1} and len(parts[1].terms) > 1:
                found.append(self._product_beside(generator, parts[1], parts[0]))
        shared = with_shared_sum(p)
        if shared is not None:
            found.append(self._with_rest(*shared))
        if not found:
            return None
        sizes = [len(self.printer.factors(one)) for one in found]
        longest = _SHARE_OF_LENGTH * len(self.printer.total(self.total(p)))
        return found[sizes.index(min(sizes))] if min(sizes) < longest else None

    def _with_rest(self, split: Factored, rest: Poly) -> Factors:
        """Return a product plus a rest."""
        return self.factors(for_reading(split), after=self._tree(rest) if rest.terms else None)

    def _product_beside(self, generator: Generator, factor: Poly, rest: Poly) -> Factors:
        """Return a generator times its factor, after the rest if all its terms are products of lengths."""
        split, rest_shown = _with_generator(generator, factor), self._tree(rest)
        read = for_reading(split)
        if rest.constant is not None and read.number < 0:
            return self.factors(read, before=rest_shown)
        if UNIT in rest.terms or any(_is_call(other) for mono in rest.terms for other in mono):
            return self.factors(read, after=rest_shown)
        return self.factors(_positive_where_active(generator, split), before=rest_shown)

    def _replace_clips(self, p: Poly) -> Poly:
        """Replace clips by minima or maxima where that cancels terms or minus signs.

        The maximum of many is a sum of nested clips: working inward from the outside, the last replacement
        covers all of them. In the minimum of many, the argument of a clip occurs beside it: work outward from
        the inside. So several orders are tried.
        """
        clips = sorted(clips_in(p), key=lambda g: g.key)
        if not clips or len(p.terms) > _MAX_TERMS or len(p.terms) * len(clips) > _MOST_TRIED:
            return p
        inwards = sorted(clips, key=lambda g: -g.p.height)[:_MAX_CLIPS]
        orders = (clips, inwards, inwards[::-1]) if len(clips) <= _MAX_CLIPS else (inwards, inwards[::-1])
        return min((self._replace_all(p, order) for order in dict.fromkeys(map(tuple, orders))), key=_effort)

    def _replace_all(self, p: Poly, clips: Iterable[Relu]) -> Poly:
        for clip in clips:
            if any(clip in mono for mono in p.terms):
                p = min((p, *(_replace(p, clip, instead) for instead in self._extremes(clip))), key=_effort)
        return p

    def _extremes(self, clip: Relu) -> tuple[Poly, ...]:
        """Return ways to write a clip: by a minimum, a maximum, or the opposite's clip, each as a symbol."""
        if clip not in self.extremes:
            inside = dict.fromkeys((clip.p, self._displayed_form(clip.p)))
            self.extremes[clip] = tuple(way for one in inside for way in self._ways_to_write(one))
        return self.extremes[clip]

    def _ways_to_write(self, inside: Poly) -> Iterator[Poly]:
        less = Poly({mono: -coef for mono, coef in inside.terms.items() if coef < 0})
        more = inside + less
        if less.terms and more.terms:
            sides = self.form(more), self.form(less)
            yield more - self._symbol_for(_merge_extremes(Min, *sides))
            yield self._symbol_for(_merge_extremes(Max, *sides)) - less
            yield inside + self._symbol_for(ShownCall(Relu, (self.form(-inside),)))

    def _symbol_for(self, call: ShownOperand) -> Poly:
        """Return a symbol that stands for a call in place of a clip; its name sorts after all others."""
        symbol = length(f"~{self.printer.operand(call)}", None, None)
        self.done[the_symbol(symbol)] = call
        return symbol

    def total(self, p: Poly) -> Total:
        """Return an expression as a sum."""
        terms = tuple(SignedTerm(p.terms[mono], self._powers(mono)) for mono in display_order(p))
        return Total(terms, p.den)

    def factors(
        self, read: Factored, before: ShownFormula | None = None, after: ShownFormula | None = None
    ) -> Factors:
        """Return a product, and what is added to it."""
        brackets: list[tuple[ShownFormula, int]] = []
        plain: list[tuple[ShownOperand, int]] = []
        for factor, times in read.factors:
            shown = self.form(factor)
            match shown.total:
                # a single operand, such as a mirrored floor, needs no brackets
                case Total(terms=(SignedTerm(number=1, powers=powers),), den=1):
                    plain += ((operand, power * times) for operand, power in powers)
                case _:
                    brackets.append((shown, times))
        powers = (*self._powers(read.monomial), *plain)
        return Factors(read.number, powers, tuple(brackets), read.den, before, after)

    def _powers(self, mono: Monomial) -> tuple[tuple[ShownOperand, int], ...]:
        return tuple(self._power(g, len(list(same))) for g, same in groupby(mono))

    def _power(self, generator: Generator, times: int) -> tuple[ShownOperand, int]:
        """Return a generator and its power; a power of a power multiplies the exponent instead."""
        if isinstance(generator, Exponential) and times > 1:
            return ShownCall(Exponential, (generator.base, self.form(generator.p * times))), 1
        return self.generator(generator), times


def _is_call(generator: Generator) -> bool:
    """Whether a generator is printed as a call; a symbol that stands for one starts with ``~``."""
    return not isinstance(generator, Symbol) or generator.name.startswith("~")


def _with_generator(generator: Generator, factor: Poly) -> Factored:
    """Factor a generator times its factor; a clip times its own argument is its square."""
    split = factored(multiply(atom(generator), factor))
    if isinstance(generator, Relu):
        own = dict(split.factors).get(generator.p)
        if own is not None:
            others = tuple((other, many) for other, many in split.factors if other != generator.p)
            powers = (*split.monomial, *[generator] * own)
            return replace(split, monomial=tuple(sorted(powers, key=lambda g: g.key)), factors=others)
    return split


def _positive_where_active(generator: Generator, split: Factored) -> Factored:
    """Negate a factor that falls as the argument of a clip rises: it is negative beside the clip."""
    if not isinstance(generator, Relu):
        return for_reading(split)
    number, rising = split.number, generator.p.terms
    factors = []
    for factor, times in split.factors:
        falls = sum(coef * rising.get(mono, 0) for mono, coef in factor.terms.items() if mono) < 0
        factors.append((-factor if falls else factor, times))
        number = -number if falls and times % 2 else number
    return replace(split, number=number, factors=tuple(factors))


def _mirror_floors(p: Poly) -> Poly:
    """Mirror a floor where that cancels terms or minus signs.

    A floor is mirrored only if it occurs in one term, or beside its mirror image. A difference such as
    ``n - floor(n/3)`` stays as it is.

    >>> n = length("n")
    >>> [_mirror_floors(p) for p in (2 * n // 3, n - n // 3, 2 * n // 3 - n, n // 2 + (n + 1) // 2)]
    [floor(2*n/3), n - floor(n/3), -floor((n + 2)/3), n]
    """
    floors = {g for mono in p.terms for g in mono if isinstance(g, Floor)}
    for floor in sorted((g for g in floors if not _is_share(g)), key=lambda g: g.key):
        instead = mirrored_floor(floor)
        if instead is None:
            continue
        beside = any(not floors.isdisjoint(mono) for mono in instead.terms)
        if beside or sum(floor in mono for mono in p.terms) == 1:
            p = min(p, _replace(p, floor, instead), key=lambda form: _effort(form)[:2])
    return p


def _is_share(floor: Floor) -> bool:
    """Whether a floor is a plain share, such as a third of something rounded down."""
    return UNIT not in floor.p.terms and set(floor.p.terms.values()) == {1}


def _replace(p: Poly, generator: Generator, instead: Poly) -> Poly:
    """Replace a generator of an expression."""
    parts = powers_of(p, generator)
    kept = parts.pop(0, ZERO)
    return total_of([kept, *(multiply(part, instead**times) for times, part in parts.items())])


def _merge_extremes(kind: type[Min | Max], left: ShownFormula, right: ShownFormula) -> ShownCall:
    """Build the minimum or maximum of two, merging operands of that kind; the longest comes first."""
    several = sorted((_extreme_operands(kind, left), _extreme_operands(kind, right)), key=len, reverse=True)
    return ShownCall(kind, tuple(dict.fromkeys(chain(*several))))


def _extreme_operands(
    kind: type[Min | Max], shown: ShownFormula
) -> tuple[ShownFormula | ShownName | int, ...]:
    """Return the operands of an expression that is a minimum or maximum, or the expression itself."""
    match shown.total:
        case Total(terms=(SignedTerm(number=1, powers=((ShownCall() as inner, 1),)),), den=1):
            return inner.arguments if inner.kind is kind else (shown,)
        case _:
            return (shown,)


def _binder_name(used: set[str]) -> str:
    """Return a short unused name for a summation variable."""
    for letter in _BINDERS:
        if letter not in used:
            return letter
    turn = 1
    while f"i{turn}" in used:
        turn += 1
    return f"i{turn}"


class Factored(Struct, frozen=True):
    """``number / den`` times a monomial times primitive factors with their powers."""

    number: int
    den: int
    monomial: Monomial
    factors: tuple[tuple[Poly, int], ...]


@lru_cache(maxsize=4096)
def factored(p: Poly) -> Factored:
    """Factor as far as trials succeed; the zero polynomial has number 0.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> factored(n * n - n).factors
    ((n - 1, 1),)
    """
    if not p.terms:
        return Factored(0, 1, UNIT, ())
    number = gcd(*p.terms.values())
    shared = shared_monomial(p)
    if leading_coefficient(p) < 0:
        number = -number
    rest = Poly({without(mono, shared) or UNIT: coef // number for mono, coef in p.terms.items()})
    found: dict[Poly, int] = {}
    while rest.constant is None and len(rest.terms) <= _MAX_SPLIT:
        step = _linear_factor(rest) if len(rest.terms) <= _MAX_TERMS else None
        step = step or _free_factor(rest)
        if step is None:
            break
        factor, rest = step
        found[factor] = found.get(factor, 0) + 1
    if rest != 1:
        found[rest] = found.get(rest, 0) + 1
    return Factored(number, p.den, shared, tuple(sorted(found.items(), key=lambda fp: _reading_key(fp[0]))))


def is_product(split: Factored) -> bool:
    """Whether there is more than one factor, not counting the number."""
    return bool(split.monomial) or sum(times for _, times in split.factors) > 1


def for_reading(split: Factored) -> Factored:
    """Choose the signs of a product's factors for reading.

    Factors with more negative than positive terms are negated if that leaves no minus sign in front, and a
    minus sign in front moves into a factor that has terms of both signs.

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
    """Write a sum as a product plus one or two terms: ``9*(n - 1)*(m - 1) + 2*n*m``.

    The terms of a product of differences have equal coefficients up to sign. So the few terms with other
    coefficients are removed, or given equal coefficients, and the rest is factored.
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


@lru_cache(maxsize=4096)
def with_shared_sum(p: Poly) -> tuple[Factored, Poly] | None:
    """Return the way to write a sum as a product plus a rest with the fewest terms, if there is one.

    A factor of such a product shows as the coefficient of several of its terms in one symbol.

    >>> from tolcost.algebra.poly import length
    >>> h, w, r = length("h"), length("w"), length("r")
    >>> split, rest = with_shared_sum((h**4 + h**3 + 1) * (w * r + w + 2) + 3 * h * r)
    >>> [factor for factor, _ in split.factors], rest
    ([h**4 + h**3 + 1, r*w + w + 2], 3*h*r)
    """
    shared: Counter[Poly] = Counter()
    for symbol in p.free:
        rows: dict[Monomial, dict[Monomial, int]] = {}
        for mono, coef in p.terms.items():
            part = tuple(g for g in mono if symbol in g.free)
            rows.setdefault(part, {})[tuple(g for g in mono if symbol not in g.free)] = coef
        shared.update(_primitive(row) for row in rows.values() if len(row) > 1)
    often = [(many * len(factor.terms), factor) for factor, many in shared.items() if many > 1]
    often.sort(key=lambda found: (-found[0], _reading_key(found[1])))
    best, fewest = None, len(p.terms)
    for _, factor in often[:_MOST_SHARED]:
        quotient, rest = divide(p, factor)
        terms = len(quotient.terms) + len(factor.terms) + len(rest.terms)
        if len(quotient.terms) > 1 and terms <= fewest:
            best, fewest = (factor, quotient, rest), terms
        if 2 * fewest < len(p.terms):
            break
    if best is None:
        return None
    factor, quotient, rest = best
    split = factored(quotient)
    powers = Counter(dict(split.factors))
    powers.update(dict(factored(factor).factors))
    factors = tuple(sorted(powers.items(), key=lambda fp: _reading_key(fp[0])))
    return replace(split, factors=factors), rest


def _primitive(row: dict[Monomial, int]) -> Poly:
    """Return a sum without its common factors of one term, and with a positive leading coefficient."""
    p = Poly(row)
    number, monomial = gcd(*row.values()), shared_monomial(p)
    if leading_coefficient(p) < 0:
        number = -number
    return Poly({without(mono, monomial) or UNIT: coef // number for mono, coef in row.items()})


def display_order(p: Poly) -> list[Monomial]:
    """Sort terms for reading: high degree first, then by name."""
    return sorted(p.terms, key=lambda mono: (-len(mono), tuple(g.key for g in mono)))


def _reading_key(p: Poly) -> list[tuple[int, tuple[object, ...], int]]:
    return [(-len(mono), tuple(g.key for g in mono), p.terms[mono]) for mono in display_order(p)]


def _effort(p: Poly) -> tuple[int, int, int]:
    """Measure the effort of reading: the number of terms, of minus signs, and the sum of coefficients."""
    numbers = [coef for mono, coef in p.terms.items() if mono]
    return len(p.terms), sum(number < 0 for number in numbers), sum(map(abs, numbers))


def _free_factor(p: Poly) -> tuple[Poly, Poly] | None:
    """Return a factor that lacks some symbol, with the quotient, as for a window's width and height.

    >>> from tolcost.algebra.poly import length
    >>> h, w, r = length("h"), length("w"), length("r")
    >>> _free_factor(9 * h * w - 6 * h - 6 * w + 4), _free_factor(1 - 2 * h - 2 * w + 4 * h * w)
    ((3*w - 2, 3*h - 2), (2*w - 1, 2*h - 1))
    >>> _free_factor((h * r - 1) * (w * r - 1) * (h - w)) is None, _free_factor((h * r - 2) * (w * r - 2))
    (False, (r*w - 2, h*r - 2))
    """
    for candidate in _free_factor_candidates(p):
        quotient = exact_quotient(p, candidate)
        if quotient is not None:
            return candidate, quotient
    return None


def _free_factor_candidates(p: Poly) -> Iterator[Poly]:
    """Yield candidates for a factor free of some symbol: a divisor of all coefficients of its powers.

    So the factors of the shortest coefficient are tried; a coefficient of one term has no factor of several
    terms.
    """
    for symbol in sorted(p.free, key=lambda s: s.key):
        rows: dict[Monomial, dict[Monomial, int]] = {}
        for mono, coef in p.terms.items():
            part = tuple(g for g in mono if symbol in g.free)
            rows.setdefault(part, {})[tuple(g for g in mono if symbol not in g.free)] = coef
        shortest = min(rows.values(), key=len)
        if len(rows) > 1 < len(shortest) and _may_have_factor(list(rows.values())):
            yield from (factor for factor, _ in factored(Poly(shortest)).factors)


def _may_have_factor(rows: list[dict[Monomial, int]]) -> bool:
    """Whether all coefficients have a common divisor at points where lengths are large and distinct.

    A common factor would be such a divisor.

    This takes much less time than looking for a factor, and most forms have none.
    """
    generators = sorted({g for row in rows for mono in row for g in mono}, key=lambda g: g.key)
    for first in (1009, 2003):
        there = {g: first * 3**k + k for k, g in enumerate(generators)}
        values = (sum(coef * prod(map(there.__getitem__, m)) for m, coef in row.items()) for row in rows)
        if gcd(*values) <= _SMALL_DIVISOR:
            return False
    return True


def _linear_factor(p: Poly) -> tuple[Poly, Poly] | None:
    """Return a linear factor with a positive leading coefficient, and the quotient."""
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
    """Guess linear factors from the roots of p at a point and at its neighbours."""
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
    """Return the roots of p among small integers and integers near the point's values."""
    row: dict[int, int] = {}
    for mono, coef in p.terms.items():
        for generator in mono:
            coef *= point.get(generator, 1)
        times = mono.count(main)
        row[times] = row.get(times, 0) + coef
    near = {v * s for v in (0, *point.values(), sum(point.values())) for s in (-2, -1, 1, 2)}
    tries = sorted({v + d for v in near for d in range(-6, 7)}, key=lambda v: (abs(v), v))
    return [v for v in tries if not sum(coef * v**k for k, coef in row.items())]


# === Printers.


BrowserTree: TypeAlias = "bool | int | str | list[BrowserTree] | dict[str, BrowserTree] | None"
"""JSON that a script in a page evaluates; see ``to_browser``."""

RESERVED = frozenset(("floor", "ceiling", "Min", "Max", "Sum", "Piecewise", "and", "or", "not"))
MAX_DIGITS = 4_000
"""The longest number that is printed: Python refuses to print more than 4,300 digits."""
_MAX_NAME = 60
"""The most characters of a name that are printed in LaTeX."""
_LARGEST_EXACT = 2**53
"""The largest integer up to which a script in a browser computes exactly with its own numbers."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TIGHT = r"[A-Za-z0-9_]+(\*\*[0-9]+)?|[A-Za-z]+\([^()]*\)"
_LETTER = re.compile(r"([A-Za-z])(?:_([0-9]+))?")
_WORD = re.compile(r"([A-Za-z][A-Za-z]*)(?:_([0-9]+))?")
_MINUS = "<mo>&#x2212;</mo>"
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: "\\" + c for c in "{}_%$#&"},
}


def to_text(p: Poly | int, names: Mapping[Symbol, str] | None = None) -> str:
    """Print the text form: the shorter of sum and product.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> to_text(n * (n + 1) // 2), to_text(2 * n + 4), to_text((n + 1) // 2 - m)
    ('n*(n + 1)/2', '2*n + 4', 'floor((n + 1)/2) - m')
    """
    return _Printer(TEXT).formula(formula(as_poly(p), names))


define_text(to_text)


def is_one_term(p: Poly) -> bool:
    """Whether the text needs no brackets as a factor."""
    total = formula(p).total
    return len(total.terms) < 2 and total.den == 1


def to_words(p: Poly) -> str:
    """Print the text form for a message in quotes; a single symbol is printed as its bare name.

    >>> from tolcost.algebra.poly import length
    >>> to_text(length("x[0]")), to_words(length("x[0]")), to_words(length("x[0]") + 1)
    ('`x[0]`', 'x[0]', '`x[0]` + 1')
    """
    symbol = only_symbol(p)
    return to_text(p) if symbol is None else symbol.name


def to_latex(p: Poly | int) -> str:
    r"""Print LaTeX for math mode; it cannot be parsed back.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> print(to_latex((n * n + n) // 2))
    \frac{n \left(n + 1\right)}{2}
    """
    return _Printer(LATEX).formula(formula(as_poly(p)))


def to_mathml(p: Poly | int, names: Mapping[Symbol, str] | None = None) -> str:
    """Print the content of a ``math`` element; it cannot be parsed back.

    >>> from tolcost.algebra.poly import length
    >>> to_mathml(length("n") + 1)
    '<mi>n</mi><mo>+</mo><mn>1</mn>'
    """
    return _Printer(MATHML).formula(formula(as_poly(p), names))


def to_browser(p: Poly | int) -> BrowserTree:
    """Return a small JSON tree that a few lines of script evaluate exactly.

    number            3, or "3" where it is large
    symbol            {"v": "n"}
    sum, product      ["+", a, b, ...]    ["*", a, b, ...]
    exact quotient    ["/", a, 2]
    floor of a / b    ["f", a, b]
    larger of a and 0 ["m", a]
    logarithm         ["l", a]            to base 2, rounded up
    power             ["p", 2, a]         of a number
    sum over i        ["s", body, "i", low, high]

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> to_browser(2 * n), to_browser((n + 1) // 2)
    (['*', 2, {'v': 'n'}], ['f', ['+', {'v': 'n'}, 1], 2])
    """
    return _browser(formula(as_poly(p)))


def cond_text(cond: Cond, names: Mapping[Symbol, str] | None = None) -> str:
    """Print a condition for reading, with its constant on the right.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> cond_text(ge(length("n") - 5))
    'n >= 5'
    """
    match cond:
        case Truth(value=value):
            return "true" if value else "false"
        case Ge() | Eq() | Not(part=Eq()):
            return " ".join(comparison_sides(cond, names))
        case Not(part=part):
            return f"not ({cond_text(part, names)})"
        case And(parts=parts):
            return " and ".join(_bracket_junction(part, names) for part in parts)
        case Or(parts=parts):
            return " or ".join(_bracket_junction(part, names) for part in parts)


def _bracket_junction(cond: Cond, names: Mapping[Symbol, str] | None) -> str:
    text = cond_text(cond, names)
    return f"({text})" if isinstance(cond, (And, Or)) else text


ComparisonSign: TypeAlias = Literal[">=", "<=", "==", "!="]


def comparison_sides(
    cond: Cond, names: Mapping[Symbol, str] | None = None
) -> tuple[str, ComparisonSign, str]:
    """Return both sides of a comparison and its sign.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> comparison_sides(ge(3 - length("n")))
    ('n', '<=', '3')
    """
    match cond:
        case Ge(p=p):
            return _sides(p, ">=", "<=", names)
        case Eq(p=p):
            return _sides(p, "==", "==", names)
        case Not(part=Eq(p=p)):
            return _sides(p, "!=", "!=", names)
        case _:
            raise InternalError(f"{cond_text(cond, names)} is no comparison")


def _sides(
    p: Poly, sign: ComparisonSign, reverse: ComparisonSign, names: Mapping[Symbol, str] | None
) -> tuple[str, ComparisonSign, str]:
    """Keep positive terms on the left and move the others, so that no minus sign is printed."""
    given = display_names(p.free) if names is None else names
    value = scale(p, p.den)
    offset = value.terms.get(UNIT, 0)
    plus = Poly({mono: coef for mono, coef in value.terms.items() if mono and coef > 0})
    minus = Poly({mono: -coef for mono, coef in value.terms.items() if mono and coef < 0})
    if not plus.terms:
        return to_text(minus, given), reverse, _digits(offset)
    return to_text(plus, given), sign, to_text(minus - offset, given)


def quoted(name: str) -> str:
    """Quote a name if necessary, so that it is parsed as itself."""
    if _PLAIN.match(name) and name not in RESERVED:
        return name
    return "`" + "".join(_escaped(c) for c in name) + "`"


def _escaped(character: str) -> str:
    if character in "\\`":
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{{{ord(character):x}}}"


def _digits(value: int) -> str:
    if value.bit_length() > 3 * MAX_DIGITS:
        raise AlgebraBudget(f"a number has more than {MAX_DIGITS} digits")
    return str(value)


class _Piece(str):
    """Text for a template, which may ask for brackets around what is not ``tight``, or not a ``name``."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Put the text in brackets if the template asks for it."""
        return self if not spec or _UNBRACKETED[spec].fullmatch(self) else f"({self})"


_UNBRACKETED = {"dividend": re.compile(rf"[^ ]*|{_TIGHT}"), "tight": re.compile(_TIGHT), "name": _PLAIN}


class Notation(Struct, frozen=True):
    """A way to write formulas: signs, templates, and for every kind of generator the template of a call."""

    calls: Mapping[type, str]
    name: Callable[[str], str]
    number: str = "{}"
    plus: str = " + "
    minus: str = " - "
    first_minus: str = "-"
    times: str = "*"
    dot: str = "*"
    """The sign between a number and a power of a number, which would otherwise read as one number."""
    comma: str = ", "
    bracket: str = "({})"
    power: str = "{}**{}"
    fraction: str = "{}/{}"
    is_line: bool = False
    """Whether everything stands in one line: several terms over a number need brackets."""
    has_bare_sums: bool = False
    """Whether a sum over a range needs brackets before it is raised to a power."""


class _Printer:
    """Prints trees in a notation, each call once."""

    def __init__(self, notation: Notation) -> None:
        self._notation = notation
        self._done: dict[ShownOperand, str] = {}

    def formula(self, shown: ShownFormula, text: str = "") -> str:
        """Print the product if there is one, else the sum, after a text; in a line, the shorter of both."""
        if shown.product is None:
            return self.total(shown.total, text)
        found = self.factors(shown.product, text)
        flat = self.total(shown.total, text) if self._notation.is_line else ""
        return flat if flat and len(flat) <= len(found) else found

    def total(self, total: Total, text: str = "") -> str:
        """Print a sum, or append its terms to a text."""
        way = self._notation
        if text and total.den != 1:
            return self._after(text, self.total(total))
        if text and not total.terms:
            return text
        for term in total.for_reading():
            if term.number < 0:
                text += way.minus if text else way.first_minus
            else:
                text += way.plus if text else ""
            text += way.times.join(self._parts(abs(term.number), term.powers) or [self._digits(1)])
        return self._over(text or self._digits(0), total.den, len(total.terms))

    def _after(self, text: str, more: str) -> str:
        """Append a whole sum or product, which may start with a minus sign, to a text."""
        way = self._notation
        if more.startswith(way.first_minus):
            return text + way.minus + more[len(way.first_minus) :]
        return text + way.plus + more

    def factors(self, split: Factors, before: str = "") -> str:
        """Print a product, and what is added to it, after a text."""
        way = self._notation
        parts = self._parts(abs(split.number), split.powers)
        parts += [
            self._raised(way.bracket.format(self.formula(inside)), times) for inside, times in split.brackets
        ]
        text = self._over(way.times.join(parts or [self._digits(1)]), split.den, 1)
        text = way.first_minus + text if split.number < 0 else text
        if split.before is not None:
            before = self.formula(split.before, before)
        text = self._after(before, text) if before else text
        return text if split.after is None else self.formula(split.after, text)

    def _parts(self, number: int, powers: tuple[tuple[ShownOperand, int], ...]) -> list[str]:
        way, parts = self._notation, list[str]()
        for base, times in powers:
            text = self.operand(base)
            if times > 1 and way.has_bare_sums and isinstance(base, ShownCall) and base.kind is Sum:
                text = way.bracket.format(text)
            parts.append(self._raised(text, times))
        if number == 1:
            return parts
        first = powers[0][0] if powers else None
        if isinstance(first, ShownCall) and first.kind is Exponential:
            return [f"{self._digits(number)}{way.dot}{parts[0]}", *parts[1:]]
        return [self._digits(number), *parts]

    def _digits(self, value: int) -> str:
        return self._notation.number.format(_digits(value))

    def _raised(self, text: str, times: int) -> str:
        return text if times == 1 else self._notation.power.format(text, times)

    def _over(self, text: str, den: int, terms: int) -> str:
        """Print a text of ``terms`` terms over a number; the minus sign of a single term stays before it."""
        way = self._notation
        if den == 1:
            return text
        if way.is_line:
            return way.fraction.format(f"({text})" if terms > 1 else text, self._digits(den))
        minus = "-" if text.startswith("-") and " " not in text else ""
        return minus + way.fraction.format(text[len(minus) :], self._digits(den))

    def operand(self, operand: ShownOperand) -> str:
        """Print a name, or a call by the template of its kind."""
        if operand not in self._done:
            self._done[operand] = self._operand(operand)
        return self._done[operand]

    def _operand(self, operand: ShownOperand) -> str:
        if isinstance(operand, ShownName):
            return self._notation.name(operand.text)
        pieces = [_Piece(self._argument(argument)) for argument in operand.arguments]
        if operand.kind in (Min, Max):
            pieces = [_Piece(self._notation.comma.join(pieces))]
        return self._notation.calls[operand.kind].format(*pieces)

    def _argument(self, argument: ShownFormula | ShownName | int) -> str:
        if isinstance(argument, ShownFormula):
            return self.formula(argument)
        return self._digits(argument) if isinstance(argument, int) else self.operand(argument)


# Each notation is a table of templates. In LaTeX a brace that is printed is doubled.


_TEXT: RuleTable[str] = RuleTable(
    "text",
    {
        Floor: "floor({0:dividend}/{1:tight})",
        Relu: "Max({0}, 0)",
        Log2: "ceiling(log({0}, 2))",
        Exponential: "{0}**{1:name}",
        Sum: "Sum({0}, ({1}, {2}, {3}))",
        Min: "Min({0})",
        Max: "Max({0})",
    },
)
TEXT: Notation = Notation(_TEXT, quoted, is_line=True)
"""Sympy's notation, which ``parse`` reads back."""


def name_latex(name: str) -> str:
    r"""Set a letter, optionally with a numeric index, as a variable; set any other name upright and escaped.

    Different names look different: ``n_2`` is not ``n2``, and a name that is cut off ends with a checksum.

    >>> print(name_latex("n"), name_latex("n_2"), name_latex("n2"), name_latex("batch_size"))
    n n_{2} \mathrm{n2} \mathrm{batch\_size}
    >>> print(name_latex("größe"))  # mathematics has no such letters
    \mbox{größe}
    """
    simple = _LETTER.fullmatch(name)
    if simple:
        return simple[1] if simple[2] is None else f"{simple[1]}_{{{simple[2]}}}"
    rest = f"...{crc32(name.encode('utf-8', 'replace')):x}" if len(name) > _MAX_NAME else ""
    safe = "".join(_LATEX_SPECIAL.get(c, c) for c in visible(name[:_MAX_NAME] + rest))
    return rf"\mathrm{{{safe}}}" if safe.isascii() else rf"\mbox{{{safe}}}"


_LATEX: RuleTable[str] = RuleTable(
    "LaTeX",
    {
        Floor: r"\left\lfloor\frac{{{0}}}{{{1}}}\right\rfloor",
        Relu: r"\max\left({0}, 0\right)",
        Log2: r"\left\lceil\log_2\left({0}\right)\right\rceil",
        Exponential: "{0}^{{{1}}}",
        Sum: r"\sum_{{{1}={2}}}^{{{3}}} \left({0}\right)",
        Min: r"\min\left({0}\right)",
        Max: r"\max\left({0}\right)",
    },
)
LATEX = Notation(
    _LATEX,
    name_latex,
    times=" ",
    dot=r" \cdot ",
    bracket=r"\left({}\right)",
    power="{}^{{{}}}",
    fraction=r"\frac{{{}}}{{{}}}",
    has_bare_sums=True,
)


def _mathml_name(name: str) -> str:
    simple = _WORD.fullmatch(name)
    if simple is None or simple[2] is None:
        from html import escape  # loads the table of all HTML entities, which only MathML needs

        return f"<mi>{escape(visible(name))}</mi>"
    return f"<msub><mi>{simple[1]}</mi><mn>{simple[2]}</mn></msub>"


_FRACTION = "<mfrac><mrow>{0}</mrow><mrow>{1}</mrow></mfrac>"
_BRACKETS = "<mrow><mo>(</mo>{0}<mo>)</mo></mrow>"
_LOGARITHM = "<msub><mi>log</mi><mn>2</mn></msub><mo>(</mo>{0}<mo>)</mo>"
_START = "<mrow>{1}<mo>=</mo>{2}</mrow>"
_MATHML: RuleTable[str] = RuleTable(
    "MathML",
    {
        Floor: f"<mrow><mo>&#x230A;</mo>{_FRACTION}<mo>&#x230B;</mo></mrow>",
        Relu: "<mrow><mi>max</mi><mo>(</mo>{0}<mo>,</mo><mn>0</mn><mo>)</mo></mrow>",
        Log2: f"<mrow><mo>&#x2308;</mo>{_LOGARITHM}<mo>&#x2309;</mo></mrow>",
        Exponential: "<msup>{0}<mrow>{1}</mrow></msup>",
        Sum: f"<mrow><munderover><mo>&#x2211;</mo>{_START}<mrow>{{3}}</mrow></munderover>{_BRACKETS}</mrow>",
        Min: "<mrow><mi>min</mi><mo>(</mo>{0}<mo>)</mo></mrow>",
        Max: "<mrow><mi>max</mi><mo>(</mo>{0}<mo>)</mo></mrow>",
    },
)
MATHML = Notation(
    _MATHML,
    _mathml_name,
    number="<mn>{}</mn>",
    plus="<mo>+</mo>",
    minus=_MINUS,
    first_minus=_MINUS,
    times="<mo>&#x2062;</mo>",
    dot="<mo>&#x22C5;</mo>",
    comma="<mo>,</mo>",
    bracket=_BRACKETS,
    power="<msup>{}<mn>{}</mn></msup>",
    fraction=_FRACTION,
)


def mathml_fraction(top: str, bottom: str) -> str:
    """Return a fraction of two pieces of MathML."""
    return _FRACTION.format(top, bottom)


# A browser computes, so its notation is no text: a list of a sign and what it is applied to.


BROWSER: RuleTable[str] = RuleTable("browser", {Floor: "f", Relu: "m", Log2: "l", Exponential: "p", Sum: "s"})
"""The sign of each kind of generator."""


def _browser(shown: ShownFormula) -> BrowserTree:
    terms = [_browser_term(term) for term in shown.total.terms]
    total: BrowserTree = _browser_joined("+", terms) if terms else 0
    return total if shown.total.den == 1 else ["/", total, _browser_number(shown.total.den)]


def _browser_joined(sign: str, parts: list[BrowserTree]) -> BrowserTree:
    return parts[0] if len(parts) == 1 else [sign, *parts]


def _browser_term(term: SignedTerm) -> BrowserTree:
    factors: list[BrowserTree] = [_browser_number(term.number)] if term.number != 1 or not term.powers else []
    for base, times in term.powers:
        factors += [_browser_operand(base)] * times
    return _browser_joined("*", factors)


def _browser_number(value: int) -> BrowserTree:
    return value if abs(value) <= _LARGEST_EXACT else str(value)


def _browser_greater(a: BrowserTree, b: BrowserTree) -> BrowserTree:
    return ["+", b, ["m", ["+", a, ["*", -1, b]]]]


def _browser_lesser(a: BrowserTree, b: BrowserTree) -> BrowserTree:
    return ["+", b, ["*", -1, ["m", ["+", b, ["*", -1, a]]]]]


def _browser_operand(operand: ShownOperand) -> BrowserTree:
    if isinstance(operand, ShownName):
        return {"v": operand.text}
    arguments = list(map(_browser_argument, operand.arguments))
    if operand.kind in (Min, Max):
        return reduce(_browser_greater if operand.kind is Max else _browser_lesser, arguments)
    return [BROWSER[operand.kind], *arguments]


def _browser_argument(argument: ShownFormula | ShownName | int) -> BrowserTree:
    if isinstance(argument, ShownFormula):
        return _browser(argument)
    return argument if isinstance(argument, int) else argument.text
