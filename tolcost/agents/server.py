"""The server: lists the tools, and answers a call by running its command in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from tolcost import __version__
from tolcost.agents.tools import TOOLS, Arguments, BadArguments, Tool
from tolcost.dataclass import dataclass

_ANSWERED = (0, 1, 3)
"""Exit codes of commands that have an answer: fine, costlier, undecided."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What one call may take."""

    seconds: float = 60.0
    memory: str = "4G"

    @property
    def options(self) -> list[str]:
        """As options of a command."""
        return [f"--timeout={self.seconds:g}", f"--max-memory={self.memory}"]


async def call(tool: Tool, given: Arguments, limits: CallLimits) -> types.CallToolResult:
    """Run the command of a tool; what goes wrong is told as the command tells it."""
    with tempfile.TemporaryDirectory(prefix="tolcost-") as folder:
        try:
            name, *arguments = tool.command(given, Path(folder))
            code, out, err = await _run([name, *limits.options, *arguments], folder)
        except BadArguments as error:
            return _failed(str(error))
        except ValueError as error:  # a zero byte, which no argument of a command may have
            return _refused(tool, str(error))
    if code not in _ANSWERED:
        return _failed(err or out)
    text = [types.TextContent(text=out)] + ([types.TextContent(text=err)] if err else [])
    structured: Any = json.loads(out) if tool.answers else None
    return types.CallToolResult(content=[*text], structured_content=structured)


def _refused(tool: Tool, why: str) -> types.CallToolResult:
    return _failed(f"{tool.name} cannot take these arguments: {why}")


def _failed(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words.strip())], is_error=True)


async def _run(command: list[str], folder: str) -> tuple[int, str, str]:
    """Run a command; it ends when nobody waits for its answer any more."""
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
    """A server that has every tool."""
    tools = {tool.name: tool for tool in TOOLS}

    async def listed(
        context: ServerRequestContext[dict[str, Any]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def called(
        context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool, given = tools.get(params.name), params.arguments or {}
        if tool is None:
            return _failed(f"there is no tool {params.name!r}; there are {', '.join(tools)}")
        unknown = [name for name in given if name not in tool.properties]
        missing = [name for name in tool.required if name not in given]
        if unknown or missing:
            return _failed(
                f"{tool.name} takes {', '.join(tool.properties)}; wrong: {', '.join(unknown + missing)}"
            )
        wrong = best_match(Draft202012Validator(tool.input_schema).iter_errors(given))
        return await call(tool, given, limits) if wrong is None else _refused(tool, wrong.message)

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
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
