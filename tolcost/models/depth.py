"""The longest chain of functions in a model, operator after operator.

Every operator waits for all of its inputs, so this is at most what a machine with any number of
units needs; a function of the model is taken as a chain of all its operators.
"""

from __future__ import annotations

from tolcost.algebra import AlgebraBudget, Poly, const, is_nonnegative, maximum, substitute
from tolcost.algebra.poly import poly
from tolcost.atoms.nodes import Program
from tolcost.cost import depths
from tolcost.cost.span import ZERO_DEPTH, Depth, later, latest
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Rejected
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Lowered
from tolcost.models.walking import Applied

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


def _latest_end(cost: GraphCost) -> Depth | None:
    depths_by_case = _Depths(cost)
    at: dict[str, Depth] = {}
    deepest = ZERO_DEPTH
    for step, applied in zip(cost.model.graph.nodes, cost.nodes, strict=True):
        own = depths_by_case.node(applied)
        before = [at[name] for name in dict.fromkeys((*step.inputs, *step.free)) if name in at]
        here = _after(before, own) if own is not None else None
        if here is None or len(here.candidates) > _MOST_CANDIDATES:
            return None
        at.update(dict.fromkeys(step.outputs, here))
        if not any(name in at for name in step.outputs):
            deepest = _latest(deepest, here)
    ends = [at[name] for name in cost.model.graph.outputs if name in at]
    return _latest(deepest, *ends) if ends else deepest


def _after(before: list[Depth], own: Depth) -> Depth | None:
    start = before[0] if len(before) == 1 else _latest(ZERO_DEPTH, *before)
    if len(own.candidates) == 1:
        return later(start, own.candidates[0])
    return _latest(*(later(start, candidate) for candidate in own.candidates))


def _latest(*depths: Depth) -> Depth:
    return latest(*depths, larger=_at_most)


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
    _cases: dict[int, Depth | None] = field(default_factory=dict)
    _nodes: dict[int, Depth | None] = field(default_factory=dict)
    _programs: dict[int, Depth | None] = field(default_factory=dict)

    def node(self, applied: Applied) -> Depth | None:
        """The depth of a node."""
        if id(applied) not in self._nodes:
            self._nodes[id(applied)] = self._chain(applied)
        return self._nodes[id(applied)]

    def _chain(self, applied: Applied) -> Depth | None:
        whole = ZERO_DEPTH
        for lowered, times in applied.parts:
            own = self._case(lowered)
            longer = None if own is None else _after([whole], Depth(tuple(c * times for c in own.candidates)))
            if longer is None:
                return None
            whole = longer
        return whole

    def _case(self, lowered: Lowered) -> Depth | None:
        if id(lowered) not in self._cases:
            self._cases[id(lowered)] = self._of(lowered)
        return self._cases[id(lowered)]

    def _program(self, program: Program) -> Depth | None:
        if id(program) not in self._programs:
            self._programs[id(program)] = _depth_of(program)
        return self._programs[id(program)]

    def _of(self, lowered: Lowered) -> Depth | None:
        found = Depth(lowered.chain) if lowered.chain else self._program(lowered.program)
        if found is None or lowered.data:
            return None
        if lowered.point:
            return latest(found) if lowered.chain else Depth((const(found.at(lowered.point)),))
        if lowered.lengths:
            found = latest(*(Depth((substitute(c, lowered.lengths),)) for c in found.candidates))
        return Depth(tuple(self.cost.within(c) for c in found.candidates))


def _depth_of(program: Program) -> Depth | None:
    try:
        return depths(program).chain
    except (Rejected, AlgebraBudget, RecursionError):
        return None
