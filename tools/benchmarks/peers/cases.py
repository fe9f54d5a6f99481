"""The operators and shapes that are counted: names as in ONNX, several shapes each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

VECTOR, MATRIX, IMAGE = [64], [32, 48], [2, 3, 16, 16]
PLAIN = (VECTOR, MATRIX, IMAGE)


@dataclass(frozen=True, slots=True)
class Case:
    """An operator at some shapes; ``attrs`` holds attributes and inputs whose value is known."""

    op: str
    shapes: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    dtypes: dict[str, str] = field(default_factory=dict)
    kind: str = ""

    def dtype_of(self, name: str) -> str:
        """The element type of an input."""
        return self.dtypes.get(name, self.dtype)


ACTIVATIONS = (
    "Relu Sigmoid Softplus Elu Celu Selu LeakyRelu HardSigmoid HardSwish Gelu Mish Swish ThresholdedRelu"
)
UNARY = {
    "X": "Reciprocal Sqrt Abs Neg Floor Ceil Round IsNaN IsInf",
    "input": "Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sign",
}
BINARY = ["Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]
LOGICAL = ["And", "Or", "Xor"]
BITWISE = ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]
REDUCTIONS = ["Sum", "Max", "Min", "Prod", "Mean", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]


def all_cases() -> Iterator[Case]:
    """Every case, class by class."""
    classes = {
        "one function": _elementwise,
        "activation": _activations,
        "reduction": _reductions,
        "ranking and scan": _along_an_axis,
        "normalisation": _normal,
        "product and convolution": _products,
        "pooling": _windows,
        "data movement": _moves,
    }
    for kind, cases in classes.items():
        yield from (replace(case, kind=kind) for case in cases())


def further_cases() -> Iterator[Case]:
    """Operators that are counted for a witness only, each at one size."""
    yield Case("CastLike", {"input": [32, 48], "target_type": [1]}, dtypes={"target_type": "float16"})
    yield Case("Dropout", {"data": [32, 48]})
    yield Case("ConvInteger", {"x": [1, 3, 8, 8], "w": [4, 3, 3, 3]}, dtype="uint8")
    yield Case("MatMulInteger", {"A": [16, 32], "B": [32, 8]}, dtype="uint8")
    yield Case("QuantizeLinear", {"x": [32, 48], "y_scale": []})
    yield Case("DynamicQuantizeLinear", {"x": [32, 48]})
    yield Case("ReverseSequence", {"input": [8, 4], "sequence_lens": [4]}, dtypes={"sequence_lens": "int64"})


def _elementwise() -> Iterator[Case]:
    for name, ops in UNARY.items():
        for op in ops.split():
            yield from (Case(op, {name: shape}) for shape in PLAIN)
    for shape in PLAIN:
        yield from (Case(op, {"A": shape, "B": shape}) for op in BINARY)
        yield from (Case(op, {"A": shape, "B": shape}, dtype="bool") for op in LOGICAL)
        yield from (Case(op, {"A": shape, "B": shape}, dtype="int32") for op in BITWISE)
        yield Case("Not", {"X": shape}, dtype="bool")
        yield Case("BitwiseNot", {"X": shape}, dtype="int32")
        yield Case("Pow", {"X": shape, "Y": shape})
        yield Case("Clip", {"input": shape, "min": [], "max": []})
        yield Case("Max", {"data_0": [shape, shape]})
        yield Case("Min", {"data_0": [shape, shape]})
        yield Case("Sum", {"data_0": [shape, shape, shape]})
        yield Case("Mean", {"data_0": [shape, shape, shape]})
        yield Case("Where", {"condition": shape, "X": shape, "Y": shape}, dtypes={"condition": "bool"})
        yield Case("BitShift", {"X": shape, "Y": shape}, {"direction": "LEFT"}, dtype="uint32")
        yield Case("DequantizeLinear", {"x": shape, "x_scale": []}, dtypes={"x": "int32"})
    yield Case("Add", {"A": [32, 48], "B": [48]})


def _activations() -> Iterator[Case]:
    for shape in PLAIN:
        yield from (Case(op, {"X": shape}) for op in ACTIVATIONS.split())
        yield Case("Softsign", {"input": shape})
        yield Case("PRelu", {"X": shape, "slope": shape})
        yield Case("Shrink", {"input": shape})
        yield Case("SwiGLU", {"A": shape, "B": shape})


def _reductions() -> Iterator[Case]:
    for kind in REDUCTIONS:
        yield Case(f"Reduce{kind}", {"data": [32, 48]}, {"axes": [1]})
        yield Case(f"Reduce{kind}", {"data": [2, 3, 16, 16]}, {"axes": [2, 3]})
        yield Case(f"Reduce{kind}", {"data": [1, 256]}, {"axes": [1]})


def _along_an_axis() -> Iterator[Case]:
    for op in ("ArgMax", "ArgMin"):
        yield Case(op, {"data": [32, 48]}, {"axis": 1})
        yield Case(op, {"data": [4, 256]}, {"axis": 1})
    for shape in ([64, 8], [4, 256]):
        yield Case("CumSum", {"x": shape}, {"axis": 1})
        yield Case("CumProd", {"x": shape}, {"axis": 1})
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        yield from (Case(op, {"input": shape}) for shape in ([8, 10], [4, 1000], [2, 4, 16, 16]))


def _normal() -> Iterator[Case]:
    for n, c, h in ((1, 3, 8), (2, 16, 16)):
        channel = [c]
        x = [n, c, h, h]
        yield Case(
            "BatchNormalization",
            {"X": x, "scale": channel, "B": channel, "input_mean": channel, "input_var": channel},
        )
        yield Case("InstanceNormalization", {"input": x, "scale": channel, "B": channel})
        yield Case("MeanVarianceNormalization", {"X": x})
        yield Case("LpNormalization", {"input": [n * c, h * h]})
        yield Case("LRN", {"X": x}, {"size": 3})
    for rows, width in ((4, 64), (16, 768)):
        yield Case("LayerNormalization", {"X": [rows, width], "Scale": [width], "B": [width]})
        yield Case("RMSNormalization", {"X": [rows, width], "scale": [width]})
        yield Case(
            "GroupNormalization", {"X": [rows, 8, width], "scale": [8], "bias": [8]}, {"num_groups": 4}
        )


def _products() -> Iterator[Case]:
    yield Case("MatMul", {"A": [16, 16], "B": [16, 16]})
    yield Case("MatMul", {"A": [32, 64], "B": [64, 16]})
    yield Case("MatMul", {"A": [4, 8, 16], "B": [4, 16, 8]})
    yield Case("Gemm", {"A": [32, 64], "B": [64, 16]})
    yield Case("Gemm", {"A": [32, 64], "B": [64, 16], "C": [16]})
    yield Case("Einsum", {"Inputs": [[4, 8, 16], [4, 16, 8]]}, {"equation": "bij,bjk->bik"})
    for tokens, width in ((16, 32), (64, 64)):
        heads = [2, 4, tokens, width]
        yield Case("Attention", {"Q": heads, "K": heads, "V": heads})
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        wide = {"X": [5, 2, 8], "W": [1, gates * 16, 8], "R": [1, gates * 16, 16]}
        yield Case(op, wide, {"hidden_size": 16})
    yield Case("Conv", {"X": [1, 3, 16, 16], "W": [8, 3, 3, 3]})
    yield Case("Conv", {"X": [1, 3, 16, 16], "W": [8, 3, 3, 3]}, {"pads": [1, 1, 1, 1]})
    yield Case("Conv", {"X": [1, 3, 17, 17], "W": [8, 3, 3, 3]}, {"pads": [1, 1, 1, 1], "strides": [2, 2]})
    yield Case("Conv", {"X": [1, 8, 16, 16], "W": [8, 1, 3, 3]}, {"pads": [1, 1, 1, 1], "group": 8})
    yield Case("Conv", {"X": [1, 3, 16, 16], "W": [8, 3, 3, 3]}, {"dilations": [2, 2]})
    yield Case("Conv", {"X": [1, 3, 64, 64], "W": [8, 3, 3, 3]}, {"pads": [1, 1, 1, 1]})
    yield Case("Conv", {"X": [1, 16, 32], "W": [8, 16, 5]})
    yield Case("ConvTranspose", {"X": [1, 3, 8, 8], "W": [3, 4, 3, 3]})
    yield Case("ConvTranspose", {"X": [1, 3, 8, 8], "W": [3, 4, 3, 3]}, {"strides": [2, 2]})


def _windows() -> Iterator[Case]:
    for op in ("MaxPool", "AveragePool"):
        yield Case(op, {"X": [1, 3, 16, 16]}, {"kernel_shape": [2, 2], "strides": [2, 2]})
        yield Case(op, {"X": [1, 3, 16, 16]}, {"kernel_shape": [3, 3]})
        yield Case(op, {"X": [1, 8, 64]}, {"kernel_shape": [4], "strides": [4]})
    yield Case("MaxPool", {"X": [1, 3, 16, 16]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    yield Case("LpPool", {"X": [1, 3, 16, 16]}, {"kernel_shape": [2, 2], "strides": [2, 2]})
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield from (Case(op, {"X": shape}) for shape in ([1, 3, 16, 16], [2, 8, 7, 7]))


def _moves() -> Iterator[Case]:
    for shape in ([32, 48], [4, 256]):
        rows, width = shape
        yield Case("Identity", {"input": shape})
        yield Case("Transpose", {"data": shape})
        yield Case("Reshape", {"data": shape}, {"shape": [width, rows]})
        yield Case("Flatten", {"input": shape})
        yield Case("Concat", {"inputs": [shape, shape]}, {"axis": 0})
        yield Case("Slice", {"data": shape}, {"starts": [1], "ends": [9], "axes": [1], "steps": [2]})
        yield Case("Pad", {"data": shape}, {"pads": [1, 1, 1, 1]})
        yield Case("Tile", {"input": shape}, {"repeats": [2, 3]})
        yield Case("Expand", {"input": [rows, 1]}, {"shape": shape})
        yield Case("Squeeze", {"data": [rows, 1, width]}, {"axes": [1]})
        yield Case("Unsqueeze", {"data": shape}, {"axes": [1]})
        yield Case("Gather", {"data": shape, "indices": [5]}, dtypes={"indices": "int32"})
        yield Case("GatherElements", {"data": shape, "indices": shape}, dtypes={"indices": "int32"})
        yield Case("Trilu", {"input": shape})
        yield Case("Split", {"input": shape}, {"num_outputs": 2})
        yield Case("EyeLike", {"input": shape})
        yield Case("Cast", {"input": shape}, {"to": 11})
        yield Case("Shape", {"data": shape})
        yield Case("Size", {"data": shape})
    for shape in ([1, 8, 4, 6], [2, 16, 8, 8]):
        yield Case("DepthToSpace", {"input": shape}, {"blocksize": 2})
        yield Case("SpaceToDepth", {"input": shape}, {"blocksize": 2})
