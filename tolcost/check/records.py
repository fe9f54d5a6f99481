"""Records of the gate, made of text and exact integers only.

A ``LockEntry`` is the content of a lock file about one program: closed forms as text, in the grammar of
``tolcost.algebra``, and the domain that defines their symbols.  A ``GateReport`` is the outcome of one check;
the writers of all formats need nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from tolcost.algebra import quoted
from tolcost.certainty import Certainty
from tolcost.platform import device_names
from tolcost.result.metrics import gated, keys_in

METRICS = tuple(metric.key for metric in gated())
TIMED = ("time", "arithmetic_bound")
"""Metrics of a device, in attoseconds: the predicted time, as in ``time_h200``, and a lower bound of it."""
GATED = keys_in("lock")
"""The metrics that are locked by default."""


def _names() -> dict[str, str]:
    """Return the metrics by all of their names: `peak` is `peak_bytes`, and `depth` is `span`."""
    found = {metric.key: metric.key for metric in gated()}
    for metric in gated():
        for name in (metric.asked, metric.python, metric.column):
            if name:
                found.setdefault(name, metric.key)
    return found


_BY_NAME: Mapping[str, str] = _names()
METRIC_NAMES = tuple(_BY_NAME)


def metric_named(name: str) -> str | None:
    """Return the metric that somebody means by a name; None if there is none.

    >>> metric_named("peak"), metric_named("time_h200"), metric_named("latency")
    ('peak_bytes', 'time_h200', None)
    """
    return _BY_NAME.get(name) or (name if timed(name) is not None else None)


def is_metric(name: str) -> bool:
    """Whether this is the name of a metric.

    >>> is_metric("eops"), is_metric("time_h200"), is_metric("time_abacus")
    (True, True, False)
    """
    return name in METRICS or timed(name) is not None


def metrics_known() -> str:
    """Return the names of all metrics, those of devices included, as a hint."""
    return f"known are {', '.join((*METRICS, *(f'{kind}_DEVICE' for kind in TIMED)))}; {devices_known()}"


def devices_known() -> str:
    """Return the names of all devices, as a part of a hint."""
    return f"a DEVICE is one of {', '.join(device_names())}"


def timed(metric: str) -> tuple[str, str] | None:
    """Split a metric of a device into its kind and its device; None for any other metric."""
    for kind in TIMED:
        device = metric.removeprefix(f"{kind}_")
        if device != metric and device in device_names():
            return kind, device
    return None


def file_of(name: str) -> str:
    """Return the file of a program from its name, which ends in ``#`` and a label where there are cases."""
    return name.partition("#")[0]


FigureStatus = Literal["exact", "at-most", "data", "incomplete", "unknown"]
STATUSES: tuple[FigureStatus, ...] = get_args(FigureStatus)
CERTAINTY: Mapping[FigureStatus, Certainty] = {
    "exact": "exact",
    "data": "depends on data",
    "at-most": "upper bound",
    "incomplete": "lower bound",
}
UNKNOWN = "?"
RESTORE = "restore the lock file from version control, or delete it and run `tolcost check --update`"
"""The hint that goes with a lock file that cannot be read."""

ChangeKind = Literal[
    "broken",
    "costlier",
    "crosses",
    "rules",
    "undecided",
    "new",
    "narrower",
    "cheaper",
    "not costlier",
    "renamed",
    "gone",
    "excluded",
    "same",
]
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
"""The kinds of changes, the worst first; reports are sorted by them."""
BudgetKind = Literal["within", "exceeded", "crosses", "overstated", "undecided"]
FINE, FAILING, BAD_INPUT, UNDECIDED = 0, 1, 2, 3


class LockedFigure(Struct, frozen=True):
    """A closed form as text, and its status; the form of an unknown figure is ``?``."""

    status: FigureStatus
    form: str


class InputPart(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A component of an input: its space, and its lengths as closed forms."""

    space: str
    shape: tuple[str, ...]

    @property
    def text(self) -> str:
        """The component as people read it, such as ``R[n, 4]``."""
        return f"{self.space}[{', '.join(self.shape)}]"


class LockedInput(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An input and its components; an input whose elements are lists has several."""

    name: str
    parts: tuple[InputPart, ...]

    @property
    def text(self) -> str:
        """The input as people read it.

        >>> LockedInput("x", (InputPart("R", ("n", "4")),)).text
        'x R[n, 4]'
        """
        return f"{quoted(self.name)} {' & '.join(part.text for part in self.parts)}"


class SymbolBounds(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The range of a symbol that is not an ordinary length; a missing bound is None."""

    name: str
    kind: Literal["length", "data"]
    low: str | None
    high: str | None


class Comparison(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Two closed forms, and the comparison that has to hold between them."""

    left: str
    sign: Literal[">=", "<=", "==", "!="]
    right: str


Demand: TypeAlias = Annotated[tuple[Comparison, ...], Meta(min_length=1)]
"""A condition on lengths: at least one of these comparisons has to hold."""


def demand_text(demand: Demand) -> str:
    """Write a demand as people read it.

    >>> demand_text((Comparison("k", "==", "n"), Comparison("k", "<=", "1")))
    'k == n or k <= 1'
    """
    return " or ".join(f"{one.left} {one.sign} {one.right}" for one in demand)


class Domain(Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of the names in closed forms, and the conditions on the lengths that a program takes."""

    inputs: tuple[LockedInput, ...] = ()
    bounds: tuple[SymbolBounds, ...] = ()
    where: tuple[Demand, ...] = ()

    @property
    def inputs_text(self) -> str:
        """The inputs as people read them."""
        return "; ".join(each.text for each in self.inputs) or "none"


class Accepted(Struct, frozen=True):
    """A costlier figure that someone agreed to, and the reason.

    ``domain`` and ``source`` are those of the program at that time, which define the names in the figure.
    """

    why: str
    figure: LockedFigure
    domain: Domain = Domain()
    source: str = ""


class UsedDefinition(Struct, frozen=True):
    """A definition or table that figures rely on, and its digest; ``own`` if it belongs to the project."""

    name: str
    digest: str
    own: bool = False


class CostRules(Struct, frozen=True):
    """Everything that the figures of a program depend on, besides the program and the code of tolcost.

    ``given`` are the settings for its inputs, as JSON; ``uses`` are the definitions of operators and the
    devices; ``costs`` is a version of the tables of weights and widths.
    """

    given: str = ""
    uses: tuple[UsedDefinition, ...] = ()
    costs: str = ""


class AgreedRules(Struct, frozen=True):
    """Changed rules that someone agreed to, as a digest, and the reason."""

    why: str
    digest: str


class LockEntry(Struct, frozen=True):
    """The recorded facts about one program: its domain, and a figure per metric.

    ``source`` is a digest of the program if some figure is not exact: two equal bounds, or two equal
    data-dependent figures, stand for the same cost only in the same program.  ``rules`` are None if they were
    not recorded.
    """

    name: str
    domain: Domain = Domain()
    figures: tuple[tuple[str, LockedFigure], ...] = ()
    accepted: tuple[tuple[str, Accepted], ...] = ()
    source: str = ""
    rules: CostRules | None = None

    def figure(self, metric: str) -> LockedFigure | None:
        """Return the figure of a metric, if there is one."""
        return dict(self.figures).get(metric)

    def agreed(self, metric: str) -> Accepted | None:
        """Return the accepted figure of a metric, if there is one."""
        return dict(self.accepted).get(metric)

    def as_agreed(self, metric: str) -> LockEntry | None:
        """Return the accepted figure of a metric as a separate entry, to compare with."""
        found = self.agreed(metric)
        if found is None:
            return None
        return LockEntry(self.name, found.domain, ((metric, found.figure),), source=found.source)

    def plain(self, name: str | None = None) -> LockEntry:
        """Return the entry without accepted figures, under another name if one is given."""
        return replace(self, name=self.name if name is None else name, accepted=())


Dims: TypeAlias = tuple[tuple[str, int], ...]


class Example(Struct, frozen=True):
    """A shape, as numbers for named lengths, with the old and the new figure there."""

    dims: Dims
    old: int
    new: int

    @property
    def at(self) -> str:
        """The shape as text.

        >>> Example((("n", 4), ("m", 2)), 8, 16).at
        'n=4, m=2'
        """
        return ", ".join(f"{name}={value}" for name, value in self.dims) or "every shape"


class CostlierRegion(Struct, frozen=True):
    """The shapes where the new figure is above the old; not ``exact`` if it describes sampled shapes only."""

    text: str
    exact: bool = True


class BlamedLine(Struct, frozen=True):
    """A line of a source, with a remark about its contribution."""

    file: str
    line: int
    text: str = ""
    remark: str = ""


class CostChange(Struct, frozen=True):
    """The change of one figure of a program, or of the program as a whole if ``metric`` is empty.

    ``points`` are the figures at the project's own points, and ``figures`` those of a new program, which cost
    nothing before.
    """

    name: str
    kind: ChangeKind
    metric: str = ""
    file: str = ""
    old: str = ""
    new: str = ""
    difference: str = ""
    region: CostlierRegion | None = None
    example: Example | None = None
    other: Example | None = None
    place: BlamedLine | None = None
    tried: int = 0
    why: str | None = None
    notes: tuple[str, ...] = ()
    points: tuple[Example, ...] = ()
    figures: tuple[CostChange, ...] = ()
    equal_bounds: bool = False
    """Whether both figures are upper bounds, and the same."""

    @property
    def is_of_rules(self) -> bool:
        """Whether the change is about the rules of the check, and not about a figure."""
        return self.kind in ("rules", "excluded")


class HeldBudget(Struct, frozen=True):
    """The result of checking one program against a budget; ``limit`` and ``actual`` are closed forms.

    A typed cost formula is checked as a budget, too; it has to equal the cost, so it may also be overstated.
    """

    name: str
    kind: BudgetKind
    budget: str
    metric: str
    file: str = ""
    actual: str = ""
    limit: str = ""
    region: CostlierRegion | None = None
    example: Example | None = None
    tried: int = 0


class GateReport(Struct, frozen=True):
    """The outcome of a check against the baseline ``against``.

    Programs without a change are unchanged.  ``written`` names the lock file if this run updated it.
    """

    against: str
    programs: tuple[str, ...]
    changes: tuple[CostChange, ...] = ()
    budgets: tuple[HeldBudget, ...] = ()
    notes: tuple[str, ...] = ()
    new_fails: bool = True
    strict: bool = False
    written: str | None = None
    pruned: bool = False

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The programs without any change."""
        touched = {change.name for change in self.changes}
        return tuple(name for name in self.programs if name not in touched)

    @property
    def exit_code(self) -> int:
        """The exit code: unreadable programs outweigh costlier ones, and these outweigh undecided ones."""
        held = {"within": FINE, "undecided": UNDECIDED}
        codes = {self._code(change) for change in self.changes}
        codes |= {held.get(budget.kind, FAILING) for budget in self.budgets}
        return next((code for code in (BAD_INPUT, FAILING, UNDECIDED) if code in codes), FINE)

    def _code(self, change: CostChange) -> int:
        code = severity(change, self.new_fails, self.strict)
        return FINE if self.written is not None and code != BAD_INPUT else code


def severity(change: CostChange, new_fails: bool = True, strict: bool = False) -> int:
    """Return the exit code that a change alone would give."""
    match change.kind:
        case "broken":
            return BAD_INPUT
        case "costlier" | "crosses" | "rules" | "excluded":
            return FINE if change.why is not None else FAILING
        case "new":
            return FAILING if new_fails else FINE
        case "undecided":
            return FINE if change.why is not None else UNDECIDED
        case "same":
            return FINE
        case "cheaper" | "not costlier" | "narrower" | "gone" | "renamed":
            return FAILING if strict else FINE
