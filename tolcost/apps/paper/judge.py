"""Judge a row of the paper in three parts: its form, its value and its count.

Form: whether the printed program is accepted to the letter, under a reading that the paper's own words allow,
or not.  Value: its outputs on ONNX's node tests.  Count: whether the printed EOPs are those derived for the
printed program, for its correction, and for the definition that passes ONNX's tests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import Poly, const, length, to_text
from tolcost.apps.paper.readings import (
    AxisLengths,
    FormulaNames,
    IllFormed,
    PaperRow,
    ReadFormula,
    Renamings,
    RowNames,
    WrittenTrial,
    evaluate,
    read,
)
from tolcost.atoms import nodes
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.cases import Case, Item, arrays_in
from tolcost.catalogue.conformance import value_difference
from tolcost.catalogue.graph import met
from tolcost.catalogue.operand_types import types_of
from tolcost.catalogue.schemas import attribute_defaults, required_attributes
from tolcost.catalogue.specs import Library
from tolcost.catalogue.types import Array, static_value
from tolcost.cost import Analysis, FormRatio
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Argument
from tolcost.elaborate.inputs import PlainShapes, PlainValue, arguments
from tolcost.elaborate.values import Value, Vec
from tolcost.execute import run_reference
from tolcost.execute.inputs import nested_array
from tolcost.literals import literal_text
from tolcost.result.instances import (
    OperatorInstance,
    analyse_instance,
    analyse_source,
    lower_instance,
    lower_source,
)
from tolcost.result.judgement import judge_forms
from tolcost.syntax import parse, tree

FormVerdict: TypeAlias = Literal["as printed", "under a reading", "refused", "not ToLang"]

ValueVerdict: TypeAlias = Literal[
    "right on all", "right on some", "wrong", "stops", "no test fits", "not run"
]


class CountCheck(Struct, frozen=True):
    """A derived count compared with the printed one."""

    equal: bool
    derived: Poly
    printed: Poly

    @property
    def by(self) -> str:
        """The difference, derived less printed; empty if the counts are equal."""
        if self.equal:
            return ""
        gap = self.derived - self.printed
        return to_text(gap)

    @property
    def ratio(self) -> FormRatio | None:
        """The derived count over the printed one."""
        return None if self.printed == 0 else FormRatio(self.derived, self.printed)


class PrintedProgram(Struct, frozen=True):
    """The outcome for the printed program; ``source`` is the accepted text, ``problems`` those of the print.

    ``under_reading`` has the remaining problems of the reading, if there is one and it is refused.
    """

    analysis: Analysis | None
    source: Source | None = None
    problems: tuple[Diagnostic, ...] = ()
    under_reading: tuple[Diagnostic, ...] = ()


class Judged(Struct, frozen=True, eq=False):
    """The whole judgement of a row."""

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
        """Whether the printed program is accepted, and in which form."""
        if self.program.source is not None:
            return "as printed" if self.program.source is self.row.printed else "under a reading"
        return "not ToLang" if self.row.printed is None and self.row.reading is None else "refused"

    @property
    def value(self) -> ValueVerdict:
        """Whether the printed program is right on the node tests that its signature admits."""
        if self.program.source is None:
            return "not run"
        return _value(self.trials.on_tests)

    @property
    def holds_up(self) -> bool:
        """Whether the program is accepted, right on every test, and costs what is printed."""
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
    """Judge a row; ``cases`` are all node tests of its operator."""
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
    return CountCheck(judge_forms(printed, derived).relation == "same", derived, printed)


def _held_to_definition(row: PaperRow, verified: Analysis) -> CountCheck | None:
    try:
        meaning = meaning_for_definition(row, verified)
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
    source: Source | None, shapes: PlainShapes, library: Library
) -> tuple[Analysis | None, tuple[Diagnostic, ...]]:
    if source is None:
        return None, ()
    try:
        return analyse_source(source, library, shapes), ()
    except Rejected as rejected:
        return None, rejected.diagnostics


# ---- meanings of the names in a formula --------------------------------------------------


def meaning_of(
    analysis: Analysis, names: Renamings, at: Mapping[str, int] = MappingProxyType({})
) -> FormulaNames:
    """Return the inputs and symbols of a program under the names of the paper's signature.

    ``at`` gives numbers to names that the program has no symbol for.
    """
    shapes: dict[str, AxisLengths] = {t.name: t.type[0].shape for t in analysis.inputs}
    outputs = [t.type[0].shape for t in analysis.outputs]
    shapes.setdefault("t", shapes.get("in", outputs[0] if outputs else ()))
    meaning = _named(shapes, analysis, names)
    return FormulaNames(meaning.shapes, {**{name: const(n) for name, n in at.items()}, **meaning.numbers})


def meaning_for_definition(row: PaperRow, verified: Analysis) -> FormulaNames:
    """Return the meaning of names for the definition in specs/onnx, without the leading lengths of 1.

    The paper leaves these lengths out.
    """
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


# === The node tests that a row of the paper is checked against, and their outcomes.
#
# None is chosen by hand.  A row maps its names to inputs and attributes of the operator
# (``given`` in ``specs/paper/readings.toml``); every node test that gives the operator nothing else is
# run, and the others are listed with the argument for which the signature has no place.


_RTOL, _ATOL = 1e-5, 1e-7

CaseInput: TypeAlias = Array | tuple[Array, ...]
Outcome: TypeAlias = Literal["same", "differs", "stops"]


class TrialOutcome(Struct, frozen=True):
    """The outcome of a trial: whether the print gave ONNX's result, and the difference."""

    on: str
    status: Outcome
    detail: str = ""


class Trials(Struct, frozen=True, eq=False):
    """The trials of a row: on ONNX's node tests, and on our values beyond them."""

    on_tests: tuple[TrialOutcome, ...]
    not_admitted: Mapping[str, str]
    beyond: tuple[TrialOutcome, ...]


class _Trial(Struct, frozen=True, eq=False):
    """The inputs of the print, the expected output, and whether its exact shape is required."""

    on: str
    arrays: Mapping[str, CaseInput]
    known: Mapping[str, Value]
    expected: Array
    rtol: float = _RTOL
    atol: float = _ATOL
    exact_shape: bool = True


def hold_to_tests(row: PaperRow, source: Source, cases: Sequence[Case], library: Library) -> Trials:
    """Run a printed program on every node test that its signature admits, and on values beyond them."""
    outcomes: list[TrialOutcome] = []
    refused: dict[str, str] = {}
    for case in cases:
        reason = row.given.admits_none or _no_place(case, row.given)
        if reason is not None:
            refused[case.name] = reason
            continue
        outcomes.append(_attempt(source, _trial_of(case, row.given), library))
    beyond = (_attempt(source, _written(row.operator, trial, library), library) for trial in row.beyond)
    return Trials(tuple(outcomes), refused, tuple(beyond))


# ---- tests that the signature admits -----------------------------------------------------


def _no_place(case: Case, given: RowNames) -> str | None:
    """Describe an argument that only the node test or only the row's signature has; None if there is none."""
    items = _items(case)
    bound = given.formals
    defaults = attribute_defaults(case.node, case.opset)
    for name, item in items.items():
        if name not in bound and not _is_default(item, given.fixed.get(name)):
            return f"no place for {name}"
        if any(array.dtype.kind in "OUS" for array in arrays_in(item)):
            return "text is no number"
    # a required attribute refuses nothing: the row is run, whatever it makes of it
    free = bound | set(given.ignored) | required_attributes(case.node, case.opset)
    for name, value in attribute_values(case.node).items():
        if name not in free and value != defaults.get(name):
            return f"no place for {name}"
    missing = given.needed - items.keys() - attribute_values(case.node).keys() - defaults.keys()
    if missing:
        return f"{min(missing)} is left out"
    if _single(case.outputs[0]) is None or any(isinstance(item, tuple) for item in case.inputs):
        return "a sequence is no ToL"
    return None


def _single(item: Item) -> Array | None:
    return None if isinstance(item, tuple) else item


def _is_default(item: Item, fixed: float | None) -> bool:
    array = _single(item)
    return fixed is not None and array is not None and bool((array == fixed).all())


def _items(case: Case) -> dict[str, Item]:
    """Return the inputs of a case by the names of the schema; those of a variadic one together."""
    found: dict[str, Item] = {}
    types = types_of(case.node.op, case.node.domain, case.opset)
    declared = () if types is None else met(types.inputs, len(case.inputs))
    for (name, _, _, variadic, _), item in zip(declared, case.inputs, strict=False):
        if item is not None:
            found[name] = (*arrays_in(found.get(name)), *arrays_in(item)) if variadic else item
    return found


# ---- inputs of the print -----------------------------------------------------------------


def _trial_of(case: Case, given: RowNames) -> _Trial:
    items = _items(case)
    values = {**attribute_defaults(case.node, case.opset), **attribute_values(case.node)}
    expected = next(iter(arrays_in(case.outputs[0])))
    arrays: dict[str, CaseInput] = {}
    known: dict[str, Value] = {}
    for name, formal in given.names.items():
        item = items.get(formal)
        if item is not None:
            arrays[name] = item
        elif formal in values:
            known[name] = values[formal]
    if given.folds is not None:
        axes = _axes(items.get(given.folds), values.get(given.folds))
        single = {name: array for name, array in arrays.items() if not isinstance(array, tuple)}
        like_input = any(expected.shape == array.shape for array in single.values())
        arrays = {name: _folded(array, axes) for name, array in single.items()}
        expected = _folded(expected, axes) if like_input else expected
    known |= _lengths(given, items, arrays, known, expected)
    exact = given.folds is None and not given.ignored
    return _Trial(case.name, arrays, known, expected, case.rtol, case.atol, exact)


def _axes(item: Item, value: Value | None) -> tuple[int, ...] | None:
    """Return the axes that an input or attribute names, counted from 0; None for all of them."""
    array = _single(item)
    if array is not None:
        return tuple(int(axis) for axis in array.reshape(-1))
    if value is None:
        return None
    entries = value.items if isinstance(value, Vec) else (value,)
    return tuple(
        entry.constant for entry in entries if isinstance(entry, Poly) and entry.constant is not None
    )


def _folded(array: Array, axes: tuple[int, ...] | None) -> Array:
    """Arrange an array as the print has it: kept axes first, then folded ones, then a length of 1."""
    chosen = {axis % array.ndim for axis in axes} if axes else set(range(array.ndim))
    kept = [axis for axis in range(array.ndim) if axis not in chosen]
    order = [*kept, *sorted(chosen)]
    first = math.prod(array.shape[axis] for axis in kept)
    rest = math.prod(array.shape[axis] for axis in chosen)
    return array.transpose(order).reshape(first, rest, 1)


def _lengths(
    given: RowNames,
    items: Mapping[str, Item],
    arrays: Mapping[str, CaseInput],
    known: Mapping[str, Value],
    expected: Array,
) -> dict[str, Value]:
    """Compute numbers of the signature that ONNX leaves to shapes, by the formulas of the row."""
    named = {**items, **arrays, "result": expected}
    shapes = {
        name: tuple(map(const, array.shape))
        for name, item in named.items()
        if (array := _single(item)) is not None
    }
    numbers = {name: value for name, value in known.items() if isinstance(value, Poly)}
    return {name: evaluate(formula, FormulaNames(shapes, numbers)) for name, formula in given.lengths.items()}


def _written(op: str, trial: WrittenTrial, library: Library) -> _Trial:
    """Make a trial on values written in the row, with the result of the operator's definition."""
    arrays = {name: nested_array(_nested(value), name) for name, value in trial.operator_inputs.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    lowered = lower_instance(OperatorInstance(op, shapes, trial.operator_attrs, 1), library)
    expected = _only_output(lowered.program, arrays)
    given = {name: nested_array(_nested(value), name) for name, value in trial.inputs.items()}
    known = {name: static_value(nested_array(_nested(value), name)) for name, value in trial.attrs.items()}
    shown = ", ".join(
        f"{name} = {literal_text(value)}" for name, value in {**trial.inputs, **trial.attrs}.items()
    )
    return _Trial(shown, given, known, expected, exact_shape=False)


def _nested(value: PlainValue) -> PlainValue:
    return tuple(map(_nested, value)) if isinstance(value, list | tuple) else value


# ---- running ---------------------------------------------------------------------------------


def _attempt(source: Source, trial: _Trial, library: Library) -> TrialOutcome:
    """Run a printed program, and compare its result with the expected one."""
    try:
        found = _run(source, trial, library)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        return TrialOutcome(trial.on, "stops", f"{first.code} {first.message}")
    problem = _difference(found, trial)
    return TrialOutcome(trial.on, "same") if problem is None else TrialOutcome(trial.on, "differs", problem)


def _run(source: Source, trial: _Trial, library: Library) -> Array:
    source = any_rank(source)
    program = parse(source)
    declared = {s.name: s for s in program.statements if isinstance(s, tree.InputDecl)}
    given: dict[str, Argument] = {}
    arrays: dict[str, Array] = {}
    for name, item in trial.arrays.items():
        if isinstance(item, tuple):
            given |= arguments(program, {name: [list(one.shape) for one in item]}, {})
            arrays |= {f"{name}.{n}": one for n, one in enumerate(item, 1)}
        elif declared[name].kind != "tol":
            given[name] = static_value(item)
        else:
            given |= arguments(program, {name: list(item.shape)}, {})
            arrays[name] = item
    lowered = lower_source(source, library, {**given, **trial.known})
    return _only_output(lowered.program, arrays)


def any_rank(source: Source) -> Source:
    """Let the inputs that a print does not declare itself take the ranks of their arguments.

    >>> any_rank(Source("a", "tol t: R [n, m]")).text
    'tol t: R [...]'
    """
    lines = source.text.splitlines()
    body = "\n".join(line for line in lines if not line.startswith(("tol ", "attr ", "#")))
    used = set(re.findall(r"[a-z]\w*", body))

    def freed(line: str) -> str:
        found = re.fullmatch(r"((?:tol|attr) \w+: \w+)(?: \[([^]]*)\])?", line)
        if found is None or used & set(re.findall(r"[a-z]\w*", found[2] or "")):
            return line
        return f"{found[1]} [...]"

    return Source(source.name, "\n".join(map(freed, lines)))


def _only_output(program: nodes.Program, arrays: Mapping[str, Array]) -> Array:
    used = {needed.name: arrays[needed.name] for needed in program.inputs if needed.name in arrays}
    value = next(iter(run_reference(program, used).outputs.values()))
    return value[0] if isinstance(value, tuple) else value


def _difference(found: Array, trial: _Trial) -> str | None:
    expected = trial.expected
    if found.size != expected.size:
        return f"{found.size} elements, not {expected.size}"
    if trial.exact_shape and found.shape != expected.shape:
        return f"shape {list(found.shape)}, not {list(expected.shape)}"
    alike = found.reshape(expected.shape).astype(expected.dtype)
    problem = value_difference(alike, expected, trial.rtol, trial.atol)
    # the last digits depend on the processor, and the number of differing values does not
    return None if problem is None else problem.partition(", first")[0]
