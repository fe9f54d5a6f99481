"""TPC-H at some scales, from freshly generated text.

`python -m tools.specs.tpch.campaign` writes reports/tpch.md.  DuckDB reads the text as it was
generated; our programs read what the loading step makes of it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from tools.specs.tpch.holding import Held, asked, held
from tools.specs.tpch.queries import QUERIES
from tools.specs.tpch.random_tables import COUNTED, TRIALS
from tools.specs.tpch.tables import Columns, encode

ROOT = Path(__file__).parents[3]
SCALES = (0.001, 0.01, 0.1)
SCHEMA = {
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber bigint, "
    "l_quantity decimal(15, 2), l_extendedprice decimal(15, 2), l_discount decimal(15, 2), "
    "l_tax decimal(15, 2), l_returnflag varchar, l_linestatus varchar, l_shipdate date, l_commitdate date, "
    "l_receiptdate date, l_shipinstruct varchar, l_shipmode varchar, l_comment varchar",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus varchar, o_totalprice decimal(15, 2), "
    "o_orderdate date, o_orderpriority varchar, o_clerk varchar, o_shippriority bigint, o_comment varchar",
    "customer": "c_custkey bigint, c_name varchar, c_address varchar, c_nationkey bigint, c_phone varchar, "
    "c_acctbal decimal(15, 2), c_mktsegment varchar, c_comment varchar",
    "part": "p_partkey bigint, p_name varchar, p_mfgr varchar, p_brand varchar, p_type varchar, "
    "p_size bigint, p_container varchar, p_retailprice decimal(15, 2), p_comment varchar",
    "supplier": "s_suppkey bigint, s_name varchar, s_address varchar, s_nationkey bigint, s_phone varchar, "
    "s_acctbal decimal(15, 2), s_comment varchar",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty bigint, ps_supplycost decimal(15, 2), "
    "ps_comment varchar",
    "nation": "n_nationkey bigint, n_name varchar, n_regionkey bigint, n_comment varchar",
    "region": "r_regionkey bigint, r_name varchar, r_comment varchar",
}


def generated(scale: float, folder: Path) -> None:
    """Have ``tpchgen-cli`` write the tables."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(program), "-s", str(scale), "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def database(folder: Path) -> duckdb.DuckDBPyConnection:
    """The generated text in DuckDB."""
    connection = duckdb.connect()
    for table, columns in SCHEMA.items():
        lines = (folder / f"{table}.tbl").read_text("utf-8").splitlines()
        plain = folder / f"{table}.csv"
        plain.write_text("\n".join(line.removesuffix("|") for line in lines) + "\n", "utf-8")
        connection.execute(f"create table {table} ({columns})")
        connection.execute(f"copy {table} from '{plain}' (delimiter '|', header false, quote '')")
    return connection


def at_scale(scale: float) -> tuple[Columns, list[Held]]:
    """Hold every query to DuckDB at a scale, with the benchmark's values."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        generated(scale, folder)
        columns, connection = encode(folder), database(folder)
        found = []
        for name in QUERIES:
            start = time.process_time()
            found.append(held(asked(name, {}, share=round(10_000 * scale)), columns, connection))
            print(
                f"{name} at {scale}: {found[-1].rows} rows, {time.process_time() - start:.1f} s", flush=True
            )
    return columns, found


def report(results: list[tuple[float, Columns, list[Held]]]) -> Iterator[str]:
    """The report, line by line."""
    yield from ("# TPC-H in ToLang", "", "Made by `make tpch`; do not edit.", "")
    yield (
        "Each of the 22 queries (`specs/relational/tpch`) gives DuckDB's answer on the tables that "
        "`tpchgen-cli` generates, with the values of the benchmark, and the count of the run is the closed "
        "form at the lengths observed, function by function and atom by atom. Lengths are those of the "
        "tables: l lines, o orders, c customers, p parts, ps offers, s suppliers, n nations, r regions; "
        "z1, z2, ... are the numbers of rows that filters keep, in the order in which they stand."
    )
    yield ""
    yield (
        f"`make test` holds each of them to DuckDB besides on {TRIALS} random databases (seeds 0 to "
        f"{TRIALS - 1}; counts on {COUNTED} of them). The first has no rows, the next have a table without "
        "rows, or one row in each table."
    )
    yield ""
    for scale, columns, _ in results:
        sizes = ", ".join(
            f"{name} {len(columns[column]):,}"
            for name, column in (
                ("lines", "l_orderkey"),
                ("orders", "o_orderkey"),
                ("customers", "c_custkey"),
                ("parts", "p_partkey"),
                ("offers", "ps_partkey"),
                ("suppliers", "s_suppkey"),
            )
        )
        yield f"- scale {scale}: {sizes}"
    heads = [f"rows at {scale} | EOPs at {scale}" for scale, _, _ in results]
    yield from ("", f"| query | EOPs | {' | '.join(heads)} |", "|---|---|" + "---:|---:|" * len(results))
    for n, name in enumerate(QUERIES):
        cells = [f"{found[n].rows:,} | {found[n].eops:,}" for _, _, found in results]
        yield f"| {name} | `{results[0][2][n].form}` | {' | '.join(cells)} |"


def main() -> None:
    """Run all queries at all scales, and write the report."""
    results = [(scale, *at_scale(scale)) for scale in SCALES]
    text = "\n".join(report(results)) + "\n"
    (ROOT / "reports" / "tpch.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
