"""The growth of a program or a model with a length: a table of figures, and where parts overtake each other.

Overtaking is found in the closed forms, exactly: as the least length from which one form stays larger
than the other, up to the end of the range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    Poly,
    Symbol,
    atom,
    substitute,
)
from tolcost.algebra.poly import poly, powers_of
from tolcost.cost.device import UNIT
from tolcost.diagnostics import Rejected, quoted, refuse
from tolcost.result.crossings import crossings_of
from tolcost.result.metrics import METRICS, is_asked, keys_in
from tolcost.result.model import ModelStudy
from tolcost.result.rows import scope_of
from tolcost.result.study import (
    Crossing,
    Growth,
    Located,
    Study,
    SweepRow,
    broken_condition,
    locate_study,
    size,
)
from tolcost.result.totals import by_scope
from tolcost.show.document import Form

_MOST_POINTS = 200
"""All sweeps together have at most this many points, each of which is located by itself."""
_MOST_GROUPS = 12
"""Only this many parts are compared, the largest ones: every pair of them takes a search."""
_MOST_CROSSINGS = 20
"""At most this many crossings are reported."""
_USUAL = keys_in("sweep")
"""The figures of a sweep that names none."""
_SHORT = {metric.key: metric.short for metric in METRICS if metric.short}
"""Column titles that are shorter than labels."""
_TOLD = ("exact", "depends on data")
"""The statuses of figures that are not bounds."""


class Sweep(Struct, frozen=True):
    """A length, and the values that it takes."""

    name: str
    values: tuple[int, ...]


def read_sweep(text: str) -> Sweep:
    """Read ``seq=128..131072`` or ``seq=1,1024,8192``.

    >>> read_sweep("seq=100..500").values, read_sweep("seq=8192,1,1024").values
    ((100, 200, 400, 500), (1, 1024, 8192))
    """
    name, _, values = text.rpartition("=")
    return Sweep(name, read_values(values, name))


def read_values(text: str, name: str) -> tuple[int, ...]:
    """Read the values of a length, separated by commas: numbers, and ranges such as ``128..131072``.

    A range stands for its first value, its doublings, and its last.  The values are returned in order.

    >>> read_values("1,4..20", "n")
    (1, 4, 8, 16, 20)
    """
    found: set[int] = set()
    for part in text.split(","):
        found.update(_range(part.strip(), f"{name}={text}" if name else text, name))
    return tuple(sorted(found))


def _range(text: str, whole: str, name: str) -> tuple[int, ...]:
    """Read a number, or a range with its doublings."""
    match = re.fullmatch(r"([0-9]{1,30})(?:\.\.([0-9]{1,30}))?", text)
    if match is None or not name:
        refuse("T0694", f"a sweep is NAME=FROM..TO or NAME=N,N,..., not {quoted(whole)}")
    low, high = int(match[1]), int(match[2] or match[1])
    if not 1 <= low <= high:
        refuse("T0694", f"a sweep has numbers from 1 on, and ranges go upwards: not {quoted(whole)}")
    values = [low]
    while values[-1] * 2 < high:
        values.append(values[-1] * 2)
    return (*values, high)


def growths(
    cost: Located, sweeps: Sequence[Sweep], metrics: frozenset[str] | None = None
) -> tuple[Growth, ...]:
    """Return the growth of figures with the last of some lengths, for all values of the others.

    Other open lengths have the values of the example that a report shows.
    """
    points = math.prod(len(sweep.values) for sweep in sweeps)
    if points > _MOST_POINTS or len({sweep.name for sweep in sweeps}) < len(sweeps):
        refuse("T0694", f"sweeps are of different lengths, and of at most {_MOST_POINTS} points together")
    found = []
    others = _others(cost, sweeps)
    for values in product(*(sweep.values for sweep in sweeps[:-1])):
        fixed = {**others, **{sweep.name: value for sweep, value in zip(sweeps, values, strict=False)}}
        found.append(replace(_growth_at(cost, sweeps[-1], fixed, metrics), fixed=fixed))
    return tuple(found)


def _growth_at(
    cost: Located, sweep: Sweep, fixed: Mapping[str, int], metrics: frozenset[str] | None
) -> Growth:
    """Return the growth with other lengths fixed; it has no figures if these violate a condition."""
    try:
        there = _moved(cost, {**cost.point.given, **fixed}) if fixed else cost
    except Rejected as rejected:
        why, titles = broken_condition(cost.study, rejected), _titles(cost, metrics)
        rows = tuple(SweepRow(value, dict.fromkeys(titles), why) for value in sweep.values)
        return Growth(sweep.name, titles, rows, ())
    return growth(there, sweep, metrics)


def _moved(cost: Located, dims: Mapping[str, int]) -> Located:
    """Return the cost at other lengths; ``Rejected`` if a condition does not hold there."""
    return locate_study(Located, cost.study, dims, cost.weights, device=cost.device)


def _swept(cost: Located, metrics: frozenset[str] | None) -> Iterator[tuple[str, str, Form | None]]:
    """Yield key, title and form of every figure of a sweep: those asked for, weights, and times."""
    for measure in cost.measures:
        if measure.key in ("weights", "time"):
            unit = getattr(measure.form, "unit", UNIT)
            yield measure.label, f"{measure.label}, {unit}", measure.form
        elif not (measure.key in _USUAL if metrics is None else is_asked(measure.key, metrics)):
            continue
        elif measure.headed:
            yield measure.key, _SHORT.get(measure.key, measure.label), measure.form
        else:
            yield from ((part.name, part.name, part.form) for part in measure.parts)


def _titles(cost: Located, metrics: frozenset[str] | None) -> dict[str, str]:
    return {key: title for key, title, _ in _swept(cost, metrics)}


def _others(cost: Located, sweeps: Sequence[Sweep]) -> dict[str, int]:
    """Return example values for lengths that are neither given nor swept, which leave swept lengths open."""
    swept = {open_symbol(cost.study, sweep.name).name: sweep.values for sweep in sweeps}
    found = _at_example(cost, swept)
    left = {symbol.name for symbol in cost.study.locate({**cost.point.given, **found}).missing}
    if swept.keys() <= left:
        return found
    for values in product(*swept.values()):  # other lengths follow from those that are swept
        point = cost.study.locate({**cost.point.given, **dict(zip(swept, values, strict=True))})
        found = _at_example(replace(cost, point=point), swept)
        if found or (point.complete and not point.problems):
            return found
    return {}


def _at_example(cost: Located, swept: Container[str]) -> dict[str, int]:
    """Return the lengths of the example that are neither given nor swept."""
    example = cost.example
    told = {} if example is None else example.point.given
    return {name: value for name, value in told.items() if name not in cost.point.given and name not in swept}


def growth(cost: Located, sweep: Sweep, metrics: frozenset[str] | None = None) -> Growth:
    """Return figures for every value of a length, and where parts overtake each other.

    Each value is checked like any other point: if a condition fails there, it has no figures.
    """
    study = cost.study
    symbol = open_symbol(study, sweep.name)
    known = {s: v for s, v in cost.point.values.items() if s is not symbol}
    titles = _titles(cost, metrics)
    rows = tuple(_row(cost, symbol, value, metrics, titles) for value in sweep.values[:_MOST_POINTS])
    inside = [row.value for row in rows if not row.outside]
    crossings = tuple(_crossings(study, symbol, known, inside)) if inside else ()
    return Growth(sweep.name, titles, rows, crossings[:_MOST_CROSSINGS])


def open_symbol(study: Study, name: str) -> Symbol:
    """Return the symbol of an open length by its name; ``Rejected`` if there is none."""
    form = None
    if isinstance(study, ModelStudy) and name in study.cost.dimensions:
        form = substitute(study.cost.dimensions[name], study.cost.equal)
    symbols = [s for s in study.symbols if s.name == name or (form is not None and form == poly({(s,): 1}))]
    if not symbols:
        known = ", ".join(quoted(s.name) for s in study.symbols if s.kind == "length")
        refuse(
            "T0412", f"the {study.kind} has no open length {quoted(name)}", hint=f"open: {known or 'none'}"
        )
    return symbols[0]


def _row(
    cost: Located, symbol: Symbol, value: int, metrics: frozenset[str] | None, titles: Iterable[str]
) -> SweepRow:
    kept = {name: known for name, known in cost.point.given.items() if name != symbol.name}
    none: dict[str, Form | None] = dict.fromkeys(titles)
    last = None if symbol.hi is None else symbol.hi.constant
    if last is not None and value > last:
        return SweepRow(value, none, f"{symbol.name} <= {last}")
    try:
        there = _moved(cost, {**kept, symbol.name: value})
    except Rejected as rejected:
        return SweepRow(value, none, broken_condition(cost.study, rejected))
    return SweepRow(value, {**none, **{key: there.value(form) for key, _, form in _swept(there, metrics)}})


# ---- where one part overtakes another ------------------------------------------------------


def parts_compared(study: Study) -> dict[str, Poly]:
    """Return the EOPs of the parts to compare: kinds of scopes, or operators; functions of a program.

    Parts with bounds instead of counts are left out: nothing is known to overtake them.
    """
    if not isinstance(study, ModelStudy):
        told = study.total.histogram if study.total.status in _TOLD else {}
        return {f"{name} {space}": form for (name, space), form in told.items()}
    # layers of one kind are one part: numbers in names become ``*``
    scopes = by_scope(study.cost, study.adder, lambda step: re.sub(r"[0-9]+", "*", scope_of(step, 99)))
    groups = [
        group for group in (scopes if len(scopes) > 1 else study.operators) if group.figures.status in _TOLD
    ]
    largest = sorted(groups, key=lambda group: -size(group.figures.eops, study.typical))[:_MOST_GROUPS]
    return {group.title: group.figures.eops for group in largest if group.figures.eops.terms}


def _by_power(form: Poly, symbol: Symbol) -> dict[str, Poly]:
    if form.height:
        return {}
    names = {0: "terms without it", 1: f"terms in {symbol.name}"}
    powers = sorted(powers_of(form, symbol).items())
    return {names.get(n, f"terms in {symbol.name}**{n}"): part * atom(symbol) ** n for n, part in powers}


def _crossings(
    study: Study, symbol: Symbol, known: Mapping[Symbol, int], values: Sequence[int]
) -> Iterator[Crossing]:
    for parts in (parts_compared(study), _by_power(study.total.eops, symbol)):
        try:
            forms = {title: substitute(form, known) for title, form in parts.items()}
        except ZeroDivisionError:  # a divisor is 0 at the known lengths, in a part that is empty there
            continue
        yield from crossings_of(forms, symbol, (values[0], values[-1]))
