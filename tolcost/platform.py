"""What tolcost stands on: the programs that come with it, a stack that is deep enough, and memory.

The programs are the ``specs/`` folder beside the package in a checkout (and in an editable install of one);
in an installed wheel they are the copy inside it.  The same holds for what ONNX's tests said of them when
they were last run.  Files are only found and read here: nothing is parsed, and nothing kept.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tolcost.diagnostics import InternalError, Source

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


# --- Files that come with tolcost

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class NoSuchSpec(LookupError):
    """No file of that kind and name comes with tolcost."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is no {name!r} in specs/{kind}")
        self.kind = kind
        self.name = name


def package_folder() -> Traversable:
    """The folder of this package.  What finds it in an archive takes long to load: most are in none."""
    folder = Path(__file__).parent
    if folder.is_dir():
        return folder
    from importlib.resources import files

    return files("tolcost")


@cache
def specs_root() -> Traversable:
    """The folder ``specs/``, wherever this tolcost keeps it.

    >>> specs_root().joinpath("paper").is_dir()
    True
    """
    return locate_specs(package_folder())


def locate_specs(package: Traversable) -> Traversable:
    """The specs that belong to a package folder: its own copy, or else the folder beside it."""
    packed = package.joinpath("_specs")
    if packed.is_dir():
        return packed
    if isinstance(package, Path) and (beside := package.parent / "specs").is_dir():
        return beside
    raise InternalError("the specs that belong to tolcost are not where they were installed")


def read_spec(kind: str, name: str) -> Source:
    """The program ``specs/KIND/NAME.tol``; raises ``NoSuchSpec`` where there is none.

    The name may come from a user's program, so nothing that could leave ``specs/`` is looked up.

    >>> read_spec("paper/section5", "matmul.printed").name
    'specs/paper/section5/matmul.printed.tol'
    >>> read_spec("lib", "../../etc/passwd")
    Traceback (most recent call last):
    tolcost.platform.NoSuchSpec: there is no '../../etc/passwd' in specs/lib
    """
    folder = _folder(kind)
    if folder is None or not _PART.fullmatch(name):
        raise NoSuchSpec(kind, name)
    file = folder.joinpath(f"{name}.tol")
    if not file.is_file():
        raise NoSuchSpec(kind, name)
    return Source(f"specs/{kind}/{name}.tol", file.read_text(encoding="utf-8"))


def spec_names(kind: str) -> tuple[str, ...]:
    """The names that ``read_spec`` knows under a kind, sorted; none for an unknown kind.

    >>> "matmul.printed" in spec_names("paper/section5")
    True
    """
    folder = _folder(kind)
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted(f.name.removesuffix(".tol") for f in folder.iterdir() if f.name.endswith(".tol")))


def stored_conformance(package: Traversable | None = None) -> str | None:
    """What ``tolcost verify`` wrote about the programs that come with tolcost; None where it is not there."""
    return _stored("conformance.json", package)


def stored_general(package: Traversable | None = None) -> str | None:
    """What ``tolcost verify --general`` wrote about them; None where it is not there."""
    return _stored("general.json", package)


def _stored(name: str, package: Traversable | None) -> str | None:
    inside = package or package_folder()
    packed = inside.joinpath("_data", name)
    if packed.is_file():
        return packed.read_text(encoding="utf-8")
    beside = inside.parent / "reports" / "data" / name if isinstance(inside, Path) else None
    return beside.read_text(encoding="utf-8") if beside is not None and beside.is_file() else None


def schema_text(kind: str) -> str:
    """The JSON schema of a kind of document, as text: one of ``docs/schemas``, or the copy of a wheel.

    >>> "tolcost analyze" in schema_text("analysis")
    True
    """
    package = package_folder()
    packed = package.joinpath("_schemas", f"{kind}.json")
    if packed.is_file() or not isinstance(package, Path):
        return packed.read_text(encoding="utf-8")
    return (package.parent / "docs" / "schemas" / f"{kind}.json").read_text(encoding="utf-8")


def device_names(package: Traversable | None = None) -> tuple[str, ...]:
    """The names of the devices that come with tolcost, sorted.

    >>> device_names()
    ('h200',)
    """
    folder = locate_devices(package or package_folder())
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def read_device(name: str) -> str | None:
    """The text of a device that comes with tolcost; None where there is none of that name."""
    if name not in device_names():
        return None
    return locate_devices(package_folder()).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def locate_devices(package: Traversable) -> Traversable:
    """Return the folder of devices, ``specs/devices``, that belongs to a package folder."""
    return locate_specs(package).joinpath("devices")


def _folder(kind: str) -> Traversable | None:
    parts = kind.split("/")
    return specs_root().joinpath(*parts) if all(map(_PART.fullmatch, parts)) else None


# --- A stack that fits the deepest nesting that the parser lets through, for whoever recurses over a program


T = TypeVar("T")
STACK_BYTES = 512 * 1024 * 1024
RECURSION = 60_000
YOUNG = 50_000
"""New objects until garbage is looked for: most of what is made while compiling is kept until its end."""
FRAME_WORDS = 1 << 18
"""Room for the frames of functions, which Python keeps beside that stack, in pieces of 16 kB.

It asks the system for a piece when the last one is full, and gives it back when it is empty: recursion that
goes up and down across the end of a piece does both all the time.  A function that says it needs so much
itself gets a piece of twice that, and what it calls has the other half.
"""

_here = threading.local()
"""Whether this thread has the deep stack already."""


class _Settings:
    """The recursion limit and how often garbage is looked for: of the whole process, so not of one thread.

    Whoever comes first changes them, and whoever leaves last puts back what was there before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._limit = 0
        self._young = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._limit, self._young = sys.getrecursionlimit(), gc.get_threshold()
                first, *others = self._young
                sys.setrecursionlimit(max(self._limit, RECURSION))
                gc.set_threshold(first and max(first, YOUNG), *others)  # 0 is: not at all

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if self._working == 0:
                sys.setrecursionlimit(self._limit)
                gc.set_threshold(*self._young)


_settings = _Settings()


def _started(run: Callable[[int], None]) -> threading.Thread | None:
    """A thread with as deep a stack as there is address space for, which is told what part of it that is.

    None where there is no room for any, or where there are no threads at all, as in a browser.
    """
    for part in (1, 4, 16):
        try:
            before = threading.stack_size(STACK_BYTES // part)
        except (RuntimeError, ValueError):  # a system whose threads have the stack they have
            return None
        try:
            thread = threading.Thread(target=run, args=(part,), daemon=True)  # so that an interrupt ends it
            thread.start()
        except RuntimeError:  # what Python says when the system has no room for the stack
            continue
        finally:
            threading.stack_size(before)
        return thread
    return None


def _with_room(work: Callable[[], T]) -> T:
    """Do the work where the frames of the functions it calls lie in one piece of memory."""
    return work()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=FRAME_WORDS)


def with_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack that fits the deepest nesting the parser lets through."""
    if getattr(_here, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run(part: int) -> None:
        _here.deep = True
        with _settings:
            if part > 1:  # less room is for less recursion
                sys.setrecursionlimit(RECURSION // part)
            try:
                outcome.append(_with_room(work))
            except BaseException as error:  # handed to the caller below, whatever it is
                failure.append(error)

    thread = _started(run)
    if thread is None:
        return work()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


# --- Memory: what the system gives to a process, and what it has


_SPARE = 1 << 30
"""Address space for stacks and libraries, which is not memory until it is used."""


@contextmanager
def address_space(memory: int | None) -> Iterator[None]:
    """Have the system refuse what is asked for beyond so many bytes more than there are now."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = None if memory is None else _pages(os.getpid(), 0) + memory + _SPARE
    if wanted is None or (soft != resource.RLIM_INFINITY and soft <= wanted):
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def memory_used() -> int:
    """The bytes that this process and those it started have in memory."""
    own = os.getpid()
    started: list[str] = []
    with suppress(OSError):
        started = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()
    return sum(_pages(process, 1) for process in (own, *map(int, started)))


def _pages(process: int, column: int) -> int:
    """Bytes of a process: its addresses (column 0), or what is in memory (1); 0 where nothing tells."""
    with suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return int(words[column]) * os.sysconf("SC_PAGE_SIZE")
    return 0
