"""The longest chain of functions in a model, operator after operator.

Every operator waits for all of its inputs, so this is at most what a machine with any number of
units needs; a function of the model is taken as a chain of all its operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import AlgebraBudget, Poly, const, is_nonnegative, maximum, substitute
from tolcost.algebra.poly import poly
from tolcost.atoms.nodes import Program
from tolcost.cost.span import Depth, later, latest
from tolcost.dataclass import dataclass, field
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied, Lowered
from tolcost.models.scheme import chain_of

_MOST_NODES = 20_000
_MOST_CANDIDATES = 8
_MOST_HEIGHT = 2


def depth_of(cost: GraphCost) -> Depth | None:
    """The depth of a model, at most; None where it is not known, or not cheaply."""
    if len(cost.nodes) > _MOST_NODES or any(applied.uncosted for applied in cost.nodes):
        return None
    try:
        found = _latest_end(cost)
    except AlgebraBudget:
        return None
    if found is None:
        return None
    return Depth(tuple(substitute(c, cost.equal) for c in found.candidates), exact=False)


NodeDepth = int | Depth
"""A depth; one that is a number is an integer, and added up as such."""


def _latest_end(cost: GraphCost) -> Depth | None:
    depths_by_case = _Depths(cost)
    at: dict[str, NodeDepth] = {}
    deepest: NodeDepth = 0
    for step, applied in zip(cost.model.graph.nodes, cost.nodes, strict=True):
        own = depths_by_case.node(applied)
        used = dict.fromkeys((*step.inputs, *step.free)) if len(step.inputs) > 1 or step.free else step.inputs
        here = None if own is None else _after([at[name] for name in used if name in at], own)
        if here is None or (isinstance(here, Depth) and len(here.candidates) > _MOST_CANDIDATES):
            return None
        for name in step.outputs:
            at[name] = here
        if not step.outputs:
            deepest = _latest(deepest, here)
    ends = [at[name] for name in cost.model.graph.outputs if name in at]
    return _depth(_latest(deepest, *ends) if ends else deepest)


def _depth(level: NodeDepth) -> Depth:
    return Depth((const(level),)) if isinstance(level, int) else level


def _after(before: Sequence[NodeDepth], own: NodeDepth) -> NodeDepth:
    start = before[0] if len(before) == 1 else _latest(0, *before)
    if isinstance(own, int):
        return start + own if isinstance(start, int) else later(start, const(own))
    if len(own.candidates) == 1:
        return later(_depth(start), own.candidates[0])
    return _latest(*(later(_depth(start), candidate) for candidate in own.candidates))


def _latest(*levels: NodeDepth) -> NodeDepth:
    numbers = [level for level in levels if isinstance(level, int)]
    if len(numbers) == len(levels):
        return max(numbers)
    return latest(*map(_depth, levels), larger=_at_most)


def _at_most(a: Poly, b: Poly) -> Poly:
    """The larger of two where that is short to say; else of each term the larger share: neither is above.

    The larger of many, one within the other, took 47,000 characters.
    """
    exact = maximum(a, b)
    if exact.height <= _MOST_HEIGHT or a.den != 1 or b.den != 1:
        return exact
    shares = {mono: max(a.terms.get(mono, 0), b.terms.get(mono, 0)) for mono in (*a.terms, *b.terms)}
    if not all(is_nonnegative(poly({mono: 1})) for mono in shares):
        return exact
    return poly({mono: share for mono, share in shares.items() if share})


@dataclass(slots=True)
class _Depths:
    """Depths of operators, each distinct case once."""

    cost: GraphCost
    _cases: dict[int, NodeDepth | None] = field(default_factory=dict)
    _nodes: dict[int, NodeDepth | None] = field(default_factory=dict)
    _programs: dict[int, tuple[Poly, ...]] = field(default_factory=dict)

    def node(self, applied: Applied) -> NodeDepth | None:
        """The depth of a node."""
        if len(applied.parts) == 1 and (level := applied.parts[0][0].level) is not None:
            return level * applied.parts[0][1]
        if id(applied) not in self._nodes:
            self._nodes[id(applied)] = self._chain(applied)
        return self._nodes[id(applied)]

    def _chain(self, applied: Applied) -> NodeDepth | None:
        whole: NodeDepth = 0
        for lowered, times in applied.parts:
            own = self._case(lowered)
            if own is None:
                return None
            many = own * times if isinstance(own, int) else Depth(tuple(c * times for c in own.candidates))
            whole = _after([whole], many)
        return whole

    def _case(self, lowered: Lowered) -> NodeDepth | None:
        if id(lowered) not in self._cases:
            found = self._of(lowered)
            number = (
                found.candidates[0].constant if found is not None and len(found.candidates) == 1 else None
            )
            self._cases[id(lowered)] = found if number is None else number
        return self._cases[id(lowered)]

    def _program(self, program: Program) -> tuple[Poly, ...]:
        if id(program) not in self._programs:
            self._programs[id(program)] = chain_of(program)
        return self._programs[id(program)]

    def _of(self, lowered: Lowered) -> Depth | None:
        if lowered.level is not None:
            return Depth((const(lowered.level),))
        chain = lowered.chain or self._program(lowered.program)
        if not chain or lowered.data:
            return None
        found = Depth(chain)
        if lowered.point:
            return Depth((const(found.at(lowered.point)),))
        if lowered.lengths:
            found = latest(*(Depth((substitute(c, lowered.lengths),)) for c in found.candidates))
        return Depth(tuple(self.cost.within(c) for c in found.candidates))
