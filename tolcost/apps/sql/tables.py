"""The tables of a query: their columns and spaces, from a TOML file or from CSV files.

    [orders]                       # a table
    id = "Z"                       # a column and its space
    price = "decimal(15, 2)"       # or "R", a binary number
    day = "date"
    discount = "R?"                # may be NULL
    status = ["F", "O", "P"]       # a column of text: all its possible values
    note = { texts = ["a", "b"], null = true }

A CSV file is a table with the name of the file; its first line has the names of the columns, and the entries
below decide whether a column holds truth values, whole numbers, numbers, dates or text.  Programs represent
text as a number: its position among the texts of its column, sorted.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from tolcost.apps.sql.values import DATE, MOST_DIGITS, TRUTH, WHOLE, SqlType
from tolcost.diagnostics import Diagnostic, Rejected, quoted, unreadable
from tolcost.spaces import SPACES, kind_of

ColumnValues: TypeAlias = tuple[int | float, ...]
_LONGEST_FILE = 1 << 28


class SqlColumn(Struct, frozen=True):
    """A column; for text, ``texts`` has the texts that its numbers represent, counted from 1.

    A decimal has ``scale`` digits behind the point, and its numbers are whole, as are those of a date.  In
    a column that is ``nullable``, ``nulls`` says which of its values are NULL; any number stands there, and
    false in a column of B.
    """

    name: str
    space: str
    texts: tuple[str, ...] = ()
    values: ColumnValues | None = None
    scale: int = 0
    is_date: bool = False
    nullable: bool = False
    nulls: tuple[bool, ...] | None = None

    @property
    def type(self) -> SqlType:
        """The type of its values; those of R may be non-finite only if there are such values."""
        if self.texts:
            return SqlType("text", texts=self.texts)
        match kind_of(self.space):
            case "B":
                return TRUTH
            case "Z" if self.is_date:
                return DATE
            case "Z":
                return SqlType("exact", self.scale) if self.scale else WHOLE
            case _:
                values = self.values or ()
                nan = any(math.isnan(value) for value in values)
                return SqlType("real", may_be_nan=nan, may_be_infinite=any(map(math.isinf, values)))

    @property
    def known(self) -> SqlColumn:
        """Whether each of its values is not NULL, as a column."""
        values = None if self.nulls is None else tuple(not missing for missing in self.nulls)
        return SqlColumn(f"{self.name}_known", "B", values=values)


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


_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def _column(file: str, name: str, said: Any, nullable: bool = False) -> SqlColumn:
    if (
        isinstance(said, dict)
        and set(said) <= {"type", "texts", "null"}
        and ("type" in said) != ("texts" in said)
    ):
        may_be = said.get("null", False)
        if isinstance(may_be, bool):
            return _column(file, name, said.get("type", said.get("texts")), may_be)
    if isinstance(said, str) and said.endswith("?"):
        return _column(file, name, said[:-1], True)
    if isinstance(said, str) and said in SPACES:
        return SqlColumn(name, said, nullable=nullable)
    if said == "date":
        return SqlColumn(name, "Z", is_date=True, nullable=nullable)
    decimal = _DECIMAL.fullmatch(said) if isinstance(said, str) else None
    if decimal and int(decimal[2]) <= int(decimal[1]) <= MOST_DIGITS:
        return SqlColumn(name, "Z", scale=int(decimal[2]), nullable=nullable)
    if isinstance(said, list) and said and all(isinstance(text, str) for text in said):
        return SqlColumn(name, "N*", tuple(sorted(set(said))), nullable=nullable)
    what = "a space, such as Z or R, `date`, `decimal(15, 2)`, or a list of texts"
    raise _wrong(file, f"the column {quoted(name)} needs {what}")


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
    """Infer a column from its entries; an empty entry among others than texts is NULL."""
    found = _read([entry for entry in entries if entry.strip()])
    if found is None:
        texts = tuple(sorted(set(entries)))
        place = {text: n for n, text in enumerate(texts, start=1)}
        return SqlColumn(name, "N*", texts, tuple(place[entry] for entry in entries))
    space, values, is_date = found
    if len(values) == len(entries):
        return SqlColumn(name, space, values=values, is_date=is_date)
    given = iter(values)
    filled = tuple(next(given) if entry.strip() else 0 for entry in entries)
    nulls = tuple(not entry.strip() for entry in entries)
    return SqlColumn(name, space, values=filled, is_date=is_date, nullable=True, nulls=nulls)


def _read(entries: list[str]) -> tuple[str, ColumnValues, bool] | None:
    """Parse entries if all are of one kind; return their space, and whether they are dates."""
    lower = [entry.strip().lower() for entry in entries]
    if lower and all(entry in ("true", "false") for entry in lower):
        return "B", tuple(entry == "true" for entry in lower), False
    for space, read in _READERS:
        try:
            return (space, tuple(map(read, entries)), read is day_number) if entries else None
        except ValueError:
            pass
    return None


def day_number(text: str) -> int:
    """Return a date, such as 1995-03-15, as a number of days since 1970-01-01."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()):
        raise ValueError(text)
    return date.fromisoformat(text.strip()).toordinal() - date(1970, 1, 1).toordinal()


_READERS: tuple[tuple[str, Callable[[str], int | float]], ...] = (("Z", int), ("R", float), ("Z", day_number))
