"""What a whole model comes to: the walk over its graph, and what is known when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    LARGEST_LENGTH,
    TRUE,
    ZERO,
    AlgebraBudget,
    Cond,
    Eq,
    Ge,
    Poly,
    Symbol,
    cond_text,
    const,
    ge,
    is_nonnegative,
    maximum,
    plain_bounds,
    prove,
    restricting,
    substitute,
    substitute_cond,
    substituting,
    to_words,
    weaker_bounds,
)
from tolcost.algebra.poly import poly
from tolcost.atoms.nodes import Program
from tolcost.catalogue.graph import GraphNode, Model, first_output
from tolcost.cost.span import Depth, later, latest, peak
from tolcost.diagnostics import visible
from tolcost.models.facts import Known, Names, bytes_known, enlarged, is_version
from tolcost.models.functions import Functions
from tolcost.models.lowered import Applied, Lowered
from tolcost.models.scheme import chain_of
from tolcost.models.walking import Session, walk_of

_MOST_FACTS = 12
_MOST_ASSUMED = 8


class Relied(Struct, frozen=True):
    """A condition that the forms of a model rely on, or a run checks, and the first node that needs it."""

    condition: Cond
    reason: str
    node: str
    checked: bool = False


class GraphCost(Struct, frozen=True, eq=False, dict=True):
    """What the nodes of a model's graph come to, one by one, and what is known of all its values.

    ``equal`` are lengths that turned out to be others; ``dimensions`` the lengths of the inputs by
    name; ``assumed`` the values whose shape only the file tells; ``formed`` lengths that an exporter
    wrote as forms in others, by what it wrote.
    """

    model: Model
    nodes: tuple[Applied, ...]
    equal: Mapping[Symbol, Poly]
    dimensions: Mapping[str, Poly]
    assumed: tuple[str, ...]
    names: Names
    session: Session
    functions: Functions
    formed: Mapping[str, Poly] = field(default_factory=dict)
    larger: Mapping[Symbol, Poly] = field(default_factory=dict)
    """Lengths, and the version of each that all conditions on it leave."""

    @property
    def steps(self) -> Iterator[tuple[GraphNode, Applied]]:
        """The nodes of the graph in order, each with what it comes to."""
        return zip(self.model.graph.nodes, self.nodes, strict=True)

    def known(self, name: str) -> Known | None:
        """What is known of a value of the graph."""
        return self.names.known(name)

    def within(self, form: Poly) -> Poly:
        """A form in versions of the lengths that remain: as large as all nodes need them to be."""
        equal, larger = self._substitutions
        return larger(equal(form))

    def settled(self, form: Poly) -> Poly:
        """A form in terms of the lengths that remain, as it is where conditions on single ones hold."""
        equal, larger = self._substitutions
        return equal(larger(equal(form))) if self.larger else equal(form)

    @cached_property
    def _substitutions(self) -> tuple[Callable[[Poly], Poly], ...]:
        """What puts lengths that remain into forms, and versions of them."""
        return tuple(map(substituting, (self.equal, self.larger)))

    def inside(self) -> dict[tuple[str, ...], tuple[Poly, ...]]:
        """Shapes of values in graphs inside of nodes: by first output of the node, graph, and name.

        For graphs further inside, an output and a graph come before that.  Branches that are not taken at
        any lengths are not there, and neither is what a graph holds.
        """
        return {
            (first_output(step.outputs), *place): tuple(substitute(d, self.equal) for d in shape)
            for step, applied in self.steps
            for lowered, _ in applied.parts
            for place, shape in lowered.inside.items()
        }

    def bytes(self, name: str) -> Poly | None:
        """The bytes of a value while the model runs; None where they are not known."""
        known = self.names.known(name)
        return None if known is None else bytes_known(known)


def analyze_graph(model: Model, session: Session, dims: Mapping[str, int] | None = None) -> GraphCost:
    """Walk a model's graph; lengths in ``dims`` are numbers from the start.

    Where a node cannot be costed, a length may have decided a branch before it: then the branch for that
    one length is tried, and kept where the walk gets further.
    """
    assumed: frozenset[Cond] = frozenset()
    cost = _walked(model, session, dims or {}, assumed)
    for _ in range(_MOST_ASSUMED):
        stuck = _stuck_at(cost)
        if stuck is None:
            break
        before = reversed(cost.nodes[: stuck[0] + 1])
        choices = (part.choices[-1] for node in before for part, _ in reversed(node.parts) if part.choices)
        choice = next(choices, None)
        if choice is None:
            break
        assumed |= {choice}
        other = _walked(model, session, dims or {}, assumed)
        further = _stuck_at(other)
        if further is not None and further <= stuck:
            break
        cost = other
    return cost


def with_forms(cost: GraphCost, told: Mapping[Symbol, Poly]) -> GraphCost:
    """The same walk with forms in place of lengths."""
    names = cost.names.copy()
    names.adopt(told)
    return replace(cost, names=names, equal=names.equal)


def _walked(model: Model, session: Session, dims: Mapping[str, int], assumed: frozenset[Cond]) -> GraphCost:
    walk = walk_of(session, model.opsets, Functions(model.functions, model.opsets))
    walk.dims, walk.assumed = dims, assumed
    walk.enter(model.graph)
    nodes = tuple(walk.run(model.graph.nodes))
    walk.leave(model.graph)
    names = walk.names.reopened()
    return GraphCost(
        model,
        nodes,
        names.equal,
        walk.dimensions,
        tuple(walk.assumed_shapes),
        names,
        session,
        walk.functions,
        walk.formed,
        walk.names.newest(),
    )


def _stuck_at(cost: GraphCost) -> tuple[int, int] | None:
    """The first node that has a definition and still cannot be costed; and how much is, of one that calls."""
    uncosted = (n for n, node in enumerate(cost.nodes) if any(u.defined for u in node.uncosted))
    n = next(uncosted, None)
    return None if n is None else (n, sum(times for _, times in cost.nodes[n].parts))


def conditions_of(cost: GraphCost) -> tuple[Relied, ...]:
    """What forms rely on, each once, in terms of the lengths that remain; then what only a run checks."""
    found: dict[Cond, Relied] = {}
    left: dict[tuple[str, str], Relied] = {}
    seen: set[int] = set()
    for applied, step in zip(cost.nodes, cost.model.graph.nodes, strict=True):
        for lowered, _ in applied.parts:
            if id(lowered) in seen:
                continue
            seen.add(id(lowered))
            for condition in lowered.conditions:
                for now in plain_bounds(_now(condition.condition, cost)):
                    if now != TRUE:
                        found.setdefault(now, Relied(now, condition.reason, step.name or step.title))
            for one in lowered.unproved:  # coordinates are each node's own: what reads the same is told once
                checked = Relied(one.condition, one.reason, step.name or step.title, checked=True)
                left.setdefault((cond_text(one.condition), checked.node), checked)
    found |= {one.condition: one for one in _ranges_of_equals(cost) if one.condition not in found}
    for weaker in weaker_bounds(found):
        del found[weaker]
    bounds = tuple(now for now in found if isinstance(now, Ge) and not now.p.height and len(now.p.free) == 1)
    restrict = restricting(bounds[:_MOST_FACTS])
    return (*(one for now, one in found.items() if not _follows(now, restrict)), *left.values())


def _ranges_of_equals(cost: GraphCost) -> Iterator[Relied]:
    """What a length that is another still has to be: of m elements no more than m are kept.

    The end of all lengths is none of that: it is the same for both.
    """
    for symbol, form in cost.equal.items():
        if is_version(symbol, form):  # conditions say what it needs
            continue
        most = None if symbol.hi is None or symbol.hi.constant == LARGEST_LENGTH else symbol.hi
        gaps = (form - symbol.lo if symbol.lo is not None else ZERO, ZERO if most is None else most - form)
        for gap in gaps:
            now = _now(ge(gap), cost)
            if now != TRUE and prove(now) is not True:
                yield Relied(now, f"{visible(symbol.name)} is {to_words(form)}", _taught_by(symbol, cost))


def _taught_by(symbol: Symbol, cost: GraphCost) -> str:
    """The first node that makes a length another one."""
    for step, applied in cost.steps:
        if any(symbol is one or symbol in form.free for one, form in applied.equal.items()):
            return step.name or step.title
    return ""


def _follows(condition: Cond, restrict: Callable[[Poly], Poly]) -> bool:
    """Whether a condition of clips and floors holds wherever the bounds of single lengths do."""
    if not isinstance(condition, Ge | Eq) or not condition.p.height:
        return False
    number = restrict(condition.p).constant
    return number is not None and (number >= 0 if isinstance(condition, Ge) else number == 0)


def _now(condition: Cond, cost: GraphCost) -> Cond:
    """A condition in terms of the lengths that remain; what bounds one of them is left as it is."""
    now = substitute_cond(condition, cost.equal)
    if not cost.larger or enlarged((now,)):
        return now
    return substitute_cond(substitute_cond(now, cost.larger), cost.equal)


def settling(cost: GraphCost, relied: Iterable[Relied], assumed: Iterable[Cond]) -> Callable[[Poly], Poly]:
    """A function that puts forms in terms of the lengths that remain, where all that is known holds."""
    known = (*assumed, *(one.condition for one in relied if not one.checked))
    facts = tuple(c for c in known if isinstance(c, (Ge, Eq)) and len(c.p.free) <= 3)[:_MOST_FACTS]
    restrict = restricting(facts)
    return cache(lambda form: restrict(cost.settled(form)))  # many nodes have the same


# === The longest chain of functions in a model, operator after operator.
#
# Every operator waits for all of its inputs, so this is at most what a machine with any number of
# units needs; a function of the model is taken as a chain of all its operators.


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
    for step, applied in cost.steps:
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


class _Depths(Struct):
    """Depths of operators, each distinct case once."""

    cost: GraphCost
    _cases: dict[int, NodeDepth | None] = field(default_factory=dict)
    _nodes: dict[int, NodeDepth | None] = field(default_factory=dict)
    _programs: dict[int, tuple[Poly, ...]] = field(default_factory=dict)
    _told: frozenset[Symbol] | None = None

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

    def _own_to_depth(self, chain: Iterable[Poly]) -> list[Symbol]:
        """What data decides and no other figure mentions: of a choice, the other side may be dearer."""
        mentioned = {s for form in chain for s in form.free if s.kind == "data"}
        if mentioned and self._told is None:
            parts = (lowered for applied in self.cost.nodes for lowered, _ in applied.parts)
            self._told = frozenset().union(*(lowered.data for lowered in parts))
        return sorted(mentioned - (self._told or frozenset()), key=lambda s: s.key)

    def _of(self, lowered: Lowered) -> Depth | None:
        if lowered.level is not None:
            return Depth((const(lowered.level),))
        chain = lowered.chain or self._program(lowered.program)
        if not chain or lowered.data:
            return None
        found = Depth(chain)
        for symbol in self._own_to_depth(chain):
            if symbol.hi is None:
                return None
            found = peak(found, symbol, symbol.hi)
        if lowered.point:
            return Depth((const(found.at(lowered.point)),))
        if lowered.lengths:
            found = latest(*(Depth((substitute(c, lowered.lengths),)) for c in found.candidates))
        return Depth(tuple(self.cost.within(c) for c in found.candidates))
