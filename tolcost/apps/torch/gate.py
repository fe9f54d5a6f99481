"""Models that the gate's settings declare as modules of PyTorch: each is exported when it is checked.

Importing a module runs its code, so this happens in a process of its own: what the code does to Python, to
its output or to the process does not reach the gate.  At a revision, code is imported from a copy of the tree
of then.  An installed package may lead back to the working tree; the process looks at what was imported, and
refuses that, because a comparison would be one of the working tree with itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct, convert, json

from tolcost.apps.torch.export import (
    MULTIPLE,
    SPACES,
    check_opset,
    example,
    exported,
    found,
    installed,
    needs,
)
from tolcost.check.config import Config
from tolcost.check.targets import Target, repository_of
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse

_SECONDS = 600.0
"""The time limit of one export, as of any other analysis of a check."""
_START = (
    "import json, sys; task = json.load(sys.stdin); sys.path[:] = task['packages']; "
    "from tolcost.apps.torch.gate import make; make(task)"
)
_MODEL, _REFUSED = "model.onnx", "refused.json"
_LONGEST = 200


class ExportTask(Struct, frozen=True):
    """A request to export in a process of its own: a module, its inputs, and where Python looks for code.

    ``packages`` is where tolcost comes from, and ``code`` where the module does.  ``top`` is the repository
    of the code; at a revision that is a copy, and ``working`` the repository that it was copied from.
    """

    name: str
    inputs: dict[str, tuple[str, tuple[int | str, ...]]]
    opset: int | None
    weights: bool
    assume: list[str]
    train: bool
    packages: list[str]
    code: list[str]
    top: str
    working: str | None
    output: str


class _Refused(Struct, frozen=True):
    """A diagnostic of the process, as it crosses to the gate."""

    code: str
    message: str
    hint: str | None


def exported_target(config: Config, target: Target) -> bytes:
    """Export the module that settings declare, in a process of its own."""
    inputs = dict(_inputs(target))
    missing = next((package for package in ("torch", "onnxscript") if find_spec(package) is None), None)
    if missing is not None:
        raise needs(missing)
    opset = target.case.attrs.get("opset")
    packages = [os.path.abspath(entry) for entry in sys.path]
    top = str(repository_of(config.root))
    working = None if config.working is None else str(repository_of(config.working))
    code = packages if working is None else [_then(entry, working, top) for entry in packages]
    with tempfile.TemporaryDirectory(prefix="tolcost-") as output:
        task = ExportTask(
            name=target.file,
            inputs=inputs,
            opset=opset if isinstance(opset, int) else None,
            weights=bool(target.case.attrs.get("weights", True)),
            assume=list(target.case.assume),
            train=bool(target.case.train),
            packages=packages,
            code=[os.path.abspath(config.root), *code],
            top=top,
            working=working,
            output=output,
        )
        said = _run(task, config.root)
        model, refused = Path(output, _MODEL), Path(output, _REFUSED)
        if refused.is_file():
            one = json.decode(refused.read_bytes(), type=_Refused)
            raise Rejected(Diagnostic(one.code, one.message, hint=one.hint))
        if not model.is_file():
            raise Rejected(Diagnostic("T0682", f"the process that exports {quoted(target.file)} {said}"))
        return model.read_bytes()


def _inputs(target: Target) -> Iterator[tuple[str, tuple[str, tuple[int | str, ...]]]]:
    """Yield the arguments of a module, each with its type and lengths."""
    for key, shape in target.case.shapes.items():
        name, _, space = key.partition(":")
        if not name.isidentifier() or (space or SPACES[1]) not in SPACES:
            refuse(
                "T0711", f"{quoted(key)} is not an argument with a type", hint=f"types: {', '.join(SPACES)}"
            )
        lengths = tuple(length for length in shape if isinstance(length, int | str))
        wrong = [n for n in lengths if not (n >= 0 if isinstance(n, int) else MULTIPLE.fullmatch(n))]
        if wrong or len(lengths) != len(shape):
            refuse("T0711", f"the shape of {quoted(name)} is a list of names, multiples and numbers")
        yield name, (space or SPACES[1], lengths)


def _then(entry: str, working: str, top: str) -> str:
    """Return the folder of a revision's copy for one of the working tree, if the copy has it."""
    real = os.path.realpath(entry)
    inside = os.path.relpath(real, working) if _is_below(real, working) else ".."
    copied = os.path.normpath(os.path.join(top, inside))
    return copied if not inside.startswith("..") and os.path.isdir(copied) else entry


def _run(task: ExportTask, folder: Path) -> str:
    """Run the process; return how it ended, with the last line that it wrote."""
    command = [sys.executable, "-P", "-c", _START]
    try:
        done = subprocess.run(
            command,
            input=json.encode(task),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {_SECONDS:.0f} s"
    lines = done.stderr.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    ended = f"was killed by signal {-done.returncode}" if done.returncode < 0 else "wrote no model"
    return f"{ended}: {last[:_LONGEST]}" if last else ended


# ---- inside of the process --------------------------------------------------------------------------


def make(given: object) -> None:
    """Export a module, and write the model or the reason why there is none."""
    task = convert(given, ExportTask)
    before = frozenset(sys.modules)
    sys.path[:] = task.code
    try:
        raw = _export(task)
        _refuse_working_tree(task, before)
        Path(task.output, _MODEL).write_bytes(raw)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        refused = _Refused(first.code, first.message, first.hint)
        Path(task.output, _REFUSED).write_bytes(json.encode(refused))


def _export(task: ExportTask) -> bytes:
    check_opset(task.opset)
    with nullcontext() if task.weights else installed().device("meta"):
        module = found(task.name).train() if task.train else found(task.name)
        tensors, open_ = example(task.inputs, task.assume)
    return exported(module, (), tensors, open_, task.opset)


def _refuse_working_tree(task: ExportTask, before: frozenset[str]) -> None:
    """Refuse code of a revision that was imported from the working tree instead."""
    if task.working is None:
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        own = name in before or name.partition(".")[0] == "tolcost"
        if own or not isinstance(file, str) or not _is_of(file, task.working, task.top):
            continue
        message = f"at the revision, {quoted(name)} is imported from the working tree, not from the revision"
        hint = "an installed package leads there; compare with the lock file: `tolcost check` without --base"
        raise Rejected(Diagnostic("T0682", message, hint=hint))


def _is_of(file: str, working: str, top: str) -> bool:
    """Whether a file belongs to the working tree: not to the copy, and not to packages installed inside."""
    real = os.path.realpath(file)
    installed_there = _is_below(real, os.path.realpath(sys.prefix)) or "site-packages" in Path(real).parts
    return _is_below(real, working) and not _is_below(os.path.abspath(file), top) and not installed_there


def _is_below(path: str, folder: str) -> bool:
    return f"{path}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}")
