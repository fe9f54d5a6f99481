"""Random models of ONNX that are right: nodes of many kinds, each run when it is added.

``at_other_lengths`` runs the same model at another point.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from tools.generate.draw import Draw
from tools.generate.valid_graphs import LENGTHS, Item, Maker, drawn, free_names, info_of, run_node
from tools.generate.valid_nodes import ALL, Kind, try_one

OPSETS = (18, 20, 21)


class Made(Struct):
    """A model, lengths for it, and what its inputs and nodes are and give there."""

    proto: ModelProto
    dims: dict[str, int]
    values: dict[str, Item]


def valid_model(seed: int, kinds: Sequence[Kind] = ALL) -> Made:
    """A model of a few nodes that onnx's evaluator runs, and a point to run it at."""
    draw = Draw(seed)
    dims = {name: draw.pick((1, 2, 2, 3, 3, 4)) for name in LENGTHS}
    maker = Maker(draw, draw.pick(OPSETS), dims)
    for _ in range(draw.number(1, 3)):
        maker.input()
    wanted = draw.number(2, 9)
    for _ in range(4 * wanted):
        if len(maker.nodes) >= wanted:
            break
        try_one(maker, kinds)
    if not maker.nodes:
        maker.add("Identity", maker.inputs[0].name)
    graph = helper.make_graph(maker.nodes, "random", maker.inputs, _ends(maker), maker.held)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", maker.opset)], ir_version=10)
    return Made(proto, dims, maker.values)


def _ends(maker: Maker) -> list[ValueInfoProto]:
    used = {name for node in maker.nodes for name in (*node.input, *free_names(node))}
    ends = [name for node in maker.nodes for name in node.output if name not in used]
    return [info_of(name, maker.values[name]) for name in ends]


def at_other_lengths(made: Made, seed: int) -> Made | None:
    """The same model at other lengths; None where it cannot be run there."""
    draw = Draw(seed)
    dims = {name: draw.number(1, 5) for name in made.dims}
    values: dict[str, Item] = {t.name: numpy_helper.to_array(t) for t in made.proto.graph.initializer}
    for given in made.proto.graph.input:
        lengths = [
            d.dim_value if d.HasField("dim_value") else dims[d.dim_param]
            for d in given.type.tensor_type.shape.dim
        ]
        kind = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type).name
        values[given.name] = drawn(draw, kind, tuple(lengths))
    for node in made.proto.graph.node:
        found = run_node(node, values, made.proto.opset_import[0].version)
        if found is None:
            return None
        values.update(zip(node.output, found, strict=True))
    return Made(made.proto, dims, values)
