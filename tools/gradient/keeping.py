"""What forward keeps for the backward pass of an operator: here, and with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from tolcost.atoms.nodes import Program
from tolcost.catalogue.cases import Case
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.spaces import kind_of
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.passes import derived_pass, pass_written
from tolcost.training.written import DefinedNode, has_gradients, lower_written

Kept = dict[str, int]
"""Bytes by the name of an input or output, or ``other``."""


def kept_here(
    case: Case,
    spec: Spec,
    library: Library,
    program: Program,
    outputs: tuple[str, ...],
    arrays: Mapping[str, np.ndarray],
) -> Kept | None:
    """Return what the backward pass that training takes reads of forward: a written one, or the derived."""
    real = [given.name for given in program.inputs if kind_of(given.type[0].space) == "R"]
    defined = DefinedNode(library, case.node, spec)
    parsed = defined.backward
    wanted = tuple([name for name in real if parsed is None or name in has_gradients(parsed)])
    found: BackwardPass | Diagnostic | None = None
    if parsed is not None:
        try:
            made = lower_written(parsed, defined, program, wanted, outputs)
        except Rejected:
            made = None
        found = None if made is None else pass_written(made)
    if found is None:
        found = derived_pass(program, spec.name, wanted, outputs)
    if not isinstance(found, BackwardPass) or not found.reads <= arrays.keys():
        return None  # what is no input or output has lengths that are symbols here
    return {name: int(arrays[name].nbytes) for name in sorted(found.reads)}


def kept_there(run: Callable[[], tuple[Mapping[str, torch.Tensor], Mapping[str, torch.Tensor]]]) -> Kept:
    """Return the storages that autograd saves, as its hooks show them; ``run`` gives inputs and outputs."""
    saved: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        inputs, outputs = run()
    named = {t.untyped_storage().data_ptr(): name for name, t in (*outputs.items(), *inputs.items())}
    found: Kept = {}
    for pointer, tensor in saved.items():
        name = named.get(pointer, "other")
        found[name] = found.get(name, 0) + tensor.untyped_storage().nbytes()
    return dict(sorted(found.items()))
