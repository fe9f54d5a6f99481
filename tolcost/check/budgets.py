"""Budgets: upper limits on figures, for every shape or at given lengths.

eops <= 6*vol(x)              for every shape; vol(x) is the number of elements of the input x
seq=4096: flops <= 2*10**9    at a given length; the other lengths stay free
seq=4096: 2.5 GFLOP           the unit gives the metric: FLOP, MAC, EOP, B; k M G T P, and Ki Mi Gi Ti
macs < 10 M                   less than; a number with a prefix counts what the metric counts
peak <= 80 GB                 the peak of activations; params <= 7 B: seven billion parameters
fits 80 GB at batch=8         the same as a limit on the peak
time_h200 <= 5 ms at seq=4096 the time predicted for a device, in ns, us, ms or s
arithmetic_bound_h200 <= 5 ms  the least time that this arithmetic takes on a device
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from fractions import Fraction
from math import ceil, floor

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
from tolcost.check.matching import alone, shaped_inputs, symbol_table
from tolcost.check.records import (
    METRIC_NAMES,
    UNKNOWN,
    BudgetKind,
    Example,
    HeldBudget,
    LockEntry,
    devices_known,
    file_of,
    metric_named,
    metrics_known,
    timed,
)
from tolcost.check.verdicts import concluded, outcome_of, typical_of
from tolcost.diagnostics import Diagnostic, Rejected, Span, quoted, refuse
from tolcost.result.claims import Relation
from tolcost.result.metrics import GATE, METRICS
from tolcost.result.regions import try_shapes

_LONGEST = 2_000
_AT = re.compile(r"\s*(?P<dims>[^:<]*?)\s*:\s*(?P<rest>.*)", re.DOTALL)
_AFTER = re.compile(r"\s*(?P<rest>[^:]*?)\s+at\s+(?P<dims>[^:<]*)", re.DOTALL)
_DIM = re.compile(r"(?P<name>[A-Za-z_]\w*|`(?:[^`\\]|\\.)*`)\s*=\s*(?P<value>[0-9][0-9_]{0,30})")
_LIMIT = re.compile(
    r"(?P<metric>[A-Za-z][A-Za-z0-9_]*)\s*(?P<sign><=|<|≤)\s*(?P<limit>[^\s<>=].*)", re.DOTALL
)
_FITS = re.compile(r"fits\s+(?P<limit>[0-9].*)", re.DOTALL)
_OTHER_SIGN = re.compile(r"(?P<metric>[A-Za-z][A-Za-z0-9_]*)\s*(>=|>|==?|≥)")
_SPAN = re.compile(r"(?P<number>[0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?)\s*(?P<unit>[mnuµ]?s)")
_SECONDS = {"s": 10**18, "ms": 10**15, "us": 10**12, "µs": 10**12, "ns": 10**9}
"""Units of time, in attoseconds."""
_UNIT_OF = {metric.key: metric.amount for metric in METRICS if metric.amount}
_UNITS = {unit: key for key, unit in reversed(_UNIT_OF.items())}
"""The metric that an amount without a name means: the first that has its unit."""
_SINGULAR = {text: unit for unit in _UNITS for text in (unit, f"{unit}s")[: 1 if len(unit) == 1 else 2]}
"""Units as they are written, also in the plural; the symbol of a unit has none."""
_NAMED = "|".join(map(re.escape, sorted(_SINGULAR, key=len, reverse=True)))
_AMOUNT = re.compile(
    rf"(?P<number>[0-9][0-9_]{{0,30}}(?:\.[0-9]{{1,30}})?(?:e[0-9]{{1,2}})?)\s*(?P<prefix>[kMGTP]|[KMGT]i)?(?P<unit>{_NAMED})?"
)
_PERHAPS = re.compile(r"(?P<number>[0-9][0-9_.]*)\s*(?P<unit>[A-Za-z]{1,12})")
_VOLUME = re.compile(r"\bvol\(\s*([A-Za-z_][\w.]*)\s*\)")
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BILLION = "B"
"""People write parameters so, as in `7 B`; of everything else, `B` are bytes."""
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


class OwnPoint(Struct, frozen=True):
    """Lengths at which a project wants to see the figures of the programs that a pattern matches."""

    pattern: str
    text: str
    dims: tuple[tuple[str, int], ...]


def read_points(config: Config) -> tuple[OwnPoint, ...]:
    """Read the points of a project, and report every one that cannot be read."""
    found: list[OwnPoint] = []
    mistakes: list[Diagnostic] = []
    for pattern, texts in config.points:
        for text in texts:
            try:
                found.append(OwnPoint(pattern, text, _dims(text[:_LONGEST], text)))
            except Rejected:
                message = f"the point {quoted(text)} cannot be read"
                hint = "lengths, each once, such as `seq=4096, batch=1`"
                mistakes.append(
                    Diagnostic("T0712", message, config.span_of("points", pattern, text), hint=hint)
                )
    if mistakes:
        raise Rejected(*mistakes)
    return tuple(found)


def check_points(points: Iterable[OwnPoint], entries: Mapping[str, LockEntry], known: Iterable[str]) -> None:
    """Refuse a point that matches no known program, or a length that none of its programs has."""
    names = {*entries, *known}
    for point in points:
        matched = [name for name in names if matches(name, point.pattern)]
        if not matched:
            hint = "the names are those that `tolcost check` shows"
            refuse(
                "T0713", f"the point of {quoted(point.pattern)} is for no program that is checked", hint=hint
            )
        if not all(name in entries for name in matched):
            continue  # what is not analysed may have the length
        have = {s.name for name in matched for s in _symbols(entries[name], symbol_table(entries[name]))}
        for name, _ in point.dims:
            if name not in have:
                message = f"the point {quoted(point.text)} is for a length {quoted(name)} that no program has"
                refuse("T0714", message, hint=f"there are {', '.join(sorted(have)) or 'no lengths'}")


def read_budget(pattern: str, text: str) -> Budget:
    """Read one budget.

    >>> read_budget("*", "seq=4096: 2.5 GFLOP")
    Budget(pattern='*', text='seq=4096: 2.5 GFLOP', metric='flops', limit='2500000000', dims=(('seq', 4096),))
    >>> read_budget("*", "fits 80GB at batch=8").limit
    '80000000000'
    """
    at = _AT.fullmatch(text) or _AFTER.fullmatch(text) if len(text) <= _LONGEST else None
    dims, rest = (_dims(at["dims"], text), at["rest"]) if at else ((), text.strip()[:_LONGEST])
    fits = _FITS.fullmatch(rest)
    if fits is not None:
        metric = _metric("peak", text)
        return Budget(pattern, text, metric, _bound(metric, fits["limit"].strip(), False, text), dims)
    limit, amount = _LIMIT.fullmatch(rest), _AMOUNT.fullmatch(rest)
    if amount is not None and amount["unit"]:
        metric = _UNITS[_SINGULAR[amount["unit"]]]
        return Budget(pattern, text, metric, _number(amount, _PREFIXES[amount["prefix"] or ""]), dims)
    if limit is None:
        raise _no_budget(text, rest)
    metric = _metric(limit["metric"], text)
    bound = _bound(metric, limit["limit"].strip(), limit["sign"] == "<", text)
    return Budget(pattern, text, metric, bound, dims)


def _wrong(text: str, reason: str, hint: str = "") -> Rejected:
    hint = hint or "such as `eops <= 6*vol(x)` or `seq=4096: 2.5 GFLOP`"
    return Rejected(Diagnostic("T0712", f"the budget {quoted(text)} cannot be read: {reason}", hint=hint))


def _no_budget(text: str, rest: str) -> Rejected:
    """Return the error for what is neither a limit nor an amount."""
    other = _OTHER_SIGN.match(rest)
    if other is not None:
        return _wrong(text, "a budget is an upper limit", f"`{other['metric']} <= LIMIT`, or `<`")
    reason = "it is neither METRIC <= LIMIT nor an amount such as 2.5 GFLOP"
    return _wrong(text, reason, _spelt_otherwise(rest, tuple(_UNITS)))


def _metric(name: str, text: str) -> str:
    """Return the metric of a budget, under any of its names."""
    found = metric_named(name)
    if found is not None:
        return found
    kind, _, device = name.partition("_")
    if kind in ("time", "latency"):
        reason = f"there is no device {quoted(device)}" if device else "a time is the time on a device"
        raise _wrong(text, reason, f"`time_DEVICE <= 3 ms`; {devices_known()}")
    near = get_close_matches(name.lower(), METRIC_NAMES, n=1)
    hint = f"did you mean `{near[0]}`?" if near else metrics_known()
    raise _wrong(text, f"there is no metric {quoted(name)}", hint)


def _bound(metric: str, limit: str, strict: bool, text: str) -> str:
    """Return a limit as a closed form of which at most that much is allowed; costs are whole numbers."""
    amount = _AMOUNT.fullmatch(limit)
    if timed(metric) is not None:
        return _attoseconds(limit, strict, text)
    if amount is None:
        unit = _PERHAPS.fullmatch(limit)
        if unit is not None:
            own = _UNIT_OF.get(metric)
            hint = _spelt_otherwise(limit, (own,) if own else ())
            reason = f"{quoted(unit['unit'])} is no unit of {metric}"
            raise _wrong(text, reason, hint or f"a number alone, or with {_units_text(metric)}")
        return f"({limit}) - 1" if strict else limit
    unit_of, own = _SINGULAR.get(amount["unit"] or "", ""), _UNIT_OF.get(metric, "")
    if not own and unit_of == _BILLION and not amount["prefix"]:
        return _number(amount, 10**9, strict)
    if unit_of and unit_of != own:
        right = f"{amount['number']} {amount['prefix'] or ''}{own}".rstrip()
        others = " or ".join(key for key, unit in _UNIT_OF.items() if unit == unit_of)
        hint = f"`{metric} {'<' if strict else '<='} {right}`, or a budget of {others}"
        raise _wrong(text, f"{unit_of} is the unit of {others}, not of {metric}", hint)
    return _number(amount, _PREFIXES[amount["prefix"] or ""], strict)


def _units_text(metric: str) -> str:
    own = _UNIT_OF.get(metric, "")
    return f"k M G T P or Ki Mi Gi Ti{f' before {own}' if own else ''}"


def _spelt_otherwise(limit: str, units: Sequence[str]) -> str:
    """Return a hint if an amount is right but for capital letters, as in `80 gb` or `10 m`."""
    found = _PERHAPS.fullmatch(limit.strip())
    if found is None:
        return ""
    known = (f"{prefix}{unit}" for prefix in _PREFIXES for unit in ("", *units))
    written = found["unit"].removesuffix("s").lower()
    meant = [one for one in known if one and one != found["unit"] and one.lower() == written]
    return f"did you mean `{found['number']} {meant[0]}`?" if meant else ""


def _dims(text: str, budget: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for item in text.split(","):
        match = _DIM.fullmatch(item.strip())
        if match is None or match["name"] in found:
            raise _wrong(budget, "before the colon stand lengths, each once, such as `seq=4096, batch=1`")
        found[match["name"].strip("`")] = int(match["value"])
    return tuple(found.items())


def _attoseconds(limit: str, strict: bool, budget: str) -> str:
    """Return an exact limit in attoseconds."""
    match = _SPAN.fullmatch(limit)
    if match is None:
        raise _wrong(budget, "a time is a number and a unit: ns, us, ms or s", "such as `3 ms`")
    return _number(match, _SECONDS[match["unit"]], strict)


def _number(match: re.Match[str], unit: int, strict: bool = False) -> str:
    """Return the largest whole number that an amount allows, itself included unless it is ``strict``."""
    value = Fraction(match["number"].replace("_", "")) * unit
    return str(ceil(value) - 1 if strict else floor(value))


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
        refuse("T0714", message, hint=_how_to_ask(budget.metric, entry))
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


def _how_to_ask(metric: str, entry: LockEntry) -> str:
    """Return the line of the settings that a budget needs, as `metrics` decides what is computed."""
    every = ", ".join(f'"{one}"' for one in (*dict(entry.figures), metric))
    models = "" if metric not in GATE or GATE[metric].whole is None else "; programs do not have it"
    return f"in the settings: `metrics = [{every}]`{models}"


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
    message = (
        f"the budget {quoted(budget.text)} mentions {quoted(name)}, which {quoted(entry.name)} does not have"
    )
    return Rejected(Diagnostic("T0714", message, hint=f"it has {', '.join(sorted(known)) or 'no lengths'}"))


def _given(budget: Budget, entry: LockEntry, names: dict[str, Poly]) -> dict[Symbol, Poly | int]:
    """Return the given lengths by symbol; a length that the program does not have is an error."""
    symbols = {symbol.name: symbol for symbol in _symbols(entry, names)}
    for name, _ in budget.dims:
        if name not in symbols:
            raise _no_such(budget, entry, name, set(symbols))
    return {symbols[name]: value for name, value in budget.dims}
