"""Tables as they are given: every name is one thing, and an entry is what stands between its quotes."""

from pathlib import Path

import pytest

from tolcost.apps.sql.tables import read_tables
from tolcost.diagnostics import Rejected


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("none.toml", "", "there is no table in it"),
        ("t.csv", "a,A\n1,2\n", "`t` has two columns `A`"),
        ("t.toml", '[t]\na = "Z"\nA = "R"\n', "`t` has two columns `A`"),
        ("t.toml", '[t]\na = "Z"\n[T]\na = "R"\n', "there are two tables `T`"),
        ("t.csv", f"a\n{'x' * 200_000}\n", "field larger than"),
        ("t.toml", '[t]\na = "decimal(40, 2)"\n', "the column `a` needs a space"),
        ("t.toml", "[t]\na = { type = 'Z', nil = true }\n", "the column `a` needs a space"),
    ],
)
def test_what_cannot_be_told_apart_or_read_is_refused(name: str, text: str, why: str, tmp_path: Path) -> None:
    """Of two of one name the last was taken."""
    with pytest.raises(Rejected, match=why):
        read_tables([written(tmp_path, name, text)])


def test_a_table_of_two_files_is_refused(tmp_path: Path) -> None:
    files = [written(tmp_path, "t.csv", "a\n1\n"), written(tmp_path, "t.toml", '[T]\na = "Z"\n')]
    with pytest.raises(Rejected, match="there are two tables `T`"):
        read_tables(files)


def test_a_line_break_in_quotes_is_part_of_its_entry(tmp_path: Path) -> None:
    """It was left out: 1 and 2 on two lines were the number 12."""
    table = read_tables([written(tmp_path, "t.csv", 'a,b\n"1\n2",3\n')])["t"]
    assert (table.columns["a"].texts, table.columns["b"].values) == (("1\n2",), (3,))


def test_columns_are_what_stands_in_them(tmp_path: Path) -> None:
    """Truth values were text, and a column of them kept every row; an empty text is a text."""
    table = read_tables([written(tmp_path, "t.csv", "a,b,c\ntrue,x,1\nFALSE,,2.5\n")])["t"]
    assert [column.space for column in table.columns.values()] == ["B", "N*", "R"]
    assert table.columns["a"].values == (True, False)
    assert table.columns["b"].texts == ("", "x")


def test_an_empty_entry_is_null_and_dates_are_dates(tmp_path: Path) -> None:
    table = read_tables([written(tmp_path, "t.csv", "a,b\n1,1995-03-15\n,1970-01-02\n")])["t"]
    assert table.columns["a"].nulls == (False, True)
    assert (table.columns["b"].is_date, table.columns["b"].values) == (True, (9204, 1))


def test_types_in_a_file_of_columns(tmp_path: Path) -> None:
    text = '[t]\na = "Z?"\nb = "decimal(15, 2)"\nc = "date"\nd = { texts = ["y", "x"], null = true }\n'
    columns = read_tables([written(tmp_path, "t.toml", text)])["t"].columns.values()
    assert [(column.type.kind, column.nullable) for column in columns] == [
        ("exact", True),
        ("exact", False),
        ("date", False),
        ("text", True),
    ]
    assert [column.scale for column in columns] == [0, 2, 0, 0]
