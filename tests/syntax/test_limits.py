"""Input that is too much, or no text at all: one clear diagnostic, soon, and no traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tolcost import platform
from tolcost.diagnostics import Rejected, Source, render
from tolcost.syntax import parse, read_source, resolve
from tolcost.syntax.format import format_program
from tolcost.syntax.tree import MAX_BYTES, MAX_DEPTH, MAX_ERRORS, MAX_NAME_ERRORS

MANY = 100_000
FEWER = 4_000
"""Where each costs time, before the limit is noticed."""
LEVELS = 3_000
"""Of recursion, which is less than one for each."""
SECONDS = 5
"""Of processor time, which is far more than needed: what is not linear takes minutes."""


def rejected(text: str) -> str:
    """The code of the only diagnostic."""
    start = time.process_time()
    with pytest.raises(Rejected) as caught:
        parse(Source("big.tol", text))
    (diagnostic,) = caught.value.diagnostics
    assert len(render(diagnostic)) < 2000
    assert time.process_time() - start < SECONDS
    return diagnostic.code


@pytest.mark.parametrize(
    "text",
    [
        "(" * MANY + "x" + ")" * MANY,
        "[" * MANY,
        "{" * MANY,
        "|" * MANY,
        "f(" * MANY,
        "-" * FEWER + "x",
        "not " * FEWER + "x",
        "x" + "[1]" * FEWER,
        "x" + "()" * FEWER,
        "x" + "[1]'" * FEWER,
        "x" + "^x" * FEWER,
        "(a) => " * FEWER + "a",
        "(1, -" * (MAX_DEPTH // 2 + 5) + "x" + ")" * (MAX_DEPTH // 2 + 5),
    ],
    ids=lambda text: text[:6],
)
def test_deep_nesting(text: str) -> None:
    assert rejected(f"y = {text}") == "T0511"


@pytest.mark.parametrize(
    "text, code",
    [
        ("y = f(" + "a,\n" * FEWER, "T0102"),
        ("y = {" + "a = 1\n" * FEWER, "T0102"),
        ('y = "' + "a" * 1_000_000, "T0120"),
        ("y = " + "1" * 1_000_000, "T0513"),
        ("y = 1\0", "T0003"),
        ("y = 1 # \u202e", "T0005"),
        ("#" * (MAX_BYTES + 1), "T0512"),
    ],
    ids=["bracket", "brace", "text", "digits", "NUL", "direction", "size"],
)
def test_too_much_or_not_text(text: str, code: str) -> None:
    assert rejected(text) == code


def test_as_deep_as_allowed() -> None:
    depth = MAX_DEPTH - 2
    program = parse(Source("platform.tol", "y = " + "f(" * depth + "1" + ")" * depth))
    assert parse(Source("again.tol", format_program(program))) == program
    assert [d.code for d in resolve(program)] == ["T0201"]


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["x"] * FEWER),
        ".".join(["f"] * FEWER),
        "[" + ", ".join(["x"] * FEWER) + "]",
        "{" + "\n".join(f"x{k} = 1" for k in range(FEWER)) + "\n3 }",
        "f(\n" + "# c\n" * FEWER + "x)",
        "a" * 1_000_000,
    ],
    ids=["sum", "composition", "list", "block", "comments", "name"],
)
def test_wide_programs_are_fine(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "RECURSION", LEVELS)
    start = time.process_time()
    program = parse(Source("wide.tol", f"y = {text}"))
    resolve(program)
    assert parse(Source("again.tol", format_program(program))) == program
    assert time.process_time() - start < SECONDS


def test_many_statements() -> None:
    lines = ["x0 = 1", *(f"x{k} = x{k - 1} + 1" for k in range(1, FEWER))]
    assert resolve(parse(Source("long.tol", "\n".join(reversed(lines))))) == ()
    lines[0] = f"x0 = x{FEWER - 1}"
    (cycle,) = resolve(parse(Source("long.tol", "\n".join(lines))))
    assert cycle.code == "T0204"
    assert len(render(cycle)) < 2000


def test_many_mistakes() -> None:
    with pytest.raises(Rejected) as caught:
        parse(Source("bad.tol", "a = b c\n" * MANY))
    assert len(caught.value.diagnostics) == MAX_ERRORS
    unknown = ", ".join(f"q{k}" for k in range(MANY // 10))
    assert len(resolve(parse(Source("bad.tol", f"y = [{unknown}]")))) == MAX_NAME_ERRORS


# ---- files


def unreadable(path: Path) -> str:
    with pytest.raises(Rejected) as caught:
        read_source(path)
    (diagnostic,) = caught.value.diagnostics
    assert render(diagnostic)
    return f"{diagnostic.code} {diagnostic.message}"


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    file = tmp_path / "p.tol"
    assert unreadable(file) == "T0001 cannot read the file: no such file or directory"
    assert unreadable(tmp_path) == "T0001 cannot read the file: is a directory"
    assert unreadable(Path("a\0b")) == "T0001 cannot read the file: the name cannot be used"
    file.write_bytes(b"x = 1\n\xff\xfe")
    assert unreadable(file) == "T0002 the byte 0xff at offset 6 is not UTF-8"
    file.write_bytes(b"\x08\x07\x00\x01")
    assert unreadable(file) == "T0003 a NUL byte at offset 2: this is not a text file"
    file.write_bytes(b"\n" * (50 * 1024 * 1024))
    assert unreadable(file) == f"T0512 the program is larger than {MAX_BYTES // 2**20} MiB"


def test_reading_keeps_the_text(tmp_path: Path) -> None:
    file = tmp_path / "p.tol"
    file.write_bytes("\ufeffgröße = 1\r\n".encode())
    source = read_source(file)
    assert source.name == str(file)
    assert source.text == "\ufeffgröße = 1\r\n"
    assert len(parse(source).statements) == 1


@pytest.mark.parametrize("sign", ["<", "=="])
def test_a_statement_has_as_many_mistakes_as_a_program(sign: str) -> None:
    """A comparison that was chained 5,000 times printed 1.7 MB."""
    with pytest.raises(Rejected) as caught:
        parse(Source("chained.tol", "y := " + f" {sign} ".join("x" * 5000)))
    assert len(caught.value.diagnostics) == MAX_ERRORS
