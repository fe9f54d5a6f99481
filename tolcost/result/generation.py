"""The cost of all runs of a model that runs again and again while a length grows.

A language model reads a prompt at once (prefill), and then generates one token after another (decode), each
time with a longer cache.  The cost of one run is a closed form in the length of the cache, and the sum over
all runs has a closed form as well.  Prefill is the same graph with an empty cache, or a model of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Poly,
    Symbol,
    atom,
    const,
    evaluate,
    ge,
    is_nonnegative,
    step_of,
    substitute,
    substitute_cond,
    sum_over,
    symbols_of_cond,
    to_text,
    total_known,
)
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import affine_parts
from tolcost.cost.device import Device
from tolcost.cost.span import Depth
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import Rejected, quoted, refuse
from tolcost.models.memory import Holdings, Peak, dominating
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.growth import open_symbol
from tolcost.result.metrics import keys_in, metrics_in, whole_json
from tolcost.result.model import (
    ModelStudy,
    Wanted,
    compared_by_operator,
    file_cost,
    group_json,
    model_record,
    of_model,
)
from tolcost.result.point import Requirement
from tolcost.result.rows import TableRow, rows_added
from tolcost.result.study import (
    ComparedFigure,
    Coverage,
    Group,
    Located,
    Show,
    Study,
    at_json,
    form_json,
    locate_study,
    symbol_json,
)
from tolcost.result.time import TimedNodes
from tolcost.result.totals import total_figures
from tolcost.show.document import Fact, Form, Json, lengths_text, number

_SUCH_AS = "such as 'past: 0..n', which is n runs"
_STEPS = re.compile(r"\s*(?P<name>.+?)\s*:\s*(?P<first>.+?)\s*\.\.\s*(?P<end>.+?)\s*", re.DOTALL)


class Steps(Struct, frozen=True):
    """Runs in which a length grows by 1 each time, from ``first`` to below ``end``."""

    name: str
    first: Poly
    end: Poly

    @property
    def text(self) -> str:
        """The runs that were asked for, in words."""
        runs = to_text(self.end - self.first)
        return f"{runs} runs, {self.name} from {to_text(self.first)} to below {to_text(self.end)}"


def read_steps(text: str, symbols: Iterable[Symbol] = ()) -> Steps:
    """Read ``past: 0..n``; names that the model does not have become new lengths.

    >>> read_steps("past: p..p + n").text
    'n runs, past from p to below n + p'
    """
    match = _STEPS.fullmatch(text)
    if match is None:
        refuse("T0697", f"runs are NAME: FIRST..END, not {quoted(text)}", hint=_SUCH_AS)
    names = {symbol.name: atom(symbol) for symbol in symbols}
    return Steps(match["name"], parse_text(match["first"], names), parse_text(match["end"], names))


class ModelRuns(Struct, frozen=True, eq=False):
    """Runs of a model: its cost, the sum of a form over all of them, and the conditions that they need.

    ``put`` adds up a form of one run over all runs; ``most`` returns its maximum, or None if not known;
    ``each`` has the lengths of one run after the other, where all are numbers.
    """

    cost: Located
    put: Callable[[Poly], Poly]
    most: Callable[[Poly], Poly | None]
    needed: tuple[Requirement, ...]
    each: Callable[[Mapping[Symbol, int]], Iterator[Mapping[Symbol, int]]]

    @property
    def study(self) -> ModelStudy:
        """The model that runs."""
        return of_model(self.cost)


class RunsTime(Struct, frozen=True):
    """The time of all runs on a device in microseconds: the least, and the prediction, if there is one."""

    device: str
    engine: str
    runs: int
    bound: Fraction
    predicted: Fraction | None
    prompt: Fraction | None
    """Of this, what the run before the others takes."""

    @property
    def fact(self) -> Fact:
        """The times in words."""
        total = self.bound if self.predicted is None else self.predicted
        least = [] if self.predicted is None else [f"at least {_span(self.bound)}"]
        said = ["at least" if self.predicted is None else f"predicted as {self.engine}", *least]
        if self.prompt is not None:
            said.append(f"{_span(self.prompt)} for the prompt")
        rest = (total - (self.prompt or 0)) / self.runs
        said.append(f"{_span(rest)} for each of {self.runs:,} runs")
        return Fact(f"time on {self.device}", _span(total), ", ".join(said))

    @property
    def record(self) -> dict[str, Json]:
        """The times for programs, rounded down to picoseconds."""
        found = (("bound", self.bound), ("predicted", self.predicted), ("prefill", self.prompt))
        times: dict[str, Json] = {
            key: None if one is None else number(Fraction(int(one * _PARTS), _PARTS)) for key, one in found
        }
        return {"device": self.device, "engine": self.engine, **times}


def _span(microseconds: Fraction) -> str:
    """Write a time with three digits."""
    unit, name = next(((u, n) for u, n in ((10**6, "s"), (10**3, "ms")) if microseconds >= u), (1, "µs"))
    return (
        f"{float(microseconds / unit):.3g} {name}"
        if microseconds < 10**9
        else f"{microseconds / unit:,.0f} s"
    )


_PARTS = 10**6
_MOST_RUNS = 1 << 14
"""Times are added up one run after the other, for so many runs at most."""


def runs_time(cost: Located, device: Device) -> RunsTime:
    """Return the time of all runs at a point: each run has its own, as what bounds its nodes may change."""
    study = cost.study
    if not isinstance(study, GenerationStudy) or not cost.point.complete:
        lengths = ", ".join(symbol.name for symbol in study.symbols if symbol not in cost.point.values)
        refuse("T0412", f"times need a number for each length: {lengths}", hint="such as --dim n=500")
    numbers = dict(cost.point.values)
    many = evaluate(study.runs.end - study.runs.first, numbers)
    if many > _MOST_RUNS:
        refuse("T0412", f"times of {many:,} runs are too many to be added up", hint=f"up to {_MOST_RUNS:,}")
    bounds, predictions = list[Fraction](), list[Fraction | None]()
    for piece in study.pieces:
        times = piece.study.times(device)
        if times.bound is None:
            refuse("T0412", "something that moves has no size, so that its time is not known")
        for values in piece.each(numbers):
            bounds.append(times.bound.at(values))
            predictions.append(None if times.predicted is None else times.predicted.at(values))
    known = [one for one in predictions if one is not None]
    predicted = sum(known, Fraction(0)) if len(known) == len(bounds) else None
    apart = len(bounds) > many
    first = (bounds[0] if predicted is None else known[0]) if apart else None
    return RunsTime(device.name, device.engine, many, sum(bounds, Fraction(0)), predicted, first)


def timed_runs(cost: Cost, device: Device) -> Cost:
    """Return the cost of all runs with their time on a device."""
    study = cost.study
    assert isinstance(study, GenerationStudy)
    return replace(cost, study=replace(study, timed=runs_time(cost, device)))


class GenerationStudy(Study, dict=True, frozen=True):
    """All runs together; the last piece is the decoding, after any runs before it."""

    pieces: tuple[ModelRuns, ...]
    runs: Steps
    cache: Poly | None
    asked: tuple[Located, str, str | None, Located | None]
    """The request that it was made from: a model, its runs, and the run before them."""
    timed: RunsTime | None = None
    """The time of all runs, if it was asked for."""
    kind = "model"
    report = "runs"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the request: a copy is computed from it again."""
        return generated_again, self.asked

    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Yield the inputs and outputs of one run."""
        return self.pieces[-1].study.types(put)

    def head(self) -> Iterator[Fact]:
        """Yield the request, and the coverage of the model."""
        remark = lengths_text(sorted(self.pieces[-1].cost.point.given.items()))
        yield Fact("generating", self.runs.text, f"each with {remark}" if remark else "")
        yield from self.pieces[-1].study.head()
        if self.timed is not None:
            yield self.timed.fact

    def remarks(self) -> Iterator[Fact]:
        """Yield the remarks on the model."""
        return self.pieces[-1].study.remarks()

    @property
    def holdings(self) -> Holdings:
        """Parameters, inputs and outputs of the model, which all runs share."""
        return self.pieces[-1].study.holdings

    @cached_property
    def peak(self) -> Peak | None:
        """The largest peak memory of activations, the cache included, in any run."""
        found: list[Poly] = []
        sure = True
        for piece in self.pieces:
            peak = piece.study.peak
            ends = [piece.most(form) for form in peak.bytes.candidates] if peak is not None else [None]
            if peak is None or any(end is None for end in ends):
                return None
            found += [end for end in ends if end is not None]
            sure &= peak.exact
        kept, exact = dominating(tuple(dict.fromkeys(found)))
        return Peak(Depth(kept, exact), "", sure)

    @property
    def memory(self) -> Depth | None:
        """The bytes of parameters and peak together; None if the peak is not known, or may be larger."""
        peak, weights = self.peak, self.holdings.parameter_bytes
        if peak is None or weights is None or not peak.exact:
            return None
        return Depth(tuple(weights + one for one in peak.bytes.candidates), peak.bytes.exact)

    def compared_parts(self) -> Iterator[ComparedFigure]:
        """Yield the totals by operator."""
        return compared_by_operator(self, self.groups("op"))

    def groups(self, by: str) -> tuple[Group, ...]:
        """Return the figures of all runs by node, operator or scope."""
        found: dict[str, list[Group]] = {}
        for piece in self.pieces:
            for group in piece.study.groups(by):
                moved = replace(group, figures=group.figures.map_forms(piece.put))
                found.setdefault(group.title, []).append(moved)
        return tuple(
            Group(title, same[-1].nodes, total_figures([group.figures for group in same]))
            for title, same in found.items()
        )

    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """Return the rows of a table of all runs; parameters are counted once."""
        tables = [[row.map_forms(p.put) for row in p.study.rows(by, depth)] for p in self.pieces]
        return tuple(rows_added(tables))

    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """Return the document of the model, with the figures of all runs and without nodes."""

        def totals(show: Show) -> dict[str, Json]:
            of_one_run: dict[str, Json] = {
                m.key: show(None) for m in metrics_in("model") if m.key not in keys_in("runs")
            }
            return {**of_one_run, **whole_json(self, show, None)}

        inner = self.pieces[-1]
        first, end = to_text(self.runs.first), to_text(self.runs.end)
        kept = {key: value for key, value in model_record(inner.study, inner.cost).items() if key != "at"}
        return {
            **kept,
            "generate": {
                "length": self.runs.name,
                "first": first,
                "end": end,
                **({} if self.timed is None else {"time": self.timed.record}),
            },
            "symbols": [symbol_json(symbol) for symbol in self.symbols],
            "totals": totals(Show(cost)),
            "leading": form_json(self.leading),
            "status": cost.status,
            "conditions": [
                {"condition": one.text, "reason": one.reason, "node": one.node} for one in self.needed
            ],
            **at_json(cost, totals),
            "by_op": [group_json(cost, group, "op") for group in cost.groups("op")],
            "by_scope": [group_json(cost, group, "scope") for group in cost.groups("scope")],
            "nodes": [],
        }

    def assuming(self, texts: Sequence[str], lenient: bool = False) -> Study:
        """Refuse assumptions: they must be made about the model, before its runs are added up."""
        if texts:
            refuse("T0412", "assumptions are made of the model, not of all its runs")
        return self

    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """Refuse times: only those of a single run are known."""
        refuse("T0412", "times are of one run of a model, not of all its runs")


# ---- the runs ----------------------------------------------------------------------------------


def generated(cost: Located, runs: str, prefill: str | None = None, other: Located | None = None) -> Cost:
    """Return the total cost of runs in which a length grows by 1 each time.

    ``prefill`` gives a length in a run before them, as in ``seq=p``: a run of this model with an empty cache,
    or of an ``other`` one.
    """
    if not isinstance(cost.study, ModelStudy):
        refuse("T0697", f"{quoted(cost.study.name)} is no model that is run again and again")
    study = of_model(cost)
    steps = read_steps(runs, study.symbols)
    if _runs(steps).condition == FALSE:
        refuse("T0697", f"there is no run in {quoted(runs)}", hint=_SUCH_AS)
    symbol = open_symbol(study, steps.name)
    pieces = [*_decoded(cost, steps, symbol)]
    if prefill is not None:
        pieces.insert(0, _prefilled(cost, steps, prefill, other))
    total = total_figures([piece.study.total.map_forms(piece.put) for piece in pieces])
    forms = (total.eops, total.macs, steps.first, steps.end, *total.atoms.values(), *total.index.values())
    needed = _runs(steps), *(one for piece in pieces for one in piece.needed)
    free = frozenset[Symbol]().union(*(form.free for form in forms))
    found = GenerationStudy(
        name=study.name,
        file=study.file,
        inputs=study.inputs,
        symbols=tuple(sorted((s for s in free if s.kind != "coord"), key=lambda s: s.key)),
        total=total,
        requirements=(*_distinct(needed), *study.checked),
        coverage=Coverage(study.coverage.nodes, study.coverage.missing),
        pieces=tuple(pieces),
        runs=steps,
        cache=_cache(cost, symbol, steps.end),
        asked=(cost, runs, prefill, other),
    )
    return locate_study(Cost, found, weights=cost.weights)


def generated_again(cost: Located, runs: str, prefill: str | None, other: Located | None) -> Study:
    """Compute a pickled study of runs again."""
    return generated(cost, runs, prefill, other).study


def generated_file(path: Path, session: Session, wanted: Wanted, runs: str, prefill: str | None) -> Cost:
    """Return the cost of all runs of a model file; ``prefill`` may name another, as in ``first.onnx: seq=p``.

    Numbers for lengths that only the runs mention are substituted after all runs are added up.
    """
    file, colon, length = (prefill or "").rpartition(":")
    steps, named = read_steps(runs), parse_text(length.partition("=")[2] or "0")
    own = {symbol.name for form in (steps.first, steps.end, named) for symbol in form.free}
    later = {name: value for name, value in wanted.dims.items() if name in own}
    now = replace(wanted, dims={name: value for name, value in wanted.dims.items() if name not in own})
    cost = file_cost(path, session, now)
    other = file_cost(Path(file), session, replace(now, lenient=True)) if colon else None
    return generated(cost, runs, length if prefill is not None else None, other).subs(later)


def _decoded(cost: Located, steps: Steps, symbol: Symbol) -> Iterator[ModelRuns]:
    """Yield runs below the least length of the closed forms one by one, then all others together."""
    least, first = symbol.lo.constant if symbol.lo is not None else None, steps.first.constant
    start = steps.first
    if least is not None and first is not None and first < least:
        yield from (_single(cost, {steps.name: value}) for value in range(first, least))
        start = const(least)
    numbers: dict[Symbol, Poly | int] = {s: v for s, v in cost.point.values.items() if s is not symbol}
    last = steps.end - 1

    def put(form: Poly) -> Poly:
        return sum_over(substitute(form, numbers), symbol, start, last)

    def most(form: Poly) -> Poly | None:
        one = substitute(form, numbers)
        grows = is_nonnegative(step_of(one, symbol))
        return substitute(one, {symbol: last}) if grows else None

    ends = tuple(
        moved for one in cost.study.needed for moved in _throughout(one, numbers, symbol, start, last)
    )

    def each(values: Mapping[Symbol, int]) -> Iterator[Mapping[Symbol, int]]:
        own = _numbers(cost.point.values, values)
        yield from ({**own, symbol: n} for n in range(evaluate(start, values), evaluate(steps.end, values)))

    yield ModelRuns(cost, put, most, ends, each)


def _single(cost: Located, lengths: Mapping[str, int], put: Mapping[Symbol, Poly] | None = None) -> ModelRuns:
    """Return one run, with numbers for some lengths and forms for others."""
    names = {symbol.name for symbol in put or {}}
    kept = {name: value for name, value in cost.point.given.items() if name not in names}
    there = locate_study(Located, cost.study, {**kept, **lengths})
    values: dict[Symbol, Poly | int] = {**there.point.values, **(put or {})}

    def change(form: Poly) -> Poly:
        return substitute(form, values)

    def each(numbers: Mapping[Symbol, int]) -> Iterator[Mapping[Symbol, int]]:
        yield _numbers(values, numbers)

    needed = tuple(_with(one, substitute_cond(one.condition, values)) for one in there.study.needed)
    return ModelRuns(there, change, change, needed, each)


def _numbers(forms: Mapping[Symbol, Poly | int], values: Mapping[Symbol, int]) -> dict[Symbol, int]:
    """Return numbers for lengths that are numbers or forms in others."""
    return {**values, **{s: f if isinstance(f, int) else evaluate(f, values) for s, f in forms.items()}}


def _prefilled(cost: Located, steps: Steps, text: str, other: Located | None) -> ModelRuns:
    """Return the run before all others."""
    name, equals, value = text.partition("=")
    if not equals:
        refuse("T0697", f"a prefill is NAME=LENGTH, not {quoted(text)}", hint="such as seq=p")
    if other is None and name.strip() == steps.name:
        text = f"{quoted(steps.name)} is what the runs go through, and nothing in the run before them"
        refuse("T0697", text, hint="a prefill says another length, such as seq=p")
    subject = cost if other is None else other
    names = {s.name: atom(s) for s in cost.study.symbols}
    put = {open_symbol(of_model(subject), name.strip()): parse_text(value, names)}
    return _single(subject, {} if other is not None else {steps.name: 0}, put)


def _cache(cost: Located, symbol: Symbol, end: Poly) -> Poly | None:
    """Return the bytes of the inputs that grow, after the last run."""
    parts = (part for given in cost.study.inputs for part in given.type)
    growing = [part for part in parts if any(symbol in form.free for form in part.shape)]
    size = total_known(bytes_of(part.shape, part.space) for part in growing)
    numbers: dict[Symbol, Poly | int] = {**cost.point.values, symbol: end}
    return substitute(size, numbers) if growing and size is not None else None


# ---- conditions --------------------------------------------------------------------------------


def _runs(steps: Steps) -> Requirement:
    return Requirement(ge(steps.end - steps.first - 1), "there is at least one run")


def _throughout(
    one: Requirement, numbers: Mapping[Symbol, Poly | int], symbol: Symbol, first: Poly, last: Poly
) -> Iterator[Requirement]:
    """Require a condition in every run; an affine one holds in all if it holds in the first and the last."""
    condition = substitute_cond(one.condition, numbers)
    if symbol not in symbols_of_cond(condition):
        yield _with(one, condition)
    elif all(affine_parts(p, symbol) is not None for p in _comparisons(one, condition)):
        yield from (_with(one, substitute_cond(condition, {symbol: end})) for end in (first, last))


def _comparisons(one: Requirement, condition: Cond) -> Iterator[Poly]:
    """Yield the forms that a conjunction of comparisons compares with 0; refuse any other condition."""
    match condition:
        case Ge(p=p) | Eq(p=p):
            yield p
        case And(parts=parts):
            for part in parts:
                yield from _comparisons(one, part)
        case _:
            refuse("T0697", f"it cannot be told whether every run fulfils {quoted(one.text)}")


def _with(one: Requirement, condition: Cond) -> Requirement:
    if condition == FALSE:
        raise Rejected(one.broken())
    return replace(one, condition=condition)


def _distinct(needed: Iterable[Requirement]) -> Iterator[Requirement]:
    found = {one.text: one for one in needed if one.condition != TRUE and one.kind == "needed"}
    yield from found.values()
