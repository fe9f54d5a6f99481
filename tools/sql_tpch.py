"""The 22 queries of TPC-H, in the words of its specification, as ``tolcost sql`` translates them.

``python -m tools.sql_tpch`` writes reports/sql_tpch.md: the cost of each as it is translated, and of its
program run on a small database, which gives DuckDB's rows.  The database is drawn anew: its values are those
that the queries ask for, so that hardly any has no rows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
from msgspec import Struct

from tolcost.apps.sql import SqlColumn, SqlTable, Translated, read_query, translated
from tolcost.apps.sql.answers import execute_query, result_rows
from tolcost.diagnostics import Source
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.derivation import compare_counts
from tools.specs.tpch.campaign import SCHEMA
from tools.specs.tpch.tables import lists
from tools.sql_queries import duckdb_rows, rows_agree

ROOT = Path(__file__).parents[1]
SEED = 3
_NATIONS = ("FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA", "CHINA", "INDIA")
_DAYS = ("1993-08-10", "1993-11-20", "1994-03-01", "1994-10-10", "1995-03-05", "1995-09-05", "1996-02-15")
_BRANDS = ("Brand#12", "Brand#23", "Brand#34", "Brand#45")
_TYPES = (
    "ECONOMY ANODIZED STEEL",
    "ECONOMY ANODIZED STEEL",
    "PROMO PLATED TIN",
    "STANDARD BURNISHED BRASS",
    "MEDIUM POLISHED TIN",
)
_BOXES = ("SM CASE", "MED BOX", "LG PKG", "JUMBO CAN")
_NAMES = ("forest lemon green", "forest navy blue", "ivory green plum", "peach snow tan")
_SIZES = (3, 9, 14, 15, 15, 15)
_CODES = (13, 31, 23, 29, 30, 18, 17, 25, 33)
_MODES = ("AIR", "MAIL", "SHIP", "TRUCK")
_ORDER_NOTES = ("special packages requests", "quickly final", "deposits sleep")
_SELLER_NOTES = ("Customer slow Complaints", "even theodolites", "bold foxes")

Rows = list[tuple[Any, ...]]


def texts() -> dict[str, str]:
    """The queries by name."""
    text = (ROOT / "tools/specs/tpch/benchmark.sql").read_text("utf-8")
    return dict(re.findall(r"^-- (Q\d+)\n(.*?);$", text, re.MULTILINE | re.DOTALL))


# === A small database.


def drawn(seed: int) -> dict[str, Rows]:
    """Rows of all tables."""
    draw = random.Random(seed)
    nations = lists()["nations"]
    regions = (0, 1, 1, 1, 2, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 3, 3, 4, 3, 1, 2)
    found: dict[str, Rows] = {
        "region": [(n, name, "note") for n, name in enumerate(lists()["regions"])],
        "nation": [(n, name, regions[n], "note") for n, name in enumerate(nations)],
    }
    places = [nations.index(name) for name in _NATIONS]
    found["supplier"] = [
        (
            n,
            f"Supplier#{n}",
            f"{n} Road",
            places[n % 7],
            _phone(draw),
            _money(draw),
            draw.choice(_SELLER_NOTES),
        )
        for n in range(1, 11)
    ]
    found["customer"] = [
        (
            n,
            f"Customer#{n}",
            f"{n} Lane",
            places[n % 7],
            _phone(draw),
            _money(draw),
            draw.choice(lists()["segments"][:2]),
            "note",
        )
        for n in range(1, 15)
    ]
    found["part"] = [_part(draw, n) for n in range(1, 13)]
    found["partsupp"] = [
        (part[0], (part[0] + k) % 10 + 1, draw.randint(1, 60), _money(draw), "note")
        for part in found["part"]
        for k in (0, 3, 6)
    ]
    found["orders"] = []
    found["lineitem"] = []
    for n in range(1, 46):
        _draw_order(draw, n, found)
    return found


def _part(draw: random.Random, n: int) -> tuple[Any, ...]:
    """A part: the first is one of Query 2, and the next are of Query 19."""
    name, brand, kind, size, box = (draw.choice(some) for some in (_NAMES, _BRANDS, _TYPES, _SIZES, _BOXES))
    if n == 1:
        kind, size = "STANDARD BURNISHED BRASS", 15
    if 1 < n < 6:
        brand, size, box = "Brand#23", 9, "MED BOX"
    return (n, name, "Manufacturer#1", brand, kind, size, box, _money(draw), "note")


def _draw_order(draw: random.Random, n: int, found: dict[str, Rows]) -> None:
    """An order and its lines; every tenth is large."""
    day = date.fromisoformat(draw.choice(_DAYS)) + timedelta(days=draw.randint(0, 15))
    size = 8 if n % 10 == 0 else draw.randint(1, 5)
    status = draw.choice("FFO")
    priority = draw.choice(lists()["priorities"])
    customer = draw.randint(1, 10)
    found["orders"].append(
        (n, customer, status, _money(draw), day, priority, "Clerk#1", 0, draw.choice(_ORDER_NOTES))
    )
    for line in range(1, size + 1):
        part, seller = draw.choice(found["partsupp"])[:2]
        shipped = day + timedelta(days=draw.randint(1, 30))
        promised, arrived = (shipped + timedelta(days=draw.randint(-5, 25)) for _ in range(2))
        quantity = 50 if size == 8 else draw.choice((1, 5, 12, 23, 25, 40))
        found["lineitem"].append(
            (
                n,
                part,
                seller,
                line,
                quantity,
                _money(draw),
                draw.choice(("0.05", "0.06", "0.07", "0.10")),
                draw.choice(("0.00", "0.04", "0.08")),
                draw.choice("ANR"),
                status,
                shipped,
                promised,
                arrived,
                draw.choice(("DELIVER IN PERSON", "NONE")),
                draw.choice(_MODES),
                "note",
            )
        )


def _money(draw: random.Random) -> str:
    return f"{draw.randint(-100, 9000)}.{draw.randint(0, 99):02d}"


def _phone(draw: random.Random) -> str:
    return f"{draw.choice(_CODES)}-{draw.randint(100, 999)}"


def store(rows: Mapping[str, Rows]) -> duckdb.DuckDBPyConnection:
    """The database in DuckDB."""
    connection = duckdb.connect()
    for table, columns in SCHEMA.items():
        connection.execute(f"create table {table} ({columns})")
        marks = ", ".join("?" for _ in rows[table][0])
        connection.executemany(f"insert into {table} values ({marks})", rows[table])
    return connection


def tables(rows: Mapping[str, Rows]) -> dict[str, SqlTable]:
    """The database as tables of ``tolcost sql``."""
    found = {}
    for table, told in SCHEMA.items():
        columns = re.findall(r"(\w+) (bigint|varchar|date|decimal\(15, 2\))", told)
        values = zip(*rows[table], strict=True)
        found[table] = SqlTable(
            table,
            {
                name: _column(name, kind, list(entries))
                for (name, kind), entries in zip(columns, values, strict=True)
            },
        )
    return found


def _column(name: str, kind: str, entries: list[Any]) -> SqlColumn:
    match kind:
        case "varchar":
            known = tuple(sorted(set(entries)))
            return SqlColumn(name, "N*", known, tuple(known.index(entry) + 1 for entry in entries))
        case "date":
            days = tuple(entry.toordinal() - date(1970, 1, 1).toordinal() for entry in entries)
            return SqlColumn(name, "Z", values=days, is_date=True)
        case "bigint":
            return SqlColumn(name, "Z", values=tuple(entries))
        case _:
            return SqlColumn(name, "Z", values=tuple(round(float(entry) * 100) for entry in entries), scale=2)


# === Each query.


class Answered(Struct, frozen=True):
    """A query that gave DuckDB's rows: how many, its program, and its cost."""

    name: str
    rows: int
    program: Translated
    form: str
    eops: int


def answered(
    name: str, sql: str, known: Mapping[str, SqlTable], connection: duckdb.DuckDBPyConnection
) -> Answered:
    """Translate a query, run it, and hold rows and counts to DuckDB and to the closed form."""
    found = translated(read_query(Source(name, sql), known))
    lowered = lower(read_program(found.source))
    execution = execute_query(found, lowered)
    analysis = analyze_lowered(lowered, name)
    text, agree = compare_counts(execution.counts, execution.bindings, analysis)
    assert agree, f"{name}\n{text}"
    ours, theirs = result_rows(found, execution), duckdb_rows(sql, connection)
    assert rows_agree(ours, theirs), f"{name}: {ours[:3]} is not {theirs[:3]}"
    return Answered(name, len(ours), found, str(analysis.eops), sum(execution.counts.histogram.values()))


ABOUT = """\
The 22 queries in the words of the benchmark's specification (`tools/specs/tpch/benchmark.sql`), as
`tolcost sql` translates them. Each gives DuckDB's rows on a small database, and the count of the run is
the closed form at its lengths, function by function. Lengths are called like the tables; z1, z2, ... are
the numbers of rows that conditions keep. Every pair of rows is looked at where tables are joined
([docs/sql.md](../docs/sql.md) says how queries are computed). The same queries with tables of keys,
written by hand, are in [tpch.md](tpch.md).
"""


def report() -> str:
    """Write what each query costs."""
    rows = drawn(SEED)
    known = tables(rows)
    sizes = ", ".join(f"{name} {len(rows[name])}" for name in SCHEMA)
    lines = [
        "# TPC-H in SQL",
        "",
        "Made by `python -m tools.sql_tpch`; do not edit.",
        "",
        *ABOUT.splitlines(),
        "",
        f"Rows of the tables: {sizes}.",
        "",
        "| query | lines of ToLang | rows | EOPs of the run | EOPs |",
        "|---|---:|---:|---:|---|",
    ]
    with store(rows) as connection:
        for name, sql in texts().items():
            one = answered(name, sql, known, connection)
            size = len(one.program.source.text.splitlines())
            lines.append(f"| {name} | {size} | {one.rows} | {one.eops:,} | `{one.form}` |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the report."""
    (ROOT / "reports" / "sql_tpch.md").write_text(report(), encoding="utf-8")


if __name__ == "__main__":
    main()
