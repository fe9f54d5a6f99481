"""Counts before they are summed: terms that remember their coordinates and conditions.

A term is a polynomial for one counted thing, to be summed over ranges where guards hold.
It stays unsummed while a coordinate from outside occurs in it, because a sum over connected
coordinates is easier taken at once than one coordinate after the other.  A coordinate that
does not occur only multiplies, and a term without outside coordinates is summed at once,
so what is kept stays small.

The length of a filter outside of loops is one number, and stays a symbol.  Inside a loop it is
another number at every step; no closed form has a name for each, so its upper bound takes
its place, and the result is an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from tolcost.algebra import (
    ONE,
    ZERO,
    Cond,
    Not,
    Or,
    Poly,
    Symbol,
    is_nonnegative,
    negate,
    substitute,
    symbols_of_cond,
    total,
    total_of,
)
from tolcost.atoms.kit import Schedules, blocks
from tolcost.atoms.nodes import Block, Filter
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span

CountedKind = Literal["data", "index", "atom", "mac"]
SumRange: TypeAlias = tuple[Symbol, Poly, Poly]


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted: an elementary function in a space at a place in the source, or an atom."""

    kind: CountedKind
    name: str
    space: str = ""
    span: Span = field(default=NOWHERE, repr=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once: an item is looked up at every level of a nest."""
        object.__setattr__(self, "_hash", hash((self.kind, self.name, self.space, self.span)))

    def __hash__(self) -> int:
        """Give the hash of the fields."""
        return self._hash


@dataclass(frozen=True, slots=True)
class SumDomain:
    """The coordinates that a term is to be summed over, outermost first, and where it counts.

    ``factor`` multiplies the sum.  It is kept apart because a long expression is better
    multiplied once, at the end, than by one length at every level of a nest.
    """

    ranges: tuple[SumRange, ...] = ()
    guards: tuple[Cond, ...] = ()
    factor: Poly = ONE
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once, like an item."""
        object.__setattr__(self, "_hash", hash((self.ranges, self.guards, self.factor)))

    def __hash__(self) -> int:
        """Give the hash of the fields."""
        return self._hash


EVERYWHERE = SumDomain()
Unsummed: TypeAlias = dict[tuple[Counted, SumDomain], Poly]


class TakenSums:
    """Sums and products already taken in this analysis: many terms share one."""

    def __init__(self) -> None:
        """Start with none."""
        self._totals: dict[tuple[Poly, tuple[SumRange, ...], tuple[Cond, ...]], Poly] = {}
        self._products: dict[tuple[Poly, Poly], Poly] = {}

    def total(self, poly: Poly, domain: SumDomain) -> Poly:
        """Take the sum of a term without its factor; coordinates from outside stay in the result."""
        if not domain.ranges and not domain.guards:
            return poly
        times = poly.constant
        if times is not None and times not in (0, 1):
            return self.total(ONE, domain) * times  # so that counts which differ by a factor share a sum
        key = (poly, domain.ranges, domain.guards)
        if key not in self._totals:
            self._totals[key] = total(poly, domain.ranges, domain.guards)
        return self._totals[key]

    def product(self, left: Poly, right: Poly) -> Poly:
        """Multiply."""
        if left == ONE:
            return right
        found = self._products.get((left, right))
        if found is None:
            found = self._products[left, right] = left * right
        return found

    def closed(self, poly: Poly, domain: SumDomain) -> Poly:
        """Give the value of a whole term."""
        return self.product(domain.factor, self.total(poly, domain))


def accumulate(terms: Unsummed, more: Mapping[tuple[Counted, SumDomain], Poly], times: int = 1) -> None:
    """Add terms, each ``times`` times, to ``terms`` itself."""
    if not terms and times == 1:
        terms.update(more)
        return
    for key, poly in more.items():
        scaled = poly if times == 1 else poly * times
        found = terms.get(key)
        terms[key] = scaled if found is None else found + scaled


def free_in(poly: Poly, domain: SumDomain) -> set[Symbol]:
    """Give the symbols that occur free in a term, lengths included."""
    return _free_in(poly.free | domain.factor.free, domain.ranges, domain.guards)


def _free_in(free: frozenset[Symbol], ranges: tuple[SumRange, ...], guards: tuple[Cond, ...]) -> set[Symbol]:
    found = set(free)
    for guard in guards:
        found |= symbols_of_cond(guard)
    for _, low, high in ranges:
        found |= low.free | high.free
    return found.difference([symbol for symbol, _, _ in ranges])


def quantify(terms: Unsummed, coords: Iterable[Symbol], extents: Iterable[Poly], sums: TakenSums) -> Unsummed:
    """Sum terms over coordinates that run from 1 to their extents."""
    around = tuple(zip(coords, extents, strict=True))
    result: Unsummed = {}
    bound: dict[tuple[SumDomain, Poly], tuple[SumDomain, Poly]] = {}  # most terms differ in the item alone
    for (item, domain), poly in terms.items():
        found = bound.get((domain, poly))
        if found is None:
            found = bound[domain, poly] = _bind(poly, domain, around, sums)
        outer, value = found
        known = result.get((item, outer))
        result[item, outer] = value if known is None else known + value
    return result


def _bind(
    poly: Poly, domain: SumDomain, around: tuple[tuple[Symbol, Poly], ...], sums: TakenSums
) -> tuple[SumDomain, Poly]:
    free = free_in(poly, domain)
    ranges, factor = domain.ranges, domain.factor
    for symbol, extent in reversed(around):
        if symbol not in free:
            factor = sums.product(factor, extent)
            continue
        if symbol in factor.free:
            poly, factor = sums.product(factor, poly), ONE
        ranges = ((symbol, ONE, extent), *ranges)
        free |= extent.free
    if not ranges and not domain.guards:
        return SumDomain(factor=factor), poly
    bound = SumDomain(ranges, domain.guards, factor)
    if any(symbol.kind == "coord" for symbol in _free_in(poly.free, ranges, domain.guards)):
        return bound, poly
    return SumDomain(factor=factor), sums.total(poly, bound)


def choose(condition: Cond, then: Unsummed, other: Unsummed) -> Unsummed:
    """Count ``then`` where a condition holds and ``other`` elsewhere.

    This is ``other + [condition] * (then - other)``: what both sides share cancels exactly,
    and no negated condition has to be summed.
    """
    if isinstance(condition, (Or, Not)):
        return choose(negate(condition), other, then)
    result = dict(other)
    difference = dict(then)
    accumulate(difference, other, -1)
    for (item, domain), poly in difference.items():
        if poly != ZERO:
            guarded = add_guard(domain, condition)
            accumulate(result, {(item, guarded): poly})
    return result


def choose_apart(condition: Cond, then: Unsummed, other: Unsummed) -> Unsummed:
    """Count like ``choose`` with a guard on each side, so that no term is negative."""
    result: Unsummed = {}
    for guard, side in ((condition, then), (negate(condition), other)):
        for (item, domain), poly in side.items():
            guarded = add_guard(domain, guard)
            accumulate(result, {(item, guarded): poly})
    return result


def add_guard(domain: SumDomain, condition: Cond) -> SumDomain:
    """Let a term count only where a condition holds."""
    guards = domain.guards if condition in domain.guards else (condition, *domain.guards)
    return SumDomain(domain.ranges, guards, domain.factor)


def collapse(terms: Unsummed, sums: TakenSums, key: Callable[[Counted], Counted]) -> dict[Counted, Poly]:
    """Sum every term, and add up those that ``key`` makes the same."""
    parts: dict[Counted, list[Poly]] = {}
    for (item, domain), poly in terms.items():
        parts.setdefault(key(item), []).append(sums.closed(poly, domain))
    return {item: total_of(listed) for item, listed in parts.items()}


def filter_lengths(found: Schedules) -> dict[Block, tuple[tuple[Symbol, Poly], ...]]:
    """Give the lengths that filters define inside each block, with upper bounds.

    Those of inner blocks are among those of the blocks around them.
    """
    if Filter not in {type(step.node) for _, plan in found.blocks for step in plan.steps}:
        return dict.fromkeys([block for block, _ in found.blocks], ())
    result: dict[Block, tuple[tuple[Symbol, Poly], ...]] = {}
    for block, plan in found.blocks:
        lengths: dict[Symbol, Poly] = {}
        for node in plan.nodes:
            if isinstance(node, Filter):
                lengths[node.length] = _upper_bound(node)
            else:
                for inner in blocks(node):
                    lengths.update(result[inner])
        result[block] = tuple(lengths.items())
    return result


def _upper_bound(node: Filter) -> Poly:
    """A filter keeps at most what there is."""
    return node.length.hi if node.length.hi is not None else node.tol.type[0].shape[0]


def mentions_data(terms: Unsummed) -> bool:
    """Whether some term mentions a length that data decides."""
    return any(
        symbol.kind == "data" for (_, domain), poly in terms.items() for symbol in free_in(poly, domain)
    )


def bound_above(terms: Unsummed, symbol: Symbol, most: Poly, span: Span) -> tuple[Unsummed, bool]:
    """Replace a length by its upper bound; also tell whether anything changed."""
    if not any(symbol in free_in(poly, domain) for (_, domain), poly in terms.items()):
        return terms, False
    result: Unsummed = {}
    for (item, domain), poly in terms.items():
        bounded = _largest(poly, symbol, most, span)
        accumulate(result, {(item, _widest(domain, symbol, most)): bounded})
    return result, True


def _largest(poly: Poly, symbol: Symbol, most: Poly, span: Span) -> Poly:
    """Give an expression without the symbol that is never less than the given one."""
    if symbol not in poly.free:
        return poly
    at_most = substitute(poly, {symbol: most})
    at_least = substitute(poly, {symbol: 0 if symbol.lo is None else symbol.lo})
    for candidate in (at_most, at_most + at_least):
        if is_nonnegative(candidate - poly):
            return candidate
    raise Rejected(
        Diagnostic(
            "T0602",
            f"the cost inside this loop depends on data through {symbol.name} and has no known upper bound",
            span,
            hint="filter before the loop, so that the length is one number",
        )
    )


def _widest(domain: SumDomain, symbol: Symbol, most: Poly) -> SumDomain:
    """Let ranges run to the upper bound, and drop the conditions that the symbol decides."""
    ranges = tuple((s, low, substitute(high, {symbol: most})) for s, low, high in domain.ranges)
    guards = tuple(guard for guard in domain.guards if not _mentions(guard, symbol))
    return SumDomain(ranges, guards, substitute(domain.factor, {symbol: most}))


def _mentions(guard: Cond, symbol: Symbol) -> bool:
    return symbol in symbols_of_cond(guard)
