"""Adding up: what the nodes of a model cost together, by node, by operator and by name.

Equal nodes share what they were lowered to, so sums go over distinct cases with how often each
occurs: the work is in the number of distinct cases, not of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import lcm
from types import MappingProxyType
from typing import Literal, TypeVar

from tolcost.algebra import ZERO, Poly, total_of
from tolcost.algebra.poly import Terms, poly
from tolcost.atoms.nodes import ATOMS
from tolcost.catalogue.graph import GraphNode
from tolcost.cost import Counts, Quotient, shipped, weigh
from tolcost.models.analysis import GraphCost
from tolcost.models.lowering import Lowered, counts_with, traffic_with
from tolcost.models.walking import Applied

Standing = Literal["exact", "upper bound", "depends on data", "lower bound"]
Key = tuple[str, str]
_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Figures:
    """What some nodes cost together; ``unsized`` are spaces of which no bytes are known."""

    histogram: Mapping[Key, Poly]
    index: Mapping[Key, Poly]
    atoms: Mapping[str, Poly]
    macs: Poly
    flops: Poly
    read: Poly
    written: Poly
    unsized: tuple[str, ...]
    status: Standing

    @property
    def eops(self) -> Poly:
        """Elementary functions applied to data."""
        return total_of(self.histogram.values())

    @property
    def index_ops(self) -> Poly:
        """Functions that only compute coordinates; not EOPs."""
        return total_of(self.index.values())

    @property
    def bytes(self) -> Poly | None:
        """What every node must read and write, node by node; None where something has no size."""
        return None if self.unsized else self.read + self.written

    @property
    def intensity(self) -> Quotient | None:
        """FLOPs over bytes."""
        return None if self.bytes is None or self.bytes == 0 else Quotient(self.flops, self.bytes)


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are counted together, and their figures."""

    title: str
    nodes: int
    figures: Figures


@dataclass(slots=True)
class Adder:
    """Adds up what nodes come to, with forms settled; distinct cases are settled once."""

    settle: Callable[[Poly], Poly]
    _settled: dict[int, Lowered] = field(default_factory=dict)
    _figures: dict[int, Figures] = field(default_factory=dict)

    def node(self, applied: Applied) -> Figures:
        """The figures of one node."""
        if id(applied) not in self._figures:
            self._figures[id(applied)] = self.add(dict(applied.parts), bool(applied.uncosted))
        return self._figures[id(applied)]

    def add(self, parts: Mapping[Lowered, int], incomplete: bool = False) -> Figures:
        """The figures of operators that are applied so many times each."""
        settled = [(self.settled(lowered), times) for lowered, times in parts.items() if times]
        histogram = _sums((k, p, n) for s, n in settled for k, p in s.counts.histogram.items())
        index = _sums((k, p, n) for s, n in settled for k, p in s.counts.index.items())
        atoms = dict.fromkeys(ATOMS, ZERO)
        atoms.update(_sums((k, p, n) for s, n in settled for k, p in s.counts.atoms.items()))
        ways = _sums(
            (way, p, n)
            for s, n in settled
            for way, moved in (("read", s.traffic.read), ("written", s.traffic.written))
            for p in moved.values()
        )
        macs = _sums(("macs", s.counts.macs, n) for s, n in settled).get("macs", ZERO)
        counts = Counts(histogram, index, MappingProxyType(atoms), macs, (), "exact")
        return Figures(
            histogram=MappingProxyType(dict(sorted(histogram.items()))),
            index=MappingProxyType(dict(sorted(index.items()))),
            atoms=counts.atoms,
            macs=macs,
            flops=weigh(counts, shipped("flops")).numerator,
            read=ways.get("read", ZERO),
            written=ways.get("written", ZERO),
            unsized=tuple(sorted({space for s, _ in settled for space in s.traffic.unsized})),
            status=standing((s for s, _ in settled), incomplete),
        )

    def settled(self, lowered: Lowered) -> Lowered:
        """An operator in terms of the lengths that remain."""
        if id(lowered) not in self._settled:
            self._settled[id(lowered)] = replace(
                lowered,
                counts=counts_with(lowered.counts, self.settle),
                traffic=traffic_with(lowered.traffic, self.settle),
            )
        return self._settled[id(lowered)]


def _sums(items: Iterable[tuple[_K, Poly, int]]) -> dict[_K, Poly]:
    """The sum for each key of polynomials, each with how often it counts."""
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


def standing(parts: Iterable[Lowered], incomplete: bool) -> Standing:
    """How sure a sum is: the least sure of its parts."""
    found = {lowered.counts.status for lowered in parts}
    if incomplete:
        return "lower bound"
    if "upper bound" in found:
        return "upper bound"
    return "depends on data" if "depends on data" in found else "exact"


# ---- grouping ----------------------------------------------------------------------------


def parts_of(nodes: Iterable[Applied]) -> Counter[Lowered]:
    """How often each distinct case occurs in some nodes."""
    shared: Counter[Applied] = Counter(nodes)
    found: Counter[Lowered] = Counter()
    for applied, times in shared.items():
        for lowered, inside in applied.parts:
            found[lowered] += inside * times
    return found


def by_operator(cost: GraphCost, adder: Adder) -> tuple[Group, ...]:
    """Figures for each operator, those inside of functions included, in order of appearance."""
    parts: dict[str, dict[Lowered, int]] = {}
    missing: Counter[str] = Counter()
    for lowered, times in parts_of(cost.nodes).items():
        parts.setdefault(_title(lowered), {})[lowered] = times
    for applied in cost.nodes:
        for item in applied.uncosted:
            missing[item.op] += item.times
            parts.setdefault(item.op, {})
    return tuple(
        Group(title, sum(inside.values()) + missing[title], adder.add(inside, missing[title] > 0))
        for title, inside in parts.items()
    )


def _title(lowered: Lowered) -> str:
    return f"{lowered.domain}.{lowered.op}" if lowered.domain else lowered.op


def by_scope(cost: GraphCost, adder: Adder, depth: int) -> tuple[Group, ...]:
    """Figures for each prefix of node names, cut after so many parts."""
    return _by(cost, adder, lambda step: scope_of(step, depth))


def _by(cost: GraphCost, adder: Adder, title: Callable[[GraphNode], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Applied]] = {}
    for step, applied in zip(cost.model.graph.steps, cost.nodes, strict=True):
        groups.setdefault(title(step), []).append(applied)
    return tuple(
        Group(name, len(nodes), adder.add(parts_of(nodes), any(n.uncosted for n in nodes)))
        for name, nodes in groups.items()
    )


def scope_of(step: GraphNode, depth: int) -> str:
    """The first parts of a node's name, split at ``/`` or, without any, at ``.``.

    Where a node has no name, its first output speaks for it.
    """
    name = step.name or next((o for o in step.outputs if o), "")
    mark = "/" if "/" in name else "."
    parts = [part for part in name.split(mark) if part]
    return mark.join(parts[: min(depth, len(parts) - 1)]) if len(parts) > 1 else "(no scope)"


# ---- coverage ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Missing:
    """A node that is not costed, or not wholly: its name, its operator, and why."""

    name: str
    op: str
    why: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many nodes there are, and which of them are not costed."""

    nodes: int
    missing: tuple[Missing, ...]

    @property
    def costed(self) -> int:
        """How many nodes are costed."""
        return self.nodes - len(self.missing)

    @property
    def operators(self) -> Mapping[str, int]:
        """The operators that are not costed, each with how many nodes."""
        return Counter(item.op for item in self.missing)


def coverage(cost: GraphCost) -> Coverage:
    """Which nodes are costed."""
    missing = tuple(
        Missing(step.name or next((o for o in step.outputs if o), step.title), item.op, item.why.message)
        for step, applied in zip(cost.model.graph.steps, cost.nodes, strict=True)
        for item in applied.uncosted[:1]
    )
    return Coverage(len(cost.nodes), missing)


def common_denominator(forms: Iterable[Poly]) -> int:
    """The least number that makes all coefficients whole."""
    return lcm(*(form.den for form in forms))
