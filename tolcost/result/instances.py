"""Analyses of programs and operators for the reports, each with the command that shows the same figures.

An instance is an operator with shapes and values for its inputs; lengths may be names.  An operator outside
of ONNX's own domain has its domain before its name: ``ai.onnx.ml.Scaler``.  No analysis is cached: callers
that need one twice keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from types import MappingProxyType

from msgspec import Struct, field

from tolcost.catalogue.listing import entries
from tolcost.catalogue.specs import Library, Spec, folder_of
from tolcost.cost import Analysis, analyze_program
from tolcost.diagnostics import Source, quoted, refuse
from tolcost.elaborate import Argument, Elaborated
from tolcost.elaborate.inputs import PlainShape, PlainShapes, PlainValue, arguments
from tolcost.literals import literal_text
from tolcost.pipeline import lower, read_program
from tolcost.syntax import parse


class OperatorInstance(Struct, frozen=True):
    """An operator with shapes and values for its inputs; ``outputs`` is the number of outputs computed."""

    op: str
    shapes: PlainShapes = field(default_factory=dict)
    attrs: Mapping[str, PlainValue] = field(default_factory=dict)
    outputs: int | None = None


def lower_source(source: Source, library: Library, given: Mapping[str, Argument] | None) -> Elaborated:
    """Lower a program with shapes and values for its inputs; mistakes in it raise ``Rejected``."""
    return lower(read_program(source, library), given, source.name)


def analyse_source(source: Source, library: Library, shapes: PlainShapes = MappingProxyType({})) -> Analysis:
    """Analyse a program as it is; ``shapes`` are those of inputs that leave theirs open."""
    given = arguments(parse(source), shapes, {}) if shapes else None
    return analyze_program(lower_source(source, library, given).program, source.name)


def spec_of(op: str, library: Library) -> Spec:
    """Return the definition of an operator by its name, which includes the domain unless that is ai.onnx."""
    domain, _, name = op.rpartition(".")
    spec = library.find(domain, name)
    if spec is None:
        known = entries(library, (op,))  # without a match, this suggests similar names
        full = (quoted(f"{entry.domain}.{entry.name}") for entry in known if entry.spec is not None)
        hint = f"with its domain it is {' or '.join(full)}" if domain == "" and known[0].domain else None
        refuse("T0663", f"there is no definition of {quoted(op)}", hint=hint)
    return spec


def file_of(op: str) -> str:
    """Return the path of an operator's definition.

    >>> file_of("Relu"), file_of("ai.onnx.ml.Scaler")
    ('specs/onnx/Relu.tol', 'specs/onnx.ml/Scaler.tol')
    """
    domain, _, name = op.rpartition(".")
    return f"specs/{folder_of(domain)}/{name}.tol"


def lower_instance(instance: OperatorInstance, library: Library, other: Spec | None = None) -> Elaborated:
    """Lower an operator, or another definition of it, at the shapes and values of an instance."""
    spec = other or spec_of(instance.op, library)
    given = arguments(spec.program, instance.shapes, instance.attrs)
    return library.lowered(spec, given, instance.outputs)


def analyse_instance(instance: OperatorInstance, library: Library) -> Analysis:
    """Analyse an operator at the shapes and values of an instance."""
    return analyze_program(lower_instance(instance, library).program, file_of(instance.op))


def command_of(instance: OperatorInstance, file: str = "") -> str:
    """Return the command line that analyses an instance, with the operator's definition or another file.

    >>> print(command_of(OperatorInstance("Softmax", {"input": ("n", 10)}, {"axis": 1})))
    tolcost analyze specs/onnx/Softmax.tol --symbolic --shape input=n,10 --attr axis=1
    """
    parts = ["tolcost", "analyze", file or file_of(instance.op), "--symbolic"]
    for name, shape in instance.shapes.items():
        for one in _several(shape):
            parts += ["--shape", quote(f"{name}={','.join(map(str, one)) or '[]'}")]
    for name, value in instance.attrs.items():
        parts += ["--attr", quote(f"{name}={literal_text(value)}")]
    return " ".join(parts)


def _several(shape: PlainShape | Sequence[PlainShape]) -> Iterable[PlainShape]:
    inner = [one for one in shape if not isinstance(one, int | str)]
    return inner or [[entry for entry in shape if isinstance(entry, int | str)]]
