"""Check a definition against one of ONNX's node tests: its values, its shapes, and its count.

The closed form is derived first, with symbols for lengths, and only then evaluated at the lengths of the
case.  The run that computes the values also counts.  If it is short enough, the reference interpreter repeats
both; if it is shorter still, so does the program unrolled into nothing but the five atoms.
"""

from __future__ import annotations

import math
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import ZERO, AlgebraBudget, Poly, evaluate, to_text
from tolcost.atoms.lengths import decided_by_data
from tolcost.catalogue.binding import places
from tolcost.catalogue.cases import (
    Case,
    Derived,
    Item,
    StoredValue,
    arrays_by_name,
    derive,
    load_cases,
    recorded_cases,
    settings,
)
from tolcost.catalogue.schemas import onnx_version
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.catalogue.types import Array
from tolcost.catalogue.workers import WorkProgress, gathered
from tolcost.cost import Counts
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, place, quoted, refuse, render_all
from tolcost.elaborate.faults import Outside
from tolcost.elaborate.values import Missing, Seq, Value
from tolcost.execute import Execution, RunCounts, meet, run_reference, run_unrolled, run_vectorised
from tolcost.platform import with_deep_stack

Difference: TypeAlias = Callable[[Array, Array], str | None]

_BFLOAT16_RTOL = 2.0**-6
"""Neighbouring numbers of bfloat16 differ by up to 2**-7, and rounding may differ by two of them."""
_EXACT_KINDS = "biuOUST"
_CHANCE_DISTANCE = 2.7
"""Kolmogorov-Smirnov threshold: two samples of one distribution exceed it once in a million."""


def shape_difference(ours: Item, theirs: Item) -> str | None:
    """Describe the difference of two results' shapes; None if there is none."""
    return _each(ours, theirs, _shapes)


def value_difference(ours: Item, theirs: Item, rtol: float, atol: float) -> str | None:
    """Describe the difference of two results in type or value; None if there is none."""
    return _each(ours, theirs, lambda a, b: _types(a, b) or _values(a, b, rtol, atol))


def distribution_difference(ours: Item, theirs: Item) -> str | None:
    """Describe the difference of two random results in type or distribution; None if there is none."""
    return _each(ours, theirs, lambda a, b: _types(a, b) or _distributions(a, b))


def _each(ours: Item, theirs: Item, difference: Difference) -> str | None:
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
            return "one is a sequence and the other is not"
        if len(ours) != len(theirs):
            return f"a sequence of {len(ours)}, not of {len(theirs)}"
        return next(filter(None, map(difference, ours, theirs)), None)
    if ours is None or theirs is None:
        return None if ours is theirs else "one of them is missing"
    return difference(ours, theirs)


def _shapes(ours: Array, theirs: Array) -> str | None:
    return None if ours.shape == theirs.shape else f"shape {list(ours.shape)}, not {list(theirs.shape)}"


def _types(ours: Array, theirs: Array) -> str | None:
    if ours.dtype.kind in "OUST" and theirs.dtype.kind in "OUST":
        return None
    return None if ours.dtype == theirs.dtype else f"element type {ours.dtype.name}, not {theirs.dtype.name}"


def _values(ours: Array, theirs: Array, rtol: float, atol: float) -> str | None:
    if ours.shape != theirs.shape:
        return "the shapes differ"
    equal = np.asarray(ours == theirs)
    if equal.all():
        return None
    if theirs.dtype.kind not in _EXACT_KINDS and not theirs.dtype.name.startswith(("int", "uint")):
        equal = _close(ours, theirs, rtol, atol)
    if equal.all():
        return None
    wrong = np.argwhere(~equal)
    at = tuple(wrong[0].tolist())
    return f"{len(wrong)} of {equal.size} elements differ, first {list(at)}: {ours[at]}, not {theirs[at]}"


def _close(ours: Array, theirs: Array, rtol: float, atol: float) -> Array:
    if theirs.dtype.name == "bfloat16":
        rtol = max(rtol, _BFLOAT16_RTOL)
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return np.isclose(ours.astype(wide), theirs.astype(wide), rtol=rtol, atol=atol, equal_nan=True)


def _distributions(ours: Array, theirs: Array) -> str | None:
    """Compare the Kolmogorov-Smirnov distance of two samples with the distance that chance allows."""
    a, b = np.sort(ours.astype(np.float64).ravel()), np.sort(theirs.astype(np.float64).ravel())
    if not (a.size and b.size):
        return None
    every = np.concatenate([a, b])
    steps = np.searchsorted(a, every, "right") / a.size - np.searchsorted(b, every, "right") / b.size
    distance = float(np.abs(steps).max())
    allowed = _CHANCE_DISTANCE * math.sqrt((a.size + b.size) / (a.size * b.size))
    if distance <= allowed:
        return None
    return f"the distributions differ by {distance:.3f}, chance allows {allowed:.3f}"


K = TypeVar("K", bound=tuple[str, ...])
T = TypeVar("T")
Status = Literal["pass", "fail", "crash", "outside"]
FAILED: Final = ("fail", "crash")
"""The statuses of cases that did not pass, by a wrong result or by a defect of tolcost itself."""

SHORT_RUN, LONG_RUN = 5_000, 2_000_000
"""Elementary steps up to which the reference interpreter repeats a run: usually, and with ``thorough``."""

FEW_ATOMS = 200
"""Atoms up to which programs are run atom by atom, unless the caller sets another limit."""

_STEPS_PER_ATOM = 10
"""Unrolling also takes steps for coordinates and static values, which are not counted as atoms."""


class Result(Struct, frozen=True):
    """The result of a case.  ``concrete`` names lengths that could not be symbols.

    ``cause`` is one line; ``detail`` explains it to the author of the definition.  ``eops`` and ``macs`` are
    closed forms, ``certainty`` is whether they are exact, ``functions`` are those applied to data; ``since``,
    the version of the definition, ``shapes`` and ``values`` state the inputs of the forms.  These fields are
    filled on request.

    ``unrolled`` is the number of atoms of each kind that were run one by one, if they were, and ``decided``
    names the data-dependent parts of the program.
    """

    name: str
    op: str
    status: Status
    value: bool | None = None
    shape: bool | None = None
    count: bool | None = None
    cause: str | None = None
    concrete: tuple[str, ...] = ()
    eops: str | None = None
    macs: str | None = None
    certainty: str | None = None
    functions: tuple[str, ...] = ()
    unrolled: Mapping[str, int] | None = None
    decided: tuple[str, ...] = ()
    since: int | None = None
    shapes: Mapping[str, StoredValue] = field(default_factory=dict)
    values: Mapping[str, StoredValue] = field(default_factory=dict)
    detail: str | None = None


def check(
    case: Case,
    library: Library,
    thorough: bool = False,
    other: Spec | None = None,
    atoms: int = FEW_ATOMS,
    recorded: bool = True,
) -> Result:
    """Check the definition of a case's operator, or ``other``, against the case.

    Programs of at most ``atoms`` atoms are also run atom by atom.  ``recorded`` adds closed forms to the
    result.
    """
    op = case.node.op
    reason = library.outside(case.node.domain).get(op)
    if reason is not None:
        return Result(case.name, op, "outside", cause=reason)
    try:
        spec = other or library.find(case.node.domain, op, case.opset)
        if spec is None:
            return Result(case.name, op, "fail", cause=f"{op} has no definition for opset {case.opset}")
        return _check_case(case, spec, library, LONG_RUN if thorough else SHORT_RUN, atoms, recorded)
    except Outside as outside:
        return Result(case.name, op, "outside", cause=outside.diagnostics[0].message)
    except Rejected as error:
        return Result(case.name, op, "fail", cause=_one_line(error), detail=render_all(error.diagnostics))
    except Exception as error:  # a defect of ours must not end the whole suite, and must not pass
        cause = f"internal error: {type(error).__name__}: {error}"[:300]
        return Result(case.name, op, "crash", cause=cause, detail=traceback.format_exc(limit=-12))


def _check_case(
    case: Case, spec: Spec, library: Library, repeated: int, atoms: int, recorded: bool
) -> Result:
    derived = derive(case, spec, library)
    arrays = arrays_by_name(case, spec)
    program = derived.lowered.program
    used = meet(program, {needed.name: arrays[needed.name] for needed in program.inputs})
    execution = run_vectorised(program, used)
    shape = _shape_problem(case, derived, execution)
    value = _value_problem(case, derived, execution)
    counted = count_difference(derived.counts, execution)
    if counted is None and value is None and _steps(execution.counts) <= repeated:
        counted = _reference_problem(execution, run_reference(program, used))
    short = counted is None and value is None and _steps(execution.counts) <= atoms
    unrolled = run_unrolled(program, used, max_atoms=_STEPS_PER_ATOM * atoms) if short else None
    if unrolled is not None:
        value = _value_problem(case, derived, unrolled)
        counted = count_difference(derived.counts, unrolled)
    problems = [problem for problem in (shape, value, counted) if problem is not None]
    found = Result(
        name=case.name,
        op=case.node.op,
        status="fail" if problems else "pass",
        value=value is None,
        shape=shape is None,
        count=counted is None,
        cause="; ".join(problems) or None,
        concrete=derived.concrete,
        certainty=derived.counts.status,
        unrolled=None if unrolled is None else unrolled.counts.atoms,
    )
    return _add_forms(found, case, derived) if recorded else found


def _add_forms(result: Result, case: Case, derived: Derived) -> Result:
    """Add closed forms as text, and the inputs they are for, to a result."""
    counts = derived.counts
    shapes, values = settings(case, derived.spec, derived.concrete)
    return replace(
        result,
        eops=to_text(counts.eops),
        macs=to_text(counts.macs),
        functions=tuple(sorted({function for function, _ in counts.histogram})),
        since=derived.spec.since,
        shapes=shapes,
        values=values,
        decided=() if result.unrolled is None else decided_by_data(derived.lowered.program),
    )


# ---- values and shapes -------------------------------------------------------------------


def results(derived: Derived, execution: Execution) -> tuple[Item, ...]:
    """Return the outputs of a node: tensors, sequences, or None."""
    return tuple(_result(title, value, execution) for title, value in places(derived.lowered, derived.spec))


def _result(name: str, value: Value, execution: Execution) -> Item:
    """Return one output of a node."""
    match value:
        case Seq(items=items):
            names = (f"{name}.{n}" for n in range(1, len(items) + 1))
            return tuple(np.asarray(execution.outputs[entry]) for entry in names)
        case Missing():
            return None
        case str():
            return np.array(value, np.object_)
        case _:
            return np.asarray(execution.outputs[name])


def _shape_problem(case: Case, derived: Derived, execution: Execution) -> str | None:
    ours = results(derived, execution)
    if len(ours) < len(case.outputs):
        return f"{len(ours)} outputs, not {len(case.outputs)}"
    for n, (mine, theirs) in enumerate(zip(ours, case.outputs, strict=False), start=1):
        problem = shape_difference(mine, theirs) if case.node.outputs[n - 1] else None
        if problem is not None:
            return f"output {n}: {problem}"
    return _form_problem(derived, execution)


def _form_problem(derived: Derived, execution: Execution) -> str | None:
    """Describe a shape whose closed form differs from the shape of the run."""
    for output in derived.lowered.program.outputs:
        forms = output.node.type[0].shape
        said = tuple(evaluate(form, execution.bindings) for form in forms)
        actual = np.asarray(execution.outputs[output.name]).shape
        if said != actual:
            texts = ", ".join(map(to_text, forms))
            return f"the shape of {output.name} is {list(actual)}, but its form [{texts}] says {list(said)}"
    return None


def _value_problem(case: Case, derived: Derived, execution: Execution) -> str | None:
    random = any(function == "rand" for function, _ in execution.counts.histogram)
    for n, (mine, theirs) in enumerate(zip(results(derived, execution), case.outputs, strict=False), start=1):
        if not case.node.outputs[n - 1]:
            continue
        if random:
            problem = distribution_difference(mine, theirs)
        else:
            problem = value_difference(mine, theirs, case.rtol, case.atol)
        if problem is not None:
            return f"output {n}: {problem}"
    return None


# ---- counts ------------------------------------------------------------------------------


def count_difference(closed: Counts, execution: Execution) -> str | None:
    """Describe a count of the run that differs from the closed form (or exceeds an upper bound)."""
    executed = execution.counts
    bound = closed.status == "upper bound"
    return (
        _count_problem("", closed.histogram, executed.histogram, execution, bound)
        or _count_problem("index ", closed.index, executed.index, execution, bound)
        or _count_problem("atom ", _keyed(closed.atoms), _keyed(executed.atoms), execution, bound)
    )


def _keyed(table: Mapping[str, T]) -> dict[tuple[str, ...], T]:
    return {(name,): value for name, value in table.items()}


def _count_problem(
    kind: str,
    forms: Mapping[K, Poly],
    numbers: Mapping[K, int],
    execution: Execution,
    bound: bool,
) -> str | None:
    for key in sorted(forms.keys() | numbers.keys()):
        form, ran = forms.get(key, ZERO), numbers.get(key, 0)
        what = f"{kind}{':'.join(key)}"
        try:
            said = evaluate(form, execution.bindings)
        except AlgebraBudget as error:
            return f"{what}: its closed form cannot be evaluated: {error}"
        if said != ran and not (bound and said > ran):
            return f"{what}: {ran} executed, but the closed form {to_text(form)[:200]} is {said}"
    return None


def _steps(counts: RunCounts) -> int:
    return sum(counts.atoms.values()) + sum(counts.index.values())


def _reference_problem(fast: Execution, plain: Execution) -> str | None:
    """Describe the difference between the two interpreters; None if there is none."""
    for what in ("histogram", "index", "atoms"):
        a, b = getattr(fast.counts, what), getattr(plain.counts, what)
        if a != b:
            return f"the interpreters count differently ({what}): {a} and {b}"[:400]
    for name, ours in fast.outputs.items():
        problem = value_difference(np.asarray(ours), np.asarray(plain.outputs[name]), 1e-3, 1e-7)
        if problem is not None and not any(f == "rand" for f, _ in fast.counts.histogram):
            return f"the interpreters give different values of {name}: {problem}"
    return None


# ---- messages ----------------------------------------------------------------------------


def _one_line(error: Rejected) -> str:
    first = error.diagnostics[0]
    where = ""
    if first.span is not NOWHERE:
        spot = place(first.span)
        snippet = " ".join(first.span.text.split())[:60]
        where = f" ({first.span.source.name}:{spot.line}:{spot.column} `{snippet}`)"
    return f"{first.code} {first.message}{where}"


# === Running ONNX's node tests, and recorded cases of other domains: the results.
#
# The whole suite, or the cases of given operators, over all cores.


SECONDS_PER_CASE = 120.0
"""The time limit for one test, after which it counts as failed."""


class Report(Struct, frozen=True):
    """The results of a run, in the order of the suite; ``domain`` if its recorded cases were requested."""

    onnx: str
    results: tuple[Result, ...]
    domain: str | None = None

    @property
    def failures(self) -> tuple[Result, ...]:
        """The cases that did not pass, except those outside the model."""
        return tuple(r for r in self.results if r.status in FAILED)

    def of(self, op: str) -> tuple[Result, ...]:
        """Return the results of one operator."""
        return tuple(r for r in self.results if r.op == op)

    def figures(self) -> dict[str, int]:
        """Count the cases by status, and those with lengths that had to be numbers."""
        found = Counter(r.status for r in self.results)
        concrete = sum(bool(r.concrete) for r in self.results)
        return {
            "cases": len(self.results),
            "pass": found["pass"],
            "fail": sum(found[status] for status in FAILED),
            "outside": found["outside"],
            "concrete": concrete,
        }


def verify(
    names: Iterable[str] = (),
    jobs: int | None = None,
    progress: WorkProgress | None = None,
    specs: Sequence[str | Path] = (),
    thorough: bool = False,
    domain: str | None = None,
    atoms: int = FEW_ATOMS,
    recorded: bool = False,
) -> Report:
    """Check definitions against ONNX's node tests: all, or those of given operators or case names.

    Operators of a domain that onnx does not know are checked against recorded cases: if they are named, or
    all cases of ``domain``.  The reference interpreter repeats short runs; if ``thorough``, long runs, too.
    Programs of at most ``atoms`` atoms are also run atom by atom.  ``recorded`` adds closed forms as text to
    the results.
    """
    wanted = tuple(names)
    library = open_library(specs)
    cases = _cases(wanted, domain, library)
    nodes = {(case.node.domain or "ai.onnx", case.node.op) for case in cases}
    named = {name for domain, op in nodes for name in (op, f"{domain}.{op}")}
    _all_known(wanted, named | {case.name for case in cases}, library)

    def lost(n: int, why: str) -> Result:
        return Result(cases[n].name, cases[n].node.op, "fail", cause=why)

    def work(n: int) -> Result:
        return check(cases[n], library, thorough, atoms=atoms, recorded=recorded)

    with_deep_stack(lambda: _read_before(cases, library))
    results = gathered(work, [case.name for case in cases], lost, jobs, SECONDS_PER_CASE, progress)
    return Report(onnx_version(), results, domain)


def _cases(wanted: tuple[str, ...], domain: str | None, library: Library) -> tuple[Case, ...]:
    """Return ONNX's own cases, unless a domain is given, and recorded cases if anything was requested."""
    own = load_cases(wanted) if domain is None else ()
    asked = wanted or domain is not None
    found = (*own, *recorded_cases(library, domain, wanted)) if asked else own
    if domain is not None and not wanted and not found:
        others = (one for one in sorted(library.domains()) if one and recorded_cases(library, one, ()))
        hint = f"there are some of {', '.join(map(quoted, others))}"
        refuse("T0660", f"no cases of the domain {quoted(domain)} are recorded", hint=hint)
    return found


def _read_before(cases: Sequence[Case], library: Library) -> None:
    """Read definitions before the work is distributed, so that processes share them."""
    for case in cases:
        with suppress(Exception):  # errors are reported where the case is checked
            spec = library.find(case.node.domain, case.node.op, case.opset)
            _ = None if spec is None else spec.program


def _all_known(wanted: Sequence[str], found: set[str], library: Library) -> None:
    every = [(domain, name) for domain in library.domains() for name in library.names(domain)]
    defined = {known for domain, name in every for known in (name, f"{domain or 'ai.onnx'}.{name}")}
    unknown = [name for name in wanted if name not in found and name not in defined]
    if unknown:
        raise Rejected(*(Diagnostic("T0660", f"onnx has no test of {quoted(name)}") for name in unknown))


def as_record(report: Report) -> dict[str, object]:
    """Return a report with recorded results as plain data for JSON."""
    kept = [name for name in Result.__struct_fields__ if name != "detail"]
    return {
        "tolcost": 1,
        "kind": "verify",
        "onnx": report.onnx,
        "summary": report.figures(),
        "cases": [{key: getattr(r, key) for key in kept} for r in report.results],
    }
