"""Models of ONNX that are nearly right: one that is, with a few changes to its structure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    defs,
    helper,
)

Change = Callable[["Mutator", ModelProto], None]

_INTEGERS = (0, 1, -1, 2, 3, 7, -2, 64, 65, 1000, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63))
_NUMBERS = (0.0, -0.0, 0.5, 1e-45, 1e38, -1e38, float("inf"), float("-inf"), float("nan"))
_TEXTS = (b"", b"SAME_UPPER", b"ij,jk->ik", b"...", b"\xff\xfe", b"a" * 300, b"int8", b"%s{}", b"-\x00")
_LENGTHS = (0, 1, 2, 3, 5, 17, 1000, 2**31, 2**62)
_OPERATORS = sorted({s.name for s in defs.get_all_schemas() if s.domain == ""})


class Mutator:
    """Changes models; the same seed makes the same changes."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def mutated(self, proto: ModelProto, changes: int) -> ModelProto:
        """A copy of a model with so many changes."""
        made = ModelProto()
        made.CopyFrom(proto)
        for _ in range(changes):
            self.pick(CHANGES)(self, made)
        return made

    def pick(self, items: Sequence):  # any item of any list
        return self.choice.choice(items)

    def graph(self, model: ModelProto) -> GraphProto:
        """Any of the graphs of a model."""
        return self.pick(list(_graphs(model.graph)))

    def node(self, model: ModelProto) -> NodeProto | None:
        """Any of the nodes of a model."""
        nodes = [node for graph in _graphs(model.graph) for node in graph.node]
        nodes += [node for function in model.functions for node in function.node]
        return self.pick(nodes) if nodes else None

    def name(self, model: ModelProto) -> str:
        """Any name of a value, or none."""
        names = {"", "nobody"}
        for graph in _graphs(model.graph):
            names |= {info.name for info in (*graph.input, *graph.output)}
            names |= {name for node in graph.node for name in (*node.input, *node.output)}
        return self.pick(sorted(names))


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


# ---- changes -----------------------------------------------------------------------------------


def _operator(mutator: Mutator, model: ModelProto) -> None:
    node = mutator.node(model)
    if node is not None:
        node.op_type = mutator.pick(_OPERATORS)


def _domain(mutator: Mutator, model: ModelProto) -> None:
    node = mutator.node(model)
    if node is not None:
        node.domain = mutator.pick(["", "ai.onnx", "ai.onnx.ml", "com.microsoft", "my", "../x", "lib"])


def _input(mutator: Mutator, model: ModelProto) -> None:
    node = mutator.node(model)
    if node is not None:
        _change_names(mutator, node.input, mutator.name(model))


def _output(mutator: Mutator, model: ModelProto) -> None:
    node = mutator.node(model)
    if node is not None:
        _change_names(mutator, node.output, mutator.pick(["", "fresh", mutator.name(model)]))


def _change_names(mutator: Mutator, names, new: str) -> None:  # a list of protobuf
    kind = mutator.choice.randrange(4)
    if kind == 0 or not names:
        names.append(new)
    elif kind == 1:
        del names[mutator.choice.randrange(len(names))]
    elif kind == 2:
        names[mutator.choice.randrange(len(names))] = new
    else:
        kept = list(names)
        mutator.choice.shuffle(kept)
        del names[:]
        names.extend(kept)


def _attribute(mutator: Mutator, model: ModelProto) -> None:
    """Change an attribute, take it away, or add one that the operator has or has not."""
    node = mutator.node(model)
    if node is None:
        return
    kind = mutator.choice.randrange(4)
    if node.attribute and kind == 0:
        del node.attribute[mutator.choice.randrange(len(node.attribute))]
    elif node.attribute and kind <= 2:
        _change_attribute(mutator, mutator.pick(node.attribute))
    else:
        _change_attribute(mutator, node.attribute.add(name=_attribute_name(mutator, node)))


def _attribute_name(mutator: Mutator, node: NodeProto) -> str:
    known = [s for s in defs.get_all_schemas() if s.name == node.op_type]
    return mutator.pick(
        [*(name for schema in known for name in schema.attributes), "axis", "body", "strange"]
    )


def _change_attribute(mutator: Mutator, attribute: AttributeProto) -> None:
    name, pick = attribute.name, mutator.pick
    several = mutator.choice.randrange(5)
    values: list[object] = [
        pick(_INTEGERS),
        pick(_NUMBERS),
        pick(_TEXTS),
        [pick(_INTEGERS) for _ in range(several)],
        [pick(_NUMBERS) for _ in range(several)],
        [pick(_TEXTS) for _ in range(several)],
        helper.make_tensor("t", TensorProto.FLOAT, [1], [2.0]),
        helper.make_graph([], "empty", [], []),
        [pick(_INTEGERS)] * 2000,
    ]
    kinds = ("INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "TENSOR", "GRAPH", "INTS")
    at = mutator.choice.randrange(len(values))
    made = helper.make_attribute(name, values[at], attr_type=AttributeProto.AttributeType.Value(kinds[at]))
    attribute.CopyFrom(made)
    if mutator.choice.randrange(8) == 0:
        attribute.type = mutator.choice.randrange(15)  # what it says it is, and what it holds, differ


def _shape(mutator: Mutator, model: ModelProto) -> None:
    """Change a length, the rank or the type of an input of a graph."""
    graph = mutator.graph(model)
    if not graph.input:
        return
    info: ValueInfoProto = mutator.pick(graph.input)
    tensor, kind = info.type.tensor_type, mutator.choice.randrange(5)
    if kind == 0:
        tensor.elem_type = mutator.choice.randrange(30)
    elif kind == 1 or not tensor.shape.dim:
        tensor.shape.dim.add(dim_value=mutator.pick(_LENGTHS))
    elif kind == 2:
        del tensor.shape.dim[mutator.choice.randrange(len(tensor.shape.dim))]
    elif kind == 3:
        mutator.pick(tensor.shape.dim).dim_param = mutator.pick(["n", "m", "2*n", "", "?", "n_share"])
    else:
        mutator.pick(tensor.shape.dim).dim_value = mutator.pick((*_LENGTHS, -1, -7))


def _weight(mutator: Mutator, model: ModelProto) -> None:
    """Change a tensor, or make an input of the graph one."""
    graph = mutator.graph(model)
    if not graph.initializer:
        name = mutator.name(model)
        graph.initializer.append(
            helper.make_tensor(name, TensorProto.INT64, [2], [1, mutator.pick(_INTEGERS)])
        )
        return
    tensor: TensorProto = mutator.pick(graph.initializer)
    kind = mutator.choice.randrange(5)
    if kind == 0:
        tensor.data_type = mutator.choice.randrange(30)
    elif kind == 1:
        del tensor.dims[:]
        tensor.dims.extend(mutator.pick(_LENGTHS) for _ in range(mutator.choice.randrange(4)))
    elif kind == 2:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="beside.bin")
    elif kind == 3 and tensor.raw_data:
        raw = bytearray(tensor.raw_data)
        raw[mutator.choice.randrange(len(raw))] = mutator.choice.randrange(256)
        tensor.raw_data = bytes(raw)
    else:
        tensor.ClearField("raw_data")


def _order(mutator: Mutator, model: ModelProto) -> None:
    """Take a node away, repeat one, or change their order."""
    graph = mutator.graph(model)
    if not graph.node:
        return
    nodes = [NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    kind = mutator.choice.randrange(3)
    if kind == 0:
        del nodes[mutator.choice.randrange(len(nodes))]
    elif kind == 1:
        nodes.append(mutator.pick(nodes))
    else:
        mutator.choice.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def _versions(mutator: Mutator, model: ModelProto) -> None:
    entry = mutator.pick(model.opset_import)
    entry.version = mutator.pick([0, 1, 5, 7, 9, 11, 13, 17, 18, 21, 25, 300, entry.version])


def _inside(mutator: Mutator, model: ModelProto) -> None:
    """Put all nodes of a graph into a branch or a loop."""
    graph = mutator.graph(model)
    if not graph.node or not graph.output:
        return
    inner = GraphProto(name="inner")
    inner.node.extend(graph.node)
    inner.output.extend(graph.output)
    names = [output.name for output in graph.output]
    del graph.node[:]
    if mutator.choice.randrange(2):
        graph.node.append(
            helper.make_node("If", [mutator.name(model)], names, then_branch=inner, else_branch=inner)
        )
    else:
        inner.input.extend([ValueInfoProto(name="turn"), ValueInfoProto(name="on")])
        inner.output.insert(0, ValueInfoProto(name="on"))
        graph.node.append(helper.make_node("Loop", [mutator.name(model), ""], names, body=inner))


def _function(mutator: Mutator, model: ModelProto) -> None:
    """Make a node call a function of its own name."""
    node = mutator.node(model)
    if node is None:
        return
    inner = NodeProto()
    inner.CopyFrom(node)
    domain = mutator.pick(["", "my"])
    made = model.functions.add(name=node.op_type, domain=domain)
    made.input.extend(dict.fromkeys(filter(None, node.input)))
    made.output.extend(dict.fromkeys(filter(None, node.output)))
    made.node.append(inner)
    made.opset_import.extend(model.opset_import)
    node.domain = domain


CHANGES: tuple[Change, ...] = (
    _operator, _domain, _input, _input, _output, _attribute, _attribute, _attribute, _shape, _shape, _weight,
    _order, _versions, _inside, _function,
)  # fmt: skip
