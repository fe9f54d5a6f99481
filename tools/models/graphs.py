"""Small and large graphs with the structure that exporters of PyTorch give to transformers.

Weights of any size are declared as external data that does not exist: cost needs only their shapes.
``stored`` puts small random ones in, for runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Shape = Sequence[int | str]


class Builder(Struct):
    """Nodes in the making, with names that nobody has to think of."""

    opset: int
    stored: bool = False
    dynamo: bool = False
    """In the style of the exporter by torch.export, not of the one by TorchScript."""
    nodes: list[NodeProto] = field(default_factory=list)
    initial: list[TensorProto] = field(default_factory=list)
    inputs: list[object] = field(default_factory=list)
    scope: str = ""
    count: int = 0

    def __call__(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = self.several(op, *inputs, outputs=outputs, **attributes)
        return names[0]

    def several(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> list[str]:
        self.count += 1
        title = f"node_{op}_{self.count}" if self.dynamo else f"{self.scope}/{op}_{self.count}"
        stem = f"val_{self.count}" if self.dynamo else f"{title}_output"
        names = [f"{stem}_{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=title, **attributes))
        return names

    def input(self, name: str, kind: int, shape: Shape) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def weight(self, *shape: int) -> str:
        self.count += 1
        name = f"weight_{self.count}"
        if self.stored:
            values = np.random.default_rng(self.count).normal(size=shape).astype(np.float32) / 4
            self.initial.append(numpy_helper.from_array(values, name))
        else:
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
            tensor.data_location = TensorProto.EXTERNAL
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", "not_there.bin"
            self.initial.append(tensor)
        return name

    def constant(self, value: object, kind: str = "int64") -> str:
        if self.dynamo:  # constants are folded into initializers there
            return self.held(value, kind)
        array = np.asarray(value, dtype=kind)
        return self("Constant", value=numpy_helper.from_array(array))

    def held(self, value: object, kind: str = "int64") -> str:
        self.count += 1
        name = f"held_{self.count}"
        self.initial.append(numpy_helper.from_array(np.asarray(value, dtype=kind), name))
        return name

    def length(self, x: str, axis: int) -> str:
        """One length of a tensor, as a vector of one entry."""
        if self.dynamo:
            return self("Shape", x, start=axis, end=axis + 1)
        one = self("Gather", self("Shape", x), self.constant(axis), axis=0)
        return self("Unsqueeze", one, self.constant([0]))

    def reshape(self, x: str, *lengths: int | str) -> str:
        """Reshape to lengths that are numbers, or vectors computed before."""
        pieces = [self.constant([n]) if isinstance(n, int) else n for n in lengths]
        allow = {"allowzero": 1} if self.dynamo else {}
        return self("Reshape", x, self("Concat", *pieces, axis=0), **allow)

    def expand(self, x: str, *lengths: int | str) -> str:
        """Expand to lengths that are numbers, or vectors computed before; TorchScript looks for -1 first."""
        pieces = [self.constant([n]) if isinstance(n, int) else n for n in lengths]
        wanted = self("Concat", *pieces, axis=0)
        if self.dynamo:
            return self("Expand", x, wanted)
        ones = self(
            "ConstantOfShape", self("Shape", wanted), value=numpy_helper.from_array(np.ones(1, np.int64))
        )
        open_ = self("Equal", wanted, self("Mul", ones, self.constant(-1)))
        return self("Expand", x, self("Where", open_, ones, wanted))

    def mean(self, x: str) -> str:
        if self.opset >= 18:
            return self("ReduceMean", x, self.constant([-1]), keepdims=1)
        return self("ReduceMean", x, axes=[-1], keepdims=1)

    def linear(self, x: str, n: int, m: int, bias: bool = True) -> str:
        y = self("MatMul", x, self.weight(n, m))
        return self("Add", self.weight(m), y) if bias else y

    def norm(self, x: str, n: int) -> str:
        return self("LayerNormalization", x, self.weight(n), self.weight(n), axis=-1, epsilon=1e-12)

    def model(self, outputs: Sequence[tuple[str, int, Shape]]) -> ModelProto:
        made = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs]
        graph = helper.make_graph(self.nodes, "main", self.inputs, made, self.initial)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


class Sizes(Struct, frozen=True):
    layers: int = 12
    hidden: int = 768
    heads: int = 12
    inner: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    shared: int = 12
    """Heads of keys and values."""

    @property
    def per_head(self) -> int:
        return self.hidden // self.heads


SMALL = Sizes(layers=2, hidden=8, heads=2, inner=16, vocabulary=20, positions=16, shared=1)
INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def bert(
    opset: int = 17, sizes: Sizes | None = None, stored: bool = False, dynamo: bool = False
) -> ModelProto:
    """An encoder without pooler: mask, learned positions, post-norm, exact Gelu."""
    s, b = sizes or Sizes(), Builder(opset, stored, dynamo)
    ids = b.input("input_ids", INT, ["batch", "seq"])
    mask = b.input("attention_mask", INT, ["batch", "seq"])
    b.scope = "/embeddings"
    positions = b.held(np.arange(s.positions)[None])
    taken = b("Slice", positions, b.constant([0]), b.length(ids, 1), b.constant([1]), b.constant([1]))
    words = b("Gather", b.weight(s.vocabulary, s.hidden), ids)
    kinds = b("ConstantOfShape", b("Shape", ids), value=numpy_helper.from_array(np.zeros(1, np.int64)))
    x = b("Add", words, b("Gather", b.weight(2, s.hidden), kinds))
    x = b("Add", x, b("Gather", b.weight(s.positions, s.hidden), taken))
    x = b.norm(x, s.hidden)
    b.scope = ""
    spread = b("Unsqueeze", mask, b.constant([1, 2]))
    seq = b.length(ids, 1)
    square = b.expand(b("Cast", spread, to=TensorProto.BOOL), b.length(ids, 0), 1, seq, seq)
    bias = square
    if opset < 23:
        bias = b("Where", square, b.constant(0, "float32"), b.constant(-3e38, "float32"))
    for n in range(s.layers):
        b.scope = f"/encoder/layer.{n}/attention"
        x = b.norm(b("Add", bert_attention(b, x, bias, s), x), s.hidden)
        b.scope = f"/encoder/layer.{n}/mlp"
        up = b.linear(x, s.hidden, s.inner)
        wide = b("Add", b("Erf", b("Div", up, b.constant(2**0.5, "float32"))), b.constant(1, "float32"))
        act = b("Mul", b("Mul", up, wide), b.constant(0.5, "float32"))
        x = b.norm(b("Add", b.linear(act, s.inner, s.hidden), x), s.hidden)
    return b.model([(x, FLOAT, ["batch", "seq", s.hidden])])


def bert_attention(b: Builder, x: str, bias: str, s: Sizes) -> str:
    def heads(y: str, order: list[int]) -> str:
        split = b.reshape(y, b.length(y, 0), b.length(y, 1), s.heads, s.per_head)
        return b("Transpose", split, perm=order)

    query = heads(b.linear(x, s.hidden, s.hidden), [0, 2, 1, 3])
    keys = heads(b.linear(x, s.hidden, s.hidden), [0, 2, 1, 3])
    values = heads(b.linear(x, s.hidden, s.hidden), [0, 2, 1, 3])
    mixed = attended(b, query, keys, values, s, bias=bias)
    mixed = b("Transpose", mixed, perm=[0, 2, 1, 3])
    return b.linear(b.reshape(mixed, b.length(mixed, 0), b.length(mixed, 1), s.hidden), s.hidden, s.hidden)


def attended(b: Builder, query: str, keys: str, values: str, s: Sizes, bias: str = "", seen: str = "") -> str:
    """Attention with a mask that is added or a condition; one operator from 23 on."""
    if b.opset >= 23:
        return b("Attention", query, keys, values, *([bias] if bias else []), is_causal=0 if bias else 1)
    swapped = b("Transpose", keys, perm=[0, 1, 3, 2])
    if b.dynamo:  # a root of the scale on both sides, as scaled_dot_product_attention is decomposed
        root = b.constant(s.per_head**-0.25, "float32")
        scores = b("MatMul", b("Mul", query, root), b("Mul", swapped, root))
    else:
        scores = b("Div", b("MatMul", query, swapped), b.constant(s.per_head**0.5, "float32"))
    low = b.constant(-3e38, "float32")
    scores = b("Add", scores, bias) if bias else b("Where", seen, scores, low)
    weights = b("Softmax", scores, axis=-1)
    if b.dynamo:
        weights = b("Where", b("IsNaN", weights), b.constant(0, "float32"), weights)
    return b("MatMul", weights, values)


def gpt2(
    opset: int = 17, sizes: Sizes | None = None, stored: bool = False, dynamo: bool = False
) -> ModelProto:
    """A decoder: rows through Gemm, one product for query, key and value, a causal mask from a buffer."""
    s, b = sizes or Sizes(vocabulary=50257, positions=1024), Builder(opset, stored, dynamo)
    ids = b.input("input_ids", INT, ["batch", "seq"])
    seq = b("Squeeze", b.length(ids, 1), b.constant([0]))
    places = b("Range", b.constant(0), seq, b.constant(1))
    x = b("Gather", b.weight(s.vocabulary, s.hidden), ids)
    x = b("Add", x, b("Gather", b.weight(s.positions, s.hidden), b("Unsqueeze", places, b.constant([0]))))
    rows = b("Unsqueeze", places, b.constant([1]))
    seen = b("GreaterOrEqual", rows, b("Unsqueeze", places, b.constant([0])))
    for n in range(s.layers):
        b.scope = f"/h.{n}/attn"
        y = b.norm(x, s.hidden)
        wide = conv1d(b, y, s.hidden, 3 * s.hidden)
        parts = b.several("Split", wide, b.constant([s.hidden] * 3), outputs=3, axis=-1)
        heads = [b.reshape(p, b.length(p, 0), b.length(p, 1), s.heads, s.per_head) for p in parts]
        query = b("Transpose", heads[0], perm=[0, 2, 1, 3])
        keys = b("Transpose", heads[1], perm=[0, 2, 1, 3])
        values = b("Transpose", heads[2], perm=[0, 2, 1, 3])
        mixed = attended(b, query, keys, values, s, seen=seen)
        back = b.reshape(
            b("Transpose", mixed, perm=[0, 2, 1, 3]), b.length(ids, 0), b.length(ids, 1), s.hidden
        )
        x = b("Add", conv1d(b, back, s.hidden, s.hidden), x)
        b.scope = f"/h.{n}/mlp"
        up = conv1d(b, b.norm(x, s.hidden), s.hidden, s.inner)
        x = b("Add", x, conv1d(b, tanh_gelu(b, up), s.inner, s.hidden))
    b.scope = ""
    y = b("MatMul", b.norm(x, s.hidden), b.weight(s.hidden, s.vocabulary))
    return b.model([(y, FLOAT, ["batch", "seq", s.vocabulary])])


def conv1d(b: Builder, x: str, n: int, m: int) -> str:
    flat = b("Reshape", x, b.constant([-1, n]))
    y = b("Gemm", flat, b.weight(n, m), b.weight(m))
    return b.reshape(y, b.length(x, 0), b.length(x, 1), m)


def tanh_gelu(b: Builder, x: str) -> str:
    cube = b("Mul", b("Pow", x, b.constant(3, "float32")), b.constant(0.044715, "float32"))
    inside = b("Mul", b("Add", x, cube), b.constant(0.7978845608, "float32"))
    half = b("Mul", x, b.constant(0.5, "float32"))
    return b("Mul", half, b("Add", b("Tanh", inside), b.constant(1, "float32")))


LLAMA = Sizes(layers=22, hidden=2048, heads=32, inner=5632, vocabulary=32000, shared=4)


def llama(
    opset: int = 17, sizes: Sizes | None = None, stored: bool = False, dynamo: bool = False
) -> ModelProto:
    """A decoder with grouped queries, rotary positions, RMS norms and gates; new operators from 23 on."""
    s, b = sizes or LLAMA, Builder(opset, stored, dynamo)
    ids = b.input("input_ids", INT, ["batch", "seq"])
    seq = b("Squeeze", b.length(ids, 1), b.constant([0]))
    cos, sin = rotary_tables(b, seq, s)
    mask = causal_mask(b, ids) if opset < 23 else ""
    x = b("Gather", b.weight(s.vocabulary, s.hidden), ids)
    for n in range(s.layers):
        b.scope = f"/layers.{n}/self_attn"
        x = b("Add", x, llama_attention(b, rms(b, x, s.hidden), cos, sin, mask, ids, s))
        b.scope = f"/layers.{n}/mlp"
        y = rms(b, x, s.hidden)
        gate = b.linear(y, s.hidden, s.inner, bias=False)
        act = b("Mul", gate, b("Sigmoid", gate))
        both = b("Mul", act, b.linear(y, s.hidden, s.inner, bias=False))
        x = b("Add", x, b.linear(both, s.inner, s.hidden, bias=False))
    b.scope = ""
    y = b.linear(rms(b, x, s.hidden), s.hidden, s.vocabulary, bias=False)
    return b.model([(y, FLOAT, ["batch", "seq", s.vocabulary])])


def rms(b: Builder, x: str, n: int) -> str:
    if b.opset >= 23:
        return b("RMSNormalization", x, b.weight(n), axis=-1, epsilon=1e-6)
    square = b("Pow", x, b.constant(2, "float32"))
    size = b("Sqrt", b("Add", b.mean(square), b.constant(1e-6, "float32")))
    return b("Mul", b.weight(n), b("Mul", x, b("Div", b.constant(1, "float32"), size)))


def rotary_tables(b: Builder, seq: str, s: Sizes) -> tuple[str, str]:
    places = b("Cast", b("Range", b.constant(0), seq, b.constant(1)), to=FLOAT)
    angles = b("Mul", b("Unsqueeze", places, b.constant([1])), b.weight(1, s.per_head // 2))
    if b.opset >= 23:
        return b("Cos", angles), b("Sin", angles)
    both = b("Concat", angles, angles, axis=-1)
    return b("Cos", both), b("Sin", both)


def causal_mask(b: Builder, ids: str) -> str:
    size = b("Concat", b.length(ids, 1), b.length(ids, 1), axis=0)
    low = numpy_helper.from_array(np.array([-3e38], np.float32))
    square = b("Trilu", b("ConstantOfShape", size, value=low), b.constant(1), upper=1)
    return b("Unsqueeze", square, b.constant([0, 1]))


def rotated(b: Builder, x: str, cos: str, sin: str, s: Sizes) -> str:
    half = s.per_head // 2
    first = b("Slice", x, b.constant([0]), b.constant([half]), b.constant([3]), b.constant([1]))
    end = b.constant([np.iinfo(np.int64).max])
    second = b("Slice", x, b.constant([half]), end, b.constant([3]), b.constant([1]))
    turned = b("Concat", b("Neg", second), first, axis=-1)
    return b("Add", b("Mul", x, cos), b("Mul", turned, sin))


def repeated(b: Builder, x: str, s: Sizes) -> str:
    """Heads of keys or values, each as often as queries share it, in the manner of ``repeat_kv``."""
    times = s.heads // s.shared
    batch, seq = b.length(x, 0), b.length(x, 2)
    five = b("Unsqueeze", x, b.constant([2]))
    spread = b.expand(five, batch, s.shared, times, seq, s.per_head)
    return b.reshape(spread, batch, s.heads, seq, s.per_head)


def llama_attention(b: Builder, x: str, cos: str, sin: str, mask: str, ids: str, s: Sizes) -> str:
    query = b.linear(x, s.hidden, s.hidden, bias=False)
    keys = b.linear(x, s.hidden, s.shared * s.per_head, bias=False)
    values = b.linear(x, s.hidden, s.shared * s.per_head, bias=False)

    def heads(y: str, n: int) -> str:
        return b("Transpose", b.reshape(y, b.length(ids, 0), -1, n, s.per_head), perm=[0, 2, 1, 3])

    q, k, v = heads(query, s.heads), heads(keys, s.shared), heads(values, s.shared)
    if b.opset >= 23:
        q = b("RotaryEmbedding", q, *spread_tables(b, cos, sin, ids))
        k = b("RotaryEmbedding", k, *spread_tables(b, cos, sin, ids))
        mixed = b("Attention", q, k, v, is_causal=1)
    else:
        q, k = rotated(b, q, cos, sin, s), rotated(b, k, cos, sin, s)
        k, v = repeated(b, k, s), repeated(b, v, s)
        scores = b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2]))
        scaled = b("Mul", scores, b.constant(s.per_head**-0.5, "float32"))
        mixed = b("MatMul", b("Softmax", b("Add", scaled, mask), axis=-1), v)
    back = b.reshape(b("Transpose", mixed, perm=[0, 2, 1, 3]), b.length(ids, 0), -1, s.hidden)
    return b.linear(back, s.hidden, s.hidden, bias=False)


def spread_tables(b: Builder, cos: str, sin: str, ids: str) -> tuple[str, str]:
    """Tables of positions for every sequence of the batch, as the operator wants them."""
    size = b("Concat", b.length(ids, 0), b.constant([1, 1]), axis=0)
    return b("Expand", cos, size), b("Expand", sin, size)


# ---- others made of them -----------------------------------------------------------------------


def deeper_bert() -> ModelProto:
    """The small BERT with a layer more, under other names."""
    deeper = bert(17, replace(SMALL, layers=3))
    for node in deeper.graph.node:
        node.name = node.name.replace("/encoder/layer", "/stack/block")
    return deeper


def with_all_values(model: ModelProto) -> ModelProto:
    """A copy of a model of which every value is an output."""
    whole = ModelProto()
    whole.CopyFrom(model)
    named = {output.name for output in whole.graph.output}
    made = [name for node in whole.graph.node for name in node.output if name and name not in named]
    whole.graph.output.extend(map(helper.make_empty_tensor_value_info, made))
    return whole
