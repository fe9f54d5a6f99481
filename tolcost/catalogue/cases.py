"""Cases as data: a node, what it is given, and what it must give.

Node tests come with the installed onnx, which makes them in memory.  Those that repeat another
case with its operator expanded into others are left out: they test ONNX's expansion.

Of operators that onnx does not know, a domain's folder may hold ``recorded/Name.json.gz``: nodes, what they
were given, and what came out of the run-time that has them.  Its first line says where that is from; every
further one is a case.  Reading needs no run-time.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from onnx import helper
from onnx.backend.test.case import node as node_tests
from onnx.backend.test.loader import load_node_model_tests

from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.protobuf import array_of
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import Library, folder_of
from tolcost.catalogue.types import SPACE_OF_CODE, Array
from tolcost.dataclass import dataclass

Item: TypeAlias = Array | tuple[Array, ...] | None
"""A tensor, a sequence of them, or an optional that is empty."""


def arrays_in(item: Item) -> tuple[Array, ...]:
    """The tensors that an item is."""
    if isinstance(item, tuple):
        return item
    return () if item is None else (item,)


_EXPANDED = re.compile(r"_expanded(_ver[0-9]+)?$")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One test: ``inputs`` and ``outputs`` go with the node's, None where one is left out."""

    name: str
    node: GraphNode
    opset: int
    inputs: tuple[Item, ...]
    outputs: tuple[Item, ...]
    rtol: float
    atol: float


def load_cases(names: Iterable[str] = ()) -> tuple[Case, ...]:
    """Every case of the installed onnx, or those of some operators or of some names."""
    wanted = set(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the cases divides by zero on purpose
        tests = _made(wanted)
    found = (test for test in tests if not _EXPANDED.search(test.name))
    named = ((test, {test.name, test.model.graph.node[0].op_type}) for test in found)
    return tuple(_case(test) for test, names in named if not wanted or names & wanted)


def _made(wanted: set[str]) -> list[Any]:
    """The tests of onnx, as far as they are wanted: making all of them takes it ten seconds."""
    if not wanted or any(name.startswith("test_") for name in wanted):
        return load_node_model_tests()
    for module in _modules_naming(wanted):
        import_module(module)
    return node_tests._NodeTestCases


def _modules_naming(operators: set[str]) -> Iterator[str]:
    """The modules that make tests, of which the text has the name of an operator."""
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
        inputs=_spread(node.inputs, inputs),
        outputs=_spread(node.outputs, outputs),
        rtol=test.rtol,
        atol=test.atol,
    )


def _spread(names: Sequence[str], values: Sequence[object]) -> tuple[Item, ...]:
    """The values of the named places, in order; None for a place without a name."""
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
    """The recorded cases of a domain (of all domains if none is given), or those of some operators or names.

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
    """A tensor: its element type, its shape, and its elements, as base64 of their bytes or as texts."""
    if kept is None:
        return None
    space, shape, items = kept
    if space == "string":
        return np.array(items, np.object_).reshape(shape)
    return np.frombuffer(base64.b64decode(items), _DTYPES[space]).reshape(shape)
