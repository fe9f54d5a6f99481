"""Relational algebra in ToLang held to DuckDB and SQLite, on many random tables with duplicates.

All tables of one kind stand in one table of the engine, told apart by the number of the trial, so that an
engine answers for all trials in one query.  Our tables have at least one row; results may have none.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest

from tolcost.catalogue.listing import read_library
from tools.specs.library_programs import Array, ready

TRIALS = 100
COUNTED = 6
"""So many trials are held to the closed forms, too."""
SORTED = ("MergeJoin",)
ORDERED = ("OrderBy", "RadixOrderBy", "Limit")


def tables(seed: int, ordered: bool = False) -> list[Array]:
    """Tables of three columns, and of few different numbers; the first trials have one row."""
    draw = np.random.default_rng(seed)
    sizes = [1 if trial < 6 else int(draw.integers(1, 6)) for trial in range(TRIALS)]
    found = [draw.integers(1, 5 if n % 3 else 9, (size, 3)) for n, size in enumerate(sizes)]
    return [table[np.argsort(table[:, 0], kind="stable")] for table in found] if ordered else found


R, S = tables(1), tables(2)
S[7] = R[7]  # nothing is left of the one without the other
SORTED_R, SORTED_S = tables(3, ordered=True), tables(4, ordered=True)


def stored(trials: Sequence[Array]) -> list[tuple[int, ...]]:
    """Rows with the trial, and their place in it, in front."""
    return [(t, p, *map(int, row)) for t, table in enumerate(trials) for p, row in enumerate(table)]


def engines(**kinds: Sequence[Array]) -> Iterable[tuple[str, Callable[[str], list[Any]]]]:
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    for name, trials in kinds.items():
        rows = stored(trials)
        duck.execute(f"create table {name} (t int, p int, a int, b int, c int)")
        duck.execute(f"insert into {name} values " + ", ".join(map(str, rows)))
        lite.execute(f"create table {name} (t int, p int, a int, b int, c int)")
        lite.executemany(f"insert into {name} values (?, ?, ?, ?, ?)", rows)
    yield "duckdb", lambda query: duck.execute(query).fetchall()
    yield "sqlite", lambda query: lite.execute(query).fetchall()


ENGINES = dict(engines(r=R, s=S, rs=SORTED_R, ss=SORTED_S))
EMPTY_R = [table[:size] for table, size in zip(SORTED_R[50:], (0, 3, 0), strict=False)]
EMPTY_S = [table[:size] for table, size in zip(SORTED_S[50:], (3, 0, 0), strict=False)]
EMPTY_ENGINES = dict(engines(r=EMPTY_R, s=EMPTY_S, rs=EMPTY_R, ss=EMPTY_S))
COLUMNS = "r.t, r.a, r.b, r.c"
PAIR = f"{COLUMNS}, s.a, s.b, s.c"

QUERIES = {
    "Select": f"select {COLUMNS} from r where a < 3",
    "Project": "select t, c, a from r",
    "Rename": "select t, a as x, b as y, c as z from r",
    "Product": f"select {PAIR} from r, s where r.t = s.t",
    "UnionAll": "select t, a, b, c from r union all select t, a, b, c from s",
    "Union": "select t, a, b, c from r union select t, a, b, c from s",
    "Intersection": "select t, a, b, c from r intersect select t, a, b, c from s",
    "Difference": "select t, a, b, c from r except select t, a, b, c from s",
    "Distinct": "select distinct t, a, b, c from r",
    "ThetaJoin": f"select {PAIR} from r join s on r.t = s.t and r.a < s.a",
    "NestedLoopJoin": f"select {PAIR} from r join s on r.t = s.t and r.a = s.b",
    "HashJoin": f"select {PAIR} from r join s on r.t = s.t and r.a = s.b",
    "MergeJoin": "select r.t, r.a, r.b, r.c, s.a, s.b, s.c from rs r join ss s on r.t = s.t and r.a = s.a",
    "NaturalJoin": f"select {COLUMNS}, s.b, s.c from r join s on r.t = s.t and r.a = s.a",
    "SemiJoin": f"select {COLUMNS} from r where exists (select 1 from s where s.t = r.t and s.b = r.a)",
    "AntiJoin": f"select {COLUMNS} from r where not exists (select 1 from s where s.t = r.t and s.b = r.a)",
    "Division": "select distinct t, a from r where not exists (select 1 from s where s.t = r.t and s.p < 2 "
    "and not exists (select 1 from r q where q.t = r.t and q.a = r.a and q.b = s.a))",
    "GroupBy": "select t, a, count(*), sum(b), min(b), max(b) from r group by t, a",
    "HashGroupBy": "select t, a, count(*), sum(b), min(b), max(b) from r group by t, a",
    "OrderBy": "select t, a, b, c from r order by t, b, p",
    "RadixOrderBy": "select t, a, b, c from r order by t, b, p",
    "Limit": "select t, a, b, c from r where p < 3 order by t, p",
}

ATTRS: dict[str, dict[str, Any]] = {
    "Project": {"columns": [3, 1]},
    "NestedLoopJoin": {"l": 2},
    "HashJoin": {"l": 2, "b": 3},
    "SemiJoin": {"l": 2},
    "AntiJoin": {"l": 2},
    "HashGroupBy": {"b": 9},
    "OrderBy": {"k": 2},
    "RadixOrderBy": {"k": 2, "bits": 4},
    "Limit": {"k": 3},
}


def inputs(name: str, trial: int) -> dict[str, Array]:
    if name == "Division":
        return {"r": R[trial][:, :2], "s": S[trial][:2, 0]}
    if name in SORTED:
        return {"r": SORTED_R[trial], "s": SORTED_S[trial]}
    given = {"r": R[trial], "s": S[trial], "v": np.asarray(3)}
    return given


def answers(query: str, engine: Callable[[str], list[Any]]) -> dict[int, list[tuple[int, ...]]]:
    """What an engine says, by trial."""
    found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for trial, *row in engine(query):
        found[trial].append(tuple(map(int, row)))
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_an_operator_gives_what_the_engines_give(name: str) -> None:
    program = ready("relational", name, **ATTRS.get(name, {}))
    duck, lite = (answers(QUERIES[name], engine) for engine in ENGINES.values())
    put = list if name in ORDERED else sorted
    empty = 0
    assert TRIALS >= (read_library("relational").find(name).inputs or 0) >= 100
    for trial in range(TRIALS):
        found = program.result(inputs(name, trial), counted=trial < COUNTED)
        rows = put(tuple(map(int, np.atleast_1d(row))) for row in found)
        assert rows == put(duck[trial]) == put(lite[trial]), trial
        empty += not rows
    if name in ("Select", "Intersection", "Difference", "SemiJoin", "AntiJoin", "HashJoin", "Division"):
        assert empty, "no trial has an empty result"


@pytest.mark.parametrize("name", QUERIES)
def test_tables_without_rows(name: str) -> None:
    """The first has none, the second has none, both have none."""
    program = ready("relational", name, empty=True, **ATTRS.get(name, {}))
    duck, lite = (answers(QUERIES[name], engine) for engine in EMPTY_ENGINES.values())
    put = list if name in ORDERED else sorted
    for trial, (r, s) in enumerate(zip(EMPTY_R, EMPTY_S, strict=True)):
        division = name == "Division"
        given = {"r": r[:, :2] if division else r, "s": s[:2, 0] if division else s, "v": np.asarray(3)}
        found = program.result(given, counted=True)
        rows = put(tuple(map(int, np.atleast_1d(row))) for row in found)
        assert rows == put(duck[trial]) == put(lite[trial]), trial


def test_every_operator_is_tested() -> None:
    library = read_library("relational")
    assert {p.name for p in library.programs if "/" not in p.name} == set(QUERIES)


def test_joins_cost_what_they_look_at() -> None:
    """The three joins give the same rows, each at its own cost."""
    forms = {name: str(ready("relational", name).analysis.eops) for name in QUERIES if name.endswith("Join")}
    assert forms["NestedLoopJoin"] == "m*n"
    assert forms["MergeJoin"] == "14*m + 16*n"
    assert str(ready("relational", "HashJoin").analysis.eops) == "b + 2*m + n + z1"
