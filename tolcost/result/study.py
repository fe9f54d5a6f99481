"""What an analysis came to: one type for programs, operators and models.

A program is a model of one node.  A ``Study`` is what was analysed, with what takes long worked out when
it is first asked for; ``Located`` is a study at a point, and the only way from closed forms to numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

from tolcost.algebra import AlgebraBudget, NotInteger, Poly, Symbol
from tolcost.cost.record import NamedType
from tolcost.cost.weights import Weighed, Weights
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.result.claims import Certainty
from tolcost.result.figures import Coverage, Figures, Group, size
from tolcost.result.point import Point, Requirement
from tolcost.show.document import Fact
from tolcost.show.forms import Form, form_at
from tolcost.show.json import Json

L = TypeVar("L", bound="Located")


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """A part of a measure: a function in a space, an atom, bytes of a space."""

    name: str
    space: str
    form: Form
    remark: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A figure: its key for programs, its name for people, its closed form (None: not known), its parts."""

    key: str
    label: str
    form: Form | None
    unit: str = ""
    parts: tuple[Portion, ...] = ()
    headed: bool = True
    """False where only the parts are figures, as with the five atoms."""


@dataclass(frozen=True, eq=False)
class Study(ABC):
    """What was analysed, and all that is known of what it costs."""

    name: str
    file: str
    inputs: tuple[NamedType, ...]
    symbols: tuple[Symbol, ...]
    total: Figures
    requirements: tuple[Requirement, ...]
    coverage: Coverage

    kind: ClassVar[Literal["program", "model"]]

    @property
    def leading(self) -> Form | None:
        """The terms of the EOPs that decide how they grow, where that is worth saying."""
        return None

    @abstractmethod
    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Inputs and outputs: which it is, its name, and its type, with lengths as ``put`` makes them."""

    @abstractmethod
    def head(self) -> Iterator[Fact]:
        """What else there is to say of what was analysed."""

    @abstractmethod
    def remarks(self) -> Iterator[Fact]:
        """What else there is to say of how figures came about."""

    @abstractmethod
    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """What a JSON document says of it."""

    @abstractmethod
    def measures(self, weighed: Iterable[tuple[str, Weighed]]) -> tuple[Measure, ...]:
        """Every figure, in the order of a report."""

    @abstractmethod
    def compared(self) -> Iterator[tuple[str, str, Poly]]:
        """What a comparison is about: a part (or nothing, for the whole), a metric, its form."""

    @abstractmethod
    def groups(self, by: str) -> tuple[Group, ...]:
        """Figures by line, or by node, operator or scope, in order of appearance."""

    @abstractmethod
    def weighed(self, weights: Weights) -> Weighed:
        """The total by a cost model."""

    def check_names(self, dims: Iterable[str]) -> None:
        """Refuse lengths that it does not have."""
        unknown = set(dims) - {symbol.name for symbol in self.symbols}
        if unknown:
            raise Rejected(Diagnostic("T0412", f"there is no length {quoted(min(unknown))}"))

    @abstractmethod
    def at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Find the point with these lengths, and the study that holds there; ``Rejected`` where none does."""


@dataclass(frozen=True, eq=False)
class Located:
    """A study at a point where all that it relies on holds."""

    study: Study = field(repr=False)
    point: Point
    weights: tuple[Weights, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every figure, in the order of a report."""
        return self.study.measures([(model.name, self.study.weighed(model)) for model in self.weights])

    @property
    def total(self) -> Figures:
        """What everything costs together."""
        return self.study.total

    def groups(self, by: str) -> tuple[Group, ...]:
        """Figures by line, node, operator or scope; the costliest operators and scopes first."""
        found = self.study.groups(by)
        if by in ("line", "node"):
            return found
        return tuple(sorted(found, key=lambda group: -size(group.figures.eops, self.point.values)))

    @property
    def status(self) -> Certainty:
        """Whether counts are exact, a bound from above or below, or in terms of what data decides."""
        return self.total.status

    @property
    def coverage(self) -> Coverage:
        """How many nodes there are, and which are not costed."""
        return self.study.coverage

    @property
    def located(self) -> bool:
        """Whether there are figures at a point: lengths were given, or there are none to give."""
        return self.point.complete or bool(self.point.dims)

    def value(self, form: Form | None) -> Form | None:
        """A form at the point: a number where everything in it is known; None where it has no value."""
        return None if form is None else form_at(form, self.point.values)

    def number(self, form: Form | None) -> int | None:
        """A form as an integer; None where something in it is open."""
        try:
            found = self.value(form)
        except (NotInteger, AlgebraBudget):
            return None
        return found if isinstance(found, int) else None

    def share(self, figures: Figures) -> Fraction | None:
        """What part of all EOPs some work has, where every length is known."""
        own, whole = self.number(figures.eops), self.number(self.total.eops)
        return Fraction(own, whole) if own is not None and whole else None


def locate_study(
    made: type[L],
    study: Study,
    dims: Mapping[str, int] | None = None,
    weights: tuple[Weights, ...] = (),
    warnings: tuple[Diagnostic, ...] = (),
) -> L:
    """Look at a study at lengths given by name; ``Rejected`` where a condition does not hold there."""
    there, point = study.at(dims or {})
    return made(there, point.checked(), weights, warnings)
