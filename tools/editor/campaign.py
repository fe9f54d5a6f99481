"""Random edits of real programs in a session: nothing breaks, and the end is what ``analyze`` says.

``python -m tools.editor.campaign 5000`` types into a server and asks it about random places; after every
burst of edits the diagnostics it publishes are held to those that the command prints for the same text.
"""

import argparse
import io
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tolcost.cli import run
from tools.editor.client import Editor, RequestRefused, editor

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.tol"))
_TOKENS = (
    "(", ")", "[", "]", "{", "}", "|", "'", ",", ";", ":", ":=", "=", "==", "=>", "..", "...", "*", "**",
    "+", "-", "/", "^", "%", "\n", "\n  ", " ", "\t", "#", "//", '"', "?", "$", "≤", "×", "α", "𝛼", "\r\n",
    "0", "1", "2n", "n", "x", "tol ", "attr ", "use axes\n", "map(", "reduce(", "exp(*)", "not ", " and ",
    "y := x\n", "where(", "\ufeff", "e1",
)  # fmt: skip
_TOLD = re.compile(r"^(error|warning)\[(T\d{4})\]: (.*)(?:\n +--> .*?:(\d+):(\d+))?", re.MULTILINE)
Told = tuple[str, str, str, int, int]


class Outcome(Struct):
    """What a campaign found."""

    edits: int = 0
    compared: int = 0
    asked: int = 0
    refused: int = 0
    differing: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def edited(text: str, draw: random.Random) -> str:
    """A text with one random change, as a hand might make it."""
    start = draw.randint(0, len(text))
    words = re.findall(r"\w+", text) or ["x"]
    match draw.randrange(7):
        case 0:
            return text[:start] + draw.choice(_TOKENS) + text[start:]
        case 1:
            return text[:start] + text[start + draw.randint(1, 3) :]
        case 2:
            return text[:start] + draw.choice(words) + text[start:]
        case 3:
            word = draw.choice(words)
            return text.replace(word, draw.choice(words), 1)
        case 4:
            lines = text.splitlines(keepends=True)
            return "".join(draw.sample(lines, len(lines))) if draw.random() < 0.2 else "".join(lines[:-1])
        case 5:
            lines = text.splitlines(keepends=True) or ["\n"]
            lines.insert(draw.randint(0, len(lines)), draw.choice(lines))
            return "".join(lines)
        case _:
            end = min(len(text), start + draw.randint(1, 30))
            return text[:start] + text[end:]


def analysed(text: str, folder: Path) -> list[Told]:
    """What the command says about a text."""
    file = folder / "text.tol"
    file.write_bytes(text.encode("utf-8"))
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = run(["analyze", str(file), "--symbolic", "--metric", "eops"])
    assert code in (0, 2), said.getvalue()
    return [
        (severity, code, message, int(line or 1), int(column or 1))
        for severity, code, message, line, column in _TOLD.findall(said.getvalue())
    ]


def published(found: list[dict[str, Any]]) -> list[Told]:
    """What the server says about it, in the same words; columns are compared on ASCII lines."""
    return [
        (
            "error" if d["severity"] == 1 else "warning",
            d["code"],
            d["message"].partition("\nhint: ")[0],
            d["range"]["start"]["line"] + 1,
            d["range"]["start"]["character"] + 1,
        )
        for d in found
    ]


def _comparable(told: list[Told], text: str) -> list[Told]:
    """Messages as far as a screen shows them; without places where characters differ in width."""
    plain = text.isascii() and "\r" not in text and "\f" not in text
    return [
        (severity, code, " ".join(message.split())[:80], line if plain else 0, column if plain else 0)
        for severity, code, message, line, column in told
    ]


def requests(
    session: Editor, uri: str, text: str, draw: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Questions about random places."""
    line = draw.randint(0, text.count("\n") + 1)
    place = {"line": line, "character": draw.randint(0, 60)}
    all_ = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
    yield from draw.sample(
        [
            ("hover", {"position": place}),
            ("definition", {"position": place}),
            ("references", {"position": place, "context": {"includeDeclaration": True}}),
            ("completion", {"position": place}),
            ("rename", {"position": place, "newName": draw.choice(["fresh", "x", "n", "map"])}),
            ("formatting", {"options": {"tabSize": 2, "insertSpaces": True}}),
            ("codeAction", {"range": all_, "context": {"diagnostics": []}}),
            ("inlayHint", {"range": all_}),
            ("codeLens", {}),
        ],
        draw.randint(0, 3),
    )


def campaign(session: Editor, folder: Path, edits: int, seed: int) -> Outcome:
    """So many edits, in bursts; a burst ends with diagnostics that are compared."""
    draw, found, began = random.Random(seed), Outcome(), time.monotonic()
    number = 0
    while found.edits < edits:
        number += 1
        text = draw.choice(SPECS).read_text("utf-8")
        uri = f"file:///texts/{seed}-{number}.tol"
        session.open(uri, text)
        for _ in range(draw.randint(1, 4)):
            burst = draw.randint(1, 5)
            for _ in range(burst):
                text = edited(text, draw)
                session.change(uri, text)
            found.edits += burst
            _burst(session, folder, uri, text, draw, found)
        session.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        session.messages.clear()
    found.seconds = time.monotonic() - began
    return found


def _burst(session: Editor, folder: Path, uri: str, text: str, draw: random.Random, found: Outcome) -> None:
    """Hold the server to the command, then ask it this and that."""
    ours, theirs = (
        _comparable(told, text) for told in (published(session.diagnostics(uri)), analysed(text, folder))
    )
    found.compared += 1
    found.codes.update(told[1] for told in theirs)
    if ours != theirs:
        found.differing.append(f"{uri}\n{text}\nserver: {ours}\ncommand: {theirs}")
    for method, params in requests(session, uri, text, draw):
        found.asked += 1
        try:
            session.ask(method, uri, **params)
        except RequestRefused as refused:
            found.refused += 1
            if method != "rename":
                found.failures.append(f"{method}: {refused}\n{params}\n{text}")
    found.failures += [
        m["params"]["message"] for m in session.messages if m.get("method") == "window/showMessage"
    ]


def main() -> int:
    """Run a campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edits", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, editor(Path(name)) as session:
        found = campaign(session, Path(name), asked.edits, asked.seed)
    print(
        f"{found.edits:,} edits, {found.compared:,} texts compared, {found.asked:,} requests "
        f"({found.refused:,} renames refused), {len(found.codes)} kinds of diagnostics, "
        f"{found.seconds:.0f} s: {len(found.differing)} differ, {len(found.failures)} failures"
    )
    for text in (*found.differing[:5], *found.failures[:5]):
        print("----", text, sep="\n")
    return 1 if found.differing or found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
