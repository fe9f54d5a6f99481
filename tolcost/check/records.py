"""What the gate knows and what it found: plain records, all of them text and exact integers.

A ``LockEntry`` is what a lock file says of one program: closed forms as text, in the grammar of
``tolcost.algebra``, and the domain that gives their symbols a meaning, as data.  A
``GateReport`` is the outcome of one check; writers need nothing else.
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
"""Of a device: what is predicted, and a bound for this arithmetic, as in ``time_h200``; attoseconds."""
GATED = keys_in("lock")
"""The metrics that are locked where a project does not say which."""


def is_metric(name: str) -> bool:
    """Whether a figure has this name.

    >>> is_metric("eops"), is_metric("time_h200"), is_metric("time_abacus")
    (True, True, False)
    """
    return name in METRICS or timed(name) is not None


def timed(metric: str) -> tuple[str, str] | None:
    """Whether a metric is a time or a bound, and on which of the devices that come with tolcost."""
    for kind in TIMED:
        device = metric.removeprefix(f"{kind}_")
        if device != metric and device in device_names():
            return kind, device
    return None


def file_of(name: str) -> str:
    """The file of a program by its name in the gate, which ends in ``#`` and the case where it has cases."""
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
"""What helps where a lock file cannot be read."""

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
"""The worst first."""
BudgetKind = Literal["within", "exceeded", "crosses", "overstated", "undecided"]
FINE, FAILING, BAD_INPUT, UNDECIDED = 0, 1, 2, 3


class LockedFigure(Struct, frozen=True):
    """A closed form as text, and how far it can be trusted; the form of an unknown figure is ``?``."""

    status: FigureStatus
    form: str


class InputPart(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A component of an input: its space, and its lengths as closed forms."""

    space: str
    shape: tuple[str, ...]

    @property
    def text(self) -> str:
        """The component for reading, as in ``R[n, 4]``."""
        return f"{self.space}[{', '.join(self.shape)}]"


class LockedInput(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An input by its name; a list has several components."""

    name: str
    parts: tuple[InputPart, ...]

    @property
    def text(self) -> str:
        """The input for reading.

        >>> LockedInput("x", (InputPart("R", ("n", "4")),)).text
        'x R[n, 4]'
        """
        return f"{quoted(self.name)} {' & '.join(part.text for part in self.parts)}"


class SymbolBounds(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The range of a symbol that is no ordinary length; None for an end that it does not have."""

    name: str
    kind: Literal["length", "data"]
    low: str | None
    high: str | None


class Comparison(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Two closed forms, and how they compare."""

    left: str
    sign: Literal[">=", "<=", "==", "!="]
    right: str


Demand: TypeAlias = Annotated[tuple[Comparison, ...], Meta(min_length=1)]
"""What a program needs of lengths: one of these comparisons has to hold."""


def demand_text(demand: Demand) -> str:
    """A demand for reading.

    >>> demand_text((Comparison("k", "==", "n"), Comparison("k", "<=", "1")))
    'k == n or k <= 1'
    """
    return " or ".join(f"{one.left} {one.sign} {one.right}" for one in demand)


class Domain(Struct, frozen=True, forbid_unknown_fields=True):
    """What the names in closed forms stand for, and which lengths a program takes."""

    inputs: tuple[LockedInput, ...] = ()
    bounds: tuple[SymbolBounds, ...] = ()
    where: tuple[Demand, ...] = ()

    @property
    def inputs_text(self) -> str:
        """The inputs for reading."""
        return "; ".join(each.text for each in self.inputs) or "none"


class Accepted(Struct, frozen=True):
    """A costlier figure that someone agreed to, and why; the rest says what its names meant then."""

    why: str
    figure: LockedFigure
    domain: Domain = Domain()
    source: str = ""


class UsedDefinition(Struct, frozen=True):
    """A definition or a table that figures rest on, with a digest of it; ``own`` where a project has it."""

    name: str
    digest: str
    own: bool = False


class CostRules(Struct, frozen=True):
    """What the figures of a program rest on besides the program itself.

    ``given`` is what the settings say of its inputs, as JSON; ``uses`` are definitions that a cost is counted
    by, and devices; ``costs`` names the tables of weights and widths.
    """

    given: str = ""
    uses: tuple[UsedDefinition, ...] = ()
    costs: str = ""


class AgreedRules(Struct, frozen=True):
    """Other rules that someone agreed to, as a digest, and why."""

    why: str
    digest: str


class LockEntry(Struct, frozen=True):
    """What is known of one program: the lengths that it takes, and a figure per metric.

    ``source`` is a digest of the program where a figure does not tell all: a bound, or what data
    decides, is the same as another one only in the same program.  ``rules`` are None where nobody
    wrote them down.
    """

    name: str
    domain: Domain = Domain()
    figures: tuple[tuple[str, LockedFigure], ...] = ()
    accepted: tuple[tuple[str, Accepted], ...] = ()
    source: str = ""
    rules: CostRules | None = None

    def figure(self, metric: str) -> LockedFigure | None:
        """The figure of a metric, if there is one."""
        return dict(self.figures).get(metric)

    def agreed(self, metric: str) -> Accepted | None:
        """What was accepted for a metric, if anything."""
        return dict(self.accepted).get(metric)

    def as_agreed(self, metric: str) -> LockEntry | None:
        """What was accepted for a metric, as an entry of its own."""
        found = self.agreed(metric)
        if found is None:
            return None
        return LockEntry(self.name, found.domain, ((metric, found.figure),), source=found.source)

    def plain(self, name: str | None = None) -> LockEntry:
        """The same without what was accepted, under another name if given."""
        return replace(self, name=self.name if name is None else name, accepted=())


Dims: TypeAlias = tuple[tuple[str, int], ...]


class Example(Struct, frozen=True):
    """One shape, by the names of its lengths, and both numbers there."""

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
    """Where the new figure is above the old; ``exact`` unless it only describes shapes that were tried."""

    text: str
    exact: bool = True


class BlamedLine(Struct, frozen=True):
    """A line of a source, and what there is to say about it."""

    file: str
    line: int
    text: str = ""
    remark: str = ""


class CostChange(Struct, frozen=True):
    """What became of one figure of one program, or (``metric`` empty) of the program as a whole."""

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

    @property
    def is_of_rules(self) -> bool:
        """Whether it is about what programs are held to, not about a figure."""
        return self.kind in ("rules", "excluded")


class HeldBudget(Struct, frozen=True):
    """A budget held against one program: ``limit`` and ``actual`` are forms, or numbers at a shape.

    A formula that is to be equal to a cost is one too, and may be overstated.
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
    """The outcome of a check.  ``against`` names the baseline; all other programs are unchanged."""

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
        """The programs that nothing happened to."""
        touched = {change.name for change in self.changes}
        return tuple(name for name in self.programs if name not in touched)

    @property
    def exit_code(self) -> int:
        """What cannot be read outweighs what is costlier, and that outweighs what is undecided."""
        held = {"within": FINE, "undecided": UNDECIDED}
        codes = {self._code(change) for change in self.changes}
        codes |= {held.get(budget.kind, FAILING) for budget in self.budgets}
        return next((code for code in (BAD_INPUT, FAILING, UNDECIDED) if code in codes), FINE)

    def _code(self, change: CostChange) -> int:
        code = severity(change, self.new_fails, self.strict)
        return FINE if self.written is not None and code != BAD_INPUT else code


def severity(change: CostChange, new_fails: bool = True, strict: bool = False) -> int:
    """The exit code that one change asks for."""
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
