"""What a fleet has done so far: a file to which rows are added, so that one that was killed goes on there.

The first line says for which task rows are; a row holds for a model as it was.  A last line that was cut off
is not a row.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.fleet.sources import fingerprint
from tolcost.fleet.task import Task
from tolcost.result.many import Summary

_LISTS = frozenset(field.name for field in fields(Summary) if str(field.type).startswith("tuple"))


def as_line(summary: Summary) -> str:
    """A summary on a line."""
    return json.dumps(asdict(summary), ensure_ascii=False)


def from_line(line: str) -> Summary:
    """The summary of a line."""
    data: dict[str, Any] = json.loads(line)
    data.update({name: tuple(data[name]) for name in _LISTS})
    return Summary(**data)


class Journal:
    """Rows by source, each with a fingerprint of its model; without a file it only forgets."""

    def __init__(self, path: Path | None = None, rows: dict[str, tuple[str, Summary]] | None = None) -> None:
        self._path, self._rows, self._file = path, rows or {}, None

    _file: IO[str] | None

    @classmethod
    def of(cls, path: Path | None, task: Task) -> Journal:
        """The journal of a task, with the rows that it has."""
        if path is None:
            return cls()
        whole, lines = _whole_lines(path)
        head = json.dumps({"tolcost fleet": task.digest})
        if lines and lines[0] != head:
            hint = f"give the same options and version as before, or delete {path}"
            message = f"{quoted(str(path))} is of a fleet that was begun with other options"
            raise Rejected(Diagnostic("T0698", message, hint=hint))
        if lines:
            with path.open("r+b") as file:
                file.truncate(whole)
        else:
            path.write_text(f"{head}\n", encoding="utf-8")
        parts = (line.split("\t", 1) for line in lines[1:])
        rows = {row.file: (mark, row) for mark, text in parts for row in [from_line(text)]}
        return cls(path, rows)

    def row(self, source: str) -> Summary | None:
        """The row of a model, if there is one and the model is as it was."""
        mark, row = self._rows.get(source, ("", None))
        return row if row is not None and mark == fingerprint(source) else None

    def add(self, summary: Summary) -> None:
        """Keep a row, on its way to the disk when this returns."""
        if self._file is not None:
            self._file.write(f"{_mark(summary.file)}\t{as_line(summary)}\n")
            self._file.flush()

    def __enter__(self) -> Journal:
        """Open the file."""
        self._file = None if self._path is None else self._path.open("a", encoding="utf-8", newline="\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; it stays."""
        if self._file is not None:
            self._file.close()


def _mark(source: str) -> str:
    with suppress(Rejected):  # what is not there now was not there when it was asked for
        return fingerprint(source)
    return ""


def _whole_lines(path: Path) -> tuple[int, list[str]]:
    """How many bytes the complete lines of a file have, and these lines; none where there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0, []
    whole = data.rfind(b"\n") + 1
    return whole, data[:whole].decode("utf-8").splitlines()
