"""tolcost by the command that a user has, in this process: one start for a thousand questions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from tolcost.cli import run

from .table import ROOT


def spec(op: str) -> str:
    """The file that defines an operator."""
    return str(ROOT / "specs" / "onnx" / f"{op}.tol")


def tolcost(*arguments: str) -> str:
    """What the command writes; an error if it fails."""
    with redirect_stdout(StringIO()) as said:
        failed = run(arguments)
    if failed:
        raise RuntimeError(f"tolcost {' '.join(arguments)}: {said.getvalue()}")
    return said.getvalue()


def given_shapes(shapes: Mapping[str, Any]) -> list[str]:
    """Options for shapes; a list of shapes for an input that may be repeated."""
    options = []
    for name, given in shapes.items():
        several = bool(given) and not isinstance(given[0], int)
        for shape in given if several else [given]:
            options += ["--shape", f"{name}={','.join(map(str, shape)) or '[]'}"]
    return options


def given_attributes(attrs: Mapping[str, Any]) -> list[str]:
    """Options for attributes and static inputs."""
    options = []
    for name, value in attrs.items():
        options += ["--attr", f"{name}='{value}'" if isinstance(value, str) else f"{name}={value}"]
    return options
