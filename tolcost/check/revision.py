"""A project as it was at a git revision, in a folder of its own, for this very tolcost to read.

Only what can matter is put there: programs, models, settings, and links, which lead where they led
then.  A file that git calls the same now is a link to the one in the working tree, so that a large
model is not copied, and one that git keeps elsewhere (LFS) is read from where it is.  What is in a
submodule is asked of its own repository.  Nothing here writes to any of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tolcost.check.targets import SUFFIXES
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, quoted

_SECONDS = 120
_CHUNK = 1 << 20
_LINK, _SUBMODULE = "120000", "160000"
_NEEDED = (*SUFFIXES, ".toml")
_ODD = re.compile(r'\n|^"')
"""In names that git cannot be asked for in a list."""


@dataclass(frozen=True, slots=True)
class Former:
    """Where the project is as it was, and the submodules whose content of then is not here."""

    root: Path
    absent: tuple[str, ...] = ()

    def lacks(self, file: str, libraries: Sequence[str] = ()) -> str | None:
        """The submodule that a file or a library belongs to, if its content of then is not here."""
        for folder in self.absent:
            own = any(library in (folder, os.path.dirname(folder) or ".") for library in libraries)
            if own or any(path.startswith(f"{folder}/") for path in (file, *libraries)):
                return f"the submodule {quoted(folder)} of then is not here"
        return None


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file of a revision: its repository and path there, its mode, and the name of its content."""

    repository: Path
    path: str
    mode: str
    content: str


@contextmanager
def checked_out(root: Path, revision: str) -> Iterator[Former]:
    """The project at a revision, in a temporary folder."""
    top, prefix = _top(root)
    commit = _resolved(root, revision)
    absent: list[str] = []
    files = dict(_listed(top, commit, "", absent))
    with tempfile.TemporaryDirectory(prefix="tolcost-") as name:
        folder = Path(os.path.realpath(name))
        (folder / ".git").mkdir()  # this is where the repository begins
        _place(files, folder)
        (folder / prefix).mkdir(parents=True, exist_ok=True)
        below = (path.removeprefix(prefix) for path in absent if path.startswith(prefix))
        yield Former(folder / prefix, tuple(below))


def _top(root: Path) -> tuple[Path, str]:
    """The folder of the repository, and the path of the project from there."""
    try:
        said = os.fsdecode(_git(root, "rev-parse", "--show-toplevel", "--show-prefix"))
    except Rejected as rejected:
        raise _failed("this is not in a git repository") from rejected
    top, _, prefix = said.removesuffix("\n").partition("\n")
    return Path(top), prefix


def _resolved(root: Path, revision: str) -> str:
    """The commit that a revision names."""
    if not revision or revision.startswith("-") or "\0" in revision:
        raise _failed(f"{quoted(revision)} is not a revision")
    try:
        name = f"{revision}^{{commit}}"
        return _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
    except Rejected:
        hint = "in a shallow clone, fetch it first: git fetch --depth=1 origin BRANCH"
        raise _failed(f"there is no revision {quoted(revision)} here", hint) from None


def _listed(repository: Path, commit: str, prefix: str, absent: list[str]) -> Iterator[tuple[str, _Blob]]:
    """The files of a revision by their paths from the top; submodules are gone through."""
    for line in os.fsdecode(_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit)).split("\0"):
        head, _, path = line.partition("\t")
        if not path or ".." in Path(path).parts or Path(path).is_absolute():
            continue  # no honest tree has such a name
        mode, _, content = head.split(" ")
        if mode == _SUBMODULE:
            try:
                yield from _listed(repository / path, content, f"{prefix}{path}/", absent)
            except Rejected:
                absent.append(f"{prefix}{path}")
        else:
            yield f"{prefix}{path}", _Blob(repository, path, mode, content)


def _place(files: Mapping[str, _Blob], folder: Path) -> None:
    """Put files of a revision below a folder: those that can matter, and what links lead to."""
    ends = set(_place_links({path: blob for path, blob in files.items() if blob.mode == _LINK}, folder))
    needed = {
        path: blob
        for path, blob in files.items()
        if blob.mode != _LINK and (path in ends or path.lower().endswith(_NEEDED))
    }
    same = _unchanged(needed)
    for path, blob in needed.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path in same:
            (folder / path).symlink_to(blob.repository / blob.path)
    for path, size, stream in _read({path: blob for path, blob in needed.items() if path not in same}):
        with (folder / path).open("wb") as file:
            while size and (data := stream.read(min(size, _CHUNK))):
                size -= file.write(data)


def _place_links(links: Mapping[str, _Blob], folder: Path) -> Iterator[str]:
    """Put links below a folder, but for those that lead out of the repository; give where they lead."""
    for path, size, stream in _read(links):
        text = os.fsdecode(stream.read(size))
        leads = os.path.normpath(os.path.join(os.path.dirname(path), text))
        if not os.path.isabs(text) and leads.split("/")[0] != "..":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(text)
            yield leads


def _by_repository(blobs: Mapping[str, _Blob]) -> Iterator[tuple[Path, dict[str, _Blob]]]:
    for repository in dict.fromkeys(blob.repository for blob in blobs.values()):
        yield repository, {path: blob for path, blob in blobs.items() if blob.repository == repository}


def _unchanged(blobs: Mapping[str, _Blob]) -> set[str]:
    """The files whose content in the working tree is, to git, that of the revision."""
    there = {
        path: blob
        for path, blob in blobs.items()
        if not _ODD.search(blob.path) and (blob.repository / blob.path).is_file()
    }
    same: set[str] = set()
    for repository, group in _by_repository(there):
        asked = "".join(f"{blob.path}\n" for blob in group.values())
        found = _git(repository, "hash-object", "--stdin-paths", given=os.fsencode(asked)).decode().split()
        same |= {
            p for (p, blob), content in zip(group.items(), found, strict=True) if blob.content == content
        }
    return same


def _read(blobs: Mapping[str, _Blob]) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Contents of a revision, each with its size, to be read from a stream before the next is asked for."""
    for repository, group in _by_repository(blobs):
        with _contents(repository, (blob.content for blob in group.values())) as stream:
            for path in group:
                head = stream.readline().split(b" ")
                if len(head) != 3:
                    hint = "in a shallow or partial clone, fetch it first"
                    raise _failed(f"git does not have what {quoted(path)} was at that revision", hint)
                yield path, int(head[2]), stream
                stream.read(1)


@contextmanager
def _contents(repository: Path, asked: Iterable[str]) -> Iterator[IO[bytes]]:
    """A stream of contents, each after a line that says its size."""
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{content}\n" for content in asked).encode())
        names.seek(0)
        command = [*_command(repository), "cat-file", "--batch"]
        process = subprocess.Popen(
            command, env=_environment(), stdin=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout is not None
            yield process.stdout
        finally:
            process.kill()
            process.communicate()


def file_at(root: Path, commit: str, path: str) -> bytes | None:
    """One file of a revision; None where it has none of that name."""
    with suppress(Rejected):
        return _git(root, "cat-file", "blob", f"{commit}:./{path}")
    return None


def last_change(root: Path, path: str) -> str | None:
    """The newest commit that changed a file; None where there is none, or no repository."""
    with suppress(Rejected):
        return _git(root, "log", "-1", "--format=%H", "--", path).decode().strip() or None
    return None


def _command(root: Path) -> list[str]:
    return ["git", "-C", str(root), "-c", "core.quotePath=false"]


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _git(root: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run git, in no language but its own, and without taking locks."""
    command = [*_command(root), *arguments]
    try:
        done = subprocess.run(command, env=_environment(), input=given, capture_output=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise _failed("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise _failed(f"git {arguments[0]} took longer than {_SECONDS} s") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
        raise _failed(f"git {arguments[0]} failed: {reason}")
    return done.stdout


def _failed(message: str, hint: str | None = None) -> Rejected:
    return Rejected(Diagnostic("T0720", message, hint=hint))
