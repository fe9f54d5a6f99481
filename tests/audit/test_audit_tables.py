"""Tables of the reports: the same bytes each time, every cell in every format, nothing live in any."""

import csv
import html
import io
import json
import re
from fractions import Fraction

import pytest

from tests.show.test_hostile_names import PAYLOADS
from tolcost.algebra import length
from tolcost.show.document import Code, Column, ReportTable, rounded
from tolcost.show.html import Chart, LiveForm, html_page
from tolcost.show.svg import Dot, Scale, curves, scatter, strip
from tolcost.show.tables import csv_text, markdown

COLUMNS = (Column("name", "name"), Column("code", "code", "code"), Column("form", "form", "form"))


def table(name: str) -> ReportTable:
    row = (name, Code(f"{name}\n{name}"), length("n") * 2)
    return ReportTable(COLUMNS, (row,), "t", "A table", "About `it`.", "tolcost report")


def page(name: str) -> str:
    chart = Chart("c", name, "make", scatter([Dot(1, 1, name, name)], axis(), axis(), name))
    form = LiveForm(name, length("n"), length("n"), name)
    return html_page("Title", name, name, [(name, name)], [table(name)], [chart], [form])


def axis() -> Scale:
    return Scale("x", 0.1, 10.0)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_name_is_just_a_name(name: str) -> None:
    plain = table("plain")
    assert len(markdown((table(name),)).splitlines()) == len(markdown((plain,)).splitlines())
    outside_code = re.sub(r"(`+) ?.*?\1", "", markdown((table(name),)))
    assert "<script" not in outside_code.replace("\\<", "")
    rows = list(csv.reader(io.StringIO(csv_text(table(name)))))
    assert [len(row) for row in rows] == [3, 3]
    assert not any(cell[:1] in ("=", "+", "@", "\t", "\r") for row in rows for cell in row)


@pytest.mark.parametrize(
    "name", [*PAYLOADS, "</script><img src=x onerror=alert(1)>", "</title><b>", "{{ 7*7 }}"]
)
def test_the_page_shows_markup_as_text(name: str) -> None:
    def tags(text: str) -> list[str]:
        return re.findall(r"</?[A-Za-z][A-Za-z0-9]*", text)

    made = page(name)
    assert tags(made) == tags(page("plain"))
    assert "\x1b" not in made
    forms = re.search(r'id="forms">(.*?)</script>', made, re.S)
    assert forms is not None
    assert len(json.loads(forms[1])) == 1
    assert "49" not in html.unescape(made)


def test_the_page_asks_for_nothing_else() -> None:
    made = page("plain")
    assert "default-src 'none'" in made
    addresses = re.findall(r'(?:src|href)="([^"#][^"]*)"', made)
    assert all(re.fullmatch(r"\w+\.(md|csv)", address) for address in addresses)


def test_the_same_table_is_the_same_text() -> None:
    assert page("x") == page("x")
    assert markdown((table("x"),)) == markdown((table("x"),))


def test_cells_by_kind() -> None:
    columns = tuple(Column(f"c{n}", f"c{n}") for n in range(5))
    row = (None, 12345, Fraction(1, 3), Code("a|b"), length("n") ** 2)
    made = ReportTable(columns, (row,), "t", "T", "", "make")
    assert markdown((made,)).splitlines()[-1] == "|  | 12,345 | 0.3333 | `a\\|b` | `n**2` |"
    assert csv_text(made).splitlines()[-1] == ",12345,1/3,a|b,n**2"


@pytest.mark.parametrize(
    "value, text", [(Fraction(7), "7"), (Fraction(1, 8), "0.125"), (Fraction(10**9 + 1, 3), "333300000")]
)
def test_rounding(value: Fraction, text: str) -> None:
    assert rounded(value) == text


def test_charts_place_what_they_show() -> None:
    made = scatter([Dot(0.1, 10, "a", "corner"), Dot(1, 1, "b", "middle")], axis(), axis(), "t")
    found = re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="3.4" fill="(#\w+)"[^>]*><title>(\w+)', made)
    spots = {label: (float(x), float(y)) for x, y, _, label in found}
    assert spots["corner"] == (70, 20)
    assert spots["middle"] == (70 + 590 / 2, 20 + 356 / 2)


def test_a_strip_has_a_line_for_each_name() -> None:
    made = strip([("one", "a", [0.5, 2.0]), ("two", "b", [1.0])], axis(), "t")
    assert made.count("<circle") == 3 + 2
    assert ">one</text>" in made


def test_labels_of_curves_stand_apart() -> None:
    made = curves([("a", [(1, 1), (10, 5)]), ("b", [(1, 1), (10, 5)])], axis(), axis(), "t")
    heights = re.findall(r'y="([\d.]+)" text-anchor="start"', made)
    assert abs(float(heights[0]) - float(heights[1])) >= 13
