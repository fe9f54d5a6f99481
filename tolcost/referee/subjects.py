"""What a formula is about: an operator at some shapes, or a program, such as that of a family of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from tolcost.atoms.kit import schedules
from tolcost.atoms.lengths import lengths_of
from tolcost.atoms.nodes import Node, Program, Type
from tolcost.audit.instances import (
    OperatorInstance,
    Shapes,
    command_of,
    lower_instance,
    lower_source,
    spec_of,
)
from tolcost.catalogue.libraries import read_library
from tolcost.catalogue.specs import Library
from tolcost.cost.count import accumulated_products
from tolcost.cost.traffic import bits_of
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Source, refuse
from tolcost.elaborate.inputs import PlainValue, arguments
from tolcost.execute import run_reference
from tolcost.execute.inputs import plain_arrays
from tolcost.execute.values import OutputValue, RunCounts
from tolcost.syntax import parse, read_source
from tolcost.syntax.tree import Ellipsis as Ellipsis_


@dataclass(frozen=True, slots=True)
class ModelProgram:
    """A program with what is given of its inputs: ``families/llama`` of a library, or a file ``mine.tol``.

    ``text`` is the program itself where a formula brings its definition along.
    """

    path: str
    shapes: Shapes = field(default_factory=dict)
    attrs: Mapping[str, PlainValue] = field(default_factory=dict)
    text: str = ""

    @property
    def file(self) -> str:
        """Where it is."""
        return self.path if self.path.endswith(".tol") else f"specs/{self.path}.tol"


Subject: TypeAlias = OperatorInstance | ModelProgram


def title_of(subject: Subject) -> str:
    """What people call it."""
    return subject.path if isinstance(subject, ModelProgram) else subject.op


def command_for(subject: Subject) -> str:
    """The command line that shows the verified form."""
    if isinstance(subject, OperatorInstance):
        return command_of(subject)
    return "" if subject.text else f"tolcost analyze {subject.file} --symbolic"


def plain_shapes(operator: str, library: Library) -> Shapes:
    """Shapes for the inputs that an operator needs, where nobody says any: two lengths for each `...`."""
    needed = (s for s in spec_of(operator, library).inputs if s.kind == "tol" and not s.optional)
    fixed = {s.name: sum(not isinstance(e, Ellipsis_) for e in s.shape) for s in needed if s.any_rank}
    return {name: [f"{name}_{place}" for place in range(1, many + 3)] for name, many in fixed.items()}


def lower_subject(subject: Subject, library: Library) -> Program:
    """Lower what a formula is about; mistakes raise ``Rejected``."""
    if isinstance(subject, OperatorInstance):
        return lower_instance(subject, library).program
    source = _source(subject)
    given = arguments(parse(source), subject.shapes, subject.attrs)
    return lower_source(source, library, given).program


def _source(subject: ModelProgram) -> Source:
    if subject.text:
        return Source(subject.path, subject.text)
    if subject.path.endswith(".tol"):
        return read_source(subject.path)
    folder, _, name = subject.path.partition("/")
    return read_library(folder).find(name).source


_MOST_DRAWS = 60
"""So many inputs are drawn for one at which data decides what it is to decide."""


@dataclass(frozen=True, slots=True)
class SubjectRun:
    """What a run took: functions applied, multiply-adds among these, and bytes that went in and came out.

    Nobody knows the bytes of a text.  ``decided`` is what data came to decide, by name.
    """

    counts: RunCounts
    macs: int
    moved: int | None
    decided: Mapping[str, int]


def run_subject(subject: Subject, program: Program, point: Mapping[str, int], library: Library) -> SubjectRun:
    """Run by the reference interpreter at a size; what cannot be run raises ``Rejected``.

    ``program`` is the subject lowered; an operator is lowered again, since attributes become numbers.  What
    data decides is as the point says: inputs are drawn until it is.
    """
    if isinstance(subject, OperatorInstance):
        shapes = cast(Shapes, {name: _put(shape, point) for name, shape in subject.shapes.items()})
        attrs = {name: _put(value, point) for name, value in subject.attrs.items()}
        program = lower_instance(
            OperatorInstance(subject.op, shapes, attrs, subject.outputs), library
        ).program
    dims = {symbol.name: point.get(symbol.name, 1) for symbol in lengths_of(program)}
    for seed in range(1, _MOST_DRAWS + 1):
        run = _run(program, dims, seed)
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
    """The bytes that values take, each padded to a whole one; None where a text is among them."""
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
        return point.get(value, value)
    if isinstance(value, list | tuple):
        return [_put(one, point) for one in value]
    return value
