"""Small models in every form that onnxruntime's optimiser and quantiser give them.

    python -m tools.generate.contrib.models

writes ``tests/models/optimised.zip``: a BERT of two layers and a ResNet-18 of few channels, with random
weights, as exported and as they come out of onnxruntime; and the shape of every value as onnxruntime observes
it, at two sets of lengths.  Weights are left out: nothing but their shapes is read.  Needs torch and more.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.optimizer import optimize_model
from torch import nn
from transformers import BertConfig, BertModel

KEPT = Path(__file__).parents[3] / "tests" / "models" / "optimised.zip"
LEVELS = ("BASIC", "EXTENDED", "ALL")
LENGTHS = {"bert": ({"batch": 2, "seq": 8}, {"batch": 3, "seq": 5}), "resnet": ({"batch": 1}, {"batch": 2})}
SMALL = 64
"""Constants of more elements are weights."""


# ---- the models --------------------------------------------------------------------------


class Bert(nn.Module):
    """A BERT whose results are plain tensors."""

    def __init__(self) -> None:
        """Make it small."""
        super().__init__()
        size = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        config = BertConfig(**size, intermediate_size=64, max_position_embeddings=32)
        config._attn_implementation = "eager"
        self.inner = BertModel(config, add_pooling_layer=True)

    def forward(self, ids: Any, mask: Any, segments: Any) -> Any:
        """All states, and the pooled one."""
        found = self.inner(input_ids=ids, attention_mask=mask, token_type_ids=segments)
        return found[0], found[1]


class Block(nn.Module):
    """Two convolutions around which the input goes."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        """Make them."""
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()
        )
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        around = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.around: nn.Module = around if stride != 1 or channels != out else nn.Identity()
        self.last = nn.ReLU()

    def forward(self, x: Any) -> Any:
        """The sum of both ways."""
        return self.last(self.second(self.first(x)) + self.around(x))


def resnet() -> nn.Module:
    """The layers of a ResNet-18, with few channels."""
    c = 16
    sizes = ((c, c, 1), (c, c, 1), (c, 2 * c, 2), (2 * c, 2 * c, 1), (2 * c, 4 * c, 2), (4 * c, 4 * c, 1))
    blocks = [Block(*size) for size in (*sizes, (4 * c, 4 * c, 2), (4 * c, 4 * c, 1))]
    stem = [nn.Conv2d(3, c, 7, 2, 3, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * c, 10))


def export(folder: Path) -> None:
    """Both models as torch exports them."""
    torch.manual_seed(0)
    words = tuple(torch.ones(2, 8, dtype=torch.long) for _ in range(3))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "seq"} for name in names}
    plain = {"opset_version": 17, "dynamo": False}
    bert = Bert().eval()
    torch.onnx.export(bert, words, folder / "bert.onnx", input_names=names, dynamic_axes=axes, **plain)
    image = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    torch.onnx.export(resnet().eval(), (torch.randn(1, 3, 64, 64),), folder / "resnet.onnx", **image, **plain)


def given(name: str, dims: dict[str, int]) -> dict[str, Any]:
    """Inputs of the lengths asked for."""
    random = np.random.default_rng(0)
    if name == "resnet":
        return {"x": random.standard_normal((dims["batch"], 3, 64, 64)).astype(np.float32)}
    shape = dims["batch"], dims["seq"]
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {
        key: random.integers(0, 60, shape) if key == "input_ids" else np.ones(shape, np.int64)
        for key in names
    }


# ---- their forms -------------------------------------------------------------------------


class Calibration(CalibrationDataReader):  # type: ignore[misc]
    """A few inputs, to find ranges by."""

    def __init__(self, name: str) -> None:
        """Start."""
        self.left = iter([given(name, LENGTHS[name][0])] * 2)

    def get_next(self) -> dict[str, Any] | None:
        """The next input."""
        return next(self.left, None)


def static(name: str, source: Path, to: Path, form: QuantFormat) -> None:
    """Integers with fixed scales.  Of BERT only what the run-time then takes is brought to them."""
    ready = to.with_suffix(".ready")
    quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
    only = ["MatMul", "Add", "Mul", "Softmax", "Gather"] if name == "bert" else None
    quantize_static(str(ready), str(to), Calibration(name), quant_format=form, op_types_to_quantize=only)


def int4(source: Path, to: Path) -> None:
    """Weights of 4 bits."""
    quantiser = MatMulNBitsQuantizer(onnx.load(source), block_size=16, is_symmetric=True)
    quantiser.process()
    quantiser.model.save_model_to_file(str(to))


def fuse(source: Path, to: Path, short: bool) -> None:
    """As the optimiser for transformers fuses them."""
    model = optimize_model(str(source), model_type="bert", num_heads=2, hidden_size=32, opt_level=0)
    if short:
        model.convert_float_to_float16()
    model.save_model_to_file(str(to))


def half(source: Path, to: Path) -> None:
    """Short floats."""
    onnx.save(convert_float_to_float16(onnx.load(source)), to)


def session_saved(source: Path, to: Path, level: str) -> None:
    """As a session saves what it made of a model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(to)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def forms(folder: Path) -> Iterator[Path]:
    """Every form of both models, the exported one first."""
    for name in LENGTHS:
        source = folder / f"{name}.onnx"
        made: dict[str, Callable[[Path], object]] = {
            "fp16": lambda to, s=source: half(s, to),
            "int4": lambda to, s=source: int4(s, to),
            "int8_dynamic": lambda to, s=source: quantize_dynamic(str(s), str(to)),
            "int8_qdq": lambda to, n=name, s=source: static(n, s, to, QuantFormat.QDQ),
            "int8_qoperator": lambda to, n=name, s=source: static(n, s, to, QuantFormat.QOperator),
        }
        if name == "bert":
            made["fused"] = lambda to, s=source: fuse(s, to, False)
            made["fused_fp16"] = lambda to, s=source: fuse(s, to, True)
        yield source
        for path in [source, *(folder / f"{name}.{form}.onnx" for form in made)]:
            if path != source:
                made[path.name.split(".")[1]](path)
                yield path
            for level in LEVELS:
                saved = path.with_name(f"{path.stem}@{level.lower()}.onnx")
                session_saved(path, saved, level)
                yield saved


# ---- what is kept ------------------------------------------------------------------------


def observed(path: Path) -> list[dict[str, Any]]:
    """The shapes of all values at each set of lengths."""
    model = onnx.load(path)
    known = {output.name for output in model.graph.output}
    inner = [o for node in model.graph.node for o in node.output if o and o not in known]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(inner))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    kinds = {"tensor(int32)": np.int32, "tensor(float16)": np.float16}
    casts = {i.name: kinds[i.type] for i in session.get_inputs() if i.type in kinds}
    found = []
    name = path.name.split(".")[0].split("@")[0]
    for dims in LENGTHS[name]:
        inputs = {k: v.astype(casts.get(k, v.dtype)) for k, v in given(name, dims).items()}
        values = session.run(names, inputs)
        found.append(
            {"dims": dims, "shapes": {n: list(np.shape(v)) for n, v in zip(names, values, strict=True)}}
        )
    return found


def without_weights(path: Path) -> bytes:
    """The file of a model whose weights lie beside it, and are left there."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if np.prod(tensor.dims) > SMALL:
            for field in ("raw_data", "float_data", "int32_data", "int64_data"):
                tensor.ClearField(field)
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights")
    del model.graph.value_info[:]
    return model.SerializeToString()  # type: ignore[no-any-return]


def main() -> None:
    """Write all forms, and what was observed of them."""
    kept = {}
    with (
        tempfile.TemporaryDirectory() as place,
        zipfile.ZipFile(KEPT, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file,
    ):
        folder = Path(place)
        export(folder)
        for path in forms(folder):
            kept[path.stem] = observed(path)
            entry = zipfile.ZipInfo(path.name)
            file.writestr(entry, without_weights(path), zipfile.ZIP_DEFLATED)
        told = {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__, "models": kept}
        file.writestr(zipfile.ZipInfo("observed.json"), json.dumps(told), zipfile.ZIP_DEFLATED)
    print(f"{len(kept)} models, {KEPT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
