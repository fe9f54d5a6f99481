"""Names come from outside: in no format do they become markup, formulas or commands."""

import csv
import io
import json

import pytest
from msgspec.structs import replace

import tolcost
from tolcost.result.study import Located
from tolcost.result.view import FORMATS, written
from tolcost.show.tables import csv_cell, markdown_code, markdown_text

PAYLOADS = (
    "=HYPERLINK(1)", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "a|b", "`x`", "``", "[x](javascript:1)",
    "<script>alert(1)</script>", "\\input{/etc/passwd}", "$x$", "a & b", "50%", "#1", "x_y^z", "~", "{}",
    "\x1b[2J", "\u202eabc", "a\nb", "::error::x", "*bold*", "![](x)", 'a,b"c', "",
)  # fmt: skip


def hostile(name: str) -> Located:
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp)")
    return Located(replace(cost.study, name=name, file=name), cost.point)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_name_is_just_a_name(name: str) -> None:
    study = hostile(name)
    texts = {form: written([study], form) for form in FORMATS}
    for form, text in texts.items():
        assert "\x1b" not in text, form
        assert "\u202e" not in text, form
    assert json.loads(texts["json"])["programs"][0]["name"] == name
    rows = list(csv.reader(io.StringIO(texts["csv"])))
    assert len({len(row) for row in rows}) == 1
    assert not any(cell[:1] in ("=", "+", "@", "\t", "\r") for row in rows for cell in row)
    plain = written([hostile("plain")], "md")
    assert len(texts["md"].splitlines()) == len(plain.splitlines())
    assert "<script" not in texts["md"].replace("\\<", "")


def test_escapes() -> None:
    assert csv_cell("-n + 1") == "'-n + 1"
    assert csv_cell("-12") == "-12"
    assert markdown_text("<b>*x*</b>") == "\\<b\\>\\*x\\*\\</b\\>"
    assert markdown_code("a`b``c") == "``` a`b``c ```"
