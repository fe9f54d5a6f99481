"""A formula judged: equal to the verified form, or too high or too low, where, and at which smallest size.

Nothing is concluded from trying: equal and never more are proved; a formula that is wrong comes with a size
at which it is, and the operator's definition is run there by the reference interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, cast

from tolcost.algebra import Cond, Poly, atom, cond_text, evaluate, total_of
from tolcost.algebra.compare import ComparisonVerdict, hold_at
from tolcost.algebra.parse import parse_text
from tolcost.atoms.nodes import Node, Program
from tolcost.audit.instances import Instance, Shapes, lower_instance
from tolcost.catalogue.specs import Library
from tolcost.check.regions import Assignment, ordering, region, try_shapes
from tolcost.cost import Analysis, analyze_program, shipped
from tolcost.cost.count import ProgramCounter
from tolcost.cost.weights import weight_of
from tolcost.diagnostics import Diagnostic, Rejected, place, quoted
from tolcost.elaborate.arguments import PlainValue
from tolcost.execute import run_reference
from tolcost.execute.inputs import random_arrays
from tolcost.execute.values import RunCounts
from tolcost.referee.formulas import Counts, PublishedFormula

RefereeVerdict: TypeAlias = Literal["equal", "too low", "too high", "too low and too high", "undecided"]
_MOST_LINES = 14
_LARGEST_RUN = 20_000
"""No witness is executed that takes more applications of functions than this."""


@dataclass(frozen=True, slots=True)
class FormulaWitness:
    """The smallest size found at which a formula is wrong: what it says, what is counted, what a run took.

    ``executed`` is None where a run cannot tell: bytes are no functions, and some inputs cannot be random.
    """

    point: tuple[tuple[str, int], ...]
    theirs: int
    ours: int
    executed: int | None


@dataclass(frozen=True, slots=True)
class DefinitionLine:
    """What a line of the definition contributes."""

    file: str
    line: int
    text: str
    form: Poly


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What came of a formula."""

    formula: PublishedFormula
    verdict: RefereeVerdict
    theirs: Poly
    ours: Poly
    leading: bool
    """Whether the terms of highest degree are the same."""
    low_where: str = ""
    high_where: str = ""
    holds_where: tuple[str, ...] = ()
    """What the verified form relies on."""
    witness: FormulaWitness | None = None
    forgets: tuple[DefinitionLine, ...] = ()

    @property
    def expected(self) -> bool:
        """Whether the verdict is the one that its users know of."""
        return self.formula.expect in (None, self.verdict)


def judge_formula(formula: PublishedFormula, library: Library) -> Judgement:
    """Hold a formula to the operator's definition, for all lengths."""
    program = lower_instance(formula.instance, library).program
    analysis = analyze_program(program, formula.instance.op)
    ours = _figure(analysis, formula)
    theirs = _read(formula, analysis)
    facts = tuple(condition.condition for condition in analysis.conditions)
    relied_on = tuple(cond_text(fact) for fact in facts)
    # a bound or a form in what data decides is no count to hold anyone to; bytes have a status of their own
    settled = formula.counts == "bytes" or analysis.status == "exact"
    verdict = _VERDICTS[ordering(theirs, ours, facts)] if settled else "undecided"
    leading = verdict == "equal" or _same_leading(theirs, ours)
    if verdict == "equal" or not settled:
        return Judgement(formula, verdict, theirs, ours, leading, holds_where=relied_on)
    gap = ours - theirs
    low, high = region(gap, facts), region(-gap, facts)
    return Judgement(
        formula,
        verdict,
        theirs,
        ours,
        leading=leading,
        holds_where=relied_on,
        low_where=low.text if low and "low" in verdict else "",
        high_where=high.text if high and "high" in verdict else "",
        witness=_witness(formula, theirs, ours, facts, library),
        forgets=_forgotten(program, gap) if formula.counts in ("eops", "flops") else (),
    )


def _figure(analysis: Analysis, formula: PublishedFormula) -> Poly:
    figures: Mapping[Counts, Poly | None] = {
        "eops": analysis.eops,
        "flops": analysis.flops,
        "macs": analysis.macs,
        "bytes": analysis.traffic.total,
    }
    found = figures[formula.counts]
    if found is None:
        raise Rejected(
            Diagnostic("T0732", f"{formula.instance.op} has no {formula.counts}: texts have no size")
        )
    return found


def _read(formula: PublishedFormula, analysis: Analysis) -> Poly:
    names = {symbol.name: atom(symbol) for symbol in analysis.symbols}
    found = parse_text(formula.text, names)
    unknown = sorted({symbol.name for symbol in found.free} - names.keys())
    if unknown:
        hint = f"lengths of {formula.instance.op} here: {', '.join(sorted(names)) or 'none'}"
        message = f"{formula.name}: there is no length {quoted(unknown[0])}"
        raise Rejected(Diagnostic("T0732", message, hint=hint))
    return found


_VERDICTS: Mapping[ComparisonVerdict, RefereeVerdict] = {
    "equal": "equal",
    "less_or_equal": "too low",
    "greater_or_equal": "too high",
    "crosses": "too low and too high",
    "unknown": "undecided",
}


def _same_leading(theirs: Poly, ours: Poly) -> bool:
    """Whether the difference is of lower degree; only polynomials have a degree."""
    if any(not _is_plain(p) for p in (theirs, ours)):
        return False
    return _degree(ours - theirs) < _degree(ours)


def _is_plain(p: Poly) -> bool:
    return p.height == 0


def _degree(p: Poly) -> int:
    return max(map(len, p.terms), default=-1)


# ---- the smallest size at which it is wrong -------------------------------------------------------


def _witness(
    formula: PublishedFormula, theirs: Poly, ours: Poly, facts: Sequence[Cond], library: Library
) -> FormulaWitness | None:
    tried = [found for found in try_shapes(theirs, ours, facts) if found.old != found.new]
    if not tried:
        return None
    start = min(tried, key=lambda found: (sum(found.point.values()), found.new))
    least = _shrunk(start.point, theirs, ours, facts)
    point = tuple(sorted((symbol.name, value) for symbol, value in least.items()))
    said, counted = evaluate(theirs, least), evaluate(ours, least)
    return FormulaWitness(point, said, counted, _executed(formula, dict(point), counted, library))


def _shrunk(point: Assignment, theirs: Poly, ours: Poly, facts: Sequence[Cond]) -> Assignment:
    """A size no length of which can be made smaller alone without the difference going away."""
    least = dict(point)
    for symbol in sorted(least, key=lambda symbol: symbol.name):
        for value in range(1, least[symbol]):
            smaller = {**least, symbol: value}
            if hold_at(facts, smaller) and evaluate(theirs, smaller) != evaluate(ours, smaller):
                least = smaller
                break
    return least


def _executed(
    formula: PublishedFormula, point: Mapping[str, int], expected: int, library: Library
) -> int | None:
    """What a run of the definition takes at a size; None where none can tell."""
    if formula.counts not in ("eops", "flops") or expected > _LARGEST_RUN:
        return None
    given = formula.instance
    shapes = cast(Shapes, {name: _put(shape, point) for name, shape in given.shapes.items()})
    attrs = {name: _put(value, point) for name, value in given.attrs.items()}
    try:
        program = lower_instance(Instance(given.op, shapes, attrs, given.outputs), library).program
        counts = run_reference(program, random_arrays(program, {}, {}, seed=1)).counts
    except Rejected:
        return None
    return counts.eops if formula.counts == "eops" else _weighed(counts)


def _weighed(counts: RunCounts) -> int | None:
    weights = shipped("flops")
    found = [(weight_of(weights, *key), times) for key, times in counts.histogram.items()]
    if any(weight is None for weight, _ in found):
        return None
    total = sum(weight * times for weight, times in found if weight is not None)
    return int(total) if total == int(total) else None


def _put(value: PlainValue, point: Mapping[str, int]) -> PlainValue:
    if isinstance(value, str):
        return point.get(value, value)
    if isinstance(value, list | tuple):
        return [_put(one, point) for one in value]
    return value


# ---- what it forgets ----------------------------------------------------------------------------


def _forgotten(program: Program, gap: Poly) -> tuple[DefinitionLine, ...]:
    """The lines of the definition that make up what is missing, where a few do."""
    lines = _lines(program)
    if len(lines) > _MOST_LINES:
        return ()
    for size in (1, 2, 3):
        for chosen in combinations(lines, size):
            if total_of(line.form for line in chosen) == gap:
                return chosen
    return ()


def _lines(program: Program) -> tuple[DefinitionLine, ...]:
    """What each line applies to data, in order of its place."""
    counter = ProgramCounter(program, functions_only=True)
    found: dict[tuple[str, int, str], list[Poly]] = {}
    for node in _roots(program):
        for key, form in counter.data_terms(node).items():
            span = key[0].span
            at = place(span)
            text = span.source.text.splitlines()[at.line - 1].strip() if span.source.text else ""
            found.setdefault((span.source.name, at.line, text), []).append(counter.closed({key: form}))
    return tuple(DefinitionLine(*where, total_of(forms)) for where, forms in sorted(found.items()))


def _roots(program: Program) -> Iterable[Node]:
    return (*(node for _, node in program.bindings), *(out.node for out in program.outputs))
