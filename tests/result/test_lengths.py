"""Which lengths of two costs are one, as ``diff`` and the gate both ask it."""

from __future__ import annotations

import pytest

from tests.check import notation
from tolcost.check.matching import shaped_inputs
from tolcost.result.lengths import MatchedLengths, match_lengths, pairs_by_name, pairs_by_place

CASES = {
    "another name": ("x R[n, 4]", "y R[k, 4]", "n = k"),
    "one length of two axes becomes two": ("x R[n, n]", "x R[a, b]", "n = a; told n = b"),
    "and rather the one that keeps its name": ("x R[n, n]", "x R[a, n]", "n = n; told n = a"),
    "by the names of inputs": ("x R[n]; y R[m]", "y R[a]; x R[b]", "n = b; m = a"),
    "by place, where names are others": ("x R[n]; y R[m]", "z R[a]; y R[b]", "m = b; n = a"),
    "a form tells a length": ("x R[2*h]", "x R[n]", "open 2*h = n"),
    "and again says nothing": ("x R[2*h]; y R[2*h]", "x R[n]; y R[n]", "open 2*h = n"),
    "and of one that is told, binds": ("x R[2*h]; y R[3*h]", "x R[n]; y R[n]", "open 2*h = n; binds 3*h = n"),
    "a number that is another": ("x R[4]", "x R[5]", "binds 4 = 5"),
    "a length that became a number": ("x R[n]; y R[n]", "x R[4]; y R[4]", "n = 4"),
    "that a number binds": ("x R[n]; y R[n + 1]", "x R[m]; y R[4]", "n = m; binds n + 1 = 4"),
    "another rank": ("x R[n]", "x R[n, m]", ""),
    "a list": ("x R[n] & R[m]", "x R[a] & R[b, c]", "n = a"),
}


def said(found: MatchedLengths) -> str:
    equations = [("told", one) for one in found.telling] + [("open", one) for one in found.open]
    equations += [("binds", one) for _, one in found.binding]
    lengths = [f"{symbol} = {form}" for symbol, form in found.symbols.items()]
    return "; ".join((*lengths, *(f"{word} {one.old} = {one.new}" for word, one in equations)))


@pytest.mark.parametrize("title", CASES)
def test_what_lengths_are(title: str) -> None:
    old, new, expected = CASES[title]
    was, now = (shaped_inputs(notation.entry("p", inputs), {}) for inputs in (old, new))
    assert said(match_lengths(pairs_by_name(was, now))) == expected


def test_inputs_that_changed_places() -> None:
    was, now = (shaped_inputs(notation.entry("p", text), {}) for text in ("x R[n]; y R[m]", "y R[a]; x R[b]"))
    assert said(match_lengths(pairs_by_place(was, now))) == "n = a; m = b"
