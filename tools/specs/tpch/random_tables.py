"""Random databases for TPC-H, of few rows or none, and of values that its queries ask for.

Keys are as the benchmark has them: those of a table are 1 to its length (of nations and regions from 0, of
orders with gaps), and what refers to a row finds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tools.specs.tpch.tables import FIELDS, Array, Columns, lists

REFERS: dict[str, tuple[str, ...]] = {
    "region": (),
    "nation": ("region",),
    "customer": ("nation",),
    "supplier": ("nation",),
    "part": (),
    "partsupp": ("part", "supplier"),
    "orders": ("customer",),
    "lineitem": ("orders", "partsupp"),
}
"""The tables, each after those that its rows refer to."""

LONGEST = {"region": 2, "nation": 3, "orders": 12, "lineitem": 50}
"""The most rows of a table; of any other, five."""

TRIALS = 100
COUNTED = 20
"""On so many of them closed forms are held to runs, too."""

_DAYS = ("1993-08-15", "1993-11-20", "1994-05-05", "1994-10-03", "1995-03-12", "1995-09-12", "1996-02-10")
_WORDS = {
    "segments": ("BUILDING", "MACHINERY"),
    "priorities": ("1-URGENT", "2-HIGH", "5-LOW"),
    "modes": ("AIR", "MAIL", "REG AIR", "SHIP"),
    "instructions": ("DELIVER IN PERSON", "NONE"),
    "regions": ("AMERICA", "EUROPE"),
    "nations": ("BRAZIL", "PERU", "UNITED KINGDOM"),
    "sizes_of_type": ("ECONOMY", "MEDIUM", "PROMO"),
    "finishes": ("ANODIZED", "POLISHED"),
    "metals": ("BRASS", "STEEL"),
    "wraps": ("MED", "SM"),
    "boxes": ("BOX", "CASE"),
    "colours": ("bisque", "green"),
}
"""What is drawn of the benchmark's lists; of those that are not here, all."""


def random_databases() -> list[Columns]:
    """A hundred: one without rows, some with one table empty, some with one row in each, and any others."""
    empty: list[tuple[str, ...]] = [tuple(REFERS), *((table,) for table in REFERS)]
    found = [random_tables(seed, empty=tables) for seed, tables in enumerate(empty)]
    found += [random_tables(seed, rows=1) for seed in range(len(found), len(found) + 6)]
    return found + [random_tables(seed) for seed in range(len(found), TRIALS)]


def side_by_side(databases: Sequence[Columns]) -> tuple[Columns, dict[str, Array]]:
    """The tables of all databases one after the other, and for each row of a table which one it is of."""
    whole = {name: np.concatenate([each[name] for each in databases]) for name in databases[0]}
    numbers = {
        table: np.repeat(np.arange(len(databases)), [len(each[next(iter(fields))]) for each in databases])
        for table, fields in FIELDS.items()
    }
    return whole, numbers


def random_tables(seed: int, rows: int | None = None, empty: Sequence[str] = ()) -> Columns:
    """All columns of a database: so many rows in a table, or any number, and none in some tables.

    A table that refers to an empty one is empty, too.
    """
    draw = np.random.default_rng(seed)
    sizes: dict[str, int] = {}
    for table, others in REFERS.items():
        missing = table in empty or any(sizes[other] == 0 for other in others)
        sizes[table] = 0 if missing else rows or int(draw.integers(1, LONGEST.get(table, 5) + 1))
    found = _Drawing(draw, sizes).columns()
    return {name: found[name] for fields in FIELDS.values() for name in fields}


def _codes(name: str) -> list[int]:
    return [lists()[name].index(word) + 1 for word in _WORDS.get(name, lists()[name])]


class _Drawing(Struct, frozen=True):
    """Columns that are drawn at random, for tables of given sizes."""

    draw: np.random.Generator
    sizes: dict[str, int]

    def among(self, values: Sequence[int], table: str) -> Array:
        """Some of a few values, of which queries ask for one or another."""
        few = self.draw.choice(np.array(values, np.int64), 3)
        return self.draw.choice(few, self.sizes[table])

    def between(self, least: int, most: int, table: str) -> Array:
        return self.draw.integers(least, most + 1, self.sizes[table])

    def words(self, table: str, *names: str) -> Array:
        """The places of words in their lists."""
        columns = [self.among(_codes(name), table) for name in names]
        return columns[0] if len(names) == 1 else np.stack(columns, axis=1)

    def named(self, table: str, name: str) -> Array:
        """A different word for each row."""
        return self.draw.permutation(_codes(name))[: self.sizes[table]]

    def days(self, table: str) -> Array:
        days = [int(np.datetime64(day).astype(int)) for day in _DAYS]
        return self.among(days, table) + self.between(0, 9, table)

    def rows_of(self, other: str, table: str) -> Array:
        """For each row of a table one of another, counted from 0."""
        return self.draw.integers(0, max(self.sizes[other], 1), self.sizes[table])

    def columns(self) -> Columns:
        n = self.sizes
        orders = self.draw.permutation(np.arange(1, 4 * n["orders"] + 33))[: n["orders"]]
        parts, sellers = self.rows_of("part", "partsupp") + 1, self.rows_of("supplier", "partsupp") + 1
        bought = self.rows_of("partsupp", "lineitem")
        shipped = self.days("lineitem")
        return {
            "r_regionkey": np.arange(n["region"]),
            "r_name": self.named("region", "regions"),
            "n_nationkey": np.arange(n["nation"]),
            "n_name": self.named("nation", "nations"),
            "n_regionkey": self.rows_of("region", "nation"),
            "c_custkey": np.arange(n["customer"]) + 1,
            "c_nationkey": self.rows_of("nation", "customer"),
            "c_phonecode": self.among([13, 17, 20, 31], "customer"),
            "c_acctbal": self.between(-99_999, 999_999, "customer"),
            "c_mktsegment": self.words("customer", "segments"),
            "s_suppkey": np.arange(n["supplier"]) + 1,
            "s_nationkey": self.rows_of("nation", "supplier"),
            "s_acctbal": self.between(-99_999, 999_999, "supplier"),
            "s_complaints": self.between(0, 3, "supplier") == 0,
            "p_partkey": np.arange(n["part"]) + 1,
            "p_name": self.words("part", *["colours"] * 5),
            "p_brand": self.among([12, 23, 45], "part"),
            "p_type": self.words("part", "sizes_of_type", "finishes", "metals"),
            "p_size": self.among([3, 9, 45], "part"),
            "p_container": self.words("part", "wraps", "boxes"),
            "ps_partkey": parts,
            "ps_suppkey": sellers,
            "ps_availqty": self.between(1, 999, "partsupp"),
            "ps_supplycost": self.between(100, 100_000, "partsupp"),
            "o_orderkey": orders,
            "o_custkey": self.rows_of("customer", "orders") + 1,
            "o_orderstatus": self.words("orders", "statuses"),
            "o_totalprice": self.between(90_000, 50_000_000, "orders"),
            "o_orderdate": self.days("orders"),
            "o_orderpriority": self.words("orders", "priorities"),
            "o_special": self.between(0, 3, "orders") == 0,
            "l_orderkey": orders[self.rows_of("orders", "lineitem")],
            "l_partkey": parts[bought],
            "l_suppkey": sellers[bought],
            "l_quantity": self.between(1, 50, "lineitem"),
            "l_extendedprice": self.between(90_000, 10_000_000, "lineitem"),
            "l_discount": self.between(0, 10, "lineitem"),
            "l_tax": self.between(0, 8, "lineitem"),
            "l_returnflag": self.words("lineitem", "flags"),
            "l_linestatus": self.words("lineitem", "statuses"),
            "l_shipdate": shipped,
            "l_commitdate": shipped + self.between(-2, 30, "lineitem"),
            "l_receiptdate": shipped + self.between(1, 20, "lineitem"),
            "l_shipinstruct": self.words("lineitem", "instructions"),
            "l_shipmode": self.words("lineitem", "modes"),
        }
