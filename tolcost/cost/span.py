"""Depth: the length of the longest chain of elementary functions on data, in closed form.

A ToL is ready when its last element is, so a value has one depth.  A fold is a chain, in which each step
waits for the previous one.  If its step is ``f(accumulator, e)`` with an associative ``f``, the tree reading
evaluates it as a balanced tree over its n elements and the start: the same n applications, in ``ceil(log2(n +
1))`` levels.  Over an empty range nothing is deep, so where lengths may make a range empty, the reported
depth is an upper bound.

A fold that adds to one member at a time (``accumulation``) is a tree for each member: of all numbers that may
meet there, since data decides which do.

Functions that compute coordinates pass depth on but add none, as they are not EOPs either.

A depth is the maximum of several closed forms.  They are never negative and grow only by addition, so a
logarithm in them always has a positive factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, ClassVar

from msgspec import Struct

from tolcost.algebra import (
    LARGEST_LENGTH,
    ONE,
    ZERO,
    AlgebraBudget,
    Cond,
    Eq,
    Ge,
    Log2,
    Monomial,
    Poly,
    Relu,
    Symbol,
    UnboundSymbol,
    atom,
    ceil_log2,
    const,
    data_symbol,
    direction,
    evaluate,
    exact_div,
    generators_in,
    indicator,
    is_nonnegative,
    maximum,
    minimum,
    product_of,
    range_of,
    relu,
    replace,
    step_of,
    substitute,
    symbols_of_cond,
    the_symbol,
    to_text,
    total,
)
from tolcost.algebra.poly import affine_parts, limit_effort, poly, powers_of
from tolcost.atoms.accumulation import Accumulation, accumulation
from tolcost.atoms.kit import (
    Schedules,
    blocks,
    bound_nodes,
    children,
    inner_nodes,
    is_numeric,
    is_ref,
    parts_first,
    resolve_name,
    schedules,
    static_condition,
)
from tolcost.atoms.nodes import Block, Build, Fold, Lambda, Node, Program, Ref, Select, Var, Where
from tolcost.atoms.totals import totals
from tolcost.cost.count import MOST_EFFORT, Change, filter_lengths, total_on_empty
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.elementary import FUNCTIONS
from tolcost.records import Record

_MOST_CANDIDATES = 6
"""With more candidates, those with equal markers are merged, as every node compares all pairs."""
_MOST_TERMS = 12
"""Terms up to which a comparison is proved; for longer forms, only their ranges are compared."""
_SMALL = 4
"""A length at which a bound on the depth should not be more than all functions."""
_FEW_CLIPS = 4
"""Clips that are resolved into their two sides before an expression is bounded by its sum."""


class Depth(Record, frozen=True):
    """The maximum of ``candidates``; ``exact`` is False where that may exceed the depth."""

    ignored: ClassVar = frozenset({"full"})

    candidates: tuple[Poly, ...]
    exact: bool = True
    full: tuple[Poly, ...] = ()
    """If none of these is negative, all ranges have an element; otherwise the depth may be smaller."""

    def __str__(self) -> str:
        """Write the depth as text."""
        texts = [to_text(candidate) for candidate in self.candidates]
        return texts[0] if len(texts) == 1 else f"Max({', '.join(texts)})"

    @property
    def form(self) -> Poly:
        """The maximum of its candidates as one closed form."""
        return reduce(maximum, self.candidates)

    def at(self, values: Mapping[Symbol, int]) -> int:
        """Evaluate exactly at a point."""
        return max(evaluate(candidate, values) for candidate in self.candidates)

    def map_forms(self, change: Change) -> Depth:
        """Return this depth with every candidate changed, without those that others are seen to reach now."""
        changed = dict.fromkeys(map(change, self.candidates))
        found = latest(*(Depth((form,), self.exact) for form in changed))
        return Depth(found.candidates, found.exact, tuple(map(change, self.full)))

    def is_exact(self, values: Mapping[Symbol, int]) -> bool:
        """Whether the form is known to equal the depth at a point."""
        return self.exact and all(evaluate(p, values) >= 0 for p in self.full)


ZERO_DEPTH = Depth((ZERO,))


def at_most(depth: Depth, most: Poly) -> Depth:
    """Limit a bound on a depth: no chain is longer than all functions together.

    A bound that is larger at the fewest lengths only stays as it is: a minimum of both is longer to read.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> print(at_most(Depth((n * n + 2,), exact=False), n * n + n))
    n**2 + 2
    >>> print(at_most(Depth((n**3,), exact=False), n * n + n))
    n*Min(n**2, n + 1)
    """
    if depth.exact and not depth.full:
        return depth
    found = (
        most if _never_less(c, most) else minimum(c, most) if _larger(c, most) else c
        for c in depth.candidates
    )
    return Depth(tuple(dict.fromkeys(found)), depth.exact, depth.full)


def _larger(a: Poly, b: Poly) -> bool:
    """Whether ``a > b`` where every length is small, but not the smallest."""
    difference = a - b
    try:
        return evaluate(difference, dict.fromkeys(difference.free, _SMALL)) > 0
    except (AlgebraBudget, UnboundSymbol):
        return False


def later(depth: Depth, by: Poly) -> Depth:
    """Add a number of steps to a depth."""
    return Depth(tuple(candidate + by for candidate in depth.candidates), depth.exact)


def latest(
    *depths: Depth,
    markers: frozenset[Symbol] = frozenset(),
    larger: Callable[[Poly, Poly], Poly] = maximum,
) -> Depth:
    """Return the maximum of depths.

    ``markers`` are symbols that have to stay plain summands: where there are many candidates, only those with
    the same markers are merged into one expression, by ``larger``.
    """
    exact = all(depth.exact for depth in depths)
    kept: list[Poly] = []
    given = [candidate for depth in depths for candidate in depth.candidates]
    numbers = [number for candidate in given if (number := candidate.constant) is not None]
    if len(numbers) == len(given):
        return Depth((const(max(numbers)),), exact)
    for candidate in [c for c in given if c != ZERO] or given[:1]:  # no depth is negative
        if not any(_never_less(other, candidate) for other in kept):
            kept = [other for other in kept if not _never_less(candidate, other)]
            kept.append(candidate)
    return Depth(tuple(_merged(kept, markers, larger)), exact)


def _never_less(a: Poly, b: Poly) -> bool:
    """Whether ``a >= b`` is proved cheaply; one candidate fewer is not worth a long proof."""
    difference = a - b
    if difference.constant is not None:
        return difference.constant >= 0
    if len(difference.terms) <= _MOST_TERMS and difference.height <= 1:
        return is_nonnegative(difference)
    low = range_of(difference)[0]
    return low is not None and low >= 0


def _merged(
    candidates: list[Poly], markers: frozenset[Symbol], larger: Callable[[Poly, Poly], Poly]
) -> list[Poly]:
    if len(candidates) <= _MOST_CANDIDATES:
        return candidates
    groups: dict[frozenset[Symbol], Poly] = {}
    for candidate in candidates:
        group = candidate.free & markers
        groups[group] = larger(groups[group], candidate) if group in groups else candidate
    return list(groups.values())


def peak(depth: Depth, symbol: Symbol, extent: Poly) -> Depth:
    """Return the maximum of a depth while a coordinate runs from 1 to its extent."""
    exact = depth.exact
    found: list[Poly] = []
    for candidate in depth.candidates:
        if symbol not in candidate.free:
            found.append(candidate)
        elif (grows := _grows(candidate, symbol)) is not None:
            found.append(_at_end(candidate, symbol, extent, grows))
        elif (top := _turning(candidate, symbol, extent)) is not None:
            found.append(top)
        else:
            exact = False
            found.append(_bounded(candidate, symbol, extent))
    return Depth(tuple(found), exact)


def _at_end(p: Poly, symbol: Symbol, extent: Poly, grows: bool) -> Poly:
    """Substitute the end of the range at which a monotonic expression is largest.

    The range may be empty; its end is then taken as 1.
    """
    last = extent if is_nonnegative(extent - 1) else maximum(extent, ONE)
    return substitute(p, {symbol: last if grows else ONE})


def _turning(p: Poly, symbol: Symbol, extent: Poly) -> Poly | None:
    """Return the maximum of an expression that grows up to the point where a clip changes, and falls after.

    >>> from tolcost.algebra import coordinate, length
    >>> n = length("n")
    >>> i = coordinate("i", 2 * n - 1)
    >>> _turning(minimum(i, n) - maximum(i - n + 1, 1) + 1, the_symbol(i), 2 * n - 1)
    n
    """
    for clip in sorted(_clips_in(p, symbol), key=lambda g: g.key):
        times, rest = affine_parts(clip.p, symbol) or (ZERO, ZERO)
        if times not in (ONE, -ONE):
            continue
        place = -rest * times
        if not is_nonnegative(place - 1) or not is_nonnegative(extent - place):
            continue
        sides = [replace(p, clip, side) for side in (ZERO, clip.p)][:: 1 if times == ONE else -1]
        if _grows(sides[0], symbol) is True and _grows(sides[1], symbol) is False:
            return substitute(p, {symbol: place})
    return None


def _clips_in(p: Poly, symbol: Symbol) -> list[Relu]:
    return [g for g in generators_in(p) if isinstance(g, Relu) and symbol in g.free]


def logs_of(p: Poly, symbol: Symbol) -> list[Log2]:
    """Return the logarithms whose argument mentions a symbol."""
    found = (g for g in generators_in(p) if isinstance(g, Log2) and symbol in g.free)
    return sorted(found, key=lambda log: log.key)


def _grows(p: Poly, symbol: Symbol) -> bool | None:
    """Whether an expression grows with a symbol, or falls; None if neither is proved.

    Signs usually decide, without working out a step.  Otherwise an expression is monotonic if the arguments
    of its logarithms are, and so is the rest while the logarithms stay fixed.
    """
    way = direction(p, symbol)
    if way is not None:
        return way > 0
    logs = logs_of(p, symbol)
    for log in logs:
        p = replace(p, log, data_symbol("log", 0))
    pieces = [piece for piece in (p, *(log.p for log in logs)) if symbol in piece.free]
    steps = [step_of(piece, symbol) for piece in pieces]
    if all(is_nonnegative(step) for step in steps):
        return True
    return False if all(is_nonnegative(-step) for step in steps) else None


def _bounded(candidate: Poly, symbol: Symbol, extent: Poly) -> Poly:
    """Bound the maximum of nonnegative numbers: by the sides of clips, else by their sum."""
    for log in logs_of(candidate, symbol):
        most = _by_sides(log.p, symbol, extent, _FEW_CLIPS)
        whole = total(log.p, [(symbol, ONE, extent)]) + 1 if most is None else most
        candidate = replace(candidate, log, ceil_log2(whole))
    if symbol not in candidate.free:
        return candidate
    found = _by_sides(candidate, symbol, extent, _FEW_CLIPS)
    return total(candidate, [(symbol, ONE, extent)]) if found is None else found


def _by_sides(p: Poly, symbol: Symbol, extent: Poly, clips: int) -> Poly | None:
    """Bound an expression over a range, replacing each clip by one of its sides; None where that is too hard.

    A subtracted clip is at least either of its sides, so the better bound counts; for an added clip the
    larger one does.

    >>> from tolcost.algebra import coordinate, length, minimum
    >>> n, r = length("n"), length("r")
    >>> i = coordinate("i", n)
    >>> _by_sides(minimum(i + r, n) - maximum(i - r, 1) + 1, the_symbol(i), n, 2)
    Min(n, 2*r + 1)
    >>> _by_sides(i * relu(n - i - r) + i, the_symbol(i), n, 2) is None  # the factor moves as well
    True
    """
    grows = _grows(p, symbol)
    if grows is not None:
        return _at_end(p, symbol, extent, grows)
    clip = min(_clips_in(p, symbol), key=lambda g: g.key, default=None)
    if clip is None or not clips or len(p.terms) > _MOST_TERMS * clips:
        return None
    parts = powers_of(p, clip)
    rest, factor = parts.pop(0, ZERO), parts.pop(1, ZERO)
    if parts or clip in generators_in(rest) | generators_in(factor):
        return None
    adds = is_nonnegative(factor)
    if not adds and not is_nonnegative(-factor):
        return None
    still = poly({mono: coef for mono, coef in p.terms.items() if not _moves(mono, symbol)}, p.den)
    times = factor if adds else -factor
    divides = times.constant is None and symbol not in times.free
    shared = exact_div(p - still, times) if divides else None
    if shared is not None:  # as for the width and height of a window
        most = _by_sides(shared, symbol, extent, clips)
        return None if most is None else still + times * most
    sides = [_by_sides(side, symbol, extent, clips - 1) for side in (rest, rest + factor * clip.p)]
    told = [side for side in sides if side is not None]
    if not told or (adds and len(told) < len(sides)):
        return None
    return reduce(maximum if adds else minimum, told)


def _moves(mono: Monomial, symbol: Symbol) -> bool:
    return any(symbol in generator.free for generator in mono)


# ---- of a program ----------------------------------------------------------------------------


class Depths(Struct, frozen=True, eq=False):
    """The depths of a program with every reduce as a chain, and with associative ones as trees."""

    chain: Depth
    tree: Depth

    def at_most(self, most: Poly) -> Depths:
        """Limit both depths by the number of all functions; a tree is never deeper than its chain."""
        chain = at_most(self.chain, most)
        return self if chain == self.chain else Depths(chain, at_most(self.tree, most))

    def map_forms(self, change: Change) -> Depths:
        """Return both depths with every form changed."""
        return Depths(self.chain.map_forms(change), self.tree.map_forms(change))


def depths(program: Program, found: Schedules | None = None, most: Poly | None = None) -> Depths:
    """Return the depth of the deepest output of a program; ``most`` is the number of all its functions."""
    inside = found or schedules(program)
    chains = _DepthPass(program, inside, trees=False)
    try:
        with limit_effort(MOST_EFFORT):
            chain = chains.depth()
            tree = _DepthPass(program, inside, trees=True).depth() if chains.any_tree() else chain
            deepest = Depths(chain, tree)
            return deepest if most is None else deepest.at_most(most)
    except AlgebraBudget as error:
        raise Rejected(
            Diagnostic("T0601", f"the depth of {program.name} is too large to compute: {error}")
        ) from error


class _DepthPass:
    """One traversal of a program that computes the depth of every node, operands first."""

    def __init__(self, program: Program, found: Schedules, trees: bool) -> None:
        self._program = program
        self._bound = bound_nodes(program, found)
        self._filters = filter_lengths(found)
        self._totals = totals(program) if any(self._filters.values()) else {}
        self._granted = tuple(noted.condition for noted in program.conditions)
        self._trees = trees
        self._full: dict[Poly, None] = {}
        self._accumulators: dict[Var, Symbol] = {}
        self._known: dict[Node, Depth] = {}

    def depth(self) -> Depth:
        """Return the depth of the program."""
        loops = (node for _, node in self._program.bindings if isinstance(node, Fold) and node.ends)
        ends = [*(out.node for out in self._program.outputs), *loops]
        for node in ends:
            self._visit(node)
        deepest = latest(ZERO_DEPTH, *(self._known[node] for node in ends))
        candidates = tuple(total_on_empty(p, self._granted) for p in deepest.candidates)
        return Depth(candidates, deepest.exact, tuple(self._full))

    def any_tree(self) -> bool:
        """Whether any fold that was visited can be evaluated as a tree."""
        folds = [node for node in self._known if isinstance(node, Fold)]
        return any(
            tree_element(fold, self._bound) is not None or accumulation(fold, self._bound) is not None
            for fold in folds
        )

    def _visit(self, root: Node) -> None:
        for node in parts_first((root,), self._needed):
            if node not in self._known:
                self._known[node] = _RULES.get(type(node), _DepthPass._computed)(self, node)

    def _needed(self, node: Node) -> tuple[Node, ...]:
        if node in self._known:
            return ()
        if isinstance(node, Fold):
            self._accumulators.setdefault(node.accumulator, the_symbol(data_symbol("accumulator", 0)))
        if isinstance(node, Ref):
            return (self._bound[node.var],) if node.var in self._bound else ()
        return (*children(node), *(block.result for block in blocks(node)))

    def _computed(self, node: Node) -> Depth:
        return self._after(children(node))

    def _applied(self, node: Lambda | Where) -> Depth:
        return later(self._computed(node), ONE if node.charge == "data" else ZERO)

    def _variable(self, node: Ref) -> Depth:
        if node.var in self._bound:
            return self._known[self._bound[node.var]]
        return Depth((atom(self._accumulators[node.var]),))

    def _build(self, node: Build) -> Depth:
        return self._where_any(self._over(self._of(node.body), node), node)

    def _after(self, nodes: tuple[Node, ...]) -> Depth:
        found = [depth for node in nodes if (depth := self._known[node]) is not ZERO_DEPTH]
        if len(found) > 1:
            return self._latest(*found)
        return found[0] if found else ZERO_DEPTH

    def _of(self, block: Block) -> Depth:
        return self._known[block.result]

    def _latest(self, *depths: Depth) -> Depth:
        return latest(*depths, markers=frozenset(self._accumulators.values()))

    def _over(self, depth: Depth, node: Build | Fold) -> Depth:
        """Return the maximum of a depth over the coordinates of a loop."""
        for symbol, limit in reversed(self._filters[node.body]):
            endless = limit == LARGEST_LENGTH and symbol in self._totals
            most = atom(self._totals[symbol].most) if endless else limit
            widened = peak(depth, symbol, most)
            depth = Depth(widened.candidates, depth.exact and widened.candidates == depth.candidates)
        for symbol, extent in reversed(tuple(zip(node.coords, node.extents, strict=True))):
            depth = peak(depth, symbol, extent)
        return self._latest(depth)

    def _where_any(self, depth: Depth, node: Build | Fold) -> Depth:
        """Return the depth of the elements of a loop, as an upper bound where the loop may have none."""
        if ZERO in node.extents:
            return ZERO_DEPTH
        if depth.candidates == ZERO_DEPTH.candidates:
            return depth
        open_ = [extent - 1 for extent in node.extents if not is_nonnegative(extent - 1, self._granted)]
        if any(symbol.kind != "length" for p in open_ for symbol in p.free):
            return Depth(depth.candidates, False)
        self._full |= dict.fromkeys(open_)
        markers = frozenset(self._accumulators.values())
        if open_ and not any(p.free & markers for p in depth.candidates):  # no depth is negative
            return Depth(tuple(relu(p, self._granted) for p in depth.candidates), depth.exact)
        return depth

    def _fold(self, node: Fold) -> Depth:
        start = self._known[node.start]
        element = tree_element(node, self._bound) if self._trees else None
        if element is None:
            into = accumulation(node, self._bound) if self._trees else None
            return self._chain(node, start) if into is None else self._into_place(node, into, start)
        leaves = self._latest(start, self._where_any(self._over(self._known[element], node), node))
        return later(leaves, ceil_log2(product_of(node.extents) + 1))

    def _into_place(self, node: Fold, into: Accumulation, start: Depth) -> Depth:
        """Return the depth of sums into place, each a tree, at most: data decides how many numbers meet."""
        terms = self._where_any(self._over(self._after(into.needed), node), node)
        deepest = later(self._latest(start, terms), ceil_log2(into.meeting + 1))
        return Depth(deepest.candidates, False)

    def _chain(self, node: Fold, start: Depth) -> Depth:
        """Return the depth of steps that each wait for the previous one.

        A step takes ``a`` from the accumulator, and ``b`` without it: after n steps the depth is the larger
        of ``start + n*a`` and ``b + (n-1)*a``.
        """
        marker = self._accumulators[node.accumulator]
        step = self._of(node.body)
        waiting = [p - atom(marker) for p in step.candidates if marker in p.free]
        ready = tuple(p for p in step.candidates if marker not in p.free)
        if node.ends is not None:  # a turn begins only when the condition after the previous turn is known
            around = dict.fromkeys(self._accumulators.values(), ZERO)
            waiting += [substitute(p, around) for p in ready]
            ready = tuple(p for p in ready if not p.free.isdisjoint(around))
        if not waiting:
            return self._forgetful(node, start, step)
        each = reduce(maximum, waiting)
        steps, but_one, exact = self._steps(node, each)
        exact = exact and is_numeric(node.type)  # else a step may need only what was ready earlier
        chained = Depth(later(start, steps).candidates, step.exact and start.exact and exact)
        if not ready:
            return chained
        first = self._over(Depth(ready), node)
        uneven = first.candidates != ready and each != ZERO
        first = self._where_any(first, node)
        return self._latest(chained, Depth(later(first, but_one).candidates, first.exact and not uneven))

    def _forgetful(self, node: Fold, start: Depth, step: Depth) -> Depth:
        """Return the depth of a fold whose step ignores the accumulator: only the last step counts."""
        deepest = self._over(step, node)
        if not is_nonnegative(product_of(node.extents) - 1):
            return Depth(self._latest(start, deepest).candidates, False)
        return Depth(deepest.candidates, deepest.exact and set(deepest.candidates) == set(step.candidates))

    def _steps(self, node: Fold, each: Poly) -> tuple[Poly, Poly, bool]:
        """Return the length of all steps, of all but one (or of none), and whether both are exact."""
        ranges = [(s, ONE, e) for s, e in zip(node.coords, node.extents, strict=True)]
        volume = product_of(node.extents)
        mentioned = [s for s in node.coords if s in each.free]
        filters = [s for s, _ in self._filters[node.body] if s in each.free]
        if not mentioned and not filters:
            some = all(is_nonnegative(extent - 1, self._granted) for extent in node.extents)
            but_one = volume - 1 if some else relu(volume - 1, self._granted)
            return each * volume, each * but_one, True
        if filters or any(logs_of(each, s) for s in mentioned):
            most = self._over(Depth((each,)), node).candidates[0]
            return most * volume, most * volume, False
        every = total(each, ranges)
        return every, every, False

    def _select(self, node: Select) -> Depth:
        """Return the depth of a choice, which is at least that of a condition on data."""
        chosen, condition = self._chosen(node), self._after(children(node))
        return chosen if condition is ZERO_DEPTH else self._latest(chosen, condition)

    def _chosen(self, node: Select) -> Depth:
        then, other = self._of(node.then), self._of(node.other)
        both = self._latest(then, other)
        if set(then.candidates) == set(other.candidates):
            return both
        condition = static_condition(node)
        if condition is None or not self._simple(condition, (*then.candidates, *other.candidates)):
            return Depth(both.candidates, False)
        holds = indicator(condition)
        one, two = (reduce(maximum, depth.candidates) for depth in (then, other))
        chosen = holds * one + (1 - holds) * two
        return Depth((chosen,), then.exact and other.exact)

    def _simple(self, condition: Cond, candidates: tuple[Poly, ...]) -> bool:
        """Whether a choice is worth one exact expression: one comparison of lengths, plain sides."""
        markers = frozenset(self._accumulators.values())
        lengths = all(symbol.kind == "length" for symbol in symbols_of_cond(condition))
        plain = all(p.height == 0 and not p.free & markers for p in candidates)
        return isinstance(condition, (Ge, Eq)) and lengths and plain


_RULES: Mapping[type, Callable[[_DepthPass, Any], Depth]] = {
    Ref: _DepthPass._variable,
    Lambda: _DepthPass._applied,
    Where: _DepthPass._applied,
    Build: _DepthPass._build,
    Fold: _DepthPass._fold,
    Select: _DepthPass._select,
}
"""The depth of a node; that of all others is the latest of their operands."""


def tree_element(node: Fold, bound: dict[Var, Node]) -> Node | None:
    """Return ``e`` if the step of a fold is exactly ``f(accumulator, e)`` with an associative ``f``."""
    step = resolve_name(node.body.result, bound)
    if (
        node.ends is not None
        or not isinstance(step, Lambda)
        or step.charge != "data"
        or not FUNCTIONS[step.function].associative
    ):
        return None
    left, right = step.args
    if is_ref(left, node.accumulator) and not _mentions(right, node.accumulator, bound):
        return right
    commutes = FUNCTIONS[step.function].commutative
    if commutes and is_ref(right, node.accumulator) and not _mentions(left, node.accumulator, bound):
        return left
    return None


def _mentions(node: Node, var: Var, bound: dict[Var, Node]) -> bool:
    return any(is_ref(found, var) for found in inner_nodes((node,), bound))
