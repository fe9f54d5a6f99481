"""Everything there is to tell about a model's cost, worked out when it is asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tolcost.algebra import Poly, Symbol, leading_terms
from tolcost.catalogue.graph import Model
from tolcost.catalogue.reading import load_model
from tolcost.cost.depth import Depth
from tolcost.diagnostics import Rejected
from tolcost.models.analysis import GraphCost, Relied, analyze_graph, conditions_of, settling
from tolcost.models.depth import depth_of
from tolcost.models.input_shapes import Shape, check_names, with_lengths, with_shapes
from tolcost.models.memory import Holdings, Peak, holdings, peak_memory
from tolcost.models.point import Place, locate_model
from tolcost.models.totals import Adder, Coverage, Figures, Group, by_operator, by_scope, coverage, parts_of
from tolcost.models.walking import Session

_LARGE = 2_000_000
"""A file of more bytes has many nodes, or weights that take long anyway."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is said of a model: lengths by name or place, and shapes of inputs.

    ``lenient``: lengths that the model does not have are meant for other models.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    lenient: bool = False


class ModelStudy:
    """A model that has been walked; figures are worked out once, when first asked for."""

    def __init__(self, file: str, cost: GraphCost, dims: Mapping[str, int]) -> None:
        """Keep what the walk gave, and the lengths to look at."""
        self.file = file
        self.cost = cost
        self.dims = dims

    @property
    def model(self) -> Model:
        """The model."""
        return self.cost.model

    @cached_property
    def adder(self) -> Adder:
        """What adds up forms."""
        return Adder(settling(self.cost.equal, self.conditions))

    @cached_property
    def coverage(self) -> Coverage:
        """Which nodes are costed."""
        return coverage(self.cost)

    @cached_property
    def total(self) -> Figures:
        """What all nodes cost together."""
        return self.adder.add(parts_of(self.cost.nodes), bool(self.coverage.missing))

    @cached_property
    def operators(self) -> tuple[Group, ...]:
        """Figures by operator."""
        return by_operator(self.cost, self.adder)

    def scopes(self, depth: int = 2) -> tuple[Group, ...]:
        """Figures by the first parts of node names."""
        return by_scope(self.cost, self.adder, depth)

    @cached_property
    def holdings(self) -> Holdings:
        """Parameters, inputs and outputs."""
        return holdings(self.cost)

    @cached_property
    def peak(self) -> Peak | None:
        """The most memory that activations take at once."""
        return peak_memory(self.cost)

    @cached_property
    def depth(self) -> Depth | None:
        """The longest chain of functions, at most."""
        return depth_of(self.cost)

    @cached_property
    def conditions(self) -> tuple[Relied, ...]:
        """What the forms rely on."""
        return conditions_of(self.cost)

    @property
    def leading(self) -> Poly:
        """The terms of the EOPs that decide how they grow."""
        return leading_terms(self.total.eops)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols that totals mention, and lengths of inputs that remain."""
        forms = (self.total.eops, self.total.macs, *self.total.atoms.values(), *self.total.index.values())
        inputs = (d for d in self.cost.dimensions.values())
        found = frozenset().union(*(f.free for f in (*forms, *inputs))) - self.cost.equal.keys()
        return tuple(sorted((s for s in found if s.kind != "coord"), key=lambda s: s.key))

    @cached_property
    def place(self) -> Place:
        """Where the model is looked at."""
        return locate_model(self.cost, self.conditions, self.dims, self.symbols)


def study_model(model: Model, file: str, session: Session, wanted: Wanted) -> ModelStudy:
    """Walk a model as it is wanted.

    Lengths that break its general form, or that it cannot do without, are numbers from the start: two
    lengths may be one in general and still differ where one of them is 1, and a rank may depend on one.
    """
    shaped, dims = with_lengths(with_shapes(model, wanted.shapes), wanted.dims)
    cost = analyze_graph(shaped, session)
    if wanted.lenient:
        dims = {name: value for name, value in dims.items() if name in cost.dimensions}
    check_names(model, dims, cost.dimensions)
    study = ModelStudy(file, cost, dims)
    if not dims or not (study.place.problems or study.coverage.missing):
        return study
    solved = {name: study.place.dims[name] for name in study.cost.dimensions if name in study.place.dims}
    for more in (dims, {**solved, **dims}):
        again = ModelStudy(file, analyze_graph(shaped, session, more), more)
        if _better(again, study):
            return again
    if study.place.problems:
        raise Rejected(*study.place.problems[:8])
    return study


def _better(again: ModelStudy, study: ModelStudy) -> bool:
    """Whether numbers from the start say more than the general form does."""
    if again.place.problems:
        return False
    fewer = len(study.coverage.missing) - len(again.coverage.missing)
    return fewer >= 0 if study.place.problems else fewer > 0


def study_file(path: Path, session: Session, wanted: Wanted | None = None) -> ModelStudy:
    """Read and walk a model file."""
    with _without_collector() if _is_large(path) else nullcontext():
        return study_model(load_model(path), str(path), session, wanted or Wanted())


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > _LARGE
    except OSError:  # reading it will say what is wrong
        return False


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing made while reading is garbage; looking for some all the time takes a third of it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
