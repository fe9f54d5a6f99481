"""Test cases as data: a node, its inputs, and its expected outputs.

Node tests come with the installed onnx, which makes them in memory.  Cases that repeat another case with its
operator expanded into others are left out: they test ONNX's expansion.

For operators that onnx does not know, a domain's folder may hold ``recorded/Name.json.gz``: nodes, inputs,
and the outputs of the runtime that has them.  Its first line states the source; every further line is a case.
Reading needs no runtime.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from msgspec import Struct
from onnx import helper
from onnx.backend.test.case import node as node_tests
from onnx.backend.test.loader import load_node_model_tests

from tolcost.algebra import Poly, Truth, const, length
from tolcost.catalogue.binding import attribute_values, bind
from tolcost.catalogue.graph import GraphNode, met
from tolcost.catalogue.protobuf import array_of
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import Library, Spec, folder_of
from tolcost.catalogue.subgraphs import Surroundings, graph_functions
from tolcost.catalogue.types import SPACE_OF_CODE, Array, space_of_dtype, static_value
from tolcost.cost import Counts, count
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Elaborated, Seq, Tensor
from tolcost.elaborate.values import Argument, Cast, Vec, frozen
from tolcost.records import Record
from tolcost.syntax import tree

Item: TypeAlias = Array | tuple[Array, ...] | None
"""A tensor, a sequence of them, or an empty optional."""


def arrays_in(item: Item) -> tuple[Array, ...]:
    """Return the tensors of an item."""
    if isinstance(item, tuple):
        return item
    return () if item is None else (item,)


_EXPANDED = re.compile(r"_expanded(_ver[0-9]+)?$")


class Case(Struct, frozen=True, eq=False):
    """One test: ``inputs`` and ``outputs`` correspond to the node's, with None for omitted ones."""

    name: str
    node: GraphNode
    opset: int
    inputs: tuple[Item, ...]
    outputs: tuple[Item, ...]
    rtol: float
    atol: float


def load_cases(names: Iterable[str] = ()) -> tuple[Case, ...]:
    """Load every case of the installed onnx, or those of given operators or case names."""
    wanted = set(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the cases divides by zero on purpose
        tests = _make_tests(wanted)
    found = (test for test in tests if not _EXPANDED.search(test.name))
    named = ((test, {test.name, test.model.graph.node[0].op_type}) for test in found)
    return tuple(_case(test) for test, names in named if not wanted or names & wanted)


def _make_tests(wanted: set[str]) -> list[Any]:
    """Make onnx's tests, only the wanted ones where possible: making all of them takes ten seconds."""
    if not wanted or any(name.startswith("test_") for name in wanted):
        return load_node_model_tests()
    for module in _modules_naming(wanted):
        import_module(module)
    return node_tests._NodeTestCases


def _modules_naming(operators: set[str]) -> Iterator[str]:
    """Yield the modules that make tests and whose text mentions an operator."""
    root, named = Path(node_tests.__path__[0]), re.compile(rf"\b({'|'.join(map(re.escape, operators))})\b")
    for file in sorted(root.rglob("[!_]*.py")):
        if named.search(file.read_text("utf-8")):
            yield ".".join((node_tests.__name__, *file.relative_to(root).with_suffix("").parts))


def _case(test: Any) -> Case:
    (proto,) = test.model.graph.node
    node = node_of(proto)
    domain = node.domain
    opset = next(o.version for o in test.model.opset_import if o.domain in (domain, domain or "ai.onnx"))
    ((inputs, outputs),) = test.data_sets
    return Case(
        name=test.name,
        node=node,
        opset=opset,
        inputs=_by_operand(node.inputs, inputs),
        outputs=_by_operand(node.outputs, outputs),
        rtol=test.rtol,
        atol=test.atol,
    )


def _by_operand(names: Sequence[str], values: Sequence[object]) -> tuple[Item, ...]:
    """Return the values of the named operands, in order; None for an operand without a name."""
    rest = iter(values)
    return tuple(_item(next(rest, None)) if name else None for name in names)


def _item(value: object) -> Item:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return tuple(array_of(entry) for entry in value)
    return array_of(value)


# ---- recorded cases --------------------------------------------------------------------------


_ENDING = ".json.gz"
_DTYPES = {space: helper.tensor_dtype_to_np_dtype(code) for code, space in SPACE_OF_CODE.items()}


def recorded_cases(
    library: Library, domain: str | None = None, names: Collection[str] = ()
) -> tuple[Case, ...]:
    """Load the recorded cases of a domain (of all domains if None), or of given operators or case names.

    An operator may be named with its domain.
    """
    domains = library.domains() if domain is None else (domain,)
    return tuple(case for one in domains for case in _of_domain(library, one, frozenset(names)))


def _of_domain(library: Library, domain: str, names: frozenset[str]) -> Iterator[Case]:
    partly = {name.rpartition("-")[0] for name in names}
    for op in library.names(domain):
        wholly = not names or op in names or f"{domain}.{op}" in names
        if wholly or op in partly:
            found = _of_operator(library, domain, op)
            yield from (case for case in found if wholly or case.name in names)


def _of_operator(library: Library, domain: str, op: str) -> tuple[Case, ...]:
    for root in library.roots:
        file = root.joinpath(folder_of(domain), "recorded", op + _ENDING)
        if file.is_file():
            lines = gzip.decompress(file.read_bytes()).decode("utf-8").splitlines()
            return tuple(
                _recorded_case(domain, op, n, json.loads(line)) for n, line in enumerate(lines[1:], start=1)
            )
    return ()


def _recorded_case(domain: str, op: str, number: int, one: dict[str, Any]) -> Case:
    inputs = tuple(map(_recorded_array, one["in"]))
    outputs = tuple(map(_recorded_array, one["out"]))
    node = helper.make_node(
        op,
        [f"i{n}" if array is not None else "" for n, array in enumerate(inputs)],
        [f"o{n}" if array is not None else "" for n, array in enumerate(outputs)],
        domain=domain,
        **one.get("attrs", {}),
    )
    tolerance = one.get("rtol", 1e-4), one.get("atol", 1e-5)
    return Case(f"{op}-{number}", node_of(node), one.get("opset", 1), inputs, outputs, *tolerance)


def _recorded_array(kept: list[Any] | None) -> Array | None:
    """Decode a tensor: its element type, its shape, and its elements, in base64 or as texts."""
    if kept is None:
        return None
    space, shape, items = kept
    if space == "string":
        return np.array(items, np.object_).reshape(shape)
    return np.frombuffer(base64.b64decode(items), _DTYPES[space]).reshape(shape)


# === The closed form behind a case: its operator lowered with an independent symbol for every length.
#
# A length of 1 stays 1, because it may broadcast, and static inputs keep their values.  Where an
# operator cannot be lowered like this (a length decides a rank, or the number of entries of a sequence),
# as few lengths as possible take the values of the case, and the result names them.


class Derived(Struct, frozen=True, eq=False):
    """An operator lowered for a case: the program, its counts, and the names of lengths that are numbers."""

    spec: Spec
    lowered: Elaborated
    counts: Counts
    concrete: tuple[str, ...] = ()


def derive(case: Case, spec: Spec, library: Library) -> Derived:
    """Lower the operator of a case with as many symbolic lengths as possible."""
    try:
        return attempt(case, spec, library, ())
    except Rejected:
        axes = tuple(_axes(case, spec))
        if not axes:
            raise
        fallback = attempt(case, spec, library, axes)
        for fewer in _smaller(axes):
            try:
                return attempt(case, spec, library, fewer)
            except Rejected:
                continue
        return fallback


def attempt(case: Case, spec: Spec, library: Library, concrete: tuple[str, ...]) -> Derived:
    """Lower the operator of a case with a symbol for every length except the concrete ones."""
    surroundings = Surroundings(library, {case.node.domain: case.opset}, repeats=not spec.branches)
    given = bind(
        case.node,
        spec,
        _arguments(case, spec, frozenset(concrete)),
        graph_functions(case.node, surroundings),
    )
    key = tuple((name, frozen(argument)) for name, argument in given.items())
    lowered, counts = _lowered(_Question(spec, library, case.node.asked, key, given))
    return Derived(spec, lowered, counts, concrete)


class _Question(Record, frozen=True):
    """The arguments of lowering; ``key`` identifies ``given`` for comparison."""

    spec: Spec
    library: Library
    asked: int
    key: tuple[object, ...]
    given: Mapping[str, Argument]
    ignored: ClassVar = frozenset({"given"})


@lru_cache(maxsize=256)  # consecutive cases often differ only in elements, or in lengths
def _lowered(question: _Question) -> tuple[Elaborated, Counts]:
    lowered = question.library.lowered(question.spec, question.given, question.asked)
    return lowered, count(lowered.program)


def _smaller(axes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield sets of lengths to try as numbers, small ones first: one length, then one input."""
    for axis in reversed(axes):
        yield (axis,)
    for _, group in groupby(axes, key=lambda axis: axis.rpartition("_")[0]):
        yield tuple(group)


def _axes(case: Case, spec: Spec) -> Iterator[str]:
    """Yield the names of all lengths that a case leaves open."""
    for statement, base, item in placed(case, spec):
        several = isinstance(item, tuple)
        for k, array in enumerate(arrays_in(item) if statement.kind != "static" else (), start=1):
            name = f"{base}{k}" if several else base
            yield from (f"{name}_{d}" for d, n in enumerate(array.shape, start=1) if n != 1)


def arrays_by_name(case: Case, spec: Spec) -> dict[str, Array]:
    """Return the arrays of a case by the names of its lowered program's inputs."""
    found: dict[str, Array] = {}
    for n, (statement, item) in enumerate(zip(met(spec.inputs, len(case.inputs)), case.inputs, strict=False)):
        name = f"{statement.name}.{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        if isinstance(item, tuple):
            found.update({f"{name}.{k}": array for k, array in enumerate(item, start=1)})
        elif item is not None:
            found[name] = item
    return found


def placed(case: Case, spec: Spec) -> Iterator[tuple[tree.InputDecl, str, Item]]:
    """Yield each declaration with its argument, and the prefix of the names of its lengths."""
    for n, (statement, item) in enumerate(zip(met(spec.inputs, len(case.inputs)), case.inputs, strict=False)):
        base = f"{statement.name}{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        yield statement, base, item


def _arguments(case: Case, spec: Spec, concrete: frozenset[str]) -> list[Argument | None]:
    found = [_argument(statement, base, item, concrete) for statement, base, item in placed(case, spec)]
    # the binder reports inputs beyond the declared ones
    beyond = [None if item is None else Seq(()) for item in case.inputs[len(found) :]]
    return [*found, *beyond]


def _argument(statement: tree.InputDecl, base: str, item: Item, concrete: frozenset[str]) -> Argument | None:
    if item is None:
        return None
    if isinstance(item, tuple):
        return Seq(tuple(_tensor(f"{base}{k}", array, concrete) for k, array in enumerate(item, start=1)))
    if statement.kind == "static":
        return Cast(static_value(item), space_of_dtype(item.dtype))
    return _tensor(base, item, concrete)


def _tensor(base: str, array: Array, concrete: frozenset[str]) -> Tensor:
    lengths = (_length(f"{base}_{d}", n, concrete) for d, n in enumerate(array.shape, start=1))
    return Tensor(tuple(lengths), space_of_dtype(array.dtype))


def _length(name: str, actual: int, concrete: frozenset[str]) -> Poly:
    if actual == 1 or name in concrete:
        return const(actual)
    return length(name, min(actual, 1))


StoredValue: TypeAlias = "int | float | bool | str | list[StoredValue]"

_MOST_ENTRIES = 64
"""Entries of values written into a report."""


def settings(
    case: Case, spec: Spec, concrete: tuple[str, ...]
) -> tuple[dict[str, StoredValue], dict[str, StoredValue]]:
    """Return a case's tensor shapes, with names for lengths that are not ``concrete``, and its values."""
    shapes: dict[str, StoredValue] = {}
    for statement, base, item in placed(case, spec):
        if item is None or statement.kind == "static":
            continue
        shape = _shape(base, item, concrete)
        if statement.variadic:
            several = shapes.setdefault(statement.name, [])
            assert isinstance(several, list)
            several.append(shape)
        else:
            shapes[statement.name] = shape
    return shapes, dict(_values(case, spec))


def _shape(base: str, item: Item, concrete: tuple[str, ...]) -> StoredValue:
    if isinstance(item, tuple):
        return [_lengths(f"{base}{k}", array, concrete) for k, array in enumerate(item, start=1)]
    return [] if item is None else _lengths(base, item, concrete)


def _lengths(base: str, array: Array, concrete: tuple[str, ...]) -> StoredValue:
    names = ((f"{base}_{d}", n) for d, n in enumerate(array.shape, start=1))
    return [n if n == 1 or name in concrete else name for name, n in names]


def _values(case: Case, spec: Spec) -> Iterator[tuple[str, StoredValue]]:
    """Yield the attributes and static inputs that are plain and small."""
    found = attribute_values(case.node)
    for statement, _, item in placed(case, spec):
        if statement.kind == "static" and item is not None and not isinstance(item, tuple):
            if item.size > _MOST_ENTRIES:
                continue
            found[statement.name] = static_value(item)
    for name, value in found.items():
        known = plain(value)
        if known is not None:
            yield name, known


def plain(value: object) -> StoredValue | None:
    """Convert a compile-time value to JSON data; None where that is not possible.

    >>> plain(Vec((2, 1), (Fraction(1, 2), "a")))
    [[0.5], ['a']]
    """
    match value:
        case Cast(value=inner):
            return plain(inner)
        case Poly():
            return value.constant
        case Truth(value=known):
            return known
        case Fraction():
            return value.numerator if value.denominator == 1 else float(value)
        case str():
            return value
        case Vec(shape=shape, items=items) if len(items) <= _MOST_ENTRIES:
            flat = [plain(item) for item in items]
            return None if None in flat else _nested(flat, shape)
        case _:
            return None


def _nested(items: list[StoredValue | None], shape: tuple[int, ...]) -> StoredValue:
    if len(shape) == 1:
        return [item for item in items if item is not None]
    size = math.prod(shape[1:])
    return [_nested(items[n * size : (n + 1) * size], shape[1:]) for n in range(shape[0])]
