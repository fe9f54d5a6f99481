"""Which tests run a line, and a few tests run on a changed copy of the project, in a warm process.

A process is forked for each run: the libraries that tolcost stands on are loaded, tolcost itself is not, so
what was changed is loaded as it is now.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from pathlib import Path

import hypothesis  # noqa: F401  (warm)
import numpy  # noqa: F401
import onnx  # noqa: F401
import pytest
import sympy  # noqa: F401
from coverage import Coverage

from tests.mutants.kept import KEPT, ROOT

PARTS = ("algebra", "cost", "check")
SUITES = (
    "tests/algebra", "tests/cost", "tests/check", "tests/elaborate", "tests/programs", "tests/result",
    "tests/cli", "tests/specs/test_expert_forms.py", *(f"tolcost/{part}" for part in PARTS),
)  # fmt: skip
MOST_TESTS = 400
"""So many of a suite are kept for a line, the fastest."""
MOST_SECONDS = 20.0
"""So long may the tests of one run take, together, on what is not changed."""
PATIENCE = 15.0
"""So many seconds more than ten times as long may a test take: then it does not end."""
MOST_MEMORY = 6 << 30


def copied(folder: str) -> Path:
    """A copy of the project in a folder."""
    leave = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "build", "__pycache__")
    return Path(shutil.copytree(ROOT, Path(folder) / "project", ignore=leave, symlinks=True))


def forked(project: Path, work: Callable[[int], int], patience: float) -> tuple[int | None, str]:
    """Work in a process of its own: the exit code, none where it took too long, and what it says."""
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(quiet, stream)
        os.chdir(project)
        os.environ["PYTHONPATH"] = str(project)
        sys.path = [str(project), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        code = 70
        try:
            code = work(say)
        finally:
            os._exit(code)
    os.close(say)
    ended, _, _ = select.select([os.pidfd_open(child)], [], [], patience)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with open(hear, "rb") as heard:
        said = heard.read().decode() if ended else ""
    return (None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)), said


# ---- which tests run a line --------------------------------------------------------------------


class Watch:
    """A plugin of pytest that notes which lines each test runs, nothing remembered from the one before."""

    def __init__(self, project: Path) -> None:
        self.coverage = Coverage(data_file=None, source=[str(project / "tolcost" / part) for part in PARTS])
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._caches: list[_lru_cache_wrapper[object]] = []
        self._modules = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        self._forget()
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        done = yield
        self.seconds[item.nodeid] = round(time.process_time() - start, 4)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def _forget(self) -> None:
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            ours = tuple(f"tolcost.{part}." for part in (*PARTS, "atoms"))
            found = (o for o in gc.get_objects() if isinstance(o, _lru_cache_wrapper))
            self._caches = [o for o in found if o.__module__.startswith(ours)]
        for cache in self._caches:
            cache.cache_clear()


def watch(project: Path, suite: str) -> str:
    """Run a suite, keep what was noted, and say how it went."""
    kept = _kept(suite)
    kept.parent.mkdir(parents=True, exist_ok=True)

    def work(_: int) -> int:
        plugin = Watch(project)
        plugin.coverage.start()
        code = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", suite], plugins=[plugin])
        plugin.coverage.stop()
        lines = _lines(plugin, project)
        kept.write_text(json.dumps({"seconds": plugin.seconds, "lines": lines}), "utf-8")
        return int(code)

    start = time.monotonic()
    code, _ = forked(project, work, patience=3600)
    tests = len(json.loads(kept.read_text("utf-8"))["seconds"])
    return f"{suite}: exit code {code}, {tests} tests, {time.monotonic() - start:.0f} s"


def _lines(plugin: Watch, project: Path) -> dict[str, dict[int, list[str]]]:
    """The fastest tests that pass by file and line; no name stands for what runs on loading."""
    data = plugin.coverage.get_data()
    speed = {"": 0.0, **plugin.seconds}
    passing = speed.keys() - plugin.failed
    return {
        Path(file).relative_to(project).as_posix(): {
            line: sorted(passing & set(tests), key=lambda test: speed[test])[:MOST_TESTS]
            for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }


def _kept(suite: str) -> Path:
    return KEPT / f"{suite.replace('/', '.')}.json"


@dataclass(frozen=True)
class Tests:
    """Tests with the seconds they take, by the lines that they run."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    @classmethod
    def read(cls) -> Tests:
        """What was noted of all suites."""
        seconds: dict[str, float] = {}
        lines: dict[str, dict[int, list[str]]] = {}
        for file in sorted(KEPT.glob("*.json")):
            noted = json.loads(file.read_text("utf-8"))
            seconds |= noted["seconds"]
            for file, ran in noted["lines"].items():
                for line, tests in ran.items():
                    lines.setdefault(file, {}).setdefault(int(line), []).extend(tests)
        return cls(seconds, lines)

    def running(self, file: str, places: Iterable[int]) -> list[str]:
        """The tests that run one of some lines, the fastest first; for what runs on loading, the file's."""
        ran = self.lines.get(file, {})
        found = {test for line in places for test in ran.get(line, ())}
        if found == {""}:
            found = {test for tests in ran.values() for test in tests}
        return sorted(found - {""}, key=lambda test: (self.seconds[test], test))

    def within(self, tests: Sequence[str], most: float) -> list[str]:
        """As many as take so many seconds together."""
        total, chosen = 0.0, []
        for test in tests:
            total += self.seconds[test]
            if total > most:
                break
            chosen.append(test)
        return chosen


# ---- a few tests on what was changed ---------------------------------------------------------------


class Chosen:
    """A plugin of pytest that runs some tests, in their order, and says which fails."""

    def __init__(self, tests: Sequence[str], seconds: dict[str, float], say: int) -> None:
        self.tests, self.seconds, self.say = tests, seconds, say

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.tests if test in found]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * self.seconds[item.nodeid])
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.say, f"{report.nodeid}\n".encode())


def failing(project: Path, tests: Sequence[str], seconds: dict[str, float]) -> str:
    """The first of some tests that fails in a project, or nothing."""
    if not tests:
        return ""

    def work(say: int) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        signal.setitimer(signal.ITIMER_PROF, 2 * PATIENCE)
        files = sorted({test.partition("::")[0] for test in tests})
        options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider")
        return int(pytest.main([*options, *files], plugins=[Chosen(tests, seconds, say)]))

    code, said = forked(project, work, patience=20 * (MOST_SECONDS + PATIENCE))
    if code is None:
        return "takes too long"
    return "" if code == 0 else said.partition("\n")[0] or "cannot be loaded"
