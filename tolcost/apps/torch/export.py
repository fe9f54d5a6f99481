"""Export a module of PyTorch as an ONNX model, with torch's own exporter and without weights.

Only shapes and types of weights matter here, so large ones are not copied: a module on torch's ``meta``
device, which has none at all, can be exported, too.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from inspect import signature
from io import StringIO
from typing import Any

from tolcost.catalogue.protobuf import FOLDED, KIND, PARAMETER
from tolcost.catalogue.reading import MODULE_BUFFERS, MODULE_PARAMETERS, MODULE_UNFUSED
from tolcost.diagnostics import Diagnostic, Rejected, quoted

_KEPT = 1 << 12
"""Constants of at most this many bytes are kept, since they may decide shapes."""
_LONGEST = 400
_QUOTED = re.compile(r"'([^']+)'")
_OLDEST = 18
"""torch writes older opsets by converting the model back, which often fails."""
_ATTENTION = re.compile(r"call_function\[target=[^\]]*scaled_dot_product_attention")
SPACES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
"""The types of inputs to trace with."""
_EXAMPLE = 32
"""Lengths while tracing are different multiples of this."""


def exported(
    module: object,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dynamic_shapes: object,
    opset: int | None = None,
) -> bytes:
    """Return the bytes of the ONNX model that torch exports for a module; by default for the newest opset."""
    torch = installed()
    held = [*module.parameters(), *module.buffers()] if isinstance(module, torch.nn.Module) else []
    meta = any(tensor.is_meta for tensor in held)
    try:
        with warnings.catch_warnings(action="ignore"), _silence():
            program = torch.onnx.export(
                module,
                tuple(args),
                kwargs=dict(kwargs),
                dynamic_shapes=dynamic_shapes,
                dynamo=True,
                opset_version=opset or newest_opset(),
                optimize=not meta,  # optimisation computes with weights
                verbose=False,
            )
    except Exception as error:  # foreign code may raise anything
        message = f"torch cannot export this: {told(_cause(error))}"
        hint = f"{_signature(module)}; torch.onnx.export(..., dynamo=True) says more"
        raise Rejected(Diagnostic("T0682", message, hint=hint)) from error
    if isinstance(module, torch.nn.Module):
        _note_module(program, module)
    return _without_weights(program)


def newest_opset() -> int | None:
    """Return the newest opset that torch's exporter and onnx both know; None: torch's own choice.

    torch's own choice is years old: attention is one operator from opset 23 on, and several before it, with
    bytes for all scores.  torch publishes its newest opset nowhere, so a private constant is read.
    """
    from onnx import defs
    from torch.onnx import _constants

    most = getattr(_constants, "ONNX_MAX_OPSET", None)
    return min(most, defs.onnx_opset_version()) if isinstance(most, int) else None


def check_opset(opset: int | None) -> None:
    """Refuse an opset that torch's exporter does not write, before anything is exported."""
    newest = newest_opset()
    if opset is not None and newest is not None and not _OLDEST <= opset <= newest:
        message = f"torch's exporter writes no opset {opset} here"
        raise Rejected(Diagnostic("T0682", message, hint=f"opsets {_OLDEST} to {newest} are known"))


def _signature(module: object) -> str:
    """Return the arguments of a module's ``forward``, for a hint when others were given."""
    forward = getattr(module, "forward", module)
    try:
        return f"the arguments are forward{signature(forward)}"[:_LONGEST]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "its arguments are not known"


def _note_module(program: Any, module: Any) -> None:
    """Record in a model the size of its module, and the attentions that are not one operator.

    An exporter merges equal tensors, folds norms into weights, and drops unused ones.
    """
    noted = program.model.metadata_props
    noted[MODULE_PARAMETERS] = str(sum(tensor.numel() for tensor in module.parameters()))
    noted[MODULE_BUFFERS] = str(sum(tensor.numel() for tensor in module.buffers()))
    noted[MODULE_UNFUSED] = str(_unfused_attentions(program))
    parameters = dict(module.named_parameters())
    for value in program.model.graph.initializers.values():
        source = value.metadata_props.get(FOLDED, "")
        if any(name in parameters for name in _QUOTED.findall(source)):
            value.metadata_props[KIND] = PARAMETER  # such as a weight that was transposed


def _unfused_attentions(program: Any) -> int:
    """Count the calls of torch's attention function that no single operator computes.

    torch notes for each operator the call that it belongs to.  An operator that computes attention takes
    queries, keys and values from outside of the call; a product of two of them does not.
    """
    calls: dict[str, list[Any]] = {}
    for node in program.model.graph.all_nodes():
        call = node.metadata_props.get("pkg.torch.onnx.fx_node", "")
        if _ATTENTION.search(call):
            calls.setdefault(call, []).append(node)
    return sum(not any(_takes_from_outside(node, nodes) >= 3 for node in nodes) for nodes in calls.values())


def _takes_from_outside(node: Any, nodes: Sequence[Any]) -> int:
    """Count the inputs of a node that are neither weights nor given by one of these nodes."""
    given = [value for value in node.inputs if value is not None and not value.is_initializer()]
    return sum(value.producer() not in nodes for value in given)


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress logs and prints: torch prints its own tracebacks before it raises."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        logging.disable(before)


def _cause(error: BaseException) -> BaseException:
    """Return the first exception in a chain of explicit causes: torch wraps it in its own advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def told(error: BaseException) -> str:
    """Format an error of foreign code in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]


def installed() -> Any:
    """Return torch, if it and the packages its exporter needs are installed."""
    try:
        import onnxscript  # noqa: F401  # the exporter needs it
        import torch
    except ImportError as error:
        raise needs(error.name) from None
    return torch


def needs(package: str | None) -> Rejected:
    """Return the error for a package that the exporter needs and that is not installed."""
    message = f"modules are read with torch's own exporter, and {package} is not installed"
    return Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[torch]'"))


def _without_weights(program: Any) -> bytes:
    """Serialise a model with its large constants marked as external data, which nothing reads."""
    import onnx_ir

    for name, value in program.model.graph.initializers.items():
        if value.const_value.nbytes > _KEPT or getattr(value.const_value.raw, "is_meta", False):
            size = value.const_value.nbytes
            value.const_value = onnx_ir.ExternalTensor(
                "weights", 0, size, value.dtype, shape=value.shape, name=name, base_dir=""
            )
    for node in program.model.graph.all_nodes():  # source locations of nodes are of no use here
        node.metadata_props.pop("pkg.torch.onnx.stack_trace", None)
    raw: bytes = onnx_ir.serde.serialize_model(program.model).SerializeToString()
    return raw


def example(
    shapes: Mapping[str, tuple[str, Sequence[int | str]]],
) -> tuple[dict[str, object], dict[str, object]]:
    """Return tensors to trace with, by the name of the input, and their open lengths.

    A shape is a type such as ``int64`` with names and numbers; each name is an independent length.
    """
    torch = installed()
    names = list(dict.fromkeys(d for _, shape in shapes.values() for d in shape if isinstance(d, str)))
    sizes = {name: _EXAMPLE * (n + 1) for n, name in enumerate(names)}
    tensors: dict[str, object] = {}
    open_: dict[str, object] = {}
    for name, (space, shape) in shapes.items():
        lengths = [sizes[d] if isinstance(d, str) else d for d in shape]
        tensors[name] = torch.zeros(lengths, dtype=getattr(torch, space))
        open_[name] = {axis: d for axis, d in enumerate(shape) if isinstance(d, str)}
    return tensors, open_


# === Modules by name.


def found(target: str) -> Any:
    """Import what ``module:name`` names, and call it if it is not a module of torch yet."""
    where, _, name = target.partition(":")
    try:
        subject: Any = import_module(where)
        for part in name.split("."):
            subject = getattr(subject, part)
    except (ImportError, AttributeError) as error:
        raise _unfound(f"{quoted(target[:60])} is not found: {told(error)}") from error
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        raise _unfound(f"{quoted(where[:60])} cannot be imported: {told(error)}") from error
    nn = installed().nn
    made = subject if isinstance(subject, nn.Module) else _called(target, subject)
    if not isinstance(made, nn.Module):
        raise _unfound(f"{quoted(target[:60])} gives no torch.nn.Module, but {type(made).__name__}")
    return made.eval()


def _called(target: str, subject: Any) -> Any:
    if not callable(subject):
        raise _unfound(f"{quoted(target[:60])} is no torch.nn.Module, but {type(subject).__name__}")
    try:
        return subject()
    except (Exception, SystemExit) as error:
        message = f"{quoted(target[:60])} fails when it is called without arguments: {told(error)}"
        raise _unfound(message) from error


def _unfound(message: str) -> Rejected:
    return Rejected(Diagnostic("T0682", message))
