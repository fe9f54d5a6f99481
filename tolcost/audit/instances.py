"""Programs and operators analysed for the reports, each with the command that shows the same.

An instance is an operator of ``specs/onnx`` with shapes and values for its inputs; lengths may be
names.  Nothing is kept: whoever needs an analysis twice holds on to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from shlex import quote
from types import MappingProxyType

from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Analysis, analyze_program
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.elaborate import Argument, Elaborated, elaborate
from tolcost.elaborate.arguments import PlainShape, PlainValue, arguments
from tolcost.pipeline import lower, read_program
from tolcost.syntax import parse

Shapes = Mapping[str, "PlainShape | Sequence[PlainShape]"]


@dataclass(frozen=True, slots=True)
class Instance:
    """An operator with shapes and values for its inputs; ``outputs`` is how many are asked for."""

    op: str
    shapes: Shapes = field(default_factory=dict)
    attrs: Mapping[str, PlainValue] = field(default_factory=dict)
    outputs: int | None = None


def lower_source(source: Source, library: Library, given: Mapping[str, Argument] | None = None) -> Elaborated:
    """Lower a program with what is given of its inputs; its mistakes raise ``Rejected``."""
    return lower(read_program(source, library), given, source.name)


def analyse_source(source: Source, library: Library, shapes: Shapes = MappingProxyType({})) -> Analysis:
    """What a program costs, as it stands; ``shapes`` are those of inputs that leave theirs open."""
    given = arguments(parse(source), shapes, {}) if shapes else None
    return analyze_program(lower_source(source, library, given).program, source.name)


def lower_instance(instance: Instance, library: Library, other: Spec | None = None) -> Elaborated:
    """Lower an operator, or another definition of it, at the shapes and values of an instance."""
    spec = other or library.find("", instance.op)
    if spec is None:
        raise Rejected(Diagnostic("T0663", f"there is no operator {instance.op!r}"))
    given = arguments(spec.program, instance.shapes, instance.attrs)
    return elaborate(
        spec.program,
        given,
        name=spec.name,
        library=spec.library,
        operators=library.operators(),
        outputs=instance.outputs,
    )


def analyse_instance(instance: Instance, library: Library) -> Analysis:
    """What an operator costs at the shapes and values of an instance."""
    return analyze_program(lower_instance(instance, library).program, f"specs/onnx/{instance.op}.tol")


def command_of(instance: Instance, file: str = "") -> str:
    """The command line that analyses an instance, of the operator's definition or of another.

    >>> print(command_of(Instance("Softmax", {"input": ("n", 10)}, {"axis": 1})))
    tolcost analyze specs/onnx/Softmax.tol --symbolic --shape input=n,10 --attr axis=1
    """
    parts = ["tolcost", "analyze", file or f"specs/onnx/{instance.op}.tol", "--symbolic"]
    for name, shape in instance.shapes.items():
        for one in _several(shape):
            parts += ["--shape", quote(f"{name}={','.join(map(str, one)) or '[]'}")]
    for name, value in instance.attrs.items():
        parts += ["--attr", quote(f"{name}={literal(value)}")]
    return " ".join(parts)


def _several(shape: PlainShape | Sequence[PlainShape]) -> Iterable[PlainShape]:
    inner = [one for one in shape if not isinstance(one, int | str)]
    return inner or [[entry for entry in shape if isinstance(entry, int | str)]]


def literal(value: PlainValue) -> str:
    """Write a value as the command line reads it.

    >>> literal((1, ("a", True))), literal(Fraction(1, 4))
    ('[1,[a,true]]', '0.25')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return str(float(value)) if value.denominator > 1 else str(value.numerator)
    if isinstance(value, int | float | str):
        return str(value)
    return f"[{','.join(map(literal, value))}]"
