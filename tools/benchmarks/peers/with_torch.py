"""What PyTorch's FlopCounterMode counts for the operators of the paper's tables that it has a rule for.

python -m peers.with_torch FLOP_COUNTER.csv   with this folder's parent on the path; see ``make flop-counter``

It runs each function on zeros. An operator whose functions it has no rule for counts 0, which is no count; it
is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from peers.cases import Case, all_cases
from peers.rows import HEADER, write

Function = Callable[..., Any]


def functions(case: Case) -> Function | None:
    """The function of PyTorch that computes an operator; None for one without a rule."""
    attrs = case.attrs
    strides, dilations, group = attrs.get("strides", 1), attrs.get("dilations", 1), attrs.get("group", 1)
    pads = attrs.get("pads", [])
    begins = pads[: len(pads) // 2] or 0  # both ends are alike in all cases
    rank = len(case.shapes.get("W", ())) - 2
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)
    transposed = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)
    known: dict[str, Function] = {
        "MatMul": torch.matmul,
        "Gemm": lambda a, b, c=None: a @ b if c is None else torch.addmm(c, a, b),
        "Conv": lambda x, w, b=None: convolve[rank - 1](x, w, b, strides, begins, dilations, group),
        "ConvTranspose": lambda x, w: transposed[rank - 1](x, w, None, strides, begins, 0, group, dilations),
    }
    return known.get(case.op)


def rows() -> Iterator[tuple[str, ...]]:
    """A row for each case that is counted."""
    for case in all_cases():
        function = functions(case)
        if function is None:
            continue
        given = [torch.zeros(shape) for shape in case.shapes.values()]
        with FlopCounterMode(display=False) as counter:
            function(*given)
        what = (case.op, case.kind, json.dumps(case.shapes), json.dumps(case.attrs))
        version = torch.__version__.partition("+")[0]
        yield (*what, "FlopCounterMode", version, str(counter.get_total_flops()), "", "", "")


if __name__ == "__main__":
    write(sys.argv[1], HEADER, rows())
