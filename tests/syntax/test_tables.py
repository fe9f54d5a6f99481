"""The stored parse table belongs to the grammar, and Lark reads the same statements by it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import LarkError

from tolcost.diagnostics import InternalError, Rejected, Source
from tolcost.syntax import parse
from tolcost.syntax.grammar import GRAMMAR, STORED, encode, fingerprint

ROOT = Path(__file__).parents[2]
GRAMMAR_TEXT = GRAMMAR.read_text("utf-8")


def test_the_stored_table_is_up_to_date() -> None:
    assert json.loads(STORED.read_text("utf-8")) == encode(GRAMMAR_TEXT)


def test_a_conflict_is_an_error() -> None:
    with pytest.raises(InternalError, match="LALR"):
        encode('statement: a | b "x"\na: "y" -> a | "y" "x" -> c\nb: "y" -> b\n')


def test_another_grammar_is_noticed() -> None:
    assert fingerprint(GRAMMAR_TEXT) != fingerprint(GRAMMAR_TEXT + "\n")


STATEMENTS = [
    "y := map(x, mul(*, b[*, j]), [i, *o])",
    "f(i, j) = (a, e) => a + e * |x|[1] - ||x|| / |x|'",
    "y = { s = 1; f(x) = x; s }",
    "tol xs...: R* [n, ...]",
    "attr x?: Z [2*r] = [1, -2]",
    "y = reduce(v, and, not(x)) == 3 and not a",
    "y = f.g.h(part'(x, 1), axis: 1..n)[2]'",
    "space pixel: N [0, 255]",
    "list p: [R, R], B",
    "y = [*i + 1]",
    "y = a b",
    "y = |a",
    "tol x",
    "y = f(a=1)",
    "y = and b",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_lark_agrees(text: str) -> None:
    grammar = GRAMMAR_TEXT + "\n%ignore /[ \\t\\n]+/"
    lark = Lark(grammar, parser="lalr", lexer="contextual", start="statement")
    assert _accepts(lark.parse, text) == _accepts(lambda t: parse(Source("t", t)), text)


def _accepts(reader: object, text: str) -> bool:
    try:
        reader(text)  # type: ignore[operator]
    except (LarkError, Rejected):
        return False
    return True


def test_reading_a_program_does_not_load_lark() -> None:
    code = """
import sys
from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program
format_program(parse(Source('t', 'x = 1')))
sys.exit('lark' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
