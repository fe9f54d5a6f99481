"""TPC-H's tables as columns of numbers, and back as tables of DuckDB.

The loading step, which the programs of ``specs/relational/tpch`` rely on: text that comes from a list of
the benchmark is its place there, counted from 1 (``specs/lib/tpch.tol`` has the lists), and each word on its
own in names, types and containers of parts; a date is the number of days since 1970-01-01; money is in
cents, a discount or a tax in percent; ``Brand#23`` is 23; of a phone number the country's code is kept; of a
comment whether it says what a query asks for.  Names of customers and suppliers are numbered by their keys.
Other text, which queries only pass on, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np

from tolcost.platform import read_spec

Array: TypeAlias = np.ndarray[Any, Any]
Columns: TypeAlias = dict[str, Array]
SLICE = Path(__file__).with_name("scale_0.001.npz")


@cache
def lists() -> Mapping[str, tuple[str, ...]]:
    """The lists of text of ``specs/lib/tpch.tol``, by name."""
    text = read_spec("lib", "tpch").text
    found = re.findall(r"^(\w+) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return {name: tuple(re.findall(r'"([^"]*)"', items)) for name, items in found}


def _code(name: str) -> Callable[[str], int]:
    return lambda text: lists()[name].index(text) + 1


def _words(*names: str) -> Callable[[str], list[int]]:
    def codes(text: str) -> list[int]:
        return [_code(name)(word) for name, word in zip(names, text.split(" "), strict=True)]

    return codes


def _day(text: str) -> int:
    return int(np.datetime64(text, "D").astype(int))


def _hundredths(text: str) -> int:
    whole, _, rest = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return sign * (abs(int(whole)) * 100 + int(rest.ljust(2, "0") or 0))


def _says(*words: str) -> Callable[[str], bool]:
    pattern = re.compile(".*".join(words))
    return lambda text: pattern.search(text) is not None


_TYPE = _words("sizes_of_type", "finishes", "metals")
_BOX = _words("wraps", "boxes")

FIELDS: Mapping[str, Mapping[str, tuple[int, Callable[[str], Any]]]] = {
    "lineitem": {
        "l_orderkey": (0, int),
        "l_partkey": (1, int),
        "l_suppkey": (2, int),
        "l_quantity": (4, lambda text: _hundredths(text) // 100),
        "l_extendedprice": (5, _hundredths),
        "l_discount": (6, _hundredths),
        "l_tax": (7, _hundredths),
        "l_returnflag": (8, _code("flags")),
        "l_linestatus": (9, _code("statuses")),
        "l_shipdate": (10, _day),
        "l_commitdate": (11, _day),
        "l_receiptdate": (12, _day),
        "l_shipinstruct": (13, _code("instructions")),
        "l_shipmode": (14, _code("modes")),
    },
    "orders": {
        "o_orderkey": (0, int),
        "o_custkey": (1, int),
        "o_orderstatus": (2, _code("statuses")),
        "o_totalprice": (3, _hundredths),
        "o_orderdate": (4, _day),
        "o_orderpriority": (5, _code("priorities")),
        "o_special": (8, _says("special", "requests")),
    },
    "customer": {
        "c_custkey": (0, int),
        "c_nationkey": (3, int),
        "c_phonecode": (4, lambda text: int(text[:2])),
        "c_acctbal": (5, _hundredths),
        "c_mktsegment": (6, _code("segments")),
    },
    "part": {
        "p_partkey": (0, int),
        "p_name": (1, _words(*["colours"] * 5)),
        "p_brand": (3, lambda text: int(text.removeprefix("Brand#"))),
        "p_type": (4, _TYPE),
        "p_size": (5, int),
        "p_container": (6, _BOX),
    },
    "supplier": {
        "s_suppkey": (0, int),
        "s_nationkey": (3, int),
        "s_acctbal": (5, _hundredths),
        "s_complaints": (6, _says("Customer", "Complaints")),
    },
    "partsupp": {
        "ps_partkey": (0, int),
        "ps_suppkey": (1, int),
        "ps_availqty": (2, int),
        "ps_supplycost": (3, _hundredths),
    },
    "nation": {"n_nationkey": (0, int), "n_name": (1, _code("nations")), "n_regionkey": (2, int)},
    "region": {"r_regionkey": (0, int), "r_name": (1, _code("regions"))},
}
"""For each column of ours: its place in a line of the table, and how its text becomes a number."""


def encode(folder: Path) -> Columns:
    """Load the ``.tbl`` files that ``tpchgen-cli`` writes."""
    found: Columns = {}
    for table, fields in FIELDS.items():
        lines = [line.split("|") for line in (folder / f"{table}.tbl").read_text("utf-8").splitlines()]
        for name, (place, read) in fields.items():
            found[name] = np.array([read(line[place]) for line in lines])
    return found


def save(columns: Columns, path: Path) -> None:
    """Store columns in as few bytes as they need."""
    np.savez_compressed(path, **{name: _narrow(column) for name, column in columns.items()})


def _narrow(column: Array) -> Array:
    kinds = (np.int8, np.int16, np.int32, np.int64)
    fits = (kind for kind in kinds if abs(column.astype(np.int64)).max(initial=0) <= np.iinfo(kind).max)
    return column if column.dtype == np.bool_ else column.astype(next(fits))


def stored() -> Columns:
    """The slice that is kept with the tests: scale 0.001."""
    with np.load(SLICE) as file:
        return {
            name: file[name].astype(bool if file[name].dtype == bool else np.int64) for name in file.files
        }


# ---- as tables of DuckDB ---------------------------------------------------------------------

_TEXT = {
    "l_returnflag": "flags",
    "l_linestatus": "statuses",
    "l_shipinstruct": "instructions",
    "l_shipmode": "modes",
    "o_orderstatus": "statuses",
    "o_orderpriority": "priorities",
    "c_mktsegment": "segments",
    "n_name": "nations",
    "r_name": "regions",
}
_SPOKEN = {
    "p_name": ("colours",) * 5,
    "p_type": ("sizes_of_type", "finishes", "metals"),
    "p_container": ("wraps", "boxes"),
}
_CENTS = ("l_extendedprice", "l_discount", "l_tax", "o_totalprice", "c_acctbal", "s_acctbal", "ps_supplycost")
_FLAGGED = {
    "o_special": ("o_comment", "special requests"),
    "s_complaints": ("s_comment", "Customer Complaints"),
}


def _decoded(name: str, column: Array) -> tuple[str, list[Any]]:
    """A column as DuckDB should see it, with its type."""
    if name in _TEXT:
        return "varchar", [lists()[_TEXT[name]][k - 1] for k in column.tolist()]
    if name in _SPOKEN:
        return "varchar", [" ".join(_spoken(_SPOKEN[name], row)) for row in column.tolist()]
    if name == "p_brand":
        return "varchar", [f"Brand#{k}" for k in column.tolist()]
    if name.endswith("date"):
        return "date", [str(np.datetime64(k, "D")) for k in column.tolist()]
    if name in _CENTS:
        return "decimal(15, 2)", [f"{k / 100:.2f}" for k in column.tolist()]
    if name in _FLAGGED:
        return "varchar", [_FLAGGED[name][1] if k else "" for k in column.tolist()]
    return ("varchar", [f"{k}-" for k in column]) if name == "c_phonecode" else ("bigint", column.tolist())


def _spoken(names: Iterable[str], row: Iterable[int]) -> Iterable[str]:
    return (lists()[name][k - 1] for name, k in zip(names, row, strict=True))


_RENAMED = {"c_phonecode": "c_phone", **{ours: theirs for ours, (theirs, _) in _FLAGGED.items()}}


def database(
    columns: Columns, folder: Path, trials: Mapping[str, Array] | None = None
) -> duckdb.DuckDBPyConnection:
    """The tables in DuckDB, with the text that was there; files go through a folder.

    ``trials`` may say for each row of a table which database it is of: there is a column for that then.
    """
    connection = duckdb.connect()
    for table, fields in FIELDS.items():
        decoded = {_RENAMED.get(name, name): _decoded(name, columns[name]) for name in fields}
        if trials is not None:
            decoded["trial"] = ("bigint", trials[table].tolist())
        typed = ", ".join(f"{name} {kind}" for name, (kind, _) in decoded.items())
        file = folder / f"{table}.csv"
        rows = zip(*(values for _, values in decoded.values()), strict=True)
        file.write_text("\n".join("|".join(map(str, row)) for row in rows) + "\n", "utf-8")
        connection.execute(f"create table {table} ({typed})")
        connection.execute(f"copy {table} from '{file}' (delimiter '|', header false, nullstr '\\N')")
    return connection
