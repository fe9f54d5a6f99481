"""The rows of a fleet: a file that grows row by row, so that an interrupted run can resume; and Parquet.

The first line identifies the task; a row is valid for an unchanged model.  An incomplete last line is not a
row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from msgspec import to_builtins
from msgspec.structs import fields

from tolcost.apps.fleet.sources import fingerprint
from tolcost.apps.fleet.table import Summary
from tolcost.apps.fleet.task import Task
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse
from tolcost.result.metrics import keys_in, metrics_in

_LISTS = frozenset(field.name for field in fields(Summary) if str(field.type).startswith("tuple"))


def as_line(summary: Summary) -> str:
    """Encode a summary as a line."""
    return json.dumps(to_builtins(summary), ensure_ascii=False)


_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError)
"""Exceptions from a damaged row, which is then made again."""


def from_line(line: str) -> Summary:
    """Decode the summary in a line."""
    data: dict[str, Any] = json.loads(line)
    data.update({name: tuple(data[name]) for name in _LISTS})
    return Summary(**data)


class Journal:
    """Rows by source, each with a fingerprint of its model; without a file, nothing is stored."""

    def __init__(self, path: Path | None = None, rows: dict[str, tuple[str, Summary]] | None = None) -> None:
        self._path, self._rows, self._file = path, rows or {}, None

    _file: IO[str] | None

    @classmethod
    def of(cls, path: Path | None, task: Task) -> Journal:
        """Open the journal of a task, with its existing rows."""
        if path is None:
            return cls()
        whole, lines = _whole_lines(path)
        head = json.dumps({"tolcost fleet": task.digest})
        if lines and lines[0] != head:
            hint = f"give the same options and version as before, or delete {path}"
            message = f"{quoted(str(path))} is of a fleet that was begun with other options"
            refuse("T0698", message, hint=hint)
        if lines:
            with path.open("r+b") as file:
                file.truncate(whole)
        else:
            path.write_text(f"{head}\n", encoding="utf-8")
        rows: dict[str, tuple[str, Summary]] = {}
        for line in lines[1:]:
            mark, _, text = line.partition("\t")
            with suppress(*_UNREADABLE):
                row = from_line(text)
                rows[row.file] = mark, row
        return cls(path, rows)

    def row(self, source: str) -> Summary | None:
        """Return the row of a model, if there is one and the model is unchanged."""
        mark, row = self._rows.get(source, ("", None))
        return row if row is not None and mark == fingerprint(source) else None

    def add(self, summary: Summary) -> None:
        """Store a row, flushed to the file before this returns."""
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
        """Close the file and keep it."""
        if self._file is not None:
            self._file.close()


def _mark(source: str) -> str:
    with suppress(Rejected):  # a model missing now was missing when it was asked for
        return fingerprint(source)
    return ""


def _whole_lines(path: Path) -> tuple[int, list[str]]:
    """Return the number of bytes in complete lines of a file, and these lines; none if there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0, []
    whole = data.rfind(b"\n") + 1
    return whole, data[:whole].decode("utf-8", errors="replace").splitlines()


# === The table of a fleet as Parquet: one row for each model, sorted, with reproducible bytes.


_DIGITS = 38
"""Digits of Parquet's widest decimal; a larger number is only in the form."""
_OWN = ("file", "problem", "status", "nodes", "costed", "uncosted", "symbols")
_FORMS = keys_in("fleet")
_NUMBERS = {f"{metric.key}_at": metric.key for metric in metrics_in("fleet") if metric.of is not None}
COLUMNS = (*_OWN, *_FORMS, *_NUMBERS)
"""The columns: those of every model, then closed forms of the metrics of a fleet, and their numbers."""


def parquet(found: Iterable[Summary]) -> bytes:
    """Return the table as a Parquet file."""
    pa, write = _pyarrow()
    rows = [row_of(summary) for summary in sorted(found, key=lambda summary: summary.file)]
    text, number = pa.string(), pa.decimal128(_DIGITS, 0)
    types = {"nodes": pa.int64(), "costed": pa.int64(), **dict.fromkeys(_NUMBERS, number)}
    types |= dict.fromkeys(("uncosted", "symbols"), pa.list_(text))
    schema = pa.schema([(name, types.get(name, text)) for name in COLUMNS])
    target = BytesIO()
    write(pa.Table.from_pylist(rows, schema), target, compression="zstd", store_schema=False)
    return target.getvalue()


def row_of(summary: Summary) -> dict[str, Any]:
    """Return a row; values that a model does not have are null."""
    if summary.problem:
        return {**dict.fromkeys(COLUMNS), "file": summary.file, "problem": summary.problem}
    return {
        **{name: getattr(summary, name) for name in _OWN},
        "problem": None,
        "uncosted": list(summary.uncosted),
        "symbols": list(summary.symbols),
        **{name: summary.totals.get(name, "") for name in _FORMS},
        **{name: _decimal(summary.numbers.get(key)) for name, key in _NUMBERS.items()},
    }


def _decimal(number: int | None) -> Decimal | None:
    return None if number is None or number >= 10**_DIGITS else Decimal(number)


def check_installed() -> None:
    """Refuse before the analysis, rather than after it, if pyarrow is missing."""
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow.parquet import write_table
    except ModuleNotFoundError:
        message = "writing Parquet needs pyarrow, which is not installed"
        raise Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[fleet]'")) from None
    return pyarrow, write_table
