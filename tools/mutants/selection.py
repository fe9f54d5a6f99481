"""Which tests run a line, and a few tests run on a changed copy of the project, in a warm process.

A process is forked for each run: the libraries that tolcost stands on are loaded, tolcost itself is not, so
what was changed is loaded as it is now.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType

import hypothesis  # noqa: F401  (warm)
import numpy  # noqa: F401
import onnx  # noqa: F401
import pytest
import sympy  # noqa: F401
from coverage import Coverage
from msgspec import Struct

from tools.mutants.kept import KEPT, PARTS, ROOT

SUITES = (
    "tests/algebra", "tests/cost", "tests/check", "tests/elaborate", "tests/programs", "tests/result",
    "tests/cli", "tests/specs/test_expert_forms.py", *(f"tolcost/{part}" for part in PARTS),
)  # fmt: skip
MOST_TESTS = 400
"""So many of a suite are kept for a line."""
MOST_SECONDS = 12.0
"""So long may the tests of one run take, together, on what is not changed."""
PATIENCE = 15.0
"""So many seconds more than ten times as long may a test take: then it does not end."""
MOST_MEMORY = 6 << 30


def copied(folder: str) -> Path:
    """A copy of the project in a folder."""
    leave = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "build", "__pycache__")
    return Path(shutil.copytree(ROOT, Path(folder) / "project", ignore=leave, symlinks=True))


def _child(project: Path, work: Callable[[int], int]) -> tuple[int, int]:
    """A process that does some work in a project: its number, and where to hear what it says."""
    hear, say = os.pipe()
    child = os.fork()
    if child:
        os.close(say)
        return child, hear
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(quiet, stream)
    os.chdir(project)
    os.environ["PYTHONPATH"] = str(project)
    if str(project) not in sys.path:
        sys.path = [str(project), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
    code = 70
    try:
        code = work(say)
    finally:
        os._exit(code)


def forked(project: Path, work: Callable[[int], int], patience: float) -> tuple[int | None, str]:
    """Work in a process of its own: the exit code, none where it took too long, and what it says."""
    child, hear = _child(project, work)
    ended, _, _ = select.select([watched := os.pidfd_open(child)], [], [], patience)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    os.close(watched)
    _, status = os.waitpid(child, 0)
    with open(hear, "rb") as heard:
        told = heard.read().decode() if ended else ""
    return (None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)), told


def said(project: Path, work: Callable[[int], int]) -> Iterator[str]:
    """What work in a process of its own says, line by line."""
    child, hear = _child(project, work)
    with open(hear, encoding="utf-8") as heard:
        yield from heard
    os.waitpid(child, 0)


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
            self._caches = caches()
        for cache in self._caches:
            cache.cache_clear()


def caches() -> list[_lru_cache_wrapper[object]]:
    """What remembers results of the parts."""
    ours = tuple(f"tolcost.{part}." for part in (*PARTS, "atoms"))
    found = (o for o in _objects() if isinstance(o, _lru_cache_wrapper))
    return [o for o in found if o.__module__.startswith(ours)]


def _objects() -> list[object]:
    """All that there is, also what tests set aside before the first one runs."""
    gc.unfreeze()
    return gc.get_objects()


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
    """The tests that pass by file and line; no name stands for what runs on loading."""
    data = plugin.coverage.get_data()
    speed = {"": 0.0, **plugin.seconds}
    passing = speed.keys() - plugin.failed
    return {
        Path(file).relative_to(project).as_posix(): {
            line: in_turns(passing & set(tests), speed)[:MOST_TESTS]
            for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }


def in_turns(tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """One of every file of tests, then the next, the fastest first: a few seconds see all kinds of them."""
    turns, placed = Counter[str](), []
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        file = test.partition("::")[0]
        turns[file] += 1
        placed.append((turns[file], seconds[test], test))
    return [test for *_, test in sorted(placed)]


def _kept(suite: str) -> Path:
    return KEPT / f"{suite.replace('/', '.')}.json"


class Tests(Struct, frozen=True):
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

    def running(self, file: str, places: Iterable[int] | None) -> list[str]:
        """The tests that run one of some lines of a file, or any of it.

        Those of its own name (``test_sums.py`` of ``sums.py``) come first, then the others in turns.
        """
        ran = self.lines.get(file, {})
        found = {test for line in (ran if places is None else places) for test in ran.get(line, ())}
        name = f"/test_{Path(file).stem}.py::"
        return sorted(in_turns(found - {""}, self.seconds), key=lambda test: name not in test)

    def within(self, tests: Sequence[str], most: float) -> list[str]:
        """As many as take so many seconds together; one that is too long for what is left is passed over."""
        total, chosen = 0.0, []
        for test in tests:
            if total + self.seconds[test] <= most:
                total += self.seconds[test]
                chosen.append(test)
        return chosen


# ---- tests on what was changed -----------------------------------------------------------------------


class Mutant(Struct, frozen=True):
    """A module with a change in it, and the tests to run on it."""

    file: Path
    tree: ast.Module
    tests: list[str]


class Runner:
    """A plugin of pytest that runs chosen tests, in their order, until one fails or does not end."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.failed = seconds, ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def run(self, items: Sequence[pytest.Item]) -> str:
        """The first that fails, or nothing."""
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        for item, following in zip(items, [*items[1:], None], strict=False):
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 10 * self.seconds[item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        return self.failed


class Swapped(Runner):
    """All tests are collected once; for each mutant a process is forked, with other code in functions."""

    def __init__(self, mutants: Sequence[Mutant], seconds: dict[str, float], say: int) -> None:
        super().__init__(seconds)
        self.mutants, self.say = mutants, say

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        files = {str(mutant.file) for mutant in self.mutants}
        functions = [o for o in _objects() if isinstance(o, FunctionType)]
        ours = [function for function in functions if function.__code__.co_filename in files]
        for cache in caches():
            cache.cache_clear()
        for number, mutant in enumerate(self.mutants):
            swaps = list(_swaps(mutant, ours))
            by = (
                self._caught(swaps, [items[test] for test in mutant.tests if test in items])
                if swaps
                else None
            )
            os.write(self.say, f"{json.dumps([number, by])}\n".encode())
        return True

    def _caught(self, swaps: list[tuple[FunctionType, CodeType]], items: list[pytest.Item]) -> str:
        def work(say: int) -> int:
            for function, code in swaps:
                function.__code__ = code
            os.write(say, self.run(items).encode())
            return 0

        code, said = forked(Path.cwd(), work, patience=60 * MOST_SECONDS)
        return "takes too long" if code is None else said if code == 0 else "ends the process"


def _swaps(mutant: Mutant, functions: Iterable[FunctionType]) -> Iterator[tuple[FunctionType, CodeType]]:
    """The functions that a change is in, with their new code; none where it is in what runs on loading."""
    whole = compile(ast.fix_missing_locations(mutant.tree), str(mutant.file), "exec", dont_inherit=True)
    made = {(code.co_qualname, code.co_firstlineno): code for code in _codes(whole)}
    for function in functions:
        old = function.__code__
        code = made.get((old.co_qualname, old.co_firstlineno))
        if old.co_filename == str(mutant.file) and code is not None and code != old:
            yield function, code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def caught(project: Path, mutants: Sequence[Mutant], seconds: dict[str, float]) -> Iterator[tuple[int, str]]:
    """For each mutant, by its number, the test that fails, or nothing.

    Files of tests are loaded before anything is changed, and what they build on loading is as it was.  So
    what survives is tried once more, with everything loaded anew.
    """
    tests = {test for mutant in mutants for test in mutant.tests}

    def work(say: int) -> int:
        return _pytest(tests, Swapped(mutants, seconds, say))

    loading = []
    for number, by in map(json.loads, said(project, work)):
        if by:
            yield number, by
        else:
            loading.append(number)
    for number in loading:
        yield number, _loaded_anew(project, mutants[number], seconds)


def _loaded_anew(project: Path, mutant: Mutant, seconds: dict[str, float]) -> str:
    """What changes on loading is loaded anew: the text of a module is another one for a while."""
    whole = mutant.file.read_text("utf-8")
    _write(mutant.file, ast.unparse(mutant.tree))

    def work(say: int) -> int:
        return _pytest(mutant.tests, Chosen(mutant.tests, seconds, say))

    code, told = forked(project, work, patience=60 * MOST_SECONDS) if mutant.tests else (0, "")
    _write(mutant.file, whole)
    return "takes too long" if code is None else told or ("" if code == 0 else "cannot be loaded")


class Chosen(Runner):
    """Some tests, and which of them fails."""

    def __init__(self, tests: Sequence[str], seconds: dict[str, float], say: int) -> None:
        super().__init__(seconds)
        self.tests, self.say = tests, say

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        found = {item.nodeid: item for item in session.items}
        os.write(self.say, self.run([found[test] for test in self.tests if test in found]).encode())
        return True


def _pytest(tests: Iterable[str], plugin: object) -> int:
    files = sorted({test.partition("::")[0] for test in tests})
    return int(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *files], plugins=[plugin]))


def _write(file: Path, text: str) -> None:
    """A module's text, and nothing compiled of another: a second is long for the clock of files."""
    file.write_text(text, "utf-8")
    for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
        compiled.unlink()
