"""A row of the paper judged in three parts: its form, its value and its count.

Form: whether the printed program is accepted to the letter, under a reading that the paper's own words
allow, or not.  Value: what it gives on ONNX's node tests.  Count: whether the printed EOPs are what the
rules give for the printed program, for its correction, and for the definition that passes ONNX's tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from types import MappingProxyType
from typing import Literal, TypeAlias

from tolcost.algebra import Poly, compare, const, length, to_text
from tolcost.audit.instances import Shapes, analyse_instance, analyse_source
from tolcost.audit.printed import AxisLengths, FormulaNames, IllFormed, ReadFormula, read
from tolcost.audit.readings import PaperRow, Renamings
from tolcost.audit.trials import TrialOutcome, Trials, hold_to_tests
from tolcost.catalogue.cases import Case
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis, FormRatio
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, Source

FormVerdict: TypeAlias = Literal["as printed", "under a reading", "refused", "not ToLang"]

ValueVerdict: TypeAlias = Literal[
    "right on all", "right on some", "wrong", "stops", "no test fits", "not run"
]


@dataclass(frozen=True, slots=True)
class CountCheck:
    """A derived count beside the printed one: whether they are equal, and by what they differ."""

    equal: bool
    derived: Poly
    printed: Poly

    @property
    def by(self) -> str:
        """The difference, derived less printed, and the quotient where the print is not 0."""
        if self.equal:
            return ""
        gap = self.derived - self.printed
        return to_text(gap)

    @property
    def ratio(self) -> FormRatio | None:
        """Derived over printed."""
        return None if self.printed == 0 else FormRatio(self.derived, self.printed)


@dataclass(frozen=True, slots=True)
class PrintedProgram:
    """What became of the printed program: ``source`` is what was accepted; ``problems`` refused the letter.

    ``under_reading`` are the problems that are left under the reading, where there is one and it is refused.
    """

    analysis: Analysis | None
    source: Source | None = None
    problems: tuple[Diagnostic, ...] = ()
    under_reading: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Everything found out about a row."""

    row: PaperRow
    program: PrintedProgram
    right: Analysis
    verified: Analysis
    reading: ReadFormula
    own: CountCheck | None
    corrected: CountCheck
    by_definition: CountCheck | None
    trials: Trials

    @property
    def form(self) -> FormVerdict:
        """Whether the printed program is one."""
        if self.program.source is not None:
            return "as printed" if self.program.source is self.row.printed else "under a reading"
        return "not ToLang" if self.row.printed is None and self.row.reading is None else "refused"

    @property
    def value(self) -> ValueVerdict:
        """What the printed program gives on the node tests that its signature admits."""
        if self.program.source is None:
            return "not run"
        return _value(self.trials.on_tests)

    @property
    def holds_up(self) -> bool:
        """Accepted, right on every test, and at the printed cost."""
        return self.value == "right on all" and self.own is not None and self.own.equal


def _value(outcomes: Sequence[TrialOutcome]) -> ValueVerdict:
    found = {outcome.status for outcome in outcomes}
    if not found:
        return "no test fits"
    if found == {"same"}:
        return "right on all"
    if "same" in found:
        return "right on some"
    return "stops" if found == {"stops"} else "wrong"


def judge(row: PaperRow, cases: Sequence[Case], library: Library) -> Judged:
    """Find out everything about a row; ``cases`` are all node tests of its operator."""
    program = derive_printed(row, library)
    right = analyse_source(row.right, library)
    verified = analyse_instance(row.verified, library)
    reading = read(row.eops, meaning_of(right, row.names))
    own, trials = None, Trials((), {}, ())
    if program.analysis is not None and program.source is not None:
        in_print = meaning_of(program.analysis, row.names, row.at)  # the names of the print itself
        own = hold(program.analysis.eops, read(row.eops, in_print).form)
        trials = hold_to_tests(row, program.source, cases, library)
    return Judged(
        row=row,
        program=program,
        right=right,
        verified=verified,
        reading=reading,
        own=own,
        corrected=hold(right.eops, reading.form),
        by_definition=_held_to_definition(row, verified),
        trials=trials,
    )


def hold(derived: Poly, printed: Poly) -> CountCheck:
    """Compare a derived count with a printed one, for all lengths."""
    return CountCheck(compare(derived, printed).verdict == "equal", derived, printed)


def _held_to_definition(row: PaperRow, verified: Analysis) -> CountCheck | None:
    try:
        meaning = _meaning_for_definition(row, verified)
        return hold(verified.eops, read(row.eops, meaning).form)
    except IllFormed:
        return None


# ---- reading the printed program ---------------------------------------------------------


def derive_printed(row: PaperRow, library: Library) -> PrintedProgram:
    """Analyse a printed program to the letter, or else under the reading that the paper allows."""
    analysis, problems = _analysed(row.printed, row.shapes, library)
    if analysis is not None:
        return PrintedProgram(analysis, row.printed)
    analysis, left = _analysed(row.reading, row.shapes, library)
    if analysis is not None:
        return PrintedProgram(analysis, row.reading, problems)
    return PrintedProgram(None, None, problems, left)


def _analysed(
    source: Source | None, shapes: Shapes, library: Library
) -> tuple[Analysis | None, tuple[Diagnostic, ...]]:
    if source is None:
        return None, ()
    try:
        return analyse_source(source, library, shapes), ()
    except Rejected as rejected:
        return None, rejected.diagnostics


# ---- what the names in a formula mean ----------------------------------------------------


def meaning_of(
    analysis: Analysis, names: Renamings, at: Mapping[str, int] = MappingProxyType({})
) -> FormulaNames:
    """The inputs and symbols of a program under the names of the paper's signature.

    ``at`` gives numbers to names that the program has no symbol for.
    """
    shapes: dict[str, AxisLengths] = {t.name: t.type[0].shape for t in analysis.inputs}
    outputs = [t.type[0].shape for t in analysis.outputs]
    shapes.setdefault("t", shapes.get("in", outputs[0] if outputs else ()))
    meaning = _named(shapes, analysis, names)
    return FormulaNames(meaning.shapes, {**{name: const(n) for name, n in at.items()}, **meaning.numbers})


def _meaning_for_definition(row: PaperRow, verified: Analysis) -> FormulaNames:
    """The same for the definition in specs/onnx, whose leading lengths of 1 the paper leaves out."""
    shapes: dict[str, AxisLengths] = {
        t.name: tuple(dropwhile(lambda extent: extent == 1, t.type[0].shape)) for t in verified.inputs
    }
    ordered = list(shapes.values())
    if ordered:
        shapes.setdefault("t", ordered[0])
    if len(ordered) > 1:
        shapes.setdefault("k", ordered[1])
    meaning = _named(shapes, verified, row.verified_names)
    return FormulaNames(meaning.shapes, {**meaning.numbers, **{name: const(n) for name, n in row.at.items()}})


def _named(shapes: dict[str, AxisLengths], analysis: Analysis, names: Renamings) -> FormulaNames:
    numbers = {symbol.name: length(symbol.name) for symbol in analysis.symbols}
    by_symbol = {s.name: s for s in analysis.symbols}
    for name, target in names.items():
        if isinstance(target, str):
            shapes[name] = shapes[target]
        else:
            shapes[name] = tuple(
                const(e) if isinstance(e, int) else numbers.get(e, length(e)) for e in target
            )
    numbers |= {name: Poly({(symbol,): 1}) for name, symbol in by_symbol.items()}
    return FormulaNames(shapes, numbers)
