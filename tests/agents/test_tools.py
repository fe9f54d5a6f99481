"""The tools, called by the official client over the standard streams of a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema

from tolcost.apps.agents.server import TOOLS, CallLimits, answered

if TYPE_CHECKING:
    from mcp import types

PROGRAM = "tol x: R [n]\ny := map(x, exp(*) + 1)\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("analyze", {"program": PROGRAM, "dims": {"n": 1000}}),
    ("diff", {"old": PROGRAM, "new": PROGRAM.replace(" + 1", "")}),
    ("explain", {"program": PROGRAM}),
    ("referee", {"operator": "Relu", "formula": "m*n", "shapes": {"X": ["m", "n"]}}),
    ("analyze", {"program": PROGRAM.replace("exp", "exq")}),
    ("analyze", {"program": PROGRAM, "path": "both.tol"}),
    ("analyze", {"nonsense": 1}),
    ("nothing", {}),
    ("analyze", {"program": PROGRAM, "dims": [1000]}),
    ("analyze", {"program": PROGRAM, "shapes": {"x": 5}}),
    ("analyze", {"program": PROGRAM, "dims": {"n": "many"}}),
    ("analyze", {"path": "a\0b"}),
    ("operator", {"name": "a\0b"}),
    ("operator", {"name": "--help"}),
    ("explain", {"code": "--help"}),
]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("model", {"path": "."}, "is no .onnx file, and no other is read"),
    ("model", {"path": "*.onnx"}, "give the path of one model"),
    ("explain", {}, "give one of `program`, `path` and `code`"),
    ("explain", {"code": "T0301", "program": PROGRAM}, "give a `code` alone: it is about no program"),
    ("analyze", {"program": PROGRAM, "dims": {"q": 1}}, "--dim: there is no length `q`; known: n."),
    ("analyze", {"program": PROGRAM, "dims": {"n": 10**40}}, "is more than a length can be"),
    ("analyze", {"program": PROGRAM, "shapes": {"x": ["a,b"]}}, "'a,b' does not match"),
]
"""Calls that cannot be answered, and what is said: never how a command is written."""


async def _session(found: list[types.CallToolResult], listed: list[types.Tool]) -> None:
    from mcp import ClientSession, StdioServerParameters  # every worker would load it, for one test
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "tolcost", "mcp", "--timeout", "30"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed += (await session.list_tools()).tools
        for name, given in CALLS:
            found.append(await session.call_tool(name, given))


def test_a_client_calls_the_tools() -> None:
    found: list[types.CallToolResult] = []
    listed: list[types.Tool] = []
    anyio.run(_session, found, listed)
    assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
    analysed, compared, explained, judged, mistaken, both, unknown, nothing, *others = found
    program = analysed.structured_content["programs"][0]
    assert (program["eops"], program["at"]["eops"], program["file"]) == ("2*n", 2000, "program.tol")
    assert compared.structured_content["verdict"] == "cheaper"
    assert "2*n" in _text(explained)
    assert explained.structured_content is None
    assert "equal" in _text(judged)
    assert mistaken.is_error
    assert _text(mistaken).startswith("error[T0201]: there is no function `exq`\n  --> program.tol:2:13")
    assert all(one.is_error for one in (both, unknown, nothing, *others))
    assert _text(others[-2]).startswith("error[T0663]: there is no operator `--help`")
    assert all(_text(one).startswith("analyze cannot take these arguments") for one in others[:4])
    assert "is not of type 'integer'" in _text(others[2])
    for tool, given, answer in zip((listed[0], listed[1]), CALLS, (analysed, compared), strict=False):
        jsonschema.validate(given[1], tool.input_schema)
        jsonschema.validate(answer.structured_content, tool.output_schema or {})


def test_a_formula_is_judged_with_names_and_letters_of_a_paper() -> None:
    given = {"operator": "Relu", "counts": "eops", "shapes": {"X": ["m", "n"]}}
    for formula, names in (("T", {"where": {"T": "m*n"}}), ("h*n", {"let": {"h": "m"}})):
        answer = _called("referee", {**given, "formula": formula, **names})
        assert '"verdict": "equal"' in _text(answer)
    assert '"verdict": "equal"' not in _text(_called("referee", {**given, "formula": "T"}))


def test_what_cannot_be_answered_says_why() -> None:
    for name, given, why in REFUSED:
        answer = _called(name, given)
        assert answer.is_error
        assert why in _text(answer)
        assert "Usage" not in _text(answer)


def test_no_line_of_another_file_is_told(tmp_path: Path) -> None:
    """The server quoted a line of any file it was asked to read as a program."""
    secret = tmp_path / "secret.txt"
    secret.write_text("password: hunter2\n", encoding="utf-8")
    link = tmp_path / "link.tol"
    link.symlink_to(secret)
    calls: list[tuple[str, dict[str, Any]]] = [
        (tool, {name: str(path)})
        for path in (secret, link)
        for tool, name in (("analyze", "path"), ("explain", "path"), ("model", "path"))
    ]
    calls += [("diff", {"old_path": str(path), "new": PROGRAM}) for path in (secret, link)]
    for name, given in calls:
        answer = _called(name, given)
        assert answer.is_error
        assert "secret.txt is no .tol" in _text(answer) or "secret.txt is no .onnx" in _text(answer)
        assert "hunter2" not in _text(answer)


def test_a_message_that_is_not_unicode_is_answered() -> None:
    """A lone surrogate in a program left the client waiting."""

    def message(**parts: object) -> str:
        return json.dumps({"jsonrpc": "2.0", **parts}) + "\n"

    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines = [
        message(id=1, method="initialize", params=client),
        message(method="notifications/initialized"),
        message(id=7, method="tools/call", params={"name": "analyze", "arguments": {"program": "\ud800"}}),
        "neither\n",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", "mcp"],
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    errors = {answer["id"]: answer["error"]["message"] for answer in answers if "error" in answer}
    assert errors.keys() == {7, None}
    assert all(text.startswith("the message cannot be read: ") for text in errors.values())


def test_lengths_are_said_and_assumed() -> None:
    program = _called("analyze", {"program": PROGRAM, "dims": {"n": 2.0}}).structured_content["programs"][0]
    assert program["at"]["eops"] == 4
    triangle = "tol x: R [n]\ny := map(tol[n], reduce(part(x, [1], [i]), add, 0), [i])\n"
    texts = {"old": PROGRAM, "new": triangle}
    verdicts = [
        _called("diff", texts | more).structured_content["verdict"]
        for more in ({}, {"dims": {"n": 2}}, {"assume": ["n >= 4"]})
    ]
    assert verdicts == ["crosses", "cheaper", "costlier"]


def test_the_referee_answers_by_its_schema() -> None:
    answer = _called("referee", {"operator": "Relu", "formula": "2*m*n", "shapes": {"X": ["m", "n"]}})
    tool = next(tool for tool in TOOLS if tool.name == "referee")
    jsonschema.validate(answer.structured_content, tool.output_schema or {})
    assert answer.structured_content["verdicts"] == {"too high": 1}


def test_a_plan_answers_by_its_schema() -> None:
    lengths = {"vocab_size": 101, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}
    config = {"model_type": "gpt2", "activation_function": "gelu_new", **lengths}
    answer = _called("plan", {"config": config, "batch": 2, "device": "h200", "fit": "1GB"})
    tool = next(tool for tool in TOOLS if tool.name == "plan")
    jsonschema.validate(answer.structured_content, tool.output_schema or {})
    assert answer.structured_content["cache"] == "384*b*t"
    wrong = _called("plan", {"config": config | {"n_layer": -1}})
    assert wrong.is_error
    assert "T0923" in _text(wrong)
    assert "give either `config` or `model`" in _text(_called("plan", {}))


def _called(name: str, given: dict[str, Any]) -> types.CallToolResult:
    """The answer of a tool, without a client."""
    return anyio.run(answered, name, given, CallLimits(30.0))


def _text(answer: types.CallToolResult) -> str:
    return "".join(block.text for block in answer.content if block.type == "text")


def test_what_a_tool_takes_is_a_schema() -> None:
    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is None or tool.output_schema["type"] == "object"
