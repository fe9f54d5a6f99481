"""Doing something again whenever a file changes: for authors who keep a check running beside an editor.

Files are looked at by size and time of change, twice a second; nothing but the standard library.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tolcost.cli.failures import exit_code

_WATCHED = (".tol", ".onnx", ".toml", ".lock")
_PAUSE = 0.5

Seen = dict[str, tuple[int, int]]


def watch_project(
    once: Callable[[], int], root: Path, pause: float = _PAUSE, rounds: int | None = None
) -> int:
    """Run now, and after every change below a folder, until interrupted (or so many times)."""
    done, code = 0, 0
    before: Seen | None = None
    while True:
        now = _seen(root)
        if now != before:
            before, code = now, _once(once)
            done += 1
            if rounds is not None and done >= rounds:
                return code
        time.sleep(pause)


def _once(once: Callable[[], int]) -> int:
    """One run; what an author has half written is told, and no reason to stop."""
    click.echo(f"--- {time.strftime('%H:%M:%S')}", err=True)
    try:
        return once()
    except Exception as error:
        return exit_code(error)


def _seen(root: Path) -> Seen:
    return {str(path): (status.st_mtime_ns, status.st_size) for path, status in _files(root)}


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for place, folders, files in os.walk(root):
        folders[:] = [folder for folder in folders if not folder.startswith(".")]
        for file in files:
            path = Path(place) / file
            if file.endswith(_WATCHED):
                try:
                    yield path, path.stat()
                except OSError:  # gone since it was listed
                    continue
