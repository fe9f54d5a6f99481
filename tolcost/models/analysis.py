"""The analysis of a whole model: the traversal of its graph, and its results."""

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
from tolcost.catalogue.specs import Spec
from tolcost.cost.span import Depth, later, latest, peak
from tolcost.diagnostics import visible
from tolcost.models.facts import Known, ValueTable, bytes_known, enlarged, is_version
from tolcost.models.functions import Functions
from tolcost.models.lowered import Applied, Lowered
from tolcost.models.reach import index_conditions
from tolcost.models.scheme import chain_of
from tolcost.models.walking import Session, walk_of

_MOST_FACTS = 12
"""Conditions used to simplify forms: each further one makes every simplification slower."""
_MOST_ASSUMED = 8
"""Branches tried for single lengths: each attempt traverses the model again."""


class Relied(Struct, frozen=True):
    """A condition of a model's forms, or one that a run checks, with the first node that needs it."""

    condition: Cond
    reason: str
    node: str
    checked: bool = False


class GraphCost(Struct, frozen=True, eq=False, dict=True):
    """The costs of all nodes of a model's graph, and everything known about its values.

    ``equal`` maps lengths to others that they turned out to equal; ``dimensions`` has the lengths of the
    inputs by name; ``assumed`` names the values whose shape only the file declares; ``formed`` has lengths
    that an exporter wrote as forms in others, by the text written.
    """

    model: Model
    nodes: tuple[Applied, ...]
    equal: Mapping[Symbol, Poly]
    dimensions: Mapping[str, Poly]
    assumed: tuple[str, ...]
    names: ValueTable
    session: Session
    functions: Functions
    formed: Mapping[str, Poly] = field(default_factory=dict)
    larger: Mapping[Symbol, Poly] = field(default_factory=dict)
    """Lengths, each with the version whose range all conditions on it leave."""

    @property
    def steps(self) -> Iterator[tuple[GraphNode, Applied]]:
        """The nodes of the graph in order, each with its result."""
        return zip(self.model.graph.nodes, self.nodes, strict=True)

    def known(self, name: str) -> Known | None:
        """Return the knowledge about a value of the graph."""
        return self.names.known(name)

    def spec_of(self, step: GraphNode) -> Spec | None:
        """Return the definition of a node's operator; None if a function of the model computes it."""
        called = step.held is not None or self.functions.called(step) is not None
        return (
            None
            if called
            else self.session.library.find(step.domain, step.op, self.model.opsets.get(step.domain))
        )

    def within(self, form: Poly) -> Poly:
        """Rewrite a form in the remaining lengths, each with the range that all nodes require."""
        equal, larger = self._substitutions
        return larger(equal(form))

    def settled(self, form: Poly) -> Poly:
        """Rewrite a form in the remaining lengths, simplified under the conditions on single lengths."""
        equal, larger = self._substitutions
        return equal(larger(equal(form))) if self.larger else equal(form)

    @cached_property
    def _substitutions(self) -> tuple[Callable[[Poly], Poly], ...]:
        """Functions that substitute the remaining lengths into forms, and their narrower versions."""
        return tuple(map(substituting, (self.equal, self.larger)))

    def inside(self) -> dict[tuple[str, ...], tuple[Poly, ...]]:
        """Return the shapes of values in nested graphs: by first output of the node, graph, and name.

        For more deeply nested graphs, an output and a graph precede that for each level.  Branches that are
        not taken at any lengths are missing, and so are the constants of graphs.
        """
        return {
            (first_output(step.outputs), *place): tuple(substitute(d, self.equal) for d in shape)
            for step, applied in self.steps
            for lowered, _ in applied.parts
            for place, shape in lowered.inside.items()
        }

    def bytes(self, name: str) -> Poly | None:
        """Return the bytes of a value while the model runs; None if they are unknown."""
        known = self.names.known(name)
        return None if known is None else bytes_known(known)


def analyze_graph(model: Model, session: Session, dims: Mapping[str, int] | None = None) -> GraphCost:
    """Traverse a model's graph; lengths in ``dims`` are numbers from the start.

    If a node cannot be costed, an earlier branch may have been decided for all lengths but one: then the
    branch for that one length is tried, and kept if the traversal gets further.
    """
    assumed: frozenset[Cond] = frozenset()
    cost = _traverse(model, session, dims or {}, assumed)
    for _ in range(_MOST_ASSUMED):
        stuck = _first_uncosted(cost)
        if stuck is None:
            break
        before = reversed(cost.nodes[: stuck[0] + 1])
        choices = (part.choices[-1] for node in before for part, _ in reversed(node.parts) if part.choices)
        choice = next(choices, None)
        if choice is None:
            break
        assumed |= {choice}
        other = _traverse(model, session, dims or {}, assumed)
        further = _first_uncosted(other)
        if further is not None and further <= stuck:
            break
        cost = other
    return cost


def with_forms(cost: GraphCost, told: Mapping[Symbol, Poly]) -> GraphCost:
    """Substitute forms for lengths in the results of a traversal."""
    names = cost.names.copy()
    names.adopt(told)
    return replace(cost, names=names, equal=names.equal)


def _traverse(model: Model, session: Session, dims: Mapping[str, int], assumed: frozenset[Cond]) -> GraphCost:
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


def _first_uncosted(cost: GraphCost) -> tuple[int, int] | None:
    """Return the first defined node that cannot be costed, and how many operators inside it can."""
    uncosted = (n for n, node in enumerate(cost.nodes) if any(u.defined for u in node.uncosted))
    n = next(uncosted, None)
    return None if n is None else (n, sum(times for _, times in cost.nodes[n].parts))


def conditions_of(cost: GraphCost) -> tuple[Relied, ...]:
    """Return the distinct conditions of the forms, in the remaining lengths; then those that a run checks."""
    found: dict[Cond, Relied] = {}
    left: dict[tuple[str, str], Relied] = {}
    seen: set[int] = set()
    for applied, step in zip(cost.nodes, cost.model.graph.nodes, strict=True):
        for lowered, _ in applied.parts:
            if id(lowered) in seen:
                continue
            seen.add(id(lowered))
            for condition in lowered.conditions:
                for now in plain_bounds(_rewrite_condition(condition.condition, cost)):
                    if now != TRUE:
                        found.setdefault(now, Relied(now, condition.reason, step.name or step.title))
            for one in lowered.unproved:  # by text, as coordinates differ from node to node
                checked = Relied(one.condition, one.reason, step.name or step.title, checked=True)
                left.setdefault((cond_text(one.condition), checked.node), checked)
    for needed in index_conditions(cost.steps, cost.names.known, cost.spec_of):
        now, step = _rewrite_condition(needed.condition, cost), needed.node
        if now != TRUE:
            found.setdefault(now, Relied(now, needed.reason, step.name or step.title))
    found |= {one.condition: one for one in _ranges_of_equals(cost) if one.condition not in found}
    for weaker in weaker_bounds(found):
        del found[weaker]
    bounds = tuple(now for now in found if isinstance(now, Ge) and not now.p.height and len(now.p.free) == 1)
    restrict = restricting(bounds[:_MOST_FACTS])
    return (*(one for now, one in found.items() if not _follows(now, restrict)), *left.values())


def _ranges_of_equals(cost: GraphCost) -> Iterator[Relied]:
    """Yield the range conditions of lengths that equal others: filtering m elements keeps at most m.

    The largest admissible length is left out, since it is the same for both.
    """
    for symbol, form in cost.equal.items():
        if is_version(symbol, form):  # conditions of nodes state its range already
            continue
        most = None if symbol.hi is None or symbol.hi.constant == LARGEST_LENGTH else symbol.hi
        gaps = (form - symbol.lo if symbol.lo is not None else ZERO, ZERO if most is None else most - form)
        for gap in gaps:
            now = _rewrite_condition(ge(gap), cost)
            if now != TRUE and prove(now) is not True:
                yield Relied(
                    now, f"{visible(symbol.name)} is {to_words(form)}", _first_equating_node(symbol, cost)
                )


def _first_equating_node(symbol: Symbol, cost: GraphCost) -> str:
    """Return the first node that makes a length equal to another."""
    for step, applied in cost.steps:
        if any(symbol is one or symbol in form.free for one, form in applied.equal.items()):
            return step.name or step.title
    return ""


def _follows(condition: Cond, restrict: Callable[[Poly], Poly]) -> bool:
    """Whether a condition with clips and floors follows from the bounds of single lengths."""
    if not isinstance(condition, Ge | Eq) or not condition.p.height:
        return False
    number = restrict(condition.p).constant
    return number is not None and (number >= 0 if isinstance(condition, Ge) else number == 0)


def _rewrite_condition(condition: Cond, cost: GraphCost) -> Cond:
    """Rewrite a condition in the remaining lengths; a bound of a single length stays as it is."""
    now = substitute_cond(condition, cost.equal)
    if not cost.larger or enlarged((now,)):
        return now
    return substitute_cond(substitute_cond(now, cost.larger), cost.equal)


def settling(cost: GraphCost, relied: Iterable[Relied], assumed: Iterable[Cond]) -> Callable[[Poly], Poly]:
    """Return a function that rewrites forms in the remaining lengths, simplified under known conditions."""
    known = (*assumed, *(one.condition for one in relied if not one.checked))
    facts = tuple(c for c in known if isinstance(c, (Ge, Eq)) and len(c.p.free) <= 3)[:_MOST_FACTS]
    restrict = restricting(facts)
    return cache(lambda form: restrict(cost.settled(form)))  # many nodes share their forms


# === The longest chain of functions in a model, operator by operator.
#
# Every operator waits for all of its inputs, so this is an upper bound on the depth of a machine with
# unlimited units; a function of the model is taken as a chain of all its operators.


_MOST_NODES = 20_000
"""Nodes up to which a model's depth is computed."""
_MOST_CANDIDATES = 8
"""With more candidates, the depth counts as unknown: comparing them at every node is quadratic."""
_MOST_HEIGHT = 2
"""The nesting of maxima up to which an exact maximum is readable."""


def depth_of(cost: GraphCost) -> Depth | None:
    """Return an upper bound on the depth of a model; None if it is unknown or too expensive."""
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
"""A depth; a constant depth is an integer, which is faster to add."""


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
    return latest(*map(_depth, levels), larger=_maximum_or_bound)


def _maximum_or_bound(a: Poly, b: Poly) -> Poly:
    """Return the maximum of two forms if it is short, else a bound: the larger coefficient of each term.

    Nested maxima of many forms once took 47,000 characters.
    """
    exact = maximum(a, b)
    if exact.height <= _MOST_HEIGHT or a.den != 1 or b.den != 1:
        return exact
    shares = {mono: max(a.terms.get(mono, 0), b.terms.get(mono, 0)) for mono in (*a.terms, *b.terms)}
    if not all(is_nonnegative(poly({mono: 1})) for mono in shares):
        return exact
    return poly({mono: share for mono, share in shares.items() if share})


class _Depths(Struct):
    """Memo of the depths of operators, by distinct case."""

    cost: GraphCost
    _cases: dict[Lowered, NodeDepth | None] = field(default_factory=dict)
    _nodes: dict[Applied, NodeDepth | None] = field(default_factory=dict)
    _programs: dict[Program, tuple[Poly, ...]] = field(default_factory=dict)
    _told: frozenset[Symbol] | None = None

    def node(self, applied: Applied) -> NodeDepth | None:
        """Return the depth of a node."""
        if len(applied.parts) == 1 and (level := applied.parts[0][0].level) is not None:
            return level * applied.parts[0][1]
        if applied not in self._nodes:
            self._nodes[applied] = self._chain(applied)
        return self._nodes[applied]

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
        if lowered not in self._cases:
            found = self._of(lowered)
            number = (
                found.candidates[0].constant if found is not None and len(found.candidates) == 1 else None
            )
            self._cases[lowered] = found if number is None else number
        return self._cases[lowered]

    def _program(self, program: Program) -> tuple[Poly, ...]:
        if program not in self._programs:
            self._programs[program] = chain_of(program)
        return self._programs[program]

    def _symbols_of_depth_alone(self, chain: Iterable[Poly]) -> list[Symbol]:
        """Return the data-dependent symbols that only the depth mentions.

        They occur when the other side of a choice has the larger count, so that no other figure shows them.
        """
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
        for symbol in self._symbols_of_depth_alone(chain):
            if symbol.hi is None:
                return None
            found = peak(found, symbol, symbol.hi)
        if lowered.point:
            return Depth((const(found.at(lowered.point)),))
        if lowered.lengths:
            found = latest(*(Depth((substitute(c, lowered.lengths),)) for c in found.candidates))
        return Depth(tuple(self.cost.within(c) for c in found.candidates))
