"""Turn the analysis of a program or model into a lock entry, and into the contributions of its parts.

All forms of an entry share one set of names, so that a name means the same symbol throughout.
Symbols whose bounds differ from those of an ordinary length go to the ``bounds`` of its domain.  Conditions
that the figures rely on go to its ``where``, as comparisons and disjunctions of comparisons; a condition that
cannot be written so is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from tolcost.algebra import (
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Or,
    Poly,
    Symbol,
    comparison_sides,
    disj,
    display_names,
    length,
    reach,
    symbols_of_cond,
    the_symbol,
    to_text,
    weaker_bounds,
)
from tolcost.atoms.nodes import Program
from tolcost.certainty import Certainty
from tolcost.check.config import ProgramCase
from tolcost.check.lockfile import costs_version, given_text, text_digest
from tolcost.check.records import (
    CERTAINTY,
    UNKNOWN,
    Comparison,
    CostRules,
    Demand,
    Domain,
    FigureStatus,
    InputPart,
    LockedFigure,
    LockedInput,
    LockEntry,
    SymbolBounds,
    UsedDefinition,
    demand_text,
    timed,
)
from tolcost.check.targets import Contribution, Costed
from tolcost.cost import NamedType, Term, analyze_program
from tolcost.cost.device import load_device
from tolcost.cost.span import Depth
from tolcost.platform import read_device
from tolcost.result.metrics import GATE, REPORTS, Metric, certainty_of, metrics_in
from tolcost.result.program import ProgramStudy, counted_study, program_study

if TYPE_CHECKING:  # a check of programs alone does without what reads models
    from tolcost.catalogue.specs import NamedText
    from tolcost.result.model import ModelStudy
    from tolcost.result.study import Group, Study

_STATUS: Mapping[Certainty, FigureStatus] = {
    **{certainty: status for status, certainty in CERTAINTY.items()},
    "no bound": "unknown",
    "invalid": "unknown",
}

_HELD = frozenset(key for key, metric in GATE.items() if metric.basis in ("stored", "held", "peak"))
"""Metrics of the memory that a model holds, such as its peak; a program has none of them."""
_FEW_CLAUSES = 16
"""A disjunction of conjunctions becomes as many clauses as the product of their sizes, so it needs a limit.

A disjunction that would become more clauses is left out of the entry.
"""

SureForm: TypeAlias = tuple[Certainty, Poly | Depth | None]
"""The certainty of a figure, and its closed form, or None if the figure is unknown."""


def costed_program(name: str, program: Program, metrics: Iterable[str], assume: Sequence[str] = ()) -> Costed:
    """Return the entry of a lowered program; analyses that none of its metrics need are skipped."""
    asked = [key for key in metrics if key not in _HELD]
    if assume:
        study = program_study(analyze_program(program)).assuming(assume)
        conditions = [one.condition for one in study.needed]
    else:
        bases = {GATE[key].basis for key in asked if key in GATE}
        study = counted_study(analyze_program(program, depth="depth" in bases, moved="bytes" in bases))
        conditions = [one.condition for one in program.conditions]
    figures = {key: _figure(study, key) for key in asked if key in GATE}
    if len(figures) < len(asked):
        whole = study if assume else program_study(analyze_program(program))
        figures |= {key: _duration(whole, key) for key in asked if key not in GATE}
    parts = (_part(study, term) for term in study.analysis.counts.terms if term.kind == "data")
    return Costed(entry_from(name, study.inputs, conditions, figures), tuple(parts))


def _part(study: ProgramStudy, term: Term) -> Contribution:
    """Return the contribution of one place in the source to the metrics that are attributed to lines."""
    figures = study.of_terms([term])
    forms = {metric.key: figures.amount(metric) for metric in metrics_in("lines")}
    known = {key: form for key, form in forms.items() if form is not None}
    return Contribution(f"{term.function}:{term.space}", known, term.span)


# ---- models ---------------------------------------------------------------------------------------


def costed_model(name: str, study: ModelStudy, metrics: Iterable[str], step: Study | None = None) -> Costed:
    """Return the entry of a model, or of a step of its training, with the metrics that it has.

    A total that lacks a node has the status ``incomplete``.
    """
    whole: Study = study if step is None else step
    figures = {key: _figure(whole, key) for key in metrics if key not in GATE or _has(whole, GATE[key])}
    entry = entry_from(name, study.inputs, study.granted, figures)
    return Costed(entry, tuple(_parts(whole)))


def _has(study: Study, metric: Metric) -> bool:
    """Whether a metric is one of a step of training, or of anything else, as the study is."""
    reports = metric.stands & REPORTS
    return "training" in reports if study.report == "training" else reports != {"training"}


def _figure(study: Study, key: str) -> SureForm:
    """Return a metric of a study, and its certainty."""
    if key not in GATE:
        return _duration(study, key)
    metric = GATE[key]
    form = metric.form(study)
    return _sureness(study, metric), form if isinstance(form, Poly | Depth) else None


def _sureness(study: Study, metric: Metric) -> Certainty:
    """Return the certainty of a metric; a metric that is exact in itself is only as certain as the counts."""
    found = certainty_of(metric.basis, study, study.total, study.reaches)
    return study.total.status if found == "exact" and metric.basis != "stored" else found


def _duration(study: Study, metric: str) -> SureForm:
    """Return a time on a device in attoseconds, or None if it is unknown, and its certainty."""
    named = timed(metric)
    if named is None:
        return "no bound", None
    kind, device = named
    times = study.times(load_device(device))
    found = times.predicted if kind == "time" else times.bound
    sure = certainty_of("time", study, study.total, study.reaches)
    sure = study.total.status if sure == "exact" else sure
    return sure, None if found is None else found.attoseconds


def _parts(study: Study) -> Iterator[Contribution]:
    for group in study.groups("op"):
        yield Contribution(group.title, _known(group), nodes=partial(_nodes, study, group.title))


def _known(group: Group) -> dict[str, Poly]:
    return {metric: form for metric, form in group.figures.amounts.items() if form is not None}


def _nodes(study: Study, op: str) -> list[Contribution]:
    """Return the contributions of a model's nodes of one operator, in the order of the model."""
    from tolcost.result.model import ModelStudy

    if not isinstance(study, ModelStudy):  # a step of training has nodes that no file names
        return []
    named = zip(study.cost.steps, study.groups("node"), strict=True)
    return [Contribution(group.title, _known(group)) for (step, _), group in named if step.title == op]


# ---- the rules that figures are counted by ----------------------------------------------------------


def program_rules(case: ProgramCase, metrics: Iterable[str], behind: Iterable[NamedText]) -> CostRules:
    """Return the rules that a program is costed by.

    The library files of a project count as part of the program, not as rules.  Library files that come with
    tolcost are rules, and so is a file of the project that replaces one of them.
    """
    named = [each for each in behind if each.shipped is not None]
    return _rules(case, metrics, (each for each in named if not each.own or each.texts != (each.shipped,)))


def model_rules(
    case: ProgramCase, metrics: Iterable[str], study: ModelStudy, step: Study | None = None
) -> CostRules:
    """Return the rules that a model is costed by: all definitions of its operators, shipped or its own.

    A step of training also rests on its optimiser, and on backward passes that are written.
    """
    library, opsets = study.cost.session.library, study.model.opsets
    parts = {(part.domain, part.op): None for applied in study.cost.nodes for part, _ in applied.parts}
    found = (library.operator_text(domain, op, opsets.get(domain)) for domain, op in parts if op)
    besides = () if step is None else step.behind()
    return _rules(case, metrics, (*(each for each in found if each is not None), *besides))


def _rules(case: ProgramCase, metrics: Iterable[str], texts: Iterable[NamedText]) -> CostRules:
    uses = [UsedDefinition(each.name, text_digest(*each.texts), each.own) for each in texts]
    devices = {device for metric in metrics for _, device in filter(None, [timed(metric)])}
    tables = ((device, read_device(device) or "") for device in devices)
    uses += [UsedDefinition(f"devices/{device}", text_digest(text)) for device, text in tables]
    said = {"shapes": dict(case.shapes), "attrs": dict(case.attrs), "assume": list(case.assume)}
    said["train"] = dict(case.train)
    given = given_text({key: value for key, value in said.items() if value})
    return CostRules(given, tuple(sorted(uses, key=lambda used: used.name)), costs_version())


def files_rules(entry: LockEntry, case: ProgramCase, texts: Mapping[str, str]) -> LockEntry:
    """Add the rules of an entry that some files of tolcost decide, by their names."""
    uses = tuple(UsedDefinition(name, text_digest(text)) for name, text in sorted(texts.items()))
    given = given_text({"attrs": dict(case.attrs)} if case.attrs else {})
    return replace(entry, rules=CostRules(given, uses, costs_version()))


# ---- the entry ------------------------------------------------------------------------------------


def entry_from(
    name: str,
    inputs: Sequence[NamedType],
    conditions: Sequence[Cond],
    figures: Mapping[str, SureForm],
) -> LockEntry:
    """Make an entry from its parts; the form of an unknown figure is None."""
    forms = {metric: (_STATUS[sure], _as_poly(form)) for metric, (sure, form) in figures.items()}
    polys = [poly for _, poly in forms.values() if poly is not None]
    clauses = dict.fromkeys(c for cond in conditions for c in _clauses(cond))
    weaker = weaker_bounds(clauses)
    kept = tuple(c for c in clauses if c not in weaker)
    names = display_names(_mentioned(inputs, polys, kept))
    unknown = LockedFigure("unknown", UNKNOWN)
    texts = {
        m: unknown if poly is None or status == "unknown" else LockedFigure(status, to_text(poly, names))
        for m, (status, poly) in forms.items()
    }
    domain = Domain(
        inputs=tuple(_input(tensor, names) for tensor in inputs),
        bounds=tuple(_bounds(names)),
        where=tuple(sorted({_demand(c, names) for c in kept}, key=demand_text)),
    )
    return LockEntry(name, domain, tuple(sorted(texts.items())))


def _as_poly(form: Poly | Depth | None) -> Poly | None:
    """Write a depth as one closed form, the maximum of its candidates."""
    return form.form if isinstance(form, Depth) else form


# ---- inputs, bounds and conditions ------------------------------------------------------------


def _mentioned(inputs: Iterable[NamedType], forms: Iterable[Poly], conditions: Iterable[Cond]) -> set[Symbol]:
    """Return every symbol of an entry, and the symbols in their bounds."""
    shapes = (extent for tensor in inputs for part in tensor.type for extent in part.shape)
    found = {symbol for poly in chain(shapes, forms) for symbol in poly.free}
    return reach(found.union(*map(symbols_of_cond, conditions)))


def _input(tensor: NamedType, names: Mapping[Symbol, str]) -> LockedInput:
    """Return an input with its lengths as text."""
    parts = (InputPart(str(part.space), tuple(to_text(d, names) for d in part.shape)) for part in tensor.type)
    return LockedInput(tensor.name, tuple(parts))


def _bounds(names: Mapping[Symbol, str]) -> list[SymbolBounds]:
    """Return the bounds of symbols that are not ordinary lengths; bounds only mention earlier symbols."""
    odd = [s for s in names if s is not the_symbol(length(s.name))]
    return [_bound(s, names) for s in sorted(odd, key=lambda s: (_rank(s), names[s]))]


def _rank(symbol: Symbol) -> int:
    """Return the nesting depth of a symbol's bounds: 0 if they are numbers."""
    below = [s for bound in (symbol.lo, symbol.hi) if bound is not None for s in bound.free]
    return 1 + max(map(_rank, below)) if below else 0


def _bound(symbol: Symbol, names: Mapping[Symbol, str]) -> SymbolBounds:
    low, high = (None if b is None else to_text(b, names) for b in (symbol.lo, symbol.hi))
    return SymbolBounds(names[symbol], "data" if symbol.kind == "data" else "length", low, high)


def _demand(clause: Cond, names: Mapping[Symbol, str]) -> Demand:
    """Return a clause as text: comparisons of which at least one has to hold."""
    parts = clause.parts if isinstance(clause, Or) else (clause,)
    return tuple(Comparison(*comparison_sides(part, names)) for part in parts)


def _clauses(cond: Cond) -> tuple[Cond, ...]:
    """Split a condition into comparisons and disjunctions of comparisons; any other part is left out."""
    match cond:
        case And(parts=parts):
            return tuple(clause for part in parts for clause in _clauses(part))
        case Or(parts=parts):
            choices = [_clauses(part) for part in parts]
            every = product(*choices) if prod(map(len, choices)) <= _FEW_CLAUSES else ()
            return tuple(clause for one in every if (clause := disj(*one)) != TRUE)
        case Ge() | Eq() | Not():
            return (cond,)
        case _:
            return ()
