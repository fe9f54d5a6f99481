"""What other tools count of one model, beside tolcost: reports/data/other_tools.csv, for README's table.

    make other-tools

The model is transformers' BERT with random weights, as in ``examples/bert.onnx``.  It is counted twice, on a
CPU: with attention as one function of PyTorch, the default, and written out as products and a softmax.
"""

import contextlib
import csv
import io
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

ROOT = Path(__file__).parents[1]
LENGTH = 512
ATTENTION = {"fused attention": "sdpa", "attention written out": "eager"}
"""How attention is computed, and how transformers calls that."""

Count = tuple[str, int]
"""What a tool calls its figure, and the figure."""


def module(attention: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    """A BERT with random weights, and one sequence with its mask."""
    bert = BertModel(BertConfig(attn_implementation=attention), add_pooling_layer=False).eval()
    return bert, (torch.zeros(1, LENGTH, dtype=torch.long), torch.ones(1, LENGTH, dtype=torch.long))


def tolcost(attention: str) -> Count:
    """tolcost, of what torch's exporter writes."""
    from tolcost import from_torch

    bert, inputs = module(attention)
    return "MACs", int(from_torch(bert, inputs).macs)


def flop_counter_mode(attention: str) -> Count:
    """PyTorch's own counter, of what one run dispatches."""
    from torch.utils.flop_counter import FlopCounterMode

    bert, inputs = module(attention)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        bert(*inputs)
    return "FLOPs of products", counter.get_total_flops()


def fvcore(attention: str) -> Count:
    """fvcore follows a trace; what it calls a FLOP is a multiply and an add."""
    from fvcore.nn import FlopCountAnalysis

    bert, inputs = module(attention)
    return "MACs", int(FlopCountAnalysis(bert, inputs).total())


def thop(attention: str) -> Count:
    """thop hooks modules that it knows."""
    from thop import profile

    bert, inputs = module(attention)
    return "MACs", int(profile(bert, inputs=inputs, verbose=False)[0])


def calflops(attention: str) -> Count:
    """calflops hooks modules, and patches functions of torch."""
    from calflops import calculate_flops

    bert, (ids, mask) = module(attention)
    flops, _, _ = calculate_flops(
        bert,
        kwargs={"input_ids": ids, "attention_mask": mask},
        print_results=False,
        output_as_string=False,
    )
    return "FLOPs", int(flops)


def ptflops(attention: str) -> Count:
    """ptflops replaces torch's functions while the model runs."""
    from ptflops import get_model_complexity_info

    bert, (ids, mask) = module(attention)
    macs, _ = get_model_complexity_info(
        bert,
        (LENGTH,),
        input_constructor=lambda _: {"input_ids": ids, "attention_mask": mask},
        as_strings=False,
        print_per_layer_stat=False,
        backend="aten",
    )
    return "MACs", int(macs)


def torchinfo(attention: str) -> Count:
    """torchinfo takes sizes of weights and outputs of modules."""
    from torchinfo import summary

    bert, inputs = module(attention)
    return "MACs", int(summary(bert, input_data=list(inputs), verbose=0).total_mult_adds)


def onnx_tool(attention: str) -> Count:
    """onnx-tool walks an ONNX file at given shapes; of opset 18, where attention is several operators."""
    import numpy
    from onnx_tool import Model

    bert, inputs = module(attention)
    file = ROOT / "build" / f"bert_{attention}.onnx"
    file.parent.mkdir(exist_ok=True)
    torch.onnx.export(bert, inputs, file, input_names=["ids", "mask"], opset_version=18, dynamo=True)
    graph = Model(str(file), {"verbose": False}).graph
    shape = numpy.zeros((1, LENGTH), dtype=numpy.int64)
    graph.shape_infer({"ids": shape, "mask": shape})
    graph.profile()
    return "MACs", int(sum(graph.macs))


COUNTERS: dict[str, tuple[str, Callable[[str], Count]]] = {
    "tolcost": ("tolcost", tolcost),
    "FlopCounterMode": ("torch", flop_counter_mode),
    "fvcore": ("fvcore", fvcore),
    "thop": ("thop", thop),
    "calflops": ("calflops", calflops),
    "ptflops": ("ptflops", ptflops),
    "torchinfo": ("torchinfo", torchinfo),
    "onnx-tool": ("onnx-tool", onnx_tool),
}
"""Each tool: the package that has it, and how it counts."""


def rows() -> Iterator[dict[str, Any]]:
    """One row a tool; a count that fails is the error's name."""
    for name, (package, count) in COUNTERS.items():
        row: dict[str, Any] = {"tool": name, "version": version(package).split("+")[0], "counts": ""}
        for title, attention in ATTENTION.items():
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    row["counts"], row[title] = count(attention)
            except Exception as error:
                row[title] = type(error).__name__
        print(row, flush=True)
        yield row


def main() -> int:
    """Count with every tool, and write the table."""
    table = list(rows())
    with (ROOT / "reports" / "data" / "other_tools.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
