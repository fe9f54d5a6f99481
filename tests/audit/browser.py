"""A browser to test a page in: Chromium, driven through the WebDriver protocol with the standard library."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PATIENCE = 60.0


class Browser:
    """One session with a headless Chromium."""

    def __init__(self, port: int, arguments: tuple[str, ...] = ()) -> None:
        self.base = f"http://127.0.0.1:{port}"
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                *arguments,
            ],
            "binary": shutil.which("chromium"),
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        found = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{found['sessionId']}"

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Open a page, and wait until all of it is there: that may come after the answer."""
        self._send("POST", f"{self.session}/url", {"url": url})
        deadline = time.monotonic() + PATIENCE
        while self.run("return document.readyState") != "complete" and time.monotonic() < deadline:
            time.sleep(0.02)

    def run(self, script: str, *args: Any) -> Any:
        """Run a script in the page, and give what it returns."""
        return self._send("POST", f"{self.session}/execute/sync", {"script": script, "args": list(args)})

    def click(self, selector: str) -> None:
        found = self._send("POST", f"{self.session}/element", {"using": "css selector", "value": selector})
        self._send("POST", f"{self.session}/element/{found[ELEMENT]}/click", {})

    def type(self, selector: str, text: str) -> None:
        found = self._send("POST", f"{self.session}/element", {"using": "css selector", "value": selector})
        place = f"{self.session}/element/{found[ELEMENT]}"
        self._send("POST", f"{place}/clear", {})
        self._send("POST", f"{place}/value", {"text": text})

    def keys(self, selector: str, text: str) -> None:
        """Type after what is there."""
        found = self._send("POST", f"{self.session}/element", {"using": "css selector", "value": selector})
        self._send("POST", f"{self.session}/element/{found[ELEMENT]}/value", {"text": text})

    def screenshot(self) -> bytes:
        return base64.b64decode(self._send("GET", f"{self.session}/screenshot"))

    def devtools(self, command: str, **params: Any) -> None:
        self._send("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": params})

    def complaints(self) -> list[str]:
        """What the browser wrote to its console: errors of scripts, blocked requests."""
        entries = self._send("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def close(self) -> None:
        self._send("DELETE", self.session)


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A browser, or a test that is skipped where there is none (and fails where one is required)."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        if os.environ.get("TOLCOST_BROWSER") == "required":
            pytest.fail("chromium and chromedriver are required here")
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        browser = _connected(port, arguments)
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.wait(timeout=PATIENCE)


def _connected(port: int, arguments: tuple[str, ...]) -> Browser:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return Browser(port, arguments)
        except URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


# ---- pictures that say what they show ------------------------------------------------------

_HEAD = 8 + 25
"""A PNG's mark and its first chunk."""


def noted(picture: bytes, key: str, text: str) -> bytes:
    """A PNG with a note in it."""
    body = b"tEXt" + key.encode("latin-1") + b"\0" + text.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return picture[:_HEAD] + chunk + picture[_HEAD:]


def note(picture: bytes, key: str) -> str | None:
    """The note of a PNG, if it has one."""
    begin = b"tEXt" + key.encode("latin-1") + b"\0"
    place = picture.find(begin)
    if place < 0:
        return None
    (size,) = struct.unpack(">I", picture[place - 4 : place])
    return picture[place + len(begin) : place + 4 + size].decode("latin-1")
