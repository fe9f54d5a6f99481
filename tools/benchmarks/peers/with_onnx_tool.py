"""onnx-tool's count of a model that consists of one node."""

from __future__ import annotations

import warnings

import onnx
import onnx_tool
from onnx import TensorProto, defs, helper

from peers.cases import Case

OPSETS = {
    "SwiGLU": 28,
    "CumProd": 26,
    "Attention": 23,
    "Swish": 24,
    "RMSNormalization": 23,
    "GroupNormalization": 21,
    "Gelu": 20,
    "Mish": 18,
}
TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bool": TensorProto.BOOL,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint32": TensorProto.UINT32,
}
RESULTS = {"ConvInteger": TensorProto.INT32, "MatMulInteger": TensorProto.INT32}
"""Results of another type than the inputs."""


def count(case: Case) -> tuple[float | None, str]:
    """Give its multiply-accumulates, or nothing and why: it stops, or warns that it has no rule."""
    built = model_of(case)  # what goes wrong here is our own mistake
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = onnx_tool.Model(built)
            model.graph.shape_infer(None)
            model.graph.profile()
            found = float(model.graph.macs[0])
        except Exception as error:  # whatever it raises is what a user would see
            return None, f"stops: {type(error).__name__}: {error}"[:120]
    if any("not registed" in str(warning.message) for warning in told):
        return None, "has no rule"
    return found, ""


def model_of(case: Case) -> onnx.ModelProto:
    """A model of one node."""
    opset = OPSETS.get(case.op, 18)
    schema = defs.get_schema(case.op, opset, "")
    names: list[str] = []
    inputs, constants = [], []
    for formal in schema.inputs:
        if formal.name in case.shapes:
            for shape in _several(case.shapes[formal.name]):
                names.append(f"{formal.name}_{len(names)}")
                inputs.append(
                    helper.make_tensor_value_info(names[-1], TYPES[case.dtype_of(formal.name)], shape)
                )
        elif formal.name in case.attrs:
            names.append(formal.name)
            value = case.attrs[formal.name]
            listed = value if isinstance(value, list) else [value]
            dims = [len(value)] if isinstance(value, list) else []
            constants.append(helper.make_tensor(formal.name, TensorProto.INT64, dims, listed))
    attributes = {name: value for name, value in case.attrs.items() if name in schema.attributes}
    node = helper.make_node(case.op, names, ["result"], **attributes)
    output = helper.make_tensor_value_info("result", RESULTS.get(case.op, TYPES[case.dtype]), None)
    graph = helper.make_graph([node], case.op, inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _several(shape: list) -> list[list[int]]:
    return shape if shape and isinstance(shape[0], list) else [shape]
