"""Architectures (``architectures.py``) as both of torch's exporters give them, with their lengths open.

    python tools/benchmarks/export_torch.py FOLDER [NAME...]

A file that is there already is kept; what an exporter refuses is told, and left out.  Needs torch, onnxscript
and transformers, which tolcost does not.  ``check_models.py`` holds what tolcost says of the files to what
onnxruntime observes, and the MACs of the two files of an architecture to each other.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from pathlib import Path

import torch
from architectures import ARCHITECTURES, Architecture, Taken

OPSETS = {"script": 17, "dynamo": 20}
FIRST_ATTENTION = 14
"""The first opset for which TorchScript's exporter writes attention that torch computes in one function."""


def export(wanted: Architecture | Taken, file: Path, exporter: str, opset: int = 0) -> None:
    """Write a network as an exporter gives it, for an opset or the exporter's own."""
    torch.manual_seed(0)
    inputs = wanted.inputs()
    model = wanted.make().eval()
    if 0 < opset < FIRST_ATTENTION and isinstance(wanted, Taken):
        model.model.set_attn_implementation("eager")
    open_ = {name: axes for name, (_, axes) in inputs.items()}
    lengths = {"dynamic_axes": open_} if exporter == "script" else {"dynamic_shapes": shapes(model, open_)}
    torch.onnx.export(
        model,
        tuple(example for example, _ in inputs.values()),
        file,
        opset_version=opset or OPSETS[exporter],
        input_names=list(inputs),
        dynamo=exporter == "dynamo",
        external_data=False,
        verbose=False,
        **lengths,
    )


def shapes(model: torch.nn.Module, axes: dict[str, dict[int, str]]) -> object:
    """The open lengths in the form of the arguments: those of ``*given`` are one tuple."""
    given = tuple(axes.values())
    named = [p for p in inspect.signature(model.forward).parameters.values() if p.kind != p.VAR_POSITIONAL]
    return given[: len(named)] + ((given[len(named) :],) if len(given) > len(named) else ())


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or ARCHITECTURES:
        for exporter in OPSETS:
            file = folder / f"torch__{name}_{exporter}.onnx"
            if file.exists():
                continue
            try:
                export(ARCHITECTURES[name], file, exporter)
                print(file.name, flush=True)
            except Exception as error:  # whatever the exporter cannot do
                file.unlink(missing_ok=True)
                print(
                    f"{name}: the {exporter} exporter: {str(error).strip().splitlines()[0][:200]}", flush=True
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
