"""Budgets: upper limits on figures, for every shape or at given lengths.

eops <= 6*vol(x)              for every shape; vol(x) is the number of elements of the input x
seq=4096: flops <= 2*10**9    at a given length; the other lengths stay free
seq=4096: 2.5 GFLOP           the unit gives the metric: FLOP, MAC, EOP, B; k M G T P, and Ki Mi Gi Ti
time_h200 <= 5 ms at seq=4096 the time predicted for a device, in ns, us, ms or s
arithmetic_bound_h200 <= 5 ms  the least time that this arithmetic takes on a device
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import (
    FALSE,
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    Truth,
    atom,
    cond_text,
    display_names,
    ge,
    product_of,
    substitute_cond,
    to_text,
)
from tolcost.algebra import substitute as put
from tolcost.algebra.parse import parse_text
from tolcost.check.config import Config
from tolcost.check.matching import alone, shaped_inputs
from tolcost.check.records import (
    UNKNOWN,
    BudgetKind,
    Example,
    HeldBudget,
    LockEntry,
    file_of,
    is_metric,
    metrics_known,
    timed,
)
from tolcost.check.verdicts import concluded, outcome_of, typical_of
from tolcost.diagnostics import Diagnostic, Rejected, Span, quoted, refuse
from tolcost.result.claims import Relation
from tolcost.result.metrics import METRICS
from tolcost.result.regions import try_shapes

_LONGEST = 2_000
_AT = re.compile(r"\s*(?P<dims>[^:<]*?)\s*:\s*(?P<rest>.*)", re.DOTALL)
_AFTER = re.compile(r"\s*(?P<rest>[^:]*?)\s+at\s+(?P<dims>[^:<]*)", re.DOTALL)
_DIM = re.compile(r"(?P<name>[A-Za-z_]\w*|`(?:[^`\\]|\\.)*`)\s*=\s*(?P<value>[0-9][0-9_]{0,30})")
_LIMIT = re.compile(r"(?P<metric>[a-z][a-z0-9_]*)\s*<=\s*(?P<limit>.+)", re.DOTALL)
_SPAN = re.compile(r"(?P<number>[0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?)\s*(?P<unit>[mnuµ]?s)")
_SECONDS = {"s": 10**18, "ms": 10**15, "us": 10**12, "µs": 10**12, "ns": 10**9}
"""Units of time, in attoseconds."""
_UNITS = {
    unit: metric.key
    for metric in METRICS
    if metric.amount
    for unit in (metric.amount, f"{metric.amount}s")[: 1 if len(metric.amount) == 1 else 2]
}
"""Metrics by the units of amounts, also in the plural; the symbol of a unit has none."""
_NAMED = "|".join(map(re.escape, _UNITS))
_AMOUNT = re.compile(
    rf"(?P<number>[0-9][0-9_]{{0,30}}(?:\.[0-9]{{1,30}})?)\s*(?P<prefix>[kMGTP]|[KMGT]i)?(?P<unit>{_NAMED})"
)
_VOLUME = re.compile(r"\bvol\(\s*([A-Za-z_][\w.]*)\s*\)")
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_KINDS: Mapping[Relation, BudgetKind] = {
    "same": "within",
    "cheaper": "within",
    "not costlier": "within",
    "costlier": "exceeded",
    "crosses": "crosses",
}
_PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class Budget(Struct, frozen=True):
    """A limit on a metric of the programs that a pattern matches: its text, and the parsed parts."""

    pattern: str
    text: str
    metric: str
    limit: str
    dims: tuple[tuple[str, int], ...] = ()


def read_budgets(config: Config) -> tuple[Budget, ...]:
    """Read all budgets of a project, and report every budget that cannot be read."""
    found: list[Budget] = []
    mistakes: list[Diagnostic] = []
    for pattern, texts in config.budgets:
        for text in texts:
            try:
                found.append(read_budget(pattern, text))
            except Rejected as rejected:
                at = config.source.text.find(text, max(config.source.text.find(pattern), 0))
                here = Span(config.source, at, at + len(text)) if at >= 0 else rejected.diagnostics[0].span
                mistakes += [Diagnostic(d.code, d.message, here, hint=d.hint) for d in rejected.diagnostics]
    if mistakes:
        raise Rejected(*mistakes)
    return tuple(found)


def read_budget(pattern: str, text: str) -> Budget:
    """Read one budget.

    >>> read_budget("*", "seq=4096: 2.5 GFLOP")
    Budget(pattern='*', text='seq=4096: 2.5 GFLOP', metric='flops', limit='2500000000', dims=(('seq', 4096),))
    """
    at = _AT.fullmatch(text) or _AFTER.fullmatch(text) if len(text) <= _LONGEST else None
    dims, rest = (_dims(at["dims"], text), at["rest"]) if at else ((), text.strip()[:_LONGEST])
    limit, amount = _LIMIT.fullmatch(rest), _AMOUNT.fullmatch(rest)
    if amount is not None:
        metric, bound = _amount(amount, text)
    elif limit is not None and timed(limit["metric"]) is not None:
        metric, bound = limit["metric"], _attoseconds(limit["limit"].strip(), text)
    elif limit is not None and is_metric(limit["metric"]):
        metric, inner = limit["metric"], _AMOUNT.fullmatch(limit["limit"].strip())
        unit, bound = (metric, limit["limit"].strip()) if inner is None else _amount(inner, text)
        if unit != metric:
            raise _wrong(text, f"its unit is one of {unit}, not of {metric}")
    elif limit is not None:
        raise _wrong(text, f"there is no metric {quoted(limit['metric'])}", metrics_known())
    else:
        raise _wrong(text, "it is neither METRIC <= LIMIT nor an amount such as 2.5 GFLOP")
    return Budget(pattern, text, metric, bound, dims)


_SUCH_AS = "such as `eops <= 6*vol(x)` or `seq=4096: 2.5 GFLOP`"


def _wrong(text: str, reason: str, hint: str = _SUCH_AS) -> Rejected:
    return Rejected(Diagnostic("T0712", f"the budget {quoted(text)} cannot be read: {reason}", hint=hint))


def _dims(text: str, budget: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for item in text.split(","):
        match = _DIM.fullmatch(item.strip())
        if match is None or match["name"] in found:
            raise _wrong(budget, "before the colon stand lengths, each once, such as `seq=4096, batch=1`")
        found[match["name"].strip("`")] = int(match["value"])
    return tuple(found.items())


def _attoseconds(limit: str, budget: str) -> str:
    """Return an exact limit in attoseconds, rounded down."""
    match = _SPAN.fullmatch(limit)
    if match is None:
        raise _wrong(budget, "a time is a number and a unit: ns, us, ms or s")
    return str(int(Fraction(match["number"].replace("_", "")) * _SECONDS[match["unit"]]))


def _amount(match: re.Match[str], budget: str) -> tuple[str, str]:
    """Return the metric and the number of an amount, rounded down to whole units."""
    value = Fraction(match["number"].replace("_", "")) * _PREFIXES[match["prefix"] or ""]
    return _UNITS[match["unit"]], str(value.numerator // value.denominator)


# ---- checking programs against budgets ------------------------------------------------------------


def hold(
    budgets: Iterable[Budget], entries: Mapping[str, LockEntry], known: Iterable[str]
) -> tuple[HeldBudget, ...]:
    """Check programs against budgets; a pattern that matches no known program is an error."""
    names, asked = sorted({*entries, *known}), tuple(budgets)
    idle = [b for b in asked if not any(matches(name, b.pattern) for name in names)]
    if idle:
        hint = "the names are those that `tolcost check` shows"
        told = (f"the budget of {quoted(b.pattern)} is for no program that is checked" for b in idle)
        raise Rejected(*(Diagnostic("T0713", message, hint=hint) for message in told))
    return tuple(_held(b, entries[n]) for n in sorted(entries) for b in asked if matches(n, b.pattern))


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches a program: its file, which covers all cases, or one case by its name.

    >>> matches("ops/conv.tol#strided", "ops/*.tol"), matches("ops/conv.tol#a", "ops/conv.tol#b")
    (True, False)
    """
    return fnmatchcase(name, pattern) or fnmatchcase(file_of(name), pattern)


def _held(budget: Budget, entry: LockEntry) -> HeldBudget:
    figure = entry.figure(budget.metric)
    if figure is None:
        message = f"{quoted(budget.metric)} is not among the metrics of {quoted(entry.name)}"
        refuse("T0714", message, hint="add it to `metrics` in the settings")
    blank = HeldBudget(
        entry.name, "undecided", budget.text, budget.metric, actual=figure.form, limit=budget.limit
    )
    if figure.form == UNKNOWN:
        return blank
    both = alone(entry)
    actual, limit = parse_text(figure.form, both.new), _limit(budget, entry, both.new)
    given = _given(budget, entry, both.new)
    facts = _facts(budget, entry, both.facts, given)
    actual, limit = put(actual, given), put(limit, given)
    outcome = concluded(
        "exact", figure.status, outcome_of(limit, actual, facts, typical=typical_of(entry, both))
    )
    if facts and not any(try_shapes(limit, actual, facts)):
        return blank
    names = display_names(actual.free | limit.free)
    return HeldBudget(
        entry.name,
        _KINDS.get(outcome.kind, "undecided"),
        budget.text,
        budget.metric,
        actual=to_text(actual, names),
        limit=to_text(limit, names),
        region=outcome.region,
        example=None if outcome.example is None else _at(budget, outcome.example),
        tried=outcome.tried,
    )


def _facts(
    budget: Budget, entry: LockEntry, facts: tuple[Cond, ...], given: Mapping[Symbol, Poly | int]
) -> tuple[Cond, ...]:
    """Return the facts that hold at a budget's lengths; lengths that the program refuses are an error."""
    there = {cond_text(fact): substitute_cond(fact, given) for fact in facts} | dict(_within(given))
    if FALSE in there.values():
        failing = next(text for text, found in there.items() if found == FALSE)
        message = f"the budget {quoted(budget.text)} is for a shape that {quoted(entry.name)} does not take"
        refuse("T0714", message, hint=f"it holds where {failing}")
    return tuple(found for found in there.values() if not isinstance(found, Truth))


def _within(given: Mapping[Symbol, Poly | int]) -> Iterator[tuple[str, Cond]]:
    """Give the bounds of the given lengths as conditions on their values, each with its text.

    Proofs know the bounds of free lengths already, so only given lengths are checked here.
    """
    for symbol, value in given.items():
        if symbol.lo is not None:
            yield f"{atom(symbol)} >= {symbol.lo}", ge(put(value - symbol.lo, given))
        if symbol.hi is not None:
            yield f"{atom(symbol)} <= {symbol.hi}", ge(put(symbol.hi - value, given))


def _at(budget: Budget, example: Example) -> Example:
    """Add the budget's lengths to an example, because bounds of data-dependent numbers may mention them."""
    others = ((name, value) for name, value in example.dims if name not in dict(budget.dims))
    return Example((*budget.dims, *others), example.old, example.new)


def _limit(budget: Budget, entry: LockEntry, names: dict[str, Poly]) -> Poly:
    """Read the limit, which may mention only symbols of the program and ``vol`` of its inputs."""
    volumes = _volumes(entry, names) if "vol(" in budget.limit else {}
    text = _VOLUME.sub(lambda m: f"`vol({m[1]})`", budget.limit)
    try:
        limit = parse_text(text, {**names, **volumes})
    except Rejected as rejected:
        raise _wrong(budget.text, rejected.message) from None
    except (AlgebraBudget, RecursionError) as error:
        raise _wrong(budget.text, str(error)) from None
    known = {symbol.name for symbol in _symbols(entry, names)}
    for symbol in sorted(limit.free, key=lambda s: s.key):
        if symbol.name not in known:
            raise _no_such(budget, entry, symbol.name, known | set(volumes))
    return limit


def _volumes(entry: LockEntry, names: dict[str, Poly]) -> dict[str, Poly]:
    return {
        f"vol({one.name})": product_of(one.shapes[0])
        for one in shaped_inputs(entry, names)
        if len(one.shapes) == 1
    }


def _symbols(entry: LockEntry, names: dict[str, Poly]) -> set[Symbol]:
    lengths = (form for one in shaped_inputs(entry, names) for shape in one.shapes for form in shape)
    forms = (parse_text(figure.form, names) for _, figure in entry.figures if figure.form != UNKNOWN)
    return {symbol for poly in (*lengths, *forms, *names.values()) for symbol in poly.free}


def _no_such(budget: Budget, entry: LockEntry, name: str, known: set[str]) -> Rejected:
    message = f"the budget {quoted(budget.text)} mentions {quoted(name)}, which {quoted(entry.name)} has not"
    return Rejected(Diagnostic("T0714", message, hint=f"it has {', '.join(sorted(known)) or 'no lengths'}"))


def _given(budget: Budget, entry: LockEntry, names: dict[str, Poly]) -> dict[Symbol, Poly | int]:
    """Return the given lengths by symbol; a length that the program does not have is an error."""
    symbols = {symbol.name: symbol for symbol in _symbols(entry, names)}
    for name, _ in budget.dims:
        if name not in symbols:
            raise _no_such(budget, entry, name, set(symbols))
    return {symbols[name]: value for name, value in budget.dims}
