"""Bind a node to the definition of its operator: inputs by position, attributes by name.

No operator is treated specially here.  Formal names are those of the ONNX schema, so the attributes of a node
map directly to the declarations of a definition; any mismatch is a diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from tolcost.algebra import LARGEST_LENGTH, data_symbol
from tolcost.catalogue.graph import GraphNode, Reference, Weight, met
from tolcost.catalogue.specs import Spec, hints
from tolcost.catalogue.types import constant
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Tensor
from tolcost.elaborate.values import Argument, Cast, Missing, Seq, Value, Vec
from tolcost.spaces import kind_of

if TYPE_CHECKING:
    from tolcost.elaborate import Elaborated


def bind(
    node: GraphNode,
    spec: Spec,
    inputs: Sequence[Argument | None],
    graphs: Mapping[str, Value] = MappingProxyType({}),
) -> dict[str, Argument]:
    """Return an argument per formal name of the definition; None is an omitted input.

    ``graphs`` has the graphs among the node's attributes, as functions.
    """
    problems: list[Diagnostic] = []
    given = _positional(node, spec, inputs, problems)
    declared = {statement.name: statement for statement in spec.attributes}
    for name, value in (*attribute_values(node).items(), *graphs.items()):
        if name in declared:
            given[name] = value
        elif name not in hints(spec.domain):
            hint = f"the definition of {spec.name} since version {spec.since} has no such attribute"
            message = f"{node.shown} has an unknown attribute {quoted(name)}"
            problems.append(Diagnostic("T0655", message, hint=hint))
    needed = [s.name for s in spec.attributes if not s.optional and s.default is None]
    missing = [name for name in needed if name not in given]
    problems += [Diagnostic("T0656", f"{node.shown} needs the attribute {quoted(m)}") for m in missing]
    if problems:
        raise Rejected(*problems)
    return given


def constant_of(weight: Weight) -> Value:
    """Return a stored tensor as a constant; NumPy reads it if its value is not known yet."""
    return constant(weight.array()) if weight.value is None else weight.value


def attribute_values(node: GraphNode) -> dict[str, Value]:
    """Return the attributes of a node as arguments of a definition; tensors keep their element type."""
    found: dict[str, Value] = {}
    for name, attribute in node.attributes.items():
        if isinstance(attribute, Weight):
            found[name] = constant_of(attribute)
        elif not isinstance(attribute, Reference):  # a caller may omit the argument
            found[name] = attribute
    return found


_MOST_GUESSED = 16
"""Entries that get symbols; a cost in more unknown numbers tells nothing, and is refused instead."""
_MOST_VECTOR, _MOST_MATRIX = 64, 32
_INDEX = ("int64", "int32", "bool")


def decided_by_data(tensor: object, name: str) -> Cast | None:
    """Return symbols for the integers of a data-dependent tensor that must be known; None if there are many.

    ``a{0}`` is the first number in ``a``, while ``a[0]`` is its first length, so that ``--dim`` cannot
    confuse them.
    """
    if not isinstance(tensor, Tensor):
        return None
    shape = [d.constant for d in tensor.shape]
    sizes = tuple([d for d in shape if d is not None])
    if kind_of(tensor.space) != "Z" or len(sizes) < len(shape) or prod(sizes) > _MOST_GUESSED:
        return None
    if not sizes:
        return Cast(data_symbol(name, 0, LARGEST_LENGTH, "entry", name), tensor.space)
    titles = (f"{name}{{{k}}}" for k in range(prod(sizes)))
    entries = (data_symbol(title, 0, LARGEST_LENGTH, "entry", name) for title in titles)
    return Cast(Vec(sizes, tuple(entries)), tensor.space)


def is_handed(known: object, together: bool) -> bool:
    """Whether to pass a known value as a compile-time value although the definition does not require one.

    Single numbers and short index vectors always are; a few reals only if all inputs are known values,
    because then nothing is computed while the model runs.
    """
    size = elements(known)
    if not isinstance(known, Cast) or size <= 1:
        return True
    rank = len(known.value.shape) if isinstance(known.value, Vec) else 0
    most = _MOST_VECTOR if rank <= 1 else _MOST_MATRIX
    return size <= most and (together or known.space in _INDEX)


def elements(known: object) -> int:
    """Return the number of elements of a known value."""
    inner = known.value if isinstance(known, Cast) else known
    return prod(inner.shape) if isinstance(inner, Vec) else 1


def input_names(spec: Spec, count: int) -> list[str]:
    """Return the names of a node's inputs in its lowered program."""
    return [
        f"{formal.name}.{n + 2 - len(spec.head.takes)}" if formal.variadic else formal.name
        for n, formal in enumerate(met(spec.head.takes, count))
    ]


def places(lowered: Elaborated, spec: Spec) -> Iterator[tuple[str, Value]]:
    """Yield the outputs of an operator with their names in its program; variadic outputs one by one."""
    variadic = {s.name for s in spec.outputs if s.variadic}
    for name, value in lowered.values:
        if isinstance(value, Seq) and name in variadic:
            yield from ((f"{name}.{n}", item) for n, item in enumerate(value.items, start=1))
        else:
            yield name, value


def _positional(
    node: GraphNode, spec: Spec, inputs: Sequence[Argument | None], problems: list[Diagnostic]
) -> dict[str, Argument]:
    given: dict[str, Argument] = {}
    rest = list(inputs)
    for statement in spec.inputs:
        if statement.variadic:
            given[statement.name] = Seq(tuple(item for item in rest if item is not None))
            rest = []
            continue
        argument = rest.pop(0) if rest else None
        if argument is not None:
            given[statement.name] = argument
        elif statement.optional:
            given[statement.name] = Missing(statement.name)
        else:
            problems.append(Diagnostic("T0657", f"{node.shown} needs its input {quoted(statement.name)}"))
    if any(item is not None for item in rest):
        most = len(spec.inputs)
        problems.append(Diagnostic("T0658", f"{node.shown} has {len(inputs)} inputs, but takes {most}"))
    return given
