"""Figures: what some work costs together, how sure that is, and how much of it is costed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tolcost.algebra import AlgebraBudget, NotInteger, Poly, evaluate, total_of
from tolcost.cost import Analysis, FormRatio, Traffic
from tolcost.cost.count import CountKey
from tolcost.result.claims import Certainty
from tolcost.show.forms import Valuation


@dataclass(frozen=True, slots=True)
class Figures:
    """What some work costs together: a program, a node, or many of them."""

    histogram: Mapping[CountKey, Poly]
    index: Mapping[CountKey, Poly]
    atoms: Mapping[str, Poly]
    macs: Poly
    flops: Poly
    traffic: Traffic
    status: Certainty

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
        """What must be read and written, node by node; None where something has no size."""
        return self.traffic.total

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes."""
        return None if self.bytes is None or self.bytes == 0 else FormRatio(self.flops, self.bytes)


def figures_of(analysis: Analysis) -> Figures:
    """The figures of a program."""
    counts = analysis.counts
    return Figures(
        counts.histogram,
        counts.index,
        counts.atoms,
        counts.macs,
        analysis.flops,
        analysis.traffic,
        counts.status,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are counted together, and their figures."""

    title: str
    nodes: int
    figures: Figures


def size(form: Poly, known: Valuation) -> int:
    """A number to sort by: the value, with 512 for lengths that are open."""
    try:
        return evaluate(form, {**dict.fromkeys(form.free, 512), **known})
    except (NotInteger, AlgebraBudget):
        return 0


@dataclass(frozen=True, slots=True)
class MissingNode:
    """A node that is not costed, or not wholly: its name, its operator, and why."""

    name: str
    op: str
    why: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many nodes there are, and which of them are not costed."""

    nodes: int
    missing: tuple[MissingNode, ...]

    @property
    def costed(self) -> int:
        """How many nodes are costed."""
        return self.nodes - len(self.missing)

    @property
    def text(self) -> str:
        """How much is costed, in words."""
        whole = 100 * self.costed // self.nodes if self.nodes else 100
        return f"{self.costed:,} of {self.nodes:,} nodes costed ({whole} %)"

    @property
    def operators(self) -> Mapping[str, int]:
        """The operators that are not costed, each with how many nodes."""
        return Counter(item.op for item in self.missing)


# ---- growth ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepRow:
    """Figures where the length has one value; None where another length is still open.

    ``outside`` says which condition does not hold there; there are no figures then.
    """

    value: int
    eops: int | None = None
    macs: int | None = None
    bytes: int | None = None
    peak: int | None = None
    outside: str = ""


@dataclass(frozen=True, slots=True)
class Crossing:
    """From a length on, one part costs more than another; None: ``later`` is larger everywhere."""

    earlier: str
    later: str
    at: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A sweep, its rows, the parts compared, and where one overtakes another."""

    name: str
    rows: tuple[SweepRow, ...]
    crossings: tuple[Crossing, ...]
