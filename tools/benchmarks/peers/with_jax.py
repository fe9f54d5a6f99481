"""The same operators in plain jax, as its own functions where it has one, and XLA's count of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.experimental import roofline

from peers.cases import Case

Function = Callable[..., Any]

SIMPLE: dict[str, Function] = {
    "Relu": nn.relu, "Sigmoid": nn.sigmoid, "Softplus": nn.softplus, "Elu": nn.elu, "Celu": nn.celu,
    "Selu": nn.selu, "LeakyRelu": nn.leaky_relu, "HardSwish": nn.hard_swish, "Mish": nn.mish,
    "Swish": nn.swish,
    "Gelu": lambda x: nn.gelu(x, approximate=False), "Softsign": nn.soft_sign,
    "HardSigmoid": lambda x: jnp.clip(0.2 * x + 0.5, 0, 1),
    "ThresholdedRelu": lambda x: jnp.where(x > 1.0, x, 0.0),
    "PRelu": lambda x, slope: jnp.where(x < 0, slope * x, x),
    "Exp": jnp.exp, "Log": jnp.log, "Sqrt": jnp.sqrt, "Reciprocal": jnp.reciprocal, "Abs": jnp.abs,
    "Neg": jnp.negative, "Floor": jnp.floor, "Ceil": jnp.ceil, "Round": jnp.round, "Sign": jnp.sign,
    "IsNaN": jnp.isnan, "IsInf": jnp.isinf, "Not": jnp.logical_not, "BitwiseNot": jnp.bitwise_not,
    "Sin": jnp.sin, "Cos": jnp.cos, "Tan": jnp.tan, "Asin": jnp.arcsin, "Acos": jnp.arccos,
    "Atan": jnp.arctan, "Sinh": jnp.sinh, "Cosh": jnp.cosh, "Tanh": jnp.tanh, "Asinh": jnp.arcsinh,
    "Acosh": jnp.arccosh, "Atanh": jnp.arctanh, "Erf": lax.erf, "Identity": lambda x: x,
    "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Div": jnp.divide, "Mod": jnp.mod,
    "Pow": jnp.power, "Equal": jnp.equal, "Less": jnp.less, "Greater": jnp.greater,
    "LessOrEqual": jnp.less_equal, "GreaterOrEqual": jnp.greater_equal, "And": jnp.logical_and,
    "Or": jnp.logical_or, "Xor": jnp.logical_xor, "BitwiseAnd": jnp.bitwise_and,
    "BitwiseOr": jnp.bitwise_or, "BitwiseXor": jnp.bitwise_xor, "Clip": jnp.clip,
    "Max": lambda *xs: _folded(jnp.maximum, xs), "Min": lambda *xs: _folded(jnp.minimum, xs),
    "Sum": lambda *xs: _folded(jnp.add, xs), "Mean": lambda *xs: _folded(jnp.add, xs) / len(xs),
    "Softmax": nn.softmax, "LogSoftmax": nn.log_softmax,
    "Hardmax": lambda x: nn.one_hot(jnp.argmax(x, -1), x.shape[-1]),
    "MatMul": jnp.matmul, "Gemm": lambda a, b, c=None: a @ b if c is None else a @ b + c,
    "Transpose": jnp.transpose, "Flatten": lambda x: x.reshape(x.shape[0], -1),
    "GlobalAveragePool": lambda x: jnp.mean(x, tuple(range(2, x.ndim))),
    "GlobalMaxPool": lambda x: jnp.max(x, tuple(range(2, x.ndim))),
    "MeanVarianceNormalization": lambda x: nn.standardize(x, axis=(0, 2, 3)),
    "Where": jnp.where, "BitShift": jnp.left_shift, "DequantizeLinear": lambda x, scale: x * scale,
    "Shrink": lambda x: jnp.where(x < -0.5, x, jnp.where(x > 0.5, x, 0.0)),
    "SwiGLU": lambda a, b: nn.swish(a) * b, "Attention": lambda q, k, v: _attention(q, k, v),
    "GlobalLpPool": lambda x: jnp.sqrt(jnp.sum(x * x, tuple(range(2, x.ndim)))),
    "RNN": lambda x, w, r: _unrolled(_rnn_step, x, w, r, 1),
    "GRU": lambda x, w, r: _unrolled(_gru_step, x, w, r, 1),
    "LSTM": lambda x, w, r: _unrolled(_lstm_step, x, w, r, 2),
    "Gather": lambda x, i: jnp.take(x, i, 0), "GatherElements": lambda x, i: jnp.take_along_axis(x, i, 0),
    "Trilu": jnp.triu, "Split": lambda x: tuple(jnp.split(x, 2)), "EyeLike": lambda x: jnp.eye(*x.shape),
    "Cast": lambda x: x.astype(jnp.float16), "Shape": lambda x: jnp.array(x.shape),
    "Size": lambda x: jnp.array(x.size),
    "LpNormalization": lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True),
    "CastLike": lambda x, like: x.astype(like.dtype), "Dropout": lambda x: x,
    "ConvInteger": lambda x, w: lax.conv(x.astype(jnp.int32), w.astype(jnp.int32), (1, 1), "VALID"),
    "MatMulInteger": lambda a, b: a.astype(jnp.int32) @ b.astype(jnp.int32),
    "QuantizeLinear": lambda x, scale: jnp.clip(jnp.round(x / scale), 0, 255).astype(jnp.uint8),
    "DynamicQuantizeLinear": lambda x: _quantised(x),
    "ReverseSequence": lambda x, lengths: _reversed(x, lengths),
}  # fmt: skip

REDUCTIONS: dict[str, Function] = {
    "Sum": jnp.sum,
    "Max": jnp.max,
    "Min": jnp.min,
    "Prod": jnp.prod,
    "Mean": jnp.mean,
    "L1": lambda x, axes: jnp.sum(jnp.abs(x), axes),
    "L2": lambda x, axes: jnp.sqrt(jnp.sum(x * x, axes)),
    "LogSum": lambda x, axes: jnp.log(jnp.sum(x, axes)),
    "LogSumExp": lambda x, axes: nn.logsumexp(x, axes),
    "SumSquare": lambda x, axes: jnp.sum(x * x, axes),
}


def _folded(function: Function, values: tuple[Any, ...]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def function_of(case: Case) -> Function | None:
    """The operator of a case as a function of arrays; None where jax has no plain equivalent."""
    attrs = case.attrs
    if case.op.startswith("Reduce"):
        axes = tuple(attrs["axes"])
        return lambda x: REDUCTIONS[case.op.removeprefix("Reduce")](x, axes)
    made = {
        "ArgMax": lambda: lambda x: jnp.argmax(x, attrs["axis"]),
        "ArgMin": lambda: lambda x: jnp.argmin(x, attrs["axis"]),
        "CumProd": lambda: lambda x: jnp.cumprod(x, attrs["axis"]),
        "LRN": lambda: _local_response(attrs["size"]),
        "LpPool": lambda: lambda x: jnp.sqrt(_pooled(attrs, 0.0, lax.add)(x * x)),
        "DepthToSpace": lambda: _to_space,
        "SpaceToDepth": lambda: _to_depth,
        "CumSum": lambda: lambda x: jnp.cumsum(x, attrs["axis"]),
        "Einsum": lambda: lambda *xs: jnp.einsum(attrs["equation"], *xs),
        "Conv": lambda: _convolution(attrs),
        "ConvTranspose": lambda: _transposed(attrs),
        "MaxPool": lambda: _pooled(attrs, -math.inf, lax.max),
        "AveragePool": lambda: _averaged(attrs),
        "BatchNormalization": lambda: _batch_norm,
        "InstanceNormalization": lambda: _instance_norm,
        "LayerNormalization": lambda: _layer_norm,
        "RMSNormalization": lambda: _rms_norm,
        "GroupNormalization": lambda: _group_norm(attrs["num_groups"]),
        "Reshape": lambda: lambda x: jnp.reshape(x, attrs["shape"]),
        "Concat": lambda: lambda *xs: jnp.concatenate(xs, attrs["axis"]),
        "Slice": lambda: lambda x: x[:, attrs["starts"][0] : attrs["ends"][0] : attrs["steps"][0]],
        "Pad": lambda: lambda x: jnp.pad(x, 1),
        "Tile": lambda: lambda x: jnp.tile(x, attrs["repeats"]),
        "Expand": lambda: lambda x: jnp.broadcast_to(x, attrs["shape"]),
        "Squeeze": lambda: lambda x: jnp.squeeze(x, tuple(attrs["axes"])),
        "Unsqueeze": lambda: lambda x: jnp.expand_dims(x, tuple(attrs["axes"])),
    }
    return made[case.op]() if case.op in made else SIMPLE.get(case.op)


def _spatial(attrs: dict[str, Any], name: str, rank: int, default: int) -> tuple[int, ...]:
    return tuple(attrs.get(name, [default] * rank))


def _padding(attrs: dict[str, Any], rank: int) -> list[tuple[int, int]]:
    pads = attrs.get("pads", [0] * (2 * rank))
    return list(zip(pads[:rank], pads[rank:], strict=True))


def _convolution(attrs: dict[str, Any]) -> Function:
    def convolved(x: Any, w: Any) -> Any:
        rank = x.ndim - 2
        return lax.conv_general_dilated(
            x,
            w,
            _spatial(attrs, "strides", rank, 1),
            _padding(attrs, rank),
            rhs_dilation=_spatial(attrs, "dilations", rank, 1),
            feature_group_count=attrs.get("group", 1),
        )

    return convolved


def _transposed(attrs: dict[str, Any]) -> Function:
    def convolved(x: Any, w: Any) -> Any:
        strides = _spatial(attrs, "strides", x.ndim - 2, 1)
        # ONNX has the filter of the convolution that this one undoes
        numbers = ("NCHW", "OIHW", "NCHW")
        return lax.conv_transpose(x, w, strides, "VALID", dimension_numbers=numbers, transpose_kernel=True)

    return convolved


def _pooled(attrs: dict[str, Any], start: float, function: Function) -> Function:
    def pooled(x: Any) -> Any:
        rank = x.ndim - 2
        window = (1, 1, *attrs["kernel_shape"])
        strides = (1, 1, *_spatial(attrs, "strides", rank, 1))
        return lax.reduce_window(x, start, function, window, strides, [(0, 0)] * 2 + _padding(attrs, rank))

    return pooled


def _averaged(attrs: dict[str, Any]) -> Function:
    total = _pooled(attrs, 0.0, lax.add)
    return lambda x: total(x) / math.prod(attrs["kernel_shape"])


def _per_channel(value: Any, rank: int) -> Any:
    return value.reshape((1, -1) + (1,) * (rank - 2))


def _batch_norm(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    scale, bias, mean, variance = (_per_channel(v, x.ndim) for v in (scale, bias, mean, variance))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def _instance_norm(x: Any, scale: Any, bias: Any) -> Any:
    normal = nn.standardize(x, axis=tuple(range(2, x.ndim)), epsilon=1e-5)
    return normal * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)


def _layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    return nn.standardize(x, axis=-1, epsilon=1e-5) * scale + bias


def _rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def _group_norm(groups: int) -> Function:
    def normal(x: Any, scale: Any, bias: Any) -> Any:
        apart = x.reshape(x.shape[0], groups, -1)
        flat = nn.standardize(apart, axis=-1, epsilon=1e-5).reshape(x.shape)
        return flat * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)

    return normal


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return jnp.einsum("bhij,bhjd->bhid", nn.softmax(scores), v)


def _unrolled(step: Function, x: Any, w: Any, r: Any, states: int) -> Any:
    """A recurrent network as one straight program: XLA counts the body of a loop once."""
    state = tuple(jnp.zeros((x.shape[1], r.shape[2])) for _ in range(states))
    outputs = []
    for t in range(x.shape[0]):
        state = step(x[t] @ w[0].T, state, r[0])
        outputs.append(state[0])
    return jnp.stack(outputs)


def _quantised(x: Any) -> Any:
    low, high = jnp.minimum(0, x.min()), jnp.maximum(0, x.max())
    scale = (high - low) / 255
    zero = jnp.clip(jnp.round(-low / scale), 0, 255)
    return jnp.clip(jnp.round(x / scale) + zero, 0, 255).astype(jnp.uint8), scale, zero.astype(jnp.uint8)


def _reversed(x: Any, lengths: Any) -> Any:
    place = jnp.arange(x.shape[0])[:, None]
    return jnp.take_along_axis(x, jnp.where(place < lengths, lengths - 1 - place, place), 0)


def _rnn_step(wx: Any, state: tuple[Any, ...], r: Any) -> tuple[Any, ...]:
    return (jnp.tanh(wx + state[0] @ r.T),)


def _gru_step(wx: Any, state: tuple[Any, ...], r: Any) -> tuple[Any, ...]:
    (h,), size = state, r.shape[1]
    z = nn.sigmoid(wx[:, :size] + h @ r[:size].T)
    s = nn.sigmoid(wx[:, size : 2 * size] + h @ r[size : 2 * size].T)
    new = jnp.tanh(wx[:, 2 * size :] + (s * h) @ r[2 * size :].T)
    return ((1 - z) * new + z * h,)


def _lstm_step(wx: Any, state: tuple[Any, ...], r: Any) -> tuple[Any, ...]:
    h, c = state
    i, o, f, g = jnp.split(wx + h @ r.T, 4, axis=1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return nn.sigmoid(o) * jnp.tanh(c), c


def _local_response(size: int) -> Function:
    def normal(x: Any) -> Any:
        before = (size - 1) // 2
        pads = [(0, 0), (before, size - 1 - before)] + [(0, 0)] * (x.ndim - 2)
        window, ones = (1, size) + (1,) * (x.ndim - 2), (1,) * x.ndim
        sums = lax.reduce_window(x * x, 0.0, lax.add, window, ones, pads)
        return x / (1.0 + 0.0001 / size * sums) ** 0.75

    return normal


def _to_space(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, h * 2, w * 2)


def _to_depth(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * 4, h // 2, w // 2)


def count(case: Case, rules: bool = False) -> dict[str, tuple[float, float]]:
    """XLA's flops and transcendentals, as written and once compiled; it leaves out what is 0.

    ``rules`` asks for the sum of jax's own rules of its roofline instead.
    """
    function = function_of(case)
    if function is None:
        return {}
    inputs = []
    for name, shape in case.shapes.items():
        several = shape if shape and isinstance(shape[0], list) else [shape]
        inputs += [jax.ShapeDtypeStruct(tuple(one), jnp.dtype(case.dtype_of(name))) for one in several]
    lowered = jax.jit(function).lower(*inputs)
    if rules:
        return {"jax roofline": (float(roofline.roofline(function)(*inputs)[1].unfused_flops), 0.0)}
    stages = {"XLA as written": lowered.cost_analysis(), "XLA compiled": lowered.compile().cost_analysis()}
    return {
        name: (float(found.get("flops", 0)), float(found.get("transcendentals", 0)))
        for name, found in stages.items()
    }
