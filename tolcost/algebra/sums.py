"""Sums over nested ranges under conditions, in closed form where possible.

Guards are split into signed conjunctions, and coordinates into independent groups; ``eliminate`` sums each
group. A sum that it cannot do stays unevaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce

from tolcost.algebra.conditions import (
    Cond,
    Constraints,
    Ge,
    conj,
    conjuncts,
    map_cond,
    open_clips,
    signed_cases,
    symbols_of_cond,
)
from tolcost.algebra.eliminate import (
    NoClosedForm,
    Problem,
    SummedRange,
    Work,
    eliminate,
    make_problem,
    sum_range,
)
from tolcost.algebra.floors import exact_div, range_of
from tolcost.algebra.piecewise import (
    PROVED,
    fewer_clips,
    floordiv,
    indicator,
    normalise_clips,
    relu,
    zero_unless,
)
from tolcost.algebra.poly import (
    ONE,
    ZERO,
    AlgebraBudget,
    Floor,
    Generator,
    Monomial,
    OutOfEffort,
    Poly,
    Sum,
    Symbol,
    Terms,
    as_poly,
    atom,
    limit_effort,
    multiply,
    poly,
    scale,
    spend,
    symbol_of,
    total_of,
)
from tolcost.algebra.prove import holds_at_ends
from tolcost.algebra.rebuild import (
    QUICK,
    Rules,
    generators_in,
    opaque_sum,
    rebuild,
    replace_generator,
    size_of,
)

"""The standard name of summed coordinates."""
_STANDARD = "#"
_MANY_TERMS = 3
"""Summands with more terms are summed once per distinct product of summed generators."""
_MOST_EFFORT = 100_000
"""The effort for one sum, including its cases, proofs and inner sums."""
_FEW_RANGES = 8
"""The most ranges that are summed without cases: each raises the degree, which no effort limit counts."""
MOST_FACTORS = 600
"""The most factors of a closed form over connected coordinates: about 15,000 characters, hardly readable."""
_MOST_TOGETHER = 2_000
"""The most factors of several groups together; a product of sums is shown as a product."""
_MOST_OPEN = 2_400
"""The most factors of a sum that stays open; longer ones arise from many conditions together."""
_Form = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
_Solved = dict[_Form, list[tuple[Problem, Poly]]]
"""Problems already solved with their results, by their form."""


def total(
    body: Poly | int,
    over: Sequence[tuple[Symbol, Poly | int, Poly | int]],
    guards: Sequence[Cond] = (),
    facts: Sequence[Cond] = (),
) -> Poly:
    """Sum over nested ranges, innermost last, where all guards hold; an empty range gives 0.

    Facts concern only symbols that are not summed over; a condition on a coordinate is a guard.

    >>> from tolcost.algebra.poly import coordinate, length, the_symbol
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", i)
    >>> total(1, [(the_symbol(i), 1, n), (the_symbol(j), 1, i)])
    n*(n + 1)/2
    """
    plain = _sum_without_cases(as_poly(body), over, guards, facts)
    if plain is not None:
        return plain
    summed = {symbol for symbol, _, _ in over}
    known = tuple(fact for fact in facts if not symbols_of_cond(fact) & summed)
    return _sum_renamed(*_rename_coordinates(as_poly(body), over, conj(*guards), known), known)


def _sum_without_cases(
    body: Poly,
    over: Sequence[tuple[Symbol, Poly | int, Poly | int]],
    guards: Sequence[Cond],
    facts: Sequence[Cond],
) -> Poly | None:
    """Sum without case distinctions: there are no floors, and guards only state where ranges end.

    Proofs know a coordinate by its own bounds, so these must be the ends of its range.
    """
    left = _inequalities(guards)
    if left is None or len(over) > _FEW_RANGES:
        return None
    clips: list[Poly] = []
    for symbol, low, high in reversed(over):
        lo, hi = as_poly(low), as_poly(high)
        if body.height or symbol.hi != hi or symbol.lo != lo or hi.height or lo.height:
            return None
        ends = _guarded_ends(symbol, lo, hi, [p for p in left if symbol in p.free])
        summed = None if ends is None else _sum_one_range(body, symbol, *ends, clips)
        if summed is None:
            return None
        body, left = summed, [p for p in left if symbol not in p.free]
    if left or (clips and (facts or body.constant is None)):
        return None
    return normalise_clips(reduce(multiply, clips, body)) if clips else body


def _sum_one_range(body: Poly, symbol: Symbol, lo: Poly, hi: Poly, clips: list[Poly]) -> Poly | None:
    """Sum over one range; if it may be empty and is only a factor, append its clipped length to the clips."""
    if _has_length(lo, hi):
        try:
            return sum_range(body, symbol, lo, hi)
        except AlgebraBudget:
            return None
    if symbol in body.free or any(s.kind == "coord" for s in lo.free | hi.free):
        return None
    clips.append(relu(hi - lo + 1))
    return body


def _inequalities(guards: Sequence[Cond]) -> list[Poly] | None:
    """Return the non-negative expressions that guards state, None if they state more or have floors."""
    parts = list(conjuncts(guards))
    found = [part.p for part in parts if isinstance(part, Ge) and part.p.den == 1 and not part.p.height]
    return found if len(found) == len(parts) else None


def _guarded_ends(symbol: Symbol, lo: Poly, hi: Poly, guards: list[Poly]) -> tuple[Poly, Poly] | None:
    """Return the ends of a range under guards on its coordinate, if it is obvious which are the tightest."""
    for p in guards:
        slope = p.terms.get((symbol,))
        rest = Poly({mono: coef for mono, coef in p.terms.items() if mono != (symbol,)})
        if slope not in (1, -1) or symbol in rest.free:
            return None
        old, new = (lo, -rest) if slope == 1 else (hi, rest)
        tighter = (new - old) * slope
        if holds_at_ends(tighter):
            lo, hi = (new, hi) if slope == 1 else (lo, new)
        elif not holds_at_ends(-tighter):
            return None
    return lo, hi


def _has_length(lo: Poly, hi: Poly) -> bool:
    """Whether the length of a range is obviously non-negative; the range may be empty."""
    last = hi - lo
    least = range_of(last)[0]
    return (least is not None and least >= -1) or holds_at_ends(last + 1)


@lru_cache(maxsize=1 << 12)
def _sum_renamed(body: Poly, ranges: tuple[SummedRange, ...], guard: Cond, facts: tuple[Cond, ...]) -> Poly:
    problem = Problem(body, ranges, (), facts)
    try:
        with limit_effort(_MOST_EFFORT):
            closed = _in_closed_form(problem, guard)
    except OutOfEffort:
        spend(0)  # raises if the effort of a surrounding sum is exhausted, too
        return _leave_open(problem, guard)
    if size_of(closed) <= _MOST_TOGETHER:
        return closed
    try:
        return min(closed, _leave_open(problem, guard), key=size_of)
    except AlgebraBudget:  # with its conditions in the summand the sum would be longer still
        return closed


def _in_closed_form(problem: Problem, guard: Cond) -> Poly:
    """Sum each case of the guard separately."""
    parts = []
    for constraints, times in signed_cases(open_clips(guard)).items():
        ordered = tuple(sorted(constraints, key=lambda a: (isinstance(a, Ge), a.p.key)))
        case = Problem(problem.body, problem.ranges, ordered, problem.facts)
        parts.append(scale(_by_components(case), times))
    return fewer_clips(normalise_clips(total_of(parts), problem.facts), problem.facts)


def _leave_open(problem: Problem, guard: Cond) -> Poly:
    """Leave a sum open, with its condition in the summand."""
    open_ = _unevaluated(_with_body(problem, multiply(problem.body, indicator(guard, problem.facts))))
    if size_of(open_) > _MOST_OPEN:
        raise AlgebraBudget("a condition is too long to stand in a summand")
    return open_


def sum_over(body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over one range."""
    return total(body, [(symbol, lo, hi)])


CLOSED = Rules(floordiv, relu, sum_over)
"""Rules that use proofs, and evaluate sums to closed form."""


def _rename_coordinates(
    body: Poly,
    over: Sequence[tuple[Symbol, Poly | int, Poly | int]],
    guard: Cond,
    facts: tuple[Cond, ...],
) -> tuple[Poly, tuple[SummedRange, ...], Cond]:
    """Rename the coordinates to standard names, so that sums that differ only in names are computed once.

    A standard coordinate has its range as its own bounds, on which proofs rely.
    """
    used = body.free.union(symbols_of_cond(guard), *(symbols_of_cond(fact) for fact in facts))
    used = used.union(*(as_poly(end).free for _, lo, hi in over for end in (lo, hi)))
    taken = [symbol.serial for symbol in used if symbol.name == _STANDARD]
    turn = min(0, *taken) if taken else 0
    renamed: dict[Symbol, Poly | int] = {}
    ranges = []
    for symbol, low, high in over:
        lo, hi = rebuild(as_poly(low), renamed, PROVED), rebuild(as_poly(high), renamed, PROVED)
        turn -= 1
        own = symbol_of(_STANDARD, turn, "coord", lo, hi)
        renamed[symbol] = atom(own)
        ranges.append(SummedRange(own, lo, hi))
    body, guard = rebuild(body, renamed, PROVED), map_cond(guard, lambda p: rebuild(p, renamed, PROVED))
    return body, tuple(ranges), guard


def _by_components(problem: Problem) -> Poly:
    """Eliminate one group of connected coordinates after another."""
    body, left, constraints = problem.body, problem.ranges, problem.constraints
    solved: _Solved = {}
    while left:
        group = _connected(left, constraints, body)
        mine = tuple(a for a in constraints if a.p.free & group)
        constraints = tuple(a for a in constraints if not a.p.free & group)
        inner = tuple(r for r in left if r.symbol in group)
        left = tuple(r for r in left if r.symbol not in group)
        body = _eliminate_group(Problem(body, inner, mine, problem.facts), solved)
    return zero_unless(body, constraints, problem.facts)


def _connected(ranges: tuple[SummedRange, ...], constraints: Constraints, body: Poly) -> frozenset[Symbol]:
    """Return the coordinates linked to the innermost one by bounds, conditions, floors or clips."""
    symbols = frozenset(r.symbol for r in ranges)
    links = [a.p.free & symbols for a in constraints]
    links += [((r.lo.free | r.hi.free) & symbols) | {r.symbol} for r in ranges]
    links += [g.free & symbols for mono in body.terms for g in mono if not isinstance(g, Symbol)]
    group = frozenset((ranges[-1].symbol,))
    while True:
        grown = group.union(*(link for link in links if link & group))
        if grown == group:
            return group
        group = grown


def _eliminate_group(problem: Problem, solved: _Solved) -> Poly:
    """Eliminate all coordinates; parts of the summand without a closed form stay sums."""
    symbols = frozenset(r.symbol for r in problem.ranges)
    if problem.body.free.isdisjoint(symbols) and problem.body != ONE:
        return multiply(problem.body, _eliminate_group(_with_body(problem, ONE), solved))
    by_part = _coefficients(problem.body, symbols)
    if len(problem.body.terms) > max(_MANY_TERMS, 2 * len(by_part)):
        sums = {part: _eliminate_group(_with_body(problem, Poly({part: 1})), solved) for part in by_part}
        return total_of(multiply(factor, sums[part]) for part, factor in by_part.items())
    result = _known_result(problem, solved)
    if result is not None:
        return result
    try:
        result = _shorten(eliminate(problem, Work(CLOSED)), problem)
        blocks = _in_blocks(problem) if _has_sum(result) else None
        if blocks is not None:
            result = _eliminate_group(blocks, solved)
        solved.setdefault(_form(problem), []).append((problem, result))
        return result
    except OutOfEffort:
        raise
    except (NoClosedForm, AlgebraBudget, ZeroDivisionError):  # a divisor may be 0 at an end of a range
        blocks = _in_blocks(problem)
        if blocks is not None:
            return _eliminate_group(blocks, solved)
    rows: dict[frozenset[Generator], Terms] = {}
    for mono, coef in problem.body.terms.items():
        hard = frozenset(g for g in mono if not isinstance(g, Symbol) and g.free & symbols)
        rows.setdefault(hard, {})[mono] = coef
    if len(rows) < 2:
        return _unevaluated(problem)
    apart = (_with_body(problem, poly(terms, problem.body.den)) for terms in rows.values())
    return total_of(_eliminate_group(part, solved) for part in apart)


def _has_sum(p: Poly) -> bool:
    return any(isinstance(generator, Sum) for generator in generators_in(p))


def _in_blocks(problem: Problem) -> Problem | None:
    """Sum over the blocks of a coordinate that occurs only as the number of its block; None if none does.

    >>> from tolcost.algebra.parse import parse_text
    >>> parse_text("Sum(Sum(Max(floor((i - 1)/a) - floor((j - 1)/b), 0), (j, 1, b*n)), (i, 1, a*n))")
    (a*b*n**3 - a*b*n)/6
    """
    forms = (problem.body, *(a.p for a in problem.constraints))
    for n, r in enumerate(problem.ranges):
        x, others = r.symbol, (*problem.ranges[:n], *problem.ranges[n + 1 :])
        floors = {g for p in forms for g in generators_in(p) if isinstance(g, Floor) and x in g.free}
        if len(floors) != 1 or any(x in end.free for o in others for end in (o.lo, o.hi)):
            continue
        (floor,) = floors
        blocks = exact_div(r.hi - r.lo + 1, floor.q)
        summed = {o.symbol for o in problem.ranges}
        if blocks is None or floor.p != atom(x) - r.lo or not floor.q.free.isdisjoint(summed):
            continue
        block = symbol_of(x.name, x.serial, "coord", ZERO, blocks - 1)

        def put(p: Poly, floor: Floor = floor, block: Symbol = block) -> Poly:
            return replace_generator(p, floor, atom(block), PROVED)

        body, conds = put(problem.body), [map_cond(a, put) for a in problem.constraints]
        if x in body.free or any(x in symbols_of_cond(cond) for cond in conds):
            continue
        ranges = (*problem.ranges[:n], SummedRange(block, ZERO, blocks - 1), *problem.ranges[n + 1 :])
        return make_problem(multiply(body, floor.q), ranges, conds, problem.facts)
    return None


def _shorten(closed: Poly, problem: Problem) -> Poly:
    """Replace a closed form that is too long by a sum that is partly in closed form, or by an open sum.

    Of the partly closed sum, only the innermost range is in closed form.

    A polynomial is never too long: it is shown in factors, like the counts over triangles.
    """
    if not closed.height or size_of(closed) <= MOST_FACTORS:
        return closed
    *outer, inner = problem.ranges
    found = _unevaluated(problem)
    if outer:
        body = _eliminate_group(Problem(problem.body, (inner,), problem.constraints, problem.facts), {})
        by_steps = _unevaluated(Problem(body, tuple(outer), (), problem.facts))
        found = by_steps if size_of(by_steps) <= MOST_FACTORS else found
    return min(closed, found, key=size_of)


def _with_body(problem: Problem, body: Poly) -> Problem:
    return Problem(body, problem.ranges, problem.constraints, problem.facts)


def _coefficients(body: Poly, symbols: frozenset[Symbol]) -> dict[Monomial, Poly]:
    """Return the coefficient of each product of generators that depend on the symbols."""
    rows: dict[Monomial, Terms] = {}
    for mono, coef in body.terms.items():
        part = tuple(g for g in mono if g.free & symbols)
        rest = tuple(g for g in mono if not g.free & symbols)
        rows.setdefault(part, {})[rest] = coef
    return {part: poly(terms, body.den) for part, terms in rows.items()}


def _unevaluated(problem: Problem) -> Poly:
    """Leave everything as nested sums, with the conditions in the summand."""
    body = problem.body
    for a in problem.constraints:
        body = multiply(body, indicator(a, problem.facts))
    body = normalise_clips(body, problem.facts)
    for r in reversed(problem.ranges):
        if r.symbol in body.free:
            body = opaque_sum(body, r.symbol, r.lo, r.hi)
        else:
            body = multiply(body, relu(r.hi - r.lo + 1))
    return body


def _known_result(problem: Problem, solved: _Solved) -> Poly | None:
    """Return the result of a problem that differs from a solved one only in the names of lengths.

    >>> from tolcost.algebra.poly import ONE, coordinate, length, the_symbol
    >>> from tolcost.algebra.eliminate import SummedRange
    >>> n, m = length("n"), length("m")
    >>> ranges = [SummedRange(the_symbol(coordinate("i", d)), ONE, d) for d in (n, m)]
    >>> first, second = (Problem(ONE, (r,), (), ()) for r in ranges)
    >>> _known_result(second, {_form(first): [(first, n)]}), _known_result(second, {})
    (m, None)
    """
    about = frozenset[Symbol]().union(*(symbols_of_cond(fact) for fact in problem.facts))
    for before, result in solved.get(_form(problem), ()):
        pairs = _Pairs()
        if not pairs.problems(before, problem):
            continue
        summed = {r.symbol for r in before.ranges}
        other = {a: b for a, b in pairs.found.items() if a not in summed and a is not b}
        if about.isdisjoint(other) and all(_have_equal_bounds(a, b) for a, b in other.items()):
            renamed = {a: atom(b) for a, b in other.items()}
            return rebuild(result, renamed, QUICK)  # the form that the sum itself would have
    return None


def _form(problem: Problem) -> _Form:
    """Return the numbers of a problem in order, which problems that differ only in names share."""
    ends = (end for r in problem.ranges for end in (r.lo, r.hi))
    polys = (problem.body, *(a.p for a in problem.constraints), *ends)
    return tuple((p.den, tuple((coef, len(mono)) for mono, coef in p.terms.items())) for p in polys)


def _have_equal_bounds(a: Symbol, b: Symbol) -> bool:
    """Whether the same is known of both symbols: equal roles, and equal numeric bounds."""
    return a.role == b.role and a.depth == b.depth == 0 and a.lo == b.lo and a.hi == b.hi


class _Pairs:
    """A partial one-to-one map from the symbols of one problem to those of another."""

    def __init__(self) -> None:
        self.found: dict[Symbol, Symbol] = {}
        self.taken: set[Symbol] = set()

    def problems(self, a: Problem, b: Problem) -> bool:
        """Whether two problems have the same form."""
        if len(a.ranges) != len(b.ranges) or len(a.constraints) != len(b.constraints):
            return False
        return (
            all(
                self.polys(r.lo, s.lo) and self.polys(r.hi, s.hi) and self.symbols(r.symbol, s.symbol)
                for r, s in zip(a.ranges, b.ranges, strict=True)
            )
            and all(
                isinstance(x, type(y)) and self.polys(x.p, y.p)
                for x, y in zip(a.constraints, b.constraints, strict=True)
            )
            and self.polys(a.body, b.body)
        )

    def polys(self, a: Poly, b: Poly) -> bool:
        """Whether two polynomials have the same form, term by term in the order in which they were built."""
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
        if isinstance(a, Sum) or type(a) is not type(b):
            return False
        return all(self.polys(p, q) for p, q in zip(a.parts, b.parts, strict=True))

    def symbols(self, a: Symbol, b: Symbol) -> bool:
        """Whether two symbols can be a pair; if so, record the pair."""
        known = self.found.get(a)
        if known is not None or b in self.taken:
            return known is b
        self.found[a] = b
        self.taken.add(b)
        return True
