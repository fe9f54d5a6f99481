"""Fleets: which models, rows that survive what happens to processes, and tables of the same bytes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import duckdb
import jsonschema
import pytest
from msgspec import to_builtins
from onnx import TensorProto, helper, save
from pyarrow import parquet as arrow

from tolcost.apps.fleet.engines import Note, on_dask, on_this_machine, studied
from tolcost.apps.fleet.journal import COLUMNS, parquet, row_of
from tolcost.apps.fleet.sources import is_fleet, models_at
from tolcost.apps.fleet.table import Summary
from tolcost.apps.fleet.task import Task
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.result.model import Wanted
from tools.fleet.models import exported, poison, with_lengths

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "fleet.json").read_text("utf-8"))


def silent(done: int, of: int, name: str) -> None:
    """Tell nobody."""


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four models of one node, each of another length, in a folder inside of a folder."""
    folder = tmp_path / "zoo" / "small"
    folder.mkdir(parents=True)
    for n in range(1, 5):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", n]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / f"m{n}.onnx")
    monkeypatch.chdir(tmp_path)
    return folder


def forms(found: Sequence[Summary]) -> list[str]:
    return [row.totals.get("eops") or row.problem for row in found]


# ---- which models ----------------------------------------------------------------------------


def test_folders_patterns_lists_and_addresses_mean_models(fleet: Path) -> None:
    every = tuple(f"zoo/small/m{n}.onnx" for n in range(1, 5))
    Path("list.txt").write_text("# some\nzoo/small/m3.onnx # the third\n\nzoo/small/m[12].onnx\n")
    assert models_at(["zoo"]) == every
    assert models_at(["zoo/*/*.onnx", "zoo/small/m1.onnx"]) == every
    assert models_at(["@list.txt"]) == (every[2], every[0], every[1])
    assert models_at([f"file://{fleet}/m[12].onnx"]) == tuple(f"file://{fleet}/m{n}.onnx" for n in (1, 2))
    assert models_at([f"file://{fleet.parent}"]) == tuple(f"file://{fleet}/m{n}.onnx" for n in range(1, 5))
    assert [is_fleet((one,)) for one in ("zoo", "zoo/small/m1.onnx", "zoo/small/m1*", "zoo/small/m*")] == [
        True, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("where", ["empty/*.onnx", "@nowhere.txt", "nosuch://zoo/*.onnx"])
def test_where_no_models_are_is_told(where: str, fleet: Path) -> None:
    with pytest.raises(Rejected, match="T0671"):
        models_at([where])


def test_a_list_in_a_list_is_told_and_not_left_out(fleet: Path) -> None:
    Path("list.txt").write_text("zoo/small/m3.onnx\n@other.txt\n")
    with pytest.raises(Rejected, match=r"the list `list\.txt` names another one, `@other\.txt`"):
        models_at(["@list.txt"])


def test_of_a_model_that_cannot_be_read_no_nodes_are_told(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet / "none.onnx").write_bytes(b"nothing")
    files = [f"zoo/small/{name}.onnx" for name in ("m1", "none")]
    assert run(["fleet", *files, "--format", "csv"]) == 2
    lines = capsys.readouterr().out.splitlines()
    columns = lines[0].count(",")
    assert f"zoo/small/none.onnx{',' * columns}T0673" in "\n".join(lines)


def test_a_model_at_an_address_is_called_by_it(fleet: Path) -> None:
    (fleet / "none.onnx").write_bytes(b"nothing")
    sources = [f"file://{fleet}/{name}.onnx" for name in ("m2", "none")]
    found = [Task().summary(source) for source in sources]
    assert [row.file for row in found] == sources
    assert found[0].totals["eops"] == "2*batch"
    assert sources[1] in found[1].problem


# ---- what happens to processes ---------------------------------------------------------------


def test_poison_is_a_row_and_costs_no_other(fleet: Path) -> None:
    poison(fleet)
    sources = models_at(["zoo"])
    task = Task(seconds=2.0, memory=1 << 28)
    found = dict(zip(sources, studied(task, sources, on_this_machine(2), silent), strict=True))
    problems = {Path(name).stem: row.problem for name, row in found.items() if row.problem}
    assert problems.keys() == {"broken", "hangs", "huge"}
    assert problems["hangs"] == "took longer than 2 s"
    assert problems["huge"].startswith("too large: MemoryError")
    assert forms(list(found.values()))[-4:] == ["batch", "2*batch", "3*batch", "4*batch"]


class Dying(Task):
    """A task whose process is killed at one model: the first time, or always."""

    def summary(self, source: str) -> Summary:
        """Die, or do what is to be done."""
        first = Path("died")
        if source.endswith("m2.onnx") and not first.exists():
            first.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if source.endswith("m3.onnx"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().summary(source)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_worker_costs_nothing_and_a_killer_one_row(jobs: int, fleet: Path) -> None:
    found = studied(Dying(), models_at(["zoo"]), on_this_machine(jobs), silent)
    assert forms(found) == ["batch", "2*batch", "the process that ran it died", "4*batch"]


def test_workers_end_with_whoever_started_them(fleet: Path) -> None:
    parent = os.fork()
    if not parent:  # pragma: no cover
        on_this_machine(2)(Waiting(), models_at(["zoo"]), lambda row: None)
        os._exit(0)
    while len(list(Path().glob("at-*"))) < 2:
        time.sleep(0.01)
    workers = [int(path.name.removeprefix("at-")) for path in Path().glob("at-*")]
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    Path("go").touch()
    end = time.monotonic() + 20
    while any(Path(f"/proc/{worker}/exe").exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.01)


class Waiting(Task):
    """A task that says where it is done, and waits."""

    def summary(self, source: str) -> Summary:
        """Wait until it may go on."""
        Path(f"at-{os.getpid()}").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        return super().summary(source)


# ---- beginning again -------------------------------------------------------------------------


def counting(asked: list[str], most: int) -> Callable[[Task, Sequence[str], Note], None]:
    """An engine that notes what it is asked for, and breaks off after some."""

    def engine(task: Task, sources: Sequence[str], note: Note) -> None:
        for n, source in enumerate(sources):
            if n == most:
                raise KeyboardInterrupt
            asked.append(Path(source).stem)
            note(task.summary(source))

    return engine


def test_a_fleet_goes_on_where_it_was_killed(fleet: Path) -> None:
    sources, journal, asked = models_at(["zoo"]), Path("journal"), []
    with pytest.raises(KeyboardInterrupt):
        studied(Task(), sources, counting(asked, 3), silent, journal)
    journal.write_bytes(journal.read_bytes()[:-5])  # the last row was being written
    os.utime(fleet / "m1.onnx", ns=(1, 1))  # this model is another one now
    found = studied(Task(), sources, counting(asked, 9), silent, journal)
    assert asked == ["m1", "m2", "m3", "m1", "m3", "m4"]
    assert found == studied(Task(), sources, counting(asked, 9), silent)


@pytest.mark.parametrize("damage", [b"no row", b"0\t{}", b"0\t[1]", b"\xff\t\xff", b'0\t{"file": 1}'])
def test_a_row_that_cannot_be_read_is_made_again(damage: bytes, fleet: Path) -> None:
    sources, journal, asked = models_at(["zoo"]), Path("journal"), []
    first = studied(Task(), sources, counting([], 9), silent, journal)
    head, _, *others = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([head, damage + b"\n", *others]))
    assert studied(Task(), sources, counting(asked, 9), silent, journal) == first
    assert len(asked) == 1


def test_rows_of_other_options_are_not_mixed(fleet: Path) -> None:
    sources, journal = models_at(["zoo"]), Path("journal")
    studied(Task(), sources, counting([], 9), silent, journal)
    with pytest.raises(Rejected, match="T0698"):
        studied(Task(Wanted({"batch": 3})), sources, counting([], 9), silent, journal)


# ---- tables ----------------------------------------------------------------------------------


def test_a_table_is_sorted_and_the_same_bytes_and_can_be_asked(fleet: Path) -> None:
    (fleet / "none.onnx").write_bytes(b"nothing")
    command = ["fleet", "zoo", "--dim", "batch=7", "--format", "parquet", "--jobs", "1", "-o"]
    assert run([*command, "a.parquet"]) == 2
    assert not Path("a.parquet.journal").exists()
    task = Task(Wanted({"batch": 7}))
    again = [task.summary(source) for source in reversed(models_at(["zoo"]))]
    assert Path("a.parquet").read_bytes() == parquet(again)
    assert arrow.read_schema("a.parquet").names == list(COLUMNS)
    asked = duckdb.sql("select sum(eops_at), count(problem), min(file) from 'a.parquet'").fetchall()
    assert asked == [(70, 1, "zoo/small/m1.onnx")]


def test_rows_keep_to_their_schema_and_long_numbers_are_forms(fleet: Path) -> None:
    found = [*(Task().summary(source) for source in models_at(["zoo"])), Summary("x", problem="none")]
    found += [Summary("y", totals={"eops": str(10**40)}, numbers={"eops": 10**40, "macs": 10**37})]
    for row in arrow.read_table(BytesIO(parquet(found))).to_pylist():
        numbers = {name: value and int(value) for name in ("eops_at", "macs_at") for value in [row[name]]}
        jsonschema.validate(row | numbers, SCHEMA)
    assert row_of(found[-1])["eops_at"] is None
    assert row_of(found[-1])["macs_at"] == 10**37


@pytest.mark.parametrize(
    "arguments, package",
    [
        (["zoo", "--format", "parquet", "-o", "t.parquet"], "pyarrow"),
        (["zoo", "--engine", "dask"], "distributed"),
        (["memory://zoo/*.onnx"], "fsspec"),
    ],
    ids=["parquet", "dask", "address"],
)
def test_what_has_to_be_installed_is_told(
    arguments: list[str], package: str, fleet: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, package, None)
    assert run(["fleet", *arguments]) == 2
    told = capsys.readouterr().err
    assert "T0006" in told
    assert "pip install 'tolcost[" in told


# ---- dask --------------------------------------------------------------------------------------


def test_dask_gives_the_same_rows(fleet: Path) -> None:
    """In one worker; ``python -m tools.fleet.campaign`` has several, and kills one."""
    import distributed

    save(with_lengths(dict(exported())["bounded"], 5), fleet / "bounded.onnx")
    sources = models_at(["zoo/*/b*.onnx", "zoo/small/m1.onnx"])
    here = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **here) as cluster:
        found = studied(Task(), sources, on_dask(cluster.scheduler_address), silent)
    assert [to_builtins(row) for row in found] == [to_builtins(Task().summary(source)) for source in sources]
