"""Sums over nested ranges under conditions, in closed form where there is one.

One coordinate is removed at a time, an innermost one first.  Conditions on it become bounds;
where several bounds compete, or a range may be empty, the question is handed outward as a
condition on the coordinates that remain, and only what depends on lengths alone ends up as
a clip.  Clips in the summand split the range.  Short constant ranges are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tolcost.algebra.bounding import Competing, bounds_on, dominating
from tolcost.algebra.cases import Atoms, signed_cases
from tolcost.algebra.clips import maximum, minimum, relu
from tolcost.algebra.conditions import Cond, Eq, Ge, Truth, conj, eq, ge, indicator, map_cond, symbols_of_cond
from tolcost.algebra.errors import AlgebraBudget
from tolcost.algebra.faulhaber import affine_parts, common_period, opaque_sum, sum_range
from tolcost.algebra.floors import floordiv, mod
from tolcost.algebra.gates import clipped_sum, gated, tidied
from tolcost.algebra.poly import (
    ZERO,
    Poly,
    Terms,
    as_poly,
    coordinate,
    multiply,
    poly,
    scale,
    the_symbol,
    total_of,
)
from tolcost.algebra.prove import prove
from tolcost.algebra.substitute import replace_generator, substitute
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

_MAX_ENUMERATED = 64
_MAX_WORK = 6_000
_MAX_TERMS = 400


@dataclass(frozen=True, slots=True)
class Range:
    """A coordinate and the inclusive ends it runs between."""

    symbol: Symbol
    lo: Poly
    hi: Poly


@dataclass(frozen=True, slots=True)
class _Problem:
    """A sum still to do: the summand, ranges with inner ones last, conditions, and what is known."""

    body: Poly
    ranges: tuple[Range, ...]
    atoms: Atoms
    facts: tuple[Cond, ...]


class _NoClosedForm(Exception):
    """The coordinates cannot all be removed, or not at a reasonable size."""


@dataclass(slots=True)
class _Work:
    """How much may still be done for one sum, counted in terms looked at."""

    left: int = _MAX_WORK

    def step(self, body: Poly) -> None:
        """Take up a problem with this summand."""
        self.left -= 1 + len(body.terms)
        if self.left < 0 or len(body.terms) > _MAX_TERMS:
            raise _NoClosedForm


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
    summand, ranges, guard = _own_symbols(as_poly(body), over, conj(*guards))
    summed = {symbol for symbol, _, _ in over}
    known = tuple(fact for fact in facts if not symbols_of_cond(fact) & summed)
    parts = []
    for atoms, times in signed_cases(guard).items():
        ordered = tuple(sorted(atoms, key=lambda a: (isinstance(a, Ge), a.p.key)))
        part = _by_components(_Problem(summand, ranges, ordered, known))
        parts.append(scale(part, times))
    return tidied(total_of(parts), known)


def sum_over(body: Poly, symbol: Symbol, lo: Poly, hi: Poly) -> Poly:
    """Sum over one range."""
    return total(body, [(symbol, lo, hi)])


def _own_symbols(
    body: Poly, over: Sequence[tuple[Symbol, Poly | int, Poly | int]], guard: Cond
) -> tuple[Poly, tuple[Range, ...], Cond]:
    """Rename coordinates whose own bounds are not the range they run over: proofs rely on them."""
    renamed: dict[Symbol, Poly | int] = {}
    ranges = []
    for symbol, low, high in over:
        lo, hi = substitute(as_poly(low), renamed), substitute(as_poly(high), renamed)
        if symbol.lo != lo or symbol.hi != hi or symbol in renamed:
            renamed[symbol] = coordinate(symbol.name, hi, lo)
            symbol = the_symbol(as_poly(renamed[symbol]))
        ranges.append(Range(symbol, lo, hi))
    if renamed:
        body, guard = substitute(body, renamed), map_cond(guard, lambda p: substitute(p, renamed))
    return body, tuple(ranges), guard


def _by_components(problem: _Problem) -> Poly:
    """Remove one group of connected coordinates after another."""
    body, left, atoms = problem.body, problem.ranges, problem.atoms
    while left:
        group = _connected(left, atoms, body)
        mine = tuple(a for a in atoms if a.p.free & group)
        atoms = tuple(a for a in atoms if not a.p.free & group)
        inner = tuple(r for r in left if r.symbol in group)
        left = tuple(r for r in left if r.symbol not in group)
        body = _removed(_Problem(body, inner, mine, problem.facts))
    return gated(body, atoms, problem.facts)


def _removed(problem: _Problem) -> Poly:
    """Remove all coordinates; parts of the summand without a closed form stay sums."""
    try:
        return _eliminate(problem, _Work())
    except (_NoClosedForm, AlgebraBudget):
        pass
    symbols = frozenset(r.symbol for r in problem.ranges)
    rows: dict[frozenset[Generator], Terms] = {}
    for mono, coef in problem.body.terms.items():
        hard = frozenset(g for g in mono if not isinstance(g, Symbol) and g.free & symbols)
        rows.setdefault(hard, {})[mono] = coef
    if len(rows) < 2:
        return _unevaluated(problem)
    parts = (poly(terms, problem.body.den) for terms in rows.values())
    return total_of(_removed(_Problem(part, problem.ranges, problem.atoms, problem.facts)) for part in parts)


def _unevaluated(problem: _Problem) -> Poly:
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


def _eliminate(problem: _Problem, work: _Work) -> Poly:
    """Remove all coordinates, or raise ``_NoClosedForm``."""
    work.step(problem.body)
    pruned = _pruned(problem)
    if pruned is None:
        return ZERO
    if not pruned.ranges:
        return gated(pruned.body, pruned.atoms, pruned.facts)
    short = _worth_writing_out(pruned)
    if short is not None:
        return _written_out(pruned, short, work)
    chosen = _chosen(pruned)
    for way in (_by_equality, _by_atom_residues, _by_clip):
        done = way(pruned, chosen, work)
        if done is not None:
            return done
    return _by_bounds(pruned, chosen, work)


def _pruned(problem: _Problem) -> _Problem | None:
    """Drop conditions that always hold; ``None`` if one never does or nothing is summed."""
    if not problem.body.terms:
        return None
    atoms = list(problem.atoms)
    for atom_ in problem.atoms:
        others = tuple(a for a in atoms if a != atom_)
        verdict = prove(atom_, problem.facts + others)
        if verdict is False:
            return None
        if verdict:
            atoms.remove(atom_)
    return _Problem(problem.body, problem.ranges, tuple(atoms), problem.facts)


def _hard(p: Poly, x: Symbol) -> set[Generator]:
    """Give the floors, clips and sums at the outer level that depend on x."""
    return {g for mono in p.terms for g in mono if g is not x and x in g.free}


def _worth_writing_out(problem: _Problem) -> Range | None:
    """Give the shortest constant range that is tied to others by a condition, floor or clip."""
    best: tuple[int, Range] | None = None
    symbols = frozenset(r.symbol for r in problem.ranges)
    for r in problem.ranges:
        span = (r.hi - r.lo).constant
        if span is None or span >= _MAX_ENUMERATED or (best is not None and best[0] <= span):
            continue
        tied = any(r.symbol in a.p.free and (a.p.free & symbols != {r.symbol}) for a in problem.atoms)
        if tied or any(_hard(p, r.symbol) for p in (problem.body, *(a.p for a in problem.atoms))):
            best = (span, r)
    return best[1] if best else None


def _written_out(problem: _Problem, r: Range, work: _Work) -> Poly:
    span = (r.hi - r.lo).constant or 0
    parts = []
    for k in range(span + 1):
        parts.append(_eliminate(_put(problem, r.symbol, r.lo + k), work))
    return total_of(parts)


def _posed(body: Poly, ranges: tuple[Range, ...], conds: Sequence[Cond], facts: tuple[Cond, ...]) -> _Problem:
    """Pose a problem under conditions some of which may be decided already."""
    if any(isinstance(c, Truth) and not c.value for c in conds):
        body = ZERO
    return _Problem(body, ranges, tuple(dict.fromkeys(c for c in conds if isinstance(c, Ge | Eq))), facts)


def _put(problem: _Problem, x: Symbol, value: Poly, extra: tuple[Cond, ...] = ()) -> _Problem:
    """Replace a coordinate by an expression everywhere, and drop its range.

    Coordinates whose ends change on the way are renamed, so that they carry their own bounds.
    """
    values: dict[Symbol, Poly | int] = {x: value}
    ranges = []
    for r in problem.ranges:
        if r.symbol is x:
            continue
        lo, hi = substitute(r.lo, values), substitute(r.hi, values)
        symbol = r.symbol
        if lo != r.lo or hi != r.hi:
            values[symbol] = new = coordinate(symbol.name, hi, lo)
            symbol = the_symbol(new)
        ranges.append(Range(symbol, lo, hi))
    conds = [map_cond(c, lambda p: substitute(p, values)) for c in (*extra, *problem.atoms)]
    return _posed(substitute(problem.body, values), tuple(ranges), conds, problem.facts)


def _chosen(problem: _Problem) -> Range:
    """Choose a coordinate no other range depends on: one an equality fixes, else the simplest."""
    bounding = frozenset[Symbol]().union(*(r.lo.free | r.hi.free for r in problem.ranges))
    open_ = [(k, r) for k, r in enumerate(problem.ranges) if r.symbol not in bounding]
    return min(open_, key=lambda kr: (_difficulty(problem, kr[1].symbol), -kr[0]))[1]


def _difficulty(problem: _Problem, x: Symbol) -> int:
    score = 0
    for a in problem.atoms:
        if x in a.p.free:
            parts = affine_parts(a.p, x)
            slope = None if parts is None else parts[0].constant
            if isinstance(a, Eq) and slope in (1, -1):
                return -1
            score += 0 if slope in (1, -1) else 1 if slope is not None else 2
    return score


def _by_equality(problem: _Problem, r: Range, work: _Work) -> Poly | None:
    """Let an equality fix the coordinate; its range becomes a condition on the others."""
    x = r.symbol
    for a in problem.atoms:
        parts = affine_parts(a.p, x) if isinstance(a, Eq) and x in a.p.free else None
        slope = None if parts is None else parts[0].constant
        if parts is None or not slope:
            continue
        value = floordiv(-parts[1], slope)
        fits = eq(mod(parts[1], abs(slope)))
        extra = (fits, ge(value - r.lo), ge(r.hi - value))
        others = tuple(o for o in problem.atoms if o != a)
        left = _Problem(problem.body, problem.ranges, others, problem.facts)
        return _eliminate(_put(left, x, value, extra), work)
    return None


def _by_atom_residues(problem: _Problem, r: Range, work: _Work) -> Poly | None:
    """Sum over residue classes where a condition contains floors of the coordinate."""
    hard = {g for a in problem.atoms for g in _hard(a.p, r.symbol)}
    floors: set[Generator] = {g for g in hard if isinstance(g, Floor)}
    period = common_period(floors, r.symbol) if floors else None
    if period is None or period == 1:
        return None
    parts = []
    for residue in range(period):
        last = floordiv(r.hi - r.lo - residue, period)
        turn = coordinate("t", last, 0)
        there = _put(problem, r.symbol, turn * period + r.lo + residue)
        ranges = (*there.ranges, Range(the_symbol(turn), ZERO, last))
        parts.append(_eliminate(_Problem(there.body, ranges, there.atoms, there.facts), work))
    return total_of(parts)


def _by_clip(problem: _Problem, r: Range, work: _Work) -> Poly | None:
    """Split at the point where a clip in the summand starts to count."""
    clip = _innermost_clip(problem.body, r.symbol)
    if clip is None:
        return None
    active = ge(clip.p - 1)
    if not isinstance(active, Ge) or affine_parts(active.p, r.symbol) is None:
        return None
    outer = {mono: coef for mono, coef in problem.body.terms.items() if clip in mono}
    inside = poly(outer, problem.body.den)
    rest = problem.body - inside
    if any(clip in _nested_clips(g) for mono in problem.body.terms for g in mono if g is not clip):
        idle = _with(problem, replace_generator(problem.body, clip, ZERO), ge(-clip.p))
        busy = _with(problem, replace_generator(problem.body, clip, clip.p), active)
        return _eliminate(idle, work) + _eliminate(busy, work)
    busy = _with(problem, replace_generator(inside, clip, clip.p), active)
    return _eliminate(_with(problem, rest), work) + _eliminate(busy, work)


def _with(problem: _Problem, body: Poly, *conds: Cond) -> _Problem:
    """Give the same problem with another summand and further conditions."""
    return _posed(body, problem.ranges, (*problem.atoms, *conds), problem.facts)


def _innermost_clip(p: Poly, x: Symbol) -> Relu | None:
    clips = {c for mono in p.terms for g in mono for c in _nested_clips(g) if x in c.free}
    usable = [c for c in clips if all(d is c or x not in d.free for d in _nested_clips(c))]
    return min(usable, key=lambda c: (c.height, c.key), default=None)


def _nested_clips(generator: Generator) -> set[Relu]:
    match generator:
        case Relu(p=p):
            return {generator}.union(*(_nested_clips(g) for mono in p.terms for g in mono))
        case Floor(p=p, q=q):
            return set[Relu]().union(*(_nested_clips(g) for b in (p, q) for mono in b.terms for g in mono))
        case Symbol() | Sum():
            return set()


def _by_bounds(problem: _Problem, r: Range, work: _Work) -> Poly:
    """Turn the conditions on the coordinate into bounds, and sum."""
    x = r.symbol
    mine = tuple(a for a in problem.atoms if x in a.p.free)
    others = tuple(a for a in problem.atoms if x not in a.p.free)
    found = bounds_on(x, r.lo, r.hi, mine, problem.facts + others)
    body = problem.body
    for a in found.unused:
        body = body * indicator(a, problem.facts + others)
    left = tuple(o for o in problem.ranges if o is not r)
    outer = _Problem(body, left, others, problem.facts)
    remaining = frozenset(o.symbol for o in left)
    if remaining and found.unused:
        raise _NoClosedForm
    return total_of(
        _between(outer, x, piece, work)
        for piece in dominating(found, remaining, problem.facts + others)
    )


def _between(outer: _Problem, x: Symbol, piece: Competing, work: _Work) -> Poly:
    """Sum between bounds that no longer compete in the coordinates that remain."""
    there = _pruned(_with(outer, outer.body, *piece.conds))
    if there is None:
        return ZERO
    known = there.facts + there.atoms
    lo, hi = piece.lows[0], piece.highs[0]
    for other in piece.lows[1:]:
        lo = maximum(lo, other, known)
    for other in piece.highs[1:]:
        hi = minimum(hi, other, known)
    count = hi - lo + 1
    verdict = prove(ge(count), known)
    if verdict is False:
        return ZERO
    remaining = frozenset(r.symbol for r in there.ranges)
    if verdict or count.free & remaining:
        summed = sum_range(there.body, x, lo, hi)
    else:
        summed = clipped_sum(there.body, x, lo, hi, known)
    if any(isinstance(g, Sum) and g.free & remaining for mono in summed.terms for g in mono):
        raise _NoClosedForm
    bound = (ge(count),) if not verdict and count.free & remaining else ()
    return _eliminate(_with(there, summed, *bound), work)
