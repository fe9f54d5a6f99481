"""The lock file: the same bytes for the same figures, and nothing in it can do harm."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.check.support import Project, lock_line
from tests.check.texts import SQUARE, SUM, SUM_OF_EXP
from tolcost.check.lockfile import MAX_BYTES, Lock, given_text, load_lock, read_lock, write_lock
from tolcost.check.records import (
    METRICS,
    STATUSES,
    Accepted,
    Comparison,
    CostRules,
    Domain,
    InputPart,
    LockedFigure,
    LockedInput,
    LockEntry,
    SymbolBounds,
    UsedDefinition,
)
from tolcost.diagnostics import Rejected, Source

HEAD = '["tolcost-lock", 3]\n["tool", "0.1.0"]\n["costs", "abc"]\n'

forms = st.text(min_size=1)
figures = st.builds(LockedFigure, st.sampled_from(STATUSES), forms)
inputs = st.builds(
    LockedInput, st.text(), st.tuples(st.builds(InputPart, st.text(), st.tuples(forms, forms)))
)
bounds = st.builds(SymbolBounds, st.text(), st.sampled_from(("length", "data")), forms, st.none() | forms)
demands = st.lists(
    st.builds(Comparison, forms, st.sampled_from((">=", "<=", "==", "!=")), forms), min_size=1, max_size=2
).map(tuple)
domains = st.builds(Domain, *(st.lists(each, max_size=2).map(tuple) for each in (inputs, bounds, demands)))
sources = st.sampled_from(("", "0" * 32))
USES = (UsedDefinition("lib/axes", "0" * 16), UsedDefinition("onnx/Relu", "f" * 16, True))
entries = st.builds(
    LockEntry,
    st.text(min_size=1, max_size=20),
    domains,
    st.dictionaries(st.sampled_from(METRICS), figures, min_size=1).map(lambda d: tuple(sorted(d.items()))),
    st.dictionaries(st.sampled_from(METRICS), st.builds(Accepted, st.text(), figures, domains, sources)).map(
        lambda d: tuple(sorted(d.items()))
    ),
    sources,
    st.none()
    | st.builds(
        CostRules,
        st.just("") | st.dictionaries(st.text(), st.text() | st.integers(), min_size=1).map(given_text),
        st.sampled_from(((), USES)),
        st.sampled_from(("abc", "def")),
    ),
)


@given(st.lists(entries, max_size=5))
@example(
    [LockEntry(name, figures=(("eops", LockedFigure("exact", "0")),)) for name in ("#a", "tool", "\udc80")]
)
def test_what_is_written_is_read_back(found: list[LockEntry]) -> None:
    lock = Lock({entry.name: entry for entry in found}, "0.1.0", "abc")
    text = write_lock(lock)
    again = read_lock(Source("tolcost.lock", text))
    assert dict(again.entries) == dict(lock.entries)
    assert write_lock(again) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=5,
)
words = st.sampled_from(("eops", "inputs", "bounds", "where", "source", "given", "uses", "costs", "rules"))
lines = st.tuples(words, st.lists(json_values | st.just("accepted"))).map(
    lambda said: json.dumps(["a.tol", said[0], *said[1]]) + "\n"
)


@given(st.text() | st.text().map(lambda text: HEAD + text) | lines.map(lambda line: HEAD + line))
def test_any_text_is_read_or_refused(text: str) -> None:
    codes = set()
    try:
        lock = replace(read_lock(Source("tolcost.lock", text)), tool="0.1.0", costs="abc")
        assert dict(read_lock(Source("tolcost.lock", write_lock(lock))).entries) == dict(lock.entries)
    except Rejected as rejected:
        codes = {d.code for d in rejected.diagnostics}
    assert codes <= {"T0702", "T0703", "T0704", "T0705"}


def refused(text: str) -> str:
    with pytest.raises(Rejected) as caught:
        read_lock(Source("tolcost.lock", text))
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    "text, code",
    [
        ('["a.tol", "eops", "exact", "n"]\n', "T0703"),
        ("", "T0703"),
        ("# only a comment\n", "T0703"),
        ('["tolcost-lock", 4]\n', "T0705"),
        ('["tolcost-lock", true]\n', "T0703"),
        ("tolcost-lock 2\n", "T0705"),
        (HEAD + "# no comment\n", "T0703"),
        (HEAD + '["a.tol", "eops", "exact"]\n', "T0703"),
        (HEAD + '["a.tol", "eops", "sure", "n"]\n', "T0703"),
        (HEAD + '["a.tol", "eops", "exact", 4]\n', "T0703"),
        (HEAD + '["a.tol", "eops", "exact", "n", "m"]\n', "T0703"),
        (HEAD + '["a.tol", "inputs", ["x", [["R", ["n"], "Z"]]]]\n', "T0703"),
        (HEAD + '["a.tol", "eops", "accepted", "exact", "n", "why", {"input": []}]\n', "T0703"),
        (HEAD + '["a.tol", "time", "exact", "n"]\n', "T0703"),
        (HEAD + 2 * '["a.tol", "eops", "exact", "n"]\n', "T0703"),
        (HEAD + 2 * '["a.tol", "inputs", ["x", [["R", ["n"]]]]]\n', "T0703"),
        (HEAD + 2 * '["a.tol", "uses", "lib/axes", "0123456789abcdef", "own"]\n', "T0703"),
        (HEAD + '["a.tol", "eops", "accepted", "exact", "n"]\n', "T0703"),
        (HEAD + "[" * 100_000 + "\n", "T0703"),
        (HEAD + '["a.tol", "given", {"a": ' + "9" * 5_000 + "}]\n", "T0703"),
        (HEAD + '<<<<<<< ours\n["a.tol", "eops", "exact", "n"]\n', "T0704"),
    ],
)
def test_lines_that_are_none(text: str, code: str) -> None:
    assert refused(text) == code


def test_several_mistakes_are_told_at_once_but_not_all() -> None:
    with pytest.raises(Rejected) as caught:
        read_lock(Source("tolcost.lock", HEAD + "nonsense\n" * 1000))
    assert len(caught.value.diagnostics) == 5


def test_updating_changes_only_what_changed(project: Project) -> None:
    project.locked(a=SUM, b=SUM, c=SQUARE)
    before = project.lock.splitlines()
    project.write(b=SUM_OF_EXP)
    project.check("--update")
    after = project.lock.splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed.pop()[1].startswith('["b.tol", "sealed", ')
    assert changed == [
        tuple(lock_line("b.tol", metric, "exact", form) for form in ("n", "2*n"))
        for metric in ("eops", "flops")
    ]


def test_updating_a_part_leaves_the_rest(project: Project) -> None:
    project.locked(a=SUM, b=SUM)
    project.write(a=SUM_OF_EXP, b=SUM_OF_EXP)
    project.check("--update a.tol")
    assert lock_line("a.tol", "eops", "exact", "2*n") in project.lock
    assert lock_line("b.tol", "eops", "exact", "n") in project.lock


def test_updating_twice_writes_once(project: Project) -> None:
    project.locked(a=SUM)
    before = (project.root / "tolcost.lock").stat().st_mtime_ns
    assert project.check("--update").code == 0
    assert (project.root / "tolcost.lock").stat().st_mtime_ns == before


def test_another_tool_is_told(project: Project) -> None:
    project.locked(a=SUM)
    project.file("tolcost.lock", project.lock.replace('"0.1.0"', '"0.0.9"'))
    said = project.check()
    assert (said.code, said.out.splitlines()[-1]) == (
        0,
        "note: tolcost.lock was written by tolcost 0.0.9, this is 0.1.0",
    )


# ---- hostile -------------------------------------------------------------------------------------

HOSTILE = {
    "deep": "(" * 100_000 + "n" + ")" * 100_000,
    "huge": "9" * 500_000,
    "powers": "9**9**9**9",
    "power": "(n + m + k + 1)**64*(a + b + c + d + e)**64",
    "code": "__import__('os').system('touch owned')",
    "lambda": "(lambda: open('owned', 'w'))()",
    "call": "exec(n)",
    "maxes": "Max(n, " * 40 + "0" + ")" * 40,
    "floors": "floor((" * 50 + "n + 1)/7)" + "/3)" * 49,
    "sums": "Sum(" * 20 + "i*j" + "".join(f", (i{n}, 1, 10**9))" for n in range(20)),
    "unfinished": "n +",
    "nothing": "()",
    "no character": "n + \ud800",
}


SENSIBLE = ("maxes", "floors", "sums")  # expressions after all, only strange ones


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_forms_are_refused_quickly(project: Project, name: str) -> None:
    project.locked(sum=SUM)
    line = lock_line("sum.tol", "eops", "exact", HOSTILE[name])
    project.file("tolcost.lock", project.lock.replace(lock_line("sum.tol", "eops", "exact", "n"), line))
    start = time.process_time()
    said = project.check()
    assert time.process_time() - start < 10
    if name not in SENSIBLE:
        assert (said.code, said.out) == (2, "")
        assert "T0706" in said.err
    assert "Traceback" not in said.err
    assert not (project.root / "owned").exists()


@pytest.mark.parametrize(
    "said",
    [
        ("inputs", ["x", [["R", ["(" * 9_999]]]]),
        ("inputs", ["x", [["R", ["n]; y R["]]]]),
        ("bounds", ["p", "length", "0", "9**9**9"]),
        ("bounds", ["p", "data", "", "n"]),
        ("where", [["n", ">=", "__import__('os')"]]),
        ("where", [["n", ">=", ""], ["n", "<=", "3"]]),
    ],
)
def test_hostile_domains_are_refused(project: Project, said: tuple[str, object]) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    line = lock_line("sum.tol", "inputs", ["x", [["R", ["n"]]]])
    assert line in project.lock
    project.file("tolcost.lock", project.lock.replace(line, lock_line("sum.tol", *said)))
    result = project.check()
    assert (result.code, "T0706" in result.err) == (2, True)


@pytest.mark.parametrize(
    "said",
    [
        ("inputs", ["\ud800", [["R", ["`\ud800`"]]]]),
        ("inputs", ["", [["", [""]]]]),
        ("inputs", ["x", [["R\n::error::", ["n"]]]], ["x", [["R", ["n"]]]]),
        ("bounds", ["", "data", None, None]),
        ("bounds", ["n", "data", None, "n"], ["n", "length", "n", "n"]),
        ("bounds", ["a b", "length", None, None], ["z", "length", "5", "2"]),
        ("where", [["`\ud800`", ">=", "3"]]),
        ("where", *([["n", ">=", str(least)]] for least in range(1_000))),
    ],
)
def test_strange_domains_are_compared_or_refused(project: Project, said: tuple[object, ...]) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    line = lock_line("sum.tol", "inputs", ["x", [["R", ["n"]]]])
    project.file("tolcost.lock", project.lock.replace(line, lock_line("sum.tol", *said)))
    result = project.check()
    assert result.code in (1, 2, 3)
    assert "Traceback" not in result.err


def test_an_older_format_is_written_anew(project: Project) -> None:
    project.locked(a=SUM, b=SUM)
    now = project.lock
    project.file("tolcost.lock", "# the costs\ntolcost-lock 2\ntool 0.1.0\n\na.tol eops exact n\n")
    said = project.check()
    assert said.err == (
        "error[T0705]: the lock file has format 2; this tolcost reads format 3\n"
        "  --> tolcost.lock:2:1\n"
        "   |\n"
        " 2 | tolcost-lock 2\n"
        "   | ^^^^^^^^^^^^^^\n"
        "   = hint: `tolcost check --update` computes every figure anew and writes it in this format\n"
    )
    assert (said.code, said.out) == (2, "")
    assert "T0705" in project.check("--update a.tol").err  # b.tol would be lost
    assert project.check("--update").code == 0
    assert project.lock == now


def test_a_huge_lock_is_refused_without_reading_it(project: Project) -> None:
    project.write(sum=SUM)
    with (project.root / "tolcost.lock").open("wb") as file:
        file.truncate(100 * 2**20)
    start = time.process_time()
    said = project.check()
    assert time.process_time() - start < 5
    assert said.code == 2
    assert said.err.startswith(f"error[T0702]: the lock file is larger than {MAX_BYTES >> 20} MiB\n")


def test_many_short_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tolcost.lock"
    path.write_text(HEAD + "\n" * 5_000_000)
    start = time.process_time()
    with pytest.raises(Rejected):
        load_lock(path)
    assert time.process_time() - start < 5


def test_a_line_that_is_too_long_is_refused_before_it_is_read() -> None:
    line = '["a.tol", "inputs"' + ", []" * 300_000 + "]\n"
    assert refused(HEAD + line) == "T0702"


def test_of_two_sides_of_a_conflict_the_last_stays() -> None:
    uses = [lock_line("a.tol", "uses", "lib/axes", digit * 16, "own") for digit in "01"]
    figures = [lock_line("a.tol", "eops", "exact", form) for form in ("n", "2*n")]
    both = [*uses[:1], *figures[:1], "=======", *uses[1:], *figures[1:]]
    text = HEAD + "\n".join(("<<<<<<< ours", *both, ">>>>>>> theirs")) + "\n"
    found = read_lock(Source("tolcost.lock", text), merging=True)
    again = read_lock(Source("tolcost.lock", write_lock(found)))
    assert again.entries == found.entries
    assert again.entries["a.tol"].figure("eops") == LockedFigure("exact", "2*n")
    assert again.entries["a.tol"].rules == CostRules(
        uses=(replace(USES[0], digest="1" * 16, own=True),), costs="abc"
    )


@pytest.mark.parametrize("data", [b"\xff\xfe", HEAD.encode() + b"\x80\n"])
def test_bytes_that_are_no_text(project: Project, data: bytes) -> None:
    project.write(sum=SUM)
    (project.root / "tolcost.lock").write_bytes(data)
    said = project.check()
    assert (said.code, "T0702" in said.err) == (2, True)


def test_a_lock_that_is_a_folder(project: Project) -> None:
    project.write(sum=SUM)
    (project.root / "tolcost.lock").mkdir()
    said = project.check()
    assert (said.code, "T0702" in said.err) == (2, True)
