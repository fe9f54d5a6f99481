"""A row of the paper judged: what is printed, what follows from it, and what is right.

The verdict says whether the printed program can be read, whether it computes the operator (by
running it), and whether the printed count is what the rules give for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tolcost.algebra import Poly, compare, const, length, to_text
from tolcost.atoms import nodes
from tolcost.audit.instances import (
    Instance,
    analyse_instance,
    analyse_source,
    literal,
    lower_instance,
    lower_source,
)
from tolcost.audit.printed import FormulaNames, IllFormed, Lengths, Reading, read
from tolcost.audit.readings import PaperRow, PaperTrial, Renamings
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import value_difference
from tolcost.catalogue.specs import Library
from tolcost.catalogue.types import Array
from tolcost.cost import Analysis, FormRatio
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Argument
from tolcost.elaborate.arguments import PlainValue, arguments
from tolcost.execute import run_reference
from tolcost.execute.inputs import nested_array
from tolcost.syntax import parse

RowVerdict: TypeAlias = Literal["same", "differs", "computes something else", "ill-formed"]
VERDICTS: tuple[RowVerdict, ...] = ("same", "differs", "computes something else", "ill-formed")


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
    """What became of the printed program: analysed, or refused with diagnostics, or not ToLang at all."""

    analysis: Analysis | None
    lenient: bool = False
    problems: tuple[Diagnostic, ...] = ()
    readable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Everything found out about a row."""

    row: PaperRow
    program: PrintedProgram
    right: Analysis
    verified: Analysis
    reading: Reading
    own: CountCheck | None
    corrected: CountCheck
    by_definition: CountCheck | None
    outcomes: tuple[TrialOutcome, ...]

    @property
    def verdict(self) -> RowVerdict:
        """One word for the row."""
        if self.program.analysis is None:
            return "ill-formed"
        if not any(outcome.status == "same" for outcome in self.outcomes):
            return "computes something else"
        return "same" if self.own is not None and self.own.equal else "differs"

    @property
    def in_part(self) -> bool:
        """Whether the printed program is right for some inputs of its operator and wrong for others."""
        return len({outcome.status == "same" for outcome in self.outcomes}) > 1


def judge(row: PaperRow, cases: Mapping[str, Case], library: Library) -> Judged:
    """Find out everything about a row."""
    program = derive_printed(row.printed, library)
    right = analyse_source(row.right, library)
    verified = analyse_instance(row.verified, library)
    reading = read(row.eops, meaning_of(right, row.names))
    own = None
    if program.analysis is not None:
        own = hold(program.analysis.eops, read(row.eops, meaning_of(program.analysis, row.names)).form)
    source = row.printed if not program.lenient or row.printed is None else lenient(row.printed)
    runs = row.trials if program.analysis is not None and source is not None else ()
    outcomes = tuple(attempt(source, row.operator, trial, cases, library) for trial in runs if source)
    return Judged(
        row=row,
        program=program,
        right=right,
        verified=verified,
        reading=reading,
        own=own,
        corrected=hold(right.eops, reading.form),
        by_definition=_held_to_definition(row, verified),
        outcomes=outcomes,
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


def derive_printed(source: Source | None, library: Library) -> PrintedProgram:
    """Analyse a printed program to the letter, or else with ``:=`` where ``=`` fills a declared ToL."""
    if source is None:
        return PrintedProgram(None, readable=False)
    try:
        return PrintedProgram(analyse_source(source, library))
    except Rejected as rejected:
        problems = rejected.diagnostics
    relaxed = lenient(source)
    if relaxed.text == source.text:
        return PrintedProgram(None, problems=problems)
    try:
        return PrintedProgram(analyse_source(relaxed, library), lenient=True, problems=problems)
    except Rejected as rejected:
        seen = {d.message for d in problems}
        more = tuple(d for d in rejected.diagnostics if d.message not in seen)
        return PrintedProgram(None, problems=(*problems, *more))


def lenient(source: Source) -> Source:
    """A program in which ``tol x = ...`` may be filled by ``x = ...``, as the tables write it."""
    declared = re.findall(r"^tol (\w+) = ", source.text, re.M)
    text = source.text
    for name in declared:
        text = re.sub(rf"^{name} = ", f"{name} := ", text, flags=re.M)
    return Source(source.name, text)


# ---- what the names in a formula mean ----------------------------------------------------


def meaning_of(analysis: Analysis, names: Renamings) -> FormulaNames:
    """The inputs and symbols of a program under the names of the paper's signature."""
    shapes: dict[str, Lengths] = {t.name: t.type[0].shape for t in analysis.inputs}
    outputs = [t.type[0].shape for t in analysis.outputs]
    shapes.setdefault("t", shapes.get("in", outputs[0] if outputs else ()))
    return _named(shapes, analysis, names)


def _meaning_for_definition(row: PaperRow, verified: Analysis) -> FormulaNames:
    """The same for the definition in specs/onnx, whose leading lengths of 1 the paper leaves out."""
    shapes: dict[str, Lengths] = {t.name: _trimmed(t.type[0].shape) for t in verified.inputs}
    ordered = list(shapes.values())
    if ordered:
        shapes.setdefault("t", ordered[0])
    if len(ordered) > 1:
        shapes.setdefault("k", ordered[1])
    meaning = _named(shapes, verified, row.verified_names)
    return FormulaNames(meaning.shapes, {**meaning.numbers, **{name: const(n) for name, n in row.at.items()}})


def _trimmed(shape: Lengths) -> Lengths:
    first = next((n for n, extent in enumerate(shape) if extent != 1), len(shape))
    return shape[first:]


def _named(shapes: dict[str, Lengths], analysis: Analysis, names: Renamings) -> FormulaNames:
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


_RTOL, _ATOL = 1e-5, 1e-7


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of a trial: whether the print gave what ONNX says, and how it did not."""

    on: str
    status: Literal["same", "differs", "stops"]
    detail: str = ""


def attempt(
    source: Source, op: str, trial: PaperTrial, cases: Mapping[str, Case], library: Library
) -> TrialOutcome:
    """Run a printed program, and hold what it gives to what it should give."""
    on = trial.node or _values_text(trial)
    expected, rtol, atol = _expected(op, trial, cases, library)
    try:
        found = _run(source, trial, cases, library)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        return TrialOutcome(on, "stops", f"{first.code} {first.message}")
    problem = _difference(found, expected, trial.exact_shape, rtol, atol)
    return TrialOutcome(on, "same") if problem is None else TrialOutcome(on, "differs", problem)


def _values_text(trial: PaperTrial) -> str:
    pairs = {**trial.inputs, **trial.attrs}
    return ", ".join(f"{name} = {literal(value)}" for name, value in pairs.items())


def _expected(
    op: str, trial: PaperTrial, cases: Mapping[str, Case], library: Library
) -> tuple[Array, float, float]:
    if trial.node is not None:
        case = cases[trial.node]
        return _array(case.outputs[0], trial.node), case.rtol, case.atol
    arrays = {name: nested_array(_nested(value), name) for name, value in trial.operator_inputs.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    lowered = lower_instance(Instance(op, shapes, trial.operator_attrs, 1), library)
    return _only_output(lowered.program, arrays), _RTOL, _ATOL


def _nested(value: PlainValue) -> PlainValue:
    return tuple(map(_nested, value)) if isinstance(value, list | tuple) else value


def _run(source: Source, trial: PaperTrial, cases: Mapping[str, Case], library: Library) -> Array:
    lowered = lower_source(source, library, _given(source, trial, cases))
    ranks = {needed.name: len(needed.type[0].shape) for needed in lowered.program.inputs}
    arrays = {name: _laid_out(trial, cases, name, ranks.get(name)) for name in trial.inputs}
    return _only_output(lowered.program, arrays)


def _given(source: Source, trial: PaperTrial, cases: Mapping[str, Case]) -> dict[str, Argument]:
    """Give the values known while compiling: written in the trial, or attributes of the node."""
    written = {name: value for name, value in trial.attrs.items() if not isinstance(value, str)}
    given = arguments(parse(source), {}, written)
    for name, attribute in trial.attrs.items():
        if isinstance(attribute, str) and trial.node is not None:
            given[name] = attribute_values(cases[trial.node].node)[attribute]
    return given


def _laid_out(trial: PaperTrial, cases: Mapping[str, Case], name: str, rank: int | None) -> Array:
    """Give an input in the rank that the print has for it; a vector may be any ToL laid flat."""
    value = trial.inputs[name]
    if trial.node is not None and isinstance(value, int):
        array = _array(cases[trial.node].inputs[value], trial.node)
    else:
        array = nested_array(_nested(value), name)
    if name in trial.shapes:
        return array.reshape(tuple(trial.shapes[name]))
    return array.reshape(-1) if rank == 1 else array


def _array(item: object, name: str) -> Array:
    if item is None or isinstance(item, tuple):
        raise Rejected(Diagnostic("T0341", f"{name} has no single tensor there"))
    return item  # type: ignore[return-value]  # an item that is neither is an array


def _only_output(program: nodes.Program, arrays: Mapping[str, Array]) -> Array:
    used = {needed.name: arrays[needed.name] for needed in program.inputs if needed.name in arrays}
    value = next(iter(run_reference(program, used).outputs.values()))
    return value[0] if isinstance(value, tuple) else value


def _difference(found: Array, expected: Array, exact_shape: bool, rtol: float, atol: float) -> str | None:
    if found.size != expected.size:
        return f"{found.size} elements, not {expected.size}"
    if exact_shape and found.shape != expected.shape:
        return f"shape {list(found.shape)}, not {list(expected.shape)}"
    alike = found.reshape(expected.shape).astype(expected.dtype)
    return value_difference(alike, expected, rtol, atol)
