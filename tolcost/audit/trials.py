"""The node tests that a row of the paper is held to, and what came of each.

None is chosen by hand.  A row says which of its names stands for which input or attribute of the operator
(``given`` in ``specs/paper/readings.toml``); every node test that gives the operator nothing besides is
tried, and the others are told with what the signature has no place for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from tolcost.algebra import Poly, const
from tolcost.atoms import nodes
from tolcost.audit.instances import OperatorInstance, literal, lower_instance, lower_source
from tolcost.audit.printed import FormulaNames, evaluate
from tolcost.audit.readings import PaperRow, RowNames, WrittenTrial
from tolcost.catalogue.binding import attribute_values
from tolcost.catalogue.cases import Case, Item, arrays_in
from tolcost.catalogue.conformance import value_difference
from tolcost.catalogue.graph import met
from tolcost.catalogue.operand_types import types_of
from tolcost.catalogue.schemas import attribute_defaults, required_attributes
from tolcost.catalogue.specs import Library
from tolcost.catalogue.types import Array, static_value
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import Argument
from tolcost.elaborate.inputs import PlainValue, arguments
from tolcost.elaborate.values import Value, Vec
from tolcost.execute import run_reference
from tolcost.execute.inputs import nested_array
from tolcost.syntax import parse, tree

_RTOL, _ATOL = 1e-5, 1e-7

CaseInput: TypeAlias = Array | tuple[Array, ...]
Outcome: TypeAlias = Literal["same", "differs", "stops"]


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of a trial: whether the print gave what ONNX says, and how it did not."""

    on: str
    status: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What a row was tried on: ONNX's node tests, and values of ours beyond them."""

    on_tests: tuple[TrialOutcome, ...]
    not_admitted: Mapping[str, str]
    beyond: tuple[TrialOutcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """What the print is given, what must come out, and whether its very shape must."""

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


# ---- which tests the signature admits ----------------------------------------------------


def _no_place(case: Case, given: RowNames) -> str | None:
    """What a node test gives or lacks that the row's signature does not have; None where it is admitted."""
    items = _items(case)
    bound = given.formals
    defaults = attribute_defaults(case.node, case.opset)
    for name, item in items.items():
        if name not in bound and not _is_default(item, given.fixed.get(name)):
            return f"no place for {name}"
        if any(array.dtype.kind in "OUS" for array in arrays_in(item)):
            return "text is no number"
    # an attribute that no node can leave out refuses nothing: the row is run, whatever it makes of it
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
    """The inputs of a case by the names of the schema; those of a variadic one together."""
    found: dict[str, Item] = {}
    types = types_of(case.node.op, case.node.domain, case.opset)
    declared = () if types is None else met(types.inputs, len(case.inputs))
    for (name, _, _, variadic, _), item in zip(declared, case.inputs, strict=False):
        if item is not None:
            found[name] = (*arrays_in(found.get(name)), *arrays_in(item)) if variadic else item
    return found


# ---- what the print is given -------------------------------------------------------------


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
    """The axes that an input or attribute names, counted from 0; None for all of them."""
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
    """An array as the print has it: what is kept first, then what is folded, then a length of 1."""
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
    """Numbers that the signature has and ONNX leaves to shapes, by the formulas of the row."""
    named = {**items, **arrays, "result": expected}
    shapes = {
        name: tuple(map(const, array.shape))
        for name, item in named.items()
        if (array := _single(item)) is not None
    }
    numbers = {name: value for name, value in known.items() if isinstance(value, Poly)}
    return {name: evaluate(formula, FormulaNames(shapes, numbers)) for name, formula in given.lengths.items()}


def _written(op: str, trial: WrittenTrial, library: Library) -> _Trial:
    """A trial on values written in the row, with what the operator's definition gives for them."""
    arrays = {name: nested_array(_nested(value), name) for name, value in trial.operator_inputs.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    lowered = lower_instance(OperatorInstance(op, shapes, trial.operator_attrs, 1), library)
    expected = _only_output(lowered.program, arrays)
    given = {name: nested_array(_nested(value), name) for name, value in trial.inputs.items()}
    known = {name: static_value(nested_array(_nested(value), name)) for name, value in trial.attrs.items()}
    shown = ", ".join(f"{name} = {literal(value)}" for name, value in {**trial.inputs, **trial.attrs}.items())
    return _Trial(shown, given, known, expected, exact_shape=False)


def _nested(value: PlainValue) -> PlainValue:
    return tuple(map(_nested, value)) if isinstance(value, list | tuple) else value


# ---- running ---------------------------------------------------------------------------------


def _attempt(source: Source, trial: _Trial, library: Library) -> TrialOutcome:
    """Run a printed program, and hold what it gives to what it should give."""
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
    """A print whose inputs, which it does not declare itself, take the ranks of what they are given.

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
    # the last digits of a value depend on the processor, and how many values differ does not
    return None if problem is None else problem.partition(", first")[0]
