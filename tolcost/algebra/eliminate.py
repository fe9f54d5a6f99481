"""Removing coordinates from a sum, one at a time, an innermost one first.

Conditions on it become bounds; where several bounds compete, or a range may be empty, the
question is handed outward as a condition on the coordinates that remain, and only what depends
on lengths alone ends up as a clip.  Clips in the summand split the range.  Short constant ranges
are written out.  Where none of this leads to a closed form, ``NoClosedForm`` is raised.
"""

from __future__ import annotations

from functools import reduce
from math import comb

from tolcost.algebra.conditions import Cond, Eq, Ge, eq, ge
from tolcost.algebra.faulhaber import common_period, sum_range
from tolcost.algebra.piecewise import floordiv, gated, indicator, mod, relu, tidied
from tolcost.algebra.poly import (
    ZERO,
    Poly,
    affine_parts,
    atom,
    coordinate,
    poly,
    the_symbol,
    total_of,
)
from tolcost.algebra.prove import prove
from tolcost.algebra.ranges import (
    Competing,
    NoClosedForm,
    Problem,
    SummedRange,
    Work,
    bounds_on,
    dominating,
    extended,
    pruned,
    put,
    tighter,
)
from tolcost.algebra.substitute import generators_in, replace_generator
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

_MAX_ENUMERATED = 64
_MAX_POWERS = 2_000


def eliminate(problem: Problem, work: Work) -> Poly:
    """Remove all coordinates, or raise ``NoClosedForm``."""
    work.step(problem.body)
    left = pruned(problem)
    if left is None:
        return ZERO
    if not left.ranges:
        return gated(left.body, left.constraints, left.facts)
    short = _worth_writing_out(left)
    if short is not None:
        return _written_out(left, short, work)
    chosen = _chosen(left)
    for way in (_by_equality, _by_condition_residues, _by_clip):
        done = way(left, chosen, work)
        if done is not None:
            return done
    return _by_bounds(left, chosen, work)


def _hard(p: Poly, x: Symbol) -> set[Generator]:
    """Give the floors, clips and sums at the outer level that depend on x."""
    return {g for mono in p.terms for g in mono if g is not x and x in g.free}


def _worth_writing_out(problem: Problem) -> SummedRange | None:
    """Give the shortest constant range that is tied to others by a condition, floor or clip."""
    best: tuple[int, SummedRange] | None = None
    symbols = frozenset(r.symbol for r in problem.ranges)
    for r in problem.ranges:
        span = (r.hi - r.lo).constant
        if span is None or span >= _MAX_ENUMERATED or (best is not None and best[0] <= span):
            continue
        tied = any(r.symbol in a.p.free and (a.p.free & symbols != {r.symbol}) for a in problem.constraints)
        if tied or any(_hard(p, r.symbol) for p in (problem.body, *(a.p for a in problem.constraints))):
            best = (span, r)
    return best[1] if best else None


def _written_out(problem: Problem, r: SummedRange, work: Work) -> Poly:
    span = (r.hi - r.lo).constant or 0
    parts = []
    for k in range(span + 1):
        parts.append(eliminate(put(problem, r.symbol, r.lo + k, work.rules), work))
    return total_of(parts)


def _chosen(problem: Problem) -> SummedRange:
    """Choose a coordinate no other range depends on: one an equality fixes, else the simplest."""
    bounding = frozenset[Symbol]().union(*(r.lo.free | r.hi.free for r in problem.ranges))
    open_ = [(k, r) for k, r in enumerate(problem.ranges) if r.symbol not in bounding]
    return min(open_, key=lambda kr: (_difficulty(problem, kr[1].symbol), -kr[0]))[1]


def _difficulty(problem: Problem, x: Symbol) -> int:
    score = 0
    for a in problem.constraints:
        if x in a.p.free:
            parts = affine_parts(a.p, x)
            slope = None if parts is None else parts[0].constant
            if isinstance(a, Eq) and slope in (1, -1):
                return -1
            score += 0 if slope in (1, -1) else 1 if slope is not None else 2
    return score


def _by_equality(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Let an equality fix the coordinate; its range becomes a condition on the others."""
    x = r.symbol
    for a in problem.constraints:
        parts = affine_parts(a.p, x) if isinstance(a, Eq) and x in a.p.free else None
        slope = None if parts is None else parts[0].constant
        if parts is None or not slope:
            continue
        value = floordiv(-parts[1], slope)
        fits = eq(mod(parts[1], abs(slope)))
        extra = (fits, ge(value - r.lo), ge(r.hi - value))
        others = tuple(o for o in problem.constraints if o != a)
        left = Problem(problem.body, problem.ranges, others, problem.facts)
        if _divides(left, x):  # outside of the range, where all is gated away, no divisor may vanish
            value = r.lo + relu(value - r.lo)
        return eliminate(put(left, x, value, work.rules, extra), work)
    return None


def _divides(problem: Problem, x: Symbol) -> bool:
    """Whether something is divided by an expression in x."""
    pending = [problem.body, *(a.p for a in problem.constraints)]
    while pending:
        for generator in {g for mono in pending.pop().terms for g in mono if x in g.free}:
            if isinstance(generator, Floor) and x in generator.q.free:
                return True
            pending += generator.parts
    return False


def _by_condition_residues(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
    """Sum over residue classes where a condition contains floors of the coordinate."""
    hard = {g for a in problem.constraints for g in _hard(a.p, r.symbol)}
    floors: set[Generator] = {g for g in hard if isinstance(g, Floor)}
    period = common_period(floors, r.symbol) if floors else None
    if period is None or period == 1:
        return None
    parts = []
    for residue in range(period):
        last = floordiv(r.hi - r.lo - residue, period)
        turn = coordinate("t", last, 0)
        there = put(problem, r.symbol, turn * period + r.lo + residue, work.rules)
        ranges = (*there.ranges, SummedRange(the_symbol(turn), ZERO, last))
        parts.append(eliminate(Problem(there.body, ranges, there.constraints, there.facts), work))
    return total_of(parts)


def _by_clip(problem: Problem, r: SummedRange, work: Work) -> Poly | None:
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
        idle = extended(problem, replace_generator(problem.body, clip, ZERO, work.rules), ge(-clip.p))
        busy = extended(problem, replace_generator(problem.body, clip, clip.p, work.rules), active)
        return eliminate(idle, work) + eliminate(busy, work)
    busy = extended(problem, replace_generator(inside, clip, clip.p, work.rules), active)
    return eliminate(extended(problem, rest), work) + eliminate(busy, work)


def _innermost_clip(p: Poly, x: Symbol) -> Relu | None:
    clips = {c for c in generators_in(p) if isinstance(c, Relu) and x in c.free} if p.height else ()
    usable = [c for c in clips if all(d is c or x not in d.free for d in _nested_clips(c))]
    return min(usable, key=lambda c: (c.height, c.key), default=None)


def _nested_clips(generator: Generator) -> set[Relu]:
    return {g for g in generators_in(atom(generator)) if isinstance(g, Relu)}


def _by_bounds(problem: Problem, r: SummedRange, work: Work) -> Poly:
    """Turn the conditions on the coordinate into bounds, and sum."""
    x = r.symbol
    mine = tuple(a for a in problem.constraints if x in a.p.free)
    others = tuple(a for a in problem.constraints if x not in a.p.free)
    found = bounds_on(x, r.lo, r.hi, mine, problem.facts + others)
    body = problem.body
    for a in found.unused:
        body = body * indicator(a, problem.facts + others)
    left = tuple(o for o in problem.ranges if o is not r)
    outer = Problem(body, left, others, problem.facts)
    remaining = frozenset(o.symbol for o in left)
    if remaining and found.unused:
        raise NoClosedForm
    known = problem.facts + others
    whole = Competing(found.lows, found.highs, ())
    if remaining and not _hard(body, x) and prove(ge(_count(*_tightest(whole, known))), known):
        return _between(outer, x, whole, work)  # the range is never empty, so clips say it without cases
    pieces = dominating(found, remaining, known)
    return total_of(_between(outer, x, piece, work) for piece in pieces)


def _tightest(piece: Competing, known: tuple[Cond, ...]) -> tuple[Poly, Poly]:
    """Give the largest lower and the smallest upper bound."""
    lo = reduce(lambda a, b: tighter(a, b, known, 1), piece.lows)
    return lo, reduce(lambda a, b: tighter(a, b, known, -1), piece.highs)


def _count(lo: Poly, hi: Poly) -> Poly:
    return hi - lo + 1


def _between(outer: Problem, x: Symbol, piece: Competing, work: Work) -> Poly:
    """Sum between bounds that no longer compete in the coordinates that remain."""
    there = pruned(extended(outer, outer.body, *piece.conds))
    if there is None:
        return ZERO
    known = there.facts + there.constraints
    lo, hi = _tightest(piece, known)
    count = _count(lo, hi)
    verdict = prove(ge(count), known)
    if verdict is False:
        return ZERO
    remaining = frozenset(r.symbol for r in there.ranges)
    _check_size(there.body, x, lo, hi)
    if verdict or count.free & remaining:
        summed = sum_range(there.body, x, lo, hi)
    else:
        summed = _clipped_sum(there.body, x, lo, hi, known)
    if len(summed.terms) > _MAX_POWERS:
        raise NoClosedForm
    if any(isinstance(g, Sum) and g.free & remaining for mono in summed.terms for g in mono):
        raise NoClosedForm
    bound = (ge(count),) if not verdict and count.free & remaining else ()
    return eliminate(extended(there, tidied(summed, known), *bound), work)


def _clipped_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly, facts: tuple[Cond, ...]) -> Poly:
    """Sum over a range that may be empty: it ends where it begins."""
    clipped = relu(hi - lo + 1, facts)
    return sum_range(body, x, lo, lo + clipped - 1) if clipped.terms else ZERO


def _check_size(body: Poly, x: Symbol, lo: Poly, hi: Poly) -> None:
    """Refuse where powers of the bounds alone would be too many terms."""
    degree = 1 + max((mono.count(x) for mono in body.terms), default=0)
    if max(comb(len(end.terms) + degree, degree) for end in (lo, hi)) > _MAX_POWERS:
        raise NoClosedForm
