"""Judge one form against another for all lengths; every comparison of two forms goes through here.

A claim is proved, or shown by a shape; what neither decides stays open.  If a proof of the whole
difference fails, many shapes are tried, and the difference is rewritten: by its factors, as a multiple of
a count, in lengths counted from their least values, and in both cases of a clip.  From forms that are only
bounds, the table in ``claims`` decides what follows for the costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

from msgspec import Struct

from tolcost.algebra import (
    Cond,
    Ge,
    Order,
    Poly,
    Symbol,
    Witness,
    atom,
    compare,
    data_symbol,
    evaluate,
    generators_in,
    is_nonnegative,
    prove,
    substitute,
    symbols_of_cond,
    witness_at,
)
from tolcost.algebra.points import Assignment, bounds_first, hold_at
from tolcost.algebra.poly import Relu
from tolcost.certainty import Certainty
from tolcost.diagnostics import InternalError
from tolcost.result.claims import Claim, Relation, claim_of, conclude
from tolcost.result.example import nearest_where
from tolcost.result.regions import Tried, proportion, sign_of, signs_of_one, try_shapes
from tolcost.result.typical import OTHER


class FormJudgement(Struct, frozen=True):
    """The claim about a new figure against an old one, with shapes that show it."""

    claim: Claim
    more: Witness | None = None
    less: Witness | None = None

    def __post_init__(self) -> None:
        """Refuse a claim of more or less that no shape shows."""
        more = self.more is not None and self.more.left > self.more.right
        less = self.less is not None and self.less.left < self.less.right
        if (self.claim.more and not more) or (self.claim.less and not less):
            raise InternalError("a figure is called more or less than another without a shape that shows it")

    @property
    def relation(self) -> Relation:
        """The claim as a single word."""
        return self.claim.relation

    def of_costs(self, old: Certainty, new: Certainty) -> FormJudgement:
        """Return the claim about two costs whose forms, or bounds, these are."""
        return self.only(conclude(old, new, self.claim))

    def only(self, claim: Claim) -> FormJudgement:
        """Return a weaker claim, with the shapes that show it."""
        return FormJudgement(claim, self.more if claim.more else None, self.less if claim.less else None)


def judge_forms(
    old: Poly, new: Poly, facts: tuple[Cond, ...] = (), counts: Sequence[Poly] = ()
) -> FormJudgement:
    """Judge a new form against an old one; ``counts`` are known never to be negative.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> found = judge_forms(64 * n, n * n)
    >>> found.relation, found.less
    ('crosses', Witness(point=((n, 1),), left=1, right=64))
    """
    order = order_of(new, old, facts, counts)
    return FormJudgement(claim_of(order), order.above, order.below)


def telling(
    judged: FormJudgement,
    old: Poly,
    new: Poly,
    facts: Sequence[Cond],
    typical: Mapping[Symbol, int],
    known: Mapping[Symbol, int] | None = None,
) -> FormJudgement:
    """Return a judgement whose shapes are typical, or the nearest to typical ones, where the verdict turns.

    A shape that a proof found is kept only where there is no difference near typical shapes.

    >>> from tolcost.algebra import length, the_symbol
    >>> n = length("n")
    >>> found = telling(judge_forms(64 * n, n * n), 64 * n, n * n, (), {the_symbol(n): 1024})
    >>> found.more.point, found.less.point
    (((n, 1024),), ((n, 63),))
    """
    free = _wanted(old, new, facts, typical, known)

    def shown(witness: Witness | None, sign: int) -> Witness | None:
        def differs(at: Assignment) -> bool:
            return sign * (evaluate(new, at) - evaluate(old, at)) > 0

        at = None if witness is None else nearest_where(differs, free, facts, known)
        return witness if at is None else Witness(_in_order(at), evaluate(new, at), evaluate(old, at))

    return FormJudgement(judged.claim, shown(judged.more, 1), shown(judged.less, -1))


def at_typical(
    old: Poly,
    new: Poly,
    facts: Sequence[Cond],
    typical: Mapping[Symbol, int],
    known: Mapping[Symbol, int] | None = None,
) -> Tried | None:
    """Return both forms at known lengths and typical others; None if no such shape fulfils the facts."""

    def evaluates(at: Assignment) -> bool:
        return evaluate(new, at) is not None and evaluate(old, at) is not None

    free = _wanted(old, new, facts, typical, known)
    at = nearest_where(evaluates, free, facts, known)
    return None if at is None else Tried(at, evaluate(old, at), evaluate(new, at))


def _wanted(
    old: Poly,
    new: Poly,
    facts: Sequence[Cond],
    typical: Mapping[Symbol, int],
    known: Mapping[Symbol, int] | None,
) -> dict[Symbol, int]:
    """Return typical values of all lengths that are not known, in the order in which they are best chosen."""
    every = bounds_first(
        {*old.free, *new.free, *(symbol for fact in facts for symbol in symbols_of_cond(fact))}
    )
    usual = dict.fromkeys(every, OTHER.value)
    wanted = {s: typical.get(s, n) for s, n in {**dict.fromkeys(typical, 0), **usual}.items() if s in usual}
    return {symbol: n for symbol, n in wanted.items() if symbol not in (known or {})}


def _in_order(at: Assignment) -> tuple[tuple[Symbol, int], ...]:
    return tuple(sorted(at.items(), key=lambda item: item[0].key))


def order_of(left: Poly, right: Poly, facts: tuple[Cond, ...] = (), counts: Sequence[Poly] = ()) -> Order:
    """Compare two forms for all lengths, with every available proof and shape.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> order_of(2 * n * m, n * n + m * m).verdict
    'less'
    """
    found = compare(left, right, facts)
    if found.verdict in ("equal", "less", "greater", "crosses"):
        return found
    gap = right - left
    signs = signs_of_one(gap, facts)
    wanted = {sign for sign in (1, -1) if signs is None or sign in signs}
    wanted -= {-1} if found.never_above else {1} if found.never_below else set()
    others = chain(*(signs or {}).values(), _skewed(left, right, facts))
    shown = chain(_tried(left, right, facts), (witness_at(left, right, point, facts) for point in others))
    below, above = _sides(shown, found, wanted)
    never_above = above is None and (found.never_above or -1 not in wanted or _proved(gap, facts, counts))
    never_below = below is None and (found.never_below or 1 not in wanted or _proved(-gap, facts, counts))
    return Order(never_above, never_below, below, above)


def _sides(
    witnesses: Iterable[Witness | None], found: Order, wanted: set[int]
) -> tuple[Witness | None, Witness | None]:
    """Return shapes at which the left form is below and above the right one, as far as these are wanted."""
    below, above = found.below, found.above
    for shown in chain((None,), witnesses):
        if shown is not None and shown.left < shown.right:
            below = below or shown
        elif shown is not None:
            above = above or shown
        if (below or 1 not in wanted) and (above or -1 not in wanted):
            break
    return below, above


def unmet(conditions: Iterable[Cond], known: Sequence[Cond]) -> tuple[Cond, ...]:
    """Return the conditions that are not proved from the known ones."""
    return tuple(one for one in conditions if prove(one, tuple(known)) is not True)


# ---- shapes ------------------------------------------------------------------------------------


def _tried(left: Poly, right: Poly, facts: Sequence[Cond]) -> Iterator[Witness]:
    """Yield shapes at which both forms differ, among the shapes that are tried without a proof."""
    for tried in try_shapes(left, right, facts):
        if tried.old != tried.new:
            yield Witness(tuple(tried.point.items()), tried.old, tried.new)


def _skewed(left: Poly, right: Poly, facts: Sequence[Cond]) -> Iterator[Assignment]:
    """Yield shapes at which one or two lengths are large and the others small, or the reverse."""
    start = next(try_shapes(left, right, facts), None)
    symbols = sorted(start.point, key=lambda symbol: symbol.name) if start else []
    for low, high in ((1, 1000), (1000, 1), (2, 30), (30, 2)):
        for few in (1, 2):
            for chosen in combinations(symbols, few):
                point = {symbol: high if symbol in chosen else low for symbol in symbols}
                if hold_at(facts, point) and all(_allowed(symbol, point) for symbol in symbols):
                    yield point


def _allowed(symbol: Symbol, point: Assignment) -> bool:
    low = symbol.lo is None or evaluate(symbol.lo, point) <= point[symbol]
    return low and (symbol.hi is None or point[symbol] <= evaluate(symbol.hi, point))


# ---- proofs ------------------------------------------------------------------------------------


def _proved(gap: Poly, facts: tuple[Cond, ...], counts: Sequence[Poly]) -> bool:
    """Whether a difference is proved never to be negative."""
    return any(proportion(gap, count) == 1 for count in counts) or never_negative(gap, facts)


def never_negative(gap: Poly, facts: tuple[Cond, ...]) -> bool:
    """Whether a difference is proved never negative: by its factors, from the least lengths, or by cases."""
    if sign_of(gap, facts) == 1 or is_nonnegative(_from_least(gap, facts)):
        return True
    cases = clip_cases(gap)
    return bool(cases) and all(never_negative(case, facts) for case in cases)


def _from_least(gap: Poly, facts: Sequence[Cond]) -> Poly:
    """Rewrite a difference with lengths counted from their least: if `w >= k - 1`, w is k - 1 plus more."""
    for fact in facts:
        if isinstance(fact, Ge) and not fact.p.height:
            for symbol in sorted(fact.p.free, key=lambda symbol: symbol.name):
                rest = fact.p - atom(symbol)
                if symbol in gap.free and symbol not in rest.free:
                    more = data_symbol(f"{symbol.name}_more", 0, None)
                    gap = substitute(gap, {symbol: more - rest})
                    break
    return gap


def clip_cases(gap: Poly) -> tuple[Poly, ...]:
    """Rewrite a difference without its clip of two lengths: with the first larger, and with the second."""
    for clip in generators_in(gap):
        if isinstance(clip, Relu) and len(clip.p.free) == 2 and not clip.p.height:
            first, second = sorted(clip.p.free, key=lambda symbol: -clip.p.terms.get((symbol,), 0))
            if clip.p == atom(first) - atom(second):
                more = data_symbol(f"{first.name}_more", 0, None)
                larger = substitute(gap, {first: atom(second) + more})
                return larger, substitute(gap, {second: atom(first) + more})
    return ()
