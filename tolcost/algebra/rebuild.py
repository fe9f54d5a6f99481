"""Substitution: replace symbols by expressions, simultaneously and without capture, and normalise the result.

A symbol keeps its own bounds: they were stated for the values it was made for. So do not replace ``n`` by an
expression in ``n`` where a coordinate bounded by ``n`` remains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd

from msgspec import Struct

from tolcost.algebra.floors import (
    ceil_log2,
    divided,
    leading_coefficient,
    quick_floordiv,
    quick_relu,
    range_of,
)
from tolcost.algebra.poly import (
    ONE,
    ZERO,
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
    Terms,
    as_poly,
    atom,
    const,
    coordinate,
    multiply,
    poly,
    product_of,
    scale,
    spend,
    symbol_of,
    the_symbol,
    total_of,
)
from tolcost.algebra.powers import powers
from tolcost.algebra.walk import FormWalk, Rule, RuleTable


class Rules(Struct, frozen=True):
    """How to rebuild floors, clips and sums after a substitution inside them.

    ``sum`` rebuilds a sum that received numbers: only numbers can give it a closed form.
    """

    floor: Callable[[Poly, Poly], Poly]
    clip: Callable[[Poly], Poly]
    sum: Callable[[Poly, Symbol, Poly, Poly], Poly]


def rebuild(p: Poly, values: Mapping[Symbol, Poly | int], rules: Rules) -> Poly:
    """Substitute polynomials for symbols, simultaneously, and rebuild the rest by the given rules."""
    free = p.free
    if free.isdisjoint(values):
        return p
    given = {symbol: as_poly(values[symbol]) for symbol in free if symbol in values}
    if p.den == 1 and len(p.terms) == 1:
        ((mono, coef),) = p.terms.items()
        if coef == 1 and len(mono) == 1 and mono[0] in given:  # most indices are a single symbol
            return given[mono[0]]
    spend(len(p.terms) * (1 + p.height))
    return _Substitution(given, rules).form(p)


def rebuilder(values: Mapping[Symbol, Poly | int], rules: Rules) -> Callable[[Poly], Poly]:
    """Return a function that substitutes in many forms and rebuilds each shared generator once."""
    given = {symbol: as_poly(value) for symbol, value in values.items()}
    walk = _Substitution(given, rules)
    return lambda p: p if p.free.isdisjoint(given) else walk.form(p)


REBUILT: RuleTable[Rule[Poly]] = RuleTable(
    "rebuilding",
    {
        Floor: lambda rules, _, p, q: rules.floor(p, q),
        Relu: lambda rules, _, p: rules.clip(p),
        Log2: lambda rules, _, p: ceil_log2(p),
        Exponential: lambda rules, power, p: powers(power.base, p),
    },
)
"""The normal form of a generator with new parts. Those of a sum depend on its binder."""


def _rebuild_generator(walk: _Substitution, generator: Composite) -> Poly:
    return REBUILT[type(generator)](walk.make, generator, *map(walk.form, generator.parts))


def _rebuild_sum(walk: _Substitution, generator: Sum) -> Poly:
    """Substitute below the binder, too."""
    lo, hi = walk.form(generator.lo), walk.form(generator.hi)
    relevant = [walk.given[symbol] for symbol in generator.free if symbol in walk.given]
    # sums nest deeper then, so the binders inside must be renumbered
    if any(has_sum(value) for value in relevant):
        binder = the_symbol(coordinate("_", hi, lo))
    else:
        binder = symbol_of(generator.symbol.name, generator.symbol.serial, "coord", lo, hi)
    inside = {**walk.given, generator.symbol: atom(binder)}
    body = _Substitution(inside, walk.make).form(generator.body)
    numbers = any(value.constant is not None for value in relevant)
    return (walk.make.sum if numbers else opaque_sum)(body, binder, lo, hi)


SUBSTITUTION: RuleTable[Rule[Poly]] = RuleTable(
    "substitution",
    {Symbol: lambda walk, symbol: walk.given[symbol], Sum: _rebuild_sum},
    otherwise=_rebuild_generator,
)


class _Substitution(FormWalk[Poly, Poly | None]):
    """Values for symbols, and how to rebuild the rest; ``None`` for a generator that stays."""

    rules = SUBSTITUTION
    given: dict[Symbol, Poly]
    make: Rules

    def form(self, p: Poly) -> Poly:
        """Substitute in a form."""
        return map_generators(p, self.generator)

    def generator(self, generator: Generator) -> Poly | None:
        """Rebuild a generator in which a symbol is replaced."""
        if generator.free.isdisjoint(self.given):
            return None
        found = self.done.get(generator)
        if found is None:
            found = self.done[generator] = SUBSTITUTION[type(generator)](self, generator)
        return found


def generators_in(p: Poly) -> set[Generator]:
    """Return the generators at any depth, including sums but nothing inside them."""
    found: set[Generator] = set()
    waiting = [p]
    while waiting:
        for generator in {g for mono in waiting.pop().terms for g in mono} - found:
            found.add(generator)
            waiting += () if isinstance(generator, Sum) else generator.parts
    return found


def size_of(p: Poly) -> int:
    """Count the factors of a form, at any depth; a generator that occurs several times is entered once.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> size_of(n * n + 1), size_of(n // m), size_of((n // m) * (n * n + 1))
    (3, 3, 6)
    """
    found, seen, waiting = 0, set[Generator](), [p]
    while waiting:
        for mono in waiting.pop().terms:
            found += len(mono) or 1
            new = set(mono) - seen
            seen |= new
            waiting += [part for generator in new for part in generator.parts]
    return found


def has_sum(p: Poly) -> bool:
    """Whether a sum occurs, at any depth."""
    return bool(p.height) and any(isinstance(g, Sum) for g in generators_in(p))


def map_generators(p: Poly, change: Callable[[Generator], Poly | None]) -> Poly:
    """Replace generators at the outer level; where ``change`` returns ``None``, the generator stays."""
    kept: Terms = {}
    parts: list[Poly] = []
    shared: dict[Monomial, Poly] = {}
    for mono, coef in p.terms.items():
        still: list[Generator] = []
        gone: list[Generator] = []
        values: list[Poly] = []
        for generator in mono:
            value = change(generator)
            if value is None:
                still.append(generator)
            else:
                gone.append(generator)
                values.append(value)
        if not gone:
            kept[mono] = coef
            continue
        factors = tuple(gone)
        if factors not in shared:
            shared[factors] = product_of(values)
        parts.append(_times_monomial(shared[factors], tuple(still), coef, p.den))
    if kept and parts:
        parts.insert(0, poly(kept, p.den))
    return p if not parts else parts[0] if len(parts) == 1 else total_of(parts)


def _times_monomial(p: Poly, mono: Monomial, coef: int, den: int) -> Poly:
    if not mono:
        return scale(p, coef, den)
    common = gcd(coef, den)
    return multiply(p, poly({mono: coef // common}, den // common))


def replace_generator(p: Poly, old: Generator, new: Poly, rules: Rules) -> Poly:
    """Replace one generator by a polynomial, at any depth except inside sums."""
    return _Replacement(old, rules, done={old: new}).form(p)


def _rebuild_changed(walk: _Replacement, generator: Composite) -> Poly | None:
    parts = generator.parts
    changed = [walk.form(part) for part in parts]
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return None
    return REBUILT[type(generator)](walk.make, generator, *changed)


REPLACEMENT: RuleTable[Rule[Poly | None]] = RuleTable(
    "replacement", {Symbol: lambda *_: None, Sum: lambda *_: None}, otherwise=_rebuild_changed
)


class _Replacement(FormWalk[Poly, Poly | None]):
    """One generator to replace, and how to rebuild the rest; ``None`` for a generator that stays."""

    rules = REPLACEMENT
    old: Generator
    make: Rules

    def form(self, p: Poly) -> Poly:
        """Replace in a form."""
        return map_generators(p, self.generator) if p.height >= self.old.height else p


_WRITTEN_OUT = 16
"""A sum over at most this many numbers is written out: its terms usually combine."""


def opaque_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Leave a sum unevaluated, with a binder that depends only on the nesting depth of sums.

    Factors common to all terms and free of the binder move before the sum, and so does a minus sign. A sum
    over a few numbers is written out.

    >>> from tolcost.algebra.poly import length
    >>> n, i = length("n"), coordinate("i", 3)
    >>> opaque_sum(quick_relu(2 * n * i - 5 * n), the_symbol(i), ONE, const(3))
    n
    """
    if not body.terms:
        return ZERO
    first, last = lo.constant, hi.constant
    if first is not None and last is not None and last - first < _WRITTEN_OUT:
        safe = _make_divisors_positive(body, x)
        return total_of([rebuild(safe, {x: const(number)}, QUICK) for number in range(first, last + 1)])
    known: dict[Generator, int] = {}
    height = 1 + max(_sum_depth(part, known) for part in (body, lo, hi))
    binder = symbol_of("_", -height, "coord", lo, hi)
    inside = _make_divisors_positive(body if binder is x else rebuild(body, {x: atom(binder)}, QUICK), binder)
    if not inside.terms:  # the binder's bounds have decided a clip
        return ZERO
    content = gcd(*inside.terms.values()) * (-1 if leading_coefficient(inside) < 0 else 1)
    front, primitive = ONE, Poly({mono: coef // content for mono, coef in inside.terms.items()})
    while still := [g for g in _shared_generators(primitive) if binder in primitive.free - g.free]:
        front, primitive = multiply(front, atom(still[0])), divided(primitive, still[0])
    return scale(multiply(front, atom(Sum.make(primitive, binder, lo, hi))), content, inside.den)


def _shared_generators(p: Poly) -> list[Generator]:
    """Return the generators that occur in all terms."""
    return sorted(frozenset.intersection(*map(frozenset, p.terms)), key=lambda g: g.key)


def _make_divisors_positive(body: Poly, x: Symbol) -> Poly:
    """Make the divisors of a summand positive, also where a gate excludes part of the range."""
    for generator in {g for mono in body.terms for g in mono if isinstance(g, Floor) and x in g.q.free}:
        if (range_of(generator.q)[0] or 0) < 1:
            safe = quick_floordiv(generator.p, quick_relu(generator.q - 1) + 1)
            body = replace_generator(body, generator, safe, QUICK)
    return body


def _sum_depth(p: Poly, known: dict[Generator, int]) -> int:
    """Return the nesting depth of sums; a generator that occurs several times is visited once."""
    depth = 0
    for generator in (g for mono in p.terms for g in mono if g.height):
        if generator not in known:
            inside = max(_sum_depth(part, known) for part in generator.parts)
            known[generator] = inside + isinstance(generator, Sum)
        depth = max(depth, known[generator])
    return depth


QUICK = Rules(quick_floordiv, quick_relu, opaque_sum)
"""Rules that use numeric ranges alone: for use inside proofs, which must not start others."""
