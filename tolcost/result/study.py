"""What an analysis came to: one type for programs, operators and models.

``Figures`` are what some work costs together, and how sure that is.  A program is a model of one node.
A ``Study`` is what was analysed, with what takes long worked out when
it is first asked for; ``Located`` is a study at a point, and the only way from closed forms to numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    evaluate,
    is_nonnegative,
    leading_terms,
    to_text,
    total_of,
)
from tolcost.certainty import FROM_ABOVE, INCOMPLETE, Certainty
from tolcost.cost import Analysis, FormRatio, Traffic
from tolcost.cost.count import Change, CountKey, Counts
from tolcost.cost.device import UNIT, CallWork, Device
from tolcost.cost.record import NamedType
from tolcost.cost.weights import Weighed, Weights, weigh
from tolcost.diagnostics import Diagnostic, UnknownLength, quoted, refuse
from tolcost.records import AbstractMeta
from tolcost.result.assumptions import NOTHING, Assumed
from tolcost.result.metrics import (
    BASES,
    COLUMNS,
    LEADING,
    Measure,
    MeasuredStudy,
    Metric,
    Place,
    Reaches,
    Weighings,
    certainty_of,
    is_anywhere,
    metrics_in,
)
from tolcost.result.point import Point, Requirement, facts_of, locate
from tolcost.result.rows import TableRow
from tolcost.result.time import LimitChange, TimedNodes, Times, error_of, percent
from tolcost.show.document import Fact, Form, Json, Valuation, form_at, number, symbols_in, text_of

if TYPE_CHECKING:
    from tolcost.cost.span import Depth, Depths
    from tolcost.models.memory import Holdings, Peak


class Figures(Struct, frozen=True):
    """What some work costs together: a program, a node, or many of them."""

    counts: Counts
    flops: Poly
    traffic: Traffic

    def map_forms(self, change: Change) -> Figures:
        """Return these figures with every form changed."""
        return Figures(self.counts.map_forms(change), change(self.flops), self.traffic.map_forms(change))

    @property
    def status(self) -> Certainty:
        """How sure the counts are."""
        return self.counts.status

    @property
    def histogram(self) -> Mapping[CountKey, Poly]:
        """Functions applied to data, by function and space."""
        return self.counts.histogram

    @property
    def index(self) -> Mapping[CountKey, Poly]:
        """Functions that only compute coordinates, by function and space."""
        return self.counts.index

    @property
    def atoms(self) -> Mapping[str, Poly]:
        """The five atoms."""
        return self.counts.atoms

    @property
    def macs(self) -> Poly:
        """Multiplications whose product is added up."""
        return self.counts.macs

    @property
    def eops(self) -> Poly:
        """Elementary functions applied to data."""
        return self.counts.eops

    def applications(self, names: Container[str]) -> Poly:
        """Return how often functions of some names are applied to data."""
        return total_of(form for (name, _), form in self.histogram.items() if name in names)

    @property
    def index_ops(self) -> Poly:
        """Functions that only compute coordinates; not EOPs."""
        return total_of(self.index.values())

    @property
    def bytes(self) -> Poly | None:
        """What must be read and written, node by node; None where something has no size."""
        return self.traffic.total

    @property
    def amounts(self) -> dict[str, Poly | None]:
        """Every metric of a part, by key."""
        return {metric.key: self.amount(metric) for metric in COLUMNS}

    @property
    def told(self) -> dict[str, Poly | None]:
        """What a part adds to a sum, by key."""
        return {metric.key: self.told_of(metric) for metric in COLUMNS}

    def amount(self, metric: Metric) -> Poly | None:
        """Return a metric of this work; None where it is one of a whole alone, or not known."""
        return None if metric.of is None else metric.of(self)

    def told_of(self, metric: Metric) -> Poly | None:
        """Return what a part adds to a sum: where it is not costed and comes to 0, that is not known."""
        form = self.amount(metric)
        return None if form == 0 and self.status in INCOMPLETE else form

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes; not known where some nodes are not costed, whatever the others come to."""
        if self.status in INCOMPLETE or self.bytes is None or self.bytes == 0:
            return None
        return FormRatio(self.flops, self.bytes)


def figures_of(analysis: Analysis) -> Figures:
    """Return the figures of a program."""
    return Figures(analysis.counts, analysis.flops, analysis.traffic)


class Group(Struct, frozen=True):
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


class MissingNode(Struct, frozen=True):
    """A node that is not costed, or not wholly: its name, its operator, and why.

    ``behind`` is how many nodes are not costed because nothing is known of what it gives; ``start`` is the
    beginning of a definition of its operator, where there is none; ``gives`` are its outputs.
    ``invalid`` tells that no lengths make the node right: the model is wrong, and no definition is lacking.
    """

    name: str
    op: str
    why: str
    behind: int = 0
    start: str = ""
    gives: tuple[str, ...] = ()
    invalid: bool = False


class Coverage(Struct, frozen=True):
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
    def invalid(self) -> MissingNode | None:
        """The first node that no lengths make right."""
        return next((item for item in self.missing if item.invalid), None)

    @property
    def operators(self) -> Mapping[str, int]:
        """The operators that are not costed, each with how many nodes."""
        return Counter(item.op for item in self.missing)


# ---- growth ----------------------------------------------------------------------------


class SweepRow(Struct, frozen=True):
    """Figures where the length has one value, by their keys: numbers, or forms in what is still open.

    ``outside`` says which condition does not hold there; there are no figures then.
    """

    value: int
    figures: Mapping[str, Form | None]
    outside: str = ""


class Crossing(Struct, frozen=True):
    """From a length on, one part costs more than another."""

    earlier: str
    later: str
    at: int


class Growth(Struct, frozen=True):
    """A sweep: its figures by key and title, its rows, and where one part overtakes another.

    What other lengths that are swept are here is ``fixed``.
    """

    name: str
    columns: Mapping[str, str]
    rows: tuple[SweepRow, ...]
    crossings: tuple[Crossing, ...]
    fixed: Mapping[str, int] = field(default_factory=dict)


# ---- studies ---------------------------------------------------------------------------------


L = TypeVar("L", bound="Located")
FUNCTIONS = "histogram"
"""The part of a comparison whose figures are counts by function and space."""
_EACH = f"{UNIT}, node by node with empty caches"
_FOR_WHAT = "for this arithmetic"
"""What times are a bound of: other definitions of the same values may take less."""


class _Assuming(Struct, metaclass=AbstractMeta, frozen=True, eq=False, dict=True, kw_only=True):
    assumed: Assumed = NOTHING


class Study(_Assuming, frozen=True):
    """What was analysed, and all that is known of what it costs."""

    name: str
    file: str
    inputs: tuple[NamedType, ...]
    symbols: tuple[Symbol, ...]
    total: Figures
    requirements: tuple[Requirement, ...]
    coverage: Coverage

    kind: ClassVar[Literal["program", "model"]]
    report: ClassVar[Literal["program", "model", "runs"]]
    """The kind of report that it has, which decides what metrics stand there."""

    @property
    def holdings(self) -> Holdings | None:
        """Parameters, inputs and outputs of a model."""
        return None

    @property
    def peak(self) -> Peak | None:
        """The most memory that activations of a model take at once; None where it is not known."""
        return None

    @property
    def cache(self) -> Poly | None:
        """The bytes of the inputs that grow from run to run of a model, after the last."""
        return None

    @property
    def memory(self) -> Depth | None:
        """The bytes of the parameters of a model and its peak together."""
        return None

    @property
    def depth(self) -> Depth | None:
        """The longest chain of functions; None where it is not known."""
        return None if self.span is None else self.span.chain

    @property
    def span(self) -> Depths | None:
        """The depth of a program, with reduces as chains and as trees."""
        return None

    @property
    def parallelism(self) -> FormRatio | None:
        """EOPs over the depth of a program; None where that is 0 at all lengths."""
        return None

    @property
    def parallelism_tree(self) -> FormRatio | None:
        """EOPs over the depth of a program with associative reduces as trees."""
        return None

    @property
    def needed(self) -> tuple[Requirement, ...]:
        """What the closed forms rely on, without what is only looked at in a run."""
        return tuple(one for one in self.requirements if one.kind == "needed")

    @property
    def granted(self) -> tuple[Cond, ...]:
        """What holds wherever the closed forms do, as far as it is of use in a proof."""
        return facts_of(one.condition for one in self.needed)

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges are proved to have an element: none of these is negative where forms hold."""
        return all(is_nonnegative(form, self.granted) for form in full)

    @property
    def checked(self) -> tuple[Requirement, ...]:
        """What is only looked at in a run."""
        return tuple(one for one in self.requirements if one.kind == "checked")

    @property
    def idle(self) -> tuple[Symbol, ...]:
        """Lengths and attributes that no figure depends on."""
        return ()

    @property
    def may_be_given(self) -> tuple[Symbol, ...]:
        """What may be given a number."""
        return (*self.symbols, *self.assumed.put, *self.idle)

    @property
    def leading(self) -> Poly | None:
        """The terms of the EOPs that decide how they grow, where that is worth saying: of a model."""
        return leading_terms(self.total.eops) if self.kind == "model" else None

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

    def measures(self, weighed: Weighings = (), reaches: Reaches = is_anywhere) -> tuple[Measure, ...]:
        """Every figure, in the order of a report."""
        reading = MeasuredStudy(self, weighed, reaches)
        return tuple(one for metric in metrics_in(self.report) for one in metric.measures(reading))

    def compared(self) -> Iterator[tuple[str, str, Poly]]:
        """What a comparison is about: a part (or nothing, for the whole), a metric, its form."""
        place: Place = "diff of programs" if self.kind == "program" else "diff of models"
        # what moves may not be known, so it comes last
        for metric in sorted(metrics_in(place), key=lambda metric: metric.basis == "bytes"):
            form = metric.form(self)
            if isinstance(form, Poly):
                yield "", metric.key, form
        yield from self.compared_parts()

    @abstractmethod
    def compared_parts(self) -> Iterator[tuple[str, str, Poly]]:
        """What a comparison is about besides the whole."""

    @abstractmethod
    def groups(self, by: str) -> tuple[Group, ...]:
        """Figures by line, or by node, operator or scope, in order of appearance."""

    @abstractmethod
    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """The rows of a table by operator, node or scope, and for scopes how many levels down."""

    def locate(self, dims: Mapping[str, int]) -> Point:
        """Where the closed forms are, at lengths given by name; problems are told, not raised."""
        symbols = (*self.symbols, *(symbol for symbol in self.idle if symbol.name in dims))
        return locate(symbols, self.requirements, dims, assumed=self.assumed.put)

    @abstractmethod
    def assuming(self, texts: Sequence[str], lenient: bool = False) -> Study:
        """The study under assumptions about its lengths; ``lenient`` leaves out those about other lengths."""

    def weighed(self, weights: Weights) -> Weighed:
        """The total by a cost model."""
        return weigh(self.total.counts, weights)

    @abstractmethod
    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """The work of its nodes, equal ones together, under the title of their operator or of each node."""

    def fused(self) -> CallWork | None:
        """The work of all of it with nothing written or read between nodes; None where that is not known."""
        return None

    def times(self, device: Device, by: str = "op") -> Times:
        """How long it takes on a device."""
        sized = not self.total.traffic.unsized
        return Times(device, self.steps(by), self.fused(), views=self.kind == "model", sized=sized)

    @property
    def general(self) -> Mapping[str, Symbol]:
        """The lengths in which these very forms hold, by name: at any point where all conditions do."""
        return {symbol.name: symbol for symbol in self.symbols}

    def check_names(self, dims: Iterable[str]) -> None:
        """Refuse lengths that it does not have."""
        known = {symbol.name: None for symbol in self.may_be_given}
        unknown = set(dims) - known.keys()
        if unknown:
            hint = f"there are {', '.join(known)}" if known else "there are none"
            raise UnknownLength(Diagnostic("T0412", f"there is no length {quoted(min(unknown))}", hint=hint))

    def at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Find the point with these lengths, and the study that holds there; ``Rejected`` where none does."""
        return self, self.locate(dims)


class Located(Struct, frozen=True, eq=False, dict=True):
    """A study at a point where all that it relies on holds."""

    study: Study
    point: Point
    weights: tuple[Weights, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    device: Device | None = None

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every figure, in the order of a report; times last."""
        weighed = [(model.name, self.study.weighed(model)) for model in self.weights]
        return (*self.study.measures(weighed, self.reaches), *self._durations())

    @cached_property
    def times(self) -> Times | None:
        """How long it takes on the device, if there is one."""
        return None if self.device is None else self.study.times(self.device)

    @cached_property
    def durations(self) -> Mapping[str, Poly]:
        """Times on the device as a comparison takes them: by name, in attoseconds."""
        if self.times is None:
            return {}
        found = {"time": self.times.predicted, "arithmetic_bound": self.times.bound}
        name = self.times.device.name
        return {f"{kind}_{name}": form.attoseconds for kind, form in found.items() if form is not None}

    def compared(self) -> Iterator[tuple[str, str, Poly]]:
        """What a comparison is about: a part (or nothing, for the whole), a metric, its form."""
        yield from self.study.compared()
        yield from (("", metric, form) for metric, form in self.durations.items())

    def _durations(self) -> Iterator[Measure]:
        if self.times is None:
            return
        device = self.times.device
        many = self.study.kind == "model"
        fewer = self._unless
        each = (_EACH if many else UNIT) + fewer
        found = [(f"at least {_FOR_WHAT}", self.times.bound, each)]
        if many and self.times.whole is not None:
            found.append((f"fused, at least {_FOR_WHAT}", self.times.whole, UNIT + fewer))
        if self.times.predicted is not None:
            dearest = ", if data chooses the dearest" if self.status in FROM_ABOVE else ""
            found.append(("predicted", self.times.predicted, self.error + dearest))
        for what, form, unit in found:
            yield Measure("time", f"{device.name} {what}", form, unit, certainty=self.certainty("time"))

    @property
    def _unless(self) -> str:
        """Where less than these times may do, as counts or bytes are bounds from above."""
        reasons = (
            *(["data chooses less work"] if self.status in FROM_ABOVE else []),
            *([] if self.moves_all else ["fewer bytes move"]),
        )
        return f", unless {' or '.join(reasons)}" if reasons else ""

    @cached_property
    def limit_changes(self) -> tuple[LimitChange, ...]:
        """Where nodes come to be bound by something else on the device, at lengths that bounds allow."""
        if self.times is None:
            return ()
        bounds = [one for one in self.study.needed if isinstance(one.condition, Ge)]
        return self.times.changes(
            self.point.values, self.point.missing, lambda there: all(one.holds(there) for one in bounds)
        )

    @property
    def error(self) -> str:
        """How far a prediction like this one was off where it was tested."""
        assert self.times is not None
        fitted = self.times.device.fitted
        if self.study.coverage.missing:
            return f"{UNIT}, of the nodes that are costed"
        if self.study.kind == "model":
            error = None if fitted is None else fitted.error_models
            return (
                UNIT if error is None else f"{UNIT}, whole models were off by {percent(error)} at the median"
            )
        return f"{UNIT}, {error_of(self.times)}"

    @property
    def total(self) -> Figures:
        """What everything costs together."""
        return self.study.total

    def groups(self, by: str) -> tuple[Group, ...]:
        """Figures by line, node, operator or scope; the costliest operators and scopes first."""
        known = ("op", "scope", "node", *(["line"] if self.study.kind == "program" else []))
        if by not in known:
            hint = f"a {self.study.kind} has parts by {', '.join(known)}"
            refuse("T0412", f"there are no parts by {quoted(str(by))}", hint=hint)
        found = self.study.groups(by)
        if by in ("line", "node"):
            return found
        return tuple(sorted(found, key=lambda group: -size(group.figures.eops, self.point.values)))

    @property
    def status(self) -> Certainty:
        """Whether counts are exact, a bound from above or below, or in terms of what data decides."""
        return self.total.status

    def certainty(self, metric: str, figures: Figures | None = None) -> Certainty:
        """How sure a metric is, or a time on the device: of the whole, or of some of the work."""
        basis = "time" if metric == "time" or metric in self.durations else BASES.get(metric, "counts")
        return certainty_of(basis, self.study, figures or self.total, self.reaches)

    @property
    def moves_all(self) -> bool:
        """Whether no fewer bytes move than are counted."""
        return self.certainty("bytes") not in FROM_ABOVE

    def standing(self, measure: Measure, form: Form | None) -> str:
        """How sure a measure, or a part of it, is, in words."""
        if measure.said or measure.certainty not in ("exact", "depends on data"):
            return measure.said or measure.certainty
        return "depends on data" if any(s.kind == "data" for s in symbols_in(form)) else "exact"

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges are seen to have an element: there, none of these is negative."""
        if not full:
            return True
        facts = self.study.granted
        return all(
            is_nonnegative(p, facts) or ((found := self.number(p)) is not None and found >= 0) for p in full
        )

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
        try:
            return None if form is None else form_at(form, self.point.values)
        except NotInteger:  # it divides by a length that is 0 here, inside of what is empty
            return None

    def number(self, form: Form | None) -> int | None:
        """A form as an integer; None where something in it is open."""
        try:
            found = self.value(form)
        except AlgebraBudget:
            return None
        return found if isinstance(found, int) else None

    def share(self, figures: Figures) -> Fraction | None:
        """What part of all EOPs some work has, where every length is known."""
        own, whole = self.number(figures.told[LEADING]), self.number(self.total.eops)
        return Fraction(own, whole) if own is not None and whole else None


def locate_study(
    made: type[L],
    study: Study,
    dims: Mapping[str, int] | None = None,
    weights: tuple[Weights, ...] = (),
    warnings: tuple[Diagnostic, ...] = (),
    device: Device | None = None,
) -> L:
    """Look at a study at lengths given by name; ``Rejected`` where a condition does not hold there."""
    there, point = study.at(dims or {})
    return made(there, point.checked(), weights, warnings, device)


# === A point to show where lengths are open: one that all conditions allow, and that is easily said.


_GUESSES = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""The largest that the conditions allow is taken."""


def at_example(cost: L) -> L | None:
    """A cost at a point where it has figures: its own where every length is given, else an example.

    Lengths that only come first in shapes are batches, and 1; the others are one power of two.  Where that
    cannot be, lengths that follow from others are left to follow.  None where no such point fulfils the
    conditions.
    """
    if cost.point.complete:
        return cost
    put = cost.study.assumed.put
    behind = {next(iter(form.free)): symbol for symbol, form in put.items() if len(form.free) == 1}
    open_ = [behind.get(symbol, symbol).name for symbol in cost.point.missing]
    try:
        return _fitting(cost, open_) or _fitting(cost, _leading(cost, open_))
    except AlgebraBudget:
        return None


def _leading(cost: L, names: Sequence[str]) -> list[str]:
    """The lengths that others follow from: the last come first, as a share is named before what it is of."""
    kept: dict[str, int] = {}
    for name in reversed(names):
        point = cost.study.locate({**cost.point.given, **kept})
        if any(symbol.name == name for symbol in point.missing):
            kept[name] = _GUESSES[0]
    return list(kept)


def _fitting(cost: L, names: Sequence[str]) -> L | None:
    """A cost at the first guess at some lengths that all conditions allow."""
    for lengths in _guesses(cost, names):
        point = cost.study.locate({**cost.point.given, **lengths})
        if point.complete and not point.problems:
            return replace(cost, point=point)
    return None


def _guesses(cost: L, open_: Sequence[str]) -> Iterator[Mapping[str, int]]:
    batches = _batches(cost) & set(open_)
    if batches and (len(batches) < len(open_) or cost.point.given):
        for guess in _GUESSES:
            yield {name: 1 if name in batches else guess for name in open_}
    for guess in _GUESSES:
        yield dict.fromkeys(open_, guess)


def _batches(cost: L) -> set[str]:
    """The lengths that stand nowhere but first in the shapes of inputs."""
    first: set[Symbol] = set()
    other: set[Symbol] = set()
    for given in cost.study.inputs:
        for part in given.type:
            for axis, form in enumerate(part.shape):
                (other if axis else first).update(form.free)
    return {symbol.name for symbol in first - other}


# === What the JSON documents of programs and of models share; ``docs/schemas`` has the contract.


def form_json(form: Form | None) -> Json:
    """A closed form as text; null where it is not known."""
    return None if form is None else text_of(form)


class Show(Struct, frozen=True, eq=False):
    """How forms of a cost are shown: as text, or at its point as numbers; null where they have none."""

    cost: Located
    at_point: bool = False

    def __call__(self, form: Form | None) -> Json:
        """A form, shown."""
        if not self.at_point:
            return form_json(form)
        found = self.cost.value(form)
        if isinstance(found, int | Fraction):
            return number(found)
        return None if self.cost.point.complete else form_json(found)

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges are seen to have an element, at the point or wherever the forms hold."""
        if self.at_point:
            return self.cost.reaches(full)
        return self.cost.study.reaches(full)


def at_json(cost: Located, figures: Callable[[Show], dict[str, Json]]) -> dict[str, Json]:
    """The figures at a point, if there is one: ``at`` where every length is known, else ``partly``."""
    if not cost.located:
        return {}
    dims: dict[str, Json] = {name: number(value) for name, value in sorted(cost.point.dims.items())}
    return {"at" if cost.point.complete else "partly": {"dims": dims, **figures(Show(cost, at_point=True))}}


def symbol_json(symbol: Symbol) -> dict[str, Json]:
    """A symbol with its range."""
    low, high = (None if end is None else to_text(end) for end in (symbol.lo, symbol.hi))
    return {"name": symbol.name, "kind": symbol.kind, "low": low, "high": high}


def weighed_json(cost: Located, show: Show) -> dict[str, Json]:
    """The total by each cost model that is asked for."""
    weighed: dict[str, Json] = {
        model.name: {"value": show(one := cost.study.weighed(model)), "unit": one.unit}
        for model in cost.weights
    }
    return {"weighed": weighed} if weighed else {}
