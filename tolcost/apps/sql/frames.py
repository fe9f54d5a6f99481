"""Rows in the making, and the program that makes them.

A frame is a number of rows and, for each column, how to read it at a row.  Reading is composed, not copied: a
filter or a join gives row numbers, and columns are read through them.  What is computed for each row becomes
a vector of the program when it is first read; definitions that nothing reads are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct, field

from tolcost.apps.sql.tables import SqlColumn, SqlTable
from tolcost.apps.sql.values import SqlType, SqlValue, every
from tolcost.diagnostics import Source
from tolcost.platform import read_spec
from tolcost.syntax import parse, signatures
from tolcost.syntax.names import BUILTINS, CONSTANTS

LIBRARIES = ("relations", "vectors", "total_order", "calendar")
_OURS = re.compile(
    r"(rows|pairs|key|argument|aggregate|column|sorting|hits|lonely|outer|texts|fresh|value|subquery|found"
    r"|window|place|part|ahead|near|leads|[qrijgaz])\d+(_known)?"
)
_FIXED = frozenset(
    ("aggregated", "alike", "groups", "kept", "single", "before", "order", "picks", *"azijqrg")
)
_WORD = re.compile(r"[A-Za-z_]\w*")
ValueReader = Callable[[str], SqlValue]
"""Returns a value at a row, whose number is given in ToLang."""


class FrameColumn(Struct, frozen=True, eq=False):
    """A column of a frame, by the alias of its table and its name; a ``hidden`` one needs that alias."""

    table: str
    name: str
    read: ValueReader
    hidden: bool = False


class Frame(Struct, frozen=True, eq=False):
    """Rows: their number, in ToLang, and their columns; ``alone`` is a single row that is always there."""

    count: str
    columns: tuple[FrameColumn, ...]
    alone: bool = False

    def take(self, count: str, place: Callable[[str], str]) -> Frame:
        """Return the rows that are at other places."""
        return Frame(count, tuple(_moved(column, place) for column in self.columns))

    def named(self, alias: str, names: Sequence[str] = ()) -> Frame:
        """Return the same rows as a table with an alias, and perhaps other names of columns."""
        told = [*names, *(column.name for column in self.columns[len(names) :])]
        pairs = zip(self.columns, told, strict=True)
        return Frame(self.count, tuple(FrameColumn(alias, name, c.read) for c, name in pairs), self.alone)


def _moved(column: FrameColumn, place: Callable[[str], str]) -> FrameColumn:
    return FrameColumn(column.table, column.name, lambda at: column.read(place(at)), column.hidden)


@cache
def _taken() -> frozenset[str]:
    """Return the names that a query's program must not define."""
    defined = {name for file in LIBRARIES for name in signatures(parse(read_spec("lib", file)))}
    return frozenset(defined | BUILTINS.keys() | CONSTANTS | _FIXED)


@cache
def _library_names(file: str) -> frozenset[str]:
    return frozenset(signatures(parse(read_spec("lib", file))))


class ProgramWriter(Struct, eq=False):
    """The program of a query while it is written: inputs, definitions by name, and outputs."""

    source: Source
    inputs: dict[tuple[str, str, bool], str] = field(default_factory=dict)
    columns: dict[str, SqlColumn] = field(default_factory=dict)
    lengths: dict[str, str] = field(default_factory=dict)
    tables: dict[str, SqlTable] = field(default_factory=dict)
    defined: dict[str, str] = field(default_factory=dict)
    outputs: list[tuple[str, str]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(_taken()))

    # ---- names -------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """Return a new, unused name."""
        plain = re.sub(r"\W", "_", wanted.lower(), flags=re.ASCII) or "value"
        name = plain if plain[0].isalpha() else f"_{plain}"
        while name in self.taken or _OURS.fullmatch(name):
            name += "_"
        self.taken.add(name)
        return name

    def fresh(self, kind: str, number: int | None = None) -> str:
        """Return a new name of ours: a kind and a number, that given or the next."""
        while number is None or f"{kind}{number}" in self.taken:
            self.numbers[kind] = number = self.numbers.get(kind, 0) + 1
        name = f"{kind}{number}"
        self.taken.add(name)
        return name

    def word(self, word: str) -> str:
        """Return one of our fixed names, with a number if it is used already."""
        name, number = word, 1
        while name in self.numbers:
            number += 1
            name = f"{word}{number}"
        self.numbers[name] = 0
        return name

    # ---- definitions -------------------------------------------------------------------------

    def define(self, name: str, value: str) -> None:
        """Define a name, or a function if parameters follow it."""
        self.defined[name] = value

    def vector(self, name: str, count: str, value: str) -> str:
        """Define a vector with a value for each row."""
        self.define(name, f"map(tol[{count}], {value}, [q])")
        return name

    def column(self, name: str, count: str, value: SqlValue) -> ValueReader:
        """Define vectors of a value at row ``q`` and of whether it is known; return how to read them."""
        self.vector(name, count, value.text)
        known = None
        if value.known is not None:
            known = self.vector(f"{name}_known", count, value.known)
        return entries(name, value.type, known)

    def lazily(self, kind: str, count: str, at: ValueReader, number: int | None = None) -> ValueReader:
        """Return a reader of a vector that is defined when it is first read."""
        made: list[ValueReader] = []

        def read(place: str) -> SqlValue:
            if not made:
                made.append(self.column(self.fresh(kind, number), count, at("q")))
            return made[0](place)

        return read

    def table(self, entries: Sequence[int]) -> str:
        """Return the name of a static vector of whole numbers, or of truth values."""
        text = f"[{', '.join(str(entry).lower() for entry in entries)}]"
        if text not in self.texts:
            self.texts[text] = self.fresh("texts")
            self.define(self.texts[text], text)
        return self.texts[text]

    # ---- inputs ------------------------------------------------------------------------------

    def scan(self, table: SqlTable, alias: str) -> Frame:
        """Return all rows of a table."""
        if table.name not in self.lengths:
            self.lengths[table.name] = self.name(table.name)
            self.tables[table.name] = table
        columns = (
            FrameColumn(alias, name, self.reader(table, column)) for name, column in table.columns.items()
        )
        return Frame(self.lengths[table.name], tuple(columns))

    def reader(self, table: SqlTable, column: SqlColumn) -> ValueReader:
        """Return how to read a column of a table: an input, and one for where it is known."""

        def read(at: str) -> SqlValue:
            known = f"{self.input(table, column, True)}[{at}]" if column.nullable else None
            text = f"{self.input(table, column)}[{at}]"
            return _entry(text, column.type, known)

        return read

    def input(self, table: SqlTable, column: SqlColumn, known: bool = False) -> str:
        """Return the input that holds a column, or whether it is known."""
        key = (table.name, column.name, known)
        if key not in self.inputs:
            name = self.name(f"{table.name}_{column.name}{'_known' if known else ''}")
            self.inputs[key] = name
            self.columns[name] = column.known if known else column
        return self.inputs[key]

    # ---- the program -------------------------------------------------------------------------

    def text(self) -> str:
        """Write the whole program, without what no output needs."""
        lines = list(self._reached())
        lines += [f"{name} := {value}" for name, value in self.outputs]
        words = {word for line in lines for word in _WORD.findall(line)}
        sql = " ".join(self.source.text.split())
        used = ["use relations"]
        used += [f"use {file}" for file in ("total_order", "calendar") if words & _library_names(file)]
        return "\n".join((f"# {sql}", *self._declared(words), *used, *lines)) + "\n"

    def _reached(self) -> Iterator[str]:
        heads = {_WORD.match(name).group(): name for name in self.defined}  # type: ignore[union-attr]
        todo = [value for _, value in self.outputs]
        needed: set[str] = set()
        while todo:
            for word in _WORD.findall(todo.pop()):
                if word in heads and word not in needed:
                    needed.add(word)
                    todo.append(self.defined[heads[word]])
        yield from (
            f"{name} = {value}"
            for word, name in heads.items()
            if word in needed
            for value in (self.defined[name],)
        )

    def _declared(self, words: set[str]) -> Iterator[str]:
        """Yield the inputs that are read, and at least one column of every table."""
        read = {key: name for key, name in self.inputs.items() if name in words}
        for table in self.lengths:
            if not any(key[0] == table for key in read):
                column = next(iter(self.tables[table].columns.values()))
                read[table, column.name, False] = self.input(self.tables[table], column)
        for unread in set(self.inputs.values()) - set(read.values()):
            del self.columns[unread]
        for (table, _, _), name in read.items():
            yield f"tol {name}: {self.columns[name].space} [{self.lengths[table]}]"


def _entry(text: str, type_: SqlType, known: str | None) -> SqlValue:
    if known is not None and type_.kind == "truth":
        return SqlValue(text, type_, known=known, no=every((known, f"not({text})")))
    return SqlValue(text, type_, known=known)


def entries(name: str, type_: SqlType, known: str | None = None) -> ValueReader:
    """Return how to read the entries of a vector, with those of another that says which are known."""
    return lambda at: _entry(f"{name}[{at}]", type_, None if known is None else f"{known}[{at}]")


def as_value(text: str, type_: SqlType, known: str | None, static: bool = False) -> SqlValue:
    """Return a value by its text and by where it is known."""
    found = _entry(text, type_, known)
    return SqlValue(found.text, type_, known=known, no=found.no, static=static)


def names_of(columns: Iterable[FrameColumn]) -> list[str]:
    """Return the names of columns, each once."""
    return list(dict.fromkeys(column.name for column in columns))
