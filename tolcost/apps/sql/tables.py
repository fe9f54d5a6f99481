"""The tables of a query: their columns and spaces, from a TOML file or from CSV files.

    [orders]                       # a table
    id = "Z"                       # a column and its space
    price = "R"
    status = ["F", "O", "P"]       # a column of text: all its possible values

A CSV file is a table with the name of the file; its first line has the names of the columns, and the entries
below decide whether a column holds truth values, whole numbers, numbers or text.  Programs represent text as
a number: its position among the texts of its column, sorted.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from tolcost.diagnostics import Diagnostic, Rejected, quoted, unreadable
from tolcost.spaces import SPACES

ColumnValues: TypeAlias = tuple[int | float, ...]
_LONGEST_FILE = 1 << 28


class SqlColumn(Struct, frozen=True):
    """A column; for text, ``texts`` has the texts that its numbers represent, counted from 1."""

    name: str
    space: str
    texts: tuple[str, ...] = ()
    values: ColumnValues | None = None


class SqlTable(Struct, frozen=True):
    """A table, by the lower-case names of its columns."""

    name: str
    columns: Mapping[str, SqlColumn]


def read_tables(files: Iterable[str]) -> dict[str, SqlTable]:
    """Read all tables of files, by their lower-case names."""
    found: dict[str, SqlTable] = {}
    for file in files:
        path = Path(file)
        try:
            if path.stat().st_size > _LONGEST_FILE:
                raise _wrong(file, "it is too large")
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise _wrong(file, unreadable(error)) from None
        for table in _from_toml(file, text) if path.suffix == ".toml" else (_from_csv(path, text),):
            if found.setdefault(table.name.lower(), table) is not table:
                raise _wrong(file, f"there are two tables {quoted(table.name)}")
    return found


def _table(file: str, name: str, columns: Iterable[SqlColumn]) -> SqlTable:
    """Make a table of columns, whose names must differ in more than capital letters."""
    found: dict[str, SqlColumn] = {}
    for column in columns:
        if found.setdefault(column.name.lower(), column) is not column:
            raise _wrong(file, f"{quoted(name)} has two columns {quoted(column.name)}")
    return SqlTable(name, found)


def _wrong(file: str, why: str) -> Rejected:
    return Rejected(Diagnostic("T0801", f"the tables of {quoted(file)} cannot be read: {why}"))


def _from_toml(file: str, text: str) -> tuple[SqlTable, ...]:
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(file, str(error)) from None
    if not stated:
        raise _wrong(file, "there is no table in it, such as [orders] with columns below")
    tables = []
    for name, columns in stated.items():
        if not isinstance(columns, dict) or not columns:
            raise _wrong(file, f"{quoted(name)} is not a table with columns")
        tables.append(_table(file, name, (_column(file, key, said) for key, said in columns.items())))
    return tuple(tables)


def _column(file: str, name: str, said: Any) -> SqlColumn:
    if isinstance(said, str) and said in SPACES:
        return SqlColumn(name, said)
    if isinstance(said, list) and said and all(isinstance(text, str) for text in said):
        return SqlColumn(name, "N*", tuple(sorted(set(said))))
    raise _wrong(file, f"the column {quoted(name)} needs a space, such as Z or R, or a list of texts")


def _from_csv(path: Path, text: str) -> SqlTable:
    try:
        head, *rows = list(csv.reader(StringIO(text, newline=""))) or [[]]
    except csv.Error as error:
        raise _wrong(str(path), str(error)) from None
    if not head or not rows or any(len(row) != len(head) for row in rows):
        raise _wrong(str(path), "it needs a line of names, and lines of as many entries below")
    columns = (_observed(path, name, [row[n] for row in rows]) for n, name in enumerate(head))
    return _table(str(path), path.stem, columns)


def _observed(path: Path, name: str, entries: list[str]) -> SqlColumn:
    """Infer a column from its entries; a column of numbers with missing entries would contain NULL."""
    values = _numbers([entry for entry in entries if entry.strip()])
    if values is None:
        texts = tuple(sorted(set(entries)))
        place = {text: n for n, text in enumerate(texts, start=1)}
        return SqlColumn(name, "N*", texts, tuple(place[entry] for entry in entries))
    if len(values.values) < len(entries):
        row = next(n for n, entry in enumerate(entries, start=1) if not entry.strip())
        raise _wrong(str(path), f"row {row} has no {quoted(name)}, and there is no NULL: give it a number")
    return SqlColumn(name, values.space, values=values.values)


def _numbers(entries: list[str]) -> _Numbers | None:
    """Parse entries if all are numbers or all are truth values; None otherwise."""
    lower = [entry.strip().lower() for entry in entries]
    if lower and all(entry in ("true", "false") for entry in lower):
        return _Numbers("B", tuple(entry == "true" for entry in lower))
    for space, read in _READERS:
        try:
            return _Numbers(space, tuple(map(read, entries))) if entries else None
        except ValueError:
            pass
    return None


class _Numbers(Struct, frozen=True):
    """Entries of a column that are numbers, and their space."""

    space: str
    values: ColumnValues


_READERS: tuple[tuple[str, Callable[[str], int | float]], ...] = (("Z", int), ("R", float))
