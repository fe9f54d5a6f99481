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

from tolcost.algebra import length, symbols_of_cond, the_symbol
from tolcost.algebra.points import hold_at
from tolcost.catalogue.protobuf import FOLDED, KIND, PARAMETER
from tolcost.catalogue.reading import MODULE_BUFFERS, MODULE_PARAMETERS, MODULE_TRAINS, MODULE_UNFUSED
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.result.assumptions import assumed
from tolcost.syntax.names import similar

_KEPT = 1 << 12
"""Constants of at most this many bytes are kept, since they may decide shapes."""
_LONGEST = 400
_QUOTED = re.compile(r"'([^']+)'")
_OLDEST = 18
"""torch writes older opsets by converting the model back, which often fails."""
_ATTENTION = re.compile(r"call_function\[target=[^\]]*scaled_dot_product_attention")
SPACES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
"""The types of inputs to trace with."""
MULTIPLE = re.compile(r"(?:[1-9][0-9]{0,8} *\* *)?[^\W\d]\w*")
"""A name of a length, or a multiple of one."""
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
    batches = _batch_norms(module)
    try:
        with warnings.catch_warnings(action="ignore"), _silence():
            program = torch.onnx.export(
                module,
                tuple(args),
                kwargs=dict(kwargs),
                dynamic_shapes=dynamic_shapes,
                dynamo=True,
                opset_version=opset or newest_opset(),
                custom_translation_table=_translations(torch),
                optimize=not meta and not batches,  # optimisation computes with weights
                verbose=False,
            )
    except Exception as error:  # foreign code may raise anything
        said = told(_cause(error))
        hint = remedy(said) or f"{arguments_of(module)}; torch.onnx.export(..., dynamo=True) says more"
        raise Rejected(Diagnostic("T0682", f"torch cannot export this: {said}", hint=hint)) from error
    if batches:
        _put_into_training(program)
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


_REMEDIES = (
    (r"to have one of the following scalar types: Long, Int", "indices are integers: --shape {}:int64=..."),
    (r"Min\((\d+), s\d+\)\) is inconsistent", "a length has a limit: --assume 'NAME <= {}', with its name"),
    (r"not in VR\[(\d+), \1\]", "the module fixes a length: write {} for it in --shape"),
    (r"specialized it to be a constant \((\d+)\)", "the module fixes a length: write {} for it in --shape"),
    (r"GuardOnDataDependent|data-dependent", "data decides a branch: torch.where computes both sides"),
    (r"same reduction dim|cannot be multiplied", "a length of --shape does not fit the weights of a layer"),
    (r"expected input\S* to have (\d+) channels", "write {} for the channels in --shape"),
)  # fmt: skip
"""Messages of torch about common mistakes, and what to do; a number of the message stands in place of {}."""


def remedy(said: str) -> str:
    """Return what to do about a message of torch; empty if it is none of the common ones.

    >>> remedy("ValueError: Eq(s27, Min(16, s27)) is inconsistent!")
    "a length has a limit: --assume 'NAME <= 16', with its name"
    """
    found = ((re.search(pattern, said), hint) for pattern, hint in _REMEDIES)
    match, hint = next(((match, hint) for match, hint in found if match is not None), (None, ""))
    return hint.format(match[1] if match is not None and match.re.groups else "INPUT")


def _translations(torch: Any) -> dict[Any, Any]:
    """Return how to write operators that the exporter writes as something else.

    A softmax in another type computes in that type.  The exporter converts its result instead, so that the
    32-bit softmax of a 16-bit model would run, and be kept, in 16 bits.
    """
    from onnxscript import opset18 as op

    def softmax_by(operator: Any) -> Any:
        def softmax(self: Any, dim: int, dtype: int = -1) -> Any:
            given = self if dtype in (-1, None, self.dtype) else op.Cast(self, to=dtype)
            if len(self.shape) > 0:
                return operator(given, axis=dim)
            row = op.Unsqueeze(given, op.Constant(value_ints=[0]))
            return op.Squeeze(operator(row, axis=dim))

        return softmax

    aten = torch.ops.aten
    return {aten.softmax.int: softmax_by(op.Softmax), aten.log_softmax.int: softmax_by(op.LogSoftmax)}


def arguments_of(module: object) -> str:
    """Return the arguments of a module's ``forward``, for a hint when others were given."""
    forward = getattr(module, "forward", module)
    try:
        return f"the arguments are forward{signature(forward)}"[:_LONGEST]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "its arguments are not known"


def _batch_norms(module: object) -> bool:
    """Whether a module normalises by the statistics of a batch.

    torch's exporter writes this as if statistics were given, and its optimisation takes it into weights.
    """
    torch = installed()
    kind = torch.nn.modules.batchnorm._BatchNorm
    return isinstance(module, torch.nn.Module) and any(
        isinstance(one, kind) and one.training for one in module.modules()
    )


def _put_into_training(program: Any) -> None:
    """Let batch normalisations take the statistics of the batch."""
    import onnx_ir

    for node in program.model.graph.all_nodes():
        if "momentum" in node.attributes:  # of running statistics
            node.attributes.add(onnx_ir.AttrInt64("training_mode", 1))


def _note_module(program: Any, module: Any) -> None:
    """Record in a model the size of its module, and the attentions that are not one operator.

    An exporter merges equal tensors, folds norms into weights, and drops unused ones.
    """
    noted = program.model.metadata_props
    noted[MODULE_PARAMETERS] = str(sum(tensor.numel() for tensor in module.parameters()))
    noted[MODULE_BUFFERS] = str(sum(tensor.numel() for tensor in module.buffers()))
    noted[MODULE_TRAINS] = str(int(module.training))
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
    shapes: Mapping[str, tuple[str, Sequence[int | str]]], assume: Sequence[str] = ()
) -> tuple[dict[str, object], dict[str, object]]:
    """Return tensors to trace with, by the name of the input, and their open lengths.

    A shape is a type such as ``int64`` with numbers, names, and multiples of names such as ``16*h``; each
    name is an independent length.  Lengths to trace with are within what is assumed.
    """
    torch = installed()
    read = {name: [split_length(d) for d in shape] for name, (_, shape) in shapes.items()}
    names = list(dict.fromkeys(d for entries in read.values() for _, d in entries if d))
    multiplied = {d for entries in read.values() for times, d in entries if d and times != 1}
    sizes = _sizes(names, assume)
    tensors: dict[str, object] = {}
    open_: dict[str, object] = {}
    for name, (space, _) in shapes.items():
        lengths = [times * sizes[d] if d else times for times, d in read[name]]
        tensors[name] = torch.zeros(lengths, dtype=getattr(torch, space))
        open_[name] = {
            axis: times * torch.export.Dim(d) if d in multiplied else d
            for axis, (times, d) in enumerate(read[name])
            if d
        }
    return tensors, open_


def split_length(entry: int | str) -> tuple[int, str]:
    """Split a length of a shape into its factor and its name; the name of a number is empty.

    >>> split_length("16*h"), split_length("n"), split_length(3)
    ((16, 'h'), (1, 'n'), (3, ''))
    """
    if isinstance(entry, int):
        return entry, ""
    factor, _, name = entry.rpartition("*")
    return int(factor or 1), name.strip()


def _sizes(names: Sequence[str], assume: Sequence[str]) -> dict[str, int]:
    """Return different lengths to trace with, small where an assumption limits a length."""
    known = {name: length(name) for name in names}
    facts = assumed(assume, known, lenient=True).facts
    sizes: dict[str, int] = {}
    for n, (name, form) in enumerate(known.items(), start=1):
        own = [fact for fact in facts if symbols_of_cond(fact) == form.free]
        usual = _EXAMPLE * n
        fits = (
            size for size in (usual, *range(_EXAMPLE - n, 1, -1)) if hold_at(own, {the_symbol(form): size})
        )
        sizes[name] = next(fits, usual)
    return sizes


# === Modules by name.


def found(target: str) -> Any:
    """Import what ``module:name`` names, and call it if it is not a module of torch yet."""
    where, _, name = target.partition(":")
    subject: Any = None
    try:
        subject = import_module(where)
        for part in name.split("."):
            subject = getattr(subject, part)
    except (ImportError, AttributeError) as error:
        hint = f"a name to import, without a path: {_as_module(where)}:{name}" if _is_file(where) else None
        meant = None if subject is None else similar(part, dir(subject))
        hint = f"did you mean `{meant}`?" if meant else hint
        raise _unfound(f"{quoted(target[:60])} is not found: {told(error)}", hint) from error
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        hint = f"a name to import, without a path: {_as_module(where)}:{name}" if _is_file(where) else None
        raise _unfound(f"{quoted(where[:60])} cannot be imported: {told(error)}", hint) from error
    nn = installed().nn
    made = subject if isinstance(subject, nn.Module) else _called(target, subject)
    if not isinstance(made, nn.Module):
        said = f"{quoted(target[:60])} gives no torch.nn.Module, but {type(made).__name__}"
        raise _unfound(said, "name the module itself, or a function that returns it")
    return made.eval()


def _called(target: str, subject: Any) -> Any:
    if not callable(subject):
        raise _unfound(f"{quoted(target[:60])} is no torch.nn.Module, but {type(subject).__name__}")
    try:
        return subject()
    except (Exception, SystemExit) as error:
        message = f"{quoted(target[:60])} fails when it is called without arguments: {told(error)}"
        hint = "write a function without arguments that returns the module, and name that"
        raise _unfound(message, hint if isinstance(error, TypeError) else None) from error


def _is_file(where: str) -> bool:
    return where.endswith(".py") or "/" in where or "\\" in where


def _as_module(where: str) -> str:
    """Write the path of a file as the name under which Python imports it."""
    return ".".join(part for part in re.split(r"[/\\]", where.removesuffix(".py")) if part not in ("", "."))


def _unfound(message: str, hint: str | None = None) -> Rejected:
    return Rejected(Diagnostic("T0682", message, hint=hint))
