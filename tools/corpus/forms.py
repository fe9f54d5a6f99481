"""Two small models, and the forms that onnxruntime's quantiser and optimiser give to any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.optimizer import optimize_model
from torch import nn
from transformers import BertConfig, BertModel

Feeds = Mapping[str, Any]

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


def export_small(name: str, to: Path) -> None:
    """One of the two models as torch exports it."""
    torch.manual_seed(0)
    plain = {"opset_version": 17, "dynamo": False}
    if name == "small_resnet":
        image = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
        torch.onnx.export(resnet().eval(), (torch.randn(1, 3, 64, 64),), to, **image, **plain)
        return
    words = tuple(torch.ones(2, 8, dtype=torch.long) for _ in range(3))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "seq"} for name in names}
    torch.onnx.export(Bert().eval(), words, to, input_names=names, dynamic_axes=axes, **plain)


# ---- their forms -------------------------------------------------------------------------


class Calibration(CalibrationDataReader):  # type: ignore[misc]
    """An input, twice, to find ranges by."""

    def __init__(self, feeds: Feeds) -> None:
        """Start."""
        self.left = iter([dict(feeds)] * 2)

    def get_next(self) -> dict[str, Any] | None:
        """The next input."""
        return next(self.left, None)


def static(source: Path, to: Path, form: QuantFormat, feeds: Feeds) -> None:
    """Integers with fixed scales.  Of BERT only what the run-time then takes is brought to them."""
    ready = to.with_suffix(".ready")
    quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
    only = ["MatMul", "Add", "Mul", "Softmax", "Gather"] if source.stem == "small_bert" else None
    quantize_static(str(ready), str(to), Calibration(feeds), quant_format=form, op_types_to_quantize=only)
    ready.unlink()


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


def save_session(source: Path, to: Path, level: str) -> None:
    """As a session saves what it made of a model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}"
    )
    options.optimized_model_filepath = str(to)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def give_form(form: str, source: Path, to: Path, feeds: Feeds) -> None:
    """Write a model in another form."""
    match form:
        case "fp16":
            onnx.save(convert_float_to_float16(onnx.load(source)), to)
        case "int4":
            int4(source, to)
        case "int8_dynamic":
            quantize_dynamic(str(source), str(to))
        case "int8_qdq":
            static(source, to, QuantFormat.QDQ, feeds)
        case "int8_qoperator":
            static(source, to, QuantFormat.QOperator, feeds)
        case "fused" | "fused_fp16":
            fuse(source, to, form == "fused_fp16")
        case _:
            save_session(source, to, form.removeprefix("@"))
