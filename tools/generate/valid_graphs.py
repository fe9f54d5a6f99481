"""A graph of ONNX in the making, in which every node is run when it is added.

A node that onnx's evaluator cannot run, or whose values are extreme, is left out again; what it gave is kept,
so that the nodes of a model can be held to it one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tools.generate.draw import Draw

Array = np.ndarray
Item = Array | list[Array]

LENGTHS = ("n", "m", "k")
FLOATS, WHOLE = ("float32", "float64"), ("int64", "int32")
LARGEST, MOST_ELEMENTS = 1e4, 300


class Maker(Struct):
    """A graph in the making: everything in ``values`` may be used by later nodes."""

    draw: Draw
    opset: int
    dims: dict[str, int]
    values: dict[str, Item] = field(default_factory=dict)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    held: list[TensorProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    prefix: str = ""

    # ---- values ----

    def name(self, stem: str) -> str:
        return self.draw.name(f"{self.prefix}{stem}")

    def input(self) -> None:
        """One more input, some of its lengths open."""
        draw = self.draw
        shape = [
            draw.pick(LENGTHS) if draw.chance(0.6) else draw.pick((1, 2, 3, 4))
            for _ in range(draw.number(0, 4))
        ]
        kind = draw.pick((*FLOATS[:1] * 4, "float64", *WHOLE, "bool"))
        name = self.name("x")
        self.inputs.append(helper.make_tensor_value_info(name, code_of(np.dtype(kind)), shape))
        self.values[name] = drawn(draw, kind, tuple(self.dims[d] if isinstance(d, str) else d for d in shape))

    def const(self, value: object, kind: str = "int64") -> str:
        """A tensor that the model holds."""
        name = self.name("c")
        array = np.asarray(value, kind)
        self.held.append(numpy_helper.from_array(array, name))
        self.values[name] = array
        return name

    def weight(self, kind: str, shape: Sequence[int]) -> str:
        return self.const(drawn(self.draw, kind, tuple(shape)), kind)

    def tensors(self, wanted: Callable[[Array], bool] = lambda a: True) -> list[str]:
        return [name for name, item in self.values.items() if isinstance(item, np.ndarray) and wanted(item)]

    def pick(self, wanted: Callable[[Array], bool] = lambda a: True) -> str:
        """Any tensor with a property, late ones more often; StopIteration where there is none."""
        found = self.tensors(wanted)
        if not found:
            raise StopIteration
        return self.draw.pick(found[len(found) // 2 :] if self.draw.chance(0.6) else found)

    def real(self, low: int = 0, high: int = 9) -> str:
        return self.pick(lambda a: a.dtype.kind == "f" and low <= a.ndim <= high)

    def number(self, low: int = 0, high: int = 9) -> str:
        return self.pick(lambda a: a.dtype.kind in "fi" and low <= a.ndim <= high)

    def array(self, name: str) -> Array:
        found = self.values[name]
        assert isinstance(found, np.ndarray)
        return found

    def beside(self, name: str) -> str:
        """Something of the same type that broadcasts with a tensor: one that is there, or held."""
        own = self.array(name)

        def fits(other: Array) -> bool:
            try:
                return other.dtype == own.dtype and np.broadcast_shapes(own.shape, other.shape) is not None
            except ValueError:
                return False

        found = [other for other in self.tensors(fits) if other != name]
        if found and self.draw.chance(0.6):
            return self.draw.pick(found)
        tail = own.shape[self.draw.number(0, own.ndim) :]
        return self.weight(own.dtype.name, [1 if self.draw.chance(0.7) else d for d in tail])

    def axis(self, name: str) -> int:
        rank = self.array(name).ndim
        return self.draw.number(-rank, rank - 1)

    # ---- nodes ----

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> bool:
        """Add a node, if it can be run."""
        names = [self.name("y") for _ in range(outputs)]
        node = helper.make_node(
            op, list(inputs), names, name=f"{self.prefix}{op}_{len(self.nodes)}", **attributes
        )
        found = run_node(node, self.values, self.opset)
        if found is None or not all(map(_moderate, found)):
            return False
        self.nodes.append(node)
        self.values.update(zip(names, found, strict=True))
        return True

    def inner(self) -> Maker:
        """A graph inside, which sees what is outside."""
        made = Maker(self.draw, self.opset, self.dims, dict(self.values), prefix=self.name("g") + "_")
        return made

    def graph(self, outputs: Sequence[str], inputs: Sequence[ValueInfoProto] = ()) -> GraphProto:
        made = [info_of(name, self.values[name]) for name in outputs]
        return helper.make_graph(self.nodes, "inner", list(inputs), made, self.held)


def drawn(draw: Draw, kind: str, shape: tuple[int, ...]) -> Array:
    """Small values of a type."""
    random = np.random.default_rng(draw.number(0, 2**32))
    if kind == "bool":
        return np.asarray(random.integers(0, 2, shape), bool)
    if np.dtype(kind).kind == "f":
        return np.asarray(random.integers(-12, 13, shape) / 4, kind)
    return np.asarray(random.integers(-3, 4, shape), kind)


def code_of(dtype: np.dtype) -> int:
    return helper.np_dtype_to_tensor_dtype(dtype)


def info_of(name: str, item: Item) -> ValueInfoProto:
    if isinstance(item, list):
        inner = helper.make_tensor_type_proto(code_of(item[0].dtype) if item else TensorProto.FLOAT, None)
        return helper.make_value_info(name, helper.make_sequence_type_proto(inner))
    return helper.make_tensor_value_info(name, code_of(item.dtype), None)


def _moderate(item: Item) -> bool:
    if isinstance(item, list):
        return 0 < len(item) <= 8 and all(map(_moderate, item))
    if item.dtype.kind not in "bif" or item.size > MOST_ELEMENTS or item.ndim > 6:
        return False
    return item.dtype.kind == "b" or bool(
        np.isfinite(item).all() and (np.abs(item.astype(float)) < LARGEST).all()
    )


def run_node(node: NodeProto, values: dict[str, Item], opset: int) -> list[Item] | None:
    """What onnx's evaluator gives for one node; None where it cannot run it."""
    names = [name for name in dict.fromkeys((*node.input, *free_names(node))) if name in values]
    graph = helper.make_graph(
        [node],
        "g",
        [info_of(name, values[name]) for name in names],
        [ValueInfoProto(name=o) for o in node.output],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = ReferenceEvaluator(model).run(None, {name: values[name] for name in names})
    except Exception:  # whatever it is, the node is not taken
        return None
    if node.op_type == "PRelu" and found[0].shape != values[node.input[0]].shape:
        return None  # the evaluator spreads the input to the slope, which the operator does not
    return [item if isinstance(item, list) else np.asarray(item) for item in found]


def free_names(node: NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from inner.input
            yield from free_names(inner)
        yield from (output.name for output in attribute.g.output)
