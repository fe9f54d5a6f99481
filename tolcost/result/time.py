"""Time on a device: a bound and a prediction, the bottlenecks of nodes, and the lengths where they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import ZERO, AlgebraBudget, NotInteger, Poly, Symbol, UnboundSymbol, maximum, total_of
from tolcost.cost.count import CountKey
from tolcost.cost.device import (
    CallPattern,
    CallWork,
    Candidates,
    Device,
    Duration,
    Limit,
    added,
    bound,
    operations_bound,
    predicted,
)
from tolcost.cost.kernel import Obstacle
from tolcost.cost.record import NamedType
from tolcost.cost.traffic import Traffic, bits_of, bytes_of
from tolcost.cost.weights import Weighed
from tolcost.show.document import Valuation

_FURTHEST = 1 << 20
"""Changes of bottlenecks are searched for at lengths up to this."""


def work_of(
    op: str,
    moved: Traffic,
    histogram: Mapping[CountKey, Poly],
    macs: Poly,
    largest: Poly,
    obstacle: Obstacle | None = None,
) -> CallWork | None:
    """Return the work behind some figures; None if something that moves has no size."""
    if moved.unsized:
        return None
    spaces = frozenset(space for function, space in histogram if function == "mul")
    widths = [bits // 8 for space in (*moved.written, *moved.read) if (bits := bits_of(space))]
    read, certain, written = (total_of(way.values()) for way in (moved.read, moved.certain, moved.written))
    width = max(widths, default=4) or 1
    computes = bool(histogram)
    return CallWork(op, read, certain, written, largest, macs, spaces, width, computes, histogram, obstacle)


def largest_of(inputs: Iterable[NamedType]) -> Poly:
    """Return the bytes of the largest input."""
    sizes = (bytes_of(part.shape, part.space) for given in inputs for part in given.type)
    return reduce(maximum, (size for size in sizes if size is not None), ZERO)


class TimedNodes(Struct, frozen=True):
    """Equal nodes: their title, their number, and the work of one."""

    title: str
    nodes: int
    work: CallWork


class LimitChange(Struct, frozen=True):
    """A length from which nodes are bound by another resource, with their number."""

    title: str
    nodes: int
    name: str
    at: int
    before: Limit
    after: Limit


class Times(Struct, frozen=True, eq=False, dict=True):
    """The time of some work on a device: nodes one after the other, or everything fused into one."""

    device: Device
    steps: tuple[TimedNodes, ...]
    fused: CallWork | None = None
    views: bool = True
    """Whether a node that computes nothing may be a view of its input, which takes no time, as in a model."""
    sized: bool = True
    """Whether all that moves has a size; texts have none, so the time of moving them is not known."""

    def by_title(self) -> dict[str, Times]:
        """Return the times of the nodes of each title alone, as far as their work is known."""
        found: dict[str, list[TimedNodes]] = {}
        for step in self.steps:
            found.setdefault(step.title, []).append(step)
        return {title: replace(self, steps=tuple(steps), sized=True) for title, steps in found.items()}

    @cached_property
    def bound(self) -> Duration | None:
        """The least time of nodes, one after the other."""
        if not self.sized:
            return None
        counted = [s for s in self.steps if (s.work.computes or not self.views) and not self._is_part(s.work)]
        return added(Fraction(0), [(s.nodes, _forms(bound(self.device, s.work))) for s in counted])

    @cached_property
    def whole(self) -> Duration | None:
        """The least time if nothing between nodes is written or read."""
        return (
            None if self.fused is None else added(Fraction(0), [(1, _forms(bound(self.device, self.fused)))])
        )

    @cached_property
    def predicted(self) -> Duration | None:
        """The predicted time of nodes, one after the other; None if nothing was fitted to such nodes.

        Only the first kernel waits for its start; each later one waits for the gap between kernels.
        """
        fitted = self.device.fitted
        if fitted is None or not self.sized or self.unlike:
            return None
        parts = [(step.nodes, *self._parts(step.work)) for step in self.steps]
        busy = [(nodes, start, candidates) for nodes, start, candidates in parts if candidates]
        starts = sum((nodes * (start - self.wait) for nodes, start, _ in busy), Fraction(0))
        constant = starts + self.wait if busy else Fraction(0)
        return added(constant, [(nodes, _forms(candidates)) for nodes, _, candidates in busy])

    def _is_part(self, work: CallWork) -> bool:
        """Whether some work is done by the kernel of another, so that its bytes need not move."""
        fitted = self.device.fitted
        return fitted is not None and not fitted.habit(work).kernels

    @property
    def wait(self) -> Fraction:
        """The time that the first kernel takes besides: without it, predictions of nodes add up."""
        fitted = self.device.fitted
        return Fraction(0) if fitted is None else fitted.stream.start - fitted.gap

    def added_up(self) -> Duration | None:
        """Return the part of the time of a whole that these steps take: the prediction, or else the bound."""
        if self.device.fitted is None:
            return self.bound
        own = self.predicted
        if own is None or not (own.constant or own.terms):
            return own
        return Duration(own.constant - self.wait, own.terms)

    def limit(self, work: CallWork, values: Valuation) -> Limit | None:
        """Return the resource that bounds some work at a point; None if lengths are open."""
        start, candidates = self._parts(work)
        try:
            found: list[tuple[Fraction, Limit]] = [(form.at(values), name) for name, form in candidates]
        except (UnboundSymbol, NotInteger, AlgebraBudget):
            return None
        largest = max(found, default=(Fraction(0), "launches"), key=lambda one: one[0])
        return "launches" if start >= largest[0] else largest[1]

    def limits(self, values: Valuation) -> Counter[str]:
        """Count nodes by the resource that bounds them at a point; nodes without a kernel are left out."""
        found: Counter[str] = Counter()
        for step in self.steps:
            limit = self.limit(step.work, values) if self._parts(step.work)[1] else None
            if limit is not None:
                found[limit] += step.nodes
        return found

    @cached_property
    def unlike(self) -> tuple[tuple[str, Obstacle], ...]:
        """The nodes that are unlike all that was recorded, as they are no kernel: titles, and why."""
        fitted = self.device.fitted
        if fitted is None:
            return ()
        found = ((step.title, fitted.obstacle(step.work)) for step in self.steps)
        return tuple(dict.fromkeys((title, why) for title, why in found if why is not None))

    def _parts(self, work: CallWork) -> tuple[Fraction, Candidates]:
        fitted = self.device.fitted
        if fitted is None or fitted.obstacle(work) is not None:
            return Fraction(0), bound(self.device, work)
        if self.views and fitted.habit(work).view:
            return Fraction(0), ()
        start, candidates = predicted(fitted, work)
        if fitted.listed(work.op) or not candidates:
            return start, candidates
        return start, (*candidates, *operations_bound(self.device, work))

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The spaces of products for which the device has no peak: bytes alone bound these products."""
        spaces = {space for step in self.steps if step.work.macs != 0 for space in step.work.spaces}
        return tuple(sorted(spaces - self.device.macs.keys()))

    def changes(
        self, values: Valuation, open_: Sequence[Symbol], allowed: Callable[[Valuation], bool]
    ) -> tuple[LimitChange, ...]:
        """Return the lengths at which nodes change their bottleneck, while the only open length grows.

        Lengths are doubled, and bisected where the bottleneck differs at both ends.  Changes at lengths that
        are not ``allowed`` are left out.
        """
        if len(open_) != 1:
            return ()
        found: dict[LimitChange, int] = {}
        for step in self.steps:
            for change in self._changes(step, values, open_[0]):
                if allowed({**values, open_[0]: change.at}):
                    found[change] = found.get(change, 0) + step.nodes
        return tuple(replace(change, nodes=nodes) for change, nodes in found.items())

    def _changes(self, step: TimedNodes, values: Valuation, symbol: Symbol) -> Iterator[LimitChange]:
        low = 1 if symbol.lo is None else symbol.lo.constant or 1
        high = symbol.hi.constant if symbol.hi is not None else None
        last = min(_FURTHEST, high or _FURTHEST)

        def there(n: int) -> Limit | None:
            return self.limit(step.work, {**values, symbol: n})

        while low < last:
            end = min(2 * low, last)
            before, after = there(low), there(end)
            if before is None or after is None:
                return
            if after != before:
                end = _first(there, low, end)  # another change may follow before the next length
                yield LimitChange(step.title, 0, symbol.name, end, before, there(end) or after)
            low = end


def _first(there: Callable[[int], Limit | None], low: int, high: int) -> int:
    """Bisect for the first length whose bottleneck differs from that at ``low``; that at ``high`` must."""
    before = there(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if there(middle) != before else (middle, high)
    return high


def _forms(candidates: Candidates) -> tuple[Weighed, ...]:
    return tuple(form for _, form in candidates)


def percent(share: Fraction) -> str:
    """Write a share as a percentage.

    >>> percent(Fraction(113, 1000))
    '11 %'
    """
    return f"{float(share) * 100:.0f} %"


_WHY: Mapping[Obstacle, str] = {
    **{
        value: f"a fold carries a {value} from step to step"
        for value in ("number", "list", "vector", "matrix", "ToL")
    },
    "loops": "a loop reads what another loop makes",
}


def not_predicted(times: Times, named: bool) -> str:
    """Say why there is no prediction, with the titles of nodes if ``named``; empty where there is one."""
    if not times.unlike:
        return ""
    title, why = times.unlike[0]
    more = len(times.unlike) - 1
    others = f" (and {more:,} more)" if more else ""
    return f"{f'{title}: ' if named else ''}{_WHY[why]}{others}; predictions are for one kernel"


def error_of(times: Times) -> str:
    """Describe the errors of predictions for its patterns, on operators that they were not fitted on."""
    fitted = times.device.fitted
    if fitted is None:
        return "nothing was fitted"
    if times.unlike:
        return f"none: {not_predicted(times, named=False)}"
    busy = [step for step in times.steps if not (times.views and fitted.habit(step.work).view)]
    groups = dict.fromkeys((fitted.group(step.work), fitted.habit(step.work).note) for step in busy)
    if times.steps and not busy:
        return "a view"
    return ", ".join(_error(group, note) for group, note in groups if group is not None) or "no kernel"


def _error(group: CallPattern, note: str) -> str:
    name = f"{group.title} ({note})" if note else group.title
    if group.error is None:
        return f"as {name}, {_UNTESTED}"
    return f"as {name}, off by {percent(group.error)} at the median"


_UNTESTED = "not tested on others"


def mostly_untested(times: Times, values: Valuation) -> str:
    """Say what has most of a predicted time though its pattern was tested on nothing else; often nothing."""
    fitted = times.device.fitted
    if fitted is None or times.predicted is None:
        return ""
    untested = [s for s in times.steps if (group := fitted.group(s.work)) and group.error is None]
    own = replace(times, steps=tuple(untested)).predicted
    try:
        if own is None or 2 * own.at(values) <= times.predicted.at(values):
            return ""
    except (UnboundSymbol, NotInteger, AlgebraBudget):
        return ""
    names = dict.fromkeys(group.title for s in untested if (group := fitted.group(s.work)))
    return f"most of it in {', '.join(names)}, {_UNTESTED}"
