"""Where results go: standard output, or a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def deliver(text: str, output: str | None) -> None:
    """Write a result to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(Path(output), text.encode("utf-8"))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, and move it there once it is complete and on the disk."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe is written to, never replaced
        else:
            _write_beside(path, data)
    except OSError as error:  # name the file that was asked for, not the one beside it
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write_beside(path: Path, data: bytes) -> None:
    from tempfile import mkstemp

    handle, name = mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Give the permissions of the file that is there, or those a new one would get."""
    with suppress(OSError):
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
