"""BERT-base, GPT-2 and Llama as torch exports them: both exporters, three opsets, two kinds of attention.

    python benchmarks/export_torch.py FOLDER

Batch and sequence stay open.  Weights are random, GPT-2 and Llama have four layers, Llama is small.
Needs ``pip install torch transformers onnxscript``, which tolcost does not; the files take 4 GB.
``check_models.py`` holds what tolcost says of them to what onnxruntime observes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

EXPORTERS = (("script", 17), ("script", 18), ("dynamo", 18), ("dynamo", 23))
ATTENTION = ("eager", "sdpa")
NAMES = ["input_ids", "attention_mask"]


def bert(attention: str) -> torch.nn.Module:
    return BertModel(BertConfig(attn_implementation=attention), add_pooling_layer=False)


def gpt2(attention: str) -> torch.nn.Module:
    return GPT2LMHeadModel(GPT2Config(n_layer=4, use_cache=False, attn_implementation=attention))


def llama(attention: str) -> torch.nn.Module:
    config = LlamaConfig(
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=1000,
        use_cache=False,
        attn_implementation=attention,
    )
    return LlamaForCausalLM(config)


MODELS: dict[str, Callable[[str], torch.nn.Module]] = {"bert": bert, "gpt2": gpt2, "llama": llama}


class FirstOutput(torch.nn.Module):
    """A model with two inputs and its first output alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Apply the model."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask)[0]


def export(model: torch.nn.Module, file: Path, exporter: str, opset: int) -> None:
    ids = torch.randint(0, 900, (2, 16))
    inputs = (ids, torch.ones_like(ids))
    if exporter == "script":
        axes = {name: {0: "batch", 1: "seq"} for name in NAMES}
        torch.onnx.export(
            model, inputs, file, opset_version=opset, input_names=NAMES, dynamic_axes=axes, dynamo=False
        )
        return
    lengths = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")}
    torch.onnx.export(
        model,
        inputs,
        file,
        opset_version=opset,
        input_names=NAMES,
        dynamic_shapes=(lengths, lengths),
        dynamo=True,
    )


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, attention, (exporter, opset) in product(MODELS, ATTENTION, EXPORTERS):
        file = folder / f"torch__{name}_{attention}_{exporter}_{opset}.onnx"
        export(FirstOutput(MODELS[name](attention)).eval(), file, exporter, opset)
        print(file.name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
