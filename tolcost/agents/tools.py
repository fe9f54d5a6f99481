"""The tools: what each takes, which command answers, and which schema its answer keeps to.

A tool is a command in a process of its own, with the limits that the command has.  A program is given as
text or as the path of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tolcost.dataclass import dataclass
from tolcost.platform import schema_text

Arguments = Mapping[str, Any]
_TEXT = {"type": "string"}
_SHAPES = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": ["integer", "string"]}},
    "description": "Shapes of inputs by name, in numbers and names of lengths: {'x': ['batch', 1000]}.",
}
_DIMS = {
    "type": "object",
    "additionalProperties": {"type": "integer", "minimum": 0},
    "description": "Lengths by name; with all of them, figures are exact numbers too.",
}
_ATTRS = {
    "type": "object",
    "additionalProperties": {"type": ["integer", "number", "string", "boolean", "array"]},
    "description": "Values of attributes and static inputs by name.",
}
_PROGRAM = {**_TEXT, "description": "A ToLang program, as text; or give `path`."}
_PATH = {**_TEXT, "description": "The path of a .tol file."}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it does, what it takes, and the command line that answers."""

    name: str
    about: str
    properties: Mapping[str, object]
    required: tuple[str, ...]
    command: Callable[[Arguments, Path], list[str]]
    answers: str | None = None
    """The schema of the answer; None where it is text."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """What it takes."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """What it answers."""
        found: dict[str, Any] | None = None if self.answers is None else json.loads(schema_text(self.answers))
        return found


class BadArguments(Exception):
    """Arguments that do not say what is meant."""


def _subject(given: Arguments, folder: Path, text: str = "program", path: str = "path") -> str:
    """The file of a program: one that is there, or the text written to one."""
    if (text in given) == (path in given):
        raise BadArguments(f"give either `{text}` or `{path}`")
    if path in given:
        return str(Path(given[path]).resolve())
    name = f"{text}.tol"
    (folder / name).write_text(str(given[text]), encoding="utf-8")
    return name


def _inputs(given: Arguments) -> list[str]:
    """What is said of inputs, as options."""
    shapes = (
        f"--shape={name}={','.join(map(str, shape))}" for name, shape in given.get("shapes", {}).items()
    )
    attrs = (f"--attr={name}={_literal(value)}" for name, value in given.get("attrs", {}).items())
    dims = (f"--dim={name}={value}" for name, value in given.get("dims", {}).items())
    return [*shapes, *attrs, *dims]


def _literal(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _analyze(given: Arguments, folder: Path) -> list[str]:
    return ["analyze", _subject(given, folder), "--symbolic", "--format=json", *_inputs(given)]


def _explain(given: Arguments, folder: Path) -> list[str]:
    if "code" in given:
        return ["explain", "--", str(given["code"])]
    return ["explain", _subject(given, folder), *_inputs(given)]


def _diff(given: Arguments, folder: Path) -> list[str]:
    old, new = (_subject(given, folder, which, f"{which}_path") for which in ("old", "new"))
    return ["diff", old, new, "--format=json", *_inputs(given)]


def _model(given: Arguments, folder: Path) -> list[str]:
    return ["model", str(Path(given["path"]).resolve()), "--format=json", *_inputs(given)]


def _referee(given: Arguments, folder: Path) -> list[str]:
    subject = [f"--op={given['operator']}", f"--formula={given['formula']}"]
    return ["referee", *subject, f"--counts={given.get('counts', 'flops')}", *_inputs(given)]


def _operator(given: Arguments, folder: Path) -> list[str]:
    return ["ops", "--format=json", "--", str(given["name"])]


TOOLS = (
    Tool(
        "analyze",
        "What a ToLang program costs: closed forms in its lengths for elementary operations, FLOPs, MACs, "
        "bytes, depth and atoms; exact numbers where `dims` gives every length.",
        {"program": _PROGRAM, "path": _PATH, "dims": _DIMS, "shapes": _SHAPES, "attrs": _ATTRS},
        (),
        _analyze,
        "analysis",
    ),
    Tool(
        "diff",
        "Which of two programs, or of two ONNX models, costs more: a proof for all lengths, or points that "
        "show it. Give each as text (`old`, `new`) or as a path.",
        {
            "old": {**_TEXT, "description": "The old program, as text."},
            "new": {**_TEXT, "description": "The new program, as text."},
            "old_path": {**_TEXT, "description": "The old .tol or .onnx file."},
            "new_path": {**_TEXT, "description": "The new .tol or .onnx file."},
            "shapes": _SHAPES,
            "attrs": _ATTRS,
        },
        (),
        _diff,
        "diff",
    ),
    Tool(
        "explain",
        "How the cost of a program comes about, step by step; or what a diagnostic code means.",
        {
            "program": _PROGRAM,
            "path": _PATH,
            "code": {**_TEXT, "pattern": "^[Tt][0-9]{4}$", "description": "A diagnostic code: T0301."},
            "shapes": _SHAPES,
            "attrs": _ATTRS,
        },
        (),
        _explain,
    ),
    Tool(
        "model",
        "What an ONNX model costs in its free dimensions: totals, by operator, scope and node, and what "
        "is not costed.",
        {"path": {**_TEXT, "description": "The .onnx file."}, "dims": _DIMS, "shapes": _SHAPES},
        ("path",),
        _model,
        "model",
    ),
    Tool(
        "referee",
        "Whether a cost formula typed by hand for an ONNX operator is right: equal to the form of its "
        "verified definition, too high or too low, where, and why.",
        {
            "operator": {**_TEXT, "description": "The operator: LayerNormalization."},
            "formula": {**_TEXT, "description": "The formula, in the lengths of `shapes`: 5*m*n."},
            "counts": {"enum": ["eops", "flops", "macs", "bytes"], "description": "What it counts: flops."},
            "shapes": _SHAPES,
            "attrs": _ATTRS,
        },
        ("operator", "formula"),
        _referee,
    ),
    Tool(
        "operator",
        "An ONNX operator: its definition in ToLang, its closed forms by rank, a derivation, and what ONNX's "
        "own tests say of it.",
        {"name": {**_TEXT, "description": "The operator: Softmax, or ai.onnx.ml.Normalizer."}},
        ("name",),
        _operator,
        "ops",
    ),
)
