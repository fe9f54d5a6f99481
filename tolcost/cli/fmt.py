"""``tolcost fmt``: bring programs into their canonical form.

Plain functions; the command line around them is in ``tolcost.cli``.  A file is written beside its old
self and then renamed, so that no interruption leaves half of one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tolcost.diagnostics import Diagnostic, Rejected, Source, Span
from tolcost.syntax import format_program, parse, read_source


@dataclass(frozen=True, slots=True)
class Formatted:
    """What became of one file."""

    path: Path
    changed: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def format_file(path: Path, check: bool = False) -> Formatted:
    """Format one file; with ``check`` only find out whether it would change."""
    try:
        source = read_source(path)
        text = format_program(parse(source))
        changed = text != source.text
        if changed and not check:
            _replace(path, text)
    except Rejected as rejected:
        return Formatted(path, diagnostics=rejected.diagnostics)
    return Formatted(path, changed)


def fmt(paths: Iterable[Path], check: bool, tell: Callable[[Formatted], None]) -> int:
    """Format files and tell of each; the exit code is 2 for bad input, 1 if ``check`` would change any."""
    results = []
    for path in paths:
        results.append(format_file(path, check))
        tell(results[-1])
    if any(result.diagnostics for result in results):
        return 2
    return int(check and any(result.changed for result in results))


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, through links and with its old permissions."""
    target = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise Rejected(_unwritable(path, error)) from None
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise Rejected(_unwritable(path, error)) from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> Diagnostic:
    reason = (error.strerror or "unknown reason").lower()
    return Diagnostic("T0004", f"cannot write the file: {reason}", Span(Source(str(path), ""), 0, 0))
