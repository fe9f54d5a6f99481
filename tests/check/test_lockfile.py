"""The lock file: the same bytes for the same figures, and nothing in it can do harm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.check.support import Project
from tests.check.texts import SQUARE, SUM, SUM_OF_EXP
from tolcost.check.lockfile import MAX_BYTES, Lock, load_lock, read_lock, write_lock
from tolcost.check.records import (
    METRICS,
    STATUSES,
    Accepted,
    CostRules,
    LockedFigure,
    LockEntry,
    UsedDefinition,
)
from tolcost.diagnostics import Rejected, Source

HEAD = "tolcost-lock 2\ntool 0.1.0\ncosts abc\n"

forms = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1).filter(
    lambda t: t == t.strip()
)
plain = forms.filter(lambda t: not any(c in t for c in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"))
figures = st.builds(LockedFigure, st.sampled_from(STATUSES), plain)
entries = st.builds(
    LockEntry,
    st.text(min_size=1, max_size=20),
    st.just("") | plain,
    st.just("") | plain,
    st.dictionaries(st.sampled_from(METRICS), figures, min_size=1).map(lambda d: tuple(sorted(d.items()))),
    st.dictionaries(st.sampled_from(METRICS), st.builds(Accepted, st.text(), figures)).map(
        lambda d: tuple(sorted(d.items()))
    ),
    rules=st.none()
    | st.builds(
        CostRules,
        st.just("") | plain.filter(lambda text: text != "?"),
        st.just(())
        | st.just((UsedDefinition("lib/axes", "0" * 16), UsedDefinition("onnx/Relu", "f" * 16, True))),
        st.sampled_from(("abc", "def")),
    ),
)


@given(st.lists(entries, max_size=5))
@example([LockEntry("#first.tol", "", "", (("eops", LockedFigure("exact", "0")),), ())])  # no comment
def test_what_is_written_is_read_back(found: list[LockEntry]) -> None:
    lock = Lock({entry.name: entry for entry in found}, "0.1.0", "abc")
    text = write_lock(lock)
    again = read_lock(Source("tolcost.lock", text))
    assert dict(again.entries) == dict(lock.entries)
    assert write_lock(again) == text


@given(st.text() | st.text().map(lambda text: HEAD + text))
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
        ("a.tol eops exact n\n", "T0703"),
        ("", "T0703"),
        ("# only a comment\n", "T0703"),
        ("tolcost-lock 3\n", "T0705"),
        ("tolcost-lock x\n", "T0703"),
        (HEAD + "a.tol eops exact\n", "T0703"),
        (HEAD + "a.tol eops sure n\n", "T0703"),
        (HEAD + "a.tol time exact n\n", "T0703"),
        (HEAD + "a.tol eops exact n\na.tol eops exact m\n", "T0703"),
        (HEAD + "a.tol inputs x R[n]\na.tol inputs x R[m]\n", "T0703"),
        (HEAD + 'a.tol eops accepted "why exact n\n', "T0703"),
        (HEAD + "<<<<<<< ours\na.tol eops exact n\n", "T0704"),
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
    assert changed.pop()[1].startswith("b.tol sealed ")
    assert changed == [
        ("b.tol eops exact n", "b.tol eops exact 2*n"),
        ("b.tol flops exact n", "b.tol flops exact 2*n"),
    ]


def test_updating_a_part_leaves_the_rest(project: Project) -> None:
    project.locked(a=SUM, b=SUM)
    project.write(a=SUM_OF_EXP, b=SUM_OF_EXP)
    project.check("--update a.tol")
    assert "a.tol eops exact 2*n\n" in project.lock
    assert "b.tol eops exact n\n" in project.lock


def test_updating_twice_writes_once(project: Project) -> None:
    project.locked(a=SUM)
    before = (project.root / "tolcost.lock").stat().st_mtime_ns
    assert project.check("--update").code == 0
    assert (project.root / "tolcost.lock").stat().st_mtime_ns == before


def test_another_tool_is_told(project: Project) -> None:
    project.locked(a=SUM)
    project.file("tolcost.lock", project.lock.replace("tool 0.1.0", "tool 0.0.9"))
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
}


SENSIBLE = ("maxes", "floors", "sums")  # expressions after all, only strange ones


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_forms_are_refused_quickly(project: Project, name: str) -> None:
    project.locked(sum=SUM)
    project.file("tolcost.lock", project.lock.replace("eops exact n", f"eops exact {HOSTILE[name]}"))
    start = time.process_time()
    said = project.check()
    assert time.process_time() - start < 10
    if name not in SENSIBLE:
        assert (said.code, said.out) == (2, "")
        assert "T0706" in said.err
    assert "Traceback" not in said.err
    assert not (project.root / "owned").exists()


@pytest.mark.parametrize("line", ["inputs", "where"])
@pytest.mark.parametrize(
    "text", ["x R[" + "(" * 9_999, "p in 0..9**9**9", "__import__('os')", "x [[[", "n >= "]
)
def test_hostile_domains_are_refused(project: Project, line: str, text: str) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    project.file("tolcost.lock", project.lock.replace("sum.tol inputs x R[n]", f"sum.tol {line} {text}"))
    said = project.check()
    assert (said.code, "T0706" in said.err) == (2, True)


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


@pytest.mark.parametrize("data", [b"\xff\xfe", b"tolcost-lock 1\n\x80\n"])
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
