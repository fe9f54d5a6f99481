"""The result of an analysis: one type for programs, operators and models.

``Figures`` are the costs of some work together, with their certainty.  A program is a model of one node.
A ``Study`` is an analysed program or model, whose costly figures are computed when they are first asked
for; ``Located`` is a study at a point, and the only way from closed forms to numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    atom,
    eq,
    evaluate,
    is_nonnegative,
    leading_terms,
    to_text,
    total_of,
    without_data,
)
from tolcost.certainty import FROM_ABOVE, INCOMPLETE, Certainty
from tolcost.cost import Analysis, FormRatio, Traffic
from tolcost.cost.count import Change, CountKey, Counts
from tolcost.cost.device import UNIT, CallWork, Device
from tolcost.cost.record import NamedType
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed, Weights, weigh
from tolcost.diagnostics import Diagnostic, Rejected, UnknownLength, quoted, refuse, visible
from tolcost.records import AbstractMeta
from tolcost.result.assumptions import NOTHING, Assumed
from tolcost.result.example import fitted
from tolcost.result.lengths import shaped
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
from tolcost.result.time import (
    LimitChange,
    TimedNodes,
    Times,
    error_of,
    mostly_untested,
    not_predicted,
    percent,
)
from tolcost.result.typical import OTHER, typical_lengths
from tolcost.show.document import Fact, Form, Json, Section, Valuation, form_at, number, symbols_in, text_of

if TYPE_CHECKING:
    from tolcost.catalogue.specs import NamedText
    from tolcost.cost.span import Depths
    from tolcost.models.memory import Holdings, Peak


class Figures(Struct, frozen=True):
    """The costs of some work: a program, a node, or many nodes together."""

    counts: Counts
    flops: Poly
    traffic: Traffic

    def map_forms(self, change: Change) -> Figures:
        """Return these figures with every form changed."""
        return Figures(self.counts.map_forms(change), change(self.flops), self.traffic.map_forms(change))

    @property
    def status(self) -> Certainty:
        """The certainty of the counts."""
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
        """Bytes that must be read and written, node by node; None if something has no size."""
        return self.traffic.total

    @property
    def amounts(self) -> dict[str, Poly | None]:
        """All metrics of a part, by key."""
        return {metric.key: self.amount(metric) for metric in COLUMNS}

    @property
    def told(self) -> dict[str, Poly | None]:
        """The amounts that a part adds to a sum, by key."""
        return {metric.key: self.told_of(metric) for metric in COLUMNS}

    def amount(self, metric: Metric) -> Poly | None:
        """Return a metric of this work; None if only a whole has it, or if it is not known."""
        return None if metric.of is None else metric.of(self)

    def told_of(self, metric: Metric) -> Poly | None:
        """Return the amount that a part adds to a sum; None if it is 0 because nodes are not costed."""
        form = self.amount(metric)
        return None if form == 0 and self.status in INCOMPLETE else form

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes; None if some nodes are not costed, or if the bytes are 0 or not known."""
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
    """Return a number to sort by: the value of a form, with a typical value for other symbols."""
    try:
        return evaluate(form, {**dict.fromkeys(form.free, OTHER.value), **known})
    except (NotInteger, AlgebraBudget):
        return 0


class MissingNode(Struct, frozen=True):
    """A node that is not costed, at least in part: its name, its operator, and the reason.

    ``behind`` is the number of nodes that are not costed because the outputs of this one are not known.
    ``start`` is the beginning of a definition of its operator, if there is none; ``gives`` are its outputs.
    ``invalid`` states that the node is wrong at all lengths: the model is at fault, not a missing definition.
    ``waits`` states that it is itself behind such a node.
    """

    name: str
    op: str
    why: str
    behind: int = 0
    start: str = ""
    gives: tuple[str, ...] = ()
    invalid: bool = False
    waits: bool = False


_MOST_NAMED = 3


class Coverage(Struct, frozen=True):
    """The number of nodes, and the nodes that are not costed."""

    nodes: int
    missing: tuple[MissingNode, ...]

    @property
    def costed(self) -> int:
        """The number of nodes that are costed."""
        return self.nodes - len(self.missing)

    @property
    def text(self) -> str:
        """The share of costed nodes, in words."""
        whole = round(Fraction(100 * self.costed, self.nodes)) if self.nodes else 100
        whole = min(whole, 99) if self.missing else whole  # all is said only of all
        return f"{self.costed:,} of {self.nodes:,} nodes costed ({whole} %)"

    @property
    def said(self) -> str:
        """The operators without a cost, each with its node, and how many nodes wait for them; else empty.

        >>> first = MissingNode("relu1", "com.mine.FancyAct", "it has no definition", behind=1)
        >>> Coverage(3, (first, MissingNode("conv2", "Conv", "its input is not known", waits=True))).said
        'com.mine.FancyAct (relu1), and 1 node after it'
        """
        roots = [item for item in self.missing if not item.waits]
        named = [f"{visible(item.op)} ({visible(item.name)})" for item in roots[:_MOST_NAMED]]
        named += [f"{len(roots) - _MOST_NAMED:,} more"] if len(roots) > _MOST_NAMED else []
        behind = len(self.missing) - len(roots)
        nodes = f"{behind:,} node{'s' if behind > 1 else ''} after {'it' if len(roots) == 1 else 'them'}"
        return ", ".join(named) + (f", and {nodes}" if behind else "")

    @property
    def invalid(self) -> MissingNode | None:
        """The first node that is wrong at all lengths."""
        return next((item for item in self.missing if item.invalid), None)

    @property
    def operators(self) -> Mapping[str, int]:
        """The operators that are not costed, with their numbers of nodes."""
        return Counter(item.op for item in self.missing)


# ---- growth ----------------------------------------------------------------------------


class SweepRow(Struct, frozen=True):
    """Figures at one value of a length, by key: numbers, or forms in the lengths that are still open.

    ``outside`` names the condition that fails there; the row then has no figures.
    """

    value: int
    figures: Mapping[str, Form | None]
    outside: str = ""


class Crossing(Struct, frozen=True):
    """The length from which one part costs more than another."""

    earlier: str
    later: str
    at: int


class Growth(Struct, frozen=True):
    """A sweep: its figures by key and title, its rows, and where one part overtakes another.

    ``fixed`` are the values here of other lengths that are swept.
    """

    name: str
    columns: Mapping[str, str]
    rows: tuple[SweepRow, ...]
    crossings: tuple[Crossing, ...]
    fixed: Mapping[str, int] = field(default_factory=dict)


class ComparedFigure(Struct, frozen=True, eq=False):
    """A figure that a comparison compares: of a part (empty for the whole), None if it is not known."""

    part: str
    metric: str
    form: Poly | None
    certainty: Certainty


# ---- studies ---------------------------------------------------------------------------------


L = TypeVar("L", bound="Located")
FUNCTIONS = "histogram"
"""The part of a comparison whose figures are counts by function and space."""
_EACH = ("node by node with empty caches",)
_FOR_WHAT = "for this arithmetic"
"""Times bound this arithmetic only: other definitions of the same values may take less."""


class _Assuming(Struct, metaclass=AbstractMeta, frozen=True, eq=False, dict=True, kw_only=True):
    assumed: Assumed = NOTHING


class Study(_Assuming, frozen=True):
    """An analysed program or model, with everything known about its cost."""

    name: str
    file: str
    inputs: tuple[NamedType, ...]
    symbols: tuple[Symbol, ...]
    total: Figures
    requirements: tuple[Requirement, ...]
    coverage: Coverage

    kind: ClassVar[Literal["program", "model"]]
    report: ClassVar[Literal["program", "model", "runs", "training"]]
    """The kind of its reports, which decides which metrics stand there."""

    @property
    def holdings(self) -> Holdings | None:
        """The parameters, inputs and outputs of a model."""
        return None

    @property
    def peak(self) -> Peak | None:
        """The peak memory of a model's activations; None if it is not known."""
        return None

    @property
    def cache(self) -> Poly | None:
        """The bytes of the inputs of a model that grow from run to run, after the last run."""
        return None

    @property
    def memory(self) -> Depth | None:
        """The bytes of the parameters of a model and its peak together."""
        return None

    @property
    def gradient_bytes(self) -> Poly | None:
        """The bytes of the gradients in a step of training."""
        return None

    @property
    def state_bytes(self) -> Poly | None:
        """The bytes that an optimiser holds from step to step."""
        return None

    @property
    def kept_bytes(self) -> Poly | None:
        """The bytes of the activations that a step of training keeps for backward."""
        return None

    @property
    def train_peak(self) -> Peak | None:
        """The most memory that a step of training takes at once."""
        return None

    @property
    def depth(self) -> Depth | None:
        """The longest chain of functions; None if it is not known."""
        return None if self.span is None else self.span.chain

    @property
    def span(self) -> Depths | None:
        """The depth of a program, with reduces as chains and as trees."""
        return None

    @property
    def parallelism(self) -> FormRatio | None:
        """EOPs over the depth of a program; None if the depth is 0 at all lengths."""
        return None

    @property
    def parallelism_tree(self) -> FormRatio | None:
        """EOPs over the depth of a program with associative reduces as trees."""
        return None

    @property
    def needed(self) -> tuple[Requirement, ...]:
        """The conditions that closed forms rely on, without those that are only checked in a run."""
        return tuple(one for one in self.requirements if one.kind == "needed")

    @property
    def granted(self) -> tuple[Cond, ...]:
        """The facts that hold wherever the closed forms do, as far as they are of use in a proof."""
        return facts_of(one.condition for one in self.needed)

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges are proved to have an element: no form is negative where conditions hold."""
        return all(is_nonnegative(form, self.granted) for form in full)

    @property
    def checked(self) -> tuple[Requirement, ...]:
        """The conditions that are only checked in a run."""
        return tuple(one for one in self.requirements if one.kind == "checked")

    @property
    def idle(self) -> tuple[Symbol, ...]:
        """Lengths and attributes that no figure depends on."""
        return ()

    @property
    def may_be_given(self) -> tuple[Symbol, ...]:
        """The symbols that may be given numbers."""
        return (*self.symbols, *self.assumed.put, *self.idle)

    @property
    def leading(self) -> Poly | None:
        """The terms of a model's EOPs that decide how they grow; None for a program."""
        return leading_terms(self.total.eops) if self.kind == "model" else None

    @property
    def at_most(self) -> Poly | None:
        """The most EOPs of a program whatever data decides; None if it decides none, or some have no end."""
        eops = self.total.eops
        if self.kind == "model" or not any(symbol.kind == "data" for symbol in eops.free):
            return None
        return without_data(eops, (*self.granted, *self.assumed.facts))

    @property
    def at_least(self) -> Poly | None:
        """The fewest EOPs of a program, where they are told between two forms."""
        return None

    @abstractmethod
    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Yield inputs and outputs: the direction, the name and the type, with ``put`` applied to lengths."""

    @abstractmethod
    def head(self) -> Iterator[Fact]:
        """Yield facts about the subject of the analysis."""

    @abstractmethod
    def remarks(self) -> Iterator[Fact]:
        """Yield facts about the way figures were computed."""

    def trained(self, optimizer: str, asked: Mapping[str, object], at: Point | None = None) -> Study:
        """Return a step of training, with what is to be chosen at a point; only a model has one."""
        refuse("T0910", f"{quoted(self.name)} is no model that can be trained")

    def behind(self) -> tuple[NamedText, ...]:
        """Return the programs that figures rest on besides definitions of operators."""
        return ()

    def extra(self, at: Located | None, exact: bool) -> Iterator[Section]:
        """Yield tables of a report besides its figures and its parts, with numbers at a point."""
        return iter(())

    @abstractmethod
    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """Return its JSON document."""

    def measures(self, weighed: Weighings = (), reaches: Reaches = is_anywhere) -> tuple[Measure, ...]:
        """Return every figure, in the order of a report."""
        reading = MeasuredStudy(self, weighed, reaches)
        return tuple(one for metric in metrics_in(self.report) for one in metric.measures(reading))

    def compared(self, certainty: Callable[[str], Certainty]) -> Iterator[ComparedFigure]:
        """Yield what a comparison compares: the figures of the whole, then those of its parts."""
        place: Place = "diff of programs" if self.kind == "program" else "diff of models"
        # bytes come last, since they may not be known
        for metric in sorted(metrics_in(place), key=lambda metric: metric.basis == "bytes"):
            form = metric.form(self)
            if form is None and self.report not in metric.stands:
                continue  # a figure of other reports, such as those of steps of training
            known = form.form if isinstance(form, Depth) else form if isinstance(form, Poly) else None
            yield ComparedFigure("", metric.key, known, certainty(metric.key))
        yield from self.compared_parts()

    @abstractmethod
    def compared_parts(self) -> Iterator[ComparedFigure]:
        """Yield what a comparison compares besides the whole."""

    @abstractmethod
    def groups(self, by: str) -> tuple[Group, ...]:
        """Return figures by line, or by node, operator or scope, in order of appearance."""

    @abstractmethod
    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """Return the rows of a table by operator, node or scope; scopes are ``depth`` levels deep."""

    @cached_property
    def typical(self) -> Mapping[Symbol, int]:
        """The typical values of its lengths, whether or not conditions allow them."""
        lengths = (symbol for symbol in (*self.symbols, *self.assumed.put) if symbol.kind == "length")
        return typical_lengths(dict.fromkeys(lengths), shaped(self.inputs), self.tied(), self.kind == "model")

    def ties(self) -> Mapping[Symbol, Poly]:
        """Return lengths that equal forms in others."""
        return self.assumed.put

    def tied(self) -> tuple[Cond, ...]:
        """Return all that figures need, lengths that equal forms among them."""
        ties = (eq(form - atom(symbol)) for symbol, form in self.ties().items())
        return (*ties, *(one.condition for one in self.needed))

    def locate(self, dims: Mapping[str, int]) -> Point:
        """Return the point with lengths given by name; it lists problems instead of raising them."""
        symbols = (*self.symbols, *(symbol for symbol in self.idle if symbol.name in dims))
        return locate(symbols, self.requirements, dims, assumed=self.assumed.put)

    @abstractmethod
    def assuming(self, texts: Sequence[str], lenient: bool = False) -> Study:
        """Return the study under assumptions about lengths; ``lenient`` skips those about unknown lengths."""

    def weighed(self, weights: Weights) -> Weighed:
        """Return the total weighted by a cost model."""
        return weigh(self.total.counts, weights)

    @abstractmethod
    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """Return the work of its nodes, equal ones together, by operator or by node."""

    def fused(self) -> CallWork | None:
        """Return the work of the whole without traffic between nodes; None if that is not known."""
        return None

    @property
    def untimed(self) -> str:
        """Which of its nodes take no time in a run, in words; nothing if all do."""
        return ""

    def times(self, device: Device, by: str = "op") -> Times:
        """Return its times on a device."""
        sized = not self.total.traffic.unsized
        return Times(device, self.steps(by), self.fused(), views=self.kind == "model", sized=sized)

    @property
    def general(self) -> Mapping[str, Symbol]:
        """The lengths by name in which these forms hold at every point that fulfils all conditions."""
        return {symbol.name: symbol for symbol in self.symbols}

    def check_names(self, dims: Iterable[str]) -> None:
        """Refuse unknown lengths."""
        known = {symbol.name: None for symbol in self.may_be_given}
        unknown = set(dims) - known.keys()
        if unknown:
            hint = f"there are {', '.join(known)}" if known else "there are none"
            raise UnknownLength(Diagnostic("T0412", f"there is no length {quoted(min(unknown))}", hint=hint))

    def at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Return the study that holds at these lengths, and the point; ``Rejected`` if there is none."""
        return self, self.locate(dims)


class Located(Struct, frozen=True, eq=False, dict=True):
    """A study at a point at which all its conditions hold."""

    study: Study
    point: Point
    weights: tuple[Weights, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    device: Device | None = None

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """All figures, in the order of a report; times last."""
        weighed = [(model.name, self.study.weighed(model)) for model in self.weights]
        return (*self.study.measures(weighed, self.reaches), *self._durations())

    @cached_property
    def times(self) -> Times | None:
        """The times on the device, if there is one."""
        return None if self.device is None else self.study.times(self.device)

    @cached_property
    def durations(self) -> Mapping[str, Poly]:
        """Times on the device for a comparison: by name, in attoseconds."""
        if self.times is None:
            return {}
        found = {"time": self.times.predicted, "arithmetic_bound": self.times.bound}
        name = self.times.device.name
        return {f"{kind}_{name}": form.attoseconds for kind, form in found.items() if form is not None}

    def compared(self) -> Iterator[ComparedFigure]:
        """Yield what a comparison compares; times on the device come last."""
        yield from self.study.compared(self.certainty)
        for metric, form in self.durations.items():
            yield ComparedFigure("", metric, form, self.certainty(metric))

    def _durations(self) -> Iterator[Measure]:
        if self.times is None:
            return
        device = self.times.device
        many = self.study.kind == "model"
        fewer = self._unless
        loaded = (self.study.untimed,) if self.study.untimed else ()
        each = ", ".join((*(_EACH if many else ()), *loaded, *fewer))
        found = [(f"at least {_FOR_WHAT}", self.times.bound, each)]
        if many and self.times.whole is not None:
            found.append((f"fused, at least {_FOR_WHAT}", self.times.whole, ", ".join(fewer)))
        if self.times.predicted is not None:
            dearest = "if data chooses the dearest" if self.status in FROM_ABOVE else ""
            about = ", ".join(filter(None, (self.error, dearest)))
            found.append(("predicted", self.times.predicted, about))
        sure = self.certainty("time")
        for what, form, about in found:
            yield Measure("time", f"{device.name} {what}", form, UNIT, certainty=sure, about=about)

    @property
    def _unless(self) -> tuple[str, ...]:
        """The cases in which less time may suffice, if counts or bytes are upper bounds."""
        reasons = (
            *(["data chooses less work"] if self.status in FROM_ABOVE else []),
            *([] if self.moves_all else ["fewer bytes move"]),
        )
        return (f"unless {' or '.join(reasons)}",) if reasons else ()

    @cached_property
    def limit_changes(self) -> tuple[LimitChange, ...]:
        """The lengths at which nodes change their bottleneck on the device, if bounds allow them."""
        if self.times is None:
            return ()
        bounds = [one for one in self.study.needed if isinstance(one.condition, Ge)]
        return self.times.changes(
            self.point.values, self.point.missing, lambda there: all(one.holds(there) for one in bounds)
        )

    @property
    def error(self) -> str:
        """The error of such predictions where they were tested."""
        assert self.times is not None
        fitted = self.times.device.fitted
        if self.times.unlike:
            return f"none: {not_predicted(self.times, self.study.kind == 'model')}"
        if self.study.coverage.missing:
            return "of the nodes that are costed"
        if self.study.kind == "model":
            error = None if fitted is None else fitted.error_models
            whole = "" if error is None else f"whole models were off by {percent(error)} at the median"
            there = self.example.point.values if self.example else self.point.values
            return "; ".join(filter(None, (whole, mostly_untested(self.times, there))))
        return error_of(self.times)

    @property
    def total(self) -> Figures:
        """The figures of the whole."""
        return self.study.total

    def groups(self, by: str) -> tuple[Group, ...]:
        """Return figures by line, node, operator or scope; the costliest operators and scopes come first."""
        known = ("op", "scope", "node", *(["line"] if self.study.kind == "program" else []))
        if by not in known:
            hint = f"a {self.study.kind} has parts by {', '.join(known)}"
            refuse("T0412", f"there are no parts by {quoted(str(by))}", hint=hint)
        found = self.study.groups(by)
        if by in ("line", "node"):
            return found
        return tuple(
            sorted(
                found,
                key=lambda group: -size(group.figures.eops, {**self.study.typical, **self.point.values}),
            )
        )

    @property
    def status(self) -> Certainty:
        """The certainty of the counts: exact, a bound, or exact in lengths that data decides."""
        return self.total.status

    def certainty(self, metric: str, figures: Figures | None = None) -> Certainty:
        """Return the certainty of a metric, or of a time on the device: for the whole, or for a part."""
        basis = "time" if metric == "time" or metric in self.durations else BASES.get(metric, "counts")
        return certainty_of(basis, self.study, figures or self.total, self.reaches)

    @property
    def moves_all(self) -> bool:
        """Whether no fewer bytes move than are counted."""
        return self.certainty("bytes") not in FROM_ABOVE

    def standing(self, measure: Measure, form: Form | None) -> str:
        """Write the certainty of a measure, or of a part of it."""
        if measure.said or measure.certainty not in ("exact", "depends on data"):
            return measure.said or measure.certainty
        return "depends on data" if any(s.kind == "data" for s in symbols_in(form)) else "exact"

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges have an element, by proof or at the point: none of the forms is negative."""
        if not full:
            return True
        facts = self.study.granted
        return all(
            is_nonnegative(p, facts) or ((found := self.number(p)) is not None and found >= 0) for p in full
        )

    @cached_property
    def example(self) -> Self | None:
        """The cost at typical lengths that fulfil all conditions, or where it is; None if none are found."""
        return at_example(self)

    @property
    def coverage(self) -> Coverage:
        """The number of nodes, and the nodes that are not costed."""
        return self.study.coverage

    @property
    def located(self) -> bool:
        """Whether there are figures at a point: lengths were given, or there are none to give."""
        return self.point.complete or bool(self.point.dims)

    def value(self, form: Form | None) -> Form | None:
        """Return a form at the point: a number if all lengths in it are known; None if it has no value."""
        try:
            return None if form is None else form_at(form, self.point.values)
        except NotInteger:  # a divisor is 0 here, in a part that is empty
            return None

    def number(self, form: Form | None) -> int | None:
        """Return a form as an integer; None if something in it is open."""
        try:
            found = self.value(form)
        except AlgebraBudget:
            return None
        return found if isinstance(found, int) else None

    def share(self, figures: Figures) -> Fraction | None:
        """Return the share of some work in all EOPs; None unless every length is known."""
        own, whole = self.number(figures.told[LEADING]), self.number(self.total.eops)
        return Fraction(own, whole) if own is not None and whole else None


def broken_condition(study: Study, rejected: Rejected) -> str:
    """Return the condition that a point violates, or the message if the study has no such condition."""
    (said, *_) = rejected.diagnostics
    return next((one.text for one in study.requirements if one.broken() == said), said.message)


def locate_study(
    made: type[L],
    study: Study,
    dims: Mapping[str, int] | None = None,
    weights: tuple[Weights, ...] = (),
    warnings: tuple[Diagnostic, ...] = (),
    device: Device | None = None,
) -> L:
    """Locate a study at lengths given by name; ``Rejected`` if a condition does not hold there."""
    there, point = study.at(dims or {})
    return made(there, point.checked(), weights, warnings, device)


# === Examples for open lengths: a point that fulfils all conditions, of lengths that are typical.


def at_example(cost: L, also: Sequence[Cond] = ()) -> L | None:
    """Return a cost at a point with figures: its own if every length is given, else an example.

    Lengths have typical values, or the nearest ones that fulfil all conditions of the cost, and those of
    another (``also``).  None if no such point is found.
    """
    if cost.point.complete and not also:
        return cost
    study, given = cost.study, {s: n for s, n in cost.point.values.items() if s.kind == "length"}
    ties = study.ties()
    wanted = {
        symbol: n for symbol, n in study.typical.items() if symbol in cost.point.missing or symbol in ties
    }
    found = fitted(wanted, (*study.tied(), *also), given)
    if found is None:
        return None
    named = {symbol.name: n for symbol, n in found.items()}
    point = study.locate({**cost.point.given, **named})
    return replace(cost, point=point) if point.complete and not point.problems else None


# === Contents that the JSON documents of programs and models share; ``docs/schemas`` has the contract.


def form_json(form: Form | None) -> Json:
    """Return a closed form as text; null if it is not known."""
    return None if form is None else text_of(form)


class Show(Struct, frozen=True, eq=False):
    """Shows forms of a cost: as text, or as numbers at its point; null if they have none."""

    cost: Located
    at_point: bool = False

    def __call__(self, form: Form | None) -> Json:
        """Show a form."""
        if not self.at_point:
            return form_json(form)
        found = self.cost.value(form)
        if isinstance(found, int | Fraction):
            return number(found)
        return None if self.cost.point.complete else form_json(found)

    def reaches(self, full: Sequence[Poly]) -> bool:
        """Whether all ranges have an element, at the point or wherever the forms hold."""
        if self.at_point:
            return self.cost.reaches(full)
        return self.cost.study.reaches(full)


def at_json(cost: Located, figures: Callable[[Show], dict[str, Json]]) -> dict[str, Json]:
    """Return the figures at a point: as ``at`` if every length is known, as ``partly`` if some are."""
    if not cost.located:
        return {}
    dims: dict[str, Json] = {name: number(value) for name, value in sorted(cost.point.dims.items())}
    return {"at" if cost.point.complete else "partly": {"dims": dims, **figures(Show(cost, at_point=True))}}


def symbol_json(symbol: Symbol) -> dict[str, Json]:
    """Return a symbol with its range."""
    low, high = (None if end is None else to_text(end) for end in (symbol.lo, symbol.hi))
    return {"name": symbol.name, "kind": symbol.kind, "low": low, "high": high}


def weighed_json(cost: Located, show: Show) -> dict[str, Json]:
    """Return the total by each cost model that was asked for."""
    weighed: dict[str, Json] = {}
    for model in cost.weights:
        one = cost.study.weighed(model)
        lacks: dict[str, Json] = {"left_out": list(one.left_out)} if one.left_out else {}
        weighed[model.name] = {"value": show(one), "unit": one.unit, **lacks}
    return {"weighed": weighed} if weighed else {}
