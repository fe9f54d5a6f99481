"""What the editor's parts say, without any protocol."""

from pathlib import Path

import pytest

import tolcost
from tests.syntax import cases
from tolcost.algebra import total_of
from tolcost.apps.editor.features import fixed, words
from tolcost.apps.editor.lexer import shown
from tolcost.apps.editor.reading import line_costs, read
from tolcost.apps.editor.server import EditorPlace, line_end, offset_at, place_at
from tolcost.diagnostics import Diagnostic, Rejected, Source
from tolcost.platform import read_spec, spec_names
from tolcost.spaces import SPACES
from tolcost.syntax import parse, read_source, resolve
from tolcost.syntax.names import BUILTINS, CONSTANTS, unused

BROKEN = cases.read("diagnostics")


def told(source: Source) -> tuple[Diagnostic, ...]:
    try:
        return resolve(parse(source))
    except Rejected as rejected:
        return rejected.diagnostics


def test_every_word_of_the_language_is_explained() -> None:
    assert words().keys() >= {*BUILTINS, *CONSTANTS, *SPACES}
    called = {entry.word for entry in words().values() if entry.kind in ("primitives", "functions")}
    assert called == BUILTINS.keys()


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_fix_removes_its_diagnostic(case: cases.Case) -> None:
    """Whatever else is wrong: there are fewer of that kind, or what is left lies further on."""
    before = told(Source("case.tol", case.program))
    for diagnostic in before:
        if diagnostic.fix is None:
            continue
        left = told(Source("case.tol", fixed(case.program, diagnostic.fix)))
        same = [d for d in left if (d.code, d.message) == (diagnostic.code, diagnostic.message)]
        assert not any(d.span.start == diagnostic.span.start for d in same)


def test_many_of_the_mistakes_have_a_fix() -> None:
    found = [d for case in BROKEN for d in told(Source("case.tol", case.program))]
    codes = {d.code for d in found if d.fix is not None}
    assert codes >= {
        "T0102",
        "T0103",
        "T0120",
        "T0123",
        "T0128",
        "T0129",
        "T0131",
        "T0132",
        "T0133",
        "T0201",
        "T0202",
        "T0205",
    }


@pytest.mark.parametrize("name", spec_names("examples"))
def test_the_lines_add_up(name: str) -> None:
    reading = read(read_spec("examples", name))
    assert reading.analysis is not None
    assert total_of(one.eops for one in line_costs(reading)) == reading.analysis.eops


def test_columns_are_counted_in_the_units_of_the_editor() -> None:
    text = "α𝛼b\r\nc\rd\n"
    for offset in (0, 1, 2, 3, 5, 6, 7, 8, 9):
        for encoding in ("utf-8", "utf-16", "utf-32"):
            assert offset_at(text, place_at(text, offset, encoding), encoding) == offset
    assert place_at(text, 3, "utf-8") == EditorPlace(0, 7)
    assert place_at(text, 7) == EditorPlace(2, 0)
    assert [line_end(text, line) for line in range(4)] == [3, 6, 8, 9]


@pytest.mark.parametrize("name", spec_names("examples"))
def test_colours_leave_the_text_as_it_is(name: str) -> None:
    text = read_spec("examples", name).text
    pieces = list(shown(text))
    assert "".join(piece for _, piece in pieces) == text
    assert {"Keyword.Declaration", "Keyword.Type", "Name.Builtin", "Operator"} <= {kind for kind, _ in pieces}
    assert not [piece for kind, piece in pieces if kind == "Text"]


def test_a_definition_that_nothing_uses_is_told_everywhere(tmp_path: Path) -> None:
    """By the editor, the command and the API alike."""
    file = tmp_path / "p.tol"
    file.write_text("tol w: R [m]\ntol x: R [n]\nk = map(x, exp)\ny := map(x, log)\n", "utf-8")
    codes = [one.code for one in read(read_source(file)).diagnostics]
    assert codes == ["T0221", "T0218"] == [one.code for one in tolcost.analyze(file).warnings]


@pytest.mark.parametrize(
    "text, warned",
    [
        ("tol x: R [n]\ntol w: R [n]\ny := map(x, exp)\n", ["w"]),
        ("tol x: R [n]\ntol w: R [k]\ny := map(tol[k], x[1] * 2, [i])\n", []),  # of w the length is used
        ("tol w: R [n]\ntol x: R [n]\ny := map(x, exp)\n", ["w"]),
        ("tol w: R [n]\ntol x: R [2 * n]\ny := map(x, exp)\n", []),
        ("tol x: R [n]\ntol _w: R [k]\ny := map(x, exp)\n", []),
        ("operator Case\ntol x: R [n]\ntol w: R [k]\ny := map(x, exp)\n", []),  # its signature is given
        ("tol x: R [n]\nattr p: Z = 1\ny := map(x, exp)\n", ["p"]),
    ],
)
def test_an_input_that_nothing_uses(text: str, warned: list[str]) -> None:
    assert [one.span.text for one in unused(parse(Source("case.tol", text)))] == warned
