"""From a file to a ``Source``: what cannot be a program at all is refused here.

The text is kept as it is written; a byte order mark and CRLF line ends are the parser's to skip.  How much a
program may ask of the front end is here too: beyond that it is refused, with a diagnostic.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from tolcost.diagnostics import Diagnostic, Fix, Rejected, Source, Span

MAX_BYTES = 4 * 1024 * 1024
"""The largest file that is read."""

MAX_STATEMENTS = 50_000
"""How many statements a program has at most."""

MAX_DEPTH = 200
"""How deep brackets, and the tree they make, may nest.  Comparing two trees takes four frames a level."""

MAX_DIGITS = 1000
"""The longest number: Python itself refuses to print one of more than 4,300 digits."""

MAX_ERRORS = 20
"""After so many syntax errors the rest of a file is not looked at."""

MAX_NAME_ERRORS = 100
"""So many mistakes in names are told."""

_DECEPTIVE = re.compile("[\0\u202a-\u202e\u2066-\u2069]")
"""A NUL, and the characters that make text show in another order than it is read."""


def read_source(path: str | Path) -> Source:
    """The text of a file; raises ``Rejected`` where it cannot be read or cannot be a program."""
    name = str(path)
    data = _read(Path(path), name)
    if b"\0" in data:
        at = data.index(b"\0")
        message = f"a NUL byte at offset {at:,}: this is not a text file"
        raise Rejected(Diagnostic("T0003", message, _location(name, data, at)))
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at offset {error.start:,} is not UTF-8"
        hint = "save the file in UTF-8"
        raise Rejected(Diagnostic("T0002", message, _location(name, data, error.start), hint=hint)) from None


def check_text(source: Source) -> None:
    """Refuse a text that is too long, or has characters that would deceive a reader."""
    if len(source.text) > MAX_BYTES:
        raise Rejected(_too_large(source.name))
    match = _DECEPTIVE.search(source.text)
    if match is None:
        return
    span = Span(source, match.start(), match.end())
    if match[0] == "\0":
        raise Rejected(Diagnostic("T0003", "a NUL character: this is not a text", span))
    named = f"U+{ord(match[0]):04X} {unicodedata.name(match[0])}"
    hint = "remove it; in a text, write what should be shown"
    fix = Fix("Remove the character", span, "")
    message = f"a character that hides what is written: {named}"
    raise Rejected(Diagnostic("T0005", message, span, hint=hint, fix=fix))


def _read(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name cannot be used"
        span = Span(Source(name, ""), 0, 0)
        raise Rejected(Diagnostic("T0001", f"cannot read the file: {reason.lower()}", span)) from None
    if len(data) > MAX_BYTES:
        raise Rejected(_too_large(name))
    return data


def _too_large(name: str) -> Diagnostic:
    message = f"the program is larger than {MAX_BYTES // 2**20} MiB"
    return Diagnostic("T0512", message, Span(Source(name, ""), 0, 0))


def _location(name: str, data: bytes, at: int) -> Span:
    """A place in data that is not text, shown as well as it can be."""
    start = data.rfind(b"\n", 0, at) + 1
    before = data[max(start, at - 100) : at].decode("utf-8", "replace")
    lines = "\n" * data.count(b"\n", 0, at)
    return Span(Source(name, lines + before + "\ufffd"), len(lines + before), len(lines + before) + 1)
