"""The models of a fleet: files, folders, patterns, lists of them, and addresses that fsspec opens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tolcost.catalogue.reading import other_format
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse, unreadable

if TYPE_CHECKING:
    from types import ModuleType

_WILD = frozenset("*?[")
_REMOTE = "://"
_LIST = "@"
_COMMENT = re.compile(r"(?:^|\s)#.*")  # a name may contain the sign
_MODELS = "*.onnx"
_CHUNK = 1 << 20


def is_fleet(patterns: tuple[str, ...]) -> bool:
    """Whether arguments mean models for one table, rather than a single model shown in full."""
    first = patterns[0] if patterns else ""
    several = len(patterns) > 1 or first.startswith(_LIST) or _REMOTE in first or Path(first).is_dir()
    return several or len(tuple(_at(first))) > 1


def models_at(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the models that paths, folders, patterns, addresses and ``@lists`` of these mean, each once.

    A folder means all models below it.
    """
    given = tuple(patterns)
    found = tuple(dict.fromkeys(source for pattern in given for source in _at(pattern)))
    if not found:
        inside = (file.name for pattern in given for file in sorted(Path(pattern).glob("*.*")))
        hint = next(filter(None, map(other_format, inside)), "models are files that end in .onnx")
        refuse("T0671", f"there is no model at {quoted(' '.join(given))}", hint=hint)
    return found


def _at(pattern: str) -> Iterator[str]:
    path = Path(pattern)
    if pattern.startswith(_LIST):
        for line in _lines(Path(pattern.removeprefix(_LIST))):
            yield from _at(line)
    elif _REMOTE in pattern:
        yield from _remote(pattern)
    elif path.is_dir():
        yield from map(str, sorted(path.rglob(_MODELS)))
    elif path.exists() or not _WILD & set(pattern):
        yield str(path)
    else:
        root = Path(path.anchor) if path.is_absolute() else Path()
        yield from map(str, sorted(root.glob(str(path.relative_to(path.anchor)))))


def _lines(file: Path) -> list[str]:
    """Return the entries of a list: a line each, without comments; a list cannot name another list."""
    try:
        lines = [_COMMENT.sub("", line).strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the list {quoted(str(file))}: {unreadable(error)}"
        raise Rejected(Diagnostic("T0671", message)) from None
    found = [line for line in lines if line]
    other = next((line for line in found if line.startswith(_LIST)), None)
    if other is not None:
        refuse("T0671", f"the list {quoted(str(file))} names another one, {quoted(other)}")
    return found


# ---- addresses --------------------------------------------------------------------------------


def _fsspec() -> ModuleType:
    try:
        import fsspec
    except ModuleNotFoundError:
        message = "models at an address need fsspec, which is not installed"
        raise Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[fleet]'")) from None
    return cast("ModuleType", fsspec)


@contextmanager
def _reached(source: str) -> Iterator[tuple[Any, str]]:
    """Return the file system of an address and the path there; any exception becomes a diagnostic."""
    try:
        yield _fsspec().core.url_to_fs(source)
    except Rejected:
        raise
    except Exception as error:  # every file system has its own exceptions
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise Rejected(Diagnostic("T0671", f"cannot read {quoted(source)}: {words}")) from None


def _remote(pattern: str) -> Iterator[str]:
    with _reached(pattern) as (system, path):
        if _WILD & set(pattern):
            found = system.glob(path)
        else:
            found = system.glob(f"{path.rstrip('/')}/**/{_MODELS}") if system.isdir(path) else [path]
        named = sorted(system.unstrip_protocol(one) for one in found)
    yield from named


@contextmanager
def local(source: str) -> Iterator[Path]:
    """Return a local file with the model: its own, or a copy from its address."""
    if _REMOTE not in source:
        yield Path(source)
        return
    from tempfile import NamedTemporaryFile  # most models are local

    with NamedTemporaryFile(prefix="tolcost-", suffix=".onnx") as copy:
        with _reached(source) as (system, path), system.open(path, "rb") as stream:
            _copied(stream, copy)
        yield Path(copy.name)


def _copied(stream: IO[bytes], target: IO[bytes]) -> None:
    while data := stream.read(_CHUNK):
        target.write(data)
    target.flush()


def fingerprint(source: str) -> str:
    """Return a mark that changes with a model: size and time of its file, or its file system's key."""
    if _REMOTE in source:
        with _reached(source) as (system, path):
            return str(system.ukey(path))
    try:
        status = Path(source).stat()
    except OSError:  # reading it will report the reason
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"
