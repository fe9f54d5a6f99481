"""Writing a lock file that others may have written meanwhile, in every way that can happen."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from tolcost.check.gate import notes_on, write_merged
from tolcost.check.lockfile import LOCK_NAME, Lock, load_lock, write_lock
from tolcost.check.records import AgreedRules, CostRules, LockedFigure, LockEntry

STATES = (None, "n", "2*n")


def lock(form: str | None) -> Lock:
    """A lock file with one program beside another, or without it."""
    forms = {"a.tol": form, "other.tol": "m"}
    entries = {
        name: LockEntry(name, figures=(("eops", LockedFigure("exact", text)),), rules=CostRules(costs="abc"))
        for name, text in forms.items()
        if text is not None
    }
    seals = {name: f"{len(forms[name] or ''):032x}" for name in entries}
    return Lock(entries, "1", "abc", seals)


@pytest.mark.parametrize("read, now, new", [*product(STATES, repeat=3)])
def test_what_others_wrote_stays(read: str | None, now: str | None, new: str | None, tmp_path: Path) -> None:
    file = tmp_path / LOCK_NAME
    file.write_text(write_lock(lock(now)), encoding="utf-8")
    written: list[bytes] = []
    write_merged(tmp_path, lock(read), lock(new), lambda path, data: written.append(data))
    expected = write_lock(lock(new if now == read else now)).encode("utf-8")
    assert written == ([] if expected == file.read_bytes() else [expected])


@pytest.mark.parametrize("what", ["seals", "agreed"])
def test_what_others_wrote_besides_figures_stays(what: str, tmp_path: Path) -> None:
    """A text that changed at the same cost has another seal; each writer knows that of one program."""
    read = lock("n")

    value = "1" * 32 if what == "seals" else AgreedRules("why", "1" * 16)

    def with_new(name: str) -> Lock:
        return replace(read, **{what: {**getattr(read, what), name: value}})

    (tmp_path / LOCK_NAME).write_text(write_lock(read), encoding="utf-8")
    for name in read.entries:
        write_merged(tmp_path, read, with_new(name), lambda path, data: path.write_bytes(data) and None)
    found = load_lock(tmp_path / LOCK_NAME)
    assert found is not None
    assert getattr(found, what) == dict.fromkeys(read.entries, value)


def test_the_first_lock_file(tmp_path: Path) -> None:
    write_merged(tmp_path, None, lock("n"), lambda path, data: path.write_bytes(data) and None)
    assert load_lock(tmp_path / LOCK_NAME) == lock("n")


def test_a_conflict_is_settled_by_what_is_new(tmp_path: Path) -> None:
    text = write_lock(lock("n")).replace('["a.tol", "eops"', '<<<<<<< ours\n["a.tol", "eops"')
    (tmp_path / LOCK_NAME).write_text(text, encoding="utf-8")
    write_merged(tmp_path, lock("n"), lock("2*n"), lambda path, data: path.write_bytes(data) and None)
    assert load_lock(tmp_path / LOCK_NAME) == lock("2*n")


def test_who_wrote_it_is_told() -> None:
    assert list(notes_on(lock("n"), "1", "abc")) == []
    assert list(notes_on(lock("n"), "2", "def")) == [
        "tolcost.lock was written by tolcost 1, this is 2",
        "tolcost.lock was written with cost model abc, this is def",
    ]
    assert list(notes_on(Lock(), "2", "def")) == [
        "tolcost.lock was written by tolcost (unknown), this is 2",
        "tolcost.lock was written with cost model (unknown), this is def",
    ]
