"""Judge a formula: equal to the verified form, or too high or too low, where, and the smallest such size.

Nothing is concluded from samples: equal and never more are proved; a wrong formula comes with a size at which
it is wrong, and the reference interpreter runs the operator's definition there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, combinations, islice, product
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    ONE,
    Cond,
    Generator,
    Poly,
    Symbol,
    Truth,
    atom,
    cond_text,
    evaluate,
    exact_div,
    ge,
    substitute,
    substitute_cond,
    symbols_of_cond,
    to_text,
    total_of,
)
from tolcost.algebra.parse import FormQuotient
from tolcost.algebra.points import Assignment, hold_at
from tolcost.algebra.poly import scale
from tolcost.algebra.printed import PrintedFormula, UnknownName, lowest_terms, parse_printed
from tolcost.apps.referee.conventions import ConventionReading, all_readings, needs_statement, words_of
from tolcost.apps.referee.formulas import STEPS, CountedFigure, PublishedFormula, RefereeVerdict, read_file
from tolcost.apps.referee.parts import NOTHING, Explanation, ModelPart, explained, parts_of, parts_of_step
from tolcost.apps.referee.subjects import (
    ModelProgram,
    SubjectRun,
    lower_subject,
    run_subject,
    step_of,
    title_of,
)
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import Library, open_library
from tolcost.check.config import Config
from tolcost.check.records import BudgetKind, CostlierRegion, Example, HeldBudget
from tolcost.cost import Analysis, FormRatio, analyze_program, shipped
from tolcost.cost.count import ProgramCounter
from tolcost.cost.weights import weight_of
from tolcost.diagnostics import Diagnostic, InternalError, Rejected, place, quoted, refuse
from tolcost.execute.values import RunCounts
from tolcost.result.assumptions import assumed
from tolcost.result.claims import Relation
from tolcost.result.judgement import FormJudgement, judge_forms, never_negative, unmet
from tolcost.result.regions import region, try_shapes
from tolcost.show.document import text_of

_MOST_LINES = 14
_LARGE = (2, 4, 8, 16, 32)
_FEW_TRIED = 8
"""Sizes at which two forms are compared before a proof is tried."""
_LARGEST_RUN = 60_000
"""Limit on the applications of functions in a run of a witness, which keeps it to seconds."""


class FormulaWitness(Struct, frozen=True):
    """The smallest size found at which a formula is wrong: its value, the count, and the result of a run.

    ``theirs`` is a fraction where the formula gives no integer.  ``executed`` is None if a run is not
    possible: some inputs cannot be random.
    """

    point: tuple[tuple[str, int], ...]
    theirs: int | Fraction
    ours: int
    executed: int | None


class DefinitionLine(Struct, frozen=True):
    """The contribution of a line of the definition."""

    file: str
    line: int
    text: str
    form: Poly


class Judgement(Struct, frozen=True, eq=False):
    """The judgement of a formula: ``theirs`` over ``divisor``, beside ours.

    ``order`` is the verdict by our own convention.
    """

    formula: PublishedFormula
    verdict: RefereeVerdict
    order: RefereeVerdict
    theirs: Poly
    ours: Poly
    leading: bool
    """Whether the terms of highest degree are equal."""
    divisor: Poly = ONE
    reading: tuple[str, ...] = ()
    """The conventions under which the formula is right, in words; none if it is equal, or wrong."""
    remarks: tuple[str, ...] = ()
    """How the text of the formula was understood."""
    bound: bool = False
    """Whether our form is only an upper bound, since data decides part of the count."""
    low_where: str = ""
    high_where: str = ""
    facts: tuple[Cond, ...] = ()
    """The conditions of the verified form."""
    witnesses: tuple[FormulaWitness, ...] = ()
    """A size at which the formula is too low, and one at which it is too high, depending on the verdict."""
    forgets: tuple[DefinitionLine, ...] = ()
    parts: Explanation = NOTHING
    """The parts that a model's formula omits or counts in addition, in words."""

    def __post_init__(self) -> None:
        """Refuse a verdict of too low or too high without a size that shows it."""
        gaps = [witness.theirs - witness.ours for witness in self.witnesses]
        low, high = any(gap < 0 for gap in gaps), any(gap > 0 for gap in gaps)
        if ("low" in self.order and not low) or ("high" in self.order and not high):
            raise InternalError(f"{self.formula.name} is called {self.order} without a witness")

    @property
    def witness(self) -> FormulaWitness | None:
        """The first size that shows a difference."""
        return next(iter(self.witnesses), None)

    @property
    def holds_where(self) -> tuple[str, ...]:
        """The conditions of the verified form, as text."""
        return tuple(map(cond_text, self.facts))

    @property
    def published(self) -> Poly | FormRatio:
        """The formula in lengths of the subject."""
        return _divided(self.theirs, self.divisor)

    @property
    def difference(self) -> Poly | FormRatio:
        """The verified form less the formula."""
        return _divided(self.ours * self.divisor - self.theirs, self.divisor)

    @property
    def expected(self) -> bool:
        """Whether the verdict is the one that its users expect."""
        return self.formula.expect in (None, self.verdict)


def _divided(top: Poly, divisor: Poly) -> Poly | FormRatio:
    return FormRatio(top, divisor) if divisor.constant is None else scale(top, 1, divisor.constant)


class _Stated(Struct, frozen=True, eq=False):
    """A formula and the verified form in the same lengths, and the conditions of the latter.

    The formula is ``theirs`` over ``divisor``, which is positive; ``theirs`` is always an integer.
    """

    theirs: Poly
    divisor: Poly
    ours: Poly
    parts: tuple[ModelPart, ...]
    facts: tuple[Cond, ...]
    restricted: Mapping[Symbol, Poly]
    remarks: tuple[str, ...] = ()

    @property
    def counted(self) -> Poly:
        """The verified form, times the divisor: what ``theirs`` is held to."""
        return self.ours * self.divisor

    def put(self, form: Poly) -> Poly:
        """Write a form of the subject in the lengths that the formula restricts it to."""
        return substitute(form, dict(self.restricted)) if self.restricted else form

    def side(self, point: Assignment) -> int | None:
        """Return 1 where the formula is too high, -1 where too low, else 0; None if nothing is verified."""
        if not hold_at(self.facts, point):
            return None
        gap = evaluate(self.theirs, point) - evaluate(self.counted, point)
        return (gap > 0) - (gap < 0)

    def small(self, point: Assignment) -> bool:
        """Whether a run takes only seconds."""
        return evaluate(self.ours, point) <= _LARGEST_RUN


class VerifiedSubject(Struct, frozen=True, eq=False):
    """The lowered subject of a formula, and its readings by metric, once they were asked for."""

    program: Program
    analysis: Analysis
    again: VerifiedSubject | None = None
    """What is done once more: forward, where it is computed again in backward."""
    why: str = ""
    """Why the backward pass is not derived, so that this is forward alone."""
    readings: dict[str, tuple[ConventionReading, ...]] = field(default_factory=dict)


VerifiedForms: TypeAlias = dict[str, VerifiedSubject]
"""The lowered subjects of formulas, by their text."""


def judge_formulas(
    formulas: Iterable[PublishedFormula], library: Library, known: VerifiedForms | None = None
) -> Iterator[Judgement]:
    """Judge formulas one after another; a subject that several share is lowered once.

    ``known`` has the lowered subjects of earlier formulas with the same library, and is extended.
    """
    known = {} if known is None else known
    for formula in formulas:
        key = repr((formula.subject, formula.train))
        try:
            if key not in known:
                known[key] = _verified(formula, library)
            found = _judged(formula, known[key], library)
        except Rejected as rejected:
            raise Rejected(*(_named(one, formula.name) for one in rejected.diagnostics)) from None
        yield found


def _verified(formula: PublishedFormula, library: Library) -> VerifiedSubject:
    """Lower the subject of a formula; for a step of training, derive its backward pass."""
    title = title_of(formula.subject)
    program = lower_subject(formula.subject, library)
    forward = VerifiedSubject(program, analyze_program(program, title, depth=False))
    if not formula.train:
        return forward
    try:
        step = step_of(program)
    except Rejected as rejected:
        return replace(forward, why=rejected.diagnostics[0].message)
    again = forward if formula.train == "recomputed" else None
    return VerifiedSubject(step, analyze_program(step, title, depth=False), again)


def _named(one: Diagnostic, name: str) -> Diagnostic:
    """Add the name of its formula to a diagnostic, since a file has many."""
    return one if one.message.startswith(name) else replace(one, message=f"{name}: {one.message}")


def _judged(formula: PublishedFormula, subject: VerifiedSubject, library: Library) -> Judgement:
    analysis = subject.analysis
    stated = _stated(formula, subject)
    theirs, ours, facts = stated.theirs, stated.ours, stated.facts
    status = analysis.status
    if formula.counts == "bytes":  # bytes have a status of their own
        status = "upper bound" if analysis.traffic.open else "exact"
    judged = judge_forms(theirs, stated.counted, facts)
    verdict = _verdict(judged.of_costs("exact", status))
    told: RefereeVerdict = "equal" if verdict == "equal" else "undecided"
    found = Judgement(
        formula,
        told,
        told,
        theirs,
        ours,
        leading=verdict == "equal" or _same_leading(theirs, stated.counted),
        divisor=stated.divisor,
        remarks=stated.remarks,
        bound=status == "upper bound",
        facts=facts,
    )
    if subject.why:
        said = f"the backward pass is not derived, and what is verified is forward alone: {subject.why}"
        return replace(found, verdict="undecided", order="undecided", remarks=(*found.remarks, said))
    if verdict == "equal" or (verdict == "undecided" and found.bound):
        return found
    shown = _shown(found, verdict, judged, stated, subject, library)
    # that two differ is proved for all values of data-dependent numbers, also impossible ones: a run has to
    # show it, unless they are equal as the source counts
    seen = status == "exact" or all(witness.executed is not None for witness in shown.witnesses)
    right = _by_convention(shown, stated, subject, library)
    stated_alone = (words_of(formula.reading),) if formula.reading else ()
    return right if seen or (stated_alone and right.reading == stated_alone) else found


def _by_convention(one: Judgement, stated: _Stated, subject: VerifiedSubject, library: Library) -> Judgement:
    """Change the verdict where a formula that differs is right under a convention.

    The convention that its source states comes first, and some count only if it states them.
    """
    formula, metric = one.formula, one.formula.counts
    if metric not in subject.readings:
        step = (STEPS[formula.train], _figure(subject, formula)) if formula.train else None
        given = all_readings(formula.subject, subject.program, subject.analysis, metric, library, step)
        subject.readings[metric] = tuple(given)
    stated_first = sorted(
        (reading for reading in subject.readings[metric] if reading.words),
        key=lambda reading: (reading.counted != formula.reading, len(reading.words)),
    )
    for reading in stated_first:
        if needs_statement(reading, stated.theirs) and reading.counted != formula.reading:
            continue
        form = stated.put(reading.form) * stated.divisor
        needed = (substitute_cond(fact, dict(stated.restricted)) for fact in reading.facts)
        if _same(stated.theirs, form, stated.facts) and not unmet(needed, stated.facts):
            return replace(one, verdict="another convention", reading=reading.words)
    return one


def _same(theirs: Poly, other: Poly, facts: tuple[Cond, ...]) -> bool:
    """Whether two forms are equal for all lengths; most that are not differ at a few sizes."""
    if theirs == other or not (theirs.height or other.height):
        return theirs == other
    tried = islice(try_shapes(theirs, other, facts), _FEW_TRIED)
    return all(one.old == one.new for one in tried) and judge_forms(theirs, other, facts).relation == "same"


def _verdict(judged: FormJudgement) -> RefereeVerdict:
    """Return the verdict on a formula from the judgement on the verified form against it.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> [_verdict(judge_forms(n, n * n).of_costs("exact", status)) for status in ("exact", "upper bound")]
    ['too low', 'undecided']
    >>> _verdict(judge_forms(n * n, n).of_costs("exact", "upper bound"))
    'too high'
    """
    return _VERDICTS.get(judged.relation, "undecided")


_VERDICTS: Mapping[Relation, RefereeVerdict] = {
    "same": "equal",
    "costlier": "too low",
    "cheaper": "too high",
    "crosses": "too low and too high",
}


def _shown(
    found: Judgement,
    verdict: RefereeVerdict,
    judged: FormJudgement,
    stated: _Stated,
    subject: VerifiedSubject,
    library: Library,
) -> Judgement:
    """Complete a verdict of wrong: the region, a size that shows it, and the omitted lines."""
    formula = found.formula
    gap = stated.counted - stated.theirs
    exact = None if stated.divisor.constant is None else scale(gap, 1, stated.divisor.constant)
    low, high = region(gap, stated.facts), region(-gap, stated.facts)
    applied, plain = formula.counts in ("eops", "flops"), not (stated.parts or formula.train)
    return replace(
        found,
        verdict=verdict,
        order=verdict,
        low_where=low if low and "low" in verdict else "",
        high_where=high if high and "high" in verdict else "",
        witnesses=tuple(_witnesses(verdict, judged, formula, stated, subject, library)),
        forgets=_forgotten(subject.program, exact) if applied and exact is not None and plain else (),
        parts=NOTHING if exact is None else explained(stated.parts, exact),
    )


def _stated(formula: PublishedFormula, subject: VerifiedSubject) -> _Stated:
    """Express a formula in the lengths of its subject; assumptions and its own names may restrict those."""
    analysis = subject.analysis
    lengths = {symbol.name: symbol for symbol in analysis.symbols}
    given = assumed(formula.assume, {name: atom(symbol) for name, symbol in lengths.items()})
    fresh = {symbol.name: symbol for form in given.put.values() for symbol in form.free}
    names = {name: FormQuotient(atom(symbol)) for name, symbol in (fresh | lengths).items()}
    restricted: dict[Symbol, Poly] = {}
    read: list[PrintedFormula] = []
    for name, text in formula.where.items():
        read.append(_read(formula, text, names, f"where {name}", is_new=name in lengths))
        names[name] = read[-1].value
        if name in lengths:
            restricted[lengths[name]] = _restricted(formula, lengths[name], names[name])
    for name, text in formula.let.items():
        read.append(_read(formula, text, names, f"let {name}"))
    own = names | {name: one.value for name, one in zip(formula.let, read[len(formula.where) :], strict=True)}
    read.append(_read(formula, formula.text, own, "formula"))
    for one in read:
        restricted |= one.whole_where
    restricted = _together(formula, restricted, given.put)

    def put(p: Poly) -> Poly:
        return substitute(p, restricted) if restricted else p

    ours = _figure(subject, formula)
    # bytes are judged where no range is empty: elsewhere our form is an upper bound
    full = map(ge, analysis.traffic.full) if formula.counts == "bytes" else ()
    needed = (condition.condition for condition in analysis.conditions)
    free = read[-1].value.top.free | read[-1].value.bottom.free | ours.free
    facts = tuple(dict.fromkeys((*given.facts, *needed, *full, *_decided(free))))
    facts = tuple(substitute_cond(fact, restricted) for fact in facts) if restricted else facts
    value = lowest_terms(FormQuotient(put(read[-1].value.top), put(read[-1].value.bottom)))
    theirs, divisor = _over_positive(formula, value, facts)
    return _Stated(
        theirs=theirs,
        divisor=divisor,
        ours=put(ours),
        parts=tuple(replace(part, form=put(part.form)) for part in _parts(formula, ours)),
        facts=facts,
        restricted=restricted,
        remarks=tuple(dict.fromkeys(remark for one in read for remark in one.remarks)),
    )


def _together(
    formula: PublishedFormula, restricted: Mapping[Symbol, Poly], assumed_to_be: Mapping[Symbol, Poly]
) -> dict[Symbol, Poly]:
    """Put the forms that a formula and its assumptions give to lengths together, one form for each."""
    inside = {symbol: substitute(form, assumed_to_be) for symbol, form in restricted.items()}
    outside = {symbol: substitute(form, inside) for symbol, form in assumed_to_be.items()}
    twice = [symbol for symbol in inside if symbol in outside]
    found = {**inside, **outside}
    twice += [symbol for form in found.values() for symbol in form.free if symbol in found]
    if twice:
        refuse("T0732", f"{formula.name}: {quoted(twice[0].name)} is said twice, by where and by assume")
    return found


def _over_positive(
    formula: PublishedFormula, value: FormQuotient, facts: tuple[Cond, ...]
) -> tuple[Poly, Poly]:
    """Return a quotient as an integer form over a positive one."""
    top, bottom = scale(value.top, value.bottom.den), scale(value.bottom, value.bottom.den)
    if exact_div(top, 1) is None:
        top, bottom = scale(top, top.den), scale(bottom, top.den)
    if never_negative(bottom - 1, facts):
        return top, bottom
    if never_negative(-bottom - 1, facts):
        return -top, -bottom
    refuse("T0732", f"{formula.name}: its divisor {quoted(to_text(bottom))} may be 0")


def _restricted(formula: PublishedFormula, length: Symbol, value: FormQuotient) -> Poly:
    """Check the form that replaces a length: whole, without the length itself, not below its minimum."""
    form = value.top
    if value.bottom != ONE or exact_div(form, 1) is None:
        refuse("T0732", f"{formula.name}: {quoted(length.name)} is no whole number by what is said of it")
    least = None if length.lo is None else length.lo.constant
    if length in form.free:
        refuse("T0732", f"{formula.name}: {quoted(length.name)} is said by itself")
    if least is not None and form.constant is not None and form.constant < least:
        refuse("T0732", f"{formula.name}: {quoted(length.name)} is at least {least}, not {form.constant}")
    return form


def _decided(symbols: Iterable[Symbol]) -> Iterator[Cond]:
    """Yield the known bounds of data-dependent numbers."""
    for symbol in sorted((symbol for symbol in symbols if symbol.kind == "data"), key=lambda s: s.name):
        limits = (None if symbol.lo is None else ge(atom(symbol) - symbol.lo),
                  None if symbol.hi is None else ge(symbol.hi - atom(symbol)))  # fmt: skip
        yield from (limit for limit in limits if limit is not None and not isinstance(limit, Truth))


def _parts(formula: PublishedFormula, ours: Poly) -> tuple[ModelPart, ...]:
    """Return the parts of a model's operations; for operators, lines are listed instead."""
    if not isinstance(formula.subject, ModelProgram) or formula.counts != "flops":
        return ()
    times = STEPS[formula.train]
    return parts_of(formula.subject.path) if times == 1 else parts_of_step(formula.subject.path, times, ours)


def _figure(subject: VerifiedSubject, formula: PublishedFormula) -> Poly:
    analysis = subject.analysis
    figures: Mapping[CountedFigure, Poly | None] = {
        "eops": analysis.eops,
        "flops": analysis.flops,
        "macs": analysis.counts.macs,
        "bytes": analysis.traffic.total,
    }
    found = figures[formula.counts]
    if found is None:
        title = title_of(formula.subject)
        refuse("T0732", f"{title} has no {formula.counts}: texts have no size")
    return found if subject.again is None else found + _figure(subject.again, formula)


def _read(
    formula: PublishedFormula, text: str, names: Mapping[str, FormQuotient], part: str, is_new: bool = False
) -> PrintedFormula:
    """Read a part of a formula as it is printed; a name without a meaning is refused with those there are."""
    try:
        return parse_printed(text, names, f"{formula.name}, {part}", is_new)
    except UnknownName as unknown:
        hint = f"lengths of {title_of(formula.subject)} here: {', '.join(sorted(names)) or 'none'}"
        (one,) = unknown.diagnostics
        raise Rejected(replace(one, code="T0732", hint=hint)) from None


def _same_leading(theirs: Poly, ours: Poly) -> bool:
    """Whether the difference has no leading term; only polynomials have leading terms."""
    if theirs.height or ours.height:
        return False
    top = _outermost(ours)
    return all(any(Counter(mono) < large for large in top) for mono in (ours - theirs).terms)


def _outermost(p: Poly) -> list[Counter[Generator]]:
    """Return the terms that divide no other: one of them is the largest if all lengths are large."""
    monos = [Counter(mono) for mono in p.terms]
    return [mono for mono in monos if not any(mono < other for other in monos)]


# ---- the smallest size at which it is wrong -------------------------------------------------------


def _witnesses(
    verdict: RefereeVerdict,
    judged: FormJudgement,
    formula: PublishedFormula,
    stated: _Stated,
    subject: VerifiedSubject,
    library: Library,
) -> Iterator[FormulaWitness]:
    proof = [dict(witness.point) for witness in (judged.less, judged.more) if witness is not None]
    shapes = try_shapes(stated.theirs, stated.counted, stated.facts)
    tried = sorted((found.point for found in shapes), key=lambda point: sum(point.values()))
    for sign, word in ((-1, "low"), (1, "high")):
        if (
            word in verdict or verdict == "undecided"
        ):  # that forms differ is shown, though not everywhere which is more
            wrong = (point for point in chain(tried, _uneven(stated), proof) if stated.side(point) == sign)
            first = next(wrong, None)
            start = next((point for point in chain([first], wrong) if point and stated.small(point)), first)
            if start is not None:
                yield _witness_at(_shrunk(start, stated, sign), formula, stated, subject, library)


def _uneven(stated: _Stated) -> Iterator[Assignment]:
    """Yield sizes with up to three large lengths and 1 for all others, small ones first."""
    relied = (symbol for fact in stated.facts for symbol in symbols_of_cond(fact))
    symbols = sorted({*stated.counted.free, *stated.theirs.free, *relied}, key=lambda symbol: symbol.name)
    for large in _LARGE:
        for chosen in combinations(symbols, min(3, len(symbols))):
            for values in product((1, *(value for value in _LARGE if value <= large)), repeat=len(chosen)):
                if large in values:
                    yield dict.fromkeys(symbols, 1) | dict(zip(chosen, values, strict=True))


def _witness_at(
    least: Assignment, formula: PublishedFormula, stated: _Stated, subject: VerifiedSubject, library: Library
) -> FormulaWitness:
    follow = {symbol: evaluate(form, least) for symbol, form in stated.restricted.items()}
    point = tuple(sorted((symbol.name, value) for symbol, value in {**least, **follow}.items()))
    said = Fraction(evaluate(stated.theirs, least), evaluate(stated.divisor, least))
    counted = evaluate(stated.ours, least)
    executed = executed_at(dict(point), formula, subject, library) if stated.small(least) else None
    return FormulaWitness(point, int(said) if said.denominator == 1 else said, counted, executed)


def _shrunk(point: Assignment, stated: _Stated, sign: int) -> Assignment:
    """Reduce a size until no length can be reduced alone without losing the difference."""
    least = dict(point)
    for symbol in sorted(least, key=lambda symbol: (-least[symbol], symbol.name)):
        smaller = ({**least, symbol: value} for value in range(1, least[symbol]))
        least = next((one for one in smaller if stated.side(one) == sign), least)
    return least


def executed_at(
    point: Mapping[str, int], formula: PublishedFormula, subject: VerifiedSubject, library: Library
) -> int | None:
    """Return the result of a run at a size, in the metric of a formula; None if no run can measure it."""
    forward = replace(formula, train="")
    again = 0 if subject.again is None else executed_at(point, forward, subject.again, library)
    try:
        found = taken_by(
            run_subject(formula.subject, subject.program, point, library, bool(formula.train)), formula
        )
    except Rejected:
        return None
    return None if found is None or again is None else found + again


def taken_by(run: SubjectRun, formula: PublishedFormula) -> int | None:
    """Return the result of a run in the metric of a formula; None if the run cannot measure it."""
    taken: Mapping[CountedFigure, int | None] = {
        "eops": run.counts.eops,
        "flops": _weighed(run.counts),
        "macs": run.macs,
        "bytes": run.moved,
    }
    return taken[formula.counts]


def _weighed(counts: RunCounts) -> int | None:
    weights = shipped("flops")
    found = [(weight_of(weights, *key), times) for key, times in counts.histogram.items()]
    if any(weight is None for weight, _ in found):
        return None
    total = sum(weight * times for weight, times in found if weight is not None)
    return int(total) if total == int(total) else None


# ---- omissions ----------------------------------------------------------------------------------


def _forgotten(program: Program, gap: Poly) -> tuple[DefinitionLine, ...]:
    """Return the lines of the definition whose sum is the difference, if there are at most three."""
    lines = _lines(program)
    if len(lines) > _MOST_LINES:
        return ()
    for size in (1, 2, 3):
        for chosen in combinations(lines, size):
            if total_of(line.form for line in chosen) == gap:
                return chosen
    return ()


def _lines(program: Program) -> tuple[DefinitionLine, ...]:
    """Return the contribution of each line, in the order of the text."""
    counter = ProgramCounter(program, functions_only=True)
    found: dict[tuple[str, int, str], list[Poly]] = {}
    for node in (*(node for _, node in program.bindings), *(out.node for out in program.outputs)):
        for key, form in counter.data_terms(node).items():
            span = key[0].span
            at = place(span)
            text = span.source.text.splitlines()[at.line - 1].strip() if span.source.text else ""
            found.setdefault((span.source.name, at.line, text), []).append(counter.closed({key: form}))
    return tuple(DefinitionLine(*where, total_of(forms)) for where, forms in sorted(found.items()))


# ---- a project's own formulas in the gate: each is checked against its definition, like a budget -------


_BUDGETS: Mapping[RefereeVerdict, BudgetKind] = {
    "equal": "within",
    "too low": "exceeded",
    "too high": "overstated",
    "too low and too high": "crosses",
    "undecided": "undecided",
}


def held_formulas(config: Config) -> tuple[HeldBudget, ...]:
    """Judge the formulas named in a project's settings; a file that cannot be read raises ``Rejected``."""
    if not config.formulas:
        return ()
    library = open_library(tuple(map(str, config.libraries)))
    files = {file: read_file(config.root / file) for file in config.formulas}
    known: VerifiedForms = {}
    return tuple(
        _held(one, file) for file, read in files.items() for one in judge_formulas(read, library, known)
    )


def _held(one: Judgement, file: str) -> HeldBudget:
    where = one.low_where or one.high_where
    return HeldBudget(
        name=one.formula.name,
        kind="within" if one.expected else _BUDGETS[one.order],
        budget=f"{one.formula.counts} = {one.formula.text}",
        metric=one.formula.counts,
        file=file,
        actual=text_of(one.ours),
        limit=text_of(one.published),
        region=CostlierRegion(where) if where else None,
        example=_example(one),
    )


def _example(one: Judgement) -> Example | None:
    if one.witness is None or not isinstance(one.witness.theirs, int):
        return None
    return Example(one.witness.point, one.witness.theirs, one.witness.ours)
