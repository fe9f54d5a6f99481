"""Nodes whose parameters are inputs, some of them computed from lengths.

A parameter that was right where the model was made may be wrong elsewhere.  Whether it is, and what comes out
where it is not, is what ``tools.models.other_lengths`` asks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import numpy_helper

from tools.generate.valid_graphs import Maker, info_of
from tools.generate.valid_nodes import SIMPLE, Kind, try_one


def _last(m: Maker) -> str:
    return m.nodes[-1].output[0]


def _needed(made: bool) -> None:
    if not made:
        raise StopIteration


def _made(m: Maker, op: str, *inputs: str, **attributes: object) -> str:
    """What a node gives; StopIteration where it cannot be run."""
    _needed(m.add(op, *inputs, **attributes))
    return _last(m)


def _length(m: Maker) -> str:
    """A length of some tensor, or a little more or less: a vector of one entry."""
    a = m.pick(lambda x: x.ndim >= 1 and x.size > 0)
    at = m.draw.number(0, m.array(a).ndim - 1)
    found = _made(m, "Shape", a, start=at, end=at + 1)
    for _ in range(m.draw.pick((0, 0, 1, 1, 2))):
        op = m.draw.pick(("Add", "Sub", "Mul", "Div", "Min", "Max", "Neg"))
        found = _made(m, op, found, *([] if op == "Neg" else [m.const([m.draw.number(1, 3)])]))
    return found


def _entry(m: Maker, *numbers: int) -> str:
    """A vector of one number: one of these, or computed from a length."""
    return _length(m) if m.draw.chance(0.5) else m.const([m.draw.pick(numbers)])


def _scalar(m: Maker, *numbers: int) -> str:
    return _made(m, "Squeeze", _entry(m, *numbers))


def _vector(m: Maker, size: int, *numbers: int) -> str:
    """A vector of numbers, some of them computed from lengths."""
    if size == 0 or m.draw.chance(0.2):
        return m.const([m.draw.pick(numbers) for _ in range(size)])
    return _made(m, "Concat", *[_entry(m, *numbers) for _ in range(size)], axis=0)


def _some_axes(m: Maker, rank: int) -> list[int]:
    axes = m.draw.random.sample(range(rank), m.draw.number(1, rank))
    return [a - rank if m.draw.chance(0.3) else a for a in axes]


# ---- which elements ------------------------------------------------------------------------------


def _slice(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    axes = _some_axes(m, m.array(a).ndim)
    starts, ends = _vector(m, len(axes), -3, -1, 0, 1, 2), _vector(m, len(axes), -2, -1, 1, 2, 3, 2**62)
    steps = m.const([m.draw.pick((1, 1, 2, 3, -1, -2)) for _ in axes])
    return m.add("Slice", a, starts, ends, m.const(axes), steps)


def _gather(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    index = _scalar(m, -2, -1, 0, 1, 2) if m.draw.chance(0.5) else _vector(m, 2, -2, -1, 0, 1, 2)
    return m.add("Gather", a, index, axis=m.axis(a))


def _gather_elements(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    own, axis = m.array(a).shape, m.axis(a)
    shape = [m.draw.number(1, max(1, d)) for d in own]
    top = max(1, own[axis])
    index = np.array([m.draw.number(-top, top - 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return m.add("GatherElements", a, m.const(index), axis=axis)


def _places(m: Maker, shape: Sequence[int], depth: int, count: int) -> list[list[int]]:
    return [[m.draw.number(-d, d - 1) for d in shape[:depth]] for _ in range(count)]


def _gather_nd(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1 and x.size > 0)
    own = m.array(a).shape
    batch = 1 if len(own) >= 2 and m.draw.chance(0.3) else 0
    depth = m.draw.number(1, len(own) - batch)
    places = _places(m, own[batch:], depth, 2)
    return m.add("GatherND", a, m.const([places] * own[0] if batch else places), batch_dims=batch)


def _scatter(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype.kind == "f" and x.ndim >= 1 and x.size > 0)
    own, kind = m.array(a).shape, m.array(a).dtype.name
    reduction = {"reduction": m.draw.pick(("none", "add", "mul", "max", "min"))}
    if m.draw.chance(0.5):
        depth = m.draw.number(1, len(own))
        updates = m.weight(kind, [2, *own[depth:]])
        return m.add("ScatterND", a, m.const(_places(m, own, depth, 2)), updates, **reduction)
    axis = m.axis(a)
    shape = [m.draw.number(1, d) for d in own]
    index = np.arange(shape[axis]) - m.draw.number(0, 1)
    spread = np.moveaxis(np.broadcast_to(index, [*np.delete(shape, axis), shape[axis]]), -1, axis)
    return m.add("ScatterElements", a, m.const(spread), m.weight(kind, shape), axis=axis, **reduction)


def _compress(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    chosen = m.const([m.draw.chance(0.6) for _ in range(m.draw.number(1, 3))], "bool")
    return m.add("Compress", a, chosen, **({"axis": m.axis(a)} if m.draw.chance(0.7) else {}))


def _topk(m: Maker) -> bool:
    a = m.real(1)
    return m.add("TopK", a, _entry(m, 0, 1, 2, 3), outputs=2, axis=m.axis(a), largest=m.draw.number(0, 1))


def _trilu(m: Maker) -> bool:
    return m.add("Trilu", m.real(2), _scalar(m, -2, -1, 0, 1, 2), upper=m.draw.number(0, 1))


def _nonzero(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    found = _made(m, "NonZero", a)
    return m.add("Transpose", found) and m.add("GatherND", a, _last(m))


# ---- which shape ---------------------------------------------------------------------------------


def _pad(m: Maker) -> bool:
    a = m.real(1, 4)
    axes = _some_axes(m, m.array(a).ndim)
    modes = ("constant", "constant", "edge", "reflect", *(["wrap"] if m.opset >= 19 else []))
    pads = _vector(m, 2 * len(axes), -1, 0, 0, 1, 2)
    return m.add("Pad", a, pads, "", m.const(axes), mode=m.draw.pick(modes))


def _resize(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.float32 and x.ndim in (1, 2, 3, 4))
    rank = m.array(a).ndim
    axes = sorted(m.draw.random.sample(range(rank), m.draw.number(1, min(2, rank))))
    window = {
        "mode": m.draw.pick(("nearest", "nearest", "linear")),
        "coordinate_transformation_mode": m.draw.pick(("half_pixel", "asymmetric", "align_corners")),
        "axes": axes,
    }
    if m.draw.chance(0.5):
        scales = m.const([m.draw.pick((0.5, 0.6, 0.75, 1.0, 1.5, 2.0)) for _ in axes], "float32")
        return m.add("Resize", a, "", scales, **window)
    kept = m.draw.pick(("stretch", "stretch", "not_larger", "not_smaller"))
    return m.add(
        "Resize", a, "", "", _vector(m, len(axes), 1, 2, 3, 4), keep_aspect_ratio_policy=kept, **window
    )


def _expand(m: Maker) -> bool:
    a = m.pick()
    return m.add("Expand", a, _vector(m, m.draw.number(0, m.array(a).ndim + 1), 1, 1, 2, 3))


def _tile(m: Maker) -> bool:
    a = m.pick(lambda x: 1 <= x.ndim <= 3)
    return m.add("Tile", a, _vector(m, m.array(a).ndim, 0, 1, 1, 2))


def _range(m: Maker) -> bool:
    return m.add(
        "Range", _scalar(m, 0, 1, 2), _scalar(m, 1, 3, 5), m.const(m.draw.pick((1, 1, 2, 3, -1, -2)))
    )


def _one_hot(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.int64 and x.ndim <= 3)
    rank = m.array(a).ndim
    return m.add(
        "OneHot", a, _entry(m, 1, 3), m.const([0.0, 1.0], "float32"), axis=m.draw.number(-rank - 1, rank)
    )


def _reshape(m: Maker) -> bool:
    a = m.pick()
    if m.draw.chance(0.5):
        return m.add("Reshape", a, _vector(m, m.draw.number(1, 4), -1, 0, 1, 1, 2, 3))
    size, rank = m.array(a).size, m.array(a).ndim
    part = m.draw.pick([d for d in range(1, size + 1) if size % d == 0] or [1])
    lead = [0] if rank >= 1 and m.draw.chance(0.3) else []
    return m.add("Reshape", a, m.const([*lead, *m.draw.pick(([part, -1], [-1, part], [-1, 1, part]))]))


def _of_shape(m: Maker) -> bool:
    value = numpy_helper.from_array(np.array([m.draw.number(0, 2)], m.draw.pick(("float32", "int64"))))
    return m.add("ConstantOfShape", _vector(m, m.draw.number(0, 3), 0, 1, 2, 3), value=value)


def _squeeze(m: Maker) -> bool:
    a = m.pick(lambda x: 1 in x.shape)
    ones = [n for n, d in enumerate(m.array(a).shape) if d == 1]
    kept = m.draw.random.sample(ones, m.draw.number(1, len(ones)))
    return m.add("Squeeze", a, m.const(kept)) if m.draw.chance(0.7) else m.add("Squeeze", a)


def _split(m: Maker) -> bool:
    a = m.pick(lambda x: x.ndim >= 1)
    axis = m.axis(a)
    size = m.array(a).shape[axis]
    if m.draw.chance(0.4):
        parts = m.draw.number(1, 3)
        return m.add("Split", a, outputs=parts, axis=axis, num_outputs=parts)
    first = m.draw.number(0, size)
    if m.draw.chance(0.4):
        return m.add("Split", a, m.const([first, size - first]), outputs=2, axis=axis)
    whole = _made(m, "Shape", a, start=axis % m.array(a).ndim, end=axis % m.array(a).ndim + 1)
    head = _entry(m, 0, 1, 2)
    rest = _made(m, "Sub", whole, head)
    return m.add("Split", a, _made(m, "Concat", head, rest, axis=0), outputs=2, axis=axis)


def _cumsum(m: Maker) -> bool:
    a = m.number(1)
    return m.add("CumSum", a, m.const(m.axis(a)), exclusive=m.draw.number(0, 1), reverse=m.draw.number(0, 1))


def _blocks(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.float32 and x.ndim == 4)
    if m.draw.chance(0.5):
        return m.add("SpaceToDepth", a, blocksize=2)
    return m.add("DepthToSpace", a, blocksize=2, mode=m.draw.pick(("DCR", "CRD")))


def _crop(m: Maker) -> bool:
    a = m.real(1, 4)
    axes = _some_axes(m, m.array(a).ndim)
    return m.add("CenterCropPad", a, _vector(m, len(axes), 1, 2, 3, 4), axes=axes)


# ---- two tensors with lengths of their own ---------------------------------------------------------


def _two(m: Maker) -> bool:
    """Operators that need lengths of two tensors to fit."""
    a = m.real()
    b = m.pick(lambda x: x.dtype == m.array(a).dtype)
    kind = m.draw.number(0, 4)
    if kind == 0:
        return m.add(m.draw.pick(("Add", "Mul", "Less", "Pow", "Max")), a, b)
    if kind == 1:
        return m.add("MatMul", a, b)
    if kind == 2:
        return m.add("Gemm", a, b, transA=m.draw.number(0, 1), transB=m.draw.number(0, 1))
    if kind == 3:
        return m.add("Concat", a, b, axis=m.axis(a))
    left, right = m.array(a), m.array(b)
    if left.ndim != 2 or right.ndim != 2:
        return False
    return m.add("Einsum", a, b, equation=m.draw.pick(("ij,jk->ik", "ij,ik->jk", "ij,kj->ik", "ij,jk->")))


def _where(m: Maker) -> bool:
    condition = m.pick(lambda x: x.dtype.kind == "b")
    a = m.number()
    return m.add("Where", condition, a, m.pick(lambda x: x.dtype == m.array(a).dtype))


def _window(m: Maker) -> bool:
    a = m.pick(lambda x: x.dtype == np.float32 and x.ndim in (3, 4))
    spatial, channels = m.array(a).ndim - 2, m.array(a).shape[1]

    def some(low: int, high: int) -> list[int]:
        return [m.draw.number(low, high) for _ in range(spatial)]

    op = m.draw.pick(("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"))
    if m.draw.chance(0.3):  # onnxruntime has SAME with neither dilations nor steps that leave something out
        kernel = some(2, 3)
        shared: dict[str, object] = {
            "strides": some(1, 2),
            "auto_pad": m.draw.pick(("SAME_UPPER", "SAME_LOWER")),
        }
    else:
        kernel = some(1, 3)
        shared = {"strides": some(1, 3), "dilations": some(1, 2), "pads": [*some(0, 1), *some(0, 1)]}
    if op == "Conv":
        return m.add(op, a, m.weight("float32", [2, channels, *kernel]), **shared)
    if op == "ConvTranspose":
        return m.add(op, a, m.weight("float32", [channels, 2, *kernel]), **shared)
    ceil = {"ceil_mode": m.draw.number(0, 1)}
    return m.add(op, a, kernel_shape=kernel, **shared, **ceil)


# ---- graphs inside -------------------------------------------------------------------------------


def _inside(inner: Maker, most: int) -> list[str]:
    """The last results of some nodes of a graph inside."""
    for _ in range(inner.draw.number(1, most)):
        try_one(inner, MEASURED)
    found = [name for node in inner.nodes for name in node.output if name]
    return [name for name in found if isinstance(inner.values[name], np.ndarray)]


def _if(m: Maker) -> bool:
    """A branch that a length decides."""
    compared = _made(m, m.draw.pick(("Less", "Greater", "Equal")), _length(m), m.const([m.draw.number(1, 4)]))
    condition = _made(m, "Squeeze", compared)
    then, other = m.inner(), m.inner()
    found = _inside(then, 3)
    _needed(bool(found))
    wanted = then.array(found[-1])
    _inside(other, 3)
    given = other.pick(lambda a: a.dtype == wanted.dtype)
    _needed(other.add("Identity", given))
    branches = {"then_branch": then.graph(found[-1:]), "else_branch": other.graph([_last(other)])}
    return m.add("If", condition, **branches)


def _loop(m: Maker) -> bool:
    """As many turns as a length; what is around is read inside, and results are gathered."""
    a = m.real()
    turns = _scalar(m, 0, 1, 2, 3)
    inner = m.inner()
    turn, on, state = (inner.name(stem) for stem in ("turn", "on", "state"))
    inner.values |= {turn: np.array(0, np.int64), on: np.array(True), state: m.array(a)}
    given = [info_of(name, inner.values[name]) for name in (turn, on, state)]
    carried_on = _made(inner, "Identity", on)
    after = _made(inner, m.draw.pick(("Tanh", "Relu", "Identity")), state)
    found = _inside(inner, 3)
    gathered = m.draw.pick(found or [after])
    body = inner.graph([carried_on, after, gathered], given)
    return m.add("Loop", turns, "", a, outputs=2, body=body)


def _scan(m: Maker) -> bool:
    """Along any axis, from either end; what is around is read inside."""
    a = m.real(1, 3)
    own, axis = m.array(a), m.axis(a)
    _needed(own.shape[axis] > 0)
    inner = m.inner()
    state, row = inner.name("state"), inner.name("row")
    slice_ = np.moveaxis(own, axis, 0)[0]
    inner.values |= {state: slice_, row: slice_}
    given = [info_of(name, slice_) for name in (state, row)]
    after = _made(inner, m.draw.pick(("Add", "Max")), state, row)
    found = _inside(inner, 2)
    body = inner.graph([after, m.draw.pick(found or [after])], given)
    start = _made(m, "ReduceMax", a, m.const([axis]), keepdims=0)
    back = [m.draw.number(0, 1)]
    return m.add(
        "Scan",
        start,
        a,
        outputs=2,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=back,
    )


MEASURED: tuple[Kind, ...] = (
    *[_slice] * 3, *[_gather] * 2, _gather_elements, _gather_nd, *[_scatter] * 2, _compress, _topk, _trilu,
    _nonzero, *[_pad] * 3, *[_resize] * 2, *[_expand] * 2, _tile, *[_range] * 2, _one_hot, *[_reshape] * 3,
    _of_shape, *[_squeeze] * 2, *[_split] * 2, _cumsum, _blocks, _crop, *[_two] * 4, _where, *[_window] * 3,
)  # fmt: skip
EVERY: tuple[Kind, ...] = (*MEASURED, *MEASURED, *SIMPLE, *[_if] * 6, *[_loop] * 5, *[_scan] * 4)
