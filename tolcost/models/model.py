"""A model as our own types: what stands in the file, checked for sense, nothing computed yet.

Tensors of weights stay where protobuf has them; only what is small enough to decide a shape is
ever looked into, and external data never.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from onnx import AttributeProto, NodeProto


@dataclass(frozen=True, slots=True)
class Declared:
    """A value as the model declares it: lengths by number, by name, or not at all (None).

    ``shape`` is None where not even the rank is declared.
    """

    name: str
    space: str
    shape: tuple[int | str | None, ...] | None
    sequence: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Weight:
    """A tensor that the model holds: its shape and space, and its value where it is small."""

    name: str
    space: str
    shape: tuple[int, ...]
    value: object | None = None
    nonzero: int | None = None
    """How many elements are stored, of a sparse tensor."""

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)


class Step(NamedTuple):
    """A node of a graph.  ``attributes`` are serialised: equal ones are equal bytes.

    ``asked`` is how many outputs are asked for; ``free`` are the names that graphs inside of the
    node take from around it, and ``graphs`` tells whether there are any.
    """

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: bytes
    asked: int
    free: tuple[str, ...]
    graphs: bool
    proto: NodeProto


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph: what it is given, what it holds, its nodes in order, what it gives.

    ``declared`` is what the file says of values in between; it is used only where nothing is known.
    """

    name: str
    inputs: tuple[Declared, ...]
    weights: Mapping[str, Weight]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    declared: Mapping[str, Declared] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of nodes: names of what goes in and out, and the attributes it can be given."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeProto | None]
    nodes: tuple[NodeProto, ...]
    opsets: Mapping[str, int]


FunctionKey = tuple[str, str, str]
"""Domain, name and overload."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model: its graph, the versions of the operators it uses, and its own functions."""

    name: str
    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[FunctionKey, Function] = field(default_factory=dict)
    producer: str = ""
