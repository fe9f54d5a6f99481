"""Devices: the duration of work on a machine, in closed form.

A device is a TOML file.  Peak rates give a lower bound.  Rates fitted to a recording give a prediction, with
the error measured on operators and models that were not used for the fit.  All rates are per microsecond.

    name = "mine"
    description = "where the figures are from"

    [peak]
    bytes = 900_000                    # of memory
    cache = 6_000_000                  # bytes written that may not have left the cache at the end
    memory = 24_000_000_000            # bytes that it holds; may be missing
    [peak.macs]                        # multiply-accumulates, by the space they are in
    float32 = 7_000_000
    float16 = 56_000_000
    [peak.operations]                  # elementary functions, each an instruction; may be missing
    float32 = 7_000_000

    [fitted]                           # may be missing: then there is a bound and no prediction
    bandwidth = 800_000                # that plain streams reach
    gap = 2.0                          # from one kernel to the next
    prologue = 50                      # multiply-accumulates that each result of a product takes besides
    error_models = 0.12                # of whole models, at the median
    [[fitted.group]]                   # calls of one pattern: microseconds to start, and how fast they go
    pattern = "stream"
    quantity = "bytes"                 # or "macs", or "elements"
    start = 4.0
    rate = 800_000
    term = 0.03                        # of products, for each term of the sum of a result; may be missing
    split = 256                        # longer sums are split into such pieces; if missing, they never are
    error = 0.05                       # median, on operators that it was not fitted on; may be missing
    [fitted.operators]                 # the pattern of an operator; others are products or streams
    Softmax = { pattern = "normalise", kernels = 1, passes = 1 }
    # where a node has none of some options (inputs, outputs, attributes that are not 0), and otherwise
    Attention = { pattern = "attention", unless = ["softcap"], otherwise = { kernels = 5 } }
    Transpose = { pattern = "stream", view = true }  # by itself it copies, in a model it is a view
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import lcm
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    Poly,
    Symbol,
    const,
    is_nonnegative,
    maximum,
    minimum,
    relu,
    to_text,
    total_of,
)
from tolcost.algebra.floors import exact_quotient
from tolcost.cost.count import CountKey
from tolcost.cost.kernel import Obstacle
from tolcost.cost.weights import Weighed, read_toml
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, unreadable
from tolcost.platform import device_names, read_device
from tolcost.spaces import SPACES

Quantity = Literal["bytes", "macs", "elements"]
Limit = Literal["bytes", "operations", "launches"]
Candidates: TypeAlias = tuple[tuple[Limit, Weighed], ...]
PRODUCT, STREAM = "product", "stream"
"""The patterns of work that the device does not list: with multiply-accumulates, or without."""
UNIT = "µs"
PYTORCH = "pytorch"
"""The engine that devices were recorded with."""
_PICOSECOND = 10**6
_ATTOSECOND = 10**12
_MAX_FILE = 1 << 20
_HABIT = ("pattern", "kernels", "passes", "note", "view")


class CallPattern(Struct, frozen=True):
    """Calls of one pattern: the quantity that their time is proportional to, its rate and the error."""

    pattern: str
    quantity: Quantity
    start: Fraction
    rate: Fraction
    spaces: tuple[str, ...] = ()
    term: Fraction = Fraction(0)
    """Of products, what each term of the sum of a result takes, however many are computed at once."""
    split: int = 0
    """The most terms that go one after the other; 0 for all of them."""
    error: Fraction | None = None
    within_half: Fraction | None = None
    points: int = 0

    @property
    def title(self) -> str:
        """The pattern, with the last of its spaces."""
        return f"{self.pattern} {self.spaces[-1]}" if self.spaces else self.pattern


class Habit(Struct, frozen=True):
    """How a device runs an operator: its pattern, its kernels, and how many of them read everything.

    Nodes that have one of the options ``unless`` run ``otherwise``; ``note`` says what is taken for granted.
    With ``view``, a node of a model is another look at its input, and runs nothing.
    """

    pattern: str
    kernels: int = 1
    passes: int = 1
    note: str = ""
    unless: tuple[str, ...] = ()
    otherwise: Habit | None = None
    view: bool = False

    def of(self, options: frozenset[str]) -> Habit:
        """Return how a node with these options runs."""
        return self if self.otherwise is None or options.isdisjoint(self.unless) else self.otherwise


class Fitted(Struct, frozen=True, eq=False):
    """The part of a device that was fitted to a recording."""

    bandwidth: Fraction
    gap: Fraction
    prologue: int
    groups: tuple[CallPattern, ...]
    operators: Mapping[str, Habit] = field(default_factory=dict)
    error_models: Fraction | None = None
    calls: Mapping[str, Habit] = field(default_factory=dict)
    """The operators and functions that an engine runs otherwise than they were recorded."""

    def listed(self, op: str) -> Habit | None:
        """Return how an operator or function runs, if that is said."""
        return self.calls.get(op) or self.operators.get(op)

    def habit(self, work: CallWork) -> Habit:
        """Return how the device runs some work; unlisted operators are products or streams."""
        plain = Habit(STREAM if work.macs == 0 else PRODUCT)
        return (self.listed(work.op) or plain).of(work.options)

    def group(self, work: CallWork) -> CallPattern | None:
        """Return the group for some work; None where it starts no kernel."""
        habit = self.habit(work)
        if not habit.kernels:
            return None
        own = [group for group in self.groups if group.pattern == habit.pattern]
        fitting = [group for group in own if not group.spaces or work.spaces & set(group.spaces)]
        return next(iter((*fitting, *own)), self.stream)

    def obstacle(self, work: CallWork) -> Obstacle | None:
        """Return why some work is unlike all that was recorded; a listed operator was recorded itself."""
        return None if self.listed(work.op) else work.obstacle

    @property
    def stream(self) -> CallPattern:
        """The group for work that only streams."""
        return next(group for group in self.groups if group.pattern == STREAM)


class Device(Struct, frozen=True, eq=False):
    """A machine: its peak rates, and the rates fitted to a recording, if there is one."""

    name: str
    description: str
    bytes: Fraction
    cache: int
    macs: Mapping[str, Fraction]
    fitted: Fitted | None = None
    memory: int | None = None
    """The bytes that it holds, if the file says so."""
    operations: Mapping[str, Fraction] = field(default_factory=dict)
    """Peaks of elementary functions, by space; functions in other spaces bound nothing."""
    engine: str = PYTORCH
    """The engine that runs calls on it, as ``tolcost.cost.engine`` has them."""


class CallWork(Struct, frozen=True, eq=False):
    """The work of a call: bytes read and written, its largest input, its products and their spaces."""

    op: str
    read: Poly
    certain: Poly
    """The part of ``read`` that is read whatever the data."""
    written: Poly
    largest: Poly
    macs: Poly
    spaces: frozenset[str]
    width: int
    computes: bool = True
    """Whether it applies any function; work that applies none may be a mere view of its input."""
    functions: Mapping[CountKey, Poly] = field(default_factory=dict)
    """The number of applications of each function."""
    obstacle: Obstacle | None = None
    """Why it is more than one kernel."""
    options: frozenset[str] = frozenset()
    """The inputs that a node of a model has, its outputs, and its attributes that are not 0."""


class Duration(Struct, frozen=True):
    """A time in microseconds: a constant, plus terms, each the maximum of forms, multiplied by a number."""

    constant: Fraction
    terms: tuple[tuple[int, tuple[Weighed, ...]], ...]

    def __str__(self) -> str:
        """Write the duration as text."""
        return " + ".join(self._texts()) or "0"

    def _texts(self) -> Iterator[str]:
        if self.constant:
            yield f"{float(self.constant):.12g}"
        for times, candidates in self.terms:
            texts = [to_text(one.poly) for one in candidates]
            largest = f"Max({', '.join(texts)})" if len(texts) > 1 else texts[0]
            yield (
                largest if times == 1 else f"{times}*{largest}" if len(texts) > 1 else f"{times}*({largest})"
            )

    def at(self, values: Mapping[Symbol, int]) -> Fraction:
        """Evaluate at a point, rounded down to a picosecond."""
        parts = (times * max(one.at(values) for one in candidates) for times, candidates in self.terms)
        exact = self.constant + sum(parts, Fraction(0))
        return Fraction(int(exact * _PICOSECOND), _PICOSECOND)

    @property
    def attoseconds(self) -> Poly:
        """The duration in attoseconds, as one form, rounded so that it never exceeds the exact value."""
        return self.in_parts(_ATTOSECOND)

    @property
    def denominator(self) -> int:
        """The parts of a microsecond in which the duration is exactly one form with integers."""
        below = (one.denominator for _, candidates in self.terms for one in candidates)
        return lcm(self.constant.denominator, *below)

    def in_parts(self, parts: int) -> Poly:
        """Return the duration in parts of a microsecond as one form, never above the exact value.

        It is exact where the number of parts is a multiple of ``denominator``.
        """
        whole = const(int(self.constant * parts))
        for times, candidates in self.terms:
            forms = (one.numerator * int(Fraction(parts, one.denominator)) for one in candidates)
            whole = whole + reduce(maximum, forms) * times
        return whole


def is_time(metric: str) -> bool:
    """Whether a metric is a time in attoseconds: a prediction, or a bound for this arithmetic.

    >>> is_time("time_h200"), is_time("bytes")
    (True, False)
    """
    return metric.startswith(("time_", "arithmetic_bound_"))


# ---- how long work takes ------------------------------------------------------------------------


def _over(amount: Poly, rate: Fraction) -> Weighed:
    """Divide an amount by a rate, giving microseconds."""
    return Weighed(amount * rate.denominator, rate.numerator, UNIT)


def bound(device: Device, work: CallWork) -> Candidates:
    """Return lower bounds on the time; no implementation in this arithmetic beats their maximum.

    With empty caches at the start, all input comes from memory; part of the output may still be in the cache
    at the end.
    """
    moved: Candidates = (("bytes", _over(work.certain, device.bytes)),)
    left = work.certain + work.written - device.cache
    if not is_nonnegative(work.certain - left):
        moved += (("bytes", _over(left, device.bytes)),)
    return (*moved, *operations_bound(device, work))


def operations_bound(device: Device, work: CallWork) -> Candidates:
    """Return the least time of products, and of all functions, at the peaks of the device."""
    found: Candidates = ()
    peaks = [device.macs[space] for space in work.spaces if space in device.macs]
    if work.macs != 0 and peaks and len(peaks) == len(work.spaces):
        found = (("operations", _over(work.macs, max(peaks))),)
    spaces = dict.fromkeys(space for _, space in work.functions if space in device.operations)
    times = [_over(_instructions(device, work, space), device.operations[space]) for space in spaces]
    if times:  # all of them share the places from which instructions start
        below = lcm(*(one.denominator for one in times))
        over = (one.numerator * (below // one.denominator) for one in times)
        found += (("operations", Weighed(total_of(over), below, UNIT)),)
    return found


_TOGETHER = (
    (("mul", "sqr"), ("add", "sub")),
    (("lt", "gt", "eq", "le", "ge", "ineq"), ("where",)),
)
"""Functions of which one of each kind may make a single instruction: multiply-add, and compare-select."""
_NO_INSTRUCTION = ("neg", "abs")
"""Functions that instructions apply to what they read."""


def _instructions(device: Device, work: CallWork, space: str) -> Poly:
    """Return the fewest instructions for the functions applied in a space.

    Where products have faster units of their own, those that are added up take no instruction.
    """
    left = {name: form for (name, found), form in work.functions.items() if found == space}
    apart = device.macs.get(space, Fraction(0)) > device.operations[space]
    needed = ZERO
    for pair in _TOGETHER:
        one, other = (total_of(left.pop(name) for name in kind if name in left) for kind in pair)
        both = maximum(one, other)
        needed = needed + (relu(both - work.macs) if apart and pair is _TOGETHER[0] else both)
    return needed + total_of(form for name, form in left.items() if name not in _NO_INSTRUCTION)


def predicted(fitted: Fitted, work: CallWork) -> tuple[Fraction, Candidates]:
    """Predict the time to start the kernels, and candidates for the rest, whose maximum counts."""
    group, habit = fitted.group(work), fitted.habit(work)
    if group is None:
        return Fraction(0), ()
    start = group.start + fitted.gap * (habit.kernels - 1)
    moved = work.read + work.written
    streamed: Candidates = (("bytes", _over(moved, fitted.bandwidth)),)
    match group.quantity:
        case "macs":
            results = work.written * fitted.prologue
            amount = _over(work.macs * work.width + results, group.rate * work.width)
            return start, (*streamed, ("operations", _added(amount, _summing(group, work))))
        case "bytes":
            between = maximum(work.largest, work.written) if habit.passes > 1 else work.written
            return start, (
                *streamed,
                ("bytes", _over(moved + between * (2 * (habit.passes - 1)), group.rate)),
            )
        case "elements":
            visits = maximum(work.read, work.written) * habit.passes
            return start, (*streamed, ("operations", _over(visits, group.rate * work.width)))


def _summing(group: CallPattern, work: CallWork) -> Weighed:
    """Return the time of the sum of one result, which a call waits for; 0 where its length is no form."""
    terms: Poly | None = None
    if group.term and work.written != 0:
        macs, written = work.macs * work.width, work.written
        known = macs.constant, written.constant
        terms = (
            exact_quotient(macs, written)
            if None in known
            else const(int(known[0] or 0) // int(known[1] or 1))
        )
    if terms is None:
        return Weighed(ZERO, 1, UNIT)
    pieces = minimum(terms, const(group.split)) if group.split else terms
    return Weighed(pieces * group.term.numerator, group.term.denominator, UNIT)


def _added(one: Weighed, other: Weighed) -> Weighed:
    below = lcm(one.denominator, other.denominator)
    tops = (form.numerator * (below // form.denominator) for form in (one, other))
    return Weighed(total_of(tops), below, UNIT)


def tidy(candidates: Sequence[Weighed]) -> tuple[Weighed, ...]:
    """Drop candidates that never exceed another."""
    kept: list[Weighed] = []
    for one in candidates:
        if not any(_never_below(other, one) for other in kept):
            kept = [other for other in kept if not _never_below(one, other)] + [one]
    return tuple(kept)


def _never_below(a: Weighed, b: Weighed) -> bool:
    return is_nonnegative(a.numerator * b.denominator - b.numerator * a.denominator)


def added(constant: Fraction, terms: Sequence[tuple[int, Sequence[Weighed]]]) -> Duration:
    """Add terms into one duration: single forms are added up, maxima stay separate."""
    single: dict[int, Poly] = {}
    several: dict[tuple[Weighed, ...], int] = {}
    for times, given in terms:
        candidates = tidy(given)
        if len(candidates) == 1:
            one = candidates[0]
            single[one.denominator] = single.get(one.denominator, const(0)) + one.numerator * times
        elif candidates:
            several[candidates] = several.get(candidates, 0) + times
    plain = [(1, (Weighed(form, below, UNIT),)) for below, form in single.items() if form != 0]
    return Duration(constant, (*plain, *((times, candidates) for candidates, times in several.items())))


# ---- files --------------------------------------------------------------------------------------


def load_device(given: str | Path) -> Device:
    """Read a device, by the name of a shipped one or from a file."""
    return parse_device(_text(given), str(given))


def _text(given: str | Path) -> str:
    shipped = read_device(str(given))
    if shipped is not None:
        return shipped
    try:
        if Path(given).stat().st_size > _MAX_FILE:
            refuse("T0616", f"{given}: a device has at most {_MAX_FILE} bytes")
        return Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = f"known by name: {', '.join(device_names())}"
        message = f"cannot read the device {given}: {unreadable(error)}"
        raise Rejected(Diagnostic("T0616", message, hint=hint)) from error


def parse_device(text: str, name: str = "<device>") -> Device:
    r"""Read a device from TOML text; all mistakes in it are reported together.

    >>> device = parse_device('name = "d"\n[peak]\nbytes = 100\n[peak.macs]\nfloat32 = 1000')
    >>> device.bytes, device.fitted
    (Fraction(100, 1), None)
    """
    reader = _Reader(name)
    device = reader.device(read_toml(text, name, "T0616"))
    if reader.mistakes:
        raise Rejected(*reader.mistakes)
    return device


class _Reader(Struct):
    """The mistakes found so far in one file."""

    file: str
    mistakes: list[Diagnostic] = field(default_factory=list)

    def complain(self, message: str) -> None:
        self.mistakes.append(Diagnostic("T0617", f"{self.file}: {message}"))

    def device(self, raw: Mapping[str, Any]) -> Device:
        self.known(raw, ("name", "description", "recorded", "source", "peak", "fitted"), "")
        peak = self.table(raw, "peak")
        self.known(peak, ("bytes", "cache", "memory", "macs", "operations"), "peak.")
        macs, operations = (self.rates(peak, key) for key in ("macs", "operations"))
        return Device(
            self.line(raw, "name", self.file),
            self.line(raw, "description", ""),
            self.number(peak, "bytes", "peak."),
            self.integer(peak, "cache", "peak.", 0),
            macs,
            self.fitted(self.table(raw, "fitted")) if "fitted" in raw else None,
            self.integer(peak, "memory", "peak.", 0) if "memory" in peak else None,
            operations,
        )

    def rates(self, peak: Mapping[str, Any], key: str) -> dict[str, Fraction]:
        """Read rates by space."""
        rates, where = self.table(peak, key) if key in peak else {}, f"peak.{key}"
        for space in rates:
            if space not in SPACES:
                self.complain(f"{where}: {quoted(space)} is no space")
        return {space: self.number(rates, space, f"{where}.") for space in rates}

    def fitted(self, raw: Mapping[str, Any]) -> Fitted:
        keys = ("bandwidth", "gap", "prologue", "error_models", "group", "operators")
        self.known(raw, keys, "fitted.")
        listed = raw.get("group", [])
        tables = isinstance(listed, list) and all(isinstance(one, Mapping) for one in listed)
        groups = tuple(map(self.group, listed)) if tables else ()
        patterns = {group.pattern for group in groups}
        if not tables:
            self.complain("fitted.group is written as [[fitted.group]], once for each pattern")
        elif STREAM not in patterns:
            self.complain(f"fitted.group: there is none with the pattern {STREAM}")
        operators = self.table(raw, "operators") if "operators" in raw else {}
        return Fitted(
            self.number(raw, "bandwidth", "fitted."),
            self.number(raw, "gap", "fitted.", Fraction(0)),
            self.integer(raw, "prologue", "fitted.", 0),
            groups,
            {op: self.habit(op, operators, patterns) for op in operators},
            self.optional(raw, "error_models", "fitted."),
        )

    def group(self, raw: Mapping[str, Any]) -> CallPattern:
        where = f"fitted.group {raw.get('pattern', '')}: "
        keys = (
            "pattern",
            "spaces",
            "quantity",
            "start",
            "rate",
            "term",
            "split",
            "error",
            "within_half",
            "points",
        )
        self.known(raw, keys, where)
        if raw.get("quantity") not in get_args(Quantity):
            self.complain(f"{where}quantity is one of {', '.join(get_args(Quantity))}")
        return CallPattern(
            self.line(raw, "pattern", None, where),
            cast(Quantity, raw.get("quantity")),
            self.number(raw, "start", where),
            self.number(raw, "rate", where),
            self.spaces(raw, where),
            self.number(raw, "term", where, Fraction(0)),
            self.integer(raw, "split", where, 0),
            self.optional(raw, "error", where),
            self.optional(raw, "within_half", where),
            self.integer(raw, "points", where, 0),
        )

    def habit(self, op: str, operators: Mapping[str, Any], patterns: Collection[str]) -> Habit:
        raw, where = self.table(operators, op), f"fitted.operators.{op}."
        if "otherwise" not in raw and "unless" not in raw:
            return self.plain_habit(raw, patterns, where)
        self.known(raw, (*_HABIT, "unless", "otherwise"), where)
        plain = self.plain_habit({key: raw[key] for key in _HABIT if key in raw}, patterns, where)
        unless = raw.get("unless")
        if not isinstance(unless, list) or not all(isinstance(one, str) for one in unless):
            self.complain(f'{where}unless is a list of inputs, outputs and attributes, such as ["softcap"]')
            unless = []
        if not isinstance(raw.get("otherwise"), Mapping):
            self.complain(f"{where}otherwise is a table, such as {{ kernels = 5 }}")
            return plain
        other = self.plain_habit(raw["otherwise"], patterns, f"{where}otherwise.")
        return replace(plain, unless=tuple(unless), otherwise=other)

    def plain_habit(self, raw: Mapping[str, Any], patterns: Collection[str], where: str) -> Habit:
        self.known(raw, _HABIT, where)
        pattern = self.line(raw, "pattern", STREAM, where)
        if pattern not in patterns:
            self.complain(f"{where}pattern: no [[fitted.group]] has the pattern {quoted(pattern)}")
        kernels, passes = (self.integer(raw, key, where, 1) for key in ("kernels", "passes"))
        view = raw.get("view", False)
        if not isinstance(view, bool):
            self.complain(f"{where}view is true or false")
        return Habit(pattern, kernels, passes, self.line(raw, "note", "", where), view=view is True)

    def spaces(self, raw: Mapping[str, Any], where: str) -> tuple[str, ...]:
        listed = raw.get("spaces", [])
        if not isinstance(listed, list):
            self.complain(f'{where}spaces is a list, such as ["float16", "bfloat16"]')
            return ()
        for space in listed:
            if space not in SPACES:
                self.complain(f"{where}spaces: {quoted(str(space))} is no space")
        return tuple(map(str, listed))

    def line(self, raw: Mapping[str, Any], key: str, default: str | None, where: str = "") -> str:
        """Read a one-line text, since names appear in tables; without a default it is required."""
        if key not in raw and default is not None:
            return default
        value = raw.get(key)
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value
        self.complain(f"{where}{key} is a text of one line")
        return ""

    def table(self, raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        found = raw.get(key)
        if isinstance(found, Mapping):
            return found
        self.complain(f"[{key}] is missing")
        return {}

    def known(self, raw: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
        for key in raw:
            if key not in keys:
                self.complain(f"unknown key {quoted(where + key)}")

    def optional(self, raw: Mapping[str, Any], key: str, where: str) -> Fraction | None:
        return self.number(raw, key, where) if key in raw else None

    def number(
        self, raw: Mapping[str, Any], key: str, where: str, default: Fraction | None = None
    ) -> Fraction:
        value = raw.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
            self.complain(f"{where}{key} is a number, not below 0")
            return Fraction(1)
        if default is None and value == 0:
            self.complain(f"{where}{key} is more than 0")
            return Fraction(1)
        return Fraction(value)

    def integer(self, raw: Mapping[str, Any], key: str, where: str, default: int) -> int:
        value = self.number(raw, key, where, Fraction(default))
        if value.denominator != 1:
            self.complain(f"{where}{key} is an integer")
        return int(value)
