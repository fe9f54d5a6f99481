"""Count how often a program applies each elementary function and each atom, in exact closed form.

Counts are kept as guarded terms over coordinates and summed in closed form.  The work is linear in the size
of the program: each block is counted once and its result is multiplied by its trip count, never unrolled.

Copying a ToL reads every member and joins them again; the number of atoms depends only on shapes.
``weights`` turns counts into cost, and ``span`` finds the longest chain of dependent functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    LARGEST_LENGTH,
    ONE,
    ZERO,
    AlgebraBudget,
    Cond,
    Floor,
    Ge,
    Not,
    Or,
    Poly,
    Symbol,
    atom,
    clips_in,
    const,
    exclude_each_other,
    fewer_clips,
    floordiv,
    generators_in,
    is_nonnegative,
    maximum,
    negate,
    product_of,
    relu,
    substitute,
    symbols_of_cond,
    total,
    total_of,
)
from tolcost.algebra.piecewise import PROVED
from tolcost.algebra.poly import limit_effort
from tolcost.algebra.rebuild import Rules, rebuild
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Schedule,
    Schedules,
    blocks,
    defined_length,
    schedule,
    schedules,
    static_condition,
)
from tolcost.atoms.nodes import (
    ATOMS,
    Block,
    Node,
    Program,
    Type,
)
from tolcost.atoms.totals import Totals, in_totals, totals, upper_limit
from tolcost.certainty import FROM_ABOVE, Certainty
from tolcost.cost.macs import accumulated_products
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, refuse

# === Terms: unsummed counts that remember their coordinates and conditions.
#
# A term is a polynomial for one counted item, to be summed over ranges, wherever its guards hold.
# It stays unsummed while it mentions a coordinate of an enclosing block, because a sum over several
# dependent coordinates is easier to take at once than one coordinate at a time.  A coordinate that
# does not occur only multiplies, and a term without outer coordinates is summed at once, so the
# stored terms stay small.
#
# Outside loops, a length that data decides is one number, and remains a symbol.  Inside a loop it is
# a different number at every step, and no closed form can name them all.  Where a count follows it
# linearly, the sum over all steps takes its place (``atoms.totals``): such a term is gathered, and
# loops and choices around it no longer change it.  Elsewhere its upper bound takes its place, and the
# result is an upper bound.


CountedKind = Literal["data", "index", "atom", "mac"]
SumRange: TypeAlias = tuple[Symbol, Poly, Poly]


class Counted(Struct, frozen=True, cache_hash=True):
    """The key of a count: an elementary function in a space at a place in the source, or an atom."""

    kind: CountedKind
    name: str
    space: str = ""
    span: Span = NOWHERE


class SumDomain(Struct, frozen=True, cache_hash=True):
    """The ranges that a term is summed over, outermost first, and the guards under which it counts.

    ``factor`` multiplies the sum.  It is stored separately because multiplying a long expression once, at the
    end, is cheaper than multiplying it by one length at every level of a nest.  A ``gathered`` term holds the
    sum over all visits already.
    """

    ranges: tuple[SumRange, ...] = ()
    guards: tuple[Cond, ...] = ()
    factor: Poly = ONE
    gathered: bool = False


EVERYWHERE = SumDomain()
GATHERED = SumDomain(gathered=True)
_FEW_GUARDS = 2
"""Guards up to which a choice is counted as a difference, if its bound has floors or steps other than 1.

Above it, the other side gets the negated bound as a guard, which avoids doubling the terms along a chain of
choices.
"""
MOST_EFFORT = 400_000
"""Effort limit for all sums of one analysis together, about four seconds; ``span`` has the same limit."""
_kind = attrgetter("kind")
Unsummed: TypeAlias = dict[tuple[Counted, SumDomain], Poly]


class TakenSums:
    """Memo of the sums and products taken in this analysis; many terms share them."""

    def __init__(self) -> None:
        """Start with an empty memo."""
        self._totals: dict[tuple[Poly, tuple[SumRange, ...], tuple[Cond, ...]], Poly] = {}
        self._products: dict[tuple[Poly, Poly], Poly] = {}

    def total(self, poly: Poly, domain: SumDomain) -> Poly:
        """Sum a term without its factor; outer coordinates remain in the result as symbols."""
        if not domain.ranges and not domain.guards:
            return poly
        times = poly.constant
        if times is not None and times not in (0, 1):
            return self.total(ONE, domain) * times  # so counts that differ by a factor share one sum
        key = (poly, domain.ranges, domain.guards)
        found = self._totals.get(key)
        if found is None:
            found = self._totals[key] = total(poly, domain.ranges, domain.guards)
        return found

    def product(self, left: Poly, right: Poly) -> Poly:
        """Multiply two forms, and simplify the clips of the product."""
        if left is ONE:  # the usual case
            return right
        found = self._products.get((left, right))
        if found is None:
            made = left * right
            clipped = clips_in(left) or clips_in(right)
            found = self._products[left, right] = fewer_clips(made) if clipped else made
        return found

    def closed(self, poly: Poly, domain: SumDomain) -> Poly:
        """Return the value of a whole term, its factor included."""
        return self.product(domain.factor, self.total(poly, domain))


def accumulate(terms: Unsummed, more: Mapping[tuple[Counted, SumDomain], Poly], times: int = 1) -> None:
    """Add terms, each multiplied by ``times``, to ``terms`` in place."""
    if not terms and times == 1:
        terms.update(more)
        return
    for key, poly in more.items():
        scaled = poly if times == 1 else poly * times
        found = terms.get(key)
        terms[key] = scaled if found is None else found + scaled


def free_in(poly: Poly, domain: SumDomain) -> set[Symbol]:
    """Return the free symbols of a term, lengths included."""
    return _free_in(poly.free | domain.factor.free, domain.ranges, domain.guards)


def _free_in(free: frozenset[Symbol], ranges: tuple[SumRange, ...], guards: tuple[Cond, ...]) -> set[Symbol]:
    found = set(free)
    for guard in guards:
        found |= symbols_of_cond(guard)
    for _, low, high in ranges:
        found |= low.free | high.free
    return found.difference([symbol for symbol, _, _ in ranges]) if ranges else found


def quantify(terms: Unsummed, coords: Iterable[Symbol], extents: Iterable[Poly], sums: TakenSums) -> Unsummed:
    """Sum terms over coordinates that run from 1 to their extents."""
    around = tuple(zip(coords, extents, strict=True))
    result: Unsummed = {}
    bound: dict[tuple[int, int], tuple[SumDomain, Poly]] = {}  # most differ in their item only
    for (item, domain), poly in terms.items():
        found = bound.get((id(domain), id(poly)))
        if found is None:
            found = bound[id(domain), id(poly)] = _bind(poly, domain, around, sums)
        outer, value = found
        size, key = len(result), (item, outer)
        known = result.setdefault(key, value)
        if len(result) == size:  # the key was present already
            result[key] = known + value
    return result


def _bind(
    poly: Poly, domain: SumDomain, around: tuple[tuple[Symbol, Poly], ...], sums: TakenSums
) -> tuple[SumDomain, Poly]:
    if domain.gathered:
        return domain, poly
    free = free_in(poly, domain)
    ranges, factor = domain.ranges, domain.factor
    for symbol, extent in reversed(around):
        if symbol not in free:
            factor = sums.product(factor, extent)
            free |= extent.free  # an extent may depend on coordinates before it
            continue
        if symbol in factor.free:
            poly, factor = sums.product(factor, poly), ONE
        ranges = ((symbol, ONE, extent), *ranges)
        free |= extent.free
    if not ranges and not domain.guards:
        return SumDomain(factor=factor), poly
    bound = SumDomain(ranges, domain.guards, factor)
    if "coord" in map(_kind, _free_in(poly.free, ranges, domain.guards)):
        return bound, poly
    return SumDomain(factor=factor), sums.total(poly, bound)


def choose(condition: Cond, then: Unsummed, other: Unsummed) -> Unsummed:
    """Count ``then`` where a condition holds and ``other`` elsewhere.

    The result is ``other + [condition] * (then - other)``: terms that both sides share cancel exactly, and no
    negated condition has to be summed.  A term of ``other`` alone that already has guards is instead given
    the negated condition as another guard; taking differences would double the terms at every link of a chain
    of choices.
    """
    if isinstance(condition, (Or, Not)):
        return choose(negate(condition), other, then)
    then, other, gathered = _without_gathered(then, other)
    if gathered:
        return sum_terms(choose(condition, then, other), gathered)
    opposite = negate(condition) if isinstance(condition, Ge) else None
    result: Unsummed = {}
    difference = dict(then)
    for (item, domain), poly in other.items():
        alone = (item, domain) not in then
        if alone and any(exclude_each_other(condition, guard) for guard in domain.guards):
            accumulate(result, {(item, domain): poly})
        elif alone and isinstance(opposite, Ge) and _is_chained(domain, opposite):
            accumulate(result, {(item, add_guard(domain, opposite)): poly})
        else:
            accumulate(result, {(item, domain): poly})
            accumulate(difference, {(item, domain): poly}, -1)
    for (item, domain), poly in difference.items():
        if poly != ZERO:
            guarded = add_guard(domain, condition)
            accumulate(result, {(item, guarded): poly})
    return result


def _is_chained(domain: SumDomain, bound: Ge) -> bool:
    """Whether to add a bound to the guards of a term, rather than subtract the part that the bound excludes.

    Forms of differences whose bounds contain floors still cancel while there are few of them, so those terms
    need more guards before the bound is added.
    """
    slopes = (coef for mono, coef in bound.p.terms.items() if "coord" in map(_kind, mono))
    is_plain = not bound.p.height and all(abs(coef) == 1 for coef in slopes)
    return len(domain.guards) > (0 if is_plain else _FEW_GUARDS)


def choose_disjoint(condition: Cond, then: Unsummed, other: Unsummed) -> Unsummed:
    """Count like ``choose``, but guard both sides, so that no term is negative."""
    then, other, result = _without_gathered(then, other)
    for guard, side in ((condition, then), (negate(condition), other)):
        for (item, domain), poly in side.items():
            guarded = add_guard(domain, guard)
            accumulate(result, {(item, guarded): poly})
    return result


def _without_gathered(then: Unsummed, other: Unsummed) -> tuple[Unsummed, Unsummed, Unsummed]:
    """Return two sides of a choice without gathered terms, which count their own visits, and the latter."""
    sides = (then, other)
    if not any(domain.gathered for side in sides for _, domain in side):  # the usual case
        return then, other, {}
    gathered: Unsummed = {}
    for side in sides:
        accumulate(gathered, {key: poly for key, poly in side.items() if key[1].gathered})
    left, right = ({key: poly for key, poly in side.items() if not key[1].gathered} for side in sides)
    return left, right, gathered


def gather(terms: Unsummed, symbol: Symbol, sums: Totals, varying: Set[Symbol]) -> Unsummed:
    """Replace a length by its totals over all visits in the counts of one visit that allow it.

    A count allows it if, in all of its terms, the other factors are the same at every visit; ``varying`` are
    the lengths that are not.
    """
    parts: dict[tuple[Counted, SumDomain], tuple[Poly, Poly]] = {}
    mixed: set[Counted] = set()
    for (item, domain), poly in terms.items():
        if domain.gathered or symbol not in free_in(poly, domain):
            continue
        is_plain = not domain.ranges and not domain.guards
        found = in_totals(domain.factor * poly, symbol, sums, varying) if is_plain else None
        if found is None:
            mixed.add(item)
        else:
            parts[item, domain] = found
    result: Unsummed = {}
    for key, poly in terms.items():
        item = key[0]
        if item in mixed or key not in parts:
            accumulate(result, {key: poly})
            continue
        gathered, rest = parts[key]
        accumulate(result, {(item, GATHERED): gathered})
        accumulate(result, {(item, EVERYWHERE): rest} if rest != ZERO else {})
    return result


def add_guard(domain: SumDomain, condition: Cond) -> SumDomain:
    """Restrict a term to the points at which a condition holds."""
    guards = domain.guards if condition in domain.guards else (condition, *domain.guards)
    return SumDomain(domain.ranges, guards, domain.factor)


def collapse(terms: Unsummed, sums: TakenSums, span: Span | None = None) -> dict[Counted, Poly]:
    """Sum every term and add the sums of equal items.

    With ``span``, elementary functions are counted as if they all stood at that place.
    """
    parts: dict[Counted, list[Poly]] = {}
    for (item, domain), poly in terms.items():
        key = item if span is None else _at(item, span)
        parts.setdefault(key, []).append(sums.closed(poly, domain))
    return {item: total_of(listed) for item, listed in parts.items()}


def total_on_empty(p: Poly, granted: tuple[Cond, ...]) -> Poly:
    """Return a value to quotients whose divisor may be 0.

    Such a quotient occurs only in counts of an empty range, so any value is correct; its divisor becomes at
    least 1.  The form is rebuilt from the inside out, so that a divisor that contains quotients sees their
    new forms.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m", 0)
    >>> total_on_empty(m * (n // m), ())
    m*floor(n/Max(m, 1))
    """

    def floor(top: Poly, bottom: Poly) -> Poly:
        return floordiv(top, maximum(bottom, 1, granted) if _may_vanish(bottom, granted) else bottom)

    if not any(isinstance(g, Floor) and _may_vanish(g.q, granted) for g in generators_in(p)):
        return p
    return rebuild(p, {symbol: atom(symbol) for symbol in p.free}, Rules(floor, PROVED.clip, PROVED.sum))


def _may_vanish(divisor: Poly, granted: tuple[Cond, ...]) -> bool:
    """Whether a divisor is nonnegative but not known to be positive."""
    return divisor.constant is None and is_nonnegative(divisor) and not is_nonnegative(divisor - 1, granted)


def filter_lengths(found: Schedules) -> dict[Block, tuple[tuple[Symbol, Poly], ...]]:
    """Return the lengths that filters define inside each block, with their upper bounds.

    The lengths of a block include those of the blocks inside it.
    """
    if not any(defined_length(node) for _, plan in found.blocks for node in plan.nodes):
        return dict.fromkeys([block for block, _ in found.blocks], ())
    result: dict[Block, tuple[tuple[Symbol, Poly], ...]] = {}
    for block, plan in found.blocks:
        lengths: dict[Symbol, Poly] = {}
        for node in plan.nodes:
            symbol = defined_length(node)
            if symbol is not None:
                lengths[symbol] = upper_limit(node)
            for inner in blocks(node):
                lengths.update(result[inner])
        result[block] = tuple(lengths.items())
    return result


def mentions_data(terms: Unsummed) -> bool:
    """Whether a term mentions a data-dependent length."""
    return any("data" in map(_kind, free_in(poly, domain)) for (_, domain), poly in terms.items())


def bound_above(terms: Unsummed, symbol: Symbol, most: Poly, span: Span) -> tuple[Unsummed, bool]:
    """Replace a length by its upper bound; the second result is whether any term mentioned it."""
    if not any(symbol in free_in(poly, domain) for (_, domain), poly in terms.items()):
        return terms, False
    if most == LARGEST_LENGTH:
        message = f"the cost inside this loop depends on data through {symbol.name}, which has no limit"
        refuse("T0602", message, span, hint="limit the turns inside: `trips(tol[n], ...)`")
    result: Unsummed = {}
    for (item, domain), poly in terms.items():
        bounded = _bound_polynomial(poly, symbol, most, span)
        accumulate(result, {(item, _bound_domain(domain, symbol, most)): bounded})
    return result, True


def _bound_polynomial(poly: Poly, symbol: Symbol, most: Poly, span: Span) -> Poly:
    """Return an expression without the symbol that is at least the given one everywhere."""
    if symbol not in poly.free:
        return poly
    at_most = substitute(poly, {symbol: most})
    at_least = substitute(poly, {symbol: 0 if symbol.lo is None else symbol.lo})
    for candidate in (at_most, at_most + at_least):
        if is_nonnegative(candidate - poly):
            return candidate
    refuse(
        "T0602",
        f"the cost inside this loop depends on data through {symbol.name} and has no known upper bound",
        span,
        hint="filter before the loop, so that the length is one number",
    )


def _bound_domain(domain: SumDomain, symbol: Symbol, most: Poly) -> SumDomain:
    """Extend ranges to the upper bound of the symbol, and drop guards that mention it."""
    ranges = tuple((s, low, substitute(high, {symbol: most})) for s, low, high in domain.ranges)
    guards = tuple(guard for guard in domain.guards if symbol not in symbols_of_cond(guard))
    return SumDomain(ranges, guards, substitute(domain.factor, {symbol: most}), domain.gathered)


# === Counts.


def copy_atoms(node: Node) -> Unsummed:
    """Count the members, joins and embeds that copying nodes cause as a whole."""
    rule = _COPIES.get(type(node))
    return {} if rule is None else rule(node)


def _atoms(**counts: Poly) -> Unsummed:
    return {(Counted("atom", name), EVERYWHERE): count for name, count in counts.items() if count != ZERO}


def sum_terms(left: Unsummed, right: Unsummed) -> Unsummed:
    """Return the sum of two sets of terms."""
    terms = dict(left)
    accumulate(terms, right)
    return terms


def _suffix_products(shape: tuple[Poly, ...]) -> Poly:
    """Sum of the products of the last 1, 2, ... lengths, except the product of all of them."""
    total, product = ZERO, ONE
    for extent in reversed(shape[1:]):
        product = product * extent
        total = total + product
    return total


def _reassembled(shape: tuple[Poly, ...], read: bool = True) -> Unsummed:
    """Count splitting a ToL into its members and assembling them under a shape."""
    if not shape:
        return {}
    volume, joins, embeds = _laid(shape)
    return _atoms(member=volume if read else ZERO, join=joins, embed=embeds)


@lru_cache(maxsize=1 << 10)  # a program's values share few shapes
def _laid(shape: tuple[Poly, ...]) -> tuple[Poly, Poly, Poly]:
    """Count the members of a shape, and the joins and embeds that lay them out."""
    volume = fewer_clips(product_of(shape))
    return volume, relu(volume - 1), _suffix_products(shape)


def _reassembled_list(type_: Type) -> Unsummed:
    """Count splitting a value, a list first into its components, and assembling it again."""
    terms = _repack_list(type_, const(len(type_))) if any(part.shape for part in type_) else {}
    for part in type_:
        accumulate(terms, _reassembled(part.shape))
    return terms


def _repack_list(type_: Type, taken: Poly) -> Unsummed:
    """Count splitting a list into components, ``taken`` in all, and packing them into a list again."""
    return _atoms(member=taken, join=const(len(type_) - 1)) if len(type_) > 1 else {}


def assembly_atoms(node: ir.Build) -> Unsummed:
    """Count assembling the values of a body: numerics directly, ToLs from their members."""
    rank = len(node.extents)
    inner = [part.shape[rank:] for part in node.type]
    if not any(inner):
        return _reassembled(node.extents, read=False)
    terms = _repack_list(node.type, product_of(node.extents) * sum(map(bool, inner)))
    for shape in inner:
        accumulate(terms, _reassembled((*node.extents, *shape)))
    return terms


def _reshaped(node: ir.Reshape) -> Unsummed:
    """Count a reshape: making a ToL of a numeric, which is no member, takes none, and the reverse one."""
    kinds = zip(node.value.type, node.type, strict=True)
    taken = sum(bool(old.shape) - bool(new.shape) for old, new in kinds)
    return sum_terms(_reassembled_list(node.type), _atoms(member=const(taken)))


def _put(node: ir.Put) -> Unsummed:
    """Count a replacement: every member is read, with those of the new value in place of the old ones."""
    terms = _reassembled_list(node.type)
    accumulate(terms, _atoms(member=const(sum(new_members(node)))))
    return terms


def new_members(node: ir.Put) -> Iterator[int]:
    """Yield for each component how many more or fewer members a replacement reads.

    A numeric is not a member of anything; a component of a list is one.
    """
    for part in node.type:
        if part.shape:
            yield (len(node.type) > 1) - (len(part.shape) == len(node.at))


CountKey: TypeAlias = tuple[str, str]
"""An elementary function and the space it computes in."""

_COPIES: Mapping[type, Callable[[Any], Unsummed]] = {
    ir.Pack: lambda node: _atoms(join=const(len(node.items) - 1)),
    ir.Reshape: _reshaped,
    ir.Convert: lambda node: _reassembled_list(node.type),
    ir.Put: _put,
    ir.Filter: lambda node: sum_terms(_reassembled_list(node.type), _atoms(norm=ONE)),
}
"""The atoms of the kinds of nodes that stand for several."""

_APPLIED = (ir.Lambda, ir.Where)
_WORKING = {*_APPLIED, ir.Build, ir.Fold, ir.Select}
"""The node kinds that apply functions, themselves or in their blocks."""
_MAC = Counted("mac", "mac")
_LAMBDA, _MEMBER, _JOIN, _EMBED = (Counted("atom", name) for name in ("lambda", "member", "join", "embed"))
_ATOM = {ir.Member: (_MEMBER,), ir.Component: (_MEMBER,), ir.Join: (_JOIN,), ir.Embed: (_EMBED,)}
"""What the kinds of nodes count that are one atom each."""


class Term(Struct, frozen=True, eq=False):
    """The number of times that one place in the source applies a function; index functions are not EOPs."""

    function: str
    space: str
    count: Poly
    kind: Literal["data", "index"]
    span: Span = NOWHERE


def applied(histogram: Mapping[CountKey, Poly], atoms: Mapping[str, Poly], bounded: bool) -> Poly:
    """Return how many elementary functions are applied to data.

    At a data-dependent choice, each function is bounded by the side that applies it more often.  The sum of
    those bounds may exceed what either side applies, so the total is bounded by the side that applies more
    functions altogether: the lambda atoms count that.
    """
    return atoms["lambda"] if bounded else total_of(histogram.values())


Change: TypeAlias = Callable[[Poly], Poly]
_K = TypeVar("_K")


def map_values(forms: Mapping[_K, Poly], change: Change) -> Mapping[_K, Poly]:
    """Return closed forms by key, each changed."""
    return MappingProxyType({key: change(form) for key, form in forms.items()})


class Counts(Struct, frozen=True, eq=False):
    """All counts of a program, in closed form."""

    histogram: Mapping[CountKey, Poly]
    index: Mapping[CountKey, Poly]
    atoms: Mapping[str, Poly]
    macs: Poly
    terms: tuple[Term, ...]
    status: Certainty
    bounded: tuple[Span, ...] = ()
    """Places of data-dependent computation at which only the upper bound is counted."""

    @property
    def eops(self) -> Poly:
        """The number of elementary functions applied to data."""
        return applied(self.histogram, self.atoms, self.status in FROM_ABOVE)

    def map_forms(self, change: Change, places: bool = False) -> Counts:
        """Return these counts with every form changed; places in the source are only kept if asked for."""
        return Counts(
            histogram=map_values(self.histogram, change),
            index=map_values(self.index, change),
            atoms=map_values(self.atoms, change),
            macs=change(self.macs),
            terms=tuple(replace(term, count=change(term.count)) for term in self.terms) if places else (),
            status=self.status,
            bounded=self.bounded,
        )


class FunctionCounts(Struct, frozen=True, eq=False):
    """The elementary functions that a program applies to data, in closed form, without any other count."""

    histogram: Mapping[CountKey, Poly]
    status: Certainty

    @property
    def eops(self) -> Poly:
        """The number of elementary functions applied to data."""
        return total_of(self.histogram.values())


class ProgramCounter:
    """One analysis of one program, which counts inner blocks first.

    After counting, ``bounded`` has the places where an upper bound replaced a count.  With
    ``functions_only``, atoms, index functions and multiply-accumulates are not counted.  Without ``places``,
    applications of a function are counted together wherever they are, which leaves fewer terms to add.
    """

    def __init__(
        self,
        program: Program,
        found: Schedules | None = None,
        functions_only: bool = False,
        summed: Set[Node] = frozenset(),
        places: bool = True,
    ) -> None:
        """Count every block; products in ``summed`` are added up elsewhere and count as MACs."""
        self.schedules = found or schedules(program)
        self.bounded: dict[Span, None] = {}
        self._functions_only, self._places = functions_only, places
        self._products = set() if functions_only else accumulated_products(program, self.schedules) | summed
        self._sums = TakenSums()
        self._granted = tuple(noted.condition for noted in program.conditions)
        self._blocks: dict[Block, Unsummed] = {}
        self._done: dict[Node, Unsummed] = {}
        self._filters = filter_lengths(self.schedules)
        varying = {symbol for lengths in self._filters.values() for symbol, _ in lengths}
        self._totals = totals(program) if varying else {}
        for block, plan in self.schedules.blocks:
            terms = self._visit(plan)
            for symbol in filter(None, map(defined_length, plan.nodes if varying else ())):
                if symbol in self._totals:
                    terms = gather(terms, symbol, self._totals[symbol], varying)
            self._blocks[block] = terms

    def program(self) -> dict[Counted, Poly]:
        """Return the closed forms of all counts of the program."""
        found = collapse(self._visit(self.schedules.top), self._sums)
        return {item: total_on_empty(poly, self._granted) for item, poly in found.items()}

    def data_terms(self, root: Node | Block) -> Unsummed:
        """Return the functions that one visit of a node or block applies to data, as unsummed terms."""
        return {
            key: poly for key, poly in self._terms(root).items() if key[0].kind == "data" and poly != ZERO
        }

    def whole_terms(self, root: Node | Block) -> Unsummed:
        """Return how many functions one visit applies to data; a choice counts its more expensive side."""
        return {key: poly for key, poly in self._terms(root).items() if key[0] == _LAMBDA and poly != ZERO}

    def _terms(self, root: Node | Block) -> Unsummed:
        return self._blocks[root] if isinstance(root, Block) else self._visit(schedule((), (root,)))

    def closed(self, terms: Unsummed) -> Poly:
        """Sum terms; enclosing coordinates remain symbols."""
        return total_of(self._sums.closed(poly, domain) for (_, domain), poly in terms.items())

    def _visit(self, plan: Schedule) -> Unsummed:
        """Count one visit: the work of each node, times the number of paths from the roots to it."""
        terms: Unsummed = {}
        single: dict[Counted, int] = {}
        for node, _, times, _ in reversed(plan.of(_WORKING) if self._functions_only else plan.steps):
            around = _AROUND.get(type(node))
            if around is not None:
                if node not in self._done:
                    self._done[node] = around(self, node)
                accumulate(terms, self._done[node], times)
            else:
                for item in self._applied(node) if isinstance(node, _APPLIED) else _ATOM.get(type(node), ()):
                    single[item] = single.get(item, 0) + times
                if not self._functions_only:
                    accumulate(terms, copy_atoms(node), times)
        accumulate(terms, {(item, EVERYWHERE): const(visits) for item, visits in single.items()})
        return terms

    def _applied(self, node: ir.Lambda | ir.Where) -> tuple[Counted, ...]:
        if node.charge == "static":
            return ()
        name = node.function if isinstance(node, ir.Lambda) else "where"
        if self._places:
            item = Counted(node.charge, name, node.space, node.span)
        else:
            item = _anywhere(node.charge, name, node.space)
        if self._functions_only:
            return (item,) if node.charge == "data" else ()
        if node.charge == "index":
            return (item,)
        return (item, _LAMBDA, _MAC) if node in self._products else (item, _LAMBDA)

    def count_loop(self, node: ir.Build | ir.Fold) -> Unsummed:
        """Count the body of a loop, as often as it runs."""
        terms = self._blocks[node.body]
        if node.coords:
            for symbol, most in reversed(self._filters[node.body]):
                terms, changed = bound_above(terms, symbol, most, node.span)
                self.bounded |= {node.span: None} if changed else {}
        return quantify(terms, node.coords, node.extents, self._sums)

    def _count_build(self, node: ir.Build) -> Unsummed:
        if not node.coords or self._functions_only:
            return self.count_loop(node)
        return sum_terms(self.count_loop(node), assembly_atoms(node))

    def _count_select(self, node: ir.Select) -> Unsummed:
        then, other = self._blocks[node.then], self._blocks[node.other]
        condition = static_condition(node)
        if condition is None:
            return self._count_undecided(node.span, then, other)
        if mentions_data(then) or mentions_data(other):
            return choose_disjoint(condition, then, other)
        return choose(condition, then, other)

    def _count_undecided(self, span: Span, then: Unsummed, other: Unsummed) -> Unsummed:
        """Count a choice that no condition on lengths decides: the common count, or the larger per item."""
        if then == other:
            return then
        then, other, gathered = _without_gathered(then, other)
        self.bounded[span] = None
        sides = [collapse(side, self._sums, span) for side in (then, other)]
        items = dict.fromkeys((*sides[0], *sides[1]))
        larger = {
            (item, EVERYWHERE): maximum(sides[0].get(item, ZERO), sides[1].get(item, ZERO)) for item in items
        }
        return sum_terms(larger, gathered)


_AROUND: Mapping[type, Callable[[ProgramCounter, Any], Unsummed]] = {
    ir.Build: ProgramCounter._count_build,
    ir.Fold: lambda counter, node: counter.count_loop(node),  # a counter of the referee has its own
    ir.Select: ProgramCounter._count_select,
}
"""The rules for nodes that have blocks."""


@lru_cache(maxsize=1 << 10)  # there are few distinct functions, and every node looks one up
def _anywhere(kind: CountedKind, name: str, space: str) -> Counted:
    """Return the item for a function, wherever it is applied."""
    return Counted(kind, name, space)


def _at(item: Counted, span: Span) -> Counted:
    return Counted(item.kind, item.name, item.space, span if item.kind in ("data", "index") else NOWHERE)


def count(program: Program, found: Schedules | None = None) -> Counts:
    """Count a program exactly, in closed form.

    If a count is too large to compute, the program is rejected with a diagnostic.
    """
    closed, bounded = _closed(program, found, functions_only=False)
    return _counts(closed, bounded)


def count_macs(program: Program, summed: Set[Node]) -> Poly:
    """Count the multiplications whose products are added up, in the program or by a later node."""
    return ProgramCounter(program, summed=summed).program().get(_MAC, ZERO)


def count_functions(program: Program, found: Schedules | None = None) -> FunctionCounts:
    """Count only the functions applied to data, which is faster than counting everything."""
    closed, bounded = _closed(program, found, functions_only=True)
    kept = {item: poly for item, poly in closed.items() if poly != ZERO}
    return FunctionCounts(_by_key(kept, "data"), _status(kept, bool(bounded)))


def _closed(
    program: Program, found: Schedules | None, functions_only: bool
) -> tuple[dict[Counted, Poly], tuple[Span, ...]]:
    try:
        with limit_effort(MOST_EFFORT):
            counter = ProgramCounter(program, found, functions_only, places=not functions_only)
            return counter.program(), tuple(counter.bounded)
    except AlgebraBudget as error:
        raise Rejected(
            Diagnostic("T0601", f"the cost of {program.name} is too large to compute: {error}")
        ) from error


def _counts(closed: dict[Counted, Poly], bounded: tuple[Span, ...]) -> Counts:
    found = {item: poly for item, poly in closed.items() if poly != ZERO}
    atoms = {name: found.get(Counted("atom", name), ZERO) for name in ATOMS}
    return Counts(
        histogram=_by_key(found, "data"),
        index=_by_key(found, "index"),
        atoms=MappingProxyType(atoms),
        macs=found.get(_MAC, ZERO),
        terms=_terms(found),
        status=_status(found, bool(bounded)),
        bounded=bounded,
    )


def _terms(found: dict[Counted, Poly]) -> tuple[Term, ...]:
    return tuple(
        Term(item.name, item.space, poly, item.kind, item.span)
        for item, poly in found.items()
        if item.kind in ("data", "index")
    )


def _by_key(found: dict[Counted, Poly], kind: CountedKind) -> Mapping[CountKey, Poly]:
    result: dict[CountKey, Poly] = {}
    for item, poly in found.items():
        if item.kind == kind:
            key = (item.name, item.space)
            result[key] = result[key] + poly if key in result else poly
    return MappingProxyType({key: result[key] for key in sorted(result)})


def _status(found: dict[Counted, Poly], bounded: bool) -> Certainty:
    if bounded:
        return "upper bound"
    data = any("data" in map(_kind, poly.free) for poly in found.values())
    return "depends on data" if data else "exact"
