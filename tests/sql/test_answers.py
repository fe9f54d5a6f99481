"""Queries that once gave other rows than DuckDB, or rows where it has none, one by one."""

from __future__ import annotations

import math

import pytest

from tolcost.apps.sql import SqlColumn, SqlTable
from tolcost.diagnostics import Rejected
from tools.sql_queries import answer, duckdb_rows, store

NAN, INF = math.nan, math.inf
T = SqlTable(
    "t",
    {
        "a": SqlColumn("a", "Z", values=(-3, 4, 5, 0, -3)),
        "k": SqlColumn("k", "Z", values=(1, 2, 3, 1, 2)),
        "b": SqlColumn("b", "R", values=(1.5, NAN, 2.5, INF, NAN)),
        "f": SqlColumn("f", "B", values=(True, False, True, True, False)),
    },
)
U = SqlTable("u", {"d": SqlColumn("d", "Z", values=(1, 3)), "k": SqlColumn("k", "Z", values=(3, 4))})
TABLES = {"t": T, "u": U}


@pytest.mark.parametrize(
    "sql",
    [
        # a name that an item and a column have
        "select a % 2 as a, count(*) as n from t group by a order by t.a",
        "select a * a as a, k from t order by a, k",
        "select a * a as a, k from t order by (a), k",
        "select a * a as a, k from t order by -a, k",
        # places
        "select a from t order by (1)",
        "select a, k from t order by ((2)) desc, 1",
        "select a, count(*) from t group by (1) order by 1",
        # NaN is one number, more than every other
        "select b, count(*) from t group by b order by b",
        "select b, count(*) from t group by b order by b desc limit 2",
        "select a, b from t order by b, a",
        "select distinct b from t order by b desc",
        "select a from t where b > 2 order by a",
        "select a from t where 2 <= b order by a",
        "select a from t where b < 2 or b <> b order by a",
        "select x.a, y.a from t x join t y on x.b = y.b order by 1, 2",
        "select x.a, y.a from t x join t y on x.b >= y.b order by 1, 2",
        "select k, min(b), max(b), sum(b), avg(b) from t group by k order by k",
        "select sqrt(a), count(*) from t group by sqrt(a) order by 1",
        "select a / a, count(*) from t group by a / a order by 1 desc",
        # decimals are exact
        "select k from t where k * 0.1 = 0.3",
        "select k from t where 0.1 + 0.2 = 0.3 and k * 1e-1 = 3e-1 order by k",
        "select k * 0.10 + 0.25, k % 0.3, -k * .5 from t order by 1, 2, 3",
        "select floor(k * 0.3), ceil(k * 0.3), abs(-0.5 * k) from t order by 1, 2, 3",
        "select sum(k * 0.1) / 3, avg(k * 0.1), min(k * 0.1) from t",
        "select k * 0.1, count(*) from t group by k * 0.1 having sum(k * 0.1) > 0.2 order by 1",
        "select case when k = 1 then 0.1 else k end, k / 0.1, b * 0.1 from t order by 1, 2, 3",
        "select a from t where b between 0.1 and 2.5 order by a",
        "select k * 1.0, k * 10, count(*) from t group by k * 1.0, k * 10 order by 1, 2",
        # what is selected is what is grouped by, conditions too
        "select a in (4, 5), count(*) from t group by a in (4, 5) order by 1",
        "select a between 4 and 5, count(*) from t group by a between 4 and 5 order by 1",
        "select not (a in (4)), max(a) from t group by a in (4) order by 1",
        # constants are computed exactly
        "select a, (1e-1) % 1.5 in (0.10, a) from t order by a",
        # a name in HAVING
        "select a % 2 as a, count(*) from t group by a having a > 0 order by t.a",
        "select k as z, max(a) as a from t group by k having sum(a) > 0 order by z",
        # truth values are counted, and have a least
        "select sum(f), min(f), max(a > 0) from t",
        "select count(*) from t group by +1, a > 0 order by 1",
        # aggregates of no rows are NULL
        "select sum(a) from t where a > 100",
        "select avg(a) + 1, count(*) from t where a > 100",
    ],
)
def test_rows_are_those_of_duckdb(sql: str) -> None:
    with store(TABLES) as connection:
        expected = duckdb_rows(sql, connection)
    found = answer(sql, TABLES, counted=True)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert [value is None for value in one] == [value is None for value in other]
        pairs = [(a, float(b)) for a, b in zip(one, other, strict=True) if b is not None]
        assert [a for a, _ in pairs] == pytest.approx([b for _, b in pairs], rel=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    "sql, why, piece",
    [
        ("select a from t order by -1", "there is no item -1", "1"),
        ("select a from t group by 0", "there is no item 0", "0"),
        ("select a from t order by 1.0", "rows are not sorted by a constant", "1.0"),
        ("select a from t order by -(1.5)", "rows are not sorted by a constant", "1.5"),
        ("select a from t order by 'x'", "rows are not sorted by a constant", "'x'"),
        ("select a as x, k as x from t order by x", "several items are called `x`", "x"),
        (
            "select 0 + a as z, 1 as a from t group by 0 + a having 0 + a > 0",
            "may be a column here, or an item",
            "a",
        ),
        ("select count(zzz) from t", "there is no column `zzz`", "zzz"),
        ("select count(sum(a)) from t", "an aggregate cannot stand here", "sum(a"),
        ("select sum(count(*)) from t", "an aggregate cannot stand here", "count(*"),
        (
            "select x.a from t x join t y on x.a = z.a join t z on y.k = z.k",
            "there is no table `z` here",
            "z.a",
        ),
        ("select a from t join u on zzz = d", "there is no column `zzz`", "zzz"),
        ("select 0x10 from t", "a number ends where a name begins", "0"),
        ("select f + 1 from t", "a truth value cannot be calculated with", "f"),
        ("select avg(f) from t", "a truth value cannot be calculated with", "f"),
        ("select a from t where f = 1", "these cannot be compared", "f = 1"),
        ("select 1.00000000000000000000000000000000000001 from t", "at most 38 digits", "1."),
        ("select k * 0.1234567890123456789 * 1.12345678901234567890 from t", "at most 38 digits behind", "k"),
    ],
)
def test_what_duckdb_refuses_is_refused(sql: str, why: str, piece: str) -> None:
    with pytest.raises(Rejected, match=why) as refused:
        answer(sql, TABLES, counted=False)
    span = refused.value.diagnostics[0].span
    assert span.text.startswith(piece)
