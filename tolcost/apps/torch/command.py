"""``tolcost torch``: the cost of a module of PyTorch, by way of torch's own exporter."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tolcost.apps.torch.export import (
    MULTIPLE,
    SPACES,
    arguments_of,
    check_opset,
    example,
    exported,
    found,
    installed,
)
from tolcost.cli import model, options
from tolcost.cli.output import write_whole

_SHAPE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::\s*([a-z]+[0-9]*)\s*)?=\s*[\[(]?([^\])]*)[\])]?\s*")
_LENGTH = re.compile(r"[0-9]{1,10}")


@click.command(
    cls=options.Command,
    context_settings={"ignore_unknown_options": True},
    examples=(
        "tolcost torch torchvision.models:resnet18 --shape x=batch,3,224,224",
        "tolcost torch my.models:encoder --shape input_ids:int64=batch,seq --dim batch=8 --by scope",
        "tolcost torch my.models:huge --shape ids:int64=1,seq --no-weights --save huge.onnx",
    ),
)
@click.argument("target", metavar="MODULE:FUNCTION")
@click.argument("rest", metavar="[OPTIONS OF tolcost model]", nargs=-1, type=click.UNPROCESSED)
@click.option("--shape", "shapes", metavar="INPUT[:TYPE]=LENGTHS", multiple=True,
              help="An input of `forward`, in names and numbers: ids:int64=batch,seq.")  # fmt: skip
@click.option("--opset", type=click.IntRange(1), metavar="N", show_default="the newest that torch writes",
              help="ONNX's opset to export for; attention is one operator from 23 on.")  # fmt: skip
@click.option("--no-weights", is_flag=True, help="Build it without memory for weights (torch's meta device).")
@click.option("--save", metavar="OUT.onnx", type=click.Path(dir_okay=False),
              help="Keep the model there, without large weights.")  # fmt: skip
def command(
    target: str,
    rest: tuple[str, ...],
    shapes: tuple[str, ...],
    opset: int | None,
    no_weights: bool,
    save: str | None,
) -> int:
    """Count what a module of PyTorch costs, in the lengths that its shapes name.

    MODULE:FUNCTION is a module, or something that makes one when it is called without arguments, found as
    Python finds it from here.  It is exported by torch itself, and then costed as `tolcost model` does,
    whose options are taken too; with --train it is exported in training mode.  Needs the
    extra `torch`: pip install 'tolcost[torch]'.
    """
    asked = read_inputs(shapes)
    if not target.partition(":")[2]:
        raise click.UsageError(
            f"MODULE:FUNCTION is needed, such as torchvision.models:resnet18, not {target[:60]!r}"
        )
    options_of = model.command.make_context("tolcost model", [target, *rest])  # before the export
    installed()
    check_opset(opset)
    device = "meta" if no_weights else None
    sys.path.insert(0, "")
    with installed().device(device) if device else nullcontext():
        module = found(target).train(options_of.params["train"] is not None)
        if not asked:
            raise click.UsageError(f"--shape is needed for each input: {arguments_of(module)}")
        tensors, open_ = example(asked, options_of.params["assume"])
    raw = exported(module, (), tensors, open_, opset)
    with TemporaryDirectory() as folder:
        path = Path(save or f"{folder}/{target.rpartition(':')[2]}.onnx")
        write_whole(path, raw)
        shown = model.ShownFile(save or target)
        code: int = model.command.main([str(path), *rest], "tolcost model", standalone_mode=False, obj=shown)
    return code


def read_inputs(texts: Iterable[str]) -> dict[str, tuple[str, tuple[int | str, ...]]]:
    """Parse ``--shape``.

    >>> read_inputs(["ids:int64=batch,8"])
    {'ids': ('int64', ('batch', 8))}
    """
    shapes: dict[str, tuple[str, tuple[int | str, ...]]] = {}
    for text in texts:
        match = _SHAPE.fullmatch(text)
        if match is None or match[1] in shapes or (match[2] or "float32") not in SPACES:
            raise click.UsageError(
                f"--shape needs INPUT[:TYPE]=LENGTHS once for each input, not {text[:60]!r}; "
                f"types: {', '.join(SPACES)}"
            )
        entries = [entry.strip() for entry in match[3].split(",") if entry.strip()]
        wrong = next((e for e in entries if not _LENGTH.fullmatch(e) and not MULTIPLE.fullmatch(e)), None)
        if wrong is not None:
            said = f"--shape {match[1]}: {wrong[:60]!r} is neither a number, a name nor a multiple like 32*h"
            raise click.UsageError(said)
        lengths = tuple(int(e) if _LENGTH.fullmatch(e) else e.replace(" ", "") for e in entries)
        shapes[match[1]] = (match[2] or "float32", lengths)
    return shapes
