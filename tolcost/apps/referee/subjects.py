"""The subject of a formula: an operator at some shapes, or a program, such as that of a model family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from msgspec import Struct, field

from tolcost.algebra import evaluate
from tolcost.algebra.parse import parse_text
from tolcost.atoms.kit import schedules
from tolcost.atoms.lengths import lengths_of
from tolcost.atoms.nodes import Node, Program, Type
from tolcost.catalogue.listing import read_library
from tolcost.catalogue.specs import Library
from tolcost.cost.macs import accumulated_products
from tolcost.cost.traffic import bits_of
from tolcost.diagnostics import Rejected, Source, refuse
from tolcost.elaborate.inputs import PlainShapes, PlainValue, arguments
from tolcost.execute import run_reference
from tolcost.execute.inputs import plain_arrays
from tolcost.execute.values import OutputValue, RunCounts
from tolcost.gradient import GradientRequest, derivative
from tolcost.result.instances import (
    OperatorInstance,
    command_of,
    lower_instance,
    lower_source,
    spec_of,
)
from tolcost.syntax import parse, read_source
from tolcost.syntax.tree import Ellipsis as Ellipsis_


class ModelProgram(Struct, frozen=True):
    """A program with the inputs given to it: ``families/llama`` of a library, or a file ``mine.tol``.

    ``text`` is the program itself if a formula brings its own definition.
    """

    path: str
    shapes: PlainShapes = field(default_factory=dict)
    attrs: Mapping[str, PlainValue] = field(default_factory=dict)
    text: str = ""

    @property
    def file(self) -> str:
        """The file of the program."""
        return self.path if self.path.endswith(".tol") else f"specs/{self.path}.tol"


Subject: TypeAlias = OperatorInstance | ModelProgram


def title_of(subject: Subject) -> str:
    """Return the usual name of a subject."""
    return subject.path if isinstance(subject, ModelProgram) else subject.op


def command_for(subject: Subject) -> str:
    """Return the command line that shows the verified form."""
    if isinstance(subject, OperatorInstance):
        return command_of(subject)
    return "" if subject.text else f"tolcost analyze {subject.file} --symbolic"


def plain_shapes(operator: str, library: Library) -> PlainShapes:
    """Return default shapes for the inputs that an operator needs: two lengths for each `...`."""
    needed = (s for s in spec_of(operator, library).inputs if s.kind == "tol" and not s.optional)
    fixed = {s.name: sum(not isinstance(e, Ellipsis_) for e in s.shape) for s in needed if s.any_rank}
    return {name: [f"{name}_{place}" for place in range(1, many + 3)] for name, many in fixed.items()}


def lower_subject(subject: Subject, library: Library) -> Program:
    """Lower the subject of a formula; mistakes raise ``Rejected``."""
    if isinstance(subject, OperatorInstance):
        return lower_instance(subject, library).program
    source = _source(subject)
    given = arguments(parse(source), subject.shapes, subject.attrs)
    return lower_source(source, library, given).program


def step_of(program: Program) -> Program:
    """Return forward and backward of a program: its outputs, and the gradients of all real inputs."""
    return derivative(program, GradientRequest(values=True, nonzero=True))


def _source(subject: ModelProgram) -> Source:
    if subject.text:
        return Source(subject.path, subject.text)
    if subject.path.endswith(".tol"):
        return read_source(subject.path)
    folder, _, name = subject.path.partition("/")
    return read_library(folder).find(name).source


_MOST_DRAWS = 60
"""Inputs drawn in search of one for which the data-dependent numbers have given values."""


class SubjectRun(Struct, frozen=True):
    """The work of a run: functions applied, multiply-adds among them, and bytes read and written.

    The bytes of a text are unknown.  ``decided`` has the values of data-dependent numbers, by name.
    """

    counts: RunCounts
    macs: int
    moved: int | None
    decided: Mapping[str, int]


def run_subject(
    subject: Subject, program: Program, point: Mapping[str, int], library: Library, is_step: bool = False
) -> SubjectRun:
    """Run with the reference interpreter at a size; a subject that cannot be run raises ``Rejected``.

    ``program`` is the lowered subject; an operator is lowered again, since attributes become numbers.  Inputs
    are drawn until data-dependent numbers have the values in the point.
    """
    if isinstance(subject, OperatorInstance):
        shapes = cast(PlainShapes, {name: _put(shape, point) for name, shape in subject.shapes.items()})
        attrs = {name: _put(value, point) for name, value in subject.attrs.items()}
        program = lower_instance(
            OperatorInstance(subject.op, shapes, attrs, subject.outputs), library
        ).program
        program = step_of(program) if is_step else program
    dims = {symbol.name: point.get(symbol.name, 1) for symbol in lengths_of(program)}
    for seed in range(1, _MOST_DRAWS + 1):
        try:
            run = _run(program, dims, seed)
        except Rejected:  # such as ends of ranges that fall: other inputs may do
            continue
        if all(point.get(name, value) == value for name, value in run.decided.items()):
            return run
    refuse("T0340", f"no input of {title_of(subject)} was found at which data decides so")


def _run(program: Program, dims: Mapping[str, int], seed: int) -> SubjectRun:
    given = plain_arrays(program, dims, seed)
    watched: Counter[Node] = Counter()
    run = run_reference(program, given, dims, watched=watched)
    macs = sum(watched[node] for node in accumulated_products(program, schedules(program)))
    values = (*((needed.type, given[needed.name]) for needed in program.inputs),
              *((out.node.type, run.outputs[out.name]) for out in program.outputs))  # fmt: skip
    decided = {symbol.name: value for symbol, value in run.bindings.items() if symbol.kind == "data"}
    return SubjectRun(run.counts, macs, _bytes_of(values), decided)


def _bytes_of(values: Iterable[tuple[Type, OutputValue]]) -> int | None:
    """Return the bytes of values, each padded to whole bytes; None if one of them is a text."""
    total = 0
    for parts, value in values:
        for part, array in zip(parts, value if isinstance(value, tuple) else (value,), strict=True):
            bits = bits_of(part.space)
            if bits is None:
                return None
            total += -(-array.size * bits // 8)
    return total


def _put(value: PlainValue, point: Mapping[str, int]) -> PlainValue:
    if isinstance(value, str):
        return point.get(value, value) if value.isidentifier() else _at(value, point)
    if isinstance(value, list | tuple):
        return [_put(one, point) for one in value]
    return value


def _at(form: str, point: Mapping[str, int]) -> int | str:
    """Return the value of a length such as ``4*h`` at a size; a text that is no form stays one."""
    try:
        found = parse_text(form)
        return evaluate(found, {symbol: point[symbol.name] for symbol in found.free})
    except (Rejected, KeyError):
        return form
