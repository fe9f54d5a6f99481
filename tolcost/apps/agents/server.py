"""The server: lists the tools, and answers each call by running its command in a separate process."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from msgspec import Struct
from pydantic import ValidationError

from tolcost import __version__
from tolcost.literals import literal_text
from tolcost.platform import schema_text

# === The tools: the arguments of each, the command that answers, and the schema of its answer.
#
# A tool is a command in its own process, with the limits that the command has.  A program is given as
# text or as the path of a file.


Arguments = Mapping[str, Any]
_TEXT = {"type": "string"}
_SHAPES = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": ["integer", "string"], "pattern": "^[^,]+$"}},
    "description": "Shapes of inputs by name, in numbers and names of lengths: {'x': ['batch', 1000]}.",
}
_DIMS = {
    "type": "object",
    "additionalProperties": {"type": "integer", "minimum": 0},
    "description": "Lengths by name; with all of them, figures are exact numbers too.",
}
_ASSUME = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What holds of lengths: ['h = 32*k', 'seq <= 512'].",
}
_ATTRS = {
    "type": "object",
    "additionalProperties": {"type": ["integer", "number", "string", "boolean", "array"]},
    "description": "Values of attributes and static inputs by name.",
}
_MEANINGS = {"type": "object", "additionalProperties": {"type": ["integer", "string"]}}
_PROGRAM = {**_TEXT, "description": "A ToLang program, as text; or give `path`."}
_PROGRAMS, _MODELS = (".tol",), (".onnx",)
"""Suffixes of the files that tools read."""
_PATH = {**_TEXT, "description": "The path of a .tol file."}


class Tool(Struct, frozen=True):
    """A tool: its name, purpose and arguments, and the command line that answers."""

    name: str
    about: str
    properties: Mapping[str, object]
    required: tuple[str, ...]
    command: Callable[[Arguments, Path], list[str]]
    answers: str | None = None
    """The schema of the answer; None where it is text."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The schema of its answer."""
        found: dict[str, Any] | None = None if self.answers is None else json.loads(schema_text(self.answers))
        return found


class BadArguments(Exception):
    """Arguments that are contradictory or incomplete."""


def _subject(given: Arguments, folder: Path, text: str = "program", path: str = "path") -> str:
    """Return the file of a program: a given one, or one written from the given text."""
    if (text in given) == (path in given):
        raise BadArguments(f"give either `{text}` or `{path}`")
    if path in given:
        return str(_file(given[path], _PROGRAMS if path == "path" else (*_PROGRAMS, *_MODELS)))
    name = f"{text}.tol"
    (folder / name).write_text(str(given[text]), encoding="utf-8")
    return name


def _file(path: str, suffixes: Sequence[str]) -> Path:
    """Resolve a path and check its suffix; no other file is read, as a diagnostic quotes its lines."""
    file = Path(path).resolve()
    if file.suffix not in suffixes:
        raise BadArguments(f"{file.name} is no {' or '.join(suffixes)} file, and no other is read")
    return file


def _inputs(given: Arguments) -> list[str]:
    """Return what is known of inputs and lengths, as options."""
    shapes = (
        f"--shape={name}={','.join(map(_length, shape))}" for name, shape in given.get("shapes", {}).items()
    )
    attrs = (f"--attr={name}={literal_text(value)}" for name, value in given.get("attrs", {}).items())
    dims = (f"--dim={name}={_length(value)}" for name, value in given.get("dims", {}).items())
    assumed = (f"--assume={text}" for text in given.get("assume", ()))
    return [*shapes, *attrs, *dims, *assumed]


def _length(value: object) -> str:
    """Format a length or its name; in JSON, 2.0 is a whole number, too."""
    return str(int(value)) if isinstance(value, float) else str(value)


def _analyze(given: Arguments, folder: Path) -> list[str]:
    return ["analyze", _subject(given, folder), "--symbolic", "--format=json", *_inputs(given)]


def _explain(given: Arguments, folder: Path) -> list[str]:
    if "code" in given:
        if len(given) > 1:
            raise BadArguments("give a `code` alone: it is about no program")
        return ["explain", "--", str(given["code"])]
    if "program" not in given and "path" not in given:
        raise BadArguments("give one of `program`, `path` and `code`")
    return ["explain", _subject(given, folder), *_inputs(given)]


def _diff(given: Arguments, folder: Path) -> list[str]:
    old, new = (_subject(given, folder, which, f"{which}_path") for which in ("old", "new"))
    return ["diff", old, new, "--format=json", *_inputs(given)]


def _model(given: Arguments, folder: Path) -> list[str]:
    file = _file(given["path"], _MODELS)
    if not file.is_file():  # a folder or a pattern would be many models
        raise BadArguments(f"there is no file {file}; give the path of one model")
    return ["model", str(file), "--format=json", *_inputs(given)]


def _referee(given: Arguments, folder: Path) -> list[str]:
    subject = [f"--op={given['operator']}", f"--formula={given['formula']}", "--format=json"]
    meanings = (f"--{key}={n}={form}" for key in ("where", "let") for n, form in given.get(key, {}).items())
    return ["referee", *subject, f"--counts={given.get('counts', 'flops')}", *meanings, *_inputs(given)]


def _operator(given: Arguments, folder: Path) -> list[str]:
    return ["ops", "--format=json", "--", str(given["name"])]


_PLAN_TEXTS = ("device", "weights", "cache", "fit", "target", "measured", "train", "precision")
_PLAN_NUMBERS = ("batch", "prompt", "answer", "chunk", "block")


def _plan(given: Arguments, folder: Path) -> list[str]:
    if ("config" in given) == ("model" in given):
        raise BadArguments("give either `config` or `model`")
    if "model" in given:
        subject = [f"--model={given['model']}"]
    else:
        (folder / "config.json").write_text(json.dumps(given["config"]), encoding="utf-8")
        subject = ["config.json"]
    told = [f"--{name}={given[name]}" for name in _PLAN_TEXTS if name in given]
    told += ["--recompute"] if given.get("recompute") else []
    return ["plan", *subject, "--format=json", *told, *(
        f"--{name}={_length(given[name])}" for name in _PLAN_NUMBERS if name in given
    )]  # fmt: skip


TOOLS = (
    Tool(
        "analyze",
        "What a ToLang program costs: closed forms in its lengths for elementary operations, FLOPs, MACs, "
        "bytes, depth and atoms; exact numbers where `dims` gives every length.",
        {
            "program": _PROGRAM,
            "path": _PATH,
            "dims": _DIMS,
            "assume": _ASSUME,
            "shapes": _SHAPES,
            "attrs": _ATTRS,
        },
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
            "dims": {**_DIMS, "description": "Lengths by name: the two are compared there, for all others."},
            "assume": _ASSUME,
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
        {
            "path": {**_TEXT, "description": "The .onnx file."},
            "dims": _DIMS,
            "assume": _ASSUME,
            "shapes": _SHAPES,
        },
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
            "where": {**_MEANINGS, "description": "What a name in it, or a length, is: {'T': 'b*s'}."},
            "let": {
                **_MEANINGS,
                "description": "What a letter of it is in our lengths: {'h': '4*d'}.",
            },
            "shapes": _SHAPES,
            "attrs": _ATTRS,
        },
        ("operator", "formula"),
        _referee,
        "referee",
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
    Tool(
        "plan",
        "A language model from its config.json: parameters, cache and activations in bytes, whether it fits "
        "a device, the time of the first and of each next token, and the largest batch or context.",
        {
            "config": {"type": "object", "description": "The content of a `config.json` of transformers."},
            "model": {**_TEXT, "description": "Or a model that comes with tolcost: llama3-8b."},
            "batch": {"type": "integer", "minimum": 1, "description": "How many texts at once."},
            "prompt": {"type": "integer", "minimum": 1, "description": "Tokens of each that are read."},
            "answer": {"type": "integer", "minimum": 0, "description": "Tokens of each that are made."},
            "chunk": {"type": "integer", "minimum": 1, "description": "Tokens of prompts read at once."},
            "block": {"type": "integer", "minimum": 1, "description": "Places of the cache in a block."},
            "device": {**_TEXT, "pattern": "^[a-z0-9_]+$", "description": "A device: h200, h100, l4."},
            "weights": {**_TEXT, "description": "How parameters are kept: bf16, fp8, int8, int4."},
            "cache": {**_TEXT, "description": "How the cache is kept: bf16, fp8."},
            "fit": {**_TEXT, "description": "What fits into this memory: 80GB."},
            "target": {**_TEXT, "description": "The largest batch for a speed: 50 tokens/s per user."},
            "measured": {**_TEXT, "description": "How much of the device this uses: 12 ms per token."},
            "train": {**_TEXT, "description": "A step of training on `prompt` tokens instead: adamw, sgd."},
            "precision": {**_TEXT, "description": "Of training: bf16-mixed, bf16."},
            "recompute": {"type": "boolean", "description": "Whether training does layers again."},
        },
        (),
        _plan,
        "plan",
    ),
)


# === Answering.


_ANSWERED = (0, 1, 3)
"""Exit codes of commands that have an answer: fine, costlier, undecided."""


class CallLimits(Struct, frozen=True):
    """Limits of one call."""

    seconds: float = 60.0
    memory: str = "4G"

    @property
    def options(self) -> list[str]:
        """The limits, as options of a command."""
        return [f"--timeout={self.seconds:g}", f"--max-memory={self.memory}"]


async def answered(name: str, given: Arguments, limits: CallLimits) -> types.CallToolResult:
    """Answer a call of a tool; arguments that it does not take are refused before anything runs."""
    tools = {tool.name: tool for tool in TOOLS}
    tool = tools.get(name)
    if tool is None:
        return _failed(f"there is no tool {name!r}; there are {', '.join(tools)}")
    unknown = [one for one in given if one not in tool.properties]
    missing = [one for one in tool.required if one not in given]
    if unknown or missing:
        return _failed(
            f"{tool.name} takes {', '.join(tool.properties)}; wrong: {', '.join(unknown + missing)}"
        )
    wrong = best_match(Draft202012Validator(tool.input_schema).iter_errors(given))
    return await call(tool, given, limits) if wrong is None else _refused(tool, wrong.message)


async def call(tool: Tool, given: Arguments, limits: CallLimits) -> types.CallToolResult:
    """Run the command of a tool; errors are reported as the command reports them."""
    with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
        try:
            name, *arguments = tool.command(given, Path(folder))
            code, out, err = await _run([name, *limits.options, *arguments], folder)
        except BadArguments as error:
            return _failed(str(error))
        except ValueError as error:  # a zero byte, which is not allowed in arguments
            return _refused(tool, str(error))
    if code not in _ANSWERED:
        return _failed(_without_usage(err or out))
    text = [types.TextContent(text=out)] + ([types.TextContent(text=err)] if err else [])
    structured: Any = json.loads(out) if tool.answers else None
    return types.CallToolResult(content=[*text], structured_content=structured)


def _refused(tool: Tool, why: str) -> types.CallToolResult:
    return _failed(f"{tool.name} cannot take these arguments: {why}")


def _without_usage(words: str) -> str:
    """Return the error in a command line without the usage text, as no user wrote that line."""
    return words.partition("\n\nError: ")[2] if words.startswith("Usage: ") else words


def _failed(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words.strip())], is_error=True)


async def _run(command: list[str], folder: str) -> tuple[int, str, str]:
    """Run a command; it ends when its caller stops waiting."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tolcost", *command, cwd=folder, stdout=pipe, stderr=pipe
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, out.decode("utf-8"), err.decode("utf-8")


def mcp_server(limits: CallLimits) -> Server[dict[str, Any]]:
    """Make a server that has every tool."""

    async def listed(
        context: ServerRequestContext[dict[str, Any]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def called(
        context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await answered(params.name, params.arguments or {}, limits)

    return Server("tolcost", version=__version__, on_list_tools=listed, on_call_tool=called)


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def serve(limits: CallLimits) -> None:
    """Answer on the standard streams until they are closed."""

    async def run() -> None:
        server = mcp_server(limits)
        readable, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            group.start_soon(_pass_on, read, readable, write.send)
            await server.run(passed, write, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(run)


async def _pass_on(
    read: AsyncIterable[SessionMessage | Exception],
    readable: MemoryObjectSendStream[SessionMessage | Exception],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Pass on messages; the library ignores unreadable ones, so they are answered with an error here."""
    async with readable:
        async for item in read:
            if isinstance(item, Exception):
                await answer(SessionMessage(unreadable_message(item)))
            else:
                await readable.send(item)


def unreadable_message(error: Exception) -> types.JSONRPCError:
    """Answer a line that is not a message, under the id of the call if the line has one."""
    line, why = "", str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        line, why = str(first.get("input", "")), first["msg"]
    try:
        number = json.loads(line)["id"]  # reads text that is not Unicode, unlike the library
    except (ValueError, LookupError, TypeError):
        number = None
    found = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    told = types.ErrorData(code=types.PARSE_ERROR, message=f"the message cannot be read: {why}")
    return types.JSONRPCError(jsonrpc="2.0", id=found, error=told)
