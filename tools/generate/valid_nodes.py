"""The kinds of nodes that random models are made of: inputs and attributes that fit, most of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import helper, numpy_helper

from tools.generate.valid_graphs import FLOATS, WHOLE, Array, Maker, code_of, info_of

Kind = Callable[[Maker], bool]

UNARY = (
    "Abs", "Neg", "Exp", "Sqrt", "Sin", "Cos", "Tanh", "Sigmoid", "Relu", "Softplus", "Softsign", "Erf",
    "Floor", "Ceil", "Round", "Sign", "Reciprocal", "Identity", "HardSwish", "LeakyRelu", "Elu", "Selu",
    "HardSigmoid", "Celu", "Mish", "ThresholdedRelu", "Atan", "Cosh", "Log", "Asinh",
)  # fmt: skip
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "PRelu", "Mod")
_REAL = ("Mean", "Sum", "PRelu")
COMPARE = ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
REDUCE = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSumExp",
)  # fmt: skip


def _unary(m: Maker) -> bool:
    return m.add(m.draw.pick(UNARY), m.real())


def _whole_unary(m: Maker) -> bool:
    return m.add(m.draw.pick(("Abs", "Neg", "Sign", "Identity")), m.pick(lambda a: a.dtype.kind == "i"))


def _binary(m: Maker) -> bool:
    op = m.draw.pick(BINARY)
    a = m.real() if op in _REAL else m.number()
    b = m.beside(a)
    if op == "PRelu":  # only the slope is spread
        b = m.weight(m.array(a).dtype.name, m.array(a).shape[-1:])
    if op in ("Div", "Mod") and m.array(a).dtype.kind == "i" and not m.array(b).all():
        return False  # nobody says what that is
    if op == "Mod" and m.array(a).dtype.kind == "f":
        return m.add(op, a, b, fmod=1)
    if op in ("Max", "Min", "Mean", "Sum") and m.draw.chance(0.4):
        return m.add(op, a, b, m.beside(a))
    return m.add(op, a, b)


def _compare(m: Maker) -> bool:
    a = m.number()
    return m.add(m.draw.pick(COMPARE), a, m.beside(a))


def _logic(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype.kind == "b")
    op = m.draw.pick(("And", "Or", "Xor", "Not"))
    return m.add(op, a) if op == "Not" else m.add(op, a, m.beside(a))


def _where(m: Maker) -> bool:
    a = m.number()
    b = m.beside(a)
    found = m.tensors(lambda c: c.dtype.kind == "b")
    c = m.draw.pick(found) if found and m.draw.chance(0.6) else m.weight("bool", m.array(a).shape[-1:])
    return m.add("Where", c, a, b)


def _clip(m: Maker) -> bool:
    a = m.real()
    kind = m.array(a).dtype.name
    low = m.const(-1.0, kind) if m.draw.chance(0.6) else ""
    return m.add("Clip", a, low, *([m.const(1.5, kind)] if m.draw.chance(0.6) else []))


def _cast(m: Maker) -> bool:
    return m.add("Cast", m.pick(), to=code_of(np.dtype(m.draw.pick((*FLOATS, *WHOLE, "bool")))))


def _reduce(m: Maker) -> bool:
    a = m.real()
    rank = m.array(a).ndim
    axes = sorted(m.draw.random.sample(range(rank), m.draw.number(0, rank)))
    keep = {"keepdims": m.draw.number(0, 1)}
    op = m.draw.pick(REDUCE)
    if not axes:
        return m.add(op, a, **keep, noop_with_empty_axes=m.draw.number(0, 1))
    signed = [x - rank if m.draw.chance(0.4) else x for x in axes]
    return m.add(op, a, m.const(signed), **keep)


def _arg(m: Maker) -> bool:
    a = m.number(1)
    op, last = m.draw.pick(("ArgMax", "ArgMin")), m.draw.number(0, 1)
    return m.add(op, a, axis=m.axis(a), keepdims=m.draw.number(0, 1), select_last_index=last)


def _cumsum(m: Maker) -> bool:
    a = m.number(1)
    return m.add("CumSum", a, m.const(m.axis(a)), exclusive=m.draw.number(0, 1), reverse=m.draw.number(0, 1))


def _topk(m: Maker) -> bool:
    a = m.real(1)
    axis = m.axis(a)
    k = m.draw.number(1, max(1, min(2, m.array(a).shape[axis])))
    return m.add("TopK", a, m.const([k]), outputs=2, axis=axis, largest=m.draw.number(0, 1))


def _transpose(m: Maker) -> bool:
    a = m.pick()
    perm = list(range(m.array(a).ndim))
    m.draw.random.shuffle(perm)
    return m.add("Transpose", a, perm=perm) if m.draw.chance(0.8) else m.add("Transpose", a)


def _reshape(m: Maker) -> bool:
    a = m.pick()
    shape = list(m.array(a).shape)
    kind = m.draw.number(0, 3)
    if kind == 0:
        return m.add("Reshape", a, m.const([-1]))
    if kind == 1 and shape:
        return m.add("Reshape", a, m.const([0, -1]))
    if kind == 2:
        return m.add("Reshape", a, m.const([1, *shape]))
    if len(shape) >= 2:
        return m.add("Reshape", a, m.const([*[0] * (len(shape) - 2), -1]))
    return m.add("Flatten", a, axis=m.draw.number(0, len(shape)))


def _unsqueeze(m: Maker) -> bool:
    a = m.pick()
    return m.add("Unsqueeze", a, m.const(sorted({m.draw.number(0, m.array(a).ndim)})))


def _squeeze(m: Maker) -> bool:
    a = m.pick(lambda x: 1 in x.shape)
    return m.add("Squeeze", a, m.const([m.array(a).shape.index(1)]))


def _expand(m: Maker) -> bool:
    a = m.pick()
    lead = [m.draw.number(1, 3)] if m.draw.chance(0.5) else []
    return m.add("Expand", a, m.const([*lead, *[1] * m.array(a).ndim]))


def _concat(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    own, axis = m.array(a), m.axis(a)

    def fits(other: Array) -> bool:
        if other.dtype != own.dtype or other.ndim != own.ndim:
            return False
        at = axis % own.ndim
        return all(n == at or other.shape[n] == d for n, d in enumerate(own.shape))

    others = [m.draw.pick(m.tensors(fits)) for _ in range(m.draw.number(1, 2))]
    return m.add("Concat", a, *others, axis=axis)


def _split(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1 and max(x.shape) >= 2)
    axis = int(np.argmax(m.array(a).shape))
    size = m.array(a).shape[axis]
    if m.draw.chance(0.5):
        return m.add("Split", a, m.const([1, size - 1]), outputs=2, axis=axis)
    return m.add("Split", a, outputs=2, axis=axis, num_outputs=2)


def _slice(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    axis = m.axis(a)
    step = m.draw.pick((1, 1, 2, -1))
    start, end = (
        (m.draw.pick((-1, 5)), -9) if step < 0 else (m.draw.pick((0, 1, -2)), m.draw.pick((-1, 2, 9, 2**62)))
    )
    return m.add("Slice", a, m.const([start]), m.const([end]), m.const([axis]), m.const([step]))


def _gather(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1 and 0 not in x.shape)
    indices = m.draw.pick((0, -1, [0, -1], [[0], [0]], [0]))
    return m.add("Gather", a, m.const(indices), axis=m.axis(a))


def _gather_elements(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1 and 0 not in x.shape)
    shape = [1] * m.array(a).ndim
    return m.add("GatherElements", a, m.const(np.zeros(shape)), axis=m.axis(a))


def _scatter(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype.kind == "f" and x.ndim >= 1 and 0 not in x.shape)
    own, axis = m.array(a), m.axis(a)
    updates = m.weight(own.dtype.name, [1] * own.ndim)
    reduction = {"reduction": m.draw.pick(("none", "add", "mul", "max"))}
    if m.draw.chance(0.5):
        return m.add("ScatterElements", a, m.const(np.zeros([1] * own.ndim)), updates, axis=axis, **reduction)
    return m.add("ScatterND", a, m.const([[0] * own.ndim]), m.weight(own.dtype.name, [1]), **reduction)


def _pad(m: Maker) -> bool:
    a = m.real(1, 3)
    rank = m.array(a).ndim
    mode = m.draw.pick(("constant", "edge", "reflect"))
    pads = [m.draw.number(0, 1) for _ in range(2 * rank)]
    value = [m.const(0.5, m.array(a).dtype.name)] if mode == "constant" and m.draw.chance(0.5) else []
    return m.add("Pad", a, m.const(pads), *value, mode=mode)


def _tile(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    return m.add("Tile", a, m.const([m.draw.number(1, 2) for _ in range(m.array(a).ndim)]))


def _shape(m: Maker) -> bool:
    a = m.pick()
    if m.draw.chance(0.3):
        return m.add("Size", a)
    rank = m.array(a).ndim
    start = m.draw.number(-rank, rank)
    return m.add("Shape", a, start=start, end=m.draw.number(start, rank)) if rank else m.add("Shape", a)


def _by_shape(m: Maker) -> bool:
    """What exporters do with shapes: a length, a range as long, values of a shape that is computed."""
    a = m.pick(lambda x: x.ndim >= 1)
    if not m.add("Shape", a):
        return False
    shape = m.nodes[-1].output[0]
    kind = m.draw.number(0, 3)
    if kind == 0:
        value = numpy_helper.from_array(np.array([m.draw.pick((0.0, 1.5))], np.float32))
        return m.add("ConstantOfShape", shape, value=value)
    if kind == 1:
        return m.add("Reshape", a, shape)
    if not m.add("Gather", shape, m.const(m.draw.pick((0, -1))), axis=0):
        return False
    length = m.nodes[-1].output[0]
    if kind == 2:
        return m.add("Range", m.const(m.draw.number(0, 1)), length, m.const(m.draw.number(1, 2)))
    return m.add("Unsqueeze", length, m.const([0])) and m.add(
        "Expand", m.const([[1.5]], "float32"), m.nodes[-1].output[0]
    )


def _matmul(m: Maker) -> bool:
    a = m.real(1, 4)
    own = m.array(a)
    return m.add("MatMul", a, m.weight(own.dtype.name, [own.shape[-1], m.draw.number(1, 3)]))


def _products(m: Maker) -> bool:
    a = m.real(2, 3)
    rank = m.array(a).ndim
    order = [*range(rank - 2), rank - 1, rank - 2]
    return m.add("Transpose", a, perm=order) and m.add("MatMul", a, m.nodes[-1].output[0])


def _gemm(m: Maker) -> bool:
    a = m.real(2, 2)
    own, width, left, right = m.array(a), m.draw.number(1, 3), m.draw.number(0, 1), m.draw.number(0, 1)
    inner = own.shape[0 if left else 1]
    b = m.weight(own.dtype.name, [width, inner] if right else [inner, width])
    c = [m.weight(own.dtype.name, [width] if m.draw.chance(0.5) else [])] if m.draw.chance(0.6) else []
    return m.add("Gemm", a, b, *c, transA=left, transB=right, alpha=0.5, beta=m.draw.pick((1.0, 0.0, 2.0)))


def _conv(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.float32 and x.ndim in (3, 4))
    own = m.array(a)
    spatial = own.ndim - 2
    kernel = [m.draw.number(1, 2) for _ in range(spatial)]
    w = m.weight("float32", [m.draw.number(1, 3), own.shape[1], *kernel])
    bias = [m.weight("float32", m.array(w).shape[:1])] if m.draw.chance(0.5) else []
    window = _window(m, spatial)
    return m.add("Conv", a, w, *bias, **window)


def _window(m: Maker, spatial: int) -> dict[str, object]:
    found: dict[str, object] = {"strides": [m.draw.number(1, 2) for _ in range(spatial)]}
    if m.draw.chance(0.3):
        return {**found, "auto_pad": m.draw.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))}
    return {**found, "pads": [m.draw.number(0, 1) for _ in range(2 * spatial)]}


def _pool(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.float32 and x.ndim in (3, 4))
    spatial = m.array(a).ndim - 2
    op = m.draw.pick(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"))
    if op.startswith("Global"):  # onnx's evaluator knows the maximum of two dimensions only
        return m.add(op if spatial == 2 else "GlobalAveragePool", a)
    window = {**_window(m, spatial), "kernel_shape": [2] * spatial}
    if op == "MaxPool":  # onnx's evaluator is wrong about these
        window = {name: value for name, value in window.items() if name not in ("pads", "auto_pad")}
    if op == "AveragePool":
        window["count_include_pad"] = m.draw.number(0, 1)
    return m.add(op, a, **window)


def _norm(m: Maker) -> bool:
    op = m.draw.pick(
        ("Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "LpNormalization", "BatchNormalization")
    )
    a = m.real(2) if op == "BatchNormalization" else m.real(1)
    own = m.array(a)
    kind = own.dtype.name
    if op == "LayerNormalization":
        return m.add(op, a, m.weight(kind, own.shape[-1:]), axis=-1)
    if op == "BatchNormalization":
        some = [m.weight(kind, own.shape[1:2]) for _ in range(3)]
        return m.add(op, a, *some, m.const(np.ones(own.shape[1:2]), kind))
    return m.add(op, a, axis=m.axis(a))


def _einsum(m: Maker) -> bool:
    a = m.real(2, 2)
    equation = m.draw.pick(("ij->ji", "ij->i", "ij->", "ij,ij->ij", "ij,ij->i", "ij,kj->ik"))
    return m.add("Einsum", *[a] * (2 if "," in equation else 1), equation=equation)


def _others(m: Maker) -> bool:
    kind = m.draw.number(0, 3)
    if kind == 0:
        return m.add("Trilu", m.real(2), upper=m.draw.number(0, 1))
    if kind == 1:
        return m.add(
            "OneHot",
            m.pick(lambda a: a.dtype == np.int64),
            m.const(3),
            m.const([0.0, 1.0], "float32"),
            axis=-1,
        )
    if kind == 2:
        return m.add("EyeLike", m.real(2, 2), k=m.draw.number(-1, 1))
    return m.add("NonZero", m.pick(lambda a: a.ndim >= 1))


# ---- sequences, and graphs inside ----------------------------------------------------------------


def _sequence(m: Maker) -> bool:
    a = m.real(1)
    found = [name for name, item in m.values.items() if isinstance(item, list)]
    kind = m.draw.number(0, 3) if found else 4
    if kind == 4:
        same = m.array(a)
        others = m.tensors(lambda x: x.dtype == same.dtype and x.ndim == same.ndim)
        if m.draw.chance(0.3):
            return m.add("SplitToSequence", a, axis=m.axis(a), keepdims=m.draw.number(0, 1))
        return m.add("SequenceConstruct", a, *[m.draw.pick(others) for _ in range(m.draw.number(0, 2))])
    s = m.draw.pick(found)
    if kind == 0:
        return m.add("SequenceAt", s, m.const(m.draw.pick((0, -1))))
    if kind == 1:
        return m.add("SequenceLength", s)
    if kind == 2:
        return m.add("ConcatFromSequence", s, axis=0, new_axis=m.draw.number(0, 1))
    return m.add("SequenceErase", s, m.const(0))


def _some_nodes(inner: Maker, most: int) -> None:
    for _ in range(inner.draw.number(1, most)):
        try_one(inner, SIMPLE)


def _if(m: Maker) -> bool:
    conditions = m.tensors(lambda a: a.dtype.kind == "b" and a.size == 1 and a.ndim == 0)
    known = m.draw.chance(0.5) or not conditions
    condition = m.const(m.draw.chance(0.5), "bool") if known else m.draw.pick(conditions)
    then = m.inner()
    _some_nodes(then, 3)
    if not then.nodes:
        return False
    result = then.nodes[-1].output[0]
    if not isinstance(then.values[result], np.ndarray):
        return False
    other = m.inner()
    wanted = then.array(result)
    given = other.pick(lambda a: a.dtype == wanted.dtype and a.ndim == wanted.ndim)
    if not (other.add("Identity", given) and _maybe(other)):
        return False
    branches = {"then_branch": then.graph([result]), "else_branch": other.graph([other.nodes[0].output[0]])}
    return m.add("If", condition, **branches)


def _maybe(m: Maker) -> bool:
    _some_nodes(m, 1)
    return True


def _loop(m: Maker) -> bool:
    """A loop that carries a tensor of one shape, and gives what it has at every turn."""
    a = m.real()
    inner = m.inner()
    turn, on, state = (inner.name(stem) for stem in ("turn", "on", "state"))
    inner.values |= {turn: np.array(0, np.int64), on: np.array(True), state: m.array(a)}
    given = [info_of(name, inner.values[name]) for name in (turn, on)]
    given.append(helper.make_tensor_value_info(state, code_of(m.array(a).dtype), None))
    b = inner.weight(m.array(a).dtype.name, m.array(a).shape[-1:] if m.draw.chance(0.4) else [])
    if not (inner.add("Identity", on) and inner.add(m.draw.pick(("Add", "Mul", "Max")), state, b)):
        return False
    after = inner.nodes[-1].output[0]
    if not inner.add(m.draw.pick(("Tanh", "Sigmoid", "Relu")), after):
        return False
    outputs = [inner.nodes[0].output[0], after, inner.nodes[-1].output[0]]
    body = inner.graph(outputs, given)
    return m.add("Loop", m.const(m.draw.number(0, 3)), "", a, outputs=2, body=body)


def _scan(m: Maker) -> bool:
    """A scan along the first axis, with a state as large as a row."""
    a = m.real(1, 3)
    own = m.array(a)
    if own.shape[0] == 0:
        return False
    inner = m.inner()
    state, row = inner.name("state"), inner.name("row")
    inner.values |= {state: own[0], row: own[0]}
    given = [info_of(name, own[0]) for name in (state, row)]
    if not (inner.add(m.draw.pick(("Add", "Max", "Mul")), state, row) and inner.add("Tanh", row)):
        return False
    body = inner.graph([node.output[0] for node in inner.nodes], given)
    start = m.weight(own.dtype.name, own.shape[1:])
    return m.add("Scan", start, a, outputs=2, body=body, num_scan_inputs=1)


SIMPLE: tuple[Kind, ...] = (
    *[_unary] * 4, *[_binary] * 5, _whole_unary, _compare, _logic, _where, _clip, _cast, *[_reduce] * 3,
    _arg, _cumsum, _topk, *[_transpose] * 2, *[_reshape] * 2, _unsqueeze, _squeeze, _expand, *[_concat] *
    2, *[_split] * 2, *[_slice] * 3, *[_gather] * 2, _gather_elements, _scatter, _pad, _tile, _shape,
    *[_by_shape] * 3, *[_matmul] * 2, _products, _gemm, *[_conv] * 2, *[_pool] * 2, *[_norm] * 2, _einsum,
    _others,
)  # fmt: skip
ALL: tuple[Kind, ...] = (*SIMPLE, *SIMPLE, *[_sequence] * 4, *[_if] * 4, *[_loop] * 3, *[_scan] * 3)


def try_one(m: Maker, kinds: Sequence[Kind]) -> bool:
    try:
        return m.draw.pick(kinds)(m)
    except (StopIteration, IndexError, ValueError):  # nothing there that the node could take
        return False
