"""The environment of tolcost: shipped files, a stack that is deep enough, and memory.

Programs are in the ``specs/`` folder beside the package in a checkout (and in an editable install of one); an
installed wheel has a copy inside.  The same applies to the stored results of ONNX's tests.  Files are only
found and read here: nothing is parsed, and nothing kept.
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
    """Return the folder of this package; ``importlib.resources``, slow to load, serves only archives."""
    folder = Path(__file__).parent
    if folder.is_dir():
        return folder
    from importlib.resources import files

    return files("tolcost")


@cache
def specs_root() -> Traversable:
    """Return the folder ``specs/``, wherever this installation keeps it.

    >>> specs_root().joinpath("paper").is_dir()
    True
    """
    return locate_specs(package_folder())


def locate_specs(package: Traversable) -> Traversable:
    """Return the specs of a package folder: its own copy, or else the folder beside it."""
    packed = package.joinpath("_specs")
    if packed.is_dir():
        return packed
    if isinstance(package, Path) and (beside := package.parent / "specs").is_dir():
        return beside
    raise InternalError("the specs that belong to tolcost are not where they were installed")


def read_spec(kind: str, name: str) -> Source:
    """Read the program ``specs/KIND/NAME.tol``; raise ``NoSuchSpec`` if there is none.

    The name may come from a user's program, so a name that could leave ``specs/`` is never looked up.

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
    """Return the names that ``read_spec`` knows under a kind, sorted; none for an unknown kind.

    >>> "matmul.printed" in spec_names("paper/section5")
    True
    """
    folder = _folder(kind)
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted(f.name.removesuffix(".tol") for f in folder.iterdir() if f.name.endswith(".tol")))


def stored_conformance(package: Traversable | None = None) -> str | None:
    """Return the stored report of ``tolcost verify`` on the shipped programs; None if it is missing."""
    return _stored("conformance.json", package)


def stored_general(package: Traversable | None = None) -> str | None:
    """Return the stored report of ``tolcost verify --general`` on them; None if it is missing."""
    return _stored("general.json", package)


def _stored(name: str, package: Traversable | None) -> str | None:
    inside = package or package_folder()
    packed = inside.joinpath("_data", name)
    if packed.is_file():
        return packed.read_text(encoding="utf-8")
    beside = inside.parent / "reports" / "data" / name if isinstance(inside, Path) else None
    return beside.read_text(encoding="utf-8") if beside is not None and beside.is_file() else None


def schema_text(kind: str) -> str:
    """Return the JSON schema of a kind of document: from ``docs/schemas``, or from the copy in a wheel.

    >>> "tolcost analyze" in schema_text("analysis")
    True
    """
    package = package_folder()
    packed = package.joinpath("_schemas", f"{kind}.json")
    if packed.is_file() or not isinstance(package, Path):
        return packed.read_text(encoding="utf-8")
    return (package.parent / "docs" / "schemas" / f"{kind}.json").read_text(encoding="utf-8")


def device_names(package: Traversable | None = None) -> tuple[str, ...]:
    """Return the names of the devices that come with tolcost, sorted.

    >>> 'h200' in device_names(), 'mi300x' in device_names()
    (True, True)
    """
    folder = locate_devices(package or package_folder())
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def read_device(name: str) -> str | None:
    """Return the text of a device that comes with tolcost; None if there is none of that name."""
    if name not in device_names():
        return None
    return locate_devices(package_folder()).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def locate_devices(package: Traversable) -> Traversable:
    """Return the folder of devices, ``specs/devices``, that belongs to a package folder."""
    return locate_specs(package).joinpath("devices")


def _folder(kind: str) -> Traversable | None:
    parts = kind.split("/")
    return specs_root().joinpath(*parts) if all(map(_PART.fullmatch, parts)) else None


# --- A stack for the deepest nesting that the parser admits, for all code that recurses over programs


T = TypeVar("T")
STACK_BYTES = 512 * 1024 * 1024
"""Address space for the stack, which takes memory only as far as recursion uses it."""
RECURSION = 60_000
"""Python's recursion limit on that stack, which the deepest admitted nesting does not reach."""
YOUNG = 50_000
"""New objects between searches for garbage: most objects made while compiling live until its end."""
FRAME_WORDS = 1 << 18
"""Size of the memory chunk for the frames of Python functions, which are not on that stack.

By default Python allocates frames in chunks of 16 kB.  It requests a chunk when the last one is full, and
returns it when it is empty: recursion that goes up and down across the end of a chunk does both all the time.
A function whose declared stack size is this large gets a chunk of twice that size, and the functions it calls
use the other half.
"""

_here = threading.local()
"""Whether this thread has the deep stack already."""


class _Settings:
    """The recursion limit and the collector's threshold, which belong to the process, not to a thread.

    The first user changes them, and the last one restores the previous values.
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
                gc.set_threshold(first and max(first, YOUNG), *others)  # 0 turns the collector off

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if self._working == 0:
                sys.setrecursionlimit(self._limit)
                gc.set_threshold(*self._young)


_settings = _Settings()


def _started(run: Callable[[int], None]) -> threading.Thread | None:
    """Start a thread with the deepest possible stack; ``run`` gets the divisor of the full size.

    The result is None if there is no room for any stack, or if there are no threads at all, as in a browser.
    """
    for part in (1, 4, 16):
        try:
            before = threading.stack_size(STACK_BYTES // part)
        except (RuntimeError, ValueError):  # a system with fixed stack sizes
            return None
        try:
            thread = threading.Thread(target=run, args=(part,), daemon=True)  # interrupts end a daemon
            thread.start()
        except RuntimeError:  # the system has no room for the stack
            continue
        finally:
            threading.stack_size(before)
        return thread
    return None


def _with_room(work: Callable[[], T]) -> T:
    """Run work such that the frames of all its calls lie in one chunk of memory."""
    return work()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=FRAME_WORDS)


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run work on a stack for the deepest nesting that the parser admits."""
    if getattr(_here, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run(part: int) -> None:
        _here.deep = True
        with _settings:
            if part > 1:  # less room allows less recursion
                sys.setrecursionlimit(RECURSION // part)
            try:
                outcome.append(_with_room(work))
            except BaseException as error:  # the caller below raises it, whatever it is
                failure.append(error)

    thread = _started(run)
    if thread is None:
        return work()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


# --- Memory: the limit and the use of a process


_SPARE = 1 << 30
"""Address space for stacks and libraries, which takes no memory until it is used."""


@contextmanager
def address_space(memory: int | None) -> Iterator[None]:
    """Make the system refuse allocations that exceed the current use by more than ``memory`` bytes."""
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
    """Return the bytes that this process and its children have in memory."""
    own = os.getpid()
    started: list[str] = []
    with suppress(OSError):
        started = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()
    return sum(_pages(process, 1) for process in (own, *map(int, started)))


def _pages(process: int, column: int) -> int:
    """Return bytes of a process: its addresses (column 0) or its resident memory (1); 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return int(words[column]) * os.sysconf("SC_PAGE_SIZE")
    return 0
