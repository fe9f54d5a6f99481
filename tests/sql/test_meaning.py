"""What a query means is what SQL says, or it is refused: numbers are no conditions, and texts no numbers."""

import pytest

from tolcost.apps.sql import read_query, translated
from tolcost.apps.sql.tables import SqlColumn, SqlTable
from tolcost.diagnostics import Rejected, Source

COLUMNS = (
    SqlColumn("k", "Z"),
    SqlColumn("a", "Z"),
    SqlColumn("f", "B"),
    SqlColumn("c", "N*", ("blue", "red")),
)
TABLES = {"t": SqlTable("t", {column.name: column for column in COLUMNS})}


def program(sql: str) -> str:
    return translated(read_query(Source("<sql>", sql), TABLES)).source.text


@pytest.mark.parametrize(
    "sql, piece",
    [
        ("select a from t where k and f", "k"),
        ("select a from t where not k", "k"),
        ("select a from t where c", "c"),
        ("select a from t where f or a + 1", "a + 1"),
        ("select case when k then 1 else 0 end from t", "k"),
        ("select k from t group by k having count(*)", "count"),
        ("select x.a from t x join t y on x.k", "x.k"),
    ],
)
def test_a_number_or_a_text_is_no_condition(sql: str, piece: str) -> None:
    """A program went by the bits of numbers: `k and a` kept no row in which they share none."""
    with pytest.raises(Rejected, match="a condition is needed here") as refused:
        program(sql)
    assert refused.value.diagnostics[0].span.text.startswith(piece)


def test_what_is_true_or_false_is_one() -> None:
    assert "t_f[i] and not(t_f[i])" in program("select a from t where f and not f")
    assert "map(tol[t], t_a[i] > 0, [i])" in program("select a from t where (a > 0)")


@pytest.mark.parametrize("choice", ["c else 1", "1 else c", "c else c"])
def test_a_case_gives_no_text(choice: str) -> None:
    with pytest.raises(Rejected, match="text cannot be calculated with"):
        program(f"select sum(case when a > 0 then {choice} end) from t")


@pytest.mark.parametrize(
    "test, holds", [("'a' = 'a'", "true"), ("'b' < ('a')", "false"), ("('a') <> 'b'", "true")]
)
def test_two_texts_are_compared(test: str, holds: str) -> None:
    """It was said to nest too deeply."""
    assert f"map(tol[t], {holds}, [i])" in program(f"select a from t where {test}")


@pytest.mark.parametrize("item", ["k", "k + a", "k % 3", "case when k > 0 then 1 else 0 end"])
def test_what_is_selected_is_grouped_by(item: str) -> None:
    """Of the rows of a group the first was taken."""
    with pytest.raises(Rejected, match="this column is not grouped by"):
        program(f"select {item}, count(*) from t group by k % 2, c")
    assert "key2" in program(f"select {item} + 1, T.k % 2, count(*) from t group by k % 2, {item}")


@pytest.mark.parametrize(
    "sql, why, piece",
    [
        (
            "select count(*) from t group by 1 + 1",
            "all rows are the same in what they are grouped by",
            "1 + 1",
        ),
        ("select distinct 7 from t", "all rows are the same in what they are told apart by", "7"),
    ],
)
def test_what_one_row_would_do_is_refused_where_it_stands(sql: str, why: str, piece: str) -> None:
    """A filter of the library was said to have no formula."""
    with pytest.raises(Rejected, match=why) as refused:
        program(sql)
    assert refused.value.diagnostics[0].span.text in piece
    assert "key2" in program("select count(*) from t group by k, 1 + 1")


def test_a_column_that_nobody_reads_is_right_too() -> None:
    with pytest.raises(Rejected, match="several tables have a column"):
        program("with c as (select x.a as i, k as j from t x, t y) select i from c")


@pytest.mark.parametrize("side", ["right", "full"])
def test_a_join_after_a_comma_begins_there(side: str) -> None:
    """Its left side is `y` alone; the product of `x` and `y` was taken instead."""
    with pytest.raises(Rejected, match="this join comes after a comma"):
        program(f"select x.a from t x, t y {side} join t z on y.k = z.k")
    assert program(f"select x.a from t x cross join t y {side} join t z on y.k = z.k")
    assert program(f"select x.a from t y {side} join t z on y.k = z.k, t x")
