"""An editor to test the language server with: JSON-RPC over the standard streams of a process."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

PATIENCE = 60.0
COMMAND = [sys.executable, "-m", "tolcost", "lsp"]


class RequestRefused(Exception):
    """The server answered with an error."""


class Editor:
    """One session: requests wait for their answers, diagnostics are kept by text and version."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.number = 0
        self.versions: dict[str, int] = {}
        self.messages: list[dict[str, Any]] = []
        self.arrived: Queue[dict[str, Any] | None] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    # ---- the wire

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            self.arrived.put(json.loads(stream.read(length)))
        self.arrived.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        message = self.arrived.get(timeout=PATIENCE)
        assert message is not None, "the server ended"
        self.messages.append(message)
        return message

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while (message := self._next()).get("id") != self.number:
            pass
        if "error" in message:
            raise RequestRefused(message["error"]["message"])
        return message["result"]

    # ---- texts

    def open(self, uri: str, text: str) -> None:
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "tolang", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """Those of the text as it is now; waits for them."""
        while True:
            params = self._next().get("params", {})
            if params.get("uri") == uri and params.get("version") == self.versions[uri]:
                return list(params["diagnostics"])

    def ask(self, method: str, uri: str, **params: Any) -> Any:
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **params})


@contextmanager
def editor(folder: Path, *options: str) -> Iterator[Editor]:
    """A session with a server of its own."""
    command = [*COMMAND, *options]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        session = Editor(process)
        capabilities = {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}
        root = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        session.offered = session.request("initialize", root)["capabilities"]  # type: ignore[attr-defined]
        session.notify("initialized", {})
        try:
            yield session
            session.request("shutdown", None)
            session.notify("exit", None)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def after(text: str, edits: list[dict[str, Any]]) -> str:
    """A text with the edits of an answer in it; columns are those of plain ASCII."""
    lines = text.splitlines(keepends=True) or [""]

    def offset(place: dict[str, int]) -> int:
        return sum(map(len, lines[: place["line"]])) + place["character"]

    for edit in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text
