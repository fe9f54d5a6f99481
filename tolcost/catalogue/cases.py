"""ONNX's own node tests as data: a node, what it is given, and what it must give.

The cases come with the installed onnx, which makes them in memory.  Those that repeat another
case with its operator expanded into others are left out: they test ONNX's expansion.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from onnx.backend.test.case import node as node_tests
from onnx.backend.test.loader import load_node_model_tests

from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.protobuf import array_of
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.types import Array
from tolcost.dataclass import dataclass

Item: TypeAlias = Array | tuple[Array, ...] | None
"""A tensor, a sequence of them, or an optional that is empty."""

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
    return tuple(_case(test) for test in found if not wanted or _is_wanted(test, wanted))


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


def _is_wanted(test: Any, wanted: set[str]) -> bool:
    return test.name in wanted or test.model.graph.node[0].op_type in wanted


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
