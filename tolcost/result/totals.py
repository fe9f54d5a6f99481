"""Sums of costs over the nodes of a model, by node, by operator and by scope, and as rows of tables.

Equal nodes share a lowered operator, so a sum goes over distinct lowered operators with the number of their
applications: its work grows with the number of distinct operators, not of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import ZERO, Poly, maximum, minimum, relu, substitute, to_text, total_known, total_of
from tolcost.algebra.poly import Terms, poly
from tolcost.atoms.nodes import ATOMS
from tolcost.catalogue.graph import GraphNode
from tolcost.certainty import Certainty, least_sure
from tolcost.cost import Counts, Traffic, shipped, weigh
from tolcost.cost.device import CallWork
from tolcost.cost.kernel import carried
from tolcost.cost.record import NamedType
from tolcost.elaborate import Tensor
from tolcost.models.analysis import GraphCost
from tolcost.models.facts import as_tensor
from tolcost.models.impossible import is_doubtful
from tolcost.models.lowered import Applied, ComputedCost, Impossible, Lowered, LoweredCost, Uncosted
from tolcost.models.memory import parameters_by_node
from tolcost.models.parameters import Parameters, parameters_of
from tolcost.models.scheme import Instance, Layout
from tolcost.result.metrics import HELD
from tolcost.result.rows import NO_NODE, ModuleScope, TableRow, scope_tree
from tolcost.result.study import Coverage, Figures, Group, MissingNode
from tolcost.result.time import TimedNodes, largest_of, work_of

_K = TypeVar("_K", bound=Hashable)


class Adder(Struct):
    """Adds up the costs of nodes in the remaining lengths; each distinct operator is settled once.

    The memos hold what they know, as an adder outlives the steps of training that it is asked about: with
    numbers of identity as keys, a later step once got the figures of an earlier one that was gone.
    """

    settle: Callable[[Poly], Poly]
    _settled: dict[Lowered, Lowered] = field(default_factory=dict)
    _figures: dict[Applied, Figures] = field(default_factory=dict)
    _held: dict[GraphCost, Parameters] = field(default_factory=dict)

    def held(self, cost: GraphCost) -> Parameters:
        """Return the tensors that hold parameters of a model; the search for them is done once."""
        if cost not in self._held:
            self._held[cost] = parameters_of(cost)
        return self._held[cost]

    def node(self, applied: Applied) -> Figures:
        """Return the figures of one node."""
        if applied not in self._figures:
            self._figures[applied] = self.add(dict(applied.parts), bool(applied.uncosted))
        return self._figures[applied]

    def add(self, parts: Mapping[Lowered, int], incomplete: bool = False) -> Figures:
        """Return the figures of operators, each with the number of its applications."""
        work: list[tuple[LoweredCost, int]] = []
        rows: dict[Layout, list[Sequence[int]]] = {}
        for lowered, times in parts.items():
            made = lowered.made
            if not times:
                continue
            if lowered.point and isinstance(made, Instance):  # without polynomials
                row = made.values if times == 1 else [times * value for value in made.values]
                rows.setdefault(made.layout, []).append(row)
            else:
                work.append((self.settled(lowered).made, times))
        work += [(Instance(layout, list(map(sum, zip(*r, strict=True)))), 1) for layout, r in rows.items()]
        status = least_sure((made.counts.status for made, _ in work), incomplete)
        return _together(((made.counts, made.traffic, times) for made, times in work), status)

    def settled(self, lowered: Lowered) -> Lowered:
        """Return an operator with its cost in the remaining lengths."""
        if lowered.point:
            return lowered
        if lowered not in self._settled:
            counts, moved = lowered.counts.map_forms(self.settle), lowered.traffic.map_forms(self.settle)
            made = ComputedCost(counts, moved, lowered.outputs)
            self._settled[lowered] = replace(lowered, made=made)
        return self._settled[lowered]


def total_figures(groups: Sequence[Figures], incomplete: bool = False) -> Figures:
    """Return the sum of figures; its status is the least certain of theirs."""
    status = least_sure((group.status for group in groups), incomplete)
    return _together(((group.counts, group.traffic, 1) for group in groups), status)


def _together(work: Iterable[tuple[Counts, Traffic, int]], status: Certainty) -> Figures:
    """Return the sum of counts and traffic, each with its multiplicity, as figures."""
    listed = list(work)
    histogram = _sums((k, p, n) for counts, _, n in listed for k, p in counts.histogram.items())
    index = _sums((k, p, n) for counts, _, n in listed for k, p in counts.index.items())
    atoms = dict.fromkeys(ATOMS, ZERO)
    atoms.update(_sums((k, p, n) for counts, _, n in listed for k, p in counts.atoms.items()))
    ways = _sums(
        ((way, space), p, n)
        for _, traffic, n in listed
        for way, moved in (
            ("read", traffic.read),
            ("certain", traffic.certain),
            ("written", traffic.written),
        )
        for space, p in moved.items()
    )
    macs = _sums(("macs", counts.macs, n) for counts, _, n in listed).get("macs", ZERO)
    summed = Counts(
        MappingProxyType(dict(sorted(histogram.items()))),
        MappingProxyType(dict(sorted(index.items()))),
        MappingProxyType(atoms),
        macs,
        (),
        status,
    )
    unsized = tuple(sorted({space for _, traffic, _ in listed for space in traffic.unsized}))
    doubted = any(traffic.open for _, traffic, _ in listed)
    full = tuple(dict.fromkeys(p for _, traffic, _ in listed for p in traffic.full))
    traffic = Traffic(
        _way(ways, "read"), _way(ways, "written"), unsized, doubted, _way(ways, "certain"), full
    )
    return Figures(summed, weigh(summed, shipped("flops")).numerator, traffic)


def _sums(items: Iterable[tuple[_K, Poly, int]]) -> dict[_K, Poly]:
    """Return the sum of polynomials for each key, each with its multiplicity."""
    plain: dict[_K, Terms] = {}
    others: dict[_K, list[Poly]] = {}
    for key, form, times in items:
        if form.den != 1:
            others.setdefault(key, []).append(form * times)
            continue
        terms = plain.setdefault(key, {})
        for mono, coef in form.terms.items():
            terms[mono] = terms.get(mono, 0) + coef * times
    found = {key: poly(terms) for key, terms in plain.items()}
    for key, forms in others.items():
        found[key] = total_of((found.get(key, ZERO), *forms))
    return {key: form for key, form in found.items() if form.terms}


def _way(moved: Mapping[tuple[str, str], Poly], way: str) -> Mapping[str, Poly]:
    return MappingProxyType({space: form for (found, space), form in sorted(moved.items()) if found == way})


# ---- grouping ----------------------------------------------------------------------------


def parts_of(nodes: Iterable[Applied]) -> Counter[Lowered]:
    """Count the applications of each distinct lowered operator in some nodes."""
    shared: Counter[Applied] = Counter(nodes)
    found: Counter[Lowered] = Counter()
    for applied, times in shared.items():
        for lowered, inside in applied.parts:
            found[lowered] += inside * times
    return found


def by_operator(cost: GraphCost, adder: Adder) -> tuple[Group, ...]:
    """Return the figures of each operator, those inside of functions included, in order of appearance."""
    parts: dict[str, dict[Lowered, int]] = {}
    missing: Counter[str] = Counter()
    for lowered, times in parts_of(cost.nodes).items():
        parts.setdefault(title_of(lowered), {})[lowered] = times
    for applied in cost.nodes:
        for item in applied.uncosted:
            missing[item.op] += item.times
            parts.setdefault(item.op, {})
    return tuple(
        Group(title, sum(inside.values()) + missing[title], adder.add(inside, missing[title] > 0))
        for title, inside in parts.items()
    )


def title_of(lowered: Lowered) -> str:
    """Return the name of an operator, with its domain unless that is ONNX's own."""
    return f"{lowered.domain}.{lowered.op}" if lowered.domain else lowered.op


def by_scope(cost: GraphCost, adder: Adder, title: Callable[[GraphNode], str]) -> tuple[Group, ...]:
    """Return the figures of nodes, grouped by title."""
    groups: dict[str, list[Applied]] = {}
    for step, applied in cost.steps:
        groups.setdefault(title(step), []).append(applied)
    return tuple(
        Group(name, len(nodes), adder.add(parts_of(nodes), any(n.uncosted for n in nodes)))
        for name, nodes in groups.items()
    )


def coverage(cost: GraphCost, general: bool) -> Coverage:
    """Return the nodes that are not costed, each with the number of nodes that wait for its outputs.

    ``general`` states that all lengths that the file leaves open were symbols: errors then hold at all of
    them.
    """
    impossible: frozenset[Impossible | None] = frozenset(
        ("types", "shapes") if general and not is_doubtful(cost.nodes, cost.equal) else ("types",)
    )
    found = [(step, item) for step, applied in cost.steps for item in applied.uncosted[:1]]
    first: dict[str, int] = {}
    behind: Counter[int] = Counter()
    waiting: set[int] = set()
    for n, (step, item) in enumerate(found):
        root = first.get(item.waits, n)
        behind[root] += root != n
        waiting |= {n} if root != n else set()
        first.update(dict.fromkeys(step.outputs, root))
    missing = tuple(
        replace(_missing_node(step, item, behind[n], item.impossible in impossible), waits=n in waiting)
        for n, (step, item) in enumerate(found)
    )
    return Coverage(len(cost.nodes), missing)


def _missing_node(step: GraphNode, item: Uncosted, behind: int, invalid: bool) -> MissingNode:
    name = step.name or next((o for o in step.outputs if o), step.title)
    start, gives = "" if item.defined else item.why.hint or "", tuple(filter(None, step.outputs))
    return MissingNode(name, item.op, item.why.message, behind, start, gives, invalid)


# ---- work that takes time --------------------------------------------------------------------

APART: Mapping[int, str] = MappingProxyType({})
"""Nothing that is computed together with something else."""


def steps_of(
    cost: GraphCost,
    adder: Adder,
    by: str,
    loaded: Container[int] = frozenset(),
    joined: Mapping[int, str] = APART,
) -> tuple[TimedNodes, ...]:
    """Return the work of nodes: each by itself, or equal nodes together under their operator.

    ``loaded`` are places of nodes without work in a run, since they are computed when the model is loaded;
    ``joined`` are those that one kernel may compute with another, with an option that tells how.
    """
    found: Counter[tuple[str, Lowered, str]] = Counter()
    for place, (step, applied) in enumerate(cost.steps):
        for low, n in applied.parts if place not in loaded else ():
            title = step.name or step.title if by == "node" else title_of(low)
            found[title, low, joined.get(place, "")] += n
    works = {low: _work(adder, low) for _, low, _ in found}
    return tuple(
        TimedNodes(title, n, _joined(work, how))
        for (title, low, how), n in found.items()
        if n and (work := works[low])
    )


def _joined(work: CallWork, how: str) -> CallWork:
    return replace(work, options=work.options | {how}) if how else work


def steps_by_node(
    cost: GraphCost, adder: Adder, loaded: Container[int] = frozenset(), joined: Mapping[int, str] = APART
) -> Iterator[tuple[TimedNodes, ...] | None]:
    """Yield the work of each node in a run; None for one of which some is not known."""
    works: dict[Lowered, CallWork | None] = {}
    for place, (step, applied) in enumerate(cost.steps):
        if place in loaded:
            yield ()
            continue
        for low, _ in applied.parts:
            if low not in works:
                works[low] = _work(adder, low)
        done = [(works[low], n) for low, n in applied.parts if n]
        how = joined.get(place, "")
        known = [TimedNodes(step.title, n, _joined(work, how)) for work, n in done if work is not None]
        yield tuple(known) if len(known) == len(done) and not applied.uncosted else None


def _work(adder: Adder, lowered: Lowered) -> CallWork | None:
    inputs = (NamedType(given.name, given.type) for given in lowered.program.inputs)
    found = adder.settled(lowered)
    largest = adder.settle(lowered.put(largest_of(inputs)))
    counts, kept = found.counts, carried(lowered.program)
    work = work_of(title_of(lowered), found.traffic, counts.histogram, counts.macs, largest, kept)
    return None if work is None else replace(work, options=lowered.options)


def fused_work(
    cost: GraphCost, adder: Adder, total: Figures, loaded: Container[int] = frozenset()
) -> CallWork | None:
    """Return the work of the fused model: all products, its outputs, and the bytes read of its sources."""
    run = [applied for n, applied in enumerate(cost.nodes) if n not in loaded]
    if len(run) < len(cost.nodes):
        total = adder.add(parts_of(run), any(applied.uncosted for applied in run))
    whole = work_of("", total.traffic, total.histogram, total.macs, ZERO)
    written = total_known(map(cost.bytes, cost.model.graph.outputs))
    if whole is None or written is None:
        return None
    certain = adder.settle(total_of(_sources_read(cost, adder, loaded)))
    return replace(whole, read=certain, certain=certain, written=adder.settle(written))


def _sources_read(cost: GraphCost, adder: Adder, loaded: Container[int]) -> Iterator[Poly]:
    """Yield for each parameter, input and result of loading the bytes that a node certainly reads of it."""
    graph = cost.model.graph
    sources = dict.fromkeys((*graph.weights, *(given.name for given in graph.inputs)))
    sources |= dict.fromkeys(
        name for n, step in enumerate(graph.nodes) if n in loaded for name in step.outputs
    )
    surely: dict[str, Poly] = {}
    for step, applied in (one for n, one in enumerate(cost.steps) if n not in loaded):
        for name in dict.fromkeys(step.inputs):
            if name in sources:
                found = _certainly_read(cost, adder, name, step.inputs, applied)
                surely[name] = maximum(surely.get(name, ZERO), found)
    yield from surely.values()


def _certainly_read(
    cost: GraphCost, adder: Adder, name: str, inputs: Iterable[str], applied: Applied
) -> Poly:
    """Return the bytes that a node certainly reads of an input: those that other inputs cannot provide."""
    moved = total_of(adder.node(applied).traffic.certain.values())
    others = [cost.bytes(other) for other in dict.fromkeys(inputs) if other not in ("", name)]
    known = [adder.settle(size) for size in others if size is not None]
    size = cost.bytes(name)
    if size is None or len(known) < len(others):
        return ZERO
    return minimum(adder.settle(size), relu(moved - total_of(known)))


# ---- rows of a table -------------------------------------------------------------------------


def node_rows(cost: GraphCost, adder: Adder) -> tuple[TableRow, ...]:
    """Return a row for every node, in the order of the file."""
    held, given = parameters_by_node(cost, adder.held(cost))
    found = []
    for n, step in enumerate(cost.model.graph.nodes):
        space, shape = _type(cost, next((name for name in step.outputs if name), ""))
        figures = adder.node(cost.nodes[n])
        amounts = _amounts(figures, adder.settle(held[n]))
        title = step.name or step.title
        found.append(TableRow(title, 1, amounts, step.title, space, shape, status=figures.status))
    return (*found, *_of_no_node(adder, given))


def operator_rows(cost: GraphCost, groups: Sequence[Group], adder: Adder) -> tuple[TableRow, ...]:
    """Return a row for every operator, inside of functions too; parameters go to a node's first operator."""
    held: dict[str, list[Poly]] = {}
    by_node, given = parameters_by_node(cost, adder.held(cost))
    for (step, applied), form in zip(cost.steps, by_node, strict=True):
        title = title_of(applied.parts[0][0]) if applied.parts else step.title
        held.setdefault(title, []).append(form)
    own = [adder.settle(total_of(held.pop(group.title, ()))) for group in groups]
    rest = total_of([given, *(form for forms in held.values() for form in forms)])
    found = []
    for group, mine in zip(groups, own, strict=True):
        amounts, status = _amounts(group.figures, mine), group.figures.status
        found.append(TableRow(group.title, group.nodes, amounts, group.title, status=status))
    return (*found, *_of_no_node(adder, rest))


def scope_rows(cost: GraphCost, adder: Adder, depth: int) -> tuple[TableRow, ...]:
    """Return rows for scopes, ``depth`` levels down; equal scopes share a row."""
    figures = [adder.node(applied) for applied in cost.nodes]
    kinds = [(f.eops, f.macs) if f.eops.terms or f.macs.terms else None for f in figures]
    (held, given), steps = parameters_by_node(cost, adder.held(cost)), cost.model.graph.nodes

    def row(scope: ModuleScope, level: int) -> TableRow:
        inside = [cost.nodes[n] for n in scope.nodes]
        found = adder.add(parts_of(inside), any(one.uncosted for one in inside))
        own = adder.settle(total_of(held[n] for n in scope.nodes))
        below = tuple(row(child, level + 1) for child in scope.children) if level < depth else ()
        ops = Counter(steps[n].title for n in scope.nodes if kinds[n] is not None)
        amounts = _amounts(found, own)
        kept = map(set, zip(*(_type(cost, name) for name in _leaving(cost, readers, scope)), strict=True))
        space, shape = (one.pop() if len(one) == 1 else "" for one in list(kept) or ({""}, {""}))
        return TableRow(
            scope.title,
            len(scope.nodes),
            amounts,
            "",
            space,
            shape,
            ops=ops,
            times=scope.times,
            children=below,
            status=found.status,
        )

    readers = _readers(cost)
    scopes = scope_tree((step.path for step in steps), kinds)
    return (*(row(scope, 1) for scope in scopes), *_of_no_node(adder, given))


def _readers(cost: GraphCost) -> Mapping[str, set[int]]:
    """Return the nodes that read each value; -1 for an output of the model."""
    graph = cost.model.graph
    found: dict[str, set[int]] = {name: {-1} for name in graph.outputs}
    for n, step in enumerate(graph.nodes):
        for name in (*step.inputs, *step.free):
            found.setdefault(name, set()).add(n)
    return found


def _leaving(cost: GraphCost, readers: Mapping[str, set[int]], scope: ModuleScope) -> Iterator[str]:
    """Yield the values that nodes of a scope make, and others read."""
    inside, steps = set(scope.nodes), cost.model.graph.nodes
    for n in scope.nodes:
        yield from (name for name in steps[n].outputs if name and readers.get(name, inside) - inside)


def _of_no_node(adder: Adder, parameters: Poly) -> Iterator[TableRow]:
    """Yield a row for parameters that the model returns and no node uses, so rows add up to the total."""
    if parameters.terms:
        yield TableRow(NO_NODE, 0, _amounts(adder.add({}), adder.settle(parameters)))


def _amounts(figures: Figures, parameters: Poly) -> MappingProxyType[str, Poly | None]:
    return MappingProxyType({**figures.amounts, HELD: parameters})


def _type(cost: GraphCost, name: str) -> tuple[str, str]:
    """Return the space and the shape of a value, as far as they are known."""
    known = cost.known(name) if name else None
    found = None if known is None else as_tensor(known)
    if not isinstance(found, Tensor):
        return "", ""
    return found.space, f"[{', '.join(to_text(substitute(d, cost.equal)) for d in found.shape)}]"
